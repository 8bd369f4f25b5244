"""Template bodies of S-expressions, compiled to functions that join token texts."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import lru_cache, partial
from typing import Any

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.languages.bodies import Constant, TemplateBodies, Value
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import canonical
from genie_dp.languages.sexpr.canonical import part_of_program, sort_of
from genie_dp.languages.sexpr.declarations import NONE, Declarations, misfit
from genie_dp.languages.sexpr.text import from_tokens, parse_all, tokens
from genie_dp.languages.terms.bodies import (
    BODY,
    Children,
    Names,
    TermFragment,
    has_any,
    nothing_left,
    rename,
    rename_all,
    split_lambda,
)
from genie_dp.languages.text import Places, placeholder_key, sort_key

Item = tuple[str, str, tuple[str, ...], str]
"""One expression: sort key, token text, functions, and what signatures see of it."""


@dataclass(frozen=True, slots=True)
class ExpressionState:
    """The attributes of a piece that guards can test.

    Attributes:
        label: label of the node; "" for a symbol, a string or several expressions.
        count: how many expressions stand side by side.
        type, key: the type of a constant, else "".
    """

    label: str
    count: int
    type: str = ""
    key: str = ""


state = lru_cache(maxsize=None)(ExpressionState)


class FragmentValue:
    """One or more expressions side by side (languages/base.py, Value).

    `items` are the expressions; `remake` gives the value anew after its placeholders were renamed,
    for that can change the order of an unordered node.
    """

    __slots__ = ("functions", "gap", "items", "kind", "remake", "slots", "state", "text")

    def __init__(
        self,
        items: Sequence[Item],
        remake: Callable[[Names], "FragmentValue"],
        *,
        kind: str = "program",
        state_: ExpressionState | None = None,
        slots: tuple[tuple[str, str, str], ...] = (),
    ):
        self.kind = kind
        self.items = items
        self.text: str
        self.functions: tuple[str, ...]
        self.state: Hashable
        self.gap = ""
        self.slots = slots
        self.remake = remake
        if len(items) == 1:
            _, self.text, self.functions, sort = items[0]
            self.state = state_ or state(_label(sort), 1)
        else:
            self.text = " ".join([item[1] for item in items])
            self.functions = tuple([name for item in items for name in item[2]])
            self.state = state_ or state("", len(items))

    def shift(self, names: Names) -> "FragmentValue":
        """Return the value with placeholders renamed, one after the other."""
        return self.remake(names) if has_any(self.text, names) else self


def _label(sort: str) -> str:
    """Return the label of a node by its sort, "" of anything else."""
    return sort[1:] if sort[0] == "#" else sort[1:-1] if sort[0] in "([" else ""


def placeholder_value(token: str) -> FragmentValue:
    """Return the value of a constant expressed by a placeholder, such as NUMBER_0."""
    type_ = sx.placeholder_type(token)
    if type_ is None:
        raise ValueError(f"{token!r} is no placeholder")
    return _placeholder(token, type_)


def _placeholder(token: str, type_: sx.SlotType) -> FragmentValue:
    def remake(names: Names) -> FragmentValue:
        return _placeholder(rename(token, names), type_)

    # A private character of the engine stands for a placeholder of this type too.
    key = sort_key(token) if len(token) > 1 else placeholder_key(type_.stem, token)
    value = state("", 1, type_.name, type_.name)
    slots = ((token, type_.name, ""),)
    return FragmentValue(
        ((key, token, (), type_.sort),), remake, kind="value", state_=value, slots=slots
    )


Plan = Callable[[Children], "Sequence[Item] | None"]
"""Gives the expressions of a part of a body, or None where the children do not go together."""


def compile_body(
    text: str,
    holes: Mapping[str, str],
    library: Any = None,
    *,
    whole: bool = False,
    class_name: str = "",
    absent: Collection[str] = (),
) -> TermFragment:
    """Return the compiled body; a child that is several expressions is spliced in.

    With `whole` its results must be among the declared programs, if any are. `absent` names are
    left out, and nodes that hold nothing else (`TemplateBodies.compile`).

    Raises:
        GenieError: X001 to X009, X031, X041 to X043, G034.
    """
    declarations: Declarations = library or NONE
    example = r"\(x : String, y : Number) -> (LABEL x y)"
    types = partial(sx.parse_type, entities=declarations.value_lists)
    parameters, body = split_lambda(text, types, code="X041", example=example)
    try:
        expressions = parse_all(body, file=BODY)
    except GenieError as error:
        raise GenieError(error.problems, sources={BODY: text}) from None
    if not expressions:
        message = "expected an expression, got an empty body"
        raise Places(text, BODY).error("X043", message, 0, len(text) or 1)
    _check_labels(expressions, declarations, text)
    if absent:
        parameters = tuple(p for p in parameters if p[0] not in absent)
        expressions = _without(expressions, absent)
    compiler = _FragmentCompiler(frozenset(holes) | {name for name, _ in parameters}, declarations)
    plans = [compiler.plan(expression, "") for expression in expressions]
    plan = _together(plans)
    if whole and declarations.programs:
        plan = _whole(plan, declarations, compiler.refused)

    def make(children: Children) -> FragmentValue | None:
        """Return the expressions; None where a set holds a thing twice, or a node does not fit."""
        items = plan(children)

        def remake(names: Names) -> FragmentValue:
            renamed = fragment.build({name: value.shift(names) for name, value in children.items()})
            assert isinstance(renamed, FragmentValue), "renaming keeps what is equal equal"
            return renamed

        return None if items is None else FragmentValue(items, remake)

    fragment = TermFragment(
        "program",
        parameters,
        {name: compiler.fills.get(name, "") for name, _ in parameters},
        (),
        make,
        compiler.refused,
        partial(compile_body, text, holes, declarations, whole=whole, absent=absent),
    )
    return fragment


def _without(expressions: Sequence[sx.Expression], absent: Collection[str]) -> list[sx.Expression]:
    """Return the expressions without absent names, and without nodes that hold nothing else."""
    parts = [part for e in expressions if (part := _part_without(e, absent)) is not None]
    if parts:
        return parts
    raise nothing_left(absent, expressions[0].span)


def _part_without(node: sx.Expression, absent: Collection[str]) -> sx.Expression | None:
    if isinstance(node, sx.Atom):
        return None if node.text in absent else node
    if not isinstance(node, sx.Node):
        return node
    items = [part for item in node.items if (part := _part_without(item, absent)) is not None]
    place = sx.label_index(node)
    is_empty = len(items) <= (0 if place is None else place + 1)
    if is_empty and len(items) < len(node.items):
        return None
    return replace(node, items=tuple(items))


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


def _check_labels(
    expressions: Sequence[sx.Expression], declarations: Declarations, text: str
) -> None:
    problems = []
    stack = list(reversed(expressions))
    while stack:
        node = stack.pop()
        if not isinstance(node, sx.Node):
            continue
        stack.extend(reversed(node.items))
        name = sx.label(node)
        if declarations.signatures and not node.prefix and name not in declarations.signatures:
            hint = did_you_mean(name, declarations.signatures)
            problems.append(Problem("X031", f"unknown node {name!r}", node.span, hint))
    if problems:
        raise GenieError(problems, sources={BODY: text})


@dataclass(slots=True)
class _FragmentCompiler:
    """Compiles expressions with the given names as holes.

    Attributes:
        fills: hole -> label of the node that it stands in.
        refused: nodes that would not fit their signatures -> how often.
    """

    holes: frozenset[str]
    declarations: Declarations
    fills: dict[str, str] = field(default_factory=dict)
    refused: Counter[Problem] = field(default_factory=Counter)

    def plan(self, expression: sx.Expression, inside: str) -> Plan:
        if isinstance(expression, sx.Atom) and expression.text in self.holes:
            self.fills.setdefault(expression.text, inside)
            return _hole(expression.text)
        if not isinstance(expression, sx.Node):
            text = tokens(expression)
            items = ((sort_key(text), text, (), sort_of(expression)),)
            return lambda children: items
        return self.node(expression)

    def node(self, node: sx.Node) -> Plan:
        name, place = sx.label(node), sx.label_index(node)
        start = 0 if place is None else place + 1
        head = _FragmentCompiler(frozenset(), self.declarations)
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
        assert isinstance(value, FragmentValue)
        return value.items

    return plan


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
    node: sx.Node, declarations: Declarations, before: Plan, refused: Counter[Problem]
) -> Callable[[Sequence[Item]], "Sequence[Item] | None"]:
    """Return the function that makes a node of its items (those after the label)."""
    name = sx.label(node)
    first = before({}) or ()
    opening = " ".join([node.prefix + node.bracket, *[item[1] for item in first]])
    key_opening = " ".join([node.prefix + node.bracket, *[item[0] for item in first]])
    closing = sx.CLOSING[node.bracket]
    sort = sx.node_sort(f"{node.prefix}{node.bracket}", name)
    order = declarations.order(name)
    signature = None if node.prefix else declarations.signatures.get(name)
    is_applied = name in declarations.applied

    def make(items: Sequence[Item]) -> Sequence[Item] | None:
        if order != "ordered" and len(items) > 1:
            items = sorted(items)
            if order == "set" and any(a[0] == b[0] for a, b in zip(items, items[1:], strict=False)):
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
        own = name
        if is_applied and items and items[0][3] == items[0][1]:
            own = items[0][1]  # an applied node uses the function that its first item names
        functions: tuple[str, ...] = (own,) if own else ()
        for item in items:
            functions += item[2]
        return ((key, text, functions, sort),)

    return make


def _tree_value(tree: sx.Expression, declarations: Declarations | None) -> FragmentValue:
    tree = canonical.canonical(tree, declarations)
    text = tokens(tree)
    functions = tuple(canonical.functions(tree, declarations).elements())
    item: Item = (sort_key(text), text, functions, sort_of(tree))

    def remake(names: Names) -> FragmentValue:
        return _tree_value(from_tokens(rename_all(text, names)), declarations)

    return FragmentValue((item,), remake)


class SexprBodies(TemplateBodies):
    """Template bodies that are expressions."""

    kinds = frozenset({"program", "value"})
    attributes: Mapping[str, frozenset[str]] = dict.fromkeys(
        kinds, frozenset(field.name for field in fields(ExpressionState))
    )

    parse_type = staticmethod(sx.parse_type)
    compile = staticmethod(compile_body)

    def compile_row(self, text: str, library: Any = None) -> FragmentValue:
        """Return the expressions of a row of a table."""
        fragment = compile_body(text, {}, library)
        value: FragmentValue | None = fragment.build({})
        if value is None:
            problems = tuple(fragment.refused) or Problem("X032", f"{text!r} holds a thing twice")
            raise GenieError(problems)
        return value

    def constants(self, type_: sx.SlotType, library: Any = None) -> Iterable[Constant]:
        """Yield the placeholder of the type."""
        token = f"{type_.stem}_0"
        yield Constant(token, placeholder_value(token), type_.stem)

    def tree(self, value: Value) -> sx.Expression:
        """Return the syntax tree of a value, or raise GenieError (X051) if it is no single one."""
        assert isinstance(value, FragmentValue)
        if len(value.items) != 1:
            message = f"a Python function takes one expression, got {len(value.items)}"
            hint = "call it on the node that holds them"
            raise GenieError(Problem("X051", f"{message}: {value.text}", hint=hint))
        return from_tokens(value.text)

    def lift(
        self, program: sx.Expression, library: Any = None, *, whole: bool = False
    ) -> FragmentValue:
        """Return the value of a tree that a Python semantic function made.

        Raises:
            GenieError: nodes that do not fit their declared signatures.
        """
        if problems := canonical.check(program, library, whole=whole):
            raise GenieError(problems)
        return _tree_value(program, library)
