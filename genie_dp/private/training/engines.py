"""How the clipped gradients of rows are made: several ways to the same sum."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any, Protocol

import torch
from torch.func import functional_call, grad, vmap
from torch.nn.attention import SDPBackend, sdpa_kernel

from genie_dp.learn.module import Module
from genie_dp.private.training.opacus_engines import GhostEngine, HooksEngine
from genie_dp.private.training.optimizer import PrivateOptimizer
from genie_dp.private.training.rows import size_of, take, tensors_of
from genie_dp.private.training.settings import EngineName


class Engine(Protocol):
    """Adds clipped gradients of a batch's rows to the optimizer's sum."""

    def accumulate(self, batch: Any) -> None:
        """Add those of a batch of at least one row."""

    def close(self) -> None:
        """Leave the model as it was found."""


def engine_of(name: EngineName, model: Any, optimizer: PrivateOptimizer) -> Engine:
    """Return an engine for a model whose trained parameters the optimizer holds.

    Args:
        name: one of `settings.ENGINES`.
        model: has `loss(batch)`, (B,).
        optimizer: gets the gradients.
    """
    match name:
        case "vmap":
            return VmapEngine(model, optimizer)
        case "loop":
            return LoopEngine(model, optimizer)
        case "hooks":
            return HooksEngine(model, optimizer)
        case "ghost":
            return GhostEngine(model, optimizer)


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
    are right by construction. What branches on values of the batch raises.
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
            found = by_row(weights, tensors_of(batch))
        for name, gradients in found.items():
            self.trained[name].grad_sample = gradients
        self.optimizer.add_rows()

    def close(self) -> None:
        """Do nothing: the model was only called."""


def _attention(batch: Any) -> Any:
    """Return the kernel for attention: on CPUs the fused one would run row by row under vmap."""
    on_cpu = next(iter(tensors_of(batch).values())).device.type == "cpu"
    return sdpa_kernel(SDPBackend.MATH) if on_cpu else nullcontext()


class LoopEngine:
    """Takes the rows one by one, with nothing but autograd: what the others are compared with."""

    def __init__(self, model: Any, optimizer: PrivateOptimizer):
        """Keep the parameters that are trained."""
        self.model, self.optimizer = model, optimizer

    def accumulate(self, batch: Any) -> None:
        """Add the clipped gradients of a batch's rows."""
        trained = self.optimizer.params
        for i in range(size_of(batch)):
            for p, gradient in zip(
                trained, row_gradients(self.model, trained, batch, i), strict=True
            ):
                p.grad_sample = gradient[None]
            self.optimizer.add_rows()

    def close(self) -> None:
        """Do nothing: the model was only called."""


def row_gradients(model: Any, trained: list[Any], batch: Any, row: int) -> list[torch.Tensor]:
    """Return the gradients of one row's loss, of the row alone; zeros where it does not reach."""
    loss = model.loss(take(batch, slice(row, row + 1))).sum()
    found = torch.autograd.grad(loss, trained, allow_unused=True)
    return [torch.zeros_like(p) if g is None else g for p, g in zip(trained, found, strict=True)]
