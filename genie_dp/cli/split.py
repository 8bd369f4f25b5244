"""`genie-dp split`: rows into parts that share no sentence, program or combination of functions."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.dataset_folder import card_options

SOURCES = ("synthetic", "paraphrase", "augmented", "private", "human")


@click.command("split")
@click.argument("inputs", nargs=-1, metavar="[INPUT]...")
@click.option(
    "--by",
    type=click.Choice(["sentence", "program", "functions", "id"]),
    help="What no two parts may share [sentence; with --check what the folder was split by].",
)
@click.option(
    "--part",
    "parts",
    multiple=True,
    metavar="NAME[=SIZE]",
    help="A part; SIZE is a share (0.1 or 10%) or a number of rows, and one part takes the rest "
    "[train, validation=0.1, test=0.1]. The first is for training. May be repeated.",
)
@click.option(
    "--eval-source",
    "eval_sources",
    multiple=True,
    type=click.Choice(SOURCES),
    help="Keep only rows of this source in the other parts, such as paraphrase. May be repeated.",
)
@click.option(
    "--split-primitives",
    is_flag=True,
    help="With --by functions, split commands of one function, too [all go into the first part].",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another split.")
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
def command(**options: Any) -> None:
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
    from genie_dp.cli.split_job import check, run

    if options["check"] is not None:
        if options["inputs"] or options["output"]:
            raise click.UsageError("--check takes a folder, no INPUT and no --output")
        check(options["check"], options["by"])
        return
    if not options["inputs"] or options["output"] is None:
        raise click.UsageError("expected INPUT.. and --output FOLDER, or --check FOLDER")
    run(options)
