"""Likelihood-ratio membership inference with shadow models (LiRA; Carlini et al., 2022).

Shadow models are trained as the audited one, on other rows. With shadows that learned from the row
and ones that did not, a row's loss is compared with both (algorithm 1); without the former, with
those alone (section VI-A). Deviations are those of all rows together, which is better than a row's
own with fewer than 64 shadows (section V-D).
"""

from collections.abc import Sequence

import numpy as np

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.statistics import Floats

_LEAST = 1e-6


def scores(losses: Sequence[float], shadows: Floats, learned: Floats) -> tuple[Floats, bool]:
    """Return scores of rows, and whether shadows that learned from them were used.

    Args:
        losses: (N,) under the audited model.
        shadows: (S, N) under each shadow model.
        learned: (S, N) 1 where a shadow learned from the row, else 0.

    Raises:
        GenieError: a row is in all shadows, or there are fewer than two shadows (N055).
    """
    inside = learned.astype(bool)
    if len(shadows) < 2 or inside.all(0).any():
        message = "expected two shadow models or more, and for each row one that has not seen it"
        raise GenieError(Problem("N055", message, hint="train shadows on other halves of the rows"))
    here = np.asarray(losses, float)
    out_mean, out_deviation = _fitted(shadows, ~inside)
    if not inside.any(0).all():
        # One-sided: how far below what models without the row say.
        return (out_mean - here) / (out_deviation or 1.0), False
    in_mean, in_deviation = _fitted(shadows, inside)
    # With one shadow a row, a side says nothing of deviations: the other's stands for it.
    in_deviation, out_deviation = in_deviation or out_deviation, out_deviation or in_deviation
    if not in_deviation:
        in_deviation = out_deviation = 1.0
    return _log_density(here, in_mean, in_deviation) - _log_density(
        here, out_mean, out_deviation
    ), True


def _fitted(shadows: Floats, chosen: Floats) -> tuple[Floats, float]:
    """Return the mean of each row over chosen shadows, and the deviation over all rows.

    The deviation is 0 where no row has two of them to tell it by.
    """
    counts = chosen.sum(0)
    mean = np.where(chosen, shadows, 0.0).sum(0) / counts
    squares = np.where(chosen, (shadows - mean) ** 2, 0.0).sum()
    free = float((counts - 1).sum())
    return mean, max(_LEAST, float(np.sqrt(squares / free))) if free else 0.0


def _log_density(x: Floats, mean: Floats, deviation: float) -> Floats:
    found: Floats = -0.5 * ((x - mean) / deviation) ** 2 - np.log(deviation)
    return found
