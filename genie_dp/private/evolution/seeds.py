"""Candidates without a model: public sentences, and their words edited.

What can come out is made of words and turns of the public sentences, so this finds a private
distribution only as far as public text has its words. It needs nothing but that text, and is fast.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp
from random import Random

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.donated import Donated, Pool
from genie_dp.private.evolution.generator import Candidate, Metadata
from genie_dp.private.evolution.prompting import refuse_private
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
    from another public sentence as the strength says; a trigram model of the public sentences says
    how fluent they are, and one is drawn with weight exp(-4 losses per word).
    """

    name = "seeds"

    def __init__(self, seeds: Sequence[Donated], *, labels: Sequence[str] = (), proposals: int = 8):
        """Count the words of the sentences.

        Args:
            seeds: public sentences with what is known of each, in the form of private rows.
            labels: columns that count most when a sentence is drawn for a record.
            proposals: of a variation.

        Raises:
            GenieError: there is no sentence (U507).
        """
        if not any(seed.utterance for seed in seeds):
            hint = "one sentence a line, with its metadata"
            raise GenieError(Problem("U507", "expected public sentences, got none", hint=hint))
        if proposals < 1:
            raise ValueError(f"proposals must be at least 1, got {proposals}")
        self.seeds = tuple(seed for seed in seeds if seed.utterance)
        self.proposals = proposals
        self._pool = Pool(self.seeds, labels)
        self._fluency = NgramModel(seed.utterance for seed in self.seeds)
        said = [tuple(seed.utterance.split()) for seed in self.seeds]
        self._table, self._akin = _Neighbours(said), _Akin(said)

    def fingerprint(self) -> str:
        """Return a hash of the sentences and settings."""
        told = [(seed.utterance, sorted(seed.metadata.items())) for seed in self.seeds]
        text = repr(("seeds", 1, told, sorted(self._pool.labels), self.proposals))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def random(self, metadata: Sequence[Metadata], *, seed: int) -> list[Candidate]:
        """Return, for each record, a public sentence that agrees with it in most columns.

        One that was drawn before is edited: there may be fewer of them than candidates.
        """
        found: list[Candidate] = []
        drawn: set[str] = set()
        for index, record in enumerate(metadata):
            rng = stream(seed, "seeds", "random", index)
            [one] = self._pool.nearest(record, 1, rng)
            made = Candidate(Example("", one.utterance, ""), dict(record))
            found.append(self._varied(made, _AGAIN, rng) if one.utterance in drawn else made)
            drawn.add(one.utterance)
        return found

    def vary(
        self, candidates: Sequence[Candidate], strength: float, *, seed: int
    ) -> list[Candidate]:
        """Return each candidate with a share of its words edited; itself where `strength` is 0."""
        if not 0 <= strength <= 1:
            raise ValueError(f"strength must lie in [0, 1], got {strength}")
        return [
            self._varied(candidate, strength, stream(seed, "seeds", "vary", index))
            for index, candidate in enumerate(candidates)
        ]

    def _varied(self, candidate: Candidate, strength: float, rng: Random) -> Candidate:
        refuse_private(candidate)
        words = tuple(candidate.example.utterance.split())
        if strength == 0 or not words:
            return candidate
        budget = max(1, round(strength * len(words)))
        donors = self._pool.nearest(candidate.metadata, _DONORS, rng)
        akin = [self.seeds[i] for i in self._akin.drawn(words, _AKIN, rng)]
        said = tuple(tuple(one.utterance.split()) for one in (*donors, *akin))
        edits = _Edits(self._table, said)
        proposals = [edits.edited(words, budget, rng) for _ in range(self.proposals)]
        texts = [" ".join(proposal) for proposal in proposals]
        losses = [loss / count for loss, count in self._fluency.losses(texts)]
        [text] = rng.choices(texts, [exp(_SHARPNESS * (min(losses) - loss)) for loss in losses])
        return Candidate(Example("", text, ""), candidate.metadata)


class _Akin:
    """Which public sentences have words in common with another."""

    def __init__(self, sentences: Sequence[Words]):
        self.having: defaultdict[str, list[int]] = defaultdict(list)
        for place, words in enumerate(sentences):
            for word in dict.fromkeys(words):
                self.having[word].append(place)

    def drawn(self, words: Words, count: int, rng: Random) -> list[int]:
        """Return places of sentences with one of the words, rare ones rather than frequent ones."""
        known = [word for word in words if word in self.having]
        if not known:
            return []
        rarity = [1 / len(self.having[word]) ** 0.5 for word in known]
        return [rng.choice(self.having[word]) for word in rng.choices(known, rarity, k=count)]


class _Neighbours:
    """Which words stand beside which, in public sentences."""

    def __init__(self, sentences: Sequence[Words]):
        self.after: defaultdict[str, set[str]] = defaultdict(set)
        self.before: defaultdict[str, set[str]] = defaultdict(set)
        between: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
        for words in sentences:
            padded = (_EDGE, *words, _EDGE)
            for left, word, right in zip(padded, padded[1:], padded[2:], strict=False):
                self.after[left].add(word)
                self.before[right].add(word)
                between[left, right].add(word)
        self._between = {key: tuple(sorted(found)) for key, found in between.items()}
        self._joining: dict[tuple[str, str], Words] = {}

    def between(self, left: str, right: str) -> Words:
        """Return the words that were seen between two, else those seen beside each of them."""
        return self._between.get((left, right)) or self.joining(left, right)

    def joining(self, left: str, right: str) -> Words:
        """Return the words seen after one word and before another, if not both at once."""
        key = left, right
        if key not in self._joining:
            after, before = self.after.get(left, set()), self.before.get(right, set())
            self._joining[key] = tuple(sorted(after & before))
        return self._joining[key]


@dataclass(frozen=True, slots=True)
class _Edits:
    """Edits of words; each says how many of the words it may change it took.

    Attributes:
        table: which words stand beside which.
        donors: public sentences of like metadata, and with words in common.
    """

    table: _Neighbours
    donors: tuple[Words, ...]

    def edited(self, words: Words, budget: int, rng: Random) -> Words:
        """Return words with at most so many of them replaced, dropped or added."""
        kinds: Sequence[Edit] = (self._replaced, self._replaced, self._taken, self._added, _dropped)
        start = words
        # Edits that find nothing to do take nothing; there is an end to trying.
        for _ in range(4 * budget + 8):
            if budget <= 0:
                break
            words, taken = rng.choice(kinds)(words, budget, rng)
            budget -= taken
        return words if words else start

    def _replaced(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        place = rng.randrange(len(words))
        left, right = _beside(words, place, place + 1)
        near = [word for word in self.table.between(left, right) if word != words[place]]
        if not near:
            return words, 0
        return (*words[:place], rng.choice(near), *words[place + 1 :]), 1

    def _added(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        place = rng.randrange(len(words) + 1)
        near = self.table.between(*_beside(words, place, place))
        if not near:
            return words, 0
        return (*words[:place], rng.choice(near), *words[place:]), 1

    def _taken(self, words: Words, budget: int, rng: Random) -> tuple[Words, int]:
        """Put a span of a donor in the place of one that stands between the same words, if any."""
        donor = rng.choice(self.donors)
        length, other = (rng.randint(1, min(_LONGEST_SPAN, budget)) for _ in range(2))
        if length > len(words) or other > len(donor):
            return words, 0
        place = rng.randrange(len(words) - length + 1)
        span = _span_between(donor, other, *_beside(words, place, place + length), rng)
        if span is None or span == words[place : place + length]:
            return words, 0
        return (*words[:place], *span, *words[place + length :]), max(length, other)


def _dropped(words: Words, budget: int, rng: Random) -> tuple[Words, int]:
    if len(words) == 1:
        return words, 0
    place = rng.randrange(len(words))
    return (*words[:place], *words[place + 1 :]), 1


def _span_between(donor: Words, length: int, left: str, right: str, rng: Random) -> Words | None:
    """Return a span of a donor that has one of the two words at its side, best both."""
    places = range(len(donor) - length + 1)
    beside = [_beside(donor, place, place + length) for place in places]
    fits = [(a == left) + (b == right) for a, b in beside]
    best = max(fits)
    if best == 0:
        return None
    place = rng.choice([place for place in places if fits[place] == best])
    return donor[place : place + length]


def _beside(words: Words, start: int, end: int) -> tuple[str, str]:
    """Return the words before and behind a span."""
    return (words[start - 1] if start else _EDGE, words[end] if end < len(words) else _EDGE)
