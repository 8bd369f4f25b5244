"""Reading ThingTalk: both spellings give one tree; nodes know their places."""

from dataclasses import fields, is_dataclass
from decimal import Decimal

import pytest

from genie_dp.errors import Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.parser import (
    parse,
    parse_classes,
    parse_fragment,
    parse_library,
    parse_type,
)
from genie_dp.languages.thingtalk.render import render, render_type
from genie_dp.languages.types import Entity, Enum
from tests.conftest import Golden
from tests.golden import Case, cases

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
    program = parse(f"now => @a.b(x = {text})")
    assert isinstance(program, ast.Program)
    action = program.rules[0].action
    assert isinstance(action, ast.Call)
    return action.args[0].value


@pytest.mark.parametrize("case", cases("thingtalk_parse/programs.txt"), ids=str)
def test_both_spellings_print_as_one(case: Case, golden: Golden) -> None:
    program = parse(case.input)
    golden(case, render(program))
    assert parse(render(program)) == program


@pytest.mark.parametrize("case", cases("thingtalk_parse/values.txt"), ids=str)
def test_values_print_as_they_are_understood(case: Case, golden: Golden) -> None:
    value = value_of(case.input)
    golden(case, f"{type(value).__name__} {render(value)}")
    assert value_of(render(value)) == value


@pytest.mark.parametrize("case", cases("thingtalk_parse/fragments.txt"), ids=str)
def test_template_bodies_take_children_where_their_kind_stands(case: Case, golden: Golden) -> None:
    fragment = parse_fragment(case.input, HOLES)
    holes = [f"{n.kind} {render(n)}" for n in nodes(fragment) if isinstance(n, ast.Hole)]
    shown = [f"{type(fragment.body).__name__}: {render(fragment)}", *holes]
    golden(case, "\n".join(shown))
    assert parse_fragment(render(fragment), HOLES) == fragment


@pytest.mark.parametrize("case", cases("thingtalk_parse/library.txt"), ids=str)
def test_skill_files_print_as_they_are_understood(case: Case, golden: Golden) -> None:
    library = parse_library(case.input, file="skill.tt")
    golden(case, "\n".join(render(item) for item in library))
    assert parse_library("\n".join(render(i) for i in library), file="skill.tt") == library


@pytest.mark.parametrize("case", cases("thingtalk_parse/types.txt"), ids=str)
def test_types_print_as_they_are_declared(case: Case, golden: Golden) -> None:
    golden(case, render_type(parse_type(case.input)))


# ------------------------------------------------------------------------------------ trees


def test_a_stream_with_one_query_keeps_it_in_the_rule() -> None:
    call = ast.Call(ast.Selector("c"), "d")
    monitor = ast.Monitor(ast.Call(ast.Selector("a"), "b"))
    rule = parse("monitor (@a.b()) => @c.d() => notify")
    grouped = parse("(monitor (@a.b()) => @c.d()) => notify")
    assert rule == ast.Program((ast.Rule(monitor, call, ast.Notify()),))
    assert grouped == ast.Program((ast.Rule(ast.StreamJoin(monitor, call), None, ast.Notify()),))


def test_a_call_splits_into_class_and_function_at_the_last_dot() -> None:
    program = parse('now => @com.x.y(name = "z").f(a = 1) => @com.x.y.g')
    call = ast.Call(
        ast.Selector("com.x.y", (ast.Arg("name", ast.StringValue("z")),)),
        "f",
        (ast.Arg("a", ast.NumberValue(Decimal(1))),),
    )
    assert program == ast.Program((ast.Rule(None, call, ast.Call(ast.Selector("com.x.y"), "g")),))


def test_parameters_passed_after_an_action_are_inputs_of_it() -> None:
    after = parse("now => @a.b() => @c.d(x = 1) on y = z")
    inside = parse("now => @a.b() => @c.d(x = 1, y = z)")
    assert after == inside


def test_a_policy_tells_get_from_do() -> None:
    shown = parse("true : now => @a.b => notify")
    done = parse("true : now => @a.b")
    function = ast.PolicyFunction("a", "b", ast.TrueP())
    assert shown == ast.Policy(ast.TrueP(), function, None)
    assert done == ast.Policy(ast.TrueP(), None, function)


def test_names_of_children_stay_text_where_an_output_is_named() -> None:
    names = {"x": "query", "y": "predicate", "z": "source"}
    body = parse_fragment("agg max x of (x filter y filter z > x)", names).body
    hole = ast.Hole("x", "query")
    inner = ast.Filter(ast.Filter(hole, ast.Hole("y", "predicate")), _compared("z", "x"))
    assert body == ast.Aggregate("max", "x", inner)


def _compared(name: str, other: str) -> ast.Atom:
    return ast.Atom(name, ">", ast.VarRef(other))


def test_a_projection_names_an_output_of_a_query() -> None:
    assert parse_fragment("q.size", HOLES).body == ast.OutputOf(ast.Hole("q", "query"), "size")


def test_the_lambda_gives_types_to_placeholders() -> None:
    fragment = parse_fragment("\\(x : PathName, y : Enum(on,off)) -> @a.b(x = x, y = y)", {})
    assert fragment.parameters == (("x", Entity("tt:path_name")), ("y", Enum(("on", "off"))))


def test_utterances_of_a_dataset_are_not_left_among_its_annotations() -> None:
    text = 'dataset @a { action := @a.b() #_[utterances=["x", "y"]] #[id=3]; }'
    [dataset] = parse_library(text, file="x.tt")
    [example] = dataset.examples
    assert example.utterances == ("x", "y")
    assert [a.name for a in example.annotations] == ["id"]


def test_classes_are_read_out_of_a_file_with_datasets() -> None:
    text = "class @a {} dataset @a {} class @b {}"
    assert [c.name for c in parse_classes(text, file="x.tt")] == ["a", "b"]


# ----------------------------------------------------------------------------------- places


def nodes(node: object) -> list[object]:
    """Return a node and all nodes below, in order."""
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


def test_every_node_knows_its_place() -> None:
    text = 'monitor (@a.b(x = 1)) => @c.d(),\n  y > "z" and t >= start_of(day) => @e.f()'
    program = parse(text, file="p.tt")
    places = {
        source(text, n.span): type(n).__name__
        for n in nodes(program)
        if hasattr(n, "span") and n.span is not None
    }
    assert all(
        n.span is not None and n.span.file == "p.tt" for n in nodes(program) if hasattr(n, "span")
    )
    assert places == {
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


def test_declarations_know_their_places() -> None:
    text = "class @a.b {\n  action go(in req x : Number #[y=1]);\n}"
    places = [
        source(text, n.span) for n in nodes(parse_classes(text, file="x.tt")) if hasattr(n, "span")
    ]
    assert places == [
        text,
        "action go(in req x : Number #[y=1]);",
        "in req x : Number #[y=1]",
        "#[y=1]",
    ]
