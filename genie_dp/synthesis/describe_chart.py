"""From a program to sentences: a chart whose cells are parts of the program.

Generation directed by the program (bottom-up chart generation, Kay 1996): a cell holds the pieces
of a category for one part of the target. Only pieces that can be part of the target are kept,
of each part the cheapest few of a sort, so that the work hardly grows with the grammar.
`TargetGrammar` knows which templates may render a given program, and the cost of each.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any

from genie_dp.english import forms as english
from genie_dp.english import lists
from genie_dp.languages.bodies import Value
from genie_dp.synthesis.assembly import wording
from genie_dp.synthesis.chart import Checks
from genie_dp.synthesis.compiler import CompiledGrammar
from genie_dp.synthesis.describe_words import literals
from genie_dp.synthesis.pieces import FIRST, GAP, PER_STEM, Piece, Placeholders
from genie_dp.synthesis.rules import (
    Agreement,
    ChildSpec,
    Combined,
    GrammarRule,
    Wording,
    piece_of,
    placeholder_of,
)
from genie_dp.templates.guard import GuardTest, compared_with

_PLACEHOLDER = re.compile(r"([A-Z][A-Z_]*(?:_[\w.:-]+)?)_(\d+)")
_NAME = re.compile(r"[@:]")
_OPERATORS = frozenset(("==", "=", ">", "<", ">=", "<=", "=~", "~=", "contains"))
_POLICY = "policy"
_AFTER_CALL = frozenset(("(", ")", "=>", "on", "filter", "join"))


@dataclass(slots=True)
class DescribeTarget:
    """The canonical tokens of a program, where a private character stands for each placeholder.

    A piece may be part of it if its tokens are among those of the program, each as often at most,
    and if names, operators and values that are neighbours in the piece are so in the program, or
    would be once some inputs of a call are left out: a template may set these later.

    Attributes:
        tokens: the program's.
        names: character -> the placeholder that it stands for.
        functions: the functions of the program.
        size: how many functions it has, those that it has twice counted twice.
        passed: names that stand elsewhere than in conditions.
    """

    tokens: tuple[str, ...]
    names: Mapping[str, str]
    functions: frozenset[str]
    size: int
    counts: Counter[str] = field(init=False)
    pairs: frozenset[tuple[str, str]] = field(init=False)
    passed: frozenset[str] = field(init=False)
    is_policy: bool = field(init=False)

    def __post_init__(self) -> None:
        self.is_policy = self.tokens[:1] == (_POLICY,)
        self.counts = Counter(map(self._alike, self.tokens))
        self.passed = frozenset(
            token
            for before, token in pairwise(self.tokens)
            if before not in ("filter", "and", "or", "not")
        )
        self.pairs = frozenset((*_neighbours(self.tokens), *_without_inputs(self.tokens)))

    @property
    def text(self) -> str:
        """Return the tokens, joined by one space."""
        return " ".join(self.tokens)

    def characters(self, stem: str) -> list[str]:
        """Return the characters of the placeholders that are of the sort of a character."""
        first = ord(stem) - (ord(stem) - FIRST) % PER_STEM
        return [name for name in self.names if first <= ord(name) < first + PER_STEM]

    def may_hold(self, value: Value) -> bool:
        """Return whether a value can be part of the program."""
        gap = getattr(value, "gap_text", "")
        if gap and ("on" not in self.counts or gap not in self.counts):
            return False
        tokens = value.text.split()
        if any(count > self.counts[token] for token, count in self._count_tokens(tokens)):
            return False
        return self.is_policy or self.pairs.issuperset(_neighbours(tokens))

    def _count_tokens(self, tokens: list[str]) -> list[tuple[str, int]]:
        """Return how often tokens come: of a policy, those that its syntax leaves alone."""
        if self.is_policy:
            tokens = [self._alike(token) for token in tokens if is_content(token)]
        return list(Counter(tokens).items())

    def _alike(self, token: str) -> str:
        # A policy says of its functions `==` where a call says `=`.
        return "==" if self.is_policy and token == "=" else token


def is_content(token: str) -> bool:
    """Return whether a token is a name, an operator or a placeholder: no structure.

    >>> [is_content(token) for token in ("param:size:Number", ">", "(", "filter")]
    [True, True, False, False]
    """
    is_placeholder = len(token) == 1 and chr(FIRST) <= token <= GAP
    return token in _OPERATORS or is_placeholder or _NAME.search(token) is not None


def _neighbours(tokens: tuple[str, ...] | list[str]) -> list[tuple[str, str]]:
    solid = [is_content(token) for token in tokens]
    return [
        (tokens[i], tokens[i + 1])
        for i in range(len(tokens) - 1)
        if solid[i] and solid[i + 1]
    ]  # fmt: skip


def _without_inputs(tokens: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the pairs that are neighbours where a call gives fewer of its inputs.

    >>> _without_inputs(tuple("( @c.f param:a:N = x:a param:b:N = x:b param:c:N = x:c )".split()))
    [('@c.f', 'param:b:N'), ('@c.f', 'param:c:N'), ('x:a', 'param:c:N')]
    """
    pairs: list[tuple[str, str]] = []
    ends: list[str] = []  # within a call: the function, and the last tokens of its inputs
    for before, token in pairwise(("", *tokens)):
        if token.startswith("@"):
            ends = [token]
        elif token in _AFTER_CALL:
            ends = []
        elif token.startswith("param:") and ends and before != ends[0]:
            pairs += [(end, token) for end in ends if is_content(end)]
            ends.append(before)
    return pairs


def target_from_tokens(
    text: str, functions: Mapping[str, int], placeholders: Placeholders
) -> DescribeTarget | None:
    """Return the target of a canonical token form; None if ten placeholders of a sort are too few.

    The k-th placeholder of a sort becomes its k-th character, whatever its number.
    """
    characters: dict[str, str] = {}
    counts: Counter[str] = Counter()
    tokens = []
    for token in text.split():
        match = _PLACEHOLDER.fullmatch(token)
        if match and match[1] in placeholders.stems:
            if token not in characters:
                if counts[match[1]] == PER_STEM:
                    return None
                characters[token] = placeholders.character(match[1], counts[match[1]])
                counts[match[1]] += 1
            token = characters[token]
        tokens.append(token)
    names = {character: token for token, character in characters.items()}
    return DescribeTarget(tuple(tokens), names, frozenset(functions), sum(functions.values()))


# What a step costs: found by reading 300 descriptions of synthesized programs, November 2026. A
# construct is dear, so that sentences are short; a template's later alternatives, and later
# templates, are less usual than the first; what synthesis draws less often is less natural.
CONSTRUCT, LEAF = 1.0, 0.2
WEIGHT, ALTERNATIVE, RANK, WORD = 0.4, 0.12, 0.03, 0.04
MOST_RANKS, MOST_ALTERNATIVES = 20, 8
LEAF_RANK, NO_VERB = 0.02, 1.0  # "turn on the lights" rather than "the lights on please"
NAMED = 0.1  # "on twitter" tells what happens
PHRASE = 0.1  # for each phrase of a parameter that comes before


def price(rule: GrammarRule, rank: int, alternative: int, *, is_root: bool) -> float:
    """Return the cost of the words of a rule, its children apart."""
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


def price_phrases(pieces: Iterable[Piece]) -> Iterator[tuple[Piece, float]]:
    """Yield phrases of parameters with their costs: the first of a sort is the usual one."""
    words_by_sort: dict[Any, dict[str, int]] = {}
    for piece in pieces:
        sort = words_by_sort.setdefault((piece.value.text, piece.value.gap, piece.features), {})
        index = sort.setdefault(piece.words, len(sort))
        words = len(piece.words.replace(GAP, "").split())
        yield piece, PHRASE * min(index, MOST_ALTERNATIVES) + WORD * words


def price_of_skill(rule: GrammarRule, rank: int, function: str, *, is_action: bool) -> float:
    """Return the extra cost of a skill's phrase: its first phrases are the usual ones."""
    return (
        LEAF_RANK * min(rank, MOST_RANKS)
        + (NO_VERB if is_action and not has_verb(rule) else 0)
        - (NAMED if names_skill(rule, function) else 0)
    )


def price_of_sentence(rule: GrammarRule) -> float:
    """Return the extra cost of a skill's own sentence: most are short for a longer one."""
    return CONSTRUCT + (0 if has_verb(rule) else NO_VERB)


_NO_VERBS = {*lists.ARTICLES, *lists.FIXED_DETERMINERS, *lists.PREPOSITIONS, *lists.SUBJECTS}


def has_verb(rule: GrammarRule) -> bool:
    """Return whether a rule begins with a verb, or at least with no noun phrase."""
    first = rule.layout.parts[0] if rule.layout.parts else ""
    word = first.split()[0] if isinstance(first, str) and first else "the"
    return word in lists.VERBS or word not in _NO_VERBS


def names_skill(rule: GrammarRule, function: str) -> bool:
    """Return whether a rule has the name of the skill: @com.dropbox.move is of dropbox."""
    skill = function.rpartition(".")[0].rpartition(".")[2].replace("-", " ")
    return any(isinstance(part, str) and skill in part for part in rule.layout.parts if skill)


# ---------------------------------------------------------------------- templates by what they say

ENDS = ("first", "last")  # the words of a phrase that guards compare
NEVER = "<never>"  # no program has this token


@dataclass(slots=True)
class Family:
    """The layouts of a template that have the same children: alike but for their words.

    Attributes:
        rules: (layout's rule, cost), the cheapest first.
        children: the requests to each child.
        checks: the guard, without the tests of one child alone.
        slots: a number for each child; equal numbers have equal requests and tests of it alone.
        order: the children by name, as bodies know them.
        names_functions: whether the program may have functions that no child has.
        cells: the categories of the children.
    """

    category: str
    rules: list[tuple[GrammarRule, float]]
    children: tuple[ChildSpec, ...]
    checks: Checks
    order: tuple[int, ...]
    names_functions: bool
    slots: tuple[int, ...] = ()
    cells: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.cells = tuple(child.pool for child in self.children if not child.is_leaf)

    def add_costs(self, cost_of: Callable[[GrammarRule], float]) -> None:
        """Add to the costs of the rules."""
        self.rules = [(rule, cost + cost_of(rule)) for rule, cost in self.rules]
        self.rules.sort(key=lambda pair: pair[1])

    @property
    def rule(self) -> GrammarRule:
        """Return one of the rules, for the properties that all have in common."""
        return self.rules[0][0]


@dataclass(slots=True)
class SkillTemplates:
    """Templates of a skill with their program, which they determine but for constants.

    Attributes:
        functions: those of the program.
        function: the first of them, "" for none.
        rank: how many templates of the category came before that have the same function.
        needs: the tokens that the program has with any constants; None until first requested.
    """

    family: Family
    functions: frozenset[str]
    function: str
    rank: int
    needs: Counter[str] | None = None


@dataclass(slots=True)
class TargetGrammar:
    """The data that all descriptions of a grammar share; indexing it takes about a second.

    Attributes:
        functions: those that programs may have, which takes less time; empty for all.
        leaves: templates without children but constants, by the first function of their program.
        others: all other templates that are no root.
        roots: the templates of root categories.
        words: words that requests and guards compare with the first and last of a phrase.
        known: tokens of the values that stand in templates.
        named: for each of the roots, functions that all its programs have.
        good: id of a phrase -> number of a slot -> whether it fits; charts fill it in.
    """

    compiled: CompiledGrammar
    functions: frozenset[str] = frozenset()
    leaves: dict[str, list[SkillTemplates]] = field(default_factory=dict)
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
        for category, rules in self.compiled.rules.items():
            if self.functions:
                rules = [x for x in rules if self.functions.issuperset(x.body.functions)]
            for family in families(category, rules, is_root=category in self.compiled.roots):
                self._number(family)
                self._add(family)
        self.words = frozenset(self._words())
        self.known = frozenset(self._values_in_bodies())
        for pool, pieces in self.compiled.leaves.items():
            self.phrases[pool] = list(price_phrases(pieces))
            for place, (piece, _) in enumerate(self.phrases[pool]):
                self._places.setdefault(pool, {}).setdefault(_owner(piece), []).append(place)

    def _number(self, family: Family) -> None:
        """Number the requests to the children, so that each is decided once for all templates."""
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
            templates = SkillTemplates(family, frozenset(functions), first, rank)
            self.leaves.setdefault(first, []).append(templates)
        else:
            self.others.append(family)

    def _functions(self, family: Family) -> tuple[str, ...]:
        """Return the functions of a template without children but constants."""
        functions = family.rule.body.functions
        return functions or tuple(getattr(self._any_value(family), "functions", ()))

    def _needs(self, templates: SkillTemplates) -> Counter[str]:
        """Return the tokens that a template needs; the first call adds its costs."""
        if templates.needs is None:
            value = self._any_value(templates.family)
            templates.needs = Counter(
                token for token in (value.text.split() if value is not None else (NEVER,))
                if not token.startswith("enum:") and not is_private(token)
            )  # fmt: skip
            is_action = value is not None and value.kind == "action"
            templates.family.add_costs(
                lambda rule: price_of_skill(
                    rule, templates.rank, templates.function, is_action=is_action
                )
            )
        return templates.needs

    def _any_value(self, family: Family) -> Any:
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
        """Yield the words that requests and guards compare with either end of a phrase."""
        for rules in self.compiled.rules.values():
            for rule in rules:
                for child in rule.layout.children:
                    yield from (w for n, allowed in child.asked if n in ENDS for w in allowed)
                    for name in ENDS:
                        words = compared_with(rule.guard.tests, child.name, name) or ()
                        yield from (word for word in words if isinstance(word, str))

    def _values_in_bodies(self) -> Iterator[str]:
        """Yield the values that stand in the bodies of templates."""
        seen = set()
        for rules in self.compiled.rules.values():
            for rule in rules:
                node = getattr(rule.body, "node", None)
                if id(rule.body) not in seen and hasattr(node, "__dataclass_fields__"):
                    seen.add(id(rule.body))
                    yield from literals(node)

    def candidates(self, target: DescribeTarget) -> Iterator[Family]:
        """Yield the templates without children but constants that a program may need."""
        for function in sorted(target.functions | {""}):
            for templates in self.leaves.get(function, ()):
                if templates.functions <= target.functions:
                    needs = self._needs(templates).items()
                    if target.is_policy or all(n <= target.counts[t] for t, n in needs):
                        yield templates.family

    def sentences(self, target: DescribeTarget) -> Iterator[Family]:
        """Yield the templates of roots, but those that name functions that a program lacks."""
        for family, functions in zip(self.roots, self.named, strict=True):
            if target.is_policy or functions <= target.functions:
                yield family

    def phrases_of(self, pool: str, functions: frozenset[str]) -> Iterator[tuple[Piece, float]]:
        """Yield the phrases of a pool, of parameters those of some functions, in their order."""
        places = self._places.get(pool, {})
        for place in sorted(
            number for owner in ("", *functions) for number in places.get(owner, ())
        ):
            yield self.phrases[pool][place]

    def assemble(self, rule: GrammarRule, pieces: Sequence[Piece]) -> Combined | None:
        """Return pieces joined by a rule, None where they do not go together."""
        name = id(rule)
        if name not in self._agreeing:
            parts = (part.child for part in rule.layout.parts if isinstance(part, Agreement))
            self._agreeing[name] = tuple(dict.fromkeys(parts))
        numbers = tuple([pieces[index].features.num for index in self._agreeing[name]])
        rule_wording = self._wordings.get((name, numbers))
        if rule_wording is None:
            numbers_by_child = dict(zip(self._agreeing[name], numbers, strict=True))
            rule_wording = self._wordings[name, numbers] = wording(rule, numbers_by_child)
        return rule_wording.assemble(*pieces)


def _owner(piece: Piece) -> str:
    """Return the function of a phrase of a parameter, "" for all other phrases."""
    return getattr(piece.value.state, "function", "") if piece.value.kind == "param" else ""


def is_private(token: str) -> bool:
    """Return whether a token is the character of a placeholder."""
    return len(token) == 1 and "\ue000" <= token <= "\uf8ff"


def families(category: str, rules: Sequence[GrammarRule], *, is_root: bool) -> Iterator[Family]:
    """Yield the rules of a category put together by templates and children."""
    grouped: dict[Any, list[tuple[GrammarRule, float]]] = {}
    ranks: dict[str, int] = {}
    counts: Counter[str] = Counter()
    for rule in rules:
        name = rule.template.id
        rank = ranks.setdefault(name, len(ranks))
        alternative = counts[name]
        counts[name] += 1
        pools = tuple(id(pieces) for pieces in rule.constants.values())
        grouped.setdefault((name, rule.layout.children, pools), []).append(
            (rule, price(rule, rank, alternative, is_root=is_root))
        )
    for (_, children, _), of_family in grouped.items():
        of_family.sort(key=lambda pair: pair[1])
        rule = of_family[0][0]
        order = tuple(sorted(range(len(children)), key=lambda i: rule.names[i]))
        checks = Checks(_without_lone_tests(rule))
        yield Family(category, of_family, children, checks, order, _names_functions(rule))


def _names_functions(rule: GrammarRule) -> bool:
    """Return whether a program may have functions that no child has."""
    template = rule.template
    joins_children = (
        template.python is None and template.tree is None and "=>" in template.body_text
    )
    return not joins_children or bool(rule.body.functions)


def _without_lone_tests(rule: GrammarRule) -> GrammarRule:
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


# --------------------------------------------------------------------------------------- the chart

MOST_ALIKE = 2  # pieces of one part that no template but for their words tells apart
MOST_ROUNDS = 8
MOST_DEARER = 4.0  # than the cheapest way to say a part; what is dearer is never said
QUESTION = 2.5  # "are any of my files large": no confirmation asks for yes or no
UNSAID = 1.5  # for asking for one output where the program gives all of them


@dataclass(slots=True, eq=False)
class ChartPiece:
    """A piece of the chart with the cost of its words, and its derivation."""

    piece: Piece
    cost: float
    part: int
    rule: GrammarRule | None = None
    children: tuple["ChartPiece", ...] = ()
    depth: int = 0
    category: str = ""
    good: dict[int, bool] = field(default_factory=dict)  # number of a slot -> whether it fits


@dataclass(slots=True)
class PartCell:
    """The pieces of a category for one part of the program.

    Attributes:
        sorts: pieces that only their words distinguish for templates, the cheapest first.
        tick: when it was changed last.
    """

    sorts: dict[Any, list[ChartPiece]] = field(default_factory=dict)
    tick: int = 0

    def items(self) -> Iterator[ChartPiece]:
        """Yield the pieces."""
        for of_sort in self.sorts.values():
            yield from of_sort


@dataclass(frozen=True, slots=True)
class Root:
    """A derivation of a whole program, not yet put into words."""

    cost: float
    part: int
    rule: GrammarRule
    children: tuple[ChartPiece, ...]


Lists = Mapping[int, Sequence[ChartPiece]]
"""Part -> the pieces that may stand for a child."""


class DescribeChart:
    """The parts of one program that the templates can express."""

    def __init__(
        self, grammar: TargetGrammar, target: DescribeTarget, max_depth: int = MOST_ROUNDS
    ):
        self.grammar, self.target, self.max_depth = grammar, target, max_depth
        self.parts: dict[Any, int] = {}
        self.values: list[Value] = []
        self.fitting: dict[int, bool] = {}
        self.cells: dict[str, dict[int, PartCell]] = {}
        self.tick = 0
        self._built: dict[Any, int | None] = {}
        self._leaves: dict[Any, Lists] = {}
        self._chosen: dict[Any, Lists] = {}
        self.changed: dict[str, int] = {}
        self.length = len(target.text)
        # The keys of the outputs that the program names: nothing else may fill a gap.
        self._keys = frozenset(
            item.piece.value.state.key
            for items in self._pool("OUTPUT").values()
            for item in items
            if hasattr(item.piece.value.state, "key")
        )
        self._fill()

    # ----------------------------------------------------------------------------- parts

    def part(self, value: Value) -> int:
        """Return the number of a part; equal parts have one number."""
        key = (
            value.kind, value.text, value.gap, value.state, value.functions,
            getattr(value, "output", ""), getattr(value, "gap_text", ""),
        )  # fmt: skip
        if key not in self.parts:
            self.parts[key] = len(self.values)
            self.values.append(value)
        return self.parts[key]

    def _fits(self, value: Value) -> bool:
        if value.gap and value.kind != "param" and value.gap not in self._keys:
            return False
        return self.target.may_hold(value)

    # ---------------------------------------------------------------------------- leaves

    def _pool(self, pool: str) -> Lists:
        """Return the pieces of a built-in category or table that the program may need."""
        if pool not in self._leaves:
            items: dict[int, list[ChartPiece]] = {}
            for piece, cost in self.grammar.phrases_of(pool, self.target.functions):
                for specific in self._specific(piece):
                    part = self.part(specific.value)
                    item = ChartPiece(specific, cost, part, category=pool)
                    if specific is piece:  # which outlives the chart
                        item.good = self.grammar.good.setdefault(id(piece), item.good)
                    items.setdefault(part, []).append(item)
            self._leaves[pool] = items
        return self._leaves[pool]

    def _constants(self, pieces: Sequence[Piece]) -> Lists:
        """Return the constants of a placeholder that the program has."""
        name = id(pieces)
        if name not in self._leaves:
            items: dict[int, list[ChartPiece]] = {}
            for piece, cost in price_phrases(pieces):
                for specific in self._specific(piece):
                    part = self.part(specific.value)
                    items.setdefault(part, []).append(ChartPiece(specific, cost, part))
            self._leaves[name] = items
        return self._leaves[name]

    def _specific(self, piece: Piece) -> Iterator[Piece]:
        """Yield a constant for each place of the program where it may stand; others as they are.

        Pieces of the chart do not count their placeholders, so that nothing renumbers them.
        """
        value = piece.value
        if value.kind == "param":
            typed, function = value.typed, value.state.function  # type: ignore[attr-defined]
            if typed in self.target.counts and function in self.target.functions:
                yield piece
        elif is_private(piece.words) and not value.gap:
            for character in self.target.characters(piece.words):
                yield Piece(
                    character, value.shift([(piece.words, character)]), piece.features,
                    attributes=piece.attributes,
                )  # fmt: skip
        elif value.gap:
            if value.gap in self._keys:
                yield piece
        elif self.target.may_hold(value):
            yield piece

    # --------------------------------------------------------------------------- filling

    def _fill(self) -> None:
        for family in self.grammar.candidates(self.target):
            self._extend(family, 0)
        last: dict[int, int] = {}
        for _ in range(self.max_depth):
            before = self.tick
            for number, family in enumerate(self.grammar.others):
                since = last.get(number, -1)
                last[number] = self.tick
                self._extend(family, since)
            if self.tick == before:
                return

    def _extend(self, family: Family, since: int) -> None:
        """Add the pieces of a template over parts of which one at least was changed since then."""
        if since > 0 and all(self.changed.get(pool, 0) <= since for pool in family.cells):
            return
        for part, items in self.combinations(family, since):
            depth = 1 + max((i.depth for i in items if i.rule is not None), default=-1)
            if depth > self.max_depth:
                continue
            for rule, cost in family.rules:
                total = cost + sum(item.cost for item in items)
                if not self._is_cheap(family.category, part, total):
                    break
                self._add(family, rule, part, items, total, depth)

    def _is_cheap(self, category: str, part: int, cost: float) -> bool:
        """Return whether a piece is not far dearer than the cheapest of the same part."""
        cell = self.cells.get(category, {}).get(part)
        if cell is None:
            return True
        return cost < MOST_DEARER + min(of_sort[0].cost for of_sort in cell.sorts.values())

    def _add(
        self,
        family: Family,
        rule: GrammarRule,
        part: int,
        items: Sequence[ChartPiece],
        cost: float,
        depth: int,
    ) -> None:
        combined = self.assemble(rule, items)
        if combined is None:
            return
        combined.value, combined.count, combined.mask = self.values[part], 0, 0
        piece = piece_of(rule, [item.piece for item in items], combined)
        output = getattr(piece.value, "output", "")
        if output and output not in self.target.passed:
            cost += UNSAID
        cell = self.cells.setdefault(family.category, {}).setdefault(part, PartCell())
        of_sort = cell.sorts.setdefault(self._sort(piece), [])
        same_words = next((i for i in of_sort if i.piece.words == piece.words), None)
        if same_words is not None:
            if same_words.cost <= cost:
                return
            of_sort.remove(same_words)
        if len(of_sort) == MOST_ALIKE and of_sort[-1].cost <= cost:
            return
        of_sort.append(ChartPiece(piece, cost, part, rule, tuple(items), depth, family.category))
        of_sort.sort(key=lambda item: item.cost)
        del of_sort[MOST_ALIKE:]
        self.tick += 1
        cell.tick = self.changed[family.category] = self.tick

    def _sort(self, piece: Piece) -> Any:
        attributes: tuple[Any, ...] = (piece.features, *reads_words(piece, self.grammar.words))
        if piece.value.gap:
            attributes += tuple(
                map(piece.attribute, ("takes_pronoun", "takes_phrase", "takes_many"))
            )
        return attributes

    def say(self, root: Root) -> str | None:
        """Return the words of a whole program, None where its pieces do not go together."""
        combined = self.assemble(root.rule, root.children)
        return None if combined is None else combined.text

    def assemble(self, rule: GrammarRule, items: Sequence[ChartPiece]) -> Combined | None:
        """Return the pieces joined by a rule, None where they do not go together."""
        return self.grammar.assemble(rule, [item.piece for item in items])

    def roots(self) -> list[Root]:
        """Return every derivation of a whole program that may be the target."""
        roots: list[Root] = []
        for family in self.grammar.sentences(self.target):
            if self.target.is_policy != (family.rule.body.kind == "policy"):
                continue
            for part, items in self.combinations(family):
                below = sum(item.cost for item in items)
                roots += [
                    Root(
                        below + cost + QUESTION * _asks_yes_or_no(rule, items),
                        part,
                        rule,
                        tuple(items),
                    )
                    for rule, cost in family.rules
                ]
        return roots

    # ----------------------------------------------------------------------- combinations

    def combinations(
        self, family: Family, since: int = -1
    ) -> Iterator[tuple[int, Sequence[ChartPiece]]]:
        """Yield (part of the result, a piece for each child) for all that meet the guard."""
        lists: list[Lists] = []
        for index, child in enumerate(family.children):
            choices = self._choices(family, index, child)
            if not choices:
                return
            lists.append(choices)
        for parts in product(*lists):
            if since >= 0 and not self._is_new(family, parts, since):
                continue
            yield from self._of_parts(
                family, parts, [x[p] for x, p in zip(lists, parts, strict=True)]
            )

    def _is_new(self, family: Family, parts: Sequence[int], since: int) -> bool:
        if since == 0:
            return True
        return any(
            self.cells[child.pool][part].tick > since
            for child, part in zip(family.children, parts, strict=True)
            if not child.is_leaf
        )

    def _of_parts(
        self, family: Family, parts: Sequence[int], lists: Sequence[Sequence[ChartPiece]]
    ) -> Iterator[tuple[int, Sequence[ChartPiece]]]:
        is_root = family.category in self.grammar.compiled.roots
        if is_root and not family.names_functions and not self._is_whole(parts):
            return
        for items in _bind_items(lists, family):
            part = self._result(family, parts, is_root)
            if part is None:
                return
            yield part, items

    def _is_whole(self, parts: Sequence[int]) -> bool:
        """Return whether parts have all functions of the program; of a policy, any parts do."""
        if self.target.is_policy:
            return True
        return sum(len(self.values[part].functions) for part in parts) == self.target.size

    def _result(self, family: Family, parts: Sequence[int], is_root: bool) -> int | None:
        """Return the part that a template makes of parts, None if it is none of the program."""
        body = family.rule.body
        key = (id(body), tuple([(family.rule.names[i], parts[i]) for i in family.order]))
        if key not in self._built:
            names = family.rule.names  # none of words alone, of which no body knows
            values = {names[i]: self.values[parts[i]] for i in family.order if names[i]}
            value = body.build(values)
            if value is not None and is_root:
                fits = len(value.text) == self.length  # tokens may stand in another order
            else:
                fits = value is not None and self._fits(value)
            self._built[key] = self.part(value) if fits else None
        return self._built[key]

    def _choices(self, family: Family, index: int, child: ChildSpec) -> Lists:
        name = placeholder_of(child.pool)
        if name is not None:
            return self._constants(family.rule.constants.get(name, ()))
        key = family.slots[index], self.changed.get(child.pool, 0)
        if key not in self._chosen:
            self._chosen[key] = _pieces_asked_for(
                self._pieces_of_pool(child), child, family.rule.tests[index], family.slots[index]
            )
        return self._chosen[key]

    def _pieces_of_pool(self, child: ChildSpec) -> Lists:
        if child.is_leaf:
            return self._pool(child.pool)
        cells = self.cells.get(child.pool, {})
        return {
            part: sorted(cell.items(), key=lambda item: item.cost) for part, cell in cells.items()
        }


def _asks_yes_or_no(rule: GrammarRule, items: Sequence[ChartPiece]) -> bool:
    """Return whether a sentence is a yes-no question, as no confirmation is."""
    first = rule.layout.parts[0] if rule.layout.parts else ""
    if isinstance(first, int):
        return english.is_question(items[first].piece.text)
    return isinstance(first, str) and english.is_question(first)


def _pieces_asked_for(
    choices: Lists, child: ChildSpec, tests: Sequence[GuardTest], slot: int
) -> Lists:
    """Return the pieces that meet the requests of a child, and the tests of it alone."""
    has_gap = child.gap is not None

    def is_good(item: ChartPiece) -> bool:
        if slot not in item.good:
            item.good[slot] = _is_good(item.piece, child, tests)
        return item.good[slot]

    fitting = {}
    for part, items in choices.items():
        if bool(items[0].piece.value.gap) == has_gap:
            good = [item for item in items if is_good(item)]
            if good:
                fitting[part] = good
    return fitting


def _is_good(piece: Piece, child: ChildSpec, tests: Sequence[GuardTest]) -> bool:
    if not all(piece.attribute(name) in allowed for name, allowed in child.asked):
        return False
    return all(test.evaluate(lambda _, name: piece.attribute(name)) for test in tests)


def _bind_items(
    lists: Sequence[Sequence[ChartPiece]], family: Family, bound: tuple[ChartPiece, ...] = ()
) -> Iterator[tuple[ChartPiece, ...]]:
    if len(bound) == len(lists):
        yield bound
        return
    for item in lists[len(bound)]:
        chosen = (*bound, item)
        if family.checks.allow([(i.piece, ()) for i in chosen]):
            yield from _bind_items(lists, family, chosen)
