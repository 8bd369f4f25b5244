"""Train the shipped base model from the rows of many libraries (tools/base_rows.py).

    python tools/base_rows.py build/base/rows
    python tools/base.py build/base/rows build/base/model --unseen invented-mixed,sgd

With --start it goes on from an earlier base. An interrupted run goes on from its checkpoint.
log.jsonl has the accuracy on rows held out of each library, and on libraries that are not trained
on.
"""

import argparse
import json
import pickle
import time
from dataclasses import replace
from pathlib import Path

import torch

import genie_dp as gd
from genie_dp.models.device import bf16_helps
from genie_dp.models.loop import TrainingBudget, TrainSettings
from genie_dp.models.saved import load_model, save_model
from genie_dp.parser.base import LibraryRows, prepare_library, train_base
from genie_dp.parser.config import InputFile, ParserConfig


def prepared(rows: Path, work: Path, most: int, names: list[str]) -> list[LibraryRows]:
    """Return the rows of all libraries, each prepared once."""
    found = []
    for entry in json.loads((rows / "libraries.json").read_text()):
        if names and entry["name"] not in names:
            continue
        kept = work / f"{entry['name']}.rows"
        if not kept.exists():
            start = time.monotonic()
            config = ParserConfig(
                inputs=(InputFile(str(rows / entry["rows"])),), steps=1, validation_rows=most
            )
            skills = entry["skills"]
            library = gd.load_library(skills if skills == "shipped" else rows / skills)
            one = prepare_library(entry["name"], config, entry["language"], library)
            kept.write_bytes(pickle.dumps(one))
            left = dict(one.rows.left.most_common(4))
            count = sum(map(len, one.rows.parts))
            print(f"{one.name}: {count:,} rows, {len(one.cards):,} cards, left out {left}, "
                  f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
        found.append(pickle.loads(kept.read_bytes()))
    return found


def main() -> None:
    """Prepare, train, save."""
    parse = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parse.add_argument("rows", type=Path, help="what tools/base_rows.py made")
    parse.add_argument("output", type=Path, help="folder of the model, its log and checkpoints")
    parse.add_argument("--start", type=Path, help="folder of an earlier base to go on from")
    parse.add_argument("--steps", type=int, default=40_000)
    parse.add_argument("--size", type=int, default=128)
    parse.add_argument("--rate", type=float, default=5e-3)
    parse.add_argument("--batch", type=int, default=64)
    parse.add_argument("--only", default="", help="libraries, with commas between them")
    parse.add_argument(
        "--shares",
        default="shipped=700,invented=200",
        help="how much libraries count, by the beginning of their names; others count as the root "
        "of their rows",
    )
    parse.add_argument("--unseen", default="", help="libraries that are only validated with")
    parse.add_argument("--threads", type=int, default=1)
    parse.add_argument("--prepare", action="store_true", help="prepare the rows, and end")
    given = parse.parse_args()
    torch.set_num_threads(given.threads)
    given.output.mkdir(parents=True, exist_ok=True)
    libraries = prepared(given.rows, given.output, 200, list(filter(None, given.only.split(","))))
    if given.prepare:
        return
    unseen = set(filter(None, given.unseen.split(",")))
    log = (given.output / "log.jsonl").open("a")

    def listen(event: object) -> None:
        log.write(json.dumps(event) + "\n")
        log.flush()

    shares = dict(x.split("=") for x in given.shares.split(","))
    libraries = [
        replace(x, share=float(shares[start])) if (start := x.name.split("-")[0]) in shares else x
        for x in libraries
    ]
    config = ParserConfig(
        inputs=(InputFile("-"),),
        steps=given.steps,
        batch=given.batch,
        network={"size": given.size, "word_dropout": 0.25},
    )
    saved = train_base(
        [x for x in libraries if x.name not in unseen],
        [x for x in libraries if x.name in unseen],
        config,
        TrainSettings(TrainingBudget(steps=given.steps), rate=given.rate, validations=12,
                      bf16=bf16_helps("cpu"), checkpoint_every=1000),
        start=load_model(given.start) if given.start else None,
        listen=listen,
        folder=given.output / "checkpoints",
    )  # fmt: skip
    save_model(saved, given.output, int8=True)
    print(f"-> {given.output}")


if __name__ == "__main__":
    main()
