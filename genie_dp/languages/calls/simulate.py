"""Calls carried out in order, each recorded with what it was given and what it gave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.structure import plain
from genie_dp.languages.calls.text import reference_text

Tools = Callable[[str, Mapping[str, Any]], Any]
"""Takes the name of a tool and its arguments as JSON has them; returns the result as JSON."""


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A call that was made.

    Attributes:
        step: the number of its step, from 1; calls of one step do not wait for each other.
    """

    step: int
    name: str
    arguments: Mapping[str, Any]
    result: Any


def simulate(program: ast.Program, tools: Tools) -> list[RecordedCall]:
    """Return the calls of a program as they are made, references with the results of earlier ones.

    >>> from genie_dp.languages.calls.text import parse
    >>> program = parse("find() => send(to = $1.mails.0)")
    >>> simulate(program, lambda name, arguments: {"mails": ["a@b"]})[1].arguments
    {'to': 'a@b'}

    Raises:
        GenieError: Z061, a result has not the part that is taken from it; Z062, a value is still
            to be asked for.
    """
    recorded: list[RecordedCall] = []
    for number, step in enumerate(program.steps, start=1):
        results = [call.result for call in recorded]
        for call in step:
            assert isinstance(call, ast.Call)
            arguments = {a.name: _value(a.value, results) for a in call.arguments}
            result = tools(call.name, arguments)
            recorded.append(RecordedCall(number, call.name, arguments, result))
    return recorded


def _value(value: ast.Value, results: list[Any]) -> Any:
    match value:
        case ast.Reference():
            return _result(value, results)
        case ast.Open() | ast.Hole() | ast.Slot():
            message = "a value is still to be asked for"
            raise GenieError(Problem("Z062", message, value.span, "give it before the call"))
        case ast.Array(items):
            return [_value(item, results) for item in items]
        case ast.Record(fields):
            return {part.name: _value(part.value, results) for part in fields}
        case _:
            return plain(value)


def _result(value: ast.Reference, results: list[Any]) -> Any:
    shown = reference_text(value)
    if not 1 <= value.call <= len(results):
        message = f"there is no earlier call {value.call} to take {shown} from"
        raise GenieError(Problem("Z036", message, value.span))
    found = results[value.call - 1]
    for part in value.path:
        if isinstance(found, Mapping) and str(part) in found:
            found = found[str(part)]
        elif isinstance(found, list) and isinstance(part, int) and part < len(found):
            found = found[part]
        else:
            hint = did_you_mean(str(part), found) if isinstance(found, Mapping) else None
            message = f"the result of call {value.call} has no {part!r}, which {shown} takes"
            raise GenieError(Problem("Z061", message, value.span, hint))
    return found
