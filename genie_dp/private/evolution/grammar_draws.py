"""Derivations drawn for records of metadata: by functions exactly, by the rest with a bound."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np
import numpy.typing as npt

from genie_dp.private.evolution.grammar_columns import Asked
from genie_dp.private.tables.extract import EXTRACTORS, skill_of
from genie_dp.records import Example
from genie_dp.rng import stream
from genie_dp.synthesis.compiler import takes_part
from genie_dp.synthesis.engine import Engine
from genie_dp.synthesis.quotas import F64
from genie_dp.synthesis.tree_rows import pair_of
from genie_dp.synthesis.trees import Tree, grown_children, root_piece
from genie_dp.synthesis.wishes import ANY, Drawer, Drawn, Wish

# Draws of each template at each depth that tell what its sentences are like: enough to tell rare
# from frequent, and 6,000 draws for the shipped library (November 2026).
_PILOT = 12
_MOST_WISHED = 3  # functions of a wish: the ways to share them out grow fast
_PARTNERS = 4  # functions that are tried beside the one that is asked for


@dataclass(frozen=True, slots=True)
class Draw:
    """A derivation and its pair."""

    tree: Tree
    pair: Example


@dataclass(frozen=True, slots=True)
class _Pilot:
    """A few pairs of each template at each depth.

    Attributes:
        pairs: all of them.
        spans: what each of them is of, shape (pairs,).
        counts: how many there are of each, shape (spans,).
    """

    pairs: Sequence[Example]
    spans: Sequence[int]
    counts: F64


class Draws:
    """Draws derivations of one engine, whose pools must know origins."""

    def __init__(self, engine: Engine):
        """Take an engine; what is learned from a few draws is learned when it is needed."""
        self.engine = engine
        self.drawer = Drawer(engine)
        self._factors: dict[tuple[str, str], F64] = {}
        self._said: dict[str, Sequence[str]] = {}
        self._met: dict[tuple[str, str], npt.NDArray[np.bool_]] = {}

    def draw(self, wish: Wish | None, asked: Sequence[Asked], rng: Random) -> Draw | None:
        """Return a draw; templates whose sentences are as asked come more often.

        None where the parts do not go together, or no derivation has the functions.
        """
        factors = [self._factor(one) for one in asked if not one.is_exact]
        product: F64 | None = np.prod(factors, axis=0) if factors else None
        return self._joined(wish, self.drawer.draw(wish, rng, product))

    def of_template(self, name: str, rng: Random) -> Draw | None:
        """Return a draw with a template at its root, with any functions."""
        mask = np.array([float(cell.rule.template.id == name) for cell in self.drawer.spans])
        return self._joined(ANY, self.drawer.draw(ANY, rng, mask))

    def wishes(self, asked: Sequence[Asked], rng: Random) -> Iterator[Wish | None]:
        """Yield the functions that derivations for a record may have, one choice after the other.

        What no derivation has is left out: of two functions that do not go together one is chosen,
        of a function that nothing speaks of the skill. After the first choice, the functions of
        rows that are known to be as asked come first.
        """
        exact = {one.extractor: one.value for one in asked if one.is_exact}
        together = frozenset(exact.get("functions", "").split())
        yield self._wish(exact, together, rng)
        alike = () if self._can(together) or not asked else self._alike(asked)
        while True:
            if len(alike):
                bag = frozenset(self._pilot.pairs[alike[int(rng.random() * len(alike))]].functions)
                yield bag if self._can(bag) else self._wish(exact, together, rng)
            else:
                yield self._wish(exact, together, rng)

    # -------------------------------------------------------------------------- derivations

    def _joined(self, wish: Wish | None, found: Drawn | None) -> Draw | None:
        if found is None:
            return None
        cell, pieces = found
        combined = cell.wording.assemble(*pieces)
        if combined is None:
            return None
        functions = combined.value.functions
        if wish is not ANY and frozenset(functions) != wish:
            return None
        # Of a template that is a whole command by itself, no pool has left out functions.
        if cell.depth == 0 and not takes_part(functions, self.engine.config):
            return None
        children = grown_children(cell.rule, pieces, self.engine.pools)
        tree = Tree(root_piece(combined), cell.rule.category, cell.rule, children)
        return Draw(tree, pair_of(tree.piece, self.engine.compiled))

    # ---------------------------------------------------------------------------- functions

    def _wish(self, exact: Mapping[str, str], together: Wish, rng: Random) -> Wish | None:
        """Return functions for what columns that name functions ask."""
        if not exact:
            return ANY
        if self._can(together):
            return together
        known = sorted(together & self._functions)
        if known:  # they do not go together, or one of them is in no derivation
            function = known[int(rng.random() * len(known))]
            alone = frozenset((function,))
            return alone if self._can(alone) else self._with_others(function, rng)
        function = exact.get("function", "")
        if function not in self._functions:
            function = self._of_skill(exact.get("skill") or skill_of(function), rng)
        return self._with_others(function, rng) if function else ANY

    def _with_others(self, function: str, rng: Random) -> Wish | None:
        """Return a wish of a program whose first function it is: alone, or as often with others."""
        alone = frozenset((function,))
        is_alone = function not in self._leads or rng.random() < self._alone
        if not is_alone:
            for _ in range(_PARTNERS):
                partner = self._seconds[int(rng.random() * len(self._seconds))]
                if self._can(both := alone | {partner}):
                    return both
        if self._can(alone):
            return alone
        # Nothing says it first, or always with others: what was met with it.
        met = self._bags_of.get(function) or self._bags_with.get(function, ())
        met = [bag for bag in met if len(bag) <= _MOST_WISHED]
        return met[int(rng.random() * len(met))] if met else ANY

    def _of_skill(self, skill: str, rng: Random) -> str:
        """Return a function of a skill, those that come first in programs as often; or ""."""
        found = self._by_skill.get(skill, ())
        return found[int(rng.random() * len(found))] if found else ""

    def _can(self, wish: Wish) -> bool:
        return 0 < len(wish) <= _MOST_WISHED and len(self.drawer.chances(wish).cells) > 0

    @cached_property
    def _functions(self) -> frozenset[str]:
        return frozenset(self.drawer.functions())

    @cached_property
    def _by_skill(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = {}
        for pair in self._pilot.pairs:
            for name in pair.functions[:1]:
                found.setdefault(skill_of(name), []).append(name)
        for name in sorted(self._functions):  # those that come first in nothing that was drawn
            of_skill = found.setdefault(skill_of(name), [])
            if name not in of_skill:
                of_skill.append(name)
        return found

    @cached_property
    def _bags_of(self) -> Mapping[str, Sequence[Wish]]:
        """Return the functions of programs by the first one of them."""
        found: dict[str, list[Wish]] = {}
        for pair in self._pilot.pairs:
            if pair.functions:
                found.setdefault(pair.functions[0], []).append(frozenset(pair.functions))
        return found

    @cached_property
    def _bags_with(self) -> Mapping[str, Sequence[Wish]]:
        """Return the functions of programs by each of them."""
        found: dict[str, list[Wish]] = {}
        for bag in [bag for of in self._bags_of.values() for bag in of]:
            for name in bag:
                found.setdefault(name, []).append(bag)
        return found

    @cached_property
    def _leads(self) -> frozenset[str]:
        """Return the functions that others may follow."""
        bags = self._bags_of.items()
        return frozenset(name for name, of in bags if any(len(bag) > 1 for bag in of))

    @cached_property
    def _seconds(self) -> Sequence[str]:
        """Return what follows them, as often as it does."""
        pairs = self._pilot.pairs
        found = [tuple(dict.fromkeys(p.functions))[1:2] for p in pairs]
        return [name for names in found for name in names]

    @cached_property
    def _alone(self) -> float:
        """Return in which part of programs nothing follows the function that could be followed."""
        sizes = [len(bag) for name in sorted(self._leads) for bag in self._bags_of[name]]
        return sizes.count(1) / max(1, len(sizes))

    # ------------------------------------------------------------------------------- pilot

    @cached_property
    def _pilot(self) -> _Pilot:
        rng = stream(0, "grammar generator", "pilot")
        pairs: list[Example] = []
        spans: list[int] = []
        count = len(self.drawer.spans)
        for span in range(count):
            mask = np.zeros(count)
            mask[span] = 1.0
            for _ in range(_PILOT):
                found = self._joined(ANY, self.drawer.draw(ANY, rng, mask))
                if found is not None:
                    pairs.append(found.pair)
                    spans.append(span)
        return _Pilot(pairs, spans, np.bincount(spans, minlength=count).astype(float))

    def _factor(self, asked: Asked) -> F64:
        """Return how likely it is that a row of each template is as asked, shape (spans,)."""
        name = asked.extractor, asked.value
        if name not in self._factors:
            counts = self._pilot.counts
            found = np.bincount(self._pilot.spans, self._hits(asked), len(counts))
            # What was not met among few draws may be there: half a hit more.
            self._factors[name] = (found + 0.5) / (counts + 1)
        return self._factors[name]

    def _alike(self, asked: Sequence[Asked]) -> Sequence[int]:
        """Return the places of the pilot's pairs that are as asked in all."""
        found = np.logical_and.reduce([self._hits(one) for one in asked])
        places: list[int] = np.flatnonzero(found).tolist()
        return places

    def _hits(self, asked: Asked) -> npt.NDArray[np.bool_]:
        """Return which pairs of the pilot are as asked, shape (pairs,)."""
        name = asked.extractor, asked.value
        if name not in self._met:
            if asked.extractor not in self._said:
                extract = EXTRACTORS[asked.extractor]
                self._said[asked.extractor] = [extract(pair) for pair in self._pilot.pairs]
            accepted = [asked.accepts(value) for value in self._said[asked.extractor]]
            self._met[name] = np.array(accepted, bool)
        return self._met[name]
