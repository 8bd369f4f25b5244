"""Template bodies of S-expressions, compiled to functions that join token texts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.languages import base
from genie_dp.languages.sexpr.ast import CLOSING, Atom, Expression, Node, label, label_index
from genie_dp.languages.sexpr.canonical import part_of_program, sort_key, sort_of
from genie_dp.languages.sexpr.declarations import Declarations, misfit
from genie_dp.languages.sexpr.reader import parse_all
from genie_dp.languages.sexpr.render import tokens
from genie_dp.languages.sexpr.types import SlotType, parse_type
from genie_dp.languages.sexpr.values import Item, Names, Value

BODY = "<body>"
_LAMBDA = re.compile(r"\s*[\\λ]\s*\((?P<parameters>[^()]*)\)\s*(->|→)")
_PARAMETER = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*:\s*(?P<type>\w+)\s*")

Children = Mapping[str, base.Value]
Plan = Callable[[Children], "Sequence[Item] | None"]
"""Gives the expressions of a part of a body, or None where the children do not go together."""


@dataclass(frozen=True, slots=True)
class SexprFragment:
    """A compiled body (languages/base.py, Fragment); all bodies are of kind "program"."""

    parameters: tuple[tuple[str, SlotType], ...]
    fills: Mapping[str, str]
    plan: Plan = field(repr=False)
    kind: str = "program"
    refused: Counter[Problem] = field(default_factory=Counter, repr=False)

    def build(self, children: Children) -> Value | None:
        """Return the program, or None where a set would hold a thing twice or a node not fit.

        A node that does not fit its signature is among `refused`.
        """
        items = self.plan(children)
        if items is None:
            return None

        def remake(names: Names) -> Value:
            renamed = self.build({name: value.shift(names) for name, value in children.items()})
            assert renamed is not None, "renaming keeps what is equal equal and sorts the same"
            return renamed

        if not self.parameters:
            return Value(items, remake)
        slots = [
            (token, type_, self.fills[name])
            for name, _ in self.parameters
            for token, type_, _ in children[name].slots
        ]
        return Value(items, remake, slots=tuple(slots))


def compile_body(
    text: str, holes: Mapping[str, str], declarations: Declarations, *, whole: bool = False
) -> SexprFragment:
    """Return the compiled body, or raise GenieError (X001 to X008, X009, X031, X041 to X043)."""
    parameters, body = _split_lambda(text)
    try:
        expressions = parse_all(body, file=BODY)
    except GenieError as error:
        raise GenieError(error.problems, sources={BODY: text}) from None
    if not expressions:
        raise _error("X043", "expected an expression, got an empty body", text, 0, len(text) or 1)
    _check_labels(expressions, declarations, text)
    compiler = _Compiler(frozenset(holes) | {name for name, _ in parameters}, declarations)
    plans = [compiler.plan(expression, "") for expression in expressions]
    fills = {name: compiler.fills.get(name, "") for name, _ in parameters}
    plan = _together(plans)
    if whole and declarations.programs:
        plan = _whole(plan, declarations, compiler.refused)
    return SexprFragment(parameters, fills, plan, refused=compiler.refused)


def _whole(plan: Plan, declarations: Declarations, refused: Counter[Problem]) -> Plan:
    """Return the plan without results that are no declared program."""

    def whole(children: Children) -> Sequence[Item] | None:
        items = plan(children)
        if items is None or (len(items) == 1 and items[0][3] in declarations.programs):
            return items
        problem = part_of_program([item[3] for item in items], declarations)
        assert problem is not None, "the same test"
        refused[problem] += 1
        return None

    return whole


def _split_lambda(text: str) -> tuple[tuple[tuple[str, SlotType], ...], str]:
    """Return the parameters of a lambda, and the body with spaces in place of the lambda."""
    found = _LAMBDA.match(text)
    if found is None:
        if re.match(r"\s*[\\λ]", text):
            hint = r"write \(x : String, y : Number) -> (LABEL x y)"
            raise _error("X041", "expected a lambda", text, 0, len(text), hint)
        return (), text
    parameters = []
    start = found.start("parameters")
    for part in found["parameters"].split(","):
        match = _PARAMETER.fullmatch(part)
        if match is None:
            hint = "write a name, a colon and a type: x : String"
            message = f"expected a parameter, got {part.strip()!r}"
            raise _error("X041", message, text, start, start + max(1, len(part)), hint)
        try:
            parameters.append((match["name"], parse_type(match["type"])))
        except GenieError as error:
            place = start + match.start("type")
            [problem] = error.problems
            raise _error(
                problem.code, problem.message, text, place, start + match.end("type"), problem.hint
            ) from None
        start += len(part) + 1
    blank = re.sub(r"[^\n]", " ", found[0])
    return tuple(parameters), blank + text[found.end() :]


def _error(
    code: str, message: str, text: str, start: int, end: int, hint: str | None = None
) -> GenieError:
    def line_column(offset: int) -> tuple[int, int]:
        before = text[:offset]
        return before.count("\n") + 1, offset - before.rfind("\n")

    span = Span(BODY, *line_column(start), *line_column(end))
    return GenieError(Problem(code, message, span, hint, stage="syntax"), sources={BODY: text})


def _check_labels(expressions: Sequence[Expression], declarations: Declarations, text: str) -> None:
    problems = []
    stack = list(reversed(expressions))
    while stack:
        node = stack.pop()
        if not isinstance(node, Node):
            continue
        stack.extend(reversed(node.items))
        name = label(node)
        if declarations.signatures and not node.prefix and name not in declarations.signatures:
            hint = did_you_mean(name, declarations.signatures)
            problems.append(Problem("X031", f"unknown node {name!r}", node.span, hint))
    if problems:
        raise GenieError(problems, sources={BODY: text})


@dataclass(slots=True)
class _Compiler:
    """Compiles expressions with the given names as holes.

    Attributes:
        fills: hole -> label of the node that it stands in.
        refused: nodes that would not fit their signatures -> how often.
    """

    holes: frozenset[str]
    declarations: Declarations
    fills: dict[str, str] = field(default_factory=dict)
    refused: Counter[Problem] = field(default_factory=Counter)

    def plan(self, expression: Expression, inside: str) -> Plan:
        if isinstance(expression, Atom) and expression.text in self.holes:
            self.fills.setdefault(expression.text, inside)
            return _hole(expression.text)
        if not isinstance(expression, Node):
            text = tokens(expression)
            return _fixed([(sort_key(text), text, (), sort_of(expression))])
        return self.node(expression)

    def node(self, node: Node) -> Plan:
        name, place = label(node), label_index(node)
        start = 0 if place is None else place + 1
        head = _Compiler(frozenset(), self.declarations)
        before = [head.plan(item, name) for item in node.items[:start]]
        make = _node(node, self.declarations, _together(before), self.refused)
        inner = _together([self.plan(item, name) for item in node.items[start:]])

        def plan(children: Children) -> Sequence[Item] | None:
            items = inner(children)
            return None if items is None else make(items)

        return plan


def _hole(name: str) -> Plan:
    def plan(children: Children) -> Sequence[Item]:
        value = children[name]
        assert isinstance(value, Value)
        return value.items

    return plan


def _fixed(items: Sequence[Item]) -> Plan:
    return lambda children: items


def _together(plans: Sequence[Plan]) -> Plan:
    if len(plans) == 1:
        return plans[0]

    def plan(children: Children) -> Sequence[Item] | None:
        together: list[Item] = []
        for part in plans:
            items = part(children)
            if items is None:
                return None
            together.extend(items)
        return together

    return plan


def _node(
    node: Node, declarations: Declarations, before: Plan, refused: Counter[Problem]
) -> Callable[[Sequence[Item]], "Sequence[Item] | None"]:
    """Return the function that makes a node of its items (those after the label)."""
    name = label(node)
    first = before({}) or ()
    opening = " ".join([node.prefix + node.bracket, *[item[1] for item in first]])
    key_opening = " ".join([node.prefix + node.bracket, *[item[0] for item in first]])
    closing = CLOSING[node.bracket]
    sort = f"{node.bracket}{name}{closing}"
    order = declarations.order(name)
    signature = None if node.prefix else declarations.signatures.get(name)
    is_applied = name in declarations.applied

    def make(items: Sequence[Item]) -> Sequence[Item] | None:
        if order != "ordered" and len(items) > 1:
            items = sorted(items)
            if order == "set" and _twice(items):
                return None
        if signature is not None:
            sorts = [item[3] for item in items]
            reason = misfit(signature, sorts, ordered=order == "ordered")
            if reason is not None:
                hint = f"declared as {name} = {' '.join(map(str, signature))}"
                refused[Problem("X032", f"in {name!r}: {reason}", node.span, hint)] += 1
                return None
        text = " ".join([opening, *[item[1] for item in items], closing])
        key = " ".join([key_opening, *[item[0] for item in items], closing])
        if node.prefix:
            return ((key, text, (), sort),)
        own = _applied(items, name) if is_applied else name
        functions: tuple[str, ...] = (own,) if own else ()
        for item in items:
            functions += item[2]
        return ((key, text, functions, sort),)

    return make


def _twice(items: Sequence[Item]) -> bool:
    return any(a[0] == b[0] for a, b in zip(items, items[1:], strict=False))


def _applied(items: Sequence[Item], name: str) -> str:
    """Return the function that an `apply` node uses: its first item, where that is a symbol."""
    if items and items[0][3] == items[0][1]:
        return items[0][1]
    return name
