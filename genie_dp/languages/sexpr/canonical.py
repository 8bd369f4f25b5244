"""Functions over S-expressions: canonical form, functions, placeholders, signatures, comparison."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, assert_never

from genie_dp.errors import Problem, did_you_mean
from genie_dp.languages.base import ProgramView, list_counted
from genie_dp.languages.sexpr import ast as sx
from genie_dp.languages.sexpr import literals
from genie_dp.languages.sexpr.declarations import NONE, Declarations, misfit
from genie_dp.languages.sexpr.text import tokens
from genie_dp.languages.text import sort_key


def canonical(program: sx.Expression, library: Any = None) -> sx.Expression:
    """Return the expression with the items of unordered nodes sorted, and those of sets once each.

    >>> from genie_dp.languages.sexpr.declarations import read_declarations
    >>> from genie_dp.languages.sexpr.text import parse
    >>> from genie_dp.languages.sexpr.text import render
    >>> render(canonical(parse("(P (T HAM) (S BIG))"), read_declarations("unordered P;")))
    '(P (S BIG) (T HAM))'
    """
    return _canonical(program, library or NONE)


def _canonical(expression: sx.Expression, declarations: Declarations) -> sx.Expression:
    if not isinstance(expression, sx.Node):
        return expression
    items = [_canonical(item, declarations) for item in expression.items]
    order = declarations.order(sx.label(expression))
    if order != "ordered":
        start = (sx.label_index(expression) or 0) + 1
        keyed = sorted((sort_key(tokens(item)), place) for place, item in enumerate(items[start:]))
        if order == "set":
            keyed = [row for k, row in enumerate(keyed) if not k or row[0] != keyed[k - 1][0]]
        items = items[:start] + [items[start + place] for _, place in keyed]
    return replace(expression, items=tuple(items))


def functions(program: sx.Expression, library: Declarations | None = None) -> Counter[str]:
    """Return how often each label is used, in the order of the text.

    Types `^(..)` and typed literals `#(..)` are no functions. Where a label is declared `apply`,
    the first item names the function: `(call SW.filter ..)` uses SW.filter.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> functions(parse('(Yield (size (^(Event) find (?= #(String "x")))))'))
    Counter({'Yield': 1, 'size': 1, 'find': 1, '?=': 1})
    """
    return Counter(_functions(program, library or NONE))


def _functions(expression: sx.Expression, declarations: Declarations) -> Iterator[str]:
    if not isinstance(expression, sx.Node) or expression.prefix:
        return
    name = function_name(expression, declarations)
    if name:
        yield name
    for item in expression.items:
        yield from _functions(item, declarations)


def function_name(node: sx.Node, declarations: Declarations) -> str:
    """Return the function that a node uses, or ""."""
    name, place = sx.label(node), sx.label_index(node)
    if place is None or name not in declarations.applied or place + 1 == len(node.items):
        return name
    operator = node.items[place + 1]
    is_symbol = isinstance(operator, sx.Atom) and sort_of(operator) == operator.text
    return tokens(operator) if is_symbol else name


def sort_of(expression: sx.Expression) -> str:
    """Return the sort of an item: `(LABEL)`, String, Number, `#Date`, or the symbol.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> [sort_of(parse(t)) for t in ("(SIZE BIG)", '"tea"', "4L", "QUOTED_STRING_0", "BIG")]
    ['(SIZE)', 'String', 'Number', 'String', 'BIG']
    """
    match expression:
        case sx.Node(_, bracket, prefix):
            return sx.node_sort(f"{prefix}{bracket}", sx.label(expression))
        case sx.Text():
            return "String"
        case sx.Atom(text):
            if sx.is_number(text):
                return "Number"
            type_ = sx.placeholder_type(text)
            return type_.sort if type_ else text
        case _:
            assert_never(expression)


def check(program: sx.Expression, library: Any = None, *, whole: bool = True) -> list[Problem]:
    """Return the type mistakes against the declarations, in text order.

    A program that is none of the declared ones is X033, unless it need not be `whole`; nodes that
    do not fit their signatures are X031 and X032, literals of no such form X034.
    """
    declared: Declarations = library or NONE
    problems: list[Problem] = []
    if whole and (problem := part_of_program([sort_of(program)], declared)):
        problems.append(replace(problem, span=program.span))
    return [*problems, *_check(program, declared)] if declared.signatures else problems


def part_of_program(sorts: Sequence[str], declarations: Declarations) -> Problem | None:
    """Return the mistake of expressions of these sorts that are no declared program, if any are."""
    programs = declarations.programs
    if not programs or (len(sorts) == 1 and sorts[0] in programs):
        return None
    hint = f"a program is one of {' '.join(sorted(programs))}"
    message = f"{' '.join(sorts)} is part of a program, not a whole one"
    return Problem("X033", message, hint=hint)


def _check(expression: sx.Expression, declarations: Declarations) -> Iterator[Problem]:
    if not isinstance(expression, sx.Node) or expression.prefix:
        if isinstance(expression, sx.Node) and (problem := literals.problem_of(expression)):
            yield problem
        return
    name = sx.label(expression)
    signature = declarations.signatures.get(name)
    if signature is None:
        hint = did_you_mean(name, declarations.signatures) or f"declare it: node {name} = ..;"
        yield Problem("X031", f"unknown node {name!r}", expression.span, hint)
    else:
        items = expression.items[(sx.label_index(expression) or 0) + 1 :]
        ordered = declarations.order(name) == "ordered"
        reason = misfit(signature, [sort_of(item) for item in items], ordered=ordered)
        if reason:
            hint = f"declared as {name} = {' '.join(map(str, signature))}"
            yield Problem("X032", f"in {name!r}: {reason}", expression.span, hint)
    for item in expression.items:
        yield from _check(item, declarations)


@dataclass(frozen=True, slots=True)
class SexprComparison:
    """Expressions by their tokens.

    Attributes:
        unordered: nodes in a node are compared as a multiset under every head, as PIZZA's
            "unordered exact match" does; words keep their order. Heads that a file of declarations
            calls unordered are so in any case.
    """

    unordered: bool = False

    def view(self, program: sx.Expression, library: Declarations | None) -> ProgramView:
        """Return the compared parts of a canonical expression."""
        declared = library or NONE
        used = list_counted(functions(program, declared))
        return ProgramView(
            match=unordered_key(program, declared) if self.unordered else tokens(program),
            shape=shape(program, declared, unordered=self.unordered),
            functions=used,
            devices=used,
            parameters=(),
            operators=(),
        )


def unordered_key(expression: sx.Expression, declared: Declarations = NONE) -> str:
    """Return one text for all orders of the nodes in a node.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> left, right = parse("(P (T HAM) (S BIG))"), parse("(P (S BIG) (T HAM))")
    >>> unordered_key(left) == unordered_key(right)
    True
    >>> unordered_key(parse("(minus 3 2)")) == unordered_key(parse("(minus 2 3)"))
    False
    """
    if not isinstance(expression, sx.Node):
        return tokens(expression)
    words = [tokens(value) for value in _values(expression, declared)]
    nodes = [item for item in expression.items if isinstance(item, sx.Node)]
    keys = sorted(unordered_key(node, declared) for node in nodes)
    return _join_parts(expression, declared, words, keys)


def shape(expression: sx.Expression, declared: Declarations, *, unordered: bool = False) -> str:
    """Return an expression without its values: `_` stands for all words of a node, if any.

    >>> from genie_dp.languages.sexpr.text import parse
    >>> shape(parse("[IN:ALARM [SL:TIME for 8 am ] ]"), NONE)
    '[ IN:ALARM | | [ SL:TIME | _ | ] ]'
    """
    if not isinstance(expression, sx.Node):
        return "_"
    nodes = [item for item in expression.items if isinstance(item, sx.Node)]
    shapes = [shape(node, declared, unordered=unordered) for node in nodes]
    if unordered or declared.order(sx.label(expression)) != "ordered":
        shapes.sort()
    words = ["_"] if any(True for _ in _values(expression, declared)) else []
    return _join_parts(expression, declared, words, shapes)


def _join_parts(node: sx.Node, declared: Declarations, words: list[str], nodes: list[str]) -> str:
    opening, name = f"{node.prefix}{node.bracket}", _name(node, declared)
    return " ".join([opening, name, "|", *words, "|", *nodes, sx.CLOSING[node.bracket]])


def _name(node: sx.Node, declared: Declarations) -> str:
    """Return the label; of a node such as `(call f ..)`, the function as well."""
    place = sx.label_index(node)
    if place is None or sx.label(node) not in declared.applied:
        return sx.label(node)
    return " ".join(tokens(item) for item in node.items[place : place + 2])


def _values(node: sx.Node, declared: Declarations) -> Iterator[sx.Atom | sx.Text]:
    """Yield the words that stand in a node, behind its name."""
    place = sx.label_index(node)
    skipped = 0 if place is None else place + 1
    if place is not None and sx.label(node) in declared.applied:
        skipped += 1
    yield from (item for item in node.items[skipped:] if isinstance(item, sx.Atom | sx.Text))
