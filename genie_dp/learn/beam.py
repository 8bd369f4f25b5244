"""Beam search over a batch of sentences, with as many rows as hypotheses are alive."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import count, repeat
from operator import neg
from typing import Any

import torch

from genie_dp.learn.batches import Source
from genie_dp.learn.constraint import Path
from genie_dp.learn.hypotheses import (
    Hypothesis,
    SearchSettings,
    best_allowed,
    hypothesis,
    onward,
    steps,
)
from genie_dp.learn.seq2seq import Tensors, take
from genie_dp.learn.vocabulary import BEGIN, END, Vocabulary

# Score, ids, and whether the end came by itself.
Ended = tuple[float, tuple[int, ...], bool]


@dataclass(slots=True)
class Live:
    """A hypothesis that goes on; `row` is where its state is."""

    ids: tuple[int, ...]
    score: float
    path: Path | None
    row: int


@dataclass(slots=True)
class Beam:
    """What is known of one sentence: hypotheses that go on, and ended ones."""

    sentence: tuple[str, ...]
    live: list[Live]
    ended: list[Ended] = field(default_factory=list)

    def advance(
        self, scores: list[list[float]], ids: list[list[int]], settings: SearchSettings
    ) -> None:
        """Take one step.

        An end counts if it is among the best `width` candidates; the best others go on, so that
        a beam of 1 is greedy search.

        Args:
            scores: of the best candidates of each live hypothesis, its own score included, best
                first; minus infinity for what is not allowed.
            ids: their extended ids.
            settings: how many to keep, and when programs are brought to their end.
        """
        width = settings.beam
        following: list[Live] = []
        ended: list[Ended] = []
        for cost, place, extended in merge(*map(_ranking, scores, count(), ids)):
            if len(following) == width or cost == math.inf:
                break
            parent, score = self.live[place], -cost
            if extended != END:
                written = (*parent.ids, extended)
                path = parent.path and parent.path.then(extended)
                path = path and onward(path, len(written), score, settings)
                following.append(Live(written, score, path, parent.row))
            elif len(following) + len(ended) < width:
                ended.append((score, parent.ids, not (parent.path and parent.path.is_closing)))
        self.live = following
        self.ended += ended

    def settle(self, settings: SearchSettings) -> None:
        """Drop live hypotheses that come to nothing beside the ended ones."""
        if not self.live or not self.ended:
            return
        ended = [ranked(score, len(ids) + 1, settings) for score, ids, _ in self.ended]
        ended.sort(reverse=True)
        least = ended[0] - settings.margin
        if len(ended) >= settings.beam:
            least = max(least, ended[settings.beam - 1])
        self.live = [
            live for live in self.live if ranked(live.score, settings.longest, settings) > least
        ]

    def best(self, vocabulary: Vocabulary, settings: SearchSettings) -> tuple[Hypothesis, ...]:
        """Return the hypotheses, best first; those that were cut only if none ended."""
        order = sorted(self.ended, key=lambda e: -ranked(e[0], len(e[1]) + 1, settings))
        found = [
            hypothesis(ids, score, is_own, vocabulary, self.sentence)
            for score, ids, is_own in order[: settings.beam]
        ]
        return tuple(found) or tuple(
            hypothesis(live.ids, live.score, False, vocabulary, self.sentence) for live in self.live
        )


def _ranking(scores: list[float], place: int, ids: list[int]) -> Iterator[tuple[float, int, int]]:
    return zip(map(neg, scores), repeat(place), ids, strict=False)


def ranked(score: float, length: int, settings: SearchSettings) -> float:
    """Return what hypotheses are compared by.

    >>> ranked(-6.0, 4, SearchSettings(length_penalty=0.5))
    -3.0
    """
    return float(score / length**settings.length_penalty)


def beam(
    model: Any,
    source: Source,
    vocabulary: Vocabulary,
    paths: Sequence[Path] | None,
    settings: SearchSettings,
) -> list[tuple[Hypothesis, ...]]:
    """Return the best hypotheses of each sentence."""
    everything = memory = model.encode(source)
    state = model.begin(memory)
    beams = [
        Beam(sentence, [Live((), 0.0, paths[row] if paths else None, row)])
        for row, sentence in enumerate(source.sentences)
    ]
    owners = list(range(len(beams)))
    tokens = torch.full((len(beams),), BEGIN, device=source.words.device)
    for _ in steps(settings, paths):
        scored, state = model.step(memory, state, tokens)
        _advance(beams, scored, settings)
        flat = [(place, live) for place, each in enumerate(beams) for live in each.live]
        if not flat:
            break
        rows = torch.tensor([live.row for _, live in flat], device=tokens.device)
        tokens = torch.tensor([live.ids[-1] for _, live in flat], device=tokens.device)
        state = take(state, rows)
        if owners != (now := [place for place, _ in flat]):
            owners, memory = now, _owned(everything, now)
        for row, (_, live) in enumerate(flat):
            live.row = row
    return [each.best(vocabulary, settings) for each in beams]


def _owned(memory: Tensors, owners: Sequence[int]) -> Tensors:
    return take(memory, torch.tensor(owners, device=memory[0].device))


def _advance(beams: Sequence[Beam], scored: torch.Tensor, settings: SearchSettings) -> None:
    """Take one step of all beams; rows of `scored` are their live hypotheses in order."""
    paths = [live.path for each in beams for live in each.live if live.path is not None]
    own = [live.score for each in beams for live in each.live]
    # One more than the beam, for an end is no hypothesis that goes on.
    values, ids = best_allowed(scored, paths, settings.beam + 1)
    values = values.double() + torch.tensor(own, dtype=torch.float64, device=values.device)[:, None]
    scores, names, first = values.tolist(), ids.tolist(), 0
    for each in beams:
        if each.live:
            last = first + len(each.live)
            each.advance(scores[first:last], names[first:last], settings)
            each.settle(settings)
            first = last
