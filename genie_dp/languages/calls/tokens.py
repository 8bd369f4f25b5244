"""The canonical order of parallel calls, by their tokens."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

from genie_dp.languages.text import placeholder_key, sort_key

_Call = TypeVar("_Call")


def key_of(call: str, stems: Mapping[str, str] | None = None) -> str:
    """Return the sort key of calls in parallel.

    Args:
        call: its tokens.
        stems: private character -> stem of the placeholder that it stands for in synthesis.
    """
    if not stems or stems.keys().isdisjoint(call):
        return sort_key(call)
    words = call.split(" ")
    return sort_key(" ".join(placeholder_key(stems[w], w) if w in stems else w for w in words))


def number_results(call: str, numbers: Mapping[int, int]) -> str:
    """Return the tokens of a call with the calls that it refers to numbered anew.

    >>> number_results('f( x= $1.id y= " $1 " )', {1: 3})
    'f( x= $3.id y= " $1 " )'
    """
    if "$" not in call:
        return call
    is_text, words = False, []
    for word in call.split(" "):
        if word == '"':
            is_text = not is_text
        elif not is_text and word[:1] == "$" and word[1:2].isdecimal():
            old, dot, rest = word[1:].partition(".")
            word = f"${numbers.get(int(old), int(old))}{dot}{rest}"
        words.append(word)
    return " ".join(words)


def sort_steps(
    steps: Iterable[Sequence[_Call]],
    place: Callable[[_Call, Mapping[int, int]], _Call],
    key: Callable[[_Call], str],
) -> tuple[tuple[_Call, ...], ...]:
    """Return steps with the calls of each in canonical order.

    Args:
        steps: calls, as trees or tokens.
        place: numbers the calls anew that a call refers to.
        key: the sort key of calls.

    >>> sort_steps([["b( )", "a( )"], ["c( x= $1 y= $2 )"]], number_results, key_of)
    (('a( )', 'b( )'), ('c( x= $2 y= $1 )',))
    """
    numbers: dict[int, int] = {}
    sorted_steps, count = [], 0
    for step in steps:
        calls = [place(call, numbers) for call in step]
        keys = list(map(key, calls))
        order = sorted(range(len(calls)), key=keys.__getitem__)
        numbers |= {count + 1 + k: count + 1 + index for index, k in enumerate(order)}
        count += len(calls)
        sorted_steps.append(tuple([calls[k] for k in order]))
    return tuple(sorted_steps)
