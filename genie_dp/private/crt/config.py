"""How a generator is trained on redacted rows: the methods of the paper, and their steps.

Public numbers only, and nothing here needs torch.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.statements import Apart
from genie_dp.private.generators.config import MOMENTUM, MOMENTUM_OF_OTHERS
from genie_dp.private.generators.plans import NoisySteps, TrainingPlan
from genie_dp.private.generators.stages import STAGES, Kind, StageName
from genie_dp.private.ledger.accounting import DEFAULT, Accountant, noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.training.settings import (
    CLIPS,
    ENGINES,
    EngineName,
    Schedule,
    rate_of,
)
from genie_dp.recipe import check_settings, setting
from genie_dp.records import DEFAULT_LANGUAGE, Spent

if TYPE_CHECKING:
    from genie_dp.private.generators.models import Settings

# non-private and masked are the same steps on other rows: before and after redaction.
Method = Literal["crt", "dp", "non-private", "masked"]
METHODS: tuple[Method, ...] = get_args(Method)
# Those whose private steps are paid from a budget; the others promise nothing.
PAID = ("crt", "dp")
OptimizerName = Literal["adamw", "sgd"]
_EPOCHS = {"one-stage": "10", "two-stage": "2/8"}
# Learning rates of noisy steps, and Adam's first beta, as measured in docs/research/crt.md.
_RATES = {"lstm": 5e-2, "decoder": 2e-2}
_OTHER_RATE = 1e-3
_MOMENTA = {"decoder": MOMENTUM}

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
NOTHING = Spent(
    math.inf,
    0.0,
    "utterance",
    "add-or-remove-one",
    "none",
    ("anything: this model is a baseline, trained without a guarantee",),
)


def describe_limits(method: Method, apart: Apart | None) -> tuple[str, ...]:
    """Return what the ledger's promise for a paid run does not speak of, in plain words.

    >>> [line[:17] for line in describe_limits("dp", "said")]
    ['the lists, detect', 'the last digits o', 'how the rows were']
    """
    public = (PUBLIC_ROWS,) if method == "crt" else ()
    return (*public, *REDACTION, *((OWNERS_WORD,) if apart == "said" else ()))


# ------------------------------------------------------------------------------ settings of steps


@dataclass(frozen=True, slots=True)
class PublicSettings:
    """How the steps on public rows are taken.

    Attributes:
        batch: rows of a batch.
        learning_rate: highest learning rate.
        schedule, warmup: as those of private steps.
        clip: largest norm of a batch's gradient; 0 for none.
        optimizer: of both parts, each with a state of its own.
        seed: of the order of rows.
    """

    batch: int = 64
    learning_rate: float = 2e-3
    schedule: Schedule = "linear"
    warmup: float = 0.06
    clip: float = 1.0
    optimizer: OptimizerName = "adamw"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.batch < 1 or not self.learning_rate > 0 or not self.clip >= 0:
            raise ValueError(f"expected a batch of 1 or more, a positive rate, clip >= 0: {self}")
        if not 0 <= self.warmup < 1 or self.optimizer not in get_args(OptimizerName):
            raise ValueError(f"expected warmup in [0, 1), optimizer adamw or sgd: {self}")

    def rate_at(self, progress: float) -> float:
        """Return the learning rate after a share of the run."""
        if self.schedule == "constant" and progress >= self.warmup:
            return self.learning_rate
        from genie_dp.models.loop import learning_rate

        return learning_rate(progress, peak=self.learning_rate, warmup=self.warmup)


@dataclass(frozen=True, slots=True)
class Course:
    """How a generator is trained; public numbers only.

    Attributes:
        method: by which of the methods.
        epochs: of each stage.
        plan: the private steps; None without any.
        training: how they are taken.
        plain: how the public ones are.
    """

    method: Method
    epochs: tuple[int, ...]
    plan: TrainingPlan | None = None
    training: NoisySteps = field(default_factory=NoisySteps)
    plain: PublicSettings = field(default_factory=PublicSettings)


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


# ---------------------------------------------------------------------------- settings of a run


@dataclass(frozen=True, slots=True, kw_only=True)
class CrtConfig:
    """How a run trains on redacted rows, what it costs, and what is known of their redaction."""

    method: Method = setting(
        "crt", "crt, DP-SGD on all rows, or a baseline without any guarantee.", choices=METHODS
    )
    kind: Kind = setting(
        "one-stage",
        "Utterances, or programs and utterances.",
        choices=("one-stage", "two-stage"),
    )
    epsilon: float | None = setting(
        None, "What this run costs by itself, for one private row more or less.", above=0
    )
    rest: bool = False
    """Instead of epsilon: what is left of the budget is used up."""
    about: float | None = setting(
        None,
        "How many private units there are, as far as anybody may know.",
        above=0,
        metavar="N",
    )
    batch: float = setting(64.0, "Private units of a batch, on average.", above=0)
    epochs: str | None = setting(
        None,
        "Whole epochs; of two stages T1 for programs and T2 for utterances [10, 2/8].",
        metavar="T|T1/T2",
    )
    gamma: str | None = setting(
        None,
        "Instead of a report: the share that is missed, and its 95 % interval.",
        metavar="SHARE[,LOW,HIGH]",
    )
    delta_2: str | None = setting(
        None,
        "Instead of a report: the share of secrets whose row is public.",
        metavar="SHARE[,LOW,HIGH]",
    )
    measured_on: str | None = setting(None, "Where these shares were measured.", metavar="TEXT")
    language: str = setting(DEFAULT_LANGUAGE, "Of the rows' programs.")
    model: str = setting(
        "lstm",
        "An LSTM of one layer, the own decoder, or a causal model of Hugging Face such as "
        "distilgpt2.",
        metavar="lstm|decoder|NAME|DIR",
    )
    size: int = setting(200, "Of the states.", least=1)
    layers: int = setting(4, "Of the own decoder.", least=1)
    heads: int = setting(4, "Of the own decoder.", least=1)
    longest: int = setting(256, "Tokens of a row; what is longer is cut.", least=8)
    public_batch: int = setting(64, "Public rows of a batch.", least=1)
    public_rate: float = setting(2e-3, "Highest learning rate on public rows.", above=0)
    learning_rate: float | None = setting(
        None,
        "Highest learning rate on private rows: noisy steps want a high one [lstm 0.05, decoder "
        "0.02, else 0.001].",
        above=0,
    )
    optimizer: OptimizerName = setting(
        "adamw", "Of both parts; sgd is the paper's.", choices=get_args(OptimizerName)
    )
    clip: float = setting(
        0.1, "Largest norm of a private row's gradient.", least=CLIPS[0], most=CLIPS[1]
    )
    engine: EngineName = setting("vmap", "How gradients of single rows are made.", choices=ENGINES)
    chunk: int = setting(8, "Rows whose gradients are in memory at a time.", least=1)
    checkpoint_every: int = setting(
        100, "So often an interrupted run can go on.", least=1, metavar="STEPS"
    )
    seed: int = setting(0, "Of first weights and public batches; private ones have none.")

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)

    @property
    def is_paid(self) -> bool:
        """Return whether a ledger pays for the private steps; else nothing is promised."""
        return self.method in PAID

    @property
    def epoch_counts(self) -> tuple[int, ...]:
        """Return the epochs of each stage.

        Raises:
            GenieError: they are no whole numbers (O007).
        """
        text = self.epochs or _EPOCHS[self.kind]
        try:
            return tuple(int(part) for part in text.split("/"))
        except ValueError:
            hint = "such as 10, or 2/8 for two stages"
            raise GenieError(Problem("O007", f"no whole epochs: {text!r}", hint=hint)) from None

    @property
    def rate(self) -> float:
        """Return the chance of a private unit to be in a batch.

        Raises:
            GenieError: there are fewer units than a batch has, or nobody knows how many (O006).
        """
        try:
            return rate_of(self.batch, self.about or 0.0)
        except ValueError as error:
            hint = "give --about, roughly how many private units there are, and a smaller --batch"
            raise GenieError(Problem("O006", str(error), hint=hint)) from None

    def shared_settings(self) -> dict[str, Any]:
        """Return what a resumed run must share, with the defaults that follow from others."""
        names = (
            "method", "kind", "epsilon", "rest", "about", "batch", "epochs", "language", "model",
            "size", "layers", "heads", "longest", "public_batch", "public_rate", "optimizer",
            "clip", "engine", "chunk", "checkpoint_every", "seed",
        )  # fmt: skip
        course = self.course(None)
        return {
            **{name: getattr(self, name) for name in names},
            "learning_rate": course.training.learning_rate,
        }

    def course(self, plan: TrainingPlan | None) -> Course:
        """Return what is done, with these private steps."""
        return Course(
            self.method,
            self.epoch_counts,
            plan,
            NoisySteps(
                self.clip,
                self.learning_rate or _RATES.get(self.model, _OTHER_RATE),
                self.engine,
                self.chunk,
                self.checkpoint_every,
                _MOMENTA.get(self.model, MOMENTUM_OF_OTHERS),
            ),
            PublicSettings(
                self.public_batch, self.public_rate, optimizer=self.optimizer, seed=self.seed
            ),
        )

    def model_settings(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.models import (
            DecoderSettings,
            HuggingFaceSettings,
            RecurrentLMSettings,
        )

        match self.model:
            case "lstm":
                return RecurrentLMSettings(self.size, self.longest)
            case "decoder":
                return DecoderSettings(self.size, self.layers, self.heads, self.longest)
            case name:
                return HuggingFaceSettings(name, longest=self.longest)
