"""Which tokens may follow in an S-expression: shapes seen in programs, words of the sentence."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.automaton import NOTHING, Automaton, Frame, Move, State
from genie_dp.languages.copying import Sentence
from genie_dp.languages.sexpr.ast import Text
from genie_dp.languages.sexpr.declarations import NONE, Declarations
from genie_dp.languages.sexpr.render import tokens
from genie_dp.languages.sexpr.shapes import Item, Key, Shapes, learn
from genie_dp.languages.sexpr.types import is_number, placeholder_type

_CLOSERS = {"(": ")", "^(": ")", "#(": ")", "[": "]"}
_QUOTE = frozenset(('"',))
_NEVER = 10**6


@dataclass(frozen=True, slots=True)
class Limits:
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
        library: Declarations | None,
        *,
        texts: Iterable[str] = (),
        limits: Limits | None = None,
    ):
        """Learn the nodes.

        Args:
            library: orders and signatures that are declared, if any.
            texts: programs in token form, such as those of the training set.
            limits: how much a program may hold.

        Raises:
            GenieError: L011 without any program; X011 to X013 for one that cannot be read.
        """
        shapes = learn(texts, library or NONE)
        if not shapes.tops:
            raise GenieError(_no_programs())
        self._shapes, self._limits = shapes, limits or Limits()
        self._languages: dict[frozenset[Item], _Language] = {}
        everything = frozenset((Item("number"), Item("word"), *_slots(shapes)))
        probe = _Language(shapes, self._limits, Automaton(1, 1), everything)
        dearest = max(cost for cost in probe.costs.values() if cost < _NEVER)
        reserve = (self._limits.nesting + 2) * (dearest + 2)
        self._automaton = Automaton(self._limits.tokens + reserve, reserve)

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """Return all tokens that can come without being copied from a sentence."""
        shapes = self._shapes
        found = {'"'} | shapes.numbers
        for key, shape in shapes.shapes.items():
            found |= {key[0], _CLOSERS[key[0]], *(part for part in key[1:] if part)}
            items = set().union(*shape.places)
            found |= {item.key[0] for item in items if item.kind == "symbol"}
        return frozenset(found | {item.key[0] for item in shapes.tops if item.kind == "symbol"})

    def begin(self, sentence: Sequence[str]) -> State:
        """Return the empty prefix for a sentence; its tokens are what may be copied.

        Raises:
            GenieError: L012 where no program can do with what the sentence has to copy.
        """
        there = _there(sentence, self._shapes)
        language = self._languages.get(there)
        if language is None:
            language = _Language(self._shapes, self._limits, self._automaton, there)
            self._languages[there] = language
        return self._automaton.begin((language.start(),), Sentence(sentence, bool))


def _slots(shapes: Shapes) -> set[Item]:
    places = (place for shape in shapes.shapes.values() for place in shape.places)
    return {item for place in places for item in place if item.kind == "slot"}


def _there(sentence: Sequence[str], shapes: Shapes) -> frozenset[Item]:
    """Return the kinds of copied items that a sentence has; numbers that programs hold too."""
    found = {Item("number")} if shapes.numbers else set()
    for word in sentence:
        type_ = placeholder_type(word)
        if type_ is not None:
            found.add(Item("slot", (type_.stem,)))
        if is_number(word):
            found.add(Item("number"))
        if _is_word(word):
            found.add(Item("word"))
    return frozenset(found)


def _is_word(word: str) -> bool:
    """Tell whether a word may stand between square brackets."""
    return bool(word) and "[" not in word and "]" not in word


class _Language:
    """What the frames share: shapes, what it costs to end an item, frames made.

    What a sentence does not have costs too much to be allowed: `there` are the items that it has.
    """

    def __init__(
        self, shapes: Shapes, limits: Limits, automaton: Automaton, there: frozenset[Item]
    ):
        self.shapes, self.limits, self.automaton = shapes, limits, automaton
        self._there = there
        self.costs = dict.fromkeys(shapes.shapes, _NEVER)
        self._find_costs()
        self.most_items = max(limits.items, _widest(shapes))

    def start(self) -> Frame:
        tops = tuple(i for i in sorted(self.shapes.tops) if self.cost(i) < _NEVER)
        if not tops:
            raise GenieError(_nothing_to_copy())
        return self.automaton.make(_Choice, self, tops, None, 0)

    def cost(self, item: Item) -> int:
        """Return the fewest tokens of an item."""
        match item.kind:
            case "node":
                return self.costs[item.key]
            case "number" | "slot" | "word":
                return 1 if item in self._there else _NEVER
            case _:
                return 3 if item.kind == "text" else 1

    def _find_costs(self) -> None:
        """Find the fewest tokens of nodes of each key: the least fixed point."""
        is_changed = True
        while is_changed:
            is_changed = False
            for key in self.shapes.shapes:
                found = 2 + len([part for part in key[1:] if part]) + self._inside(key)
                if found < self.costs[key]:
                    self.costs[key], is_changed = found, True

    def _inside(self, key: Key) -> int:
        """Return the fewest tokens of the items of a node, taking the cheapest at each place."""
        sorts: tuple[str, ...] = ()
        total = 0
        while not self.shapes.may_end(key, sorts):
            costs = [(self.cost(item), item) for item in self.shapes.wanted(key, sorts)]
            cost, item = min(costs, default=(_NEVER, Item("word")))
            total += cost
            if total >= _NEVER:
                return _NEVER
            sorts = (*sorts, item.sort)
        return total


def _widest(shapes: Shapes) -> int:
    return max((count for s in shapes.shapes.values() for count in s.counts), default=0)


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
        self.cheap = cheap = _cheapest(language, items, node)
        self.items = cheap if is_deep else items
        end = NOTHING
        if node is not None and language.shapes.may_end(*node):
            end = frozenset((_CLOSERS[node[0][0]],))
            if is_deep:
                self.items = tuple(item for item in self.items if item.kind != "node")
        fixed = end.union(*(_first(language, item) for item in self.items))
        closing = end or frozenset[str]().union(*(_first(language, item) for item in cheap))
        super().__init__(fixed, closing=closing)

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return numbers, placeholders and words of the sentence."""
        if is_closing:
            return NOTHING if self.closing else self._copied(sentence, self.cheap)
        found: frozenset[str] | None = sentence.kept.get(self)
        if found is None:
            found = sentence.kept[self] = self._copied(sentence, self.items)
        return found

    def _copied(self, sentence: Sentence, items: tuple[Item, ...]) -> frozenset[str]:
        return frozenset(w for w in sentence.starts if self._item(w) in items)

    def _item(self, word: str) -> Item | None:
        """Return the item that a copied word would be."""
        type_ = placeholder_type(word)
        wanted = Item("slot", (type_.stem,)) if type_ else None
        for item in self.items:
            is_number_item = item.kind == "number" and is_number(word)
            is_word = item.kind == "word" and _is_word(word)
            if item == wanted or is_number_item or is_word:
                return item
        return None

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with the item, then with what follows it."""
        if token in _CLOSERS.values() and self.sorts_of is not None and token in self.fixed:
            return (), None
        language = self.language
        make = language.automaton.make
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
        """Return what follows an item."""
        if self.sorts_of is None:
            return ()
        key, sorts = self.sorts_of
        return (body(self.language, key, (*sorts, item.sort), self.nesting),)


def _cheapest(
    language: _Language, items: tuple[Item, ...], node: tuple[Key, tuple[str, ...]] | None
) -> tuple[Item, ...]:
    """Return the items that lead to the end of a node soonest."""
    wanted = items if node is None else tuple(language.shapes.wanted(*node))
    least = min((language.cost(item) for item in wanted), default=0)
    return tuple(item for item in wanted if language.cost(item) == least)


def body(language: _Language, key: Key, sorts: tuple[str, ...], nesting: int) -> _Choice:
    """Return the frame of what may follow the items of a node."""
    shapes = language.shapes
    items = tuple(i for i in shapes.allowed(key, sorts) if language.cost(i) < _NEVER)
    if len(sorts) >= language.most_items:
        wanted = () if shapes.may_end(key, sorts) else tuple(shapes.wanted(key, sorts))
        items = tuple(i for i in items if i in wanted)
    if shapes.shapes[key].elements is None and not shapes.shapes[key].is_fixed:
        sorts = ("",) * len(sorts)  # only their number matters
    return language.automaton.make(_Choice, language, items, (key, sorts), nesting)


def _first(language: _Language, item: Item) -> frozenset[str]:
    """Return the tokens that an item may begin with, copied ones left out."""
    match item.kind:
        case "node" | "symbol":
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
        soon = _soonest(around, nodes)
        closing = {n.key[depth] for n in soon if len(n.key) > depth and n.key[depth]}
        if bare in soon and self.unlabelled is not None:
            closing |= self.unlabelled.closing
        super().__init__(fixed, closing=frozenset(closing))

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return what a node without a label may begin with."""
        if self.unlabelled is None:
            return NOTHING
        return self.unlabelled.copied(sentence, is_closing=is_closing)

    def take(self, token: str, sentence: Sentence) -> Move:
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


def _soonest(around: _Choice, nodes: tuple[Item, ...]) -> tuple[Item, ...]:
    """Return the nodes that lead to the end of what is around them soonest."""
    cheap = tuple(n for n in nodes if n in around.cheap)
    least = min(around.language.cost(n) for n in nodes)
    return cheap or tuple(n for n in nodes if around.language.cost(n) == least)


class _Words(Frame):
    """Words between square brackets: those that continue a span, or what follows the words."""

    __slots__ = ("ends", "following")
    is_bound = True

    def __init__(self, following: Frame, ends: tuple[int, ...]):
        self.ends, self.following = ends, following
        super().__init__(following.fixed, closing=following.closing)

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words after the spans."""
        if is_closing:
            return NOTHING
        return frozenset(filter(_is_word, sentence.next_words(self.ends)))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with those spans that have the word."""
        ends = sentence.go_on(self.ends, token)
        if not ends:
            return self._after(token, sentence)
        return (sentence.make(_Words, self.following, ends),), None

    def _after(self, token: str, sentence: Sentence) -> Move:
        return self.following.take(token, sentence)


def _is_in_text(word: str) -> bool:
    return tokens(Text(word)).split(" ")[1] == word


class _TextStart(Frame):
    """The first word of a text in quotes; where the sentence has none, the closing quote."""

    __slots__ = ()
    is_bound = True

    def __init__(self, has_words: bool):
        super().__init__(NOTHING if has_words else _QUOTE)

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words of the sentence."""
        return frozenset(filter(_is_in_text, sentence.starts))

    def take(self, token: str, sentence: Sentence) -> Move:
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

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words after the spans."""
        if is_closing:
            return NOTHING
        return frozenset(w for w in sentence.next_words(self.ends) if _is_in_text(w))

    def take(self, token: str, sentence: Sentence) -> Move:
        """Go on with those spans that have the word."""
        if token == '"':
            return (), None
        return (sentence.make(_TextMore, sentence.go_on(self.ends, token)),), None


def _nothing_to_copy() -> Problem:
    return Problem(
        "L012",
        "expected a sentence with words or numbers that programs copy, got none",
        hint="every known program holds some; is the sentence empty?",
    )


def _no_programs() -> Problem:
    return Problem(
        "L011",
        "expected programs to learn the shapes of S-expressions from, got none",
        hint="give the programs of the training set as texts",
    )
