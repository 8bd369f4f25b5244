"""What the frames of the automaton ask of a library: functions, names in scope, types that fit."""

from collections.abc import Hashable, Iterable, Mapping
from decimal import Decimal
from typing import Any

from genie_dp.languages.automaton import Automaton
from genie_dp.languages.thingtalk.assign import is_assignable
from genie_dp.languages.thingtalk.decoding.constants import Constants
from genie_dp.languages.thingtalk.decoding.limits import Limits
from genie_dp.languages.thingtalk.signatures import Parameter, Signature, Signatures
from genie_dp.languages.thingtalk.tokens import TokenStyle
from genie_dp.languages.thingtalk.typecheck_values import united
from genie_dp.languages.thingtalk.types import ALIASES, ANY, Array, Entity, Enum, Measure, Type


class Names:
    """Typed names in scope, each set of them once: compared by identity.

    Attributes:
        types: name -> type.
        tokens: name -> its token.
        names: token -> its name.
    """

    __slots__ = ("names", "tokens", "types")

    def __init__(self, types: Mapping[str, Type], tokens: Mapping[str, str]):
        """Keep the types and the tokens of the same names."""
        self.types = types
        self.tokens = tokens
        self.names = {token: name for name, token in tokens.items()}

    def get(self, name: str) -> Type | None:
        """Return the type of a name, or None."""
        return self.types.get(name)


class Function:
    """A function with its inputs in the order of programs, compared by identity."""

    __slots__ = ("inputs", "order", "outputs", "parameters", "signature", "token")

    def __init__(self, signature: Signature, catalogue: "Catalogue"):
        """Read the signature."""
        self.signature = signature
        self.token = signature.qualified
        self.inputs = catalogue.names_of(signature.inputs)
        self.order = tuple(sorted(self.inputs.types))
        self.outputs = catalogue.names_of(signature.outputs)
        self.parameters = catalogue.names_of(signature.parameters)


class Found:
    """What is known of a query that is complete: its outputs, and the calls that `on` passes to.

    Attributes:
        scope: its outputs.
        calls: its functions from left to right, each with the inputs it was given.
        first: the place of the first call on the right of its outermost join, or None.
        passed: inputs that this join passes.
    """

    __slots__ = ("calls", "first", "passed", "scope")

    def __init__(
        self,
        scope: Names,
        calls: tuple[tuple[Function, frozenset[str]], ...],
        first: int | None,
        passed: tuple[str, ...],
    ):
        """Keep the parts."""
        self.scope, self.calls, self.first, self.passed = scope, calls, first, passed


class Need:
    """What the outputs of a query must hold: `aggregate sum param:f:T of` stands before it."""

    __slots__ = ("may_lack", "name", "types")

    def __init__(self, name: str, types: frozenset[Type], may_lack: bool):
        """Need a name of one of the types; or no such name, if the query `may_lack` it."""
        self.name, self.types, self.may_lack = name, types, may_lack

    def is_met(self, scope: Names) -> bool:
        """Tell whether outputs are as needed."""
        found = scope.get(self.name)
        return self.may_lack if found is None else found in self.types


class Fit:
    """A type that is wanted, and in an array the type of the items before.

    Attributes:
        expected: the type.
        element: the type of the items before; Any goes with all.
        arrays: how many arrays are around the value. Inside of two, only values of exactly the
            type fit: then all items go together, whatever the arrays around hold.
        is_compared: whether it is the right side of a comparison, where a time goes with a date.
        lenient: whether text may stand for an entity.
        is_positive: whether numbers must be more than zero.
    """

    __slots__ = (
        "_known", "_signatures", "arrays", "element", "expected", "is_compared", "is_positive",
        "lenient",
    )  # fmt: skip

    def __init__(
        self,
        expected: Type,
        element: Type,
        arrays: int,
        is_compared: bool,
        lenient: bool,
        is_positive: bool,
        signatures: Signatures,
    ):
        """Keep what is wanted."""
        self.expected, self.element, self.arrays = expected, element, arrays
        self.is_compared = is_compared
        self.lenient, self.is_positive = lenient, is_positive
        self._signatures = signatures
        self._known: dict[Type, bool] = {}

    def takes(self, type_: Type) -> bool:
        """Tell whether a value of a type may stand here."""
        found = self._known.get(type_)
        if found is None:
            found = self._known[type_] = self._fits(type_) and (
                united(self.element, type_, self._signatures) is not None
            )
        return found

    def _fits(self, type_: Type) -> bool:
        if self.arrays < 2 or isinstance(type_, Measure | Enum):
            return is_assignable(
                type_,
                self.expected,
                self._signatures,
                lenient=self.lenient,
                is_compared=self.is_compared,
            )
        return type_ in (self.expected, ANY)

    def numbers(self, tokens: Iterable[str]) -> frozenset[str]:
        """Return those of some tokens of numbers that may stand here."""
        return frozenset(t for t in tokens if not self.is_positive or Decimal(t) > 0)

    @property
    def items(self) -> Type | None:
        """Return what the items of an array must be, or None where no array fits."""
        if self.expected == ANY:
            return ANY if not self.arrays else None
        if not isinstance(self.expected, Array) or not self.takes(self.expected):
            return None
        return self.expected.element


class Catalogue:
    """A library as the automaton sees it; makes each Names, Found, Need and Fit once.

    Attributes:
        queries: functions that may stand where a query is wanted.
        monitored: those of them that can be monitored.
        actions: functions that may stand last.
        kinds: kinds of entities that a program can name.
        kept: what modules found out about the library; each under a key of its own.
    """

    def __init__(
        self, library: Signatures, style: TokenStyle, limits: Limits, constants: Constants
    ):
        """Read the functions of a library."""
        self.library, self.style = library, style
        self.limits, self.constants = limits, constants
        self.automaton = Automaton(
            limits.tokens, limits.reserve(constants.longest_text), self._forget
        )
        self.kept: dict[Hashable, Any] = {}
        self._once: dict[tuple[Any, ...], Any] = {}
        self._under: dict[tuple[Names, Names], Names] = {}
        self.empty = self.scope({})
        self.functions = tuple(Function(s, self) for s in _signatures(library))
        self.by_token = {f.token: f for f in self.functions}
        self.queries = tuple(f for f in self.functions if f.signature.kind == "query")
        self.monitored = tuple(f for f in self.queries if f.signature.is_monitorable)
        self.actions = tuple(f for f in self.functions if f.signature.kind == "action")
        self.kinds = _kinds(self.types(), library, constants)

    def types(self) -> tuple[Type, ...]:
        """Return the types of all parameters, each once."""
        found = (p.type for f in self.functions for p in f.signature.parameters)
        return tuple(dict.fromkeys(found))

    # -------------------------------------------------------------- names

    def token(self, prefix: str, name: str, type_: Type) -> str:
        """Return the token of a name."""
        return f"{prefix}:{name}:{type_}" if self.style.types else f"{prefix}:{name}"

    def scope(self, types: Mapping[str, Type]) -> Names:
        """Return the names of those types."""
        key = tuple(sorted(types.items(), key=_first))
        found: Names | None = self._once.get((Names, key))
        if found is None:
            tokens = {name: self.token("param", name, type_) for name, type_ in key}
            found = self._once[Names, key] = Names(dict(key), tokens)
        return found

    def names_of(self, parameters: Iterable[Parameter]) -> Names:
        """Return the names of parameters."""
        return self.scope({p.name: p.type for p in parameters})

    def under(self, left: Names, right: Names) -> Names:
        """Return both as one; a name in both is the right one's (Genie, section 2.3)."""
        if not left.types:
            return right
        if not right.types:
            return left
        found = self._under.get((left, right))
        if found is None:
            found = self._under[left, right] = self.scope({**left.types, **right.types})
        return found

    # --------------------------------------------------- queries and types

    def found(
        self,
        scope: Names,
        calls: tuple[tuple[Function, frozenset[str]], ...],
        first: int | None = None,
        passed: tuple[str, ...] = (),
    ) -> Found:
        """Return what is known of a query."""
        found: Found = self._made(Found, scope, calls, first, passed)
        return found

    def need(self, name: str, types: frozenset[Type], may_lack: bool = False) -> Need:
        """Return what outputs must hold."""
        found: Need = self._made(Need, name, types, may_lack)
        return found

    def fit(
        self,
        expected: Type,
        element: Type = ANY,
        arrays: int = 0,
        *,
        is_compared: bool = False,
        lenient: bool = True,
        is_positive: bool = False,
    ) -> Fit:
        """Return the wish for a type."""
        parts = (expected, element, arrays, is_compared, lenient, is_positive)
        found: Fit | None = self._once.get((Fit, *parts))
        if found is None:
            found = self._once[Fit, *parts] = Fit(*parts, self.library)
        return found

    def _forget(self) -> None:
        """Forget what frames were made of; what still is in use stays as good as a new one."""
        self.kept.clear()
        self._once.clear()
        self._under.clear()

    def _made(self, kind: type[Any], *parts: Hashable) -> Any:
        found = self._once.get((kind, *parts))
        if found is None:
            found = self._once[(kind, *parts)] = kind(*parts)
        return found


def _first(item: tuple[str, Type]) -> str:
    return item[0]


def _signatures(library: Signatures) -> Iterable[Signature]:
    """Yield what programs may call: all that the type checker finds."""
    for class_name in library.class_names():
        for name in library.function_names(class_name):
            found = library.function(class_name, name)
            if found is not None:
                yield found


def _kinds(types: Iterable[Type], library: Any, constants: Constants) -> tuple[str, ...]:
    """Return the kinds of entities that the library speaks of, and those built in."""
    found = {*ALIASES.values(), "tt:contact", "tt:contact_name", *constants.kinds}
    found.update(getattr(library, "entity_types", ()))
    for type_ in types:
        while isinstance(type_, Array):
            type_ = type_.element
        if isinstance(type_, Entity):
            found.add(type_.kind)
    return tuple(sorted(found))
