"""What decoding under the grammar costs, and how many programs of data sets it accepts.

    python benchmarks/decoding.py [--data ../shared/data] [--size 20000]

Synthesizes and augments rows of the shipped library, converts the data sets found, and follows
each program through the automaton: `allowed` and `then` once for each token. Constants that a
sentence does not hold are given as `texts`, those of the training rows where there are such.
Times are of the processor. A set is followed twice: `cold` is the mean of the first time, when
places are met that no program had before; the median and the 95th percentile are those of the
second time. Prints a table in Markdown.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from thingtalk2 import read_thingtalk2

from genie_dp.errors import GenieError
from genie_dp.languages.base import DecodingGrammar
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.languages.sexpr.decoding import SexprGrammar
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.languages.thingtalk.forms import constants_of
from genie_dp.records import Example
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library

Rows = list[tuple[list[str], str]]
# Of what stands in no file of declarations: the labels whose function is their first item.
OVERNIGHT = read_declarations("apply call;")
# data set -> format, training rows, other rows
SEXPR = {
    "pizza (learned from itself)": ("pizza", "pizza/dev.jsonl", "pizza/dev.jsonl"),
    "overnight blocks": (
        "overnight", "overnight/blocks.train.jsonl", "overnight/blocks.test.jsonl",
    ),
    "overnight calendar": (
        "overnight", "overnight/calendar.train.jsonl", "overnight/calendar.test.jsonl",
    ),
    "topv2 alarm": ("topv2", "topv2/alarm.train.jsonl.gz", "topv2/alarm.eval.jsonl"),
    "topv2 event": ("topv2", "topv2/event.train.jsonl.gz", "topv2/event.eval.jsonl"),
    "topv2 navigation": (
        "topv2", "topv2/navigation.train.jsonl.gz", "topv2/navigation.eval.jsonl.gz",
    ),
}  # fmt: skip


def genie(*arguments: object) -> None:
    """Run a command of the toolkit; what it says goes to stderr."""
    launcher = Path(__file__).parent.parent / "cli.py"
    command = [sys.executable, launcher, *map(str, arguments)]
    subprocess.run(command, check=True, stdout=sys.stderr)


def read_rows(path: Path) -> Rows:
    """Return sentences and programs of a file in the toolkit's own format."""
    with path.open(encoding="utf-8") as lines:
        found = map(json.loads, lines)
        return [(row["utterance"].split(" "), row["program"]) for row in found]


def follow(grammar: DecodingGrammar, rows: Rows) -> Iterator[tuple[float, int, str | None]]:
    """Yield (seconds, steps, the token refused or None) for each program."""
    for sentence, program in rows:
        tokens = program.split(" ")
        start = time.process_time()
        prefix, refused = grammar.begin(sentence), None
        steps = 0
        try:
            for token in tokens:
                _ = prefix.allowed
                prefix = prefix.then(token)
                steps += 1
            if not prefix.allowed.end:
                refused = "(the end)"
        except ValueError:
            refused = token
        yield time.process_time() - start, max(steps, 1), refused


def report(name: str, grammar: DecodingGrammar, rows: Rows) -> None:
    """Print one line of the table; what is refused most goes to stderr."""
    first = list(follow(grammar, rows))
    again = sorted(1e6 * seconds / steps for seconds, steps, _ in follow(grammar, rows))
    refused = Counter(token for _, _, token in first if token is not None)
    cold = 1e6 * sum(f[0] for f in first) / sum(f[1] for f in first)
    accepted = len(rows) - refused.total()
    share = f"{100 * accepted / len(rows):.1f} %"
    late = again[int(0.95 * len(again))]
    figures = f"{statistics.median(again):.1f} | {late:.1f} | {cold:.1f}"
    print(f"| {name} | {len(rows):,} | {share} | {figures} |", flush=True)
    print(f"  {name}: refused at {refused.most_common(5)}", file=sys.stderr)


def texts_of(rows: Rows) -> list[str]:
    """Return the constants of programs that their sentences do not hold."""
    return sorted({text for row, program in rows for text in constants_of(" ".join(row), program)})


def thingtalk(work: Path, size: int, data: Path) -> None:
    """Measure the shipped library, and real commands on real skills."""
    library = load_library([data_folder("thingpedia")])
    made, more = work / "made.jsonl", work / "more.jsonl"
    genie("synthesize", "--size", size, "--output", made)
    genie("augment", made, "--output", more)
    for name, path in (("shipped, synthesized", made), ("shipped, augmented", more)):
        rows = read_rows(path)
        report(name, ThingTalkGrammar(library, texts=texts_of(rows)), rows)
    skills = data / "thingpedia_tt"
    if not skills.exists():
        return
    real = load_library([skills], skip_broken=True)
    parts = {}
    for part in ("eval.train", "eval.dev"):
        rows = read_thingtalk2(data / "thingtalk" / f"{part}.jsonl", real)
        parts[part] = [
            (row.utterance.split(" "), row.program) for row in rows if isinstance(row, Example)
        ]
    for part, rows in parts.items():
        grammar = ThingTalkGrammar(real, texts=texts_of(parts["eval.train"]))
        report(f"thingtalk {part}", grammar, rows)


def sexpr(work: Path, data: Path) -> None:
    """Measure S-expressions: shapes learned from the training rows."""
    for name, (kind, train, other) in SEXPR.items():
        if not (data / train).exists():
            continue
        parts = []
        for place, source in enumerate((train, other)):
            out = work / f"{kind}-{place}.jsonl"
            genie("convert", "--from", kind, data / source, out, "--overwrite")
            parts.append(read_rows(out))
        declared = OVERNIGHT if kind == "overnight" else None
        grammar = SexprGrammar(declared, texts=[program for _, program in parts[0]])
        for part, rows in zip(("train", "test"), parts, strict=True):
            report(f"{name}, {part}", grammar, rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure everything that is there."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--size", type=int, default=20_000)
    asked = parser.parse_args(arguments)
    print("| data | programs | accepted | us a token, median | 95 % | cold |")
    print("|---|--:|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as work:
        try:
            thingtalk(Path(work), asked.size, asked.data)
            sexpr(Path(work), asked.data)
        except GenieError as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
