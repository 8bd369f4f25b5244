"""What policies let people run: the program, restricted, or nothing."""

from datetime import datetime

import pytest

from genie_dp.languages.thingtalk.ast import EntityValue, Policy, Program
from genie_dp.languages.thingtalk.operators import Moment
from genie_dp.languages.thingtalk.parser import parse
from genie_dp.languages.thingtalk.policies import allowed
from genie_dp.languages.thingtalk.render import render
from tests.languages.thingtalk.test_canonical import skills

ANN = EntityValue("a1", "tt:contact", "Ann")

ALLOWED = [
    # policy, program, what is left of it
    (
        'source == "ann" : now => @shop.list filter level > 1 => notify',
        "now => @shop.list() => notify",
        "now => (@shop.list()) filter level > 1 => notify",
    ),
    (
        "true : now => @shop.list filter level > 1 => notify",
        "monitor (@shop.list() filter views > 2) => notify",
        "monitor (((@shop.list()) filter level > 1) filter views > 2) => notify",
    ),
    (
        "true : now => @shop.list filter level > 1 => notify",
        "now => agg count of (@shop.list()) => notify",
        "now => agg count of ((@shop.list()) filter level > 1) => notify",
    ),
    (
        'true : now => @shop.list filter text == "a" => notify',
        'now => @shop.list(text="a") => notify',
        'now => @shop.list(text = "a") => notify',
    ),
    (
        "true : now => @shop.list filter name =~ text => notify",
        'now => @shop.list(text="a") => notify',
        'now => (@shop.list(text = "a")) filter name =~ "a" => notify',
    ),
    ("true : now => @light.set filter level <= 3", "now => @light.set(level=2)", "same"),
    ("true : now => *", "now => @light.set(level=2)", "same"),
    ("true : now => @light.*", "now => @light.set(level=2)", "same"),
    ("true : * => notify", "now => @shop.list() => notify", "same"),
    ("true : * => @light.set filter level <= 3", "now => @light.set(level=2)", "same"),
    ("true : * => *", "now => @light.set(level=2)", "same"),
    ("true : * => @light.*", "timer(base=now, interval=1h) => @light.set(level=2)", "same"),
    (
        "true : @shop.list => @light.set filter level <= 3",
        "now => @shop.list() => @light.set(level=views)",
        "now => (@shop.list()) filter views <= 3 => @light.set(level = views)",
    ),
    (
        "true : @shop.list => @light.set filter level <= 3",
        "monitor (@shop.list()) => @light.set(level=views)",
        "(monitor (@shop.list())) filter views <= 3 => @light.set(level = views)",
    ),
]
REFUSED = [
    (
        "true : now => @news.front => notify",
        'now => (@news.front()) filter @shop.list() { name =~ "secret" } => notify',
    ),
    (
        "true : * => notify",
        'edge (monitor (@news.front())) on @shop.list() { name =~ "secret" } => notify',
    ),
    (
        "true : * => notify",
        "attimer(time=makeTime(8, 0)) => @light.state() filter @shop.list() { true } => notify",
    ),
    (
        "true : @shop.list => @speech.say filter text =~ 'a'",
        "now => @shop.list() => @speech.say(text=$event)",
    ),
    ("true : now => @light.set filter level <= 3", "now => @light.set(level=NUMBER_0)"),
    ("true : now => @shop.pay filter sum < 3$usd", "now => @shop.pay(sum=1$eur)"),
    ('source == "bob" : now => @shop.list => notify', "now => @shop.list() => notify"),
    ("true : now => @news.front => notify", "now => @shop.list() => notify"),
    ("true : now => @news.* => notify", "now => @shop.list() => notify"),
    ("true : now => @shop.list => notify", "now => @shop.list() => @light.set(level=1)"),
    ("true : now => @light.set", "now => @shop.list() => @light.set(level=1)"),
    ("true : @shop.list => @light.set", "now => @light.set(level=1)"),
    ("true : now => @light.set filter level <= 3", "now => @light.set(level=4)"),
    ("true : * => @light.set filter level <= 3", "now => @light.set(level=4)"),
    ("true : @light.* => @light.set", "now => @light.set(level=4)"),
    ("true : * => @light.set", "now => @shop.list() => notify"),
    ("true : now => @light.set filter !(level > 3)", "now => @light.set(power=enum(on))"),
    ("true : * => notify", "now => @shop.list() join @news.front() => notify"),
    ("true : now => *", "{ now => @light.set(level=1); now => @light.set(level=1); }"),
]


def part_of(policy: str, program: str) -> str | None:
    rules, asked = parse(policy), parse(program)
    assert isinstance(rules, Policy)
    assert isinstance(asked, Program)
    found = allowed(rules, ANN, asked, skills(), moment=Moment(datetime(2026, 11, 20)))
    return None if found is None else render(found)


@pytest.mark.parametrize(("policy", "program", "expected"), ALLOWED)
def test_a_policy_lets_a_program_run_as_far_as_it_says(
    policy: str, program: str, expected: str
) -> None:
    assert part_of(policy, program) == (render(parse(program)) if expected == "same" else expected)


@pytest.mark.parametrize(("policy", "program"), REFUSED)
def test_a_policy_refuses_what_it_does_not_speak_of(policy: str, program: str) -> None:
    assert part_of(policy, program) is None
