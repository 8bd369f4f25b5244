"""`genie-dp data paraphrase validate-hits`: tasks in which workers judge what others wrote."""

from collections.abc import Mapping
from typing import Any

import click

from genie_dp.cli.options import output_option, settings_options
from genie_dp.paraphrase.config import ValidationConfig


@click.command("validate-hits")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@click.option("--chosen", required=True, metavar="CHOSEN", help="The rows that were shown.")
@settings_options(ValidationConfig)
@click.option("--page", metavar="HTML", help="Where the page of the task goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@output_option("Where the batch goes, as CSV.")
def command(
    *,
    results: tuple[str, ...],
    chosen: str,
    settings: Mapping[str, Any],
    page: str | None,
    overwrite: bool,
    output: str,
) -> None:
    """Write validation tasks: which paraphrases mean the same as the sentence?

    RESULTS are the results of the paraphrase batch, as Mechanical Turk exports them; what passes
    the checks is put to the vote, among a sentence known to be the same and one known to differ.

    \b
    genie-dp data paraphrase validate-hits results.csv --chosen chosen.jsonl -o votes.csv
    """
    from genie_dp.cli.output import show
    from genie_dp.paraphrase.tasks import write_validation_tasks
    from genie_dp.run.stage import Output

    config = ValidationConfig(**settings)
    if conflict := config.conflict():
        raise click.UsageError(conflict)
    output_file = Output(output, overwrite=overwrite)
    show(write_validation_tasks(config, results, chosen, output_file, page=page))
