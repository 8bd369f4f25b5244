"""Rows with written-out values become the rows that a parser is trained on."""

from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.engine import AugmentEngine, augment
from genie_dp.augment.values import LibraryValues
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.types import slot_type
from genie_dp.parser.reading.fill import fill
from genie_dp.parser.reading.grammar_reader import GrammarReader
from genie_dp.parser.reading.phrases import from_dict
from genie_dp.parser.reading.prepare import Left, Prepared, Preparer, fixed_constants, phrases_of
from genie_dp.parser.reading.reading import MOST_CHARACTERS, ReadValue
from genie_dp.records import Example, Slot
from tests.augment.augment_rows import SILENT
from tests.parser.reading.reading_cases import NOW
from tests.synthesis.synthesis_setup import rows as all_rows
from tests.synthesis.synthesis_setup import shipped

pytestmark = pytest.mark.xdist_group("shipped")
READ = ("NUMBER", "DATE", "TIME", "DURATION", "CURRENCY", "LOCATION", "MEASURE")
# Words that a reader leaves to the parser, which knows them from the templates.
HERE = ("location:home", "location:work", "location:current_location")


def rows() -> tuple[Example, ...]:
    return all_rows()[::2]


@cache
def preparer() -> Preparer:
    plain = Preparer(GrammarReader(), shipped().language, shipped().library, NOW)
    phrases = phrases_of(rows(), plain)
    reader = GrammarReader(phrases)
    return replace(
        plain, reader=reader, fixed=fixed_constants(rows(), plain.language), counts=Counter()
    )


@cache
def written() -> tuple[tuple[Example, Example], ...]:
    """Return rows with read placeholders, and each with values written out in their place."""
    config = AugmentConfig(
        **SILENT, written=1.0, quoted=1.0, primitive=1, compound=1, reword_synthetic=0.0
    )
    inputs = shipped()
    engine = AugmentEngine(config, LibraryValues(inputs.library), inputs.language, inputs.library)
    known = {row.id: row for row in rows() if read_slots(row)}
    return tuple((known[row.parent], row) for row in augment(known.values(), engine))


def read_slots(row: Example) -> list[str]:
    return [token for token in row.slots if token.startswith(READ)]


def kind(token: str) -> str:
    return token.rpartition("_")[0]


def test_rows_with_placeholders_stay_as_they_are():
    made = [preparer().prepare(row) for row in rows()[:600]]
    same = [m for m, row in zip(made, rows(), strict=False) if m == Prepared(row, m_doubt(m))]
    assert len(same) >= 0.99 * 600
    # "number one" of a template is a number of its program: that is said with a placeholder.
    for one, row in zip(made, rows(), strict=False):
        assert isinstance(one, Left) or one.row == row or one.row.program != row.program


def m_doubt(made: Prepared | Left) -> int:
    return made.doubt if isinstance(made, Prepared) else -1


def test_written_out_values_are_read_back_in_at_least_95_of_100_rows_of_each_kind():
    right: Counter[str] = Counter()
    met: Counter[str] = Counter()
    for source, row in written():
        if any(place in row.program.split() for place in HERE) and not all(
            place in source.program.split() for place in HERE if place in row.program.split()
        ):
            continue  # "home" was drawn for a place: it stays a word
        before, made = preparer().prepare(source), preparer().prepare(row)
        if isinstance(before, Left):
            continue
        wanted = (before.row.utterance, before.row.program)
        is_right = isinstance(made, Prepared) and (made.row.utterance, made.row.program) == wanted
        for token in {kind(token) for token in read_slots(source)}:
            met[token] += 1
            right[token] += is_right
    shares = {token: right[token] / met[token] for token in met}
    assert sum(met.values()) >= 300, met
    assert {"NUMBER", "DATE", "TIME", "DURATION", "CURRENCY", "LOCATION", "MEASURE_C"} <= set(met)
    assert sum(right.values()) / sum(met.values()) >= 0.95, shares
    assert {t: s for t, s in shares.items() if s < 0.9 and met[t] >= 20} == {}


def test_a_prepared_program_with_its_values_is_the_one_that_was_written():
    language, library = shipped().language, shipped().library
    checked = 0
    for _, row in written()[:300]:
        made = preparer().prepare(row)
        if not isinstance(made, Prepared):
            continue
        again = preparer().prepare(made.row)
        assert isinstance(again, Prepared)
        before, after = ((x.row.utterance, x.row.program) for x in (made, again))
        assert before == after
        if made.doubt or not made.row.slots:
            continue
        reading = preparer().reader.read(row.utterance, now=NOW)
        if set(reading.values) != {t for t in made.row.slots if t in reading.values}:
            continue
        values = reading.values | quoted(row)
        try:
            filled = fill(made.row.program, values, language=language, library=library)
        except GenieError:  # "since yesterday", every day
            if "timer" in made.row.program.split()[0]:
                continue
            raise
        assert not language.check(filled.program, library)
        assert not any(token in filled.tokens.split(" ") for token in reading.values)
        checked += 1
    assert checked >= 50


def quoted(row: Example):
    """Return a value for each placeholder that the row has kept."""
    found = {}
    for token in row.slots:
        if token not in row.program.split(" "):
            continue
        type_ = str(slot_type(token))
        is_text = type_ == "String"
        value = '" red moon "' if is_text else f'" red moon " ^^{type_[7:-1]}'
        found[token] = ReadValue(type_, value, "red moon", (0, 0))
    return found


def row(utterance: str, program: str, **fields: object) -> Example:
    return Example("R1", utterance, program, source="human", **fields)


POST = "now => @com.twitter.post param:status:String ="
SET = "now => @org.thingpedia.light-bulb.set_brightness param:brightness:Number ="


def test_numbers_in_words_become_placeholders_on_both_sides():
    made = preparer().prepare(row("set the brightness to twenty five percent", f"{SET} 25"))
    assert isinstance(made, Prepared)
    assert made.row.utterance == "set the brightness to NUMBER_0 percent"
    assert made.row.program.endswith("= NUMBER_0")
    assert made.row.slots["NUMBER_0"].type == "Number"


def test_a_value_inside_of_free_text_is_a_placeholder_there():
    made = preparer().prepare(row("tweet see you at 5 pm", f'{POST} " see you at 5 pm "'))
    assert isinstance(made, Prepared)
    assert made.row.utterance == "tweet see you at TIME_0"
    assert made.row.program == f'{POST} " see you at TIME_0 "'
    values = preparer().reader.read("tweet see you at 5 pm", now=NOW).values
    inputs = shipped()
    filled = fill(made.row.program, values, language=inputs.language, library=inputs.library)
    assert filled.tokens == f'{POST} " see you at 5 pm "'


@pytest.mark.parametrize(
    ("utterance", "program", "reason", "detail"),
    [
        ("tweet hello 22 times", f'{POST} " hello "', "value not in program", "NUMBER_0 (22)"),
        ("make it bright", f"{SET} 33.25", "value not read", "33.25"),
        ("tweet 5", "now => @com.twitter.post param:nothing:Number = 5", "not a program", None),
        ("tweet " + "x" * MOST_CHARACTERS, POST, "too long a sentence", "4,006 characters"),
    ],
)
def test_a_row_that_cannot_be_learned_is_left_and_counted_with_the_reason(
    utterance, program, reason, detail
):
    own = replace(preparer(), counts=Counter())
    made = own.prepare(row(utterance, program))
    assert isinstance(made, Left)
    assert (made.reason, made.detail if detail else None) == (reason, detail)
    own.prepare(row("tweet hello", f'{POST} " hello "'))
    assert own.counts == {reason: 1, "prepared": 1}


def test_placeholders_are_numbered_anew_from_left_to_right():
    slots = {"NUMBER_0": Slot("Number", "@org.thingpedia.light-bulb.set_brightness:brightness")}
    program = f"now => @com.gmail.inbox => notify ; {SET} 5 ; {SET} NUMBER_0"
    made = preparer().prepare(row("from five to NUMBER_0", program, slots=slots))
    assert isinstance(made, Prepared)
    assert made.row.utterance == "from NUMBER_0 to NUMBER_1"
    assert "= NUMBER_0 ;" in made.row.program
    assert made.row.program.endswith("= NUMBER_1")


def test_rows_of_other_languages_stay():
    other = Example("R1", "two cats", "( cats 2 )", language="sexpr")
    assert preparer().prepare(other) == Prepared(other)


def test_phrases_of_the_skills_are_learned_and_kept_as_words():
    reader = preparer().reader
    assert isinstance(reader, GrammarReader)
    assert from_dict(reader.phrases.as_dict()) == reader.phrases
    assert ("radio", "one") in reader.phrases.before
    sentence = "what is on radio one"
    assert reader.read(sentence, now=NOW).utterance == sentence
    assert GrammarReader().read(sentence, now=NOW).utterance == "what is on radio NUMBER_0"
    assert reader.read("play two songs", now=NOW).utterance == "play NUMBER_0 songs"


def test_a_number_that_templates_say_as_a_word_is_no_value():
    """A listed value such as "channel 5" is words of a template: another number is another one."""
    rows = [
        Example(f"S{place}", said, 'play( station= "x" )', "calls", source)
        for place, (said, source) in enumerate(
            (said, source)
            for said in ("play channel 5", "play radio seven", "play 104.6 rtl", "play 50 cent")
            for source in ("synthetic", "augmented")
        )
    ]
    preparer = Preparer(GrammarReader(), get_language("calls"), None, NOW)
    reader = GrammarReader(phrases_of(rows, preparer))
    for said, read in (
        ("play channel 5", "play channel 5"),
        ("play channel five", "play channel 5"),
        ("play radio 7", "play radio seven"),
        ("play 104.6 rtl", "play 104.6 rtl"),
        ("play 50 cent", "play 50 cent"),
        ("play channel 6", "play channel NUMBER_0"),
        ("play 99 rtl", "play NUMBER_0 rtl"),
        ("set the volume to 5", "set the volume to NUMBER_0"),
    ):
        assert reader.read(said, now=NOW).utterance == read
    assert "play channel NUMBER_0" in {
        reading.utterance for reading in reader.readings("play channel 5", now=NOW)
    }


def test_a_half_beside_a_number_stays_words_where_rows_say_it():
    own = preparer()
    rows = [row(f"{verb} NUMBER_0 and a half spoons", POST) for verb in ("stir", "add", "take")]
    phrases = phrases_of(rows, replace(own, reader=GrammarReader()))
    assert phrases.says_halves
    assert from_dict(phrases.as_dict()).says_halves
    sentence = "stir two and a half spoons"
    readings = GrammarReader(phrases).readings(sentence, now=NOW, most=2)
    assert [reading.utterance for reading in readings] == [
        "stir NUMBER_0 spoons", "stir NUMBER_0 and a half spoons",
    ]  # fmt: skip
    assert [read.value for reading in readings for read in reading.values.values()] == ["2.5", "2"]
    assert len(GrammarReader().readings(sentence, now=NOW, most=2)) == 1


def test_numbers_are_taken_apart_from_what_rows_say_behind_them():
    said = [Example("S0", "nap for NUMBER_0 - minute", ""), Example("S1", "NUMBER_0 laps", "")]
    reader = GrammarReader(phrases_of(said, preparer()))
    read = [reading.utterance for reading in reader.readings("30-minute 7laps 7up", now=NOW)]
    assert "NUMBER_0 - minute NUMBER_1 laps 7up" in read
