"""Keys of names: equal for two spellings of one name, in a list and in a sentence alike.

Case, accents, apostrophes, hyphens and spaces do not count: "Kyle's office" is "kyles office",
"R2-D2" is "r2 d2". Numbers do, in figures or in words: "Radio Seven" is "radio 7", never "radio 8".
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from genie_dp.languages.types import is_slot
from genie_dp.languages.units import COMMON
from genie_dp.locale import LOCALE, Words
from genie_dp.parser.reading.numbers import number_at, ordinal_at, year_at
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.skills.words import tokenize
from genie_dp.texts import without_accents
from genie_dp.values.spelling import plain_digits, spelled_numbers

_PART = re.compile(r"\d+(?:st|nd|rd|th)\b|\d+(?:[.,]\d+)*|[^\W\d_]+|[^\w\s]|_")
_JOINTS = frozenset("-./_:()*+#")  # marks inside of names that people leave out
_AND = "&"
# After another word, so that no "I" or "X" at the beginning is a number.
_NUMERAL = r"(?=[IVX])X{0,3}(?:IX|IV|V?I{0,3})"
_ROMAN, _IS_ROMAN = re.compile(rf"(?<=\s){_NUMERAL}(?!\w)"), re.compile(_NUMERAL, re.IGNORECASE)
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10}
_POSSESSIVES = frozenset(("my", "our"))
_LETTERS_OF_SLIPS = 4  # fewer letters with a slip are mostly another word: "all" is no hall
_MARGIN = 3.0  # of rapidfuzz's ratio, by which a name has to be nearer than all others


class NamePart(NamedTuple):
    """A word, a number or a mark such as "&" of a name.

    Attributes:
        text: letters in lower case without accents; of a number its figures.
        first, end: its tokens.
        is_number: whether it is a number.
        is_function_word: whether it is an article, a preposition or the like.
        starts_word: whether a space or a joint such as a hyphen is before it.
    """

    text: str
    first: int
    end: int
    is_number: bool = False
    is_function_word: bool = False
    starts_word: bool = True


class NameKey(NamedTuple):
    """The key of a name.

    Attributes:
        text: its parts, without spaces but between two numbers.
        words: its words with spaces, to be compared where there are slips.
        fixed: the parts that no slip may change: numbers, Roman ones too, single letters, "and".
        breaks: the places in `text` at which a word begins.
        plain_breaks: those of them before or behind a function word.
    """

    text: str
    words: str
    fixed: tuple[str, ...]
    breaks: frozenset[int]
    plain_breaks: frozenset[int]

    def is_named_by(self, words: "NameKey") -> bool:
        """Return whether words of the same text name it: "in a" is no Ina."""
        return words.plain_breaks <= self.breaks


@lru_cache(maxsize=4096)
def parts_of(tokens: tuple[str, ...], known: Words) -> tuple[NamePart, ...]:
    """Return the parts of tokens; placeholders are parts as they are.

    >>> [part.text for part in parts_of(("kyle", "'s", "radio", "twenty-two"), LOCALE.words)]
    ['kyle', 's', 'radio', '22']
    """
    pieces: list[tuple[str, int, bool]] = []
    for place, token in enumerate(tokens):
        plain = token.replace("'", "").replace("’", "").casefold()
        starts_word = token[0] != "'"
        for text in [token] if is_slot(token) else _PART.findall(plain):
            if text not in _JOINTS:
                pieces.append((text, place, starts_word))
            starts_word = text in _JOINTS
    texts = tuple([text for text, _, _ in pieces])
    masked = tuple(map(is_slot, texts))
    s = TextTokens("", texts, (), (), masked, (), range(len(texts)), LOCALE, COMMON)
    parts: list[NamePart] = []
    end = 0
    for position, (text, first, starts_word) in enumerate(pieces):
        if position < end:
            continue
        number = None if masked[position] else _number_at(s, position, known)
        end = position + 1
        if number is not None:
            text, end = number
        elif text in known.between_amounts:
            text = _AND
        elif not masked[position]:
            text = without_accents(text)
        is_function_word = number is None and texts[position] in known.function_words
        last = pieces[end - 1][1] + 1
        parts.append(NamePart(text, first, last, number is not None, is_function_word, starts_word))
    return tuple(parts)


def _number_at(s: TextTokens, at: int, known: Words) -> tuple[str, int] | None:
    """Return the number at a word, in figures, and the place behind it."""
    text = s.words[at]
    if text in ("a", "an", "half") or not any(map(str.isalnum, text)):
        return None
    if not known.has_grammar:
        spelled = None if text[0].isdigit() else spelled_numbers(known).find(s.words, at)
        if spelled is not None:
            return plain_digits(spelled.value), spelled.end
    elif (ordinal := ordinal_at(s, at)) is not None:
        return f"{ordinal[0]}th", ordinal[1]
    elif (year := year_at(s, at)) is not None:
        return str(year[0]), year[1]
    elif (number := number_at(s, at)) is not None:
        return plain_digits(number.value), number.end
    return (_figures(text, known), at + 1) if text[0].isdigit() else None


def _figures(text: str, known: Words) -> str:
    """Return figures without leading zeros and signs for thousands: "1,000" is "1000"."""
    thousands = re.escape(known.signs.get("thousands", ","))
    whole, *rest = re.split("[.,]", re.sub(rf"{thousands}(?=\d{{3}}(?!\d))", "", text))
    return ".".join((whole.lstrip("0") or "0", *rest))


def _key_of(parts: Sequence[NamePart]) -> NameKey:
    text, breaks, plain_breaks = "", set[int](), set[int]()
    for place, part in enumerate(parts):
        if part.starts_word:
            breaks.add(len(text))
            if place and (part.is_function_word or parts[place - 1].is_function_word):
                plain_breaks.add(len(text))
        is_digits = text[-1:].isdigit() and part.text[0].isdigit()
        text += f" {part.text}" if is_digits else part.text
    words = " ".join([text for text, _ in _words_of(parts)])
    fixed = tuple(
        part.text
        for part in parts
        if part.is_number
        or (_is_fixed(part.text) and (part.text != "s" or part.starts_word))  # no possessive
    )
    return NameKey(text, words, fixed, frozenset(breaks), frozenset(plain_breaks))


def _words_of(parts: Sequence[NamePart]) -> list[tuple[str, int]]:
    """Return the words of parts, each with the number of its first part.

    >>> _words_of(parts_of(("kyle", "'s", "r2-d2"), LOCALE.words))
    [('kyles', 0), ('r2', 2), ('d2', 4)]
    """
    words: list[tuple[str, int]] = []
    for place, part in enumerate(parts):
        if part.starts_word or not words:
            words.append((part.text, place))
        else:
            words[-1] = (words[-1][0] + part.text, words[-1][1])
    return words


@lru_cache(maxsize=65536)
def _is_fixed(text: str) -> bool:
    return len(text) == 1 or _IS_ROMAN.fullmatch(text) is not None


@lru_cache(maxsize=65536)
def keys_of(name: str, known: Words) -> tuple[NameKey, ...]:
    """Return the keys by which a name is known, its own first; none of a name of marks alone.

    The others leave out marks and the article at the beginning, or have Roman numerals in figures.

    >>> [key.text for key in keys_of("The Beatles!", LOCALE.words)]
    ['thebeatles!', 'thebeatles', 'beatles']
    >>> [key.text for key in keys_of("Rocky IV", LOCALE.words)]
    ['rockyiv', 'rocky4']
    """
    tokens = tokenize(name)
    own = parts_of(tokens, known)
    bare = tuple([part for part in own if part.text == _AND or any(map(str.isalnum, part.text))])
    start, last = 0, len(bare) - 1
    while start < last and tokens[bare[start].first] in known.articles | _POSSESSIVES:
        start += 1
    ways = {own: None, bare: None}
    if any(part.text.isalpha() for part in bare[start:]):  # "The 5" is no 5
        ways[bare[start:]] = None
    if (figures := _ROMAN.sub(_from_roman, name)) != name:
        ways[parts_of(tokenize(figures), known)] = None
    keys = {key.text: key for key in map(_key_of, filter(None, ways))}
    return tuple([key for key in keys.values() if any(map(str.isalnum, key.text))])


def _from_roman(numeral: re.Match[str]) -> str:
    values = [_ROMAN_VALUES[letter] for letter in numeral[0]]
    following = [*values[1:], 0]
    return str(sum(x if x >= y else -x for x, y in zip(values, following, strict=True)))


class NameMatch(NamedTuple):
    """A name in a sentence: where it begins and ends, in tokens, its kind, and the name."""

    start: int
    end: int
    kind: str
    name: str


class NameIndex:
    """Finds names in sentences, and the name that some words stand for."""

    def __init__(self, names: Iterable[tuple[str, str]], known: Words) -> None:
        """Index names, each with its kind; of two with one key the first counts."""
        self._known = known
        self._names: dict[str, list[tuple[str, str, NameKey]]] = {}
        keyed = [(name, kind, keys_of(name, known)) for name, kind in dict.fromkeys(names)]
        for which in (slice(1), slice(1, None)):  # a name's own key goes before others
            for name, kind, keys in keyed:
                for key in keys[which]:
                    self._names.setdefault(key.text, []).append((name, kind, key))
        self._spelled = frozenset(name for name, _, _ in keyed)
        self._sorted = sorted(self._names)
        self._by_fixed: dict[tuple[str, ...], dict[str, str]] = {}
        for named in self._names.values():
            for name, _, key in named:
                self._by_fixed.setdefault(key.fixed, {}).setdefault(key.words, name)

    def __contains__(self, name: str) -> bool:
        return name in self._spelled

    def find(self, said: str) -> str | None:
        """Return the name that words stand for, without slips."""
        for key in keys_of(said, self._known):
            named = self._names.get(key.text, ())
            names = [name for name, _, own in named if own.is_named_by(key)]
            if names:
                tokens = tokenize(said)
                return next((name for name in names if tokenize(name) == tokens), names[0])
        return None

    def kinds_of(self, said: str) -> Iterator[str]:
        """Yield the kinds of the entities that words name, without slips."""
        for key in keys_of(said, self._known):
            for _, kind, own in self._names.get(key.text, ()):
                if own.is_named_by(key):
                    yield kind

    def nearest(self, said: str, threshold: float) -> str | None:
        """Return the name that words with a slip stand for; None where two are about as near."""
        from rapidfuzz import fuzz, process

        for key in keys_of(said, self._known)[-1:]:
            matches = process.extract(
                key.words,
                tuple(self._by_fixed.get(key.fixed, ())),
                scorer=fuzz.ratio,
                limit=3,
                score_cutoff=threshold,
            )
            names = [(self._by_fixed[key.fixed][words], score) for words, score, _ in matches]
            others = [score for name, score in names if name != names[0][0]]
            if names and (not others or names[0][1] - others[0] >= _MARGIN):
                return names[0][0]
        return None

    def find_in(self, parts: Sequence[NamePart]) -> Iterator[NameMatch]:
        """Yield the names in the sentence that has these parts, without slips."""
        for start, first in enumerate(parts if self._sorted else ()):
            for end in range(start + 1, len(parts) + 1):
                parts_key = _key_of(parts[start:end])
                place = bisect_left(self._sorted, parts_key.text)
                if place == len(self._sorted) or not self._sorted[place].startswith(parts_key.text):
                    break
                if self._sorted[place] == parts_key.text and _are_tokens(parts, start, end):
                    for name, kind, key in self._names[parts_key.text]:
                        if key.is_named_by(parts_key):
                            yield NameMatch(first.first, parts[end - 1].end, kind, name)

    def find_slips(self, parts: Sequence[NamePart], threshold: float) -> Iterator[NameMatch]:
        """Yield the names with a slip of spelling in the sentence that has these parts."""
        from rapidfuzz import fuzz

        words = [*_words_of(parts), ("", len(parts))]
        for named in self._names.values():
            for name, kind, key in named:
                count = key.words.count(" ") + 1
                for place in range(len(words) - count):
                    text = " ".join([text for text, _ in words[place : place + count]])
                    start, end = words[place][1], words[place + count][1]
                    if (
                        len(text) >= _LETTERS_OF_SLIPS
                        and fuzz.ratio(key.words, text) >= threshold
                        and not any(is_slot(part.text) for part in parts[start:end])
                        and _key_of(parts[start:end]).fixed == key.fixed
                        and _are_tokens(parts, start, end)
                    ):
                        yield NameMatch(parts[start].first, parts[end - 1].end, kind, name)


def _are_tokens(parts: Sequence[NamePart], start: int, end: int) -> bool:
    is_start = start == 0 or parts[start - 1].end <= parts[start].first
    return is_start and (end == len(parts) or parts[end - 1].end <= parts[end].first)
