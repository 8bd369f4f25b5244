"""Libraries and templates from where skills already live: the kinds of sources.

A kind is a line of KINDS: its name, how its sources are known, and the function that reads one. It
returns files, and notes on what was guessed and what could not be said. All of it is written into a
folder that a person goes on editing.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.importers.skeletons import write_files
from genie_dp.importers.source import YAML, Imported, Source
from genie_dp.languages.calls.tools import SCHEMAS, read_tools
from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT, ENDING, begin_words, has_negations, is_language
from genie_dp.run.stage import Result

REVIEW, PROJECT = "REVIEW.md", "genie.yaml"
_RUNNERS = {".py": "python", ".js": "node", ".mjs": "node", ".ts": "npx tsx"}


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of sources.

    Attributes:
        name: of the kind.
        what: in words.
        recognizes: tells whether a source is of this kind; the first kind of KINDS that says so is
            taken.
        importer: reads one.
    """

    name: str
    what: str
    recognizes: Callable[[Source], bool]
    importer: Callable[[Source], Imported]


def _is_openapi(source: Source) -> bool:
    document = source.document()
    return isinstance(document, Mapping) and bool({"openapi", "swagger"} & document.keys())


def _is_tools(source: Source) -> bool:
    document = source.document()
    if not isinstance(document, Mapping):
        return isinstance(document, list)
    is_one = "name" in document and {"description", *SCHEMAS} & document.keys()
    return bool(is_one or {"tools", "functions", "function"} & document.keys())


def _is_server(source: Source) -> bool:
    path = source.path
    if source.is_url or path is not None:
        is_program = path is not None and path.is_file() and os.access(path, os.X_OK)
        return source.is_url or (is_program and bool(os.path.dirname(source.given)))
    command = source.given.split()
    return bool(command) and shutil.which(command[0].strip("\"'")) is not None


def _late(place: str) -> Callable[[Source], Any]:
    """Return the function of "module:function" of this folder, imported when it is called."""
    module, _, name = place.partition(":")
    return lambda source: getattr(import_module(f"genie_dp.importers.{module}"), name)(source)


KINDS: tuple[SourceKind, ...] = (
    SourceKind(
        "home-assistant",
        "sentences of Home Assistant: their folder, a merged file, or custom_sentences",
        _late("home_assistant:is_home_assistant"), _late("home_assistant:import_home_assistant"),
    ),
    SourceKind(
        "alexa", "an interaction model of Alexa in JSON, or a skill's folder",
        _late("alexa:is_alexa"), _late("alexa:import_alexa"),
    ),
    SourceKind(
        "dialogflow", "an agent of Dialogflow (ES or CX): its zip or folder",
        _late("dialogflow:is_dialogflow"), _late("dialogflow:import_dialogflow"),
    ),
    SourceKind(
        "ovos", "a skill of OVOS or Mycroft: its folder with .intent files",
        _late("ovos:is_ovos"), _late("ovos:import_ovos"),
    ),
    SourceKind(
        "rasa", "training data of Rasa NLU: a folder, or a YAML file with nlu:",
        _late("rasa:is_rasa"), _late("rasa:import_rasa"),
    ),
    SourceKind(
        "openapi", "an OpenAPI document, in JSON or YAML",
        _is_openapi, _late("tools:import_openapi"),
    ),
    SourceKind(
        "tools", "a list of tools in JSON: OpenAI, Anthropic, MCP",
        _is_tools, _late("tools:import_tools"),
    ),
    SourceKind(
        "mcp", "an MCP server: its URL, or the command that starts it",
        _is_server, _late("tools:import_server"),
    ),
)  # fmt: skip


def kind_of(source: Source, name: str | None = None) -> SourceKind:
    """Return the kind of a source, or the one of that name.

    Raises:
        GenieError: R080, there is no such source, or it is of no kind.
    """
    if name is not None:
        for kind in KINDS:
            if kind.name == name:
                return kind
        names = [kind.name for kind in KINDS]
        hint = did_you_mean(name, names) or f"kinds are {', '.join(names)}"
        raise GenieError(Problem("R080", f"unknown kind of source {name!r}", hint=hint))
    for kind in KINDS:
        if kind.recognizes(source):
            return kind
    known = "; ".join(kind.what for kind in KINDS)
    path = source.path
    trouble = "is nothing that can be imported" if path else "is no file and no command"
    message = f"{source.given} {trouble}"
    hint = f"sources are: {known}; --kind NAME says which it is"
    if path and path.suffix in _RUNNERS:
        hint = f"if it is an MCP server: genie-dp import '{_RUNNERS[path.suffix]} {source.given}'"
    elif path and shutil.which(source.given):
        hint = f"if the command {source.given} is meant, an MCP server: --kind mcp; else {hint}"
    raise GenieError(Problem("R080", message, hint=hint))


def import_source(source: Source, *, kind: str | None = None) -> Imported:
    """Return what is made of a source.

    Args:
        source: what to import.
        kind: the name of its kind; None for what it is.

    Raises:
        GenieError: R080, of no kind; or what its importer says.
    """
    return kind_of(source, kind).importer(source)


def is_foreign(given: Path | str) -> bool:
    """Tell whether a library can be had from a source only by importing it: no file has it."""
    source = Source(str(given))
    path = source.path
    if path is None:
        return _is_server(source)
    if path.suffix in YAML:
        return True
    kind = next((kind for kind in KINDS if kind.recognizes(source)), None)
    return kind is not None and kind.name != "tools"


def library_of(source: Source) -> Library:
    """Return the library of a source, without a folder that holds it.

    Raises:
        GenieError: as `import_source`, and mistakes in what was made.
    """
    imported = import_source(source)
    library = read_tools({imported.skills: imported.files[imported.skills]})
    text = source.text()
    return replace(
        library,
        skipped=imported.skipped,
        warnings=imported.warnings,  # with the places of the source
        sources={**library.sources, **({source.given: text} if text else {})},
    )


@dataclass(frozen=True, slots=True)
class ImportResult(Result):
    """A folder that was written.

    Attributes:
        folder: where it is.
        imported: what is in it.
    """

    folder: Path
    imported: Imported

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        for skipped in self.imported.skipped:
            yield from skipped.lines()
        counts = ", ".join(f"{count:,} {what}" for what, count in self.imported.counts.items())
        yield f"wrote {self.folder}: {counts}"
        left_out = sum(note.sort == "left out" for note in self.imported.notes)
        if left_out:
            yield f"  {left_out:,} things are left out: {self.folder / REVIEW}"
        if (language := _language_of(self.imported)).endswith(ENDING):
            yield f"  {self.folder / language} begins the words of the language: docs/locales.md"
        yield f"go on with: read {self.folder / REVIEW}, then"
        yield f"  cd {self.folder}"
        yield "  genie-dp check"
        yield "  genie-dp run"


def run(
    source: Source,
    output: Path,
    *,
    kind: str | None = None,
    files: Mapping[str, str] | None = None,
) -> ImportResult:
    """Import a source into a new folder.

    Args:
        source: what to import.
        output: the folder.
        kind: the name of the source's kind; None for what it is.
        files: what else is to lie in the folder, such as a schema for editors.

    Raises:
        GenieError: as `import_source`; R032, the folder exists.
    """
    if output.exists():
        write_files(output, {})  # says so before anything is read
    imported = import_source(source, kind=kind)
    own = {PROJECT: project_text(imported), REVIEW: review_text(source, imported)}
    language = _language_of(imported)
    if language.endswith(ENDING):
        own[language] = begin_words(language.removesuffix(ENDING))
    write_files(output, {**own, **(files or {}), **imported.files})
    return ImportResult(output, imported)


_PROJECT = """\
# yaml-language-server: $schema=genie.schema.json
# What is made of the library, in order: `genie-dp run`. docs/projects.md has all settings.
skills: {skills}
grammar: {grammar}
output: build
{locale}jobs: 2
stages:
  pairs: {{synthesize: {{size: 5000, max_depth: 3, seed: 1}}}}
  rows: {{augment: {{general: 0.7, quoted: 0.02, seed: 1}}, of: pairs}}
  parser: {{train: {{steps: {steps}, seed: 1}}, of: rows}}
"""
_RESULT = "  result: {{evaluate: {{rows: {eval}}}, of: parser}}\n"


def project_text(imported: Imported) -> str:
    """Return the genie.yaml of what was imported."""
    text = _PROJECT + (_RESULT if imported.eval else "")
    language = _language_of(imported)
    return text.format(
        # The base that training begins with reads English.
        steps=1000 if language != DEFAULT else 300,
        skills=imported.skills,
        grammar=imported.grammar,
        eval=imported.eval,
        locale=f"locale: {language}\n" if language != DEFAULT else "",
    )


def _language_of(imported: Imported) -> str:
    """Return what a project says of its language: its name, or a file of words beside it.

    Without negations no language is a locale: the file is where they are to be written.
    """
    language = imported.locale.replace("_", "-").partition("-")[0].lower() or DEFAULT
    if not is_language(language):
        return DEFAULT
    return language if has_negations(language) else f"{language}{ENDING}"


_SORTS = {
    "left out": "Left out",
    "changed": "Changed",
    "not checked": "Not checked",
    "guess": "Guessed",
}
_MEANINGS = {
    "left out": "The source has it, and what was written has not.",
    "changed": "It is said in another way than in the source.",
    "not checked": "The schemas say it, and calls need not obey.",
    "guess": "The source does not say it. Read these, and mend them in the files.",
}


def review_text(source: Source, imported: Imported) -> str:
    """Return REVIEW.md: everything that a person should look at, by sort, with its place."""
    lines = [
        f"# To be reviewed: {source.given}",
        "",
        "Made once by `genie-dp import`; nothing reads this file. Each line begins with a tool, or "
        "a place in the source, that it is about.",
    ]
    for sort, title in _SORTS.items():
        notes = [note for note in imported.notes if note.sort == sort]
        if notes:
            lines += ["", f"## {title} ({len(notes)})", "", _MEANINGS[sort], ""]
            lines += [f"- `{note.path or '.'}`: {note.text}" for note in notes]
    if not imported.notes:
        lines += ["", "Nothing was guessed or left out."]
    return "\n".join(lines) + "\n"
