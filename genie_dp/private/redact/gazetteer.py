"""Values that the owner of the data knows to be secret: names of customers, projects, places."""

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from unicodedata import normalize

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.spans import PLAIN, Found
from genie_dp.texts import read_text

# A letter may be followed by its accents.
_WORD = re.compile(r"(?:\w[\u0300-\u036f]*)+|[^\w\s]")


class Gazetteer:
    """The detector of listed values: whole words, in any case, with any space between them."""

    def __init__(self, kind: str, values: Iterable[str], *, score: float = 1.0):
        """Keep the values by their first word; empty ones are left out.

        >>> names = Gazetteer("person", ["Ann Lee", "Ann"])
        >>> [one.place for one in names.find(["so ann  LEE and ann; annie"])[0]]
        [(3, 11), (16, 19)]
        """
        self.kind, self.score = kind, score
        self.name = f"gazetteer {kind}"
        self._lengths: dict[str, tuple[int, ...]] = {}
        self._values = {words for value in values if (words := _folded(value))}
        for words in sorted(self._values, key=lambda words: (len(words), words), reverse=True):
            before = self._lengths.get(words[0], ())
            if len(words) not in before:
                self._lengths[words[0]] = (*before, len(words))

    @classmethod
    def read(cls, kind: str, path: Path) -> "Gazetteer":
        """Return the values of a file: one a line, up to the first tab; # begins a comment.

        A table whose head begins with `value` is read without its head.

        Raises:
            GenieError: the file cannot be read, or holds no values (E004). No value is told.
        """
        try:
            lines = read_text(path, code="E004").split("\n")
        except OSError as error:
            message = f"cannot read {path}: {error.strerror}"
            raise GenieError(Problem("E004", message, hint="give another file")) from None
        except GenieError as error:
            # Without its source: the file is private.
            raise GenieError(error.problems) from None
        values = [line.partition("\t")[0].strip() for line in lines if not line.startswith("#")]
        found = cls(kind, values[1:] if values[:1] == ["value"] else values)
        if not found._values:
            raise GenieError(Problem("E004", f"{path} holds no values", hint="one value a line"))
        return found

    def find(self, texts: Sequence[str]) -> list[tuple[Found, ...]]:
        """Return the listed values of each text, the longest at each place."""
        return [tuple(self._found(text)) for text in texts]

    def _found(self, text: str) -> Iterator[Found]:
        plain = text.translate(PLAIN)
        words = [(_key(m.group()), m.start(), m.end()) for m in _WORD.finditer(plain)]
        at = 0
        while at < len(words):
            for length in self._lengths.get(words[at][0], ()):
                piece = tuple(word for word, _, _ in words[at : at + length])
                if piece in self._values:
                    end = words[at + length - 1][2]
                    yield Found(words[at][1], end, self.kind, self.score, self.name)
                    at += length - 1
                    break
            at += 1


def _folded(value: str) -> tuple[str, ...]:
    return tuple(map(_key, _WORD.findall(value.translate(PLAIN))))


def _key(word: str) -> str:
    """Return what is equal for all ways to write a word, its accents and its case."""
    return normalize("NFC", normalize("NFC", word).casefold())
