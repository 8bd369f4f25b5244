"""`genie-dp convert`: rows from one format to another."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import SKILLS, card_options, settings_options
from genie_dp.dataset.config import ConvertConfig
from genie_dp.dataset.formats import WRITERS


@click.command("convert")
@click.argument("input")
@click.argument("output")
@click.option(
    "--to",
    type=click.Choice(list(WRITERS)),
    help="Format of OUTPUT [by its name; without an ending hf].",
)
@settings_options(ConvertConfig, names={"from_": "from"}, types={"skills": SKILLS})
@click.option(
    "--rejects",
    metavar="FILE",
    help="Write the rows that have no equal there, with the reason, as JSONL.",
)
@card_options
@click.option("--overwrite", is_flag=True, help="Replace OUTPUT.")
def command(
    *,
    input: str,
    output: str,
    to: str | None,
    settings: Mapping[str, Any],
    rejects: str | None,
    title: str,
    licence: str,
    origin: str,
    spent: Path | None,
    overwrite: bool,
) -> None:
    """Convert rows from one format to another.

    Reads and writes JSONL, TSV, Parquet, Rasa YAML, CoNLL and folders for Hugging Face datasets;
    reads SMCalFlow, TOPv2, PIZZA, Overnight, SGD and intents, too; writes chats with tools for
    trainers of language models, Needle and FunctionGemma among them. Says what the format drops,
    and how many rows have no equal and why.

    \b
    genie-dp convert pairs.jsonl pairs.parquet
    genie-dp convert data published --to hf-parquet --licence cc-by-4.0
    genie-dp convert rows.jsonl chats.jsonl --to chat
    """
    from genie_dp.cli.output import show
    from genie_dp.dataset.convert import run
    from genie_dp.dataset.folder import AboutRows
    from genie_dp.run.stage import Output

    result = run(
        ConvertConfig(**settings), input, Output(output, to, overwrite=overwrite),
        about=AboutRows(title, licence, origin, spent), rejects=rejects, progress=True,
    )  # fmt: skip
    show(result)
