"""Private evolution as a stage: from private rows to synthetic rows, a prior and a report.

Paid releases survive a crash: table, candidates and votes are kept until the folder is there.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.private.evolution.config import EvolutionRecipe, as_yaml
from genie_dp.private.evolution.evolve import (
    Electorate,
    Evolution,
    check_generator,
    check_table,
    error_of_shares,
    evolve,
)
from genie_dp.private.evolution.prior import prior_of
from genie_dp.private.generators.rows import OpenParser
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Payer, refuse_learned
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism
from genie_dp.private.prior.make import PublicFunctions
from genie_dp.private.release import Release, ReleasePlan
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables import extract
from genie_dp.private.tables.run import mechanisms_of, release_table_once, rho_for
from genie_dp.private.tables.schema import Schema, load_schema
from genie_dp.private.tables.table import SyntheticTable, load_table, table_from
from genie_dp.private_prior import PriorFile, load_prior, save_prior
from genie_dp.recipe import REQUIRED, setting
from genie_dp.records import DEFAULT_LANGUAGE, PrivatePrior, Spent
from genie_dp.rows import Rows, to_json
from genie_dp.run.files import sha256_of
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, write_over
from genie_dp.run.work import FolderKind, Work
from genie_dp.stage.kernel import PAID_OVERWRITE, PAID_RESUME, OutputOption

PURPOSE, TABLE_PURPOSE = "evolution: a vote", "evolution: table of metadata"
FORMAT = "genie_dp evolution report"
ROWS, METADATA, PRIOR, REPORT = "rows.jsonl", "metadata.jsonl", "prior.json", "report.json"
EVOLUTION = FolderKind(REPORT, FORMAT, name="folder of an evolution", code="U025")


@dataclass(frozen=True, slots=True)
class EvolutionResult(Result):
    """Synthetic rows that private rows voted for, and a prior of their votes.

    Attributes:
        output: the folder of all that was written; "" where nothing was.
        rows: the synthetic rows, of source private.
        prior: steers synthesis, augmentation and training.
        spent: the guarantee of everything that was released so far.
        report: of each vote, for people: nothing exact.
        budget: the promise for the private rows.
        seconds: how long all took.
    """

    output: str
    rows: Rows
    prior: PriorFile
    spent: Spent
    report: Mapping[str, Any]
    budget: Budget
    seconds: float = 0.0

    def __repr__(self) -> str:
        epsilon = f"epsilon {self.spent.epsilon:.4g} at delta {self.spent.delta:.4g}"
        return (
            f"EvolutionResult({self.report['rows']:,} rows, {epsilon} for each {self.spent.unit})"
        )

    def in_memory(self) -> "EvolutionResult":
        """Return it with its rows, which then need no file."""
        rows = tuple(self.rows)
        return replace(self, output="", rows=Rows(lambda: iter(rows), "that evolved"))

    def lines(self) -> Iterator[str]:
        """Yield the summary."""
        votes, budget = self.report["iterations"], self.budget
        place = f" -> {self.output}" if self.output else ""
        if votes[-1]["above_threshold"] == 0:
            message = "noise dominates: no candidate of the last vote is above the threshold"
            hint = "more private rows, a greater epsilon, or less --population, --variations or"
            warning = Problem("U024", message, hint=f"{hint} --iterations", severity="warning")
            yield str(GenieError(warning))
        yield (
            f"{self.report['rows']:,} rows of {self.report['calls']:,} candidates, "
            f"{len(votes)} votes with noise {self.report['noise']:g}{place} ({self.seconds:.0f} s)"
        )
        yield (
            f"spent so far: epsilon {self.spent.epsilon:.4g} of {budget.epsilon:g} at delta "
            f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}"
        )


@dataclass(frozen=True, slots=True)
class EvolutionInputs:
    """The public inputs of an evolution.

    Attributes:
        recipe: the settings, with the label named as its column is.
        library: skills or declarations, where programs are made or columns need them.
        schema: columns of the metadata; without metadata, that of the label alone.
        table: the table of metadata, where it was released before.
    """

    recipe: EvolutionRecipe
    library: Library | None
    schema: Schema | None
    table: SyntheticTable | None

    @property
    def new_table(self) -> Schema | None:
        """Return the columns of the table that is to be released; None for none."""
        return self.schema if self.recipe.metadata is not None and self.table is None else None


@dataclass(frozen=True, slots=True)
class EvolutionPlan:
    """The noise of an evolution, settled before private rows are read.

    Attributes:
        table_epsilon: of the table by itself; 0 where none is released.
        noise_multiplier: of each vote.
    """

    table_epsilon: float
    noise_multiplier: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Evolve(Release):
    """Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.

    PRIVATE is JSONL or TSV. Each vote is recorded in the ledger before it is counted, and refused
    if the budget does not allow it. The grammar makes every candidate with its program; language
    models never see a private row. The folder has the rows, their metadata, a prior for synthesize,
    and a report.

    \b
    genie-dp private evolve private.jsonl --epsilon 3 --embedding both --output evolved
    genie-dp private evolve private.jsonl --recipe examples/evolution.yaml \\
      --use-remaining-budget -o evolved
    """

    command = "private evolve"
    output = OutputOption(
        "Where rows, prior and report go. It appears when it is complete.",
        metavar="FOLDER",
        resume=PAID_RESUME,
        overwrite=PAID_OVERWRITE,
    )
    folder = EVOLUTION
    not_public = "U007"
    conflict_code = "U008"

    ledger: Ledger = setting(REQUIRED, "Their ledger, which pays.", value="ledger")
    epsilon: float | None = setting(
        None, "What votes and table cost together, at the budget's delta.", above=0
    )
    use_remaining_budget: bool = setting(
        False, "Instead: use up what is left of the budget.", value="flag"
    )
    public: tuple[str, ...] = setting(
        (),
        "Rows that may be published, JSONL: values of columns are taken from them, and weights of "
        "the prior are relative to them.",
        value="text",
        metavar="FILE",
    )
    load_library: Callable[[], Library] = setting(
        REQUIRED, "Skills of the programs.", value="library at need"
    )
    language: str = DEFAULT_LANGUAGE
    grammar: tuple[Path, ...] = setting(
        (), "Templates, which go before those of the recipe.", value="grammar"
    )
    recipe: EvolutionRecipe = setting(
        EvolutionRecipe(),
        "Settings in YAML, such as examples/evolution.yaml; options given here go before them.",
        value="recipe",
    )
    open_parser: OpenParser | None = setting(
        None, "Opens the parser that the recipe names.", value="parser at need"
    )
    threads: int = setting(1, "Of torch, where a model is used.", least=1)

    def conflict(self, target: str | None = None) -> str | None:
        """Refuse two costs."""
        if self.epsilon is not None and self.use_remaining_budget:
            return "give --epsilon, what the run costs, or --use-remaining-budget"
        return None

    @property
    def public_files(self) -> Sequence[str | Path]:
        """Return public rows and the files of the recipe."""
        return [*self.public, *self.recipe.public_files]

    def refuse_inputs(self) -> None:
        """Refuse a parser that learned of private rows."""
        if self.recipe.parser:
            refuse_learned(Path(self.recipe.parser), self.private, code=self.not_public)

    # ------------------------------------------------------------------------------- public plan

    def plan(self) -> ReleasePlan[EvolutionInputs]:
        """Read the public inputs; the noise is planned once, in the work folder.

        Raises:
            GenieError: U004, no shares of the labels are known; U023, rows or columns lack a
                label or field; those of the files.
        """
        inputs = self._read_inputs()
        if inputs.schema is not None:
            extract.check_extractors(inputs.schema, self.language)
            extract.check_fields(extract.fields_of(inputs.schema), self.private, code="U023")
        shared = {
            "epsilon": self.epsilon,
            "rest": self.use_remaining_budget,
            "language": self.language,
            "recipe": inputs.recipe.as_dict(),
            "schema": inputs.schema.as_dict() if inputs.schema else None,
            "files": [sha256_of(str(name)) for name in self.public_files],
        }
        return ReleasePlan(inputs, (), shared)

    def _read_inputs(self) -> EvolutionInputs:
        recipe, metadata, table, schema = self.recipe, self.recipe.metadata, None, None
        library = self.load_library() if recipe.needs_library else None
        if metadata is not None and metadata.table:
            table = load_table(Path(metadata.table))
            schema = table.schema
            check_table(table, self.ledger)
        elif metadata is not None and metadata.schema:
            schema = load_schema(Path(metadata.schema))
        elif metadata is not None:
            schema = extract.read_public_schema(
                metadata.columns, library, self.public, language=self.language, most=metadata.most
            )
        if recipe.label and schema is not None:
            _check_label(recipe, schema)
        elif recipe.label:
            if not recipe.fractions:
                raise error_of_shares(recipe.label)
            column = extract.column_by_name(recipe.label)
            schema = Schema((replace(column, values=tuple(recipe.fractions)),))
            recipe = replace(recipe, label=column.name)
        return EvolutionInputs(recipe, library, schema, table)

    def plan_once(self, inputs: EvolutionInputs, work: Path) -> EvolutionPlan:
        """Return the noise: as an earlier start planned it, or planned and kept now.

        The table is released for its share of epsilon, by itself. Votes get the least noise with
        which table and votes together, composed, cost epsilon: more than the rest of it by plain
        sums.

        Raises:
            GenieError: U008, there is no epsilon; B004, nothing is left; B023, it
                does not fit; T505, there is no table for so little.
        """
        file = work / "plan.json"
        if file.exists():
            return EvolutionPlan(**json.loads(file.read_text(encoding="utf-8")))
        budget, schema, metadata = self.ledger.budget, inputs.new_table, inputs.recipe.metadata
        epsilon, before = self.epsilon or inputs.recipe.epsilon, tuple[Mechanism, ...]()
        if self.use_remaining_budget:
            epsilon, before = budget.epsilon, self.ledger.mechanisms
        if epsilon is None:
            hint = f"the budget has {budget.epsilon:g} in all"
            hint = f"give --epsilon, or --use-remaining-budget; {hint}"
            message = "nobody said what the run may cost, and there is no default"
            raise GenieError(Problem("U008", message, hint=hint))
        table_epsilon, table = 0.0, tuple[Mechanism, ...]()
        if schema is not None and metadata is not None:
            spent = self.ledger.epsilon_with() if self.use_remaining_budget else 0.0
            table_epsilon = metadata.share * max(0.0, epsilon - spent)
            rho = rho_for(table_epsilon, budget.delta)
            table = mechanisms_of(metadata.method, len(schema.columns), rho)
        votes = inputs.recipe.iterations
        noise = noise_multiplier_for(
            epsilon,
            budget.delta,
            rate=1.0,
            steps=votes,
            before=(*before, *table),
            accountant=budget.accountant,
        )
        self.ledger.check_fits([*table, Gaussian(noise, votes)])
        plan = EvolutionPlan(table_epsilon, noise)
        replace_durably(file, json.dumps(asdict(plan)))
        return plan

    # ------------------------------------------------------------------------------ private rows

    def release(
        self, plan: ReleasePlan[EvolutionInputs], work: Work, progress: bool | None
    ) -> tuple[Evolution, SyntheticTable | None]:
        """Return the evolution, and the table of metadata that was released before it."""
        # Here, so that help does not wait for it.
        from genie_dp.private.evolution.build import GeneratorBuilder, build_embedding

        inputs, recipe, schema = plan.public, plan.public.recipe, plan.public.schema
        noise, language = self.plan_once(inputs, work.path), get_language(self.language)
        generator = GeneratorBuilder(
            recipe, language, inputs.library, self.grammar, schema, work.path, self.open_parser,
            self.threads,
        ).build()  # fmt: skip
        check_generator(generator, self.ledger)
        embedding = build_embedding(recipe.embedding, language)
        source = PrivateSource.promised(
            self.private,
            self.ledger.budget,
            language=self.language,
            fields=extract.fields_of(schema) if schema else (),
        )
        work.keep()  # all was checked that can be before anything is made or spent
        table = inputs.table
        if inputs.new_table is not None:
            write_over("the table of metadata is released", show=progress)
            table = self._release_table(inputs.new_table, source, noise, work.path)
        labels, fractions = _read_labels(recipe.label, schema, table, source)
        evolution = evolve(
            Electorate(
                source.units.each(
                    lambda unit: [extract.example_of(row, self.language) for row in unit]
                ),
                labels,
            ),
            generator,
            embedding,
            recipe,
            Gaussian(noise.noise_multiplier),
            spend=Payer(self.ledger, PURPOSE),
            work=work.path / "votes",
            fractions=fractions,
            table=table,
            listen=partial(_show_vote, progress),
        )
        if (report := getattr(generator, "report", None)) is not None:
            evolution = replace(evolution, report={**evolution.report, "model": report()})
        return evolution.in_language(self.language), table

    def _release_table(
        self, schema: Schema, source: PrivateSource, plan: EvolutionPlan, work: Path
    ) -> SyntheticTable:
        """Return the table of metadata, released now or by the run that this one goes on with."""
        assert self.recipe.metadata is not None
        folder = work / "table"
        folder.mkdir(exist_ok=True)
        text = release_table_once(
            folder,
            "evolve-table",
            schema,
            lambda: extract.metadata_of(schema, source),
            Payer(self.ledger, TABLE_PURPOSE),
            epsilon=plan.table_epsilon,
            method=self.recipe.metadata.method,
        )
        return table_from(text)

    # -------------------------------------------------------------------------------- the folder

    def finish(
        self,
        drawn: tuple[Evolution, SyntheticTable | None],
        plan: ReleasePlan[EvolutionInputs],
        made: Path,
        target: str,
        progress: bool | None,
    ) -> EvolutionResult:
        """Write rows, prior and report into a new folder."""
        recipe, (evolution, table) = plan.public.recipe, drawn
        made.mkdir()
        with (made / ROWS).open("w", encoding="utf-8", newline="\n") as out:
            out.writelines(f"{to_json(row.example)}\n" for row in evolution.rows)
        if any(row.metadata for row in evolution.rows):
            with (made / METADATA).open("w", encoding="utf-8", newline="\n") as out:
                for row in evolution.rows:
                    line = {"id": row.example.id, "metadata": dict(row.metadata)}
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")
        save_prior(self._prior(evolution, plan.public), made / PRIOR)
        (made / "recipe.yaml").write_text(as_yaml(recipe), encoding="utf-8")
        if table is not None:
            (made / "table.json").write_text(table.text(), encoding="utf-8")
        spent = asdict(evolution.spent)
        write_json(str(made / "spent.json"), spent)
        write_json(str(made / REPORT), {"format": FORMAT, **evolution.report, "spent": spent})
        manifest = {
            "command": self.command,
            "version": __version__,
            "recipe": recipe.as_dict(),
            "rows": len(evolution.rows),
            "calls": evolution.report["calls"],
            "spent": spent,
        }
        write_json(manifest_of(str(made / ROWS)), manifest)
        return EvolutionResult(
            target,
            Rows.read(Path(target) / ROWS),
            load_prior(made / PRIOR),
            evolution.spent,
            evolution.report,
            self.ledger.budget,
        )

    def _prior(self, evolution: Evolution, inputs: EvolutionInputs) -> PrivatePrior:
        """Return the prior of the library's functions by the votes."""
        functions: list[str] = []
        # Declarations do not name all functions.
        if inputs.library is not None and any(row.example.functions for row in evolution.rows):
            functions = [function.qualified for function in inputs.library.functions()]
        public = None
        if self.public:
            examples = (
                row for name in self.public
                for row, _ in extract.read_public_fields(name, self.language)
            )  # fmt: skip
            public = PublicFunctions.from_rows(map(functions_of, examples))
        return prior_of(evolution, inputs.recipe, functions=functions, public=public)

    def run(self, output: Output, *, progress: bool | None = None) -> EvolutionResult:
        """Evolve, and write the folder; a run that is resumed pays for each vote once.

        Raises:
            GenieError: past the budget (B023), there is no epsilon (U008), a public input is
                private (U007), the output is there (Y022) or something else (U025);
                docs/errors.md has more.
        """
        started = time.monotonic()
        result: EvolutionResult = Release.run(self, output, progress=progress)
        write_over("", show=progress)
        return replace(result, seconds=time.monotonic() - started)


def _check_label(recipe: EvolutionRecipe, schema: Schema) -> None:
    """Refuse a label that is no column, or shares of labels that it does not have (U023)."""
    if recipe.label not in schema.names:
        hint = did_you_mean(recipe.label, schema.names) or f"columns: {', '.join(schema.names)}"
        message = f"the metadata has no column {recipe.label!r} for the label"
        raise GenieError(Problem("U023", message, hint=hint))
    values = schema.columns[schema.names.index(recipe.label)].values
    for name in recipe.fractions or ():
        if name not in values:
            message = f"the column {recipe.label!r} has no value {name!r}"
            raise GenieError(Problem("U023", message, hint=did_you_mean(name, values)))


def _read_labels(
    label: str, schema: Schema | None, table: SyntheticTable | None, source: PrivateSource
) -> tuple[list[list[str]] | None, dict[str, float] | None]:
    """Return the label of each private row by unit, and the shares of labels by a table."""
    if not label:
        return None, None
    assert schema is not None
    labels = [[row[label] for row in unit] for unit in extract.metadata_of(schema, source)]
    if table is None:
        return labels, None
    values = table.schema.columns[table.schema.names.index(label)].values
    return labels, dict(zip(values, table.marginal((label,)).tolist(), strict=True))


def _show_vote(progress: bool | None, line: Mapping[str, Any]) -> None:
    number, votes = line["vote"], line["votes"]
    bar = "#" * (20 * number // votes)
    write_over(
        f"[{bar:<20}] vote {number} of {votes}: {line['candidates']:,} candidates, "
        f"{100 * line['above_threshold']:.0f} % above the threshold, epsilon {line['epsilon']:.3g}",
        show=progress,
    )
