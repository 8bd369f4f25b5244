"""Numbers, measures and money as people write them: "twenty five", "1,200", "6 feet 3 inches"."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from functools import lru_cache
from math import gcd, lcm
from random import Random
from typing import TypeVar

from genie_dp.languages.limits import NO_LIMITS, Limits
from genie_dp.languages.units import SHIPPED, Unit, Units
from genie_dp.values.money import CURRENCIES, Currency
from genie_dp.values.spelling import plain_digits
from genie_dp.values.writing import compound_forms, measure_forms, money_forms, number_forms

Option = TypeVar("Option")


@dataclass(frozen=True, slots=True)
class WrittenValue:
    """A written form of a value.

    Attributes:
        words: those of the person, as tokens of utterances.
        value: in the token form of programs: "25", "6 unit:ft 3 unit:in",
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
    """Return whether a word of a parameter's name begins with one of these.

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
    """Return the least and greatest number to draw, and their common divisor."""
    least, largest = limits.least, limits.most
    usual_low, usual_high = Decimal(scale.low), Decimal(scale.high)
    low = usual_low if least is None else least
    high = usual_high if largest is None else largest
    if low > high or (low == high and not limits.in_bounds(low)):
        low, high = (high - _SPAN, high) if least is None else (low, low + _SPAN)
    top, bottom = min(high, usual_high), max(low, usual_low)
    is_usual = top - bottom >= min(high - low, (usual_high - usual_low) / 4)
    if is_usual and (scale != ANY or high - low > _SPAN):
        low, high = bottom, top
    span = high - low
    unit, possible_steps = Decimal(1), tuple(map(Decimal, scale.steps))
    while not limits.is_whole and span and span < 3 * unit:
        unit /= 10
    if limits.steps:
        possible_steps = (
            _common_multiple((*limits.steps, *((Decimal(1),) if limits.is_whole else ()))),
        )
        # Halves are seldom said where whole numbers will do.
        possible_steps += (Decimal(1),) * 2 if all(1 % step == 0 for step in possible_steps) else ()
    elif unit < 1:
        possible_steps = (unit,)
    elif span > _SPAN:
        possible_steps = (Decimal(10) ** (span.adjusted() - 1),)
    counts = [(step, _count_allowed(low, high, step, limits)) for step in possible_steps]
    steps = tuple(step for step, count in counts if count > 1)
    steps = steps or tuple(step for step, count in counts if count and limits.steps)
    return low, high, steps or (min(possible_steps) if limits.steps else unit,)


def _count_allowed(low: Decimal, high: Decimal, step: Decimal, limits: Limits) -> int:
    """Return the number of multiples of a step between two numbers, within open bounds.

    >>> _count_allowed(Decimal(0), Decimal(3), Decimal(500), Limits(Decimal(0), is_least_open=True))
    0
    """
    first, last = _multiples(low, high, step)
    if first > last:
        return 0
    edges = {first, last}
    return last - first + 1 - sum(not limits.in_bounds(edge * step) for edge in edges)


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

_MOST_APART = 1000  # of things that have a weight in grams nobody names one in tonnes


@lru_cache(maxsize=4096)
def units_of(
    base: str, parameter: str, declared: str = "", units: Units = SHIPPED
) -> tuple[Unit, ...]:
    """Return the units that fit a parameter, by its name and the unit of its type.

    Args:
        base: the base unit of the measure.
        parameter: the parameter that the value fills.
        declared: the unit of its type, "" where it is not known.
        units: those of the library.

    >>> [unit.name for unit in units_of("m", "@com.google.maps.route:distance")]
    ['m', 'km', 'mi']
    >>> [unit.name for unit in units_of("kg", "@com.x.log:dose", "mg")]
    ['mg', 'ug']
    """
    unit = units.by_name[declared or base]
    if unit.name not in SHIPPED:
        return tuple(
            replace(own, weight=4.0 if own == unit else 1.0)
            for own in units.of_base(base)
            if own.name not in SHIPPED
        )
    named = tuple(candidate for candidate in SHIPPED.of_base(base) if candidate.words)
    if not unit.is_classic:
        return tuple(
            candidate
            for candidate in named
            if candidate == unit or (unit.family and candidate.family == unit.family)
            if Decimal(1) / _MOST_APART <= candidate.factor / unit.factor <= _MOST_APART
        )
    classic = tuple(candidate for candidate in named if candidate.is_classic)
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
        parameter: the parameter that it fills; its name suggests likely units.
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
    step = chosen.step
    steps = (1,) if step == 1 else (step, step, max(step // 5, 1))
    scale = Scale(chosen.low, chosen.high, steps=steps, decimals=chosen.decimals)
    value = draw_number(rng, scale)
    forms = tuple(measure_forms(value, chosen))
    return draw_form(rng, forms, f"{plain_digits(value)} unit:{chosen.name}")


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
    units = SHIPPED.by_name
    forms = tuple(compound_forms(first, units[large], second, units[small]))
    return draw_form(rng, forms, f"{first} unit:{large} {second} unit:{small}")


# How often a currency is meant, beside those that are as likely as each other.
_CURRENCY_WEIGHTS = {
    "usd": 10.0, "eur": 4.0, "gbp": 3.0,
    **dict.fromkeys(("krw", "sek", "nok", "dkk", "pln", "zar", "nzd"), 0.5),
}  # fmt: skip
# Hundredths that prices have.
_PRICES = (99, 50, 95, 25, 75, 49, 20, 10)


def draw_money(rng: Random) -> WrittenValue:
    """Return an amount of money in one of its written forms."""
    weights = [(currency, _CURRENCY_WEIGHTS.get(currency.code, 1.0)) for currency in CURRENCIES]
    currency = _draw_by_weight(rng, weights)
    whole, cents = _amount(rng, currency)
    value = Decimal(whole) + Decimal(cents).scaleb(-2)
    forms = tuple(money_forms(whole, cents, currency))
    return draw_form(rng, forms, f"currency:{plain_digits(value)}:{currency.code}")


def _amount(rng: Random, currency: Currency) -> tuple[int, int]:
    digits = 1 + int(rng.random() * 5)
    whole = 1 + int(rng.random() * (10**digits - 1))
    if digits > 2 and rng.random() < 0.8:
        whole = max(whole // 10 ** (digits - 1), 1) * 10 ** (digits - 1)
    if currency.cents and whole < 200:
        share = rng.random()
        if share < 0.05:
            return 0, _PRICES[int(rng.random() * len(_PRICES))]
        if share < 0.3:
            return whole, _PRICES[int(rng.random() * len(_PRICES))]
    return whole, 0
