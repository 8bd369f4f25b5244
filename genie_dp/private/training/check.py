"""Before a run: does the engine give this model's gradients, row by row?"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import nn

from genie_dp.errors import GenieError, Problem
from genie_dp.models.vocabulary import BEGIN, END, SPECIAL
from genie_dp.private.generators.models import collate
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.training.engines import PrivateOptimizer, count_rows, engine_of, row_gradients
from genie_dp.private.training.randomness import secure_bytes
from genie_dp.private.training.settings import CLIPS, DPSettings, EngineName

Collate = Callable[[Sequence[Any]], Any]
Sums = dict[str, torch.Tensor]

# Rows and tokens of the probes. They differ: a table without rows that is (T, T) looks like one row
# each where there are T rows (dp-stack: T5's relative positions are silently wrong then). And there
# are two, so that another axis of the model cannot be as long as both batches.
PROBES = ((3, 5), (5, 4))
# Float32: engines that are right were within 1e-5 of the loop (November 2026), wrong ones 2e-2 off.
TOLERANCE = 1e-3
_OTHER = "use the engine loop, or set the model's dropout to 0"
# What a model raises that an engine cannot take.
_REFUSALS = (RuntimeError, TypeError, ValueError, AttributeError, KeyError, IndexError)


def check_engine(model: Any, engine: EngineName, *, collate: Collate = collate) -> None:
    """Compare an engine with the loop on made-up rows; the model stays as it is.

    Two small batches, each with a bound that clips all rows and one that clips half of them, so
    that gradients and norms are looked at. The weights are moved a little for it: at adapters that
    start at zero all engines agree.

    Raises:
        GenieError: nothing is trained (Q021), the model keeps numbers of its batches (Q022), its
            losses are random or not one for each row (Q023), the engine cannot take the model
            (Q024), is wrong for it (Q025), or has weights of fewer than 32 bits (Q027).
    """
    trained = [p for p in model.parameters() if p.requires_grad]
    if not trained:
        message = "expected parameters to train, got a model where all are frozen"
        raise GenieError(Problem("Q021", message, hint="set requires_grad on some"))
    if coarse := sorted({str(p.dtype) for p in trained} - {"torch.float32", "torch.float64"}):
        # Norms of so few digits would let a clipped row be longer than it is paid for.
        message = f"expected weights of 32 bits, got {', '.join(coarse)}"
        raise GenieError(Problem("Q027", message, hint="call model.float() before"))
    batches = [_probe(model, b, t, collate).to(trained[0].device) for b, t in PROBES]
    with _move_weights(model, trained):
        _check_losses(model, batches[0])
        for batch in batches:
            norms = _norms(model, trained, batch)
            for clip in (norms[0] / 2, norms[len(norms) // 2]):
                _compare(model, engine, batch, min(max(clip, CLIPS[0]), CLIPS[1]))
    if any(_shares(model)):
        _try_dropout(model, engine, batches[0])


def _probe(model: Any, rows: int, tokens: int, collate: Collate) -> Any:
    """Return a batch of made-up rows of two lengths; the ids are in every table of the model."""
    sizes = [m.num_embeddings for m in model.modules() if isinstance(m, nn.Embedding)]
    ids = min((size for size in sizes if size >= 8), default=8)
    rng = np.random.default_rng(0)
    lengths = [tokens - 1 - i % 2 for i in range(rows)]
    words = [rng.integers(len(SPECIAL), ids, n).tolist() for n in lengths]
    # Words come twice, since the gradients of their places add up.
    probes = [(BEGIN, *row[:-1], row[0], END) for row in words]
    return collate([EncodedRow(row, scored_from=1 + i % 2) for i, row in enumerate(probes)])


@contextmanager
def _move_weights(model: Any, trained: list[Any]) -> Iterator[None]:
    """Train mode without dropout, and other weights, for a while."""
    weights_before = [p.detach().clone() for p in trained]
    modes = {module: module.training for module in model.modules()}
    shares = list(_shares(model))
    generator = torch.Generator().manual_seed(0)
    try:
        model.train()
        for module, name, _ in shares:
            setattr(module, name, 0.0)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            for p in trained:
                p += 0.02 * torch.randn(p.shape, generator=generator).to(p.device, p.dtype)
        yield
    finally:
        for module, name, share in shares:
            setattr(module, name, share)
        for module, mode in modes.items():
            module.training = mode
        with torch.no_grad():
            for p, weights in zip(trained, weights_before, strict=True):
                p.copy_(weights)
                p.grad = None


def _shares(model: Any) -> Iterator[tuple[Any, str, float]]:
    """Yield (module, attribute, value) of every share of activations that is dropped."""
    for module in model.modules():
        names = ("p",) if isinstance(module, nn.modules.dropout._DropoutNd) else _SHARES
        for name in names:
            share = module.__dict__.get(name)
            if isinstance(share, float) and share > 0:
                yield module, name, share


_SHARES = ("share", "dropout", "attention_dropout")


def _check_losses(model: Any, batch: Any) -> None:
    buffers = [(name, x, x.clone()) for name, x in model.named_buffers()]
    with _refuse_engine("loss"):
        first, second = model.loss(batch).detach(), model.loss(batch).detach()
    changed = [name for name, now, before in buffers if not torch.equal(now, before)]
    for _, now, before in buffers:
        now.copy_(before)
    if changed:
        message = (
            f"expected a model that keeps nothing of its batches, got a change of {changed[0]}"
        )
        hint = "such numbers leave without noise: use LayerNorm or GroupNorm, not batch norm"
        raise GenieError(Problem("Q022", message, hint=hint))
    if first.shape != (count_rows(batch),):
        shape = tuple(first.shape)
        message = f"expected a loss for each of {count_rows(batch)} rows, got the shape {shape}"
        raise GenieError(Problem("Q023", message, hint="sum over tokens, never over rows"))
    if not bool(first.isfinite().all()):
        message = "expected finite losses, got some that are no numbers"
        raise GenieError(Problem("Q023", message, hint="look at the model's weights"))
    if not torch.allclose(first, second, rtol=TOLERANCE):
        message = "expected the same losses of the same rows, got others the second time"
        raise GenieError(Problem("Q023", message, hint="set the model's dropout to 0"))


@contextmanager
def _refuse_engine(engine: str) -> Iterator[None]:
    """Turn an error of a model into a refusal; the rows are made up, so it may be shown."""
    try:
        yield
    except _REFUSALS as problem:
        first = (str(problem).splitlines() or [""])[0]
        message = f"{engine} cannot take this model: {type(problem).__name__}: {first}"
        raise GenieError(Problem("Q024", message, hint=_OTHER)) from problem


def _try_dropout(model: Any, engine: EngineName, batch: Any) -> None:
    """Raise errors of dropout now, which else the first step would raise, when all is paid."""
    training = model.training
    with torch.random.fork_rng(devices=[]), _refuse_engine(engine):
        clipped_sums(model.train(), engine, batch, 1.0)
    model.train(training)


def _norms(model: Any, trained: list[Any], batch: Any) -> list[float]:
    """Return the norms of the rows' gradients, smallest first."""
    rows = (row_gradients(model, trained, batch, i) for i in range(count_rows(batch)))
    return sorted(float(torch.stack([g.norm() for g in row]).norm()) for row in rows)


def _compare(model: Any, engine: EngineName, batch: Any, clip: float) -> None:
    right = clipped_sums(model, "loop", batch, clip)
    with _refuse_engine(engine):
        sums = clipped_sums(model, engine, batch, clip)
    for name, expected in right.items():
        away = float((sums[name] - expected).norm())
        if not away <= TOLERANCE * float(expected.norm()) + 1e-6 * clip * count_rows(batch):
            message = (
                f"the engine {engine} gives wrong gradients for {name}: "
                f"{away / clip:.2g} clipping norms from those of single rows"
            )
            raise GenieError(Problem("Q025", message, hint=_OTHER))


def clipped_sums(model: Any, engine: EngineName, batch: Any, clip: float) -> Sums:
    """Return the sum of a batch's clipped gradients by parameter, without any noise.

    It discloses single rows: for made-up rows and tests.
    """
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    plain = torch.optim.SGD(list(trained.values()), lr=0.0)
    settings = DPSettings(noise_multiplier=0.0, rate=1.0, steps=1, batch=1.0, clip=clip)
    optimizer = PrivateOptimizer(plain, settings, secure_bytes)
    private_engine = engine_of(engine, model, optimizer)
    try:
        optimizer.begin()
        private_engine.accumulate(batch)
        zeros = {n: torch.zeros_like(p) for n, p in trained.items()}
        return {n: zeros[n] if p.summed_grad is None else p.summed_grad for n, p in trained.items()}
    finally:
        optimizer.begin()
