"""Speed of training and search on rows of `genie-dp data augment`.

    genie-dp synthesize --size 50000 --output a.jsonl
    genie-dp data augment a.jsonl --output b.jsonl
    python benchmarks/training.py b.jsonl

Training: rows a CPU second of the loop, and of the same network in a bare torch loop over batches
that lie ready, in turn. Search: CPU milliseconds a sentence, after a short training. One thread;
CPU time, since machines are shared.
"""

import gc
import json
import math
import resource
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import click
import torch
from measure import machine, table

from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.models.arrays import SteppedNetwork
from genie_dp.models.constraint import Constraint
from genie_dp.models.loop import Run, TrainingBudget, TrainSettings
from genie_dp.models.search import SearchSettings, search
from genie_dp.models.seq2seq import SteppedTorch, build
from genie_dp.models.vocabulary import Pair, TokenCounts, Vocabulary
from genie_dp.parser.decode import search_settings
from genie_dp.parser.rows import RowStore
from genie_dp.parser.training import StoreBatches
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library


def pairs_of(path: Path, most: int) -> list[Pair]:
    """Return the first rows of a file."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in islice(lines, most)]
    return [Pair.from_text(row["utterance"], row["program"]) for row in rows]


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
    """Return rows a CPU second of loop and bare loop, a pair for each turn; either goes first."""
    found = []
    for turn in range(turns):
        calls = (run._step, partial(next, plain))
        costs = [0.0, 0.0]
        for place in (0, 1) if turn % 2 else (1, 0):
            costs[place] = cpu_seconds(lambda call=calls[place]: [call() for _ in range(steps)])
        found.append(tuple(steps * size / cost for cost in costs))
    return found


def training(pairs: list[Pair], vocabulary: Vocabulary, options: dict[str, Any]) -> Any:
    """Print rows a second with and without bfloat16; return a network that was trained a little."""
    size, lines = options["batch"], []
    for bf16 in (False, True):
        models = [build(options["arch"], vocabulary)[0] for _ in range(2)]
        batches = StoreBatches([RowStore.from_pairs(pairs)], vocabulary, size=size)
        ready = [batches.take(number) for number in range(options["steps"] * options["turns"])]
        run = Run(models[0], batches, TrainSettings(TrainingBudget(steps=100_000), bf16=bf16))
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
    Run(
        models[0],
        batches,
        TrainSettings(TrainingBudget(steps=options["warm"]), bf16=True, rate=1e-2),
    ).train()
    return models[0]


def searching(
    network: SteppedNetwork, constraint: Constraint, sentences: list[tuple[str, ...]]
) -> None:
    """Print CPU milliseconds a sentence, free and constrained, and the ratio of those a token.

    Once for all sentences, and once for those of which both find the same program: where a grammar
    leads to a longer one, the steps more are no cost of masks.
    """
    lines = []
    for beam in (1, 4):
        settings = search_settings(beam=beam)
        for size in (1, 32):
            same = [s for s in sentences if _is_same(network, constraint, s, settings)]
            every = compared(network, constraint, sentences, size, settings)
            alike = compared(network, constraint, same, size, settings)
            cells = [f"{median(costs):.1f} / {late(costs):.1f}" for costs, _ in every]
            name = "greedy" if beam == 1 else f"beam {beam}"
            shares = f"{ratio(alike, size):.2f} ({len(same)} of {len(sentences)})"
            lines.append([name, str(size), *cells, f"{ratio(every, size):.2f}", shares])
    head = ["search", "batch", "free: median / 95 %", "constrained", "ratio, a token", "alike"]
    click.echo(table(head, lines))


def _is_same(
    network: SteppedNetwork,
    constraint: Constraint,
    sentence: tuple[str, ...],
    settings: SearchSettings,
) -> bool:
    found = [
        search(network, [sentence], constraint.vocabulary, constraint=bound, settings=settings)[0]
        for bound in (None, constraint)
    ]
    return found[0][0].tokens == found[1][0].tokens


def compared(
    network: SteppedNetwork,
    constraint: Constraint,
    sentences: list[tuple[str, ...]],
    size: int,
    settings: SearchSettings,
) -> list[tuple[list[float], int]]:
    """Return milliseconds and tokens of free and constrained search, in turn, in four passes.

    A pass before is not counted: in it a grammar's places are made.
    """
    both: list[tuple[list[float], int]] = [([], 0), ([], 0)]
    for turn in range(5):
        for start in range(0, len(sentences), size):
            group = sentences[start : start + size]
            for i, bound in enumerate((None, constraint)):
                costs, tokens = timed(network, constraint, bound, group, size, settings)
                if turn:
                    both[i] = both[i][0] + costs, both[i][1] + tokens
    return both


def ratio(both: list[tuple[list[float], int]], size: int) -> float:
    """Return what a token costs constrained, compared with free; NaN without sentences."""
    if not both[0][1]:
        return math.nan
    free, tied = (sum(costs) * size / tokens for costs, tokens in both)
    return tied / free


def timed(
    network: SteppedNetwork,
    known: Constraint,
    constraint: Constraint | None,
    sentences: list[tuple[str, ...]],
    size: int,
    settings: SearchSettings,
) -> tuple[list[float], int]:
    """Return CPU milliseconds a sentence of each batch, and the tokens of the best programs."""
    costs, tokens = [], 0
    for start in range(0, len(sentences), size):
        group, found = sentences[start : start + size], []
        call = partial(search, network, group, known.vocabulary)
        seconds = cpu_seconds(
            lambda c=call, f=found: f.extend(c(constraint=constraint, settings=settings))
        )
        costs.append(1000 * seconds / len(group))
        tokens += sum(len(best.tokens) + 1 for best, *_ in found)
    return costs, tokens


def late(costs: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(costs)[int(0.95 * (len(costs) - 1))]


@click.command()
@click.argument("rows", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--arch", default="rnn", show_default=True)
@click.option("--batch", default=64, show_default=True)
@click.option("--steps", default=10, show_default=True, help="Steps of a turn.")
@click.option("--turns", default=10, show_default=True)
@click.option("--warm", default=500, show_default=True, help="Steps before searches are measured.")
@click.option("--sentences", default=128, show_default=True)
def main(rows: Path, **options: Any) -> None:
    """Print tables of training and search speed for a file of rows."""
    torch.set_num_threads(1)
    pairs = pairs_of(rows, 20_000)
    grammar = ThingTalkGrammar(load_library([data_folder("thingpedia")]))
    store, counts = RowStore.from_pairs(pairs), TokenCounts()
    counts.add(store.names, store.numbered())
    vocabulary = counts.vocabulary(extra=grammar.vocabulary)
    click.echo(machine())
    click.echo(f"{len(pairs):,} rows, {vocabulary.generated} tokens to generate")
    network = training(pairs, vocabulary, options)
    sentences = [pair.sentence for pair in pairs[-options["sentences"] :]]
    gc.collect()
    gc.freeze()  # as parse and serve do: else 20,000 rows are looked at again and again
    searching(SteppedTorch(network), Constraint(grammar, vocabulary), sentences)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    click.echo(f"peak memory of the process: {peak:.0f} MB")


if __name__ == "__main__":
    main()
