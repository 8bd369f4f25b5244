"""ThingTalk behind the protocol of all target languages."""

import timeit

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.language import ThingTalk
from genie_dp.languages.thingtalk.tokens import TokenStyle
from genie_dp.languages.types import NUMBER
from tests.golden import cases
from tests.languages.thingtalk.thingtalk_library import example_library

PROGRAM = 'now => @com.example.mail.inbox(most=5) filter subject =~ "hi" => notify'


def test_a_program_goes_through_all_forms():
    language = get_language("thingtalk")
    assert isinstance(language, ThingTalk)
    assert {"program", "policy", "query", "stream", "action", "predicate"} <= language.bodies.kinds
    program = language.parse(PROGRAM)
    assert language.check(program, example_library()) == []
    program = language.canonical(program, example_library())
    text = language.tokens(program, example_library())
    assert language.from_tokens(text) == program
    assert language.parse(language.render(program)) == program
    assert language.functions(program) == {"@com.example.mail.inbox": 1}
    hidden = language.tokens(language.values.anonymize(program), example_library())
    assert "NUMBER_0" in hidden
    assert "QUOTED_STRING_0" in hidden
    assert language.bodies.parse_type("Number") == NUMBER
    untyped = ThingTalk(TokenStyle(types=False))
    assert ":String" not in untyped.tokens(program)
    assert untyped.from_tokens(untyped.tokens(program)) == program


def test_values_of_synthesis_become_trees_and_back_and_bodies_need_a_library():
    language, body = ThingTalk(), "@com.example.mail.inbox() filter size > 5MB"
    value = language.bodies.compile(body, {}, example_library()).build({})
    tree = language.bodies.tree(value)
    assert isinstance(tree, ast.Filter)
    assert language.bodies.lift(tree, example_library()).text == value.text
    with pytest.raises(GenieError, match="expected a skill library to compile"):
        language.bodies.compile(body, {})
    with pytest.raises(GenieError, match="expected a skill library"):
        language.tokens(ast.Program(()))


@pytest.mark.slow
def test_each_way_takes_less_than_150_microseconds_a_program():
    """The bound that a checker of millions of rows needs; some ten times what it takes."""
    language, library = ThingTalk(), example_library()
    programs = [
        language.canonical(language.parse(case.input), library)
        for case in cases("tokens/programs.txt")
    ]
    texts = [language.tokens(program, library) for program in programs]
    write = min(timeit.repeat(lambda: [language.tokens(p, library) for p in programs], number=10))
    read = min(timeit.repeat(lambda: [language.from_tokens(t) for t in texts], number=10))
    assert write / 10 / len(programs) < 150e-6
    assert read / 10 / len(programs) < 150e-6
