"""The library as the automaton uses it: functions, names in scope, types that fit."""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from operator import itemgetter
from typing import Any

from genie_dp.languages.automaton import Automaton, TextNode, text_tree
from genie_dp.languages.library import Parameter, Signature, Signatures, declared_units
from genie_dp.languages.thingtalk.forms import CONSTRUCT, constant_kind
from genie_dp.languages.thingtalk.operators import is_assignable
from genie_dp.languages.thingtalk.tokens import TokenStyle, escape_word
from genie_dp.languages.thingtalk.typecheck import unite_types
from genie_dp.languages.types import ALIASES, ANY, Array, Entity, Enum, Measure, Type
from genie_dp.languages.units import Units


@dataclass(frozen=True, slots=True)
class GrammarLimits:
    """The most that a program may hold; canonical programs beyond that are refused.

    The longest of 50,000 synthesized programs has 46 tokens, of 53,000 augmented ones 60, and none
    has more than 3 brackets inside each other (November 2026); people may write some more.

    Attributes:
        tokens: tokens of the program.
        nesting: brackets inside of each other.
        rules: rules of a program.
        clauses: conditions joined by `and`.
        alternatives: comparisons joined by `or`.
        items: values of an array.
        parts: numbers of one measure, `6 unit:ft 3 unit:in` has two.
        offsets: durations added to a date.
        words: words of one text.
    """

    tokens: int = 400
    nesting: int = 12
    rules: int = 4
    clauses: int = 16
    alternatives: int = 16
    items: int = 16
    parts: int = 3
    offsets: int = 2
    words: int = 60

    def __post_init__(self) -> None:
        for limit in fields(self):
            if getattr(self, limit.name) < 1:
                raise ValueError(f"expected {limit.name} >= 1, got {getattr(self, limit.name)}")

    def reserve(self, longest_text: int) -> int:
        """Return how many tokens it may take to close a program; laws test that it is enough.

        A level of nesting takes at most `filter true ) join ( @c.f )`, and a text that was begun
        the rest of its words.
        """
        return 8 * self.nesting + longest_text + 32


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants by kind.

    Attributes:
        tokens: "number", "currency", "date", "time", "location", "enum", "at:" (the place of a
            location with a name), "id:" (of an entity) or "unit:" -> tokens.
        kinds: kinds of entities.
        texts: the tree of free texts.
        longest_text: how many words the longest of them has.
        constructs: constructs of the extension for questions that programs use: "select", "sort",
            "[" (an index or slice), operators that end in "~", "count(" and the like (a computed
            value), "filter" (a condition on a list). A grammar has no others.
    """

    tokens: dict[str, frozenset[str]]
    kinds: frozenset[str]
    texts: TextNode
    longest_text: int
    constructs: frozenset[str] = frozenset()

    def find(self, key: str) -> frozenset[str]:
        """Return the constants of a key."""
        return self.tokens.get(key, frozenset())


def read_constants(texts: Iterable[str]) -> Constants:
    r"""Return the constants of some texts.

    A text is a number, date, time, place, amount or enum value as one token; `at:37.4:-122.1`,
    `id:x` or `^^ns:t`, which stand after words in quotes; `unit:mg`; or free text. Between quote
    tokens it is in token form: words are escaped.

    >>> found = read_constants(["1", "time:8:00:00", "good morning", '" x\\sy "', "id:z"])
    >>> sorted(found.tokens.items())[:2]
    [('id:', frozenset({'id:z'})), ('number', frozenset({'1'}))]
    >>> sorted(found.texts.words)
    ['good', 'x\\sy']
    """
    tokens: dict[str, set[str]] = {}
    words: list[str] = []
    for text in texts:
        key = constant_kind(text)
        if key is not None:
            tokens.setdefault(key, set()).add(text)
        elif text.startswith('" ') and text.endswith(' "') and len(text) > 3:
            words.append(text[2:-2])
        elif text.strip():
            words.append(" ".join(map(escape_word, text.split(" "))))
    kinds = frozenset(token[2:] for token in tokens.pop("^^", ()))
    constructs = frozenset(t.removeprefix(CONSTRUCT) for t in tokens.pop(CONSTRUCT, ()))
    longest = max((text.count(" ") + 1 for text in words), default=0)
    frozen = {key: frozenset(texts) for key, texts in tokens.items()}
    return Constants(frozen, kinds, text_tree(words), longest, constructs)


class ScopeNames:
    """Typed names in scope, each set of them once: compared by identity.

    Attributes:
        types: name -> type.
        tokens: name -> its token.
        names: token -> its name.
    """

    __slots__ = ("names", "tokens", "types")

    def __init__(self, types: Mapping[str, Type], tokens: Mapping[str, str]):
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
        self.signature = signature
        self.token = signature.qualified
        self.inputs = catalogue.names_of(signature.inputs)
        self.order = tuple(sorted(self.inputs.types))
        self.outputs = catalogue.names_of(signature.outputs)
        self.parameters = catalogue.names_of(signature.parameters)


@dataclass(eq=False, slots=True)
class QueryFacts:
    """Facts about a query that is complete: its outputs, and the calls that `on` passes to.

    Attributes:
        scope: its outputs.
        calls: its functions from left to right, each with the inputs it was given.
        first: the place of the first call on the right of its outermost join, or None.
        passed: inputs that this join passes.
    """

    scope: ScopeNames
    calls: tuple[tuple[Function, frozenset[str]], ...]
    first: int | None
    passed: tuple[str, ...]


@dataclass(eq=False, slots=True)
class Need:
    """The outputs that a query must have: `aggregate sum param:f:T of` stands before it.

    That is a name of one of the types; or no such name, if the query `may_lack` it.
    """

    name: str
    types: frozenset[Type]
    may_lack: bool

    def is_met(self, scope: ScopeNames) -> bool:
        """Return whether outputs are as needed."""
        type_ = scope.get(self.name)
        return self.may_lack if type_ is None else type_ in self.types


@dataclass(eq=False, slots=True)
class Fit:
    """A type that is wanted, and in an array the type of the items before.

    Attributes:
        expected: the type.
        element: the type of the items before; Any goes with all.
        arrays: how many arrays are around the value. Inside of two, only values of exactly the
            type fit: then all items go together, whatever the arrays around hold.
        is_compared: whether it is the right side of a comparison, where a time goes with a date.
        lenient: whether text that is passed on may stand for an entity.
        takes_text: whether text that is written there may, too.
        is_positive: whether numbers must be more than zero.
        signatures: the library.
        units: those that programs may have.
    """

    expected: Type
    element: Type
    arrays: int
    is_compared: bool
    lenient: bool
    takes_text: bool
    is_positive: bool
    signatures: Signatures
    units: Units
    _known: dict[tuple[Type, bool], bool] = field(default_factory=dict)

    def takes(self, type_: Type, *, is_constant: bool = False) -> bool:
        """Return whether a value of a type may stand here: one that is passed on, or a constant."""
        key = type_, is_constant
        is_taken = self._known.get(key)
        if is_taken is None:
            is_taken = self._known[key] = self._fits(type_, is_constant) and (
                unite_types(self.element, type_, self.signatures) is not None
            )
        return is_taken

    def _fits(self, type_: Type, is_constant: bool) -> bool:
        if self.arrays < 2 or isinstance(type_, Measure | Enum):
            return is_assignable(
                type_,
                self.expected,
                self.signatures,
                lenient=self.lenient,
                is_compared=self.is_compared,
                is_constant=is_constant and not self.takes_text,
            )
        return type_ in (self.expected, ANY)

    def numbers(self, tokens: Iterable[str]) -> frozenset[str]:
        """Return those of some tokens of numbers that may stand here."""
        return frozenset(t for t in tokens if not self.is_positive or Decimal(t) > 0)

    @property
    def items(self) -> Type | None:
        """Return the type of the items of an array, or None where no array fits."""
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
        units: units that a program can have.
        kept: facts about the library that modules keep, each under a key of its own.
    """

    def __init__(
        self, library: Signatures, style: TokenStyle, limits: GrammarLimits, constants: Constants
    ):
        self.library, self.style = library, style
        self.limits, self.constants = limits, constants
        self.automaton = Automaton(
            limits.tokens, limits.reserve(constants.longest_text), self._forget
        )
        self.kept: dict[Hashable, Any] = {}
        self._once: dict[tuple[Any, ...], Any] = {}
        self._under: dict[tuple[ScopeNames, ScopeNames], ScopeNames] = {}
        self.empty = self.scope({})
        self.functions = tuple(Function(s, self) for s in _signatures(library))
        self.by_token = {f.token: f for f in self.functions}
        self.queries = tuple(f for f in self.functions if f.signature.kind == "query")
        self.monitored = tuple(f for f in self.queries if f.signature.is_monitorable)
        self.actions = tuple(f for f in self.functions if f.signature.kind == "action")
        self.kinds = _kinds(self.types(), library, constants)
        self.units = library.units.for_programs(
            declared_units(f.signature for f in self.functions),
            {token.removeprefix("unit:") for token in constants.find("unit:")},
        )

    def types(self) -> tuple[Type, ...]:
        """Return the types of all parameters, each once."""
        types = (p.type for f in self.functions for p in f.signature.parameters)
        return tuple(dict.fromkeys(types))

    # -------------------------------------------------------------- names

    def token(self, prefix: str, name: str, type_: Type) -> str:
        """Return the token of a name."""
        return f"{prefix}:{name}:{type_}" if self.style.types else f"{prefix}:{name}"

    def scope(self, types: Mapping[str, Type]) -> ScopeNames:
        """Return the names of those types."""
        key = tuple(sorted(types.items(), key=itemgetter(0)))
        names: ScopeNames | None = self._once.get((ScopeNames, key))
        if names is None:
            tokens = {name: self.token("param", name, type_) for name, type_ in key}
            names = self._once[ScopeNames, key] = ScopeNames(dict(key), tokens)
        return names

    def names_of(self, parameters: Iterable[Parameter]) -> ScopeNames:
        """Return the names of parameters."""
        return self.scope({p.name: p.type for p in parameters})

    def under(self, left: ScopeNames, right: ScopeNames) -> ScopeNames:
        """Return both as one; a name in both is the right one's (Genie, section 2.3)."""
        if not left.types:
            return right
        if not right.types:
            return left
        names = self._under.get((left, right))
        if names is None:
            names = self._under[left, right] = self.scope({**left.types, **right.types})
        return names

    # --------------------------------------------------- queries and types

    def describe_query(
        self,
        scope: ScopeNames,
        calls: tuple[tuple[Function, frozenset[str]], ...],
        first: int | None = None,
        passed: tuple[str, ...] = (),
    ) -> QueryFacts:
        """Return the facts about a query."""
        query: QueryFacts = self._make_once(QueryFacts, scope, calls, first, passed)
        return query

    def make_need(self, name: str, types: frozenset[Type], may_lack: bool = False) -> Need:
        """Return the requirement for outputs."""
        need: Need = self._make_once(Need, name, types, may_lack)
        return need

    def fit(
        self,
        expected: Type,
        element: Type = ANY,
        arrays: int = 0,
        *,
        is_compared: bool = False,
        lenient: bool = True,
        takes_text: bool = False,
        is_positive: bool = False,
    ) -> Fit:
        """Return the wish for a type."""
        parts = (expected, element, arrays, is_compared, lenient, takes_text, is_positive)
        fit: Fit | None = self._once.get((Fit, *parts))
        if fit is None:
            fit = self._once[Fit, *parts] = Fit(*parts, self.library, self.units)
        return fit

    def _forget(self) -> None:
        """Forget the parts of frames; those still in use stay as good as new ones."""
        self.kept.clear()
        self._once.clear()
        self._under.clear()

    def _make_once(self, kind: type[Any], *parts: Hashable) -> Any:
        item = self._once.get((kind, *parts))
        if item is None:
            item = self._once[(kind, *parts)] = kind(*parts)
        return item


def _signatures(library: Signatures) -> Iterable[Signature]:
    """Yield the functions that programs may call: all that the type checker finds."""
    for class_name in library.class_names():
        for name in library.function_names(class_name):
            signature = library.function(class_name, name)
            if signature is not None:
                yield signature


def _kinds(types: Iterable[Type], library: Any, constants: Constants) -> tuple[str, ...]:
    """Return the kinds of entities that the library speaks of, and those built in."""
    kinds = {*ALIASES.values(), "tt:contact", "tt:contact_name", *constants.kinds}
    kinds.update(getattr(library, "entity_types", ()))
    for type_ in types:
        while isinstance(type_, Array):
            type_ = type_.element
        if isinstance(type_, Entity):
            kinds.add(type_.kind)
    return tuple(sorted(kinds))
