"""Predicates in one form: simplified, in conjunctive normal form, sorted (Genie, section 2.4).

A predicate is worked on as a list of clauses, each a sorted tuple of literals. No clause is true,
an empty clause is false. Every literal carries its sort key, which is also its identity.

A result has a value for each of its outputs, so that of `x > 5` and `x <= 5` one holds: a result
with an opposite is never negated.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from decimal import Decimal
from operator import attrgetter, itemgetter
from typing import Any, TypeVar, assert_never

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.operators import ITEM
from genie_dp.languages.thingtalk.tokens import value_tokens
from genie_dp.languages.thingtalk.traverse import qualify, walk
from genie_dp.languages.types import is_slot
from genie_dp.languages.units import SHIPPED, UNIT_SYNONYMS

Key = tuple[Any, ...]
"""(rank, parameter or function, operator, value): sorts `@f` < `not` < `param:`."""
Literal = tuple[Key, tt.Predicate]
Clause = tuple[Literal, ...]

# Fifteen ranges joined by "or" would make 32,768 clauses; nobody says more than a handful.
MAX_CLAUSES = 64
_GET, _NOT, _PLAIN = 0, 1, 2
# `x op x` on a value that is there.
_TRUE_OF_ITSELF = frozenset(
    ("==", ">=", "<=", "=~", "~=", "starts_with", "ends_with", "prefix_of", "suffix_of")
)
_FALSE_OF_ITSELF = frozenset((">", "<"))
# operator -> the one that holds where it does not.
OPPOSITES = {">": "<=", "<=": ">", "<": ">=", ">=": "<"}
TRUTHS = {"true": "false", "false": "true"}
_key = itemgetter(0)


def canonical_predicate(
    predicate: tt.Predicate, signatures: Signatures | None = None
) -> tt.Predicate:
    """Return the one predicate that stands for all with this truth table, as far as we simplify.

    Constants and `x == x` are folded, negation stands on atoms without an opposite only, clauses
    implied by others fall away, clauses and operands are sorted: `@f` < `not` < `param:`, then by
    parameter name, operator and value. The items of `in_array` are sorted, each once.

    Raises:
        GenieError: C001 if the conjunctive normal form has more than MAX_CLAUSES clauses.

    >>> from genie_dp.languages.thingtalk.ast import StringValue
    >>> a, b = (tt.Atom(name, "==", StringValue("x")) for name in "ab")
    >>> canonical_predicate(tt.Not(tt.And((b, tt.Not(a))))) == tt.Or((tt.Not(b), a))
    True
    """
    return conjunction(simplify(clauses(predicate, signatures)))


def canonical_call(call: tt.Call, signatures: Signatures | None = None) -> tt.Call:
    """Return the call with inputs and device attributes in alphabetical order.

    `$?` for a required parameter means the same as leaving it out, and falls away; this
    needs signatures to know that the parameter is required.

    >>> from genie_dp.languages.thingtalk.ast import EnumValue
    >>> args = tt.Arg("low", EnumValue("a")), tt.Arg("high", EnumValue("b"))
    >>> [a.name for a in canonical_call(tt.Call(tt.Selector("c"), "f", args)).args]
    ['high', 'low']
    """
    args = _canonical_values(call.args)
    if signatures is not None and any(isinstance(a.value, tt.Undefined) for a in args):
        signature = signatures.function(call.selector.class_name, call.function)
        parameters = signature.parameters if signature is not None else ()
        required = {p.name for p in parameters if p.is_required}
        args = tuple(
            a for a in args if not (isinstance(a.value, tt.Undefined) and a.name in required)
        )
    args = sorted_args(args)
    selector = call.selector
    if len(selector.attributes) > 1:
        attributes = sorted_args(selector.attributes)
        selector = tt.Selector(selector.class_name, attributes, span=selector.span)
    if args is call.args and selector is call.selector:
        return call
    return tt.Call(selector, call.function, args, span=call.span)


def canonical_value(value: tt.Value) -> tt.Value:
    """Return the value with each unit and each date spelled in one way; the same one if it is.

    Amounts keep their unit, and dates their zone: `1KB` is not `1000byte`.

    >>> canonical_value(tt.MeasureValue(((Decimal(5), "bytes"),)))
    MeasureValue(parts=((Decimal('5'), 'byte'),))
    >>> canonical_value(tt.DateValue("20261120T0930"))
    DateValue(iso='2026-11-20T09:30:00')
    """
    match value:
        case tt.MeasureValue(parts) if any(unit in UNIT_SYNONYMS for _, unit in parts):
            named = tuple((number, UNIT_SYNONYMS.get(unit, unit)) for number, unit in parts)
            return tt.MeasureValue(named, span=value.span)
        case tt.SlotValue(token, unit) if unit in UNIT_SYNONYMS:
            return tt.SlotValue(token, UNIT_SYNONYMS[unit], span=value.span)
        case tt.DateValue(iso) if (spelled := _spell_time(iso)) != iso:
            return tt.DateValue(spelled, span=value.span)
        case tt.DateOffset(base, sign, duration):
            start, length = canonical_value(base), canonical_value(duration)
            if start is base and length is duration:
                return value
            return tt.DateOffset(start, sign, length, span=value.span)
        case tt.ArrayValue(items):
            canonical_items = tuple(map(canonical_value, items))
            is_unchanged = all(a is b for a, b in zip(canonical_items, items, strict=True))
            return value if is_unchanged else tt.ArrayValue(canonical_items, span=value.span)
        case tt.Computed():
            return canonical_computed(value)
        case tt.ListFilter(name, predicate):
            form = canonical_predicate(predicate)
            if isinstance(form, tt.TrueP):
                return tt.VarRef(name, span=value.span)
            return tt.ListFilter(name, form, span=value.span)
        case _:
            return value


def canonical_computed(value: tt.Computed) -> tt.Computed:
    """Return a computed value with its parts in one form; the order of two places has no meaning.

    >>> here, there = tt.VarRef("geo"), tt.ContextValue(("location", "home"))
    >>> canonical_computed(tt.Computed("distance", (there, here))).arguments[0]
    VarRef(name='geo')
    """
    arguments = tuple(map(canonical_value, value.arguments))
    if value.operator == "distance":
        by_text = sorted(arguments, key=lambda a: (not isinstance(a, tt.VarRef), value_text(a)))
        arguments = tuple(by_text)
    return tt.Computed(value.operator, arguments, span=value.span)


def _spell_time(iso: str) -> str:
    """Return a point in time as ISO 8601 spells it most plainly; midnight without a zone is a day.

    >>> _spell_time("2026-11-20T00:00"), _spell_time("20261120T10+00:00")
    ('2026-11-20', '2026-11-20T10:00:00Z')
    """
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso  # a tree that no reader made
    text = moment.isoformat()
    if moment.tzinfo is None:
        return text.removesuffix("T00:00:00")
    return f"{text[:-6]}Z" if moment.utcoffset() == timedelta(0) else text


def _canonical_values(args: tuple[tt.Arg, ...]) -> tuple[tt.Arg, ...]:
    """Return the arguments with canonical values; the same tuple if they are."""
    values = [canonical_value(a.value) for a in args]
    if all(value is a.value for a, value in zip(args, values, strict=True)):
        return args
    return tuple(tt.Arg(a.name, v, span=a.span) for a, v in zip(args, values, strict=True))


def sorted_args(args: tuple[tt.Arg, ...]) -> tuple[tt.Arg, ...]:
    """Return the arguments in alphabetical order; the same tuple if they are."""
    if len(args) < 2 or all(a.name <= b.name for a, b in zip(args, args[1:], strict=False)):
        return args
    return tuple(sorted(args, key=attrgetter("name")))


# -------------------------------------------------------------------------- normal form


def clauses(
    predicate: tt.Predicate, signatures: Signatures | None = None, *, negated: bool = False
) -> list[Clause]:
    """Return the predicate, or its negation, in conjunctive normal form."""
    match predicate:
        case tt.Atom():
            return _literal(predicate, negated)
        case tt.And(operands) | tt.Or(operands):
            parts = [clauses(o, signatures, negated=negated) for o in operands]
            if isinstance(predicate, tt.And) != negated:
                return [clause for part in parts for clause in part]
            return _distribute(parts, predicate)
        case tt.Not(operand):
            return clauses(operand, signatures, negated=not negated)
        case tt.TrueP():
            return [()] if negated else []
        case tt.FalseP():
            return [] if negated else [()]
        case tt.Comparison():
            return _comparison(predicate, negated)
        case tt.GetPredicate():
            return _get_predicate(predicate, signatures, negated)
        case _:
            assert_never(predicate)


def _comparison(node: tt.Comparison, negated: bool) -> list[Clause]:
    node = _one_way(replace(node, left=canonical_computed(node.left)))
    match node.left, node.operator, node.value:
        # A computed truth is a comparison of its own.
        case tt.Computed(operator, (tt.VarRef(name), value)), "==", tt.BooleanValue(truth) if (
            operator not in tt.COMPUTATIONS
        ):
            return _literal(tt.Atom(name, operator, value, span=node.span), negated == truth)
    return _literal(node, negated)


def _literal(atom: tt.Atom | tt.Comparison, negated: bool) -> list[Clause]:
    atom = _one_way(atom)
    truth = _constant(atom)
    if truth is not None:
        return [] if truth != negated else [()]
    opposite = _opposite(atom) if negated else None
    if opposite is not None:
        atom, negated = opposite, False
    name, operator, value = left_text(atom), atom.operator, atom.value
    if negated:
        node = tt.Not(atom, span=atom.span)
        return [(((_NOT, name, operator, value_text(value)), node),)]
    return [(((_PLAIN, name, operator, value_text(value)), atom),)]


def left_text(atom: tt.Atom | tt.Comparison) -> str:
    """Return the left side of a comparison, the sort key of canonical form.

    >>> left_text(tt.Comparison(tt.Computed("count", (tt.VarRef("a"),)), "==", tt.VarRef("b")))
    'count ( param:a )'
    """
    return atom.name if isinstance(atom, tt.Atom) else value_text(atom.left)


A = TypeVar("A", bound=tt.Atom | tt.Comparison)


def _one_way(atom: A) -> A:
    """Return the canonical comparison: `x in_array [a]` is `x == a`, order does not count."""
    operator, value = atom.operator, canonical_value(atom.value)
    if operator == "in_array" and isinstance(value, tt.ArrayValue):
        items = listed_once(value.items)
        if len(items) == 1:
            operator, value = "==", items[0]
        elif items != value.items:
            value = tt.ArrayValue(items, span=value.span)
    if value is atom.value:
        return atom
    return replace(atom, operator=operator, value=value)


def listed_once(items: Iterable[tt.Value]) -> tuple[tt.Value, ...]:
    """Return values whose order does not count: each once, amounts and times from low to high.

    >>> [str(v.value) for v in listed_once(tt.NumberValue(Decimal(n)) for n in (10, 9, 10))]
    ['9', '10']
    """
    by_text = {value_text(item): item for item in items}
    return tuple(sorted(by_text.values(), key=_rank))


def _rank(value: tt.Value) -> tuple[str, Decimal, str]:
    text = value_text(value)
    match value:
        case tt.NumberValue(number):
            return "", number, text
        case tt.MeasureValue(parts):
            # Those that skills declare go by their number: any one order will do.
            return "", sum((n * SHIPPED.factor(u) for n, u in parts), Decimal(0)), text
        case tt.CurrencyValue(amount, code):
            return f"currency:{code}", amount, text
        case tt.TimeValue(hour, minute, second):
            return "time", Decimal(3600 * hour + 60 * minute + second), text
        case _:
            return text, Decimal(0), text


def _opposite(atom: A) -> A | None:
    """Return the comparison that holds where this one does not, if there is such an operator."""
    if isinstance(atom.value, tt.BooleanValue) and atom.operator == "==":
        return replace(atom, value=replace(atom.value, value=not atom.value.value))
    operator = OPPOSITES.get(atom.operator)
    return None if operator is None else replace(atom, operator=operator)


def _constant(atom: tt.Atom | tt.Comparison) -> bool | None:
    """Return the truth value of an atom that has one whatever the results are, else None."""
    left = tt.VarRef(atom.name) if isinstance(atom, tt.Atom) else atom.left
    match atom.value:
        case value if value == left:
            if atom.operator in _TRUE_OF_ITSELF:
                return True
            return False if atom.operator in _FALSE_OF_ITSELF else None
        case tt.ArrayValue(items) if atom.operator == "in_array":
            if left in items:
                return True
            both = {item.value for item in items if isinstance(item, tt.BooleanValue)}
            return True if len(both) == 2 else None if items else False
        case _:
            return None


def _get_predicate(
    node: tt.GetPredicate, signatures: Signatures | None, negated: bool
) -> list[Clause]:
    inner = simplify(clauses(node.predicate, signatures))
    if () in inner:
        return [] if negated else [()]
    call = canonical_call(node.call, signatures)
    form = tt.GetPredicate(call, conjunction(inner), span=node.span)
    name = qualify(call)
    details = (_args_text(call.selector.attributes), _args_text(call.args), keys_of(inner))
    if negated:
        return [(((_NOT, name, "", details), tt.Not(form, span=node.span)),)]
    return [(((_GET, name, "", details), form),)]


def _args_text(args: tuple[tt.Arg, ...]) -> str:
    return " ".join(f"{a.name} = {value_text(a.value)}" for a in args)


def keys_of(found: Iterable[Clause]) -> tuple[tuple[Key, ...], ...]:
    """Return the identity of a conjunction."""
    return tuple(tuple(map(_key, clause)) for clause in found)


def _distribute(parts: list[list[Clause]], predicate: tt.Predicate) -> list[Clause]:
    product: list[Clause] = [()]
    for part in parts:
        # 16: what duplicates and absorption may take away again before it gets slow.
        if len(product) * len(part) > 16 * MAX_CLAUSES:
            raise _too_large(predicate)
        merged = (_merge(a, b) for a in product for b in part)
        product = simplify([clause for clause in merged if clause is not None])
        if len(product) > MAX_CLAUSES:
            raise _too_large(predicate)
    return product


def _too_large(predicate: tt.Predicate) -> GenieError:
    message = f"expected a condition of at most {MAX_CLAUSES} clauses in conjunctive normal form"
    hint = "split the program in two, or write this 'or' of 'and's with fewer alternatives"
    return GenieError(Problem("C001", f"{message}, got more", predicate.span, hint))


def _merge(left: Clause, right: Clause) -> Clause | None:
    """Return `left || right`; None if that is always true."""
    merged = {**dict(right), **dict(left)}
    if any(complement(key) in merged for key in merged):
        return None
    return tuple(sorted(merged.items(), key=_key))


def complement(key: Key) -> Key:
    """Return the key of the negation of a literal."""
    if key[0] == _PLAIN:
        _, name, operator, value, *rest = key
        if operator in OPPOSITES:
            return (_PLAIN, name, OPPOSITES[operator], value, *rest)
        if operator == "==" and value in TRUTHS:
            return (_PLAIN, name, operator, TRUTHS[value], *rest)
    if key[0] != _NOT:
        return (_NOT, *key[1:])
    return (_GET if key[1].startswith("@") else _PLAIN, *key[1:])


def simplify(found: list[Clause]) -> list[Clause]:
    """Return the clauses that are not implied by another, sorted; `[()]` if they contradict.

    A literal whose negation another clause leaves as the only way out falls away: `a || b` and
    `!a` are `b` and `!a`, `a || b` and `a || !b` are `a`.
    """
    if len(found) < 2:
        return found
    literals = dict(literal for clause in reversed(found) for literal in clause)
    keys = {frozenset(map(_key, clause)) for clause in found}
    if any(complement(key) in literals for key in literals):
        while (refuted := _find_refuted(keys)) is not None:
            clause, key = refuted
            keys = (keys - {clause}) | {clause - {key}}
    kept_clauses: list[frozenset[Key]] = []
    for mine in sorted(keys, key=len):
        if not any(smaller <= mine for smaller in kept_clauses):
            kept_clauses.append(mine)
    return [tuple((k, literals[k]) for k in mine) for mine in sorted(map(sorted, kept_clauses))]


def _find_refuted(keys: set[frozenset[Key]]) -> tuple[frozenset[Key], Key] | None:
    """Return a clause and a literal that falls away in it, or None."""
    holding: dict[Key, list[frozenset[Key]]] = {}
    for clause in keys:
        for key in clause:
            holding.setdefault(key, []).append(clause)
    for mine in sorted(keys, key=lambda clause: (len(clause), sorted(clause))):
        for key in sorted(mine):
            rest, opposite = mine - {key}, complement(key)
            if any(clause - {opposite} <= rest for clause in holding.get(opposite, ())):
                return mine, key
    return None


def conjunction(found: Iterable[Clause]) -> tt.Predicate:
    """Return the predicate of simplified clauses."""
    parts = [_disjunction(clause) for clause in found]
    if not parts:
        return tt.TrueP()
    return parts[0] if len(parts) == 1 else tt.And(tuple(parts), span=parts[0].span)


def _disjunction(clause: Clause) -> tt.Predicate:
    if not clause:
        return tt.FalseP()
    if len(clause) == 1:
        return clause[0][1]
    return tt.Or(tuple(node for _, node in clause), span=clause[0][1].span)


# --------------------------------------------------------------- what a predicate speaks of


def value_text(value: tt.Value) -> str:
    """Return a value as tokens write it, names without their types; placeholders sort last.

    The engine of synthesis writes a placeholder as one private character until a row is finished.
    So that the order is the same in both spellings, a placeholder begins with such a character
    here too, and ends in its number.

    >>> value_text(tt.VarRef("title")), value_text(tt.DateNow())
    ('param:title', 'now')
    >>> sorted(["z", *map(value_text, (tt.SlotValue("NUMBER_10"), tt.SlotValue("NUMBER_2")))])
    ['z', '\uf000NUMBER_0002', '\uf000NUMBER_0010']
    """
    if isinstance(value, tt.SlotValue):
        unit = f" unit:{value.unit}" if value.unit else ""
        return _slot_text(value.token) + unit
    text = value_tokens(value)
    if isinstance(value, tt.ArrayValue | tt.DateOffset | tt.Computed | tt.ListFilter):
        return " ".join(_slot_text(token) if is_slot(token) else token for token in text.split(" "))
    return text


def _slot_text(token: str) -> str:
    stem, _, number = token.rpartition("_")
    return f"\uf000{stem}_{number.zfill(4)}" if number.isdecimal() else token


def value_names(value: tt.Value) -> Iterator[str]:
    """Yield the names in scope that a value uses."""
    match value:
        case tt.VarRef(name):
            yield name
        case tt.DateOffset(base, _, duration):
            yield from value_names(base)
            yield from value_names(duration)
        case tt.ArrayValue(items):
            for item in items:
                yield from value_names(item)
        case tt.Computed(_, arguments):
            for argument in arguments:
                yield from value_names(argument)
        case tt.ListFilter(name, predicate):
            yield name
            yield from (n for n in passed_names(predicate) if n != ITEM)
        case _:
            return


def compared_names(predicate: tt.Predicate) -> Iterator[str]:
    """Yield the names that a predicate compares: outputs that its query must have itself."""
    match predicate:
        case tt.Atom(name):
            yield name
        case tt.And(operands) | tt.Or(operands):
            for operand in operands:
                yield from compared_names(operand)
        case tt.Not(operand):
            yield from compared_names(operand)
        case tt.Comparison(tt.Computed(_, (first, *_))):
            yield from list(value_names(first))[:1]
        case tt.TrueP() | tt.FalseP() | tt.GetPredicate() | tt.Comparison():
            return
        case _:
            assert_never(predicate)


def passed_names(predicate: tt.Predicate, signatures: Signatures | None = None) -> Iterator[str]:
    """Yield the names that a predicate uses as values, of its own query or of one before it."""
    match predicate:
        case tt.Atom(_, _, value):
            yield from value_names(value)
        case tt.Comparison(left, _, value):
            yield from list(value_names(left))[1:]
            yield from value_names(value)
        case tt.And(operands) | tt.Or(operands):
            for operand in operands:
                yield from passed_names(operand, signatures)
        case tt.Not(operand):
            yield from passed_names(operand, signatures)
        case tt.GetPredicate(call, inner):
            for arg in (*call.selector.attributes, *call.args):
                yield from value_names(arg.value)
            signature = signatures and signatures.function(call.selector.class_name, call.function)
            own = {p.name for p in signature.outputs} if signature else ()
            yield from (name for name in passed_names(inner, signatures) if name not in own)
        case tt.TrueP() | tt.FalseP():
            return
        case _:
            assert_never(predicate)


def is_stable(predicate: tt.Predicate) -> bool:
    """Return whether the predicate has the same value for a result at all times.

    It does not where it compares with the time or place of execution, or asks a query.
    """
    return not any(isinstance(part, _CHANGING) for part in walk(predicate))


# What depends on the time or place of execution, or on another query.
_CHANGING = (tt.DateNow, tt.DateEdge, tt.EventValue, tt.ContextValue, tt.GetPredicate)
