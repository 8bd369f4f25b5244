"""Programs with the values of a sentence in them; names are looked up in lists."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice, product
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.base import Language
from genie_dp.languages.library import Library
from genie_dp.languages.types import Entity, is_slot, slot_stem
from genie_dp.parser.reading.glued import Glued
from genie_dp.parser.reading.reading import ReadValue
from genie_dp.skills.words import join_tokens, tokenize

How = Literal["exact", "normalised", "nearest", "unknown", "unlisted"]
# Of 100, in rapidfuzz's ratio: "beetles" is 85.7 to "beatles", "beatls" 92.3.
THRESHOLD = 85.0
_MARGIN = 3.0
# A slip in fewer letters is mostly another word: "all" is no hall.
_LETTERS_OF_SLIPS = 4
_MOST_TOGETHER = 2  # sets of names that stand in a sentence side by side
_ARTICLES = frozenset(("the", "a", "an", "my", "our"))


@dataclass(frozen=True, slots=True)
class Name:
    """An entity that was said by name.

    Attributes:
        kind: its type, such as "com.spotify:song".
        said: the words.
        value: the value of the list, or the words where none was found.
        how: "exact", "normalised" (but for case, articles and punctuation), "nearest" (but for a
            slip), "unknown" (the list has none that is near, or two), "unlisted" (the type has no
            list, as anything may be one).
    """

    kind: str
    said: str
    value: str
    how: How


class Link(NamedTuple):
    """Words of a sentence, from one place to another, that may be a name of that kind."""

    start: int
    end: int
    kind: str


@dataclass(frozen=True)
class EntityNames:
    """The names that a library's lists have, and those of one caller.

    Attributes:
        library: the skills, or declarations.
        threshold: how alike a name must be to one of a list, of 100.
        own: kind of entity -> names that belong to the caller; they are looked up first.
    """

    library: Library
    threshold: float = THRESHOLD
    own: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    _lists: dict[str, tuple[dict[str, str], dict[str, str]] | None] = field(default_factory=dict)
    _by_first_word: dict[str, dict[tuple[str, ...], list[str]]] = field(default_factory=dict)

    def with_own(self, names: Mapping[str, Sequence[str]]) -> "EntityNames":
        """Return the same with names of one caller.

        Args:
            names: kind -> names. A kind is "tt:room", or "room" for every kind that ends so.

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
        return replace(self, own=own, _lists={})

    def links(self, tokens: Sequence[str]) -> list[Link]:
        """Return what in a sentence may be a name, the longest first; a caller's own before others.

        Names of lists are found as they are written, a caller's with slips of spelling, too.
        """
        own = self._owned(tokens)
        types = self.library.entity_types
        listed = {
            place: [name for name in lists if name in types and has_names(name)]
            for place, lists in self._listed(tokens)
            if place not in own
        }
        places = [*sorted(own, key=_longest_first), *sorted(listed, key=_longest_first)]
        return [Link(*place, kind) for place in places for kind in (own | listed)[place]]

    def names_together(self, tokens: Sequence[str]) -> Iterator[tuple[Link, ...]]:
        """Yield sets of names that a sentence may have: first the caller's, two or more, together.

        Then one name alone, as `links` has them.
        """
        apart = self.owned_apart(tokens)
        if len(apart) > 1:
            yield from islice(product(*apart), _MOST_TOGETHER)
        yield from ((link,) for link in self.links(tokens))

    def owned_apart(self, tokens: Sequence[str]) -> list[list[Link]]:
        """Return the caller's names in a sentence, the longest of those that overlap.

        Each with all kinds that it may be.
        """
        apart: list[list[Link]] = []
        taken: set[int] = set()
        owned = self._owned(tokens)
        for start, end in sorted(owned, key=_longest_first):
            if taken.isdisjoint(range(start, end)):
                taken.update(range(start, end))
                apart.append([Link(start, end, kind) for kind in owned[start, end]])
        return apart

    def apart(
        self, tokens: Sequence[str], glued: Glued, *, sign: bool = False
    ) -> tuple[tuple[str, ...], frozenset[int]]:
        """Return a sentence with the names that are glued into words apart, and their places.

        With `sign` there is `~` where they were glued.
        """
        return glued.apart(tokens, self._exact, sign=sign)

    def _exact(self, tokens: Sequence[str]) -> Iterator[tuple[int, int]]:
        """Yield the places of names, a caller's own included, without slips."""
        for name in {
            tuple(tokenize(value.lower())) for values in self.own.values() for value in values
        }:
            for start in range(len(tokens) - len(name) + 1):
                if name and tuple(tokens[start : start + len(name)]) == name:
                    yield start, start + len(name)
        yield from (place for place, _ in self._listed(tokens))

    def _owned(self, tokens: Sequence[str]) -> dict[tuple[int, int], list[str]]:
        """Return the places of a caller's own names, and the kinds that have them."""
        own: dict[tuple[int, int], list[str]] = {}
        for kind, values in self.own.items():
            for name in {tuple(tokenize(value.lower())) for value in values} - {()}:
                for start in range(len(tokens) - len(name) + 1):
                    place = start, start + len(name)
                    kinds = own.get(place, [])
                    if kind not in kinds and self._is_like(name, tokens[slice(*place)]):
                        own[place] = [*kinds, kind]
        return own

    def _is_like(self, name: Sequence[str], said: Sequence[str]) -> bool:
        from rapidfuzz import fuzz

        one, other = " ".join(name), " ".join(said)
        return one == other or (
            len(other) >= _LETTERS_OF_SLIPS
            and not any(map(is_slot, said))
            and fuzz.ratio(one, other) >= self.threshold
        )

    def _listed(self, tokens: Sequence[str]) -> Iterator[tuple[tuple[int, int], list[str]]]:
        """Yield the places of listed names, and the lists that have them."""
        if not self._by_first_word:
            for listed in self.library.value_lists.values():
                for value in listed.values:
                    if name := tuple(tokenize(value.lower())):
                        lists = self._by_first_word.setdefault(name[0], {}).setdefault(name, [])
                        lists.append(listed.name)
        for start, token in enumerate(tokens):
            for name, lists in self._by_first_word.get(token, {}).items():
                if tuple(tokens[start : start + len(name)]) == name:
                    yield (start, start + len(name)), list(dict.fromkeys(lists))

    def find(self, kind: str, said: str) -> Name:
        """Return what an entity's name stands for."""
        listed = self._list(kind)
        if listed is None:
            return Name(kind, said, said, "unlisted")
        exact, normal = listed
        if found := next((x for x in (said, join_tokens(said)) if x in exact), None):
            return Name(kind, said, found, "exact")
        key = normalise(said)
        if key in normal:
            return Name(kind, said, normal[key], "normalised")
        from rapidfuzz import fuzz, process

        nearest = process.extract(
            key, tuple(normal), scorer=fuzz.ratio, limit=2, score_cutoff=self.threshold
        )
        # Of two of which neither is clearly nearer it is none.
        if len(nearest) == 1 or (nearest and nearest[0][1] - nearest[1][1] >= _MARGIN):
            return Name(kind, said, normal[nearest[0][0]], "nearest")
        return Name(kind, said, said, "unknown")

    def is_listed(self, kind: str, said: str) -> bool | None:
        """Tell whether a list has a name, without slips; None if the kind has no list."""
        listed = self._list(kind)
        if listed is None:
            return None
        exact, normal = listed
        return said in exact or normalise(said) in normal

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

        return language.map_names(program, find), tuple(looked_up)

    def mentioned(self, tokens: Sequence[str], words: Container[str]) -> Iterator[str]:
        """Yield names of any list, or of a caller, that have one of these words of a sentence.

        Of names within each other the longest counts.
        """
        last = 0
        places = {*self._owned(tokens), *(place for place, _ in self._listed(tokens))}
        for start, end in sorted(places, key=_longest_at):
            if start >= last:
                last = end
                if any(word in words for word in tokens[start:end]):
                    yield " ".join(tokens[start:end])

    def _list(self, kind: str) -> tuple[dict[str, str], dict[str, str]] | None:
        if kind not in self._lists:
            kinds = [kind]  # and those that it extends
            for name in kinds:
                declared = self.library.entity_types.get(name)
                kinds.extend(p for p in (declared.parents if declared else ()) if p not in kinds)
            values = [*self.own.get(kind, ())]
            values += [v for name in kinds for v in self.library.values(name)]
            normal: dict[str, str] = {}
            for value in values:
                normal.setdefault(normalise(value), value)
            self._lists[kind] = (dict.fromkeys(values, ""), normal) if values else None
        return self._lists[kind]


def has_names(kind: str) -> bool:
    """Tell whether entities of a kind are recalled by name, and not by an address or a number."""
    return str(slot_stem(Entity(kind))).startswith("GENERIC_ENTITY")


def _longest_at(place: tuple[int, int]) -> tuple[int, int]:
    return place[0], -place[1]


def _longest_first(place: tuple[int, int]) -> tuple[int, int]:
    return place[0] - place[1], place[0]


@lru_cache(maxsize=65536)
def normalise(name: str) -> str:
    """Return a name without case, articles and punctuation.

    >>> normalise("The Beatles!"), normalise("the")
    ('beatles', 'the')
    """
    words = [token for token in tokenize(name.casefold()) if any(c.isalnum() for c in token)]
    short = [word for word in words if word not in _ARTICLES]
    return " ".join(short or words)


@dataclass(frozen=True, slots=True)
class Filled:
    """A program with values.

    Attributes:
        program: of the language, canonical.
        tokens: its token form.
        names: the entities that were said by name, and what they were found to be.
    """

    program: Any
    tokens: str
    names: tuple[Name, ...] = ()

    @property
    def unknown_names(self) -> tuple[Name, ...]:
        """Return the names that no list has; they stand in the program as they were said."""
        return tuple(name for name in self.names if name.how == "unknown")


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
            for; or what the language says of a program that it cannot read.
    """
    replacements = {stand_in: ("", text) for stand_in, text in typed.items()}
    for token, read in values.items():
        # Inside of free text a value is its words, a percent sign left out.
        words = " ".join(read.text.split()).removesuffix("%").rstrip()
        replacements[token] = read.value, words or read.text
    try:
        tree = language.fill(language.from_tokens(program), replacements)
    except ValueError as error:
        raise GenieError(Problem("I011", str(error))) from None
    unfilled = language.placeholders(tree)
    if unfilled and is_whole:
        available = ", ".join(values) or "none"
        message = f"the program has {unfilled[0]}, which stands for no value of the sentence"
        raise GenieError(Problem("I010", message, hint=f"the sentence has: {available}"))
    looked_up: tuple[Name, ...] = ()
    if names is not None:
        tree, looked_up = names.resolve(tree, language)
    tree = language.canonical(tree, library)
    return Filled(tree, language.tokens(tree, library), looked_up)
