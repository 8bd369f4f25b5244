"""From sentences to programs with a trained network."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import compress, repeat
from typing import Any

import torch

from genie_dp.learn.batches import Source, collate_sentences
from genie_dp.learn.beam import beam
from genie_dp.learn.constraint import Constraint, Path
from genie_dp.learn.hypotheses import (
    Hypothesis,
    SearchSettings,
    best_allowed,
    hypothesis,
    onward,
    steps,
)
from genie_dp.learn.seq2seq import take
from genie_dp.learn.vocabulary import BEGIN, END, Vocabulary

__all__ = ["Hypothesis", "SearchSettings", "greedy", "search"]


def search(
    model: Any,
    sentences: Sequence[tuple[str, ...]],
    vocabulary: Vocabulary,
    *,
    constraint: Constraint | None = None,
    settings: SearchSettings | None = None,
) -> list[tuple[Hypothesis, ...]]:
    """Return for each sentence its hypotheses, best first; one of them if the search is greedy.

    All sentences go through the network as one batch: sort and cut long lists first.

    Args:
        model: a Seq2Seq in evaluation mode.
        sentences: words of each sentence.
        vocabulary: the model's.
        constraint: what may be written; None for anything.
        settings: how to search.
    """
    chosen = settings or SearchSettings()
    if not sentences:
        return []
    device = next(model.parameters()).device
    source = collate_sentences(sentences, vocabulary).to(device)
    paths = constraint.begin(sentences) if constraint else None
    with torch.inference_mode():
        if chosen.beam > 1:
            return beam(model, source, vocabulary, paths, chosen)
        return [(found,) for found in greedy(model, source, vocabulary, paths, chosen)]


@dataclass(slots=True)
class Written:
    """What was written for a sentence so far; `ended` as in Hypothesis."""

    path: Path | None
    ids: list[int] = field(default_factory=list)
    score: float = 0.0
    ended: bool = False

    def takes(self, extended: int, score: float, settings: SearchSettings) -> bool:
        """Add a token, and tell whether the program goes on."""
        self.score += score
        if extended == END:
            self.ended = self.path is None or not self.path.is_closing
            return False
        self.ids.append(extended)
        if self.path:
            self.path = onward(self.path.then(extended), len(self.ids), self.score, settings)
        return True


def greedy(
    model: Any,
    source: Source,
    vocabulary: Vocabulary,
    paths: Sequence[Path] | None,
    settings: SearchSettings,
) -> list[Hypothesis]:
    """Return the hypothesis of each sentence that takes the best token at each step."""
    memory = model.encode(source)
    state = model.begin(memory)
    live = every = [Written(path) for path in paths or repeat(None, len(source.sentences))]
    tokens = torch.full((len(live),), BEGIN, device=source.words.device)
    for _ in steps(settings, paths):
        scored, state = model.step(memory, state, tokens)
        best, ids = best_allowed(scored, [one.path for one in live if one.path], 1)
        tokens = ids[:, 0]
        taken = zip(live, tokens.tolist(), best[:, 0].tolist(), strict=True)
        goes_on = [one.takes(extended, score, settings) for one, extended, score in taken]
        if not any(goes_on):
            break
        if not all(goes_on):
            live = list(compress(live, goes_on))
            where = torch.tensor(goes_on, device=tokens.device).nonzero()[:, 0]
            memory, state, tokens = take(memory, where), take(state, where), tokens[where]
    return [
        hypothesis(one.ids, one.score, one.ended, vocabulary, sentence)
        for one, sentence in zip(every, source.sentences, strict=True)
    ]
