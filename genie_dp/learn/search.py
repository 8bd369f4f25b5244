"""From sentences to programs with a trained network: greedy search, and what all searches share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from genie_dp.learn.batches import Source, collate_sentences
from genie_dp.learn.constraint import NEVER, Constraint, Path, masks
from genie_dp.learn.seq2seq import take
from genie_dp.learn.vocabulary import BEGIN, END, Vocabulary


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A program that a search found.

    Attributes:
        tokens: the program.
        log_probability: natural logarithm of the model's probability of it; not renormalised over
            what a grammar allows, so that a program that the model did not want looks like one.
        ended: whether it has its end by itself, within the longest length; otherwise it was cut, or
            ended by its grammar.
    """

    tokens: tuple[str, ...]
    log_probability: float
    ended: bool = True


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """How to search.

    Attributes:
        beam: hypotheses kept; 1 is greedy search.
        longest: steps, the end included, after which a program is cut. Under a grammar it goes on
            to the next place where it may end instead; grammars bound their programs.
        length_penalty: hypotheses are compared by log-probability / length^penalty; 0 compares
            probabilities, which suits programs: of two, the shorter is not the worse.
    """

    beam: int = 1
    longest: int = 150
    length_penalty: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no search can do."""
        if self.beam < 1 or self.longest < 1 or self.length_penalty < 0:
            raise ValueError(f"beam, longest must be positive, length_penalty >= 0: {self}")


# Steps of a program under a grammar; more than grammars let it have (ThingTalk: 400 tokens).
BOUND = 2000


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
    from genie_dp.learn.beam import beam

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
            live = [live[place].then(ids[rows[place]][-1]) for place in kept]
        if len(kept) < len(rows):
            where = torch.tensor(kept, device=tokens.device)
            memory, state, tokens = take(memory, where), take(state, where), tokens[where]
            rows = [rows[place] for place in kept]
    return [
        hypothesis(ids[row], scores[row], ended[row], vocabulary, sentence)
        for row, sentence in enumerate(source.sentences)
    ]


def steps(settings: SearchSettings, paths: Sequence[Path] | None) -> range:
    """Return the steps that a search may take."""
    return range(max(BOUND, settings.longest) if paths else settings.longest)


def only_allowed(
    scores: torch.Tensor, paths: Sequence[Path] | None, *, closing: bool = False
) -> torch.Tensor:
    """Return (rows, P + S) log-probabilities, -inf for what may not be written."""
    if paths is None:
        scores[:, :NEVER] = -torch.inf
        return scores
    allowed = torch.from_numpy(masks(paths, scores.shape[1], closing=closing)).to(scores.device)
    return scores.masked_fill(~allowed, -torch.inf)


def hypothesis(
    ids: Sequence[int],
    score: float,
    ended: bool,
    vocabulary: Vocabulary,
    sentence: tuple[str, ...],
) -> Hypothesis:
    """Return ids as a program."""
    tokens = tuple(vocabulary.token(extended, sentence) for extended in ids)
    return Hypothesis(tokens, score, ended)
