"""`genie-dp private sample`: rows drawn from a generator."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, SKILLS, Finite, format_option, rows_output

_FROM_1 = click.IntRange(1)
_SHARE = Finite(0, 1, min_open=True)


@click.command("sample")
@click.argument("generator", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--rows", type=_FROM_1, default=1000, show_default=True, metavar="N",
              help="Rows that are wanted; any number costs nothing.")  # fmt: skip
@rows_output
@format_option
@click.option("--overwrite", is_flag=True, help="Replace the output.")
@click.option("--seed", type=int, default=0, show_default=True,
              help="The same generator, seed and --batch give the same rows.")  # fmt: skip
@click.option(
    "--constrained/--unconstrained", "constrained", default=True, show_default=True,
    help="Draw programs that are well-typed in the library, or any and drop those that are not.",
)  # fmt: skip
@click.option("--width", type=_FROM_1, default=5, show_default=True,
              help="Beams of an utterance; 1 is plain sampling.")  # fmt: skip
@click.option("--program-width", type=_FROM_1, default=1, show_default=True,
              help="Beams of a program.")  # fmt: skip
@click.option("--temperature", type=POSITIVE, default=1.0, show_default=True,
              help="Below 1: likelier tokens more often.")  # fmt: skip
@click.option("--top-k", type=click.IntRange(0), default=0, show_default="all",
              help="Only so many tokens at each place.")  # fmt: skip
@click.option("--top-p", type=_SHARE, default=1.0, show_default=True,
              help="Only the likeliest tokens that have this share together.")  # fmt: skip
@click.option("--longest", type=_FROM_1, default=128, show_default=True,
              help="Tokens of an utterance; longer ones are dropped.")  # fmt: skip
@click.option("--program-longest", type=_FROM_1, default=200, show_default=True,
              help="Tokens of a program; then it is brought to an end.")  # fmt: skip
@click.option("--redraws", type=click.IntRange(0), default=3, show_default=True,
              help="Tries for an utterance with the placeholders of its program.")  # fmt: skip
@click.option("--tries", type=_FROM_1, default=20, show_default=True, metavar="N",
              help="Draws for a row that is wanted, at most.")  # fmt: skip
@click.option("--batch", type=_FROM_1, default=128, show_default=True,
              help="Rows that are drawn together.")  # fmt: skip
@click.option(
    "--parser", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A parser that writes the programs of generators that have none.",
)  # fmt: skip
@click.option(
    "--skills", multiple=True, type=SKILLS, metavar="DIR",
    help="Skills that programs are checked against [shipped]; for sexpr, a file of "
    "declarations. May be repeated.",
)  # fmt: skip
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=_FROM_1, default=1, show_default=True, help="Of torch.")
def command(**options: Any) -> None:
    """Draw rows of source private from GENERATOR, a folder of genie-dp private train.

    Programs that are none, and sentences that lack a placeholder of theirs, are dropped and
    counted. Rows of one-stage and control have no program, unless a parser writes it.

    \b
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    genie-dp train rows.jsonl pairs.jsonl --spent generator/spent.json --output parser
    """
    from genie_dp.cli.private.sample_job import run

    run(options)
