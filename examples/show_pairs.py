"""Shows random pairs of a JSONL file: python examples/show_pairs.py PAIRS.jsonl --number 20."""

import argparse
import json
import random
import shutil
import textwrap
from pathlib import Path


def main() -> None:
    """Print sentences with their programs below them, and where the file is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines = options.pairs.read_text(encoding="utf-8").splitlines()
    chosen = random.Random(options.seed).sample(lines, min(options.number, len(lines)))
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    for row in map(json.loads, chosen):
        print(textwrap.fill(row["utterance"], width, break_long_words=False))
        indent = {"initial_indent": "    ", "subsequent_indent": "      "}
        print(textwrap.fill(row["program"], width, break_long_words=False, **indent), end="\n\n")
    print(f"These are {len(chosen)} of the {len(lines):,} pairs in {options.pairs}")


if __name__ == "__main__":
    main()
