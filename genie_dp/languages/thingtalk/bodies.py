"""Template bodies compiled: a tree with holes becomes one function over pieces.

The parts of a body without queries, streams or actions of children (`p > v`, `attimer time = t`)
are put together as trees, once for each choice of parameter and constant, and remembered. The rest
is a nest of the operations of compose.py.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.thingtalk import ast, compose
from genie_dp.languages.thingtalk.fills import fills as found_fills
from genie_dp.languages.thingtalk.lift import Lifter
from genie_dp.languages.thingtalk.traverse import children, rewrite
from genie_dp.languages.thingtalk.values import (
    ActionValue,
    ConstantValue,
    GapValue,
    ParameterValue,
    PredicateValue,
    QueryValue,
    SourceValue,
    StreamValue,
)

Children = Mapping[str, Any]
Build = Callable[[Children], Any]


@dataclass(slots=True)
class Body:
    """A compiled body; implements languages.base.Fragment."""

    kind: str
    parameters: tuple[tuple[str, Any], ...]
    fills: Mapping[str, str]
    node: Any
    build: Build = field(repr=False)


def compile_body(tree: ast.Lambda, holes: Mapping[str, str], lifter: Lifter) -> Body:
    """Return the body of a template; `holes` maps children to kinds.

    Raises:
        GenieError: the library does not know a function or parameter, or the construct cannot
            stand around a child.
    """
    names = {**holes, **dict.fromkeys((name for name, _ in tree.parameters), "value")}
    compiler = _Compiler(names, lifter)
    build = compiler.compile(tree.body)
    fills: dict[str, str] = {}
    for token, _, parameter in found_fills(lifter.library, _placeholders_as_slots(tree)):
        fills.setdefault(token, parameter)
    return Body(_kind(tree.body, lifter), tree.parameters, fills, tree.body, build)


def _placeholders_as_slots(tree: ast.Lambda) -> Any:
    names = {name for name, _ in tree.parameters}

    def change(node: Any) -> Any:
        if isinstance(node, ast.VarRef) and node.name in names:
            return ast.SlotValue(node.name)
        return node

    return rewrite(tree.body, change)


def _kind(node: Any, lifter: Lifter) -> str:
    match node:
        case ast.Hole(_, kind):
            return kind
        case ast.Call():
            name = f"@{node.selector.class_name}.{node.function}"
            return lifter.signature(name, node).kind
        case ast.Filter() | ast.Join() | ast.Aggregate():
            return "query"
        case ast.Projection():
            return "source"
        case ast.Program() | ast.Rule():
            return "program"
        case ast.Policy():
            return "policy"
        case ast.TrueP() | ast.FalseP() | ast.Not() | ast.And() | ast.Or() | ast.Atom():
            return "predicate"
        case ast.GetPredicate():
            return "predicate"
        case ast.AtTimer() | ast.Timer() | ast.Monitor() | ast.Edge():
            return "stream"
        case ast.StreamFilter() | ast.StreamJoin():
            return "stream"
        case _:
            return "value"


class _Compiler:
    def __init__(self, holes: Mapping[str, str], lifter: Lifter):
        self.holes, self.lifter = holes, lifter

    # ---------------------------------------------------------------------------- dispatch

    def compile(self, node: Any) -> Build:  # noqa: C901 - one case for each construct
        if not any(isinstance(n, ast.Hole) for n in _walk(node)):
            return self._whole(node)
        match node:
            case ast.Hole():
                return self._child(node)
            case ast.Filter(query, predicate):
                return self._filter(query, predicate)
            case ast.Join():
                return self._join(node)
            case ast.Aggregate(operator, name, query):
                return self._aggregate(operator, name, query)
            case ast.Projection(query, output):
                return self._projection(query, output)
            case ast.Monitor(query, on_new):
                return self._monitor(query, on_new)
            case ast.Edge(stream, predicate):
                return self._edge(stream, predicate)
            case ast.Not(operand):
                return _map(self.compile(operand), compose.negation)
            case ast.And(operands):
                return self._fold(operands, compose.both)
            case ast.Or(operands):
                return self._fold(operands, compose.disjunction)
            case ast.Program((rule,)):
                return self._rule(rule)
            case ast.Rule():
                return self._rule(node)
            case ast.Policy():
                return self._policy(node)
            case _:
                message = "children cannot stand inside of this construct"
                raise GenieError(Problem("G030", message, getattr(node, "span", None)))

    def _child(self, hole: ast.Hole) -> Build:
        if hole.argument is not None:
            message = f"{hole.name}({hole.argument}) can stand as the action, or right of a join"
            raise GenieError(Problem("G030", message, hole.span))
        name = hole.name
        return lambda pieces: pieces[name]

    # ------------------------------------------------------------------ trees without children

    def _whole(self, node: Any, function: Callable[[Children], str] | None = None) -> Build:
        """Compile a tree whose holes are parameters and constants only."""
        names = tuple(sorted(set(_names(node)) & set(self.holes)))
        if not names and function is None:
            value = self.lifter.lift(node, {})
            return lambda pieces: value
        known: dict[tuple[str, ...], Any] = {}

        def build(pieces: Children) -> Any:
            key = tuple([_name_of(pieces[name]) for name in names])
            owner = function(pieces) if function else ""
            if (owner, *key) not in known:
                known[(owner, *key)] = self._lifted(node, names, pieces, owner)
            return known[(owner, *key)]

        return build

    def _lifted(self, node: Any, names: tuple[str, ...], pieces: Children, owner: str) -> Any:
        opened = {name: pieces[name].gap for name in names if isinstance(pieces[name], GapValue)}
        named = {name: pieces[name] for name in names if name not in opened}
        owner = next(
            (p.state.function for p in named.values() if isinstance(p, ParameterValue)), owner
        )
        tree = rewrite(node, lambda n: _substituted(n, named))
        if owner and not self._knows(tree, owner):
            return None
        value = self.lifter.lift(tree, opened, owner)
        if value is not None:
            slots = tuple(found_fills(self.lifter.library, tree, owner))
            value = replace(value, slots=slots) if slots else value
        return value

    def _knows(self, tree: Any, function: str) -> bool:
        signature = self.lifter.signature(function)
        atoms = (n for n in _walk(tree) if isinstance(n, ast.Atom))
        return all(signature.parameter(atom.name) is not None for atom in atoms)

    def _condition(self, node: Any, owner: Callable[[Children], str]) -> Build:
        """Compile a predicate that speaks of the outputs of `owner`."""
        if any(isinstance(n, ast.Hole) for n in _walk(node)):
            return self.compile(node)
        return self._whole(node, owner)

    # ------------------------------------------------------------------------------- queries

    def _query(self, node: Any) -> Build:
        """Compile a place where a query stands; a source gives its query."""
        if isinstance(node, ast.Hole) and node.argument is None:
            name = node.name

            def child(pieces: Children) -> Any:
                value = pieces[name]
                return value.query if isinstance(value, SourceValue) else value

            return child
        build = self.compile(node)

        def query(pieces: Children) -> QueryValue | None:
            value = build(pieces)
            if isinstance(value, SourceValue):
                return value.query
            found: QueryValue | None = value
            return found

        return query

    def _filter(self, query: Any, predicate: Any) -> Build:
        inner = self._query(query)
        condition = self._condition(predicate, lambda pieces: _owner(inner(pieces)))

        def build(pieces: Children) -> QueryValue | None:
            value, test = inner(pieces), condition(pieces)
            if value is None or test is None:
                return None
            return compose.filtered(value, test)

        return build

    def _join(self, node: ast.Join) -> Build:
        left = self._query(node.left)
        if not isinstance(node.right, ast.Hole) or node.passing:
            message = "right of a join of children stands a child: q join r, o join r(o)"
            raise GenieError(Problem("G030", message, node.span))
        right, argument = node.right.name, node.right.argument

        def build(pieces: Children) -> QueryValue | None:
            a, b = left(pieces), pieces[right]
            if a is None:
                return None
            if argument is None:
                may_commute = self.lifter.may_commute(a, b)
                inner = self.lifter.inner(a, b, passes=False)
                return compose.joined(a, b, may_commute=may_commute, inner=inner)
            output, key = _output(pieces[argument])
            return compose.joined(a, b, output, key, inner=self.lifter.inner(a, b))

        return build

    def _aggregate(self, operator: str, name: str | None, query: Any) -> Build:
        inner = self._query(query)

        def build(pieces: Children) -> QueryValue | None:
            value = inner(pieces)
            if value is None or (name and not value.state.function):
                return None
            field = self._typed(name, pieces, value.state.function) if name else ""
            return compose.aggregated(value, operator, field)

        return build

    def _typed(self, name: str, pieces: Children, function: str) -> str:
        if name in self.holes:
            return _output(pieces[name])[0]
        return self.lifter.typed(function, name)

    def _projection(self, query: Any, output: str) -> Build:
        inner = self._query(query)

        def build(pieces: Children) -> SourceValue | None:
            value = inner(pieces)
            if value is None:
                return None
            name = pieces[output].state.name if output in self.holes else output
            return self.lifter.source(value, name)

        return build

    # ------------------------------------------------------------------------------- streams

    def _monitor(self, query: Any, on_new: tuple[str, ...]) -> Build:
        inner = self._query(query)

        def build(pieces: Children) -> StreamValue | None:
            value = inner(pieces)
            if value is None or not value.state.function:
                return None
            names = [self._typed(name, pieces, value.state.function) for name in on_new]
            return self.lifter.monitored(value, names)

        return build

    def _edge(self, stream: Any, predicate: Any) -> Build:
        inner = self.compile(stream)
        condition = self._condition(predicate, lambda pieces: _owner(inner(pieces)))

        def build(pieces: Children) -> StreamValue | None:
            value, test = inner(pieces), condition(pieces)
            if value is None or test is None:
                return None
            return compose.edge(value, test)

        return build

    def _fold(self, operands: tuple[Any, ...], operation: Callable[[Any, Any], Any]) -> Build:
        builds = [self.compile(operand) for operand in operands]

        def build(pieces: Children) -> PredicateValue | None:
            value = builds[0](pieces)
            for other in builds[1:]:
                if value is None:
                    return None
                right = other(pieces)
                value = None if right is None else operation(value, right)
            found: PredicateValue | None = value
            return found

        return build

    # ------------------------------------------------------------------------------ programs

    def _rule(self, node: ast.Rule) -> Build:
        stream = None if node.stream is None else self.compile(node.stream)
        query = None if node.query is None else self._passed(node.query)
        action = None if isinstance(node.action, ast.Notify) else self._passed(node.action)

        def build(pieces: Children) -> Any:
            s = stream(pieces) if stream else None
            q = query(pieces) if query else None
            a = action(pieces) if action else None
            if (stream and s is None) or (query and q is None) or (action and a is None):
                return None
            return compose.rule(s, q, a)

        return build

    def _passed(self, node: Any) -> Build:
        """Compile a query or action of a rule, which may be a child with its gap filled."""
        if not isinstance(node, ast.Hole) or node.argument is None:
            return self._query(node)
        name, argument = node.name, node.argument

        def build(pieces: Children) -> Any:
            value = pieces[name]
            output, key = _output(pieces[argument])
            if isinstance(value, ActionValue):
                return compose.passed_to_action(value, output, key)
            return compose.passed_to_query(value, output, key)

        return build

    def _policy(self, node: ast.Policy) -> Build:
        names = tuple(sorted(set(_names(node.source)) & set(self.holes)))
        parts = [self._policy_part(part) for part in (node.query, node.action)]
        known: dict[tuple[str, ...], str] = {}

        def build(pieces: Children) -> Any:
            key = tuple([pieces[name].text for name in names])
            if key not in known:
                named = {name: pieces[name] for name in names}
                tree = rewrite(node.source, lambda n: _substituted(n, named))
                known[key] = self.lifter.source_predicate(tree)
            found = [part(pieces) if part else None for part in parts]
            if any(part and value is None for part, value in zip(parts, found, strict=True)):
                return None
            functions = tuple(f for value in found if value is not None for f in value[1])
            query, action = (None if value is None else value[0] for value in found)
            return compose.policy(known[key], query, action, functions)

        return build

    def _policy_part(self, node: Any) -> Build | None:
        if node is None:
            return None
        if not isinstance(node, ast.Hole):
            message = "a policy template takes its function from a child"
            raise GenieError(Problem("G030", message, node.span))
        name = node.name

        def build(pieces: Children) -> Any:
            value = pieces[name]
            if isinstance(value, SourceValue):
                value = value.query
            if value.gap or (isinstance(value, QueryValue) and (value.left or _is_closed(value))):
                return None
            call = value.call if isinstance(value, QueryValue) else value.text
            clauses = value.clauses if isinstance(value, QueryValue) else ()
            found = compose.as_policy_function(call, clauses)
            return None if found is None else (found, value.functions)

        return build


def _is_closed(query: QueryValue) -> bool:
    return query.state.is_aggregate


def _name_of(piece: Any) -> str:
    """Return what tells a constant or parameter from all others."""
    if isinstance(piece, SourceValue):
        return f"{piece.state.function}:{piece.state.name}"
    text: str = piece.text + piece.gap
    return text


def _map(build: Build, operation: Callable[[Any], Any]) -> Build:
    def mapped(pieces: Children) -> Any:
        value = build(pieces)
        return None if value is None else operation(value)

    return mapped


def _owner(value: Any) -> str:
    return "" if value is None else value.state.function


def _output(value: Any) -> tuple[str, str]:
    """Return (typed name, passing key) of an output that is passed."""
    if isinstance(value, SourceValue):
        return value.output, value.state.key
    return value.typed, value.state.key


def _substituted(node: Any, pieces: Children) -> Any:
    match node:
        case ast.VarRef(name) if name in pieces:
            piece = pieces[name]
            if isinstance(piece, ConstantValue):
                return piece.node
            return ast.VarRef(piece.state.name)
        case ast.Atom(name) if name in pieces:
            return replace(node, name=pieces[name].state.name)
        case _:
            return node


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for child in children(node):
        yield from _walk(child)


def _names(node: Any) -> Iterator[str]:
    """Yield the names under which a tree may mean children."""
    for part in _walk(node):
        match part:
            case ast.VarRef(name) | ast.Atom(name):
                yield name
            case ast.Hole(name, _, argument):
                yield name
                if argument is not None:
                    yield argument
            case ast.Aggregate(_, str() as name):
                yield name
            case ast.Monitor(_, on_new):
                yield from on_new
            case _:
                continue
