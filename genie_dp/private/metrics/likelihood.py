"""How likely a generator finds rows that were held out: nats a word, exactly or with noise.

With noise it is a release of these rows that their ledger pays for. A unit's figure is the mean
over its words, brought between 0 and a public bound. The release is the mean over units.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from statistics import NormalDist
from typing import TYPE_CHECKING

from genie_dp.errors import GenieError, Problem
from genie_dp.private import secure
from genie_dp.private.ledger.accounting import least_noise
from genie_dp.private.ledger.book import Ledger, new_run
from genie_dp.private.ledger.guard import Payer, Units, paid_by
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.metrics.config import MOST_NATS
from genie_dp.private.prior.histogram import Noise
from genie_dp.private.source import PrivateRow
from genie_dp.records import Spent
from genie_dp.run.stage import Result

if TYPE_CHECKING:
    from genie_dp.private.audit.models import Scorer


@dataclass(frozen=True, slots=True)
class NoisyLikelihood(Result):
    """How likely a generator finds held-out rows, with noise.

    Attributes:
        name: of the generator.
        nats: a word, the mean over units; between 0 and the public bound.
        low, high: 95 % of the noise lies between.
        spent: the guarantee of all that was released, None where something else states it.
    """

    name: str
    nats: float
    low: float
    high: float
    spent: Spent | None = None

    def lines(self) -> Iterator[str]:
        """Yield the figure."""
        around = f"noise {self.low:.3f} to {self.high:.3f}"
        yield f"{self.name}: held-out likelihood {self.nats:.3f} nats a word ({around})"


def nats_and_words(scorer: "Scorer", rows: Sequence[PrivateRow]) -> list[tuple[float, int]]:
    """Return the loss of each row, and its words, ends counted."""
    from genie_dp.private.audit.models import count_words

    words = [count_words(row, with_program=scorer.needs_programs) for row in rows]
    return list(zip(scorer.losses(rows), words, strict=True))


def nats_of_units(
    scorer: "Scorer", units: Sequence[Sequence[PrivateRow]], *, most: float = MOST_NATS
) -> list[float]:
    """Return the nats a word of each unit, between 0 and a bound; units without rows are left out.

    Rows without a program are left out where the scorer is of programs, too.
    """
    usable = [[row for row in unit if row.program or not scorer.needs_programs] for unit in units]
    scored = iter(nats_and_words(scorer, [row for unit in usable for row in unit]))
    return [bounded_mean([next(scored) for _ in unit], most=most) for unit in usable if unit]


def bounded_mean(rows: Sequence[tuple[float, int]], *, most: float = MOST_NATS) -> float:
    """Return the nats a word of a unit with the loss and the words of each row, within the bound.

    >>> bounded_mean([(4.0, 2), (2.0, 4)]), bounded_mean([(math.inf, 2)], most=9.0)
    (1.0, 9.0)
    """
    mean = sum(loss for loss, _ in rows) / sum(words for _, words in rows)
    return min(max(mean, 0.0), most) if math.isfinite(mean) else most


# Sums of whole multiples of 1 / GRAIN are exact in any order.
_GRAIN = 1 << 20


def noisy_mean(
    nats: Sequence[float], noise_multiplier: float, rng: Random, *, most: float = MOST_NATS
) -> tuple[float, float]:
    """Return the mean of units' figures with noise, and the deviation of that noise.

    A unit adds (x, 1) to two sums, where x is its figure moved to [-1, 1]: at most sqrt(2) in L2
    norm. Both get Gaussian noise of `noise_multiplier` times that; their quotient gives the mean,
    and needs no exact number of units.

    Args:
        nats: of each unit, between 0 and `most`.
        noise_multiplier: deviation of the noise, relative to the sensitivity to a unit.
        rng: the system's generator; another one only in tests.
        most: the public bound.
    """
    noise = Noise("gaussian", noise_multiplier * math.sqrt(2), 1 / _GRAIN)
    of_total, of_count = noise.draw(2, rng).tolist()
    middle = most / 2
    # Towards 0, so that no unit adds more than 1.
    exact = sum(math.trunc((loss - middle) / middle * _GRAIN) for loss in nats)
    total = round((exact / _GRAIN + of_total) * _GRAIN) / _GRAIN
    count = max(1, round(len(nats) + of_count))
    share = min(max(total / count, -1.0), 1.0)
    # By the delta method; count and total have the same noise.
    deviation = middle * noise.deviation * math.sqrt(1 + share**2) / count
    return middle * (1 + share), deviation


def release_likelihoods(
    scorers: Sequence[tuple[str, "Scorer"]],
    units: Units[tuple[PrivateRow, ...]],
    ledger: Ledger,
    *,
    epsilon: float,
    most: float = MOST_NATS,
) -> tuple[NoisyLikelihood, ...]:
    """Return how likely generators find held-out rows, with noise that the rows' ledger pays for.

    Args:
        scorers: the generators, by name.
        units: held-out rows, by the unit of the ledger.
        ledger: of the rows.
        epsilon: the cost of all of it by itself, at the budget's delta.
        most: nats a word that a unit counts as, at most.

    Raises:
        GenieError: past the budget (B023), no such noise (B004), the rows are another ledger's
            (B030, B031).
    """
    noise = least_noise(
        lambda sigma: (Gaussian(sigma, len(scorers)),),
        epsilon,
        ledger.budget.delta,
        accountant=ledger.budget.accountant,
    )
    run = new_run("likelihood")
    pay = paid_by(units, Payer(ledger, "held-out likelihood", run))
    spent = pay((Gaussian(noise, len(scorers)),))
    rng = secure.noise("likelihood", run)
    z = NormalDist().inv_cdf(0.975)
    released = []
    for name, scorer in scorers:
        nats, deviation = noisy_mean(nats_of_units(scorer, units, most=most), noise, rng, most=most)
        around = (max(0.0, nats - z * deviation), min(most, nats + z * deviation))
        released.append(NoisyLikelihood(name, nats, *around, spent))
    pay.close(repr([likelihood.nats for likelihood in released]))
    return tuple(released)


def open_generators(folders: Sequence[Path], *, language: str) -> list[tuple[str, "Scorer"]]:
    """Return the generators of folders, by the folders' names.

    Raises:
        GenieError: a folder has none (N056, H003), or its programs are of another language (J007).
    """
    if not folders:
        return []
    from genie_dp.private.audit.models import language_of, open_scorer

    scorers = []
    for folder in folders:
        scorer, own = open_scorer(folder), language_of(folder)
        if scorer.needs_programs and own not in (None, language):
            message = f"the generator of {folder} writes {own}, the rows are {language}"
            raise GenieError(Problem("J007", message, hint=f"add --language {own}"))
        scorers.append((folder.name, scorer))
    return scorers
