"""Rows of intents: which are private, public, donated and held out; what rows are worth."""

import csv
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from genie_dp.private.evolution.embedding import HashedNgramEmbedding
from genie_dp.private.tables.extract import FIXED, bucket_of, form, length
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.records import Example
from genie_dp.rng import stream
from genie_dp.skills.words import join_tokens

INTENT = "intent"
OPENINGS = 20  # first words that the column knows, of public text
PERSONS = ("i", "you", "we", "it", "my", "your")


@dataclass(frozen=True)
class Sizes:
    """How much of everything; all of it is in the key of a result."""

    intents: int | None = None
    per_intent: int | None = None
    donated: int = 3
    iterations: int = 5
    population: int = 400
    variations: int = 4
    rows: int = 2000
    steps: int = 60  # of the classifier: 86.6 % on Banking77, as after 300


SMOKE = Sizes(
    intents=5, per_intent=24, iterations=2, population=20, variations=3, rows=40, steps=40
)


@dataclass(frozen=True)
class World:
    """Private rows with their intents, rows to test with, donated examples and public text."""

    name: str
    private: tuple[tuple[str, str], ...]
    test: tuple[tuple[str, str], ...]
    donated: tuple[tuple[str, str], ...]
    public: tuple[str, ...]

    @cached_property
    def intents(self) -> tuple[str, ...]:
        """Return the intents, which are public."""
        return tuple(sorted({intent for _, intent in self.donated}))

    @cached_property
    def openings(self) -> tuple[str, ...]:
        """Return the first words that public text has most."""
        first = Counter(text.split()[0] for text in self.public)
        return tuple(word for word, _ in sorted(first.most_common(OPENINGS)))

    def schema(self, columns: Sequence[str]) -> Schema:
        """Return public columns with their values."""
        values = {
            INTENT: self.intents,
            "length": FIXED["length"],
            "form": FIXED["form"],
            "opening": (*self.openings, OTHER),
            "person": (*PERSONS, OTHER),
        }
        return Schema(tuple(Column(name, values[name]) for name in columns))

    def record(self, text: str, intent: str | None, columns: Sequence[str]) -> dict[str, str]:
        """Return what is known of a sentence."""
        row, words = Example("", text, ""), text.split()
        found = {
            "length": bucket_of(length(row), FIXED["length"]),
            "form": form(row),
            "opening": words[0] if words[0] in self.openings else OTHER,
            "person": next((word for word in words if word in PERSONS), OTHER),
            **({INTENT: intent} if intent else {}),
        }
        return {name: found[name] for name in columns if name in found}


def world_of(name: str, data: Path, sizes: Sizes) -> World:
    """Return the rows of a corpus; the sentences of the other one are public."""
    other = {"clinc150": "banking77", "banking77": "clinc150"}[name]
    rows = read(data / f"{name}.train.tsv", sizes)
    by_intent: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for row in shuffled(rows, name):
        by_intent[row[1]].append(row)
    donated = [row for rows in by_intent.values() for row in rows[: sizes.donated]]
    rest = [row for rows in by_intent.values() for row in rows[sizes.donated :]]
    test_file = data / f"{name}.val.tsv"
    if test_file.exists():
        test = [row for row in read(test_file, replace(sizes, per_intent=None))
                if row[1] in by_intent]  # fmt: skip
        private = rest
    else:
        rest = shuffled(rest, name)
        test, private = rest[: len(rest) // 5], rest[len(rest) // 5 :]
    public = [text for text, _ in read(data / f"{other}.train.tsv", Sizes())]
    if sizes.per_intent:
        public = public[:: max(1, len(public) // 500)]
    return World(name, tuple(private), tuple(test), tuple(donated), tuple(public))


def read(path: Path, sizes: Sizes) -> list[tuple[str, str]]:
    """Return sentences with intents, without those that belong to none."""
    with path.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        rows = [(join_tokens(one[0]), one[1]) for one in list(lines)[1:] if one[1] != "oos"]
    kept = set(sorted({intent for _, intent in rows})[: sizes.intents])
    seen: Counter[str] = Counter()
    found = []
    for text, intent in rows:
        seen[intent] += 1
        if text and intent in kept and seen[intent] <= (sizes.per_intent or len(rows)):
            found.append((text, intent))
    return found


def shuffled(rows: Sequence[tuple[str, str]], name: str) -> list[tuple[str, str]]:
    """Return rows in a random order, the same in every run."""
    return stream(0, "benchmark of intents", name).sample(rows, len(rows))


# ------------------------------------------------------------------------------ the classifier


class Judge:
    """Trains classifiers, and tests them with rows that were held out."""

    def __init__(self, world: World, sizes: Sizes):
        """Place the rows to test with; how rare words are is learned of public text."""
        self.world, self.steps = world, sizes.steps
        self.embedding = HashedNgramEmbedding().fit(
            [Example("", text, "") for text in world.public]
        )
        self.places = {intent: i for i, intent in enumerate(world.intents)}
        self.test = self.vectors([text for text, _ in world.test])
        self.gold = np.array([self.places[intent] for _, intent in world.test])

    def vectors(self, texts: Sequence[str]) -> Any:
        """Return (texts, dimensions)."""
        return self.embedding.vectors([Example("", text, "") for text in texts])

    def figures(
        self, texts: Sequence[str], intents: Sequence[str], weights: Sequence[float]
    ) -> dict[str, float]:
        """Return accuracy and nearness of rows as training data."""
        kept = [i for i, weight in enumerate(weights) if weight > 0 and intents[i] in self.places]
        rows = self.vectors([texts[i] for i in kept])
        labels = np.array([self.places[intents[i]] for i in kept])
        mass = np.array([weights[i] for i in kept])
        return {
            "accuracy": 100 * self._accuracy(rows, labels, mass / mass.sum()),
            "near": float((self.test @ rows.T).max(axis=1).mean()),
        }

    def _accuracy(self, rows: Any, labels: Any, weights: Any) -> float:
        """Return the accuracy of multinomial logistic regression, begun at zero."""
        import torch

        # Of 2,048 numbers of a row some 100 are not 0.
        x, y = torch.from_numpy(rows).to_sparse_coo(), torch.from_numpy(labels)
        mass = torch.from_numpy(weights).float()
        slopes = torch.zeros(x.shape[1], len(self.places), requires_grad=True)
        biases = torch.zeros(len(self.places), requires_grad=True)
        optimizer = torch.optim.AdamW([slopes, biases], lr=0.1, weight_decay=0.01)
        for _ in range(self.steps):
            optimizer.zero_grad()
            scores = torch.sparse.mm(x, slopes) + biases
            losses = torch.nn.functional.cross_entropy(scores, y, reduction="none")
            (losses * mass).sum().backward()
            optimizer.step()
        with torch.no_grad():
            said = (torch.from_numpy(self.test) @ slopes + biases).argmax(1).numpy()
        return float((said == self.gold).mean())
