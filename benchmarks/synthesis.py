"""Speed and memory of `genie-dp synthesize`, all in: load, compile, pools, rows, write.

    python benchmarks/synthesis.py --skills ../shared/data/thingpedia_tt --skip-broken

Each setting runs in a process of its own; CPU seconds and peak memory are what the operating
system says of it and of its workers. Settings run in turn, several times, and the median is
printed with the range, for machines are noisy. With --check every row is read back: it must parse,
type-check and be canonical.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Run:
    """One run: rows made, CPU and wall seconds, peak memory of the largest process in MB."""

    rows: int
    cpu: float
    wall: float
    memory: float


def measure(arguments: list[str]) -> Run:
    """Return what one call of the command line cost."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.jsonl"
        command = [sys.executable, str(ROOT / "cli.py"), "synthesize", *arguments]
        before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        with subprocess.Popen(
            [*command, "--output", str(output)], stderr=subprocess.PIPE, cwd=ROOT
        ) as process:
            errors = process.stderr.read() if process.stderr else b""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(errors.decode())
        wall = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        rows = json.loads(Path(f"{output}.manifest.json").read_text())["counts"]["rows"]
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Run(rows, cpu, wall, usage.ru_maxrss / 1024)


def median(values: list[float]) -> str:
    """Return the median and the range of some figures."""
    return f"{statistics.median(values):,.1f} ({min(values):,.1f} to {max(values):,.1f})"


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
    found: dict[tuple[str, str, str], list[Run]] = {setting: [] for setting in settings}
    for _ in range(options["runs"]):
        for depth, size, decay in settings:
            arguments = ["--max-depth", depth, "--size", size, "--depth-decay", decay, *shared]
            found[depth, size, decay].append(measure(arguments))
    click.echo(f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores")
    click.echo("| depth | decay | rows | rows / CPU s | CPU s | wall s | peak MB |")
    click.echo("|---|---|---|---|---|---|---|")
    for (depth, _, decay), runs in found.items():
        cells = [
            f"{depth} | {decay} | {runs[0].rows:,}",
            median([run.rows / run.cpu for run in runs]),
            median([run.cpu for run in runs]),
            median([run.wall for run in runs]),
            median([run.memory for run in runs]),
        ]
        click.echo(f"| {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
