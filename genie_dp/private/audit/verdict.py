"""The claim of a model, and the bounds that attacks prove; a bound above the claim refutes it.

An attack that finds nothing proves nothing, unless it would have found something. So two more
figures stand beside each bound: the largest claim that it could have refuted if the attack had made
no mistake, and its bound for a model that was trained as this one, but without any protection. An
audit passes a model where it refutes the claim for that one and not for this one.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.config import About
from genie_dp.private.audit.exposure import Exposure, bound_by_ranks, most_by_ranks
from genie_dp.private.audit.membership import Attack
from genie_dp.private.audit.noise import bound_noise
from genie_dp.private.audit.statistics import (
    EpsilonBound,
    bound_by_guesses,
    guess,
    least_under,
    perfect_guesses,
    refutes_any,
)
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism, PoissonGaussian

SPENT, STATEMENT, MANIFEST = "spent.json", "confidentiality.json", "manifest.json"
CONFIG = "config.json"


@dataclass(frozen=True, slots=True)
class Claim:
    """A guarantee: adding or removing one row changes nothing by more than (epsilon, delta).

    Attributes:
        epsilon, delta: of one row.
        unit: of the guarantee.
        source: where it was read.
        about: which statement it is.
        mechanisms: all that were applied to the rows, with their noise; where they are known.
    """

    epsilon: float
    delta: float
    unit: str = "utterance"
    source: str = "--claim"
    about: About = "rows"
    mechanisms: tuple[Mechanism, ...] = ()

    @property
    def is_any(self) -> bool:
        """Return whether anything is claimed at all."""
        return math.isfinite(self.epsilon) and self.delta < 1

    @property
    def of_row(self) -> "Claim":
        """Return its guarantee for one row.

        Of a unit of several rows, one row more is that unit exchanged for another: it taken away,
        and the other added (group privacy of two).
        """
        if self.unit == "utterance" or not self.is_any:
            return self
        return self.of_copies(2)

    def of_copies(self, count: int) -> "Claim":
        """Return its guarantee for several equal rows together (Dwork and Roth, 2014, section 2.3).

        For a secret drawn at random there is none then: redaction misses all its copies or none, so
        that their epsilons are more than added up.

        >>> Claim(1.0, 0.0).of_copies(20).epsilon
        20.0
        """
        is_drawn = self.about == "bayesian" and count > 1
        # Beyond 700 floats hold no more.
        if count * self.epsilon > 700 or not self.is_any or is_drawn:
            return Claim(math.inf, 1.0, self.unit, self.source, self.about)
        factor = sum(math.exp(i * self.epsilon) for i in range(count))
        delta = min(1.0, factor * self.delta)
        return Claim(count * self.epsilon, delta, self.unit, self.source, self.about)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON, where infinity has no number."""
        return {
            "epsilon": self.epsilon if self.is_any else None,
            "delta": self.delta,
            "unit": self.unit,
            "source": self.source,
            "about": self.about,
            "mechanisms": [mechanism.as_dict() for mechanism in self.mechanisms],
        }


def claim_of(folder: Path, about: About = "rows") -> Claim | None:
    """Return the claim of a folder, None where it has none.

    Of rows: spent.json of a generator, or the manifest of a parser. Of secrets: the statements in
    the file confidentiality.json of `genie-dp private train crt`; of those drawn at random, to
    somebody who knows which: epsilon of one that was missed, with delta of one that was drawn.

    Raises:
        GenieError: its files have no statement about secrets, or cannot be read (N057).
    """
    statement = folder / STATEMENT
    if about != "rows":
        facts = _read_facts(statement)
        part = {"unit": "utterance", **_statement_of(facts, about, statement)}
        if about == "bayesian":
            # The amplified epsilon is for who does not know the secret (definition 4); attacks look
            # for one that they know, and may see that it is of a sort that is always missed.
            part["epsilon"] = _statement_of(facts, "secret", statement).get("epsilon")
        return replace(_claim_from(part, statement), about=about)
    if (folder / SPENT).exists():
        claim = _claim_from(_read_facts(folder / SPENT), folder / SPENT)
        return replace(claim, mechanisms=mechanisms_of(folder))
    if (folder / MANIFEST).exists():
        spent = _read_facts(folder / MANIFEST).get("spent")
        return None if spent is None else _claim_from(spent, folder / MANIFEST)
    return None


def mechanisms_of(folder: Path) -> tuple[Mechanism, ...]:
    """Return the mechanisms that a generator's folder lists for its private rows, if any.

    Of its own training alone: other spends of the budget are not in the model.
    """
    if not (folder / CONFIG).exists():
        return ()
    facts = _read_facts(folder / CONFIG).get("training")
    if not isinstance(facts, dict) or not isinstance(facts.get("steps"), dict):
        return ()
    try:
        noise, rate = float(facts["noise multiplier"]), float(facts["sampling rate"])
        steps = [PoissonGaussian(noise, rate, int(count)) for count in facts["steps"].values()]
        codes = facts.get("noise multiplier of the codes")
        return (*([Gaussian(float(codes))] if codes else []), *steps)
    except (KeyError, TypeError, ValueError, GenieError) as error:
        raise _broken_claim(folder / CONFIG, f"no training ({error})") from None


def has_public_rows(folder: Path) -> bool:
    """Return whether a model has a statement of confidentiality: only its private rows have one."""
    return (folder / STATEMENT).exists()


def _statement_of(facts: Mapping[str, Any], about: str, path: Path) -> Mapping[str, Any]:
    statement = facts.get(about)
    if not isinstance(statement, dict):
        raise _broken_claim(path, f"nothing of {about}")
    return statement


def _read_facts(path: Path) -> Mapping[str, Any]:
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise _broken_claim(path, str(error)) from None
    if not isinstance(facts, dict):
        raise _broken_claim(path, "no map")
    return facts


def _claim_from(facts: Mapping[str, Any], path: Path) -> Claim:
    try:
        return Claim(float(facts["epsilon"]), float(facts["delta"]), str(facts["unit"]), path.name)
    except (KeyError, TypeError, ValueError) as error:
        raise _broken_claim(path, f"no guarantee ({error})") from None


def _broken_claim(path: Path, what: str) -> GenieError:
    hint = "name what is claimed with --claim EPSILON and --delta"
    return GenieError(Problem("N057", f"expected a guarantee in {path}, got: {what}", hint=hint))


Verdict = Literal["refuted", "passed", "inconclusive"]
NOISE = "one run, noise"
# No bound is above it (`epsilon`), and halving it so often leaves less than is printed.
_LARGEST, _STEPS = 50.0, 30


@dataclass(frozen=True, slots=True)
class ProvenBound:
    """One lower bound of epsilon beside the claim for as many rows.

    Attributes:
        attack, method: how it was found.
        epsilon: the bound.
        copies: rows that it is for: 1, or all copies of a canary.
        claimed: the claim for so many rows, None for none.
        refutable: the largest epsilon of a row that could have been refuted with so many rows or
            canaries, at the claim's delta, by an attack that makes no mistake; 0 for none, None
            where nothing is claimed.
        unprotected: the same bound for a model that was trained without protection, None without
            one.
        counts: the counts that it was computed from.
    """

    attack: str
    method: str
    epsilon: float
    copies: int
    claimed: float | None
    counts: dict[str, int]
    refutable: float | None = None
    unprotected: float | None = None

    @property
    def refutes(self) -> bool:
        """Return whether the bound is above the claim.

        Of noise it is the most that is refuted, so that the claim itself is refuted, too.
        """
        if self.claimed is None or self.method != NOISE:
            return self.claimed is not None and self.epsilon > self.claimed
        return 0 < self.claimed <= self.epsilon * (1 + 1e-9)

    @property
    def finds_leaks(self) -> bool:
        """Return whether it refutes the claim for the unprotected model."""
        return (
            self.unprotected is not None
            and replace(self, epsilon=self.unprotected, unprotected=None).refutes
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        names = (
            "attack", "method", "epsilon", "copies", "claimed", "counts", "refutes", "refutable",
            "unprotected",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def prove_bounds(
    attacks: Sequence[Attack],
    exposures: Sequence[Exposure],
    claim: Claim | None,
    *,
    copies: int = 1,
    level: float = 0.95,
    seed: int = 0,
    unprotected: tuple[Sequence[Attack], Sequence[Exposure]] | None = None,
) -> list[ProvenBound]:
    """Return all bounds; with the chance `level` none of them is above the true epsilon.

    So each has its part of the error probability, 1 - `level` (Bonferroni).

    Args:
        attacks: on single rows; those on groups are left out.
        exposures: of canaries.
        claim: of the model, None for none.
        copies: how often each canary was in the text.
        level: of all bounds together.
        seed: of the halves.
        unprotected: the same attacks and exposures for a model without protection.
    """
    single = [attack for attack in attacks if attack.group == 1]
    stated = claim if claim is not None and claim.is_any else None
    sure = [_Guessed(attack, stated, seed) for attack in single]
    alpha = (1 - level) / max(1, sum(guessed.count for guessed in sure) + bool(exposures))
    bounds = [
        *(bound for guessed in sure for bound in guessed.bounds(alpha)),
        *([_bound_canaries(exposures, stated, copies, alpha)] if exposures else ()),
    ]
    if unprotected is None:
        return bounds
    beside = prove_bounds(*unprotected, claim, copies=copies, level=level, seed=seed)
    return [
        replace(bound, unprotected=weak.epsilon) for bound, weak in zip(bounds, beside, strict=True)
    ]


class _Guessed:
    """An attack whose guesses are compared with a claim."""

    def __init__(self, attack: Attack, claim: Claim | None, seed: int):
        self.attack, self.stated = attack, claim
        # A canary that is a unit of its own is one unit more, not one exchanged for another.
        self.claim = claim and (claim if attack.is_unit else claim.of_row)
        is_tossed = attack.is_tossed
        self.guessed = guess(attack.members, attack.others, seed=None if is_tossed else seed)
        # Of noise there is nothing to say without a delta, nor of a unit exchanged for another.
        is_known = claim is not None and claim.delta > 0 and self.claim == claim
        self.mechanisms = claim.mechanisms if claim is not None and is_known else ()

    @property
    def count(self) -> int:
        """Return how many bounds there are."""
        return 1 + bool(self.mechanisms)

    def bounds(self, alpha: float) -> Iterator[ProvenBound]:
        """Yield the bounds, each too large with a chance of at most `alpha`."""
        delta = self.claim.delta if self.claim else 0.0
        best = perfect_guesses(self.guessed[0].rows)

        def refutes(epsilon: float, delta: float) -> bool:
            return refutes_any(best, least_under(epsilon, delta), alpha) is not None

        bound = bound_by_guesses(self.guessed, delta, alpha)
        claimed = _epsilon(self.claim)
        largest = _largest_refutable(refutes, self.stated, 1, is_unit=self.attack.is_unit)
        yield self._beside(bound, claimed, largest)
        if self.mechanisms:
            bound = bound_noise(self.guessed, self.mechanisms, delta, alpha)
            claimed = epsilon_of(self.mechanisms, delta)
            largest = bound_noise(best, self.mechanisms, delta, alpha).epsilon
            yield self._beside(bound, claimed, largest)

    def _beside(
        self, found: EpsilonBound, claimed: float | None, largest: float | None
    ) -> ProvenBound:
        return ProvenBound(
            self.attack.name, found.method, found.epsilon, 1, claimed, found.counts, largest
        )


def _bound_canaries(
    exposures: Sequence[Exposure], claim: Claim | None, copies: int, alpha: float
) -> ProvenBound:
    together = claim.of_row.of_copies(copies) if claim else None
    count, size = len(exposures), exposures[0].size
    limit = cache(partial(most_by_ranks, count, size, alpha=alpha))
    return ProvenBound(
        "exposure",
        "ranks",
        bound_by_ranks(exposures, together.delta if together else 0.0, alpha=alpha),
        copies,
        _epsilon(together),
        {"canaries": count},
        _largest_refutable(lambda epsilon, delta: limit(delta) > epsilon, claim, copies),
    )


def _largest_refutable(
    refutes: Callable[[float, float], bool],
    claim: Claim | None,
    copies: int,
    *,
    is_unit: bool = False,
) -> float | None:
    """Return the largest epsilon of a row that can be refuted, None where nothing is claimed.

    The claimed epsilon of several rows rises with epsilon, and so does its delta, which the bound
    falls with: at some epsilon nothing is claimed of them any more.

    Args:
        refutes: whether an attack without a mistake refutes an epsilon and a delta.
        claim: whose delta, unit and kind are taken.
        copies: rows that the bound is for.
        is_unit: whether each is a unit of its own.
    """
    if claim is None:
        return None
    stated = claim

    def can_be_refuted(epsilon: float) -> bool:
        claimed = replace(stated, epsilon=epsilon)
        together = (claimed if is_unit else claimed.of_row).of_copies(copies)
        return together.is_any and refutes(together.epsilon, together.delta)

    low, high = 0.0, _LARGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if can_be_refuted(middle) else (low, middle)
    return low


def _epsilon(claim: Claim | None) -> float | None:
    return claim.epsilon if claim is not None and claim.is_any else None


def largest_refutable(bounds: Sequence[ProvenBound]) -> float | None:
    """Return the largest claim that some bound could have refuted, None where none is claimed."""
    return max((bound.refutable for bound in bounds if bound.refutable is not None), default=None)


def verdict_of(bounds: Sequence[ProvenBound], claim: Claim | None) -> tuple[Verdict | None, str]:
    """Return the verdict and its reason; None where nothing is claimed.

    Args:
        bounds: as `proved` gives them.
        claim: of the model.
    """
    if claim is None or not claim.is_any:
        return None, "nothing is claimed"
    if any(bound.refutes for bound in bounds):
        return "refuted", "a lower bound of epsilon is above what is claimed"
    if not bounds:
        return "inconclusive", "no bound was set beside the claim: no rows, and no canaries"
    limit = largest_refutable(bounds) or 0.0
    if limit <= claim.epsilon:
        claims = f"a claim above {limit:.3g}" if limit else "any claim"
        reason = f"with so many rows and canaries no attack can refute {claims}"
        return "inconclusive", f"{reason}; {claim.epsilon:.4g} is claimed"
    if any(bound.finds_leaks for bound in bounds):
        reason = "the attacks refute the claim for the unprotected model, and not for this one"
        return "passed", reason
    if all(bound.unprotected is None for bound in bounds):
        reason = "no bound is above the claim, but nothing shows that these attacks find a leak: "
        return "inconclusive", reason + "that takes an unprotected model"
    reason = "the attacks are too weak to refute the claim even for the unprotected model"
    return "inconclusive", reason


def refuse_claim(bounds: Sequence[ProvenBound], claim: Claim | None) -> None:
    """Refuse a claim that a bound refutes.

    Raises:
        GenieError: N060, one problem for each such bound.
    """
    if claim is None:
        return
    problems = [
        Problem(
            "N060",
            f"the model leaks more than is claimed: "
            f"epsilon is at least {bound.epsilon:.3g} ({bound.attack}, {bound.method}), "
            f"{bound.claimed:.3g} is claimed for {_name_rows(bound.copies)} "
            f"by {claim.source}",
            hint="the claim is wrong, or members and others differ in more than membership",
        )
        for bound in bounds
        if bound.refutes
    ]
    if problems:
        raise GenieError(problems)


def _name_rows(copies: int) -> str:
    return "a row" if copies == 1 else f"{copies} equal rows"
