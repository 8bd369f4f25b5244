"""S-expressions as JSON: a tree, and calls where an expression is a label with named items."""

from typing import Any, assert_never

from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import literals
from genie_dp.languages.sexpr.declarations import NONE, Declarations

Json = dict[str, Any]
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def tree(program: sx.Expression) -> Json:
    """Return an expression as JSON, with all that is in it.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> tree(parse("(SIZE BIG)"))["items"][1]
    {'kind': 'atom', 'text': 'BIG'}
    """
    match program:
        case sx.Atom(text):
            return {"kind": "atom", "text": text}
        case sx.Text(value):
            return {"kind": "text", "value": value}
        case sx.Node(items, bracket, prefix):
            return {
                "kind": "node",
                "label": sx.label(program),
                "bracket": bracket,
                "prefix": prefix,
                "items": [tree(item) for item in items],
            }
    assert_never(program)


def calls(program: sx.Expression) -> list[Json] | None:
    """Return an expression as a call; None where its items are no names with plain values.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> calls(parse("[IN:GET_WEATHER [SL:PLACE new york ] [SL:DAYS 3 ] ]"))
    [{'name': 'IN:GET_WEATHER', 'arguments': {'SL:PLACE': 'new york', 'SL:DAYS': 3}}]
    >>> calls(parse("(NOT (TOPPING (WITH HAM)))")) is None
    True
    """
    if not isinstance(program, sx.Node) or program.prefix:
        return None
    place = sx.label_index(program)
    if place != 0:
        return None
    arguments: dict[str, list[Any]] = {}
    for item in program.items[1:]:
        if not isinstance(item, sx.Node) or item.prefix or sx.label_index(item) != 0:
            return None
        if any(isinstance(inner, sx.Node) and inner.prefix != "#" for inner in item.items):
            return None
        arguments.setdefault(sx.label(item), []).append(_value(item))
    plain = {name: values[0] if len(values) == 1 else values for name, values in arguments.items()}
    return [{"name": sx.label(program), "arguments": plain}]


def _value(node: sx.Node) -> Any:
    values = [literals.plain_value(item) for item in node.items[1:]]
    if len(values) == 1:
        return values[0]
    return " ".join(map(str, values)) if node.bracket == "[" else values


def schema(library: Declarations | None) -> Json:
    """Return the JSON Schema of `{"tree": .., "calls": ..}`, with the labels that are declared."""
    labels = sorted((library or NONE).signatures)
    label = {"enum": ["", *labels]} if labels else {"type": "string"}
    text = {"type": "string"}
    # A measure, money or a place is an object.
    leaf = {"type": ["string", "number", "object", "array"]}
    value = {"anyOf": [leaf, {"type": "array", "items": {"anyOf": [leaf, {"type": "array"}]}}]}
    expression = {"$ref": "#/$defs/expression"}
    return {
        "$schema": _DRAFT,
        "title": "Expressions of genie_dp",
        "type": "object",
        "properties": {
            "tree": expression,
            "calls": {"anyOf": [{"$ref": "#/$defs/calls"}, {"type": "null"}]},
        },
        "$defs": {
            "expression": {
                "anyOf": [
                    _kind("atom", text=text),
                    _kind("text", value=text),
                    _kind(
                        "node",
                        label=label,
                        bracket={"enum": ["(", "["]},
                        prefix={"enum": ["", "^", "#"]},
                        items={"type": "array", "items": expression},
                    ),
                ]
            },
            "calls": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": label,
                        "arguments": {"type": "object", "additionalProperties": value},
                    },
                    "required": ["name", "arguments"],
                    "additionalProperties": False,
                },
            },
        },
    }


def _kind(kind: str, **properties: Any) -> Json:
    return {
        "type": "object",
        "properties": {"kind": {"const": kind}, **properties},
        "required": ["kind", *properties],
        "additionalProperties": False,
    }
