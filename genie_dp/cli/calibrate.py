"""`genie-dp calibrate`: the confidence of a finished parser, fitted anew."""

from pathlib import Path

import click

from genie_dp.cli.options import Finite


@click.command("calibrate")
@click.argument("parser", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("rows", metavar="ROWS")
@click.option(
    "--threshold", type=Finite(0, 1), metavar="SHARE",
    help="From now on the confidence under which it says that it does not know "
    "[what the parser has].",
)  # fmt: skip
def command(*, parser: Path, rows: str, threshold: float | None) -> None:
    """Fit the confidence of a finished parser to real sentences.

    ROWS are a file of rows, or a folder of skills whose eval.tsv are meant: what people said, with
    the right programs. Of a sentence that is to be refused the program is out_of_scope. The network
    stays as it is; what it answers is what changes in the parser's folder.

    \b
    genie-dp calibrate parser heard.jsonl
    genie-dp calibrate parser thingpedia --threshold 0.7
    """
    from genie_dp.cli.output import show
    from genie_dp.parser.calibrate import run

    show(run(parser, rows, threshold=threshold))
