"""Attacks on released rows alone: by somebody who has no model, only the published rows.

Each compares members, rows that the release was learned from, with others like them that it was
not. Coins parted the two, so that without a leak the difference is that of random labels: `chance`
of a finding is its probability then. After Giomi et al. 2023 (Anonymeter) for singling out and
linkability; their attacks on tables are made for sentences here.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.private.audit.config import AuditConfig
from genie_dp.private.audit.membership import (
    Attack,
    Sides,
    auc,
    read_rows,
    sides_of,
)
from genie_dp.private.audit.statistics import Floats, bootstrap, share_with_interval
from genie_dp.private.audit.verdict import Claim
from genie_dp.private.evolution.embedding import HashedNgramEmbedding
from genie_dp.private.source import PrivateRow
from genie_dp.records import Example
from genie_dp.rng import child_seed
from genie_dp.run.manifest import manifest_of

NEAREST = "nearest released row"
Flags = npt.NDArray[np.bool_]
# Relabellings by which the chance of a finding is told.
_DRAWS = 2000
# Similarities in memory at a time.
_BLOCK = 512
# Released rows that an attack of linking looks at for each part, and words of a predicate.
_NEIGHBOURS, _WORDS = 5, 3
# Predicates that are tried.
_PREDICATES = 2000


def claim_of_release(path: Path) -> Claim | None:
    """Return the claim in the manifest beside released rows, None where it has none.

    Raises:
        GenieError: it cannot be read (N057).
    """
    manifest = Path(manifest_of(str(path)))
    if not manifest.exists():
        return None
    try:
        spent = json.loads(manifest.read_text(encoding="utf-8")).get("spent")
        if spent is None:
            return None
        return Claim(
            float(spent["epsilon"]), float(spent["delta"]), str(spent["unit"]), manifest.name
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "name what is claimed with --claim EPSILON and --delta"
        message = f"expected a guarantee in {manifest}, got: {error}"
        raise GenieError(Problem("N057", message, hint=hint)) from None


class ReleaseAttack:
    """The attacks by released rows on rows of two sides, as many of each."""

    def __init__(self, release: Path, members: Path, others: Path, config: AuditConfig, name: str):
        """Read all rows, and place them.

        Raises:
            GenieError: those of `membership.read_rows`; there are too few rows (N058).
        """
        self.config = config
        self.released = read_rows(release, name)
        if len(self.released) < 2:
            message = f"expected released rows in {release}, got {len(self.released)}"
            raise GenieError(Problem("N058", message))
        self.sides: Sides = sides_of(read_rows(members, name), read_rows(others, name))
        many = min(len(self.sides.members), len(self.sides.others))
        rng = self._rng("even")
        chosen = [
            [side[place] for place in rng.permutation(len(side))[:many]]
            for side in (self.sides.members, self.sides.others)
        ]
        # Mixed, so that of rows as near no side comes first.
        rows, order = [*chosen[0], *chosen[1]], rng.permutation(2 * many)
        self.rows: list[PrivateRow] = [rows[place] for place in order]
        self.is_member: Flags = order < many
        self._embedding = HashedNgramEmbedding().fit([_example(row) for row in self.released])

    def _rng(self, name: str) -> np.random.Generator:
        return np.random.default_rng(child_seed(self.config.seed, "audit", "release", name))

    def _chance(self, figure: Callable[[Flags], float], name: str) -> float:
        """Return how often labels at random give a figure as large as the true ones."""
        rng, difference = self._rng(name), figure(self.is_member)
        larger = sum(figure(rng.permutation(self.is_member)) >= difference for _ in range(_DRAWS))
        return (1 + larger) / (1 + _DRAWS)

    def _similar(self, texts: Sequence[str], released: Sequence[str]) -> Iterator[Floats]:
        """Yield the similarities of some texts at a time to all released ones, (some, released)."""
        targets = self._embedding.vectors([Example("", text, "") for text in released])
        for first in range(0, len(texts), _BLOCK):
            rows = [Example("", text, "") for text in texts[first : first + _BLOCK]]
            yield (self._embedding.vectors(rows) @ targets.T).astype(np.float64)

    def nearest(self) -> tuple[Attack, dict[str, Any]]:
        """Return the attack by the distance to the closest released row, and its figures."""
        texts = [row.utterance for row in self.rows]
        best = np.full(len(self.rows), -1.0)
        # Of each released row, the nearest row of either side: the first of those as near.
        closest = np.full(len(self.released), -1.0)
        whose = np.zeros(len(self.released), np.int64)
        parts = self._similar(texts, [row.utterance for row in self.released])
        for number, part in enumerate(parts):
            first = number * _BLOCK
            part = part.round(6)
            best[first : first + len(part)] = part.max(1)
            places, values = part.argmax(0), part.max(0)
            whose = np.where(values > closest, first + places, whose)
            closest = np.maximum(values, closest)
        members, others = best[self.is_member], best[~self.is_member]
        attack = Attack(NEAREST, members, others)
        level, seed = self.config.level, self.config.seed
        texts_there = {row.utterance for row in self.released}
        copies = np.array([row.utterance in texts_there for row in self.rows])
        nearer = int(self.is_member[whose].sum())
        return attack, {
            "distance": {
                "members": float(np.median(1 - members)),
                "others": float(np.median(1 - others)),
            },
            "auc": bootstrap(
                [members, others], auc, name="release auc", seed=seed, level=level, draws=300
            ),
            "chance": self._chance(lambda labels: auc(best[labels], best[~labels]), "nearest"),
            "nearer to members": {
                **share_with_interval(nearer, len(self.released), level=level),
                "chance": self._chance(lambda labels: float(labels[whose].sum()), "nearer"),
            },
            "copied": self._sides(copies, "copied"),
        }

    def single_out(self) -> dict[str, Any]:
        """Return how often a predicate true of one released row alone is true of one row alone.

        A predicate is of one to three words, the rarest of a released row, that no other released
        row has together. The rate of those that are true of exactly one of the others is that of
        guessing.
        """
        having: dict[str, set[int]] = {}
        for number, row in enumerate(self.rows):
            for word in row.utterance.split():
                having.setdefault(word, set()).add(number)
        nobody: set[int] = set()
        matches = []
        for words in self._predicates():
            members = set.intersection(*(having.get(word, nobody) for word in words))
            matches.append(np.array(sorted(members), np.int64))
        owners = np.concatenate(matches) if matches else np.zeros(0, np.int64)
        of = np.repeat(np.arange(len(matches)), [len(match) for match in matches])

        def singles(labels: Flags) -> tuple[Flags, Flags]:
            counts = [
                np.bincount(of[labels[owners] == side], minlength=len(matches))
                for side in (True, False)
            ]
            return counts[0] == 1, counts[1] == 1

        def difference(labels: Flags) -> float:
            inside, outside = singles(labels)
            return float(inside.sum() - outside.sum())

        inside, outside = singles(self.is_member)
        return {
            **self._risk(inside, outside, "singling out"),
            "chance": self._chance(difference, "singling out"),
        }

    def _predicates(self) -> list[tuple[str, ...]]:
        """Return different sets of words, each true of one released row alone."""
        rows = [sorted(set(row.utterance.split())) for row in self.released]
        counts = Counter(word for words in rows for word in words)
        having: dict[str, set[int]] = {}
        for number, words in enumerate(rows):
            for word in words:
                having.setdefault(word, set()).add(number)
        predicates: dict[tuple[str, ...], None] = {}
        for place in self._rng("predicates").permutation(len(rows)):
            rarest = sorted(rows[place], key=lambda word: (counts[word], word))[:_WORDS]
            for length in range(1, len(rarest) + 1):
                if len(set.intersection(*(having[word] for word in rarest[:length]))) == 1:
                    predicates[tuple(rarest[:length])] = None
                    break
            if len(predicates) == _PREDICATES:
                break
        return list(predicates)

    def link(self) -> dict[str, Any]:
        """Return how often two parts of a row lead to one released row.

        The parts are sentence and program where all rows have one, else the halves of a sentence.
        The five released rows that are nearest to either part are looked at.
        """
        with_programs = all(row.program for row in (*self.rows, *self.released))
        ours, theirs = (
            [_parts(row, with_programs=with_programs) for row in rows]
            for rows in (self.rows, self.released)
        )
        neighbours = [
            self._neighbours([x[n] for x in ours], [x[n] for x in theirs]) for n in (0, 1)
        ]
        is_linked = np.array([bool({*a} & {*b}) for a, b in zip(*neighbours, strict=True)])
        return {
            "parts": "programs" if with_programs else "halves",
            **self._sides(is_linked, "link"),
        }

    def _neighbours(self, texts: Sequence[str], released: Sequence[str]) -> list[list[int]]:
        count = min(_NEIGHBOURS, len(released))
        return [
            places.tolist()
            for part in self._similar(texts, released)
            for places in np.argpartition(-part, count - 1, axis=1)[:, :count]
        ]

    def _sides(self, flags: Flags, name: str) -> dict[str, Any]:
        """Return the shares of both sides of which something is true, and how they differ."""

        def difference(labels: Flags) -> float:
            return float(flags[labels].sum()) - float(flags[~labels].sum())

        risk = self._risk(flags[self.is_member], flags[~self.is_member], name)
        return {**risk, "chance": self._chance(difference, name)}

    def _risk(self, members: Flags, others: Flags, name: str) -> dict[str, Any]:
        """Return two shares, and the excess of the first over the second, of its maximum."""
        level = self.config.level
        if not len(members):
            return {"members": None, "others": None, "risk": None}

        def risk(inside: Floats, outside: Floats) -> float:
            guessed = float(outside.mean())
            return (float(inside.mean()) - guessed) / (1 - guessed) if guessed < 1 else 0.0

        sides = [members.astype(float), others.astype(float)]
        return {
            "members": share_with_interval(int(members.sum()), len(members), level=level),
            "others": share_with_interval(int(others.sum()), len(others), level=level),
            "risk": bootstrap(sides, risk, name=name, seed=self.config.seed, level=level),
        }

    def figures(self) -> tuple[Attack, Mapping[str, Any]]:
        """Return the attack on single rows, and the figures of all, for JSON."""
        attack, nearest = self.nearest()
        return attack, {
            "rows": len(self.released),
            "nearest": nearest,
            "singling out": self.single_out(),
            "linking": self.link(),
        }


def _example(row: PrivateRow) -> Example:
    return Example("", row.utterance, "")


def _parts(row: PrivateRow, *, with_programs: bool) -> tuple[str, str]:
    if with_programs:
        return row.utterance, row.program or ""
    words = row.utterance.split()
    middle = (len(words) + 1) // 2
    return " ".join(words[:middle]), " ".join(words[middle:])
