"""One prediction against the right programs: how far it comes, and what is wrong with it."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.evaluate.rows import Gold, Prediction
from genie_dp.evaluate.views import Fault, View, Viewer

# From the weakest to the strongest; who reaches one has reached those before it. The first five
# are those of Genie's error analysis (section 5.5).
TIERS = ("syntax", "number of functions", "devices", "functions", "parameters", "match")
MATCH = len(TIERS)

KINDS = (
    "refused",
    "unreadable",
    "ill-typed",
    "wrong function",
    "missing function",
    "extra function",
    "wrong parameter",
    "wrong operator",
    "wrong structure",
    "wrong value",
)


@dataclass(frozen=True, slots=True)
class Judged:
    """What was found of a row.

    Attributes:
        reached: how many of TIERS the best program reaches with the gold program nearest to it.
        rank: place of the first right program in the n-best list, from 1; 0 for none.
        kind: one of KINDS, "" where the first program is right.
        expected: the gold program nearest to the prediction.
        predicted: the first program, "" where there is none.
        detail: why the program cannot be read, or the functions that differ.
        confusions: pairs (expected function, predicted function); "" where one has no partner.
        confidence: that of the first program, None if not told.
    """

    gold: Gold
    reached: int
    rank: int
    kind: str
    expected: str
    predicted: str
    detail: str = ""
    confusions: tuple[tuple[str, str], ...] = ()
    confidence: float | None = None

    @property
    def is_right(self) -> bool:
        """Tell whether the first program is right."""
        return self.reached == MATCH


def judge(gold: Gold, said: Prediction, viewer: Viewer, *, file: str = "<gold>") -> Judged:
    """Return what is right and wrong in a prediction.

    Raises:
        GenieError: a gold program that cannot be read (V005) or is ill-typed (V006).
    """
    right = [(text, gold_view(text, gold, viewer, file)) for text in gold.programs]
    confidence = said.confidences[0] if said.confidences else None
    predicted = said.programs[0] if said.programs else ""
    rank = _rank([view for _, view in right], said.programs, viewer)
    if not predicted:
        return Judged(gold, 0, rank, "refused", right[0][0], "", confidence=confidence)
    found = viewer.view(predicted)
    if isinstance(found, Fault):
        return Judged(
            gold, 0, rank, found.kind, right[0][0], predicted, found.message, (), confidence
        )
    # The first of the nearest: the row's own program stands before those of other rows.
    expected, nearest = max(right, key=lambda one: reached(one[1], found))
    most = reached(nearest, found)
    missing, extra = _difference(nearest, found)
    return Judged(
        gold,
        most,
        rank,
        "" if most == MATCH else kind_of(nearest, found),
        expected,
        predicted,
        _told(missing, extra),
        _confused(missing, extra),
        confidence,
    )


def gold_view(text: str, gold: Gold, viewer: Viewer, file: str) -> View:
    """Return the view of a right program; one that is none is a mistake of the gold file."""
    found = viewer.view(text)
    if isinstance(found, View):
        return found
    code, stage = ("V005", "read") if found.kind == "unreadable" else ("V006", "type-checked")
    message = f"the gold program of {gold.row.id!r} cannot be {stage}: {found.message}"
    hint = "name the library that the rows were made for with --skills, or mend the row"
    place = Span(file, gold.line, 1, gold.line, 1)
    raise GenieError(Problem(code, message, place, hint))


def reached(gold: View, found: View) -> int:
    """Return how many tiers a program that type-checks has reached.

    >>> from genie_dp.evaluate.views import viewer_of
    >>> view = viewer_of("sexpr", None).view
    >>> gold = view("( PIZZA ( SIZE BIG ) )")
    >>> [TIERS[reached(gold, view(text)) - 1] for text in ("( PIZZA ( SIZE SMALL ) )", "( PIZZA )")]
    ['parameters', 'syntax']
    """
    steps = (
        len(gold.functions) == len(found.functions),
        gold.devices == found.devices,
        gold.functions == found.functions,
        gold.shape == found.shape,
        gold.match == found.match,
    )
    return 1 + (steps.index(False) if False in steps else len(steps))


def kind_of(gold: View, found: View) -> str:
    """Return the kind of mistake in a program that type-checks and is not right.

    >>> from genie_dp.evaluate.views import viewer_of
    >>> view = viewer_of("sexpr", None).view
    >>> kind_of(view("( f ( g 1 ) )"), view("( f ( h 1 ) )"))
    'wrong function'
    """
    missing, extra = _difference(gold, found)
    if missing or extra:
        if missing and extra:
            return "wrong function"
        return "missing function" if missing else "extra function"
    if gold.parameters != found.parameters:
        return "wrong parameter"
    if gold.operators != found.operators:
        return "wrong operator"
    return "wrong structure" if gold.shape != found.shape else "wrong value"


def _rank(right: Sequence[View], programs: Sequence[str], viewer: Viewer) -> int:
    matches = {view.match for view in right}
    for place, text in enumerate(programs, 1):
        found = viewer.view(text)
        if isinstance(found, View) and found.match in matches:
            return place
    return 0


def _difference(gold: View, found: View) -> tuple[list[str], list[str]]:
    """Return the functions that are missing, and those that are too many."""
    wanted, got = Counter(gold.functions), Counter(found.functions)
    return sorted((wanted - got).elements()), sorted((got - wanted).elements())


def _confused(missing: Sequence[str], extra: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return which function stands for which; in the order of names where there are several."""
    most = max(len(missing), len(extra))
    padded = ([*names, *[""] * (most - len(names))] for names in (missing, extra))
    return tuple(zip(*padded, strict=True))


def _told(missing: Sequence[str], extra: Sequence[str]) -> str:
    parts = [("missing", missing), ("too many", extra)]
    return "; ".join(f"{words}: {' '.join(names)}" for words, names in parts if names)
