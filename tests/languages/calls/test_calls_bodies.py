"""Template bodies of calls, and calls that are made."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.fragment import SingleValue
from genie_dp.languages.calls.text import parse
from tests.golden import cases
from tests.languages.calls.simulate import simulate
from tests.languages.calls.tool_programs import home, library_of, program_of, tools

LANGUAGE = get_language("calls")
HOME = home()


def built(body, **children):
    """Return the fragment of a body whose children are given as texts, and its value."""
    values = {
        name: LANGUAGE.bodies.compile(text, {}, HOME).build({}) for name, text in children.items()
    }
    fragment = LANGUAGE.bodies.compile(body, {name: v.kind for name, v in values.items()}, HOME)
    for name, type_ in fragment.parameters:
        [constant, *_] = LANGUAGE.bodies.constants(type_)
        values[name] = constant.value
    return fragment, fragment.build(values)


def written(text):
    return LANGUAGE.tokens(LANGUAGE.canonical(parse(text), HOME))


@given(tools, st.integers(0, 10**6))
def test_a_body_without_children_builds_the_canonical_program_of_its_text(given_tools, seed):
    library = library_of(given_tools)
    program = program_of(library, Random(seed))
    text = LANGUAGE.render(program)
    value = LANGUAGE.bodies.compile(text, {}, library).build({})
    canonical = LANGUAGE.canonical(program, library)
    assert value.text == LANGUAGE.tokens(canonical)
    assert sorted(value.functions) == sorted(LANGUAGE.functions(canonical).elements())
    assert LANGUAGE.bodies.tree(value) == LANGUAGE.from_tokens(value.text)
    assert LANGUAGE.bodies.lift(program, library).text == value.text


@pytest.mark.parametrize("case", cases("calls/built.txt"), ids=str)
def test_children_stand_where_they_are_named_or_build_nothing_and_say_why(case, golden):
    body, *children = case.input.splitlines()
    fragment, value = built(body, **dict(child.split(": ", 1) for child in children))
    golden(case, value.text if value else "\n".join(map(render_problem, fragment.refused)))
    assert value is None or value.text == written(LANGUAGE.render(LANGUAGE.bodies.tree(value)))


RENAMED = {
    "r": "GENERIC_ENTITY_room_11", "n": "NUMBER_10", "s": "GENERIC_ENTITY_room_2", "m": "NUMBER_9"
}  # fmt: skip


def test_renamed_placeholders_sort_parallel_calls_anew():
    body = "lights.set(room = $r, level = $n) & lights.set(room = $s, level = $m)"
    fragment = LANGUAGE.bodies.compile(body, {}, HOME)
    values = {}
    for place, (name, type_) in enumerate(fragment.parameters):
        [constant] = LANGUAGE.bodies.constants(type_)
        values[name] = constant.value.shift([(constant.words, chr(0xE010 - place))])
    named = fragment.build(values).shift([(values[n].text, RENAMED[n]) for n in values])
    assert named.text == LANGUAGE.tokens(LANGUAGE.canonical(LANGUAGE.from_tokens(named.text), HOME))
    assert {slot[0] for slot in named.slots} == set(RENAMED.values())
    assert named.shift([("NUMBER_7", "NUMBER_8")]) is named


def test_a_constant_says_what_it_fills():
    fragment = LANGUAGE.bodies.compile("lights.set(room = $r, mode = $m)", {}, HOME)
    assert fragment.fills == {"r": "lights.set:room", "m": "lights.set:mode"}
    modes = dict(fragment.parameters)["m"]
    assert [c.words for c in LANGUAGE.bodies.constants(modes)] == ["night", "very bright", "2"]
    assert built("lights.set(room = $r)")[1].slots == (
        ("GENERIC_ENTITY_room_0", "Entity(room)", "lights.set:room"),
    )


@pytest.mark.parametrize(
    ("body", "absent", "expected"),
    [
        ("lights.set(room = $r, level = $n)", {"n"}, "lights.set(room = GENERIC_ENTITY_room_0)"),
        ("send(about = $a, options = {times = $n})", {"n"}, "send(about = QUOTED_STRING_0)"),
        ("stop() & x", {"x"}, "stop()"),
    ],
)
def test_what_needs_an_absent_name_is_absent(body, absent, expected):
    holes = {"x": "program"} if "x" in absent else {}
    fragment = LANGUAGE.bodies.compile(body, holes, HOME, absent=absent)
    values = {n: next(iter(LANGUAGE.bodies.constants(t))).value for n, t in fragment.parameters}
    assert fragment.build(values).text == written(expected)


def test_a_row_of_a_table_is_calls_or_a_value_and_python_is_given_calls_only():
    assert LANGUAGE.bodies.compile_row("stop()", HOME).kind == "program"
    assert isinstance(LANGUAGE.bodies.compile_row('"hall"', HOME), SingleValue)
    with pytest.raises(GenieError, match="Z031"):
        LANGUAGE.bodies.compile_row("start()", HOME)
    with pytest.raises(GenieError, match="Z051"):
        LANGUAGE.bodies.tree(LANGUAGE.bodies.compile_row("3", HOME))
    body = 'x => find_mail() => send(to = $2.mails.0.id, about = "a")'
    with pytest.raises(GenieError, match="G034"):  # results are not of absent calls
        LANGUAGE.bodies.compile(body, {"x": "program"}, HOME, absent={"x"})


@given(tools, st.integers(0, 10**6))
def test_canonical_programs_make_the_same_calls(given_tools, seed):
    """But for the order of calls side by side, defaults, and `$?`."""
    library = library_of(given_tools)
    program = LANGUAGE.canonical(program_of(library, Random(seed)), library)
    reverse = ast.Program(tuple(step[::-1] for step in program.steps))
    has_results = any(isinstance(v, ast.Reference) for v in ast.values_of(program))
    moved = program if has_results else reverse  # they would be those of other calls
    if LANGUAGE.values.placeholders(program):
        return
    one, two = (
        [(c.step, c.name, str(c.arguments)) for c in simulate(p, lambda *_: {"id": [7]})]
        for p in (program, LANGUAGE.canonical(moved, library))
    )
    assert sorted(one) == sorted(two)


def test_a_result_is_given_to_a_later_call():
    results = {"find_mail": {"mails": [{"id": 1}, {"id": "x@y"}]}, "stop": 3, "send": None}
    text = "find_mail() & stop() => send(to = $1.mails.1.id, about = [$2])"
    made = simulate(parse(text), lambda name, _: results[name])
    assert [(c.step, c.name, c.arguments) for c in made] == [
        (1, "find_mail", {}),
        (1, "stop", {}),
        (2, "send", {"to": "x@y", "about": [3]}),
    ]


@pytest.mark.parametrize(("text", "code"), [("a() => b(x = $1.no)", "Z061"), ("a(x = $?)", "Z062"),
                                            ("a(x = $1)", "Z036")])  # fmt: skip
def test_what_cannot_be_given_ends_the_calls(text, code):
    with pytest.raises(GenieError, match=code):
        simulate(parse(text), lambda *_: {"id": 1})
