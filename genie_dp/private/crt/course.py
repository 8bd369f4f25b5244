"""The methods that the paper compares, what each sees of the rows, and what it does to them.

Nothing here needs torch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.marked import Apart
from genie_dp.private.crt.settings import PublicSettings, SelectiveSettings
from genie_dp.private.generators.plans import Plan, Training
from genie_dp.private.generators.stages import STAGES, Kind, Labelled, StageName
from genie_dp.private.ledger.accounting import DEFAULT, Accountant
from genie_dp.private.ledger.calibration import noise_multiplier_for
from genie_dp.private.ledger.guard import Units, private_of
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.records import Spent

# non-private and masked are the same steps on other rows: before and after redaction.
Method = Literal["crt", "dp", "non-private", "masked", "s-dp"]
METHODS: tuple[Method, ...] = get_args(Method)
# Those whose private steps are paid from a budget; the others promise nothing.
PAID = ("crt", "dp")

PUBLIC_ROWS = (
    "rows marked public: they were learned from without noise; what is said of secrets in them is "
    "in confidentiality.json"
)
# What redaction takes from elsewhere, and what does not follow from one text alone.
REDACTION = (
    "the lists, detectors and labelled rows that redaction was made and measured with: they are "
    "taken as given, and the measured shares are told as they are",
    "the last digits of a learned detector's scores, which may follow from the texts that are "
    "looked at together",
)
SAID = (
    "how the rows were redacted: that none was made from another unit's is the owner's word, not "
    "recorded"
)
NOTHING = Spent(
    math.inf,
    0.0,
    "utterance",
    "add-or-remove-one",
    "none",
    ("anything: this model is a baseline, trained without a guarantee",),
)


def limits_of(method: Method, apart: Apart | None) -> tuple[str, ...]:
    """Return what the ledger's promise for a paid run does not speak of, in plain words.

    >>> [line[:17] for line in limits_of("dp", "said")]
    ['the lists, detect', 'the last digits o', 'how the rows were']
    """
    public = (PUBLIC_ROWS,) if method == "crt" else ()
    return (*public, *REDACTION, *((SAID,) if apart == "said" else ()))


@dataclass(frozen=True, slots=True)
class Rows:
    """What is learned from; it shows nothing of it.

    Attributes:
        private: rows by unit.
        public: rows.
        words: for s-dp, the words of each row, and whether each is sensitive.
    """

    private: Units[Sequence[Labelled]] = field(default=Units(()), repr=False)
    public: Sequence[Labelled] = field(default=(), repr=False)
    words: Sequence[Sequence[tuple[str, bool]]] = field(default=(), repr=False)


def rows_of(method: Method, private: Units[Sequence[Labelled]], public: Sequence[Labelled]) -> Rows:
    """Return the parts as a method sees them.

    "dp" takes each public row for a unit of its own. The baselines take all for public.
    """
    match method:
        case "crt":
            return Rows(private, public)
        case "dp":
            return Rows(Units((*private, *((row,) for row in public)), private.file), ())
        case _:
            every = (*(row for unit in private for row in unit), *public)
            return Rows(Units((), private.file), every)


def plan_of(
    kind: Kind,
    epochs: Sequence[int],
    rate: float,
    batch: float,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> Plan:
    """Return the plan of the private steps with the least noise that epsilon allows.

    Args:
        kind: which stages there are.
        epochs: of each; an epoch is as many steps as draw a unit once on average.
        rate, batch: chance of a unit to be in a batch, and units of one on average.
        epsilon, delta: for adding or removing one unit of the private part.
        before: what was spent already, to use up what is left; () for this run alone.
        accountant: who computes epsilon.
    """
    steps = steps_of(kind, epochs, rate)
    noise = noise_multiplier_for(
        epsilon, delta, rate=rate, steps=sum(steps.values()), before=before, accountant=accountant
    )
    return Plan(noise, rate, batch, steps)


def steps_of(kind: Kind, epochs: Sequence[int], rate: float) -> dict[StageName, int]:
    """Return the private steps of each stage: whole epochs of them.

    Raises:
        GenieError: there are not as many epochs as stages (O007).

    >>> steps_of("one-stage", [3], 0.3)
    {'utterance': 12}
    """
    stages = STAGES[kind]
    if len(epochs) != len(stages) or min(epochs) < 1:
        names = " and ".join(stage.name for stage in stages)
        message = f"expected whole epochs of {kind} for {names}, got {list(epochs)}"
        hint = "give --epochs T1/T2, such as 2/8" if len(stages) == 2 else "give --epochs T"
        raise GenieError(Problem("O007", message, hint=hint))
    each = math.ceil(1 / rate)
    return {stage.name: n * each for stage, n in zip(stages, epochs, strict=True)}


@dataclass(frozen=True, slots=True)
class Course:
    """How a generator is trained; public numbers only.

    Attributes:
        method: by which of the methods.
        epochs: of each stage.
        plan: the private steps; None without any.
        training: how they are taken.
        plain: how the public ones are.
        states: of s-dp.
    """

    method: Method
    epochs: tuple[int, ...]
    plan: Plan | None = None
    training: Training = field(default_factory=Training)
    plain: PublicSettings = field(default_factory=PublicSettings)
    states: SelectiveSettings = field(default_factory=SelectiveSettings)


def refuse_budget(rows: Path, method: str) -> None:
    """Refuse a baseline on rows that something was promised of (O010)."""
    if private_of(rows) is not None:
        message = f"these rows have a budget, which {method} would not keep"
        hint = "compare methods on rows without a ledger: public ones, or generated ones"
        raise GenieError(Problem("O010", message, hint=hint))


def check_selective(*, is_recurrent: bool, kind: str) -> None:
    """Refuse selective DP-SGD of other models than an LSTM of utterances (O009)."""
    if not is_recurrent or kind != "one-stage":
        message = "selective DP-SGD is for recurrent language models of utterances alone"
        raise GenieError(Problem("O009", message, hint="give --model lstm and --kind one-stage"))
