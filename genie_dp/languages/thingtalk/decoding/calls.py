"""Calls: device attributes, constants by name, passed outputs by name."""

from genie_dp.languages.automaton import NOTHING, Frame, Move
from genie_dp.languages.copying import Sentence
from genie_dp.languages.thingtalk.assign import ATTRIBUTES
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Fit, Function, Names
from genie_dp.languages.thingtalk.decoding.values import ValueFrame
from genie_dp.languages.thingtalk.types import Type


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
        scope: Names,
        has_event: bool,
        given: frozenset[str] = frozenset(),
        stage: int = 0,
        last: str = "",
    ):
        """Allow names that are free and come next."""
        self.catalogue, self.function, self.scope = catalogue, function, scope
        self.has_event, self.given, self.stage, self.last = has_event, given, stage, last
        self.starts = self._attributes() | self._constants()
        fixed = frozenset(self.starts)
        if self.passable():
            fixed |= {"on"}
        found = catalogue.found(function.outputs, ((function, given),))
        super().__init__(fixed, closing=NOTHING, skips=True, result=found)

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
        inputs, found = self.function.inputs, {}
        for name in self.function.order:
            type_ = inputs.types[name]
            if name > last and name not in self.given and passed(self.catalogue, self.scope, type_):
                found[inputs.tokens[name]] = (name, type_)
        return found

    def after(self, stage: int, name: str) -> "Arguments":
        """Return what may come after a name of a stage."""
        given = self.given if stage == _ATTRIBUTE else self.given | {name}
        return self.catalogue.automaton.make(
            Arguments, self.catalogue, self.function, self.scope, self.has_event, given, stage, name
        )

    def take(self, token: str, sentence: Sentence) -> Move:
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


def passed(catalogue: Catalogue, scope: Names, type_: Type) -> frozenset[str]:
    """Return the tokens of the names in scope that fit an input."""
    fit: Fit = catalogue.fit(type_)
    return frozenset(scope.tokens[name] for name, other in scope.types.items() if fit.takes(other))


class PassedName(Frame):
    """The input that something is passed to, after `on`."""

    __slots__ = ("call", "names")

    def __init__(self, call: Arguments):
        """Allow inputs that something fits."""
        self.call = call
        self.names = call.passable()
        super().__init__(frozenset(self.names))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with what is passed."""
        name, type_ = self.names[token]
        catalogue = self.call.catalogue
        what = catalogue.automaton.make(Passed, catalogue, self.call.scope, type_)
        return (catalogue.automaton.token("="), what, self.call.after(_PASSED, name)), None


class Passed(Frame):
    """An output in scope that fits an input."""

    __slots__ = ()

    def __init__(self, catalogue: Catalogue, scope: Names, type_: Type):
        """Allow the names that fit."""
        super().__init__(passed(catalogue, scope, type_))
