"""Control codes: names are public, counts are noisy, and a unit moves them by at most 1."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("torch")

from genie_dp.errors import GenieError
from genie_dp.private.generators.codes import OTHER, Codes, release_codes
from genie_dp.private.secure import _seeded

CODES = Codes(("@a.f", "@a.f @a.g", "@a.g", "@b.h"))
FUNCTIONS = st.lists(st.sampled_from(["@a.f", "@a.g", "@b.h", "@c.private"]), max_size=5)


def seeded(seed, *release):
    """Return a release whose noise comes from a seed."""
    with _seeded(seed):
        return release_codes(*release)


@given(FUNCTIONS, st.booleans())
def test_a_code_is_a_public_one_whatever_the_program(functions, is_exact):
    codes = Codes(CODES.names, is_exact=is_exact)
    assert codes.find_code(Counter(functions)) in {*CODES.names, OTHER}


@pytest.mark.parametrize(
    ("functions", "code"),
    [
        (["@a.f"], "@a.f"),
        (["@a.f", "@a.g", "@b.h"], "@a.f @a.g"),
        (["@b.h", "@b.h", "@a.g"], "@b.h"),
        (["@c.private"], OTHER),
        ([], OTHER),
    ],
)
def test_the_most_specific_code_is_taken(functions, code):
    assert CODES.find_code(Counter(functions)) == code


def test_the_noise_is_as_wide_as_the_ledger_says():
    codes = Codes(tuple(f"@x.f{i}" for i in range(400)))
    units = [[name] for name in codes.names for _ in range(250)]
    found = np.array(seeded(1, codes, units, 25.0))[:-1]
    assert 23 < found.std() < 27
    assert abs(found.mean() - 250) < 5


def test_a_unit_counts_once_however_many_rows_it_has():
    found = seeded(1, CODES, [["@a.f"] * 50] * 1000, 1.0)
    assert 990 < found[0] < 1010
    assert found[1:] == (0.0,) * 4
    assert seeded(3, CODES, [], 0.001) == (1.0,) * 5  # nothing stands out
    # Without a seed noise differs.
    assert len({release_codes(CODES, [["@a.f"]] * 1000, 100.0)[0] for _ in range(5)}) > 1


@pytest.mark.parametrize("names", [("@a.f", "@a.f"), ("",), ("@a.f  @a.g",), (OTHER,)])
def test_codes_that_are_none_are_refused(names):
    with pytest.raises(GenieError, match="H006"):
        Codes(names)
