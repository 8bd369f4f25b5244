"""Reads the token form; `tokens` describes it.

A hand-written recursive descent over the words: no lexing is left to do, and it reads a program in
a few dozen microseconds. It takes the output of `tokens`, parameters in any order, and besides the
spellings of rows of 2018 and 2019, and programs with more parentheses:

- `( s ) => ( q ) on param:x:T = param:y:T => a`, `( s ) join ( q ) => a`, `( q ) => a`;
- `on new param:a:T` without brackets, `aggregate sum param:f of ( q )` without a type;
- `return` for `notify`, `policy P : q => notify` and `policy P : now => q => a`;
- `on param:x:T = event`, `device:com.gmail`, `unit:hour`.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk import tokens
from genie_dp.languages.thingtalk.depth import DEEPEST, HINT, TOO_DEEP, too_deep_word
from genie_dp.languages.thingtalk.transform import UNREAD
from genie_dp.languages.types import BASICS, NUMBER, is_slot, slot_type
from genie_dp.languages.units import UNIT_ALIASES

_NAME = r"[A-Za-z_]\w*"
_PATH = rf"{_NAME}(?:\.{_NAME})*"
_NUMBER = r"-?\d+(?:\.\d+)?"
_BASIC = "|".join(sorted(BASICS))
_TYPE = re.compile(
    rf"(?P<arrays>(?:Array\()*)(?:{_BASIC}|Enum\([^()\s]*\)|Measure\(\w+\)|"
    r"Entity\([^()\s]+:[^()\s]+\))(?P<ends>\)*)"
)
_CALL = re.compile(r"@((?:[A-Za-z_][\w-]*\.)*[A-Za-z_][\w-]*)\.([A-Za-z_]\w*)")
_CLASS = re.compile(r"(?:[A-Za-z_][\w-]*\.)*[A-Za-z_][\w-]*")
_PLAIN_NAME = re.compile(_NAME)
_OUTPUT_NAME = re.compile(_PATH)
_IS_NUMBER = re.compile(_NUMBER)
_KIND = re.compile(r"\^\^([\w.-]+:\w+)")
_PLACE = re.compile(rf"({_NUMBER}):({_NUMBER})")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d):([0-5]\d)")
_MONEY = re.compile(rf"({_NUMBER}):({_NAME})")
_OPERATORS = frozenset((*tt.OPERATORS, *tt.SOFT_OPERATORS))


@lru_cache(maxsize=65536)
def typed_name(token: str, prefix: str, types: bool) -> str | None:
    """Return the name in `param:name:Type`, or None if the token is not of that form.

    >>> typed_name("param:size:Measure(byte)", "param", True), typed_name("param:a", "param", True)
    ('size', None)
    """
    head, _, rest = token.partition(":")
    name, colon, type_ = rest.partition(":")
    if head != prefix or _OUTPUT_NAME.fullmatch(name) is None or bool(colon) != types:
        return None
    return name if not types or is_type(type_) else None


def is_type(text: str) -> bool:
    """Return whether a text is a type as signatures print it.

    >>> is_type("Array(Entity(tt:hashtag))"), is_type("Array(String"), is_type("Text")
    (True, False, False)
    """
    match = _TYPE.fullmatch(text)
    return match is not None and match["arrays"].count("(") == len(match["ends"])


@lru_cache(maxsize=65536)
def split_function(token: str) -> tuple[str, str] | None:
    """Return class and function of `@c.f`, or None.

    >>> split_function("@com.gmail.inbox"), split_function("@inbox")
    (('com.gmail', 'inbox'), None)
    """
    match = _CALL.fullmatch(token)
    return (match[1], match[2]) if match else None


@lru_cache(maxsize=65536)
def single_token(token: str) -> tt.Value | None:
    """Return the value that one token stands for, or None where it takes more or is none.

    >>> single_token("enum:on"), single_token('"')
    (EnumValue(name='on'), None)
    """
    if token in _WORDS:
        return _WORDS[token]
    if is_number_token(token):
        return tt.NumberValue(Decimal(token))
    if is_slot(token):
        return tt.SlotValue(token)
    prefix, colon, rest = token.partition(":")
    return _read_prefixed(prefix, rest) if colon else None


_WORDS: dict[str, tt.Value] = {
    "true": tt.BooleanValue(True),
    "false": tt.BooleanValue(False),
    "now": tt.DateNow(),
    "undefined": tt.Undefined(),
    "event": tt.EventValue(),
    '""': tt.StringValue(""),
}


# What begins a value of one token -> what makes it one.
_HINTS = {
    "location": f"write location:37.4:-122.1; {tokens.EARTH}",
    "date": "write a date of the calendar, such as date:2026-11-20 or date:2026-11-20T18:00:00",
    "time": "write a time of the clock, such as time:18:30:00",
}


def is_number_token(token: str) -> bool:
    """Return whether a token is a number.

    >>> is_number_token("-2.5"), is_number_token("2,5")
    (True, False)
    """
    return len(token) <= tokens.MOST_DIGITS and _IS_NUMBER.fullmatch(token) is not None


def _read_prefixed(prefix: str, rest: str) -> tt.Value | None:
    match prefix:
        case "enum":
            return tt.EnumValue(rest) if _PLAIN_NAME.fullmatch(rest) else None
        case "location" if rest in tokens.PLACES:
            return tt.ContextValue(("location", rest))
        case "location":
            return _location(rest, None)
        case "context":
            return tt.ContextValue(tuple(rest.split("."))) if rest else None
        case "date":
            return _date(tokens.unescape_word(rest))
        case "device":
            return tt.EntityValue(rest, "tt:device") if _CLASS.fullmatch(rest) else None
        case "time":
            match = _TIME.fullmatch(rest)
            return tt.TimeValue(int(match[1]), int(match[2]), int(match[3])) if match else None
        case "currency":
            match = _MONEY.fullmatch(rest)
            return tt.CurrencyValue(Decimal(match[1]), match[2].lower()) if match else None
        case _:
            return None


def _date(iso: str) -> tt.DateValue | None:
    try:
        datetime.fromisoformat(iso)
    except ValueError:
        return None
    return tt.DateValue(iso)


def _location(place: str, display: str | None) -> tt.LocationValue | None:
    match = _PLACE.fullmatch(place)
    if match is None:
        return None
    latitude, longitude = Decimal(match[1]), Decimal(match[2])
    is_place = tokens.is_on_earth(latitude, longitude)
    return tt.LocationValue(latitude, longitude, display) if is_place else None


# What stands before its query in the surface form -> how tokens have it.
_PREFIXED = {
    "[": "a projection stands after its query: ( q ) select [ .. ]",
    "sort": "an order stands after its query: ( q ) sort param:a:T desc",
}
_SHOW = ("notify", "return")
_TRUE, _FALSE, _NOTIFY = tt.TrueP(), tt.FalseP(), tt.Notify()


def from_tokens(
    text: str,
    *,
    style: tokens.TokenStyle = tokens.STYLE,
    signatures: Signatures | None = None,
    places: bool = False,
) -> tt.Program | tt.Policy:
    """Return the program of a token form; its nodes carry spans only with `places`.

    To know the places takes three times as long, so readers of many rows go without.
    With positional arguments (`style.keywords` false) the signatures are needed to name them.
    Arguments are sorted by name unless `style.canonical` is false.

    Raises:
        GenieError: stage syntax, at the column of the first token that does not fit.

    >>> from_tokens("now => @com.gmail.inbox => notify").rules[0].query.function
    'inbox'
    >>> str(from_tokens("now => @com.gmail.inbox => notify", places=True).rules[0].query.span)
    '<tokens>:1:8'
    """
    reader = _PlacedReader if places else _TokenReader
    return reader(text, style, signatures).start()


def piece_from_tokens(
    text: str, kind: str
) -> tt.Program | tt.Policy | tt.Query | tt.Stream | tt.Action | tt.Predicate | tt.Value:
    """Return a piece of a program of a `kind`, such as "query" or "value".

    Raises:
        GenieError: stage syntax.

    >>> piece_from_tokens("param:size:Number > 5", "predicate").operator
    '>'
    """
    reader = _TokenReader(text, tokens.STYLE, None)
    readers: dict[str, Callable[[], Any]] = {
        "program": reader.start,
        "policy": reader.start,
        "query": reader.query,
        "source": reader.query,
        "stream": reader.stream,
        "action": reader.action,
        "predicate": reader.predicate,
        "value": reader.value,
    }
    if kind not in readers:
        raise ValueError(f"expected a kind of piece such as {', '.join(readers)}, got {kind!r}")
    piece: tt.Program | tt.Policy | tt.Query | tt.Stream | tt.Action | tt.Predicate | tt.Value = (
        readers[kind]()
    )
    reader.end()
    return piece


class _TokenReader:
    """A place in a text of tokens. `word` is the next token, "" at the end."""

    __slots__ = ("at", "signatures", "style", "text", "word", "words")

    def __init__(self, text: str, style: tokens.TokenStyle, signatures: Signatures | None):
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

    def several(self, separator: str, read: Callable[[], Any]) -> list[Any]:
        """Read parts with a separator between them."""
        parts = [read()]
        while self.word == separator:
            self.advance()
            parts.append(read())
        return parts

    def error(self, expected: str, hint: str | None = None) -> GenieError:
        """Return the error that the next token is not the expected one."""
        hint = hint or UNREAD.get(self.word)
        got = repr(self.word) if self.word else "the end"
        return self.problem_at(self.at, "S020", f"expected {expected}, got {got}", hint)

    def problem_at(self, at: int, code: str, message: str, hint: str | None) -> GenieError:
        """Return an error at a token."""
        # The words were split at any white space; find the place in the text as it is.
        starts = [match.start() for match in re.finditer(r"\S+", self.text)]
        start = starts[at] if at < len(starts) else len(self.text)
        place = Span("<tokens>", 1, start + 1, 1, start + 1 + max(1, len(self.words[at])))
        problem = Problem(code, message, place, hint, stage="syntax")
        return GenieError(problem, sources={"<tokens>": self.text})

    # ------------------------------------------------------------------------ names, calls

    def name(self, prefix: str = "param") -> str:
        """Read `param:name:Type`, or `param:name` in the style without types."""
        name = typed_name(self.word, prefix, self.style.types)
        if name is None:
            types = not self.style.types
            is_of_other_style = typed_name(self.word, "param", types) is not None
            hint = f"read it with TokenStyle(types={types})" if is_of_other_style else None
            raise self.error(f"'{prefix}:name{':Type' if self.style.types else ''}'", hint)
        self.advance()
        return name

    def function(self) -> tuple[str, str]:
        """Read `@c.f`."""
        function = split_function(self.word)
        if function is None:
            raise self.error("a function such as @com.gmail.inbox")
        self.advance()
        return function

    def call(self) -> tt.Call:
        """Read a function, its device attributes and its arguments."""
        start = self.at
        class_name, function = self.function()
        attributes: list[tt.Arg] = []
        while self.word.startswith("attribute:"):
            name = self.name("attribute")
            self.take("=")
            attributes.append(tt.Arg(name, self.value()))
        selector = tt.Selector(class_name, self.arrange(attributes))
        if not self.style.keywords:
            return tt.Call(selector, function, self.positions(class_name, function, start))
        args: list[tt.Arg] = []
        while True:
            if self.word.startswith("param:"):
                args.append(self.constant())
            elif self.word == "on":
                self.advance()
                args.append(self.read_passing())
            else:
                return tt.Call(selector, function, self.arrange(args))

    def constant(self) -> tt.Arg:
        """Read `param:a:T = v`."""
        name = self.name()
        self.take("=")
        start = self.at
        value = self.value()
        if isinstance(value, tt.VarRef):
            self.at, self.word = start, self.words[start]
            raise self.error("a constant", "an output is passed as: on param:a:T = param:b:T")
        return tt.Arg(name, value)

    def read_passing(self) -> tt.Arg:
        """Read `param:x:T = param:y:T`, or `param:x:T = event`."""
        name = self.name()
        self.take("=")
        if self.word == "event":
            self.advance()
            return tt.Arg(name, tt.EventValue())
        return tt.Arg(name, tt.VarRef(self.name()))

    def arrange(self, args: list[tt.Arg]) -> tuple[tt.Arg, ...]:
        """Return the arguments, by name in the canonical style."""
        if len(args) > 1 and self.style.canonical:
            args.sort(key=attrgetter("name"))
        return tuple(args)

    def positions(self, class_name: str, function: str, start: int) -> tuple[tt.Arg, ...]:
        """Read one value, or `_`, for every input of the function."""
        signature = self.signatures.function(class_name, function) if self.signatures else None
        if signature is None:
            self.at, self.word = start, self.words[start]
            raise self.error(
                "a function of the library",
                "positional arguments are read with the signatures of their functions",
            )
        args: list[tt.Arg] = []
        for parameter in signature.inputs:
            if self.word == "_":
                self.advance()
            else:
                args.append(tt.Arg(parameter.name, self.value()))
        return self.arrange(args)

    # ------------------------------------------------------------------------------ values

    def value(self) -> tt.Value:
        """Read a value."""
        value = self.simple_value()
        moved = 0
        while self.word in ("+", "-"):
            moved += 1
            if moved > DEEPEST:
                raise self.problem_at(self.at, "S007", TOO_DEEP, HINT)
            sign = self.word
            self.advance()
            value = tt.DateOffset(value, sign, self.simple_value())
        return value

    def simple_value(self) -> tt.Value:
        """Read a value that is no sum."""
        word = self.word
        if word == '"' or word == "null" or word == '""':
            return self.words_value()
        value = single_token(word)
        if value is not None:
            self.advance()
            return self.read_unit(value) if self.word.startswith("unit:") else value
        if word == "location:":
            self.advance()
            return tt.LocationValue(None, None, self.free_text())
        if word.startswith("param:"):
            return tt.VarRef(self.name())
        if word == "[":
            return self.array()
        if word in tt.EDGES:
            self.advance()
            return tt.DateEdge(word, self.unit())
        if self.is_computed():
            return self.computed()
        raise self.error("a value", _HINTS.get(word.partition(":")[0]))

    def is_computed(self) -> bool:
        """Return whether a computed value comes next."""
        return self.word in tt.COMPUTED and self.words[self.at + 1 : self.at + 2] == ["("]

    def computed(self) -> tt.Computed:
        """Read `count ( v )`, or `distance ( v , v )`."""
        operator = self.word
        self.advance()
        self.take("(")
        arguments = self.several(",", self.argument)
        self.take(")")
        return tt.Computed(operator, tuple(arguments))

    def argument(self) -> tt.Value:
        """Read the operand of a computed value: a value, or the values of a list that fulfil P."""
        value = self.value()
        if self.word != "filter" or not isinstance(value, tt.VarRef):
            return value
        self.advance()
        return tt.ListFilter(value.name, self.predicate(), span=value.span)

    def read_unit(self, value: tt.Value) -> tt.Value:
        """Read the unit after a number, or after a placeholder of one."""
        match value:
            case tt.NumberValue(number):
                return self.measure(number)
            case tt.SlotValue(token) if slot_type(token) == NUMBER:
                return tt.SlotValue(token, self.unit())
            case _:
                return value

    def unit(self) -> str:
        """Read `unit:min`; the paper's rows have unit:hour and the like, too."""
        prefix, _, unit = self.word.partition(":")
        if prefix != "unit" or not unit:
            raise self.error("a unit such as unit:min")
        self.advance()
        return UNIT_ALIASES.get(unit, unit)

    def measure(self, number: Decimal) -> tt.Value:
        """Read the units and further parts of a measure whose first number is read."""
        parts = [(number, self.unit())]
        while self.is_further_part():
            if not self.style.keywords:
                self.take("plus")
            following = single_token(self.word)
            if not isinstance(following, tt.NumberValue):
                raise self.error("a number")
            self.advance()
            parts.append((following.value, self.unit()))
        return tt.MeasureValue(tuple(parts))

    def is_further_part(self) -> bool:
        """Return whether another part of a measure follows; by position, "plus" begins it."""
        if not self.style.keywords:
            return self.word == "plus"
        return self.at + 1 < len(self.words) and self.words[self.at + 1].startswith("unit:")

    def array(self) -> tt.Value:
        """Read `[ v , v ]`."""
        self.advance()
        items: list[tt.Value] = []
        while self.word != "]":
            if items:
                self.take(",")
            items.append(self.value())
        self.advance()
        return tt.ArrayValue(tuple(items))

    def words_value(self) -> tt.Value:
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
                raise self.error("a place such as at:37.4:-122.1", tokens.EARTH)
            self.advance()
            return place
        return tt.StringValue(text or "")

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
        text = " ".join(map(tokens.unescape_word, self.words[self.at + 1 : end]))
        self.at = end
        self.advance()
        return text

    def entity(self, text: str | None, is_known: bool) -> tt.EntityValue:
        """Read the kind of an entity whose words are read."""
        match = _KIND.fullmatch(self.word)
        if match is None:
            raise self.error("the kind of an entity, such as ^^tt:username")
        self.advance()
        if not is_known:
            return tt.EntityValue(None, match[1], text)
        if self.word.startswith("id:"):
            identifier = tokens.unescape_word(self.word[3:])
            self.advance()
            return tt.EntityValue(identifier, match[1], text)
        return tt.EntityValue(text, match[1])

    # ------------------------------------------------------------------ programs, policies

    def start(self) -> tt.Program | tt.Policy:
        if self.word == "policy":
            result: tt.Program | tt.Policy = self.policy()
        else:
            result = tt.Program(tuple(self.several(";", self.rule)))
        self.end()
        return result

    def end(self) -> None:
        if self.word:
            raise self.error("the end of the program")

    def rule(self) -> tt.Rule:
        stream = None
        if self.word == "now":
            self.advance()
        else:
            stream = self.stream()
        self.take("=>")
        if self.word in _SHOW:
            self.advance()
            return tt.Rule(stream, None, _NOTIFY)
        start = self.word
        query, passing = (self.query(), ()) if stream is None else self.query_of_stream()
        if self.word != "=>":
            if isinstance(query, tt.Call) and start != "(":
                return tt.Rule(stream, None, query)
            raise self.error("'=>' and an action")
        self.advance()
        if stream is not None and passing:
            return tt.Rule(tt.StreamJoin(stream, query, passing), None, self.action())
        return tt.Rule(stream, query, self.action())

    def action(self) -> tt.Action:
        if self.word in _SHOW:
            self.advance()
            return _NOTIFY
        if not self.word.startswith("@"):
            raise self.error("'notify' or the action's function")
        return self.call()

    def policy(self) -> tt.Policy:
        self.advance()
        source = self.predicate()
        self.take(":")
        is_now = self.word == "now"
        if is_now:
            self.take("now", "=>")
        first = self.policy_function()
        if is_now and self.word != "=>":
            return tt.Policy(source, None, first)
        self.take("=>")
        if self.word in _SHOW:
            self.advance()
            return tt.Policy(source, first, None)
        return tt.Policy(source, first, self.policy_function())

    def policy_function(self) -> tt.PolicyFunction:
        class_name, function = None, None
        if self.word == "*":
            self.advance()
        elif self.word.startswith("@") and self.word.endswith(".*"):
            class_name = self.word[1:-2]
            self.advance()
        else:
            class_name, function = self.function()
        predicate: tt.Predicate = _TRUE
        if self.word == "filter" and function is not None:
            self.advance()
            predicate = self.predicate()
        return tt.PolicyFunction(class_name, function, predicate)

    # -------------------------------------------------------------------- streams, queries

    def stream(self) -> tt.Stream:
        word = self.word
        match word:
            case "monitor":
                return self.monitor()
            case "(":
                inner = self.stream_in_parentheses()
                if self.word == "filter":
                    self.advance()
                    return tt.StreamFilter(inner, self.predicate())
                if self.word == "join":
                    self.advance()
                    return tt.StreamJoin(inner, *self.query_of_stream())
                return inner
            case "edge":
                self.advance()
                inner = self.stream_in_parentheses()
                self.take("on")
                return tt.Edge(inner, self.predicate())
            case "attimer":
                self.advance()
                self.take("time", "=")
                return tt.AtTimer(self.value())
            case "timer":
                self.advance()
                self.take("base", "=")
                base = self.value()
                self.take(",", "interval", "=")
                return tt.Timer(base, self.value())
            case _:
                raise self.error("'now', a stream or 'policy'")

    def monitor(self) -> tt.Monitor:
        self.advance()
        query = self.group()
        names: list[str] = []
        if self.word == "on":
            self.take("on", "new")
            if self.word == "[":
                self.advance()
                names = self.several(",", self.name)
                self.take("]")
            else:
                names = [self.name()]
        return tt.Monitor(query, tuple(names))

    def stream_in_parentheses(self) -> tt.Stream:
        """Return `( s )` or `( s => q )`."""
        self.take("(")
        stream = self.stream()
        if self.word == "=>":
            self.advance()
            stream = tt.StreamJoin(stream, *self.query_of_stream())
        self.take(")")
        return stream

    def query_of_stream(self) -> tuple[tt.Query, tuple[tt.Arg, ...]]:
        """Return a query, and the inputs that `on` passes to one in parentheses."""
        if self.word != "(":
            return self.query(), ()
        query = self.group()
        if self.word == "on":
            return query, self.passing()
        return self.after_group(query), ()

    def query(self) -> tt.Query:
        if self.word == "(":
            return self.after_group(self.group())
        if self.word == "aggregate":
            return self.aggregate()
        if not self.word.startswith("@"):
            raise self.error("a query or an action", _PREFIXED.get(self.word))
        return self.call()

    def group(self) -> tt.Query:
        self.take("(")
        query = self.query()
        self.take(")")
        return query

    def after_group(self, query: tt.Query) -> tt.Query:
        if self.word == "filter":
            self.advance()
            return tt.Filter(query, self.predicate())
        if self.word == "join":
            self.advance()
            right = self.group()
            return tt.Join(query, right, self.passing())
        if self.word == "select":
            return self.projection(query)
        if self.word == "sort":
            self.advance()
            return tt.Sort(query, self.output(), self.direction())
        if self.word == "[":
            return self.slice(query)
        return query

    def projection(self, query: tt.Query) -> tt.Projection:
        self.advance()
        self.take("[")
        keeps_all = self.word == "*"
        values: list[tt.Value] = []
        if keeps_all:
            self.advance()
        else:
            values.append(self.output())
        while self.word == ",":
            self.advance()
            values.append(self.output())
        self.take("]")
        return tt.Projection(query, tuple(values), keeps_all)

    def output(self) -> tt.Value:
        """Read the name of an output, or a value computed of one."""
        if not self.word.startswith("param:") and not self.is_computed():
            raise self.error("an output, or a value computed of one")
        return self.simple_value()

    def direction(self) -> str:
        direction = self.word
        if direction not in ("asc", "desc"):
            raise self.error("'asc' or 'desc'")
        self.advance()
        return direction

    def slice(self, query: tt.Query) -> tt.Slice:
        self.advance()
        start, end = self.value(), None
        if self.word == ":":
            self.advance()
            end = self.value()
        self.take("]")
        return tt.Slice(query, start, end)

    def passing(self) -> tuple[tt.Arg, ...]:
        args: list[tt.Arg] = []
        while self.word == "on":
            self.advance()
            args.append(self.read_passing())
        return self.arrange(args)

    def aggregate(self) -> tt.Aggregate:
        self.advance()
        operator = self.word
        if operator not in tt.AGGREGATIONS:
            raise self.error(f"one of {', '.join(tt.AGGREGATIONS)}")
        self.advance()
        field = None if self.word == "of" else self.field(operator)
        self.take("of")
        return tt.Aggregate(operator, field, self.group())

    def field(self, operator: str) -> str:
        if operator == "count":
            raise self.error("'of'", UNREAD["count"])
        bare = typed_name(self.word, "param", types=False)
        if bare is None:
            return self.name()
        self.advance()
        return bare

    # ---------------------------------------------------------------------------- predicates

    def predicate(self) -> tt.Predicate:
        clauses = self.several("and", self.clause)
        return clauses[0] if len(clauses) == 1 else tt.And(tuple(clauses))

    def clause(self) -> tt.Predicate:
        atoms = self.several("or", self.atom)
        return atoms[0] if len(atoms) == 1 else tt.Or(tuple(atoms))

    def atom(self) -> tt.Predicate:
        word = self.word
        if word.startswith("param:"):
            name = self.name()
            return tt.Atom(name, self.operator(), self.value())
        if self.is_computed():
            return tt.Comparison(self.computed(), self.operator(), self.value())
        if word.startswith("@"):
            call = self.call()
            self.take("{")
            predicate = self.predicate()
            self.take("}")
            return tt.GetPredicate(call, predicate)
        if word == "not":
            self.advance()
            if not self.word.startswith(("param:", "@")) and not self.is_computed():
                raise self.error("a comparison after 'not'")
            return tt.Not(self.atom())
        if word not in ("true", "false"):
            raise self.error("a predicate")
        self.advance()
        return _TRUE if word == "true" else _FALSE

    def operator(self) -> str:
        operator = self.word
        if operator not in _OPERATORS:
            raise self.error("an operator", did_you_mean(operator, tt.OPERATORS))
        self.advance()
        return operator


# ---------------------------------------------------------------------------------- places


class _PlacedReader(_TokenReader):
    """Gives the nodes that it reads their places in the text."""

    __slots__ = ("starts",)

    def __init__(self, text: str, style: tokens.TokenStyle, signatures: Signatures | None):
        super().__init__(text, style, signatures)
        self.starts = [match.start() for match in re.finditer(r"\S+", text)]

    def span(self, start: int, end: int) -> Span:
        """Return the place of the tokens from one number to another, which is not in it."""
        last = max(start, end - 1)
        after = self.starts[last] + len(self.words[last])
        return Span("<tokens>", 1, self.starts[start] + 1, 1, after + 1)

    def aggregate(self) -> tt.Aggregate:
        start = self.at
        node = super().aggregate()
        name = None if node.field is None else self.span(start + 2, start + 3)
        return replace(node, field_span=name)

    def monitor(self) -> tt.Monitor:
        node = super().monitor()
        last = range(self.at - 2 * len(node.on_new) - 1, self.at)  # [ a , b ]
        names = (
            [index for index in last if self.words[index].startswith("param:")]
            if node.on_new
            else []
        )
        return replace(node, on_new_spans=tuple(self.span(index, index + 1) for index in names))

    def rule(self) -> tt.Rule:
        node = super().rule()
        if node.action.span is not None:
            return node
        return replace(node, action=replace(node.action, span=self.span(self.at - 1, self.at)))

    def call(self) -> tt.Call:
        start = self.at
        node = super().call()
        attributes = tuple(replace(arg, span=arg.value.span) for arg in node.selector.attributes)
        place = self.span(start, start + 1)
        return replace(node, selector=replace(node.selector, attributes=attributes, span=place))

    def read_passing(self) -> tt.Arg:
        node = super().read_passing()
        return replace(node, value=replace(node.value, span=self.span(self.at - 1, self.at)))

    def positions(self, class_name: str, function: str, start: int) -> tuple[tt.Arg, ...]:
        args = super().positions(class_name, function, start)
        return tuple(replace(arg, span=arg.value.span) for arg in args)


def _with_place(name: str) -> Callable[..., Any]:
    read = getattr(_PlacedReader, name)

    def read_with_place(self: _PlacedReader) -> Any:
        start = self.at
        node = read(self)
        return replace(node, span=self.span(start, self.at)) if node.span is None else node

    return read_with_place


for _name in (
    "rule", "action", "policy", "policy_function", "stream", "query", "call", "constant",
    "read_passing", "predicate", "clause", "atom", "value", "simple_value", "computed", "argument",
):  # fmt: skip
    setattr(_PlacedReader, _name, _with_place(_name))
