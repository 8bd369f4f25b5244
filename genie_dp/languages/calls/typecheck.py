"""Types of calls: type mistakes against a library, and the canonical form of well-typed calls."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from genie_dp.errors import Problem, did_you_mean
from genie_dp.languages import types as ty
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.library import NONE, Field, Tool, ToolLibrary, ValueType
from genie_dp.languages.calls.text import call_tokens, reference_text, value_text
from genie_dp.languages.calls.tokens import key_of, sort_steps
from genie_dp.languages.calls.values import moment_of
from genie_dp.languages.limits import NO_LIMITS, NOTHING, Limits

_MOMENTS: dict[ty.Type, ast.MomentKind] = {
    ty.DATE: "date", ty.TIME: "time", ty.Measure("ms"): "duration",
}  # fmt: skip
_LONGEST = 60


# --------------------------------------------------------------------------------- checking


def check(program: ast.Program, library: Any) -> list[Problem]:
    """Return the type mistakes, in text order (Z031 to Z037); nothing without a library.

    A required argument that is left out is no mistake: it is still to be asked for.
    """
    return list(_check(program, library)) if library else []


def _check(program: ast.Program, library: ToolLibrary) -> Iterator[Problem]:
    earlier: list[str] = []
    for step in program.steps:
        for call in step:
            assert isinstance(call, ast.Call)
            tool = library.tools.get(call.name)
            if tool is None:
                hint = did_you_mean(call.name, library.tools)
                yield Problem("Z031", f"unknown tool {call.name!r}", call.span, hint)
            yield from check_arguments(call, tool, Results(library, earlier))
        earlier += [call.name for call in step if isinstance(call, ast.Call)]


class Results:
    """The results of the calls of earlier steps."""

    def __init__(self, library: ToolLibrary, earlier: Sequence[str]):
        self.library, self.earlier = library, tuple(earlier)

    def find(self, value: ast.Reference) -> "ValueType | Problem | None":
        """Return the type of a result; None if the tool does not declare it; or the mistake."""
        if not 1 <= value.call <= len(self.earlier):
            count = len(self.earlier)
            hint = (
                f"the steps before have {count} calls, from 1"
                if count
                else "this is the first step; write => between a call and one that takes its result"
            )
            message = f"there is no earlier call {value.call} to take {reference_text(value)} from"
            return Problem("Z036", message, value.span, hint)
        tool = self.library.tools.get(self.earlier[value.call - 1])
        type_: ValueType | None = tool.result if tool is not None else None
        for part in value.path:
            if type_ is None or type_.sort in ("any", "union"):
                return None
            if type_.sort == "array" and isinstance(part, int):
                type_ = type_.item
                continue
            field = type_.field(str(part)) if type_.sort == "object" else None
            if field is None:
                if type_.sort == "object" and type_.others is not None:
                    type_ = type_.others
                    continue
                suggestion = did_you_mean(str(part), [f.name for f in type_.fields])
                assert tool is not None
                message = f"the result of {tool.name} has no {part!r} there"
                return Problem("Z037", message, value.span, suggestion)
            type_ = field.type
        return type_


def check_arguments(call: ast.Call, tool: Tool | None, results: Results) -> Iterator[Problem]:
    """Yield the mistakes of a call after others; holes of a body fit everywhere."""
    seen: set[str] = set()
    for argument in call.arguments:
        if argument.name in seen:
            message = f"{argument.name!r} is given twice"
            yield Problem("Z035", message, argument.span, "keep one of the two")
        seen.add(argument.name)
        parameter = tool.parameter(argument.name) if tool is not None else None
        type_ = parameter.type if parameter is not None else None
        if tool is not None and parameter is None:
            if tool.others is None:
                names = [p.name for p in tool.parameters]
                hint = did_you_mean(argument.name, names) or _known_names(names)
                message = f"{tool.name} has no parameter {argument.name!r}"
                yield Problem("Z032", message, argument.span, hint)
            type_ = tool.others
        yield from check_value(argument.value, type_, argument.name, results)


def _known_names(names: Sequence[str]) -> str:
    return f"it has {', '.join(names)}" if names else "it has none"


def check_value(
    value: ast.Value, type_: ValueType | None, name: str, results: Results | None
) -> Iterator[Problem]:
    """Yield the mistakes of a value.

    Args:
        value: the given value.
        type_: the expected type; None if unknown.
        name: the parameter.
        results: the results that references may name; None where none may stand.
    """
    if results is not None:
        for part in ast.walk(value):
            if isinstance(part, ast.Reference) and isinstance(
                problem := results.find(part), Problem
            ):
                yield problem
    if type_ is not None:
        yield from misfits(value, type_, name, results)


def misfits(
    value: ast.Value, type_: ValueType, name: str, results: Results | None = None
) -> Iterator[Problem]:
    """Yield why a value is not of a type; `name` is the input that it is given to."""
    match value:
        case ast.Open() | ast.Hole():
            pass
        case ast.Reference():
            result = results.find(value) if results is not None else None
            if isinstance(result, ValueType) and not may_be(result, type_):
                got = f"{reference_text(value)}, which is {result}"
                yield _wrong(f"expected {type_} for {name!r}, got {got}", value, None)
        case ast.Flag(None):
            if not type_.is_nullable and type_.sort not in ("any", "null"):
                yield _wrong(f"{name!r} cannot be null", value, "leave it out")
        case _ if type_.sort == "union":
            options = (list(misfits(value, option, name, results)) for option in type_.options)
            if all(options):
                yield _unlike(value, type_, name)
        case ast.Array() if type_.sort == "array":
            yield from _misfits_of_array(value, type_, name, results)
        case ast.Record() if type_.sort == "object":
            yield from _misfits_of_record(value, type_, name, results)
        case _ if type_.sort != "any":
            yield from _misfits_of_leaf(value, type_, name)


def _misfits_of_leaf(value: ast.Value, type_: ValueType, name: str) -> Iterator[Problem]:
    sharp = sharpen(value, type_)
    if not _is_of(sharp, type_):
        yield _unlike(value, type_, name)
    elif not keeps_limits(sharp, type_.limits):
        is_in = isinstance(sharp, ast.Number) and type_.limits.in_bounds(sharp.value)
        wrong = (
            "is out of bounds" if isinstance(sharp, ast.Number) and not is_in else "does not fit"
        )
        yield Problem("Z034", f"{value_text(value)} {wrong}", value.span, f"{name!r} is {type_}")


def _misfits_of_array(
    value: ast.Array, type_: ValueType, name: str, results: Results | None
) -> Iterator[Problem]:
    count, item = len(value.items), type_.item
    limit = type_.most_items
    if count < type_.fewest_items or (limit is not None and count > limit):
        expected = f"at least {type_.fewest_items}" if count < type_.fewest_items else f"{limit}"
        message = f"expected {expected} items in {name!r}, got {count}"
        yield Problem("Z034", message, value.span)
    assert item is not None
    for part in value.items:
        yield from misfits(part, item, name, results)


def _misfits_of_record(
    value: ast.Record, type_: ValueType, name: str, results: Results | None
) -> Iterator[Problem]:
    seen: set[str] = set()
    for part in value.fields:
        whole = f"{name}.{part.name}"
        if part.name in seen:
            yield Problem("Z035", f"{whole!r} is given twice", part.span, "keep one of the two")
        seen.add(part.name)
        field = type_.field(part.name)
        inner = field.type if field is not None else type_.others
        if inner is None:
            names = [f.name for f in type_.fields]
            hint = did_you_mean(part.name, names) or _known_names(names)
            yield Problem("Z032", f"{name!r} has no {part.name!r}", part.span, hint)
        else:
            yield from misfits(part.value, inner, whole, results)
    for missing in type_.fields:
        if missing.is_required and missing.name not in seen:
            hint = f"add {missing.name} = .., or {missing.name} = $? where it is to be asked for"
            yield Problem("Z038", f"{name!r} lacks {missing.name!r}", value.span, hint)


def _wrong(message: str, value: ast.Value, hint: str | None) -> Problem:
    return Problem("Z033", message, value.span, hint)


def _unlike(value: ast.Value, type_: ValueType, name: str) -> Problem:
    got = value_text(value)
    got = got if len(got) <= _LONGEST else f"{got[:_LONGEST]}.."
    return _wrong(f"expected {type_} for {name!r}, got {got}", value, _hint(value, type_))


def _hint(value: ast.Value, type_: ValueType) -> str | None:
    match value, type_.sort:
        case ((ast.Symbol(name) | ast.Text(name)), "enum"):
            names = [v.name for v in type_.values if isinstance(v, ast.Symbol)]
            return did_you_mean(name, names)
        case ast.Symbol(name), "text":
            return f'put it between quotes: "{name}"'
        case ast.Text(), "number" | "boolean":
            return "drop the quotes"
        case ast.Text(), "text":
            return {
                ty.DATE: 'such as date:2027-03-14, or "2027-03-14"',
                ty.TIME: 'such as time:17:00:00, or "17:00:00"',
                ty.Measure("ms"): 'such as duration:PT90M, or "PT90M"',
            }.get(type_.type)
        case ast.Number(), "number" if type_.limits.is_whole:
            return "give a whole number"
        case _, "array" if not isinstance(value, ast.Array):
            return f"put it between brackets: [{value_text(value)}]"
        case _:
            return None


def _is_of(value: ast.Value, type_: ValueType) -> bool:
    """Return whether a value that `sharpen` returned is one of a type, bounds aside."""
    match value:
        case ast.Slot():
            return slot_fits(value, type_)
        case ast.Number(number) if type_.sort == "number":
            return not type_.limits.is_whole or number == number.to_integral_value()
        case ast.Text():
            return type_.sort == "text" and type_.type == ty.STRING
        case ast.Name(words, kind):
            return type_.sort == "text" and type_.type == ty.Entity(kind) and _is_like(words, kind)
        case ast.Moment(kind, text) if type_.sort == "text":
            is_kind = _MOMENTS.get(type_.type) == kind
            return is_kind and (kind != "date" or ("T" in text) == type_.has_clock)
        case ast.Flag() if type_.sort == "boolean":
            return True
        case _:
            return type_.sort == "enum" and value in type_.values


def _is_like(words: str, kind: str) -> bool:
    """Return whether words may be an address of a kind; names may be any words."""
    match kind:
        case "tt:email_address":
            return "@" in words and " " not in words
        case "tt:url":
            return ":" in words and " " not in words
        case _:
            return True


def slot_fits(slot: ast.Slot, type_: ValueType) -> bool:
    """Return whether a placeholder may stand for a value of a type."""
    slot_type = ast.slot_type(slot)
    if type_.sort == "union":
        return any(slot_fits(slot, option) for option in type_.options)
    if slot_type == ty.NUMBER:
        return type_.sort == "number"
    return type_.sort == "text" and _slot_of(type_.type) == slot_type


def _slot_of(type_: ty.Type) -> ty.Type | None:
    stem = ty.slot_stem(type_)
    return ty.slot_type(f"{stem}_0") if stem else None


def keeps_limits(value: ast.Value, limits: Limits) -> bool:
    """Return whether a value is among the remaining ones; unknown for a text with placeholders."""
    match value:
        case ast.Number(number):
            return limits.allows_number(number)
        case ast.Text(text):
            return limits.allows_text(text) or any(map(ty.is_slot, text.split(" ")))
        case _:
            return True


def limits_of(value: ast.Value, type_: ValueType | None) -> Iterator[tuple[str, Limits]]:
    """Yield (placeholder, limits of its value) for the placeholders of a value of a type.

    The limits of a placeholder inside of a text are unknown where the text is restricted.
    """
    match value:
        case _ if type_ is None:
            pass
        case _ if type_.sort == "union":
            fits = (o for o in type_.options if not any(True for _ in misfits(value, o, "")))
            yield from limits_of(value, next(fits, None))
        case ast.Slot(token) if type_.limits != NO_LIMITS:
            yield token, type_.limits
        case ast.Text(text) if type_.sort == "text" and type_.limits.is_of_texts:
            yield from ((word, NOTHING) for word in text.split(" ") if ty.is_slot(word))
        case ast.Array(items) if type_.sort == "array":
            for item in items:
                yield from limits_of(item, type_.item)
        case ast.Record(fields) if type_.sort == "object":
            for part in fields:
                field = type_.field(part.name)
                yield from limits_of(part.value, field.type if field else type_.others)
        case _:
            pass


def may_be(found: ValueType, type_: ValueType) -> bool:
    """Return whether a result of one type may be given where another is required."""
    if "any" in (found.sort, type_.sort):
        return True
    if found.sort == "union":
        return any(may_be(option, type_) for option in found.options)
    if type_.sort == "union":
        return any(may_be(found, option) for option in type_.options)
    if found.sort == "array" and type_.sort == "array":
        assert found.item is not None
        assert type_.item is not None
        return may_be(found.item, type_.item)
    texts = ("text", "enum")  # what a tool gives is not known to be listed, or to be a date
    return found.sort == type_.sort or (found.sort in texts and type_.sort in texts)


# ------------------------------------------------------------------------------- one form


def sharpen(value: ast.Value, type_: ValueType | None) -> ast.Value:
    """Return a value as its type has it: texts that are dates, names, or listed, as such.

    Fields of objects are sorted, those that are as by default left out.
    """
    if type_ is None:
        return _sort_fields(value)
    match value:
        case ast.Array(items) if type_.sort == "array":
            return replace(value, items=tuple([sharpen(item, type_.item) for item in items]))
        case ast.Record(fields) if type_.sort == "object":
            return replace(value, fields=_arguments(fields, type_.fields, type_.others))
        case _ if type_.sort == "union":
            for option in type_.options:
                if not any(True for _ in misfits(value, option, "")):
                    return sharpen(value, option)
            return _sort_fields(value)
        case ast.Text(text) | ast.Symbol(text) if type_.sort == "enum":
            return _choose_listed(value, text, type_)
        case ast.Number() | ast.Flag() if type_.sort == "enum":
            return next((v for v in type_.values if v == value), value)
        case ast.Text(text) if type_.sort == "text" and type_.type != ty.STRING:
            return _of_format(value, text, type_)
        case ast.Moment("date", text) if type_.has_clock and "T" not in text:
            return replace(value, text=f"{text}T00:00:00")
        case ast.Array() | ast.Record():
            return _sort_fields(value)
        case _:
            return value


def _sort_fields(value: ast.Value) -> ast.Value:
    match value:
        case ast.Array(items):
            return replace(value, items=tuple(map(_sort_fields, items)))
        case ast.Record(fields):
            sorted_fields = sorted(fields, key=lambda part: part.name)
            return replace(
                value, fields=tuple(replace(p, value=_sort_fields(p.value)) for p in sorted_fields)
            )
        case _:
            return value


def _choose_listed(value: ast.Text | ast.Symbol, text: str, type_: ValueType) -> ast.Value:
    symbol = ast.Symbol(text, value.span)
    if symbol in type_.values:
        return symbol
    if isinstance(value, ast.Symbol):  # '2' of an enum of numbers, as templates say it
        for constant in type_.values:
            if not isinstance(constant, ast.Symbol) and value_text(constant) == text:
                return constant
    return value


def _of_format(value: ast.Text, text: str, type_: ValueType) -> ast.Value:
    if isinstance(type_.type, ty.Entity):
        return ast.Name(text, type_.type.kind, value.span)
    kind = _MOMENTS.get(type_.type)
    moment = moment_of(kind, text) if kind else None
    if moment is None:
        return value
    return sharpen(replace(moment, span=value.span), type_)


def _arguments(
    given: Sequence[ast.Argument], declared: Sequence[Field], others: ValueType | None
) -> tuple[ast.Argument, ...]:
    """Return arguments in the order of their names, without those that are as by default."""
    fields = {field.name: field for field in declared}
    result = []
    for argument in sorted(given, key=lambda a: a.name):
        field = fields.get(argument.name)
        value = sharpen(argument.value, field.type if field is not None else others)
        if field is not None and not field.is_required:
            is_open = isinstance(value, ast.Open)
            if is_open or (field.default is not None and value == field.default):
                continue
        result.append(replace(argument, value=value))
    return tuple(result)


def canonical_call(call: ast.Call, tool: Tool | None) -> ast.Call:
    """Return a call with its arguments in order; required ones that it lacks are `$?`."""
    if tool is None:
        arguments = _arguments(call.arguments, (), None)
        return replace(call, arguments=arguments)
    names = {argument.name for argument in call.arguments}
    missing = [
        ast.Argument(p.name, ast.Open())
        for p in tool.parameters
        if p.is_required and p.name not in names
    ]
    arguments = _arguments((*call.arguments, *missing), tool.parameters, tool.others)
    return replace(call, arguments=arguments)


def canonical(program: ast.Program, library: Any = None) -> ast.Program:
    """Return the one program that stands for all that make the same calls.

    Arguments are sorted, defaults left out, values as their types have them; calls in parallel are
    sorted, and references follow them.
    """
    tools: Mapping[str, Tool] = (library or NONE).tools

    def place(call: ast.Call | ast.Hole, numbers: Mapping[int, int]) -> ast.Call | ast.Hole:
        assert isinstance(call, ast.Call)

        def renumber(value: ast.Value) -> ast.Value:
            if isinstance(value, ast.Reference):
                return replace(value, call=numbers.get(value.call, value.call))
            return value

        placed = ast.change_arguments(call, renumber) if numbers else call
        return canonical_call(placed, tools.get(call.name))

    return ast.Program(sort_steps(program.steps, place, lambda call: key_of(call_tokens(call))))
