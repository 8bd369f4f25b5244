"""Training data of Rasa NLU: YAML files with `nlu:`, and domain.yml beside them.

    - intent: book_table
      examples: |
        - a table for [two](people) in [Rome]{"entity": "city", "role": "to", "value": "roma"}

An intent becomes a tool, an entity a parameter (with a role or group: `city_to`). An example whose
entities are replaced by slots is a sentence template; as it stands it is a row of eval.tsv.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.importers.assistant import (
    Assistant,
    DocumentPart,
    IntentExample,
    closed_list,
    open_list,
)
from genie_dp.importers.hassil import literal, plain
from genie_dp.importers.source import YAML, ImportSource

Json = Any

_ANNOTATION = re.compile(
    r"\[(?P<said>[^\[\]]+)\](?:\((?P<entity>[^()]*)\)|(?P<json>\{[^{}]*\})|\[(?P<first>\{[^{}]*\})"
    r"[^\]]*\])"
)
_REFUSED = ("out_of_scope", "nlu_fallback")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?")
_DOMAIN = {"version", "intents", "entities", "slots", "responses"}


def is_rasa(source: ImportSource) -> bool:
    """Return whether a source is a folder or a file with training data of Rasa NLU."""
    path = source.path
    return path is not None and any(_has_key(file, "nlu") for _, file in _documents(path))


def _documents(path: Path) -> Iterator[tuple[Path, ImportSource]]:
    """Yield the YAML files of a folder, or the file itself if it is one."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
        if not hidden and file.suffix in YAML and file.is_file():
            yield file, ImportSource(str(file))


def _has_key(source: ImportSource, *keys: str) -> bool:
    return re.search(rf"(?m)^(?:{'|'.join(keys)})\s*:", source.text()) is not None


def read_rasa(source: ImportSource) -> Assistant:
    """Return the contents of training data of Rasa NLU.

    Raises:
        GenieError: R085, there is none; R081, a file that cannot be read; R086 and R087, all that
            is there has mistakes.
    """
    path = Path(source.given)
    title = f"Training data of Rasa ({path.name})"
    assistant = Assistant(source.locale, title, keeps_articles=False)
    _RasaReader(assistant, path).read()
    if not assistant.blocks:
        assistant.raise_mistakes()
        hint = "expected YAML with nlu:, as Rasa 2 and 3 write it"
        raise GenieError(Problem("R085", f"{source.given} has no examples of intents", hint=hint))
    return assistant


@dataclass(slots=True)
class _Annotated:
    """A sentence with entities: `parts` are words and (entity, slot, words, value or "")."""

    intent: str
    place: str
    parts: list[str | tuple[str, str, str, str]] = field(default_factory=list)

    @property
    def entities(self) -> list[tuple[str, str, str, str]]:
        return [part for part in self.parts if not isinstance(part, str)]

    @property
    def text(self) -> str:
        return "".join(part if isinstance(part, str) else part[2] for part in self.parts)

    @property
    def template(self) -> str:
        """Return the sentence with slots in the place of entities, in the syntax of hassil."""
        parts = (p if isinstance(p, tuple) else plain(p) for p in self.parts)
        words = (p if isinstance(p, str) else f"{{{p[0]}:{p[1]}}}" for p in parts)
        return " ".join("".join(words).split())


class _RasaReader:
    def __init__(self, assistant: Assistant, path: Path):
        self.assistant, self.path = assistant, path
        self.examples: list[_Annotated] = []
        self.values: dict[str, dict[str, dict[str, None]]] = {}  # entity -> value -> its words
        self.synonyms: dict[str, str] = {}
        self.categories: dict[str, list[str]] = {}
        self.numbers: set[str] = set()
        self.intents: list[str] = []
        self.declared: list[str] = []
        self.numbers_of_lines: dict[str, dict[str, int]] = {}
        self.questions: dict[str, str] = {}

    def read(self) -> None:
        assistant = self.assistant
        for file, source in _documents(self.path):
            place = file.relative_to(self.path if self.path.is_dir() else file.parent).as_posix()
            if not _has_key(source, "nlu", *_DOMAIN - {"version"}):
                assistant.leave_out(place, "it has no training data of intents")
                continue
            assistant.files[place] = source.text()
            document = assistant.part(source.document(), place)
            document.leave_out_others(_DOMAIN | {"nlu"}, "it says nothing of sentences")
            for item in document.objects("nlu"):
                self.nlu(item, place)
            self.domain(document)
        entities = [entity for example in self.examples for entity in example.entities]
        for entity, _, wording, role in entities:
            value = role or self.synonyms.get(literal(wording), wording)
            words = self.values.setdefault(entity, {}).setdefault(value, {})
            if literal(wording) != literal(value):
                words.setdefault(wording)
        entity_names = {entity for entity, *_ in entities}
        for entity in self.values:
            assistant.lists[entity] = self.list_of(entity)
            if entity not in entity_names:
                assistant.leave_out(entity, "an entity that no example has")
        by_intent: dict[str, list[_Annotated]] = {}
        for example in self.examples:
            by_intent.setdefault(example.intent, []).append(example)
        for intent in dict.fromkeys((*self.intents, *self.declared)):
            self.add_intent(intent, by_intent.get(intent, ()))

    # ------------------------------------------------------------------------------- files

    def nlu(self, item: DocumentPart, file: str) -> None:
        sort = next((s for s in ("intent", "synonym", "lookup", "regex") if s in item.fields), "")
        name = _text(item.get(sort))
        lines = [*self.lines(item.get("examples"), item.place_of("examples"), file)]
        match sort:
            case "intent":
                self.intents.append(name)
                read = (self.example(name, line, line_place) for line_place, line in lines)
                self.examples += (example for example in read if example is not None)
            case "synonym":
                self.synonyms |= {literal(line): name for _, line in lines}
                self.synonyms[literal(name)] = name
            case "lookup":
                words = self.values.setdefault(name, {})
                for _, line in lines:
                    words.setdefault(line, {})
            case _:
                item.leave_out(sort, f"{name}: no sentence is made of it")

    def lines(self, given: Json, place: str, file: str) -> Iterator[tuple[str, str]]:
        """Yield the examples of a block: lines that begin with "-", or texts in a list."""
        if isinstance(given, list):
            for index, item in enumerate(given):
                text = _text(item.get("text") if isinstance(item, Mapping) else item)
                if text:
                    yield self._line(text, file), text.strip().removeprefix("- ").strip()
                else:
                    message = f"expected a text at {place}.{index}"
                    self.assistant.mistake(f"{place}.{index}", "", message, code="R087")
            return
        if given is not None and not isinstance(given, str):
            self.assistant.mistake(place, "", f"expected lines at {place}", code="R087")
            return
        texts = [line.strip() for line in (given or "").split("\n")]
        texts = [text for text in texts if text and not text.startswith("#")]
        has_dashes = any(text.startswith("-") for text in texts)
        for text in texts:
            line = self._line(text, file)
            if has_dashes and not text.startswith("-"):
                self.assistant.mistake(line, text, "expected '- ' before an example")
            else:
                yield line, text.removeprefix("-").strip()

    def _line(self, text: str, file: str) -> str:
        """Return the place of an example: the first line that has it."""
        if file not in self.numbers_of_lines:
            lines = enumerate(self.assistant.files[file].split("\n"), 1)
            line_numbers = self.numbers_of_lines[file] = {}
            for number, line in lines:
                line_numbers.setdefault(line.strip().removeprefix("-").strip(), number)
        bare = text.strip().removeprefix("-").strip().split("\n")[0]
        return f"{file}:{self.numbers_of_lines[file].get(bare, 1)}"

    def example(self, intent: str, text: str, place: str) -> _Annotated | None:
        """Return an example with its entities; None for one that has a mistake."""
        example, end = _Annotated(intent, place), 0
        for match in _ANNOTATION.finditer(text):
            example.parts.append(text[end : match.start()])
            end = match.end()
            annotation = match["json"] or match["first"]
            try:
                about = json.loads(annotation) if annotation else dict(zip(
                    ("entity", "value"), match["entity"].split(":", 1), strict=False
                ))  # fmt: skip
            except json.JSONDecodeError as error:
                self.assistant.mistake(place, match.group(), f"not JSON: {error.msg}")
                return None
            entity = str(about.get("entity", "")).strip()
            if not entity:
                self.assistant.mistake(place, match.group(), "an entity without a name")
                return None
            if match["first"]:
                self.assistant.leave_out(place, f"{match.group()}: all entities but the first")
            slot = "_".join((entity, *(str(about[k]) for k in ("role", "group") if about.get(k))))
            words = match["said"]
            example.parts.append((entity, slot, words, str(about.get("value") or "")))
        example.parts.append(text[end:])
        for part in example.parts:
            if isinstance(part, str) and re.search(r"\]\s?[({]\s*[\"\w]", part):
                hint = 'write [words](entity) or [words]{"entity": "name"}'
                self.assistant.mistake(place, part.strip(), "an entity that cannot be read", hint)
                return None
        return example

    def domain(self, document: DocumentPart) -> None:
        self.declared += _names(document.get("intents"))
        for name in _names(document.get("entities")):
            self.values.setdefault(name, {})
        slots = document.object("slots")
        for name in slots.fields:
            about = slots.object(name)
            mapped = [str(e) for m in about.objects("mappings") if (e := m.get("entity"))]
            for entity in mapped or [name]:
                if about.get("type") == "categorical" and isinstance(about.get("values"), list):
                    self.categories[entity] = [*filter(None, map(_text, about.get("values")))]
                elif about.get("type") == "float":
                    self.numbers.add(entity)
        responses = document.object("responses").fields
        for name, response in responses.items():
            texts = [v["text"] for v in response if v.get("text")] if _is_response(response) else []
            if name.startswith("utter_ask_") and texts:
                self.questions[name.removeprefix("utter_ask_")] = str(texts[0])
        if responses:
            document.leave_out("responses", "what the assistant says")

    # ----------------------------------------------------------------------------- meaning

    def list_of(self, entity: str) -> dict[str, Any]:
        """Return the values of the slots of an entity."""
        category_values = {literal(value): value for value in self.categories.get(entity, ())}
        values: dict[str, dict[str, None]] = {value: {} for value in category_values.values()}
        for value, words in self.values[entity].items():
            values.setdefault(category_values.get(literal(value), value), {}).update(words)
        for synonym, value in self.synonyms.items():
            if value in values and synonym != literal(value):
                values[value].setdefault(synonym)
        if category_values:
            return closed_list({value: values[value] for value in category_values.values()})
        texts = [text for value, words in values.items() for text in (value, *words)]
        is_number = bool(texts) and all(map(_NUMBER.fullmatch, texts))
        if is_number or entity in self.numbers:
            self.assistant.note(entity, f"the entity {entity} is a number")
            return {"format": "number"}
        return open_list(values)

    def add_intent(self, intent: str, examples: Sequence[_Annotated]) -> None:
        assistant = self.assistant
        if intent in _REFUSED:
            assistant.refuse((example.text, example.place) for example in examples)
            text = "its examples are sentences to refuse, and it is no tool"
            assistant.note(intent, text, "changed")
            return
        place = examples[0].place if examples else intent
        name = assistant.tool_name(intent, place)
        prompts: dict[str, Any] = {}
        for example in examples:
            means = {
                slot: (entity, value or wording)
                for entity, slot, wording, value in example.entities
            }
            if len(means) == len(example.entities):
                assistant.examples.append(IntentExample(name, example.text, means, example.place))
            for slot in means.keys() & self.questions.keys():
                prompts[slot] = {"description": self.questions[slot]}
        if examples:
            sentences = ((example.template, example.place) for example in examples)
            assistant.add_intent(name, sentences, place, intent, about={"slots": prompts})
        else:
            assistant.declared[name] = {}


def _names(given: Json) -> Iterator[str]:
    for item in given if isinstance(given, list) else ():
        yield from map(_text, item if isinstance(item, Mapping) else [item])


def _text(value: Json) -> str:
    """Return a scalar of YAML as a text; "" for other nodes.

    >>> _text("on"), _text(True), _text(7), _text([])
    ('on', 'true', '7', '')
    """
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, bool | int | float) else ""


def _is_response(given: Json) -> bool:
    return isinstance(given, list) and all(isinstance(item, Mapping) for item in given)
