"""Values that the reader of other languages finds by the words of their files."""

from datetime import datetime
from random import Random

import pytest

pytest.importorskip("phonenumbers")
pytest.importorskip("unicode_rbnf")

from genie_dp.augment.words_written import draw_by_words
from genie_dp.errors import GenieError
from genie_dp.languages import types as ty
from genie_dp.languages.units import SHIPPED
from genie_dp.locale import LOCALE, locale_from
from genie_dp.parser.reading.grammar_reader import GrammarReader, load_reader
from genie_dp.parser.reading.prepare import key_of
from genie_dp.parser.reading.words_reader import WordsReader
from tests.golden import DATA

NOW = datetime(2027, 1, 13, 10, 0)
LANGUAGES = ("de", "es", "fr", "nl")


def reading_cases():
    for language in LANGUAGES:
        file = DATA / "reading_words" / f"{language}.txt"
        for line in file.read_text(encoding="utf-8").splitlines()[1:]:
            sentence, _, expected = line.partition(" => ")
            yield pytest.param(language, sentence, expected, id=f"{language}: {sentence}")


def read(language, sentence, units=SHIPPED):
    locale = locale_from(language)
    return load_reader(units=units, locale=locale).read(sentence, now=NOW, locale=locale)


@pytest.mark.parametrize(("language", "sentence", "expected"), [*reading_cases()])
def test_values_are_read(language, sentence, expected):
    found = read(language, sentence)
    values = " ; ".join(value.value for value in found.values.values())
    assert f"{found.utterance} :: {values}".rstrip() == expected


def test_there_are_cases_of_every_language():
    assert len(list(reading_cases())) > 80


def test_the_reader_is_that_of_the_language():
    assert isinstance(load_reader(locale=LOCALE), GrammarReader)
    assert isinstance(load_reader(locale=locale_from("nl")), WordsReader)
    with pytest.raises(GenieError, match="does not read 'nl'"):
        load_reader("duckling", locale=locale_from("nl"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    "type_", [ty.NUMBER, ty.TIME, ty.DATE, ty.CURRENCY, ty.Measure("ms"), ty.Measure("C")], ids=str
)
def test_what_is_written_is_read_back(language, type_):
    words, rng = locale_from(language).words, Random(3)
    for _ in range(30):
        form = draw_by_words(words, type_, rng)
        assert form is not None
        found = read(language, " ".join(form.words)).values
        assert [key_of(value.value) for value in found.values()] == [key_of(form.value)], form


def test_any_text_is_read_and_placeholders_stay():
    for sentence in ("", "?", "NUMBER_0 uhr", "1.2.3.4", "12:99", "minus", "halb", "am 0.0.0000"):
        found = read("de", sentence)
        assert "NUMBER_0" not in sentence or found.tokens[0] == "NUMBER_0"
