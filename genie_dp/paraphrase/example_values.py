"""Example values for placeholders, from a file of constants, the skills' lists and short tables."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from genie_dp.languages.thingtalk.slots import slot_type
from genie_dp.languages.thingtalk.types import STRING, Array, Entity, Type
from genie_dp.paraphrase.daytime import hour_of, is_then, part_of_day
from genie_dp.paraphrase.example_table import TABLE
from genie_dp.paraphrase.order import orders
from genie_dp.paraphrase.quantity import quantity
from genie_dp.paraphrase.shown import Shown, placeholders, same_words, show, utterance_of
from genie_dp.paraphrase.typed import words_of
from genie_dp.records import Example
from genie_dp.rng import stream
from genie_dp.skills.model import Library

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
    library: Library | None = None
    seed: int = 0
    _pools: dict[tuple[str, str], tuple[str, ...]] = field(default_factory=dict, repr=False)

    def shown(self, row: Example) -> Shown | None:
        """Return a row with example values; None if no draw can be read back from the sentence."""
        tokens = placeholders(row.utterance)
        pools = {token: self.pool(row, token) for token in tokens}
        if not all(pools.values()):
            return None
        rng = stream(self.seed, "paraphrase", "values", row.utterance, row.program)
        smaller = _orders(row, tokens)
        for _ in range(TRIES):
            values = _drawn(rng, pools)
            if values is None:
                return None
            shown = show(row, _swapped(values, pools, smaller))
            if _is_in_order(shown, smaller) and _is_of_its_day(shown) and _is_readable(shown):
                return shown
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
        listed = tuple(dict.fromkeys(self._listed(stem, parameter)))
        if stem.startswith("GENERIC_ENTITY") and stem.rpartition(":")[2] in _TITLES:
            return tuple(f'"{value}"' for value in listed)
        return listed or TABLE.get(stem, ())

    def _listed(self, stem: str, parameter: str) -> Iterator[str]:
        if self.library is None:
            return
        for name in (*self._tag(parameter), *self._kinds(slot_type(f"{stem}_0"))):
            yield from self.library.values(name)

    def _tag(self, parameter: str) -> Iterator[str]:
        function, _, name = parameter.rpartition(":")
        found = self.library.find(function) if self.library and function else None
        declared = found.signature.parameter(name) if found else None
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
            known = self.library.entity_types.get(kind)
            waiting.extend(known.parents if known else ())


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
    found = {pair for pair in orders(row.program) if set(pair) <= set(tokens)}
    bound = {token for pair in found for token in pair}
    for left, right in zip(tokens, tokens[1:], strict=False):
        if left.rpartition("_")[0] == right.rpartition("_")[0] and not bound & {left, right}:
            ours, theirs = row.slots.get(left), row.slots.get(right)
            if ours == theirs:
                found.add((left, right))
    return frozenset(found)


def _drawn(rng: Random, pools: Mapping[str, tuple[str, ...]]) -> dict[str, str] | None:
    """Draw a value for each placeholder, from one pool never the same; None if it has too few."""
    values: dict[str, str] = {}
    for pool in dict.fromkeys(pools.values()):
        tokens = [token for token in pools if pools[token] == pool]
        if len(tokens) > len(pool):
            return None
        values |= zip(tokens, rng.sample(pool, len(tokens)), strict=True)
    return values


def _swapped(
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


def _is_in_order(shown: Shown, smaller: frozenset[tuple[str, str]]) -> bool:
    sizes = {value.token: quantity(value.bare) for value in shown.values}
    for left, right in smaller:
        less, more = sizes[left], sizes[right]
        if less is not None and more is not None and less >= more:
            return False
    return True


def _is_of_its_day(shown: Shown) -> bool:
    """Tell whether no time contradicts the part of the day beside it ("morning at 2:30 pm")."""
    tokens = shown.example.utterance.split(" ")
    for value in shown.values:
        if value.token.startswith("TIME_"):
            hour = hour_of(value.bare)
            part = part_of_day(tokens, tokens.index(value.token))
            if hour is not None and not is_then(part, hour):
                return False
    return True


def _is_readable(shown: Shown) -> bool:
    """Tell whether the values differ and each can be found again, and only where it stands."""
    texts = [words_of(value.bare.lstrip("@#")) for value in shown.values]
    if len(set(texts)) < len(texts):
        return False
    back = utterance_of(shown, shown.sentence)
    return back is not None and same_words(back, shown.example.utterance)
