"""Private training of a generator: one noise multiplier, one entry in the ledger for all of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path

from genie_dp.private.generators.codes import Codes, released
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.plans import Amount, Plan, Training, plan_of
from genie_dp.private.generators.released import load_weights, save_weights
from genie_dp.private.generators.stages import STAGES, Labelled, StageName, encoded
from genie_dp.private.ledger.guard import Units, paid_by
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.training.checkpoint import (
    alone,
    check_unreleased,
    digest_of_weights,
    note_released,
)
from genie_dp.private.training.libraries import need_opacus
from genie_dp.private.training.run import train_privately
from genie_dp.private.training.settings import EngineName
from genie_dp.records import Spent

__all__ = ["Amount", "Plan", "Training", "check_engines", "fit_privately", "plan_of"]
Told = Callable[[StageName, Mapping[str, int]], None]
_CODES = "codes"


def fit_privately(
    generator: Generator,
    units: Units[Sequence[Labelled]],
    plan: Plan,
    training: Training,
    *,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path | None = None,
    listen: Told | None = None,
) -> tuple[Generator, Spent]:
    """Return the generator as private rows teach it, and what was spent.

    All that the run will do is recorded at once, before the histogram or the first step; every
    stage then draws on that entry. Stages are independent of each other (section 3.2).

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit, as `programs.private_rows` gives them.
        plan: what will be done.
        training: how.
        spend: the `Payer` of the rows' ledger: it records mechanisms, or raises; called again for
            the same run it records nothing.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told the stage and its steps, and nothing else.

    Raises:
        GenieError: those of `train_privately` and `paid_by`; the budget does not suffice.
    """
    check_engines(generator, training.engine)
    stages = STAGES[generator.kind]
    # Settings that no run has are refused here: nothing is paid yet.
    settings = [training.of(plan, stage.name) for stage in stages]
    pay = paid_by(units, spend)
    spent = pay(plan.mechanisms)
    if generator.codes is not None:
        weights = _weights(generator, units, plan, pay, folder)
        generator = generator.with_weights(weights)
    for stage, of_stage in zip(stages, settings, strict=True):
        model = generator.models[stage.name]
        # Paid above, for all stages.
        rows = Units(
            [encoded(stage, row, generator.tokenizer, longest=model.longest) for row in unit]
            for unit in units
        )
        trained = train_privately(
            model,
            rows,
            of_stage,
            spend=_part_of(plan, pay),
            folder=folder and folder / stage.name,
            listen=_listener(stage.name, listen),
        )
        spent = trained.spent
    told = [digest_of_weights(generator.models.values()), *map(repr, generator.weights)]
    pay.close(" ".join(told))
    return generator, spent


def check_engines(generator: Generator, engine: EngineName) -> None:
    """Refuse an engine that cannot take the models, before anything is paid.

    Raises:
        GenieError: Opacus is not installed (Q020); the engine takes no such model (Q021 to Q025).
    """
    need_opacus()
    from genie_dp.private.training.check import check_engine

    for model in generator.models.values():
        check_engine(model, engine)


def _part_of(
    plan: Plan, spend: Callable[[Sequence[Mechanism]], Spent]
) -> Callable[[Sequence[Mechanism]], Spent]:
    """Return what says of a stage's mechanisms that the run has recorded them."""

    def recorded(mechanisms: Sequence[Mechanism]) -> Spent:
        if not set(mechanisms) <= set(plan.mechanisms):
            raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
        return spend(plan.mechanisms)

    return recorded


def _listener(name: StageName, listen: Told | None) -> Callable[[dict[str, int]], None] | None:
    if listen is None:
        return None
    told = listen
    return lambda event: told(name, event)


def _weights(
    generator: Generator,
    units: Sequence[Sequence[Labelled]],
    plan: Plan,
    spend: Callable[[Sequence[Mechanism]], Spent],
    folder: Path | None,
) -> tuple[float, ...]:
    """Return the noisy distribution of codes; it is drawn once in the life of a run."""
    codes = generator.codes
    assert codes is not None
    # In the folder of the stage: without it, the run has another name and is paid again.
    there = folder and folder / STAGES[generator.kind][-1].name
    # Two processes that go on with one run would draw twice what is paid once.
    with alone(there) if there else nullcontext():
        spend(plan.mechanisms)  # who was here before may have finished the run, and cleared it
        found = load_weights(there)
        if found is None:
            found = _drawn_once(codes, units, plan, there)
    return found


def _drawn_once(
    codes: Codes,
    units: Sequence[Sequence[Labelled]],
    plan: Plan,
    there: Path | None,
) -> tuple[float, ...]:
    """Return the noisy distribution, kept and noted in a folder; refuse it the second time."""
    if there:
        check_unreleased(there, _CODES)
    rows = [[row.code for row in unit] for unit in units if unit]
    found = released(codes, rows, plan.code_noise)
    if there:
        save_weights(there, found)
        note_released(there, _CODES)
    return found
