"""Units of measure: what each is of its base unit, and how people name and write it.

SHIPPED are those that every library knows; `unit` declarations of skills add to them, for that
library alone (`Library.units`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit.

    Attributes:
        name: as programs have it.
        base: the unit that stands for what is measured; a base unit is its own.
        factor: how many of the base one of it is.
        zero: what stands at zero of it, in the base unit.
        words: what people call it: one, several, and other words for several.
        signs: how it is written after digits, in lower case.
        low, high: how many of it people name.
        is_classic: whether ThingTalk 1.x has it.
    """

    name: str
    base: str
    factor: Decimal = Decimal(1)
    zero: Decimal = Decimal(0)
    words: tuple[str, ...] = ()
    signs: tuple[str, ...] = ()
    low: int = 1
    high: int = 100
    is_classic: bool = False

    @property
    def singular(self) -> str:
        """Return what one of it is called."""
        return self.words[0]

    @property
    def plural(self) -> str:
        """Return what several of it are called."""
        return self.words[min(1, len(self.words) - 1)]


@dataclass(frozen=True)
class Units:
    """The units that programs of a library may have.

    Attributes:
        by_name: name -> the unit, in the order in which they are listed.
        dimensions: what is measured, such as "mass" -> its base unit.
    """

    by_name: Mapping[str, Unit]
    dimensions: Mapping[str, str]
    # Units are keys of caches, asked for each value that is read.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash(tuple(self.by_name)))

    def __hash__(self) -> int:
        return self._hash

    def __contains__(self, name: object) -> bool:
        return name in self.by_name

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_name)

    def base(self, name: str) -> str:
        """Return the base of a unit; an unknown one is its own.

        >>> SHIPPED.base("km"), SHIPPED.base("parsec")
        ('m', 'parsec')
        """
        unit = self.by_name.get(name)
        return name if unit is None else unit.base

    def is_same_base(self, name: str, other: str) -> bool:
        """Tell whether two units measure the same thing.

        >>> SHIPPED.is_same_base("ft", "km"), SHIPPED.is_same_base("ft", "kg")
        (True, False)
        """
        return self.base(name) == self.base(other)

    def of_base(self, base: str) -> tuple[Unit, ...]:
        """Return the units of a base."""
        return tuple(unit for unit in self.by_name.values() if unit.base == base)

    def bases(self) -> tuple[str, ...]:
        """Return every base unit, sorted."""
        return tuple(sorted({unit.base for unit in self.by_name.values()}))

    def factor(self, name: str) -> Decimal:
        """Return how many of its base a unit is; an unknown one is its own."""
        unit = self.by_name.get(name)
        return Decimal(1) if unit is None else unit.factor

    def amount(self, parts: Iterable[tuple[Decimal, str]]) -> Decimal:
        """Return a sum of amounts in the base unit; the zero of the first one counts.

        >>> SHIPPED.amount([(Decimal(6), "ft"), (Decimal(3), "in")])
        Decimal('1.9050')
        """
        amounts = list(parts)
        first = self.by_name.get(amounts[0][1])
        zero = Decimal(0) if first is None else first.zero
        return zero + sum(number * self.factor(name) for number, name in amounts)

    def with_units(self, units: Iterable[Unit], dimensions: Mapping[str, str]) -> "Units":
        """Return these and further ones."""
        own = {unit.name: unit for unit in units}
        return replace(
            self,
            by_name={**self.by_name, **own},
            dimensions={**self.dimensions, **dimensions},
        )

    def for_programs(self, declared: Collection[str], named: Collection[str] = ()) -> "Units":
        """Return the units that a model may write in programs of a library.

        Those of ThingTalk 1.x are always there. A parser that knew no others goes on without the
        rest until a skill declares something in one of them.

        Args:
            declared: the units in which the library's parameters are declared.
            named: units that its programs have besides.
        """
        bases = {
            unit.base
            for name in declared
            if (unit := self.by_name.get(name)) is not None and not unit.is_classic
        }
        kept = {
            name: unit
            for name, unit in self.by_name.items()
            if unit.is_classic or unit.base in bases or name in named
        }
        return replace(self, by_name=kept)

    def for_sentences(self, measured: Collection[str]) -> "Units":
        """Return the units that are looked for in sentences of a library.

        "2 cups" are a volume to an assistant that measures volumes, else two things. Lengths, times
        and other things that assistants of every sort are told are read always.

        Args:
            measured: the bases of what the library measures.
        """
        read = ALWAYS_READ | set(measured)
        if "deg" in measured and "C" not in measured:
            read -= {"C"}  # "20 degrees" can be no temperature
        kept = {name: unit for name, unit in self.by_name.items() if unit.base in read}
        return replace(self, by_name=kept)


# How units are written, too.
UNIT_ALIASES: dict[str, str] = {"month": "mon", "hour": "h", "minute": "min", "second": "s"}
# unit -> the other name of the same unit that canonical form writes.
UNIT_SYNONYMS = {"bytes": "byte"}

# What is measured -> its base unit.
_DIMENSIONS = {
    "time": "ms", "length": "m", "speed": "mps", "mass": "kg", "pressure": "Pa",
    "temperature": "C", "energy": "kcal", "data": "byte", "frequency": "bpm", "loudness": "dB",
    "illuminance": "lx", "area": "m2", "volume": "l", "power": "W", "voltage": "V",
    "current": "A", "charge": "Ah", "data_rate": "bps", "angle": "deg", "brightness": "lm",
    "rotation": "rpm",
}  # fmt: skip
# The bases whose units are read in the sentences of every library.
ALWAYS_READ = frozenset(
    ("ms", "m", "mps", "kg", "Pa", "C", "kcal", "byte", "bpm", "dB", "lx", "m2")
)

_DAY = Decimal(86_400_000)
_CALORIE = Decimal("4.184")  # kJ in a kcal
_LITER = Decimal("3.785411784")  # in a US gallon


def _row(
    base: str, name: str, factor: Decimal | int | str, words: str = "", signs: str = "",
    *, also: str = "", zero: Decimal | str = "0",
) -> Unit:  # fmt: skip
    others = f"/{also}" if also else ""
    names = tuple(part for part in f"{words}{others}".split("/") if part)
    return Unit(name, base, Decimal(factor), Decimal(zero), names, tuple(signs.split()))


# The units of ThingTalk 1.x, month and year as there; base units come first. The words have one
# meaning each.
_CLASSIC = (
    _row("ms", "ms", 1, "millisecond/milliseconds", "ms"),
    _row("ms", "s", 1000, "second/seconds", "sec secs s", also="secs"),
    _row("ms", "min", 60_000, "minute/minutes", "min mins", also="mins"),
    _row("ms", "h", 3_600_000, "hour/hours", "h hr hrs"),
    _row("ms", "day", _DAY, "day/days"),
    _row("ms", "week", 7 * _DAY, "week/weeks", "wks"),
    _row("ms", "mon", 30 * _DAY, "month/months"),
    _row("ms", "year", 365 * _DAY, "year/years", "yrs"),
    _row("m", "m", 1, "meter/meters", "m", also="metres"),
    _row("m", "km", 1000, "kilometer/kilometers", "km kms", also="kilometres/klicks"),
    _row("m", "mm", "0.001", "millimeter/millimeters", "mm", also="millimetres"),
    _row("m", "cm", "0.01", "centimeter/centimeters", "cm", also="centimetres"),
    _row("m", "mi", "1609.344", "mile/miles", "mi"),
    _row("m", "in", "0.0254", "inch/inches", "in"),
    _row("m", "ft", "0.3048", "foot/feet", "ft"),
    _row("mps", "mps", 1, "meter per second/meters per second", "m/s", also="metres per second"),
    _row("mps", "kmph", Decimal(1000) / Decimal(3600), "kilometer per hour/kilometers per hour",
         "kmh kph km/h", also="kilometres per hour"),
    _row("mps", "mph", "0.44704", "mile per hour/miles per hour", "mph", also="miles an hour"),
    _row("kg", "kg", 1, "kilogram/kilograms", "kg kgs", also="kilos"),
    _row("kg", "g", "0.001", "gram/grams", "g", also="grammes"),
    _row("kg", "lb", "0.45359237", "pound/pounds", "lb lbs"),
    _row("kg", "oz", "0.028349523125", "ounce/ounces", "oz"),
    _row("Pa", "Pa", 1, "pascal/pascals", "pa"),
    _row("Pa", "bar", 100_000, "bar/bar", also="bars"),
    _row("Pa", "psi", "6894.757293168", "psi/psi", also="pounds per square inch"),
    _row("Pa", "mmHg", "133.322387415", "mmhg/mmhg", also="millimeters of mercury"),
    _row("Pa", "inHg", "3386.389", "inhg/inhg", also="inches of mercury"),
    _row("Pa", "atm", 101_325, "atmosphere/atmospheres", "atm"),
    _row("C", "C", 1, "degree celsius/degrees celsius", "c",
         also="celsius/degrees c/degrees centigrade"),
    _row("C", "F", Decimal(5) / Decimal(9), "degree fahrenheit/degrees fahrenheit", "f",
         also="fahrenheit/degrees f", zero=Decimal(-160) / Decimal(9)),
    _row("C", "K", 1, "kelvin/kelvin", "k", also="degrees kelvin", zero="-273.15"),
    _row("kcal", "kcal", 1, "calorie/calories", "kcal cal", also="kilocalories"),
    _row("kcal", "kJ", 1 / _CALORIE, "kilojoule/kilojoules", "kj"),
    _row("byte", "byte", 1, "byte/bytes"),
    _row("byte", "bytes", 1),
    _row("byte", "KB", 1000, "kilobyte/kilobytes", "kb"),
    _row("byte", "KiB", 1024, "kibibyte/kibibytes", "kib"),
    _row("byte", "MB", 1000**2, "megabyte/megabytes", "mb", also="megs"),
    _row("byte", "MiB", 1024**2, "mebibyte/mebibytes", "mib"),
    _row("byte", "GB", 1000**3, "gigabyte/gigabytes", "gb", also="gigs"),
    _row("byte", "GiB", 1024**3, "gibibyte/gibibytes", "gib"),
    _row("byte", "TB", 1000**4, "terabyte/terabytes", "tb"),
    _row("byte", "TiB", 1024**4, "tebibyte/tebibytes", "tib"),
    _row("bpm", "bpm", 1, "beat per minute/beats per minute", "bpm", also="beats a minute"),
    _row("dB", "dB", 1, "decibel/decibels", "db"),
    _row("lx", "lx", 1, "lux/lux", "lx"),
    _row("m2", "m2", 1, "square meter/square meters", "sqm m2", also="square metres"),
)  # fmt: skip
# Cups, pints and the like are those of the USA.
_FURTHER = (
    _row("m", "yd", "0.9144", "yard/yards", "yd yds"),
    _row("m", "nmi", 1852, "nautical mile/nautical miles", "nmi"),
    _row("mps", "kn", Decimal(1852) / Decimal(3600), "knot/knots", "kn kts"),
    _row("kg", "mg", "0.000001", "milligram/milligrams", "mg mgs", also="milligrammes"),
    _row("kg", "ug", "0.000000001", "microgram/micrograms", "ug mcg", also="microgrammes"),
    _row("kg", "t", 1000, "tonne/tonnes", also="metric tons"),
    _row("kg", "st", "6.35029318", "stone/stone"),
    _row("Pa", "hPa", 100, "hectopascal/hectopascals", "hpa mbar", also="millibars"),
    _row("Pa", "kPa", 1000, "kilopascal/kilopascals", "kpa"),
    _row("kcal", "J", Decimal("0.001") / _CALORIE, "joule/joules", "j"),
    _row("kcal", "MJ", 1000 / _CALORIE, "megajoule/megajoules", "mj"),
    _row("kcal", "Wh", Decimal("3.6") / _CALORIE, "watt hour/watt hours", "wh"),
    _row("kcal", "kWh", 3600 / _CALORIE, "kilowatt hour/kilowatt hours", "kwh"),
    _row("kcal", "MWh", 3_600_000 / _CALORIE, "megawatt hour/megawatt hours", "mwh"),
    _row("byte", "PB", 1000**5, "petabyte/petabytes", "pb"),
    _row("bpm", "Hz", 60, "hertz/hertz", "hz"),
    _row("bpm", "kHz", 60 * 1000, "kilohertz/kilohertz", "khz"),
    _row("bpm", "MHz", 60 * 1000**2, "megahertz/megahertz", "mhz"),
    _row("bpm", "GHz", 60 * 1000**3, "gigahertz/gigahertz", "ghz"),
    _row("m2", "cm2", "0.0001", "square centimeter/square centimeters", "cm2",
         also="square centimetres"),
    _row("m2", "km2", 1000**2, "square kilometer/square kilometers", "km2",
         also="square kilometres"),
    _row("m2", "ha", 10_000, "hectare/hectares", "ha"),
    _row("m2", "ft2", "0.09290304", "square foot/square feet", "sqft ft2"),
    _row("m2", "acre", "4046.8564224", "acre/acres"),
    _row("l", "l", 1, "liter/liters", "l", also="litres"),
    _row("l", "ml", "0.001", "milliliter/milliliters", "ml mls", also="millilitres"),
    _row("l", "cl", "0.01", "centiliter/centiliters", "cl", also="centilitres"),
    _row("l", "dl", "0.1", "deciliter/deciliters", "dl", also="decilitres"),
    _row("l", "m3", 1000, "cubic meter/cubic meters", "m3", also="cubic metres"),
    _row("l", "tsp", _LITER / 768, "teaspoon/teaspoons", "tsp"),
    _row("l", "tbsp", _LITER / 256, "tablespoon/tablespoons", "tbsp"),
    _row("l", "floz", _LITER / 128, "fluid ounce/fluid ounces"),
    _row("l", "cup", _LITER / 16, "cup/cups"),
    _row("l", "pt", _LITER / 8, "pint/pints"),
    _row("l", "qt", _LITER / 4, "quart/quarts"),
    _row("l", "gal", _LITER, "gallon/gallons", "gal"),
    _row("W", "W", 1, "watt/watts", "w"),
    _row("W", "mW", "0.001", "milliwatt/milliwatts", "mw"),
    _row("W", "kW", 1000, "kilowatt/kilowatts", "kw"),
    _row("W", "MW", 1000**2, "megawatt/megawatts"),
    _row("W", "hp", "745.69987158227022", "horsepower/horsepower", "hp"),
    _row("V", "V", 1, "volt/volts", "v"),
    _row("V", "mV", "0.001", "millivolt/millivolts", "mv"),
    _row("V", "kV", 1000, "kilovolt/kilovolts", "kv"),
    _row("A", "A", 1, "amp/amps", also="amperes"),
    _row("A", "mA", "0.001", "milliamp/milliamps", "ma", also="milliamperes"),
    _row("Ah", "Ah", 1, "amp hour/amp hours", "ah", also="ampere hours"),
    _row("Ah", "mAh", "0.001", "milliamp hour/milliamp hours", "mah", also="milliampere hours"),
    _row("bps", "bps", 1, "bit per second/bits per second", "bps"),
    _row("bps", "kbps", 1000, "kilobit per second/kilobits per second", "kbps"),
    _row("bps", "Mbps", 1000**2, "megabit per second/megabits per second", "mbps"),
    _row("bps", "Gbps", 1000**3, "gigabit per second/gigabits per second", "gbps"),
    _row("bps", "KBps", 8 * 1000, "kilobyte per second/kilobytes per second", "kb/s"),
    _row("bps", "MBps", 8 * 1000**2, "megabyte per second/megabytes per second", "mb/s"),
    _row("deg", "deg", 1, "degree/degrees", "deg"),
    _row("deg", "rad", Decimal("57.295779513082320877"), "radian/radians", "rad"),
    _row("lm", "lm", 1, "lumen/lumens", "lm"),
    _row("rpm", "rpm", 1, "revolution per minute/revolutions per minute", "rpm"),
)  # fmt: skip

SHIPPED = Units(
    {
        **{unit.name: replace(unit, is_classic=True) for unit in _CLASSIC},
        **{unit.name: unit for unit in _FURTHER},
    },
    _DIMENSIONS,
)

# Those that are looked for where no library says what it measures.
COMMON = SHIPPED.for_sentences(())
