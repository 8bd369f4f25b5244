"""Example values for placeholders, from a file of constants, the skills' lists and short tables."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from random import Random

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.library import Parameter
from genie_dp.languages.types import STRING, Array, Entity, Type, slot_type, unit_of
from genie_dp.languages.units import SHIPPED, UNIT_NAMES
from genie_dp.paraphrase.shown import (
    PLACEHOLDER,
    ShownRow,
    placeholders,
    same_words,
    show,
    utterance_of,
)
from genie_dp.paraphrase.typed import words_of
from genie_dp.records import Example
from genie_dp.rng import stream
from genie_dp.skills.model import SkillLibrary
from genie_dp.values.calendar import MONTHS

_DAYS = ((4,), (12, 23), (8,), (16,), (3, 21), (11,), (7, 29), (14,), (2, 19), (24,), (6,), (18,))
# For where neither a file nor a skill gives any: written as people write them, and easy to tell
# from each other and from other words.
TABLE: Mapping[str, tuple[str, ...]] = {
    "NUMBER": tuple(map(str, (2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 18, 20, 25, 30, 40, 50))),
    "CURRENCY": tuple(f"${n}" for n in (5, 8, 10, 12, 15, 20, 25, 30, 40, 45, 60, 80, 90, 120)),
    "DATE": tuple(
        f"{month} {day}" for month, days in zip(MONTHS, _DAYS, strict=True) for day in days
    ),
    "TIME": (
        "6:30 am", "7:15 am", "8:00 am", "8:45 am", "9:30 am", "10:20 am", "11:40 am", "1:10 pm",
        "2:30 pm", "3:50 pm", "4:15 pm", "5:00 pm", "6:20 pm", "7:30 pm", "8:10 pm", "9:45 pm",
    ),
    "DURATION": (
        "10 minutes", "15 minutes", "20 minutes", "25 minutes", "30 minutes", "40 minutes",
        "45 minutes", "2 hours", "3 hours", "4 hours",
    ),
    "LOCATION": (
        "palo alto", "seattle", "boston", "chicago", "new york", "london", "paris", "rome",
        "berlin", "tokyo", "sydney", "toronto", "denver", "austin", "madrid", "vienna",
    ),
    "MEASURE_byte": ("5 mb", "10 mb", "20 mb", "50 mb", "100 mb", "500 mb", "2 gb", "4 gb"),
    "MEASURE_C": tuple(f"{n} degrees celsius" for n in (5, 8, 12, 15, 18, 20, 22, 25, 28, 30)),
    "MEASURE_m": ("100 meters", "400 meters", "2 km", "5 km", "8 km", "20 km"),
    "MEASURE_m2": tuple(f"{n} square meters" for n in (20, 40, 60, 80, 120, 200)),
    "MEASURE_mps": tuple(f"{n} meters per second" for n in (3, 5, 8, 10, 15, 20)),
    "MEASURE_kg": tuple(f"{n} kg" for n in (2, 5, 10, 50, 60, 70, 80, 90)),
    "MEASURE_kcal": tuple(f"{n} calories" for n in (100, 150, 200, 300, 400, 500, 700, 900)),
    "MEASURE_bpm": tuple(f"{n} bpm" for n in (60, 70, 80, 90, 110, 120, 140, 150)),
    "MEASURE_dB": tuple(f"{n} decibels" for n in (40, 50, 60, 70, 80, 90)),
    "QUOTED_STRING": (
        "good morning", "blue sky", "happy birthday", "long walk", "green tea", "summer plans",
        "old friends", "paper boats", "winter coat", "river bank", "funny cats", "city lights",
    ),
    "USERNAME": ("alice", "bob", "carol", "dave", "emma", "frank", "grace", "henry"),
    "HASHTAG": ("sunset", "foodie", "travel", "throwback", "monday", "sports", "garden", "music"),
    "URL": (
        "www.example.com", "www.example.org", "www.example.net/news", "www.example.com/blog",
        "www.example.org/photos", "www.example.net/shop", "www.example.com/help",
        "www.example.org/events",
    ),
    "EMAIL_ADDRESS": (
        "alice@example.com", "bob@example.org", "carol@example.net", "dave@example.com",
        "emma@example.org", "frank@example.net", "grace@example.com", "henry@example.org",
    ),
    "PHONE_NUMBER": tuple(f"+155501{n:05d}" for n in range(1200, 3120, 240)),
    "PATH_NAME": (
        "report.pdf", "notes.txt", "photo.jpg", "slides.pptx", "songs.zip", "letter.docx",
        "budget.xlsx", "plan.md",
    ),
}  # fmt: skip


_HINT = "a line is key, value and, if it is shown otherwise, display, with tabs between"


def read_constants(text: str, *, file: str) -> dict[str, tuple[str, ...]]:
    r"""Return key -> values as people see them, in the order of the file.

    A key is `param:@skill.function:name:Type`, `param:@skill.*:name:Type`, `param:name:Type` or
    `Type`; a key may stand on several lines. Lines that begin with # and empty ones do not count.

    Raises:
        GenieError: P002, all lines that cannot be read.

    >>> read_constants("Number\t7\nEntity(tt:iso_lang_code)\tzh\tchinese\n", file="constants.tsv")
    {'Number': ('7',), 'Entity(tt:iso_lang_code)': ('chinese',)}
    """
    values_by_key: dict[str, list[str]] = {}
    problems = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = [cell.strip() for cell in line.rstrip("\r").split("\t")]
        span = Span(file, number, 1, number, len(line) + 1)
        problem = _problem(cells)
        if problem:
            problems.append(Problem("P002", problem, span, _HINT))
            continue
        value = cells[2] if len(cells) > 2 and cells[2] else cells[1]
        listed = values_by_key.setdefault(cells[0], [])
        if value not in listed:
            listed.append(value)
    if problems:
        raise GenieError(problems, sources={file: text})
    return {key: tuple(values) for key, values in values_by_key.items()}


def _problem(cells: list[str]) -> str:
    if not 2 <= len(cells) <= 3:
        return f"expected 2 or 3 columns, got {len(cells)}"
    if not cells[0] or not cells[1]:
        return "expected a key and a value, got an empty one"
    if cells[0].startswith("param:") and cells[0].count(":") < 2:
        return f"expected param:name:Type, got {cells[0]!r}"
    return ""


# The hours of which people say so; at the edges more than one does.
_HOURS: Mapping[str, frozenset[int]] = {
    "morning": frozenset(range(4, 12)),
    "afternoon": frozenset(range(12, 18)),
    "evening": frozenset(range(17, 23)),
    "night": frozenset((*range(19, 24), *range(4))),
    "tonight": frozenset(range(17, 24)),
}
_HALF_DAYS = re.compile(r"(\d{1,2})(?::\d\d)? ?(am|pm)")
_NEAR = 3  # words: "TIME_0 every single morning"


def part_of_day(tokens: Sequence[str], at: int) -> str:
    """Return the part of the day named before or behind a time, or "".

    >>> part_of_day("every morning at TIME_0 , show my night lights".split(), 3)
    'morning'
    >>> part_of_day("at TIME_0 every single night".split(), 1), part_of_day(["at", "TIME_0"], 1)
    ('night', '')
    """
    before = tokens[max(at - _NEAR, 0) : at][::-1]
    for side in (before, tokens[at + 1 : at + 1 + _NEAR]):
        for token in side:
            if token in _HOURS:
                return token
            if token == ",":
                break
    return ""


def is_then(part: str, hour: int) -> bool:
    """Return whether an hour, of 24, belongs to a part of the day; every one belongs to "".

    >>> is_then("morning", 8), is_then("night", 14), is_then("", 14)
    (True, False, True)
    """
    return not part or hour in _HOURS[part]


def hour_of(text: str) -> int | None:
    """Return the hour, of 24, of a time with its half of the day; None for other texts.

    >>> hour_of("2:30 pm"), hour_of("12 am"), hour_of("8:30")
    (14, 0, None)
    """
    match = _HALF_DAYS.fullmatch(text.strip().lower())
    return int(match[1]) % 12 + 12 * (match[2] == "pm") if match else None


_NUMBER = re.compile(r"([$€£¥]?)(-?\d+(?:\.\d+)?)(?: ?(.*))?")
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?: ?(am|pm))?")
_DATE = re.compile(rf"({'|'.join(MONTHS)}) (\d{{1,2}})(?:,? (\d{{4}}))?")


def quantity(text: str) -> float | None:
    """Return a number by which values of one sort can be compared; None for other values.

    >>> quantity("2 hours") > quantity("90 minutes"), quantity("8:30 am") < quantity("1:00 pm")
    (True, True)
    >>> quantity("may 5") < quantity("november 1"), quantity("hello") is None
    (True, True)
    """
    plain = text.strip().lower().replace(",", "")
    if (match := _TIME.fullmatch(plain)) is not None:
        hour = int(match[1]) % 12 + 12 * (match[3] == "pm") if match[3] else int(match[1])
        return hour * 60.0 + int(match[2])
    if (match := _DATE.fullmatch(plain)) is not None:
        year = int(match[3]) if match[3] else 0
        return year * 372.0 + MONTHS.index(match[1]) * 31 + int(match[2])
    if (match := _NUMBER.fullmatch(plain)) is not None:
        return float(match[2]) * float(SHIPPED.factor(UNIT_NAMES.get(match[3] or "", "")))
    return None


_PARAMETER = re.compile(r"param:(\w+):")
_LOW = frozenset({"low", "min", "minimum", "from", "start", "after", "lower", "begin", "least"})
_HIGH = frozenset({"high", "max", "maximum", "to", "end", "before", "upper", "until", "most"})


@dataclass(frozen=True, slots=True)
class _Bound:
    """A comparison with a placeholder; `name` is its parameter, `clause` counts the conjuncts."""

    name: str
    token: str
    is_lower: bool
    clause: int

    @property
    def stem(self) -> str:
        """Return the placeholder without its number."""
        return self.token.rpartition("_")[0]


def orders(program: str) -> frozenset[tuple[str, str]]:
    """Return pairs (smaller, greater) of placeholders of a program in token form.

    A lower bound is smaller than an upper bound of the same parameter; if one of the two is enough
    (`or`), it is the greater one, so that not everything fits. Inputs named low and high, from and
    to and the like are bounds, too.

    >>> sorted(orders("filter param:a:Number > NUMBER_1 and param:a:Number < NUMBER_0"))
    [('NUMBER_1', 'NUMBER_0')]
    >>> sorted(orders("filter param:a:Number > NUMBER_0 or param:a:Number < NUMBER_1"))
    [('NUMBER_1', 'NUMBER_0')]
    """
    pairs = set()
    for left, right in combinations(_bounds(program.split(" ")), 2):
        if left.name != right.name or left.is_lower == right.is_lower:
            continue
        if left.stem != right.stem or left.token == right.token:
            continue
        lower, upper = (left, right) if left.is_lower else (right, left)
        pair = (lower.token, upper.token)
        pairs.add(pair if left.clause != right.clause else pair[::-1])
    return frozenset(pairs)


def _bounds(tokens: list[str]) -> Iterator[_Bound]:
    clause, call = 0, ""
    for i in range(1, len(tokens) - 1):
        if tokens[i].startswith("@"):
            call = f"call {i}"
        name = _PARAMETER.match(tokens[i - 1])
        if tokens[i] in ("and", "=>", "filter"):
            clause += 1
        elif name is not None and PLACEHOLDER.fullmatch(tokens[i + 1]):
            token = tokens[i + 1]
            if tokens[i] in (">", ">=", "<", "<="):
                is_negated = i > 1 and tokens[i - 2] == "not"
                yield _Bound(name[1], token, (tokens[i][0] == ">") != is_negated, clause)
            elif tokens[i] == "=" and (side := _side(name[1])) is not None:
                # Arguments of one call all hold, as conjuncts do.
                yield _Bound(call, token, side, -i)


def _side(name: str) -> bool | None:
    words = set(name.lower().split("_"))
    if words & _LOW:
        return True
    return False if words & _HIGH else None


TRIES = 200  # drawings before a row is left out: lists of a handful may not do for long sentences

# Entities that are titles stand in quotes, for they may be any words.
_TITLES = frozenset(
    {
        "album", "article", "blog", "book", "email", "episode", "event", "issue", "job", "movie",
        "playlist", "podcast", "post", "song", "task", "text", "tweet", "video",
    }
)  # fmt: skip


@dataclass(slots=True)
class ExampleValues:
    """Gives each row example values: none twice in a sentence, numbers in order.

    Attributes:
        constants: key -> values as shown, from `constants.tsv`; see `constants.read_constants`.
        library: the skills, whose lists give the values that no constant gives.
        seed: of the draws; a row gets the same values wherever it stands.
    """

    constants: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    library: SkillLibrary | None = None
    seed: int = 0
    _pools: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)

    def show(self, row: Example) -> ShownRow | None:
        """Return a row with example values; None if no draw can be read back from the sentence."""
        tokens = placeholders(row.utterance)
        pools = {token: self.pool(row, token) for token in tokens}
        if not all(pools.values()):
            return None
        rng = stream(self.seed, "paraphrase", "values", row.utterance, row.program)
        smaller = _orders(row, tokens)
        for _ in range(TRIES):
            values = _draw_values(rng, pools)
            if values is None:
                return None
            shown_row = show(row, _swap_into_order(values, pools, smaller))
            if (
                _is_in_order(shown_row, smaller)
                and _is_of_its_day(shown_row)
                and _is_readable(shown_row)
            ):
                return shown_row
        return None

    def pool(self, row: Example, token: str) -> tuple[str, ...]:
        """Return the values that a placeholder may be shown as; empty if nothing gives any."""
        slot = row.slots.get(token)
        parameter = slot.parameter if slot else ""
        stem = token.rpartition("_")[0]
        if (stem, parameter) not in self._pools:
            type_ = slot.type if slot else str(slot_type(token) or "")
            self._pools[stem, parameter] = self._find(stem, type_, parameter)
        return self._pools[stem, parameter]

    def _find(self, stem: str, type_: str, parameter: str) -> tuple[str, ...]:
        for key in keys(parameter, type_):
            if key in self.constants:
                return self.constants[key]
        listed = tuple(dict.fromkeys(self._values_of_lists(stem, parameter)))
        if stem.startswith("GENERIC_ENTITY") and stem.rpartition(":")[2] in _TITLES:
            return tuple(f'"{value}"' for value in listed)
        return listed or self._amounts(stem, parameter) or TABLE.get(stem, ())

    def _amounts(self, stem: str, parameter: str) -> tuple[str, ...]:
        """Return amounts in a unit beyond those of ThingTalk 1.x; none in the others."""
        units = SHIPPED if self.library is None else self.library.units
        declared = self._parameter(parameter)
        name = unit_of(declared.type) if declared is not None else None
        unit = units.by_name.get(name or stem.removeprefix("MEASURE_"))
        if not stem.startswith("MEASURE_") or unit is None or unit.is_classic:
            return ()
        return tuple(f"{number} {unit.plural}" for number in (2, 5, 10, 20, 50))

    def _parameter(self, parameter: str) -> Parameter | None:
        function, _, name = parameter.rpartition(":")
        skill_function = self.library.find(function) if self.library and function else None
        return skill_function.signature.parameter(name) if skill_function else None

    def _values_of_lists(self, stem: str, parameter: str) -> Iterator[str]:
        if self.library is None:
            return
        for name in (*self._tag(parameter), *self._kinds(slot_type(f"{stem}_0"))):
            yield from self.library.values(name)

    def _tag(self, parameter: str) -> Iterator[str]:
        declared = self._parameter(parameter)
        if declared is not None and declared.value_list and _is_text(declared.type):
            yield declared.value_list

    def _kinds(self, type_: Type | None) -> Iterator[str]:
        """Yield an entity type and those that it is a kind of."""
        if self.library is None or not isinstance(type_, Entity):
            return
        waiting = [type_.kind]
        while waiting:
            kind = waiting.pop(0)
            yield kind
            entity_type = self.library.entity_types.get(kind)
            waiting.extend(entity_type.parents if entity_type else ())


def keys(parameter: str, type_: str) -> tuple[str, ...]:
    """Return the keys under which constants for a parameter are looked up, the narrowest first.

    >>> keys("@com.gmail.inbox:subject", "String")
    ('param:@com.gmail.inbox:subject:String', 'param:@com.gmail.*:subject:String',
     'param:subject:String', 'String')
    """
    function, _, name = parameter.rpartition(":")
    if not function:
        return (type_,)
    skill = function.rpartition(".")[0]
    return (
        f"param:{function}:{name}:{type_}",
        f"param:{skill}.*:{name}:{type_}",
        f"param:{name}:{type_}",
        type_,
    )


def _is_text(type_: Type) -> bool:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_ == STRING or isinstance(type_, Entity)


def _orders(row: Example, tokens: Sequence[str]) -> frozenset[tuple[str, str]]:
    """Return the pairs of placeholders whose values must rise.

    Without a range, values of one parameter rise from left to right: "a, b or c" reads best so.
    """
    shared_pairs = {pair for pair in orders(row.program) if set(pair) <= set(tokens)}
    bound = {token for pair in shared_pairs for token in pair}
    for left, right in zip(tokens, tokens[1:], strict=False):
        if left.rpartition("_")[0] == right.rpartition("_")[0] and not bound & {left, right}:
            ours, theirs = row.slots.get(left), row.slots.get(right)
            if ours == theirs:
                shared_pairs.add((left, right))
    return frozenset(shared_pairs)


def _draw_values(rng: Random, pools: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Draw a value for each placeholder, from one pool never the same; None if it has too few."""
    values: dict[str, str] = {}
    for pool in dict.fromkeys(pools.values()):
        tokens = [token for token in pools if pools[token] == pool]
        if len(tokens) > len(pool):
            return None
        values |= zip(tokens, rng.sample(pool, len(tokens)), strict=True)
    return values


def _swap_into_order(
    values: dict[str, str],
    pools: Mapping[str, tuple[str, ...]],
    smaller: frozenset[tuple[str, str]],
) -> dict[str, str]:
    """Return the values, those of one pool exchanged where the left one is the larger.

    Waiting for a draw in order instead would take 120 draws for five numbers that must rise.
    """
    pairs = sorted(pair for pair in smaller if pools[pair[0]] == pools[pair[1]])
    for _ in values:
        for left, right in pairs:
            less, more = quantity(values[left].strip('"')), quantity(values[right].strip('"'))
            if less is not None and more is not None and less > more:
                values[left], values[right] = values[right], values[left]
    return values


def _is_in_order(shown_row: ShownRow, smaller: frozenset[tuple[str, str]]) -> bool:
    sizes = {value.token: quantity(value.bare) for value in shown_row.values}
    for left, right in smaller:
        less, more = sizes[left], sizes[right]
        if less is not None and more is not None and less >= more:
            return False
    return True


def _is_of_its_day(shown_row: ShownRow) -> bool:
    """Return whether no time contradicts the part of the day beside it ("morning at 2:30 pm")."""
    tokens = shown_row.example.utterance.split(" ")
    for value in shown_row.values:
        if value.token.startswith("TIME_"):
            hour = hour_of(value.bare)
            part = part_of_day(tokens, tokens.index(value.token))
            if hour is not None and not is_then(part, hour):
                return False
    return True


def _is_readable(shown_row: ShownRow) -> bool:
    """Return whether the values differ and each can be found again, and only where it stands."""
    texts = [words_of(value.bare.lstrip("@#")) for value in shown_row.values]
    if len(set(texts)) < len(texts):
        return False
    back = utterance_of(shown_row, shown_row.sentence)
    return back is not None and same_words(back, shown_row.example.utterance)
