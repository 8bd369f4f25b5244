"""Templates compiled: each becomes rules that join pieces into a longer piece."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.languages.base import Fragment, Value
from genie_dp.synthesis.layout import Layout, OwnDeterminer
from genie_dp.synthesis.pieces import Piece, features
from genie_dp.synthesis.placeholders import Placeholders
from genie_dp.templates import english
from genie_dp.templates.ast import Template
from genie_dp.templates.guard import Constant, Guard, Test, renamed


@dataclass(slots=True)
class Rule:
    """One layout of a template.

    Attributes:
        reads: for every child, the attributes on which the rule depends: two pieces that agree in
            them, and pass the child's own tests, are alike for this rule.
        apart: for every attribute of `reads`, the constants that its values are compared with,
            where nothing else is asked of it (all other values are alike), or None.
        head: index of the child that hands on its English features, or None.
        subject: index of the noun phrase with which waiting words of other children agree.
        alone: for every child, the tests of the guard that look at it alone.
        tests: the same with the child's name left out, so that rules share groups of pieces.
        late: tests that two children differ: decided for each draw, since a cell for each pair of
            different values would be more cells than draws, and nearly all draws pass.
        wordings: how to say it, by the numbers of the children with which words agree.
        constants: placeholder -> the pieces of its constants, or of its gap.
        fills: JSON of what each placeholder child fills, by index of the child.
        is_phrase: it makes noun phrases, which have determiners.
        partners: constant -> the child whose parameter it is compared with, both as indices.
    """

    template: Template
    layout: Layout
    body: Fragment
    placeholders: Placeholders
    guard: Guard
    alone: tuple[tuple[Test, ...], ...]
    reads: tuple[tuple[str, ...], ...]
    apart: tuple[tuple[frozenset[Constant] | None, ...], ...]
    head: int | None
    subject: int | None
    constants: Mapping[str, Sequence[Piece]]
    fills: Mapping[int, str]
    partners: Mapping[int, int]
    fixed: Mapping[str, str] = field(default_factory=dict)
    late: tuple[Test, ...] = ()
    tests: tuple[tuple[Test, ...], ...] = ()
    wordings: dict[tuple[str, ...], "Wording"] = field(default_factory=dict)
    label: str = ""
    names: tuple[str, ...] = ()
    is_phrase: bool = True
    is_leaf: bool = False
    is_nested: bool = False

    def __post_init__(self) -> None:
        """Keep what the inner loop asks for: tests, the id as JSON text, names, two facts.

        A rule is a leaf if it has no child but built-in ones: its results have depth 0. It is
        nested if one child stands in the gap of another.
        """
        self.tests = tuple(
            tuple(renamed(test, {child.name: ""}) for test in tests)
            for child, tests in zip(self.layout.children, self.alone, strict=True)
        )
        self.label = json.dumps(self.template.id)
        self.names = tuple(child.name for child in self.layout.children)
        self.is_leaf = all(child.is_leaf for child in self.layout.children)
        self.is_nested = any(child.gap == "" for child in self.layout.children)

    @property
    def category(self) -> str:
        """Return the category of the result."""
        return self.template.category


@dataclass(slots=True)
class Combined:
    """What comes of joining pieces: a row's raw material."""

    text: str
    value: Value
    count: int
    mask: int
    slots: str
    derivation: str


@dataclass(frozen=True, slots=True)
class Wording:
    """A rule with the forms of its words chosen.

    Attributes:
        text: its words, with {} where children are said.
        assemble: the function from one piece for each child to the pieces joined, or None where
            they do not go together.
    """

    text: str
    assemble: Callable[..., Combined | None]


def piece_of(rule: Rule, pieces: Sequence[Piece], combined: Combined) -> Piece:
    """Return the result as a piece that further templates may use, with its English features."""
    det, own, words = _determiner(rule, pieces, combined.text)
    return Piece(
        words,
        combined.value,
        features(_number(rule, pieces, combined.text), det, own, _form(rule, pieces), ""),
        combined.count,
        combined.mask,
        combined.slots,
        combined.derivation,
    )


def _determiner(rule: Rule, pieces: Sequence[Piece], text: str) -> tuple[str, str, str]:
    """Return (determiner's words, its sort, the words after it)."""
    if not rule.is_phrase:
        return "", "none", text
    first = rule.layout.parts[0] if rule.layout.parts else ""
    if rule.head is not None and first in (rule.head, OwnDeterminer(rule.head)):
        head = pieces[rule.head].features
        if rule.layout.children[rule.head].print_as in ("own", "any") and text.startswith(head.det):
            return head.det, head.own, text[len(head.det) :].lstrip()
    guessed, rest = english.split_determiner(text)
    own = rule.fixed.get("det", str(guessed))
    return text[: len(text) - len(rest)].strip(), own, rest


def _number(rule: Rule, pieces: Sequence[Piece], text: str) -> str:
    if "num" in rule.fixed:
        return rule.fixed["num"]
    if rule.head is not None:
        return pieces[rule.head].features.num
    for piece in pieces:
        if piece.features.pos == "self" and rule.subject is not None:
            return pieces[rule.subject].features.num
        if piece.features.pos:
            return piece.features.num
    return english.number_of(text) if rule.is_leaf else "sg"


def _form(rule: Rule, pieces: Sequence[Piece]) -> str:
    if "form" in rule.fixed:
        return rule.fixed["form"]
    if rule.head is not None:
        return pieces[rule.head].features.form
    around = "np" if rule.subject is None else pieces[rule.subject].features.form
    return "long" if around == "long" else "np"
