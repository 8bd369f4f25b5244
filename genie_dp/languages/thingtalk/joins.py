"""Queries in one form: joins in one order, every filter clause on its left-most function.

A query is taken apart into a chain of items (calls and aggregations) joined from left to right, and
the clauses of all its filters, each with the item after which it stands. Scopes are those of the
paper (Genie, section 2.3): a name is the right-most output of that name to the left of its use.
All permitted moves follow from that alone:

- two items keep their order if they share an output name, or if one passes a parameter to the
  other, or if swapping them would put a new owner between a name and its use;
- a clause stands after the last of the items that it speaks of, and before any later item that
  outputs one of its names.

The results that an index or a slice takes depend on their order, so inside of it (`keeps_order`)
joins stay as they are. Elsewhere a sort orders the shown results, and nothing else: inside of a
join, an aggregation or a monitor it falls away. Projections and sorts go outwards, as far as names
still mean the same there (`arrange`): a filter of a sort is a sort of a filter, an index of a
projection is a projection of an index.

Without signatures nothing is known of the outputs of a function, so items keep their order and
clauses stay to the right of the last call that they could speak of. Where a parameter is passed
into one of several calls on the right (`a join (b join c) on x = y`), that side is kept as it is
unless signatures define which call takes it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar, assert_never

from genie_dp.errors import Span
from genie_dp.languages.library import Signatures
from genie_dp.languages.thingtalk import ast as tt
from genie_dp.languages.thingtalk.predicates import (
    Clause,
    Key,
    canonical_call,
    canonical_value,
    clauses,
    compared_names,
    conjunction,
    passed_names,
    simplify,
    sorted_args,
    value_names,
    value_text,
)
from genie_dp.languages.thingtalk.traverse import qualify, rewrite, source_calls, walk

Names = frozenset[str]
_NOTHING: Names = frozenset()


@dataclass(frozen=True, slots=True)
class Link:
    """A call or aggregation of a chain, in canonical form, with all it takes as its arguments.

    `passing` is kept only where it is not known which call on the right side takes it.
    """

    query: tt.Query
    passing: tuple[tt.Arg, ...] = ()


@dataclass(frozen=True, slots=True)
class Condition:
    """A clause that filters the joined results of the links from `start` to `end`."""

    clause: Clause
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Resolved:
    """A clause whose names are resolved.

    Attributes:
        clause: its keys end in the outputs that the names refer to, so that equal keys mean the
            same.
        owners: name -> links that own it, empty for a name of an outer scope.
    """

    clause: Clause
    owners: tuple[tuple[str, tuple[int, ...]], ...]

    @property
    def links(self) -> frozenset[int]:
        """Return all links that the clause speaks of."""
        return frozenset(index for _, owners in self.owners for index in owners)


def canonical_query(
    query: tt.Query,
    signatures: Signatures | None = None,
    *,
    is_shown: bool = False,
    keeps_order: bool = False,
) -> tt.Query:
    """Return the one query that stands for all with this meaning (Genie, section 2.4).

    Args:
        query: the query.
        signatures: the known functions.
        is_shown: whether it is the query of a rule, whose results are shown in the order of a sort.
        keeps_order: whether the places of all results matter.

    >>> from genie_dp.languages.thingtalk.ast import Atom, BooleanValue, Selector
    >>> mail, a, b = tt.Call(Selector("c"), "f"), *(Atom(n, "==", BooleanValue(True)) for n in "ab")
    >>> form = canonical_query(tt.Filter(tt.Filter(mail, b), a))
    >>> [atom.name for atom in form.predicate.operands]
    ['a', 'b']
    """
    if isinstance(query, tt.Call):
        return canonical_call(query, signatures)
    query = arrange(query, signatures, is_shown=is_shown, keeps_order=keeps_order)
    return _form(query, signatures, is_shown=is_shown, keeps_order=keeps_order)


def _form(
    query: tt.Query, signatures: Signatures | None, *, is_shown: bool, keeps_order: bool
) -> tt.Query:
    """Return the canonical form of an arranged query."""
    match query:
        case tt.Projection(inner, values, keeps_all):
            form = _form(inner, signatures, is_shown=is_shown, keeps_order=keeps_order)
            return _projection(form, values, keeps_all, signatures, query.span)
        case tt.Sort(inner, key, direction):
            form = _form(inner, signatures, is_shown=is_shown, keeps_order=keeps_order)
            return tt.Sort(form, canonical_value(key), direction, span=query.span)
        case tt.Slice(inner, start, end):
            form = _form(inner, signatures, is_shown=False, keeps_order=True)
            last = None if end == start else end
            return tt.Slice(form, start, last, span=query.span)
    links, conditions = flatten(query, signatures, keeps_order=keeps_order)
    if len(links) == 1:
        return _filter_query(links[0].query, simplify([c.clause for c in conditions]))
    outputs = [outputs_of(link.query, signatures) for link in links]
    resolved = _simplify_resolved(resolve(conditions, outputs, signatures))
    order = list(range(len(links)))
    if not keeps_order:
        order = _order(links, outputs, resolved, signatures)
    return _build(links, outputs, resolved, order, signatures, keeps_order=keeps_order)


def _projection(
    query: tt.Query,
    values: tuple[tt.Value, ...],
    keeps_all: bool,
    signatures: Signatures | None,
    span: Span | None,
) -> tt.Query:
    """Return a projection whose values are sorted, each once; the query where it adds nothing."""
    by_text = {value_text(v): v for v in map(canonical_value, values)}
    listed = tuple(by_text[text] for text in sorted(by_text))
    if keeps_all:
        listed = tuple(value for value in listed if not isinstance(value, tt.VarRef))
    outputs = outputs_of(query, signatures)
    is_whole = all(isinstance(value, tt.VarRef) for value in listed)
    if is_whole and (keeps_all or frozenset(map(tt.computed_name, listed)) == outputs):
        return query
    return tt.Projection(query, listed, keeps_all, span=span)


# ---------------------------------------------------------------------- projections and sorts


def arrange(
    query: tt.Query,
    signatures: Signatures | None = None,
    *,
    is_shown: bool = False,
    keeps_order: bool = False,
) -> tt.Query:
    """Return the query with its projections and sorts as far outside as they may be.

    A sort that orders nothing is left out, and so is a projection that is counted.
    """
    match query:
        case tt.Filter(inner, predicate):
            inner = arrange(inner, signatures, is_shown=is_shown, keeps_order=keeps_order)
            return _arranged_filter(inner, predicate, query.span, signatures)
        case tt.Join(left, right, passing):
            left, right = (arrange(q, signatures, keeps_order=keeps_order) for q in (left, right))
            return tt.Join(left, right, passing, span=query.span)
        case tt.Aggregate(operator, field, inner):
            inner = arrange(inner, signatures)
            if isinstance(inner, tt.Projection) and _is_plain(field, inner):
                inner = inner.query
            return tt.Aggregate(operator, field, inner, span=query.span)
        case tt.Projection(inner, values, keeps_all):
            inner = arrange(inner, signatures, is_shown=is_shown, keeps_order=keeps_order)
            return _arranged_projection(inner, values, keeps_all, query.span, signatures)
        case tt.Sort(inner, key):
            inner = arrange(inner, signatures, is_shown=is_shown, keeps_order=keeps_order)
            if not (is_shown or keeps_order):
                return inner
            moved = _inside(key, inner, signatures)
            if isinstance(inner, tt.Projection) and moved is not None:
                return replace(inner, query=replace(query, query=inner.query, key=moved))
            return replace(query, query=inner)
        case tt.Slice(inner):
            inner = arrange(inner, signatures, keeps_order=True)
            if isinstance(inner, tt.Projection):
                return replace(inner, query=replace(query, query=inner.query))
            return replace(query, query=inner)
        case tt.Call() | tt.Hole():
            return query
        case _:
            assert_never(query)


def _arranged_filter(
    inner: tt.Query, predicate: tt.Predicate, span: Span | None, signatures: Signatures | None
) -> tt.Query:
    match inner:
        case tt.Sort():
            filtered = _arranged_filter(inner.query, predicate, span, signatures)
            return replace(inner, query=filtered)
        case tt.Projection():
            moved = _inside(predicate, inner, signatures)
            if moved is not None:
                filtered = _arranged_filter(inner.query, moved, span, signatures)
                return replace(inner, query=filtered)
    return tt.Filter(inner, predicate, span=span)


def _arranged_projection(
    inner: tt.Query,
    values: tuple[tt.Value, ...],
    keeps_all: bool,
    span: Span | None,
    signatures: Signatures | None,
) -> tt.Query:
    if isinstance(inner, tt.Projection):
        moved = [_inside(value, inner, signatures) for value in values]
        values_moved = tuple(value for value in moved if value is not None)
        if len(values_moved) == len(values):
            names = set(map(tt.computed_name, values_moved))
            others = (v for v in inner.values if tt.computed_name(v) not in names)
            all_values = (*others, *values_moved) if keeps_all else values_moved
            return tt.Projection(inner.query, all_values, keeps_all and inner.keeps_all, span=span)
    return tt.Projection(inner, values, keeps_all, span=span)


def _is_plain(field: str | None, projection: tt.Projection) -> bool:
    """Return whether the aggregated value of a projection is none that it computes."""
    computed = (v for v in projection.values if isinstance(v, tt.Computed))
    return all(tt.computed_name(value) != field for value in computed)


N = TypeVar("N", bound=tt.Predicate | tt.Value)


def _inside(node: N, projection: tt.Query, signatures: Signatures | None) -> N | None:
    """Return a condition on the outputs of a projection as one on those of its query.

    None where a name would mean something else there, or cannot be used.
    """
    if not isinstance(projection, tt.Projection):
        return None
    used = _names_in(node, signatures)
    names = {tt.computed_name(value) for value in projection.values}
    if not projection.keeps_all and used - names:
        hidden = outputs_of(projection.query, signatures)
        if hidden is None or used & (hidden - names):
            return None
    computed = {tt.computed_name(v): v for v in projection.values if isinstance(v, tt.Computed)}
    if not used & computed.keys():
        return node
    if any(isinstance(part, tt.GetPredicate | tt.ListFilter) for part in walk(node)):
        return None
    moved: N = rewrite(node, lambda part: _with_computed(part, computed))
    return moved


def _names_in(node: Any, signatures: Signatures | None) -> Names:
    if isinstance(node, tt.Predicate):
        return frozenset((*compared_names(node), *passed_names(node, signatures)))
    return frozenset(value_names(node))


def _with_computed(node: Any, computed: Mapping[str, tt.Computed]) -> Any:
    match node:
        case tt.VarRef(name) if name in computed:
            return computed[name]
        case tt.Atom(name, operator, value) if name in computed:
            return tt.Comparison(computed[name], operator, value, span=node.span)
        case _:
            return node


# ------------------------------------------------------------------------------- take apart


def flatten(
    query: tt.Query, signatures: Signatures | None = None, *, keeps_order: bool = False
) -> tuple[list[Link], list[Condition]]:
    """Return the links of a query from left to right, and the clauses of its filters."""
    links: list[Link] = []
    conditions: list[Condition] = []
    _flatten(query, signatures, links, conditions, keeps_order)
    return links, conditions


def _flatten(
    query: tt.Query,
    signatures: Signatures | None,
    links: list[Link],
    conditions: list[Condition],
    keeps_order: bool,
) -> None:
    match query:
        case tt.Call():
            links.append(Link(canonical_call(query, signatures)))
        case tt.Filter(inner, predicate):
            start = len(links)
            _flatten(inner, signatures, links, conditions, keeps_order)
            end = len(links) - 1
            conditions.extend(Condition(c, start, end) for c in clauses(predicate, signatures))
        case tt.Join(left, right, passing):
            _flatten(left, signatures, links, conditions, keeps_order)
            form, passing = settle(right, passing, signatures)
            if passing:
                links.append(Link(form, passing))
            else:
                _flatten(form, signatures, links, conditions, keeps_order)
        case tt.Aggregate(operator, field, inner):
            form = canonical_query(inner, signatures)
            links.append(Link(tt.Aggregate(operator, field, form, span=query.span)))
        case tt.Projection() | tt.Sort() | tt.Slice():
            form = canonical_query(query, signatures, keeps_order=keeps_order)
            if isinstance(form, tt.Filter | tt.Join):  # it said nothing
                _flatten(form, signatures, links, conditions, keeps_order)
            else:
                links.append(Link(form))
        case tt.Hole():
            links.append(Link(query))
        case _:
            assert_never(query)


def settle(
    right: tt.Query, passing: tuple[tt.Arg, ...], signatures: Signatures | None = None
) -> tuple[tt.Query, tuple[tt.Arg, ...]]:
    """Return the right side of a join with its parameters pushed into it, and those left over.

    Either all or none are left over. A clause left over takes the right side as it stands, so that
    its order changes only where just one call can take each parameter.
    """
    pushed = push(right, passing, signatures)
    if pushed is not None:
        return pushed, ()
    if any(_takers(right, a.name, signatures) > 1 for a in passing):
        calls = rewrite(
            right, lambda n: canonical_call(n, signatures) if isinstance(n, tt.Call) else n
        )
        return calls, sorted_args(passing)
    form = canonical_query(right, signatures)
    pushed = push(form, passing, signatures)
    return (form, sorted_args(passing)) if pushed is None else (pushed, ())


def _takers(query: tt.Query, name: str, signatures: Signatures | None) -> int:
    return sum(takes(call, name, signatures) is True for call in source_calls(query))


def push(
    query: tt.Query, passing: tuple[tt.Arg, ...], signatures: Signatures | None = None
) -> tt.Query | None:
    """Return the query with parameters passed as arguments of the call that takes each of them.

    That is the left-most call with an input of that name without a value. None if that is not
    known, or if a name would mean something else there.
    """
    if not passing:
        return query
    match query:
        case tt.Call(selector, function, args):
            passed_names = {a.name for a in passing}
            kept_args = tuple(a for a in args if a.name not in passed_names)
            return tt.Call(selector, function, (*kept_args, *passing), span=query.span)
        case tt.Filter(inner, predicate):
            pushed = push(inner, passing, signatures)
            return pushed and tt.Filter(pushed, predicate, span=query.span)
        case tt.Aggregate(operator, field, inner):
            if len(list(source_calls(inner))) > 1:  # in there `on` sees no name from outside
                return None
            pushed = push(inner, passing, signatures)
            return pushed and tt.Aggregate(operator, field, pushed, span=query.span)
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            if len(list(source_calls(inner))) > 1:
                return None
            pushed = push(inner, passing, signatures)
            return pushed and replace(query, query=pushed)
        case tt.Join():
            return _push_into_join(query, passing, signatures)
        case tt.Hole():
            return None
        case _:
            assert_never(query)


def _push_into_join(
    query: tt.Join, passing: tuple[tt.Arg, ...], signatures: Signatures | None
) -> tt.Query | None:
    is_left = [takes(query.left, a.name, signatures) for a in passing]
    if None in is_left:
        return None
    to_left = tuple(a for a, here in zip(passing, is_left, strict=True) if here)
    taken = {a.name for a in query.passing}
    to_right = tuple(
        a for a, here in zip(passing, is_left, strict=True) if not here and a.name not in taken
    )
    hidden = outputs_of(query.left, signatures) if to_right else _NOTHING
    if hidden is None or any(n in hidden for a in to_right for n in value_names(a.value)):
        return None
    new_left = push(query.left, to_left, signatures)
    return new_left and tt.Join(new_left, query.right, (*query.passing, *to_right), span=query.span)


def takes(query: tt.Query, name: str, signatures: Signatures | None) -> bool | None:
    """Return whether a call of the query has an input of that name without a value.

    None if that is not known.
    """
    match query:
        case tt.Call(selector, function, args):
            signature = signatures and signatures.function(selector.class_name, function)
            if not signature:
                return None
            parameter = signature.parameter(name)
            has_value = any(a.name == name and not isinstance(a.value, tt.Undefined) for a in args)
            return parameter is not None and parameter.is_input and not has_value
        case tt.Filter(inner) | tt.Aggregate(query=inner):
            return takes(inner, name, signatures)
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            return takes(inner, name, signatures)
        case tt.Join(left, right, passing):
            here = takes(left, name, signatures)
            if here is not False or any(a.name == name for a in passing):
                return here
            return takes(right, name, signatures)
        case tt.Hole():
            return None
        case _:
            assert_never(query)


# ------------------------------------------------------------------------------------ names


def outputs_of(query: tt.Query, signatures: Signatures | None) -> Names | None:
    """Return the names that a query adds to the scope; None if they are not known."""
    match query:
        case tt.Call(selector, function):
            signature = signatures and signatures.function(selector.class_name, function)
            if not signature:
                return None
            return frozenset([p.name for p in signature.parameters if p.direction == "out"])
        case tt.Filter(inner) | tt.Sort(inner) | tt.Slice(inner):
            return outputs_of(inner, signatures)
        case tt.Projection(inner, values, keeps_all):
            names = frozenset(map(tt.computed_name, values))
            all_names = outputs_of(inner, signatures) if keeps_all else _NOTHING
            return None if all_names is None else all_names | names
        case tt.Join(left, right):
            ours, theirs = outputs_of(left, signatures), outputs_of(right, signatures)
            return None if ours is None or theirs is None else ours | theirs
        case tt.Aggregate(operator):
            return frozenset((operator,))
        case tt.Hole():
            return None
        case _:
            assert_never(query)


def free_names(query: tt.Query, signatures: Signatures | None = None) -> Names:
    """Return the names that a query takes from the scope before it."""
    match query:
        case tt.Call(selector, _, args):
            names = [n for a in (*selector.attributes, *args) for n in value_names(a.value)]
            return frozenset(names) if names else _NOTHING
        case tt.Filter(inner, predicate):
            used = {*compared_names(predicate), *passed_names(predicate, signatures)}
            used -= outputs_of(inner, signatures) or _NOTHING
            return free_names(inner, signatures) | used
        case tt.Join(left, right, passing):
            used = {n for a in passing for n in value_names(a.value)}
            used |= free_names(right, signatures)
            used -= outputs_of(left, signatures) or _NOTHING
            return free_names(left, signatures) | used
        case tt.Aggregate(_, _, inner):
            return free_names(inner, signatures)
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            used = {n for v in _values_of(query) for n in value_names(v)}
            used -= outputs_of(inner, signatures) or _NOTHING
            return free_names(inner, signatures) | used
        case tt.Hole():
            return _NOTHING
        case _:
            assert_never(query)


def _values_of(query: tt.Projection | tt.Sort | tt.Slice) -> tuple[tt.Value, ...]:
    match query:
        case tt.Projection(_, values):
            return values
        case tt.Sort(_, key):
            return (key,)
        case tt.Slice(_, start, end):
            return (start,) if end is None else (start, end)


def resolve(
    conditions: Iterable[Condition],
    outputs: list[Names | None],
    signatures: Signatures | None = None,
) -> Iterator[Resolved]:
    """Yield the clauses with the outputs that their names refer to."""
    for condition in conditions:
        literals = []
        everything: dict[str, tuple[int, ...]] = {}
        for key, node in condition.clause:
            names = {*compared_names(node), *passed_names(node, signatures)}
            owners = {n: _owners(n, condition, outputs) for n in sorted(names)}
            everything.update(owners)
            literals.append(((*key, tuple(owners.items())), node))
        yield Resolved(tuple(literals), tuple(everything.items()))


def _owners(name: str, place: Condition, outputs: list[Names | None]) -> tuple[int, ...]:
    """Return the links a name may refer to: one if outputs are known, none for an outer name."""
    for index in range(place.end, -1, -1):
        names = outputs[index]
        if names is None:
            return tuple(range(min(place.start, index), index + 1))
        if name in names:
            return (index,)
    return ()


def _simplify_resolved(found: Iterable[Resolved]) -> list[Resolved]:
    clauses = simplify([r.clause for r in found])
    return [Resolved(c, tuple({n: o for key, _ in c for n, o in key[-1]}.items())) for c in clauses]


def lasting_facts(query: tt.Query, signatures: Signatures | None = None) -> set[frozenset[Key]]:
    """Return the clauses that hold of every result, as far as their names still mean the same."""
    links, conditions = flatten(query, signatures)
    outputs = [outputs_of(link.query, signatures) for link in links]
    facts = set()
    for condition, resolved in zip(
        conditions, resolve(conditions, outputs, signatures), strict=True
    ):
        last = Condition((), condition.start, len(links) - 1)
        if all(_owners(name, last, outputs) == owners for name, owners in resolved.owners):
            facts.add(frozenset(key for key, _ in condition.clause))
    return facts


# ------------------------------------------------------------------------------------ order


def _order(
    links: list[Link],
    outputs: list[Names | None],
    found: list[Resolved],
    signatures: Signatures | None,
) -> list[int]:
    """Return the smallest order by function names that keeps every name's meaning."""
    names = [tuple(map(qualify, source_calls(link.query))) for link in links]
    if all(a < b for a, b in zip(names, names[1:], strict=False)):
        return list(range(len(links)))
    # Calls of one function share their outputs; only aggregations of it are left to the text.
    keys = [
        (n, repr(link.query) if names.count(n) > 1 else "")
        for n, link in zip(names, links, strict=True)
    ]
    before = _must_precede(links, outputs, found, signatures)
    waiting = sorted(range(len(links)), key=keys.__getitem__)
    order: list[int] = []
    while waiting:
        ready = next(i for i in waiting if before[i].issubset(order))
        waiting.remove(ready)
        order.append(ready)
    return order


def _must_precede(
    links: list[Link],
    outputs: list[Names | None],
    found: list[Resolved],
    signatures: Signatures | None,
) -> list[set[int]]:
    """Return, for every link, those that have to stay on its left."""
    reads = [free_names(link.query, signatures) for link in links]
    before: list[set[int]] = [set() for _ in links]
    for right, theirs in enumerate(outputs):
        for earlier in range(right):
            ours = outputs[earlier]
            # A link that keeps its passing has to stay the right side of its join.
            fixed = links[earlier].passing or links[right].passing
            if (
                fixed
                or ours is None
                or theirs is None
                or _clash(ours, reads[earlier], theirs, reads[right])
            ):
                before[right].add(earlier)
    for clause in found:
        needed = clause.links
        for name, owners in clause.owners:
            after = owners[-1] + 1 if owners else 0
            shadow = _first_with(name, outputs, after)
            if shadow is not None:
                # A clause about outer names alone stands before the first link that hides one.
                before[shadow] |= needed - {shadow} if needed else set(range(shadow))
    return before


def _clash(ours: Names, our_reads: Names, theirs: Names, their_reads: Names) -> bool:
    return bool(ours & theirs or ours & their_reads or our_reads & theirs)


def _first_with(name: str, outputs: list[Names | None], start: int) -> int | None:
    for index in range(start, len(outputs)):
        names = outputs[index]
        if names is None or name in names:
            return index
    return None


# ------------------------------------------------------------------------------ put together


def _build(
    links: list[Link],
    outputs: list[Names | None],
    found: list[Resolved],
    order: list[int],
    signatures: Signatures | None,
    *,
    keeps_order: bool = False,
) -> tt.Query:
    place = {link: number for number, link in enumerate(order)}
    alone: dict[int, list[Clause]] = {}
    across: dict[int, list[Clause]] = {}
    for resolved in found:
        needed = {place[index] for index in resolved.links} or {0}
        (alone if len(needed) == 1 else across).setdefault(max(needed), []).append(resolved.clause)
    earlier: Names | None = _NOTHING
    result: tt.Query | None = None
    for number, index in enumerate(order):
        query, passing = links[index].query, links[index].passing
        if result is not None and not passing:
            query, passing = _lift(query, earlier, signatures)
        query = _filter_query(query, alone.get(number, ()))
        if isinstance(query, tt.Filter) and isinstance(query.query, tt.Projection | tt.Sort):
            query = canonical_query(query, signatures, keeps_order=keeps_order)
        if links[index].passing:  # a join itself: the clauses have a place inside
            query, passing = settle(query, passing, signatures)
        result = query if result is None else tt.Join(result, query, sorted_args(passing))
        result = _filter_query(result, across.get(number, ()))
        names = outputs[index]
        earlier = None if earlier is None or names is None else earlier | names
    if result is None:
        raise AssertionError("a query has at least one link")
    return result


def _filter_query(query: tt.Query, conditions: Iterable[Clause]) -> tt.Query:
    conditions = tuple(conditions)
    return tt.Filter(query, conjunction(conditions), span=query.span) if conditions else query


def _lift(
    query: tt.Query, earlier: Names | None, signatures: Signatures | None
) -> tuple[tt.Query, tuple[tt.Arg, ...]]:
    """Return the query without the arguments passed from links before it, and those arguments."""
    match query:
        case tt.Call(selector, function, args):
            passed = tuple(
                a
                for a in args
                if isinstance(a.value, tt.VarRef) and (earlier is None or a.value.name in earlier)
            )
            if not passed:
                return query, ()
            kept_args = tuple(a for a in args if a not in passed)
            return tt.Call(selector, function, kept_args, span=query.span), passed
        case tt.Filter(inner, predicate):
            form, passed = _lift(inner, earlier, signatures)
            return tt.Filter(form, predicate, span=query.span), passed
        case tt.Aggregate(operator, field, inner):
            form, passed = _lift(inner, earlier, signatures)
            form = canonical_query(form, signatures) if passed else form
            return tt.Aggregate(operator, field, form, span=query.span), passed
        case tt.Projection(inner) | tt.Sort(inner) | tt.Slice(inner):
            form, passed = _lift(inner, earlier, signatures)
            return replace(query, query=form), passed
        case tt.Join(left, right, passing):
            first, passed = _lift(left, earlier, signatures)
            second, others = _lift(right, earlier, signatures)
            form = tt.Join(first, second, passing, span=query.span)
            passed = (*passed, *others)
            if all(_takers(form, a.name, signatures) == 1 for a in passed):
                return form, passed
            return query, ()
        case tt.Hole():
            return query, ()
        case _:
            assert_never(query)
