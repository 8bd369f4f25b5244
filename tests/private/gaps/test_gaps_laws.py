"""One unit moves each level by its limit at most; nothing is shown that too few said; audits."""

import math
import random
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.private.audit.statistics import bound_by_guesses, guess
from genie_dp.private.gaps import select
from genie_dp.private.gaps.select import (
    HOLE,
    LEVELS,
    GapLimits,
    NoisyGaps,
    Understanding,
    cut_sentence,
    pairs_of,
    release_gaps,
    select_shown,
    sentences_of,
    totals_of,
    words_of,
)
from genie_dp.private.ledger.accounting import noise_multiplier_for
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, Threshold
from genie_dp.private.prior.histogram import Noise, leak
from tests.private.gaps.gaps_setup import SAID, heard, plan

TOKENS = st.sampled_from([*sorted(SAID.words), "mow", "lawn", "grass", "bob", "NUMBER"])
SENTENCES = st.builds(
    Understanding,
    st.lists(TOKENS, min_size=1, max_size=7).map(tuple),
    st.sampled_from(["", *SAID.reasons]),
    st.sampled_from(["", *SAID.functions]),
)
UNITS = st.lists(SENTENCES, max_size=6)
LIMITS = st.builds(GapLimits, st.integers(1, 3), st.integers(1, 4), st.integers(1, 3))
SHOWN = st.sets(st.sampled_from(["mow", "lawn", "grass"])).map(lambda s: dict.fromkeys(s, 9))
PAIRS = st.sets(st.tuples(TOKENS, TOKENS), max_size=12).map(
    lambda s: {" ".join(pair): 9 for pair in s}
)


def without_noise(**options):
    """Return a plan whose counts are exact, and shown from 2 on."""
    return plan(multiplier=1e-9, **options)


def rng(level="any", seed=0):
    return random.Random(f"{level} {seed}")


@given(UNITS, LIMITS, SHOWN, PAIRS)
def test_a_unit_adds_one_to_no_more_bins_than_its_limit(unit, limits, words, pairs):
    added = {
        "totals": list(totals_of(unit, SAID, rng())),
        "words": words_of(unit, SAID, limits.words, rng()),
        "pairs": pairs_of(unit, SAID, words, limits.pairs, rng()),
        "sentences": sentences_of(unit, SAID, words, pairs, limits.sentences, rng()),
    }
    for level, items in added.items():
        assert len(items) == len(set(items)) <= limits.of(level)


def test_one_person_with_many_sentences_moves_each_level_by_its_limit():
    many = [heard(f"mow{n % 500} the lawn{n % 300} and go{n}") for n in range(5_000)]
    crowd = [[heard("mow0 the lawn0 and go0"), heard("mow1 the lawn1 and go1")]] * 3
    exact = without_noise(limits=GapLimits(2, 3, 1))
    before, after = (release_gaps(units, exact, rng) for units in (crowd, [*crowd, many]))
    for level in LEVELS:
        one, other = getattr(before, level), getattr(after, level)
        moved = sum(abs(other.get(name, 0) - one.get(name, 0)) for name in {*one, *other})
        assert moved <= exact.limits.of(level)
    assert (after.units, after.lacking) == (before.units + 1, before.lacking + 1)


@given(st.lists(UNITS, max_size=5), UNITS, LIMITS)
def test_one_unit_more_moves_no_exact_count_by_more_than_one(units, unit, limits):
    exact = without_noise(limits=limits)
    before, after = (release_gaps(of, exact, rng) for of in (units, [*units, unit]))
    shared = before.words.keys() & after.words.keys()
    assert all(abs(after.words[name] - before.words[name]) <= 1 for name in shared)
    new = after.words.keys() - before.words.keys()
    assert all(after.words[name] == 2 for name in new)  # one before, which is not shown


def test_what_is_understood_counts_only_where_all_is_read():
    units = [[Understanding(("mow", "the", "lawn"), "")]] * 8 + [[Understanding(("mow",), "")]]
    assert release_gaps(units, without_noise(), rng).words == {}
    shown = release_gaps(units, without_noise(reads_all=True), rng).words
    assert list(shown.items()) == [("mow", 9), ("lawn", 8)]  # the most frequent first


@given(st.lists(UNITS, max_size=8))
def test_phrases_are_shown_only_of_parts_that_are_public_or_were_shown(units):
    found = release_gaps(units, without_noise(reads_all=True), rng)
    for pair in found.pairs:
        assert all(SAID.has(token) or token in found.words for token in pair.split(" "))
        assert tuple(pair.split(" ")) not in SAID.pairs
    for sentence in found.sentences:
        tokens = sentence.split(" ")
        for pair in pairwise(tokens):
            if HOLE not in pair:
                assert pair in SAID.pairs or " ".join(pair) in found.pairs
        assert all(t == HOLE or SAID.has(t) or t in found.words for t in tokens)


def test_names_that_one_person_says_are_holes_in_what_many_say():
    units = [[heard(f"mow the lawn for bob{n} please")] for n in range(40)]
    found = release_gaps(units, without_noise(limits=GapLimits(4, 9, 1)), rng)
    assert list(found.sentences) == ["mow the lawn for .."]
    assert not any("bob" in name for level in LEVELS for name in getattr(found, level))


def test_a_sentence_of_said_pairs_that_is_not_derived_is_shown_whole():
    assert cut_sentence(("turn", "on", "the", "door"), SAID, {}, {}) == (
        "turn", "on", "the", "door",
    )  # fmt: skip
    assert cut_sentence(("turn", "on", "the", "moon"), SAID, {}, {}) == ()
    assert cut_sentence(("lock",), SAID, {}, {}) == ("lock",)
    assert cut_sentence(("moon",), SAID, {}, {}) == ()


@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_what_one_unit_alone_has_is_shown_with_the_probability_of_delta(kind):
    delta = 0.06
    chosen = plan(kind=kind, multiplier=3.0, delta=delta)
    times = 20_000
    # All units at once: each noise is drawn by itself.
    own = {f"{word} {n}": 1 for n in range(times) for word in ("mow", "lawn")}
    shown = len({name.split()[1] for name in select_shown(own, chosen, "words", rng(kind))})
    allowed = delta / len(LEVELS)
    expected = leak(chosen.noise("words"), 2, chosen.threshold("words"))
    spread = 4 * math.sqrt(allowed / times)
    assert expected <= allowed
    assert shown / times == pytest.approx(expected, abs=spread)
    assert shown > 0.3 * allowed * times  # no more is held back than has to be


def test_what_fewer_than_the_least_said_is_never_shown_whatever_the_noise_is():
    wide = plan(multiplier=1e6, least=5)
    counts, source = {"four": 4, "five": 5}, rng()
    shown = [select_shown(counts, wide, "pairs", source) for _ in range(200)]
    assert wide.threshold("pairs") > 1e6
    loose = plan(multiplier=1e6, delta=0.999, least=5)
    shown += [select_shown(counts, loose, "pairs", source) for _ in range(400)]
    assert any("five" in one for one in shown)
    assert not any("four" in one for one in shown)


def test_the_least_is_paid_for_by_a_higher_threshold():
    assert plan(least=9).threshold("words") == plan(least=1).threshold("words") + 8


def test_the_ledger_gets_the_noise_that_is_drawn():
    chosen = plan(multiplier=3.0, limits=GapLimits(2, 4, 9), delta=1e-7)
    assert chosen.mechanisms == (Gaussian(3.0, count=4), Threshold(1e-7))
    assert [chosen.noise(level).scale for level in ("totals", *LEVELS)] == pytest.approx(
        [6.0, 3 * math.sqrt(2), 6.0, 9.0]
    )
    pure = plan(multiplier=3.0, limits=GapLimits(2, 4, 9), kind="laplace", delta=1e-7)
    assert pure.mechanisms == (Laplace(3.0, count=4), Threshold(1e-7))
    assert [pure.noise(level).scale for level in ("totals", *LEVELS)] == [12.0, 6.0, 12.0, 27.0]


CLAIM, DELTA = 3.0, 1e-6


WIDE = noise_multiplier_for(CLAIM, DELTA * 0.9, rate=1.0, steps=4, accountant="pld")


def proved(units, unit, score, *, times=400, delta=DELTA):
    """Return the epsilon that an attack on the release proves, at 99 %."""
    chosen = plan(multiplier=WIDE, delta=DELTA * 0.1)

    def scores(of, name):
        noise = random.Random(name)
        return np.array([score(release_gaps(of, chosen, lambda _: noise)) for _ in range(times)])

    members, others = scores([*units, unit], "with"), scores(units, "without")
    return bound_by_guesses(guess(members, others, seed=0), delta, 0.01).epsilon


def crowd_score(found: NoisyGaps) -> float:
    """Return what grows most with one person more who says what all say."""
    return float(found.units + found.lacking + sum(found.words.values()))


CROWD = [[heard("mow the lawn")]] * 45


@pytest.mark.statistical
@pytest.mark.usefixtures("noise_in_bulk")
def test_an_attack_proves_no_more_than_is_claimed():
    assert proved(CROWD, CROWD[0] * 200, crowd_score) < CLAIM


@pytest.mark.statistical
@pytest.mark.usefixtures("noise_in_bulk")
def test_an_audit_refutes_a_person_who_counts_for_each_sentence(monkeypatch):
    monkeypatch.setattr(select, "_most_said", lambda items, limit, rng: list(items))
    assert proved(CROWD, CROWD[0] * 200, crowd_score) > CLAIM


@pytest.mark.statistical
def test_an_audit_refutes_counts_without_noise(monkeypatch):
    monkeypatch.setattr(Noise, "draw", lambda self, count, rng: np.zeros(count))
    assert proved(CROWD, CROWD[0], crowd_score) > CLAIM


@pytest.mark.statistical
@pytest.mark.usefixtures("noise_in_bulk")
def test_an_audit_refutes_a_release_without_a_threshold(monkeypatch):
    monkeypatch.setattr(select, "threshold", lambda *_: 0)
    alone = [heard("feed the cat")]
    attacked = proved(CROWD[:3], alone, lambda found: float("cat" in found.words), times=1000)
    assert attacked > CLAIM
