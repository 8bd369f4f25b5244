"""Which output may be passed into which input: equal keys."""

from collections.abc import Iterator

from genie_dp.languages.thingtalk.signatures import Parameter
from genie_dp.languages.thingtalk.types import (
    BOOLEAN,
    NUMBER,
    STRING,
    UNITS,
    Array,
    Basic,
    Entity,
    Enum,
    Measure,
)

# Value lists of free text: whatever is said in words may be passed there, not links or ids.
FREE_TEXT = frozenset({"tt:long_free_text", "tt:short_free_text", "tt:long_text", "tt:short_text"})


def passing_key(parameter: Parameter) -> str:
    """Return the key of an output: what it can be passed as; "" for what nobody passes.

    Same type; for text the same value list, or without a list the same name, since names are used
    alike across skills; numbers only by name. Pictures, links and ids are entities, so they never
    go into text.

    >>> from genie_dp.languages.thingtalk.types import Entity
    >>> passing_key(Parameter("link", "out", Entity("tt:url")))
    'Entity(tt:url)'
    >>> passing_key(Parameter("title", "out", STRING, value_list="tt:news_headline"))
    'String tt:news_headline'
    """
    match parameter.type:
        case Enum() | Array():
            return ""
        case Measure(unit):
            return f"Measure({UNITS.get(unit, unit)})"
        case Entity(kind):
            return f"Entity({kind})"
        case Basic() as basic if basic == STRING:
            return f"String {parameter.value_list or parameter.name}"
        case Basic() as basic if basic == NUMBER:
            return f"Number {parameter.value_list or parameter.name}"
        case Basic() as basic:
            return "" if basic == BOOLEAN else basic.name


def gap_keys(parameter: Parameter, text_lists: tuple[str, ...]) -> Iterator[str]:
    """Yield the keys that an input takes: its own, and those it accepts.

    An input of free text that names no lists takes every one of the library, `text_lists`.
    """
    own = passing_key(parameter)
    if not own:
        return
    found = dict.fromkeys([own])
    if parameter.type == STRING:
        found.update(dict.fromkeys(f"String {name}" for name in parameter.accepts))
        if parameter.value_list in FREE_TEXT and not parameter.accepts:
            found.update(dict.fromkeys(f"String {name}" for name in text_lists))
    else:
        found.update(dict.fromkeys(parameter.accepts))
    yield from found
