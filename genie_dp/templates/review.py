"""Notes on guesses, changes and omissions where templates were made of something else."""

from dataclasses import dataclass
from typing import Literal

from genie_dp.located import Place


@dataclass(frozen=True, slots=True)
class Note:
    """A point for a person to review.

    Attributes:
        path: where it stands in the source, such as "tools.3.parameters.level" or "intents.yaml:7".
        text: a sentence.
        sort: "guess", which was made up; "left out", which is not there; "changed", which is put
            in other words; "not checked", which calls need not obey.
    """

    path: str
    text: str
    sort: Literal["guess", "left out", "changed", "not checked"] = "guess"


def path_text(place: Place) -> str:
    """Return a place in words.

    >>> path_text(("paths", "/pets", "get", "parameters", 0))
    'paths./pets.get.parameters.0'
    """
    return ".".join(map(str, place))
