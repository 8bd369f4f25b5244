"""What attacks prove, beside what is claimed; a bound above the claim refutes it.

An attack that finds nothing says nothing, unless it would have found something. So two more figures
stand beside each bound: the largest claim that it could have refuted if the attack had made no
mistake, and what it proves of a model that was trained as this one, but without any protection. An
audit passes a model where it refutes the claim for that one and not for this one.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.claims import Claim
from genie_dp.private.audit.epsilon import (
    METHODS,
    Method,
    bounds,
    most_by_errors,
    most_by_guesses,
)
from genie_dp.private.audit.exposure import Exposure, group_bound, most_of_canaries
from genie_dp.private.audit.membership import Attack

Verdict = Literal["refuted", "passed", "inconclusive"]
_MOST: dict[Method, Callable[[int, int, float, float], float]] = {
    "error rates": most_by_errors,
    "one run": most_by_guesses,
}
# No bound is above it (`epsilon`), and halving it so often leaves less than is printed.
_LARGEST, _STEPS = 50.0, 30


@dataclass(frozen=True, slots=True)
class Proved:
    """One lower bound of epsilon beside the claim for as many rows.

    Attributes:
        attack, method: how it was found.
        epsilon: the bound.
        copies: rows that it is for: 1, or all copies of a canary.
        claimed: what is claimed of so many rows, None for nothing.
        refutable: the largest epsilon of a row that could have been refuted with so many rows or
            canaries, at the claim's delta, by an attack that makes no mistake; 0 for none, None
            where nothing is claimed.
        unprotected: the same bound for a model that was trained without protection, None without
            one.
        counts: what it was found from.
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
        """Return whether the bound is above the claim."""
        return self.claimed is not None and self.epsilon > self.claimed

    @property
    def finds_leaks(self) -> bool:
        """Return whether it refutes the claim for the unprotected model."""
        theirs, claimed = self.unprotected, self.claimed
        return theirs is not None and claimed is not None and theirs > claimed

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        names = (
            "attack", "method", "epsilon", "copies", "claimed", "counts", "refutes", "refutable",
            "unprotected",
        )  # fmt: skip
        return {name: getattr(self, name) for name in names}


def proved(
    attacks: Sequence[Attack],
    exposures: Sequence[Exposure],
    claim: Claim | None,
    *,
    copies: int = 1,
    level: float = 0.95,
    seed: int = 0,
    unprotected: tuple[Sequence[Attack], Sequence[Exposure]] | None = None,
) -> list[Proved]:
    """Return all bounds; with the chance `level` none of them is above the true epsilon.

    So each has its part of what is left of 1 (Bonferroni).

    Args:
        attacks: on single rows; those on groups are left out.
        exposures: of canaries.
        claim: of the model, None for none.
        copies: how often each canary was in the text.
        level: of all bounds together.
        seed: of the halves.
        unprotected: the same attacks and exposures for a model without protection.
    """
    single = [one for one in attacks if one.group == 1]
    alpha = (1 - level) / max(1, len(METHODS) * len(single) + bool(exposures))
    some = claim if claim is not None and claim.is_any else None
    found = [
        *(bound for one in single for bound in _of_rows(one, some, alpha, seed)),
        *([_of_canaries(exposures, some, copies, alpha)] if exposures else ()),
    ]
    if unprotected is None:
        return found
    theirs = proved(*unprotected, claim, copies=copies, level=level, seed=seed)
    return [
        replace(one, unprotected=other.epsilon) for one, other in zip(found, theirs, strict=True)
    ]


def _of_rows(attack: Attack, claim: Claim | None, alpha: float, seed: int) -> list[Proved]:
    row = claim.of_row if claim else None
    sizes = len(attack.members), len(attack.others)
    delta = row.delta if row else 0.0
    return [
        Proved(
            attack.name,
            bound.method,
            bound.epsilon,
            1,
            _epsilon(row),
            bound.counts,
            _refutable(partial(_most_of_rows, bound.method, sizes, alpha), claim, 1),
        )
        for bound in bounds(attack.members, attack.others, delta=delta, alpha=alpha, seed=seed)
    ]


def _most_of_rows(method: Method, sizes: tuple[int, int], alpha: float, delta: float) -> float:
    return _MOST[method](*sizes, delta, alpha)


def _of_canaries(
    exposures: Sequence[Exposure], claim: Claim | None, copies: int, alpha: float
) -> Proved:
    together = claim.of_row.of_copies(copies) if claim else None
    count, size = len(exposures), exposures[0].size
    return Proved(
        "exposure",
        "ranks",
        group_bound(exposures, together.delta if together else 0.0, alpha=alpha),
        copies,
        _epsilon(together),
        {"canaries": count},
        _refutable(partial(most_of_canaries, count, size, alpha=alpha), claim, copies),
    )


def _refutable(most: Callable[[float], float], claim: Claim | None, copies: int) -> float | None:
    """Return the largest epsilon of a row that can be refuted, None where nothing is claimed.

    What is claimed of several rows rises with epsilon, and so does its delta, which the bound
    falls with: at some epsilon nothing is claimed of them any more.

    Args:
        most: the largest bound at a delta.
        claim: whose delta, unit and kind are taken.
        copies: rows that the bound is for.
    """
    if claim is None:
        return None
    stated, most = claim, cache(most)

    def can_be_refuted(epsilon: float) -> bool:
        together = replace(stated, epsilon=epsilon).of_row.of_copies(copies)
        return together.is_any and most(together.delta) > together.epsilon

    low, high = 0.0, _LARGEST
    for _ in range(_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if can_be_refuted(middle) else (low, middle)
    return low


def _epsilon(claim: Claim | None) -> float | None:
    return claim.epsilon if claim is not None and claim.is_any else None


def largest_refutable(found: Sequence[Proved]) -> float | None:
    """Return the largest claim that some bound could have refuted, None where none is claimed."""
    return max((one.refutable for one in found if one.refutable is not None), default=None)


def verdict_of(found: Sequence[Proved], claim: Claim | None) -> tuple[Verdict | None, str]:
    """Return the verdict and its reason; None where nothing is claimed.

    Args:
        found: the bounds, as `proved` gives them.
        claim: of the model.
    """
    if claim is None or not claim.is_any:
        return None, "nothing is claimed"
    if any(one.refutes for one in found):
        return "refuted", "a lower bound of epsilon is above what is claimed"
    if not found:
        return "inconclusive", "no bound was set beside the claim: no rows, and no canaries"
    most = largest_refutable(found) or 0.0
    if most <= claim.epsilon:
        claims = f"a claim above {most:.3g}" if most else "any claim"
        reason = f"with so many rows and canaries no attack can refute {claims}"
        return "inconclusive", f"{reason}; {claim.epsilon:.4g} is claimed"
    if any(one.finds_leaks for one in found):
        reason = "the attacks refute the claim for the unprotected model, and not for this one"
        return "passed", reason
    if all(one.unprotected is None for one in found):
        reason = "no bound is above the claim, but nothing shows that these attacks find a leak: "
        return "inconclusive", reason + "that takes an unprotected model"
    reason = "the attacks are too weak to refute the claim even for the unprotected model"
    return "inconclusive", reason


def check(found: Sequence[Proved], claim: Claim | None) -> None:
    """Refuse a claim that a bound refutes.

    Raises:
        GenieError: N060, one problem for each such bound.
    """
    if claim is None:
        return
    problems = [
        Problem(
            "N060",
            f"the model leaks more than is claimed: epsilon is at least {one.epsilon:.3g} "
            f"({one.attack}, {one.method}), {one.claimed:.3g} is claimed for {_rows(one.copies)} "
            f"by {claim.source}",
            hint="the claim is wrong, or members and others differ in more than membership",
        )
        for one in found
        if one.refutes
    ]
    if problems:
        raise GenieError(problems)


def _rows(copies: int) -> str:
    return "a row" if copies == 1 else f"{copies} equal rows"
