"""Programs as JSON: trees that lose nothing, calls, what is missing, and the schema of both."""

import json
from functools import cache
from random import Random

import jsonschema
import pytest

from genie_dp.augment.skill_rows import skill_rows
from genie_dp.languages import get_language
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.structure import calls, give_input, missing_inputs, tree
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from tests.golden import DATA, cases
from tests.languages.thingtalk import strategies
from tests.synthesis.synthesis_setup import shipped

THINGTALK, SEXPR = get_language("thingtalk"), get_language("sexpr")


@cache
def mail():
    return load_library([DATA / "typecheck" / "skills"])


def kinds_in(node):
    if isinstance(node, list):
        return {kind for item in node for kind in kinds_in(item)}
    if not isinstance(node, dict):
        return set()
    own = {node["kind"]} if "kind" in node else set()
    return own | kinds_in(list(node.values()))


def test_programs_with_equal_trees_are_equal():
    programs = {}
    for seed in range(300):
        program = strategies.sample(Random(seed)).program
        text = json.dumps(tree(program), sort_keys=True)
        assert programs.setdefault(text, program) == program, render(program)
    assert len(programs) > 250


@pytest.mark.slow
def test_trees_and_calls_of_real_programs_fit_the_schema():
    schema = THINGTALK.structure.schema(shipped().library)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    rows = list(skill_rows([data_folder("thingpedia")], THINGTALK, shipped().library))
    with_calls = 0
    for row in rows[::32]:
        program = THINGTALK.from_tokens(row.program)
        told = {"tree": tree(program), "calls": calls(program)}
        with_calls += told["calls"] is not None
        validator.validate(json.loads(json.dumps(told)))
        assert kinds_in(told["tree"]) <= schema["$defs"].keys()
    assert len(rows) > 600
    assert with_calls > 10


@pytest.mark.parametrize(
    ("told", "is_right"),
    [
        ([{"name": "@com.example.mail.archive", "arguments": {"folder": "/x"}}], True),
        ([{"name": "@com.example.mail.archive", "arguments": {}}], False),
        ([{"name": "@com.example.mail.burn", "arguments": {"folder": "/x"}}], False),
        ([{"name": "@com.example.mail.send", "arguments": {"to": "a", "priority": "top"}}], False),
        ([{"name": "@com.example.home.light", "arguments": {"power": "on", "level": 3}}], True),
        ([{"name": "@com.example.home.light", "arguments": {"power": "on", "level": "3"}}], False),
    ],
)
def test_the_schema_knows_the_inputs_of_each_function(told, is_right):
    validator = jsonschema.Draft202012Validator(THINGTALK.structure.schema(mail()))
    assert validator.is_valid({"calls": told}) is is_right


def test_calls_are_there_where_a_program_is_no_more(golden):
    [case] = cases("structure/calls.txt")
    found = [calls(parse(f"now => @com.example.{line}")) for line in case.input.splitlines()]
    golden(case, "\n".join(map(json.dumps, found)))
    assert calls(parse("monitor (@com.example.mail.inbox()) => notify")) is None


def test_placeholders_of_calls_stand_as_in_the_sentence():
    text = "now => @c.f param:a:Number = NUMBER_0 param:b:Measure(C) = NUMBER_1 unit:F"
    (call,) = calls(THINGTALK.from_tokens(text))
    assert call["arguments"] == {"a": "NUMBER_0", "b": {"value": "NUMBER_1", "unit": "F"}}


def test_missing_inputs_are_those_that_nothing_gives(golden):
    [case] = cases("structure/missing.txt")
    found = (missing_inputs(parse(line), mail()) for line in case.input.splitlines())
    golden(case, "\n".join(", ".join(x.name for x in some) or "none" for some in found))


def test_what_a_join_passes_on_is_not_missing_and_questions_are_the_prompts_of_skills():
    library, passing = shipped().library, " on (query = file_name)"
    code = f"now => @com.dropbox.list_folder() join @com.giphy.search(){passing} => notify"
    assert missing_inputs(parse(code), library) == ()
    alone = parse(code.replace(passing, ""))
    assert [x.name for x in missing_inputs(alone, library)] == ["query"]
    (one, *_) = missing_inputs(parse("now => @com.google.calendar.create_event()"), library)
    assert one.question == "What is the event called?"


def test_an_input_is_given_to_the_call_that_lacks_it():
    program = parse("now => @com.example.mail.inbox() => @com.example.mail.send(subject = subject)")
    (missing,) = missing_inputs(program, mail())
    assert missing.question == "What is the to?"
    given = give_input(program, missing, '" a@b.c " ^^tt:email_address', mail())
    assert missing_inputs(given, mail()) == ()
    assert 'to = "a@b.c"' in render(canonical(given))


def test_expressions_have_a_schema_with_the_declared_labels():
    library = read_declarations(
        "node PIZZA = (SIZE)? (TOPPING)*; node SIZE = BIG; node TOPPING = HAM | TUNA;"
    )
    validator = jsonschema.Draft202012Validator(SEXPR.structure.schema(library))
    program = SEXPR.parse("(PIZZA (SIZE BIG) (TOPPING HAM) (TOPPING TUNA))")
    told = {"tree": SEXPR.structure.tree(program), "calls": SEXPR.structure.calls(program)}
    assert told["calls"] == [
        {"name": "PIZZA", "arguments": {"SIZE": "BIG", "TOPPING": ["HAM", "TUNA"]}}
    ]
    validator.validate(told)
    assert not validator.is_valid({"calls": [{"name": "PASTA", "arguments": {}}]})
