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
from genie_dp.augment.written_numbers import cardinal
from genie_dp.paraphrase.checks import is_english_word
from genie_dp.templates.english import starts_with_verb

# ------------------------------------------------- words and keys: general English, of no data set


def _phrases(text: str) -> tuple[str, ...]:
    """Return the phrases of a text, which commas and line ends part."""
    return tuple(phrase.strip() for phrase in text.replace("\n", ",").split(",") if phrase.strip())


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Before any sentence.
GREETINGS = _phrases("""
    hi, hey, hello, ok, okay, so, um, uh, well, alright, yo, hey there, hi there, ok so, so um
    hey listen, listen, good morning, good evening, excuse me, hmm, oh, ah, sorry, sorry but
    hey assistant, hello assistant, dear assistant, one more thing, actually, by the way, oh and
    ok then, alright then
""")

# Before a sentence that begins with what to do.
REQUESTS = _phrases("""
    please, can you, could you, can you please, could you please, would you, will you, kindly
    would you please, i want you to, i need you to, i would like you to, i'd like you to, just
    please just, go ahead and, hey can you, hey could you, hey please, ok please, if you can
    i was wondering if you could, do me a favor and, you can, please can you, please could you
    hi can you, hi could you please, i wish you would, may i ask you to, if possible
    when you have a moment
""")

# After any sentence.
ENDINGS = _phrases("""
    please, thanks, thank you, pls, plz, thx, please and thanks, thank you very much, thanks a lot
    thanks in advance, many thanks
""")

PLEASES = frozenset(("please", "pls", "plz", "please and thanks"))

# After a sentence that begins with what to do; the second ones want it done at once.
COMMAND_ENDINGS = _phrases("""
    if possible, if you can, when you can, will you, would you, ok, okay, for me, cheers
    that 's all, that is it, and that 's it
""")
AT_ONCE = _phrases("now, right now, asap, as soon as you can, right away")
# A command with one of these is to be done later, or again and again.
LATER = _words("""
    when whenever if every each once until at daily hourly weekly monthly moment minute second
    instant soon time whilst while after before
""")
# What the tags above would say again.
POLITE = frozenset(("you", "me", "please", "thanks", "thank"))

# Between two words, where people stop to think: before a small word that begins a phrase.
HESITATIONS = _phrases("um, uh, er, erm, hmm, uhm")
PAUSES = _words("""
    a an the my our your his her their any all some and or but when whenever if that which who whose
    where with from about for by of until after before to
""")

ARTICLES = frozenset(("a", "an", "the"))
# "once a day", "half an hour", "such a song"; "a few", "a lot", "the same"; "the moment it rains".
BEFORE_COUNTED = frozenset(("once", "twice", "times", "half", "such", "what", "many", "quite"))
AFTER_COUNTED = frozenset(
    ("few", "lot", "bit", "couple", "dozen", "hundred", "thousand", "same", "moment", "instant")
)
PUNCTUATION = frozenset((",", ".", "?", "!", ";", ":", "..."))

# The keys beside each key of an American keyboard.
NEIGHBOURS = {
    "q": "wa", "w": "qeas", "e": "wrsd", "r": "etdf", "t": "ryfg", "y": "tugh", "u": "yihj",
    "i": "uojk", "o": "ipkl", "p": "ol", "a": "qwsz", "s": "weadzx", "d": "ersfxc", "f": "rtdgcv",
    "g": "tyfhvb", "h": "yugjbn", "j": "uihknm", "k": "iojlm", "l": "opk", "z": "asx", "x": "sdzc",
    "c": "dfxv", "v": "fgcb", "b": "ghvn", "n": "hjbm", "m": "jkn",
}  # fmt: skip

NUMBER_WORDS = {str(number): cardinal(number) for number in range(101)}


Sort = Literal["article", "word", "point", "digits"]
MOST_WORDS = 100  # of one sort in a sentence that noise falls on
_TRIES = 4  # for a slip that makes no other word
SHORTEST = 4  # letters of a word that gets a typing error: shorter ones become other words


@dataclass(frozen=True, slots=True)
class Carrier:
    """The tokens of a sentence, and where noise may fall on them.

    Attributes:
        tokens: all tokens; values and placeholders are marks, private characters.
        fixed: positions of other tokens that nothing may change.
        articles, typable, punctuation, digits: positions of the tokens of each sort.
    """

    tokens: tuple[str, ...]
    fixed: Collection[int]
    articles: Sequence[int]
    typable: Sequence[int]
    punctuation: Sequence[int]
    digits: Sequence[int]


def carrier_of(tokens: Sequence[str], fixed: Collection[int] = ()) -> Carrier:
    r"""Return a sentence with the places where noise may fall.

    >>> sentence = carrier_of("play the song \ue000 , please".split())
    >>> sentence.articles, sentence.typable, sentence.punctuation
    ([1], [0, 2, 5], [4])
    >>> [position for position in range(1, 6) if is_gap(sentence, position)]
    [1]
    """
    articles: list[int] = []
    typable: list[int] = []
    punctuation: list[int] = []
    digits: list[int] = []
    for position, sort in enumerate(map(_sort_of, tokens)):
        if sort is None or position in fixed:
            continue
        if sort == "word":
            typable.append(position)
        elif sort == "article":
            before, after = tokens[max(position - 1, 0)], tokens[position + 1 : position + 2]
            # Of an amount, "once a day" or "a few", it is never left out.
            if before not in BEFORE_COUNTED and AFTER_COUNTED.isdisjoint(after):
                articles.append(position)
        elif sort == "point":
            punctuation.append(position)
        else:
            digits.append(position)
    return Carrier(tuple(tokens), fixed, articles, typable, punctuation, digits)


@lru_cache(maxsize=65536)
def _sort_of(token: str) -> Sort | None:
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
    tokens, fixed = sentence.tokens, sentence.fixed
    before = tokens[position - 1]
    if position in fixed or position - 1 in fixed or is_mark(before):
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
            words[position] = mistype(words[position], rng)
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
    is_polite = sentence.tokens[0] == "please" or sentence.tokens[:2] == ("go", "ahead")
    is_request = rng.random() < 0.7 and not is_polite and _is_command(sentence)
    words[0] = f"{_one_of(REQUESTS if is_request else GREETINGS, rng)} {words[0]}".rstrip()


def _fill_end(sentence: Carrier, words: list[str], rng: Random) -> None:
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
    is_value = last in sentence.fixed or is_mark(tokens[last])
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
        _fill_end(sentence, words, rng)
        return
    position = gaps[int(rng.random() * len(gaps))]
    words[position] = f"{_one_of(HESITATIONS, rng)} {words[position]}".rstrip()


# ------------------------------------------------------------------------- typing errors


def mistype(word: str, rng: Random) -> str:
    """Return a word of four letters or more with one slip of the keys; no other word comes of it.

    >>> mistype("message", Random(3))
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


def _hit_neighbour(word: str, place: int, rng: Random) -> str:
    keys = NEIGHBOURS.get(word[place], word[place])
    return word[:place] + keys[int(rng.random() * len(keys))] + word[place + 1 :]


def _transpose(word: str, place: int, rng: Random) -> str:
    if place == len(word) - 1:
        place -= 1
    swapped = word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    return swapped if swapped != word else _leave_out(word, place, rng)


def _double(word: str, place: int, rng: Random) -> str:
    return word[:place] + word[place] + word[place:]


def _leave_out(word: str, place: int, rng: Random) -> str:
    return word[:place] + word[place + 1 :]


# Slips of neighbouring keys and lost letters are the most frequent ones on keyboards.
_SLIPS: tuple[Callable[[str, int, Random], str], ...] = (
    _hit_neighbour, _hit_neighbour, _leave_out, _leave_out, _transpose, _double,
)  # fmt: skip
# A short word with another letter is hard to tell ("tewt"); people mix its letters up ("teh").
_SHORT_SLIPS = (_transpose, _transpose, _leave_out, _double)
