"""Guards: conditions over the children of a template, sorted into joins and tests.

A guard is a conjunction. Equality between attributes of two children is a *join*, which the
sampler indexes; every other conjunct is a *test* of the attributes that it names.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import assert_never

from genie_dp.errors import GenieError, Problem, Span, did_you_mean

# Guards are written by hand; the functions over them call themselves once a level.
DEEPEST = 50
Constant = str | bool | int | float | None
Lookup = Callable[[str, str], object]


@dataclass(frozen=True, slots=True)
class Attribute:
    """`q.is_list`."""

    child: str
    name: str


@dataclass(frozen=True, slots=True)
class GuardConstant:
    """A constant, or a list of constants after `in`."""

    value: Constant | tuple[Constant, ...]


@dataclass(frozen=True, slots=True)
class Compare:
    """`left operator right`; the operator is ==, !=, in or not in."""

    operator: str
    left: "Attribute | GuardConstant"
    right: "Attribute | GuardConstant"


@dataclass(frozen=True, slots=True)
class Negation:
    """`not operand`."""

    operand: "Expression"


@dataclass(frozen=True, slots=True)
class Combination:
    """`a and b`, `a or b`."""

    operator: str
    operands: tuple["Expression", ...]


Expression = Attribute | GuardConstant | Compare | Negation | Combination


@dataclass(frozen=True, slots=True)
class GuardJoin:
    """`p.function == q.function`: an equality between attributes of two children."""

    left_child: str
    left_attribute: str
    right_child: str
    right_attribute: str

    def sides(self) -> tuple[tuple[str, str], tuple[str, str]]:
        """Return both sides as (child, attribute)."""
        left = (self.left_child, self.left_attribute)
        return left, (self.right_child, self.right_attribute)


@dataclass(frozen=True, slots=True)
class GuardTest:
    """A condition that is no join. `reads` are the (child, attribute) pairs it looks at."""

    expression: Expression
    reads: tuple[tuple[str, str], ...]

    __test__ = False  # pytest would otherwise take the class for a test case

    def evaluate(self, lookup: Lookup) -> bool:
        """Return whether the condition holds; `lookup(child, attribute)` gives the values."""
        return bool(_evaluate(self.expression, lookup))


@dataclass(frozen=True, slots=True)
class Guard:
    """All of `joins` and `tests` must hold; without any, every combination of children does."""

    joins: tuple[GuardJoin, ...] = ()
    tests: tuple[GuardTest, ...] = ()

    def attributes(self) -> Iterator[tuple[str, str]]:
        """Yield every (child, attribute) pair that the guard reads, once each, in order."""
        pairs: dict[tuple[str, str], None] = {}
        for join in self.joins:
            pairs[join.left_child, join.left_attribute] = None
            pairs[join.right_child, join.right_attribute] = None
        for test in self.tests:
            pairs.update(dict.fromkeys(test.reads))
        yield from pairs


def rename_children(test: GuardTest, names: Mapping[str, str]) -> GuardTest:
    """Return a test that names its children otherwise; a child without a new name keeps its own.

    >>> rename_children(parse_guard("not q.is_list", ["q"]).tests[0], {"q": "0"}).reads
    (('0', 'is_list'),)
    """
    reads = tuple((names.get(child, child), attribute) for child, attribute in test.reads)
    return GuardTest(_rename_expression(test.expression, names), reads)


def compared_with(
    tests: Iterable[GuardTest], child: str, attribute: str
) -> frozenset[Constant] | None:
    """Return the constants with which tests compare an attribute; None if they ask more of it.

    >>> tests = parse_guard("q.last == '#' or q.last in ['it', 'them']", ["q"]).tests
    >>> sorted(compared_with(tests, "q", "last"))
    ['#', 'it', 'them']
    >>> compared_with(parse_guard("q.is_list or q.last == '#'", ["q"]).tests, "q", "is_list")
    """
    constants: set[Constant] = set()
    for test in tests:
        for value in _constants_beside(test.expression, Attribute(child, attribute)):
            if value is None:
                return None
            constants.update(value.value if isinstance(value.value, tuple) else (value.value,))
    return frozenset(constants)


def _constants_beside(
    expression: Expression, attribute: Attribute
) -> Iterator[GuardConstant | None]:
    """Yield the constant of each comparison of an attribute; None for any other use of it."""
    match expression:
        case Compare(_, left, GuardConstant() as value) if left == attribute:
            yield value
        case Compare("==" | "!=", GuardConstant() as value, right) if right == attribute:
            yield value
        case Compare(_, left, right):
            if attribute in (left, right):
                yield None
        case Attribute():
            if expression == attribute:
                yield None
        case Negation(operand):
            yield from _constants_beside(operand, attribute)
        case Combination(_, operands):
            for operand in operands:
                yield from _constants_beside(operand, attribute)
        case GuardConstant():
            return
        case _:
            assert_never(expression)


def _rename_expression(expression: Expression, names: Mapping[str, str]) -> Expression:
    match expression:
        case Attribute(child, name):
            return Attribute(names.get(child, child), name)
        case GuardConstant():
            return expression
        case Compare(operator, left, right):
            return Compare(operator, _rename_side(left, names), _rename_side(right, names))
        case Negation(operand):
            return Negation(_rename_expression(operand, names))
        case Combination(operator, operands):
            return Combination(operator, tuple(_rename_expression(o, names) for o in operands))
        case _:
            assert_never(expression)


def _rename_side(
    side: Attribute | GuardConstant, names: Mapping[str, str]
) -> Attribute | GuardConstant:
    if isinstance(side, Attribute):
        return Attribute(names.get(side.child, side.child), side.name)
    return side


def parse_guard(text: str, children: Collection[str], *, span: Span | None = None) -> Guard:
    """Return the guard of a text; `span` is where the text starts in its file.

    Raises:
        GenieError: the text is no condition (G004), or names an unknown child (G005).

    >>> guard = parse_guard("p.function == q.function and not q.is_list", ["p", "q"])
    >>> guard.joins
    (GuardJoin(left_child='p', left_attribute='function', right_child='q',
     right_attribute='function'),)
    >>> guard.tests[0].reads
    (('q', 'is_list'),)
    >>> guard.tests[0].evaluate(lambda child, attribute: False)
    True
    """
    origin = span or Span("<guard>", 1, 1, 1, len(text) + 1)
    return _GuardReader(origin, frozenset(children)).read(text)


def _depth(tree: ast.expr) -> int:
    level: list[ast.AST] = [tree]
    depth = 0
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


@dataclass(frozen=True, slots=True)
class _GuardReader:
    origin: Span
    children: frozenset[str]

    def read(self, text: str) -> Guard:
        # Parentheses let the condition go over several lines; the columns of the first line
        # move by one.
        try:
            tree = ast.parse(f"({text}\n)", mode="eval")
        except SyntaxError as error:
            line, column = min(error.lineno or 1, text.count("\n") + 1), (error.offset or 2) - 2
            place = self._place(line, max(column, 0), line, max(column, 0) + 1)
            hint = "write and, or, not" if re.search(r"&&|\|\||!(?!=)", text) else None
            problem = Problem("G004", f"the guard cannot be read: {error.msg}", place, hint)
            raise GenieError(_as_syntax(problem)) from None
        except ValueError as error:  # a null character; of a lone surrogate, that it is one
            place = self._place(1, 0, 1, 1)
            problem = Problem("G004", f"the guard cannot be read: {error}", place)
            raise GenieError(_as_syntax(problem)) from None
        except (RecursionError, MemoryError):  # what ast.parse says of a text that is too deep
            raise self._too_deep() from None
        if _depth(tree.body) > DEEPEST:
            raise self._too_deep()
        guard = _sort_conjuncts(tuple(_conjuncts(self._expression(tree.body), negated=False)))
        if any(not test.reads for test in guard.tests):
            raise self._error(tree.body, "part of the guard looks at no child")
        return guard

    def _too_deep(self) -> GenieError:
        place = self._place(1, 0, 1, 1)
        return GenieError(_as_syntax(Problem("G004", "the guard is nested too deep", place)))

    def _expression(self, node: ast.expr) -> Expression:
        match node:
            case ast.BoolOp(op, values):
                operator = "and" if isinstance(op, ast.And) else "or"
                return Combination(operator, tuple(self._expression(v) for v in values))
            case ast.UnaryOp(ast.Not(), operand):
                return Negation(self._expression(operand))
            case ast.Compare():
                return self._comparison(node)
            case _:
                return self._operand(node)

    def _comparison(self, node: ast.Compare) -> Expression:
        operands = [node.left, *node.comparators]
        comparisons = [
            Compare(self._operator(op, node), self._operand(left), self._operand(right))
            for left, op, right in zip(operands, node.ops, operands[1:], strict=False)
        ]
        return comparisons[0] if len(comparisons) == 1 else Combination("and", tuple(comparisons))

    def _operator(self, op: ast.cmpop, node: ast.expr) -> str:
        match op:
            case ast.Eq():
                return "=="
            case ast.NotEq():
                return "!="
            case ast.In():
                return "in"
            case ast.NotIn():
                return "not in"
            case _:
                raise self._error(node, "guards compare with ==, !=, in and not in only")

    def _operand(self, node: ast.expr) -> Attribute | GuardConstant:
        match node:
            case ast.Attribute(ast.Name(child), name):
                if child not in self.children:
                    hint = (
                        did_you_mean(child, self.children) or "children are written name:CATEGORY"
                    )
                    problem = Problem("G005", f"no child {child!r}", self._span(node), hint)
                    raise GenieError(problem)
                return Attribute(child, name)
            case ast.Constant(str() | bool() | int() | float() | None as value):
                return GuardConstant(value)
            case ast.List(items) | ast.Tuple(items) | ast.Set(items):
                return GuardConstant(tuple(self._constant(item) for item in items))
            case ast.Name(name) if name in self.children:
                raise self._error(
                    node, f"expected an attribute of {name!r}, such as {name}.function"
                )
            case ast.Name(name):
                raise self._error(node, f"expected an attribute of a child, got {name!r}")
            case _:
                raise self._error(node, "expected an attribute of a child, a text or a number")

    def _constant(self, node: ast.expr) -> Constant:
        match self._operand(node):
            case GuardConstant(str() | bool() | int() | float() | None as value):
                return value
            case _:
                raise self._error(node, "expected a text or a number in the list")

    def _span(self, node: ast.expr) -> Span:
        # Offsets of `ast` count bytes of UTF-8; guards with other letters are off by a little.
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or node.col_offset + 1
        shift = [1 if line == 1 else 0 for line in (node.lineno, end_line)]
        return self._place(node.lineno, node.col_offset - shift[0], end_line, end - shift[1])

    def _place(self, line: int, column: int, end_line: int, end_column: int) -> Span:
        def absolute(row: int, offset: int) -> tuple[int, int]:
            first = self.origin.column if row == 1 else 1
            return self.origin.line + row - 1, first + offset

        return Span(self.origin.file, *absolute(line, column), *absolute(end_line, end_column))

    def _error(self, node: ast.expr, message: str) -> GenieError:
        return GenieError(_as_syntax(Problem("G004", message, self._span(node))))


def _as_syntax(problem: Problem) -> Problem:
    return Problem(problem.code, problem.message, problem.span, problem.hint, stage="syntax")


def _conjuncts(expression: Expression, *, negated: bool) -> Iterator[Expression]:
    """Yield conditions that together mean the expression: `and` and `not .. or` come apart."""
    match expression:
        case Negation(operand):
            yield from _conjuncts(operand, negated=not negated)
        case Combination("and", operands) if not negated:
            for operand in operands:
                yield from _conjuncts(operand, negated=False)
        case Combination("or", operands) if negated:
            for operand in operands:
                yield from _conjuncts(operand, negated=True)
        case Compare(operator, left, right) if negated:
            opposite = {"==": "!=", "!=": "==", "in": "not in", "not in": "in"}
            yield Compare(opposite[operator], left, right)
        case _:
            yield Negation(expression) if negated else expression


def _sort_conjuncts(conjuncts: tuple[Expression, ...]) -> Guard:
    joins: dict[GuardJoin, None] = {}
    tests: dict[GuardTest, None] = {}
    for conjunct in conjuncts:
        match conjunct:
            case Compare("==", Attribute(left, first), Attribute(right, second)) if left != right:
                joins[GuardJoin(left, first, right, second)] = None
            case _:
                tests[GuardTest(conjunct, tuple(dict.fromkeys(_attributes_read(conjunct))))] = None
    return Guard(tuple(joins), tuple(tests))


def _attributes_read(expression: Expression) -> Iterator[tuple[str, str]]:
    match expression:
        case Attribute(child, name):
            yield child, name
        case GuardConstant():
            return
        case Compare(_, left, right):
            yield from _attributes_read(left)
            yield from _attributes_read(right)
        case Negation(operand):
            yield from _attributes_read(operand)
        case Combination(_, operands):
            for operand in operands:
                yield from _attributes_read(operand)
        case _:
            assert_never(expression)


def _evaluate(expression: Expression, lookup: Lookup) -> object:
    match expression:
        case Attribute(child, name):
            return lookup(child, name)
        case GuardConstant(value):
            return value
        case Compare(operator, left, right):
            return compare(operator, _evaluate(left, lookup), _evaluate(right, lookup))
        case Negation(operand):
            return not _evaluate(operand, lookup)
        case Combination("and", operands):
            return all(_evaluate(operand, lookup) for operand in operands)
        case Combination(_, operands):
            return any(_evaluate(operand, lookup) for operand in operands)
        case _:
            assert_never(expression)


def compare(operator: str, left: object, right: object) -> bool:
    """Return whether `left operator right` holds, for ==, !=, in and not in.

    >>> compare("not in", "a", ("a", "b"))
    False
    """
    match operator:
        case "==":
            return left == right
        case "!=":
            return left != right
        case _:
            # A text or a tuple; anything else holds nothing.
            inside = isinstance(right, str | tuple | frozenset) and left in right
            return inside == (operator == "in")
