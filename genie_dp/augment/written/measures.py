"""Measures: "6 feet 3 inches", "20 c", "half an hour", "5 gigs"."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from random import Random

from genie_dp.augment.written.form import Written, chosen, written
from genie_dp.augment.written.numbers import Scale, draw_number, is_named
from genie_dp.augment.written.numerals import cardinal, decimal_words, grouped, plain
from genie_dp.languages.thingtalk.types import UNITS


@dataclass(frozen=True, slots=True)
class Unit:
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


def _unit(
    name: str,
    words: str,
    short: str,
    low: int,
    high: int,
    *,
    step: int = 1,
    weight: float = 1.0,
    also: str = "",
    decimals: int = 0,
) -> Unit:
    singular, _, plural = words.partition("/")
    steps = (step,) if step == 1 else (step, step, max(step // 5, 1))
    scale = Scale(low, high, steps=steps, decimals=decimals)
    others = tuple(part for part in also.split("/") if part)
    return Unit(name, singular, plural, tuple(short.split()), scale, weight, others)


# Base unit -> its units. The words are those that readers of measures know: one meaning each.
TABLE: dict[str, tuple[Unit, ...]] = {
    "ms": (
        _unit("s", "second/seconds", "sec secs s", 5, 90, step=5, also="secs"),
        _unit("min", "minute/minutes", "min mins", 1, 90, step=5, weight=4, also="mins"),
        _unit("h", "hour/hours", "h hr hrs", 1, 24, weight=4),
        _unit("day", "day/days", "", 1, 30, weight=3),
        _unit("week", "week/weeks", "wks", 1, 8, weight=2),
        _unit("mon", "month/months", "", 1, 11, weight=1.5),
        _unit("year", "year/years", "yrs", 1, 10, weight=1),
        _unit("ms", "millisecond/milliseconds", "ms", 100, 900, step=50, weight=0.1),
    ),
    "m": (
        _unit("km", "kilometer/kilometers", "km kms", 1, 200, step=5, weight=4,
              also="kilometres/klicks", decimals=1),
        _unit("mi", "mile/miles", "mi", 1, 100, step=5, weight=4, decimals=1),
        _unit("m", "meter/meters", "m", 1, 900, step=10, weight=3, also="metres"),
        _unit("ft", "foot/feet", "ft", 1, 900, step=10, weight=2),
        _unit("cm", "centimeter/centimeters", "cm", 1, 250, step=5, weight=1, also="centimetres"),
        _unit("in", "inch/inches", "in", 1, 80, weight=1),
        _unit("mm", "millimeter/millimeters", "mm", 1, 90, weight=0.5, also="millimetres"),
    ),
    "mps": (
        _unit("kmph", "kilometer per hour/kilometers per hour", "kmh kph km/h", 5, 200, step=10,
              weight=3, also="kilometres per hour"),
        _unit("mph", "mile per hour/miles per hour", "mph", 5, 120, step=5, weight=4,
              also="miles an hour"),
        _unit("mps", "meter per second/meters per second", "m/s", 1, 60, weight=1,
              also="metres per second"),
    ),
    "kg": (
        _unit("kg", "kilogram/kilograms", "kg kgs", 1, 120, step=5, weight=4, also="kilos",
              decimals=1),
        _unit("lb", "pound/pounds", "lb lbs", 1, 250, step=5, weight=4),
        _unit("g", "gram/grams", "g", 5, 900, step=50, weight=2, also="grammes"),
        _unit("oz", "ounce/ounces", "oz", 1, 40, weight=1),
    ),
    "Pa": (
        _unit("Pa", "pascal/pascals", "pa", 500, 2000, step=100),
        _unit("bar", "bar/bar", "", 1, 9, decimals=1, also="bars"),
        _unit("psi", "psi/psi", "", 10, 60, step=5, also="pounds per square inch"),
        _unit("mmHg", "mmhg/mmhg", "", 60, 200, step=10, also="millimeters of mercury"),
        _unit("inHg", "inhg/inhg", "", 27, 31, decimals=1, also="inches of mercury"),
        _unit("atm", "atmosphere/atmospheres", "atm", 1, 9),
    ),
    "C": (
        _unit("C", "degree celsius/degrees celsius", "c", -20, 40, step=5, weight=4,
              also="celsius/degrees c/degrees centigrade"),
        _unit("F", "degree fahrenheit/degrees fahrenheit", "f", 0, 110, step=5, weight=4,
              also="fahrenheit/degrees f"),
        _unit("K", "kelvin/kelvin", "k", 200, 400, step=10, weight=0.3, also="degrees kelvin"),
    ),
    "kcal": (
        _unit("kcal", "calorie/calories", "kcal cal", 50, 2500, step=50, weight=5,
              also="kilocalories"),
        _unit("kJ", "kilojoule/kilojoules", "kj", 100, 9000, step=100),
    ),
    "byte": (
        _unit("MB", "megabyte/megabytes", "mb", 1, 900, step=10, weight=4, also="megs"),
        _unit("GB", "gigabyte/gigabytes", "gb", 1, 256, step=5, weight=4, also="gigs"),
        _unit("KB", "kilobyte/kilobytes", "kb", 10, 900, step=10, weight=2),
        _unit("TB", "terabyte/terabytes", "tb", 1, 20, weight=1),
        _unit("byte", "byte/bytes", "", 10, 5000, step=100, weight=0.3),
        _unit("MiB", "mebibyte/mebibytes", "mib", 1, 900, step=10, weight=0.2),
        _unit("GiB", "gibibyte/gibibytes", "gib", 1, 64, weight=0.2),
        _unit("KiB", "kibibyte/kibibytes", "kib", 10, 900, step=10, weight=0.1),
        _unit("TiB", "tebibyte/tebibytes", "tib", 1, 9, weight=0.1),
    ),
    "bpm": (_unit("bpm", "beat per minute/beats per minute", "bpm", 50, 190, step=5,
                  also="beats a minute"),),
    "dB": (_unit("dB", "decibel/decibels", "db", 20, 110, step=5),),
    "lx": (_unit("lx", "lux/lux", "lx", 50, 2000, step=50),),
    "m2": (_unit("m2", "square meter/square meters", "sqm m2", 10, 300, step=5,
                 also="square metres"),),
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


@lru_cache(maxsize=4096)
def units_of(base: str, parameter: str) -> tuple[Unit, ...]:
    """Return the units that fit a parameter, by its name.

    >>> [unit.name for unit in units_of("m", "@com.google.maps.route:distance")]
    ['km', 'mi', 'm']
    """
    for parts, fitting in _HINTS.get(base, ()):
        if is_named(parameter, parts):
            return tuple(unit for unit in TABLE[base] if unit.name in fitting)
    return TABLE[base]


def measure(rng: Random, unit: str, *, parameter: str = "") -> Written:
    """Return a measure in one of its written forms.

    Args:
        rng: where the choice comes from.
        unit: any unit of the measure, such as that of its type.
        parameter: what it fills; its name tells which units are likely.
    """
    base = UNITS.get(unit, unit)
    share = rng.random()
    fitting = units_of(base, parameter)
    if share < 0.08 and base in _IDIOMS:
        names = {f"unit:{one.name}" for one in fitting}
        idioms = [i for i in _IDIOMS[base] if i[1].rpartition(" ")[2] in names]
        if idioms:
            return written(*idioms[int(rng.random() * len(idioms))])
    if share > 0.9:
        found = _compound(rng, base, {one.name for one in fitting})
        if found is not None:
            return found
    one = _drawn(rng, fitting)
    value = draw_number(rng, one.scale)
    return chosen(rng, tuple(forms(value, one)), f"{plain(value)} unit:{one.name}")


def _drawn(rng: Random, units: tuple[Unit, ...]) -> Unit:
    share = rng.random() * sum(unit.weight for unit in units)
    for unit in units:
        share -= unit.weight
        if share < 0:
            return unit
    return units[-1]


def forms(value: Decimal, unit: Unit) -> Iterator[tuple[str, float]]:
    """Yield how so many of a unit are written, each with its weight.

    >>> [text for text, _ in forms(Decimal(5), TABLE["dB"][0])]
    ['5 decibels', 'five decibels', '5 db', '5db']
    """
    digits = plain(value)
    is_whole = value == value.to_integral_value()
    words = cardinal(int(value)) if is_whole else decimal_words(value)
    name = unit.singular if value == 1 else unit.plural
    yield f"{digits} {name}", 5
    if words.count(" ") < 3:
        yield f"{words} {name}", 3
    if value >= 1000:
        yield f"{grouped(int(value))} {name}", 1
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


def _compound(rng: Random, base: str, names: set[str]) -> Written | None:
    """Return a measure of two units, "6 feet 3 inches"; None if the base or parameter has none."""
    known = [c for c in _COMPOUNDS.get(base, ()) if c[0] in names and _fits(c, names)]
    if not known:
        return None
    large, small, size, (low, high) = known[int(rng.random() * len(known))]
    first = low + int(rng.random() * (high - low + 1))
    second = 1 + int(rng.random() * (size - 1))
    by_name = {unit.name: unit for unit in TABLE[base]}
    one, two = by_name[large], by_name[small]
    value = f"{first} unit:{large} {second} unit:{small}"
    return chosen(rng, tuple(_compound_forms(first, one, second, two)), value)


def _fits(compound: tuple[str, str, int, tuple[int, int]], names: set[str]) -> bool:
    return compound[1] in names or compound[0] == "ft"


def _compound_forms(first: int, one: Unit, second: int, two: Unit) -> Iterator[tuple[str, float]]:
    left = one.singular if first == 1 else one.plural
    right = two.singular if second == 1 else two.plural
    yield f"{first} {left} {second} {right}", 3
    yield f"{first} {left} and {second} {right}", 3
    yield f"{cardinal(first)} {left} {cardinal(second)} {right}", 2
    if one.short and two.short:
        yield f"{first} {one.short[0]} {second} {two.short[0]}", 2
        yield f"{first}{one.short[0]} {second}{two.short[0]}", 1
    if one.name == "ft":
        yield f"{first} foot {second}", 1
        yield f"{cardinal(first)} foot {cardinal(second)}", 1
