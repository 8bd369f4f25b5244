"""What differs between data sets: nothing of a set and itself; one lost what the other gained."""

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.dataset.diff import compare, is_same, side_of, spread
from genie_dp.errors import GenieError
from tests.dataset.dataset_rows import LAMP, MAIL, SHOP, row, write

OLD = [
    row("S1", "list orders"),
    row("S2", "list orders"),
    row("S3", "dim it", f"now => {LAMP}"),
    row("S4", "dim it to 5", f"now => {LAMP} param:n:Number = 5"),
    row("S5", "dim it to 6", f"now => {LAMP} param:n:Number = 6", source="human", depth=2),
]
NEW = [
    row("N1", "dim it to 5", f"now => {LAMP} param:level:Number = 5"),
    row("N2", "list orders"),
    row("N3", "dim it", f"now => {LAMP}"),
    row("N4", "mail it", f"now => {MAIL}", source="paraphrase"),
    row("N5", "mail it", f"monitor ( {SHOP} ) => {MAIL}"),
]
WORDS = st.sampled_from(["a", "b", "c d", "c d e"])
PROGRAMS = st.sampled_from([f"now => {SHOP}", f"now => {LAMP}", f"monitor ( {SHOP} ) => {LAMP}"])
SOURCES = st.sampled_from(["synthetic", "human"])
SETS = st.lists(st.tuples(WORDS, PROGRAMS, SOURCES, st.integers(0, 2)), max_size=8)


def made(drawn):
    return [
        row(f"S{n}", words, program, source=source, depth=depth)
        for n, (words, program, source, depth) in enumerate(drawn)
    ]


def compared(folder, old, new, **more):
    sides = [
        side_of(str(write(folder / f"{name}.jsonl", rows)))
        for name, rows in (("old", old), ("new", new))
    ]
    for side in sides:
        side.count(progress=False)
    return compare(*sides, **more)


def swapped(told):
    """Return what is told, with the sides in each other's place."""
    if isinstance(told, list):
        return [swapped(item) for item in told]
    if not isinstance(told, dict):
        return told
    names = {"old": "new", "new": "old", "old_share": "new_share", "new_share": "old_share"}
    return {names.get(name, name): swapped(value) for name, value in told.items()}


@given(drawn=SETS)
def test_a_set_differs_from_itself_in_nothing(tmp_path_factory, drawn):
    rows = made(drawn)
    told = compared(tmp_path_factory.mktemp("same"), rows, rows[::-1])
    assert is_same(told)
    assert told["changed"] == []
    assert told["rows"]["same"] == len(rows)
    assert told["only_sentences"] == told["only_programs"] == {"old": [], "new": []}
    assert all(spread(told[name]) == 0 for name in ("functions", "sources", "depth", "length"))


@given(old=SETS, new=SETS)
def test_each_side_lost_what_the_other_gained(tmp_path_factory, old, new):
    folder = tmp_path_factory.mktemp("swap")
    told = compared(folder, made(old), made(new))
    assert compared(folder, made(new), made(old)) == swapped(told)
    assert told["rows"]["same"] == sum(
        min(pairs.count(pair), others.count(pair))
        for pairs, others in [([d[:2] for d in old], [d[:2] for d in new])]
        for pair in set(pairs)
    )


@given(old=SETS, new=SETS, seed=st.integers(0, 9))
def test_neither_order_nor_ids_count(tmp_path_factory, old, new, seed):
    folder = tmp_path_factory.mktemp("order")
    told = compared(folder, made(old), made(new), shown=2)
    others = [replace(one, id=f"X{one.id}") for one in made(new)]
    random.Random(seed).shuffle(others)
    assert compared(folder, made(old)[::-1], others, shown=2) == told


def test_spread_is_the_share_of_rows_that_would_have_to_move():
    assert spread([]) == 0
    assert spread([{"old": 5, "new": 0}, {"old": 0, "new": 2}]) == 1
    assert spread([{"old": 1, "new": 10}, {"old": 1, "new": 30}]) == pytest.approx(0.25)


def test_files_that_change_while_they_are_read_are_told(tmp_path):
    old, new = write(tmp_path / "a.jsonl", OLD), write(tmp_path / "b.jsonl", NEW)
    sides = (side_of(str(old)), side_of(str(new)))
    for side in sides:
        side.count(progress=False)
    write(old, OLD[1:])
    with pytest.raises(GenieError, match="D004"):
        compare(*sides)
