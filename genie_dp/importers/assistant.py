"""The one form of all assistants: intents, their sentences, and the values of their slots.

A reader of a format (`home_assistant.py`, `ovos.py`, `alexa.py` ..) returns an `Assistant`, and
`intents.py` makes tools and templates of it. Parts that are not taken over stand in its notes.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.importers.hassil import literal
from genie_dp.importers.source import ImportSource
from genie_dp.located import find_place
from genie_dp.templates.review import Note

Json = Any
TEXT: Mapping[str, Json] = {"wildcard": True}
"""The list of a slot that takes any text."""

# What means something else in bodies and utterances.
RESERVED_NAMES = frozenset(("true", "false", "null", "if", "const", "python"))


@dataclass(frozen=True, slots=True)
class SentenceBlock:
    """Templates of one intent that have the same slots and ask for the same context.

    Attributes:
        sentences: in the syntax of hassil.
        place: the file, and where in it.
        topic: its combination of slots, for people.
        places: of each sentence; where there are none, its number.
        slots: those that it sets by itself.
        requires, excludes: the required and excluded context.
        lists, rules: its own ones.
    """

    intent: str
    sentences: tuple[str, ...]
    place: str
    topic: str = ""
    places: tuple[str, ...] = ()
    slots: Mapping[str, Json] = field(default_factory=dict)
    requires: Mapping[str, Json] = field(default_factory=dict)
    excludes: Mapping[str, Json] = field(default_factory=dict)
    lists: Mapping[str, Json] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IntentExample:
    """A sentence of somebody, with its meaning.

    Attributes:
        intent: its intent; "" for a sentence to refuse.
        slots: slot -> the name of its list, and the words or the value that stand in it.
        place: the file, and where in it.
    """

    intent: str
    text: str
    slots: Mapping[str, tuple[str, str]]
    place: str


@dataclass(slots=True)
class Assistant:
    """The contents of an assistant's files in one language.

    Attributes:
        title: a title for people.
        lists: the values of a slot: `{"values": [{"in": words, "out": value}, ..]}`, a
            `"range"` or `"wildcard": true` as Home Assistant has them, `"examples"` of such, or a
            `"format"`: that of a string in JSON Schema, "number" or "integer". If it has values
            and one of the others, both may stand there.
        declared: intent -> slot -> the name of its list, also where no sentence has it.
        descriptions: intent -> `description` and `slots`: `description` and `required` of each.
        skip_words: those that are left out of sentences before they are matched.
        examples: for eval.tsv, and for refused.tsv.
        commands: sentences for texts that are commands.
        notes: the parts that are not taken over, each with its place.
        problems: parts with mistakes, which have notes, too.
        places: name of a rule or list -> its file.
        files: name -> text, to show mistakes.
        licence: of the sentences, for people.
        tools: name of an intent -> the name of its tool.
        ignores_space: whether spaces between letters of scripts without any count for nothing.
        keeps_articles: whether "a" stands before any value, and "an", too, as sentences have them;
            else the one that fits.
        is_plain: whether sentences are of words as people write them; else as hassil reads them.
    """

    locale: str
    title: str
    blocks: list[SentenceBlock] = field(default_factory=list)
    lists: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    declared: dict[str, Mapping[str, str]] = field(default_factory=dict)
    descriptions: dict[str, Json] = field(default_factory=dict)
    skip_words: list[str] = field(default_factory=list)
    examples: list[IntentExample] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    licence: str = ""
    ignores_space: bool = False
    keeps_articles: bool = True
    is_plain: bool = True
    tools: dict[str, str] = field(default_factory=dict)

    def part(self, value: Json, place: str) -> "DocumentPart":
        """Return an object with its place, an empty one for nothing (R087 for another value)."""
        if value is None or isinstance(value, Mapping):
            return DocumentPart(self, place, value or {})
        self.misshapen(place, "an object", value)
        return DocumentPart(self, place, {})

    def tool_name(self, intent: Json, place: str) -> str:
        """Return the name of the tool that an intent becomes; a changed one is noted down."""
        intent_name = str(intent)
        if intent_name not in self.tools:
            plain = re.sub(r"\W*[^\w./-]+\W*", "_", intent_name).strip("_./-") or "intent"
            self.tools[intent_name] = name = free_name(plain, self.tools.values())
            if name != intent_name:
                self.note(place, f"the tool of `{intent_name}` is `{name}`", "changed")
        return self.tools[intent_name]

    def add_intent(
        self,
        name: str,
        sentences: Iterable[tuple[str, str]],
        place: str,
        topic: str = "",
        slots: Mapping[str, str] | None = None,
        about: Json = None,
    ) -> None:
        """Add an intent.

        Args:
            name: of its tool.
            sentences: each with its place; of equal ones the first counts.
            place, topic: of the intent.
            slots: slot -> the name of its list, for those that no sentence may have.
            about: its description, and those of its slots.
        """
        first: dict[str, str] = {}
        for sentence, where in sentences:
            first.setdefault(sentence, where)
        places = tuple(first.values())
        self.blocks.append(SentenceBlock(name, tuple(first), place, topic, places))
        self.declared[name] = slots or {}
        if about is not None:
            self.descriptions[name] = about

    def refuse(self, sentences: Iterable[tuple[str, str]]) -> None:
        """Add sentences to refuse, each with its place."""
        self.examples += (IntentExample("", text, {}, place) for text, place in sentences)

    def add_type(self, name: str, known: Mapping[str, Json] | None, place: str, shown: str) -> None:
        """Add the list of a type that the assistant's maker defines; an unknown one is a text."""
        self.lists[name] = known or TEXT
        if not known:
            self.note(place, f"{shown} is any text", "changed")

    def note(
        self,
        place: str,
        text: str,
        sort: Literal["guess", "left out", "changed", "not checked"] = "guess",
    ) -> None:
        """Note down a part for review."""
        self.notes.append(Note(place, text, sort))

    def leave_out(self, place: str, text: str) -> None:
        """Note down a part that is not taken over."""
        self.note(place, text, "left out")

    def mistake(
        self, place: str, part: str, message: str, hint: str | None = None, *,
        code: str = "R086", offset: int | None = None,
    ) -> None:  # fmt: skip
        """Note down a part with a mistake, which is left out if that is asked for.

        Args:
            place: its file, and after ":" its line or where else in it.
            part: its text, as the file has it or as a text in JSON.
            message, hint: of the mistake.
            code: of the problem.
            offset: where in the part the mistake is; None for all of it.
        """
        self.leave_out(place, f"`{part}`: {message}" if part else message)
        span = self._span(place, part)
        if offset is not None and offset < len(part):
            column = span.column + offset
            span = replace(span, column=column, end_column=column + 1)
        self.problems.append(Problem(code, message, span, hint, stage="syntax"))

    def misshapen(self, place: str, expected: str, value: Json) -> None:
        """Note down a value that is no object, list or text (R087)."""
        part = json.dumps(value) if isinstance(value, str | int | float) else ""
        message = f"expected {expected} at {place}"
        self.mistake(place, part, message, _SHAPES.get(expected), code="R087")

    def raise_mistakes(self) -> None:
        """Raise GenieError with all parts that have mistakes, if there are any."""
        if self.problems:
            raise GenieError(dict.fromkeys(self.problems), sources=self.files)

    def _span(self, place: str, part: str) -> Span:
        file, _, where = place.partition(":")
        whole = self.files.get(file, "")
        steps = tuple(int(step) if step.isdecimal() else step for step in where.split("."))
        above = None if where.isdecimal() else find_place(whole, file, steps)
        line = int(where) if where.isdecimal() else above.line if above else 1
        begin = sum(len(text) + 1 for text in whole.split("\n")[: line - 1])
        for written in (part, json.dumps(part)[1:-1], json.dumps(part, ensure_ascii=False)[1:-1]):
            start = whole.find(written, begin) if written else -1
            if start >= 0:
                line, column = whole.count("\n", 0, start) + 1, start - whole.rfind("\n", 0, start)
                return Span(file, line, column, line, column + len(written))
        return above or Span(file, line, 1, line, 2)


_SHAPES = {
    "an object": 'such as {"name": "value"}',
    "a list": 'such as ["first", "second"]',
    "a text": "put it into quotes",
}


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """An object of a document, and its place.

    A part of it that has another shape than is asked for is a mistake (R087), and is not there.
    """

    assistant: Assistant
    place: str
    fields: Mapping[str, Json]

    def get(self, name: str, default: Json = None) -> Json:
        """Return a field as it is."""
        return self.fields.get(name, default)

    def text(self, name: str) -> str:
        """Return a field as a text, "" where it is missing."""
        return str(self.fields.get(name, ""))

    def place_of(self, name: str) -> str:
        """Return the place of a field."""
        return f"{self.place}{'.' if ':' in self.place else ':'}{name}"

    def object(self, name: str) -> "DocumentPart":
        """Return a field that is an object, an empty one where it is missing."""
        return self.assistant.part(self.fields.get(name), self.place_of(name))

    def objects(self, name: str) -> Iterator["DocumentPart"]:
        """Yield the objects of a field that is a list."""
        for place, item in self.items(name):
            if isinstance(item, Mapping):
                yield DocumentPart(self.assistant, place, item)
            else:
                self.assistant.misshapen(place, "an object", item)

    def texts(self, name: str) -> Iterator[tuple[str, str]]:
        """Yield the texts of a field that is a list, each with its place."""
        for place, item in self.items(name):
            if isinstance(item, str):
                yield item, place
            else:
                self.assistant.misshapen(place, "a text", item)

    def words(self, name: str) -> tuple[str, ...]:
        """Return the texts of a field that is a list."""
        return tuple(text for text, _ in self.texts(name))

    def items(self, name: str) -> Iterator[tuple[str, Json]]:
        """Yield the parts of a field that is a list, each with its place."""
        value, place = self.fields.get(name), self.place_of(name)
        if value is not None and not isinstance(value, list):
            self.assistant.misshapen(place, "a list", value)
            return
        for number, item in enumerate(value or ()):
            yield f"{place}.{number}", item

    def leave_out(self, name: str, text: str) -> None:
        """Note down a field that is not taken over."""
        self.assistant.leave_out(self.place_of(name), text)

    def leave_out_others(self, known: Iterable[str], text: str) -> None:
        """Note down the fields beside those that are known."""
        for name in sorted(self.fields.keys() - set(known)):
            self.leave_out(name, text)


def free_name(name: str, taken: Iterable[str]) -> str:
    """Return the name of a tool or slot, changed where programs have another meaning for it.

    >>> free_name("play", ["play", "stop"]), free_name("2nd", []), free_name("if", [])
    ('play_', '_2nd', '_if')
    """
    identifier = f"_{name}" if name[0].isdigit() or name in RESERVED_NAMES else name
    used_names = set(taken)
    while identifier in used_names:
        identifier += "_"
    return identifier


def chosen_locale(source: ImportSource, found: Iterable[str]) -> str:
    """Return which of the languages of a source is asked for: "en" may be "en-US".

    Raises:
        GenieError: R085, it has none of that language.
    """
    locale = source.locale.lower().replace("_", "-")
    locales = sorted(set(found), key=lambda name: (name.lower() not in (locale, "en-us"), name))
    for name in locales:
        whole = name.lower().replace("_", "-")
        if locale in (whole, whole.partition("-")[0]):
            return name
    hint = did_you_mean(source.locale, locales) or f"it has {', '.join(sorted(locales)) or 'none'}"
    message = f"{source.given} has no sentences in {source.locale!r}"
    raise GenieError(Problem("R085", message, hint=hint))


def open_list(values: Mapping[str, Iterable[str]]) -> dict[str, Json]:
    """Return a list of values beside which others may stand.

    Args:
        values: value -> other words for it. Those without any are examples.

    >>> open_list({"rome": (), "paris": ("city of light",)})["examples"]
    ['rome']
    """
    listed = {value: others for value, words in values.items() if (others := [*words])}
    examples = [value for value in values if value not in listed]
    schema: dict[str, Json] = {**TEXT, **({"examples": examples} if examples else {})}
    return {**closed_list(listed), **schema} if listed else schema


def closed_list(values: Mapping[str, Iterable[str]]) -> dict[str, Json]:
    """Return a list of values: value -> other words for it.

    Of words that stand for two values the first one is meant.
    """
    meanings: dict[str, dict[str, str]] = {}
    own: dict[str, str] = {literal(value): value for value in reversed([*values])}
    for value, words in values.items():
        for phrase in map(literal, (value, *words)):
            if phrase and own.get(phrase, value) == value:
                meanings.setdefault(phrase, {"in": phrase, "out": value})
    return {"values": list(meanings.values())}


def first_question(questions: Sequence[str], marks: str) -> str:
    """Return the first of an assistant's questions for a slot that has none of some marks."""
    return next((text for text in questions if not set(marks) & set(text)), "")
