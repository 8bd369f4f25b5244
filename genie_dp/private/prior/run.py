"""A release that survives being killed: recorded before it, made once, kept until it is written."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random

from genie_dp.errors import GenieError, Problem
from genie_dp.private.ledger.book import new_run
from genie_dp.private.ledger.files import locked, replace_durably
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.prior.histogram import Plan, Released, Unit, release
from genie_dp.private_prior import spent_of
from genie_dp.records import Spent

Spend = Callable[[Sequence[Mechanism], str], Spent]
"""Records mechanisms under the name of a run, once, and returns all that was spent."""


def released_once(
    work: Path, plan: Plan, units: Callable[[], Iterable[Unit]], spend: Spend, rng: Random
) -> tuple[Released, Spent]:
    """Return the noisy counts of a work folder, made now or by the run that it is left of.

    A run killed before its counts were kept has shown nothing of them: they are drawn again, and
    the ledger knows the run already. One killed later finds its counts, and reads nothing private.

    Args:
        work: a folder of this release alone.
        plan: what is public.
        units: reads the private rows, and raises before anything is spent.
        spend: the ledger's; it refuses what is past the budget.
        rng: the system's generator; another one only in tests.

    Raises:
        GenieError: F009, the counts were there to be seen and are missing; those of `units` and
            `spend`.
    """
    # Two processes that go on with one run would draw twice what is paid once.
    with locked(work / ".lock"):
        kept = work / "released.json"
        if kept.exists():
            content = json.loads(kept.read_text(encoding="utf-8"))
            return Released(**content["released"]), spent_of(content["spent"])
        name = _run(work)
        private = units()
        spent = spend(plan.mechanisms, name)
        found = release(private, plan, rng)
        replace_durably(kept, json.dumps({"released": found.as_dict(), "spent": asdict(spent)}))
        # In one file with the name: without it the next release is paid again.
        replace_durably(work / "run", f"{name} released")
        return found, spent


def _run(work: Path) -> str:
    """Return the name of a run that has released nothing: a new one for every work folder."""
    path = work / "run"
    if not path.exists():
        replace_durably(path, new_run("prior"))
    name, *released = path.read_text(encoding="utf-8").split()
    if released:
        message = f"the counts of {work} are missing: they would be released twice"
        hint = "put released.json back, or start again with --overwrite, which is paid again"
        raise GenieError(Problem("F009", message, hint=hint))
    return name
