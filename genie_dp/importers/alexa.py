"""Interaction models of Alexa, a file or a skill's folder, for `genie-dp grammar import`.

An intent becomes a tool, a slot a parameter, a sample a sentence template. A slot takes the values
of its type and no others; types of Alexa that are extended take others, too.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import did_you_mean
from genie_dp.importers.assistant import (
    TEXT,
    Assistant,
    DocumentPart,
    chosen_locale,
    closed_list,
    first_question,
    open_list,
)
from genie_dp.importers.hassil import plain
from genie_dp.importers.source import ImportSource
from genie_dp.locale import DEFAULT

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


def is_alexa(source: ImportSource) -> bool:
    """Return whether a source is an interaction model, or a folder that has some."""
    if source.path is not None and source.path.is_dir():
        return bool(models_of(source.path))
    document = source.document()
    models = {"interactionModel", "languageModel"}
    return isinstance(document, Mapping) and bool(models & document.keys())


def models_of(path: Path) -> dict[str, Path]:
    """Return the interaction models of a skill's folder, by their languages."""
    for place in _PLACES:
        models = {p.stem: p for p in (path / place).glob("*.json") if _LANGUAGE.fullmatch(p.stem)}
        if models:
            return models
    return {}


def read_alexa(source: ImportSource) -> Assistant:
    """Return the contents of a skill of Alexa in a language.

    Raises:
        GenieError: R085, nothing of that language; R081, a file that cannot be read.
    """
    path, locale = Path(source.given), source.locale
    if path.is_dir():
        models = models_of(path)
        locale = chosen_locale(source, models)
        path = models[locale]
    elif _LANGUAGE.fullmatch(path.stem):
        locale = path.stem
    assistant = Assistant(locale.partition("-")[0], f"The interaction model {path.name}")
    file = ImportSource(str(path))
    assistant.files[path.name] = file.text()
    document = assistant.part(file.document(), path.name)
    whole = assistant.part(document.get("interactionModel", document.fields), path.name)
    model = whole.object("languageModel")
    for key in sorted(model.fields.keys() - {"intents", "types"}):
        is_name = key == "invocationName"
        model.leave_out(key, f"{model.get(key)!r}" if is_name else "it says no sentences")
    types = {type_.text("name"): _values_of(type_) for type_ in model.objects("types")}
    for intent in [*model.objects("intents")]:
        _add_intent(intent, types)
    for name, values in types.items():
        if values and name not in assistant.lists:
            assistant.leave_out(assistant.places[name], "a type that no slot has")
    _add_dialog(whole)
    return assistant


def _values_of(type_: DocumentPart) -> Mapping[str, Any] | None:
    """Return the list of a type; None of one whose values come at run time."""
    name, values, has_ids = type_.text("name"), dict[str, tuple[str, ...]](), False
    type_.assistant.places[name] = type_.place
    for value in type_.objects("values"):
        names = value.object("name")
        values[names.text("value")] = names.words("synonyms")
        has_ids = has_ids or bool(value.get("id"))
    if has_ids:
        type_.leave_out("values", "ids: calls have the values themselves")
    for key in sorted(type_.fields.keys() - {"name", "values"}):
        text = "names of this kind come at run time" if not values else "it is not read"
        type_.assistant.note(type_.place_of(key), text, "changed")
    if name.startswith("AMAZON."):
        return open_list(values)
    return closed_list(values) if values else None


def _add_list(
    type_: str, types: Mapping[str, Mapping[str, Any] | None], slot: DocumentPart
) -> None:
    """See to it that there is a list for the type of a slot."""
    assistant, place = slot.assistant, slot.place_of("type")
    if type_ in assistant.lists:
        return
    if values := types.get(type_):
        assistant.lists[type_] = values
    elif type_.startswith("AMAZON."):
        assistant.add_type(type_, _TYPES.get(type_.removeprefix("AMAZON.")), place, type_)
    elif type_ not in types:
        hint = did_you_mean(type_, [name for name, values in types.items() if values])
        assistant.mistake(place, type_, f"there is no slot type {type_!r}", hint)
        assistant.lists[type_] = TEXT


def _add_intent(intent: DocumentPart, types: Mapping[str, Mapping[str, Any] | None]) -> None:
    assistant = intent.assistant
    name = assistant.tool_name(intent.get("name", ""), intent.place)
    intent.leave_out_others({"name", "samples", "slots"}, "it is not read")
    slots: dict[str, str] = {}
    for slot in intent.objects("slots"):
        slots[slot.text("name")] = type_ = slot.text("type")
        _add_list(type_, types, slot)
        for key in sorted(slot.fields.keys() - {"name", "type"}):
            if slot.get(key):
                text = "answers to questions" if key == "samples" else "it is not read"
                slot.leave_out(key, text)
    samples = [*intent.texts("samples")]
    if name == "AMAZON.FallbackIntent":
        assistant.leave_out(intent.place, "what fits no intent is refused by the parser")
        assistant.refuse(samples)
        return
    built_in = _BUILT_IN if assistant.locale == DEFAULT else {}
    phrases = built_in.get(name.removeprefix("AMAZON."), ())
    if name.startswith("AMAZON.") and phrases:
        assistant.note(intent.place, f"{name} is said as: {', '.join(phrases)}")
        samples += ((phrase, intent.place) for phrase in phrases)
    templates = ((_template(assistant, text, slots, origin), origin) for text, origin in samples)
    sentences = (sentence for sentence in templates if sentence[0])
    assistant.add_intent(name, sentences, intent.place, name, slots)


def _template(assistant: Assistant, sample: str, slots: Mapping[str, str], place: str) -> str:
    """Return a sample in the syntax of hassil; "" for one with a mistake."""
    words = _SLOT.split(sample)
    if any("{" in part or "}" in part for part in words):
        assistant.mistake(place, sample, "a brace without its other one")
        return ""
    for slot in words[1::2]:
        if slot not in slots:
            hint = did_you_mean(slot, slots) or "declare it among the intent's slots"
            assistant.mistake(place, sample, f"the intent has no slot {slot!r}", hint)
            return ""
    parts = (f"{{{slots[w]}:{w}}}" if i % 2 else plain(w) for i, w in enumerate(words))
    return "".join(parts).strip()


def _add_dialog(whole: DocumentPart) -> None:
    """Take over which slots are asked for, and the questions."""
    assistant = whole.assistant
    prompts = {prompt.text("id"): prompt for prompt in whole.objects("prompts")}
    for intent in whole.object("dialog").objects("intents"):
        slots: dict[str, Any] = {}
        for slot in intent.objects("slots"):
            prompt = prompts.get(slot.object("prompts").text("elicitation"))
            questions = [v.text("value") for v in prompt.objects("variations")] if prompt else []
            slots[slot.text("name")] = {
                "description": first_question(questions, "{<"),
                "required": slot.get("elicitationRequired") is True,
            }
            for key in ("confirmationRequired", "validations"):
                if slot.get(key):
                    slot.leave_out(key, "it is not read")
        name = assistant.tool_name(intent.get("name", ""), intent.place)
        assistant.descriptions[name] = {"slots": slots}
        if intent.get("confirmationRequired"):
            intent.leave_out("confirmationRequired", "calls are not confirmed")
