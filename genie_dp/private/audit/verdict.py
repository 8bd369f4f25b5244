"""What attacks prove, beside what is claimed; a bound above the claim refutes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.claims import Claim
from genie_dp.private.audit.epsilon import METHODS, bounds
from genie_dp.private.audit.exposure import Exposure, group_bound
from genie_dp.private.audit.membership import Attack


@dataclass(frozen=True, slots=True)
class Proved:
    """One lower bound of epsilon beside the claim for as many rows.

    Attributes:
        attack, method: how it was found.
        epsilon: the bound.
        copies: rows that it is for: 1, or all copies of a canary.
        claimed: what is claimed of so many rows, None for nothing.
        counts: what it was found from.
    """

    attack: str
    method: str
    epsilon: float
    copies: int
    claimed: float | None
    counts: dict[str, int]

    @property
    def refutes(self) -> bool:
        """Return whether the bound is above the claim."""
        return self.claimed is not None and self.epsilon > self.claimed

    def as_dict(self) -> dict[str, Any]:
        """Return the fields for JSON."""
        names = ("attack", "method", "epsilon", "copies", "claimed", "counts", "refutes")
        return {name: getattr(self, name) for name in names}


def proved(
    attacks: Sequence[Attack],
    exposures: Sequence[Exposure],
    claim: Claim | None,
    *,
    copies: int = 1,
    level: float = 0.95,
    seed: int = 0,
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
    """
    single = [one for one in attacks if one.group == 1]
    alpha = (1 - level) / max(1, len(METHODS) * len(single) + bool(exposures))
    row = claim.of_row if claim is not None and claim.is_any else None
    delta = row.delta if row is not None else 0.0
    found = [
        Proved(one.name, bound.method, bound.epsilon, 1, _epsilon(row), bound.counts)
        for one in single
        for bound in bounds(one.members, one.others, delta=delta, alpha=alpha, seed=seed)
    ]
    if exposures:
        together = row.of_copies(copies) if row is not None else None
        most = together.delta if together is not None else 0.0
        bits = group_bound(exposures, most, alpha=alpha)
        counts = {"canaries": len(exposures)}
        found.append(Proved("exposure", "ranks", bits, copies, _epsilon(together), counts))
    return found


def _epsilon(claim: Claim | None) -> float | None:
    return claim.epsilon if claim is not None and claim.is_any else None


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
