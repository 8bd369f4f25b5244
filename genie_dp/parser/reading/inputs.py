"""A sentence that answers a question: the value of one input, and nothing else."""

from collections.abc import Container, Sequence

from genie_dp.languages import types as ty
from genie_dp.languages.base import MissingInput
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.placeholders import constant
from genie_dp.parser.evidence import content_words
from genie_dp.parser.reading.fill import EntityNames
from genie_dp.parser.reading.reading import Reading
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import tokenize

_YES = frozenset(("yes", "yeah", "yep", "sure", "true", "on", "please do", "ok", "okay"))
_NO = frozenset(("no", "nope", "nah", "false", "off", "please don't"))
_PLACES = {
    "here": "current_location", "my location": "current_location", "home": "home",
    "at home": "home", "my home": "home", "work": "work", "at work": "work",
}  # fmt: skip
_MOST_WORDS = 6  # of a name that no list has
# Words that take a question back; the sentence is then read as any other.
_ENDS = frozenset(("cancel", "never mind", "nevermind", "forget it", "stop", "nothing"))
_LEADS = frozenset(("to", "in", "at", "on", "for", "from", "by", "with", "of", "it", "is", "it's"))


def read_input(
    sentence: str,
    missing: MissingInput,
    *,
    library: SkillLibrary,
    readings: Sequence[Reading],
    names: EntityNames,
) -> tt.Value | None:
    """Return the value that a sentence gives an input; None where it cannot be read as one.

    Text is taken as it is. Any other value must be all that the sentence says: "at 5 pm, please" is
    a time, "turn on the lights at 5 pm" is none.

    Args:
        readings: of the sentence.
    """
    words = [word for word in tokenize(sentence.casefold()) if any(map(str.isalnum, word))]
    function = library.find(missing.function)
    parameter = function.signature.parameter(missing.name) if function else None
    if parameter is None or not words or " ".join(words) in _ENDS:
        return None
    type_ = parameter.type
    if isinstance(type_, ty.Enum):
        return _read_enum(words, missing, type_, library)
    element = type_.element if isinstance(type_, ty.Array) else type_
    asked = frozenset(tokenize(missing.question.casefold()))
    value = _read_value(" ".join(words), element, readings, names, asked)
    is_list = value is not None and isinstance(type_, ty.Array)
    return tt.ArrayValue((value,)) if is_list and value is not None else value


def _read_enum(
    words: Sequence[str], missing: MissingInput, type_: ty.Enum, library: SkillLibrary
) -> tt.Value | None:
    """Return the one value whose words, or name, stand in the sentence, and not within others."""
    text = f" {' '.join(words)} "
    found: dict[str, str] = {}
    for value in type_.values:
        phrases = library.enum_phrases(missing.function, missing.name, value)
        for way in (*phrases, value.replace("_", " ")):
            if f" {way} " in text:
                found[f" {way} "] = value
    values = {v for way, v in found.items() if not any(way in x and way != x for x in found)}
    return tt.EnumValue(values.pop()) if len(values) == 1 else None


def _read_value(
    text: str,
    type_: ty.Type,
    readings: Sequence[Reading],
    names: EntityNames,
    asked: Container[str],
) -> tt.Value | None:
    """Return a value of a type; words of the question, `asked`, may stand beside it."""
    if type_ == ty.BOOLEAN:
        return tt.BooleanValue(text in _YES) if text in _YES | _NO else None
    if type_ in (ty.STRING, ty.ANY):
        return tt.StringValue(text)
    if type_ == ty.LOCATION and text in _PLACES:
        return tt.ContextValue(("location", _PLACES[text]))
    stem = ty.slot_stem(type_)
    for reading in readings:
        values = [token for token in reading.values if token.rpartition("_")[0] == stem]
        others = [word for word in content_words(reading.tokens) if word not in asked]
        if len(reading.values) == len(values) == 1 and not others:
            return constant(reading.values[values[0]].value)
    name = _without_leads(text)
    if type_ == ty.LOCATION:
        return tt.LocationValue(None, None, name)
    if isinstance(type_, ty.Entity) and str(stem).startswith("GENERIC_ENTITY"):
        found = names.find(type_.kind, name)
        # Lists of skills are seldom whole. A sentence with a date in it is no name, though.
        is_name = found.how != "unknown" or (
            not readings[0].values and len(name.split()) <= _MOST_WORDS
        )
        return tt.EntityValue(found.value, type_.kind) if is_name else None
    return None


def _without_leads(text: str) -> str:
    """Return a name without the words before it: "to the kitchen" is "the kitchen"."""
    words = text.split()
    while len(words) > 1 and words[0] in _LEADS:
        words.pop(0)
    return " ".join(words)
