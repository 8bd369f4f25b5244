"""Files of rows with their manifests, as commands write and read them."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import xxhash

from genie_dp.run.files import open_bytes, opened


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


def write_json(target: str, content: Any) -> None:
    """Write a small file of JSON for people and programs."""
    with open_bytes(target) as out:
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
