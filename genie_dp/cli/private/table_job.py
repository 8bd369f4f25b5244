"""What `genie-dp private table` does: from options to a schema, a table, or records of it."""

import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import click

from genie_dp import __version__
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.private.table_asked import model_of
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.functions import functions_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.files import replace_durably
from genie_dp.private.ledger.guard import Payer, Units, ledger_to_spend, refuse_private
from genie_dp.private.ledger.once import made_once
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables.adapt import PublicRow, adapt_schema
from genie_dp.private.tables.extract import check_extractors, field_of, fields_of, metadata_of
from genie_dp.private.tables.extractor_endpoint import TrustedModel, metadata_by_model
from genie_dp.private.tables.release import Backend, Method, release_table, rho_for
from genie_dp.private.tables.report import lines
from genie_dp.private.tables.schema import Metadata, Schema, load_schema
from genie_dp.private.tables.table import load_table, table_from
from genie_dp.records import Example
from genie_dp.rng import stream
from genie_dp.rows import format_of
from genie_dp.run.files import check_output, open_text, opened_text
from genie_dp.run.work import begun, refuse_or_clear, work_folder_of

PURPOSE = "table of metadata"
# What is said where a table that was released is gone.
LOST = {"what": "table", "code": "T510"}


@dataclass(frozen=True, slots=True)
class Job:
    """What one call of `genie-dp private table release` asks for: all of it public.

    Attributes:
        private: the file of private rows.
        schema: columns.
        epsilon: of the release by itself.
        model: fills some of the columns; None where functions fill all.
    """

    private: Path
    output: Path
    schema: Schema
    language: str
    epsilon: float
    ledger: Ledger
    method: Method
    backend: Backend
    model: TrustedModel | None = None

    @property
    def work(self) -> Path:
        """Return where the release lies until the table is written."""
        return work_folder_of(self.output)

    def settings(self) -> dict[str, Any]:
        """Return what a resumed run must share: nothing of it is private."""
        return {
            "version": __version__,
            "private": str(self.private.resolve()),
            "ledger": str(self.ledger.path),
            "schema": sha256(json.dumps(self.schema.as_dict()).encode()).hexdigest(),
            "release": [self.epsilon, self.method, self.backend],
            "asked": self.model.settings() if self.model else None,
        }

    def units(self) -> Units[list[Metadata]]:
        """Return the metadata of the private units."""
        source = PrivateSource.promised(
            self.private,
            self.ledger.budget,
            language=self.language,
            fields=fields_of(self.schema),
        )
        if self.model is not None:
            return metadata_by_model(self.schema, source, self.model)
        return metadata_of(self.schema, source)

    @property
    def payer(self) -> Payer:
        """Return what pays."""
        return Payer(self.ledger, PURPOSE)

    def text(self, run: str) -> str:
        """Return the table as its file has it; it is paid under the name of a run."""
        table = release_table(
            self.schema,
            self.units,
            epsilon=self.epsilon,
            delta=self.ledger.budget.delta,
            spend=replace(self.payer, run=run),
            method=self.method,
            backend=self.backend,
        )
        return table.of_run(run).text()


def run(options: Mapping[str, Any]) -> None:
    """Release a table, write it, and print what it tells."""
    output: Path = options["output"]
    check_output(str(output))
    job = job_of(options)
    refuse_or_clear(output, job.work, resume=options["resume"], overwrite=options["overwrite"])
    with begun(job.work, job.settings(), resume=options["resume"]) as work:
        text = made_once(job.work, "table", job.text, job.payer.close, **LOST)
        work.keep()
        replace_durably(output, text)
    shutil.rmtree(job.work, ignore_errors=True)  # who went on with the same run may be doing so
    for line in lines(table_from(text)):
        click.echo(line)
    click.echo(f"{len(job.schema.columns)} columns -> {output}", err=True)


def job_of(options: Mapping[str, Any]) -> Job:
    """Return the job of the command's options; only public files are read."""
    private, language = options["private"], options["language"]
    ledger = Ledger.open(ledger_to_spend(private, options["ledger"]))
    path = options["schema_"]
    refuse_private([*options["public"], *([path] if path else [])], private, code="T509")
    rho_for(options["epsilon"], ledger.budget.delta)
    schema = load_schema(path) if path else adapted(options)
    check_extractors(schema, language)
    model = model_of(options, schema)
    fields = _fields_read(schema, options["ask"])
    if fields and format_of(str(private)) == "tsv":
        message = f"rows of TSV have no field {fields[0]!r}"
        raise GenieError(Problem("T502", message, hint="give the private rows as JSONL"))
    release = options["epsilon"], ledger, options["method"], options["backend"]
    return Job(private, options["output"], schema, language, *release, model)


def _fields_read(schema: Schema, asked: Sequence[str]) -> list[str]:
    """Return the fields of private rows that columns are filled from, but for those asked for."""
    columns = [column for column in schema.columns if column.name not in asked]
    return [field for column in columns if (field := field_of(column)) is not None]


def adapted(options: Mapping[str, Any]) -> Schema:
    """Return the schema of --columns: of the library, and of public rows."""
    language = options["language"]
    names = [name.strip() for name in options["columns"].split(",") if name.strip()]
    library: list[str] = []
    if {"function", "skill"} & set(names):
        found = load_library_of(language, options["skills"], skip_broken=options["skip_broken"])
        library = _names(found, language)
    public = [row for name in options["public"] for row in public_rows(name, language)]
    return adapt_schema(
        names, library=library, public=public, language=language, most=options["most"]
    )


def _names(library: Any, language: str) -> list[str]:
    if language == "thingtalk":
        return [signature.qualified for signature in library.functions()]
    return [*library.signatures] if library else []


def public_rows(name: str, language: str) -> Iterator[PublicRow]:
    """Yield public rows of JSONL, with all their fields that are text.

    Raises:
        GenieError: T511, a line is no row; T509, a row is of source private.
    """
    with opened_text(name) as text:
        for number, line in enumerate(text, 1):
            if line.strip():
                yield _public_row(line, Span(name, number, 1, number, len(line)), language)


def _public_row(line: str, place: Span, language: str) -> PublicRow:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("utterance"), str):
        message = "expected a JSON object with the field 'utterance'"
        raise GenieError(Problem("T511", message, place, "one row a line"))
    if row.get("source") == "private":
        message = f"{place.file} has rows of source private, so it is not public"
        raise GenieError(Problem("T509", message, place))
    fields = {key: str(value) for key, value in row.items() if type(value) in (str, int)}
    said = row.get("functions")
    program = fields.get("program", "")
    functions = tuple(map(str, said)) if isinstance(said, list) else ()
    example = Example("", row["utterance"], program, language, functions=functions)
    return Example("", row["utterance"], program, language, functions=functions_of(example)), fields


# ------------------------------------------------------------------------- the other commands


def write_schema(options: Mapping[str, Any]) -> None:
    """Write the schema of --columns."""
    output = options["output"]
    check_output(output)
    refuse_private(options["public"], None, code="T509")
    schema = adapted(options)
    with open_text(output) as out:
        out.write(json.dumps(schema.as_dict(), indent=2, ensure_ascii=False) + "\n")
    told = f"{len(schema.columns)} columns, {schema.cells:,} different records"
    click.echo(f"{told} -> {output}", err=True)


def write_sample(path: Path, rows: int, seed: int, output: str) -> None:
    """Write records of a table."""
    check_output(output)
    table = load_table(path)
    with open_text(output) as out:
        for record in table.sample(rows, stream(seed, "table", "sample")):
            out.write(json.dumps(record, ensure_ascii=False) + "\n")
    click.echo(f"{rows:,} records -> {output}", err=True)
