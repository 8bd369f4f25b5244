"""The kinds of sources that can be imported.

A kind is a line of KINDS: its name, how its sources are known, and the function that reads one into
a form: the `Assistant` of intents and sentences, or the `FoundTools` of a library without any. Each
form is made into files by one function.
"""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.importers.source import YAML, FoundTools, Imported, ImportSource
from genie_dp.languages.calls.tools import SCHEMAS, read_tools
from genie_dp.languages.library import Library

if TYPE_CHECKING:
    from genie_dp.importers.assistant import Assistant

_RUNNERS = {".py": "python", ".js": "node", ".mjs": "node", ".ts": "npx tsx"}


@dataclass(frozen=True, slots=True)
class SourceKind:
    """A kind of sources.

    Attributes:
        name: of the kind.
        what: a description.
        recognizes: whether a source is of this kind; the first kind of KINDS that accepts it is
            taken.
        read: reads one.
    """

    name: str
    what: str
    recognizes: Callable[[ImportSource], bool]
    read: Callable[[ImportSource], "Assistant | FoundTools"]


def _is_openapi(source: ImportSource) -> bool:
    document = source.document()
    return isinstance(document, Mapping) and bool({"openapi", "swagger"} & document.keys())


def _is_tools(source: ImportSource) -> bool:
    document = source.document()
    if not isinstance(document, Mapping):
        return isinstance(document, list)
    is_one = "name" in document and {"description", *SCHEMAS} & document.keys()
    return bool(is_one or {"tools", "functions", "function"} & document.keys())


def _is_server(source: ImportSource) -> bool:
    path = source.path
    if source.is_url or path is not None:
        is_program = path is not None and path.is_file() and os.access(path, os.X_OK)
        return source.is_url or (is_program and bool(os.path.dirname(source.given)))
    command = source.given.split()
    return bool(command) and shutil.which(command[0].strip("\"'")) is not None


def _late(place: str) -> Callable[[ImportSource], Any]:
    """Return the function of "module:function" of this folder, imported when it is called."""
    module, _, name = place.partition(":")
    return lambda source: getattr(import_module(f"genie_dp.importers.{module}"), name)(source)


KINDS: tuple[SourceKind, ...] = (
    SourceKind(
        "home-assistant",
        "sentences of Home Assistant: their folder, a merged file, or custom_sentences",
        _late("home_assistant:is_home_assistant"), _late("home_assistant:read_home_assistant"),
    ),
    SourceKind(
        "alexa", "an interaction model of Alexa in JSON, or a skill's folder",
        _late("alexa:is_alexa"), _late("alexa:read_alexa"),
    ),
    SourceKind(
        "dialogflow", "an agent of Dialogflow (ES or CX): its zip or folder",
        _late("dialogflow:is_dialogflow"), _late("dialogflow:read_dialogflow"),
    ),
    SourceKind(
        "ovos", "a skill of OVOS or Mycroft: its folder with .intent files",
        _late("ovos:is_ovos"), _late("ovos:read_ovos"),
    ),
    SourceKind(
        "rasa", "training data of Rasa NLU: a folder, or a YAML file with nlu:",
        _late("rasa:is_rasa"), _late("rasa:read_rasa"),
    ),
    SourceKind(
        "openapi", "an OpenAPI document, in JSON or YAML",
        _is_openapi, _late("openapi:read_openapi"),
    ),
    SourceKind(
        "tools", "a list of tools in JSON: OpenAI, Anthropic, MCP",
        _is_tools, _late("tools:read_tools"),
    ),
    SourceKind(
        "mcp", "an MCP server: its URL, or the command that starts it",
        _is_server, _late("mcp_server:read_server"),
    ),
)  # fmt: skip


def kind_of(source: ImportSource, name: str | None = None) -> SourceKind:
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
    kinds = "; ".join(kind.what for kind in KINDS)
    path = source.path
    trouble = "is nothing that can be imported" if path else "is no file and no command"
    message = f"{source.given} {trouble}"
    hint = f"sources are: {kinds}; --kind NAME says which it is"
    if path and path.suffix in _RUNNERS:
        server = f"{_RUNNERS[path.suffix]} {source.given}"
        hint = f"if it is an MCP server: genie-dp grammar import '{server}'"
    elif path and shutil.which(source.given):
        hint = f"if the command {source.given} is meant, an MCP server: --kind mcp; else {hint}"
    raise GenieError(Problem("R080", message, hint=hint))


def import_source(source: ImportSource, *, kind: str | None = None) -> Imported:
    """Return the files that are made of a source.

    Args:
        source: of the import.
        kind: the name of its kind; None to detect it.

    Raises:
        GenieError: R080, of no kind; R084, it has no tool and no intent; R088, none has a name
            that is asked for; or mistakes, as its reader raises them.
    """
    imported = kind_of(source, kind).read(source)
    if isinstance(imported, FoundTools):
        from genie_dp.importers.tools import import_tools

        return import_tools(imported, source)
    from genie_dp.importers.intents import import_intents

    return import_intents(imported, source)


def is_foreign(given: Path | str) -> bool:
    """Return whether a library can be had from a source only by importing it: no file has it."""
    source = ImportSource(str(given))
    path = source.path
    if path is None:
        return _is_server(source)
    if path.suffix in YAML:
        return True
    kind = next((kind for kind in KINDS if kind.recognizes(source)), None)
    return kind is not None and kind.name != "tools"


def library_of(source: ImportSource) -> Library:
    """Return the library of a source, without a folder that holds it.

    Raises:
        GenieError: as `import_source`, and mistakes in the output.
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
