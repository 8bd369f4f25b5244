"""Words to ids and back, without loss: nothing private is in a tokenizer.

The own one has words of public rows, and pieces that write every other word; that of a pretrained
model was learned from public text by others.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from genie_dp.errors import GenieError, Problem
from genie_dp.models.arrays import BASE

PAD, BEGIN, SEPARATOR, END = range(4)
SPECIAL = ("<pad>", "<s>", "<sep>", "</s>")
KIND = "genie_dp.PublicTokenizer"
_BYTES = 256

# Longest piece, in characters, that is learned: whole stems are words, not pieces.
_LONGEST_PIECE = 5


class TokenPiece(NamedTuple):
    """The text of a token: bytes of UTF-8, and whether they begin a word."""

    text: bytes
    is_first: bool


class Tokenizer(Protocol):
    """Words to ids and back, without loss."""

    @property
    def instructs(self) -> bool:
        """Return whether prompts have an instruction, for a model that has read much."""

    @property
    def begin(self) -> int:
        """Return the id before everything."""

    @property
    def separator(self) -> int:
        """Return the id between a prompt and its continuation."""

    @property
    def end(self) -> int:
        """Return the id after everything."""

    @property
    def pieces(self) -> Sequence[TokenPiece | None]:
        """Return the piece of each id; None for those that stand for no text."""

    def spell(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word: the first begins a word, the others do not."""

    def save(self, folder: Path) -> None:
        """Write the file for `load_tokenizer`."""


def encode(words: Iterable[str], tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the ids of words."""
    return tuple(index for word in words for index in tokenizer.spell(word))


def decode(ids: Iterable[int], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Return the words of ids: the inverse of `encode`.

    Raises:
        ValueError: the ids write no text: broken UTF-8, white space, or nothing.
    """
    spelled: list[bytes] = []
    for index in ids:
        piece = tokenizer.pieces[index]
        if piece is None:
            raise ValueError(f"expected ids of text, got {index}")
        if piece.is_first or not spelled:
            spelled.append(piece.text)
        else:
            spelled[-1] += piece.text
    words = tuple(word.decode("utf-8") for word in spelled)
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
    instructs: bool = field(default=False, init=False)
    begin: int = field(default=BEGIN, init=False)
    separator: int = field(default=SEPARATOR, init=False)
    end: int = field(default=END, init=False)

    def __post_init__(self) -> None:
        for table in (self.words, self.starts, self.inners):
            if len(set(table)) != len(table) or any(word.split() != [word] for word in table):
                raise ValueError("expected words without white space, none twice")

    @cached_property
    def pieces(self) -> tuple[TokenPiece | None, ...]:
        """Return the piece of each id: words, bytes that begin one, bytes inside, longer pieces."""
        single = [bytes((value,)) for value in range(_BYTES)]
        return (
            *(None for _ in SPECIAL),
            *(TokenPiece(word.encode(), True) for word in self.words),
            *(TokenPiece(byte, True) for byte in single),
            *(TokenPiece(byte, False) for byte in single),
            *(TokenPiece(text.encode(), True) for text in self.starts),
            *(TokenPiece(text.encode(), False) for text in self.inners),
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
        index = self._ids.get(word)
        return self.pieces_of(word) if index is None else (index,)

    def pieces_of(self, word: str) -> tuple[int, ...]:
        """Return the ids of a word's pieces, as if it were not in the table."""
        ids: list[int] = []
        place = 0
        while place < len(word):
            table = self._parts[not ids]
            for length in range(min(_LONGEST_PIECE, len(word) - place), 0, -1):
                # A lone surrogate is no text; it is written as a question mark.
                text = word[place : place + length].encode("utf-8", errors="replace")
                if text in table:
                    ids.append(table[text])
                    break
            else:
                length = 1
                for value in text:
                    ids.append(self._parts[not ids][bytes((value,))])
            place += length
        return tuple(ids)

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
            gains.update(
                (start == 0, word[start : start + length])
                for start in range(len(word))
                for length in range(2, min(_LONGEST_PIECE, len(word) - start) + 1)
            )
    ranked = sorted(((-n * (len(text) - 1), kind, text) for (kind, text), n in gains.items()
                     if n > 1))[:most]  # fmt: skip
    chosen = sorted((is_first, text) for _, is_first, text in ranked)
    return (
        tuple(text for is_first, text in chosen if is_first),
        tuple(text for is_first, text in chosen if not is_first),
    )


# What byte-level tokenizers and SentencePiece write for a space before a word.
_BYTE_LEVEL, _SENTENCE_PIECE = "Ġ", "▁"


class PretrainedTokenizer:
    """A tokenizer of transformers, word by word; a Tokenizer.

    Each word is cut in pieces by itself, with a space before it, so that a word has the same ids
    wherever it stands. It was learned from public text by others. A control character that it
    cannot write is written as a question mark.
    """

    def __init__(self, base: str, *, instructs: bool = True):
        """Read the tokenizer.

        Args:
            base: name on the hub, or a folder.
            instructs: whether prompts have an instruction.

        Raises:
            GenieError: H005, there is none, or it cannot write every word.
        """
        from transformers import AutoTokenizer

        self.instructs = instructs
        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        except (OSError, ValueError) as problem:
            raise _unusable(base, str(problem)) from problem
        self._is_byte_level = _BYTE_LEVEL in "".join(self.tokenizer.get_vocab())
        self._spelled: dict[str, tuple[int, ...]] = {}
        end = self.tokenizer.eos_token_id
        parts = self._parts
        newline = parts.get(TokenPiece(b"\n", False))
        missing = [value for value in _WRITTEN if TokenPiece(bytes((value,)), False) not in parts]
        if end is None or newline is None or missing or TokenPiece(b"", True) not in parts:
            names = ", ".join(f"0x{value:02X}" for value in missing[:5]) or "none"
            raise _unusable(base, f"no end token or no token for each byte (missing: {names})")
        self.separator: int = newline
        self.end: int = end
        begin = self.tokenizer.bos_token_id
        self.begin: int = end if begin is None else begin

    @cached_property
    def pieces(self) -> tuple[TokenPiece | None, ...]:
        """Return the piece of each id."""
        special = set(self.tokenizer.all_special_ids)
        names: list[str] = self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer)))
        return tuple(
            None if index in special else self._read_piece(name) for index, name in enumerate(names)
        )

    def _read_piece(self, name: str) -> TokenPiece | None:
        if self._is_byte_level:
            is_first = name.startswith(_BYTE_LEVEL)
            rest = name[1:] if is_first else name
            try:
                return TokenPiece(bytes(_VALUES[character] for character in rest), is_first)
            except KeyError:  # an added token that is no run of bytes
                return None
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return TokenPiece(bytes((int(name[3:5], 16),)), False)
        is_first = name.startswith(_SENTENCE_PIECE)
        return TokenPiece((name[1:] if is_first else name).encode(), is_first)

    @cached_property
    def _parts(self) -> Mapping[TokenPiece, int]:
        # The first of several ids for one piece: "a" goes before "<0x61>".
        indexes: dict[TokenPiece, int] = {}
        for index, piece in enumerate(self.pieces):
            if piece is not None:
                indexes.setdefault(piece, index)
        return indexes

    def spell(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word; byte by byte where the tokenizer would change it."""
        ids = self._spelled.get(word)
        if ids is None:
            ids = self._spelled[word] = self._cut(word)
        return ids

    def _cut(self, word: str) -> tuple[int, ...]:
        text = word.encode("utf-8", errors="replace")
        for way in (f" {word}", word):
            # Not verbose: it would tell how long a private word is.
            read = self.tokenizer(way, add_special_tokens=False, verbose=False)
            ids: list[int] = read.input_ids
            pieces = [self.pieces[index] for index in ids]
            own_pieces = [piece for piece in pieces if piece is not None]
            starts = [piece.is_first for piece in own_pieces]
            is_whole = b"".join(piece.text for piece in own_pieces) == text and len(
                own_pieces
            ) == len(ids)
            if is_whole and starts[:1] == [True] and not any(starts[1:]):
                return tuple(ids)
        unknown = self._parts[TokenPiece(b"?", False)]
        single = (self._parts.get(TokenPiece(bytes((value,)), False), unknown) for value in text)
        return (self._parts[TokenPiece(b"", True)], *single)

    def save(self, folder: Path) -> None:
        """Write the tokenizer's own files into `folder/base`."""
        self.tokenizer.save_pretrained(folder / BASE)


# The bytes that words in UTF-8 are made of: no space, and no control characters.
_WRITTEN = (*range(0x21, 0x7F), *range(0x80, 0xC0), *range(0xC2, 0xF5))
# Which byte each character of a byte-level token stands for (GPT-2's table).
_PRINTED = (*range(33, 127), *range(161, 173), *range(174, 256))
_HIDDEN = [value for value in range(256) if value not in _PRINTED]
_VALUES = {chr(value): value for value in _PRINTED}
_VALUES |= {chr(256 + i): value for i, value in enumerate(_HIDDEN)}


def _unusable(base: str, what: str) -> GenieError:
    message = f"expected a tokenizer that writes every word in {base!r}, got: {what}"
    hint = "take a model with a byte-level tokenizer, or one with bytes as fallback, such as gpt2"
    return GenieError(Problem("H005", message, hint=hint))
