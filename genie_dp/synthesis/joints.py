"""Words of sentences in the parts that templates join: "5-minute" of `'$n' '-' 'minute'`."""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import islice, pairwise, product

from genie_dp.skills.words import GLUE

NUMBER = re.compile(r"(?:^[-+])?\d+(?:[.,]\d+)*")
_RUN = re.compile(r"\d+(?:[.,]\d+)*|[^\W\d]+|\W")
_LONGEST = 40  # characters of a word that is cut at all
_MOST_WAYS = 24  # to cut one word
MOST_SENTENCES = 64


def ways_apart(word: str, known: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the tokens that templates may have for a word of several parts, `~` between some.

    Args:
        word: in small letters, as it was typed.
        known: the words of the templates. A word alone beside a hyphen may be a name, and
            need not be one of them.

    >>> list(ways_apart("5-minute", {"-", "minute"}))
    [('5', '-', 'minute')]
    >>> list(ways_apart("badlicht", {"~", "bad", "licht"}))
    [('bad', '~', 'licht')]
    >>> list(ways_apart("living-room", {"room"}))
    [('living', 'room')]
    >>> list(ways_apart("unlock", {"un", "lock"}))
    []
    """
    if len(word) <= _LONGEST:
        found = (way for parts in _parts_of(word, known) for way in _joined(parts, GLUE in known))
        yield from islice(found, _MOST_WAYS)


def sentences_apart(
    choices: Sequence[Sequence[tuple[str, ...]]],
) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield (words that are cut, tokens) of sentences with a word cut or several.

    Args:
        choices: for each word the tokens that it is, and the ways to cut it.

    >>> list(sentences_apart([[("set",)], [("5m",), ("5", "m")]]))
    [(1, ('set', '5', 'm'))]
    """
    for chosen in islice(product(*choices), 1, MOST_SENTENCES):
        cuts = sum(way != ways[0] for way, ways in zip(chosen, choices, strict=True))
        yield cuts, tuple(token for way in chosen for token in way)


def _parts_of(word: str, known: Collection[str]) -> Iterator[tuple[str, ...]]:
    """Yield the ways to cut a word into two or more words, numbers and marks.

    A hyphen without meaning is a space.
    """
    runs = [match.span() for match in _RUN.finditer(word)]
    has_digits = any(character.isdigit() for character in word)
    alone = {} if has_digits else {start: end for start, end in runs if word[start].isalpha()}

    def ways(start: int) -> Iterator[tuple[str, ...]]:
        if start == len(word):
            yield ()
            return
        number = NUMBER.match(word, start)
        ends = {number.end()} if number else set()
        if not number or start == 0:
            ends.update(end for end in range(start + 1, len(word) + 1) if word[start:end] in known)
        if start in alone:
            ends.add(alone[start])
        for end in sorted(ends, reverse=True):
            if not (word[end - 1].isdigit() and word[end : end + 1].isdigit()):
                yield from ((word[start:end], *rest) for rest in ways(end))
        is_between = word[start] == "-" and 0 < start < len(word) - 1
        if is_between and (not word[start - 1].isdigit() or word[start + 1].isdigit()):
            yield from ((" ", *rest) for rest in ways(start + 1))

    for parts in ways(0):
        is_said = any(part in known and part.isalpha() for part in parts)
        if len(parts) > 1 and (is_said or has_digits):
            yield parts


def _joined(parts: Sequence[str], has_glue: bool) -> Iterator[tuple[str, ...]]:
    """Yield parts joined by each sequence of signs that templates may have between them."""
    between: list[list[tuple[str, ...]]] = []
    for left, right in pairwise(parts):
        # The end of a number is known without a sign, and so is that of a word before a mark.
        is_open = left[-1].isalnum() and right[0].isalnum() and not NUMBER.fullmatch(left)
        is_word = " " not in (left, right)
        between.append([*([] if is_open else [()]), *([(GLUE,)] if has_glue and is_word else [])])
    for joints in product(*between):
        pairs = zip(parts[1:], joints, strict=True)
        tokens = (parts[0], *(token for part, joint in pairs for token in (*joint, part)))
        yield tuple(token for token in tokens if token != " ")
