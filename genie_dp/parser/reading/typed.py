"""Texts of programs as they were typed, by the places of tokens in a sentence."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from genie_dp.parser.reading.reading import Reading
from genie_dp.parser.reading.sentence import without_controls
from genie_dp.skills.words import END_MARKS

_FOLDED = str.maketrans({"’": "'", "\u2212": "-"})
# Letters or a hyphen between a name and a word that is glued to it: "küche-n-licht".
_MOST_BETWEEN = 3
_STAND_IN = "QUOTED_STRING_9{:03}"  # no reader counts so far


class TypedTexts(NamedTuple):
    """A program in token form with stand-ins for the words of its texts.

    Attributes:
        texts: stand-in -> the words as they were typed.
    """

    program: str
    texts: Mapping[str, str]


def token_spans(text: str, tokens: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each token of a text begins and ends in it; spans of added tokens are empty.

    Args:
        text: a sentence as it was typed.
        tokens: in the order of the text, in lower case or as typed; one may be several words.

    >>> token_spans("Müller's 5% Milk", ["müller", "'s", "5%", "percent", "milk"])
    [(0, 6), (6, 8), (9, 11), (11, 11), (12, 16)]
    """
    spans, last = [], 0
    for token in tokens:
        start = None
        for word in token.split():
            span = _find(text, word, last)
            if span is not None:
                start, last = span[0] if start is None else start, span[1]
        spans.append((last if start is None else start, last))
    return spans


def _find(text: str, word: str, start: int) -> tuple[int, int] | None:
    """Return the place of a word that follows a place, after white space and little else."""
    while start < len(text) and text[start].isspace():
        start += 1
    folded = word.translate(_FOLDED).casefold()
    for first in range(start, min(start + _MOST_BETWEEN, len(text) - 1) + 1):
        end, read = first, ""
        while end < len(text) and len(read) < len(folded):
            read += text[end].translate(_FOLDED).casefold()
            end += 1
        if read == folded:
            return first, end
        if text[first].isspace():
            return None
    return None


def typed_texts(program: str, reading: Reading, sentence: str) -> TypedTexts:
    """Return a program with stand-ins for texts and names that are words of the sentence.

    Args:
        program: in token form, with the placeholders of the reading.
        reading: of the sentence.
        sentence: as it was typed.

    >>> typed_texts('say( " dr . who " )', Reading(("say", "dr", ".", "who")), "Say Dr. Who")
    TypedTexts(program='say( " QUOTED_STRING_9000 " )', texts={'QUOTED_STRING_9000': 'Dr. Who'})
    """
    if '"' not in program:
        return TypedTexts(program, {})
    sentence = without_controls(sentence)
    tokens, texts, used = program.split(" "), dict[str, str](), set[int]()
    values = reading.values
    spans = token_spans(sentence, [values[x].text if x in values else x for x in reading.tokens])
    for place in reversed([*_texts_in(tokens)]):
        first = _last_place(reading.tokens, tokens[place], used)
        if first is not None:
            end = first + len(tokens[place])
            used.update(range(first, end))
            while end == len(spans) and end > first + 1 and reading.tokens[end - 1] in END_MARKS:
                end, spans = end - 1, spans[:-1]
            name = _STAND_IN.format(len(texts))
            texts[name] = sentence[spans[first][0] : spans[end - 1][1]]
            tokens[place] = [name]
    return TypedTexts(" ".join(tokens), texts)


def _texts_in(program: Sequence[str]) -> Iterator[slice]:
    """Yield where the words of texts and names are, without names that have an id."""
    quotes = [i for i, token in enumerate(program) if token == '"']
    for first, last in zip(quotes[::2], quotes[1::2], strict=False):
        if last > first + 1 and not (program[last + 2 : last + 3] or [""])[0].startswith("id:"):
            yield slice(first + 1, last)


def _last_place(tokens: Sequence[str], words: Sequence[str], used: Collection[int]) -> int | None:
    """Return where words stand in a sentence, the last time that none of them is used."""
    for start in range(len(tokens) - len(words), -1, -1):
        is_free = not any(place in used for place in range(start, start + len(words)))
        if is_free and [*tokens[start : start + len(words)]] == [*words]:
            return start
    return None
