"""`genie-dp paraphrase select`: the sentences that people are asked to say in other words."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import grammar_option, library_options


class RateType(click.ParamType[Any]):
    """`N` sentences of each signature, or one of `N%` of the signatures."""

    name = "n|%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a Rate."""
        from genie_dp.paraphrase.select import Rate

        if isinstance(value, Rate):
            return value
        text = str(value)
        try:
            if text.endswith("%"):
                return Rate(1, float(text[:-1]) / 100)
            return Rate(int(text))
        except ValueError:
            self.fail(
                f"{value!r} is neither a number such as 20 nor a share such as 5%", param, ctx
            )


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("select")
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@library_options
@grammar_option
@click.option(
    "--subset",
    "subsets",
    multiple=True,
    metavar="NAME",
    help="Only rows whose templates belong to this subset of flagged templates [paraphrase]. "
    "May be repeated.",
)
@click.option("--easy", type=_FILE, metavar="FILE", help="Functions that people understand.")
@click.option(
    "--hard", type=_FILE, metavar="FILE", help="Functions that need an easy one beside them."
)
@click.option("--leave-out", type=_FILE, metavar="FILE", help="Functions that are not asked for.")
@click.option(
    "--per-query", type=RateType(), default="50", show_default=True,
    help="Sentences of each query that stands alone, or a share such as 5%.",
)  # fmt: skip
@click.option(
    "--per-action", type=RateType(), default="20", show_default=True,
    help="The same of each action that stands alone.",
)  # fmt: skip
@click.option(
    "--easy-pairs", type=RateType(), default="10", show_default=True,
    help="The same of each pair of two easy functions.",
)  # fmt: skip
@click.option(
    "--mixed-pairs", type=RateType(), default="1", show_default=True,
    help="The same of each pair of an easy and another function.",
)  # fmt: skip
@click.option(
    "--other-pairs", type=RateType(), default="5%", show_default=True,
    help="The same of pairs without an easy function.",
)  # fmt: skip
@click.option(
    "--triples", type=RateType(), default="10%", show_default=True,
    help="The same of three functions and more.",
)  # fmt: skip
@click.option(
    "--unrelated", is_flag=True, help="Keep compounds whose functions have nothing in common."
)
@click.option(
    "--categories", type=_FILE, metavar="TSV",
    help="Skill or function, and a category: those that share one are related.",
)  # fmt: skip
@click.option(
    "--constants", type=_FILE, metavar="TSV", help="Example values: key, value and display."
)
@click.option(
    "--max-words", type=click.IntRange(1), default=30, show_default=True,
    help="Leave out longer sentences.",
)  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of the choice and the values."
)
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="FILE|URL|-",
    help="Where the chosen rows go, as JSON lines.",
)  # fmt: skip
def command(**options: Any) -> None:
    """Choose synthesized sentences to paraphrase, and put example values in.

    ROWS are files or URLs of synthesized rows, as JSON lines, TSV or Parquet. The choice does not
    depend on their order.

    \b
    genie-dp paraphrase select pairs.jsonl --easy easy.txt --output chosen.jsonl
    """
    from genie_dp.cli.paraphrase.selection import Job, run

    run(Job.of(options))
