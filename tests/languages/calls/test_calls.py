"""Laws of calls: text, tokens, JSON, canonical form, checker."""

import json
import re
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.dataset.chat import tools_of
from genie_dp.errors import GenieError, render_problem
from genie_dp.languages import get_language
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.structure import from_calls
from genie_dp.languages.calls.text import parse, render
from genie_dp.languages.calls.tools import load_tools, places_of, read_tools
from tests.golden import DATA, cases
from tests.languages.calls.tool_programs import HOME, home, library_of, program_of, tools

LANGUAGE = get_language("calls")
seeds = st.integers(0, 10**6)


@given(tools, seeds)
def test_a_program_comes_back_from_its_text_and_its_tokens(given_tools, seed):
    program = program_of(library_of(given_tools), Random(seed))
    text = LANGUAGE.tokens(program)
    assert parse(render(program)) == program
    assert LANGUAGE.from_tokens(text) == program
    assert json.loads(json.dumps(LANGUAGE.structure.tree(program))) == LANGUAGE.structure.tree(
        program
    )
    assert text.split() == text.split(" ")
    for call in ast.calls_of(LANGUAGE.from_tokens(text, places=True)):
        for argument in call.arguments:
            span = argument.value.span
            word = text[span.column - 1 : span.end_column - 1]
            single = LANGUAGE.from_tokens(f"f( x= {word} )")
            assert single.steps[0][0].arguments[0].value == argument.value


@given(tools, seeds)
def test_the_canonical_form_of_a_program_is_well_typed_and_keeps_the_tools(given_tools, seed):
    library = library_of(given_tools)
    program = program_of(library, Random(seed))
    once = LANGUAGE.canonical(program, library)
    assert not LANGUAGE.check(program, library)
    assert not LANGUAGE.check(once, library)
    assert LANGUAGE.canonical(once, library) == once
    assert LANGUAGE.functions(once) == LANGUAGE.functions(program)
    hidden = LANGUAGE.values.anonymize(once)
    assert '"' not in LANGUAGE.tokens(hidden).split(" ")
    assert LANGUAGE.values.anonymize(hidden) == hidden
    wrong = [p.message for p in LANGUAGE.check(hidden, library)]
    assert all("got NUMBER_" in w and "expected one of" in w for w in wrong)  # listed numbers
    if not LANGUAGE.values.placeholders(once):
        back = from_calls(json.loads(json.dumps(LANGUAGE.structure.calls(once))))
        assert LANGUAGE.canonical(back, library) == once
        assert LANGUAGE.structure.calls(back) == LANGUAGE.structure.calls(once)
        assert parse(json.dumps(LANGUAGE.structure.calls(once))) == back


@given(tools, seeds)
def test_canonical_forgets_the_order_of_arguments_and_of_parallel_calls(given_tools, seed):
    library = library_of(given_tools)
    program = program_of(library, Random(seed))
    moved, numbers, count = [], {}, 0
    for step in program.steps:
        order = list(range(len(step)))
        Random(seed).shuffle(order)
        numbers |= {count + 1 + k: count + 1 + place for place, k in enumerate(order)}
        count += len(step)
        moved.append(tuple(ast.Call(step[k].name, step[k].arguments[::-1]) for k in order))

    def renumber(value):
        is_result = isinstance(value, ast.Reference)
        return ast.Reference(numbers[value.call], value.path) if is_result else value

    other = ast.change_values(ast.Program(tuple(moved)), renumber)
    calls = [c for step in program.steps for c in step]
    if len(set(calls)) == len(calls):  # of two equal calls either may be the first
        assert LANGUAGE.canonical(program, library) == LANGUAGE.canonical(other, library)


def test_one_meaning_has_one_form_and_two_have_two():
    _, *lines = (DATA / "calls" / "meanings.txt").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 14
    for line in lines:
        one, sign, other = re.split(" ([!=]=) ", line)
        forms = [LANGUAGE.canonical(parse(text), home()) for text in (one, other)]
        assert (forms[0] == forms[1]) == (sign == "=="), line


@pytest.mark.parametrize("case", cases("calls/check.txt"), ids=str)
def test_the_checker_finds_what_does_not_fit(case, golden):
    problems = LANGUAGE.check(parse(case.input), home())
    golden(case, "\n".join(render_problem(p, {"<program>": case.input}) for p in problems))


@pytest.mark.parametrize("case", cases("calls/tools.txt"), ids=str)
def test_a_mistake_in_a_file_of_tools_is_shown_with_its_place(case, golden):
    try:
        problems = read_tools({"tools.json": case.input}).warnings
    except GenieError as error:
        problems = error.problems
    golden(case, "\n".join(render_problem(p, {"tools.json": case.input}) for p in problems))


def test_what_is_missing_is_asked_for_and_can_be_given():
    library = home()
    right = 'find_mail() => send(to = $1.mails.0.id, about = "x")'
    assert not LANGUAGE.check(parse(right), library)
    wrong = "find_mail() => send(to = $1.count, about = $1.mails)"  # of another sort
    assert [p.code for p in LANGUAGE.check(parse(wrong), library)] == ["Z033", "Z033"]
    program = LANGUAGE.canonical(parse('send(about = "tea") & lights.set(room = $?)'), library)
    asked = LANGUAGE.structure.missing_inputs(program, library)
    assert [(m.function, m.name, m.call) for m in asked] == [
        ("lights.set", "room", 0),
        ("send", "to", 1),
    ]
    given_all = LANGUAGE.structure.give_input(program, asked[1], '" a@b "', library)
    given_all = LANGUAGE.structure.give_input(given_all, asked[0], '" bath room " ^^room', library)
    assert not LANGUAGE.structure.missing_inputs(given_all, library)
    assert not LANGUAGE.check(given_all, library)


def test_values_of_a_sentence_take_the_place_of_placeholders():
    program = parse('send(about = "at NUMBER_0", to = EMAIL_ADDRESS_0, every = DURATION_0)')
    values = {
        "NUMBER_0": ("2", "two"),
        "EMAIL_ADDRESS_0": ('" a@b " ^^tt:email_address', "a@b"),
        "DURATION_0": ("90 unit:min", "90 minutes"),
    }
    [call] = LANGUAGE.structure.calls(LANGUAGE.values.fill(program, values))
    assert call["arguments"] == {"about": "at two", "to": "a@b", "every": "PT90M"}
    assert set(LANGUAGE.values.placeholders(program)) == values.keys()


@pytest.mark.parametrize("constant", ["3", '" a b "', '" a " ^^room', "date:2027-03-14",
                                      "time:7:05:00", "1 unit:h 30 unit:min"])  # fmt: skip
def test_a_constant_is_read_from_the_tokens_that_it_is_written_as(constant):
    form = LANGUAGE.form(f"f( x= {LANGUAGE.values.written(constant)} )")
    [found] = form.literals
    assert (found.start, found.end) == (2, len(form.tokens) - 1)
    assert found.constant == constant.replace("time:7:", "time:07:")


def test_schemas_that_hold_themselves_and_huge_ones_end_in_an_error():
    recursive = {"properties": {"x": {"$ref": "#/$defs/a"}},
                 "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}}  # fmt: skip
    doubling = {f"a{k}": {"properties": {n: {"$ref": f"#/$defs/a{k + 1}"} for n in "xy"}}
                for k in range(20)}  # fmt: skip
    huge = {"properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {**doubling, "a20": {}}}
    deep = {"type": "string"}
    for _ in range(40):
        deep = {"type": "array", "items": deep}
    for shape, code in ((recursive, "Z023"), (huge, "Z025"),
                        ({"properties": {"x": deep}}, "Z025")):  # fmt: skip
        texts = {"t.json": json.dumps([{"name": "f", "parameters": shape}, {"name": "g"}])}
        with pytest.raises(GenieError) as caught:
            read_tools(texts)
        assert [p.code for p in caught.value.problems] == [code]
        kept = read_tools(texts, skip_broken=True)
        assert kept.names() == ("g",)
        assert [p.code for skipped in kept.skipped for p in skipped.problems] == [code]
    with pytest.raises(GenieError, match="Z020"):
        read_tools({"t.json": "[" * 100_000})


@given(st.recursive(st.integers() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3)
                    | st.dictionaries(st.text(max_size=3), inner, max_size=3), max_leaves=8),
       st.sampled_from([None, 1]))  # fmt: skip
def test_every_part_of_a_json_text_has_its_place(document, indent):
    text = json.dumps(document, indent=indent)
    lines, places = text.split("\n"), places_of(text, "x")

    def look(part, path, key=None):
        span = places[path]
        found = lines[span.line - 1][span.column - 1 : span.end_column - 1]
        assert json.loads(found) == key if key is not None else text
        if isinstance(part, list):
            for index, item in enumerate(part):
                look(item, (*path, index))
        if isinstance(part, dict):
            for name, item in part.items():
                look(item, (*path, name), name)

    look(document, ())


def test_tools_are_read_from_files_and_shown_to_others(tmp_path):
    (tmp_path / "home.json").write_text(HOME)
    library = load_tools([tmp_path / "home.json"])
    shown = tools_of(LANGUAGE.structure.schema(library))
    assert set(shown) == set(library.names())
    assert shown["lights.set"]["parameters"]["required"] == ["room"]
    assert shown["stop"]["description"] == "Stop all."
    [signature, *_] = library.functions()
    assert (signature.qualified, signature.kind) == ("lights.set", "action")
    assert signature.parameter("label").value_list == "lights.set:label"
    assert library.values("room") == ("kitchen", "bath room")


def test_of_a_file_that_is_one_long_line_the_part_with_the_mistake_is_shown():
    text = json.dumps([{"name": f"f{k}"} for k in range(500)] + [{"name": "f1", "title": "x"}])
    with pytest.raises(GenieError) as caught:
        read_tools({"t.json": text})
    rows = str(caught.value).split("\n")
    assert max(map(len, rows)) < 450
    assert rows[1][rows[2].index("^") :].startswith('"name": "f1"')
