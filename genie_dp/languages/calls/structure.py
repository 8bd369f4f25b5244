"""Calls as JSON: for those who act on them, and from those who have them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.calls import ast
from genie_dp.languages.json_schema import Json

RESULT = "$result"
"""The key of a reference in JSON: {"$result": 1, "path": ["owner"]}."""


def calls(program: ast.Program) -> list[Json]:
    """Return the calls in program order; where there are several steps, each with its own.

    A value of an earlier call is `{"$result": 1, "path": ["owner"]}`; calls count from 1. `$?` is
    left out. A key of an object that could be taken for "$result" has another "$" before it.

    >>> from genie_dp.languages.calls.text import parse
    >>> calls(parse('light(level = 40, room = "bath")'))
    [{'name': 'light', 'arguments': {'level': 40, 'room': 'bath'}}]
    >>> [call["step"] for call in calls(parse("a() & b() => c(x = $1.id)"))]
    [1, 1, 2]
    """
    has_steps = len(program.steps) > 1
    return [
        {"name": call.name, "arguments": _plain_fields(call.arguments)}
        | ({"step": number} if has_steps else {})
        for number, step in enumerate(program.steps, start=1)
        for call in step
        if isinstance(call, ast.Call)
    ]


def _plain_fields(arguments: tuple[ast.Argument, ...]) -> Json:
    return {a.name: plain(a.value) for a in arguments if not isinstance(a.value, ast.Open)}


def plain(value: ast.Value) -> Any:
    """Return a value as JSON.

    >>> plain(ast.Moment("date", "2027-03-14")), plain(ast.Reference(1, ("id",)))
    ('2027-03-14', {'$result': 1, 'path': ['id']})
    """
    match value:
        case ast.Text(text) | ast.Name(text) | ast.Symbol(text) | ast.Moment(_, text):
            return text
        case ast.Slot(text):
            return text
        case ast.Number(number):
            return plain_number(number)
        case ast.Flag(flag):
            return flag
        case ast.Open() | ast.Hole():
            return None
        case ast.Reference(call, path):
            return {RESULT: call, "path": list(path)} if path else {RESULT: call}
        case ast.Array(items):
            return [plain(item) for item in items]
        case ast.Record(fields):
            return {
                f"${name}" if _is_result(name) else name: value
                for name, value in _plain_fields(fields).items()
            }
    assert_never(value)


def plain_number(number: Decimal) -> int | float:
    """Return a number as JSON has it."""
    if number == number.to_integral_value():
        return int(number)
    return float(number)


def _is_result(name: str) -> bool:
    return name.startswith("$") and name.lstrip("$") == RESULT[1:]


def with_results(arguments: Any, results: Sequence[Any]) -> Any:
    """Return arguments, as `calls` gives them, with results in the place of references.

    Args:
        results: of the calls before, as JSON.

    >>> with_results({"to": {"$result": 1, "path": ["mails", 0]}}, [{"mails": ["a@b.org"]}])
    {'to': 'a@b.org'}
    >>> with_results({"x": {"$$result": 1}}, [])
    {'x': {'$result': 1}}

    Raises:
        GenieError: Z036, there is no such call before; Z061, a result lacks the part.
    """
    match arguments:
        case {"$result": int(number), "path": list(path)} if len(arguments) == 2:
            return part_of_result(results, number, path)
        case {"$result": int(number)} if len(arguments) == 1:
            return part_of_result(results, number, ())
        case dict():
            return {
                name[1:] if _is_result(name) and name != RESULT else name: with_results(x, results)
                for name, x in arguments.items()
            }
        case list():
            return [with_results(item, results) for item in arguments]
        case _:
            return arguments


def part_of_result(
    results: Sequence[Any], call: int, path: Iterable[str | int], span: Span | None = None
) -> Any:
    """Return a part of the result of a call, counted from 1.

    Args:
        span: where a program refers to it.

    Raises:
        GenieError: Z036, there is no such call before; Z061, the result lacks the part.
    """
    reference = ".".join(map(str, (f"${call}", *path)))
    if not 1 <= call <= len(results):
        message = f"there is no earlier call {call} to take {reference} from"
        raise GenieError(Problem("Z036", message, span))
    result = results[call - 1]
    for part in path:
        if isinstance(result, Mapping) and str(part) in result:
            result = result[str(part)]
        elif isinstance(result, list) and isinstance(part, int) and part < len(result):
            result = result[part]
        else:
            hint = did_you_mean(str(part), result) if isinstance(result, Mapping) else None
            message = f"the result of call {call} has no {part!r}, which {reference} takes"
            raise GenieError(Problem("Z061", message, span, hint))
    return result


# --------------------------------------------------------------------------------- from JSON

_FORM = 'write [{"name": "light", "arguments": {"level": 40}}]'


def program_of(value: ast.Value) -> ast.Program:
    """Return the program of JSON that was read as a value: a call, or a list of calls.

    Calls with the same number at "step", or with none, are one step. Types are those of JSON until
    `canonical` has a library.

    Raises:
        GenieError: Z006, it is no list of calls.
    """
    items = value.items if isinstance(value, ast.Array) else (value,)
    if not items:
        raise _no_calls("expected calls, got none", value)
    steps: dict[Decimal, list[ast.Call]] = {}
    for item in items:
        number, call = _call_of(item)
        steps.setdefault(number, []).append(call)
    numbers = list(steps)
    if numbers != sorted(numbers):
        raise _no_calls("expected the calls in the order of their steps", value)
    return ast.Program(tuple(map(tuple, steps.values())))


def from_calls(found: Any) -> ast.Program:
    """Return the program of calls as plain data; undoes `calls` but for types and `$?`.

    >>> from genie_dp.languages.calls.text import render
    >>> render(from_calls({"name": "light", "arguments": {"level": 40.0}}))
    'light(level = 40)'

    Raises:
        GenieError: Z006, they are no calls.
    """
    return program_of(_value_of(found))


def _value_of(found: Any) -> ast.Value:
    match found:
        case None | bool():
            return ast.Flag(found)
        case str():
            return ast.Text(found)
        case int() | float() | Decimal():
            number = ast.read_number(str(found))
            if number is None:
                raise _no_calls("expected a finite number of at most 300 digits", ast.Flag(None))
            return ast.Number(number)
        case list() | tuple():
            return ast.Array(tuple(map(_value_of, found)))
        case dict():
            return ast.Record(tuple(ast.Argument(str(k), _value_of(v)) for k, v in found.items()))
        case _:
            raise TypeError(f"{type(found).__name__} is nothing that JSON has")


def _call_of(value: ast.Value) -> tuple[Decimal, ast.Call]:
    if not isinstance(value, ast.Record):
        raise _no_calls("expected a call", value)
    parts = {part.name: part for part in value.fields}
    name, arguments = parts.get("name"), parts.get("arguments")
    if name is None or not isinstance(name.value, ast.Text):
        raise _no_calls("expected a call with a name", value)
    fields: tuple[ast.Argument, ...] = ()
    match arguments:
        case None:
            pass
        case ast.Argument(_, ast.Record(fields)):
            pass
        case ast.Argument(_, ast.Text(text)):  # OpenAI's answers hold JSON in a text
            fields = _in_text(text, arguments)
        case _:
            raise _no_calls("expected arguments as an object", arguments.value)
    number = Decimal(0)
    if (step := parts.get("step")) is not None:
        if not isinstance(step.value, ast.Number):
            raise _no_calls("expected the number of a step", step.value)
        number = step.value.value
    if others := parts.keys() - {"name", "arguments", "step", "id", "type"}:
        raise _no_calls(f"a call has no {min(others)!r}", parts[min(others)])
    called = tuple(_typed_field(part, is_argument=True) for part in fields)
    return number, ast.Call(name.value.value, called, name.value.span)


def _in_text(text: str, argument: ast.Argument) -> tuple[ast.Argument, ...]:
    import json

    try:
        arguments = json.loads(text or "{}", parse_float=Decimal)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise _no_calls("expected arguments as an object, or as a text that holds one", argument)
    value = _value_of(arguments)
    assert isinstance(value, ast.Record)
    return value.fields


def _typed_field(part: ast.Argument, *, is_argument: bool = False) -> ast.Argument:
    name = part.name
    if not is_argument and _is_result(name) and name != RESULT:
        name = name[1:]
    return ast.Argument(name, _with_references(part.value), part.span)


def _with_references(value: ast.Value) -> ast.Value:
    match value:
        case ast.Array(items, span):
            return ast.Array(tuple(map(_with_references, items)), span)
        case ast.Record(fields, span) if fields and fields[0].name == RESULT:
            return _reference_of(fields, span)
        case ast.Record(fields, span):
            return ast.Record(tuple(map(_typed_field, fields)), span)
        case _:
            return value


def _reference_of(fields: tuple[ast.Argument, ...], span: Span | None) -> ast.Reference:
    match fields:
        case (ast.Argument(_, ast.Number(number)),):
            path: tuple[str | int, ...] = ()
        case (ast.Argument(_, ast.Number(number)), ast.Argument("path", ast.Array(items))):
            path = tuple(_parts(items))
        case _:
            number, path = Decimal("0.5"), ()
    if number != int(number) or number < 1:
        message = 'expected a reference such as {"$result": 1, "path": ["id"]}'
        raise GenieError(Problem("Z006", message, span, stage="syntax"))
    return ast.Reference(int(number), path, span)


def _parts(items: tuple[ast.Value, ...]) -> Iterator[str | int]:
    for item in items:
        match item:
            case ast.Text(text):
                yield text
            case ast.Number(number) if number == int(number) and number >= 0:
                yield int(number)
            case _:
                raise _no_calls("expected names and indices in a path", item)


def _no_calls(message: str, value: ast.Value | ast.Argument) -> GenieError:
    return GenieError(Problem("Z006", message, value.span, _FORM, stage="syntax"))


# ------------------------------------------------------------------------------------- trees


def tree(program: ast.Program) -> Json:
    """Return a complete program as JSON, with the kinds of values.

    >>> from genie_dp.languages.calls.text import parse
    >>> tree(parse("light(mode = night)"))["steps"][0][0]["arguments"]["mode"]
    {'kind': 'symbol', 'name': 'night'}
    """
    return {
        "kind": "program",
        "steps": [
            [
                {"kind": "call", "name": c.name, "arguments": _fields_tree(c.arguments)}
                for c in step
                if isinstance(c, ast.Call)
            ]
            for step in program.steps
        ],
    }


def _fields_tree(arguments: tuple[ast.Argument, ...]) -> Json:
    return {a.name: _value_tree(a.value) for a in arguments}


def _value_tree(value: ast.Value) -> Json:
    match value:
        case ast.Text(text):
            return {"kind": "text", "value": text}
        case ast.Name(words, kind):
            return {"kind": "name", "value": words, "type": kind}
        case ast.Number(number):
            plain = plain_number(number)
            is_exact = Decimal(str(plain)) == number
            return {"kind": "number", "value": plain if is_exact else ast.number_text(number)}
        case ast.Symbol(name):
            return {"kind": "symbol", "name": name}
        case ast.Flag(flag):
            return {"kind": "flag", "value": flag}
        case ast.Moment(kind, text):
            return {"kind": kind, "value": text}
        case ast.Slot(token):
            return {"kind": "slot", "name": token}
        case ast.Open() | ast.Hole():
            return {"kind": "open"}
        case ast.Reference(call, path):
            return {"kind": "result", "call": call, "path": list(path)}
        case ast.Array(items):
            return {"kind": "array", "items": [_value_tree(item) for item in items]}
        case ast.Record(fields):
            return {"kind": "object", "fields": _fields_tree(fields)}
    assert_never(value)
