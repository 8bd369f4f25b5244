"""The result of a reader: tokens with placeholders, and the values that they stand for."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple, Protocol

from genie_dp.languages.types import slot_type
from genie_dp.locale import Locale

# Of a text: who types more has pasted something, and looking for values in it takes seconds.
MOST_CHARACTERS = 4000


@dataclass(frozen=True, slots=True)
class ReadValue:
    """A value that was read.

    Attributes:
        type: such as "Number", "Measure(m)", "Entity(tt:url)".
        value: its meaning, in the token form of programs: "25", "6 unit:ft 3 unit:in",
            "date:2027-03-14", `" paris " at:48.853:2.349`.
        text: the words it was read from, as typed.
        span: where they begin and end in the text, in characters.
        other: their meaning elsewhere: "degrees" in the other unit, "this evening" as the span of
            time that dates are compared with; else "".
    """

    type: str
    value: str
    text: str
    span: tuple[int, int]
    other: str = ""


@dataclass(frozen=True, slots=True)
class Reading:
    """A text with placeholders for its values.

    Attributes:
        tokens: of the utterance; placeholders are numbered for each stem from left to right.
        values: placeholder -> its value, in the order of the text.
        doubt: how many of the reader's first choices were not taken; 0 is the likeliest reading.
        links: the placeholders of names that lists have, where words are taken for some.
    """

    tokens: tuple[str, ...]
    values: dict[str, ReadValue] = field(default_factory=dict)
    doubt: int = 0
    links: tuple[str, ...] = ()

    def with_names(self, names: Sequence[tuple[int, int, str]]) -> "Reading":
        """Return the reading with some of its tokens as names of entities.

        Args:
            names: start, end and kind of each; they do not overlap.

        >>> Reading(("play", "kind", "of", "blue")).with_names([(1, 4, "com.x:album")]).utterance
        'play GENERIC_ENTITY_com.x:album_0'
        """
        tokens, values, last = list[str](), {**self.values}, 0
        counts: dict[str, int] = {}
        for start, end, kind in sorted(names):
            slot = f"GENERIC_ENTITY_{kind}_{counts.get(kind, 0)}"
            counts[kind] = counts.get(kind, 0) + 1
            name = " ".join(self.tokens[start:end])
            values[slot] = ReadValue(f"Entity({kind})", f'" {name} " ^^{kind}', name, (0, 0))
            tokens += [*self.tokens[last:start], slot]
            last = end
        links = tuple(slot for slot in values if slot not in self.values)
        return Reading((*tokens, *self.tokens[last:]), values, self.doubt, links)

    @property
    def utterance(self) -> str:
        """Return the tokens with one space between them."""
        return " ".join(self.tokens)


WORDS = "WORDS"
"""The stem of a candidate that is no value: it is the words `after`."""


class ValueCandidate(NamedTuple):
    """A piece of a text that may be a value.

    Attributes:
        start, end: characters of the text.
        stem: of its placeholder, such as "NUMBER" or "MEASURE_m", or WORDS.
        value: its meaning, in the token form of programs.
        is_weak: only to be taken if a caller asks for other readings.
        is_soft: may also be words: "today", "one", a city's name.
        after: words to be put behind the placeholder: "percent".
        other: as of `ReadValue`.
    """

    start: int
    end: int
    stem: str
    value: str
    is_weak: bool = False
    is_soft: bool = False
    after: str = ""
    other: str = ""

    @property
    def type(self) -> str:
        """Return the type of the value."""
        return str(slot_type(f"{self.stem}_0"))


class Reader(Protocol):
    """Reads the values of a sentence."""

    def read(self, text: str, *, now: datetime, locale: Locale | None = None) -> Reading:
        """Return the likeliest reading of a text.

        Args:
            text: a sentence as it was typed; any text at all.
            now: the moment to which "tomorrow" is relative; the reader looks at no other clock.
            locale: defaults for values that the text gives in part; None for that of the reader.
        """

    def readings(
        self, text: str, *, now: datetime, locale: Locale | None = None, most: int = 8
    ) -> tuple[Reading, ...]:
        """Return up to so many readings, the likeliest first.

        Several, because words alone do not show whether "5 pounds" is money or weight, or "today" a
        date or a word of the skill ("the steps that i walked today").
        """
