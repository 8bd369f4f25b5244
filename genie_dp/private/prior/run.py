"""Noisy counts that survive being killed: paid before, drawn once, kept until they are written."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from genie_dp.private.ledger.guard import Units, closing, paid_by
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import made_once
from genie_dp.private.prior.histogram import Plan, Released, Unit, release
from genie_dp.private.secure import noise
from genie_dp.private_prior import spent_of
from genie_dp.records import Spent

Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""


def released_once(
    work: Path, plan: Plan, units: Callable[[], Units[Unit]], spend: Spend
) -> tuple[Released, Spent]:
    """Return the noisy counts of a work folder, made now or by the run that it is left of.

    Args:
        work: a folder of this release alone.
        plan: what is public.
        units: reads the private rows (`read.units_of`), and raises before anything is spent.
        spend: the `Payer` of their ledger; it refuses what is past the budget.

    Raises:
        GenieError: F009, the counts were there to be seen and are missing; those of `units`,
            `paid_by` and `made_once`.
    """

    def text(name: str) -> str:
        private = units()
        spent = paid_by(private, spend)(plan.mechanisms, name)
        found = release(private, plan, noise("prior"))
        return json.dumps({"released": found.as_dict(), "spent": asdict(spent)})

    close = closing(spend).close
    kept = json.loads(made_once(work, "prior", text, close, what="counts", code="F009"))
    return Released(**kept["released"]), spent_of(kept["spent"])
