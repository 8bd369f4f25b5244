"""The groups of rows whose accuracy is told apart, and what training files are asked."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from genie_dp.dataset.keys import combination, hashed, program_key
from genie_dp.dataset.scan import Row, as_row
from genie_dp.dataset.traits import CLASSES, TRAITS, class_of, traits_of
from genie_dp.records import Example

_MOST_FUNCTIONS = 5
_STEP, _LONGEST = 5, 20


@dataclass(slots=True)
class Training:
    """Hashes of what a parser was trained on; 8 bytes for each different one, in sets.

    Attributes:
        combinations: of functions, whatever their order.
        programs: values aside.
        sentences: case aside.
    """

    combinations: set[int] = field(default_factory=set)
    programs: set[int] = field(default_factory=set)
    sentences: set[int] = field(default_factory=set)

    def add(self, row: Row) -> None:
        """Remember a row."""
        self.combinations.add(hashed(combination(row.functions)))
        self.programs.add(hashed(program_key(row.program)))
        self.sentences.add(hashed(row.utterance.casefold()))

    def groups(self, row: Row) -> Iterator[tuple[str, str]]:
        """Yield whether a row is new: its functions together, its program, its sentence."""
        key = hashed(combination(row.functions))
        yield "combination of functions", _newness(key in self.combinations)
        yield "program", _newness(hashed(program_key(row.program)) in self.programs)
        yield "sentence", _newness(hashed(row.utterance.casefold()) in self.sentences)


def _newness(is_known: bool) -> str:
    return "in training" if is_known else "new"


def training_of(rows: Iterable[Row]) -> Training:
    """Return what rows of training teach."""
    found = Training()
    for row in rows:
        found.add(row)
    return found


def groups_of(example: Example, training: Training | None = None) -> Iterator[tuple[str, str]]:
    """Yield the groups that a gold row belongs to, as (axis, name).

    Classes are those of Figure 7 of the Genie paper; of languages other than ThingTalk only
    primitive and compound are known. "combination of functions: new" is the paper's paraphrase
    test, "program: new" its New Program (section 5.4).

    >>> row = Example("a", "beep now", "now => @c.beep", source="human")
    >>> list(groups_of(row))[:3]
    [('command', 'primitive'), ('source', 'human'), ('functions', '1')]
    """
    row = as_row(example)
    bits = traits_of(row.program, row.functions, row.language)
    yield "command", CLASSES[class_of(bits)][1]
    yield from (("with", name) for bit, name in TRAITS if bits & bit)
    yield "source", row.source
    yield "functions", _number(len(row.functions))
    yield "words", _length(len(row.utterance.split()))
    if training is not None:
        yield from training.groups(row)


def _number(functions: int) -> str:
    return str(functions) if functions < _MOST_FUNCTIONS else f"{_MOST_FUNCTIONS} or more"


def _length(words: int) -> str:
    """Return the group of a sentence of so many words.

    >>> [_length(n) for n in (0, 5, 6, 20, 21)]
    ['1 to 5', '1 to 5', '6 to 10', '16 to 20', 'more than 20']
    """
    if words > _LONGEST:
        return f"more than {_LONGEST}"
    first = max(words - 1, 0) // _STEP * _STEP + 1
    return f"{first} to {first + _STEP - 1}"


AXES = (
    "command",
    "with",
    "combination of functions",
    "program",
    "sentence",
    "source",
    "functions",
    "words",
)
_ORDER = (
    *(name for _, name in CLASSES),
    *(name for _, name in TRAITS),
    *(_length(n) for n in (1, 6, 11, 16, 21)),
)


def order_of(group: tuple[str, str]) -> tuple[int, int, str]:
    """Return what groups are sorted by: axis, then the order of its names."""
    axis, name = group
    place = _ORDER.index(name) if name in _ORDER else len(_ORDER)
    return AXES.index(axis), place, name
