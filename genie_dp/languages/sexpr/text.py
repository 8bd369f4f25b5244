"""S-expressions as people write them, and as tokens separated by one space: both ways.

A text is read in one pass with a stack, without a grammar.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, assert_never

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.text import Places, escape, escape_word, unescape_word

# The functions over trees call themselves once a level; Python stops at 1,000 calls.
DEEPEST = 200

# In round brackets quotes and both brackets have a meaning; in square ones (TOP) every other
# character belongs to the words of a sentence: [SL:TODO call mum ( work ) ].
_ROUND = re.compile(
    r"(?P<space>\s+)|(?P<open>[\^#]?\(|\[)|(?P<close>[)\]])"
    r'|(?P<text>"(?:[^"\\]|\\.)*")|(?P<quote>")|(?P<atom>[^\s()\[\]"]+)',
    re.DOTALL,
)
_SQUARE = re.compile(
    r"(?P<space>\s+)|(?P<open>\[)|(?P<close>\])|(?P<atom>[^\s\[\]]+)",
)
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_UNESCAPED = {'"': '"', "\\": "\\", "/": "/", "n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


_ATOM = re.compile(r'[^\s()\[\]"]+')
_WORD = re.compile(r"[^\s\[\]]+")
_PREFIXES: dict[str, sx.Prefix] = {"(": "", "^(": "^", "#(": "#"}

Lexeme = tuple[str, str, int, int]
"""Its kind (atom, text, open or close), what it says, and where it stands: from, and to before."""


@dataclass(slots=True)
class _Open:
    """A bracket that was opened and is not yet closed."""

    opener: str
    start: int
    end: int
    items: list[sx.Expression] = field(default_factory=list)

    @property
    def closer(self) -> str:
        return "]" if self.opener == "[" else ")"


def parse(text: str, *, file: str = "<program>") -> sx.Expression:
    """Return the one expression of a text, or raise GenieError (X001 to X008).

    >>> parse('(Yield (toMinutes 15))').items[1]
    Node(items=(Atom(text='toMinutes'), Atom(text='15')), bracket='(', prefix='')
    """
    expressions = parse_all(text, file=file)
    if not expressions:
        hint = "write an expression such as (f x)"
        message = "expected a program, got an empty text"
        raise Places(text, file).error("X001", message, 0, 1, hint)
    if len(expressions) > 1:
        message = "expected the end of the program, got a second expression"
        hint, span = "put both into one bracket", expressions[1].span
        problem = Problem("X002", message, span, hint, stage="syntax")
        raise GenieError(problem, sources={file: text})
    return expressions[0]


def parse_all(text: str, *, file: str = "<program>") -> list[sx.Expression]:
    """Return all expressions of a text, one after the other."""
    return _ExpressionReader(Places(text, file)).read(_lexemes_of_text)


def from_tokens(text: str, library: Any = None, *, places: bool = False) -> sx.Expression:
    """Return the expression of a token form, or raise GenieError (X011 to X013).

    Its nodes carry spans only with `places`.

    >>> program = parse('(INFORM time "5 o\\\\"clock")')
    >>> from_tokens(tokens(program)) == program
    True
    """
    reader = _ExpressionReader(Places(text, "<tokens>"), is_tokens=True, has_spans=places)
    expressions = reader.read(_lexemes_of_tokens)
    if len(expressions) != 1:
        raise reader.end_error("one expression", str(len(expressions)))
    return expressions[0]


@dataclass(slots=True)
class _ExpressionReader:
    """Reads the lexemes of one text, with a stack of open brackets."""

    places: Places
    is_tokens: bool = False
    has_spans: bool = True
    opened: list[_Open] = field(default_factory=list)

    @property
    def in_square(self) -> bool:
        return bool(self.opened) and self.opened[-1].opener == "["

    def span(self, start: int, end: int) -> Span | None:
        return self.places.span(start, end) if self.has_spans else None

    def error(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> GenieError:
        """Return the error of a lexeme; in token forms all have one code, and no hint."""
        if self.is_tokens:
            code, end, hint = "X011", max(end, start + 1), None
        return self.places.error(code, message, start, end, hint)

    def end_error(self, expected: str, got: str = "the end") -> GenieError:
        """Return the error at the end of a token form."""
        end = len(self.places.text)
        return self.places.error("X012", f"expected {expected}, got {got}", end, end + 1)

    def read(
        self, lexemes: "Callable[[_ExpressionReader], Iterator[Lexeme]]"
    ) -> list[sx.Expression]:
        """Return all expressions of the text."""
        top: list[sx.Expression] = []
        for kind, word, start, end in lexemes(self):
            items = self.opened[-1].items if self.opened else top
            if kind == "atom":
                items.append(sx.Atom(word, self.span(start, end)))
            elif kind == "text":
                items.append(sx.Text(word, self.span(start, end)))
            elif kind == "open":
                if len(self.opened) == DEEPEST:
                    got = repr(word) if self.is_tokens else "more"
                    message = f"expected at most {DEEPEST} brackets in each other, got {got}"
                    raise self.error("X008", message, start, end)
                self.opened.append(_Open(word, start, end))
            else:
                node = self.close(word, start, end)
                (self.opened[-1].items if self.opened else top).append(node)
        if self.opened:
            last = self.opened[-1]
            if self.is_tokens:
                raise self.end_error(repr(last.closer))
            message = f"expected {last.closer!r} to close this bracket, got the end of the text"
            raise self.error("X004", message, last.start, last.end, f"add {last.closer!r}")
        return top

    def close(self, closer: str, start: int, end: int) -> sx.Node:
        """Return the node of the bracket that is closed."""
        is_right = bool(self.opened) and self.opened[-1].closer == closer
        if not self.opened or (self.is_tokens and not is_right):
            hint = f"remove it, or open a bracket before it: {closer!r} closes nothing"
            raise self.error("X002", f"expected an expression, got {closer!r}", start, end, hint)
        opened = self.opened.pop()
        if not is_right:
            line, column = self.places.line_column(opened.start)
            message = f"expected {opened.closer!r} to close {opened.opener!r} of {line}:{column}"
            raise self.error("X003", f"{message}, got {closer!r}", start, end)
        layout = _TOKEN_LAYOUTS[closer]
        if not self.is_tokens:
            layout = _layout(self.places.text, opened.end, start)
        prefix, span = _PREFIXES.get(opened.opener, ""), self.span(opened.start, end)
        return sx.Node(tuple(opened.items), _BRACKETS[closer], prefix, layout, span)


_TOKEN_LAYOUTS: dict[str, sx.Layout] = {")": "compact", "]": "closing"}
_BRACKETS: dict[str, sx.Bracket] = {")": "(", "]": "["}


def _layout(text: str, start: int, end: int) -> sx.Layout:
    """Return the layout of a bracket whose inside is text[start:end]."""
    if start == end or not text[end - 1].isspace():
        return "compact"
    return "spaced" if text[start].isspace() else "closing"


def _lexemes_of_text(reader: _ExpressionReader) -> Iterator[Lexeme]:
    text, position = reader.places.text, 0
    while position < len(text):
        match = (_SQUARE if reader.in_square else _ROUND).match(text, position)
        assert match is not None, "one of the patterns takes any character"
        kind, start, position = match.lastgroup or "", match.start(), match.end()
        if kind == "quote":
            hint = 'end the string with ", and write \\" for a quote inside it'
            raise reader.error("X005", "this string has no end", start, position, hint)
        if kind != "space":
            word = _unescape(match, reader.places) if kind == "text" else match[0]
            yield kind, word, start, position


def _lexemes_of_tokens(reader: _ExpressionReader) -> Iterator[Lexeme]:
    words: list[str] | None = None
    start = begun = 0
    for word in reader.places.text.split(" "):
        end, in_square = start + len(word), reader.in_square
        if words is not None:
            if word == '"':
                yield "text", " ".join(words), begun, end
                words = None
            else:
                words.append(unescape_word(word))
        elif word == "[" or (word in _PREFIXES and not in_square):
            yield "open", word, start, end
        elif word == "]" or (word == ")" and not in_square):
            yield "close", word, start, end
        elif word == '"' and not in_square:
            words, begun = [], start
        elif (_WORD if in_square else _ATOM).fullmatch(word):
            yield "atom", word, start, end
        else:
            message = f"expected one token between two spaces, got {word!r}"
            raise reader.error("X011", message, start, end)
        start = end + 1
    if words is not None:
        raise reader.end_error("'\"'")


def _unescape(match: re.Match[str], places: "Places") -> str:
    raw = match[0][1:-1]
    if "\\" not in raw:
        return raw

    def one(escape: re.Match[str]) -> str:
        code = escape[1]
        if len(code) == 5:
            return chr(int(code[1:], 16))
        if code not in _UNESCAPED:
            start = match.start() + 1 + escape.start()
            hint = 'write \\\\ for a backslash; known are \\" \\\\ \\n \\t \\r \\uXXXX'
            raise places.error(
                "X006", f"unknown escape {escape[0]!r}", start, start + len(escape[0]), hint
            )
        return _UNESCAPED[code]

    text = _ESCAPE.sub(one, raw)
    try:  # characters beyond U+FFFF may be written in two halves, as JSON does
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        message, hint = "this string holds half of a character", "write the character itself"
        raise places.error("X006", message, match.start(), match.end(), hint) from None


def render(program: sx.Expression, layout: sx.Layout | None = None) -> str:
    """Return the text of an expression, in the layout that it was read in or in the given one.

    One space stands between two items; everything else is as it was read.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> render(parse('(NOT  (TOPPING HAM ) )'))
    '(NOT (TOPPING HAM ) )'
    >>> render(parse('(NOT (TOPPING HAM ) )'), layout="compact")
    '(NOT (TOPPING HAM))'
    """
    match program:
        case sx.Atom(text):
            return text
        case sx.Text(value):
            return f'"{escape(value)}"'
        case sx.Node(items, bracket, prefix, own):
            inside = " ".join([render(item, layout) for item in items])
            form = layout or own
            before = " " if form == "spaced" else ""
            after = "" if form == "compact" else " "
            if not items:
                before = ""
            return f"{prefix}{bracket}{before}{inside}{after}{sx.CLOSING[bracket]}"
    assert_never(program)


def tokens(program: sx.Expression, library: Any = None) -> str:
    """Return brackets, symbols and words separated by one space; strings as words in quotes.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> tokens(parse('(Event.subject_? (?= "team lunch"))'))
    '( Event.subject_? ( ?= " team lunch " ) )'
    >>> tokens(parse('[IN:GET_EVENT [SL:LOCATION new york ] ]'))
    '[ IN:GET_EVENT [ SL:LOCATION new york ] ]'
    """
    return " ".join(_tokens(program))


def _tokens(expression: sx.Expression) -> Iterator[str]:
    match expression:
        case sx.Atom(text):
            yield text
        case sx.Text(value):
            yield '"'
            if value:
                yield from (escape_word(word) for word in value.split(" "))
            yield '"'
        case sx.Node(items, bracket, prefix):
            yield f"{prefix}{bracket}"
            for item in items:
                yield from _tokens(item)
            yield sx.CLOSING[bracket]
        case _:
            assert_never(expression)


def is_in_square(tokens: Sequence[str]) -> bool:
    """Return whether a program stops inside of square brackets, where words have no quotes.

    >>> is_in_square("[ IN:CALL [ SL:NAME".split()), is_in_square("[ IN:CALL ( name".split())
    (True, False)
    """
    opened: list[str] = []
    for token in tokens:
        if token[-1:] in "([":
            opened.append(token[-1:])
        elif token in (")", "]") and opened:
            opened.pop()
    return bool(opened) and opened[-1] == "["
