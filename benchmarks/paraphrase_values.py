"""How often values are found in commands that people typed of their own accord.

    python benchmarks/paraphrase_values.py ../shared/data/thingtalk/eval.*.jsonl

A line of a file is a row as JSON with `utterance` and `program` (ThingTalk 2). Numbers, measures,
times and texts of the program are looked for as `paraphrase collect` looks for values that it has
shown. Not all of them can be there: programs hold ids that nobody says, and words for midnight.
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator

from genie_dp.paraphrase.typed import find_values, words_of

TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
NUMBER = re.compile(r"(?:==|>=|<=|=)\s*(-?\d+(?:\.\d+)?)(?![\w.])")
MEASURE = re.compile(r"(?:==|>=|<=|=)\s*(\d+)(min|h|C|F|km|mi|KB|MB|GB|kg)\b")
TIME = re.compile(r"new Time\((\d+), ?(\d+)")
UNITS = {
    "min": "minutes", "h": "hours", "C": "degrees celsius", "F": "degrees fahrenheit",
    "km": "kilometers", "mi": "miles",
}  # fmt: skip


def values_of(program: str) -> Iterator[tuple[str, str]]:
    """Yield (stem of a placeholder, value as it would be shown)."""
    for match in TEXT.finditer(program):
        if any(c.isalpha() for c in match[1]) and not re.match(r"\d{4}-\d\d-\d\dT", match[1]):
            yield "GENERIC_ENTITY_text", match[1]
    rest = TEXT.sub("", program)
    for match in NUMBER.finditer(rest):
        yield "NUMBER", match[1]
    for match in MEASURE.finditer(rest):
        yield "MEASURE_x", f"{match[1]} {UNITS.get(match[2], match[2].lower())}"
    for match in TIME.finditer(rest):
        hour = int(match[1])
        half = "am" if hour < 12 else "pm"
        yield "TIME", f"{(hour - 1) % 12 + 1}:{int(match[2]):02} {half}"


def main() -> None:
    """Print how many values of each sort are found, and those that are not."""
    seen: Counter[str] = Counter()
    found: Counter[str] = Counter()
    missing = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for stem, value in values_of(row["program"]):
                    seen[stem] += 1
                    if find_values([("X_0", stem, value)], words_of(row["utterance"])).missing:
                        missing.append((stem, value, row["utterance"]))
                    else:
                        found[stem] += 1
    for stem, count in seen.items():
        print(f"{stem:<20} {found[stem]:>6,} of {count:,}")
    for stem, value, utterance in missing:
        print(f"{stem}\t{value}\t{utterance}")


if __name__ == "__main__":
    main()
