"""Text that people typed: its words, the ways to write a value, and where values stand in it."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from genie_dp.languages.units import SHIPPED
from genie_dp.skills.words import tokenize
from genie_dp.values.calendar import MONTH_NAMES, MONTHS
from genie_dp.values.money import CURRENCIES
from genie_dp.values.spelling import cardinal, group_digits, ordinal_digits

# Phones and word processors put these in place of what keyboards have.
_PLAIN_SIGNS = str.maketrans(
    {
        "\u201c": '"', "\u201d": '"', "\u201e": '"', "\u00ab": '"', "\u00bb": '"',
        "\u2018": "'", "\u2019": "'", "\u00b4": "'", "`": "'",
        "\u2013": "-", "\u2212": "-", "\u2014": " - ", "\u2026": " ... ", "\u00a0": " ",
    }
)  # fmt: skip
_TWO_QUOTES = re.compile(r"''")
_HYPHEN_AFTER_NUMBER = re.compile(r"(?<=\d)-(?=[A-Za-z])")  # a 10-minute video
_NUMBER = re.compile(r"([$€£¥]?)(-?\d+(?:[.,:]\d+)*)(%|[^\W\d_]*)")
_POSSESSIVE = re.compile(r"(?<=\w)'s\b")  # a link would swallow it
_ENDS = (".", "!", "?")


@dataclass(frozen=True, slots=True)
class TypedWords:
    """Words of a typed text; a number and its unit stand apart.

    Attributes:
        glued: for each word, whether no space was before it: "5" and "th" of "5th".
    """

    words: tuple[str, ...]
    glued: tuple[bool, ...]


def read_typed(text: str) -> TypedWords:
    """Return the lower-case words of a text, without the punctuation at its end.

    >>> read_typed("Play “Let it be” for 10-minutes, it's $5.").words
    ('play', '"', 'let', 'it', 'be', '"', 'for', '10', 'minutes', ',', 'it', "'s", '$', '5')
    >>> read_typed("the 5th").glued
    (False, False, True)
    """
    plain = _TWO_QUOTES.sub('"', _seen(text).translate(_PLAIN_SIGNS))
    plain = _POSSESSIVE.sub(" 's", _HYPHEN_AFTER_NUMBER.sub(" ", plain))
    tokens = list(tokenize(plain))
    while tokens and tokens[-1] in _ENDS:
        tokens.pop()
    words: list[str] = []
    glued: list[bool] = []
    for token in tokens:
        match = _NUMBER.fullmatch(token)
        parts = [part for part in match.groups() if part] if match else [token]
        words.extend(parts)
        glued.extend(index > 0 for index in range(len(parts)))
    return TypedWords(tuple(words), tuple(glued))


_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs"))


def _seen(text: str) -> str:
    r"""Return a text without invisible characters, and with composed accents.

    Text copied from web pages has zero-width spaces, soft hyphens and marks of direction, some
    keyboards give accents of their own; private characters mark places of values in rows.

    >>> _seen("sh\u00adow\u200b cafe\u0301\x00")
    'show café'
    """
    if text.isascii() and text.isprintable():
        return text
    whole = unicodedata.normalize("NFC", text)
    return "".join(c for c in whole if c.isspace() or unicodedata.category(c) not in _UNSEEN)


def words_of(text: str) -> tuple[str, ...]:
    """Return the words of a text as `read_typed` does."""
    return read_typed(text).words


# -------------------------------------------- ways to write a value: 10 and ten, $5 and 5 dollars

_PERCENT = frozenset(("percent", "%", "per cent"))


@cache
def _names_of_units() -> tuple[frozenset[str], ...]:
    """Return the words and signs of each unit, all of which mean the same."""
    names = {
        unit.name: {*unit.words, *unit.signs, *unit.spellings} for unit in SHIPPED.by_name.values()
    }
    for degrees in ("C", "F"):
        names[degrees] |= names["deg"]
    names["min"].add("m")
    spaced = ((name.replace("/", " / ") for name in row) for row in names.values())
    return (*(frozenset(" ".join(name.split()) for name in row) for row in spaced), _PERCENT)


# Sign -> what may stand for it.
_MONEY = {
    currency.sign: (
        currency.plural, currency.singular, *currency.words[2:],
        currency.code, currency.sign, *currency.spellings,
    )
    for currency in CURRENCIES
    if currency.sign
}  # fmt: skip
_PLAIN_NUMBER = re.compile(r"-?\d+(?:[.,]\d+)*")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?: (am|pm))?")
_DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d{{1,2}})(?: ,? ?(\d{{4}}))?")
_FREE = ("QUOTED_STRING", "USERNAME", "HASHTAG", "URL", "EMAIL_ADDRESS", "PATH_NAME")

Words = tuple[str, ...]


@lru_cache(maxsize=16384)
def forms(stem: str, text: str) -> tuple[Words, ...]:
    """Return the ways to write a value, as words, the given one first.

    Args:
        stem: of its placeholder, such as NUMBER.
        text: the value as people are shown it, without quotes, @ and #.

    >>> [" ".join(form) for form in forms("NUMBER", "12")]
    ['12', 'twelve']
    >>> [" ".join(form) for form in forms("CURRENCY", "$5")][:3]
    ['$ 5', '5 dollars', '5 dollar']
    >>> ("november", "5", "th") in forms("DATE", "november 5")
    True
    >>> forms("QUOTED_STRING", "Hello there")
    (('hello', 'there'),)
    """
    own = words_of(text)
    others = () if stem in _FREE or stem.startswith("GENERIC_ENTITY") else _others(" ".join(own))
    return tuple(dict.fromkeys((own, *(tuple(spelling.split()) for spelling in others))))


def _others(text: str) -> Iterable[str]:
    if (match := _TIME.fullmatch(text)) is not None:
        return _times(int(match[1]), match[2], match[3] or "")
    if (match := _DATE.fullmatch(text)) is not None:
        return _dates(match[1], int(match[2]), match[3] or "")
    if text[:1] in _MONEY and _PLAIN_NUMBER.fullmatch(text[2:]):
        return _sums(text[0], text[2:])
    number, _, unit = text.partition(" ")
    if _PLAIN_NUMBER.fullmatch(number):
        return _measures(number, unit) if unit else _numbers(number)
    return ()


def _numbers(number: str) -> Iterator[str]:
    plain = number.replace(",", "")
    yield plain
    if plain.isdigit():
        yield group_digits(int(plain))
        if int(plain) < 10_000:
            yield cardinal(int(plain), hyphen=True)
            yield cardinal(int(plain))


def _measures(number: str, unit: str) -> Iterator[str]:
    units = sorted({unit}.union(*(row for row in _names_of_units() if unit in row)))
    for amount in (number, *_numbers(number)):
        yield from (f"{amount} {word}" for word in units)
    if number == "1":
        yield from (f"{article} {word}" for article in ("a", "an", "one") for word in units)


def _sums(sign: str, number: str) -> Iterator[str]:
    for amount in (number, *_numbers(number)):
        yield from (f"{amount} {word}" for word in _MONEY[sign])
        yield f"{sign} {amount}"


_PARTS = {"am": ("in the morning",), "pm": ("in the afternoon", "in the evening", "at night")}


def _times(hour: int, minute: str, half: str) -> Iterator[str]:
    hours = {hour, hour % 12 + 12 * (half == "pm")} if half else {hour}
    for clock in (clock for number in sorted(hours) for clock in _clocks(number, minute)):
        if half:
            yield from (f"{clock} {half}", f"{clock} {half[0]}.m .", f"{clock} {half[0]}.m")
            yield from (f"{clock} {part}" for part in _PARTS[half])
        # A bare 5 could be any number.
        if ":" in clock or " " in clock:
            yield clock
    if (hour, minute) == (12, "00"):
        yield "midnight" if half == "am" else "noon"


def _clocks(hour: int, minute: str) -> Iterator[str]:
    yield from (f"{hour}:{minute}", f"{hour:02}:{minute}", f"{hour}.{minute}")
    numbers = (hour, hour % 12 + 1)
    for name, after in (map(str, numbers), map(cardinal, numbers)):
        match minute:
            case "00":
                yield from (name, f"{name} o'clock")
            case "15":
                yield from (f"quarter past {name}", f"a quarter past {name}")
            case "30":
                yield f"half past {name}"
            case "45":
                yield from (f"quarter to {after}", f"a quarter to {after}")
    if minute != "00":
        yield f"{cardinal(hour)} {cardinal(int(minute))}"


def _dates(month: str, day: int, year: str) -> Iterator[str]:
    number = MONTHS.index(month)
    ordinal = f"{day} {ordinal_digits(day)[-2:]}"
    days = (str(day), ordinal, f"the {ordinal}")
    for name in MONTH_NAMES[number]:
        for spoken in days:
            for order in (f"{name} {spoken}", f"{spoken} {name}", f"{spoken} of {name}"):
                yield from (f"{order} {year}", f"{order} , {year}") if year else (order,)
    if year:
        yield f"{number + 1} / {day} / {year}"
        yield f"{year}-{number + 1:02}-{day:02}"
    else:
        yield f"{number + 1} / {day}"


# ----------------------------------------------------------------------------- where values stand

_QUOTES = ('"', "'")
# Values of these sorts need their mark, for nothing else tells where they begin and end.
_NEED_QUOTES = frozenset({"QUOTED_STRING"})
# What may not follow a short form: 8:30 may stand for 8:30 pm, but not in front of am.
_SAYS_MORE = {
    "TIME": frozenset({"am", "pm", "a.m", "p.m"}),
    "MEASURE_C": frozenset({"celsius", "fahrenheit", "c", "f"}),
}
_SIGNS = {"USERNAME": "@", "HASHTAG": "#"}


@dataclass(frozen=True, slots=True)
class ValueSpan:
    """The words from start to end (exclusive), quotes included, that are a value."""

    start: int
    end: int
    token: str


@dataclass(frozen=True, slots=True)
class FoundValues:
    """The values found in a sentence.

    Attributes:
        spans: where each value stands, from left to right.
        missing: placeholders whose value is nowhere.
        unmarked: placeholders whose value lost its quotes, @ or #.
        repeated: placeholders whose value stands more than once.
    """

    spans: tuple[ValueSpan, ...]
    missing: tuple[str, ...] = ()
    unmarked: tuple[str, ...] = ()
    repeated: tuple[str, ...] = ()


def find_values(values: Sequence[tuple[str, str, str]], words: Words) -> FoundValues:
    """Return where values stand in words; those in quotes and long ones are looked for first.

    Args:
        values: (placeholder, its stem, the value as shown).

    >>> find_values([("NUMBER_0", "NUMBER", "2")], ("two", "songs")).spans
    (ValueSpan(start=0, end=1, token='NUMBER_0'),)
    >>> find_values([("HASHTAG_0", "HASHTAG", "#sun")], ("tag", "it", "sun")).unmarked
    ('HASHTAG_0',)
    """
    taken: list[ValueSpan] = []
    missing, unmarked, repeated = [], [], []
    for token, stem, text in sorted(values, key=_search_order):
        places = list(_places(stem, text, words, taken))
        if not places:
            missing.append(token)
            continue
        (start, end, is_marked), *others = sorted(places, key=lambda place: not place[2])
        if not is_marked:
            unmarked.append(token)
        # A word that also happens to be a value is no second copy of a marked value.
        if any(place[2] == is_marked for place in others):
            repeated.append(token)
        taken.append(ValueSpan(start, end, token))
    taken.sort(key=lambda place: place.start)
    order = [value[0] for value in values]
    by_order = order.index
    return FoundValues(
        tuple(taken),
        tuple(sorted(missing, key=by_order)),
        tuple(sorted(unmarked, key=by_order)),
        tuple(sorted(repeated, key=by_order)),
    )


def _search_order(value: tuple[str, str, str]) -> tuple[bool, int, str]:
    token, _, text = value
    return not text.startswith('"'), -len(text), token


def _places(
    stem: str, text: str, words: Words, taken: Sequence[ValueSpan]
) -> Iterator[tuple[int, int, bool]]:
    """Yield (start, end, has its mark) where a value stands on free words, longest forms first."""
    used = {i for place in taken for i in range(place.start, place.end)}
    sign = _SIGNS.get(stem, "")
    bare = text.strip('"').strip()
    spellings = [(form, True) for form in forms(stem, bare)]
    if sign:
        spellings += [(form, False) for form in forms(stem, bare.removeprefix(sign))]
    for form, has_sign in sorted(spellings, key=lambda spelling: -len(spelling[0])):
        for start in _occurrences(form, words):
            end = start + len(form)
            if used.intersection(range(start, end)) or (
                end < len(words) and words[end] in _SAYS_MORE.get(stem, ())
            ):
                continue
            used.update(range(start, end))
            is_quoted = _is_quoted(stem, words, start, end, used)
            if is_quoted:
                used.update((start - 1, end))
            marked = has_sign and (is_quoted or stem not in _NEED_QUOTES)
            yield (start - 1, end + 1, marked) if is_quoted else (start, end, marked)


def _is_quoted(stem: str, words: Words, start: int, end: int, used: set[int]) -> bool:
    """Return whether a value stands in quotes of its own, not between those of two others."""
    if start == 0 or end == len(words) or words[start - 1] not in _QUOTES:
        return False
    if words[end] != words[start - 1] or used & {start - 1, end}:
        return False
    opens = words[: start - 1].count(words[start - 1]) % 2 == 0
    return opens or stem in _NEED_QUOTES


def _occurrences(form: Words, words: Words) -> Iterator[int]:
    size = len(form)
    if not size:
        return
    start = 0
    while start + size <= len(words):
        if words[start : start + size] == form:
            yield start
            start += size
        else:
            start += 1
