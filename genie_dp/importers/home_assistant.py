"""Home Assistant's sentence templates: `genie-dp import`.

It reads a folder of their sources (`intents.yaml`, `sentences/LANG`, `rules/LANG`, `lists`), the
file that they are merged to (`LANG.json`), or what somebody wrote for a home of their own
(`config/custom_sentences/LANG`, or one file of it). An intent becomes a tool, a slot a parameter.
What is not taken over stands in the notes with its place; nothing is lost without a word.
"""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.importers.intents import (
    IntentSources,
    SentenceBlock,
    chosen_locale,
    import_intents,
)
from genie_dp.importers.source import Imported, Source
from genie_dp.templates.review import Note
from genie_dp.texts import read_text

Json = Any

_LICENCE = "The sentences are of the Home Assistant authors (Open Home Foundation), CC BY 4.0."


_CUSTOM = "custom_sentences"
_BUILT_IN = "Hass"  # how the names of Home Assistant's own intents begin
_INTENTS = re.compile(r"^[\"']?intents[\"']?:[ \t]*(\{|(#.*)?\n+[ \t]+\S)", re.MULTILINE)
_LANGUAGE = re.compile(r"^[\"']?language[\"']?:[ \t]*[\"']?([\w-]+)", re.MULTILINE)


def is_home_assistant(source: Source) -> bool:
    """Tell whether a source has sentences for Home Assistant: the shipped ones, or a user's own."""
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
    """Return language -> the folder of the sentences that somebody wrote in it.

    Args:
        folder: the configuration of a home, its `custom_sentences`, or a language of these.
    """
    inside = folder / _CUSTOM
    home = inside if inside.is_dir() else folder
    if home.name == _CUSTOM:
        return {path.name: path for path in sorted(home.iterdir()) if _own_files(path)}
    files = _own_files(home)
    known = (_LANGUAGE.search(read_text(file)) for file in files)
    return {language: home for match in known if match and (language := match[1])}


def _own_files(folder: Path) -> list[Path]:
    """Return the files of a folder that have sentences, in order."""
    if not folder.is_dir():
        return []
    return [path for path in sorted(folder.rglob("*.yaml")) if _INTENTS.search(read_text(path))]


def import_home_assistant(source: Source) -> Imported:
    """Return tools and templates that say what Home Assistant understands in a language.

    Raises:
        GenieError: R081, files that cannot be read; R085, nothing of that language; and, unless
            parts with mistakes are to be left out, R086, all templates with mistakes.
    """
    return import_intents(read_sources(source), source)


_OF_BLOCKS = {
    "sentences", "slots", "requires_context", "excludes_context", "expansion_rules", "lists",
    "response", "metadata", "example", "inferred_domain", "name_domains", "speech_to_phrase",
    "required_keywords", "settings",
}  # fmt: skip
_OF_FILES = {
    "language", "intents", "data", "lists", "expansion_rules", "skip_words", "responses",
    "settings",
}  # fmt: skip


def read_sources(source: Source) -> IntentSources:
    """Return what a folder or a merged file says in one language.

    Raises:
        GenieError: R085, there is nothing of that language; R081, a file that cannot be read.
    """
    sources = IntentSources(source.locale, "", is_plain=False)
    path = source.path
    is_public = False
    if path is None or path.is_file():
        document = source.document()
        found = document.get("language") if isinstance(document, Mapping) else None
        sources.locale = str(found or source.locale)
        sources.files[source.given] = source.text()
        _add_file(sources, document, source.given, {}, "")
        is_public = Path(source.given).suffix == ".json"
    elif (path / "sentences").is_dir():
        _add_folder(sources, path)
        is_public = True
    else:
        _add_custom(sources, path, source)
    if is_public and any(block.intent.startswith(_BUILT_IN) for block in sources.blocks):
        sources.licence = _LICENCE
    if not any(block.sentences for block in sources.blocks):
        if sources.problems:
            raise GenieError(dict.fromkeys(sources.problems), sources=sources.files)
        folders = path.glob("sentences/*/") if path is not None else ()
        names = sorted(folder.name for folder in folders)
        hint = did_you_mean(source.locale, names)
        hint = hint or (f"it has {', '.join(names)}: --locale {names[0]}" if names else None)
        hint = hint or "sentences stand below intents: NAME: data: - sentences: [..]"
        message = f"{source.given} has no sentences in {source.locale!r}"
        raise GenieError(Problem("R085", message, hint=hint))
    sources.title = f"Sentences of Home Assistant in {sources.locale!r}"
    sources.leave_out("responses", "responses and metadata: they say nothing of sentences")
    sources.leave_out("lists", "numbers in words are read by the parser, and not by templates")
    if sources.skip_words:
        words = ", ".join(sources.skip_words)
        text = f"words that are left out of sentences before they are matched: {words}"
        sources.leave_out("skip_words", text)
    return sources


def _add_folder(sources: IntentSources, folder: Path) -> None:
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


def _add_custom(sources: IntentSources, folder: Path, source: Source) -> None:
    """Add the files of a user's own sentences in the language that is asked for."""
    folders = custom_folders(folder)
    if not folders:
        message = f"{source.given} has no file with sentences"
        hint = "expected custom_sentences/LANGUAGE/NAME.yaml with `language:` and `intents:`"
        raise GenieError(Problem("R085", message, hint=hint))
    is_language = list(folders.values()) == [folder]
    sources.locale = next(iter(folders)) if is_language else chosen_locale(source, folders)
    for path in _own_files(folders[sources.locale]):
        file, place = Source(str(path)), path.relative_to(folder).as_posix()
        document = file.document()
        language = str(document.get("language", sources.locale)) if document else sources.locale
        if language != sources.locale:
            sources.leave_out(place, f"its language is {language!r}")
            continue
        sources.files[place] = file.text()
        _add_file(sources, document, place, {}, "")
    settings = folder / "configuration.yaml"
    if settings.is_file() and re.search(r"^conversation:", read_text(settings), re.MULTILINE):
        text = "sentences below `conversation:` are not read: put them into custom_sentences"
        sources.leave_out(settings.name, text)


def _add_file(
    sources: IntentSources,
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
    settings = sources.mapping(found.get("settings"), f"{place}:settings")
    for name in sorted(settings.keys() - {"ignore_whitespace", "filter_with_regex"}):
        sources.notes.append(Note(f"{place}:settings.{name}", "it is not known", "left out"))
    sources.ignores_space |= bool(settings.get("ignore_whitespace"))
    lists = sources.mapping(found.get("lists"), f"{place}:lists")
    lists = {name: sources.mapping(of, f"{place}:lists.{name}") for name, of in lists.items()}
    rules = sources.mapping(found.get("expansion_rules"), f"{place}:expansion_rules")
    sources.lists |= lists
    sources.rules |= rules
    for name in (*lists, *rules):
        sources.places[name] = place
    skipped = sources.texts(found.get("skip_words"), f"{place}:skip_words")
    sources.skip_words += (word for _, word in skipped)
    for name, inside in sources.mapping(found.get("intents"), f"{place}:intents").items():
        where = f"{place}:intents.{name}"
        inside = sources.mapping(inside, where)
        blocks = dict(sources.mappings(inside.get("data"), f"{where}.data"))
        for where, data in blocks.items():
            _add_block(sources, data, where, name, {}, "", has_plain=_has_plain(blocks.values()))
    blocks = dict(sources.mappings(found.get("data"), f"{place}:data"))
    for where, data in blocks.items():
        has_plain = _has_plain(blocks.values())
        _add_block(sources, data, where, intent, combination, topic, has_plain=has_plain)


def _has_plain(blocks: Collection[Mapping[str, Json]]) -> bool:
    """Tell whether a block is not for small recognisers: those beside it are for these alone."""
    return any(not block.get("speech_to_phrase") for block in blocks)


def _add_block(
    sources: IntentSources,
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
    parts = {
        name: sources.mapping(data.get(name), f"{place}.{name}")
        for name in ("slots", "requires_context", "excludes_context", "lists", "expansion_rules")
    }
    slots, requires = dict(parts["slots"]), dict(parts["requires_context"])
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
        tuple(text for _, text in sources.texts(data.get("sentences"), f"{place}.sentences")),
        place,
        topic or str((data.get("metadata") or {}).get("slot_combination", "")),
        slots=slots,
        requires=requires,
        excludes=parts["excludes_context"],
        lists=parts["lists"],
        rules=parts["expansion_rules"],
    )
    if data.get("example"):
        sources.commands.append(str(data["example"]))
    sources.blocks.append(block)
