"""The canonical form of ThingTalk, rule by rule: tests/data/canonical."""

import timeit
from decimal import Decimal
from functools import cache

import pytest

from genie_dp.errors import GenieError
from genie_dp.languages.thingtalk.ast import MeasureValue, Program
from genie_dp.languages.thingtalk.canonical import canonical
from genie_dp.languages.thingtalk.operators import comparable, equal
from genie_dp.languages.thingtalk.parser import parse, parse_classes
from genie_dp.languages.thingtalk.predicates import canonical_value
from genie_dp.languages.thingtalk.render import render
from genie_dp.languages.thingtalk.typecheck import check
from genie_dp.languages.units import SHIPPED, UNIT_SYNONYMS
from tests.golden import DATA, cases
from tests.languages.thingtalk.thingtalk_library import Classes, library_of

TOPICS = ("arguments", "predicates", "questions", "joins", "clauses", "streams", "policies")
RULES = [case for topic in TOPICS for case in cases(f"canonical/{topic}.txt")]


@cache
def skills() -> Classes:
    text = (DATA / "canonical" / "skills.tt").read_text(encoding="utf-8")
    return library_of(parse_classes(text, file="skills.tt"))


@pytest.mark.parametrize("case", RULES, ids=str)
def test_each_rule_gives_the_one_form_which_stays_as_it_is(case, golden):
    form = canonical(parse(case.input), skills())
    golden(case, render(form))
    assert parse(render(form)) == form
    assert check(form, skills()) == []
    assert canonical(form, skills()) == form


@pytest.mark.parametrize("case", cases("canonical/without_signatures.txt"), ids=str)
def test_without_signatures_only_what_is_certain_moves(case, golden):
    form = canonical(parse(case.input))
    golden(case, render(form))
    assert canonical(form) == form


def pairs(number: int) -> str:
    either = " || ".join(f"(level > {i} && views < {i})" for i in range(number))
    return f"now => @shop.list() filter {either} => notify"


def test_a_condition_that_blows_up_is_refused_with_its_place():
    assert render(canonical(parse(pairs(6)), skills())).count("&&") == 2**6 - 1
    with pytest.raises(GenieError) as caught:
        canonical(parse(pairs(7)), skills())
    (problem,) = caught.value.problems
    assert problem.code == "C001"
    assert problem.span is not None
    assert problem.span.column == len("now => @shop.list() filter ") + 1
    assert problem.hint is not None
    absorbed = " || ".join(["(level > 1 && views < 2)"] * 30)  # do not count
    form = canonical(parse(f"now => @shop.list() filter {absorbed} => notify"), skills())
    assert render(form) == "now => (@shop.list()) filter level > 1 && views < 2 => notify"


@pytest.mark.slow
def test_as_many_conditions_as_one_likes_may_refute_a_part_of_others():
    others = " && ".join(f"(level > 1 || views > {i})" for i in range(1_001))
    form = canonical(parse(f"now => @shop.list() filter !(level > 1) && {others} => notify"))
    found = render(form)
    assert "||" not in found
    assert found.count("views > ") == 1_001


def test_the_order_of_a_join_does_not_depend_on_filters():
    plain = canonical(parse("now => @news.front() join @light.state() => notify"), skills())
    for condition in ("level > 3", "views > 3", "@mail.inbox() { size > 1KB }", "false"):
        text = f"now => (@news.front() join @light.state()) filter {condition} => notify"
        form = render(canonical(parse(text), skills()))
        assert form.index("@light") < form.index("@news"), form
    assert render(plain) == "now => (@light.state()) join (@news.front()) => notify"


def test_no_two_units_are_one_but_those_that_canonical_form_joins():
    kept = [unit for unit in SHIPPED if unit not in UNIT_SYNONYMS]
    amounts = [(Decimal(1), unit) for unit in kept], [(Decimal(1000), unit) for unit in kept]
    found = ([comparable(MeasureValue((part,))) for part in row] for row in amounts)
    meanings = zip(*found, strict=True)  # at two amounts, for zero of C and K differs
    assert len(set(meanings)) == len(kept)
    for unit, other in UNIT_SYNONYMS.items():
        one, same = (MeasureValue(((Decimal(1), u),)) for u in (unit, other))
        assert equal(one, same)
        assert canonical_value(one) == same


def test_every_rule_of_a_program_is_canonical():
    rules = (
        "now => @light.state() filter true => notify; now => @light.set(power=enum(on), level=1)"
    )
    form = canonical(parse(f"{{ {rules}; }}"), skills())
    assert isinstance(form, Program)
    assert [render(Program((rule,))) for rule in form.rules] == [
        "now => @light.state() => notify",
        "now => @light.set(level = 1, power = enum(on))",
    ]


@pytest.mark.slow
def test_a_typical_program_takes_less_than_150_microseconds():
    text = (
        'monitor (@mail.inbox(important=true, folder="work") filter subject =~ "a"'
        ' && sender == "b")'
        " => @speech.translate(text=subject) => @mail.send(to=sender, subject=translation)"
    )
    program, library = parse(text), skills()
    best = min(timeit.repeat(lambda: canonical(program, library), number=50, repeat=20)) / 50
    assert best < 150e-6 * 3, "three times the aim, for slow and shared machines"
