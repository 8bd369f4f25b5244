"""`genie-dp data paraphrase serve`: the tasks on a web page of one's own."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import click

from genie_dp.cli.options import settings_options
from genie_dp.paraphrase.config import ServeConfig


@click.command("serve")
@click.argument("chosen", metavar="CHOSEN")
@click.option(
    "--database", required=True, metavar="SQLITE",
    help="Where answers go; if it is there, everybody goes on where they stopped.",
)  # fmt: skip
@settings_options(ServeConfig, names={"allow_hosts": "allow-host"})
def command(*, chosen: str, database: str, settings: Mapping[str, Any]) -> None:
    """Show paraphrase tasks on a local web page, and keep what people write.

    CHOSEN is what `genie-dp data paraphrase select` wrote. Every answer is on disk before the next
    sentence is shown; `genie-dp data paraphrase export` makes the results that `collect` reads.

    \b
    genie-dp data paraphrase serve chosen.jsonl --database answers.sqlite
    """
    from genie_dp.cli.output import show, told_private
    from genie_dp.serve.paraphrases import run
    from genie_dp.serve.writing import worker_name

    config = ServeConfig(**settings)
    conflict = config.conflict()
    if config.worker is not None and worker_name(config.worker) is None:
        conflict = "--worker must be a name that begins with a letter or a digit"
    if conflict:
        raise click.UsageError(conflict)
    told_private([chosen])
    show(run(config, chosen, database, tell=partial(click.echo, err=True)))
