"""Algorithm 1 of CRT: epochs of plain steps on public rows, then of noisy ones on private rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from genie_dp.private.generators.plans import OptimizerName, PublicSteps
from genie_dp.private.generators.pretraining import EncodedBatches
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.guard import Units
from genie_dp.private.training.run import PrivateRun, RunState, Spend
from genie_dp.private.training.settings import DPSettings
from genie_dp.records import Spent
from genie_dp.rng import child_seed

Listen = Callable[[Mapping[str, Any]], None]


class AlternatingRun:
    """Steps of both parts in their order. Without one of them it is plain training, or DP-SGD.

    A minibatch is of one part alone: if it held rows of both, every step would need the noise
    (appendix A.6, 6).
    """

    def __init__(
        self,
        model: Any,
        public: Sequence[EncodedRow],
        private: Units[Sequence[EncodedRow]],
        *,
        epochs: int,
        plain: PublicSteps,
        noisy: DPSettings | None,
        checkpoint_every: int = 100,
        listen: Listen | None = None,
    ):
        """Check the engine, and prepare; nothing is looked at.

        Args:
            model: has `loss(batch)`, (B,) nats; its weights are the starting point.
            public: encoded rows; none for DP-SGD alone.
            private: encoded rows by unit.
            epochs: how often both parts are gone through.
            plain: how public steps are taken.
            noisy: how private steps are; its steps are those of all epochs. None for no such steps.
            checkpoint_every: steps of either part between checkpoints.
            listen: is called with the step, and losses of public batches.

        Raises:
            GenieError: the engine cannot be used with the model (Q020 to Q025).
        """
        if epochs < 1 or (noisy is not None and noisy.steps % epochs):
            raise ValueError("expected at least one epoch, and as many private steps in each")
        self.model, self.plain, self.noisy, self.listen = model, plain, noisy, listen
        self.epochs, self.checkpoint_every = epochs, checkpoint_every
        self.trained = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self.batches = EncodedBatches(public, size=plain.batch, seed=plain.seed) if public else None
        self.optimizer = new_optimizer(plain.optimizer, list(self.trained.values()))
        self.private = None if noisy is None else self._private_run(model, private, noisy)
        if self.private is not None and plain.optimizer == "sgd":
            plain_sgd = new_optimizer("sgd", list(self.trained.values()))
            self.private.optimizer.original_optimizer = plain_sgd
        self.number = 0

    def _private_run(
        self, model: Any, private: Units[Sequence[EncodedRow]], noisy: DPSettings
    ) -> PrivateRun:
        return PrivateRun(model, private, noisy)

    @property
    def public_each(self) -> int:
        """Return the public batches of an epoch; rows that fill no batch wait for another one."""
        return 0 if self.batches is None else int(self.batches.per_epoch)

    @property
    def private_each(self) -> int:
        """Return the private steps of an epoch: such that a unit is drawn once on average."""
        return 0 if self.noisy is None else self.noisy.steps // self.epochs

    @property
    def steps(self) -> int:
        """Return the steps of the whole run."""
        return self.epochs * (self.public_each + self.private_each)

    def is_public(self, number: int) -> bool:
        """Return whether step `number` is one on public rows: the first of each epoch are."""
        return number % (self.public_each + self.private_each) < self.public_each

    def pay(self, spend: Spend) -> Spent | None:
        """Record all private steps; None where there are none."""
        return None if self.private is None else self.private.pay(spend)

    def step(self) -> float | None:
        """Take the next step; return the loss per token where it was on public rows."""
        loss = None
        if self.is_public(self.number):
            loss = self._public_step()
        else:
            assert self.private is not None
            self.private.step(self.private.draw())
        self.number += 1
        return loss

    def train(self, folder: Path | None = None, *, until: int | None = None) -> None:
        """Take the steps that are left, up to number `until`; checkpoints go into the folder."""
        while self.number < (self.steps if until is None else until):
            loss = self.step()
            last = self.number == self.steps
            if folder is not None and (last or self.number % self.checkpoint_every == 0):
                self.state.save(folder, self.number)
            if self.listen:
                event = {"step": self.number, "steps": self.steps}
                self.listen(event if loss is None else {**event, "loss": loss})
        self.model.eval()

    def _public_step(self) -> float:
        """Take one step of plain gradient descent on a batch of public rows."""
        assert self.batches is not None
        epoch, place = divmod(self.number, self.public_each + self.private_each)
        done = epoch * self.public_each + place
        batch, scored = self.batches.take(done)
        trained = list(self.trained.values())
        for p in trained:
            p.grad = None
        self.model.train()
        device = trained[0].device
        with torch.random.fork_rng([device.index or 0] if device.type == "cuda" else []):
            torch.manual_seed(child_seed(self.plain.seed, "public step", done) % 2**63)
            loss = self.model.loss(batch.to(device)).sum() / scored
            loss.backward()
        self.descend((done + 0.5) / (self.epochs * self.public_each))
        return float(loss.detach())

    def descend(self, progress: float) -> None:
        """Take a plain step along the gradients that are there, after a share of the run."""
        trained = list(self.trained.values())
        if self.plain.clip:
            torch.nn.utils.clip_grad_norm_(trained, self.plain.clip)
        for options in self.optimizer.param_groups:
            options["lr"] = self.plain.rate_at(progress)
        self.optimizer.step()
        for p in trained:
            p.grad = None

    @property
    def state(self) -> RunState:
        """Return the state for checkpoints: weights and both optimizers; no random state."""
        optimizers = {"public": self.optimizer}
        if self.private is not None:
            optimizers["private"] = self.private.optimizer.original_optimizer
        settings = {
            "epochs": self.epochs,
            "public": asdict(self.plain),
            "public rows": 0 if self.batches is None else len(self.batches.rows),
            "private": None if self.noisy is None else self.noisy.as_dict(),
        }
        return RunState(self.trained, optimizers, settings, code="O005")

    def resume(self, folder: Path) -> None:
        """Go on from the newest checkpoint of a folder, if there is one.

        Raises:
            GenieError: it is of another run (O005) or not the newest (Q031), or it cannot be read
                (M003).
        """
        self.number = self.state.restore(folder)
        if self.private is not None:
            whole, place = divmod(self.number, self.public_each + self.private_each)
            self.private.steps = whole * self.private_each + max(0, place - self.public_each)

    def close(self) -> None:
        """Take gradients of rows off the model."""
        if self.private is not None:
            self.private.close()


def new_optimizer(name: OptimizerName, trained: Sequence[Any]) -> Any:
    """Return an optimizer; its learning rate is set at each step."""
    if name == "sgd":
        return torch.optim.SGD(list(trained), lr=0.0)
    return torch.optim.AdamW(list(trained), lr=0.0, weight_decay=0.0, fused=True)
