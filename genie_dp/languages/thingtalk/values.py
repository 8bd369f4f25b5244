"""Pieces of ThingTalk programs as synthesis makes them: canonical text in parts, no tree.

Building a tree for every row, canonicalising and printing it costs more than all else together
(25 us against 0.2 us a row, measured November 2026). So a piece keeps its canonical token text
in the parts that a further construct may touch, and the operations of compose.py keep it canonical:
a new filter merges two sorted clause tuples, a join nests texts.

The classes are slotted and not frozen: freezing triples the cost of making one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.signatures import Signature

Operand = tuple[int, str, str, str, str]
"""One comparison: (rank, parameter or function, operator, value text, whole text).

Rank 0 is a get-predicate, 1 a negation, 2 a plain comparison: tuples sort as canonical form does.
"""
Clause = tuple[Operand, ...]
Names = Sequence[tuple[str, str]]
Slots = tuple[tuple[str, str, str], ...]


def renamed(text: str, names: Names) -> str:
    """Return the text with each (old, new) of names replaced, one after the other.

    >>> renamed("a b", [("b", "c"), ("a", "b")])
    'b c'
    """
    for old, new in names:
        text = text.replace(old, new)
    return text


def clause_text(clause: Clause) -> str:
    """Return one clause: its operands joined by `or`."""
    return clause[0][4] if len(clause) == 1 else " or ".join(o[4] for o in clause)


def clauses_text(clauses: tuple[Clause, ...]) -> str:
    """Return a conjunction of clauses."""
    if len(clauses) == 1:
        return clause_text(clauses[0])
    return " and ".join(clause_text(c) for c in clauses)


def shift_clauses(clauses: tuple[Clause, ...], names: Names) -> tuple[Clause, ...]:
    """Return the clauses with placeholders renamed, in canonical order again."""
    return tuple(
        sorted(
            tuple(
                sorted((r, n, o, renamed(v, names), renamed(t, names)) for r, n, o, v, t in clause)
            )
            for clause in clauses
        )
    )


# ---------------------------------------------------------------------------------- states


@dataclass(frozen=True, slots=True)
class QueryState:
    """What guards may ask of a query; `function` is the right-most one, "" after aggregation.

    `filters` counts the clauses of the right-most function's filter. `is_dated`: the members of
    the list have a date, so that there are new ones from time to time; `only_before`: only those
    before some date, so that there are none. `inner` names those outputs of the function that
    may be said of a noun inside of the phrase as well (inner.py): nothing without a join.
    """

    function: str
    class_name: str
    is_list: bool
    is_monitorable: bool
    is_join: bool = False
    is_aggregate: bool = False
    is_filtered: bool = False
    filters: int = 0
    is_dated: bool = False
    only_before: bool = False
    inner: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SourceState:
    """What guards may ask of an output of a query."""

    function: str
    name: str
    type: str
    key: str
    is_list: bool
    is_monitorable: bool
    is_join: bool
    is_unique: bool
    is_numeric: bool
    is_ordered: bool
    is_enum: bool
    filters: int


@dataclass(frozen=True, slots=True)
class StreamState:
    """What guards may ask of a stream; `function` is the right-most one, "" for timers."""

    function: str
    is_timer: bool = False
    is_edge: bool = False


@dataclass(frozen=True, slots=True)
class ActionState:
    """What guards may ask of an action."""

    function: str
    class_name: str


@dataclass(frozen=True, slots=True)
class PredicateState:
    """What guards may ask of a predicate; name and operator are "" unless it is one comparison."""

    function: str
    name: str = ""
    operator: str = ""


@dataclass(frozen=True, slots=True)
class ParameterState:
    """What guards may ask of a parameter (built-in categories OUTPUT and INPUT)."""

    function: str
    name: str
    type: str
    element: str
    key: str
    is_numeric: bool
    is_ordered: bool
    is_text: bool
    is_boolean: bool
    is_enum: bool
    is_entity: bool
    is_additive: bool
    is_unique: bool


@dataclass(frozen=True, slots=True)
class ConstantState:
    """What guards may ask of a constant."""

    type: str
    key: str


@dataclass(frozen=True, slots=True)
class ProgramState:
    """Programs are complete: nothing is asked of them but whether they are policies."""

    is_policy: bool = False


# Kind -> what guards may ask; OUTPUT and INPUT are the built-in categories of templates.
ATTRIBUTES: Mapping[str, frozenset[str]] = {
    kind: frozenset(f.name for f in fields(state))
    for kind, state in (
        ("query", QueryState), ("source", SourceState), ("stream", StreamState),
        ("action", ActionState), ("predicate", PredicateState), ("value", ConstantState),
        ("output", ParameterState), ("input", ParameterState), ("program", ProgramState),
        ("policy", ProgramState),
    )
}  # fmt: skip

# Interned, so that thousands of pieces share one object and equal states compare fast.
query_state = lru_cache(maxsize=None)(QueryState)
source_state = lru_cache(maxsize=None)(SourceState)
stream_state = lru_cache(maxsize=None)(StreamState)
predicate_state = lru_cache(maxsize=None)(PredicateState)
PROGRAM = ProgramState()
POLICY = ProgramState(is_policy=True)


# ---------------------------------------------------------------------------------- values


@dataclass(slots=True)
class QueryValue:
    """A query: `left` join ( ( `call` ) filter `clauses` ) `tail`; left "" without a join.

    `passed` holds arguments passed from a stream or join into `call`. With an aggregate, `call` is
    the whole finished text. `gap_text` is the typed name of the input left open.
    """

    call: str
    functions: tuple[str, ...]
    state: QueryState
    clauses: tuple[Clause, ...] = ()
    left: str = ""
    tail: str = ""
    gap: str = ""
    gap_text: str = ""
    slots: Slots = ()
    kind: str = "query"
    _text: str = ""

    @property
    def core(self) -> str:
        """Return the right-most function with its filter."""
        if not self.clauses:
            return self.call
        return f"( {self.call} ) filter {clauses_text(self.clauses)}"

    @property
    def text(self) -> str:
        """Return the whole query."""
        if not self._text:
            self._text = f"{self.left}( {self.core} ){self.tail}" if self.left else self.core
        return self._text

    def shift(self, names: Names) -> "QueryValue":
        """Return the query with placeholders renamed."""
        return QueryValue(
            renamed(self.call, names),
            self.functions,
            self.state,
            shift_clauses(self.clauses, names) if self.clauses else (),
            renamed(self.left, names) if self.left else "",
            self.tail,
            self.gap,
            self.gap_text,
            self.slots,
        )


@dataclass(slots=True)
class SourceValue:
    """An output of a query: something that can be passed into a gap."""

    query: QueryValue
    output: str  # typed name, such as param:title:String
    state: SourceState
    gap: str = ""
    slots: Slots = ()
    kind: str = "source"

    @property
    def text(self) -> str:
        """Return the query's text: ThingTalk 1.x has no projection."""
        return self.query.text

    @property
    def functions(self) -> tuple[str, ...]:
        """Return the query's functions."""
        return self.query.functions

    def shift(self, names: Names) -> "SourceValue":
        """Return the source with placeholders renamed."""
        return SourceValue(self.query.shift(names), self.output, self.state)


@dataclass(slots=True)
class StreamValue:
    """A stream, or a program's beginning."""

    text: str
    functions: tuple[str, ...]
    state: StreamState
    gap: str = ""
    slots: Slots = ()
    kind: str = "stream"

    def shift(self, names: Names) -> "StreamValue":
        """Return the stream with placeholders renamed."""
        return StreamValue(renamed(self.text, names), self.functions, self.state)


@dataclass(slots=True)
class ActionValue:
    """An action; `gap_text` is the typed name of the input left open."""

    text: str
    functions: tuple[str, ...]
    state: ActionState
    gap: str = ""
    gap_text: str = ""
    slots: Slots = ()
    kind: str = "action"

    def shift(self, names: Names) -> "ActionValue":
        """Return the action with placeholders renamed."""
        return ActionValue(
            renamed(self.text, names), self.functions, self.state, self.gap, self.gap_text
        )


@dataclass(slots=True)
class PredicateValue:
    """A predicate on the outputs of one function: clauses in canonical order."""

    clauses: tuple[Clause, ...]
    functions: tuple[str, ...]
    state: PredicateState
    gap: str = ""
    slots: Slots = ()
    kind: str = "predicate"

    @property
    def text(self) -> str:
        """Return the conjunction."""
        return clauses_text(self.clauses)

    def shift(self, names: Names) -> "PredicateValue":
        """Return the predicate with placeholders renamed."""
        return PredicateValue(shift_clauses(self.clauses, names), self.functions, self.state)


@dataclass(slots=True)
class ConstantValue:
    """A constant: a placeholder or a fixed value; `node` is its syntax tree."""

    text: str
    state: ConstantState
    node: ast.Value
    functions: tuple[str, ...] = ()
    gap: str = ""
    slots: Slots = ()
    kind: str = "value"

    def shift(self, names: Names) -> "ConstantValue":
        """Return the constant with placeholders renamed."""
        node = self.node
        if isinstance(node, ast.SlotValue):
            node = replace(node, token=renamed(node.token, names))
        return ConstantValue(renamed(self.text, names), self.state, node)


@dataclass(slots=True)
class GapValue:
    """Stands for a placeholder of a leaf that stays open."""

    gap: str
    text: str = ""
    functions: tuple[str, ...] = ()
    state: ConstantState = field(default=ConstantState("", ""))
    slots: Slots = ()
    kind: str = "value"

    def shift(self, names: Names) -> "GapValue":
        """Return itself: an open placeholder has no number."""
        return self


@dataclass(slots=True)
class ParameterValue:
    """A parameter of the library, named in a template body by a child of OUTPUT or INPUT."""

    signature: Signature
    name: str
    typed: str
    state: ParameterState
    functions: tuple[str, ...] = ()
    gap: str = ""
    slots: Slots = ()
    kind: str = "param"

    @property
    def text(self) -> str:
        """Return the parameter with its function: unique in a library."""
        return f"{self.state.function}:{self.name}"

    def shift(self, names: Names) -> "ParameterValue":
        """Return itself: a parameter holds no placeholders."""
        return self


@dataclass(slots=True)
class ProgramValue:
    """A complete program or policy."""

    text: str
    functions: tuple[str, ...]
    state: ProgramState
    gap: str = ""
    slots: Slots = ()
    kind: str = "program"

    def shift(self, names: Names) -> "ProgramValue":
        """Return the program with placeholders renamed."""
        return ProgramValue(renamed(self.text, names), self.functions, self.state)


AnyValue = (
    QueryValue
    | SourceValue
    | StreamValue
    | ActionValue
    | PredicateValue
    | ConstantValue
    | GapValue
    | ParameterValue
    | ProgramValue
)
