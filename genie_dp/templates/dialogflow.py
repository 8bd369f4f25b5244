"""Agents of Dialogflow ES as they are exported, a zip or its folder, for `genie-dp import`.

An intent (`intents/NAME.json`) becomes a tool, a parameter a parameter. A training phrase
(`NAME_usersays_en.json`) with parameters in the place of what it says is a sentence template; as it
stands it is a row of eval.tsv. Entities (`entities/NAME_entries_en.json`) are lists of values.
"""

import json
import re
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.skills.imported import Note
from genie_dp.templates.hassil import plain
from genie_dp.templates.imports import Imported, Source
from genie_dp.templates.intents import (
    IntentSources,
    SaidExample,
    SentenceBlock,
    chosen_locale,
    closed_list,
    import_intents,
    open_list,
)
from genie_dp.texts import read_text

Json = Mapping[str, Any]

_IN_LANGUAGE = re.compile(r"(?P<name>.*)_(?P<sort>usersays|entries)_(?P<locale>[A-Za-z-]+)\.json")
_WRITTEN = re.compile(r"@(?P<type>[\w.-]+):(?P<alias>[\w-]+)")  # of phrases that are templates
# What each type of the system is; any other one is a text.
_TYPES: dict[str, dict[str, Any]] = {
    "date": {"format": "date"},
    "date-time": {"format": "date-time"},
    "time": {"format": "time"},
    "duration": {"format": "duration"},
    "number": {"format": "number"},
    "number-integer": {"format": "integer"},
    "cardinal": {"format": "integer"},
    "ordinal": {"format": "integer"},
    "percentage": {"format": "number"},
    "email": {"format": "email"},
    "url": {"format": "uri"},
    "phone-number": {"format": "phone"},
}
_MOST_BYTES = 200_000_000  # of a zip's files, unpacked
# What is read, or says nothing of sentences wherever it stands.
_OF_INTENT = {
    "id", "name", "auto", "contexts", "responses", "priority", "webhookUsed",
    "webhookForSlotFilling", "lastUpdate", "fallbackIntent", "events", "userSays", "condition",
    "conditionalFollowupEvents", "conditionalResponses", "templates", "parentId", "rootParentId",
    "followUpIntents", "cortanaCommand", "liveAgentHandoff", "endInteraction",
}  # fmt: skip


def agent_files(path: Path) -> Mapping[str, Path | zipfile.ZipInfo]:
    """Return the files of an agent's zip or folder that are JSON, by name; none for another."""
    if path.is_dir():
        places = ("agent.json", "intents/*.json", "entities/*.json")
        files = [file for place in places for file in sorted(path.glob(place))]
        found: dict[str, Path | zipfile.ZipInfo] = {
            file.relative_to(path).as_posix(): file for file in files
        }
    elif path.suffix == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            found = {i.filename: i for i in archive.infolist() if i.filename.endswith(".json")}
        roots = {PurePosixPath(name).parts[0] for name in found}
        if len(roots) == 1 and "agent.json" not in found:  # all of it in one folder
            [root] = roots
            found = {name.removeprefix(f"{root}/"): info for name, info in found.items()}
    else:
        found = {}
    return found if any(name.startswith("intents/") for name in found) else {}


def import_dialogflow(source: Source) -> Imported:
    """Return tools and templates of an agent of Dialogflow ES in one language.

    Raises:
        GenieError: R085, nothing of that language; R081, a file that cannot be read; R088, an
            agent of Dialogflow CX; and, unless parts with mistakes are to be left out, R086 and
            R087, all of these.
    """
    path = Path(source.given)
    texts = _read_files(path)
    if any(name.count("/") > 1 for name in texts if name.startswith("intents/")):
        hint = "export the agent from Dialogflow ES, or write its phrases as those of Rasa"
        raise GenieError(Problem("R088", f"{path} is an agent of Dialogflow CX", hint=hint))
    found = [match["locale"] for match in map(_IN_LANGUAGE.fullmatch, texts) if match]
    is_old = not any("_usersays_" in name for name in texts)  # phrases in the intents themselves
    locale = source.locale if is_old else chosen_locale(source, found)
    sources = IntentSources(locale.partition("-")[0], f"The agent {path.stem} in {locale!r}")
    sources.files |= texts
    _AgentReader(sources, locale).read()
    return import_intents(sources, skip_broken=source.skip_broken)


def _read_files(path: Path) -> dict[str, str]:
    files = agent_files(path)
    sizes = [info.file_size for info in files.values() if isinstance(info, zipfile.ZipInfo)]
    if sum(sizes) > _MOST_BYTES:
        raise GenieError(Problem("R081", f"{path} holds more than {_MOST_BYTES:,} bytes"))
    if path.is_dir():
        return {name: read_text(file) for name, file in files.items() if isinstance(file, Path)}
    with zipfile.ZipFile(path) as archive:
        return {
            name: archive.read(info).decode("utf-8-sig", errors="replace")
            for name, info in files.items()
            if isinstance(info, zipfile.ZipInfo)
        }


class _AgentReader:
    def __init__(self, sources: IntentSources, locale: str):
        self.sources, self.locale = sources, locale

    def read(self) -> None:
        for file in self.sources.files:
            if file.startswith("entities/") and not _IN_LANGUAGE.fullmatch(file):
                self.entity(file)
        for file in self.sources.files:
            if file.startswith("intents/") and not _IN_LANGUAGE.fullmatch(file):
                self.intent(file)
        used = {name for slots in self.sources.declared.values() for name in slots.values()}
        for name in self.sources.lists.keys() - used - {"sys.any"}:
            self.sources.leave_out(self.sources.places[name], "an entity that no intent has")
        self.sources.leave_out("intents", "responses, events, webhooks: what the agent does")

    def document(self, file: str) -> Any:
        """Return what a file holds; None where there is no such file.

        Raises:
            GenieError: R081, it is no JSON.
        """
        text = self.sources.files.get(file)
        if text is None:
            return None
        try:
            return json.loads(text)
        except (json.JSONDecodeError, RecursionError) as error:
            at = (error.lineno, error.colno) if isinstance(error, json.JSONDecodeError) else (1, 1)
            message = f"not JSON: {getattr(error, 'msg', 'brackets too deep in each other')}"
            problem = Problem("R081", message, Span(file, *at, at[0], at[1] + 1), stage="syntax")
            raise GenieError(problem, sources=self.sources.files) from None

    def of_language(self, file: str, sort: str) -> tuple[str, Any]:
        """Return the file beside another that is in the language, and what it holds."""
        name = f"{file.removesuffix('.json')}_{sort}_{self.locale}.json"
        return name, self.document(name)

    # ---------------------------------------------------------------------------- entities

    def entity(self, file: str) -> None:
        about = self.sources.mapping(self.document(file), file)
        name = str(about.get("name", ""))
        place, entries = self.of_language(file, "entries")
        if entries is None:
            place, entries = file, about.get("entries")
        values: dict[str, list[str]] = {}
        is_composite = False
        for at, entry in self.sources.mappings(entries, place):
            words = [
                word for _, word in self.sources.texts(entry.get("synonyms"), f"{at}.synonyms")
            ]
            if any("@" in word for word in words):
                is_composite = True
                self.sources.leave_out(at, f"{', '.join(words)}: an entity made of others")
                continue
            values[str(entry.get("value", ""))] = words
        self.sources.places[name] = place
        is_pattern = about.get("isRegexp") is True
        if is_pattern:
            self.sources.leave_out(place, f"the patterns of @{name}; it is any text")
        if is_pattern or is_composite or not values:
            self.sources.lists[name] = {"wildcard": True}
            if not (is_pattern or is_composite):
                text = f"@{name} lists nothing in this language, and is any text"
                self.sources.notes.append(Note(file, text, "changed"))
        elif about.get("automatedExpansion") is True:
            self.sources.lists[name] = open_list({
                value: [w for w in words if w.lower() != value.lower()]
                for value, words in values.items()
            })  # fmt: skip
        else:
            self.sources.lists[name] = closed_list(values)
        if about.get("allowFuzzyExtraction") is True:
            self.sources.leave_out(f"{file}:allowFuzzyExtraction", "values are said as listed")

    def list_of(self, type_: str, place: str) -> str:
        """Return the name of the list for a type such as "@sys.date" or "@room"."""
        name = type_.removeprefix("@")
        if name not in self.sources.lists:
            is_ours = name.startswith("sys.")
            if not is_ours:
                self.sources.mistake(place, type_, f"there is no entity {type_}")
            found = _TYPES.get(name.removeprefix("sys."), {"wildcard": True})
            self.sources.lists[name] = found
            if is_ours and "wildcard" in found:
                self.sources.notes.append(Note(place, f"{type_} is any text", "changed"))
        return name

    # ----------------------------------------------------------------------------- intents

    def intent(self, file: str) -> None:
        about = self.sources.mapping(self.document(file), file)
        given = str(about.get("name") or PurePosixPath(file).stem)
        name = re.sub(r"[^\w.-]+", "_", given).strip("_") or "intent"
        for key in sorted(about.keys() - _OF_INTENT):
            self.sources.leave_out(f"{file}:{key}", "it is not read")
        if about.get("contexts"):
            text = f"said only after: {', '.join(map(str, about['contexts']))}"
            self.sources.notes.append(Note(f"{file}:contexts", text, "not checked"))
        slots: dict[str, str] = {}
        asked: dict[str, Any] = {}
        for place, response in self.sources.mappings(about.get("responses"), f"{file}:responses"):
            for at, parameter in self.sources.mappings(
                response.get("parameters"), f"{place}.parameters"
            ):
                self.parameter(parameter, at, slots, asked)
        place, phrases = self.of_language(file, "usersays")
        if phrases is None:
            place, phrases = file, about.get("userSays")
        sentences: dict[str, str] = {}
        is_fallback = about.get("fallbackIntent") is True
        for at, phrase in self.sources.mappings(phrases, place):
            template, example = self.phrase(name, phrase, at, slots)
            if is_fallback:
                self.sources.examples.append(SaidExample("", example.text, {}, at))
            elif template:
                sentences.setdefault(template, at)
                self.sources.examples.append(example)
        if is_fallback:
            self.sources.leave_out(file, "what fits no intent is refused by the parser")
            return
        if name != given:
            self.sources.notes.append(Note(file, f"`{given}` is the tool `{name}`", "changed"))
        self.sources.declared[name] = slots
        self.sources.descriptions[name] = {"slots": asked}
        self.sources.blocks.append(
            SentenceBlock(name, tuple(sentences), file, given, places=tuple(sentences.values()))
        )

    def parameter(
        self, given: Json, place: str, slots: dict[str, str], asked: dict[str, Any]
    ) -> None:
        name, type_ = str(given.get("name", "")), str(given.get("dataType") or "@sys.any")
        value = str(given.get("value", ""))
        if value.startswith("#"):
            self.sources.leave_out(place, f"`{name}` is {value}, of an earlier sentence")
            return
        slots[name] = self.list_of(type_, f"{place}.dataType")
        prompts = [
            str(prompt.get("value", ""))
            for _, prompt in self.sources.mappings(given.get("prompts"), f"{place}.prompts")
            if str(prompt.get("lang", "")) in ("", self.locale)
        ]
        texts = [text for text in prompts if "$" not in text and "#" not in text]
        is_asked = given.get("required") is True
        asked[name] = {"description": texts[0] if texts else "", "required": is_asked}
        for key in ("defaultValue", "isList"):
            if given.get(key):
                self.sources.leave_out(f"{place}.{key}", f"`{name}`: {given[key]!r}")

    def phrase(
        self, intent: str, phrase: Json, place: str, slots: dict[str, str]
    ) -> tuple[str, SaidExample]:
        """Return a phrase as a template, and as a sentence that somebody said."""
        template, said, means, is_twice = "", "", dict[str, tuple[str, str]](), False
        for words, alias, type_ in self.parts(phrase, place):
            if not alias:
                template += plain(words)
            else:
                if alias not in slots:
                    slots[alias] = self.list_of(type_, place)
                is_twice = is_twice or alias in means
                means[alias] = (slots[alias], words)
                template += f"{{{slots[alias]}:{alias}}}"
            said += words
        kept = {} if is_twice else means
        return " ".join(template.split()), SaidExample(intent, said, kept, place)

    def parts(self, phrase: Json, place: str) -> Iterator[tuple[str, str, str]]:
        """Yield the parts of a phrase: words, the parameter that they fill or "", its type."""
        for _, part in self.sources.mappings(phrase.get("data"), f"{place}.data"):
            text, type_ = str(part.get("text", "")), str(part.get("meta") or "")
            if phrase.get("isTemplate") is True:
                end = 0
                for match in _WRITTEN.finditer(text):
                    yield text[end : match.start()], "", ""
                    yield match.group(), match["alias"], f"@{match['type']}"
                    end = match.end()
                yield text[end:], "", ""
            elif type_ in ("", "@sys.ignore"):
                yield text, "", ""
            else:
                yield text, str(part.get("alias") or ""), type_
