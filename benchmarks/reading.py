"""How fast the readers are, and how many values they read right, on the cases of the tests.

    python benchmarks/reading.py [--runs 5]

Prints milliseconds for a sentence (median, 95th percentile) and spans and values right by type, for
the reader in pure Python and for the one with Duckling.
"""

import argparse
import statistics
import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from genie_dp.errors import GenieError
from genie_dp.parser.reading.load import NAMES, load_reader
from genie_dp.parser.reading.reading import Reader
from tests.reading_cases import NOW, ReadingCase, reading_cases, topics, traps


def kind(token: str) -> str:
    """Return the stem of a placeholder, all measures as one."""
    stem = token.rpartition("_")[0]
    return "MEASURE" if stem.startswith("MEASURE_") else stem


def times(reader: Reader, sentences: list[str], runs: int) -> list[float]:
    """Return the milliseconds of each sentence, the fastest of some runs."""
    found = []
    for sentence in sentences:
        reader.read(sentence, now=NOW)
        best = min(_time(reader, sentence) for _ in range(runs))
        found.append(1000 * best)
    return sorted(found)


def _time(reader: Reader, sentence: str) -> float:
    start = perf_counter()
    reader.read(sentence, now=NOW)
    return perf_counter() - start


def score(reader: Reader, cases: list[ReadingCase]) -> dict[str, tuple[int, int, int]]:
    """Return by stem: placeholders wanted, placeholders there, and those with the right value."""
    wanted: Counter[str] = Counter()
    there: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for case in cases:
        found = reader.read(case.sentence, now=NOW)
        tokens = [t for t in case.utterance.split() if t.isupper() or t.startswith("MEASURE_")]
        tokens = [t for t in tokens if t[-1].isdigit() and t not in case.sentence]
        for token, value in zip(tokens, case.values, strict=True):
            wanted[kind(token)] += 1
            there[kind(token)] += token in found.values
            is_right = token in found.values and found.values[token].value == value
            right[kind(token)] += is_right
    return {stem: (wanted[stem], there[stem], right[stem]) for stem in sorted(wanted)}


def report(name: str, runs: int) -> None:
    """Print the figures of one reader."""
    try:
        reader = load_reader(name)
    except GenieError as error:
        print(f"{name}: {error}")
        return
    cases = [case for topic in topics() for case in reading_cases(topic)]
    took = times(reader, [case.sentence for case in cases] + traps(), runs)
    start = perf_counter()
    reader.read("remind me on the last day of may " + "at 5 pm " * 50, now=NOW)
    longest = 1000 * (perf_counter() - start)
    fired = sum(bool(reader.read(trap, now=NOW).values) for trap in traps())
    tail = took[int(0.95 * len(took))]
    print(f"{name}: median {statistics.median(took):.2f} ms, 95 % {tail:.2f} ms a sentence;")
    print(f"  'at 5 pm' 50 times {longest:.0f} ms; {fired} of {len(traps())} traps fired")
    print("  kind            wanted  there  value right")
    for stem, (wanted, there, right) in score(reader, cases).items():
        print(f"  {stem:<15} {wanted:>6} {there:>6} {right:>6}")
    close = getattr(reader, "close", None)
    if close is not None:
        close()


def main() -> None:
    """Measure the readers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each sentence")
    runs = parser.parse_args().runs
    for name in NAMES:
        report(name, runs)


if __name__ == "__main__":
    main()
