"""Chooses the synthesized sentences that people are asked to paraphrase (Genie, section 3.2).

Every row has a rank, a hash of the seed and its words; of each function signature the rows with the
lowest ranks are kept. So the choice depends on the contents of the rows, not on their order, and no
more rows are in memory than are kept.
"""

import hashlib
import heapq
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import Any, get_args

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Signature
from genie_dp.paraphrase.config import SelectConfig, Sort
from genie_dp.paraphrase.example_values import ExampleValues, read_constants
from genie_dp.paraphrase.shown import to_line
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import Example
from genie_dp.rows import read_rows
from genie_dp.run.files import open_text, refuse_overlap
from genie_dp.run.manifest import hashes_of, manifest_of, write_json
from genie_dp.run.stage import Output, Result, show_progress
from genie_dp.skills.link import entity_kind
from genie_dp.skills.model import SkillLibrary
from genie_dp.stage.kernel import OutputOption, Stage
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import in_subset
from genie_dp.templates.inputs import Inputs
from genie_dp.texts import read_text

SUBSET = "paraphrase"
_FUNCTION = re.compile(r"@[\w.-]+\.\w+")
_PARAMETER = re.compile(r"param:(\w+):")

Pair = frozenset[str]


def find_passed_values(program: str, functions: Mapping[str, Signature]) -> frozenset[Pair]:
    """Return the pairs of functions between which a program passes a value.

    Args:
        program: in token form, `.. on param:status:String = param:title:String`.
        functions: the signatures by name; the nearest function before with that output gives it.

    >>> sorted(map(sorted, find_passed_values("now => @a.q => @b.p on param:x:T = param:y:T", {})))
    [['@a.q', '@b.p']]
    """
    tokens = program.split(" ")
    seen: list[str] = []
    pairs: set[Pair] = set()
    for i, token in enumerate(tokens):
        if _FUNCTION.fullmatch(token):
            seen.append(token)
        elif (
            token == "=" and len(seen) > 1 and 0 < i < len(tokens) - 1
            and _PARAMETER.match(tokens[i - 1]) and (source := _PARAMETER.match(tokens[i + 1]))
        ):  # fmt: skip
            *before, taker = seen
            givers = [f for f in before if _has_output(functions.get(f), source[1])]
            pairs.add(frozenset((taker, givers[-1] if givers else before[-1])))
    return frozenset(pairs)


def _has_output(signature: Signature | None, name: str) -> bool:
    return signature is None or any(p.name == name for p in signature.outputs)


@dataclass(slots=True)
class Relatedness:
    """Decides which functions are related. Two functions are if

    - they belong to one skill;
    - the program passes a value from one to the other;
    - they have a parameter of one entity type, such as a restaurant, that few skills know: a link
      or a picture relates nothing;
    - their skills extend a common class, or the categories give both one name.

    Attributes:
        functions: the signatures by name.
        lineages: skill -> the classes that it extends.
        categories: skill or function -> the names of its topics.
    """

    functions: Mapping[str, Signature] = field(default_factory=dict)
    lineages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    categories: Mapping[str, frozenset[str]] = field(default_factory=dict)
    _topics: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        uses = Counter(
            kind for kinds in _kinds_by_skill(self.functions.values()).values() for kind in kinds
        )
        skills = len({signature.class_name for signature in self.functions.values()})
        # Of the shipped 49 skills at most 4: restaurants, rooms, languages; not links or mail.
        rare = {kind for kind, count in uses.items() if count <= max(2, skills // 10)}
        for name, signature in self.functions.items():
            self._topics[name] = self._find_topics(name, signature, rare)

    def _find_topics(self, name: str, signature: Signature, rare: set[str]) -> frozenset[str]:
        skill = signature.class_name
        topics = {f"skill {base}" for base in (skill, *self.lineages.get(skill, ()))}
        topics |= {f"type {kind}" for kind in _entity_kinds(signature) if kind in rare}
        named = self.categories.get(skill, frozenset()) | self.categories.get(name, frozenset())
        return frozenset(topics | {f"category {category}" for category in named})

    def are_related(self, names: Iterable[str], program: str) -> bool:
        """Return whether the functions of a program hang together, each with another one."""
        distinct = sorted(set(names))
        if len(distinct) < 2:
            return True
        passing = find_passed_values(program, self.functions)
        groups = {name: {name} for name in distinct}
        for left, right in combinations(distinct, 2):
            if frozenset((left, right)) in passing or self._topic(left) & self._topic(right):
                joined = groups[left] | groups[right]
                groups.update(dict.fromkeys(joined, joined))
        return len(groups[distinct[0]]) == len(distinct)

    def _topic(self, name: str) -> frozenset[str]:
        # A function that the library does not know still tells its skill.
        return self._topics.get(name) or frozenset({f"skill {name.lstrip('@').rpartition('.')[0]}"})


def _entity_kinds(signature: Signature) -> set[str]:
    return {kind for p in signature.parameters if (kind := entity_kind(p.type))}


def _kinds_by_skill(signatures: Iterable[Signature]) -> dict[str, set[str]]:
    kinds_by_skill: dict[str, set[str]] = {}
    for signature in signatures:
        kinds_by_skill.setdefault(signature.class_name, set()).update(_entity_kinds(signature))
    return kinds_by_skill


FunctionNames = tuple[str, ...]
SORTS: tuple[Sort, ...] = get_args(Sort)
# Why a row was left out; the last two are sampling, the others are rules.
REASONS: dict[str, str] = {
    "template": "a template is not in the subset",
    "function": "a function is left out",
    "words": "too many words",
    "hard": "a hard function without an easy one",
    "unrelated": "functions have nothing to do with each other",
    "values": "no example values that can be told apart",
    "share": "the signature is not in the sampled share",
    "quota": "the signature has enough sentences, or the row came before",
}


@dataclass(frozen=True, slots=True)
class SelectionRules:
    """The requirements on rows and functions.

    Attributes:
        kind: function -> "query" or "action"; None if unknown.
        is_easy: whether people understand a function at once.
        is_hard: whether a function needs an easy one beside it.
        takes_function: whether a function may occur at all.
        takes_templates: whether all templates of a row may be paraphrased.
        is_related: whether the functions of a row have to do with each other.
    """

    kind: Callable[[str], str | None] = lambda _: None
    is_easy: Callable[[str], bool] = lambda _: False
    is_hard: Callable[[str], bool] = lambda _: False
    takes_function: Callable[[str], bool] = lambda _: True
    takes_templates: Callable[[Example], bool] = lambda _: True
    is_related: Callable[[Example], bool] = lambda _: True


@dataclass(slots=True)
class SignatureCounts:
    """The counts of one signature: how many rows it had, were left out and were chosen."""

    sort: Sort
    rows: int = 0
    chosen: int = 0
    left_out: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class ChosenRows:
    """The chosen rows in the order of their ranks, and the counts of each signature."""

    rows: tuple[Example, ...]
    signatures: dict[FunctionNames, SignatureCounts]

    @property
    def left_out(self) -> Counter[str]:
        """Return the number of rows left out for each reason."""
        return sum((signed.left_out for signed in self.signatures.values()), Counter())


def select(
    rows: Iterable[Example], rules: SelectionRules | None = None, config: SelectConfig | None = None
) -> ChosenRows:
    """Return the rows to paraphrase; their order is random, but the same for equal rows and seed.

    >>> rows = [Example(f"S{n}", f"show {n}", "p", functions=("@a.f",)) for n in range(90)]
    >>> len(select(rows).rows)
    50
    >>> select(rows).rows == select(reversed(rows)).rows
    True
    """
    chosen = _Chosen(rules or SelectionRules(), config or SelectConfig())
    for row in rows:
        chosen.add(row)
    return chosen.result()


_PAIRS: tuple[Sort, ...] = ("other-pair", "mixed-pair", "easy-pair")


def sort_of(signature: FunctionNames, rules: SelectionRules) -> Sort:
    """Return the sort of a signature, which determines its rate.

    >>> sort_of(("@a.f", "@b.g"), SelectionRules(is_easy=lambda f: f == "@b.g"))
    'mixed-pair'
    """
    if len(signature) > 2:
        return "triple"
    if len(signature) == 2:
        easy = sum(map(rules.is_easy, signature))
        return _PAIRS[easy]
    is_action = len(signature) == 1 and rules.kind(signature[0]) == "action"
    return "action" if is_action else "query"


@dataclass(slots=True)
class _Chosen:
    """The rows of each signature with the lowest ranks, as heaps whose first is the one to go."""

    rules: SelectionRules
    config: SelectConfig
    signatures: dict[FunctionNames, SignatureCounts] = field(default_factory=dict)
    heaps: dict[FunctionNames, list[tuple[int, Example]]] = field(default_factory=dict)
    ranks: dict[FunctionNames, set[int]] = field(default_factory=dict)

    def add(self, row: Example) -> None:
        """Keep a row if it is among the first of its signature so far."""
        signature = row.functions
        signed = self.signatures.get(signature)
        if signed is None:
            signed = self.signatures[signature] = SignatureCounts(sort_of(signature, self.rules))
        signed.rows += 1
        reason = self._refusal(row, signed.sort) or self._quota(row, signed.sort)
        if reason:
            signed.left_out[reason] += 1

    def _refusal(self, row: Example, sort: Sort) -> str:
        rules, config = self.rules, self.config
        if not rules.takes_templates(row):
            return "template"
        if not all(map(rules.takes_function, row.functions)):
            return "function"
        if config.max_words is not None and row.utterance.count(" ") >= config.max_words:
            return "words"
        if _is_hard_alone(row.functions, rules):
            return "hard"
        if not config.unrelated and not rules.is_related(row):
            return "unrelated"
        rate = config.rate(sort)
        is_out = (
            rate.share < 1 and _hash(config.seed, "signature", *row.functions) / 2**96 >= rate.share
        )
        return "share" if is_out else ""

    def _quota(self, row: Example, sort: Sort) -> str:
        """Keep the row, or another one, or the better of both; one of them goes."""
        heap = self.heaps.setdefault(row.functions, [])
        ranks = self.ranks.setdefault(row.functions, set())
        rank = _hash(self.config.seed, row.utterance, row.program)
        if rank in ranks:
            _keep_least_id(heap, -rank, row)
            return "quota"
        room = self.config.rate(sort).count
        if len(heap) < room:
            heapq.heappush(heap, (-rank, row))
            ranks.add(rank)
            return ""
        if room and -rank > heap[0][0]:
            worst, _ = heapq.heapreplace(heap, (-rank, row))
            ranks.remove(-worst)
            ranks.add(rank)
        return "quota"

    def result(self) -> ChosenRows:
        chosen = [(-turned, row) for heap in self.heaps.values() for turned, row in heap]
        for signature, heap in self.heaps.items():
            self.signatures[signature].chosen = len(heap)
        return ChosenRows(
            tuple(row for _, row in sorted(chosen, key=itemgetter(0))), self.signatures
        )


def _keep_least_id(heap: list[tuple[int, Example]], turned: int, row: Example) -> None:
    """Keep one of two equal rows, the same one whichever comes first."""
    place = next(i for i, (rank, _) in enumerate(heap) if rank == turned)
    if row.id < heap[place][1].id:
        heap[place] = (turned, row)


def _is_hard_alone(functions: FunctionNames, rules: SelectionRules) -> bool:
    return (
        len(functions) > 1
        and any(map(rules.is_hard, functions))
        and not any(map(rules.is_easy, functions))
    )


def _hash(seed: int, *parts: str) -> int:
    text = "\0".join((str(seed), *parts))
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=12).digest(), "big")


# ----------------------------------------------------------------------------- lists of functions


def read_functions(path: Path, known: Collection[str]) -> frozenset[str]:
    """Return the functions that a file names, one a line; `*` stands for any part of a name.

    Raises:
        GenieError: P005, every line that names none of the known functions.
    """
    text = read_text(path)
    listed: set[str] = set()
    problems = []
    for number, line in _lines(text):
        names = {name for name in known if fnmatchcase(name, line)}
        listed |= names
        if not names:
            span = Span(str(path), number, 1, number, len(line) + 1)
            hint = did_you_mean(line, known) or "functions are written @com.gmail.inbox"
            problems.append(Problem("P005", f"no function is named {line!r}", span, hint))
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return frozenset(listed)


def read_categories(path: Path, known: Collection[str]) -> dict[str, frozenset[str]]:
    """Return skill or function -> its categories, from lines of both with a tab between.

    Raises:
        GenieError: P005, every line that names nothing known or has no category.
    """
    text = read_text(path)
    categories: dict[str, frozenset[str]] = {}
    problems = []
    for number, line in _lines(text):
        name, _, category = (cell.strip() for cell in line.partition("\t"))
        names = {n for n in known if fnmatchcase(n, name)}
        span = Span(str(path), number, 1, number, len(name) + 1)
        if not names:
            message = f"no skill or function is named {name!r}"
            problems.append(Problem("P005", message, span, did_you_mean(name, known)))
        elif not category:
            hint = "write it after a tab"
            problems.append(
                Problem("P005", f"expected a category of {name!r}, got none", span, hint)
            )
        for matched in names:
            categories[matched] = categories.get(matched, frozenset()) | {category}
    if problems:
        raise GenieError(problems, sources={str(path): text})
    return categories


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line.strip()


# -------------------------------------------------------------------------------------- the stage


@dataclass(frozen=True, slots=True)
class SelectResult(Result):
    """The result of a choice.

    Attributes:
        rows: rows that were read.
        chosen: rows that were written, with example values.
        sorts: sort -> how many signatures, how many of them have rows, and how many rows.
        left_out: reason -> rows.
    """

    output: str
    rows: int
    chosen: int
    sorts: Mapping[str, Mapping[str, int]]
    left_out: Mapping[str, int]

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield f"{self.chosen:,} of {self.rows:,} sentences -> {self.place}"
        for sort, counts in self.sorts.items():
            yield (
                f"  {sort:<11} {counts['chosen']:>7,} of {counts['chosen_of']:,} of "
                f"{counts['signatures']:,} signatures"
            )
        for reason, count in self.left_out.items():
            yield f"  left out    {count:>7,}: {REASONS[reason]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParaphraseSelection(Stage):
    """Choose synthesized sentences to paraphrase, and put example values in.

    ROWS are files or URLs of synthesized rows, as JSON lines, TSV or Parquet. The choice does not
    depend on their order.

    \b
    genie-dp data paraphrase select pairs.jsonl --easy easy.txt --output chosen.jsonl

    Attributes:
        private: the manifest entries of private rows among these.
    """

    command = "paraphrase select"
    output = OutputOption(
        "Where the chosen rows go, as JSON lines.",
        default="-",
        metavar="FILE|URL|-",
        overwrite="Replace the output.",
    )

    rows: tuple[str, ...] = setting(
        REQUIRED, "Synthesized rows.", value="rows", is_argument=True, metavar="ROWS..."
    )
    inputs: Inputs = setting(
        REQUIRED, "Library and templates that the rows were made with.", value="inputs"
    )
    config: SelectConfig = setting(SelectConfig(), "How many of which.", value="settings")
    private: Mapping[str, Any] = field(default_factory=dict)

    def run(self, output: Output, *, progress: bool | None = None) -> SelectResult:
        """Choose sentences, put example values in, and write them as JSON lines.

        Raises:
            GenieError: names of nothing in the lists (P005, P006, Y031), rows of other templates
                (P007), two chosen rows of one id (P008), an output that is there (Y022) or is an
                input (D027).
        """
        refuse_overlap([output.target], self.rows)
        output.refuse_existing()
        config, inputs = self.config, self.inputs
        rules = rules_of(config, inputs)
        constants = config.constants
        values = ExampleValues(
            read_constants(read_text(constants), file=str(constants)) if constants else {},
            inputs.library if isinstance(inputs.library, SkillLibrary) else None,
            config.seed,
        )
        selection = select(
            show_progress(_read_rows(self.rows, inputs), label="rows", show=progress), rules, config
        )
        ids: set[str] = set()
        for row in selection.rows:
            if row.id in ids:  # results could not be told apart
                hint = "give each an id of its own: genie-dp data convert rows.jsonl new.jsonl"
                raise GenieError(Problem("P008", f"two rows have the id {row.id!r}", hint=hint))
            ids.add(row.id)
        lines = []
        for row in selection.rows:
            shown_row = values.show(row)
            if shown_row is None:
                counts = selection.signatures[row.functions]
                counts.chosen -= 1
                counts.left_out["values"] += 1
            else:
                lines.append(to_line(shown_row) + "\n")
        with open_text(output.target) as out:
            out.writelines(lines)
        manifest = _manifest(config, self.rows, inputs, selection)
        if output.target != "-":
            write_json(manifest_of(output.target), {**manifest, **self.private})
        counts_of_all = manifest["counts"]
        return SelectResult(
            output.target,
            counts_of_all["rows"],
            len(lines),
            manifest["sorts"],
            counts_of_all["left_out"],
        )


def rules_of(config: SelectConfig, inputs: Inputs) -> SelectionRules:
    """Return the requirements of a config on rows, or raise GenieError for names of nothing."""
    library = inputs.library
    signatures = {signature.qualified: signature for signature in library.functions()}
    easy, hard, leave_out = (
        read_functions(path, signatures) if path else frozenset()
        for path in (config.easy, config.hard, config.leave_out)
    )
    both = sorted(easy & hard)
    if both:
        hint = f"take it from {config.easy} or from {config.hard}"
        raise GenieError(Problem("P006", f"{both[0]} is easy and hard", hint=hint))
    skills = {signature.class_name for signature in signatures.values()}
    names = {*skills, *signatures}
    categories = read_categories(config.categories, names) if config.categories else {}
    classes = library.classes.values() if isinstance(library, SkillLibrary) else ()
    lineages = {skill_class.name: skill_class.lineage for skill_class in classes}
    related = Relatedness(signatures, lineages, categories)
    return SelectionRules(
        kind=lambda name: signatures[name].kind if name in signatures else None,
        is_easy=easy.__contains__,
        is_hard=hard.__contains__,
        takes_function=lambda name: name not in leave_out,
        takes_templates=_template_rule(config.subsets or (SUBSET,), inputs.grammar.templates),
        is_related=lambda row: related.are_related(row.functions, row.program),
    )


def _template_rule(
    subsets: Sequence[str], templates: Sequence[Template]
) -> Callable[[Example], bool]:
    """Return whether all templates of a row, which are known, belong to the subsets."""
    flags = {flag for template in templates for flag, _ in template.flags} | {SUBSET, "training"}
    problems = [
        Problem(
            "Y031", f"no template speaks of the subset {name!r}", hint=did_you_mean(name, flags)
        )
        for name in subsets
        if name not in flags
    ]
    if problems:
        raise GenieError(problems)
    # A template that only other subsets have may still be in rows that were made with them.
    allowed = {t.id: any(in_subset(t, name) for name in subsets) for t in templates}
    return lambda row: all(allowed[template] for template in row.derivation)


def _read_rows(paths: Sequence[str], inputs: Inputs) -> Iterator[Example]:
    """Yield the rows of all files, or raise GenieError with the place of one that cannot be read.

    TSV rows get the functions of their program.
    """
    language = inputs.language
    templates = {template.id for template in inputs.grammar.templates}
    for path in paths:
        for number, row in enumerate(read_rows(path), 1):
            span = Span(path, number, 1, number, 2)
            unknown = next((name for name in row.derivation if name not in templates), None)
            if unknown is not None:
                message = f"row {row.id} was made with the template {unknown!r}, which is not there"
                hint = "give the --grammar and --skills that the rows were made with"
                raise GenieError(Problem("P007", message, span, hint))
            if row.functions:
                yield row
                continue
            try:
                program = language.from_tokens(row.program)
            except GenieError as error:
                raise GenieError([replace(p, span=span) for p in error.problems]) from None
            yield replace(row, functions=tuple(language.functions(program)))


def _manifest(
    config: SelectConfig, rows: Sequence[str], inputs: Inputs, selection: ChosenRows
) -> dict[str, Any]:
    lists = (config.easy, config.hard, config.leave_out, config.categories, config.constants)
    signatures = selection.signatures
    sorts: dict[str, dict[str, int]] = {}
    for signature in signatures.values():
        counts = sorts.setdefault(signature.sort, {"signatures": 0, "chosen_of": 0, "chosen": 0})
        counts["signatures"] += 1
        counts["chosen_of"] += signature.chosen > 0
        counts["chosen"] += signature.chosen
    return {
        "command": "paraphrase select",
        "version": __version__,
        "language": inputs.language.name,
        "inputs": inputs.fingerprint(),
        "rows": list(rows),
        "hashes": hashes_of((*rows, *lists)),
        "subsets": list(config.subsets or (SUBSET,)),
        "config": {
            **{sort.replace("-", "_"): str(config.rate(sort)) for sort in SORTS},
            "max_words": config.max_words,
            "related_only": not config.unrelated,
            "seed": config.seed,
        },
        "counts": {
            "rows": sum(counts.rows for counts in signatures.values()),
            "chosen": sum(counts.chosen for counts in signatures.values()),
            "left_out": _in_order(selection.left_out),
        },
        "sorts": dict(sorted(sorts.items())),
        "signatures": [
            {
                "functions": list(signature),
                "sort": counts.sort,
                "rows": counts.rows,
                "chosen": counts.chosen,
                "left_out": _in_order(counts.left_out),
            }
            for signature, counts in sorted(
                signatures.items(), key=lambda item: (-item[1].chosen, item[0])
            )
        ],
    }


def _in_order(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: counts[reason] for reason in REASONS if counts.get(reason)}
