"""A pushdown automaton over tokens; its states are immutable and share their common parts.

A state is a stack of frames: the next tokens on top, the tokens after them below. Frames know no
stack and are made once for each place of a grammar, so that their tokens and the place to which
each leads are computed once. Equal stacks are one object, too, and know their tokens and where each
fixed token leads; so a decoder asks for most steps with a look-up. Facts that depend on the
sentence (copied words) are kept with the sentence.

Decoding must end: from `limit` tokens less `reserve` on, or sooner where a search asks, frames
allow only tokens that close the program (`Frame.closing`), and where it may end it must. A grammar
declares how much reserve closing may need.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, TypeVar, TypeVarTuple

from genie_dp.languages.base import Allowed

_Kept = TypeVar("_Kept")
_Parts = TypeVarTuple("_Parts")


class TextNode:
    """A place in the tree of fixed texts: the words that go on from it.

    >>> root = text_tree(["new york", "new delhi"])
    >>> sorted(root.following["new"].following), root.following["new"].is_end
    (['delhi', 'york'], False)
    """

    __slots__ = ("following", "is_end", "words")

    def __init__(self) -> None:
        self.following: dict[str, TextNode] = {}
        self.is_end = False
        self.words: frozenset[str] = frozenset()


def text_tree(texts: Iterable[str]) -> TextNode:
    """Return the tree of texts; words are separated by one space."""
    root = TextNode()
    for text in sorted(set(texts)):
        node = root
        for word in text.split(" "):
            node = node.following.setdefault(word, TextNode())
        node.is_end = True
    unfrozen_nodes = [root]
    while unfrozen_nodes:
        node = unfrozen_nodes.pop()
        node.words = frozenset(node.following)
        unfrozen_nodes.extend(node.following.values())
    return root


class CopySentence:
    """The words of a sentence that may be copied, and where each of them stands.

    Attributes:
        words: the words; "" where one cannot be copied, which ends each span.
        starts: the words that a span may begin with.
        places: word -> the indices at which it stands.
        kept: facts about this sentence that frames keep, each under a key of its own.
        allowed: the allowed tokens in this sentence, keyed by the automaton.

    >>> sentence = CopySentence("to be or not to be".split(), bool)
    >>> ends = sentence.begin("to")
    >>> sorted(sentence.next_words(ends)), sorted(sentence.next_words(sentence.go_on(ends, "be")))
    (['be'], ['or'])
    """

    __slots__ = ("allowed", "kept", "places", "starts", "words")

    def __init__(self, words: Sequence[str], is_copied: Callable[[str], bool]):
        self.words = tuple(word if word and is_copied(word) else "" for word in words)
        self.starts = frozenset(filter(None, self.words))
        places: dict[str, list[int]] = {}
        for index, word in enumerate(self.words):
            places.setdefault(word, []).append(index)
        self.places = {word: tuple(indices) for word, indices in places.items()}
        self.kept: dict[Hashable, Any] = {}
        self.allowed: dict[Hashable, Any] = {}

    def make(self, kind: Callable[..., _Kept], *parts: Hashable) -> _Kept:
        """Return the one frame of a kind with those parts in this sentence."""
        key = (kind, *parts)
        item: _Kept | None = self.kept.get(key)
        if item is None:
            item = self.kept[key] = kind(*parts)
        return item

    def find(self, search: "Callable[[*_Parts, CopySentence], _Kept]", *parts: *_Parts) -> _Kept:
        """Return the result of a search for those parts in this sentence; it searches once."""
        key = (search, *parts)
        result: _Kept | None = self.kept.get(key)
        if result is None:
            result = self.kept[key] = search(*parts, self)
        return result

    def begin(self, word: str) -> tuple[int, ...]:
        """Return where the spans end that begin with a word: indices of the word after it."""
        return tuple(index + 1 for index in self.places.get(word, ()))

    def go_on(self, ends: tuple[int, ...], word: str) -> tuple[int, ...]:
        """Return the ends of those spans that go on with a word."""
        words = self.words
        return tuple(end + 1 for end in ends if end < len(words) and words[end] == word)

    def next_words(self, ends: tuple[int, ...]) -> frozenset[str]:
        """Return the words that continue one of the spans."""
        words = self.words
        return frozenset(words[end] for end in ends if end < len(words) and words[end])


NOTHING: frozenset[str] = frozenset()
# 20,000 synthesized programs need 32,000 frames, 50,000 need 62,000, random walks one for every two
# tokens; with its sets a frame takes 1.4 KB (November 2026).
MOST_FRAMES = 200_000

Move = tuple[tuple["Frame", ...], Any]
"""What stands in place of a frame after a token, the next one first, and the result so far."""
# Stacks kept, counted when a program begins. 8,000 synthesized programs need 32,500, of 0.7 KB each
# (November 2026).
MOST_STACKS = 200_000

_Made = TypeVar("_Made", bound="Frame")


class Frame:
    """Something that is still to come in a program.

    Attributes:
        fixed: tokens that it may begin with.
        closing: those of them that lead to an end soon; used when little room is left.
        skips: whether the frame may be skipped; then `result` is its result.
        result: the result for the frame below when this one is skipped.
        moves: token -> where it led, unless out of all sentences into one.
        is_bound: whether it is of one sentence, whose `make` made it.
        copies: whether it may begin with words of the sentence.
    """

    __slots__ = ("closing", "fixed", "moves", "result", "skips")

    waits: ClassVar[bool] = False
    is_bound: ClassVar[bool] = False
    copies: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.copies = cls.find_copies is not Frame.find_copies

    def __init__(
        self,
        fixed: frozenset[str],
        *,
        closing: frozenset[str] | None = None,
        skips: bool = False,
        result: Hashable = None,
    ):
        """Keep the next tokens; all of them close unless `closing` names fewer."""
        self.fixed = fixed
        self.closing = fixed if closing is None else closing
        self.skips = skips
        self.result = result
        self.moves: dict[Any, Move] = {}

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words of the sentence that it may begin with."""
        return NOTHING

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Return the frames that replace this one after one of its tokens."""
        return (), None


class Wait(Frame):
    """A frame of no tokens that goes on with the result of the frames above it."""

    __slots__ = ()
    waits = True

    def __init__(self) -> None:
        """Allow nothing: a waiting frame never stays on top."""
        super().__init__(NOTHING)

    def resume(self, result: Any) -> Move:
        """Return the frames that replace this one once the frames above have left a result."""
        raise NotImplementedError


class After(Wait):
    """Goes on with the frames that a function makes of the result."""

    __slots__ = ("_following", "_parts")

    def __init__(self, following: Callable[..., Sequence[Frame]], *parts: Hashable):
        """Keep the function, and its arguments before the result."""
        super().__init__()
        self._following, self._parts = following, parts

    def resume(self, result: Any) -> Move:
        """Go on."""
        return tuple(self._following(*self._parts, result)), None


class Give(Wait):
    """Leaves a result of its own, whatever stood above."""

    __slots__ = ("_given",)

    def __init__(self, given: Hashable):
        super().__init__()
        self._given = given

    def resume(self, result: Any) -> Move:
        """Leave it."""
        return (), self._given


class Token(Frame):
    """One certain token."""

    __slots__ = ()


class Automaton:
    """Frames that were made, and sets of tokens, each of which exists once.

    Attributes:
        limit: the most tokens of a program.
        reserve: how many tokens before the limit programs begin to be closed.
    """

    def __init__(self, limit: int, reserve: int, forget: Callable[[], None] | None = None):
        """Start with no frames; `forget` is called whenever all are forgotten."""
        self.limit = limit
        self._forget_parts = forget
        self.reserve = reserve
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._unions: dict[tuple[int, int], frozenset[str]] = {}
        self._allowed: dict[tuple[int, bool], Allowed] = {}
        self._frames: dict[tuple[Any, ...], Any] = {}
        self._tokens: dict[tuple[str, ...], Token] = {}
        self._made = 0
        self._bottom = Stack(self, None, None, True)

    def set_of(self, tokens: frozenset[str]) -> frozenset[str]:
        """Return the one set that equals these tokens."""
        return self._sets.setdefault(tokens, tokens)

    def union(self, one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
        """Return the one set of the tokens of both; both are sets of this automaton."""
        if one is other or not other:
            return one
        if not one:
            return other
        key = id(one), id(other)  # sets of the automaton live as long as it does
        union = self._unions.get(key)
        if union is None:
            union = self._unions[key] = self.set_of(one | other)
        return union

    def make_allowed(self, fixed: frozenset[str], is_end: bool) -> Allowed:
        """Return the one Allowed of a set of this automaton, without copies."""
        key = id(fixed), is_end
        allowed_tokens = self._allowed.get(key)
        if allowed_tokens is None:
            allowed_tokens = self._allowed[key] = Allowed(fixed, NOTHING, is_end)
        return allowed_tokens

    def make(self, kind: Callable[..., _Made], *parts: Hashable) -> _Made:
        """Return the one frame of a kind with those parts."""
        key = (kind, *parts)
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) >= MOST_FRAMES:
                self._forget()
            frame = kind(*parts)
            frame.fixed = self.set_of(frame.fixed)
            frame.closing = self.set_of(frame.closing)
            self._frames[key] = frame
        state: _Made = frame
        return state

    def _forget(self) -> None:
        """Forget all frames; those that states hold work on, and the sets stay the same."""
        for frame in self._frames.values():
            frame.moves.clear()
        self._frames.clear()
        self._bottom, self._made = Stack(self, None, None, True), 0
        if self._forget_parts is not None:
            self._forget_parts()

    def token(self, *tokens: str) -> Token:
        """Return the frame of one token, which is any of some."""
        frame = self._tokens.get(tokens)
        if frame is None:
            frame = self._tokens[tokens] = Token(self.set_of(frozenset(tokens)))
        return frame

    def after(self, following: Callable[..., Sequence[Frame]], *parts: Hashable) -> After:
        """Return the frame that goes on with `following(*parts, result)`."""
        return self.make(After, following, *parts)

    def give(self, result: Hashable) -> Give:
        """Return the frame that leaves a result."""
        return self.make(Give, result)

    def begin(self, frames: Sequence[Frame], sentence: CopySentence) -> "AutomatonState":
        """Return the empty prefix."""
        if self._made >= MOST_STACKS:
            self._bottom, self._made = Stack(self, None, None, True), 0
        stack = _settle(_push(frames, self._bottom), None)
        return AutomatonState(sentence, stack, self.limit - self.reserve)

    def stack(self, frame: Frame, below: "Stack") -> "Stack":
        """Return the one stack of a frame on others; a new one if any is of one sentence."""
        if frame.is_bound or not below.is_kept:
            return Stack(self, frame, below, False)
        stack = below.above.get(frame)
        if stack is None:
            self._made += 1
            stack = below.above[frame] = Stack(self, frame, below, True)
        return stack


class View(NamedTuple):
    """The allowed tokens of a stack, whatever the sentence.

    Attributes:
        plain: all tokens, save those that `copiers` add.
        copiers: frames that may begin with words of the sentence.
    """

    plain: Allowed
    copiers: tuple[Frame, ...]


class Stack:
    """Frames, the next one on top.

    Attributes:
        frame: the top; None where nothing more comes.
        below: the rest of the stack.
        is_kept: whether no frame is of one sentence: then equal stacks are one object.
        above: the stacks with one frame more.
        views: the allowed tokens, while there is room and when the program must be closed.
        moves: where fixed tokens lead, likewise.
    """

    __slots__ = ("above", "automaton", "below", "frame", "is_kept", "moves", "views")

    def __init__(
        self, automaton: Automaton, frame: Frame | None, below: "Stack | None", is_kept: bool
    ):
        self.automaton, self.frame, self.below, self.is_kept = automaton, frame, below, is_kept
        self.above: dict[Frame, Stack] = {}
        self.views: list[View | None] = [None, None]
        self.moves: tuple[dict[str, Stack], dict[str, Stack]] = {}, {}

    def reachable(self) -> "Iterator[tuple[Frame, Stack] | None]":
        """Yield the next frames, each with the stack below it; None if the end may come."""
        stack = self
        while stack.frame is not None:
            frame, below = stack.frame, stack.below
            assert below is not None
            yield frame, below
            if not frame.skips:
                return
            stack = _settle(below, frame.result)
        yield None

    def view(self, is_closing: bool) -> View:
        """Return the allowed tokens."""
        view = self.views[is_closing]
        if view is None:
            view = self.views[is_closing] = self._view(is_closing)
        return view

    def _view(self, is_closing: bool) -> View:
        fixed, copiers, is_end = NOTHING, [], False
        for there in self.reachable():
            if there is None:
                is_end = True
                break
            frame, _ = there
            own = self.automaton.set_of(frame.closing if is_closing else frame.fixed)
            fixed = self.automaton.union(fixed, own)
            if frame.copies:
                copiers.append(frame)
        if is_end and is_closing:
            fixed, copiers = NOTHING, []
        return View(self.automaton.make_allowed(fixed, is_end), tuple(copiers))

    def then(self, token: str, sentence: CopySentence, is_closing: bool) -> "Stack | None":
        """Return the stack after a token, or None if it is not allowed."""
        stack = self.moves[is_closing].get(token)
        return stack or self._then(token, sentence, is_closing)

    def _then(self, token: str, sentence: CopySentence, is_closing: bool) -> "Stack | None":
        if is_closing and self.view(is_closing).plain.end:
            return None
        is_known = self.is_kept
        for there in self.reachable():
            if there is None:
                return None
            frame, below = there
            if token in (frame.closing if is_closing else frame.fixed):
                after = _after(frame, below, token, sentence)
                if is_known and after.is_kept:
                    self.moves[is_closing][token] = after
                return after
            if frame.copies:
                if token in frame.find_copies(sentence, is_closing=is_closing):
                    return _after(frame, below, token, sentence)
                is_known = False  # another sentence may have the word here
        return None


class AutomatonState:
    """A prefix of a program: the Prefix of a DecodingGrammar."""

    __slots__ = ("_room", "_sentence", "_stack")

    def __init__(self, sentence: CopySentence, stack: Stack, room: int):
        """Keep the stack; after `room` more tokens the program must be closed."""
        self._sentence, self._stack, self._room = sentence, stack, room

    @property
    def is_closing(self) -> bool:
        """Return whether only tokens that lead to an end soon are allowed, or the end itself."""
        return self._room <= 0

    @property
    def allowed(self) -> Allowed:
        """Return the next tokens; never none, so that every prefix can be completed."""
        view = self._stack.view(self._room <= 0)
        return self._with_copies(*view) if view.copiers else view.plain

    def _with_copies(self, plain: Allowed, copiers: tuple[Frame, ...]) -> Allowed:
        """Return the allowed tokens in this sentence; the same object each time."""
        # One Allowed lives as long as its automaton.
        key = id(plain), copiers, self.is_closing
        allowed_tokens: Allowed | None = self._sentence.allowed.get(key)
        if allowed_tokens is None:
            copied = NOTHING
            for frame in copiers:
                words = frame.find_copies(self._sentence, is_closing=self.is_closing)
                copied = copied | words if copied else words
            allowed_tokens = Allowed(plain.fixed, copied, plain.end) if copied else plain
            self._sentence.allowed[key] = allowed_tokens
        return allowed_tokens

    def then(self, token: str) -> "AutomatonState":
        """Return the prefix with one more token, or raise ValueError if it is not allowed."""
        after = self._stack.then(token, self._sentence, self._room <= 0)
        if after is None:
            raise ValueError(f"expected a token that is allowed here, got {token!r}")
        return AutomatonState(self._sentence, after, self._room - 1)

    def closing(self) -> "AutomatonState":
        """Return the prefix as one that is closing, and so are all that follow it."""
        return self if self._room <= 0 else AutomatonState(self._sentence, self._stack, 0)


def _after(frame: Frame, below: Stack, token: str, sentence: CopySentence) -> Stack:
    move = frame.moves.get(token)
    if move is None:
        move = frame.take(token, sentence)
        if frame.is_bound or not any(following.is_bound for following in move[0]):
            frame.moves[token] = move
    frames, result = move
    return _settle(_push(frames, below), result)


def _push(frames: Sequence[Frame], stack: Stack) -> Stack:
    for frame in reversed(frames):
        stack = stack.automaton.stack(frame, stack)
    return stack


def _settle(stack: Stack, result: Any) -> Stack:
    """Return the stack once all frames that waited for a result went on."""
    while stack.frame is not None and stack.frame.waits:
        frame, below = stack.frame, stack.below
        assert isinstance(frame, Wait)
        assert below is not None
        move = frame.moves.get(result)
        if move is None:
            move = frame.moves[result] = frame.resume(result)
        frames, result = move
        stack = _push(frames, below)
    return stack
