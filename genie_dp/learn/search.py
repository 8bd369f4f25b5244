"""From sentences to programs with a trained network."""

from collections.abc import Sequence
from typing import Any

import torch

from genie_dp.learn.batches import Source, collate_sentences
from genie_dp.learn.beam import beam
from genie_dp.learn.constraint import Constraint, Path
from genie_dp.learn.hypotheses import (
    Hypothesis,
    SearchSettings,
    hypothesis,
    only_allowed,
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
    paths = [constraint.begin(sentence) for sentence in sentences] if constraint else None
    with torch.inference_mode():
        if chosen.beam > 1:
            return beam(model, source, vocabulary, paths, chosen)
        return [(found,) for found in greedy(model, source, vocabulary, paths, chosen)]


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
    rows = list(range(len(source.sentences)))
    ids: list[list[int]] = [[] for _ in rows]
    scores = [0.0] * len(rows)
    ended = [False] * len(rows)
    live = list(paths) if paths else None
    tokens = torch.full((len(rows),), BEGIN, device=source.words.device)
    for step in steps(settings, paths):
        scored, state = model.step(memory, state, tokens)
        closing = step >= settings.longest
        best, tokens = only_allowed(scored, live, closing=closing).max(1)
        live = live and _after(live, tokens)
        kept = []
        for place, (score, extended) in enumerate(zip(best.tolist(), tokens.tolist(), strict=True)):
            scores[rows[place]] += score
            if extended == END:
                ended[rows[place]] = not closing
            else:
                ids[rows[place]].append(extended)
                kept.append(place)
        if not kept:
            break
        if live:
            live = [live[place] for place in kept]
        if len(kept) < len(rows):
            where = torch.tensor(kept, device=tokens.device)
            memory, state, tokens = take(memory, where), take(state, where), tokens[where]
            rows = [rows[place] for place in kept]
    return [
        hypothesis(ids[row], scores[row], ended[row], vocabulary, sentence)
        for row, sentence in enumerate(source.sentences)
    ]


def _after(paths: Sequence[Path], tokens: torch.Tensor) -> list[Path]:
    return [
        path if token == END else path.then(token)
        for path, token in zip(paths, tokens.tolist(), strict=True)
    ]
