"""S-expressions as JSON: a tree, and calls where an expression is a label with named items."""

from typing import Any, assert_never

from genie_dp.languages.base import ProgramStructure
from genie_dp.languages.json_schema import TEXT, Json, closed_object, list_of, program_schema, ref
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import literals
from genie_dp.languages.sexpr.declarations import NONE, Declarations


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
    label = {"enum": ["", *labels]} if labels else TEXT
    # A measure, money or a place is an object.
    leaf = {"type": ["string", "number", "object", "array"]}
    value = {"anyOf": [leaf, list_of({"anyOf": [leaf, {"type": "array"}]})]}
    arguments = {"type": "object", "additionalProperties": value}
    node = {
        "label": label,
        "bracket": {"enum": ["(", "["]},
        "prefix": {"enum": ["", "^", "#"]},
        "items": list_of(ref("expression")),
    }
    kinds = {"atom": {"text": TEXT}, "text": {"value": TEXT}, "node": node}
    definitions: Json = {
        "expression": {
            "anyOf": [closed_object({"kind": {"const": k}, **parts}) for k, parts in kinds.items()]
        },
        "calls": list_of(closed_object({"name": label, "arguments": arguments})),
    }
    title = "Expressions of genie_dp"
    return program_schema(title, definitions, tree=ref("expression"), has_calls=False)


class SexprStructure(ProgramStructure):
    """Expressions as data."""

    tree = staticmethod(tree)
    calls = staticmethod(calls)
    schema = staticmethod(schema)
