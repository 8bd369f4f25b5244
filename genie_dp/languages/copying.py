"""Free text in programs: contiguous spans of a sentence, or one of some fixed texts."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, TypeVar

_Made = TypeVar("_Made")


class TextNode:
    """A place in the tree of fixed texts: the words that go on from it.

    >>> root = text_tree(["new york", "new delhi"])
    >>> sorted(root.following["new"].following), root.following["new"].is_end
    (['delhi', 'york'], False)
    """

    __slots__ = ("following", "is_end", "words")

    def __init__(self) -> None:
        """Start with no words."""
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
    _freeze(root)
    return root


def _freeze(root: TextNode) -> None:
    rest = [root]
    while rest:
        node = rest.pop()
        node.words = frozenset(node.following)
        rest.extend(node.following.values())


class Sentence:
    """The words of a sentence that may be copied, and where each of them stands.

    Attributes:
        words: the words; "" where one cannot be copied, which ends each span.
        starts: the words that a span may begin with.
        places: word -> the indices at which it stands.
        kept: what frames know of this sentence; each frame under a key of its own.
        allowed: what an automaton found to be allowed in it; keyed by the automaton.

    >>> sentence = Sentence("to be or not to be".split(), bool)
    >>> ends = sentence.begin("to")
    >>> sorted(sentence.next_words(ends)), sorted(sentence.next_words(sentence.go_on(ends, "be")))
    (['be'], ['or'])
    """

    __slots__ = ("allowed", "kept", "places", "starts", "words")

    def __init__(self, words: Sequence[str], is_copied: Callable[[str], bool]):
        """Keep the words that can be copied."""
        self.words = tuple(word if word and is_copied(word) else "" for word in words)
        self.starts = frozenset(filter(None, self.words))
        places: dict[str, list[int]] = {}
        for index, word in enumerate(self.words):
            places.setdefault(word, []).append(index)
        self.places = {word: tuple(indices) for word, indices in places.items()}
        self.kept: dict[Hashable, Any] = {}
        self.allowed: dict[Hashable, Any] = {}

    def make(self, kind: Callable[..., _Made], *parts: Hashable) -> _Made:
        """Return the one frame of a kind with those parts in this sentence."""
        key = (kind, *parts)
        found: _Made | None = self.kept.get(key)
        if found is None:
            found = self.kept[key] = kind(*parts)
        return found

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
