"""Programs against the right ones, row by row (Mireshghallah et al. 2023, section 5.4, Table 3)."""

from collections.abc import Sequence
from dataclasses import dataclass

from genie_dp.private.metrics.intervals import Intervals
from genie_dp.private.metrics.programs import Programs, Read


@dataclass(frozen=True, slots=True)
class Match:
    """One program against the right one.

    Attributes:
        is_same_graph: both are valid, and equal without their values.
        right, found: functions of the right program, and of the other, each as often as used.
        common: functions of both, "treating the tree as a bag of nodes".
    """

    is_same_graph: bool
    right: int
    found: int
    common: int


def match(right: Read, found: Read) -> Match:
    """Return what two programs have in common.

    >>> from genie_dp.languages import get_language
    >>> read = Programs(get_language("sexpr")).read
    >>> match(read("( f ( g 1L ) )"), read("( f ( h 1L ) ( h 2L ) )"))
    Match(is_same_graph=False, right=2, found=3, common=1)
    """
    is_same = right.kind == found.kind == "valid" and right.graph == found.graph
    common = (right.functions & found.functions).total()
    return Match(is_same, right.functions.total(), found.functions.total(), common)


def matched(
    right: Sequence[str], found: Sequence[str], programs: Programs, *, only: str = ""
) -> list[Match]:
    """Return the matches of programs, row by row.

    Args:
        right, found: token forms; "" for "no program".
        only: rows whose right program uses this function, as the breakdown of Table 3.
    """
    pairs = zip(right, found, strict=True)
    read = ((programs.read(r), programs.read(f)) for r, f in pairs)
    return [match(r, f) for r, f in read if not only or only in r.functions]


def described(matches: Sequence[Match], intervals: Intervals) -> dict[str, dict[str, float]]:
    """Return the share of equal graphs, and precision and recall of functions.

    Precision and recall are the mean over rows ("macro") and that over all functions ("micro"). A
    row where nothing was found has precision 0, one where nothing is to be found recall 1.

    >>> figures = described([Match(True, 2, 2, 2), Match(False, 2, 4, 1)], Intervals(draws=10))
    >>> [(name, round(figure["value"], 3)) for name, figure in figures.items()]
    [('graph_match', 0.5), ('precision', 0.625), ('recall', 0.75), ('micro_precision', 0.5),
    ('micro_recall', 0.75)]
    """
    return {
        "graph_match": intervals.mean([float(one.is_same_graph) for one in matches]),
        "precision": intervals.mean([_share(one.common, one.found, one.right) for one in matches]),
        "recall": intervals.mean([_share(one.common, one.right, 0) for one in matches]),
        "micro_precision": intervals.ratio(*_sums(matches, [one.found for one in matches])),
        "micro_recall": intervals.ratio(*_sums(matches, [one.right for one in matches])),
    }


def _share(common: int, of: int, otherwise: int) -> float:
    if of:
        return common / of
    return 0.0 if otherwise else 1.0


def _sums(matches: Sequence[Match], below: Sequence[int]) -> tuple[list[float], list[float]]:
    return [float(one.common) for one in matches], [float(count) for count in below]


@dataclass(frozen=True, slots=True)
class GraphCoverage:
    """Anonymised graphs of two corpora whose rows are no pairs.

    Attributes:
        recall: share of the real rows whose graph some synthetic row has.
        precision: share of the synthetic rows whose graph some real row has.
    """

    recall: float
    precision: float


def graph_coverage(real: Sequence[Read], synthetic: Sequence[Read]) -> GraphCoverage:
    """Return how many rows have a graph that occurs in the other corpus, too.

    Not in the paper, which compares graphs of parsers only; for it, rows must be pairs.
    """
    return GraphCoverage(_met(real, synthetic), _met(synthetic, real))


def _met(rows: Sequence[Read], other: Sequence[Read]) -> float:
    known = {one.graph for one in other if one.kind == "valid"}
    return sum(one.kind == "valid" and one.graph in known for one in rows) / len(rows)
