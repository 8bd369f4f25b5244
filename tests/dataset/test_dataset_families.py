"""Families and groups found by arrays are those that the plain definitions give."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.dataset import families as module
from genie_dp.dataset.families import Tangled, components, numbers_of, roots

rows = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12)), min_size=1, max_size=40)


def array(numbers):
    return np.array(list(numbers), np.uint64)


@pytest.fixture(autouse=True, params=[2, 1 << 16], ids=["small pieces", "one piece"])
def _pieces(request, monkeypatch):
    monkeypatch.setattr(module, "_PIECE", request.param)


def walked(parent, start):
    """Return the end of the chain of parents, or None in a circle."""
    met = {start}
    while parent.get(start, start) != start:
        start = parent[start]
        if start in met:
            return None
        met.add(start)
    return start


@given(st.dictionaries(st.integers(0, 30), st.integers(0, 30), min_size=1))
def test_roots_are_the_ends_of_chains(parent):
    ends = {one: walked(parent, one) for one in parent}
    ids, parents = array(parent), array(parent.values())
    if None in ends.values():
        with pytest.raises(Tangled) as caught:
            roots(ids, parents)
        assert caught.value.code == "D002"
        circling = {one for one, end in ends.items() if end is None}
        assert caught.value.ids <= circling
    else:
        assert roots(ids, parents).tolist() == list(ends.values())


@given(rows)
def test_components_are_what_either_relation_links(pairs):
    labels = array(range(100, 100 + len(pairs)))
    found = components(labels, [numbers_of(array(column)) for column in zip(*pairs, strict=True)])
    group = list(range(len(pairs)))
    for _ in pairs:  # the plain way: as often as a chain may be long
        for i, one in enumerate(pairs):
            for j, other in enumerate(pairs):
                if one[0] == other[0] or one[1] == other[1]:
                    group[i] = group[j] = min(group[i], group[j])
    assert found.tolist() == [100 + place for place in group]
