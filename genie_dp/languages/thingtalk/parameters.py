"""Placeholders of template bodies: their types where no lambda gives them, and bodies without some.

| G031 a placeholder whose type does not follow from the body | G032 one with two types |
| G034 a part of a body that cannot be left out |
"""

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import types as ty
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.parser import parse_fragment
from genie_dp.languages.thingtalk.traverse import rewrite, walk
from genie_dp.languages.thingtalk.typecheck import wanted_types

Uses = Sequence[tuple[ty.Type, Span | None]]


def with_types(tree: tt.Lambda, signatures: Signatures) -> tuple[tt.Lambda, list[Problem]]:
    """Return a body whose placeholders have the types of the inputs they fill, and its mistakes.

    A placeholder that has no type gets Any.

    >>> from types import SimpleNamespace
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None, class_names=tuple)
    >>> body = parse_fragment("timer(base = now, interval = $i)", {})
    >>> [(name, str(type_)) for name, type_ in with_types(body, nothing)[0].parameters]
    [('i', 'Measure(ms)')]
    """
    types_of_names = wanted_types(tree.body, signatures, tree.untyped)
    problems = [p for name in tree.untyped if (p := _problem_of(name, types_of_names[name], tree))]
    parameters = tuple(
        (name, next((t for t, _ in types_of_names[name]), ty.ANY)) for name in tree.untyped
    )
    return tt.Lambda(parameters, tree.body, span=tree.span), problems


def _problem_of(name: str, uses: Uses, tree: tt.Lambda) -> Problem | None:
    """Return the mistake if the places of a placeholder have no one type."""
    hint = rf"say it in a lambda: \({name} : String) -> .., with {name} in place of ${name}"
    typed_uses = [(type_, span) for type_, span in uses if type_ != ty.ANY]
    if not typed_uses:
        span = uses[0][1] if uses else tree.span
        return Problem("G031", f"the type of ${name} does not follow from the body", span, hint)
    first = typed_uses[0][0]
    if isinstance(first, ty.Array):
        message = f"expected a list, {first}, got the placeholder ${name}"
        return Problem("G031", message, typed_uses[0][1], f"put it in a list: [${name}]")
    conflict = next(((type_, span) for type_, span in typed_uses if type_ != first), None)
    if conflict is None:
        return None
    message = f"${name} is of type {first} before, and of type {conflict[0]} here"
    return Problem("G032", message, conflict[1], "use two placeholders")


# ------------------------------------------------------------------- bodies without a part

_TAKE_OUT = "take it out of the optional part, or write a second template"


def without(
    tree: tt.Lambda, absent: Collection[str], signatures: Signatures, holes: Collection[str] = ()
) -> tt.Lambda:
    """Return a body without the placeholders and children of parts that are left out.

    Parts that need one of them are left out: an input that need not be given, a clause of a filter.
    `holes` are the names of all children.

    Raises:
        GenieError: G034 for a part that cannot be left out, or that contains words that stay.

    >>> from types import SimpleNamespace
    >>> from genie_dp.languages.thingtalk.render import render
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None)
    >>> body = parse_fragment("@com.x.q(a = $a) filter b == $b && c > $c", {})
    >>> render(without(body, {"a", "b"}, nothing))
    '(@com.x.q()) filter c > $c'
    """
    part_of = _Parts(frozenset(absent), frozenset(holes), signatures)
    body = rewrite(tree.body, part_of.change)
    problems = part_of.problems
    for part in walk(body):
        if names := part_of.list_names(part) & part_of.absent:
            message = f"{min(names)!r} cannot be left out here"
            problems.append(Problem("G034", message, part.span, _TAKE_OUT))
    placeholders = {name for name, _ in tree.parameters} | set(tree.untyped)
    used = part_of.list_used(tree.body) & (placeholders | part_of.holes) - part_of.absent
    for name in sorted(used - part_of.list_used(body)) if not problems else ():
        message = f"without {', '.join(sorted(absent))} what needs {name!r} is left out, too"
        hint = "say both in one optional part, or write a second template"
        problems.append(Problem("G034", message, tree.body.span, hint))
    if problems:
        raise GenieError(problems)
    return replace(
        tree,
        parameters=tuple(p for p in tree.parameters if p[0] not in absent),
        body=body,
        untyped=tuple(name for name in tree.untyped if name not in absent),
    )


@dataclass(slots=True)
class _Parts:
    """Finds the parts of a body that need an absent name, and leaves them out."""

    absent: frozenset[str]
    holes: frozenset[str]
    signatures: Signatures
    problems: list[Problem] = field(default_factory=list)

    def list_names(self, node: Any) -> frozenset[str]:
        """Return the placeholders and children that a node names itself."""
        match node:
            case tt.VarRef(name):
                return frozenset((name,))
            case tt.Hole(name, _, argument, inputs):
                return frozenset((name, argument or name, *(arg.name for arg in inputs)))
            case tt.Atom(name) | tt.OutputOf(_, name) | tt.Aggregate(_, str() as name):
                return self.holes & {name}  # else it is the name of an output
            case tt.Monitor(_, on_new):
                return self.holes & {*on_new}
            case _:
                return frozenset()

    def list_used(self, node: Any) -> frozenset[str]:
        """Return those that a tree names."""
        return frozenset(name for part in walk(node) for name in self.list_names(part))

    def change(self, node: Any) -> Any:
        """Return a node without the parts that need an absent name, where it may lack them."""
        match node:
            case tt.Call(_, _, args):
                self._note_required(node)
                return replace(node, args=self._keep_arguments(args))
            case tt.Selector(_, attributes):
                return replace(node, attributes=self._keep_arguments(attributes))
            case tt.Filter(inner, predicate) | tt.StreamFilter(inner, predicate):
                rest = self._clauses(predicate)
                return inner if rest is None else replace(node, predicate=rest)
            case tt.Hole(_, _, _, (_, *_) as inputs):
                remaining = (
                    arg for arg in inputs if not (self.list_used(arg) | {arg.name}) & self.absent
                )
                return replace(node, inputs=tuple(remaining))
            case _:
                return node

    def _keep_arguments(self, args: tuple[tt.Arg, ...]) -> tuple[tt.Arg, ...]:
        return tuple(arg for arg in args if not self.list_used(arg) & self.absent)

    def _note_required(self, call: tt.Call) -> None:
        signature = self.signatures.function(call.selector.class_name, call.function)
        if signature is None:
            return
        for arg in call.args:
            parameter = signature.parameter(arg.name)
            if (
                parameter is not None
                and parameter.is_required
                and self.list_used(arg) & self.absent
            ):
                message = f"{arg.name!r} of {signature.qualified} has to be given"
                hint = f"{_TAKE_OUT} that leaves it open: {arg.name} = $?"
                self.problems.append(Problem("G034", message, arg.span, hint))

    def _clauses(self, predicate: Any) -> Any:
        """Return a condition without the clauses that need an absent name; None for no clause."""
        if not isinstance(predicate, tt.And):
            return None if self.list_used(predicate) & self.absent else predicate
        rest = [p for part in predicate.operands if (p := self._clauses(part)) is not None]
        return replace(predicate, operands=tuple(rest)) if len(rest) > 1 else next(iter(rest), None)


# ------------------------------------------------------------------- bodies written shorter

_LAMBDA = re.compile(r"\s*[\\λ]\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\s*(?:->|→)\s*")


def short_body(text: str, holes: Mapping[str, str], signatures: Signatures, class_name: str) -> str:
    """Return the text of a body without its lambda and without the class, where it means the same.

    >>> from types import SimpleNamespace
    >>> nothing = SimpleNamespace(function=lambda class_name, name: None, class_names=tuple)
    >>> short_body(r"\\(t : Time) -> attimer time = t", {}, nothing, "")
    'attimer time = $t'
    >>> short_body("@com.gmail.inbox", {}, nothing, "com.gmail")
    'inbox()'
    """
    tree = parse_fragment(text, holes, class_name=class_name)
    names = {name for name, _ in tree.parameters}
    starts = list(itertools.accumulate((len(line) + 1 for line in text.split("\n")), initial=0))

    def place(span: Span) -> tuple[int, int]:
        return (
            starts[span.line - 1] + span.column - 1,
            starts[span.end_line - 1] + span.end_column - 1,
        )

    dollars: list[tuple[int, int, str]] = []
    calls: list[tuple[int, int, str]] = []
    for part in walk(tree.body):
        match part:
            case tt.VarRef(name) if name in names and part.span is not None:
                dollars.append((*place(part.span), f"${name}"))
            case tt.Call(tt.Selector(name, ()) as selector, function) if name == class_name:
                start, end = place(selector.span) if selector.span else (0, 0)
                if text[start:end] == f"@{class_name}.{function}":
                    is_bare = re.match(r"\s*\(", text[end:]) is None
                    calls.append((start, end, function + "()" * is_bare))
            case _:
                pass
    lambda_ = _LAMBDA.match(text)
    if lambda_ is not None:
        dollars.append((lambda_.start(), lambda_.end(), ""))
    for edits in (dollars + calls, dollars, calls):
        short = text
        for start, end, new in sorted(edits, reverse=True):
            short = short[:start] + new + short[end:]
        if _is_same(short, tree, holes, signatures, class_name):
            return short
    return text


def _is_same(
    short: str, tree: tt.Lambda, holes: Mapping[str, str], signatures: Signatures, class_name: str
) -> bool:
    """Return whether a shorter text has the parameters and the body of a tree."""
    try:
        reread = parse_fragment(short, holes, class_name=class_name)
    except GenieError:
        return False
    problems: list[Problem] = []
    if reread.untyped:
        reread, problems = with_types(reread, signatures)
    is_typed = not problems and dict(reread.parameters) == dict(tree.parameters)
    return is_typed and reread.body == tree.body
