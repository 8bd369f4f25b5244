"""Words of public rows, and pieces that write every other word: nothing private is in the table."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from genie_dp.errors import GenieError, Problem

PAD, BEGIN, SEPARATOR, END = range(4)
SPECIAL = ("<pad>", "<s>", "<sep>", "</s>")
KIND = "genie_dp.PublicTokenizer"
_BYTES = 256
# Longest piece, in characters, that is learned: whole stems are words, not pieces.
_LONGEST_PIECE = 5


class Piece(NamedTuple):
    """What a token writes: bytes of UTF-8, and whether they begin a word."""

    text: bytes
    is_first: bool


class Tokenizer(Protocol):
    """Words to ids and back, without loss."""

    @property
    def begin(self) -> int:
        """Return the id before everything."""

    @property
    def separator(self) -> int:
        """Return the id between a prompt and what follows it."""

    @property
    def end(self) -> int:
        """Return the id after everything."""

    @property
    def pieces(self) -> Sequence[Piece | None]:
        """Return what each id writes; None for those that stand for no text."""

    def spell(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word: the first begins a word, the others do not."""

    def save(self, folder: Path) -> None:
        """Write what `load_tokenizer` reads."""


def encode(words: Iterable[str], tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the ids of words."""
    return tuple(index for word in words for index in tokenizer.spell(word))


def decode(ids: Iterable[int], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the words of ids: the inverse of `encode`.

    Raises:
        ValueError: the ids write no text: broken UTF-8, white space, or nothing.
    """
    found: list[bytes] = []
    for index in ids:
        piece = tokenizer.pieces[index]
        if piece is None:
            raise ValueError(f"expected ids of text, got {index}")
        if piece.is_first or not found:
            found.append(piece.text)
        else:
            found[-1] += piece.text
    words = tuple(word.decode("utf-8") for word in found)
    if any(word.split() != [word] for word in words):
        raise ValueError("expected words, got white space")
    return words


@dataclass(frozen=True, slots=False)
class PublicTokenizer:
    """A table of words, and pieces of words down to single bytes.

    Attributes:
        words: words of utterances and tokens of programs that are written as one id.
        starts: pieces that begin a word, of two characters or more.
        inners: pieces that go on with one.

    >>> tokenizer = build_tokenizer([["play", "jazz"], ["play", "pop"]])
    >>> decode(encode(["play", "Björk"], tokenizer), tokenizer)
    ('play', 'Björk')
    """

    words: tuple[str, ...]
    starts: tuple[str, ...] = ()
    inners: tuple[str, ...] = ()
    begin: int = field(default=BEGIN, init=False)
    separator: int = field(default=SEPARATOR, init=False)
    end: int = field(default=END, init=False)

    def __post_init__(self) -> None:
        """Refuse what is no word, or twice in the table."""
        for table in (self.words, self.starts, self.inners):
            if len(set(table)) != len(table) or any(word.split() != [word] for word in table):
                raise ValueError("expected words without white space, none twice")

    @cached_property
    def pieces(self) -> tuple[Piece | None, ...]:
        """Return what each id writes: words, bytes that begin one, bytes inside, longer pieces."""
        single = [bytes((value,)) for value in range(_BYTES)]
        return (
            *(None for _ in SPECIAL),
            *(Piece(word.encode(), True) for word in self.words),
            *(Piece(byte, True) for byte in single),
            *(Piece(byte, False) for byte in single),
            *(Piece(text.encode(), True) for text in self.starts),
            *(Piece(text.encode(), False) for text in self.inners),
        )

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return {word: len(SPECIAL) + i for i, word in enumerate(self.words)}

    @cached_property
    def _parts(self) -> tuple[Mapping[bytes, int], Mapping[bytes, int]]:
        """Return the ids of the pieces that go on with a word, and of those that begin one."""
        tables: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})
        for index in range(len(SPECIAL) + len(self.words), len(self.pieces)):
            piece = self.pieces[index]
            assert piece is not None
            tables[piece.is_first][piece.text] = index
        return tables

    def spell(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word: its own, or those of its pieces, the longest first."""
        known = self._ids.get(word)
        return self.pieces_of(word) if known is None else (known,)

    def pieces_of(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word's pieces, as if it were not in the table."""
        found: list[int] = []
        place = 0
        while place < len(word):
            table = self._parts[not found]
            for length in range(min(_LONGEST_PIECE, len(word) - place), 0, -1):
                # A lone surrogate is no text; it is written as a question mark.
                text = word[place : place + length].encode("utf-8", errors="replace")
                if text in table:
                    found.append(table[text])
                    break
            else:
                length = 1
                for value in text:
                    found.append(self._parts[not found][bytes((value,))])
            place += length
        return tuple(found)

    def save(self, folder: Path) -> None:
        """Write `tokenizer.json`."""
        data = {"type": KIND, "words": self.words, "starts": self.starts, "inners": self.inners}
        text = json.dumps(data, ensure_ascii=False, indent=0)
        (folder / "tokenizer.json").write_text(text + "\n", encoding="utf-8")


def load_public_tokenizer(path: Path) -> PublicTokenizer:
    """Return the tokenizer of a file.

    Raises:
        GenieError: H003, the file is not one that `save` wrote.
    """
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if data["type"] != KIND:
            raise ValueError(f"type is {data['type']!r}")
        tables = (tuple(map(str, data[name])) for name in ("words", "starts", "inners"))
        return PublicTokenizer(*tables)
    except (OSError, ValueError, KeyError, TypeError) as problem:
        message = f"expected the tokenizer of a generator in {path}, got: {problem}"
        hint = "name a folder that genie-dp private train wrote"
        raise GenieError(Problem("H003", message, hint=hint)) from problem


def build_tokenizer(
    texts: Iterable[Sequence[str]],
    *,
    extra: Iterable[str] = (),
    minimum: int = 2,
    pieces: int = 1000,
) -> PublicTokenizer:
    """Return the tokenizer of public texts, in an order that depends on nothing but them.

    A word that is met less often than `minimum` is spelled, so that its pieces are learned, too.

    Args:
        texts: words of public utterances and tokens of public programs; never private ones.
        extra: words that must have an id of their own, such as the tokens of a library.
        minimum: how often a word must be met to be in the table.
        pieces: how many pieces of several characters there are at most.

    >>> build_tokenizer([["play", "jazz"], ["play", "pop"]], extra=["@x.f"]).words
    ('@x.f', 'play')
    """
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(text)
    often = {word for word, n in counts.items() if n >= minimum}
    starts, inners = _frequent_pieces(counts, pieces)
    return PublicTokenizer(tuple(sorted(often.union(extra))), starts, inners)


_LETTERS = re.compile(r"[^\W_]+")


def _frequent_pieces(words: Iterable[str], most: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the pieces that shorten the most words: that begin them, that go on with them."""
    gains: Counter[tuple[bool, str]] = Counter()
    for word in words:
        if _LETTERS.fullmatch(word):
            gains.update(_substrings(word))
    ranked = sorted(((-n * (len(text) - 1), kind, text) for (kind, text), n in gains.items()
                     if n > 1))[:most]  # fmt: skip
    chosen = sorted((is_first, text) for _, is_first, text in ranked)
    return (
        tuple(text for is_first, text in chosen if is_first),
        tuple(text for is_first, text in chosen if not is_first),
    )


def _substrings(word: str) -> Iterable[tuple[bool, str]]:
    for start in range(len(word)):
        for length in range(2, min(_LONGEST_PIECE, len(word) - start) + 1):
            yield start == 0, word[start : start + length]
