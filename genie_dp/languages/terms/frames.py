"""Frames of the automata for terms: a choice between tokens, and words between quotes."""

from collections.abc import Callable, Hashable, Sequence

from genie_dp.languages.automaton import (
    NOTHING,
    CopySentence,
    Frame,
    Move,
    TextNode,
)
from genie_dp.languages.text import escape_word

Following = Callable[[str, CopySentence], Sequence[Frame]]
"""Takes a token; returns what follows it, the next frame first."""
Copies = Callable[[CopySentence, bool], frozenset[str]]
"""Takes a sentence, and whether the program is closing; returns words of the sentence."""

QUOTE = frozenset(('"',))
NO_TEXTS = TextNode()


class Choice(Frame):
    """One of some tokens."""

    __slots__ = ("_following",)

    def __init__(
        self,
        fixed: frozenset[str],
        following: Following,
        *,
        closing: frozenset[str] | None = None,
        skips: bool = False,
        result: Hashable = None,
    ):
        """Keep the tokens, and the frames after each."""
        super().__init__(fixed, closing=closing, skips=skips, result=result)
        self._following = following

    def take(self, token: str, sentence: CopySentence) -> Move:
        """Return the frames after a token."""
        return tuple(self._following(token, sentence)), None


class CopyChoice(Choice):
    """One of some tokens, or of some words of the sentence."""

    __slots__ = ("_copies",)

    def __init__(
        self,
        fixed: frozenset[str],
        copies: Copies,
        following: Following,
        *,
        closing: frozenset[str] | None = None,
        skips: bool = False,
        result: Hashable = None,
    ):
        """Keep the tokens, the possible words, and the frames after each."""
        super().__init__(fixed, following, closing=closing, skips=skips, result=result)
        self._copies = copies

    def find_copies(self, sentence: CopySentence, *, is_closing: bool) -> frozenset[str]:
        """Return the words of the sentence."""
        return self._copies(sentence, is_closing)


class BoundChoice(CopyChoice):
    """A choice that depends on the sentence, which makes it."""

    __slots__ = ()
    is_bound = True


def is_plain(word: str) -> bool:
    """Return whether a word stands in a text as it is."""
    return bool(word) and escape_word(word) == word


def sentence_of_bare_words(words: Sequence[str]) -> CopySentence:
    """Return the words of a sentence, all of which may stand without quotes, some only so."""
    sentence = CopySentence(words, bool)
    if not all(map(is_plain, words)):
        sentence.kept[_PLAIN] = CopySentence(words, is_plain)
    return sentence


_PLAIN = "plain"


def _plain(sentence: CopySentence) -> CopySentence:
    plain: CopySentence = sentence.kept.get(_PLAIN, sentence)
    return plain


def start_text(sentence: CopySentence, known: TextNode = NO_TEXTS, most: int = -1) -> Frame:
    """Return the first word of a text; where there is none, the closing quote.

    Args:
        sentence: whose words may be copied.
        known: texts that need not be in it.
        most: the most words of a text that is copied; any number below zero.
    """
    return sentence.make(_start_text, known, bool(_plain(sentence).starts), most)


def _start_text(known: TextNode, has_words: bool, most: int) -> BoundChoice:
    fixed = known.words if has_words or known.words else QUOTE
    return BoundChoice(
        fixed | QUOTE if known.is_end else fixed,
        lambda sentence, _: _plain(sentence).starts,
        lambda token, sentence: _after_word(
            sentence, known, _plain(sentence).begin(token), most, token
        ),
    )


def continue_text(
    sentence: CopySentence, known: TextNode, ends: tuple[int, ...] = (), room: int = -1
) -> Frame:
    """Return the next word of a text, or the closing quote where it is a whole one.

    Args:
        sentence: whose words may be copied.
        known: how known texts go on.
        ends: where the spans end that have the words before.
        room: how many more words may be copied; any number below zero.
    """
    return sentence.make(_continue_text, known, ends, room)


def _continue_text(known: TextNode, ends: tuple[int, ...], room: int) -> BoundChoice:
    closing = QUOTE if ends or known.is_end else known.words

    def copies(sentence: CopySentence, is_closing: bool) -> frozenset[str]:
        return _plain(sentence).next_words(ends) if room and not is_closing else NOTHING

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        further = _plain(sentence).go_on(ends, token) if room else ()
        return _after_word(sentence, known, further, room, token)

    return BoundChoice(known.words | closing, copies, following, closing=closing)


def _after_word(
    sentence: CopySentence, known: TextNode, ends: tuple[int, ...], room: int, token: str
) -> Sequence[Frame]:
    if token == '"':
        return ()
    node = known.following.get(token, NO_TEXTS)
    return (continue_text(sentence, node, ends, room - (room > 0)),)


def choose_text(sentence: CopySentence, texts: TextNode) -> Frame:
    """Return the next word of one of some texts, be they of the sentence or not."""
    return sentence.make(_choose_text, texts, _plain(sentence).starts)


def _choose_text(texts: TextNode, said: frozenset[str]) -> BoundChoice:
    words, quote = texts.words - said, QUOTE if texts.is_end else NOTHING

    def following(token: str, sentence: CopySentence) -> Sequence[Frame]:
        return () if token == '"' else (choose_text(sentence, texts.following[token]),)

    return BoundChoice(
        words | quote,
        lambda _, is_closing: NOTHING if is_closing and texts.is_end else texts.words & said,
        following,
        closing=quote or words,
    )
