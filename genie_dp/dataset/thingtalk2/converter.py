"""Rows with ThingTalk 2 programs as rows of ours, or why they have no equal."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from genie_dp.dataset.formats import LeftRow, NoEqual, ReadOptions
from genie_dp.dataset.readers import objects, spell_as_spoken
from genie_dp.dataset.thingtalk2.reader import (
    DIALOGUE,
    NewPlaceholder,
    program_of,
    queries_in,
    read_statements,
)
from genie_dp.dataset.thingtalk2.reader import read_statements as read_program
from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import children, functions_used, rewrite, source_calls
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import STRING, Entity, is_slot, slot_stem, slot_type
from genie_dp.records import Example, Slot, Source
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import tokenize

ILL_TYPED = "does not type-check"
NORMAL_FORM = "no canonical form"
_UNTYPED = TokenStyle(types=False)
NOT_SAID = "value not in the sentence"


def read_thingtalk2(path: str, options: ReadOptions) -> Iterator[Example | LeftRow]:
    """Yield the rows of a JSONL file with id, utterance and program, read twice.

    The first time says which functions can only be queries, where no library does.
    """
    source: Source = "paraphrase" if "paraphrase" in path.rsplit("/", 1)[-1] else "human"
    converter = ThingTalk2Converter(
        options.library, frozenset(_query_names(path)), options.placeholders
    )
    for _, row in objects(path, ("id", "utterance", "program")):
        act = row.get("act", "execute")
        if act != "execute":
            yield LeftRow(row["id"], row["utterance"], row["program"], DIALOGUE, str(act))
        else:
            yield converter.row(row["id"], row["utterance"], row["program"], source)


def _query_names(path: str) -> Iterator[str]:
    for _, row in objects(path, ("program",)):
        try:
            yield from queries_in(read_program(row["program"])[0])
        except NoEqual:
            continue


@dataclass(frozen=True, slots=True)
class ThingTalk2Converter:
    """What is known of the functions that the programs use.

    Attributes:
        library: of the skills; rows that do not type-check in it are left out, and the others get
            types. None: tokens without types.
        queries: functions that are queries, where the library does not know them.
        placeholders: whether texts and names that a sentence says become placeholders.
    """

    library: SkillLibrary | None = None
    queries: frozenset[str] = frozenset()
    placeholders: bool = False

    def row(self, id: str, utterance: str, program: str, source: Source) -> Example | LeftRow:
        """Return the row with our program, or why there is none."""
        try:
            words, tree = self._convert(utterance, program)
            tree = self._canonical(tree)
            text = tokens(tree, self.library) if self.library else tokens(tree, style=_UNTYPED)
        except NoEqual as error:
            return LeftRow(id, utterance, program, error.reason, error.detail)
        text = spell_as_spoken(text, words)
        functions = tuple(
            f"@{call.selector.class_name}.{call.function}"
            for call in functions_used(tree)
            if isinstance(call, ast.Call)
        )
        return Example(
            id, " ".join(words), text, source=source, functions=functions,
            slots=dict(_slots(tree, self.library)),
        )  # fmt: skip

    def program(self, text: str) -> tuple[ast.Program | ast.Policy, tuple[NewPlaceholder, ...]]:
        """Return our program for a text, and the placeholders that its sentence must get.

        Raises:
            NoEqual: there is none.
        """
        if text.startswith("now"):  # ThingTalk 1, as older rows have it
            try:
                return parse(text), ()
            except GenieError:
                pass  # or so it seems: what the other grammar says of it is told
        statements, changes = read_statements(text)
        return program_of(statements, self._is_action), changes

    def _convert(
        self, utterance: str, program: str
    ) -> tuple[tuple[str, ...], ast.Program | ast.Policy]:
        tree, changes = self.program(unmask(program))
        words = tokenize(unmask(utterance))
        if changes:
            words = rename_placeholders(words, changes)
        names = new_numbers(words, _placeholders(tree))
        if names:
            words = tuple(names.get(word, word) for word in words)
            tree = rewrite(tree, lambda node: _renumber(node, names))
        return put_placeholders(words, tree) if self.placeholders else (words, tree)

    def _canonical(self, tree: ast.Program | ast.Policy) -> ast.Program | ast.Policy:
        if self.library is not None:
            errors = [p for p in check(tree, self.library) if p.severity == "error"]
            if errors:
                first = errors[0]
                raise NoEqual(f"{ILL_TYPED} ({first.code})", first.message)
        try:
            return canonical(tree, self.library)
        except GenieError as error:
            raise NoEqual(NORMAL_FORM, error.problems[0].message) from None

    def _is_action(self, name: str) -> bool | None:
        if self.library is not None:
            class_name, _, function = name[1:].rpartition(".")
            declared = self.library.function(class_name, function)
            if declared is not None:
                return bool(declared.kind == "action")
        return False if name in self.queries else None


def _renumber(node: Any, names: dict[str, str]) -> Any:
    match node:
        case ast.SlotValue(token):
            return replace(node, token=names.get(token, token))
    return node


def _placeholders(node: Any) -> Iterator[str]:
    if isinstance(node, ast.SlotValue):
        yield node.token
    for child in children(node):
        yield from _placeholders(child)


def _slots(node: Any, library: SkillLibrary | None, source: str = "") -> Iterator[tuple[str, Slot]]:
    """Yield placeholders with their type and the parameter that they fill, such as @c.f:x."""
    match node:
        case ast.Call(selector, function, args):
            source = f"@{selector.class_name}.{function}"
            for arg in (*selector.attributes, *args):
                yield from _slots_of(arg.name, arg.value, source)
            return
        case ast.Filter(query, predicate):
            yield from _slots(query, library, source)
            yield from _slots(predicate, library, _last_function(query))
            return
        case ast.Edge(stream, predicate) | ast.StreamFilter(stream, predicate):
            yield from _slots(stream, library, source)
            yield from _slots(predicate, library, _last_function(stream))
            return
        case ast.GetPredicate(call, predicate):
            yield from _slots(call, library, source)
            yield from _slots(predicate, library, _last_function(call))
            return
        case ast.Atom(name, _, value):
            yield from _slots_of(name, value, source)
            return
        case ast.Comparison(left, _, value):
            yield from _slots(left, library, source)
            yield from _slots_of(ast.computed_name(left), value, source)
            return
        case ast.SlotValue(token):
            yield token, Slot(str(slot_type(token)), source)
            return
    for child in children(node):
        yield from _slots(child, library, source)


def _slots_of(name: str, value: Any, function: str) -> Iterator[tuple[str, Slot]]:
    for token in _placeholders(value):
        yield token, Slot(str(slot_type(token)), f"{function}:{name}" if function else name)


def _last_function(node: Any) -> str:
    """Return the right-most function: names mean its outputs."""
    match node:
        case ast.Monitor(query):
            node = query
        case ast.Edge(stream) | ast.StreamFilter(stream):
            return _last_function(stream)
        case ast.Timer() | ast.AtTimer():
            return ""
    calls = list(source_calls(node)) if not isinstance(node, ast.StreamJoin) else []
    if not calls:
        return ""
    return f"@{calls[-1].selector.class_name}.{calls[-1].function}"


# ------------------------------------------------------------------------ placeholders of sentences


# Words that may follow a number, by unit; where the sentence has none the number stands alone.
_UNIT_WORDS: Mapping[str, frozenset[str]] = {
    unit: frozenset(words.split())
    for unit, words in {
        "ms": "ms milliseconds millisecond",
        "s": "s sec secs second seconds",
        "min": "min mins minute minutes",
        "h": "h hr hrs hour hours",
        "day": "day days",
        "week": "week weeks",
        "mon": "month months",
        "year": "year years",
        "m": "m meter meters metre metres",
        "km": "km kms kilometer kilometers kilometre kilometres",
        "mm": "mm millimeter millimeters",
        "cm": "cm centimeter centimeters",
        "mi": "mi mile miles",
        "in": "in inch inches",
        "ft": "ft foot feet",
        "mps": "mps",
        "kmph": "kmph kph kmh",
        "mph": "mph",
        "kg": "kg kgs kilo kilos kilogram kilograms",
        "g": "g gram grams",
        "lb": "lb lbs pound pounds",
        "oz": "oz ounce ounces",
        "C": "c celsius centigrade degree degrees ° °c",
        "F": "f fahrenheit farenheit degree degrees ° °f",
        "K": "k kelvin degree degrees",
        "bpm": "bpm",
        "kcal": "kcal calories calorie",
        "byte": "byte bytes b",
        "KB": "kb kilobyte kilobytes",
        "MB": "mb megabyte megabytes",
        "GB": "gb gigabyte gigabytes",
        "TB": "tb terabyte terabytes",
    }.items()
}
_PHRASES = (("miles", "per", "hour"), ("kilometers", "per", "hour"), ("meters", "per", "second"))


# How logs of users hold what was taken out of them.
_MASK = re.compile(r'"?str:([A-Z_]+)::(\d+):"?(?:\^\^[\w.-]+:\w+)?')

_NAME = re.compile(r'\("str:([A-Z_]+)::(\d+):"\)')  # of an entity, which stays text


def unmask(text: str) -> str:
    """Return a sentence or program with placeholders where a log has its own.

    >>> unmask('@c.mail(to="str:EMAIL_ADDRESS::0:"^^tt:email_address);')
    '@c.mail(to=EMAIL_ADDRESS_0);'
    """
    return _MASK.sub(r"\1_\2", _NAME.sub(r'("\1_\2")', text))


def rename_placeholders(
    tokens: Sequence[str], changes: Iterable[NewPlaceholder]
) -> tuple[str, ...]:
    """Return the tokens of a sentence with the placeholders that its program has.

    Raises:
        NoEqual: the sentence does not say one of the values.

    >>> number = NewPlaceholder("NUMBER_0", "MEASURE_C_0", "F")
    >>> rename_placeholders(("below", "NUMBER_0", "degrees", "f"), [number])
    ('below', 'MEASURE_C_0')
    >>> place = NewPlaceholder("palo alto", "LOCATION_0")
    >>> rename_placeholders(("rain", "in", "palo", "alto"), [place])
    ('rain', 'in', 'LOCATION_0')
    """
    sentence = list(tokens)
    for change in changes:
        words = change.words.lower().split() if not is_slot(change.words) else [change.words]
        places = [i for i in range(len(sentence)) if sentence[i : i + len(words)] == words]
        if not places:
            raise NoEqual(NOT_SAID, change.words)
        for place in reversed(places):
            end = place + len(words)
            end += _unit_length(sentence[end : end + 3], change.unit)
            sentence[place:end] = [change.token]
    return tuple(sentence)


def _unit_length(after: Sequence[str], unit: str) -> int:
    """Return how many of the words after a number are its unit."""
    words = _UNIT_WORDS.get(unit, frozenset())
    if unit in ("mph", "kmph", "mps") and tuple(after) in _PHRASES:
        return 3
    length = 0
    while length < min(2, len(after)) and after[length] in words:
        length += 1
    return length


def new_numbers(tokens: Sequence[str], program: Iterable[str]) -> dict[str, str]:
    """Return new names for placeholders, so that those of a sort are numbered from 0 on.

    >>> new_numbers(("from", "NUMBER_1", "to", "NUMBER_2"), ["NUMBER_2", "NUMBER_1"])
    {'NUMBER_1': 'NUMBER_0', 'NUMBER_2': 'NUMBER_1'}
    """
    sorts: dict[str, set[int]] = {}
    for token in (*tokens, *program):
        if is_slot(token):
            stem, _, number = token.rpartition("_")
            sorts.setdefault(stem, set()).add(int(number))
    return {
        f"{stem}_{number}": f"{stem}_{place}"
        for stem, numbers in sorts.items()
        for place, number in enumerate(sorted(numbers))
        if place != number
    }


# ----------------------------------------------------------------- placeholders for texts and names


P = TypeVar("P", bound=ast.Program | ast.Policy)
Words = tuple[str, ...]
TextOrName = ast.StringValue | ast.EntityValue


def put_placeholders(words: Sequence[str], tree: P) -> tuple[Words, P]:
    """Return sentence and program with placeholders for the texts and names that both have.

    A crowd is shown a few values, and its rows hold these over and over: with placeholders, other
    values can be put in. A value stays that the sentence says never or twice, that the program has
    twice, or of which a longer one has words. All placeholders are numbered anew, each sort in the
    order of the sentence.
    """
    values = {literal_words(value): value for value in literals(tree)}
    counts = Counter(literal_words(value) for value in literals(tree))
    stems: dict[int, tuple[int, str, TextOrName]] = {}  # where it begins -> where it ends, its stem
    taken: set[int] = set()
    for text in sorted(values, key=lambda text: (-len(text), text)):
        stem, places = stem_of(values[text]), find_words(text, words)
        if stem is None or counts[text] > 1 or len(places) != 1:
            continue
        span = range(places[0], places[0] + len(text))
        if taken.isdisjoint(span):
            taken.update(span)
            stems[span.start] = (span.stop, stem, values[text])
    return _put_numbered(words, tree, stems)


def literals(node: Any) -> Iterator[TextOrName]:
    """Yield the texts and names of a program that have words."""
    match node:
        case ast.StringValue(text) | ast.EntityValue(str() as text, _, None) if text.split():
            yield node
    for child in children(node):
        yield from literals(child)


def literal_words(value: TextOrName) -> Words:
    """Return the words of a text or a name, as sentences are split."""
    return tokenize(str(value.text if isinstance(value, ast.StringValue) else value.value))


def stem_of(value: TextOrName) -> str | None:
    """Return the stem of the placeholder; None for what cannot be said.

    >>> stem_of(ast.EntityValue("abba", "com.x:artist"))
    'GENERIC_ENTITY_com.x:artist'
    """
    return slot_stem(STRING if isinstance(value, ast.StringValue) else Entity(value.kind))


def find_words(text: Words, words: Sequence[str]) -> list[int]:
    """Return where a sentence says some words.

    >>> find_words(("a", "b"), "a b or a".split())
    [0]
    """
    size = len(text)
    return [i for i in range(len(words) - size + 1) if tuple(words[i : i + size]) == text]


def _put_numbered(
    words: Sequence[str], tree: P, stems: dict[int, tuple[int, str, TextOrName]]
) -> tuple[Words, P]:
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    values: dict[TextOrName, str] = {}
    sentence: list[str] = []
    place = 0

    def next_of(stem: str) -> str:
        counts[stem] += 1
        return f"{stem}_{counts[stem] - 1}"

    while place < len(words):
        word, end = words[place], place + 1
        if place in stems:
            end, stem, value = stems[place]
            word = values[value] = next_of(stem)
        elif is_slot(word):
            if word not in names:
                names[word] = next_of(word.rpartition("_")[0])
            word = names[word]
        sentence.append(word)
        place = end

    def replace_values(node: Any) -> Any:
        match node:
            case ast.SlotValue(token):
                return replace(node, token=names.get(token, token))
            case ast.StringValue() | ast.EntityValue() if node in values:
                return ast.SlotValue(values[node])
        return node

    return tuple(sentence), rewrite(tree, replace_values)
