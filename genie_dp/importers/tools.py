"""Tools of files, OpenAPI documents and MCP servers as a library with first templates."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from genie_dp.english import forms as english
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.importers.source import (
    FoundTools,
    Imported,
    ImportSource,
    program_of,
    rows_text,
    tools_text,
)
from genie_dp.languages.calls.library import ToolLibrary
from genie_dp.languages.calls.tools import read_document
from genie_dp.languages.types import STRING
from genie_dp.located import Place
from genie_dp.templates.cold_start import cold_start, says_no_thing
from genie_dp.templates.review import Note, path_text

Json = Mapping[str, Any]
_TOOLS, _GRAMMAR, _EVAL = "tools.json", "main.genie", "eval.tsv"
_WHERE = re.compile(r" \((?P<path>\S*)\)$")


def read_tools(source: ImportSource) -> FoundTools:
    """Return the tools of a file.

    Raises:
        GenieError: R080, it is none.
    """
    document = source.document()
    if document is None:  # no file
        raise GenieError(Problem("R080", f"{source.given} is no file of tools"))
    return FoundTools(document)


def import_tools(found: FoundTools, source: ImportSource) -> Imported:
    """Return the library and the first templates of tools.

    Those with mistakes are left out, if any are without.

    Raises:
        GenieError: R084, there is no tool; R088, a pattern of names fits none; mistakes in all
            tools (Z020 to Z028).
    """

    def find(path: Place) -> tuple[Place, Span | None]:
        place = found.place_of(path)
        return place, source.span_of(place)

    texts = {source.given: source.text()}
    library = read_document(found.document, texts, find, skip_broken=True)
    if library.skipped and not library.tools:
        broken = (problem for skipped in library.skipped for problem in skipped.problems)
        raise GenieError(broken, sources=texts)
    library = _chosen(library, source)
    declared = _given_tools(found.document)
    if not library.tools:
        hint = "expected tools, or operations under paths"
        raise GenieError(Problem("R084", f"{source.given} has no tool", hint=hint))
    notes = [*found.notes, *_of_schemas(library, found)]
    names = {
        name: operation_name(tool["_meta"]["method"], tool["_meta"]["path"])
        for name, tool in declared.items()
        if name in found.places and (name in found.unnamed or says_no_thing(name))
    }
    cold = cold_start(library, names)
    tools, guesses = _canonical_tools(library, declared)
    notes += guesses
    files = {_TOOLS: tools, _GRAMMAR: cold.text}
    examples, problems = _examples(library, declared)
    if examples:
        files[_EVAL] = rows_text(examples)
    counts = {
        "tools": len(library.tools),
        "parameters": sum(len(tool.parameters) for tool in library.tools.values()),
        "templates": cold.count,
        "tools without templates": len(library.tools) - len(cold.said),
        "examples": len(examples),
    }
    unasked = declared.keys() - library.tools.keys() - {skipped.name for skipped in library.skipped}
    others = tuple(
        f"{path_text(place)}."
        for name in unasked
        for place in ((name,), found.places.get(name, (name,)))
    )
    return Imported(
        files,
        tuple(
            note
            for note in (*notes, *problems, *cold.notes)
            if not f"{note.path}.".startswith(others)
        ),
        skills=_TOOLS,
        grammar=_GRAMMAR,
        counts={kind: number for kind, number in counts.items() if number},
        eval=_EVAL if examples else "",
        skipped=library.skipped,
        warnings=library.warnings,
    )


_VERBS = {"post": "create", "put": "update", "patch": "update"}
_NO_NOUN = re.compile(r"api|rest|v[0-9.]+")


def operation_name(method: str, path: str) -> str:
    """Return a name for an operation that describes it.

    >>> [operation_name("get", path) for path in ("/v1/lists", "/lists/{id}", "/lists/{id}/items")]
    ['get_lists', 'get_list', 'get_items_of_the_list']
    >>> operation_name("post", "/lists")
    'create_list'
    """
    verb = _VERBS.get(method, method)
    parts = [part for part in path.split("/") if part and not _NO_NOUN.fullmatch(part)]
    nouns = []
    for place, part in enumerate(parts):
        after = parts[place + 1] if place + 1 < len(parts) else ""
        words = "_".join(re.findall(r"\w+", part))
        is_one = after.startswith("{") or (verb == "create" and not after)
        if words and not part.startswith("{"):
            nouns.append(english.singular(words.replace("_", " ")).replace(" ", "_")
                         if is_one else words)  # fmt: skip
    return "_".join([verb, "_of_the_".join(nouns[::-1])]) if nouns else verb


def _chosen(library: ToolLibrary, source: ImportSource) -> ToolLibrary:
    """Return a library with the tools that a person asks for.

    Raises:
        GenieError: R088, a pattern fits none.
    """
    names = source.chosen([*library.tools, *(skipped.name for skipped in library.skipped)])
    return replace(
        library,
        tools={name: tool for name, tool in library.tools.items() if name in names},
        skipped=tuple(skipped for skipped in library.skipped if skipped.name in names),
    )


def _given_tools(document: Any) -> dict[str, Json]:
    """Return the tools of a document as they are given, by name; of two the first."""
    listed = document
    if isinstance(document, Mapping):
        lists = [document[k] for k in ("tools", "functions") if isinstance(document.get(k), list)]
        listed = lists[0] if lists else [document]
    tools_by_name: dict[str, Json] = {}
    for tool in listed if isinstance(listed, list) else ():
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        definition = inner if isinstance(inner, Mapping) else tool
        if isinstance(definition, Mapping) and isinstance(definition.get("name"), str):
            tools_by_name.setdefault(definition["name"], definition)
    return tools_by_name


def _of_schemas(library: ToolLibrary, found: FoundTools) -> Iterator[Note]:
    """Yield notes on the mistakes in schemas, and on their unchecked parts."""
    for skipped in library.skipped:
        subject = f"the tool {skipped.name} has a mistake: " if skipped.name else ""
        for problem in skipped.problems:
            path, text = _place_and_text(problem)
            yield Note(path, f"{subject}{text}", "left out")
    for problem in library.warnings:
        is_passed_on = "not checked" in problem.message
        yield Note(*_place_and_text(problem), "not checked" if is_passed_on else "left out")


def _place_and_text(problem: Problem) -> tuple[str, str]:
    """Return the place of a mistake in the source, and its message."""
    match = _WHERE.search(problem.message)
    text = f"{_WHERE.sub('', problem.message)} [{problem.code}]"
    return (match["path"] if match else ""), text


def _canonical_tools(library: ToolLibrary, given: Mapping[str, Json]) -> tuple[str, list[Note]]:
    """Return the one file that has the tools of a library, in MCP's shape, and notes.

    Nothing in it refers to other parts. Of a plain text whose description names examples these are
    its `examples`, from which values are drawn.
    """
    notes: list[Note] = []
    tools: list[Json] = []
    for tool in library.tools.values():
        others = given.get(tool.name, {})
        none = {"type": "object", "properties": {}, "additionalProperties": tool.others is not None}
        schema: dict[str, Any] = dict(tool.schema or none)
        if isinstance(schema.get("properties"), Mapping):
            schema["properties"] = properties = dict(schema["properties"])
            for parameter in tool.parameters:
                listed = examples_in(parameter.description)
                is_plain = parameter.type.type == STRING and not parameter.examples
                if listed and is_plain and parameter.name in properties:
                    part = {**properties[parameter.name], "examples": list(listed)}
                    properties[parameter.name] = part
                    path = (tool.name, "parameters", parameter.name)
                    text = f"values from the description: {', '.join(listed)}"
                    notes.append(Note(path_text(path), text))
        fields: dict[str, Any] = {"name": tool.name, "description": tool.description}
        fields["inputSchema"] = schema
        if tool.result_schema:
            fields["outputSchema"] = tool.result_schema
        if tool.is_query:
            fields["annotations"] = {"readOnlyHint": True}
        fields |= {key: others[key] for key in ("_meta", "examples") if others.get(key)}
        tools.append(fields)
    entities = {kind: list(names.values) for kind, names in library.entity_types.items()}
    return tools_text(_finite(tools), entities), notes


def _finite(value: Any) -> Any:
    """Return a value without numbers that JSON has not: `.inf` and `.nan` are of YAML alone."""
    if isinstance(value, Mapping):
        return {name: _finite(part) for name, part in value.items() if _is_finite(part)}
    return (
        [_finite(part) for part in value if _is_finite(part)] if isinstance(value, list) else value
    )


def _is_finite(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)


_EXAMPLES = re.compile(
    r"(?:\be\.g\.|\bfor example\b|\bfor instance\b|\bsuch as\b|\bexamples?:)[:,]?\s*",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"'([^'\n]{1,40})'(?!\w)|\"([^\"\n]{1,40})\"|`([^`\n]{1,40})`")
_END = re.compile(r"[()\n;]|\.(?:\s|$)")


def examples_in(description: str) -> tuple[str, ...]:
    """Return the values that a description names as examples.

    >>> examples_in("The city, e.g. San Francisco, or Paris (in English)")
    ('San Francisco', 'Paris')
    >>> examples_in("A stock symbol (for example 'AAPL' or 'MSFT')."), examples_in("A city.")
    (('AAPL', 'MSFT'), ())
    """
    match = _EXAMPLES.search(description)
    if match is None:
        return ()
    rest = _END.split(description[match.end() :], maxsplit=1)[0]
    quoted = [next(filter(None, groups)) for groups in _QUOTED.findall(rest)]
    parts = quoted or re.split(r",\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", rest)
    phrases = (part.strip(" .'\"") for part in parts)
    short = [p for p in phrases if p and p.lower() not in ("etc", "...") and len(p.split()) <= 4]
    return tuple(dict.fromkeys(short)) if quoted or len(short) == len(parts) else ()


# --------------------------------------------------------------------------------- examples


def _examples(
    library: ToolLibrary, given: Mapping[str, Json]
) -> tuple[list[tuple[str, str]], list[Note]]:
    """Return the sentences that tools have as examples, with their programs, and notes.

    An example is `{"utterance": "dim the lights", "arguments": {"level": 20}}`.
    """
    rows: list[tuple[str, str]] = []
    notes: list[Note] = []
    for name, tool in given.items():
        examples = tool.get("examples")
        if name not in library.tools or not isinstance(examples, Sequence):
            continue
        for index, example in enumerate(examples):
            place = path_text((name, "examples", index))
            utterance = example.get("utterance") if isinstance(example, Mapping) else None
            if not isinstance(utterance, str) or not utterance.strip():
                notes.append(Note(place, "an example without an utterance", "left out"))
                continue
            call = {"name": name, "arguments": example.get("arguments", {})}
            program, why = program_of(call, library)
            if program:
                rows.append((" ".join(utterance.split()), program))
            else:
                notes.append(Note(place, f"the example {utterance!r}: {why}", "left out"))
    return rows, notes
