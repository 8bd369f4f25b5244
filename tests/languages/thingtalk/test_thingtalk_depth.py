"""Programs that go deep: as deep as is allowed all functions work, deeper there is an error."""

from contextlib import suppress

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.depth import DEEPEST
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.parser import parse, parse_fragment, parse_library, parse_type
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import anonymize, functions
from genie_dp.languages.thingtalk.typecheck import check
from tests.languages.thingtalk.thingtalk_library import example_library

INBOX = "@com.example.mail.inbox()"
HOME = "@com.example.home.weather()"
UNTYPED = TokenStyle(types=False)
BRACKETS = {"brackets", "brackets in a condition"}  # they leave nothing in the tree
# name -> a program with a part of that sort n times inside itself
SHAPES = {
    "brackets": lambda n: f"now => {'(' * n}{INBOX}{')' * n} => notify",
    "brackets in a condition": lambda n: (
        f"now => {INBOX} filter {'(' * n}is_read == true{')' * n} => notify"
    ),
    "not": lambda n: f"now => {INBOX} filter {'!' * n}is_read == true => notify",
    "filters": lambda n: f"now => {INBOX}{' filter size > 1byte' * n} => notify",
    "joins": lambda n: f"now => {INBOX}{f' join {INBOX}' * n} => notify",
    "get-predicates": lambda n: (
        f"now => {INBOX} filter {f'{INBOX} {{ ' * n}is_read == true{' }' * n} => notify"
    ),
    "sums of dates": lambda n: f"now => {INBOX} filter date > now{' + 1day' * n} => notify",
    "sums of measures": lambda n: f"now => {INBOX} filter size > 1byte{' + 1KB' * n} => notify",
    "edges": lambda n: f"{'edge (' * n}monitor {HOME}{') on humidity > 1' * n} => notify",
    "queries of a stream": lambda n: f"monitor {HOME}{f' => {INBOX}' * n} => notify",
    "queries under an edge": lambda n: (
        f"edge (monitor {HOME}{f' => {INBOX}' * n}) on humidity > 1 => notify"
    ),
    "aggregations": lambda n: f"now => {'agg count of (' * n}{INBOX}{')' * n} => notify",
    "alternatives": lambda n: (
        f"now => {INBOX} filter {'(is_read == true && (is_read == true || ' * (n // 2)}"
        f"size > 1byte{'))' * (n // 2)} => notify"
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_programs_nearly_as_deep_as_allowed_go_through_all_functions(shape):
    # A canonical form can be deeper than the program; 5 is more than was ever seen.
    program = parse(SHAPES[shape](deepest(shape) - 5))
    check(program, example_library())
    form = canonical(program, example_library())
    assert parse(render(form)) == form
    assert from_tokens(tokens(form, None, UNTYPED), style=UNTYPED)
    assert functions(anonymize(program))


def deepest(shape: str) -> int:
    """Return how deep a shape can be read."""
    for depth in range(DEEPEST, DEEPEST // 2 - 5, -1):
        with suppress(GenieError):
            parse(SHAPES[shape](depth))
            return depth
    raise AssertionError(f"expected {shape} to be read half as deep as allowed")


@pytest.mark.slow
@pytest.mark.parametrize("shape", sorted({*SHAPES} - BRACKETS))
@pytest.mark.parametrize("depth", [2 * DEEPEST + 2, 5000])
def test_deeper_programs_are_an_error_at_their_place(shape, depth):
    with pytest.raises(GenieError) as error:
        parse(SHAPES[shape](depth))
    (problem,) = error.value.problems
    assert (problem.code, problem.stage) == ("S007", "syntax")
    assert problem.span is not None


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (from_tokens, "now => " + "( " * 5000),
        (from_tokens, "now => ( @a.b ) filter " + "@a.b { " * 5000),
        (from_tokens, "edge ( " * 5000),
        (from_tokens, "now => ( @a.b ) filter param:x:String in_array " + "[ " * 5000),
        (from_tokens, "now => ( @a.b ) filter param:x:Date > now" + " + 1 unit:day" * 5000),
        (parse_type, "Array(" * 5000 + "String" + ")" * 5000),
        (lambda text: parse_fragment(text, {}), "!" * 5000 + "x == 1"),
        (
            lambda text: parse_library(text, file="skill.tt"),
            f"class @a.b {{ action c() #[x={'[' * 5000}{']' * 5000}]; }}",
        ),
    ],
)
def test_token_forms_types_bodies_and_annotations_that_go_deeper_are_an_error(read, text):
    with pytest.raises(GenieError) as error:
        read(text)
    assert error.value.problems[0].code == "S007"


def test_brackets_around_the_same_thing_and_inside_of_texts_do_not_count():
    assert parse(SHAPES["brackets"](5000)) == parse(SHAPES["brackets"](0))
    text = f'now => @a.b param:x:String = " {"( " * 500}" => notify'
    assert tokens(from_tokens(text), None, UNTYPED).count("(") == 500
