"""Laws of reading and printing ThingTalk, over random trees."""

import logging
from datetime import date, datetime
from decimal import Decimal
from importlib.resources import files
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from lark import Lark

from genie_dp.errors import GenieError, Span
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk import declarations as decl
from genie_dp.languages.thingtalk.parser import (
    parse,
    parse_fragment,
    parse_library,
    parse_type,
)
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.traverse import children
from genie_dp.languages.types import BASICS, Array, Entity, Enum, Measure, Type
from genie_dp.languages.units import SHIPPED

# Most are keywords somewhere: none of them is reserved.
WORDS = """
a b_1 size title query count time filter on of join and or source base interval is notify agg
contains edge monitor timer attimer new enum in out list class extends import x
"""
NAMES = st.sampled_from(WORDS.split())
CLASSES = st.sampled_from(["com.x", "org.a-b.query", "light", "security-camera"])
KINDS = st.sampled_from(["tt:username", "com.x-y.z:song"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
DECIMALS = st.decimals(-1000, 1000, places=2, allow_nan=False)
TIME_UNITS = st.sampled_from([unit.name for unit in SHIPPED.of_base("ms")])


def tuples(of: st.SearchStrategy[Any], most: int, least: int = 0) -> st.SearchStrategy[Any]:
    return st.lists(of, min_size=least, max_size=most).map(tuple)


def degrees(most: int) -> st.SearchStrategy[Decimal]:
    return st.decimals(-most, most, places=2)


def measures(units: st.SearchStrategy[str]) -> st.SearchStrategy[ast.MeasureValue]:

    def of(unit: str) -> st.SearchStrategy[ast.MeasureValue]:
        alike = st.sampled_from([u.name for u in SHIPPED.of_base(SHIPPED.base(unit))])
        parts = st.lists(st.tuples(DECIMALS, alike), min_size=1, max_size=3)
        return parts.map(lambda found: ast.MeasureValue(tuple(found)))

    return units.flatmap(of)


SLOTS = st.sampled_from(["NUMBER_0", "DATE_1", "GENERIC_ENTITY_com.x:song_2", "MEASURE_C_0"])
REFERENCES = st.one_of(NAMES.map(ast.VarRef), SLOTS.map(ast.SlotValue), st.builds(ast.Undefined))
DATES = st.one_of(
    st.dates(date(1900, 1, 1)).map(lambda d: ast.DateValue(d.isoformat())),
    st.datetimes(datetime(1900, 1, 1)).map(lambda d: ast.DateValue(d.isoformat())),
    st.builds(ast.DateNow),
    st.builds(ast.DateEdge, st.sampled_from(["start_of", "end_of"]), TIME_UNITS),
    st.builds(ast.ContextValue, tuples(NAMES, 3, 1)),
    REFERENCES,
)
MOVED = st.recursive(
    DATES,
    lambda base: st.builds(
        ast.DateOffset, base, st.sampled_from("+-"), measures(TIME_UNITS) | REFERENCES
    ),
    max_leaves=3,
)
SCALARS = st.one_of(
    TEXTS.map(ast.StringValue),
    DECIMALS.map(ast.NumberValue),
    st.booleans().map(ast.BooleanValue),
    NAMES.map(ast.EnumValue),
    measures(st.sampled_from(list(SHIPPED))),
    st.builds(ast.CurrencyValue, DECIMALS, st.sampled_from(["usd", "eur"])),
    st.builds(ast.TimeValue, st.integers(0, 23), st.integers(0, 59), st.integers(0, 59)),
    st.builds(ast.LocationValue, degrees(90), degrees(180), st.none() | TEXTS),
    st.builds(ast.EntityValue, st.none() | TEXTS, KINDS, st.none() | TEXTS),
    st.builds(ast.EventValue),
    MOVED,
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3).map(lambda items: ast.ArrayValue(tuple(items)))
ARGS = tuples(st.builds(ast.Arg, NAMES, VALUES), 2)
PASSING = tuples(st.builds(ast.Arg, NAMES, NAMES.map(ast.VarRef)), 2)
CALLS = st.builds(
    ast.Call,
    st.builds(ast.Selector, CLASSES, st.just(()) | ARGS),
    NAMES,
    ARGS,
)


def several(kind: Any, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.lists(inner, min_size=2, max_size=3).map(lambda items: kind(tuple(items)))


# Only now, true, false and null are never the names of outputs that are passed.
FIELDS = NAMES | st.lists(NAMES, min_size=2, max_size=3).map(".".join)
OUTPUTS = FIELDS.map(ast.VarRef)
COMPUTED = st.one_of(
    st.builds(ast.Computed, st.sampled_from(ast.COMPUTATIONS), st.tuples(OUTPUTS)),
    st.builds(ast.Computed, st.just("distance"), st.tuples(OUTPUTS, DATES | OUTPUTS)),
    st.builds(
        ast.Computed,
        st.just("count"),
        st.tuples(
            st.builds(
                ast.ListFilter,
                FIELDS,
                st.builds(ast.Atom, st.just("value"), st.just("=~"), SCALARS),
            )
        ),
    ),
)
ALL_OPERATORS = st.sampled_from((*ast.OPERATORS, *ast.SOFT_OPERATORS))
PREDICATES = st.recursive(
    st.one_of(
        st.builds(ast.TrueP),
        st.builds(ast.FalseP),
        st.builds(ast.Atom, FIELDS, ALL_OPERATORS, VALUES | COMPUTED),
        st.builds(ast.Comparison, COMPUTED, ALL_OPERATORS, VALUES | COMPUTED),
    ),
    lambda inner: st.one_of(
        st.builds(ast.Not, inner),
        several(ast.And, inner),
        several(ast.Or, inner),
        st.builds(ast.GetPredicate, CALLS, inner),
    ),
    max_leaves=4,
)
PLACES = st.integers(1, 9).map(lambda n: ast.NumberValue(Decimal(n))) | SLOTS.map(ast.SlotValue)
QUERIES = st.recursive(
    CALLS,
    lambda inner: st.one_of(
        st.builds(ast.Filter, inner, PREDICATES),
        st.builds(ast.Join, inner, inner, PASSING),
        st.builds(ast.Aggregate, st.sampled_from(["max", "min", "sum", "avg"]), NAMES, inner),
        st.builds(ast.Aggregate, st.just("count"), st.none(), inner),
        st.builds(
            ast.Projection,
            inner,
            tuples(OUTPUTS | COMPUTED, 3, 1),
            st.booleans(),
        ),
        st.builds(ast.Sort, inner, OUTPUTS | COMPUTED, st.sampled_from(["asc", "desc"])),
        st.builds(ast.Slice, inner, PLACES, st.none() | PLACES),
    ),
    max_leaves=3,
)
STREAMS = st.recursive(
    st.one_of(
        st.builds(ast.AtTimer, VALUES),
        st.builds(ast.Timer, VALUES, VALUES),
        st.builds(ast.Monitor, QUERIES, tuples(NAMES, 3)),
    ),
    lambda inner: st.one_of(
        st.builds(ast.Edge, inner, PREDICATES),
        st.builds(ast.StreamFilter, inner, PREDICATES),
        st.builds(ast.StreamJoin, inner, QUERIES, PASSING),
    ),
    max_leaves=2,
)
ACTIONS = st.builds(ast.Notify) | CALLS
RULES = st.builds(ast.Rule, st.none() | STREAMS, st.none() | QUERIES, ACTIONS)
PROGRAMS = st.lists(RULES, min_size=1, max_size=2).map(lambda rules: ast.Program(tuple(rules)))
ALLOWED = st.one_of(
    st.builds(ast.PolicyFunction, CLASSES, NAMES, PREDICATES),
    st.builds(ast.PolicyFunction, CLASSES, st.none(), st.builds(ast.TrueP)),
    st.builds(ast.PolicyFunction, st.none(), st.none(), st.builds(ast.TrueP)),
)
POLICIES = st.builds(ast.Policy, PREDICATES, st.none() | ALLOWED, ALLOWED) | st.builds(
    ast.Policy, PREDICATES, ALLOWED, st.none()
)
TYPES: st.SearchStrategy[Type] = st.recursive(
    st.one_of(
        st.sampled_from(list(BASICS.values())),
        st.sampled_from(list(SHIPPED)).map(Measure),
        KINDS.map(Entity),
        st.lists(NAMES, min_size=1, max_size=3).map(lambda names: Enum(tuple(names))),
    ),
    lambda inner: inner.map(Array),
    max_leaves=2,
)


PARAMETERS = tuples(st.tuples(NAMES, TYPES), 2)


DATA = st.recursive(
    st.one_of(
        st.none(),
        TEXTS,
        st.booleans(),
        DECIMALS,
        NAMES.map(ast.EnumValue),
        st.builds(ast.MeasureValue, st.tuples(st.tuples(DECIMALS, TIME_UNITS))),
        st.builds(ast.EntityValue, st.none() | TEXTS, KINDS, st.none() | TEXTS),
        st.builds(ast.Undefined),
        st.dictionaries(NAMES, TYPES, min_size=1, max_size=2),
    ),
    lambda inner: (
        st.lists(inner, max_size=2).map(tuple) | st.dictionaries(NAMES, inner, max_size=2)
    ),
    max_leaves=3,
)


ANNOTATIONS = tuples(st.builds(decl.Annotation, NAMES, DATA, st.booleans()), 2)
DIRECTIONS = st.sampled_from(["in req", "in opt", "out"])
FUNCTIONS = st.builds(
    decl.FunctionDecl,
    kind=st.sampled_from(["query", "action"]),
    name=NAMES,
    params=tuples(st.builds(decl.ParamDecl, FIELDS, DIRECTIONS, TYPES, ANNOTATIONS), 3),
    is_monitorable=st.booleans(),
    is_list=st.booleans(),
    extends=tuples(NAMES, 2),
    annotations=ANNOTATIONS,
)
IMPORTS = st.builds(
    decl.ImportDecl, tuples(NAMES, 2, 1), CLASSES, tuples(st.tuples(NAMES, DATA), 1)
)
CLASS_DEFS = st.builds(
    decl.ClassDef,
    name=CLASSES,
    extends=tuples(CLASSES, 2),
    is_abstract=st.booleans(),
    imports=tuples(IMPORTS, 1),
    entities=tuples(st.builds(decl.EntityDecl, NAMES, tuples(NAMES | KINDS, 2), ANNOTATIONS), 1),
    functions=tuples(FUNCTIONS, 2),
    annotations=ANNOTATIONS,
)
BODIES = st.one_of(
    st.tuples(st.just("query"), QUERIES),
    st.tuples(st.just("stream"), STREAMS),
    st.tuples(st.just("action"), ACTIONS),
    st.tuples(st.just("program"), PROGRAMS),
)
EXAMPLES = st.builds(
    lambda body, parameters, said: decl.DatasetExample(body[0], parameters, body[1], said),
    BODIES,
    PARAMETERS,
    tuples(TEXTS, 2),
)
DATASETS = st.builds(decl.Dataset, CLASSES, st.none() | TEXTS, tuples(EXAMPLES, 2))


FRAGMENTS = st.builds(
    ast.Lambda,
    PARAMETERS,
    st.one_of(
        QUERIES,
        STREAMS,
        ACTIONS,
        PREDICATES,
        # A lone `true` is a predicate, a lone name may be a word such as `notify`; a lone list of
        # a measure's parts is a value like any other.
        VALUES.filter(lambda value: not isinstance(value, ast.BooleanValue | ast.VarRef)),
        PROGRAMS,
        POLICIES,
        st.builds(ast.OutputOf, QUERIES, FIELDS),
    ),
)


@given(PROGRAMS | POLICIES)
def test_reading_a_printed_program_gives_the_program_with_its_places(program):
    again = parse(render(program))
    assert again == program
    _check_places(again)


def _check_places(node: Any) -> None:
    assert isinstance(node.span, Span), node
    for child in children(node):
        assert _within(child.span, node.span), (node, child)
        _check_places(child)
    match node:
        case ast.Aggregate(field=str()):
            assert _within(node.field_span, node.span)
        case ast.Monitor():
            assert len(node.on_new_spans) == len(node.on_new)
            assert all(_within(span, node.span) for span in node.on_new_spans)
        case ast.OutputOf():
            assert _within(node.output_span, node.span)


def _within(inner: Span, outer: Span) -> bool:
    starts = [(span.line, span.column) for span in (outer, inner)]
    ends = [(span.end_line, span.end_column) for span in (inner, outer)]
    return starts == sorted(starts) and ends == sorted(ends) and starts[1] < ends[0]


@given(st.lists(CLASS_DEFS | DATASETS, max_size=2))
def test_reading_a_printed_skill_gives_the_skill(library):
    text = "\n".join(render(item) for item in library)
    assert parse_library(text, file="skill.tt") == tuple(library)


@given(FRAGMENTS, TYPES)
def test_reading_a_printed_body_or_type_gives_it(fragment, type_):
    assert parse_fragment(render(fragment), {}) == fragment
    assert parse_type(str(type_)) == type_


@given(st.data(), st.lists(CLASS_DEFS | DATASETS, min_size=1, max_size=2))
def test_a_damaged_skill_is_read_or_its_mistakes_lie_in_it(data, library):
    text = "\n".join(render(item) for item in library)
    at = data.draw(st.integers(0, len(text)))
    damage = data.draw(st.sampled_from(['"', "(", ")", "{", "}", ";", ",", "=", "x", "@", "%"]))
    end = at + data.draw(st.integers(0, 3))
    damaged = text[:at] + damage + text[end:]
    try:
        parse_library(damaged, file="skill.tt")
    except GenieError as error:
        last = damaged.count("\n") + 1
        spans = [problem.span for problem in error.problems]
        assert all(span is not None and 1 <= span.line <= last for span in spans)


def test_the_grammar_leaves_no_choice_to_the_parser_generator(caplog):
    grammar = files("genie_dp.languages.thingtalk") / "grammar.lark"
    with caplog.at_level(logging.DEBUG, logger="lark"):
        Lark(
            grammar.read_text(encoding="utf-8"),
            parser="lalr",
            start=["input", "library", "lone_type", "fragment"],
            debug=True,
        )
    assert [r.message for r in caplog.records if "conflict" in r.message] == []


def test_decimals_print_without_an_exponent():
    assert render(ast.NumberValue(Decimal("1E+3"))) == "1000"
    assert render(ast.NumberValue(Decimal("1E-3"))) == "0.001"
