"""Derivations as trees and as text, drawn under wishes: the same as synthesis makes of them."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.rng import stream
from genie_dp.rows import from_json
from genie_dp.synthesis.engine import build_engine
from genie_dp.synthesis.function_draws import ANY, Drawer
from genie_dp.synthesis.trees import Alternatives, Joiner, TreeTexts, row_of, trees_of_pieces
from tests.private.evolution.evolution_grammar_setup import engine, engine_of, tiny
from tests.synthesis.synthesis_setup import text_of

NAMES = st.sampled_from(["tiny", "few", "sexpr"])
PLACES = st.integers(0, 900)
LAWS = settings(max_examples=30, deadline=None)


def tree_at(name, place):
    """Return the tree of the first draw from a place on that gives a row, and its cell."""
    made, joiner = engine(name), Joiner()
    for cell, pieces in made.plan.draws(place % made.plan.total, 50):
        children = trees_of_pieces(cell.rule, pieces, made.pools)
        found = joiner.join(cell.rule, children, is_root=True)
        assert (found is None) == (cell.wording.assemble(*pieces) is None)
        if found is not None:
            return found, cell, pieces
    raise AssertionError("50 draws without a row")


@LAWS
@given(name=NAMES, place=PLACES)
def test_a_tree_says_and_means_what_its_draw_does(name, place):
    tree, cell, pieces = tree_at(name, place)
    combined = cell.wording.assemble(*pieces)
    assert tree.piece.text == combined.text
    assert tree.piece.value.text == combined.value.text
    assert tree.piece.slots == combined.slots
    assert tree.piece.derivation == combined.derivation
    assert tree.depth == cell.depth


def test_rows_of_trees_are_those_of_synthesis():
    made, joiner = engine("few"), Joiner()
    rows = {row.id: row for row in map(from_json, text_of(made, limit=300).splitlines())}
    for place, (cell, pieces) in enumerate(made.plan.draws(0, 300)):
        tree = joiner.join(cell.rule, trees_of_pieces(cell.rule, pieces, made.pools), is_root=True)
        written = rows.get(f"S{place}")
        if tree is not None and written is not None:
            row = row_of(tree, made.compiled)
            for field in ("utterance", "program", "functions", "derivation", "depth", "slots"):
                assert getattr(row, field) == getattr(written, field)
    assert len(rows) > 200


@LAWS
@given(name=NAMES, place=PLACES)
def test_a_tree_can_be_written_and_read(name, place):
    made, joiner = engine(name), Joiner()
    tree = tree_at(name, place)[0]
    texts = TreeTexts(made.compiled, made.pools, joiner)
    copy = texts.read(texts.text(tree))
    assert texts.text(copy) == texts.text(tree)
    assert row_of(copy, made.compiled) == row_of(tree, made.compiled)


def test_an_engine_built_again_reads_the_texts_of_the_first():
    one, other = engine("tiny"), engine_of(tiny())
    for place in range(40):
        tree = tree_at("tiny", place)[0]
        text = TreeTexts(one.compiled, one.pools, Joiner()).text(tree)
        copy = TreeTexts(other.compiled, other.pools, Joiner()).read(text)
        assert row_of(copy, other.compiled) == row_of(tree, one.compiled)


@LAWS
@given(name=NAMES, place=PLACES, data=st.data())
def test_what_replaces_a_part_by_itself_gives_the_same(name, place, data):
    made, joiner = engine(name), Joiner()
    tree = tree_at(name, place)[0]
    path, part = data.draw(st.sampled_from(list(tree.parts())))
    again = joiner.replace_part(tree, path, part)
    assert again is not None
    assert row_of(again, made.compiled) == row_of(tree, made.compiled)


@LAWS
@given(name=NAMES, place=PLACES, seed=st.integers(0, 99))
def test_other_words_and_other_rules_keep_the_program(name, place, seed):
    made, joiner, rng = engine(name), Joiner(), stream(seed, "test")
    tree = tree_at(name, place)[0]
    alternatives = Alternatives(made.compiled, made.pools, joiner)
    for path, part in tree.parts():
        for move in (alternatives.reword, alternatives.other_rule):
            found = move(tree, path, rng)
            if found is not None:
                assert found.piece.value.text == part.piece.value.text
        other = alternatives.other_value(tree, path, rng)
        if other is not None:
            assert other.piece.value.text != part.piece.value.text
            assert other.piece.value.functions == part.piece.value.functions


@LAWS
@given(name=NAMES, place=PLACES, seed=st.integers(0, 99))
def test_a_wish_is_met_exactly(name, place, seed):
    functions = frozenset(tree_at(name, place)[0].piece.value.functions)
    if len(functions) > 3:
        return
    drawer = Drawer(engine(name))
    cell, pieces = drawer.draw(functions, stream(seed, "test"))
    combined = cell.wording.assemble(*pieces)
    assert combined is None or frozenset(combined.value.functions) == functions


def test_the_cells_of_all_wishes_are_all_cells():
    drawer = Drawer(engine("tiny"))
    met: Counter[int] = Counter()
    wishes = set()
    for cell in drawer.cells:
        for pieces in zip(*cell.lists, strict=False):
            combined = cell.wording.assemble(*pieces)
            if combined is not None:
                wishes.add(frozenset(combined.value.functions))
    for wish in wishes:
        met.update(drawer.chances(wish).cells.tolist())
    assert set(drawer.chances(ANY).cells.tolist()) - set(met) == set()


def test_nothing_meets_the_wish_for_a_function_that_is_not_there():
    assert Drawer(engine("tiny")).draw(frozenset({"@com.example.no.such"}), stream(0, "t")) is None


def test_origins_change_no_row():
    made = engine("tiny")
    assert made.pools.origins
    plain = build_engine(made.compiled, made.config)
    assert plain.pools.origins is None
    assert text_of(plain, limit=200) == text_of(made, limit=200)
