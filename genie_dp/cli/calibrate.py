"""`genie-dp calibrate`: the confidence of a finished parser, fitted anew."""

from pathlib import Path

import click

from genie_dp.cli.options import Finite, of_project


@click.command("calibrate")
@click.argument("folder", metavar="PARSER", required=False, type=click.Path(path_type=Path))
@click.argument("gold", metavar="ROWS", required=False)
@of_project()
@click.option(
    "--threshold", type=Finite(0, 1), metavar="SHARE",
    help="From now on the confidence under which it says that it does not know "
    "[what the parser has].",
)  # fmt: skip
def command(*, folder: Path | None, gold: str | None, threshold: float | None) -> None:
    """Fit the confidence of a finished parser to real sentences.

    ROWS are a file of rows, an eval.tsv, or a folder of skills whose eval.tsv are meant: what
    people said, with the right programs. In a project, its parser and the sentences that it is
    measured with need no name. Of a sentence that is to be refused the program is out_of_scope. The
    network stays as it is; what it answers is what changes in the parser's folder.

    \b
    genie-dp calibrate parser heard.jsonl
    genie-dp calibrate parser thingpedia --threshold 0.7
    """
    from genie_dp.cli.output import show
    from genie_dp.parser.calibrate import run
    from genie_dp.project import Project
    from genie_dp.project_file import find_project

    if folder is None or gold is None:
        missing = "PARSER" if folder is None else "ROWS"
        raise click.UsageError(f"Missing argument '{missing}', and no project has it.")
    if not folder.is_dir():
        raise click.UsageError(f"expected PARSER, the folder of a parser, got {str(folder)!r}")
    result = run(folder, gold, threshold=threshold)
    if (file := find_project(Path.cwd())) is not None:
        Project(file).accept(folder)  # or the next run would train it anew
    show(result)
