"""Laws of how rows are shared out among cells."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import genie_dp as gd
from genie_dp.synthesis.compiler import compile_inputs
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.plan import even, fill
from tests.synthesis.synthesis_setup import engine

cells = st.lists(
    st.tuples(st.floats(0.01, 100), st.integers(0, 50)), min_size=1, max_size=30
).filter(lambda found: any(size for _, size in found))
seeds = st.integers(0, 2**64 - 1)


@given(cells, st.integers(0, 2000), seeds)
def test_quotas_sum_to_the_total_and_fit_their_cells(found, total, seed):
    weights, sizes = (np.array(column, float) for column in zip(*found, strict=True))
    quotas = fill(total, weights, sizes, seed)
    assert quotas.sum() == min(total, sizes.sum())
    assert (quotas >= 0).all()
    assert (quotas <= sizes).all()


@given(cells, st.integers(0, 100), seeds, seeds)
def test_seeds_differ_by_a_row_in_each_cell_at_most(found, total, one, other):
    weights, sizes = (np.array(column, float) for column in zip(*found, strict=True))
    apart = np.abs(fill(total, weights, sizes, one) - fill(total, weights, sizes, other))
    assert apart.max() <= 1


def test_of_more_cells_than_rows_each_is_chosen_as_often_as_its_weight_says():
    weights = np.array([1.0, 2.0, 3.0, 4.0] * 25)
    room = np.full(100, 1000.0)
    drawn = sum(fill(20, weights, room, seed * 0x9E3779B97F4A7C15) for seed in range(2000))
    # 20 of 250 for each unit of weight; a standard deviation is 0.006 where that is one.
    assert np.abs(drawn / 2000 / weights - 0.08).max() < 0.03


def test_equal_shares_do_not_keep_step_with_the_order_of_cells():
    quotas = even(50, [9] * 100, 12345)
    assert 10 < quotas[::2].sum() < 40


@pytest.mark.slow
def test_with_another_seed_a_short_run_draws_from_other_cells():
    drawn = [set(engine(size=50, max_depth=1, pool_size=50, seed=s).plan.places) for s in (0, 1)]
    assert len(drawn[0] - drawn[1]) > 40


ROOMS = [f"room{i}" for i in range(300)]
ALLOVER = ("in", "at", "across"), ("the", "my", "our"), ("entire", "whole"), ("home", "flat")
ALTERNATIVES = (
    "everywhere", "lights in the room", "lights in room", "dim all", "shine", "glow", "flat",
    *(f" {word} " for part in ALLOVER for word in part if word != "flat" and word != "home"),
)  # fmt: skip


@pytest.fixture(scope="module", params=["words", "rules"])
def lights(request, tmp_path_factory):
    """Return templates some of whose alternatives are one sentence, and others hundreds."""
    folder = tmp_path_factory.mktemp("lights")
    place = " ".join("({})".format(" | ".join(map(repr, part))) for part in ALLOVER)
    words = ""
    if request.param == "words":  # else alternatives are multiplied out
        words, place = f"category all_over : words;\nall_over := {place};\n", "all_over"
    rooms = "".join(f"ROOM := '{room}' -> {room};\n" for room in ROOMS)
    (folder / "main.genie").write_text(
        f"category COMMAND : program root;\ncategory ROOM : value;\n{words}{rooms}"
        f"COMMAND := 'lights' ('everywhere' | {place}) -> lights();\n"
        "COMMAND := 'lights in' ('the')? r:ROOM -> lights(room = r);\n"
        "COMMAND := ('shine' | 'glow') ('in')? r:ROOM -> lights(room = r);\n"
        "COMMAND := 'dim all' -> lights();\n"
    )
    tool = {"name": "lights", "parameters": {"properties": {"room": {"enum": ROOMS}}}}
    (folder / "tools.json").write_text(json.dumps({"tools": [tool]}))
    return gd.load_grammar(folder / "main.genie", gd.load_library(folder / "tools.json"))


@pytest.mark.parametrize("size", [150, 300])
@pytest.mark.parametrize("seed", range(4))
def test_every_alternative_is_drawn_where_the_size_allows(lights, size, seed):
    rows = list(gd.synthesize(lights.library, lights, size=size, seed=seed))
    assert len(rows) == size
    assert len({row.utterance for row in rows}) == size
    said = "\n".join(f" {row.utterance} " for row in rows)
    assert [word for word in ALTERNATIVES if word not in said] == []


@pytest.mark.parametrize("size", [7, 40, 5_000])
def test_words_that_take_turns_come_in_every_combination_once(lights, size):
    config = SynthesisConfig(size=size, max_depth=2)
    plan = build_engine(compile_inputs(lights), config).plan
    drawn = [(id(cell.rule), *map(id, pieces)) for cell, pieces in plan.draws(0, plan.total)]
    assert len(set(drawn)) == len(drawn) == plan.total
    ends = [*range(0, plan.total, 17), plan.total]
    parts = [x for a, b in zip(ends, ends[1:], strict=False) for x in plan.draws(a, b - a)]
    assert [(id(cell.rule), *map(id, pieces)) for cell, pieces in parts] == drawn
    assert sum(plan.count_cells(plan.total)) == plan.total
