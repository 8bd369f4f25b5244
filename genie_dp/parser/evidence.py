"""What of a sentence its program stands for, as far as training rows tell.

A word, or two that stand side by side, are evidence of a function if rows to learn from say them
with it. A sentence that a skill is meant by has much evidence of its program's functions; one that
wants something else has words that no row said with them. This tells more than the probability of
the program alone (docs/parser.md).
"""

import io
from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import xxhash

from genie_dp.languages.base import Language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.models.calibration import Calibration
from genie_dp.models.vocabulary import Pair

# Rows that are looked at; what they have said twice counts, of few rows what they have said once.
_MOST_ROWS = 150_000
_FEW_ROWS = 5_000
_START, _VALUE, _END = "<s>", "<value>", "</s>"
# Stands for all of a sentence that says nothing by itself, such as "hi there".
_BARE = "<bare>"


class Signals(NamedTuple):
    """What tells whether a program is right.

    Attributes:
        log_probability: of the program, in nats.
        refusal: log-probability that the sentence is to be refused.
        margin: nats that it is ahead of the next program.
        unseen: share of the pairs of neighbouring words that no row says with its functions.
        explained: content words that rows say with its functions.
        unexplained: content words that they do not.
    """

    log_probability: float
    refusal: float
    margin: float
    unseen: float
    explained: float
    unexplained: float


# Sizes of the signals, and what is believed of them before a parser's own rows are seen.
SCALES = Signals(4.0, 3.0, 3.0, 0.25, 2.0, 1.0)
BELIEVED = Calibration(Signals(0.35, -0.2, 0.25, -4.5, 0.35, -0.45), 1.0)
_UNLIKELY, _WIDEST, _MOST_WORDS = -16.0, 6.0, 4


def signals_of(
    log_probability: float, refusal: float, margin: float, support: "Support"
) -> Signals:
    """Return the signals of a program, each kept within what there are enough rows for."""
    return Signals(
        max(_UNLIKELY, log_probability),
        max(_UNLIKELY, refusal),
        max(-_WIDEST, min(_WIDEST, margin)),
        support.unseen,
        min(_MOST_WORDS, support.explained),
        min(_MOST_WORDS, len(support.unexplained)),
    )


@cache
def function_words() -> frozenset[str]:
    """Return the words that say nothing by themselves of what is wanted."""
    text = (files("genie_dp.parser") / "data" / "function_words.txt").read_text(encoding="utf-8")
    return frozenset(line for line in text.splitlines() if not line.startswith("#"))


def content_words(sentence: Sequence[str], program: Sequence[str] = ()) -> list[str]:
    """Return the words that say what is wanted: no values, and no function words.

    >>> content_words("show me my unread emails from EMAIL_ADDRESS_0".split())
    ['unread', 'emails']
    """
    values = set(program)
    return [
        word
        for word in dict.fromkeys(sentence)
        if word not in function_words()
        and word not in values
        and not is_slot(word)
        and any(map(str.isalpha, word))
    ]


class Support(NamedTuple):
    """How well a program is supported by the words of its sentence.

    Attributes:
        unseen: share of the neighbouring pairs that no row says with its functions; 1 of a sentence
            that says nothing, unless rows with them say nothing, too.
        explained: content words that rows say with them.
        unexplained: content words that they do not, in the order of the sentence.
    """

    unseen: float
    explained: int
    unexplained: tuple[str, ...]

    @property
    def weight(self) -> float:
        """Return the nats that it speaks for a program, beside what the network says.

        Of programs for one sentence the likeliest is often one that leaves out half of its words.
        The factors are those of a conditional logistic regression over the beams of one parser
        for the sentences of thingpedia/*/eval.tsv (docs/parser.md).
        """
        return 1.2 * self.explained - 1.2 * len(self.unexplained) - 10.0 * self.unseen


@dataclass(frozen=True, slots=True)
class Evidence:
    """The words, and pairs of words, that rows say with each function.

    Attributes:
        hashes: (N,) sorted: of a function with a word or with two; four bytes each.
    """

    hashes: npt.NDArray[np.uint32]

    @classmethod
    def from_rows(cls, stores: Iterable[Sequence[Pair]], language: Language) -> "Evidence":
        """Return what rows say."""
        rows = list(stores)
        total = sum(map(len, rows))
        step = max(1, -(-total // _MOST_ROWS))
        seen = array("Q")
        for store in rows:
            for place in range(0, len(store), step):
                pair = store[place]
                if pair.program != (OUT_OF_SCOPE,):
                    functions = set(language.functions_in(" ".join(pair.program)))
                    terms = set(_terms(pair.sentence, pair.program))
                    if _is_bare(pair.sentence, pair.program):
                        terms.add((_BARE,))
                    seen.extend(_hash(f, *term) for f in functions for term in terms)
        hashes, counts = np.unique(np.frombuffer(seen, np.uint64), return_counts=True)
        often = hashes[counts >= (1 if total < _FEW_ROWS else 2)]
        return cls(np.unique((often >> np.uint64(32)).astype(np.uint32)))

    def support(
        self, sentence: Sequence[str], program: Sequence[str], functions: Iterable[str]
    ) -> Support:
        """Return how well a program is supported by its sentence.

        Args:
            sentence: as it was read, with placeholders.
            program: tokens of the token form, with these placeholders.
            functions: those of the program.
        """
        words = content_words(sentence, program)
        pairs = [term for term in _terms(sentence, program) if len(term) == 2]
        is_said = self._are_said([*((word,) for word in words), *pairs], functions)
        unexplained = tuple(w for w, said in zip(words, is_said, strict=False) if not said)
        unseen = is_said[len(words) :].count(False) / max(1, len(pairs))
        if _is_bare(sentence, program) and not self.says((_BARE,), functions):
            unseen = 1.0
        return Support(unseen, len(words) - len(unexplained), unexplained)

    def says(self, words: Sequence[str], functions: Iterable[str]) -> bool:
        """Tell whether rows say all of the words, as words and no values, with the functions."""
        return all(self._are_said([(word,) for word in words], functions))

    def _are_said(self, terms: Sequence[tuple[str, ...]], functions: Iterable[str]) -> list[bool]:
        names = set(functions)
        if not (names and terms and len(self.hashes)):
            return [False] * len(terms)
        keys = np.array([[_hash(f, *term) >> 32 for f in names] for term in terms], np.uint32)
        places = self.hashes.searchsorted(keys)
        is_said: list[bool] = (self.hashes.take(places, mode="clip") == keys).any(1).tolist()
        return is_said

    def save(self, path: Path) -> None:
        """Write the hashes."""
        out = io.BytesIO()  # numpy does not say why it cannot write a file
        np.save(out, self.hashes, allow_pickle=False)
        path.write_bytes(out.getvalue())

    @classmethod
    def load(cls, path: Path) -> "Evidence":
        """Return what `save` wrote; OSError or ValueError if it is not that."""
        hashes = np.load(path, allow_pickle=False)
        if hashes.dtype != np.uint32 or hashes.ndim != 1:
            raise ValueError(f"expected numbers of 32 bits, got {hashes.dtype}")
        return cls(hashes)


def _terms(sentence: Sequence[str], program: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a sentence and its neighbouring pairs; values count by what they are."""
    values = set(program) - function_words()
    words = [_START]
    for word in sentence:
        if is_slot(word):
            words.append(word.rpartition("_")[0])
        else:
            words.append(_VALUE if word in values else word)
    words.append(_END)
    yield from ((word,) for word in words[1:-1])
    yield from zip(words, words[1:], strict=False)


def _is_bare(sentence: Sequence[str], program: Sequence[str]) -> bool:
    """Tell whether a sentence has neither content words nor anything that its program has.

    >>> _is_bare(("hi", "there"), ()), _is_bare(("what", "is", "TIME_0"), ("TIME_0",))
    (True, False)
    """
    values = set(program) - function_words()
    return not content_words(sentence, program) and values.isdisjoint(sentence)


def _hash(*parts: str) -> int:
    return xxhash.xxh3_64_intdigest("\0".join(parts).encode())
