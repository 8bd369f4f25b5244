"""Mistakes that are planted into each engine: one run of the audit refutes a claim of epsilon 3.

Of each engine, the run without a mistake is not refuted. Trainings see 800 canaries, counts 1,000.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("scipy")

from genie_dp.languages import get_language  # noqa: E402
from genie_dp.private.audit.canaries import CanaryTemplate, new_canaries  # noqa: E402
from genie_dp.private.audit.membership import Attack  # noqa: E402
from genie_dp.private.audit.models import GeneratorScorer  # noqa: E402
from genie_dp.private.audit.verdict import Claim, prove_bounds  # noqa: E402
from genie_dp.private.crt import run as crt_stage  # noqa: E402
from genie_dp.private.crt.config import Course, PublicSettings  # noqa: E402
from genie_dp.private.crt.rows import MethodRows  # noqa: E402
from genie_dp.private.evolution import voting  # noqa: E402
from genie_dp.private.evolution.config import EvolutionSettings  # noqa: E402
from genie_dp.private.evolution.embedding import HashedNgramEmbedding  # noqa: E402
from genie_dp.private.evolution.evolve import Electorate, evolve  # noqa: E402
from genie_dp.private.evolution.generator import VoteCandidate  # noqa: E402
from genie_dp.private.generators.codes import Codes, release_codes  # noqa: E402
from genie_dp.private.generators.generator import new_generator  # noqa: E402
from genie_dp.private.generators.models import DecoderSettings, RecurrentLMSettings  # noqa: E402
from genie_dp.private.generators.plans import NoisySteps, TrainingPlan  # noqa: E402
from genie_dp.private.generators.run import fit_privately  # noqa: E402
from genie_dp.private.generators.stages import LabelledRow  # noqa: E402
from genie_dp.private.ledger.accounting import epsilon_of  # noqa: E402
from genie_dp.private.ledger.guard import Units  # noqa: E402
from genie_dp.private.ledger.mechanisms import Gaussian, PoissonGaussian  # noqa: E402
from genie_dp.private.prior import histogram  # noqa: E402
from genie_dp.private.prior.histogram import CountedNames, CountLimits, CountPlan  # noqa: E402
from genie_dp.private.secure import _seeded, noise  # noqa: E402
from genie_dp.private.source import PrivateRow  # noqa: E402
from genie_dp.private.tables import run as table_stage  # noqa: E402
from genie_dp.private.tables.run import release_table, rho_for  # noqa: E402
from genie_dp.private.tables.schema import Column, Schema  # noqa: E402
from genie_dp.private.training import check, engines  # noqa: E402
from genie_dp.records import Example, Spent  # noqa: E402

CLAIMED, DELTA = 3.0, 1e-5
SPENT = Spent(CLAIMED, DELTA, "utterance", "add-or-remove-one", "pld", ("made-up rows",))
# Names of four letters, such as public rows have: a model's vocabulary.
WORDS = tuple(
    f"{a}{b}{c}o" for a in "bcdfghjklmnpqrstvwxz" for b in "aeiou" for c in "bdfgklmnprstvwxyzqjhc"
)
FUNCTION = "@com.example.mail.inbox"
PROGRAM = f"now => {FUNCTION} => notify"


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(check, "check_engine", lambda *_, **__: None)
    with _seeded(0):
        yield


def spend(mechanisms, run=""):
    return SPENT


def bounds_of(attack, mechanisms):
    claim = Claim(CLAIMED, DELTA, mechanisms=tuple(mechanisms))
    assert epsilon_of(mechanisms, DELTA) <= CLAIMED
    return prove_bounds([attack], [], claim)


# ------------------------------------------------------------------------------- trainings
#
# Of ten epochs in batches of a quarter: epsilon 3 needs this much noise.

NOISE, RATE, STEPS = 2.4637, 0.25, 40
CANARIES = new_canaries(
    CanaryTemplate("{word} {word} {word} {word}", WORDS), count=800, program=PROGRAM, seed=5,
    coin=True,
)  # fmt: skip


def no_noise(monkeypatch):
    less_noise(monkeypatch, 1e9)


def less_noise(monkeypatch, factor):
    whole = engines.PrivateOptimizer.add_noise

    def add(self):
        right = self.noise_multiplier
        self.noise_multiplier = right / factor
        whole(self)
        self.noise_multiplier = right

    monkeypatch.setattr(engines.PrivateOptimizer, "add_noise", add)


def no_clipping(monkeypatch):
    def ones(gradients, clip):
        return torch.ones(len(gradients[0]), dtype=torch.float64)

    monkeypatch.setattr(engines, "clip_factors", ones)


@cache
def generator_before(kind):
    public = [LabelledRow(WORDS[i : i + 4], tuple(PROGRAM.split())) for i in range(0, 2100, 4)] * 2
    settings = (
        RecurrentLMSettings(32, longest=24) if kind == "crt" else DecoderSettings(32, 1, 2, 24)
    )
    kind = "one-stage" if kind == "crt" else kind
    return new_generator(
        kind, get_language("thingtalk"), public, settings, functions={FUNCTION}
    ), public


def fresh(kind):
    generator, public = generator_before(kind)
    models = {
        name: type(model)(*_sizes(model, generator)) for name, model in generator.models.items()
    }
    for name, model in models.items():
        model.load_state_dict(generator.models[name].state_dict())
    return replace(generator, models=models), public


def _sizes(model, generator):
    return len(generator.tokenizer.pieces), generator.settings


def rows_put_in():
    texts = [CANARIES.rows[place].utterance for place in CANARIES.placed]
    return Units([LabelledRow(tuple(text.split()), tuple(PROGRAM.split()))] for text in texts)


def trained(kind):
    """Return a generator that learned the canaries that were put in, and its plan."""
    generator, public = fresh(kind)
    batch = RATE * 400
    training = NoisySteps(chunk=100)
    if kind == "two-stage":
        plan = TrainingPlan(NOISE, RATE, batch, {"program": 4, "utterance": STEPS - 4})
    else:
        plan = TrainingPlan(NOISE, RATE, batch, {"utterance": STEPS})
    if kind == "crt":
        rows = MethodRows(rows_put_in(), public[:20])
        course = Course("crt", (1,), plan, training, PublicSettings(batch=20))
        crt_stage.fit(generator, rows, course, spend=spend)
        return generator, plan
    return fit_privately(generator, rows_put_in(), plan, training, spend=spend)[0], plan


def attack_training(kind):
    """Return the bounds that one run proves of a training, and those of the noise."""
    before, _ = fresh(kind)
    rows = [PrivateRow(row.utterance, row.program) for row in CANARIES.rows]
    first = np.array(GeneratorScorer(before).losses(rows))
    after, plan = trained(kind)
    scores = first - np.array(GeneratorScorer(after).losses(rows))
    is_in = np.array(CANARIES.coins)
    attack = Attack("canaries", scores[is_in], scores[~is_in], is_tossed=True)
    assert {(one.noise_multiplier, one.rate) for one in plan.mechanisms} == {(NOISE, RATE)}
    assert sum(one.steps for one in plan.mechanisms) == STEPS
    # All stages together.
    return bounds_of(attack, [PoissonGaussian(NOISE, RATE, STEPS)])


@pytest.mark.slow
def test_a_training_without_mistakes_is_not_refuted():
    assert not any(one.refutes for one in attack_training("one-stage"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("plant", "least"),
    [(no_noise, 4.0), (no_clipping, 4.0), (lambda patch: less_noise(patch, 128), 4.0)],
    ids=["no noise", "no clipping", "a 128th of the noise"],
)
def test_mistakes_of_a_training_are_refuted_whatever_the_noise_is(monkeypatch, plant, least):
    plant(monkeypatch)
    by_guesses, by_noise = attack_training("one-stage")
    assert by_guesses.refutes
    assert by_guesses.epsilon > least
    assert by_noise.refutes
    assert by_noise.epsilon > by_guesses.epsilon


@pytest.mark.slow
def test_a_tenth_of_the_noise_is_the_limit_only_who_knows_the_noise_refutes_it(monkeypatch):
    less_noise(monkeypatch, 10)
    by_guesses, by_noise = attack_training("one-stage")
    assert not by_guesses.refutes
    assert 1.5 < by_guesses.epsilon < CLAIMED
    assert by_noise.refutes


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["two-stage", "crt"])
def test_other_trainings_without_noise_are_refuted(monkeypatch, kind):
    no_noise(monkeypatch)
    assert all(one.refutes for one in attack_training(kind))


# ---------------------------------------------------------------------------------- counts
#
# Each canary is a unit that asks for something of its own, so that one release has 1,000 coins.

COUNT = 1000
TOSSES = np.random.default_rng(11).random(COUNT) < 0.5
# Epsilon 3 at this delta, of one Gaussian release.
GAUSSIAN = Gaussian(1.4)
ROWS = 20  # of a unit, to see whether it moves more than it may


def no_noise_on_counts(monkeypatch):
    monkeypatch.setattr(histogram.Noise, "draw", lambda self, rng: 0.0)


def attack_counts(counts, mechanisms):
    counts = np.asarray(counts, float)
    attack = Attack("counts", counts[TOSSES], counts[~TOSSES], is_tossed=True)
    return bounds_of(attack, mechanisms)


def of_prior():
    """Return what a histogram of functions gives away of units that have 100 each."""
    names = [[f"@com.x{i}.f{n}" for n in range(100)] for i in range(COUNT)]
    units = [[(name,) for name in own] for own, is_in in zip(names, TOSSES, strict=True) if is_in]
    support = CountedNames.from_names(name for own in names for name in own)
    limits = CountLimits(functions=1, pairs=0, missing=0)
    plan = CountPlan(support, limits, "gaussian", GAUSSIAN.noise_multiplier)
    found = histogram.release_counts(units, plan, noise("prior"))
    counts = [sum(found.functions[name] for name in own) for own in names]
    return attack_counts(counts, plan.mechanisms)


def of_codes():
    """Return what the control codes of a generator give away."""
    codes = Codes(tuple(f"@com.x.f{i:04d}" for i in range(COUNT)))
    rows = [[codes.all[i]] * ROWS for i in range(COUNT) if TOSSES[i]]
    # Of others who have these codes there are as many as come just below what is cut off.
    rows += [[codes.all[i]] for i in range(COUNT)] * 5
    weights = release_codes(codes, rows, GAUSSIAN.noise_multiplier)
    return attack_counts(weights[:COUNT], [GAUSSIAN])


def of_table(method):
    """Return what a table of one column gives away."""
    values = tuple(f"v{i}" for i in range(COUNT))
    schema = Schema((Column("a", values),))
    units = Units([{"a": values[i]}] * ROWS for i in range(COUNT) if TOSSES[i])
    rho = rho_for(CLAIMED, DELTA)
    table = release_table(schema, units, epsilon=CLAIMED, delta=DELTA, spend=spend, method=method)
    found = table.joint.marginal((0,))
    return attack_counts(found, table_stage.mechanisms_of(method, 1, rho))


class Numbered:
    """Makes each candidate once, with a word of its own."""

    name = "numbered"

    def random(self, metadata, *, seed):
        return [
            VoteCandidate(Example("", WORDS[i], "", "thingtalk"), dict(record))
            for i, record in enumerate(metadata)
        ]

    def vary(self, candidates, strength, *, seed):
        return list(candidates)

    def fingerprint(self):
        return "numbered 1"


def of_evolution(folder):
    """Return what one vote gives away."""
    rows = Units(
        (Example("", WORDS[i], "", "thingtalk"),) * ROWS for i in range(COUNT) if TOSSES[i]
    )
    settings = EvolutionSettings(
        noise_multiplier=GAUSSIAN.noise_multiplier, iterations=1, population=COUNT, variations=1,
        rows=10,
    )  # fmt: skip
    found = evolve(
        Electorate(rows), Numbered(), HashedNgramEmbedding(512), settings, spend=spend, work=folder
    )
    ((candidates, noisy),) = found.votes
    places = {one.example.utterance: place for place, one in enumerate(candidates)}
    return attack_counts([noisy[places[word]] for word in WORDS[:COUNT]], [GAUSSIAN])


COUNTS = {
    "prior": lambda folder: of_prior(),
    "codes": lambda folder: of_codes(),
    "table": lambda folder: of_table("independent"),
    "aim": lambda folder: of_table("aim"),
    "evolution": of_evolution,
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_without_mistakes_are_not_refuted(tmp_path, name):
    assert not any(one.refutes for one in COUNTS[name](tmp_path / "work"))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_without_noise_are_refuted(tmp_path, monkeypatch, name):
    no_noise_on_counts(monkeypatch)
    assert all(one.refutes for one in COUNTS[name](tmp_path / "work"))


def unlimited(monkeypatch):
    monkeypatch.setattr(histogram, "_take_most_frequent", lambda counts, limit: tuple(counts))


def unweighed(monkeypatch):
    whole = table_stage.records_of

    def records(schema, units):
        found = whole(schema, units)
        return replace(found, weights=np.ones_like(found.weights))

    monkeypatch.setattr(table_stage, "records_of", records)


def unnormed(monkeypatch):
    monkeypatch.setattr(voting, "vote_of", lambda times: times.astype(np.int64) * voting.GRAIN)


@pytest.mark.parametrize(
    ("name", "plant"),
    [("prior", unlimited), ("table", unweighed), ("aim", unweighed), ("evolution", unnormed)],
)
def test_a_unit_of_many_rows_that_moves_counts_by_all_of_them_is_found(
    tmp_path, monkeypatch, name, plant
):
    plant(monkeypatch)
    assert all(one.refutes for one in COUNTS[name](tmp_path / "work"))
