"""Template bodies: what they build is what the tree of the same program would give."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.canonical import canonical, functions
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.languages.sexpr.text import from_tokens, parse, parse_all, render, tokens

LANGUAGE = get_language("sexpr")
CAKES = read_declarations(
    "unordered ORDER; set CAKE; apply call;"
    "node ORDER = (CAKE)*; node CAKE = (NUMBER) (SIZE)? (TOPPING)* (NOT)*; node SIZE = BIG | SMALL;"
    "node NUMBER = Number; node TOPPING = Atom | String; node NOT = (TOPPING); node call = Any*;"
)
BAG = read_declarations("unordered B; set S; apply call;")

leaves = st.sampled_from(["Zoo", "ant", '"a b"', "3", "NUMBER_0", "NUMBER_1", "QUOTED_STRING_0"])
trees = st.recursive(
    leaves,
    lambda inner: st.builds(
        lambda label, items: f"({' '.join([label, *items])})",
        st.sampled_from(["A", "B", "call"]),
        st.lists(inner, max_size=3),
    ),
    max_leaves=8,
)
BODIES = [
    "(B x y)",
    "(A (B y x) x)",
    "x y",
    "(B (B x ant) y (A y) \"a b\")",
    "(call x y)",
    "(^(T) B y x)",
    "#(L x y)",
    "(A (B x y Zoo NUMBER_0))",
]  # fmt: skip


def built(body, declarations, **children):
    """Return the value of a body whose children are given as texts."""
    holes = {name: "program" for name in children}
    values = {
        name: LANGUAGE.bodies.compile(text, {}, declarations).build({})
        for name, text in children.items()
    }
    return LANGUAGE.bodies.compile(body, holes, declarations).build(values)


def written(body, declarations, **children):
    """Return token form and functions of the same, by way of its text and tree."""
    for name in children:
        body = body.replace(name, f"<{name}>")
    for name, text in children.items():
        body = body.replace(f"<{name}>", text)
    found = [canonical(each, declarations) for each in parse_all(body)]
    used = [name for each in found for name in functions(each, declarations).elements()]
    return " ".join(tokens(each) for each in found), sorted(used)


@given(st.sampled_from(BODIES), trees, trees)
def test_a_body_builds_the_canonical_program_of_its_text(body, x, y):
    value = built(body, BAG, x=x, y=y)
    assert (value.text, sorted(value.functions)) == written(body, BAG, x=x, y=y)
    several = {"x": f"{x} {y}", "y": y}  # are spliced in
    assert built(body, BAG, **several).text == written(body, BAG, **several)[0]


@given(st.lists(st.sampled_from(["n", "m", "q", "(A n)", "k"])))
def test_renaming_sorts_anew(items):
    text = f"(B {' '.join(items)} (B n m))"
    parameters = r"\(n : Number, m : Number, q : String, k : Number) -> "
    fragment = LANGUAGE.bodies.compile(parameters + text, {}, BAG)
    first = {name: constant(type_) for name, type_ in fragment.parameters}
    first["m"] = first["m"].shift([("NUMBER_0", "NUMBER_11")])
    first["k"] = first["k"].shift([("NUMBER_0", "NUMBER_9")])
    value = fragment.build(first)
    names = [("NUMBER_9", "NUMBER_12"), ("NUMBER_11", "NUMBER_2"), ("NUMBER_0", "NUMBER_1")]
    renamed = value.text
    for old, new in names:
        renamed = " ".join(new if token == old else token for token in renamed.split(" "))
    assert value.shift(names).text == tokens(canonical(from_tokens(renamed), BAG))
    assert value.shift([("NUMBER_4", "NUMBER_5")]) is value


def constant(type_):
    [found] = LANGUAGE.bodies.constants(type_)
    return found.value


def test_private_characters_sort_as_the_placeholders_they_stand_for():
    fragment = LANGUAGE.bodies.compile(
        r"\(n : Number, m : Number, q : String) -> (B q m zebra n Zoo (A n))", {}, BAG
    )
    plain = {name: constant(type_) for name, type_ in fragment.parameters}
    plain["m"] = plain["m"].shift([("NUMBER_0", "NUMBER_1")])
    # The engine may give a string a lower character than a number.
    names = [("NUMBER_0", "\ue015"), ("NUMBER_1", "\ue016"), ("QUOTED_STRING_0", "\ue003")]
    private = fragment.build({name: value.shift(names) for name, value in plain.items()})
    text = private.text
    for old, new in names:
        text = text.replace(new, old)
    assert text == fragment.build(plain).text
    assert text == tokens(canonical(from_tokens(text), BAG))


def test_a_constant_says_what_it_fills():
    fragment = LANGUAGE.bodies.compile(r"\(t : String) -> (CAKE (NUMBER 1) (TOPPING t))", {}, CAKES)
    [name_type] = fragment.parameters
    value = fragment.build({"t": constant(name_type[1])})
    assert fragment.fills == {"t": "TOPPING"}
    assert value.slots == (("QUOTED_STRING_0", "String", "TOPPING"),)
    assert value.text == "( CAKE ( NUMBER 1 ) ( TOPPING QUOTED_STRING_0 ) )"


@pytest.mark.parametrize(
    ("body", "children"),
    [
        ("(CAKE (NUMBER 1) x y)", {"x": "(TOPPING KIWI)", "y": "(TOPPING KIWI)"}),
        ("(CAKE (NUMBER 1) x y)", {"x": "(SIZE BIG)", "y": "(SIZE SMALL)"}),
        ("(CAKE x)", {"x": "(SIZE BIG)"}),
        ("(SIZE x)", {"x": "HUGE"}),
        ("(ORDER x)", {"x": "(SIZE BIG)"}),
    ],
)
def test_children_that_do_not_go_together_build_nothing(body, children):
    assert built(body, CAKES, **children) is None


def test_guards_may_ask_for_label_and_count_and_holes_may_be_labels_and_words():
    value = built("(CAKE (NUMBER 1) x)", CAKES, x='(TOPPING KIWI) (TOPPING "dark plum")')
    assert (value.state.label, value.state.count) == ("CAKE", 1)
    assert built("x x", BAG, x="ant").state.count == 2
    assert built("(x y)", BAG, x="A", y="ant").text == "( x ant )"
    text = built("[IN:ASK [SL:WHERE x ] ]", BAG, x="new york").text
    assert text == "[ IN:ASK [ SL:WHERE new york ] ]"


def test_a_tree_made_by_python_becomes_a_canonical_value_of_one_expression():
    value = LANGUAGE.bodies.lift(parse("(B NUMBER_1 NUMBER_0 Zoo)"), BAG)
    assert value.text == "( B Zoo NUMBER_0 NUMBER_1 )"
    assert value.shift([("NUMBER_0", "NUMBER_2")]).text == "( B Zoo NUMBER_1 NUMBER_2 )"
    assert render(LANGUAGE.bodies.tree(value)) == "(B Zoo NUMBER_0 NUMBER_1)"
    with pytest.raises(GenieError, match="X051.*got 2: 1 ant"):
        LANGUAGE.bodies.tree(built("1 x", BAG, x="ant"))


@pytest.mark.parametrize(
    ("body", "absent", "expected"),
    [
        ("(CAKE (NUMBER 1) (NOT (TOPPING x)) (SIZE y))", {"x"}, "(CAKE (NUMBER 1) (SIZE BIG))"),
        ("(CAKE (NUMBER 1) (NOT (TOPPING x)) (SIZE y))", {"x", "y"}, "(CAKE (NUMBER 1))"),
        ("(call y x)", {"x"}, "(call BIG)"),
    ],
)
def test_what_holds_nothing_but_an_absent_name_is_absent(body, absent, expected):
    fragment = LANGUAGE.bodies.compile(body, {"x": "program", "y": "program"}, CAKES, absent=absent)
    big = LANGUAGE.bodies.compile("BIG", {}, CAKES).build({})
    assert fragment.build({"y": big}).text == tokens(parse(expected))
    with pytest.raises(GenieError, match="G034"):
        LANGUAGE.bodies.compile("(CAKE x)", {"x": "program"}, CAKES, absent={"x"})
