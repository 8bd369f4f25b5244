"""What one run of the audit proves of each engine, as it is and with mistakes that are planted.

    python benchmarks/private_audit.py                       # all engines, three seeds
    python benchmarks/private_audit.py --only prior,aim --seeds 1

Every engine is claimed to have epsilon 3 at delta 1e-5, and has so much noise. Trainings (own
decoder of 32, the LSTM of 32 for crt) learn those of 1,000 canaries, four words each, that coins
put in; the score of a canary is its loss before less that after. Counts have 1,000 units, each of
which asks for something of its own; the score is its noisy count. A cell has the medians over seeds
of the lower bounds of epsilon: of (epsilon, delta) alone, and where the noise is known; 95 % for
both together.
"""

import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import click
import numpy as np
from measure import machine, table

CLAIMED, DELTA = 3.0, 1e-5
# Names of four letters, such as public rows have: a model's vocabulary.
WORDS = tuple(
    f"{a}{b}{c}o" for a in "bcdfghjklmnpqrstvwxz" for b in "aeiou" for c in "bdfgklmnprstvwxyzqjhc"
)
FUNCTION = "@com.example.mail.inbox"
PROGRAM = f"now => {FUNCTION} => notify"
# Ten epochs in batches of a quarter: epsilon 3 needs so much noise; and one Gaussian release.
NOISE, RATE, STEPS = 2.4637, 0.25, 40
GAUSSIAN = 1.4
# Noise that hangs together: each unit is in a quarter of the steps, and surely.
BANDS = 4
BANDED_NOISE = GAUSSIAN * (STEPS / BANDS) ** 0.5
ROWS = 20  # of a unit, to see whether it moves more than it may
COUNT = 1000

TRAININGS = ("one-stage", "banded", "two-stage", "crt")
Plant = Callable[[], AbstractContextManager[Any]]


# -------------------------------------------------------------------------------- mistakes


@contextmanager
def less_noise(factor: float) -> Iterator[None]:
    """Train with so many times less noise than was paid for."""
    from genie_dp.private.training.engines import PrivateOptimizer

    whole = PrivateOptimizer.add_noise

    def add(self: Any) -> None:
        right = self.noise_multiplier
        self.noise_multiplier = right / factor
        whole(self)
        self.noise_multiplier = right

    with patch.object(PrivateOptimizer, "add_noise", add):
        yield


@contextmanager
def no_clipping() -> Iterator[None]:
    """Train without clipping gradients."""
    import torch

    from genie_dp.private.training import engines

    def ones(gradients: Any, clip: float) -> Any:
        return torch.ones(len(gradients[0]), dtype=torch.float64)

    with patch.object(engines, "clip_factors", ones):
        yield


@contextmanager
def no_noise_on_counts() -> Iterator[None]:
    """Count without noise."""
    from genie_dp.private.prior.histogram import Noise

    with patch.object(Noise, "draw", lambda self, count, rng: np.zeros(count)):
        yield


@contextmanager
def units_without_limit() -> Iterator[None]:
    """Let a unit of many rows move counts by all of them."""
    from genie_dp.private.evolution import voting
    from genie_dp.private.prior import histogram
    from genie_dp.private.tables import run as tables

    whole = tables.records_of

    def records(schema: Any, units: Any) -> Any:
        found = whole(schema, units)
        return replace(found, weights=np.ones_like(found.weights))

    with (
        patch.object(histogram, "_take_most_frequent", lambda counts, limit: tuple(counts)),
        patch.object(tables, "records_of", records),
        patch.object(voting, "vote_of", lambda times: times.astype(np.int64) * voting.GRAIN),
    ):
        yield


OF_TRAININGS: Mapping[str, Plant] = {
    "as it is": nullcontext,
    "noise / 10": lambda: less_noise(10),
    "noise / 128": lambda: less_noise(128),
    "no clipping": no_clipping,
    "no noise": lambda: less_noise(1e9),
}
OF_COUNTS: Mapping[str, Plant] = {
    "as it is": nullcontext,
    "units without limit": units_without_limit,
    "no noise": no_noise_on_counts,
}


# ------------------------------------------------------------------------------- trainings


@dataclass(frozen=True)
class Coins:
    """Canaries of trainings, and units of counts, that coins put in.

    Attributes:
        seed: of coins and noise.
        canaries: of a training.
        words: that canaries are made of, and public rows say; at most all of `WORDS`.
    """

    seed: int = 0
    canaries: int = 1000
    words: int = len(WORDS)

    @property
    def tosses(self) -> Any:
        """Return which units of counts are there."""
        return np.random.default_rng((11, self.seed)).random(COUNT) < 0.5


def spend(mechanisms: Sequence[Any], run: str = "") -> Any:
    """Record nothing: all rows are made up."""
    from genie_dp.records import Spent

    rows = ("made-up rows",)
    return Spent(CLAIMED, DELTA, "utterance", "add-or-remove-one", "pld", rows)


def bounds_of(scores: Any, is_in: Any, mechanisms: Sequence[Any]) -> list[Any]:
    """Return what scores prove beside the claim."""
    from genie_dp.private.audit.membership import Attack
    from genie_dp.private.audit.verdict import Claim, prove_bounds
    from genie_dp.private.ledger.accounting import epsilon_of

    claim = Claim(CLAIMED, DELTA, mechanisms=tuple(mechanisms))
    if epsilon_of(mechanisms, DELTA) > CLAIMED:
        raise ValueError(f"expected mechanisms of epsilon {CLAIMED}, got {mechanisms}")
    attack = Attack("canaries", scores[is_in], scores[~is_in], is_tossed=True)
    return prove_bounds([attack], [], claim)


@cache
def _canaries(coins: Coins) -> Any:
    from genie_dp.private.audit.canaries import CanaryTemplate, new_canaries

    template = CanaryTemplate("{word} {word} {word} {word}", WORDS[: coins.words])
    count, seed = coins.canaries, coins.seed
    return new_canaries(template, count=count, program=PROGRAM, seed=seed, coin=True)


def new_generator_of(kind: str, words: Sequence[str]) -> tuple[Any, list[Any]]:
    """Return a generator that knows the words, and public rows with them."""
    from genie_dp.languages import get_language
    from genie_dp.private.generators.generator import new_generator
    from genie_dp.private.generators.models import DecoderSettings, RecurrentLMSettings
    from genie_dp.private.generators.stages import LabelledRow

    program = tuple(PROGRAM.split())
    public = [LabelledRow(tuple(words[i : i + 4]), program) for i in range(0, len(words), 4)] * 2
    settings = (
        RecurrentLMSettings(32, longest=24) if kind == "crt" else DecoderSettings(32, 1, 2, 24)
    )
    language = get_language("thingtalk")
    of_stages: Any = "two-stage" if kind == "two-stage" else "one-stage"
    made = new_generator(of_stages, language, public, settings, functions={FUNCTION})
    return made, public


def plan_of(kind: str, coins: Coins) -> Any:
    """Return what a training of a claim of epsilon 3 does."""
    from genie_dp.private.generators.plans import TrainingPlan

    of_program = 4 if kind == "two-stage" else 0
    steps: dict[Any, int] = {"program": of_program} if of_program else {}
    steps["utterance"] = STEPS - of_program
    noise, bands = (BANDED_NOISE, BANDS) if kind == "banded" else (NOISE, 1)
    return TrainingPlan(noise, RATE, RATE * coins.canaries / 2, steps, bands=bands)


def train(generator: Any, public: Sequence[Any], kind: str, coins: Coins) -> None:
    """Train a generator on the canaries that were put in."""
    from genie_dp.private.generators.fit import fit
    from genie_dp.private.generators.plans import NoisySteps, PublicSteps, TrainingSchedule
    from genie_dp.private.generators.stages import LabelledRow
    from genie_dp.private.ledger.guard import Units

    canaries, program = _canaries(coins), tuple(PROGRAM.split())
    all_rows = canaries.rows
    texts = [all_rows[place].utterance for place in canaries.placed]
    rows = Units([LabelledRow(tuple(text.split()), program)] for text in texts)
    plan = plan_of(kind, coins)
    # An LSTM learns more with a higher rate, so that its mistakes show as those of decoders do.
    how = NoisySteps(chunk=100, learning_rate=0.1 if kind == "crt" else 0.02)
    if kind == "crt":
        schedule = TrainingSchedule(plan, how, PublicSteps(batch=20), (1,))
        fit(generator, rows, schedule, public=public[:20], spend=spend)
    else:
        fit(generator, rows, TrainingSchedule(plan, how), spend=spend)


def attack_training(kind: str, coins: Coins) -> list[Any]:
    """Return what one run proves of a training."""
    from genie_dp.private.audit.models import GeneratorScorer
    from genie_dp.private.source import PrivateRow
    from genie_dp.private.training.settings import noisy_steps

    generator, public = new_generator_of(kind, WORDS[: coins.words])
    canaries = _canaries(coins)
    rows = [PrivateRow(row.utterance, row.program) for row in canaries.rows]
    scorer = GeneratorScorer(generator)
    before = np.array(scorer.losses(rows))
    train(generator, public, kind, coins)
    scores = before - np.array(scorer.losses(rows))
    plan = plan_of(kind, coins)
    # Of all stages together.
    whole = noisy_steps(plan.noise_multiplier, plan.rate, STEPS, plan.bands)
    return bounds_of(scores, np.array(canaries.coins), [whole])


# ---------------------------------------------------------------------------------- counts


def attack_counts(counts: Sequence[float], mechanisms: Sequence[Any], coins: Coins) -> list[Any]:
    """Return what the counts of one release prove."""
    return bounds_of(np.asarray(counts, float), coins.tosses, mechanisms)


def attack_prior(coins: Coins, folder: Path) -> list[Any]:
    """Return what a histogram of functions proves, of units that have 100 each."""
    from genie_dp.private.prior import histogram
    from genie_dp.private.secure import noise

    names = [[f"@com.x{i}.f{n}" for n in range(100)] for i in range(COUNT)]
    pairs = zip(names, coins.tosses, strict=True)
    units = [[(name,) for name in own] for own, is_in in pairs if is_in]
    support = histogram.CountedNames.from_names(name for own in names for name in own)
    limits = histogram.CountLimits(functions=1, pairs=0, missing=0)
    plan = histogram.CountPlan(support, limits, "gaussian", GAUSSIAN)
    found = histogram.release_counts(units, plan, noise("prior"))
    counts = [sum(found.functions[name] for name in own) for own in names]
    return attack_counts(counts, plan.mechanisms, coins)


def attack_codes(coins: Coins, folder: Path) -> list[Any]:
    """Return what the control codes of a generator prove."""
    from genie_dp.private.generators.codes import Codes, release_codes
    from genie_dp.private.ledger.mechanisms import Gaussian

    codes = Codes(tuple(f"@com.x.f{i:04d}" for i in range(COUNT)))
    rows = [[codes.all[i]] * ROWS for i in np.flatnonzero(coins.tosses)]
    # Of others who have these codes there are as many as come just below what is cut off.
    rows += [[codes.all[i]] for i in range(COUNT)] * 5
    weights = release_codes(codes, rows, GAUSSIAN)
    return attack_counts(weights[:COUNT], [Gaussian(GAUSSIAN)], coins)


def attack_table(method: Any, coins: Coins, folder: Path) -> list[Any]:
    """Return what a table of one column proves."""
    from genie_dp.private.ledger.guard import Units
    from genie_dp.private.tables import run as tables
    from genie_dp.private.tables.schema import Column, Schema

    values = tuple(f"v{i}" for i in range(COUNT))
    schema = Schema((Column("a", values),))
    units = Units([{"a": values[i]}] * ROWS for i in np.flatnonzero(coins.tosses))
    made = tables.release_table(
        schema, units, epsilon=CLAIMED, delta=DELTA, spend=spend, method=method
    )
    mechanisms = tables.mechanisms_of(method, 1, tables.rho_for(CLAIMED, DELTA))
    counts = made.joint.marginal((0,)).tolist()
    return attack_counts(counts, mechanisms, coins)


class Numbered:
    """Makes each candidate once, with a word of its own."""

    name = "numbered"

    def random(self, metadata: Sequence[Any], *, seed: int) -> list[Any]:
        """Return a candidate for each record."""
        from genie_dp.private.evolution.generator import VoteCandidate
        from genie_dp.records import Example

        examples = (Example("", word, "", "thingtalk") for word in WORDS)
        return [
            VoteCandidate(example, dict(record))
            for example, record in zip(examples, metadata, strict=False)
        ]

    def vary(self, candidates: Sequence[Any], strength: float, *, seed: int) -> list[Any]:
        """Return the candidates as they are."""
        return list(candidates)

    def fingerprint(self) -> str:
        """Return what runs know it by."""
        return "numbered 1"


def attack_evolution(coins: Coins, folder: Path) -> list[Any]:
    """Return what one vote proves."""
    from genie_dp.private.evolution.config import EvolutionSettings
    from genie_dp.private.evolution.embedding import HashedNgramEmbedding
    from genie_dp.private.evolution.evolve import Electorate, evolve
    from genie_dp.private.ledger.guard import Units
    from genie_dp.private.ledger.mechanisms import Gaussian
    from genie_dp.records import Example

    rows = Units(
        (Example("", WORDS[i], "", "thingtalk"),) * ROWS for i in np.flatnonzero(coins.tosses)
    )
    settings = EvolutionSettings(iterations=1, population=COUNT, variations=1, rows=10)
    found = evolve(
        Electorate(rows), Numbered(), HashedNgramEmbedding(512), settings, Gaussian(GAUSSIAN),
        spend=spend, work=folder,
    )  # fmt: skip
    ((candidates, noisy),) = found.votes
    places = {one.example.utterance: place for place, one in enumerate(candidates)}
    counts = [float(noisy[places[word]]) for word in WORDS[:COUNT]]
    return attack_counts(counts, [Gaussian(GAUSSIAN)], coins)


COUNTS: Mapping[str, Callable[[Coins, Path], list[Any]]] = {
    "prior": attack_prior,
    "codes": attack_codes,
    "table": lambda coins, folder: attack_table("independent", coins, folder),
    "aim": lambda coins, folder: attack_table("aim", coins, folder),
    "evolution": attack_evolution,
}


# ---------------------------------------------------------------------------------- figures


def attack(name: str, plant: Plant, coins: Coins) -> list[Any]:
    """Return what one run proves of an engine with a mistake in it."""
    from genie_dp.private.secure import _seeded

    with tempfile.TemporaryDirectory() as folder, _seeded(coins.seed), plant():
        if name in TRAININGS:
            return attack_training(name, coins)
        return COUNTS[name](coins, Path(folder) / "work")


def cell(runs: Sequence[Sequence[Any]]) -> str:
    """Return medians over seeds of both bounds; those that refute the claim are bold."""
    texts = []
    for ways in zip(*runs, strict=True):
        value = f"{median(one.epsilon for one in ways):.2f}"
        texts.append(f"**{value}**" if all(one.refutes for one in ways) else value)
    return " / ".join(texts)


def report(names: Sequence[str], mistakes: Mapping[str, Plant], seeds: int) -> None:
    """Print a line for each engine."""
    lines = []
    for name in names:
        found = {
            mistake: [attack(name, plant, Coins(seed)) for seed in range(seeds)]
            for mistake, plant in mistakes.items()
            # Each code of a row counts once, whatever limits are taken away.
            if (name, mistake) != ("codes", "units without limit")
        }
        most = " / ".join(f"{one.refutable:.2f}" for one in found["as it is"][0])
        cells = [cell(found[mistake]) if mistake in found else "" for mistake in mistakes]
        lines.append([name, *cells, most])
    print(table(["engine", *mistakes, "could prove"], lines), end="\n\n", flush=True)


@click.command()
@click.option("--only", default="", help="Engines, such as one-stage,aim.")
@click.option("--seeds", default=3, show_default=True)
def main(only: str, seeds: int) -> None:
    """Measure what the audit proves of each engine."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    import torch

    torch.set_num_threads(1)
    chosen = only.split(",") if only else [*TRAININGS, *COUNTS]
    print(f"{machine()}; {seeds} seeds", end="\n\n")
    if trainings := [name for name in TRAININGS if name in chosen]:
        report(trainings, OF_TRAININGS, seeds)
    if counts := [name for name in COUNTS if name in chosen]:
        report(counts, OF_COUNTS, seeds)


if __name__ == "__main__":
    main()
