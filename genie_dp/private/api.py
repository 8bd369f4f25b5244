"""The public ledger: rows of a file, the budget promised for them, and the releases under it."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, cast

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Library
from genie_dp.private.audit.config import Audit, AuditConfig, Shadow
from genie_dp.private.generators.stages import Kind
from genie_dp.private.ledger import book
from genie_dp.private.ledger.accounting import DEFAULT, Accountant
from genie_dp.private.ledger.budget import Budget, Unit, doubts, key_of
from genie_dp.private.ledger.guard import check_new, ledger_to_spend
from genie_dp.private.ledger.marks import ledger_by_name
from genie_dp.private.prior.run import Prior, PriorResult
from genie_dp.private.release import Release
from genie_dp.recipe import check_names, config_of, takes_settings
from genie_dp.records import DEFAULT_LANGUAGE, Spent
from genie_dp.resources import SHIPPED
from genie_dp.rows import Rows
from genie_dp.run.manifest import ledger_of
from genie_dp.run.stage import Output, Result
from genie_dp.templates.inputs import Inputs, library_from, shipped_or
from genie_dp.texts import Paths, paths_of

if TYPE_CHECKING:
    from genie_dp.private.audit.models import Scorer
    from genie_dp.private.audit.privacy import PrivacyReport
    from genie_dp.private.audit.run import AuditResult
    from genie_dp.private.evolution.run import EvolutionResult
    from genie_dp.private.gaps.listen import Listener
    from genie_dp.private.gaps.run import GapResult
    from genie_dp.private.generators.run import GeneratorResult
    from genie_dp.private.generators.sample import SampleResult

File = str | Path


class Auditable(Protocol):
    """A model that gives the likelihood of rows, such as a Parser.

    Attributes:
        folder: of the model.
    """

    folder: Path | None

    def open_scorer(self, folder: Path, *, device: str = "cpu", longest: int = 256) -> "Scorer":
        """Return a scorer of the likelihood of rows under a model like this one, by its folder."""


class Ledger:
    """Private rows and the ledger that stands beside them: releases of them are paid here.

    Each release is recorded before it is made, and refused past the budget (B023). The rows have
    one ledger, whatever file they are in: under another name, copied, converted or with a second
    ledger they are refused, or paid by theirs (B030, B031).

    Attributes:
        rows: the file of rows.
    """

    rows: Path

    def __init__(self, rows: str | Path, *, ledger: str | Path | None = None):
        """Open the ledger of a file of rows.

        Args:
            rows: JSONL or TSV.
            ledger: where it is, if not beside the rows.

        Raises:
            GenieError: there are no such rows (B028) or no ledger (B022), it was changed (B010 to
                B019), or the rows are another's (B030, B031).
        """
        self.rows = _existing_rows(rows)
        named = _path(ledger)
        self._book = book.Ledger.open(ledger_to_spend(self.rows, named))
        self._is_open = True

    @classmethod
    def init(
        cls,
        rows: str | Path,
        *,
        epsilon: float,
        delta: float,
        unit: Unit,
        cap: int | None = None,
        unit_field: str | None = None,
        accountant: Accountant = DEFAULT,
        allow_same_rows: bool = False,
        ledger: str | Path | None = None,
    ) -> "Ledger":
        """Promise a budget for rows, once, and return its ledger.

        Args:
            rows: JSONL or TSV. They are compared with those that have a ledger already.
            epsilon: how much may be learned of one unit by everything together; common: 1 to 8.
            delta: chance that epsilon does not hold: far below 1 / number of units.
            unit: of privacy: one utterance, all rows of a dialogue, or all of a user.
            cap: how many rows of a dialogue or user are looked at, at most.
            unit_field: field of a row that names its user or dialogue; of TSV, its column.
            accountant: whose epsilon must stay within the budget, pld or rdp.
            allow_same_rows: accept rows that another ledger has: for rows that are public.
            ledger: where it is to be, if not beside the rows.

        Warns:
            UserWarning: each of the `doubts`: the budget is possible and promises little.

        Raises:
            GenieError: the budget promises nothing (B005), there are no such rows (B028), they have
                a ledger already (B020, B030, B031) or had one (B021).
        """
        file = _existing_rows(rows)
        budget = Budget(
            epsilon, delta, unit, cap, accountant=accountant, unit_field=unit_field,
            apart=allow_same_rows,
        )  # fmt: skip
        promise(file, _path(ledger), budget)
        for problem in doubts(budget):
            hint = f" ({problem.hint})" if problem.hint else ""
            warnings.warn(f"{problem.message}{hint}", stacklevel=2)
        return cls(file, ledger=ledger)

    @property
    def path(self) -> Path:
        """Return the file of the ledger."""
        return self._book.path

    @property
    def budget(self) -> Budget:
        """Return the promised budget."""
        return self._book.budget

    @property
    def doubts(self) -> tuple[str, ...]:
        """Return the warnings about the budget, such as that it promises little."""
        return tuple(problem.message for problem in doubts(self.budget))

    @property
    def spent(self) -> Spent:
        """Return the guarantee of everything that was released so far, by whomever."""
        return book.Ledger.open(self.path).spent()

    def __enter__(self) -> "Ledger":
        """Return the ledger, which releases nothing after the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._is_open = False

    def __repr__(self) -> str:
        budget, spent = self.budget, self.spent
        amount = f"epsilon {spent.epsilon:.4g} of {budget.epsilon:g} is spent"
        return f"Ledger({self.rows}: {amount} at delta {budget.delta:g} for each {budget.unit})"

    @takes_settings("genie_dp.private.prior.run.Prior")
    def prior(
        self,
        *,
        library: Library | Paths | None = None,
        language: str | None = None,
        public: Rows | str | Path | Sequence[Rows | str | Path] = (),
        output: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
        **settings: Any,
    ) -> PriorResult:
        """Return the functions people ask for, counted once with noise: a prior for synthesis.

        It is paid again with each call. Only with an `output` an interrupted call can be resumed.

        Args:
            library: the result of `load_library`, or its source, such as "shipped"; its functions
                are counted. It is to be named, for epsilon is spent on these functions.
            language: of the programs; None for the library's.
            public: rows made without the prior, to which weights are relative: rows or files.
            output: the prior's file; None writes none, and `save` of the result does so later.
            resume: go on with a call that was interrupted, for the same payment.
            overwrite: replace the output, and forget an interrupted call: its cost stays spent.
            settings: those of `genie-dp private prior`, such as epsilon=1,
                estimated_units=2000. Sampled rows and candidates are files.

        Raises:
            GenieError: past the budget (B023), and whatever `genie-dp private prior` refuses.
        """
        functions = library_from(_require_library(library), language=language)
        settings |= {
            "library": functions,
            "language": language or functions.language,
            "public": tuple(_public_sources(public, code="F008")),
        }
        result: PriorResult = self._release(
            Prior, settings, output, "prior.json", resume=resume, overwrite=overwrite
        )
        return result

    @takes_settings("genie_dp.private.generators.run.OneStage", without=("kind",))
    def train(
        self,
        kind: Kind,
        *,
        output: str | Path,
        library: Library | Paths | None = None,
        language: str | None = None,
        public: Rows | str | Path | Sequence[Rows | str | Path] = (),
        parser: Any = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: bool | None = None,
        **settings: Any,
    ) -> "GeneratorResult":
        """Train a generator of rows that are like the private ones, with noise.

        It is paid again with each call. An interrupted call is resumed for the same payment.

        Args:
            kind: one-stage learns utterances; control learns utterances by control codes; two-stage
                learns programs, and utterances by their programs.
            output: the folder of the generator; it appears when it is complete.
            library: the result of `load_library`, or its source, such as "shipped": skills of the
                programs, which are to be named.
            language: of the programs; None for the library's.
            public: rows, or files of rows, that may be published: they give vocabulary and
                grammar, and are learned before private rows are.
            parser: a `Parser` of public rows, which writes the private rows' programs.
            resume: go on with a call that was interrupted.
            overwrite: replace the output, and forget an interrupted call: its cost stays spent.
            progress: whether to show how far it is; None for on a terminal.
            settings: those of `genie-dp private train`, such as estimated_units=2000, epsilon=1,
                epochs="2/8". Codes, `pretrained` and `public_model` are files and folders.

        Raises:
            GenieError: past the budget (B023), and whatever `genie-dp private train` refuses.
        """
        from genie_dp.private.generators.rows import use_parser
        from genie_dp.private.generators.run import GeneratorTraining

        functions = library_from(_require_library(library), language=language)
        inputs = {
            "kind": kind,
            "library": functions,
            "language": language or functions.language,
            "public": tuple(_public_sources(public, code="H008")),
            "parser": use_parser(parser),
        }
        result: GeneratorResult = self._release(
            GeneratorTraining, {**settings, **inputs}, output, "generator", resume=resume,
            overwrite=overwrite, progress=progress,
        )  # fmt: skip
        return result

    @takes_settings("genie_dp.private.generators.sample.Sample", without=("ledger",))
    def sample(
        self,
        generator: str | Path,
        *,
        library: Library | Paths = SHIPPED,
        parser: Any = None,
        output: str | Path | None = None,
        overwrite: bool = False,
        progress: bool | None = None,
        **settings: Any,
    ) -> "SampleResult":
        """Return rows that a generator of this ledger draws; any number of them costs nothing.

        Args:
            generator: the folder of `train`.
            library: the result of `load_library`, or its source: programs are well-typed in it.
            parser: a `Parser` of public rows, or of rows that the generator drew. It writes the
                programs of kinds without any; of two-stage, rows are kept that it reads back.
            output: a file for the rows, with a manifest beside it; None writes none.
            overwrite: replace the output.
            progress: whether to show how far it is; None for on a terminal.
            settings: those of `genie-dp private sample`, such as rows=1000, temperature=0.8.

        Raises:
            GenieError: the generator is of another ledger (F010), and whatever `genie-dp private
                sample` refuses.
        """
        from genie_dp.private.generators.rows import use_parser
        from genie_dp.private.generators.sample import Sample

        _, ledger = self._rows_to_spend()
        check_names(Sample, settings, without=("ledger",))
        inputs = {
            "generator": generator,
            "ledger": ledger,
            "parser": use_parser(parser),
            "load_library": lambda language: library_from(library, language=language),
        }
        stage = Sample.of({**settings, **inputs})
        if output is not None:
            return stage.run(Output(str(output), overwrite=overwrite), progress=progress)
        with TemporaryDirectory(prefix="genie_dp-") as place:
            return stage.run(Output(f"{place}/rows.jsonl"), progress=progress).in_memory()

    @takes_settings("genie_dp.private.evolution.config.EvolutionRecipe", without=("epsilon",))
    def evolve(
        self,
        *,
        epsilon: float | None = None,
        use_remaining_budget: bool = False,
        recipe: str | Path | None = None,
        library: Library | Paths | None = None,
        language: str | None = None,
        grammar: Inputs | Paths = (),
        public: Paths = (),
        parser: Any = None,
        output: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
        threads: int = 1,
        progress: bool | None = None,
        **settings: Any,
    ) -> "EvolutionResult":
        """Return synthetic rows that the private rows voted for, and a prior of their votes.

        It is paid again with each call. Only with an `output` an interrupted call can be resumed.

        Args:
            epsilon: the cost of votes and table together, at the budget's delta.
            use_remaining_budget: instead, use up the remaining budget.
            recipe: a file of settings in YAML; those given here go before them.
            library: the result of `load_library`, or its source; to be named where programs are
                made without a `grammar` that has it.
            language: of the programs; None for the library's.
            grammar: the result of `load_grammar`, or its source, for the grammar as generator.
            public: files of rows that may be published, JSONL: values of columns are taken from
                them, and weights of the prior are relative to them.
            parser: a `Parser` of public rows, which gives sentences their programs where the
                generator makes none.
            output: the folder of rows, prior and report; None writes none.
            resume: go on with a call that was interrupted: each vote is paid once.
            overwrite: replace the output, and forget an interrupted call: its cost stays spent.
            threads: of torch, where a model is used.
            progress: whether to show how far it is; None for on a terminal.
            settings: those of a recipe, such as iterations=3, embedding="both",
                generator={"kind": "seeds", "examples": ["seeds.jsonl"]}.

        Raises:
            GenieError: past the budget (B023), and whatever `genie-dp private evolve` refuses.
        """
        from genie_dp.private.evolution.build import use_parser
        from genie_dp.private.evolution.config import EvolutionRecipe
        from genie_dp.private.evolution.run import Evolve

        read, open_parser = use_parser(EvolutionRecipe.read(_path(recipe), settings), parser)
        if isinstance(grammar, Inputs):
            library = grammar.library if library is None else library
            grammar = grammar.grammar_files
        if read.needs_library:
            library = library_from(_require_library(library), language=language)
            language = language or library.language
        inputs = {
            "recipe": read,
            "epsilon": epsilon,
            "use_remaining_budget": use_remaining_budget,
            "load_library": lambda: library,
            "language": language or DEFAULT_LANGUAGE,
            "grammar": tuple(shipped_or(grammar, "grammars", "en")),
            "public": tuple(map(str, paths_of(public))),
            "open_parser": open_parser,
            "threads": threads,
        }
        result: EvolutionResult = self._release(
            Evolve, inputs, output, "evolution", resume=resume, overwrite=overwrite,
            progress=progress,
        )  # fmt: skip
        return result

    @takes_settings("genie_dp.private.gaps.run.Gaps")
    def gaps(
        self,
        listener: "Listener",
        *,
        output: str | Path | None = None,
        resume: bool = False,
        overwrite: bool = False,
        progress: bool | None = None,
        **settings: Any,
    ) -> "GapResult":
        """Return the requests that are not understood, counted once with noise.

        It is paid again with each call. Only with an `output` an interrupted call can be resumed.

        Args:
            listener: for sentences, of `gd.gap_listener`; nothing of it is private.
            output: the folder of the report: a page, JSON, templates and rows; None writes none.
            resume: go on with a call that was interrupted, for the same payment.
            overwrite: replace the output, and forget an interrupted call: its cost stays spent.
            progress: whether to show on stderr how far it is; None for on a terminal.
            settings: those of `genie-dp private gaps`, such as epsilon=1, sentences=2.

        Raises:
            GenieError: past the budget (B023), and whatever `genie-dp private gaps` refuses.
        """
        from genie_dp.private.gaps.run import Gaps

        result: GapResult = self._release(
            Gaps, {**settings, "listener": listener}, output, "gaps", resume=resume,
            overwrite=overwrite, progress=progress,
        )  # fmt: skip
        return result

    def _release(
        self,
        stage: type[Release],
        settings: Mapping[str, Any],
        output: str | Path | None,
        name: str,
        *,
        resume: bool,
        overwrite: bool,
        progress: bool | None = None,
    ) -> Any:
        """Return the result of a stage.

        Args:
            stage: its class.
            settings: settings and inputs, but for rows and ledger.
            output: a file or folder; None keeps none.
            name: of the temporary output where none is kept.
            resume, overwrite: whether to resume an interrupted run, or replace an output that is
                there.
            progress: whether to show progress; None for on a terminal.
        """
        rows, ledger = self._rows_to_spend()
        release = stage.of({"private": rows, "ledger": ledger, **settings})
        if output is not None:
            target = Output(str(output), resume=resume, overwrite=overwrite)
            return release.run(target, progress=progress)
        with TemporaryDirectory(prefix="genie_dp-") as folder:
            result: Result = release.run(Output(f"{folder}/{name}"), progress=progress)
            return result.in_memory()

    def report(
        self,
        *,
        audits: File | Sequence[File] = (),
        output: File | None = None,
        page: File | None = None,
        card: File | None = None,
        overwrite: bool = False,
    ) -> "PrivacyReport":
        """Return the publishable facts about the privacy of the rows.

        Args:
            audits: files that `audit` wrote; of them, only figures of canaries are reported.
            output: the file of the report, as JSON; None writes none.
            page: the file of a page with it.
            card: the file of a section for a model's card, in Markdown.
            overwrite: replace the files.

        Raises:
            GenieError: a file is there (Y022), or one of `audits` holds no audit (N062).
        """
        from genie_dp.private.audit.privacy import PrivacyReport, ReportPrivacy, privacy_facts

        ledger = book.Ledger.open(self.path)
        files = tuple(map(Path, (audits,) if isinstance(audits, File) else audits))
        if output is None:
            return PrivacyReport(privacy_facts(ledger, files))
        stage = ReportPrivacy(ledger=ledger, audits=files, page=_path(page), card=_path(card))
        return stage.run(Output(str(output), overwrite=overwrite))

    def _rows_to_spend(self) -> tuple[Path, book.Ledger]:
        """Return the rows and their ledger as it is now, which may have other spends since.

        Raises:
            GenieError: it is closed (B036); those of `Ledger(rows)`.
        """
        if not self._is_open:
            hint = "release within the block of `with`, or open the ledger again"
            raise GenieError(Problem("B036", f"the ledger of {self.rows} is closed", hint=hint))
        return self.rows, book.Ledger.open(ledger_to_spend(self.rows, self.path))


def _public_sources(
    public: Rows | str | Path | Sequence[Rows | str | Path], *, code: str
) -> list[Rows | str | Path]:
    """Return public rows or files one by one.

    Raises:
        GenieError: of that code, there are others, such as Examples.
    """
    sources = [public] if isinstance(public, Rows | str | Path) else list(public)
    for source in sources:
        if not isinstance(source, Rows | str | Path):
            message = f"expected rows or the name of a file as public, got {type(source).__name__}"
            hint = "rows that forgot where they are from may be private ones"
            raise GenieError(Problem(code, message, hint=hint))
    return sources


def audit(
    model: "File | Auditable | None" = None,
    *,
    release: Rows | File | None = None,
    members: Rows | File | None = None,
    others: Rows | File | None = None,
    canaries: File | None = None,
    references: Sequence[File] = (),
    shadows: Mapping[File, Rows | File | None] | Sequence[File] = (),
    unprotected: File | None = None,
    training: Rows | File | None = None,
    output: File | None = None,
    report: File | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: bool | None = None,
    **settings: Any,
) -> "AuditResult":
    """Attack a model, or released rows, and compare the proven bounds with the claim.

    The result is not differentially private: keep it like the private rows. Files that are written
    can be read by their owner alone.

    Args:
        model: the folder of a generator or of a language model of Hugging Face, or a Parser.
        release: instead, rows that were released: rows or a file.
        members: rows that it was trained on, once each: rows or a file.
        others: rows like them that it did not see, parted from them by chance.
        canaries: the file that `genie-dp private canaries` wrote with --record.
        references: folders of models without the members and canaries, to calibrate by.
        shadows: folders of models that were trained as it was; with the rows that each has learned
            from, if they are given by folder. Two or more.
        unprotected: the folder of a model that was trained as it was, but without protection. No
            audit passes without it.
        training: the text that is looked for in samples; None for the members.
        output: the file of the figures, as JSON; None writes none, and `save` of the result does so
            later.
        report: the file of a page with them.
        resume: go on with an audit that was interrupted.
        overwrite: replace the files, and begin again.
        progress: whether to show progress; None for on a terminal.
        settings: those of `AuditConfig`, such as samples=1000, claim=3.0, delta=1e-6.

    Raises:
        GenieError: inputs do not go together (N061), and whatever `genie-dp private audit` refuses.
            A claim that is refuted raises nothing: `verdict` of the result has it.
    """
    folder, open_model = None, None
    if isinstance(model, File):
        folder = Path(model)
    elif model is not None:
        folder, open_model = model.folder, model.open_scorer
    if folder is None and model is not None:
        message = "this model was put together in memory: an audit reads its folder"
        raise GenieError(Problem("N056", message, hint="save it, and give what was saved"))
    learned = shadows if isinstance(shadows, Mapping) else dict.fromkeys(shadows)
    stage = Audit(
        model=folder, members=_file_of(members), others=_file_of(others), canaries=_path(canaries),
        references=tuple(map(Path, references)),
        shadows=tuple(Shadow(Path(name), _file_of(rows)) for name, rows in learned.items()),
        unprotected=_path(unprotected), training=_file_of(training), release=_file_of(release),
        config=config_of(AuditConfig, settings), report=_path(report), open_model=open_model,
    )  # fmt: skip
    if output is not None:
        return cast("AuditResult", stage.run(
            Output(str(output), resume=resume, overwrite=overwrite), progress=progress
        ))  # fmt: skip
    with TemporaryDirectory(prefix="genie_dp-") as work:
        result = stage.run(Output(f"{work}/audit.json"), progress=progress)
        return replace(cast("AuditResult", result), files=())


def promise(rows: Path, ledger: Path | None, budget: Budget) -> book.Ledger:
    """Create the ledger of rows; they are compared with those that have one.

    Args:
        rows: their file; it need not be there where a ledger is named.
        ledger: where it is to be; None for beside the rows.
        budget: the promise.

    Raises:
        GenieError: there are no such rows (B028), they have a ledger already (B020, B030, B031) or
            had one (B021), or their units cannot be distinguished so (Q006).
    """
    if ledger is None:
        _existing_rows(rows)
    else:
        ledger_to_spend(rows, ledger)
    path = ledger or ledger_by_name(rows) or ledger_of(rows)
    if not (budget.apart or path.exists()):
        check_new(rows)
    # Later it would be too late: a promise is made once.
    key_of(str(rows), budget.unit, budget.unit_field)
    return book.Ledger.create(path, budget)


def _existing_rows(rows: str | Path) -> Path:
    """Refuse rows that are not there: a budget for a misspelt name protects nobody."""
    if not Path(rows).exists():
        hint = "check the name; to set a budget before there are rows, give --ledger"
        raise GenieError(Problem("B028", f"there is no file {rows}", hint=hint))
    return Path(rows)


def _require_library(library: Library | Paths | None) -> Library | Paths:
    """Return a library that was named; nothing is spent on functions that nobody chose (F002)."""
    if library is None:
        message = "expected a library, whose functions are learned of, got none"
        hint = 'library="skills", a folder of yours, or library="shipped" for those of genie-dp'
        raise GenieError(Problem("F002", message, hint=hint))
    return library


def _path(file: str | Path | None) -> Path | None:
    return None if file is None else Path(file)


def _file_of(rows: Rows | File | None) -> Path | None:
    return Path(rows.file()) if isinstance(rows, Rows) else _path(rows)
