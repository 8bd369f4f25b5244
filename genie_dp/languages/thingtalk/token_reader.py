"""Reads names, calls and values of the token form."""

import re
from datetime import datetime
from decimal import Decimal
from functools import lru_cache

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.thingtalk.ast import (
    Arg,
    ArrayValue,
    BooleanValue,
    Call,
    ContextValue,
    CurrencyValue,
    DateEdge,
    DateNow,
    DateOffset,
    DateValue,
    EntityValue,
    EnumValue,
    EventValue,
    LocationValue,
    MeasureValue,
    NumberValue,
    Selector,
    SlotValue,
    StringValue,
    TimeValue,
    Undefined,
    Value,
    VarRef,
)
from genie_dp.languages.thingtalk.depth import DEEPEST, HINT, TOO_DEEP, too_deep_word
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.slots import is_slot, slot_type
from genie_dp.languages.thingtalk.token_values import (
    EARTH,
    MOST_DIGITS,
    PLACES,
    is_on_earth,
    unescape_word,
    unquoted,
)
from genie_dp.languages.thingtalk.tokens import TokenStyle
from genie_dp.languages.thingtalk.types import BASICS, NUMBER, UNIT_ALIASES
from genie_dp.languages.thingtalk.unread import UNREAD

_NAME = r"[A-Za-z_]\w*"
_NUMBER = r"-?\d+(?:\.\d+)?"
_BASIC = "|".join(sorted(BASICS))
_TYPE = re.compile(
    rf"(?P<arrays>(?:Array\()*)(?:{_BASIC}|Enum\([^()\s]*\)|Measure\(\w+\)|"
    r"Entity\([^()\s]+:[^()\s]+\))(?P<ends>\)*)"
)
_CALL = re.compile(r"@((?:[A-Za-z_][\w-]*\.)*[A-Za-z_][\w-]*)\.([A-Za-z_]\w*)")
_CLASS = re.compile(r"(?:[A-Za-z_][\w-]*\.)*[A-Za-z_][\w-]*")
_PLAIN_NAME = re.compile(_NAME)
_IS_NUMBER = re.compile(_NUMBER)
_KIND = re.compile(r"\^\^([\w.-]+:\w+)")
_PLACE = re.compile(rf"({_NUMBER}):({_NUMBER})")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d):([0-5]\d)")
_MONEY = re.compile(rf"({_NUMBER}):({_NAME})")
_EDGES = ("start_of", "end_of")


@lru_cache(maxsize=65536)
def typed_name(token: str, prefix: str, types: bool) -> str | None:
    """Return the name in `param:name:Type`, or None if the token is not of that form.

    >>> typed_name("param:size:Measure(byte)", "param", True), typed_name("param:a", "param", True)
    ('size', None)
    """
    head, _, rest = token.partition(":")
    name, colon, type_ = rest.partition(":")
    if head != prefix or _PLAIN_NAME.fullmatch(name) is None or bool(colon) != types:
        return None
    return name if not types or is_type(type_) else None


def is_type(text: str) -> bool:
    """Tell whether a text is a type as signatures print it.

    >>> is_type("Array(Entity(tt:hashtag))"), is_type("Array(String"), is_type("Text")
    (True, False, False)
    """
    found = _TYPE.fullmatch(text)
    return found is not None and found["arrays"].count("(") == len(found["ends"])


@lru_cache(maxsize=65536)
def split_function(token: str) -> tuple[str, str] | None:
    """Return class and function of `@c.f`, or None.

    >>> split_function("@com.gmail.inbox"), split_function("@inbox")
    (('com.gmail', 'inbox'), None)
    """
    found = _CALL.fullmatch(token)
    return (found[1], found[2]) if found else None


@lru_cache(maxsize=65536)
def single_token(token: str) -> Value | None:
    """Return the value that one token stands for, or None where it takes more or is none.

    >>> single_token("enum:on"), single_token('"')
    (EnumValue(name='on'), None)
    """
    if token in _WORDS:
        return _WORDS[token]
    if is_number_token(token):
        return NumberValue(Decimal(token))
    if is_slot(token):
        return SlotValue(token)
    prefix, colon, rest = token.partition(":")
    return _prefixed(prefix, rest) if colon else None


_WORDS: dict[str, Value] = {
    "true": BooleanValue(True),
    "false": BooleanValue(False),
    "now": DateNow(),
    "undefined": Undefined(),
    "event": EventValue(),
    '""': StringValue(""),
}


# What begins a value of one token -> what makes it one.
_HINTS = {
    "location": f"write location:37.4:-122.1; {EARTH}",
    "date": "write a date of the calendar, such as date:2026-11-20 or date:2026-11-20T18:00:00",
    "time": "write a time of the clock, such as time:18:30:00",
}


def is_number_token(token: str) -> bool:
    """Tell whether a token is a number.

    >>> is_number_token("-2.5"), is_number_token("2,5")
    (True, False)
    """
    return len(token) <= MOST_DIGITS and _IS_NUMBER.fullmatch(token) is not None


def _prefixed(prefix: str, rest: str) -> Value | None:
    match prefix:
        case "enum":
            return EnumValue(rest) if _PLAIN_NAME.fullmatch(rest) else None
        case "location" if rest in PLACES:
            return ContextValue(("location", rest))
        case "location":
            return _location(rest, None)
        case "context":
            return ContextValue(tuple(rest.split("."))) if rest else None
        case "date":
            return _date(unescape_word(rest))
        case "device":
            return EntityValue(rest, "tt:device") if _CLASS.fullmatch(rest) else None
        case "time":
            found = _TIME.fullmatch(rest)
            return TimeValue(int(found[1]), int(found[2]), int(found[3])) if found else None
        case "currency":
            found = _MONEY.fullmatch(rest)
            return CurrencyValue(Decimal(found[1]), found[2].lower()) if found else None
        case _:
            return None


def _date(iso: str) -> DateValue | None:
    try:
        datetime.fromisoformat(iso)
    except ValueError:
        return None
    return DateValue(iso)


def _location(place: str, display: str | None) -> LocationValue | None:
    found = _PLACE.fullmatch(place)
    if found is None:
        return None
    latitude, longitude = Decimal(found[1]), Decimal(found[2])
    is_place = is_on_earth(latitude, longitude)
    return LocationValue(latitude, longitude, display) if is_place else None


def _arg_name(arg: Arg) -> str:
    return arg.name


class TokenReader:
    """A place in a text of tokens. `word` is the next token, "" at the end."""

    __slots__ = ("at", "signatures", "style", "text", "word", "words")

    def __init__(self, text: str, style: TokenStyle, signatures: Signatures | None):
        """Start at the first token."""
        self.text = text
        self.words = text.split()
        self.words.append("")
        self.at = 0
        self.word = self.words[0]
        self.style = style
        self.signatures = signatures
        deep = too_deep_word(self.words) if len(self.words) > DEEPEST else None
        if deep is not None:
            raise self.problem_at(deep, "S007", TOO_DEEP, HINT)

    def advance(self) -> None:
        """Go to the next token."""
        self.at += 1
        self.word = self.words[self.at]

    def take(self, *expected: str) -> None:
        """Go over those tokens."""
        for word in expected:
            if self.word != word:
                raise self.error(repr(word))
            self.advance()

    def error(self, expected: str, hint: str | None = None) -> GenieError:
        """Return the error that the next token is not what was expected."""
        hint = hint or UNREAD.get(self.word)
        got = repr(self.word) if self.word else "the end"
        return self.problem_at(self.at, "S020", f"expected {expected}, got {got}", hint)

    def problem_at(self, at: int, code: str, message: str, hint: str | None) -> GenieError:
        """Return an error at a token."""
        # The words were split at any white space; find the place in the text as it is.
        starts = [found.start() for found in re.finditer(r"\S+", self.text)]
        start = starts[at] if at < len(starts) else len(self.text)
        place = Span("<tokens>", 1, start + 1, 1, start + 1 + max(1, len(self.words[at])))
        problem = Problem(code, message, place, hint, stage="syntax")
        return GenieError(problem, sources={"<tokens>": self.text})

    # ------------------------------------------------------------------------ names, calls

    def name(self, prefix: str = "param") -> str:
        """Read `param:name:Type`, or `param:name` in the style without types."""
        name = typed_name(self.word, prefix, self.style.types)
        if name is None:
            raise self.error(
                f"'{prefix}:name{':Type' if self.style.types else ''}'", self._type_hint()
            )
        self.advance()
        return name

    def _type_hint(self) -> str | None:
        if typed_name(self.word, "param", not self.style.types) is None:
            return None
        return f"read it with TokenStyle(types={not self.style.types})"

    def function(self) -> tuple[str, str]:
        """Read `@c.f`."""
        found = split_function(self.word)
        if found is None:
            raise self.error("a function such as @com.gmail.inbox")
        self.advance()
        return found

    def call(self) -> Call:
        """Read a function, its device attributes and its arguments."""
        start = self.at
        class_name, function = self.function()
        attributes: list[Arg] = []
        while self.word.startswith("attribute:"):
            name = self.name("attribute")
            self.take("=")
            attributes.append(Arg(name, self.value()))
        selector = Selector(class_name, self.arranged(attributes))
        if not self.style.keywords:
            return Call(selector, function, self.positions(class_name, function, start))
        args: list[Arg] = []
        while True:
            if self.word.startswith("param:"):
                args.append(self.constant())
            elif self.word == "on":
                self.advance()
                args.append(self.passed())
            else:
                return Call(selector, function, self.arranged(args))

    def constant(self) -> Arg:
        """Read `param:a:T = v`."""
        name = self.name()
        self.take("=")
        start = self.at
        value = self.value()
        if isinstance(value, VarRef):
            self.at, self.word = start, self.words[start]
            raise self.error("a constant", "an output is passed as: on param:a:T = param:b:T")
        return Arg(name, value)

    def passed(self) -> Arg:
        """Read `param:x:T = param:y:T`, or `param:x:T = event`."""
        name = self.name()
        self.take("=")
        if self.word == "event":
            self.advance()
            return Arg(name, EventValue())
        return Arg(name, VarRef(self.name()))

    def arranged(self, args: list[Arg]) -> tuple[Arg, ...]:
        """Return the arguments, by name in the canonical style."""
        if len(args) > 1 and self.style.canonical:
            args.sort(key=_arg_name)
        return tuple(args)

    def positions(self, class_name: str, function: str, start: int) -> tuple[Arg, ...]:
        """Read one value, or `_`, for every input of the function."""
        signature = self.signatures.function(class_name, function) if self.signatures else None
        if signature is None:
            self.at, self.word = start, self.words[start]
            raise self.error(
                "a function of the library",
                "positional arguments are read with the signatures of their functions",
            )
        args: list[Arg] = []
        for parameter in signature.inputs:
            if self.word == "_":
                self.advance()
            else:
                args.append(Arg(parameter.name, self.value()))
        return self.arranged(args)

    # ------------------------------------------------------------------------------ values

    def value(self) -> Value:
        """Read a value."""
        value = self.simple_value()
        moved = 0
        while self.word in ("+", "-"):
            moved += 1
            if moved > DEEPEST:
                raise self.problem_at(self.at, "S007", TOO_DEEP, HINT)
            sign = self.word
            self.advance()
            value = DateOffset(value, sign, self.simple_value())
        return value

    def simple_value(self) -> Value:
        """Read a value that is no sum."""
        word = self.word
        if word == '"' or word == "null" or word == '""':
            return self.words_value()
        value = single_token(word)
        if value is not None:
            self.advance()
            return self.counted(value) if self.word.startswith("unit:") else value
        if word == "location:":
            self.advance()
            return LocationValue(None, None, self.free_text())
        if word.startswith("param:"):
            return VarRef(self.name())
        if word == "[":
            return self.array()
        if word in _EDGES:
            self.advance()
            return DateEdge(word, self.unit())
        raise self.error("a value", _HINTS.get(word.partition(":")[0]))

    def counted(self, value: Value) -> Value:
        """Read the unit after a number, or after a placeholder of one."""
        match value:
            case NumberValue(number):
                return self.measure(number)
            case SlotValue(token) if slot_type(token) == NUMBER:
                return SlotValue(token, self.unit())
            case _:
                return value

    def unit(self) -> str:
        """Read `unit:min`; the paper's rows have unit:hour and the like, too."""
        prefix, _, unit = self.word.partition(":")
        if prefix != "unit" or not unit:
            raise self.error("a unit such as unit:min")
        self.advance()
        return UNIT_ALIASES.get(unit, unit)

    def measure(self, number: Decimal) -> Value:
        """Read the units and further parts of a measure whose first number is read."""
        parts = [(number, self.unit())]
        while self.is_further_part():
            if not self.style.keywords:
                self.take("plus")
            following = single_token(self.word)
            if not isinstance(following, NumberValue):
                raise self.error("a number")
            self.advance()
            parts.append((following.value, self.unit()))
        return MeasureValue(tuple(parts))

    def is_further_part(self) -> bool:
        """Tell whether another part of a measure follows; by position, "plus" begins it."""
        if not self.style.keywords:
            return self.word == "plus"
        return self.at + 1 < len(self.words) and self.words[self.at + 1].startswith("unit:")

    def array(self) -> Value:
        """Read `[ v , v ]`."""
        self.advance()
        items: list[Value] = []
        while self.word != "]":
            if items:
                self.take(",")
            items.append(self.value())
        self.advance()
        return ArrayValue(tuple(items))

    def words_value(self) -> Value:
        """Read free text, an entity or a place with a name."""
        is_known = self.word != "null"
        if not is_known:
            self.advance()
        text = self.free_text() if is_known or self.word.startswith('"') else None
        word = self.word
        if word.startswith("^^"):
            return self.entity(text, is_known)
        if not is_known:
            raise self.error("'^^' and the kind of the entity")
        if word.startswith("at:"):
            place = _location(word[3:], text)
            if place is None:
                raise self.error("a place such as at:37.4:-122.1", EARTH)
            self.advance()
            return place
        return StringValue(text or "")

    def free_text(self) -> str:
        """Read words between quote tokens."""
        if self.word == '""':
            self.advance()
            return ""
        if self.word != '"':
            raise self.error("a quote")
        try:
            end = self.words.index('"', self.at + 1)
        except ValueError:
            hint = "write a space before the closing quote"
            raise self.error("a text with a closing quote", hint) from None
        text = unquoted(self.words[self.at + 1 : end])
        self.at = end
        self.advance()
        return text

    def entity(self, text: str | None, is_known: bool) -> EntityValue:
        """Read the kind of an entity whose words are read."""
        found = _KIND.fullmatch(self.word)
        if found is None:
            raise self.error("the kind of an entity, such as ^^tt:username")
        self.advance()
        if not is_known:
            return EntityValue(None, found[1], text)
        if self.word.startswith("id:"):
            identifier = unescape_word(self.word[3:])
            self.advance()
            return EntityValue(identifier, found[1], text)
        return EntityValue(text, found[1])
