"""Names of entities, looked up in the lists of the skills."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

from genie_dp.languages.thingtalk.ast import EntityValue
from genie_dp.languages.thingtalk.slots import slot_stem
from genie_dp.languages.thingtalk.traverse import rewrite
from genie_dp.languages.thingtalk.types import Entity
from genie_dp.skills.model import Library
from genie_dp.skills.words import tokenize

How = Literal["exact", "normalised", "nearest", "unknown", "unlisted"]
# Of 100, in rapidfuzz's ratio: "beetles" is 85.7 to "beatles", "beatls" 92.3.
THRESHOLD = 85.0
_MARGIN = 3.0
_ARTICLES = frozenset(("the", "a", "an", "my", "our"))
Near = Callable[[str, tuple[str, ...]], tuple[str, ...]]


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


@dataclass(frozen=True)
class Names:
    """The names that a library's lists have.

    Attributes:
        library: the skills.
        threshold: how alike a name must be to one of a list, of 100.
    """

    library: Library
    threshold: float = THRESHOLD
    _lists: dict[str, tuple[dict[str, str], dict[str, str]] | None] = field(default_factory=dict)

    def find(self, kind: str, said: str) -> Name:
        """Return what an entity's name stands for."""
        listed = self._list(kind)
        if listed is None:
            return Name(kind, said, said, "unlisted")
        exact, normal = listed
        if said in exact:
            return Name(kind, said, said, "exact")
        key = normalised(said)
        if key in normal:
            return Name(kind, said, normal[key], "normalised")
        near = self._near(key, tuple(normal))
        if len(near) == 1:
            return Name(kind, said, normal[near[0]], "nearest")
        return Name(kind, said, said, "unknown")

    def resolved(self, program: Any) -> tuple[Any, tuple[Name, ...]]:
        """Return a program with the values of the lists, and every name that was looked up."""
        found: list[Name] = []

        def changed(node: Any) -> Any:
            if not isinstance(node, EntityValue) or node.value is None or node.display is not None:
                return node
            if node.kind.startswith("tt:") and self._list(node.kind) is None:
                return node
            # Who types an address means that one, not another that a list has for examples.
            if not str(slot_stem(Entity(node.kind))).startswith("GENERIC_ENTITY"):
                return node
            name = self.find(node.kind, node.value)
            found.append(name)
            return replace(node, value=name.value) if name.value != node.value else node

        return rewrite(program, changed), tuple(found)

    def _list(self, kind: str) -> tuple[dict[str, str], dict[str, str]] | None:
        if kind not in self._lists:
            values = [v for name in self._kinds(kind) for v in self.library.values(name)]
            normal: dict[str, str] = {}
            for value in values:
                normal.setdefault(normalised(value), value)
            self._lists[kind] = (dict.fromkeys(values, ""), normal) if values else None
        return self._lists[kind]

    def _kinds(self, kind: str) -> list[str]:
        """Return a type and those that it extends."""
        kinds = [kind]
        for one in kinds:
            declared = self.library.entity_types.get(one)
            kinds.extend(p for p in (declared.parents if declared else ()) if p not in kinds)
        return kinds

    @cached_property
    def _near(self) -> Near:
        return _nearest(self.threshold)


def normalised(name: str) -> str:
    """Return a name without case, articles and punctuation.

    >>> normalised("The Beatles!"), normalised("the")
    ('beatles', 'the')
    """
    words = [token for token in tokenize(name.casefold()) if any(c.isalnum() for c in token)]
    short = [word for word in words if word not in _ARTICLES]
    return " ".join(short or words)


def _nearest(threshold: float) -> Near:
    def near(name: str, names: tuple[str, ...]) -> tuple[str, ...]:
        from rapidfuzz import fuzz, process

        found = process.extract(name, names, scorer=fuzz.ratio, limit=2, score_cutoff=threshold)
        return _clear([(one[0], one[1]) for one in found])

    return near


def _clear(found: list[tuple[str, float]]) -> tuple[str, ...]:
    """Return the best name alone if no other one is as good as that."""
    if len(found) > 1 and found[0][1] - found[1][1] >= _MARGIN:
        return (found[0][0],)
    return tuple(name for name, _ in found)
