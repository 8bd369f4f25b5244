"""One comparison of synthetic rows with real ones: from options to a table, JSON and a page.

Nothing of private rows may get out by accident: their report is written so that only its owner can
read it, never to a pipe or another machine; no figure is printed, for what is printed ends in logs;
and mistakes in any of the files are told without their text.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.output import progress
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.private.ledger.guard import private_of
from genie_dp.private.metrics.compare import Comparison, Corpus, check, compared
from genie_dp.private.metrics.corpus import Row
from genie_dp.private.metrics.features import Featuriser, HashedNgrams
from genie_dp.private.metrics.figures import GROUPS, PRIVATE, PUBLIC, SCHEMA, Metric, shown, spread
from genie_dp.private.metrics.intervals import Intervals
from genie_dp.private.metrics.language_model import LanguageModel, NgramModel
from genie_dp.private.metrics.mauve import MauveSettings, check_mauve
from genie_dp.private.metrics.page import page
from genie_dp.private.metrics.programs import Programs
from genie_dp.rows import format_of, read_rows
from genie_dp.run.files import check_output, open_text, opened_text

Parse = Callable[[Sequence[str]], Sequence[str]]
_BATCH = 32


def run(options: Mapping[str, Any]) -> None:
    """Compare, write what is wanted, and print the figures where the real rows are public."""
    _check(options)
    names = _names([options["real"], *options["synthetic"]])
    read = [Corpus(name, _rows(file, options)) for name, file in names]
    how = _how(options)
    check(read[0], read[1:], how)
    click.echo(f"comparing {_counted(len(read) - 1)} with {read[0].name} ..", err=True)
    result = {
        **_about(options, how, read[0].name),
        **compared(read[0], read[1:], how),
    }
    if options["real_is_public"]:
        # A pipe gets the JSON alone.
        click.echo("\n".join(_table(result)), err=options["output"] == "-")
    _write(options, result)


# --------------------------------------------------------------------------------- what is asked


def _check(options: Mapping[str, Any]) -> None:
    if options["real_is_public"] == options["keep_private"]:
        raise click.UsageError(
            "say what REAL is: --real-is-public, or --keep-private. The figures are not "
            "differentially private: computed from private rows, they must be kept like these"
        )
    for others, name in ((("parser",), "utterances_only"), (("buckets",), "no_mauve")):
        if options[name] and any(options[other] for other in others):
            raise click.UsageError(f"--{others[0]} does not go with --{name.replace('_', '-')}")
    if options["model"] and options["lm_text"]:
        raise click.UsageError("--lm-text makes a language model, --model is one: name one of them")
    _check_targets(options)
    if options["real_is_public"]:
        _check_public(_inputs(options))
    if not options["no_mauve"]:
        check_mauve()


def _check_targets(options: Mapping[str, Any]) -> None:
    targets = [options[name] for name in ("report", "output") if options[name]]
    for target in targets:
        if options["keep_private"] and (target == "-" or "://" in target):
            hint = "name a file beside the private rows"
            message = f"a private report is written to a local file only, got {target}"
            raise GenieError(Problem("J008", message, hint=hint))
        check_output(target)
    if options["keep_private"] and not targets:
        raise click.UsageError("--keep-private prints nothing: name a --report or an --output")
    taken = {_place(file) for file in _inputs(options)}
    for target in targets:
        if target != "-" and _place(target) in taken:
            message = f"{target} is compared, or written already: it would be lost"
            raise GenieError(Problem("J010", message, hint="name another file"))
        taken.add(_place(target))


def _inputs(options: Mapping[str, Any]) -> list[str]:
    return [options["real"], *options["synthetic"], *options["lm_text"]]


def _place(name: str) -> str:
    return name if "://" in name else str(Path(name).resolve())


def _check_public(files: Sequence[str]) -> None:
    """Refuse files with a ledger: figures of private rows are private on either side."""
    for file in files:
        if private_of(file):
            message = f"{file} has a ledger, or was made of rows with one: its rows are private"
            hint = "add --keep-private instead of --real-is-public, or name public rows"
            raise GenieError(Problem("J009", message, hint=hint))


def _how(options: Mapping[str, Any]) -> Comparison:
    seed, public = options["seed"], options["real_is_public"]
    programs, parse = None, None
    if not options["utterances_only"]:
        language, skills = options["language"], options["skills"]
        library = load_library_of(language, skills, skip_broken=options["skip_broken"])
        programs = Programs(get_language(language), library)
        if options["parser"]:
            parse = _parser(options["parser"], language, is_shown=public)
    featuriser, model = _models(options)
    return Comparison(
        programs=programs,
        featuriser=None if options["no_mauve"] else featuriser,
        model=model,
        parse=parse,
        rows=options["rows"] or 0,
        intervals=Intervals(seed),
        mauve=MauveSettings(options["buckets"] or 0, options["mauve_runs"], seed),
        is_public=public,
        seed=seed,
    )


def _models(options: Mapping[str, Any]) -> tuple[Featuriser, LanguageModel | None]:
    if options["model"]:
        from genie_dp.learn.device import prepare_torch
        from genie_dp.private.metrics.hugging_face import HuggingFaceModel

        prepare_torch("cpu")
        both = HuggingFaceModel(options["model"])
        return both, both
    if not options["lm_text"]:
        return HashedNgrams(), None
    texts = list(chain.from_iterable(_texts(name, options) for name in options["lm_text"]))
    if not texts:
        message = f"{', '.join(options['lm_text'])} holds no sentences"
        raise GenieError(Problem("J004", message, hint="name a file with sentences"))
    return HashedNgrams(), NgramModel(texts)


def _parser(folder: Path, language: str, *, is_shown: bool) -> Parse:
    """Return a parser that shows how far it is; of private rows that would tell how many."""
    from genie_dp.cli.parser_predictor import BestProgram

    parser = BestProgram.of(folder)
    of = parser.parser.target.language.name
    if of != language:
        message = f"the parser of {folder} writes {of}, the rows are {language}"
        raise GenieError(Problem("J007", message, hint=f"add --language {of}"))

    def parse(utterances: Sequence[str]) -> list[str]:
        batches = [utterances[i : i + _BATCH] for i in range(0, len(utterances), _BATCH)]
        if not is_shown:
            return [program for batch in batches for program in parser.predict(batch)]
        with progress(batches, label="sentences", total=len(batches)) as seen:
            return [program for batch in seen for program in parser.predict(batch)]

    return parse


# ----------------------------------------------------------------------------------------- files


def _names(files: Sequence[str]) -> list[tuple[str, str]]:
    """Return files under the names they are shown by: short ones, where these differ."""
    short = [Path(file).name for file in files]
    return [
        (name if short.count(name) == 1 else file, file)
        for name, file in zip(short, files, strict=True)
    ]


def _rows(file: str, options: Mapping[str, Any]) -> tuple[Row, ...]:
    language = "" if options["utterances_only"] else options["language"]
    if options["keep_private"]:
        return tuple(_unseen(file, options["language"]))
    return tuple(_seen(file, language))


def _seen(file: str, language: str) -> Iterator[Row]:
    """Yield the rows of a public file, in `language`, "" for any."""
    is_told = format_of(file) != "tsv"  # of TSV, nobody knows the language
    with progress(read_rows(file), label=Path(file).name) as rows:
        for number, row in enumerate(rows, 1):
            if is_told and language and row.program and row.language != language:
                message = f"row {number} of {file} is {row.language}, expected {language}"
                hint = f"add --language {row.language}, or name other files"
                raise GenieError(Problem("J007", message, hint=hint))
            yield Row(" ".join(row.utterance.split()), row.program)


def _unseen(file: str, language: str) -> Iterator[Row]:
    """Yield the rows of a file whose text no message may show.

    A SYNTHETIC file may be a part of the private rows, put beside the others as what is at best to
    be reached; so all are read so.
    """
    from genie_dp.private.source import PrivateSource

    for unit in PrivateSource.open(Path(file), language=language, unit="utterance").units:
        for row in unit:
            yield Row(" ".join(row.utterance.split()), row.program or "")


def _texts(file: str, options: Mapping[str, Any]) -> Iterator[str]:
    if not _is_text(file):
        yield from (row.utterance for row in _rows(file, {**options, "utterances_only": True}))
        return
    with opened_text(file) as lines:
        yield from (line for line in lines if line.strip())


def _is_text(file: str) -> bool:
    """Tell whether a file holds sentences, line by line.

    >>> _is_text("a.txt"), _is_text("a.txt.gz"), _is_text("a.jsonl.gz")
    (True, True, False)
    """
    return ".txt" in Path(file).suffixes[-2:]


# --------------------------------------------------------------------------------------- results


def _about(options: Mapping[str, Any], how: Comparison, real: str) -> dict[str, Any]:
    public = options["real_is_public"]
    title = options["title"] or f"Synthetic rows against {real}"
    return {
        "schema": SCHEMA,
        "privacy": {
            "real": "public" if public else "private",
            "is_differentially_private": False,
            "statement": PUBLIC if public else PRIVATE,
        },
        "version": __version__,
        "title": title if public else f"PRIVATE: {title}",
        "language": options["language"],
        "parser": str(options["parser"]) if options["parser"] else None,
        "seed": options["seed"],
        "intervals": {"draws": how.intervals.draws, "level": how.intervals.level},
        "mauve_runs": how.mauve.runs,
    }


def _table(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that are printed: figures under each other, files side by side."""
    columns = [result["real"], *result["synthetic"]]
    wide = max(12, *(len(one["name"]) + 2 for one in columns))
    yield f"{result['rows']:,} rows of each file"
    for title, metrics in GROUPS.items():
        lines = list(_lines(metrics, columns, wide))
        if lines:
            yield f"\n{title:<32}" + "".join(f"{one['name']:>{wide}}" for one in columns)
        yield from lines
    yield f"\n{result['privacy']['statement']}"


def _lines(
    metrics: Sequence[Metric], columns: Sequence[Mapping[str, Any]], wide: int
) -> Iterator[str]:
    for metric in metrics:
        figures = [one["figures"].get(metric.key) for one in columns]
        if any(figures):
            told = "".join(f"{shown(metric, figure):>{wide}}" for figure in figures)
            # Beside one file there is room for intervals; the page has all of them.
            around = "   ".join(filter(None, map(spread, figures))) if len(columns) == 2 else ""
            yield f"  {metric.title:<30}{told}" + (f"   ({around})" if around else "")


def _write(options: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    with nullcontext() if options["real_is_public"] else _for_the_owner_alone():
        if options["report"]:
            with open_text(options["report"]) as out:
                out.write(page(result))
        if options["output"]:
            with open_text(options["output"]) as out:
                json.dump(result, out, indent=2, ensure_ascii=False)
                out.write("\n")
    where = [options[name] for name in ("output", "report") if options[name] not in (None, "-")]
    files = _counted(len(result["synthetic"]))
    told = f"{files} compared" + (f" -> {', '.join(where)}" if where else "")
    click.echo(told, err=True)
    if options["keep_private"]:
        click.echo("keep it private: it is not differentially private", err=True)


def _counted(files: int) -> str:
    return f"{files} {'file' if files == 1 else 'files'}"


@contextmanager
def _for_the_owner_alone() -> Iterator[None]:
    """Let files that are made here be read and written by nobody else."""
    before = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(before)
