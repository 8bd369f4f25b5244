"""Training by one of the methods that the paper compares: the stages of a generator, one by one."""

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from genie_dp.errors import GenieError, Problem
from genie_dp.private.crt.run import AlternatingRun, PublicSettings
from genie_dp.private.crt.selective import SelectiveRun, SelectiveSettings, stretches
from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.plans import Plan, Training
from genie_dp.private.generators.recurrent import RecurrentLM
from genie_dp.private.generators.stages import STAGES, Kind, Labelled, Stage, StageName, encoded
from genie_dp.private.ledger.accounting import Accountant
from genie_dp.private.ledger.calibration import noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Mechanism
from genie_dp.private.training.checkpoint import alone
from genie_dp.records import Spent

# non-private and masked are the same steps on other rows: before and after redaction.
Method = Literal["crt", "dp", "non-private", "masked", "s-dp"]
METHODS: tuple[Method, ...] = get_args(Method)
# Those whose private steps are paid from a budget; the others promise nothing.
PAID = ("crt", "dp")
Told = Callable[[StageName, Mapping[str, Any]], None]
Spend = Callable[[Sequence[Mechanism]], Spent]

PUBLIC_ROWS = (
    "rows marked public: they were learned from without noise; what is said of secrets in them is "
    "in confidentiality.json"
)
NOTHING = Spent(
    math.inf,
    0.0,
    "utterance",
    "add-or-remove-one",
    "none",
    ("anything: this model is a baseline, trained without a guarantee",),
)


@dataclass(frozen=True, slots=True)
class Rows:
    """What is learned from; it shows nothing of it.

    Attributes:
        private: rows by unit.
        public: rows.
        words: for s-dp, the words of each row, and whether each is sensitive.
    """

    private: Sequence[Sequence[Labelled]] = field(default=(), repr=False)
    public: Sequence[Labelled] = field(default=(), repr=False)
    words: Sequence[Sequence[tuple[str, bool]]] = field(default=(), repr=False)


def rows_of(
    method: Method, private: Sequence[Sequence[Labelled]], public: Sequence[Labelled]
) -> Rows:
    """Return the parts as a method sees them.

    "dp" takes each public row for a unit of its own. The baselines take all for public.
    """
    match method:
        case "crt":
            return Rows(private, public)
        case "dp":
            return Rows((*private, *((row,) for row in public)), ())
        case _:
            return Rows((), (*(row for unit in private for row in unit), *public))


def plan_of(
    kind: Kind,
    epochs: Sequence[int],
    rate: float,
    batch: float,
    *,
    epsilon: float,
    delta: float,
    before: Sequence[Mechanism] = (),
    accountant: Accountant = "rdp",
) -> Plan:
    """Return the plan of the private steps with the least noise that epsilon allows.

    Args:
        kind: which stages there are.
        epochs: of each; an epoch is as many steps as draw a unit once on average.
        rate, batch: chance of a unit to be in a batch, and units of one on average.
        epsilon, delta: for adding or removing one unit of the private part.
        before: what was spent already, to use up what is left; () for this run alone.
        accountant: who computes epsilon.
    """
    steps = steps_of(kind, epochs, rate)
    noise = noise_multiplier_for(
        epsilon, delta, rate=rate, steps=sum(steps.values()), before=before, accountant=accountant
    )
    return Plan(noise, rate, batch, steps)


def steps_of(kind: Kind, epochs: Sequence[int], rate: float) -> dict[StageName, int]:
    """Return the private steps of each stage: whole epochs of them.

    Raises:
        GenieError: there are not as many epochs as stages (O007).

    >>> steps_of("one-stage", [3], 0.3)
    {'utterance': 12}
    """
    stages = STAGES[kind]
    if len(epochs) != len(stages) or min(epochs) < 1:
        names = " and ".join(stage.name for stage in stages)
        message = f"expected whole epochs of {kind} for {names}, got {list(epochs)}"
        hint = "give --epochs T1/T2, such as 2/8" if len(stages) == 2 else "give --epochs T"
        raise GenieError(Problem("O007", message, hint=hint))
    each = math.ceil(1 / rate)
    return {stage.name: n * each for stage, n in zip(stages, epochs, strict=True)}


@dataclass(frozen=True, slots=True)
class Course:
    """How a generator is trained; public numbers only.

    Attributes:
        method: by which of the methods.
        epochs: of each stage.
        plan: the private steps; None without any.
        training: how they are taken.
        plain: how the public ones are.
        states: of s-dp.
    """

    method: Method
    epochs: tuple[int, ...]
    plan: Plan | None = None
    training: Training = field(default_factory=Training)
    plain: PublicSettings = field(default_factory=PublicSettings)
    states: SelectiveSettings = field(default_factory=SelectiveSettings)


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
        spend: records the plan in the ledger; needed for the methods of `PAID`.
        folder: where checkpoints go, and where an interrupted run goes on from.
        listen: is told the stage, steps, and losses of public rows.

    Raises:
        GenieError: the engine cannot be used (Q020 to Q025), there is nothing to learn from (O008),
            s-dp has another model than an LSTM (O009), a checkpoint is of another run (O005) or
            not the newest (Q031), another process trains there (Q032), or the budget does not
            suffice.
    """
    if (course.method in PAID) != (spend is not None):
        raise ValueError(f"expected a ledger for {PAID}, and only for them: {course.method}")
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
            paid = run.pay(_recorded(course.plan, spend))
            if paid is not None and course.method in PAID:
                spent = paid
        for name, run in runs.items():
            every = course.training.checkpoint_every
            run.train(folder and folder / name, checkpoint_every=every)
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
    noisy = None if course.plan is None else course.training.of(course.plan, name, number=number)
    if course.method == "s-dp":
        return _selective(generator, rows, course, noisy, told)

    def read(row: Labelled) -> Any:
        return encoded(stage, row, generator.tokenizer, longest=model.longest)

    wants_program = name == "program" or stage.prompt == "program"
    public = [
        read(row) for row in rows.public if row.utterance and (row.program or not wants_program)
    ]
    private = [
        [read(row) for row in unit if row.utterance and (row.program or not wants_program)]
        for unit in rows.private
    ]
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


def check_selective(*, is_recurrent: bool, kind: str) -> None:
    """Refuse selective DP-SGD of other models than an LSTM of utterances (O009)."""
    if not is_recurrent or kind != "one-stage":
        message = "selective DP-SGD is for recurrent language models of utterances alone"
        raise GenieError(Problem("O009", message, hint="give --model lstm and --kind one-stage"))


def _teller(name: StageName, listen: Told) -> Callable[[Mapping[str, Any]], None]:
    return lambda event: listen(name, event)
