"""`genie-dp stats`: what a data set is made of, as JSON and as a page."""

import click

from genie_dp.cli.options import output_option


@click.command("stats")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option("Where the numbers go, as JSON.")
@click.option("--html", metavar="FILE", help="Write a page with charts there, too.")
@click.option("--title", help="Title of the page [the names of the inputs].")
def command(*, inputs: tuple[str, ...], output: str, html: str | None, title: str | None) -> None:
    """Count what a data set is made of.

    Sorts of commands, different words, programs and combinations of functions, lengths, and how
    much is new in paraphrases. INPUT is a file of rows, or a folder of split or convert.

    \b
    genie-dp stats synthetic.jsonl paraphrases.jsonl --output stats.json --html stats.html
    genie-dp stats data | jq .totals
    """
    from genie_dp.cli.output import show
    from genie_dp.dataset.stats import run
    from genie_dp.run.stage import Output

    show(run(inputs, Output(output), html=html, title=title, progress=True))
