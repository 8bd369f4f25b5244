"""Template bodies of terms: their lambda, renamed placeholders, and the values that they build."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.text import Places

BODY = "<body>"
Names = Sequence[tuple[str, str]]
"""Placeholders and what they are renamed to, one after the other."""
Children = Mapping[str, Any]
_LAMBDA = re.compile(r"\s*[\\λ]\s*\((?P<parameters>[^()]*)\)\s*(->|→)")
_PARAMETER = re.compile(r"\s*(?P<name>[^\W\d]\w*)\s*:\s*(?P<type>[\w:.\-]+)\s*")


def rename(token: str, names: Names) -> str:
    """Return a token after the renamings, one after the other.

    >>> rename("NUMBER_0", [("NUMBER_0", "NUMBER_1"), ("NUMBER_1", "NUMBER_2")])
    'NUMBER_2'
    """
    for old, new in names:
        if token == old:
            token = new
    return token


def rename_all(text: str, names: Names) -> str:
    """Return tokens after the renamings."""
    return " ".join([rename(token, names) for token in text.split(" ")])


def has_any(text: str, names: Names) -> bool:
    """Return whether a text may have a token that is renamed."""
    return True in [old in text for old, _ in names]


@dataclass(frozen=True, slots=True)
class TermFragment:
    """A compiled body (languages/base.py, Fragment).

    Attributes:
        make: returns the value of a body with children; None where they do not fit, which is
            counted in `refused`.
        source: compiles it again, in another process too: functions do not travel.
    """

    kind: str
    parameters: tuple[tuple[str, Any], ...]
    fills: Mapping[str, str]
    functions: tuple[str, ...]
    make: Callable[[Children], Any] = field(repr=False)
    refused: Counter[Problem] = field(repr=False)
    source: Callable[[], "TermFragment"] = field(repr=False)

    def __reduce__(self) -> Any:
        """Return how another process compiles it."""
        return self.source, ()

    def build(self, children: Children) -> Any:
        """Return the value, with the uses of the placeholders of the body; None as `make` does."""
        value = self.make(children)
        if value is not None and self.parameters:
            fills = self.fills
            value.slots = tuple(
                [
                    (token, type_, fills[name])
                    for name, _ in self.parameters
                    for token, type_, _ in children[name].slots
                ]
            )
        return value


Parameters = tuple[tuple[str, Any], ...]


def split_lambda(
    text: str, parse_type: Callable[[str], Any], *, code: str, example: str
) -> tuple[Parameters, str]:
    r"""Return the parameters of `\(x : Number) ->`, and the body with spaces in its place.

    Args:
        text: the body.
        parse_type: returns the type of a name, or raises GenieError.
        code: of mistakes in a lambda.
        example: of one, for hints.
    """
    places = Places(text, BODY)
    match = _LAMBDA.match(text)
    if match is None:
        if re.match(r"\s*[\\λ]", text):
            raise places.error(code, "expected a lambda", 0, len(text), f"write {example}")
        return (), text
    parameters = []
    start = match.start("parameters")
    for part in match["parameters"].split(","):
        declaration = _PARAMETER.fullmatch(part)
        if declaration is None:
            hint = "write a name, a colon and a type: x : String"
            message = f"expected a parameter, got {part.strip()!r}"
            raise places.error(code, message, start, start + max(1, len(part)), hint)
        try:
            parameters.append((declaration["name"], parse_type(declaration["type"])))
        except GenieError as error:
            [problem] = error.problems
            begin, end = start + declaration.start("type"), start + declaration.end("type")
            raise places.error(problem.code, problem.message, begin, end, problem.hint) from None
        start += len(part) + 1
    blank = re.sub(r"[^\n]", " ", match[0])
    return tuple(parameters), blank + text[match.end() :]


def unknown_type(code: str, text: str, known: Collection[str]) -> GenieError:
    """Return the error of a type that is none of those that are known."""
    hint = did_you_mean(text, known) or f"known types: {', '.join(known)}"
    return GenieError(Problem(code, f"unknown type {text!r}", hint=hint))


def nothing_left(absent: Collection[str], span: Any, others: str = "") -> GenieError:
    """Return the error of a body that is empty without its absent names."""
    message = f"nothing is left without {', '.join(sorted(absent))}{others}"
    hint = "take it out of the optional part, or write a second template"
    return GenieError(Problem("G034", message, span, hint))
