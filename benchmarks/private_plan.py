"""What noisy steps come to, by their number and their signal: the table of `genie-dp private plan`.

    python benchmarks/private_plan.py ../shared/data
    python benchmarks/private_plan.py ../shared/data --epsilon 8 --points 35x256@0.02,20x1024@0.02
    python benchmarks/private_plan.py ../shared/data --epsilon 8 --points 35x256@0.05 --bands 35 \
        --accountant pld --drawn 96

Nats a word of 1,000 sentences of TOPv2 navigation that were held out. A one-stage decoder of 2
layers and 96 dimensions learns sentences of the other domains without noise (4 epochs), then takes
noisy steps on those of navigation. The signal of a step is its batch divided by the noise
multiplier. For the table batches are of 96, and the noise gives the signal: what a step's noise
does to it hangs on the two together. With --epsilon, the noise follows from it (delta 8e-6); with
--drawn, batches are smaller at the same signal. Figures are of one run each, with noise of a seed.
"""

import copy
import json
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from measure import machine, table

DELTA, BATCH, HELD = 8e-6, 96, 1000
STEPS, SIGNALS = (10, 20, 40, 80), (100, 300, 1000, 3000, 10000)
PUBLIC = ("alarm", "event", "messaging", "music", "timer")


def sentences(folder: Path, name: str) -> list[str]:
    """Return the sentences of a file of TOPv2, in an order by chance."""
    import smart_open

    path = next(folder.glob(f"topv2/{name}.jsonl*"))
    with smart_open.open(path, "rt") as lines:
        found = [json.loads(line)["utterance"].lower() for line in lines]
    random.Random(0).shuffle(found)
    return found


@dataclass
class Trial:
    """A decoder that public rows have taught, and the rows that noisy steps are measured with."""

    generator: Any
    learned: dict[str, Any]
    units: Any
    held: list[Any]

    def nats_at(
        self, steps: int, batch: int, rate: float, noise: float, *, seed: int = 1, **more: Any
    ) -> float:
        """Return nats a word after noisy steps; more settings are those of `DPSettings`."""
        from genie_dp.private import secure
        from genie_dp.private.training.run import train_privately
        from genie_dp.private.training.settings import DPSettings
        from genie_dp.records import Spent

        model = self.generator.models["utterance"]
        model.load_state_dict(self.learned)
        settings = DPSettings(
            noise, rate=batch / len(self.units), steps=steps, batch=batch, learning_rate=rate,
            chunk=32, **more,
        )  # fmt: skip
        spent = Spent(1.0, DELTA, "utterance", "add-or-remove-one", "none", ("published rows",))
        with secure._seeded(seed):
            train_privately(model, self.units, settings, spend=lambda _: spent)
        return self.nats()

    def nats(self) -> float:
        """Return nats a word with the weights as they are."""
        from genie_dp.private.audit.models import GeneratorScorer, count_words

        words = sum(count_words(row, with_program=False) for row in self.held)
        return sum(GeneratorScorer(self.generator).losses(self.held)) / words


def prepared(folder: Path, each: int, kept: Path) -> Trial:
    """Return the decoder after public rows, at most so many of each domain."""
    from genie_dp.languages import get_language
    from genie_dp.models.loop import TrainingBudget, TrainSettings
    from genie_dp.private.generators.generator import new_generator
    from genie_dp.private.generators.models import DecoderSettings
    from genie_dp.private.generators.pretraining import pretrain_publicly, public_sequences
    from genie_dp.private.generators.stages import STAGES, LabelledRow, encode_row
    from genie_dp.private.ledger.guard import Units
    from genie_dp.private.source import PrivateRow

    def rows(name: str) -> list[LabelledRow]:
        return [LabelledRow(tuple(text.split())) for text in sentences(folder, name)]

    public = [row for name in PUBLIC for row in rows(f"{name}.train")[:each]]
    sizes = DecoderSettings(96, 2, 4, 160)
    generator = new_generator("one-stage", get_language("sexpr"), public, sizes, seed=1)
    stage, model = STAGES["one-stage"][0], generator.models["utterance"]
    encoded = public_sequences(stage, public, generator.tokenizer, longest=160, seed=1)
    settings = TrainSettings(TrainingBudget(epochs=4), rate=0.004, seed=1)
    pretrain_publicly(model, encoded, settings, kept=kept)
    private = rows("navigation.train")
    units = Units([encode_row(stage, r, generator.tokenizer, longest=160)] for r in private)
    held = [PrivateRow(text) for text in sentences(folder, "navigation.eval")[:HELD]]
    return Trial(generator, copy.deepcopy(model.state_dict()), units, held)


def read_points(text: str) -> Iterator[tuple[int, int, float]]:
    """Yield steps, batch and learning rate of points such as 35x256@0.02."""
    for point in text.split(","):
        steps, _, rest = point.partition("x")
        batch, _, rate = rest.partition("@")
        yield int(steps), int(batch), float(rate)


def measure_points(
    trial: Trial, epsilon: float, points: str, accountant: Any, drawn: int | None, **more: Any
) -> None:
    """Print a line for each point."""
    from genie_dp.private.ledger.accounting import least_noise
    from genie_dp.private.training.settings import noisy_steps

    lines = []
    for steps, batch, rate in read_points(points):
        share = batch / len(trial.units)
        mechanisms = partial(noisy_steps, rate=share, steps=steps, bands=more["bands"])
        noise = least_noise(
            lambda sigma, m=mechanisms: [m(sigma)], epsilon, DELTA, accountant=accountant
        )
        start, taken = time.process_time(), drawn or batch
        nats = trial.nats_at(steps, taken, rate, noise * taken / batch, **more)
        seconds = time.process_time() - start
        figures = (f"{noise:g}", f"{nats:.2f}", f"{seconds:.0f}")
        lines.append((str(steps), f"{batch:,}", f"{rate:g}", *figures))
    head = ("steps", "batch", "learning rate", "noise multiplier", "nats a word", "CPU s")
    print(table(head, lines))


@click.command()
@click.argument("folder", type=click.Path(exists=True, path_type=Path))
@click.option("--rate", default=0.02, show_default=True, help="Learning rate of the table.")
@click.option("--each", default=2400, show_default=True, help="Public rows of a domain, at most.")
@click.option("--epsilon", type=float, help="Measure --points at this epsilon instead.")
@click.option("--points", default="35x256@0.02", help="STEPSxBATCH@RATE, with commas between.")
@click.option("--accountant", default="rdp", show_default=True, help="Who gives --points noise.")
@click.option("--drawn", type=int, help="Batches of --points in fact; noise is as much smaller.")
@click.option("--bands", default=1, show_default=True, help="Of the noise of --points.")
@click.option("--momentum", default=0.5, show_default=True, help="Of Adam.")
@click.option("--seed", default=1, show_default=True, help="Of batches and noise of --points.")
@click.option("--kept", type=click.Path(path_type=Path), help="Keep what public rows taught.")
def main(
    folder: Path,
    rate: float,
    each: int,
    epsilon: float | None,
    points: str,
    accountant: str,
    drawn: int | None,
    bands: int,
    momentum: float,
    seed: int,
    kept: Path | None,
) -> None:
    """Measure noisy steps, by their number and their signal."""
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as place:
        trial = prepared(folder, each, kept or Path(place))
    print(machine(), f"\n{trial.nats():.2f} nats a word before any private row\n")
    betas = momentum, 0.999
    if epsilon is not None:
        settings = {"bands": bands, "betas": betas, "seed": seed}
        measure_points(trial, epsilon, points, accountant, drawn, **settings)
        return

    def measured(steps: int) -> Iterator[str]:
        for signal in SIGNALS:
            yield f"{trial.nats_at(steps, BATCH, rate, BATCH / signal, betas=betas):.2f}"

    lines = [(str(steps), *measured(steps)) for steps in STEPS]
    print(table(("steps", *map(str, SIGNALS)), lines))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))
    main()
