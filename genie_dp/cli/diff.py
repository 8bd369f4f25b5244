"""`genie-dp diff`: what is different between two data sets."""

import click

from genie_dp.cli.options import output_option
from genie_dp.dataset.diff import SHOWN


@click.command("diff")
@click.argument("old")
@click.argument("new")
@output_option("Where the differences go.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    help="A table, or all as JSON [text; json where the output's name ends so].",
)
@click.option("--html", metavar="FILE", help="Write a page with charts there, too.")
@click.option("--title", help="Title of the page [the names of the data sets].")
@click.option(
    "--show",
    "shown",
    type=click.IntRange(0),
    default=SHOWN,
    show_default=True,
    metavar="N",
    help="Sentences, programs and functions that are shown, at most; the JSON has all sentences "
    "with another program.",
)
@click.option("--exit-code", is_flag=True, help="Exit with 1 where there is a difference.")
def command(
    *,
    old: str,
    new: str,
    output: str,
    format_: str | None,
    html: str | None,
    title: str | None,
    shown: int,
    exit_code: bool,
) -> int:
    """Say what is different between two data sets.

    Rows, sentences and programs that only one has; sentences that have another program; functions
    that came or went; and how far sources, sorts of commands, depths and lengths moved. OLD and NEW
    are files of any format that convert reads, or folders of split or convert. A row is its
    sentence and its program: ids and the order of rows do not count.

    \b
    genie-dp diff old.jsonl new.jsonl
    genie-dp diff data.old data --html diff.html --output diff.json
    """
    from genie_dp.cli.output import show
    from genie_dp.dataset.diff import run
    from genie_dp.run.stage import Output

    result = run(
        old, new, Output(output, format_), html=html, title=title, shown=shown, progress=True
    )
    show(result)
    return int(exit_code and not result.is_same)
