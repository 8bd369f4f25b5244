"""Candidates without a model: public sentences that people gave, and their words edited.

Its sentences are made of words and turns of the public ones, so it finds a private
distribution only as far as public text has its words. It needs nothing but that text, and is fast.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from random import Random

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.generator import (
    Donated,
    Metadata,
    Pool,
    VoteCandidate,
    refuse_private_candidate,
)
from genie_dp.private.metrics.language_model import NgramModel
from genie_dp.records import Example
from genie_dp.rng import stream

_EDGE = ""  # stands before the first word and behind the last
# Sentences that words may be taken from: of like metadata, and with a word in common.
_DONORS, _AKIN = 2, 2
# How much fluency weighs: of variations of half the words of CLINC150, a trigram model of other
# rows says 4.7 nats a word with 1, 4.3 with 4 and 4.2 with 16, when nearly all are the likeliest of
# their proposals; of real rows 3.8 (November 2026).
_SHARPNESS = 4.0
_LONGEST_SPAN = 4
_AGAIN = 0.3  # how much a sentence is edited that was drawn before

Words = tuple[str, ...]
Edit = Callable[[Words, int, Random], tuple[Words, int]]


class SeedGenerator:
    """Draws public sentences, and varies sentences by their words; a Generator.

    A variation has some proposals, each with so many of its words replaced, dropped, added or taken
    from another public sentence as the strength has it; a trigram model of the public sentences
    scores how fluent they are, and one is drawn with weight exp(-4 losses per word).
    """

    name = "seeds"

    def __init__(self, seeds: Sequence[Donated], *, labels: Sequence[str] = (), proposals: int = 8):
        """Count the words of the sentences.

        Args:
            seeds: public sentences with their metadata, in the form of private rows.
            labels: columns that count most when a sentence is drawn for a record.
            proposals: of a variation.

        Raises:
            GenieError: there is no sentence (U507).
        """
        if not any(seed.utterance for seed in seeds):
            hint = "one sentence a line, with its metadata"
            raise GenieError(Problem("U507", "expected public sentences, got none", hint=hint))
        self.seeds = tuple(seed for seed in seeds if seed.utterance)
        self.proposals = proposals
        self._pool = Pool(self.seeds, labels)
        self._fluency = NgramModel(seed.utterance for seed in self.seeds)
        sentences = [tuple(seed.utterance.split()) for seed in self.seeds]
        self._table, self._akin = _Neighbours(sentences), _SharedWords(sentences)

    def fingerprint(self) -> str:
        """Return a hash of the sentences and settings."""
        seeds = [(seed.utterance, sorted(seed.metadata.items())) for seed in self.seeds]
        text = repr(("seeds", 1, seeds, sorted(self._pool.labels), self.proposals))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[VoteCandidate]:
        """Return, for each record, a public sentence that agrees with it in most columns.

        One that was drawn before is edited: there may be fewer of them than candidates.
        """
        candidates: list[VoteCandidate] = []
        used: set[str] = set()
        for index, record in enumerate(metadata):
            rng = stream(seed, "seeds", "random", index)
            [example] = self._pool.nearest(record, 1, rng)
            candidate = VoteCandidate(Example("", example.utterance, ""), dict(record))
            candidates.append(
                self._vary_candidate(candidate, _AGAIN, rng)
                if example.utterance in used
                else candidate
            )
            used.add(example.utterance)
        return candidates

    def vary(
        self, candidates: Sequence[VoteCandidate], strength: float, *, seed: int
    ) -> list[VoteCandidate]:
        """Return each candidate with a share of its words edited; itself where `strength` is 0."""
        return [
            self._vary_candidate(candidate, strength, stream(seed, "seeds", "vary", index))
            for index, candidate in enumerate(candidates)
        ]

    def _vary_candidate(
        self, candidate: VoteCandidate, strength: float, rng: Random
    ) -> VoteCandidate:
        refuse_private_candidate(candidate)
        words = tuple(candidate.example.utterance.split())
        if strength == 0 or not words:
            return candidate
        budget = max(1, round(strength * len(words)))
        donors = self._pool.nearest(candidate.metadata, _DONORS, rng)
        akin = [self.seeds[i] for i in self._akin.draw(words, _AKIN, rng)]
        donor_words = tuple(tuple(donor.utterance.split()) for donor in (*donors, *akin))
        edits = _Edits(self._table, donor_words)
        proposals = [edits.edit(words, budget, rng) for _ in range(self.proposals)]
        texts = [" ".join(proposal) for proposal in proposals]
        losses = [loss / count for loss, count in self._fluency.losses(texts)]
        [text] = rng.choices(texts, [exp(_SHARPNESS * (min(losses) - loss)) for loss in losses])
        return VoteCandidate(Example("", text, ""), candidate.metadata)


class _SharedWords:
    """Which public sentences have words in common with another."""

    def __init__(self, sentences: Sequence[Words]):
        self.having: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(sentences):
            for word in dict.fromkeys(words):
                self.having[word].append(place)

    def draw(self, words: Words, count: int, rng: Random) -> list[int]:
        """Return places of sentences with one of the words, rare ones rather than frequent ones."""
        shared = [word for word in words if word in self.having]
        if not shared:
            return []
        rarity = [1 / len(self.having[word]) ** 0.5 for word in shared]
        return [rng.choice(self.having[word]) for word in rng.choices(shared, rarity, k=count)]


class _Neighbours:
    """Which words stand beside which, in public sentences."""

    def __init__(self, sentences: Sequence[Words]):
        self.after: defaultdict[str, set[str]] = defaultdict(set)
        self.before: defaultdict[str, set[str]] = defaultdict(set)
        between: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for words in sentences:
            padded = (_EDGE, *words, _EDGE)
            for before_word, word, after_word in zip(padded, padded[1:], padded[2:], strict=False):
                self.after[before_word].add(word)
                self.before[after_word].add(word)
                between[before_word, after_word].add(word)
        self._between = {key: tuple(sorted(words)) for key, words in between.items()}

    def between(self, left: str, right: str) -> Words:
        """Return the words that were seen between two, else those seen beside each of them."""
        key = left, right
        if key not in self._between:
            after, before = self.after.get(left, set()), self.before.get(right, set())
            self._between[key] = tuple(sorted(after & before))
        return self._between[key]


@dataclass(frozen=True, slots=True)
class _Edits:
    """Edits of words; each returns how many of the words that it may change it took.

    Attributes:
        table: which words stand beside which.
        donors: public sentences of like metadata, and with words in common.
    """

    table: _Neighbours
    donors: tuple[Words, ...]

    def edit(self, words: Words, budget: int, rng: Random) -> Words:
        """Return words with at most so many of them replaced, dropped or added."""
        kinds: Sequence[Edit] = (
            self._replace_word,
            self._replace_word,
            self._take_span,
            self._add_word,
            _drop_word,
        )
        start = words
        # Edits that find nothing to do take nothing; there is an end to trying.
        for _ in range(4 * budget + 8):
            if budget <= 0:
                break
            words, taken = rng.choice(kinds)(words, budget, rng)
            budget -= taken
        return words if words else start

    def _replace_word(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        place = rng.randrange(len(words))
        before, after = _words_beside(words, place, place + 1)
        choices = [word for word in self.table.between(before, after) if word != words[place]]
        if not choices:
            return words, 0
        return (*words[:place], rng.choice(choices), *words[place + 1 :]), 1

    def _add_word(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        place = rng.randrange(len(words) + 1)
        choices = self.table.between(*_words_beside(words, place, place))
        if not choices:
            return words, 0
        return (*words[:place], rng.choice(choices), *words[place:]), 1

    def _take_span(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        """Put a span of a donor in the place of one that stands between the same words, if any."""
        donor = rng.choice(self.donors)
        length, donor_length = (rng.randint(1, min(_LONGEST_SPAN, budget)) for _ in range(2))
        if length > len(words) or donor_length > len(donor):
            return words, 0
        place = rng.randrange(len(words) - length + 1)
        left, right = _words_beside(words, place, place + length)
        donor_places = range(len(donor) - donor_length + 1)
        neighbours = [_words_beside(donor, i, i + donor_length) for i in donor_places]
        # The span has one of the two words at its side, best both.
        fits = [(before == left) + (after == right) for before, after in neighbours]
        best = max(fits)
        if best == 0:
            return words, 0
        start = rng.choice([i for i in donor_places if fits[i] == best])
        span = donor[start : start + donor_length]
        if span == words[place : place + length]:
            return words, 0
        return (*words[:place], *span, *words[place + length :]), max(length, donor_length)


def _drop_word(words: Words, budget: int, rng: Random) -> tuple[Words, int]:
    if len(words) == 1:
        return words, 0
    place = rng.randrange(len(words))
    return (*words[:place], *words[place + 1 :]), 1


def _words_beside(words: Words, start: int, end: int) -> tuple[str, str]:
    """Return the words before and behind a span."""
    return (words[start - 1] if start else _EDGE, words[end] if end < len(words) else _EDGE)
