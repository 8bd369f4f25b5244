"""`genie-dp private evaluate`: how near synthetic rows come to real ones."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import library_options


@click.command("evaluate")
@click.argument("real")
@click.argument("synthetic", nargs=-1, required=True, metavar="SYNTHETIC...")
@click.option(
    "--real-is-public",
    is_flag=True,
    help="REAL may be seen by everybody: figures are printed, functions are named.",
)
@click.option(
    "--keep-private",
    is_flag=True,
    help="REAL is private, and so is the report: files that only you can read, nothing printed.",
)
@library_options
@click.option("--utterances-only", is_flag=True, help="Measure sentences, not programs.")
@click.option(
    "--parser",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Count functions in what this trained parser says of the sentences, and compare its "
    "programs with those of the rows.",
)
@click.option(
    "--rows",
    type=click.IntRange(2),
    metavar="N",
    help="Rows of each file that are compared, chosen by chance [those of the smallest file].",
)
@click.option(
    "--buckets",
    type=click.IntRange(2),
    metavar="N",
    help="MAUVE: number of clusters [a tenth of the rows]. Compare figures of equal numbers only.",
)
@click.option(
    "--mauve-runs",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="MAUVE: how often clusters are made; the mean is told.",
)
@click.option("--no-mauve", is_flag=True, help="Leave MAUVE out.")
@click.option(
    "--lm-text",
    multiple=True,
    metavar="FILE",
    help="Rows, or lines of a .txt, to make the language model of [halves of REAL]. May be "
    "repeated.",
)
@click.option(
    "--model",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="A causal language model of Hugging Face: vectors for MAUVE, and losses.",
)
@click.option("--report", metavar="FILE", help="Write a page with charts there.")
@click.option("--output", "-o", metavar="FILE|URL|-", help="Write the result there, as JSON.")
@click.option("--title", help="Title of the page.")
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Seed of the rows chosen, of clusters and of intervals.",
)
def command(**options: Any) -> None:
    """Compare synthetic rows with real ones that were held out.

    Words, functions and their distribution, MAUVE, the loss of a language model, valid programs.
    REAL and SYNTHETIC are rows as JSONL, TSV or, if REAL is public, Parquet; several SYNTHETIC
    stand side by side.

    The figures are NOT differentially private. Say what REAL is: --real-is-public, or
    --keep-private, then the report must stay where the private rows are.

    \b
    genie-dp private evaluate test.jsonl one.jsonl two.jsonl --real-is-public --report report.html
    genie-dp private evaluate test.jsonl two.jsonl --real-is-public --parser parser
    genie-dp private evaluate private.jsonl two.jsonl --keep-private --report kept/report.html
    """
    from genie_dp.cli.private.evaluate_job import run

    run(options)
