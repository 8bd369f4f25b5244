"""Other spellings of a program: rewrites that keep its meaning by the definition of the language.

They are written without looking at canonical form, so that it can be tested against them.
"""

from random import Random
from typing import Any

from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.traverse import rewrite, source_calls, walk
from tests.languages.thingtalk.strategies import TestLibrary

_OTHERWISE = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}


def respelled(
    program: tt.Program, library: TestLibrary, rng: Random
) -> tuple[tt.Program, frozenset[str]]:
    """Return the program in another spelling, and which changes were made."""
    changes: set[str] = set()
    # Which results an index takes depends on the order of joins.
    is_free = not any(isinstance(node, tt.Slice) for node in walk(program))

    def change(node: Any) -> Any:
        if rng.random() < 0.5 or (isinstance(node, tt.Join) and not (is_free or node.passing)):
            return node
        other, name = _respell(node, library, rng)
        if name:
            changes.add(name)
        return other

    return rewrite(program, change), frozenset(changes)


def _respell(node: Any, library: TestLibrary, rng: Random) -> tuple[Any, str]:
    match node:
        case tt.Call(tt.Selector(class_name, attributes) as selector, function, args):
            args = _shuffled((*args, *_undefined(node, library)), rng)
            selector = tt.Selector(class_name, _shuffled(attributes, rng))
            return tt.Call(selector, function, args), "arguments shuffled"
        case tt.And(operands) | tt.Or(operands):
            dual = tt.Or if isinstance(node, tt.And) else tt.And
            return _connective(type(node), dual, operands, rng)
        case tt.Filter(inner, predicate) | tt.StreamFilter(inner, predicate):
            return _filter(type(node), inner, predicate, rng)
        case tt.Monitor(query, on_new):
            return tt.Monitor(query, _shuffled(on_new, rng)), "on new shuffled"
        case tt.Join(left, right, ()) if _commutes(left, right, library):
            return tt.Join(right, left), "join swapped"
        case tt.Join(tt.Join(a, b, passing), c, ()):
            return tt.Join(a, tt.Join(b, c), passing), "join nested" if not passing else ""
        case tt.Not():
            return tt.Not(tt.Not(node)), "negated twice"
        case tt.Projection() | tt.Sort() | tt.Slice():
            return _wrapper(node, rng)
        case tt.Computed() | tt.Comparison():
            return _computed(node)
        case tt.Atom():
            return _atom(node, rng)
        case tt.MeasureValue() | tt.DateValue():
            return _value(node)
        case _:
            return node, ""


def _computed(node: tt.Computed | tt.Comparison) -> tuple[Any, str]:
    match node:
        case tt.Computed("distance", (here, there)):
            return tt.Computed("distance", (there, here)), "places swapped"
        case tt.Computed(operator, (tt.VarRef(name),)):
            every = tt.ListFilter(name, tt.TrueP())
            return tt.Computed(operator, (every,)), "all of a list"
        case tt.Comparison(left, ">" | "<" | ">=" | "<=" as operator, value):
            other = tt.Comparison(left, _OTHERWISE[operator], value)
            return tt.Not(other), "the other comparison negated"
        case _:
            return node, ""


def _wrapper(node: tt.Projection | tt.Sort | tt.Slice, rng: Random) -> tuple[Any, str]:
    match node:
        case tt.Projection(query, values, False) if rng.random() < 0.3:
            wider = tuple(v for v in values if isinstance(v, tt.VarRef))
            names = tuple(tt.VarRef(n) for n in _names_of(values))
            inner = tt.Projection(query, _shuffled((*values, *wider), rng), False)
            return tt.Projection(inner, names, False), "projected twice"
        case tt.Projection(query, values, keeps_all):
            return tt.Projection(query, _shuffled(values, rng), keeps_all), "outputs shuffled"
        case tt.Sort(tt.Filter(query, predicate), key, direction):
            sorted_query = tt.Sort(query, key, direction)
            return tt.Filter(sorted_query, predicate), "filter after a sort"
        case tt.Slice(tt.Projection(query, values, keeps_all), start, end):
            inner_slice = tt.Slice(query, start, end)
            return tt.Projection(inner_slice, values, keeps_all), "index inside"
        case tt.Slice(query, start, None):
            return tt.Slice(query, start, start), "slice of one"
        case _:
            return node, ""


def _names_of(values: tuple[tt.Value, ...]) -> list[str]:
    return list(dict.fromkeys(map(tt.computed_name, values)))


def _value(node: tt.MeasureValue | tt.DateValue) -> tuple[Any, str]:
    match node:
        case tt.MeasureValue(parts):
            other = {"byte": "bytes", "bytes": "byte"}
            named = tuple((number, other.get(unit, unit)) for number, unit in parts)
            return tt.MeasureValue(named), "unit named otherwise"
        case tt.DateValue(iso):
            plain = iso.replace("-", "").replace(":", "")
            return tt.DateValue(plain if "T" in iso else f"{iso}T00:00"), "date spelled otherwise"


def _atom(node: tt.Atom, rng: Random) -> tuple[Any, str]:
    match node:
        case tt.Atom(name, "in_array", tt.ArrayValue(items)) if items:
            listed = tt.ArrayValue(_shuffled((*items, rng.choice(items)), rng))
            return tt.Atom(name, "in_array", listed), "list shuffled, one of it twice"
        case tt.Atom(name, "==", tt.BooleanValue(truth)):
            return tt.Not(
                tt.Atom(name, "==", tt.BooleanValue(not truth))
            ), "the other truth negated"
        case tt.Atom(name, ">" | "<" | ">=" | "<=" as operator, value):
            return tt.Not(
                tt.Atom(name, _OTHERWISE[operator], value)
            ), "the other comparison negated"
        case tt.Atom(name, "==", value):
            return tt.Atom(name, "in_array", tt.ArrayValue((value,))), "list of one"
        case _:
            return node, ""


def _undefined(call: tt.Call, library: TestLibrary) -> tuple[tt.Arg, ...]:
    """Return `$?` for required inputs that are left out."""
    signature = library.function(call.selector.class_name, call.function)
    given = {a.name for a in call.args}
    if signature is None:
        return ()
    required = [p.name for p in signature.inputs if p.is_required and p.name not in given]
    return tuple(tt.Arg(name, tt.Undefined()) for name in required)


def _connective(
    kind: type[Any], dual: type[Any], operands: tuple[Any, ...], rng: Random
) -> tuple[Any, str]:
    operands = _shuffled(operands, rng)
    choice = rng.randrange(4)
    if choice == 0:
        return tt.Not(dual(tuple(tt.Not(p) for p in operands))), "De Morgan"
    if choice == 1:
        return kind((*operands, rng.choice(operands))), "operand twice"
    if choice == 2:
        unit = tt.TrueP() if kind is tt.And else tt.FalseP()
        return kind((unit, *operands)), "constant operand"
    absorbed = dual((operands[0], rng.choice(operands)))
    return kind((absorbed, *operands)), "absorbed operand"


def _filter(kind: type[Any], inner: Any, predicate: Any, rng: Random) -> tuple[Any, str]:
    if isinstance(predicate, tt.And):
        first, *others = _shuffled(predicate.operands, rng)
        return kind(kind(inner, first), tt.And((tt.TrueP(), *others))), "filter split"
    return kind(kind(inner, predicate), rng.choice((predicate, tt.TrueP()))), "filter twice"


def _commutes(left: Any, right: Any, library: TestLibrary) -> bool:
    """Tell whether the sides are single calls or filters that share no name and pass nothing.

    They share no input either: which of them takes a parameter would depend on their order.
    """
    calls = [*source_calls(left), *source_calls(right)]
    found = [library.function(c.selector.class_name, c.function) for c in calls]
    names = [p.name for s in found if s for p in s.parameters]
    plain = all(isinstance(side, tt.Call | tt.Filter) for side in (left, right)) and len(calls) == 2
    return plain and len(names) == len(set(names)) and not _references(left, right)


def _references(*nodes: Any) -> bool:
    found = False

    def look(node: Any) -> Any:
        nonlocal found
        found = found or isinstance(node, tt.VarRef)
        return node

    for node in nodes:
        rewrite(node, look)
    return found


def _shuffled(items: tuple[Any, ...], rng: Random) -> tuple[Any, ...]:
    found = list(items)
    rng.shuffle(found)
    return tuple(found)
