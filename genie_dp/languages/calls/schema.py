"""JSON Schema: types of values read from that of tools, and that of programs.

Further restrictions of values (`uniqueItems` and the like) are kept in the schema that tools are
shown, and not checked. Each such keyword is a warning, so that nothing is lost unseen.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

from genie_dp.errors import GenieError, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import ANYTHING, NONE, Field, Tool, ToolLibrary, ValueType
from genie_dp.languages.calls.structure import RESULT, from_calls
from genie_dp.languages.calls.text import value_text
from genie_dp.languages.calls.typecheck import misfits, sharpen
from genie_dp.languages.json_schema import TEXT, Json, closed_object, list_of, program_schema, ref
from genie_dp.languages.limits import Limits, is_simple

Path = tuple[str | int, ...]
"""Where something stands in a JSON document: keys and indices."""

_FORMATS: dict[str, ty.Type] = {
    "date": ty.DATE,
    "date-time": ty.DATE,
    "time": ty.TIME,
    "duration": ty.Measure("ms"),
    "email": ty.Entity("tt:email_address"),
    "idn-email": ty.Entity("tt:email_address"),
    "uri": ty.Entity("tt:url"),
    "url": ty.Entity("tt:url"),
    "iri": ty.Entity("tt:url"),
    "phone": ty.Entity("tt:phone_number"),
    "phone-number": ty.Entity("tt:phone_number"),
    "tel": ty.Entity("tt:phone_number"),
}
# Words for types that are in use beside those of JSON Schema: Python's, OpenAPI's, Google's.
_TYPES = {
    "str": "string", "int": "integer", "float": "number", "double": "number", "long": "integer",
    "bool": "boolean", "dict": "object", "list": "array", "tuple": "array", "any": "any",
}  # fmt: skip
_PLAIN = ("string", "number", "integer", "boolean", "object", "array", "null", "any")
# What says nothing of the values, or is read elsewhere.
_KNOWN = frozenset((
    "type", "format", "enum", "const", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "items", "minItems", "maxItems", "properties", "required",
    "additionalProperties", "anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions", "default",
    "prefixItems", "multipleOf", "minLength", "maxLength", "pattern",
    "examples", "example", "description", "title", "nullable", "x-entity", "$schema", "$id",
    "$comment", "deprecated", "readOnly", "writeOnly", "optional", "propertyOrdering",
))  # fmt: skip
DEEPEST = 24
MOST_PARTS = 20_000
"""Parts of all schemas of one tool, each `$ref` written out."""
_LONGEST_EXAMPLE = 60


@dataclass(slots=True)
class SchemaReader:
    """Reads the schemas of one tool.

    Attributes:
        root: the documents in which a `$ref` such as "#/$defs/Room" is looked up, the nearest
            first.
        report: takes a code, a message, where, a hint and a severity.
    """

    root: Sequence[tuple[Path, Any]]
    report: Callable[..., None]
    parts: int = 0
    is_refused: bool = False
    refs: tuple[str, ...] = ()
    unchecked: dict[str, Path] = field(default_factory=dict)

    def read(self, schema: Any, path: Path, depth: int = 0) -> ValueType:
        """Return the type of a schema; its mistakes are reported, and wrong parts become "any".

        Args:
            schema: the JSON.
            path: where it stands.
            depth: of how many others it is part.
        """
        self.parts += 1
        if self._is_too_large(path, depth):
            return ANYTHING
        if schema is True or schema == {}:
            return ANYTHING
        if not isinstance(schema, Mapping):
            self.report("Z026", "expected a schema, an object", path, 'such as {"type": "string"}')
            return ANYTHING
        if "$ref" in schema:
            return self._reference(schema, path, depth)
        for name in schema.keys() - _KNOWN:
            if not name.startswith("x-"):
                self.unchecked.setdefault(name, (*path, name))
        if "allOf" in schema:
            return self._all_of(schema, path, depth)
        type_ = self._union(schema, path, depth) or self._plain(schema, path, depth)
        return replace(type_, is_nullable=True) if schema.get("nullable") is True else type_

    def _is_too_large(self, path: Path, depth: int) -> bool:
        """Return whether a value is a schema, and report once if it is not."""
        if self.parts <= MOST_PARTS and depth <= DEEPEST:
            return False
        if not self.is_refused:
            excess = f"{DEEPEST} levels" if depth > DEEPEST else f"{MOST_PARTS:,} parts"
            hint = "take out what people do not say, or give the part as a text"
            self.report("Z025", f"the schema has more than {excess}", path, hint)
        self.parts, self.is_refused = MOST_PARTS + 1, True
        return True

    def write_out(self, schema: Any) -> Any:
        """Return a schema without mistakes, its references replaced by their targets."""
        if isinstance(schema, list):
            return [self.write_out(part) for part in schema]
        if not isinstance(schema, Mapping):
            return float(schema) if isinstance(schema, Decimal) else schema
        if isinstance(schema.get("$ref"), str):
            target = self._look_up(schema["$ref"], ())
            beside = {k: v for k, v in schema.items() if k != "$ref"}
            is_found = target is not None and isinstance(target[1], Mapping)
            return self.write_out({**target[1], **beside} if target and is_found else beside)
        names = schema.keys() - {"$defs", "definitions", "$schema", "$id"}
        return {name: self.write_out(part) for name, part in schema.items() if name in names}

    # ---------------------------------------------------------------- what stands elsewhere

    def _reference(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType:
        target = self._look_up(schema["$ref"], (*path, "$ref"))
        if target is None:
            return ANYTHING
        others = {k: v for k, v in schema.items() if k in ("default", "nullable", "description")}
        merged = {**target[1], **others} if isinstance(target[1], Mapping) and others else target[1]
        before = self.refs
        self.refs = (*before, schema["$ref"])
        try:
            return self.read(merged, target[0], depth + 1)
        finally:
            self.refs = before

    def _look_up(self, ref: Any, path: Path) -> tuple[Path, Any] | None:
        if not isinstance(ref, str) or not ref.startswith("#"):
            hint = 'put what it refers to under "$defs"'
            fault = "is in another document" if isinstance(ref, str) and ref else "names nothing"
            self.report("Z024", f"{ref!r} {fault}", path, hint)
            return None
        if ref in self.refs:
            hint = "say how deep it may go: write the levels out"
            self.report(
                "Z023", f"{ref!r} holds itself, so values could be of any depth", path, hint
            )
            return None
        for base, document in self.root:
            looked_up = look_up(document, ref)
            if looked_up is not None:
                return (*base, *looked_up[0]), looked_up[1]
        head, _, name = ref.rpartition("/")
        container = look_up(self.root[0][1], head) or look_up(self.root[-1][1], head)
        names = container[1] if container and isinstance(container[1], Mapping) else ()
        hint = did_you_mean(name, names) or 'write "#/$defs/NAME" for what stands under "$defs"'
        self.report("Z024", f"there is no {ref!r}", path, hint)
        return None

    def _all_of(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType:
        """Return the intersection of all parts: their keywords side by side, fields together."""
        parts = [({k: v for k, v in schema.items() if k != "allOf"}, path)]
        schemas = schema["allOf"]
        if not isinstance(schemas, list):
            self.report("Z026", "expected a list of schemas", (*path, "allOf"), _OPTIONS)
            return ANYTHING
        for index, part in enumerate(schemas):
            place: Path = (*path, "allOf", index)
            for _ in range(DEEPEST):
                if not isinstance(part, Mapping) or "$ref" not in part:
                    break
                looked_up = self._look_up(part["$ref"], (*place, "$ref"))
                if looked_up is None:
                    return ANYTHING
                place, part = looked_up
            if isinstance(part, Mapping) and "$ref" not in part:
                parts.append((dict(part), place))
        return self._read_together([part for part, _ in parts], path, depth)

    def _read_together(
        self, parts: Sequence[Mapping[str, Any]], path: Path, depth: int
    ) -> ValueType:
        """Return the intersection of some schemas, none of which is a reference."""
        merged: dict[str, Any] = {}
        for part in parts:
            for name, value in part.items():
                before = merged.get(name)
                is_map, is_list = isinstance(value, Mapping), isinstance(value, list)
                if name in ("properties", "$defs") and is_map and isinstance(before, dict):
                    merged[name] = {**before, **value}
                elif name in ("required", "allOf") and is_list and isinstance(before, list):
                    before.extend(value)
                    self.parts += len(value)
                elif name not in merged:
                    merged[name] = list(value) if isinstance(value, list) else value
            if self._is_too_large(path, depth):
                return ANYTHING
        return self.read(merged, path, depth + 1)

    # ------------------------------------------------------------------------------- unions

    def _union(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType | None:
        for name in ("anyOf", "oneOf"):
            if name in schema:
                options = schema[name]
                if not isinstance(options, list) or not options:
                    self.report("Z026", "expected a list of schemas", (*path, name), _OPTIONS)
                    return ANYTHING
                # What stands beside `anyOf` holds for each: often its type alone.
                beside = {
                    k: v for k, v in schema.items()
                    if k in _KNOWN - {"anyOf", "oneOf", "default", "description", "title", "$defs"}
                }  # fmt: skip
                schemas = [
                    ({**beside, **o} if isinstance(o, Mapping) and "$ref" not in o else o, i)
                    for i, o in enumerate(options)
                ]
                return union(self.read(o, (*path, name, i), depth + 1) for o, i in schemas)
        types = schema.get("type")
        if isinstance(types, list) and types:
            return union(
                self.read({**schema, "type": name}, path, depth + 1)
                for name in dict.fromkeys(map(str, types))
            )
        return None

    # -------------------------------------------------------------------------------- types

    def _plain(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType:
        if "const" in schema:
            return self._enum([schema["const"]], (*path, "const"))
        if "enum" in schema:
            return self._enum(schema["enum"], (*path, "enum"))
        name = schema.get("type", "")
        name = str(name).lower() if isinstance(name, str) else name
        name = _TYPES.get(name, name) if isinstance(name, str) else name
        if name == "":
            name = (
                "object" if "properties" in schema
                else "array" if "items" in schema
                else "string" if "format" in schema or "x-entity" in schema
                else "number" if "minimum" in schema or "maximum" in schema
                else "any"
            )  # fmt: skip
        match name:
            case "string":
                return self._text(schema, path)
            case "number" | "integer":
                return self._number(schema, path, is_whole=name == "integer")
            case "boolean":
                return ValueType("boolean", ty.BOOLEAN)
            case "null":
                return ValueType("null", is_nullable=True)
            case "array":
                return self._array(schema, path, depth)
            case "object":
                return self._object(schema, path, depth)
            case "any":
                return ANYTHING
            case _:
                hint = did_you_mean(str(name), _PLAIN) or f"types are {', '.join(_PLAIN)}"
                message = f"{name!r} is no type of JSON Schema, so that values are not checked"
                self.report("Z027", message, (*path, "type"), hint, "warning")
                return ANYTHING

    def _enum(self, values: Any, path: Path) -> ValueType:
        if not isinstance(values, list) or not values:
            self.report("Z026", "expected a list of values", path, 'such as ["on", "off"]')
            return ANYTHING
        constants: list[ast.Value] = []
        for index, value in enumerate(values):
            match value:
                case None:
                    constants.append(ast.Flag(None))
                case bool():
                    constants.append(ast.Flag(value))
                case str():
                    constants.append(ast.Symbol(value))
                case int() | float() | Decimal() if (n := ast.read_number(str(value))) is not None:
                    constants.append(ast.Number(n))
                case _:
                    message = "expected a text, a number, true, false or null in an enum"
                    hint = "describe objects by properties, lists by items"
                    self.report("Z026", message, (*path, index), hint)
        is_nullable = ast.Flag(None) in constants
        unique = tuple(dict.fromkeys(c for c in constants if c != ast.Flag(None)))
        if not unique:
            return ValueType("null", is_nullable=True)
        names = tuple(_name_of(value) for value in unique)
        return ValueType("enum", ty.Enum(names), is_nullable, values=unique)

    def _text(self, schema: Mapping[str, Any], path: Path) -> ValueType:
        kind, form = schema.get("x-entity"), schema.get("format")
        if kind is not None:
            if isinstance(kind, str) and ENTITY.fullmatch(kind):
                self._leave_unchecked(schema, _OF_TEXTS, path)
                return ValueType("text", ty.Entity(kind))
            self.report("Z028", f"{kind!r} is no kind of names", (*path, "x-entity"), _ENTITY_HINT)
        type_ = _FORMATS.get(form, ty.STRING) if isinstance(form, str) else ty.STRING
        if type_ != ty.STRING:
            self._leave_unchecked(schema, _OF_TEXTS, path)
            return ValueType("text", type_, has_clock=form == "date-time")
        return ValueType("text", type_, limits=self._limits_of_text(schema, path))

    def _leave_unchecked(self, schema: Mapping[str, Any], names: Iterable[str], path: Path) -> None:
        for name in names:
            if name in schema:
                self.unchecked.setdefault(name, (*path, name))

    def _limits_of_text(self, schema: Mapping[str, Any], path: Path) -> Limits:
        shortest, longest = schema.get("minLength", 0), schema.get("maxLength")
        if not _is_count(shortest) or not (longest is None or _is_count(longest)):
            self.report("Z026", "expected numbers of characters", path, _COUNTS)
            shortest, longest = 0, None
        pattern = schema.get("pattern")
        if pattern is None or (isinstance(pattern, str) and is_simple(pattern)):
            patterns = () if pattern is None else (pattern,)
            return Limits(shortest=shortest, longest=longest, patterns=patterns)
        self._leave_unchecked(schema, ("pattern",), path)
        return Limits(shortest=shortest, longest=longest)

    def _number(self, schema: Mapping[str, Any], path: Path, *, is_whole: bool) -> ValueType:
        bounds: dict[str, Decimal | None] = {}
        for name in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"):
            value = schema.get(name)
            bounds[name] = None
            if isinstance(value, int | float | Decimal) and not isinstance(value, bool):
                bounds[name] = ast.read_number(str(value))
            elif value is not None and not isinstance(value, bool):
                self.report("Z026", "expected a number", (*path, name), f'such as "{name}": 10')
        least, is_least_open = bounds["minimum"], schema.get("exclusiveMinimum") is True
        highest, is_most_open = bounds["maximum"], schema.get("exclusiveMaximum") is True
        above, below = bounds["exclusiveMinimum"], bounds["exclusiveMaximum"]
        if above is not None and (least is None or above >= least):
            least, is_least_open = above, True
        if below is not None and (highest is None or below <= highest):
            highest, is_most_open = below, True
        step = schema.get("multipleOf")
        is_number = isinstance(step, int | float | Decimal) and not isinstance(step, bool)
        number = ast.read_number(str(step)) if is_number else None
        if step is not None and (number is None or number <= 0):
            self.report("Z026", "expected a number above 0", (*path, "multipleOf"), "such as 0.5")
            number = None
        limits = Limits(
            least,
            highest,
            is_least_open,
            is_most_open,
            is_whole,
            () if number is None else (number,),
        )
        type_ = ValueType("number", ty.NUMBER, limits=limits)
        if least is not None and highest is not None and least > highest:
            self.report("Z026", f"no number is {type_}", path, "exchange the bounds")
            return replace(type_, limits=replace(limits, least=None, most=None))
        return type_

    def _array(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType:
        items, place = schema.get("items", {}), (*path, "items")
        limit = schema.get("maxItems")
        key = "prefixItems" if isinstance(schema.get("prefixItems"), list) else "items"
        if isinstance(schema.get(key), list):  # a tuple, each place with a type of its own
            each = [self.read(g, (*path, key, i), depth + 1) for i, g in enumerate(schema[key])]
            if key == "prefixItems" and isinstance(items, Mapping):
                each.append(self.read(items, place, depth + 1))
            item = union(iter(each))
            limit = len(each) if items is False and limit is None else limit
        elif items is False:
            item, limit = ANYTHING, 0
        else:
            item = self.read(items, place, depth + 1)
        fewest = schema.get("minItems", 0)
        if not _is_count(fewest) or not (limit is None or _is_count(limit)):
            self.report("Z026", "expected numbers of items", path, _COUNTS)
            fewest, limit = 0, None
        return ValueType(
            "array", ty.Array(item.type), item=item, fewest_items=fewest, most_items=limit
        )

    def _object(self, schema: Mapping[str, Any], path: Path, depth: int) -> ValueType:
        fields = tuple(self.fields(schema, path, depth))
        others = schema.get("additionalProperties", True)
        if others is False:
            return ValueType("object", fields=fields)
        if others is True:
            # Objects without a word of their fields hold anything; else others are slips.
            return ValueType("object", fields=fields, others=None if fields else ANYTHING)
        place = (*path, "additionalProperties")
        return ValueType("object", fields=fields, others=self.read(others, place, depth + 1))

    def fields(self, schema: Mapping[str, Any], path: Path, depth: int) -> Iterator[Field]:
        """Yield the fields of an object, sorted by name."""
        properties = schema.get("properties", {})
        required = schema.get("required", [])
        if not isinstance(properties, Mapping):
            self.report("Z026", "expected an object", (*path, "properties"), _PROPERTIES)
            return
        if not isinstance(required, list):
            if not isinstance(required, bool):
                self.report("Z026", "expected a list of names", (*path, "required"), _NAMES)
            required = []
        for name in required:
            if not isinstance(name, str) or name not in properties:
                hint = did_you_mean(str(name), properties)
                place = (*path, "required")
                self.report(
                    "Z027", f"{name!r} is required, and no property", place, hint, "warning"
                )
        for name in sorted(properties):
            property_, place = properties[name], (*path, "properties", name)
            if property_ is False:  # what must not be there
                continue
            if CONTROL.search(name):
                hint = "take the control character out of the name"
                self.report("Z026", f"expected a name that one can read, got {name!r}", place, hint)
                continue
            type_ = self.read(property_, place, depth + 1)
            plain = property_ if isinstance(property_, Mapping) else {}
            yield Field(
                name, type_,
                name in required or plain.get("required") is True,
                self._default(plain, type_, place),
                str(plain.get("description", "")),
                _examples(plain),
            )  # fmt: skip

    def _default(self, schema: Mapping[str, Any], type_: ValueType, path: Path) -> ast.Value | None:
        if "default" not in schema:
            return None
        if schema["default"] is None and not type_.is_nullable:
            return None  # often written where there is none
        try:
            call = from_calls({"name": "f", "arguments": {"x": schema["default"]}}).steps[0][0]
            assert isinstance(call, ast.Call)
            value = sharpen(call.arguments[0].value, type_)
            problems = [*misfits(value, type_, "default")]
        except GenieError as error:
            problems = [*error.problems]
        for problem in problems:
            message = f"the default does not fit: {problem.message}"
            self.report("Z027", message, (*path, "default"), problem.hint, "warning")
            return None
        return value


_OPTIONS = 'such as [{"type": "string"}, {"type": "integer"}]'
_NAMES = 'such as ["room"]'
_COUNTS = "write whole numbers from 0"
_PROPERTIES = 'such as {"room": {"type": "string"}}'
_OF_TEXTS = ("minLength", "maxLength", "pattern")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
ENTITY = re.compile(r"[\w:.\-]+")
_ENTITY_HINT = 'write letters, digits, "_", ":", "." or "-", such as "room"'


def look_up(document: Any, ref: str) -> tuple[Path, Any] | None:
    """Return the target of a reference such as "#/$defs/Room", and its path; None if there is none.

    >>> look_up({"$defs": {"my room": 1}}, "#/$defs/my%20room")
    (('$defs', 'my room'), 1)
    """
    place: Path = ()
    node = document
    for part in ref[1:].strip("/").split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping) and name not in node:
            name = unquote(part).replace("~1", "/").replace("~0", "~")
        if not part:
            continue
        if isinstance(node, Mapping) and name in node:
            place, node = (*place, name), node[name]
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            place, node = (*place, int(name)), node[int(name)]
        else:
            return None
    return place, node


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _name_of(value: ast.Value) -> str:
    return value.name if isinstance(value, ast.Symbol) else value_text(value)


def _examples(schema: Mapping[str, Any]) -> tuple[str, ...]:
    examples = schema.get("examples", [])
    examples = examples if isinstance(examples, list) else [examples]
    texts = (e for e in (*examples, schema.get("example")) if isinstance(e, str))
    return tuple(dict.fromkeys(e for e in texts if 0 < len(e) <= _LONGEST_EXAMPLE))


def union(types: Iterator[ValueType]) -> ValueType:
    """Return the type of values of any of some types; null among them makes it nullable.

    >>> from genie_dp.languages.types import STRING
    >>> union(iter((ValueType("text", STRING), ValueType("null", is_nullable=True)))).is_nullable
    True
    """
    options_ = list(types)
    is_nullable = any(t.is_nullable for t in options_)
    plain = list(dict.fromkeys(replace(t, is_nullable=False) for t in options_ if t.sort != "null"))
    if not plain:
        return ValueType("null", is_nullable=True)
    if any(t.sort == "any" for t in plain):
        return replace(ANYTHING, is_nullable=True)
    if all(t.sort == "enum" for t in plain):
        values = tuple(dict.fromkeys(value for t in plain for value in t.values))
        names = tuple(map(_name_of, values))
        plain = [ValueType("enum", ty.Enum(names), values=values)]
    if len(plain) == 1:
        return replace(plain[0], is_nullable=is_nullable)
    options = tuple(dict.fromkeys(o for t in plain for o in (t.options or (t,))))
    return ValueType("union", options[0].type, is_nullable, options=options)


# ---------------------------------------------------------------------- schema of programs


def schema(library: ToolLibrary | None) -> dict[str, Any]:
    """Return the JSON Schema of `{"tree": .., "calls": ..}` over tools.

    Arguments are as the tools declare them; each may be the result of an earlier call instead.
    """
    tools = (library or NONE).tools
    fields: Json = {"type": "object", "additionalProperties": ref("value")}
    name = {"enum": sorted(tools)} if tools else TEXT
    call = closed_object({"kind": {"const": "call"}, "name": name, "arguments": fields})
    steps = list_of(list_of(call))
    anything = {"name": TEXT, "arguments": {"type": "object"}, "step": _PLACE}
    result = {RESULT: _PLACE, "path": {"type": "array"}}
    calls = [_call_schema(tool) for tool in tools.values()]
    definitions = {
        "value": {"anyOf": _value_schemas(fields)},
        "result": closed_object(result, (RESULT,)),
        "calls": list_of({"anyOf": calls or [closed_object(anything, ("name",))]}),
    }
    tree = closed_object({"kind": {"const": "program"}, "steps": steps})
    return program_schema("Calls of genie_dp", definitions, tree=tree)


_PLACE: Json = {"type": "integer", "minimum": 1}


def _value_schemas(fields: Json) -> list[Json]:
    kinds = {kind: {"value": TEXT} for kind in ("text", "date", "time", "duration")}
    return [
        *(closed_object({"kind": {"const": kind}, **parts}) for kind, parts in kinds.items()),
        closed_object({"kind": {"const": "name"}, "value": TEXT, "type": TEXT}),
        closed_object({"kind": {"const": "number"}, "value": {"type": ["number", "string"]}}),
        closed_object({"kind": {"enum": ["symbol", "slot"]}, "name": TEXT}),
        closed_object({"kind": {"const": "flag"}, "value": {"type": ["boolean", "null"]}}),
        closed_object({"kind": {"const": "open"}}),
        closed_object({"kind": {"const": "result"}, "call": _PLACE, "path": {"type": "array"}}),
        closed_object({"kind": {"const": "array"}, "items": list_of(ref("value"))}),
        closed_object({"kind": {"const": "object"}, "fields": fields}),
    ]


def _call_schema(tool: Tool) -> Json:
    schema = {**tool.schema, "type": "object"}
    schema.setdefault("properties", {})
    required = [p.name for p in tool.parameters if p.is_required]
    described = {"description": tool.description} if tool.description else {}
    properties = {
        "name": {"const": tool.name},
        "arguments": {**schema, "required": required},
        "step": _PLACE,
    }
    return {**described, **closed_object(properties, ("name", "arguments"))}
