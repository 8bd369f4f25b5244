"""Values of calls, and the placeholders that stand for them."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from genie_dp.languages import types as ty
from genie_dp.languages.base import ProgramValues
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import NONE, ToolLibrary
from genie_dp.languages.calls.text import from_tokens, tokens, value_tokens
from genie_dp.languages.calls.typecheck import limits_of
from genie_dp.languages.calls.values import value_of
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.terms.values import said
from genie_dp.languages.text import span_ends


def anonymize(program: ast.Program) -> ast.Program:
    """Return the program with texts, names, numbers and moments replaced by placeholders.

    They are numbered in program order; equal values share one. Listed values stay.
    """
    numbers: dict[str, dict[ast.Value, str]] = {}

    def replace_constant(value: ast.Value) -> ast.Value:
        stem = ty.slot_stem(type_) if (type_ := _type_of(value)) is not None else None
        if stem is None:
            return value
        places = numbers.setdefault(stem, {})
        return ast.Slot(places.setdefault(value, f"{stem}_{len(places)}"))

    return ast.change_values(program, replace_constant)


def _type_of(value: ast.Value) -> ty.Type | None:
    """Return the type of a constant that a placeholder may stand for."""
    match value:
        case ast.Text():
            return ty.STRING
        case ast.Name(_, kind):
            return ty.Entity(kind)
        case ast.Number():
            return ty.NUMBER
        case ast.Moment(kind):
            return {"date": ty.DATE, "time": ty.TIME}.get(kind, ty.Measure("ms"))
        case _:
            return None


def fill(program: ast.Program, values: Mapping[str, tuple[str, str]]) -> ast.Program:
    """Return a program with values in the place of its placeholders (base.Language.fill).

    Inside of a text a value is the words that expressed it.
    """

    def fill_value(value: ast.Value) -> ast.Value:
        match value:
            case ast.Slot(token) if token in values:
                is_span = span_ends(values[token][0]) is not None  # tools take one date
                return ast.Open() if is_span else value_of(values[token][0])
            case ast.Text(text):
                return replace(value, value=said(text, values))
            case ast.Name(words):
                return replace(value, words=said(words, values))
            case _:
                return value

    return ast.change_values(program, fill_value)


def map_names(program: ast.Program, find: Callable[[str, str], str]) -> ast.Program:
    """Return a program with each name replaced by `find(kind, words)`."""

    def map_value(value: ast.Value) -> ast.Value:
        if isinstance(value, ast.Name) and not value.kind.startswith("tt:"):
            return replace(value, words=find(value.kind, value.words))
        return value

    return ast.change_values(program, map_value)


def uses(program: ast.Program, library: Any = None) -> Iterator[tuple[str, str, str]]:
    """Yield the use of each placeholder, (placeholder, type, tool:parameter), in program order."""
    for call in ast.calls_of(program):
        for argument in call.arguments:
            for part in ast.walk(argument.value):
                type_ = ast.slot_type(part) if isinstance(part, ast.Slot) else None
                if type_ is not None and isinstance(part, ast.Slot):
                    yield part.token, str(type_), f"{call.name}:{argument.name}"


class CallsValues(ProgramValues):
    """Values of calls."""

    fill = staticmethod(fill)
    map_names = staticmethod(map_names)
    anonymize = staticmethod(anonymize)
    uses = staticmethod(uses)

    def reads_values(self, library: Any) -> bool:
        """Return whether a parameter holds texts, numbers, dates, names and the like."""
        return (library or NONE).reads_values

    def placeholders(self, program: ast.Program) -> tuple[str, ...]:
        """Return the placeholders that calls have, in program order."""
        return ty.slots_in(tokens(program))

    def limits(self, program: str, library: Any) -> Mapping[str, Limits]:
        """Return the limits of values of placeholders, where the schemas of tools restrict them."""
        if not isinstance(library, ToolLibrary) or not library.has_limits:
            return {}
        limits_of_tokens: dict[str, Limits] = {}
        for call in ast.calls_of(from_tokens(program)):
            tool = library.tools.get(call.name)
            if tool is None:
                continue
            for argument in call.arguments:
                field = tool.parameter(argument.name)
                type_ = field.type if field else tool.others
                for token, limits in limits_of(argument.value, type_):
                    limits_of_tokens[token] = limits_of_tokens.get(token, NO_LIMITS) & limits
        return limits_of_tokens

    def written(self, constant: str) -> str:
        """Return the tokens of a constant."""
        return value_tokens(value_of(constant))

    def quotes(self, type_: ty.Type, before: str) -> tuple[str, str]:
        """Return quotes, of names with their kind; nothing inside of a text."""
        if before.split(" ").count('"') % 2:
            return "", ""
        return '" ', f' " ^^{type_.kind}' if isinstance(type_, ty.Entity) else ' "'
