"""A pushdown automaton over tokens; its states are immutable and share what they have in common.

A state is a stack of frames: what may come now on top, what comes after it below. Frames know no
stack and are made once for each place of a grammar, so that what they allow and where a token
leads are computed once. What depends on the sentence (copied words) is kept with the sentence.

Decoding must end: from `limit` tokens less `reserve` on, frames allow only what closes the program
(`Frame.closing`). A grammar says how much reserve closing may need.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, ClassVar, TypeVar

from genie_dp.languages.copying import Sentence
from genie_dp.languages.decoding import Allowed

NOTHING: frozenset[str] = frozenset()
# 20,000 synthesized programs need 32,000 frames, 50,000 need 62,000, random walks one for every two
# tokens; with its sets a frame takes 1.4 KB (November 2026).
MOST_FRAMES = 200_000

Move = tuple[tuple["Frame", ...], Any]
"""What stands in place of a frame after a token, the next one first, and the result so far."""
Stack = tuple["Frame", "Stack"] | None

_Made = TypeVar("_Made", bound="Frame")


class Frame:
    """Something that is still to come in a program.

    Attributes:
        fixed: tokens that it may begin with.
        closing: those of them that lead to an end soon; used when little room is left.
        skips: whether nothing of it need come; then `result` is what it leaves.
        result: what is said to the frame below when this one is skipped.
        moves: token -> where it led, unless to a frame that is bound.
        is_bound: whether it holds places of one sentence.
    """

    __slots__ = ("closing", "fixed", "moves", "result", "skips")

    waits: ClassVar[bool] = False
    is_bound: ClassVar[bool] = False

    def __init__(
        self,
        fixed: frozenset[str],
        *,
        closing: frozenset[str] | None = None,
        skips: bool = False,
        result: Hashable = None,
    ):
        """Keep what may come; all of it closes unless `closing` says less."""
        self.fixed = fixed
        self.closing = fixed if closing is None else closing
        self.skips = skips
        self.result = result
        self.moves: dict[Any, Move] = {}

    def copied(self, sentence: Sentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words of the sentence that it may begin with."""
        return NOTHING

    def take(self, token: str, sentence: Sentence) -> Move:
        """Return what stands in its place after one of its tokens."""
        return (), None


class Wait(Frame):
    """A frame of no tokens that goes on with the result of what stood above it."""

    __slots__ = ()
    waits = True

    def __init__(self) -> None:
        """Allow nothing: a waiting frame never stays on top."""
        super().__init__(NOTHING)

    def resume(self, result: Any) -> Move:
        """Return what stands in its place once the frames above have left a result."""
        raise NotImplementedError


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
        self._frames: dict[tuple[Any, ...], Any] = {}
        self._tokens: dict[str, Token] = {}

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
        found = self._unions.get(key)
        if found is None:
            found = self._unions[key] = self.set_of(one | other)
        return found

    def make(self, kind: Callable[..., _Made], *parts: Hashable) -> _Made:
        """Return the one frame of a kind with those parts."""
        key = (kind, *parts)
        found = self._frames.get(key)
        if found is None:
            if len(self._frames) >= MOST_FRAMES:
                self._forget()
            found = kind(*parts)
            found.fixed = self.set_of(found.fixed)
            found.closing = self.set_of(found.closing)
            self._frames[key] = found
        made: _Made = found
        return made

    def _forget(self) -> None:
        """Forget all frames; those that states hold work on, and the sets stay the same."""
        for frame in self._frames.values():
            frame.moves.clear()
        self._frames.clear()
        if self._forget_parts is not None:
            self._forget_parts()

    def token(self, token: str) -> Token:
        """Return the frame of one token."""
        found = self._tokens.get(token)
        if found is None:
            found = self._tokens[token] = Token(self.set_of(frozenset((token,))))
        return found

    def begin(self, frames: Sequence[Frame], sentence: Sentence) -> "State":
        """Return the empty prefix."""
        return State(self, sentence, _settled(_pushed(frames, None), None), 0)


class State:
    """A prefix of a program: the Prefix of a DecodingGrammar."""

    __slots__ = ("_allowed", "_automaton", "_sentence", "length", "stack")

    def __init__(self, automaton: Automaton, sentence: Sentence, stack: Stack, length: int):
        """Keep the stack; `length` tokens came before."""
        self._automaton = automaton
        self._sentence = sentence
        self._allowed: Allowed | None = None
        self.stack = stack
        self.length = length

    @property
    def is_closing(self) -> bool:
        """Tell whether only what closes the program may come."""
        return self.length >= self._automaton.limit - self._automaton.reserve

    @property
    def allowed(self) -> Allowed:
        """Return what may come next; never nothing, so that every prefix can be completed."""
        if self._allowed is None:
            self._allowed = self._computed()
        return self._allowed

    def _computed(self) -> Allowed:
        is_closing, stack = self.is_closing, self.stack
        fixed, copied = NOTHING, NOTHING
        while stack is not None:
            frame, below = stack
            own = frame.closing if is_closing else frame.fixed
            fixed = self._automaton.union(fixed, own) if fixed else own
            words = frame.copied(self._sentence, is_closing=is_closing)
            copied = copied | words if copied else words
            if not frame.skips:
                return Allowed(fixed, copied, False)
            stack = _settled(below, frame.result)
        return Allowed(fixed, copied, True)

    def then(self, token: str) -> "State":
        """Return the prefix with one more token, or raise ValueError if it is not allowed."""
        is_closing, stack, sentence = self.is_closing, self.stack, self._sentence
        while stack is not None:
            frame, below = stack
            own = frame.closing if is_closing else frame.fixed
            if token in own or token in frame.copied(sentence, is_closing=is_closing):
                after = _after(frame, below, token, sentence)
                return State(self._automaton, sentence, after, self.length + 1)
            if not frame.skips:
                break
            stack = _settled(below, frame.result)
        raise ValueError(f"expected a token that is allowed here, got {token!r}")


def _after(frame: Frame, below: Stack, token: str, sentence: Sentence) -> Stack:
    move = frame.moves.get(token)
    if move is None:
        move = frame.take(token, sentence)
        if not any(following.is_bound for following in move[0]):
            frame.moves[token] = move
    frames, result = move
    return _settled(_pushed(frames, below), result)


def _pushed(frames: Sequence[Frame], stack: Stack) -> Stack:
    for frame in reversed(frames):
        stack = (frame, stack)
    return stack


def _settled(stack: Stack, result: Any) -> Stack:
    """Return the stack once all frames that waited for a result went on."""
    while stack is not None and stack[0].waits:
        frame, stack = stack
        assert isinstance(frame, Wait)
        move = frame.moves.get(result)
        if move is None:
            move = frame.moves[result] = frame.resume(result)
        frames, result = move
        stack = _pushed(frames, stack)
    return stack
