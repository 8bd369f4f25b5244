"""Sentences as people type them: fillers, lost articles, slips of the keys, no punctuation.

Nothing changes values and placeholders, and neither a hesitation nor more than a plain "please" or
"thanks" is put beside them, where it could be read as a part of the value.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import expm1, log1p
from random import Random
from typing import Literal

from genie_dp.augment.config import AugmentConfig
from genie_dp.augment.noise_words import (
    AFTER_COUNTED,
    ARTICLES,
    AT_ONCE,
    BEFORE_COUNTED,
    COMMAND_ENDINGS,
    ENDINGS,
    GREETINGS,
    HESITATIONS,
    LATER,
    NEIGHBOURS,
    NUMBER_WORDS,
    PAUSES,
    PLEASES,
    POLITE,
    PUNCTUATION,
    REQUESTS,
)
from genie_dp.paraphrase.english_share import is_english_word
from genie_dp.templates.english import starts_with_verb

Sort = Literal["article", "word", "point", "digits"]
MOST_WORDS = 100  # of one sort in a sentence that noise falls on
_TRIES = 4  # for a slip that makes no other word
SHORTEST = 4  # letters of a word that gets a typing error: shorter ones become other words


@dataclass(frozen=True, slots=True)
class Carrier:
    """The tokens of a sentence, and where noise may fall on them.

    Attributes:
        tokens: all tokens; values and placeholders are marks, private characters.
        kept: positions of other tokens that nothing may change.
        articles, typable, punctuation, digits: positions of the tokens of each sort.
    """

    tokens: tuple[str, ...]
    kept: Collection[int]
    articles: Sequence[int]
    typable: Sequence[int]
    punctuation: Sequence[int]
    digits: Sequence[int]


def carrier(tokens: Sequence[str], kept: Collection[int] = ()) -> Carrier:
    r"""Return a sentence with the places where noise may fall.

    >>> found = carrier("play the song \ue000 , please".split())
    >>> found.articles, found.typable, found.punctuation
    ([1], [0, 2, 5], [4])
    >>> [position for position in range(1, 6) if is_gap(found, position)]
    [1]
    """
    articles: list[int] = []
    typable: list[int] = []
    punctuation: list[int] = []
    digits: list[int] = []
    for position, sort in enumerate(map(_sort, tokens)):
        if sort is None or position in kept:
            continue
        if sort == "word":
            typable.append(position)
        elif sort == "article":
            if not _is_counted(tokens, position):
                articles.append(position)
        elif sort == "point":
            punctuation.append(position)
        else:
            digits.append(position)
    return Carrier(tuple(tokens), kept, articles, typable, punctuation, digits)


def _is_counted(tokens: Sequence[str], position: int) -> bool:
    """Tell whether an article is part of an amount, "once a day" or "a few", and never left out."""
    before, after = tokens[max(position - 1, 0)], tokens[position + 1 : position + 2]
    return before in BEFORE_COUNTED or not AFTER_COUNTED.isdisjoint(after)


@lru_cache(maxsize=65536)
def _sort(token: str) -> Sort | None:
    """Return which noise a token may get; None for none."""
    if token in ARTICLES:
        return "article"
    if token in PUNCTUATION:
        return "point"
    if token in NUMBER_WORDS:
        return "digits"
    is_long = len(token) >= SHORTEST and token.isascii() and token.isalpha()
    return "word" if is_long else None


def is_mark(token: str) -> bool:
    r"""Tell whether a token stands for a value or placeholder.

    >>> is_mark("\ue000"), is_mark("word")
    (True, False)
    """
    return "\ue000" <= token <= "\uf8ff"


def is_gap(sentence: Carrier, position: int) -> bool:
    """Tell whether a hesitation may stand before a token, which is not the first one.

    It must begin a phrase: people say "photos um of my dog", hardly "photos of my um dog".
    """
    tokens, kept = sentence.tokens, sentence.kept
    before = tokens[position - 1]
    if position in kept or position - 1 in kept or is_mark(before):
        return False
    return tokens[position] in PAUSES and before not in PAUSES and before not in PUNCTUATION


@dataclass(frozen=True, slots=True)
class WordRate:
    """The chance that a word is hit, made ready to be drawn for all words at once.

    Attributes:
        log_stays: logarithm of the chance that a word is not hit.
        any_of: number of words, up to MOST_WORDS -> the chance that one of them at least is hit.
    """

    log_stays: float
    any_of: tuple[float, ...]

    @classmethod
    def of(cls, rate: float) -> "WordRate":
        """Return a rate made ready."""
        log_stays = log1p(-min(rate, 1 - 2**-52))
        return cls(log_stays, tuple(-expm1(log_stays * count) for count in range(MOST_WORDS + 1)))

    def hits(self, positions: Sequence[int], rng: Random) -> Sequence[int]:
        """Return the positions that are hit: one draw a hit, not one a position.

        >>> WordRate.of(1.0).hits((3, 5, 8), Random(0)), WordRate.of(0.0).hits((3, 5), Random(0))
        ([3, 5, 8], ())
        """
        share, count = rng.random(), min(len(positions), MOST_WORDS)
        if share >= self.any_of[count]:
            return ()
        found: list[int] = []
        place = 0
        while True:
            # How many are passed over before the next hit has a geometric distribution.
            place += int(log1p(-share) / self.log_stays)
            if place >= count:
                return found
            found.append(positions[place])
            place, share = place + 1, rng.random()


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of a configuration as `noisy` asks for them."""

    number_words: WordRate
    drop_article: WordRate
    typo: WordRate
    drop_punctuation: float
    filler: float

    @classmethod
    def of(cls, config: AugmentConfig) -> "Rates":
        """Return the rates of a configuration."""
        return cls(
            WordRate.of(config.number_words),
            WordRate.of(config.drop_article),
            WordRate.of(config.typo),
            config.drop_punctuation,
            config.filler,
        )


def noisy(sentence: Carrier, rates: Rates, rng: Random) -> str | None:
    """Return the sentence with the noise that the rates give it, or None if it stays as it is.

    Tokens are changed at their places, then joined, so that the kinds do not disturb each other.

    >>> found = carrier("play the song X".split(), kept=[3])
    >>> rates = Rates.of(AugmentConfig(filler=0, drop_article=1, typo=0))
    >>> noisy(found, rates, Random(0))
    'play song X'
    """
    words: list[str] | None = None
    if sentence.digits:
        for position in rates.number_words.hits(sentence.digits, rng):
            words = words or list(sentence.tokens)
            words[position] = NUMBER_WORDS[words[position]]
    if sentence.articles:
        for position in rates.drop_article.hits(sentence.articles, rng):
            words = words or list(sentence.tokens)
            words[position] = ""
    if sentence.typable:
        for position in rates.typo.hits(sentence.typable, rng):
            words = words or list(sentence.tokens)
            words[position] = mistyped(words[position], rng)
    if sentence.punctuation and rng.random() < rates.drop_punctuation:
        words = words or list(sentence.tokens)
        for position in sentence.punctuation:
            words[position] = ""
    if rng.random() < rates.filler:
        words = words or list(sentence.tokens)
        _fill(sentence, words, rng)
    return " ".join([word for word in words if word]) if words else None


# ------------------------------------------------------------------------------- fillers


def _fill(sentence: Carrier, words: list[str], rng: Random) -> None:
    """Put a filler before, in or after the sentence; seldom at two of these places."""
    share = rng.random()
    if share < 0.45:
        _begin(sentence, words, rng)
    elif share < 0.75:
        _end(sentence, words, rng)
    else:
        _hesitate(sentence, words, rng)
    if 0.3 < share < 0.45:
        _end(sentence, words, rng)


def _begin(sentence: Carrier, words: list[str], rng: Random) -> None:
    is_polite = sentence.tokens[0] == "please" or sentence.tokens[:2] == ("go", "ahead")
    is_request = rng.random() < 0.7 and not is_polite and _is_command(sentence)
    words[0] = f"{_one_of(REQUESTS if is_request else GREETINGS, rng)} {words[0]}".rstrip()


def _end(sentence: Carrier, words: list[str], rng: Random) -> None:
    tokens, last = sentence.tokens, len(words) - 1
    if "thank" in tokens or "thanks" in tokens:
        if words[0] == tokens[0]:
            words[0] = f"{_one_of(GREETINGS, rng)} {words[0]}"
        return
    ending = _one_of(_endings(sentence, words[0], rng), rng)
    if ("please" in tokens or "please" in words[0]) and ending in PLEASES:
        ending = "thanks"
    if tokens[last] == "?" and ending.startswith("th"):  # "is it on ? thanks"
        words[last] = f"{words[last]} {ending}".lstrip()
    elif tokens[last] in PUNCTUATION and last:  # "..., please ."
        words[last] = f"{ending} {words[last]}".rstrip()
    else:
        words[last] = f"{words[last]} {ending}".lstrip()


def _endings(sentence: Carrier, first: str, rng: Random) -> Sequence[str]:
    """Return what may end a sentence; `first` is its first word, with what was put before it."""
    tokens = sentence.tokens
    last = len(tokens) - 1 - (tokens[-1] in PUNCTUATION)
    is_value = last in sentence.kept or is_mark(tokens[last])
    if is_value or rng.random() < 0.5 or not _is_command(sentence):
        return ENDINGS
    if rng.random() < 0.4 and LATER.isdisjoint(tokens):
        return AT_ONCE
    # "let me know .. for me", "could you lock it, will you": said twice.
    return ENDINGS if not POLITE.isdisjoint((*tokens, *first.split(" "))) else COMMAND_ENDINGS


def _is_command(sentence: Carrier) -> bool:
    is_question = sentence.tokens[0] == "do" and sentence.tokens[1:2] != ("me",)
    return not is_question and starts_with_verb(" ".join(sentence.tokens))


def _one_of(phrases: Sequence[str], rng: Random) -> str:
    return phrases[int(rng.random() * len(phrases))]


def _hesitate(sentence: Carrier, words: list[str], rng: Random) -> None:
    gaps = [position for position in range(1, len(words)) if is_gap(sentence, position)]
    if not gaps:
        _end(sentence, words, rng)
        return
    position = gaps[int(rng.random() * len(gaps))]
    words[position] = f"{_one_of(HESITATIONS, rng)} {words[position]}".rstrip()


# ------------------------------------------------------------------------- typing errors


def mistyped(word: str, rng: Random) -> str:
    """Return a word of four letters or more with one slip of the keys; no other word comes of it.

    >>> mistyped("message", Random(3))
    'messwge'
    """
    slips = _SLIPS if len(word) > SHORTEST else _SHORT_SLIPS
    wrong = word
    for _ in range(_TRIES):
        slip = slips[int(rng.random() * len(slips))]
        # The first letter is seldom mistyped, and a word is hard to tell without it.
        wrong = slip(word, 1 + int(rng.random() * (len(word) - 1)), rng)
        if not is_english_word(wrong):
            return wrong
    return wrong


def _neighbour(word: str, place: int, rng: Random) -> str:
    keys = NEIGHBOURS.get(word[place], word[place])
    return word[:place] + keys[int(rng.random() * len(keys))] + word[place + 1 :]


def _transposed(word: str, place: int, rng: Random) -> str:
    if place == len(word) - 1:
        place -= 1
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return swapped if swapped != word else _missing(word, place, rng)


def _doubled(word: str, place: int, rng: Random) -> str:
    return word[:place] + word[place] + word[place:]


def _missing(word: str, place: int, rng: Random) -> str:
    return word[:place] + word[place + 1 :]


# Slips of neighbouring keys and lost letters are the most frequent ones on keyboards.
_SLIPS: tuple[Callable[[str, int, Random], str], ...] = (
    _neighbour, _neighbour, _missing, _missing, _transposed, _doubled,
)  # fmt: skip
# A short word with another letter is hard to tell ("tewt"); people mix its letters up ("teh").
_SHORT_SLIPS = (_transposed, _transposed, _missing, _doubled)
