"""What confidentiality costs: the paper's formulas by hand, their limits and laws, the records."""

import json
import math
import sys
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dp_accounting")

from dp_accounting.pld import privacy_loss_distribution

from genie_dp.errors import GenieError
from genie_dp.private.crt.accounting import (
    Guarantee,
    amplify_epsilon,
    bayesian_guarantee,
    guarantee_of_crt,
    guarantee_of_replacing,
    guarantee_of_unique_group,
)
from genie_dp.private.crt.statements import (
    NOTHING_PUBLIC,
    UNMEASURED,
    MissRate,
    Record,
    Redaction,
    book_of,
    id_of,
    keep_record,
    read_records,
    statement_of,
)
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import (
    Gaussian,
    Laplace,
    PoissonGaussian,
    ZeroConcentrated,
)

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from crt_figures import amplification_svg  # noqa: E402

EPSILONS = st.floats(0, 1000)
SHARES = st.floats(0, 1)
DELTAS = st.floats(0, 1e-3)
GAMMA = MissRate(0.1, 0.06, 0.15, "200 rows labelled by hand")
BOTH = MissRate(0.0, 0.0, 0.015, "200 rows labelled by hand")


# Hand-computed values.


@pytest.mark.parametrize(
    ("epsilon", "gamma", "expected"),
    [
        # log(1 + 0.1 (e - 1)) = log(1.17182818); the paper's text says 0.12.
        (1.0, 0.1, 0.158565),
        # log(1 + 0.5 (e^2 - 1)) = log(4.19452805).
        (2.0, 0.5, 1.433781),
        # log(1 + 0.01 (e^8 - 1)) = log(30.7995799).
        (8.0, 0.01, 3.427501),
        (math.log(3), 0.5, math.log(2)),
    ],
)
def test_bayesian_confidentiality_by_hand(epsilon, gamma, expected):
    found = bayesian_guarantee(Guarantee(epsilon, 8e-5), gamma)
    assert found.epsilon == pytest.approx(expected, abs=1e-6)
    assert found.delta == pytest.approx(gamma * 8e-5)


def test_a_group_of_unique_secrets_by_hand():
    # 20 secrets, a tenth missed: 2 epsilon, 2 e^1 1e-6.
    found = guarantee_of_unique_group(Guarantee(0.5, 1e-6), 20, 0.1)
    assert found.epsilon == 1.0
    assert found.delta == pytest.approx(2 * math.e * 1e-6)
    assert guarantee_of_unique_group(Guarantee(0.5, 1e-6), 20, 0.0) == Guarantee(0.0, 0.0)


def test_confidentiality_of_crt_by_hand():
    found = guarantee_of_crt(Guarantee(1.0, 1e-5), 0.1, 0.001)
    assert found.epsilon == pytest.approx(math.log(1.17182818), abs=1e-8)
    assert found.delta == pytest.approx(1e-6 + 1e-3)


# Limits and laws.


@given(EPSILONS, DELTAS)
def test_a_policy_that_misses_all_changes_nothing_and_one_that_misses_none_leaks_nothing(e, d):
    assert bayesian_guarantee(Guarantee(e, d), 1.0) == Guarantee(e, d)
    assert bayesian_guarantee(Guarantee(e, d), 0.0) == Guarantee(0.0, 0.0)


@given(EPSILONS, SHARES, SHARES)
def test_more_misses_never_cost_less(epsilon, one, other):
    low, high = sorted((one, other))
    assert (
        amplify_epsilon(epsilon, low)
        <= amplify_epsilon(epsilon, high) * (1 + 1e-12)
        <= epsilon * (1 + 1e-9)
    )


@given(EPSILONS, EPSILONS, SHARES)
def test_a_larger_epsilon_never_costs_less(one, other, gamma):
    low, high = sorted((one, other))
    assert amplify_epsilon(low, gamma) <= amplify_epsilon(high, gamma) * (1 + 1e-12)


@given(st.floats(0, 20), st.floats(1e-6, 1))
def test_amplification_lies_between_that_of_small_epsilons_and_a_shift(epsilon, gamma):
    found = amplify_epsilon(epsilon, gamma)
    # Convexity in epsilon: at least gamma epsilon; at most gamma (e^epsilon - 1).
    assert found >= gamma * epsilon * (1 - 1e-9)
    assert found <= gamma * math.expm1(epsilon) * (1 + 1e-9)
    assert found >= epsilon + math.log(gamma) - 1e-9


@given(SHARES, SHARES, st.floats(0, 30))
def test_two_policies_one_after_the_other_amplify_as_their_product(first, second, epsilon):
    twice = amplify_epsilon(amplify_epsilon(epsilon, first), second)
    assert twice == pytest.approx(amplify_epsilon(epsilon, first * second), rel=1e-6, abs=1e-9)


@given(EPSILONS, DELTAS, SHARES, SHARES)
def test_secrets_in_public_rows_add_their_share_to_delta(epsilon, delta, gamma, both):
    training = Guarantee(epsilon, delta)
    assert (
        guarantee_of_crt(training, gamma, both).delta
        == bayesian_guarantee(training, gamma).delta + both
    )
    assert (
        guarantee_of_crt(training, gamma, both).epsilon
        == bayesian_guarantee(training, gamma).epsilon
    )


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_what_is_no_share_is_refused(wrong):
    with pytest.raises(ValueError, match="gamma"):
        bayesian_guarantee(Guarantee(1.0, 0.0), wrong)
    with pytest.raises(ValueError, match="delta_2"):
        guarantee_of_crt(Guarantee(1.0, 0.0), 0.5, wrong)
    with pytest.raises(ValueError, match="missed"):
        guarantee_of_unique_group(Guarantee(1.0, 0.0), 2, wrong)


def test_what_is_no_guarantee_is_refused():
    for wrong in ((-1.0, 0.0), (math.nan, 0.0), (1.0, -1e-9)):
        with pytest.raises(ValueError, match="epsilon"):
            Guarantee(*wrong)


# Replacing a row.


def test_replacing_a_row_of_a_gaussian_sum_moves_it_by_two():
    # N(0, 2^2) and N(2, 2^2) are N(0, 1) and N(1, 1).
    found = guarantee_of_replacing([Gaussian(2.0)], 1e-5).epsilon
    assert found == pytest.approx(epsilon_of([Gaussian(1.0)], 1e-5, "pld"), rel=1e-3)


@pytest.mark.parametrize(
    "mechanisms",
    [
        (PoissonGaussian(1.0, 0.05, 100),),
        (PoissonGaussian(2.0, 0.1, 10), Gaussian(8.0)),
        (Laplace(10.0), ZeroConcentrated(0.001)),
        (Laplace(4.0),),
    ],
)
def test_replacing_costs_more_than_removing_and_at_most_both(mechanisms):
    one = epsilon_of(mechanisms, 1e-5)
    found = guarantee_of_replacing(mechanisms, 1e-5)
    pld = all(not isinstance(m, ZeroConcentrated) for m in mechanisms)
    assert found.epsilon >= (epsilon_of(mechanisms, 1e-5, "pld") if pld else one) * (1 - 1e-6)
    smaller = 1e-5 / (1 + math.exp(one * 1.5))
    assert found.epsilon <= 2 * epsilon_of(mechanisms, smaller) * 1.01
    assert found.delta == 1e-5


def test_replacing_of_pure_mechanisms_costs_twice_even_without_delta():
    assert guarantee_of_replacing([Laplace(10.0)], 0.0) == Guarantee(0.2, 0.0)


def test_training_without_noise_to_speak_of_has_no_finite_epsilon():
    assert guarantee_of_replacing([Gaussian(1e-3)], 1e-6).epsilon == math.inf


# Records.


def opened(tmp_path, epsilon=50.0):
    return Ledger.create(tmp_path / "rows.ledger.json", Budget(epsilon, 1e-5, "utterance"))


def spend(ledger, run, redaction):
    one = Record(run, redaction)
    keep_record(ledger.path, one)
    ledger.spend([PoissonGaussian(2.0, 0.1, 10)], purpose=f"language model{one.mark}", run=run)


def test_a_statement_has_all_three_guarantees_and_what_they_rest_on(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, BOTH, "recorded"))
    found = statement_of(ledger)
    assert found.rows == Guarantee(ledger.spent().epsilon, 1e-5)
    assert found.secret == guarantee_of_replacing(ledger.mechanisms, 1e-5)
    # At delta / gamma, so that gamma times it is delta again.
    high, likely = (
        guarantee_of_replacing(ledger.mechanisms, 1e-5 / gamma) for gamma in (0.15, 0.1)
    )
    assert found.bayesian == guarantee_of_crt(high, 0.15, 0.015)
    assert found.bayesian.delta == pytest.approx(0.015 + 1e-5)
    assert found.expected == guarantee_of_crt(likely, 0.1, 0.0)
    assert found.expected.epsilon < guarantee_of_crt(found.secret, 0.1, 0.0).epsilon
    assert found.redactions == (Redaction("x", GAMMA, BOTH, "recorded"),)
    told = "\n".join(found.lines())
    assert "0.1 (0.06 to 0.15) on 200 rows labelled by hand" in told


def test_two_runs_on_one_redaction_are_composed_first_and_amplified_once(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, BOTH, "recorded"))
    once = statement_of(ledger)
    spend(ledger, "b", Redaction("x", GAMMA, BOTH, "recorded"))
    found = statement_of(ledger)
    assert found.gamma == once.gamma == 0.15
    assert found.missed_by_both == 0.015
    assert found.bayesian == guarantee_of_crt(
        guarantee_of_replacing(ledger.mechanisms, 1e-5 / 0.15), 0.15, 0.015
    )
    assert once.bayesian.epsilon < found.bayesian.epsilon


def test_shares_of_different_redactions_add_up(tmp_path):
    ledger = opened(tmp_path)
    for run, text in (("a", "x"), ("b", "y")):
        spend(ledger, run, Redaction(text, GAMMA, BOTH, "recorded"))
    found = statement_of(ledger)
    assert (found.gamma, found.missed_by_both) == (0.3, 0.03)


def test_a_run_on_rows_that_were_not_redacted_leaves_no_amplification(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, BOTH, "recorded"))
    ledger.spend([Gaussian(20.0)], purpose="histogram", run="h")
    found = statement_of(ledger)
    assert found.gamma == 1.0
    assert found.bayesian.epsilon == found.secret.epsilon


def test_a_policy_that_nobody_measured_claims_nothing(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", apart="recorded"))
    assert statement_of(ledger).bayesian.epsilon == statement_of(ledger).secret.epsilon


def test_a_text_that_was_measured_later_or_again_has_the_larger_measured_share(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", UNMEASURED, UNMEASURED, "recorded"))
    assert statement_of(ledger).gamma == 1.0
    spend(ledger, "b", Redaction("x", GAMMA, BOTH, "recorded"))
    assert (statement_of(ledger).gamma, statement_of(ledger).missed_by_both) == (0.15, 0.015)
    spend(ledger, "c", Redaction("x", MissRate(0.01, 0.0, 0.02, "other rows"), BOTH, "recorded"))
    assert statement_of(ledger).gamma == 0.15


@pytest.mark.parametrize("order", [(UNMEASURED, NOTHING_PUBLIC), (NOTHING_PUBLIC, UNMEASURED)])
def test_a_run_without_public_rows_measures_nothing_for_one_that_had_them(tmp_path, order):
    ledger = opened(tmp_path)
    for run, both in zip("ab", order, strict=True):
        spend(ledger, run, Redaction("x", GAMMA, both, "recorded"))
    assert statement_of(ledger).missed_by_both == 1.0
    spend(ledger, "c", Redaction("x", GAMMA, BOTH, "recorded"))
    assert statement_of(ledger).missed_by_both == 0.015


@pytest.mark.parametrize(
    ("both", "told"), [(BOTH, "at most, 95 %"), (MissRate(0.0, 0.0, 0.0, "my word"), "as given")]
)
def test_a_share_without_an_interval_is_not_said_to_be_a_bound(tmp_path, both, told):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, both, "recorded"))
    _, _, drawn, measured = statement_of(ledger).lines()
    assert ("at most" in drawn) == both.has_interval
    assert told in drawn
    assert ("without an interval" in measured) != both.has_interval


def test_a_record_that_was_changed_or_removed_is_noticed(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, BOTH, "recorded"))
    path = book_of(ledger.path)
    whole = path.read_text()
    path.write_text(whole.replace('"high": 0.15', '"high": 0.12'))
    with pytest.raises(GenieError) as caught:
        statement_of(ledger)
    assert caught.value.problems[0].code == "O004"
    path.unlink()
    with pytest.raises(GenieError) as caught:
        statement_of(ledger)
    assert caught.value.problems[0].code == "O004"
    path.write_text("{}")
    with pytest.raises(GenieError) as caught:
        statement_of(ledger)
    assert caught.value.problems[0].code == "O003"
    path.write_text(whole)
    assert statement_of(ledger).gamma == 0.15


def test_a_run_that_goes_on_keeps_its_record(tmp_path):
    ledger = opened(tmp_path)
    one = Record("a", Redaction("x", GAMMA, BOTH, "recorded"))
    keep_record(ledger.path, one)
    keep_record(ledger.path, one)
    assert read_records(ledger.path) == (one,)
    with pytest.raises(GenieError) as caught:
        keep_record(ledger.path, Record("a", Redaction("y", GAMMA, BOTH, "recorded")))
    assert caught.value.problems[0].code == "O002"


@pytest.mark.parametrize(
    "wrong", [(0.1, 0.2, 0.3, "x"), (0.1, 0.0, 1.1, "x"), (0.1, 0.0, 0.2, " "), (0.1, 0, 1, "\n")]
)
def test_a_share_without_an_interval_around_it_is_refused(wrong):
    with pytest.raises(GenieError) as caught:
        MissRate(*wrong)
    assert caught.value.problems[0].code == "O001"


def test_the_id_of_a_text_follows_from_its_bytes_and_a_key_that_stays_with_it(tmp_path):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("one")
    first = id_of(rows)
    assert id_of(rows) == first
    rows.write_text("two")
    assert id_of(rows) != first
    other = tmp_path / "b" / "rows.jsonl"
    other.parent.mkdir()
    other.write_text("one")
    assert id_of(other) != first
    assert (tmp_path / ".rows.jsonl.key").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("key", ["", "00ff", "no key"])
def test_a_text_has_no_id_by_a_key_that_everybody_could_try(tmp_path, key):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("one")
    (tmp_path / ".rows.jsonl.key").write_text(key)
    with pytest.raises(GenieError) as caught:
        id_of(rows)
    assert caught.value.problems[0].code == "O015"


def test_a_kill_while_a_key_is_written_leaves_none(tmp_path, monkeypatch):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("one")
    monkeypatch.setattr("secrets.token_hex", Mock(side_effect=["a", KeyboardInterrupt]))
    with pytest.raises(KeyboardInterrupt):
        id_of(rows)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    assert id_of(rows) == id_of(rows)


def test_the_key_of_a_faster_process_stays(tmp_path, monkeypatch):
    rows = tmp_path / "rows.jsonl"
    rows.write_text("one")
    first = id_of(rows)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert id_of(rows) == first


def test_what_was_redacted_nobody_knows_how_promises_nothing_of_secrets(tmp_path):
    ledger = opened(tmp_path)
    old = Redaction("x", GAMMA, BOTH)
    # Records of before this was asked keep their hashes.
    assert set(old.as_dict()) == {"id", "gamma", "missed_by_both"}
    spend(ledger, "a", old)
    spend(ledger, "b", Redaction("y", GAMMA, BOTH, "recorded"))
    found = statement_of(ledger)
    assert found.redactions[0] == old
    for promise in (found.rows, found.secret, found.bayesian, found.expected):
        assert promise.delta >= 1
    *promises, _, _, why = found.lines()
    assert all("nothing, for delta" in line for line in promises)
    assert "not recorded" in why


def test_alike_rows_leave_no_amplification(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, NOTHING_PUBLIC, "near"))
    found = statement_of(ledger)
    assert found.gamma == 1.0
    assert found.bayesian == found.secret
    assert "alike rows" in found.lines()[-1]


def test_the_owners_word_is_told_as_such(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", Redaction("x", GAMMA, BOTH, "said"))
    found = statement_of(ledger)
    assert found.gamma == 0.15
    assert "by the owner's word" in found.lines()[-1]
    # Of two runs on one text, what is less sure is told.
    spend(ledger, "b", Redaction("x", GAMMA, BOTH, "recorded"))
    assert statement_of(ledger).redactions[0].apart == "said"


# A user of several rows, by dp_accounting's distributions and by none of our own accountants.

NOISE, RATE, STEPS = 2.0, 0.1, 30


def moved(rows):
    """Return epsilon of so many rows that come and go together, each drawn by itself."""
    drawn = [math.comb(rows, i) * RATE**i * (1 - RATE) ** (rows - i) for i in range(rows + 1)]
    return (
        privacy_loss_distribution.from_mixture_gaussian_mechanism(
            NOISE, list(range(rows + 1)), drawn, value_discretization_interval=1e-2
        )
        .self_compose(STEPS)
        .get_epsilon_for_delta(1e-5)
    )


def exchanged():
    """Return a lower bound of epsilon for one unit replaced: of sums that are read in steps."""
    edges = np.linspace(-20, 20, 2001)

    def read(shift):
        below = sum(
            share * np.array([0.5 * math.erfc((at - x) / NOISE / 2**0.5) for x in edges])
            for share, at in ((1 - RATE, 0), (RATE, shift))
        )
        # Beyond ten deviations there is nothing: those steps are one.
        mass = np.maximum(np.diff(below), 1e-300)
        return dict(enumerate((np.log(mass / mass.sum())).tolist()))

    one = privacy_loss_distribution.from_two_probability_mass_functions(
        read(1), read(-1), pessimistic_estimate=False, value_discretization_interval=1e-3
    )
    return one.self_compose(STEPS).get_epsilon_for_delta(1e-5)


@pytest.mark.slow
def test_what_is_claimed_of_a_user_is_what_one_unit_costs_however_many_rows_it_has(tmp_path):
    budget = Budget(50.0, 1e-5, "user", cap=20, accountant="pld")
    ledger = Ledger.create(tmp_path / "rows.ledger.json", budget)
    one = Record("a", Redaction("x", GAMMA, BOTH, "recorded"))
    keep_record(ledger.path, one)
    ledger.spend([PoissonGaussian(NOISE, RATE, STEPS)], purpose=f"model{one.mark}", run="a")
    found = statement_of(ledger)
    assert found.rows.epsilon == pytest.approx(moved(1), rel=0.01)
    assert exchanged() <= found.secret.epsilon <= exchanged() * 1.02
    assert "one user's private rows more or less" in found.lines()[0]
    # That a unit gives one row to a step at most: tests/private/training/test_private_draws.py.


@pytest.mark.slow
def test_rows_of_others_that_change_with_a_users_own_would_cost_far_more():
    # So redaction that moves 5 rows, or 20, is refused: 1.2 was claimed of them.
    one, few, many = (moved(rows) for rows in (1, 5, 20))
    assert 5 * one < few < many / 5


def test_records_hold_no_private_text(tmp_path):
    ledger = opened(tmp_path)
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"utterance": "Zorblat"}')
    spend(ledger, "a", Redaction(id_of(rows), GAMMA, BOTH, "recorded"))
    texts = [path.read_text() for path in tmp_path.glob("*.json")]
    assert len(texts) == 2
    assert not any("Zorblat" in text for text in texts)
    assert json.loads(book_of(ledger.path).read_text())["records"]


# The picture.


def test_curves_of_the_picture_rise_from_zero_to_the_epsilon_of_training():
    picture = amplification_svg((0.5, 2.0), points=11)
    lines = [part.split('"')[0] for part in picture.split('points="')[1:]]
    assert len(lines) == 2
    heights = [[float(p.split(",")[1]) for p in line.split()] for line in lines]
    for one in heights:
        assert one == sorted(one, reverse=True)
        assert one[0] == 344.0
    assert heights[1][-1] == 56.0
    assert heights[0][-1] == 344 - 288 / 4
    assert "http" not in picture.replace("http://www.w3.org/2000/svg", "")
