"""`genie-dp stats`: what a data set is made of, as JSON and as a page."""

from pathlib import Path

import click

from genie_dp.cli.options import SKILLS, output_option
from genie_dp.dataset.gates import Gate
from genie_dp.errors import GenieError


class GateType(click.ParamType[Gate]):
    """A figure and its limit."""

    name = "gate"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Gate:
        """Return the gate."""
        try:
            return Gate.parse(str(value))
        except GenieError as error:
            (problem,) = error.problems
            self.fail(f"{problem.message} ({problem.hint})", param, ctx)


@click.command("stats")
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@output_option("Where the numbers go, as JSON.")
@click.option("--html", metavar="FILE", help="Write a page with charts there, too.")
@click.option("--title", help="Title of the page [the names of the inputs].")
@click.option(
    "--require",
    type=GateType(),
    multiple=True,
    metavar="'FIGURE>=NUMBER'",
    help="Exit with 1 where a figure does not keep the limit; also <=, >, < and ==, and 95%. "
    "May be repeated.",
)
@click.option(
    "--skills",
    multiple=True,
    type=SKILLS,
    metavar="DIR",
    help="Skills whose functions rows should use; for sexpr, a file of declarations "
    "[shipped, where --require needs them]. May be repeated.",
)
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
def command(
    *,
    inputs: tuple[str, ...],
    output: str,
    html: str | None,
    title: str | None,
    require: tuple[Gate, ...],
    skills: tuple[Path, ...],
    skip_broken: bool,
) -> None:
    """Count what a data set is made of.

    Sorts of commands, different words, programs and combinations of functions, lengths, and how
    much is new in paraphrases. INPUT is a file of rows, or a folder of split or convert. Figures
    that --require knows are under `figures` of the JSON.

    \b
    genie-dp stats synthetic.jsonl paraphrases.jsonl --output stats.json --html stats.html
    genie-dp stats data | jq .totals
    genie-dp stats data -o stats.json --require 'functions>=95%' --require 'rows>=20000'
    """
    from genie_dp.cli.output import show
    from genie_dp.dataset.stats import run
    from genie_dp.run.stage import Output

    result = run(
        inputs, Output(output), html=html, title=title, require=require, skills=skills or None,
        skip_broken=skip_broken, progress=True,
    )  # fmt: skip
    show(result)
