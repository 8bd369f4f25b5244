"""Sentences as people type them: fillers, lost articles, slips of the keys, no punctuation.

Nothing changes values and placeholders, and neither a hesitation nor more than a plain "please" or
"thanks" is put beside them, where it could be read as a part of the value.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import expm1, log1p
from random import Random
from typing import Literal

from genie_dp.augment.config import AugmentConfig
from genie_dp.english.forms import starts_with_verb
from genie_dp.locale import DEFAULT, Words, words_of
from genie_dp.paraphrase.checks import is_english_word
from genie_dp.values.spelling import cardinal, spelled_numbers

PUNCTUATION = frozenset((",", ".", "?", "!", ";", ":", "..."))

Sort = Literal["article", "word", "point", "digits"]
_MOST_IN_WORDS = 100  # people write larger numbers in digits
MOST_WORDS = 100  # of one sort in a sentence that noise falls on
_TRIES = 4  # for a slip that makes no other word
SHORTEST = 4  # letters of a word that gets a typing error: shorter ones become other words


@dataclass(frozen=True, slots=True)
class Speech:
    """How the people talk and type whose sentences are made.

    Attributes:
        words: those of their language.
        number_words: digits -> words, of the numbers that may be spelled out.
    """

    words: Words
    number_words: Mapping[str, str] = field(default_factory=dict)
    _sorts: dict[str, Sort | None] = field(default_factory=dict, repr=False)

    def sort_of(self, token: str) -> Sort | None:
        """Return which noise a token may get; None for none."""
        if token not in self._sorts:
            self._sorts[token] = self._find_sort(token)
        return self._sorts[token]

    def _find_sort(self, token: str) -> Sort | None:
        if token in self.words.articles:
            return "article"
        if token in PUNCTUATION:
            return "point"
        if token in self.number_words:
            return "digits"
        keys = self.words.keys
        return "word" if len(token) >= SHORTEST and all(x in keys for x in token.lower()) else None

    def is_command(self, tokens: Sequence[str]) -> bool:
        """Return whether a sentence is a command, by its beginning.

        >>> english, german = speech_of("en"), speech_of("de")
        >>> english.is_command("get my mail".split()), english.is_command("do you know".split())
        (True, False)
        >>> german.is_command("mach es aus".split()), german.is_command("wo bist du".split())
        (True, False)
        """
        if not self.words.has_grammar:
            return tokens[0] in self.words.verbs
        is_question = tokens[0] == "do" and tokens[1:2] != ("me",)
        return not is_question and starts_with_verb(" ".join(tokens))

    def is_word(self, word: str, tokens: Collection[str]) -> bool:
        """Return whether there is a word: in a dictionary, or without one in a sentence."""
        if self.words.has_grammar:
            return is_english_word(word)
        locale_words = self.words
        return (
            word in tokens
            or word in locale_words.function_words
            or word in locale_words.verbs
            or word in locale_words.negations
        )


@lru_cache(maxsize=16)
def speech_of(language: str = DEFAULT) -> Speech:
    """Return the speech and typing habits of a language.

    Raises:
        GenieError: N002, no such language; I003, the speller of its numbers is not installed.
    """
    words = words_of(language)
    spell = cardinal if words.has_grammar else spelled_numbers(words).spell
    number_words = {str(number): spell(number) for number in range(_MOST_IN_WORDS + 1)}
    return Speech(
        words, {number: word for number, word in number_words.items() if word not in words.articles}
    )


@dataclass(frozen=True, slots=True)
class Carrier:
    """The tokens of a sentence, and where noise may fall on them.

    Attributes:
        tokens: all tokens; values and placeholders are marks, private characters.
        speech: the manner of speech of its speakers.
        fixed: positions of other tokens that nothing may change.
        articles, typable, punctuation, digits: positions of the tokens of each sort.
    """

    tokens: tuple[str, ...]
    speech: Speech
    fixed: Collection[int]
    articles: Sequence[int]
    typable: Sequence[int]
    punctuation: Sequence[int]
    digits: Sequence[int]


def carrier_of(
    tokens: Sequence[str], fixed: Collection[int] = (), speech: Speech | None = None
) -> Carrier:
    r"""Return a sentence with the places where noise may fall.

    Args:
        tokens: of the sentence.
        fixed: positions that nothing may change.
        speech: how its people talk; None for English.

    >>> sentence = carrier_of("play the song \ue000 , please".split())
    >>> sentence.articles, sentence.typable, sentence.punctuation
    ([1], [0, 2, 5], [4])
    >>> [position for position in range(1, 6) if is_gap(sentence, position)]
    [1]
    """
    speech = speech or speech_of()
    words = speech.words
    articles: list[int] = []
    typable: list[int] = []
    punctuation: list[int] = []
    digits: list[int] = []
    for position, sort in enumerate(map(speech.sort_of, tokens)):
        if sort is None or position in fixed:
            continue
        if sort == "word":
            typable.append(position)
        elif sort == "article":
            before, after = tokens[max(position - 1, 0)], tokens[position + 1 : position + 2]
            # Of an amount, "once a day" or "a few", it is never left out.
            if before not in words.before_counted and words.after_counted.isdisjoint(after):
                articles.append(position)
        elif sort == "point":
            punctuation.append(position)
        else:
            digits.append(position)
    return Carrier(tuple(tokens), speech, fixed, articles, typable, punctuation, digits)


def is_mark(token: str) -> bool:
    r"""Return whether a token stands for a value or placeholder.

    >>> is_mark("\ue000"), is_mark("word")
    (True, False)
    """
    return "\ue000" <= token <= "\uf8ff"


def is_gap(sentence: Carrier, position: int) -> bool:
    """Return whether a hesitation may stand before a token, which is not the first one.

    It must begin a phrase: as in "photos um of my dog", not "photos of my um dog".
    """
    tokens, fixed = sentence.tokens, sentence.fixed
    before = tokens[position - 1]
    if position in fixed or position - 1 in fixed or is_mark(before):
        return False
    pauses = sentence.speech.words.pauses
    return tokens[position] in pauses and before not in pauses and before not in PUNCTUATION


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
    def from_rate(cls, rate: float) -> "WordRate":
        """Return the rate, made ready."""
        log_stays = log1p(-min(rate, 1 - 2**-52))
        return cls(log_stays, tuple(-expm1(log_stays * count) for count in range(MOST_WORDS + 1)))

    def hits(self, positions: Sequence[int], rng: Random) -> Sequence[int]:
        """Return the positions that are hit: one draw a hit, not one a position.

        >>> always, never = WordRate.from_rate(1.0), WordRate.from_rate(0.0)
        >>> always.hits((3, 5, 8), Random(0)), never.hits((3, 5), Random(0))
        ([3, 5, 8], ())
        """
        share, count = rng.random(), min(len(positions), MOST_WORDS)
        if share >= self.any_of[count]:
            return ()
        positions_hit: list[int] = []
        place = 0
        while True:
            # How many are passed over before the next hit has a geometric distribution.
            place += int(log1p(-share) / self.log_stays)
            if place >= count:
                return positions_hit
            positions_hit.append(positions[place])
            place, share = place + 1, rng.random()


@dataclass(frozen=True, slots=True)
class NoiseRates:
    """The rates of a configuration as `add_noise` asks for them."""

    number_words: WordRate
    drop_article: WordRate
    typo: WordRate
    drop_punctuation: float
    filler: float

    @classmethod
    def from_config(cls, config: AugmentConfig) -> "NoiseRates":
        """Return the rates of a configuration."""
        return cls(
            WordRate.from_rate(config.number_words),
            WordRate.from_rate(config.drop_article),
            WordRate.from_rate(config.typo),
            config.drop_punctuation,
            config.filler,
        )


def add_noise(sentence: Carrier, rates: NoiseRates, rng: Random) -> str | None:
    """Return the sentence with the noise that the rates give it, or None if it stays as it is.

    Tokens are changed at their places, then joined, so that the kinds do not disturb each other.

    >>> sentence = carrier_of("play the song X".split(), fixed=[3])
    >>> rates = NoiseRates.from_config(AugmentConfig(filler=0, drop_article=1, typo=0))
    >>> add_noise(sentence, rates, Random(0))
    'play song X'
    """
    words: list[str] | None = None
    speech = sentence.speech
    if sentence.digits:
        for position in rates.number_words.hits(sentence.digits, rng):
            words = words or list(sentence.tokens)
            words[position] = speech.number_words[words[position]]
    if sentence.articles:
        for position in rates.drop_article.hits(sentence.articles, rng):
            words = words or list(sentence.tokens)
            words[position] = ""
    if sentence.typable:
        for position in rates.typo.hits(sentence.typable, rng):
            words = words or list(sentence.tokens)
            words[position] = mistype(words[position], rng, speech, sentence.tokens)
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
        _fill_start(sentence, words, rng)
    elif share < 0.75:
        _fill_end(sentence, words, rng)
    else:
        _hesitate(sentence, words, rng)
    if 0.3 < share < 0.45:
        _fill_end(sentence, words, rng)


def _fill_start(sentence: Carrier, words: list[str], rng: Random) -> None:
    locale_words, tokens = sentence.speech.words, sentence.tokens
    is_polite = any(tokens[: len(x)] == x for x in map(_split, locale_words.polite_starts))
    is_request = rng.random() < 0.7 and not is_polite and sentence.speech.is_command(tokens)
    start = _one_of(locale_words.requests if is_request else locale_words.greetings, rng)
    words[0] = f"{start} {words[0]}".strip()


def _fill_end(sentence: Carrier, words: list[str], rng: Random) -> None:
    locale_words, tokens, last = sentence.speech.words, sentence.tokens, len(words) - 1
    if not set(locale_words.thanks).isdisjoint(tokens):
        if words[0] == tokens[0]:
            words[0] = f"{_one_of(locale_words.greetings, rng)} {words[0]}".lstrip()
        return
    ending = _one_of(_endings(sentence, words[0], rng), rng)
    please = (*locale_words.pleases, "")[0]
    if ending in locale_words.pleases and (please in tokens or please in words[0]):
        ending = (*locale_words.thanks, "")[-2 if locale_words.thanks else -1]
    if tokens[last] == "?" and ending in locale_words.after_questions:  # "is it on ? thanks"
        words[last] = f"{words[last]} {ending}".strip()
    elif tokens[last] in PUNCTUATION and last:  # "..., please ."
        words[last] = f"{ending} {words[last]}".strip()
    else:
        words[last] = f"{words[last]} {ending}".strip()


def _split(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.split(" "))


def _endings(sentence: Carrier, first: str, rng: Random) -> Sequence[str]:
    """Return possible ends of a sentence; `first` is its first word, with additions."""
    locale_words, tokens = sentence.speech.words, sentence.tokens
    last = len(tokens) - 1 - (tokens[-1] in PUNCTUATION)
    is_value = last in sentence.fixed or is_mark(tokens[last])
    if is_value or rng.random() < 0.5 or not sentence.speech.is_command(tokens):
        return locale_words.endings
    if rng.random() < 0.4 and locale_words.later.isdisjoint(tokens):
        return locale_words.at_once
    # "let me know .. for me", "could you lock it, will you": said twice.
    is_polite = not locale_words.polite.isdisjoint((*tokens, *first.split(" ")))
    return locale_words.endings if is_polite else locale_words.command_endings


def _one_of(phrases: Sequence[str], rng: Random) -> str:
    share = rng.random()
    return phrases[int(share * len(phrases))] if phrases else ""


def _hesitate(sentence: Carrier, words: list[str], rng: Random) -> None:
    gaps = [position for position in range(1, len(words)) if is_gap(sentence, position)]
    if not gaps:
        _fill_end(sentence, words, rng)
        return
    position = gaps[int(rng.random() * len(gaps))]
    words[position] = f"{_one_of(sentence.speech.words.hesitations, rng)} {words[position]}".strip()


# ------------------------------------------------------------------------- typing errors


def mistype(
    word: str, rng: Random, speech: Speech | None = None, tokens: Collection[str] = ()
) -> str:
    """Return a word of four letters or more with one slip of the keys; no other word comes of it.

    Args:
        word: the word.
        rng: draws the slip.
        speech: how its people talk; None for English.
        tokens: the words of the sentence.

    >>> mistype("message", Random(3))
    'messwge'
    """
    speech = speech or speech_of()
    slips = _SLIPS if len(word) > SHORTEST else _SHORT_SLIPS
    wrong = word
    for _ in range(_TRIES):
        slip = slips[int(rng.random() * len(slips))]
        # The first letter is seldom mistyped, and a word is hard to tell without it.
        place = 1 + int(rng.random() * (len(word) - 1))
        wrong = slip(word, place, rng, speech.words.keys)
        if not speech.is_word(wrong, tokens):
            return wrong
    return wrong


def _hit_neighbour(word: str, place: int, rng: Random, near: Mapping[str, str]) -> str:
    keys = near.get(word[place], word[place])
    return word[:place] + keys[int(rng.random() * len(keys))] + word[place + 1 :]


def _transpose(word: str, place: int, rng: Random, near: Mapping[str, str]) -> str:
    if place == len(word) - 1:
        place -= 1
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return swapped if swapped != word else _leave_out(word, place, rng, near)


def _double(word: str, place: int, rng: Random, near: Mapping[str, str]) -> str:
    return word[:place] + word[place] + word[place:]


def _leave_out(word: str, place: int, rng: Random, near: Mapping[str, str]) -> str:
    return word[:place] + word[place + 1 :]


# Slips of neighbouring keys and lost letters are the most frequent ones on keyboards.
_SLIPS: tuple[Callable[[str, int, Random, Mapping[str, str]], str], ...] = (
    _hit_neighbour, _hit_neighbour, _leave_out, _leave_out, _transpose, _double,
)  # fmt: skip
# A short word with another letter is hard to tell ("tewt"); people mix its letters up ("teh").
_SHORT_SLIPS = (_transpose, _transpose, _leave_out, _double)
