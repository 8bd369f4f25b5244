"""From sentences to programs with a trained network: greedy search and beam search."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import compress, repeat
from operator import neg

import numpy as np

from genie_dp.models.arrays import F32, SteppedNetwork
from genie_dp.models.constraint import Constraint, Path, allowed_ids
from genie_dp.models.sentences import Rows, Sentences, encode_sentences
from genie_dp.models.vocabulary import BEGIN, END, Vocabulary


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A program that a search found.

    Attributes:
        tokens: the program.
        log_probability: natural logarithm of the model's probability of it; not renormalised over
            the tokens that a grammar allows, so that an unlikely program has an unlikely figure.
        ended: whether it has its end by itself, within the longest length; otherwise it was cut, or
            ended by its grammar.
        steps: the share of each token, and of the end, in the log-probability.
    """

    tokens: tuple[str, ...]
    log_probability: float
    ended: bool = True
    steps: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search.

    Attributes:
        beam: hypotheses kept; 1 is greedy search.
        longest: steps, the end included, after which a program is cut. Under a grammar it is
            brought to its end instead; grammars bound how many steps that takes.
        length_penalty: hypotheses are compared by log-probability / length^penalty; 0 compares
            probabilities, which suits programs: of two, the shorter is not the worse.
        margin: of a beam, hypotheses are given up that are so much worse, in nats, than one that
            has ended: threshold pruning (Freitag and Al-Onaizan, 2017), beside ended ones alone.
        floor: log-probability below which a program under a grammar is brought to its end, too.
        aside: ids that are programs of one token. A beam keeps them beside its hypotheses, with
            which they do not compete: the one that nothing is meant is likelier than any single
            program wherever there are many, and does not help to find the best of these.
        renormalized: whether log-probabilities are those among the tokens that a grammar allows. A
            network that never saw a library also likes arguments that its functions do not have.
    """

    beam: int = 1
    longest: int = 150
    length_penalty: float = 0.0
    margin: float = math.inf
    floor: float = -math.inf
    aside: frozenset[int] = frozenset()
    renormalized: bool = False

    def __post_init__(self) -> None:
        if self.beam < 1 or self.longest < 1:
            raise ValueError(f"beam, longest must be positive: {self}")
        if self.length_penalty < 0 or self.margin < 0:
            raise ValueError(f"length_penalty, margin must not be below 0: {self}")


# Ids below END are of no program.
_SPECIAL = END
# Steps of a program under a grammar; more than grammars let it have (ThingTalk: 400 tokens).
BOUND = 2000


def steps(settings: SearchSettings, paths: Sequence[Path] | None) -> range:
    """Return the steps that a search may take."""
    return range(max(BOUND, settings.longest) if paths else settings.longest)


def onward(path: Path, length: int, score: float, settings: SearchSettings) -> Path:
    """Return a path, on its way to its end if it is too long or too unlikely."""
    is_lost = length >= settings.longest or score < settings.floor
    return path.closing() if is_lost else path


def best_allowed(
    scores: F32, paths: Sequence[Path], number: int, *, renormalized: bool = False
) -> tuple[F32, Rows]:
    """Return the best next tokens: log-probabilities, best first, and extended ids.

    Under a grammar only the tokens that it allows are compared, a small part of all ids.

    Args:
        scores: (rows, P + S) log-probabilities of all extended ids, which are changed.
        paths: one for each row; none where there is no grammar.
        number: how many are wanted; where fewer may be written, the rest have minus infinity.
        renormalized: see SearchSettings.
    """
    scores[:, :_SPECIAL] = -np.inf
    if not paths:
        return _best(scores, number)
    ids = allowed_ids(paths)
    allowed = np.take_along_axis(scores, ids, 1)
    if renormalized:
        total = np.exp(allowed).sum(1, keepdims=True)
        allowed -= np.log(np.where(total > 0, total, np.float32(1)))
    values, places = _best(allowed, number)
    return values, np.take_along_axis(ids, places, 1)


def _best(scores: F32, number: int) -> tuple[F32, Rows]:
    """Return the highest scores of each row, best first, and their places; of equal ones the first.

    Only the best are put in order, not all that there are.
    """
    if number >= scores.shape[1]:
        places = np.argsort(-scores, axis=1, kind="stable")
    elif number == 1:
        places = scores.argmax(1)[:, None]
    else:
        places = np.sort(np.argpartition(-scores, number - 1, axis=1)[:, :number], axis=1)
        order = np.argsort(-np.take_along_axis(scores, places, 1), axis=1, kind="stable")
        places = np.take_along_axis(places, order, 1)
    return np.take_along_axis(scores, places, 1), places


def hypothesis(
    ids: Sequence[int],
    steps: Sequence[float],
    score: float,
    ended: bool,
    vocabulary: Vocabulary,
    sentence: tuple[str, ...],
) -> Hypothesis:
    """Return ids as a program."""
    tokens = tuple(vocabulary.token(extended, sentence) for extended in ids)
    return Hypothesis(tokens, score, ended, tuple(steps))


# Score, ids, whether the end came by itself, and what each step adds to the score.
Ended = tuple[float, tuple[int, ...], bool, tuple[float, ...]]


@dataclass(slots=True)
class Live:
    """A hypothesis that goes on; `row` is where its state is."""

    ids: tuple[int, ...]
    score: float
    path: Path | None
    row: int
    steps: tuple[float, ...] = ()


@dataclass(slots=True)
class Beam:
    """The hypotheses of one sentence: those that go on, and ended ones."""

    sentence: tuple[str, ...]
    live: list[Live]
    ended: list[Ended] = field(default_factory=list)
    aside: tuple[Ended, ...] = ()

    def advance(
        self, scores: list[list[float]], ids: list[list[int]], settings: SearchSettings
    ) -> None:
        """Take one step.

        An end counts if it is among the best `width` candidates; the best others go on, so that
        a beam of 1 is greedy search.

        Args:
            scores: of the best candidates of each live hypothesis, its own score included, best
                first; minus infinity for tokens that are not allowed.
            ids: their extended ids.
            settings: how many to keep, and when programs are brought to their end.
        """
        width = settings.beam
        following: list[Live] = []
        ended: list[Ended] = []
        costs = (
            zip(map(neg, own_scores), repeat(place), own_ids, strict=False)
            for place, (own_scores, own_ids) in enumerate(zip(scores, ids, strict=False))
        )
        for cost, place, extended in merge(*costs):
            if len(following) == width or cost == math.inf:
                break
            parent, score = self.live[place], -cost
            taken = (*parent.steps, score - parent.score)
            if extended != END:
                written = (*parent.ids, extended)
                path = parent.path and parent.path.then(extended)
                path = path and onward(path, len(written), score, settings)
                following.append(Live(written, score, path, parent.row, taken))
            elif len(following) + len(ended) < width:
                is_own = not (parent.path and parent.path.is_closing)
                ended.append((score, parent.ids, is_own, taken))
        self.live = following
        self.ended += ended

    def settle(self, settings: SearchSettings) -> None:
        """Drop live hypotheses that come to nothing beside the ended ones."""
        if not self.live or not self.ended:
            return
        ended = [penalized_score(score, len(ids) + 1, settings) for score, ids, *_ in self.ended]
        ended.sort(reverse=True)
        least = ended[0] - settings.margin
        if len(ended) >= settings.beam:
            least = max(least, ended[settings.beam - 1])
        self.live = [
            live
            for live in self.live
            if penalized_score(live.score, settings.longest, settings) > least
        ]

    def best(self, vocabulary: Vocabulary, settings: SearchSettings) -> tuple[Hypothesis, ...]:
        """Return the hypotheses, best first; those that were cut only if none ended."""

        def penalize(ended: Ended) -> float:
            return -penalized_score(ended[0], len(ended[1]) + 1, settings)

        cut = [(live.score, live.ids, False, live.steps) for live in self.live]
        hypotheses = sorted(self.ended, key=penalize)[: settings.beam] or cut
        return tuple(
            hypothesis(ids, steps, score, is_own, vocabulary, self.sentence)
            for score, ids, is_own, steps in sorted([*hypotheses, *self.aside], key=penalize)
        )


def penalized_score(score: float, length: int, settings: SearchSettings) -> float:
    """Return the key by which hypotheses are compared.

    >>> penalized_score(-6.0, 4, SearchSettings(length_penalty=0.5))
    -3.0
    """
    return float(score / length**settings.length_penalty)


def beam(
    network: SteppedNetwork,
    source: Sentences,
    vocabulary: Vocabulary,
    paths: Sequence[Path] | None,
    settings: SearchSettings,
) -> list[tuple[Hypothesis, ...]]:
    """Return the best hypotheses of each sentence."""
    everything = memory = network.encode(source)
    state = network.begin(memory)
    beams = [
        Beam(sentence, [Live((), 0.0, paths[row] if paths else None, row)])
        for row, sentence in enumerate(source.sentences)
    ]
    owners = list(range(len(beams)))
    tokens = np.full(len(beams), BEGIN)
    for step in steps(settings, paths):
        scored, state = network.step(memory, state, tokens)
        if step == 0:
            for sentence_beam, likely in zip(beams, scored, strict=True):
                sentence_beam.aside = _put_aside(likely, settings.aside)
        _advance(beams, scored, settings)
        flat = [
            (place, live)
            for place, sentence_beam in enumerate(beams)
            for live in sentence_beam.live
        ]
        if not flat:
            break
        tokens = np.array([live.ids[-1] for _, live in flat])
        state = network.take(state, np.array([live.row for _, live in flat]))
        if owners != (now := [place for place, _ in flat]):
            owners, memory = now, network.take(everything, np.array(now))
        for row, (_, live) in enumerate(flat):
            live.row = row
    return [sentence_beam.best(vocabulary, settings) for sentence_beam in beams]


def _put_aside(scores: F32, aside: Iterable[int]) -> tuple[Ended, ...]:
    """Return the programs of one token, and take them from the scores of first tokens."""
    ended = []
    for extended in sorted(aside):
        score = float(scores[extended])
        ended.append((score, (extended,), True, (score,)))
        scores[extended] = -np.inf
    return tuple(ended)


def _advance(beams: Sequence[Beam], scored: F32, settings: SearchSettings) -> None:
    """Take one step of all beams; rows of `scored` are their live hypotheses in order."""
    paths = [
        live.path for sentence_beam in beams for live in sentence_beam.live if live.path is not None
    ]
    own = [live.score for sentence_beam in beams for live in sentence_beam.live]
    # One more than the beam, for an end is no hypothesis that goes on.
    values, ids = best_allowed(scored, paths, settings.beam + 1, renormalized=settings.renormalized)
    totals = values.astype(np.float64) + np.array(own)[:, None]
    scores, names, first = totals.tolist(), ids.tolist(), 0
    for sentence_beam in beams:
        if sentence_beam.live:
            last = first + len(sentence_beam.live)
            sentence_beam.advance(scores[first:last], names[first:last], settings)
            sentence_beam.settle(settings)
            first = last


__all__ = ["Hypothesis", "SearchSettings", "greedy", "search"]


def search(
    network: SteppedNetwork,
    sentences: Sequence[tuple[str, ...]],
    vocabulary: Vocabulary,
    *,
    constraint: Constraint | None = None,
    settings: SearchSettings | None = None,
) -> list[tuple[Hypothesis, ...]]:
    """Return for each sentence its hypotheses, best first; one of them if the search is greedy.

    All sentences go through the network as one batch: sort and cut long lists first.

    Args:
        network: a trained one.
        sentences: words of each sentence.
        vocabulary: the network's.
        constraint: the tokens that are allowed; None for any.
        settings: how to search.
    """
    chosen = settings or SearchSettings()
    if not sentences:
        return []
    source = encode_sentences(sentences, vocabulary)
    paths = constraint.begin(sentences) if constraint else None
    if chosen.beam > 1:
        return beam(network, source, vocabulary, paths, chosen)
    return [(best,) for best in greedy(network, source, vocabulary, paths, chosen)]


@dataclass(slots=True)
class Written:
    """The program of a sentence so far; `ended` as in Hypothesis."""

    path: Path | None
    ids: list[int] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)
    score: float = 0.0
    ended: bool = False

    def takes(self, extended: int, score: float, settings: SearchSettings) -> bool:
        """Add a token; return whether the program goes on."""
        self.score += score
        self.steps.append(score)
        if extended == END:
            self.ended = self.path is None or not self.path.is_closing
            return False
        self.ids.append(extended)
        if self.path:
            self.path = onward(self.path.then(extended), len(self.ids), self.score, settings)
        return True


def greedy(
    network: SteppedNetwork,
    source: Sentences,
    vocabulary: Vocabulary,
    paths: Sequence[Path] | None,
    settings: SearchSettings,
) -> list[Hypothesis]:
    """Return the hypothesis of each sentence that takes the best token at each step."""
    memory = network.encode(source)
    state = network.begin(memory)
    live = written_programs = [
        Written(path) for path in paths or repeat(None, len(source.sentences))
    ]
    tokens = np.full(len(live), BEGIN)
    for _ in steps(settings, paths):
        scored, state = network.step(memory, state, tokens)
        allowed = [program.path for program in live if program.path]
        best, ids = best_allowed(scored, allowed, 1, renormalized=settings.renormalized)
        tokens = ids[:, 0]
        taken = zip(live, tokens.tolist(), best[:, 0].tolist(), strict=True)
        goes_on = [program.takes(extended, score, settings) for program, extended, score in taken]
        if not any(goes_on):
            break
        if not all(goes_on):
            live = list(compress(live, goes_on))
            where = np.flatnonzero(goes_on)
            memory, state = network.take(memory, where), network.take(state, where)
            tokens = tokens[where]
    return [
        hypothesis(program.ids, program.steps, program.score, program.ended, vocabulary, sentence)
        for program, sentence in zip(written_programs, source.sentences, strict=True)
    ]
