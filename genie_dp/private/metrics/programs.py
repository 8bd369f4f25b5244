"""Programs as they are measured: functions, graphs without values, and matches of two programs.

Matches are those of Mireshghallah et al. 2023, section 5.4, Table 3.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from genie_dp.errors import GenieError
from genie_dp.languages import Language
from genie_dp.languages.library import Library
from genie_dp.languages.sexpr.ast import Atom, Node, Text, label_index
from genie_dp.languages.types import is_slot
from genie_dp.private.metrics.measures import Intervals

Kind = Literal["valid", "ill-typed", "unreadable"]
_MOST_KEPT = 50_000


@dataclass(frozen=True, slots=True)
class Read:
    """The measured properties of a program.

    Attributes:
        kind: whether it can be read, and fits the library. Of one that cannot be read, there is
            nothing else.
        functions: name -> how often it is used.
        graph: one text for all programs that differ in values only.
    """

    kind: Kind
    functions: Counter[str] = field(default_factory=Counter)
    graph: str = ""


@dataclass(slots=True)
class TokenFormReader:
    """Reads token forms of one language; the last ones are kept.

    Attributes:
        library: that of the language: a skills.Library, Declarations or None.
    """

    language: Language
    library: Library | None = None
    _kept: dict[str, Read] = field(default_factory=dict, repr=False)

    def read(self, text: str) -> Read:
        """Return the measured properties of a program.

        >>> from genie_dp.languages import get_language
        >>> programs = TokenFormReader(get_language("sexpr"))
        >>> programs.read("( f ( g 4L ) )")
        Read(kind='valid', functions=Counter({'f': 1, 'g': 1}), graph='( f ( g NUMBER ) )')
        >>> programs.read("( f").kind
        'unreadable'
        """
        program = self._kept.get(text)
        if program is None:
            if len(self._kept) >= _MOST_KEPT:
                self._kept.clear()
            program = self._kept[text] = self._read(text)
        return program

    def _read(self, text: str) -> Read:
        language, library = self.language, self.library
        try:
            program = language.from_tokens(text)
        except GenieError:
            return Read("unreadable")
        used = language.functions(program)
        try:
            if any(problem.severity == "error" for problem in language.check(program, library)):
                return Read("ill-typed", used)
            # Twice: what is equal without its values may stand in the order of the values.
            bare = language.values.anonymize(language.canonical(program, library))
            again = language.canonical(_without_words(bare), library)
            return Read("valid", used, _without_numbers(language.tokens(again, library)))
        except GenieError:
            return Read("ill-typed", used)

    def functions(self, texts: Iterable[str]) -> Counter[str]:
        """Return how often each function is used in programs that can be read."""
        counts = Counter[str]()
        for text in texts:
            counts.update(self.read(text).functions)
        return counts


def _without_numbers(text: str) -> str:
    """Return a text whose placeholders have no numbers: which value is which is none of a graph's.

    Those of a row are numbered in the order of its sentence, and equal values share one in
    languages without types.

    >>> _without_numbers("now => @a.b param:x:String = QUOTED_STRING_1")
    'now => @a.b param:x:String = QUOTED_STRING'
    """
    return " ".join(t.rpartition("_")[0] if is_slot(t) else t for t in text.split(" "))


def _without_words(program: Any) -> Any:
    """Return a program of TOP with one `_` for the words of each node; any other as it is.

    In square brackets (TOP, Gupta et al. 2018) bare words are words of the sentence, hence values;
    `ProgramValues.anonymize` takes them for symbols, which they are in round ones.
    """
    if not isinstance(program, Node):
        return program
    items = [_without_words(item) for item in program.items]
    if program.bracket == "[":
        place = label_index(program)
        nodes = [item for k, item in enumerate(items) if k == place or isinstance(item, Node)]
        has_words = any(k != place and isinstance(i, Atom | Text) for k, i in enumerate(items))
        items = [*nodes, Atom("_")] if has_words else nodes
    return replace(program, items=tuple(items))


@dataclass(frozen=True, slots=True)
class ProgramMatch:
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


def match(right: Read, found: Read) -> ProgramMatch:
    """Return the common parts of two programs.

    >>> from genie_dp.languages import get_language
    >>> read = TokenFormReader(get_language("sexpr")).read
    >>> match(read("( f ( g 1L ) )"), read("( f ( h 1L ) ( h 2L ) )"))
    ProgramMatch(is_same_graph=False, right=2, found=3, common=1)
    """
    is_same = right.kind == found.kind == "valid" and right.graph == found.graph
    common = (right.functions & found.functions).total()
    return ProgramMatch(is_same, right.functions.total(), found.functions.total(), common)


def match_programs(
    right: Sequence[str], found: Sequence[str], programs: TokenFormReader, *, only: str = ""
) -> list[ProgramMatch]:
    """Return the matches of programs, row by row.

    Args:
        right, found: token forms; "" for "no program".
        only: rows whose right program uses this function, as the breakdown of Table 3.
    """
    pairs = zip(right, found, strict=True)
    read = ((programs.read(r), programs.read(f)) for r, f in pairs)
    return [match(r, f) for r, f in read if not only or only in r.functions]


def figures_of_matches(
    matches: Sequence[ProgramMatch], intervals: Intervals
) -> dict[str, dict[str, float]]:
    """Return the share of equal graphs, and precision and recall of functions.

    Precision and recall are the mean over rows ("macro") and that over all functions ("micro"). A
    row where nothing was found has precision 0, one where nothing is to be found recall 1.

    >>> matches = [ProgramMatch(True, 2, 2, 2), ProgramMatch(False, 2, 4, 1)]
    >>> figures = figures_of_matches(matches, Intervals(draws=10))
    >>> [(name, round(figure["value"], 3)) for name, figure in figures.items()]
    [('graph_match', 0.5), ('precision', 0.625), ('recall', 0.75), ('micro_precision', 0.5),
    ('micro_recall', 0.75)]
    """
    return {
        "graph_match": intervals.mean([float(match.is_same_graph) for match in matches]),
        "precision": intervals.mean(
            [_share(match.common, match.found, match.right) for match in matches]
        ),
        "recall": intervals.mean([_share(match.common, match.right, 0) for match in matches]),
        "micro_precision": intervals.ratio(*_sums(matches, [match.found for match in matches])),
        "micro_recall": intervals.ratio(*_sums(matches, [match.right for match in matches])),
    }


def _share(common: int, of: int, otherwise: int) -> float:
    if of:
        return common / of
    return 0.0 if otherwise else 1.0


def _sums(matches: Sequence[ProgramMatch], below: Sequence[int]) -> tuple[list[float], list[float]]:
    return [float(match.common) for match in matches], [float(count) for count in below]


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
    return GraphCoverage(_share_met(real, synthetic), _share_met(synthetic, real))


def _share_met(rows: Sequence[Read], other: Sequence[Read]) -> float:
    graphs = {program.graph for program in other if program.kind == "valid"}
    return sum(program.kind == "valid" and program.graph in graphs for program in rows) / len(rows)
