"""`genie-dp private budget`: set the budget of private rows, show spends, ask whether more fits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry
from genie_dp.cli.options import POSITIVE, Finite
from genie_dp.cli.private.ledgers import (
    check_is_there,
    ledger_option,
    ledger_path,
    open_ledger,
    private_argument,
)

_format_option = click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="For people, or for programs.",
)


STEPS: Mapping[str, CommandEntry] = {
    "init": CommandEntry(
        f"{__name__}:init", "Promise a budget for private rows, once.", "cap unit-field ledger"
    ),
    "show": CommandEntry(
        f"{__name__}:show", "Show the promised, the spent and the remaining budget."
    ),
    "check": CommandEntry(
        f"{__name__}:check",
        "Check the ledger, and whether more would fit.",
        "steps rate noise-multiplier target",
    ),
}


@click.group("budget", cls=LazyGroup, table=STEPS)
def group() -> None:
    """Set the privacy budget of private rows, and show the rest of it."""


@click.command("init")
@private_argument
@click.option(
    "--epsilon", type=POSITIVE, required=True, metavar="NUMBER",
    help="How much may be learned of one unit, at most, by everything together. Common: 1 to 8.",
)  # fmt: skip
@click.option(
    "--delta", type=Finite(0, 1, max_open=True), required=True, metavar="NUMBER",
    help="Chance that epsilon does not hold: far below 1 / number of units, such as 1e-6.",
)  # fmt: skip
@click.option(
    "--unit", type=click.Choice(["utterance", "dialogue", "user"]), required=True,
    help="What is protected: one row, all rows of a dialogue, or all rows of a person.",
)  # fmt: skip
@click.option(
    "--cap", type=click.IntRange(1), metavar="ROWS",
    help="How many rows of a dialogue or user are looked at, at most.",
)  # fmt: skip
@click.option(
    "--unit-field", metavar="NAME",
    help="Field of a row that names its user or dialogue; of TSV, the column [user, dialogue; 4].",
)  # fmt: skip
@click.option(
    "--accountant", type=click.Choice(["pld", "rdp"]), default="pld", show_default=True,
    help="Whose epsilon must stay within the budget; pld allows more, rdp also lets amounts of "
    "noise depend on earlier releases.",
)  # fmt: skip
@click.option(
    "--allow-same-rows", "apart", is_flag=True,
    help="Accept rows that another ledger has, or seems to have: for public or invented rows.",
)  # fmt: skip
@ledger_option
def init(private: Path | None, ledger: Path | None, **options: Any) -> None:
    """Promise a budget for private rows, once.

    PRIVATE is the file of private rows: it is compared with rows that were used before, which have
    a ledger already. The new ledger is written beside it. Every command that learns from the rows
    records its cost there before it begins, and refuses to go past the budget.

    \b
    genie-dp private budget init private.jsonl --epsilon 3 --delta 1e-6 --unit user --cap 20
    """
    from genie_dp.cli.output import show_problems
    from genie_dp.private.api import promise
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.budget import Budget, doubts
    from genie_dp.private.ledger.run import describe_promise

    budget = Budget(**options)
    if private is None:
        created = Ledger.create(ledger_path(None, ledger), budget)
    elif ledger is None and private.name.endswith(".ledger.json"):
        check_is_there(private)
        created = Ledger.create(private, budget)
    else:
        created = promise(private, ledger, budget)
    show_problems(doubts(budget))
    click.echo(f"{created.path}: {describe_promise(budget)}", err=True)


@click.command("show")
@private_argument
@ledger_option
@click.option(
    "--group", type=click.IntRange(1), multiple=True, metavar="SECRETS",
    help="Say, too, what is promised of so many secrets together. May be repeated.",
)  # fmt: skip
@_format_option
def show(private: Path | None, ledger: Path | None, group: tuple[int, ...], format_: str) -> None:
    """Show the promised, the spent and the remaining budget.

    Epsilon is given under both accountants, of every purpose by itself and of all together.

    PRIVATE is the file of private rows, or its ledger.

    \b
    genie-dp private budget show private.jsonl
    genie-dp private budget show private.jsonl --format json | jq .left.rdp
    genie-dp private budget show redacted.jsonl --group 3
    """
    from genie_dp.private.ledger.run import facts_as_json, show_ledger

    account = show_ledger(open_ledger(private, ledger), group)
    click.echo(facts_as_json(account.facts) if format_ == "json" else account)


def _amounts(command: Any) -> Any:
    """Add the mechanisms that can be asked for beside training."""
    for name, metavar, meaning in (
        ("threshold", "DELTA", "A threshold that shows what one unit alone has with chance DELTA"),
        ("zcdp", "RHO", "A mechanism that is RHO-zCDP"),
        ("exponential", "EPSILON", "An exponential mechanism of parameter EPSILON"),
        ("laplace", "SCALE", "Laplace noise of that scale on a sum of sensitivity 1"),
        ("gaussian", "SIGMA", "Gaussian noise of that deviation on a sum of sensitivity 1"),
    ):
        command = click.option(
            f"--{name}", type=POSITIVE, multiple=True, metavar=metavar,
            help=f"{meaning}. May be repeated.",
        )(command)  # fmt: skip
    return command


@click.command("check")
@private_argument
@click.option("--steps", type=click.IntRange(1), metavar="N", help="Batches of a training.")
@click.option(
    "--rate", type=Finite(0, 1, min_open=True), metavar="Q",
    help="Chance of a unit to be in a batch: batch size / number of units.",
)  # fmt: skip
@click.option(
    "--noise-multiplier", type=POSITIVE, metavar="SIGMA",
    help="Noise of the training divided by the clipping norm [asked for].",
)  # fmt: skip
@click.option(
    "--target", type=POSITIVE, metavar="EPSILON",
    help="Epsilon of everything together that the training may reach [the budget's].",
)  # fmt: skip
@_amounts
@click.option(
    "--seen", metavar="HEAD", multiple=True,
    help="A head that `show` printed earlier: does the ledger go on from it? May be repeated.",
)  # fmt: skip
@click.option(
    "--accept-head", is_flag=True,
    help="Write the head file anew, if it is missing or older than the ledger.",
)  # fmt: skip
@ledger_option
@_format_option
def check(
    private: Path | None, ledger: Path | None, accept_head: bool, format_: str, **amounts: Any
) -> None:
    """Check the ledger, and whether more would fit.

    PRIVATE is the file of private rows, or its ledger. It is checked that nobody changed the ledger
    and that it is within its budget. Nothing is spent. Exit code 1: the ledger was
    changed, it is past its budget, or the requested cost does not fit.

    \b
    genie-dp private budget check private.jsonl
    genie-dp private budget check private.jsonl --steps 660 --rate 0.0153
    genie-dp private budget check private.jsonl --steps 660 --rate 0.0153 --noise-multiplier 0.9
    """
    from genie_dp.private.ledger.run import LedgerQuestion, check_ledger, facts_as_json

    question = LedgerQuestion(**amounts)
    if (question.steps is None) != (question.rate is None):
        raise click.UsageError("--steps and --rate go together")
    if question.steps is None and (question.noise_multiplier or question.target):
        raise click.UsageError("--noise-multiplier and --target need --steps and --rate")
    if question.noise_multiplier and question.target:
        raise click.UsageError("--noise-multiplier says what --target asks for: give one")
    result = check_ledger(ledger_path(private, ledger), question, accept_head=accept_head)
    click.echo(facts_as_json(result.facts) if format_ == "json" else result)
