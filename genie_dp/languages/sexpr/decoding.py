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
)
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import declarations as sd
from genie_dp.languages.sexpr.literals import is_read
from genie_dp.languages.sexpr.text import from_tokens, tokens
from genie_dp.languages.terms.frames import (
    BoundChoice,
    Choice,
    CopyChoice,
    sentence_of_bare_words,
    start_text,
)

Key = tuple[str, ...]
"""Opening bracket, label ("" where the first item is no symbol), and the function applied."""


@dataclass(frozen=True, slots=True, order=True)
class Item:
    """Something that a node may hold.

    Attributes:
        kind: a node, a certain symbol, any number, a placeholder, words in quotes, words between
            square brackets, or a certain literal, such as a date.
        key: of a node; of a symbol or the sort of a placeholder, alone; of a literal, its tokens.
    """

    kind: Literal["node", "symbol", "number", "slot", "text", "word", "literal"]
    key: Key = ()

    @property
    def head(self) -> tuple[str, ...]:
        """Return the tokens that it begins with: all that it is known by, if it has such."""
        match self.kind:
            case "node":
                return tuple(filter(None, self.key))
            case "symbol" | "literal":
                return self.key
            case "text":
                return ('"',)
            case _:
                return ()

    @property
    def sort(self) -> str:
        """Return its sort in a declared signature (canonical.sort_of)."""
        match self.kind:
            case "node" | "literal":
                return sx.node_sort(*self.key[:2])
            case "number":
                return "Number"
            case "text":
                return "String"
            case _:
                return self.key[0] if self.key else "word"


@dataclass(slots=True)
class Shape:
    """The items of nodes of one key.

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
        """Return whether each place has items of its own."""
        return len(self.counts) == 1 and self.elements is None

    def items(self, place: int) -> set[Item]:
        """Return the possible items of a place."""
        if self.is_fixed:
            return self.places[place] if place < len(self.places) else set()
        return set().union(*self.places)


@dataclass(slots=True)
class Shapes:
    """The shapes of the programs of a language.

    Attributes:
        tops: the sorts of whole programs.
        shapes: key -> the items of such nodes.
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
        missing = _missing(shape, sorts) or 0
        for item in self.find_allowed(key, sorts):
            if shape.elements is None or (_missing(shape, (*sorts, item.sort)) or 0) < missing:
                yield item

    def may_end(self, key: Key, sorts: tuple[str, ...]) -> bool:
        """Return whether a node may end after items of the given sorts."""
        shape = self.shapes[key]
        if shape.elements is not None:
            return sd.misfit(shape.elements, sorts, ordered=shape.is_ordered) is None
        return len(sorts) >= min(shape.counts)


def _missing(shape: Shape, sorts: tuple[str, ...]) -> int | None:
    """Return how many elements still want an item, or None where the items cannot be completed."""
    elements = shape.elements or ()
    counts, taken = sd.assign(elements, sorts, ordered=shape.is_ordered)
    if taken < len(sorts):
        return None
    last = max((i for i, count in enumerate(counts) if count), default=0)
    empty = [i for i, e in enumerate(elements) if e.is_required and not counts[i]]
    return None if shape.is_ordered and any(i < last for i in empty) else len(empty)


# ---------------------------------------------------------------------------------- reading


def learn(programs: Iterable[str], declarations: sd.Declarations) -> Shapes:
    """Return the shapes of programs in token form; declared signatures define the items of nodes.

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
    """Add the declared shapes: nodes that no program has, and all that a signature admits."""
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
    slots = {Item("slot", (s,)) for s in sorts if s.lstrip("#") in sx.TYPES or s[1:] in names}
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
            rest = items[len(Item("node", key).head) - 1 :]
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
    return Item("slot", (type_.sort,)) if type_ else Item("symbol", (text,))


def node_key(node: sx.Node, declarations: sd.Declarations) -> Key:
    """Return the key of a node.

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
            tokens |= {_CLOSERS[key[0]], *Item("node", key).head}
            tokens |= {token for items in shape.places for item in items for token in item.head}
        return frozenset(tokens.union(*(item.head for item in shapes.tops)))

    def begin(self, sentence: Sequence[str]) -> AutomatonState:
        """Return the empty prefix for a sentence, whose tokens may be copied.

        Raises:
            GenieError: L012 where no program can use the words that the sentence has to copy.
        """
        there = _there(sentence, self._shapes)
        language = self._languages.get(there)
        if language is None:
            language = _Language(self._shapes, self._limits, self._automaton, there)
            self._languages[there] = language
        return self._automaton.begin((language.start(),), sentence_of_bare_words(sentence))


def _there(sentence: Sequence[str], shapes: Shapes) -> frozenset[Item]:
    """Return the kinds of copied items that a sentence has; numbers that programs hold too."""
    kinds = {Item("number")} if shapes.numbers else set()
    for word in sentence:
        type_ = sx.placeholder_type(word)
        if type_ is not None:
            kinds.add(Item("slot", (type_.sort,)))
        if sx.is_number(word):
            kinds.add(Item("number"))
        if _is_word(word):
            kinds.add(Item("word"))
    return frozenset(kinds)


def _is_word(word: str) -> bool:
    """Return whether a word may stand between square brackets."""
    return bool(word) and "[" not in word and "]" not in word


class _Language:
    """The state that the frames share: shapes, the cost to end an item, frames made.

    Items that the sentence lacks cost too much to be allowed: `there` are the items that it has.
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
        return self.automaton.make(_choose_item, self, tops, None, 0)

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

    def first(self, item: Item) -> frozenset[str]:
        """Return the tokens that an item may begin with, copied ones left out."""
        return frozenset(self.shapes.numbers if item.kind == "number" else item.head[:1])

    def _find_costs(self) -> None:
        """Find the fewest tokens of nodes of each key: the least fixed point."""
        is_changed = True
        while is_changed:
            is_changed = False
            for key in self.shapes.shapes:
                cost = 1 + len(Item("node", key).head) + self._inside(key)
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


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place of a program.

    Attributes:
        language: the shared state of the frames.
        items: the possible items.
        cheap: those that lead to the end of the node around it soonest.
        node: that node, with the sorts of the items before; None of a whole program.
        nesting: how many brackets are open.
    """

    language: _Language
    items: tuple[Item, ...]
    cheap: tuple[Item, ...]
    node: tuple[Key, tuple[str, ...]] | None
    nesting: int

    def after(self, item: Item) -> tuple[Frame, ...]:
        """Return the frame after an item."""
        if self.node is None:
            return ()
        key, sorts = self.node
        return (_body(self.language, key, (*sorts, item.sort), self.nesting),)

    def follow(
        self, items: tuple[Item, ...], depth: int, sentence: CopySentence
    ) -> Sequence[Frame]:
        """Return the frame after the first tokens of items, `depth` of them, which they share."""
        item = items[0]
        if len(items) > 1 or len(item.head) > depth:
            return (self.language.automaton.make(_continue_head, self, items, depth),)
        match item.kind:
            case "node":
                return _body(self.language, item.key, (), self.nesting + 1), *self.after(item)
            case "text":
                return start_text(sentence), *self.after(item)
            case _:
                return self.after(item)

    def copied_item(self, word: str, items: tuple[Item, ...]) -> Item | None:
        """Return the item that a copied word would be."""
        type_ = sx.placeholder_type(word)
        slot = Item("slot", (type_.sort,)) if type_ else None
        for item in items:
            is_number_item = item.kind == "number" and sx.is_number(word)
            is_word = item.kind == "word" and _is_word(word)
            if item == slot or is_number_item or is_word:
                return item
        return None


def _choose_item(
    language: _Language,
    items: tuple[Item, ...],
    node: tuple[Key, tuple[str, ...]] | None,
    nesting: int,
) -> CopyChoice:
    """Return one of some items, or the end of the node that they stand in."""
    # Those that lead to the end of a node soonest.
    fitting = items if node is None else tuple(language.shapes.find_wanted(*node))
    least = min(map(language.cost, fitting), default=0)
    cheap = tuple(i for i in fitting if language.cost(i) == least)
    end = NOTHING
    if node is not None and language.shapes.may_end(*node):
        end = frozenset((_CLOSERS[node[0][0]],))
    if nesting >= language.limits.nesting:
        items = tuple(item for item in cheap if not end or item.kind != "node")
    place = _Place(language, items, cheap, node, nesting)
    closing = end.union(*() if end else map(language.first, cheap))

    def copies(sentence: CopySentence, is_closing: bool) -> frozenset[str]:
        if is_closing:
            return NOTHING if closing else select(cheap, sentence)
        return sentence.find(select, items)

    def select(among: tuple[Item, ...], sentence: CopySentence) -> frozenset[str]:
        return frozenset(w for w in sentence.starts if place.copied_item(w, items) in among)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        if token in end:
            return ()
        if named := tuple(item for item in items if item.head[:1] == (token,)):
            return place.follow(named, 1, sentence)
        item = place.copied_item(token, items) or Item("number")
        if item.kind == "word":
            return (_continue_words(sentence, place.after(item)[0], sentence.begin(token)),)
        return place.after(item)

    fixed = end.union(*map(language.first, items))
    return CopyChoice(fixed, copies, following, closing=closing)


def _body(language: _Language, key: Key, sorts: tuple[str, ...], nesting: int) -> CopyChoice:
    """Return the frame after the items of a node."""
    shapes = language.shapes
    items = tuple(i for i in shapes.find_allowed(key, sorts) if language.cost(i) < _NEVER)
    if len(sorts) >= language.most_items:
        ending_items = () if shapes.may_end(key, sorts) else tuple(shapes.find_wanted(key, sorts))
        items = tuple(i for i in items if i in ending_items)
    if shapes.shapes[key].elements is None and not shapes.shapes[key].is_fixed:
        sorts = ("",) * len(sorts)  # only their number matters
    return language.automaton.make(_choose_item, language, items, (key, sorts), nesting)


def _continue_head(place: _Place, items: tuple[Item, ...], depth: int) -> Choice:
    """Return the next token of some items, such as the label of a node, after `depth` of them.

    A node without a label goes on with its items.
    """
    language = place.language
    longer = [item for item in items if len(item.head) > depth]
    bare = next((item for item in items if len(item.head) == depth), None)
    inside = None if bare is None else _body(language, bare.key, (), place.nesting + 1)
    # Those that lead to the end of what is around them soonest.
    least = min(map(language.cost, items))
    soon = [i for i in items if i in place.cheap] or [i for i in items if language.cost(i) == least]
    fixed = frozenset(item.head[depth] for item in longer)
    closing = frozenset(item.head[depth] for item in longer if item in soon)

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        named = tuple(item for item in longer if item.head[depth] == token)
        if inside is None or bare is None or named:
            return place.follow(named, depth + 1, sentence)
        return *inside.take(token, sentence)[0], *place.after(bare)

    if inside is None:
        return Choice(fixed, following, closing=closing)
    return CopyChoice(
        fixed | inside.fixed,
        lambda sentence, is_closing: inside.find_copies(sentence, is_closing=is_closing),
        following,
        closing=closing | inside.closing if bare in soon else closing,
    )


def _continue_words(sentence: CopySentence, after: Frame, ends: tuple[int, ...]) -> Frame:
    """Return words between square brackets: those that continue a span, or those after them."""
    return sentence.make(_choose_word, after, ends)


def _choose_word(after: Frame, ends: tuple[int, ...]) -> BoundChoice:
    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        longer = sentence.go_on(ends, token)
        if not longer:
            return after.take(token, sentence)[0]
        return (_continue_words(sentence, after, longer),)

    return BoundChoice(
        after.fixed,
        lambda sentence, is_closing: (
            NOTHING if is_closing else frozenset(filter(_is_word, sentence.next_words(ends)))
        ),
        following,
        closing=after.closing,
    )
