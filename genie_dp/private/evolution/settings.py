"""The settings of an evolution: all of them public."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.neighbours import BACKENDS, Backend
from genie_dp.private.ledger.mechanisms import Gaussian

Selection = Literal["resample", "rank"]
SELECTIONS: tuple[Selection, ...] = get_args(Selection)


@dataclass(frozen=True, slots=True)
class EvolutionSettings:
    """How candidates are voted for, chosen and varied.

    Attributes:
        noise_multiplier: standard deviation of the noise on each count of votes, in votes of one
            unit; `calibrated` finds it.
        iterations: how often private rows vote (T); each costs.
        population: winners of a vote (N).
        variations: candidates for each winner (L): a vote is among population x variations. More
            are finer and split the votes more, so that the noise is greater beside them.
        lookahead: variations whose mean place stands for a candidate (Xie et al., 2024); 0 for the
            place of the candidate itself. So many more calls of the generator for each candidate.
        neighbours: candidates that a private row votes for (k).
        threshold: what is taken off each noisy count, in standard deviations of its noise.
        selection: draw winners by their weights ("resample"), or take the first ones ("rank").
        keep: whether winners are candidates again, beside their variations. Otherwise variations
            take their place, as in Lin et al., 2023.
        first_strength, last_strength: how much is varied after the first vote and after the last.
        rows: how many are written: winners of the last vote, and their variations.
        label: column by which private rows vote, each among candidates of its own; "" for none.
        fractions: label -> share of candidates. None takes them from a private table.
        backend: of the search for neighbours; the result is the same.
        seed: of candidates and choices; the noise has none.
    """

    noise_multiplier: float
    iterations: int = 5
    population: int = 200
    variations: int = 4
    lookahead: int = 0
    neighbours: int = 1
    threshold: float = 1.0
    selection: Selection = "resample"
    keep: bool = True
    first_strength: float = 0.8
    last_strength: float = 0.2
    rows: int = 1000
    label: str = ""
    fractions: Mapping[str, float] | None = None
    backend: Backend = "numpy"
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse what is none (U003), all mistakes at once."""
        problems = [Problem("U003", message) for message in self._faults()]
        if problems:
            raise GenieError(problems)

    def _faults(self) -> Iterator[str]:
        if not (math.isfinite(self.noise_multiplier) and self.noise_multiplier > 0):
            yield f"noise_multiplier must be greater than 0, got {self.noise_multiplier}"
        for name in ("iterations", "population", "variations", "neighbours", "rows"):
            if getattr(self, name) < 1:
                yield f"{name} must be at least 1, got {getattr(self, name)}"
        if self.lookahead < 0:
            yield f"lookahead must be at least 0, got {self.lookahead}"
        if self.keep and self.variations < 2 and self.iterations > 1:
            yield f"variations must be at least 2 where winners are kept, got {self.variations}"
        if not (math.isfinite(self.threshold) and self.threshold >= 0):
            yield f"threshold must be at least 0, got {self.threshold}"
        for name in ("first_strength", "last_strength"):
            if not 0 <= getattr(self, name) <= 1:
                yield f"{name} must lie in [0, 1], got {getattr(self, name)}"
        yield from self._wrong_choices()
        yield from self._wrong_fractions()

    def _wrong_choices(self) -> Iterator[str]:
        if self.selection not in SELECTIONS:
            yield f"selection must be one of {', '.join(SELECTIONS)}, got {self.selection!r}"
        if self.backend not in BACKENDS:
            yield f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}"

    def _wrong_fractions(self) -> Iterator[str]:
        if self.fractions is None:
            return
        if not self.label:
            yield "fractions are of labels: name the label's column"
        shares = list(self.fractions.values())
        if not shares or not all(math.isfinite(x) and x > 0 for x in shares):
            yield f"fractions must be greater than 0, got {dict(self.fractions)}"

    @property
    def candidates(self) -> int:
        """Return how many candidates a vote is among, at most."""
        return self.population * self.variations

    @property
    def mechanism(self) -> Gaussian:
        """Return what one vote is for a ledger."""
        return Gaussian(self.noise_multiplier)

    def strength(self, iteration: int) -> float:
        """Return how much is varied after a vote, from 1 on.

        >>> settings = EvolutionSettings(1.0, 3, first_strength=0.8, last_strength=0.2)
        >>> [round(settings.strength(i), 2) for i in (1, 2, 3)]
        [0.8, 0.5, 0.2]
        """
        done = (iteration - 1) / max(1, self.iterations - 1)
        return self.first_strength + done * (self.last_strength - self.first_strength)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        return asdict(self)
