"""What of a sentence its program stands for, as far as training rows tell.

A word, or two that stand side by side, are evidence of a function if rows to learn from say them
with it. A sentence that a skill is meant by has much evidence of its program's functions; one that
wants something else has words that no row said with them. This tells more than the probability of
the program alone (docs/parser.md).
"""

from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from itertools import islice
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
from genie_dp.parser.rows import RowStore

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
    return [word for word in dict.fromkeys(sentence) if _is_telling(word) and word not in values]


@lru_cache(maxsize=1 << 15)
def _is_telling(word: str) -> bool:
    return word not in function_words() and not is_slot(word) and any(map(str.isalpha, word))


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
        rows = [x if isinstance(x, RowStore) else RowStore.from_pairs(x) for x in stores]
        total = sum(map(len, rows))
        said = _Said()
        for store in rows:
            said.add(store, language, step=max(1, -(-total // _MOST_ROWS)))
        hashes = [_hash(*parts) >> 32 for parts in said.often(1 if total < _FEW_ROWS else 2)]
        return cls(np.unique(np.array(hashes, np.uint32)))

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
        with path.open("wb") as file:
            np.save(file, self.hashes, allow_pickle=False)

    @classmethod
    def load(cls, path: Path) -> "Evidence":
        """Return what `save` wrote; OSError or ValueError if it is not that."""
        hashes = np.load(path, allow_pickle=False)
        if hashes.dtype != np.uint32 or hashes.ndim != 1:
            raise ValueError(f"expected numbers of 32 bits, got {hashes.dtype}")
        return cls(hashes)


class _Said:
    """What rows say with which function.

    Words are numbers until all is counted: a term is two of them, 0 behind one that stands alone.
    """

    def __init__(self) -> None:
        self._numbers = {"": 0}
        self._terms: dict[str, array[int]] = defaultdict(partial(array, "Q"))

    def add(self, store: RowStore, language: Language, step: int) -> None:
        """Count the rows of a store, one of so many."""
        # Of an outline, for texts have no functions, and there are fewer.
        functions_in = cache(language.functions_in)
        start, end, value = map(self._number, (_START, _END, _VALUE))
        bare = self._number(_BARE) << 32
        numbers = [self._number(_name_of(name)) for name in store.names]
        is_slot_ = list(map(is_slot, store.names))
        is_telling = list(map(_is_telling, store.names))
        is_plain = [name in function_words() for name in store.names]
        rows = zip(store.programs(), store.numbered(), strict=True)
        for text, (sentence, program) in islice(rows, 0, None, step):
            if text == OUT_OF_SCOPE:
                continue
            tokens = set(program)
            values = {token for token in tokens.intersection(sentence) if not is_plain[token]}
            words = [
                value if word in values and not is_slot_[word] else numbers[word]
                for word in sentence
            ]
            terms = {word << 32 for word in words}
            pairs = zip((start, *words), (*words, end), strict=True)
            terms.update([first << 32 | second for first, second in pairs])
            if not values and not any([is_telling[x] and x not in tokens for x in sentence]):
                terms.add(bare)
            for function in set(functions_in(language.outline(text)[0])):
                self._terms[function].extend(terms)

    def _number(self, name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))

    def often(self, least: int) -> Iterator[tuple[str, ...]]:
        """Yield function and words of what at least so many rows say."""
        names = list(self._numbers)
        for function, terms in self._terms.items():
            found, counts = np.unique(np.frombuffer(terms, np.uint64), return_counts=True)
            for term in found[counts >= least].tolist():
                first, second = divmod(term, 1 << 32)
                yield (function, names[first], names[second])[: 3 if second else 2]


def _name_of(word: str) -> str:
    """Return what a word counts as: placeholders by what they are."""
    return word.rpartition("_")[0] if is_slot(word) else word


def _terms(sentence: Sequence[str], program: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the words of a sentence and its neighbouring pairs; values count by what they are."""
    values = set(program) - function_words()
    words = [_START]
    for word in sentence:
        words.append(_VALUE if word in values and not is_slot(word) else _name_of(word))
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
