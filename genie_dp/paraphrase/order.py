"""Which of two values in a program must be the smaller one, so that a range is not empty."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

from genie_dp.paraphrase.shown import PLACEHOLDER

_PARAMETER = re.compile(r"param:(\w+):")
_LOW = frozenset({"low", "min", "minimum", "from", "start", "after", "lower", "begin", "least"})
_HIGH = frozenset({"high", "max", "maximum", "to", "end", "before", "upper", "until", "most"})


@dataclass(frozen=True, slots=True)
class _Bound:
    """A comparison with a placeholder; `name` says of what, `clause` counts the conjuncts."""

    name: str
    token: str
    is_lower: bool
    clause: int

    @property
    def stem(self) -> str:
        """Return the placeholder without its number."""
        return self.token.rpartition("_")[0]


def orders(program: str) -> frozenset[tuple[str, str]]:
    """Return pairs (smaller, greater) of placeholders of a program in token form.

    A lower bound is smaller than an upper bound of the same parameter; if one of the two is enough
    (`or`), it is the greater one, so that not everything fits. Inputs named low and high, from and
    to and the like are bounds, too.

    >>> sorted(orders("filter param:a:Number > NUMBER_1 and param:a:Number < NUMBER_0"))
    [('NUMBER_1', 'NUMBER_0')]
    >>> sorted(orders("filter param:a:Number > NUMBER_0 or param:a:Number < NUMBER_1"))
    [('NUMBER_1', 'NUMBER_0')]
    """
    found = set()
    for left, right in combinations(_bounds(program.split(" ")), 2):
        if left.name != right.name or left.is_lower == right.is_lower:
            continue
        if left.stem != right.stem or left.token == right.token:
            continue
        lower, upper = (left, right) if left.is_lower else (right, left)
        pair = (lower.token, upper.token)
        found.add(pair if left.clause != right.clause else pair[::-1])
    return frozenset(found)


def _bounds(tokens: list[str]) -> Iterator[_Bound]:
    clause, call = 0, ""
    for i in range(1, len(tokens) - 1):
        if tokens[i].startswith("@"):
            call = f"call {i}"
        name = _PARAMETER.match(tokens[i - 1])
        if tokens[i] in ("and", "=>", "filter"):
            clause += 1
        elif name is not None and PLACEHOLDER.fullmatch(tokens[i + 1]):
            token = tokens[i + 1]
            if tokens[i] in (">", ">=", "<", "<="):
                is_negated = i > 1 and tokens[i - 2] == "not"
                yield _Bound(name[1], token, (tokens[i][0] == ">") != is_negated, clause)
            elif tokens[i] == "=" and (side := _side(name[1])) is not None:
                # Arguments of one call all hold, as conjuncts do.
                yield _Bound(call, token, side, -i)


def _side(name: str) -> bool | None:
    words = set(name.lower().split("_"))
    if words & _LOW:
        return True
    return False if words & _HIGH else None
