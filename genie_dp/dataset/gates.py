"""Requirements on statistics: `functions>=.95`, `rows>=20000`, `duplicates<1%`."""

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.records import SOURCES

Kind = Literal["count", "share", "number"]
Counts = Mapping[str, Any]
_TRAITS = ("filters", "parameter passing", "timers", "monitors", "aggregation", "policies")
_EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of the statistics that can be required.

    Attributes:
        kind: of its value; a share is from 0 to 1, and may be required in percent.
        meaning: a description for people.
        value: takes the statistics; returns None where they lack it.
    """

    kind: Kind
    meaning: str
    value: Callable[[Counts], float | None]


def _total(name: str, meaning: str) -> Figure:
    return Figure("count", meaning, lambda counts: counts["totals"][name])


def _of_rows(meaning: str, rows: Callable[[Counts], int]) -> Figure:
    def value(counts: Counts) -> float | None:
        total = counts["totals"]["rows"]
        return rows(counts) / total if total else None

    return Figure("share", meaning, value)


def _trait(name: str) -> Figure:
    return _of_rows(f"rows with {name}", lambda counts: counts["traits"][name])


def _source(name: str) -> Figure:
    return _of_rows(f"rows of source {name}", lambda counts: counts["sources"].get(name, 0))


def _ambiguous(counts: Counts) -> float | None:
    totals = counts["totals"]
    return totals["ambiguous_sentences"] / totals["sentences"] if totals["sentences"] else None


def _covered_share(counts: Counts) -> float | None:
    library = counts["library"]
    return library["used"] / library["functions"] if library and library["functions"] else None


def _rarest(counts: Counts) -> int | None:
    library = counts["library"]
    return library["least_rows"] if library and library["functions"] else None


def _new(name: str) -> Callable[[Counts], float | None]:
    return lambda counts: counts["paraphrases"] and counts["paraphrases"][name]


def _words(choose: Callable[[Mapping[int, int]], float]) -> Callable[[Counts], float | None]:
    def value(counts: Counts) -> float | None:
        lengths = {int(words): rows for words, rows in counts["length"].items() if rows}
        return choose(lengths) if lengths else None

    return value


def _mean(lengths: Mapping[int, int]) -> float:
    return sum(words * rows for words, rows in lengths.items()) / sum(lengths.values())


_OF_LIBRARY = ("functions", "rows_per_function")
FIGURES: Mapping[str, Figure] = {
    "rows": _total("rows", "rows"),
    "sentences": _total("sentences", "different sentences"),
    "programs": _total("programs", "different programs"),
    "programs_without_values": _total("programs_without_values", "the same without their values"),
    "words": _total("words", "different words"),
    "templates": _total("templates", "templates that rows were made with"),
    "functions": Figure("share", "functions of the skills that rows use", _covered_share),
    "functions_used": _total("functions", "functions in use"),
    "rows_per_function": Figure("count", "rows of the rarest function of the skills", _rarest),
    "function_combinations": _total("function_combinations", "combinations of functions"),
    "duplicates": _of_rows(
        "rows that say what another one says", lambda c: c["totals"]["duplicates"]
    ),
    "ambiguous": Figure("share", "sentences with several programs", _ambiguous),
    "out_of_scope": _of_rows("rows to refuse", lambda c: c["totals"]["out_of_scope"]),
    "compound": _of_rows(
        "rows with several functions",
        lambda c: sum(item["rows"] for item in c["classes"] if item["class"].startswith("comp")),
    ),
    **{name.replace(" ", "_"): _trait(name) for name in _TRAITS},
    **{name: _source(name) for name in SOURCES},
    "least_words": Figure("count", "words of the shortest sentence", _words(min)),
    "mean_words": Figure("number", "words of a sentence, on average", _words(_mean)),
    "most_words": Figure("count", "words of the longest sentence", _words(max)),
    "new_words": Figure("share", "new words in a paraphrase, on average", _new("new_words")),
    "new_bigrams": Figure("share", "new bigrams in a paraphrase, on average", _new("new_bigrams")),
}


def figures_of(counts: Counts) -> dict[str, float | None]:
    """Return all figures of statistics; None for those that they lack."""
    return {name: figure.value(counts) for name, figure in FIGURES.items()}


_OPERATORS: Mapping[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    ">": operator.gt,
    "<": operator.lt,
}
_GATE = re.compile(r"\s*([A-Za-z_]\w*)\s*([<>=]=|[<>])\s*(\d+\.?\d*|\.\d+)\s*(%?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Gate:
    """A figure, and the limit that it has to keep."""

    figure: str
    operator: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> "Gate":
        """Return the gate of a text.

        >>> Gate.parse("functions >= 95%")
        Gate(figure='functions', operator='>=', limit=0.95)
        >>> str(Gate.parse("rows>=20000"))
        'rows>=20000'

        Raises:
            GenieError: it is none, there is no such figure, or it is no share (D030).
        """
        match = _GATE.fullmatch(text)
        if match is None:
            hint = f"one of {' '.join(_OPERATORS)} and a number, such as 'functions>=95%'"
            raise GenieError(Problem("D030", f"expected a figure's limit, got {text!r}", hint=hint))
        name, sign, number, percent = match.groups()
        if name not in FIGURES:
            hint = did_you_mean(name, FIGURES) or f"there are {', '.join(FIGURES)}"
            raise GenieError(Problem("D030", f"there is no figure {name!r}", hint=hint))
        kind = FIGURES[name].kind
        if percent and kind != "share":
            message = f"{name} is a {kind}, and no share: {text!r}"
            raise GenieError(Problem("D030", message, hint="leave the % out"))
        limit = float(f"{number}e-2") if percent else float(number)
        if kind == "share" and limit > 1:
            hint = f"{name}{sign}{number}% is in percent" if not percent else "100% is all"
            raise GenieError(Problem("D030", f"{name} is a share, at most 1: {text!r}", hint=hint))
        return cls(name, sign, limit)

    @property
    def needs_library(self) -> bool:
        """Return whether its figure is one of the skills."""
        return self.figure in _OF_LIBRARY

    def is_kept(self, figures: Mapping[str, float | None]) -> bool:
        """Return whether a figure keeps the limit; an unknown one does not."""
        value = figures[self.figure]
        return value is not None and _OPERATORS[self.operator](value, self.limit)

    def __str__(self) -> str:
        return f"{self.figure}{self.operator}{self.limit:.12g}"


def problems_of(gates: tuple[Gate, ...], counts: Counts) -> Iterator[Problem]:
    """Yield a problem for each gate whose limit the figures of statistics do not keep (D031)."""
    figures = counts["figures"]
    for gate in gates:
        if gate.is_kept(figures):
            continue
        value = figures[gate.figure]
        value_text = "not told" if value is None else show(gate.figure, value)
        message = f"{gate.figure} is {value_text}, required {gate.operator} {gate.limit:.12g}"
        yield Problem("D031", message, hint=_hint(gate, value, counts))


def show(figure: str, value: float) -> str:
    """Return the value of a figure for people.

    >>> show("functions", 0.25), show("rows", 1200), show("mean_words", 8.123456)
    ('0.25 (25 %)', '1200', '8.12346')
    """
    if FIGURES[figure].kind != "share":
        return f"{value:.12g}" if isinstance(value, int) else f"{value:.6g}"
    return f"{value:.6g} ({100 * value:.4g} %)"


def _hint(gate: Gate, value: float | None, counts: Counts) -> str | None:
    unused = counts["library"]["unused"] if gate.needs_library else ()
    if unused:
        more = f" and {len(unused) - _EXAMPLES:,} more" if len(unused) > _EXAMPLES else ""
        return f"no row uses {', '.join(unused[:_EXAMPLES])}{more}"
    meaning = FIGURES[gate.figure].meaning
    if gate.figure == "rows_per_function" and value is not None:
        return f"{meaning}: {counts['library']['rarest']}"
    if value is None:
        return f"no row tells it: {meaning}"
    return meaning if meaning != gate.figure else None
