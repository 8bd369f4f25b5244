"""Private selection of settings: the best of a random number of trainings, by a noisy score.

Liu and Talwar, "Private Selection from Private Candidates" (2019); Papernot and Steinke,
"Hyperparameter Tuning with Rényi Differential Privacy" (2022). A run chooses settings by chance,
trains with noise, and is scored by the likelihood of units that it did not learn from, with noise.
How many runs there are is random, too, and no secret of the rows. Nothing but the best is released.
"""

import hashlib
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast

from genie_dp.errors import Problem
from genie_dp.private import secure
from genie_dp.private.generators.plans import (
    NoisySteps,
    TrainingAmount,
    TrainingPlan,
)
from genie_dp.private.generators.stages import STAGES, Kind, LabelledRow, StageName, encode_row
from genie_dp.private.ledger.accounting import (
    DEFAULT,
    FINENESS,
    Accountant,
    epsilon_of,
    least_noise,
    stopping_chance,
)
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Units
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, Run, Selection, Trials
from genie_dp.private.ledger.once import PaidRun
from genie_dp.private.metrics.likelihood import bounded_mean, noisy_mean

if TYPE_CHECKING:
    from genie_dp.private.generators.generator import Generator

UNTOLD = "how many trainings were tried, which the time that it took shows"
_PLAN = "selection.json"
_DRAWN = "trials.json"


@dataclass(frozen=True, slots=True)
class Candidate:
    """Settings that may be chosen: the plan of a training with them, and its optimizer."""

    plan: TrainingPlan
    training: NoisySteps


@dataclass(frozen=True, slots=True)
class SelectionPlan:
    """The trainings and scores of a selection on private data; public numbers only.

    Attributes:
        candidates: the settings, each as likely to be tried.
        score_noise: noise multiplier of a score.
        trials: distribution of the number of trainings.
        mean: trainings, on average.
        held_out: share of the units that score, and are not learned from.
    """

    candidates: tuple[Candidate, ...]
    score_noise: float
    trials: Trials
    mean: float
    held_out: float

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms for the ledger: a unit is for training or for scores alone."""
        trainings = dict.fromkeys(_runs_of(candidate.plan) for candidate in self.candidates)
        return (Selection((*trainings, (Gaussian(self.score_noise),)), self.trials, self.mean),)

    def save(self, folder: Path) -> None:
        """Write the plan, synced, before it is paid."""
        facts = asdict(self)
        for candidate, entry in zip(self.candidates, facts["candidates"], strict=True):
            entry["plan"]["steps"] = dict(candidate.plan.steps)
        replace_durably(folder / _PLAN, json.dumps(facts))

    @classmethod
    def load(cls, folder: Path) -> "SelectionPlan | None":
        """Return the plan of a folder, None where there is none yet."""
        if not (folder / _PLAN).exists():
            return None
        facts = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
        candidates = tuple(
            Candidate(TrainingPlan(**entry["plan"]), NoisySteps(**entry["training"]))
            for entry in facts.pop("candidates")
        )
        return cls(candidates, **facts)


def _runs_of(plan: TrainingPlan) -> tuple[Run, ...]:
    return cast("tuple[Run, ...]", plan.mechanisms)


def plan_selection(
    kind: Kind,
    settings: Sequence[tuple[TrainingAmount, NoisySteps]],
    trials: Trials,
    mean: float,
    held_out: float,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = DEFAULT,
) -> SelectionPlan:
    """Return the plan with about the least noise that epsilon allows for the whole selection.

    Each candidate gets the least noise of a selection among trainings like it, and so do scores.
    Together they may cost a little more, for each may be the dearest at another order. Then all get
    more noise, by half a hundredth or more at once.

    Args:
        kind: which stages there are.
        settings: how much training, and how noisy steps are taken, of each candidate.
        trials, mean, held_out: as the plan has them.
        epsilon, delta: of this run, together with `before`.
        before: earlier spends, to use up the remaining budget; () for this run alone.
        accountant: who computes epsilon.

    Raises:
        GenieError: H001, H002; B002 to B004, there is no such noise.
    """

    def least(run: Callable[[float], tuple[Run, ...]]) -> float:
        return least_noise(
            lambda noise: (Selection((run(noise),), trials, mean),),
            epsilon,
            delta,
            before=before,
            accountant=accountant,
        )

    def plan_with(amount: TrainingAmount, noise: float) -> TrainingPlan:
        codes = amount.code_noise if kind == "control" else 0.0
        return TrainingPlan(noise, amount.rate, amount.batch, amount.steps(kind), codes)

    def least_for(amount: TrainingAmount) -> float:
        return least(lambda noise: _runs_of(plan_with(amount, noise)))

    calibrated = {amount: least_for(amount) for amount in {amount for amount, _ in settings}}
    score = least(lambda noise: (Gaussian(noise),))
    scale = 1.0
    while True:
        plan = SelectionPlan(
            tuple(
                Candidate(plan_with(amount, _scale_noise(calibrated[amount], scale)), noisy)
                for amount, noisy in settings
            ),
            _scale_noise(score, scale),
            trials,
            mean,
            held_out,
        )
        cost = epsilon_of((*before, *plan.mechanisms), delta, accountant)
        if cost <= epsilon:
            return plan
        # Epsilon falls with the noise at least, and with its square at most where it is large.
        scale *= max(1.005, math.sqrt(cost / epsilon))


def _scale_noise(noise: float, scale: float) -> float:
    """Return noise times a scale, rounded up to a readable number of digits."""
    return noise if scale == 1 else math.ceil(noise * scale * FINENESS) / FINENESS


# ----------------------------------------------------------------------------------- trials


def draw_trials(plan: SelectionPlan, rng: Random) -> list[int]:
    """Return the places of the candidates that are tried, in order; of "poisson" perhaps none.

    Args:
        plan: distribution and mean.
        rng: the system's generator: who knew the number of trials would know more than is promised.
    """
    count = draw_number(plan.trials, plan.mean, rng)
    return [rng.randrange(len(plan.candidates)) for _ in range(count)]


def draw_number(trials: Trials, mean: float, rng: Random) -> int:
    """Return a random number of runs, by the inverse of its distribution.

    >>> numbers = [draw_number("geometric", 4.0, Random(seed)) for seed in range(2000)]
    >>> min(numbers), 3.7 < sum(numbers) / 2000 < 4.3
    (1, True)
    """
    rest = 1.0 - rng.random()
    if trials == "poisson":
        number, chance = 0, math.exp(-mean)
    else:
        stop = stopping_chance(trials, mean)
        number, chance = 1, stop if trials == "geometric" else (stop - 1) / math.log(stop)
        go = 1 - stop
    while rest > chance and chance > 0:
        rest -= chance
        number += 1
        if trials == "poisson":
            chance *= mean / number
        else:
            chance *= go if trials == "geometric" else go * (number - 1) / number
    return number


def is_held_out(unit: Sequence[LabelledRow], share: float) -> bool:
    """Return whether a unit scores instead of being learned from: it follows from its rows alone.

    So adding or removing a unit changes either the training or the scores.
    """
    lines = sorted(f"{' '.join(row.utterance)}\t{' '.join(row.program)}" for row in unit)
    digest = hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


Fit = Callable[[Candidate, Units[Sequence[LabelledRow]], Path], "Generator"]


def fit_best(
    generator: "Generator",
    units: Units[Sequence[LabelledRow]],
    plan: SelectionPlan,
    *,
    fit: Fit,
    folder: Path,
) -> tuple["Generator", Candidate | None]:
    """Return the best of a random number of trainings, and its settings; all must be paid.

    An interrupted selection goes on with the trials that it drew, and with their scores.

    Args:
        generator: publicly pretrained; its models are trained in place.
        units: private rows by unit.
        plan: of the trials.
        fit: trains the generator with a candidate's settings on units, in a folder.
        folder: where trials and their scores are kept: as private as the rows.
    """
    if not (folder / _DRAWN).exists():
        places = draw_trials(plan, secure.noise("selection"))
        replace_durably(folder / _DRAWN, json.dumps(places))
    trials = json.loads((folder / _DRAWN).read_text(encoding="utf-8"))
    held = [unit for unit in units if is_held_out(unit, plan.held_out)]
    learned = Units(unit for unit in units if not is_held_out(unit, plan.held_out))
    first = _weights(generator)
    best: tuple[float, Any, tuple[float, ...], Candidate | None] | None = None
    for number, place in enumerate(trials):
        _take(generator, first)
        here = folder / f"trial-{number}"
        fitted = fit(plan.candidates[place], learned, here)
        score = _score_once(fitted, held, plan.score_noise, here, number)
        if best is None or score < best[0]:
            best = score, _weights(fitted), fitted.weights, plan.candidates[place]
    if best is None:
        _take(generator, first)
        codes = len(generator.codes.all) if generator.codes else 0
        return generator.with_weights((1.0,) * codes), None
    _take(generator, best[1])
    return generator.with_weights(best[2]), best[3]


def _weights(generator: "Generator") -> dict[StageName, Any]:
    return {
        name: {key: value.clone() for key, value in model.state_dict().items()}
        for name, model in generator.models.items()
    }


def _take(generator: "Generator", weights: dict[StageName, Any]) -> None:
    for name, model in generator.models.items():
        model.load_state_dict(weights[name])
        model.eval()


def _score_once(
    generator: "Generator",
    held: Sequence[Sequence[LabelledRow]],
    noise_multiplier: float,
    folder: Path,
    number: int,
) -> float:
    """Return the noisy score of a trial, nats a word; it is drawn once in the life of a run."""

    def draw() -> str:
        nats = nats_of_labelled(generator, held)
        return json.dumps(noisy_mean(nats, noise_multiplier, secure.noise("score", number))[0])

    message = f"the score of {folder} is missing: it would be drawn twice"
    lost = Problem("Q031", message, hint="put it back, or train in another folder, paid again")
    run = PaidRun.enter(folder)
    return float(json.loads(run.release("score.json", draw, lambda text: None, lost=lost)))


def nats_of_labelled(generator: "Generator", units: Sequence[Sequence[LabelledRow]]) -> list[float]:
    """Return the nats a word of each unit, between 0 and the public bound; programs included.

    Rows without a program are left out where the generator writes programs.
    """
    from genie_dp.private.audit.models import row_losses

    stages = STAGES[generator.kind]
    writes_programs = stages[0].name == "program"
    usable = [[row for row in unit if row.program or not writes_programs] for unit in units]
    usable = [unit for unit in usable if unit]
    rows = [row for unit in usable for row in unit]
    losses = [0.0] * len(rows)
    for stage in stages:
        model = generator.models[stage.name]
        encoded = [encode_row(stage, r, generator.tokenizer, longest=model.longest) for r in rows]
        losses = [a + b for a, b in zip(losses, row_losses(model, encoded), strict=True)]
    words = [
        len(row.utterance) + 1 + (len(row.program) + 1 if writes_programs else 0) for row in rows
    ]
    scored = iter(zip(losses, words, strict=True))
    return [bounded_mean([next(scored) for _ in unit]) for unit in usable]
