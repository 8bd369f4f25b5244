"""`genie-dp data paraphrase hits`: a batch of paraphrase tasks, and the page that workers see."""

from collections.abc import Mapping
from typing import Any

import click

from genie_dp.cli.options import output_option, settings_options
from genie_dp.paraphrase.config import TaskConfig


@click.command("hits")
@click.argument("rows", metavar="CHOSEN")
@settings_options(TaskConfig)
@click.option("--page", metavar="HTML", help="Where the page of the task goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@output_option("Where the batch goes, as CSV.")
def command(
    *, rows: str, settings: Mapping[str, Any], page: str | None, overwrite: bool, output: str
) -> None:
    """Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.

    CHOSEN is what `genie-dp data paraphrase select` wrote. The page goes into the source view of a
    new project, the CSV is then published as a batch of it.

    \b
    genie-dp data paraphrase hits chosen.jsonl --output batch.csv --page task.html
    """
    from genie_dp.cli.output import show, told_private
    from genie_dp.paraphrase.tasks import write_paraphrase_tasks
    from genie_dp.run.stage import Output

    told_private([rows])  # to people who work for money
    output_file = Output(output, overwrite=overwrite)
    show(write_paraphrase_tasks(TaskConfig(**settings), rows, output_file, page=page))
