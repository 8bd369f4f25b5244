"""What the type checker asks of a skill library."""

from dataclasses import dataclass, field
from typing import Protocol

from genie_dp.languages.thingtalk.types import Type


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, its own or inherited; direction as in ParamDecl.

    `value_list` is the name of its list of values (annotation string_values), `unique` says that
    the value identifies a result. `accepts` names further value lists that may be passed into it.
    `is_additive` says that a total of it makes sense (annotation additive): sizes, not ratings;
    None leaves it to the type.
    `phrases` is what people say of it after the noun that has it: "posted by #".
    """

    name: str
    direction: str
    type: Type
    value_list: str | None = None
    unique: bool = False
    accepts: tuple[str, ...] = ()
    is_additive: bool | None = None
    phrases: tuple[str, ...] = field(default=(), compare=False)

    @property
    def is_input(self) -> bool:
        """Tell whether callers give it."""
        return self.direction != "out"

    @property
    def is_required(self) -> bool:
        """Tell whether callers must give it."""
        return self.direction == "in req"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function with all its parameters, inherited ones included, in declaration order."""

    class_name: str
    name: str
    kind: str  # "query" | "action"
    parameters: tuple[Parameter, ...]
    is_monitorable: bool = False
    is_list: bool = False

    @property
    def qualified(self) -> str:
        """Return the function as programs name it, for example "@com.gmail.inbox"."""
        return f"@{self.class_name}.{self.name}"

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of that name, or None."""
        return next((p for p in self.parameters if p.name == name), None)

    @property
    def inputs(self) -> tuple[Parameter, ...]:
        """Return the inputs."""
        return tuple(p for p in self.parameters if p.is_input)

    @property
    def outputs(self) -> tuple[Parameter, ...]:
        """Return the outputs."""
        return tuple(p for p in self.parameters if not p.is_input)


class Signatures(Protocol):
    """The questions of the type checker; a skill library answers them."""

    def function(self, class_name: str, name: str) -> Signature | None:
        """Return the function with all inherited parameters, or None."""

    def class_names(self) -> tuple[str, ...]:
        """Return the names of all classes."""

    def function_names(self, class_name: str) -> tuple[str, ...]:
        """Return the functions of a class, inherited ones included."""

    def is_entity_subtype(self, kind: str, other: str) -> bool:
        """Tell whether every entity of `kind` is one of `other` (reflexive)."""
