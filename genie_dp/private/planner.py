"""How to train on private rows within a time: batch, steps and noise, and the alternatives.

A plan reads no row. Time follows from the speed of this machine, noise from the accountant, and the
expected loss from a table of measurements (`MEASURED`).
"""

import math
import time
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.plans import (
    BANDED_RATE,
    HELD_OUT,
    MOMENTUM,
    RATE,
    TRIALS_MEAN,
    Speed,
)
from genie_dp.private.generators.stages import KINDS, Kind
from genie_dp.private.ledger.accounting import (
    ACCOUNTANTS,
    DEFAULT,
    Accountant,
    least_noise,
)
from genie_dp.private.ledger.mechanisms import PoissonGaussian, Selection
from genie_dp.private.training.settings import DPSettings, noisy_steps
from genie_dp.recipe import REQUIRED, setting
from genie_dp.run.stage import Output, Result
from genie_dp.stage.kernel import Stage

# Nats a word of 1,000 held-out sentences of TOPv2 navigation: a one-stage decoder of 2 layers and
# 96 dimensions, pretrained on 12,000 sentences of other domains (before noisy steps: BEFORE), by
# steps (lines) and by the signal of a step, batch / noise multiplier (columns). Batches were of 96,
# the noise gave the signal. Learning rate 0.02, momentum 0.5, one run each
# (`benchmarks/private_plan.py`, 26 November 2026).
SIGNALS = (100.0, 300.0, 1000.0, 3000.0, 10000.0)
MEASURED: Mapping[int, tuple[float, ...]] = {
    10: (6.07, 5.61, 5.24, 5.16, 5.20),
    20: (5.86, 5.35, 4.93, 4.75, 4.72),
    40: (5.71, 5.15, 4.67, 4.43, 4.36),
    80: (5.69, 5.03, 4.47, 4.17, 4.04),
}
BEFORE = 6.88
# How far interpolation missed lines and columns between others that were left out, on average; the
# worst was 0.13.
UNCERTAINTY = 0.06
# Weights of that decoder. With four times as many, the same noise is twice as long.
WEIGHTS = 1_070_976


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning(Stage):
    """Plan a training on private rows: batch, steps and noise within a time.

    No row is read. Noise follows from epsilon, delta and the number of units; time from the speed
    of this machine, which some steps on made-up rows measure; the expected quality from a table
    that was measured on other rows. It also shows the effect of more epsilon, minutes or units.

    \b
    genie-dp private plan --epsilon 8 --delta 1e-5 --estimated-units 20000 --minutes 30
    """

    command = "private plan"

    epsilon: float = setting(REQUIRED, "What the training may cost by itself.", above=0)
    delta: float = setting(REQUIRED, "Of the budget.", above=0, below=1)
    estimated_units: float = setting(
        REQUIRED,
        "Public estimate of the number of units: utterances, dialogues or users.",
        above=0,
        metavar="N",
    )
    minutes: float = setting(REQUIRED, "CPU minutes that training may take.", above=0)
    kind: Kind = setting("one-stage", "Of the generator.", choices=KINDS)
    accountant: Accountant = setting(DEFAULT, "Who computes epsilon.", choices=ACCOUNTANTS)
    public_rows: int = setting(
        0, "Public rows that are learned first, in the same minutes.", least=0, metavar="N"
    )
    pretraining_epochs: float = setting(5.0, "Epochs of the public rows.", above=0)
    tokens: int = setting(16, "Tokens of a row, on average, its prompt included.", least=2)
    words: int = setting(4000, "Words of the public rows that come twice or more.", least=1)
    size: int = setting(256, "Of the own decoder's states.", least=1)
    layers: int = setting(4, "Of the own decoder.", least=1)
    heads: int = setting(4, "Of the own decoder.", least=1)
    chunk: int = setting(32, "Rows whose gradients are in memory at a time.", least=1)
    rows_a_second: float | None = setting(
        None, "Private rows a second, instead of measuring this machine.", above=0, metavar="N"
    )

    def run(self, output: Output, *, progress: bool | None = None) -> "PrivatePlan":
        """Return the best training, and those with twice of something.

        Raises:
            GenieError: no noise gives epsilon (B004), or there is no time for a step (H012).
        """
        return make_plan(self)


@dataclass(frozen=True, slots=True)
class PlannedTraining:
    """One way to train.

    Attributes:
        steps: noisy steps, of all stages together.
        batch: expected units of a batch.
        rate: chance of a unit to be in a batch.
        noise_multiplier: deviation of the noise, in clipping norms.
        learning_rate: highest one.
        minutes: CPU minutes of the noisy steps.
        loss: nats a word to be expected where it was measured; elsewhere it ranks plans.
        is_measured: whether it lies within the table; else its edge stands for it.
        bands: of the noise.
    """

    steps: int
    batch: int
    rate: float
    noise_multiplier: float
    learning_rate: float
    minutes: float
    loss: float
    is_measured: bool
    bands: int = 1

    def line(self) -> str:
        """Return it in one line."""
        beyond = "" if self.is_measured else ", beyond what was measured"
        if self.steps == max(MEASURED):
            beyond += ", the most steps that were measured"
        return (
            f"{self.steps:,} steps of {self.batch:,} units (rate {self.rate:.3g}), noise multiplier"
            f" {self.noise_multiplier:.3f}, {self.minutes:.1f} minutes; {self.loss:.2f} nats a "
            f"word{beyond}"
        )


@dataclass(frozen=True, slots=True, repr=False)
class PrivatePlan(Result):
    """A training within a time, and its alternatives: other budgets, longer, with bands or trials.

    Attributes:
        config: the settings.
        speed: of this machine.
        best: the training.
        bought: the change -> the best training with it.
    """

    config: Planning
    speed: Speed
    best: PlannedTraining
    bought: Mapping[str, PlannedTraining] = field(default_factory=dict)

    @property
    def epochs(self) -> str:
        """Return the epochs of each stage as `private train` takes them.

        Rounded down, so that no step comes on top.
        """
        epochs = self.best.steps * self.best.rate
        shares = (0.2, 0.8) if self.config.kind == "two-stage" else (1.0,)
        return "/".join(f"{math.floor(epochs * share * 1e6) / 1e6:.6g}" for share in shares)

    def findings(self) -> Iterator[str]:
        """Yield the plan, its command, and the alternatives."""
        config, best, speed = self.config, self.best, self.speed
        yield f"plan     {best.line()}"
        yield (
            f"         genie-dp private train {config.kind} PRIVATE "
            f"--estimated-units {config.estimated_units:.10g} "
            f"--epsilon {config.epsilon:g} --batch {best.batch} --epochs {self.epochs} "
            f"--learning-rate {best.learning_rate:g} --chunk {config.chunk} --size {config.size} "
            f"--layers {config.layers} --heads {config.heads}"
            + (f" --pretraining-epochs {config.pretraining_epochs:g}" if config.public_rows else "")
        )
        rows = f"{1 / speed.row:,.0f} private rows a CPU second"
        yield f"speed    {rows}, and {speed.step:.3f} s a step"
        for name, alternative in self.bought.items():
            yield f"{name:<32} {alternative.loss - best.loss:+.2f}: {alternative.line()}"
        yield (
            f"Nats a word are those of TOPv2 navigation ({BEFORE:.2f} before any private row, and "
            f"±{UNCERTAINTY:.2f} between measured points). For other rows they rank plans, no more."
        )

    def lines(self) -> Iterator[str]:
        """Yield the findings."""
        return self.findings()


def plan(**settings: Any) -> PrivatePlan:
    """Return how to train on private rows within a time, and alternatives; nothing is read.

    Args:
        settings: those of `Planning`: epsilon=8, delta=1e-6, estimated_units=20_000,
            minutes=30 and others.

    Raises:
        GenieError: settings are missing or out of range (R040, R043), no noise gives epsilon
            (B004), or there is no time for a step (H012).
    """
    return make_plan(Planning.of(settings))


def make_plan(config: Planning) -> PrivatePlan:
    """Return the best training of a config, and those with twice of something.

    Raises:
        GenieError: no noise gives epsilon (B004), or there is no time for a step (H012).
    """
    speed = measure_speed(config)
    best = best_training(config, speed)
    more = {
        f"twice the epsilon ({2 * config.epsilon:g})": replace(config, epsilon=2 * config.epsilon),
        f"twice the minutes ({2 * config.minutes:g})": replace(config, minutes=2 * config.minutes),
        f"twice the units ({2 * config.estimated_units:,.0f})": replace(
            config, estimated_units=2 * config.estimated_units
        ),
        f"half the epsilon ({config.epsilon / 2:g})": replace(config, epsilon=config.epsilon / 2),
    }
    bought = {name: best_training(c, speed, near=best.steps) for name, c in more.items()}
    if config.kind == "one-stage":
        banded = best_training(config, speed, near=best.steps, is_banded=True)
        bought[f"--bands {banded.bands}"] = banded
    bought[f"--tune, {TRIALS_MEAN:g} trials on average"] = _plan_tuned(config, speed, best)
    return PrivatePlan(config, speed, best, bought)


def _plan_tuned(config: Planning, speed: Speed, best: PlannedTraining) -> PlannedTraining:
    """Return a training like it whose settings are chosen by trials (`generators.selection`)."""
    about = config.estimated_units * (1 - HELD_OUT)
    rate = min(1.0, best.batch / about)
    noise = least_noise(
        lambda sigma: (
            Selection(((PoissonGaussian(sigma, rate, best.steps),),), "geometric", TRIALS_MEAN),
        ),
        config.epsilon,
        config.delta,
        accountant=config.accountant,
    )
    loss, is_measured = expected_loss(best.steps, _signal(config, best.batch, noise))
    return replace(
        best, rate=rate, noise_multiplier=noise, minutes=TRIALS_MEAN * best.minutes, loss=loss,
        is_measured=is_measured,
    )  # fmt: skip


def _signal(config: Planning, batch: float, noise: float) -> float:
    """Return the signal of a step, as it would be in the decoder that was measured."""
    return batch / noise * math.sqrt(WEIGHTS / weights_of(config))


def best_training(
    config: Planning, speed: Speed, *, near: int = 40, is_banded: bool = False
) -> PlannedTraining:
    """Return the steps and the batch of the least expected loss within the minutes.

    Args:
        config: the settings.
        speed: of this machine.
        near: steps to begin the search at.
        is_banded: with noise of as many bands as there are steps, in one epoch.

    Raises:
        GenieError: no noise gives epsilon (B004), or there is no time for a step (H012).
    """
    stages = 2 if config.kind == "two-stage" else 1
    public = config.public_rows * config.pretraining_epochs * speed.public_row * stages
    seconds = 60 * config.minutes - public

    def batch_of(steps: int) -> int:
        limit = config.estimated_units / steps if is_banded else config.estimated_units
        return min(int((seconds / steps - speed.step) / speed.row), int(limit))

    tries = [steps for steps in _steps_to_try() if batch_of(steps) >= 1]
    if not tries:
        least = speed.seconds(_steps_to_try()[0], 1) + public
        message = f"expected {least / 60:.2g} minutes or more, got {config.minutes:g}"
        hint = "give more minutes, fewer public rows or a smaller model"
        raise GenieError(Problem("H012", message, hint=hint))

    @cache
    def trained(place: int, accountant: Accountant = "rdp") -> PlannedTraining:
        # Searched by the fast accountant, which asks for more noise with any number of steps.
        steps = tries[place]
        bands = steps if is_banded else 1
        return _training(config, speed, steps, batch_of(steps), accountant, bands=bands)

    place = min(range(len(tries)), key=lambda i: abs(tries[i] - near))
    while better := [
        place_beside
        for place_beside in (place - 1, place + 1)
        if 0 <= place_beside < len(tries) and trained(place_beside).loss < trained(place).loss
    ]:
        place = better[0]
    return trained(place, config.accountant)


def _steps_to_try() -> tuple[int, ...]:
    """Return numbers of steps between those that were measured, each about 1.4 times the last.

    >>> _steps_to_try()
    (10, 14, 20, 28, 40, 57, 80)
    """
    first, last = min(MEASURED), max(MEASURED)
    count = round(2 * math.log2(last / first))
    return tuple(round(first * (last / first) ** (i / count)) for i in range(count + 1))


def _training(
    config: Planning,
    speed: Speed,
    steps: int,
    batch: int,
    accountant: Accountant,
    *,
    bands: int = 1,
) -> PlannedTraining:
    """Return a training, without bands or with as many as steps.

    The noise that bands leave in the weights counts as the noise of a training without.
    """
    rate = batch / config.estimated_units
    noise = least_noise(
        lambda sigma: (noisy_steps(sigma, rate, steps, bands),),
        config.epsilon,
        config.delta,
        accountant=accountant,
    )
    noise_share, highest = (1.0, RATE) if bands == 1 else (_noise_left(steps), BANDED_RATE)
    loss, is_measured = expected_loss(steps, _signal(config, batch, noise * noise_share))
    minutes = speed.seconds(steps, batch) / 60
    return PlannedTraining(steps, batch, rate, noise, highest, minutes, loss, is_measured, bands)


@cache
def _noise_left(steps: int) -> float:
    from genie_dp.private.training.banded import best_matrix, noise_left, workload
    from genie_dp.private.training.run import rate_at

    settings = DPSettings(1.0, rate=0.5, steps=steps, batch=1.0, learning_rate=BANDED_RATE)
    target = workload(MOMENTUM, [rate_at(settings, step) for step in range(steps)])
    return noise_left(target, best_matrix(target, steps))


def weights_of(config: Planning) -> int:
    """Return about how many weights the own decoder has: embeddings, head and layers.

    >>> config = Planning(epsilon=1, delta=1e-6, estimated_units=1, minutes=1, size=256, layers=4)
    >>> weights_of(config)
    5193728
    """
    return 2 * config.words * config.size + config.layers * 12 * config.size**2


def expected_loss(steps: float, signal: float) -> tuple[float, bool]:
    """Return nats a word, interpolated in the logarithms of both, and whether it was measured.

    Points outside of the table are taken for its edge.
    """
    lines = sorted(MEASURED)
    inside = lines[0] <= steps <= lines[-1] and SIGNALS[0] <= signal <= SIGNALS[-1]
    (below, above), part = _between([float(x) for x in lines], steps)
    (left, right), share = _between(SIGNALS, signal)

    def loss_at(line: int) -> float:
        figures = MEASURED[lines[line]]
        return figures[left] * (1 - share) + figures[right] * share

    return loss_at(below) * (1 - part) + loss_at(above) * part, inside


def _between(points: Sequence[float], value: float) -> tuple[tuple[int, int], float]:
    """Return the places that a value lies between, and how far along, by logarithms.

    >>> _between((10.0, 1000.0), 100.0), _between((10.0, 1000.0), 1.0)
    (((0, 1), 0.5), ((0, 1), 0.0))
    """
    left = min(max(bisect_right(points, value) - 1, 0), len(points) - 2)
    share = math.log(value / points[left]) / math.log(points[left + 1] / points[left])
    return (left, left + 1), min(max(share, 0.0), 1.0)


# ------------------------------------------------------------------------------- this machine

_BATCH = 64  # public rows, as private train has them


def measure_speed(config: Planning) -> Speed:
    """Return how fast this machine trains the config's decoder; some seconds, made-up rows."""
    if config.rows_a_second is not None:
        row = 1 / config.rows_a_second
        # Of the own decoder of 256 and 4 layers (docs/research/private-training.md, "Costs").
        return Speed(row, 4 * row, row / 1.26)
    return _measured_speed(config.size, config.layers, config.heads, config.words, config.tokens,
                           config.chunk)  # fmt: skip


@cache
def _measured_speed(
    size: int, layers: int, heads: int, words: int, tokens: int, chunk: int
) -> Speed:
    from genie_dp.private.generators import duration
    from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder
    from genie_dp.private.generators.stages import EncodedRow
    from genie_dp.private.training.settings import DPSettings

    model = PreLNDecoder(words + 300, DecoderSettings(size, layers, heads, max(8, tokens)))
    rows = [EncodedRow((2, *range(4, tokens + 3), 3)) for _ in range(_BATCH)]
    settings = DPSettings(1.0, rate=0.1, steps=20, batch=_BATCH, chunk=chunk)
    return duration.measure_speed(model, rows, settings, batch=_BATCH, clock=time.process_time)
