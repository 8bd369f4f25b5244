"""Noisy steps of all stages of a generator, paid at once.

One noise multiplier and one entry in the ledger are for all stages of a generator.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.generators.alternating import AlternatingRun
from genie_dp.private.generators.codes import release_codes
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.plans import NO_GUARANTEE, TrainingPlan, TrainingSchedule
from genie_dp.private.generators.selection import UNTOLD, Candidate, SelectionPlan, fit_best
from genie_dp.private.generators.stages import (
    STAGES,
    EncodedRow,
    GeneratorStage,
    LabelledRow,
    StageName,
    encode_row,
)
from genie_dp.private.ledger.guard import Units, paid_by, refuse_budget
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.ledger.once import PaidRun
from genie_dp.private.training.run import (
    PrivateRun,
    digest_of_weights,
    need_opacus,
    train_alone,
    with_limits,
)
from genie_dp.private.training.settings import EngineName
from genie_dp.records import Spent

Listen = Callable[[StageName, Mapping[str, Any]], None]
Spend = Callable[[Sequence[Mechanism]], Spent]


def check_engines(generator: Generator, engine: EngineName) -> None:
    """Refuse an engine that cannot take the models, before anything is paid.

    Raises:
        GenieError: Opacus is not installed (Q020); the engine takes no such model (Q021 to Q025).
    """
    need_opacus()
    from genie_dp.private.training.check import check_engine

    for model in generator.models.values():
        check_engine(model, engine)


def fit(
    generator: Generator,
    units: Units[Sequence[LabelledRow]],
    schedule: TrainingSchedule,
    *,
    public: Sequence[LabelledRow] = (),
    spend: Spend | None = None,
    folder: Path | None = None,
    before_private: Callable[[], None] | None = None,
    listen: Listen | None = None,
) -> tuple[Generator, Spent]:
    """Return the generator trained on the rows, and the guarantee.

    Engines of all stages are checked and checkpoints looked for, then the whole plan is recorded at
    once, and only then is the histogram of codes or the first gradient of a private row taken.
    Stages are independent of each other ("Privacy-Preserving Domain Adaptation of Semantic
    Parsers", section 3.2).

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit.
        schedule: the steps.
        public: rows of the public steps, if there are any.
        spend: the `Payer` of the rows' ledger: it records mechanisms, or raises; called again for
            the same run it records nothing. None for a baseline, whose rows have no budget.
        folder: where checkpoints go, and where an interrupted run goes on from.
        before_private: is called once no stage has a step left before its first private one, as
            long as none has taken that.
        listen: is called with the stage, its steps, and losses of public rows.

    Raises:
        GenieError: the engine cannot be used (Q020 to Q025), there is nothing to learn from (O008),
            the rows of a baseline have a budget (O010), a checkpoint is of another run (O005, Q030)
            or not the newest (Q031), another process trains there (Q032), the budget does not
            suffice, or the run has released other weights (B032); those of `paid_by`.
    """
    if (schedule.plan is None) != (spend is None):
        raise ValueError("expected a ledger for noisy steps, and only for them")
    pay = None if spend is None else paid_by(units, spend)
    if pay is None and units.file is not None:
        refuse_budget(units.file, "training without noise")
    plan, spent = schedule.plan, NO_GUARANTEE
    with ExitStack() as stack:
        if folder is not None:
            for stage in STAGES[generator.kind]:
                stack.enter_context(train_alone(folder / stage.name))
        runs = _new_runs(generator, units, public, schedule, listen)
        for name, run in runs.items():
            stack.callback(run.close)
            if folder is not None:
                run.resume(folder / name)
        if pay is not None and plan is not None:
            pay_plan = _whole_plan_payer(plan, pay)
            for run in runs.values():
                spent = run.pay(pay_plan) or spent
            generator = _with_code_weights(generator, units, plan, pay, folder)
        if before_private is not None:
            _learn_public_part(runs, folder, before_private)
        for name, run in runs.items():
            run.train(folder and folder / name)
    if pay is not None:
        pay.close(_digest_of(generator))
    return generator, spent


def _whole_plan_payer(plan: TrainingPlan, pay: Spend) -> Spend:
    """Return a payer that records the whole plan once, whichever stage asks."""

    def pay_plan(mechanisms: Sequence[Mechanism]) -> Spent:
        if not set(mechanisms) <= set(plan.mechanisms):
            raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
        return pay(plan.mechanisms)

    return pay_plan


def _learn_public_part(
    runs: Mapping[StageName, Any], folder: Path | None, before_private: Callable[[], None]
) -> None:
    """Take the public steps before the first private one, unless a private one was taken."""
    if all(run.number <= run.public_each for run in runs.values()):
        for name, run in runs.items():
            run.train(folder and folder / name, until=run.public_each)
        before_private()


def _new_runs(
    generator: Generator,
    units: Units[Sequence[LabelledRow]],
    public: Sequence[LabelledRow],
    schedule: TrainingSchedule,
    listen: Listen | None,
) -> dict[StageName, AlternatingRun | PrivateRun]:
    """Return the runs of all stages; `fit` pays for all of them at once."""
    epochs = schedule.epochs or (0,) * len(STAGES[generator.kind])
    return {
        stage.name: _new_run(generator, stage, units, public, schedule, count, listen)
        for stage, count in zip(STAGES[generator.kind], epochs, strict=True)
    }


def _new_run(
    generator: Generator,
    stage: GeneratorStage,
    units: Units[Sequence[LabelledRow]],
    public: Sequence[LabelledRow],
    schedule: TrainingSchedule,
    epochs: int,
    listen: Listen | None,
) -> AlternatingRun | PrivateRun:
    model, name = generator.models[stage.name], stage.name
    of_stage = None if listen is None else partial(listen, name)
    plan, training = schedule.plan, schedule.noisy
    noisy = None if plan is None else training.for_stage(plan, name)

    def encode_rows(rows: Sequence[LabelledRow]) -> list[EncodedRow]:
        usable = (row for row in rows if _is_usable(row, stage))
        return [encode_row(stage, r, generator.tokenizer, longest=model.longest) for r in usable]

    private, public_rows = Units(map(encode_rows, units)), encode_rows(public)
    if not public_rows and noisy is None:
        message = f"expected rows to learn from for the stage {name}, got none"
        raise GenieError(Problem("O008", message, hint="two-stage needs rows with programs"))
    if schedule.public is None:
        assert noisy is not None
        return PrivateRun(model, private, noisy, listen=of_stage)
    return AlternatingRun(
        model,
        public_rows,
        private,
        epochs=epochs,
        plain=schedule.public,
        noisy=noisy,
        checkpoint_every=training.checkpoint_every,
        listen=of_stage,
    )


def _is_usable(row: LabelledRow, stage: GeneratorStage) -> bool:
    wants_program = stage.name == "program" or stage.prompt == "program"
    return bool(row.utterance and (row.program or not wants_program))


def fit_by_trials(
    generator: Generator,
    units: Units[Sequence[LabelledRow]],
    plan: SelectionPlan,
    *,
    spend: Spend,
    folder: Path,
) -> tuple[Generator, Spent, Candidate]:
    """Return the best of a random number of trainings, the guarantee, and its settings.

    All is recorded at once, before the first step of the first trial.

    Args:
        generator: publicly pretrained, or new; its models are trained in place.
        units: private rows by unit.
        plan: of the trials.
        spend: the `Payer` of the rows' ledger.
        folder: where trials are kept, and where an interrupted run goes on from.

    Raises:
        GenieError: those of `fit`.
    """
    for candidate in plan.candidates:  # those that no run has are refused here
        for stage in STAGES[generator.kind]:
            candidate.training.for_stage(candidate.plan, stage.name)
    pay = paid_by(units, spend)
    spent = with_limits(pay(plan.mechanisms))

    def fit_one(
        candidate: Candidate, learned: Units[Sequence[LabelledRow]], here: Path
    ) -> Generator:
        def check_recorded(mechanisms: Sequence[Mechanism]) -> Spent:
            if tuple(mechanisms) != candidate.plan.mechanisms:
                raise ValueError(f"expected mechanisms of the plan, got {mechanisms}")
            return pay(plan.mechanisms)

        schedule = TrainingSchedule(candidate.plan, candidate.training)
        return fit(generator, learned, schedule, spend=check_recorded, folder=here)[0]

    generator, chosen = fit_best(generator, units, plan, fit=fit_one, folder=folder)
    if chosen is None:
        some = plan.candidates[0]
        chosen = replace(some, plan=replace(some.plan, steps=dict.fromkeys(some.plan.steps, 0)))
    pay.close(_digest_of(generator))
    return generator, replace(spent, not_covered=(*spent.not_covered, UNTOLD)), chosen


def _digest_of(generator: Generator) -> str:
    """Return the digest of a generator for the ledger: of all that it releases."""
    digest = digest_of_weights(generator.models.values())
    return " ".join([digest, *map(repr, generator.weights)])


def _with_code_weights(
    generator: Generator,
    units: Sequence[Sequence[LabelledRow]],
    plan: TrainingPlan,
    spend: Spend,
    folder: Path | None,
) -> Generator:
    """Return the generator with the noisy distribution of its codes, if it has any.

    It is drawn once in the life of a run.

    Two processes that go on with one run would draw twice a histogram that is paid once: nobody
    else may train in the folder meanwhile (`train_alone`).
    """
    codes = generator.codes
    if codes is None:
        return generator

    def draw() -> tuple[float, ...]:
        spend(plan.mechanisms)  # who was here before may have finished the run, and cleared it
        rows = [[row.code for row in unit] for unit in units if unit]
        return release_codes(codes, rows, plan.code_noise)

    if folder is None:
        return generator.with_weights(draw())
    # In the folder of the stage: without it, the run has another name and is paid again.
    there = folder / STAGES[generator.kind][-1].name
    message = f"the codes of {there} are missing: they would be released twice"
    hint = "put them back, or train in another folder, which is paid again"
    lost = Problem("Q031", message, hint=hint)
    # The ledger learns of them with the models (`fit`).
    text = PaidRun.enter(there).release(
        "codes.json", lambda: json.dumps(draw()), lambda text: None, lost=lost, part="codes"
    )
    return generator.with_weights(json.loads(text))
