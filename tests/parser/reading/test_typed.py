"""Texts of programs as they were typed."""

import pytest

from genie_dp.parser.reading.reading import Reading, ReadValue
from genie_dp.parser.reading.typed import token_spans, typed_texts
from genie_dp.skills.words import tokenize


@pytest.mark.parametrize(
    "text",
    [
        "Müller's  Käse (2 St.)",
        "put 🍕 & 7UP on",
        "Don’t say “C++”, please",
        "İstanbul ΟΔΟΣ Straße",
        "\u22125 degrees",
        "ab\x00cd",
        "",
    ],
)
def test_every_token_stands_where_it_was_typed(text):
    tokens = tokenize(text.replace("\u2212", "-"))
    spans = token_spans(text, tokens)
    assert all(start < end for start, end in spans)
    assert [end for _, end in spans[:-1]] <= [start for start, _ in spans[1:]]
    rest = "".join(c for i, c in enumerate(text) if not any(a <= i < b for a, b in spans))
    assert not rest.strip(" \x00")


def test_letters_that_link_words_are_skipped_and_added_words_are_empty():
    spans = token_spans("Küchen-Licht 5%", ["küche", "licht", "5%", "percent"])
    assert spans == [(0, 5), (7, 12), (13, 15), (15, 15)]


@pytest.mark.parametrize(
    ("sentence", "text", "typed"),
    [
        ("Say Hi  THERE now", "hi there", "Hi  THERE"),
        ("say play play it", "play", "play"),
        ("Write Dr. No.", "dr . no .", "Dr. No"),  # the mark is the sentence's
        ("say Really?!", "really ? !", "Really"),
        ("Add O’Brien's to it", "o'brien 's", "O’Brien's"),
        ("say what was never said", "something else", "something else"),
    ],
)
def test_a_text_is_what_was_typed(sentence, text, typed):
    program, texts = typed_texts(f'f( x= " {text} " )', Reading(tokenize(sentence)), sentence)
    for name, words in texts.items():
        program = program.replace(name, words)
    assert program == f'f( x= " {typed} " )'


def test_values_inside_of_a_text_are_as_they_were_typed():
    number = ReadValue("Number", "3.5", "3.5%", (4, 8))
    reading = Reading(("add", "NUMBER_0", "percent", "milk"), {"NUMBER_0": number})
    found = typed_texts('f( x= " NUMBER_0 percent milk " )', reading, "add 3.5% Milk")
    assert list(found.texts.values()) == ["3.5% Milk"]


def test_each_of_two_equal_texts_has_words_of_its_own():
    sentence = "copy A to a"
    found = typed_texts('f( x= " a " y= " a " )', Reading(tokenize(sentence)), sentence)
    assert sorted(found.texts.values()) == ["A", "a"]
