"""Predicted programs get the values of their sentence, and names are looked up."""

import re
from datetime import datetime
from pathlib import Path

import pytest

import genie_dp.parser.reading as package
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.thingtalk.ast import DateValue, StringValue
from genie_dp.languages.thingtalk.placeholders import fill as put_in
from genie_dp.languages.thingtalk.simulate import Table, simulate
from genie_dp.locale import locale_from
from genie_dp.parser.reading.fill import EntityNames, fill
from genie_dp.parser.reading.grammar_reader import GrammarReader, load_reader
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
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
            tree = THINGTALK.from_tokens(f"now => @com.x.f param:a:{value.type} = {token}")
            whole = put_in(tree, {token: (value.value, value.text)})
            assert THINGTALK.parse(THINGTALK.render(whole)) == whole


@pytest.mark.parametrize(
    ("sentence", "operator", "days"),
    [
        ("mail that came on friday", "==", range(15, 16)),
        ("mail that came next week", "==", range(18, 25)),
        ("mail from this weekend", "==", range(16, 18)),
        ("mail from this month", "==", range(1, 32)),
        ("mail older than this week", "<", range(1, 11)),
        ("mail until next week", "<=", range(1, 25)),
        ("mail from next week on", ">=", range(18, 32)),
        ("mail after next week", ">", range(25, 32)),
        ("mail since last week", ">", range(4, 32)),
        ("mail that came tomorrow at 3 pm", "==", range(14, 15)),
        ("mail that came tomorrow afternoon", "==", range(14, 15)),
        ("mail that came tomorrow morning", "==", range(0)),
    ],
)
def test_a_span_of_time_is_compared_by_both_of_its_ends(sentence, operator, days):
    program = f"now => ( @com.gmail.inbox ) filter param:date:Date {operator} DATE_0 => notify"
    found = filled(sentence, program)
    inbox = Table(tuple([tuple({"date": DateValue(f"2027-01-{day:02d}T15:00:00")}
                               for day in range(1, 32))]))  # fmt: skip
    effects = simulate(found.program, {"@com.gmail.inbox": inbox}, steps=[NOW])
    assert [int(dict(e.arguments)["date"].iso[8:10]) for e in effects] == [*days]


def test_several_values_of_one_output_are_alternatives():
    condition = "param:date:Date == DATE_0 and param:date:Date == DATE_1"
    program = f"now => ( @com.gmail.inbox ) filter {condition} => notify"
    found = filled("mail from saturday and sunday", program)
    assert THINGTALK.render(found.program) == (
        'now => (@com.gmail.inbox()) filter date < new Date("2027-01-18")'
        ' && date >= new Date("2027-01-16") => notify'
    )
    apart = filled("mail from saturday and monday", program)
    assert "||" in THINGTALK.render(apart.program)


def test_a_day_told_from_today_is_another_one_each_time_that_a_timer_fires():
    program = "attimer time = time:8:00:00 => ( @com.gmail.inbox ) filter param:date:Date >= DATE_0"
    with pytest.raises(GenieError, match="'yesterday' is another day each time"):
        filled("mail since yesterday", f"{program} => notify")
    assert "2027-03-03" in filled("mail since march 3 2027", f"{program} => notify").tokens


@pytest.mark.parametrize(("volume", "is_one"), [("40", True), ("140", False)])
def test_a_number_outside_of_the_bounds_of_its_parameter_is_no_value_of_it(volume, is_one):
    library = load_library([data_folder("thingpedia") / "org.thingpedia.tv"])
    values = READER.read(f"volume {volume}", now=NOW).values
    program = "now => @org.thingpedia.tv.set_volume param:volume:Number = NUMBER_0"
    if is_one:
        assert volume in fill(program, values, language=THINGTALK, library=library).tokens
        return
    with pytest.raises(GenieError, match="I015"):
        fill(program, values, language=THINGTALK, library=library)


def test_a_span_of_time_where_no_date_is_compared_is_no_value():
    timer = "timer base = DATE_0 , interval = 1 unit:h => @com.gmail.inbox => notify"
    with pytest.raises(GenieError, match="expected one date, got a span of time: next week"):
        filled("from next week on", timer)


@pytest.mark.parametrize(
    ("sentence", "region", "expected"),
    [
        ("turn it to 21 degrees", "F", "21C"),
        ("turn it to 70 degrees", "F", "70F"),
        ("turn it to 70 degrees", "C", "70F"),
        ("turn it to 21 degrees", "C", "21C"),
        ("turn it to 21 degrees fahrenheit", "F", "21F"),
        ("turn it to 400 degrees", "F", "400F"),  # neither may be: it stays as it was read
    ],
)
def test_degrees_without_a_scale_are_those_of_the_other_where_only_these_may_be(
    sentence, region, expected
):
    library = load_library([data_folder("thingpedia") / "org.thingpedia.thermostat"])
    locale = locale_from({"temperature": region})
    values = load_reader(locale=locale).read(sentence, now=NOW).values
    program = "now => @org.thingpedia.thermostat.set_temperature param:temperature:Measure(C) = "
    found = fill(f"{program}MEASURE_C_0", values, language=THINGTALK, library=library)
    assert f"(temperature = {expected})" in THINGTALK.render(found.program)


def test_a_percent_sign_is_said_once_inside_of_text():
    found = filled(
        "tweet 20% off", 'now => @com.twitter.post param:status:String = " NUMBER_0 percent off "'
    )
    assert '" 20 percent off "' in found.tokens


def test_a_placeholder_without_value_or_without_a_form_in_the_language_is_an_error():
    with pytest.raises(GenieError, match="I010.*NUMBER_3(.|\n)*DATE_0"):
        filled("on march 3", "now => @com.x.f param:a:Number = NUMBER_3")
    values = READER.read("5 km", now=NOW).values
    with pytest.raises(GenieError, match="I011"):
        fill("( a MEASURE_m_0 )", values, language=get_language("sexpr"))


def names(*values: str, threshold: float = 85.0) -> EntityNames:
    listed = SkillValues("com.x:song", values, (1.0,) * len(values))
    return EntityNames(SkillLibrary(value_lists={"com.x:song": listed}), threshold)


SONGS = ("Red Moon", "Red Mood", "The Long Way", "Bohemian Rhapsody", "Night 1", "Night 2")


@pytest.mark.parametrize(
    ("said", "value", "how"),
    [
        *((song, song, "exact") for song in SONGS),
        ("red moon", "Red Moon", "normalised"),
        ("RED MOON!", "Red Moon", "normalised"),
        ("the red moon", "Red Moon", "normalised"),
        ("long way", "The Long Way", "normalised"),
        ("bohemian rapsody", "Bohemian Rhapsody", "nearest"),
        ("blue sea", "blue sea", "unknown"),
        ("moon", "moon", "unknown"),
        ("red", "red", "unknown"),
        ("night 3", "night 3", "unknown"),  # a number is no slip
        ("red moot", "red moot", "unknown"),  # two are as near
    ],
)
def test_a_name_is_found_in_its_list_but_for_case_articles_and_slips(said, value, how):
    found = names(*SONGS).find("com.x:song", said)
    assert (found.value, found.how) == (value, how)
    assert names(*SONGS).find("com.x:film", said).how == "unlisted"


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
    sources = list(Path(package.__file__).parent.glob("*.py"))
    assert len(sources) >= 15
    clocks = re.compile(r"\.(?:now|today|utcnow)\(|time\.time\(")
    assert [path.name for path in sources if clocks.search(path.read_text())] == []
    found = READER.read("today", now=datetime(2030, 5, 1)).values["DATE_0"]
    assert found.value == "date:2030-05-01"
