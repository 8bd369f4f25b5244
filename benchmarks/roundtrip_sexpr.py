"""Reads every S-expression of the shared data sets and checks that nothing is lost.

    python benchmarks/roundtrip_sexpr.py [../shared/data]

For every row: the text again from the tree, the tree again from its tokens, and the text again from
the tokens in the layout of the data set. Prints one line a data set; ends with 1 if a row differs.
"""

import gzip
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from genie_dp.errors import GenieError
from genie_dp.languages.sexpr.ast import Layout
from genie_dp.languages.sexpr.text import from_tokens, parse, render, tokens

# data set -> (columns that hold programs, layout)
DATA: dict[str, tuple[tuple[str, ...], Layout]] = {
    "smcalflow": (("program",), "compact"),
    "topv2": (("program", "top"), "closing"),
    "pizza": (("program", "top"), "closing"),
    "overnight": (("program",), "spaced"),
    "sgd": (("program",), "compact"),
}


def programs(folder: Path, columns: tuple[str, ...]) -> Iterator[str]:
    """Yield the programs of all JSONL files of a folder."""
    for path in sorted(folder.glob("*.jsonl*")):
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            for line in lines:
                row = json.loads(line)
                yield from (row[column] for column in columns)


def fault(text: str, layout: Layout) -> str | None:
    """Return what went wrong with a program, or None."""
    try:
        tree = parse(text)
    except GenieError as error:
        return str(error)
    if render(tree) != text:
        return "render"
    if from_tokens(tokens(tree)) != tree:
        return "tokens"
    if render(from_tokens(tokens(tree)), layout) != text:
        return "layout"
    return None


def main() -> int:
    """Check all data sets and print what was found."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")
    failed = 0
    for name, (columns, layout) in DATA.items():
        start = time.process_time()
        faults: Counter[str] = Counter()
        examples: dict[str, str] = {}
        count = 0
        for text in programs(root / name, columns):
            count += 1
            found = fault(text, layout)
            if found:
                faults[found] += 1
                examples.setdefault(found, text)
        seconds = time.process_time() - start
        failed += faults.total()
        print(f"{name:10} {count:7,} programs  {faults.total():5,} differ  {seconds:5.1f} CPU s")
        for found, number in faults.most_common(5):
            print(f"    {number} x {found}\n      {examples[found]}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
