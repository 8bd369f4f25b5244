r"""The token form of programs: tokens separated by one space, as a neural model writes them.

    now => ( @com.gmail.inbox ) filter param:sender:Entity(tt:username) == " alice " => notify

- A call is `@c.f`, its device attributes `attribute:name:String = " x "`, its constant arguments
  `param:a:T = v` and then its passed ones, `on param:x:T = param:y:T`, each group by name.
- A query inside of another, of a monitor or an aggregation stands in `( )`, and nothing else does:
  `( q ) filter P`, `( q ) join ( q ) on param:x:T = param:y:T`, `aggregate sum param:f:T of ( q )`,
  `aggregate count of ( q )`, `monitor ( q ) on new [ param:a:T , param:b:T ]`.
- Questions: `( q ) select [ param:a:T , count ( param:b:T ) ]`, with `*` first where all
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
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache
from operator import attrgetter
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages.library import Signature, Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.printer import TOKENS, Printed, Printer
from genie_dp.languages.thingtalk.scope import EMPTY, OPEN, Scope, scope_of
from genie_dp.languages.thingtalk.traverse import source_calls
from genie_dp.languages.types import ANY, BOOLEAN, STRING, Entity, Type, slot_type

MOST_DIGITS = 100  # of a number: more take a page to write
EARTH = "latitudes are from -90 to 90, longitudes from -180 to 180"
PLACES = frozenset({"home", "work", "current_location"})

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
    """Return whether there is a place of that latitude and longitude.

    >>> is_on_earth(Decimal("37.4"), Decimal("-122.1")), is_on_earth(Decimal(91), Decimal(0))
    (True, False)
    """
    return abs(latitude) <= 90 and abs(longitude) <= 180


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


def _parts(value: tt.MeasureValue) -> Iterator[str]:
    return (f"{number_token(number)} unit:{unit}" for number, unit in value.parts)


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
    printer = TokenPrinter(signatures, style)
    if isinstance(program, tt.Policy):
        return printer.policy(program)
    return " ; ".join(map(printer.rule, program.rules))


@lru_cache(maxsize=65536)
def _typed_token(prefix: str, name: str, type_: Type) -> str:
    return f"{prefix}:{name}:{type_}"


_LITERALS: Mapping[type, Callable[[Any], str]] = {
    tt.StringValue: lambda value: quote_words(value.text),
    tt.SlotValue: lambda value: f"{value.token} unit:{value.unit}" if value.unit else value.token,
    tt.NumberValue: lambda value: number_token(value.value),
    tt.EnumValue: lambda value: f"enum:{value.name}",
    tt.EntityValue: _entity,
    tt.MeasureValue: lambda value: " ".join(_parts(value)),
    tt.DateEdge: lambda value: f"{value.edge} unit:{value.unit}",
    tt.BooleanValue: lambda value: "true" if value.value else "false",
    tt.DateNow: lambda value: "now",
    tt.Undefined: lambda value: "undefined",
    tt.EventValue: lambda value: "event",
    tt.ContextValue: _context,
    tt.CurrencyValue: lambda value: f"currency:{number_token(value.value)}:{value.code}",
    tt.DateValue: lambda value: f"date:{escape_word(value.iso)}",
    tt.TimeValue: lambda value: f"time:{value.hour}:{value.minute:02d}:{value.second:02d}",
    tt.LocationValue: _place,
}
_POSITIONAL_LITERALS: Mapping[type, Callable[[Any], str]] = {
    **_LITERALS,
    tt.MeasureValue: lambda value: " plus ".join(_parts(value)),
}


class TokenPrinter(Printer):
    """Writes pieces of programs as tokens, with the types of the names that are in scope."""

    __slots__ = ("signatures", "style")

    form = TOKENS

    def __init__(self, signatures: Signatures | None, style: TokenStyle = STYLE):
        super().__init__(_LITERALS if style.keywords else _POSITIONAL_LITERALS)
        self.signatures = signatures
        self.style = style

    def __reduce__(self) -> tuple[type["TokenPrinter"], tuple[Signatures | None, TokenStyle]]:
        """Return how it is made again: caches keep it, and pickle no functions without a name."""
        return TokenPrinter, (self.signatures, self.style)

    def inner_stream(self, stream: tt.Stream) -> Printed:
        """Return a stream in parentheses; a stream join has its own."""
        is_join = isinstance(stream, tt.StreamJoin)
        return self.stream(stream) if is_join else super().inner_stream(stream)

    def write_watched(self, names: tuple[str, ...], scope: Scope) -> str:
        """Return `[ param:a:T , param:b:T ]`."""
        ordered = sorted(names) if self.style.canonical else names
        return self.form.listing.format(self.join_list(self.name(name, scope) for name in ordered))

    def parameters(self, function: tt.PolicyFunction) -> Scope:
        """Return the parameters of the function that a policy speaks of."""
        name = function.class_name or "", function.function or ""
        signature = self.signature(*name, function.span)
        return scope_of(signature.parameters) if signature else EMPTY

    # ------------------------------------------------------------------------------- calls

    def call(self, call: tt.Call, scope: Scope) -> Printed:
        """Return a function with its arguments, and its outputs."""
        selector = call.selector
        words = [f"@{selector.class_name}.{call.function}"]
        signature = self.signature(selector.class_name, call.function, call.span)
        for arg in self.sort_args(selector.attributes):
            name = f"attribute:{arg.name}"
            if self.style.types:
                name = _typed_token("attribute", arg.name, _attribute_type(arg, scope))
            words.append(f"{name} = {self.value(arg.value, scope)}")
        if signature is not None and not self.style.keywords:
            words += self.positions(call.args, signature, scope)
        elif call.args:
            inputs = scope_of(signature.inputs) if signature else OPEN
            words += self.arguments(call.args, inputs, scope)
        return " ".join(words), scope_of(signature.outputs) if signature else EMPTY

    def arguments(self, args: tuple[tt.Arg, ...], inputs: Scope, scope: Scope) -> Iterator[str]:
        """Yield arguments by name."""
        ordered: Iterable[tt.Arg] = args
        if self.style.canonical:
            ordered = sorted(args, key=_constants_first) if len(args) > 1 else args
        for arg in ordered:
            on = "on " if isinstance(arg.value, tt.VarRef) else ""
            name = self.name(arg.name, inputs, arg.span)
            yield f"{on}{name} = {self.value(arg.value, scope)}"

    def positions(
        self, args: tuple[tt.Arg, ...], signature: Signature, scope: Scope
    ) -> Iterator[str]:
        """Yield arguments by their place in the signature."""
        values = {arg.name: arg.value for arg in args}
        for parameter in signature.inputs:
            value = values.pop(parameter.name, None)
            yield "_" if value is None else self.value(value, scope)
        if values:
            raise _unknown_name(next(iter(values)), signature.qualified, args[0].span)

    def passing(self, passing: tuple[tt.Arg, ...], right: tt.Query, left: Scope) -> str:
        """Return the `on` of a join, one for each name."""
        inputs = self._inputs_of(right) if passing else EMPTY
        return "".join(
            f" on {self.name(arg.name, inputs, arg.span)} = {self.value(arg.value, left)}"
            for arg in self.sort_args(passing)
        )

    def _inputs_of(self, query: tt.Query) -> Scope:
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

    # ----------------------------------------------------------------- predicates and names

    def negation(self, predicate: tt.Not, fields: Scope, scope: Scope) -> str:
        """Return `not` and a comparison or a get predicate."""
        if not isinstance(predicate.operand, tt.Atom | tt.Comparison | tt.GetPredicate):
            raise _not_normal(predicate)
        return f"not {self.condition(predicate.operand, fields, scope)}"

    def in_parentheses(self, predicate: tt.Predicate, fields: Scope, scope: Scope) -> str:
        """Raise GenieError: conditions have no parentheses."""
        raise _not_normal(predicate)

    def name(self, name: str, scope: Scope, span: Span | None = None) -> str:
        """Return the token of a name; with its type unless the style leaves types out."""
        if not self.style.types:
            return f"param:{name}"
        type_ = scope.get(name)
        if type_ is None:
            raise _unknown_name(name, "this place", span)
        return _typed_token("param", name, type_)

    def hole(self, hole: tt.Hole) -> str:
        """Raise GenieError: only whole programs have tokens."""
        message = f"expected a whole program, got the hole {hole.name!r} of a template"
        raise GenieError(Problem("T041", message, hole.span, "fill the hole first"))

    def signature(self, class_name: str, function: str, span: Span | None) -> Signature | None:
        """Return the signature, or None where the style does without."""
        if self.signatures is None:
            return None
        signature = self.signatures.function(class_name, function)
        if signature is None and (self.style.types or not self.style.keywords):
            message = f"expected a function of the library, got '@{class_name}.{function}'"
            raise GenieError(Problem("T003", message, span, _CHECK_FIRST))
        return signature


_PLAIN = TokenPrinter(None, TokenStyle(types=False))


def value_tokens(value: tt.Value) -> str:
    """Return a value in token form, names without their types.

    >>> value_tokens(tt.EntityValue("alice", "tt:contact", "alice smith"))
    '" alice smith " ^^tt:contact id:alice'
    """
    return _PLAIN.value(value, EMPTY)


_CHECK_FIRST = "check the program first: genie-dp grammar program check"


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
