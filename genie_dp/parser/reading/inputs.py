"""A sentence that answers a question: the value of one input, and nothing else."""

from collections.abc import Container, Sequence
from typing import NamedTuple

from genie_dp.languages import types as ty
from genie_dp.languages.base import MissingInput
from genie_dp.languages.library import Library
from genie_dp.languages.text import escape_word, span_ends
from genie_dp.languages.units import Units
from genie_dp.locale import Words
from genie_dp.parser.evidence import content_words
from genie_dp.parser.operators import negations_in
from genie_dp.parser.reading.fill import EntityNames, has_names
from genie_dp.parser.reading.reading import Reading
from genie_dp.skills.words import END_MARKS, tokenize

_MOST_WORDS = 6  # of a name that no list has


class ReadInput(NamedTuple):
    """The value of an input.

    Attributes:
        constant: as `ProgramStructure.give_input` takes it.
        is_open: whether it is a name or place that nothing knows, so that the sentence may as well
            be another command.
    """

    constant: str
    is_open: bool = False


def read_input(
    sentence: str,
    missing: MissingInput,
    *,
    library: Library,
    readings: Sequence[Reading],
    names: EntityNames,
    known: Words,
) -> ReadInput | None:
    """Return the value that a sentence gives an input; None where it cannot be read as one.

    Text is taken as it was typed. Any other value must be all of the sentence: "at 5 pm,
    please" is a time, "turn on the lights at 5 pm" and "not at 5 pm" are none. Words of the
    question may stand beside it.

    Args:
        readings: of the sentence.
        known: the words of the language of the sentence.
    """
    words = [word for word in tokenize(sentence.casefold()) if any(map(str.isalnum, word))]
    signature = library.signature(missing.function)
    parameter = signature.parameter(missing.name) if signature else None
    if parameter is None or not words or " ".join(words) in known.take_back:
        return None
    type_ = parameter.type
    question_words = frozenset(tokenize(missing.question.casefold()))
    if isinstance(type_, ty.Enum):
        choice = _read_enum(words, missing, type_, library, question_words, known)
        return ReadInput(choice) if choice else None
    element = type_.element if isinstance(type_, ty.Array) else type_
    if element in (ty.STRING, ty.ANY):
        return ReadInput(_quote(sentence.strip().rstrip("".join(END_MARKS)).rstrip()))
    return _read_value(
        " ".join(words), element, readings, names, question_words, library.units, known
    )


def _read_enum(
    words: Sequence[str],
    missing: MissingInput,
    type_: ty.Enum,
    library: Library,
    asked: Container[str],
    known: Words,
) -> str | None:
    """Return the one value whose words, or name, are all of the sentence."""
    text = f" {' '.join(words)} "
    values_by_way: dict[str, str] = {}
    for value in type_.values:
        phrases = library.enum_phrases(missing.function, missing.name, value)
        for way in (*phrases, value.replace("_", " ").casefold()):
            if f" {way} " in text:
                values_by_way[f" {way} "] = value
    values = {
        v
        for way, v in values_by_way.items()
        if not any(way in x and way != x for x in values_by_way)
    }
    way_words = {word for way in values_by_way for word in way.split()}
    others = [
        word
        for word in content_words(words, (), known)
        if word not in asked and word not in way_words
    ]
    return f"enum:{values.pop()}" if len(values) == 1 and not others else None


def _read_value(
    text: str,
    type_: ty.Type,
    readings: Sequence[Reading],
    names: EntityNames,
    asked: Container[str],
    units: Units,
    known: Words,
) -> ReadInput | None:
    """Return a value of a type; words of the question, `asked`, may stand beside it."""
    if type_ == ty.BOOLEAN:
        answer = "true" if text in known.yes else "false"
        return ReadInput(answer) if text in known.yes + known.no else None
    is_listed = isinstance(type_, ty.Entity) and names.is_listed(type_.kind, text)
    if not is_listed and (text in known.no or negations_in(text.split(), known)):
        return None
    if type_ == ty.LOCATION and text in known.places:
        return ReadInput(f"location:{known.places[text]}")
    stem = ty.slot_stem(type_, units)
    for reading in readings:
        values = [token for token in reading.values if token.rpartition("_")[0] == stem]
        others = [word for word in content_words(reading.tokens, (), known) if word not in asked]
        if len(reading.values) == len(values) == 1 and not others:
            constant = reading.values[values[0]].value
            return None if span_ends(constant) else ReadInput(constant)
    name = _without_starts(text, known)
    # Lists of skills are seldom whole. A sentence with a date in it is no name, though.
    may_be_name = not readings[0].values and len(name.split()) <= _MOST_WORDS
    if type_ == ty.LOCATION and may_be_name:
        return ReadInput(f"location: {_quote(name)}", is_open=True)
    if isinstance(type_, ty.Entity) and has_names(type_.kind):
        entity = names.find(type_.kind, name)
        is_open = entity.how in ("unknown", "unlisted")
        if may_be_name or not is_open:
            return ReadInput(f"{_quote(entity.value)} ^^{type_.kind}", is_open)
    return None


def _quote(text: str) -> str:
    return f'" {" ".join(map(escape_word, text.split(" ")))} "'


def _without_starts(text: str, known: Words) -> str:
    """Return a name without the words before it: "to the kitchen" is "the kitchen"."""
    words = text.split()
    while len(words) > 1 and words[0] in known.answer_starts:
        words.pop(0)
    return " ".join(words)
