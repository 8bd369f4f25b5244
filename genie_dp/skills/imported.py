"""What readers of other descriptions of skills give: tools, and notes on what was guessed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

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


@dataclass(frozen=True, slots=True)
class FoundTools:
    """The tools of a document.

    Attributes:
        document: JSON that the reader of tools takes: `tools`, and what their schemas refer to.
        notes: in the order of the document.
        places: where each tool stands in what was read, by name; empty where it has a name there.
        moved: where a part of `document` stands in what was read, if that is elsewhere.
        unnamed: tools whose names are made up, since what was read gives them none.
    """

    document: Any
    notes: tuple[Note, ...] = ()
    places: Mapping[str, Place] = field(default_factory=dict)
    moved: Mapping[Place, Place] = field(default_factory=dict)
    unnamed: frozenset[str] = frozenset()

    def place_of(self, path: Place) -> Place:
        """Return where a part of `document` stands in what was read."""
        for end in range(len(path), 0, -1):
            if path[:end] in self.moved:
                return (*self.moved[path[:end]], *path[end:])
        return path


def path_text(place: Place) -> str:
    """Return a place in words.

    >>> path_text(("paths", "/pets", "get", "parameters", 0))
    'paths./pets.get.parameters.0'
    """
    return ".".join(map(str, place))
