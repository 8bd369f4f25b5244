"""Splits people's sentences into the tokens of utterances."""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from genie_dp.languages.types import is_slot

# Vowel signs and the like, which are no letters to `re`, and stand inside of words: Hebrew, Arabic,
# the scripts of India, Thai, Lao, Tibetan, Burmese, Khmer; and what joins letters, or parts them.
_SIGNS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670"
    "\u06d6-\u06dc\u06df-\u06e8\u06ea-\u06ed\u0900-\u0963\u0966-\u0df3\u0e31\u0e34-\u0e3a\u0e47-\u0e4e"
    "\u0eb1-\u0ebc\u0ec8-\u0ecd\u0f71-\u0f84\u102b-\u103e\u17b4-\u17d3\u200c\u200d"
)
_TOKEN = re.compile(
    rf"""
      \$\{{[^{{}}]*\}} | \$[A-Za-z_]\w*                     # ${{p_x:const}}, $p_x
    | \{{[^{{}}]*\}}                                        # {{is/are}}
    | (?-i:(?:GENERIC_ENTITY_[\w.-]+:\w+|MEASURE_\w+|[A-Z]+(?:_[A-Z]+)*)_\d+\b)  # NUMBER_0
    | (?:https?://|www\.)[^\s"]*[^\s".,;:!?()']           # a link, without the full stop after it
    | [\w.+-]+@[\w-]+(?:\.[\w-]+)+                        # a mail address
    | @\w+(?:[.-]\w+)* | \#\w+(?:-\w+)* | \#(?:-\w+)+     # @name, #tag, the phrase "#-rated"
    | ['’](?:s|re|ve|ll|d|m)\b                            # nasa 's, split already or not
    | \d{{1,2}}:\d{{2}}(?::\d{{2}})?(?:[ap]m\b)?          # 12:30pm
    | [$€£]?(?:(?<![\w.])[-+])?\d+(?:[.,]\d+)*(?:%|[^\W\d_]+\b)?(?![\w-])      # 3.5gb, -10, 20%
    | [\w{_SIGNS}]+                                       # light-bulb, don't, file.txt, at&t
      (?:(?:[-.&+]|['’](?!(?:s|re|ve|ll|d|m)\b))[\w{_SIGNS}]+)*
    | \.\.\.
    | [^\w\s]
    """,
    re.VERBOSE | re.IGNORECASE,
)
_KEEPS_CASE = re.compile(r"\$(?!\d)|\{|[A-Z]+[A-Z_]*(?:_\S+)?_\d+$")


END_MARKS = frozenset((".", "?", "!"))
GLUE = "~"
"""The token between two that people write as one word: "sun ~ light"."""


def tokenize(text: str) -> tuple[str, ...]:
    """Return the tokens of a text, lower-case; placeholders keep their spelling.

    Placeholders, links, @names, #tags, times and numbers with their unit stay whole, punctuation
    and the possessive stand alone.

    >>> tokenize("NASA's picture of the day, please!")
    ('nasa', "'s", 'picture', 'of', 'the', 'day', ',', 'please', '!')
    >>> tokenize("Tweet ${p_text:const} to @bob's light-bulb at 12:30")
    ('tweet', '${p_text:const}', 'to', '@bob', "'s", 'light-bulb', 'at', '12:30')
    >>> tokenize("larger than 3.5GB")
    ('larger', 'than', '3.5gb')
    """
    return tuple(token for token, _, _ in token_places(text))


def token_places(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield every token of a text with where it begins and ends there.

    >>> list(token_places("Bob's 5"))
    [('bob', 0, 3), ("'s", 3, 5), ('5', 6, 7)]
    """
    if "{" in text:  # only what stands in braces has spaces inside
        yield from _scan(text)
        return
    start = 0
    for word in text.split(" "):
        for token, begin, end in _tokens_of(word) if len(word) <= _LONGEST else _scan(word):
            yield token, start + begin, start + end
        start += len(word) + 1


# Words come again and again, and looking at their letters is half of the time it takes to read.
_KEPT, _LONGEST = 1 << 15, 40


@lru_cache(maxsize=_KEPT)
def _tokens_of(word: str) -> tuple[tuple[str, int, int], ...]:
    return tuple(_scan(word))


def _scan(text: str) -> Iterator[tuple[str, int, int]]:
    for match in _TOKEN.finditer(text):
        token = match.group().replace("’", "'")
        yield token if _KEEPS_CASE.match(token) else token.lower(), match.start(), match.end()


def join_tokens(text: str) -> str:
    """Return the tokens of a text joined by one space.

    >>> join_tokens("The  user's name")
    "the user 's name"
    """
    return " ".join(tokenize(text))


# What readers of sentences put a placeholder for, and so no sentence has when a parser sees it.
_READ_AS = (
    (re.compile(r"@\w+(?:[.-]\w+)*"), "the name of a user"),
    (re.compile(r"\#[a-z]\w*(?:-\w+)*"), "a hashtag"),
    (re.compile(r"(?:https?://|www\.)\S+"), "a link"),
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "a mail address"),
    (re.compile(r"[\"“”]"), "the beginning of a quoted text"),
)
_SPLIT_WORD = re.compile(r"(?<!\S)(\w+) ' (t)(?!\S)")


def words_never_read(text: str) -> Iterator[tuple[str, str]]:
    """Yield the words of a text that no sentence has when it is read, each with the reason.

    Args:
        text: tokens joined by one space, `#` and `$x` for places of values.

    >>> list(words_never_read("mail to @bob"))
    [('@bob', 'it is read as the name of a user')]
    >>> list(words_never_read("what don ' t i know"))
    [("don ' t", "people write don't")]
    >>> list(words_never_read("my friend 's # label"))
    []
    """
    for word in dict.fromkeys(text.split(" ")):
        sort = next((sort for pattern, sort in _READ_AS if pattern.fullmatch(word)), None)
        if is_slot(word):
            yield word, "it stands for a value"
        elif sort is not None:
            yield word, f"it is read as {sort}"
        elif word != word.lower() and word[0] not in "${":
            yield word, "it keeps its capitals, and sentences have none"
    for match in _SPLIT_WORD.finditer(text):
        yield match.group(), f"people write {match[1]}'{match[2]}"


def find_words(
    tokens: Sequence[str], words: Sequence[str], used: Collection[int] = ()
) -> int | None:
    """Return where some words stand among tokens that are not used; None where they do not.

    >>> find_words("play play it".split(), ["play"], {0})
    1
    """
    for start in range(len(tokens) - len(words) + 1):
        places = range(start, start + len(words))
        is_free = not any(place in used for place in places)
        if is_free and list(tokens[start : start + len(words)]) == list(words):
            return start
    return None
