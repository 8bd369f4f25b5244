"""The noise of a histogram: what it is, how wide, and how likely it passes a threshold."""

import math
from dataclasses import dataclass
from random import Random
from statistics import NormalDist
from typing import Literal

from genie_dp.private.prior.support import Norm

Kind = Literal["gaussian", "laplace"]


def norm_of(kind: Kind) -> Norm:
    """Return the norm in which sensitivities are meant, for Gaussian or Laplace noise."""
    return 2 if kind == "gaussian" else 1


@dataclass(frozen=True, slots=True)
class Noise:
    """Noise that is added to each bin.

    Attributes:
        kind: gaussian, for sensitivities in L2; laplace, for those in L1.
        scale: its standard deviation, or Laplace's b; in units.
    """

    kind: Kind
    scale: float

    @property
    def deviation(self) -> float:
        """Return the standard deviation.

        >>> round(Noise("laplace", 2.0).deviation, 3)
        2.828
        """
        return self.scale if self.kind == "gaussian" else self.scale * math.sqrt(2)

    def beyond(self, value: float) -> float:
        """Return the probability of noise greater than a value.

        >>> Noise("gaussian", 1.0).beyond(0.0), round(Noise("laplace", 1.0).beyond(3.0), 4)
        (0.5, 0.0249)
        """
        if self.scale == 0:
            return float(value < 0)
        z = value / self.scale
        if self.kind == "gaussian":
            return 0.5 * math.erfc(z / math.sqrt(2))
        return 0.5 * math.exp(-z) if z >= 0 else 1 - 0.5 * math.exp(z)

    def quantile(self, beyond: float) -> float:
        """Return the value that noise is greater than with a probability below 1/2.

        >>> round(Noise("gaussian", 10.0).quantile(0.025), 2)
        19.6
        """
        if self.kind == "gaussian":
            return -self.scale * NormalDist().inv_cdf(beyond)
        return -self.scale * math.log(2 * beyond)

    def draw(self, rng: Random) -> float:
        """Return noise from a generator, which is the system's unless a test says otherwise."""
        if self.kind == "gaussian":
            # Both of a pair of Box and Muller's: none is left in the generator, where it would be
            # noise that is known. What low bits tell, those who draw round away.
            return self.scale * (rng.gauss(0, 1) + rng.gauss(0, 1)) / math.sqrt(2)
        return self.scale * (rng.expovariate(1.0) - rng.expovariate(1.0))


def threshold(noise: Noise, names: int, delta: float) -> int:
    """Return the count that a name not known beforehand must reach to be shown.

    A name that one unit alone has is shown with the probability that 1 plus noise, rounded to a
    whole number, reaches it; of `names` such names of a unit one at least is shown with at most
    `delta` (Korolova et al., WWW 2009; Wilkins et al., 2024, for Gaussian noise).

    >>> threshold(Noise("gaussian", 5.0), 1, 1e-6)
    26
    """
    single = -math.expm1(math.log1p(-delta) / names)
    found = math.ceil(1.5 + noise.quantile(single))
    while leak(noise, names, found) > delta:  # rounding of the quantile
        found += 1
    return found


def leak(noise: Noise, names: int, threshold: int) -> float:
    """Return the probability that a name of one unit alone is shown at a threshold."""
    single = noise.beyond(threshold - 1.5)
    return -math.expm1(names * math.log1p(-single))
