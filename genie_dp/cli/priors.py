"""`--prior`: a private prior that synthesis, augmentation and training go by."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click


def prior_option(what: str) -> Callable[[Any], Any]:
    """Add --prior, whose help begins with what it does to rows."""
    return click.option(
        "--prior",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"{what} by what people ask for: a file of `genie-dp private prior`.",
    )
