"""Which warnings of missing values `genie-dp check` need not give: a shipped list has them."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from genie_dp.augment.values import Choice, LibraryValues
from genie_dp.errors import Problem, Span
from genie_dp.languages.thingtalk.types import Type
from genie_dp.skills.model import Library

# An entity type, a text, a value list without a file.
MISSING = frozenset(("K102", "K103", "K104"))
_SHOWN = 4


@dataclass(frozen=True, slots=True)
class Covered:
    """A parameter without values of its own, and the list that it takes them from.

    That list is a shipped one, or that of a type which its entity type extends.
    """

    parameter: str
    choice: Choice


def told_apart(
    problems: Iterable[Problem], library: Library
) -> tuple[list[Problem], list[Covered]]:
    """Return the problems that stay, and the parameters of those that a shipped list mends."""
    parameters = dict(_parameters(library))
    source = LibraryValues(library)
    stay: list[Problem] = []
    covered: list[Covered] = []
    for problem in problems:
        found = parameters.get(problem.span) if problem.code in MISSING and problem.span else None
        choice = source.choose(found[1], found[0]) if found else None
        if found and choice and choice.origin != "generic":
            covered.append(Covered(found[0], choice))
        else:
            stay.append(problem)
    return stay, covered


def _parameters(library: Library) -> Iterator[tuple[Span, tuple[str, Type]]]:
    """Yield the place of each parameter, with its full name and type."""
    for skill in library.skills:
        for definition in skill.classes:
            for function in definition.functions:
                for param in function.params:
                    name = f"@{definition.name}.{function.name}:{param.name}"
                    if param.span is not None:
                        yield param.span, (name, param.type)


def summary(covered: Iterable[Covered]) -> Iterator[str]:
    """Yield a line for each list: how many values it has, and which parameters take them.

    >>> from genie_dp.augment.lists import value_list
    >>> choice = Choice(value_list("song", "song", ["home", "rain"]), "shipped")
    >>> print(*summary([Covered("@com.x.play:track", choice)]))
    shipped list song (2 values) serves @com.x.play:track
    """
    users: dict[str, list[str]] = {}
    for one in covered:
        values = one.choice.values
        sort = "shipped list" if one.choice.origin == "shipped" else "list"
        count = "1 value" if len(values) == 1 else f"{len(values):,} values"
        users.setdefault(f"{sort} {values.name} ({count})", []).append(one.parameter)
    for name, parameters in sorted(users.items()):
        more = len(parameters) - _SHOWN
        rest = f" and {more:,} more" if more > 0 else ""
        yield f"{name} serves {', '.join(parameters[:_SHOWN])}{rest}"
