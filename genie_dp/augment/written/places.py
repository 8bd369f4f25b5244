"""Places with their position: cities by name; addresses and phone numbers in several spellings."""

from functools import lru_cache
from random import Random

from genie_dp.augment.lists import ValueList, shipped, shipped_rows
from genie_dp.augment.written.form import Written, chosen, written

HERE = (
    ("home", "location:home"), ("my home", "location:home"), ("my house", "location:home"),
    ("work", "location:work"), ("my office", "location:work"), ("my workplace", "location:work"),
    ("here", "location:current_location"), ("my location", "location:current_location"),
    ("my current location", "location:current_location"),
)  # fmt: skip
_WAYS = {
    "street": "st", "avenue": "ave", "road": "rd", "lane": "ln", "drive": "dr", "court": "ct",
    "boulevard": "blvd", "place": "pl", "apartment": "apt", "north": "n", "south": "s",
    "east": "e", "west": "w",
}  # fmt: skip


def place(rng: Random) -> Written:
    """Return a place by its name: a city with its position, or home, work, here."""
    if rng.random() < 0.1:
        return written(*HERE[int(rng.random() * len(HERE))])
    cities, positions = _cities()
    index = cities.pick(rng.random())
    name = cities.texts[index]
    latitude, longitude = positions[index]
    return written(name, f'" {name} " at:{latitude}:{longitude}')


@lru_cache(maxsize=1)
def _cities() -> tuple[ValueList, tuple[tuple[str, str], ...]]:
    positions = tuple(row.place for row in shipped_rows("city") if row.place is not None)
    return shipped("city"), positions


def phone(rng: Random) -> Written:
    """Return a phone number as people type it; its value is the number without spaces."""
    number = shipped("phone_number").draw(rng)[0]
    area, office, line = number[2:5], number[5:8], number[8:]
    spellings = (
        (f"{area}-{office}-{line}", 4.0),
        (f"( {area} ) {office}-{line}", 3.0),
        (f"{area} {office} {line}", 2.0),
        (f"{area}.{office}.{line}", 0.5),
        (f"+1 {area} {office} {line}", 1.0),
        (f"1-{area}-{office}-{line}", 1.0),
        (f"{area}{office}{line}", 2.0),
        (number, 1.0),
    )
    return chosen(rng, spellings, f'" {number} " ^^tt:phone_number')


def address(rng: Random) -> Written:
    """Return an address as people type it; its value spells the street out."""
    full = shipped("street_address").draw(rng)
    short = tuple(_WAYS.get(word, word) for word in full)
    street_only = tuple(_WAYS.get(w, w) if w in _ENDS else w for w in full)
    spellings = tuple((" ".join(words), 1.0) for words in dict.fromkeys((full, short, street_only)))
    return chosen(rng, spellings, f'" {" ".join(full)} "')


_ENDS = frozenset(("street", "avenue", "road", "boulevard", "drive"))
