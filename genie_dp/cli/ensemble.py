"""`genie-dp ensemble`: several parsers as one."""

from pathlib import Path
from typing import Any

import click


@click.command("ensemble")
@click.argument("parsers", nargs=-1, required=True, metavar="PARSER PARSER...",
                type=click.Path(exists=True, file_okay=False, path_type=Path))  # fmt: skip
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where the parser goes. It appears when it is complete.",
)  # fmt: skip
@click.option(
    "--validation", metavar="FILE|DIR",
    help="Rows of real sentences, or skills with eval.tsv: measure, calibrate the confidence "
    "[what the parsers' own measurements say, on average].",
)  # fmt: skip
@click.option("--licence", default="", metavar="TEXT", help="Licence of the parser, for its card.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="For the measurement: cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the output.")
def command(**options: Any) -> None:
    """Make one parser of several that were trained on the same rows.

    At each token their probabilities are averaged, so it is usually right more often than any of
    them by itself, and takes as long as all of them. Train them with different seeds, or
    architectures.

    \b
    genie-dp train train.jsonl --seed 1 --output one
    genie-dp train train.jsonl --seed 2 --output two
    genie-dp train train.jsonl --seed 3 --output three
    genie-dp ensemble one two three --output parser
    """
    from genie_dp.cli.ensemble_job import run

    run(options)
