"""The names that a piece of a program can refer to, with their types."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.ast import (
    COMPUTATIONS,
    Computed,
    ListFilter,
    Value,
    VarRef,
    computed_name,
)
from genie_dp.languages.thingtalk.operators import computed_type
from genie_dp.languages.types import ANY, BOOLEAN, NUMBER, Type

_TYPES: Mapping[type, Type] = {
    tt.StringValue: ty.STRING,
    tt.NumberValue: ty.NUMBER,
    tt.BooleanValue: ty.BOOLEAN,
    tt.CurrencyValue: ty.CURRENCY,
    tt.DateValue: ty.DATE,
    tt.DateNow: ty.DATE,
    tt.DateEdge: ty.DATE,
    tt.DateOffset: ty.DATE,
    tt.TimeValue: ty.TIME,
    tt.LocationValue: ty.LOCATION,
}
CONTEXT: Mapping[tuple[str, ...], Type] = {
    ("location", "home"): ty.LOCATION,
    ("location", "work"): ty.LOCATION,
    ("location", "current_location"): ty.LOCATION,
    ("time", "morning"): ty.TIME,
    ("time", "evening"): ty.TIME,
}
"""Values of the user's context."""


def constant_type(node: object) -> Type | None:
    """Return the type of a value that refers to no result; None for all other nodes.

    >>> str(constant_type(tt.EntityValue("alice", "tt:contact"))), constant_type(VarRef("title"))
    ('Entity(tt:contact)', None)
    """
    match node:
        case tt.MeasureValue(((_, unit), *_)):
            return ty.Measure(unit)
        case tt.EntityValue(_, kind):
            return ty.Entity(kind)
        case tt.EnumValue(name):
            return ty.Enum((name,))
        case tt.ContextValue(path):
            return CONTEXT.get(path)
        case _:
            return _TYPES.get(type(node))


@dataclass(frozen=True, slots=True)
class Scope:
    """Names in scope; an open scope may hold others that are not known (holes, unknown functions).

    >>> from genie_dp.languages.types import STRING
    >>> str(Scope({"title": STRING}).get("title")), Scope({}).get("title")
    ('String', None)
    """

    types: Mapping[str, Type]
    is_open: bool = False

    def get(self, name: str) -> Type | None:
        """Return the type of a name, Any where the scope is open, else None."""
        type_ = self.types.get(name)
        return ANY if type_ is None and self.is_open else type_

    def under(self, right: "Scope") -> "Scope":
        """Return both scopes as one; a name in both is the right one's (Genie, section 2.3)."""
        if not self.types and not self.is_open:
            return right
        if not right.types and not right.is_open:
            return self
        return Scope({**self.types, **right.types}, self.is_open or right.is_open)


EMPTY = Scope({})
OPEN = Scope({}, is_open=True)


def scope_of(parameters: Iterable[Parameter]) -> Scope:
    """Return the scope of those parameters."""
    return Scope({p.name: p.type for p in parameters})


def aggregate_scope(operator: str, field: Type | None) -> Scope:
    """Return the one output of an aggregation: it is called like its operator (Genie, 6.3).

    >>> aggregate_scope("count", None).types
    {'count': Basic(name='Number')}
    """
    return Scope({operator: NUMBER if operator == "count" else field or ANY})


def projected_scope(values: Iterable[Value], scope: Scope) -> Scope:
    """Return the outputs of a projection of well-typed values.

    >>> from genie_dp.languages.types import STRING, Array
    >>> labels = Scope({"labels": Array(STRING)})
    >>> projected_scope([Computed("count", (VarRef("labels"),))], labels).types
    {'count.labels': Basic(name='Number')}
    """
    return Scope({computed_name(value): value_type(value, scope) for value in values})


def value_type(value: Value, scope: Scope) -> Type:
    """Return the type of a value in a scope, Any where it is not known."""
    match value:
        case VarRef(name) | ListFilter(name):
            return scope.get(name) or ANY
        case Computed(operator, arguments):
            type_ = computed_type(operator, [value_type(a, scope) for a in arguments])
            return type_ or (ANY if operator in COMPUTATIONS else BOOLEAN)
        case _:
            return constant_type(value) or ANY
