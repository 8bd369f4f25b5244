"""Values: free text, constants of templates, sums of dates, measures of several parts, arrays."""

from collections.abc import Sequence

from genie_dp.languages import types as ty
from genie_dp.languages.automaton import NOTHING, CopySentence, Frame, Move
from genie_dp.languages.terms.frames import Choice, CopyChoice, start_text
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.decoding.catalogue import Catalogue, Fit, ScopeNames
from genie_dp.languages.thingtalk.from_tokens import is_number_token
from genie_dp.languages.thingtalk.scope import CONTEXT
from genie_dp.languages.thingtalk.tokens import value_tokens
from genie_dp.languages.thingtalk.typecheck import DURATION, unite_types
from genie_dp.languages.units import Units


def free_text(catalogue: Catalogue, sentence: CopySentence) -> Frame:
    """Return the frame of words after an opening quote."""
    return start_text(sentence, catalogue.constants.texts, catalogue.limits.words)


def kinds_of(catalogue: Catalogue, fit: Fit) -> frozenset[str]:
    """Return the tokens of the kinds of entities that fit."""
    return frozenset(
        f"^^{kind}" for kind in catalogue.kinds if fit.takes(ty.Entity(kind), is_constant=True)
    )


def _after_text(catalogue: Catalogue, fit: Fit) -> Frame:
    """Return the values that words may be: text as it is, an entity, or a place with a name."""
    automaton = catalogue.automaton
    places = catalogue.constants.find("at:") if fit.takes(ty.LOCATION) else NOTHING
    is_text = fit.takes(ty.STRING, is_constant=True)
    fixed = kinds_of(catalogue, fit) | places

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token.startswith("at:"):
            return (automaton.give(ty.LOCATION),)
        return (automaton.make(_identifier, catalogue, ty.Entity(token[2:])),)

    closing = NOTHING if is_text else fixed
    return Choice(fixed, following, closing=closing, skips=is_text, result=ty.STRING)


def _identifier(catalogue: Catalogue, kind: ty.Entity) -> Frame:
    """Return the identifier of an entity with a name of its own, or nothing."""
    give = catalogue.automaton.give(kind)
    identifiers = catalogue.constants.find("id:")
    return Choice(identifiers, lambda *_: (give,), closing=NOTHING, skips=True, result=kind)


def _unknown(catalogue: Catalogue, fit: Fit) -> Frame:
    """Return the tokens after `null`, an entity not looked up yet: its words or its kind."""
    kind = catalogue.automaton.make(_kind, catalogue, fit)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == '"':
            return free_text(catalogue, sentence), kind
        return (kind,) if token == '""' else kind.take(token, sentence)[0]

    return Choice(kind.fixed | {'"', '""'}, following, closing=kind.fixed)


def _kind(catalogue: Catalogue, fit: Fit) -> Frame:
    """Return the kind of an entity that has no identifier."""
    give = catalogue.automaton.give
    return Choice(kinds_of(catalogue, fit), lambda token, _: (give(ty.Entity(token[2:])),))


_UNDEFINED = frozenset(("undefined",))
# Tokens that are whole values, by their type; `undefined` fits everywhere.
WORDS: dict[str, ty.Type] = {
    "true": ty.BOOLEAN,
    "false": ty.BOOLEAN,
    "event": ty.STRING,
    "now": ty.DATE,
    "undefined": ty.ANY,
    **{value_tokens(tt.ContextValue(path)): type_ for path, type_ in CONTEXT.items()},
}
_CONSTANTS: tuple[tuple[str, ty.Type], ...] = (
    ("currency", ty.CURRENCY), ("date", ty.DATE), ("time", ty.TIME), ("location", ty.LOCATION),
)  # fmt: skip
_BY_PREFIX: dict[str, ty.Type] = dict(_CONSTANTS)


def _find_values(units: Units, sentence: CopySentence) -> tuple[tuple[str, ty.Type | None], ...]:
    """Return the placeholders of a sentence with their types, and its numbers without."""
    typed = ((word, ty.slot_type(word)) for word in sentence.starts)
    return tuple(
        (word, type_)
        for word, type_ in typed
        if (is_number_token(word) if type_ is None else _is_known(type_, units))
    )


def _is_known(type_: ty.Type, units: Units) -> bool:
    return not isinstance(type_, ty.Measure) or type_.unit in units


class ValueFrame(Frame):
    """A value of a type.

    Attributes:
        scope: names that it may refer to.
        has_event: whether `event` means something here.
        is_constant: an argument of a call, which is no bare name: `on` passes those. A name may
            still begin a sum of dates.
    """

    __slots__ = ("catalogue", "fit", "has_event", "is_constant", "scope")

    def __init__(
        self, catalogue: Catalogue, fit: Fit, scope: ScopeNames, has_event: bool, is_constant: bool
    ):
        self.catalogue, self.fit, self.scope = catalogue, fit, scope
        self.has_event, self.is_constant = has_event, is_constant
        super().__init__(self._tokens(), closing=_UNDEFINED)

    def _tokens(self) -> frozenset[str]:
        fit, constants = self.fit, self.catalogue.constants
        tokens = {token for token, type_ in WORDS.items() if fit.takes(type_)}
        if not self.has_event:
            tokens.discard("event")
        for key, type_ in _CONSTANTS:
            if fit.takes(type_):
                tokens |= constants.find(key)
        if _takes_numbers(fit):
            tokens |= fit.numbers(constants.find("number"))
        if fit.takes(ty.DATE):
            tokens |= {"start_of", "end_of"}
        if fit.takes(ty.LOCATION):
            tokens.add("location:")
        if fit.items is not None:
            tokens.add("[")
        return frozenset(tokens | self._enums() | self._quotes() | self._names())

    def _enums(self) -> set[str]:
        """Return the values of the enum wanted, and those given where any is taken."""
        expected = self.fit.expected
        listed = expected.values if isinstance(expected, ty.Enum) else ()
        tokens = {f"enum:{value}" for value in listed if value != "*"}
        if expected == ty.ANY or (isinstance(expected, ty.Enum) and (not listed or "*" in listed)):
            constants = self.catalogue.constants.find("enum")
            tokens |= {t for t in constants if self.fit.takes(ty.Enum((t.removeprefix("enum:"),)))}
        return tokens

    def _quotes(self) -> set[str]:
        tokens = set()
        kinds = kinds_of(self.catalogue, self.fit)
        is_place = self.fit.takes(ty.LOCATION) and bool(self.catalogue.constants.find("at:"))
        if self.fit.takes(ty.STRING, is_constant=True) or kinds or is_place:
            tokens |= {'"', '""'}
        return tokens | {"null"} if kinds else tokens

    def _names(self) -> set[str]:
        tokens = set()
        for name, type_ in self.scope.types.items():
            is_sum = type_ in (ty.DATE, ty.ANY) and self.fit.takes(ty.DATE)
            if (is_sum if self.is_constant else self.fit.takes(type_)) or is_sum:
                tokens.add(self.scope.tokens[name])
        return tokens

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the placeholders and numbers of the sentence that fit."""
        return NOTHING if is_closing else sentence.find(_find_fitting, self.fit)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on inside of the value, or end it."""
        make, catalogue, fit = self.catalogue.automaton.make, self.catalogue, self.fit
        match token:
            case '"':
                after = make(_after_text, catalogue, fit)
                return (free_text(catalogue, sentence), after), None
            case '""':
                return (make(_after_text, catalogue, fit),), None
            case "null":
                return (make(_unknown, catalogue, fit),), None
            case "[":
                return (make(ArrayStart, self),), None
            case "start_of" | "end_of":
                return (make(_edge_unit, self),), None
            case "location:":
                quote, words = catalogue.automaton.token('"'), free_text(catalogue, sentence)
                return (quote, words, catalogue.automaton.give(ty.LOCATION)), None
            case _ if token in self.scope.names:
                return self._name(token)
            case _ if is_number_token(token):
                return (make(_after_number, catalogue, fit, True),), None
            case _ if ty.slot_type(token) == ty.NUMBER:
                return (make(_after_number, catalogue, fit, False),), None
            case _:
                return self.end(self._type(token))

    def _type(self, token: str) -> ty.Type:
        if token in WORDS:
            return WORDS[token]
        prefix, colon, rest = token.partition(":")
        if colon and prefix == "enum":
            return ty.Enum((rest,))
        if colon and prefix in _BY_PREFIX:
            return _BY_PREFIX[prefix]
        type_ = ty.slot_type(token)
        assert type_ is not None, token
        return type_

    def _name(self, token: str) -> Move:
        type_ = self.scope.types[self.scope.names[token]]
        if self.is_constant or not self.fit.takes(type_):
            return (self.catalogue.automaton.make(_offset, self, None, 0),), None
        return self.end(type_)

    def end(self, type_: ty.Type) -> Move:
        """Return the frames after a value of a type: to a date something may be added."""
        if type_ in (ty.DATE, ty.ANY) and self.fit.takes(ty.DATE):
            return (self.catalogue.automaton.make(_offset, self, type_, 0),), None
        return (), type_


def _find_fitting(fit: Fit, sentence: CopySentence) -> frozenset[str]:
    """Return the placeholders and numbers of a sentence that fit."""
    values = sentence.find(_find_values, fit.units)
    return frozenset(word for word, type_ in values if _is_copied(word, type_, fit))


def _is_copied(word: str, type_: ty.Type | None, fit: Fit) -> bool:
    if type_ is None:
        return _takes_numbers(fit) and bool(fit.numbers((word,)))
    return _takes_numbers(fit) if type_ == ty.NUMBER else fit.takes(type_, is_constant=True)


def _takes_numbers(fit: Fit) -> bool:
    return fit.takes(ty.NUMBER) or any(fit.takes(ty.Measure(base)) for base in fit.units.bases())


def _edge_unit(value: ValueFrame) -> Frame:
    """Return the unit after `start_of`."""
    return Choice(_units(value.fit.units, "ms"), lambda *_: _after_date(value, 0))


def _offset(value: ValueFrame, type_: ty.Type | None, count: int) -> Frame:
    """Return a duration added to a date; one must come after a bare name that does not fit."""
    catalogue = value.catalogue
    fixed = frozenset(("+", "-")) if count < catalogue.limits.offsets else NOTHING

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        fit, automaton = catalogue.fit(DURATION), catalogue.automaton
        scope, has_event = value.scope, value.has_event
        length = automaton.make(ValueFrame, catalogue, fit, scope, has_event, False)
        return length, automaton.after(_after_date, value, count + 1)

    is_whole = type_ is not None
    closing = NOTHING if is_whole else fixed
    return Choice(fixed, following, closing=closing, skips=is_whole, result=type_)


def _after_date(value: ValueFrame, count: int, _: object = None) -> Sequence[Frame]:
    """Go on after a date, to which `count` durations were added."""
    return (value.catalogue.automaton.make(_offset, value, ty.DATE, count),)


def _after_number(catalogue: Catalogue, fit: Fit, goes_on: bool) -> Frame:
    """Return the unit of a measure, or nothing where the number itself fits.

    After a placeholder the measure has no further part.
    """
    fixed = frozenset[str]().union(
        *(_units(fit.units, b) for b in fit.units.bases() if fit.takes(ty.Measure(b)))
    )

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        unit, automaton = token.removeprefix("unit:"), catalogue.automaton
        if not goes_on:
            return (automaton.give(ty.Measure(unit)),)
        return (automaton.make(_further_part, catalogue, fit, unit, 1),)

    is_whole = fit.takes(ty.NUMBER)
    closing = NOTHING if is_whole else fixed
    return Choice(fixed, following, closing=closing, skips=is_whole, result=ty.NUMBER)


def _further_part(catalogue: Catalogue, fit: Fit, unit: str, parts: int) -> CopyChoice:
    """Return another part of a measure, `3` in `6 unit:ft 3 unit:in`, or nothing."""
    may_go_on = parts < catalogue.limits.parts
    fixed = fit.numbers(catalogue.constants.find("number")) if may_go_on else NOTHING

    def copies(sentence: CopySentence, is_closing: bool) -> frozenset[str]:
        return sentence.find(_find_numbers, fit) if may_go_on and not is_closing else NOTHING

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        return (catalogue.automaton.make(_next_unit, catalogue, fit, unit, parts + 1),)

    type_ = ty.Measure(unit)
    return CopyChoice(fixed, copies, following, closing=NOTHING, skips=True, result=type_)


def _find_numbers(fit: Fit, sentence: CopySentence) -> frozenset[str]:
    return fit.numbers(filter(is_number_token, sentence.starts))


def _next_unit(catalogue: Catalogue, fit: Fit, unit: str, parts: int) -> Frame:
    """Return the unit of a further part; the type is that of the first unit."""
    more = catalogue.automaton.make(_further_part, catalogue, fit, unit, parts)
    return Choice(_units(fit.units, fit.units.base(unit)), lambda *_: (more,))


def _units(units: Units, base: str) -> frozenset[str]:
    return frozenset(f"unit:{unit.name}" for unit in units.of_base(base))


# ------------------------------------------------------------------------------- arrays


class ArrayStart(Frame):
    """The first value of an array, or its end."""

    __slots__ = ("array", "item")

    def __init__(self, array: ValueFrame):
        self.array = array
        self.item = _item(array, ty.ANY)
        super().__init__(self.item.fixed | {"]"}, closing=frozenset("]"))

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words that the first item may copy."""
        return self.item.find_copies(sentence, is_closing=is_closing)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Begin the first item, or end."""
        before = self.item.fit.element
        if token == "]":
            return (), ty.Array(before)
        frames, result = self.item.take(token, sentence)
        after = self.array.catalogue.automaton.after(_after_item, self.array, before, 1)
        return (*frames, after), result


def _after_item(array: ValueFrame, before: ty.Type, count: int, type_: ty.Type) -> Sequence[Frame]:
    """Go on after an item of an array with the type that takes all items so far."""
    catalogue = array.catalogue
    both = unite_types(before, type_, catalogue.library)
    assert both is not None, "an item fits those before it"
    return (catalogue.automaton.make(_array_more, array, both, count),)


def _array_more(array: ValueFrame, before: ty.Type, count: int) -> Frame:
    """Return a comma and another item, or the end of an array."""
    automaton, end = array.catalogue.automaton, frozenset("]")

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token == "]":
            return (automaton.give(ty.Array(before)),)
        return _item(array, before), automaton.after(_after_item, array, before, count + 1)

    may_go_on = count < array.catalogue.limits.items
    return Choice(end | {","} if may_go_on else end, following, closing=end)


def _item(array: ValueFrame, before: ty.Type) -> ValueFrame:
    expected = array.fit.items
    assert expected is not None, "an array fits here"
    wish = array.fit
    fit = array.catalogue.fit(
        expected, before, wish.arrays + 1, is_compared=wish.is_compared, lenient=wish.lenient,
        takes_text=wish.takes_text,
    )  # fmt: skip
    make = array.catalogue.automaton.make
    return make(ValueFrame, array.catalogue, fit, array.scope, array.has_event, False)


class Times(Frame):
    """A time of day, or an array of at least one."""

    __slots__ = ("array", "time")

    def __init__(self, array: ValueFrame, time: ValueFrame):
        self.array, self.time = array, time
        super().__init__(time.fixed | {"["}, closing=time.closing)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the placeholders of times in the sentence."""
        return self.time.find_copies(sentence, is_closing=is_closing)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the first time of an array, or end."""
        if token != "[":
            return self.time.take(token, sentence)
        after = self.array.catalogue.automaton.after(_after_item, self.array, ty.ANY, 1)
        return (_item(self.array, ty.ANY), after), None
