"""Text as data points, before anything else is done to it; each is whole sentences.

After "Provably Confidential Language Modelling", appendix A.6, items 2 and 3: a text that is split
after redaction is split elsewhere than its neighbour, so that almost all points differ; and a
sentence that is cut may have its secret in two points. In doubt nothing is split: a point with two
sentences is as safe as two.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Literal

Points = Literal["line", "sentence", "paragraph"]
POINTS: tuple[Points, ...] = ("line", "sentence", "paragraph")

# Words that have a full stop and no end after it.
_ABBREVIATIONS = frozenset(
    (
        "mr", "mrs", "ms", "dr", "prof", "sr", "jr", "st", "ave", "blvd", "rd", "apt", "no", "nos",
        "vs", "etc", "inc", "ltd", "co", "corp", "dept", "est", "fig", "gen", "gov", "hon", "lt",
        "col", "maj", "capt", "sgt", "rep", "sen", "rev", "tel", "ext", "e.g", "i.e", "a.m", "p.m",
        "u.s", "u.k", "jan", "feb", "mar", "apr", "jun", "jul", "aug", "sep", "sept", "oct", "nov",
        "dec", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "approx", "vol", "al", "cf", "ca",
        "po", "p.o", "ph.d", "ref", "acct", "ste", "ln", "hwy", "pkwy", "ct", "pl", "sq", "mt",
        "ft",
    )
)  # fmt: skip
_END = re.compile(r"([.!?…]+[\"'”’)\]]*)(\s+)(?=[\"'“‘(\[]*[A-Z0-9¿¡])")
_LAST_WORD = re.compile(r"[\w.'-]*$")


def sentences(text: str) -> tuple[str, ...]:
    """Return the sentences of a text, without the space around them.

    >>> sentences("Mail Dr. Lee. It is J. Smith, no. 4! ok? yes")
    ('Mail Dr. Lee.', 'It is J. Smith, no. 4! ok? yes')
    """
    out, start = [], 0
    for match in _END.finditer(text):
        if match[1] == "." and _goes_on(text[start : match.start()]):
            continue
        out.append(text[start : match.end(1)].strip())
        start = match.end()
    out.append(text[start:].strip())
    return tuple(one for one in out if one)


def _goes_on(before: str) -> bool:
    """Tell whether a full stop after this text belongs to its last word."""
    found = _LAST_WORD.search(before)
    word = found.group() if found else ""
    return word.lower() in _ABBREVIATIONS or (len(word) == 1 and word.isalpha())


def points(lines: Iterable[str], by: Points) -> Iterator[str]:
    r"""Yield the data points of a text file.

    Args:
        lines: with or without their ends.
        by: "line": each that is not empty. "paragraph": lines up to an empty one, joined by
            spaces. "sentence": the sentences of such paragraphs, so that lines may be wrapped.

    >>> list(points(["I am Ann", "Lee. Call me!", "", "Bye"], "sentence"))
    ['I am Ann Lee.', 'Call me!', 'Bye']
    """
    if by == "line":
        yield from (line.strip() for line in lines if line.strip())
        return
    for paragraph in _paragraphs(lines):
        yield from (paragraph,) if by == "paragraph" else sentences(paragraph)


def _paragraphs(lines: Iterable[str]) -> Iterator[str]:
    held: list[str] = []
    for line in lines:
        if line.strip():
            held.append(line.strip())
        elif held:
            yield " ".join(held)
            held = []
    if held:
        yield " ".join(held)


_CUT = re.compile(r"[\w,]$")
_LOWER = re.compile(r"[a-z]")


def is_cut(line: str, following: str, *, goes_on: bool = False) -> bool:
    """Tell whether a sentence seems to go on in the next line.

    Args:
        line: begins with a capital, or else a sentence `goes_on` in it from the line before.
        following: the next line.
        goes_on: whether the line before is cut.

    >>> is_cut("My name is Ann", "lee and I live"), is_cut("play jazz", "turn it up")
    (True, False)
    """
    return bool(
        (line[:1].isupper() or goes_on)
        and _CUT.search(line.rstrip())
        and _LOWER.match(following.lstrip())
    )
