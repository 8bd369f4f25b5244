"""The shipped cities by their names, with their positions."""

from dataclasses import dataclass
from functools import cache

from genie_dp.augment.values import shipped_rows
from genie_dp.locale import DEFAULT, words_of

_NEVER = frozenset(("of", "than", "can", "most"))  # cities, too, but nobody means these
_MOST_WORDS = 5
# What people call some cities of the list.
_SHORT = {"new york": "new york city", "nyc": "new york city", "washington dc": "washington"}

# Where one is oneself, as placeholders of places are said, and its value in programs.
OWN_PLACES = {
    name: f"location:{place}"
    for name, place in words_of(DEFAULT).places.items()
    if not name.startswith("at ")
}


@dataclass(frozen=True, slots=True)
class ListedPlace:
    """A place of the list: its value in programs, and how many thousand people live there."""

    value: str
    size: float


@cache
def gazetteer() -> tuple[dict[str, ListedPlace], dict[str, int]]:
    """Return the places by name, and for each first word the most words of a name."""
    by_name: dict[str, ListedPlace] = {}
    longest: dict[str, int] = {}
    for row in shipped_rows("city"):
        if row.place is None or row.value in _NEVER:
            continue
        latitude, longitude = row.place
        by_name.setdefault(
            row.value, ListedPlace(f'" {row.value} " at:{latitude}:{longitude}', row.weight)
        )
        words = row.value.split(" ")
        longest[words[0]] = max(longest.get(words[0], 0), min(len(words), _MOST_WORDS))
    short = {name.replace(" . ", " "): name for name in by_name if name.startswith("st . ")}
    for name, full in (*_SHORT.items(), *short.items()):
        by_name.setdefault(name, by_name[full])
        longest[name.split()[0]] = max(longest.get(name.split()[0], 0), len(name.split()))
    return by_name, longest
