"""Reads the token form; `tokens` describes it.

A hand-written recursive descent over the words: no lexing is left to do, and it reads a program in
a few dozen microseconds. It takes what `tokens` writes, parameters in any order, and besides what
rows of 2018 and 2019 hold in other words, and what is written with more parentheses:

- `( s ) => ( q ) on param:x:T = param:y:T => a`, `( s ) join ( q ) => a`, `( q ) => a`;
- `on new param:a:T` without brackets, `aggregate sum param:f of ( q )` without a type;
- `return` for `notify`, `policy P : q => notify` and `policy P : now => q => a`;
- `on param:x:T = event`, `device:com.gmail`, `unit:hour`.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from genie_dp.errors import Span, did_you_mean
from genie_dp.languages.thingtalk.ast import (
    OPERATORS,
    Action,
    Aggregate,
    And,
    Arg,
    Atom,
    AtTimer,
    Call,
    Edge,
    FalseP,
    Filter,
    GetPredicate,
    Join,
    Monitor,
    Not,
    Notify,
    Or,
    Policy,
    PolicyFunction,
    Predicate,
    Program,
    Query,
    Rule,
    Stream,
    StreamFilter,
    StreamJoin,
    Timer,
    TrueP,
    Value,
)
from genie_dp.languages.thingtalk.signatures import Signatures
from genie_dp.languages.thingtalk.token_reader import TokenReader, typed_name
from genie_dp.languages.thingtalk.tokens import STYLE, TokenStyle
from genie_dp.languages.thingtalk.unread import UNREAD

_SHOW = ("notify", "return")
_AGGREGATES = ("max", "min", "sum", "avg", "count")
_TRUE, _FALSE, _NOTIFY = TrueP(), FalseP(), Notify()


def from_tokens(
    text: str,
    *,
    style: TokenStyle = STYLE,
    signatures: Signatures | None = None,
    places: bool = False,
) -> Program | Policy:
    """Return the program of a token form; its nodes carry spans only with `places`.

    To know the places takes three times as long, so what reads many rows goes without.
    With positional arguments (`style.keywords` false) the signatures are needed to name them.
    Arguments are sorted by name unless `style.canonical` is false.

    Raises:
        GenieError: stage syntax, at the column of the first token that does not fit.

    >>> from_tokens("now => @com.gmail.inbox => notify").rules[0].query.function
    'inbox'
    >>> str(from_tokens("now => @com.gmail.inbox => notify", places=True).rules[0].query.span)
    '<tokens>:1:8'
    """
    reader = _PlacedReader if places else _Reader
    return reader(text, style, signatures).start()


def piece_from_tokens(
    text: str, kind: str, *, style: TokenStyle = STYLE, signatures: Signatures | None = None
) -> Program | Policy | Query | Stream | Action | Predicate | Value:
    """Return a piece of a program; `kind` says what it is, such as "query" or "value".

    Raises:
        GenieError: stage syntax.

    >>> piece_from_tokens("param:size:Number > 5", "predicate").operator
    '>'
    """
    reader = _Reader(text, style, signatures)
    readers: dict[str, Callable[[], Any]] = {
        "program": reader.start,
        "policy": reader.start,
        "query": reader.query,
        "source": reader.query,
        "stream": reader.stream,
        "action": reader.action,
        "predicate": reader.predicate,
        "value": reader.value,
    }
    if kind not in readers:
        raise ValueError(f"expected a kind of piece such as {', '.join(readers)}, got {kind!r}")
    piece: Program | Policy | Query | Stream | Action | Predicate | Value = readers[kind]()
    reader.end()
    return piece


class _Reader(TokenReader):
    """Reads programs, streams, queries and predicates; TokenReader reads names and values."""

    __slots__ = ()

    # ------------------------------------------------------------------ programs, policies

    def start(self) -> Program | Policy:
        if self.word == "policy":
            result: Program | Policy = self.policy()
        else:
            rules = [self.rule()]
            while self.word == ";":
                self.advance()
                rules.append(self.rule())
            result = Program(tuple(rules))
        self.end()
        return result

    def end(self) -> None:
        if self.word:
            raise self.error("the end of the program")

    def rule(self) -> Rule:
        stream = None
        if self.word == "now":
            self.advance()
        else:
            stream = self.stream()
        self.take("=>")
        if self.word in _SHOW:
            self.advance()
            return Rule(stream, None, _NOTIFY)
        start = self.word
        query, passing = (self.query(), ()) if stream is None else self.query_of_stream()
        if self.word != "=>":
            if isinstance(query, Call) and start != "(":
                return Rule(stream, None, query)
            hint = UNREAD["index"] if self.word == "[" else None
            raise self.error("'=>' and an action", hint)
        self.advance()
        if stream is not None and passing:
            return Rule(StreamJoin(stream, query, passing), None, self.action())
        return Rule(stream, query, self.action())

    def action(self) -> Action:
        if self.word in _SHOW:
            self.advance()
            return _NOTIFY
        if not self.word.startswith("@"):
            raise self.error("'notify' or the action's function")
        return self.call()

    def policy(self) -> Policy:
        self.advance()
        source = self.predicate()
        self.take(":")
        is_now = self.word == "now"
        if is_now:
            self.take("now", "=>")
        first = self.policy_function()
        if is_now and self.word != "=>":
            return Policy(source, None, first)
        self.take("=>")
        if self.word in _SHOW:
            self.advance()
            return Policy(source, first, None)
        return Policy(source, first, self.policy_function())

    def policy_function(self) -> PolicyFunction:
        class_name, function = None, None
        if self.word == "*":
            self.advance()
        elif self.word.startswith("@") and self.word.endswith(".*"):
            class_name = self.word[1:-2]
            self.advance()
        else:
            class_name, function = self.function()
        predicate: Predicate = _TRUE
        if self.word == "filter" and function is not None:
            self.advance()
            predicate = self.predicate()
        return PolicyFunction(class_name, function, predicate)

    # -------------------------------------------------------------------- streams, queries

    def stream(self) -> Stream:
        word = self.word
        match word:
            case "monitor":
                return self.monitor()
            case "(":
                inner = self.stream_in_parentheses()
                if self.word == "filter":
                    self.advance()
                    return StreamFilter(inner, self.predicate())
                if self.word == "join":
                    self.advance()
                    return StreamJoin(inner, *self.query_of_stream())
                return inner
            case "edge":
                self.advance()
                inner = self.stream_in_parentheses()
                self.take("on")
                return Edge(inner, self.predicate())
            case "attimer":
                self.advance()
                self.take("time", "=")
                return AtTimer(self.value())
            case "timer":
                self.advance()
                self.take("base", "=")
                base = self.value()
                self.take(",", "interval", "=")
                return Timer(base, self.value())
            case _:
                raise self.error("'now', a stream or 'policy'")

    def monitor(self) -> Monitor:
        self.advance()
        query = self.group()
        names: list[str] = []
        if self.word == "on":
            self.take("on", "new")
            is_list = self.word == "["
            if is_list:
                self.advance()
            names.append(self.name())
            while is_list and self.word == ",":
                self.advance()
                names.append(self.name())
            if is_list:
                self.take("]")
        return Monitor(query, tuple(names))

    def stream_in_parentheses(self) -> Stream:
        """Return `( s )` or `( s => q )`."""
        self.take("(")
        stream = self.stream()
        if self.word == "=>":
            self.advance()
            stream = StreamJoin(stream, *self.query_of_stream())
        self.take(")")
        return stream

    def query_of_stream(self) -> tuple[Query, tuple[Arg, ...]]:
        """Return a query, and what `on` passes to one in parentheses."""
        if self.word != "(":
            return self.query(), ()
        query = self.group()
        if self.word == "on":
            return query, self.passing()
        return self.after_group(query), ()

    def query(self) -> Query:
        if self.word == "(":
            return self.after_group(self.group())
        if self.word == "aggregate":
            return self.aggregate()
        if not self.word.startswith("@"):
            hint = UNREAD["projection"] if self.word == "[" else None
            raise self.error("a query or an action", hint)
        return self.call()

    def group(self) -> Query:
        self.take("(")
        query = self.query()
        self.take(")")
        return query

    def after_group(self, query: Query) -> Query:
        if self.word == "filter":
            self.advance()
            return Filter(query, self.predicate())
        if self.word == "join":
            self.advance()
            right = self.group()
            return Join(query, right, self.passing())
        return query

    def passing(self) -> tuple[Arg, ...]:
        args: list[Arg] = []
        while self.word == "on":
            self.advance()
            args.append(self.passed())
        return self.arranged(args)

    def aggregate(self) -> Aggregate:
        self.advance()
        operator = self.word
        if operator not in _AGGREGATES:
            raise self.error(f"one of {', '.join(_AGGREGATES)}")
        self.advance()
        field = None if self.word == "of" else self.field(operator)
        self.take("of")
        return Aggregate(operator, field, self.group())

    def field(self, operator: str) -> str:
        if operator == "count":
            raise self.error("'of'", UNREAD["count"])
        bare = typed_name(self.word, "param", types=False)
        if bare is None:
            return self.name()
        self.advance()
        return bare

    # ---------------------------------------------------------------------------- predicates

    def predicate(self) -> Predicate:
        clauses = [self.clause()]
        while self.word == "and":
            self.advance()
            clauses.append(self.clause())
        return clauses[0] if len(clauses) == 1 else And(tuple(clauses))

    def clause(self) -> Predicate:
        atoms = [self.atom()]
        while self.word == "or":
            self.advance()
            atoms.append(self.atom())
        return atoms[0] if len(atoms) == 1 else Or(tuple(atoms))

    def atom(self) -> Predicate:
        word = self.word
        if word.startswith("param:"):
            name = self.name()
            operator = self.word
            if operator not in OPERATORS:
                raise self.error("an operator", did_you_mean(operator, OPERATORS))
            self.advance()
            return Atom(name, operator, self.value())
        if word.startswith("@"):
            call = self.call()
            self.take("{")
            predicate = self.predicate()
            self.take("}")
            return GetPredicate(call, predicate)
        if word == "not":
            self.advance()
            if not self.word.startswith(("param:", "@")):
                raise self.error("a comparison after 'not'")
            return Not(self.atom())
        if word not in ("true", "false"):
            raise self.error("a predicate")
        self.advance()
        return _TRUE if word == "true" else _FALSE


# ---------------------------------------------------------------------------------- places


class _PlacedReader(_Reader):
    """Gives the nodes that it reads their places in the text."""

    __slots__ = ("starts",)

    def __init__(self, text: str, style: TokenStyle, signatures: Signatures | None):
        super().__init__(text, style, signatures)
        self.starts = [found.start() for found in re.finditer(r"\S+", text)]

    def span(self, start: int, end: int) -> Span:
        """Return the place of the tokens from one number to another, which is not in it."""
        last = max(start, end - 1)
        after = self.starts[last] + len(self.words[last])
        return Span("<tokens>", 1, self.starts[start] + 1, 1, after + 1)

    def aggregate(self) -> Aggregate:
        start = self.at
        node = super().aggregate()
        name = None if node.field is None else self.span(start + 2, start + 3)
        return replace(node, field_span=name)

    def monitor(self) -> Monitor:
        node = super().monitor()
        last = range(self.at - 2 * len(node.on_new) - 1, self.at)  # [ a , b ]
        names = [at for at in last if self.words[at].startswith("param:")] if node.on_new else []
        return replace(node, on_new_spans=tuple(self.span(at, at + 1) for at in names))

    def rule(self) -> Rule:
        node = super().rule()
        if node.action.span is not None:
            return node
        return replace(node, action=replace(node.action, span=self.span(self.at - 1, self.at)))

    def call(self) -> Call:
        start = self.at
        node = super().call()
        given = tuple(replace(arg, span=arg.value.span) for arg in node.selector.attributes)
        place = self.span(start, start + 1)
        return replace(node, selector=replace(node.selector, attributes=given, span=place))

    def passed(self) -> Arg:
        node = super().passed()
        return replace(node, value=replace(node.value, span=self.span(self.at - 1, self.at)))

    def positions(self, class_name: str, function: str, start: int) -> tuple[Arg, ...]:
        args = super().positions(class_name, function, start)
        return tuple(replace(arg, span=arg.value.span) for arg in args)


def _with_place(name: str) -> Callable[..., Any]:
    read = getattr(_PlacedReader, name)

    def placed(self: _PlacedReader) -> Any:
        start = self.at
        node = read(self)
        return replace(node, span=self.span(start, self.at)) if node.span is None else node

    return placed


for _name in (
    "rule", "action", "policy", "policy_function", "stream", "query", "call", "constant", "passed",
    "predicate", "clause", "atom", "value", "simple_value",
):  # fmt: skip
    setattr(_PlacedReader, _name, _with_place(_name))
