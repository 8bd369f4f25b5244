"""The library of `calls`: tools, their parameters and results, and types of values."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from genie_dp.errors import Problem
from genie_dp.languages import types as ty
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.text import value_text
from genie_dp.languages.library import Library, NameList, Parameter, Signature, Skipped
from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.units import SHIPPED, Units

Json = Mapping[str, Any]
Sort = Literal["text", "number", "boolean", "enum", "null", "array", "object", "any", "union"]


@dataclass(frozen=True, slots=True)
class Field:
    """A part of an object, or a parameter of a tool.

    Attributes:
        default: the value when it is left out; None if unknown.
        examples: values that people use, as texts.
    """

    name: str
    type: "ValueType"
    is_required: bool = False
    default: ast.Value | None = None
    description: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ValueType:
    """The values that a schema allows.

    Attributes:
        sort: the sort of the values; an "any" is anything, a "union" one of `options`.
        type: the type in terms that all languages know, which decides the placeholder.
        is_nullable: whether null is one.
        limits: restrictions of numbers and texts.
        values: of an enum, its values.
        item: of an array, the type of its items; and how many there may be.
        fields: of an object, by name; `others` is the type of further ones, None where there are
            none.
        has_clock: of a date, whether it has a time.
    """

    sort: Sort
    type: ty.Type = ty.ANY
    is_nullable: bool = False
    limits: Limits = NO_LIMITS
    values: tuple[ast.Value, ...] = ()
    item: "ValueType | None" = None
    fewest_items: int = 0
    most_items: int | None = None
    fields: tuple[Field, ...] = ()
    others: "ValueType | None" = None
    options: tuple["ValueType", ...] = ()
    has_clock: bool = False

    def __str__(self) -> str:
        match self.sort:
            case "text":
                return str(self.type) + _length_and_form(self.limits)
            case "number":
                return ("Integer" if self.limits.is_whole else "Number") + _bounds(self.limits)
            case "enum":
                return f"one of {', '.join(map(value_text, self.values[:_MOST_SHOWN]))}" + (
                    ", .." if len(self.values) > _MOST_SHOWN else ""
                )
            case "array":
                return f"a list of {self.item}"
            case "union":
                return " or ".join(map(str, self.options))
            case _:
                return {"boolean": "true or false", "object": "an object"}.get(self.sort, self.sort)

    def field(self, name: str) -> Field | None:
        """Return the field of that name, or None."""
        return next((field for field in self.fields if field.name == name), None)


def _bounds(limits: Limits) -> str:
    signs = (
        (limits.least, ">" if limits.is_least_open else ">="),
        (limits.most, "<" if limits.is_most_open else "<="),
    )
    bounds = [f"{sign} {ast.number_text(bound)}" for bound, sign in signs if bound is not None]
    steps = " and ".join(map(ast.number_text, limits.steps))
    return (f" {' and '.join(bounds)}" if bounds else "") + (
        f" in steps of {steps}" if steps else ""
    )


def _length_and_form(limits: Limits) -> str:
    length = ""
    if limits.shortest or limits.longest is not None:
        longest = "" if limits.longest is None else f"at most {limits.longest}"
        least = f"at least {limits.shortest}" if limits.shortest else ""
        length = f" of {' and '.join(filter(None, (least, longest)))} characters"
    return length + "".join(f" like {pattern}" for pattern in limits.patterns)


_MOST_SHOWN = 8
ANYTHING = ValueType("any")


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool.

    Attributes:
        parameters: sorted by name.
        others: the type of parameters beside those; None where there are none.
        result: the type of its result; None if unknown.
        is_query: whether it changes nothing (`readOnlyHint` of MCP).
        schema: the JSON Schema of its parameters, as it was given, that stands alone.
        result_schema: the same of its result; empty where it has mistakes.
    """

    name: str
    description: str = ""
    parameters: tuple[Field, ...] = ()
    others: ValueType | None = None
    result: ValueType | None = None
    is_query: bool = False
    schema: Json = field(default_factory=dict, compare=False, repr=False)
    result_schema: Json = field(default_factory=dict, compare=False, repr=False)

    def parameter(self, name: str) -> Field | None:
        """Return the parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class ToolLibrary(Library):
    """The tools that programs may call (languages/library.py, Library).

    Attributes:
        tools: name -> tool, in the order of the files.
        value_lists: kind of names, or `tool:parameter` -> its values.
        entity_types: kinds of names (`x-entity`) -> those that are known.
        warnings: keywords of the schemas that are not checked.
        skipped: tools with mistakes, where these may be left out.
    """

    tools: Mapping[str, Tool] = field(default_factory=dict)
    value_lists: Mapping[str, NameList] = field(default_factory=dict)
    entity_types: Mapping[str, NameList] = field(default_factory=dict)
    warnings: tuple[Problem, ...] = ()
    paths: tuple[Path, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict)
    skipped: tuple[Skipped, ...] = ()
    language: ClassVar[str] = "calls"

    @property
    def units(self) -> Units:
        """Return the units of measure: of time where a parameter is a duration, else none.

        So "20 degrees" in a sentence is the number 20, for which a tool may ask.
        """
        return _units_of(self)

    def functions(self) -> tuple[Signature, ...]:
        """Return the tools as functions; a field of a result is an output."""
        return tuple(map(self._signature, self.tools.values()))

    def signature(self, qualified: str) -> Signature | None:
        """Return the tool of that name as a function, or None."""
        tool = self.tools.get(qualified)
        return self._signature(tool) if tool is not None else None

    def _signature(self, tool: Tool) -> Signature:
        inputs = (
            Parameter(
                p.name, "in req" if p.is_required else "in opt", p.type.type, self._list(tool, p)
            )
            for p in tool.parameters
        )
        of_item = tool.result
        while of_item is not None and of_item.sort == "array":
            of_item = of_item.item
        outputs = (
            Parameter(f.name, "out", f.type.type) for f in (of_item.fields if of_item else ())
        )
        taken = {p.name for p in tool.parameters}
        parameters = (*inputs, *(p for p in outputs if p.name not in taken))
        kind = "query" if tool.is_query else "action"
        is_list = tool.result is not None and tool.result.sort == "array"
        return Signature("", tool.name, kind, parameters, is_list=is_list)

    def _list(self, tool: Tool, parameter: Field) -> str | None:
        name = f"{tool.name}:{parameter.name}"
        return name if name in self.value_lists else None

    def names(self) -> tuple[str, ...]:
        """Return the names of the tools."""
        return tuple(self.tools)

    def phrases(self, qualified: str, parameter: str) -> Mapping[str, tuple[str, ...]]:
        """Return the name of a parameter, in words."""
        words = words_of(parameter)
        return {"base": (words,)} if words else {}

    def enum_phrases(self, qualified: str, parameter: str, value: str) -> tuple[str, ...]:
        """Return a listed value in words that no other value of its list has."""
        tool = self.tools.get(qualified)
        declared = tool.parameter(parameter) if tool else None
        names = _listed_names(declared.type) if declared else ()
        return (value_words(names).get(value) or words_of(value) or value,)

    def called(self, qualified: str) -> tuple[str, ...]:
        """Return the description of a tool."""
        tool = self.tools.get(qualified)
        return (tool.description,) if tool and tool.description else ()

    @property
    def has_limits(self) -> bool:
        """Return whether any parameter has values that are restricted beside their type."""
        return _has_limits(self)

    @property
    def reads_values(self) -> bool:
        """Return whether a parameter holds texts, numbers, dates, names or others that are read."""
        return any(_is_read(p.type) for tool in self.tools.values() for p in tool.parameters)

    def __repr__(self) -> str:
        names = ", ".join([*self.tools][:8])
        more = len(self.tools) - 8
        return f"ToolLibrary({names or 'none'}{f' and {more} more' if more > 0 else ''})"


NONE = ToolLibrary()

_DURATION = ty.Measure("ms")
_NO_UNITS = replace(SHIPPED, by_name={})
_OF_TIME = replace(
    SHIPPED, by_name={n: u for n, u in SHIPPED.by_name.items() if u.base == _DURATION.unit}
)


@lru_cache(maxsize=16)
def _units_of(library: ToolLibrary) -> Units:
    if any(type_.type == _DURATION for type_ in types_of(library)):
        return _OF_TIME
    return _NO_UNITS if library.tools else SHIPPED


@lru_cache(maxsize=16)
def _has_limits(library: ToolLibrary) -> bool:
    return any(t.limits != NO_LIMITS for t in types_of(library))


def walk_types(types: Iterable[ValueType]) -> Iterator[ValueType]:
    """Yield types and those of their parts."""
    waiting = [*types]
    while waiting:
        type_ = waiting.pop()
        yield type_
        waiting += [*type_.options, *(f.type for f in type_.fields)]
        waiting += [inner for inner in (type_.item, type_.others) if inner is not None]


def types_of(library: ToolLibrary) -> Iterator[ValueType]:
    """Yield the types of all parameters, and of their parts."""
    for tool in library.tools.values():
        yield from walk_types(p.type for p in tool.parameters)
        yield from walk_types(() if tool.others is None else (tool.others,))


def _is_read(type_: ValueType) -> bool:
    match type_.sort:
        case "text" | "number":
            return True
        case "array":
            return type_.item is not None and _is_read(type_.item)
        case _:
            return any(map(_is_read, (*type_.options, *(f.type for f in type_.fields))))


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def words_of(name: str) -> str:
    """Return a name in words.

    >>> words_of("maxTemperature_of-room"), words_of("getUSAddress"), words_of("104.6 RTL")
    ('max temperature of room', 'get us address', '104.6 rtl')
    """
    return " ".join(re.findall(r"\d+[.,]\d+|[^\W_]+", _HUMP.sub(" ", name))).lower()


def _listed_names(type_: ValueType) -> tuple[str, ...]:
    if type_.sort == "array" and type_.item is not None:
        return _listed_names(type_.item)
    if type_.sort == "union":
        return tuple(name for option in type_.options for name in _listed_names(option))
    return type_.type.values if isinstance(type_.type, ty.Enum) else ()


@lru_cache(maxsize=4096)
def value_words(names: tuple[str, ...]) -> Mapping[str, str]:
    """Return listed values in words, different for two that differ by case or signs alone.

    >>> value_words(("on", "ON", "M", "m", "1.5", "*"))
    {'on': 'on', 'ON': 'upper case on', 'M': 'capital m', 'm': 'm', '1.5': '1.5', '*': ''}
    >>> value_words(("a_b", "a b"))
    {'a_b': 'a_b', 'a b': 'a b'}
    """
    plain = {name: name if _DECIMAL.fullmatch(name) else words_of(name) for name in names}
    chosen: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names, key=lambda name: (name != plain[name], name != name.lower())):
        case = "upper case" if name.isupper() and len(name) > 1 else "capital"
        cased = (f"{case} {plain[name]}",) if name != name.lower() else ()
        words = (plain[name], *cased, name.lower(), name)
        chosen[name] = next((w for w in words if w not in taken), "") if plain[name] else ""
        taken.add(chosen[name])
    return {name: chosen[name] for name in names}


_DECIMAL = re.compile(r"-?[0-9]+\.[0-9]+")
