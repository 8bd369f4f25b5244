"""`genie-dp private render`: DP programs in the words of the templates."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    format_option,
    grammar_option,
    jobs_option,
    library_options,
    resume_options,
    rows_output,
    settings_options,
)
from genie_dp.private.prior.render import RenderConfig


@click.command("render")
@click.argument("source", metavar="PRIOR|ROWS", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--spent", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Guarantee of ROWS, as JSON.",
)  # fmt: skip
@library_options
@grammar_option
@settings_options(RenderConfig)
@click.option(
    "--unsaid", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write the programs that no template can say there, as TSV: how often they were drawn, "
    "program, reason.",
)  # fmt: skip
@jobs_option
@format_option
@resume_options
@rows_output
def command(
    *,
    source: str,
    spent: Path | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    unsaid: Path | None,
    jobs: int,
    format_: str | None,
    resume: bool,
    overwrite: bool,
    output: str,
) -> None:
    """Say the programs of a prior by the templates: several clean sentences for each.

    PRIOR is a file of `genie-dp private prior --sampled`; ROWS those of `genie-dp private sample`
    with their --spent. Sentences hold placeholders, for which genie-dp data augment draws new
    values. This reads nothing private and costs nothing.

    \b
    genie-dp private render prior.json --output rendered.jsonl
    genie-dp data augment rendered.jsonl --output train.jsonl
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show
    from genie_dp.private.prior.render import run
    from genie_dp.run.stage import Output

    read = partial(load_inputs, language, skills, grammar, skip_broken=skip_broken)
    target = Output(output, format_, resume=resume, overwrite=overwrite)
    config = RenderConfig(**settings)
    show(run(config, source, read, target, spent=spent, unsaid=unsaid, jobs=jobs, progress=True))
