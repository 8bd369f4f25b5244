"""Which synthesized sentences are chosen for paraphrasing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.types import STRING, Entity
from genie_dp.paraphrase.config import SelectConfig, SelectionRate
from genie_dp.paraphrase.select import (
    REASONS,
    Relatedness,
    SelectionRules,
    find_passed_values,
    select,
    sort_of,
)
from genie_dp.records import Example

QUERIES = [f"@com.q{n}.get" for n in range(4)]
ACTIONS = [f"@com.a{n}.do" for n in range(4)]
RULES = SelectionRules(
    kind=lambda name: "action" if name.startswith("@com.a") else "query",
    is_easy=lambda name: name in ("@com.q0.get", "@com.a0.do"),
    is_hard=lambda name: name in ("@com.q3.get", "@com.a3.do"),
)
ALL = SelectionRate(10_000)
EVERYTHING = SelectConfig(ALL, ALL, ALL, ALL, ALL, ALL, max_words=None)


def rows_of(functions, count, start=0):
    names = tuple(functions)
    rows = range(start, start + count)
    return [Example(f"S{n}-{'-'.join(names)}", f"say {n} {names}", f"p{n}", functions=names)
            for n in rows]  # fmt: skip


def chosen(rows, config=None, rules=RULES):
    return select(rows, rules, config or SelectConfig())


@pytest.mark.parametrize(
    ("functions", "sort", "count"),
    [
        (["@com.q1.get"], "query", 50),
        (["@com.a1.do"], "action", 20),
        (["@com.q0.get", "@com.a0.do"], "easy-pair", 10),
        (["@com.q1.get", "@com.a0.do"], "mixed-pair", 1),
        (["@com.q0.get", "@com.a3.do"], "mixed-pair", 1),
    ],
)
def test_the_default_rates_are_those_of_the_paper(functions, sort, count):
    assert sort_of(tuple(functions), RULES) == sort
    assert len(chosen(rows_of(functions, 80)).rows) == count


def test_a_share_of_other_pairs_and_triples_gives_one_sentence_each():
    pairs = [[f"@com.q1.f{i}", f"@com.a1.f{j}"] for i in range(30) for j in range(30)]
    triples = [[*pair, "@com.a2.do"] for pair in pairs]
    for groups, share in ((pairs, 0.05), (triples, 0.10)):
        found = chosen([row for group in groups for row in rows_of(group, 3)])
        signatures = {row.functions for row in found.rows}
        assert len(signatures) == len(found.rows)
        assert share * 0.5 < len(found.rows) / len(groups) < share * 1.5


def test_a_hard_function_stands_beside_an_easy_one_or_alone():
    hard, easy, other = "@com.a3.do", "@com.q0.get", "@com.q1.get"
    rows = rows_of([other, hard], 3) + rows_of([easy, hard], 3, 10) + rows_of([hard], 3, 20)
    found = chosen(rows, EVERYTHING)
    assert {row.functions for row in found.rows} == {(easy, hard), (hard,)}
    assert found.left_out["hard"] == 3


@given(st.permutations(range(40)), st.integers(0, 5))
def test_the_choice_does_not_depend_on_the_order_of_the_rows(order, seed):
    rows = rows_of(["@com.q1.get"], 20) + rows_of(["@com.a1.do"], 10) + rows_of(QUERIES[:2], 10)
    config = SelectConfig(
        query=SelectionRate(7), action=SelectionRate(3), mixed_pair=SelectionRate(2), seed=seed
    )
    found, other = chosen(rows, config), chosen([rows[i] for i in order], config)
    assert found.rows == other.rows
    assert found.left_out == other.left_out
    assert len(found.rows) == 12


@given(st.lists(st.sampled_from(QUERIES + ACTIONS), min_size=1, max_size=3), st.integers(1, 9))
def test_every_row_is_chosen_or_left_out_for_one_reason(functions, count):
    rows = rows_of(functions, count) * 2
    found = chosen(rows)
    signed = found.signatures[tuple(functions)]
    assert signed.rows == 2 * count == signed.chosen + signed.left_out.total()
    assert set(signed.left_out) <= set(REASONS)
    assert len({row.id for row in found.rows}) == len(found.rows)


def test_another_seed_chooses_other_rows_and_of_equal_ones_the_least_id():
    rows = rows_of(["@com.q1.get"], 200)
    one, two = (chosen(rows, SelectConfig(seed=seed)).rows for seed in (1, 2))
    assert {row.id for row in one} != {row.id for row in two}
    twins = [Example(id, "list files", "p", functions=("@com.q1.get",)) for id in ("B", "A", "C")]
    assert [row.id for row in chosen(twins).rows] == ["A"]


def test_long_sentences_and_left_out_functions_stay_out():
    rows = [Example("S1", "a b c d", "p", functions=("@com.q1.get",))]
    assert not chosen(rows, SelectConfig(max_words=3)).rows
    assert chosen(rows, SelectConfig(max_words=4)).rows
    assert not chosen(rows, rules=SelectionRules(takes_function=lambda name: False)).rows


def test_rates_that_make_no_sense_are_refused():
    for wrong in ((-1, 1.0), (1, 1.5)):
        with pytest.raises(ValueError, match="expected count"):
            SelectionRate(*wrong)


# ----------------------------------------------------------------------------- relatedness


def signature(name, *parameters):
    class_name, _, function = name.removeprefix("@").rpartition(".")
    return Signature(class_name, function, "query", parameters)


def entity(kind, name="x", direction="out"):
    return Parameter(name, direction, Entity(kind))


FUNCTIONS = {
    s.qualified: s
    for s in [
        signature("@a.files", entity("tt:url", "link"), Parameter("name", "out", STRING)),
        signature("@a.send", entity("tt:url", "link", "in req")),
        signature("@b.eat", entity("tt:restaurant")),
        signature("@c.book", entity("tt:restaurant")),
        *(signature(f"@d{n}.f", entity("tt:url", "link")) for n in range(20)),
    ]
}


PASSED = "now => @a.files => @b.eat on param:x:String = param:name:String"


@pytest.mark.parametrize(
    ("names", "program", "expected"),
    [
        ("@a.files", "", True),
        ("@a.files @a.send", "", True),
        ("@b.eat @c.book", "", True),
        ("@a.files @d1.f", "", False),
        ("@a.files @b.eat", "", False),
        ("@a.files @b.eat", PASSED, True),
        ("@a.files @a.send @b.eat", "", False),
        ("@a.files @b.eat @c.book", f"{PASSED} => @c.book", True),
        ("@unknown.f @unknown.g", "", True),
        ("@unknown.f @other.g", "", False),
    ],
)
def test_functions_hang_together_by_skill_value_or_rare_entity(names, program, expected):
    assert Relatedness(FUNCTIONS).are_related(names.split(), program) is expected


def test_categories_and_common_ancestors_relate():
    categories = {"a": frozenset({"work"}), "@b.eat": frozenset({"work"})}
    assert Relatedness(FUNCTIONS, categories=categories).are_related(["@a.files", "@b.eat"], "")
    lineages = {"a": ("base",), "b": ("base",)}
    assert Relatedness(FUNCTIONS, lineages).are_related(["@a.files", "@b.eat"], "")


def test_a_value_comes_from_the_nearest_function_that_has_it_and_never_by_comparison():
    program = "@a.files => @b.eat => @c.book on param:x:String = param:name:String"
    assert find_passed_values(program, FUNCTIONS) == {frozenset(("@a.files", "@c.book"))}
    program = "( ( @a.files ) filter param:x:Number == param:y:Number ) join ( @b.eat )"
    assert find_passed_values(program, FUNCTIONS) == frozenset()


# ---------------------------------------------------------------------------- command line
