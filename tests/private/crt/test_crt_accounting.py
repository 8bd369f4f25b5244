"""What confidentiality costs: the paper's formulas by hand, their laws, records, groups."""

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

from genie_dp.cli import run
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
    Statement,
    book_of,
    group_of,
    id_of,
    keep_record,
    read_records,
    statement_of,
)
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, PoissonGaussian, ZeroConcentrated

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from crt_figures import amplification_svg  # noqa: E402

EPSILONS = st.floats(0, 1000)
SHARES = st.floats(0, 1)
DELTAS = st.floats(0, 1e-3)
GAMMA = MissRate(0.1, 0.06, 0.15, "200 rows labelled by hand")
BOTH = MissRate(0.0, 0.0, 0.015, "200 rows labelled by hand")


# Hand-computed values.

HALF, ONE, TWO = (Guarantee(epsilon, 1e-5) for epsilon in (0.5, 1.0, 2.0))


@pytest.mark.parametrize(
    ("found", "epsilon", "delta"),
    [
        # log(1 + 0.1 (e - 1)) = log(1.17182818); the paper's text says 0.12.
        (bayesian_guarantee(ONE, 0.1), 0.158565, 1e-6),
        # log(1 + 0.5 (e^2 - 1)) = log(4.19452805).
        (bayesian_guarantee(TWO, 0.5), 1.433781, 5e-6),
        # log(1 + 0.01 (e^8 - 1)) = log(30.7995799).
        (bayesian_guarantee(Guarantee(8.0, 1e-5), 0.01), 3.427501, 1e-7),
        (bayesian_guarantee(Guarantee(math.log(3), 0.0), 0.5), math.log(2), 0),
        # 20 secrets, a tenth missed: 2 epsilon, 2 e^1 1e-5.
        (guarantee_of_unique_group(HALF, 20, 0.1), 1.0, 2 * math.e * 1e-5),
        (guarantee_of_unique_group(HALF, 20, 0.0), 0, 0),
        (guarantee_of_crt(ONE, 0.1, 0.001), 0.158565, 1e-6 + 1e-3),
    ],
)
def test_guarantees_by_hand(found, epsilon, delta):
    assert found.epsilon == pytest.approx(epsilon, abs=1e-6)
    assert found.delta == pytest.approx(delta, rel=1e-5)


# Limits and laws.


@given(EPSILONS, EPSILONS, SHARES, SHARES, DELTAS)
def test_more_misses_and_a_larger_epsilon_never_cost_less(epsilon, other, one, two, delta):
    (low, high), (few, many) = sorted((epsilon, other)), sorted((one, two))
    found = amplify_epsilon(low, few)
    assert found <= amplify_epsilon(low, many) * (1 + 1e-12) <= low * (1 + 1e-9)
    assert found <= amplify_epsilon(high, few) * (1 + 1e-12)
    training = Guarantee(epsilon, delta)
    assert bayesian_guarantee(training, 1.0) == training
    assert bayesian_guarantee(training, 0.0) == Guarantee(0.0, 0.0)
    # Secrets in public rows add their share to delta.
    both, bayesian = guarantee_of_crt(training, one, two), bayesian_guarantee(training, one)
    assert (both.epsilon, both.delta) == (bayesian.epsilon, bayesian.delta + two)


@given(st.floats(0, 20), st.floats(1e-6, 1), SHARES)
def test_amplification_lies_between_that_of_small_epsilons_and_a_shift(epsilon, gamma, second):
    found = amplify_epsilon(epsilon, gamma)
    # Convexity in epsilon: at least gamma epsilon; at most gamma (e^epsilon - 1).
    assert found >= gamma * epsilon * (1 - 1e-9)
    assert found <= gamma * math.expm1(epsilon) * (1 + 1e-9)
    assert found >= epsilon + math.log(gamma) - 1e-9
    # Two policies one after the other amplify as their product.
    product = amplify_epsilon(epsilon, gamma * second)
    assert amplify_epsilon(found, second) == pytest.approx(product, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, math.nan])
def test_what_is_no_share_or_no_guarantee_is_refused(wrong):
    with pytest.raises(ValueError, match="gamma"):
        bayesian_guarantee(ONE, wrong)
    with pytest.raises(ValueError, match="delta_2"):
        guarantee_of_crt(ONE, 0.5, wrong)
    with pytest.raises(ValueError, match="missed"):
        guarantee_of_unique_group(ONE, 2, wrong)
    for guarantee in ((-1.0, 0.0), (math.nan, 0.0), (1.0, -1e-9)):
        with pytest.raises(ValueError, match="epsilon"):
            Guarantee(*guarantee)


# Replacing a row.


def test_replacing_a_row_of_a_gaussian_sum_moves_it_by_two():
    # N(0, 2^2) and N(2, 2^2) are N(0, 1) and N(1, 1).
    found = guarantee_of_replacing([Gaussian(2.0)], 1e-5).epsilon
    assert found == pytest.approx(epsilon_of([Gaussian(1.0)], 1e-5, "pld"), rel=1e-3)
    assert guarantee_of_replacing([Laplace(10.0)], 0.0) == Guarantee(0.2, 0.0)
    assert guarantee_of_replacing([Gaussian(1e-3)], 1e-6).epsilon == math.inf


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


# Records.


def opened(tmp_path, epsilon=50.0):
    return Ledger.create(tmp_path / "rows.ledger.json", Budget(epsilon, 1e-5, "utterance"))


def spend(ledger, run, redaction):
    one = Record(run, redaction)
    keep_record(ledger.path, one)
    ledger.spend([Gaussian(10.0)], purpose=f"language model{one.mark}", run=run)


def of(text="x", gamma=GAMMA, both=BOTH, apart="recorded"):
    return Redaction(text, gamma, both, apart)


def test_a_statement_has_all_three_guarantees_and_what_they_rest_on(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", of())
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
    assert found.redactions == (of(),)
    told = "\n".join(found.lines())
    assert "0.1 (0.06 to 0.15) on 200 rows labelled by hand" in told
    # A second run on the redaction is composed with the first, then amplified once.
    spend(ledger, "b", of())
    twice = statement_of(ledger)
    both = guarantee_of_replacing(ledger.mechanisms, 1e-5 / 0.15)
    assert twice.bayesian == guarantee_of_crt(both, 0.15, 0.015)
    assert found.bayesian.epsilon < twice.bayesian.epsilon


FEWER = MissRate(0.01, 0.0, 0.02, "other rows")
NOBODY = of(gamma=UNMEASURED, both=UNMEASURED)


@pytest.mark.parametrize(
    ("redactions", "gamma", "both"),
    [
        ([of()], 0.15, 0.015),
        ([of(), of()], 0.15, 0.015),
        ([of(), of("y")], 0.3, 0.03),  # different redactions add up
        ([NOBODY], 1.0, 1.0),
        # Measured later, or again: the larger measured share.
        ([NOBODY, of()], 0.15, 0.015),
        ([NOBODY, of(), of(gamma=FEWER)], 0.15, 0.015),
        # Without public rows nothing is measured for a run that had them.
        ([of(both=UNMEASURED), of(both=NOTHING_PUBLIC)], 0.15, 1.0),
        ([of(both=NOTHING_PUBLIC), of(both=UNMEASURED)], 0.15, 1.0),
        ([of(both=NOTHING_PUBLIC), of(both=UNMEASURED), of()], 0.15, 0.015),
        ([of(both=NOTHING_PUBLIC, apart="near")], 1.0, 0.0),
        ([of(apart="said")], 0.15, 0.015),
        # The last run was on rows that were not redacted.
        ([of(), None], 1.0, 0.015),
    ],
)
def test_shares_of_several_runs_are_the_least_that_is_known(tmp_path, redactions, gamma, both):
    ledger = opened(tmp_path)
    for run_, redaction in enumerate(redactions):
        if redaction:
            spend(ledger, str(run_), redaction)
        else:
            ledger.spend([Gaussian(20.0)], purpose="histogram", run="h")
    found = statement_of(ledger)
    assert (found.gamma, found.missed_by_both) == (gamma, both)
    if gamma == 1.0:  # no amplification
        assert found.bayesian.epsilon == found.secret.epsilon


def test_what_redaction_rests_on_is_told(tmp_path):
    def lines(name, *redactions):
        (tmp_path / name).mkdir()
        ledger = opened(tmp_path / name)
        for run_, redaction in enumerate(redactions):
            spend(ledger, str(run_), redaction)
        return statement_of(ledger).lines()

    # A share without an interval is not said to be a bound.
    for name, both, told in (
        ("measured", BOTH, "at most, 95 %"),
        ("given", MissRate(0.0, 0.0, 0.0, "my word"), "as given"),
    ):
        _, _, drawn, measured = lines(name, of(both=both))
        assert ("at most" in drawn) == both.has_interval
        assert told in drawn
        assert ("without an interval" in measured) != both.has_interval
    assert "alike rows" in lines("near", of(apart="near"))[-1]
    # Of two runs on one text, what is less sure is told.
    for runs in ([of(apart="said")], [of(apart="said"), of()]):
        assert "by the owner's word" in lines(f"said {len(runs)}", *runs)[-1]


def test_what_was_redacted_nobody_knows_how_promises_nothing_of_secrets(tmp_path):
    ledger = opened(tmp_path)
    old = Redaction("x", GAMMA, BOTH)
    # Records of before this was asked keep their hashes.
    assert set(old.as_dict()) == {"id", "gamma", "missed_by_both"}
    spend(ledger, "a", old)
    spend(ledger, "b", of("y"))
    found = statement_of(ledger)
    assert found.redactions[0] == old
    for promise in (found.rows, found.secret, found.bayesian, found.expected):
        assert promise.delta >= 1
    *promises, _, _, why = found.lines()
    assert all("nothing, for delta" in line for line in promises)
    assert "not recorded" in why


def test_a_record_that_was_changed_or_removed_is_noticed(tmp_path):
    ledger = opened(tmp_path)
    spend(ledger, "a", of())
    path = book_of(ledger.path)
    whole = path.read_text()
    for text, code in ((whole.replace(": 0.15", ": 0.12"), "O004"), (None, "O004"), ("{}", "O003")):
        path.unlink() if text is None else path.write_text(text)
        with pytest.raises(GenieError, match=code):
            statement_of(ledger)
    path.write_text(whole)
    assert statement_of(ledger).gamma == 0.15


def test_a_run_that_goes_on_keeps_its_record(tmp_path):
    ledger = opened(tmp_path)
    one = Record("a", of())
    keep_record(ledger.path, one)
    keep_record(ledger.path, one)
    assert read_records(ledger.path) == (one,)
    with pytest.raises(GenieError, match="O002"):
        keep_record(ledger.path, Record("a", of("y")))
    for wrong in (  # no interval around the share, or no place
        (0.1, 0.2, 0.3, "x"), (0.1, 0.0, 1.1, "x"), (0.1, 0.0, 0.2, " "), (0.1, 0, 1, "\n"),
    ):  # fmt: skip
        with pytest.raises(GenieError, match="O001"):
            MissRate(*wrong)


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("one")
    return path


def test_the_id_of_a_text_follows_from_its_bytes_and_a_key_that_stays_with_it(
    rows, tmp_path, monkeypatch
):
    first = id_of(rows)
    assert id_of(rows) == first
    rows.write_text("two")
    assert id_of(rows) != first
    other = tmp_path / "b" / "rows.jsonl"
    other.parent.mkdir()
    other.write_text("one")
    assert id_of(other) != first
    assert (tmp_path / ".rows.jsonl.key").stat().st_mode & 0o077 == 0
    # The key of a faster process stays.
    rows.write_text("one")
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert id_of(rows) == first


def test_a_kill_while_a_key_is_written_leaves_none_and_others_are_refused(
    rows, tmp_path, monkeypatch
):
    monkeypatch.setattr("secrets.token_hex", Mock(side_effect=["a", KeyboardInterrupt]))
    with pytest.raises(KeyboardInterrupt):
        id_of(rows)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["rows.jsonl"]
    assert id_of(rows) == id_of(rows)
    for key in ("", "00ff", "no key"):  # everybody could try it
        (tmp_path / ".rows.jsonl.key").write_text(key)
        with pytest.raises(GenieError, match="O015"):
            id_of(rows)


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
    one = Record("a", of())
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


def test_records_hold_no_private_text(rows, tmp_path):
    ledger = opened(tmp_path)
    rows.write_text('{"utterance": "Zorblat"}')
    spend(ledger, "a", of(id_of(rows)))
    texts = [path.read_text() for path in tmp_path.glob("*.json")]
    assert len(texts) == 2
    assert not any("Zorblat" in text for text in texts)
    assert json.loads(book_of(ledger.path).read_text())["records"]


# Groups of secrets.


def promised(epsilon, gamma, delta=1e-6):
    one = Guarantee(epsilon, delta)
    return Statement(one, one, one, one, gamma, 0.0, ())


def test_a_group_by_hand():
    # Of 20 secrets 0.15 are 3: 3 * 0.5 = 1.5, and 3 e^1.5 1e-6 = 3 * 4.4816891 * 1e-6.
    # All 20: 20 * 0.5 = 10, and 20 e^10 1e-6 = 20 * 22026.466 * 1e-6.
    found = group_of(promised(0.5, 0.15), 20)
    assert (found.secrets, found.missed) == (20, 3)
    assert found.together.epsilon == pytest.approx(1.5)
    assert found.together.delta == pytest.approx(1.34450672e-5, rel=1e-8)
    assert found.all_missed.epsilon == 10.0
    assert found.all_missed.delta == pytest.approx(0.44052932, rel=1e-7)
    # Missed secrets are whole ones: 0.15 of 10 are two.
    assert group_of(promised(0.5, 0.15), 10).missed == 2
    assert group_of(promised(8.0, 0.0), 1000).together == Guarantee(0.0, 0.0)
    nothing = "secrets of private rows together, if redaction missed {}: nothing, for delta"
    lines = group_of(promised(8.0, 0.5), 4).lines()
    assert lines == tuple(f"4 {nothing.format(n)} would be 1 or more" for n in (2, 4))


@given(st.floats(0, 5), st.floats(0, 1), st.integers(1, 50))
def test_more_secrets_of_a_group_and_more_misses_never_cost_less(epsilon, gamma, secrets):
    found = group_of(promised(epsilon, gamma), secrets)
    larger = group_of(promised(epsilon, gamma), secrets + 1)
    assert found.missed >= gamma * secrets - 1e-6
    assert found.together.epsilon <= found.all_missed.epsilon
    assert found.together.delta <= found.all_missed.delta
    assert found.together.epsilon <= larger.together.epsilon * (1 + 1e-12)
    assert found.together.delta <= larger.together.delta * (1 + 1e-9)
    # One that was missed; the paper's delta of a group has e^epsilon even for one.
    one = group_of(promised(epsilon, gamma), 1)
    missed = (epsilon, math.exp(epsilon) * 1e-6) if gamma else (0, 0)
    assert (one.together.epsilon, one.together.delta) == pytest.approx(missed)


def test_the_ledger_shows_groups_that_are_asked_for(tmp_path, capsys):
    ledger = opened(tmp_path)
    spend(ledger, "a", of())

    def show(*words, path=ledger.path):
        code = run(["private", "budget", "show", str(path), *map(str, words)])
        return code, capsys.readouterr()

    secret = statement_of(ledger).secret
    _, said = show("--group", 2, "--group", 20)
    told = [line for line in said.out.splitlines() if "together, if" in line]
    assert len(told) == 4
    assert told[0] == (
        f"2 secrets of private rows together, if redaction missed 1: epsilon {secret.epsilon:.4g}, "
        f"delta {math.exp(secret.epsilon) * 1e-5:.3g}"
    )
    assert f"missed 3: epsilon {3 * secret.epsilon:.4g}, " in told[2]
    assert "together, if" not in show()[1].out
    code, said = show("--group", 20, "--format", "json")
    (group,) = json.loads(said.out)["confidentiality"]["groups"]
    assert (code, group["secrets"], group["missed"]) == (0, 20, 3)
    assert group["together"]["epsilon"] == pytest.approx(3 * secret.epsilon)
    assert group["together"]["delta"] == pytest.approx(3 * math.exp(3 * secret.epsilon) * 1e-5)
    assert group["all_missed"]["epsilon"] == pytest.approx(20 * secret.epsilon)
    # Without redacted rows nothing is promised.
    (tmp_path / "other").mkdir()
    code, said = show("--group", 2, path=opened(tmp_path / "other").path)
    assert code == 1
    assert "O014" in said.err
    book_of(ledger.path).unlink()
    assert "O004" in show("--group", 2)[1].err
    assert show("--group", 0)[0] == 2


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
    page = (ROOT / "docs" / "research" / "crt-amplification.svg").read_text(encoding="utf-8")
    assert page == amplification_svg()
