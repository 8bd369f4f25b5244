"""Speed and memory of `genie-dp data augment`, all in: read, take apart, put together, write.

    python benchmarks/augment.py                    # synthesizes its input first
    python benchmarks/augment.py --input pairs.jsonl --runs 3 --rows 1000000

Each setting runs in a process of its own; CPU seconds and peak memory are what the operating
system says of it and of its workers. With --rows the factors of synthesized sentences are raised
until about that many rows come out. Settings run in turn, several times; the best and the median
are printed, for machines are noisy.
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

import click

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = {
    "values only": ("--no-noise", "--reword", "0"),
    "default": (),
    "numbers written out": ("--written", "1"),
    "words replaced, too": ("--reword-synthetic", "0.5"),
    "default, two jobs": ("--jobs", "2"),
}


@dataclass(frozen=True)
class Run:
    """One run: rows read and made, CPU and wall seconds, peak memory of the largest process, MB."""

    read: int
    made: int
    cpu: float
    wall: float
    memory: float


def genie(*words: str) -> tuple[float, float, float]:
    """Run the command line; return CPU seconds, wall seconds and peak memory in MB."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, str(ROOT / "cli.py"), *words]
    with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT) as process:
        errors = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(errors.decode())
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, time.perf_counter() - start, usage.ru_maxrss / 1024


def measure(source: Path, options: tuple[str, ...]) -> Run:
    """Return what one call of augment cost."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "rows.jsonl"
        cost = genie("augment", str(source), *options, "--output", str(output))
        counts = json.loads(Path(f"{output}.manifest.json").read_text())["counts"]
        return Run(sum(counts["read"].values()), counts["rows"], *cost)


def factors(source: Path, rows: int) -> tuple[str, ...]:
    """Return options under which about that many rows come of a file of synthesized rows."""
    one = many = 0
    with source.open(encoding="utf-8") as lines:
        for line in lines:
            is_one = len(json.loads(line)["functions"]) == 1
            one, many = one + is_one, many + (not is_one)
    # Four of a sentence with one function for one of another, as in the paper.
    times = max(1, round(rows / (4 * one + many)))
    return "--primitive", str(4 * times), "--compound", str(times)


@click.command()
@click.option("--input", "source", type=click.Path(exists=True, path_type=Path))
@click.option("--size", default=400_000, show_default=True, help="Rows to synthesize without one.")
@click.option("--rows", type=int, help="About how many rows to make [what the factors give].")
@click.option("--runs", default=3, show_default=True)
def main(source: Path | None, size: int, rows: int | None, runs: int) -> None:
    """Print a table of rows a CPU second."""
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}")
    with tempfile.TemporaryDirectory() as folder:
        if source is None:
            source = Path(folder) / "pairs.jsonl"
            genie("synthesize", "--size", str(size), "--output", str(source))
        extra = factors(source, rows) if rows else ()
        found: dict[str, list[Run]] = {name: [] for name in SETTINGS}
        for _ in range(runs):
            for name, options in SETTINGS.items():
                found[name].append(measure(source, (*extra, *options)))
    print("| setting | read | made | rows / CPU s: best (median) | wall s | peak MB |")
    print("|---|---|---|---|---|---|")
    for name, done in found.items():
        rates = [run.made / run.cpu for run in done]
        best = max(done, key=lambda run: run.made / run.cpu)
        print(
            f"| {name} | {best.read:,} | {best.made:,} | {max(rates):,.0f} "
            f"({statistics.median(rates):,.0f}) | {best.wall:.0f} | {best.memory:.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
