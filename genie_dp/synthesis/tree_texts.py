"""Derivations as text, which another process reads again: templates by id, leaves by their words.

    ["get#0",["filter#0","my emails#0",["more#0","larger than ____#2","MEASURE_byte_0#0"]]]

A template's number says which of its ways to be said it is, a leaf's which of those with its words.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from genie_dp.errors import GenieError, Problem
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.explain import named
from genie_dp.synthesis.layout import placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import Rule
from genie_dp.synthesis.trees import Joiner, Tree

Plain = str | list["Plain"]


@dataclass(slots=True)
class TreeTexts:
    """Writes and reads the derivations of one grammar.

    Attributes:
        pools: the leaves of the categories are their pieces of depth 0.
    """

    compiled: Compiled
    pools: Pools
    joiner: Joiner
    _rules: dict[str, Rule] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _labels: dict[int, dict[int, str]] = field(default_factory=dict)
    _leaves: dict[int, dict[str, Piece]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number the rules of every template."""
        counts: dict[str, int] = {}
        for rules in self.compiled.rules.values():
            for rule in rules:
                number = counts.get(rule.template.id, 0)
                counts[rule.template.id] = number + 1
                name = f"{rule.template.id}#{number}"
                self._rules[name], self._names[id(rule)] = rule, name

    def text(self, tree: Tree) -> str:
        """Return the text of a derivation."""
        return json.dumps(self._plain(tree, ()), ensure_ascii=False, separators=(",", ":"))

    def read(self, text: str) -> Tree:
        """Return the derivation of a text.

        Raises:
            GenieError: Y061, it is no derivation of this grammar.
        """
        try:
            plain = json.loads(text)
        except json.JSONDecodeError:
            raise _foreign("it cannot be read") from None
        if not isinstance(plain, list):
            raise _foreign("it has no template")
        return self._node(plain, is_root=True)

    # ------------------------------------------------------------------------------ writing

    def _plain(self, tree: Tree, leaves: Sequence[Piece]) -> Plain:
        if tree.rule is None:
            return self._labels_of(leaves)[id(tree.piece)]
        lists = self._lists(tree.rule)
        children = zip(tree.children, lists, strict=True)
        return [self._names[id(tree.rule)], *(self._plain(*pair) for pair in children)]

    # ------------------------------------------------------------------------------ reading

    def _node(self, plain: list[Plain], *, is_root: bool) -> Tree:
        rule = self._rules.get(plain[0]) if plain and isinstance(plain[0], str) else None
        if rule is None:
            raise _foreign(f"no template {plain[:1]}")
        specs = rule.layout.children
        if len(specs) != len(plain) - 1:
            raise _foreign(f"{plain[0]} has {len(specs)} children")
        children = [
            self._child(part, spec.pool, leaves)
            for part, spec, leaves in zip(plain[1:], specs, self._lists(rule), strict=True)
        ]
        found = self.joiner.joined(rule, children, is_root=is_root)
        if found is None:
            raise _foreign(f"the children of {plain[0]} do not go together")
        return found

    def _child(self, plain: Plain, pool: str, leaves: Sequence[Piece]) -> Tree:
        if not isinstance(plain, str):
            found = self._node(plain, is_root=False)
            if found.pool != pool:
                raise _foreign(f"{found.pool} where {pool} is expected")
            return found
        self._labels_of(leaves)
        piece = self._leaves[id(leaves)].get(plain)
        if piece is None:
            raise _foreign(f"no {pool} {plain!r}")
        return Tree(piece, pool)

    # ------------------------------------------------------------------------------- leaves

    def _lists(self, rule: Rule) -> Iterator[Sequence[Piece]]:
        """Yield, for every child, the leaves of which it may be."""
        for spec in rule.layout.children:
            name = placeholder_of(spec.pool)
            if name is not None:
                yield rule.constants[name]
            elif spec.is_leaf:
                yield self.compiled.leaves[spec.pool]
            else:
                yield self.pools.levels[spec.pool][0]

    def _labels_of(self, leaves: Sequence[Piece]) -> dict[int, str]:
        if id(leaves) not in self._labels:
            counts: dict[str, int] = {}
            labels = self._labels[id(leaves)] = {}
            known = self._leaves[id(leaves)] = {}
            for piece in leaves:
                words = named(piece.text, self.compiled.placeholders)
                label = f"{words}#{counts.get(words, 0)}"
                counts[words] = counts.get(words, 0) + 1
                labels[id(piece)], known[label] = label, piece
        return self._labels[id(leaves)]


def _foreign(why: str) -> GenieError:
    message = f"this is no derivation of the grammar: {why}"
    return GenieError(Problem("Y061", message, hint="it was made with other skills or templates"))
