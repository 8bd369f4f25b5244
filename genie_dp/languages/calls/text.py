"""Calls as people write them, and as JSON; both ways.

lights.set(room = "kitchen", level = 40) & door.lock() => mail.send(to = $1.owner)
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import NoReturn, assert_never

from genie_dp.errors import GenieError, Span
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.structure import program_of
from genie_dp.languages.calls.values import moment_of
from genie_dp.languages.text import Places
from genie_dp.languages.types import is_slot

# The functions over trees call themselves once a level; Python stops at 1,000 calls.
DEEPEST = 60
_TOKEN = re.compile(
    r"""(?P<space>\s+)
    |(?P<text>"(?:[^"\\]|\\.)*")|(?P<symbol>'(?:[^'\\]|\\.)*')|(?P<quote>["'])
    |(?P<kind>\^\^[\w:.\-]+)
    |(?P<moment>(?:date|time):\d[\w:.+\-]*|duration:P[\w.]*)
    |(?P<reference>\$\d+(?:\.(?:[\w\-]+|"(?:[^"\\]|\\.)*"))*)
    |(?P<open>\$\?)|(?P<variable>\$[^\W\d]\w*)
    |(?P<slot>(?:GENERIC_ENTITY|MEASURE)_[\w:.\-]+_\d+)
    |(?P<number>-?\d+(?:\.\d+)?(?:[eE][+\-]?\d+)?)
    |(?P<name>[^\W\d][\w.\-/]*)
    |(?P<sign>=>|[&()\[\]{},=:])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_PART = re.compile(r'\.(?:(?P<word>[\w\-]+)|(?P<text>"(?:[^"\\]|\\.)*"))')
_SHOWN = 20  # characters of a token in a message


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def parse(text: str, *, file: str = "<program>") -> ast.Program:
    """Return the program of a text or of JSON, or raise GenieError (Z001 to Z006).

    JSON is one call `{"name": .., "arguments": {..}}` or a list of them (see `structure.calls`).

    >>> parse('light(level = 40) => tell(what = $1.state)').steps[1][0].arguments[0].value
    Reference(call=1, path=('state',))
    >>> parse('[{"name": "light", "arguments": {"level": 40.0}}]') == parse("light(level = 40)")
    True
    """
    parser = _Parser(text, file)
    program = parser.json() if parser.token.text in ("[", "{") else parser.program()
    parser.end()
    return program


def parse_body(
    text: str, holes: Mapping[str, str], *, file: str, whole: str
) -> ast.Program | ast.Value:
    """Return the calls or the one value of a template body.

    Args:
        text: the body; what is before it in `whole` is white space.
        holes: names that are children.
        file: its name in mistakes.
        whole: what mistakes show.
    """
    parser = _Parser(text, file, holes=frozenset(holes), shown=whole)
    if parser.is_value():
        value = parser.value(0)
        parser.end()
        return value
    program = parser.program()
    parser.end()
    return program


@dataclass(slots=True)
class _Parser:
    """Reads one text from left to right."""

    text: str
    file: str
    holes: frozenset[str] = frozenset()
    shown: str = ""
    tokens: list[_Token] = field(init=False)
    place: int = 0
    places: Places = field(init=False)

    def __post_init__(self) -> None:
        self.places = Places(self.shown or self.text, self.file)
        tokens = []
        for match in _TOKEN.finditer(self.text):
            kind = match.lastgroup or ""
            if kind == "quote":
                hint = "end the text with the same quote; inside of it write a backslash before one"
                message = "this text has no end"
                raise self.places.error("Z003", message, match.start(), match.end(), hint)
            if kind != "space":
                tokens.append(_Token(kind, match[0], match.start(), match.end()))
        self.tokens = [*tokens, _Token("end", "", len(self.text), len(self.text) + 1)]

    @property
    def token(self) -> _Token:
        return self.tokens[self.place]

    def next(self) -> _Token:
        token = self.token
        self.place += 1
        return token

    def fail(self, expected: str, hint: str | None = None) -> NoReturn:
        token = self.token
        got = "the end" if token.kind == "end" else repr(token.text[:_SHOWN])
        code = "Z001" if token.kind == "end" and self.place == 0 else "Z002"
        raise self.places.error(
            code, f"expected {expected}, got {got}", token.start, token.end, hint
        )

    def expect(self, sign: str) -> _Token:
        if self.token.text != sign or self.token.kind != "sign":
            self.fail(repr(sign))
        return self.next()

    def take(self, *signs: str) -> bool:
        if self.token.kind == "sign" and self.token.text in signs:
            self.place += 1
            return True
        return False

    def end(self) -> None:
        if self.token.kind != "end":
            hint = "write => between calls in sequence, & between calls in parallel"
            self.fail("the end of the program", hint)

    # ----------------------------------------------------------------------------- calls

    def program(self) -> ast.Program:
        steps = [self.step()]
        while self.take("=>"):
            steps.append(self.step())
        return ast.Program(tuple(steps))

    def step(self) -> ast.Step:
        calls = [self.call()]
        while self.take("&"):
            calls.append(self.call())
        return tuple(calls)

    def call(self) -> ast.Call | ast.Hole:
        token = self.token
        if token.kind not in ("name", "text", "slot"):
            self.fail("a call", 'write tool(name = value), such as lights.set(room = "kitchen")')
        name = self.name()
        span = self.places.span(token.start, token.end)
        if token.text in self.holes and self.token.text != "(":
            return ast.Hole(token.text, span=span)
        self.expect("(")
        return ast.Call(name, self.arguments(")", 0), span)

    def name(self) -> str:
        token = self.next()
        return self.unescape(token) if token.kind == "text" else token.text

    def arguments(self, closing: str, depth: int) -> tuple[ast.Argument, ...]:
        found: list[ast.Argument] = []
        while not self.take(closing):
            if found:
                self.expect(",")
            token = self.token
            if token.kind not in ("name", "text", "slot"):
                self.fail("a name and its value", 'such as room = "kitchen"')
            name = self.name()
            if not self.take("=", ":"):
                self.fail("'='", f"write {name} = and a value")
            span = self.places.span(token.start, token.end)
            found.append(ast.Argument(name, self.value(depth + 1), span))
        return tuple(found)

    # ---------------------------------------------------------------------------- values

    def is_value(self) -> bool:
        """Tell whether a body is a value: no call, and no child alone, which may be a program."""
        first, second = self.tokens[0], self.tokens[min(1, len(self.tokens) - 1)]
        if first.kind == "text":
            return second.text != "("
        return first.kind != "end" and not (
            first.kind == "name" and (second.text == "(" or first.text in self.holes)
        )

    def value(self, depth: int) -> ast.Value:
        if depth > DEEPEST:
            message = f"expected at most {DEEPEST} brackets in each other, got more"
            raise self.places.error("Z005", message, self.token.start, self.token.end)
        token = self.token
        span = self.places.span(token.start, token.end)
        if token.kind == "sign" and token.text == "[":
            return self.array(depth)
        if token.kind == "sign" and token.text == "{":
            self.next()
            fields = self.arguments("}", depth)
            end = self.tokens[self.place - 1].end
            return ast.Record(fields, self.places.span(token.start, end))
        if token.kind in ("sign", "kind", "other", "end"):
            self.fail("a value", 'such as "text", 40, true, [..], {name = ..} or $1')
        if token.kind == "text":
            return self.quoted(span)
        return self.leaf(self.next(), span)

    def quoted(self, span: Span) -> ast.Value:
        start = self.token.start
        value = self.unescape(self.next())
        if self.token.kind != "kind":
            return ast.Text(value, span)
        kind = self.next()
        return ast.Name(value, kind.text[2:], self.places.span(start, kind.end))

    def leaf(self, token: _Token, span: Span) -> ast.Value:
        match token.kind:
            case "symbol":
                return ast.Symbol(self.unescape(token), span)
            case "number":
                return ast.Number(self.number(token), span)
            case "moment":
                return self.moment(token)
            case "reference":
                return reference(token.text, span)
            case "open":
                return ast.Open(span)
            case "variable":
                return ast.Hole(token.text[1:], is_placeholder=True, span=span)
            case "slot":
                return ast.Slot(token.text, span=span)
            case _:
                return self.word(token)

    def word(self, token: _Token) -> ast.Value:
        span = self.places.span(token.start, token.end)
        if token.text in self.holes:
            return ast.Hole(token.text, span=span)
        flag = ast.flag_of(token.text)
        if flag is not None:
            return replace(flag, span=span)
        return (
            ast.Slot(token.text, span=span) if is_slot(token.text) else ast.Symbol(token.text, span)
        )

    def array(self, depth: int) -> ast.Array:
        start = self.next().start
        items: list[ast.Value] = []
        while not self.take("]"):
            if items:
                self.expect(",")
            items.append(self.value(depth + 1))
        return ast.Array(tuple(items), self.places.span(start, self.tokens[self.place - 1].end))

    def number(self, token: _Token) -> Decimal:
        number = ast.read_number(token.text)
        if number is None:
            message = "expected a number that a computer can hold"
            raise self.places.error("Z004", message, token.start, token.end)
        return number

    def moment(self, token: _Token) -> ast.Moment:
        kind, _, rest = token.text.partition(":")
        moment = moment_of(kind, rest)
        if moment is None:
            hint = (
                "write date:2027-03-14, date:2027-03-14T17:00:00, time:17:00:00 or duration:PT90M"
            )
            message = f"{token.text!r} is no {kind}"
            raise self.places.error("Z004", message, token.start, token.end, hint)
        return replace(moment, span=self.places.span(token.start, token.end))

    def unescape(self, token: _Token) -> str:
        text = token.text
        if token.kind == "symbol":  # JSON knows one kind of quotes
            inner = text[1:-1].replace("\\'", "'").replace('"', '\\"')
            text = f'"{inner}"'
        try:
            found: str = json.loads(text, strict=False)
        except ValueError:
            hint = 'known are \\" \\\\ \\/ \\n \\t \\r \\b \\f \\uXXXX'
            message = "this text holds an unknown escape"
            raise self.places.error("Z003", message, token.start, token.end, hint) from None
        return found

    # ------------------------------------------------------------------------------ JSON

    def json(self) -> ast.Program:
        value = self.value(0)
        try:
            return program_of(value)
        except GenieError as error:
            raise GenieError(error.problems, sources={self.file: self.text}) from None


def reference(text: str, span: Span | None = None) -> ast.Reference:
    """Return the reference of a text such as `$1.items.0."the id"`."""
    call, _, _ = text[1:].partition(".")
    path: list[str | int] = []
    for match in _PART.finditer(text, len(call) + 1):
        word = match["word"]
        if word is None:
            path.append(json.loads(match["text"], strict=False))
        else:
            path.append(int(word) if word.isdecimal() and word.isascii() else word)
    return ast.Reference(int(call), tuple(path), span)


# ------------------------------------------------------------------------------------- writing


def render(program: ast.Program) -> str:
    """Return the text of a program.

    >>> print(render(parse("b( x=[1,2.50] )&a()=>c(y={'p q':$1.id})".replace("'p q'", '"p q"'))))
    b(x = [1, 2.5]) & a() => c(y = {"p q" = $1.id})
    """
    return " => ".join(" & ".join(map(_call_text, step)) for step in program.steps)


def _call_text(call: ast.Call | ast.Hole) -> str:
    if isinstance(call, ast.Hole):
        return _hole_text(call)
    return f"{_name_text(call.name)}({_arguments_text(call.arguments)})"


def _arguments_text(arguments: tuple[ast.Argument, ...]) -> str:
    return ", ".join(f"{_name_text(a.name)} = {value_text(a.value)}" for a in arguments)


def _name_text(name: str) -> str:
    return name if ast.is_bare_name(name) else _quote(name)


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _hole_text(hole: ast.Hole) -> str:
    return f"${hole.name}" if hole.is_placeholder else hole.name


def value_text(value: ast.Value) -> str:
    """Return the text of a value."""
    match value:
        case ast.Text(text):
            return _quote(text)
        case ast.Name(words, kind):
            return f"{_quote(words)}^^{kind}"
        case ast.Symbol(name):
            if ast.is_bare_symbol(name):
                return name
            inner = _quote(name)[1:-1].replace('\\"', '"').replace("'", "\\'")
            return f"'{inner}'"
        case ast.Array(items):
            return f"[{', '.join(map(value_text, items))}]"
        case ast.Record(fields):
            return f"{{{_arguments_text(fields)}}}"
        case _:
            return leaf_text(value)


def leaf_text(
    value: ast.Number | ast.Flag | ast.Moment | ast.Slot | ast.Open | ast.Reference | ast.Hole,
) -> str:
    """Return the text of a value without quotes and brackets."""
    match value:
        case ast.Number(number):
            return ast.number_text(number)
        case ast.Flag(flag):
            return json.dumps(flag)
        case ast.Moment(kind, text):
            return f"{kind}:{text}"
        case ast.Slot(token):
            return token
        case ast.Open():
            return "$?"
        case ast.Reference():
            return reference_text(value)
        case ast.Hole():
            return _hole_text(value)
    assert_never(value)


_BARE_PART = re.compile(r"[\w\-]+")


def reference_text(value: ast.Reference) -> str:
    """Return the text of a reference.

    >>> reference_text(ast.Reference(1, ("items", 0, "the id", "0")))
    '$1.items.0."the id"."0"'
    """
    parts = [f"${value.call}"]
    for part in value.path:
        is_bare = isinstance(part, int) or (
            _BARE_PART.fullmatch(part) is not None and not (part.isdecimal() and part.isascii())
        )
        parts.append(str(part) if is_bare else _quote(str(part)))
    return ".".join(parts)
