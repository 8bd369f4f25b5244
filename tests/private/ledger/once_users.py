"""The four that pay once and release once, small, and killed at their n-th step, for every n.

`python -m tests.private.ledger.once_users USER FOLDER` prints a line of JSON for each n.
"""

import json
import logging
import os
import signal
import sys
from dataclasses import replace
from hashlib import sha256
from itertools import count
from pathlib import Path

from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.private.ledger.once import name_run, release_once
from genie_dp.run.manifest import ledger_of


def release_prior(rows, ledger, work):
    from tests.private.prior.prior_setup import FUNCTIONS, draw_counts

    units = Units([[(FUNCTIONS[0],)]] * 30, rows)
    return repr(draw_counts(work, lambda: units, Payer(ledger, "prior")))


def release_table(rows, ledger, work):
    from genie_dp.private.tables.run import release_table
    from genie_dp.private.tables.schema import Column, Schema

    schema = Schema((Column("length", ("1-4", "5-9"), "length"),))
    payer = Payer(ledger, "table")

    def make(run):
        table = release_table(
            schema,
            Units([[{"length": "1-4"}]] * 30, rows),
            epsilon=0.3,
            delta=1e-6,
            spend=replace(payer, run=run),
            method="independent",
        )
        return table.of_run(run).text()

    return release_once(work, "table", make, payer.close, what="table", code="T510")


def release_votes(rows, ledger, work):
    from genie_dp.private.evolution.config import EvolutionSettings
    from genie_dp.private.evolution.embedding import HashedNgramEmbedding
    from genie_dp.private.evolution.evolve import Electorate, evolve
    from tests.private.evolution.evolution_setup import Words, people

    settings = EvolutionSettings(iterations=2, population=4, variations=2, rows=4)
    spend, units = Payer(ledger, "votes"), Units(people(30), rows)
    made = evolve(
        Electorate(units), Words(), HashedNgramEmbedding(16), settings, Gaussian(4.0),
        spend=spend, work=work,
    )  # fmt: skip
    return repr([row.example for row in made.rows])


def release_model(rows, ledger, work):
    from genie_dp.private.training.run import train_privately
    from genie_dp.private.training.settings import DPSettings
    from tests.private.training import private_models as models
    from tests.private.training.private_models import weights

    units = Units([(row,) for row in models.rows(6)], rows)
    model = models.made(models.decoder)
    settings = DPSettings(4.0, rate=0.5, steps=2, batch=3.0, checkpoint_every=1)
    spend = Payer(ledger, "model", name_run(work))
    train_privately(model, units, settings, spend=spend, folder=work)
    return repr(weights(model).tolist())


USERS = {
    "prior": release_prior,
    "table": release_table,
    "votes": release_votes,
    "model": release_model,
}


def prepare(user, folder):
    """Import what children need, once, by a run of no account; engines are compared elsewhere."""
    if user == "model":
        import torch

        from genie_dp.private.training.run import need_opacus

        need_opacus()
        assert not logging.getLogger().handlers, "Opacus took over the program's log"
        from genie_dp.private.training import check

        torch.set_num_threads(1)
        check.check_engine = lambda *_, **__: None
    rows = write_rows(folder, "before")
    USERS[user](rows, Ledger.open(ledger_of(rows)), folder / "work")


def write_rows(folder, name):
    """Write rows, with a ledger, that no other ledger knows: those of another name are others."""
    (folder / "work").mkdir(parents=True)
    rows = folder / "rows.jsonl"
    texts = [json.dumps({"utterance": f"bring {name} {n}"}) for n in range(30)]
    rows.write_text("\n".join(texts))
    Ledger.create(ledger_of(rows), Budget(50.0, 1e-6, "utterance", accountant="rdp"))
    return rows


def kill_at(step):
    """Kill this process at its n-th step: before a file is synced, gets its name, or is removed."""
    steps = count(1)

    def dying(real):
        def call(*args, **options):
            if next(steps) == step:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **options)

        return call

    for owner, name in ((os, "fsync"), (Path, "replace"), (Path, "unlink")):
        setattr(owner, name, dying(getattr(owner, name)))


def in_child(user, folder, *, step=0):
    """Run a user in a process of its own; return its result, None if it was killed."""
    child = os.fork()
    if not child:
        if step:
            kill_at(step)
        rows = folder / "rows.jsonl"
        try:
            work = folder / "work"
            result = USERS[user](rows, Ledger.open(ledger_of(rows)), work)
        except GenieError as error:
            result = error.problems[0].code
        with (folder / "result").open("w") as out:
            out.write(result)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    assert code in (0, -signal.SIGKILL), code
    return None if code else (folder / "result").read_text()


def released_files(folder):
    """Return the released files that are there to be seen, with their content."""
    patterns = ("released.json", "vote-*.json", "step-00000002/*.safetensors")
    files = [file for pattern in patterns for file in (folder / "work").glob(pattern)]
    return {str(file): sha256(file.read_bytes()).hexdigest() for file in sorted(files)}


def main():
    user, base = sys.argv[1], Path(sys.argv[2])
    prepare(user, base / "before")
    for step in count(1, 2 if user == "votes" else 1):  # each of its rounds has the same steps
        folder = base / str(step)
        rows = write_rows(folder, f"{user} {step}")
        first = in_child(user, folder, step=step)
        paid, seen = len(Ledger.open(ledger_of(rows)).entries), released_files(folder)
        result = in_child(user, folder)
        links = Ledger.open(ledger_of(rows)).links
        kept = released_files(folder)
        # What comes after a whole run is the same wherever the first one died: a few say so.
        is_tried_again = step % 5 == 1 or first is not None
        again = in_child(user, folder) if is_tried_again else result
        for file in map(Path, kept):
            gone = file.parent if file.parent.name.startswith("step-") else file
            gone.rename(folder / gone.name)
        line = {
            "killed": first is None,
            "paid": paid,
            "seen is kept": all(kept[file] == content for file, content in seen.items()),
            "same": result == again and first in (None, result),
            "spends": sum(not link.released for link in links),
            "ends": sum(bool(link.released) for link in links),
            "files": len(kept),
            "without them": in_child(user, folder) if is_tried_again else None,
        }
        sys.stdout.write(f"{json.dumps(line)}\n")
        sys.stdout.flush()
        if first is not None:
            break


if __name__ == "__main__":
    main()
