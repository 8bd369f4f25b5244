"""Derivations as trees: a part can be replaced, and the whole is joined again by the same rules.

Synthesis builds no tree for a row: a piece holds its words and its program, and of its templates
only the names. Here a piece is kept with what it was made of, so that a derivation can be changed
at any place. What comes of it is derived by the grammar as any row is: every rule above the change
checks its guard and its children's requests again, and joins them by its own function.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from genie_dp.synthesis.chart import Checks
from genie_dp.synthesis.layout import Agreement, placeholder_of
from genie_dp.synthesis.leaves import PLAIN
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.rules import Combined, Rule, piece_of
from genie_dp.synthesis.wording import wording

Path = tuple[int, ...]
"""Where a part of a tree is: which child of the root, which child of that one, .."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A piece with what it was made of.

    Attributes:
        piece: its words and program.
        pool: its category, or the pool of a leaf (layout.py).
        rule: the rule that joined the children; None for a leaf: what stands for itself, and the
            phrases without phrases inside (a lexicon's).
    """

    piece: Piece
    pool: str
    rule: Rule | None = None
    children: tuple["Tree", ...] = ()

    @property
    def depth(self) -> int:
        """Return how many construct templates stand inside each other."""
        if self.rule is None or self.rule.is_leaf:
            return 0
        specs = self.rule.layout.children
        inner = zip(specs, self.children, strict=True)
        return 1 + max(child.depth for spec, child in inner if not spec.is_leaf)

    def at(self, path: Path) -> "Tree":
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


def grown(piece: Piece, pool: str, pools: Pools) -> Tree:
    """Return the tree of a piece of a pool; the pools must know origins."""
    origin = (pools.origins or {}).get(id(piece))
    if origin is None:
        return Tree(piece, pool)
    rule, pieces = origin
    return Tree(piece, pool, rule, grown_children(rule, pieces, pools))


def grown_children(rule: Rule, pieces: Sequence[Piece], pools: Pools) -> tuple[Tree, ...]:
    """Return the trees of the pieces that a rule joins."""
    specs = rule.layout.children
    return tuple(
        [grown(piece, spec.pool, pools) for spec, piece in zip(specs, pieces, strict=True)]
    )


@dataclass(slots=True)
class Joiner:
    """Joins trees by rules. What it knows of a rule is kept."""

    _known: dict[int, tuple[Rule, Checks, tuple[int, ...]]] = field(default_factory=dict)

    def joined(self, rule: Rule, children: Sequence[Tree], *, is_root: bool = False) -> Tree | None:
        """Return the tree of a rule over children; None where they do not go together.

        Raises:
            GenieError: a Python semantic function raised (Y010).
        """
        pieces = [child.piece for child in children]
        if not self.fits(rule, pieces):
            return None
        combined = self.combined(rule, pieces)
        if combined is None:
            return None
        piece = root_piece(combined) if is_root else piece_of(rule, pieces, combined)
        return Tree(piece, rule.category, rule, tuple(children))

    def replaced(self, tree: Tree, path: Path, part: Tree) -> Tree | None:
        """Return the tree with another part at a place; None where a rule above refuses it."""
        for depth in reversed(range(len(path))):
            parent = tree.at(path[:depth])
            assert parent.rule is not None  # it has children
            children = list(parent.children)
            children[path[depth]] = part
            found = self.joined(parent.rule, children, is_root=not depth)
            if found is None:
                return None
            part = found
        return part

    def fits(self, rule: Rule, pieces: Sequence[Piece]) -> bool:
        """Tell whether the pieces meet a rule's requests and its guard, but for late tests."""
        for spec, piece in zip(rule.layout.children, pieces, strict=True):
            if placeholder_of(spec.pool) is not None:  # nothing is asked of constants
                continue
            if bool(piece.value.gap) != (spec.gap is not None):
                return False
            if any(piece.attribute(name) not in allowed for name, allowed in spec.asked):
                return False
        checks = self._of(rule)[1]
        bound = [(piece, ()) for piece in pieces]
        return all(checks.allow(bound[: last + 1]) for last in range(len(bound)))

    def combined(self, rule: Rule, pieces: Sequence[Piece]) -> Combined | None:
        """Return pieces joined by a rule that they fit; late tests may still refuse them."""
        numbers = {i: pieces[i].features.num for i in self._of(rule)[2]}
        name = tuple(numbers.values())
        if name not in rule.wordings:
            rule.wordings[name] = wording(rule, numbers)
        return rule.wordings[name].assemble(*pieces)

    def _of(self, rule: Rule) -> tuple[Rule, Checks, tuple[int, ...]]:
        known = self._known.get(id(rule))
        if known is None:
            agreeing = {part.child for part in rule.layout.parts if isinstance(part, Agreement)}
            known = self._known[id(rule)] = rule, Checks(rule), tuple(sorted(agreeing))
        return known


def root_piece(combined: Combined) -> Piece:
    """Return a whole sentence as a piece: nothing asks for its English features."""
    return Piece(
        combined.text, combined.value, PLAIN, combined.count, combined.mask, combined.slots,
        combined.derivation,
    )  # fmt: skip
