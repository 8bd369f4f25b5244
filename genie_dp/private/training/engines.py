"""One step of DP-SGD: clipped gradients of rows, made in several ways to the same sum, and noise.

The optimizer clips sums, adds noise and divides by the expected batch. Engines hand in gradients:
row by row, or by vmap.
"""

from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any, Protocol

import torch
from opacus.optimizers.optimizer import DPOptimizer, _check_processed_flag, _mark_as_processed
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from genie_dp.models.layers import Module
from genie_dp.private.training.banded import BandedNoise
from genie_dp.private.training.randomness import Bytes, gaussian
from genie_dp.private.training.settings import DPSettings, EngineName


def tensors_of(batch: Any) -> dict[str, torch.Tensor]:
    """Return the tensors of a batch, each (B, ..), by their names."""
    return {f.name: getattr(batch, f.name) for f in fields(batch)}


def take_rows(batch: Any, rows: Any) -> Any:
    """Return the batch of some of its rows, by a slice or a mask."""
    return replace(batch, **{name: x[rows] for name, x in tensors_of(batch).items()})


def count_rows(batch: Any) -> int:
    """Return how many rows a batch has."""
    return len(next(iter(tensors_of(batch).values())))


# What Opacus adds to a norm before it divides by it; the clipped norm stays below the bound.
_TINY = 1e-6
# Weights whose squares are added up in single precision.
_PIECE = 512


class PrivateOptimizer(DPOptimizer):  # type: ignore[misc]
    """Opacus' optimizer with noise of a cryptographic generator, safe against infinite gradients.

    Engines call `add_rows` as often as a batch has chunks; `finish` takes the step. The sum over
    the batch never moves by more than `clip` when a row comes or goes.
    """

    def __init__(
        self,
        optimizer: Any,
        settings: DPSettings,
        draw: Bytes,
        banded: BandedNoise | None = None,
    ):
        """Wrap an optimizer.

        Args:
            optimizer: AdamW, or any other of torch.
            settings: noise, clipping norm, expected batch.
            draw: where the bytes of the noise come from.
            banded: lets the noise of a step hang together with that of earlier ones.
        """
        super().__init__(
            optimizer,
            noise_multiplier=settings.noise_multiplier,
            max_grad_norm=settings.clip,
            expected_batch_size=settings.batch,
        )
        self.draw, self.banded = draw, banded
        self.number = 0

    def begin(self) -> None:
        """Forget the state of an unfinished step, and gradients of others."""
        self._step_skip_queue.clear()
        self._is_last_step_skipped = False
        for p in self.params:
            p.grad, p.grad_sample, p.summed_grad = None, None, None

    def add_rows(self) -> None:
        """Clip the gradients of rows, (B, ..) in `p.grad_sample`, and add them to the sum."""
        self.signal_skip_step()
        self.step()
        self.zero_grad(set_to_none=True)

    def finish(self, number: int) -> None:
        """Add noise to the sum and take step `number`; without any rows it is noise alone."""
        self.number = number
        for p in self.params:
            p.grad_sample = p.new_zeros((0, *p.shape))
        self.step()
        self.zero_grad(set_to_none=True)

    def clip_and_accumulate(self) -> None:
        """Add clipped gradients to `p.summed_grad`.

        As in Opacus, but a row whose gradient is not finite counts as zero: there, one such row
        makes the whole sum, and so the model, not a number, which nothing of the noise hides.
        """
        factors = clip_factors(self.grad_samples, self.max_grad_norm)
        finite = bool((factors > 0).all())
        # All first: the two biases of an LSTM have one tensor of gradients.
        for p in self.params:
            _check_processed_flag(p.grad_sample)
        for p in self.params:
            gradients = self._get_flat_grad_sample(p).to(p.dtype)
            if not finite:
                gradients = gradients.nan_to_num(0.0, 0.0, 0.0)
            total = torch.einsum("i,i...", factors.to(p.device, p.dtype), gradients)
            p.summed_grad = total if p.summed_grad is None else p.summed_grad.add_(total)
            _mark_as_processed(p.grad_sample)

    def add_noise(self) -> None:
        """Put the noisy sum into `p.grad`; it is added in double precision and then rounded."""
        std = self.noise_multiplier * self.max_grad_norm
        for i, p in enumerate(self.params):
            _check_processed_flag(p.summed_grad)
            noise = gaussian(self.draw, p.numel(), f"noise:{i}", self.number)
            if self.banded is not None:
                noise = self.banded.next(i, self.number, noise)
            noise = noise.view(p.shape).to(p.device)
            p.grad = noise.mul_(std).add_(p.summed_grad).to(p.dtype)
            _mark_as_processed(p.summed_grad)


def clip_factors(gradients: list[torch.Tensor], clip: float) -> torch.Tensor:
    """Return (B,): the factors of rows by which no norm is above `clip`.

    It is 0 where a row's gradient is not finite.

    Args:
        gradients: (B, ..) of each parameter.
        clip: the largest norm.
    """
    parts = [row_norms(g) for g in gradients if len(g)]
    if not parts:
        return gradients[0].new_zeros(0)
    return factors_of(
        torch.stack([part.to(parts[0].device) for part in parts], 1).norm(2, dim=1), clip
    )


def row_norms(gradients: torch.Tensor) -> torch.Tensor:
    """Return (B,): the norms of (B, ..), in double precision, right to 1e-5 whatever the size.

    On CPUs torch adds up squares in single precision, one after the other: terms that are small
    beside the sum so far are lost, and norms come out too small, so that rows would be clipped too
    little (by 0.04 % at 1M weights, 0.5 % at 17M; November 2026). Norms of short pieces have no
    such sums.
    """
    rows = gradients.reshape(len(gradients), gradients[:1].numel() or 1)
    whole = rows.shape[1] // _PIECE
    pieces = rows[:, : whole * _PIECE].reshape(len(rows), whole, _PIECE)
    rest = rows[:, whole * _PIECE :]
    norms = (pieces.norm(2, dim=2), rest.norm(2, dim=1, keepdim=True))
    return torch.cat(norms, 1).double().norm(2, dim=1)


def factors_of(norms: torch.Tensor, clip: float) -> torch.Tensor:
    """Return the factors of norms (B,); 0 for norms that are not finite.

    >>> factors_of(torch.tensor([0.5, 4.0, float("nan"), float("inf")]), 1.0).tolist()
    [1.0, 0.24999..., 0.0, 0.0]
    """
    factors = (clip / (norms + _TINY)).clamp(max=1.0)
    return torch.where(norms.isfinite(), factors, torch.zeros_like(factors))


# ------------------------------------------------------------------------------------ engines


class GradientEngine(Protocol):
    """Adds clipped gradients of a batch's rows to the optimizer's sum."""

    def accumulate(self, batch: Any) -> None:
        """Add those of a batch of at least one row."""


def engine_of(name: EngineName, model: Any, optimizer: PrivateOptimizer) -> GradientEngine:
    """Return an engine for a model whose trained parameters the optimizer holds.

    Args:
        name: one of `settings.ENGINES`.
        model: has `loss(batch)`, (B,).
        optimizer: gets the gradients.
    """
    kind = VmapEngine if name == "vmap" else LoopEngine
    return kind(model, optimizer)


class _Losses(Module):
    """Lets `functional_call` reach a model's `loss`."""

    def __init__(self, model: Any):
        super().__init__()
        self.model = model

    def forward(self, batch: Any) -> torch.Tensor:
        return self.model.loss(batch)


class VmapEngine:
    """Differentiates the whole model, vectorised over rows (torch.func).

    Nothing needs to be known of its layers: tied weights, position tables without rows and LSTMs
    are right by construction. Models that branch on values of the batch raise an error.
    """

    def __init__(self, model: Any, optimizer: PrivateOptimizer):
        """Keep the parameters that are trained; others get no per-row gradients."""
        self.losses, self.optimizer = _Losses(model), optimizer
        self.trained = {n: p for n, p in self.losses.named_parameters() if p.requires_grad}

    def accumulate(self, batch: Any) -> None:
        """Add the clipped gradients of a batch's rows."""

        def loss(weights: dict[str, torch.Tensor], row: dict[str, torch.Tensor]) -> torch.Tensor:
            alone = replace(batch, **{name: x[None] for name, x in row.items()})
            # Tied parameters have one name here; all their places get the same tensor.
            return functional_call(self.losses, weights, (alone,)).sum()

        weights = {name: p.detach() for name, p in self.trained.items()}
        # Dropout is drawn for each row.
        by_row = vmap(grad(loss), in_dims=(None, 0), randomness="different")
        with _attention(batch):
            by_name = by_row(weights, tensors_of(batch))
        for name, gradients in by_name.items():
            self.trained[name].grad_sample = gradients
        self.optimizer.add_rows()


def _attention(batch: Any) -> Any:
    """Return the kernel for attention: on CPUs the fused one would run row by row under vmap."""
    on_cpu = next(iter(tensors_of(batch).values())).device.type == "cpu"
    return sdpa_kernel(SDPBackend.MATH) if on_cpu else nullcontext()


class LoopEngine:
    """Takes the rows one by one, with nothing but autograd: the reference for the others."""

    def __init__(self, model: Any, optimizer: PrivateOptimizer):
        self.model, self.optimizer = model, optimizer

    def accumulate(self, batch: Any) -> None:
        """Add the clipped gradients of a batch's rows."""
        trained = self.optimizer.params
        for i in range(count_rows(batch)):
            for p, gradient in zip(
                trained, row_gradients(self.model, trained, batch, i), strict=True
            ):
                p.grad_sample = gradient[None]
            self.optimizer.add_rows()


def row_gradients(model: Any, trained: list[Any], batch: Any, row: int) -> list[torch.Tensor]:
    """Return the gradients of one row's loss, of the row alone; zeros where it does not reach."""
    loss = model.loss(take_rows(batch, slice(row, row + 1))).sum()
    gradients = torch.autograd.grad(loss, trained, allow_unused=True)
    return [
        torch.zeros_like(p) if g is None else g for p, g in zip(trained, gradients, strict=True)
    ]
