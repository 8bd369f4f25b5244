"""Private evolution as a stage: from private rows to synthetic rows, a prior and a report.

What is paid survives being killed: table, candidates and votes are kept until the folder is there.
"""

import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages import get_language
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.programs import functions_of
from genie_dp.private.evolution.build import GeneratorBuilder, build_embedding, describe_work
from genie_dp.private.evolution.config import EvolutionConfig, as_yaml
from genie_dp.private.evolution.evolve import (
    Electorate,
    Evolution,
    check_generator,
    check_table,
    evolve,
)
from genie_dp.private.evolution.prior import prior_of
from genie_dp.private.generators.rows import OpenParser
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Payer, refuse_learned, refuse_private
from genie_dp.private.ledger.mechanisms import Gaussian, Mechanism
from genie_dp.private.prior.make import PublicFunctions
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables import extract
from genie_dp.private.tables.run import mechanisms_of, release_table_once, rho_for
from genie_dp.private.tables.schema import Schema, load_schema
from genie_dp.private.tables.table import SyntheticTable, load_table, table_from
from genie_dp.private_prior import PriorFile, load_prior, save_prior
from genie_dp.records import PrivatePrior, Spent
from genie_dp.rows import Rows, to_json
from genie_dp.run.files import sha256_of
from genie_dp.run.manifest import manifest_of, write_json
from genie_dp.run.stage import Output, Result, write_over
from genie_dp.run.work import FolderKind, begin_work, put_in_place, refuse_output

PURPOSE, TABLE_PURPOSE = "evolution: a vote", "evolution: table of metadata"
FORMAT = "genie_dp evolution report"
ROWS, METADATA, PRIOR, REPORT = "rows.jsonl", "metadata.jsonl", "prior.json", "report.json"
EVOLUTION = FolderKind(REPORT, FORMAT, name="folder of an evolution", code="U025")


@dataclass(frozen=True, slots=True)
class EvolutionResult(Result):
    """Synthetic rows that private rows voted for, and what their votes say of functions.

    Attributes:
        output: the folder of all that was written; "" where nothing was.
        rows: the synthetic rows, of source private.
        prior: steers synthesis, augmentation and training.
        spent: the guarantee of everything that was released so far.
        report: of each vote, for people: nothing exact.
        budget: what was promised.
        seconds: how long all took.
    """

    output: str
    rows: Rows
    prior: PriorFile
    spent: Spent
    report: Mapping[str, Any]
    budget: Budget
    seconds: float

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
        """Yield what to tell a person."""
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
class EvolutionPlan:
    """The noise of an evolution, settled before private rows are read.

    Attributes:
        epsilon: of the run by itself; of the whole ledger where the rest of a budget is used.
        table_epsilon: of the table by itself; 0 where none is released.
        noise_multiplier: of each vote.
    """

    epsilon: float
    table_epsilon: float
    noise_multiplier: float


def run(
    config: EvolutionConfig,
    private: Path,
    ledger: Ledger,
    library: Library | None,
    output: Output,
    *,
    language: str,
    epsilon: float | None = None,
    rest: bool = False,
    grammar: Sequence[Path] = (),
    public: Sequence[str] = (),
    open_parser: OpenParser | None = None,
    threads: int = 1,
    progress: bool | None = None,
) -> EvolutionResult:
    """Evolve synthetic rows: candidates that private rows vote for, with noise, and variations.

    Each vote is recorded in the ledger before it is counted.

    Args:
        config: all settings that are public.
        private: the private rows.
        ledger: their ledger, which pays.
        library: skills or declarations, where programs are made or columns need them; else None.
        output: the folder of rows, prior and report.
        language: of all programs.
        epsilon: what votes and table cost together; None for what the config says.
        rest: instead, use up what is left of the budget.
        grammar: files of templates, which go before those of the config.
        public: files of rows that may be published: values of columns are taken from them, and
            weights of the prior are relative to them.
        open_parser: opens the parser that the config names, if it names one.
        threads: of torch, where a model is used.
        progress: whether to show on stderr how far it is; None for on a terminal.

    Raises:
        GenieError: past the budget (B023), nobody said what it may cost (U008), what is said to be
            public is not (U007), the output is there (Y022) or something else (U025);
            docs/errors.md has more.
    """
    started = time.monotonic()
    files = [*public, *config.public_files]
    refuse_private([name for name in files if name], private, code="U007")
    if config.parser:
        refuse_learned(Path(config.parser), private, code="U007")
    target = get_language(language)
    config, schema, table = _read_metadata(config, ledger, library, target, private, public)
    folder, work_folder = Path(output.target), output.work
    refuse_output(folder, work_folder, EVOLUTION, resume=output.resume, overwrite=output.overwrite)
    settings = {
        "version": __version__,
        "private": str(private.resolve()),
        "ledger": str(ledger.path),
        "epsilon": epsilon,
        "rest": rest,
        "language": language,
        "recipe": config.as_dict(),
        "schema": schema.as_dict() if schema else None,
        "files": [sha256_of(str(name)) for name in files],
    }
    releases_table = config.metadata is not None and table is None
    with begin_work(work_folder, settings, resume=output.resume) as work:
        plan = _plan_once(
            work_folder, config, schema if releases_table else None, ledger, epsilon, rest=rest
        )
        builder = GeneratorBuilder(
            config, target, library, grammar, schema, work_folder, open_parser, threads
        )
        generator = builder.build()
        check_generator(generator, ledger)
        embedding = build_embedding(config.embedding, target)
        source = PrivateSource.promised(
            private,
            ledger.budget,
            language=language,
            fields=extract.fields_of(schema) if schema else (),
        )
        work.keep()  # all was checked that can be before anything is made or spent
        if releases_table:
            assert schema is not None
            write_over("the table of metadata is released", show=progress)
            table = _release_table(config, schema, source, plan, ledger, work_folder)
        labels, fractions = _read_labels(config.label, schema, table, source)
        units = source.units.each(lambda unit: [extract.example_of(row, language) for row in unit])
        evolution_settings = config.settings(plan.noise_multiplier)
        evolution = evolve(
            Electorate(units, labels),
            generator,
            embedding,
            evolution_settings,
            spend=Payer(ledger, PURPOSE),
            work=work_folder / "votes",
            fractions=fractions,
            table=table,
            listen=partial(_show_vote, progress),
        )
        evolution = evolution.in_language(language)
        has_functions = any(row.example.functions for row in evolution.rows)
        names = (
            [function.qualified for function in library.functions()] if library is not None else []
        )
        public_examples = (
            row for name in public for row, _ in extract.read_public_fields(name, language)
        )
        prior = prior_of(
            evolution,
            evolution_settings,
            # Declarations do not name all functions.
            functions=names if has_functions else (),
            public=PublicFunctions.from_rows(map(functions_of, public_examples))
            if public
            else None,
        )
        report = {"format": FORMAT, **evolution.report}
        if figures := describe_work(generator):
            report["model"] = figures
        _write_folder(work_folder / "made", config, evolution, prior, table, report)
        put_in_place(work_folder / "made", folder, work_folder)
    write_over("", show=progress)
    return EvolutionResult(
        output.target,
        Rows.read(folder / ROWS),
        load_prior(folder / PRIOR),
        evolution.spent,
        evolution.report,
        ledger.budget,
        time.monotonic() - started,
    )


# ---------------------------------------------------------------------------------- what is public


def _read_metadata(
    config: EvolutionConfig,
    ledger: Ledger,
    library: Library | None,
    language: Language,
    private: Path,
    public: Sequence[str],
) -> tuple[EvolutionConfig, Schema | None, SyntheticTable | None]:
    """Return the config with its label named as its column is, the columns, and a released table.

    Without metadata, the columns are that of the label alone.

    Raises:
        GenieError: U004, no shares of the labels are known; U023, rows or columns lack what is
            asked for; those of what is read.
    """
    metadata, table, schema = config.metadata, None, None
    if metadata is not None and metadata.table:
        table = load_table(Path(metadata.table))
        schema = table.schema
        check_table(table, ledger)
    elif metadata is not None and metadata.schema:
        schema = load_schema(Path(metadata.schema))
    elif metadata is not None:
        schema = extract.read_public_schema(
            metadata.columns, library, public, language=language.name, most=metadata.most
        )
    if config.label and schema is None:
        if not config.fractions:
            hint = "give metadata with that column, or the shares with fractions"
            message = f"no shares of the labels {config.label!r} are known"
            raise GenieError(Problem("U004", message, hint=hint))
        column = extract.column_by_name(config.label)
        schema = Schema((replace(column, values=tuple(config.fractions)),))
        config = replace(config, label=column.name)
    elif config.label and schema is not None:
        _check_label(config, schema)
    if schema is not None:
        extract.check_extractors(schema, language.name)
        extract.check_fields(extract.fields_of(schema), private, code="U023")
    return config, schema, table


def _check_label(config: EvolutionConfig, schema: Schema) -> None:
    """Refuse a label that is no column, or shares of labels that it does not have (U023)."""
    if config.label not in schema.names:
        hint = did_you_mean(config.label, schema.names) or f"columns: {', '.join(schema.names)}"
        message = f"the metadata has no column {config.label!r} for the label"
        raise GenieError(Problem("U023", message, hint=hint))
    values = schema.columns[schema.names.index(config.label)].values
    for name in config.fractions or ():
        if name not in values:
            message = f"the column {config.label!r} has no value {name!r}"
            raise GenieError(Problem("U023", message, hint=did_you_mean(name, values)))


# --------------------------------------------------------------------------------- what it costs


def _plan_once(
    work: Path,
    config: EvolutionConfig,
    schema: Schema | None,
    ledger: Ledger,
    epsilon: float | None,
    *,
    rest: bool,
) -> EvolutionPlan:
    """Return what the run will cost, which fits into the budget; a resumed one costs the same.

    Raises:
        GenieError: U008, nobody said what it may cost; those of `plan_evolution`.
    """
    path = work / "plan.json"
    if path.exists():
        return EvolutionPlan(**json.loads(path.read_text(encoding="utf-8")))
    budget = ledger.budget
    allowed = budget.epsilon if rest else epsilon or config.epsilon
    if allowed is None:
        hint = (
            f"give --epsilon, or --use-remaining-budget; the budget has {budget.epsilon:g} in all"
        )
        message = "nobody said what the run may cost, and there is no default"
        raise GenieError(Problem("U008", message, hint=hint))
    plan = plan_evolution(config, schema, ledger, epsilon=allowed, is_rest=rest)
    replace_durably(path, json.dumps(asdict(plan)))
    return plan


def plan_evolution(
    config: EvolutionConfig,
    schema: Schema | None,
    ledger: Ledger,
    *,
    epsilon: float,
    is_rest: bool,
) -> EvolutionPlan:
    """Return the plan of a run that begins.

    The table is released for its share of epsilon, by itself. Votes get the least noise with which
    table and votes together, composed, cost epsilon: more than the rest of it by plain sums.

    Args:
        config: the settings.
        schema: of the table that is to be released; None for none.
        ledger: of the private rows.
        epsilon: of the run, or of everything with `is_rest`.
        is_rest: whether what was spent before is part of epsilon.

    Raises:
        GenieError: nothing is left (B004), or it does not fit (B023); T505, no table for so little.
    """
    budget, metadata = ledger.budget, config.metadata
    before = ledger.mechanisms if is_rest else ()
    table_epsilon, table = 0.0, tuple[Mechanism, ...]()
    if schema is not None and metadata is not None:
        free = epsilon - (ledger.epsilon_with() if is_rest else 0.0)
        table_epsilon = metadata.share * max(0.0, free)
        rho = rho_for(table_epsilon, budget.delta)
        table = mechanisms_of(metadata.method, len(schema.columns), rho)
    noise = noise_multiplier_for(
        epsilon,
        budget.delta,
        rate=1.0,
        steps=config.iterations,
        before=(*before, *table),
        accountant=budget.accountant,
    )
    ledger.check_fits([*table, Gaussian(noise, config.iterations)])
    return EvolutionPlan(epsilon, table_epsilon if table else 0.0, noise)


# ---------------------------------------------------------------------------------- private rows


def _release_table(
    config: EvolutionConfig,
    schema: Schema,
    source: PrivateSource,
    plan: EvolutionPlan,
    ledger: Ledger,
    work: Path,
) -> SyntheticTable:
    """Return the table of metadata, released now or by the run that this one goes on with."""
    assert config.metadata is not None
    folder = work / "table"
    folder.mkdir(exist_ok=True)
    text = release_table_once(
        folder,
        "evolve-table",
        schema,
        lambda: extract.metadata_of(schema, source),
        Payer(ledger, TABLE_PURPOSE),
        epsilon=plan.table_epsilon,
        method=config.metadata.method,
    )
    return table_from(text)


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


# ------------------------------------------------------------------------------------ the folder


def _write_folder(
    folder: Path,
    config: EvolutionConfig,
    evolution: Evolution,
    prior: PrivatePrior,
    table: SyntheticTable | None,
    report: Mapping[str, Any],
) -> None:
    """Write all files of an evolution into a new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with (folder / ROWS).open("w", encoding="utf-8", newline="\n") as out:
        out.writelines(f"{to_json(row.example)}\n" for row in evolution.rows)
    if any(row.metadata for row in evolution.rows):
        with (folder / METADATA).open("w", encoding="utf-8", newline="\n") as out:
            for row in evolution.rows:
                line = {"id": row.example.id, "metadata": dict(row.metadata)}
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
    save_prior(prior, folder / PRIOR)
    (folder / "recipe.yaml").write_text(as_yaml(config), encoding="utf-8")
    if table is not None:
        (folder / "table.json").write_text(table.text(), encoding="utf-8")
    spent = asdict(evolution.spent)
    write_json(str(folder / "spent.json"), spent)
    write_json(str(folder / REPORT), {**report, "spent": spent})
    manifest = {
        "command": "private evolve",
        "version": __version__,
        "recipe": config.as_dict(),
        "rows": len(evolution.rows),
        "calls": evolution.report["calls"],
        "spent": spent,
    }
    write_json(manifest_of(str(folder / ROWS)), manifest)
