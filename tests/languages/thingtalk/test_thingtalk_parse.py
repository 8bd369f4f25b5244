"""Reading ThingTalk: both spellings give one tree; nodes know their places."""

from dataclasses import fields, is_dataclass
from decimal import Decimal

import pytest

from genie_dp.errors import GenieError, Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.parser import (
    parse,
    parse_classes,
    parse_fragment,
    parse_library,
    parse_type,
)
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.types import Entity, Enum
from tests.golden import cases

HOLES = {
    "q": "query",
    "r": "query",
    "s": "stream",
    "a": "action",
    "p": "predicate",
    "o": "source",
    "f": "param",
    "v": "value",
    "c": "program",
}


def value_of(text: str) -> ast.Value:
    """Return the value of an input that is written so."""
    action = parse(f"now => @a.b(x = {text})").rules[0].action
    assert isinstance(action, ast.Call)
    return action.args[0].value


@pytest.mark.parametrize("case", cases("thingtalk_parse/programs.txt"), ids=str)
def test_both_spellings_print_as_one(case, golden):
    program = parse(case.input)
    golden(case, render(program))
    assert parse(render(program)) == program


@pytest.mark.parametrize("case", cases("thingtalk_parse/values.txt"), ids=str)
def test_values_print_as_they_are_understood(case, golden):
    value = value_of(case.input)
    golden(case, f"{type(value).__name__} {render(value)}")
    assert value_of(render(value)) == value


@pytest.mark.parametrize("case", cases("thingtalk_parse/fragments.txt"), ids=str)
def test_template_bodies_take_children_where_their_kind_stands(case, golden):
    fragment = parse_fragment(case.input, HOLES)
    holes = [f"{n.kind} {render(n)}" for n in nodes(fragment) if isinstance(n, ast.Hole)]
    shown = [f"{type(fragment.body).__name__}: {render(fragment)}", *holes]
    golden(case, "\n".join(shown))
    assert parse_fragment(render(fragment), HOLES) == fragment


@pytest.mark.parametrize("case", cases("thingtalk_parse/library.txt"), ids=str)
def test_skill_files_print_as_they_are_understood(case, golden):
    library = parse_library(case.input, file="skill.tt")
    golden(case, "\n".join(render(item) for item in library))
    assert parse_library("\n".join(render(i) for i in library), file="skill.tt") == library


@pytest.mark.parametrize("case", cases("thingtalk_parse/types.txt"), ids=str)
def test_types_print_as_they_are_declared(case, golden):
    golden(case, str(parse_type(case.input)))


def test_a_stream_with_one_query_keeps_it_in_the_rule():
    call = ast.Call(ast.Selector("c"), "d")
    monitor = ast.Monitor(ast.Call(ast.Selector("a"), "b"))
    rule = parse("monitor (@a.b()) => @c.d() => notify")
    grouped = parse("(monitor (@a.b()) => @c.d()) => notify")
    assert rule == ast.Program((ast.Rule(monitor, call, ast.Notify()),))
    assert grouped == ast.Program((ast.Rule(ast.StreamJoin(monitor, call), None, ast.Notify()),))


def test_a_call_splits_into_class_and_function_at_the_last_dot():
    program = parse('now => @com.x.y(name = "z").f(a = 1) => @com.x.y.g')
    call = ast.Call(
        ast.Selector("com.x.y", (ast.Arg("name", ast.StringValue("z")),)),
        "f",
        (ast.Arg("a", ast.NumberValue(Decimal(1))),),
    )
    assert program == ast.Program((ast.Rule(None, call, ast.Call(ast.Selector("com.x.y"), "g")),))


def test_inputs_are_passed_after_an_action_too_and_a_policy_tells_get_from_do():
    inside = parse("now => @a.b() => @c.d(x = 1, y = z)")
    assert parse("now => @a.b() => @c.d(x = 1) on y = z") == inside
    function = ast.PolicyFunction("a", "b", ast.TrueP())
    assert parse("true : now => @a.b => notify") == ast.Policy(ast.TrueP(), function, None)
    assert parse("true : now => @a.b") == ast.Policy(ast.TrueP(), None, function)


def test_names_of_children_stay_text_where_an_output_is_named():
    names = {"x": "query", "y": "predicate", "z": "source"}
    body = parse_fragment("agg max x of (x filter y filter z > x)", names).body
    hole, compared = ast.Hole("x", "query"), ast.Atom("z", ">", ast.VarRef("x"))
    inner = ast.Filter(ast.Filter(hole, ast.Hole("y", "predicate")), compared)
    assert body == ast.Aggregate("max", "x", inner)
    assert parse_fragment("q.size", HOLES).body == ast.OutputOf(ast.Hole("q", "query"), "size")
    fragment = parse_fragment("\\(x : PathName, y : Enum(on,off)) -> @a.b(x = x, y = y)", {})
    assert fragment.parameters == (("x", Entity("tt:path_name")), ("y", Enum(("on", "off"))))


def test_classes_and_datasets_are_read_out_of_a_file():
    text = 'dataset @a { action := @a.b() #_[utterances=["x", "y"]] #[id=3]; }'
    [dataset] = parse_library(text, file="x.tt")
    [example] = dataset.examples
    assert example.utterances == ("x", "y")
    assert [a.name for a in example.annotations] == ["id"]
    text = "class @a {} dataset @a {} class @b {}"
    assert [c.name for c in parse_classes(text, file="x.tt")] == ["a", "b"]


def nodes(node: object) -> list[object]:
    if isinstance(node, tuple):
        return [found for item in node for found in nodes(item)]
    if is_dataclass(node) and not isinstance(node, Span):
        below = [found for f in fields(node) for found in nodes(getattr(node, f.name))]
        return [node, *below]
    return []


def source(text: str, span: Span) -> str:
    """Return the piece of a text that a span covers."""
    rows = text.split("\n")[span.line - 1 : span.end_line]
    rows[-1] = rows[-1][: span.end_column - 1]
    return "\n".join([rows[0][span.column - 1 :], *rows[1:]])


def test_every_node_knows_its_place():
    text = 'monitor (@a.b(x = 1)) => @c.d(),\n  y > "z" and t >= start_of(day) => @e.f()'
    found = [n for n in nodes(parse(text, file="p.tt")) if hasattr(n, "span")]
    assert {n.span.file for n in found} == {"p.tt"}
    assert {source(text, n.span): type(n).__name__ for n in found} == {
        text: "Rule",
        "monitor (@a.b(x = 1))": "Monitor",
        "@a.b(x = 1)": "Call",
        "@a.b": "Selector",
        "x = 1": "Arg",
        "1": "NumberValue",
        '@c.d(),\n  y > "z" and t >= start_of(day)': "Filter",
        "@c.d()": "Call",
        "@c.d": "Selector",
        'y > "z" and t >= start_of(day)': "And",
        'y > "z"': "Atom",
        '"z"': "StringValue",
        "t >= start_of(day)": "Atom",
        "start_of(day)": "DateEdge",
        "@e.f()": "Call",
        "@e.f": "Selector",
    }
    text = "class @a.b {\n  action go(in req x : Number #[y=1]);\n}"
    found = [n for n in nodes(parse_classes(text, file="x.tt")) if hasattr(n, "span")]
    places = [source(text, n.span) for n in found]
    inner = ["action go(in req x : Number #[y=1]);", "in req x : Number #[y=1]", "#[y=1]"]
    assert places == [text, *inner]


def test_an_unknown_type_offers_the_nearest_and_many_mistakes_are_cut():
    with pytest.raises(GenieError) as error:
        parse_type("Bolean")
    (problem,) = error.value.problems
    assert (problem.code, problem.hint) == ("S005", "did you mean 'Boolean'?")
    with pytest.raises(GenieError) as error:
        parse_library("class @a.b {\n" + "  action x(;\n" * 100 + "}", file="skill.tt")
    assert 10 < len(error.value.problems) <= 20
    assert len({problem.span for problem in error.value.problems}) == len(error.value.problems)


@pytest.mark.parametrize("text", ["{}", "now => @a.b(x = {})", "now => @a.b(x = 1.{}e)"])
def test_the_time_for_a_number_does_not_grow_with_the_square_of_its_digits(text):
    with pytest.raises(GenieError):  # of the square it would be hours
        parse(text.format("9" * 300_000))
