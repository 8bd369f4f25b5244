"""All that the rows of a redaction depend on: going on with other settings is refused."""

import os
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.cli.private.detectors import pair_of
from genie_dp.cli.private.train_files import digest_of
from genie_dp.private.redact.rows import Reading

# What they find may change with them.
_PACKAGES = ("phonenumberslite", "rensa", "spacy", "presidio-analyzer")


def settings_of(options: Mapping[str, Any], reading: Reading) -> dict[str, Any]:
    """Return the settings of a run; files are told by what is in them."""
    return {
        "version": __version__,
        "input": digest_of(reading.path),
        "points": reading.by,
        "language": reading.language,
        "keep": list(reading.keep),
        "unit": reading.unit_field or "row",
        "policies": {name: options[name] for name in ("threshold", "conservative")},
        "duplicates": {name: options[name] for name in ("keep_duplicates", "near")},
        "detectors": _detectors(options),
        "review": {
            "is_wanted": bool(options["review"]),
            "rows": options["review_rows"],
            "seed": options["seed"],
        },
    }


def _detectors(options: Mapping[str, Any]) -> dict[str, Any]:
    lists = [pair_of(one, "--gazetteer", "person=names.txt") for one in options["gazetteer"]]
    spacy = options["spacy"]
    return {
        "without": sorted(options["without"]),
        "region": options["region"],
        "gazetteer": [[kind, digest_of(path)] for kind, path in lists],
        "detector": [_folder(folder) for folder in options["detector"]],
        "spacy": _folder(Path(spacy)) if spacy and Path(spacy).is_dir() else spacy,
        "presidio": options["presidio"],
        "packages": {name: _version(name) for name in (*_PACKAGES, *([spacy] if spacy else ()))},
    }


def _folder(path: Path) -> dict[str, str]:
    files = sorted(Path(at) / name for at, _, names in os.walk(path) for name in names)
    return {str(file.relative_to(path)): digest_of(str(file)) for file in files}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
