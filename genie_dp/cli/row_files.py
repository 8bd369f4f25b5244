"""Files of rows with their manifests, as `synthesize` and `merge` write and read them."""

import json
from collections.abc import Iterable
from typing import Any

from genie_dp.cli.output import open_bytes
from genie_dp.dataset.formats import from_json, write_parquet


def manifest_of(output: str) -> str:
    """Return where the manifest of an output is.

    >>> manifest_of("pairs.jsonl.gz")
    'pairs.jsonl.gz.manifest.json'
    """
    return f"{output}.manifest.json"


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
