"""Written forms: what is written can be read back, and means one thing only."""

from collections import Counter
from datetime import date
from decimal import Decimal
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.augment import written as written_values
from genie_dp.augment import written_numbers
from genie_dp.augment.values import shipped_list
from genie_dp.augment.written import TODAY, draw_written
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    Array,
    Entity,
    Measure,
)
from genie_dp.languages.units import SHIPPED
from genie_dp.skills.words import join_tokens
from tests.augment import written_oracle as oracle

SEEDS = st.integers(0, 10**9)
PARAMETERS = st.sampled_from(
    ["", "@c.f:volume", "@c.f:rating", "@c.f:like_count", "@c.f:year", "@c.f:width", "@c.f:rank"]
)
BASES = sorted(written_numbers.UNITS_BY_BASE)


def said(form):
    return " ".join(form.words)


def parts(value):
    """Split "6 unit:ft 3 unit:in" into numbers and units."""
    words = value.split()
    pairs = zip(words[::2], words[1::2], strict=True)
    return tuple((Decimal(count), unit.removeprefix("unit:")) for count, unit in pairs)


# ------------------------------------------------------------------------- one meaning each


@given(st.integers(-(10**11), 10**11), st.booleans(), st.booleans())
def test_numbers_in_words_can_be_read_back(number, hyphen, joined):
    assert oracle.number(written_numbers.cardinal(number, hyphen=hyphen, joined=joined)) == number


@given(st.integers(1, 999), st.booleans())
def test_places_in_a_row_can_be_read_back(number, hyphen):
    assert oracle.ordinal(written_numbers.ordinal_digits(number)) == number
    if number < 100:
        assert oracle.ordinal(written_numbers.ordinal(number, hyphen=hyphen)) == number


@given(SEEDS, PARAMETERS)
def test_a_written_number_means_its_value(seed, parameter):
    form = written_numbers.draw_written_number(Random(seed), parameter=parameter)
    assert oracle.number(said(form)) == Decimal(form.value)


@given(SEEDS, st.sampled_from(BASES), st.sampled_from(["", "@c.f:distance", "@c.f:height"]))
def test_a_written_measure_means_its_value(seed, base, parameter):
    form = written_numbers.draw_measure(Random(seed), base, parameter=parameter)
    read = oracle.measures(said(form), base)
    assert read is not None
    assert oracle.same_size(read, parts(form.value), base)


@given(SEEDS)
def test_written_money_means_its_value(seed):
    form = written_numbers.draw_money(Random(seed))
    _, amount, code = form.value.split(":")
    assert oracle.money(said(form)) == (Decimal(amount), code)


@given(SEEDS, st.dates(date(2001, 1, 1), date(2080, 1, 1)))
def test_a_written_date_means_its_value(seed, today):
    form = written_values.draw_date(Random(seed), today=today)
    assert oracle.day(said(form), today).isoformat() == form.value.removeprefix("date:")


@given(SEEDS)
def test_a_written_time_means_its_value(seed):
    form = written_values.draw_time(Random(seed))
    hour, minute = oracle.time(said(form))
    assert f"time:{hour}:{minute:02d}:00" == form.value


def test_no_spelling_of_a_time_has_two_meanings():
    meanings = {}
    for hour in range(24):
        for minute in range(60):
            for text, _ in written_values.time_forms(hour, minute):
                assert meanings.setdefault(text, (hour, minute)) == (hour, minute)
    assert len(meanings) > 5000


def test_no_spelling_of_an_amount_of_money_has_two_meanings():
    meanings = {}
    for one in written_numbers.CURRENCIES:
        for whole in (*range(130), 1000, 1200, 2000, 20000):
            for cents in (0, 50) if one.cent else (0,):
                for text, _ in (
                    written_numbers.money_forms(whole, cents, one) if whole or cents else ()
                ):
                    value = (whole, cents, one.code)
                    assert meanings.setdefault(text, value) == value


@pytest.mark.parametrize("base", BASES)
def test_no_spelling_of_a_measure_has_two_meanings(base):
    meanings = {}
    for unit in written_numbers.UNITS_BY_BASE[base]:
        for count in (Decimal(1), Decimal(2), Decimal("2.5"), Decimal(20), Decimal(1500)):
            for text, _ in written_numbers.measure_forms(count, unit):
                assert meanings.setdefault(text, (count, unit.name)) == (count, unit.name)


# ----------------------------------------------------------------------------- how they fit

TYPES = [NUMBER, CURRENCY, DATE, TIME, LOCATION, *(Measure(base) for base in BASES)]
PROGRAM = "now => @c.f param:x:{} = {}"


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_words_are_tokens_as_utterances_are(type_):
    rng = Random(3)
    for _ in range(400):
        text = said(draw_written(type_, rng))
        assert join_tokens(text) == text


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_values_are_read_by_the_language(type_):
    rng = Random(4)
    for _ in range(100):
        form = draw_written(type_, rng)
        assert from_tokens(PROGRAM.format(type_, form.value)).rules


@pytest.mark.parametrize("type_", TYPES, ids=str)
def test_the_same_seed_gives_the_same_forms_and_many_of_them(type_):
    first = [draw_written(type_, Random(seed)) for seed in range(300)]
    assert first == [draw_written(type_, Random(seed)) for seed in range(300)]
    assert len(set(first)) > 100


def test_texts_and_entities_have_no_written_form():
    assert draw_written(STRING, Random(0)) is None
    assert draw_written(Entity("tt:phone_number"), Random(0)) is None
    assert draw_written(Array(NUMBER), Random(0)) is not None


def test_every_unit_of_the_language_is_written():
    known = {unit.name for units in written_numbers.UNITS_BY_BASE.values() for unit in units}
    assert set(SHIPPED) - known == {"bytes"}
    assert set(BASES) == set(SHIPPED.bases())


def test_numbers_are_as_large_as_the_parameter_lets_expect():
    rng = Random(5)
    volumes = [
        int(
            written_numbers.draw_written_number(
                rng, parameter="@com.spotify.set_volume:volume"
            ).value
        )
        for _ in range(500)
    ]
    assert 1 <= min(volumes) <= max(volumes) <= 100
    years = [
        int(written_numbers.draw_written_number(rng, parameter="@c.f:year").value)
        for _ in range(100)
    ]
    assert 1950 <= min(years) <= max(years) <= 2030
    counts = [
        int(written_numbers.draw_written_number(rng, parameter="@c.f:view_count").value)
        for _ in range(500)
    ]
    assert min(counts) < 10 < 100_000 < max(counts)


def test_percentages_are_never_dozens():
    rng = Random(6)
    texts = {
        said(written_numbers.draw_written_number(rng, parameter="@c.f:humidity"))
        for _ in range(2000)
    }
    assert not [text for text in texts if "dozen" in text or text.startswith("a ")]


def test_a_measure_takes_the_units_that_fit_its_parameter():
    rng = Random(7)
    drawn = [written_numbers.draw_measure(rng, "m", parameter="@c.f:distance") for _ in range(500)]
    units = Counter(unit for form in drawn for _, unit in parts(form.value))
    assert set(units) == {"km", "mi", "m"}


def test_relative_dates_are_told_from_the_day_that_is_given():
    tomorrow = {
        form.value
        for seed in range(2000)
        if said(form := draw_written(DATE, Random(seed), today=date(2030, 12, 31))) == "tomorrow"
    }
    assert tomorrow == {"date:2031-01-01"}
    assert date(2027, 1, 13) == TODAY


def test_places_are_cities_with_their_position_or_places_of_the_user():
    rng = Random(8)
    drawn = [written_values.draw_place(rng) for _ in range(300)]
    cities = [form for form in drawn if " at:" in form.value]
    assert all(said(form) in shipped_list("city").texts for form in cities)
    assert {form.value for form in drawn} - {form.value for form in cities} == {
        "location:home",
        "location:work",
        "location:current_location",
    }


# --------------------------------------------------------------- units beyond ThingTalk 1.x


def test_units_that_no_parameter_is_declared_in_are_not_written():
    """What was written before there were more units is written still."""
    for base in {unit.base for unit in SHIPPED.by_name.values() if unit.is_classic}:
        names = {unit.name for unit in written_numbers.units_of(base, "")}
        assert names == {u.name for u in SHIPPED.of_base(base) if u.is_classic and u.words}


@pytest.mark.parametrize("unit", [u for u in SHIPPED.by_name.values() if not u.is_classic], ids=str)
def test_a_parameter_is_written_in_the_unit_of_its_type(unit):
    drawn = [written_numbers.draw_measure(Random(seed), unit.name) for seed in range(200)]
    units = [name for form in drawn for _, name in parts(form.value)]
    assert unit.name in units
    sizes = {SHIPPED.factor(name) / unit.factor for name in units}
    assert all(Decimal("0.001") <= size <= 1000 for size in sizes)
    assert all(SHIPPED.is_same_base(name, unit.name) for name in units)
