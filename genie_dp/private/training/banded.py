"""Correlated noise of steps, so that less of it stays in the weights (DP-MF, DP-FTRL).

The release is C G + noise, of gradients G by step and a banded triangular matrix C with columns of
norm 1. Multiplied by C's inverse it is G plus noise of which a step takes back a part of what
earlier ones added (Choquette-Choo et al., 2023, "(Amplified) Banded Matrix Factorization").
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from genie_dp.private.training.settings import DPSettings


def workload(beta: float, rates: Sequence[float]) -> NDArray[np.float64]:
    """Return (steps, steps): the effect of a step's gradient on the weights after each step.

    It is that of descent with Adam's first average and the learning rates of the steps. The second
    average, which is of all steps, is taken for a constant.

    >>> workload(0.0, [1.0, 0.5]).tolist()
    [[1.0, 0.0], [1.0, 0.5]]
    """
    steps = np.arange(len(rates))
    ages = steps[:, None] - steps
    average = np.where(ages < 0, 0.0, (1 - beta) * beta ** np.maximum(ages, 0))
    average /= (1 - beta ** (steps + 1.0))[:, None]
    weights: NDArray[np.float64] = np.cumsum(np.array(rates)[:, None] * average, axis=0)
    return weights


def best_matrix(target: NDArray[np.float64], bands: int) -> NDArray[np.float64]:
    """Return C: triangular, of so many bands, with columns of norm 1.

    Among those it is the one of least noise in all weights, the norm of `target` times C's inverse.

    Args:
        target: (steps, steps), the workload.
        bands: numbers of a column that are not 0, at most.
    """
    goal = torch.from_numpy(target)
    steps = len(target)
    ages = (torch.arange(steps)[:, None] - torch.arange(steps)).double()
    below = ((ages > 0) & (ages < bands)).double()
    # The root of prefix sums falls about as fast (Fichtenberger et al., 2023).
    free = (below * 0.5 / ages.clamp(min=1).sqrt()).requires_grad_()

    def matrix() -> torch.Tensor:
        columns = torch.eye(steps, dtype=torch.float64) + free * below
        normed: torch.Tensor = columns / columns.norm(dim=0, keepdim=True)
        return normed

    search = torch.optim.LBFGS([free], max_iter=200, line_search_fn="strong_wolfe")

    def loss() -> torch.Tensor:
        search.zero_grad()
        noisy = torch.linalg.solve_triangular(matrix(), goal, upper=False, left=False)
        noise: torch.Tensor = noisy.square().sum().log()
        noise.backward()
        return noise

    threads = torch.get_num_threads()
    # Of more, each waits for the others in every small product: a hundred times as long.
    torch.set_num_threads(1)
    try:
        with torch.enable_grad():
            search.step(loss)
    finally:
        torch.set_num_threads(threads)
    best: NDArray[np.float64] = matrix().detach().numpy()
    return best


def noise_left(target: NDArray[np.float64], matrix: NDArray[np.float64]) -> float:
    """Return how much of the noise stays in all weights, compared with independent noise.

    >>> target = workload(0.0, [1.0] * 4)
    >>> [round(noise_left(target, matrix), 2) for matrix in (np.eye(4), best_matrix(target, 4))]
    [1.0, 0.83]
    """
    noisy = np.linalg.norm(target @ np.linalg.inv(matrix))
    return float(noisy / np.linalg.norm(target))


class BandedNoise:
    """Makes the noise of steps from independent noise, and the noise of the steps before.

    It is in no file: who reads it could take it away again. So a run that was interrupted begins
    with nothing to take back, as if C's columns ended there, which costs no more and gives away
    some of the gain.
    """

    def __init__(self, matrix: NDArray[np.float64], bands: int):
        """Begin a run, or go on with one.

        Args:
            matrix: C.
            bands: of it.
        """
        self.matrix, self.bands = matrix, bands
        self._before: dict[int, dict[int, torch.Tensor]] = {}

    def next(self, parameter: int, step: int, fresh: torch.Tensor) -> torch.Tensor:
        """Return the noise of a step: that C times the noise of all steps is the fresh ones.

        It is rounded to single precision, here, so that exactly the added noise is taken back
        later.

        Args:
            parameter: which weights it is for.
            step: its number.
            fresh: independent normal draws, in double precision.
        """
        before = self._before.setdefault(parameter, {})
        for earlier in [number for number in before if step - number >= self.bands]:
            del before[earlier]
        noise = fresh.clone()
        for earlier, added in before.items():
            noise -= float(self.matrix[step, earlier]) * added.double()
        before[step] = (noise / float(self.matrix[step, step])).float()
        return before[step].double()


def banded_noise(settings: DPSettings, rates: Sequence[float]) -> BandedNoise:
    """Return the noise of a run with these learning rates."""
    matrix = best_matrix(workload(settings.betas[0], rates), settings.bands)
    return BandedNoise(matrix, settings.bands)
