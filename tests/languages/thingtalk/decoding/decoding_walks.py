"""Walks through what a decoding grammar allows, at random and along programs."""

from collections.abc import Sequence
from random import Random

from genie_dp.languages.base import DecodingGrammar, Prefix

# What makes programs deep and long; a walk chooses a sort of token first, then one of the sort.
WEIGHTS = {"(": 8, "join": 8, "aggregate": 3, "edge": 3, "not": 3, "and": 4, "or": 3, "on": 8}
WEIGHTS |= {"select": 4, "sort": 4, "*": 3, "filter": 3}
WEIGHTS |= {"[": 5, '"': 3, "+": 3, "-": 3, ",": 3}


def along(grammar: DecodingGrammar, sentence: Sequence[str], program: str) -> Prefix:
    """Return the prefix after all tokens of a program; ValueError where one is not allowed."""
    prefix = grammar.begin(sentence)
    for token in program.split(" "):
        prefix = prefix.then(token)
    return prefix


def is_accepted(grammar: DecodingGrammar, sentence: Sequence[str], program: str) -> bool:
    try:
        return along(grammar, sentence, program).allowed.end
    except ValueError:
        return False


def random_program(
    grammar: DecodingGrammar,
    sentence: Sequence[str],
    rng: Random,
    *,
    most: int,
    deep: bool,
    closing: int | None = None,
) -> list[str]:
    """Return the tokens of a random program; never nothing is allowed before it ends.

    After `closing` tokens it is brought to its end.
    """
    vocabulary = grammar.vocabulary
    prefix, found = grammar.begin(sentence), []
    while True:
        if len(found) == closing:
            prefix = prefix.closing()
            assert prefix.closing() is prefix
        allowed = prefix.allowed
        choices = sorted(allowed.fixed | allowed.copied)
        assert allowed.fixed <= vocabulary
        assert allowed.copied <= set(sentence)
        assert choices or allowed.end
        if allowed.end and (not choices or rng.random() < (0.02 if deep else 0.3)):
            return found
        token = _by_sort(choices, rng) if deep else rng.choice(choices)
        prefix = prefix.then(token)
        found.append(token)
        assert len(found) <= most


def _by_sort(choices: list[str], rng: Random) -> str:
    sorts: dict[str, list[str]] = {}
    for token in choices:
        sorts.setdefault(token[0] if token[0] in "@^" else token.partition(":")[0], []).append(
            token
        )
    names = sorted(sorts)
    name = rng.choices(names, [WEIGHTS.get(n, 1) for n in names])[0]
    return rng.choice(sorts[name])
