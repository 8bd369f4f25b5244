"""Mechanisms on private data, as values: described before they run, interpreted by accountants.

All are for sensitivity 1: a noise multiplier is the noise's standard deviation (Laplace: its scale)
divided by the sensitivity to one unit, in L2 norm (Laplace: in L1 norm).
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from typing import Any, ClassVar, Literal, get_type_hints

from genie_dp.errors import GenieError, Problem, did_you_mean

# Nobody means numbers beyond these, and with them accountants divide by 0, or never end.
_SMALLEST, _LARGEST = 1e-12, 1e12
_MOST_TIMES = 10_000_000


def dp_accounting() -> Any:
    """Return the module dp_accounting, which describes and composes mechanisms.

    Raises:
        GenieError: it is not installed (B001).
    """
    try:
        return import_module("dp_accounting")
    except ImportError as problem:
        hint = "pip install 'genie_dp[private]'"
        message = "epsilon is computed by dp-accounting, which is not installed"
        raise GenieError(Problem("B001", message, hint=hint)) from problem


@dataclass(frozen=True, slots=True)
class _Described:
    """The base of all mechanisms: checked fields, and a form for JSON."""

    kind: ClassVar[str]

    def __post_init__(self) -> None:
        """Refuse an invalid mechanism (B002)."""
        kinds = get_type_hints(type(self))
        problems = [
            Problem("B002", f"{self.kind}: {fault}")
            for field in fields(self)
            if (fault := _fault(field.name, getattr(self, field.name), kinds[field.name]))
        ]
        if problems:
            raise GenieError(problems)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, with the kind, for JSON."""
        return {"kind": self.kind, **asdict(self)}


def _fault(name: str, value: Any, kind: type) -> str | None:
    if kind is int and (isinstance(value, bool) or not isinstance(value, int)):
        return f"{name} must be a whole number, got {value!r}"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"{name} must be a number, got {value!r}"
    # Compared, since a whole number may be too large to be told as another one.
    if not 0 < value < math.inf:
        return f"{name} must be greater than 0 and finite, got {value!r}"
    if name == "delta":
        return None if value <= 1 else f"delta must be at most 1, got {value!r}"
    limit = 1 if name == "rate" else _MOST_TIMES if kind is int else _LARGEST
    if value > limit:
        return f"{name} must be at most {limit:,g}, got {value!r}"
    if value < _SMALLEST:
        return f"{name} must be at least {_SMALLEST:g}, got {value!r}"
    return None


@dataclass(frozen=True, slots=True)
class PoissonGaussian(_Described):
    """DP-SGD: each step draws every unit with the same chance and adds Gaussian noise to a sum.

    Attributes:
        noise_multiplier: standard deviation of the noise divided by the clipping norm.
        rate: chance of a unit to be in a step's batch, independent of the other units.
        steps: how many steps, empty batches included.
    """

    kind: ClassVar[str] = "poisson-gaussian"
    noise_multiplier: float
    rate: float
    steps: int

    def event(self) -> Any:
        """Return the mechanism as a dp_accounting.DpEvent."""
        dp = dp_accounting()
        step = dp.PoissonSampledDpEvent(self.rate, dp.GaussianDpEvent(self.noise_multiplier))
        return dp.SelfComposedDpEvent(step, self.steps)


@dataclass(frozen=True, slots=True)
class Gaussian(_Described):
    """Gaussian noise on a sum over all units, `count` times; a histogram is one such sum."""

    kind: ClassVar[str] = "gaussian"
    noise_multiplier: float
    count: int = 1

    def event(self) -> Any:
        """Return the mechanism as a dp_accounting.DpEvent."""
        dp = dp_accounting()
        return dp.SelfComposedDpEvent(dp.GaussianDpEvent(self.noise_multiplier), self.count)


@dataclass(frozen=True, slots=True)
class Laplace(_Described):
    """Laplace noise on a sum over all units, `count` times; each costs epsilon 1 / scale."""

    kind: ClassVar[str] = "laplace"
    scale: float
    count: int = 1

    def event(self) -> Any:
        """Return the mechanism as a dp_accounting.DpEvent."""
        dp = dp_accounting()
        return dp.SelfComposedDpEvent(dp.LaplaceDpEvent(self.scale), self.count)


@dataclass(frozen=True, slots=True)
class Exponential(_Described):
    """A choice with probability proportional to exp(epsilon * score / 2), `count` times.

    The score of no choice changes by more than 1 with one unit (McSherry and Talwar, 2007).
    """

    kind: ClassVar[str] = "exponential"
    epsilon: float
    count: int = 1

    def event(self) -> Any:
        """Return a dp_accounting.DpEvent that dominates it: the Laplace mechanism.

        dp_accounting 0.6 has no event of its own. That Laplace noise costs at least as much follows
        from `accounting.exponential_delta`, which is never above 1 - e^((at - epsilon) / 2);
        `accounting` itself reckons tighter.
        """
        dp = dp_accounting()
        return dp.SelfComposedDpEvent(dp.LaplaceDpEvent(1 / self.epsilon), self.count)


@dataclass(frozen=True, slots=True)
class ZeroConcentrated(_Described):
    """Anything that is known to be rho-zCDP (Bun and Steinke, 2016)."""

    kind: ClassVar[str] = "zcdp"
    rho: float

    def event(self) -> Any:
        """Return the mechanism as a dp_accounting.DpEvent."""
        return dp_accounting().ZCDpEvent(rho=self.rho)


@dataclass(frozen=True, slots=True)
class Threshold(_Described):
    """A release that shows names of one unit alone with probability `delta` at most.

    Such are names met in private rows that are shown only where noisy counts pass a threshold
    (Korolova et al., 2009). By itself it is (0, delta)-DP; the noise on the counts is a mechanism
    of its own.
    """

    kind: ClassVar[str] = "threshold"
    delta: float

    def event(self) -> Any:
        """Return a dp_accounting.DpEvent: with probability delta, everything is shown.

        dp_accounting 0.6 composes no such event; `accounting` takes delta off before it composes.
        """
        dp = dp_accounting()
        return dp.PoissonSampledDpEvent(self.delta, dp.NonPrivateDpEvent())


Trials = Literal["geometric", "logarithmic", "poisson"]
# Shapes of the truncated negative binomial distribution; of Poisson's it is the limit.
SHAPES: Mapping[Trials, float] = {"geometric": 1.0, "logarithmic": 0.0, "poisson": math.inf}


@dataclass(frozen=True, slots=True)
class Selection(_Described):
    """The best of a random number of runs: of the others nothing is released, nor how many.

    Liu and Talwar (2019); Papernot and Steinke (2022). Each run chooses its settings by chance, and
    gives its result with a score.

    Attributes:
        of: the possible mechanisms of a run, one of these: by its settings, or by the use of a unit
            (those that train are not among those that score). Adding or removing a unit changes one
            of them alone.
        trials: distribution of the number of runs; at least one, of "poisson" perhaps none.
        mean: runs, on average.
    """

    kind: ClassVar[str] = "selection"
    of: "tuple[tuple[Run, ...], ...]"
    trials: Trials
    mean: float

    def __post_init__(self) -> None:
        """Refuse an invalid selection (B002)."""
        faults = []
        if self.trials not in SHAPES:
            faults.append(f"trials must be one of {', '.join(SHAPES)}, got {self.trials!r}")
        if fault := _fault("mean", self.mean, float):
            faults.append(fault)
        elif self.mean < 1:
            faults.append(f"mean must be at least 1, got {self.mean!r}")
        if not self.of or not all(self.of):
            faults.append("a run must have a mechanism at least")
        if any(isinstance(each, Selection | Threshold) for run in self.of for each in run):
            faults.append("a run must be of noise alone, neither a selection nor a threshold")
        if faults:
            raise GenieError([Problem("B002", f"{self.kind}: {fault}") for fault in faults])

    @property
    def shape(self) -> float:
        """Return the shape of the distribution of the number of runs."""
        return SHAPES[self.trials]

    def as_dict(self) -> dict[str, Any]:
        """Return the fields, with the kind, for JSON."""
        runs = [[each.as_dict() for each in run] for run in self.of]
        return {"kind": self.kind, "of": runs, "trials": self.trials, "mean": self.mean}

    def event(self) -> Any:
        """Return a dp_accounting.DpEvent that costs at least as much: runs that do all of it.

        `accounting` itself takes the dearest of the alternatives at each order.
        """
        dp = dp_accounting()
        events = [each.event() for run in self.of for each in run]
        whole = dp.ComposedDpEvent(events)
        return dp.dp_event.RepeatAndSelectDpEvent(whole, self.mean, self.shape)


Run = PoissonGaussian | Gaussian | Laplace | Exponential | ZeroConcentrated
Mechanism = Run | Threshold | Selection
KINDS: Mapping[str, type[Mechanism]] = {
    "poisson-gaussian": PoissonGaussian,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "exponential": Exponential,
    "zcdp": ZeroConcentrated,
    "threshold": Threshold,
    "selection": Selection,
}


def from_dict(facts: Mapping[str, Any]) -> Mechanism:
    """Return the mechanism that `as_dict` wrote.

    >>> from_dict({"kind": "laplace", "scale": 10.0, "count": 2})
    Laplace(scale=10.0, count=2)

    Raises:
        GenieError: there is no such kind, fields are missing or unknown, or out of range (B002).
    """
    rest = dict(facts)
    kind = rest.pop("kind", None)
    if not isinstance(kind, str) or kind not in KINDS:
        hint = did_you_mean(str(kind), KINDS) or f"kinds are {', '.join(KINDS)}"
        raise GenieError(Problem("B002", f"there is no mechanism {kind!r}", hint=hint))
    names = {field.name for field in fields(KINDS[kind])}
    if set(rest) != names:
        message = f"{kind}: expected {', '.join(sorted(names))}, got {', '.join(sorted(rest))}"
        raise GenieError(Problem("B002", message))
    if kind == Selection.kind:
        rest["of"] = _runs_from(rest["of"])
    return KINDS[kind](**rest)


def _runs_from(runs: Any) -> tuple[tuple[Mechanism, ...], ...]:
    """Return the runs of a selection as `as_dict` wrote them."""
    is_list = isinstance(runs, list) and all(isinstance(run, list) for run in runs)
    if not is_list or not all(isinstance(each, Mapping) for run in runs for each in run):
        raise GenieError(Problem("B002", "selection: of must be lists of mechanisms"))
    return tuple(tuple(map(from_dict, run)) for run in runs)


def describe_mechanism(mechanism: Mechanism) -> str:
    """Return the mechanism in words, for tables.

    >>> describe_mechanism(PoissonGaussian(0.96, 0.0153, 660))
    '660 steps of Gaussian noise 0.96 on batches of rate 0.0153'
    >>> describe_mechanism(Laplace(10.0))
    'Laplace noise 10'
    """
    match mechanism:
        case PoissonGaussian(noise, rate, steps):
            return f"{steps:,} steps of Gaussian noise {noise:.4g} on batches of rate {rate:.4g}"
        case Gaussian(noise, count):
            return _times(f"Gaussian noise {noise:.4g}", count)
        case Laplace(scale, count):
            return _times(f"Laplace noise {scale:.4g}", count)
        case Exponential(epsilon, count):
            return _times(f"exponential mechanism of epsilon {epsilon:.4g}", count)
        case ZeroConcentrated(rho):
            return f"{rho:.4g}-zCDP"
        case Threshold(delta):
            return f"threshold of delta {delta:.4g}"
        case Selection(of, trials, mean):
            runs = ("; ".join(map(describe_mechanism, run)) for run in of)
            return f"best of {mean:.4g} runs on average ({trials}), each {', or '.join(runs)}"


def _times(words: str, count: int) -> str:
    return words if count == 1 else f"{count:,} times {words}"
