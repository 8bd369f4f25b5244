"""How a training takes its steps, beside those with noise; nothing here needs torch."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.training.settings import DPSettings, Schedule

OptimizerName = Literal["adamw", "sgd"]


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
        """Refuse what no run has."""
        if self.batch < 1 or not self.learning_rate > 0 or not self.clip >= 0:
            raise ValueError(f"expected a batch of 1 or more, a positive rate, clip >= 0: {self}")
        if not 0 <= self.warmup < 1 or self.optimizer not in get_args(OptimizerName):
            raise ValueError(f"expected warmup in [0, 1), optimizer adamw or sgd: {self}")

    def rate_at(self, progress: float) -> float:
        """Return the learning rate after a share of the run."""
        if self.schedule == "constant" and progress >= self.warmup:
            return self.learning_rate
        from genie_dp.learn.schedule import learning_rate

        return learning_rate(progress, peak=self.learning_rate, warmup=self.warmup)


@dataclass(frozen=True, slots=True)
class SelectiveSettings:
    """How states are released.

    Attributes:
        clip: largest norm of a state, hidden and cell together.
        noise_multiplier: standard deviation of its noise, in such norms.
        crossings: how often a row may go from sensitive to plain; then the rest is sensitive.
    """

    clip: float = 1.0
    noise_multiplier: float = 1.0
    crossings: int = 4


def selective_mechanism(settings: DPSettings, states: SelectiveSettings) -> PoissonGaussian:
    """Return what a run is to the accountant, *if the policy misses nothing*.

    A row that is drawn releases a gradient and as many states as there are crossings: Gaussian sums
    of one batch, whose precisions add up.
    """
    released = states.crossings / states.noise_multiplier**2
    together = 1 / math.sqrt(1 / settings.noise_multiplier**2 + released)
    return PoissonGaussian(together, settings.rate, settings.steps)
