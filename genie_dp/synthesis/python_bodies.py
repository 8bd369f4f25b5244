"""Python semantic functions as template bodies."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language, Value
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import Placeholders
from genie_dp.templates.ast import Template
from genie_dp.templates.bodies import placed


@dataclass(slots=True)
class PythonBody:
    """Calls a user's function with the programs of the children; implements Fragment.

    The function returns a program (a syntax tree or its text), or None to reject. What it raises
    stops the run with the template's place and the children; with `skips` it is counted instead,
    by the name of the exception. Text that cannot be read is as bad, and so are a program that is
    ill-typed and a piece of another kind than the category's.
    """

    kind: str
    template: Template
    function: Callable[..., Any]
    arguments: Sequence[str]
    language: Language
    library: Any
    placeholders: Placeholders
    skips: bool
    is_root: bool = False
    parameters: tuple[tuple[str, Any], ...] = ()
    fills: Mapping[str, str] = field(default_factory=dict)
    raised: Counter[str] = field(default_factory=Counter)
    refused: Counter[Problem] = field(default_factory=Counter)

    def build(self, children: Mapping[str, Value]) -> Value | None:
        """Return the value of what the function returns."""
        names = self.placeholders.names("".join(children[name].text for name in self.arguments))
        given = [children[name].shift(names) for name in self.arguments]
        programs = [self.language.program(value) for value in given]
        try:
            result = self.function(*programs)
        except Exception as error:  # noqa: BLE001 - any error of the user's code is the user's
            if not self.skips:
                what = f"raised {type(error).__name__}"
                raise GenieError(self._problem(str(error), what, given)) from error
            self.raised[type(error).__name__] += 1
            return None
        if result is None:
            return None
        try:
            value = self._value(result)
        except GenieError as error:
            told = error.problems[0]
            what = (
                f"no {self.kind}" if told.code == "Y010" or told.stage == "syntax" else "ill-typed"
            )
            if not self.skips:
                shown = f"an ill-typed {self.kind}" if what == "ill-typed" else what
                message = f"{told.code}: {told.message}" if what == "ill-typed" else told.message
                raise GenieError(self._problem(message, f"returned {shown}", given)) from error
            self.raised[what] += 1
            return None
        # Longest first, so that NUMBER_0 is not found inside of PHONE_NUMBER_0.
        back = sorted(((token, c) for c, token in names), key=lambda pair: -len(pair[0]))
        return value.shift(back)

    def _value(self, result: Any) -> Value:
        if isinstance(result, str):
            result = self.language.parse(result)
        if not is_dataclass(result):  # no syntax tree of any language
            message = f"expected {self.kind} or its text, got {type(result).__name__}"
            raise GenieError(Problem("Y010", message))
        value = self.language.value(result, self.library, whole=self.is_root)
        # A policy is a whole program, too.
        wanted = "program" if self.kind == "policy" else self.kind
        if value.kind != wanted:
            message = f"expected {self.kind}, got {value.kind} {value.text}"
            raise GenieError(Problem("Y010", message))
        return value

    def _problem(self, told: str, what: str, given: Sequence[Value]) -> Problem:
        named = zip(self.arguments, given, strict=True)
        shown = "; ".join(f"{name} = {value.text}" for name, value in named)
        message = f"the function of template {self.template.id!r} {what}: {told}\n  given: {shown}"
        hint = "mend the function, return None to reject, or go on with --on-error skip"
        return Problem("Y010", message, self.template.body_span or self.template.span, hint)


def raised_in(bodies: Iterable[Any]) -> Counter[str]:
    """Return how often the Python bodies among these raised: "template: exception" -> times."""
    found: Counter[str] = Counter()
    for body in {id(b): b for b in bodies if isinstance(b, PythonBody)}.values():
        for name, count in body.raised.items():
            found[f"{body.template.id}: {name}"] = count
    return found


def with_derivation(error: GenieError, template: Template, pieces: Sequence[Piece]) -> GenieError:
    """Return an error of a body with its place, and the templates of the derivation.

    These are named outermost first.
    """
    names = [template.id]
    for piece in pieces:
        names.extend(json.loads(f"[{piece.derivation}]"))
    shown = " ".join(names)
    problems = [
        placed(replace(p, message=f"{p.message}\n  derivation: {shown}"), template)
        for p in error.problems
    ]
    return GenieError(problems, sources=error.sources)
