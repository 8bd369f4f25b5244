"""Shows random pairs of a JSONL file: python examples/show_pairs.py PAIRS.jsonl --number 20."""

import argparse
import json
import random
from pathlib import Path


def main() -> None:
    """Print the sentences with their programs below, and where the file is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs", type=Path)
    parser.add_argument("--number", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lines = options.pairs.read_text(encoding="utf-8").splitlines()
    chosen = random.Random(options.seed).sample(lines, min(options.number, len(lines)))
    for row in map(json.loads, chosen):
        print(f"{row['utterance']}\n    {row['program']}\n")
    print(f"{len(chosen)} of the {len(lines):,} pairs in {options.pairs.resolve()}")


if __name__ == "__main__":
    main()
