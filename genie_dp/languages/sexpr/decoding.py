"""Which tokens may follow in an S-expression: shapes seen in programs, words of the sentence."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.automaton import (
    NOTHING,
    Automaton,
    AutomatonState,
    CopySentence,
    Frame,
    Move,
)
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import declarations as sd
from genie_dp.languages.sexpr.literals import is_read
from genie_dp.languages.sexpr.text import from_tokens, tokens

Key = tuple[str, ...]
"""Opening bracket, label ("" where the first item is no symbol), and the function applied."""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """Something that a node may hold.

    Attributes:
        kind: a node, a certain symbol, any number, a placeholder, words in quotes, words between
            square brackets, or a certain literal, such as a date.
        key: of a node; of a symbol or the stem of a placeholder, alone; of a literal, its tokens.
    """

    kind: Literal["node", "symbol", "number", "slot", "text", "word", "literal"]
    key: Key = ()

    @property
    def sort(self) -> str:
        """Return what a declared signature sees of it (canonical.sort_of)."""
        match self.kind:
            case "node":
                return sx.node_sort(*self.key[:2])
            case "literal":
                return sx.node_sort(*self.key[:2])
            case "number":
                return "Number"
            case "text":
                return "String"
            case "slot":
                type_ = sx.placeholder_type(f"{self.key[0]}_0")
                return type_.sort if type_ else "String"
            case _:
                return self.key[0] if self.key else "word"


@dataclass(slots=True)
class Shape:
    """What nodes of one key hold.

    Attributes:
        places: the items of each place, or of all places as one where numbers differ.
        counts: numbers of items seen.
        elements: the signature, where one is declared; then `places` is one set.
    """

    places: list[set[Item]] = field(default_factory=list)
    counts: set[int] = field(default_factory=set)
    elements: tuple[sd.Element, ...] | None = None
    is_ordered: bool = True

    @property
    def is_fixed(self) -> bool:
        """Tell whether each place has items of its own."""
        return len(self.counts) == 1 and self.elements is None

    def items(self, place: int) -> set[Item]:
        """Return what may stand at a place."""
        if self.is_fixed:
            return self.places[place] if place < len(self.places) else set()
        return set().union(*self.places)


@dataclass(slots=True)
class Shapes:
    """What is known of the programs of a language.

    Attributes:
        tops: what a program may be.
        shapes: key -> what such nodes hold.
        numbers: numbers that programs hold.
    """

    declarations: sd.Declarations
    tops: set[Item] = field(default_factory=set)
    shapes: dict[Key, Shape] = field(default_factory=dict)
    numbers: set[str] = field(default_factory=set)

    def find_allowed(self, key: Key, sorts: tuple[str, ...]) -> Iterator[Item]:
        """Yield the items that may stand after those of the given sorts."""
        shape = self.shapes[key]
        for item in sorted(shape.items(len(sorts))):
            if shape.elements is None or _missing(shape, (*sorts, item.sort)) is not None:
                yield item

    def find_wanted(self, key: Key, sorts: tuple[str, ...]) -> Iterator[Item]:
        """Yield those of the allowed items that bring the end of the node nearer."""
        shape = self.shapes[key]
        missing = 0 if shape.elements is None else _missing(shape, sorts) or 0
        for item in self.find_allowed(key, sorts):
            rest = 0 if shape.elements is None else _missing(shape, (*sorts, item.sort)) or 0
            if shape.elements is None or rest < missing:
                yield item

    def may_end(self, key: Key, sorts: tuple[str, ...]) -> bool:
        """Tell whether a node may end after items of the given sorts."""
        shape = self.shapes[key]
        if shape.elements is not None:
            return sd.misfit(shape.elements, sorts, ordered=shape.is_ordered) is None
        return len(sorts) >= min(shape.counts)


def _missing(shape: Shape, sorts: tuple[str, ...]) -> int | None:
    """Return how many elements still want an item, or None where the items cannot be completed.

    Items are assigned as `declarations.misfit` does.
    """
    elements = shape.elements or ()
    counts = [0] * len(elements)
    current = 0
    for sort in sorts:
        start = current if shape.is_ordered else 0
        takers = (i for i in range(start, len(elements)) if sd.takes(elements[i], counts[i], sort))
        index = next(takers, None)
        if index is None:
            return None
        counts[index] += 1
        current = index
    empty = [i for i, e in enumerate(elements) if e.arity in ("", "+") and not counts[i]]
    is_passed = shape.is_ordered and any(i < current for i in empty)
    return None if is_passed else len(empty)


# ---------------------------------------------------------------------------------- reading


def learn(programs: Iterable[str], declarations: sd.Declarations) -> Shapes:
    """Return the shapes of programs in token form; declared signatures say what nodes may hold.

    >>> shapes = learn(["( P ( N 2 ) ( T HAM ) )", "( P ( T PLUM ) )"], sd.NONE)
    >>> sorted(shapes.shapes), shapes.shapes["(", "P"].counts, shapes.numbers
    ([('(', 'N'), ('(', 'P'), ('(', 'T')], {1, 2}, {'2'})
    """
    shapes = Shapes(declarations)
    for program in dict.fromkeys(programs):
        tree = from_tokens(program)
        shapes.tops.add(_seen(tree, shapes, in_square=False))
    for key, shape in shapes.shapes.items():
        if key[0] in ("(", "[") and key[1] in declarations.signatures:
            shape.elements = declarations.signatures[key[1]]
            shape.is_ordered = declarations.order(key[1]) == "ordered"
    if declarations.programs:
        _declare(shapes)
    return shapes


def _declare(shapes: Shapes) -> None:
    """Add what is declared: nodes that no program has, and all that a signature admits."""
    declarations = shapes.declarations
    sorts = {s for elements in declarations.signatures.values() for e in elements for s in e.sorts}
    nodes = {
        Item("node", (sort[0], sort[1:-1]))
        for sort in filter(sd.is_node, sorts | declarations.programs)
    }
    for node in nodes:
        label = node.key[1]
        shape = shapes.shapes.setdefault(node.key, Shape())
        shape.elements = declarations.signatures[label]
        shape.is_ordered = declarations.order(label) == "ordered"
    shapes.tops = {node for node in nodes if node.sort in declarations.programs}
    seen = {item for shape in shapes.shapes.values() for place in shape.places for item in place}
    names = {s[1:] for s in sorts if s[0] == "#" and s[1:] in declarations.value_lists}
    symbols = {Item("symbol", (s,)) for s in sorts if s[0] not in "([#" and s not in _CLASSES}
    types = [sx.TYPES[s.lstrip("#")] for s in sorts if s.lstrip("#") in sx.TYPES]
    types += [sx.name_type(name) for name in names]
    slots = {Item("slot", (type_.stem,)) for type_ in types}
    for name in names:  # one that no list has is written as it was said
        nodes.add(Item("node", ("#(", name)))
        shapes.shapes[("#(", name)] = Shape(elements=(sd.Element(frozenset(("String",))),))
    declared_items = seen | nodes | symbols | slots | {Item("text"), Item("number")}
    for key, shape in shapes.shapes.items():
        if shape.elements is not None:
            # Between square brackets every word is a word.
            items = nodes | {Item("word")} if key[0] == "[" else declared_items - {Item("word")}
            shape.places = [{i for i in items if any(sd.admits(e, i.sort) for e in shape.elements)}]


_CLASSES = {"Atom", "Any", "String", "Number"}


def _seen(tree: sx.Expression, shapes: Shapes, *, in_square: bool) -> Item:
    match tree:
        case sx.Text():
            return Item("text")
        case sx.Atom(text):
            return _atom(text, shapes, in_square=in_square)
        case sx.Node() if is_read(tree):
            return Item("literal", tuple(tokens(tree).split(" ")))
        case sx.Node(items):
            key = node_key(tree, shapes.declarations)
            shape = shapes.shapes.setdefault(key, Shape())
            rest = items[len([part for part in key[1:] if part]) :]
            is_square = tree.bracket == "["
            rest_items = _spans([_seen(item, shapes, in_square=is_square) for item in rest])
            shape.counts.add(len(rest_items))
            shape.places.extend(set() for _ in range(len(rest_items) - len(shape.places)))
            for place, item in zip(shape.places, rest_items, strict=False):
                place.add(item)
            return Item("node", key)


def _spans(items: list[Item]) -> list[Item]:
    """Return the items with words side by side as one."""
    word = Item("word")
    return [item for k, item in enumerate(items) if item != word or not k or items[k - 1] != word]


def _atom(text: str, shapes: Shapes, *, in_square: bool) -> Item:
    if in_square:
        return Item("word")
    if sx.is_number(text):
        shapes.numbers.add(text)
        return Item("number")
    type_ = sx.placeholder_type(text)
    return Item("slot", (type_.stem,)) if type_ else Item("symbol", (text,))


def node_key(node: sx.Node, declarations: sd.Declarations) -> Key:
    """Return what a node is known by.

    >>> node_key(sx.Node((sx.Atom("f"), sx.Atom("x"))), sd.NONE)
    ('(', 'f')
    """
    opener = node.prefix + node.bracket
    items = node.items
    if not items or not isinstance(items[0], sx.Atom):
        return (opener, "")
    first = items[0].text
    if node.bracket == "(" and (sx.is_number(first) or sx.placeholder_type(first) is not None):
        return (opener, "")
    if first in declarations.applied and len(items) > 1 and isinstance(items[1], sx.Atom):
        return (opener, first, items[1].text)
    return (opener, first)


_CLOSERS = {"(": ")", "^(": ")", "#(": ")", "[": "]"}
_QUOTE = frozenset(('"',))
_NEVER = 10**6


@dataclass(frozen=True, slots=True)
class SexprLimits:
    """How much a decoded expression may hold.

    Attributes:
        tokens: from here on, nodes are closed as soon as they may be.
        nesting: brackets inside of each other.
        items: items of a node; more where programs have more.
    """

    tokens: int = 300
    nesting: int = 30
    items: int = 24


class SexprGrammar:
    """Expressions made of the nodes of known programs; words and numbers come from the sentence.

    Every prefix can be completed; a complete one is read by `from_tokens` and fits the declared
    signatures.
    """

    def __init__(
        self,
        library: sd.Declarations | None,
        *,
        texts: Iterable[str] = (),
        limits: SexprLimits | None = None,
    ):
        """Learn the nodes.

        Args:
            library: orders and signatures that are declared, if any.
            texts: programs in token form, such as those of the training set.
            limits: how much a program may hold.

        Raises:
            GenieError: L011 without any program; X011 to X013 for one that cannot be read.
        """
        shapes = learn(texts, library or sd.NONE)
        if not shapes.tops:
            message = "expected programs to learn the shapes of S-expressions from, got none"
            hint = "give the programs of the training set as texts"
            raise GenieError(Problem("L011", message, hint=hint))
        self._shapes, self._limits = shapes, limits or SexprLimits()
        self._languages: dict[frozenset[Item], _Language] = {}
        places = (place for shape in shapes.shapes.values() for place in shape.places)
        slots = {item for place in places for item in place if item.kind == "slot"}
        everything = frozenset((Item("number"), Item("word"), *slots))
        probe = _Language(shapes, self._limits, Automaton(1, 1), everything)
        dearest = max(cost for cost in probe.costs.values() if cost < _NEVER)
        reserve = (self._limits.nesting + 2) * (dearest + 2)
        self._automaton = Automaton(self._limits.tokens + reserve, reserve)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""
        shapes = self._shapes
        tokens = {'"'} | shapes.numbers
        for key, shape in shapes.shapes.items():
            tokens |= {key[0], _CLOSERS[key[0]], *(part for part in key[1:] if part)}
            items = set().union(*shape.places)
            tokens |= {item.key[0] for item in items if item.kind == "symbol"}
            tokens |= {token for i in items if i.kind == "literal" for token in i.key}
        return frozenset(tokens | {item.key[0] for item in shapes.tops if item.kind == "symbol"})

    def begin(self, sentence: Sequence[str]) -> AutomatonState:
        """Return the empty prefix for a sentence; its tokens are what may be copied.

        Raises:
            GenieError: L012 where no program can do with what the sentence has to copy.
        """
        there = _there(sentence, self._shapes)
        language = self._languages.get(there)
        if language is None:
            language = _Language(self._shapes, self._limits, self._automaton, there)
            self._languages[there] = language
        return self._automaton.begin((language.start(),), CopySentence(sentence, bool))


def _there(sentence: Sequence[str], shapes: Shapes) -> frozenset[Item]:
    """Return the kinds of copied items that a sentence has; numbers that programs hold too."""
    kinds = {Item("number")} if shapes.numbers else set()
    for word in sentence:
        type_ = sx.placeholder_type(word)
        if type_ is not None:
            kinds.add(Item("slot", (type_.stem,)))
        if sx.is_number(word):
            kinds.add(Item("number"))
        if _is_word(word):
            kinds.add(Item("word"))
    return frozenset(kinds)


def _is_word(word: str) -> bool:
    """Tell whether a word may stand between square brackets."""
    return bool(word) and "[" not in word and "]" not in word


class _Language:
    """What the frames share: shapes, what it costs to end an item, frames made.

    What a sentence does not have costs too much to be allowed: `there` are the items that it has.
    """

    def __init__(
        self, shapes: Shapes, limits: SexprLimits, automaton: Automaton, there: frozenset[Item]
    ):
        self.shapes, self.limits, self.automaton = shapes, limits, automaton
        self._there = there
        self.costs = dict.fromkeys(shapes.shapes, _NEVER)
        self._find_costs()
        self.most_items = max(
            limits.items,
            max((count for s in shapes.shapes.values() for count in s.counts), default=0),
        )

    def start(self) -> Frame:
        tops = tuple(i for i in sorted(self.shapes.tops) if self.cost(i) < _NEVER)
        if not tops:
            message = "expected a sentence with words or numbers that programs copy, got none"
            hint = "every known program holds some; is the sentence empty?"
            raise GenieError(Problem("L012", message, hint=hint))
        return self.automaton.make(_Choice, self, tops, None, 0)

    def cost(self, item: Item) -> int:
        """Return the fewest tokens of an item."""
        match item.kind:
            case "node":
                return self.costs[item.key]
            case "number" | "slot" | "word":
                return 1 if item in self._there else _NEVER
            case "literal":
                return len(item.key)
            case _:
                return 3 if item.kind == "text" else 1

    def _find_costs(self) -> None:
        """Find the fewest tokens of nodes of each key: the least fixed point."""
        is_changed = True
        while is_changed:
            is_changed = False
            for key in self.shapes.shapes:
                cost = 2 + len([part for part in key[1:] if part]) + self._inside(key)
                if cost < self.costs[key]:
                    self.costs[key], is_changed = cost, True

    def _inside(self, key: Key) -> int:
        """Return the fewest tokens of the items of a node, taking the cheapest at each place."""
        sorts: tuple[str, ...] = ()
        total = 0
        while not self.shapes.may_end(key, sorts):
            costs = [(self.cost(item), item) for item in self.shapes.find_wanted(key, sorts)]
            cost, item = min(costs, default=(_NEVER, Item("word")))
            total += cost
            if total >= _NEVER:
                return _NEVER
            sorts = (*sorts, item.sort)
        return total


class _Choice(Frame):
    """One of some items, or the end of the node that they stand in."""

    __slots__ = ("cheap", "items", "language", "nesting", "sorts_of")

    def __init__(
        self,
        language: _Language,
        items: tuple[Item, ...],
        node: "tuple[Key, tuple[str, ...]] | None",
        nesting: int,
    ):
        self.language, self.sorts_of, self.nesting = language, node, nesting
        is_deep = nesting >= language.limits.nesting
        # Those that lead to the end of a node soonest.
        next_items = items if node is None else tuple(language.shapes.find_wanted(*node))
        least = min((language.cost(item) for item in next_items), default=0)
        self.cheap = cheap = tuple(i for i in next_items if language.cost(i) == least)
        self.items = cheap if is_deep else items
        end = NOTHING
        if node is not None and language.shapes.may_end(*node):
            end = frozenset((_CLOSERS[node[0][0]],))
            if is_deep:
                self.items = tuple(item for item in self.items if item.kind != "node")
        fixed = end.union(*(_first(language, item) for item in self.items))
        closing = end or frozenset[str]().union(*(_first(language, item) for item in cheap))
        super().__init__(fixed, closing=closing)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return numbers, placeholders and words of the sentence."""
        if is_closing:
            return NOTHING if self.closing else self._select_copies(sentence, self.cheap)
        words: frozenset[str] | None = sentence.kept.get(self)
        if words is None:
            words = sentence.kept[self] = self._select_copies(sentence, self.items)
        return words

    def _select_copies(self, sentence: CopySentence, items: tuple[Item, ...]) -> frozenset[str]:
        return frozenset(w for w in sentence.starts if self._item(w) in items)

    def _item(self, word: str) -> Item | None:
        """Return the item that a copied word would be."""
        type_ = sx.placeholder_type(word)
        slot = Item("slot", (type_.stem,)) if type_ else None
        for item in self.items:
            is_number_item = item.kind == "number" and sx.is_number(word)
            is_word = item.kind == "word" and _is_word(word)
            if item == slot or is_number_item or is_word:
                return item
        return None

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with the item, then with what follows it."""
        if token in _CLOSERS.values() and self.sorts_of is not None and token in self.fixed:
            return (), None
        language = self.language
        make = language.automaton.make
        literals = tuple(i for i in self.items if i.kind == "literal" and i.key[0] == token)
        if literals:
            names = tuple(i for i in self.items if i.kind == "node" and i.key[0] == token)
            return (make(_Literal, self, literals, names, 1),), None
        if any(item.kind == "node" and item.key[0] == token for item in self.items):
            nodes = tuple(i for i in self.items if i.kind == "node" and i.key[0] == token)
            return (make(_Label, self, nodes, 1),), None
        if token == '"' and Item("text") in self.items:
            has_words = any(map(_is_in_text, sentence.starts))
            start = sentence.make(_TextStart, has_words)
            return (start, *self.after(Item("text"))), None
        symbol = Item("symbol", (token,))
        item = symbol if symbol in self.items else self._item(token) or Item("number")
        if item.kind == "word":
            return (sentence.make(_Words, self.after(item)[0], sentence.begin(token)),), None
        return self.after(item), None

    def after(self, item: Item) -> tuple[Frame, ...]:
        if self.sorts_of is None:
            return ()
        key, sorts = self.sorts_of
        return (body(self.language, key, (*sorts, item.sort), self.nesting),)


def body(language: _Language, key: Key, sorts: tuple[str, ...], nesting: int) -> _Choice:
    """Return the frame of what may follow the items of a node."""
    shapes = language.shapes
    items = tuple(i for i in shapes.find_allowed(key, sorts) if language.cost(i) < _NEVER)
    if len(sorts) >= language.most_items:
        ending_items = () if shapes.may_end(key, sorts) else tuple(shapes.find_wanted(key, sorts))
        items = tuple(i for i in items if i in ending_items)
    if shapes.shapes[key].elements is None and not shapes.shapes[key].is_fixed:
        sorts = ("",) * len(sorts)  # only their number matters
    return language.automaton.make(_Choice, language, items, (key, sorts), nesting)


def _first(language: _Language, item: Item) -> frozenset[str]:
    """Return the tokens that an item may begin with, copied ones left out."""
    match item.kind:
        case "node" | "symbol" | "literal":
            return frozenset((item.key[0],))
        case "number":
            return frozenset(language.shapes.numbers)
        case "text":
            return _QUOTE
        case _:
            return NOTHING


class _Label(Frame):
    """The label of a node, and the function that it applies; `depth` parts of keys are read."""

    __slots__ = ("around", "depth", "nodes", "unlabelled")

    def __init__(self, around: _Choice, nodes: tuple[Item, ...], depth: int):
        self.around, self.nodes, self.depth = around, nodes, depth
        bare = next((n for n in nodes if len(n.key) == depth or not n.key[depth]), None)
        self.unlabelled = None
        if bare is not None:
            self.unlabelled = body(around.language, bare.key, (), around.nesting + 1)
        labels = {n.key[depth] for n in nodes if len(n.key) > depth and n.key[depth]}
        fixed = frozenset(labels) | (self.unlabelled.fixed if self.unlabelled else NOTHING)
        # The nodes that lead to the end of what is around them soonest.
        least = min(around.language.cost(n) for n in nodes)
        cheap = tuple(n for n in nodes if n in around.cheap)
        soon = cheap or tuple(n for n in nodes if around.language.cost(n) == least)
        closing = {n.key[depth] for n in soon if len(n.key) > depth and n.key[depth]}
        if bare in soon and self.unlabelled is not None:
            closing |= self.unlabelled.closing
        super().__init__(fixed, closing=frozenset(closing))

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return what a node without a label may begin with."""
        if self.unlabelled is None:
            return NOTHING
        return self.unlabelled.find_copies(sentence, is_closing=is_closing)

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on inside of the node."""
        around = self.around
        named = tuple(n for n in self.nodes if n.key[self.depth : self.depth + 1] == (token,))
        if not named:
            assert self.unlabelled is not None
            bare = next(n for n in self.nodes if len(n.key) == self.depth or not n.key[self.depth])
            frames, result = self.unlabelled.take(token, sentence)
            return (*frames, *around.after(bare)), result
        make = around.language.automaton.make
        if any(len(n.key) > self.depth + 1 for n in named):
            return (make(_Label, around, named, self.depth + 1),), None
        inside = body(around.language, named[0].key, (), around.nesting + 1)
        return (inside, *around.after(named[0])), None


class _Literal(Frame):
    """The next token of some literals; the first may be the type of a name."""

    __slots__ = ("around", "literals", "names", "place")

    def __init__(
        self, around: _Choice, literals: tuple[Item, ...], names: tuple[Item, ...], place: int
    ):
        self.around, self.literals, self.names, self.place = around, literals, names, place
        known = frozenset(item.key[place] for item in literals)
        super().__init__(known.union(name.key[1] for name in names), closing=known)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return nothing: known literals are written as they are."""
        return NOTHING

    def take(self, token: str, sentence: CopySentence) -> Move:
        around, place = self.around, self.place
        for name in self.names:
            if name.key[1] == token:
                inside = body(around.language, name.key, (), around.nesting + 1)
                return (inside, *around.after(name)), None
        left = tuple(item for item in self.literals if item.key[place] == token)
        whole = next((item for item in left if len(item.key) == place + 1), None)
        if whole is not None:
            return around.after(whole), None
        return (around.language.automaton.make(_Literal, around, left, (), place + 1),), None


class _Words(Frame):
    """Words between square brackets: those that continue a span, or what follows the words."""

    __slots__ = ("ends", "following")
    is_bound = True

    def __init__(self, following: Frame, ends: tuple[int, ...]):
        self.ends, self.following = ends, following
        super().__init__(following.fixed, closing=following.closing)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words after the spans."""
        if is_closing:
            return NOTHING
        return frozenset(filter(_is_word, sentence.next_words(self.ends)))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with those spans that have the word."""
        ends = sentence.go_on(self.ends, token)
        if not ends:
            return self.following.take(token, sentence)
        return (sentence.make(_Words, self.following, ends),), None


def _is_in_text(word: str) -> bool:
    return tokens(sx.Text(word)).split(" ")[1] == word


class _TextStart(Frame):
    """The first word of a text in quotes; where the sentence has none, the closing quote."""

    __slots__ = ()
    is_bound = True

    def __init__(self, has_words: bool):
        super().__init__(NOTHING if has_words else _QUOTE)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        return frozenset(filter(_is_in_text, sentence.starts))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on after the first word."""
        if token == '"':
            return (), None
        return (sentence.make(_TextMore, sentence.begin(token)),), None


class _TextMore(Frame):
    """The next word of a text in quotes, or the closing quote."""

    __slots__ = ("ends",)
    is_bound = True

    def __init__(self, ends: tuple[int, ...]):
        self.ends = ends
        super().__init__(_QUOTE)

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words after the spans."""
        if is_closing:
            return NOTHING
        return frozenset(w for w in sentence.next_words(self.ends) if _is_in_text(w))

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Go on with those spans that have the word."""
        if token == '"':
            return (), None
        return (sentence.make(_TextMore, sentence.go_on(self.ends, token)),), None
