"""Places by list: the shipped cities with their positions, and home, work, here."""

from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from genie_dp.augment.gazetteer import OWN_PLACES, ListedPlace, gazetteer
from genie_dp.augment.values import shipped_list
from genie_dp.parser.reading.reading import ValueCandidate
from genie_dp.parser.reading.sentence import TextTokens
from genie_dp.texts import without_accents, word_set

DATA = Path(__file__).parent / "data"
# Weights of the list. Larger cities are known by their name alone; if it is a person's as well,
# even larger ones.
_KNOWN_SIZE, _KNOWN_NAME, _KNOWN_REGION = 50.0, 140.0, 40.0
_OF_PEOPLE_TOO = frozenset(("to", "from", "for"))
_BEFORE = word_set(
    """
    in near around from to for at outside over towards toward via through across inside into
    visit visiting between leaving reach reaching
    """
)
# A name that goes on with these is another place, or none: "the new york times".
_AFTER_NAME = frozenset(("times", "post", "park", "square", "university", "college", "street"))
# Before another word that is a city as well they make it no city: "to the airport", "my office".
_OF_THINGS = word_set("the a an this that my your our his her their every each any")


@cache
def stop_words() -> frozenset[str]:
    """Return the names of places that are nearly always something else: "nice", "of", "mobile"."""
    lines = (DATA / "place_words.txt").read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


# First word -> names of where one is, and their values.
_OWN: dict[str, list[tuple[tuple[str, ...], str]]] = {}
for _name, _value in OWN_PLACES.items():
    _OWN.setdefault(_name.split()[0], []).append((tuple(_name.split()), _value))


def places(s: TextTokens) -> Iterator[ValueCandidate]:
    """Yield the candidates that are places."""
    begins = [i for i, word in enumerate(s.words) if _begins_place(word)]
    if not begins:
        return
    by_name, longest = gazetteer()
    words_ = tuple(word if word.isascii() else without_accents(word) for word in s.words)
    for i in begins:
        word = words_[i]
        length_limit = longest.get(word, 0)
        for length in range(min(length_limit, len(s.words) - i), 0, -1):
            name = " ".join(words_[i : i + length])
            place = by_name.get(name)
            if place is not None:
                if name in stop_words() and s.word(i - 1) in _OF_THINGS:
                    break
                yield _candidate(s, i, length, name, place)
                break
        for words, value in _OWN.get(word, ()):
            if s.has(i, *words):
                yield s.candidate(i, i + len(words), "LOCATION", value, weak=True)


def are_known(words: Iterable[str]) -> bool:
    """Return whether some words are names of places, and not nearly always something else."""
    by_name, _ = gazetteer()
    return any(word in by_name and word not in stop_words() for word in words)


def words_after(word: str) -> frozenset[str]:
    """Return the words that may follow a word in the name of a place: "york" after "new"."""
    return _second_words().get(word, frozenset())


@cache
def _second_words() -> dict[str, frozenset[str]]:
    words: dict[str, set[str]] = {}
    for name in gazetteer()[0]:
        first, *others = name.split(" ")
        words.setdefault(first, set()).update(others[:1])
    return {first: frozenset(others) for first, others in words.items() if others}


@lru_cache(maxsize=1 << 15)
def _begins_place(word: str) -> bool:
    plain = word if word.isascii() else without_accents(word)
    return plain in gazetteer()[1] or plain in _OWN


def _candidate(
    s: TextTokens, at: int, length: int, name: str, place: ListedPlace
) -> ValueCandidate:
    before = s.word(at - 1)
    is_part = s.word(at + length) in _AFTER_NAME
    if is_part or name in stop_words() or (name in _regions() and place.size < _KNOWN_REGION):
        is_weak = True
    elif name in _people():
        is_weak = before not in _BEFORE - _OF_PEOPLE_TOO and place.size < _KNOWN_NAME
    else:
        is_weak = before not in _BEFORE and place.size < _KNOWN_SIZE / length
    return s.candidate(at, at + length, "LOCATION", place.value, weak=is_weak, soft=True)


@cache
def _regions() -> frozenset[str]:
    """Return the names of states and countries, of which small cities far away have some."""
    return frozenset((*shipped_list("us_state").texts, *shipped_list("country").texts))


@cache
def _people() -> frozenset[str]:
    return frozenset(shipped_list("person_first_name").texts)
