"""What all commands that train on private rows do with files and with the terminal."""

import hashlib
import sys
from collections.abc import Sequence

import click

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.records import Example
from genie_dp.rows import read_rows
from genie_dp.run.files import opened
from genie_dp.run.work import FolderKind

# What config.json of a generator says first; `folder.MODEL_TYPE`, which is not imported for it.
GENERATOR = FolderKind(
    "config.json", '"model_type": "genie_dp.generator"', name="generator", code="H009"
)


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


def write_over(text: str) -> None:
    """Write over the last line of a terminal; elsewhere, write nothing."""
    if sys.stderr.isatty():
        click.echo(f"\r\033[K{text}", err=True, nl=False)
