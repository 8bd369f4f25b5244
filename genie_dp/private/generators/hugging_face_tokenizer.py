"""The tokenizer of a pretrained model, so that every word can be written and read back exactly."""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.hugging_face import BASE
from genie_dp.private.generators.tokenizer import Piece

# What byte-level tokenizers and SentencePiece write for a space before a word.
_BYTE_LEVEL, _SENTENCE_PIECE = "Ġ", "▁"


class PretrainedTokenizer:
    """A tokenizer of transformers, word by word; a Tokenizer.

    Each word is cut in pieces by itself, with a space before it, so that a word has the same ids
    wherever it stands. It was learned from public text by others.
    """

    def __init__(self, base: str):
        """Read the tokenizer.

        Raises:
            GenieError: H005, there is none, or it cannot write every word.
        """
        from transformers import AutoTokenizer

        try:
            self.tokenizer: Any = AutoTokenizer.from_pretrained(base)
        except (OSError, ValueError) as problem:
            raise _unusable(base, str(problem)) from problem
        self._is_byte_level = _BYTE_LEVEL in "".join(self.tokenizer.get_vocab())
        self._spelled: dict[str, tuple[int, ...]] = {}
        end = self.tokenizer.eos_token_id
        parts = self._parts
        newline = parts.get(Piece(b"\n", False))
        # No word has a space; the byte of one is the mark of a beginning.
        others = (value for value in range(256) if value != ord(" "))
        missing = [value for value in others if Piece(bytes((value,)), False) not in parts]
        if end is None or newline is None or missing or Piece(b"", True) not in parts:
            raise _unusable(base, "no end token, or no token for each byte")
        self.separator: int = newline
        self.end: int = end
        begin = self.tokenizer.bos_token_id
        self.begin: int = end if begin is None else begin

    @cached_property
    def pieces(self) -> tuple[Piece | None, ...]:
        """Return what each id writes."""
        special = set(self.tokenizer.all_special_ids)
        names: list[str] = self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer)))
        return tuple(
            None if index in special else self._piece(name) for index, name in enumerate(names)
        )

    def _piece(self, name: str) -> Piece | None:
        if self._is_byte_level:
            is_first = name.startswith(_BYTE_LEVEL)
            rest = name[1:] if is_first else name
            try:
                return Piece(bytes(_VALUES[character] for character in rest), is_first)
            except KeyError:  # an added token that is no run of bytes
                return None
        if len(name) == 6 and name.startswith("<0x") and name.endswith(">"):
            return Piece(bytes((int(name[3:5], 16),)), False)
        is_first = name.startswith(_SENTENCE_PIECE)
        return Piece((name[1:] if is_first else name).encode(), is_first)

    @cached_property
    def _parts(self) -> Mapping[Piece, int]:
        # The first of several ids for one piece: "a" goes before "<0x61>".
        found: dict[Piece, int] = {}
        for index, piece in enumerate(self.pieces):
            if piece is not None:
                found.setdefault(piece, index)
        return found

    def spell(self, word: str) -> tuple[int, ...]:
        """Return the ids of one word; byte by byte where the tokenizer would change it."""
        found = self._spelled.get(word)
        if found is None:
            found = self._spelled[word] = self._fresh(word)
        return found

    def _fresh(self, word: str) -> tuple[int, ...]:
        text = word.encode("utf-8", errors="replace")
        for way in (f" {word}", word):
            # Not verbose: it would tell how long a private word is.
            read = self.tokenizer(way, add_special_tokens=False, verbose=False)
            ids: list[int] = read.input_ids
            pieces = [self.pieces[index] for index in ids]
            known = [piece for piece in pieces if piece is not None]
            starts = [piece.is_first for piece in known]
            is_whole = b"".join(piece.text for piece in known) == text and len(known) == len(ids)
            if is_whole and starts[:1] == [True] and not any(starts[1:]):
                return tuple(ids)
        single = (self._parts[Piece(bytes((value,)), False)] for value in text)
        return (self._parts[Piece(b"", True)], *single)

    def save(self, folder: Path) -> None:
        """Write the tokenizer's own files into `folder/base`."""
        self.tokenizer.save_pretrained(folder / BASE)


def _byte_values() -> Mapping[str, int]:
    """Return which byte each character of a byte-level token stands for (GPT-2's table)."""
    printed = [*range(33, 127), *range(161, 173), *range(174, 256)]
    found = {chr(value): value for value in printed}
    hidden = [value for value in range(256) if value not in printed]
    return found | {chr(256 + i): value for i, value in enumerate(hidden)}


_VALUES = _byte_values()


def _unusable(base: str, what: str) -> GenieError:
    message = f"expected a tokenizer that writes every word in {base!r}, got: {what}"
    hint = "take a model with a byte-level tokenizer, or one with bytes as fallback, such as gpt2"
    return GenieError(Problem("H005", message, hint=hint))
