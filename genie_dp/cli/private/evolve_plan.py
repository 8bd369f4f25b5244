"""What an evolution will cost: the table's part and the votes', which fit into the budget."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.private.evolution.recipe import Recipe
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.calibration import noise_multiplier_for
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism
from genie_dp.private.tables.release import mechanisms_of, rho_for
from genie_dp.private.tables.schema import Schema


@dataclass(frozen=True, slots=True)
class Plan:
    """The noise of an evolution, settled before private rows are read.

    Attributes:
        epsilon: of the run by itself; of the whole ledger where the rest of a budget is used.
        table_epsilon: of the table by itself; 0 where none is released.
        noise_multiplier: of each vote.
    """

    epsilon: float
    table_epsilon: float
    noise_multiplier: float


def plan_of(
    recipe: Recipe, schema: Schema | None, ledger: Ledger, *, epsilon: float, is_rest: bool
) -> Plan:
    """Return the plan of a run that begins.

    The table is released for its share of epsilon, by itself. Votes get the least noise with which
    table and votes together, composed, cost epsilon: more than the rest of it by plain sums.

    Args:
        recipe: the settings.
        schema: of the table that is to be released; None for none.
        ledger: of the private rows.
        epsilon: of the run, or of everything with `is_rest`.
        is_rest: whether what was spent before is part of epsilon.

    Raises:
        GenieError: nothing is left (B004), or it does not fit (B023); T505, no table for so little.
    """
    budget = ledger.budget
    before = ledger.mechanisms if is_rest else ()
    table_epsilon = 0.0
    if schema is not None and recipe.metadata is not None:
        free = epsilon - (ledger.epsilon_with() if is_rest else 0.0)
        table_epsilon = recipe.metadata.share * max(0.0, free)
    table = table_mechanisms(recipe, schema, table_epsilon, budget.delta)
    noise = noise_multiplier_for(
        epsilon,
        budget.delta,
        rate=1.0,
        steps=recipe.iterations,
        before=(*before, *table),
        accountant=budget.accountant,
    )
    ledger.check_fits([*table, Gaussian(noise, recipe.iterations)])
    return Plan(epsilon, table_epsilon if table else 0.0, noise)


def table_mechanisms(
    recipe: Recipe, schema: Schema | None, epsilon: float, delta: float
) -> Sequence[Mechanism]:
    """Return what the table is for a ledger."""
    metadata = recipe.metadata
    if schema is None or metadata is None or metadata.method == "uniform":
        return ()
    return mechanisms_of(metadata.method, len(schema.columns), rho_for(epsilon, delta))


def known_plan(path: Path) -> Plan | None:
    """Return the plan of the run that a file is left of."""
    if not path.exists():
        return None
    return Plan(**json.loads(path.read_text(encoding="utf-8")))


def save_plan(plan: Plan, path: Path) -> None:
    """Write a plan, whole or not at all."""
    replace_durably(path, json.dumps(asdict(plan)))


def epsilon_of_options(given: float | None, recipe: float | None, ledger: Ledger) -> float:
    """Return what a run may cost.

    Raises:
        GenieError: U008, neither the options nor the recipe say it.
    """
    found = given or recipe
    if found is None:
        hint = f"give --epsilon, or --rest; the budget has {ledger.budget.epsilon:g} in all"
        message = "nobody said what the run may cost, and there is no default"
        raise GenieError(Problem("U008", message, hint=hint))
    return found
