"""Mistakes that are planted into each engine: one run of the audit refutes a claim of epsilon 3.

Of each engine, the run without a mistake is not refuted. Trainings see 400 canaries, counts 1,000.
"""

import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("scipy")

sys.path.append(str(Path(__file__).parents[3] / "benchmarks"))

from private_audit import CLAIMED, COUNTS, OF_COUNTS, OF_TRAININGS, TRAININGS, Coins, attack  # noqa: E402

from genie_dp.private.training import check  # noqa: E402

pytestmark = pytest.mark.statistical
COINS = Coins(seed=5, canaries=400, words=800)


@pytest.fixture(autouse=True)
def one_thread_and_engines_unchecked(monkeypatch):
    torch.set_num_threads(1)
    monkeypatch.setattr(check, "check_engine", lambda *_, **__: None)


@pytest.mark.parametrize("kind", TRAININGS)
def test_a_training_without_mistakes_is_not_refuted(kind):
    found = attack(kind, OF_TRAININGS["as it is"], COINS)
    assert not any(one.refutes for one in found)


@pytest.mark.parametrize("mistake", ["no noise", "no clipping"])
@pytest.mark.parametrize("kind", TRAININGS)
def test_mistakes_of_a_training_are_refuted_whatever_the_noise_is(kind, mistake):
    by_guesses, by_noise = attack(kind, OF_TRAININGS[mistake], COINS)
    assert by_guesses.refutes
    assert by_noise.refutes
    assert by_noise.epsilon > by_guesses.epsilon


def test_a_tenth_of_the_noise_is_the_limit_only_who_knows_the_noise_refutes_it():
    by_guesses, by_noise = attack("one-stage", OF_TRAININGS["noise / 10"], COINS)
    assert not by_guesses.refutes
    assert 1.5 < by_guesses.epsilon < CLAIMED
    assert by_noise.refutes


@pytest.mark.parametrize("name", COUNTS)
def test_counts_without_mistakes_are_not_refuted(name):
    assert not any(one.refutes for one in attack(name, OF_COUNTS["as it is"], COINS))


@pytest.mark.parametrize("name", COUNTS)
def test_counts_without_noise_are_refuted(name):
    assert all(one.refutes for one in attack(name, OF_COUNTS["no noise"], COINS))


@pytest.mark.parametrize("name", ["prior", "table", "aim", "evolution"])
def test_a_unit_of_many_rows_that_moves_counts_by_all_of_them_is_found(name):
    assert all(one.refutes for one in attack(name, OF_COUNTS["units without limit"], COINS))
