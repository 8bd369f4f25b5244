"""One choice of sentences: from options to chosen rows and what is said of them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_inputs
from genie_dp.cli.output import progress, told_private
from genie_dp.cli.paraphrase.function_lists import read_categories, read_functions
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import Language
from genie_dp.paraphrase.constants import read_constants
from genie_dp.paraphrase.example_values import ExampleValues
from genie_dp.paraphrase.relatedness import Relatedness
from genie_dp.paraphrase.select import (
    REASONS,
    Rules,
    SelectConfig,
    Selection,
    Signature,
    Signed,
    select,
)
from genie_dp.paraphrase.shown import Shown
from genie_dp.paraphrase.shown_rows import to_line
from genie_dp.records import Example
from genie_dp.rows import read_rows
from genie_dp.run.files import open_text, refuse_existing, refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json
from genie_dp.templates.grammar import in_subset
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

SUBSET = "paraphrase"


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp paraphrase select` asks for."""

    rows: tuple[str, ...]
    language: str
    skills: tuple[Path, ...]
    grammar: tuple[Path, ...]
    skip_broken: bool
    subsets: tuple[str, ...]
    easy: Path | None
    hard: Path | None
    leave_out: Path | None
    categories: Path | None
    constants: Path | None
    config: SelectConfig
    output: str
    overwrite: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "Job":
        """Return the job of the command's options."""
        config = SelectConfig(
            query=options["per_query"],
            action=options["per_action"],
            easy_pair=options["easy_pairs"],
            mixed_pair=options["mixed_pairs"],
            other_pair=options["other_pairs"],
            triple=options["triples"],
            max_words=options["max_words"],
            related_only=not options["unrelated"],
            seed=options["seed"],
        )
        return cls(config=config, **{name: options[name] for name in _PLAIN})


_LISTS = ("easy", "hard", "leave_out", "categories", "constants")
_PLAIN = (
    "rows", "language", "skills", "grammar", "skip_broken", "subsets", "easy", "hard", "leave_out",
    "categories", "constants", "output", "overwrite",
)  # fmt: skip


def run(job: Job) -> None:
    """Choose, put example values in, write, and say what was done."""
    refuse_overlap([job.output], job.rows)
    refuse_existing(job.output, overwrite=job.overwrite)
    private = told_private(job.rows)
    inputs = load_inputs(job.language, job.skills, job.grammar, skip_broken=job.skip_broken)
    rules = rules_of(job, inputs)
    values = ExampleValues(_constants(job.constants), _skills(inputs), job.config.seed)
    with progress(_read(job.rows, inputs), label="rows") as rows:
        selection = select(rows, rules, job.config)
    _check_ids(selection.rows)
    shown = _with_values(selection, values)
    with open_text(job.output) as out:
        for row in shown:
            out.write(to_line(row) + "\n")
    if job.output != "-":
        write_json(manifest_of(job.output), {**_manifest(job, inputs, selection), **private})
    _say(job, selection, len(shown))


# ----------------------------------------------------------------------------------- rules


def rules_of(job: Job, inputs: Inputs) -> Rules:
    """Return what the options ask of rows, or raise GenieError for names of nothing."""
    signatures = _signatures(inputs)
    easy, hard, leave_out = (
        read_functions(path, signatures) if path else frozenset()
        for path in (job.easy, job.hard, job.leave_out)
    )
    both = sorted(easy & hard)
    if both:
        hint = f"take it from {job.easy} or from {job.hard}"
        raise GenieError(Problem("P006", f"{both[0]} is easy and hard", hint=hint))
    related = _relatedness(job, inputs, signatures)
    return Rules(
        kind=lambda name: signatures[name].kind if name in signatures else None,
        is_easy=easy.__contains__,
        is_hard=hard.__contains__,
        takes_function=lambda name: name not in leave_out,
        takes_templates=_template_rule(job, inputs),
        is_related=lambda row: related.are_related(row.functions, row.program),
    )


def _signatures(inputs: Inputs) -> Mapping[str, Any]:
    if not hasattr(inputs.library, "functions"):
        return {}
    return {signature.qualified: signature for signature in inputs.library.functions()}


def _skills(inputs: Inputs) -> Any:
    return inputs.library if hasattr(inputs.library, "value_lists") else None


def _relatedness(job: Job, inputs: Inputs, signatures: Mapping[str, Any]) -> Relatedness:
    skills = {signature.class_name for signature in signatures.values()}
    categories = read_categories(job.categories, {*skills, *signatures}) if job.categories else {}
    classes = getattr(inputs.library, "classes", {})
    lineages = {name: found.lineage for name, found in classes.items()}
    return Relatedness(signatures, lineages, categories)


def _template_rule(job: Job, inputs: Inputs) -> Callable[[Example], bool]:
    """Return whether all templates of a row, which are known, belong to the subsets."""
    names = job.subsets or (SUBSET,)
    templates = inputs.grammar.templates
    flags = {flag for template in templates for flag, _ in template.flags} | {SUBSET, "training"}
    problems = [
        Problem(
            "Y031", f"no template speaks of the subset {name!r}", hint=did_you_mean(name, flags)
        )
        for name in names
        if name not in flags
    ]
    if problems:
        raise GenieError(problems)
    # A template that only other subsets have may still be in rows that were made with them.
    allowed = {t.id: any(in_subset(t, name) for name in names) for t in templates}

    return lambda row: all(allowed[template] for template in row.derivation)


# ------------------------------------------------------------------------------ rows, values


def _read(paths: Sequence[str], inputs: Inputs) -> Iterator[Example]:
    """Yield the rows of all files, or raise GenieError with the place of one that cannot be read.

    TSV rows get the functions of their program.
    """
    known = {template.id for template in inputs.grammar.templates}
    for path in paths:
        for number, row in enumerate(read_rows(path), 1):
            span = Span(path, number, 1, number, 2)
            unknown = next((name for name in row.derivation if name not in known), None)
            if unknown is not None:
                message = f"row {row.id} was made with the template {unknown!r}, which is not there"
                hint = "give the --grammar and --skills that the rows were made with"
                raise GenieError(Problem("P007", message, span, hint))
            yield row if row.functions else _with_functions(row, inputs.language, span)


def _with_functions(row: Example, language: Language, span: Span) -> Example:
    try:
        program = language.from_tokens(row.program)
    except GenieError as error:
        raise GenieError([replace(problem, span=span) for problem in error.problems]) from None
    return replace(row, functions=tuple(language.functions(program)))


def _constants(path: Path | None) -> dict[str, tuple[str, ...]]:
    return read_constants(read_text(path), file=str(path)) if path else {}


def _check_ids(rows: Iterable[Example]) -> None:
    """Refuse two chosen rows of one id: results could not be told apart."""
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            hint = "join shards with genie-dp merge, or give the rows of each file ids of their own"
            raise GenieError(Problem("P008", f"two rows have the id {row.id!r}", hint=hint))
        seen.add(row.id)


def _with_values(selection: Selection, values: ExampleValues) -> list[Shown]:
    found = []
    for row in selection.rows:
        shown = values.shown(row)
        if shown is not None:
            found.append(shown)
            continue
        signed = selection.signatures[row.functions]
        signed.kept -= 1
        signed.left_out["values"] += 1
    return found


# ---------------------------------------------------------------------------------- report


def _manifest(job: Job, inputs: Inputs, selection: Selection) -> dict[str, Any]:
    config = {
        name: value if isinstance(value, int | None) else str(getattr(job.config, name))
        for name, value in asdict(job.config).items()
    }
    return {
        "command": "paraphrase select",
        "version": __version__,
        "language": job.language,
        "inputs": inputs.fingerprint(),
        "rows": list(job.rows),
        "hashes": hashes_of((*job.rows, *(getattr(job, name) for name in _LISTS))),
        "subsets": list(job.subsets or (SUBSET,)),
        "config": config,
        "counts": {
            "rows": sum(signed.rows for signed in selection.signatures.values()),
            "chosen": sum(signed.kept for signed in selection.signatures.values()),
            "left_out": _in_order(selection.left_out),
        },
        "sorts": _by_sort(selection.signatures.values()),
        "signatures": [
            {
                "functions": list(signature),
                "sort": signed.sort,
                "rows": signed.rows,
                "chosen": signed.kept,
                "left_out": _in_order(signed.left_out),
            }
            for signature, signed in sorted(selection.signatures.items(), key=_rank)
        ],
    }


def _rank(item: tuple[Signature, Signed]) -> tuple[int, Signature]:
    return -item[1].kept, item[0]


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: counts[reason] for reason in REASONS if counts.get(reason)}


def _by_sort(signatures: Iterable[Signed]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for signed in signatures:
        counts = found.setdefault(signed.sort, {"signatures": 0, "chosen_of": 0, "chosen": 0})
        counts["signatures"] += 1
        counts["chosen_of"] += signed.kept > 0
        counts["chosen"] += signed.kept
    return dict(sorted(found.items()))


def _say(job: Job, selection: Selection, chosen: int) -> None:
    where = "stdout" if job.output == "-" else job.output
    rows = sum(signed.rows for signed in selection.signatures.values())
    click.echo(f"{chosen:,} of {rows:,} sentences -> {where}", err=True)
    for sort, counts in _by_sort(selection.signatures.values()).items():
        click.echo(
            f"  {sort:<11} {counts['chosen']:>7,} of {counts['chosen_of']:,} of "
            f"{counts['signatures']:,} signatures",
            err=True,
        )
    for reason, count in _in_order(selection.left_out).items():
        click.echo(f"  left out    {count:>7,}: {REASONS[reason]}", err=True)
