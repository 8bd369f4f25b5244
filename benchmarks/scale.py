"""Synthesis at scale: against a plain sampler and Chatette, with processes, skills and rows.

    python benchmarks/scale.py --size 1800000 --real ../shared/data/thingpedia_tt
    python benchmarks/scale.py --sections compare --chatette ~/chatette/bin/python

Prints Markdown for docs/research/benchmarks.md. Everything counts: start of Python, skills and
templates, pools, rows as whole JSON records, writing. Each call is a process of its own; memory
is that of all its processes together. Settings of one table run in turn, --runs times; figures
are medians.

Sections:
    compare     the engine; string_sampler.py on the same skills and templates; Chatette on the
                grammar of chatette_grammar.py (100,000 rows at most), with the Python of a virtual
                environment in which `pip install chatette==1.6.3` was run; left out with a word
                without --chatette
    jobs        one process and two
    skills      15 skills (the first by name), all shipped ones, and those with all real ones; real
                skills that have the name of a shipped one are copied and renamed real.NAME
    rows        100,000, 400,000 and 1,600,000 rows, or others with --rows
    diversity   what the report says of --size rows, and whether any sentence comes twice

Rows are written to the system's folder for temporary files (TMPDIR): 1,800,000 take 3 GB.
"""

import hashlib
import json
import re
import shutil
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import chatette_grammar
import click
from measure import ROOT, Cost, bars, cost_of, in_turn, machine, median, table

SHIPPED = ROOT / "thingpedia"
FEW = 15  # skills of the smallest set
COMMON = "common"  # entity types and value lists that every skill uses; no skill itself
SMALL = 1_000  # rows of a run that shows what start-up costs
# rows per CPU second and MB of the original toolkit at depth 5, on another day with the real skills
ORIGINAL = (237, 1_954)


@dataclass(frozen=True)
class Bench:
    """What all sections share: options, and a folder that is removed in the end."""

    folder: Path
    size: int
    depth: int
    runs: int
    pool_size: int | None
    real: Path | None
    chatette: Path | None
    rows: tuple[int, ...]

    def ours(
        self, size: int, *, jobs: int = 1, skills: Sequence[Path] = (), report: bool = False
    ) -> Cost:
        """Return the cost of one run of the engine; the rows are removed unless reported."""
        output = self.folder / "rows.jsonl"
        command = [
            sys.executable, str(ROOT / "cli.py"), "synthesize", "--size", str(size),
            "--max-depth", str(self.depth), "--jobs", str(jobs), "--overwrite", "--skip-broken",
            "--output", str(output),
        ]  # fmt: skip
        command += ["--pool-size", str(self.pool_size)] if self.pool_size else []
        command += [part for folder in skills for part in ("--skills", str(folder))]
        if report:
            return cost_of([*command, "--report", str(self.folder / "report")])
        cost = cost_of(command)
        output.unlink()
        return cost

    def sampler(self, size: int) -> Cost:
        """Return the cost of the plain sampler."""
        output = self.folder / "sentences.txt"
        return cost_of(
            [
                sys.executable, str(ROOT / "benchmarks" / "string_sampler.py"), "--size", str(size),
                "--max-depth", str(self.depth), "--output", str(output),
            ]
        )  # fmt: skip

    def chatette_run(self, size: int) -> Cost:
        """Return the cost of Chatette."""
        output = self.folder / "chatette"
        shutil.rmtree(output, ignore_errors=True)
        grammar = chatette_grammar.write(self.folder, size)
        python = str(self.chatette)
        return cost_of(
            [
                python, "-m", "chatette", "-f", "-s", "1", "-a", "jsonl", "-o", str(output),
                str(grammar),
            ]
        )  # fmt: skip


# --------------------------------------------------------------------------------- sections


def compare(bench: Bench) -> Iterator[str]:
    """Yield the table of the engine beside tools that draw words only."""
    tools: list[tuple[str, int, Callable[[int], Cost], Callable[[], Iterable[Path]]]] = [
        ("genie_dp, one process", bench.size, bench.ours, tuple),
        ("plain sampler, words only", bench.size, bench.sampler,
         lambda: [bench.folder / "sentences.txt"]),
    ]  # fmt: skip
    if bench.chatette:
        name = f"Chatette, {chatette_grammar.productions()} productions"
        made = bench.folder / "chatette" / "train"
        tools.append((name, min(bench.size, 100_000), bench.chatette_run, lambda: made.glob("*")))
    settings = [(call, n) for _, size, call, _ in tools for n in (SMALL, size)]
    found = in_turn(bench.runs, settings, lambda setting: setting[0](setting[1]))
    lines, speeds, each = [], [], []
    for (name, size, _, files), start, whole in zip(tools, found[::2], found[1::2], strict=True):
        speeds.append(_speed(size, whole))
        each.append(_further(size, start, whole))
        share = _distinct(*files()) / size if files() else 1.0  # the engine's: see diversity
        lines.append(
            [name, f"{size:,}", f"{100 * share:.1f} %", *_figures(size, whole),
             f"{speeds[0] / speeds[-1]:.2f} times", f"{each[-1]:.1f}",
             f"{each[-1] / each[0]:.2f} of ours"]
        )  # fmt: skip
    yield table(
        ["tool", "rows", "distinct", "rows / CPU s", "CPU s", "wall s", "MB, all", "ours is",
         "us a further row", "it takes"],
        lines,
    )  # fmt: skip
    yield (
        f"The original toolkit made {ORIGINAL[0]} rows a CPU second in {ORIGINAL[1]:,} MB, on "
        f"another day, from the real skills: ours is {speeds[0] / ORIGINAL[0]:,.0f} times as fast."
    )
    if not bench.chatette:
        yield "Chatette was left out: no --chatette."


def jobs(bench: Bench) -> Iterator[str]:
    """Yield the table of one process and two."""
    numbers = (1, 2)
    found = in_turn(bench.runs, numbers, lambda n: bench.ours(bench.size, jobs=n))
    walls = [statistics.median(c.wall for c in costs) for costs in found]
    yield table(
        ["processes", "rows", "rows / CPU s", "CPU s", "wall s", "MB, all", "wall, one to this"],
        [
            [str(n), f"{bench.size:,}", *_figures(bench.size, costs), f"{walls[0] / wall:.2f}"]
            for n, costs, wall in zip(numbers, found, walls, strict=True)
        ],
    )


def skills(bench: Bench) -> Iterator[str]:
    """Yield the table of cost by the number of skills."""
    sets = list(skill_sets(bench))
    settings = [(size, folders) for folders in sets for size in (SMALL, bench.size)]
    found = in_turn(bench.runs, settings, lambda s: bench.ours(s[0], skills=s[1]))
    lines = []
    for folders, start, whole in zip(sets, found[::2], found[1::2], strict=True):
        loaded, functions = _counts(folders)
        first = statistics.median(c.cpu for c in start)
        lines.append(
            [f"{loaded:,}", f"{functions:,}", f"{bench.size:,}", *_figures(bench.size, whole),
             f"{first:.1f}", f"{1000 * first / functions:.0f}",
             f"{_further(bench.size, start, whole):.1f}"]
        )  # fmt: skip
    yield table(
        ["skills", "functions", "rows", "rows / CPU s", "CPU s", "wall s", "MB, all",
         f"CPU s for {SMALL:,} rows", "of it ms a function", "us a further row"],
        lines,
    )  # fmt: skip
    if not bench.real:
        yield "Real skills were left out: no --real."


def rows(bench: Bench) -> Iterator[str]:
    """Yield the table of cost by the number of rows."""
    found = in_turn(bench.runs, bench.rows, bench.ours)
    lines, before = [], (0, 0.0)
    for size, costs in zip(bench.rows, found, strict=True):
        cpu = statistics.median(c.cpu for c in costs)
        each = 1e6 * (cpu - before[1]) / (size - before[0])
        lines.append([f"{size:,}", *_figures(size, costs), f"{each:.1f}"])
        before = size, cpu
    head = ["rows", "rows / CPU s", "CPU s", "wall s", "MB, all", "us a row more than above"]
    yield table(head, lines)


def diversity(bench: Bench) -> Iterator[str]:
    """Yield what the report says of a run."""
    cost = bench.ours(bench.size, jobs=2, report=True)
    report = json.loads((bench.folder / "report" / "report.json").read_text(encoding="utf-8"))
    output = bench.folder / "rows.jsonl"
    utterances, programs, made = _read_back(output)
    output.unlink()
    totals, functions = report["totals"], report["functions"]
    never = [t["id"] for t in report["templates"] if not t["rows"]]
    yield table(
        ["what", "figure"],
        [
            ["rows", f"{made:,}"],
            ["sentences that come twice", f"{made - utterances:,}"],
            ["distinct programs", f"{programs:,}"],
            ["functions seen, of", f"{len(functions['seen'])} of {functions['taking_part']}"],
            ["templates seen, of", f"{len(report['templates']) - len(never):,} of "
                                   f"{len(report['templates']):,}"],
            ["pairs of functions seen, of", f"{report['pairs']['seen']:,} of "
                                            f"{report['pairs']['possible']:,}"],
            ["share of the ten most used functions", f"{100 * functions['top_ten_share']:.1f} %"],
            ["repeated draws dropped", f"{totals['repeated']:,}"],
            ["ambiguous draws dropped", f"{totals['ambiguous']:,}"],
            ["two processes with the report", f"{cost.wall:,.0f} s wall, {cost.memory:,.0f} MB"],
        ],
    )  # fmt: skip
    if never:
        yield f"Templates never seen: {', '.join(never[:20])}{' ..' if len(never) > 20 else ''}."
    for name, counts in (
        ("Depth", report["depth"]),
        ("Words", _by_step(report["length"], 3)),
        ("Functions in a row", report["functions_per_row"]),
    ):
        drawn = bars(dict(sorted(counts.items(), key=lambda item: int(item[0].partition("-")[0]))))
        yield f"{name}:\n\n" + "\n".join(f"    {line}" for line in drawn.splitlines())


SECTIONS: dict[str, Callable[[Bench], Iterator[str]]] = {
    "compare": compare, "jobs": jobs, "skills": skills, "rows": rows, "diversity": diversity,
}  # fmt: skip


# ----------------------------------------------------------------------------------- skills


def skill_sets(bench: Bench) -> Iterator[list[Path]]:
    """Yield the folders of few skills, of all shipped ones, and of these with all real ones."""
    shipped = sorted(p for p in SHIPPED.iterdir() if p.is_dir() and p.name != COMMON)
    common = SHIPPED / COMMON
    yield [common, *shipped[:FEW]]
    yield [common, *shipped]
    if bench.real:
        taken = {p.name for p in shipped}
        real = [
            renamed(p, bench.folder / "real") if p.name in taken else p
            for p in sorted(bench.real.iterdir())
            if (p / "manifest.tt").is_file()
        ]
        yield [common, *shipped, *real]


def renamed(skill: Path, folder: Path) -> Path:
    """Return a copy of a real skill whose class is real.NAME, so that two may stand together."""
    target = folder / f"real.{skill.name}"
    if not target.exists():
        shutil.copytree(skill, target)
        name = re.compile(rf"@{re.escape(skill.name)}(?![\w-])(?!\.\w+\.)")
        for path in target.glob("*.tt"):
            text = path.read_text(encoding="utf-8")
            path.write_text(name.sub(f"@real.{skill.name}", text), encoding="utf-8")
    return target


def _counts(folders: Sequence[Path]) -> tuple[int, int]:
    """Return how many skills and functions of the folders can be read."""
    sys.path.insert(0, str(ROOT))
    from genie_dp.skills.load import load_library

    library = load_library(list(folders), skip_broken=True)
    return sum(skill.path.name != COMMON for skill in library.skills), len(library.functions())


# ---------------------------------------------------------------------------------- figures


def _speed(size: int, costs: Sequence[Cost]) -> float:
    return statistics.median(size / cost.cpu for cost in costs)


def _further(size: int, start: Sequence[Cost], whole: Sequence[Cost]) -> float:
    """Return the CPU microseconds of a row after the first SMALL."""
    cpu = statistics.median(c.cpu for c in whole) - statistics.median(c.cpu for c in start)
    return 1e6 * cpu / (size - SMALL)


def _figures(size: int, costs: Sequence[Cost]) -> list[str]:
    return [
        median([size / cost.cpu for cost in costs], 0),
        median([cost.cpu for cost in costs]),
        median([cost.wall for cost in costs]),
        median([cost.memory for cost in costs], 0),
    ]


def _key(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return hashlib.blake2b(data, digest_size=8).digest()


def _distinct(*files: Path) -> int:
    found: set[bytes] = set()
    for path in files:
        with path.open("rb") as lines:
            found.update(_key(line) for line in lines)
    return len(found)


def _read_back(path: Path) -> tuple[int, int, int]:
    """Return how many utterances, programs and rows a file holds."""
    utterances: set[bytes] = set()
    programs: set[bytes] = set()
    made = 0
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            utterances.add(_key(row["utterance"]))
            programs.add(_key(row["program"]))
            made += 1
    return len(utterances), len(programs), made


def _by_step(counts: dict[str, int], step: int) -> dict[str, int]:
    """Return counts of several neighbouring lengths together, as "7-9"."""
    found: Counter[int] = Counter()
    for length, count in counts.items():
        found[(int(length) - 1) // step] += count
    return {f"{n * step + 1}-{n * step + step}": found[n] for n in sorted(found)}


# ----------------------------------------------------------------------------------- command


def _sections(context: Any, parameter: Any, value: str) -> list[str]:
    names = value.split(",")
    unknown = [name for name in names if name not in SECTIONS]
    if unknown:
        raise click.BadParameter(f"expected some of {', '.join(SECTIONS)}, got {unknown[0]!r}")
    return names


@click.command()
@click.option("--sections", default=",".join(SECTIONS), callback=_sections, show_default=True)
@click.option("--size", default=100_000, type=click.IntRange(2 * SMALL), show_default=True)
@click.option("--max-depth", default=5, type=click.IntRange(1), show_default=True)
@click.option("--rows", default="100000,400000,1600000", show_default=True)
@click.option("--runs", default=1, type=click.IntRange(1), show_default=True)
@click.option("--pool-size", type=int, help="As for synthesize.")
@click.option(
    "--real",
    type=click.Path(exists=True, file_okay=False, path_type=Path, resolve_path=True),
    help="Folder of real skills (manifest.tt, dataset.tt).",
)
@click.option(
    "--chatette",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Python of a virtual environment that has Chatette.",
)
def main(**options: Any) -> None:
    """Print the tables of docs/research/benchmarks.md."""
    click.echo(f"{machine()}; max depth {options['max_depth']}, {options['runs']} runs.")
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(
            Path(folder), options["size"], options["max_depth"], options["runs"],
            options["pool_size"], options["real"], options["chatette"] and
            options["chatette"].absolute(), tuple(map(int, options["rows"].split(","))),
        )  # fmt: skip
        for name in options["sections"]:
            click.echo(f"\n### {name}\n")
            click.echo("\n\n".join(SECTIONS[name](bench)))


if __name__ == "__main__":
    main()
