"""What searches look for, and what they share."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from genie_dp.learn.constraint import NEVER, Path
from genie_dp.learn.vocabulary import Vocabulary


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


# Steps of a program under a grammar; more than grammars let it have (ThingTalk: 400 tokens).
BOUND = 2000


def steps(settings: SearchSettings, paths: Sequence[Path] | None) -> range:
    """Return the steps that a search may take."""
    return range(max(BOUND, settings.longest) if paths else settings.longest)


def onward(path: Path, length: int, score: float, settings: SearchSettings) -> Path:
    """Return a path, on its way to its end if it is too long or too unlikely."""
    is_lost = length >= settings.longest or score < settings.floor
    return path.closing() if is_lost else path


def only_allowed(scores: torch.Tensor, paths: Sequence[Path]) -> torch.Tensor:
    """Return the (rows, P + S) log-probabilities, now -inf for what may not be written.

    Args:
        paths: one for each row; none where there is no grammar.
    """
    if not paths:
        return without_special(scores)
    found = paths[0].constraint.forbidden(paths, scores.shape[1])
    return scores.masked_fill_(torch.from_numpy(found).to(scores.device), -torch.inf)


def without_special(scores: torch.Tensor) -> torch.Tensor:
    """Return the log-probabilities, now -inf for what no program holds."""
    scores[:, :NEVER] = -torch.inf
    return scores


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
