"""`genie-dp parse`: from sentences to programs."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import Finite, grammar_option

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("parse")
@click.argument("sentence", required=False)
@click.option(
    "--parser", "-p", "folder", type=_FOLDER, required=True, metavar="FOLDER",
    help="What genie-dp train wrote.",
)  # fmt: skip
@click.option(
    "--input", "file", metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    help="Parse the sentence on each line, - for standard input.",
)  # fmt: skip
@click.option(
    "--count", type=click.IntRange(1, 50), default=1, show_default=True, metavar="N",
    help="Up to N programs of each sentence, the most probable first.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="One JSON object a sentence, a line each.")
@click.option(
    "--threshold", type=Finite(0, 1),
    help="Confidence under which it says that it does not know [what the parser has].",
)  # fmt: skip
@click.option(
    "--beam", type=click.IntRange(1, 64), help="Programs that search keeps [what the parser has]."
)
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--no-english", "english", is_flag=True, flag_value=False, default=True,
              help="Do not say in English what a program does: two seconds less.")  # fmt: skip
@click.option(
    "--tables", type=_FILE, metavar="FILE",
    help="Rows that queries answer, as JSON; show what a program would do with them.",
)  # fmt: skip
@grammar_option
def command(**options: Any) -> None:
    """Show the programs of sentences, with their meaning in English.

    Without SENTENCE and --input it asks for sentences, until Ctrl-D. A program is shown with its
    values, what it means, and how sure the parser is. If it is not sure enough it says that it does
    not know, with the nearest reading.

    \b
    genie-dp parse --parser parser "whats the weather like in paris"
    genie-dp parse --parser parser --input sentences.txt --json --count 3
    genie-dp parse --parser parser --tables examples/tables.json
    """
    from genie_dp.cli.parse_job import run

    if options["sentence"] is not None and options["file"] is not None:
        raise click.UsageError("give one sentence, or a file with --input, not both")
    run(options)
