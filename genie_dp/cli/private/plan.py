"""`genie-dp private plan`: batch, steps and noise within a time, and what more would buy."""

from collections.abc import Mapping
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, Finite, settings_options
from genie_dp.private.planner import PlanConfig

_REQUIRED = ("epsilon", "delta", "estimated_units", "minutes")


@click.command("plan")
@click.option("--epsilon", type=POSITIVE, required=True, metavar="NUMBER",
              help="What the training may cost by itself.")  # fmt: skip
@click.option("--delta", type=Finite(0, 1, min_open=True, max_open=True), required=True,
              metavar="NUMBER", help="Of the budget.")  # fmt: skip
@click.option("--estimated-units", type=POSITIVE, required=True, metavar="N",
              help="How many units (utterances, dialogues or users) there are, as far as anybody "
              "may know.")  # fmt: skip
@click.option("--minutes", type=POSITIVE, required=True, metavar="NUMBER",
              help="CPU minutes that training may take.")  # fmt: skip
@settings_options(PlanConfig, leave_out=_REQUIRED)
def command(*, settings: Mapping[str, Any], **required: Any) -> None:
    """Plan a training on private rows: batch, steps and noise within a time.

    No row is read. Noise follows from epsilon, delta and the number of units; time from the speed
    of this machine, which some steps on made-up rows measure; what is to be expected from a table
    that was measured on other rows. It says, too, what more epsilon, minutes or units would buy.

    \b
    genie-dp private plan --epsilon 8 --delta 1e-5 --estimated-units 20000 --minutes 30
    """
    from genie_dp.private.planner import make_plan

    click.echo(make_plan(PlanConfig(**required, **settings)))
