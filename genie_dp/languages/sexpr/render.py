"""Writes S-expressions: as people write them, and as tokens separated by one space."""

import re
from collections.abc import Iterator
from typing import assert_never

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.sexpr.ast import (
    CLOSING,
    Atom,
    Expression,
    Layout,
    Node,
    Prefix,
    Text,
)
from genie_dp.languages.sexpr.reader import DEEPEST

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ESCAPED = re.compile(r'[\\"\n\t\r]')
_UNESCAPES = {escape: char for char, escape in _ESCAPES.items()}
_UNESCAPED = re.compile(r'\\(?:[\\"ntr]|u(?!d[89a-f])[0-9a-f]{4})')
_OTHER_SPACE = re.compile(r"\s")  # such as U+00A0: what splits tokens at white space splits there
_EMPTY = "\\e"  # a word of no letters: two spaces side by side, or one at an end


def render(expression: Expression, layout: Layout | None = None) -> str:
    """Return the text of an expression, in the layout that it was read in or in the given one.

    One space stands between two items; everything else is as it was read.

    >>> from genie_dp.languages.sexpr.reader import parse
    >>> render(parse('(NOT  (TOPPING HAM ) )'))
    '(NOT (TOPPING HAM ) )'
    >>> render(parse('(NOT (TOPPING HAM ) )'), layout="compact")
    '(NOT (TOPPING HAM))'
    """
    match expression:
        case Atom(text):
            return text
        case Text(value):
            return f'"{_escape(value)}"'
        case Node(items, bracket, prefix, own):
            inside = " ".join([render(item, layout) for item in items])
            form = layout or own
            before = " " if form == "spaced" else ""
            after = "" if form == "compact" else " "
            if not items:
                before = ""
            return f"{prefix}{bracket}{before}{inside}{after}{CLOSING[bracket]}"
    assert_never(expression)


def tokens(expression: Expression) -> str:
    """Return brackets, symbols and words separated by one space; strings as words in quotes.

    >>> from genie_dp.languages.sexpr.reader import parse
    >>> tokens(parse('(Event.subject_? (?= "team lunch"))'))
    '( Event.subject_? ( ?= " team lunch " ) )'
    >>> tokens(parse('[IN:GET_EVENT [SL:LOCATION new york ] ]'))
    '[ IN:GET_EVENT [ SL:LOCATION new york ] ]'
    """
    return " ".join(_tokens(expression))


def _tokens(expression: Expression) -> Iterator[str]:
    match expression:
        case Atom(text):
            yield text
        case Text(value):
            yield '"'
            if value:
                yield from (_escape_word(word) for word in value.split(" "))
            yield '"'
        case Node(items, bracket, prefix):
            yield f"{prefix}{bracket}"
            for item in items:
                yield from _tokens(item)
            yield CLOSING[bracket]
        case _:
            assert_never(expression)


def from_tokens(text: str, *, places: bool = False) -> Expression:
    """Return the expression of a token form, or raise GenieError (X011 to X013).

    Its nodes carry spans only with `places`.

    >>> from genie_dp.languages.sexpr.reader import parse
    >>> program = parse('(INFORM time "5 o\\\\"clock")')
    >>> from_tokens(tokens(program)) == program
    True
    """
    span = _span if places else _no_span
    found: list[list[Expression]] = [[]]
    opened: list[str] = []
    begun: list[int] = []
    words: list[str] | None = None
    column = start = 1
    for token in text.split(" "):
        in_square = bool(opened) and opened[-1] == "["
        if words is not None:
            if token == '"':
                found[-1].append(Text(" ".join(words), span(start, column + 1)))
                words = None
            else:
                words.append("" if token == _EMPTY else _unescape(token))
        elif token == "[" or (token in ("(", "^(", "#(") and not in_square):
            if len(opened) == DEEPEST:
                raise _token_error(f"expected at most {DEEPEST} brackets", text, column, token)
            opened.append(token)
            begun.append(column)
            found.append([])
        elif token == "]" or (token == ")" and not in_square):
            if not opened or CLOSING["[" if opened[-1] == "[" else "("] != token:
                raise _token_error("expected an expression", text, column, token)
            node = _node(opened.pop(), found.pop(), span(begun.pop(), column + 1))
            found[-1].append(node)
        elif token == '"' and not in_square:
            words, start = [], column
        else:
            atom = _checked_atom(token, in_square, text, column)
            found[-1].append(Atom(atom, span(column, column + len(token))))
        column += len(token) + 1
    if words is not None or opened or len(found[0]) != 1:
        raise _end_error(text, opened, words is not None, len(found[0]))
    return found[0][0]


def _no_span(_begin: int, _end: int) -> None:
    return None


def _span(begin: int, end: int) -> Span:
    return Span("<tokens>", 1, begin, 1, end)


def _node(opener: str, items: list[Expression], span: Span | None) -> Node:
    if opener == "[":
        return Node(tuple(items), "[", "", "closing", span)
    prefix: Prefix = "^" if opener == "^(" else "#" if opener == "#(" else ""
    return Node(tuple(items), "(", prefix, span=span)


def _checked_atom(token: str, in_square: bool, text: str, column: int) -> str:
    forbidden = "[]" if in_square else '()[]"'
    if not token or any(c in forbidden or c.isspace() for c in token):
        raise _token_error("expected one token between two spaces", text, column, token)
    return token


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda m: _ESCAPES[m[0]], text)


def _escape_word(word: str) -> str:
    return _OTHER_SPACE.sub(lambda m: f"\\u{ord(m[0]):04x}", _escape(word)) or _EMPTY


def _unescape(word: str) -> str:
    return _UNESCAPED.sub(lambda m: _UNESCAPES.get(m[0]) or chr(int(m[0][2:], 16)), word)


def _token_error(message: str, text: str, column: int, token: str) -> GenieError:
    span = Span("<tokens>", 1, column, 1, column + max(1, len(token)))
    problem = Problem("X011", f"{message}, got {token!r}", span, stage="syntax")
    return GenieError(problem, sources={"<tokens>": text})


def _end_error(text: str, opened: list[str], in_text: bool, count: int) -> GenieError:
    span = Span("<tokens>", 1, len(text) + 1, 1, len(text) + 2)
    wanted = "'\"'" if in_text else repr(CLOSING[opened[-1][-1]]) if opened else "one expression"
    got = "the end" if in_text or opened else f"{count}"
    problem = Problem("X012", f"expected {wanted}, got {got}", span, stage="syntax")
    return GenieError(problem, sources={"<tokens>": text})
