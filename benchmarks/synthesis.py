"""Speed and memory of `genie-dp synthesize`, all in: load, compile, pools, rows, write.

    python benchmarks/synthesis.py --skills ../shared/data/thingpedia_tt --skip-broken

Each setting runs in a process of its own; CPU seconds and peak memory are those of all its
processes (measure.py). Settings run in turn, several times, and the median is printed with the
range, for machines are noisy.
"""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click
from measure import ROOT, Cost, cost_of, machine, median, table


def measure(arguments: list[str]) -> tuple[int, Cost]:
    """Return the rows that one call of the command line made, and what it cost."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.jsonl"
        command = [sys.executable, str(ROOT / "cli.py"), "synthesize", *arguments]
        cost = cost_of([*command, "--output", str(output)])
        rows = json.loads(Path(f"{output}.manifest.json").read_text())["counts"]["rows"]
        return rows, cost


@click.command()
@click.option("--skills", multiple=True, help="As for synthesize.")
@click.option("--skip-broken", is_flag=True)
@click.option("--depths", default="2,3,4,5", show_default=True)
@click.option("--sizes", default="100000", show_default=True)
@click.option("--decays", default="0.7", show_default=True, help="1.0: every depth alike.")
@click.option("--jobs", default=1, show_default=True)
@click.option("--runs", default=3, show_default=True)
def main(**options: Any) -> None:
    """Print a table of rows per CPU second and memory for each depth, size and decay."""
    shared = [part for folder in options["skills"] for part in ("--skills", folder)]
    shared += ["--skip-broken"] * options["skip_broken"] + ["--jobs", str(options["jobs"])]
    settings = [
        (depth, size, decay)
        for size in options["sizes"].split(",")
        for decay in options["decays"].split(",")
        for depth in options["depths"].split(",")
    ]
    found: dict[tuple[str, str, str], list[tuple[int, Cost]]] = {s: [] for s in settings}
    for _ in range(options["runs"]):
        for depth, size, decay in settings:
            arguments = ["--max-depth", depth, "--size", size, "--depth-decay", decay, *shared]
            found[depth, size, decay].append(measure(arguments))
    click.echo(machine())
    head = ["depth", "decay", "rows", "rows / CPU s", "CPU s", "wall s", "MB, all processes"]
    lines = []
    for (depth, _, decay), runs in found.items():
        rows = runs[0][0]
        costs = [cost for _, cost in runs]
        lines.append(
            [
                depth, decay, f"{rows:,}", median([rows / c.cpu for c in costs], 0),
                median([c.cpu for c in costs]), median([c.wall for c in costs]),
                median([c.memory for c in costs], 0),
            ]
        )  # fmt: skip
    click.echo(table(head, lines))


if __name__ == "__main__":
    main()
