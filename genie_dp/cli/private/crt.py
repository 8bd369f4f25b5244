"""`genie-dp private train crt`: confidentially redacted training, and what it is compared with."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, Finite, paid_resume_options
from genie_dp.cli.private.ledgers import ledger_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FROM_1 = click.IntRange(1)
# Those of genie_dp.private, which is not imported to print help; tests compare them.
METHODS = ("crt", "dp", "non-private", "masked", "s-dp")
PAID = ("crt", "dp")
ENGINES = ("vmap", "ghost", "hooks", "loop")
# Of noisy steps; docs/crt.md says what was measured.
RATES = {"lstm": 5e-2, "decoder": 1e-2}


@click.command("crt")
@click.argument("rows", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where the generator goes. It appears when it is complete.",
)  # fmt: skip
@click.option("--method", type=click.Choice(METHODS), default="crt", show_default=True,
              help="crt, DP-SGD on all rows, or a baseline without any guarantee.")  # fmt: skip
@click.option("--kind", type=click.Choice(("one-stage", "two-stage")), default="one-stage",
              show_default=True, help="Utterances, or programs and utterances.")  # fmt: skip
@click.option("--epsilon", type=POSITIVE,
              help="What this run costs by itself, for one private row more or less.")  # fmt: skip
@click.option("--rest", is_flag=True, help="Instead: use up what is left of the budget.")
@click.option("--about", type=POSITIVE, metavar="N",
              help="How many private units there are, as far as anybody may know.")  # fmt: skip
@click.option("--batch", type=POSITIVE, default=64.0, show_default=True,
              help="Private units of a batch, on average.")  # fmt: skip
@click.option("--epochs", metavar="T|T1/T2", help="Whole epochs; of two stages T1 for programs and "
              "T2 for utterances [10, 2/8].")  # fmt: skip
@ledger_option
@click.option("--report", type=_FILE, metavar="FILE",
              help="Measured shares of secrets that redaction misses.")  # fmt: skip
@click.option("--gamma", metavar="SHARE[,LOW,HIGH]",
              help="Instead: the share that is missed, and its 95 % interval.")  # fmt: skip
@click.option("--delta-2", metavar="SHARE[,LOW,HIGH]",
              help="Instead: the share of secrets whose row is public.")  # fmt: skip
@click.option("--measured-on", metavar="TEXT", help="Where these shares were measured.")
@click.option("--redacted-apart", is_flag=True,
              help="Of rows that genie-dp private redact did not write: say that none was made "
              "from another unit's.")  # fmt: skip
@click.option("--public", multiple=True, metavar="FILE",
              help="More public rows, such as those of synthesize: they join the public part. May "
              "be repeated.")  # fmt: skip
@click.option("--original", type=_FILE, metavar="FILE",
              help="For s-dp: the rows before redaction, line by line.")  # fmt: skip
@click.option("--without-guarantee", is_flag=True,
              help="Needed for the baselines: what they learn is not protected.")  # fmt: skip
@click.option("--noise-multiplier", type=POSITIVE, show_default="1",
              help="For s-dp: of gradients and states, in clipping norms.")  # fmt: skip
@click.option("--language", default="thingtalk", show_default=True,
              help="Of the rows' programs.")  # fmt: skip
@click.option("--model", default="lstm", show_default=True, metavar="lstm|decoder|NAME|DIR",
              help="An LSTM of one layer, the own decoder, or a causal model of Hugging Face such "
              "as distilgpt2.")  # fmt: skip
@click.option("--size", type=_FROM_1, default=200, show_default=True, help="Of the states.")
@click.option("--layers", type=_FROM_1, default=4, show_default=True, help="Of the own decoder.")
@click.option("--heads", type=_FROM_1, default=4, show_default=True, help="Of the own decoder.")
@click.option("--longest", type=click.IntRange(8), default=256, show_default=True,
              help="Tokens of a row; what is longer is cut.")  # fmt: skip
@click.option("--public-batch", type=_FROM_1, default=64, show_default=True,
              help="Public rows of a batch.")  # fmt: skip
@click.option("--public-rate", type=POSITIVE, default=2e-3, show_default=True,
              help="Highest learning rate on public rows.")  # fmt: skip
@click.option("--learning-rate", type=POSITIVE,
              help="Highest learning rate on private rows: noisy steps want a high one "
              "[lstm 0.05, decoder 0.01, else 0.001].")  # fmt: skip
@click.option("--optimizer", type=click.Choice(("adamw", "sgd")), default="adamw",
              show_default=True, help="Of both parts; sgd is the paper's.")  # fmt: skip
@click.option("--clip", type=Finite(1e-9, 1e9), default=0.1, show_default=True,
              help="Largest norm of a private row's gradient.")  # fmt: skip
@click.option("--engine", type=click.Choice(ENGINES), default="vmap", show_default=True,
              help="How gradients of single rows are made.")  # fmt: skip
@click.option("--chunk", type=_FROM_1, default=8, show_default=True,
              help="Rows whose gradients are in memory at a time.")  # fmt: skip
@click.option("--checkpoint-every", type=_FROM_1, default=100, show_default=True, metavar="STEPS",
              help="So often an interrupted run can go on.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True,
              help="Of first weights and public batches; private ones have none.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--threads", type=_FROM_1, default=1, show_default=True, help="Of torch.")
@paid_resume_options
def command(**options: Any) -> None:
    """Train on redacted rows, with noise on the private part alone.

    ROWS is what genie-dp private redact wrote: masked utterances, each marked private or public.
    Epochs alternate plain steps on the public part and noisy ones on the private part. The cost for
    private rows is recorded in the ledger before the first step, and what follows for secrets,
    with the measured share that redaction misses, beside it.

    \b
    genie-dp private train crt redacted.jsonl --about 400 --epsilon 3 --report shares.json \\
      --output model
    """
    from genie_dp.cli.private.crt_job import run

    if options["method"] in PAID:
        _check_paid(options)
    else:
        _check_baseline(options)
    if options["report"] and (options["gamma"] or options["delta_2"]):
        raise click.UsageError("--report has both shares: leave --gamma and --delta-2 out")
    if bool(options["gamma"] or options["delta_2"]) != bool(options["measured_on"]):
        raise click.UsageError("--gamma and --delta-2 go with --measured-on: where they come from")
    if options["model"] == "decoder" and options["size"] % options["heads"]:
        raise click.UsageError("--size must be a multiple of --heads")
    if options["noise_multiplier"] and options["method"] != "s-dp":
        raise click.UsageError("--noise-multiplier goes with s-dp: other noise follows --epsilon")
    run(
        {
            **options,
            "noise_multiplier": options["noise_multiplier"] or 1.0,
            "learning_rate": options["learning_rate"] or RATES.get(options["model"], 1e-3),
        }
    )


def _check_paid(options: dict[str, Any]) -> None:
    if (options["epsilon"] is None) != options["rest"]:
        raise click.UsageError("give --epsilon, what the run costs, or --rest")
    if options["about"] is None:
        raise click.UsageError("give --about, roughly how many private units there are")
    if options["without_guarantee"] or options["original"]:
        raise click.UsageError("--without-guarantee and --original go with baselines")


def _check_baseline(options: dict[str, Any]) -> None:
    method = options["method"]
    if not options["without_guarantee"]:
        raise click.UsageError(f"{method} protects nothing: say so with --without-guarantee")
    if options["epsilon"] or options["rest"] or options["ledger"]:
        raise click.UsageError(
            f"{method} has no guarantee: --epsilon, --rest, --ledger go with crt"
        )
    if options["redacted_apart"]:
        raise click.UsageError("--redacted-apart goes with crt and dp: baselines promise nothing")
    if (method == "s-dp") != (options["original"] is not None):
        raise click.UsageError("--original goes with s-dp, which needs it")
    if method == "s-dp" and options["about"] is None:
        raise click.UsageError("give --about, roughly how many rows there are")
