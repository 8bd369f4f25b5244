"""Private tables: how near 2-way marginals come, for AIM, independent columns and uniform ones.

    python benchmarks/tables.py                                  # planted, intents, commands
    python benchmarks/tables.py --only planted --seeds 3

Error is the total variation distance between a 2-way marginal of the table and that of the rows,
the mean over all pairs of columns. Kept is the part of the rows' dependence that the table has (see
`kept`), the mean over the planted pairs, or over all pairs that depend on each other. CPU seconds
are of one release, everything included; memory is the most that the process held so far.
"""

import argparse
import csv
import json
import random
import resource
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
from measure import ROOT

from genie_dp.private.ledger.guard import Units
from genie_dp.private.secure import _seeded
from genie_dp.private.tables.extract import PublicRow, adapt_schema, describe
from genie_dp.private.tables.joint import F64, Clique, Joint, Records, pairs, records_of
from genie_dp.private.tables.run import METHODS, release_table
from genie_dp.private.tables.schema import Column, Metadata, Schema
from genie_dp.private.tables.table import dependence
from genie_dp.records import Example, Spent

EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
DELTA = 1e-5
COMPARED = (*METHODS, "uniform")
# Pairs that depend on each other in less than one row of twenty are left out of what is kept.
LEAST = 0.05


def total_variation(left: F64, right: F64) -> float:
    """Return half the L1 distance of two arrays of counts, each scaled to sum to 1."""
    return float(np.abs(left / left.sum() - right / right.sum()).sum() / 2)


@dataclass(frozen=True)
class World:
    """Rows with their columns, and the pairs whose dependence is looked at."""

    name: str
    schema: Schema
    units: Sequence[Sequence[Metadata]]
    planted: Sequence[Clique]


def planted(number: int = 5000) -> World:
    """Return a table over (8, 8, 4, 10, 2): b follows a, c follows b, and e follows d."""
    rng = random.Random("planted")
    columns = zip("abcde", (8, 8, 4, 10, 2), strict=True)
    schema = Schema(tuple(Column(n, tuple(f"{n}{k}" for k in range(size))) for n, size in columns))
    units = [[_planted_row(rng)] for _ in range(number)]
    return World("planted", schema, units, [(0, 1), (1, 2), (3, 4)])


def _planted_row(rng: random.Random) -> Metadata:
    def often(value: int, size: int) -> int:
        return value if rng.random() < 0.8 else rng.randrange(size)

    a, d = rng.randrange(8), min(9, int(rng.expovariate(0.3)))
    b = often((3 * a) % 8, 8)
    c, e = often(b // 2, 4), often(int(d < 3), 2)
    return {"a": f"a{a}", "b": f"b{b}", "c": f"c{c}", "d": f"d{d}", "e": f"e{e}"}


def intents(data: Path) -> World:
    """Return sentences of CLINC150 with their intents."""
    with (data / "intents" / "clinc150.train.tsv").open(encoding="utf-8") as lines:
        rows = [
            (Example("", row["utterance"], ""), {"intent": row["intent"]})
            for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]
    return _world("intents", rows, ["field:intent", "length", "form"], most=150)


def commands(data: Path) -> World:
    """Return commands of ThingTalk with their devices and functions."""
    rows = list(_commands(data / "thingtalk" / "eval.train.jsonl"))
    names = ["function", "field:device", "length", "form", "field:origin"]
    return _world("commands", rows, names, most=60)


def _commands(path: Path) -> Iterator[PublicRow]:
    with path.open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            functions = tuple(f"@{name}" for name in row["functions"])
            fields = {name: row[name] for name in ("device", "origin")}
            yield Example("", row["utterance"], row["program"], functions=functions), fields


def _world(name: str, rows: Sequence[PublicRow], columns: Sequence[str], most: int) -> World:
    schema = adapt_schema(columns, public=rows, most=most)
    units = [[describe(schema, example, fields)] for example, fields in rows]
    exact = records_of(schema, units)
    depend = [c for c in pairs(len(columns)) if dependence(_share(exact, c)) >= LEAST]
    return World(name, schema, units, depend)


def _share(records: Records, clique: Clique) -> F64:
    found = records.marginal(clique)
    return found / found.sum()


def kept(exact: F64, found: F64) -> float:
    """Return which part of a dependence a marginal has: 1 for the same, 0 for independent columns.

    What the marginal has more, or less, than independent columns, summed over the cells where the
    rows have more, or less; relative to that sum of the rows.
    """
    wanted, has = _excess(exact), _excess(found)
    return float((np.sign(wanted) * has).sum() / np.abs(wanted).sum())


def _excess(joint: F64) -> F64:
    excess: F64 = joint - joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    return excess


def measured(world: World, method: str, epsilon: float, seed: int):
    """Return the figures of one release; "uniform" reads no row."""
    exact = records_of(world.schema, world.units)
    start = time.process_time()
    joint = Joint(world.schema.domain, {})
    if method != "uniform":
        with _seeded(seed):  # invented units
            joint = release_table(
                world.schema, Units(world.units), epsilon=epsilon, delta=DELTA, spend=_free,
                method=method,
            ).joint  # fmt: skip
    seconds = time.process_time() - start
    every = pairs(len(world.schema.columns))
    return {
        "error": fmean(
            total_variation(joint.marginal(c), exact.marginal(c)) for c in every
        ),
        "kept": fmean(kept(_share(exact, c), joint.marginal(c)) for c in world.planted),
        "seconds": seconds,
    }  # fmt: skip


def _free(_mechanisms: object) -> Spent:
    return Spent(0.0, DELTA, "utterance", "add-or-remove-one", "rdp", ("a benchmark",))


def table_of(world: World, seeds: Sequence[int]) -> Iterator[str]:
    """Yield the lines of a table: means over seeds, and the least that was kept."""
    sizes = ", ".join(map(str, world.schema.domain))
    yield f"{world.name}: {len(world.units):,} rows, {sizes} values, {world.schema.cells:,} cells"
    yield ""
    yield (
        "| epsilon | error, aim | independent | uniform | kept, aim | least | independent "
        "| CPU s, aim | peak MB |"
    )
    yield "|---|---|---|---|---|---|---|---|---|"
    for epsilon in EPSILONS:
        runs = {m: [measured(world, m, epsilon, s) for s in seeds] for m in COMPARED}
        yield _line(epsilon, runs)


def _line(epsilon: float, runs: Mapping[str, Sequence[Mapping[str, float]]]) -> str:
    def mean(method: str, name: str) -> float:
        # Plus nothing, so that no zero is a negative one.
        return round(fmean(run[name] for run in runs[method]), 4) + 0.0

    errors = " | ".join(f"{mean(method, 'error'):.4f}" for method in COMPARED)
    least = min(run["kept"] for run in runs["aim"])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"| {epsilon:g} | {errors} | {100 * mean('aim', 'kept'):.1f} % | {100 * least:.1f} % "
        f"| {100 * mean('independent', 'kept'):.1f} % | {mean('aim', 'seconds'):.2f} "
        f"| {peak:.0f} |"
    )


WORLDS = {"planted": lambda _: planted(), "intents": intents, "commands": commands}


def main(words: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, default=ROOT.parent / "shared" / "data")
    parser.add_argument("--only", action="append", choices=list(WORLDS))
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args(words)
    for name in options.only or WORLDS:
        for line in table_of(WORLDS[name](options.data), range(options.seeds)):
            print(line, flush=True)
        print()


if __name__ == "__main__":
    main()
