"""`genie-dp train`: from rows to a parser."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, SKILLS, Finite, resume_options
from genie_dp.cli.priors import prior_option
from genie_dp.languages import language_names

_ARCHITECTURES = ("rnn", "mqan", "transformer")


@click.command("train")
@click.argument("inputs", nargs=-1, metavar="[INPUTS]...")
@click.option(
    "--recipe", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Settings in YAML, such as examples/parser.yaml; options given here go before them.",
)  # fmt: skip
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where the parser goes: network, skills, card. It appears when it is complete.",
)  # fmt: skip
@click.option(
    "--minutes", type=POSITIVE,
    help="Train so long [5, unless steps or epochs are given].",
)  # fmt: skip
@click.option("--steps", type=click.IntRange(1), help="Train so many steps: repeatable.")
@click.option("--epochs", type=POSITIVE, help="The same in epochs.")
@click.option(
    "--validation", metavar="FILE|DIR",
    help="Rows of real sentences, or skills with eval.tsv: choose the best weights, calibrate.",
)  # fmt: skip
@click.option("--arch", "architecture", type=click.Choice(_ARCHITECTURES), help="Network [rnn].")
@click.option("--model", metavar="NAME|DIR", help="A Hugging Face encoder-decoder instead.")
@click.option("--lora", "lora_rank", type=click.IntRange(1), metavar="RANK",
              help="Train adapters of that rank only.")  # fmt: skip
@click.option(
    "--lm", "language_model", type=click.Choice(("none", "start", "feed")),
    help="A language model of the programs starts the decoder, or feeds it as well [none].",
)  # fmt: skip
@click.option("--batch", type=click.IntRange(1), help="Rows of a batch [64].")
@click.option("--accumulate", type=click.IntRange(1), help="Batches of a step [1].")
@click.option("--rate", type=POSITIVE, help="Highest learning rate.")
@click.option("--weight-decay", type=Finite(0), help="Of AdamW; more is for few rows [0.01].")
@click.option("--bf16/--no-bf16", default=None,
              help="Multiply matrices in bfloat16 [where that is faster].")  # fmt: skip
@click.option("--patience", type=click.IntRange(1), metavar="N",
              help="End after N validations without a better score.")  # fmt: skip
@click.option("--no-types", "types", flag_value=False, default=None,
              help="Ablation: parameters without types.")  # fmt: skip
@click.option("--positional", "keywords", flag_value=False, default=None,
              help="Ablation: inputs by position; decoding is then unconstrained.")  # fmt: skip
@click.option("--no-canonical", "canonical", flag_value=False, default=None,
              help="Ablation: inputs and conditions in any order.")  # fmt: skip
@click.option("--seed", type=int, help="Of everything random [0].")
@click.option(
    "--skills", multiple=True, type=SKILLS, metavar="DIR",
    help="Skills of the programs [shipped]; for sexpr, a file of declarations. "
    "May be repeated.",
)  # fmt: skip
@click.option("--skip-broken", is_flag=True, help="Go on without the skills that cannot be read.")
@click.option("--language", type=click.Choice(language_names()),
              help="Language of the programs [what the first row says].")  # fmt: skip
@click.option("--spent", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              metavar="FILE", help="Guarantee of rows of source private, as JSON.")  # fmt: skip
@prior_option("Weigh rows")
@click.option("--licence", default="", help="Licence of the parser, for its card.")
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
              help="Of torch; the small networks gain nothing from more.")  # fmt: skip
@click.option("--jobs", type=click.IntRange(1), default=1, show_default=True,
              help="Processes that prepare rows; the result does not depend on it.")  # fmt: skip
@click.option("--tensorboard", type=click.Path(path_type=Path), metavar="DIR",
              help="Write events there, too.")  # fmt: skip
@resume_options
def command(**options: Any) -> None:
    """Train a parser on rows of synthesize, paraphrase, augment and people.

    INPUTS are JSONL, TSV or Parquet, mixed by how many rows they have; a recipe may give ratios
    and weights. The folder holds all that genie-dp parse needs.

    \b
    genie-dp train train.jsonl --minutes 5 --output parser
    genie-dp train --recipe examples/parser.yaml --seed 2 --output parser
    torchrun --no-python --nproc-per-node 2 genie-dp train train.jsonl --epochs 3 --output parser
    """
    from genie_dp.cli.train_job import run

    run(options)
