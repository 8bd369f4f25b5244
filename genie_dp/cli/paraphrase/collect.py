"""`genie-dp paraphrase collect`: what workers wrote becomes rows of a data set."""

from typing import Any

import click

from genie_dp.cli.options import library_options
from genie_dp.cli.paraphrase.check_options import check_options


@click.command("collect")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@click.option("--chosen", required=True, metavar="CHOSEN", help="The rows that were shown.")
@library_options
@check_options
@click.option(
    "--votes", multiple=True, metavar="RESULTS",
    help="Results of the validation tasks. May be repeated.",
)  # fmt: skip
@click.option(
    "--threshold", type=click.IntRange(1), default=2, show_default=True,
    help="Votes for `same` that a paraphrase needs.",
)  # fmt: skip
@click.option(
    "--wrong-controls", type=click.IntRange(1), default=2, show_default=True,
    help="With so many wrong controls a worker's votes on a task do not count.",
)  # fmt: skip
@click.option("--rejects", metavar="CSV", help="Where the refused paraphrases go, with reasons.")
@click.option(
    "--review", metavar="CSV",
    help="Where the assignments go with Approve or Reject, to upload.",
)  # fmt: skip
@click.option(
    "--review-votes", metavar="CSV", help="The same for the assignments of the validation tasks."
)
@click.option("--report", metavar="JSON", help="Where the report goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="FILE|URL|-",
    help="Where the good paraphrases go, as JSON lines or, by the name, TSV or Parquet.",
)  # fmt: skip
def command(**options: Any) -> None:
    """Check what workers wrote, and write the good paraphrases as rows.

    RESULTS are the results of paraphrase batches, as Mechanical Turk exports them. Values become
    placeholders again, numbered from left to right.

    \b
    genie-dp paraphrase collect results.csv --chosen chosen.jsonl -o paraphrases.jsonl
    """
    from genie_dp.cli.paraphrase.collection import run

    run(options)
