"""Parts of JSON Schemas, and the schema that programs of all languages have: a tree and calls."""

from collections.abc import Iterable, Mapping
from typing import Any

Json = dict[str, Any]

TEXT: Json = {"type": "string"}


def ref(name: str) -> Json:
    """Return a reference to one of the definitions.

    >>> ref("tree")
    {'$ref': '#/$defs/tree'}
    """
    return {"$ref": f"#/$defs/{name}"}


def list_of(items: Json) -> Json:
    """Return the schema of a list."""
    return {"type": "array", "items": items}


def closed_object(properties: Mapping[str, Any], required: Iterable[str] | None = None) -> Json:
    """Return the schema of an object without other properties; all are required by default."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def program_schema(title: str, definitions: Json, *, tree: Json, has_calls: bool = True) -> Json:
    """Return the schema of `{"tree": .., "calls": ..}`; one of the definitions is "calls".

    Args:
        title: of the schema.
        definitions: name -> schema.
        tree: schema of the tree.
        has_calls: whether every program is calls.
    """
    calls = ref("calls") if has_calls else {"anyOf": [ref("calls"), {"type": "null"}]}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {"tree": tree, "calls": calls},
        "$defs": definitions,
    }
