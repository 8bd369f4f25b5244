"""Importers of tools: from JSON, from OpenAPI documents, from MCP servers."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
from genie_dp.languages.calls.library import Tool, ToolLibrary, read_tools
from genie_dp.skills.imported import FoundTools, Note, Place, path_text
from genie_dp.skills.openapi import read_openapi
from genie_dp.templates.cold_start import cold_start
from genie_dp.templates.imports import Imported, Source

Json = Mapping[str, Any]
_TOOLS, _GRAMMAR, _EVAL = "tools.json", "main.genie", "eval.tsv"
_WHERE = re.compile(r" \((?P<path>[^()]*)\)$")


def import_tools(source: Source) -> Imported:
    """Return the library and the first templates of a file of tools.

    Raises:
        GenieError: mistakes in the tools (Z020 to Z028).
    """
    document = source.document()
    text = source.text()
    if document is None:  # no file
        raise GenieError(Problem("R080", f"{source.given} is no file of tools"))
    return _import(FoundTools(document, (), _places(document)), source, text)


def import_openapi(source: Source) -> Imported:
    """Return the library and the first templates of an OpenAPI document.

    Raises:
        GenieError: mistakes in the schemas (Z020 to Z028); R084, it has no operation.
    """
    document = source.document()
    if not isinstance(document, Mapping):
        raise GenieError(Problem("R080", f"{source.given} is no OpenAPI document"))
    return _import(read_openapi(document), source)


def import_server(source: Source) -> Imported:
    """Return the library and the first templates of an MCP server.

    Raises:
        GenieError: R082, the library to ask it is missing; R083, it gives no tools; mistakes in
            the tools.
    """
    from genie_dp.skills.mcp_server import read_server

    document = read_server(source.given)
    return _import(FoundTools(document, (), _places(document)), source)


def _import(found: FoundTools, source: Source, text: str | None = None) -> Imported:
    """Return the files of tools.

    Args:
        found: the tools.
        source: where they are from.
        text: what they were read from, for mistakes with places; None where it was another form.
    """
    text = json.dumps(found.document, ensure_ascii=False, indent=1) if text is None else text
    library = read_tools({source.given: text}, skip_broken=source.skip_broken)
    given = _given_tools(found.document)
    if not given:
        hint = "expected tools, or operations under paths"
        raise GenieError(Problem("R084", f"{source.given} has no tool", hint=hint))
    notes = [*found.notes, *_of_schemas(library, found)]
    cold = cold_start(library, found.places)
    files = {
        _TOOLS: tools_text(library, given),
        _GRAMMAR: cold.text,
    }
    examples, problems = _examples(library, given, found.places)
    if examples:
        files[_EVAL] = "utterance\tprogram\n" + "".join(f"{a}\t{b}\n" for a, b in examples)
    counts = {
        "tools": len(library.tools),
        "parameters": sum(len(tool.parameters) for tool in library.tools.values()),
        "templates": cold.count,
        "tools without templates": len(library.tools) - len(cold.said),
        "examples": len(examples),
    }
    return Imported(
        files,
        (*notes, *problems, *cold.notes),
        skills=_TOOLS,
        grammar=_GRAMMAR,
        counts={what: number for what, number in counts.items() if number},
        eval=_EVAL if examples else "",
    )


def _tool_lists(document: Any) -> Iterator[tuple[Place, Any]]:
    """Yield the tools of a document, and where they stand."""
    if isinstance(document, Mapping):
        for key in ("tools", "functions"):
            if isinstance(document.get(key), list):
                yield from (((key, i), tool) for i, tool in enumerate(document[key]))
                return
        yield (), document
    elif isinstance(document, list):
        yield from (((i,), tool) for i, tool in enumerate(document))


def _named_tools(document: Any) -> Iterator[tuple[Place, str, Json]]:
    for place, tool in _tool_lists(document):
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        one = inner if isinstance(inner, Mapping) else tool
        if isinstance(one, Mapping) and isinstance(one.get("name"), str):
            yield place, one["name"], one


def _places(document: Any) -> dict[str, Place]:
    return {name: place for place, name, _ in _named_tools(document)}


def _given_tools(document: Any) -> dict[str, Json]:
    return {name: tool for _, name, tool in _named_tools(document)}


def _of_schemas(library: ToolLibrary, found: FoundTools) -> Iterator[Note]:
    """Yield notes on what was said when the tools were read."""
    names = {path_text(("tools", i)): n for i, n in enumerate(_given_tools(found.document))}
    for skipped in library.skipped:
        for problem in skipped.problems:
            yield Note(*_moved(problem, names, found.places), "left out")
    for problem in library.warnings:
        is_passed_on = "not checked" in problem.message
        sort = "not checked" if is_passed_on else "left out"
        yield Note(*_moved(problem, names, found.places), sort)  # type: ignore[arg-type]


def _moved(
    problem: Problem, names: Mapping[str, str], places: Mapping[str, Place]
) -> tuple[str, str]:
    """Return where a mistake stands in the source, and what it says."""
    match = _WHERE.search(problem.message)
    path = re.sub(r"\[(\d+)\]", r".\1", match["path"]) if match else ""
    text = f"{_WHERE.sub('', problem.message)} [{problem.code}]"
    head = ".".join(path.split(".")[:2])
    if head in names and names[head] in places:
        rest = path.split(".")[2:]
        return path_text((*places[names[head]], *rest)), text
    return path, text


def tools_text(library: ToolLibrary, given: Mapping[str, Json]) -> str:
    """Return the one file that has the tools of a library: MCP's shape, without `$ref`.

    Args:
        library: the tools.
        given: as they were, for what the library does not keep.
    """
    tools = [_canonical(tool, given.get(tool.name, {})) for tool in library.tools.values()]
    entities = {kind: list(names.values) for kind, names in library.entity_types.items()}
    whole = {"entities": entities, "tools": tools} if entities else {"tools": tools}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"


def _canonical(tool: Tool, given: Json) -> Json:
    shown: dict[str, Any] = {"name": tool.name, "description": tool.description}
    shown["inputSchema"] = dict(tool.schema) or {"type": "object", "properties": {}}
    if tool.result_schema:
        shown["outputSchema"] = tool.result_schema
    if tool.is_query:
        shown["annotations"] = {"readOnlyHint": True}
    if given.get("_meta"):
        shown["_meta"] = given["_meta"]
    return shown


# --------------------------------------------------------------------------------- examples


def _examples(
    library: ToolLibrary, given: Mapping[str, Json], places: Mapping[str, Place]
) -> tuple[list[tuple[str, str]], list[Note]]:
    """Return the sentences that tools have as examples, with their programs, and notes.

    An example is `{"utterance": "dim the lights", "arguments": {"level": 20}}`.
    """
    language = get_language(library.language)
    rows: list[tuple[str, str]] = []
    notes: list[Note] = []
    for name, tool in given.items():
        examples = tool.get("examples")
        if name not in library.tools or not isinstance(examples, Sequence):
            continue
        for index, example in enumerate(examples):
            place = path_text((*places.get(name, ()), "examples", index))
            said = example.get("utterance") if isinstance(example, Mapping) else None
            if not isinstance(said, str) or not said.strip():
                notes.append(Note(place, "an example without an utterance", "left out"))
                continue
            call = {"name": name, "arguments": example.get("arguments", {})}
            try:
                program = language.canonical(language.parse(json.dumps(call)), library)
                problems = language.check(program, library)
            except GenieError as error:
                problems = list(error.problems)
            if problems:
                why = f"the example {said!r}: {problems[0].message}"
                notes.append(Note(place, why, "left out"))
                continue
            rows.append((" ".join(said.split()), language.render(program)))
    return rows, notes
