"""What the benchmark of the gap report calls found, and the people that it invents."""

import gaps

from tests.private.gaps.gaps_setup import SAID, heard

MOW = gaps.Said("Mow", heard("mow the lawn"))
FEED = gaps.Said("Feed", heard("feed the cat"))
LOCK = gaps.Said("Lock", heard("lock the door", reason=""))


def test_people_say_few_or_many_sentences_always_the_same():
    crowd = gaps.population([MOW, FEED, LOCK], 2_000, seed=1)
    assert crowd == gaps.population([MOW, FEED, LOCK], 2_000, seed=1)
    assert {len(person) for person in crowd} == set(range(1, gaps.CAP + 1))
    counts = [sum(len(person) == n for person in crowd) for n in (1, 2, 20)]
    assert counts[0] > 1.5 * counts[1] > 2 * counts[2]


def test_a_finding_is_of_the_family_that_says_it_most():
    crowd = [[MOW]] * 40 + [[FEED]] * 30
    plan = gaps.plan_of(SAID, None)
    released = gaps.release_gaps(
        [[said.heard for said in person] for person in crowd], plan, lambda _: gaps.random.Random(0)
    )
    found = {one.text: one for one in gaps.findings(released, SAID, {MOW: 40, FEED: 30})}
    assert found["mow the lawn"].family == found["lawn"].family == "Mow"
    assert found["the cat"].family == "Feed"
    assert gaps.Finding("words", "the", 9, {"Mow": 5, "Feed": 5}).family == ""


def test_without_an_epsilon_nothing_is_kept_back_that_five_people_say():
    assert gaps.plan_of(SAID, None).threshold("sentences") <= gaps.LEAST + 1
    assert gaps.plan_of(SAID, 8.0).threshold("sentences") == 13
