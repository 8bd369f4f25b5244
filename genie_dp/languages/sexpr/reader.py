"""Reads S-expressions: one pass over the text with a stack, no grammar."""

import re
from dataclasses import dataclass, field

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.sexpr.ast import CLOSING, Atom, Bracket, Expression, Layout, Node, Text

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


@dataclass(slots=True)
class _Open:
    """A bracket that was opened and is not yet closed."""

    opener: str
    start: int
    end: int
    items: list[Expression] = field(default_factory=list)

    @property
    def bracket(self) -> Bracket:
        return "[" if self.opener == "[" else "("


def parse(text: str, *, file: str = "<program>") -> Expression:
    """Return the one expression of a text, or raise GenieError (X001 to X008).

    >>> parse('(Yield (toMinutes 15))').items[1]
    Node(items=(Atom(text='toMinutes'), Atom(text='15')), bracket='(', prefix='')
    """
    found = parse_all(text, file=file)
    if not found:
        raise _Places(text, file).error(
            "X001",
            "expected a program, got an empty text",
            0,
            1,
            "write an expression such as (f x)",
        )
    if len(found) > 1:
        span = found[1].span
        raise GenieError(
            Problem("X002", "expected the end of the program, got a second expression", span,
                    "put both into one bracket", stage="syntax"),
            sources={file: text},
        )  # fmt: skip
    return found[0]


def parse_all(text: str, *, file: str = "<program>") -> list[Expression]:
    """Return all expressions of a text, one after the other."""
    places = _Places(text, file)
    top: list[Expression] = []
    stack: list[_Open] = []
    position = 0
    while position < len(text):
        pattern = _SQUARE if stack and stack[-1].opener == "[" else _ROUND
        match = pattern.match(text, position)
        assert match is not None, "one of the patterns takes any character"
        kind, position = match.lastgroup, match.end()
        items = stack[-1].items if stack else top
        if kind == "atom":
            items.append(Atom(match[0], places.span(match.start(), position)))
        elif kind == "text":
            items.append(Text(_unescape(match, places), places.span(match.start(), position)))
        elif kind == "open":
            if len(stack) == DEEPEST:
                message = f"expected at most {DEEPEST} brackets in each other, got more"
                raise places.error("X008", message, match.start(), position)
            stack.append(_Open(match[0], match.start(), position))
        elif kind == "close":
            node = _closed(stack.pop() if stack else None, match, places)
            (stack[-1].items if stack else top).append(node)
        elif kind == "quote":
            hint = 'end the string with ", and write \\" for a quote inside it'
            raise places.error("X005", "this string has no end", match.start(), position, hint)
    if stack:
        last = stack[-1]
        closing = CLOSING[last.bracket]
        message = f"expected {closing!r} to close this bracket, got the end of the text"
        raise places.error("X004", message, last.start, last.end, f"add {closing!r}")
    return top


def _closed(opened: _Open | None, match: re.Match[str], places: "_Places") -> Node:
    if opened is None:
        hint = f"remove it, or open a bracket before it: {match[0]!r} closes nothing"
        message = f"expected an expression, got {match[0]!r}"
        raise places.error("X002", message, match.start(), match.end(), hint)
    if CLOSING[opened.bracket] != match[0]:
        line, column = places.line_column(opened.start)
        wanted = CLOSING[opened.bracket]
        message = f"expected {wanted!r} to close {opened.opener!r} of {line}:{column}"
        raise places.error("X003", f"{message}, got {match[0]!r}", match.start(), match.end())
    prefix = opened.opener[:-1]
    return Node(
        tuple(opened.items),
        opened.bracket,
        "^" if prefix == "^" else "#" if prefix == "#" else "",
        _layout(match.string, opened.end, match.start()),
        places.span(opened.start, match.end()),
    )


def _layout(text: str, start: int, end: int) -> Layout:
    """Return the layout of a bracket whose inside is text[start:end]."""
    if start == end or not text[end - 1].isspace():
        return "compact"
    return "spaced" if text[start].isspace() else "closing"


def _unescape(match: re.Match[str], places: "_Places") -> str:
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


class _Places:
    """Turns offsets of one text into spans; most programs have a single line."""

    __slots__ = ("file", "one_line", "text")

    def __init__(self, text: str, file: str):
        self.text, self.file, self.one_line = text, file, "\n" not in text

    def line_column(self, offset: int) -> tuple[int, int]:
        if self.one_line:
            return 1, offset + 1
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def span(self, start: int, end: int) -> Span:
        return Span(self.file, *self.line_column(start), *self.line_column(end))

    def error(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> GenieError:
        problem = Problem(code, message, self.span(start, end), hint, stage="syntax")
        return GenieError(problem, sources={self.file: self.text})
