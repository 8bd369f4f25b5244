"""Notes on what was guessed, changed or left out where templates were made of something else."""

from dataclasses import dataclass
from typing import Literal

from genie_dp.located import Place


@dataclass(frozen=True, slots=True)
class Note:
    """What a person should look at.

    Attributes:
        path: where it stands in the source, such as "tools.3.parameters.level" or "intents.yaml:7".
        text: a sentence.
        sort: "guess", what was made up; "left out", what is not there; "changed", what is said in
            another way; "not checked", what calls need not obey.
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
