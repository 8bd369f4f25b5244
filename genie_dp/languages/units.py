"""Units of measure: their factors to base units, and their names and signs.

SHIPPED are those of `units.tsv`, which every library knows, with their English words; `unit`
declarations of skills add to them, for that library alone (`Library.units`).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal

from genie_dp.locale import DEFAULT, phrases_by_name, words_of
from genie_dp.resources import data_folder
from genie_dp.texts import read_text


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit.

    Attributes:
        name: as programs have it.
        base: the unit of the same dimension that is the base; a base unit is its own.
        factor: how many of the base one of it is.
        zero: the value of the base unit at zero of it.
        words: its names: singular, plural, and other plurals.
        signs: how it is written after digits, in lower case.
        low, high: how many of it people name.
        is_classic: whether ThingTalk 1.x has it.
        spellings: further words and signs, which are understood and never written.
        step: most numbers that people name are multiples of it.
        weight: how often it is used among the units of its base.
        decimals: digits behind the point that some numbers have.
        family: of units that people name of one thing, "" where it is alone.
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
    spellings: tuple[str, ...] = ()
    step: int = 1
    weight: float = 1.0
    decimals: int = 0
    family: str = ""

    @property
    def singular(self) -> str:
        """Return its name in the singular."""
        return self.words[0]

    @property
    def plural(self) -> str:
        """Return its name in the plural."""
        return self.words[min(1, len(self.words) - 1)]


@dataclass(frozen=True)
class Units:
    """The units that programs of a library may have.

    Attributes:
        by_name: name -> the unit, in the order in which they are listed.
        dimensions: dimension, such as "mass" -> its base unit.
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
        """Return whether two units measure the same thing.

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
        units = {
            name: unit
            for name, unit in self.by_name.items()
            if unit.is_classic or unit.base in bases or name in named
        }
        return replace(self, by_name=units)

    def for_sentences(self, measured: Collection[str]) -> "Units":
        """Return the units that are looked for in sentences of a library.

        "2 cups" are a volume to an assistant that measures volumes, else two things. Lengths, times
        and other units of commands to assistants of every sort are read always.

        Args:
            measured: the bases of the units of the library.
        """
        read = ALWAYS_READ | set(measured)
        if "deg" in measured and "C" not in measured:
            read -= {"C"}  # "20 degrees" can be no temperature
        units = {name: unit for name, unit in self.by_name.items() if unit.base in read}
        return replace(self, by_name=units)


# How units are written, too.
UNIT_ALIASES: dict[str, str] = {"month": "mon", "hour": "h", "minute": "min", "second": "s"}
# unit -> the other name of the same unit that canonical form writes.
UNIT_SYNONYMS = {"bytes": "byte"}

# The bases whose units are read in the sentences of every library.
ALWAYS_READ = frozenset(
    ("ms", "m", "mps", "kg", "Pa", "C", "kcal", "byte", "bpm", "dB", "lx", "m2")
)


def _read_shipped() -> Units:
    """Return the units of `units.tsv`, with their English words."""
    english = words_of(DEFAULT)
    names = [
        phrases_by_name(lines)
        for lines in (english.units, english.unit_signs, english.unit_spellings)
    ]
    by_name: dict[str, Unit] = {}
    dimensions: dict[str, str] = {}
    for line in read_text(data_folder("languages") / "units.tsv").splitlines():
        if line.startswith("#"):
            continue
        name, dimension, factor, zero, version, low, high, step, weight, decimals, family = (
            line.split("\t")
        )
        words, signs, spellings = (table.get(name, ()) for table in names)
        by_name[name] = Unit(
            name,
            dimensions.setdefault(dimension, name),
            _decimal(factor),
            _decimal(zero),
            (*words[1:2], *words[:1], *words[2:]),
            signs,
            int(low),
            int(high),
            is_classic=version == "1.x",
            spellings=spellings,
            step=int(step),
            weight=float(weight),
            decimals=int(decimals),
            family=family.strip("-"),
        )
    return Units(by_name, dimensions)


def _decimal(text: str) -> Decimal:
    """Return a number that may be a fraction, "5/9"."""
    above, _, below = text.partition("/")
    return Decimal(above) / Decimal(below) if below else Decimal(above)


SHIPPED = _read_shipped()
# Word or sign -> the unit that it names; of several the first.
UNIT_NAMES = {
    name: unit.name
    for unit in reversed(tuple(SHIPPED.by_name.values()))
    for name in (*unit.words, *unit.signs, *unit.spellings)
}

# Those that are looked for where no library says what it measures.
COMMON = SHIPPED.for_sentences(())
