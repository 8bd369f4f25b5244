"""Words, pairs of words and sentences of enough people: partition selection, level by level.

Four noisy releases, one after the other. The first is a histogram over public bins. Each of the
others shows items met in private rows, if enough units have them: words that are in no template;
pairs of words, each of which is in the templates or was shown before; sentences, cut where their
pairs were not shown. The contribution of a unit depends on the unit, on public things, and on the
items shown before, and on nothing else; of items that it has equally often, chance decides which
count.

A thresholded release is (epsilon, delta)-DP by its noise and the chance that something of one unit
alone is shown (Korolova et al., WWW 2009; Wilkins et al., 2024, for Gaussian noise). That phrases
grow out of shown ones is of Kim et al., "Differentially Private n-gram Extraction" (NeurIPS 2021).
The floor under the threshold is pre-thresholding (google/differential-privacy, common_docs).
"""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from math import sqrt
from random import Random
from string import ascii_uppercase
from typing import Any, TypeVar

from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, Mechanism, Threshold
from genie_dp.private.prior.histogram import Kind, Noise, norm_of, threshold

Tokens = tuple[str, ...]
Item = TypeVar("Item", bound=Hashable)
HOLE = ".."
"""Stands in a sentence for words that too few people said there."""
LEVELS = ("words", "pairs", "sentences")
"""Of what is met in private rows, in the order of the releases."""
RELEASES = 1 + len(LEVELS)
_BINS = 4  # all units, those that were not understood, one reason, one function


@dataclass(frozen=True, slots=True, repr=False)
class Understanding:
    """One private sentence as a listener heard it; it never shows its text.

    Attributes:
        tokens: words in small letters, and stems of placeholders for values, such as NUMBER.
        reason: why it was not understood, a public code; "" where it was.
        function: of the library that most of its words point to, "" for none.
    """

    tokens: Tokens
    reason: str = ""
    function: str = ""

    def __repr__(self) -> str:
        return "Understanding(..)"


Unit = Sequence[Understanding]
"""The sentences of one unit."""


@dataclass(frozen=True, slots=True)
class TemplateVocabulary:
    """The public vocabulary, settled before private rows are read.

    Attributes:
        words: words of the templates, words without information, and stems of placeholders.
        pairs: pairs of these that stand side by side in sentences of the templates.
        functions: of the library.
        reasons: code -> why a sentence is not understood.
    """

    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    functions: tuple[str, ...]
    reasons: Mapping[str, str]

    def has(self, token: str) -> bool:
        """Return whether a token is a word of templates, a sign, or stands for a value.

        >>> public = TemplateVocabulary(frozenset(["the"]), frozenset(), (), {})
        >>> public.has("the"), public.has("NUMBER"), public.has("?"), public.has("lawn")
        (True, True, True, False)
        """
        is_sign = not any(map(str.isalnum, token))
        return token in self.words or token[:1] in ascii_uppercase or is_sign


@dataclass(frozen=True, slots=True)
class GapLimits:
    """How much of each level a unit adds 1 to, at most."""

    words: int = 2
    pairs: int = 3
    sentences: int = 1

    def of(self, level: str) -> int:
        """Return how many bins of a level a unit moves."""
        limit: int = _BINS if level == "totals" else getattr(self, level)
        return limit


@dataclass(frozen=True, slots=True)
class GapPlan:
    """All that is public about a release.

    Attributes:
        vocabulary: the vocabulary of the templates.
        limits: on the contribution of a unit.
        kind: of the noise.
        multiplier: its scale in each release, relative to the sensitivity to a unit.
        threshold_delta: chance that anything of one unit alone is shown, of all levels together.
        least: units that a shown item has, whatever the noise is.
        reads_all: whether sentences count that are understood.
    """

    vocabulary: TemplateVocabulary
    limits: GapLimits
    kind: Kind
    multiplier: float
    threshold_delta: float
    least: int = 1
    reads_all: bool = False

    def noise(self, level: str) -> Noise:
        """Return the noise on each count of a level."""
        bins = self.limits.of(level)
        moved = float(bins) if norm_of(self.kind) == 1 else sqrt(bins)
        return Noise(self.kind, self.multiplier * moved)

    def threshold(self, level: str) -> int:
        """Return the noisy count from which on something is shown.

        Below `least` nothing has a chance, so that the least that has one is where 1 is otherwise.
        """
        delta = self.threshold_delta / len(LEVELS)
        return threshold(self.noise(level), self.limits.of(level), delta) + self.least - 1

    @property
    def mechanisms(self) -> tuple[Mechanism, ...]:
        """Return the mechanisms of the four releases for a ledger, one entry together."""
        of_kind = Gaussian if self.kind == "gaussian" else Laplace
        return of_kind(self.multiplier, count=RELEASES), Threshold(self.threshold_delta)


@dataclass(frozen=True, slots=True)
class NoisyGaps:
    """Noisy counts of units: nothing exact.

    Attributes:
        units: all.
        lacking: those with a sentence that was not understood.
        reasons, functions: public name -> those whose sentences mostly have it.
        words, pairs, sentences: shown items -> units that use them; tokens with spaces.
    """

    units: int
    lacking: int
    reasons: Mapping[str, int]
    functions: Mapping[str, int]
    words: Mapping[str, int] = field(default_factory=dict)
    pairs: Mapping[str, int] = field(default_factory=dict)
    sentences: Mapping[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return the counts for JSON."""
        return asdict(self)


def number_values(tokens: Sequence[str]) -> Tokens:
    """Return tokens with numbered placeholders, as rows have them.

    >>> number_values(["from", "NUMBER", "to", "NUMBER"])
    ('from', 'NUMBER_0', 'to', 'NUMBER_1')
    """
    counts = Counter[str]()
    numbered = []
    for token in tokens:
        if token[:1] in ascii_uppercase:
            numbered.append(f"{token}_{counts[token]}")
            counts[token] += 1
        else:
            numbered.append(token)
    return tuple(numbered)


# --------------------------------------------------------------------------------- what a unit adds


def totals_of(unit: Unit, public: TemplateVocabulary, rng: Random) -> Iterator[tuple[str, str]]:
    """Yield the public bins that a unit adds 1 to: four at most."""
    yield "units", ""
    lacking = [sentence for sentence in unit if sentence.reason]
    if lacking:
        yield "lacking", ""
        yield from (("reasons", name) for name in _most_said((h.reason for h in lacking), 1, rng))
    functions = (sentence.function for sentence in lacking if sentence.function in public.functions)
    yield from (("functions", name) for name in _most_said(functions, 1, rng))


def words_of(unit: Unit, public: TemplateVocabulary, limit: int, rng: Random) -> list[str]:
    """Return the words of a unit that are in no template, at most so many.

    >>> public = TemplateVocabulary(frozenset(["the"]), frozenset(), (), {})
    >>> unit = [Understanding(("mow", "the", "lawn")), Understanding(("mow", "it"))]
    >>> words_of(unit, public, 1, Random(0))
    ['mow']
    """
    new = (word for sentence in unit for word in sentence.tokens if not public.has(word))
    return _most_said(new, limit, rng)


def pairs_of(
    unit: Unit, public: TemplateVocabulary, words: Mapping[str, int], limit: int, rng: Random
) -> list[tuple[str, str]]:
    """Return the pairs of a unit that are in no template, of words that are public or were shown.

    Those of its most frequent sentence come first, of which any: so each part of it has a chance.

    >>> public = TemplateVocabulary(frozenset(["the", "on"]), frozenset([("on", "the")]), (), {})
    >>> unit = [Understanding(("on", "the", "lawn", "on"))]
    >>> sorted(pairs_of(unit, public, {"lawn": 90}, 9, Random(0)))
    [('lawn', 'on'), ('the', 'lawn')]
    """
    pairs: dict[tuple[str, str], None] = {}
    for tokens in _most_said((sentence.tokens for sentence in unit), len(unit), rng):
        of_sentence = [
            pair
            for pair in pairwise(tokens)
            if pair not in public.pairs and all(public.has(t) or t in words for t in pair)
        ]
        rng.shuffle(of_sentence)
        pairs.update(dict.fromkeys(of_sentence))
    return list(pairs)[:limit]


def sentences_of(
    unit: Unit,
    public: TemplateVocabulary,
    words: Mapping[str, int],
    pairs: Mapping[str, int],
    limit: int,
    rng: Random,
) -> list[Tokens]:
    """Return the sentences of a unit, at most so many, cut where too few people use their pairs.

    >>> public = TemplateVocabulary(frozenset(["on", "the"]), frozenset([("on", "the")]), (), {})
    >>> tokens = ("bob", "on", "the", "lawn", "now"), ("on", "the", "mat")
    >>> unit = [Understanding(sentence) for sentence in tokens]
    >>> sentences_of(unit, public, {"lawn": 90}, {"the lawn": 90}, 9, Random(0))
    [('..', 'on', 'the', 'lawn', '..')]
    """
    cut = (cut_sentence(sentence.tokens, public, words, pairs) for sentence in unit)
    return _most_said((tokens for tokens in cut if tokens), limit, rng)


def cut_sentence(
    tokens: Tokens,
    public: TemplateVocabulary,
    words: Mapping[str, int],
    pairs: Mapping[str, int],
) -> Tokens:
    """Return a sentence with a hole for words in no shown pair, and no pair of the templates.

    Empty where the rest has nothing new: no shown pair, and not the whole sentence.
    """
    if len(tokens) == 1:
        return tokens if public.has(tokens[0]) or tokens[0] in words else ()
    is_new = [" ".join(pair) in pairs for pair in pairwise(tokens)]
    holds = [
        new or pair in public.pairs for new, pair in zip(is_new, pairwise(tokens), strict=True)
    ]
    pattern: list[str] = []
    for place, token in enumerate(tokens):
        is_joined = place > 0 and holds[place - 1]
        is_held = is_joined or (place < len(holds) and holds[place])
        if not is_joined and place and pattern[-1] != HOLE:
            pattern.append(HOLE)
        if is_held or not pattern or pattern[-1] != HOLE:
            pattern.append(token if is_held else HOLE)
    return tuple(pattern) if any(is_new) or (tokens and all(holds)) else ()


def _most_said(items: Iterable[Item], limit: int, rng: Random) -> list[Item]:
    """Return the most frequent of a unit's items; of equally frequent ones any.

    If it took the first ones, nobody who uses two new words would ever count for the second.
    """
    counts = list(Counter(items).items())
    if len(counts) > 1:
        rng.shuffle(counts)
        counts.sort(key=lambda pair: -pair[1])
    return [item for item, _ in counts[:limit]]


# ---------------------------------------------------------------------------------------- releases


def release_gaps(units: Sequence[Unit], plan: GapPlan, noise: Callable[[str], Random]) -> NoisyGaps:
    """Return the noisy counts of units; their cost must have been recorded before.

    Args:
        units: private units.
        plan: the public parameters.
        noise: level -> generator of its noise, the system's; another one only in tests.
    """
    vocabulary, limits = plan.vocabulary, plan.limits
    units_read = [unit if plan.reads_all else [h for h in unit if h.reason] for unit in units]
    rng, wide = noise("totals"), plan.noise("totals")
    totals = Counter(name for unit in units for name in totals_of(unit, vocabulary, rng))

    def noisy(sort: str, names: Collection[str]) -> dict[str, int]:
        noise_values = wide.draw(len(names), rng).tolist()
        return {
            name: round(totals[sort, name] + add)
            for name, add in zip(names, noise_values, strict=True)
        }

    public = (
        noisy("units", [""])[""],
        noisy("lacking", [""])[""],
        noisy("reasons", vocabulary.reasons),
        noisy("functions", vocabulary.functions),
    )

    def select_level(
        level: str, of_unit: Callable[..., Sequence[Any]], **before: Any
    ) -> dict[str, int]:
        rng, limit = noise(level), limits.of(level)
        of_units = (
            of_unit(unit, vocabulary, **before, limit=limit, rng=rng) for unit in units_read
        )
        counts = Counter(item for items in of_units for item in items)
        exact = {" ".join(item) if level != "words" else item: n for item, n in counts.items()}
        return select_shown(exact, plan, level, rng)

    words = select_level("words", words_of)
    pairs = select_level("pairs", pairs_of, words=words)
    sentences = select_level("sentences", sentences_of, words=words, pairs=pairs)
    return NoisyGaps(*public, words, pairs, sentences)


def select_shown(
    counts: Mapping[str, int], plan: GapPlan, level: str, rng: Random
) -> dict[str, int]:
    """Return the items of enough units, with noisy counts, the most frequent first.

    Counts are rounded to whole numbers, so that low bits of the noise disclose nothing (Mironov,
    CCS 2012).

    Args:
        counts: how many units have something, exact.
        plan: the public parameters.
        level: one of LEVELS.
        rng: the system's generator; another one only in tests.
    """
    wide, least = plan.noise(level), plan.threshold(level)
    names = sorted(name for name, count in counts.items() if count >= plan.least)
    noise = wide.draw(len(names), rng).tolist()
    noisy = {name: round(counts[name] + add) for name, add in zip(names, noise, strict=True)}
    selected = {name: count for name, count in noisy.items() if count >= least}
    return dict(sorted(selected.items(), key=lambda pair: (-pair[1], pair[0])))
