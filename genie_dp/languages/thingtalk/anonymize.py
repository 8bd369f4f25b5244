"""Literal values to placeholders, and the functions of a program."""

from collections import Counter, defaultdict
from typing import Any, TypeVar

from genie_dp.languages.thingtalk.ast import (
    Call,
    CurrencyValue,
    DateValue,
    EntityValue,
    LocationValue,
    MeasureValue,
    NumberValue,
    Policy,
    Program,
    SlotValue,
    StringValue,
    TimeValue,
)
from genie_dp.languages.thingtalk.slots import slot_stem
from genie_dp.languages.thingtalk.traverse import children, functions_used, rewrite
from genie_dp.languages.thingtalk.types import (
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    Entity,
    Measure,
    Type,
)

P = TypeVar("P", bound=Program | Policy)

_LITERALS: dict[type, Type] = {
    StringValue: STRING,
    NumberValue: NUMBER,
    CurrencyValue: CURRENCY,
    DateValue: DATE,
    TimeValue: TIME,
    LocationValue: LOCATION,
}


def anonymize(program: P) -> P:
    """Return the program with its literal values replaced by placeholders.

    They are numbered in program order, separately for each stem of `slot_stem`; every literal
    gets its own. Words of the language (enums, true, now, places of the context) stay, as do
    pictures, which people cannot say. Placeholders already there keep their numbers, which no
    literal gets: doing it twice changes nothing more.

    >>> from decimal import Decimal
    >>> from genie_dp.languages.thingtalk.ast import Arg, Rule, Selector
    >>> call = Call(Selector("light"), "dim", (Arg("level", NumberValue(Decimal(40))),))
    >>> anonymize(Program((Rule(None, None, call),))).rules[0].action.args[0].value.token
    'NUMBER_0'
    """
    taken = set(_placeholders(program))
    counts: dict[str, int] = defaultdict(int)

    def replaced(node: Any) -> Any:
        type_ = _literal_type(node)
        stem = slot_stem(type_) if type_ is not None else None
        if stem is None:
            return node
        while (token := f"{stem}_{counts[stem]}") in taken:
            counts[stem] += 1
        counts[stem] += 1
        return SlotValue(token, span=node.span)

    result: P = rewrite(program, replaced)
    return result


def functions(program: Program | Policy) -> Counter[str]:
    """Return how often each function is used, in program order.

    A policy's `*` and `@c.*` name no function.

    >>> from genie_dp.languages.thingtalk.ast import Notify, Rule, Selector
    >>> functions(Program((Rule(None, Call(Selector("com.gmail"), "inbox"), Notify()),)))
    Counter({'@com.gmail.inbox': 1})
    """
    counts: Counter[str] = Counter()
    for used in functions_used(program):
        if isinstance(used, Call):
            counts[f"@{used.selector.class_name}.{used.function}"] += 1
        elif used.class_name is not None and used.function is not None:
            counts[f"@{used.class_name}.{used.function}"] += 1
    return counts


def _literal_type(node: Any) -> Type | None:
    match node:
        case MeasureValue(parts) if parts:
            return Measure(parts[0][1])
        case EntityValue():
            return Entity(node.kind)
        case _:
            return _LITERALS.get(type(node))


def _placeholders(node: Any) -> list[str]:
    if isinstance(node, SlotValue):
        return [node.token]
    return [token for child in children(node) for token in _placeholders(child)]
