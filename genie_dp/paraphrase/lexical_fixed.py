"""Names and set phrases in which no word is replaced: "new york", "hip hop"."""

from collections.abc import Mapping
from functools import lru_cache

from genie_dp.resources import data_folder
from genie_dp.texts import read_text


@lru_cache(maxsize=1)
def fixed_phrases() -> Mapping[str, tuple[tuple[str, ...], ...]]:
    """Return the shipped phrases by their first word.

    >>> fixed_phrases()["hip"]
    (('hip', 'hop'),)
    """
    found: dict[str, tuple[tuple[str, ...], ...]] = {}
    for line in read_text(data_folder("paraphrase/data") / "fixed.txt").splitlines():
        words = tuple(line.split())
        if words and not line.startswith("#"):
            found[words[0]] = (*found.get(words[0], ()), words)
    return found
