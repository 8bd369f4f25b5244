"""`genie-dp evaluate`: how good predictions are."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import SKILLS
from genie_dp.languages import language_names


@click.command("evaluate")
@click.argument("gold")
@click.argument("predictions", required=False)
@click.option(
    "--nearest",
    is_flag=True,
    help="Instead of PREDICTIONS: programs of the nearest --training sentences (a baseline).",
)
@click.option(
    "--parser",
    "parser",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Instead of PREDICTIONS: what a trained parser says, asked now.",
)
@click.option(
    "--unconstrained",
    is_flag=True,
    help="With --parser: programs may be ill-typed, as without a grammar.",
)
@click.option(
    "--beam", type=click.IntRange(1, 64), help="With --parser: programs that search keeps."
)
@click.option(
    "--training",
    multiple=True,
    metavar="FILE",
    help="What the parser was trained on: tells new programs and function combinations apart. "
    "May be repeated.",
)
@click.option(
    "--compare", metavar="FILE", help="Predictions of another parser, compared row by row."
)
@click.option(
    "--language",
    type=click.Choice(language_names()),
    help="Language of the programs [what the rows say].",
)
@click.option(
    "--skills",
    multiple=True,
    type=SKILLS,
    metavar="DIR",
    help="Skills that programs must fit [shipped]; for sexpr, a file of declarations. "
    "May be repeated.",
)
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option(
    "--unordered",
    is_flag=True,
    help="S-expressions: the order of the nodes in a node is of no account.",
)
@click.option("--report", metavar="FILE", help="Write a page with charts and sentences there.")
@click.option("--output", "-o", metavar="FILE|URL|-", help="Write the result there, as JSON.")
@click.option("--title", help="Title of the page [the name of the predictions].")
@click.option(
    "--most-wrong",
    type=click.IntRange(0),
    default=1000,
    show_default=True,
    metavar="N",
    help="How many wrong sentences page and JSON show; chosen by chance where there are more.",
)
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the confidence intervals."
)
def command(**options: Any) -> None:
    """Measure predicted programs against the right ones.

    GOLD are rows as JSONL, TSV or Parquet; rows of one sentence, or a list as `program`, are all
    right. It may be a folder of skills: then their eval.tsv are meant. PREDICTIONS are JSON lines
    {"id": .., "programs": [best, next, ..], "confidences": [..]}, or TSV of id and program.

    \b
    genie-dp evaluate test.jsonl predictions.jsonl --training train.jsonl --report report.html
    genie-dp evaluate test.jsonl predictions.jsonl --compare before.jsonl --output result.json
    genie-dp evaluate test.jsonl --nearest --training train.jsonl
    genie-dp evaluate thingpedia --parser parser --report report.html
    """
    from genie_dp.cli.evaluate_job import run

    run(options)
