"""`genie-dp private sample`: rows drawn from a generator."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import format_option, rows_output, settings_options, skills_option
from genie_dp.private.generators.config import SampleConfig


@click.command("sample")
@click.argument("generator", type=click.Path(exists=True, file_okay=False, path_type=Path))
@rows_output
@format_option
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@click.option(
    "--constrained/--unconstrained", "constrained", default=True, show_default=True,
    help="Draw programs that are well-typed in the library, or any and drop those that are not.",
)  # fmt: skip
@settings_options(SampleConfig)
@click.option(
    "--parser", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A parser of public or of drawn rows: it writes the programs of kinds without any, and of "
    "two-stage only rows are kept that it reads back.",
)  # fmt: skip
@skills_option("Skills that programs are checked against")
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True, help="Of torch.")
def command(
    *,
    generator: Path,
    output: str,
    format_: str | None,
    overwrite: bool,
    constrained: bool,
    settings: Mapping[str, Any],
    parser: Path | None,
    skills: tuple[Path, ...],
    skip_broken: bool,
    device: str,
    threads: int,
) -> None:
    """Draw rows of source private from GENERATOR, a folder of genie-dp private train.

    Programs that are none, and sentences that lack a placeholder of theirs, are dropped and
    counted. Rows of one-stage and control have no program, unless a parser writes it. Of two-stage,
    a parser drops the rows whose sentence it reads as another program; then others are drawn.

    \b
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    genie-dp train rows.jsonl pairs.jsonl --spent generator/spent.json --output parser
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show
    from genie_dp.parser.parser import BestProgram
    from genie_dp.private.generators.sample import run
    from genie_dp.run.stage import Output

    result = run(
        SampleConfig(constrained=constrained, **settings),
        generator,
        Output(output, format_, overwrite=overwrite),
        load_library=partial(load_library_of, skills=skills, skip_broken=skip_broken),
        parser=parser,
        open_parser=BestProgram.from_folder,
        device=device,
        threads=threads,
        progress=True,
    )
    show(result)
