"""`genie-dp paraphrase serve`: the tasks on a web page of one's own."""

from typing import Any

import click

from genie_dp.cli.paraphrase.check_options import limit_options


@click.command("serve")
@click.argument("sentences_file", metavar="CHOSEN")
@click.option(
    "--database", required=True, metavar="SQLITE",
    help="Where answers go; if it is there, everybody goes on where they stopped.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8808, show_default=True,
    help="Of the page; 0 for any that is free.",
)  # fmt: skip
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="Address to listen at; any but this machine's own lets others in, who need the address "
    "with its token.",
)  # fmt: skip
@click.option(
    "--allow-host", multiple=True, metavar="NAME",
    help="A further name by which the page may be asked for, such as a proxy's. May be repeated.",
)  # fmt: skip
@click.option("--worker", metavar="NAME", help="Whose page it is; otherwise it asks for a name.")
@click.option(
    "--sentences", type=click.IntRange(1, 20),
    help="Sentences of a task; 4, or what the database has.",
)  # fmt: skip
@click.option(
    "--paraphrases", type=click.IntRange(1, 5),
    help="Paraphrases that a person writes of each; 2, or what the database has.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1), default=3, show_default=True,
    help="People who see each task.",
)  # fmt: skip
@limit_options
def command(**options: Any) -> None:
    """Show paraphrase tasks on a local web page, and keep what people write.

    CHOSEN is what `genie-dp paraphrase select` wrote. Every answer is on disk before the next
    sentence is shown; `genie-dp paraphrase export` makes the results that `collect` reads.

    \b
    genie-dp paraphrase serve chosen.jsonl --database answers.sqlite
    """
    from genie_dp.cli.paraphrase.serving import run

    run(options)
