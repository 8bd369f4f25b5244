"""A grammar read from programs to sentences: which templates may say a given program."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from genie_dp.synthesis.chart import Checks
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.describe_target import Target
from genie_dp.synthesis.describe_values import literals
from genie_dp.synthesis.layout import ChildSpec, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import GAP
from genie_dp.synthesis.rules import Rule
from genie_dp.templates import english
from genie_dp.templates.guard import compared_with

ENDS = ("first", "last")  # the words of a phrase that guards compare
# What a step costs: found by reading 300 descriptions of synthesized programs, November 2026. A
# construct is dear, so that sentences are short; a template's later alternatives, and later
# templates, are less usual than the first; what synthesis draws less often is less natural.
CONSTRUCT, LEAF = 1.0, 0.2
WEIGHT, ALTERNATIVE, RANK, WORD = 0.4, 0.12, 0.03, 0.04
MOST_RANKS, MOST_ALTERNATIVES = 20, 8
LEAF_RANK, NO_VERB = 0.02, 1.0  # "turn on the lights" rather than "the lights on please"
NAMED = 0.1  # "on twitter" tells what happens
PHRASE = 0.1  # for each phrase of a parameter that comes before


@dataclass(slots=True)
class Family:
    """The layouts of a template that have the same children: alike but for their words.

    Attributes:
        rules: (layout's rule, cost), the cheapest first.
        children: what is asked of each child.
        checks: the guard, but for what it asks of one child alone.
        slots: for each child what is asked of it alone; equal slots have equal numbers.
        order: the children by name, as bodies know them.
    """

    category: str
    rules: list[tuple[Rule, float]]
    children: tuple[ChildSpec, ...]
    checks: Checks
    order: tuple[int, ...]
    slots: tuple[int, ...] = ()

    @property
    def rule(self) -> Rule:
        """Return one of the rules, for what all have in common."""
        return self.rules[0][0]


@dataclass(slots=True)
class Said:
    """Templates of a skill with the program that they say but for constants.

    `needs` are the tokens that the program has whatever the constants are.
    """

    family: Family
    needs: Counter[str]


@dataclass(slots=True)
class TargetGrammar:
    """What all descriptions of a grammar share; indexing it takes about a second.

    Attributes:
        leaves: templates without children but constants, by the first function of their program.
        others: all other templates that are no root.
        roots: the templates of root categories.
        words: words that requests and guards compare with the first and last of a phrase.
        known: tokens of values that templates say themselves.
    """

    compiled: Compiled
    leaves: dict[str, list[Said]] = field(default_factory=dict)
    others: list[Family] = field(default_factory=list)
    roots: list[Family] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    phrases: dict[str, list[tuple[Piece, float]]] = field(default_factory=dict)
    ranks: dict[Any, dict[str, int]] = field(default_factory=dict)
    numbers: dict[Any, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sort the templates."""
        for category, rules in self.compiled.rules.items():
            for family in families(category, rules, is_root=category in self.compiled.roots):
                self._number(family)
                self._add(family)
        self.words = frozenset(self._words())
        self.known = frozenset(self._known())
        for pool, pieces in self.compiled.leaves.items():
            self.phrases[pool] = list(priced(pieces))

    def _number(self, family: Family) -> None:
        """Number what is asked of the children, so that it is decided once for all templates."""
        family.slots = tuple(
            self.numbers.setdefault(
                (child.pool, child.asked, child.gap is not None, tests), len(self.numbers)
            )
            for child, tests in zip(family.children, family.rule.tests, strict=True)
        )

    def _add(self, family: Family) -> None:
        is_leaf = all(placeholder_of(child.pool) for child in family.children)
        if family.category in self.compiled.roots:
            if is_leaf:  # a skill's own sentence: mostly short for a longer one
                add_costs(family, lambda rule: CONSTRUCT + (0 if has_verb(rule) else NO_VERB))
            self.roots.append(family)
            return
        if not is_leaf:
            self.others.append(family)
            return
        said = self._said(family)
        if said is not None:
            function = said.functions[0] if said.functions else ""
            needs = Counter(
                token for token in said.text.split()
                if not token.startswith("enum:") and not is_private(token)
            )  # fmt: skip
            self._price_leaf(family, said, function)
            self.leaves.setdefault(function, []).append(Said(family, needs))

    def _price_leaf(self, family: Family, said: Any, function: str) -> None:
        """Add to the costs of a skill's phrase: its first phrases are the usual ones."""
        ranks = self.ranks.setdefault((family.category, said.gap == "", function), {})
        rank = ranks.setdefault(family.rule.template.id, len(ranks))
        more = LEAF_RANK * min(rank, MOST_RANKS)
        is_action = said.kind == "action"
        add_costs(
            family,
            lambda rule: (
                more
                + (NO_VERB if is_action and not has_verb(rule) else 0)
                - (NAMED if names_skill(rule, function) else 0)
            ),
        )

    def _said(self, family: Family) -> Any:
        """Return the value of a template with any constants, None where there are none."""
        constants = [
            family.rule.constants.get(placeholder_of(c.pool) or "", ()) for c in family.children
        ]
        if not all(constants):
            return None
        pieces = [of_child[0] for of_child in constants]
        values = {n: p.value for n, p in zip(family.rule.names, pieces, strict=True)}
        return family.rule.body.build(values)

    def _words(self) -> Iterator[str]:
        """Yield the words that may be asked for at either end of a phrase."""
        for rules in self.compiled.rules.values():
            for rule in rules:
                for child in rule.layout.children:
                    yield from (w for n, allowed in child.asked if n in ENDS for w in allowed)
                    for name in ENDS:
                        found = compared_with(rule.guard.tests, child.name, name) or ()
                        yield from (word for word in found if isinstance(word, str))

    def _known(self) -> Iterator[str]:
        """Yield the values that stand in the bodies of templates."""
        seen = set()
        for rules in self.compiled.rules.values():
            for rule in rules:
                node = getattr(rule.body, "node", None)
                if id(rule.body) not in seen and hasattr(node, "__dataclass_fields__"):
                    seen.add(id(rule.body))
                    yield from literals(node)

    def candidates(self, target: Target) -> Iterator[Family]:
        """Yield the templates without children but constants that a program may need."""
        for function in sorted(target.functions | {""}):
            for said in self.leaves.get(function, ()):
                if target.is_policy or all(n <= target.counts[t] for t, n in said.needs.items()):
                    yield said.family


def is_private(token: str) -> bool:
    """Tell whether a token is the character of a placeholder."""
    return len(token) == 1 and "\ue000" <= token <= "\uf8ff"


def add_costs(family: Family, cost_of: Callable[[Rule], float]) -> None:
    """Add to the costs of a family's rules."""
    family.rules = [(rule, cost + cost_of(rule)) for rule, cost in family.rules]
    family.rules.sort(key=lambda pair: pair[1])


def has_verb(rule: Rule) -> bool:
    """Tell whether a rule begins with a verb."""
    words = " ".join(part if isinstance(part, str) else "$x" for part in rule.layout.parts)
    return english.starts_with_verb(words)


def names_skill(rule: Rule, function: str) -> bool:
    """Tell whether a rule says the name of the skill: @com.dropbox.move is of dropbox."""
    skill = function.rpartition(".")[0].rpartition(".")[2].replace("-", " ")
    return any(isinstance(part, str) and skill in part for part in rule.layout.parts if skill)


def families(category: str, rules: Sequence[Rule], *, is_root: bool) -> Iterator[Family]:
    """Yield the rules of a category put together by templates and children."""
    found: dict[Any, list[tuple[Rule, float]]] = {}
    ranks: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for rule in rules:
        name = rule.template.id
        rank = ranks.setdefault(name, len(ranks))
        alternative = counts[name]
        counts[name] += 1
        pools = tuple(id(pieces) for pieces in rule.constants.values())
        found.setdefault((name, rule.layout.children, pools), []).append(
            (rule, price(rule, rank, alternative, is_root=is_root))
        )
    for (_, children, _), of_family in found.items():
        of_family.sort(key=lambda pair: pair[1])
        rule = of_family[0][0]
        order = tuple(sorted(range(len(children)), key=lambda i: rule.names[i]))
        yield Family(category, of_family, children, Checks(_without_lone_tests(rule)), order)


def _without_lone_tests(rule: Rule) -> Rule:
    alone = {id(test) for of_child in rule.alone for test in of_child}
    if not alone:
        return rule
    tests = tuple(test for test in rule.guard.tests if id(test) not in alone)
    return replace(rule, guard=replace(rule.guard, tests=tests), wordings={})


def price(rule: Rule, rank: int, alternative: int, *, is_root: bool) -> float:
    """Return what it costs to say a rule, its children apart."""
    words = sum(len(part.split()) for part in rule.layout.parts if isinstance(part, str))
    weight = min(max(rule.template.weight, 0.2), 3.0)
    is_leaf = all(placeholder_of(child.pool) for child in rule.layout.children)
    is_unit = rule.layout.parts == (0,) and not is_root  # says what its child says
    return (
        (LEAF if is_leaf or is_unit else CONSTRUCT)
        - WEIGHT * math.log(weight)
        + RANK * (0 if is_leaf else min(rank, MOST_RANKS))
        + ALTERNATIVE * min(alternative, MOST_ALTERNATIVES)
        + WORD * words
    )


def priced(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, float]]:
    """Yield phrases of parameters with what they cost: the first of a sort is the usual one."""
    met: dict[Any, dict[str, int]] = {}
    for piece in pieces:
        sort = met.setdefault((piece.value.text, piece.value.gap, piece.features), {})
        index = sort.setdefault(piece.words, len(sort))
        words = len(piece.words.replace(GAP, "").split())
        yield piece, PHRASE * min(index, MOST_ALTERNATIVES) + WORD * words


def reads_words(piece: Piece, words: Mapping[str, Any] | frozenset[str]) -> tuple[str, str]:
    """Return the first and last word of a piece as far as templates ask for them.

    >>> from genie_dp.synthesis.pieces import features
    >>> reads_words(Piece("new emails", None, features()), frozenset({"new", "#"}))
    ('new', '')
    """
    first, last = piece.attribute("first"), piece.attribute("last")
    return (first if first in words else "", last if last in words else "")
