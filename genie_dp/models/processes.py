"""Several processes that train one model, started by torchrun: rank, world, sums."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

import torch
import torch.distributed as dist


@dataclass(frozen=True, slots=True)
class Group:
    """This process among those that train together; alone it is rank 0 of 1."""

    rank: int = 0
    world: int = 1

    def sum_gradients(
        self, parameters: Iterable[torch.nn.Parameter], *, loss: float, seconds: float
    ) -> tuple[float, float]:
        """Sum gradients and losses over processes in one message; return loss and mean seconds.

        Each process divides its losses by the tokens of the whole batch, so sums are those of one
        process alone. The seconds are made one, so that all end with the same step.
        """
        if self.world == 1:
            return loss, seconds
        trained = [p for p in parameters if p.requires_grad]
        flat = [(torch.zeros_like(p) if p.grad is None else p.grad).flatten() for p in trained]
        message = torch.cat([*flat, flat[0].new_tensor([loss, seconds / self.world])])
        dist.all_reduce(message)
        for p, part in zip(
            trained, message.split([*(p.numel() for p in trained), 2]), strict=False
        ):
            p.grad = part.view_as(p)
        return float(message[-2]), float(message[-1])

    def broadcast(self, value: float, device: torch.device) -> float:
        """Return the value of the first process."""
        if self.world == 1:
            return value
        message = torch.tensor([value], dtype=torch.float64, device=device)
        dist.broadcast(message, 0)
        return float(message)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            dist.barrier()


def join(device: str = "cpu") -> Group:
    """Return this process's place; with torchrun's variables set it joins the others first."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Group()
    if not dist.is_initialized():
        dist.init_process_group("nccl" if device.startswith("cuda") else "gloo")
    return Group(dist.get_rank(), world)
