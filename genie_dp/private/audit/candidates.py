"""The loss of every candidate of a template, exactly: their common beginnings are read once.

Candidates are a tree of ids. It is walked depth first in batches, each node by one step of the
model from the state of the one before; what is kept is a batch of states a level, whatever the
number of candidates. The ids behind the last slot and END follow in the same way.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.canaries import Canaries
from genie_dp.private.audit.scorer import Foreseeing
from genie_dp.private.audit.statistics import Floats
from genie_dp.private.generators.causal import State
from genie_dp.private.generators.encoded import Encoded

Places = npt.NDArray[np.int64]
# Candidates of a block; a run that stops goes on behind its last whole block.
BLOCK = 10_000
# States that are in memory at a time, on each level of the tree.
BATCH = 256


def losses_of(model: Any, rows: Sequence[Encoded], *, batch: int = BATCH) -> Floats:
    """Return (N,) losses in nats of rows that begin alike, each node of their tree read once.

    Args:
        model: a CausalLM in evaluation mode.
        rows: as the model reads them; all have the same prompt.
        batch: states in memory at a time, on each level.
    """
    prompt = rows[0].tokens[: rows[0].scored_from]
    if any(row.tokens[: row.scored_from] != prompt for row in rows):
        raise ValueError("expected candidates with one prompt")
    tree = _Tree([row.tokens[row.scored_from :] for row in rows])
    with torch.inference_mode():
        ids = torch.tensor([prompt], device=model.device)
        logits, state = model.start(ids, torch.tensor([len(prompt)], device=model.device))
        _walk(model, tree, _Nodes.root(len(rows)), logits, state, batch)
    return tree.losses()


class _Tree:
    """Rows of ids in lexicographic order, where a node of their tree is a range of rows.

    Attributes:
        ids: (N, T) sorted; -1 behind the end.
        lengths: (N,) ids of each.
        found: (N,) losses so far.
    """

    def __init__(self, rows: Sequence[Sequence[int]]):
        self.lengths = np.array([len(row) for row in rows])
        self.ids = np.full((len(rows), int(self.lengths.max())), -1, np.int64)
        for i, row in enumerate(rows):
            self.ids[i, : len(row)] = row
        self._order = np.lexsort(self.ids.T[::-1])
        self.ids, self.lengths = self.ids[self._order], self.lengths[self._order]
        self.found = np.zeros(len(rows))

    def losses(self) -> Floats:
        """Return what was found in the order in which the rows came."""
        out = np.empty_like(self.found)
        out[self._order] = self.found
        return out


@dataclass(frozen=True, slots=True)
class _Nodes:
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
    def root(cls, rows: int) -> "_Nodes":
        """Return the node of all rows."""
        return cls(np.zeros(1, np.int64), np.full(1, rows), np.zeros(1), 0)

    def below(self, tree: _Tree, scores: Floats) -> tuple["_Nodes", Places, Places]:
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
        tree.found[rows[ended]] = losses[child[ended]]
        # Shorter rows come first: what goes on is the rest of the range.
        more = np.bincount(child[~ended], minlength=len(ids))
        last = rows[np.append(np.flatnonzero(is_new)[1:], len(rows)) - 1] + 1
        goes = more > 0
        nodes = _Nodes((last - more)[goes], last[goes], losses[goes], self.depth + 1)
        return nodes, parent[goes], ids[goes]

    def part(self, first: int, last: int) -> "_Nodes":
        """Return some of them."""
        some = slice(first, last)
        return _Nodes(self.first[some], self.last[some], self.losses[some], self.depth)


def _walk(
    model: Any, tree: _Tree, nodes: _Nodes, logits: torch.Tensor, state: State, batch: int
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
    scorer: Foreseeing,
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
        listen: is told candidates done, and all.

    Raises:
        GenieError: a candidate is longer than what the model reads (N053).
    """
    size = canaries.template.size
    done = _done(work, size)
    parts = [done]
    for first in range(len(done), size, BLOCK):
        last = min(size, first + BLOCK)
        rows = [_whole(scorer.encoded(row), scorer) for row in canaries.candidates(first, last)]
        block = losses_of(scorer.model, rows if with_end else _without_end(rows), batch=batch)
        _append(work, block)
        parts.append(block)
        listen(last, size)
    return np.concatenate(parts)


def _whole(row: Encoded, scorer: Foreseeing) -> Encoded:
    if len(row.tokens) > scorer.model.longest:
        message = f"expected candidates of at most {scorer.model.longest} tokens, got more"
        raise GenieError(Problem("N053", message, hint="take a shorter template"))
    return row


def _without_end(rows: Sequence[Encoded]) -> list[Encoded]:
    return [Encoded(row.tokens[:-1], row.scored_from) for row in rows]


def _done(work: Path | None, size: int) -> Floats:
    """Return the losses of all whole blocks that are done."""
    if work is None or not work.exists():
        return np.zeros(0)
    found = np.fromfile(work, np.float64)
    whole = len(found) if len(found) == size else len(found) // BLOCK * BLOCK
    if whole * 8 < work.stat().st_size:
        with work.open("r+b") as file:
            file.truncate(whole * 8)
    return found[:whole]


def _append(work: Path | None, block: Floats) -> None:
    if work is not None:
        with work.open("ab") as file:
            block.tofile(file)
