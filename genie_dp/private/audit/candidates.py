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
import torch

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.canaries import Canaries
from genie_dp.private.audit.scorer import Foreseeing
from genie_dp.private.audit.statistics import Floats
from genie_dp.private.generators.causal import State
from genie_dp.private.generators.encoded import Encoded

# Candidates of a block; a run that stops goes on behind its last whole block.
BLOCK = 10_000
# States that are in memory at a time, on each level of the tree.
BATCH = 256


@dataclass(slots=True)
class _Node:
    """A place in the tree: the candidates that begin so, and how they go on.

    Attributes:
        ended: numbers of the candidates that end here.
        after: the next id -> the node behind it.
    """

    ended: list[int]
    after: "dict[int, _Node]"


def tree_of(rows: Sequence[Sequence[int]]) -> _Node:
    """Return the tree of rows of ids."""
    root = _Node([], {})
    for number, ids in enumerate(rows):
        node = root
        for index in ids:
            node = node.after.setdefault(index, _Node([], {}))
        node.ended.append(number)
    return root


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
    root = tree_of([row.tokens[row.scored_from :] for row in rows])
    found = np.zeros(len(rows))
    with torch.inference_mode():
        ids = torch.tensor([prompt], device=model.device)
        logits, state = model.start(ids, torch.tensor([len(prompt)], device=model.device))
        _walk(model, [root], [0.0], logits, state, found, batch)
    return found


def _walk(
    model: Any,
    nodes: Sequence[_Node],
    losses: Sequence[float],
    logits: torch.Tensor,
    state: State,
    found: Floats,
    batch: int,
) -> None:
    """Put the losses of all candidates below some nodes, whose states these are, into `found`."""
    scores = logits.float().log_softmax(1).double().cpu().numpy()
    steps = []
    for place, node in enumerate(nodes):
        for index, after in node.after.items():
            loss = losses[place] - float(scores[place, index])
            found[after.ended] = loss
            if after.after:
                steps.append((place, index, after, loss))
    for first in range(0, len(steps), batch):
        some = steps[first : first + batch]
        where = torch.tensor([place for place, *_ in some], device=logits.device)
        ids = torch.tensor([index for _, index, *_ in some], device=logits.device)
        next_logits, next_state = model.step(state.take(where), ids)
        below = [after for *_, after, _ in some]
        _walk(model, below, [loss for *_, loss in some], next_logits, next_state, found, batch)


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
