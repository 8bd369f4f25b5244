"""Agents of Dialogflow as they are exported, a zip or its folder, for `genie-dp grammar import`.

An intent becomes a tool, a parameter a parameter. A training phrase with parameters in the place of
its text is a sentence template; as it stands it is a row of eval.tsv. Entities are lists of
values. Dialogflow ES and CX have the same things in other files and under other names.
"""

import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import unquote

from genie_dp.errors import GenieError, Problem
from genie_dp.importers.assistant import (
    TEXT,
    Assistant,
    DocumentPart,
    IntentExample,
    chosen_locale,
    closed_list,
    first_question,
    open_list,
)
from genie_dp.importers.hassil import plain
from genie_dp.importers.source import ImportSource
from genie_dp.located import read_json
from genie_dp.texts import read_text

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


def is_dialogflow(source: ImportSource) -> bool:
    """Return whether a source is the zip or folder of an agent."""
    return source.path is not None and bool(_members(source.path))


def _members(path: Path) -> dict[str, str]:
    """Return the JSON files of an agent: name -> name in its zip or folder; none of another."""
    paths: dict[str, str] = {}
    if path.is_dir():
        files = (file for place in _PLACES for file in sorted(path.glob(place)))
        paths = {name: name for file in files if (name := file.relative_to(path).as_posix())}
    elif path.suffix == ".zip" and zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            paths = {name: name for name in archive.namelist() if name.endswith(".json")}
        roots = {PurePosixPath(name).parts[0] for name in paths}
        if len(roots) == 1 and "agent.json" not in paths:  # all of it in one folder
            [root] = roots
            paths = {name.removeprefix(f"{root}/"): name for name in paths}
    return paths if any(name.startswith("intents/") for name in paths) else {}


def read_dialogflow(source: ImportSource) -> Assistant:
    """Return the contents of an agent of Dialogflow in one language.

    Raises:
        GenieError: R085, nothing of that language; R081, a file that cannot be read.
    """
    path = Path(source.given)
    texts = _read_files(path)
    locales = [match["locale"] for match in map(_IN_LANGUAGE.fullmatch, texts) if match]
    # Phrases of very old agents stand in their intents.
    locale = chosen_locale(source, locales) if locales else source.locale
    title = f"The agent {path.stem} in {locale!r}"
    agent = Assistant(locale.partition("-")[0], title, files=texts, keeps_articles=False)
    _AgentReader(agent, locale).read()
    return agent


def _read_files(path: Path) -> dict[str, str]:
    members = _members(path)
    if path.is_dir() or not members:
        return {name: read_text(path / name) for name in members}
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(archive.getinfo(name).file_size for name in members.values()) > _MOST_BYTES:
                raise GenieError(Problem("R081", f"{path} holds more than {_MOST_BYTES:,} bytes"))
            return {
                name: archive.read(member).decode("utf-8-sig", errors="replace")
                for name, member in members.items()
            }
    except (zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise GenieError(Problem("R081", f"{path} cannot be unpacked: {error}")) from None


class _AgentReader:
    def __init__(self, agent: Assistant, locale: str):
        self.agent, self.locale = agent, locale

    def read(self) -> None:
        agent = self.agent
        files = [file for file in agent.files if not _IN_LANGUAGE.fullmatch(file)]
        for file in files:
            if file.startswith("entities/"):
                about = self.file(file)
                self.entity(about, self.beside(about, "entries", "entries", "entries"), "entries")
        for name in self.folders("entityTypes/"):
            inside = self.file(f"{name.rpartition('/')[0]}/entities/{self.locale}.json")
            self.entity(_entity_of_cx(self.file(f"{name}.json")), inside, "entities")
        for file in files:
            if file.startswith("intents/") and file.count("/") == 1:
                self.intent_of_es(self.file(file))
        for name in self.folders("intents/"):
            self.intent_of_cx(name)
        used = {name for slots in agent.declared.values() for name in slots.values()}
        for name in agent.lists:
            if name not in used and name in agent.places:
                agent.leave_out(agent.places[name], "an entity that no intent has")
        agent.leave_out("intents", "responses, events, webhooks: what the agent does")

    def folders(self, home: str) -> list[str]:
        """Return the files of CX that lie in folders of their name, without their ending."""
        parts = (file.split("/") for file in self.agent.files if file.startswith(home))
        names = dict.fromkeys(part[1] for part in parts if len(part) > 2)
        return [f"{home}{name}/{name}" for name in names]

    def document(self, file: str) -> Any:
        """Return the value of a file; None where there is no such file.

        Raises:
            GenieError: R081, it is no JSON.
        """
        text = self.agent.files.get(file)
        return None if text is None else read_json(text, file)

    def file(self, name: str) -> DocumentPart:
        return self.agent.part(self.document(name), name)

    def beside(self, about: DocumentPart, sort: str, field: str, old: str) -> DocumentPart:
        """Return the list of ES in a file for each language, as a field.

        Args:
            about: the object that the list belongs to.
            sort: of the file beside its own.
            field: the name of the list.
            old: the field of the object itself in agents without such files.
        """
        file = f"{about.place.removesuffix('.json')}_{sort}_{self.locale}.json"
        document = self.document(file)
        if document is None:
            file, document = about.place, about.get(old)
        return DocumentPart(self.agent, file, {field: document})

    # ---------------------------------------------------------------------------- entities

    def entity(self, about: DocumentPart, inside: DocumentPart, field: str) -> None:
        """Add an entity, as ES describes it, whose values are a field of another object."""
        agent, name, place = self.agent, about.text("name"), inside.place_of(field)
        values: dict[str, tuple[str, ...]] = {}
        is_composite = False
        for entry in inside.objects(field):
            words = entry.words("synonyms")
            if any("@" in word for word in words):
                is_composite = True
                agent.leave_out(entry.place, f"{', '.join(words)}: an entity made of others")
                continue
            values[entry.text("value")] = words
        agent.places[name] = place
        is_pattern = about.get("isRegexp") is True
        if is_pattern:
            agent.leave_out(place, f"the patterns of @{name}; it is any text")
        if is_pattern or is_composite:
            agent.lists[name] = TEXT
        elif not values:
            subject = f"@{name} lists nothing in this language, and"
            agent.add_type(name, None, about.place, subject)
        elif about.get("automatedExpansion") is True:
            agent.lists[name] = open_list({
                value: [w for w in words if w.lower() != value.lower()]
                for value, words in values.items()
            })  # fmt: skip
        else:
            agent.lists[name] = closed_list(values)
        if about.get("allowFuzzyExtraction") is True:
            about.leave_out("allowFuzzyExtraction", "values are said as listed")

    def list_of(self, type_: str, place: str) -> str:
        """Return the name of the list for a type such as "@sys.date" or "@room"."""
        name = type_.removeprefix("@")
        if name not in self.agent.lists:
            built_in = _TYPES.get(name.removeprefix("sys."))
            if name.startswith("sys."):
                self.agent.add_type(name, built_in, place, type_)
            else:
                self.agent.mistake(place, type_, f"there is no entity {type_}")
                self.agent.lists[name] = built_in or TEXT
        return name

    # ----------------------------------------------------------------------------- intents

    def intent_of_es(self, about: DocumentPart) -> None:
        parameters = [
            parameter
            for response in about.objects("responses")
            for parameter in response.objects("parameters")
        ]
        phrases = self.beside(about, "usersays", "phrases", "userSays").objects("phrases")
        self.intent(about, parameters, phrases)

    def intent_of_cx(self, name: str) -> None:
        intent_file = self.file(f"{name}.json")
        title = intent_file.get("displayName") or unquote(name.rpartition("/")[2])
        about = {
            **intent_file.fields,
            "name": title,
            "fallbackIntent": intent_file.get("isFallback") or title == _NEGATIVE,
        }
        parameters = []
        for parameter in intent_file.objects("parameters"):
            id_, type_ = parameter.get("id"), parameter.get("entityType")
            fields = {**parameter.fields, "name": id_, "dataType": type_}
            parameters.append(DocumentPart(self.agent, parameter.place, fields))
        inside = self.file(f"{name.rpartition('/')[0]}/trainingPhrases/{self.locale}.json")
        phrases = inside.objects("trainingPhrases")
        self.intent(DocumentPart(self.agent, intent_file.place, about), parameters, phrases)

    def intent(
        self,
        about: DocumentPart,
        parameters: Iterable[DocumentPart],
        phrases: Iterable[DocumentPart],
    ) -> None:
        """Add an intent, as ES describes it."""
        agent = self.agent
        intent_name = str(about.get("name") or PurePosixPath(about.place).stem)
        about.leave_out_others(_OF_INTENT, "it is not read")
        if contexts := about.get("contexts"):
            context_list = contexts if isinstance(contexts, list) else [contexts]
            text = f"said only after: {', '.join(map(str, context_list))}"
            agent.note(about.place_of("contexts"), text, "not checked")
        slots: dict[str, str] = {}
        prompts: dict[str, Any] = {}
        for parameter in parameters:
            self.parameter(parameter, slots, prompts)
        is_fallback = about.get("fallbackIntent") is True
        name = "" if is_fallback else agent.tool_name(intent_name, about.place)
        sentences = []
        for phrase in phrases:
            template, example = self.phrase(name, phrase, slots)
            if template:
                sentences.append((template, phrase.place))
            if example is not None:
                agent.examples.append(example)
        if is_fallback:
            agent.leave_out(about.place, "what fits no intent is refused by the parser")
            return
        description = str(about.get("description") or "")
        of_tool = {"slots": prompts, "description": description}
        agent.add_intent(name, sentences, about.place, intent_name, slots, of_tool)

    def parameter(self, given: DocumentPart, slots: dict[str, str], asked: dict[str, Any]) -> None:
        name, type_, value = given.text("name"), given.get("dataType"), given.text("value")
        if value.startswith("#"):
            text = f"`{name}` is {value}, of an earlier sentence"
            self.agent.leave_out(given.place, text)
            return
        slots[name] = self.list_of(str(type_ or "@sys.any"), given.place_of("dataType"))
        prompts = [
            prompt.text("value")
            for prompt in given.objects("prompts")
            if prompt.text("lang") in ("", self.locale)
        ]
        is_asked = given.get("required") is True
        asked[name] = {"description": first_question(prompts, "$#"), "required": is_asked}
        for key in ("defaultValue", "isList"):
            if given.get(key):
                given.leave_out(key, f"`{name}`: {given.get(key)!r}")

    def phrase(
        self, intent: str, phrase: DocumentPart, slots: dict[str, str]
    ) -> tuple[str, IntentExample | None]:
        """Return a phrase as a template, and as an example, if it is a whole sentence."""
        template, sentence, means, is_twice = "", "", dict[str, tuple[str, str]](), False
        for words, alias, type_ in _parts_of(phrase):
            if alias and type_ and alias not in slots:
                slots[alias] = self.list_of(type_, phrase.place)
            if alias in slots:
                is_twice = is_twice or alias in means
                means[alias] = (slots[alias], words)
                template += f"{{{slots[alias]}:{alias}}}"
            else:
                template += plain(words)
            sentence += words
        is_said = sentence.strip() and not is_twice and phrase.get("isTemplate") is not True
        example = IntentExample(intent, sentence, means, phrase.place) if is_said else None
        return " ".join(template.split()), example


def _parts_of(phrase: DocumentPart) -> Iterator[tuple[str, str, str]]:
    """Yield the parts of a phrase: words, the parameter that they fill or "", its type."""
    fields = {"data": phrase.get("data", phrase.get("parts"))}
    for part in DocumentPart(phrase.assistant, phrase.place, fields).objects("data"):
        text, type_ = part.text("text"), str(part.get("meta") or "")
        if phrase.get("isTemplate") is not True:
            alias = str(part.get("alias") or part.get("parameterId") or "")
            yield text, "" if type_ == "@sys.ignore" else alias, type_
            continue
        end = 0
        for match in _WRITTEN.finditer(text):
            yield text[end : match.start()], "", ""
            yield match.group(), match["alias"], f"@{match['type']}"
            end = match.end()
        yield text[end:], "", ""


def _entity_of_cx(about: DocumentPart) -> DocumentPart:
    fields = {
        "name": about.get("displayName"),
        "isRegexp": about.get("kind") == "KIND_REGEXP",
        "automatedExpansion": about.get("autoExpansionMode") == "AUTO_EXPANSION_MODE_DEFAULT",
        "allowFuzzyExtraction": about.get("enableFuzzyExtraction"),
    }
    return DocumentPart(about.assistant, about.place, fields)
