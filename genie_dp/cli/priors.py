"""`--prior`: a private prior that synthesis, augmentation and training go by."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.private_prior import PriorFile, load_prior


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
