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


def test_the_registry_makes_thingtalk_by_name():
    language = get_language("thingtalk")
    assert isinstance(language, ThingTalk)
    assert {"program", "policy", "query", "stream", "action", "predicate"} <= language.kinds


def test_a_program_goes_through_all_forms():
    language = ThingTalk()
    program = language.parse(PROGRAM)
    assert language.check(program, example_library()) == []
    program = language.canonical(program, example_library())
    text = language.tokens(program, example_library())
    assert language.from_tokens(text) == program
    assert language.parse(language.render(program)) == program
    assert language.functions(program) == {"@com.example.mail.inbox": 1}
    hidden = language.tokens(language.anonymize(program), example_library())
    assert "NUMBER_0" in hidden
    assert "QUOTED_STRING_0" in hidden


def test_the_style_of_a_language_is_that_of_its_tokens():
    language = ThingTalk(TokenStyle(types=False))
    program = language.parse(PROGRAM)
    assert ":String" not in language.tokens(program)
    assert language.from_tokens(language.tokens(program)) == program


def test_without_a_library_types_cannot_be_written():
    with pytest.raises(GenieError, match="expected a skill library"):
        ThingTalk().tokens(ast.Program(()))


def test_types_are_read_by_name():
    assert ThingTalk().parse_type("Number") == NUMBER


def test_template_bodies_need_a_library():
    with pytest.raises(GenieError, match="expected a skill library to compile"):
        ThingTalk().fragment("@com.example.mail.inbox()", {})


def test_a_value_of_synthesis_becomes_a_tree_and_back():
    language = ThingTalk()
    fragment = language.fragment(
        "@com.example.mail.inbox() filter size > 5MB", {}, example_library()
    )
    value = fragment.build({})
    tree = language.program(value)
    assert isinstance(tree, ast.Filter)
    assert language.value(tree, example_library()).text == value.text


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
