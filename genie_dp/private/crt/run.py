"""Confidentially redacted training as a stage, and its baselines."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from genie_dp import __version__
from genie_dp.languages import get_language
from genie_dp.private.crt.config import (
    METHODS,
    PAID,
    Method,
    describe_limits,
)
from genie_dp.private.crt.rows import MASK, check_units_apart, read_method_rows
from genie_dp.private.crt.statements import (
    NOTHING_PUBLIC,
    UNMEASURED,
    Record,
    Redaction,
    Statement,
    id_of,
    keep_record,
    parse_share,
    read_shares,
    statement_of,
)
from genie_dp.private.generators.plans import (
    MOMENTUM,
    MOMENTUM_OF_OTHERS,
    NoisySteps,
    OptimizerName,
    PublicSteps,
    TrainingPlan,
    TrainingSchedule,
)
from genie_dp.private.generators.rows import label_public_rows, read_public_rows
from genie_dp.private.generators.stages import STAGES, Kind, LabelledRow
from genie_dp.private.generators.training import (
    TrainedGenerator,
    Training,
    TrainingResult,
)
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, refuse_budget
from genie_dp.private.ledger.once import check_run_name, name_run
from genie_dp.private.release import ReleasePlan
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.rows import Rows
from genie_dp.run.files import sha256_of
from genie_dp.run.stage import write_share
from genie_dp.run.work import Work

if TYPE_CHECKING:
    from genie_dp.private.generators.models import Settings

STATEMENT = "confidentiality.json"
# Learning rates of noisy steps, and Adam's first beta, as measured in docs/research/crt.md.
_RATES = {"lstm": 5e-2, "decoder": 2e-2}
_OTHER_RATE = 1e-3
_MOMENTA = {"decoder": MOMENTUM}


@dataclass(frozen=True, slots=True)
class CrtResult(TrainingResult):
    """A generator that was trained on redacted rows.

    Attributes:
        method: by which it was trained.
        statement: the guarantee for secrets; None for a baseline.
    """

    method: str
    statement: Statement | None

    def lines(self) -> Iterator[str]:
        """Yield messages for the user."""
        yield from self.step_lines(f" ({self.seconds:.0f} s)")
        if self.statement is None:
            yield f"no guarantee: {self.method} is a baseline"
            return
        yield from self.budget_lines()
        yield from self.statement.lines()


@dataclass(frozen=True, slots=True)
class CrtInputs:
    """The inputs of a training on redacted rows.

    Attributes:
        redaction: how well the rows were redacted; None for a baseline.
        public: rows of public files.
    """

    redaction: Redaction | None
    public: tuple[LabelledRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Crt(Training):
    """Train on redacted rows, with noise on the private part alone.

    ROWS is the output of genie-dp private redact: masked utterances, each marked private or public.
    Epochs alternate plain steps on the public part and noisy ones on the private part. The cost for
    private rows is recorded in the ledger before the first step, and beside it the guarantee for
    secrets, with the measured share that redaction misses.

    \b
    genie-dp private train crt redacted.jsonl --estimated-units 400 --epsilon 3 \\
      --report shares.json --output model
    """

    command = "private train crt"
    has_whole_epochs = True

    private: Path = setting(
        REQUIRED, "The redacted rows.", is_argument=True, value="file", metavar="ROWS"
    )
    kind: Kind = setting(
        "one-stage",
        "Utterances, or programs and utterances.",
        choices=("one-stage", "two-stage"),
    )
    estimated_units: float | None = setting(
        None,
        "How many private units there are, as far as anybody may know.",
        above=0,
        metavar="N",
    )
    batch: float = setting(64.0, "Private units of a batch, on average.", above=0)
    epochs: str | None = setting(
        None,
        "Whole epochs; of two stages T1 for programs and T2 for utterances [10, 2/8].",
        metavar="T|T1/T2",
    )
    public: tuple[Rows | str | Path, ...] = setting(
        (),
        "More public rows, such as those of synthesize: they join the public part.",
        value="text",
        metavar="FILE",
    )
    size: int = setting(200, "Of the states.", least=1)
    learning_rate: float | None = setting(
        None,
        "Highest learning rate on private rows: noisy steps want a high one [lstm 0.05, decoder "
        "0.02, else 0.001].",
        above=0,
    )
    method: Method = setting(
        "crt", "crt, DP-SGD on all rows, or a baseline without any guarantee.", choices=METHODS
    )
    report: Path | None = setting(
        None, "Measured shares of secrets that redaction misses.", value="file"
    )
    gamma: str | None = setting(
        None,
        "Instead of a report: the share that is missed, and its 95 % interval.",
        metavar="SHARE[,LOW,HIGH]",
    )
    delta_2: str | None = setting(
        None,
        "Instead of a report: the share of secrets whose row is public.",
        metavar="SHARE[,LOW,HIGH]",
    )
    measured_on: str | None = setting(None, "Where these shares were measured.", metavar="TEXT")
    redacted_apart: bool = setting(
        False,
        "Of rows that genie-dp private redact did not write: say that none was made from another "
        "unit's.",
        value="flag",
    )
    without_guarantee: bool = setting(
        False, "Needed for the baselines: what they learn is not protected.", value="flag"
    )
    language: str = setting(DEFAULT_LANGUAGE, "Of the rows' programs.")
    model: str = setting(
        "lstm",
        "An LSTM of one layer, the own decoder, or a causal model of Hugging Face such as "
        "distilgpt2.",
        metavar="lstm|decoder|NAME|DIR",
    )
    public_batch: int = setting(64, "Public rows of a batch.", least=1)
    public_rate: float = setting(2e-3, "Highest learning rate on public rows.", above=0)
    optimizer: OptimizerName = setting(
        "adamw", "Of both parts; sgd is the paper's.", choices=get_args(OptimizerName)
    )

    @classmethod
    def needs_ledger(cls, options: Mapping[str, Any]) -> bool:
        """Return whether a ledger pays for the method."""
        return (options["method"] or "crt") in PAID

    def conflicts(self) -> Iterator[str]:
        """Yield which settings exclude or need each other."""
        yield from self._paid_conflicts() if self.method in PAID else self._baseline_conflicts()
        has_shares = bool(self.gamma or self.delta_2)
        if self.report and has_shares:
            yield "--report has both shares: leave --gamma and --delta-2 out"
        if has_shares != bool(self.measured_on):
            yield "--gamma and --delta-2 go with --measured-on: where they come from"
        if self.model == "decoder" and self.size % self.heads:
            yield "--size must be a multiple of --heads"

    def _paid_conflicts(self) -> Iterator[str]:
        if (self.epsilon is None) != self.use_remaining_budget:
            yield "give --epsilon, what the run costs, or --use-remaining-budget"
        if self.estimated_units is None:
            yield "give --estimated-units, roughly how many private units there are"
        if self.without_guarantee:
            yield "--without-guarantee goes with baselines"
        if self.ledger is None:
            yield f"{self.method} is paid by the ledger of its rows"

    def _baseline_conflicts(self) -> Iterator[str]:
        method = self.method
        if not self.without_guarantee:
            yield f"{method} protects nothing: say so with --without-guarantee"
        if self.epsilon is not None or self.use_remaining_budget or self.ledger is not None:
            options = "--epsilon, --use-remaining-budget, --ledger"
            yield f"{method} has no guarantee: {options} go with crt"
        if self.redacted_apart:
            yield "--redacted-apart goes with crt and dp: baselines promise nothing"
        if self.public_model is not None:
            message = f"--public-model goes with {' and '.join(PAID)}: {method} has no"
            yield f"{message} steps on public rows alone"

    @property
    def other_files(self) -> Sequence[str | Path]:
        """Return the report."""
        return [self.report] if self.report else []

    def refuse_inputs(self) -> None:
        """Refuse a baseline on rows that have a budget."""
        if self.ledger is None:
            refuse_budget(self.private, self.method)

    @property
    def noisy_steps(self) -> NoisySteps:
        """Return how noisy steps are taken."""
        return NoisySteps(
            self.clip,
            self.learning_rate or _RATES.get(self.model, _OTHER_RATE),
            self.engine,
            self.chunk,
            self.checkpoint_every,
            _MOMENTA.get(self.model, MOMENTUM_OF_OTHERS),
        )

    def model_settings(self) -> "Settings":
        """Return which model is trained."""
        from genie_dp.private.generators.models import (
            DecoderSettings,
            HuggingFaceSettings,
            RecurrentLMSettings,
        )

        match self.model:
            case "lstm":
                return RecurrentLMSettings(self.size, self.longest)
            case "decoder":
                return DecoderSettings(self.size, self.layers, self.heads, self.longest)
            case name:
                return HuggingFaceSettings(name, longest=self.longest)

    def redaction(self) -> Redaction | None:
        """Return how well the rows were redacted: unmeasured secrets are taken to be missed.

        None for a baseline.

        Raises:
            GenieError: a share is none (O001), the report has none (O011), or the rows were not
                redacted by the budget's unit (O016, O017).
        """
        if self.ledger is None:
            return None
        if self.report is not None:
            gamma, both = read_shares(self.report)
        else:
            where = self.measured_on or ""
            gamma = parse_share(self.gamma, where) if self.gamma else UNMEASURED
            both = parse_share(self.delta_2, where) if self.delta_2 else UNMEASURED
        is_dp = self.method == "dp"
        if is_dp:
            both = NOTHING_PUBLIC
        apart = check_units_apart(
            self.private, self.ledger.budget, all_private=is_dp, said_apart=self.redacted_apart
        )
        return Redaction(id_of(self.private), gamma, both, apart)

    def plan(self) -> ReleasePlan[CrtInputs]:
        """Read public files, and how well the rows were redacted."""
        redaction, language = self.redaction(), get_language(self.language)
        public = tuple(
            row
            for rows in self.public
            for row in label_public_rows(read_public_rows(rows, language), language)
        )
        model = self.public_model
        shared = {
            **self.shared_settings,
            "redaction": redaction.as_dict() if redaction else None,
            "public": [sha256_of(str(name)) for name in self.public_files],
            "public model": str(model.resolve()) if model else None,
        }
        return ReleasePlan(CrtInputs(redaction, public), (), shared)

    def train(
        self, public: CrtInputs, plan: TrainingPlan | None, work: Work, progress: bool | None
    ) -> TrainedGenerator:
        """Return the generator, trained on both parts."""
        from genie_dp.private.generators.fit import fit
        from genie_dp.private.generators.generator import save_public

        language, redaction = get_language(self.language), public.redaction
        budget = self.ledger.budget if self.ledger else None
        learned, vocabulary = read_method_rows(
            self.method, self.kind, self.private, language, budget, public.public,
            said_apart=self.redacted_apart,
        )  # fmt: skip
        generator = self.new_generator(language, vocabulary, words=(MASK,))
        public_steps = PublicSteps(
            self.public_batch, self.public_rate, optimizer=self.optimizer, seed=self.seed
        )
        epochs = tuple(map(int, self.amount.epochs_by_stage(self.kind).values()))
        schedule = TrainingSchedule(plan, self.noisy_steps, public_steps, epochs)
        payer = self._payer(redaction, work)
        limits = describe_limits(self.method, redaction.apart) if redaction else ()
        before_private = None
        if self.public_model is not None and budget is not None:
            before_private = partial(
                save_public, generator, budget, self.public_model, limits=limits
            )
        generator, spent = fit(
            generator,
            learned.private,
            schedule,
            public=learned.public,
            spend=payer,
            folder=work.path,
            before_private=before_private,
            # The number of steps would tell how many rows have no secret.
            listen=lambda stage, event: write_share(
                f"{stage} learns", event["step"], event["steps"], show=progress
            ),
        )
        facts = {
            "version": __version__,
            "method": self.method,
            "epochs": list(schedule.epochs),
            "public steps": asdict(public_steps),
            "model": self.model,
        }
        if plan is not None and payer is not None:
            spent = replace(spent, not_covered=(*limits, *spent.not_covered))
            facts |= self.facts_of(plan, schedule.noisy, payer)
        return TrainedGenerator(generator, spent, plan, schedule.noisy, facts)

    def _payer(self, redaction: Redaction | None, work: Work) -> Payer | None:
        """Return the payer that records the confidentiality of a run, and then its spend."""
        ledger = self.ledger
        if ledger is None or redaction is None:
            return None
        folders = [work.path / stage.name for stage in STAGES[self.kind]]
        entry = Record(name_run(*folders), redaction)

        def record_first() -> None:
            check_run_name(entry.run, *folders)
            keep_record(ledger.path, entry)

        purpose = f"{self.kind} by {self.method}{entry.mark}"
        return Payer(ledger, purpose, entry.run, first=record_first, then=work.keep)

    def result(
        self, drawn: TrainedGenerator, public: CrtInputs, made: Path, target: str
    ) -> CrtResult:
        """Return the result, and write the guarantee for secrets."""
        budget = statement = None
        if self.ledger is not None:
            budget, statement = self.ledger.budget, statement_of(Ledger.open(self.ledger.path))
        if statement is not None:
            text = json.dumps(statement.as_dict(), indent=1, ensure_ascii=False)
            (made / STATEMENT).write_text(text + "\n", encoding="utf-8")
        return CrtResult(target, drawn.plan, drawn.spent, budget, self.method, statement)
