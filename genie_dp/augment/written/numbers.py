"""Numbers: "25", "twenty five", "1,200", "2.5 million", "a dozen"."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from random import Random

from genie_dp.augment.written.form import Written, chosen
from genie_dp.augment.written.numerals import (
    cardinal,
    decimal_words,
    grouped,
    ordinal,
    ordinal_digits,
    plain,
)

_ROUND = ((10**6, "million", "m"), (10**3, "thousand", "k"))
_NAMED = {12: "a dozen", 6: "half a dozen", 24: "two dozen", 100: "a hundred", 1000: "a thousand"}


@dataclass(frozen=True, slots=True)
class Scale:
    """Which numbers people name of something, and how.

    Attributes:
        low, high: the range, both included.
        steps: the numbers are multiples of one of these, each as likely.
        is_bare: only digits or plain words stand well beside "percent", "stars", "pixels".
        decimals: digits behind the point that some have.
        is_wide: small numbers are as likely as large ones, by their number of digits.
    """

    low: int
    high: int
    steps: tuple[int, ...] = (1,)
    is_bare: bool = False
    decimals: int = 0
    is_wide: bool = False


COUNT = Scale(1, 5_000_000, is_wide=True)
# How words of a parameter's name begin -> its numbers; the first that is found counts.
SCALES: tuple[tuple[tuple[str, ...], Scale], ...] = (
    (("year",), Scale(1950, 2030, is_bare=True)),
    (("change",), Scale(1, 20, is_bare=True, decimals=1)),
    (
        ("percent", "volume", "level", "brightness", "humidity", "chance", "energy", "popularity",
         "danceability", "battery", "saturation", "probability"),
        Scale(1, 100, steps=(1, 5, 10), is_bare=True),
    ),
    (("rating", "stars", "grade"), Scale(1, 9, is_bare=True, decimals=1)),
    (("rate", "price", "ratio"), Scale(1, 50, is_bare=True, decimals=2)),
    (("width", "height", "pixel"), Scale(100, 4000, steps=(50, 100, 200), is_bare=True)),
    (("rank", "limit", "number", "floor", "gate", "page", "season", "episode", "syllable"),
     Scale(1, 30, is_bare=True)),
    (("score", "win", "loss", "goal", "week", "cup", "guest", "party", "day", "age"),
     Scale(1, 40)),
    (("like", "view", "follow", "retweet", "reaction", "comment", "subscriber", "share",
      "download", "connection", "usage", "vote"), COUNT),
    (("step",), Scale(1000, 30_000, steps=(500, 1000))),
    (("word",), Scale(50, 3000, steps=(50, 100))),
    (("count", "total", "amount"), Scale(1, 60, steps=(1, 1, 5))),
)  # fmt: skip
# Of a parameter that says nothing.
ANY = Scale(1, 1000, is_wide=True)


def is_named(parameter: str, parts: tuple[str, ...]) -> bool:
    """Tell whether a word of a parameter's name begins with one of these.

    >>> is_named("@com.x.f:like_count", ("like",)), is_named("@com.x.f:usage", ("age",))
    (True, False)
    """
    words = parameter.rpartition(":")[2].split("_")
    return any(word.startswith(parts) for word in words)


@lru_cache(maxsize=4096)
def scale_of(parameter: str) -> Scale:
    """Return which numbers a parameter has, by its name.

    >>> scale_of("@com.spotify.set_volume:volume").high, scale_of("").high
    (100, 1000)
    """
    for parts, scale in SCALES:
        if is_named(parameter, parts):
            return scale
    return ANY


def number(rng: Random, *, parameter: str = "") -> Written:
    """Return a number in one of its written forms, as large as the parameter lets expect."""
    scale = scale_of(parameter)
    value = draw_number(rng, scale)
    return chosen(rng, tuple(forms(value, is_bare=scale.is_bare)), plain(value))


def draw_number(rng: Random, scale: Scale) -> Decimal:
    """Return a number of a scale."""
    if scale.is_wide:
        digits = 1 + int(rng.random() * len(str(scale.high)))
        high = min(10**digits - 1, scale.high)
        found = int(rng.random() * high) + 1
        if digits > 2 and rng.random() < 0.8:
            found = max(found // 10 ** (digits - 2), 1) * 10 ** (digits - 2)
        return Decimal(max(found, scale.low))
    step = scale.steps[int(rng.random() * len(scale.steps))]
    low, high = -(-scale.low // step), scale.high // step
    whole = (low + int(rng.random() * (high - low + 1))) * step
    if scale.decimals and rng.random() < 0.4 and whole < min(scale.high, 30):
        return Decimal(whole) + Decimal(1 + int(rng.random() * 9)).scaleb(-1)
    return Decimal(whole)


def forms(value: Decimal, *, is_bare: bool = False) -> Iterator[tuple[str, float]]:
    """Yield how a number is written, each with its weight.

    >>> [text for text, _ in forms(Decimal(12))]
    ['12', 'twelve', 'a dozen']
    >>> [text for text, _ in forms(Decimal("1500"))][:3]
    ['1500', '1,500', 'one thousand five hundred']
    >>> [text for text, _ in forms(Decimal("2.5"))]
    ['2.5', 'two point five', 'two and a half']
    """
    yield plain(value), 6
    if value != value.to_integral_value():
        yield decimal_words(value), 2
        if value > 1 and value % 1 == Decimal("0.5") and not is_bare:
            yield f"{cardinal(int(value))} and a half", 1
        return
    whole = int(value)
    if abs(whole) >= 1000 and not is_bare:
        yield grouped(whole), 3
    yield from _words(whole, is_bare=is_bare)
    if is_bare:
        return
    if whole in _NAMED:
        yield _NAMED[whole], 1
    yield from _short(whole)


def _words(whole: int, *, is_bare: bool) -> Iterator[tuple[str, float]]:
    """Yield the number in words; long numbers are rarely said so."""
    if is_bare and whole > 1000:
        return
    words = cardinal(whole)
    if words.count(" ") > 4:
        return
    yield words, 3 if abs(whole) < 1000 else 1
    hyphened = cardinal(whole, hyphen=True)
    if hyphened != words:
        yield hyphened, 1
    joined = cardinal(whole, joined=True)
    if joined not in (words, hyphened):
        yield joined, 0.5


def _short(whole: int) -> Iterator[tuple[str, float]]:
    """Yield "2 million", "2.5 million", "40k": what leaves out no digit."""
    for size, name, letter in _ROUND:
        if whole < size or whole % (size // 10):
            continue
        amount = plain(Decimal(whole) / size)
        yield f"{amount} {name}", 2
        yield f"{amount}{letter}", 1
        if size == 10**6 and whole == size:
            yield "a million", 1
        return


def place_in_row(rng: Random) -> Written:
    """Return a number as the place in a row: "3rd", "third"; its value is the number.

    For words of one's own ("the third episode"); placeholders are never said so.
    """
    value = 1 + int(rng.random() * 31)
    said = ((ordinal_digits(value), 2.0), (ordinal(value), 2.0), (ordinal(value, hyphen=True), 1.0))
    return chosen(rng, said, str(value))


def percent(rng: Random) -> Written:
    """Return a share in percent; its value is the number before the sign.

    For sentences whose template does not say "percent" itself.
    """
    value = draw_number(rng, Scale(1, 100, steps=(1, 5, 10)))
    digits = plain(value)
    said = (
        (f"{digits}%", 4.0),
        (f"{digits} %", 1.0),
        (f"{digits} percent", 3.0),
        (f"{cardinal(int(value))} percent", 2.0),
        (f"{digits} per cent", 0.5),
    )
    return chosen(rng, said, digits)
