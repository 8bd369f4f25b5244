"""What may stand at a place of a derivation instead of what stands there.

Nothing here asks whether the rules above take it: `Joiner.replaced` does.
"""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.layout import placeholder_of
from genie_dp.synthesis.pieces import Piece, sort_of
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import Rule
from genie_dp.synthesis.trees import Joiner, Path, Tree, grown

_RULES = 8  # other rules that are tried over the same children
_LOOKED_AT = 16  # pieces that may be like the one that is to be replaced


@dataclass(slots=True)
class Alternatives:
    """The pieces of each category, and the rules, by what they have in common.

    Attributes:
        pools: they know origins.
    """

    compiled: Compiled
    pools: Pools
    joiner: Joiner
    _alike: dict[tuple[str, str], Mapping[Hashable, Sequence[Piece]]] = field(default_factory=dict)
    _rules: dict[tuple[str, ...], list[Rule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort the rules by what they are made of."""
        for rules in self.compiled.rules.values():
            for rule in rules:
                self._rules.setdefault(_made_of(rule), []).append(rule)

    def reworded(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return a part with the same program in other words, or None."""
        text = root.at(path).piece.text
        return self._found(root, path, "program", rng, lambda piece: piece.text != text)

    def other_value(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return a leaf of the same template with another value, or None.

        "turn the light red" for "turn the light blue"; of a table, another row.
        """
        part = root.at(path)
        if part.rule is not None:
            return None
        program = part.piece.value.text
        return self._found(root, path, "value", rng, lambda piece: piece.value.text != program)

    def same_function(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return another part that speaks of the same functions, or None."""
        text = root.at(path).piece.text
        return self._found(root, path, "functions", rng, lambda piece: piece.text != text)

    def any_function(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return any other part of the category, functions of many parts thinned out, or None."""
        part = root.at(path)
        if placeholder_of(part.pool) is not None or not path:
            return None
        by_function = self._kinds(part.pool, "function")
        is_open = bool(part.piece.value.gap)
        names = [name for name, of in by_function.items() if bool(of[0].value.gap) == is_open]
        alike = by_function[names[int(rng.random() * len(names))]]
        return grown(alike[int(rng.random() * len(alike))], part.pool, self.pools)

    def other_rule(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return the same children joined by another rule to the same program, or None."""
        part = root.at(path)
        if part.rule is None:
            return None
        others = self._rules[_made_of(part.rule)]
        for _ in range(min(_RULES, len(others) - 1)):
            rule = others[int(rng.random() * len(others))]
            if rule is part.rule:
                continue
            children = _in_order(part, rule)
            found = self.joiner.joined(rule, children, is_root=not path)
            if found is not None and found.piece.value.text == part.piece.value.text:
                return found
        return None

    # ------------------------------------------------------------------------------ pieces

    def _found(
        self, root: Tree, path: Path, kind: str, rng: Random, differs: Callable[[Piece], bool]
    ) -> Tree | None:
        """Return one of the pieces that are alike, but for what is to differ."""
        if not path:
            return None
        part = root.at(path)
        alike: Sequence[Piece]
        if placeholder_of(part.pool) is None:
            alike = self._kinds(part.pool, kind)[_KINDS[kind](part.piece)]
        else:
            alike = _constants(root.at(path[:-1]), part.pool) if kind == "value" else ()
        start = int(rng.random() * len(alike))
        for number in range(min(_LOOKED_AT, len(alike))):
            piece = alike[(start + number) % len(alike)]
            if differs(piece):
                return grown(piece, part.pool, self.pools)
        return None

    def _kinds(self, pool: str, kind: str) -> Mapping[Hashable, Sequence[Piece]]:
        """Return the pieces of a pool by what those of a kind have in common."""
        if (pool, kind) not in self._alike:
            found: dict[Hashable, list[Piece]] = {}
            read = _KINDS[kind]
            for piece in self._pieces(pool):
                found.setdefault(read(piece), []).append(piece)
            self._alike[pool, kind] = _Groups(found)
        return self._alike[pool, kind]

    def _pieces(self, pool: str) -> Iterator[Piece]:
        if pool in self.compiled.leaves:
            yield from self.compiled.leaves[pool]
        for level in self.pools.levels.get(pool, ()):
            yield from level


class _Groups(dict[Hashable, Sequence[Piece]]):
    """Pieces by key; a part that was varied may be like none of them."""

    def __missing__(self, key: Hashable) -> Sequence[Piece]:
        return ()


def _function(piece: Piece) -> str:
    return str(getattr(piece.value.state, "function", ""))


def _same_program(piece: Piece) -> Hashable:
    value = piece.value
    return value.text, value.functions, value.gap, _function(piece), piece.features.pos


def _same_sort(piece: Piece) -> Hashable:
    sort = "" if piece.attributes else piece.sort or sort_of(piece)
    return piece.derivation, piece.value.functions, sort


def _same_functions(piece: Piece) -> Hashable:
    return piece.value.functions, _function(piece), piece.value.gap, piece.features.pos


def _speaks_of(piece: Piece) -> tuple[Hashable, bool]:
    return (piece.value.functions, _function(piece)), bool(piece.value.gap)


_KINDS: Mapping[str, Callable[[Piece], Any]] = {
    "program": _same_program,
    "value": _same_sort,
    "functions": _same_functions,
    "function": _speaks_of,
}


def _constants(parent: Tree, pool: str) -> Sequence[Piece]:
    name = placeholder_of(pool)
    assert parent.rule is not None  # a constant stands below a rule
    assert name is not None
    return parent.rule.constants[name]


def _made_of(rule: Rule) -> tuple[str, ...]:
    """Return the category of a rule, and the pools of its children in no order."""
    return rule.category, *sorted(spec.pool for spec in rule.layout.children)


def _in_order(part: Tree, rule: Rule) -> list[Tree]:
    """Return the children of a part in the order in which another rule takes them."""
    left = list(part.children)
    found = []
    for spec in rule.layout.children:
        place = next(i for i, child in enumerate(left) if child.pool == spec.pool)
        found.append(left.pop(place))
    return found
