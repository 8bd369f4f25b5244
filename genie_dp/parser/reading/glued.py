"""Values inside of words: in "küchenlicht" a name has "licht" glued behind it.

Templates mark glued parts with the word `~`: `'$room ~ licht'`. People write no such
word, so rows to learn from lose it: they only show which parts of a word are no value. A word of a
sentence is taken apart where one of its ends is such a part, and all else of it a known name.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from genie_dp.languages.types import is_slot
from genie_dp.skills.words import GLUE, tokenize

_APOSTROPHE = "'"
_SHORTEST = 2  # letters of a name that is looked for inside of a word
_SHORTEST_WORD = 3  # letters of a word before which others may link it to a name


@dataclass(frozen=True, slots=True)
class Glued:
    """The parts of words that rows glue to values.

    Attributes:
        before: beginnings of words that end in a value.
        after: endings of words that begin with one.
        linking: letters that the language may put between a value and a word behind it, as German
            does in "küche-n-licht".
    """

    before: frozenset[str] = frozenset()
    after: frozenset[str] = frozenset()
    linking: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.before or self.after)

    def __or__(self, other: "Glued") -> "Glued":
        linking = self.linking | other.linking
        return Glued(self.before | other.before, self.after | other.after, linking)

    def as_dict(self) -> dict[str, Any]:
        """Return the parts as a JSON object, to be saved with a parser."""
        return {"before": sorted(self.before), "after": sorted(self.after)}

    def cuts(self, word: str) -> Iterator[tuple[str, str, str]]:
        """Yield (before, value, behind) of the values that may be inside of a word, longest first.

        A hyphen, or linking letters, between them are no part of any.

        >>> list(Glued(frozenset({"de"}), frozenset({"s"})).cuts("de-ovens"))
        [('', 'de-oven', 's'), ('de', 'ovens', ''), ('de', 'oven', 's')]
        """
        starts = ["", *(start for start in self.before if word.startswith(start))]
        ends = ["", *(end for end in self.after if word.endswith(end))]
        cuts = set[tuple[str, str, str]]()
        for start in starts:
            for end in ends:
                inside = word[len(start) : len(word) - len(end)]
                inside = inside.lstrip("-") if start else inside
                inside = inside.rstrip("-") if end else inside
                # Endings of the name itself are no words.
                links = self.linking if len(end) >= _SHORTEST_WORD else ()
                shorter = (inside.removesuffix(link) for link in links)
                if start or end:
                    cuts.update((start, stem, end) for stem in (inside, *shorter) if stem)
        yield from sorted(cuts, key=lambda cut: (-len(cut[1]), cut))

    def apart(
        self,
        tokens: Sequence[str],
        find: Callable[[Sequence[str]], Iterable[tuple[int, int]]],
        *,
        sign: bool = False,
    ) -> tuple[tuple[str, ...], frozenset[int]]:
        """Return a sentence with the names that are glued into words apart, and their places.

        Args:
            tokens: of the sentence.
            find: returns the places of names in one, from and to.
            sign: put `~` where they were glued, as templates do.
        """
        parted, places = list(tokens), set[int]()
        if not self:
            return tuple(parted), frozenset()
        whole = {place for start, end in find(tokens) for place in range(start, end)}
        moved = 0  # tokens that were added so far
        for place, word in enumerate(tokens):
            if place in whole:
                continue
            for start, inside, end in self.cuts(word):
                glue = (GLUE,) if sign else ()
                head: tuple[str, ...] = (start, *glue) if start else ()
                if start.endswith(_APOSTROPHE):
                    head = (start[:-1], _APOSTROPHE)
                parts = (*head, inside, *((*glue, end) if end else ()))
                position = place + moved
                trial = [*parted[:position], *parts, *parted[position + 1 :]]
                stem = position + len(head)
                names = (trial[first:last] for first, last in find(trial) if first <= stem < last)
                if any(len("".join(name)) >= _SHORTEST for name in names):
                    parted, moved = trial, moved + len(parts) - 1
                    places.add(stem)
                    break
        return tuple(parted), frozenset(places)


NOT_GLUED = Glued()


def glued_in(tokens: Sequence[str], values: Collection[str], elided: Collection[str]) -> Glued:
    """Return the parts of words that a row glues to values.

    Args:
        tokens: of its sentence.
        values: words of it that are values, beside placeholders.
        elided: words that are glued to the next one by their apostrophe, as the French "l".

    >>> glued_in("turn on the GENERIC_ENTITY_room_0 ~ light".split(), (), ()).after
    frozenset({'light'})
    >>> glued_in("dans l ' GENERIC_ENTITY_room_0".split(), (), {"l"}).before
    frozenset({"l'"})
    """
    before, after = set[str](), set[str]()
    for place in range(1, len(tokens) - 1):
        word, previous, following = tokens[place], tokens[place - 1], tokens[place + 1]
        if word == GLUE and _is_value(previous, values):
            if following[0].isalpha() and not _is_value(following, values):
                after.add(following)
        elif word == GLUE and _is_value(following, values):
            is_cut = previous == _APOSTROPHE and place > 1
            before.add(f"{tokens[place - 2]}{previous}" if is_cut else previous)
        elif word == _APOSTROPHE and previous in elided and _is_value(following, values):
            before.add(f"{previous}{word}")
    return Glued(frozenset(before), frozenset(after))


def from_dict(data: dict[str, Any]) -> Glued:
    """Return the parts that `Glued.as_dict` returned.

    >>> from_dict(Glued(frozenset(("de",))).as_dict()).before
    frozenset({'de'})
    """
    return Glued(frozenset(map(str, data["before"])), frozenset(map(str, data["after"])))


def as_read(tokens: Sequence[str], values: Collection[str] = ()) -> tuple[str, ...]:
    """Return a sentence of a template as a sentence of people is read.

    Args:
        tokens: with `~` where words are glued together.
        values: words that stand for values, beside placeholders.

    >>> as_read("dim the sun ~ light or GENERIC_ENTITY_room_0 ~ light - ~ lamp".split())
    ('dim', 'the', 'sunlight', 'or', 'GENERIC_ENTITY_room_0', 'light', '-', 'lamp')
    """
    parts: list[str] = []
    is_joined = False
    for place, token in enumerate(tokens):
        if token == GLUE and 0 < place < len(tokens) - 1:
            sides = tokens[place - 1], tokens[place + 1]
            is_joined = not any(_is_value(side, values) for side in sides)
            continue
        word = f"{parts[-1]}{token}" if is_joined else ""
        if is_joined and tokenize(word) == (word,):
            parts[-1] = word
        else:
            parts.append(token)
        is_joined = False
    return tuple(parts)


def _is_value(token: str, values: Collection[str]) -> bool:
    return is_slot(token) or token in values
