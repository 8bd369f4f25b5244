"""Whether the functions of a compound have to do with each other: others confuse workers."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from genie_dp.languages.thingtalk.signatures import Signature
from genie_dp.skills.entities import entity_kind

_FUNCTION = re.compile(r"@[\w.-]+\.\w+")
_PARAMETER = re.compile(r"param:(\w+):")

Pair = frozenset[str]


def passed(program: str, functions: Mapping[str, Signature]) -> frozenset[Pair]:
    """Return the pairs of functions between which a program passes a value.

    Args:
        program: in token form, `.. on param:status:String = param:title:String`.
        functions: the signatures by name; the nearest function before with that output gives it.

    >>> sorted(map(sorted, passed("now => @a.q => @b.p on param:x:T = param:y:T", {})))
    [['@a.q', '@b.p']]
    """
    tokens = program.split(" ")
    seen: list[str] = []
    found: set[Pair] = set()
    for i, token in enumerate(tokens):
        if _FUNCTION.fullmatch(token):
            seen.append(token)
        elif (
            token == "=" and len(seen) > 1 and 0 < i < len(tokens) - 1
            and _PARAMETER.match(tokens[i - 1]) and (source := _PARAMETER.match(tokens[i + 1]))
        ):  # fmt: skip
            *before, taker = seen
            givers = [f for f in before if _gives(functions.get(f), source[1])]
            found.add(frozenset((taker, givers[-1] if givers else before[-1])))
    return frozenset(found)


def _gives(signature: Signature | None, name: str) -> bool:
    return signature is None or any(p.name == name for p in signature.outputs)


@dataclass(slots=True)
class Relatedness:
    """Tells which functions have to do with each other. Two functions are related if

    - they belong to one skill;
    - the program passes a value from one to the other;
    - they have a parameter of one entity type, such as a restaurant, that few skills know: a link
      or a picture relates nothing;
    - their skills extend a common class, or the categories give both one name.

    Attributes:
        functions: the signatures by name.
        lineages: skill -> the classes that it extends.
        categories: skill or function -> the names of what it is about.
    """

    functions: Mapping[str, Signature] = field(default_factory=dict)
    lineages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    categories: Mapping[str, frozenset[str]] = field(default_factory=dict)
    _topics: dict[str, frozenset[str]] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        """Find what each function is about."""
        uses = Counter(
            kind for kinds in _kinds_by_skill(self.functions.values()).values() for kind in kinds
        )
        skills = len({signature.class_name for signature in self.functions.values()})
        # Of the shipped 49 skills at most 4: restaurants, rooms, languages; not links or mail.
        rare = {kind for kind, count in uses.items() if count <= max(2, skills // 10)}
        for name, signature in self.functions.items():
            self._topics[name] = self._about(name, signature, rare)

    def _about(self, name: str, signature: Signature, rare: set[str]) -> frozenset[str]:
        skill = signature.class_name
        topics = {f"skill {base}" for base in (skill, *self.lineages.get(skill, ()))}
        topics |= {f"type {kind}" for kind in _kinds(signature) if kind in rare}
        named = self.categories.get(skill, frozenset()) | self.categories.get(name, frozenset())
        return frozenset(topics | {f"category {category}" for category in named})

    def are_related(self, names: Iterable[str], program: str) -> bool:
        """Tell whether the functions of a program hang together, each with another one."""
        distinct = sorted(set(names))
        if len(distinct) < 2:
            return True
        passing = passed(program, self.functions)
        groups = {name: {name} for name in distinct}
        for left, right in combinations(distinct, 2):
            if frozenset((left, right)) in passing or self._share(left, right):
                joined = groups[left] | groups[right]
                groups.update(dict.fromkeys(joined, joined))
        return len(groups[distinct[0]]) == len(distinct)

    def _share(self, left: str, right: str) -> bool:
        return bool(self._topic(left) & self._topic(right))

    def _topic(self, name: str) -> frozenset[str]:
        # A function that the library does not know still tells its skill.
        return self._topics.get(name) or frozenset({f"skill {name.lstrip('@').rpartition('.')[0]}"})


def _kinds(signature: Signature) -> set[str]:
    return {kind for p in signature.parameters if (kind := entity_kind(p.type))}


def _kinds_by_skill(signatures: Iterable[Signature]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for signature in signatures:
        found.setdefault(signature.class_name, set()).update(_kinds(signature))
    return found
