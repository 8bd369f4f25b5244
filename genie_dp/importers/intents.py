"""Tools and templates of an assistant: of its intents, their sentences, the values of slots.

An intent becomes a tool, a slot a parameter. Parts that are not taken over stand in the notes with
their place; nothing is lost without a word.
"""

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.importers.assistant import Assistant, SentenceBlock, free_name
from genie_dp.importers.hassil import (
    AlternativeGroup,
    CannotSayError,
    ListReference,
    Permutation,
    RuleReference,
    Sequence_,
    UtteranceWriter,
    is_template,
    join_quoted,
    literal,
    read_template,
)
from genie_dp.importers.source import Imported, ImportSource, program_of, rows_text, tools_text
from genie_dp.languages.calls.tools import read_tools
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.templates.ast import (
    CategoryWords,
    Child,
    Choice,
    Item,
    Optional,
    Part,
    Placeholder,
    PlainWords,
    QuotedWords,
    children_of,
    count_utterances,
    is_of_words,
    names_of,
    placeholders_of,
    say_words,
    with_drawn_words,
    write_items,
)
from genie_dp.templates.check import MOST_ALTERNATIVES
from genie_dp.templates.grammar import BUILT_IN, MOST_WORDS
from genie_dp.templates.review import Note
from genie_dp.texts import without_accents

Json = Any

# --------------------------------------------------------------------------------------- types


_TYPES_OF_FORMATS = {
    "date": "Date", "date-time": "Date", "time": "Time", "duration": "Duration",
    "email": "EmailAddress", "uri": "URL", "phone": "PhoneNumber",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class SlotDomain:
    """The values of a slot; a parameter has the union of several.

    Attributes:
        kinds: of names that are known at run time.
        least, most: of numbers; None for no numbers.
        step: of numbers, of which they are whole multiples; None if there is none.
        is_text: any words.
        constants: listed values.
        formats: of strings, as JSON Schema names them, such as "date".
        examples: of any words, from which values are drawn.
    """

    kinds: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    step: float | None = 1
    is_text: bool = False
    constants: tuple[str | int | float | bool | tuple[Json, ...], ...] = ()
    formats: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()

    def __or__(self, other: "SlotDomain") -> "SlotDomain":
        if self is other or self == SlotDomain():
            return other
        bounds = [t for t in (self, other) if t.least is not None]
        return SlotDomain(
            tuple(dict.fromkeys((*self.kinds, *other.kinds))),
            min((t.least for t in bounds if t.least is not None), default=None),
            max((t.most for t in bounds if t.most is not None), default=None),
            _common_step([t.step for t in bounds]),
            self.is_text or other.is_text,
            tuple(dict.fromkeys((*self.constants, *other.constants))),
            tuple(dict.fromkeys((*self.formats, *other.formats))),
            tuple(dict.fromkeys((*self.examples, *other.examples))),
        )

    def schema(self) -> dict[str, Json]:
        """Return it as JSON Schema."""
        numbers = [
            c for c in self.constants if isinstance(c, int | float) and not isinstance(c, bool)
        ]
        lists = [c for c in self.constants if isinstance(c, tuple)]
        words: list[Json] = [c for c in self.constants if not isinstance(c, tuple | int | float)]
        words += [c for c in self.constants if isinstance(c, bool)]
        options: list[dict[str, Json]] = [{"type": "string", "x-entity": k} for k in self.kinds]
        options += ({"type": "string", "format": name} for name in self.formats)
        if self.least is not None and self.most is not None:
            least, largest = min([self.least, *numbers]), max([self.most, *numbers])
            step = self.step if all(_is_multiple(n, self.step) for n in numbers) else None
            is_whole = all(float(n).is_integer() for n in (step or 0.1, *numbers))
            bounds = {"minimum": least, "maximum": largest}
            schema_bounds = {name: _plain(n) for name, n in bounds.items() if math.isfinite(n)}
            schema_bounds |= {} if step in (None, 1) else {"multipleOf": _plain(step)}
            options.append({"type": "integer" if is_whole else "number", **schema_bounds})
        else:
            words += numbers
        if words:
            options.append({"enum": words})
        if self.is_text:
            options.append({"type": "string"})
        if lists:
            items = list(dict.fromkeys(itertools.chain(*lists)))
            options.append({"type": "array", "items": {"enum": items}})
        schema = options[0] if len(options) == 1 else {"anyOf": options} if options else {}
        return {**schema, "examples": list(self.examples)} if self.examples else schema

    @property
    def placeholder(self) -> str:
        """Return the name of the type of a placeholder."""
        if self.kinds or self.formats:
            return self.kinds[0] if self.kinds else _TYPES_OF_FORMATS[self.formats[0]]
        return "String" if self.is_text else "Number"


def _common_step(steps: Sequence[float | None]) -> float | None:
    """Return the least of some steps, of which all others are multiples; None if there is none."""
    numbers = [step for step in steps if step is not None]
    least = min(numbers, default=None)
    is_common = len(numbers) == len(steps) and all(_is_multiple(step, least) for step in numbers)
    return least if is_common else None


def _is_multiple(number: float, step: float | None) -> bool:
    return step is not None and Decimal(str(number)) % Decimal(str(step)) == 0


def _hashable(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


# ---------------------------------------------------------------------------------- categories


@dataclass(slots=True)
class _ValueCategory:
    """A category of values, with its templates as they are written."""

    type: SlotDomain
    place: str
    templates: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Command:
    """A template of a command, before all is known of the parameters of its tool.

    Attributes:
        place: its block.
        heading: the comment above it; "" for none.
        types: of the placeholders among the arguments.
    """

    place: str
    heading: str
    ways: Sequence[tuple[Item, ...]]
    arguments: Mapping[str, str]
    types: Mapping[str, SlotDomain]

    def narrower(self, parameters: Mapping[str, SlotDomain]) -> Iterator[Note]:
        """Yield the numbers that are within bounds here, and in others in another template."""
        for name, type_ in self.types.items():
            whole = parameters[name]
            if type_.least is not None and (type_.least, type_.most) != (whole.least, whole.most):
                text = f"`{name}` is {type_.least:g} to {type_.most:g} in these sentences alone"
                yield Note(self.place, text, "not checked")

    def lines(self, tool: str, parameters: Mapping[str, SlotDomain]) -> Iterator[str]:
        # A parameter of several types says nothing of what its placeholder is.
        unclear = [name for name in sorted(self.types) if "anyOf" in parameters[name].schema()]
        typed = ", ".join(f"{name} : {self.types[name].placeholder}" for name in unclear)
        arguments = ", ".join(
            f"{name} = {name if name in unclear else value}"
            for name, value in sorted(self.arguments.items())
        )
        if self.heading:
            yield from ("", self.heading)
        before = rf"\({typed}) -> " if typed else ""
        yield _template(ROOT, self.ways, f"{before}{tool}({arguments})")


class _MistakeError(CannotSayError):
    """A template cannot be read, or names a missing part."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


ROOT = "COMMAND"
REFUSED = "refused.tsv"
_MOST_PATHS = 300
_MOST_WAYS = 200  # of a template; more are cut into several
_LONGEST_NAME = 40
_RESERVED = {"import", "using", "for", "category"}
_ANY = "name"  # names whose sort is not known


def import_intents(sources: Assistant, source: ImportSource) -> Imported:
    """Return tools and templates with the sentences of an assistant.

    Args:
        sources: the contents of its files.
        source: which of the intents are taken, and whether parts with mistakes are left out.

    Raises:
        GenieError: R084, there is no intent; R088, none has a name that is asked for; R086, all
            parts with mistakes, unless they are to be left out.
    """
    names = source.chosen((*(block.intent for block in sources.blocks), *sources.declared))
    sources.blocks = [block for block in sources.blocks if block.intent in names]
    sources.declared = {name: slots for name, slots in sources.declared.items() if name in names}
    sources.examples = [e for e in sources.examples if not e.intent or e.intent in names]
    return _Importer(sources, skip_broken=source.skip_broken).run()


class _Importer:
    def __init__(self, sources: Assistant, *, skip_broken: bool):
        self.sources, self.skip_broken = sources, skip_broken
        self.names: set[str] = {ROOT, *BUILT_IN}
        self.words: dict[str, tuple[str, list[tuple[Item, ...]]]] = {}
        self.values: dict[str, _ValueCategory] = {}
        self.known: dict[Any, Any] = {}
        self.parameters: dict[str, dict[str, SlotDomain]] = {}
        self.slots: dict[str, str] = {}
        self.said_values: dict[str, dict[str, Json]] = {}
        self.contexts: dict[str, list[str]] = {}
        self.described: dict[tuple[str, str], str] = {}
        # (intent, slot) that is said as another parameter, too.
        self.said_otherwise: set[tuple[str, str]] = set()
        self.commands: dict[str, list[_Command]] = {}
        contexts = (c for block in sources.blocks for c in (block.requires, block.excludes))
        # The sorts of devices that blocks ask for.
        self.domains = tuple(dict.fromkeys(d for c in contexts for d in _texts(c.get("domain"))))

    def run(self) -> Imported:
        for block in self.sources.blocks:
            self.parameters.setdefault(block.intent, {})
            _BlockImporter(self, block).run()
        self._declare()
        if not self.skip_broken:
            self.sources.raise_mistakes()
        if not self.parameters:
            raise GenieError(Problem("R084", f"{self.sources.title}: there is no intent"))
        files = _write_files(self)
        rows = self._rows(files["tools.json"])
        if rows:
            files["eval.tsv"] = rows_text(rows)
        refused = {" ".join(e.text.split()): None for e in self.sources.examples if not e.intent}
        if refused:
            lines = (f"R{i}\t{sentence}\t{OUT_OF_SCOPE}\n" for i, sentence in enumerate(refused, 1))
            files[REFUSED] = "".join(lines)
            text = f"{len(refused):,} sentences that mean no intent: genie-dp train .. {REFUSED}"
            self.sources.note(REFUSED, text, "changed")
        narrower = (
            note
            for intent, commands in self.commands.items()
            for command in commands
            for note in command.narrower(self.parameters[intent])
        )
        counts = {
            "sentence templates": sum(len(block.sentences) for block in self.sources.blocks),
            "tools": len(self.parameters),
            "templates": sum(map(len, self.commands.values())),
            "categories": len(self.words) + len(self.values),
            "examples": len(rows),
            "sentences to refuse": len(refused),
        }
        return Imported(
            files,
            tuple(dict.fromkeys((*self.sources.notes, *narrower))),
            counts={kind: number for kind, number in counts.items() if number},
            eval="eval.tsv" if rows else "",
            locale=self.sources.locale,
        )

    def _declare(self) -> None:
        """Add the intents and slots without a sentence."""
        for intent, slots in self.sources.declared.items():
            parameters = self.parameters.setdefault(intent, {})
            if intent not in self.commands:
                self.sources.leave_out(intent, "no sentence says it: write templates")
            for slot, list_name in slots.items():
                name = self.slot_name(slot)
                if name not in parameters:
                    block = _BlockImporter(self, SentenceBlock(intent, (), intent))
                    parameters[name] = block.type_of_list(list_name)
                    text = f"no sentence says the slot `{slot}`"
                    self.sources.note(intent, text, "left out")

    def slot_name(self, slot: str) -> str:
        """Return the name of the parameter that a slot becomes."""
        if slot not in self.slots:
            plain = slot if slot.isascii() else without_accents(slot)
            plain = re.sub(r"\W", "_", plain.encode("ascii", "ignore").decode()) or "slot"
            name = free_name(plain, self.slots.values())
            self.slots[slot] = name
            if name != slot:
                self.sources.note(slot, f"the slot is called `{name}`", "changed")
        return self.slots[slot]

    def _rows(self, tools: str) -> list[tuple[str, str]]:
        """Return the examples with their programs; those without one are left out, and noted."""
        library = read_tools({"tools.json": tools})
        rows: dict[tuple[str, str], None] = {}
        for example in self.sources.examples:
            if not example.intent:
                continue
            arguments, why = {}, ""
            for slot, (list_name, words) in example.slots.items():
                value = self._value_of(list_name, words)
                why = why or ("" if value is not None else f"{slot} is {words!r}")
                arguments[self.slot_name(slot)] = value
            if not why and example.intent not in library.tools:
                why = "its intent is not there"
            program = ""
            if not why:
                call = {"name": example.intent, "arguments": arguments}
                program, why = program_of(call, library)
            if program:
                rows[" ".join(example.text.split()), program] = None
            else:
                text = f"no row of eval.tsv, as {why}: {example.text}"
                self.sources.leave_out(example.place, text)
        return list(rows)

    def _value_of(self, list_name: str, said: str) -> Json:
        """Return the value that words stand for; None if that is not known here."""
        value_list = self.sources.lists.get(list_name) or {}
        words = literal(said)
        if list_name not in self.said_values:
            entries = (
                v if isinstance(v, Mapping) else {"in": v} for v in value_list.get("values", ())
            )
            self.said_values[list_name] = {
                literal(str(v.get("in", "")).replace("\\", "")): v.get("out", v.get("in"))
                for v in entries
            }
        if words in self.said_values[list_name]:
            return self.said_values[list_name][words]
        if value_list.get("wildcard"):
            return words or None
        if value_list.get("format") in ("number", "integer") or "range" in value_list:
            number = said.replace(",", "")
            return float(number) if re.fullmatch(r"[-+]?\d+(\.\d+)?", number) else None
        return words if value_list.get("format") in ("email", "uri", "phone") else None

    def leave_out(self, place: str, text: str, error: Exception) -> None:
        """Note down a template that is left out; a mistake in it is a problem."""
        if isinstance(error, _MistakeError):
            self.sources.mistake(place, text, str(error), error.hint)
        else:
            self.sources.leave_out(place, f"`{text}`: {error}")

    def unique_name(self, name: str) -> str:
        """Return a name of a category that no other has."""
        plain = re.sub(r"\W+", "_", name).strip("_") or "words"
        plain = f"_{plain}" if plain[0].isdigit() or plain in _RESERVED else plain
        numbered = (f"{plain}_{number}" for number in itertools.count(2))
        chosen = next(n for n in itertools.chain([plain], numbered) if n not in self.names)
        self.names.add(chosen)
        return chosen

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the result for a key, made once; a failure is raised again."""
        if key not in self.known:
            try:
                self.known[key] = make()
            except CannotSayError as error:
                self.known[key] = error
        result = self.known[key]
        if isinstance(result, Exception):
            raise result
        return result

    def with_named_words(self, way: tuple[Item, ...]) -> tuple[Item, ...]:
        """Return an utterance whose first choice of words is a category.

        Only in grammars that have such a category words are drawn, and not multiplied out.
        """
        for place, item in enumerate(way):
            if isinstance(item, Choice | Optional) and is_of_words((item,)):
                name = self.unique_name("said")
                choice: Item = CategoryWords(name)
                inner = item.items if isinstance(item, Optional) else (item,)
                self.words[name] = ("one choice of many", [inner])
                choice = Optional((choice,)) if isinstance(item, Optional) else choice
                return (*way[:place], choice, *way[place + 1 :])
        return way

    def article(self, word: str) -> CategoryWords:
        """Return "a" or "an" as a category: as words before a value one may become the other."""
        key = ("article", word)
        if key not in self.known:
            name = self.known[key] = self.unique_name(f"just_{word}")
            place = "said as it stands, whatever comes after it"
            self.words[name] = (place, [(QuotedWords((PlainWords(word),)),)])
        return CategoryWords(self.known[key])


def _texts(given: Json) -> tuple[str, ...]:
    """Return the values of a condition of the context, which may be written in three ways."""
    if isinstance(given, Mapping):
        given = given.get("value")
    if given is None:
        return ()
    return tuple(map(str, given)) if isinstance(given, list) else (str(given),)


class _BlockImporter:
    """Imports the templates of one block."""

    def __init__(self, importer: _Importer, block: SentenceBlock):
        self.importer, self.block = importer, block
        self.sources = importer.sources
        self.types: dict[str, SlotDomain] = {}  # of placeholders
        self.domains = self._domains()
        self.writer = UtteranceWriter(
            self.rule,
            self.say_rule,
            self.say_list,
            is_plain=importer.sources.is_plain,
            is_number=self.is_number,
        )

    # --------------------------------------------------------------------------- context

    def _domains(self) -> tuple[str, ...]:
        """Return the sorts of devices whose names fit; empty for all."""
        required = _texts(self.block.requires.get("domain"))
        excluded = _texts(self.block.excludes.get("domain"))
        if excluded:
            among = required or (*self.importer.domains, _ANY)
            return tuple(d for d in among if d not in excluded)
        return required

    def context_slots(self) -> Iterator[str]:
        """Yield the slots that are filled by the place of the speaker; note other requirements."""
        for name, requirement in self.block.requires.items():
            slot = requirement.get("slot") if isinstance(requirement, Mapping) else None
            if slot:
                yield str(slot) if isinstance(slot, str) else name
                if requirement.get("value") is not None:
                    self.note("requires_context", f"`{name}` must be {requirement['value']!r}")
            elif name != "domain":
                self.note("requires_context", f"`{name}` must be {requirement!r}")
        for name in self.block.excludes.keys() - {"domain"}:
            self.note("excludes_context", f"`{name}` must not be {self.block.excludes[name]!r}")

    def note(self, part: str, text: str) -> None:
        self.sources.note(f"{self.block.place}.{part}", text, "not checked")

    # ------------------------------------------------------------------------- references

    def place_of(self, name: str) -> str:
        """Return the place of a rule or list: its file, or this block."""
        return self.sources.places.get(name, self.block.place)

    def _scope(self, name: str, own: Mapping[str, Json]) -> str:
        return self.block.place if name in own else ""

    def rule(self, name: str) -> Sequence_:
        scope = self._scope(name, self.block.rules)
        key = ("rule", scope, name)
        rule: Sequence_ = self.importer.once(key, partial(self._read_rule, name))
        return rule

    def _read_rule(self, name: str) -> Sequence_:
        text = self.block.rules.get(name, self.sources.rules.get(name))
        if text is None:
            suggestion = did_you_mean(name, {**self.sources.rules, **self.block.rules})
            raise _MistakeError(
                f"there is no rule <{name}>", suggestion or "write it as an expansion rule"
            )
        return self._read(str(text), f"rule <{name}>")

    def paths(self, sequence: Sequence_, outer: tuple[str, ...] = ()) -> frozenset[tuple[str, ...]]:
        """Return which slots occur together, for each choice."""
        paths: frozenset[tuple[str, ...]] = frozenset({()})
        for atom in sequence:
            match atom:
                case ListReference():
                    more: frozenset[tuple[str, ...]] = frozenset({(self.give_own_slot(atom).slot,)})
                case RuleReference(name):
                    if name in outer:
                        raise _MistakeError(f"rule <{name}> holds itself")
                    key = ("paths", self._scope_of_rule(name), name)
                    make = partial(self.paths, self.rule(name), (*outer, name))
                    more = self.importer.once(key, make)
                case AlternativeGroup(alternatives):
                    more = frozenset(itertools.chain(*(self.paths(a, outer) for a in alternatives)))
                case Permutation(parts):
                    more = self.paths(tuple(itertools.chain(*parts)), outer)
                case _:
                    continue
            paths = frozenset(tuple(sorted((*a, *b))) for a in paths for b in more)
            if len(paths) > _MOST_PATHS:
                raise CannotSayError("too many choices between slots")
        return paths

    def _scope_of_rule(self, name: str) -> str:
        """Return the dependencies of a rule besides its text: rules, lists, sorts of names."""
        own = self.block.rules or self.block.lists
        return self.block.place if own else ""

    def say_rule(self, reference: RuleReference) -> Item | Sequence_:
        sequence = self.rule(reference.name)
        paths = self.paths((reference,))
        if paths == {()}:
            scope = self._scope_of_rule(reference.name)
            words = ("words", scope, reference.name)
            return CategoryWords(
                self.importer.once(words, partial(self._add_words, reference.name))
            )
        if len(paths) > 1 or len(next(iter(paths))) != 1:
            return sequence
        [(slot,)] = paths
        key = ("value", self._scope_of_rule(reference.name), reference.name, self.domains)
        category = self.importer.once(key, partial(self._add_value_rule, reference.name, slot))
        return Child(slot, category)

    def _add_words(self, name: str) -> str:
        utterance = self.writer.utterance(self.rule(name))
        category = self.importer.unique_name(name)
        place = self.place_of(name)
        self.importer.words[category] = (f"{place}: <{name}>", [utterance])
        return category

    def _add_value_rule(self, name: str, slot: str) -> str:
        utterance = self.writer.utterance(self.rule(name))
        suffix = ""
        if any(c.category.startswith("name_") for c in children_of(utterance)) and self.domains:
            suffix = f"_{_short_of(self.domains)}"
        place = f"{self.place_of(name)}: <{name}>"
        written = []
        type_ = SlotDomain()
        for items, form in self.group_by_slots(self.ways(utterance)):
            is_child = any(children_of(items[0]))
            of_way = self.type_of(slot, form)
            type_ |= of_way
            body = slot if is_child else rf"\({slot} : {of_way.placeholder}) -> {slot}"
            written.append((items, body))
        category = self.importer.unique_name(f"{name}{suffix}")
        templates = [_template(category, items, body) for items, body in written]
        self.importer.values[category] = _ValueCategory(type_, place, templates)
        return category

    # ------------------------------------------------------------------------------ lists

    def list_of(self, name: str) -> Mapping[str, Json] | None:
        """Return a list; None for names that are known at run time only."""
        value_list: Mapping[str, Json] | None = self.block.lists.get(
            name, self.sources.lists.get(name)
        )
        if value_list is None:
            match = re.fullmatch(r"(\d+)\.\.(\d+)(?:,(\d+))?", name)
            if match:
                least, largest, step = match.groups()
                return {"range": {"from": int(least), "to": int(largest), "step": int(step or 1)}}
        return value_list

    def is_number(self, reference: ListReference) -> bool:
        """Return whether the values of a list are numbers."""
        return "range" in (self.list_of(reference.name) or {})

    def give_own_slot(self, reference: ListReference) -> ListReference:
        """Return a list whose numbers are multiplied as a slot of its own."""
        value_list = self.list_of(reference.name) or {}
        factor = float((value_list.get("range") or {}).get("multiplier", 1))
        if factor == 1 or reference.slot == reference.name:
            return reference
        text = f"slot `{reference.slot}`, of which it is {factor:g} times the number"
        self.importer.described[self.block.intent, reference.name] = text
        slot_of_intent = self.block.intent, self.importer.slot_name(reference.slot)
        self.importer.said_otherwise.add(slot_of_intent)
        place = f"{self.place_of(reference.name)}:{reference.name}"
        self.sources.note(place, f"a parameter of its own: {text}", "changed")
        return ListReference(reference.name, reference.name)

    def say_list(self, reference: ListReference) -> Item:
        reference = self.give_own_slot(reference)
        name, slot = reference.name, self.importer.slot_name(reference.slot)
        value_list = self.list_of(name)
        if value_list is None:
            return self._say_names(name, slot)
        type_ = self._open_type(name, value_list)
        if "values" not in value_list:
            if type_ is None:
                raise CannotSayError(f"list {{{name}}} has no values")
            return self._placeholder(slot, type_)
        key = ("list", self._scope(name, self.block.lists), name)
        listed = Child(slot, self.importer.once(key, partial(self._add_list, name, value_list)))
        return Choice(((listed,), (self._placeholder(slot, type_),))) if type_ else listed

    def _placeholder(self, slot: str, type_: SlotDomain) -> Item:
        self.types[slot] = type_ if slot not in self.types else self.types[slot] | type_
        return QuotedWords((Placeholder(slot),))

    def _open_type(self, name: str, found: Mapping[str, Json]) -> SlotDomain | None:
        """Return the type of values outside the list; None where there are none."""

        def open_domain() -> SlotDomain | None:
            if found.get("wildcard"):
                return SlotDomain(is_text=True, examples=tuple(found.get("examples", ())))
            if "range" in found:
                return self._range_type(name, found["range"])
            form = found.get("format")
            if form in ("number", "integer"):
                return SlotDomain((), -math.inf, math.inf, 1 if form == "integer" else None)
            return SlotDomain(formats=(form,)) if form else None

        type_: SlotDomain | None = self.importer.once(
            ("open", self._scope(name, self.block.lists), name), open_domain
        )
        return type_

    def _range_type(self, name: str, given: Mapping[str, Json]) -> SlotDomain:
        fractions, place = given.get("fractions"), self.place_of(name)
        whole = int(given.get("step", 1))
        step: float | None = {"halves": 0.5, "tenths": 0.1}.get(str(fractions), whole)
        if int(given["from"]) % whole or (fractions and whole != 1):
            text = f"numbers go in steps of {whole} from {given['from']}"
            self.sources.note(f"{place}:lists.{name}", text, "not checked")
            step = None if fractions else 1
        for form in ("digits", "words"):
            if given.get(form) is False:
                text = f"numbers are not said in {form}"
                self.sources.note(f"{place}:lists.{name}", text, "not checked")
        top = float(given["to"]) + (0 if not fractions else 0.5 if fractions == "halves" else 0.9)
        return SlotDomain((), float(given["from"]), top, step)

    def _say_names(self, name: str, slot: str) -> Item:
        if name != _ANY or not (self.domains or self.importer.domains):
            return self._placeholder(slot, SlotDomain((name,)))
        domains = self.domains or (*self.importer.domains, _ANY)
        category = self.importer.once(("names", domains), partial(self._add_names, domains))
        return Child(slot, category)

    def _add_names(self, domains: tuple[str, ...]) -> str:
        category = self.importer.unique_name(f"name_{_short_of(domains)}")
        templates = [rf"{category} := '$x' -> \(x : {kind}) -> x;" for kind in domains]
        place = f"names of {', '.join(domains)}"
        self.importer.values[category] = _ValueCategory(SlotDomain(domains), place, templates)
        return category

    def type_of_list(self, name: str) -> SlotDomain:
        """Return the values of a list."""
        value_list = self.list_of(name) or {}
        listed = tuple(map(_hashable, self._values(name, value_list)[1].values()))
        return SlotDomain(constants=listed) | (self._open_type(name, value_list) or SlotDomain())

    def _values(
        self, name: str, found: Mapping[str, Json]
    ) -> tuple[dict[str, list[tuple[Item, ...]]], dict[str, Json]]:
        """Return the wordings of each value, and the values, both by their texts in JSON."""
        ways: dict[str, list[tuple[Item, ...]]] = {}
        constants: dict[str, Json] = {}
        place = f"{self.place_of(name)}: {{{name}}}"
        for value in found.get("values") or ():
            for utterance, out in self._said_values(value, place):
                text = json.dumps(out, ensure_ascii=False)
                constants[text] = out
                ways.setdefault(text, []).append(utterance)
        return ways, constants

    def _add_list(self, name: str, found: Mapping[str, Json]) -> str:
        ways, constants = self._values(name, found)
        if not ways:
            raise CannotSayError(f"list {{{name}}} has no values")
        category = self.importer.unique_name(name if name not in self.sources.rules else f"{name}_")
        templates = [
            _template(category, part, text)
            for text, phrases in ways.items()
            for part in _cut(phrases)
        ]
        type_ = SlotDomain(constants=tuple(map(_hashable, constants.values())))
        place = f"{self.place_of(name)}: {{{name}}}"
        self.importer.values[category] = _ValueCategory(type_, place, templates)
        return category

    def _said_values(self, value: Json, place: str) -> Iterator[tuple[tuple[Item, ...], Json]]:
        """Yield the words of a value, and their meanings."""
        entry = value if isinstance(value, Mapping) else {"in": value}
        phrase = str(entry.get("in", ""))
        for key in entry.keys() - {"in", "out", "metadata"}:
            text = f"`{key}` of {phrase!r}"
            self.sources.note(f"{place}.{key}", text, "left out")
        try:
            plain = re.sub(r"([\\;])", r"\\\1", phrase)
            text = phrase if is_template(phrase) else plain
            sequence = self._read(text, f"value of {{{place}}}")
            utterance = self.writer.utterance(sequence)
            if names_of(utterance):
                raise CannotSayError("a value holds other lists")
            if not utterance:
                raise CannotSayError("a value without words")
        except CannotSayError as error:
            self.importer.leave_out(place, phrase, error)
            return
        if "out" in entry and entry["out"] is not None:
            yield utterance, entry["out"]
        elif not is_template(phrase):
            yield utterance, phrase
        else:
            words = {c: self._words(c) for c in self.importer.words}
            for text in say_words(utterance, words, MOST_WORDS) or ():
                yield (QuotedWords((PlainWords(text),)),), text

    def _words(self, category: str) -> tuple[str, ...]:
        raise CannotSayError("a value without `out` that has rules")

    # -------------------------------------------------------------------------- templates

    def run(self) -> None:
        """Add the commands of the block."""
        ways: list[tuple[Item, ...]] = []
        for number, text in enumerate(self.block.sentences):
            try:
                ways += self._read_sentence(text)
            except CannotSayError as error:
                place = f"{self.block.place}.sentences.{number}"
                place = self.block.places[number] if self.block.places else place
                self.importer.leave_out(place, text, error)
        if not ways:
            return
        context = list(dict.fromkeys(map(self.importer.slot_name, self.context_slots())))
        if "domain" in self.block.requires and not any(
            child.category.startswith("name") for way in ways for child in children_of(way)
        ):
            self.note("requires_context", "a domain is asked for, and no name is said")
        commands = self.importer.commands.setdefault(self.block.intent, [])
        heading = f"// {self.block.place}, {self.block.topic}".removesuffix(", ")
        for items, form in self.group_by_slots(ways):
            arguments, types = self._arguments(form, context)
            count = _count_drawn if self.importer.words else count_utterances
            for part in _cut(items, count):
                commands.append(_Command(self.block.place, heading, part, arguments, types))
                heading = ""

    def _read_sentence(self, text: str) -> list[tuple[Item, ...]]:
        sequence = self._read(text, "sentence")
        for path in self.paths(sequence):
            twice = [slot for slot, count in Counter(path).items() if count > 1]
            if twice:
                raise CannotSayError(f"slot {twice[0]!r} is said twice")
        return self.ways(self.writer.utterance(sequence))

    def _read(self, text: str, what: str) -> Sequence_:
        try:
            return read_template(text.strip(), keeps_empty=self.sources.is_plain)
        except GenieError as error:
            [problem] = error.problems
            place = f" at its letter {problem.span.column}" if problem.span else ""
            message = f"{what}: {problem.message}{place}"
            raise _MistakeError(message, problem.hint) from None

    def ways(self, utterance: tuple[Item, ...]) -> list[tuple[Item, ...]]:
        """Return an utterance cut where a choice is between different slots."""
        ways = [tuple(join_quoted(way)) for way in _same_names(utterance) if way]
        if self.sources.keeps_articles:
            ways = [_with_articles(way, self.importer.article) for way in ways]
        for way in ways:
            if _count_drawn(way) > MOST_ALTERNATIVES:
                raise CannotSayError(f"more than {MOST_ALTERNATIVES} ways to say the same slots")
        if not self.importer.words and any(count_utterances(way) > _MOST_WAYS for way in ways):
            return [self.importer.with_named_words(way) for way in ways]
        return ways

    def group_by_slots(
        self, ways: Iterable[tuple[Item, ...]]
    ) -> Iterator[tuple[list[tuple[Item, ...]], tuple[tuple[str, str], ...]]]:
        """Yield utterances of the same slots: (slot, its category or "" for a placeholder)."""
        groups: dict[tuple[tuple[str, bool], ...], dict[tuple[Item, ...], None]] = {}
        forms: dict[Any, dict[tuple[str, str], None]] = {}
        for way in ways:
            form = {(c.name, c.category): None for c in children_of(way)}
            form |= {(p.name, ""): None for p in placeholders_of(way)}
            key = tuple(sorted({(name, bool(category)) for name, category in form}))
            groups.setdefault(key, {}).setdefault(way)
            forms.setdefault(key, {}).update(form)
        for key, items in groups.items():
            yield list(items), tuple(forms[key])

    def type_of(self, slot: str, form: Iterable[tuple[str, str]]) -> SlotDomain:
        """Return the values of a slot."""
        type_ = SlotDomain()
        for name, category in form:
            if name == slot:
                type_ |= self.importer.values[category].type if category else self.types[name]
        return type_

    def _arguments(
        self, form: tuple[tuple[str, str], ...], context: Sequence[str]
    ) -> tuple[dict[str, str], dict[str, SlotDomain]]:
        """Return the arguments of a call, and the types of those that are placeholders."""
        parameters = self.importer.parameters[self.block.intent]
        arguments: dict[str, str] = {}
        types: dict[str, SlotDomain] = {}
        for slot, category in form:
            type_ = self.type_of(slot, form)
            parameters[slot] = parameters.get(slot, SlotDomain()) | type_
            arguments[slot] = slot if category else f"${slot}"
            if not category:
                types[slot] = self.types[slot]
        for slot, value in self.block.slots.items():
            name = self.importer.slot_name(slot)
            if name not in arguments:
                arguments[name] = json.dumps(value, ensure_ascii=False)
                constant = SlotDomain(constants=(_hashable(value),))
                parameters[name] = parameters.get(name, SlotDomain()) | constant
        missing = [slot for slot in context if slot not in arguments]
        if missing:
            arguments["context"] = json.dumps("+".join(missing))
            self.importer.contexts.setdefault(self.block.intent, []).append("+".join(missing))
        return arguments, types


def _short_of(domains: Sequence[str]) -> str:
    text = "_".join(domains)
    if len(text) > _LONGEST_NAME:
        text = f"{domains[0]}_and_{len(domains) - 1}_more"
    return text


def _same_names(items: tuple[Item, ...]) -> list[tuple[Item, ...]]:
    """Return utterances in each of which every choice has the same slots.

    >>> x, y = (QuotedWords((Placeholder(name),)) for name in "xy")
    >>> for way in _same_names((Choice(((x,), (y,))), Optional((x,)))):
    ...     print(write_items(way))
    '$x' ('$x')?
    '$y' ('$x')?
    """
    options = [list(_options(item)) for item in items]
    return [tuple(itertools.chain(*way)) for way in itertools.product(*options)]


def _options(item: Item) -> Iterator[tuple[Item, ...]]:
    match item:
        case Choice(alternatives):
            yield from map(_one_of, _by_names(alternatives))
        case Optional(inner):
            groups = _by_names([inner])
            if len(groups) == 1:
                yield _one_of((*groups[0], ()))
                return
            yield ()
            yield from map(_one_of, groups)
        case _:
            yield (item,)


def _one_of(ways: tuple[tuple[Item, ...], ...]) -> tuple[Item, ...]:
    """Return the choice of some ways, optional if one of them is empty."""
    nonempty = tuple(way for way in ways if way)
    items = (Choice(nonempty),) if len(nonempty) > 1 else nonempty[0] if nonempty else ()
    return (Optional(items),) if items and len(nonempty) < len(ways) else items


def _by_names(alternatives: Iterable[tuple[Item, ...]]) -> list[tuple[tuple[Item, ...], ...]]:
    groups: dict[frozenset[tuple[str, bool]], dict[tuple[Item, ...], None]] = {}
    for alternative in alternatives:
        for way in _same_names(alternative):
            groups.setdefault(_slots_of(way), {}).setdefault(way)
    return [tuple(ways) for ways in groups.values()]


def _slots_of(way: tuple[Item, ...]) -> frozenset[tuple[str, bool]]:
    """Return the slots of an utterance, and which of them are children."""
    children = ((child.name, True) for child in children_of(way))
    return frozenset((*children, *((p.name, False) for p in placeholders_of(way))))


def _with_articles(
    items: tuple[Item, ...], article: Callable[[str], CategoryWords], outer: Item | None = None
) -> tuple[Item, ...]:
    """Return an utterance in which no word is fitted to the value after it, as "a" and "an" are.

    Args:
        items: the utterance.
        article: returns the category for such a word as it stands.
        outer: the items after it.
    """
    changed: list[Item] = []
    for item, after in zip(items, (*items[1:], outer), strict=False):
        match item:
            case Choice() | Optional() if is_of_words((item,)):
                changed.append(item)  # drawn as one piece, and said as it is
            case Choice(alternatives):
                ways = (_with_articles(a, article, after) for a in alternatives)
                changed.append(Choice(tuple(ways)))
            case Optional(inner):
                changed.append(Optional(_with_articles(inner, article, after)))
            case QuotedWords(parts):
                changed += _apart(parts, article, is_before=_may_begin_with_value(after))
            case _:
                changed.append(item)
    return tuple(changed)


def _may_begin_with_value(item: Item | None) -> bool:
    match item:
        case QuotedWords(parts):
            return isinstance(parts[0], Placeholder)
        case Choice() | Optional():
            return bool(names_of((item,)))
        case _:
            return isinstance(item, Child)


def _apart(
    parts: tuple[Part, ...], article: Callable[[str], CategoryWords], *, is_before: bool
) -> Iterator[Item]:
    """Yield quoted words with articles before values apart; a value `is_before` at their end."""
    waiting: list[Part] = []
    for part, following in itertools.zip_longest(parts, parts[1:]):
        words = part.text.split() if isinstance(part, PlainWords) else []
        is_next = isinstance(following, Placeholder) or (following is None and is_before)
        if is_next and words and words[-1].lower() in ("a", "an"):
            if words[:-1]:
                waiting.append(PlainWords(" ".join(words[:-1])))
            if waiting:
                yield QuotedWords(tuple(waiting))
            waiting = []
            yield article(words[-1].lower())
        else:
            waiting.append(part)
    if waiting:
        yield QuotedWords(tuple(waiting))


def _count_drawn(way: tuple[Item, ...]) -> int:
    return count_utterances(with_drawn_words(way, {}, MOST_WORDS))


def _cut(
    items: Sequence[tuple[Item, ...]], count: Callable[[tuple[Item, ...]], int] = count_utterances
) -> Iterator[list[tuple[Item, ...]]]:
    """Yield the utterances, as many at a time as make a template of not too many ways."""
    part: list[tuple[Item, ...]] = []
    total = 0
    for item in items:
        ways = count(item)
        if part and total + ways > _MOST_WAYS:
            yield part
            part, total = [], 0
        part.append(item)
        total += ways
    yield part


# ------------------------------------------------------------------------------------- writing


def _template(category: str, ways: Sequence[tuple[Item, ...]], body: str = "") -> str:
    """Return a template; one alternative a line where they are long; words have no body."""
    texts = list(dict.fromkeys(map(write_items, ways)))
    whole = f"{category} := {' | '.join(texts)}"
    end = f" -> {body};" if body else ";"
    if len(whole) + len(end) <= 100:
        return whole + end
    lines = "\n  | ".join(texts)
    return f"{category} := {lines}" + (f"\n  -> {body};" if body else ";")


def _write_files(importer: _Importer) -> dict[str, str]:
    sources = importer.sources
    files = {"tools.json": _tools(importer), "words.genie": _words_file(importer)}
    files["values.genie"] = _values_file(importer)
    names: list[str] = []
    for intent, commands in importer.commands.items():
        parameters = importer.parameters[intent]
        lines = (line for command in commands for line in command.lines(intent, parameters))
        text = "\n".join(lines)
        name = re.sub(r"[^\w.-]", "_", intent)
        while f"{name}.genie".lower() in ("main.genie", *map(str.lower, files)):
            name += "_"
        names.append(name)
        files[f"{name}.genie"] = f'import "values.genie";\n{text}\n'
    imports = "\n".join(f'import "{name}.genie";' for name in names)
    licence = f"// {sources.licence}\n" if sources.licence else ""
    files["main.genie"] = (
        f"// {sources.title}, read by genie-dp import.\n{licence}\n"
        f'import "words.genie";\nimport "values.genie";\n{imports}\n'
    )
    return files


def _words_file(importer: _Importer) -> str:
    lines = [f"// {importer.sources.title}: words that mean nothing by themselves.", ""]
    lines += [f'category {ROOT} : program root "what people say";', ""]
    for name, (place, ways) in importer.words.items():
        lines += [f"// {place}", f"category {name} : words;"]
        flat = [alternative for way in ways for alternative in _alternatives(way)]
        lines += [_template(name, flat), ""]
    return "\n".join(lines).rstrip() + "\n"


def _alternatives(way: tuple[Item, ...]) -> tuple[tuple[Item, ...], ...]:
    match way:
        case (Choice(alternatives),):
            return alternatives
        case _:
            return (way,)


def _values_file(importer: _Importer) -> str:
    lines = ['import "words.genie";', ""]
    for name, category in importer.values.items():
        lines += [f"// {category.place}", f"category {name} : value;", *category.templates, ""]
    return "\n".join(lines).rstrip() + "\n"


_COMMAND = "command"  # the end of the name of a slot whose text is a command


def _tools(importer: _Importer) -> str:
    tools = []
    commands = [*dict.fromkeys(importer.sources.commands)]
    for intent, parameters in importer.parameters.items():
        described = importer.sources.descriptions.get(intent) or {}
        slots = described.get("slots") or {}
        slots = {importer.slot_name(slot): about or {} for slot, about in slots.items()}
        properties: dict[str, Json] = {}
        for name in sorted(parameters):
            schema = parameters[name].schema()
            about = slots.get(name, {}).get("description", "")
            text = importer.described.get((intent, name)) or about
            properties[name] = {**schema, **({"description": text} if text else {})}
            if parameters[name].is_text and name.endswith(_COMMAND) and commands:
                properties[name]["examples"] = commands
        if intent in importer.contexts:
            text = "slots that are filled by the place of the speaker"
            values = list(dict.fromkeys(importer.contexts[intent]))
            properties["context"] = {"enum": values, "description": text}
        tool = {"name": intent, "description": described.get("description", "")}
        otherwise = {name for tool, name in importer.said_otherwise if tool == intent}
        for context in importer.contexts.get(intent, ()):
            otherwise.update(context.split("+"))
        required = [
            name
            for name in sorted(parameters)
            if slots.get(name, {}).get("required") and name not in otherwise
        ]
        shape = {"type": "object", "properties": properties}
        tools.append({**tool, "parameters": shape | ({"required": required} if required else {})})
    return tools_text(tools)
