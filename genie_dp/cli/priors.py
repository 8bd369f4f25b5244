"""`--prior`: a private prior that synthesis, augmentation and training go by."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from genie_dp.dataset.traits import functions_in
from genie_dp.errors import GenieError, Problem
from genie_dp.languages import get_language
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


def functions_of(row: Example) -> tuple[str, ...]:
    """Return the functions of a row; rows of TSV, and those that people wrote, may not name them.

    >>> functions_of(Example("S0", "beep", "now => @c.beep"))
    ('@c.beep',)
    >>> functions_of(Example("S0", "beep", "( beep ( twice ) )", "sexpr"))
    ('beep', 'twice')
    """
    if row.functions:
        return row.functions
    if row.language == "thingtalk":
        return functions_in(row.program)
    language = get_language(row.language)
    try:
        return tuple(language.functions(language.from_tokens(row.program)).elements())
    except GenieError:
        return ()  # no program, or none that can be read


def refuse_inputs(targets: Iterable[object], inputs: Iterable[object]) -> None:
    """Refuse to write over what is read, or one file over another; --overwrite means older runs.

    Args:
        targets, inputs: names of files; None, URLs and "-" are no files.

    Raises:
        GenieError: F011.
    """
    taken = {path for name in inputs if (path := _file(name))}
    for name in targets:
        path = _file(name)
        if path in taken:
            message = f"{name} is read, or written already: it would be lost"
            raise GenieError(Problem("F011", message, hint="name another file"))
        taken |= {path} if path else set()


def _file(name: object) -> Path | None:
    is_none = name is None or name == "-" or "://" in str(name)
    return None if is_none else Path(str(name)).resolve()


def weighed(row: Example, prior: PrivatePrior) -> Example:
    """Return a row with its weight multiplied by what a prior says of its functions.

    >>> from genie_dp.records import Spent
    >>> prior = PrivatePrior(Spent(1, 0, "user", "", "rdp", ()), {}, {"@c.beep": 2.0})
    >>> weighed(Example("S0", "beep", "now => @c.beep", weight=1.5), prior).weight
    3.0
    """
    factor = row_weight(prior, functions_of(row))
    return row if factor == 1 else replace(row, weight=round(row.weight * factor, 6))
