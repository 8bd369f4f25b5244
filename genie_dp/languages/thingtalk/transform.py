"""Parse tree to syntax tree: programs, policies and template bodies."""

# ruff: noqa: D102 - one method per rule of grammar.lark, which says what it reads

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from lark import Token
from lark.tree import Meta

from genie_dp.errors import Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.transform_values import ValueReader

_SPELLINGS = {"=": "==", "substr": "=~"}


class Passed(NamedTuple):
    """A call with parameters passed after it: a query of a stream join, or an action."""

    call: ast.Call
    passing: tuple[ast.Arg, ...]


class Then(NamedTuple):
    """A further query of a rule, with parameters passed to it."""

    query: ast.Query
    passing: tuple[ast.Arg, ...]


class Inputs(NamedTuple):
    """What stands in the parentheses of a call."""

    args: tuple[ast.Arg, ...]
    span: Span


class ProgramReader(ValueReader):
    """Turns the trees of programs, policies and template bodies into nodes."""

    def __init__(self, file: str, holes: Mapping[str, str] | None = None) -> None:
        """Keep the file name for spans, and the kinds of a template's children by name."""
        super().__init__(file)
        self.holes = holes or {}

    # ----------------------------------------------------------------------------- programs

    def input(self, _meta: Meta, children: list[ast.Program | ast.Policy]) -> Any:
        return children[0]

    def program(self, meta: Meta, children: list[ast.Rule]) -> ast.Program:
        return ast.Program(tuple(children), span=self.span(meta))

    def do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        return ast.Rule(None, None, as_action(children[0]), span=self.span(meta))

    def get_do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        query, action = children
        return ast.Rule(None, query, as_action(action), span=self.span(meta))

    def when_do(self, meta: Meta, children: list[Any]) -> ast.Rule:
        stream, *thens, action = children
        query = None
        if thens and not thens[-1].passing:
            query = thens.pop().query
        span = self.span(meta)
        return ast.Rule(_joined(stream, thens, span), query, as_action(action), span=span)

    def then(self, _meta: Meta, children: list[Any]) -> Then:
        match children:
            case [Passed(call, passing)]:
                return Then(call, passing)
            case [query, *passings]:
                return Then(query, _concatenated(passings))
        raise AssertionError("a further query has no query")

    def called_with(self, _meta: Meta, children: list[Any]) -> Passed:
        return Passed(children[0], _concatenated(children[1:]))

    def passing(self, _meta: Meta, children: list[ast.Arg]) -> tuple[ast.Arg, ...]:
        return tuple(children)

    def notify(self, meta: Meta, _children: list[Token]) -> ast.Action:
        return ast.Notify(span=self.span(meta))

    # ------------------------------------------------------------------------------ streams

    def stream_join(self, meta: Meta, children: list[Any]) -> ast.Stream:
        stream, query, *passings = children
        return ast.StreamJoin(stream, query, _concatenated(passings), span=self.span(meta))

    def stream_filter(self, meta: Meta, children: list[Any]) -> ast.Stream:
        return ast.StreamFilter(children[0], children[1], span=self.span(meta))

    def stream_group(self, meta: Meta, children: list[Any]) -> ast.Stream:
        return _joined(children[0], children[1:], self.span(meta))

    def attimer(self, meta: Meta, children: list[ast.Value]) -> ast.Stream:
        return ast.AtTimer(children[0], span=self.span(meta))

    def timer(self, meta: Meta, children: list[ast.Value]) -> ast.Stream:
        return ast.Timer(children[0], children[1], span=self.span(meta))

    def monitor(self, meta: Meta, children: list[Any]) -> ast.Stream:
        names: list[Token] = children[1] if len(children) > 1 else []
        on_new, spans = tuple(map(str, names)), tuple(map(self.span, names))
        return ast.Monitor(children[0], on_new, span=self.span(meta), on_new_spans=spans)

    def fields(self, _meta: Meta, children: list[Token]) -> list[Token]:
        return children

    def edge(self, meta: Meta, children: list[Any]) -> ast.Stream:
        return ast.Edge(children[0], children[1], span=self.span(meta))

    # ------------------------------------------------------------------------------ queries

    def join(self, meta: Meta, children: list[ast.Query]) -> ast.Query:
        return ast.Join(children[0], children[1], span=self.span(meta))

    def join_on(self, meta: Meta, children: list[Any]) -> ast.Query:
        left, right, *passings = children
        return ast.Join(left, right, _concatenated(passings), span=self.span(meta))

    def filter(self, meta: Meta, children: list[Any]) -> ast.Query:
        return ast.Filter(children[0], children[1], span=self.span(meta))

    def aggregate(self, meta: Meta, children: list[Any]) -> ast.Query:
        *names, query = children
        if not names:
            return ast.Aggregate("count", None, query, span=self.span(meta))
        operator, name = names
        return ast.Aggregate(
            str(operator), str(name), query, span=self.span(meta), field_span=self.span(name)
        )

    def call(self, meta: Meta, children: list[Any]) -> ast.Call:
        match children:
            case [head]:
                return self._plain_call(meta, head, ())
            case [head, Inputs(args)]:
                return self._plain_call(meta, head, args)
            case [head, Inputs() as attributes, function, *inputs]:
                selector = ast.Selector(
                    head[1:], attributes.args, span=_from_to(self.span(head), attributes.span)
                )
            case [head, function, *inputs]:
                selector = ast.Selector(head[1:], span=self.span(head))
            case _:
                raise AssertionError("a call begins with a name")
        args = inputs[0].args if inputs else ()
        return ast.Call(selector, str(function), args, span=self.span(meta))

    def _plain_call(self, meta: Meta, head: Token, args: tuple[ast.Arg, ...]) -> ast.Call:
        class_name, function = self._split(head)
        selector = ast.Selector(class_name, span=self.span(head))
        return ast.Call(selector, function, args, span=self.span(meta))

    def _split(self, name: Token) -> tuple[str, str]:
        class_name, _, function = name[1:].rpartition(".")
        if not class_name:
            hint = 'write @class.function, or @class(name="..").function() for one device'
            message = f"expected a function, got the class {name}"
            self.problem("S004", message, self.span(name), hint)
        return class_name, function

    def inputs(self, meta: Meta, children: list[ast.Arg]) -> Inputs:
        return Inputs(tuple(children), self.span(meta))

    def arg(self, meta: Meta, children: list[Any]) -> ast.Arg:
        return ast.Arg(str(children[0]), children[1], span=self.span(meta))

    # --------------------------------------------------------------------------- predicates

    def or_(self, meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.Or(tuple(children), span=self.span(meta))

    def and_(self, meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.And(tuple(children), span=self.span(meta))

    def not_(self, meta: Meta, children: list[ast.Predicate]) -> ast.Predicate:
        return ast.Not(children[0], span=self.span(meta))

    def true_predicate(self, meta: Meta, _children: list[Token]) -> ast.Predicate:
        return ast.TrueP(span=self.span(meta))

    def false_predicate(self, meta: Meta, _children: list[Token]) -> ast.Predicate:
        return ast.FalseP(span=self.span(meta))

    def atom(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        name, operator, value = children
        operator = _SPELLINGS.get(operator, str(operator))
        return ast.Atom(str(name), operator, value, span=self.span(meta))

    def function_atom(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        operator, name, value = children
        return self.atom(meta, [name, operator, value])

    def get_predicate(self, meta: Meta, children: list[Any]) -> ast.Predicate:
        return ast.GetPredicate(children[0], children[1], span=self.span(meta))

    # ----------------------------------------------------------------------------- policies

    def policy(self, meta: Meta, children: list[Any]) -> ast.Policy:
        source, query, action = children
        return ast.Policy(source, query, _allowed(action), span=self.span(meta))

    def policy_from_now(self, meta: Meta, children: list[Any]) -> ast.Policy:
        span = self.span(meta)
        match children:
            case [source, action]:
                return ast.Policy(source, None, action, span=span)
            case [source, query, action]:
                return ast.Policy(source, query, _allowed(action), span=span)
        raise AssertionError("a policy has two or three parts")

    def allowed(self, meta: Meta, children: list[Any]) -> ast.PolicyFunction:
        span, head = self.span(meta), children[0]
        predicate = children[1] if len(children) > 1 else ast.TrueP(span=span)
        match head.type:
            case "STAR":
                return ast.PolicyFunction(None, None, predicate, span=span)
            case "ANY_OF_CLASS":
                return ast.PolicyFunction(head[1:-2], None, predicate, span=span)
            case _:
                return ast.PolicyFunction(*self._split(head), predicate, span=span)

    # ---------------------------------------------------------------------- template bodies

    def fragment(self, meta: Meta, children: list[Any]) -> ast.Lambda:
        *parameters, body = children
        typed = parameters[0] if parameters else ()
        body = as_action(body) if isinstance(body, Passed) else body
        return ast.Lambda(typed, body, span=self.span(meta))

    def hole(self, meta: Meta, children: list[Any]) -> ast.Hole:
        name = str(children[0])
        argument = children[1] if len(children) > 1 else None
        return ast.Hole(name, self.holes[name], argument, span=self.span(meta))

    def hole_argument(self, _meta: Meta, children: list[Token]) -> str:
        return str(children[0])

    def hole_projection(self, meta: Meta, children: list[Token]) -> ast.Projection:
        hole = ast.Hole(str(children[0]), "query", span=self.span(children[0]))
        return self.projection(meta, [hole, children[1]])

    def projection(self, meta: Meta, children: list[Any]) -> ast.Projection:
        query, name = children
        return ast.Projection(query, str(name), span=self.span(meta), output_span=self.span(name))


def as_action(action: ast.Action | Passed) -> ast.Action:
    """Return the action with the parameters passed after it among its inputs."""
    if isinstance(action, Passed):
        call = action.call
        args = call.args + action.passing
        return ast.Call(call.selector, call.function, args, span=call.span)
    return action


def _joined(stream: ast.Stream, thens: Iterable[Then], span: Span) -> ast.Stream:
    for query, passing in thens:
        stream = ast.StreamJoin(stream, query, passing, span=span)
    return stream


def _from_to(first: Span, last: Span) -> Span:
    return Span(first.file, first.line, first.column, last.end_line, last.end_column)


def _concatenated(passings: Iterable[tuple[ast.Arg, ...]]) -> tuple[ast.Arg, ...]:
    return tuple(arg for passing in passings for arg in passing)


def _allowed(action: Any) -> Any:
    return None if isinstance(action, Token) else action
