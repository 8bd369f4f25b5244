"""Where a sentence says the values of its program: spans of tokens with labels."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from genie_dp.records import Example

_PARAMETER = re.compile(r"(?:param|attribute):([\w-]+)")
_SLOT = re.compile(r"([A-Z][A-Z_]*?)(?:_[\w.:-]+)?_\d+")
_NO_LABEL = re.compile(r"[^\w.-]+")


@dataclass(frozen=True, slots=True)
class Found:
    """A value of the sentence: tokens from start up to end, and the parameter that it fills."""

    start: int
    end: int
    label: str


def spans_of(row: Example) -> tuple[Found, ...]:
    """Return the values that the sentence says, from left to right, never overlapping.

    These are placeholders, texts of the program that stand in the sentence as they are, and words
    of slots of TOP. Of values that overlap the longer one stays.

    >>> row = Example("a", "tell bob hello there",
    ...     'now => @m.send param:to:String = " bob " param:text:String = " hello there "')
    >>> [(f.start, f.end, f.label) for f in spans_of(row)]
    [(1, 2, 'to'), (2, 4, 'text')]
    """
    words = row.utterance.split()
    found = [*_placeholders(row, words), *_texts(row, words)]
    found.sort(key=lambda f: (f.start - f.end, f.start, f.label))
    taken = [False] * len(words)
    kept = []
    for one in found:
        if not any(taken[one.start : one.end]):
            taken[one.start : one.end] = [True] * (one.end - one.start)
            kept.append(one)
    return tuple(sorted(kept, key=lambda f: f.start))


def _placeholders(row: Example, words: Sequence[str]) -> Iterator[Found]:
    for place, word in enumerate(words):
        if word in row.slots:
            parameter = row.slots[word].parameter.rpartition(":")[2]
            yield Found(place, place + 1, label_of(parameter or row.slots[word].type))
        elif word[:1].isupper() and (match := _SLOT.fullmatch(word)) and word in row.program:
            yield Found(place, place + 1, match[1].lower())


def _texts(row: Example, words: Sequence[str]) -> Iterator[Found]:
    for label, text in _values(row.program.split(" ")):
        for place in range(len(words) - len(text) + 1):
            if words[place] == text[0] and words[place : place + len(text)] == text:
                yield Found(place, place + len(text), label)


def _values(tokens: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the words of every text of a program, and of slots of TOP."""
    label, place = "text", 0
    while place < len(tokens):
        token = tokens[place]
        if token == '"':
            end = place + 1
            while end < len(tokens) and tokens[end] != '"':
                end += 1
            if end > place + 1:
                yield label, list(tokens[place + 1 : end])
            place = end
        elif match := _PARAMETER.match(token):
            label = match[1]
        elif token.startswith("SL:"):
            label = label_of(token.removeprefix("SL:").lower())
            text = _leaf(tokens, place + 1)
            if text:
                yield label, text
        elif place and tokens[place - 1] in ("(", "["):
            label = label_of(token)
        place += 1


def _leaf(tokens: Sequence[str], start: int) -> list[str]:
    """Return the words up to the bracket that closes; none where another bracket opens."""
    for end in range(start, len(tokens)):
        if tokens[end] == "]":
            return list(tokens[start:end])
        if tokens[end] in ("[", "(", '"'):
            break
    return []


def label_of(name: str) -> str:
    """Return a name that may stand in a tag.

    >>> label_of("Entity(tt:contact)")
    'Entity_tt_contact'
    """
    return _NO_LABEL.sub("_", name).strip("_") or "value"


def intent_of(row: Example) -> str:
    """Return the functions of a row as the name of an intent.

    >>> intent_of(Example("a", "hi", "", functions=("@c.f", "@d.g")))
    'c.f+d.g'
    """
    names = "+".join(dict.fromkeys(name.removeprefix("@") for name in row.functions))
    return "_".join(names.split()) or "none"
