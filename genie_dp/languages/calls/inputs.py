"""Calls as those who act on them take them: JSON, and the inputs that are missing."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import count

from genie_dp.languages.base import MissingInput, ProgramStructure
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import NONE, Field, Tool, ToolLibrary, words_of
from genie_dp.languages.calls.schema import schema
from genie_dp.languages.calls.structure import calls, tree
from genie_dp.languages.calls.text import value_text
from genie_dp.languages.calls.values import value_of
from genie_dp.languages.library import Signature
from genie_dp.languages.types import is_slot


def missing_inputs(program: ast.Program, library: ToolLibrary | None) -> tuple[MissingInput, ...]:
    """Return the missing inputs, in program order: arguments left out, and `$?`."""
    return tuple(_missing_inputs(program, (library or NONE).tools))


def _missing_inputs(program: ast.Program, tools: Mapping[str, Tool]) -> Iterator[MissingInput]:
    for number, call in enumerate(ast.calls_of(program)):
        tool = tools.get(call.name)
        inputs = {argument.name: argument.value for argument in call.arguments}
        declared = {p.name: p for p in tool.parameters} if tool is not None else {}
        for name in sorted(inputs.keys() | declared.keys()):
            parameter, value = declared.get(name), inputs.get(name)
            is_open = value is not None and any(
                isinstance(part, ast.Open) for part in ast.walk(value)
            )
            if is_open or (value is None and parameter is not None and parameter.is_required):
                type_ = str(parameter.type) if parameter is not None else "Any"
                yield MissingInput(call.name, name, type_, _question(name, parameter), number)


_MOST_CHOICES = 6
_LONGEST_NOTE = 80


def _question(name: str, parameter: Field | None) -> str:
    """Return the question for a parameter: its description where that asks, else its name.

    >>> from genie_dp.languages.calls.library import ANYTHING
    >>> _question("roomName", Field("roomName", ANYTHING, description="The room. Not a floor."))
    'What is the room name? (the room)'
    """
    words = words_of(name) or name
    if parameter is None:
        return f"What is the {words}?"
    description = " ".join(parameter.description.split())
    if description.endswith("?") and len(description) <= _LONGEST_NOTE:
        return description
    is_several = parameter.type.sort == "array" and words.endswith("s")
    question = f"What {'are' if is_several else 'is'} the {words}"
    names = [value_text(value).strip("'") for value in parameter.type.values]
    if 1 < len(names) <= _MOST_CHOICES:
        return f"{question}: {', '.join(names[:-1])} or {names[-1]}?"
    first = re.split(r"(?<=[\w)])[.;:](?: |$)", description, maxsplit=1)[0].rstrip(".")
    if not first or len(first) > _LONGEST_NOTE or first.lower() in (words, f"the {words}"):
        return f"{question}?"
    is_word = not first[1:2].isupper()  # no abbreviation, as "ID of the room"
    return f"{question}? ({first[0].lower() + first[1:] if is_word else first})"


def give_input(
    program: ast.Program, missing: MissingInput, constant: str, library: ToolLibrary | None = None
) -> ast.Program:
    """Return a program with a value for its missing input: for the first `$?` of an argument.

    A list that is lacking becomes one of this value.
    """
    value = value_of(constant)
    tool = (library or NONE).tools.get(missing.function)
    parameter = tool.parameter(missing.name) if tool is not None else None
    is_list = parameter is not None and parameter.type.sort == "array"
    whole = ast.Array((value,)) if is_list else value
    numbers = count()

    def give(call: ast.Call) -> ast.Call:
        if next(numbers) != missing.call:
            return call
        inputs = {argument.name: argument.value for argument in call.arguments}
        before = inputs.get(missing.name, ast.Open())
        is_whole = isinstance(before, ast.Open)
        inputs[missing.name] = whole if is_whole else _fill_first(before, value)
        arguments = tuple(ast.Argument(name, inputs[name]) for name in sorted(inputs))
        return replace(call, arguments=arguments)

    return ast.map_calls(program, give)


def _fill_first(whole: ast.Value, value: ast.Value) -> ast.Value:
    """Return a value with another in the place of its first `$?`."""
    waiting = [value]

    def fill_part(part: ast.Value) -> ast.Value:
        return waiting.pop() if isinstance(part, ast.Open) and waiting else part

    return ast.change(whole, fill_part)


def cut_input(program: ast.Program, words: str) -> ast.Program | None:
    """Return a program of one call without the argument that has a value; else None."""
    match program.steps:
        case ((ast.Call() as call,),):
            others = tuple(a for a in call.arguments if not _has_value(a.value, words))
            if len(others) == len(call.arguments) - 1:
                return ast.Program(((replace(call, arguments=others),),))
    return None


def _has_value(value: ast.Value, words: str) -> bool:
    match value:
        case ast.Slot(said) | ast.Text(said) | ast.Name(said) | ast.Symbol(said):
            return said == words
        case ast.Array((item,)):
            return _has_value(item, words)
        case _:
            return False


def call(function: Signature, constants: Mapping[str, str]) -> ast.Program:
    """Return the call of a tool with placeholders and listed values."""
    arguments = (
        ast.Argument(name, ast.Slot(text) if is_slot(text) else value_of(text))
        for name, text in constants.items()
    )
    return ast.Program(((ast.Call(function.qualified, tuple(arguments)),),))


class CallsStructure(ProgramStructure):
    """Calls as data."""

    tree = staticmethod(tree)
    calls = staticmethod(calls)
    missing_inputs = staticmethod(missing_inputs)
    give_input = staticmethod(give_input)
    cut_input = staticmethod(cut_input)
    call = staticmethod(call)
    schema = staticmethod(schema)
