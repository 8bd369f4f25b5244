"""Interaction models of Alexa: a file of one language, or a skill's folder, for `genie-dp import`.

An intent becomes a tool, a slot a parameter, a sample a sentence template. A slot takes the values
of its type and no others; types of Alexa that are extended take others, too.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import did_you_mean
from genie_dp.importers.hassil import plain
from genie_dp.importers.intents import (
    IntentSources,
    SaidExample,
    SentenceBlock,
    chosen_locale,
    closed_list,
    import_intents,
    open_list,
)
from genie_dp.importers.source import Imported, Source
from genie_dp.locale import DEFAULT
from genie_dp.templates.review import Note

Json = Mapping[str, Any]

_PLACES = ("interactionModels/custom", "skill-package/interactionModels/custom", "models", ".")
_LANGUAGE = re.compile(r"[a-z]{2}-[A-Z]{2}")
_SLOT = re.compile(r"\{([^{}]*)\}")
# What each of Alexa's own types is; any other one is a text.
_TYPES: dict[str, dict[str, Any]] = {
    "DATE": {"format": "date"},
    "TIME": {"format": "time"},
    "DURATION": {"format": "duration"},
    "NUMBER": {"format": "number"},
    "FOUR_DIGIT_NUMBER": {"range": {"from": 0, "to": 9999}},
    "PhoneNumber": {"format": "phone"},
}
# Ways to say Alexa's own intents in English, which models leave to Alexa.
_BUILT_IN = {
    "CancelIntent": ("cancel", "cancel that", "never mind", "forget it"),
    "HelpIntent": ("help", "help me", "can you help me", "what can you do"),
    "StopIntent": ("stop", "stop that", "quit", "exit"),
    "YesIntent": ("yes", "yes please", "sure", "okay"),
    "NoIntent": ("no", "no thanks", "nope"),
    "NextIntent": ("next", "skip", "skip this", "go to the next one"),
    "PreviousIntent": ("previous", "go back", "back up"),
    "RepeatIntent": ("repeat", "repeat that", "say that again"),
    "PauseIntent": ("pause", "pause that"),
    "ResumeIntent": ("resume", "continue", "keep going"),
    "StartOverIntent": ("start over", "restart", "start again"),
    "NavigateHomeIntent": ("go home", "home"),
}
_OF_INTENT = {"name", "samples", "slots"}
_MODELS = {"interactionModel", "languageModel"}
_OF_MODEL = {"intents", "types"}


def is_alexa(source: Source) -> bool:
    """Tell whether a source is an interaction model, or a folder that has some."""
    if source.path is not None and source.path.is_dir():
        return bool(models_of(source.path))
    document = source.document()
    return isinstance(document, Mapping) and bool(_MODELS & document.keys())


def models_of(path: Path) -> dict[str, Path]:
    """Return the interaction models of a skill's folder, by their languages."""
    for place in _PLACES:
        found = {p.stem: p for p in (path / place).glob("*.json") if _LANGUAGE.fullmatch(p.stem)}
        if found:
            return found
    return {}


def import_alexa(source: Source) -> Imported:
    """Return tools and templates that say what a skill of Alexa understands in a language.

    Raises:
        GenieError: R085, nothing of that language; R081, a file that cannot be read; and, unless
            parts with mistakes are to be left out, R086 and R087, all of these.
    """
    path, locale = Path(source.given), source.locale
    if path.is_dir():
        models = models_of(path)
        locale = chosen_locale(source, models)
        path = models[locale]
    elif _LANGUAGE.fullmatch(path.stem):
        locale = path.stem
    title = f"The interaction model {path.name}"
    sources = IntentSources(locale.partition("-")[0], title)
    _ModelReader(sources, path).read()
    return import_intents(sources, source)


class _ModelReader:
    def __init__(self, sources: IntentSources, path: Path):
        self.sources, self.file = sources, path.name
        source = Source(str(path))
        document = sources.mapping(source.document(), self.file)
        sources.files[self.file] = source.text()
        self.whole = sources.mapping(document.get("interactionModel", document), self.file)
        self.place = f"{self.file}:languageModel"
        self.model = sources.mapping(self.whole.get("languageModel"), self.place)

    def read(self) -> None:
        for key in sorted(self.model.keys() - _OF_MODEL):
            text = f"{self.model[key]!r}" if key == "invocationName" else "it says no sentences"
            self.sources.leave_out(f"{self.place}.{key}", text)
        self.types = dict(self._types())
        intents = [*self.sources.mappings(self.model.get("intents"), f"{self.place}.intents")]
        for place, intent in intents:
            self.intent(self.sources.tool_name(intent.get("name", ""), place), intent, place)
        for name in self.types:
            if name not in self.sources.lists:
                self.sources.leave_out(self.sources.places[name], "a type that no slot has")
        self.dialog()

    def _types(self) -> Iterator[tuple[str, dict[str, Any]]]:
        for place, type_ in self.sources.mappings(self.model.get("types"), f"{self.place}.types"):
            name = str(type_.get("name", ""))
            self.sources.places[name] = place
            values: dict[str, tuple[str, ...]] = {}
            has_ids = False
            for at, value in self.sources.mappings(type_.get("values"), f"{place}.values"):
                said = self.sources.mapping(value.get("name"), f"{at}.name")
                words = self.sources.texts(said.get("synonyms"), f"{at}.name.synonyms")
                values[str(said.get("value", ""))] = tuple(word for _, word in words)
                has_ids = has_ids or bool(value.get("id"))
            if has_ids:
                self.sources.leave_out(f"{place}.values", "ids: calls have the values themselves")
            if name.startswith("AMAZON."):
                yield name, open_list(values)
            elif values:
                yield name, closed_list(values)
            for key in sorted(type_.keys() - {"name", "values"}):
                text = "names of this kind come at run time" if not values else "it is not read"
                self.sources.notes.append(Note(f"{place}.{key}", text, "changed"))

    def list_of(self, type_: str, place: str) -> None:
        """See to it that there is a list for a type."""
        if type_ in self.sources.lists:
            return
        if type_ in self.types:
            self.sources.lists[type_] = self.types[type_]
        elif type_.startswith("AMAZON."):
            found = _TYPES.get(type_.removeprefix("AMAZON."), {"wildcard": True})
            self.sources.lists[type_] = found
            if "wildcard" in found:
                self.sources.notes.append(Note(place, f"{type_} is any text", "changed"))
        elif type_ not in self.sources.places:
            hint = did_you_mean(type_, self.types)
            self.sources.mistake(place, type_, f"there is no slot type {type_!r}", hint)
            self.sources.lists[type_] = {"wildcard": True}

    def intent(self, name: str, intent: Json, place: str) -> None:
        for key in sorted(intent.keys() - _OF_INTENT):
            self.sources.leave_out(f"{place}.{key}", "it is not read")
        slots: dict[str, str] = {}
        for at, slot in self.sources.mappings(intent.get("slots"), f"{place}.slots"):
            slots[str(slot.get("name", ""))] = type_ = str(slot.get("type", ""))
            self.list_of(type_, f"{at}.type")
            for key in sorted(slot.keys() - {"name", "type"}):
                if slot[key]:
                    text = "answers to questions" if key == "samples" else "it is not read"
                    self.sources.leave_out(f"{at}.{key}", text)
        samples = [*self.sources.texts(intent.get("samples"), f"{place}.samples")]
        if name == "AMAZON.FallbackIntent":
            self.sources.leave_out(place, "what fits no intent is refused by the parser")
            said = (SaidExample("", text, {}, at) for at, text in samples)
            self.sources.examples += said
            return
        self.sources.declared[name] = slots
        known = _BUILT_IN if self.sources.locale == DEFAULT else {}
        phrases = known.get(name.removeprefix("AMAZON."), ())
        if name.startswith("AMAZON.") and phrases:
            text = f"{name} is said as: {', '.join(phrases)}"
            self.sources.notes.append(Note(place, text, "guess"))
            samples += ((place, phrase) for phrase in phrases)
        self.block(name, slots, samples, place)

    def block(
        self, name: str, slots: Mapping[str, str], samples: Iterable[tuple[str, str]], place: str
    ) -> None:
        sentences: dict[str, str] = {}
        for at, sample in samples:
            template = self.template(sample, slots, at)
            if template:
                sentences.setdefault(template, at)
        block = SentenceBlock(name, tuple(sentences), place, name, places=tuple(sentences.values()))
        self.sources.blocks.append(block)

    def template(self, sample: str, slots: Mapping[str, str], place: str) -> str:
        """Return a sample in the syntax of hassil; "" for one with a mistake."""
        words = _SLOT.split(sample)
        if any("{" in part or "}" in part for part in words):
            self.sources.mistake(place, sample, "a brace without its other one")
            return ""
        for slot in words[1::2]:
            if slot not in slots:
                hint = did_you_mean(slot, slots) or "declare it among the intent's slots"
                self.sources.mistake(place, sample, f"the intent has no slot {slot!r}", hint)
                return ""
        said = (f"{{{slots[w]}:{w}}}" if i % 2 else plain(w) for i, w in enumerate(words))
        return "".join(said).strip()

    def dialog(self) -> None:
        """Take over which slots are asked for, and the questions."""
        prompts = {
            str(prompt.get("id")): prompt.get("variations")
            for _, prompt in self.sources.mappings(
                self.whole.get("prompts"), f"{self.file}:prompts"
            )
        }
        place = f"{self.file}:dialog"
        dialog = self.sources.mapping(self.whole.get("dialog"), place)
        for at, intent in self.sources.mappings(dialog.get("intents"), f"{place}.intents"):
            slots: dict[str, Any] = {}
            for where, slot in self.sources.mappings(intent.get("slots"), f"{at}.slots"):
                asked = self.sources.mapping(slot.get("prompts"), f"{where}.prompts")
                variations = prompts.get(str(asked.get("elicitation")))
                said = [
                    str(v.get("value", ""))
                    for _, v in self.sources.mappings(variations, f"{self.file}:prompts")
                ]
                texts = [text for text in said if "{" not in text and "<" not in text]
                slots[str(slot.get("name"))] = {
                    "description": texts[0] if texts else "",
                    "required": slot.get("elicitationRequired") is True,
                }
                for key in ("confirmationRequired", "validations"):
                    if slot.get(key):
                        self.sources.leave_out(f"{where}.{key}", "it is not read")
            name = self.sources.tool_name(intent.get("name", ""), at)
            self.sources.descriptions[name] = {"slots": slots}
            if intent.get("confirmationRequired"):
                self.sources.leave_out(f"{at}.confirmationRequired", "calls are not confirmed")
