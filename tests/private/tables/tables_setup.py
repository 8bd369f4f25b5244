"""Invented tables with planted dependences, and what is spent on them."""

import json
import random

import numpy as np

from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.tables.schema import Column, Schema
from genie_dp.records import Spent
from genie_dp.run.manifest import ledger_of

SPENT = Spent(1.0, 1e-6, "user", "add-or-remove-one", "rdp", ("what is common",))
SECRET = "zanzibar"
"""Stands in every private row."""


def schema_of(*domain):
    """Return a schema of so many columns: a, b, c .. with the values v0, v1, v2 .."""
    return Schema(
        tuple(
            Column("abcdefghijkl"[place], tuple(f"v{n}" for n in range(size)))
            for place, size in enumerate(domain)
        )
    )


def planted(number, seed=0, *, kept=0.8):
    """Return units of one record each over (4, 4, 3): b is a with probability `kept`, c is not."""
    rng = random.Random(f"planted {seed}")
    units = []
    for _ in range(number):
        a = rng.randrange(4)
        b = a if rng.random() < kept else rng.randrange(4)
        units.append([{"a": f"v{a}", "b": f"v{b}", "c": f"v{rng.choice((0, 0, 0, 1, 2))}"}])
    return units


def distribution(domain, seed):
    """Return a random distribution over a domain, far from uniform."""
    rng = np.random.default_rng(seed)
    return rng.dirichlet(np.full(int(np.prod(domain)), 0.3)).reshape(domain)


def summed(dense, clique):
    """Return a marginal of a dense distribution."""
    return dense.sum(axis=tuple(n for n in range(dense.ndim) if n not in clique))


COLUMNS = [
    {"name": "form", "values": ["question", "command"]},
    {"name": "mood", "values": ["good", "bad", "<other>"]},
]


def private_file(folder):
    """Write 400 private rows and a schema: questions have a good mood, others a bad one."""
    rows = [
        {"utterance": f"{'what is' if n % 2 else 'play'} {SECRET}", "user": f"{SECRET}{n // 2}",
         "mood": ("bad", "good")[n % 2] if n % 10 else SECRET}
        for n in range(400)
    ]  # fmt: skip
    path = folder / "private.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Ledger.create(ledger_of(path), Budget(3.0, 1e-6, "utterance"))
    (folder / "schema.json").write_text(json.dumps({"columns": COLUMNS}))
    return path


class Spending:
    """A ledger of one release: it keeps what was spent."""

    mechanisms = ()

    def __call__(self, mechanisms):
        assert not self.mechanisms, "spent twice"
        self.mechanisms = tuple(mechanisms)
        return SPENT
