"""Derivations as trees: a part can be replaced, and the whole is joined again by the same rules.

Synthesis builds no tree for a row: a piece holds its words and its program, and of its templates
only the names. Here a piece is kept with the pieces it was made of, so that a derivation can be
changed at any place. The grammar derives the result as it does any row: every rule above the change
checks its guard and its children's requests again, and joins them by its own function.
`Alternatives` finds replacements for a place; `TreeTexts` writes trees for other processes.
"""

import json
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.records import Example, Slot
from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import Checks
from genie_dp.synthesis.compiler import PLAIN, CompiledGrammar
from genie_dp.synthesis.pieces import Piece, sort_of
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import Agreement, Combined, GrammarRule, piece_of, placeholder_of

Path = tuple[int, ...]
"""Where a part of a tree is: which child of the root, which child of that one, .."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A piece with the rule and the parts that it was made of.

    Attributes:
        piece: its words and program.
        pool: its category, or the pool of a leaf (rules.py).
        rule: the rule that joined the children; None for a leaf: pieces that stand for themselves,
            and the phrases without phrases inside (a lexicon's).
    """

    piece: Piece
    pool: str
    rule: GrammarRule | None = None
    children: tuple["Tree", ...] = ()

    @property
    def depth(self) -> int:
        """Return how many construct templates stand inside each other."""
        if self.rule is None or self.rule.is_leaf:
            return 0
        specs = self.rule.layout.children
        inner = zip(specs, self.children, strict=True)
        return 1 + max(child.depth for spec, child in inner if not spec.is_leaf)

    def part_at(self, path: Path) -> "Tree":
        """Return the part at a place."""
        part = self
        for index in path:
            part = part.children[index]
        return part

    def parts(self, path: Path = ()) -> Iterator[tuple[Path, "Tree"]]:
        """Yield every part with its place, the tree itself first."""
        yield path, self
        for index, child in enumerate(self.children):
            yield from child.parts((*path, index))


def tree_of_piece(piece: Piece, pool: str, pools: Pools) -> Tree:
    """Return the tree of a piece of a pool; the pools must know origins."""
    origin = (pools.origins or {}).get(id(piece))
    if origin is None:
        return Tree(piece, pool)
    rule, pieces = origin
    return Tree(piece, pool, rule, trees_of_pieces(rule, pieces, pools))


def trees_of_pieces(rule: GrammarRule, pieces: Sequence[Piece], pools: Pools) -> tuple[Tree, ...]:
    """Return the trees of the pieces that a rule joins."""
    specs = rule.layout.children
    return tuple(
        [tree_of_piece(piece, spec.pool, pools) for spec, piece in zip(specs, pieces, strict=True)]
    )


@dataclass(slots=True)
class Joiner:
    """Joins trees by rules, and caches the checks of each rule."""

    _known: dict[int, tuple[GrammarRule, Checks, tuple[int, ...]]] = field(default_factory=dict)

    def join(
        self, rule: GrammarRule, children: Sequence[Tree], *, is_root: bool = False
    ) -> Tree | None:
        """Return the tree of a rule over children; None where they do not go together.

        Raises:
            GenieError: a Python semantic function raised (Y010).
        """
        pieces = [child.piece for child in children]
        if not self.fits(rule, pieces):
            return None
        combined = self.combine(rule, pieces)
        if combined is None:
            return None
        piece = root_piece(combined) if is_root else piece_of(rule, pieces, combined)
        return Tree(piece, rule.category, rule, tuple(children))

    def replace_part(self, tree: Tree, path: Path, part: Tree) -> Tree | None:
        """Return the tree with another part at a place; None where a rule above refuses it."""
        for depth in reversed(range(len(path))):
            parent = tree.part_at(path[:depth])
            assert parent.rule is not None  # it has children
            children = list(parent.children)
            children[path[depth]] = part
            tree_above = self.join(parent.rule, children, is_root=not depth)
            if tree_above is None:
                return None
            part = tree_above
        return part

    def fits(self, rule: GrammarRule, pieces: Sequence[Piece]) -> bool:
        """Return whether the pieces meet a rule's requests and its guard, but for late tests."""
        for spec, piece in zip(rule.layout.children, pieces, strict=True):
            if placeholder_of(spec.pool) is not None:  # nothing is asked of constants
                continue
            if bool(piece.value.gap) != (spec.gap is not None):
                return False
            if any(piece.attribute(name) not in allowed for name, allowed in spec.asked):
                return False
        checks = self._checks(rule)[1]
        bound = [(piece, ()) for piece in pieces]
        return all(checks.allow(bound[: last + 1]) for last in range(len(bound)))

    def combine(self, rule: GrammarRule, pieces: Sequence[Piece]) -> Combined | None:
        """Return pieces joined by a rule that they fit; late tests may still refuse them."""
        numbers = {i: pieces[i].features.num for i in self._checks(rule)[2]}
        name = tuple(numbers.values())
        if name not in rule.wordings:
            rule.wordings[name] = wording(rule, numbers)
        return rule.wordings[name].assemble(*pieces)

    def _checks(self, rule: GrammarRule) -> tuple[GrammarRule, Checks, tuple[int, ...]]:
        checked = self._known.get(id(rule))
        if checked is None:
            agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
            checked = self._known[id(rule)] = rule, Checks(rule), tuple(sorted(agreeing))
        return checked


def root_piece(combined: Combined) -> Piece:
    """Return a whole sentence as a piece: nothing reads its English features."""
    return Piece(
        combined.text, combined.value, PLAIN, combined.count, combined.mask, combined.slots,
        combined.derivation,
    )  # fmt: skip


# ----------------------------------------------------------------------------------- rows of trees


def pair_of(piece: Piece, compiled: CompiledGrammar) -> Example:
    """Return the pair of a whole sentence: its words and program, without the other fields."""
    words, program = piece.words, piece.value.text
    for character, token in compiled.placeholders.names_in(piece.count) if piece.mask else ():
        words, program = words.replace(character, token), program.replace(character, token)
    return Example(
        "", words, program, compiled.language.name, functions=tuple(piece.value.functions)
    )


def row_of(tree: Tree, compiled: CompiledGrammar, pair: Example | None = None) -> Example:
    """Return the row of a derivation; `pair` is the result of `pair_of`, if it is known."""
    piece = tree.piece
    slots = f"{{{piece.slots}}}"
    for character, token in compiled.placeholders.names_in(piece.count) if piece.mask else ():
        slots = slots.replace(character, token)
    return replace(
        pair or pair_of(piece, compiled),
        derivation=tuple(json.loads(f"[{piece.derivation}]")),
        depth=tree.depth,
        slots={token: Slot(**slot) for token, slot in json.loads(slots).items()},
    )


# ----------------------------------------------------------------------------------- trees as text
# ["get#0",["filter#0","my emails#0",["more#0","larger than ____#2","MEASURE_byte_0#0"]]]
# A template's number says which of its ways to be said it is, a leaf's which of those with its
# words.

Plain = str | list["Plain"]


@dataclass(slots=True)
class TreeTexts:
    """Writes and reads the derivations of one grammar.

    Attributes:
        pools: the leaves of the categories are their pieces of depth 0.
    """

    compiled: CompiledGrammar
    pools: Pools
    joiner: Joiner
    _rules: dict[str, GrammarRule] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _labels: dict[int, dict[int, str]] = field(default_factory=dict)
    _leaves: dict[int, dict[str, Piece]] = field(default_factory=dict)

    def __post_init__(self) -> None:
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
            raise _no_derivation("it cannot be read") from None
        if not isinstance(plain, list):
            raise _no_derivation("it has no template")
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
            raise _no_derivation(f"no template {plain[:1]}")
        specs = rule.layout.children
        if len(specs) != len(plain) - 1:
            raise _no_derivation(f"{plain[0]} has {len(specs)} children")
        children = [
            self._child(part, spec.pool, leaves)
            for part, spec, leaves in zip(plain[1:], specs, self._lists(rule), strict=True)
        ]
        tree = self.joiner.join(rule, children, is_root=is_root)
        if tree is None:
            raise _no_derivation(f"the children of {plain[0]} do not go together")
        return tree

    def _child(self, plain: Plain, pool: str, leaves: Sequence[Piece]) -> Tree:
        if not isinstance(plain, str):
            tree = self._node(plain, is_root=False)
            if tree.pool != pool:
                raise _no_derivation(f"{tree.pool} where {pool} is expected")
            return tree
        self._labels_of(leaves)
        piece = self._leaves[id(leaves)].get(plain)
        if piece is None:
            raise _no_derivation(f"no {pool} {plain!r}")
        return Tree(piece, pool)

    # ------------------------------------------------------------------------------- leaves

    def _lists(self, rule: GrammarRule) -> Iterator[Sequence[Piece]]:
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
            by_label = self._leaves[id(leaves)] = {}
            for piece in leaves:
                words = self.compiled.placeholders.show(piece.text)
                label = f"{words}#{counts.get(words, 0)}"
                counts[words] = counts.get(words, 0) + 1
                labels[id(piece)], by_label[label] = label, piece
        return self._labels[id(leaves)]


def _no_derivation(why: str) -> GenieError:
    message = f"this is no derivation of the grammar: {why}"
    return GenieError(Problem("Y061", message, hint="it was made with other skills or templates"))


# ----------------------------------------------------------------------- what may stand at a place
# Nothing here asks whether the rules above take it: `Joiner.replace_part` does.

_RULES = 8  # other rules that are tried over the same children
_LOOKED_AT = 16  # pieces that may be like the one that is to be replaced


@dataclass(slots=True)
class Alternatives:
    """The pieces of each category, and the rules, by their common properties.

    Attributes:
        pools: they know origins.
    """

    compiled: CompiledGrammar
    pools: Pools
    joiner: Joiner
    _alike: dict[tuple[str, str], Mapping[Hashable, Sequence[Piece]]] = field(default_factory=dict)
    _rules: dict[tuple[str, ...], list[GrammarRule]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for rules in self.compiled.rules.values():
            for rule in rules:
                self._rules.setdefault(_made_of(rule), []).append(rule)

    def reword(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return a part with the same program in other words, or None."""
        text = root.part_at(path).piece.text
        return self._find(root, path, "program", rng, lambda piece: piece.text != text)

    def other_value(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return a leaf of the same template with another value, or None.

        "turn the light red" for "turn the light blue"; of a table, another row.
        """
        part = root.part_at(path)
        if part.rule is not None:
            return None
        program = part.piece.value.text
        return self._find(root, path, "value", rng, lambda piece: piece.value.text != program)

    def same_function(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return another part with the same functions, or None."""
        text = root.part_at(path).piece.text
        return self._find(root, path, "functions", rng, lambda piece: piece.text != text)

    def any_function(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return any other part of the category, functions of many parts thinned out, or None."""
        part = root.part_at(path)
        if placeholder_of(part.pool) is not None or not path:
            return None
        by_function = self._kinds(part.pool, "function")
        is_open = bool(part.piece.value.gap)
        names = [name for name, of in by_function.items() if bool(of[0].value.gap) == is_open]
        alike = by_function[names[int(rng.random() * len(names))]]
        return tree_of_piece(alike[int(rng.random() * len(alike))], part.pool, self.pools)

    def other_rule(self, root: Tree, path: Path, rng: Random) -> Tree | None:
        """Return the same children joined by another rule to the same program, or None."""
        part = root.part_at(path)
        if part.rule is None:
            return None
        others = self._rules[_made_of(part.rule)]
        for _ in range(min(_RULES, len(others) - 1)):
            rule = others[int(rng.random() * len(others))]
            if rule is part.rule:
                continue
            children = _in_order(part, rule)
            tree = self.joiner.join(rule, children, is_root=not path)
            if tree is not None and tree.piece.value.text == part.piece.value.text:
                return tree
        return None

    # ------------------------------------------------------------------------------ pieces

    def _find(
        self, root: Tree, path: Path, kind: str, rng: Random, differs: Callable[[Piece], bool]
    ) -> Tree | None:
        """Return a piece of the same key that differs from the part, or None."""
        if not path:
            return None
        part = root.part_at(path)
        alike: Sequence[Piece]
        if placeholder_of(part.pool) is None:
            alike = self._kinds(part.pool, kind)[_KINDS[kind](part.piece)]
        else:
            alike = _constants(root.part_at(path[:-1]), part.pool) if kind == "value" else ()
        start = int(rng.random() * len(alike))
        for number in range(min(_LOOKED_AT, len(alike))):
            piece = alike[(start + number) % len(alike)]
            if differs(piece):
                return tree_of_piece(piece, part.pool, self.pools)
        return None

    def _kinds(self, pool: str, kind: str) -> Mapping[Hashable, Sequence[Piece]]:
        """Return the pieces of a pool by the key of a kind, which all in a group share."""
        if (pool, kind) not in self._alike:
            by_kind: dict[Hashable, list[Piece]] = {}
            read = _KINDS[kind]
            for piece in self._pieces(pool):
                by_kind.setdefault(read(piece), []).append(piece)
            self._alike[pool, kind] = _Groups(by_kind)
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


def _made_of(rule: GrammarRule) -> tuple[str, ...]:
    """Return the category of a rule, and the pools of its children in no order."""
    return rule.category, *sorted(spec.pool for spec in rule.layout.children)


def _in_order(part: Tree, rule: GrammarRule) -> list[Tree]:
    """Return the children of a part in the order in which another rule takes them."""
    rest = list(part.children)
    children = []
    for spec in rule.layout.children:
        place = next(i for i, child in enumerate(rest) if child.pool == spec.pool)
        children.append(rest.pop(place))
    return children
