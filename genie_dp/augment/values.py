"""Which list gives the values of a parameter."""

import gzip
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import Literal, Protocol

from genie_dp.errors import Problem, Span
from genie_dp.languages.library import ListedValues, Parameter
from genie_dp.languages.types import STRING, Array, Entity, Type, slot_stem
from genie_dp.skills.model import SkillLibrary
from genie_dp.skills.words import join_tokens

DATA = Path(__file__).parent / "data"
GENERIC = "free_text"
CODE = "code"  # the one list of no language
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


@dataclass(frozen=True, slots=True)
class ValueList:
    """Values that may stand in one place of a sentence, reached by their number.

    Attributes:
        name: where they are from: "song" (shipped), "tt:song_title" (of a skill), or a file.
        kind: the shipped kind that they are of, or "" where none is known.
        texts: the values, lower-case tokens with one space between them, each once.
        cumulative: running sums of the weights; empty where all weigh the same.
    """

    name: str
    kind: str
    texts: tuple[str, ...]
    cumulative: tuple[float, ...] = ()

    def __len__(self) -> int:
        return len(self.texts)

    def value(self, index: int) -> tuple[str, ...]:
        """Return the tokens of a value.

        >>> ValueList("song", "song", ("red moon", "home")).value(0)
        ('red', 'moon')
        """
        return tuple(self.texts[index].split(" "))

    def pick(self, share: float) -> int:
        """Return the number of the value at a share in [0, 1) of the total weight.

        >>> weighted = value_list("x", "", ["a", "b"], [1, 3])
        >>> [weighted.pick(share) for share in (0.0, 0.24, 0.25, 0.99)]
        [0, 0, 1, 1]
        """
        if not self.cumulative:
            return int(share * len(self.texts))
        index = bisect_right(self.cumulative, share * self.cumulative[-1])
        return min(index, len(self.texts) - 1)

    def draw(self, rng: Random) -> tuple[str, ...]:
        """Return a value, chosen by weight."""
        return self.value(self.pick(rng.random()))

    def weight(self, index: int) -> float:
        """Return the weight of a value."""
        if not self.cumulative:
            return 1.0
        return self.cumulative[index] - (self.cumulative[index - 1] if index else 0.0)

    def within(self, most_words: int) -> "ValueList":
        """Return the list without the values that have more words; it may be empty.

        >>> ValueList("song", "song", ("red moon", "home")).within(1).texts
        ('home',)
        """
        short = [i for i, text in enumerate(self.texts) if text.count(" ") < most_words]
        if len(short) == len(self.texts):
            return self
        weights = [self.weight(i) for i in short] if self.cumulative else ()
        return value_list(self.name, self.kind, [self.texts[i] for i in short], weights)


def value_list(
    name: str, kind: str, texts: Iterable[str], weights: Sequence[float] = ()
) -> ValueList:
    """Return a list of values; a value given twice counts once, with its first weight.

    >>> value_list("x", "", ["a", "b", "a"], [2, 1, 5])
    ValueList(name='x', kind='', texts=('a', 'b'), cumulative=(2.0, 3.0))
    >>> value_list("x", "", ["a", "b"], [2, 2]).cumulative
    ()
    """
    weight_of: dict[str, float] = {}
    for index, text in enumerate(texts):
        weight_of.setdefault(text, float(weights[index]) if weights else 1.0)
    is_flat = len(set(weight_of.values())) <= 1
    sums = () if is_flat else tuple(accumulate(weight_of.values()))
    return ValueList(name, kind, tuple(weight_of), sums)


def union(name: str, kind: str, lists: Sequence[ValueList], *, even: bool = False) -> ValueList:
    """Return the values of several lists, the earlier list first.

    Args:
        name: of the new list.
        kind: of the new list.
        lists: weights are compared inside of a list only.
        even: give each list the same share of the draws, else each a share by its length.

    >>> first = ValueList("mine", "song", ("home",))
    >>> second = ValueList("song", "song", ("red moon", "home", "rain"))
    >>> union("mine + song", "song", [first, second]).texts
    ('home', 'red moon', 'rain')
    >>> union("both", "song", [first, ValueList("x", "", ("a", "b"))], even=True).cumulative
    (1.0, 1.5, 2.0)
    """
    texts: list[str] = []
    weights: list[float] = []
    for values in lists:
        total = values.cumulative[-1] if values.cumulative else float(len(values))
        scale = (1.0 if even else len(values)) / total if total else 0.0
        texts.extend(values.texts)
        weights.extend(values.weight(i) * scale for i in range(len(values)))
    return value_list(name, kind, texts, weights)


# ------------------------------------------------------------------------ the shipped ones


@dataclass(frozen=True, slots=True)
class ValueKind:
    """A kind of value that the package has a list of.

    Attributes:
        name: its name, and that of its file.
        what: a plain description of the values.
        serves: the entity types and tags ("tt:song_title") whose values are of the kind, and names
            of entity types and parameters that suggest it ("song"; see `LibraryValues`).
        parts: the kinds that it is put together of; none where it has a file of its own.
    """

    name: str
    what: str
    serves: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ShippedRow:
    """A line of a shipped list: the value, its weight, and who is to be credited."""

    value: str
    weight: float
    source: str
    licence: str
    place: tuple[str, str] | None = None


@lru_cache(maxsize=1)
def kinds() -> dict[str, ValueKind]:
    """Return the shipped kinds by name, in the order of data/kinds.tsv."""
    lines = (DATA / "kinds.tsv").read_text(encoding="utf-8").splitlines()
    by_name = {}
    for line in lines[1:]:
        name, description, serves, parts = line.split("\t")
        by_name[name] = ValueKind(name, description, tuple(serves.split()), tuple(parts.split()))
    return by_name


@lru_cache(maxsize=1)
def kinds_by_use() -> dict[str, ValueKind]:
    """Return which kind serves an entity type, a tag or a name.

    Every kind serves its own name and the tag of that name.

    >>> kinds_by_use()["branch"] is kinds_by_use()["tt:branch"] is kinds()["branch"]
    True
    """
    by_use = {kind.name: kind for kind in kinds().values()}
    for kind in kinds().values():
        for use in kind.serves:
            by_use.setdefault(use, kind)
    for kind in kinds().values():
        by_use.setdefault(f"tt:{kind.name}", kind)
    return by_use


def shipped_rows(kind: str) -> tuple[ShippedRow, ...]:
    """Return the lines of a kind's own file.

    Raises:
        KeyError: there is no such kind.
    """
    path = DATA / f"{kinds()[kind].name}.tsv"
    if path.exists():
        text = path.read_text(encoding="utf-8")
    else:
        text = gzip.decompress((DATA / f"{kind}.tsv.gz").read_bytes()).decode("utf-8")
    header, *lines = text.splitlines()
    names = header.split("\t")
    return tuple(_shipped_row(dict(zip(names, line.split("\t"), strict=True))) for line in lines)


def _shipped_row(cells: dict[str, str]) -> ShippedRow:
    place = (cells["latitude"], cells["longitude"]) if "latitude" in cells else None
    weight = float(cells.get("weight") or 1)
    return ShippedRow(cells["value"], weight, cells["source"], cells["licence"], place)


@cache
def shipped_list(kind: str) -> ValueList:
    """Return the shipped list of a kind.

    Raises:
        KeyError: there is no such kind.
    """
    parts = kinds()[kind].parts
    if parts:
        return union(kind, kind, [shipped_list(part) for part in parts], even=True)
    rows = shipped_rows(kind)
    return value_list(kind, kind, [r.value for r in rows], [r.weight for r in rows])


# Warnings of `skills.check` that a list mends: an entity type, a text, a list without a file.
NO_LIST = value_list("none", "", (), ())
NO_VALUES = frozenset(("K102", "K103", "K104"))
_MOST_SHOWN = 4  # parameters
_EXAMPLES = 3  # values of a list that is not declared
Origin = Literal["parameter", "entity", "tag", "shipped", "generic", "made"]


@dataclass(frozen=True, slots=True)
class ChosenList:
    """The list that was chosen for a parameter, and which rule chose it.

    Attributes:
        values: the list.
        origin: "parameter" (its own list), "entity" (that of its entity type), "tag" (that of
            `#[string_values=..]`), "shipped" (of the kind that its type or tag declares), "generic"
            (none is declared), or "made" (the same, in a language of which no list is shipped).
        is_widened: whether a skill's list was joined with the shipped one of its kind.
    """

    values: ValueList
    origin: Origin
    is_widened: bool = False


class ValueSource(Protocol):
    """Gives the values that may be put into a placeholder."""

    def choose(self, type_: Type, parameter: str) -> ChosenList:
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
    3. the list of its tag, `#[string_values="tt:song_title"]`, of the parameter or of its entity
       type: the user's, then the skill's;
    4. the list of the kind that serves its tag or its entity type: `own["song"]`, then the shipped
       one. A name alone serves a list of the user, never a shipped one: branches of a library are
       no branches of software. A name such as `note_id` has that of ids;
    5. the free text, `own["free_text"]` or the shipped one.

    A skill's list (not the user's own) is joined with the list of its kind: skills list
    some dozens of values, to be read; a parser that is to copy values needs to see many.

    Attributes:
        library: the skills.
        own: lists that the user brought, by parameter, entity type or tag; see `datasets`.
        widen: whether skills' lists are joined with shipped ones.
        shipped: whether there are any; but for ids they are of the default language alone.
        made: texts where no other list has any.
    """

    library: SkillLibrary
    own: Mapping[str, ValueList] = field(default_factory=dict)
    widen: bool = True
    shipped: bool = True
    made: ValueList = NO_LIST
    _chosen: dict[tuple[str, str], ChosenList] = field(default_factory=dict, repr=False)

    def values_for(self, type_: Type, parameter: str) -> ValueList:
        """Return the list of values for a String or Entity parameter.

        Args:
            type_: the type of the placeholder (`slots.slot_type`).
            parameter: as in `records.Slot`, such as "@com.gmail.inbox:sender", or "".
        """
        return self.choose(type_, parameter).values

    def choose(self, type_: Type, parameter: str) -> ChosenList:
        """Return the list for a parameter and the rule that chose it."""
        key = (str(type_), parameter)
        if key not in self._chosen:
            self._chosen[key] = self._choose(type_, parameter)
        return self._chosen[key]

    def _choose(self, type_: Type, parameter: str) -> ChosenList:
        type_ = _element(type_)
        name = parameter.rpartition(":")[2]
        for key in (parameter, name):
            if key in self.own and key not in kinds():
                return ChosenList(self.own[key], "parameter")
        if type_ == STRING and isinstance(declared := self._element_type(parameter), Entity):
            type_ = declared  # a name that a program looks for by its words
        if isinstance(type_, Entity):
            return self._of_entity(type_.kind, self._tag(parameter), name)
        if type_ != STRING:
            raise ValueError(f"values of {type_} are written, not listed: see augment.written")
        chosen = self._of_tag(self._tag(parameter)) or self._by_kind(name)
        chosen = chosen or self._of_code(name) or self._generic()
        return chosen if len(chosen.values) else ChosenList(self.made, "made")

    def _of_entity(self, kind: str, tag: str | None, name: str) -> ChosenList:
        types = (kind, *self._parents(kind))
        named = (self._find_list(type_name, "entity") for type_name in types)
        chosen = next((each for each in named if each), None) or self._of_tag(tag)
        for type_name in () if chosen else types:
            declared = self.library.entity_types.get(type_name)
            chosen = self._of_tag(declared.value_list if declared else None)
            if chosen or (chosen := self._by_kind(type_name)):
                break
        return chosen or self._by_kind(kind.rpartition(":")[2], name) or self._generic()

    def _of_tag(self, tag: str | None) -> ChosenList | None:
        if tag is None:
            return None
        return self._find_list(tag, "tag") or self._by_kind(tag, tag.rpartition(":")[2])

    def _of_code(self, name: str) -> ChosenList | None:
        """Return ids and numbers for a name that ends so, such as `note_id` or `orderNumber`."""
        last = _WORD.findall(name)[-1:]
        is_code = last and kinds_by_use().get(last[0].lower()) == kinds()[CODE]
        return ChosenList(self._of_kind(CODE), "shipped") if is_code else None

    def _by_kind(self, *uses: str) -> ChosenList | None:
        """Return the list of the first use that some kind serves; of a name, the user's alone."""
        for use in uses:
            kind = kinds_by_use().get(use)
            if kind and (":" in use or not self.own.keys().isdisjoint((kind.name, *kind.parts))):
                return ChosenList(self._of_kind(kind.name), "shipped")
        return None

    def _generic(self) -> ChosenList:
        return ChosenList(self._of_kind(GENERIC), "generic")

    def _of_kind(self, kind: str) -> ValueList:
        """Return the user's list of a kind or of its parts, else the shipped one."""
        parts = kinds()[kind].parts
        if kind not in self.own and any(part in self.own for part in parts):
            return union(kind, kind, [self._of_kind(part) for part in parts], even=True)
        is_shipped = self.shipped or kind == CODE
        return self.own.get(kind) or (shipped_list(kind) if is_shipped else NO_LIST)

    def _find_list(self, name: str, origin: Origin) -> ChosenList | None:
        """Return the user's or the skill's list of a name."""
        if name in self.own:
            return ChosenList(self.own[name], origin)
        listed = self.library.value_lists.get(name)
        if listed is None:
            return None
        values = of_library(listed)
        kind = kinds_by_use().get(name)
        if kind is None or not self.widen:
            return ChosenList(values, origin)
        more = self._of_kind(kind.name)
        joined = union(f"{name} + {more.name}", kind.name, [values, more])
        return ChosenList(joined, origin, is_widened=True)

    def _parents(self, kind: str) -> tuple[str, ...]:
        """Return the types that an entity type extends, nearest first."""
        parents: dict[str, None] = {}
        waiting = [kind]
        while waiting:
            declared = self.library.entity_types.get(waiting.pop(0))
            new = [p for p in (declared.parents if declared else ()) if p not in parents]
            parents.update(dict.fromkeys(new))
            waiting.extend(new)
        return tuple(parents)

    def _tag(self, parameter: str) -> str | None:
        declared = self._parameter(parameter)
        return declared.value_list if declared else None

    def _element_type(self, parameter: str) -> Type | None:
        declared = self._parameter(parameter)
        return _element(declared.type) if declared else None

    def _parameter(self, parameter: str) -> Parameter | None:
        qualified, _, name = parameter.rpartition(":")
        function = self.library.find(qualified) if qualified else None
        return function.signature.parameter(name) if function else None


def _element(type_: Type) -> Type:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_


def of_library(listed: ListedValues) -> ValueList:
    """Return a list of a library, its values split into tokens as sentences are.

    >>> from genie_dp.skills.model import SkillValues
    >>> of_library(SkillValues("com.x:city", ("Paris", "st. john's"), (1.0, 1.0))).texts
    ('paris', "st . john 's")
    """
    kind = kinds_by_use().get(listed.name)
    texts = [join_tokens(value) for value in listed.values]
    return value_list(listed.name, kind.name if kind else "", texts, listed.weights)


# --------------------------------------------------------------------------------------- reports


def without_listed(
    problems: Sequence[Problem], library: SkillLibrary
) -> tuple[list[Problem], list[str]]:
    """Return the problems without those of values that another list has, and a line for each list.

    That list is a shipped one, or that of a type which an entity type extends. Where no list is
    declared, the hint of the problem shows which values are taken, and a shipped list of that name.
    """
    parameters = dict(_parameters_by_place(library))
    source = LibraryValues(library)
    problems_left: list[Problem] = []
    parameters_of: dict[str, list[str]] = {}
    for problem in problems:
        parameter = None if problem.span is None else parameters.get(problem.span)
        if problem.code not in NO_VALUES or parameter is None:
            problems_left.append(problem)
            continue
        name, type_ = parameter
        choice = source.choose(type_, name)
        if choice.origin == "generic":
            hint = f"{problem.hint}; {_undeclared_values(type_, name)}"
            problems_left.append(replace(problem, hint=hint))
        else:
            parameters_of.setdefault(_list_text(choice), []).append(name)
    return problems_left, [_served_text(*served) for served in sorted(parameters_of.items())]


def _undeclared_values(type_: Type, parameter: str) -> str:
    """Return which values a parameter has without a list, or how to declare a shipped one.

    >>> _undeclared_values(STRING, "@com.x.f:stock_name")  # doctest: +ELLIPSIS
    'for values such as ..., write #[string_values="tt:stock"]'
    """
    while isinstance(type_, Array):
        type_ = type_.element
    name = parameter.rpartition(":")[2]
    entity = type_.kind.rpartition(":")[2] if isinstance(type_, Entity) else ""
    kind = kinds_by_use().get(entity) or kinds_by_use().get(name)
    texts = shipped_list(kind.name if kind else GENERIC).texts
    examples = ", ".join(repr(texts[i * len(texts) // _EXAMPLES]) for i in range(_EXAMPLES))
    if kind is None:
        return f"until then it is filled with any texts, such as {examples}"
    tag = f'#[string_values="tt:{kind.name}"]'
    return f"for values such as {examples}, write {f'entity {entity} {tag};' if entity else tag}"


def _parameters_by_place(library: SkillLibrary) -> Iterator[tuple[Span, tuple[str, Type]]]:
    """Yield the place of each parameter, with its full name and type."""
    for skill in library.skills:
        for definition in skill.classes:
            for function in definition.functions:
                for param in function.params:
                    name = f"@{definition.name}.{function.name}:{param.name}"
                    if param.span is not None:
                        yield param.span, (name, param.type)


def _list_text(choice: ChosenList) -> str:
    """Return a list with how many values it has.

    >>> _list_text(ChosenList(value_list("song", "song", ["home", "rain"]), "shipped"))
    'shipped list song (2 values)'
    """
    values = choice.values
    sort = "shipped list" if choice.origin == "shipped" else "list"
    count = "1 value" if len(values) == 1 else f"{len(values):,} values"
    return f"{sort} {values.name} ({count})"


def _served_text(list_text: str, parameters: Sequence[str]) -> str:
    rest = len(parameters) - _MOST_SHOWN
    more = f" and {rest:,} more" if rest > 0 else ""
    return f"{list_text} serves {', '.join(parameters[:_MOST_SHOWN])}{more}"


@dataclass(frozen=True, slots=True)
class ParameterValues:
    """A parameter, its type, and the list that was chosen; None where values are written."""

    parameter: str
    type: str
    choice: ChosenList | None


def chosen_lists(library: SkillLibrary, source: ValueSource) -> Iterator[ParameterValues]:
    """Yield every parameter of the library that people can give a value, function by function."""
    for signature in library.functions():
        for parameter in signature.parameters:
            type_ = _element(parameter.type)
            if slot_stem(type_) is None:
                continue
            name = f"{signature.qualified}:{parameter.name}"
            is_listed = type_ == STRING or isinstance(type_, Entity)
            choice = source.choose(type_, name) if is_listed else None
            yield ParameterValues(name, str(type_), choice)


def lists_table(library: SkillLibrary, source: ValueSource) -> Iterator[str]:
    """Yield which list serves each parameter, as lines of TSV with a header."""
    yield "parameter\ttype\tchosen by\tlist\tvalues"
    for row in chosen_lists(library, source):
        if row.choice is None:
            yield f"{row.parameter}\t{row.type}\twritten\t-\t-"
            continue
        values = row.choice.values
        yield f"{row.parameter}\t{row.type}\t{row.choice.origin}\t{values.name}\t{len(values)}"
