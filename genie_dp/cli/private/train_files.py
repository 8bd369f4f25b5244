"""What all commands that train on private rows do with files and with the terminal."""

import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from genie_dp.dataset.formats import opened, read_rows
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.records import Example

# What config.json of a generator says first; `folder.MODEL_TYPE`, which is not imported for it.
_MODEL_TYPE = '"model_type": "genie_dp.generator"'


def rows_in(name: str, language: Language) -> Sequence[Example]:
    """Return public rows; those of source private are none."""
    rows = list(read_rows(name))
    if any(row.source == "private" for row in rows):
        message = f"{name} has rows of source private, so it is not public"
        hint = "give rows of synthesize, or others that may be published"
        raise GenieError(Problem("H008", message, hint=hint))
    if any(row.language != language.name for row in rows):
        message = f"expected rows of the language {language.name!r} in {name}"
        raise GenieError(Problem("H008", message, hint="name their language with --language"))
    return rows


def digest_of(path: str) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with opened(path) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def refuse_output(target: Path, work: Path, options: Mapping[str, Any]) -> None:
    """Refuse an output that exists.

    Raises:
        GenieError: it exists (Y022), or is no generator and would be replaced (H009).
    """
    goes_on = options["resume"] and work.exists()
    if target.exists() and not (options["overwrite"] or goes_on):
        hint = "give another --output, or --overwrite"
        raise GenieError(Problem("Y022", f"{target} exists already", hint=hint))
    if target.exists() and not _is_generator(target):
        message = f"{target} is no generator, so --overwrite leaves it alone"
        raise GenieError(Problem("H009", message, hint="give another --output"))


def _is_generator(path: Path) -> bool:
    config = path / "config.json"
    return config.is_file() and _MODEL_TYPE in config.read_text(encoding="utf-8")


def write_over(text: str) -> None:
    """Write over the last line of a terminal; elsewhere, write nothing."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", err=True, nl=False)
