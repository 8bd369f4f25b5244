"""Files of rows with their manifests, as commands write and read them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import xxhash

from genie_dp.cli.output import open_bytes
from genie_dp.dataset.formats import from_json, opened, write_parquet
from genie_dp.errors import GenieError


def manifest_of(output: str) -> str:
    """Return where the manifest of an output is.

    >>> manifest_of("pairs.jsonl.gz")
    'pairs.jsonl.gz.manifest.json'
    """
    return f"{output}.manifest.json"


def hashes_of(names: Iterable[str | Path | None]) -> dict[str, str]:
    """Return the xxh3_128 of what each file or URL holds, unpacked, for a manifest.

    Args:
        names: of files; None and "" are of no account.
    """
    found: dict[str, str] = {}
    for name in dict.fromkeys(str(name) for name in names if name):
        digest = xxhash.xxh3_128()
        with opened(name) as lines:
            for line in lines:
                digest.update(line)
        found[name] = digest.hexdigest()
    return found


def told_private(names: Iterable[str | Path | None]) -> dict[str, list[str]]:
    """Return what the manifest of files made of rows says of the private ones among these.

    For each a warning is written to stderr (B035): what is made of them is as private as they are.

    Args:
        names: of files and folders; None and "" are of no account.

    Returns:
        {"private": ledgers}; nothing where all rows may be published.
    """
    from genie_dp.private.ledger.guard import PRIVATE, doubt_of, private_of

    found: dict[str, None] = {}
    for name in dict.fromkeys(str(name) for name in names if name):
        ledger = private_of(name)
        if ledger is not None:
            found[str(ledger.resolve())] = None
            click.echo(str(GenieError(doubt_of(name, ledger))), err=True)
    return {PRIVATE: list(found)} if found else {}


def write_json(target: str, content: Any) -> None:
    """Write a small file of JSON for people and programs."""
    with open_bytes(target) as out:
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")


def write_rows(lines: Iterable[str], made: str, output: str, format: str) -> None:
    """Write lines of the format `made` (jsonl or tsv, with line ends) to an output in `format`."""
    with open_bytes(output) as out:
        if format == made:
            for line in lines:
                out.write(line.encode())
        elif format == "parquet":
            write_parquet((from_json(line) for line in lines), out)
        else:
            for line in lines:
                row = from_json(line)
                out.write(f"{row.id}\t{row.utterance}\t{row.program}\n".encode())
