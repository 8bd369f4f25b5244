"""Which list gives the values of a parameter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from genie_dp.augment.lists import (
    GENERIC,
    ValueList,
    kinds,
    kinds_by_use,
    shipped,
    union,
    value_list,
)
from genie_dp.languages.thingtalk.signatures import Parameter
from genie_dp.languages.thingtalk.types import STRING, Array, Entity, Type
from genie_dp.skills import model
from genie_dp.skills.model import Library
from genie_dp.skills.words import spoken

Origin = Literal["parameter", "entity", "tag", "shipped", "generic"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The list that was chosen for a parameter, and which rule chose it.

    Attributes:
        values: the list.
        origin: "parameter" (its own list), "entity" (that of its entity type), "tag" (that of
            `#[string_values=..]`), "shipped" (by the kind that its name or type tells), or
            "generic" (nothing is known of it).
        is_widened: whether a skill's list was joined with the shipped one of its kind.
    """

    values: ValueList
    origin: Origin
    is_widened: bool = False


class ValueSource(Protocol):
    """Gives the values that may be put into a placeholder."""

    def choose(self, type_: Type, parameter: str) -> Choice:
        """Return the list for a parameter and the rule that chose it."""

    def values_for(self, type_: Type, parameter: str) -> ValueList:
        """Return the list for a parameter."""


@dataclass(slots=True)
class LibraryValues:
    """The values of a library's parameters.

    The first of these that exists counts:

    1. the parameter's own list: `own["@com.x.f:name"]`, then `own["name"]` if that is no kind;
    2. the list of its entity type: `own["com.x:song"]`, then the skill's values/song.tsv, then that
       of a type that it extends;
    3. the list of its tag, `#[string_values="tt:song_title"]`: the user's, then the skill's;
    4. the list of the kind that serves its entity type, its tag or its name: `own["song"]`,
       then the shipped one;
    5. the free text, `own["free_text"]` or the shipped one.

    A skill's list (not the user's own) is joined with the list of its kind: skills list
    some dozens of values, to be read; a parser that is to copy values needs to see many.

    Attributes:
        library: the skills.
        own: lists that the user brought, by parameter, entity type or tag; see `datasets`.
        widen: whether skills' lists are joined with shipped ones.
    """

    library: Library
    own: Mapping[str, ValueList] = field(default_factory=dict)
    widen: bool = True
    _chosen: dict[tuple[str, str], Choice] = field(default_factory=dict, repr=False)

    def values_for(self, type_: Type, parameter: str) -> ValueList:
        """Return the list of values for a String or Entity parameter.

        Args:
            type_: the type of the placeholder (`slots.slot_type`).
            parameter: what it fills, "@com.gmail.inbox:sender" as in `records.Slot`, or "".
        """
        return self.choose(type_, parameter).values

    def choose(self, type_: Type, parameter: str) -> Choice:
        """Return the list for a parameter and the rule that chose it."""
        key = (str(type_), parameter)
        if key not in self._chosen:
            self._chosen[key] = self._choose(type_, parameter)
        return self._chosen[key]

    def _choose(self, type_: Type, parameter: str) -> Choice:
        while isinstance(type_, Array):
            type_ = type_.element
        name = parameter.rpartition(":")[2]
        for key in (parameter, name):
            if key in self.own and key not in kinds():
                return Choice(self.own[key], "parameter")
        if isinstance(type_, Entity):
            return self._of_entity(type_.kind, name)
        if type_ != STRING:
            raise ValueError(f"values of {type_} are written, not listed: see augment.written")
        return self._of_text(self._tag(parameter), name)

    def _of_entity(self, kind: str, name: str) -> Choice:
        for type_name in (kind, *self._parents(kind)):
            found = self._named(type_name, "entity")
            if found is not None:
                return found
        bare = kind.rpartition(":")[2]
        return self._by_kind(kind, bare, name) or self._generic()

    def _of_text(self, tag: str | None, name: str) -> Choice:
        if tag is not None:
            found = self._named(tag, "tag") or self._by_kind(tag, tag.rpartition(":")[2])
            if found is not None:
                return found
        return self._by_kind(name) or self._generic()

    def _by_kind(self, *uses: str) -> Choice | None:
        """Return the list of the first use that some kind serves."""
        for use in uses:
            kind = kinds_by_use().get(use)
            if kind is not None:
                return Choice(self._of_kind(kind.name), "shipped")
        return None

    def _generic(self) -> Choice:
        return Choice(self._of_kind(GENERIC), "generic")

    def _of_kind(self, kind: str) -> ValueList:
        """Return the user's list of a kind or of its parts, else the shipped one."""
        parts = kinds()[kind].parts
        if kind not in self.own and any(part in self.own for part in parts):
            return union(kind, kind, [self._of_kind(part) for part in parts], even=True)
        return self.own.get(kind) or shipped(kind)

    def _named(self, name: str, origin: Origin) -> Choice | None:
        """Return the user's or the skill's list of a name."""
        if name in self.own:
            return Choice(self.own[name], origin)
        listed = self.library.value_lists.get(name)
        if listed is None:
            return None
        values = of_skill(listed)
        kind = kinds_by_use().get(name)
        if kind is None or not self.widen:
            return Choice(values, origin)
        more = self._of_kind(kind.name)
        joined = union(f"{name} + {more.name}", kind.name, [values, more])
        return Choice(joined, origin, is_widened=True)

    def _parents(self, kind: str) -> tuple[str, ...]:
        """Return the types that an entity type extends, nearest first."""
        found: dict[str, None] = {}
        waiting = [kind]
        while waiting:
            declared = self.library.entity_types.get(waiting.pop(0))
            new = [p for p in (declared.parents if declared else ()) if p not in found]
            found.update(dict.fromkeys(new))
            waiting.extend(new)
        return tuple(found)

    def _tag(self, parameter: str) -> str | None:
        found = self._parameter(parameter)
        return found.value_list if found else None

    def _parameter(self, parameter: str) -> Parameter | None:
        qualified, _, name = parameter.rpartition(":")
        function = self.library.find(qualified) if qualified else None
        return function.signature.parameter(name) if function else None


def of_skill(listed: model.ValueList) -> ValueList:
    """Return a skill's list, its values split into tokens as sentences are.

    >>> of_skill(model.ValueList("com.x:city", ("Paris", "st. john's"), (1.0, 1.0))).texts
    ('paris', "st . john 's")
    """
    kind = kinds_by_use().get(listed.name)
    texts = [spoken(value) for value in listed.values]
    return value_list(listed.name, kind.name if kind else "", texts, listed.weights)
