"""Words of our own in descriptions: each form of the table, and no words for two programs."""

from dataclasses import dataclass, replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.thingtalk import ast
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.english import FORMS
from genie_dp.languages.thingtalk.operators import operand_type
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.traverse import children, rewrite, walk
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
from genie_dp.synthesis.describe_words import OwnWords, sort_of_value
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


@pytest.mark.parametrize("case", cases(FORM_CASES), ids=str)
def test_condition_in_english(case, golden):
    program = parse(f"now => (@com.shop.items()) filter {case.input} => notify")
    assert not [p for p in check(program, SHOP) if p.severity == "error"]
    said = words_of(program, SHOP)
    golden(case, said.removeprefix("Get the items results from shop where "))


def test_every_form_has_a_case():
    def forms_of(node, negated):
        if isinstance(node, ast.Atom) and node.name in TYPES:
            yield sort_of_value(TYPES[node.name]), node.operator, negated
        for child in children(node):
            yield from forms_of(child, negated != isinstance(node, ast.Not))

    found = set()
    for case in cases(FORM_CASES):
        program = parse(f"now => (@com.shop.items()) filter {case.input} => notify")
        found.update(forms_of(program.rules[0].query.predicate, False))
    wanted = {
        (sort, o, negated) for sort in FORMS for o in FORMS[sort] for negated in (False, True)
    }
    assert wanted - found == set()


def test_every_operator_has_a_form_on_every_type_that_takes_it():
    for type_ in TYPES.values():
        operators = (*ast.OPERATORS, *ast.SOFT_OPERATORS)
        taken = {o for o in operators if operand_type(o, type_) is not None}
        assert taken == set(FORMS[sort_of_value(type_)])


@pytest.mark.parametrize("case", cases(WORD_CASES), ids=str)
def test_program_in_words_of_our_own(case, golden):
    program = parse(case.input)
    assert not [p for p in check(program, SHOP) if p.severity == "error"]
    golden(case, words_of(program, SHOP))


def _changed(node, rng):
    """Return a node that says something else, None where nothing is known to."""
    match node:
        case ast.Atom(_, operator):
            others = {">", "<", ">=", "<=", "==", "=~", "~=", "starts_with", "ends_with"}
            other = rng.choice(sorted(others - {operator}))
            return rng.choice((ast.Not(node), replace(node, operator=other)))
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
        case ast.NumberValue(number):
            return ast.NumberValue(number + 1)
        case ast.StringValue(text):
            return ast.StringValue(f"{text} {text}")
        case ast.DateEdge(edge):
            return replace(node, edge="end_of" if edge == "start_of" else "start_of")
        case ast.DateOffset(base, sign):
            return rng.choice((base, replace(node, sign="+" if sign == "-" else "-")))
        case _:
            return _changed_source(node)


def _changed_source(node):
    match node:
        case ast.Aggregate("count"):
            return None
        case ast.Aggregate(operator):
            return replace(node, operator=min({"min", "max", "sum", "avg"} - {operator}))
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
    found = list(walk(program))
    for node in rng.sample(found, len(found)):
        other = _changed(node, rng)
        if other is not None and count:
            count -= 1
            yield rewrite(program, lambda n, node=node, other=other: other if n is node else n)


def said_of(rng):
    """Return words -> program of a random program and its mutants; two programs differ in words."""
    lib = strategies.library(rng)
    library = library_of(*lib.signatures.values())
    program = (strategies.policy if rng.random() < 0.2 else strategies.program)(rng, lib)
    said, count = {}, 0
    for one in (program, *mutants(program, rng)):
        if any(p.severity == "error" for p in check(one, library)):
            continue
        try:
            form = canonical(one, library)
        except GenieError:
            continue
        words = OwnWords(library, _Silent()).program(form)
        assert _plain(said.setdefault(words, form)) == _plain(form), words
        for text in _texts(form) if isinstance(form, ast.Program) else ():
            assert text in words, (text, words)
        count += 1
    return said, count


def _plain(form):
    """Return a program without the identifiers of entities with names, and lists of one."""

    def change(node):
        match node:
            case ast.Atom(_, "in_array", ast.ArrayValue((item,))):
                return replace(node, operator="==", value=item)
            case ast.EntityValue(_, _, str()):
                return replace(node, value=None)
            case _:
                return node

    return canonical(rewrite(form, change))


@settings(max_examples=150, deadline=None)
@given(st.randoms(use_true_random=False))
def test_programs_that_differ_are_said_otherwise_with_all_their_values(rng):
    said_of(rng)


@pytest.mark.slow
def test_many_programs_that_differ_are_said_otherwise():
    found = [said_of(Random(f"words:{seed}")) for seed in range(1000)]
    assert sum(count for _, count in found) > 2_000
    assert sum(len(said) > 1 for said, _ in found) > 600


def _texts(form):
    for node in walk(form):
        match node:
            case ast.StringValue(text):
                yield f'"{text}"'
            case ast.EntityValue(identifier, _, display):
                yield display or identifier
