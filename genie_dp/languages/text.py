"""Common parts of the text forms of languages: places, words between quotes, order of parts."""

import re
from collections.abc import Iterator, Sequence

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.types import is_slot

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_ESCAPED = re.compile(r'[\\"\n\t\r]')
_UNESCAPES = {escape: char for char, escape in _ESCAPES.items()}
_ESCAPED_IN_WORD = re.compile(r'\\(?:[\\"ntr]|u(?!d[89a-f])[0-9a-f]{4})')
_OTHER_SPACE = re.compile(r"\s")  # such as U+00A0: what splits tokens at white space splits there
_EMPTY = "\\e"  # a word of no letters: two spaces side by side, or one at an end

_PLACEHOLDER = re.compile(r"(?<![^ ])([A-Z][^ ]*_)(0|[1-9][0-9]*)(?![^ ])")
# The engine of synthesis writes NUMBER_0 as one private character. In a sort key a placeholder is
# a private character, its stem, and a private character for its number, in both spellings.
_PRIVATE = 0xE000
_HIGHEST = 6000

_QUOTED = re.compile(r'(?<!\S)"(?: (?!" |"$)\S+)* "(?!\S)|(?<!\S)""(?!\S)')


class Places:
    """Turns offsets of one text into spans; most programs have a single line."""

    __slots__ = ("file", "one_line", "text")

    def __init__(self, text: str, file: str):
        self.text, self.file, self.one_line = text, file, "\n" not in text

    def line_column(self, offset: int) -> tuple[int, int]:
        """Return the line and column of an offset, from 1."""
        if self.one_line:
            return 1, offset + 1
        before = self.text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    def span(self, start: int, end: int) -> Span:
        """Return the place of text[start:end]."""
        return Span(self.file, *self.line_column(start), *self.line_column(end))

    def error(
        self, code: str, message: str, start: int, end: int, hint: str | None = None
    ) -> GenieError:
        """Return the error of a mistake in text[start:end]."""
        problem = Problem(code, message, self.span(start, end), hint, stage="syntax")
        return GenieError(problem, sources={self.file: self.text})


def escape(text: str) -> str:
    r"""Return a text as it stands between two quotes.

    >>> print(escape('say "hi"'))
    say \"hi\"
    """
    return _ESCAPED.sub(lambda m: _ESCAPES[m[0]], text)


def escape_word(word: str) -> str:
    r"""Return the token of a word of a text: it is not empty and holds no white space.

    >>> print(escape_word(""), escape_word("a\u00a0b"))
    \e a\u00a0b
    """
    return _OTHER_SPACE.sub(lambda m: f"\\u{ord(m[0]):04x}", escape(word)) or _EMPTY


def unescape_word(token: str) -> str:
    r"""Return the word of a token that `escape_word` made.

    >>> unescape_word(r"\e"), unescape_word(r"a\u00a0b")
    ('', 'a\xa0b')
    """
    if token == _EMPTY:
        return ""
    return _ESCAPED_IN_WORD.sub(lambda m: _UNESCAPES.get(m[0]) or chr(int(m[0][2:], 16)), token)


def sort_key(text: str) -> str:
    """Return the sort key of unordered parts: tokens, then placeholders by their numbers.

    >>> sorted(["( N NUMBER_10 )", "( N NUMBER_9 )", "( N THREE )"], key=sort_key)
    ['( N THREE )', '( N NUMBER_9 )', '( N NUMBER_10 )']
    """
    if "_" not in text:
        return text
    return _PLACEHOLDER.sub(_placeholder_key, text)


def _placeholder_key(match: re.Match[str]) -> str:
    number = int(match[2])
    if number > _HIGHEST or not is_slot(match[0]):
        return match[0]
    return placeholder_key(match[1][:-1], chr(_PRIVATE + number))


def placeholder_key(stem: str, number: str) -> str:
    """Return the sort key of a placeholder whose number is given by a private character."""
    return f"{chr(_PRIVATE)}{stem}_{number}"


def without_text(program: str) -> str:
    """Return a token form with `""` instead of every quoted text.

    >>> without_text('now => @c.say param:text:String = " filter it "')
    'now => @c.say param:text:String = ""'
    """
    return _QUOTED.sub('""', program) if '"' in program else program


def outside_texts(program: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the tokens that are no words between quotes, with their places.

    >>> list(outside_texts('a " b " c'.split()))
    [(0, 'a'), (4, 'c')]
    """
    is_text = False
    for place, token in enumerate(program):
        if token == '"':
            is_text = not is_text
        elif not is_text:
            yield place, token


def span_ends(constant: str) -> tuple[str, str] | None:
    """Return the first day of a span of dates and the day after its last one; None of no span.

    >>> span_ends("date:2027-01-18/2027-01-25"), span_ends("date:2027-01-18")
    (('date:2027-01-18', 'date:2027-01-25'), None)
    """
    start, slash, end = constant.partition("/")
    return (start, f"date:{end}") if slash and start.startswith("date:") else None
