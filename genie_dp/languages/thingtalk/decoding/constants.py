"""Constants that programs hold without copying them: those of templates, given by the caller."""

from collections.abc import Iterable
from dataclasses import dataclass

from genie_dp.languages.copying import TextNode, text_tree
from genie_dp.languages.thingtalk.ast import (
    CurrencyValue,
    DateValue,
    EnumValue,
    LocationValue,
    NumberValue,
    TimeValue,
)
from genie_dp.languages.thingtalk.token_reader import single_token
from genie_dp.languages.thingtalk.token_values import escape_word

_KEYS: dict[type, str] = {
    NumberValue: "number",
    CurrencyValue: "currency",
    DateValue: "date",
    TimeValue: "time",
    LocationValue: "location",
    EnumValue: "enum",
}
_MARKS = ("id:", "^^")


@dataclass(frozen=True, slots=True)
class Constants:
    """Constants by what they are.

    Attributes:
        tokens: "number", "currency", "date", "time", "location", "enum", "at:" (the place of a
            location with a name) or "id:" (of an entity) -> tokens.
        kinds: kinds of entities.
        texts: the tree of free texts.
        longest_text: how many words the longest of them has.
    """

    tokens: dict[str, frozenset[str]]
    kinds: frozenset[str]
    texts: TextNode
    longest_text: int

    def of(self, key: str) -> frozenset[str]:
        """Return the constants of a key."""
        return self.tokens.get(key, frozenset())


def read_constants(texts: Iterable[str]) -> Constants:
    r"""Return the constants of some texts.

    A text is a number, date, time, place, amount or enum value as one token; `at:37.4:-122.1`,
    `id:x` or `^^ns:t`, which stand after words in quotes; or free text. Between quote tokens it
    is in token form: words are escaped.

    >>> found = read_constants(["1", "time:8:00:00", "good morning", '" x\\sy "', "id:z"])
    >>> sorted(found.tokens.items())[:2]
    [('id:', frozenset({'id:z'})), ('number', frozenset({'1'}))]
    >>> sorted(found.texts.words)
    ['good', 'x\\sy']
    """
    tokens: dict[str, set[str]] = {}
    words: list[str] = []
    for text in texts:
        key = _single(text)
        if key is not None:
            tokens.setdefault(key, set()).add(text)
        elif text.startswith('" ') and text.endswith(' "') and len(text) > 3:
            words.append(text[2:-2])
        elif text.strip():
            words.append(" ".join(map(escape_word, text.split(" "))))
    kinds = frozenset(token[2:] for token in tokens.pop("^^", ()))
    longest = max((text.count(" ") + 1 for text in words), default=0)
    frozen = {key: frozenset(found) for key, found in tokens.items()}
    return Constants(frozen, kinds, text_tree(words), longest)


def _single(text: str) -> str | None:
    """Return what a constant of one token is, or None where it is free text."""
    if " " in text:
        return None
    if text.startswith("at:"):
        return "at:" if single_token(f"location:{text[3:]}") is not None else None
    if text.startswith(_MARKS):
        return next(mark for mark in _MARKS if text.startswith(mark))
    return _KEYS.get(type(single_token(text)))


def constants_of(utterance: str, tokens: str) -> list[str]:
    """Return the constants of a program that cannot be copied from its sentence.

    >>> constants_of("the news of today", 'now => ( @a.b ) filter param:x:Date > date:2026-11-20 '
    ...     'and param:y:String == " news " and param:z:String == " sport " => notify')
    ['date:2026-11-20', '" sport "']
    """
    words = utterance.split()
    copied = f" {' '.join(map(escape_word, words))} "
    found: list[str] = []
    rest = iter(tokens.split(" "))
    for token in rest:
        if token == '"':
            text = " ".join(iter(lambda: next(rest), '"'))
            if f" {text} " not in copied:
                found.append(f'" {text} "')
        elif _single(token) is not None and token not in words:
            found.append(token)
    return found
