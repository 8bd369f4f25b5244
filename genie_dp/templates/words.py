"""Reads quoted texts: words, placeholders `$x` and inflections `{is/are}`."""

import re
from collections.abc import Iterator

from genie_dp.errors import GenieError, Problem
from genie_dp.skills.words import tokenize
from genie_dp.templates.ast import Inflect, Literal, Part, Placeholder, Words
from genie_dp.templates.source import Source

_SPECIAL = re.compile(r"\\.|\$\{[^{}]*\}?|\$[^\W\d]\w*|\{[^{}]*\}?|\}")
_BRACED = re.compile(r"\$\{\s*([^\W\d]\w*)\s*(?::\s*(\w+)\s*)?\}\Z")
_INFLECT = re.compile(r"\{(?:\s*([^\W\d]\w*)\s*:)?([^{}]*)\}\Z")
_MOST_FORMS = 3  # singular, plural, mass


def unquoted(literal: str) -> str:
    r"""Return the text of a quoted literal.

    >>> unquoted(r"'what\'s new'")
    "what's new"
    """
    return re.sub(r"\\(.)", r"\1", literal[1:-1])


def parse_words(literal: str, source: Source, start: int) -> Words:
    """Return the parts of a quoted literal that begins at source.text[start].

    Raises:
        GenieError: a placeholder or an inflection is malformed (G003).

    >>> text = "'my {file/files} in $x'"
    >>> for part in parse_words(text, Source("x.genie", text), 0).parts:
    ...     print(part)
    Literal(text='my')
    Inflect(child=None, forms=('file', 'files'))
    Literal(text='in')
    Placeholder(name='x', is_const=False)
    """
    reader = _Words(literal, source, start)
    return Words(tuple(reader.read()), span=source.span(start, start + len(literal)))


class _Words:
    def __init__(self, literal: str, source: Source, start: int):
        self.literal = literal
        self.source = source
        self.start = start

    def read(self) -> Iterator[Part]:
        text = ""  # plain words not yet given out
        glued = False  # the last thing given out ends where `text` begins
        position, end = 1, len(self.literal) - 1
        while position < end:
            match = _SPECIAL.match(self.literal, position, end)
            if match is None:
                text += self.literal[position]
                position += 1
                continue
            position = match.end()
            piece = match.group()
            if piece[0] == "\\":
                text += piece[1]
            elif piece[0] == "$":
                yield from _literal(text, glued)
                text, glued = "", True
                yield self._placeholder(piece, match.start())
            else:
                # `file{/s}`: the letters before and after belong to every form.
                before = re.search(r"[\w'-]*\Z", text)
                prefix = before.group() if before else ""
                after = re.compile(r"[\w'-]*").match(self.literal, position, end)
                suffix = after.group() if after else ""
                position += len(suffix)
                yield from _literal(text.removesuffix(prefix), glued)
                text, glued = "", True
                yield self._inflect(piece, match.start(), prefix, suffix)
        yield from _literal(text, glued)

    def _placeholder(self, piece: str, at: int) -> Placeholder:
        match = _BRACED.match(piece) if piece.startswith("${") else None
        if match is None and piece.startswith("${"):
            raise self._error(piece, at, "expected ${name} or ${name:const}")
        name, option = (match[1], match[2]) if match else (piece[1:], None)
        if option not in (None, "const"):
            raise self._error(piece, at, f"expected 'const' after the colon, got {option!r}")
        span = self.source.span(self.start + at, self.start + at + len(piece))
        return Placeholder(name, option == "const", span=span)

    def _inflect(self, piece: str, at: int, prefix: str, suffix: str) -> Inflect:
        match = _INFLECT.match(piece)
        if match is None:
            raise self._error(
                piece, at, r"'{' and '}' enclose inflections, such as {is/are}; or write \{"
            )
        forms = [
            " ".join(tokenize(f"{prefix}{form.strip()}{suffix}")) for form in match[2].split("/")
        ]
        if not 1 < len(forms) <= _MOST_FORMS:
            raise self._error(piece, at, "expected {singular/plural} or {singular/plural/mass}")
        span = self.source.span(self.start + at, self.start + at + len(piece))
        return Inflect(match[1], tuple(forms), span=span)

    def _error(self, piece: str, at: int, message: str) -> GenieError:
        span = self.source.span(self.start + at, self.start + at + len(piece))
        return GenieError(Problem("G003", message, span, stage="syntax"))


def _literal(text: str, glued: bool) -> Iterator[Literal]:
    # After a placeholder, 's is the possessive only if the tokenizer sees what it hangs on.
    tokens = tokenize(f"x{text}")[1:] if glued and text.startswith("'") else tokenize(text)
    if tokens:
        yield Literal(" ".join(tokens))
