"""Agents of Dialogflow as they are exported, a zip or its folder, for `genie-dp import`.

An intent becomes a tool, a parameter a parameter. A training phrase with parameters in the place of
what it says is a sentence template; as it stands it is a row of eval.tsv. Entities are lists of
values. Dialogflow ES and CX have the same things in other files and under other names.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from genie_dp.errors import GenieError, Problem
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
from genie_dp.located import read_json
from genie_dp.templates.review import Note
from genie_dp.texts import read_text

Json = Mapping[str, Any]

# NAME_usersays_en.json of ES, NAME/trainingPhrases/en.json of CX.
_IN_LANGUAGE = re.compile(
    r".*(?:_(?:usersays|entries)_|/(?:trainingPhrases|entities)/)(?P<locale>[A-Za-z-]+)\.json"
)
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
_NEGATIVE = "Default Negative Intent"  # of CX, where it may have no file but that of its phrases
_MOST_BYTES = 200_000_000  # of a zip's files, unpacked
# Folders of what is read; what of an intent is read, or says nothing of sentences wherever it is.
_PLACES = ("agent.json", "intents/**/*.json", "entities/*.json", "entityTypes/**/*.json")
_OF_INTENT = {
    "id", "name", "auto", "contexts", "responses", "priority", "webhookUsed",
    "webhookForSlotFilling", "lastUpdate", "fallbackIntent", "events", "userSays", "condition",
    "conditionalFollowupEvents", "conditionalResponses", "templates", "parentId", "rootParentId",
    "followUpIntents", "cortanaCommand", "liveAgentHandoff", "endInteraction", "displayName",
    "parameters", "isFallback", "numTrainingPhrases", "description",
}  # fmt: skip


def is_dialogflow(source: Source) -> bool:
    """Tell whether a source is the zip or folder of an agent."""
    return source.path is not None and bool(agent_files(source.path))


def agent_files(path: Path) -> Mapping[str, Path | zipfile.ZipInfo]:
    """Return the files of an agent's zip or folder that are JSON, by name; none for another."""
    if path.is_dir():
        files = [file for place in _PLACES for file in sorted(path.glob(place))]
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
    """Return tools and templates of an agent of Dialogflow in one language.

    Raises:
        GenieError: R085, nothing of that language; R081, a file that cannot be read; and, unless
            parts with mistakes are to be left out, R086 and R087, all of these.
    """
    path = Path(source.given)
    texts = _read_files(path)
    found = [match["locale"] for match in map(_IN_LANGUAGE.fullmatch, texts) if match]
    # Phrases of very old agents stand in their intents.
    locale = chosen_locale(source, found) if found else source.locale
    title = f"The agent {path.stem} in {locale!r}"
    sources = IntentSources(locale.partition("-")[0], title, keeps_articles=False)
    sources.files |= texts
    _AgentReader(sources, locale).read()
    return import_intents(sources, source)


def _read_files(path: Path) -> dict[str, str]:
    files = agent_files(path)
    sizes = [info.file_size for info in files.values() if isinstance(info, zipfile.ZipInfo)]
    if sum(sizes) > _MOST_BYTES:
        raise GenieError(Problem("R081", f"{path} holds more than {_MOST_BYTES:,} bytes"))
    if path.is_dir():
        return {name: read_text(file) for name, file in files.items() if isinstance(file, Path)}
    if not files:
        return {}
    try:
        with zipfile.ZipFile(path) as archive:
            return {
                name: archive.read(info).decode("utf-8-sig", errors="replace")
                for name, info in files.items()
                if isinstance(info, zipfile.ZipInfo)
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise GenieError(Problem("R081", f"{path} cannot be unpacked: {error}")) from None


class _AgentReader:
    def __init__(self, sources: IntentSources, locale: str):
        self.sources, self.locale = sources, locale

    def read(self) -> None:
        files = [file for file in self.sources.files if not _IN_LANGUAGE.fullmatch(file)]
        for file in files:
            if file.startswith("entities/"):
                place, entries = self.of_language(file, "entries")
                about = self.sources.mapping(self.document(file), file)
                own = about.get("entries") if entries is None else entries
                at = file if entries is None else place
                self.entity(file, about, f"{at}:entries", own)
        for name in self.folders("entityTypes/"):
            file, place = f"{name}.json", f"{name.rpartition('/')[0]}/entities/{self.locale}.json"
            about = self.sources.mapping(self.document(file), file)
            inside = self.sources.mapping(self.document(place), place)
            self.entity(file, _entity_of_cx(about), f"{place}:entities", inside.get("entities"))
        for file in files:
            if file.startswith("intents/") and file.count("/") == 1:
                self.intent_of_es(file)
        for name in self.folders("intents/"):
            self.intent_of_cx(name)
        used = {name for slots in self.sources.declared.values() for name in slots.values()}
        for name in self.sources.lists:
            if name not in used and name in self.sources.places:
                self.sources.leave_out(self.sources.places[name], "an entity that no intent has")
        self.sources.leave_out("intents", "responses, events, webhooks: what the agent does")

    def folders(self, home: str) -> list[str]:
        """Return the files of CX that lie in folders of their name, without their ending."""
        parts = (file.split("/") for file in self.sources.files if file.startswith(home))
        names = dict.fromkeys(part[1] for part in parts if len(part) > 2)
        return [f"{home}{name}/{name}" for name in names]

    def document(self, file: str) -> Any:
        """Return what a file holds; None where there is no such file.

        Raises:
            GenieError: R081, it is no JSON.
        """
        text = self.sources.files.get(file)
        if text is None:
            return None
        return read_json(text, file)

    def of_language(self, file: str, sort: str) -> tuple[str, Any]:
        """Return the file beside another that is in the language, and what it holds."""
        name = f"{file.removesuffix('.json')}_{sort}_{self.locale}.json"
        return name, self.document(name)

    # ---------------------------------------------------------------------------- entities

    def entity(self, file: str, about: Json, place: str, entries: Any) -> None:
        """Add an entity, as ES describes it.

        Args:
            file: its own file.
            about: what it says.
            place, entries: where its values are, and what they are.
        """
        name = str(about.get("name", ""))
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

    def intent_of_es(self, file: str) -> None:
        about = self.sources.mapping(self.document(file), file)
        parameters = [
            found
            for at, response in self.sources.mappings(about.get("responses"), f"{file}:responses")
            for found in self.sources.mappings(response.get("parameters"), f"{at}.parameters")
        ]
        place, phrases = self.of_language(file, "usersays")
        if phrases is None:
            place, phrases = file, about.get("userSays")
        said = self.sources.mappings(phrases, f"{place}:phrases")
        self.intent(file, about, parameters, said)

    def intent_of_cx(self, name: str) -> None:
        file, place = (
            f"{name}.json",
            f"{name.rpartition('/')[0]}/trainingPhrases/{self.locale}.json",
        )
        about = dict(self.sources.mapping(self.document(file), file))
        about["name"] = about.get("displayName") or unquote(name.rpartition("/")[2])
        about["fallbackIntent"] = about.get("isFallback") or about["name"] == _NEGATIVE
        parameters = [
            (at, {**given, "name": given.get("id"), "dataType": given.get("entityType")})
            for at, given in self.sources.mappings(about.get("parameters"), f"{file}:parameters")
        ]
        inside = self.sources.mapping(self.document(place), place)
        phrases = self.sources.mappings(inside.get("trainingPhrases"), f"{place}:trainingPhrases")
        self.intent(file, about, parameters, phrases)

    def intent(
        self,
        file: str,
        about: Json,
        parameters: Iterable[tuple[str, Json]],
        phrases: Iterable[tuple[str, Json]],
    ) -> None:
        """Add an intent, as ES describes it; parameters and phrases with their places."""
        given = str(about.get("name") or PurePosixPath(file).stem)
        for key in sorted(about.keys() - _OF_INTENT):
            self.sources.leave_out(f"{file}:{key}", "it is not read")
        if about.get("contexts"):
            given_contexts = about["contexts"]
            contexts = given_contexts if isinstance(given_contexts, list) else [given_contexts]
            text = f"said only after: {', '.join(map(str, contexts))}"
            self.sources.notes.append(Note(f"{file}:contexts", text, "not checked"))
        slots: dict[str, str] = {}
        asked: dict[str, Any] = {}
        for at, parameter in parameters:
            self.parameter(parameter, at, slots, asked)
        sentences: dict[str, str] = {}
        is_fallback = about.get("fallbackIntent") is True
        name = "" if is_fallback else self.sources.tool_name(given, file)
        for at, phrase in phrases:
            template, example = self.phrase(name, phrase, at, slots)
            if template:
                sentences.setdefault(template, at)
            if example is not None:
                self.sources.examples.append(example)
        if is_fallback:
            self.sources.leave_out(file, "what fits no intent is refused by the parser")
            return
        self.sources.declared[name] = slots
        text = str(about.get("description") or "")
        self.sources.descriptions[name] = {"slots": asked, "description": text}
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
    ) -> tuple[str, SaidExample | None]:
        """Return a phrase as a template, and as a sentence that somebody said, if it is one."""
        template, said, means, is_twice = "", "", dict[str, tuple[str, str]](), False
        for words, alias, type_ in self.parts(phrase, place):
            if alias and type_ and alias not in slots:
                slots[alias] = self.list_of(type_, place)
            if alias in slots:
                is_twice = is_twice or alias in means
                means[alias] = (slots[alias], words)
                template += f"{{{slots[alias]}:{alias}}}"
            else:
                template += plain(words)
            said += words
        is_said = said.strip() and not is_twice and phrase.get("isTemplate") is not True
        example = SaidExample(intent, said, means, place) if is_said else None
        return " ".join(template.split()), example

    def parts(self, phrase: Json, place: str) -> Iterator[tuple[str, str, str]]:
        """Yield the parts of a phrase: words, the parameter that they fill or "", its type."""
        given = phrase.get("data", phrase.get("parts"))
        for _, part in self.sources.mappings(given, f"{place}.data"):
            text, type_ = str(part.get("text", "")), str(part.get("meta") or "")
            alias = str(part.get("alias") or part.get("parameterId") or "")
            if phrase.get("isTemplate") is True:
                end = 0
                for match in _WRITTEN.finditer(text):
                    yield text[end : match.start()], "", ""
                    yield match.group(), match["alias"], f"@{match['type']}"
                    end = match.end()
                yield text[end:], "", ""
            else:
                yield text, "" if type_ == "@sys.ignore" else alias, type_


def _entity_of_cx(about: Json) -> dict[str, Any]:
    return {
        "name": about.get("displayName"),
        "isRegexp": about.get("kind") == "KIND_REGEXP",
        "automatedExpansion": about.get("autoExpansionMode") == "AUTO_EXPANSION_MODE_DEFAULT",
        "allowFuzzyExtraction": about.get("enableFuzzyExtraction"),
    }
