"""`genie-dp paraphrase export`: what people wrote on the local page, as results of a batch."""

from pathlib import Path

import click

from genie_dp.run.files import refuse_existing, refuse_overlap

_WRITTEN = ("Answer.", "Input.sentence")  # columns with what people and rows say


@click.command("export")
@click.argument("database", metavar="SQLITE")
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="CSV|URL|-",
    help="Where the results go.",
)  # fmt: skip
def command(database: str, overwrite: bool, output: str) -> None:
    """Write what people wrote on the local page as results that `collect` reads.

    SQLITE is the database of `genie-dp paraphrase serve`, which may go on meanwhile. The columns
    are those of Mechanical Turk. Sentences that were skipped are left out.

    \b
    genie-dp paraphrase export answers.sqlite --output results.csv
    """
    from genie_dp.paraphrase.tables import guarded, write_table
    from genie_dp.serve.answer_store import read_store
    from genie_dp.serve.answer_table import result_columns, results

    refuse_overlap([output], [database])
    refuse_existing(output, overwrite=overwrite)
    store = read_store(Path(database))
    try:
        _, answers, workers = store.counts()
        rows = (
            {
                name: guarded(text) if name.startswith(_WRITTEN) else text
                for name, text in row.items()
            }
            for row in results(store)
        )
        written = write_table(output, result_columns(store.sizes), rows)
    finally:
        store.close()
    click.echo(
        f"{written:,} assignments with {answers:,} answered sentences of {workers:,} workers -> "
        f"{'stdout' if output == '-' else output}",
        err=True,
    )
