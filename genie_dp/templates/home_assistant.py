"""Home Assistant's sentence templates: `genie-dp import`.

It reads a folder of their sources (`intents.yaml`, `sentences/LANG`, `rules/LANG`, `lists`), or the
file that they are merged to (`LANG.json`). An intent becomes a tool, a slot a parameter. What is
not taken over stands in the notes with its place; nothing is lost without a word.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.skills.imported import Note
from genie_dp.templates.imports import Imported, Source
from genie_dp.templates.intents import IntentSources, SentenceBlock, import_intents

Json = Any

_LICENCE = "The sentences are of the Home Assistant authors (Open Home Foundation), CC BY 4.0."


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
    sources = IntentSources(source.locale, "", licence=_LICENCE, is_plain=False)
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
        slots=slots,
        requires=requires,
        excludes=data.get("excludes_context") or {},
        lists=data.get("lists") or {},
        rules=data.get("expansion_rules") or {},
    )
    if data.get("example"):
        sources.commands.append(str(data["example"]))
    sources.blocks.append(block)
