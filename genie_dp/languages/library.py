"""Libraries that programs are checked against: functions with their parameters."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import ClassVar, Protocol

from genie_dp.errors import Problem
from genie_dp.languages.types import Type, unit_of
from genie_dp.languages.units import SHIPPED, Units


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function, its own or inherited; direction as in ParamDecl.

    `value_list` is the name of its list of values (annotation string_values), `unique` declares
    that the value identifies a result. `accepts` names further value lists that may be passed into
    it. `is_additive` declares that a total of it makes sense (annotation additive): sizes, not
    ratings; None leaves it to the type. `phrases` are its phrases after the noun that has it:
    "posted by #"; of an input, after the phrase that calls the function: "in the #". `least` and
    `most` are the numbers that it is usually between, of measures in the unit of its type
    (annotations min_number, max_number).
    """

    name: str
    direction: str
    type: Type
    value_list: str | None = None
    unique: bool = False
    accepts: tuple[str, ...] = ()
    is_additive: bool | None = None
    phrases: tuple[str, ...] = field(default=(), compare=False)
    least: Decimal | None = None
    most: Decimal | None = None

    @property
    def is_input(self) -> bool:
        """Return whether callers give it."""
        return self.direction != "out"

    @property
    def is_required(self) -> bool:
        """Return whether callers must give it."""
        return self.direction == "in req"


@dataclass(frozen=True, slots=True)
class Signature:
    """A function with all its parameters, inherited ones included, in declaration order.

    `class_name` is "" in languages without classes.
    """

    class_name: str
    name: str
    kind: str  # "query" | "action"
    parameters: tuple[Parameter, ...]
    is_monitorable: bool = False
    is_list: bool = False

    @property
    def qualified(self) -> str:
        """Return the function as programs name it, for example "@com.gmail.inbox"."""
        return f"@{self.class_name}.{self.name}" if self.class_name else self.name

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
        """Return whether every entity of `kind` is one of `other` (reflexive)."""

    @property
    def units(self) -> Units:
        """Return the units of measure, those that skills declare included."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A part of a library that was left out, and why.

    Attributes:
        path: the folder of a skill, or the file of a tool.
        problems: its mistakes.
        name: of a tool, its name.
    """

    path: Path
    problems: tuple[Problem, ...]
    name: str = ""

    def lines(self) -> Iterator[str]:
        """Yield the lines of the message."""
        for problem in self.problems:
            yield f"{problem.span}: {problem.message}" if problem.span else problem.message
        source = f"the tool {self.name}" if self.name else str(self.path)
        yield f"skipped: {source} is broken; going on without it"


class ListedValues(Protocol):
    """Values that people use, in the order of their file."""

    @property
    def name(self) -> str: ...  # noqa: D102

    @property
    def values(self) -> tuple[str, ...]: ...  # noqa: D102

    @property
    def weights(self) -> tuple[float, ...]: ...  # noqa: D102


class KindOfNames(Protocol):
    """A kind of entity; names of those that it extends are names of it, too."""

    @property
    def parents(self) -> tuple[str, ...]: ...  # noqa: D102


@dataclass(frozen=True, slots=True)
class NameList:
    """Values that a library lists, be they a parameter's or the names of a kind."""

    name: str
    values: tuple[str, ...]
    parents: ClassVar[tuple[str, ...]] = ()

    @property
    def weights(self) -> tuple[float, ...]:
        """Return 1 for each: none is known to be likelier."""
        return (1.0,) * len(self.values)


class Library(Protocol):
    """The questions that every stage may ask of a library, whatever its language.

    Languages whose libraries are folders of skills share skills.SkillLibrary, which answers more.
    Methods with a body are right for declarations without such facts.

    Attributes:
        language: the language whose programs it is for.
    """

    language: ClassVar[str]

    @property
    def paths(self) -> tuple[Path, ...]:
        """Return the files or folders that it was read from."""

    @property
    def sources(self) -> Mapping[str, str]:
        """Return file -> text of the files that were read."""

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Return the parts that were left out because they are broken."""
        return ()

    @property
    def warnings(self) -> tuple[Problem, ...]:
        """Return the warnings, which do not stop anything."""
        return ()

    def functions(self) -> tuple[Signature, ...]:
        """Return every function that a program may call; none if it does not declare parameters."""
        return ()

    @property
    def units(self) -> Units:
        """Return the units of measure, those that it declares included."""
        return SHIPPED

    @property
    def entity_types(self) -> Mapping[str, KindOfNames]:
        """Return the kinds of entities."""

    @property
    def value_lists(self) -> Mapping[str, ListedValues]:
        """Return the lists of values; that of a kind of entity has its name."""

    def values(self, name: str) -> tuple[str, ...]:
        """Return the values of a list, none if there is no such list."""
        value_list = self.value_lists.get(name)
        return value_list.values if value_list is not None else ()

    def signature(self, qualified: str) -> Signature | None:
        """Return the function of that name, as programs name it, or None."""
        return None

    def names(self) -> tuple[str, ...]:
        """Return the functions that it declares, as programs name them."""

    def is_inherited(self, qualified: str) -> bool:
        """Return whether a function is one of another class, called by the name of this one."""
        return False

    def phrases(self, qualified: str, parameter: str) -> Mapping[str, tuple[str, ...]]:
        """Return the phrases of a parameter, by part of speech; empty if it has none."""
        return {}

    def enum_phrases(self, qualified: str, parameter: str, value: str) -> tuple[str, ...]:
        """Return the phrases of a listed value of a parameter, the usual one first."""
        return (value,)

    def called(self, qualified: str) -> tuple[str, ...]:
        """Return the author's description of a function; nothing where that is its name."""
        return ()


def declared_units(signatures: Iterable[Signature]) -> frozenset[str]:
    """Return the units in which parameters are declared, those of lists included.

    >>> from genie_dp.languages.types import Array, Measure
    >>> parameters = (Parameter("sizes", "out", Array(Measure("KB"))),)
    >>> declared_units([Signature("c", "q", "query", parameters)])
    frozenset({'KB'})
    """
    units = (unit_of(p.type) for signature in signatures for p in signature.parameters)
    return frozenset(unit for unit in units if unit is not None)


def units_in_sentences(library: Library) -> Units:
    """Return the units that are read in sentences for a library."""
    measured = {library.units.base(unit) for unit in declared_units(library.functions())}
    return library.units.for_sentences(measured)
