"""What makes two rows belong together when a data set is split: its keys."""

import re
from collections.abc import Callable, Mapping, Sequence

import xxhash

from genie_dp.dataset.config import By
from genie_dp.languages.functions import without_text

# A text, its entity type and its identifier; a placeholder; a number with its units, money, a day.
# It begins with a space, so that the search skips from one to the next.
_VALUES = re.compile(
    r' (?:(?:null )?""(?: \^\^\S+(?: id:\S+)?| at:\S+)?'
    r"|[A-Z][A-Z_]*(?:_[\w.:-]+)?_\d+"
    r"|-?\d[\d.]*(?:[eE][-+]?\d+)?L?(?: unit:\w+)*(?: -?\d[\d.]* unit:\w+)*"
    r"|currency:\S+|date:\S+|time:\S+|location:-?\d\S*)(?!\S)"
)


def hashed(text: str) -> int:
    """Return a 64-bit hash; two of a million texts share one with chance 3e-8."""
    return xxhash.xxh3_64_intdigest(text.encode())


def program_key(program: str) -> str:
    """Return a program without its values: those that differ in values only are one.

    Placeholders count as values; words of the language (enums, places such as home) stay.

    >>> program_key('now => @c.say param:text:String = " hello you "')
    'now => @c.say param:text:String = _'
    >>> program_key("now => @c.say param:text:String = QUOTED_STRING_0")
    'now => @c.say param:text:String = _'
    """
    return _VALUES.sub(" _", without_text(program))


def combination(functions: Sequence[str]) -> str:
    """Return the combination of functions, whatever their order: "149 pairs" (Genie, 5.2).

    >>> combination(["@c.b", "@a.b", "@c.b"])
    '@a.b @c.b'
    """
    return " ".join(sorted(set(functions)))


Key = Callable[[str, str, Sequence[str]], str]
"""Takes the utterance, the program and its functions."""

KEYS: Mapping[By, Key] = {
    "sentence": lambda utterance, program, functions: utterance.casefold(),
    "program": lambda utterance, program, functions: program_key(program),
    "functions": lambda utterance, program, functions: combination(functions),
    # Families alone, and rows that are the same but for their id.
    "id": lambda utterance, program, functions: f"{utterance}\t{program}",
}
