"""Numbers: "25", "twenty five", "1,200", "two and a half", "half a dozen", "minus five", "2nd"."""

import re
from collections.abc import Iterator
from decimal import Decimal

from genie_dp.locale import DEFAULT, words_of
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.texts import word_set
from genie_dp.values.spelling import Number, cardinal, ordinal, plain_digits

_ENGLISH = words_of(DEFAULT)
SIZES = {word: int(size) for word, size in _ENGLISH.scales.items()}
SCALES = {word: size for word, size in SIZES.items() if size >= 1000}
_SUFFIXES = {"k": 10**3, "m": 10**6, "mil": 10**6, "mio": 10**6, "bn": 10**9, "b": 10**9}
_UNITS = {cardinal(n): n for n in range(20)}
_DECIMALS = _UNITS | {"oh": 0}  # "two point oh five"
TENS = {cardinal(n): n for n in range(20, 100, 10)}
_HYPHENED = {cardinal(n, hyphen=True): n for n in range(21, 100) if n % 10}
SMALL = _UNITS | TENS | _HYPHENED
ORDINALS = {ordinal(n): n for n in (*range(1, 21), *range(30, 100, 10))}
ORDINALS_HYPHENED = {ordinal(n, hyphen=True): n for n in range(21, 100) if n % 10}
_DIGITS = re.compile(r"([+-]?)(\d{1,3}(?:,\d{3})+|\d{1,18})(\.\d{1,12})?")
_SHORT = re.compile(r"([+-]?\d{1,6}(?:\.\d{1,6})?)(k|m|mil|mio|bn|b)")
ORDINAL = re.compile(r"(\d{1,6})(?:st|nd|rd|th)", re.ASCII)
PERCENT = re.compile(r"([+-]?\d[\d,]*(?:\.\d+)?)%")
# Digits before the point, as many as `_DIGITS` takes: far more are none that a context rounds.
_MOST = Decimal(10) ** 18
_NAMES = frozenset(("401k", "403b", "4b"))  # of pension plans, not so many thousand
_HALVES = {word: Decimal(share) for word, share in _ENGLISH.fractions.items()}
FRACTIONS = {"½": Decimal("0.5"), "¼": Decimal("0.25"), "¾": Decimal("0.75")}
FRACTION = re.compile(r"(\d{0,6})([½¼¾])")
# How rows say halves beside a number.
WITH_HALF = re.compile(r"NUMBER_\d+ and a (?:half|quarter)\b")
# Before "one" it is a pronoun: "the one", "no one"; after it, too: "one of them".
_BEFORE_ONE = word_set(
    """
    the this that no any every each which another some a an good new old next last other my your
    only first second big small red blue green right left wrong best same latest
    capital either
    """
)
# At an end it is a number after these only: "i owe you one", "season one".
_COUNTING = word_set(
    """
    to at level volume season episode number than is and or minus plus times by equals option
    chapter page part gate channel line room row radio bbc
    """
) | {""}
_AFTER_ONE = frozenset(
    ("of", "'s", "another", "that", "who", "which", "by", "day", "more", "'ll", "moment", "thing")
)


Numbers = tuple[Number | None, ...]
"""For each token of a text, the number that begins there."""


def digits(token: str) -> Decimal | None:
    """Return the number of a token of digits, or None.

    >>> digits("1,200"), digits("-2.5"), digits("1,2"), digits("5km")
    (Decimal('1200'), Decimal('-2.5'), None, None)
    """
    if not (token[:1].isdigit() or token[:1] in "+-") or not token.isascii():
        return None
    match = _DIGITS.fullmatch(token)
    if match is None:
        return None
    sign, whole, behind = match.groups()
    value = Decimal(whole.replace(",", "") + (behind or ""))
    return -value if sign == "-" else value


def number_at(s: TextTokens, at: int) -> Number | None:
    """Return the longest number that begins at a token, or None."""
    word = s.word(at)
    if word in _ENGLISH.minus:
        number = _without_sign(s, at + 1)
        return number._replace(value=-number.value) if number is not None else None
    return _without_sign(s, at)


def _without_sign(s: TextTokens, at: int) -> Number | None:
    word = s.word(at)
    if word in ("a", "an", "half"):
        idiom = _idiom(s, at, word)
        return _with_fraction(s, idiom) if idiom is not None else None
    value = digits(word)
    if value is not None:
        return _with_fraction(s, _scale(s, Number(value, at + 1)))
    if word in SMALL:
        return _with_fraction(s, _dozens(s, _number_in_words(s, at)))
    match = FRACTION.fullmatch(word)
    if match is not None:
        return Number(Decimal(match[1] or 0) + FRACTIONS[match[2]], at + 1)
    return None


def _idiom(s: TextTokens, at: int, first: str) -> Number | None:
    """Return "a hundred (and five)", "a dozen", "half a dozen", "half a million"."""
    following = s.word(at + 1)
    if first == "half":
        if following not in ("a", "an"):
            return None
        whole = _idiom(s, at + 1, following)
        return whole._replace(value=whole.value / 2) if whole is not None else None
    if following == "dozen":
        return Number(Decimal(12), at + 2, True)
    if following == "hundred" or following in SCALES:
        return _number_in_words(s, at)
    return None


def _number_in_words(s: TextTokens, at: int) -> Number:
    """Return a number in words; "a" counts as one."""
    total, largest, end = 0, 10**15, at
    while (group := _below_thousand(s, end if end == at else _after_and(s, end))) is not None:
        value, after = group
        scale = SCALES.get(s.word(after), 1)
        if scale >= largest or (scale == 1 and total and value >= 1000):
            break
        total += value * scale
        largest, end = scale, after + (scale > 1)
        if scale == 1:
            break
    number = Number(Decimal(total), end, True)
    return _point(s, number)


def _after_and(s: TextTokens, at: int) -> int:
    return at + 1 if s.word(at) == "and" else at


def _below_thousand(s: TextTokens, at: int) -> tuple[int, int] | None:
    """Return (value, next place) of up to "nine hundred and ninety nine"."""
    word = s.word(at)
    if word in ("a", "an"):
        if s.word(at + 1) != "hundred" and s.word(at + 1) not in SCALES:
            return None
        small = (1, at + 1)
    else:
        below_hundred = _below_hundred(s, at)
        if below_hundred is None:
            return None
        small = below_hundred
    value, end = small
    if s.word(end) != "hundred":
        return value, end
    rest = _below_hundred(s, _after_and(s, end + 1))
    if rest is None:
        return value * 100, end + 1
    return value * 100 + rest[0], rest[1]


def _below_hundred(s: TextTokens, at: int) -> tuple[int, int] | None:
    word = s.word(at)
    value = SMALL.get(word)
    if value is None:
        return None
    ones = _UNITS.get(s.word(at + 1), 0) if word in TENS else 0
    return (value + ones, at + 2) if 0 < ones < 10 else (value, at + 1)


def _point(s: TextTokens, whole: Number) -> Number:
    """Return "two point five" and "two point five million" as one number."""
    if s.word(whole.end) not in _ENGLISH.decimal_words:
        return whole
    behind, end = "", whole.end + 1
    while len(behind) < 9 and _DECIMALS.get(s.word(end), 99) < 10:
        behind += str(_DECIMALS[s.word(end)])
        end += 1
    if not behind:
        return whole
    scale = SCALES.get(s.word(end), 1) if whole.value < 1000 else 1
    return Number((whole.value + Decimal(f"0.{behind}")) * scale, end + (scale > 1), True)


def _scale(s: TextTokens, number: Number) -> Number:
    """Return "2.5 million", "3 dozen"."""
    scale = SCALES.get(s.word(number.end))
    if scale is None and s.word(number.end) == "hundred":
        scale = 100
    if scale is not None and abs(number.value) * scale < _MOST:
        return Number(number.value * scale, number.end + 1)
    return _dozens(s, number)


def _dozens(s: TextTokens, number: Number) -> Number:
    if s.word(number.end) == "dozen":
        return Number(number.value * 12, number.end + 1, number.is_said)
    return number


def _with_fraction(s: TextTokens, number: Number) -> Number:
    """Return "two and a half (million)", "two million and a half", "2 (and a) 1/2"."""
    value, end, is_said, _ = number
    # In "between 2 and 3/4" and "1/2 and 3/4" two numbers are told.
    is_joined = s.word(end) == "and" and s.word(end - 2) not in ("/", "between")
    place = end + (1 + (s.word(end + 1) == "a") if is_joined else 0)
    fraction = fraction_at(s, place) if place == end or value % 1 == 0 else None
    if fraction is None or (place == end and (fraction.is_said or value % 1)):
        return number
    size = SIZES.get(s.word(end - 1), 1)
    more = Number(value + fraction.value * size, fraction.end, is_said)
    return _scale(s, more) if size == 1 and fraction.is_said else more


def fraction_at(s: TextTokens, at: int) -> Number | None:
    """Return "half", "three quarters", "1/2", "½" at a token, or None."""
    word, following = s.word(at), s.word(at + 1)
    if word in _HALVES:
        return Number(_HALVES[word], at + 1, True)
    if word == "three" and following in ("quarter", "quarters"):
        return Number(3 * _HALVES["quarter"], at + 2, True)
    if word in FRACTIONS:
        return Number(FRACTIONS[word], at + 1)
    if following == "/" and word in ("1", "3") and s.word(at + 2) in ("2", "4"):
        return Number(Decimal(word) / Decimal(s.word(at + 2)), at + 3)
    return None


def short_number(token: str) -> Decimal | None:
    """Return the number of "40k", "2.5m", or None.

    >>> short_number("40k"), short_number("km")
    (Decimal('40000'), None)
    """
    match = _SHORT.fullmatch(token)
    return Decimal(match[1]) * _SUFFIXES[match[2]] if match is not None else None


def numbers(s: TextTokens, token_numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the candidates that are numbers; `token_numbers` are those that begin at each token."""
    for i in s.begins:
        word, number = s.word(i), token_numbers[i]
        if number is not None and word in TENS and ORDINALS.get(s.word(i + 1), 99) < 10:
            yield from _ordinal(s, i)
        elif number is not None:
            yield from _plain(s, i, number)
            year = year_at(s, i) if number.is_said else None
            if year is not None:
                yield s.candidate(i, year[1], "NUMBER", str(year[0]))
        elif (short := short_number(word)) is not None:
            yield s.candidate(i, i + 1, "NUMBER", plain_digits(short), weak=word in _NAMES)
        elif (match := ORDINAL.fullmatch(word)) is not None:
            yield s.candidate(i, i + 1, "NUMBER", match[1].lstrip("0") or "0")
        elif (match := PERCENT.fullmatch(word)) is not None:
            share = digits(match[1])
            if share is not None:
                yield s.candidate(i, i + 1, "NUMBER", plain_digits(share), after="percent")
        else:
            yield from _ordinal(s, i)


def wholes(s: TextTokens, token_numbers: Numbers) -> Iterator[ValueCandidate]:
    """Yield the "2" of "2 and a half hours", for templates that have the half in their words."""
    for i in s.begins:
        number = token_numbers[i]
        half = _HALVES.get(s.word(number.end - 1)) if number is not None else None
        if number is None or half is None or not s.has(number.end - 3, "and", "a"):
            continue
        whole = number.value - half
        if whole == whole.to_integral_value():
            yield s.candidate(i, number.end - 3, "NUMBER", plain_digits(whole), weak=True)


_PEOPLE = frozenset(("us", "them", "you", "these", "those"))


def _plain(s: TextTokens, at: int, number: Number) -> Iterator[ValueCandidate]:
    text = plain_digits(
        number.value.quantize(Decimal("1e-9")) if "E" in str(number.value) else number.value
    )
    is_one = s.word(at) == "one" and number.end == at + 1
    before = s.word(at - 1)
    is_last = s.word(at + 1) in ("", ".", "!", "?") and before not in _COUNTING
    if is_one and (
        is_last or before in _BEFORE_ONE or before in ORDINALS or s.word(at + 1) in _AFTER_ONE
    ):
        return
    if s.word(number.end) in ("%", "percent") or s.has(number.end, "per", "cent"):
        end = number.end
        sign = end + (2 if s.word(end) == "per" else 1)
        if s.word(end) != "percent":
            yield s.candidate(at, sign, "NUMBER", text, after="percent")
            return
    # "the two of us"
    is_people = number.is_said and s.word(number.end) == "of" and s.word(number.end + 1) in _PEOPLE
    yield s.candidate(
        at,
        number.end,
        "NUMBER",
        text,
        soft=number.is_said and number.end == at + 1,
        weak=is_people or s.has(at - 2, "out", "of"),
    )


def year_at(s: TextTokens, at: int) -> tuple[int, int] | None:
    """Return (number, next place) of "nineteen eighty four", or None."""
    century = SMALL.get(s.word(at), 0)
    rest = _below_hundred(s, at + 1) if 13 <= century <= 20 else None
    return (century * 100 + rest[0], rest[1]) if rest is not None and rest[0] >= 10 else None


def ordinal_at(s: TextTokens, at: int) -> tuple[int, int] | None:
    """Return (place in a row, next place) of "3rd", "third", "twenty first", or None."""
    word = s.word(at)
    match = ORDINAL.fullmatch(word)
    if match is not None:
        return int(match[1]), at + 1
    if word in ORDINALS_HYPHENED:
        return ORDINALS_HYPHENED[word], at + 1
    if word in TENS and 0 < ORDINALS.get(s.word(at + 1), 0) < 10:
        return TENS[word] + ORDINALS[s.word(at + 1)], at + 2
    if word in ORDINALS:
        return ORDINALS[word], at + 1
    return None


def _ordinal(s: TextTokens, at: int) -> Iterator[ValueCandidate]:
    """Yield "third", "twenty first" as candidates that are words unless a caller asks for more."""
    position = ordinal_at(s, at)
    if position is not None:
        yield s.candidate(at, position[1], "NUMBER", str(position[0]), weak=True)
