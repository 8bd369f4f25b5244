"""Places in texts: as editors count them, as spans do, and of names in template files."""

import os
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote, urlsplit

from genie_dp.errors import Span
from genie_dp.templates.syntax import COMMENT, STRING

UTF_8, UTF_16, UTF_32 = "utf-8", "utf-16", "utf-32"
Range = tuple[int, int]
"""Where a piece of a text begins and ends: offsets of characters."""


@dataclass(frozen=True)
class DocumentText:
    r"""A text whose places can be asked in all ways of counting.

    Lines end with `\n` alone, as spans count them.

    Attributes:
        content: the text.
        encoding: the unit of columns of the editor; most count units of UTF-16.
    """

    content: str
    encoding: str = UTF_16

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.content))]

    def position(self, offset: int) -> tuple[int, int]:
        r"""Return the line and the column of a character as editors count them, both from 0.

        >>> DocumentText("a\n\U0001f600b").position(3)
        (1, 2)
        """
        line = bisect_right(self._starts, offset) - 1
        return line, self._units(self.content[self._starts[line] : offset])

    def offset(self, line: int, column: int) -> int:
        r"""Return the character at a place; beyond the end of a line its end.

        >>> text = DocumentText("a\n\U0001f600b")
        >>> text.offset(1, 2), text.offset(0, 9), text.offset(7, 0)
        (3, 1, 4)
        """
        if line >= len(self._starts):
            return len(self.content)
        start, units = self._starts[line], 0
        end = self.content.find("\n", start)
        end = len(self.content) if end < 0 else end
        for offset in range(start, end):
            if units >= column:
                return offset
            units += self._units(self.content[offset])
        return end

    def range_of(self, span: Span) -> Range:
        """Return where a span begins and ends; outside of the text, its nearest end.

        >>> DocumentText("ab\\ncd").range_of(Span("x", 2, 1, 2, 3))
        (3, 5)
        """
        return self._offset_at(span.line, span.column), self._offset_at(
            span.end_line, span.end_column
        )

    def _offset_at(self, line: int, column: int) -> int:
        if line > len(self._starts):
            return len(self.content)
        end = self._starts[line] - 1 if line < len(self._starts) else len(self.content)
        return min(self._starts[max(line, 1) - 1] + max(column, 1) - 1, end)

    def _units(self, text: str) -> int:
        if text.isascii() or self.encoding == UTF_32:
            return len(text)
        if self.encoding == UTF_8:
            return len(text.encode())
        return len(text) + sum(character > "\uffff" for character in text)


def path_of(uri: str) -> Path | None:
    """Return the file of a URI; None where it names none, such as a new text without a name.

    >>> path_of("untitled:Untitled-1") is None
    True
    >>> path_of("file:///tmp/my%20skills/skill.tt").as_posix()
    '/tmp/my skills/skill.tt'
    """
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return None
    path = unquote(parts.path)
    # Windows: /c:/skills
    return Path(path[1:] if re.match(r"/[a-zA-Z]:", path) and os.name == "nt" else path)


# ------------------------------------------------------------------------------------- names

_HEAD = r"^[ \t]*[^\W\d]\w*\s*(?:\[[^\]\n]*\]\s*)?:="
# A body ends at its ";", or where the next template begins: categories are not named in it.
_BODY = rf"(?:->|→)(?:{COMMENT}|{STRING}|(?!{_HEAD})[^;])*+"


def places_of_category(text: str, name: str) -> Iterator[tuple[Range, bool]]:
    """Yield where a template file names a category, and whether it is declared there.

    Words, comments and bodies do not count.

    >>> text = "category NP : query; NP := 'NP' q:NP // NP" + chr(10) + "-> q #[id='NP'];"
    >>> [(text[a:b], a, declared) for (a, b), declared in places_of_category(text, "NP")]
    [('NP', 9, True), ('NP', 21, False), ('NP', 34, False)]
    """
    if name not in text:
        return
    word = rf"{re.escape(name)}\b"
    pattern = re.compile(
        rf"{COMMENT}|(?<=\w)'(?=\w)|{STRING}|{_BODY}|\bcategory\s+(?P<declared>{word})"
        rf"|\bcategory\s+\w+\s*:\s*\w+|\b(?P<head>{word})(?=\s*(?:\[[^\]\n]*\]\s*)?:=)|\b\w+\s*:\s*(?P<child>{word})",
        re.MULTILINE,
    )
    for match in pattern.finditer(text):
        if match.lastgroup is not None:
            yield match.span(match.lastgroup), match.lastgroup == "declared"


def places_of_function(text: str, qualified: str) -> Iterator[Range]:
    """Yield where a template file names a function or a class, such as "@com.gmail.inbox".

    After `for` its name may stand in a body by itself.

    >>> text = "NP := '@x.q' -> @x.q() join @x.q2(); for @x; NP := q:NP ('q') -> q() filter q;"
    >>> [(text[start:end], start) for start, end in places_of_function(text, "@x.q")]
    [('@x.q', 16), ('q', 65)]
    """
    class_name, _, name = qualified.rpartition(".")
    if class_name not in text:
        return
    pattern = re.compile(
        rf"{COMMENT}|(?<=\w)'(?=\w)|{STRING}|\bfor\s+(?P<class>@[\w.\-]+)|(?P<end>;)|(?P<body>->|→)"
        rf"|(?P<name>{re.escape(qualified)}(?![\w-]))|(?<![\w.$:@-])(?P<alone>{re.escape(name)})(?=\s*\()"
    )
    is_for, is_body = False, False
    for match in pattern.finditer(text):
        match match.lastgroup:
            case "class":
                is_for = match["class"] == class_name
                if match["class"] == qualified:
                    yield match.span("class")
            case "name":
                yield match.span("name")
            case "alone" if is_for and is_body:
                yield match.span("alone")
            case "body" | "end":
                is_body = match.lastgroup == "body"
