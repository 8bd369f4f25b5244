r"""The token form of programs: tokens separated by one space, as a neural model writes them.

    now => ( @com.gmail.inbox ) filter param:sender:Entity(tt:username) == " alice " => notify

- A call is `@c.f`, its device attributes `attribute:name:String = " x "`, its constant arguments
  `param:a:T = v` and then its passed ones, `on param:x:T = param:y:T`, each group by name.
- A query inside of another, of a monitor or an aggregation stands in `( )`, and nothing else does:
  `( q ) filter P`, `( q ) join ( q ) on param:x:T = param:y:T`, `aggregate sum param:f:T of ( q )`,
  `aggregate count of ( q )`, `monitor ( q ) on new [ param:a:T , param:b:T ]`.
- What questions need: `( q ) select [ param:a:T , count ( param:b:T ) ]`, with `*` first where all
  outputs stay, `( q ) sort param:a:T desc`, `( q ) [ 1 ]`, `( q ) [ 1 : 3 ]`.
- Streams: `edge ( s ) on P`, `( s ) filter P`, `attimer time = v`, `timer base = v , interval = v`,
  and, as the stream of a rule or inside another one, `( s => q )` or `( s => ( q ) on .. )`.
- Predicates are in conjunctive normal form; `and` is looser than `or`, `not` stands before atoms
  only. Rules are joined by ` ; `. A policy is `policy P : now => q => notify`,
  `policy P : now => a` or `policy P : q => a`, with q and a one of `*`, `@c.*`, `@c.f` and
  `@c.f filter P`.

Values:

- text `" two words "`, empty text `""`. Words are taken as they are, save that a word `"` is `\"`,
  a backslash `\\`, an empty word (two spaces together) `\e`, and other white space `\t`, `\n`,
  `\u00a0`.
- entities `" alice " ^^tt:username`, where the words are the identifier; with a name of its own
  `" alice smith " ^^tt:contact id:alice`; not looked up yet `null " alice smith " ^^tt:contact`. A
  space in an identifier is `\s`.
- `5`, `5 unit:min`, `6 unit:ft 3 unit:in`, `currency:5:usd`, `enum:on`, `true`, `date:2026-11-20`,
  `time:8:30:00`, `location:37.4:-122.1`, with a name `" palo alto " at:37.4:-122.1`,
  `location:home`, other values of the context `context:a.b`, `now`, `start_of unit:week`,
  `start_of unit:week - 1 unit:day`, `undefined`, `event`, `[ v , v ]`, and placeholders.
- computed: `count ( param:a:T )`, `distance ( param:a:T , location:home )`, with a condition on the
  values of a list `count ( param:a:T filter param:value:U =~ " x " )`.

The positional style writes all inputs of a call in the order of its signature, passed ones among
them and `_` for those absent; parts of a measure are then joined by `plus` so that two arguments
stay apart. A join's `on` names its parameters in both styles: its right side may be several calls.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import assert_never

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.library import Signature, Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import CONTACT, ITEM
from genie_dp.languages.thingtalk.scope import (
    EMPTY,
    OPEN,
    Scope,
    aggregate_scope,
    projected_scope,
    scope_of,
)
from genie_dp.languages.thingtalk.traverse import source_calls
from genie_dp.languages.types import ANY, BOOLEAN, STRING, Array, Entity, Type, slot_type

MOST_DIGITS = 100  # of a number: more take a page to write
EARTH = "latitudes are from -90 to 90, longitudes from -180 to 180"
PLACES = frozenset({"home", "work", "current_location"})

_WORDS: dict[type, str] = {tt.DateNow: "now", tt.Undefined: "undefined", tt.EventValue: "event"}
_ESCAPES = {"\\": "\\\\", " ": "\\s", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
_UNESCAPES = {"\\": "\\", "s": " ", "t": "\t", "n": "\n", "r": "\r", '"': '"', "e": ""}
# Half of a character (\ud83d) is no escape: no text holds one.
_ESCAPED = re.compile(r'\\(u(?!d[89a-f])[0-9a-f]{4}|[\\strne"])')
_TO_ESCAPE = re.compile(r"[\\\s\x1c-\x1f\x85]")


def escape_word(word: str) -> str:
    r"""Return a word as one token: no white space in it, never empty, never a quote.

    >>> escape_word('"'), escape_word(""), escape_word("a b"), escape_word("C:\\x")
    ('\\"', '\\e', 'a\\sb', 'C:\\\\x')
    """
    if word == '"':
        return '\\"'
    if not word:
        return "\\e"
    return _TO_ESCAPE.sub(_escape, word)


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    return _ESCAPES.get(character) or f"\\u{ord(character):04x}"


def unescape_word(token: str) -> str:
    r"""Return the word of a token.

    >>> unescape_word("a\\sb"), unescape_word("\\e"), unescape_word("plain")
    ('a b', '', 'plain')
    """
    return _ESCAPED.sub(_unescape, token) if "\\" in token else token


def _unescape(match: re.Match[str]) -> str:
    code = match.group(1)
    return chr(int(code[1:], 16)) if len(code) == 5 else _UNESCAPES[code]


def quote_words(text: str) -> str:
    r"""Return free text as tokens: words between quote tokens.

    >>> quote_words("two words"), quote_words(""), quote_words('say " hi')
    ('" two words "', '""', '" say \\" hi "')
    """
    if not text:
        return '""'
    if text.isalnum():
        return f'" {text} "'
    return f'" {" ".join(map(escape_word, text.split(" ")))} "'


def unquote_words(words: list[str]) -> str:
    """Return the text of the words between two quote tokens."""
    return " ".join(map(unescape_word, words))


@lru_cache(maxsize=4096)
def number_token(value: Decimal) -> str:
    """Return a number as one token; equal numbers are equal tokens.

    >>> number_token(Decimal("5.0")), number_token(Decimal("1E+3")), number_token(Decimal("-0"))
    ('5', '1000', '0')
    """
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def is_on_earth(latitude: Decimal, longitude: Decimal) -> bool:
    """Tell whether there is a place of that latitude and longitude.

    >>> is_on_earth(Decimal("37.4"), Decimal("-122.1")), is_on_earth(Decimal(91), Decimal(0))
    (True, False)
    """
    return abs(latitude) <= 90 and abs(longitude) <= 180


def value_tokens(value: tt.Value, variable: Callable[[str], str], *, glue: str = " ") -> str:
    """Return a value in token form.

    Args:
        value: the value.
        variable: gives the token of a name in scope; those in a condition on the values of a list
            are written without types.
        glue: what stands between the parts of a measure.
    """
    match value:
        case tt.VarRef(name):
            return variable(name)
        case tt.ArrayValue(items):
            inner = " , ".join(value_tokens(item, variable) for item in items)
            return f"[ {inner} ]" if items else "[ ]"
        case tt.DateOffset(base, sign, duration):
            start = value_tokens(base, variable)
            return f"{start} {sign} {value_tokens(duration, variable, glue=glue)}"
        case tt.MeasureValue(parts):
            return glue.join(f"{number_token(number)} unit:{unit}" for number, unit in parts)
        case tt.Computed(operator, arguments):
            inner = " , ".join(value_tokens(argument, variable) for argument in arguments)
            return f"{operator} ( {inner} )"
        case tt.ListFilter(name, predicate):
            writer = TokenWriter(None, TokenStyle(types=False))
            writer.predicate(predicate, EMPTY, EMPTY)
            return f"{variable(name)} filter {' '.join(writer.out)}"
        case _:
            return literal_tokens(value)


Literal = (
    tt.StringValue
    | tt.NumberValue
    | tt.BooleanValue
    | tt.EnumValue
    | tt.CurrencyValue
    | tt.DateValue
    | tt.DateNow
    | tt.DateEdge
    | tt.TimeValue
    | tt.LocationValue
    | tt.ContextValue
    | tt.EntityValue
    | tt.Undefined
    | tt.EventValue
    | tt.SlotValue
)


def literal_tokens(value: Literal) -> str:
    """Return a value that has no value inside it in token form.

    >>> literal_tokens(tt.EntityValue("alice", "tt:contact", "alice smith"))
    '" alice smith " ^^tt:contact id:alice'
    """
    match value:
        case tt.StringValue(text):
            return quote_words(text)
        case tt.SlotValue(token, unit):
            return f"{token} unit:{unit}" if unit else token
        case tt.NumberValue(number):
            return number_token(number)
        case tt.EnumValue(name):
            return f"enum:{name}"
        case tt.EntityValue():
            return _entity(value)
        case tt.DateEdge(edge, unit):
            return f"{edge} unit:{unit}"
        case tt.BooleanValue(truth):
            return "true" if truth else "false"
        case tt.DateNow() | tt.Undefined() | tt.EventValue():
            return _WORDS[type(value)]
        case tt.ContextValue():
            return _context(value)
        case tt.CurrencyValue() | tt.DateValue() | tt.TimeValue() | tt.LocationValue():
            return _compact(value)
        case _:
            assert_never(value)


def _compact(value: tt.CurrencyValue | tt.DateValue | tt.TimeValue | tt.LocationValue) -> str:
    match value:
        case tt.CurrencyValue(amount, code):
            return f"currency:{number_token(amount)}:{code}"
        case tt.DateValue(iso):
            return f"date:{escape_word(iso)}"
        case tt.TimeValue(hour, minute, second):
            return f"time:{hour}:{minute:02d}:{second:02d}"
        case tt.LocationValue():
            return _place(value)
        case _:
            assert_never(value)


def _place(value: tt.LocationValue) -> str:
    if value.latitude is None or value.longitude is None:
        return f"location: {quote_words(value.display or '')}"
    place = f"{number_token(value.latitude)}:{number_token(value.longitude)}"
    return (
        f"location:{place}" if value.display is None else f"{quote_words(value.display)} at:{place}"
    )


def _entity(value: tt.EntityValue) -> str:
    if value.display is None:
        words = "null" if value.value is None else quote_words(value.value)
        return f"{words} ^^{value.kind}"
    if value.value is None:
        return f"null {quote_words(value.display)} ^^{value.kind}"
    return f"{quote_words(value.display)} ^^{value.kind} id:{escape_word(value.value)}"


def _context(value: tt.ContextValue) -> str:
    match value.path:
        case ("location", place) if place in PLACES:
            return f"location:{place}"
        case path:
            return f"context:{'.'.join(path)}"


@dataclass(frozen=True, slots=True)
class TokenStyle:
    """How programs are written as tokens; the paper's ablations (Genie, Table 3).

    Attributes:
        types: whether parameters carry their type, `param:a:String`.
        keywords: whether inputs are named; otherwise they stand in the order of the signature.
        canonical: whether inputs are sorted by name; otherwise they keep the program's order.
    """

    types: bool = True
    keywords: bool = True
    canonical: bool = True


STYLE = TokenStyle()


def tokens(
    program: tt.Program | tt.Policy,
    signatures: Signatures | None = None,
    style: TokenStyle = STYLE,
) -> str:
    """Return the token form of a well-typed, canonical program.

    Raises:
        GenieError: without signatures when the style needs them; on a function or name that they
            do not know; on a predicate that is not in conjunctive normal form.

    >>> from genie_dp.languages.thingtalk.ast import Selector
    >>> inbox = tt.Call(Selector("com.gmail"), "inbox")
    >>> tokens(tt.Program((tt.Rule(None, inbox, tt.Notify()),)), style=TokenStyle(types=False))
    'now => @com.gmail.inbox => notify'
    """
    if signatures is None and (style.types or not style.keywords):
        needed = "types" if style.types else "positions"
        option = "types=False" if style.types else "keywords=True"
        message = f"expected a skill library to print the {needed} of parameters, got none"
        hint = f"give the library, or the style TokenStyle({option})"
        raise GenieError(Problem("T040", message, hint=hint))
    writer = TokenWriter(signatures, style)
    if isinstance(program, tt.Policy):
        writer.policy(program)
    else:
        writer.program(program)
    return " ".join(writer.out)


@lru_cache(maxsize=65536)
def _typed_token(prefix: str, name: str, type_: Type) -> str:
    return f"{prefix}:{name}:{type_}"


class TokenWriter:
    """Writes pieces of programs as tokens, one after the other, to `out`."""

    __slots__ = ("out", "signatures", "style")

    def __init__(self, signatures: Signatures | None, style: TokenStyle):
        self.out: list[str] = []
        self.signatures = signatures
        self.style = style

    # ------------------------------------------------------------------ programs, policies

    def program(self, program: tt.Program) -> None:
        """Write the rules of a program."""
        for index, rule in enumerate(program.rules):
            if index:
                self.out.append(";")
            self.rule(rule)

    def rule(self, rule: tt.Rule) -> None:
        """Write `s => q => a`."""
        scope = EMPTY
        if rule.stream is None:
            self.out.append("now =>")
        else:
            scope = self.stream(rule.stream)
            self.out.append("=>")
        if rule.query is not None:
            scope = scope.under(self.query(rule.query, scope))
            self.out.append("=>")
        match rule.action:
            case tt.Notify():
                self.out.append("notify")
            case tt.Call():
                self.call(rule.action, scope)
            case tt.Hole():
                raise _no_hole(rule.action)
            case _:
                assert_never(rule.action)

    def policy(self, policy: tt.Policy) -> None:
        """Write `policy P : q => a`."""
        self.out.append("policy")
        self.predicate(policy.source, Scope({"source": CONTACT}), EMPTY)
        self.out.append(":")
        if policy.query is None or policy.action is None:
            self.out.append("now =>")
        if policy.query is not None:
            self.policy_function(policy.query)
            self.out.append("=>")
        if policy.action is not None:
            self.policy_function(policy.action)
        else:
            self.out.append("notify")

    def policy_function(self, function: tt.PolicyFunction | tt.Hole) -> None:
        """Write what a policy speaks of."""
        if isinstance(function, tt.Hole):
            raise _no_hole(function)
        scope = EMPTY
        if function.class_name is None:
            self.out.append("*")
        elif function.function is None:
            self.out.append(f"@{function.class_name}.*")
        else:
            signature = self.signature(function.class_name, function.function, function.span)
            scope = scope_of(signature.parameters) if signature else EMPTY
            self.out.append(f"@{function.class_name}.{function.function}")
        if not isinstance(function.predicate, tt.TrueP):
            self.out.append("filter")
            self.predicate(function.predicate, scope, EMPTY)

    # -------------------------------------------------------------------- streams, queries

    def stream(self, stream: tt.Stream) -> Scope:
        """Write a stream; return its outputs."""
        match stream:
            case tt.AtTimer(time):
                self.out.append(f"attimer time = {self.value(time, EMPTY)}")
                return EMPTY
            case tt.Timer(base, interval):
                start, period = self.value(base, EMPTY), self.value(interval, EMPTY)
                self.out.append(f"timer base = {start} , interval = {period}")
                return EMPTY
            case tt.Monitor():
                return self.monitor(stream)
            case tt.Edge(inner, predicate):
                self.out.append("edge")
                scope = self.in_parentheses(inner)
                self.out.append("on")
                self.predicate(predicate, scope, EMPTY)
                return scope
            case tt.StreamFilter(inner, predicate):
                scope = self.in_parentheses(inner)
                self.out.append("filter")
                self.predicate(predicate, scope, EMPTY)
                return scope
            case tt.StreamJoin():
                return self.in_parentheses(stream)
            case tt.Hole():
                raise _no_hole(stream)
            case _:
                assert_never(stream)

    def monitor(self, stream: tt.Monitor) -> Scope:
        """Write `monitor ( q ) on new [ .. ]`; return its outputs."""
        self.out.append("monitor")
        scope = self.group(stream.query, EMPTY)
        if stream.on_new:
            names = sorted(stream.on_new) if self.style.canonical else stream.on_new
            self.out.append(f"on new [ {' , '.join(self.name(n, scope) for n in names)} ]")
        return scope

    def in_parentheses(self, stream: tt.Stream) -> Scope:
        """Write `( s )`, or `( s => q )` for a stream join; return its outputs."""
        self.out.append("(")
        if isinstance(stream, tt.StreamJoin):
            left = self.stream(stream.stream)
            self.out.append("=>")
            write = self.group if stream.passing else self.query
            right = write(stream.query, left)
            self.passing(stream.passing, stream.query, left)
            scope = left.under(right)
        else:
            scope = self.stream(stream)
        self.out.append(")")
        return scope

    def query(self, query: tt.Query, outer: Scope) -> Scope:
        """Write a query that may use names of `outer`; return its outputs."""
        match query:
            case tt.Call():
                return self.call(query, outer)
            case tt.Filter(inner, predicate):
                scope = self.group(inner, outer)
                self.out.append("filter")
                self.predicate(predicate, scope, outer)
                return scope
            case tt.Join(left, right, passing):
                left_scope = self.group(left, outer)
                self.out.append("join")
                right_scope = self.group(right, outer.under(left_scope))
                self.passing(passing, right, left_scope)
                return left_scope.under(right_scope)
            case tt.Aggregate():
                return self.aggregate(query, outer)
            case tt.Projection():
                return self.projection(query, outer)
            case tt.Sort(inner, key, direction):
                scope = self.group(inner, outer)
                self.out.append(f"sort {self.value(key, outer.under(scope))} {direction}")
                return scope
            case tt.Slice(inner, start, end):
                scope = self.group(inner, outer)
                last = "" if end is None else f" : {self.value(end, outer)}"
                self.out.append(f"[ {self.value(start, outer)}{last} ]")
                return scope
            case tt.Hole():
                raise _no_hole(query)
            case _:
                assert_never(query)

    def projection(self, query: tt.Projection, outer: Scope) -> Scope:
        """Write `( q ) select [ .. ]`; return its outputs."""
        scope = self.group(query.query, outer)
        seen = outer.under(scope)
        words = ["*"] * query.keeps_all + [self.value(value, seen) for value in query.values]
        self.out.append(f"select [ {' , '.join(words)} ]")
        projected = projected_scope(query.values, scope)
        return scope.under(projected) if query.keeps_all else projected

    def group(self, query: tt.Query, outer: Scope) -> Scope:
        """Write `( q )`; return its outputs."""
        self.out.append("(")
        scope = self.query(query, outer)
        self.out.append(")")
        return scope

    def aggregate(self, query: tt.Aggregate, outer: Scope) -> Scope:
        """Write `aggregate sum param:f:T of ( q )`; return its one output."""
        place = len(self.out)
        scope = self.group(query.query, outer)
        words = f"aggregate {query.operator} of"
        field = None
        if query.field is not None:
            words = f"aggregate {query.operator} {self.name(query.field, scope)} of"
            field = scope.get(query.field)
        self.out.insert(place, words)
        return aggregate_scope(query.operator, field)

    # ------------------------------------------------------------------------------- calls

    def call(self, call: tt.Call, scope: Scope) -> Scope:
        """Write a function with its arguments; return its outputs."""
        selector = call.selector
        self.out.append(f"@{selector.class_name}.{call.function}")
        signature = self.signature(selector.class_name, call.function, call.span)
        if selector.attributes:
            self.attributes(selector.attributes, scope)
        if signature is None:
            self.arguments(call.args, OPEN, scope)
            return EMPTY
        if not self.style.keywords:
            self.positions(call.args, signature, scope)
        elif call.args:
            self.arguments(call.args, scope_of(signature.inputs), scope)
        return scope_of(signature.outputs)

    def attributes(self, attributes: tuple[tt.Arg, ...], scope: Scope) -> None:
        """Write the attributes of a device."""
        for arg in self.sort_args(attributes):
            name = f"attribute:{arg.name}"
            if self.style.types:
                name = _typed_token("attribute", arg.name, _attribute_type(arg, scope))
            self.out.append(f"{name} = {self.value(arg.value, scope)}")

    def arguments(self, args: tuple[tt.Arg, ...], inputs: Scope, scope: Scope) -> None:
        """Write arguments by name."""
        ordered: Iterable[tt.Arg] = args
        if self.style.canonical:
            ordered = sorted(args, key=_constants_first) if len(args) > 1 else args
        for arg in ordered:
            on = "on " if isinstance(arg.value, tt.VarRef) else ""
            name = self.name(arg.name, inputs, arg.span)
            self.out.append(f"{on}{name} = {self.value(arg.value, scope)}")

    def positions(self, args: tuple[tt.Arg, ...], signature: Signature, scope: Scope) -> None:
        """Write arguments by their place in the signature."""
        values = {arg.name: arg.value for arg in args}
        for parameter in signature.inputs:
            value = values.pop(parameter.name, None)
            self.out.append("_" if value is None else self.value(value, scope))
        if values:
            raise _unknown_name(next(iter(values)), signature.qualified, args[0].span)

    def passing(self, passing: tuple[tt.Arg, ...], right: tt.Query, left: Scope) -> None:
        """Write the `on` of a join."""
        if not passing:
            return
        inputs = self.inputs_of(right)
        for arg in self.sort_args(passing):
            name = self.name(arg.name, inputs, arg.span)
            self.out.append(f"on {name} = {self.value(arg.value, left)}")

    def inputs_of(self, query: tt.Query) -> Scope:
        """Return the inputs of a query's calls: of one name, the left-most without a value."""
        named = free = EMPTY
        for call in source_calls(query):
            signature = self.signature(call.selector.class_name, call.function, call.span)
            if signature is not None:
                given_names = {arg.name for arg in call.args}
                named = scope_of(signature.inputs).under(named)
                free = scope_of(p for p in signature.inputs if p.name not in given_names).under(
                    free
                )
        return named.under(free)

    def sort_args(self, args: tuple[tt.Arg, ...]) -> Iterable[tt.Arg]:
        """Return arguments in the order of the style."""
        return (
            sorted(args, key=attrgetter("name")) if self.style.canonical and len(args) > 1 else args
        )

    # ---------------------------------------------------------------------------- predicates

    def predicate(self, predicate: tt.Predicate, fields: Scope, outer: Scope) -> None:
        """Write a predicate on `fields`; values may also use names of `outer`."""
        scope = outer.under(fields)
        clauses = predicate.operands if isinstance(predicate, tt.And) else (predicate,)
        for index, clause in enumerate(clauses):
            if index:
                self.out.append("and")
            atoms = clause.operands if isinstance(clause, tt.Or) else (clause,)
            for number, atom in enumerate(atoms):
                if number:
                    self.out.append("or")
                self.atom(atom, fields, scope)

    def atom(self, atom: tt.Predicate, fields: Scope, scope: Scope) -> None:
        """Write a comparison or what it may stand for."""
        match atom:
            case tt.Atom(name, operator, value):
                left_name = self.name(name, fields, atom.span)
                self.out.append(f"{left_name} {operator} {self.value(value, scope)}")
            case tt.Comparison(left, operator, value):
                left_value = self.value(left, scope)
                self.out.append(f"{left_value} {operator} {self.value(value, scope)}")
            case tt.TrueP():
                self.out.append("true")
            case tt.FalseP():
                self.out.append("false")
            case tt.Not(tt.Atom() | tt.Comparison() | tt.GetPredicate() as operand):
                self.out.append("not")
                self.atom(operand, fields, scope)
            case tt.GetPredicate(call, predicate):
                outputs = self.call(call, scope)
                self.out.append("{")
                self.predicate(predicate, outputs, scope)
                self.out.append("}")
            case tt.And() | tt.Or() | tt.Not():
                raise _not_normal(atom)
            case _:
                assert_never(atom)

    # --------------------------------------------------------------------- names and values

    def value(self, value: tt.Value, scope: Scope) -> str:
        """Return a value in token form."""
        glue = " " if self.style.keywords else " plus "
        match value:
            case tt.Computed(operator, arguments):
                inner = " , ".join(self.value(argument, scope) for argument in arguments)
                return f"{operator} ( {inner} )"
            case tt.ListFilter(name, predicate):
                type_ = scope.get(name)
                item = type_.element if isinstance(type_, Array) else ANY
                writer = TokenWriter(self.signatures, self.style)
                writer.predicate(predicate, Scope({ITEM: item}), scope)
                return f"{self.name(name, scope, value.span)} filter {' '.join(writer.out)}"
        return value_tokens(value, lambda name: self.name(name, scope, value.span), glue=glue)

    def name(self, name: str, scope: Scope, span: Span | None = None) -> str:
        """Return the token of a name; with its type unless the style leaves types out."""
        if not self.style.types:
            return f"param:{name}"
        type_ = scope.get(name)
        if type_ is None:
            raise _unknown_name(name, "this place", span)
        return _typed_token("param", name, type_)

    def signature(self, class_name: str, function: str, span: Span | None) -> Signature | None:
        """Return the signature, or None where the style does without."""
        if self.signatures is None:
            return None
        signature = self.signatures.function(class_name, function)
        if signature is None and (self.style.types or not self.style.keywords):
            message = f"expected a function of the library, got '@{class_name}.{function}'"
            raise GenieError(Problem("T003", message, span, _CHECK_FIRST))
        return signature


_CHECK_FIRST = "check the program first: genie-dp program check"


def _constants_first(arg: tt.Arg) -> tuple[bool, str]:
    return isinstance(arg.value, tt.VarRef), arg.name


def _attribute_type(arg: tt.Arg, scope: Scope) -> Type:
    match arg.value:
        case tt.BooleanValue():
            return BOOLEAN
        case tt.EntityValue(_, kind):
            return Entity(kind)
        case tt.SlotValue(token):
            return slot_type(token) or STRING  # attributes name devices: text
        case tt.VarRef(name):
            return scope.get(name) or ANY
        case _:
            return STRING


def _no_hole(hole: tt.Hole) -> GenieError:
    message = f"expected a whole program, got the hole {hole.name!r} of a template"
    return GenieError(Problem("T041", message, hole.span, "fill the hole first"))


def _not_normal(predicate: tt.Predicate) -> GenieError:
    return GenieError(
        Problem(
            "T042",
            "expected a predicate in conjunctive normal form to write as tokens",
            predicate.span,
            "make the program canonical first: canonical(program)",
        )
    )


def _unknown_name(name: str, place: str, span: Span | None) -> GenieError:
    message = f"expected a parameter known to {place}, got {name!r}"
    return GenieError(Problem("T009", message, span, _CHECK_FIRST))
