"""Calls carried out in order, each recorded with what it was given and what it gave."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.structure import part_of_result, plain

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
            return part_of_result(results, value.call, value.path, value.span)
        case ast.Open() | ast.Hole() | ast.Slot():
            message = "a value is still to be asked for"
            raise GenieError(Problem("Z062", message, value.span, "give it before the call"))
        case ast.Array(items):
            return [_value(item, results) for item in items]
        case ast.Record(fields):
            return {part.name: _value(part.value, results) for part in fields}
        case _:
            return plain(value)
