"""The work folder of a rendering: what was found for each program so far, a line each.

A line is in the run when it is whole; what lies behind the last one was written by a run that was
killed in between, and is cut off.
"""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from genie_dp.records import Example
from genie_dp.rows import from_json, to_json

Said = tuple[Example, ...] | str
"""The rows of a program, or why there are none."""


def whole_lines(path: Path) -> int:
    """Return how many programs are done, and cut off what lies behind them."""
    if not path.exists():
        return 0
    count = size = 0
    with path.open("r+b") as file:
        for line in file:
            if line.endswith(b"\n"):
                count, size = count + 1, size + len(line)
        file.truncate(size)
    return count


def append(path: Path, found: Iterable[Said]) -> None:
    """Write what is found, each as soon as it is: a run may be killed."""
    with path.open("a", encoding="utf-8", newline="\n") as out:
        for one in found:
            rows = one if isinstance(one, str) else [to_json(row) for row in one]
            out.write(json.dumps(rows, ensure_ascii=False) + "\n")
            out.flush()


def read(path: Path) -> Iterator[Said]:
    """Yield what was found for each program, in their order."""
    with path.open(encoding="utf-8", newline="\n") as lines:
        for line in lines:
            found = json.loads(line)
            yield found if isinstance(found, str) else tuple(map(from_json, found))
