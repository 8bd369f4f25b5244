"""Operations of OpenAPI documents (3.x, and Swagger 2) as tools.

Parameters of the path, the query and the body stand side by side. Where each goes is in `_meta` of
its tool, for those who carry calls out.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.importers.source import FoundTools, ImportSource
from genie_dp.languages.calls.schema import look_up
from genie_dp.located import Place
from genie_dp.templates.review import Note, path_text

Json = Mapping[str, Any]
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options", "trace")
_QUERIES = frozenset(("get", "head"))
_NEVER_SAID = frozenset(("options", "trace"))
_JSON_TYPE = re.compile(r"application/(?:[\w.+-]*\+)?json\b", re.IGNORECASE)
_FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
# Of a parameter in Swagger 2, which has no schema of its own, what says nothing of its values.
_NOT_SCHEMA = frozenset(
    ("name", "in", "required", "description", "schema", "content", "style", "explode",
     "allowReserved", "allowEmptyValue", "deprecated", "example", "examples", "collectionFormat")
)  # fmt: skip
_DEEPEST, _MOST_MERGES = 24, 2_000  # of a body; what is larger is read as one parameter


def read_openapi(source: ImportSource) -> FoundTools:
    """Return the operations of an OpenAPI document as tools.

    Raises:
        GenieError: R080, it is none.
    """
    document = source.document()
    if not isinstance(document, Mapping):
        raise GenieError(Problem("R080", f"{source.given} is no OpenAPI document"))
    return tools_of(document)


def tools_of(document: Json) -> FoundTools:
    """Return the operations of a document as tools.

    >>> found = tools_of({"openapi": "3.1.0", "paths": {"/pets/{id}": {"get": {
    ...     "operationId": "getPet", "parameters": [{"name": "id", "in": "path", "required": True,
    ...     "schema": {"type": "integer"}}]}}}})
    >>> [(tool["name"], tool["annotations"]) for tool in found.document["tools"]]
    [('getPet', {'readOnlyHint': True})]
    """
    reader = _OpenApiReader(document)
    tools = list(reader.tools())
    definitions = {k: document[k] for k in ("components", "definitions") if k in document}
    paths = document.get("paths")
    if isinstance(paths, Mapping):
        definitions["paths"] = paths  # some refer to what stands in other operations
    document_tools = {**definitions, "tools": tools}
    unnamed = frozenset(reader.unnamed)
    return FoundTools(document_tools, tuple(reader.notes), reader.places, reader.moved, unnamed)


class _OpenApiReader:
    def __init__(self, document: Json):
        self.document = document
        self.notes: list[Note] = []
        self.places: dict[str, Place] = {}
        self.moved: dict[Place, Place] = {}
        self.unnamed: set[str] = set()
        self._merges = 0

    def note(self, place: Place, text: str, sort: Any = "left out") -> None:
        self.notes.append(Note(path_text(place), text, sort))

    def tools(self) -> Iterator[Json]:
        """Yield the operations, in the order of the document."""
        for key in ("webhooks", "security", "securityDefinitions"):
            if self.document.get(key):
                subject = "calls that come in" if key == "webhooks" else "who calls adds the keys"
                self.note((key,), subject)
        if _mapping(self.document.get("components")).get("securitySchemes"):
            self.note(("components", "securitySchemes"), "who calls adds the keys")
        for path, item_given in _mapping(self.document.get("paths")).items():
            item, place = self.resolve(item_given, ("paths", path))
            if item is None:
                continue
            for method in _METHODS:
                if isinstance(item.get(method), Mapping):
                    yield from self._operation(path, method, item, (*place, method))

    def _operation(self, path: str, method: str, item: Json, place: Place) -> Iterator[Json]:
        operation = item[method]
        if method in _NEVER_SAID:
            self.note(place, f"nobody asks for {method.upper()}")
            return
        name = self._name(operation, path, method, place)
        shape = _OperationParameters()
        shared = item.get("parameters")
        for given, inside in (
            *_entries(operation.get("parameters"), (*place, "parameters")),
            *_entries(shared, (*place[:-1], "parameters")),
        ):
            self._parameter(given, inside, shape)
        for field in re.findall(r"\{([^{}]+)\}", path):
            if shape.homes.get(field) != "path" and f"path {field}" not in shape.homes.values():
                self.note(place, f"{field!r} of the path is not declared: it is a text", "changed")
                self._add(shape, field, "path", {"type": "string"}, place, place, is_required=True)
        self._body(operation, place, shape)
        for key in ("callbacks", "servers"):
            if operation.get(key):
                self.note((*place, key), "not read")
        tool: dict[str, Any] = {
            "name": name,
            "description": _description(operation),
            "inputSchema": shape.schema(),
            "annotations": {"readOnlyHint": method in _QUERIES},
            "_meta": {"method": method, "path": path, "in": shape.homes},
        }
        whole: Place = ("tools", len(self.places))
        self.moved[whole] = place
        for field, inside in shape.places.items():
            self.moved[(*whole, "inputSchema", "properties", field)] = inside
        result, inside = self._result(operation, place)
        if result is not None:
            tool["outputSchema"] = result
            self.moved[(*whole, "outputSchema")] = inside
        if operation.get("x-examples"):
            tool["examples"] = operation["x-examples"]
        self.places[name] = place
        yield tool

    def _name(self, operation: Json, path: str, method: str, place: Place) -> str:
        operation_id = operation.get("operationId")
        operation_id = operation_id.strip() if isinstance(operation_id, str) else ""
        called = "_".join([method, *re.findall(r"\w+", re.sub(r"\{[^}]*\}", "", path))])
        by = re.findall(r"\w+", " ".join(re.findall(r"\{([^}]*)\}", path)))
        names = [operation_id or called, called, *(["_".join([called, "by", *by])] if by else [])]
        names += [f"{called}_{number}" for number in range(2, len(self.places) + 3)]
        name = next(name for name in names if name not in self.places)
        if name != operation_id:
            self.unnamed.add(name)
        if name != names[0]:
            self.note(place, f"{names[0]} is there twice; this one is called {name}", "changed")
        elif not operation_id:
            self.note(place, f"it has no operationId, and is called {name}", "guess")
        return name

    def _parameter(self, given: Any, place: Place, shape: "_OperationParameters") -> None:
        parameter, place = self.resolve(given, place)
        if parameter is None:
            return
        name, home = parameter.get("name"), parameter.get("in")
        if not isinstance(name, str) or not name:
            self.note(place, "a parameter without a name")
            return
        if home in ("header", "cookie"):
            self.note(place, f"the {home} {name!r}: who calls adds it")
            return
        if home == "body":
            self._add_body(parameter.get("schema", {}), (*place, "schema"), shape,
                           is_required=parameter.get("required") is True)  # fmt: skip
            return
        home = "body" if home == "formData" else str(home or "query")
        if home != "body" and shape.homes.get(name) == home:
            return  # that of the operation comes before that of its path
        schema = self._schema_of(parameter, place)
        is_required = parameter.get("required") is True or home == "path"
        inside = (*place, "schema") if "schema" in parameter else place
        self._add(shape, name, home, schema, inside, place, is_required=is_required)

    def _add(
        self, shape: "_OperationParameters", name: str, home: str, schema: Any, inside: Place,
        place: Place, *, is_required: bool,
    ) -> None:  # fmt: skip
        """Add a parameter; one that has the name of another gets a new one, which is noted.

        Args:
            inside, place: of its schema, and its own.
        """
        new = shape.add(name, home, schema, inside, is_required=is_required)
        if new != name:
            self.note(place, f"{name!r} is there twice; this one is called {new!r}", "changed")

    def _schema_of(self, parameter: Json, place: Place) -> Json:
        """Return the schema of a parameter, with its sibling fields."""
        schema = parameter.get("schema")
        if not isinstance(schema, Mapping):
            _, schema = _json_content(parameter.get("content"))
        if schema is None:
            schema = {k: v for k, v in parameter.items() if k not in _NOT_SCHEMA}
            if schema.get("type") == "file":
                self.note(place, "a file: it is taken as a text", "changed")
                schema["type"] = "string"
        beside: dict[str, Any] = {}
        if isinstance(parameter.get("description"), str):
            beside["description"] = parameter["description"]
        examples = _examples(parameter)
        if examples and "$ref" not in schema:
            beside["examples"] = [*_as_list(schema.get("examples")), *examples]
        return {**schema, **beside}

    def _body(self, operation: Json, place: Place, shape: "_OperationParameters") -> None:
        if "requestBody" not in operation:
            return
        body, place = self.resolve(operation["requestBody"], (*place, "requestBody"))
        if body is None:
            return
        kind, schema = _json_content(body.get("content"))
        if schema is None:
            self.note((*place, "content"), "a body that is no JSON and no form")
            return
        self._add_body(schema, (*place, "content", kind, "schema"), shape,
                       is_required=body.get("required") is True)  # fmt: skip

    def _add_body(
        self, schema: Any, place: Place, shape: "_OperationParameters", *, is_required: bool
    ) -> None:
        """Add the fields of a body that is an object, else the body as one parameter."""
        self._merges = 0
        whole = self._merge(schema, place, 0)
        properties = whole.get("properties") if whole is not None else None
        if not isinstance(properties, Mapping) or not properties:
            schema_fields = schema if isinstance(schema, Mapping) else {}
            self._add(shape, "body", "body", schema_fields, place, place, is_required=is_required)
            shape.homes["body"] = "whole body"
            return
        assert whole is not None
        _, home = self.resolve(schema, place)
        required = [name for name in _as_list(whole.get("required")) if isinstance(name, str)]
        for name, field in properties.items():
            inside = (*place, "properties", name)
            if _mapping(field).get("readOnly") is True:
                self.note(inside, "it is read only")
                continue
            must = is_required and name in required
            field_place = (*home, "properties", name)
            self._add(shape, name, "body", field, field_place, inside, is_required=must)

    def _merge(self, schema: Any, place: Place, depth: int) -> dict[str, Any] | None:
        """Return a schema with its references and `allOf` resolved; None if there is none."""
        whole, _ = self.resolve(schema, place)
        self._merges += 1
        if whole is None or depth > _DEEPEST or self._merges > _MOST_MERGES:
            return None
        merged = {k: v for k, v in whole.items() if k != "allOf"}
        for part in _as_list(whole.get("allOf")):
            inner = self._merge(part, place, depth + 1) or {}
            properties = {**_mapping(inner.get("properties")), **_mapping(merged.get("properties"))}
            required = [*_as_list(merged.get("required")), *_as_list(inner.get("required"))]
            merged = {**inner, **merged}
            if properties:
                merged["properties"] = properties
            if required:
                merged["required"] = required
        return merged

    def _result(self, operation: Json, place: Place) -> tuple[Any, Place]:
        """Return the schema of the first successful response, None without one, and its place."""
        responses = _mapping(operation.get("responses"))
        for code in ("200", "201", "202", "203", "2XX", "2xx", "default"):
            if code not in responses:
                continue
            response, inside = self.resolve(responses[code], (*place, "responses", code))
            if response is None:
                return None, place
            if isinstance(response.get("schema"), Mapping):
                return response["schema"], (*inside, "schema")
            kind, schema = _json_content(response.get("content"))
            return schema, (*inside, "content", kind, "schema")
        return None, place

    def resolve(self, given: Any, place: Place) -> tuple[Json | None, Place]:
        """Return an object, or the one that it refers to, with its place; None if there is none."""
        seen: list[str] = []
        while isinstance(given, Mapping) and isinstance(given.get("$ref"), str):
            ref = given["$ref"]
            if ref in seen or not ref.startswith("#"):
                why = "holds itself" if ref in seen else "is in another document"
                self.note((*place, "$ref"), f"{ref!r} {why}")
                return None, place
            seen.append(ref)
            target = look_up(self.document, ref)
            if target is None:
                self.note((*place, "$ref"), f"there is no {ref!r}")
                return None, place
            place, given = target
        return (given, place) if isinstance(given, Mapping) else (None, place)


class _OperationParameters:
    """The parameters of an operation, side by side."""

    def __init__(self) -> None:
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.homes: dict[str, str] = {}
        self.places: dict[str, Place] = {}

    def add(self, name: str, home: str, schema: Any, place: Place, *, is_required: bool) -> str:
        """Add a parameter, and return its name, a new one where another has it."""
        new, number = name, 1
        while new in self.properties:
            new = f"{home}_{name}" + (f"_{number}" if number > 1 else "")
            number += 1
        self.homes[new] = home if new == name else f"{home} {name}"
        self.properties[new], self.places[new] = schema, place
        if is_required:
            self.required.append(new)
        return new

    def schema(self) -> Json:
        fields: dict[str, Any] = {"type": "object", "properties": self.properties}
        return {**fields, "required": self.required} if self.required else fields


def _mapping(value: Any) -> Json:
    return value if isinstance(value, Mapping) else {}


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _entries(value: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    for index, item in enumerate(_as_list(value)):
        yield item, (*place, index)


def _description(operation: Json) -> str:
    texts = (operation.get("summary"), operation.get("description"))
    return ". ".join(text.strip().rstrip(".") for text in texts if isinstance(text, str) and text)


def _json_content(content: Any) -> tuple[str, Json | None]:
    """Return the kind and the schema of JSON, else of a form; None where there is neither."""
    kinds = _mapping(content)
    order = [kind for kind in kinds if _JSON_TYPE.match(str(kind))]
    order += [kind for kind in _FORMS if kind in kinds]
    order += [kind for kind in kinds if kind == "*/*"]
    for kind in order:
        schema = _mapping(kinds[kind]).get("schema")
        if isinstance(schema, Mapping):
            return kind, schema
    return "", None


def _examples(parameter: Json) -> list[Any]:
    examples = [parameter["example"]] if "example" in parameter else []
    for example in _mapping(parameter.get("examples")).values():
        if "value" in _mapping(example):
            examples.append(example["value"])
    return examples
