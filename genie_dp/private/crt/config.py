"""Methods of training on redacted rows, their noisy steps, and what their guarantee leaves out.

Public numbers only, and nothing here needs torch.
"""

import math
from collections.abc import Sequence
from typing import Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.statements import Apart
from genie_dp.private.generators.plans import TrainingPlan
from genie_dp.private.generators.stages import STAGES, Kind, StageName
from genie_dp.private.ledger.accounting import DEFAULT, Accountant, noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Mechanism

# non-private and masked are the same steps on other rows: before and after redaction.
Method = Literal["crt", "dp", "non-private", "masked"]
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
OWNERS_WORD = (
    "how the rows were redacted: that none was made from another unit's is the owner's word, not "
    "recorded"
)


def describe_limits(method: Method, apart: Apart | None) -> tuple[str, ...]:
    """Return what the ledger's promise for a paid run does not speak of, in plain words.

    >>> [line[:17] for line in describe_limits("dp", "said")]
    ['the lists, detect', 'the last digits o', 'how the rows were']
    """
    public = (PUBLIC_ROWS,) if method == "crt" else ()
    return (*public, *REDACTION, *((OWNERS_WORD,) if apart == "said" else ()))


def plan_private_steps(
    kind: Kind,
    epochs: Sequence[int],
    rate: float,
    batch: float,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> TrainingPlan:
    """Return the plan of the private steps with the least noise that epsilon allows.

    Args:
        kind: which stages there are.
        epochs: of each; an epoch is as many steps as draw a unit once on average.
        rate, batch: chance of a unit to be in a batch, and units of one on average.
        epsilon, delta: for adding or removing one unit of the private part.
        before: what was spent already, to use up what is left; () for this run alone.
        accountant: who computes epsilon.
    """
    steps = count_private_steps(kind, epochs, rate)
    noise = noise_multiplier_for(
        epsilon, delta, rate=rate, steps=sum(steps.values()), before=before, accountant=accountant
    )
    return TrainingPlan(noise, rate, batch, steps)


def count_private_steps(kind: Kind, epochs: Sequence[int], rate: float) -> dict[StageName, int]:
    """Return the private steps of each stage: whole epochs of them.

    Raises:
        GenieError: there are not as many epochs as stages (O007).

    >>> count_private_steps("one-stage", [3], 0.3)
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
