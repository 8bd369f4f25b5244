"""`genie-dp private train`: language models of private rows, trained with noise."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry

_GENERATORS = "genie_dp.private.generators.run"
_SHOWN = "epsilon use-remaining-budget ledger public seed device"
TRAININGS: Mapping[str, CommandEntry] = {
    "one-stage": CommandEntry(f"{_GENERATORS}:OneStage", "Learn utterances, with noise.", _SHOWN),
    "control": CommandEntry(
        f"{_GENERATORS}:Control", "Learn utterances by their intent, with noise.", _SHOWN
    ),
    "two-stage": CommandEntry(
        f"{_GENERATORS}:TwoStage",
        "Learn programs, and utterances by their programs, with noise.",
        _SHOWN,
    ),
    "crt": CommandEntry(
        "genie_dp.private.crt.run:Crt",
        "Train on redacted rows, with noise on the private part alone.",
        "epsilon estimated-units redacted-apart public seed device",
    ),
}


@click.group("train", cls=LazyGroup, table=TRAININGS)
def group() -> None:
    """Train a generator of rows that are like private ones."""
