"""Written forms: what is written can be read back, and means one thing only."""

import re
import textwrap
from collections import Counter
from datetime import date, datetime, time
from decimal import Decimal
from random import Random

import inflect
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment import written as written_values
from genie_dp.augment import written_numbers
from genie_dp.augment.values import shipped_list
from genie_dp.augment.written import TODAY, draw_written
from genie_dp.languages import types as ty
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.units import SHIPPED
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.parser.reading.prepare import key_of
from genie_dp.skills.words import join_tokens
from genie_dp.values import spelling, writing
from genie_dp.values.money import CURRENCIES
from tests.golden import cases

READER, ENGLISH = GrammarReader(), inflect.engine()
SEEDS = st.integers(0, 10**9)
NAMES = ("", "volume", "rating", "like_count", "year", "width", "rank", "distance", "height")
BASES = sorted(SHIPPED.bases())
UNITS = [unit for base in BASES for unit in SHIPPED.of_base(base) if unit.words]
# Units that the reader takes without a library, and that name nothing else ("pounds", "k").
READ = [
    ty.NUMBER, ty.CURRENCY, ty.DATE, ty.TIME,
    *map(ty.Measure, ("ms", "m", "mps", "Pa", "bpm", "dB", "kcal", "lx", "m2", "byte")),
]  # fmt: skip


def said(form):
    return " ".join(form.words)


def units_in(form):
    return re.findall(r"unit:(\S+)", form.value)


# ------------------------------------------------------------------------- one meaning each


@given(st.integers(-(10**11), 10**11) | st.integers(-130, 130), st.booleans(), st.booleans())
def test_numbers_in_words_are_those_of_english(number, hyphen, joined):
    found = spelling.cardinal(number, hyphen=hyphen, joined=joined)
    expected = ENGLISH.number_to_words(number, andword="and" if joined else "").replace(",", "")
    assert found == (expected if hyphen else expected.replace("-", " "))


@given(st.integers(1, 999), st.booleans())
def test_places_in_a_row_are_those_of_english(number, hyphen):
    assert spelling.ordinal_digits(number) == ENGLISH.ordinal(number)
    if number < 100:
        expected = ENGLISH.ordinal(ENGLISH.number_to_words(number))
        expected = expected if hyphen else expected.replace("-", " ")
        assert spelling.ordinal(number, hyphen=hyphen) == expected


@pytest.mark.parametrize("types", [*([type_] for type_ in READ[:4]), READ[4:]], ids=str)
@given(SEEDS, st.sampled_from(NAMES), st.dates(date(2001, 1, 1), date(2060, 1, 1)))
def test_what_is_written_is_read_back(types, seed, name, today):
    now, rng, left = datetime.combine(today, time(10)), Random(seed), 0
    for type_ in types * (20 // len(types)):
        form = draw_written(type_, rng, parameter=name and f"@c.f:{name}", today=today)
        # "a week" may be any, and "5m" a length.
        text = re.sub(r"^an? (?!half|quarter|hundred|thousand|million|dozen)", "1 ", said(form))
        text = re.sub(r"(?<=\d)m$", " million", text) if type_ == ty.NUMBER else text
        found = [key_of(value.value) for value in READER.read(text, now=now).values.values()]
        if found != [key_of(form.value)]:  # "1 won" and "1 / 2" may be anything
            left += 1
            assert {kind for kind, _ in found} <= {"number"} - {str(type_).lower()}
    assert left <= 3


@pytest.mark.parametrize("number", ["1.5", "2.5", "12.5", "104.5"])
def test_halves_are_read_back_in_every_form(number):
    forms = [text for text, _ in writing.number_forms(Decimal(number))]
    assert [text.endswith(" and a half") for text in forms] == [False, False, True]
    for text in forms:
        values = READER.read(text, now=datetime(2027, 1, 13)).values.values()
        assert [key_of(one.value) for one in values] == [key_of(number)], text


def test_no_spelling_of_a_time_has_two_meanings():
    meanings = {}
    for hour in range(24):
        for minute in range(60):
            for text, _ in writing.time_forms(hour, minute):
                assert meanings.setdefault(text, (hour, minute)) == (hour, minute)
    assert len(meanings) > 5000


def test_no_spelling_of_an_amount_of_money_has_two_meanings():
    meanings = {}
    for one in CURRENCIES:
        for whole in (*range(130), 1000, 1200, 2000, 20000):
            for cents in (0, 50) if one.cents else (0,):
                forms = writing.money_forms(whole, cents, one) if whole or cents else ()
                for text, _ in forms:
                    value = (whole, cents, one.code)
                    assert meanings.setdefault(text, value) == value


def test_no_spelling_of_a_measure_has_two_meanings():
    for base in BASES:
        meanings = {}
        for unit in SHIPPED.of_base(base):
            if not unit.words:
                continue
            for count in (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(20), Decimal(1500)):
                for text, _ in writing.measure_forms(count, unit):
                    assert meanings.setdefault(text, (count, unit.name)) == (count, unit.name)


@pytest.mark.parametrize("case", cases("written/names.txt"), ids=str)
def test_units_and_currencies_have_their_names(case, golden):
    if case.name == "currencies":
        currencies = CURRENCIES
        forms = {one.code: writing.money_forms(2, 0, one) for one in currencies}
    else:
        forms = {unit.name: writing.measure_forms(Decimal(2), unit) for unit in UNITS}
    texts = (f"{name}: {', '.join(text for text, _ in forms[name])}" for name in forms)
    golden(case, "\n".join(textwrap.wrap(" | ".join(texts), 120, break_on_hyphens=False)))


# ----------------------------------------------------------------------------- how they fit

TYPES = [
    ty.NUMBER,
    ty.CURRENCY,
    ty.DATE,
    ty.TIME,
    ty.LOCATION,
    *(ty.Measure(base) for base in BASES),
]


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_forms_are_many_tokens_and_values_of_the_language(type_):
    forms = [draw_written(type_, Random(seed)) for seed in range(300)]
    assert forms == [draw_written(type_, Random(seed)) for seed in range(300)]
    assert len(set(forms)) > 100
    assert [said(form) for form in forms] == [join_tokens(said(form)) for form in forms]
    for form in forms[:100]:
        assert from_tokens(f"now => @c.f param:x:{type_} = {form.value}").rules


def test_texts_and_entities_have_no_written_form():
    assert draw_written(ty.STRING, Random(0)) is None
    assert draw_written(ty.Entity("tt:phone_number"), Random(0)) is None
    assert draw_written(ty.Array(ty.NUMBER), Random(0)) is not None


def test_every_unit_of_the_language_is_written():
    assert set(SHIPPED) - {unit.name for unit in UNITS} == {"bytes"}
    assert {unit.base for unit in UNITS} == set(SHIPPED.bases())


def test_numbers_are_as_large_as_the_parameter_lets_expect():
    rng = Random(5)

    def span(name):
        forms = [written_numbers.draw_written_number(rng, parameter=name) for _ in range(500)]
        values = [int(form.value) for form in forms]
        return min(values), max(values), {said(form) for form in forms}

    least, most, _ = span("@com.spotify.set_volume:volume")
    assert 1 <= least <= most <= 100
    least, most, _ = span("@c.f:year")
    assert 1950 <= least <= most <= 2030
    least, most, _ = span("@c.f:view_count")
    assert least < 10 < 100_000 < most
    for _ in range(4):  # percentages are never dozens
        _, _, texts = span("@c.f:humidity")
        assert not [text for text in texts if "dozen" in text or text.startswith("a ")]


def test_a_measure_takes_the_units_that_fit_its_parameter():
    rng = Random(7)
    drawn = [written_numbers.draw_measure(rng, "m", parameter="@c.f:distance") for _ in range(500)]
    assert {unit for form in drawn for unit in units_in(form)} == {"km", "mi", "m"}


def test_relative_dates_are_told_from_the_day_that_is_given():
    today = date(2030, 12, 31)
    drawn = [draw_written(ty.DATE, Random(seed), today=today) for seed in range(2000)]
    assert {form.value for form in drawn if said(form) == "tomorrow"} == {"date:2031-01-01"}
    assert date(2027, 1, 13) == TODAY


def test_places_are_cities_with_their_position_or_places_of_the_user():
    drawn = [written_values.draw_place(Random(seed)) for seed in range(300)]
    cities = [form for form in drawn if " at:" in form.value]
    assert all(said(form) in shipped_list("city").texts for form in cities)
    assert {form.value for form in drawn} - {form.value for form in cities} == {
        "location:home", "location:work", "location:current_location",
    }  # fmt: skip


# --------------------------------------------------------------- units beyond ThingTalk 1.x


def test_units_that_no_parameter_is_declared_in_are_not_written():
    """What was written before there were more units is written still."""
    for base in {unit.base for unit in SHIPPED.by_name.values() if unit.is_classic}:
        names = {unit.name for unit in written_numbers.units_of(base, "")}
        assert names == {u.name for u in SHIPPED.of_base(base) if u.is_classic and u.words}


def test_a_parameter_is_written_in_the_unit_of_its_type():
    for unit in (unit for unit in SHIPPED.by_name.values() if not unit.is_classic):
        drawn = (written_numbers.draw_measure(Random(seed), unit.name) for seed in range(200))
        units = Counter(name for form in drawn for name in units_in(form))
        assert unit.name in units
        sizes = {SHIPPED.factor(name) / unit.factor for name in units}
        assert all(Decimal("0.001") <= size <= 1000 for size in sizes)
        assert all(SHIPPED.is_same_base(name, unit.name) for name in units)
