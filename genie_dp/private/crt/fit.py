"""Training by one of the methods that the paper compares: the stages of a generator, one by one."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.course import NOTHING, PAID, Course, Rows, check_selective, refuse_budget
from genie_dp.private.crt.run import AlternatingRun
from genie_dp.private.crt.selective import SelectiveRun, stretches
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.plans import Plan
from genie_dp.private.generators.recurrent import RecurrentLM
from genie_dp.private.generators.stages import STAGES, Labelled, Stage, StageName, encoded
from genie_dp.private.ledger.guard import Units, paid_by
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.training.checkpoint import alone, digest_of_weights
from genie_dp.records import Spent

Told = Callable[[StageName, Mapping[str, Any]], None]
Spend = Callable[[Sequence[Mechanism]], Spent]


def fit(
    generator: Generator,
    rows: Rows,
    course: Course,
    *,
    spend: Spend | None = None,
    folder: Path | None = None,
    listen: Told | None = None,
) -> Spent:
    """Train a generator in place, and return what was spent: nothing is promised of a baseline.

    Engines of all stages are checked and checkpoints looked for, then the whole plan is recorded at
    once, and only then is the first gradient of a private row taken.

    Args:
        generator: its models are trained in place.
        rows: as `rows_of` gives them.
        course: what is done.
        spend: the `Payer` of the rows' ledger; needed for the methods of `PAID`.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told the stage, steps, and losses of public rows.

    Raises:
        GenieError: the engine cannot be used (Q020 to Q025), there is nothing to learn from (O008),
            the rows of a baseline have a budget (O010), s-dp has another model than an LSTM (O009),
            a checkpoint is of another run (O005) or not the newest (Q031), another process trains
            there (Q032), the budget does not suffice, or the run has released other weights
            (B032); those of `paid_by`.
    """
    if (course.method in PAID) != (spend is not None):
        raise ValueError(f"expected a ledger for {PAID}, and only for them: {course.method}")
    pay = None if spend is None else paid_by(rows.private, spend)
    if pay is None and rows.private.file is not None:
        refuse_budget(rows.private.file, course.method)
    runs: dict[StageName, AlternatingRun] = {}
    spent = NOTHING
    with ExitStack() as held:
        if folder is not None:
            for stage in STAGES[generator.kind]:
                held.enter_context(alone(folder / stage.name))
        for number, stage in enumerate(STAGES[generator.kind]):
            runs[stage.name] = _run(generator, rows, course, stage, number, listen)
            held.callback(runs[stage.name].close)
            if folder is not None:
                runs[stage.name].resume(folder / stage.name)
        for run in runs.values():
            paid = run.pay(_recorded(course.plan, pay))
            if paid is not None and course.method in PAID:
                spent = paid
        for name, run in runs.items():
            every = course.training.checkpoint_every
            run.train(folder and folder / name, checkpoint_every=every)
    if pay is not None:
        pay.close(digest_of_weights(generator.models.values()))
    return spent


def _recorded(plan: Plan | None, spend: Spend | None) -> Spend:
    """Return what records the whole plan, whichever stage asks; the same run is recorded once."""
    if plan is None or spend is None:
        return lambda mechanisms: NOTHING
    return lambda mechanisms: spend(plan.mechanisms)


def _run(
    generator: Generator,
    rows: Rows,
    course: Course,
    stage: Stage,
    number: int,
    listen: Told | None,
) -> AlternatingRun:
    model, name = generator.models[stage.name], stage.name
    told = None if listen is None else _teller(name, listen)
    noisy = None if course.plan is None else course.training.of(course.plan, name)
    if course.method == "s-dp":
        return _selective(generator, rows, course, noisy, told)

    def read(row: Labelled) -> Any:
        return encoded(stage, row, generator.tokenizer, longest=model.longest)

    wants_program = name == "program" or stage.prompt == "program"
    public = [
        read(row) for row in rows.public if row.utterance and (row.program or not wants_program)
    ]
    # `fit` pays for all stages.
    private = Units(
        [read(row) for row in unit if row.utterance and (row.program or not wants_program)]
        for unit in rows.private
    )
    if not public and noisy is None:
        message = f"expected rows to learn from for the stage {name}, got none"
        raise GenieError(Problem("O008", message, hint="two-stage needs rows with programs"))
    return AlternatingRun(
        model,
        public,
        private,
        epochs=course.epochs[number],
        plain=course.plain,
        noisy=noisy,
        listen=told,
    )


def _selective(
    generator: Generator, rows: Rows, course: Course, noisy: Any, told: Any
) -> SelectiveRun:
    model = generator.models["utterance"]
    check_selective(is_recurrent=isinstance(model, RecurrentLM), kind=generator.kind)
    marked = [
        (stretches(words, generator.tokenizer, longest=model.longest),) for words in rows.words
    ]
    return SelectiveRun(
        model, marked, plain=course.plain, noisy=noisy, states=course.states, listen=told
    )


def _teller(name: StageName, listen: Told) -> Callable[[Mapping[str, Any]], None]:
    return lambda event: listen(name, event)
