"""Invented private populations and small priors for tests."""

import json
import random
from pathlib import Path

from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.prior.histogram import CountedNames, CountLimits, CountPlan, release_counts
from genie_dp.private.prior.run import Prior
from genie_dp.private.release import draw_once
from genie_dp.private.secure import noise
from genie_dp.records import PrivatePrior, Spent
from genie_dp.resources import data_folder
from genie_dp.run.manifest import ledger_of

SPENT = Spent(1.0, 1e-6, "user", "add-or-remove-one", "rdp", ("what is common",))
FUNCTIONS = tuple(f"@com.shop{n}.buy" for n in range(12))


def prior(**fields):
    """Return a prior of one guarantee."""
    return PrivatePrior(SPENT, **fields)


def plan(*, limits=None, multiplier=3.0, kind="gaussian", candidates=(), delta=0.0):
    """Return a plan over the functions of an invented library."""
    support = CountedNames.from_names(FUNCTIONS, candidates)
    return CountPlan(support, limits or CountLimits(), kind, multiplier, delta)


def draw_counts(work, units, spend):
    """Return the counts of a work folder, as the stage draws them."""
    counted = plan()
    return draw_once(
        work,
        Prior.kind,
        counted.mechanisms,
        units,
        lambda units: release_counts(units, counted, noise("prior")).as_dict(),
        spend,
        code=Prior.lost,
    )


def population(count, seed=0):
    """Return the functions of the programs of units: the first function most often, and so on."""
    rng = random.Random(f"population {seed}")
    weights = [1 / (n + 1) for n in range(len(FUNCTIONS))]
    return [
        [
            tuple(rng.choices(FUNCTIONS, weights, k=rng.randint(1, 2)))
            for _ in range(rng.randint(1, 3))
        ]
        for _ in range(count)
    ]


TWITTER = data_folder("thingpedia") / "com.twitter"
HOME = "now => @com.twitter.home_timeline => notify"
POST = 'now => @com.twitter.post param:status:String = " zanzibar "'
LACKED = "now => @com.tickets.buy param:city:String = QUOTED_STRING_0"
SECRET = "zanzibar"
"""Stands in every private row."""


def private_file(folder: Path, programs, *, epsilon=3.0, delta=1e-6, unit="utterance") -> Path:
    """Write private rows, one for each program, and their ledger."""
    path = folder / "private.jsonl"
    rows = [
        {"utterance": f"the {SECRET} of {n}", "program": program, "user": f"{SECRET}{n}"}
        for n, program in enumerate(programs)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    cap = None if unit == "utterance" else 5
    Ledger.create(ledger_of(path), Budget(epsilon, delta, unit, cap=cap))
    return path


def asked(folder: Path) -> Path:
    """Write 400 private rows: 60 in 100 ask for one function, 10 for one that is lacking."""
    return private_file(folder, [HOME] * 240 + [POST] * 120 + [LACKED] * 40)
