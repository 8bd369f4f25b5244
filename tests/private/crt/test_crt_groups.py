"""What is promised of several secrets together, and how `budget show --group` tells it."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dp_accounting")

from genie_dp.cli import run
from genie_dp.private.crt.accounting import Guarantee
from genie_dp.private.crt.statements import (
    MissRate,
    Record,
    Redaction,
    Statement,
    book_of,
    group_of,
    keep_record,
    statement_of,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian

ON = "200 rows labelled by hand"


def promised(epsilon: float, gamma: float, delta: float = 1e-6) -> Statement:
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


def test_missed_secrets_are_whole_ones():
    # 0.15 of 10 are one and a half: 2 * 0.5 = 1, and 2 e 1e-6.
    found = group_of(promised(0.5, 0.15), 10)
    assert found.missed == 2
    assert found.together.epsilon == 1.0
    assert found.together.delta == pytest.approx(2 * math.e * 1e-6)


def test_a_delta_of_one_is_said_to_promise_nothing():
    found = group_of(promised(8.0, 0.5), 4)
    assert found.together.delta > 1
    assert found.lines() == (
        "4 secrets of private rows together, if redaction missed 2: nothing, for delta would be "
        "1 or more",
        "4 secrets of private rows together, if redaction missed 4: nothing, for delta would be "
        "1 or more",
    )


def test_what_redaction_never_misses_leaks_nothing():
    assert group_of(promised(8.0, 0.0), 1000).together == Guarantee(0.0, 0.0)


@given(st.floats(0, 5), st.floats(0, 1), st.integers(1, 50))
def test_more_secrets_and_more_misses_never_cost_less(epsilon, gamma, secrets):
    found = group_of(promised(epsilon, gamma), secrets)
    larger = group_of(promised(epsilon, gamma), secrets + 1)
    assert found.missed >= gamma * secrets - 1e-6
    assert found.together.epsilon <= found.all_missed.epsilon
    assert found.together.delta <= found.all_missed.delta
    assert found.together.epsilon <= larger.together.epsilon * (1 + 1e-12)
    assert found.together.delta <= larger.together.delta * (1 + 1e-9)


@given(st.floats(0, 5), st.floats(0, 1, exclude_min=True))
def test_a_group_of_one_that_was_missed_is_one_secret(epsilon, gamma):
    found = group_of(promised(epsilon, gamma), 1)
    assert found.together.epsilon == epsilon
    # The paper's delta of a group has e^epsilon even for one.
    assert found.together.delta == pytest.approx(math.exp(epsilon) * 1e-6)


# ------------------------------------------------------------------------------ the command


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    made = Ledger.create(tmp_path / "rows.ledger.json", Budget(50.0, 1e-5, "utterance"))
    shares = MissRate(0.1, 0.06, 0.15, ON), MissRate(0.0, 0.0, 0.01, ON)
    one = Record("a", Redaction("x", *shares, "recorded"))
    keep_record(made.path, one)
    made.spend([Gaussian(10.0)], purpose=f"language model{one.mark}", run="a")
    return made


def show(ledger: Ledger, *words: object) -> int:
    return run(["private", "budget", "show", str(ledger.path), *map(str, words)])


def test_the_ledger_shows_groups_that_are_asked_for(ledger, capsys):
    secret = statement_of(ledger).secret
    assert show(ledger, "--group", 2, "--group", 20) == 0
    told = [line for line in capsys.readouterr().out.splitlines() if "together, if" in line]
    assert len(told) == 4
    assert told[0] == (
        f"2 secrets of private rows together, if redaction missed 1: epsilon {secret.epsilon:.4g}, "
        f"delta {math.exp(secret.epsilon) * 1e-5:.3g}"
    )
    assert f"missed 3: epsilon {3 * secret.epsilon:.4g}, " in told[2]
    assert show(ledger) == 0
    assert "together, if" not in capsys.readouterr().out


def test_groups_are_in_the_json(ledger, capsys):
    assert show(ledger, "--group", 20, "--format", "json") == 0
    (group,) = json.loads(capsys.readouterr().out)["confidentiality"]["groups"]
    epsilon = statement_of(ledger).secret.epsilon
    assert (group["secrets"], group["missed"]) == (20, 3)
    assert group["together"]["epsilon"] == pytest.approx(3 * epsilon)
    assert group["together"]["delta"] == pytest.approx(3 * math.exp(3 * epsilon) * 1e-5)
    assert group["all_missed"]["epsilon"] == pytest.approx(20 * epsilon)


def test_without_redacted_rows_nothing_is_promised_of_groups(tmp_path, ledger, capsys):
    other = Ledger.create(tmp_path / "other.ledger.json", Budget(5.0, 1e-5, "utterance"))
    assert show(other, "--group", 2) == 1
    assert "O014" in capsys.readouterr().err
    book_of(ledger.path).unlink()
    assert show(ledger, "--group", 2) == 1
    assert "O004" in capsys.readouterr().err
    assert show(ledger, "--group", 0) == 2
