"""Random libraries, well-typed programs and tables for laws of ThingTalk.

All of them draw from a `random.Random`, so that hypothesis can drive and shrink them
(`st.randoms(use_true_random=False)`) and statistics can be taken over fixed seeds. Names come from
small pools on purpose: functions that share outputs are the hard case of canonical form.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from random import Random

from hypothesis import strategies as st

from genie_dp.languages import types as ty
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import is_ordered, operators_of
from genie_dp.languages.thingtalk.scope import Scope as Types
from genie_dp.languages.thingtalk.scope import projected_scope
from genie_dp.languages.thingtalk.simulate import Table
from genie_dp.languages.units import SHIPPED, Units

# One type for each name, so that a shadowed name is still well-typed.
OUTPUTS: dict[str, ty.Type] = {
    "alpha": ty.NUMBER,
    "beta": ty.NUMBER,
    "colour": ty.Enum(("red", "blue")),
    "day": ty.DATE,
    "file": ty.Measure("byte"),
    "id": ty.Entity("tt:contact"),
    "label": ty.Array(ty.STRING),
    "mark": ty.BOOLEAN,
    "owner": ty.Entity("tt:contact"),
    "text": ty.STRING,
    "url": ty.STRING,
}
# Those of questions: lists, places, and fields of a record.


# Those of questions: lists, places, and fields of a record.
QUESTION_OUTPUTS: dict[str, ty.Type] = {
    **{name: OUTPUTS[name] for name in ("alpha", "day", "label", "owner", "text")},
    "geo": ty.LOCATION,
    "rating.count": ty.NUMBER,
    "rating.value": ty.NUMBER,
    "sizes": ty.Array(ty.NUMBER),
}
INPUTS = {"many": ty.NUMBER, "near": ty.NUMBER, "said": ty.STRING, "word": ty.STRING}


CLASS = "com.test"
STEPS = tuple(datetime(2026, 11, 20, 22) + timedelta(hours=h) for h in (0, 1, 26))

EVENT = "$event"  # in scope where something has happened
_ORDERED = ("==", ">=", "<=", ">", "<", "in_array")
_TEXT = ("==", "=~", "~=", "starts_with", "ends_with", "prefix_of", "suffix_of", "in_array")
_OPERATORS: dict[ty.Type, tuple[str, ...]] = {
    ty.NUMBER: _ORDERED,
    ty.STRING: _TEXT,
    ty.DATE: _ORDERED,
    ty.BOOLEAN: ("==", "==", "in_array"),
    OUTPUTS["colour"]: ("==", "in_array"),
    OUTPUTS["file"]: _ORDERED,
    OUTPUTS["label"]: ("contains", "contains", "=="),
    OUTPUTS["owner"]: ("==", "in_array"),
}


@dataclass(frozen=True, slots=True)
class TestLibrary:
    """Functions by name, as a library answers for them."""

    signatures: Mapping[str, Signature]
    units: Units = SHIPPED

    def function(self, class_name: str, name: str) -> Signature | None:
        found = self.signatures.get(name)
        return found if found is not None and found.class_name == class_name else None

    def class_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(s.class_name for s in self.signatures.values()))

    def function_names(self, class_name: str) -> tuple[str, ...]:
        return tuple(n for n, s in self.signatures.items() if s.class_name == class_name)

    def is_entity_subtype(self, kind: str, other: str) -> bool:
        return kind == other

    @property
    def queries(self) -> list[Signature]:
        return [s for s in self.signatures.values() if s.kind == "query"]

    @property
    def actions(self) -> list[Signature]:
        return [s for s in self.signatures.values() if s.kind == "action"]


Scope = Mapping[str, ty.Type]


def library(rng: Random) -> TestLibrary:
    names = rng.sample("abcdefgh", rng.randint(3, 5))
    functions = {name: _signature(rng, name, "query") for name in names[:-1]}
    functions[names[-1]] = _signature(rng, names[-1], "action")
    return TestLibrary(functions)


def part_of(rng: Random, functions: Sequence[Signature]) -> TestLibrary:
    """Return a few functions of a real library, no two of one name: queries and one action."""
    queries = [s for s in functions if s.kind == "query"]
    action = rng.choice([s for s in functions if s.kind == "action"])
    chosen = [*rng.sample(queries, rng.randint(2, 3)), action]
    return TestLibrary({s.name: s for s in chosen})


def _signature(
    rng: Random,
    name: str,
    kind: str,
    most: int = 10,
    pool: Mapping[str, ty.Type] = OUTPUTS,
    least: int = 1,
) -> Signature:
    inputs = rng.sample(sorted(INPUTS), rng.randint(0, 2))
    parameters = [Parameter(i, rng.choice(("in req", "in opt")), INPUTS[i]) for i in inputs]
    if kind == "query":
        outputs = rng.sample(sorted(pool)[:most], rng.randint(least, least + 2))
        parameters += [Parameter(o, "out", pool[o]) for o in outputs]
    return Signature(CLASS, name, kind, tuple(parameters), is_monitorable=True, is_list=True)


# ----------------------------------------------------------------------------------- values


def constant(rng: Random, type_: ty.Type) -> tt.Value:
    """Return a constant as tables hold it: few different ones, so that comparisons hold."""
    match type_:
        case ty.Measure(unit) if SHIPPED.base(unit) != "byte":
            return measure(rng.choice((-2, 1, 30)), unit)
        case ty.Measure():
            amounts = ((1, "KB"), (1000, "byte"), (1000, "bytes"), (2, "KB"))
            return measure(*rng.choice(amounts))
        case ty.Enum(values):
            return tt.EnumValue(rng.choice(values or ("blue",)))
        case ty.Entity(kind):
            return tt.EntityValue(*rng.choice((("a1", kind, "Ann"), ("b2", kind, "Bob"))))
        case ty.Array(element):
            return tt.ArrayValue(tuple(constant(rng, element) for _ in range(rng.randint(0, 2))))
        case _ if type_ == ty.NUMBER:
            return tt.NumberValue(Decimal(rng.choice(("0", "-0", "1", "1.0", "2"))))
        case _ if type_ == ty.BOOLEAN:
            return tt.BooleanValue(rng.random() < 0.5)
        case _ if type_ == ty.DATE:
            return date(rng, STEPS[0] + timedelta(hours=rng.choice((-30, 0, 2, 20))))
        case _ if type_ == ty.TIME:
            return tt.TimeValue(rng.choice((0, 9, 21)), rng.choice((0, 30)))
        case _ if type_ == ty.CURRENCY:
            return tt.CurrencyValue(Decimal(rng.choice((5, 20))), rng.choice(("usd", "chf")))
        case _ if type_ == ty.LOCATION:
            home, paris = tt.ContextValue(("location", "home")), (Decimal("48.85"), Decimal("2.35"))
            return rng.choice((home, tt.LocationValue(*paris, "paris"), tt.LocationValue(*paris)))
        case _:
            return tt.StringValue(rng.choice(("a", "a", "A", "ab")))


def measure(number: int, unit: str) -> tt.MeasureValue:
    return tt.MeasureValue(((Decimal(number), unit),))


def date(rng: Random, moment: datetime) -> tt.DateValue:
    text = moment.isoformat()
    plain = text.replace("-", "").replace(":", "")
    spellings = [text, text, plain, f"{text}.000", f"{text}Z", f"{text}+00:00"]
    if moment.hour == 0:
        spellings.append(text[:10])
    return tt.DateValue(rng.choice(spellings))


def value(rng: Random, type_: ty.Type, scope: Scope) -> tt.Value:
    """Return a value of a type in a program: a constant, a date of its own time, or a name."""
    names = sorted(name for name, other in scope.items() if other == type_)
    if names and rng.random() < 0.3:
        name = rng.choice(names)
        return tt.EventValue() if name == EVENT else tt.VarRef(name)
    if type_ == ty.DATE and rng.random() < 0.5:
        edge = tt.DateEdge(rng.choice(("start_of", "end_of")), "day")
        ago = tt.DateOffset(tt.DateNow(), "-", measure(rng.choice((-1, 1)), "week"))
        return rng.choice((tt.DateNow(), edge, tt.DateOffset(edge, "+", measure(1, "h")), ago))
    if isinstance(type_, ty.Entity) and rng.random() < 0.5:
        return tt.EntityValue(None, type_.kind, rng.choice(("ann", "Bob")))
    return constant(rng, type_)


# ------------------------------------------------------------------------------- predicates


def predicate(
    rng: Random, lib: TestLibrary, fields: Scope, outer: Scope, depth: int = 2
) -> tt.Predicate:
    kind = rng.choice(("atom", "atom", "atom", "and", "or", "not", "rare"))
    if depth == 0 or kind == "atom":
        return atom(rng, fields, outer) if fields else tt.TrueP()
    if kind == "rare":
        return rng.choice((tt.TrueP, tt.FalseP, lambda: get_predicate(rng, lib, fields, outer)))()
    if kind == "not":
        return tt.Not(predicate(rng, lib, fields, outer, depth - 1))
    parts = [predicate(rng, lib, fields, outer, depth - 1) for _ in range(rng.randint(2, 3))]
    if rng.random() < 0.3:
        parts[-1] = rng.choice((parts[0], tt.Not(parts[0])))
    return (tt.And if kind == "and" else tt.Or)(tuple(parts))


def atom(rng: Random, fields: Scope, outer: Scope) -> tt.Predicate:
    name = rng.choice(sorted(fields))
    type_ = fields[name]
    operator = rng.choice(_OPERATORS.get(type_) or operators_of(type_))
    scope = {**outer, **fields}
    if operator == "in_array":
        some = scope if rng.random() < 0.3 else {}
        items = [value(rng, type_, some) for _ in range(rng.randint(0, 3))]
        return tt.Atom(name, operator, tt.ArrayValue(tuple(items)))
    wanted = type_.element if isinstance(type_, ty.Array) and operator == "contains" else type_
    if type_ == ty.DATE and rng.random() < 0.2:
        return tt.Atom(name, operator, tt.TimeValue(rng.choice((0, 18, 22)), 0))
    return tt.Atom(name, operator, value(rng, wanted, scope))


def get_predicate(rng: Random, lib: TestLibrary, fields: Scope, outer: Scope) -> tt.Predicate:
    signature = rng.choice(lib.queries)
    scope = {**outer, **fields}
    found = call(rng, signature, scope)
    return tt.GetPredicate(found, predicate(rng, lib, outputs(signature), scope, 1))


def outputs(signature: Signature) -> Scope:
    return {p.name: p.type for p in signature.outputs}


def call(
    rng: Random, signature: Signature, scope: Scope, attributes: tuple[tt.Arg, ...] = ()
) -> tt.Call:
    """Return a call with some inputs of a function, in any order."""
    found = []
    for parameter in signature.inputs:
        if rng.random() < 0.3 and parameter.is_required:
            found.append(tt.Arg(parameter.name, tt.Undefined()))
        elif rng.random() < 0.7:
            found.append(tt.Arg(parameter.name, value(rng, parameter.type, scope)))
    rng.shuffle(found)
    selector = tt.Selector(signature.class_name, attributes)
    return tt.Call(selector, signature.name, tuple(found))


def query(rng: Random, lib: TestLibrary, outer: Scope, depth: int) -> tuple[tt.Query, Scope]:
    """Return a query and the names that it adds to the scope."""
    kind = rng.choice(("call", "filter", "filter", "join", "join", "aggregate"))
    if depth == 0 or kind == "call":
        signature = rng.choice(lib.queries)
        attributes = (tt.Arg("name", tt.StringValue("x")), tt.Arg("id", tt.StringValue("y")))
        attributes = attributes if rng.random() < 0.1 else ()
        return call(rng, signature, outer, attributes), outputs(signature)
    inner, scope = query(rng, lib, outer, depth - 1)
    if kind == "filter":
        return tt.Filter(inner, predicate(rng, lib, scope, outer)), scope
    if kind == "aggregate":
        return aggregate(rng, inner, scope)
    return join(rng, lib, inner, scope, outer, depth - 1)


def aggregate(rng: Random, inner: tt.Query, scope: Scope) -> tuple[tt.Query, Scope]:
    numeric = sorted(n for n, t in scope.items() if t == ty.NUMBER or isinstance(t, ty.Measure))
    if not numeric or rng.random() < 0.4:
        return tt.Aggregate("count", None, inner), {"count": ty.NUMBER}
    name, operator = rng.choice(numeric), rng.choice(("max", "min", "sum", "avg"))
    return tt.Aggregate(operator, name, inner), {operator: scope[name]}


def join(
    rng: Random, lib: TestLibrary, left: tt.Query, scope: Scope, outer: Scope, depth: int
) -> tuple[tt.Query, Scope]:
    """Return a join; parameters pass as `on`, or as arguments on the right."""
    right_sees = {**outer, **scope} if rng.random() < 0.5 else outer
    right, added = query(rng, lib, right_sees, depth)
    passing = passed(rng, lib, right, scope) if rng.random() < 0.5 else ()
    return tt.Join(left, right, passing), {**scope, **added}


# ----------------------------------------------------------------------- queries and streams


def chain(rng: Random, lib: TestLibrary, outer: Scope) -> tuple[tt.Query, Scope]:
    """Return three or four calls joined from left to right, some filtered on the way.

    Here names are hidden between the place of a filter and the next function.
    """
    result, scope = query(rng, lib, outer, 0)
    for _ in range(rng.randint(2, 3)):
        result, scope = join(rng, lib, result, scope, outer, 0)
        if rng.random() < 0.5:
            either = tt.Or((atom(rng, scope, outer), atom(rng, scope, outer)))
            condition = rng.choice((either, predicate(rng, lib, scope, outer, 1)))
            result = tt.Filter(result, condition)
    return result, scope


def passed(rng: Random, lib: TestLibrary, right: tt.Query, scope: Scope) -> tuple[tt.Arg, ...]:
    """Return an input on the right that has no value yet, with an output of the left."""
    open_inputs = [
        (p.name, p.type)
        for call, given in calls(right)
        for p in lib.signatures[call.function].inputs
        if p.name not in given
    ]
    pairs = [
        tt.Arg(name, tt.VarRef(output))
        for name, type_ in open_inputs
        for output in sorted(scope)
        if scope[output] == type_
    ]
    return (rng.choice(pairs),) if pairs else ()


def calls(
    found: tt.Query, given: frozenset[str] = frozenset()
) -> list[tuple[tt.Call, frozenset[str]]]:
    """Return the calls of a query, with the inputs that each already has."""
    match found:
        case tt.Call(args=args):
            return [(found, given | {a.name for a in args})]
        case tt.Filter(inner) | tt.Aggregate(query=inner):
            return calls(inner, given)
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            return calls(inner, given)
        case tt.Join(left, right, passing):
            names = frozenset(a.name for a in passing)
            return [*calls(left, given), *calls(right, given | names)]
        case _:
            raise AssertionError(found)


def computed(rng: Random, scope: Scope, outer: Scope) -> tt.Value | None:
    """Return a value computed of some output, None where there is nothing to compute it of."""
    found: list[tt.Value] = []
    for name, type_ in sorted(scope.items()):
        if isinstance(type_, ty.Array):
            element = {"value": type_.element}
            condition = atom(rng, element, outer)
            if rng.random() < 0.3:
                condition = tt.Or((tt.Not(condition), atom(rng, element, outer)))
            found.append(tt.Computed("count", (tt.ListFilter(name, condition),)))
            found.append(tt.Computed("count", (tt.VarRef(name),)))
        elif type_ == ty.LOCATION:
            here = rng.choice((tt.ContextValue(("location", "home")), tt.VarRef(name)))
            found.append(tt.Computed("distance", (tt.VarRef(name), here)))
    return rng.choice(found) if found else None


def comparison(rng: Random, scope: Scope, outer: Scope) -> tt.Predicate:
    """Return a comparison of a computed value, or of an output where there is none."""
    left = computed(rng, scope, outer)
    if not isinstance(left, tt.Computed):
        return atom(rng, scope, outer) if scope else tt.TrueP()
    right: tt.Value = tt.NumberValue(Decimal(rng.choice((0, 1, 2))))
    if left.operator == "distance":
        right = measure(rng.choice((0, 5, 900)), "km")
    other = computed(rng, scope, outer)
    if isinstance(other, tt.Computed) and other.operator == left.operator and rng.random() < 0.2:
        right = other
    test = tt.Comparison(left, rng.choice(("==", ">", "<=", "in_array")), right)
    if test.operator == "in_array":
        test = tt.Comparison(left, "in_array", tt.ArrayValue((right, right)))
    return tt.Not(test) if rng.random() < 0.3 else test


def question(rng: Random, lib: TestLibrary, outer: Scope) -> tuple[tt.Query, Scope]:
    result, scope = query(rng, lib, outer, rng.choice((0, 0, 1, 2)))
    for _ in range(rng.randint(1, 4)):
        kinds = ("filter", "projection", "projection", "sort", "sort", "slice", "slice", "join")
        match rng.choice(kinds):
            case "filter":
                some = comparison(rng, scope, outer)
                either = tt.Or((some, comparison(rng, scope, outer)))
                condition = rng.choice((some, either, predicate(rng, lib, scope, outer, 1)))
                result = tt.Filter(result, condition)
            case "projection" if scope:
                result, scope = projection(rng, result, scope, outer)
            case "sort":
                result = sort(rng, result, scope, outer)
            case "slice":
                first = rng.choice((1, 1, 2))
                last = rng.choice((None, first, first + 1))
                end = None if last is None else tt.NumberValue(Decimal(last))
                result = tt.Slice(result, tt.NumberValue(Decimal(first)), end)
            case "join" if rng.random() < 0.5:
                result, scope = join(rng, lib, result, scope, outer, 0)
            case _:
                pass
        if rng.random() < 0.1:
            result, scope = aggregate(rng, result, scope)
    return result, scope


def projection(rng: Random, inner: tt.Query, scope: Scope, outer: Scope) -> tuple[tt.Query, Scope]:
    values: list[tt.Value] = [tt.VarRef(n) for n in rng.sample(sorted(scope), 1)]
    values += [tt.VarRef(n) for n in sorted(scope) if rng.random() < 0.5]
    one = computed(rng, scope, outer)
    if one is not None and rng.random() < 0.5:
        values.append(one)
    rng.shuffle(values)
    keeps_all = rng.random() < 0.3
    named = {tt.computed_name(value): value for value in values}
    kept = projected_scope(named.values(), Types(scope)).types
    form = tt.Projection(inner, tuple(named.values()), keeps_all)
    return form, {**scope, **kept} if keeps_all else kept


def sort(rng: Random, inner: tt.Query, scope: Scope, outer: Scope) -> tt.Query:
    keys: list[tt.Value] = [tt.VarRef(n) for n, t in sorted(scope.items()) if is_ordered(t)]
    one = computed(rng, scope, outer)
    keys += [one] * (one is not None and rng.random() < 0.5)
    return tt.Sort(inner, rng.choice(keys), rng.choice(("asc", "desc"))) if keys else inner


def stream(rng: Random, lib: TestLibrary, depth: int = 2) -> tuple[tt.Stream, Scope]:
    kind = rng.choice(("monitor", "monitor", "timer", "edge", "filter", "filter", "join"))
    if depth == 0 or kind == "monitor":
        inner, scope = query(rng, lib, {}, rng.choice((0, 1, 2)))
        names = sorted(scope)
        on_new = rng.sample(names, rng.randint(1, len(names))) if rng.random() < 0.4 else []
        return tt.Monitor(inner, tuple(on_new)), scope
    if kind == "timer":
        hour = measure(1, "h")
        times = tt.ArrayValue((tt.TimeValue(23, 0), tt.TimeValue(0, 30), tt.TimeValue(23, 0)))
        timers = tt.AtTimer(tt.TimeValue(23, 0)), tt.AtTimer(times), tt.Timer(tt.DateNow(), hour)
        return rng.choice(timers), {}
    below, scope = stream(rng, lib, depth - 1)
    happened = {EVENT: ty.STRING}
    if kind == "edge" and scope:
        return tt.Edge(below, predicate(rng, lib, scope, happened)), scope
    if kind == "join":
        right, added = query(rng, lib, {**scope, **happened}, 1)
        passing = passed(rng, lib, right, scope) if rng.random() < 0.5 else ()
        return tt.StreamJoin(below, right, passing), {**scope, **added}
    return tt.StreamFilter(below, predicate(rng, lib, scope, happened)), scope


def program(rng: Random, lib: TestLibrary) -> tt.Program:
    """Return a program of one rule."""
    begin: tt.Stream | None = None
    scope: Scope = {}
    if rng.random() < 0.6:
        begin, scope = stream(rng, lib)
        scope = {**scope, EVENT: ty.STRING}
    body: tt.Query | None = None
    if begin is None or rng.random() < 0.5:
        if rng.random() < 0.3:
            body, added = chain(rng, lib, scope)
        else:
            body, added = query(rng, lib, scope, rng.choice((1, 2, 3)))
        scope = {**scope, **added, EVENT: ty.STRING}
    is_shown = rng.random() < 0.5
    action = tt.Notify() if is_shown else call(rng, rng.choice(lib.actions), scope)
    return tt.Program((tt.Rule(begin, body, action),))


def primitive(rng: Random, lib: TestLibrary) -> tt.Program:
    """Return a program of one query, one action, or one of each, as policies speak of them."""
    found, scope = query(rng, lib, {}, 0)
    signature = rng.choice(lib.actions)
    if rng.random() < 0.3:
        found = tt.Filter(found, predicate(rng, lib, scope, {}))
    done = call(rng, signature, scope)
    rules = (
        tt.Rule(None, None, call(rng, signature, {})),
        tt.Rule(None, found, tt.Notify()),
        tt.Rule(tt.Monitor(found), None, done),
        tt.Rule(None, found, done),
    )
    return tt.Program((rng.choice(rules),))


def policy(rng: Random, lib: TestLibrary) -> tt.Policy:
    return policy_about(rng, lib, primitive(rng, lib))


def policy_about(rng: Random, lib: TestLibrary, asked: tt.Program) -> tt.Policy:
    """Return a policy that mostly speaks of what a primitive program does."""

    def person() -> tt.Predicate:
        name = rng.choice(("ann", "Bob"))
        known = tt.EntityValue(None, "tt:contact", name)
        return tt.Atom("source", "==", rng.choice((tt.StringValue(name), known)))

    def function(signatures: Sequence[Signature]) -> tt.PolicyFunction:
        if rng.random() < 0.2:
            return tt.PolicyFunction(rng.choice((None, signatures[0].class_name)), None, tt.TrueP())
        signature = rng.choice(signatures)
        fields = {p.name: p.type for p in signature.parameters}
        condition = predicate(rng, lib, fields, {}) if rng.random() < 0.8 else tt.TrueP()
        return tt.PolicyFunction(signature.class_name, signature.name, condition)

    source = rng.choice(
        (tt.TrueP(), person(), tt.Or((person(), person())), tt.Not(tt.Not(person())))
    )
    rule = asked.rules[0]
    gotten = rule.stream.query if isinstance(rule.stream, tt.Monitor) else rule.query
    gets, does = gotten is not None, isinstance(rule.action, tt.Call)
    if rng.random() < 0.1:
        gets, does = rng.choice(((True, True), (True, False), (False, True)))
    used = [lib.signatures[one.function] for one, _ in calls(gotten)] if gotten else lib.queries
    got = function(used) if gets else None
    return tt.Policy(source, got, function(lib.actions) if does else None)


# ----------------------------------------------------------------------------------- tables


HOME = tt.LocationValue(Decimal("45.76"), Decimal("4.84"), "lyon")


def tables(rng: Random, lib: TestLibrary) -> dict[str, Table]:
    """Return a table for each query: rows come and go from step to step."""
    return {s.qualified: _table(rng, s) for s in lib.queries}


def _table(rng: Random, signature: Signature) -> Table:
    rows = []
    for _ in range(rng.randint(2, 6)):
        cells = {p.name: constant(rng, p.type) for p in signature.parameters}
        rows.append({n: HOME if isinstance(v, tt.ContextValue) else v for n, v in cells.items()})
    snapshots = tuple(tuple(row for row in rows if rng.random() < 0.7) for _ in STEPS)
    return Table(snapshots, tuple(p.name for p in signature.inputs))


@dataclass(frozen=True, slots=True)
class Sample:
    library: TestLibrary
    program: tt.Program
    tables: Mapping[str, Table]


def sample(rng: Random) -> Sample:
    lib = library(rng)
    return Sample(lib, program(rng, lib), tables(rng, lib))


def question_sample(rng: Random) -> Sample:
    """Return a program about projections, sorts and slices; places of tables are looked up."""
    names = rng.sample("abcdefgh", 4)
    functions = {n: _signature(rng, n, "query", 9, QUESTION_OUTPUTS, 2) for n in names[:-1]}
    functions[names[-1]] = _signature(rng, names[-1], "action")
    lib = TestLibrary(functions)
    begin: tt.Stream | None = None
    scope: Scope = {}
    if rng.random() < 0.3:
        watched, shown = question(rng, lib, {})
        begin, scope = tt.Monitor(watched), {**shown, EVENT: ty.STRING}
        if rng.random() < 0.5:
            begin = tt.StreamFilter(begin, comparison(rng, shown, {}))
    body, added = (None, {}) if begin and rng.random() < 0.5 else question(rng, lib, scope)
    action: tt.Action = tt.Notify()
    if rng.random() < 0.3:
        action = call(rng, lib.actions[0], {**scope, **added, EVENT: ty.STRING})
    return Sample(lib, tt.Program((tt.Rule(begin, body, action),)), tables(rng, lib))


def chain_sample(rng: Random) -> Sample:
    """Return a program of one chain of joins, each filter about what is there so far."""
    names = rng.sample("abcdefgh", 5)
    lib = TestLibrary({name: _signature(rng, name, "query", 5) for name in names})
    shown = tt.Program((tt.Rule(None, chain(rng, lib, {})[0], tt.Notify()),))
    return Sample(lib, shown, tables(rng, lib))


# What hypothesis chooses and shrinks.
RANDOMS = st.randoms(use_true_random=False)
SAMPLES, CHAINS, QUESTIONS = (RANDOMS.map(f) for f in (sample, chain_sample, question_sample))
