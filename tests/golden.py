"""Reads and rewrites data-driven test cases: blocks of `# name`, input, `---`, expected, `===`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"


@dataclass(frozen=True, slots=True)
class Case:
    """One block of a file of cases.

    Attributes:
        path, line: where the block begins.
        input, expected: their lines, joined, without the last line break.
    """

    name: str
    input: str
    expected: str
    path: Path
    line: int

    def __str__(self) -> str:
        return self.name


def cases(path: str | Path) -> list[Case]:
    """Return the cases of a file (relative to tests/data); names must be there and differ."""
    file = DATA / path
    found = parse_cases(file.read_text(encoding="utf-8"), file)
    names = [case.name for case in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice or not found:
        raise ValueError(f"{file}: {'names used twice: ' + ', '.join(twice) if twice else 'empty'}")
    return found


def parse_cases(text: str, file: Path) -> list[Case]:
    """Return the cases of a text; raises ValueError with file and line for a malformed block.

    >>> parse_cases("# one\\na\\n---\\nb\\n===\\n", Path("x.txt"))[0].expected
    'b'
    """
    found = []
    block: list[str] = []
    start = 1
    lines = text.splitlines()
    for number, line in enumerate([*lines, "==="], start=1):
        if line != "===":
            block.append(line)
            continue
        if any(row.strip() for row in block):
            found.append(_case(block, file, start))
        block, start = [], number + 1
    return found


def _case(block: list[str], file: Path, start: int) -> Case:
    while not block[0].strip():
        block, start = block[1:], start + 1
    place = f"{file}:{start}"
    if not block[0].startswith("# "):
        raise ValueError(f"{place}: a case begins with '# name', got {block[0]!r}")
    if block.count("---") != 1:
        raise ValueError(f"{place}: expected one line '---', got {block.count('---')}")
    middle = block.index("---")
    return Case(
        name=block[0][2:].strip(),
        input="\n".join(block[1:middle]),
        expected="\n".join(block[middle + 1 :]),
        path=file,
        line=start,
    )


def rewrite(path: Path, actual: Mapping[str, str]) -> None:
    """Write a file of cases again with new expected texts, by name of case."""
    found = parse_cases(path.read_text(encoding="utf-8"), path)
    path.write_text(_written(found, actual), encoding="utf-8")


def _written(found: Iterable[Case], actual: Mapping[str, str]) -> str:
    return "\n".join(
        f"# {case.name}\n{_lines(case.input)}---\n"
        f"{_lines(actual.get(case.name, case.expected))}===\n"
        for case in found
    )


def _lines(text: str) -> str:
    return f"{text}\n" if text else ""
