"""`--prior`: a private prior that synthesis, augmentation and training go by."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from genie_dp.languages.functions import functions_of
from genie_dp.private_prior import PriorFile, load_prior, row_weight
from genie_dp.records import Example, PrivatePrior


def prior_option(what: str) -> Callable[[Any], Any]:
    """Add --prior, whose help begins with what it does to rows."""
    return click.option(
        "--prior",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"{what} by what people ask for: a file of `genie-dp private prior`.",
    )


def read_prior(options: Mapping[str, Any]) -> PriorFile | None:
    """Return the prior of the option, or None.

    Raises:
        GenieError: F001, it is none.
    """
    return load_prior(options["prior"]) if options["prior"] else None


# ---------------------------------------------------------------------------- weights of rows




def weighed(row: Example, prior: PrivatePrior) -> Example:
    """Return a row with its weight multiplied by what a prior says of its functions.

    >>> from genie_dp.records import Spent
    >>> prior = PrivatePrior(Spent(1, 0, "user", "", "rdp", ()), {}, {"@c.beep": 2.0})
    >>> weighed(Example("S0", "beep", "now => @c.beep", weight=1.5), prior).weight
    3.0
    """
    factor = row_weight(prior, functions_of(row))
    return row if factor == 1 else replace(row, weight=round(row.weight * factor, 6))
