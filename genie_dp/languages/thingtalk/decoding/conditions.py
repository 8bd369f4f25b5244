"""Calls and conditions: inputs of functions, and conditions on their results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move
from genie_dp.languages.terms.frames import Choice
from genie_dp.languages.thingtalk.ast import COMPUTATIONS, COMPUTED, OPERATORS, SOFT_OPERATORS
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
    """The inputs that a function may still be given; leaves Found for it.

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
        """Return the frames after a name of a stage."""
        given_names = self.given if stage == _ATTRIBUTE else self.given | {name}
        place = self.catalogue, self.function, self.scope, self.has_event
        return self.catalogue.automaton.make(Arguments, *place, given_names, stage, name)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with a value."""
        make, catalogue = self.catalogue.automaton.make, self.catalogue
        if token == "on":
            return (make(_passed_name, self),), None
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


def _passed_name(call: Arguments) -> Frame:
    """Return the input that something is passed to, after `on`."""
    names, catalogue = call.passable(), call.catalogue

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        name, type_ = names[token]
        output = catalogue.automaton.make(passed_output, catalogue, call.scope, type_)
        return catalogue.automaton.token("="), output, call.after(_PASSED, name)

    return Choice(frozenset(names), following)


def passed_output(catalogue: Catalogue, scope: ScopeNames, type_: Type) -> Frame:
    """Return an output in scope that fits an input."""
    return Frame(find_passable(catalogue, scope, type_))


@dataclass(frozen=True, slots=True)
class ConditionScope:
    """The names that a predicate may use.

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
    return make(_atom, of, False), make(_more, of, 1, 1)


def _atom(of: ConditionScope, is_negated: bool) -> Frame:
    """Return a comparison, a get predicate, `true`, `false`, or `not` and one of the first two."""
    catalogue = of.catalogue
    automaton, make = catalogue.automaton, catalogue.automaton.make
    is_deep = of.nesting >= catalogue.limits.nesting
    queries = () if is_deep or of.is_of_list else catalogue.queries
    fields = frozenset(of.fields.names)
    names = fields | {f.token for f in queries}
    names |= NOTHING if is_deep else computable(catalogue, of.fields)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "not":
            return (make(_atom, of, True),)
        if token in ("true", "false"):
            return ()
        if token in of.fields.names:
            name = of.fields.names[token]
            return (make(_operator, of, name, of.fields.types[name]),)
        if token in COMPUTED:
            return *begin_computed(of, token), automaton.after(_compare_computed, of)
        function = catalogue.by_token[token]
        call = make(Arguments, catalogue, function, of.calls, of.has_event)
        return call, automaton.after(_inside, of)

    if is_negated:
        return Choice(names, following, closing=fields or names)
    words = {"true", "false", "not"} if names else {"true", "false"}
    return Choice(names | words, following, closing=frozenset(("true",)))


def _operator(of: ConditionScope, name: str, left_type: Type) -> Frame:
    """Return an operator that takes the type of the name on its left."""
    fixed = frozenset(OPERATORS if left_type == ANY else operators_of(left_type))
    constructs = of.catalogue.constants.constructs
    soft = {o for o in SOFT_OPERATORS if o in constructs and operand_type(o, left_type)}

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        operand = operand_type(token, left_type)
        assert operand is not None
        lenient = not is_identifier(name, left_type, token)
        fit = of.catalogue.fit(operand, is_compared=True, lenient=lenient, takes_text=of.takes_text)
        make = of.catalogue.automaton.make
        return (make(ValueFrame, of.catalogue, fit, of.scope, of.has_event, False),)

    return Choice(fixed | soft, following, closing=fixed)


def _compare_computed(of: ConditionScope, computed_value: tuple[str, Type]) -> Sequence[Frame]:
    """Go on after a computed value with an operator of its type."""
    return (of.catalogue.automaton.make(_operator, of, *computed_value),)


def _inside(of: ConditionScope, query: QueryFacts) -> Sequence[Frame]:
    """Go on after the call of a get predicate with a condition on its outputs, in braces."""
    token = of.catalogue.automaton.token
    scope = of.catalogue.under(of.calls, query.scope)
    inner = replace(
        of, fields=query.scope, scope=scope, calls=scope, nesting=of.nesting + 1, takes_text=False
    )
    return token("{"), *predicate(inner), token("}")


def _more(of: ConditionScope, clauses: int, operands: int) -> Frame:
    """Return another comparison after `or`, another clause after `and`, or the end."""
    limits, make = of.catalogue.limits, of.catalogue.automaton.make
    words = {"and"} if clauses < limits.clauses else set()
    if operands < limits.alternatives:
        words.add("or")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        is_or = token == "or"
        count = (clauses, operands + 1) if is_or else (clauses + 1, 1)
        return make(_atom, of, False), make(_more, of, *count)

    return Choice(frozenset(words), following, closing=NOTHING, skips=True)


# -------------------------------------------------------------------------- computed values


def computable(catalogue: Catalogue, fields: ScopeNames) -> frozenset[str]:
    """Return the operators that programs compute values with, of one of the fields."""
    constructs = catalogue.constants.constructs
    operators = {o for o in COMPUTED if f"{o}(" in constructs}
    return frozenset(o for o in operators if computed_of(fields, o)) if operators else NOTHING


def computed_of(fields: ScopeNames, operator: str) -> dict[str, Type]:
    """Return token -> type of the value that an operator computes of each field that it takes."""
    types_of_names: dict[str, Type] = {}
    for name, type_ in fields.types.items():
        types = [type_, LOCATION] if operator == "distance" else [type_]
        result = computed_type(operator, types)
        if operator not in COMPUTATIONS and operand_type(operator, type_) is not None:
            result = BOOLEAN
        if result is not None:
            types_of_names[fields.tokens[name]] = result
    return types_of_names


def begin_computed(of: ConditionScope, operator: str) -> tuple[Frame, ...]:
    """Return the frames of `( param:a:T )` after an operator; they leave (name, type)."""
    automaton = of.catalogue.automaton
    return automaton.token("("), automaton.make(_computed_field, of, operator)


def _computed_field(of: ConditionScope, operator: str) -> Frame:
    """Return the output that a value is computed of."""
    catalogue, automaton = of.catalogue, of.catalogue.automaton
    types = computed_of(of.fields, operator)

    def value(type_: Type) -> Frame:
        fit = catalogue.fit(type_, is_compared=operator not in COMPUTATIONS)
        return automaton.make(ValueFrame, catalogue, fit, of.scope, of.has_event, False)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        name = of.fields.names[token]
        end = automaton.token(")"), automaton.give((f"{operator}.{name}", types[token]))
        type_ = of.fields.types[name]
        if operator == "distance":
            return automaton.token(","), value(LOCATION), *end
        if operator not in COMPUTATIONS:
            operand = operand_type(operator, type_)
            assert operand is not None
            return automaton.token(","), value(operand), *end
        if not isinstance(type_, Array) or of.nesting + 1 >= catalogue.limits.nesting:
            return end
        return automaton.make(_list_condition, of, type_.element), *end

    return Choice(frozenset(types), following)


def _list_condition(of: ConditionScope, element: Type) -> Frame:
    """Return `filter` and a condition on the values of a list, or nothing."""
    catalogue = of.catalogue

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        items = catalogue.scope({ITEM: element})
        scope = catalogue.under(of.scope, items)
        inner = replace(
            of, fields=items, scope=scope, calls=scope, nesting=of.nesting + 1, is_of_list=True
        )
        return predicate(inner)

    fixed = frozenset(("filter",)) & catalogue.constants.constructs
    return Choice(fixed, following, closing=NOTHING, skips=True)
