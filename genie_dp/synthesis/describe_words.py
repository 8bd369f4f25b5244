"""What no template says, in words of our own: from one table of forms, and never by guessing.

FORMS says each operator on each sort of value, and its negation; CLAUSES what else a program may
hold. Templates' words are used for parts of the program that they say as a whole, so a sentence is
put together along the tree of the program and leaves out nothing of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, islice
from typing import Any, Protocol, assert_never

from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.predicates import is_stable
from genie_dp.languages.thingtalk.traverse import children, functions_used, source_calls
from genie_dp.languages.thingtalk.types import (
    ANY,
    BOOLEAN,
    DATE,
    NUMBER,
    TIME,
    Array,
    Basic,
    Entity,
    Enum,
    Measure,
    Type,
)
from genie_dp.skills.model import Library, last_name
from genie_dp.synthesis.describe_values import is_moment, moved, said
from genie_dp.templates import english

MOST_TRIED = 16  # smaller programs that templates are asked for: each takes some 10 ms

# ------------------------------------------------------------------------------------ the table

Form = tuple[str, str]
"""A comparison and its negation; {is}, {do} and {s} agree with the field."""

_NUMBERS: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    ">": ("{field} {is} more than {value}", "{field} {is} not more than {value}"),
    "<": ("{field} {is} less than {value}", "{field} {is} not less than {value}"),
    ">=": ("{field} {is} at least {value}", "{field} {is} not at least {value}"),
    "<=": ("{field} {is} at most {value}", "{field} {is} not at most {value}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
}
_MOMENTS: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    ">": ("{field} {is} after {value}", "{field} {is} not after {value}"),
    "<": ("{field} {is} before {value}", "{field} {is} not before {value}"),
    ">=": ("{field} {is} on or after {value}", "{field} {is} not on or after {value}"),
    "<=": ("{field} {is} on or before {value}", "{field} {is} not on or before {value}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
}
_NAMES: Mapping[str, Form] = {
    "==": ("{field} {is} {value}", "{field} {is} not {value}"),
    "=~": ("{field} contain{s} {value}", "{field} {do} not contain {value}"),
    "~=": ("{field} {is} contained in {value}", "{field} {is} not contained in {value}"),
    "starts_with": ("{field} start{s} with {value}", "{field} {do} not start with {value}"),
    "ends_with": ("{field} end{s} with {value}", "{field} {do} not end with {value}"),
    "prefix_of": ("{value} starts with {field}", "{value} does not start with {field}"),
    "suffix_of": ("{value} ends with {field}", "{value} does not end with {field}"),
    "in_array": ("{field} {is} one of {value}", "{field} {is} none of {value}"),
}
_FEW: Mapping[str, Form] = {name: _NUMBERS[name] for name in ("==", "in_array")}

FORMS: Mapping[str, Mapping[str, Form]] = {
    "number": _NUMBERS,
    "measure": _NUMBERS,
    "currency": _NUMBERS,
    "date": _MOMENTS,
    "time": {
        **_MOMENTS,
        ">=": ("{field} {is} at or after {value}", "{field} {is} not at or after {value}"),
        "<=": ("{field} {is} at or before {value}", "{field} {is} not at or before {value}"),
    },
    "string": {
        **_NAMES,
        ">": ("{field} come{s} after {value} in the alphabet",
              "{field} {do} not come after {value} in the alphabet"),
        "<": ("{field} come{s} before {value} in the alphabet",
              "{field} {do} not come before {value} in the alphabet"),
        ">=": ("{field} {is} {value} or come{s} after it in the alphabet",
               "{field} {is} not {value} and {do} not come after it in the alphabet"),
        "<=": ("{field} {is} {value} or come{s} before it in the alphabet",
               "{field} {is} not {value} and {do} not come before it in the alphabet"),
    },
    "entity": _NAMES,
    "boolean": _FEW,
    "enum": _FEW,
    "location": _FEW,
    "array": {
        "in_array": ("{field} {is} one of the lists {value}",
                     "{field} {is} none of the lists {value}"),
        "==": ("{field} {is} exactly {value}", "{field} {is} not exactly {value}"),
        "contains": ("{value} is among {field}", "{value} is not among {field}"),
    },
}  # fmt: skip
"""Sort of value -> operator -> how the comparison is said, and its negation."""

_AMOUNTS = {"count": "number", "sum": "total", "avg": "average", "max": "largest value",
            "min": "smallest value"}  # fmt: skip
_OF_A_LIST = {"sum": "the total", "avg": "the average", "max": "the largest",
              "min": "the smallest"}  # fmt: skip
BEGIN_WHEN = ("when ", "whenever ", "every ", "each ", "once ", "if ", "as soon as ", "any time ")
_FLAGS = {"is": "is not", "has": "has no", "can": "cannot"}
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh")


def sort_of_value(type_: Type) -> str:
    """Return the row of FORMS for a type; "any" where nothing is known.

    >>> sort_of_value(Measure("byte")), sort_of_value(NUMBER)
    ('measure', 'number')
    """
    match type_:
        case Basic(name):
            return name.lower()
        case Array() | Enum() | Entity() | Measure():
            return type(type_).__name__.lower()
        case _:
            assert_never(type_)


# ----------------------------------------------------------------------------- names in a program


@dataclass(frozen=True, slots=True)
class Field:
    """What a name stands for: an output of a call, or an input of a policy's function.

    Attributes:
        function: its qualified name, "" for a number over a list.
        owner: what has it, "" for inputs and numbers over a list.
        of: the owner where a reader could take it for another one's; "" otherwise.
        thing: what is said to be so and so of a flag: "it", or what has it.
    """

    name: str
    type: Type
    function: str
    owner: str = ""
    of: str = ""
    thing: str = "it"


Names = Mapping[str, Field]


@dataclass(frozen=True, slots=True)
class Phrase:
    """What templates say of a part of a program.

    Attributes:
        words: with their values, without a capital letter.
        source: the description that they are taken from.
    """

    words: str
    source: Any


class Templates(Protocol):
    """What is asked of the templates; None where they do not say it as a whole by itself."""

    def noun(self, query: ast.Query) -> Phrase | None:
        """Return the noun phrase of a query."""

    def when(self, stream: ast.Stream) -> Phrase | None:
        """Return the phrase that says when a stream has something."""

    def verb(self, action: ast.Call) -> Phrase | None:
        """Return the verb phrase of an action."""

    def command(self, program: ast.Program | ast.Policy) -> Phrase | None:
        """Return the sentence of a whole program, no question."""


@dataclass(slots=True)
class OwnWords:
    """Says one program.

    Attributes:
        own: what was said in words of our own.
        used: what templates said.
    """

    library: Library
    templates: Templates
    own: list[str] = field(default_factory=list)
    used: list[Phrase] = field(default_factory=list)
    _labels: dict[int, str] = field(default_factory=dict)
    _outputs: dict[str, int] = field(default_factory=dict)

    def program(self, program: ast.Program | ast.Policy) -> str:
        """Return sentences for a canonical program that templates have no sentence for."""
        if isinstance(program, ast.Policy):
            return _sentence(self._restricted(program) or self._allowed(program))
        return ". ".join(_sentence(self._rule(rule, program)) for rule in program.rules)

    # ------------------------------------------------------------------------------- sentences

    def _rule(self, rule: ast.Rule, program: ast.Program) -> str:
        self._name_calls(rule)
        command = None
        if len(program.rules) > 1:  # templates have no sentence for the only one
            command = self._use(self.templates.command(ast.Program((rule,))))
        return command or self._with_riders(rule) or self._composed(rule)

    def _composed(self, rule: ast.Rule) -> str:
        """Return a rule said part by part."""
        if rule.stream is None:
            return self._body(rule, {})
        when = self.stream(rule.stream)
        if rule.query is None and isinstance(rule.action, ast.Notify):
            return f"notify me {when}"
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
            return f"get {noun}"
        inner = {**names, **self._query_names(rule.query)}
        return f"for {self._each(rule.query, noun)}, {self._action(rule.action, inner)}"

    def _each(self, query: ast.Query, noun: str) -> str:
        first = query
        while isinstance(first, ast.Join | ast.Filter):
            first = first.left if isinstance(first, ast.Join) else first.query
        if not self._is_list(first):
            return noun
        if english.number_of(re.split(", | where ", noun)[0]) != "pl":
            return f"each result of {noun}"
        return (
            f"each of the {noun}"
            if english.split_determiner(noun)[0] == "none"
            else f"each of {noun}"
        )

    def _action(self, action: ast.Action, names: Names) -> str:
        match action:
            case ast.Notify():
                return "notify me"
            case ast.Call():
                bare = replace(action, selector=ast.Selector(action.selector.class_name))
                words, rest = self._core(bare, self.templates.verb)
                words = words or self._own_name(action, is_action=True)
                return words + self._device(action, names) + self._given(action, rest, names)
            case ast.Hole():
                raise TypeError(action)
            case _:
                assert_never(action)

    # ------------------------------------------------------------- a smaller program, and the rest

    def _with_riders(self, rule: ast.Rule) -> str | None:
        """Return what templates say of a rule with fewer conditions and arguments, and the rest.

        Only where there is one query at most: nobody can take its conditions for another one's.
        """
        if len(_sources(rule)) > 1:
            return None
        names = self._stream_names(rule.stream) if rule.stream is not None else {}
        names = {**names, **(self._query_names(rule.query) if rule.query else {})}
        found = list(self._conditions(rule))
        args = rule.action.args if isinstance(rule.action, ast.Call) else ()
        for dropped in _subsets([*(id(p) for p, _ in found), *map(id, args)]):
            smaller = _without(rule, frozenset(dropped))
            command = self.templates.command(ast.Program((smaller,)))
            if command is None:
                continue
            rest = [arg for arg in args if id(arg) in dropped]
            words = self._use(command) or ""
            if rest and isinstance(rule.action, ast.Call):
                words += "," + self._given(rule.action, rest, names)
            return words + self._only_where([(p, s) for p, s in found if id(p) in dropped])
        return None

    def _only_where(self, left: Sequence[tuple[ast.Predicate, Names]]) -> str:
        if not left:
            return ""
        told = _joined([self._part(p, names) for p, names in left])
        return f", {self._note(f'but only {_if_or_where([p for p, _ in left])} {told}')}"

    def _conditions(self, rule: ast.Rule) -> Iterator[tuple[ast.Predicate, Names]]:
        """Yield the conditions that say the same where they are said at the end of a sentence.

        Not those inside of a number over a list, or of an edge, nor of a monitor where it would
        take a result for new whose condition turned true: they come before, so to speak.
        """
        stream = rule.stream
        while isinstance(stream, ast.StreamFilter):
            names = self._stream_names(stream)
            yield from ((p, names) for p in _conjuncts(stream.predicate))
            stream = stream.stream
        watched = stream.query if isinstance(stream, ast.Monitor) and not stream.on_new else None
        for query in (watched, rule.query):
            if isinstance(query, ast.Filter) and isinstance(query.query, ast.Call):
                names = self._local(query.query)
                for p in _conjuncts(query.predicate):
                    if query is rule.query or is_stable(p):
                        yield p, names

    def _core(
        self, call: ast.Call, said_by: Callable[[ast.Call], Phrase | None]
    ) -> tuple[str | None, list[ast.Arg]]:
        """Return what templates say of a call with most of its arguments, and the other ones."""
        always = {id(arg) for arg in call.args if _refers(arg.value)}
        others = [id(arg) for arg in call.args if id(arg) not in always]
        for dropped in _subsets(others, least=0):
            kept = tuple(a for a in call.args if id(a) not in always.union(dropped))
            words = self._use(said_by(replace(call, args=kept)))
            if words is not None:
                return words, [arg for arg in call.args if arg not in kept]
        return None, list(call.args)

    # --------------------------------------------------------------------------------- queries

    def query(self, query: ast.Query, names: Names, passed: Mapping[str, str] | None = None) -> str:
        """Return a noun phrase; `passed` says what a join gives to inputs."""
        words = None if passed else self._use(self.templates.noun(query))
        if words is not None:
            return words
        match query:
            case ast.Call():
                return self._call(query, names, passed or {})
            case ast.Filter():
                return self._filtered(query, names, passed or {})
            case ast.Join():
                return self._join(query, names, passed or {})
            case ast.Aggregate(operator, output, inner):
                noun = self.query(inner, names, passed)
                noun = f"({noun})" if ", " in noun and not isinstance(inner, ast.Call) else noun
                if operator == "count":
                    return self._note(f"the number of {noun}")
                known = self._query_names(inner)
                words = self._words_of(known.get(output or "", _unknown(output or "")))
                return self._note(f"{_OF_A_LIST[operator]} {words} of {noun}")
            case ast.Hole():
                raise TypeError(query)
            case _:
                assert_never(query)

    def _join(self, join: ast.Join, names: Names, passed: Mapping[str, str]) -> str:
        to_left = {name: said for name, said in passed.items() if self._takes(join.left, name)}
        seen = {**names, **self._query_names(join.left)}
        to_right = {name: said for name, said in passed.items() if name not in to_left}
        to_right |= {arg.name: self._passed(arg.value, seen) for arg in join.passing}
        left, right = self.query(join.left, names, to_left), self.query(join.right, seen, to_right)
        right = f"({right})" if isinstance(join.right, ast.Join) else right
        return f"{left}, each together with {right}"

    def _call(self, call: ast.Call, names: Names, passed: Mapping[str, str]) -> str:
        bare = replace(call, selector=ast.Selector(call.selector.class_name))
        words, rest = self._core(bare, self.templates.noun)
        words = words or self._own_name(call)
        rest = [a for a in rest if a.name not in passed or not isinstance(a.value, ast.Undefined)]
        return words + self._device(call, names) + self._given(call, rest, names, passed)

    def _filtered(self, query: ast.Filter, names: Names, passed: Mapping[str, str]) -> str:
        left = parts = list(_conjuncts(query.predicate))
        words = None
        for dropped in _subsets([id(p) for p in parts], most=len(parts) - 1) if not passed else ():
            smaller = _without(query, frozenset(dropped))
            words = self._use(self.templates.noun(smaller))
            if words is not None:
                left = [p for p in parts if id(p) in dropped]
                break
        words = words or self.query(query.query, names, passed)
        comma = " " if isinstance(query.query, ast.Call) else ", only "
        is_call = isinstance(query.query, ast.Call)
        ours = self._local(query.query) if is_call else self._query_names(query.query)
        return words + comma + self._note("where " + self._all(left, {**names, **ours}))

    def _all(self, parts: Sequence[ast.Predicate], names: Names) -> str:
        """Return conditions that all hold."""
        return _joined([self._part(p, names) for p in parts])

    def _local(self, query: ast.Query) -> Names:
        """Return the outputs of a call for what is said right after it: nobody mistakes them."""
        found = self._query_names(query)
        return {name: replace(known, of="", thing="it") for name, known in found.items()}

    def _takes(self, query: ast.Query, name: str) -> bool:
        """Tell whether a call of the query has an input of that name without a value."""
        for call in source_calls(query):
            found = self.library.function(call.selector.class_name, call.function)
            given = {a.name for a in call.args if not isinstance(a.value, ast.Undefined)}
            if found is not None and name in {p.name for p in found.inputs} - given:
                return True
        return False

    def _is_list(self, query: ast.Query) -> bool:
        match query:
            case ast.Call():
                found = self.library.function(query.selector.class_name, query.function)
                return found is None or found.is_list
            case ast.Filter(inner):
                return self._is_list(inner)
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
        """Return a phrase that says when: "when i get an email", "every day at 9 am"."""
        found = self.templates.when(stream)
        if found is not None and found.words.startswith(BEGIN_WHEN):
            return self._use(found) or ""
        match stream:
            case ast.AtTimer() | ast.Timer():
                return self._note(self._repeated(stream))
            case ast.Monitor(query, on_new):
                if on_new or self._is_list(query):
                    return self._note(f"when there is {self._event(stream)}")
                return self._note(f"when there is a change in {self._event(stream)}")
            case ast.Edge(inner, ast.TrueP()):
                return self._note(f"the first time only, {self.stream(inner)}")
            case ast.Edge(ast.Monitor() as inner, predicate):
                told = self.predicate(predicate, self._stream_names(inner))
                return self._note(f"when it becomes true, for {self._event(inner)}, that {told}")
            case ast.Edge(inner, predicate):
                told = self.predicate(predicate, self._stream_names(inner))
                when = self.stream(inner)
                return f"{when}, {self._note(f'but only when it has become true that {told}')}"
            case ast.StreamFilter(inner, predicate):
                names = self._stream_names(inner)
                told = self.predicate(predicate, names)
                return f"{self.stream(inner)}, {self._note(f'provided that {told}')}"
            case ast.StreamJoin(inner, query, passing):
                names = self._stream_names(inner)
                given = {arg.name: self._passed(arg.value, names) for arg in passing}
                noun = self.query(query, names, given)
                return f"{self.stream(inner)}, each time together with {noun}"
            case ast.Hole():
                raise TypeError(stream)
            case _:
                assert_never(stream)

    def _repeated(self, timer: ast.AtTimer | ast.Timer) -> str:
        if isinstance(timer, ast.AtTimer):
            return f"every day at {self._clock(timer.time)}"
        often = f"every {self.value(timer.interval, {})}"
        if isinstance(timer.interval, ast.Undefined):
            often = "again and again, at an interval still to be asked for"
        elif re.fullmatch("every 1 [a-z]+", often):
            often = often.replace("1 ", "")
        is_now = isinstance(timer.base, ast.DateNow)
        return often if is_now else f"{often} from {self.value(timer.base, {})} on"

    def _event(self, stream: ast.Monitor) -> str:
        """Return what a monitor sees: "something new in my emails"."""
        noun = self.query(stream.query, {})
        if not stream.on_new:
            return f"something new in {noun}" if self._is_list(stream.query) else noun
        names = self._query_names(stream.query)
        found = [replace(names.get(n, _unknown(n)), of="", thing="it") for n in stream.on_new]
        what = "value" if len(found) == 1 else "combination"
        return f"a new {what} of {_listed([self._named(f) for f in found], 'and')} in {noun}"

    # -------------------------------------------------------------------------------- policies

    def _restricted(self, policy: ast.Policy) -> str | None:
        """Return what templates say of a policy without some conditions, and those."""
        if (policy.query is None) == (policy.action is None):
            return None
        side = "action" if policy.query is None else "query"
        function = getattr(policy, side)
        if not isinstance(function, ast.PolicyFunction):
            return None
        parts, names = list(_conjuncts(function.predicate)), self._policy_names(function)
        for dropped in _subsets([id(p) for p in parts]):
            kept = [p for p in parts if id(p) not in dropped]
            smaller = replace(function, predicate=_conjunction(kept))
            changed = (
                replace(policy, action=smaller)
                if side == "action"
                else replace(policy, query=smaller)
            )
            command = self._use(self.templates.command(changed))
            if command is not None:
                return command + self._only_where([(p, names) for p in parts if id(p) in dropped])
        return None

    def _allowed(self, policy: ast.Policy) -> str:
        who = self._who(policy.source)
        if policy.action is None:
            return self._note(f"{who} may see {self._seen(policy.query)}")
        does = self._done(policy.action)
        if policy.query is None:
            return self._note(f"{who} may {does}")
        if isinstance(policy.query, ast.PolicyFunction) and policy.query.class_name is None:
            return self._note(f"{who} may, using anything or nothing, {does}")
        seen = self._seen(policy.query)
        comma = "," if getattr(policy.query, "predicate", None) != ast.TrueP() else ""
        return self._note(f"{who} may use {seen}{comma} to {does}")

    def _who(self, source: ast.Predicate) -> str:
        names = {"source": Field("source", Entity("tt:contact"), "")}
        match source:
            case ast.TrueP():
                return "anyone"
            case ast.FalseP():
                return "nobody"
            case ast.Atom("source", "==", value):
                return self.value(value, names)
            case ast.Atom("source", "in_array", ast.ArrayValue(items)) if items:
                return _listed([self.value(item, names) for item in items], "or")
            case ast.Not(ast.Atom("source", "==", value)):
                return f"anyone but {self.value(value, names)}"
            case ast.Or(operands) if all(_is_person(o) for o in operands):
                return _listed([self._who(o) for o in operands], "or")
            case _:
                return f"anyone, as long as {self.predicate(source, names)},"

    def _seen(self, function: ast.PolicyFunction | ast.Hole | None) -> str:
        assert isinstance(function, ast.PolicyFunction)
        if function.class_name is None:
            return "anything"
        if function.function is None:
            return f"anything from {self._skill(function.class_name)}"
        call = ast.Call(ast.Selector(function.class_name), function.function)
        words = self._use(self.templates.noun(call)) or self._own_name(call)
        return words + self._condition(function, " ")

    def _done(self, function: ast.PolicyFunction | ast.Hole | None) -> str:
        assert isinstance(function, ast.PolicyFunction)
        if function.class_name is None:
            return "do anything"
        if function.function is None:
            return f"do anything using {self._skill(function.class_name)}"
        call = ast.Call(ast.Selector(function.class_name), function.function)
        words = self._use(self.templates.verb(call)) or self._own_name(call, is_action=True)
        return words + self._condition(function, ", but only ")

    def _condition(self, function: ast.PolicyFunction, before: str) -> str:
        if isinstance(function.predicate, ast.TrueP):
            return ""
        parts = _conjuncts(function.predicate)
        return f"{before}{_if_or_where(parts)} {self._all(parts, self._policy_names(function))}"

    def _policy_names(self, function: ast.PolicyFunction) -> Names:
        found = self.library.function(function.class_name or "", function.function or "")
        parameters = found.parameters if found else ()
        return {p.name: Field(p.name, p.type, found.qualified) for p in parameters if found}

    # ------------------------------------------------------------------------------ conditions

    def predicate(self, predicate: ast.Predicate, names: Names, *, negated: bool = False) -> str:
        """Return a condition as a clause."""
        match predicate:
            case ast.TrueP() | ast.FalseP():
                is_true = isinstance(predicate, ast.TrueP) != negated
                return "anything matches" if is_true else "nothing ever matches"
            case ast.Not(operand):
                return self.predicate(operand, names, negated=not negated)
            case ast.Atom():
                return self._atom(predicate, names, negated=negated)
            case ast.GetPredicate():
                return self._exists(predicate, names, negated=negated)
            case ast.And() | ast.Or() if negated:
                return f"it is not so that ({self.predicate(predicate, names)})"
            case ast.And(operands):
                return _joined([self._part(p, names) for p in operands])
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
        known = names.get(atom.name, _unknown(atom.name))
        sort = sort_of_value(known.type)
        subject = self._named(known)
        operator = atom.operator
        value = atom.value
        if sort == "boolean" and isinstance(value, ast.BooleanValue):
            return self._flag(known, is_true=value.value != negated)
        if isinstance(value, ast.ArrayValue) and operator == "in_array" and len(value.items) == 1:
            operator, value = "==", value.items[0]
        if known.type == DATE and self._type(value, names) == TIME:
            sort, subject = "time", f"the time of day of {subject}"
        number = english.number_of(subject.removeprefix("the ").partition(" of ")[0])
        told = self.value(value, names, known)
        if operator == "==" and isinstance(value, ast.VarRef):
            told = f"the same as {told}"
        if sort == "array" and value == ast.ArrayValue(()):
            sort, told = "number", "empty"
        if sort == "date" and is_moment(value):
            sort = "time"
        elif sort == "date" and operator in (">", "<=") and isinstance(value, ast.DateValue):
            told = f"the start of {told}"  # midnight: the day is after it
        elif sort == "time" and self._type(value, names) == DATE:
            told = self._clock(value)
        return self._form(sort, operator, negated).format(
            field=subject, value=told,
            **({"is": "are", "do": "do", "s": ""} if number == "pl"
               else {"is": "is", "do": "does", "s": "s"}),
        )  # fmt: skip

    def _form(self, sort: str, operator: str, negated: bool) -> str:
        forms = FORMS.get(sort) or {**FORMS["string"], **FORMS["number"], **FORMS["array"]}
        return forms[operator][negated]

    def _flag(self, known: Field, *, is_true: bool) -> str:
        """Return that a flag is set, or not."""
        said = self._flag_of(known, is_true=is_true)
        return said or f"{self._named(known)} is {'true' if is_true else 'false'}"

    def _flag_of(self, known: Field, *, is_true: bool) -> str:
        """Return what the skill's phrase or the name of a flag says; "" if neither is a clause."""
        phrases = self.library.phrases(known.function, known.name)
        part = "predicate_true" if is_true else "predicate_false"
        thing = known.of or known.thing
        agreeing = [phrase for phrase in phrases.get(part, ()) if phrase.startswith("{")]
        if agreeing:
            return f"{thing} {_singular_verb(agreeing[0])}"
        first, _, rest = known.name.partition("_")
        if phrases.get("base") or not rest or first not in _FLAGS:
            return ""
        return f"{thing} {first if is_true else _FLAGS[first]} {rest.replace('_', ' ')}"

    def _exists(self, found: ast.GetPredicate, names: Names, *, negated: bool) -> str:
        call, inner = found.call, found.predicate
        noun = self.query(call, names)
        ours = self._query_names(call)
        scope = {**names, **ours}
        is_list = self._is_list(call)
        if isinstance(inner, ast.TrueP):
            return f"there is {'nothing' if negated else 'something'} in {noun}"
        if not is_list and not _refers(call):
            ours = {n: replace(f, of=noun, thing=noun) for n, f in ours.items()}
            return self.predicate(inner, {**names, **ours}, negated=negated)
        one = "none" if negated else "at least one"
        if is_list:
            told = self._wrapped(inner, {**names, **self._local(call)})
            return f"among {noun} there is {one} where {told}"
        told = self._wrapped(inner, scope)
        return f"{'it is not so that, ' if negated else ''}in {noun}, {told}"

    def _wrapped(self, predicate: ast.Predicate, names: Names) -> str:
        words = self.predicate(predicate, names)
        is_compound = isinstance(predicate, ast.And | ast.Or)
        return f"({words})" if is_compound else words

    # ---------------------------------------------------------------------------------- values

    def value(self, value: ast.Value, names: Names, known: Field | None = None) -> str:
        """Return a value; `known` is the parameter that it is compared with, or stands for."""
        match value:
            case ast.VarRef(name):
                return self._named(names.get(name, _unknown(name)))
            case ast.Undefined():
                return "a value still to be asked for"
            case ast.EventValue():
                return "the text of the event"
            case ast.BooleanValue(is_true):
                return "true" if is_true else "false"
            case ast.EnumValue(name):
                if known is None:
                    return name.replace("_", " ")
                return self.library.enum_phrase(known.function, known.name, name)
            case ast.ArrayValue(items):
                told = [self.value(item, names, known) for item in items]
                if any(isinstance(item, ast.ArrayValue) for item in items):
                    told = [f"({words})" for words in told]
                return _listed(told, "and") if told else "an empty list"
            case ast.DateOffset(base, sign, ast.MeasureValue() as duration) if _refers(base):
                return moved(self.value(base, names), sign, duration)
            case ast.DateOffset(base, sign, duration) if not isinstance(
                duration, ast.MeasureValue | ast.SlotValue
            ):
                often = self.value(duration, names)
                return f"{often} {'before' if sign == '-' else 'after'} {self.value(base, names)}"
            case _:
                return said(value)

    def _passed(self, value: ast.Value, names: Names, known: Field | None = None) -> str:
        """Return a value that is passed on, with what it is of."""
        if isinstance(value, ast.VarRef) and value.name in names:
            found = names[value.name]
            return self._named(replace(found, of=found.owner))
        return self.value(value, names, known)

    def _clock(self, time: ast.Value) -> str:
        """Return a time of day, which may be that of a date."""
        if isinstance(time, ast.Undefined):
            return "a time still to be asked for"
        if isinstance(time, ast.ArrayValue):
            return _listed([self._clock(item) for item in time.items], "and")
        told = self.value(time, {})
        return f"the time of day of {told}" if self._type(time, {}) == DATE else told

    def _type(self, value: ast.Value, names: Names) -> Type:
        match value:
            case ast.VarRef(name):
                return names.get(name, _unknown(name)).type
            case ast.TimeValue():
                return TIME
            case ast.DateNow() | ast.DateEdge() | ast.DateOffset() | ast.DateValue():
                return DATE
            case ast.SlotValue(token) if token.startswith(("TIME_", "DATE_")):
                return TIME if token.startswith("TIME_") else DATE
            case ast.ArrayValue(items) if items:
                return self._type(items[0], names)
            case _:
                return ANY

    def _given(
        self,
        call: ast.Call,
        args: Iterable[ast.Arg],
        names: Names,
        passed: Mapping[str, str] | None = None,
    ) -> str:
        """Return what arguments say: " with the text set to the title"."""
        told = []
        for arg in args:
            known = self._input(call, arg.name)
            words = self._words_of(known)
            if isinstance(arg.value, ast.Undefined):
                told.append(f"the {words} still to be asked for")
            else:
                told.append(f"the {words} set to {self._passed(arg.value, names, known)}")
        for name, words in (passed or {}).items():
            told.append(f"the {self._words_of(self._input(call, name))} set to {words}")
        return f" {self._note('with ' + _listed(told, 'and'))}" if told else ""

    def _input(self, call: ast.Call, name: str) -> Field:
        found = self.library.function(call.selector.class_name, call.function)
        parameter = found.parameter(name) if found else None
        return Field(name, parameter.type if parameter else ANY, _qualified(call))

    def _device(self, call: ast.Call, names: Names) -> str:
        told = []
        for attribute in call.selector.attributes:
            value = self.value(attribute.value, names)
            words = {"name": "named", "id": "with the id"}.get(attribute.name)
            told.append(f"{words or f'with the setting {attribute.name}'} {value}")
        return f" {self._note('on the device ' + _listed(told, 'and'))}" if told else ""

    # ----------------------------------------------------------------------------------- names

    def _named(self, known: Field) -> str:
        if known.type == BOOLEAN and (said := self._flag_of(known, is_true=True)):
            return f"whether {said}"
        of = f" of {known.of}" if known.of else ""
        words = self._words_of(known)
        if known.type == BOOLEAN and not self._phrase_of(known):
            words = f'flag "{words}"'
        return f"the {words}{of}"

    def _words_of(self, known: Field) -> str:
        """Return what people call a parameter; its name where that is another one's, too."""
        if not known.function:
            return {"source": "person who asks"}.get(
                known.name, _AMOUNTS.get(known.name, known.name.replace("_", " "))
            )
        return self._phrase_of(known) or known.name.replace("_", " ")

    def _phrase_of(self, known: Field) -> str:
        """Return the phrase of a parameter; "" where it has none of its own."""
        phrases = self.library.phrases(known.function, known.name).get("base", ())
        found = self.library.find(known.function)
        others = found.parameter_phrases if found else {}
        taken = {p.get("base", ("",))[0] for n, p in others.items() if n != known.name}
        if not phrases or phrases[0] in taken:
            return ""
        return english.plural(phrases[0]) if isinstance(known.type, Array) else phrases[0]

    def _query_names(self, query: ast.Query) -> Names:
        match query:
            case ast.Call():
                found = self.library.function(query.selector.class_name, query.function)
                label = self._labels.get(id(query), "")
                return {
                    p.name: Field(
                        p.name, p.type, found.qualified, label,
                        label if self._outputs.get(p.name, 0) > 1 else "",
                        label if len(self._labels) > 1 and label else "it",
                    )
                    for p in (found.outputs if found else ())
                    if found
                }  # fmt: skip
            case ast.Filter(inner):
                return self._query_names(inner)
            case ast.Join(left, right):
                return {**self._query_names(left), **self._query_names(right)}
            case ast.Aggregate(operator, output, inner):
                known = self._query_names(inner).get(output or "")
                type_ = known.type if known and operator != "count" else NUMBER
                return {operator: Field(operator, type_, "")}
            case ast.Hole():
                return {}
            case _:
                assert_never(query)

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
        """Give each query of a rule a name, by which its outputs are told from others'."""
        found = [
            call
            for part in (rule.stream, rule.query)
            for call in (functions_used(part) if part is not None else ())
            if isinstance(call, ast.Call)
        ]
        names = [_qualified(call) for call in found]
        self._labels, self._outputs = {}, {}
        for place, call in enumerate(found):
            label = self._name_of(call)
            if names.count(names[place]) > 1:
                number = names[:place].count(names[place])
                label = f"{_ORDINALS[number % len(_ORDINALS)]} {label}"
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
        found = self.library.find(_qualified(call))
        own = call.function.replace("_", " ")
        if not found or not found.phrases:
            return own if found and found.signature.kind == "action" else f"{own} result"
        others = (
            self.library.find(f"@{call.selector.class_name}.{name}")
            for name in self.library.function_names(call.selector.class_name)
            if name != call.function
        )
        is_taken = any(other and found.phrases[0] in other.phrases for other in others)
        return own if is_taken else found.phrases[0]

    def _skill(self, class_name: str) -> str:
        """Return what people call a skill; its whole name where two are called alike."""
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

    def _note(self, words: str) -> str:
        self.own.append(words)
        return words


# --------------------------------------------------------------------------------------- helpers


def _sources(rule: ast.Rule) -> list[ast.Call]:
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


def _unknown(name: str) -> Field:
    return Field(name, ANY, "")


def _qualified(call: ast.Call) -> str:
    return f"@{call.selector.class_name}.{call.function}"


def _is_person(predicate: ast.Predicate) -> bool:
    return isinstance(predicate, ast.Atom) and predicate.operator == "=="


def _singular_verb(phrase: str) -> str:
    """Return a phrase with the verbs that go with one thing: {is/are} -> is."""
    words = []
    for word in phrase.split():
        one, slash, _ = word.strip("{}").partition("/")
        words.append(one if slash and word.startswith("{") else word)
    return " ".join(words)


def _if_or_where(parts: Sequence[ast.Predicate]) -> str:
    """Return "if" where all conditions are about other queries, "where" otherwise."""

    def is_elsewhere(part: ast.Predicate) -> bool:
        part = part.operand if isinstance(part, ast.Not) else part
        return isinstance(part, ast.GetPredicate)

    return "if" if all(map(is_elsewhere, parts)) else "where"


def _joined(parts: Sequence[str]) -> str:
    comma = any(part.startswith(("either ", "among ")) for part in parts)
    return (", and " if comma else " and ").join(parts)


def _listed(items: Sequence[str], last: str) -> str:
    """Return a list in words.

    >>> _listed(["a", "b", "c"], "or")
    'a, b or c'
    """
    return f" {last} ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


def _conjuncts(predicate: ast.Predicate) -> tuple[ast.Predicate, ...]:
    return predicate.operands if isinstance(predicate, ast.And) else (predicate,)


def _conjunction(parts: Sequence[ast.Predicate]) -> ast.Predicate:
    if not parts:
        return ast.TrueP()
    return parts[0] if len(parts) == 1 else ast.And(tuple(parts))


def _subsets(
    names: Sequence[int], *, least: int = 1, most: int | None = None
) -> Iterator[tuple[int, ...]]:
    """Yield what may be left out, the smallest first, not too many."""
    sizes = range(least, (len(names) if most is None else most) + 1)
    every = (chosen for size in sizes for chosen in combinations(names, size))
    return islice(every, MOST_TRIED)


def _without(node: Any, dropped: frozenset[int]) -> Any:
    """Return a rule, stream or query without some of its conditions and arguments."""
    match node:
        case ast.Rule(stream, query, action):
            return ast.Rule(*(_without(part, dropped) for part in (stream, query, action)))
        case ast.Filter(inner, predicate):
            kept = [p for p in _conjuncts(predicate) if id(p) not in dropped]
            below = _without(inner, dropped)
            return ast.Filter(below, _conjunction(kept)) if kept else below
        case ast.StreamFilter(inner, predicate):
            kept = [p for p in _conjuncts(predicate) if id(p) not in dropped]
            under = _without(inner, dropped)
            return ast.StreamFilter(under, _conjunction(kept)) if kept else under
        case ast.Monitor(query) | ast.Aggregate(query=query):
            return replace(node, query=_without(query, dropped))
        case ast.Edge(stream):
            return replace(node, stream=_without(stream, dropped))
        case ast.Call(args=args):
            return replace(node, args=tuple(a for a in args if id(a) not in dropped))
        case _:
            return node


def _refers(node: object) -> bool:
    """Tell whether values of a tree refer to results or to the event: it says nothing alone."""
    if isinstance(node, ast.VarRef | ast.EventValue):
        return True
    return any(map(_refers, children(node)))
