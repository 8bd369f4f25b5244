"""Writes small invented libraries for tests: one text, `>> path` before each file."""

from pathlib import Path


def write_library(folder: Path, text: str) -> Path:
    """Write the files of a text into a folder and return it."""
    path = None
    lines: dict[Path, list[str]] = {}
    for line in text.splitlines():
        if line.startswith(">> "):
            path = folder / line[3:]
            lines[path] = []
        elif path is not None:
            lines[path].append(line)
    for file, content in lines.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(f"{line}\n" for line in content), encoding="utf-8")
    return folder
