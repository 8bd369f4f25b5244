"""A data set folder: of split or convert, or any with files for Hugging Face datasets."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from genie_dp.dataset.readers import ReadOptions
from genie_dp.errors import GenieError, Problem
from genie_dp.records import Example
from genie_dp.rows import format_of, read_rows

_ENDINGS = ("jsonl", "parquet", "tsv")


def read(path: str, options: ReadOptions) -> Iterator[Example]:
    """Yield the rows of all parts of a folder, part by part."""
    for files in parts_in(Path(path)).values():
        for file in files:
            yield from read_rows(str(file))


def parts_in(folder: Path) -> Mapping[str, list[Path]]:
    """Return the parts of a folder with their files, as its card names them, else by its files.

    Raises:
        GenieError: there are none.
    """
    found = _named(folder) or _guessed(folder)
    if not found:
        hint = "a card with data_files, or files such as train.jsonl or data/train.parquet"
        raise GenieError(Problem("D024", f"{folder} has no parts", hint=hint))
    return found


def _named(folder: Path) -> dict[str, list[Path]]:
    card = folder / "README.md"
    if not card.is_file():
        return {}
    parts = card.read_text(encoding="utf-8").split("---\n", 2)
    try:
        head = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0] else {}
        files = head["configs"][0]["data_files"]
        named = {
            one["split"]: [one["path"]] if isinstance(one["path"], str) else one["path"]
            for one in files
        }
    except (yaml.YAMLError, KeyError, IndexError, TypeError):
        return {}
    found = {
        name: [p for pattern in paths for p in sorted(folder.glob(pattern))]
        for name, paths in named.items()
    }
    return {name: paths for name, paths in found.items() if paths}


def _guessed(folder: Path) -> dict[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in sorted([*folder.glob("*"), *folder.glob("data/*")]):
        name = path.name.split(".")[0].split("-")[0]
        if path.is_file() and format_of(path.name, "") in _ENDINGS:
            found.setdefault(name, []).append(path)
    return found
