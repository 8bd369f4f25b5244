"""Programs with the values of a sentence in them; names are looked up in lists."""

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from functools import cached_property
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from genie_dp.english import forms
from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library, Parameter
from genie_dp.languages.text import span_ends
from genie_dp.languages.types import Entity, slot_stem, unit_of
from genie_dp.languages.units import Units
from genie_dp.locale import LOCALE, Words
from genie_dp.parser.reading.glued import Glued
from genie_dp.parser.reading.name_keys import NameIndex, NamePart, parts_of
from genie_dp.parser.reading.reading import Reader, Reading, ReadValue
from genie_dp.parser.reading.sentence import clean
from genie_dp.run.cache import keep_pickled, load_pickled, place_in_cache
from genie_dp.skills.words import join_tokens, token_places, tokenize

How = Literal["exact", "normalised", "nearest", "part", "unknown", "unlisted"]
# Of 100, in rapidfuzz's ratio: "beetles" is 85.7 to "beatles", "beatls" 92.3.
THRESHOLD = 85.0
_FEW_NAMES = 500  # up to so many, making their index takes no time
_MOST_TOGETHER = 2  # sets of names that stand in a sentence side by side


@dataclass(frozen=True, slots=True)
class Name:
    """An entity that a sentence names.

    Attributes:
        kind: its type, such as "com.spotify:song".
        said: the words.
        value: the value of the list, or the words where none was found.
        how: "exact", "normalised" (of the same key, see `name_keys`), "nearest" (but for a slip),
            "part" (of one name of the caller alone), "unknown" (the list has none that is near, or
            two), "unlisted" (the type has no list, as anything may be one).
    """

    kind: str
    said: str
    value: str
    how: How


class NameLink(NamedTuple):
    """Words of a sentence, from one place to another, that may be a name of that kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class TypedText:
    """A text as it was typed, in which names are looked for before its values are read.

    Attributes:
        text: the text, cleaned.
        places: its tokens, each with where it begins and ends in the text.
        values: the places among them of values that were read.
    """

    text: str
    places: tuple[tuple[str, int, int], ...]
    values: frozenset[int]

    @classmethod
    def from_reading(cls, text: str, reading: Reading) -> "TypedText":
        """Return a text with the values of a reading of it."""
        text = clean(text)
        places = tuple(token_places(text))
        spans = [value.span for value in reading.values.values()]
        values = frozenset(
            place
            for place, (_, start, end) in enumerate(places)
            if any(start < last and first < end for first, last in spans)
        )
        return cls(text, places, values)

    @property
    def tokens(self) -> tuple[str, ...]:
        """Return its tokens."""
        return tuple([token for token, _, _ in self.places])

    def read(self, links: Sequence[NameLink], reader: Reader, *, now: datetime) -> Reading:
        """Return the likeliest reading in which some tokens are names and no values."""
        names: dict[str, ReadValue] = {}
        counts: dict[str, int] = {}
        masked, last = "", 0
        shifts: list[tuple[int, int]] = []  # where in `masked`, and how far it is from `text` there
        for first, end, kind in sorted(links):
            slot = f"GENERIC_ENTITY_{kind}_{counts.get(kind, 0)}"
            counts[kind] = counts.get(kind, 0) + 1
            name = " ".join(self.tokens[first:end])
            start, stop = self.places[first][1], self.places[end - 1][2]
            names[slot] = ReadValue(f"Entity({kind})", f'" {name} " ^^{kind}', name, (start, stop))
            masked += f"{self.text[last:start]} {slot} "
            last = stop
            shifts.append((len(masked), stop - len(masked)))
        reading = reader.read(masked + self.text[last:], now=now)
        values = dict(reading.values)
        for token, value in values.items():
            start, end = value.span
            by = ([0] + [shift for place, shift in shifts if place <= start])[-1]
            values[token] = replace(value, span=(start + by, end + by))
        return replace(reading, values={**values, **names}, links=tuple(names))


@dataclass(frozen=True)
class EntityNames:
    """The names that a library's lists have, and those of one caller.

    Attributes:
        library: the skills, or declarations.
        threshold: how alike a name must be to one of a list, of 100.
        own: kind of entity -> names that belong to the caller; they are looked up first.
        is_all: whether these are all there are of kinds of which no list but the caller's has any.
        known: the words of the language of sentences and names.
    """

    library: Library
    threshold: float = THRESHOLD
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_all: bool = False
    known: Words = field(default_factory=lambda: LOCALE.words)
    _lists: dict[str, NameIndex | None] = field(default_factory=dict)
    _of_all_lists: list[NameIndex] = field(default_factory=list)

    def with_own(
        self, names: Mapping[str, Sequence[str]], *, is_all: bool = False
    ) -> "EntityNames":
        """Return the same with names of one caller.

        Args:
            names: kind -> names. A kind is "tt:room", or "room" for every kind that ends so.
            is_all: see `EntityNames`.

        Raises:
            GenieError: I012, the skills have no such kind.
            TypeError: one name instead of a list of them.
        """
        own: dict[str, tuple[str, ...]] = {}
        kinds = [kind for kind in self.library.entity_types if has_names(kind)]
        for key, values in names.items():
            if isinstance(values, str):
                raise TypeError(f"names of {key!r}: expected a list, got one text")
            meant = [kind for kind in kinds if key in (kind, kind.rpartition(":")[2])]
            if not meant:
                hint = did_you_mean(key, {*kinds, *(kind.rpartition(":")[2] for kind in kinds)})
                message = f"names: the skills have no entities of kind {key!r}"
                raise GenieError(Problem("I012", message, hint=hint or "see entity in skill.tt"))
            for kind in meant:
                own[kind] = (*own.get(kind, ()), *values)
        lists = {kind: listed for kind, listed in self._lists.items() if kind not in own}
        return replace(self, own=own, is_all=is_all, _lists=lists)

    def links(self, tokens: Sequence[str], values: Collection[int] = ()) -> list[NameLink]:
        """Return the possible names in a sentence, the longest first; a caller's own before others.

        Names of lists are found without slips of spelling, a caller's with them.

        Args:
            tokens: of the sentence.
            values: places of tokens that are values by themselves, such as "5 pm". There a name of
                a list has to have a number.
        """
        parts = parts_of(tuple(tokens), self.known)
        own = self._find_own(parts)
        types = self.library.entity_types
        listed: dict[tuple[int, int], dict[str, None]] = {}
        for start, end, kind, _ in self._list_index.find_in(parts):
            place = start, end
            if place in own or kind not in types or not has_names(kind):
                continue
            if set(values).isdisjoint(range(*place)) or _has_number(parts, place):
                listed.setdefault(place, {})[kind] = None
        places = [*sorted(own, key=_longest_first), *sorted(listed, key=_longest_first)]
        return [NameLink(*place, kind) for place in places for kind in (own | listed)[place]]

    def names_together(
        self, tokens: Sequence[str], values: Collection[int] = ()
    ) -> Iterator[tuple[NameLink, ...]]:
        """Yield sets of names that a sentence may have: first the caller's, two or more, together.

        Then one name alone, as `links` has them.
        """
        apart = self.owned_apart(tokens)
        if len(apart) > 1:
            yield from islice(product(*apart), _MOST_TOGETHER)
        yield from ((link,) for link in self.links(tokens, values))

    def owned_apart(self, tokens: Sequence[str]) -> list[list[NameLink]]:
        """Return the caller's names in a sentence, the longest of those that overlap.

        Each with all kinds that it may be.
        """
        apart: list[list[NameLink]] = []
        taken: set[int] = set()
        owned = self._find_own(parts_of(tuple(tokens), self.known))
        for start, end in sorted(owned, key=_longest_first):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                apart.append([NameLink(start, end, kind) for kind in owned[start, end]])
        return apart

    def owned_in(self, sentence: str) -> list[str]:
        """Return the words of the caller's names in a sentence, the longest that overlap."""
        tokens = tuple(tokenize(sentence))
        return [" ".join(tokens[x.start : x.end]) for x, *_ in self.owned_apart(tokens)]

    def apart(
        self, tokens: Sequence[str], glued: Glued, *, sign: bool = False
    ) -> tuple[tuple[str, ...], frozenset[int]]:
        """Return a sentence with the names that are glued into words apart, and their places.

        With `sign` there is `~` where they were glued.
        """
        return glued.apart(tokens, self._exact, sign=sign)

    def _exact(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the places of names, a caller's own included, without slips."""
        parts = parts_of(tuple(tokens), self.known)
        for index in (self._own_index, self._list_index):
            yield from ((x.start, x.end) for x in index.find_in(parts))

    def _find_own(self, parts: Sequence[NamePart]) -> dict[tuple[int, int], list[str]]:
        """Return the places of a caller's own names, and the kinds that have them."""
        exact = [*self._own_index.find_in(parts)]
        slips = (
            slip
            for slip in self._own_index.find_slips(parts, self.threshold)
            if not any(
                slip.name == x.name and slip.start < x.end and x.start < slip.end for x in exact
            )
        )
        own: dict[tuple[int, int], dict[str, None]] = {}
        for match in (*exact, *slips):
            own.setdefault((match.start, match.end), {})[match.kind] = None
        return {place: [*kinds] for place, kinds in own.items()}

    @cached_property
    def _own_index(self) -> NameIndex:
        names = ((value, kind) for kind, values in self.own.items() for value in values)
        return NameIndex(names, self.known)

    @property
    def _list_index(self) -> NameIndex:
        """Return the index of all lists, which is made once for all callers."""
        if not self._of_all_lists:
            lists = self.library.value_lists.values()
            names = [(value, listed.name) for listed in lists for value in listed.values]
            shared = {"words": self.known}
            is_shipped = len(self.known.language) == 2  # not the file of somebody's own
            place = place_in_cache((names, self.known.language), ".names") if is_shipped else None
            index = load_pickled(place, shared)
            if index is None:
                index = NameIndex(names, self.known)
                if place is not None and len(names) > _FEW_NAMES:
                    keep_pickled(place, index, shared)
            self._of_all_lists.append(index)
        return self._of_all_lists[0]

    def find(self, kind: str, said: str) -> Name:
        """Return the entity that a name stands for."""
        listed = self._list(kind)
        if listed is None:
            return Name(kind, said, said, "unknown" if self.is_closed(kind) else "unlisted")
        if name := next((x for x in (said, join_tokens(said)) if x in listed), None):
            return Name(kind, said, name, "exact")
        if (value := listed.find(said)) is not None:
            return Name(kind, said, value, "normalised")
        if (value := listed.nearest(said, self.threshold)) is not None:
            return Name(kind, said, value, "nearest")
        if (value := self._only_one(kind, said)) is not None:
            return Name(kind, said, value, "part")
        return Name(kind, said, said, "unknown")

    def is_closed(self, kind: str) -> bool:
        """Return whether a kind has no names but those of the caller."""
        if not self.is_all or kind not in self.own:
            return False
        return not any(map(self.library.values, self._kinds_of_lists(kind)))

    def may_be(self, kind: str, said: str) -> bool:
        """Return whether words may be a name of a kind."""
        if self.is_closed(kind):
            return self.find(kind, said).how != "unknown"
        return not self._is_of_another_kind(kind, said)

    def _is_of_another_kind(self, kind: str, said: str) -> bool:
        """Return whether words that no list has begin or end with the word of another kind.

        Where the caller has a vacuum, no lawn mower is called "vacuum" or "vacuum upstairs". Words
        of other kinds of the same skill count at the end alone: a "floor lamp" may be a light.
        """
        if not self.is_all or self._list(kind) is not None:
            return False
        words = tokenize(said.casefold())
        start = 0
        while start < len(words) - 1 and words[start] in self.known.function_words:
            start += 1
        lengths = range(1, min(len(words) - start, self._most_kind_words) + 1)
        first = {
            x
            for n in lengths
            for x in self._kinds_by_words.get(tuple(words[start : start + n]), ())
        }
        last = {x for n in lengths for x in self._kinds_by_words.get(tuple(words[-n:]), ())}
        if not (first or last) or any(self._is_related(kind, x) for x in first | last):
            return False
        skill = kind.rpartition(":")[0]
        return any(x in self.own for x in first | last) or any(
            x.rpartition(":")[0] == skill for x in last
        )

    def _is_related(self, kind: str, other: str) -> bool:
        """Return whether names of one kind may be names of another."""
        return other in self._kinds_of_lists(kind) or kind in self._kinds_of_lists(other)

    @cached_property
    def _kinds_by_words(self) -> Mapping[tuple[str, ...], Sequence[str]]:
        """Return words for kinds, in the plural, too, where its rules are known -> the kinds."""
        kinds: dict[tuple[str, ...], list[str]] = {}
        for kind in filter(has_names, self.library.entity_types):
            called = _words_of(kind)
            plural = [forms.plural(called)] if self.known.has_grammar else []
            for words in dict.fromkeys((called, *plural)):
                kinds.setdefault(tuple(words.split()), []).append(kind)
        return kinds

    @cached_property
    def _most_kind_words(self) -> int:
        return max(map(len, self._kinds_by_words), default=0)

    def _only_one(self, kind: str, said: str) -> str | None:
        """Return the one name of the caller that has some words, or is the only one of its kind.

        "The front door" is "Front Door Lock" if no other lock has these words; "the vacuum" is
        Dusty, the only one.
        """
        own = dict.fromkeys(self.own.get(kind, ()))
        words = {part.text for part in parts_of(tuple(tokenize(said)), self.known)}
        words -= self.known.articles
        if not words:
            return None
        names = [
            name
            for name in own
            if words <= {part.text for part in parts_of(tuple(tokenize(name)), self.known)}
        ]
        if not names and len(own) == 1 and words == {*_words_of(kind).split()}:
            names = [*own]
        return names[0] if len(names) == 1 else None

    def is_listed(self, kind: str, said: str) -> bool | None:
        """Return whether a list has a name, without slips; None if the kind has no list."""
        listed = self._list(kind)
        if listed is None:
            return False if self.is_closed(kind) else None
        return listed.find(said) is not None

    def kinds_of(self, said: str) -> frozenset[str]:
        """Return the kinds whose lists have a name, without slips."""
        listed = (
            kind for x in self._list_index.kinds_of(said) for kind in self._kinds_with.get(x, ())
        )
        return frozenset((*listed, *self._own_index.kinds_of(said)))

    @cached_property
    def _kinds_with(self) -> Mapping[str, Sequence[str]]:
        """Return list -> the kinds that it belongs to, those that extend its own included."""
        kinds: dict[str, list[str]] = {name: [name] for name in self.library.value_lists}
        for kind in self.library.entity_types:
            for name in self._kinds_of_lists(kind)[1:]:
                kinds.setdefault(name, []).append(kind)
        return kinds

    def _kinds_of_lists(self, kind: str) -> list[str]:
        """Return a kind and those that it extends."""
        kinds = [kind]
        for name in kinds:
            declared = self.library.entity_types.get(name)
            kinds.extend(p for p in (declared.parents if declared else ()) if p not in kinds)
        return kinds

    def resolve(self, program: Any, language: Language) -> tuple[Any, tuple[Name, ...]]:
        """Return a program with the values of the lists, and every name that was looked up."""
        looked_up: list[Name] = []

        def find(kind: str, said: str) -> str:
            if kind.startswith("tt:") and self._list(kind) is None:
                return said
            # Who types an address means that one, not another that a list has for examples.
            if not has_names(kind):
                return said
            name = self.find(kind, said)
            looked_up.append(name)
            return name.value

        return language.values.map_names(program, find), tuple(looked_up)

    def find_mentions(self, tokens: Sequence[str], words: Container[str]) -> Iterator[str]:
        """Yield names of any list, or of a caller, that have one of these words of a sentence.

        Of names within each other the longest counts.
        """
        last = 0
        parts = parts_of(tuple(tokens), self.known)
        listed = ((x.start, x.end) for x in self._list_index.find_in(parts))
        places = {*self._find_own(parts), *listed}
        for start, end in sorted(places, key=_longest_at):
            if start >= last:
                last = end
                if any(word in words for word in tokens[start:end]):
                    yield " ".join(tokens[start:end])

    def _list(self, kind: str) -> NameIndex | None:
        if kind not in self._lists:
            values = [*self.own.get(kind, ())]
            values += [v for name in self._kinds_of_lists(kind) for v in self.library.values(name)]
            names = ((value, kind) for value in values)
            self._lists[kind] = NameIndex(names, self.known) if values else None
        return self._lists[kind]


def _words_of(kind: str) -> str:
    """Return the words for a kind: "lawn mower" of "lawn_mower"."""
    return kind.rpartition(":")[2].replace("_", " ").casefold()


def has_names(kind: str) -> bool:
    """Return whether entities of a kind are recalled by name, and not by an address or a number."""
    return str(slot_stem(Entity(kind))).startswith("GENERIC_ENTITY")


def _longest_at(place: tuple[int, int]) -> tuple[int, int]:
    return place[0], -place[1]


def _longest_first(place: tuple[int, int]) -> tuple[int, int]:
    return place[0] - place[1], place[0]


def _has_number(parts: Sequence[NamePart], place: tuple[int, int]) -> bool:
    start, end = place
    return any(part.is_number and start <= part.first < end for part in parts)


@dataclass(frozen=True, slots=True)
class Filled:
    """A program with values.

    Attributes:
        program: of the language, canonical.
        tokens: its token form.
        names: the entities that the sentence names, with the values that were found.
    """

    program: Any
    tokens: str
    names: tuple[Name, ...] = ()

    @property
    def unknown_names(self) -> tuple[Name, ...]:
        """Return the names that no list has; they stand in the program as they were typed."""
        return tuple(name for name in self.names if name.how == "unknown")

    @property
    def unfound_names(self) -> tuple[Name, ...]:
        """Return the names that stand in the program as they were typed, those of no list too."""
        return tuple(name for name in self.names if name.how in ("unknown", "unlisted"))


def fill(
    program: str,
    values: Mapping[str, ReadValue],
    *,
    language: Language,
    library: Library | None = None,
    names: EntityNames | None = None,
    typed: Mapping[str, str] = MappingProxyType({}),
    is_whole: bool = True,
) -> Filled:
    """Return a predicted program with the values of its sentence.

    Args:
        program: in token form, with placeholders, as a parser predicts it.
        values: those of the reading whose tokens the parser was given.
        language: that of the program.
        library: its skills or declarations, to bring the program into canonical form.
        names: the lists in which entities are looked up; None looks none up.
        typed: stand-in for the words of a text of the program -> these, as they were typed.
        is_whole: refuse a program of which placeholders are left.

    Raises:
        GenieError: I010, a placeholder has no value; I011, a value that the language has no form
            for; I015, a number that its parameter never is; or the errors of the language for a
            program that it cannot read.
    """
    replacements = {stand_in: ("", text) for stand_in, text in typed.items()}
    tree = language.from_tokens(program)
    others = {token: read for token, read in values.items() if read.other}
    usual = _usual_units(tree, others, language, library) if library and others else {}
    usual |= _compared_spans(program, others, language)
    if library is not None:
        _refuse_beyond(program, values, language, library)
    for token, read in values.items():
        # Inside of free text a value is its words, a percent sign left out.
        words = " ".join(read.text.split()).removesuffix("%").rstrip()
        replacements[token] = usual.get(token, read.value), words or read.text
    try:
        tree = language.values.fill(tree, replacements)
    except ValueError as error:
        raise GenieError(Problem("I011", str(error))) from None
    unfilled = language.values.placeholders(tree)
    if unfilled and is_whole:
        available = ", ".join(values) or "none"
        message = f"the program has {unfilled[0]}, which stands for no value of the sentence"
        raise GenieError(Problem("I010", message, hint=f"the sentence has: {available}"))
    looked_up: tuple[Name, ...] = ()
    if names is not None:
        tree, looked_up = names.resolve(tree, language)
    tree = language.canonical(tree, library)
    return Filled(tree, language.tokens(tree, library), looked_up)


def _usual_units(
    tree: Any, values: Mapping[str, ReadValue], language: Language, library: Library
) -> dict[str, str]:
    """Return the other values of measures whose first one is outside its parameter's usual range.

    "21 degrees" of a room are celsius, whatever else the speaker's degrees are.
    """
    other_values = {}
    for token, _, place in language.values.uses(tree, library):
        function, _, name = place.rpartition(":")
        signature = library.signature(function)
        parameter = signature.parameter(name) if signature else None
        unit = unit_of(parameter.type) if parameter else None
        if token in values and parameter is not None and unit is not None:
            first, second = (
                _is_usual(constant, parameter, unit, library.units)
                for constant in (values[token].value, values[token].other)
            )
            if second and not first:
                other_values[token] = values[token].other
    return other_values


def _refuse_beyond(
    program: str, values: Mapping[str, ReadValue], language: Language, library: Library
) -> None:
    """Refuse a number outside of its limits: no battery is at 200 percent.

    Raises:
        GenieError: I015.
    """
    numbers = {token: read for token, read in values.items() if token.startswith("NUMBER_")}
    for token, limits in language.values.limits(program, library).items() if numbers else ():
        if token in numbers and not limits.in_bounds(Decimal(numbers[token].value)):
            raise GenieError(Problem("I015", f"{numbers[token].text} is no value of its parameter"))


def _compared_spans(
    program: str, values: Mapping[str, ReadValue], language: Language
) -> dict[str, str]:
    """Return the spans of time of moments with which a program compares: "in the evening"."""
    spans = {token: read.other for token, read in values.items() if span_ends(read.other)}
    compared = language.form(program).compared if spans else None
    return {token: span for token, span in spans.items() if compared and token in compared}


def _is_usual(constant: str, parameter: Parameter, unit: str, units: Units) -> bool:
    """Return whether a measure, "21 unit:F", is one that a parameter of a unit usually has."""
    number, _, own_unit = constant.partition(" unit:")
    amount = units.amount(((Decimal(number), own_unit),))
    minimum, maximum = (
        None if bound is None else units.amount(((bound, unit),))
        for bound in (parameter.least, parameter.most)
    )
    return (minimum is None or minimum <= amount) and (maximum is None or amount <= maximum)
