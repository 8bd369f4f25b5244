"""How a private run trains: public numbers only, so that they may be saved beside its model."""

import math
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from genie_dp.private.ledger.mechanisms import PoissonGaussian

EngineName = Literal["vmap", "loop"]
Schedule = Literal["linear", "constant"]
ENGINES: tuple[str, ...] = get_args(EngineName)
# Smaller rates no accountant knows (`ledger.mechanisms`).
_SMALLEST_RATE = 1e-12
# Far beyond, single precision has no numbers left between which clipped gradients are rounded.
CLIPS = (1e-9, 1e9)


@dataclass(frozen=True, slots=True)
class DPSettings:
    """How to train; nothing here is read from private data, nor may be.

    Attributes:
        noise_multiplier: standard deviation of the noise, in clipping norms.
        rate: chance of each unit to be in a step's batch (Poisson sampling).
        steps: noisy steps of the run; all of them are paid before the first.
        batch: expected units of a batch, by which sums are divided: rate times the *public*
            estimate of the number of units. The true number is private, and that of a batch, too.
        clip: largest norm of a row's gradient; 0.1 as in "Privacy-Preserving Domain Adaptation of
            Semantic Parsers" and Li et al. (2022).
        learning_rate: highest learning rate.
        schedule: "linear" to zero, or "constant", both after the warm-up.
        warmup: share of the steps until the highest rate is reached.
        weight_decay, betas: of AdamW; without decay it is Adam.
        engine: how per-row gradients are made (docs/research/private-training.md).
        chunk: rows whose gradients are in memory at a time; a step's batch may have any number.
        checkpoint_every: steps between checkpoints.
        bands: steps whose noise hangs together (`training.banded`), and groups that units are in: a
            step draws of one group alone, with `bands` times the rate. 1 is DP-SGD.
    """

    noise_multiplier: float
    rate: float
    steps: int
    batch: float
    clip: float = 0.1
    learning_rate: float = 1e-3
    schedule: Schedule = "linear"
    warmup: float = 0.06
    weight_decay: float = 0.0
    betas: tuple[float, float] = (0.9, 0.999)
    engine: EngineName = "vmap"
    chunk: int = 8
    checkpoint_every: int = 100
    bands: int = 1

    def __post_init__(self) -> None:
        _expect(0 < self.rate <= 1, "rate in (0, 1]", self.rate)
        _expect(
            0 <= self.noise_multiplier < math.inf, "noise_multiplier >= 0", self.noise_multiplier
        )
        names = ("steps", "batch", "clip", "learning_rate", "chunk", "checkpoint_every", "bands")
        for name in names:
            value = getattr(self, name)
            _expect(0 < value < math.inf, f"{name} > 0", value)
        _expect(CLIPS[0] <= self.clip <= CLIPS[1], "clip from 1e-9 to 1e9", self.clip)
        _expect(self.bands <= self.steps, "at most a band for each step", self.bands)
        _expect(self.bands * self.rate <= 1 + 1e-9, "bands * rate <= 1", self.bands * self.rate)
        _expect(0 <= self.warmup < 1, "warmup in [0, 1)", self.warmup)
        _expect(self.engine in ENGINES, f"engine one of {', '.join(ENGINES)}", self.engine)
        _expect(self.schedule in get_args(Schedule), "schedule linear or constant", self.schedule)

    @property
    def mechanism(self) -> PoissonGaussian:
        """Return the mechanism of a run of these settings, for the accountant."""
        return noisy_steps(self.noise_multiplier, self.rate, self.steps, self.bands)

    def as_dict(self) -> dict[str, Any]:
        """Return the settings as JSON gives them back."""
        facts = {**asdict(self), "betas": list(self.betas)}
        if self.bands == 1:
            del facts["bands"]  # as checkpoints have it that were written before there were any
        return facts


def noisy_steps(noise: float, rate: float, steps: int, bands: int = 1) -> PoissonGaussian:
    """Return the mechanism of steps, for the accountant.

    With bands, it is DP-SGD of as many times the rate and as many times fewer steps (Choquette-Choo
    et al., 2023, "(Amplified) Banded Matrix Factorization", theorem 4): a unit is of one group,
    whose steps are `bands` apart, and the contribution of one of them to the release lies in
    `bands` numbers that no other of them touches, with norm 1 at most.

    >>> noisy_steps(0.5, 0.01, 35, 4)
    PoissonGaussian(noise_multiplier=0.5, rate=0.04, steps=9)
    """
    return PoissonGaussian(noise, min(rate * bands, 1.0), math.ceil(steps / bands))


def _expect(true: bool, expected: str, value: object) -> None:
    if not true:
        raise ValueError(f"expected {expected}, got {value!r}")


def rate_of(batch: float, about: float) -> float:
    """Return the sampling rate that gives batches of an expected size.

    Args:
        batch: expected units of a batch.
        about: units there are, as the public may know: an estimate, or a noisy count that was paid
            for. The guarantee holds whatever the true number is.

    >>> rate_of(64, 10_000)
    0.0064
    """
    least = _SMALLEST_RATE * about
    if not 0 < least <= batch <= about:
        raise ValueError(f"expected a batch from {least:g} to {about:g}, got {batch:g}")
    return batch / about


def steps_of(epochs: float, rate: float) -> int:
    """Return the steps in which a unit is drawn `epochs` times on average.

    >>> steps_of(10, 2048 / 133_584)
    653
    """
    return math.ceil(epochs / rate)
