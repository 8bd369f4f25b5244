"""Home Assistant's sentence templates: `genie-dp grammar import`.

It reads a folder of their sources (`intents.yaml`, `sentences/LANG`, `rules/LANG`, `lists`), the
file that they are merged to (`LANG.json`), or a file for one home
(`config/custom_sentences/LANG`, or one file of it). An intent becomes a tool, a slot a parameter.
Parts that are not taken over stand in the notes with their places; nothing is lost without a word.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.importers.assistant import Assistant, DocumentPart, SentenceBlock, chosen_locale
from genie_dp.importers.source import ImportSource
from genie_dp.texts import read_text

Json = Any

_LICENCE = "The sentences are of the Home Assistant authors (Open Home Foundation), CC BY 4.0."


_CUSTOM = "custom_sentences"
_BUILT_IN = "Hass"  # how the names of Home Assistant's own intents begin
_INTENTS = re.compile(r"^[\"']?intents[\"']?:[ \t]*(\{|(#.*)?\n+[ \t]+\S)", re.MULTILINE)
_LANGUAGE = re.compile(r"^[\"']?language[\"']?:[ \t]*[\"']?([\w-]+)", re.MULTILINE)


def is_home_assistant(source: ImportSource) -> bool:
    """Return whether a source has sentences for Home Assistant: shipped or a user's own."""
    path = source.path
    if path is not None and path.is_dir():
        is_custom = _CUSTOM in (path.name, path.parent.name) or (path / _CUSTOM).is_dir()
        return is_custom or (path / "sentences").is_dir() or bool(custom_folders(path))
    document = source.document()
    intents = document.get("intents") if isinstance(document, Mapping) else None
    return isinstance(intents, Mapping) and (
        "language" in document
        or any(isinstance(intent, Mapping) and "data" in intent for intent in intents.values())
    )


def custom_folders(folder: Path) -> dict[str, Path]:
    """Return language -> the folder of its custom sentences.

    Args:
        folder: the configuration of a home, its `custom_sentences`, or a language of these.
    """
    inside = folder / _CUSTOM
    home = inside if inside.is_dir() else folder
    if home.name == _CUSTOM:
        return {path.name: path for path in sorted(home.iterdir()) if _own_files(path)}
    files = _own_files(home)
    languages = (_LANGUAGE.search(read_text(file)) for file in files)
    return {language: home for match in languages if match and (language := match[1])}


def _own_files(folder: Path) -> list[Path]:
    """Return the files of a folder that have sentences, in order."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.rglob("*.yaml")) if _INTENTS.search(read_text(path))]


_OF_BLOCKS = {
    "sentences", "slots", "requires_context", "excludes_context", "expansion_rules", "lists",
    "response", "metadata", "example", "inferred_domain", "name_domains", "speech_to_phrase",
    "required_keywords", "settings",
}  # fmt: skip
_OF_FILES = {
    "language", "intents", "data", "lists", "expansion_rules", "skip_words", "responses",
    "settings",
}  # fmt: skip


def read_home_assistant(source: ImportSource) -> Assistant:
    """Return the contents of a folder or a merged file in one language.

    Raises:
        GenieError: R085, there is nothing of that language; R081, a file that cannot be read; R086
            and R087, all that is there has mistakes.
    """
    home = Assistant(source.locale, "", is_plain=False)
    path = source.path
    is_public = False
    if path is None or path.is_file():
        document = source.document()
        language = document.get("language") if isinstance(document, Mapping) else None
        home.locale = str(language or source.locale)
        _add_file(home, source, source.given)
        is_public = Path(source.given).suffix == ".json"
    elif (path / "sentences").is_dir():
        _add_folder(home, path)
        is_public = True
    else:
        _add_custom(home, path, source)
    if is_public and any(block.intent.startswith(_BUILT_IN) for block in home.blocks):
        home.licence = _LICENCE
    if not any(block.sentences for block in home.blocks):
        home.raise_mistakes()
        folders = path.glob("sentences/*/") if path is not None else ()
        names = sorted(folder.name for folder in folders)
        hint = did_you_mean(source.locale, names)
        hint = hint or (f"it has {', '.join(names)}: --locale {names[0]}" if names else None)
        hint = hint or "sentences stand below intents: NAME: data: - sentences: [..]"
        message = f"{source.given} has no sentences in {source.locale!r}"
        raise GenieError(Problem("R085", message, hint=hint))
    home.title = f"Sentences of Home Assistant in {home.locale!r}"
    home.leave_out("responses", "responses and metadata: they say nothing of sentences")
    home.leave_out("lists", "numbers in words are read by the parser, and not by templates")
    if home.skip_words:
        words = ", ".join(home.skip_words)
        text = f"words that are left out of sentences before they are matched: {words}"
        home.leave_out("skip_words", text)
    return home


def _add_folder(home: Assistant, folder: Path) -> None:
    about = home.part({}, "intents.yaml")
    if (folder / about.place).is_file():
        intents = ImportSource(str(folder / about.place))
        home.files[about.place] = intents.text()
        about = home.part(intents.document(), about.place)
        for name in about.fields:
            slots = about.object(name).object("slots")
            of_slots = {slot: slots.object(slot).fields for slot in slots.fields}
            home.descriptions[name] = {**about.object(name).fields, "slots": of_slots}
    places = [
        *(folder / "lists").glob("*.yaml"),
        *(folder / "lists" / home.locale).glob("*.yaml"),
        *(folder / "rules" / home.locale).glob("*.yaml"),
        *(folder / "sentences" / home.locale).rglob("*.yaml"),
    ]
    for path in sorted(places):
        file, intent = ImportSource(str(path)), path.parent.name
        combination = about.object(intent).object("slot_combinations").object(path.stem)
        if file.document():
            place = path.relative_to(folder).as_posix()
            _add_file(home, file, place, combination, path.stem, intent)


def _add_custom(home: Assistant, folder: Path, source: ImportSource) -> None:
    """Add the files of a user's own sentences in the language that is asked for."""
    folders = custom_folders(folder)
    if not folders:
        message = f"{source.given} has no file with sentences"
        hint = "expected custom_sentences/LANGUAGE/NAME.yaml with `language:` and `intents:`"
        raise GenieError(Problem("R085", message, hint=hint))
    is_language = list(folders.values()) == [folder]
    home.locale = next(iter(folders)) if is_language else chosen_locale(source, folders)
    for path in _own_files(folders[home.locale]):
        file, place = ImportSource(str(path)), path.relative_to(folder).as_posix()
        document = file.document()
        language = str(document.get("language", home.locale)) if document else home.locale
        if language != home.locale:
            home.leave_out(place, f"its language is {language!r}")
            continue
        _add_file(home, file, place)
    settings = folder / "configuration.yaml"
    if settings.is_file() and re.search(r"^conversation:", read_text(settings), re.MULTILINE):
        text = "sentences below `conversation:` are not read: put them into custom_sentences"
        home.leave_out(settings.name, text)


def _add_file(
    home: Assistant,
    source: ImportSource,
    place: str,
    combination: DocumentPart | None = None,
    topic: str = "",
    intent: str = "",
) -> None:
    home.files[place] = source.text()
    document = source.document()
    if not isinstance(document, Mapping):
        problem = Problem("R085", f"{place}: expected names with values", Span(place, 1, 1, 1, 2))
        raise GenieError(problem, sources=home.files)
    file = home.part(document, place)
    file.leave_out_others(_OF_FILES, "it is not known")
    settings = file.object("settings")
    settings.leave_out_others({"ignore_whitespace", "filter_with_regex"}, "it is not known")
    home.ignores_space |= bool(settings.get("ignore_whitespace"))
    lists = file.object("lists")
    of_file = {name: _list_of(lists.object(name)) for name in lists.fields}
    rules = file.object("expansion_rules").fields
    home.lists |= of_file
    home.rules |= rules
    home.places |= dict.fromkeys((*of_file, *rules), place)
    home.skip_words += file.words("skip_words")
    intents = file.object("intents")
    for name in intents.fields:
        _add_blocks(home, [*intents.object(name).objects("data")], name, None, "")
    _add_blocks(home, [*file.objects("data")], intent, combination, topic)


def _list_of(part: DocumentPart) -> Mapping[str, Json]:
    """Return a list without its unreadable parts, which are mistakes (R087)."""
    fields = dict(part.fields)
    if "values" in fields:
        fields["values"] = [*_values_of(part)]
    if "range" in fields:
        bounds = part.object("range")
        numbers = {"from": None, "to": None, "step": 1, "multiplier": 1}
        numbers_given = {name: bounds.get(name, default) for name, default in numbers.items()}
        wrong = [name for name, value in numbers_given.items() if not _is_number(value)]
        for name in wrong:
            part.assistant.misshapen(bounds.place_of(name), "a number", numbers_given[name])
        if wrong:
            del fields["range"]
    return fields


def _values_of(part: DocumentPart) -> Iterator[Json]:
    for place, item in part.items("values"):
        if isinstance(item, list) or item is None:
            part.assistant.misshapen(place, "a text", item)
        elif isinstance(item, Mapping) and "out" in item:
            yield {**item, "out": _constant(item["out"], part)}
        else:
            yield item


def _is_number(value: Json) -> bool:
    """Return whether a bound is a number, which may stand in quotes."""
    is_whole = isinstance(value, str) and re.fullmatch(r"-?\d+", value) is not None
    is_finite = isinstance(value, int | float) and math.isfinite(value)
    return is_whole or (is_finite and not isinstance(value, bool))


def _constant(value: Json, part: DocumentPart) -> Json:
    """Return a value that a slot has: a scalar or a list of these; another is a mistake (R087)."""
    inner = value if isinstance(value, list) else [value]
    if any(isinstance(item, Mapping | list) for item in inner):
        part.assistant.misshapen(part.place, "a text or a number as a value", value)
        return ""
    return value


def _add_blocks(
    home: Assistant,
    blocks: Sequence[DocumentPart],
    intent: str,
    combination: DocumentPart | None,
    topic: str,
) -> None:
    # Blocks for small recognisers stand beside others, or for themselves.
    has_plain = any(not block.get("speech_to_phrase") for block in blocks)
    for block in blocks:
        if block.get("speech_to_phrase") and has_plain:
            text = "a block for small speech recognisers, which Home Assistant does not match"
            home.leave_out(block.place, text)
        else:
            _add_block(home, block, intent, combination, topic)


def _add_block(
    home: Assistant,
    block: DocumentPart,
    intent: str,
    combination: DocumentPart | None,
    topic: str,
) -> None:
    block.leave_out_others(_OF_BLOCKS, "it is not known")
    if keywords := block.get("required_keywords"):
        text = f"one of these words has to be said: {', '.join(map(str, keywords))}"
        home.note(block.place_of("required_keywords"), text, "not checked")
    lists = block.object("lists")
    slots = {slot: _constant(value, block) for slot, value in block.object("slots").fields.items()}
    requires = dict(block.object("requires_context").fields)
    if "inferred_domain" in block.fields:
        slots.setdefault("domain", _constant(block.get("inferred_domain"), block))
    if "name_domains" in block.fields:
        domains = block.get("name_domains")
        if isinstance(domains, str):
            groups = combination.object("name_domain_groups").fields if combination else {}
            domains = groups.get(domains, [domains])
        requires.setdefault("domain", domains)
    if combination and combination.get("context_area"):
        requires.setdefault("area", {"slot": True})
    home.blocks.append(
        SentenceBlock(
            intent,
            block.words("sentences"),
            block.place,
            topic or block.object("metadata").text("slot_combination"),
            slots=slots,
            requires=requires,
            excludes=block.object("excludes_context").fields,
            lists={name: _list_of(lists.object(name)) for name in lists.fields},
            rules=block.object("expansion_rules").fields,
        )
    )
    if block.get("example"):
        home.commands.append(str(block.get("example")))
