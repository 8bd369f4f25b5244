"""Words of our own for parts without a template: from the tables of english.py, never by guessing.

Template phrases are used for parts of the program that they express as a whole, so a sentence is
put together along the tree of the program and leaves out nothing of it. Values stand as people
write them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from decimal import Decimal
from itertools import combinations, islice, product
from typing import Any, Protocol, assert_never

from genie_dp.english import forms as english
from genie_dp.errors import GenieError
from genie_dp.languages import types as ty
from genie_dp.languages.base import Language
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.english import (
    BEGIN_WHEN,
    FIRST,
    FLAGS,
    FORMS,
    NAMES,
    ORDINALS,
    PHRASES,
    say,
)
from genie_dp.languages.thingtalk.joins import takes
from genie_dp.languages.thingtalk.placeholders import constant
from genie_dp.languages.thingtalk.predicates import is_stable
from genie_dp.languages.thingtalk.scope import Scope, constant_type, value_type
from genie_dp.languages.thingtalk.tokens import number_token, value_tokens
from genie_dp.languages.thingtalk.traverse import (
    children,
    functions_used,
    qualify,
    rewrite_outermost,
    source_calls,
    walk,
)
from genie_dp.languages.units import SHIPPED, Units
from genie_dp.skills.model import SkillLibrary, last_name
from genie_dp.values.money import CURRENCIES

MOST_CHOICES = 5  # values that a template may say itself: each doubles the readings
_CONFIRMED = re.compile(r"\$(?:\{(\w+)\}|(\w+))")  # the place of an input in a confirmation
_FOUR_DIGITS = 10_000  # from here on numbers are written with commas


@dataclass(frozen=True, slots=True)
class WithPlaceholders:
    """A program in which placeholders stand for values.

    Attributes:
        program: the syntax tree.
        values: placeholder -> the value that stood there.
    """

    program: Any
    values: Mapping[str, Any]


def spoken_type(node: Any) -> ty.Type | None:
    """Return the type of a value that a placeholder may stand for; None for all other nodes."""
    type_ = constant_type(node)
    is_word = isinstance(type_, ty.Enum) or type_ == ty.BOOLEAN
    return None if is_word else type_


def literal(node: Any) -> str:
    """Return the tokens of a value, by which two are compared.

    An entity with but one name is like that text: a template has "boss" for a person.
    """
    if isinstance(node, ast.EntityValue) and (node.value is None or node.display is None):
        node = ast.StringValue(node.display or node.value or "")
    return value_tokens(node)


def literals(node: Any) -> Iterator[str]:
    """Yield the tokens of all values of a tree that placeholders may stand for.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> list(literals(parse("timer(base = now, interval = 1h) => @com.x.a(n = 5)")))
    ['now', '1 unit:h', '5']
    """
    if spoken_type(node) is not None:
        yield literal(node)
        return
    for child in children(node):
        yield from literals(child)


def with_placeholders(
    program: Any, texts_of_templates: frozenset[str], units: Units = SHIPPED
) -> Iterator[WithPlaceholders]:
    """Yield a program with placeholders for its values, in every way that a sentence may have.

    A template may contain a value ("every hour", "at home", "today"): `texts_of_templates` has
    the tokens of such values. They stay as they are in the first readings, and get placeholders in
    others.

    Args:
        program: the tree.
        texts_of_templates: tokens of values that templates contain.
        units: those of the library.
    """
    doubtful = list(dict.fromkeys(text for text in literals(program) if text in texts_of_templates))
    choices: list[tuple[bool, ...]] = [(False, True)] * min(len(doubtful), MOST_CHOICES)
    choices += [(True,)] * (len(doubtful) - len(choices))
    for chosen in product(*choices):
        plain_texts = {text for text, is_said in zip(doubtful, chosen, strict=True) if not is_said}
        yield _Replacer(plain_texts, units, shares=False).replace_in(program)
    everything = list(literals(program))
    if len(everything) > len(set(everything)):  # one value in two places, said once
        yield _Replacer(set(), units, shares=True).replace_in(program)


def with_constants(program: str, language: Language, units: Units) -> Iterator[WithPlaceholders]:
    """Yield a program of any language with placeholders for its constants, in every way.

    Those that keep fewest constants come first: a template may contain one.

    Args:
        program: its canonical tokens.
        language: its language.
        units: those of the library.
    """
    form = language.form(program)
    tokens = form.tokens
    found = [
        (literal, value, stem)
        for literal in form.literals
        if (value := _value_of(literal.constant)) is not None
        and (type_ := spoken_type(value)) is not None
        and (stem := ty.slot_stem(type_, units)) is not None
        and not any(map(ty.is_slot, tokens[literal.start : literal.end]))
    ]
    if len(found) > MOST_CHOICES:
        return
    ways = product((True, False), repeat=len(found))
    for chosen in sorted(ways, key=sum, reverse=True):
        counts: Counter[str] = Counter()
        values: dict[str, Any] = {}
        parts, i = list[str](), 0
        for (literal, value, stem), is_said in zip(found, chosen, strict=True):
            if not is_said:
                continue
            while (token := f"{stem}_{counts[stem]}") in tokens:
                counts[stem] += 1
            counts[stem] += 1
            values[token] = value
            parts += [*tokens[i : literal.start], token]
            i = literal.end
        yield WithPlaceholders(language.from_tokens(" ".join([*parts, *tokens[i:]])), values)


_NAME = re.compile(r'" (?P<words>.*) " \^\^(?P<kind>\S+)')


def _value_of(text: str) -> Any:
    """Return the value of a constant; a kind of names may be without a namespace."""
    if match := _NAME.fullmatch(text):
        return ast.EntityValue(match["words"], match["kind"])
    try:
        return constant(text)
    except GenieError:
        return None


class _Replacer:
    def __init__(self, kept: set[str], units: Units, *, shares: bool):
        self.kept, self.units, self.shares = kept, units, shares
        self.values: dict[str, Any] = {}
        self.taken: set[str] = set()
        self.counts: dict[str, int] = defaultdict(int)
        self.shared: dict[tuple[str, str], ast.SlotValue] = {}

    def replace_in(self, program: Any) -> WithPlaceholders:
        self.taken = {n.token for n in walk(program) if isinstance(n, ast.SlotValue)}
        return WithPlaceholders(rewrite_outermost(program, self.change), self.values)

    def change(self, node: Any) -> Any:
        """Return the replacement of a node, itself to keep it, or None to look inside of it."""
        type_ = spoken_type(node)
        if type_ is None:
            return None
        stem = ty.slot_stem(type_, self.units)
        text = literal(node)
        if (
            stem is None
            or text in self.kept
            or any(isinstance(n, ast.SlotValue) for n in walk(node))
        ):
            return node
        if self.shares and (stem, text) in self.shared:
            return self.shared[stem, text]
        while (token := f"{stem}_{self.counts[stem]}") in self.taken:
            self.counts[stem] += 1
        self.counts[stem] += 1
        self.values[token] = node
        self.shared[stem, text] = ast.SlotValue(token)
        return self.shared[stem, text]


# ------------------------------------------------------------------------------- in English


def say_value(value: Any, units: Units = SHIPPED) -> str:
    """Return a value as people write it.

    Args:
        value: a node of a tree.
        units: those of the library.

    >>> from genie_dp.languages.thingtalk.parser import parse
    >>> program = parse('now => @x.a(s = "hi", m = 5MB, t = makeTime(20, 30), d = now - 2day)')
    >>> [say_value(arg.value) for arg in program.rules[0].action.args]
    ['"hi"', '5 MB', '8:30 pm', '2 days ago']
    """
    match value:
        case ast.StringValue(text):
            return f'"{text}"'
        case ast.NumberValue(number):
            return _say_number(number)
        case ast.MeasureValue(parts):
            return _say_sum(parts, units)
        case ast.CurrencyValue(amount, code):
            return _say_money(amount, code)
        case ast.TimeValue(hour, minute, second):
            return _say_time(hour, minute, second)
        case ast.EntityValue():
            return _say_entity(value)
        case ast.LocationValue(latitude, longitude, display):
            degrees = (number_token(n) for n in (latitude, longitude) if n is not None)
            return display or ", ".join(degrees)
        case ast.ContextValue(path):
            return _PLACES.get(path[-1], path[-1].replace("_", " "))
        case ast.SlotValue(token, unit):
            return f"{token} {_unit_words(unit, units)[1]}" if unit else token
        case _:
            return _say_date(value, units)


_PLACES = {"home": "my home", "work": "my workplace", "current_location": "my current location"}


def _say_number(number: Decimal) -> str:
    text = number_token(number)
    whole, dot, rest = text.partition(".")
    return f"{int(whole):,}{dot}{rest}" if abs(number) >= _FOUR_DIGITS else text


# Units that are said in words, and those that are written with a sign of their own; all others are
# said as programs have them.
_IN_WORDS = frozenset(
    (
        "ms", "s", "min", "h", "day", "week", "mon", "year", "mi", "ft", "in", "m", "lb", "oz",
        "byte", "C", "F", "m2", "l", "yd", "t", "st", "acre", "ha", "m3", "kn", "tsp", "tbsp",
        "floz", "cup", "pt", "qt", "gal", "nmi", "MW", "A", "deg",
    )
)  # fmt: skip
_WITH_SIGNS = {"kmph": "km/h", "mps": "m/s", "KBps": "KB/s", "MBps": "MB/s"}


def _unit_words(unit: str, units: Units) -> tuple[str, str]:
    """Return the singular and the plural name of a unit; those of skills by their words."""
    own = units.by_name.get(unit, SHIPPED.by_name.get(unit))
    if own is not None and (unit in _IN_WORDS or unit not in SHIPPED):
        return own.singular, own.plural
    sign = _WITH_SIGNS.get(unit, unit)
    return sign, sign


def _say_measure(number: Decimal, unit: str, units: Units) -> str:
    singular, plural = _unit_words(unit, units)
    return f"{_say_number(number)} {singular if number == 1 else plural}"


def _say_sum(parts: Sequence[tuple[Decimal, str]], units: Units = SHIPPED) -> str:
    """Return a sum of measures in words; negative ones are subtracted by "less".

    >>> _say_sum([(Decimal(6), "ft"), (Decimal(1), "in")])
    '6 feet 1 inch'
    >>> _say_sum([(Decimal(1), "day"), (Decimal(-2), "h")])
    '1 day less 2 hours'
    """
    first, *rest = parts
    words = _say_measure(*first, units)
    for number, unit in rest:
        if number < 0:
            words += f" less {_say_measure(-number, unit, units)}"
        else:
            is_word = unit in _IN_WORDS or unit in _WITH_SIGNS or unit not in SHIPPED
            words += f"{' ' if is_word else ' plus '}{_say_measure(number, unit, units)}"
    return words


_SIGNS = {currency.code: currency.sign for currency in CURRENCIES}


def _say_money(amount: Decimal, code: str) -> str:
    """Return an amount of money.

    >>> amounts = (("1000.5", "usd"), ("-15", "eur"), ("20", "chf"))
    >>> tuple(_say_money(Decimal(number), unit) for number, unit in amounts)
    ('$1,000.50', '-€15', '20 CHF')
    """
    whole, dot, cents = number_token(abs(amount)).partition(".")
    text = f"{int(whole):,}{dot}{cents and cents.ljust(2, '0')}"
    minus, sign = "-" if amount < 0 else "", _SIGNS.get(code.lower())
    return f"{minus}{sign}{text}" if sign else f"{minus}{text} {code.upper()}"


def _say_time(hour: int, minute: int, second: int) -> str:
    half = "am" if hour < 12 else "pm"
    clock = f"{(hour - 1) % 12 + 1}"
    if minute or second:
        clock += f":{minute:02d}"
    if second:
        clock += f":{second:02d}"
    return f"{clock} {half}"


def _say_entity(value: ast.EntityValue) -> str:
    text = value.display or value.value or "an unknown value"
    sign = {"tt:username": "@", "tt:hashtag": "#"}.get(value.kind, "")
    return text if text.startswith(sign) else sign + text


_THIS = {"day": "today", "week": "this week", "mon": "this month", "year": "this year",
         "h": "this hour", "min": "this minute", "s": "this second"}  # fmt: skip
_OF_THE_CLOCK = frozenset(("ms", "s", "min", "h"))


def _say_date(value: Any, units: Units) -> str:
    match value:
        case ast.DateNow():
            return "now"
        case ast.DateEdge(edge, unit):
            which = "start" if edge == "start_of" else "end"
            return f"the {which} of {_THIS.get(unit, unit)}"
        case ast.DateOffset(base, sign, duration):
            is_now = isinstance(base, ast.DateNow)
            return say_moved_date(say_value(base, units), sign, duration, units, is_now=is_now)
        case ast.DateValue(iso):
            return _say_calendar_date(iso)
        case _:
            return literal(value)


def say_moved_date(
    base: str, sign: str, duration: Any, units: Units = SHIPPED, *, is_now: bool = False
) -> str:
    """Return a date some time before or after another one.

    >>> hours = ast.MeasureValue(((Decimal(-3), "h"),))
    >>> say_moved_date("now", "-", hours, is_now=True)
    '3 hours from now'
    >>> say_moved_date("the end of today", "+", hours)
    '3 hours before the end of today'
    """
    if isinstance(duration, ast.MeasureValue) and duration.parts[0][0] < 0:
        parts = tuple((-number, unit) for number, unit in duration.parts)
        duration, sign = replace(duration, parts=parts), "+" if sign == "-" else "-"
    if is_now:
        return f"{say_value(duration, units)} {'ago' if sign == '-' else 'from now'}"
    return f"{say_value(duration, units)} {'before' if sign == '-' else 'after'} {base}"


def is_moment(value: Any) -> bool:
    """Return whether a date is a time on a clock rather than a day.

    >>> is_moment(ast.DateNow()), is_moment(ast.DateEdge("start_of", "week"))
    (True, False)
    """
    match value:
        case ast.DateNow():
            return True
        case ast.DateEdge(_, unit):
            return unit in _OF_THE_CLOCK
        case ast.DateOffset(base, _, ast.MeasureValue(parts)):
            is_short = any(unit in _OF_THE_CLOCK for _, unit in parts)
            return is_short or (is_moment(base) and not isinstance(base, ast.DateNow))
        case ast.DateOffset(base):
            return is_moment(base)
        case ast.DateValue(iso):
            return _say_calendar_date(iso) != iso and " at " in _say_calendar_date(iso)
        case _:
            return False


def _say_calendar_date(iso: str) -> str:
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    text = f"{moment:%B} {moment.day}, {moment.year}"
    ahead = moment.utcoffset()  # a date without a zone is of UTC
    if moment.microsecond or (ahead and ahead.seconds % 60):
        return iso
    if moment.hour or moment.minute or moment.second or ahead:
        text += f" at {_say_time(moment.hour, moment.minute, moment.second)}"
    return f"{text} (UTC{moment.isoformat()[-6:]})" if ahead else text


MOST_TRIED = 16  # smaller programs that templates are asked for: each takes some 10 ms


def sort_of_value(type_: ty.Type) -> str:
    """Return the row of FORMS for a type; "any" where nothing is known.

    >>> sort_of_value(ty.Measure("byte")), sort_of_value(ty.NUMBER)
    ('measure', 'number')
    """
    match type_:
        case ty.Basic(name):
            return name.lower()
        case ty.Array() | ty.Enum() | ty.Entity() | ty.Measure():
            return type(type_).__name__.lower()
        case _:
            assert_never(type_)


# ----------------------------------------------------------------------------- names in a program


@dataclass(frozen=True, slots=True)
class NamedParameter:
    """The referent of a name: an output of a call, or an input of a policy's function.

    Attributes:
        function: its qualified name, "" for a number over a list.
        owner: the words of the result that has it, "" for inputs and numbers over a list.
        of: the owner where a reader could take it for another one's; "" otherwise.
        thing: the subject of a flag's clause: "it", or the owner.
        words: the words of a computed value.
    """

    name: str
    type: ty.Type
    function: str
    owner: str = ""
    of: str = ""
    thing: str = "it"
    words: str = ""


Names = Mapping[str, NamedParameter]


@dataclass(frozen=True, slots=True)
class Phrase:
    """The template phrase of a part of a program.

    Attributes:
        words: with their values, without a capital letter.
        source: the description that they are taken from.
    """

    words: str
    source: Any


class TemplatePhrases(Protocol):
    """The phrases of templates for parts of a program; None if none expresses just that part."""

    def noun(self, query: ast.Query) -> Phrase | None:
        """Return the noun phrase of a query."""

    def when(self, stream: ast.Stream) -> Phrase | None:
        """Return the phrase for the time at which a stream has something."""

    def verb(self, action: ast.Call) -> Phrase | None:
        """Return the verb phrase of an action."""

    def command(self, program: ast.Program | ast.Policy) -> Phrase | None:
        """Return the sentence of a whole program, no question."""


@dataclass(slots=True)
class OwnWords:
    """Renders one program in words.

    Attributes:
        own: the words of our own in the sentence.
        used: the template phrases in the sentence.
    """

    library: SkillLibrary
    templates: TemplatePhrases
    own: list[str] = field(default_factory=list)
    used: list[Phrase] = field(default_factory=list)
    _labels: dict[int, str] = field(default_factory=dict)
    _outputs: dict[str, int] = field(default_factory=dict)

    def program(self, program: ast.Program | ast.Policy) -> str:
        """Return sentences for a canonical program that templates have no sentence for."""
        if isinstance(program, ast.Policy):
            return _sentence(self._policy_with_rest(program) or self._policy(program))
        return ". ".join(_sentence(self._rule(rule, program)) for rule in program.rules)

    # ------------------------------------------------------------------------------- sentences

    def confirmation(self, program: ast.Program | ast.Policy) -> str | None:
        """Return the confirmation of the one call that a program is, with its values.

        None where it is more than a call, nobody wrote one, or it leaves an input out.
        """
        match program:
            case ast.Program((ast.Rule(None, None, ast.Call() as call),)):
                verb = ""
            case ast.Program((ast.Rule(None, ast.Call() as call, ast.Notify()),)):
                verb = "get "
            case _:
                return None
        function = self.library.find(qualify(call))
        text = function.confirmation if function else ""
        given = {a.name: self.value(a.value, {}, self._input(call, a.name)) for a in call.args}
        places = {a or b for a, b in _CONFIRMED.findall(text)}
        if not text or call.selector.attributes or places != set(given):
            return None
        return _sentence(verb + _CONFIRMED.sub(lambda m: given[m[1] or m[2]], text))

    def _rule(self, rule: ast.Rule, program: ast.Program) -> str:
        self._name_calls(rule)
        command = None
        if len(program.rules) > 1:  # templates have no sentence for the only one
            command = self._use(self.templates.command(ast.Program((rule,))))
        return command or self._with_riders(rule) or self._say_parts(rule)

    def _say_parts(self, rule: ast.Rule) -> str:
        if rule.stream is None:
            return self._body(rule, {})
        when = self.stream(rule.stream)
        if rule.query is None and isinstance(rule.action, ast.Notify):
            return say("stream alone", when=when)
        # What a stream sets off may need nothing of it: then it is a command by itself.
        command = self.templates.command(ast.Program((replace(rule, stream=None),)))
        if command is not None and english.starts_with_verb(command.words):
            return f"{when}, {self._use(command)}"
        return f"{when}, {self._body(rule, self._stream_names(rule.stream))}"

    def _body(self, rule: ast.Rule, names: Names) -> str:
        if rule.query is None:
            return self._action(rule.action, names)
        noun = self.query(rule.query, names)
        if isinstance(rule.action, ast.Notify):
            return say("query alone", query=noun)
        inner = {**names, **self._query_names(rule.query)}
        action = self._action(rule.action, inner)
        return say("for each", each=self._each(rule.query, noun), action=action)

    def _each(self, query: ast.Query, noun: str) -> str:
        first = query
        if isinstance(query, ast.Projection | ast.Sort | ast.Slice):
            return say("each result", query=noun) if self._is_list(query) else noun
        while isinstance(first, ast.Join | ast.Filter):
            first = first.left if isinstance(first, ast.Join) else first.query
        if not self._is_list(first):
            return noun
        if english.number_of(re.split(", | where ", noun)[0]) != "pl":
            return say("each result", query=noun)
        is_bare = english.split_determiner(noun)[0] == "none"
        return say("each of the" if is_bare else "each of", query=noun)

    def _action(self, action: ast.Action, names: Names) -> str:
        match action:
            case ast.Notify():
                return say("notify")
            case ast.Call():
                bare = replace(action, selector=ast.Selector(action.selector.class_name))
                words, rest = self._core(bare, self.templates.verb)
                words = words or self._own_name(action, is_action=True)
                return words + self._device(action, names) + self._arguments(action, rest, names)
            case ast.Hole():
                raise TypeError(action)
            case _:
                assert_never(action)

    # ------------------------------------------------------------- a smaller program, and the rest

    def _with_riders(self, rule: ast.Rule) -> str | None:
        """Return the template sentence of a rule with fewer conditions and arguments, and the rest.

        Only where there is one query at most: nobody can take its conditions for another one's.
        """
        if len(_source_calls(rule)) > 1:
            return None
        names = self._stream_names(rule.stream) if rule.stream is not None else {}
        names = {**names, **(self._query_names(rule.query) if rule.query else {})}
        conditions = list(self._conditions(rule))
        args = rule.action.args if isinstance(rule.action, ast.Call) else ()
        for dropped in _subsets([*(id(p) for p, _ in conditions), *map(id, args)]):
            smaller = _without(rule, frozenset(dropped))
            command = self.templates.command(ast.Program((smaller,)))
            if command is None:
                continue
            rest = [arg for arg in args if id(arg) in dropped]
            words = self._use(command) or ""
            if rest and isinstance(rule.action, ast.Call):
                words += "," + self._arguments(rule.action, rest, names)
            return words + self._only_where([(p, s) for p, s in conditions if id(p) in dropped])
        return None

    def _only_where(self, conditions: Sequence[tuple[ast.Predicate, Names]]) -> str:
        if not conditions:
            return ""
        clauses = _join_conditions([self._part(p, names) for p, names in conditions])
        return ", " + self._say(
            f"but only {_if_or_where([p for p, _ in conditions])}", clauses=clauses
        )

    def _conditions(self, rule: ast.Rule) -> Iterator[tuple[ast.Predicate, Names]]:
        """Yield the conditions that keep their meaning at the end of a sentence.

        Not those inside of a number over a list, or of an edge, nor of a monitor where it would
        take a result for new whose condition turned true: they come before, so to speak.
        """
        stream = rule.stream
        while isinstance(stream, ast.StreamFilter):
            names = self._stream_names(stream)
            yield from ((p, names) for p in _split_conjunction(stream.predicate))
            stream = stream.stream
        watched = stream.query if isinstance(stream, ast.Monitor) and not stream.on_new else None
        for query in (watched, rule.query):
            if isinstance(query, ast.Filter) and isinstance(query.query, ast.Call):
                names = self._local(query.query)
                for p in _split_conjunction(query.predicate):
                    if query is rule.query or is_stable(p):
                        yield p, names

    def _core(
        self, call: ast.Call, said_by: Callable[[ast.Call], Phrase | None]
    ) -> tuple[str | None, list[ast.Arg]]:
        """Return the template phrase of a call with most of its arguments, and the other ones."""
        always = {id(arg) for arg in call.args if _refers_to_results(arg.value)}
        others = [id(arg) for arg in call.args if id(arg) not in always]
        for dropped in _subsets(others, least=0):
            kept_args = tuple(a for a in call.args if id(a) not in always.union(dropped))
            words = self._use(said_by(replace(call, args=kept_args)))
            if words is not None:
                return words, [arg for arg in call.args if arg not in kept_args]
        return None, list(call.args)

    # --------------------------------------------------------------------------------- queries

    def query(self, query: ast.Query, names: Names, passed: Mapping[str, str] | None = None) -> str:
        """Return a noun phrase; `passed` has the values that a join gives to inputs."""
        words = None if passed else self._use(self.templates.noun(query))
        if words is not None:
            return words
        match query:
            case ast.Call():
                return self._call(query, names, passed or {})
            case ast.Filter():
                return self._filter(query, names, passed or {})
            case ast.Join():
                return self._join(query, names, passed or {})
            case ast.Aggregate(operator, output, inner):
                noun = self.query(inner, names, passed)
                noun = f"({noun})" if ", " in noun and not isinstance(inner, ast.Call) else noun
                if operator == "count":
                    return self._say("count", query=noun)
                outputs = self._query_names(inner)
                words = self._words_of(outputs.get(output or "", _unknown_parameter(output or "")))
                return self._say(operator, of=f"{words} of {noun}")
            case ast.Projection() | ast.Sort() | ast.Slice():
                return self._wrapped(query, names, passed)
            case ast.Hole():
                raise TypeError(query)
            case _:
                assert_never(query)

    def _wrapped(
        self,
        query: ast.Projection | ast.Sort | ast.Slice,
        names: Names,
        passed: Mapping[str, str] | None,
    ) -> str:
        """Return the noun phrase of a projection, of a sorted query, or of a slice."""
        noun = self.query(query.query, names, passed)
        is_plain = ", " not in noun or isinstance(query.query, ast.Call)
        noun = noun if is_plain else f"({noun})"
        seen = {**names, **self._query_names(query.query)}
        match query:
            case ast.Projection(_, values, keeps_all):
                kept = [self._output_words(value, seen) for value in values]
                outputs = _list_in_words([f"the {words}" for words in kept], "and")
                key = "projection of all" if keeps_all else "projection"
                return self._say(key, query=noun, outputs=outputs)
            case ast.Sort(_, key, direction):
                is_last = direction == "desc"
                first = FIRST.get(sort_of_value(self._type(key, seen)), ("smallest", "largest"))
                words = self._output_words(key, seen)
                return self._say("sort", query=noun, key=words, first=first[is_last])
            case ast.Slice(_, start, end):
                return self._say("slice", places=self._places(start, end, seen), query=noun)
            case _:
                assert_never(query)

    def _places(self, start: ast.Value, end: ast.Value | None, names: Names) -> str:
        is_first = isinstance(start, ast.NumberValue) and start.value == 1
        first = self.value(start, names)
        if end is None:
            return say("first place" if is_first else "place", first=first)
        last = self.value(end, names)
        return say("first places" if is_first else "places", first=first, last=last)

    def _output_words(self, value: ast.Value, names: Names) -> str:
        """Return an output, or a value computed of one, without an article."""
        return self.value(value, names).removeprefix("the ")

    def _computed(self, value: ast.Computed | ast.ListFilter, names: Names) -> str:
        if isinstance(value, ast.ListFilter):
            return self._of_list(value, names)
        first, *others = value.arguments
        words = self._output_words(first, names)
        match value.operator, others:
            case "count", []:
                return say("count", query=words)
            case "distance", [place]:
                here = self.value(first, names)
                return say("distance", here=here, place=self.value(place, names))
            case operator, []:
                return say(operator, of=f"of {words}")
            case operator, [other]:
                compared = self.value(other, names)
                return say("computed truth", output=words, operator=operator, value=compared)
            case _:
                return literal(value)

    def _of_list(self, listed: ast.ListFilter, names: Names) -> str:
        """Return the values of a list for which a condition holds."""
        parameter = names.get(listed.name, _unknown_parameter(listed.name))
        element = parameter.type.element if isinstance(parameter.type, ty.Array) else ty.ANY
        item = NamedParameter("value", element, "", words="value")
        condition = self._in_parentheses(listed.predicate, {**names, "value": item})
        return say("of a list", list=self._name(parameter), condition=condition)

    def _join(self, join: ast.Join, names: Names, passed: Mapping[str, str]) -> str:
        to_left = {
            name: words for name, words in passed.items() if takes(join.left, name, self.library)
        }
        seen = {**names, **self._query_names(join.left)}
        to_right = {name: words for name, words in passed.items() if name not in to_left}
        to_right |= {arg.name: self._passed_value(arg.value, seen) for arg in join.passing}
        left_noun = self.query(join.left, names, to_left)
        right_noun = self.query(join.right, seen, to_right)
        right_noun = f"({right_noun})" if isinstance(join.right, ast.Join) else right_noun
        return say("join", left=left_noun, right=right_noun)

    def _call(self, call: ast.Call, names: Names, passed: Mapping[str, str]) -> str:
        bare = replace(call, selector=ast.Selector(call.selector.class_name))
        words, rest = self._core(bare, self.templates.noun)
        words = words or self._own_name(call)
        rest = [a for a in rest if a.name not in passed or not isinstance(a.value, ast.Undefined)]
        return words + self._device(call, names) + self._arguments(call, rest, names, passed)

    def _filter(self, query: ast.Filter, names: Names, passed: Mapping[str, str]) -> str:
        unsaid = parts = list(_split_conjunction(query.predicate))
        words = None
        for dropped in _subsets([id(p) for p in parts], most=len(parts) - 1) if not passed else ():
            smaller = _without(query, frozenset(dropped))
            words = self._use(self.templates.noun(smaller))
            if words is not None:
                unsaid = [p for p in parts if id(p) in dropped]
                break
        words = words or self.query(query.query, names, passed)
        comma = " " if isinstance(query.query, ast.Call) else ", only "
        is_call = isinstance(query.query, ast.Call)
        ours = self._local(query.query) if is_call else self._query_names(query.query)
        return words + comma + self._say("where", clauses=self._all(unsaid, {**names, **ours}))

    def _all(self, parts: Sequence[ast.Predicate], names: Names) -> str:
        return _join_conditions([self._part(p, names) for p in parts])

    def _local(self, query: ast.Query) -> Names:
        """Return the outputs of a call for words right after it, where nobody mistakes them."""
        outputs = self._query_names(query)
        return {name: replace(output, of="", thing="it") for name, output in outputs.items()}

    def _is_list(self, query: ast.Query) -> bool:
        match query:
            case ast.Call():
                signature = self.library.function(query.selector.class_name, query.function)
                return signature is None or signature.is_list
            case ast.Filter(inner) | ast.Projection(inner) | ast.Sort(inner):
                return self._is_list(inner)
            case ast.Slice(_, start, end):
                return end is not None and end != start
            case ast.Join(left, right):
                return self._is_list(left) or self._is_list(right)
            case ast.Aggregate():
                return False
            case ast.Hole():
                raise TypeError(query)
            case _:
                assert_never(query)

    # --------------------------------------------------------------------------------- streams

    def stream(self, stream: ast.Stream) -> str:
        """Return a phrase for a time: "when i get an email", "every day at 9 am"."""
        phrase = self.templates.when(stream)
        if phrase is not None and phrase.words.startswith(BEGIN_WHEN):
            return self._use(phrase) or ""
        match stream:
            case ast.AtTimer() | ast.Timer():
                return self._note(self._timer(stream))
            case ast.Monitor(query, on_new):
                key = "monitor" if on_new or self._is_list(query) else "monitor of one"
                return self._say(key, event=self._event(stream))
            case ast.Edge(inner, ast.TrueP()):
                return self._say("first time", when=self.stream(inner))
            case ast.Edge(inner, predicate):
                condition = self.predicate(predicate, self._stream_names(inner))
                if isinstance(inner, ast.Monitor):
                    return self._say("edge", event=self._event(inner), condition=condition)
                return f"{self.stream(inner)}, {self._say('edge of stream', condition=condition)}"
            case ast.StreamFilter(inner, predicate):
                condition = self.predicate(predicate, self._stream_names(inner))
                return f"{self.stream(inner)}, {self._say('stream filter', condition=condition)}"
            case ast.StreamJoin(inner, query, passing):
                names = self._stream_names(inner)
                inputs = {arg.name: self._passed_value(arg.value, names) for arg in passing}
                noun = self.query(query, names, inputs)
                return say("stream join", when=self.stream(inner), query=noun)
            case ast.Hole():
                raise TypeError(stream)
            case _:
                assert_never(stream)

    def _timer(self, timer: ast.AtTimer | ast.Timer) -> str:
        if isinstance(timer, ast.AtTimer):
            return say("attimer", time=self._clock(timer.time))
        interval = self.value(timer.interval, {})
        often = say("timer", interval=re.sub("^1 (?=[a-z]+$)", "", interval))
        if isinstance(timer.interval, ast.Undefined):
            often = say("timer to be asked for")
        is_now = isinstance(timer.base, ast.DateNow)
        return often if is_now else say("timer from", often=often, base=self.value(timer.base, {}))

    def _event(self, stream: ast.Monitor) -> str:
        """Return the event of a monitor in words: "something new in my emails"."""
        noun = self.query(stream.query, {})
        if not stream.on_new:
            return say("something new", query=noun) if self._is_list(stream.query) else noun
        names = self._query_names(stream.query)
        parameters = [
            replace(names.get(n, _unknown_parameter(n)), of="", thing="it") for n in stream.on_new
        ]
        names_in_words = _list_in_words([self._name(p) for p in parameters], "and")
        key = "new value" if len(parameters) == 1 else "new combination"
        return say(key, outputs=names_in_words, query=noun)

    # -------------------------------------------------------------------------------- policies

    def _policy_with_rest(self, policy: ast.Policy) -> str | None:
        """Return the template sentence of a policy without some conditions, and these."""
        if (policy.query is None) == (policy.action is None):
            return None
        side = "action" if policy.query is None else "query"
        function = getattr(policy, side)
        if not isinstance(function, ast.PolicyFunction):
            return None
        parts, names = list(_split_conjunction(function.predicate)), self._policy_names(function)
        for dropped in _subsets([id(p) for p in parts]):
            kept_parts = [p for p in parts if id(p) not in dropped]
            smaller = replace(function, predicate=_conjunction(kept_parts))
            changed = (
                replace(policy, action=smaller)
                if side == "action"
                else replace(policy, query=smaller)
            )
            command = self._use(self.templates.command(changed))
            if command is not None:
                return command + self._only_where([(p, names) for p in parts if id(p) in dropped])
        return None

    def _policy(self, policy: ast.Policy) -> str:
        who = self._who(policy.source)
        if policy.action is None:
            return self._say("policy of query", who=who, seen=self._seen(policy.query))
        does = self._done(policy.action)
        if policy.query is None:
            return self._say("policy of action", who=who, does=does)
        if isinstance(policy.query, ast.PolicyFunction) and policy.query.class_name is None:
            return self._say("policy of any query", who=who, does=does)
        comma = "," if getattr(policy.query, "predicate", None) != ast.TrueP() else ""
        return self._say("policy", who=who, seen=self._seen(policy.query) + comma, does=does)

    def _who(self, source: ast.Predicate) -> str:
        names = {"source": NamedParameter("source", ty.Entity("tt:contact"), "")}
        match source:
            case ast.TrueP():
                return say("anyone")
            case ast.FalseP():
                return say("nobody")
            case ast.Atom("source", "==", value):
                return self.value(value, names)
            case ast.Atom("source", "in_array", ast.ArrayValue(items)) if items:
                return _list_in_words([self.value(item, names) for item in items], "or")
            case ast.Not(ast.Atom("source", "==", value)):
                return say("anyone but", who=self.value(value, names))
            case ast.Or(operands) if all(
                isinstance(o, ast.Atom) and o.operator == "==" for o in operands
            ):
                return _list_in_words([self._who(o) for o in operands], "or")
            case _:
                return say("anyone who", condition=self.predicate(source, names))

    def _seen(self, function: ast.PolicyFunction | ast.Hole | None) -> str:
        assert isinstance(function, ast.PolicyFunction)
        if function.class_name is None:
            return say("see anything")
        if function.function is None:
            return say("see anything of skill", skill=self._skill(function.class_name))
        call = ast.Call(ast.Selector(function.class_name), function.function)
        words = self._use(self.templates.noun(call)) or self._own_name(call)
        return words + self._condition(function, " ")

    def _done(self, function: ast.PolicyFunction | ast.Hole | None) -> str:
        assert isinstance(function, ast.PolicyFunction)
        if function.class_name is None:
            return say("do anything")
        if function.function is None:
            return say("do anything of skill", skill=self._skill(function.class_name))
        call = ast.Call(ast.Selector(function.class_name), function.function)
        words = self._use(self.templates.verb(call)) or self._own_name(call, is_action=True)
        return words + self._condition(function, ", but only ")

    def _condition(self, function: ast.PolicyFunction, before: str) -> str:
        if isinstance(function.predicate, ast.TrueP):
            return ""
        parts = _split_conjunction(function.predicate)
        return f"{before}{_if_or_where(parts)} {self._all(parts, self._policy_names(function))}"

    def _policy_names(self, function: ast.PolicyFunction) -> Names:
        signature = self.library.function(function.class_name or "", function.function or "")
        parameters = signature.parameters if signature else ()
        return {
            p.name: NamedParameter(p.name, p.type, signature.qualified)
            for p in parameters
            if signature
        }

    # ------------------------------------------------------------------------------ conditions

    def predicate(self, predicate: ast.Predicate, names: Names, *, negated: bool = False) -> str:
        """Return a condition as a clause."""
        match predicate:
            case ast.TrueP() | ast.FalseP():
                is_true = isinstance(predicate, ast.TrueP) != negated
                return say("true" if is_true else "false")
            case ast.Not(operand):
                return self.predicate(operand, names, negated=not negated)
            case ast.Atom():
                return self._atom(predicate, names, negated=negated)
            case ast.Comparison(left, operator, value):
                words = self._output_words(left, names)
                computed = NamedParameter("", self._type(left, names), "", words=words)
                atom = ast.Atom("", operator, value)
                return self._atom(atom, {**names, "": computed}, negated=negated)
            case ast.GetPredicate():
                return self._exists(predicate, names, negated=negated)
            case ast.And() | ast.Or() if negated:
                return say("not", condition=f"({self.predicate(predicate, names)})")
            case ast.And(operands):
                return _join_conditions([self._part(p, names) for p in operands])
            case ast.Or(operands):
                parts = [self.predicate(p, names) for p in operands]
                inner = [
                    f"({words})" if isinstance(p, ast.And | ast.Or) else words
                    for p, words in zip(operands, parts, strict=True)
                ]
                return "either " + " or ".join(inner)
            case _:
                assert_never(predicate)

    def _part(self, predicate: ast.Predicate, names: Names) -> str:
        words = self.predicate(predicate, names)
        return f"({words})" if isinstance(predicate, ast.And) else words

    def _atom(self, atom: ast.Atom, names: Names, *, negated: bool) -> str:
        parameter = names.get(atom.name, _unknown_parameter(atom.name))
        sort = sort_of_value(parameter.type)
        subject = self._name(parameter)
        operator, value = atom.operator, atom.value
        if sort == "boolean" and isinstance(value, ast.BooleanValue):
            return self._flag(parameter, is_true=value.value != negated)
        if parameter.type == ty.DATE and self._type(value, names) == ty.TIME:
            sort, subject = "time", say("time of day", date=subject)
        number = english.number_of(subject.removeprefix("the ").partition(" of ")[0])
        value_words = self.value(value, names, parameter)
        if operator == "==" and isinstance(value, ast.VarRef | ast.Computed):
            value_words = say("same", value=value_words)
        if sort == "array" and value == ast.ArrayValue(()):
            sort, value_words = "number", "empty"
        if sort == "date" and is_moment(value):
            sort = "time"
        elif sort == "date" and operator in (">", "<=") and isinstance(value, ast.DateValue):
            value_words = say("start", day=value_words)  # midnight: the day is after it
        elif sort == "time" and self._type(value, names) == ty.DATE:
            value_words = self._clock(value)
        forms = FORMS.get(sort) or {**FORMS["string"], **FORMS["number"], **FORMS["array"]}
        return forms[operator][negated].format(
            field=subject, value=value_words,
            **({"is": "are", "do": "do", "s": ""} if number == "pl"
               else {"is": "is", "do": "does", "s": "s"}),
        )  # fmt: skip

    def _flag(self, parameter: NamedParameter, *, is_true: bool) -> str:
        clause = self._flag_of(parameter, is_true=is_true)
        return clause or say("flag" if is_true else "flag off", flag=self._name(parameter))

    def _flag_of(self, parameter: NamedParameter, *, is_true: bool) -> str:
        """Return the clause of a flag by the skill's phrase or its name; "" if neither is one."""
        phrases = self.library.phrases(parameter.function, parameter.name)
        part = "predicate_true" if is_true else "predicate_false"
        thing = parameter.of or parameter.thing
        agreeing = [phrase for phrase in phrases.get(part, ()) if phrase.startswith("{")]
        if agreeing:
            return f"{thing} {_singular_verb(agreeing[0])}"
        first, _, rest = parameter.name.partition("_")
        if phrases.get("base") or not rest or first not in FLAGS:
            return ""
        return f"{thing} {first if is_true else FLAGS[first]} {rest.replace('_', ' ')}"

    def _exists(self, condition: ast.GetPredicate, names: Names, *, negated: bool) -> str:
        call, inner = condition.call, condition.predicate
        noun = self.query(call, names)
        ours = self._query_names(call)
        scope = {**names, **ours}
        is_list = self._is_list(call)
        if isinstance(inner, ast.TrueP):
            return say("exists no" if negated else "exists", query=noun)
        if not is_list and not _refers_to_results(call):
            ours = {n: replace(f, of=noun, thing=noun) for n, f in ours.items()}
            return self.predicate(inner, {**names, **ours}, negated=negated)
        if is_list:
            clause = self._in_parentheses(inner, {**names, **self._local(call)})
            return say("none where" if negated else "some where", query=noun, condition=clause)
        clause = self._in_parentheses(inner, scope)
        return say("not within" if negated else "within", query=noun, condition=clause)

    def _in_parentheses(self, predicate: ast.Predicate, names: Names) -> str:
        words = self.predicate(predicate, names)
        is_compound = isinstance(predicate, ast.And | ast.Or)
        return f"({words})" if is_compound else words

    # ---------------------------------------------------------------------------------- values

    def value(self, value: ast.Value, names: Names, parameter: NamedParameter | None = None) -> str:
        """Return a value; `parameter` is the one that it is compared with or assigned to."""
        match value:
            case ast.VarRef(name):
                return self._name(names.get(name, _unknown_parameter(name)))
            case ast.Computed() | ast.ListFilter():
                return self._computed(value, names)
            case ast.Undefined():
                return say("undefined")
            case ast.EventValue():
                return say("event")
            case ast.BooleanValue(is_true):
                return "true" if is_true else "false"
            case ast.EnumValue(name):
                if parameter is None:
                    return name.replace("_", " ")
                return self.library.enum_phrase(parameter.function, parameter.name, name)
            case ast.ArrayValue(items):
                return self._listed(items, names, parameter)
            case ast.DateOffset(base, sign, ast.MeasureValue() as duration) if _refers_to_results(
                base
            ):
                units = self.library.units
                return say_moved_date(self.value(base, names), sign, duration, units)
            case ast.DateOffset(base, sign, duration) if not isinstance(
                duration, ast.MeasureValue | ast.SlotValue
            ):
                words = self.value(duration, names)
                key = "before" if sign == "-" else "after"
                return say(key, duration=words, date=self.value(base, names))
            case _:
                return say_value(value, self.library.units)

    def _listed(
        self, items: Sequence[ast.Value], names: Names, parameter: NamedParameter | None
    ) -> str:
        items_in_words = [self.value(item, names, parameter) for item in items]
        if any(isinstance(item, ast.ArrayValue) for item in items):
            items_in_words = [f"({words})" for words in items_in_words]
        return _list_in_words(items_in_words, "and") if items_in_words else say("no items")

    def _passed_value(
        self, value: ast.Value, names: Names, filled: NamedParameter | None = None
    ) -> str:
        if isinstance(value, ast.VarRef) and value.name in names:
            parameter = names[value.name]
            return self._name(replace(parameter, of=parameter.owner))
        return self.value(value, names, filled)

    def _clock(self, time: ast.Value) -> str:
        """Return a time of day, which may be that of a date."""
        if isinstance(time, ast.Undefined):
            return say("undefined time")
        if isinstance(time, ast.ArrayValue):
            return _list_in_words([self._clock(item) for item in time.items], "and")
        time_words = self.value(time, {})
        is_date = self._type(time, {}) == ty.DATE
        return say("time of day", date=time_words) if is_date else time_words

    def _type(self, value: ast.Value, names: Names) -> ty.Type:
        match value:
            case ast.SlotValue(token) if token.startswith(("TIME_", "DATE_")):
                return ty.TIME if token.startswith("TIME_") else ty.DATE
            case ast.ArrayValue(items) if items:
                return self._type(items[0], names)
            case _:
                scope = Scope({name: parameter.type for name, parameter in names.items()})
                return value_type(value, scope)

    def _arguments(
        self,
        call: ast.Call,
        args: Iterable[ast.Arg],
        names: Names,
        passed: Mapping[str, str] | None = None,
    ) -> str:
        """Return arguments in words: " with the text set to the title"."""
        settings = []
        for arg in args:
            parameter = self._input(call, arg.name)
            words = self._words_of(parameter)
            if isinstance(arg.value, ast.Undefined):
                settings.append(say("undefined input", input=words))
            else:
                value = self._passed_value(arg.value, names, parameter)
                settings.append(say("input", input=words, value=value))
        for name, value in (passed or {}).items():
            words = self._words_of(self._input(call, name))
            settings.append(say("input", input=words, value=value))
        return f" {self._say('with', inputs=_list_in_words(settings, 'and'))}" if settings else ""

    def _input(self, call: ast.Call, name: str) -> NamedParameter:
        signature = self.library.function(call.selector.class_name, call.function)
        parameter = signature.parameter(name) if signature else None
        return NamedParameter(name, parameter.type if parameter else ty.ANY, qualify(call))

    def _device(self, call: ast.Call, names: Names) -> str:
        attributes = []
        for attribute in call.selector.attributes:
            value = self.value(attribute.value, names)
            key = f"device {attribute.name}"
            key = key if key in PHRASES else "device setting"
            attributes.append(say(key, name=attribute.name, value=value))
        words = _list_in_words(attributes, "and")
        return f" {self._say('device', attributes=words)}" if attributes else ""

    # ----------------------------------------------------------------------------------- names

    def _name(self, parameter: NamedParameter) -> str:
        if parameter.type == ty.BOOLEAN and (clause := self._flag_of(parameter, is_true=True)):
            return say("whether", clause=clause)
        of = f" of {parameter.of}" if parameter.of else ""
        words = self._words_of(parameter)
        if parameter.type == ty.BOOLEAN and not self._phrase_of(parameter):
            words = say("name of flag", name=words)
        return f"the {words}{of}"

    def _words_of(self, parameter: NamedParameter) -> str:
        """Return the usual words for a parameter; its name where another one has them as well."""
        if parameter.words:
            return parameter.words
        if not parameter.function:
            return NAMES.get(parameter.name, parameter.name.replace("_", " "))
        own = parameter.name.rpartition(".")[2]  # a field of a record
        return self._phrase_of(parameter) or own.replace("_", " ")

    def _phrase_of(self, parameter: NamedParameter) -> str:
        """Return the phrase of a parameter; "" where it has none of its own."""
        phrases = self.library.phrases(parameter.function, parameter.name).get("base", ())
        function = self.library.find(parameter.function)
        others = function.parameter_phrases if function else {}
        taken = {p.get("base", ("",))[0] for n, p in others.items() if n != parameter.name}
        if not phrases or phrases[0] in taken:
            return ""
        return english.plural(phrases[0]) if isinstance(parameter.type, ty.Array) else phrases[0]

    def _query_names(self, query: ast.Query) -> Names:
        match query:
            case ast.Call():
                signature = self.library.function(query.selector.class_name, query.function)
                label = self._labels.get(id(query), "")
                return {
                    p.name: NamedParameter(
                        p.name, p.type, signature.qualified, label,
                        label if self._outputs.get(p.name, 0) > 1 else "",
                        label if len(self._labels) > 1 and label else "it",
                    )
                    for p in (signature.outputs if signature else ())
                    if signature
                }  # fmt: skip
            case ast.Filter(inner) | ast.Sort(inner) | ast.Slice(inner):
                return self._query_names(inner)
            case ast.Projection(inner, values, keeps_all):
                return self._projected_names(self._query_names(inner), values, keeps_all)
            case ast.Join(left, right):
                return {**self._query_names(left), **self._query_names(right)}
            case ast.Aggregate(operator, output, inner):
                output_parameter = self._query_names(inner).get(output or "")
                type_ = (
                    output_parameter.type if output_parameter and operator != "count" else ty.NUMBER
                )
                return {operator: NamedParameter(operator, type_, "")}
            case ast.Hole():
                return {}
            case _:
                assert_never(query)

    def _projected_names(self, inner: Names, values: Iterable[ast.Value], keeps_all: bool) -> Names:
        names = dict(inner) if keeps_all else {}
        for value in values:
            name = ast.computed_name(value)
            computed = NamedParameter(
                name, self._type(value, inner), "", words=self._output_words(value, inner)
            )
            names[name] = inner.get(name, computed)
        return names

    def _stream_names(self, stream: ast.Stream) -> Names:
        match stream:
            case ast.AtTimer() | ast.Timer() | ast.Hole():
                return {}
            case ast.Monitor(query):
                return self._query_names(query)
            case ast.Edge(inner) | ast.StreamFilter(inner):
                return self._stream_names(inner)
            case ast.StreamJoin(inner, query):
                names = self._stream_names(inner)
                return {**names, **self._query_names(query)}
            case _:
                assert_never(stream)

    def _name_calls(self, rule: ast.Rule) -> None:
        """Give each query of a rule a name, which distinguishes its outputs from others'."""
        calls = [
            call
            for part in (rule.stream, rule.query)
            for call in (functions_used(part) if part is not None else ())
            if isinstance(call, ast.Call)
        ]
        names = [qualify(call) for call in calls]
        self._labels, self._outputs = {}, {}
        for place, call in enumerate(calls):
            label = self._name_of(call)
            if names.count(names[place]) > 1:
                number = names[:place].count(names[place])
                label = f"{ORDINALS[number % len(ORDINALS)]} {label}"
            label = self._with_skill(f"the {english.singular(label)}", call, "from")
            self._labels[id(call)] = label
            signature = self.library.function(call.selector.class_name, call.function)
            for output in signature.outputs if signature else ():
                self._outputs[output.name] = self._outputs.get(output.name, 0) + 1

    def _own_name(self, call: ast.Call, *, is_action: bool = False) -> str:
        """Return a function in words of our own: "the emails from gmail"."""
        words = self._name_of(call)
        if is_action:
            return self._note(self._with_skill(words, call, "using"))
        words = english.plural(words) if self._is_list(call) else words
        return self._note(self._with_skill(f"the {words}", call, "from"))

    def _with_skill(self, words: str, call: ast.Call, preposition: str) -> str:
        skill = self._skill(call.selector.class_name)
        return words if f" {skill} " in f"{words} " else f"{words} {preposition} {skill}"

    def _name_of(self, call: ast.Call) -> str:
        """Return a function by its phrase, or by its name where that is another one's, too."""
        function = self.library.find(qualify(call))
        own = call.function.replace("_", " ")
        if not function or not function.phrases:
            return own if function and function.signature.kind == "action" else f"{own} result"
        others = (
            self.library.find(f"@{call.selector.class_name}.{name}")
            for name in self.library.function_names(call.selector.class_name)
            if name != call.function
        )
        is_taken = any(
            function_beside and function.phrases[0] in function_beside.phrases
            for function_beside in others
        )
        return own if is_taken else function.phrases[0]

    def _skill(self, class_name: str) -> str:
        """Return the usual name of a skill; its whole name where two skills share it."""
        phrase = self.library.class_phrase(class_name)
        others = (c for c in self.library.class_names() if c != class_name)
        if any(self.library.class_phrase(c) == phrase for c in others):
            return class_name
        return phrase or last_name(class_name)

    def _use(self, phrase: Phrase | None) -> str | None:
        if phrase is None:
            return None
        self.used.append(phrase)
        return phrase.words

    def _say(self, phrase: str, **parts: str) -> str:
        """Return a phrase of the table, noted as words of our own."""
        return self._note(say(phrase, **parts))

    def _note(self, words: str) -> str:
        self.own.append(words)
        return words


# --------------------------------------------------------------------------------------- helpers


def _source_calls(rule: ast.Rule) -> list[ast.Call]:
    """Return the calls that a rule gets its results from."""
    queries: list[ast.Query] = [] if rule.query is None else [rule.query]
    stream = rule.stream
    while stream is not None and not isinstance(stream, ast.AtTimer | ast.Timer | ast.Hole):
        if isinstance(stream, ast.Monitor | ast.StreamJoin):
            queries.append(stream.query)
        stream = None if isinstance(stream, ast.Monitor) else stream.stream
    return [call for query in queries for call in source_calls(query)]


def _sentence(words: str) -> str:
    """Return words with a capital letter."""
    return words[:1].upper() + words[1:]


def _unknown_parameter(name: str) -> NamedParameter:
    return NamedParameter(name, ty.ANY, "")


def _singular_verb(phrase: str) -> str:
    """Return a phrase with the verbs that go with one thing: {is/are} -> is."""
    words = []
    for word in phrase.split():
        singular, slash, _ = word.strip("{}").partition("/")
        words.append(singular if slash and word.startswith("{") else word)
    return " ".join(words)


def _if_or_where(parts: Sequence[ast.Predicate]) -> str:
    """Return "if" where all conditions are about other queries, "where" otherwise."""

    def is_elsewhere(part: ast.Predicate) -> bool:
        part = part.operand if isinstance(part, ast.Not) else part
        return isinstance(part, ast.GetPredicate)

    return "if" if all(map(is_elsewhere, parts)) else "where"


def _join_conditions(parts: Sequence[str]) -> str:
    comma = any(part.startswith(("either ", "among ")) for part in parts)
    return (", and " if comma else " and ").join(parts)


def _list_in_words(items: Sequence[str], last: str) -> str:
    """Return a list in words.

    >>> _list_in_words(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def _split_conjunction(predicate: ast.Predicate) -> tuple[ast.Predicate, ...]:
    return predicate.operands if isinstance(predicate, ast.And) else (predicate,)


def _conjunction(parts: Sequence[ast.Predicate]) -> ast.Predicate:
    if not parts:
        return ast.TrueP()
    return parts[0] if len(parts) == 1 else ast.And(tuple(parts))


def _subsets(
    names: Sequence[int], *, least: int = 1, most: int | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield subsets to leave out, the smallest first, not too many."""
    sizes = range(least, (len(names) if most is None else most) + 1)
    chosen_subsets = (chosen for size in sizes for chosen in combinations(names, size))
    return islice(chosen_subsets, MOST_TRIED)


def _without(node: Any, dropped: frozenset[int]) -> Any:
    """Return a rule, stream or query without some of its conditions and arguments."""
    match node:
        case ast.Rule(stream, query, action):
            return ast.Rule(*(_without(part, dropped) for part in (stream, query, action)))
        case ast.Filter(inner, predicate):
            kept_parts = [p for p in _split_conjunction(predicate) if id(p) not in dropped]
            below = _without(inner, dropped)
            return ast.Filter(below, _conjunction(kept_parts)) if kept_parts else below
        case ast.StreamFilter(inner, predicate):
            kept_parts = [p for p in _split_conjunction(predicate) if id(p) not in dropped]
            under = _without(inner, dropped)
            return ast.StreamFilter(under, _conjunction(kept_parts)) if kept_parts else under
        case ast.Monitor(query) | ast.Aggregate(query=query):
            return replace(node, query=_without(query, dropped))
        case ast.Projection(query) | ast.Sort(query) | ast.Slice(query):
            return replace(node, query=_without(query, dropped))
        case ast.Edge(stream):
            return replace(node, stream=_without(stream, dropped))
        case ast.Call(args=args):
            return replace(node, args=tuple(a for a in args if id(a) not in dropped))
        case _:
            return node


def _refers_to_results(node: object) -> bool:
    """Return whether values of a tree refer to results or the event: it has no meaning alone."""
    return any(isinstance(part, ast.VarRef | ast.EventValue) for part in walk(node))
