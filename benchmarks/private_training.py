"""Time and memory of one step with differential privacy, by engine; quality by learning rate.

    python benchmarks/private_training.py
    python benchmarks/private_training.py --rates 0.002,0.005,0.01,0.02,0.05

The same model everywhere (own decoder, 256 wide, 4 layers, 4,000 words, untied: 5.2M weights),
AdamW, 64 rows of 64 tokens, one thread. Each mode is a fresh process, the modes come in turn, and a
ratio is of two processes of the same turn; CPU time, since machines are shared. Memory is the
largest resident set of the process, libraries included.

With --rates: nats a word of rows that were held out, programs included where the kind has them,
after `genie-dp private train` at epsilon 8 with each learning rate. Private rows are synthesized,
or, with --texts, the sentences of other files, such as ../shared/data/topv2/timer.train.jsonl.gz.
"""

import json
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import click
from measure import machine, table

PLAIN = "non-private"
MODES = (PLAIN, "vmap", "loop")
ROWS, TOKENS, WORDS = 64, 64, 4000
# Rows by which learning rates are compared.
HELD = 500


def model_and_rows() -> tuple[Any, list[Any]]:
    """Return the decoder and a batch of rows of full length."""
    import torch

    from genie_dp.models.device import keep_memory
    from genie_dp.private.generators.models import DecoderSettings, PreLNDecoder
    from genie_dp.private.generators.stages import EncodedRow

    keep_memory()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = PreLNDecoder(WORDS, DecoderSettings(256, 4, 4, longest=TOKENS)).train()
    words = torch.randint(4, WORDS, (ROWS, TOKENS - 1)).tolist()
    return model, [EncodedRow((2, *row, 3)) for row in words]


def plain_step() -> Callable[[], None]:
    """Return a step as in any training."""
    import torch

    from genie_dp.private.generators.models import collate

    model, rows = model_and_rows()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def step() -> None:
        model.loss(collate(rows)).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def private_step(engine: Any, chunk: int) -> Callable[[], None]:
    """Return a step with clipping, noise of the operating system's generator, and AdamW."""
    from genie_dp.private.ledger.guard import Units
    from genie_dp.private.training.run import PrivateRun
    from genie_dp.private.training.settings import DPSettings
    from genie_dp.records import Spent

    model, rows = model_and_rows()
    settings = DPSettings(1.0, rate=0.01, steps=1000, batch=ROWS, engine=engine, chunk=chunk)
    run = PrivateRun(model, Units(()), settings)
    run.pay(lambda _: Spent(1.0, 1e-6, "utterance", "add-or-remove-one", "none", ("made-up rows",)))
    return lambda: run.step(rows)


def measured(mode: str, chunk: int, steps: int) -> dict[str, float]:
    """Return the CPU seconds of a step, the median without the first, and the peak memory in MB."""
    step = plain_step() if mode == PLAIN else private_step(mode, chunk)
    step()
    seconds = []
    for _ in range(steps):
        start = time.process_time()
        step()
        seconds.append(time.process_time() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": median(seconds), "memory": peak}


def in_process(mode: str, chunk: int, steps: int) -> dict[str, float]:
    """Return what a fresh process measures."""
    command = [sys.executable, __file__, "--mode", mode, "--chunk", str(chunk)]
    done = subprocess.run(
        [*command, "--steps", str(steps)], capture_output=True, text=True, check=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def report(modes: Sequence[str], turns: int, steps: int, chunk: int) -> None:
    """Print a line for each mode."""
    found: dict[str, list[dict[str, float]]] = {mode: [] for mode in modes}
    for _ in range(turns):
        for mode in modes:
            found[mode].append(in_process(mode, chunk, steps))
    lines = []
    for mode, runs in found.items():
        pairs = list(zip(runs, found[PLAIN], strict=True))
        time_ratios = [ours["seconds"] / theirs["seconds"] for ours, theirs in pairs]
        lines.append(
            (
                mode,
                "" if mode == PLAIN else str(chunk),
                f"{median(run['seconds'] for run in runs):.2f}",
                f"{median(time_ratios):.2f}",
                f"{min(time_ratios):.2f} to {max(time_ratios):.2f}",
                f"{median(run['memory'] for run in runs):,.0f}",
                f"{median(a['memory'] / b['memory'] for a, b in pairs):.2f}",
            )
        )
    print(machine(), f"{turns} turns of {steps} steps", sep="; ")
    head = ("mode", "chunk", "CPU s a step", "ratio", "range", "peak MB", "ratio")
    print(table(head, lines))


def commanded(*words: Any) -> None:
    """Run a command of the project.

    Raises:
        RuntimeError: it failed.
    """
    from genie_dp.cli import run

    if code := run([str(word) for word in words]):
        raise RuntimeError(f"exit code {code}: {words}")


def private_rows(texts: Sequence[Path], count: int, folder: Path) -> tuple[Path, Path, list[Any]]:
    """Return files of public and of private rows, and rows like the latter that were held out."""
    import smart_open

    from genie_dp.private.source import PrivateRow

    public, every = folder / "public.jsonl", folder / "every.jsonl"
    sizes = {public: 3000, every: 0 if texts else count + HELD}
    for seed, (path, size) in enumerate(sizes.items(), 1):
        if size:
            commanded("synthesize", "--size", size, "--seed", seed, "--output", path)
    found: list[dict[str, str]] = []
    for path in texts or [every]:
        with smart_open.open(path, "rt") as lines:
            found.extend(json.loads(line) for line in lines)
    if texts:
        found = [{"utterance": row["utterance"].lower()} for row in found]
    random.Random(0).shuffle(found)
    path = folder / "private.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in found[:count]), encoding="utf-8")
    held = found[count : count + HELD]
    return public, path, [PrivateRow(row["utterance"], row.get("program")) for row in held]


def loss_at(rate: float, kind: str, count: int, rows: tuple[Path, Path, list[Any]]) -> float:
    """Return nats a word of the rows that were held out, of a generator trained at a rate."""
    from genie_dp.private.audit.models import count_words, open_scorer

    public, private, held = rows
    folder = private.parent / f"{kind} {rate}"
    folder.mkdir()
    path = folder / private.name
    shutil.copy(private, path)  # a ledger of its own
    promise = ("--epsilon", 8, "--delta", 1e-5, "--unit", "utterance", "--allow-same-rows")
    commanded("private", "budget", "init", path, *promise)
    sizes = ("--size", 64, "--layers", 2, "--batch", 128, "--chunk", 32)
    words = (
        "private",
        "train",
        kind,
        path,
        "--public",
        public,
        "--estimated-units",
        count,
        "--epsilon",
        8,
    )
    more = ("--pretrained", private.parent / "kept", "--learning-rate", rate)
    commanded(*words, *sizes, *more, "--output", folder / "made")
    scorer = open_scorer(folder / "made")
    read = sum(count_words(row, with_program=scorer.needs_programs) for row in held)
    return sum(scorer.losses(held)) / read


def report_rates(rates: Sequence[float], texts: Sequence[Path], count: int) -> None:
    """Print a line for each kind."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        rows = private_rows(texts, count, Path(folder))
        for kind in ("one-stage",) if texts else ("one-stage", "two-stage"):
            lines.append([kind, *(f"{loss_at(rate, kind, count, rows):.3f}" for rate in rates)])
    print(f"{machine()}; {count:,} rows, epsilon 8")
    print(table(["nats a word", *(f"{rate:g}" for rate in rates)], lines))


@click.command()
@click.option("--rates", default="", help="Compare learning rates instead, such as 0.01,0.02.")
@click.option("--texts", type=click.Path(exists=True, path_type=Path), multiple=True,
              help="With --rates: sentences to learn, instead of synthesized rows.")  # fmt: skip
@click.option("--rows", default=2000, show_default=True, help="With --rates: private rows.")
@click.option("--mode", default=None, help="Measure one mode in this process, as JSON.")
@click.option("--modes", default=",".join(MODES), show_default=True)
@click.option("--turns", default=3, show_default=True)
@click.option("--steps", default=3, show_default=True)
@click.option("--chunk", default=8, show_default=True, help="Rows at a time.")
def main(
    rates: str,
    texts: tuple[Path, ...],
    rows: int,
    mode: str | None,
    modes: str,
    turns: int,
    steps: int,
    chunk: int,
) -> None:
    """Measure steps of private training, or what learning rates come to."""
    sys.path.insert(0, str(Path(__file__).parent.parent))
    if rates:
        report_rates([float(rate) for rate in rates.split(",")], texts, rows)
    elif mode:
        print(json.dumps(measured(mode, chunk, steps)))
    else:
        report(modes.split(","), turns, steps, chunk)


if __name__ == "__main__":
    main()
