"""The running average of the weights, good at any moment of training."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from genie_dp.learn.module import Module


class Average:
    """Exponential moving average of the weights that are trained.

    It starts as a plain mean (decay (1 + step) / (10 + step)), so that it is usable from the first
    steps on (Tan and Le, 2019; reference implementation of TensorFlow).
    """

    def __init__(self, model: Module, decay: float = 0.999):
        """Start with the weights as they are."""
        self.decay = decay
        self.weights = {
            name: p.detach().clone() for name, p in model.named_parameters() if p.requires_grad
        }

    def update(self, model: Module, step: int) -> None:
        """Move towards the weights after a step."""
        decay = min(self.decay, (1 + step) / (10 + step))
        now = [p.detach() for _, p in model.named_parameters() if p.requires_grad]
        torch._foreach_lerp_(list(self.weights.values()), now, 1 - decay)

    @contextmanager
    def applied(self, model: Module) -> Iterator[None]:
        """Let the model have the averaged weights, in evaluation mode, for a while."""
        own = current(model)
        training = model.training
        put(model, self.weights)
        model.eval()
        try:
            yield
        finally:
            put(model, own)
            model.train(training)


def current(model: Module) -> dict[str, torch.Tensor]:
    """Return copies of the weights that are trained."""
    return {n: p.detach().clone() for n, p in model.named_parameters() if p.requires_grad}


def put(model: Module, weights: dict[str, torch.Tensor]) -> None:
    """Set weights of a model."""
    found = dict(model.named_parameters())
    with torch.no_grad():
        for name, value in weights.items():
            found[name].copy_(value)
