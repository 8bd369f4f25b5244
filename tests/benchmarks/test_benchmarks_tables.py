"""What the benchmark of tables calls kept: 1 for the same dependence, 0 for none."""

import numpy as np
import pytest
import tables
from hypothesis import given
from hypothesis import strategies as st

from tests.private.tables.tables_setup import distribution


@given(st.integers(0, 1000), st.floats(0, 1))
def test_of_a_mixture_with_independent_columns_its_part_is_kept(seed, part):
    exact = distribution((3, 4), seed)
    apart = exact.sum(axis=1, keepdims=True) * exact.sum(axis=0, keepdims=True)
    assert tables.kept(exact, part * exact + (1 - part) * apart) == pytest.approx(part)


def test_a_dependence_the_other_way_round_is_less_than_none():
    exact = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert tables.kept(exact, exact[::-1]) == pytest.approx(-1)


def test_the_planted_dependences_are_there_and_no_others():
    world = tables.planted(3000)
    exact = tables.records_of(world.schema, world.units)
    assert world.schema.domain == (8, 8, 4, 10, 2)
    for pair in tables.pairs(5):
        strong = tables.dependence(tables._share(exact, pair)) > 0.15
        # a leads to c through b.
        assert strong == (pair in {*world.planted, (0, 2)})


def test_the_tables_are_printed(capsys, monkeypatch):
    monkeypatch.setattr(tables, "EPSILONS", (1.0,))
    small = tables.planted(300)
    monkeypatch.setattr(tables, "planted", lambda: small)
    tables.main(["--only", "planted", "--seeds", "1"])
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("planted: 300 rows, 8, 8, 4, 10, 2 values, 5,120 cells")
    assert said[4].startswith("| 1 | 0.")
