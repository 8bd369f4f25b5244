"""Words of our own in descriptions: each form of the table, and no words for two programs."""

from collections import Counter
from dataclasses import dataclass, fields, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.operators import operand_type
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.traverse import children, rewrite
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.types import (
    BOOLEAN,
    CURRENCY,
    DATE,
    LOCATION,
    NUMBER,
    STRING,
    TIME,
    Array,
    Entity,
    Enum,
    Measure,
)
from genie_dp.skills.model import SkillClass, SkillFunction, SkillLibrary
from genie_dp.synthesis.describe_words import FORMS, OwnWords, sort_of_value
from tests.golden import cases
from tests.languages.thingtalk import strategies

FORM_CASES = "describe/forms.txt"
WORD_CASES = "describe/words.txt"
TYPES = {
    "age": NUMBER, "size": Measure("byte"), "price": CURRENCY, "date": DATE, "time": TIME,
    "title": STRING, "owner": Entity("tt:contact"), "is_open": BOOLEAN,
    "state": Enum(("on", "stand_by")), "place": LOCATION, "labels": Array(STRING),
    "likes": NUMBER, "topics": STRING, "sold": BOOLEAN,
}  # fmt: skip


@dataclass(frozen=True)
class _Silent:
    """Templates that say nothing."""

    def noun(self, query):
        return None

    when = verb = command = noun


def library_of(*signatures):
    """Return a library of functions that have no phrases."""
    classes = {}
    for signature in signatures:
        name = signature.class_name
        known = classes.get(name, {})
        classes[name] = {**known, signature.name: SkillFunction(signature, name)}
    return SkillLibrary(
        classes={
            name: SkillClass(name, (name,), functions, name.rpartition(".")[2])
            for name, functions in classes.items()
        }
    )


def words_of(program, library):
    return OwnWords(library, _Silent()).program(canonical(program, library))


def _shop():
    outputs = tuple(Parameter(name, "out", type_) for name, type_ in TYPES.items())
    inputs = (Parameter("query", "in opt", STRING), Parameter("near", "in req", LOCATION))
    parameters = (*inputs, *outputs)
    return library_of(
        Signature("com.shop", "items", "query", parameters, is_monitorable=True, is_list=True),
        Signature("com.shop", "till", "query", outputs[:4], is_monitorable=True),
        Signature("com.shop", "order", "action", inputs),
        Signature("com.bank", "accounts", "query", outputs[:3], is_monitorable=True, is_list=True),
    )


SHOP = _shop()


# --------------------------------------------------------------------------------------- forms


@pytest.mark.parametrize("case", cases(FORM_CASES), ids=str)
def test_condition_in_english(case, golden):
    program = parse(f"now => (@com.shop.items()) filter {case.input} => notify")
    assert not [p for p in check(program, SHOP) if p.severity == "error"]
    said = words_of(program, SHOP)
    golden(case, said.removeprefix("Get the items results from shop where "))


def test_every_form_has_a_case():
    wanted = {
        (sort, operator, negated)
        for sort, forms in FORMS.items()
        for operator in forms
        for negated in (False, True)
    }
    missing = wanted - {case for c in cases(FORM_CASES) for case in _forms_of(c.input)}
    assert missing == set()


def _forms_of(text):
    """Yield the (sort, operator, negated) of a condition."""
    program = parse(f"now => (@com.shop.items()) filter {text} => notify")

    def visit(node, negated):
        if isinstance(node, ast.Atom) and node.name in TYPES:
            yield sort_of_value(TYPES[node.name]), node.operator, negated
        for child in children(node):
            yield from visit(child, negated != isinstance(node, ast.Not))

    yield from visit(program.rules[0].query.predicate, False)


def test_every_operator_has_a_form_on_every_type_that_takes_it():
    for type_ in TYPES.values():
        operators = (*ast.OPERATORS, *ast.SOFT_OPERATORS)
        taken = {o for o in operators if operand_type(o, type_) is not None}
        assert taken == set(FORMS[sort_of_value(type_)])


# --------------------------------------------------------------------------------------- programs


@pytest.mark.parametrize("case", cases(WORD_CASES), ids=str)
def test_program_in_words_of_our_own(case, golden):
    program = parse(case.input)
    assert not [p for p in check(program, SHOP) if p.severity == "error"]
    golden(case, words_of(program, SHOP))


# -------------------------------------------------------------------------------- the law of words


def _changed(node, rng):
    """Return a node that says something else, None where nothing is known to."""
    match node:
        case ast.Atom(_, operator):
            others = [
                o for o in (">", "<", ">=", "<=", "==", "=~", "~=", "starts_with", "ends_with")
                if o != operator
            ]  # fmt: skip
            return rng.choice((ast.Not(node), replace(node, operator=rng.choice(others))))
        case ast.Not(operand):
            return operand
        case ast.And(operands):
            first, *rest = operands
            regrouped = (
                ast.Or((ast.And((first, o.operands[0])), *o.operands[1:]))
                for o in rest
                if isinstance(o, ast.Or)
            )
            return rng.choice((ast.Or(operands), first, *regrouped))
        case ast.Or(operands):
            return rng.choice((ast.And(operands), operands[-1], ast.Not(node)))
        case ast.GetPredicate():
            return ast.Not(node)
        case _:
            return _changed_value(node, rng)


def _changed_value(node, rng):
    match node:
        case ast.NumberValue(number):
            return ast.NumberValue(number + 1)
        case ast.StringValue(text):
            return ast.StringValue(f"{text} {text}")
        case ast.DateEdge(edge):
            return replace(node, edge="end_of" if edge == "start_of" else "start_of")
        case ast.DateOffset(base, sign):
            return rng.choice((base, replace(node, sign="+" if sign == "-" else "-")))
        case _:
            return _changed_query(node)


def _changed_query(node):
    match node:
        case ast.Aggregate(operator):
            others = {"min", "max", "sum", "avg"} - {operator}
            return None if operator == "count" else replace(node, operator=min(others))
        case ast.Filter(ast.Join(left, right, passing), predicate):
            return ast.Join(left, ast.Filter(right, predicate), passing)
        case ast.Filter(ast.Aggregate() as inner, predicate):
            return replace(inner, query=ast.Filter(inner.query, predicate))
        case ast.Join(ast.Aggregate() as left, right, ()):
            return replace(left, query=ast.Join(left.query, right))
        case ast.Join(left, ast.Filter(right, predicate), passing):
            return ast.Filter(ast.Join(left, right, passing), predicate)
        case ast.Filter(query):
            return query
        case _:
            return _changed_stream(node)


def _changed_stream(node):
    match node:
        case ast.Monitor(ast.Filter(inner, predicate), on_new):
            return ast.StreamFilter(ast.Monitor(inner, on_new), predicate)
        case ast.Monitor(query, on_new) if on_new:
            return ast.Monitor(query)
        case ast.Edge(stream, predicate):
            return ast.StreamFilter(stream, predicate)
        case ast.StreamFilter(stream, predicate):
            return ast.Edge(stream, predicate)
        case ast.Call(selector, _, args) if args or selector.attributes:
            return replace(node, args=args[1:], selector=ast.Selector(selector.class_name))
        case _:
            return None


def mutants(program, rng, count=4):
    """Yield programs that differ in one node."""
    found = []

    def note(node):
        found.append(node)
        return node

    rewrite(program, note)
    for node in rng.sample(found, len(found)):
        other = _changed(node, rng)
        if other is None:
            continue
        yield rewrite(program, lambda n, node=node, other=other: other if n is node else n)
        count -= 1
        if not count:
            return


def _typed(program, library):
    return not any(p.severity == "error" for p in check(program, library))


def assert_programs_differ_in_words(rng, counts=None):
    lib = strategies.library(rng)
    library = library_of(*lib.signatures.values())
    is_policy = rng.random() < 0.2
    program = (strategies.policy if is_policy else strategies.program)(rng, lib)
    said = {}
    for one in (program, *mutants(program, rng)):
        if not _typed(one, library):
            continue
        try:
            form = canonical(one, library)
        except GenieError:
            continue
        words = OwnWords(library, _Silent()).program(form)
        assert _plain(said.setdefault(words, form)) == _plain(form), words
        if counts is not None:
            counts["programs"] += 1
    if counts is not None:
        counts["different"] += len(said) > 1


def _plain(form):
    """Return a program without what makes no difference in words.

    That is the identifier of an entity with a name, and whether a list of one is a list.
    """

    def change(node):
        if isinstance(node, ast.Atom) and node.operator == "in_array":
            items = getattr(node.value, "items", ())
            if len(items) == 1:
                return replace(node, operator="==", value=items[0])
        if isinstance(node, ast.EntityValue) and node.display:
            return replace(node, value=None)
        return node

    return canonical(rewrite(form, change))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_programs_that_differ_are_said_otherwise(rng):
    assert_programs_differ_in_words(rng)


@pytest.mark.slow
def test_many_programs_that_differ_are_said_otherwise():
    counts = Counter()
    for seed in range(1500):
        assert_programs_differ_in_words(Random(f"words:{seed}"), counts)
    assert counts["programs"] > 3_000
    assert counts["different"] > 900


def test_nothing_of_a_value_is_left_out():
    """All values of a program stand in its words."""
    for seed in range(300):
        rng = Random(f"values:{seed}")
        lib = strategies.library(rng)
        library = library_of(*lib.signatures.values())
        form = canonical(strategies.program(rng, lib), library)
        words = OwnWords(library, _Silent()).program(form)
        for text in _texts(form):
            assert text in words, (text, words)


def _texts(node):
    if isinstance(node, ast.StringValue):
        yield f'"{node.text}"'
    elif isinstance(node, ast.EntityValue):
        yield node.display or node.value
    elif hasattr(node, "__dataclass_fields__"):
        for name in (f.name for f in fields(node) if f.name != "span"):
            value = getattr(node, name)
            for item in value if isinstance(value, tuple) else (value,):
                yield from _texts(item)
