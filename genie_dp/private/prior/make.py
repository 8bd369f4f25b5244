"""From noisy counts to a prior: frequencies, by how much synthesis is to change, and a report.

Nothing here sees private rows. The report is for the developers of a library: requests of people,
and functions that it lacks.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.private.prior.histogram import (
    ANY,
    CountPlan,
    NoisyCounts,
    norm_of,
    outside_each,
    simultaneous_width,
)
from genie_dp.private_prior import pairs_of
from genie_dp.records import Frequency, PrivatePrior, Spent

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PublicFunctions:
    """The functions of public rows, such as synthesized ones: multipliers are relative to them.

    Attributes:
        functions, pairs: how many rows have them; empty where no rows are known.
    """

    functions: Counter[str] = field(default_factory=Counter)
    pairs: Counter[str] = field(default_factory=Counter)

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[str]]) -> "PublicFunctions":
        """Return the counts of rows, each given by its functions."""
        counts = cls()
        for functions in rows:
            # In their order: a resumed run must find its settings again, and a set has none.
            counts.functions.update(tuple(dict.fromkeys(functions)))
            counts.pairs.update(pairs_of(functions))
        return counts


@dataclass(frozen=True, slots=True)
class Sampled:
    """Rows that a private generator made: its programs and sentences, and their guarantee."""

    programs: tuple[str, ...] = ()
    utterances: tuple[str, ...] = ()
    spent: Spent | None = None


def prior_of(
    released: NoisyCounts,
    plan: CountPlan,
    spent: Spent,
    *,
    about: int | None,
    made: PublicFunctions,
    sampled: Sampled,
) -> PrivatePrior:
    """Return the prior of a release: post-processing, which costs nothing.

    Args:
        released: noisy counts.
        plan: how they were made.
        spent: the guarantee of everything that the ledger knows of.
        about: a public estimate of the number of units; None where they were counted.
        made: the counts that multipliers are relative to.
        sampled: the programs that a generator made, if any.

    Raises:
        GenieError: F006, the guarantee does not cover the sampled rows.
    """
    if sampled.spent is None and (sampled.programs or sampled.utterances):
        hint = "give the guarantee of the generator, and rows of a generator with this ledger"
        raise GenieError(Problem("F006", "the sampled rows have no guarantee", hint=hint))
    spent = covering(spent, sampled.spent)
    function_shares, signal = shares(released, plan)
    frequencies = Frequencies(released, plan, about)
    own = made_shares(released.functions, made.functions)
    # As far as counts differ by noise, nothing is to change.
    target_shares = {
        name: signal * function_shares.get(name, 0) + (1 - signal) * own[name] for name in own
    }
    weights = multipliers(target_shares, own)
    # Where noise dominates, a pair may be noise, too: it is to steer nothing.
    steering = frequencies.steering_pairs() if signal else {}
    return PrivatePrior(
        spent,
        function_shares,
        weights,
        pair_multipliers(
            steering,
            # Noise and all: it cancels in the sum, and would not without the counts below 0.
            sum(released.functions.values()),
            weights,
            own,
            made,
        ),
        sampled.programs,
        sampled.utterances,
        frequencies.share_counts(released.functions, "function"),
        dict(sorted(frequencies.pairs().items(), key=lambda item: (-item[1].share, item[0]))),
        frequencies.missing(),
        round(signal, 4),
        _describe_release(plan, released, about) | frequencies.as_dict(),
    )


def pair_multipliers(
    counts: Mapping[str, float],
    requests: float,
    weights: Mapping[str, float],
    own: Mapping[str, float],
    made: PublicFunctions,
) -> dict[str, float]:
    """Return multipliers of pairs, beside those that their functions have already.

    Shares are relative to all functions asked for, on both sides. Where no public rows are known,
    functions are taken to be joined as they come.

    Args:
        counts: pair -> noisy count.
        requests: the sum of the counts of functions.
        weights: the multiplier of each function.
        own: the share of each function among synthesized rows.
        made: public rows.
    """
    total = sum(made.functions.values())
    shares_of_pairs, expected_shares = {}, {}
    for name, number in counts.items():
        first, second = name.split(" ")
        mean = math.sqrt(weights[first] * weights[second])
        expected = (1 + made.pairs[name]) / (1 + total) if total else own[first] * own[second]
        shares_of_pairs[name], expected_shares[name] = number / max(1, requests), expected * mean
    weights_of_pairs = multipliers(shares_of_pairs, expected_shares, MOST_OF_PAIR)
    return {name: weight for name, weight in sorted(weights_of_pairs.items()) if weight != 1}


def _describe_release(
    plan: CountPlan, released: NoisyCounts, about: int | None
) -> dict[str, object]:
    """Return how the counts were released, for people and for the next stages."""
    limits = asdict(plan.limits)
    return {
        "mechanism": plan.kind,
        "noise": round(plan.noise.deviation, 4),
        "sensitivity": round(plan.limits.sensitivity(norm_of(plan.kind)), 6),
        "limits": limits,
        "units": about if about is not None else max(0, released.units or 0),
        "units_are": "given" if about is not None else "counted with noise",
        "threshold": plan.least,
        "threshold_delta": plan.threshold_delta,
        "candidates": len(plan.support.candidates),
    }


def covering(ledger: Spent, rows: Spent | None) -> Spent:
    """Return the guarantee of a prior: the ledger's, which covers rows of the same private data.

    Raises:
        GenieError: F006, rows cannot be of this ledger: their guarantee is of other units, or they
            cost more than all that the ledger knows of.
    """
    if rows is None:
        return ledger
    hint = "give rows of a generator that was trained on this private file, with this ledger"
    if (rows.unit, rows.relation) != (ledger.unit, ledger.relation):
        units = f"{rows.unit}, {rows.relation}, not {ledger.unit}, {ledger.relation}"
        raise GenieError(Problem("F006", f"the sampled rows are of {units}", hint=hint))
    if rows.epsilon > ledger.epsilon or rows.delta > ledger.delta:
        cost = f"epsilon {rows.epsilon:.4g} at delta {rows.delta:.4g}"
        total = f"{ledger.epsilon:.4g} at {ledger.delta:.4g}"
        message = f"the sampled rows cost {cost}, but the ledger knows of {total}"
        raise GenieError(Problem("F006", message, hint=hint))
    return ledger


# ------------------------------------------------------------ frequencies and multipliers

# Synthesis makes no function more than 20 times as frequent as another (engine.MOST_COPIES).
MOST = 20.0
# Of a pair, a few rows are weighed so that they do not lead their batches.
MOST_OF_PAIR = 4.0


def project_shares(counts: F64) -> F64:
    """Return the nearest counts that are at least 0 and have the same sum ("Norm-Sub").

    All counts lose the same amount and none falls below 0: the best of the estimates tried where
    the sum is known well (Wang et al., NDSS 2020, section 4). No count is left where the sum is not
    positive.

    >>> project_shares(np.array([10.0, 3.0, -1.0, -2.0])).tolist()
    [8.5, 1.5, 0.0, 0.0]
    """
    total = float(counts.sum())
    if total <= 0:
        return np.zeros_like(counts)
    falling = np.sort(counts)[::-1]
    excess = np.cumsum(falling) - total
    shares = excess / np.arange(1, len(counts) + 1)
    last = int(np.flatnonzero(falling > shares)[-1])
    projected: F64 = np.maximum(counts - shares[last], 0.0)
    return projected


def signal(counts: F64, deviation: float) -> float:
    """Return the share of the variance of counts that is more than noise, between 0 and 1.

    The factor by which the positive-part James-Stein estimator keeps the differences from the mean
    (Efron and Morris, 1973): 0 where counts differ as noise would make them, 1 without noise. For
    three counts or less there is no such estimator: noise is taken off as for four.

    >>> signal(np.array([5.0, -3.0, 1.0, 0.0]), 10.0), signal(np.array([500.0, 0.0, 3.0, 1.0]), 0.0)
    (0.0, 1.0)
    """
    freedom = max(1, len(counts) - 3)
    spread = float(((counts - counts.mean()) ** 2).sum()) if len(counts) else 0.0
    if spread == 0:
        return 0.0
    return max(0.0, 1 - freedom * deviation**2 / spread)


def shares(released: NoisyCounts, plan: CountPlan) -> tuple[dict[str, float], float]:
    """Return the share of each function among all functions asked for, and the signal.

    Shares sum to 1; there are none where the signal is 0.
    """
    counts = np.array(list(released.functions.values()), float)
    projected = project_shares(counts)
    strength = signal(counts, plan.noise.deviation) if projected.sum() else 0.0
    if not strength:
        return {}, 0.0
    each = (projected / projected.sum()).round(6).tolist()
    return dict(zip(released.functions, each, strict=True)), strength


def multipliers(
    wanted: Mapping[str, float], made: Mapping[str, float], most: float = MOST
) -> dict[str, float]:
    """Return by how much each share is to be multiplied to become the wanted one.

    Bounded by `most` both ways, so that nothing vanishes; exactly 1 where nothing changes.

    >>> multipliers({"@a.b": 0.75, "@c.d": 0.25}, {"@a.b": 0.5, "@c.d": 0.5})
    {'@a.b': 1.5, '@c.d': 0.5}
    """
    factors = {}
    for name, share in wanted.items():
        ratio = share / made[name] if made[name] else most
        factors[name] = (
            1.0 if math.isclose(ratio, 1.0) else round(min(max(ratio, 1 / most), most), 4)
        )
    return factors


def made_shares(names: Iterable[str], counts: Mapping[str, int] | None) -> dict[str, float]:
    """Return the share of each name among synthesized rows, with one more row for each.

    Without counts all names have the same: `synthesize` without weights comes near to it, for it
    balances functions.

    >>> made_shares(["@a.b", "@c.d"], {"@a.b": 5, "@e.f": 9})
    {'@a.b': 0.8571428571428571, '@c.d': 0.14285714285714285}
    """
    counts_of_rows = {name: 1 + (counts or {}).get(name, 0) for name in names}
    total = sum(counts_of_rows.values())
    return {name: count / total for name, count in counts_of_rows.items()}


# ----------------------------------------------------------------------------- frequencies


def frequency(count: float, units: tuple[float, float, float], width: float) -> Frequency:
    """Return the share of units of a noisy count.

    Args:
        count: the noisy count.
        units: how many units there are: the estimate, and its bounds.
        width: half of the count's interval.

    >>> frequency(40, (1000, 1000, 1000), 15)
    Frequency(share=0.04, low=0.025, high=0.055)
    """
    about, fewest, highest = units
    return Frequency(
        _clip_share(count, about),
        _clip_share(count - width, highest),
        _clip_share(count + width, fewest),
    )


def _clip_share(count: float, units: float) -> float:
    return round(min(1.0, max(0.0, count / units)), 6)


class Frequencies:
    """Shares of units with intervals that hold together: all of a release, with 95 %.

    Attributes:
        looked_at: sort of counts -> how many there are.
        widths: sort -> within how many units of the truth all of its counts lie; a count above it
            is more than noise.
        units: how many units there are: the estimate, and its bounds.
    """

    def __init__(self, released: NoisyCounts, plan: CountPlan, about: int | None):
        """Settle how many counts there are of each sort, and how many units.

        Args:
            released: noisy counts.
            plan: how they were made.
            about: a public estimate of the number of units; None where they were counted.
        """
        self.released, self.plan = released, plan
        counted = max(1.0, float(about if about is not None else released.units or 0))
        sizes = {
            "total": 1 + (about is None),
            "function": len(released.functions),
            "pair": len(released.pairs),
            "missing": len(released.candidates),
        }
        has_names = {"missing"} if plan.least else set()
        sorts = [sort for sort, size in sizes.items() if size or sort in has_names]
        outside = outside_each(len(sorts))
        total = simultaneous_width(plan.noise, sizes["total"], outside)
        around = total if about is None else 0
        if has_names:
            # Names below the threshold are looked at, too: a unit has so many of them at most.
            sizes["missing"] += math.ceil(counted + around) * plan.limits.missing
        self.looked_at = {sort: sizes[sort] for sort in sorts}
        self.widths = {
            sort: simultaneous_width(plan.noise, size, outside)
            for sort, size in self.looked_at.items()
        }
        self.units = counted, max(1.0, counted - around), counted + around

    def as_dict(self) -> dict[str, object]:
        """Return how many counts were looked at, and from where on they are shown, for JSON."""
        return {"looked_at": self.looked_at, "above": self.widths}

    def share_counts(self, counts: Mapping[str, int], sort: str) -> dict[str, Frequency]:
        """Return the frequencies of counts of a sort."""
        return {
            name: frequency(n, self.units, self.widths.get(sort, 0)) for name, n in counts.items()
        }

    def pairs(self) -> dict[str, Frequency]:
        """Return those of the pairs that are more than noise."""
        counts = self.released.pairs
        certain = {name: n for name, n in counts.items() if n > self.widths["pair"]}
        return self.share_counts(certain, "pair")

    def steering_pairs(self) -> dict[str, int]:
        """Return the counts of pairs of which noise alone makes one in two releases."""
        counts, noise = self.released.pairs, self.plan.noise
        if not counts:
            return {}
        least = noise.quantile(min(0.4, 0.5 / len(counts))) if noise.scale else 0.0
        return {name: n for name, n in counts.items() if n > least}

    def missing(self) -> dict[str, Frequency]:
        """Return the frequencies of missing names, the most frequent first; "" is any of them."""
        named = {**self.released.candidates, **self.released.named}
        order = sorted(named, key=lambda name: (-named[name], name))
        return self.share_counts({ANY: self.released.lacking}, "total") | self.share_counts(
            {name: named[name] for name in order}, "missing"
        )


# -------------------------------------------------------------------------------- in words

_MOST_LINES = 20


def describe_prior(prior: PrivatePrior) -> Iterator[str]:
    """Yield the lines of a report; of every list the most frequent ones."""
    unit = f"{prior.spent.unit}s"
    spent, release = prior.spent, prior.release
    epsilon = f"epsilon {spent.epsilon:.4g} at delta {spent.delta:.4g} ({spent.accountant})"
    yield f"private prior: {epsilon} for each {spent.unit}, {spent.relation}"
    yield (
        f"about {release['units']:,} {unit} ({release['units_are']}), "
        f"{release['mechanism']} noise of standard deviation {release['noise']:.3g} on each count"
    )
    if prior.signal == 0:
        yield "noise dominates: no function is asked for more than another as far as can be told,"
        yield "and synthesis stays as it is; more data or a greater epsilon would tell"
    if prior.programs:
        yield f"{len(prior.programs):,} programs and sentences of a private generator"
    missing = dict(prior.missing)
    any_ = missing.pop(ANY, None)
    if any_ is not None:
        yield ""
        subject = f"in 1,000 {unit} ask for a function that the library lacks"
        if any_.low > 0:
            yield f"{_in_1000(any_.share)} {subject} {_describe_range(any_)}"
        else:
            yield f"at most {_in_1000(any_.high)} {subject}: as far as can be told, none"
    sorts = (
        ("missing", "functions that it lacks", missing),
        ("function", "functions asked for most", prior.functions),
        ("pair", "functions asked for together", prior.pairs),
    )
    looked_at, above = release.get("looked_at", {}), release.get("above", {})
    for sort, title, frequencies in sorts:
        if sort in looked_at:
            place = f"{looked_at[sort]:,} counted, above {above[sort]:,.3g} {unit}"
            yield from _describe_frequencies(f"{title} ({place})", frequencies, unit)
    yield ""
    yield "with 95 % all of these intervals hold; what is not above the noise is not shown"


def _describe_frequencies(
    title: str, frequencies: Mapping[str, Frequency], unit: str
) -> Iterator[str]:
    yield ""
    certain = [(name, f) for name, f in frequencies.items() if f.low > 0]
    certain.sort(key=lambda item: (-item[1].share, item[0]))
    if not certain:
        yield f"{title}: none is above the noise"
        return
    yield f"{title}, in 1,000 {unit}:"
    for name, frequency in certain[:_MOST_LINES]:
        yield f"{_in_1000(frequency.share):>8}  {name}  {_describe_range(frequency)}"
    if len(certain) > _MOST_LINES:
        yield f"          and {len(certain) - _MOST_LINES:,} more"


def _describe_range(frequency: Frequency) -> str:
    return f"({_in_1000(frequency.low)} to {_in_1000(frequency.high)})"


def _in_1000(share: float) -> str:
    """Return a share in 1,000.

    >>> _in_1000(0.04), _in_1000(0.0012)
    ('40', '1.2')
    """
    value = 1000 * share
    return f"{value:.0f}" if value >= 10 or value == round(value) else f"{value:.1f}"
