"""Hugging Face's own `generate` under a grammar, for models that write programs piece by piece.

The networks of this package write whole tokens (`pretrained.py`, too) and have their own search.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from genie_dp.languages.guided import (
    SPACES,
    GuidedGrammar,
    GuidedPrefix,
    SubwordGrammar,
    SubwordPrefix,
    Subwords,
)

_SentencePiece, _ByteLevel = SPACES
# How byte-level tokenizers write bytes (GPT-2): printable ones as they are, others from 256 on.
_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_OTHERS = (byte for byte in range(256) if byte not in _PRINTABLE)
_BYTES = {chr(byte): byte for byte in _PRINTABLE} | {
    chr(256 + place): byte for place, byte in enumerate(_OTHERS)
}


def subwords_of(tokenizer: Any, *, size: int | None = None) -> Subwords:
    """Return the pieces of a tokenizer of Hugging Face.

    Special ids, byte fallbacks, and byte-level pieces that are no whole characters are left out.

    Args:
        tokenizer: a fast tokenizer, byte-level or with SentencePiece's mark.
        size: columns of the model's scores, if more than the tokenizer's ids.
    """
    return Subwords(dict(_pieces(tokenizer)), end=tokenizer.eos_token_id, size=size)


def _pieces(tokenizer: Any) -> Iterator[tuple[int, str]]:
    pieces = tokenizer.get_vocab()
    is_bytes = not any(text.startswith(_SentencePiece) for text in pieces)
    special = set(tokenizer.all_special_ids)
    for text, index in sorted(pieces.items(), key=lambda item: item[1]):
        if index in special or (text.startswith("<0x") and text.endswith(">")):
            continue
        characters = _characters(text) if is_bytes else text
        if characters:
            yield index, characters


def _characters(text: str) -> str:
    """Return what a byte-level piece stands for, with its mark; "" where that is no text.

    >>> _characters("ĠcafÃ©")
    'Ġcafé'
    """
    mark = _ByteLevel if text.startswith(_ByteLevel) else ""
    try:
        return mark + bytes(_BYTES[c] for c in text[len(mark) :]).decode()
    except (KeyError, UnicodeDecodeError):
        return ""


class GrammarLogits:
    """Lets `generate` choose only what a grammar allows: pass it as a logits processor.

    The model must have learned to write a space before the first token, too. A program that
    `generate` cuts at its longest length is no program: leave room.
    """

    def __init__(self, grammar: SubwordGrammar | GuidedGrammar, sentences: Sequence[Sequence[str]]):
        """Take the words of each sentence of the batch, in order."""
        self._subwords = grammar.subwords
        self._sentences = len(sentences)
        self._known: list[dict[tuple[int, ...], SubwordPrefix | GuidedPrefix]] = [
            {(): grammar.begin(sentence)} for sentence in sentences
        ]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return (rows, ids) scores, -inf for what may not come; rows that ended stay."""
        beams = len(input_ids) // self._sentences
        allowed = np.ones(tuple(scores.shape), np.bool_)
        for row, ids in enumerate(input_ids.tolist()):
            written = tuple(i for i in ids if i in self._subwords.ids)
            if self._subwords.end not in ids[1:]:
                allowed[row] = self._prefix(row // beams, written).mask()
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -torch.inf)

    def _prefix(self, sentence: int, ids: tuple[int, ...]) -> SubwordPrefix | GuidedPrefix:
        prefixes = self._known[sentence]
        if ids not in prefixes:
            prefixes[ids] = self._prefix(sentence, ids[:-1]).then(ids[-1])
        return prefixes[ids]
