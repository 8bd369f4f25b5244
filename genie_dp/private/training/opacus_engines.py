"""Engines made of Opacus' hooks: per-row gradients layer by layer, or only their norms."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from opacus.grad_sample import GradSampleHooks, GradSampleHooksFastGradientClipping

from genie_dp.private.training.optimizer import PrivateOptimizer, factors_of
from genie_dp.private.training.rows import take


class _Hooked:
    """A model with Opacus' hooks, which listen only while a batch is accumulated.

    Attributes:
        kind: the class of the hooks.
        hooks: of Opacus; the model itself stays as it is.
    """

    kind: Any

    def __init__(self, model: Any, optimizer: PrivateOptimizer):
        """Put the hooks on."""
        self.model, self.optimizer = model, optimizer
        try:
            self.hooks = self.kind(model, loss_reduction="sum")
        except NotImplementedError:
            # It stops half-way, and would not start again.
            for handle in model.__dict__.pop("autograd_grad_sample_hooks", ()):
                handle.remove()
            raise
        self.hooks.disable_hooks()

    def _listen(self) -> None:
        """Forget what a pass left that ended in an error, and listen.

        A norm that is not made afresh would be one of other rows.
        """
        for module in self.model.modules():
            module.__dict__.pop("activations", None)
            module.__dict__.pop("max_batch_len", None)
        for p in self.optimizer.params:
            p._forward_counter = 0
            for name in ("_current_grad_sample", "_norm_sample"):
                p.__dict__.pop(name, None)
        self.hooks.enable_hooks()

    def close(self) -> None:
        """Take the hooks off, with what they left on modules and parameters."""
        self._listen()
        self.hooks.cleanup()


class HooksEngine(_Hooked):
    """Per-row gradients by Opacus' samplers for each layer (`GradSampleHooks`)."""

    kind = GradSampleHooks

    def accumulate(self, batch: Any) -> None:
        """Add the clipped gradients of a batch's rows."""
        self._listen()
        with _quiet():
            self.model.loss(batch).sum().backward()
        self.hooks.disable_hooks()
        self.optimizer.add_rows()


class GhostEngine(_Hooked):
    """Norms first, then one backward pass of the reweighted loss: ghost clipping.

    No per-row gradient of a matrix is ever made (Li et al., 2022, section 4).
    """

    kind = GradSampleHooksFastGradientClipping

    def accumulate(self, batch: Any) -> None:
        """Add the clipped gradients of a batch's rows."""
        self._listen()
        losses = self.model.loss(batch)
        with _quiet():
            losses.sum().backward(retain_graph=True)
        self.hooks.disable_hooks()
        factors = factors_of(self.hooks.get_norm_sample(), self.optimizer.max_grad_norm)
        self.optimizer.original_optimizer.zero_grad(set_to_none=True)
        finite = factors > 0
        if bool(finite.all()):
            with _quiet():
                (factors.detach() * losses).sum().backward()
            self.optimizer.add_sum()
        elif bool(finite.any()):
            # Zero times a gradient that is not finite is not a number: these rows must go.
            self.accumulate(take(batch, finite))


@contextmanager
def _quiet() -> Iterator[None]:
    """Leave out what torch says of hooks on embeddings: ids have no gradients."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Full backward hook is firing", UserWarning)
        yield
