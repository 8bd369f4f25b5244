"""Other spellings of a program: rewrites that keep its meaning by the definition of the language.

They are written without looking at canonical form, so that it can be tested against them.
"""

from random import Random
from typing import Any

from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.traverse import rewrite, source_calls
from tests.languages.thingtalk.strategies import TestLibrary

_OTHERWISE = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}


def respelled(
    program: tt.Program, library: TestLibrary, rng: Random
) -> tuple[tt.Program, frozenset[str]]:
    """Return the program in another spelling, and which changes were made."""
    changes: set[str] = set()

    def change(node: Any) -> Any:
        if rng.random() < 0.5:
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
        case tt.And(operands):
            return _connective(tt.And, tt.Or, operands, rng)
        case tt.Or(operands):
            return _connective(tt.Or, tt.And, operands, rng)
        case tt.Filter(query, predicate):
            return _filter(tt.Filter, query, predicate, rng)
        case tt.StreamFilter(stream, predicate):
            return _filter(tt.StreamFilter, stream, predicate, rng)
        case tt.Monitor(query, on_new):
            return tt.Monitor(query, _shuffled(on_new, rng)), "on new shuffled"
        case tt.Join(left, right, ()) if _commutes(left, right, library):
            return tt.Join(right, left), "join swapped"
        case tt.Join(tt.Join(a, b, passing), c, ()):
            return tt.Join(a, tt.Join(b, c), passing), "join nested" if not passing else ""
        case tt.Not():
            return tt.Not(tt.Not(node)), "negated twice"
        case tt.Atom():
            return _atom(node, rng)
        case tt.MeasureValue() | tt.DateValue():
            return _value(node)
        case _:
            return node, ""


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
