"""Programs as JSON, for tools that read no ThingTalk: a tree, calls, and the schema of both.

A tree has an object for every node of `ast`: its `kind`, and its fields under their names. Calls
are the program where it is nothing but functions with values: the same that tools of
language models take.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from decimal import Decimal
from itertools import count
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from genie_dp.languages import types as ty
from genie_dp.languages.base import MissingInput, ProgramStructure
from genie_dp.languages.json_schema import TEXT, Json, closed_object, list_of, program_schema, ref
from genie_dp.languages.library import Signature
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.from_tokens import from_tokens, piece_from_tokens
from genie_dp.languages.thingtalk.traverse import children, qualify, rewrite
from genie_dp.languages.units import UNIT_SYNONYMS, Units

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def kind_of(node: type[Any]) -> str:
    """Return the kind of a node of a tree.

    >>> kind_of(tt.StringValue), kind_of(tt.TrueP), kind_of(tt.GetPredicate)
    ('string', 'true', 'get_predicate')
    """
    name = node.__name__.removesuffix("Value")
    return _CAPITAL.sub("_", name.removesuffix("P") if len(name) > 1 else name).lower()


def tree(node: Any) -> Any:
    """Return a node as JSON has it, with all that is below it.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> tree(parse('now => @com.lamp.dim(level = 40)'))["rules"][0]["action"]["arguments"]
    {'level': {'kind': 'number', 'value': 40}}
    """
    match node:
        case tt.Call():
            named = {"kind": "call", "name": qualify(node)}
            attributes = _map_arguments(node.selector.attributes)
            return {
                **named,
                **({"attributes": attributes} if attributes else {}),
                "arguments": _map_arguments(node.args),
            }
        case tt.PolicyFunction():
            return {
                "kind": kind_of(tt.PolicyFunction),
                "name": qualify(node),
                "predicate": tree(node.predicate),
            }
        case tt.Join() | tt.StreamJoin():
            return {**_fields(node), "passing": _map_arguments(node.passing)}
        case tt.MeasureValue(parts):
            measures = [{"value": _number(number), "unit": unit} for number, unit in parts]
            return {"kind": "measure", "parts": measures}
        case Decimal():
            return _number(node)
        case tuple():
            return [tree(item) for item in node]
        case None | str() | int():
            return node
        case _:
            return _fields(node)


def _fields(node: Any) -> Json:
    values = {_key(f.name): tree(getattr(node, f.name)) for f in fields(node) if f.compare}
    return {"kind": kind_of(type(node)), **values}


def _key(field: str) -> str:
    """Return the name of a field in JSON, where `kind` is that of the node."""
    return "type" if field == "kind" else field


def _map_arguments(args: Iterable[tt.Arg]) -> Json:
    return {arg.name: tree(arg.value) for arg in args}


def _number(number: Decimal) -> int | float:
    return int(number) if number == number.to_integral_value() else float(number)


# ------------------------------------------------------------------------------------- calls


def calls(program: tt.Program | tt.Policy) -> list[Json] | None:
    """Return the calls that a program is; None where it is more than that.

    It is calls if it does them now, without conditions, and passes nothing from one to another.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> calls(parse('now => @com.cal.events() => @com.lamp.dim(level = 40, for = 5min)'))[1]
    {'name': '@com.lamp.dim', 'arguments': {'level': 40, 'for': {'value': 5, 'unit': 'min'}}}
    >>> calls(parse('monitor @com.cal.events() => notify')) is None
    True
    """
    if isinstance(program, tt.Policy):
        return None
    result: list[Json] = []
    for rule in program.rules:
        if rule.stream is not None:
            return None
        for part in (rule.query, rule.action):
            if isinstance(part, tt.Call) and _is_plain(part):
                inputs = (arg for arg in part.args if not isinstance(arg.value, tt.Undefined))
                arguments = {arg.name: plain_value(arg.value) for arg in inputs}
                result.append({"name": qualify(part), "arguments": arguments})
            elif part is not None and not isinstance(part, tt.Notify):
                return None
    return result


def _is_plain(call: tt.Call) -> bool:
    passes = any(isinstance(arg.value, tt.VarRef | tt.EventValue) for arg in call.args)
    return not passes and not call.selector.attributes


def plain_value(value: tt.Value) -> Any:
    """Return a value as tools take it; one that only the assistant can work out, as its tree.

    >>> plain_value(tt.DateValue("2027-01-31")), plain_value(tt.DateEdge("end_of", "week"))
    ('2027-01-31', {'kind': 'date_edge', 'edge': 'end_of', 'unit': 'week'})
    """
    match value:
        case tt.StringValue(text) | tt.DateValue(text) | tt.EnumValue(text):
            return text
        case tt.NumberValue(number):
            return _number(number)
        case tt.BooleanValue(is_true):
            return is_true
        case tt.TimeValue(hour, minute, second):
            return f"{hour:02}:{minute:02}:{second:02}"
        case tt.EntityValue(text, _, display):
            return text if text is not None else display
        case tt.MeasureValue(parts):
            measures = tree(value)["parts"]
            return measures[0] if len(parts) == 1 else measures
        case tt.CurrencyValue(number, code):
            return {"value": _number(number), "currency": code}
        case tt.LocationValue(latitude, longitude, display):
            place = {"name": display, "latitude": latitude, "longitude": longitude}
            return {name: tree(x) for name, x in place.items() if x is not None}
        case tt.ArrayValue(items):
            return [plain_value(item) for item in items]
        case tt.SlotValue(token, unit):
            return {"value": token, "unit": unit} if unit else token
        case _:
            return tree(value)


# ------------------------------------------------------------------------------ missing inputs


def missing_inputs(program: Any, library: Any) -> tuple[MissingInput, ...]:
    """Return the required inputs that a program does not give, and those that are `$?`, in order.

    Args:
        library: a SkillLibrary, which knows the questions.
    """
    numbers = count()
    return tuple(_missing(program, library, frozenset(), numbers))


def _missing(
    node: Any, library: Any, passed: frozenset[str], numbers: Iterator[int]
) -> Iterator[MissingInput]:
    if isinstance(node, tt.Call):
        number, name = next(numbers), qualify(node)
        signature = library.function(node.selector.class_name, node.function)
        open_inputs = {a.name for a in node.args if isinstance(a.value, tt.Undefined)}
        inputs = passed | {a.name for a in node.args} - open_inputs
        for parameter in signature.inputs if signature else ():
            is_wanted = parameter.is_required or parameter.name in open_inputs
            if is_wanted and parameter.name not in inputs:
                question = library.question(name, parameter.name)
                yield MissingInput(name, parameter.name, str(parameter.type), question, number)
        return
    passing = node.passing if isinstance(node, tt.Join | tt.StreamJoin) else ()
    for place, child in enumerate(children(node)):
        # What a join passes on goes into its second part.
        more = frozenset(arg.name for arg in passing) if place == 1 else frozenset()
        yield from _missing(child, library, passed | more, numbers)


def give_input(
    program: tt.Program, missing: MissingInput, constant: str, library: Any = None
) -> tt.Program:
    """Return a program with a value for an input that it lacks."""
    value: Any = piece_from_tokens(constant, "value")
    signature = library.signature(missing.function) if library is not None else None
    parameter = signature.parameter(missing.name) if signature else None
    if parameter and isinstance(parameter.type, ty.Array):
        value = tt.ArrayValue((value,))
    numbers = count()

    def give(node: Any) -> Any:
        if not isinstance(node, tt.Call) or next(numbers) != missing.call:
            return node
        others = tuple(arg for arg in node.args if arg.name != missing.name)
        return replace(node, args=(*others, tt.Arg(missing.name, value)))

    filled: tt.Program = rewrite(program, give)
    return filled


def cut_input(program: Any, words: str) -> tt.Program | None:
    """Return a command of one action without the input that has a value; else None."""
    match program:
        case tt.Program((tt.Rule(None, None, tt.Call() as call),)):
            others = tuple(arg for arg in call.args if not _has_value(arg.value, words))
            if len(others) == len(call.args) - 1:
                return tt.Program((tt.Rule(None, None, replace(call, args=others)),))
    return None


def _has_value(value: tt.Value, words: str) -> bool:
    match value:
        case tt.SlotValue(said) | tt.StringValue(said) | tt.EnumValue(said):
            return said == words
        case tt.EntityValue(said, _, None):
            return said == words
        case tt.LocationValue(None, None, said):
            return said == words
        case _:
            return False


# ------------------------------------------------------------------------------------ schema


def schema(library: Any) -> Json:
    """Return the JSON Schema of the programs of a library: of `{"tree": .., "calls": ..}`.

    Its `$defs` have `tree`, `calls`, a kind of node each, and for every function its calls.
    """
    signatures: tuple[Signature, ...] = library.functions()
    nodes = {kind_of(node): _node_schema(node) for node in _node_types()}
    nodes["call"] = {"anyOf": [_call_node_schema(signature) for signature in signatures]}
    nodes |= {name: _any_of(sorted(parts, key=kind_of)) for name, parts in _UNIONS.items()}
    calls_of = [_call_schema(signature, library) for signature in signatures]
    defs: Json = {
        **nodes,
        "tree": {"anyOf": [ref("program"), ref("policy")]},
        "calls": list_of({"anyOf": calls_of}),
    }
    return program_schema("Programs of genie_dp", defs, tree=ref("tree"), has_calls=False)


def _node_types() -> Iterator[type[Any]]:
    """Yield the kinds of nodes that programs and policies are made of, each once."""
    waiting: list[Any] = [tt.Program, tt.Policy]
    seen: set[Any] = {tt.Hole, tt.Arg, tt.Selector, *waiting}
    while waiting:
        node = waiting.pop()
        yield node
        for hint in _field_types(node).values():
            parts = [part for part in _parts_of(hint) if part not in seen]
            seen.update(parts)
            waiting += (part for part in parts if hasattr(part, "__dataclass_fields__"))


def _field_types(node: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(node)
    return {_key(f.name): hints[f.name] for f in fields(node) if f.compare}


def _parts_of(hint: Any) -> Iterator[Any]:
    """Yield the classes that a type is made of."""
    if inner := get_args(hint):
        for part in inner:
            yield from _parts_of(part)
    else:
        yield hint


_PLAIN: dict[Any, Json] = {
    str: TEXT,
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    Decimal: {"type": "number"},
    NoneType: {"type": "null"},
}
# What nodes are parts of others, by what part.
_UNIONS: dict[str, frozenset[Any]] = {
    name: frozenset(get_args(union)) - {tt.Hole}
    for name, union in (
        ("value", tt.Value), ("predicate", tt.Predicate), ("query", tt.Query),
        ("stream", tt.Stream), ("action", tt.Action),
    )
}  # fmt: skip
_MEASURE = closed_object({"value": {"type": "number"}, "unit": TEXT})


def _node_schema(node: type[Any]) -> Json:
    kind = {"const": kind_of(node)}
    if node is tt.MeasureValue:
        return closed_object({"kind": kind, "parts": list_of(_MEASURE)})
    if node is tt.PolicyFunction:
        predicate = _type_schema(tt.Predicate)
        return closed_object({"kind": kind, "name": TEXT, "predicate": predicate})
    schemas = {"kind": kind, **{n: _type_schema(t) for n, t in _field_types(node).items()}}
    if "passing" in schemas:
        schemas["passing"] = {"type": "object", "additionalProperties": _type_schema(tt.Value)}
    return closed_object(schemas)


def _type_schema(hint: Any) -> Json:
    if hint in _PLAIN:
        return _PLAIN[hint]
    if get_origin(hint) is tuple:
        return list_of(_type_schema(get_args(hint)[0]))
    if isinstance(hint, UnionType):
        parts = [part for part in get_args(hint) if part is not tt.Hole]
        for name, members in _UNIONS.items():  # a union with None has lost its name
            if members <= set(parts):
                others = [_type_schema(part) for part in parts if part not in members]
                return {"anyOf": [ref(name), *others]} if others else ref(name)
        return _any_of(parts)
    return ref(kind_of(hint))


def _any_of(parts: Iterable[Any]) -> Json:
    schemas = [_type_schema(part) for part in parts]
    return {"anyOf": schemas} if len(schemas) > 1 else schemas[0]


def _call_node_schema(signature: Signature) -> Json:
    values = _type_schema(tt.Value)
    properties = {
        "kind": {"const": "call"},
        "name": {"const": signature.qualified},
        "attributes": {"type": "object", "additionalProperties": values},
        "arguments": closed_object({p.name: values for p in signature.inputs}, ()),
    }
    return closed_object(properties, ("kind", "name", "arguments"))


def _call_schema(signature: Signature, library: Any) -> Json:
    function = library.find(signature.qualified)
    arguments = {
        p.name: {
            **_input_schema(p.type, library.units),
            **({"description": text} if (text := function.prompts.get(p.name)) else {}),
        }
        for p in signature.inputs
    }
    required = (p.name for p in signature.inputs if p.is_required)
    name = {"const": signature.qualified}
    described = {"description": function.confirmation} if function.confirmation else {}
    return {
        **described,
        **closed_object({"name": name, "arguments": closed_object(arguments, required)}),
    }


def _input_schema(type_: ty.Type, units: Units) -> Json:
    """Return the schema of the values of a type, as `plain_value` returns them."""
    moments = [ref("date_now"), ref("date_edge"), ref("date_offset")]
    others: list[Json]
    match type_:
        case ty.Enum(values):
            return {"type": "string", "enum": list(values)}
        case ty.Array(element):
            return list_of(_input_schema(element, units))
        case ty.Measure(unit):
            fitting = units.of_base(units.base(unit))
            names = [named.name for named in fitting if named.name not in UNIT_SYNONYMS]
            amount = closed_object({"value": {"type": "number"}, "unit": {"enum": names}})
            return {"anyOf": [amount, list_of(amount)]}
        case ty.NUMBER:
            return {"type": "number"}
        case ty.BOOLEAN:
            return {"type": "boolean"}
        case ty.CURRENCY:
            return closed_object({"value": {"type": "number"}, "currency": TEXT})
        case ty.DATE:
            others = [TEXT, *moments]
        case ty.TIME:
            others = [{"type": "string", "pattern": r"^\d\d:\d\d:\d\d$"}, ref("context")]
        case ty.LOCATION:
            degrees = {"type": "number"}
            place = {"name": TEXT, "latitude": degrees, "longitude": degrees}
            others = [closed_object(place, ()), ref("context")]
        case _:
            return TEXT
    return {"anyOf": others}


def call(function: Signature, constants: Mapping[str, str]) -> Any:
    """Return the command that does an action, or shows the results of a query."""
    types = {parameter.name: parameter.type for parameter in function.parameters}
    inputs = (f"param:{name}:{types[name]} = {text}" for name, text in constants.items())
    notify = () if function.kind == "action" else ("=> notify",)
    return from_tokens(" ".join(("now =>", function.qualified, *inputs, *notify)))


class ThingTalkStructure(ProgramStructure):
    """Programs of ThingTalk as data."""

    tree = staticmethod(tree)
    calls = staticmethod(calls)
    missing_inputs = staticmethod(missing_inputs)
    give_input = staticmethod(give_input)
    cut_input = staticmethod(cut_input)
    call = staticmethod(call)
    schema = staticmethod(schema)
