"""Numbers, measures and money as people write them: "twenty five", "1,200", "6 feet 3 inches"."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from random import Random
from typing import TypeVar

from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.units import SHIPPED, Unit, Units

Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A written form of a value.

    Attributes:
        words: what the person wrote, in the tokens of utterances.
        value: what it means, in the token form of programs: "25", "6 unit:ft 3 unit:in",
            "currency:5:usd", "date:2027-03-14", "time:20:00:00".
    """

    words: tuple[str, ...]
    value: str


def as_written(text: str, value: str) -> WrittenValue:
    """Return the written form of a text whose tokens are separated by spaces.

    >>> as_written("twenty five", "25")
    WrittenValue(words=('twenty', 'five'), value='25')
    """
    return WrittenValue(tuple(text.split()), value)


def draw_form(rng: Random, forms: Sequence[tuple[str, float]], value: str) -> WrittenValue:
    """Return one of several spellings of a value, by weight."""
    return as_written(forms[0][0] if len(forms) == 1 else _draw_by_weight(rng, forms), value)


def _draw_by_weight(rng: Random, options: Sequence[tuple[Option, float]]) -> Option:
    share = rng.random() * sum(weight for _, weight in options)
    for option, weight in options:
        share -= weight
        if share < 0:
            return option
    return options[-1][0]


_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = (
    "", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_LARGE = ((10**9, "billion"), (10**6, "million"), (10**3, "thousand"))
_ORDINALS = {
    "one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth",
    "nine": "ninth", "twelve": "twelfth",
}  # fmt: skip


def cardinal(number: int, *, hyphen: bool = False, joined: bool = False) -> str:
    """Return a whole number in words.

    Args:
        number: less than a trillion, in size.
        hyphen: write "twenty-five".
        joined: say "and" after hundreds, as the British do.

    >>> cardinal(1225), cardinal(-45, hyphen=True), cardinal(305, joined=True)
    ('one thousand two hundred twenty five', 'minus forty-five', 'three hundred and five')
    """
    if number < 0:
        return f"minus {cardinal(-number, hyphen=hyphen, joined=joined)}"
    if number < 20:
        return _SMALL[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _TENS[tens] + (f"{'-' if hyphen else ' '}{_SMALL[ones]}" if ones else "")
    size, name = next((large for large in _LARGE if number >= large[0]), (100, "hundred"))
    count, rest = divmod(number, size)
    words = f"{cardinal(count, hyphen=hyphen, joined=joined)} {name}"
    if not rest:
        return words
    link = " and " if joined and rest < 100 else " "
    return f"{words}{link}{cardinal(rest, hyphen=hyphen, joined=joined)}"


def ordinal(number: int, *, hyphen: bool = False) -> str:
    """Return the place in a row in words.

    >>> ordinal(1), ordinal(12), ordinal(30), ordinal(21, hyphen=True)
    ('first', 'twelfth', 'thirtieth', 'twenty-first')
    """
    words = cardinal(number, hyphen=hyphen)
    start = max(words.rfind(" "), words.rfind("-")) + 1
    last = words[start:]
    if last in _ORDINALS:
        return words[:start] + _ORDINALS[last]
    return f"{words[:-1]}ieth" if last.endswith("y") else f"{words}th"


def ordinal_digits(number: int) -> str:
    """Return the place in a row in digits.

    >>> [ordinal_digits(n) for n in (1, 2, 3, 4, 11, 12, 13, 21, 112)]
    ['1st', '2nd', '3rd', '4th', '11th', '12th', '13th', '21st', '112th']
    """
    if number % 100 in (11, 12, 13):
        return f"{number}th"
    return f"{number}{({1: 'st', 2: 'nd', 3: 'rd'}).get(number % 10, 'th')}"


def group_digits(number: int) -> str:
    """Return the digits in groups of three.

    >>> group_digits(1200), group_digits(-1234567)
    ('1,200', '-1,234,567')
    """
    return f"{number:,}"


def plain_digits(number: Decimal) -> str:
    """Return the digits of a number, without zeros that say nothing.

    >>> plain_digits(Decimal("2.50")), plain_digits(Decimal("1E+3"))
    ('2.5', '1000')
    """
    text = f"{number:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def decimal_words(number: Decimal) -> str:
    """Return a number with digits behind the point in words.

    >>> decimal_words(Decimal("2.5")), decimal_words(Decimal("0.05")), decimal_words(Decimal("7"))
    ('two point five', 'zero point zero five', 'seven')
    """
    whole, _, behind = plain_digits(abs(number)).partition(".")
    words = cardinal(int(whole))
    if behind:
        words += " point " + " ".join(_SMALL[int(digit)] for digit in behind)
    return f"minus {words}" if number < 0 else words


_ROUND = ((10**6, "million", "m"), (10**3, "thousand", "k"))
_NAMED_NUMBERS = {
    12: "a dozen",
    6: "half a dozen",
    24: "two dozen",
    100: "a hundred",
    1000: "a thousand",
}


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
_SPAN = 1000  # of numbers that have a bound on one side only, or none of use
_TRIES = 20  # for a number within limits
# How many results a slice takes, "the 3 newest": one of them would be an index.
_SLICE = Scale(2, 20)


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
    if parameter == "slice:place":
        return _SLICE
    for parts, scale in SCALES:
        if is_named(parameter, parts):
            return scale
    return ANY


def draw_written_number(
    rng: Random, *, parameter: str = "", limits: Limits = NO_LIMITS
) -> WrittenValue | None:
    """Return a number in one of its written forms, as large as the parameter lets expect.

    None where none is found within the limits.
    """
    scale = scale_of(parameter)
    value = draw_number(rng, scale) if limits == NO_LIMITS else draw_within(rng, scale, limits)
    if value is None:
        return None
    return draw_form(rng, tuple(number_forms(value, is_bare=scale.is_bare)), plain_digits(value))


def draw_number(rng: Random, scale: Scale) -> Decimal:
    """Return a number of a scale."""
    if scale.is_wide:
        digits = 1 + int(rng.random() * len(str(scale.high)))
        high = min(10**digits - 1, scale.high)
        number = int(rng.random() * high) + 1
        if digits > 2 and rng.random() < 0.8:
            number = max(number // 10 ** (digits - 2), 1) * 10 ** (digits - 2)
        return Decimal(max(number, scale.low))
    step = scale.steps[int(rng.random() * len(scale.steps))]
    low, high = -(-scale.low // step), scale.high // step
    whole = (low + int(rng.random() * (high - low + 1))) * step
    if scale.decimals and rng.random() < 0.4 and whole < min(scale.high, 30):
        return Decimal(whole) + Decimal(1 + int(rng.random() * 9)).scaleb(-1)
    return Decimal(whole)


def draw_within(rng: Random, scale: Scale, limits: Limits) -> Decimal | None:
    """Return a number of a scale within limits, or of the limits where the scale has none.

    >>> draw_within(Random(1), scale_of("level"), Limits(Decimal(7), Decimal(35), is_whole=True))
    Decimal('31')
    >>> draw_within(Random(1), ANY, Limits(Decimal(3), Decimal(4), steps=(Decimal(5),))) is None
    True
    """
    low, high, steps = _range_of(scale, limits)
    step = steps[int(rng.random() * len(steps))]
    first, last = _multiples(low, high, step)
    for _ in range(_TRIES):
        if scale.is_wide and low <= 1 < high and not limits.steps:
            number = draw_number(rng, replace(scale, low=1, high=int(high)))
        else:
            number = (first + int(rng.random() * (last - first + 1))) * step
        if scale.decimals and rng.random() < 0.4:
            tenths = number + Decimal(1 + int(rng.random() * 9)) / 10
            number = tenths if limits.allows_number(tenths) else number
        if limits.allows_number(number):
            return number
    return None


def _multiples(low: Decimal, high: Decimal, step: Decimal) -> tuple[int, int]:
    """Return the least and the greatest number of steps that lie between two numbers."""
    first = (low / step).to_integral_value(ROUND_CEILING)
    return int(first), int((high / step).to_integral_value(ROUND_FLOOR))


def _common_multiple(steps: Sequence[Decimal]) -> Decimal:
    """Return the least number that is so many of each step.

    >>> _common_multiple([Decimal("0.4"), Decimal(1)])
    Decimal('2')
    """
    fractions = [Fraction(step) for step in steps]
    above = lcm(*(fraction.numerator for fraction in fractions))
    below = gcd(*(fraction.denominator for fraction in fractions))
    return Decimal(above) / Decimal(below)


@lru_cache(maxsize=4096)
def _range_of(scale: Scale, limits: Limits) -> tuple[Decimal, Decimal, tuple[Decimal, ...]]:
    """Return the least and greatest number to draw, and what they are multiples of."""
    least, most = limits.least, limits.most
    usual_low, usual_high = Decimal(scale.low), Decimal(scale.high)
    low = usual_low if least is None else least
    high = usual_high if most is None else most
    if low > high or (low == high and not limits.in_bounds(low)):
        low, high = (high - _SPAN, high) if least is None else (low, low + _SPAN)
    top, bottom = min(high, usual_high), max(low, usual_low)
    is_usual = top - bottom >= min(high - low, (usual_high - usual_low) / 4)
    if is_usual and (scale != ANY or high - low > _SPAN):
        low, high = bottom, top
    span = high - low
    unit, known = Decimal(1), tuple(map(Decimal, scale.steps))
    while not limits.is_whole and span and span < 3 * unit:
        unit /= 10
    if limits.steps:
        known = (_common_multiple((*limits.steps, *((Decimal(1),) if limits.is_whole else ()))),)
        # Halves are seldom said where whole numbers will do.
        known += (Decimal(1),) * 2 if all(1 % step == 0 for step in known) else ()
    elif unit < 1:
        known = (unit,)
    elif span > _SPAN:
        known = (Decimal(10) ** (span.adjusted() - 1),)
    counts = [(step, _count_allowed(low, high, step, limits)) for step in known]
    steps = tuple(step for step, count in counts if count > 1)
    steps = steps or tuple(step for step, count in counts if count and limits.steps)
    return low, high, steps or (min(known) if limits.steps else unit,)


def _count_allowed(low: Decimal, high: Decimal, step: Decimal, limits: Limits) -> int:
    """Return how many multiples of a step lie between two numbers, within open bounds.

    >>> _count_allowed(Decimal(0), Decimal(3), Decimal(500), Limits(Decimal(0), is_least_open=True))
    0
    """
    first, last = _multiples(low, high, step)
    if first > last:
        return 0
    edges = {first, last}
    return last - first + 1 - sum(not limits.in_bounds(edge * step) for edge in edges)


def number_forms(value: Decimal, *, is_bare: bool = False) -> Iterator[tuple[str, float]]:
    """Yield how a number is written, each with its weight.

    >>> [text for text, _ in number_forms(Decimal(12))]
    ['12', 'twelve', 'a dozen']
    >>> [text for text, _ in number_forms(Decimal("1500"))][:3]
    ['1500', '1,500', 'one thousand five hundred']
    >>> [text for text, _ in number_forms(Decimal("2.5"))]
    ['2.5', 'two point five', 'two and a half']
    """
    yield plain_digits(value), 6
    if value != value.to_integral_value():
        yield decimal_words(value), 2
        if value > 1 and value % 1 == Decimal("0.5") and not is_bare:
            yield f"{cardinal(int(value))} and a half", 1
        return
    whole = int(value)
    if abs(whole) >= 1000 and not is_bare:
        yield group_digits(whole), 3
    yield from _word_forms(whole, is_bare=is_bare)
    if is_bare:
        return
    if whole in _NAMED_NUMBERS:
        yield _NAMED_NUMBERS[whole], 1
    yield from _short_forms(whole)


def _word_forms(whole: int, *, is_bare: bool) -> Iterator[tuple[str, float]]:
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


def _short_forms(whole: int) -> Iterator[tuple[str, float]]:
    """Yield "2 million", "2.5 million", "40k": what leaves out no digit."""
    for size, name, letter in _ROUND:
        if whole < size or whole % (size // 10):
            continue
        amount = plain_digits(Decimal(whole) / size)
        yield f"{amount} {name}", 2
        yield f"{amount}{letter}", 1
        if size == 10**6 and whole == size:
            yield "a million", 1
        return


@dataclass(frozen=True, slots=True)
class SpokenUnit:
    """A unit as people name it.

    Attributes:
        name: its name in programs.
        singular, plural: its usual words.
        short: abbreviations, after a space; those of letters only are also written without one.
        scale: how many of it people name.
        weight: how often it is used among the units of its base.
        also: other plural words: "kilos", "gigs".
    """

    name: str
    singular: str
    plural: str
    short: tuple[str, ...]
    scale: Scale
    weight: float = 1.0
    also: tuple[str, ...] = ()


def _drawn(
    name: str, low: int, high: int, *, step: int = 1, weight: float = 1.0, decimals: int = 0
) -> SpokenUnit:
    steps = (step,) if step == 1 else (step, step, max(step // 5, 1))
    return _spoken(SHIPPED.by_name[name], Scale(low, high, steps=steps, decimals=decimals), weight)


def _spoken(unit: Unit, scale: Scale, weight: float) -> SpokenUnit:
    return SpokenUnit(
        unit.name, unit.singular, unit.plural, unit.signs, scale, weight, unit.words[2:]
    )


# Base unit -> its units.
UNITS_BY_BASE: dict[str, tuple[SpokenUnit, ...]] = {
    "ms": (
        _drawn("s", 5, 90, step=5),
        _drawn("min", 1, 90, step=5, weight=4),
        _drawn("h", 1, 24, weight=4),
        _drawn("day", 1, 30, weight=3),
        _drawn("week", 1, 8, weight=2),
        _drawn("mon", 1, 11, weight=1.5),
        _drawn("year", 1, 10, weight=1),
        _drawn("ms", 100, 900, step=50, weight=0.1),
    ),
    "m": (
        _drawn("km", 1, 200, step=5, weight=4, decimals=1),
        _drawn("mi", 1, 100, step=5, weight=4, decimals=1),
        _drawn("m", 1, 900, step=10, weight=3),
        _drawn("ft", 1, 900, step=10, weight=2),
        _drawn("cm", 1, 250, step=5, weight=1),
        _drawn("in", 1, 80, weight=1),
        _drawn("mm", 1, 90, weight=0.5),
        _drawn("yd", 1, 300, step=10), _drawn("nmi", 1, 200, step=5),
    ),
    "mps": (
        _drawn("kmph", 5, 200, step=10,
              weight=3),
        _drawn("mph", 5, 120, step=5, weight=4),
        _drawn("mps", 1, 60, weight=1),
        _drawn("kn", 1, 40),
    ),
    "kg": (
        _drawn("kg", 1, 120, step=5, weight=4,
              decimals=1),
        _drawn("lb", 1, 250, step=5, weight=4),
        _drawn("g", 5, 900, step=50, weight=2),
        _drawn("oz", 1, 40, weight=1),
        _drawn("mg", 5, 800, step=50, weight=4), _drawn("ug", 5, 500, step=25),
        _drawn("t", 1, 40, weight=4), _drawn("st", 5, 20),
    ),
    "Pa": (
        _drawn("Pa", 500, 2000, step=100),
        _drawn("bar", 1, 9, decimals=1),
        _drawn("psi", 10, 60, step=5),
        _drawn("mmHg", 60, 200, step=10),
        _drawn("inHg", 27, 31, decimals=1),
        _drawn("atm", 1, 9),
        _drawn("hPa", 960, 1050, step=5),
        _drawn("kPa", 50, 350, step=10),
    ),
    "C": (
        _drawn("C", -20, 40, step=5, weight=4),
        _drawn("F", 0, 110, step=5, weight=4),
        _drawn("K", 200, 400, step=10, weight=0.3),
    ),
    "kcal": (
        _drawn("kcal", 50, 2500, step=50, weight=5),
        _drawn("kJ", 100, 9000, step=100),
        _drawn("kWh", 1, 500, step=5, weight=4, decimals=1), _drawn("Wh", 5, 900, step=50),
        _drawn("MWh", 1, 90), _drawn("J", 5, 900, step=50), _drawn("MJ", 1, 90),
    ),
    "byte": (
        _drawn("MB", 1, 900, step=10, weight=4),
        _drawn("GB", 1, 256, step=5, weight=4),
        _drawn("KB", 10, 900, step=10, weight=2),
        _drawn("TB", 1, 20, weight=1),
        _drawn("byte", 10, 5000, step=100, weight=0.3),
        _drawn("MiB", 1, 900, step=10, weight=0.2),
        _drawn("GiB", 1, 64, weight=0.2),
        _drawn("KiB", 10, 900, step=10, weight=0.1),
        _drawn("TiB", 1, 9, weight=0.1),
        _drawn("PB", 1, 9),
    ),
    "bpm": (
        _drawn("bpm", 50, 190, step=5),
        _drawn("Hz", 20, 900, step=10), _drawn("kHz", 1, 96, decimals=1),
        _drawn("MHz", 87, 108, decimals=1), _drawn("GHz", 1, 6, decimals=1),
    ),
    "dB": (_drawn("dB", 20, 110, step=5),),
    "lx": (_drawn("lx", 50, 2000, step=50),),
    "m2": (
        _drawn("m2", 10, 300, step=5), _drawn("cm2", 5, 900, step=50),
        _drawn("km2", 1, 500, step=5), _drawn("ha", 1, 90), _drawn("ft2", 50, 4000, step=50),
        _drawn("acre", 1, 90),
    ),
    "l": (
        _drawn("l", 1, 60, weight=4, decimals=1), _drawn("ml", 5, 900, step=50, weight=4),
        _drawn("cl", 5, 90, step=5), _drawn("dl", 1, 9), _drawn("m3", 1, 90),
        _drawn("tsp", 1, 6, weight=2), _drawn("tbsp", 1, 8, weight=2),
        _drawn("cup", 1, 9, weight=3), _drawn("floz", 1, 32), _drawn("pt", 1, 8),
        _drawn("qt", 1, 8), _drawn("gal", 1, 40),
    ),
    "W": (
        _drawn("W", 5, 900, step=50, weight=4), _drawn("kW", 1, 60, weight=3, decimals=1),
        _drawn("mW", 5, 900, step=50), _drawn("MW", 1, 90), _drawn("hp", 50, 600, step=10),
    ),
    "V": (
        _drawn("V", 1, 400, step=5, weight=4), _drawn("mV", 5, 900, step=50), _drawn("kV", 1, 90),
    ),
    "A": (_drawn("A", 1, 32, weight=2, decimals=1), _drawn("mA", 5, 900, step=50)),
    "Ah": (_drawn("mAh", 500, 9000, step=500, weight=2), _drawn("Ah", 1, 100, step=5)),
    "bps": (
        _drawn("Mbps", 5, 900, step=50, weight=4), _drawn("Gbps", 1, 10),
        _drawn("kbps", 64, 512, step=32), _drawn("bps", 300, 9600, step=300, weight=0.2),
        _drawn("MBps", 1, 90), _drawn("KBps", 50, 900, step=50),
    ),
    "deg": (_drawn("deg", 5, 360, step=15, weight=4), _drawn("rad", 1, 6)),
    "lm": (_drawn("lm", 100, 3000, step=100),),
    "rpm": (_drawn("rpm", 200, 6000, step=100),),
}  # fmt: skip
_IDIOMS = {
    "ms": (
        ("an hour", "1 unit:h"), ("half an hour", "30 unit:min"), ("a minute", "1 unit:min"),
        ("a quarter of an hour", "15 unit:min"), ("half a minute", "30 unit:s"),
        ("a day", "1 unit:day"), ("a week", "1 unit:week"), ("a month", "1 unit:mon"),
        ("an hour and a half", "90 unit:min"), ("a year", "1 unit:year"),
        ("half a day", "12 unit:h"), ("half a year", "6 unit:mon"),
    ),
    "m": (("a mile", "1 unit:mi"), ("half a mile", "0.5 unit:mi"), ("a kilometer", "1 unit:km"),
          ("half a kilometer", "500 unit:m")),
    "kg": (("a pound", "1 unit:lb"), ("half a pound", "0.5 unit:lb"), ("a kilo", "1 unit:kg"),
           ("half a kilo", "500 unit:g")),
    "byte": (("a gigabyte", "1 unit:GB"), ("half a gigabyte", "500 unit:MB"),
             ("a megabyte", "1 unit:MB"), ("a gig", "1 unit:GB")),
}  # fmt: skip
# The larger unit, the smaller one, how many make a larger one, and how many of it people name.
_COMPOUNDS = {
    "m": (("ft", "in", 12, (4, 7)),),
    "ms": (("h", "min", 60, (1, 3)), ("min", "s", 60, (1, 12)), ("day", "h", 24, (1, 5))),
    "kg": (("lb", "oz", 16, (1, 12)),),
}
# How words of a parameter's name begin -> the units that fit; other units of the base would be odd.
_HINTS = {
    "m": (
        (("distance", "radius", "range"), ("km", "mi", "m")),
        (("height", "length", "elevation", "depth", "altitude", "diameter"), ("m", "ft")),
        (("rain", "snow"), ("mm", "in", "cm")),
        (("visibility", "miss"), ("km", "mi")),
    ),
    "kg": ((("weight",), ("kg", "lb")),),
    "ms": (
        (("duration", "length", "runtime", "time"), ("min", "h", "s")),
        (("snooze", "delay", "travel", "cooking"), ("min", "h")),
    ),
}


# Units that people name of one thing, where it is declared in one that ThingTalk 1.x lacks.
_TOGETHER = tuple(
    frozenset(names.split())
    for names in (
        "ug mg", "kg t", "st lb", "yd ft mi", "nmi", "hPa kPa", "Wh kWh MWh", "J kJ MJ",
        "GB TB PB", "Hz kHz MHz GHz", "cm2 m2 ha km2", "ft2 acre", "ml cl dl l m3",
        "tsp tbsp cup floz pt qt gal", "mW W kW MW", "mV V kV", "mA A", "mAh Ah",
        "bps kbps Mbps Gbps", "KBps MBps", "deg",
    )
)  # fmt: skip
_MOST_APART = 1000  # of things that have a weight in grams nobody names one in tonnes


@lru_cache(maxsize=4096)
def units_of(
    base: str, parameter: str, declared: str = "", units: Units = SHIPPED
) -> tuple[SpokenUnit, ...]:
    """Return the units that fit a parameter, by its name and the unit of its type.

    Args:
        base: the base unit of what is measured.
        parameter: what the value fills.
        declared: the unit of its type, "" where it is not known.
        units: those of the library.

    >>> [unit.name for unit in units_of("m", "@com.google.maps.route:distance")]
    ['km', 'mi', 'm']
    >>> [unit.name for unit in units_of("kg", "@com.x.log:dose", "mg")]
    ['mg', 'ug']
    """
    unit = units.by_name[declared or base]
    shipped = UNITS_BY_BASE.get(base, ())
    if not unit.is_classic:
        if unit.name not in SHIPPED:
            return tuple(
                _spoken(own, Scale(own.low, own.high), 4.0 if own == unit else 1.0)
                for own in units.of_base(base)
                if own.name not in SHIPPED
            )
        together = next((names for names in _TOGETHER if unit.name in names), {unit.name})
        return tuple(
            other
            for other in shipped
            if other.name in together
            and Decimal(1) / _MOST_APART <= units.factor(other.name) / unit.factor <= _MOST_APART
        )
    classic = tuple(unit for unit in shipped if SHIPPED.by_name[unit.name].is_classic)
    for parts, fitting in _HINTS.get(base, ()):
        if is_named(parameter, parts):
            return tuple(unit for unit in classic if unit.name in fitting)
    return classic


def draw_measure(
    rng: Random, unit: str, *, parameter: str = "", units: Units = SHIPPED
) -> WrittenValue:
    """Return a measure in one of its written forms.

    Args:
        rng: where the choice comes from.
        unit: any unit of the measure, such as that of its type.
        parameter: what it fills; its name tells which units are likely.
        units: those of the library.
    """
    base = units.base(unit)
    share = rng.random()
    fitting = units_of(base, parameter, unit, units)
    names = {unit.name for unit in fitting} if units.by_name[unit].is_classic else set()
    if share < 0.08 and base in _IDIOMS:
        idioms = [i for i in _IDIOMS[base] if i[1].rpartition("unit:")[2] in names]
        if idioms:
            return as_written(*idioms[int(rng.random() * len(idioms))])
    if share > 0.9:
        compound = _draw_compound(rng, base, names)
        if compound is not None:
            return compound
    chosen = _draw_by_weight(rng, [(unit, unit.weight) for unit in fitting])
    value = draw_number(rng, chosen.scale)
    forms = tuple(measure_forms(value, chosen))
    return draw_form(rng, forms, f"{plain_digits(value)} unit:{chosen.name}")


def measure_forms(value: Decimal, unit: SpokenUnit) -> Iterator[tuple[str, float]]:
    """Yield how so many of a unit are written, each with its weight.

    >>> [text for text, _ in measure_forms(Decimal(5), UNITS_BY_BASE["dB"][0])]
    ['5 decibels', 'five decibels', '5 db', '5db']
    """
    digits = plain_digits(value)
    is_whole = value == value.to_integral_value()
    words = cardinal(int(value)) if is_whole else decimal_words(value)
    name = unit.singular if value == 1 else unit.plural
    yield f"{digits} {name}", 5
    if words.count(" ") < 3:
        yield f"{words} {name}", 3
    if value >= 1000:
        yield f"{group_digits(int(value))} {name}", 1
    for short in unit.short:
        if value == 1 and len(short) > 1 and short.endswith("s"):
            continue
        spaced = " ".join(short.replace("/", " / ").split())
        yield f"{digits} {spaced}", 2 / len(unit.short)
        if short.isalpha():
            yield f"{digits}{short}", 1.5 / len(unit.short)
    if value != 1:
        for also in unit.also:
            yield f"{digits} {also}", 2 / len(unit.also)


def _draw_compound(rng: Random, base: str, names: set[str]) -> WrittenValue | None:
    """Return a measure of two units, "6 feet 3 inches"; None if the base or parameter has none."""
    compounds = [
        (large, small, size, range_)
        for large, small, size, range_ in _COMPOUNDS.get(base, ())
        if large in names and (small in names or large == "ft")
    ]
    if not compounds:
        return None
    large, small, size, (low, high) = compounds[int(rng.random() * len(compounds))]
    first = low + int(rng.random() * (high - low + 1))
    second = 1 + int(rng.random() * (size - 1))
    by_name = {unit.name: unit for unit in UNITS_BY_BASE[base]}
    forms = tuple(_compound_forms(first, by_name[large], second, by_name[small]))
    return draw_form(rng, forms, f"{first} unit:{large} {second} unit:{small}")


def _compound_forms(
    first: int, large: SpokenUnit, second: int, small: SpokenUnit
) -> Iterator[tuple[str, float]]:
    large_name = large.singular if first == 1 else large.plural
    small_name = small.singular if second == 1 else small.plural
    yield f"{first} {large_name} {second} {small_name}", 3
    yield f"{first} {large_name} and {second} {small_name}", 3
    yield f"{cardinal(first)} {large_name} {cardinal(second)} {small_name}", 2
    if large.short and small.short:
        yield f"{first} {large.short[0]} {second} {small.short[0]}", 2
        yield f"{first}{large.short[0]} {second}{small.short[0]}", 1
    if large.name == "ft":
        yield f"{first} foot {second}", 1
        yield f"{cardinal(first)} foot {cardinal(second)}", 1


@dataclass(frozen=True, slots=True)
class SpokenCurrency:
    """A currency as people name it.

    Attributes:
        code: in programs, lower-case.
        singular, plural: its usual words.
        sign: what stands right before the digits, or "".
        also: other plural words.
        cent: the word for hundredths, in the plural, or "" where nobody names them.
        weight: how often it is meant.
    """

    code: str
    singular: str
    plural: str
    sign: str = ""
    also: tuple[str, ...] = ()
    cent: str = ""
    weight: float = 1.0


# "dollars" and "pounds" alone are those of the USA and of Britain.
CURRENCIES = (
    SpokenCurrency("usd", "dollar", "dollars", "$", ("bucks", "us dollars", "american dollars"),
             "cents", 10),
    SpokenCurrency("eur", "euro", "euros", "€", ("euro",), "euro cents", 4),
    SpokenCurrency("gbp", "pound", "pounds", "£", ("quid", "british pounds", "pounds sterling"),
             "pence", 3),
    SpokenCurrency("jpy", "yen", "yen", "", ("japanese yen",), "", 1),
    SpokenCurrency("cad", "canadian dollar", "canadian dollars"),
    SpokenCurrency("aud", "australian dollar", "australian dollars"),
    SpokenCurrency("chf", "swiss franc", "swiss francs", "", ("francs",)),
    SpokenCurrency("cny", "yuan", "yuan", "", ("chinese yuan", "renminbi")),
    SpokenCurrency("inr", "rupee", "rupees", "", ("indian rupees",)),
    SpokenCurrency("mxn", "mexican peso", "mexican pesos", "", ("pesos",)),
    SpokenCurrency("brl", "real", "reais", "", ("brazilian reais",)),
    SpokenCurrency("krw", "won", "won", "", ("korean won",), "", 0.5),
    SpokenCurrency("sek", "swedish krona", "swedish kronor", "", ("kronor",), "", 0.5),
    SpokenCurrency("nok", "norwegian krone", "norwegian kroner", "", (), "", 0.5),
    SpokenCurrency("dkk", "danish krone", "danish kroner", "", (), "", 0.5),
    SpokenCurrency("pln", "zloty", "zlotys", "", ("polish zlotys",), "", 0.5),
    SpokenCurrency("zar", "rand", "rand", "", ("south african rand",), "", 0.5),
    SpokenCurrency("nzd", "new zealand dollar", "new zealand dollars", "", (), "", 0.5),
)  # fmt: skip
# Hundredths that prices have.
_PRICES = (99, 50, 95, 25, 75, 49, 20, 10)


def draw_money(rng: Random) -> WrittenValue:
    """Return an amount of money in one of its written forms."""
    currency = _draw_by_weight(rng, [(currency, currency.weight) for currency in CURRENCIES])
    whole, cents = _amount(rng, currency)
    value = Decimal(whole) + Decimal(cents).scaleb(-2)
    forms = tuple(money_forms(whole, cents, currency))
    return draw_form(rng, forms, f"currency:{plain_digits(value)}:{currency.code}")


def _amount(rng: Random, currency: SpokenCurrency) -> tuple[int, int]:
    digits = 1 + int(rng.random() * 5)
    whole = 1 + int(rng.random() * (10**digits - 1))
    if digits > 2 and rng.random() < 0.8:
        whole = max(whole // 10 ** (digits - 1), 1) * 10 ** (digits - 1)
    if currency.cent and whole < 200:
        share = rng.random()
        if share < 0.05:
            return 0, _PRICES[int(rng.random() * len(_PRICES))]
        if share < 0.3:
            return whole, _PRICES[int(rng.random() * len(_PRICES))]
    return whole, 0


def money_forms(whole: int, cents: int, currency: SpokenCurrency) -> Iterator[tuple[str, float]]:
    """Yield how an amount is written, each with its weight.

    >>> [text for text, _ in money_forms(5, 0, CURRENCIES[0])][:5]
    ['$5', '$ 5', '5 dollars', 'five dollars', '5 bucks']
    >>> [text for text, _ in money_forms(2, 50, CURRENCIES[0])]
    ['$2.50', '2.50 dollars', '2 dollars and 50 cents', 'two dollars and fifty cents']
    """
    if not whole:
        yield f"{cents} {currency.cent}", 2
        yield f"{cardinal(cents)} {currency.cent}", 1
    elif cents:
        yield from _cents_forms(whole, cents, currency)
    else:
        yield from _whole_forms(whole, currency)


def _cents_forms(whole: int, cents: int, currency: SpokenCurrency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign:
        yield f"{currency.sign}{whole}.{cents:02d}", 5
    yield f"{whole}.{cents:02d} {currency.plural}", 2
    yield f"{whole} {name} and {cents} {currency.cent}", 1
    yield f"{cardinal(whole)} {name} and {cardinal(cents)} {currency.cent}", 1


def _whole_forms(whole: int, currency: SpokenCurrency) -> Iterator[tuple[str, float]]:
    name = currency.singular if whole == 1 else currency.plural
    if currency.sign:
        yield f"{currency.sign}{whole}", 6
        yield f"{currency.sign} {whole}", 0.5
        if whole >= 1000:
            yield f"{currency.sign}{group_digits(whole)}", 4
            if whole % 1000 == 0:
                yield f"{currency.sign}{whole // 1000}k", 2
    yield f"{whole} {name}", 5
    words = cardinal(whole)
    if words.count(" ") < 4:
        yield f"{words} {name}", 3
    if whole >= 1000:
        yield f"{group_digits(whole)} {name}", 2
    if whole > 1:
        for also in currency.also:
            yield f"{whole} {also}", 1.5 / len(currency.also)
    yield f"{whole} {currency.code}", 1
    yield f"{currency.code} {whole}", 0.3
