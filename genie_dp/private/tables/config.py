"""Settings of a private table."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, get_args

from genie_dp.recipe import Setting, check_settings, setting

Method = Literal["aim", "independent"]
METHODS: tuple[Method, ...] = get_args(Method)
# The most values of a column where nobody says; the others are one more.
MOST_VALUES = 100
# Columns whose values are those of a library.
OF_LIBRARY = frozenset(("function", "skill"))


def needs_library(columns: Iterable[str]) -> bool:
    """Tell whether values of columns come from a library: functions and skills do."""
    return not OF_LIBRARY.isdisjoint(columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableConfig:
    """What a table tells of private rows, and with how much noise; nothing of it is private."""

    epsilon: float = field(
        metadata={
            "setting": Setting("What this release costs by itself, at the budget's delta.", above=0)
        }
    )
    columns: tuple[str, ...] = ()
    """Names of columns, of which the values are found in what is public; else there is a schema."""
    most: int = setting(
        MOST_VALUES,
        "Values of a column, at most; the others are one more, <other>.",
        least=1,
        most=999,
        metavar="N",
    )
    method: Method = setting(
        "aim",
        "aim keeps what goes together; independent measures every column by itself.",
        choices=METHODS,
    )

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
