"""Conditions that would fit two nouns of one phrase: "tweets about the news posted by alice".

A join by passing is said with one noun inside of the other's phrase. What comes after it goes with
either, if both functions have an output of which it may be said: two programs, one sentence.
Which outputs those are is a matter of the library alone, so a guard can refuse them before any
sentence is made.
"""

import re
from collections.abc import Iterable, Iterator

from genie_dp.languages.thingtalk.signatures import Parameter, Signature
from genie_dp.languages.thingtalk.types import Array, Enum, Type

SEVERAL = ""
"""The name of what is said of several outputs at once, as PredicateState has it."""
_NO_MATTER = re.compile(r"#|\b(?:an?|the)\b")


def said_of_both(outer: Signature, inner: Iterable[Signature]) -> tuple[str, ...]:
    """Return the outputs of `outer` whose phrases fit an output of one of `inner`, sorted.

    SEVERAL is always among them: a guard does not see the parts of "posted by alice or liked".

    >>> from genie_dp.languages.thingtalk.types import STRING
    >>> def query(name, *outputs):
    ...     return Signature("x", name, "query", outputs)
    >>> by, written = ("by #",), ("written by #", "by #")
    >>> tweets = query("tweets", Parameter("sender", "out", STRING, phrases=by),
    ...                Parameter("text", "out", STRING, phrases=("text",)))
    >>> said_of_both(tweets, [query("news", Parameter("author", "out", STRING, phrases=written))])
    ('', 'sender')
    """
    taken: dict[str, list[Type]] = {}
    for parameter in (p for signature in inner for p in signature.outputs):
        for phrase in _said(parameter):
            taken.setdefault(phrase, []).append(_element(parameter.type))
    found = {SEVERAL}
    for parameter in outer.outputs:
        type_ = _element(parameter.type)
        if any(_alike(type_, other) for said in _said(parameter) for other in taken.get(said, ())):
            found.add(parameter.name)
    return tuple(sorted(found))


def _said(parameter: Parameter) -> Iterator[str]:
    """Yield what is said of a parameter, without articles; its name if it has no phrase."""
    for phrase in parameter.phrases or (parameter.name.replace("_", " "),):
        yield " ".join(_NO_MATTER.sub(" ", phrase).split())


def _element(type_: Type) -> Type:
    while isinstance(type_, Array):
        type_ = type_.element
    return type_


def _alike(one: Type, other: Type) -> bool:
    """Tell whether some value of one type is said as one of the other is."""
    if isinstance(one, Enum) and isinstance(other, Enum):
        return bool(set(one.values) & set(other.values))
    return str(one) == str(other)
