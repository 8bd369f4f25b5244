"""Parts of a split, and the overlap that they must not have."""

import re
from dataclasses import dataclass
from typing import Literal

from genie_dp.errors import GenieError, Problem

By = Literal["sentence", "program", "functions", "id"]
_NAME = re.compile(r"[A-Za-z][\w-]*")


@dataclass(frozen=True, slots=True)
class SplitPart:
    """A part of the split: a share of all groups, a number of rows, or the rest.

    Attributes:
        share: of the groups, above 0 and below 1; None for another sort of part.
        rows: whole groups are taken until there are that many; None for another sort of part.
    """

    name: str
    share: float | None = None
    rows: int | None = None

    @classmethod
    def parse(cls, text: str) -> "SplitPart":
        """Return the part of `NAME`, `NAME=0.1`, `NAME=10%` or `NAME=1000`.

        >>> SplitPart.parse("test=10%")
        SplitPart(name='test', share=0.1, rows=None)
        >>> SplitPart.parse("test=1000")
        SplitPart(name='test', share=None, rows=1000)

        Raises:
            GenieError: it is none of them (D001).
        """
        name, _, size = text.partition("=")
        check_part_name(name, "letters, digits, - and _, such as --part test=0.1")
        if size in ("", "rest"):
            return cls(name)
        if size.isdecimal() and int(size) > 0:
            return cls(name, rows=int(size))
        try:
            share = float(size.removesuffix("%")) / (100 if size.endswith("%") else 1)
        except ValueError:
            share = 0.0
        if not 0 < share < 1:
            hint = "a share such as 0.1 or 10%, or a number of rows such as 1000"
            raise part_error(f"expected the size of {name}, got {size!r}", hint)
        return cls(name, share=share)

    @property
    def is_rest(self) -> bool:
        """Return whether the part takes the rest."""
        return self.share is None and self.rows is None


def check_part_name(name: str, hint: str = "letters, digits, - and _") -> None:
    """Refuse a name that no part may have (D001)."""
    if not _NAME.fullmatch(name):
        raise part_error(f"expected the name of a part, got {name!r}", hint)


def part_error(message: str, hint: str) -> GenieError:
    """Return the error of parts that cannot be made (D001)."""
    return GenieError(Problem("D001", message, hint=hint))
