"""`genie-dp ensemble`: several parsers as one."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import settings_options
from genie_dp.parser.config import EnsembleConfig


@click.command("ensemble")
@click.argument("parsers", nargs=-1, required=True, metavar="PARSER PARSER...",
                type=click.Path(exists=True, file_okay=False, path_type=Path))  # fmt: skip
@click.option(
    "--output", "-o", required=True, metavar="FOLDER",
    help="Where the parser goes. It appears when it is complete.",
)  # fmt: skip
@settings_options(EnsembleConfig)
@click.option("--licence", default="", metavar="TEXT", help="Licence of the parser, for its card.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="For the measurement: cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the output.")
def command(
    *,
    parsers: tuple[Path, ...],
    output: str,
    settings: Mapping[str, Any],
    licence: str,
    device: str,
    overwrite: bool,
) -> None:
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
    from genie_dp.cli.output import show
    from genie_dp.parser.ensemble import run
    from genie_dp.run.stage import Output

    config = EnsembleConfig(**settings)
    place = Output(output, overwrite=overwrite)
    show(run(config, parsers, place, licence=licence, device=device))
