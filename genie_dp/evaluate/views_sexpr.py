"""How S-expressions are compared: labels are functions, all other words are values."""

from collections.abc import Iterator
from dataclasses import dataclass

from genie_dp.evaluate.views import View, repeated
from genie_dp.languages.sexpr.ast import CLOSING, Atom, Expression, Node, Text, label, label_index
from genie_dp.languages.sexpr.canonical import functions
from genie_dp.languages.sexpr.declarations import NONE, Declarations
from genie_dp.languages.sexpr.render import tokens


@dataclass(frozen=True, slots=True)
class SexprComparison:
    """Expressions by their tokens.

    Attributes:
        unordered: nodes in a node are compared as a multiset under every head, as PIZZA's
            "unordered exact match" does; words keep their order. Heads that a file of declarations
            calls unordered are so in any case.
    """

    unordered: bool = False

    def view(self, program: Expression, library: Declarations | None) -> View:
        """Return what is compared of a canonical expression."""
        declared = library or NONE
        used = repeated(functions(program, declared))
        return View(
            match=unordered_key(program, declared) if self.unordered else tokens(program),
            shape=shape(program, declared, unordered=self.unordered),
            functions=used,
            devices=used,
            parameters=(),
            operators=(),
        )


def unordered_key(expression: Expression, declared: Declarations = NONE) -> str:
    """Return one text for all orders of the nodes in a node.

    >>> from genie_dp.languages.sexpr.reader import parse
    >>> one, other = parse("(P (T HAM) (S BIG))"), parse("(P (S BIG) (T HAM))")
    >>> unordered_key(one) == unordered_key(other)
    True
    >>> unordered_key(parse("(minus 3 2)")) == unordered_key(parse("(minus 2 3)"))
    False
    """
    if not isinstance(expression, Node):
        return tokens(expression)
    words = [tokens(value) for value in _values(expression, declared)]
    nodes = [item for item in expression.items if isinstance(item, Node)]
    keys = sorted(unordered_key(node, declared) for node in nodes)
    return _written(expression, declared, words, keys)


def shape(expression: Expression, declared: Declarations, *, unordered: bool = False) -> str:
    """Return an expression without its values: `_` stands for all words of a node, if any.

    >>> from genie_dp.languages.sexpr.reader import parse
    >>> shape(parse("[IN:ALARM [SL:TIME for 8 am ] ]"), NONE)
    '[ IN:ALARM | | [ SL:TIME | _ | ] ]'
    """
    if not isinstance(expression, Node):
        return "_"
    nodes = [item for item in expression.items if isinstance(item, Node)]
    shapes = [shape(node, declared, unordered=unordered) for node in nodes]
    if unordered or declared.order(label(expression)) != "ordered":
        shapes.sort()
    words = ["_"] if any(True for _ in _values(expression, declared)) else []
    return _written(expression, declared, words, shapes)


def _written(node: Node, declared: Declarations, words: list[str], nodes: list[str]) -> str:
    opening, name = f"{node.prefix}{node.bracket}", _name(node, declared)
    return " ".join([opening, name, "|", *words, "|", *nodes, CLOSING[node.bracket]])


def _name(node: Node, declared: Declarations) -> str:
    """Return the label; of a node such as `(call f ..)`, the function as well."""
    place = label_index(node)
    if place is None or label(node) not in declared.applied:
        return label(node)
    return " ".join(tokens(item) for item in node.items[place : place + 2])


def _values(node: Node, declared: Declarations) -> Iterator[Atom | Text]:
    """Yield the words that stand in a node, behind its name."""
    place = label_index(node)
    skipped = 0 if place is None else place + 1
    if place is not None and label(node) in declared.applied:
        skipped += 1
    yield from (item for item in node.items[skipped:] if isinstance(item, Atom | Text))
