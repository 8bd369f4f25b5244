"""Exposure of canaries: by their exact rank among all candidates, and by extrapolation.

Carlini et al., "The Secret Sharer" (2019), section 4: exposure = log2 |R| - log2 rank. A rank shows
nothing beyond log2 |R|; the extrapolation (section 4.3) fits a skew-normal distribution to the
log-perplexities of some candidates and takes its tail: exposure = -log2 Pr[X <= the canary's].

The loss of every candidate is exact. Candidates are a tree of ids, whose common beginnings are read
once: it is walked depth first in batches, each node by one step of the model from the state of the
one before. A batch of states is kept for each level, whatever the number of candidates. The ids
behind the last slot and END follow in the same way.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.canaries import Canaries
from genie_dp.private.audit.models import StepwiseScorer
from genie_dp.private.audit.statistics import LEVEL, Floats, bootstrap, lower_bound, scipy_stats
from genie_dp.private.generators.models import DecoderState
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.rng import child_seed

Counts = npt.NDArray[np.int64]
# Candidates that the skew-normal distribution is fitted to.
SAMPLE = 10_000
# Smaller chances are no doubles, and so no numbers in JSON.
_MOST_BITS = 1074.0
# Ranks, as shares of the space, at which canaries are counted for a bound of epsilon. They are
# chosen before looking, and the level is divided by how many they are.
SHARES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)


@dataclass(frozen=True, slots=True)
class Exposure:
    """One canary.

    Attributes:
        rank: among all candidates, from 1; candidates that are as likely share their mean rank.
        size: of the candidates.
        extrapolated: exposure by the fitted distribution.
        ties: other candidates that are as likely.
    """

    rank: float
    size: int
    extrapolated: float
    ties: int = 0

    @property
    def last_rank(self) -> float:
        """Return the rank behind all candidates that are as likely: the one a bound may rely on."""
        return self.rank + self.ties / 2

    @property
    def bits(self) -> float:
        """Return the exposure.

        >>> round(Exposure(1, 1_000_000, 0.0).bits, 2)
        19.93
        """
        return math.log2(self.size) - math.log2(self.rank)


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """The distribution of candidates' losses that was fitted, and how far it is from them."""

    shape: float
    location: float
    scale: float
    distance: float

    def bits(self, loss: float) -> float:
        """Return the exposure of a loss."""
        tail = scipy_stats().skewnorm.logcdf(loss, self.shape, self.location, self.scale)
        return min(_MOST_BITS, -float(tail) / math.log(2))


def rank_candidates(losses: Floats, places: Sequence[int]) -> list[float]:
    """Return the rank of some candidates among all, the mean one of those that are as likely.

    Args:
        losses: (N,) of all candidates.
        places: the numbers of those that are asked for.

    >>> rank_candidates(np.array([3.0, 1.0, 2.0, 2.0]), [1, 2, 0])
    [1.0, 2.5, 4.0]
    """
    less, equal = _count_likelier(losses, places)
    return [float(rank) for rank in less + (equal + 1) / 2]


def _count_likelier(losses: Floats, places: Sequence[int]) -> tuple[Counts, Counts]:
    """Return for some candidates how many are likelier, and how many as likely, itself one."""
    ordered = np.sort(losses)
    chosen = losses[list(places)]
    less = np.searchsorted(ordered, chosen, side="left")
    return less, np.searchsorted(ordered, chosen, side="right") - less


def fit_losses(losses: Floats, places: Sequence[int], *, seed: int = 0) -> LossDistribution:
    """Return the distribution of a sample of the candidates, canaries left out."""
    stats = scipy_stats()
    others = np.delete(losses, list(places))
    if not len(others):  # every candidate is a canary
        others = losses
    rng = np.random.default_rng(child_seed(seed, "audit", "skew"))
    if len(others) > SAMPLE:
        others = rng.choice(others, SAMPLE, replace=False)
    if np.ptp(others) < 1e-9:
        # All are as likely: a point, which no distribution with a shape can be fitted to.
        return LossDistribution(0.0, float(others[0]), 1e-9, 0.0)
    start = {"loc": float(others.mean()), "scale": float(others.std())}
    shape, location, scale = map(float, stats.skewnorm.fit(others, **start))
    distance = float(stats.kstest(others, "skewnorm", (shape, location, scale)).statistic)
    return LossDistribution(shape, location, scale, distance)


def measure_exposures(
    losses: Floats, places: Sequence[int], fit: LossDistribution
) -> list[Exposure]:
    """Return the exposure of each canary."""
    _, equal = _count_likelier(losses, places)
    return [
        Exposure(rank, len(losses), fit.bits(float(losses[place])), int(alike) - 1)
        for rank, place, alike in zip(rank_candidates(losses, places), places, equal, strict=True)
    ]


def describe_exposures(
    exposures: Sequence[Exposure], fit: LossDistribution, *, seed: int = 0, level: float = LEVEL
) -> dict[str, Any]:
    """Return the figures of canaries: highest (the paper's figure 3) and mean, with intervals."""
    bits = np.array([exposure.bits for exposure in exposures])
    extrapolated = np.array([exposure.extrapolated for exposure in exposures])
    return {
        "canaries": len(exposures),
        "candidates": exposures[0].size,
        "most": math.log2(exposures[0].size),
        "highest": float(bits.max()),
        "mean": bootstrap([bits], np.mean, name="exposure", seed=seed, level=level),
        "extrapolated": {
            "highest": float(extrapolated.max()),
            "mean": bootstrap([extrapolated], np.mean, name="extrapolated", seed=seed, level=level),
            "distance": fit.distance,
        },
        "each": [
            {
                "rank": exposure.rank,
                "exposure": exposure.bits,
                "extrapolated": exposure.extrapolated,
            }
            for exposure in exposures
        ],
    }


def bound_by_ranks(
    exposures: Sequence[Exposure], delta: float, *, alpha: float = 1 - LEVEL
) -> float:
    """Return the least epsilon, for all copies of a canary together, that ranks prove.

    Without the canary its rank is uniform over the ranks that the others left, since it was drawn
    so: the chance of one of the k first is at most k / (size - others), if of those that are as
    likely the last rank counts. So epsilon is at least ln((TPR - delta) / that), with the lower
    bound of Clopper and Pearson for TPR.

    >>> ten = [Exposure(1, 10**6, 0.0)] * 10
    >>> round(bound_by_ranks(ten, 0.0), 2)
    13.34
    """
    best = 0.0
    size = exposures[0].size
    rest = size - len(exposures) + 1
    for part in SHARES:
        within = math.floor(part * size)
        if within < 1:
            continue
        hits = sum(exposure.last_rank <= within for exposure in exposures)
        rate = float(lower_bound(hits, len(exposures), alpha / len(SHARES)))
        if rate > delta:
            best = max(best, math.log((rate - delta) / min(1.0, within / rest)))
    return best


def most_by_ranks(count: int, size: int, delta: float, *, alpha: float = 1 - LEVEL) -> float:
    """Return the `group_bound` of canaries that have the first ranks: none proves more.

    >>> round(most_by_ranks(10, 10**6, 0.0), 2)
    11.03
    """
    first = [Exposure(rank, size, 0.0) for rank in range(1, count + 1)]
    return bound_by_ranks(first, delta, alpha=alpha)


Places = npt.NDArray[np.int64]
# Candidates of a block; a run that stops goes on behind its last whole block.
BLOCK = 10_000
# States that are in memory at a time, on each level of the tree.
BATCH = 256


def tree_losses(model: Any, rows: Sequence[EncodedRow], *, batch: int = BATCH) -> Floats:
    """Return (N,) losses in nats of rows that begin alike, each node of their tree read once.

    Args:
        model: a CausalLM in evaluation mode.
        rows: as the model reads them; all have the same prompt.
        batch: states in memory at a time, on each level.
    """
    prompt = rows[0].tokens[: rows[0].scored_from]
    if any(row.tokens[: row.scored_from] != prompt for row in rows):
        raise ValueError("expected candidates with one prompt")
    tree = _CandidateTree([row.tokens[row.scored_from :] for row in rows])
    with torch.inference_mode():
        ids = torch.tensor([prompt], device=model.device)
        logits, state = model.start(ids, torch.tensor([len(prompt)], device=model.device))
        _walk(model, tree, _TreeNodes.root(len(rows)), logits, state, batch)
    return tree.losses_by_row()


class _CandidateTree:
    """Rows of ids in lexicographic order, where a node of their tree is a range of rows.

    Attributes:
        ids: (N, T) sorted; -1 behind the end.
        lengths: (N,) ids of each.
        losses: (N,) so far, in that order.
    """

    def __init__(self, rows: Sequence[Sequence[int]]):
        self.lengths = np.array([len(row) for row in rows])
        self.ids = np.full((len(rows), int(self.lengths.max())), -1, np.int64)
        for i, row in enumerate(rows):
            self.ids[i, : len(row)] = row
        self._order = np.lexsort(self.ids.T[::-1])
        self.ids, self.lengths = self.ids[self._order], self.lengths[self._order]
        self.losses = np.zeros(len(rows))

    def losses_by_row(self) -> Floats:
        """Return the losses in the order in which the rows came."""
        out = np.empty_like(self.losses)
        out[self._order] = self.losses
        return out


@dataclass(frozen=True, slots=True)
class _TreeNodes:
    """M nodes of a tree, all at one depth: those whose states are in memory.

    Attributes:
        first, last: (M,) their rows, `last` exclusive; those that end here are not among them.
        losses: (M,) in nats, up to here.
        depth: ids read.
    """

    first: Places
    last: Places
    losses: Floats
    depth: int

    @classmethod
    def root(cls, rows: int) -> "_TreeNodes":
        return cls(np.zeros(1, np.int64), np.full(1, rows), np.zeros(1), 0)

    def below(self, tree: _CandidateTree, scores: Floats) -> tuple["_TreeNodes", Places, Places]:
        """Return the nodes that go on behind these, whose rows they follow, and by which id.

        Losses of rows that end with that id are put into the tree.

        Args:
            tree: of these nodes.
            scores: (M, V) log-probabilities of the next id.
        """
        counts = self.last - self.first
        parent = np.repeat(np.arange(len(counts)), counts)
        start = np.repeat(self.first - np.cumsum(counts) + counts, counts)
        rows = start + np.arange(int(counts.sum()))
        ids = tree.ids[rows, self.depth]
        is_new = np.ones(len(rows), bool)
        is_new[1:] = (ids[1:] != ids[:-1]) | (parent[1:] != parent[:-1])
        child = np.cumsum(is_new) - 1
        parent, ids = parent[is_new], ids[is_new]
        losses = self.losses[parent] - scores[parent, ids]
        ended = tree.lengths[rows] == self.depth + 1
        tree.losses[rows[ended]] = losses[child[ended]]
        # Shorter rows come first: what goes on is the rest of the range.
        more = np.bincount(child[~ended], minlength=len(ids))
        last = rows[np.append(np.flatnonzero(is_new)[1:], len(rows)) - 1] + 1
        goes = more > 0
        nodes = _TreeNodes((last - more)[goes], last[goes], losses[goes], self.depth + 1)
        return nodes, parent[goes], ids[goes]

    def part(self, first: int, last: int) -> "_TreeNodes":
        some = slice(first, last)
        return _TreeNodes(self.first[some], self.last[some], self.losses[some], self.depth)


def _walk(
    model: Any,
    tree: _CandidateTree,
    nodes: _TreeNodes,
    logits: torch.Tensor,
    state: DecoderState,
    batch: int,
) -> None:
    """Find the losses of all rows below some nodes, whose states these are."""
    scores = logits.float().log_softmax(1).double().cpu().numpy()
    after, parent, ids = nodes.below(tree, scores)
    for first in range(0, len(ids), batch):
        some = slice(first, first + batch)
        where = torch.from_numpy(parent[some]).to(logits.device)
        tokens = torch.from_numpy(ids[some]).to(logits.device)
        following, further = model.step(state.take(where), tokens)
        _walk(model, tree, after.part(first, first + batch), following, further, batch)


def candidate_losses(
    scorer: StepwiseScorer,
    canaries: Canaries,
    *,
    work: Path | None = None,
    batch: int = BATCH,
    with_end: bool = False,
    listen: Callable[[int, int], None] = lambda done, of: None,
) -> Floats:
    """Return (N,) losses in nats of all candidates of a template.

    END is left out unless asked for: no candidate begins another one, so that nothing is counted
    twice without it, and where slots are digits it takes ten times as many steps as all the rest.

    Args:
        scorer: the model.
        canaries: whose template.
        work: a file where the blocks done so far lie; an interrupted run goes on from it.
        batch: states in memory at a time, on each level of the tree.
        with_end: whether END counts.
        listen: is called with the numbers of candidates done, and of all.

    Raises:
        GenieError: a candidate is longer than the model's context (N053), or there are too many of
            them (N051).
    """
    canaries.template.check_ranked()
    size = canaries.template.size
    done = _read_blocks(work, size)
    parts = [done]
    for first in range(len(done), size, BLOCK):
        last = min(size, first + BLOCK)
        rows = [scorer.encode(row) for row in canaries.candidates(first, last)]
        if any(len(row.tokens) > scorer.model.longest for row in rows):
            message = f"expected candidates of at most {scorer.model.longest} tokens, got more"
            raise GenieError(Problem("N053", message, hint="take a shorter template"))
        if not with_end:
            rows = [EncodedRow(row.tokens[:-1], row.scored_from) for row in rows]
        block = tree_losses(scorer.model, rows, batch=batch)
        if work is not None:
            with work.open("ab") as file:
                block.tofile(file)
        parts.append(block)
        listen(last, size)
    return np.concatenate(parts)


def _read_blocks(work: Path | None, size: int) -> Floats:
    """Return the losses of all whole blocks that are done."""
    if work is None or not work.exists():
        return np.zeros(0)
    losses = np.fromfile(work, np.float64)
    whole = len(losses) if len(losses) == size else len(losses) // BLOCK * BLOCK
    if whole * 8 < work.stat().st_size:
        with work.open("r+b") as file:
            file.truncate(whole * 8)
    return losses[:whole]
