"""Predicted programs get the values of their sentence, and names are looked up."""

import re
from datetime import datetime

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.ast import StringValue
from genie_dp.languages.thingtalk.simulate import Table, simulate
from genie_dp.parser.reading.fill import EntityNames, fill
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.skills.model import SkillLibrary, SkillValues
from tests.parser.reading.reading_cases import NOW, reading_cases, topics
from tests.synthesis.synthesis_setup import few

READER = GrammarReader()
THINGTALK = get_language("thingtalk")


def filled(sentence: str, program: str, *, names: EntityNames | None = None):
    values = READER.read(sentence, now=NOW).values
    return fill(program, values, language=THINGTALK, library=few().library, names=names)


def test_a_filled_program_is_well_typed_and_rendered():
    found = filled(
        "post hello world when it gets colder than -5 c in paris",
        "edge ( monitor ( @org.thingpedia.weather.current param:location:Location = LOCATION_0 ) ) "
        "on param:temperature:Measure(C) < MEASURE_C_0 => @com.twitter.post "
        'param:status:String = " hello world "',
    )
    assert THINGTALK.check(found.program, few().library) == []
    assert "temperature < -5C" in THINGTALK.render(found.program)
    assert '48.853, 2.349, "paris"' in THINGTALK.render(found.program)


def test_a_filled_program_can_be_simulated():
    program = "now => ( @com.gmail.inbox ) filter param:subject:String == QUOTED_STRING_0 => notify"
    found = filled('show my emails about "Lunch Break"', program)
    inbox = Table((({"subject": StringValue("Lunch Break")}, {"subject": StringValue("sale")}),))
    effects = simulate(found.program, {"@com.gmail.inbox": inbox}, steps=[NOW])
    assert [dict(e.arguments)["subject"] for e in effects] == [StringValue("Lunch Break")]


@pytest.mark.parametrize("topic", topics())
def test_every_value_of_the_cases_is_a_constant_that_survives_the_token_form(topic: str):
    for case in reading_cases(topic):
        for token, value in READER.read(case.sentence, now=NOW).values.items():
            language = get_language("thingtalk")
            typed = f"now => @com.x.f param:a:{value.type} = {token}"
            tree = language.from_tokens(typed)
            from genie_dp.languages.thingtalk.placeholders import fill as put_in

            whole = put_in(tree, {token: (value.value, value.text)})
            assert language.parse(language.render(whole)) == whole


def test_a_percent_sign_is_said_once_inside_of_text():
    found = filled(
        "tweet 20% off",
        'now => @com.twitter.post param:status:String = " NUMBER_0 percent off "',
    )
    assert '" 20 percent off "' in found.tokens


def test_a_placeholder_without_value_is_an_error_that_names_those_there_are():
    with pytest.raises(GenieError, match="I010.*NUMBER_3(.|\n)*DATE_0"):
        filled("on march 3", "now => @com.x.f param:a:Number = NUMBER_3")


def test_a_value_that_the_language_has_no_form_for_is_an_error():
    values = READER.read("5 km", now=NOW).values
    with pytest.raises(GenieError, match="I011"):
        fill("( a MEASURE_m_0 )", values, language=get_language("sexpr"))


# ----------------------------------------------------------------------------------- names


def names(*values: str, threshold: float = 85.0) -> EntityNames:
    listed = SkillValues("com.x:song", values, (1.0,) * len(values))
    return EntityNames(SkillLibrary(value_lists={"com.x:song": listed}), threshold)


SONGS = ("Red Moon", "The Long Way", "Bohemian Rhapsody")


@pytest.mark.parametrize("said", SONGS)
def test_a_name_of_the_list_is_exact(said: str):
    found = names(*SONGS).find("com.x:song", said)
    assert (found.value, found.how) == (said, "exact")


@pytest.mark.parametrize("said", ["red moon", "RED MOON!", "the red moon", "long way"])
def test_case_articles_and_punctuation_do_not_count(said: str):
    found = names(*SONGS).find("com.x:song", said)
    assert found.value in SONGS
    assert found.how == "normalised"


def test_a_slip_of_the_keys_finds_the_nearest():
    found = names(*SONGS).find("com.x:song", "bohemian rapsody")
    assert (found.value, found.how) == ("Bohemian Rhapsody", "nearest")


@pytest.mark.parametrize("said", ["blue sea", "moon", "red"])
def test_a_name_that_is_far_from_all_stays_as_said_and_is_reported(said: str):
    found = names(*SONGS).find("com.x:song", said)
    assert (found.value, found.how) == (said, "unknown")


def test_of_two_names_as_near_none_is_taken():
    found = names("summer night 1", "summer night 2").find("com.x:song", "summer night 3")
    assert found.how == "unknown"


def test_a_type_without_list_is_not_looked_up():
    found = names(*SONGS).find("com.x:film", "red moon")
    assert (found.value, found.how) == ("red moon", "unlisted")


def test_names_in_programs_become_values_of_the_list_and_the_unknown_are_reported():
    library = few().library
    breeds = library.values("com.thecatapi:breed")
    assert breeds
    program = (
        "now => ( @com.thecatapi.cat_pictures ) filter "
        'param:breed:Entity(com.thecatapi:breed) == " {} " ^^com.thecatapi:breed => notify'
    )
    known = filled("a cat", program.format(breeds[0].upper()), names=EntityNames(library))
    assert f'" {breeds[0]} "' in known.tokens
    assert known.unknown_names == ()
    unknown = filled("a cat", program.format("hydrogen dragon"), names=EntityNames(library))
    assert [name.said for name in unknown.unknown_names] == ["hydrogen dragon"]
    assert '" hydrogen dragon "' in unknown.tokens


def test_the_reader_never_asks_for_the_time_of_day():
    """What "tomorrow" is depends on the argument alone."""
    from pathlib import Path

    import genie_dp.parser.reading as package

    sources = list(Path(package.__file__).parent.glob("*.py"))
    assert len(sources) >= 15
    clocks = re.compile(r"\.(?:now|today|utcnow)\(|time\.time\(")
    assert [path.name for path in sources if clocks.search(path.read_text())] == []
    found = READER.read("today", now=datetime(2030, 5, 1)).values["DATE_0"]
    assert found.value == "date:2030-05-01"
