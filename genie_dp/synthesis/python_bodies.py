"""Python semantic functions as template bodies."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, is_dataclass, replace
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.base import Language
from genie_dp.languages.bodies import Value
from genie_dp.languages.library import Library
from genie_dp.synthesis.pieces import Piece, Placeholders
from genie_dp.templates.ast import Template
from genie_dp.templates.grammar import place_in_file


@dataclass(slots=True)
class PythonBody:
    """Calls a user's function with the programs of the children; implements Fragment.

    The function returns a program (a syntax tree or its text), or None to reject. An exception
    stops the run with the template's place and the children; with `skips` it is counted instead,
    by the name of the exception. Text that cannot be read is as bad, and so are a program that is
    ill-typed and a piece of another kind than the category's.
    """

    kind: str
    template: Template
    function: Callable[..., Any]
    arguments: Sequence[str]
    language: Language
    library: Library
    placeholders: Placeholders
    skips: bool
    is_root: bool = False
    parameters: tuple[tuple[str, Any], ...] = ()
    fills: Mapping[str, str] = field(default_factory=dict)
    functions: tuple[str, ...] = ()
    raised: Counter[str] = field(default_factory=Counter)
    refused: Counter[Problem] = field(default_factory=Counter)

    def build(self, children: Mapping[str, Value]) -> Value | None:
        """Return the value of the program that the function returns."""
        names = self.placeholders.names("".join(children[name].text for name in self.arguments))
        values = [children[name].shift(names) for name in self.arguments]
        programs = [self.language.bodies.tree(value) for value in values]
        try:
            result = self.function(*programs)
        except Exception as error:  # noqa: BLE001 - any error of the user's code is the user's
            if not self.skips:
                fault = f"raised {type(error).__name__}"
                raise GenieError(self._problem(str(error), fault, values)) from error
            self.raised[type(error).__name__] += 1
            return None
        if result is None:
            return None
        try:
            value = self._value(result)
        except GenieError as error:
            problem = error.problems[0]
            fault = (
                f"no {self.kind}"
                if problem.code == "Y010" or problem.stage == "syntax"
                else "ill-typed"
            )
            if not self.skips:
                returned = f"an ill-typed {self.kind}" if fault == "ill-typed" else fault
                message = (
                    f"{problem.code}: {problem.message}"
                    if fault == "ill-typed"
                    else problem.message
                )
                raise GenieError(self._problem(message, f"returned {returned}", values)) from error
            self.raised[fault] += 1
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
        value = self.language.bodies.lift(result, self.library, whole=self.is_root)
        # A policy is a whole program, too.
        kind = "program" if self.kind == "policy" else self.kind
        if value.kind != kind:
            message = f"expected {self.kind}, got {value.kind} {value.text}"
            raise GenieError(Problem("Y010", message))
        return value

    def _problem(self, reason: str, fault: str, values: Sequence[Value]) -> Problem:
        named = zip(self.arguments, values, strict=True)
        children = "; ".join(f"{name} = {value.text}" for name, value in named)
        message = (
            f"the function of template {self.template.id!r} {fault}: {reason}\n  given: {children}"
        )
        hint = "mend the function, return None to reject, or go on with --on-error skip"
        return Problem("Y010", message, self.template.body_span or self.template.span, hint)


def count_raised(bodies: Iterable[Any]) -> Counter[str]:
    """Return how often the Python bodies among these raised: "template: exception" -> times."""
    counts: Counter[str] = Counter()
    for body in {id(b): b for b in bodies if isinstance(b, PythonBody)}.values():
        for name, count in body.raised.items():
            counts[f"{body.template.id}: {name}"] = count
    return counts


def with_derivation(error: GenieError, template: Template, pieces: Sequence[Piece]) -> GenieError:
    """Return an error of a body with its place, and the templates of the derivation.

    These are named outermost first.
    """
    names = [template.id]
    for piece in pieces:
        names.extend(json.loads(f"[{piece.derivation}]"))
    derivation = " ".join(names)
    problems = [
        place_in_file(replace(p, message=f"{p.message}\n  derivation: {derivation}"), template)
        for p in error.problems
    ]
    return GenieError(problems, sources=error.sources)
