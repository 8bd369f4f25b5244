"""S-expressions as people write them, and as tokens separated by one space: both ways.

A text is read in one pass with a stack, without a grammar.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import assert_never

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.text import Places, escape, escape_word, unescape_word
from genie_dp.languages.types import is_slot

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
    items: list[sx.Expression] = field(default_factory=list)

    @property
    def bracket(self) -> sx.Bracket:
        return "[" if self.opener == "[" else "("


def parse(text: str, *, file: str = "<program>") -> sx.Expression:
    """Return the one expression of a text, or raise GenieError (X001 to X008).

    >>> parse('(Yield (toMinutes 15))').items[1]
    Node(items=(Atom(text='toMinutes'), Atom(text='15')), bracket='(', prefix='')
    """
    expressions = parse_all(text, file=file)
    if not expressions:
        raise Places(text, file).error(
            "X001",
            "expected a program, got an empty text",
            0,
            1,
            "write an expression such as (f x)",
        )
    if len(expressions) > 1:
        span = expressions[1].span
        raise GenieError(
            Problem("X002", "expected the end of the program, got a second expression", span,
                    "put both into one bracket", stage="syntax"),
            sources={file: text},
        )  # fmt: skip
    return expressions[0]


def parse_all(text: str, *, file: str = "<program>") -> list[sx.Expression]:
    """Return all expressions of a text, one after the other."""
    places = Places(text, file)
    top: list[sx.Expression] = []
    stack: list[_Open] = []
    position = 0
    while position < len(text):
        pattern = _SQUARE if stack and stack[-1].opener == "[" else _ROUND
        match = pattern.match(text, position)
        assert match is not None, "one of the patterns takes any character"
        kind, position = match.lastgroup, match.end()
        items = stack[-1].items if stack else top
        if kind == "atom":
            items.append(sx.Atom(match[0], places.span(match.start(), position)))
        elif kind == "text":
            items.append(sx.Text(_unescape(match, places), places.span(match.start(), position)))
        elif kind == "open":
            if len(stack) == DEEPEST:
                message = f"expected at most {DEEPEST} brackets in each other, got more"
                raise places.error("X008", message, match.start(), position)
            stack.append(_Open(match[0], match.start(), position))
        elif kind == "close":
            node = _close(stack.pop() if stack else None, match, places)
            (stack[-1].items if stack else top).append(node)
        elif kind == "quote":
            hint = 'end the string with ", and write \\" for a quote inside it'
            raise places.error("X005", "this string has no end", match.start(), position, hint)
    if stack:
        last = stack[-1]
        closing = sx.CLOSING[last.bracket]
        message = f"expected {closing!r} to close this bracket, got the end of the text"
        raise places.error("X004", message, last.start, last.end, f"add {closing!r}")
    return top


def _close(opened: _Open | None, match: re.Match[str], places: "Places") -> sx.Node:
    if opened is None:
        hint = f"remove it, or open a bracket before it: {match[0]!r} closes nothing"
        message = f"expected an expression, got {match[0]!r}"
        raise places.error("X002", message, match.start(), match.end(), hint)
    if sx.CLOSING[opened.bracket] != match[0]:
        line, column = places.line_column(opened.start)
        closer = sx.CLOSING[opened.bracket]
        message = f"expected {closer!r} to close {opened.opener!r} of {line}:{column}"
        raise places.error("X003", f"{message}, got {match[0]!r}", match.start(), match.end())
    prefix = opened.opener[:-1]
    return sx.Node(
        tuple(opened.items),
        opened.bracket,
        "^" if prefix == "^" else "#" if prefix == "#" else "",
        _layout(match.string, opened.end, match.start()),
        places.span(opened.start, match.end()),
    )


def _layout(text: str, start: int, end: int) -> sx.Layout:
    """Return the layout of a bracket whose inside is text[start:end]."""
    if start == end or not text[end - 1].isspace():
        return "compact"
    return "spaced" if text[start].isspace() else "closing"


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


def render(expression: sx.Expression, layout: sx.Layout | None = None) -> str:
    """Return the text of an expression, in the layout that it was read in or in the given one.

    One space stands between two items; everything else is as it was read.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> render(parse('(NOT  (TOPPING HAM ) )'))
    '(NOT (TOPPING HAM ) )'
    >>> render(parse('(NOT (TOPPING HAM ) )'), layout="compact")
    '(NOT (TOPPING HAM))'
    """
    match expression:
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
    assert_never(expression)


def tokens(expression: sx.Expression) -> str:
    """Return brackets, symbols and words separated by one space; strings as words in quotes.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> tokens(parse('(Event.subject_? (?= "team lunch"))'))
    '( Event.subject_? ( ?= " team lunch " ) )'
    >>> tokens(parse('[IN:GET_EVENT [SL:LOCATION new york ] ]'))
    '[ IN:GET_EVENT [ SL:LOCATION new york ] ]'
    """
    return " ".join(_tokens(expression))


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


def from_tokens(text: str, *, places: bool = False) -> sx.Expression:
    """Return the expression of a token form, or raise GenieError (X011 to X013).

    Its nodes carry spans only with `places`.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> program = parse('(INFORM time "5 o\\\\"clock")')
    >>> from_tokens(tokens(program)) == program
    True
    """
    span = _span if places else _no_span
    levels: list[list[sx.Expression]] = [[]]
    opened: list[str] = []
    begun: list[int] = []
    words: list[str] | None = None
    column = start = 1
    for token in text.split(" "):
        in_square = bool(opened) and opened[-1] == "["
        if words is not None:
            if token == '"':
                levels[-1].append(sx.Text(" ".join(words), span(start, column + 1)))
                words = None
            else:
                words.append(unescape_word(token))
        elif token == "[" or (token in ("(", "^(", "#(") and not in_square):
            if len(opened) == DEEPEST:
                raise _token_error(f"expected at most {DEEPEST} brackets", text, column, token)
            opened.append(token)
            begun.append(column)
            levels.append([])
        elif token == "]" or (token == ")" and not in_square):
            if not opened or sx.CLOSING["[" if opened[-1] == "[" else "("] != token:
                raise _token_error("expected an expression", text, column, token)
            node = _node(opened.pop(), levels.pop(), span(begun.pop(), column + 1))
            levels[-1].append(node)
        elif token == '"' and not in_square:
            words, start = [], column
        else:
            atom = _checked_atom(token, in_square, text, column)
            levels[-1].append(sx.Atom(atom, span(column, column + len(token))))
        column += len(token) + 1
    if words is not None or opened or len(levels[0]) != 1:
        raise _end_error(text, opened, words is not None, len(levels[0]))
    return levels[0][0]


def _no_span(_begin: int, _end: int) -> None:
    return None


def _span(begin: int, end: int) -> Span:
    return Span("<tokens>", 1, begin, 1, end)


def _node(opener: str, items: list[sx.Expression], span: Span | None) -> sx.Node:
    if opener == "[":
        return sx.Node(tuple(items), "[", "", "closing", span)
    prefix: sx.Prefix = "^" if opener == "^(" else "#" if opener == "#(" else ""
    return sx.Node(tuple(items), "(", prefix, span=span)


def _checked_atom(token: str, in_square: bool, text: str, column: int) -> str:
    forbidden = "[]" if in_square else '()[]"'
    if not token or any(c in forbidden or c.isspace() for c in token):
        raise _token_error("expected one token between two spaces", text, column, token)
    return token


def _token_error(message: str, text: str, column: int, token: str) -> GenieError:
    span = Span("<tokens>", 1, column, 1, column + max(1, len(token)))
    problem = Problem("X011", f"{message}, got {token!r}", span, stage="syntax")
    return GenieError(problem, sources={"<tokens>": text})


def _end_error(text: str, opened: list[str], in_text: bool, count: int) -> GenieError:
    span = Span("<tokens>", 1, len(text) + 1, 1, len(text) + 2)
    expected = (
        "'\"'" if in_text else repr(sx.CLOSING[opened[-1][-1]]) if opened else "one expression"
    )
    got = "the end" if in_text or opened else f"{count}"
    problem = Problem("X012", f"expected {expected}, got {got}", span, stage="syntax")
    return GenieError(problem, sources={"<tokens>": text})


def is_in_square(tokens: Sequence[str]) -> bool:
    """Tell whether a program stops inside of square brackets, where words have no quotes.

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


def parts_in(program: Sequence[str]) -> frozenset[str]:
    """Return each label and symbol of a token form, with the label of the node that it is in.

    Texts, words in square brackets and placeholders are left out.

    >>> sorted(parts_in('( PIE ( NOT ( TOP ham ) ) ( NAME " all ham " ) )'.split()))
    ['NOT TOP', 'PIE NAME', 'PIE NOT', 'TOP ham']
    """
    parts = []
    nodes: list[tuple[str, str]] = []  # bracket and label of what is open
    opened, is_text = "", False
    for token in program:
        if token == '"':
            is_text = not is_text
        elif is_text or is_slot(token):
            continue
        elif token in (")", "]"):
            if nodes:
                nodes.pop()
            opened = ""
        elif token == "[" or token.endswith("("):
            if opened:
                nodes.append((opened, ""))
            opened = token
        else:
            if nodes and (opened or nodes[-1][0] != "["):
                parts.append(f"{nodes[-1][1]} {token}")
            if opened:
                nodes.append((opened, token))
            opened = ""
    return frozenset(parts)
