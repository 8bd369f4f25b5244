"""Where a program holds words of its sentence, and where a secret of the sentence is in it."""

import re
from collections.abc import Iterable, Iterator, Sequence

from genie_dp.private.redact.spans import MASK, Place

_WORD = re.compile(r"\w+")
_TOKEN = re.compile(r'"[^"]*"|[^\s"]+|"')
_STRUCTURE = re.compile(r"[@:\[\](){}=<>|]|^(?:&&|;|,|\.)$")
# As many digits make two ways to write a number one number, whatever stands before them.
_DIGITS = 7


def leaves(program: str, language: str) -> tuple[Place, ...]:
    """Return the places where a program holds values: quoted text, and words that are no syntax.

    In ThingTalk words outside of quotes are its own, all but those with a digit.

    >>> program = 'now => @com.mail.send ( to = " ann lee " ) param 5551234'
    >>> [program[a:b] for a, b in leaves(program, "thingtalk")]
    ['ann lee', '5551234']
    >>> program = "[IN:CALL [SL:CONTACT ann lee ] ]"
    >>> [program[a:b] for a, b in leaves(program, "sexpr")]
    ['ann lee']
    """
    out: list[Place] = []
    goes_on = False
    for match in _TOKEN.finditer(program):
        token, start, end = match.group(), match.start(), match.end()
        if len(token) > 1 and token[0] == token[-1] == '"':
            inside = token[1:-1]
            start += 1 + len(inside) - len(inside.lstrip())
            end -= 1 + len(inside) - len(inside.rstrip())
            is_leaf, goes_on = start < end, False
        elif language == "thingtalk":
            is_leaf = any(map(str.isdigit, token)) and not _STRUCTURE.search(token)
        else:
            is_leaf = token == MASK or not (_STRUCTURE.search(token) or token == '"')
        if is_leaf and goes_on:
            out[-1] = (out[-1][0], end)
        elif is_leaf:
            out.append((start, end))
        goes_on = is_leaf and token[0] != '"' and language != "thingtalk"
    return tuple(out)


def occurrences(text: str, values: Iterable[str]) -> Iterator[Place]:
    """Yield where values stand in a text: the same words, in any case, whatever is between them.

    >>> list(occurrences("Ann  lee, and annie", ["ann lee"]))
    [(0, 8)]
    """
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(text)]
    names = [word for word, _, _ in words]
    for value in values:
        wanted = _words(value)
        for i in range(len(words) - len(wanted) + 1) if wanted else ():
            if names[i : i + len(wanted)] == wanted:
                yield words[i][1], words[i + len(wanted) - 1][2]


def parts(text: str, places: Sequence[Place], values: Iterable[str]) -> Iterator[Place]:
    """Yield the leaves of a program that say a value or a part of it.

    A leaf inside a value is a secret as a whole ("ann lee" of "dr. ann lee"); so is one with the
    same digits, written otherwise; of other leaves, the words that are a value's.
    """
    for value in values:
        wanted, digits = _words(value), re.sub(r"\D", "", value)
        for start, end in places:
            leaf = text[start:end]
            if _is_part(leaf, wanted, digits):
                yield start, end
            else:
                for a, b in _runs(leaf, wanted):
                    yield start + a, start + b


def _is_part(leaf: str, wanted: list[str], digits: str) -> bool:
    words, own = _words(leaf), re.sub(r"\D", "", leaf)
    if min(len(digits), len(own)) >= _DIGITS and (digits.endswith(own) or own.endswith(digits)):
        return True
    return bool(words) and any(
        wanted[i : i + len(words)] == words for i in range(len(wanted) - len(words) + 1)
    )


def _runs(leaf: str, wanted: list[str]) -> Iterator[Place]:
    """Yield runs of at least two words that a value has in this order, too."""
    pairs = set(zip(wanted, wanted[1:], strict=False))
    words = [(m.group().casefold(), m.start(), m.end()) for m in _WORD.finditer(leaf)]
    for one, other in zip(words, words[1:], strict=False):
        if (one[0], other[0]) in pairs:
            yield one[1], other[2]


def _words(text: str) -> list[str]:
    # A mask in a value is nobody's word.
    return [word.casefold() for word in _WORD.findall(text.replace(MASK, " "))]
