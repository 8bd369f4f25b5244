"""`genie-dp data paraphrase export`: what people wrote on the local page, as results of a batch."""

import click

from genie_dp.cli.options import output_option


@click.command("export")
@click.argument("database", metavar="SQLITE")
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@output_option("Where the results go, as CSV.")
def command(database: str, overwrite: bool, output: str) -> None:
    """Write what people wrote on the local page as results that `collect` reads.

    SQLITE is the database of `genie-dp data paraphrase serve`, which may go on meanwhile. The
    columns are those of Mechanical Turk. Sentences that were skipped are left out.

    \b
    genie-dp data paraphrase export answers.sqlite --output results.csv
    """
    from genie_dp.cli.output import show
    from genie_dp.run.stage import Output
    from genie_dp.serve.paraphrases import export

    show(export(database, Output(output, overwrite=overwrite)))
