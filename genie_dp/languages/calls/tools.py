"""Files of tools, in JSON, read into a library.

A file holds a list of tools, or an object with `tools` (or `functions`) and, if any, `entities`.
A tool is `{"name", "description", "parameters"}`, with `inputSchema` or `input_schema` in the place
of the last as MCP and Anthropic have it, or inside of `{"type": "function", "function": ..}`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.calls import schema as js
from genie_dp.languages.calls.library import Json, Tool, ToolLibrary, ValueType, walk_types
from genie_dp.languages.calls.schema import SchemaReader
from genie_dp.languages.library import NameList, Skipped
from genie_dp.located import places_of, read_json
from genie_dp.texts import read_text


def load_tools(paths: Sequence[Path], *, skip_broken: bool = False) -> ToolLibrary:
    """Return the tools of files, or raise GenieError with all mistakes (Z020 to Z028)."""
    texts = {str(path): read_text(path) for path in paths}
    return read_tools(texts, paths, skip_broken=skip_broken)


def read_tools(
    texts: Mapping[str, str], paths: Sequence[Path] = (), *, skip_broken: bool = False
) -> ToolLibrary:
    """Return the tools of the texts of files; with `skip_broken`, without those with mistakes.

    >>> found = read_tools({"tools.json": '[{"name": "light", "parameters": {"properties": '
    ...     '{"level": {"type": "integer", "maximum": 100}}}}]'})
    >>> str(found.tools["light"].parameter("level").type)
    'Integer <= 100'
    """
    reader = _ToolsReader()
    for file, text in texts.items():
        reader.read_file(file, text)
    return reader.library(texts, paths, skip_broken=skip_broken)


Find = Callable[[js.Path], tuple[js.Path, Span | None]]
"""Takes a path of a document; returns that of its source, and where it stands there."""


def read_document(
    document: Any, texts: Mapping[str, str], find: Find, *, skip_broken: bool = False
) -> ToolLibrary:
    """Return the tools of a document that was made of another.

    Args:
        document: the content of an equivalent file of tools.
        texts: its source texts, to show mistakes in.
        find: gives the places of mistakes.
        skip_broken: whether tools with mistakes are left out.
    """
    reader = _ToolsReader(find)
    reader.read_document(document)
    return reader.library(texts, (), skip_broken=skip_broken)


_FORM = '[{"name": "light", "description": "..", "parameters": {"type": "object", ..}}]'
SCHEMAS = ("parameters", "inputSchema", "input_schema")
_MOST_RESULT_PARTS = 300  # of a result's schema that is kept as it was given
_RESULTS = ("outputSchema", "output_schema", "output", "returns")
_TOOL_KEYS = frozenset((
    *SCHEMAS, *_RESULTS, "name", "description", "title", "type", "function", "annotations",
    "strict", "cache_control", "_meta", "meta", "icons", "execution", "examples",
))  # fmt: skip


class _ToolsReader:
    """Reads files one after the other; keeps their mistakes with their places."""

    def __init__(self, find: Find | None = None):
        self.tools: dict[str, Tool] = {}
        self.given: dict[str, Json] = {}
        self.lists: dict[str, NameList] = {}
        self.entities: dict[str, NameList] = {}
        self.errors: list[Problem] = []
        self.broken: list[Skipped] = []
        self.warnings: list[Problem] = []
        self.document: Any = None
        self._find = find or _nowhere
        self._named: dict[js.Path, str] = {}

    def report(
        self,
        code: str,
        message: str,
        path: js.Path,
        hint: str | None = None,
        severity: str = "error",
    ) -> None:
        """Keep a mistake in the file that is read; the message names where it stands."""
        place, span = self._find(path)
        for end in (3, 2, 1):  # a tool is known by its name, not by its number
            if path[:end] in self._named and place[:end] == path[:end]:
                place = (self._named[path[:end]], *path[end:])
                break
        first = f"[{place[0]}]" if place and isinstance(place[0], int) else ""
        location = ".".join([*([first] if first else ()), *map(str, place[1:] if first else place)])
        whole = f"{message} ({location})" if location else message
        if severity == "error":
            self.errors.append(Problem(code, whole, span, hint))
        else:
            self.warnings.append(Problem(code, whole, span, hint, "warning"))

    def _warn(
        self, code: str, message: str, path: js.Path, hint: str | None = None, severity: str = ""
    ) -> None:
        """Keep a mistake in the result of a tool: programs do not depend on it."""
        self.report("Z027", message, path, hint, "warning")

    def library(
        self, texts: Mapping[str, str], paths: Sequence[Path], *, skip_broken: bool
    ) -> ToolLibrary:
        """Return the tools that were read, or raise all mistakes."""
        if self.errors or (self.broken and not skip_broken):
            broken = (problem for skipped in self.broken for problem in skipped.problems)
            raise GenieError((*self.errors, *broken), sources=texts)
        return ToolLibrary(
            self.tools,
            {**self.lists, **self.entities},
            self.entities,
            tuple(self.warnings),
            tuple(paths),
            dict(texts),
            tuple(self.broken),
        )

    def read_file(self, file: str, text: str) -> None:
        try:
            document = read_json(text, file, code="Z020", hint=f"write {_FORM}", exact=True)
        except GenieError as error:
            self.errors += error.problems
            return
        spans: dict[js.Path, Span] = {}

        def find(path: js.Path) -> tuple[js.Path, Span | None]:
            place = path
            if not spans:
                spans.update(places_of(text, file))
            while place and place not in spans:
                place = place[:-1]
            return path, spans.get(place)

        self._find, self._named = find, {}
        self.read_document(document, file)

    def read_document(self, found: Any, file: str = "FILE") -> None:
        self.document = document = found
        path: js.Path = ()
        if isinstance(found, Mapping):
            self._entities(found.get("entities", {}))
            for key in ("tools", "functions"):
                if key in found:
                    found, path = found[key], (key,)
                    break
            else:
                found = [found] if "name" in found or "function" in found else None
                path = ()
        if not isinstance(found, list):
            is_service = isinstance(document, Mapping) and {"openapi", "swagger"} & set(document)
            hint = f"make tools of it: genie-dp grammar import {file} --output FOLDER"
            self.report(
                "Z021", "expected a list of tools", path, hint if is_service else f"write {_FORM}"
            )
            return
        is_single = not path and not isinstance(document, list)
        for index, tool in enumerate(found):
            before = len(self.errors)
            name = self._tool(tool, () if is_single else (*path, index))
            if problems := tuple(self.errors[before:]):
                self.broken.append(Skipped(Path(file), problems, name))
                del self.errors[before:]

    def _entities(self, found: Any) -> None:
        hint = 'write "entities": {"room": ["kitchen", "bath"]}'
        if not isinstance(found, Mapping):
            self.report("Z028", "expected lists of names", ("entities",), hint)
            return
        for kind, names in found.items():
            path: js.Path = ("entities", kind)
            is_list = isinstance(names, list) and all(isinstance(name, str) for name in names)
            if not is_list or not js.ENTITY.fullmatch(kind):
                self.report("Z028", "expected a kind and a list of names", path, hint)
                continue
            before = self.entities[kind].values if kind in self.entities else ()
            self.entities[kind] = NameList(kind, tuple(dict.fromkeys((*before, *names))))

    def _tool(self, given: Any, path: js.Path) -> str:
        """Read a tool; return its name, "" where it has none."""
        if isinstance(given, Mapping) and isinstance(given.get("function"), Mapping):
            given, path = given["function"], (*path, "function")
        if not isinstance(given, Mapping):
            self.report("Z021", "expected a tool, an object", path, f"write {_FORM}")
            return ""
        name = given.get("name")
        if not isinstance(name, str) or not name.strip() or js.CONTROL.search(name):
            self.report("Z022", "expected a tool with a name", path, f"write {_FORM}")
            return ""
        self._named[path] = name
        if name in self.given:
            if self.given[name] == given:
                message = f"the tool {name!r} is there twice"
                self.report("Z027", message, (*path, "name"), None, "warning")
                return name
            self.report("Z022", f"there are two tools {name!r}", (*path, "name"), "rename one")
            return name
        for key in given.keys() - _TOOL_KEYS:
            hint = did_you_mean(key, _TOOL_KEYS)
            self.report("Z027", f"{key!r} is not read", (*path, key), hint, "warning")
        before = len(self.errors)
        self.given[name] = given
        tool = self._read_tool(name, given, path)
        if len(self.errors) == before:
            self.tools[name] = tool
        return name

    def _read_tool(self, name: str, given: Json, path: js.Path) -> Tool:
        key = next((key for key in SCHEMAS if given.get(key) is not None), "parameters")
        place, shape = (*path, key), {} if given.get(key) is None else given[key]
        if isinstance(shape, Mapping) and _is_bare(shape):
            shape = {"type": "object", "properties": shape}
        before = len(self.errors)
        root = ((place, shape), ((), self.document))
        reader = SchemaReader(root, self.report)
        whole = reader.read(shape, place)
        is_typed = isinstance(shape, Mapping) and not {"type", "properties"}.isdisjoint(shape)
        is_unread = whole.sort == "any" and is_typed
        if is_unread or whole.sort not in ("object", "any"):
            self.report("Z026", "expected the parameters as an object", place, f"write {_FORM}")
        result_key = next((k for k in _RESULTS if isinstance(given.get(k), Mapping)), None)
        result = None
        result_schema: Json = {}
        if result_key is not None:
            of_result = given[result_key]
            if _is_bare(of_result):
                of_result = {"type": "object", "properties": of_result}
            result_place = (*path, result_key)
            warned = len(self.warnings)
            outer = SchemaReader(((result_place, of_result), root[1]), self._warn)
            result = outer.read(of_result, result_place)
            if len(self.warnings) == warned and outer.parts <= _MOST_RESULT_PARTS:
                result_schema = outer.write_out(of_result)
        if reader.unchecked:
            keywords = ", ".join(sorted(reader.unchecked))
            first = min(reader.unchecked.values(), key=str)
            message = f"what tools are shown, and calls are not checked for: {keywords}"
            self.report("Z027", message, first, None, "warning")
        for parameter in whole.fields:
            options = parameter.type.options or (parameter.type,)
            if parameter.examples and any(option.type == ty.STRING for option in options):
                list_name = f"{name}:{parameter.name}"
                self.lists[list_name] = NameList(list_name, parameter.examples)
        for kind in sorted(_kinds(whole)):
            self.entities.setdefault(kind, NameList(kind, ()))
        notes = given.get("annotations")
        is_read = isinstance(shape, Mapping) and len(self.errors) == before
        return Tool(
            name,
            str(given.get("description") or given.get("title") or ""),
            whole.fields,
            # What nobody declared is a slip, where a tool does not say that it takes others.
            whole.others if whole.fields or whole.sort == "any" or shape else None,
            result,
            isinstance(notes, Mapping) and notes.get("readOnlyHint") is True,
            reader.write_out(shape) if shape and is_read else {},
            result_schema,
        )


def _kinds(type_: ValueType) -> set[str]:
    """Return the kinds of names that values of a type may be."""
    names = (t.type for t in walk_types((type_,)) if t.sort == "text")
    kinds = {name.kind for name in names if isinstance(name, ty.Entity)}
    return {kind for kind in kinds if ty.slot_stem(ty.Entity(kind)) == f"GENERIC_ENTITY_{kind}"}


def _nowhere(path: js.Path) -> tuple[js.Path, Span | None]:
    return path, None


def _is_bare(shape: Json) -> bool:
    """Return whether an object holds parameters by name, without the schema around them."""
    return (
        bool(shape)
        and all(isinstance(part, Mapping) for part in shape.values())
        and not shape.keys() & {"properties", "additionalProperties", "$defs"}
    )
