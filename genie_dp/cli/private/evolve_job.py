"""One run of `genie-dp private evolve`: from options and a recipe to rows, a prior and a report."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.private.evolve_folder import EVOLUTION, deliver
from genie_dp.cli.private.evolve_generators import embedding_of, generator_of, public_files
from genie_dp.cli.private.evolve_plan import (
    Plan,
    epsilon_of_options,
    known_plan,
    plan_of,
    save_plan,
)
from genie_dp.cli.private.run_folder import FolderJob
from genie_dp.cli.private.table_job import LOST, adapted, public_rows
from genie_dp.cli.private.train_files import digest_of, write_over
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.functions import functions_of
from genie_dp.private.evolution.covered import check_generator, check_table
from genie_dp.private.evolution.embedding import Embedding
from genie_dp.private.evolution.generator import Candidate, Generator
from genie_dp.private.evolution.prior import prior_of
from genie_dp.private.evolution.recipe import Recipe, read_recipe
from genie_dp.private.evolution.run import Electorate, Evolved, evolve
from genie_dp.private.evolution.transformer import SentenceTransformer
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.guard import Payer, ledger_to_spend, refuse_learned, refuse_private
from genie_dp.private.ledger.once import made_once
from genie_dp.private.prior.make import Made
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables.adapt import named
from genie_dp.private.tables.extract import check_extractors, example_of, fields_of, metadata_of
from genie_dp.private.tables.release import release_table
from genie_dp.private.tables.schema import Column, Schema, load_schema
from genie_dp.private.tables.table import SyntheticTable, load_table, table_from
from genie_dp.rows import format_of
from genie_dp.run.work import begun

PURPOSE, TABLE_PURPOSE = "evolution: a vote", "evolution: table of metadata"
# Settings of the recipe that options stand before.
_GIVEN = (
    "generator", "embedding", "iterations", "population", "variations", "lookahead", "neighbours",
    "threshold", "selection", "keep", "rows", "label", "backend", "seed",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job(FolderJob):
    """What one call of `genie-dp private evolve` asks for; only public files are read.

    Attributes:
        options: those of the command.
        recipe: all settings; its label is the name of a column.
        schema: columns of the metadata; of the label alone where no table is wanted.
        known: a table that was released before.
        library: skills or declarations, where programs are made.
    """

    recipe: Recipe
    language: Language
    library: Any
    ledger: Ledger
    schema: Schema | None
    known: SyntheticTable | None

    @property
    def releases_table(self) -> bool:
        """Tell whether a table is part of the run."""
        return self.recipe.metadata is not None and self.known is None

    def shared(self) -> dict[str, Any]:
        """Return all that a resumed run must share; nothing of it is private."""
        options, recipe = self.options, self.recipe
        files = [*options["public"], *public_files(recipe)]
        return {
            "version": __version__,
            "private": str(options["private"].resolve()),
            "ledger": str(self.ledger.path),
            "epsilon": options["epsilon"],
            "rest": options["rest"],
            "language": self.language.name,
            "recipe": recipe.as_dict(),
            "schema": self.schema.as_dict() if self.schema else None,
            "files": [digest_of(str(name)) for name in files],
        }

    def source(self) -> PrivateSource:
        """Return the private rows by unit."""
        return PrivateSource.promised(
            self.options["private"],
            self.ledger.budget,
            language=self.language.name,
            fields=fields_of(self.schema) if self.schema else (),
        )


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options; only public files are read."""
    recipe = read_recipe(options["recipe"], {name: options[name] for name in _GIVEN})
    ledger = Ledger.open(ledger_to_spend(options["private"], options["ledger"]))
    said = [*options["public"], *public_files(recipe)]
    refuse_private([name for name in said if name], options["private"], code="U007")
    if parser := getattr(recipe.generator, "parser", None):
        refuse_learned(Path(parser), options["private"], code="U007")
    language = get_language(options["language"])
    path = recipe.metadata.table if recipe.metadata else None
    known = load_table(Path(path)) if path else None
    schema = known.schema if known else _schema(recipe, options)
    if known is not None:
        check_table(known, ledger)
    recipe, schema = _labelled(recipe, schema)
    if schema is not None:
        check_extractors(schema, language.name)
        _check_fields(schema, options["private"])
    library = None
    if recipe.generator.kind == "grammar" or getattr(recipe.generator, "parser", None):
        library = load_library_of(
            options["language"], options["skills"], skip_broken=options["skip_broken"]
        )
    return Job(options, recipe, language, library, ledger, schema, known)


def _schema(recipe: Recipe, options: Mapping[str, Any]) -> Schema | None:
    metadata = recipe.metadata
    if metadata is None:
        return None
    if metadata.schema:
        return load_schema(Path(metadata.schema))
    columns = ",".join(metadata.columns)
    return adapted({**options, "columns": columns, "most": metadata.most})


def _labelled(recipe: Recipe, schema: Schema | None) -> tuple[Recipe, Schema | None]:
    """Return the recipe with its label named as the column is, and a schema that has it.

    Raises:
        GenieError: U004, nobody says the shares of the labels; U023, the schema has no such column,
            or shares are of labels that it has not.
    """
    if not recipe.label:
        return recipe, schema
    if schema is None:
        if not recipe.fractions:
            hint = "give metadata with that column, or the shares with fractions"
            message = f"no shares of the labels {recipe.label!r} are known"
            raise GenieError(Problem("U004", message, hint=hint))
        column = named(recipe.label)
        schema = Schema((Column(column.name, tuple(recipe.fractions), column.extract),))
        return replace(recipe, label=column.name), schema
    if recipe.label not in schema.names:
        hint = did_you_mean(recipe.label, schema.names) or f"columns: {', '.join(schema.names)}"
        message = f"the metadata has no column {recipe.label!r} for the label"
        raise GenieError(Problem("U023", message, hint=hint))
    values = schema.columns[schema.names.index(recipe.label)].values
    for name in recipe.fractions or ():
        if name not in values:
            message = f"the column {recipe.label!r} has no value {name!r}"
            raise GenieError(Problem("U023", message, hint=did_you_mean(name, values)))
    return recipe, schema


def _check_fields(schema: Schema, private: Path) -> None:
    if fields_of(schema) and format_of(str(private)) == "tsv":
        message = f"rows of TSV have no field {fields_of(schema)[0]!r}"
        raise GenieError(Problem("U023", message, hint="give the private rows as JSONL"))


# ------------------------------------------------------------------------------- the run


def run(options: Mapping[str, Any]) -> None:
    """Check everything, then evolve, and say what it cost."""
    started = time.monotonic()
    job = job_of(options)
    job.refuse_output(EVOLUTION)
    with begun(job.work, job.shared(), resume=options["resume"]) as work:
        plan = _plan(job)
        generator = _generator(job)
        embedding = _embedding(job)
        source = job.source()
        work.keep()  # all was checked that can be before anything is made or spent
        table = _table(job, plan, source)
        found = _evolved(job, plan, generator, embedding, source, table)
        _deliver(job, plan, generator, table, found)
    _say(job, plan, found, time.monotonic() - started)


def _plan(job: Job) -> Plan:
    """Return what the run will cost, which fits into the budget; a resumed one costs the same."""
    path = job.work / "plan.json"
    known = known_plan(path)
    if known is not None:
        return known
    budget = job.ledger.budget
    is_rest = bool(job.options["rest"])
    epsilon = (
        budget.epsilon
        if is_rest
        else epsilon_of_options(job.options["epsilon"], job.recipe.epsilon, job.ledger)
    )
    schema = job.schema if job.releases_table else None
    plan = plan_of(job.recipe, schema, job.ledger, epsilon=epsilon, is_rest=is_rest)
    save_plan(plan, path)
    return plan


def _generator(job: Job) -> Generator:
    if job.recipe.generator.kind in ("language-model", "trained") or _has_parser(job.recipe):
        from genie_dp.learn.device import prepare_torch

        device = getattr(job.recipe.generator, "device", "cpu")
        prepare_torch(device, job.options["threads"])
    found = generator_of(
        job.recipe,
        language=job.language,
        library=job.library,
        schema=job.schema,
        label=job.recipe.label,
        work=job.work,
        options=job.options,
    )
    check_generator(found, job.ledger)
    return found


def _embedding(job: Job) -> Embedding:
    found = embedding_of(job.recipe.embedding, job.language)
    if isinstance(found, SentenceTransformer):
        found.load()
    return found


def _has_parser(recipe: Recipe) -> bool:
    return getattr(recipe.generator, "parser", None) is not None


def _table(job: Job, plan: Plan, source: PrivateSource) -> SyntheticTable | None:
    """Return the table of metadata: released now, by the run that this one goes on with, or before.

    Without metadata there is none; its columns are then those of the label alone.
    """
    if not job.releases_table:
        return job.known
    schema, metadata = job.schema, job.recipe.metadata
    assert schema is not None
    assert metadata is not None

    payer = Payer(job.ledger, TABLE_PURPOSE)

    def text(run: str) -> str:
        table = release_table(
            schema,
            lambda: metadata_of(schema, source),
            epsilon=plan.table_epsilon,
            delta=job.ledger.budget.delta,
            spend=replace(payer, run=run),
            method=metadata.method,
            backend=metadata.backend,
        )
        return table.of_run(run).text()

    work = job.work / "table"
    work.mkdir(exist_ok=True)
    write_over("the table of metadata is released")
    return table_from(made_once(work, "evolve-table", text, payer.close, **LOST))


def _evolved(
    job: Job,
    plan: Plan,
    generator: Generator,
    embedding: Embedding,
    source: PrivateSource,
    table: SyntheticTable | None,
) -> Evolved:
    label, labels, fractions = job.recipe.label, None, None
    if label:
        assert job.schema is not None
        labels = [[one[label] for one in unit] for unit in metadata_of(job.schema, source)]
    if label and table is not None:
        values = table.schema.columns[table.schema.names.index(label)].values
        fractions = dict(zip(values, table.marginal((label,)).tolist(), strict=True))
    units = source.units.each(lambda unit: [example_of(row, source.language) for row in unit])
    return evolve(
        Electorate(units, labels),
        generator,
        embedding,
        job.recipe.settings(plan.noise_multiplier),
        spend=Payer(job.ledger, PURPOSE),
        work=job.work / "votes",
        fractions=fractions,
        table=table,
        listen=_tell,
    )


def _tell(line: Mapping[str, Any]) -> None:
    """Say how far the run is, on a terminal."""
    done, votes = line["vote"], line["votes"]
    bar = "#" * (20 * done // votes)
    write_over(
        f"[{bar:<20}] vote {done} of {votes}: {line['candidates']:,} candidates, "
        f"{100 * line['above_threshold']:.0f} % above the threshold, epsilon {line['epsilon']:.3g}"
    )


def _deliver(
    job: Job, plan: Plan, generator: Generator, table: SyntheticTable | None, found: Evolved
) -> None:
    found = replace(found, rows=tuple(_in_language(one, job.language) for one in found.rows))
    settings = job.recipe.settings(plan.noise_multiplier)
    names = _functions(job.library)
    has_functions = any(one.example.functions for one in found.rows)
    prior = prior_of(found, settings, functions=names if has_functions else (), made=_made(job))
    deliver(job, job.recipe, prior, generator, table, found)


def _in_language(row: Candidate, language: Language) -> Candidate:
    """Return a row with its language, which a sentence without a program does not know."""
    return replace(row, example=replace(row.example, language=language.name))


def _functions(library: Any) -> list[str]:
    """Return the functions of a library of skills; declarations do not name them all."""
    if not hasattr(library, "functions"):
        return []
    return [signature.qualified for signature in library.functions()]


def _made(job: Job) -> Made | None:
    files = job.options["public"]
    if not files:
        return None
    rows = (row for name in files for row, _ in public_rows(name, job.language.name))
    return Made.of(functions_of(row) for row in rows)


def _say(job: Job, plan: Plan, found: Evolved, seconds: float) -> None:
    write_over("")
    budget, last = job.ledger.budget, found.report["iterations"][-1]
    if last["above_threshold"] == 0:
        message = "noise dominates: no candidate of the last vote is above the threshold"
        hint = "more private rows, a greater epsilon, or less --population, --variations or"
        warning = Problem("U024", message, hint=f"{hint} --iterations", severity="warning")
        click.echo(str(GenieError(warning)), err=True)
    click.echo(
        f"{len(found.rows):,} rows of {found.report['calls']:,} candidates, "
        f"{job.recipe.iterations} votes with noise {plan.noise_multiplier:g} -> {job.output} "
        f"({seconds:.0f} s)\n"
        f"spent so far: epsilon {found.spent.epsilon:.4g} of {budget.epsilon:g} at delta "
        f"{budget.delta:g}, unit {budget.unit}, {budget.accountant}",
        err=True,
    )
