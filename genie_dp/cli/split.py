"""`genie-dp split`: rows into parts that share no sentence, program or combination of functions."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import card_options, settings_options
from genie_dp.dataset.config import SplitConfig


@click.command("split")
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@settings_options(SplitConfig, names={"parts": "part", "eval_sources": "eval-source"})
@click.option(
    "--check",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Look for leaks between the parts of a folder, and stop.",
)
@card_options
@click.option("--overwrite", is_flag=True, help="Replace a data set folder.")
@click.option(
    "--output", "-o", type=click.Path(path_type=Path), metavar="FOLDER", help="New folder."
)
def command(
    *,
    inputs: tuple[str, ...],
    settings: Mapping[str, Any],
    check: Path | None,
    title: str,
    licence: str,
    origin: str,
    spent: Path | None,
    overwrite: bool,
    output: Path | None,
) -> None:
    """Split rows into parts for training and evaluation.

    The same rows and seed give the same parts, whatever the order of rows and files. Paraphrases
    and augmented rows stay with the row they were made from. Ends with exit code 1 if parts share
    anything they must not.

    \b
    genie-dp split pairs.jsonl --output data
    genie-dp split --by functions --part train --part test=0.1 --eval-source paraphrase \\
        synthetic.jsonl paraphrases.jsonl --output data
    genie-dp split --check data
    """
    from genie_dp.cli.output import show
    from genie_dp.dataset.folder import AboutRows
    from genie_dp.dataset.split import check_split, run
    from genie_dp.run.stage import Output

    if check is not None:
        if inputs or output:
            raise click.UsageError("--check takes a folder, no INPUT and no --output")
        names = check_split(check, settings.get("by"))
        click.echo(f"no leaks between {', '.join(names)}", err=True)
        return
    if not inputs or output is None:
        raise click.UsageError("expected INPUT.. and --output FOLDER, or --check FOLDER")
    result = run(
        SplitConfig(**settings), inputs, Output(str(output), overwrite=overwrite),
        about=AboutRows(title, licence, origin, spent), progress=True,
    )  # fmt: skip
    for line in result.table():
        click.echo(line)
    show(result)
