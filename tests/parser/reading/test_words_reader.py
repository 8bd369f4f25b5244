"""Values that the reader of other languages finds by the words of their files."""

import re
from datetime import datetime
from functools import cache
from random import Random

import pytest

pytest.importorskip("unicode_rbnf")

from genie_dp.augment.words_written import draw_by_words
from genie_dp.languages import types as ty
from genie_dp.languages.units import SHIPPED
from genie_dp.locale import LOCALE, Locale, locale_from
from genie_dp.parser.reading.grammar_reader import GrammarReader, load_reader
from genie_dp.parser.reading.prepare import key_of
from genie_dp.parser.reading.sentence import sentence
from genie_dp.parser.reading.words_reader import WordsReader
from tests.golden import DATA

NOW = datetime(2027, 1, 13, 10, 0)
LANGUAGES = ("de", "es", "fr", "nl")


def shown(language, sentence):
    """Return what is read as the cases have it: the utterance, and the values."""
    found = read(language, sentence)
    values = " ; ".join(value.value for value in found.values.values())
    return f"{found.utterance} :: {values}".rstrip()


@cache
def reader_of(language):
    return load_reader(units=SHIPPED, locale=locale_from(language))


def read(language, sentence):
    return reader_of(language).read(sentence, now=NOW)


@pytest.mark.parametrize("language", LANGUAGES)
def test_values_are_read(language):
    lines = (DATA / "reading_words" / f"{language}.txt").read_text(encoding="utf-8").splitlines()
    cases = dict(line.split(" => ") for line in lines[1:])
    assert {sentence: shown(language, sentence) for sentence in cases} == cases
    assert len(cases) >= 15


def test_the_reader_is_that_of_the_language():
    assert isinstance(load_reader(locale=LOCALE), GrammarReader)
    assert isinstance(load_reader(locale=locale_from("nl")), WordsReader)


def value_rows(language):
    """Yield the sentences of a language, what they mean, and whether they are read as yet."""
    is_read = True
    text = (DATA / "reading_values" / f"{language}.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        if line.startswith("#"):
            is_read = is_read and line != "# Not read as yet."
            continue
        sentence, _, values = line.partition(" =>")
        yield sentence, [value.strip() for value in values.split(" ; ") if value.strip()], is_read


@pytest.mark.parametrize(("language", "least"), [("en", 60), *((name, 250) for name in LANGUAGES)])
def test_values_are_read_as_people_say_them(language, least):
    """At least 19 of 20, and none of those that were read before is lost."""
    rows = list(value_rows(language))
    right = {
        sentence
        for sentence, values, _ in rows
        if [key_of(x.value) for x in read(language, sentence).values.values()]
        == [key_of(value) for value in values]
    }
    assert len(rows) >= least
    assert len(right) >= (0.9 if language == "en" else 0.95) * len(rows)
    assert right == {sentence for sentence, _, is_read in rows if is_read}


PIECES = (
    "1", "2", "30", "3.5", "500", "0", ",", ".", "/", "-", "1/2", "2½", "½", "€", "$", "%",
    "7:30", "7.30", "31.", "29.2.", "3/5/2027", "2027-05-03", "1h30", "25:00", "NUMBER_0", "„",
    '"', "d'", "'", "²", "²/3",
)  # fmt: skip


@pytest.mark.parametrize("language", ["en", *LANGUAGES, "it"])
def test_words_of_values_in_any_order_are_read(language):
    """Spans are in the text, and what is left of it are its own words."""
    rng, pool = Random(5), set()
    words = locale_from(language).words
    for table in (words.units, words.amounts, words.days, words.parts_of_day, words.times,
                  words.dates, words.numbers, words.fractions, words.scales):  # fmt: skip
        for name in (*table, *(table.values() if table is words.units else ())):
            pool.update(re.sub(r"[()|<>A-Z]", " ", name).split())
    for text, *_ in value_rows(language) if language != "it" else ():
        pool.update(text.split())
    known = sorted(pool) or ["uno", "due"]
    reader = reader_of(language)
    for _ in range(800):
        pieces = [
            rng.choice(known if rng.random() < 0.7 else PIECES) for _ in range(rng.randint(1, 9))
        ]
        text = (" " if rng.random() < 0.9 else "").join(pieces)
        for found in reader.readings(text, now=NOW, most=3):
            assert all(text[slice(*value.span)].strip() for value in found.values.values()), text


REPEATED = {
    "de": ("um 5 vor halb neun ", "am 3.5. ", "zwei komma fünf ", "500 ", "zwischen 2 und ",
           "freitag ", "1 1/2 stunden und ", "zehnminütigen ", "abends ", "tausend "),
    "es": ("a las ocho y media ", "hora y media ", "entre 3 y ", "mil "),
    "fr": ("d'une heure et demie ", "vendredi soir à ", "du 3 au ", "d'", "moins "),
    "nl": ("een uurtje ", "van 3 tot en met ", "honderd ", "'s avonds om "),
}  # fmt: skip


@pytest.mark.parametrize("language", REPEATED)
def test_twice_as_long_a_text_is_twice_as_much_work(language):
    locale = locale_from(language)
    reader = load_reader(locale=locale)

    def work(text):
        s = sentence(text, locale, SHIPPED)
        return len(list(reader.candidates(s, NOW))) + s.work[0]

    for phrase in REPEATED[language]:
        few, many = work(phrase * 25), work(phrase * 50)
        assert many <= 2.1 * few + 100, phrase
        assert many <= 150 * len(f"{phrase * 50}".replace("'", "' ").split()), phrase
    deepest = reader.read("d'" * 1990, now=NOW)
    assert not deepest.values


def test_the_locale_is_that_of_the_reader():
    british = Locale(region="GB", currency="gbp", temperature="C", day_first=True)
    text = "3/5/2027 20 degrees 030 23125000"
    own = load_reader(locale=british).read(text, now=NOW).values
    assert (own["DATE_0"].value, own["MEASURE_C_0"].value) == ("date:2027-05-03", "20 unit:C")
    told = load_reader(locale=british).read(text, now=NOW, locale=LOCALE).values
    assert told["DATE_0"].value == "date:2027-03-05"
    german = load_reader(locale=locale_from("de")).read(text, now=NOW)
    assert german.values["PHONE_NUMBER_0"].value == '" +493023125000 " ^^tt:phone_number'


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("imposta la luce al 20%", "imposta la luce al NUMBER_0 % :: 20"),
        ("imposta la luce al 20 %", "imposta la luce al NUMBER_0 % :: 20"),
        ("metti venti", "metti NUMBER_0 :: 20"),
        ("accendi una luce", "accendi una luce ::"),
        ("a 21,5 °C", "a MEASURE_C_0 :: 21.5 unit:C"),
        ("il 03/05/2027 alle 7:30", "il DATE_0 alle TIME_0 :: date:2027-05-03 ; time:7:30:00"),
        ("tomorrow at eight , two percent", "tomorrow at eight , two percent ::"),
    ],
)
def test_a_language_without_a_file_has_signs_and_no_english(sentence, expected):
    assert shown("it", sentence) == expected


@pytest.mark.parametrize("language", [*LANGUAGES, "it", "sv"])
@pytest.mark.parametrize(
    "type_",
    [ty.NUMBER, ty.TIME, ty.DATE, ty.CURRENCY, *map(ty.Measure, ("ms", "C", "mps"))],
    ids=str,
)
def test_what_is_written_is_read_back(language, type_):
    words, rng = locale_from(language).words, Random(3)
    for _ in range(60):
        form = draw_by_words(words, type_, rng)
        assert form is not None
        found = read(language, " ".join(form.words)).values
        assert [key_of(value.value) for value in found.values()] == [key_of(form.value)], form


def test_any_text_is_read_and_placeholders_stay():
    for text in ("", "?", "NUMBER_0 uhr", "1.2.3.4", "12:99", "minus", "halb", "am 0.0.0000"):
        found = read("de", text)
        assert "NUMBER_0" not in text or found.tokens[0] == "NUMBER_0"
