"""Home Assistant's sentence templates as tools and templates: `genie-dp import`.

It reads a folder of their sources (`intents.yaml`, `sentences/LANG`, `rules/LANG`, `lists`), or the
file that they are merged to (`LANG.json`). An intent becomes a tool, a slot a parameter. What is
not taken over stands in the notes with its place; nothing is lost without a word.
"""

import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.skills.imported import Note
from genie_dp.templates.ast import (
    Child,
    Choice,
    Item,
    Optional,
    Part,
    Placeholder,
    PlainWords,
    QuotedWords,
    SaidWords,
    children_of,
    count_utterances,
    is_of_words,
    names_of,
    placeholders_of,
    say_words,
    with_drawn_words,
    write_items,
)
from genie_dp.templates.grammar import BUILT_IN, MOST_WORDS
from genie_dp.templates.hassil import (
    Group,
    ListReference,
    NeverSaidError,
    Permutation,
    RuleReference,
    Sequence_,
    TooManyWaysError,
    UtteranceWriter,
    is_template,
    read_template,
)
from genie_dp.templates.imports import Imported, Source

Json = Any

# --------------------------------------------------------------------------------------- files


@dataclass(frozen=True, slots=True)
class SentenceBlock:
    """Templates of one intent that have the same slots and ask for the same context.

    Attributes:
        place: the file, and where in it.
        topic: its combination of slots, for people.
        slots: those that it sets by itself.
        requires, excludes: what the context is to be, or not to be.
        lists, rules: its own ones.
        example: a sentence, as a person says it.
    """

    intent: str
    sentences: tuple[str, ...]
    place: str
    topic: str = ""
    slots: Mapping[str, Json] = field(default_factory=dict)
    requires: Mapping[str, Json] = field(default_factory=dict)
    excludes: Mapping[str, Json] = field(default_factory=dict)
    lists: Mapping[str, Json] = field(default_factory=dict)
    rules: Mapping[str, str] = field(default_factory=dict)
    example: str = ""


@dataclass(slots=True)
class AssistantSources:
    """What the files say.

    Attributes:
        notes: what is not taken over, each with its place.
        places: name of a rule or list -> its file.
        files: name -> text, to show mistakes.
        ignores_space: whether spaces between letters of scripts without any count for nothing.
    """

    locale: str
    blocks: list[SentenceBlock] = field(default_factory=list)
    lists: dict[str, Json] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    skip_words: list[str] = field(default_factory=list)
    descriptions: dict[str, Json] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    places: dict[str, str] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    ignores_space: bool = False

    def domains(self) -> tuple[str, ...]:
        """Return the sorts of devices that blocks ask for."""
        found: dict[str, None] = {}
        for block in self.blocks:
            for context in (block.requires, block.excludes):
                found |= dict.fromkeys(_texts(context.get("domain")))
        return tuple(found)


_OF_BLOCKS = {
    "sentences", "slots", "requires_context", "excludes_context", "expansion_rules", "lists",
    "response", "metadata", "example", "inferred_domain", "name_domains", "speech_to_phrase",
    "required_keywords", "settings",
}  # fmt: skip
_OF_FILES = {
    "language", "intents", "data", "lists", "expansion_rules", "skip_words", "responses",
    "settings",
}  # fmt: skip


def read_sources(source: Source) -> AssistantSources:
    """Return what a folder or a merged file says in one language.

    Raises:
        GenieError: R085, there is nothing of that language; R081, a file that cannot be read.
    """
    sources = AssistantSources(source.locale)
    path = source.path
    if path is None or path.is_file():
        document = source.document()
        found = document.get("language") if isinstance(document, Mapping) else None
        sources.locale = str(found or source.locale)
        sources.files[source.given] = source.text()
        _add_file(sources, document, source.given, {}, "")
    else:
        _add_folder(sources, path)
    if not any(block.sentences for block in sources.blocks):
        folders = path.glob("sentences/*/") if path is not None else ()
        hint = did_you_mean(source.locale, [folder.name for folder in folders])
        hint = hint or "name one that it has, such as --locale de"
        message = f"{source.given} has no sentences in {source.locale!r}"
        raise GenieError(Problem("R085", message, hint=hint))
    return sources


def _add_folder(sources: AssistantSources, folder: Path) -> None:
    intents = folder / "intents.yaml"
    if intents.is_file():
        sources.descriptions = Source(str(intents)).document() or {}
    places = [
        *(folder / "lists").glob("*.yaml"),
        *(folder / "lists" / sources.locale).glob("*.yaml"),
        *(folder / "rules" / sources.locale).glob("*.yaml"),
        *(folder / "sentences" / sources.locale).rglob("*.yaml"),
    ]
    for path in sorted(places):
        place = path.relative_to(folder).as_posix()
        file = Source(str(path))
        sources.files[place] = file.text()
        intent = path.parent.name
        combinations = (sources.descriptions.get(intent) or {}).get("slot_combinations") or {}
        combination = combinations.get(path.stem) or {}
        _add_file(sources, file.document() or {}, place, combination, path.stem, intent)


def _add_file(
    sources: AssistantSources,
    found: Json,
    place: str,
    combination: Mapping[str, Json],
    topic: str,
    intent: str = "",
) -> None:
    if not isinstance(found, Mapping):
        problem = Problem("R085", f"{place}: expected names with values", Span(place, 1, 1, 1, 2))
        raise GenieError(problem, sources=sources.files)
    for name in sorted(found.keys() - _OF_FILES):
        sources.notes.append(Note(f"{place}:{name}", "it is not known", "left out"))
    settings = found.get("settings") or {}
    for name in sorted(settings.keys() - {"ignore_whitespace", "filter_with_regex"}):
        sources.notes.append(Note(f"{place}:settings.{name}", "it is not known", "left out"))
    sources.ignores_space |= bool(settings.get("ignore_whitespace"))
    sources.lists |= found.get("lists") or {}
    sources.rules |= found.get("expansion_rules") or {}
    for name in (*(found.get("lists") or {}), *(found.get("expansion_rules") or {})):
        sources.places[name] = place
    sources.skip_words += found.get("skip_words") or []
    for name, inside in (found.get("intents") or {}).items():
        blocks = inside.get("data") or ()
        for number, data in enumerate(blocks):
            where = f"{place}:intents.{name}.data.{number}"
            _add_block(sources, data, where, name, {}, "", has_plain=_has_plain(blocks))
    blocks = found.get("data") or ()
    for number, data in enumerate(blocks):
        where = f"{place}:data.{number}"
        _add_block(sources, data, where, intent, combination, topic, has_plain=_has_plain(blocks))


def _has_plain(blocks: Sequence[Mapping[str, Json]]) -> bool:
    """Tell whether a block is not for small recognisers: those beside it are for these alone."""
    return any(not block.get("speech_to_phrase") for block in blocks)


def _add_block(
    sources: AssistantSources,
    data: Mapping[str, Json],
    place: str,
    intent: str,
    combination: Mapping[str, Json],
    topic: str,
    *,
    has_plain: bool,
) -> None:
    if data.get("speech_to_phrase") and has_plain:
        text = "a block for small speech recognisers, which Home Assistant does not match"
        sources.notes.append(Note(place, text, "left out"))
        return
    for name in sorted(data.keys() - _OF_BLOCKS):
        sources.notes.append(Note(f"{place}.{name}", "it is not known", "left out"))
    if data.get("required_keywords"):
        text = "one of these words has to be said: " + ", ".join(
            map(str, data["required_keywords"])
        )
        sources.notes.append(Note(f"{place}.required_keywords", text, "not checked"))
    slots = dict(data.get("slots") or {})
    requires = dict(data.get("requires_context") or {})
    if "inferred_domain" in data:
        slots.setdefault("domain", data["inferred_domain"])
    if "name_domains" in data:
        domains = data["name_domains"]
        if isinstance(domains, str):
            domains = (combination.get("name_domain_groups") or {}).get(domains, [domains])
        requires.setdefault("domain", domains)
    if combination.get("context_area"):
        requires.setdefault("area", {"slot": True})
    block = SentenceBlock(
        intent,
        tuple(map(str, data.get("sentences") or ())),
        place,
        topic or str((data.get("metadata") or {}).get("slot_combination", "")),
        slots,
        requires,
        data.get("excludes_context") or {},
        data.get("lists") or {},
        data.get("expansion_rules") or {},
        str(data.get("example", "")),
    )
    sources.blocks.append(block)


# --------------------------------------------------------------------------------------- types


@dataclass(frozen=True, slots=True)
class SlotType:
    """What may stand in a slot; a parameter has the union of several.

    Attributes:
        kinds: of names that are known at run time.
        least, most, is_whole: of numbers; None for no numbers.
        is_text: any words.
        constants: listed values.
    """

    kinds: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    is_whole: bool = True
    is_text: bool = False
    constants: tuple[str | int | float | bool | tuple[Json, ...], ...] = ()

    def __or__(self, other: "SlotType") -> "SlotType":
        """Return the union."""
        bounds = [t for t in (self, other) if t.least is not None]
        return SlotType(
            tuple(dict.fromkeys((*self.kinds, *other.kinds))),
            min((t.least for t in bounds if t.least is not None), default=None),
            max((t.most for t in bounds if t.most is not None), default=None),
            self.is_whole and other.is_whole,
            self.is_text or other.is_text,
            tuple(dict.fromkeys((*self.constants, *other.constants))),
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
        if self.least is not None and self.most is not None:
            least, most = min([self.least, *numbers]), max([self.most, *numbers])
            is_whole = self.is_whole and all(float(n).is_integer() for n in numbers)
            name = "integer" if is_whole else "number"
            options.append({"type": name, "minimum": _plain(least), "maximum": _plain(most)})
        else:
            words += numbers
        if words:
            options.append({"enum": words})
        if self.is_text:
            options.append({"type": "string"})
        if lists:
            items = list(dict.fromkeys(itertools.chain(*lists)))
            options.append({"type": "array", "items": {"enum": items}})
        return options[0] if len(options) == 1 else {"anyOf": options} if options else {}

    @property
    def placeholder(self) -> str:
        """Return the name of the type of a placeholder."""
        return self.kinds[0] if self.kinds else "String" if self.is_text else "Number"


def _hashable(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


def _plain(number: float) -> int | float:
    return int(number) if float(number).is_integer() else number


# ---------------------------------------------------------------------------------- categories


@dataclass(slots=True)
class _ValueCategory:
    """A category of values, with its templates as they are written."""

    type: SlotType
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
    types: Mapping[str, SlotType]

    def narrower(self, parameters: Mapping[str, SlotType]) -> Iterator[Note]:
        """Yield the numbers that are within bounds here, and in others in another template."""
        for name, type_ in self.types.items():
            whole = parameters[name]
            if type_.least is not None and (type_.least, type_.most) != (whole.least, whole.most):
                text = f"`{name}` is {type_.least:g} to {type_.most:g} in these sentences alone"
                yield Note(self.place, text, "not checked")

    def lines(self, tool: str, parameters: Mapping[str, SlotType]) -> Iterator[str]:
        """Yield its lines."""
        # A parameter of several types says nothing of what its placeholder is.
        unclear = [name for name in sorted(self.types) if "anyOf" in parameters[name].schema()]
        typed = ", ".join(f"{name} : {self.types[name].placeholder}" for name in unclear)
        said = ", ".join(
            f"{name} = {name if name in unclear else value}"
            for name, value in sorted(self.arguments.items())
        )
        if self.heading:
            yield from ("", self.heading)
        before = rf"\({typed}) -> " if typed else ""
        yield _template(ROOT, self.ways, f"{before}{tool}({said})")


class _LeftOutError(Exception):
    """A template cannot be said by ours."""


class _MistakeError(_LeftOutError):
    """A template cannot be read, or names what there is not."""

    def __init__(self, message: str, hint: str | None = None):
        super().__init__(message)
        self.hint = hint


ROOT = "COMMAND"
_MOST_PATHS = 300
_MOST_WAYS = 200  # of a template; more are cut into several
_LONGEST_NAME = 40
_RESERVED = {"import", "using", "for", "category"}
_ANY = "name"  # names whose sort is not known


def import_home_assistant(source: Source) -> Imported:
    """Return tools and templates that say what Home Assistant understands in a language.

    Raises:
        GenieError: R081, files that cannot be read; R085, nothing of that language; and, unless
            parts with mistakes are to be left out, R086, all templates with mistakes.
    """
    return _Importer(read_sources(source), skip_broken=source.skip_broken).run()


class _Importer:
    def __init__(self, sources: AssistantSources, *, skip_broken: bool):
        self.sources, self.skip_broken = sources, skip_broken
        self.names: set[str] = {ROOT, *BUILT_IN}
        self.words: dict[str, tuple[str, list[tuple[Item, ...]]]] = {}
        self.values: dict[str, _ValueCategory] = {}
        self.known: dict[Any, Any] = {}
        self.parameters: dict[str, dict[str, SlotType]] = {}
        self.contexts: dict[str, list[str]] = {}
        self.described: dict[tuple[str, str], str] = {}
        self.commands: dict[str, list[_Command]] = {}
        self.problems: list[Problem] = []
        self.notes = list(sources.notes)
        self.domains = sources.domains()

    def run(self) -> Imported:
        for block in self.sources.blocks:
            self.parameters.setdefault(block.intent, {})
            _BlockImporter(self, block).run()
        if self.problems and not self.skip_broken:
            raise GenieError(dict.fromkeys(self.problems), sources=self.sources.files)
        counts = {
            "sentence templates": sum(len(block.sentences) for block in self.sources.blocks),
            "tools": len(self.commands),
            "templates": sum(map(len, self.commands.values())),
            "categories": len(self.words) + len(self.values),
        }
        narrower = (
            note
            for intent, commands in self.commands.items()
            for command in commands
            for note in command.narrower(self.parameters[intent])
        )
        notes = dict.fromkeys((*self.notes, *narrower, *self._always()))
        locale = self.sources.locale
        return Imported(_write_files(self), tuple(notes), counts=counts, locale=locale)

    def _always(self) -> Iterator[Note]:
        """Yield what is so whatever the sentences are."""
        text = "responses and metadata: they say nothing of sentences"
        yield Note("responses", text, "left out")
        text = "numbers in words are read by the parser, and not by templates"
        yield Note("lists", text, "left out")
        if self.sources.skip_words:
            words = ", ".join(self.sources.skip_words)
            text = f"words that are left out of sentences before they are matched: {words}"
            yield Note("skip_words", text, "left out")

    def leave_out(self, place: str, text: str, error: Exception) -> None:
        """Note down a template that is left out; a mistake in it is a problem."""
        self.notes.append(Note(place, f"`{text}`: {error}", "left out"))
        if isinstance(error, _MistakeError):
            span = self._span(place, text)
            self.problems.append(Problem("R086", str(error), span, error.hint, stage="syntax"))

    def _span(self, place: str, text: str) -> Span | None:
        """Return where a template stands in its file."""
        file = place.partition(":")[0]
        whole = self.sources.files.get(file, "")
        for written in (text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]):
            start = whole.find(written)
            if start >= 0:
                line, column = whole.count("\n", 0, start) + 1, start - whole.rfind("\n", 0, start)
                return Span(file, line, column, line, column + len(written))
        return Span(file, 1, 1, 1, 2)

    def unique_name(self, name: str) -> str:
        """Return a name of a category that no other has."""
        plain = re.sub(r"\W+", "_", name).strip("_") or "words"
        plain = f"_{plain}" if plain[0].isdigit() or plain in _RESERVED else plain
        numbered = (f"{plain}_{number}" for number in itertools.count(2))
        chosen = next(n for n in itertools.chain([plain], numbered) if n not in self.names)
        self.names.add(chosen)
        return chosen

    def once(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return what is made of a key, made once; what cannot be made fails again."""
        if key not in self.known:
            try:
                self.known[key] = make()
            except (_LeftOutError, TooManyWaysError, NeverSaidError) as error:
                self.known[key] = error
        found = self.known[key]
        if isinstance(found, Exception):
            raise found
        return found

    def article(self, word: str) -> SaidWords:
        """Return "a" or "an" as a category: as words before a value one may become the other."""
        key = ("article", word)
        if key not in self.known:
            name = self.known[key] = self.unique_name(f"just_{word}")
            place = "said as it stands, whatever comes after it"
            self.words[name] = (place, [(QuotedWords((PlainWords(word),)),)])
        return SaidWords(self.known[key])


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
        self.types: dict[str, SlotType] = {}  # of placeholders
        self.domains = self._domains()
        self.writer = UtteranceWriter(self.rule, self.say_rule, self.say_list)

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
        """Yield the slots that are filled by the place of the speaker; note what else is asked."""
        for name, given in self.block.requires.items():
            slot = given.get("slot") if isinstance(given, Mapping) else None
            if slot:
                yield str(slot) if isinstance(slot, str) else name
                if given.get("value") is not None:
                    self.note("requires_context", f"`{name}` must be {given['value']!r}")
            elif name != "domain":
                self.note("requires_context", f"`{name}` must be {given!r}")
        for name in self.block.excludes.keys() - {"domain"}:
            self.note("excludes_context", f"`{name}` must not be {self.block.excludes[name]!r}")

    def note(self, part: str, text: str) -> None:
        self.importer.notes.append(Note(f"{self.block.place}.{part}", text, "not checked"))

    # ------------------------------------------------------------------------- references

    def _scope(self, name: str, own: Mapping[str, Json]) -> str:
        return self.block.place if name in own else ""

    def rule(self, name: str) -> Sequence_:
        """Return the template of a rule."""
        scope = self._scope(name, self.block.rules)
        key = ("rule", scope, name)
        found: Sequence_ = self.importer.once(key, partial(self._read_rule, name))
        return found

    def _read_rule(self, name: str) -> Sequence_:
        text = self.block.rules.get(name, self.sources.rules.get(name))
        if text is None:
            near = did_you_mean(name, {**self.sources.rules, **self.block.rules})
            raise _MistakeError(f"there is no rule <{name}>", near)
        return _read(str(text), f"rule <{name}>")

    def paths(self, sequence: Sequence_, outer: tuple[str, ...] = ()) -> frozenset[tuple[str, ...]]:
        """Return which slots are said together, for each choice."""
        paths: frozenset[tuple[str, ...]] = frozenset({()})
        for atom in sequence:
            match atom:
                case ListReference():
                    more: frozenset[tuple[str, ...]] = frozenset({(self.renamed(atom).slot,)})
                case RuleReference(name):
                    if name in outer:
                        raise _MistakeError(f"rule <{name}> holds itself")
                    key = ("paths", self._scope_of_rule(name), name)
                    make = partial(self.paths, self.rule(name), (*outer, name))
                    more = self.importer.once(key, make)
                case Group(alternatives):
                    more = frozenset(itertools.chain(*(self.paths(a, outer) for a in alternatives)))
                case Permutation(parts):
                    more = self.paths(tuple(itertools.chain(*parts)), outer)
                case _:
                    continue
            paths = frozenset(tuple(sorted((*a, *b))) for a in paths for b in more)
            if len(paths) > _MOST_PATHS:
                raise _LeftOutError("too many choices between slots")
        return paths

    def _scope_of_rule(self, name: str) -> str:
        """Return what a rule depends on besides its text: own rules and lists, sorts of names."""
        own = self.block.rules or self.block.lists
        return self.block.place if own else ""

    def say_rule(self, reference: RuleReference) -> Item | Sequence_:
        sequence = self.rule(reference.name)
        paths = self.paths((reference,))
        if paths == {()}:
            scope = self._scope_of_rule(reference.name)
            words = ("words", scope, reference.name)
            return SaidWords(self.importer.once(words, partial(self._add_words, reference.name)))
        if len(paths) > 1 or len(next(iter(paths))) != 1:
            return sequence
        [(slot,)] = paths
        key = ("value", self._scope_of_rule(reference.name), reference.name, self.domains)
        category = self.importer.once(key, partial(self._add_value_rule, reference.name, slot))
        return Child(slot, category)

    def _add_words(self, name: str) -> str:
        utterance = self.writer.utterance(self.rule(name))
        category = self.importer.unique_name(name)
        place = self.sources.places.get(name, self.block.place)
        self.importer.words[category] = (f"{place}: <{name}>", [utterance])
        return category

    def _add_value_rule(self, name: str, slot: str) -> str:
        utterance = self.writer.utterance(self.rule(name))
        suffix = ""
        if any(c.category.startswith("name_") for c in children_of(utterance)) and self.domains:
            suffix = f"_{_short_of(self.domains)}"
        place = f"{self.sources.places.get(name, self.block.place)}: <{name}>"
        written = []
        type_ = SlotType()
        for items, form in self.grouped(self.ways(utterance)):
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
        found: Mapping[str, Json] | None = self.block.lists.get(name, self.sources.lists.get(name))
        if found is None:
            match = re.fullmatch(r"(\d+)\.\.(\d+)(?:,(\d+))?", name)
            if match:
                least, most, step = match.groups()
                return {"range": {"from": int(least), "to": int(most), "step": int(step or 1)}}
        return found

    def renamed(self, reference: ListReference) -> ListReference:
        """Return a list whose numbers are multiplied as a slot of its own."""
        found = self.list_of(reference.name) or {}
        factor = (found.get("range") or {}).get("multiplier", 1)
        if factor == 1 or reference.slot == reference.name:
            return reference
        text = f"slot `{reference.slot}`, of which it is {factor:g} times the number"
        self.importer.described[self.block.intent, reference.name] = text
        place = f"{self.sources.places.get(reference.name, self.block.place)}:{reference.name}"
        self.importer.notes.append(Note(place, f"a parameter of its own: {text}", "changed"))
        return ListReference(reference.name, reference.name)

    def say_list(self, reference: ListReference) -> Item:
        reference = self.renamed(reference)
        name, slot = reference.name, _identifier(reference.slot)
        found = self.list_of(name)
        if found is None:
            return self._say_names(name, slot)
        if "values" in found:
            key = ("list", self._scope(name, self.block.lists), name)
            category = self.importer.once(key, partial(self._add_list, name, found))
            return Child(slot, category)
        if found.get("wildcard"):
            return self._placeholder(slot, SlotType(is_text=True))
        if "range" in found:
            return self._placeholder(slot, self._range_type(name, found["range"]))
        raise _LeftOutError(f"list {{{name}}} has no values")

    def _placeholder(self, slot: str, type_: SlotType) -> Item:
        self.types[slot] = type_ if slot not in self.types else self.types[slot] | type_
        return QuotedWords((Placeholder(slot),))

    def _range_type(self, name: str, given: Mapping[str, Json]) -> SlotType:
        fractions = given.get("fractions")
        place = self.sources.places.get(name, self.block.place)
        if int(given.get("step", 1)) != 1 or fractions:
            step = {"halves": "0.5", "tenths": "0.1"}.get(str(fractions), given.get("step"))
            text = f"numbers go in steps of {step}"
            self.importer.notes.append(Note(f"{place}:lists.{name}", text, "not checked"))
        for form in ("digits", "words"):
            if given.get(form) is False:
                text = f"numbers are not said in {form}"
                self.importer.notes.append(Note(f"{place}:lists.{name}", text, "not checked"))
        top = float(given["to"]) + (0 if not fractions else 0.5 if fractions == "halves" else 0.9)
        return SlotType((), float(given["from"]), top, is_whole=not fractions)

    def _say_names(self, name: str, slot: str) -> Item:
        if name != _ANY or not (self.domains or self.importer.domains):
            return self._placeholder(slot, SlotType((name,)))
        domains = self.domains or (*self.importer.domains, _ANY)
        category = self.importer.once(("names", domains), partial(self._add_names, domains))
        return Child(slot, category)

    def _add_names(self, domains: tuple[str, ...]) -> str:
        category = self.importer.unique_name(f"name_{_short_of(domains)}")
        templates = [rf"{category} := '$x' -> \(x : {kind}) -> x;" for kind in domains]
        place = f"names of {', '.join(domains)}"
        self.importer.values[category] = _ValueCategory(SlotType(domains), place, templates)
        return category

    def _add_list(self, name: str, found: Mapping[str, Json]) -> str:
        by_value: dict[str, list[tuple[Item, ...]]] = {}
        constants: dict[str, Json] = {}
        place = f"{self.sources.places.get(name, self.block.place)}: {{{name}}}"
        for value in found["values"] or ():
            for utterance, out in self._said_values(value, place):
                text = json.dumps(out, ensure_ascii=False)
                constants[text] = out
                by_value.setdefault(text, []).append(utterance)
        if not by_value:
            raise _LeftOutError(f"list {{{name}}} has no values")
        category = self.importer.unique_name(name if name not in self.sources.rules else f"{name}_")
        templates = [_template(category, ways, text) for text, ways in by_value.items()]
        type_ = SlotType(constants=tuple(map(_hashable, constants.values())))
        self.importer.values[category] = _ValueCategory(type_, place, templates)
        return category

    def _said_values(self, value: Json, place: str) -> Iterator[tuple[tuple[Item, ...], Json]]:
        """Yield the words of a value, and what they stand for."""
        given = value if isinstance(value, Mapping) else {"in": value}
        said = str(given.get("in", ""))
        for key in given.keys() - {"in", "out", "metadata"}:
            text = f"`{key}` of {said!r}"
            self.importer.notes.append(Note(f"{place}.{key}", text, "left out"))
        try:
            plain = re.sub(r"([\\;])", r"\\\1", said)
            sequence = _read(said if is_template(said) else plain, f"value of {{{place}}}")
            utterance = self.writer.utterance(sequence)
            if names_of(utterance):
                raise _LeftOutError("a value holds other lists")
        except (_LeftOutError, TooManyWaysError, NeverSaidError) as error:
            self.importer.leave_out(place, said, error)
            return
        if "out" in given and given["out"] is not None:
            yield utterance, given["out"]
        elif not is_template(said):
            yield utterance, said
        else:
            words = {c: self._words(c) for c in self.importer.words}
            for text in say_words(utterance, words, MOST_WORDS) or ():
                yield (QuotedWords((PlainWords(text),)),), text

    def _words(self, category: str) -> tuple[str, ...]:
        raise _LeftOutError("a value without `out` that has rules")

    # -------------------------------------------------------------------------- templates

    def run(self) -> None:
        """Add the commands of the block."""
        ways: list[tuple[Item, ...]] = []
        for number, text in enumerate(self.block.sentences):
            try:
                ways += self._read_sentence(text)
            except (_LeftOutError, TooManyWaysError, NeverSaidError) as error:
                self.importer.leave_out(f"{self.block.place}.sentences.{number}", text, error)
        if not ways:
            return
        context = list(dict.fromkeys(map(_identifier, self.context_slots())))
        if "domain" in self.block.requires and not any(
            child.category.startswith("name") for way in ways for child in children_of(way)
        ):
            self.note("requires_context", "a domain is asked for, and no name is said")
        commands = self.importer.commands.setdefault(self.block.intent, [])
        heading = f"// {self.block.place}, {self.block.topic}".removesuffix(", ")
        for items, form in self.grouped(ways):
            arguments, types = self._arguments(form, context)
            for part in _cut(items):
                commands.append(_Command(self.block.place, heading, part, arguments, types))
                heading = ""

    def _read_sentence(self, text: str) -> list[tuple[Item, ...]]:
        sequence = _read(text, "sentence")
        for path in self.paths(sequence):
            twice = [slot for slot, count in Counter(path).items() if count > 1]
            if twice:
                raise _LeftOutError(f"slot {twice[0]!r} is said twice")
        return self.ways(self.writer.utterance(sequence))

    def ways(self, utterance: tuple[Item, ...]) -> list[tuple[Item, ...]]:
        """Return an utterance cut where a choice is between different slots."""
        return [_with_articles(way, self.importer.article) for way in _same_names(utterance)]

    def grouped(
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

    def type_of(self, slot: str, form: Iterable[tuple[str, str]]) -> SlotType:
        """Return what a slot may hold."""
        type_ = SlotType()
        for name, category in form:
            if name == slot:
                type_ |= self.importer.values[category].type if category else self.types[name]
        return type_

    def _arguments(
        self, form: tuple[tuple[str, str], ...], context: Sequence[str]
    ) -> tuple[dict[str, str], dict[str, SlotType]]:
        """Return the arguments of a call, and the types of those that are placeholders."""
        parameters = self.importer.parameters[self.block.intent]
        arguments: dict[str, str] = {}
        types: dict[str, SlotType] = {}
        for slot, category in form:
            type_ = self.type_of(slot, form)
            parameters[slot] = parameters.get(slot, SlotType()) | type_
            arguments[slot] = slot if category else f"${slot}"
            if not category:
                types[slot] = self.types[slot]
        for slot, value in self.block.slots.items():
            name = _identifier(slot)
            if name not in arguments:
                arguments[name] = json.dumps(value, ensure_ascii=False)
                constant = SlotType(constants=(_hashable(value),))
                parameters[name] = parameters.get(name, SlotType()) | constant
        asked = [slot for slot in context if slot not in arguments]
        if asked:
            arguments["context"] = json.dumps("+".join(asked))
            self.importer.contexts.setdefault(self.block.intent, []).append("+".join(asked))
        return arguments, types


def _read(text: str, what: str) -> Sequence_:
    try:
        return read_template(text.strip())
    except GenieError as error:
        [problem] = error.problems
        place = f" at its letter {problem.span.column}" if problem.span else ""
        message = f"{what}: {problem.message}{place}"
        raise _MistakeError(message, problem.hint) from None


def _identifier(name: str) -> str:
    return re.sub(r"\W", "_", name)


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
            for ways in _by_names(alternatives):
                yield (Choice(ways),) if len(ways) > 1 else ways[0]
        case Optional(inner):
            groups = _by_names([inner])
            if len(groups) == 1:
                [ways] = groups
                yield (Optional((Choice(ways),) if len(ways) > 1 else ways[0]),)
                return
            yield ()
            for ways in groups:
                yield (Choice(ways),) if len(ways) > 1 else ways[0]
        case _:
            yield (item,)


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
    items: tuple[Item, ...], article: Callable[[str], SaidWords], outer: Item | None = None
) -> tuple[Item, ...]:
    """Return an utterance in which no word is fitted to the value after it, as "a" and "an" are.

    Args:
        items: the utterance.
        article: gives the category that says such a word as it stands.
        outer: what comes after it.
    """
    changed: list[Item] = []
    for item, after in itertools.zip_longest(items, (*items[1:], outer)):
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
    parts: tuple[Part, ...], article: Callable[[str], SaidWords], *, is_before: bool
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


def _cut(items: Sequence[tuple[Item, ...]]) -> Iterator[list[tuple[Item, ...]]]:
    """Yield the utterances, as many at a time as make a template of not too many ways."""
    part: list[tuple[Item, ...]] = []
    count = 0
    for item in items:
        ways = count_utterances(with_drawn_words(item, {}, MOST_WORDS))
        if part and count + ways > _MOST_WAYS:
            yield part
            part, count = [], 0
        part.append(item)
        count += ways
    yield part


# ------------------------------------------------------------------------------------- writing


def _template(category: str, ways: Sequence[tuple[Item, ...]], body: str) -> str:
    """Return a template; one alternative a line where there is more than one."""
    texts = list(dict.fromkeys(map(write_items, ways)))
    head = f"{category} := " + " | ".join(texts)
    if len(head) + len(body) + 5 <= 100:
        return f"{head} -> {body};"
    lines = "\n  | ".join(texts)
    return f"{category} := {lines}\n  -> {body};"


def _write_files(importer: _Importer) -> dict[str, str]:
    sources = importer.sources
    title = f"Sentences of Home Assistant in {sources.locale!r}"
    licence = "The sentences are of the Home Assistant authors (Open Home Foundation), CC BY 4.0."
    files = {"tools.json": _tools(importer), "words.genie": _words_file(importer, title)}
    files["values.genie"] = _values_file(importer)
    intents = list(importer.commands)
    for intent, commands in importer.commands.items():
        parameters = importer.parameters[intent]
        lines = (line for command in commands for line in command.lines(intent, parameters))
        text = "\n".join(lines)
        files[f"{intent}.genie"] = f'import "values.genie";\n{text}\n'
    imports = "\n".join(f'import "{intent}.genie";' for intent in intents)
    files["main.genie"] = (
        f"// {title}, read by genie-dp import.\n// {licence}\n\n"
        f'import "words.genie";\nimport "values.genie";\n{imports}\n'
    )
    return files


def _words_file(importer: _Importer, title: str) -> str:
    lines = [f"// {title}: words that mean nothing by themselves.", ""]
    lines += [f'category {ROOT} : program root "what people say";', ""]
    for name, (place, ways) in importer.words.items():
        lines += [f"// {place}", f"category {name} : words;"]
        texts = [write_items(flat) for way in ways for flat in _alternatives(way)]
        head = f"{name} := " + " | ".join(texts) + ";"
        if len(head) > 100:
            head = f"{name} := " + "\n  | ".join(texts) + ";"
        lines += [head, ""]
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
    # A text that is a command is said as commands are.
    said = [*dict.fromkeys(block.example for block in importer.sources.blocks if block.example)]
    for intent, parameters in importer.parameters.items():
        described = importer.sources.descriptions.get(intent) or {}
        slots = described.get("slots") or {}
        properties: dict[str, Json] = {}
        for name in sorted(parameters):
            schema = parameters[name].schema()
            text = importer.described.get((intent, name)) or (slots.get(name) or {}).get(
                "description", ""
            )
            properties[name] = {**schema, **({"description": text} if text else {})}
            if parameters[name].is_text and name.endswith(_COMMAND) and said:
                properties[name]["examples"] = said
        if intent in importer.contexts:
            text = "slots that are filled by the place of the speaker"
            values = list(dict.fromkeys(importer.contexts[intent]))
            properties["context"] = {"enum": values, "description": text}
        tool = {"name": intent, "description": described.get("description", "")}
        tools.append({**tool, "parameters": {"type": "object", "properties": properties}})
    return json.dumps({"tools": tools}, indent=1, ensure_ascii=False) + "\n"
