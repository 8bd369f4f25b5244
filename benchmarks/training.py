"""Speed of training and search on rows of `genie-dp augment`.

    genie-dp synthesize --size 50000 --output a.jsonl && genie-dp augment a.jsonl --output b.jsonl
    python benchmarks/training.py b.jsonl

Training: rows a CPU second of the loop, and of the same network in a bare torch loop over batches
that lie ready, in turn. Search: CPU milliseconds a sentence, after a short training. One thread;
CPU time, since machines are shared.
"""

import json
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import click
import torch
from measure import machine, table

from genie_dp.learn.data import PairBatches
from genie_dp.learn.loop import Run, TrainSettings
from genie_dp.learn.mixture import Part
from genie_dp.learn.pairs import Pair
from genie_dp.learn.schedule import Budget
from genie_dp.learn.search import SearchSettings, search
from genie_dp.learn.seq2seq import build
from genie_dp.learn.vocabulary import Vocabulary, build_vocabulary


def pairs_of(path: Path, most: int) -> list[Pair]:
    """Return the first rows of a file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, most)]
    return [Pair.of(row["utterance"], row["program"]) for row in rows]


def bare(model: Any, batches: Sequence[Any], bf16: bool) -> Iterator[None]:
    """Train with nothing but torch, a step for each batch, again and again."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.98), fused=True)
    model.train()
    while True:
        for batch, tokens in batches:
            with torch.autocast("cpu", torch.bfloat16) if bf16 else nullcontext():
                losses = model.loss(batch)
            (losses.sum() / tokens).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            yield


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def rates(run: Run, plain: Iterator[None], *, turns: int, steps: int, size: int) -> list[Any]:
    """Return rows a CPU second of loop and bare loop, a pair for each turn."""
    found = []
    for _ in range(turns):
        ours = cpu_seconds(lambda: [run._step() for _ in range(steps)])
        theirs = cpu_seconds(lambda: [next(plain) for _ in range(steps)])
        found.append((steps * size / ours, steps * size / theirs))
    return found


def training(pairs: list[Pair], vocabulary: Vocabulary, options: dict[str, Any]) -> Any:
    """Print rows a second with and without bfloat16; return a network that was trained a little."""
    size, lines = options["batch"], []
    for bf16 in (False, True):
        models = [build(options["arch"], vocabulary)[0] for _ in range(2)]
        batches = PairBatches([Part("rows", pairs)], vocabulary, size=size)
        ready = [batches.take(number) for number in range(options["steps"])]
        run = Run(models[0], batches, TrainSettings(Budget(steps=100_000), bf16=bf16))
        models[0].train()
        both = rates(
            run,
            bare(models[1], ready, bf16),
            turns=options["turns"],
            steps=options["steps"],
            size=size,
        )
        ours, theirs, ratios = (
            sorted(x) for x in zip(*((a, b, a / b) for a, b in both), strict=True)
        )
        cells = [f"{median(x):,.0f} ({x[0]:,.0f} to {x[-1]:,.0f})" for x in (ours, theirs)]
        ratio = f"{median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f})"
        lines.append(["bf16" if bf16 else "float32", *cells, ratio])
    click.echo(table(["matrices", "loop, rows / CPU s", "bare torch", "ratio"], lines))
    Run(models[0], batches, TrainSettings(Budget(steps=options["warm"]), bf16=True)).train()
    return models[0]


def searching(model: Any, vocabulary: Vocabulary, sentences: list[tuple[str, ...]]) -> None:
    """Print CPU milliseconds a sentence for batches of 1 and 32, greedy and with a beam of 4."""
    lines = []
    for beam in (1, 4):
        for size in (1, 32):
            settings = SearchSettings(beam=beam, longest=60)
            groups = [sentences[i : i + size] for i in range(0, len(sentences), size)]
            costs = [
                1000
                * cpu_seconds(lambda g=g, s=settings: search(model, g, vocabulary, settings=s))
                / len(g)
                for g in groups
            ]
            costs.sort()
            late = costs[int(0.95 * (len(costs) - 1))]
            lines.append([f"{'beam 4' if beam > 1 else 'greedy'}", size, median(costs), late])
    cells = [[name, str(size), f"{m:.1f}", f"{late:.1f}"] for name, size, m, late in lines]
    click.echo(table(["search", "batch", "median ms", "95th percentile"], cells))


@click.command()
@click.argument("rows", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--arch", default="rnn", show_default=True)
@click.option("--batch", default=64, show_default=True)
@click.option("--steps", default=20, show_default=True, help="Steps of a turn.")
@click.option("--turns", default=5, show_default=True)
@click.option("--warm", default=200, show_default=True, help="Steps before searches are measured.")
@click.option("--sentences", default=128, show_default=True)
def main(rows: Path, **options: Any) -> None:
    """Print tables of training and search speed for a file of rows."""
    torch.set_num_threads(1)
    pairs = pairs_of(rows, 20_000)
    vocabulary = build_vocabulary(pairs)
    click.echo(machine())
    click.echo(f"{len(pairs):,} rows, {vocabulary.generated} tokens to generate")
    model = training(pairs, vocabulary, options)
    searching(model, vocabulary, [pair.sentence for pair in pairs[-options["sentences"] :]])
    click.echo(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
