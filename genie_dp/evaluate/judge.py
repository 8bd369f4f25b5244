"""One prediction against the right programs: its tier, and its mistakes.

Where the parser's reply is known, the outcome for the user is judged beside the first program: a
refused program harms nobody, and a right one that is refused helps nobody.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from itertools import zip_longest

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.evaluate.rows import Gold, Prediction
from genie_dp.evaluate.views import ProgramFault, Viewer
from genie_dp.languages.base import ProgramView
from genie_dp.languages.programs import POLES
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import MISSING_INPUT, QUESTIONS

# From the weakest to the strongest; who reaches one has reached those before it. The first five
# are those of Genie's error analysis (section 5.5).
TIERS = ("syntax", "number of functions", "devices", "functions", "parameters", "match")
MATCH = len(TIERS)

RIGHT, WRONG, RIGHTLY_REFUSED, WRONGLY_REFUSED, ASKED = OUTCOMES = (
    "answered rightly",
    "answered wrongly",
    "refused rightly",
    "refused wrongly",
    "asked",
)
"""What a user meets: an answer that is acted on, a refusal, or a question."""

KINDS = (
    "not refused",
    "refused",
    "asked",
    "wrong polarity",
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
class JudgedRow:
    """The judgement of a row.

    Attributes:
        reached: how many of TIERS the best program reaches with the gold program nearest to it.
        rank: place of the first right program in the n-best list, from 1; 0 for none.
        kind: one of KINDS, "" without mistakes: of the outcome for the user where the reply is
            known, else with the first program.
        expected: the gold program nearest to the prediction.
        predicted: the first program, "" where there is none.
        detail: why the program cannot be read, or the functions that differ.
        confusions: pairs (expected function, predicted function); "" where one has no partner.
        confidence: that of the first program, None if unknown, or where there is none.
        outcome: one of OUTCOMES; "" where the reply is not known.
        refused: why the reply is no answer, one of answers.REFUSALS.
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
    outcome: str = ""
    refused: str | None = None

    @property
    def is_right(self) -> bool:
        """Return whether the first program is right."""
        return self.reached == MATCH


def judge(gold: Gold, prediction: Prediction, viewer: Viewer, *, file: str = "<gold>") -> JudgedRow:
    """Return the judgement of a prediction.

    Raises:
        GenieError: a gold program that cannot be read (V005) or is ill-typed (V006).
    """
    judged = _judge_programs(gold, prediction, viewer, file)
    if not prediction.is_reply:
        return judged
    refused = prediction.refused
    outcome, kind = RIGHT if judged.is_right else WRONG, judged.kind
    if refused in QUESTIONS:
        outcome = ASKED
        # A right program that lacks an input is right to lack it.
        kind = "" if judged.is_right and refused == MISSING_INPUT else "asked"
    elif refused is not None:
        is_right = OUT_OF_SCOPE in gold.programs
        outcome, kind = (RIGHTLY_REFUSED, "") if is_right else (WRONGLY_REFUSED, "refused")
    return replace(judged, outcome=outcome, kind=kind, refused=refused)


def _judge_programs(gold: Gold, prediction: Prediction, viewer: Viewer, file: str) -> JudgedRow:
    """Return the judgement of the first program."""
    predicted = prediction.programs[0] if prediction.programs else ""
    if predicted == OUT_OF_SCOPE:
        predicted = ""
    confidence = prediction.confidences[0] if prediction.confidences and predicted else None
    if OUT_OF_SCOPE in gold.programs:
        reached, rank, kind = (0, 0, "not refused") if predicted else (MATCH, 1, "")
        return JudgedRow(gold, reached, rank, kind, OUT_OF_SCOPE, predicted, confidence=confidence)
    right = [(text, gold_view(text, gold, viewer, file)) for text in gold.programs]
    matches = {view.match for _, view in right}
    views = enumerate(map(viewer.view, prediction.programs), 1)
    ranks = (n for n, view in views if isinstance(view, ProgramView) and view.match in matches)
    rank = next(ranks, 0)
    if not predicted:
        return JudgedRow(gold, 0, rank, "refused", right[0][0], "")
    view = viewer.view(predicted)
    if isinstance(view, ProgramFault):
        return JudgedRow(
            gold, 0, rank, view.kind, right[0][0], predicted, view.message, (), confidence
        )
    # The first of the nearest: the row's own program stands before those of other rows.
    expected, nearest = max(right, key=lambda pair: count_tiers(pair[1], view))
    tiers = count_tiers(nearest, view)
    missing, extra = _difference(nearest, view)
    differences = (("missing", missing), ("too many", extra))
    return JudgedRow(
        gold,
        tiers,
        rank,
        "" if tiers == MATCH else _kind(expected, predicted, nearest, view),
        expected,
        predicted,
        "; ".join(f"{words}: {' '.join(names)}" for words, names in differences if names),
        # Which function stands for which; in the order of names where there are several.
        tuple(zip_longest(missing, extra, fillvalue="")),
        confidence,
    )


_SAME = {pole: pair[0] for pair in POLES for pole in pair}
_PARTS = re.compile(r"[a-z]+|[<>]=?|[^a-z<>]+")


def differ_in_polarity(one: str, other: str) -> bool:
    """Return whether two token forms are opposite, and equal otherwise.

    >>> on = "now => @c.light.power on param:power:Enum(on,off) = enum:on"
    >>> differ_in_polarity(on, on.replace("enum:on", "enum:off"))
    True
    >>> differ_in_polarity(on, on.replace("light", "lamp")), differ_in_polarity(on, on)
    (False, False)
    """
    return one != other and _without_poles(one) == _without_poles(other)


def _without_poles(program: str) -> str:
    tokens = (token for token in program.split() if token not in ("not", "!", "(", ")"))
    return " ".join("".join(_SAME.get(x, x) for x in _PARTS.findall(token)) for token in tokens)


def _kind(expected: str, predicted: str, gold: ProgramView, view: ProgramView) -> str:
    if differ_in_polarity(expected, predicted):
        return "wrong polarity"
    return kind_of(gold, view)


def gold_view(text: str, gold: Gold, viewer: Viewer, file: str) -> ProgramView:
    """Return the view of a right program; one that is none is a mistake of the gold file."""
    view = viewer.view(text)
    if isinstance(view, ProgramView):
        return view
    code, stage = ("V005", "read") if view.kind == "unreadable" else ("V006", "type-checked")
    message = f"the gold program of {gold.row.id!r} cannot be {stage}: {view.message}"
    hint = "name the library that the rows were made for with --skills, or mend the row"
    place = Span(file, gold.line, 1, gold.line, 1)
    raise GenieError(Problem(code, message, place, hint))


def count_tiers(gold: ProgramView, predicted: ProgramView) -> int:
    """Return the number of tiers that a program which type-checks has reached.

    >>> from genie_dp.evaluate.views import viewer_of
    >>> view = viewer_of("sexpr", None).view
    >>> gold = view("( PIZZA ( SIZE BIG ) )")
    >>> TIERS[count_tiers(gold, view("( PIZZA ( SIZE SMALL ) )")) - 1]
    'parameters'
    """
    steps = (
        len(gold.functions) == len(predicted.functions),
        gold.devices == predicted.devices,
        gold.functions == predicted.functions,
        gold.shape == predicted.shape,
        gold.match == predicted.match,
    )
    return 1 + (steps.index(False) if False in steps else len(steps))


def kind_of(gold: ProgramView, predicted: ProgramView) -> str:
    """Return the kind of mistake in a program that type-checks and is not right.

    >>> from genie_dp.evaluate.views import viewer_of
    >>> view = viewer_of("sexpr", None).view
    >>> kind_of(view("( f ( g 1 ) )"), view("( f ( h 1 ) )"))
    'wrong function'
    """
    missing, extra = _difference(gold, predicted)
    if missing or extra:
        if missing and extra:
            return "wrong function"
        return "missing function" if missing else "extra function"
    if gold.parameters != predicted.parameters:
        return "wrong parameter"
    if gold.operators != predicted.operators:
        return "wrong operator"
    return "wrong structure" if gold.shape != predicted.shape else "wrong value"


def _difference(gold: ProgramView, predicted: ProgramView) -> tuple[list[str], list[str]]:
    """Return the functions that are missing, and those that are too many."""
    expected, got = Counter(gold.functions), Counter(predicted.functions)
    return sorted((expected - got).elements()), sorted((got - expected).elements())
