"""Variations of a derivation: other words, other values, a part drawn anew."""

from collections.abc import Callable, Iterator
from math import exp
from random import Random

from genie_dp.private.evolution.grammar_draws import Draw, Draws
from genie_dp.synthesis.alternatives import Alternatives
from genie_dp.synthesis.tree_rows import pair_of
from genie_dp.synthesis.trees import Joiner, Path, Tree

_TRIES = 20  # of the kind that the strength asks for, and then of gentler ones
# How closely the share of the words that are drawn anew follows the strength.
_CLOSENESS = 6.0

Move = Callable[[Tree, Path, Random], Tree | None]


class Variations:
    """Varies derivations of one engine."""

    def __init__(self, draws: Draws, joiner: Joiner):
        """Take what draws derivations of the engine."""
        engine = draws.engine
        self._draws, self._joiner = draws, joiner
        self._compiled, self._depth = engine.compiled, engine.config.max_depth
        self._alternatives = Alternatives(engine.compiled, engine.pools, joiner)

    def of(self, tree: Tree, strength: float, rng: Random) -> Iterator[Draw]:
        """Yield variations of a derivation, none of which has its sentence, up to a bound."""
        for _ in range(_TRIES):
            is_gentle = rng.random() >= strength
            found = self._gentle(tree, rng) if is_gentle else self._anew(tree, strength, rng)
            if found is not None and self._is_new(found, tree):
                yield self._drawn(found)
        for _ in range(_TRIES):
            found = self._gentle(tree, rng)
            if found is not None and self._is_new(found, tree):
                yield self._drawn(found)

    def _is_new(self, found: Tree, tree: Tree) -> bool:
        return found.piece.words != tree.piece.words and found.depth <= self._depth

    def _drawn(self, tree: Tree) -> Draw:
        return Draw(tree, pair_of(tree.piece, self._compiled))

    def _gentle(self, tree: Tree, rng: Random) -> Tree | None:
        """Return the derivation with one part said otherwise, or with another value."""
        alternatives = self._alternatives
        moves: tuple[Move, ...] = (
            alternatives.reworded,
            alternatives.other_rule,
            alternatives.other_value,
        )
        paths = [path for path, _ in tree.parts()]
        path = paths[int(rng.random() * len(paths))]
        first = int(rng.random() * len(moves))
        for move in (*moves[first:], *moves[:first]):
            part = move(tree, path, rng)
            if part is not None:
                return self._joiner.replaced(tree, path, part)
        return None

    def _anew(self, tree: Tree, strength: float, rng: Random) -> Tree | None:
        """Return the derivation with a part drawn anew that has about a share of its words."""
        path = self._part(tree, strength, rng)
        is_same = rng.random() >= strength
        if not path:
            return self._root(tree, rng, is_same=is_same or rng.random() < 0.5)
        draw = self._alternatives.same_function if is_same else self._alternatives.any_function
        part = draw(tree, path, rng)
        return None if part is None else self._joiner.replaced(tree, path, part)

    def _part(self, tree: Tree, strength: float, rng: Random) -> Path:
        words = max(1, len(tree.piece.text.split()))
        paths, weights = [], []
        for path, part in tree.parts():
            share = len(part.piece.text.split()) / words
            paths.append(path)
            weights.append(exp(-_CLOSENESS * abs(share - strength)))
        return rng.choices(paths, weights)[0]

    def _root(self, tree: Tree, rng: Random, *, is_same: bool) -> Tree | None:
        """Return another derivation: of the same functions, or with the same template on top."""
        if is_same:
            found = self._draws.draw(frozenset(tree.piece.value.functions), (), rng)
        else:
            assert tree.rule is not None  # a whole sentence is no leaf
            found = self._draws.of_template(tree.rule.template.id, rng)
        return None if found is None else found.tree
