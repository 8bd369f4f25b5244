"""How long a training takes on this machine, and how long public rows may be learned in it.

A few steps are timed on copies of the models and on public rows: no private row is looked at.
"""

import copy
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from genie_dp.models.loop import Run, TrainSettings
from genie_dp.models.loop import TrainingBudget as PublicBudget
from genie_dp.private.generators.plans import Speed
from genie_dp.private.generators.pretraining import EncodedBatches
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.run import PrivateRun
from genie_dp.private.training.settings import DPSettings
from genie_dp.records import Spent

MINUTES = 10.0
"""What a training takes at most where only public rows decide, and nobody says their epochs."""
# Where noisy steps alone take nearly as long: what public rows get of these minutes anyway.
_LEAST_SHARE = 0.2
# Few, so that a machine as fast chooses the same: then `--pretrained` has the weights already.
EPOCHS = (5.0, 4.0, 3.0, 2.0, 1.5, 1.0, 0.7, 0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01)
DURATION = "duration.json"

_MADE_UP = Spent(1.0, 1e-6, "utterance", "add-or-remove-one", "none", ("made-up rows",))
# Rows of the two noisy steps that are timed, and steps on public rows.
_FEW, _MANY = 8, 40
_STEPS = 4


def measure_speed(
    model: Any,
    rows: Sequence[EncodedRow],
    settings: DPSettings,
    *,
    batch: int,
    clock: Callable[[], float] = perf_counter,
) -> Speed:
    """Return how fast this machine trains a model; the model stays as it is.

    Args:
        model: a CausalLM.
        rows: public or made-up ones; private rows are taken to be as long.
        settings: of noisy steps.
        batch: public rows of a batch.
        clock: seconds, of the machine or of a processor.
    """
    rows = sorted(rows, key=lambda row: len(row.tokens))
    run = PrivateRun(
        copy.deepcopy(model), Units(()), replace(settings, noise_multiplier=1.0, steps=6, bands=1)
    )
    run.pay(lambda _: _MADE_UP)

    def seconds_of(count: int) -> float:
        chosen, best = spread(rows, count), float("inf")
        for number in range(3):  # the first one makes buffers
            start = clock()
            run.step(chosen)
            if number:
                best = min(best, clock() - start)
        return best

    few, many = seconds_of(_FEW), seconds_of(_MANY)
    run.close()
    row = max(1e-9, (many - few) / (_MANY - _FEW))
    return Speed(row, max(0.0, few - _FEW * row), _time_public(model, rows, batch, clock))


def _time_public(
    model: Any, rows: Sequence[EncodedRow], batch: int, clock: Callable[[], float]
) -> float:
    """Return the seconds of a public row in the common loop, the optimizer's part included."""
    size = min(batch, len(rows))
    # Batches are of rows that are about as long: one of each quarter.
    starts = [round(n * (len(rows) - size) / (_STEPS - 1)) for n in range(_STEPS)]
    some = [row for start in starts for row in rows[start : start + size]]
    batches, copied = EncodedBatches(some, size=size), copy.deepcopy(model)
    Run(copied, batches, TrainSettings(PublicBudget(steps=1))).train()
    start = clock()
    Run(copied, batches, TrainSettings(PublicBudget(steps=_STEPS))).train()
    return (clock() - start) / (_STEPS * size)


def spread(rows: Sequence[EncodedRow], count: int) -> list[EncodedRow]:
    """Return so many rows, evenly over all of them; some come again where there are fewer.

    >>> [row.tokens[0] for row in spread([EncodedRow((n, 3)) for n in range(10)], 3)]
    [1, 5, 8]
    """
    return [rows[int((n + 0.5) * len(rows) / count)] for n in range(count)]


@dataclass(frozen=True, slots=True)
class Duration:
    """How long a training takes, and how long it learns public rows.

    Attributes:
        epochs: of each stage on public rows; 0 where there are none.
        epoch: seconds of an epoch of all stages on public rows.
        private: seconds of the noisy steps of all stages; of several trials, on average.
        is_fitted: whether the epochs were chosen so that the training takes `MINUTES`.
    """

    epochs: float
    epoch: float
    private: float
    is_fitted: bool

    @property
    def seconds(self) -> float:
        """Return how long all of it takes."""
        return self.epochs * self.epoch + self.private

    def describe(self, rows: int, threads: int) -> str:
        """Return a line for people: the duration, its parts, and the settings that change it."""
        used = "1 thread" if threads == 1 else f"{threads} threads"
        parts = [f"{_in_minutes(self.private)} for noisy steps"]
        if self.epochs:
            public = _in_minutes(self.epochs * self.epoch)
            epochs = "1 epoch" if self.epochs == 1 else f"{self.epochs:g} epochs"
            parts.insert(0, f"{public} for {epochs} of {rows:,} public rows")
        more = ""
        if self.is_fitted and self.epochs < EPOCHS[0]:
            whole = _in_minutes(EPOCHS[0] * self.epoch)
            more = f"; --pretraining-epochs {EPOCHS[0]:g} learns them better, in {whole}"
        if self.is_fitted and self.private > 60 * MINUTES * (1 - _LEAST_SHARE):
            more += "; a smaller --size, fewer --layers or --epochs take less"
        total = _in_minutes(self.seconds)
        return f"takes about {total} here ({used}): {', '.join(parts)}{more}"


def _in_minutes(seconds: float) -> str:
    """Return a duration in words.

    >>> _in_minutes(20), _in_minutes(90), _in_minutes(660), _in_minutes(9000)
    ('20 seconds', '1.5 minutes', '11 minutes', '2.5 hours')
    """
    if seconds < 60:
        return f"{max(1, round(seconds))} seconds"
    unit, value = ("minutes", seconds / 60) if seconds < 5400 else ("hours", seconds / 3600)
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"


def plan_duration(epochs: float | None, *, epoch: float, private: float) -> Duration:
    """Return how long a training takes, with as many epochs as fit where none are given.

    Args:
        epochs: of the public rows; None to choose them.
        epoch: seconds of one of all stages; 0 for none.
        private: seconds of the noisy steps of all stages.

    >>> plan_duration(None, epoch=200, private=180).epochs
    2.0
    >>> plan_duration(3, epoch=200, private=180).seconds
    780
    """
    if epoch == 0:
        return Duration(0.0, 0.0, private, is_fitted=False)
    if epochs is not None:
        return Duration(epochs, epoch, private, is_fitted=False)
    remaining = max(60 * MINUTES - private, 60 * MINUTES * _LEAST_SHARE)
    fitting = next((n for n in EPOCHS if n * epoch <= remaining), EPOCHS[-1])
    return Duration(fitting, epoch, private, is_fitted=True)


def plan_duration_once(work: Path, measure: Callable[[], Duration]) -> Duration:
    """Return the duration that a run was begun with, or measured and kept now.

    The epochs are part of the plan of a run: they stay where it goes on, on another machine too.
    """
    place = work / DURATION
    if place.exists():
        return Duration(**json.loads(place.read_text(encoding="utf-8")))
    duration = measure()
    replace_durably(place, json.dumps(asdict(duration)))
    return duration


def seconds_of_stages(speeds: Mapping[Any, Speed], steps: Mapping[Any, int], batch: float) -> float:
    """Return how long the noisy steps of all stages take."""
    return sum(speeds[stage].seconds(count, batch) for stage, count in steps.items())
