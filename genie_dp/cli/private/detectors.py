"""Options that say what finds secrets, and the detectors of them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.errors import GenieError, Problem
from genie_dp.private.redact.spans import Detector


def detector_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of detectors."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


_OPTIONS = (
    click.option(
        "--gazetteer",
        multiple=True,
        metavar="KIND=FILE",
        help="Values that are secret, one a line. May be repeated.",
    ),
    click.option(
        "--detector",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        metavar="FOLDER",
        help="A detector of genie-dp private detector. May be repeated.",
    ),
    click.option("--spacy", metavar="MODEL", help="The entities of an installed spaCy model."),
    click.option("--presidio", is_flag=True, help="Presidio, with the --spacy model if named."),
    click.option(
        "--region",
        default="US",
        show_default=True,
        metavar="COUNTRY",
        help="Where phone numbers without a country's prefix are from.",
    ),
    click.option(
        "--without",
        multiple=True,
        type=click.Choice(["patterns", "phones", "placeholders"]),
        help="Leave a detector out. May be repeated.",
    ),
)


def detectors_of(options: Mapping[str, Any]) -> tuple[Detector, ...]:
    """Return the detectors that options name: patterns, phones and placeholders unless left out.

    Raises:
        GenieError: one is missing or cannot be read, or there is none (E003).
    """
    without = options["without"]
    out: list[Detector] = [*_own(options, without)]
    for named in options["gazetteer"]:
        from genie_dp.private.redact.gazetteer import Gazetteer

        kind, path = pair_of(named, "--gazetteer", "person=names.txt")
        out.append(Gazetteer.read(kind, Path(path)))
    for folder in options["detector"]:
        from genie_dp.learn.device import prepare_torch
        from genie_dp.private.redact.tagging.detector import TaggerDetector

        prepare_torch("cpu")
        out.append(TaggerDetector.load(folder))
    out += _of_others(options)
    if not out:
        raise GenieError(Problem("E003", "expected a detector, got none", hint="name one"))
    return tuple(out)


def _own(options: Mapping[str, Any], without: tuple[str, ...]) -> list[Detector]:
    from genie_dp.private.redact.patterns import Patterns
    from genie_dp.private.redact.phones import Phones
    from genie_dp.private.redact.placeholders import Placeholders

    out: list[Detector] = []
    if "patterns" not in without:
        out.append(Patterns())
    if "phones" not in without:
        out.append(Phones(options["region"]))
    if "placeholders" not in without:
        out.append(Placeholders())
    return out


def _of_others(options: Mapping[str, Any]) -> list[Detector]:
    from genie_dp.private.redact.plugins import Presidio, Spacy

    out: list[Detector] = []
    if options["spacy"]:
        out.append(Spacy(options["spacy"]))
    if options["presidio"]:
        out.append(Presidio(options["spacy"]))
    return out


def pair_of(named: str, option: str, example: str) -> tuple[str, str]:
    """Return the two sides of NAME=VALUE.

    >>> pair_of("person=names.txt", "--gazetteer", "person=names.txt")
    ('person', 'names.txt')
    """
    name, sign, value = named.partition("=")
    if not (sign and name and value):
        raise click.BadParameter(f"expected {example}, got {named!r}", param_hint=option)
    return name, value
