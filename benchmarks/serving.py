"""Requests a second and latency of `genie-dp serve`, for different numbers of clients.

    python benchmarks/serving.py parser/
    python benchmarks/serving.py --delay 20 --each 2

The first serves a parser's folder, and asks it the sentences of the shipped skills' eval.tsv; the
second an invented parser that takes 20 milliseconds for a batch and 2 more for each sentence in it,
so that what the server itself costs is seen. Each number of clients is measured with batches and
without. A client sends the next sentence when it has the answer to the last one.
"""

import argparse
import csv
import http.client
import itertools
import json
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from genie_dp.cli.serve import command
from genie_dp.languages.library import Signature
from genie_dp.parser.answers import Answer, Reply
from genie_dp.recipe import settings_of
from genie_dp.resources import data_folder
from genie_dp.serve.parse_server import ParseServerConfig, serve_parser

ROOT = Path(__file__).resolve().parent.parent
CHILD = "import sys; from benchmarks.serving import invented; invented(sys.argv[1:])"


@dataclass(frozen=True)
class FixedParser:
    """Takes its time, in seconds for a batch and for each sentence, and answers the same."""

    delay: float
    each: float

    def parse(
        self,
        sentences: Sequence[str],
        *,
        count: int = 1,
        context: Reply | None = None,
        names: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Reply]:
        """Return one program for every sentence."""
        del count, context, names
        time.sleep(self.delay + self.each * len(sentences))
        answer = Answer("now => notify", "now => notify", "now => notify", 0.9)
        return [Reply(s, tuple(s.split()), (answer,)) for s in sentences]

    def schema(self) -> dict[str, Any]:
        """Return a schema that anything fits."""
        return {}

    def functions(self) -> Sequence[Signature]:
        """Return none."""
        return ()


@dataclass(frozen=True)
class Load:
    """What some clients got: seconds of each answer, and of all together."""

    times: list[float]
    wall: float
    batch: float

    def row(self, clients: int, size: int) -> str:
        """Return a row of the table."""
        times = sorted(1000 * t for t in self.times)
        high = times[min(len(times) - 1, int(0.95 * len(times)))]
        return (
            f"| {clients} | {size} | {len(times):,} | {len(times) / self.wall:.1f} | "
            f"{statistics.median(times):.1f} | {high:.1f} | {self.batch:.1f} |"
        )


def invented(arguments: Sequence[str]) -> None:
    """Serve the invented parser; arguments: seconds for a batch, for a sentence, and options."""
    delay, each, *rest = arguments
    config = config_of([str(ROOT), *rest])
    parser = FixedParser(float(delay), float(each))
    serve_parser(
        lambda: (parser, None), "invented", config, tell=lambda x: print(x, file=sys.stderr)
    )


def config_of(arguments: Sequence[str]) -> ParseServerConfig:
    """Return the settings of the server that the command's arguments give."""
    options = command.make_context("serve", list(arguments)).params
    settings = {name: options[name] for name in settings_of(ParseServerConfig)}
    return ParseServerConfig(**{n: v for n, v in settings.items() if v not in (None, ())})


def started(arguments: argparse.Namespace, size: int) -> tuple[subprocess.Popen[str], str]:
    """Return a server with batches of a size, and where it is."""
    options = ["--port", "0", "--batch-size", str(size), "--wait-ms", str(arguments.wait_ms)]
    if arguments.folder is None:
        times = [str(arguments.delay / 1000), str(arguments.each / 1000)]
        call = [sys.executable, "-c", CHILD, *times, *options]
    else:
        call = [sys.executable, str(ROOT / "cli.py"), "serve", str(arguments.folder), *options]
    process = subprocess.Popen(call, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    said = []
    for line in process.stderr or ():
        said.append(line)
        if line.startswith("open "):
            return process, urlsplit(line.split()[1]).netloc
    raise SystemExit("".join(said))


def measured(place: str, clients: int, seconds: float, sentences: Sequence[str]) -> Load:
    """Return what clients get that ask for some seconds, each over one connection."""
    times: list[list[float]] = [[] for _ in range(clients)]
    end = time.perf_counter() + seconds

    def ask(number: int) -> None:
        connection = http.client.HTTPConnection(place, timeout=60)
        own = itertools.islice(itertools.cycle(sentences), number * 7, None)
        while time.perf_counter() < end:
            times[number].append(_ask(connection, next(own)))
        connection.close()

    before, start = _counts(place), time.perf_counter()
    threads = [threading.Thread(target=ask, args=(n,)) for n in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wall, after = time.perf_counter() - start, _counts(place)
    batches = after["batches"] - before["batches"]
    parsed = after["sentences"] - before["sentences"]
    return Load([t for own in times for t in own], wall, parsed / max(1, batches))


def _ask(connection: http.client.HTTPConnection, sentence: str) -> float:
    body = json.dumps({"sentence": sentence})
    start = time.perf_counter()
    connection.request("POST", "/parse", body, {"Content-Type": "application/json"})
    answer = connection.getresponse()
    content = answer.read()
    took = time.perf_counter() - start
    if answer.status != 200:
        raise SystemExit(f"{answer.status}: {content!r}")
    return took


def _counts(place: str) -> dict[str, int]:
    connection = http.client.HTTPConnection(place, timeout=60)
    connection.request("GET", "/health")
    counts: dict[str, int] = json.loads(connection.getresponse().read())["counts"]
    connection.close()
    return counts


def shipped_sentences() -> Iterator[str]:
    """Yield the sentences that people might type to the shipped skills."""
    for path in sorted(data_folder("thingpedia").glob("*/eval.tsv")):
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            yield from (row["utterance"] for row in rows)


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, help="a parser; an invented one without")
    parser.add_argument("--delay", type=float, default=20, help="milliseconds for a batch")
    parser.add_argument("--each", type=float, default=2, help="milliseconds for a sentence more")
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1, 16], help="of batches")
    parser.add_argument("--wait-ms", type=float, default=5)
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    arguments = parser.parse_args()
    sentences = list(shipped_sentences())
    print("| clients | batch size | answers | answers / s | median ms | 95th ms | in a batch |")
    print("|---|---|---|---|---|---|---|")
    for size in arguments.sizes:
        process, place = started(arguments, size)
        try:
            measured(place, 1, 1.0, sentences)  # warm
            for clients in arguments.clients:
                found = measured(place, clients, arguments.seconds, sentences)
                print(found.row(clients, size), flush=True)
        finally:
            process.terminate()
            process.wait(timeout=30)


if __name__ == "__main__":
    main()
