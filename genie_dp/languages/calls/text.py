"""Calls as people write them, as JSON, and as the tokens that models read and write.

lights.set(room = "kitchen", level = 40) & door.lock() => mail.send(to = $1.owner)
lights.set( room= " kitchen " level= 40 ) & door.lock( ) => mail.send( to= $1.owner )
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn, assert_never

from genie_dp.errors import GenieError, Span
from genie_dp.languages.calls import ast
from genie_dp.languages.calls.structure import program_of
from genie_dp.languages.calls.values import NUMBER, moment_of
from genie_dp.languages.text import Places, escape_word, unescape_word
from genie_dp.languages.types import is_slot

THEN, AND, OPEN = "=>", "&", "$?"
# The functions over trees call themselves once a level; Python stops at 1,000 calls.
DEEPEST = 60
_LEXEME = re.compile(
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
_PRIVATE = re.compile("[\ue000-\uf8ff]")  # what synthesis writes for a placeholder
_SIGNS = frozenset(("(", ")", "[", "]", "{", "}", THEN, AND))
_SHOWN = 20  # characters of a token in a message

Lexeme = tuple[str, str, int, int]
"""Its kind, what it says, and where it stands: from, and to before."""


def parse(text: str, *, file: str = "<program>") -> ast.Program:
    """Return the program of a text or of JSON, or raise GenieError (Z001 to Z006).

    JSON is one call `{"name": .., "arguments": {..}}` or a list of them (see `structure.calls`).

    >>> parse('light(level = 40) => tell(what = $1.state)').steps[1][0].arguments[0].value
    Reference(call=1, path=('state',))
    >>> parse('[{"name": "light", "arguments": {"level": 40.0}}]') == parse("light(level = 40)")
    True
    """
    places = Places(text, file)
    reader = _CallsReader(_lexemes_of_text(text, places), places, _TEXT)
    program = reader.json() if reader.lexemes[0][1] in ("[", "{") else reader.program()
    reader.end()
    return program


def parse_body(
    text: str, holes: Mapping[str, str], *, file: str, whole: str
) -> ast.Program | ast.Value:
    """Return the calls or the one value of a template body.

    Args:
        text: the body; before it `whole` has white space only.
        holes: names that are children.
        file: its name in mistakes.
        whole: the text that mistakes show.
    """
    places = Places(whole, file)
    reader = _CallsReader(_lexemes_of_text(text, places), places, _TEXT, holes=frozenset(holes))
    tree = reader.value(0) if reader.is_value() else reader.program()
    reader.end()
    return tree


def from_tokens(text: str, library: Any = None, *, places: bool = False) -> ast.Program:
    """Return the program of a token form, or raise GenieError (Z011, Z012).

    Its nodes carry spans only with `places`.

    >>> render(from_tokens("light( level= 40 ) => tell( what= $1.state )"))
    'light(level = 40) => tell(what = $1.state)'
    """
    places_of_text = Places(text, "<tokens>")
    reader = _CallsReader(
        _lexemes_of_tokens(text, places_of_text), places_of_text, _TOKENS, has_spans=places
    )
    program = reader.program()
    reader.end()
    return program


def _lexemes_of_text(text: str, places: Places) -> list[Lexeme]:
    lexemes = []
    for match in _LEXEME.finditer(text):
        kind = match.lastgroup or ""
        if kind == "quote":
            hint = "end the text with the same quote; inside of it write a backslash before one"
            raise places.error("Z003", "this text has no end", match.start(), match.end(), hint)
        if kind != "space":
            word = match[0]
            if kind in ("text", "symbol"):
                word = _unescape(kind, word, match.start(), places)
            lexemes.append((kind, word, match.start(), match.end()))
    return [*lexemes, ("end", "", len(text), len(text) + 1)]


def _unescape(kind: str, text: str, start: int, places: Places) -> str:
    quoted = text
    if kind == "symbol":  # JSON knows one kind of quotes
        inner = text[1:-1].replace("\\'", "'").replace('"', '\\"')
        quoted = f'"{inner}"'
    try:
        unescaped: str = json.loads(quoted, strict=False)
    except ValueError:
        hint = 'known are \\" \\\\ \\/ \\n \\t \\r \\b \\f \\uXXXX'
        message = "this text holds an unknown escape"
        raise places.error("Z003", message, start, start + len(text), hint) from None
    return unescaped


def _lexemes_of_tokens(text: str, places: Places) -> list[Lexeme]:
    lexemes: list[Lexeme] = []
    words: list[str] | None = None
    start = begun = 0
    for word in text.split(" "):
        end = start + len(word)
        if words is not None:
            if word == '"':
                lexemes.append(("text", " ".join(words), begun, end))
                words = None
            else:
                words.append(unescape_word(word))
        elif word == '"':
            words, begun = [], start
        elif word in _SIGNS:
            lexemes.append(("sign", word, start, end))
        elif len(word) > 1 and word[-1] in "(=":
            lexemes.append(("name", unescape_word(word[:-1]), start, end))
            lexemes.append(("sign", word[-1], start, end))
        else:
            lexemes.append(("kind" if word[:2] == "^^" and word[2:] else "token", word, start, end))
        start = end + 1
    if words is not None:
        raise places.error("Z012", "expected '\"', got the end", len(text), len(text) + 1)
    return [*lexemes, ("end", "", len(text), len(text) + 1)]


class _Form(NamedTuple):
    """The expected tokens of one form, with hints, and the codes of mistakes.

    Attributes:
        nothing, at_end, wrong: codes where there is nothing, at the end, and before it.
        comma: the separator of arguments and items.
    """

    nothing: str
    at_end: str
    wrong: str
    comma: str
    call: tuple[str, str | None]
    argument: tuple[str, str | None]
    value: tuple[str, str | None]
    end: tuple[str, str | None]


_TEXT = _Form(
    "Z001", "Z002", "Z002", ",",
    ("a call", 'write tool(name = value), such as lights.set(room = "kitchen")'),
    ("a name and its value", 'such as room = "kitchen"'),
    ("a value", 'such as "text", 40, true, [..], {name = ..} or $1'),
    ("the end of the program", "write => between calls in sequence, & between calls in parallel"),
)  # fmt: skip
_TOKENS = _Form(
    "Z012", "Z012", "Z011", "",
    ("a call such as light(", None),
    ("an argument such as level=, or {closing!r}", None),
    ("a value", None),
    ("=>, & or the end", None),
)  # fmt: skip


class _CallsReader:
    """Reads the lexemes of one form from left to right."""

    def __init__(
        self,
        lexemes: list[Lexeme],
        places: Places,
        form: _Form,
        *,
        holes: frozenset[str] = frozenset(),
        has_spans: bool = True,
    ):
        self.lexemes, self.places, self.form = lexemes, places, form
        self.holes, self.has_spans = holes, has_spans
        self.place = 0

    def span(self, first: Lexeme, last: Lexeme | None = None) -> Span | None:
        """Return the place of a lexeme, or from it to another."""
        return self.places.span(first[2], (last or first)[3]) if self.has_spans else None

    def next(self) -> Lexeme:
        lexeme = self.lexemes[self.place]
        self.place += 1
        return lexeme

    def fail(self, expected: str, hint: str | None = None) -> NoReturn:
        kind, _, start, end = self.lexemes[self.place]
        got, code = repr(self.places.text[start:end][:_SHOWN]), self.form.wrong
        if kind == "end":
            got, code = "the end", self.form.at_end if self.place else self.form.nothing
        raise self.places.error(code, f"expected {expected}, got {got}", start, end, hint)

    def wrong(self, code: str, message: str, lexeme: Lexeme, hint: str | None = None) -> GenieError:
        return self.places.error(code, message, lexeme[2], lexeme[3], hint)

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            self.fail(repr(sign))

    def take(self, *signs: str) -> bool:
        kind, word, _, _ = self.lexemes[self.place]
        if kind == "sign" and word in signs:
            self.place += 1
            return True
        return False

    def end(self) -> None:
        if self.lexemes[self.place][0] != "end":
            self.fail(*self.form.end)

    # ----------------------------------------------------------------------------- calls

    def program(self) -> ast.Program:
        steps = [self.step()]
        while self.take(THEN):
            steps.append(self.step())
        return ast.Program(tuple(steps))

    def step(self) -> ast.Step:
        calls = [self.call()]
        while self.take(AND):
            calls.append(self.call())
        return tuple(calls)

    def call(self) -> ast.Call | ast.Hole:
        kind, name, _, _ = lexeme = self.lexemes[self.place]
        if kind not in ("name", "text", "slot"):
            self.fail(*self.form.call)
        self.place += 1
        if kind != "text" and name in self.holes:
            return ast.Hole(name, span=self.span(lexeme))
        self.expect("(")
        return ast.Call(name, self.arguments(")", 0), self.span(lexeme))

    def arguments(self, closing: str, depth: int) -> tuple[ast.Argument, ...]:
        arguments: list[ast.Argument] = []
        comma = self.form.comma
        while not self.take(closing):
            if arguments and comma:
                self.expect(comma)
            kind, name, _, _ = lexeme = self.lexemes[self.place]
            if kind not in ("name", "text", "slot"):
                expected, hint = self.form.argument
                self.fail(expected.format(closing=closing), hint)
            self.place += 1
            if not self.take("=", ":"):
                self.fail("'='", f"write {name} = and a value")
            arguments.append(ast.Argument(name, self.value(depth + 1), self.span(lexeme)))
        return tuple(arguments)

    # ---------------------------------------------------------------------------- values

    def is_value(self) -> bool:
        """Return whether a body is a value: no call, and no child alone, which may be a program."""
        (kind, word, _, _), second = self.lexemes[0], self.lexemes[min(1, len(self.lexemes) - 1)]
        is_called = second[:2] == ("sign", "(")
        if kind == "text":
            return not is_called
        return kind != "end" and not (kind == "name" and (is_called or word in self.holes))

    def value(self, depth: int) -> ast.Value:
        kind, word, _, _ = lexeme = self.lexemes[self.place]
        if depth > DEEPEST:
            message = f"expected at most {DEEPEST} brackets in each other, got more"
            raise self.wrong("Z005", message, lexeme)
        match kind:
            case "sign" if word == "[":
                self.place += 1
                items: list[ast.Value] = []
                while not self.take("]"):
                    if items and self.form.comma:
                        self.expect(self.form.comma)
                    items.append(self.value(depth + 1))
                return ast.Array(tuple(items), self.span(lexeme, self.lexemes[self.place - 1]))
            case "sign" if word == "{":
                self.place += 1
                fields = self.arguments("}", depth)
                return ast.Record(fields, self.span(lexeme, self.lexemes[self.place - 1]))
            case "text":
                self.place += 1
                if self.lexemes[self.place][0] != "kind":
                    return ast.Text(word, self.span(lexeme))
                mark = self.next()
                return ast.Name(word, mark[1][2:], self.span(lexeme, mark))
            case "sign" | "kind" | "other" | "end":
                self.fail(*self.form.value)
        value = self.leaf(lexeme)
        if value is None:
            self.fail(*self.form.value)
        self.place += 1
        return value

    def leaf(self, lexeme: Lexeme) -> ast.Value | None:
        """Return the value of one lexeme, or None if it is none."""
        kind, word, _, _ = lexeme
        span = self.span(lexeme)
        match kind:
            case "token":
                value = _value_of_token(word)
                return replace(value, span=span) if value is not None and span else value
            case "symbol":
                return ast.Symbol(word, span)
            case "number":
                number = ast.read_number(word)
                if number is None:
                    message = "expected a number that a computer can hold"
                    raise self.wrong("Z004", message, lexeme)
                return ast.Number(number, span)
            case "moment":
                kind, _, rest = word.partition(":")
                moment = moment_of(kind, rest)
                if moment is None:
                    raise self.wrong("Z004", f"{word!r} is no {kind}", lexeme, _MOMENTS)
                return replace(moment, span=span)
            case "reference":
                return reference(word, span)
            case "open":
                return ast.Open(span)
            case "variable":
                return ast.Hole(word[1:], is_placeholder=True, span=span)
            case _ if word in self.holes and kind != "slot":
                return ast.Hole(word, span=span)
            case _:
                if (flag := ast.flag_of(word)) is not None:
                    return replace(flag, span=span)
                is_placeholder = kind == "slot" or is_slot(word)
                return ast.Slot(word, span=span) if is_placeholder else ast.Symbol(word, span)

    def json(self) -> ast.Program:
        value = self.value(0)
        try:
            return program_of(value)
        except GenieError as error:
            sources = {self.places.file: self.places.text}
            raise GenieError(error.problems, sources=sources) from None


_MOMENTS = "write date:2027-03-14, date:2027-03-14T17:00:00, time:17:00:00 or duration:PT90M"


@lru_cache(maxsize=4096)
def _value_of_token(word: str) -> ast.Value | None:
    """Return the value of one token, or None if it is none."""
    if (flag := ast.flag_of(word)) is not None:
        return flag
    if NUMBER.fullmatch(word):
        number = ast.read_number(word)
        return None if number is None else ast.Number(number)
    if is_slot(word) or (len(word) == 1 and _PRIVATE.match(word)):
        return ast.Slot(word)
    if word == OPEN:
        return ast.Open()
    if word[:1] == "$":
        plain = unescape_word(word)
        is_text = plain[1:].partition(".")[0].isdecimal() and plain.isascii()
        value = reference(plain) if is_text or plain[1:2].isdecimal() else None
        return value if value is not None and reference_text(value) == plain else None
    kind, is_moment, rest = word.partition(":")
    if is_moment:
        return moment_of(kind, rest)
    if len(word) > 1 and word[0] == word[-1] == "'":
        return ast.Symbol(unescape_word(word[1:-1]) if len(word) > 2 else "")
    return ast.Symbol(word) if ast.is_bare_symbol(word) else None


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


# -------------------------------------------------------------------------------------- tokens


def tokens(program: ast.Program, library: Any = None) -> str:
    """Return the token form of a program.

    >>> print(tokens(parse('light(room = "bath room", mode = night, at = [1, {x = $?}])')))
    light( room= " bath room " mode= night at= [ 1 { x= $? } ] )
    """
    return f" {THEN} ".join(f" {AND} ".join(map(call_tokens, step)) for step in program.steps)


def call_tokens(call: ast.Call | ast.Hole) -> str:
    """Return the tokens of a call."""
    assert isinstance(call, ast.Call)
    return " ".join([head(call.name), *_fields(call.arguments), ")"])


def head(name: str) -> str:
    """Return the token that begins a call."""
    return f"{escape_word(name)}("


def argument_head(name: str) -> str:
    """Return the token that begins an argument."""
    return f"{escape_word(name)}="


def _fields(arguments: Sequence[ast.Argument]) -> Iterator[str]:
    for argument in arguments:
        yield argument_head(argument.name)
        yield value_tokens(argument.value)


def value_tokens(value: ast.Value) -> str:
    """Return the tokens of a value."""
    match value:
        case ast.Text(text):
            return _quote_words(text)
        case ast.Name(words, kind):
            return f"{_quote_words(words)} ^^{kind}"
        case ast.Symbol(name):
            return symbol_token(name)
        case ast.Reference():
            return escape_word(reference_text(value))
        case ast.Array(items):
            return " ".join(["[", *map(value_tokens, items), "]"])
        case ast.Record(fields):
            return " ".join(["{", *_fields(fields), "}"])
        case _:
            return leaf_text(value)


def _quote_words(text: str) -> str:
    return " ".join(['"', *([escape_word(w) for w in text.split(" ")] if text else ()), '"'])


def symbol_token(name: str) -> str:
    """Return the token of a listed value.

    >>> symbol_token("heat"), symbol_token("very hot"), symbol_token("2")
    ('heat', "'very\\\\u0020hot'", "'2'")
    """
    if ast.is_bare_symbol(name):
        return name
    return "'{}'".format(escape_word(name) if name else "")
