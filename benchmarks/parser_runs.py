"""Runs of parsers that can be stopped and gone on with: data made once, a line of JSON a run.

What `parser_library.py` and `parser_public.py` share. Everything is made by `genie-dp` commands in
a folder of work. The name of a file there holds a hash of its command and of the contents of what
goes in, so the same file is never made twice and another setting gives another file. The code
of genie_dp is not part of the hash: each line of results has the revision instead.
"""

import argparse
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import ROOT, cost_of
from runs import over_runs, summary, table

from genie_dp.dataset.scan import hash_of
from genie_dp.records import Example
from genie_dp.rows import read_rows, to_json

OUTPUT = "{output}"
LETTERS = 12  # of a hash in a file's name
NEAREST = "nearest sentence"


# ----------------------------------------------------------------------- data, made once


@dataclass(frozen=True)
class Work:
    """A folder with data, parsers and results."""

    folder: Path

    def made(self, name: str, command: Sequence[object], suffix: str = ".jsonl") -> Path:
        """Return what a `genie-dp` command writes to OUTPUT; the command runs at the first call."""
        target = self.place(name, command, suffix)
        if not target.exists():
            told(f"{target.name}: genie-dp {' '.join(map(str, command))}")
            genie([*filled(command, target), "--overwrite"])
        return target

    def chosen(
        self, name: str, origin: Path, choose: Callable[[], Iterable[Example]], *settings: object
    ) -> Path:
        """Return a file with rows that a function gives, made of `origin` and `settings`."""
        target = self.place(name, ["rows", origin, *settings], ".jsonl")
        if not target.exists():
            unfinished = target.with_suffix(".partial")
            with unfinished.open("w", encoding="utf-8") as lines:
                lines.writelines(f"{to_json(row)}\n" for row in choose())
            unfinished.rename(target)
        return target

    def of_source(self, rows: Path, source: str) -> Path:
        """Return the rows of one source."""

        def choose() -> Iterator[Example]:
            return (row for row in read_rows(str(rows)) if row.source == source)

        return self.chosen(source, rows, choose, source)

    def first(self, rows: Path, count: int | None) -> Path:
        """Return the first rows; all of them without a count."""
        if count is None:
            return rows

        def choose() -> Iterator[Example]:
            return (row for _, row in zip(range(count), read_rows(str(rows)), strict=False))

        return self.chosen("first", rows, choose, count)

    def some(self, rows: Path, count: int) -> Path:
        """Return about so many of the rows, by their hashes; all of them if they are not more."""
        with rows.open("rb") as lines:
            total = sum(1 for _ in lines)
        if total <= count:
            return rows

        def choose() -> Iterator[Example]:
            for row in read_rows(str(rows)):
                if hash_of(f"{row.id} {row.utterance}") % total < count:
                    yield row

        return self.chosen("some", rows, choose, count)

    def recipe(self, text: str) -> Path:
        """Return a file with settings of `genie-dp train` that have no option."""
        target = self.place("recipe", [text], ".yaml")
        target.write_text(text, encoding="utf-8")
        return target

    def place(self, name: str, command: Sequence[object], suffix: str) -> Path:
        """Return where the output of a command stands."""
        folder = self.folder / "data"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}-{self.key(command)}{suffix}"

    def key(self, command: Sequence[object]) -> str:
        """Return the hash of a command with the contents of its files."""
        parts = [self._told(part) if isinstance(part, Path) else str(part) for part in command]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:LETTERS]

    def _told(self, path: Path) -> str:
        if path.is_relative_to(self.folder):  # its name has the hash of how it was made
            return path.relative_to(self.folder).as_posix()
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        told = [(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in files]
        return json.dumps(told)


def filled(command: Sequence[object], target: Path) -> list[str]:
    """Return the words of a command, with the name of its output."""
    return [str(target) if part == OUTPUT else str(part) for part in command]


def genie(command: Sequence[str]) -> float:
    """Run a `genie-dp` command from the project's folder and return its CPU seconds.

    Raises:
        SystemExit: it failed; with what it said.
    """
    return cost_of([sys.executable, str(ROOT / "cli.py"), *command]).cpu


def told(line: str) -> None:
    """Say on stderr what is done."""
    print(line, file=sys.stderr, flush=True)


# ----------------------------------------------------------------------- runs


@dataclass(frozen=True)
class Trial:
    """One way to train a parser, and what it is tested on.

    Attributes:
        name: row of the table.
        training: files of rows.
        tests: column of the table -> gold rows, or a folder of skills.
        options: of `genie-dp train`, without budget, seed and output.
        asked: of `genie-dp evaluate`, such as --skills and --unordered.
        is_nearest: no parser, the nearest training sentence.
        recipe: the training files with what has no option: their shares, and the network.
        most_wrong: rows that are not right, kept in the results with the rank of their program.
    """

    name: str
    training: tuple[Path, ...]
    tests: Mapping[str, Path]
    options: tuple[object, ...] = ()
    asked: tuple[object, ...] = ()
    is_nearest: bool = False
    recipe: Path | None = None
    most_wrong: int = 0

    @property
    def evaluation(self) -> tuple[object, ...]:
        """Return what decides on the results, beside the parser."""
        return (*self.asked, *(part for item in self.tests.items() for part in item))


@dataclass(frozen=True)
class Results:
    """A file with a line of JSON for each run."""

    work: Work

    @property
    def path(self) -> Path:
        """Return where it is."""
        return self.work.folder / "results.jsonl"

    def lines(self) -> list[dict[str, Any]]:
        """Return all runs; a line that was cut off by a kill is none."""
        if not self.path.exists():
            return []
        text = self.path.read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def add(self, line: Mapping[str, Any]) -> None:
        """Write a run down."""
        is_cut = self.path.exists() and not self.path.read_bytes().endswith(b"\n")
        with self.path.open("a", encoding="utf-8") as lines:
            lines.write("\n" * is_cut + json.dumps(line) + "\n")

    def run(self, trials: Sequence[Trial], budget: Sequence[str], seeds: Sequence[int]) -> None:
        """Train and test what has no line yet, all trials with the first seed before the next."""
        done = {line["key"] for line in self.lines()}
        for seed in seeds:
            for trial in trials:
                if trial.is_nearest and seed != seeds[0]:
                    continue
                key = self.key(trial, budget, seed)
                if key not in done:
                    self.add(self._line(trial, budget, seed, key))

    def parser(self, command: Sequence[object]) -> Path:
        """Return the folder of the parser that a command trains."""
        return self.work.folder / "parsers" / self.work.key(command)

    def key(self, trial: Trial, budget: Sequence[str], seed: int) -> str:
        """Return the key of a run: the same for the same data, settings, tests and seed."""
        if trial.is_nearest:
            return self.work.key(["nearest", *trial.training, *trial.evaluation])
        return self.work.key([*training(trial, budget, seed), *trial.evaluation])

    def _line(self, trial: Trial, budget: Sequence[str], seed: int, key: str) -> dict[str, Any]:
        told(f"{trial.name}, seed {seed}")
        line: dict[str, Any] = {
            "key": key, "name": trial.name, "seed": seed, "budget": list(budget),
            "training": [path.name for path in trial.training],
            "options": [*map(str, trial.options)], "code": revision(),
        }  # fmt: skip
        if trial.is_nearest:
            return {**line, "results": self._tested(trial, ["--nearest"])}
        command = training(trial, budget, seed)
        parser = self.parser(command)
        cpu = cost_file(parser)
        if not cpu.exists():
            parser.parent.mkdir(parents=True, exist_ok=True)
            seconds = genie([*filled(command, parser), "--overwrite"])
            cpu.write_text(json.dumps(seconds), encoding="utf-8")
        manifest = json.loads((parser / "manifest.json").read_text(encoding="utf-8"))
        line |= {"cpu_minutes": json.loads(cpu.read_text()) / 60, "figures": manifest["figures"]}
        return {**line, "results": self._tested(trial, ["--parser", str(parser)])}

    def _tested(self, trial: Trial, asked: Sequence[str]) -> dict[str, Any]:
        known = [word for path in trial.training for word in ("--training", str(path))]
        found = {}
        for column, gold in trial.tests.items():
            target = self.work.folder / "result.json"
            told(f"  {column}")
            options = [*asked, *map(str, trial.asked), *known]
            options += ["--most-wrong", str(trial.most_wrong), "--output", str(target)]
            genie(["evaluate", str(gold), *options])
            found[column] = json.loads(target.read_text(encoding="utf-8"))
        return found

    def table(
        self, trials: Sequence[Trial], budget: Sequence[str], seeds: Sequence[int]
    ) -> Iterator[str]:
        """Yield the lines of a Markdown table over the runs that are there."""
        lines = {line["key"]: line for line in self.lines()}
        columns = list(dict.fromkeys(column for trial in trials for column in trial.tests))
        yield f"| | {' | '.join(columns)} | rows | runs | CPU minutes |"
        yield "|---" * (len(columns) + 4) + "|"
        revisions = set()
        for trial in trials:
            keys = dict.fromkeys(self.key(trial, budget, seed) for seed in seeds)
            runs = [lines[key] for key in keys if key in lines]
            revisions |= {run["code"] for run in runs}
            if runs:
                yield row(trial.name, columns, runs)
        if len(revisions) > 1:
            yield f"\nThe runs are of several revisions: {', '.join(sorted(revisions))}."


def cost_file(parser: Path) -> Path:
    """Return where the CPU seconds of a parser's training are."""
    return parser.with_suffix(".cpu.json")


def training(trial: Trial, budget: Sequence[str], seed: int) -> list[object]:
    """Return the command that trains a parser."""
    inputs = trial.training if trial.recipe is None else ("--recipe", trial.recipe)
    return ["train", *inputs, *trial.options, *budget, "--seed", seed, "--output", OUTPUT]


def row(name: str, columns: Sequence[str], runs: Sequence[Mapping[str, Any]]) -> str:
    """Return a row of the table: mean and half range of each column, rows, runs, CPU minutes."""
    cells = []
    for column in columns:
        results = [run["results"][column] for run in runs if column in run["results"]]
        cells.append(table({"": [summary(results)]})[1:-1].strip(" |") if results else "")
    tested = " / ".join(str(result["rows"]) for result in runs[0]["results"].values())
    minutes = [run["cpu_minutes"] for run in runs if "cpu_minutes" in run]
    spent = f"{over_runs(minutes)['mean']:.1f}" if minutes else "0"
    return f"| {' | '.join([name, *cells, tested, str(len(runs)), spent])} |"


def revision() -> str:
    """Return the revision of the code, with a + where files differ from it."""
    asked = ["git", "describe", "--always", "--dirty=+", "--exclude", "*"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


# ----------------------------------------------------------------------- the command line


def options_of(doc: str, work: str) -> argparse.ArgumentParser:
    """Return the options that both scripts have."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, default=ROOT / "build" / work,
                        help=f"data, parsers and results [build/{work}]")  # fmt: skip
    budget = parser.add_mutually_exclusive_group()
    budget.add_argument("--steps", type=int, help="training of each parser [by the data]")
    budget.add_argument("--minutes", type=float, help="the same in wall time: not repeatable")
    parser.add_argument("--seeds", type=int, default=3, help="training runs of each row [3]")
    parser.add_argument("--only", default="", help="rows whose names begin so")
    parser.add_argument("--jobs", type=int, default=1, help="processes that make data [1]")
    parser.add_argument("--smoke", action="store_true", help="few rows and steps, for a minute")
    return parser


def budget_of(options: argparse.Namespace, steps: int) -> list[str]:
    """Return the budget as options of `genie-dp train`."""
    if options.smoke:
        return ["--steps", "3"]
    if options.minutes:
        return ["--minutes", str(options.minutes)]
    return ["--steps", str(options.steps or steps)]
