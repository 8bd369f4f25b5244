"""How fast the readers are, and how many values they read right, on the cases of the tests.

    python benchmarks/reading.py
    python benchmarks/reading.py pairs.jsonl written.jsonl

The first prints milliseconds for a sentence (median, 95th percentile) and spans and values right by
type, for the reader of English; then the share of the sentences of each language in
`tests/data/reading_values` all of whose values are right. The second prepares
synthesized rows, and those that `genie-dp data augment pairs.jsonl --written 1 --no-noise
--reword 0 --primitive 1 --compound 1` made of them, and prints in how many every placeholder
came back.
"""

import argparse
import statistics
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parent.parent))

from genie_dp.languages import get_language
from genie_dp.locale import languages, locale_from
from genie_dp.parser.reading.grammar_reader import GrammarReader, load_reader
from genie_dp.parser.reading.prepare import (
    Left,
    Prepared,
    Preparer,
    fixed_constants,
    key_of,
    phrases_of,
)
from genie_dp.parser.reading.reading import Reader
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.rows import from_json
from genie_dp.skills.load import load_library
from tests.parser.reading.reading_cases import NOW, ReadingCase, reading_cases, topics, traps

READ = frozenset(("NUMBER", "DATE", "TIME", "DURATION", "CURRENCY", "LOCATION", "MEASURE"))


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


def report(runs: int) -> None:
    """Print the figures of the reader of English."""
    reader = load_reader()
    cases = [case for topic in topics() for case in reading_cases(topic)]
    took = times(reader, [case.sentence for case in cases] + traps(), runs)
    start = perf_counter()
    reader.read("remind me on the last day of may " + "at 5 pm " * 50, now=NOW)
    longest = 1000 * (perf_counter() - start)
    fired = sum(bool(reader.read(trap, now=NOW).values) for trap in traps())
    tail = took[int(0.95 * len(took))]
    print(f"median {statistics.median(took):.2f} ms, 95 % {tail:.2f} ms a sentence;")
    print(f"  'at 5 pm' 50 times {longest:.0f} ms; {fired} of {len(traps())} traps fired")
    print("  kind            wanted  there  value right")
    for stem, (wanted, there, right) in score(reader, cases).items():
        print(f"  {stem:<15} {wanted:>6} {there:>6} {right:>6}")


def report_language(language: str, runs: int) -> None:
    """Print how fast a language is read, and in how many of its sentences all values are right."""
    reader = load_reader(locale=locale_from(language))
    file = Path(__file__).parent.parent / "tests" / "data" / "reading_values" / f"{language}.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    rows = [line.partition(" =>") for line in lines if not line.startswith("#")]
    took = times(reader, [sentence for sentence, _, _ in rows], runs)
    right = 0
    for sentence, _, values in rows:
        found = [key_of(x.value) for x in reader.read(sentence, now=NOW).values.values()]
        right += found == [key_of(value.strip()) for value in values.split(" ; ") if value.strip()]
    tail = took[int(0.95 * len(took))]
    share = f"{right} of {len(rows)} right ({right / len(rows):.1%})"
    print(f"{language}: {share}, median {statistics.median(took):.2f} ms, 95 % {tail:.2f} ms")


def read_rows(path: Path) -> list[Example]:
    """Return the rows of a file."""
    with path.open(encoding="utf-8") as lines:
        return [from_json(line) for line in lines]


def placeholders(row: Example) -> Counter[str]:
    """Return the placeholders of a row that a reader finds by rule."""
    return Counter(token for token in row.utterance.split() if kind(token) in READ)


def prepare(plain: list[Example], written: list[Example]) -> None:
    """Print in how many rows the written-out values came back, by kind."""
    library = load_library([data_folder("thingpedia")])
    language = get_language("thingtalk")
    learner = Preparer(GrammarReader(), language, library, NOW)
    phrases = phrases_of(plain, learner)
    fixed = fixed_constants(plain, language)
    preparer = replace(learner, reader=GrammarReader(phrases), fixed=fixed)
    sources = {row.id: preparer.prepare(row) for row in plain}
    same = sum(m == Prepared(row, m.doubt) for row in plain
               if isinstance(m := sources[row.id], Prepared))  # fmt: skip
    print(f"{len(plain):,} rows with placeholders: {same:,} unchanged; {dict(preparer.counts)}")
    met, back, first, here = Counter(), Counter(), Counter(), Counter()
    for row in written:
        source, made = sources[row.parent], preparer.prepare(row)
        if isinstance(source, Left):
            continue
        wanted = placeholders(source.row)
        is_back = isinstance(made, Prepared) and not wanted - placeholders(made.row)
        for stem in {kind(token) for token in wanted}:
            met[stem] += 1
            back[stem] += is_back
            first[stem] += is_back and made.doubt == 0
            here[stem] += not is_back and "location:" in row.program
    print("  kind            rows   read back   first reading   lost to home, work, here")
    for stem in sorted(met):
        shares = f"{back[stem] / met[stem]:>11.1%} {first[stem] / met[stem]:>15.1%}"
        print(f"  {stem:<13} {met[stem]:>6} {shares} {here[stem]:>10} of {met[stem] - back[stem]}")


def main() -> None:
    """Measure the readers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", type=Path, help="synthesized rows, and written-out ones")
    parser.add_argument("--runs", type=int, default=5, help="runs of each sentence")
    arguments = parser.parse_args()
    if len(arguments.rows) == 2:
        prepare(*map(read_rows, arguments.rows))
        return
    runs = arguments.runs
    report(runs)
    for language in languages():
        report_language(language, runs)


if __name__ == "__main__":
    main()
