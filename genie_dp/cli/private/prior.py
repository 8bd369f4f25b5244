"""`genie-dp private prior`: what people ask for, released once with noise."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, Finite, library_options, paid_resume_options
from genie_dp.cli.private.ledgers import ledger_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("prior")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE", help="Where the prior goes, as JSON.",
)  # fmt: skip
@click.option(
    "--epsilon", required=True, type=POSITIVE,
    help="What this release costs by itself, at the budget's delta.",
)  # fmt: skip
@ledger_option
@library_options
@click.option(
    "--about", type=click.IntRange(1), metavar="N",
    help="How many units there are, as far as anybody may know [counted with noise, too].",
)  # fmt: skip
@click.option(
    "--mechanism", type=click.Choice(["gaussian", "laplace"]), default="gaussian",
    show_default=True, help="Noise. Laplace needs no delta, and is wider if a unit adds to much.",
)  # fmt: skip
@click.option(
    "--functions", "most_functions", type=click.IntRange(1), default=2, show_default=True,
    metavar="N", help="Functions that a unit counts for, at most: those that it uses most.",
)  # fmt: skip
@click.option(
    "--pairs", "most_pairs", type=click.IntRange(0), default=1, show_default=True, metavar="N",
    help="Pairs of functions in one program that a unit counts for, at most.",
)  # fmt: skip
@click.option(
    "--missing", "most_missing", type=click.IntRange(0), default=1, show_default=True, metavar="N",
    help="Names that the library lacks that a unit counts for, at most; needs one of the next two.",
)  # fmt: skip
@click.option(
    "--candidates", type=_FILE, metavar="FILE",
    help="Functions that the library may lack, one a line: each is counted. Nothing private.",
)  # fmt: skip
@click.option(
    "--threshold-delta", type=Finite(0, 1, min_open=True, max_open=True), metavar="DELTA",
    help="Show names of private rows that enough units have; takes so much of the budget's delta.",
)  # fmt: skip
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows made without the prior, such as those of synthesize: weights are relative to them "
    "[all functions alike]. May be repeated.",
)  # fmt: skip
@click.option(
    "--sampled", type=_FILE, metavar="FILE",
    help="Rows of genie-dp private sample: their programs and sentences go into the prior.",
)  # fmt: skip
@click.option("--spent", type=_FILE, metavar="FILE", help="Guarantee of these rows, as JSON.")
@paid_resume_options
def command(**options: Any) -> None:
    """Count which functions people ask for, with noise, and write a prior.

    PRIVATE is JSONL or TSV of utterances with their programs. The count is recorded in the ledger
    before it is made, and refused if the budget does not allow it. The prior steers synthesize,
    augment and train; what the library lacks is told to its developers.

    \b
    genie-dp private prior private.jsonl --epsilon 1 --output prior.json
    genie-dp synthesize --prior prior.json --output pairs.jsonl
    """
    from genie_dp.cli.private.prior_job import run

    if (options["sampled"] is None) != (options["spent"] is None):
        raise click.UsageError("--sampled and --spent go together")
    run(options)
