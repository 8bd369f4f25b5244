"""What a command costs: CPU and wall seconds, and the memory of all its processes together.

Memory is the sum of the proportional set sizes (PSS) of the process and its descendants, sampled
every 0.2 s, or less often so that looking takes no more than 2 % of the time: pages that several
processes share count once. Where the system does not tell it (other than Linux), it is the largest
resident set of a process.
"""

import os
import platform
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROC = Path("/proc")
EVERY = 0.2  # seconds between two looks at the memory, at least
# The system walks over all pages for a look: 20 ms for 400 MB, in which what is measured may wait.
SELDOM = 50  # times as long as a look takes


@dataclass(frozen=True)
class Cost:
    """What one call cost; `memory` is the peak of all processes together, in MB."""

    cpu: float
    wall: float
    memory: float


def cost_of(command: Sequence[str]) -> Cost:
    """Run a command from the project's folder and return what it cost.

    Raises:
        SystemExit: the command failed; with what it wrote to stderr.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        peak = _Peak(process.pid)
        peak.start()
        errors = process.stderr.read() if process.stderr else b""
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        peak.finish()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)}\n{errors.decode(errors='replace')}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(cpu, wall, peak.kilobytes / 1024 or usage.ru_maxrss / 1024)


class _Peak(threading.Thread):
    """Watches a process and its descendants until told to stop."""

    def __init__(self, root: int):
        super().__init__(daemon=True)
        self.root, self.kilobytes = root, 0
        self.done = threading.Event()

    def run(self) -> None:
        while not self.done.is_set():
            start = time.perf_counter()
            self.kilobytes = max(self.kilobytes, sum(map(_pss, family(self.root))))
            self.done.wait(max(EVERY, SELDOM * (time.perf_counter() - start)))

    def finish(self) -> None:
        self.done.set()
        self.join()


def family(root: int) -> list[int]:
    """Return a process and all its descendants; nothing where the system does not tell."""
    children: dict[int, list[int]] = {}
    for folder in PROC.glob("[0-9]*"):
        try:
            # pid (name) state parent ..: the name may hold spaces and brackets
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):  # it ended meanwhile
            continue
        children.setdefault(parent, []).append(int(folder.name))
    found = [root] if PROC.is_dir() else []
    for pid in found:
        found += children.get(pid, [])
    return found


def _pss(pid: int) -> int:
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:  # it ended meanwhile, or is not ours
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def median(values: Iterable[float], digits: int = 1) -> str:
    """Return the median of some figures, with their range where there are several."""
    found = sorted(values)
    middle = f"{statistics.median(found):,.{digits}f}"
    if len(found) == 1:
        return middle
    return f"{middle} ({found[0]:,.{digits}f} to {found[-1]:,.{digits}f})"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def bars(counts: dict[str, int], width: int = 50) -> str:
    """Return a histogram as text, one line a key.

    >>> print(bars({"1": 30, "2": 10}, width=6))
    1  ######  75.0 %
    2  ##      25.0 %
    """
    most, total = max(counts.values(), default=0), sum(counts.values())
    side = max(map(len, counts), default=0)
    return "\n".join(
        f"{key:>{side}}  {'#' * round(width * n / most):{width}}  {100 * n / total:.1f} %"
        for key, n in counts.items()
    )


def machine() -> str:
    """Return the system, Python and cores that figures are of."""
    return f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} cores"


def in_turn(runs: int, settings: Sequence[Any], measure: Callable[[Any], Cost]) -> list[list[Cost]]:
    """Return the costs of every setting, taken in turn: a slow minute then hits all alike."""
    found: list[list[Cost]] = [[] for _ in settings]
    for _ in range(runs):
        for costs, setting in zip(found, settings, strict=True):
            costs.append(measure(setting))
    return found
