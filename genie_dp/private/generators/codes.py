"""Control codes: coarse intents of sentences; and their frequencies, as a DP histogram.

Yue et al. (2022) take the codes' exact distribution for simplicity. Here it is released with noise,
for a price that the ledger knows. Which codes there are never comes from private rows.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from genie_dp.errors import GenieError, Problem
from genie_dp.private import secure
from genie_dp.private.prior.histogram import Noise

OTHER = "<other>"
# Rows count whole multiples of 1 / GRAIN of a unit, towards 0.
_GRAIN = 1 << 16


@dataclass(frozen=True, slots=True)
class Codes:
    """The codes that there may be: functions, or sets of them separated by spaces.

    Attributes:
        names: public ones, in order; every program that has none of them is OTHER.
        is_exact: whether a code stands for programs with exactly its functions; otherwise a
            program's code is the first of the most specific ones whose functions it has.
    """

    names: tuple[str, ...]
    is_exact: bool = False

    def __post_init__(self) -> None:
        plain = [" ".join(name.split()) for name in self.names]
        if len({*plain, OTHER}) != len(plain) + 1 or "" in plain or tuple(plain) != self.names:
            message = "expected control codes of one or more functions each, none twice"
            hint = "give one code a line, functions separated by one space"
            raise GenieError(Problem("H006", message, hint=hint))

    @property
    def all(self) -> tuple[str, ...]:
        """Return the names and OTHER."""
        return (*self.names, OTHER)

    def find_code(self, functions: Mapping[str, int]) -> str:
        """Return the code of a program with those functions.

        >>> Codes(("@a.f", "@a.g")).find_code({"@a.g": 2, "@a.f": 1})
        '@a.g'
        >>> Codes(("@a.f", "@a.f @a.g"), is_exact=True).find_code({"@a.g": 2, "@a.f": 1})
        '@a.f @a.g'
        >>> Codes(("@a.f",)).find_code({"@b.h": 1})
        '<other>'
        """
        if self.is_exact:
            name = code_of_set(functions)
            return name if name in self.names else OTHER
        there = [name for name in self.names if all(part in functions for part in name.split())]
        # Of codes with equally many functions, the one whose functions come most often.
        weights = {name: [functions[part] for part in name.split()] for name in there}
        return max(there, key=lambda name: (len(weights[name]), sum(weights[name])), default=OTHER)


def code_of_set(functions: Mapping[str, int]) -> str:
    """Return the code that names all functions of a program."""
    return " ".join(sorted(functions))


def release_codes(
    codes: Codes,
    units: Sequence[Sequence[str]],
    noise_multiplier: float,
) -> tuple[float, ...]:
    """Return how many units have each of `codes.all`, with Gaussian noise.

    A unit adds 1 in all, spread over the codes of its rows, so it moves the histogram by at most 1
    in L2 norm: the ledger knows it as `Gaussian(noise_multiplier)`. Counts below the largest noise
    that so many empty codes have (Donoho and Johnstone, 1994: deviation times the square root of 2
    ln n) become 0; that sees only the release.

    Args:
        codes: the public codes.
        units: the codes of each unit's rows.
        noise_multiplier: standard deviation of the noise.
    """
    counts = Counter[str]()
    for rows in units:
        for code, times in Counter(rows).items():
            counts[code] += times * _GRAIN // len(rows)
    noise = Noise("gaussian", noise_multiplier, 1 / _GRAIN)
    noise_values = noise.draw(len(codes.all), secure.noise("codes")).tolist()
    noisy = [
        float(round(counts[c] / _GRAIN + x)) for c, x in zip(codes.all, noise_values, strict=True)
    ]
    least = noise_multiplier * math.sqrt(2 * math.log(len(noisy))) if len(noisy) > 1 else 0.0
    weights = tuple(x if x > least else 0.0 for x in noisy)
    # Where nothing stands out, the noise is all there is to tell: every code is as likely.
    return weights if any(weights) else (1.0,) * len(weights)
