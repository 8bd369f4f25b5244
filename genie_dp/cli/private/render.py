"""`genie-dp private render`: DP programs in the words of the templates."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    format_option,
    jobs_option,
    library_options,
    resume_options,
    rows_output,
    templates_options,
)


@click.command("render")
@click.argument("source", metavar="PRIOR|ROWS", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--spent",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Guarantee of ROWS, as JSON.",
)
@library_options
@templates_options(max_depth=8)
@click.option(
    "--sentences",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    metavar="N",
    help="Sentences of each program, at most.",
)
@click.option(
    "--unsaid",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the programs that no template can say there, as TSV: how often they were drawn, "
    "program, reason.",
)
@jobs_option
@format_option
@resume_options
@rows_output
def command(**options: Any) -> None:
    """Say the programs of a prior by the templates: several clean sentences for each.

    PRIOR is a file of `genie-dp private prior --sampled`; ROWS those of `genie-dp private sample`
    with their --spent. Sentences hold placeholders, for which genie-dp augment draws new values.
    This reads nothing private and costs nothing.

    \b
    genie-dp private render prior.json --output rendered.jsonl
    genie-dp augment rendered.jsonl --output train.jsonl
    """
    from genie_dp.cli.private.render_job import run

    run(options)
