"""`genie-dp private train`: language models of private rows, trained with noise."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, Finite, library_options, paid_resume_options
from genie_dp.cli.private.ledgers import ledger_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FROM_1 = click.IntRange(1)
# Those of genie_dp.private, which is not imported to print help; tests compare them.
KINDS = ("one-stage", "control", "two-stage")
ENGINES = ("vmap", "ghost", "hooks", "loop")
# Of noisy steps, for the own decoder (docs/private-training.md says what was measured) and others.
RATE, RATE_OF_OTHERS = 1e-2, 2e-3


@click.command("train")
@click.argument("kind", type=click.Choice(KINDS))
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where the generator goes. It appears when it is complete.",
)  # fmt: skip
@click.option("--epsilon", type=POSITIVE,
              help="What this run costs by itself, at the budget's delta.")  # fmt: skip
@click.option("--rest", is_flag=True, help="Instead: use up what is left of the budget.")
@click.option(
    "--about", required=True, type=POSITIVE, metavar="N",
    help="How many units (utterances, dialogues or users) there are, as far as anybody may know.",
)  # fmt: skip
@click.option("--batch", type=POSITIVE, default=256.0, show_default=True,
              help="Units of a batch, on average.")  # fmt: skip
@click.option(
    "--epochs", metavar="T|T1/T2",
    help="Epochs; of two stages T1 for programs and T2 for utterances [10, 2/8].",
)  # fmt: skip
@ledger_option
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Public rows, such as those of synthesize: vocabulary, grammar, and what is learned "
    "before private rows are. May be repeated.",
)  # fmt: skip
@click.option("--no-pretraining", is_flag=True,
              help="Take vocabulary and grammar of the public rows alone.")  # fmt: skip
@click.option("--pretraining-epochs", type=POSITIVE, default=5.0, show_default=True,
              help="Epochs of each stage on public rows.")  # fmt: skip
@click.option("--pretraining-batch", type=_FROM_1, default=64, show_default=True,
              help="Public rows of a batch.")  # fmt: skip
@click.option("--pretraining-rate", type=POSITIVE, default=2e-3, show_default=True,
              help="Highest learning rate on public rows.")  # fmt: skip
@click.option(
    "--pretrained", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep there what was learned of public rows, and take it from there in runs with the same "
    "ones, model and seed.",
)  # fmt: skip
@click.option(
    "--parser", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR",
    help="A parser, of genie-dp train, that writes the private rows' programs [those of the rows].",
)  # fmt: skip
@library_options
@click.option("--codes", type=_FILE, metavar="FILE",
              help="Control codes, one a line: functions separated by spaces [the functions of the "
              "library and of public rows]. Nothing private.")  # fmt: skip
@click.option("--code-sets", is_flag=True,
              help="Control codes are the sets of functions of public programs.")  # fmt: skip
@click.option("--code-noise", type=POSITIVE, default=10.0, show_default=True,
              help="Standard deviation of the noise on how many units have a code.")  # fmt: skip
@click.option("--size", type=_FROM_1, default=256, show_default=True,
              help="Of the own decoder's states.")  # fmt: skip
@click.option("--layers", type=_FROM_1, default=4, show_default=True, help="Of the own decoder.")
@click.option("--heads", type=_FROM_1, default=4, show_default=True, help="Of the own decoder.")
@click.option("--longest", type=click.IntRange(8), default=256, show_default=True,
              help="Tokens of a row; what is longer is cut.")  # fmt: skip
@click.option("--model", metavar="NAME|DIR",
              help="A causal model of Hugging Face, such as gpt2, instead.")  # fmt: skip
@click.option("--lora", "lora_rank", type=_FROM_1, metavar="RANK",
              help="Train adapters of that rank only.")  # fmt: skip
@click.option(
    "--tied", is_flag=True,
    help="Leave the model's head tied to its embeddings; not with the engine ghost.",
)  # fmt: skip
@click.option("--clip", type=Finite(1e-9, 1e9), default=0.1, show_default=True,
              help="Largest norm of a row's gradient.")  # fmt: skip
@click.option("--learning-rate", type=POSITIVE,
              help="Highest learning rate on private rows: noisy steps want a high one [of the own "
              "decoder 0.01, of Hugging Face 0.002].")  # fmt: skip
@click.option("--engine", type=click.Choice(ENGINES), default="vmap", show_default=True,
              help="How gradients of single rows are made.")  # fmt: skip
@click.option("--chunk", type=_FROM_1, default=8, show_default=True,
              help="Rows whose gradients are in memory at a time.")  # fmt: skip
@click.option("--checkpoint-every", type=_FROM_1, default=100, show_default=True, metavar="STEPS",
              help="So often an interrupted run can go on.")  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True,
    help="Of first weights and public batches. Private batches and noise have none.",
)  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=_FROM_1, default=1, show_default=True, help="Of torch.")
@paid_resume_options
def command(**options: Any) -> None:
    """Train a generator of rows that are like private ones.

    one-stage learns utterances; control learns utterances by what they ask for; two-stage learns
    programs, and utterances by their programs. PRIVATE is JSONL or TSV. The noise follows from
    epsilon, delta and the steps of all stages together; the cost is recorded in the ledger before
    the first step, and refused if the budget does not allow it.

    \b
    genie-dp private train two-stage private.jsonl --public pairs.jsonl --about 5000 \\
      --epsilon 3 --output generator
    genie-dp private sample generator --rows 1000 --output rows.jsonl
    """
    from genie_dp.cli.private.train_job import run

    if (options["epsilon"] is None) != options["rest"]:
        raise click.UsageError("give --epsilon, what the run costs, or --rest")
    _check_kind(options)
    usual = RATE if options["model"] is None else RATE_OF_OTHERS
    run({**options, "learning_rate": options["learning_rate"] or usual})


def _check_kind(options: dict[str, Any]) -> None:
    """Refuse options that another kind, or another model, has."""
    if options["kind"] != "control" and (options["codes"] or options["code_sets"]):
        raise click.UsageError("--codes and --code-sets go with control")
    if options["codes"] and options["code_sets"]:
        raise click.UsageError("--codes and --code-sets exclude each other")
    if options["kind"] == "one-stage" and options["parser"]:
        raise click.UsageError("one-stage has no programs, so --parser is of no use")
    if options["model"] is None and (options["lora_rank"] or options["tied"]):
        raise click.UsageError("--lora and --tied go with --model")
    if options["model"] is None and options["size"] % options["heads"]:
        raise click.UsageError("--size must be a multiple of --heads")
