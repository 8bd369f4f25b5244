"""Importers of tools: from JSON, from OpenAPI documents, from MCP servers."""

import json
from typing import Any

from genie_dp.languages.calls.library import ToolLibrary, read_tools
from genie_dp.templates.imports import Imported, Note, Source


def import_tools(source: Source) -> Imported:
    """Return the library and the first templates of a file of tools.

    Raises:
        GenieError: mistakes in the tools (Z020 to Z028).
    """
    library = read_tools({str(source.path): source.text()}, skip_broken=source.skip_broken)
    return _imported(library, [])


def _imported(library: ToolLibrary, notes: list[Note]) -> Imported:
    files = {"tools.json": tools_text(library), "main.genie": ""}
    return Imported(files, tuple(notes), counts={"tools": len(library.tools)})


def tools_text(library: ToolLibrary) -> str:
    """Return the one file that has the tools of a library: MCP's shape, without `$ref`."""
    tools: list[dict[str, Any]] = []
    for tool in library.tools.values():
        shown: dict[str, Any] = {"name": tool.name, "description": tool.description}
        shown["inputSchema"] = dict(tool.schema) or {"type": "object", "properties": {}}
        if tool.is_query:
            shown["annotations"] = {"readOnlyHint": True}
        tools.append(shown)
    entities = {kind: list(names.values) for kind, names in library.entity_types.items()}
    whole = {"entities": entities, "tools": tools} if entities else {"tools": tools}
    return json.dumps(whole, indent=1, ensure_ascii=False) + "\n"
