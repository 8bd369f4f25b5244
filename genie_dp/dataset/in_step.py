"""Programs in step with sentences: a text of the program is spelt as the sentence has it."""

from collections.abc import Sequence

from genie_dp.skills.words import tokenize


def in_step(program: str, words: Sequence[str]) -> str:
    """Return a token form whose texts are cut and spelt as in the sentence, where they occur there.

    So that a parser can copy them word by word.

    >>> in_step('( at " New York " " Old Town " )', ("to", "new", "york"))
    '( at " new york " " Old Town " )'
    >>> print(in_step('param:x:String = " Mid-day, live "', ("mid-day", ",", "live")))
    param:x:String = " mid-day , live "
    """
    if '"' not in program:
        return program
    sentence = f" {' '.join(words)} "
    tokens, found = program.split(" "), []
    place = 0
    while place < len(tokens):
        token = tokens[place]
        found.append(token)
        place += 1
        if token == '"':
            end = tokens.index('"', place)
            spoken = tokenize(" ".join(tokens[place:end]))
            is_said = f" {' '.join(spoken)} " in sentence
            found += [*(spoken if is_said else tokens[place:end]), '"']
            place = end + 1
    return " ".join(found)
