"""Calls and conditions: what programs give to functions, and ask of results."""

from dataclasses import dataclass, replace

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move, Wait
from genie_dp.languages.thingtalk.ast import COMPUTATIONS, OPERATORS, SOFT_OPERATORS
from genie_dp.languages.thingtalk.decoding.catalogue import (
    Catalogue,
    Fit,
    Function,
    QueryFacts,
    ScopeNames,
)
from genie_dp.languages.thingtalk.decoding.values import ValueFrame
from genie_dp.languages.thingtalk.operators import (
    ATTRIBUTES,
    ITEM,
    computed_type,
    is_identifier,
    operand_type,
    operators_of,
)
from genie_dp.languages.types import ANY, BOOLEAN, LOCATION, Array, Type


class Arguments(Frame):
    """What may still be given to a function; leaves Found for it.

    Attributes:
        function: the function.
        scope: names that may be passed.
        has_event: whether `event` means something here.
        given: its inputs that have a value.
        last: the last attribute, constant or passed name so far, which the next one must follow
            in the canonical order; stages come in the order of STAGES.
    """

    __slots__ = ("catalogue", "function", "given", "has_event", "last", "scope", "stage", "starts")

    def __init__(
        self,
        catalogue: Catalogue,
        function: Function,
        scope: ScopeNames,
        has_event: bool,
        given: frozenset[str] = frozenset(),
        stage: int = 0,
        last: str = "",
    ):
        self.catalogue, self.function, self.scope = catalogue, function, scope
        self.has_event, self.given, self.stage, self.last = has_event, given, stage, last
        self.starts = self._attributes() | self._constants()
        fixed = frozenset(self.starts)
        if self.passable():
            fixed |= {"on"}
        result = catalogue.describe_query(function.outputs, ((function, given),))
        super().__init__(fixed, closing=NOTHING, skips=True, result=result)

    def _attributes(self) -> dict[str, tuple[str, Type]]:
        """Return token -> name and type of the attributes that may come."""
        if self.stage > _ATTRIBUTE:
            return {}
        token = self.catalogue.token
        return {
            token("attribute", name, type_): (name, type_)
            for name, type_ in ATTRIBUTES.items()
            if name > self.last
        }

    def _constants(self) -> dict[str, tuple[str, Type]]:
        """Return token -> name and type of the inputs that may get a constant."""
        inputs = self.function.inputs
        if self.catalogue.style.canonical and self.stage > _CONSTANT:
            return {}
        last = self.last if self._is_sorted(_CONSTANT) else ""
        names = (name for name in self.function.order if name > last and name not in self.given)
        return {inputs.tokens[name]: (name, inputs.types[name]) for name in names}

    def _is_sorted(self, stage: int) -> bool:
        return self.catalogue.style.canonical and self.stage == stage

    def passable(self) -> dict[str, tuple[str, Type]]:
        """Return token -> name and type of the inputs that something in scope may be passed to."""
        last = self.last if self._is_sorted(_PASSED) else ""
        inputs, inputs_by_token = self.function.inputs, {}
        for name in self.function.order:
            type_ = inputs.types[name]
            if (
                name > last
                and name not in self.given
                and find_passable(self.catalogue, self.scope, type_)
            ):
                inputs_by_token[inputs.tokens[name]] = (name, type_)
        return inputs_by_token

    def after(self, stage: int, name: str) -> "Arguments":
        """Return what may come after a name of a stage."""
        given_names = self.given if stage == _ATTRIBUTE else self.given | {name}
        return self.catalogue.automaton.make(
            Arguments,
            self.catalogue,
            self.function,
            self.scope,
            self.has_event,
            given_names,
            stage,
            name,
        )

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a value."""
        make, catalogue = self.catalogue.automaton.make, self.catalogue
        if token == "on":
            return (make(PassedName, self),), None
        name, type_ = self.starts[token]
        fit, equals = catalogue.fit(type_), catalogue.automaton.token("=")
        if token.startswith("attribute:"):  # which device is meant is known beforehand
            value = make(ValueFrame, catalogue, fit, catalogue.empty, False, False)
            return (equals, value, self.after(_ATTRIBUTE, name)), None
        value = make(ValueFrame, catalogue, fit, self.scope, self.has_event, True)
        return (equals, value, self.after(_CONSTANT, name)), None


_ATTRIBUTE, _CONSTANT, _PASSED = range(3)


def find_passable(catalogue: Catalogue, scope: ScopeNames, type_: Type) -> frozenset[str]:
    """Return the tokens of the names in scope that fit an input."""
    fit: Fit = catalogue.fit(type_)
    return frozenset(
        scope.tokens[name] for name, output_type in scope.types.items() if fit.takes(output_type)
    )


class PassedName(Frame):
    """The input that something is passed to, after `on`."""

    __slots__ = ("call", "names")

    def __init__(self, call: Arguments):
        self.call = call
        self.names = call.passable()
        super().__init__(frozenset(self.names))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with what is passed."""
        name, type_ = self.names[token]
        catalogue = self.call.catalogue
        output = catalogue.automaton.make(ScopeOutput, catalogue, self.call.scope, type_)
        return (catalogue.automaton.token("="), output, self.call.after(_PASSED, name)), None


class ScopeOutput(Frame):
    """An output in scope that fits an input."""

    __slots__ = ()

    def __init__(self, catalogue: Catalogue, scope: ScopeNames, type_: Type):
        super().__init__(find_passable(catalogue, scope, type_))


@dataclass(frozen=True, slots=True)
class ConditionScope:
    """What a predicate may speak of.

    Attributes:
        fields: names that are compared.
        scope: names that values may refer to.
        calls: names that may be passed to get predicates.
        has_event: whether `event` means something here.
        nesting: brackets around it.
        is_of_list: whether it is about the values of a list, and asks no queries.
        takes_text: whether text may stand for an entity, as for who asks.
    """

    catalogue: Catalogue
    fields: ScopeNames
    scope: ScopeNames
    calls: ScopeNames
    has_event: bool
    nesting: int
    is_of_list: bool = False
    takes_text: bool = False


def condition(
    catalogue: Catalogue, fields: ScopeNames, outer: ScopeNames, has_event: bool, nesting: int
) -> ConditionScope:
    """Return the condition of a filter; its values may also use names of `outer`."""
    scope = catalogue.under(outer, fields)
    return ConditionScope(catalogue, fields, scope, scope, has_event, nesting)


def predicate(of: ConditionScope) -> tuple[Frame, ...]:
    """Return the frames of a predicate."""
    make = of.catalogue.automaton.make
    return make(AtomFrame, of, False), make(More, of, 1, 1)


class AtomFrame(Frame):
    """A comparison, a get predicate, `true`, `false`, or `not` and one of the first two."""

    __slots__ = ("is_negated", "of")

    def __init__(self, of: ConditionScope, is_negated: bool):
        self.of, self.is_negated = of, is_negated
        catalogue = of.catalogue
        is_deep = of.nesting >= catalogue.limits.nesting
        queries = () if is_deep or of.is_of_list else catalogue.queries
        names = frozenset(of.fields.names) | {f.token for f in queries}
        names |= NOTHING if is_deep else computable(catalogue, of.fields)
        if is_negated:
            super().__init__(names, closing=frozenset(of.fields.names) or names)
            return
        words = {"true", "false", "not"} if names else {"true", "false"}
        super().__init__(names | words, closing=frozenset(("true",)))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on after a name, a query or `not`."""
        of = self.of
        make = of.catalogue.automaton.make
        if token == "not":
            return (make(AtomFrame, of, True),), None
        if token in ("true", "false"):
            return (), None
        if token in of.fields.names:
            name = of.fields.names[token]
            return (make(Operator, of, name, of.fields.types[name]),), None
        if token in COMPUTED:
            return (*computed(of, token), make(Compared, of)), None
        function = of.catalogue.by_token[token]
        call = make(Arguments, of.catalogue, function, of.calls, of.has_event)
        return (call, make(Inside, of)), None


class Operator(Frame):
    """An operator that takes the type of the name on its left."""

    __slots__ = ("name", "of", "type_")

    def __init__(self, of: ConditionScope, name: str, type_: Type):
        self.of, self.name, self.type_ = of, name, type_
        fixed = frozenset(OPERATORS if type_ == ANY else operators_of(type_))
        constructs = of.catalogue.constants.constructs
        soft = {o for o in SOFT_OPERATORS if o in constructs and operand_type(o, type_)}
        super().__init__(fixed | soft, closing=fixed)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a value of the type that the operator wants."""
        operand = operand_type(token, self.type_)
        assert operand is not None
        of = self.of
        lenient = not is_identifier(self.name, self.type_, token)
        fit = of.catalogue.fit(operand, is_compared=True, lenient=lenient, takes_text=of.takes_text)
        make = of.catalogue.automaton.make
        return (make(ValueFrame, of.catalogue, fit, of.scope, of.has_event, False),), None


class Inside(Wait):
    """The condition of a get predicate, on the outputs of its call."""

    __slots__ = ("of",)

    def __init__(self, of: ConditionScope):
        super().__init__()
        self.of = of

    def resume(self, result: QueryFacts) -> Move:
        """Go on with a predicate in braces."""
        of, token = self.of, self.of.catalogue.automaton.token
        outer = of.calls
        scope = of.catalogue.under(outer, result.scope)
        inner = replace(
            of, fields=result.scope, scope=scope, calls=scope, nesting=of.nesting + 1,
            takes_text=False,
        )  # fmt: skip
        return (token("{"), *predicate(inner), token("}")), None


class More(Frame):
    """Another comparison after `or`, another clause after `and`, or the end."""

    __slots__ = ("clauses", "of", "operands")

    def __init__(self, of: ConditionScope, clauses: int, operands: int):
        self.of, self.clauses, self.operands = of, clauses, operands
        limits = of.catalogue.limits
        words = {"and"} if clauses < limits.clauses else set()
        if operands < limits.alternatives:
            words.add("or")
        super().__init__(frozenset(words), closing=NOTHING, skips=True)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a comparison."""
        is_or = token == "or"
        clauses = self.clauses + (not is_or)
        make = self.of.catalogue.automaton.make
        more = make(More, self.of, clauses, self.operands + 1 if is_or else 1)
        return (make(AtomFrame, self.of, False), more), None


# -------------------------------------------------------------------------- computed values

COMPUTED = frozenset((*COMPUTATIONS, *OPERATORS, *SOFT_OPERATORS))


def computable(catalogue: Catalogue, fields: ScopeNames) -> frozenset[str]:
    """Return the operators that programs compute values with, of one of the fields."""
    constructs = catalogue.constants.constructs
    operators = {o for o in COMPUTED if f"{o}(" in constructs}
    return frozenset(o for o in operators if computed_of(fields, o)) if operators else NOTHING


def computed_of(fields: ScopeNames, operator: str) -> dict[str, Type]:
    """Return token -> type of the value that an operator computes of each field that it takes."""
    found: dict[str, Type] = {}
    for name, type_ in fields.types.items():
        types = [type_, LOCATION] if operator == "distance" else [type_]
        result = computed_type(operator, types)
        if operator not in COMPUTATIONS and operand_type(operator, type_) is not None:
            result = BOOLEAN
        if result is not None:
            found[fields.tokens[name]] = result
    return found


def computed(of: ConditionScope, operator: str) -> tuple[Frame, ...]:
    """Return the frames of `( param:a:T )` after an operator; they leave (name, type)."""
    automaton = of.catalogue.automaton
    return automaton.token("("), automaton.make(ComputedField, of, operator)


class ComputedField(Frame):
    """The output that a value is computed of."""

    __slots__ = ("of", "operator", "types")

    def __init__(self, of: ConditionScope, operator: str):
        self.of, self.operator = of, operator
        self.types = computed_of(of.fields, operator)
        super().__init__(frozenset(self.types))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a condition on a list, or with what else the operator takes."""
        of, catalogue = self.of, self.of.catalogue
        automaton = catalogue.automaton
        name = of.fields.names[token]
        computed_value = (f"{self.operator}.{name}", self.types[token])
        end = (automaton.token(")"), automaton.make(GiveComputed, computed_value))
        type_ = of.fields.types[name]
        if self.operator == "distance":
            return (automaton.token(","), self._value(LOCATION), *end), None
        if self.operator not in COMPUTATIONS:
            operand = operand_type(self.operator, type_)
            assert operand is not None
            return (automaton.token(","), self._value(operand), *end), None
        if not isinstance(type_, Array) or of.nesting + 1 >= catalogue.limits.nesting:
            return end, None
        return (automaton.make(ListCondition, of, type_.element), *end), None

    def _value(self, type_: Type) -> Frame:
        of, catalogue = self.of, self.of.catalogue
        fit = catalogue.fit(type_, is_compared=self.operator not in COMPUTATIONS)
        return catalogue.automaton.make(ValueFrame, catalogue, fit, of.scope, of.has_event, False)


class ListCondition(Frame):
    """`filter` and a condition on the values of a list, or nothing."""

    __slots__ = ("element", "of")

    def __init__(self, of: ConditionScope, element: Type):
        self.of, self.element = of, element
        is_known = "filter" in of.catalogue.constants.constructs
        fixed = frozenset(("filter",)) if is_known else NOTHING
        super().__init__(fixed, closing=NOTHING, skips=True)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the condition."""
        of, catalogue = self.of, self.of.catalogue
        items = catalogue.scope({ITEM: self.element})
        scope = catalogue.under(of.scope, items)
        inner = replace(
            of, fields=items, scope=scope, calls=scope, nesting=of.nesting + 1, is_of_list=True
        )
        return predicate(inner), None


class GiveComputed(Frame):
    """Leaves the name and the type of a computed value."""

    __slots__ = ()

    def __init__(self, computed_value: tuple[str, Type]):
        super().__init__(NOTHING, closing=NOTHING, skips=True, result=computed_value)


class Compared(Wait):
    """After a computed value on the left: the operator."""

    __slots__ = ("of",)

    def __init__(self, of: ConditionScope):
        super().__init__()
        self.of = of

    def resume(self, result: tuple[str, Type]) -> Move:
        """Go on with an operator of its type."""
        name, type_ = result
        return (self.of.catalogue.automaton.make(Operator, self.of, name, type_),), None
