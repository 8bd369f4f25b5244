"""A grammar read from programs to sentences: which templates may say a given program."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from genie_dp.synthesis.chart import Checks
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.describe_costs import price, price_of_sentence, price_of_skill, priced
from genie_dp.synthesis.describe_target import Target
from genie_dp.synthesis.describe_values import literals
from genie_dp.synthesis.layout import Agreement, ChildSpec, placeholder_of
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.rules import Combined, Rule, Wording
from genie_dp.synthesis.wording import wording
from genie_dp.templates.guard import compared_with

ENDS = ("first", "last")  # the words of a phrase that guards compare
NEVER = "<never>"  # no program has this token
_FUNCTION = re.compile(r"@[\w.-]+")


@dataclass(slots=True)
class Family:
    """The layouts of a template that have the same children: alike but for their words.

    Attributes:
        rules: (layout's rule, cost), the cheapest first.
        children: what is asked of each child.
        checks: the guard, but for what it asks of one child alone.
        slots: for each child what is asked of it alone; equal slots have equal numbers.
        order: the children by name, as bodies know them.
        names_functions: whether the program may have functions that no child has.
        cells: the categories of the children.
    """

    category: str
    rules: list[tuple[Rule, float]]
    children: tuple[ChildSpec, ...]
    checks: Checks
    order: tuple[int, ...]
    names_functions: bool
    slots: tuple[int, ...] = ()
    cells: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Name the categories once."""
        self.cells = tuple(child.pool for child in self.children if not child.is_leaf)

    def add_costs(self, cost_of: Callable[[Rule], float]) -> None:
        """Add to the costs of the rules."""
        self.rules = [(rule, cost + cost_of(rule)) for rule, cost in self.rules]
        self.rules.sort(key=lambda pair: pair[1])

    @property
    def rule(self) -> Rule:
        """Return one of the rules, for what all have in common."""
        return self.rules[0][0]


@dataclass(slots=True)
class Said:
    """Templates of a skill with the program that they say but for constants.

    Attributes:
        functions: those of the program.
        function: the first of them, "" for none.
        rank: how many templates of the category came before that say the same function.
        needs: the tokens that the program has whatever the constants are, once somebody asked.
    """

    family: Family
    functions: frozenset[str]
    function: str
    rank: int
    needs: Counter[str] | None = None


@dataclass(slots=True)
class TargetGrammar:
    """What all descriptions of a grammar share; indexing it takes about a second.

    Attributes:
        leaves: templates without children but constants, by the first function of their program.
        others: all other templates that are no root.
        roots: the templates of root categories.
        words: words that requests and guards compare with the first and last of a phrase.
        known: tokens of values that templates say themselves.
        named: for each of the roots, functions that all its programs have.
        good: id of a phrase -> number of a slot -> whether it fits; charts fill it in.
    """

    compiled: Compiled
    leaves: dict[str, list[Said]] = field(default_factory=dict)
    others: list[Family] = field(default_factory=list)
    roots: list[Family] = field(default_factory=list)
    words: frozenset[str] = frozenset()
    known: frozenset[str] = frozenset()
    phrases: dict[str, list[tuple[Piece, float]]] = field(default_factory=dict)
    named: list[frozenset[str]] = field(default_factory=list)
    good: dict[int, dict[int, bool]] = field(default_factory=dict)
    _places: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    _agreeing: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _wordings: dict[Any, Wording] = field(default_factory=dict)
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
            for place, (piece, _) in enumerate(self.phrases[pool]):
                self._places.setdefault(pool, {}).setdefault(_owner(piece), []).append(place)

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
            if is_leaf:
                family.add_costs(price_of_sentence)
            self.roots.append(family)
            self.named.append(frozenset(self._functions(family) if is_leaf else ()))
        elif is_leaf:
            functions = self._functions(family)
            first = functions[0] if functions else ""
            ranks = self.ranks.setdefault((family.category, first), {})
            rank = ranks.setdefault(family.rule.template.id, len(ranks))
            said = Said(family, frozenset(functions), first, rank)
            self.leaves.setdefault(first, []).append(said)
        else:
            self.others.append(family)

    def _functions(self, family: Family) -> tuple[str, ...]:
        """Return the functions of a template without children but constants."""
        functions = tuple(dict.fromkeys(_FUNCTION.findall(family.rule.template.body_text)))
        return functions or tuple(getattr(self._said(family), "functions", ()))

    def _needs(self, said: Said) -> Counter[str]:
        """Return what a template needs; when asked first, with its costs."""
        if said.needs is None:
            value = self._said(said.family)
            said.needs = Counter(
                token for token in (value.text.split() if value is not None else (NEVER,))
                if not token.startswith("enum:") and not is_private(token)
            )  # fmt: skip
            is_action = value is not None and value.kind == "action"
            said.family.add_costs(
                lambda rule: price_of_skill(rule, said.rank, said.function, is_action=is_action)
            )
        return said.needs

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
                if said.functions <= target.functions:
                    needs = self._needs(said).items()
                    if target.is_policy or all(n <= target.counts[t] for t, n in needs):
                        yield said.family

    def sentences(self, target: Target) -> Iterator[Family]:
        """Yield the templates of roots, but those that name functions that a program lacks."""
        for family, functions in zip(self.roots, self.named, strict=True):
            if target.is_policy or functions <= target.functions:
                yield family

    def phrases_of(self, pool: str, functions: frozenset[str]) -> Iterator[tuple[Piece, float]]:
        """Yield the phrases of a pool, of parameters those of some functions, in their order."""
        places = self._places.get(pool, {})
        for place in sorted(at for owner in ("", *functions) for at in places.get(owner, ())):
            yield self.phrases[pool][place]

    def assembled(self, rule: Rule, pieces: Sequence[Piece]) -> Combined | None:
        """Return pieces joined by a rule, None where they do not go together."""
        name = id(rule)
        if name not in self._agreeing:
            parts = (part.child for part in rule.layout.parts if isinstance(part, Agreement))
            self._agreeing[name] = tuple(dict.fromkeys(parts))
        numbers = tuple([pieces[index].features.num for index in self._agreeing[name]])
        found = self._wordings.get((name, numbers))
        if found is None:
            said = dict(zip(self._agreeing[name], numbers, strict=True))
            found = self._wordings[name, numbers] = wording(rule, said)
        return found.assemble(*pieces)


def _owner(piece: Piece) -> str:
    """Return the function of a phrase of a parameter, "" for all other phrases."""
    return getattr(piece.value.state, "function", "") if piece.value.kind == "param" else ""


def is_private(token: str) -> bool:
    """Tell whether a token is the character of a placeholder."""
    return len(token) == 1 and "\ue000" <= token <= "\uf8ff"


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
        checks = Checks(_without_lone_tests(rule))
        yield Family(category, of_family, children, checks, order, _names_functions(rule))


def _names_functions(rule: Rule) -> bool:
    """Tell whether a body may name functions: none of ThingTalk does without an "@"."""
    template = rule.template
    joins_children = (
        template.python is None and template.tree is None and "=>" in template.body_text
    )
    return not joins_children or "@" in template.body_text


def _without_lone_tests(rule: Rule) -> Rule:
    alone = {id(test) for of_child in rule.alone for test in of_child}
    if not alone:
        return rule
    tests = tuple(test for test in rule.guard.tests if id(test) not in alone)
    return replace(rule, guard=replace(rule.guard, tests=tests), wordings={})


def reads_words(piece: Piece, words: Mapping[str, Any] | frozenset[str]) -> tuple[str, str]:
    """Return the first and last word of a piece as far as templates ask for them.

    >>> from genie_dp.synthesis.pieces import features
    >>> reads_words(Piece("new emails", None, features()), frozenset({"new", "#"}))
    ('new', '')
    """
    first, last = piece.attribute("first"), piece.attribute("last")
    return (first if first in words else "", last if last in words else "")
