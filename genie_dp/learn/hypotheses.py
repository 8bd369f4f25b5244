"""What searches look for, and what they share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from genie_dp.learn.constraint import Path, allowed_ids
from genie_dp.learn.vocabulary import END, Vocabulary


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
        longest: steps, the end included, after which a program is cut. Under a grammar it is
            brought to its end instead; grammars bound how many steps that takes.
        length_penalty: hypotheses are compared by log-probability / length^penalty; 0 compares
            probabilities, which suits programs: of two, the shorter is not the worse.
        margin: of a beam, hypotheses are given up that are so much worse, in nats, than one that
            has ended: threshold pruning (Freitag and Al-Onaizan, 2017), beside ended ones alone.
        floor: log-probability below which a program under a grammar is brought to its end, too.
    """

    beam: int = 1
    longest: int = 150
    length_penalty: float = 0.0
    margin: float = math.inf
    floor: float = -math.inf

    def __post_init__(self) -> None:
        """Refuse what no search can do."""
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
    scores: torch.Tensor, paths: Sequence[Path], most: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the best of what may be written next: log-probabilities, best first, and extended ids.

    Under a grammar only what it allows is looked at, which is a small part of all ids.

    Args:
        scores: (rows, P + S) log-probabilities of all extended ids, which are changed.
        paths: one for each row; none where there is no grammar.
        most: how many are wanted; where fewer may be written, the rest have minus infinity.
    """
    scores[:, :_SPECIAL] = -torch.inf
    if not paths:
        return _best(scores, most)
    ids = torch.from_numpy(allowed_ids(paths)).to(scores.device)
    values, places = _best(scores.gather(1, ids), most)
    return values, ids.gather(1, places)


def _best(scores: torch.Tensor, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    if most == 1:  # the same as below, and sooner
        values, places = scores.max(dim=1, keepdim=True)
    else:
        values, places = scores.topk(min(most, scores.shape[1]), dim=1)
    return values, places


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
