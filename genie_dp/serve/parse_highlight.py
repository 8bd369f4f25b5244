"""Programs for the page: their pieces by kind, on lines of their own where they are long."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_LONG = 40  # characters; a phone shows about as many in a line
_PIECE = re.compile(
    r"""(?P<string>"(?:\\.|[^"\\])*")
    |(?P<function>@[\w.-]+)
    |(?P<number>(?<![\w.])-?\d+(?:[.:/-]\d+)*(?:[A-Za-z%]+)?)
    |(?P<keyword>\b(?:now|monitor|edge|timer|attimer|notify|filter|join|on|as|aggregate|agg|in|new
        |sum|avg|count|min|max|of|not|true|false|enum|contains|contains~|return|policy)\b(?!\s*=(?!>)))
    |(?P<sign>=>|&&|\|\||[=!<>~]=|=~|~=|[(){}\[\],:;=<>!\\$])
    |(?P<space>\s+)
    |(?P<name>[\w.^-]+)
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)


class Piece(NamedTuple):
    """A piece of a program; kinds are names of style classes."""

    kind: str
    text: str


def highlight(code: str) -> tuple[Piece, ...]:
    """Return the pieces of a program; together they are the program, but for line breaks.

    >>> [piece.kind for piece in highlight('now => @a.b(x="1") => notify')]
    ['keyword', 'space', 'sign', 'space', 'function', 'sign', 'name', 'sign', 'string', 'sign',
     'space', 'sign', 'space', 'keyword']
    """
    pieces = tuple(Piece(str(m.lastgroup), m[0]) for m in _PIECE.finditer(code))
    return tuple(_broken(pieces)) if len(code) > _LONG else pieces


def _broken(pieces: tuple[Piece, ...]) -> Iterator[Piece]:
    """Yield pieces with a line for each step of the program."""
    following = (*pieces[1:], Piece("other", ""))
    for piece, after in zip(pieces, following, strict=True):
        starts_step = piece.kind == "space" and after == ("sign", "=>")
        yield Piece("space", "\n") if starts_step else piece
