"""The files beside files of rows: manifests, and the ledgers of private rows."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import xxhash

from genie_dp.errors import GenieError
from genie_dp.run.files import is_url, open_bytes, open_input
from genie_dp.texts import read_text

MANIFEST = "manifest.json"
# Fields of a manifest: the ledgers of the rows that were read, and the files that they were in.
PRIVATE = "private"
READ_FROM = "read_from"
_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


def manifest_of(output: str) -> str:
    """Return where the manifest of an output is.

    >>> manifest_of("pairs.jsonl.gz")
    'pairs.jsonl.gz.manifest.json'
    """
    return f"{output}.{MANIFEST}"


def hashes_of(names: Iterable[str | Path | None]) -> dict[str, str]:
    """Return the xxh3_128 of the contents of each file or URL, unpacked, for a manifest.

    Args:
        names: of files; None and "" are ignored.
    """
    hashes: dict[str, str] = {}
    for name in dict.fromkeys(str(name) for name in names if name):
        digest = xxhash.xxh3_128()
        with open_input(name) as lines:
            for line in lines:
                digest.update(line)
        hashes[name] = digest.hexdigest()
    return hashes


def write_json(target: str, content: Any) -> None:
    """Write a small file of JSON for people and programs."""
    with open_bytes(target) as out:
        out.write(json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")


# ------------------------------------------------------------------------------- private rows


def ledger_of(path: Path) -> Path:
    """Return where the ledger of a private file lies: beside it, whatever links lead there.

    >>> ledger_of(Path("data/private.jsonl.gz")).as_posix()
    'data/private.ledger.json'
    """
    # By a link, the same rows would have a budget of their own.
    path = path.resolve() if path.is_symlink() else path
    plain = path.with_suffix("") if path.suffix in _COMPRESSED else path
    return plain.with_suffix(".ledger.json")


def files_behind(file: str | Path) -> Iterator[Path]:
    """Yield a local file, and all its sources by the manifests, each once."""
    waiting, seen = [str(file)], set()
    while waiting:
        name = waiting.pop(0)
        path = Path(name)
        if name in seen or is_url(name) or not path.name:
            continue
        seen.add(name)
        yield path
        for manifest in _manifests_of(path):
            waiting += _names_in(manifest, READ_FROM)


def ledgers_named(file: Path) -> Iterator[Path]:
    """Yield the ledgers that manifests name as those of the rows in a file."""
    for manifest in _manifests_of(file):
        yield from ledgers_in(manifest)


def ledgers_in(manifest: Path) -> list[Path]:
    """Return the ledgers that a manifest names as those of its inputs."""
    return [Path(name) for name in _names_in(manifest, PRIVATE)]


def provenance(files: Iterable[str]) -> dict[str, list[str]]:
    """Return the entry for the input files in the manifest of rows.

    Their ledgers are named as well: private rows stay private when the files are moved away.
    """
    read_from = [name if is_url(name) else str(Path(name).absolute()) for name in files]
    ledgers: dict[str, None] = {}
    for path in (path for name in read_from for path in files_behind(name)):
        beside = ledger_of(path)
        own_ledgers = [*ledgers_named(path), *([beside] if beside.exists() else [])]
        ledgers |= dict.fromkeys(str(ledger.resolve()) for ledger in own_ledgers)
    facts = {READ_FROM: read_from} if read_from else {}
    return facts | ({PRIVATE: list(ledgers)} if ledgers else {})


def _manifests_of(path: Path) -> tuple[Path, ...]:
    """Return where manifests of a file may be: beside it, in it, and that of its folder."""
    return Path(manifest_of(str(path))), path / MANIFEST, path.parent / MANIFEST


def _names_in(manifest: Path, field: str) -> list[str]:
    """Return the files that a manifest names in a field; none where there is no such manifest."""
    try:
        facts: Any = json.loads(read_text(manifest)) if manifest.is_file() else None
    except (ValueError, GenieError):
        return []  # of no command of ours
    names = facts.get(field) if isinstance(facts, dict) else None
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
