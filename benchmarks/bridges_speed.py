"""How fast imports become rows: servers of tools, and sentence templates of Home Assistant.

Run as `python benchmarks/bridges.py speed`. Each line is a process of its own, on one core: CPU
seconds of its steps after Python's start, and the largest resident set. `servers` imports all
servers one after the other, checks each with the checks of `genie-dp check`, and synthesizes rows.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import genie_dp as gd
from genie_dp.augment.values import without_listed
from genie_dp.importers import project
from genie_dp.importers.source import ImportSource
from genie_dp.languages import get_language
from genie_dp.synthesis.trials import misfits
from genie_dp.templates.run import run as check

T = TypeVar("T")
ASSISTANT = {  # name of a line -> source in shared/data/home_assistant, and its language
    "lean-en": ("lean/en.json", "en"), "lean-de": ("lean/de.json", "de"),
    "whole-en": ("templates", "en"), "whole-de": ("templates", "de"),
}  # fmt: skip


def servers(data: Path, size: int) -> str:
    """Return what the tools of all servers cost, from their descriptions to rows."""
    lines = (data / "tools" / "livemcp.servers.jsonl").read_text(encoding="utf-8").splitlines()
    seconds: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        for number, line in enumerate(lines):
            server = json.loads(line)
            counts["given"] += len(server["tools"])
            path = Path(place) / f"{number}.json"
            path.write_text(json.dumps({"tools": server["tools"]}), encoding="utf-8")
            folder = Path(place) / str(number)
            source = ImportSource(str(path), skip_broken=True)
            result = timed(seconds, "import", lambda s=source, f=folder: project.run(s, f))
            counts.update(result.imported.counts)
            skills, grammar = [folder / "tools.json"], [folder / "main.genie"]
            checked = timed(
                seconds, "check",
                lambda s=skills, g=grammar: check(
                    get_language("calls"), s, g, trial=misfits, lists=without_listed
                ),
            )  # fmt: skip
            counts["mistakes"] += len(checked.mistakes)
            counts["rows"] += timed(
                seconds, "synthesis",
                lambda s=skills, g=grammar: sum(1 for _ in pairs(s, g, size, max_depth=3)),
            )  # fmt: skip
    spent = ", ".join(f"{step} {taken:.1f}" for step, taken in seconds.items())
    counts["servers"] = len(lines)
    return (
        f"{dict(counts)}; CPU seconds: {spent}, in all {sum(seconds.values()):.1f}; "
        f"{counts['rows'] / seconds['synthesis']:,.0f} rows a second"
    )


def assistant(data: Path, name: str, size: int) -> str:
    """Return what rows of Home Assistant's templates cost."""
    given, locale = ASSISTANT[name]
    seconds: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / name
        source = ImportSource(str(data / "home_assistant" / given), locale)
        timed(seconds, "import", lambda: project.run(source, folder))
        rows = iter(pairs([folder / "tools.json"], [folder / "main.genie"], size, max_depth=4))
        timed(seconds, "first row", lambda: next(rows))
        count = timed(seconds, "all others", lambda: sum(1 for _ in rows))
    spent = ", ".join(f"{step} {taken:.1f}" for step, taken in seconds.items())
    return (
        f"{count + 1:,} rows; CPU seconds: {spent}; "
        f"{count / seconds['all others']:,.0f} rows a second after the first"
    )


def pairs(skills: list[Path], grammar: list[Path], size: int, *, max_depth: int) -> gd.Rows:
    """Return synthesized rows, which are made as they are asked for."""
    library = gd.load_library(skills[0])
    inputs = gd.load_grammar(grammar[0], library)
    return gd.synthesize(library, inputs, size=size, max_depth=max_depth, seed=1)


def timed(seconds: Counter[str], step: str, call: Callable[[], T]) -> T:
    """Return what a call returns, and add what it cost."""
    start = time.process_time()
    result = call()
    seconds[step] += time.process_time() - start
    return result


def speed(arguments: argparse.Namespace) -> None:
    """Print what each library costs, each in a process of its own."""
    data = Path(arguments.data)
    if not arguments.only:
        for name in ("servers", *ASSISTANT):
            command = [sys.executable, *sys.argv, "--only", name]
            subprocess.run(command, check=True)
        return
    [name] = arguments.only
    is_assistant = name in ASSISTANT
    said = assistant(data, name, arguments.size) if is_assistant else servers(data, arguments.few)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name}: {said}; {memory} MB", flush=True)
