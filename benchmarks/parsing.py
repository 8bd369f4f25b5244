"""What it takes to ask a parser: CPU milliseconds a sentence from text to program, and memory.

    genie-dp train rows.jsonl --minutes 3 --output parser
    python benchmarks/parsing.py parser
    python benchmarks/parsing.py one two three --skills thingpedia      # several parsers, in turn

The sentences are those of the skills' eval.tsv, as people type them: reading of values, search and
filling in are all in it. Batches of 1 and of 32, by beam and greedily, under the grammar and
without it. Each way asks all sentences once before it is measured; ways take turns, so that what
else the machine does meets all of them.
"""

import argparse
import gc
import resource
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from time import process_time

import torch
from measure import ROOT, machine, table

from genie_dp.augment.skill_rows import skill_rows
from genie_dp.parser.parser import Parser

BATCHES = (1, 32)
BEAMS = (4, 1)
TURNS = 3


@dataclass(frozen=True)
class Way:
    """One way to ask, and the parser that does so."""

    name: str
    beam: int
    batch: int
    is_constrained: bool
    parser: Parser

    def costs(self, sentences: Sequence[str]) -> list[float]:
        """Return CPU milliseconds a sentence of each batch."""
        found = []
        for start in range(0, len(sentences), self.batch):
            group = sentences[start : start + self.batch]
            before = process_time()
            # Without a grammar what comes out may be no program, which `parse` would leave out.
            self.parser.predict(group, count=1)
            found.append(1000 * (process_time() - before) / len(group))
        return found


def ways(folder: Path) -> list[Way]:
    """Return all ways to ask a parser."""
    found = []
    for beam, is_constrained in product(BEAMS, (True, False)):
        parser = Parser.from_pretrained(folder, beam=beam, is_constrained=is_constrained)
        found += [Way(folder.name, beam, batch, is_constrained, parser) for batch in BATCHES]
    return found


def row(way: Way, costs: Sequence[float]) -> list[str]:
    """Return a row of the table."""
    ordered = sorted(costs)
    middle, late = (ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.95))
    grammar = "yes" if way.is_constrained else "no"
    return [way.name, str(way.beam), str(way.batch), grammar, f"{middle:.1f}", f"{late:.1f}"]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("parsers", nargs="+", type=Path)
    parser.add_argument("--skills", type=Path, default=ROOT / "thingpedia")
    parser.add_argument("--sentences", type=int, default=320, help="at most [320]")
    options = parser.parse_args()
    torch.set_num_threads(1)
    print(machine())
    for folder in options.parsers:
        tried = ways(folder)
        target = tried[0].parser.target
        rows = skill_rows([options.skills], target.language, target.library)
        every = sorted({row.utterance for row in rows})
        sentences = every[:: max(1, len(every) // options.sentences)][: options.sentences]
        gc.collect()
        gc.freeze()  # as parse and serve do
        costs: list[list[float]] = [[] for _ in tried]
        for turn in range(1 + TURNS):
            for found, way in zip(costs, tried, strict=True):
                found += way.costs(sentences) if turn else way.costs(sentences)[:0]
        head = ["parser", "beam", "batch", "grammar", "median ms", "95th ms"]
        lines = [row(way, found) for way, found in zip(tried, costs, strict=True)]
        print(f"\n{len(sentences)} sentences\n\n{table(head, lines)}\n")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{peak:,.0f} MB at the peak, with four copies of each parser")


if __name__ == "__main__":
    main()
