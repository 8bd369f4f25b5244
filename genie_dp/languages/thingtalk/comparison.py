"""How programs of ThingTalk are compared."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from genie_dp.languages.base import ProgramView, list_counted
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.placeholders import days_as_spans
from genie_dp.languages.thingtalk.tokens import TokenStyle, tokens
from genie_dp.languages.thingtalk.traverse import functions, walk

# Whether a program is typed was checked before; so gold rows may come with types or without.
_UNTYPED = TokenStyle(types=False)
# Names of outputs ($event, too) are no values: which one is passed is structure.
_VALUES = (
    tt.StringValue, tt.NumberValue, tt.BooleanValue, tt.EnumValue, tt.MeasureValue,
    tt.CurrencyValue, tt.DateValue, tt.DateNow, tt.DateEdge, tt.DateOffset, tt.TimeValue,
    tt.LocationValue, tt.ContextValue, tt.EntityValue, tt.ArrayValue, tt.Undefined, tt.SlotValue,
)  # fmt: skip


class ThingTalkComparison:
    """Programs and policies by their canonical form (Genie, section 2.4)."""

    def view(self, program: Any, library: Any) -> ProgramView:
        """Return the compared parts of a canonical program; a value equal to a day is within it."""
        if (spans := days_as_spans(program)) is not program:
            program = canonical(spans, library)
        used = list_counted(functions(program))
        names, operators = Counter[str](), Counter[str]()
        for name, operator in _parameters(program):
            if name:
                names[name] += 1
            operators[f"{name} {operator}"] += 1
        return ProgramView(
            match=tokens(program, None, _UNTYPED),
            shape=shape(program),
            functions=used,
            devices=tuple(sorted(name.rpartition(".")[0] for name in used)),
            parameters=list_counted(names),
            operators=list_counted(operators),
        )


def shape(node: Any) -> str:
    """Return a program without its values, written so that the order of operands is no matter.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> shape(parse("now => @c.f(a=1, b=2)")) == shape(parse("now => @c.f(a=7, b=1)"))
    True
    >>> shape(parse("now => @c.f(a=1)")) == shape(parse("now => @c.f(b=1)"))
    False
    """
    if isinstance(node, _VALUES):
        return "_"
    if isinstance(node, tuple):
        return f"[{', '.join(map(shape, node))}]"
    if not hasattr(node, "__dataclass_fields__"):
        return repr(node)
    name = type(node).__name__
    if isinstance(node, tt.And | tt.Or):
        return f"{name}({', '.join(sorted(map(shape, node.operands)))})"
    inside = (shape(getattr(node, f.name)) for f in fields(node) if f.name != "span")
    return f"{name}({', '.join(inside)})"


def _parameters(node: Any) -> Iterator[tuple[str, str]]:
    """Yield parameters with their operators; of a negation the name is empty."""
    for part in walk(node):
        match part:
            case tt.Arg(name):
                yield name, "="
            case tt.Atom(name, operator):
                yield name, operator
            case tt.Not():
                yield "", "not"
