"""`genie-dp convert`: rows from one format to another."""

from typing import Any

import click

from genie_dp.cli.options import SKILLS, card_options
from genie_dp.dataset.readers import READERS
from genie_dp.dataset.writers import WRITERS
from genie_dp.languages import language_names

SOURCES = ("synthetic", "paraphrase", "augmented", "private", "human")


@click.command("convert")
@click.argument("input")
@click.argument("output")
@click.option(
    "--from",
    "from_",
    type=click.Choice(list(READERS)),
    help="Format of INPUT [by its name; a folder is hf].",
)
@click.option(
    "--to",
    type=click.Choice(list(WRITERS)),
    help="Format of OUTPUT [by its name; without an ending hf].",
)
@click.option(
    "--skills",
    multiple=True,
    type=SKILLS,
    metavar="DIR",
    help="Skills that converted ThingTalk 2 programs must fit; they get types. May be repeated.",
)
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option(
    "--language",
    type=click.Choice(language_names()),
    default="thingtalk",
    show_default=True,
    help="Language of the programs of a TSV file.",
)
@click.option(
    "--placeholders",
    is_flag=True,
    help="Of thingtalk2 and schema2qa: put placeholders where the sentence says a text or a name "
    "of the program, for `augment` to put in others.",
)
@click.option(
    "--source", type=click.Choice(SOURCES), help="Source of all rows [what the format tells]."
)
@click.option("--id-prefix", default="", metavar="TEXT", help="Put before all ids and parents.")
@click.option(
    "--part",
    default="train",
    show_default=True,
    metavar="NAME",
    help="Part of the folder that the rows of a file become.",
)
@click.option(
    "--rejects",
    metavar="FILE",
    help="Write the rows that have no equal there, with the reason, as JSONL.",
)
@card_options
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT.")
def command(**options: Any) -> None:
    """Convert rows from one format to another.

    Reads and writes JSONL, TSV, Parquet, Rasa YAML, CoNLL and folders for Hugging Face datasets;
    reads ThingTalk 2, Schema2QA, SMCalFlow, TOPv2, PIZZA, Overnight, SGD and intents, too. Says
    what the format drops, and how many rows have no equal and why.

    \b
    genie-dp convert pairs.jsonl pairs.parquet
    genie-dp convert data published --to hf-parquet --licence cc-by-4.0
    genie-dp convert --from thingtalk2 --skills thingpedia commands.jsonl rows.jsonl
    """
    from genie_dp.cli.convert_job import run

    run(options)
