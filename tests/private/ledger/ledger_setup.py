"""Ledgers for tests, and what is said of them."""

import pytest

from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, PoissonGaussian

BUDGET = Budget(1.0, 1e-6, "user", cap=20)
CHEAP = (Laplace(20.0),)  # epsilon 0.05


def new_ledger(folder):
    return Ledger.create(folder / "rows.ledger.json", BUDGET)


def ledger_of_three(folder):
    """Return a ledger with three entries, the second of two mechanisms."""
    ledger = new_ledger(folder)
    ledger.spend(CHEAP, purpose="programs", run="a")
    ledger.spend([Gaussian(50.0), PoissonGaussian(5.0, 0.01, 10)], purpose="votes", run="b")
    ledger.spend(CHEAP, purpose="counts", run="c")
    return ledger


def head_of(ledger):
    return ledger.path.with_suffix(".head")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def codes(path):
    """Return the codes of what opening says."""
    with pytest.raises(GenieError) as error:
        Ledger.open(path)
    return [problem.code for problem in error.value.problems]


def messages(path):
    with pytest.raises(GenieError) as error:
        Ledger.open(path)
    return str(error.value)
