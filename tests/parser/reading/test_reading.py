"""Raw sentences become utterances with placeholders and values."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.placeholders import constant
from genie_dp.languages.types import slot_type
from genie_dp.locale import Locale
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.parser.reading.prepare import key_of
from genie_dp.parser.reading.reading import MOST_CHARACTERS, Reader, Reading
from genie_dp.parser.reading.sentence import clean
from genie_dp.skills.words import tokenize
from genie_dp.values.calendar import MONTHS, WEEKDAYS
from tests.parser.reading.reading_cases import NOW, reading_cases, topics, traps

GRAMMAR = GrammarReader()
CASES = [case for topic in topics() for case in reading_cases(topic)]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return GRAMMAR


def said(reading: Reading) -> tuple[str, ...]:
    return tuple(value.value for value in reading.values.values())


def test_there_are_as_many_cases_as_there_should_be():
    assert len(CASES) >= 250
    assert len(traps()) >= 80
    assert len({case.sentence for case in CASES}) == len(CASES)


@pytest.mark.parametrize("topic", topics())
def test_sentences_are_read(topic: str, reader: Reader):
    for case in reading_cases(topic):
        found = reader.read(case.sentence, now=NOW)
        assert (found.utterance, said(found)) == (case.utterance, case.values), case.sentence


def test_no_trap_fires(reader: Reader):
    for sentence in traps():
        found = reader.read(sentence, now=NOW)
        assert (found.values, found.tokens) == ({}, tokenize(sentence))


# ------------------------------------------------------------------------------------- laws

PIECES = """
at 5 pm tomorrow two and a half hours 20 dollars between to from the 2nd of may in an hour ago $5
new york 60 mph " ' @bob #tag a@b.example half past eight NUMBER_0 DATE_3 . , ( ) / - 3 / 14 6 feet
twenty five % percent degrees c 5km 8:30 next friday this week one minus point hundred every
report.pdf www.example.com 201 555 0123 +44 20 7946 0958 2-4pm 5-10 minutes march
"""
WORDS = st.sampled_from(PIECES.split())
SENTENCES = st.lists(WORDS, max_size=14).map(" ".join)
ANYTHING = st.one_of(st.text(max_size=60), SENTENCES)


@given(ANYTHING)
def test_any_text_is_read_in_readings_of_its_words_and_of_constants_in_order(text: str):
    found = GRAMMAR.readings(text, now=NOW, most=6)
    assert GrammarReader().readings(text, now=NOW, most=6) == found
    assert found[0] == GRAMMAR.read(text, now=NOW)
    assert GRAMMAR.read(found[0].utterance, now=NOW).utterance == found[0].utterance
    assert [one.doubt for one in found] == sorted(one.doubt for one in found)
    assert len(found) <= 6
    marks = [(one.tokens, tuple(v.span for v in one.values.values()), said(one)) for one in found]
    assert len(set(marks)) == len(marks)
    for one in found:
        if not one.values:
            assert one.tokens == tokenize(clean(text))
        end = 0
        for token, value in one.values.items():
            assert end <= value.span[0] < value.span[1] <= len(text)
            assert value.text == clean(text)[slice(*value.span)]
            end = value.span[1]
            assert str(slot_type(token)) == value.type
            constant(value.value)


@given(SENTENCES)
def test_words_around_values_are_the_tokenizers_and_values_are_numbered_from_the_left(text: str):
    found = GRAMMAR.read(text, now=NOW)
    kept = [token for token in found.tokens if token not in found.values]
    spans = [value.span for value in found.values.values()]
    rest, at = [], 0
    for start, end in spans:
        rest.append(text[at:start])
        at = end
    words = list(tokenize(" ".join([*rest, text[at:]])))
    # A sign of per cent is said as a word, and ranges are taken apart.
    plain = [word for word in kept if word not in ("percent", "%", "-")]
    assert plain == [word for word in words if word not in ("percent", "%", "-")]
    for stem in {token.rpartition("_")[0] for token in found.values}:
        numbers = [int(t.rpartition("_")[2]) for t in found.values if t.rpartition("_")[0] == stem]
        assert numbers == sorted(set(numbers))


def test_reading_the_utterance_of_a_case_again_changes_nothing():
    for case in CASES:
        assert GRAMMAR.read(case.utterance, now=NOW).utterance == case.utterance


# ---------------------------------------------------------------------------- other readings


@pytest.mark.parametrize(
    ("sentence", "utterances"),
    [
        ("on march 14 at 8 pm", {"on DATE_0", "on DATE_0 at TIME_0"}),
        ("what is on today", {"what is on DATE_0", "what is on today"}),
        ("add 5 pounds", {"add CURRENCY_0", "add MEASURE_kg_0"}),
        ("weather at my office", {"weather at my office", "weather at LOCATION_0"}),
    ],
)
def test_a_sentence_has_other_readings(sentence: str, utterances: set[str]):
    assert utterances <= {one.utterance for one in GRAMMAR.readings(sentence, now=NOW)}


@pytest.mark.parametrize(
    "text",
    [
        "which of the kites can rise higher than most",
        "a ride to the airport",
        "drive to my university",
    ],
)
def test_small_words_and_things_are_no_cities_in_any_reading(text: str):
    assert [one.utterance for one in GRAMMAR.readings(text, now=NOW, most=4)] == [text]


@pytest.mark.parametrize(
    ("sentence", "days"),
    [
        ("born before 2012", ("2012-01-01",)),
        ("born after 2012", ("2012-12-31",)),
        ("born later than 1999", ("1999-12-31",)),
        ("files since 2020", ("2020-01-01",)),
        ("between 2010 and 2012", ("2010-01-01", "2012-12-31")),
        ("from 2010 to 2012", ("2010-01-01", "2012-12-31")),
        ("more than 2012", ()),
        ("room 2012", ()),
    ],
)
def test_a_bare_year_is_a_number_first_and_then_a_day(sentence: str, days: tuple[str, ...]):
    first, *others = GRAMMAR.readings(sentence, now=NOW)
    assert {value.type for value in first.values.values()} == {"Number"}
    dates = max(
        (tuple(v for v in said(one) if v.startswith("date:")) for one in others),
        key=len,
        default=(),
    )
    assert dates == tuple(f"date:{day}" for day in days)


def test_dates_with_their_times_as_machines_write_them_and_links_are_one_value():
    found = GRAMMAR.read("from 2027-05-06T10:00 to 2027-05-06T11:30:15", now=NOW)
    assert found.utterance == "from DATE_0 to DATE_1"
    assert said(found) == ("date:2027-05-06T10:00:00", "date:2027-05-06T11:30:15")
    for link in (
        "https://blog.example/@bob/My-Post",
        "www.example.com/@bob",
        "http://localhost:8080/a",
        "https://bob:secret@example.com/",
    ):
        found = GRAMMAR.read(f"open {link} now", now=NOW)
        assert found.utterance == "open URL_0 now"
        assert said(found) == (f'" {link} " ^^tt:url',)


# ----------------------------------------------------------------------------- time and locale


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_every_reference_time_works(now: datetime):
    for text in ("tomorrow in 9 weeks 3 years ago", "next friday at 8 on the 31st", "last week"):
        GRAMMAR.read(text, now=now)


HOURS = st.integers(-2, 30)


@given(HOURS, HOURS, HOURS, HOURS)
def test_every_hour_that_a_locale_may_have_can_be_read(morning, afternoon, evening, night):
    hours = {"morning": morning, "afternoon": afternoon, "evening": evening, "night": night}
    try:
        locale = Locale(**hours)
    except GenieError:
        assert not all(1 <= hour <= 23 for hour in hours.values())
        return
    for text in ("tomorrow morning", "tonight", "this evening at 5", "at 3 in the afternoon"):
        for found in GRAMMAR.readings(text, now=NOW, locale=locale):
            for value in found.values.values():
                constant(value.value)


def test_days_degrees_and_phone_numbers_are_those_of_the_locale():
    british = Locale("GB", "gbp", "C", True)
    found = GRAMMAR.read("on 3/4/2027 at 20 degrees", now=NOW, locale=british)
    assert said(found) == ("date:2027-04-03", "20 unit:C")
    found = GRAMMAR.read("call 020 7946 0958", now=NOW, locale=Locale(region="GB"))
    assert said(found) == ('" +442079460958 " ^^tt:phone_number',)


# ------------------------------------------------------------------------- dates and numbers

MORNINGS = st.dates(date(1950, 1, 1), date(2150, 12, 31)).map(
    lambda day: datetime(day.year, day.month, day.day, 11)
)


RANGES = ("from {} to {}", "{} through {}", "between {} and {}", "{} at 8 pm until {}")


def dates(text: str, now: datetime) -> list[datetime]:
    found = said(GRAMMAR.read(text, now=now))
    return [datetime.fromisoformat(value.removeprefix("date:")) for value in found]


@given(MORNINGS, st.integers(1, 12))
def test_what_is_told_for_tonight_is_yet_to_come(now: datetime, hour: int):
    for text in (f"at {hour} tonight", f"tonight at {hour}"):
        (found,) = dates(text, now)
        assert timedelta(hours=6) <= found - now < timedelta(hours=18)
        assert found.hour % 12 == hour % 12


@given(MORNINGS)
def test_midnight_is_that_of_the_next_day_and_a_leap_day_the_next_one(now: datetime):
    for text in ("at midnight tonight", "tonight at 12 am"):
        assert dates(text, now) == [now + timedelta(hours=13)]
    (written,) = dates("on 2/29", now)
    for text in ("on february 29", "on the 29th of february"):
        assert dates(text, now) == [written]
    assert timedelta(days=-1) < written - now < timedelta(days=8 * 366)


@given(MORNINGS, st.integers(1, 28), st.integers(1, 28), st.sampled_from(MONTHS), st.booleans())
@example(datetime(2000, 7, 2, 11), 1, 2, "july", True)
def test_a_range_of_days_begins_before_it_ends(
    now: datetime, one: int, other: int, month: str, is_long: bool
):
    long = f"from the {nth(one)} to the {nth(other)} of {month}"
    first, last = dates(long if is_long else f"{one}-{other} {month}", now)
    assert (first.day, last.day) == (one, other)
    assert timedelta(0) <= last - first < timedelta(days=31)


@given(MORNINGS, st.sampled_from(WEEKDAYS), st.sampled_from(WEEKDAYS), st.sampled_from(RANGES))
def test_a_range_of_days_of_the_week_is_less_than_a_week(
    now: datetime, one: str, other: str, form: str
):
    assume(one != other)
    first, last = dates(form.format(one, other), now)
    assert timedelta(0) < last - first < timedelta(days=7)
    assert (first.weekday(), last.weekday()) == (WEEKDAYS.index(one), WEEKDAYS.index(other))


@given(st.lists(st.sampled_from(WEEKDAYS), min_size=1, max_size=7), st.integers(1, 12))
def test_no_day_of_a_recurrence_is_a_date(names: list[str], hour: int):
    found = GRAMMAR.read(f"every {', '.join(names)} and {names[0]} at {hour} pm", now=NOW)
    assert said(found) == (f"time:{hour % 12 + 12}:00:00",)


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(["am", "pm"]), st.booleans())
def test_both_hours_of_a_range_are_times_of_which_one_tells_the_half(
    one: int, other: int, half: str, is_first: bool
):
    text = f"from {one} {half} to {other}" if is_first else f"from {one} to {other} {half}"
    first, last = (int(value.split(":")[1]) for value in said(GRAMMAR.read(text, now=NOW)))
    assert (first % 12, last % 12) == (one % 12, other % 12)
    assert 0 < (last - first) % 24 <= 12
    told = first if is_first else last
    assert (told >= 12) == (half == "pm")


@given(st.datetimes(datetime(2026, 3, 20), datetime(2026, 11, 10)), st.integers(1, 600))
@example(datetime(2026, 3, 29, 0, 30), 60)
@example(datetime(2026, 10, 25, 0, 30), 90)
def test_minutes_from_now_are_as_long_when_clocks_are_changed(now: datetime, minutes: int):
    pytest.importorskip("tzdata")
    here = ZoneInfo("Europe/Berlin")
    then = now.replace(second=0, microsecond=0, tzinfo=UTC).astimezone(here)
    (found,) = said(GRAMMAR.read(f"in {minutes} minutes", now=then))
    later = (then.astimezone(UTC) + timedelta(minutes=minutes)).astimezone(here)
    assert found == f"date:{later.replace(tzinfo=None).isoformat()}"


def nth(day: int) -> str:
    ends = {1: "st", 2: "nd", 3: "rd", 21: "st", 22: "nd", 23: "rd"}
    return f"{day}{ends.get(day, 'th')}"


@given(
    st.integers(1, 18).flatmap(lambda n: st.integers(10 ** (n - 1), 10**n - 1)),
    st.sampled_from(["", ".25", ".123456789012"]),
    st.sampled_from(["", "trillion", "dozen", "hours", "trillion km", "%", "billion euros"]),
)
def test_numbers_of_any_size_are_read_and_can_be_compared(whole: int, behind: str, unit: str):
    (found, *_) = GRAMMAR.readings(f"at {whole}{behind} {unit}", now=NOW, most=4)
    assert all(key_of(value) for value in said(found))
    assert found.values


# ------------------------------------------------------------------------------------ guards


def test_nul_and_lone_surrogates_do_not_stop_a_reader(reader: Reader):
    found = reader.read("at\x005 pm \ud800 tomorrow", now=NOW)
    assert said(found) == ("date:2027-01-14T17:00:00",)


def test_comparisons_and_placeholders_of_the_text_stay(reader: Reader):
    for sentence, utterance in (
        ("within NUMBER_0 km and 5 more until DATE_1 at 8pm",
         "within NUMBER_0 km and NUMBER_1 more until DATE_1 at TIME_0"),
        ("every friday at 5 pm", "every friday at TIME_0"),
        ("over 10 dollars", "over CURRENCY_0"),
        ("after march 3", "after DATE_0"),
    ):  # fmt: skip
        assert reader.read(sentence, now=NOW).utterance == utterance


def test_too_long_a_text_is_an_error(reader: Reader):
    with pytest.raises(GenieError, match="I002"):
        reader.read("a " * MOST_CHARACTERS, now=NOW)
