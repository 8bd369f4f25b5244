"""From synthesized rows to a data set: what each step makes, and what it costs.

    python benchmarks/data_acquisition.py --size 200000 --keep build/acquisition

Synthesizes rows of the shipped skills, chooses sentences to paraphrase, paraphrases them by rule,
expands all rows with values, splits the result and counts it. Each step is a call of the command
line in a process of its own; everything counts, from the start of Python to the last byte. Memory
is that of all processes of a step together. Prints Markdown for docs/research/paraphrase.md.
"""

import json
import random
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from measure import ROOT, Cost, cost_of, machine, table


@dataclass(frozen=True)
class Step:
    """One command: what it is called in the table, its words, and where its rows go."""

    name: str
    words: Sequence[str]
    output: Path


def steps(folder: Path, size: int, jobs: int) -> Iterator[Step]:
    """Yield the commands, in order; each reads what those before it wrote."""
    pairs, chosen = folder / "pairs.jsonl", folder / "chosen.jsonl"
    paraphrases, rows, data = (
        folder / "paraphrases.jsonl",
        folder / "augmented.jsonl",
        folder / "data",
    )
    parallel = ("--jobs", str(jobs))
    yield Step("synthesize", ("synthesize", "--size", str(size), *parallel), pairs)
    # Little more than half of the usual rates: about 5,000 of 200,000 rows.
    rates = ("--per-query", "29", "--per-action", "12", "--other-pairs", "3%", "--triples", "6%")
    yield Step("paraphrase select", ("paraphrase", "select", str(pairs), *rates), chosen)
    # Seven of each sentence, where there are so many: augmentation then makes a million rows.
    words = ("paraphrase", "auto", str(chosen), "--number", "7", *parallel)
    yield Step("paraphrase auto", words, paraphrases)
    yield Step("augment", ("augment", str(pairs), str(paraphrases), *parallel), rows)
    yield Step("split", ("split", str(rows)), data)
    stats = ("stats", str(data), "--html", str(folder / "stats.html"))
    yield Step("stats", stats, folder / "stats.json")


def run(step: Step) -> Cost:
    """Run a step and return what it cost."""
    return cost_of(
        [sys.executable, str(ROOT / "cli.py"), *step.words, "--output", str(step.output)]
    )


def made(output: Path) -> str:
    """Return how many rows a step wrote."""
    if output.is_dir():
        return f"{sum(lines(file) for file in sorted(output.glob('*.jsonl'))):,}"
    return f"{lines(output):,}" if output.suffix == ".jsonl" else ""


def lines(file: Path) -> int:
    """Return the number of lines of a file."""
    with open(file, "rb") as rows:
        return sum(1 for _ in rows)


def shown(file: Path, count: int, seed: int) -> Iterator[str]:
    """Yield rows drawn at random, as source, sentence and program."""
    with open(file, encoding="utf-8") as rows:
        places = set(random.Random(seed).sample(range(lines(file)), count))
        for place, line in enumerate(rows):
            if place in places:
                row = json.loads(line)
                yield f"{row['source']}\t{row['utterance']}\t{row['program']}"


@click.command(help=__doc__.split("\n", 1)[0])
@click.option("--size", default=200_000, show_default=True, help="Synthesized rows.")
@click.option("--jobs", default=2, show_default=True, help="Processes of a step.")
@click.option("--keep", type=click.Path(path_type=Path), help="Folder for the files [removed].")
@click.option("--show", default=0, help="Print so many random rows of the result.")
@click.option("--seed", default=1, show_default=True, help="Of the rows that are shown.")
def main(size: int, jobs: int, keep: Path | None, show: int, seed: int) -> None:
    """Run all steps and print what they made and cost."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        figures = []
        for step in steps(folder, size, jobs):
            click.echo(f"{step.name} ..", err=True)
            cost = run(step)
            figures.append(
                (
                    f"`{step.name}`",
                    made(step.output),
                    f"{cost.cpu:.1f}",
                    f"{cost.wall:.1f}",
                    f"{cost.memory:,.0f}",
                )  # fmt: skip
            )
        click.echo(f"{machine()}\n")
        click.echo(table(("step", "rows", "CPU s", "wall s", "MB"), figures))
        for line in shown(folder / "augmented.jsonl", show, seed) if show else ():
            click.echo(line)


if __name__ == "__main__":
    main()
