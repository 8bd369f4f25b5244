"""Laws of attacks: ranks, intervals and bounds hold for mechanisms whose truth is known."""

import gzip
import json
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("scipy")

from genie_dp.errors import GenieError
from genie_dp.private.audit import exposure, extraction, membership, statistics
from genie_dp.private.audit.canaries import (
    WORDS,
    Canaries,
    CanaryTemplate,
    new_canaries,
    place_canaries,
)
from genie_dp.private.audit.exposure import Exposure
from genie_dp.private.audit.membership import Attack, read_rows, sides_of
from genie_dp.private.audit.noise import bound_noise, least_of, with_noise
from genie_dp.private.audit.verdict import Claim, claim_of, prove_bounds, refuse_claim, verdict_of
from genie_dp.private.crt.accounting import amplify_epsilon
from genie_dp.private.ledger.accounting import deltas_of, epsilon_of
from genie_dp.private.ledger.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    PoissonGaussian,
    ZeroConcentrated,
)
from genie_dp.private.source import PrivateRow

LOSSES = st.lists(st.integers(0, 5).map(float), min_size=2, max_size=40)


@given(st.sampled_from(["My ID is {digits:2}", "{word} {digits:1} !", "a {digits:1}{digits:1}",
                        "{digits:2}{digits:3}.", "{word}{word}", "{word}{digits:2}"]),
       st.data())  # fmt: skip
def test_numbers_and_texts_of_candidates_are_one_to_one(text, data):
    assert CanaryTemplate("x {digits:1} {digits:2}").size == 1000
    template = CanaryTemplate(text)
    number = data.draw(st.integers(0, template.size - 1))
    assert template.number(template.fill(number)) == number


def test_no_word_begins_another_so_that_no_candidate_does():
    assert len(set(WORDS)) == 100
    assert not [(a, b) for a in WORDS for b in WORDS if a != b and b.startswith(a)]


@pytest.mark.parametrize(
    "text", ["no slot", "{digits:0}", "{name}", "{digits:9}{digits:9}{word}{word}", "{"]
)
def test_a_template_that_is_none_is_refused(text):
    with pytest.raises(GenieError, match="N051"):
        CanaryTemplate(text)


def test_a_template_of_too_many_candidates_to_rank_is_for_coins_alone():
    template = CanaryTemplate("{word} {word} {word} {word}")
    with pytest.raises(GenieError, match="N051"):
        template.check_ranked()
    made = new_canaries(template, count=1000, seed=3, coin=True)
    assert len(made.placed) == sum(made.coins)
    assert 440 < len(made.placed) < 560
    assert sorted(n for some in place_canaries(9, made).values() for n in some) == [*made.placed]
    # The coins are not those that choose the canaries.
    assert new_canaries(template, count=1000, seed=3).numbers == made.numbers


def test_canaries_are_drawn_once_and_put_in_as_often_as_asked():
    made = new_canaries(CanaryTemplate("{digits:1}"), count=10, repeats=3, seed=5)
    assert sorted(made.numbers) == list(range(10))
    where = place_canaries(7, made)
    assert set(where) <= set(range(8))
    assert sorted(one for some in where.values() for one in some) == sorted([*range(10)] * 3)
    with pytest.raises(GenieError):
        new_canaries(CanaryTemplate("{digits:1}"), count=11)


@given(LOSSES, st.data())
def test_a_rank_is_that_of_counting(losses, data):
    place = data.draw(st.integers(0, len(losses) - 1))
    less = sum(loss < losses[place] for loss in losses)
    equal = sum(loss == losses[place] for loss in losses)
    (rank,) = exposure.rank_candidates(np.array(losses), [place])
    assert rank == less + (equal + 1) / 2


@given(LOSSES, st.data())
def test_as_likely_candidates_are_not_all_counted_among_the_first(losses, data):
    first = data.draw(st.integers(1, len(losses)))
    fit = exposure.LossDistribution(0.0, 0.0, 1.0, 0.0)
    found = exposure.measure_exposures(np.array(losses), range(len(losses)), fit)
    # The chance of a random candidate to be counted among the k first is at most k of all.
    assert sum(one.last_rank <= first for one in found) <= first
    assert all(one.last_rank == sum(x <= loss for x in losses)
               for one, loss in zip(found, losses, strict=True))  # fmt: skip


def test_what_many_canaries_leave_of_a_small_space_is_what_the_bound_counts_on():
    # A model that ranks the others last leaves 11 places for each of ten: two first are 2 of 11.
    first = [Exposure(1, 20, 0.0)] * 10
    rate = float(statistics.lower_bound(10, 10, 0.05 / len(exposure.SHARES)))
    assert exposure.bound_by_ranks(first, 0.0) == pytest.approx(math.log(rate / (2 / 11)))


def test_the_first_rank_has_all_bits_of_the_space_a_random_one_one_and_a_half():
    assert Exposure(1, 1024, 0.0).bits == 10
    for losses, bits in ((np.zeros(1024), 1.0), (np.arange(4096.0), 1 / math.log(2))):
        ranks = exposure.rank_candidates(losses, range(len(losses)))
        found = [Exposure(rank, len(losses), 0.0).bits for rank in ranks]
        assert np.mean(found) == pytest.approx(bits, abs=0.02)


def test_extrapolation_follows_the_distribution_beyond_the_ranks():
    rng = np.random.default_rng(1)
    losses = rng.normal(40, 3, 4_000)
    losses[7] = 40 - 6 * 3
    fit = exposure.fit_losses(losses, [7])
    (found,) = exposure.measure_exposures(losses, [7], fit)
    assert found.bits == pytest.approx(math.log2(4_000))
    # Six deviations below the mean: a chance of 1e-9, 29.9 bits.
    assert found.extrapolated == pytest.approx(29.9, abs=3)
    assert fit.distance < 0.03


def test_a_fit_has_a_number_for_any_loss_even_if_it_has_no_shape():
    fit = exposure.LossDistribution(5.0, 40.0, 3.0, 0.0)
    bits = [fit.bits(loss) for loss in (50.0, 40.0, 30.0, -500.0)]
    assert bits == sorted(bits)
    assert math.isfinite(bits[-1])
    assert exposure.fit_losses(np.ones(50), [3]).bits(1.0) == pytest.approx(1)
    # There may be no candidates but canaries.
    losses = np.random.default_rng(0).normal(size=10)
    assert math.isfinite(exposure.fit_losses(losses, range(10)).location)


@given(LOSSES, LOSSES)
def test_the_area_is_that_of_counting_pairs(members, others):
    counted = sum((a > b) + (a == b) / 2 for a in members for b in others)
    area = membership.auc(np.array(members), np.array(others))
    assert area == pytest.approx(counted / (len(members) * len(others)))


@given(LOSSES, LOSSES, st.sampled_from([0.1, 0.25, 0.5]))
def test_members_are_found_at_no_more_false_alarms_than_allowed(members, others, most):
    found, of = membership.rate_at(np.array(members), np.array(others), most)
    allowed = int(most * len(others))
    threshold = sorted(others, reverse=True)[allowed]
    assert sum(x > threshold for x in others) <= allowed
    assert (found, of) == (sum(x > threshold for x in members), len(members))


def test_groups_are_told_apart_better_than_single_rows():
    rng = np.random.default_rng(2)
    one = Attack("x", rng.normal(0.5, 1, 400), rng.normal(0, 1, 400))
    together = membership.group_rows(one, 20)
    assert len(together.members) == 20
    single, group = (membership.auc(x.members, x.others) for x in (one, together))
    assert single < 0.75 < 0.9 < group
    assert membership.group_rows(one, 300) is None


def test_rows_that_are_alike_are_guessed_by_chance():
    right, of = membership.guess_by_rank(np.zeros(2000), np.zeros(1500), seed=1)
    assert of == 3000
    assert right / of == pytest.approx(0.5, abs=0.05)
    members, others = np.random.default_rng(3).normal(size=(2, 4000))
    assert abs(membership.advantage(members, others)) < 0.06


def shadowed(rows, learned, *, gain=1.0, spread=3.0, noise=0.3, seed=4):
    """Return losses of rows and of their shadows; the first half of the rows are members.

    Rows differ in how hard they are by `spread`; what a model has learned is easier by `gain`.
    """
    rng = np.random.default_rng(seed)
    hard, is_member = rng.normal(10, spread, rows), np.arange(rows) < rows / 2
    losses = hard - gain * is_member + rng.normal(0, noise, rows)
    return losses, hard - gain * learned + rng.normal(0, noise, learned.shape)


def area(scores):
    half = len(scores) // 2
    return membership.auc(scores[:half], scores[half:])


def split_by_coins(rows):
    half = np.random.default_rng(6).random((4, rows)) < 0.5
    return np.concatenate([half, ~half])


@pytest.mark.parametrize(
    ("learned", "is_online", "least"),
    [
        (split_by_coins(600), True, 0.95),
        # Each row is in one of three shadows: one loss says nothing of its own deviation.
        (np.random.default_rng(5).integers(0, 3, 600) == np.array([[0], [1], [2]]), True, 0.94),
        (np.zeros((4, 600)), False, 0.9),
    ],
    ids=["by coins", "shared out", "none"],
)
def test_shadows_tell_rows_apart_that_differ_in_how_hard_they_are(learned, is_online, least):
    losses, shadows = shadowed(600, learned)
    scores, found = membership.score_by_shadows(losses, shadows, learned)
    assert found == is_online
    assert area(-losses) < 0.7 < least < area(scores)
    with pytest.raises(GenieError, match="N055"):
        membership.score_by_shadows(losses, shadows, np.ones_like(learned))


@pytest.mark.parametrize("learned", [split_by_coins(400), np.zeros((4, 400))], ids=["some", "none"])
def test_ratios_tell_rows_apart_whether_a_shadow_knows_the_row_or_not(learned):
    losses, shadows = shadowed(400, learned, gain=0.3, spread=0.5, noise=0.1)
    scores = membership.score_by_ratios(losses, shadows, learned, 200)
    assert area(-losses) < 0.75 < 0.9 < area(scores)
    # Shares of the others that a row beats.
    assert ((scores >= 0) & (scores <= 1)).all()
    assert np.mean(scores[200:]) == pytest.approx(0.5, abs=0.01)


def test_a_row_counts_for_one_side_and_once():
    rows = [PrivateRow(f"row {i}") for i in range(30)]
    found = sides_of([*rows[:14], rows[0]], [*rows[13:], rows[29]])
    assert len(found.members) == 12
    assert len(found.others) == 15
    assert set(found.left.values()) == {1}
    with pytest.raises(GenieError, match="N058"):
        sides_of(rows[:5], rows[5:])


def test_rows_with_other_programs_are_other_rows_where_programs_count():
    rows = [PrivateRow(f"row {i}", f"program {i}", {"user": "u"}) for i in range(30)]
    members, others = rows[:14], [*rows[14:], PrivateRow("row 0", "another")]
    assert len(sides_of(members, others).members) == 13
    assert len(sides_of(members, others, with_programs=True).members) == 14


def test_what_is_said_often_is_on_neither_side():
    # Parted by chance, both sides lose as much; else the others would keep what is likeliest.
    rng = np.random.default_rng(11)
    rows = [PrivateRow(f"row {i}") for i in rng.integers(0, 300, 400)]
    one, other = sides_of(rows[:200], rows[200:]), sides_of(rows[200:], rows[:200])
    assert (one.members, one.others) == (other.others, other.members)


def test_texts_are_read_compressed_or_not(tmp_path):
    lines = b"hello there\nmy friend\n"
    (tmp_path / "rows.txt").write_bytes(lines)
    (tmp_path / "rows.txt.gz").write_bytes(gzip.compress(lines))
    plain, packed = (read_rows(tmp_path / f"rows.txt{end}", "thingtalk") for end in ("", ".gz"))
    assert plain == packed == [PrivateRow("hello there"), PrivateRow("my friend")]
    (tmp_path / "rows.txt.gz").write_bytes(b"hello there")
    with pytest.raises(GenieError, match="Q001"):
        read_rows(tmp_path / "rows.txt.gz", "thingtalk")


def responses(true, size, seed):
    """Return answers of randomized response for members and others: epsilon is `true`, exactly.

    Noise that is the same for all lets thresholds lie anywhere.
    """
    rng = np.random.default_rng((seed, 1))
    is_right = rng.random((2, size)) < 1 / (1 + math.exp(-true))
    answers = np.where(is_right, 1.0, -1.0) * np.array([[1.0], [-1.0]])
    return tuple(answers + rng.uniform(0, 0.1, (2, size)))


def tossed(true, size, seed, delta=0.0):
    """Return answers of randomized response for rows that coins put on a side.

    With the chance delta an answer tells all, and is known to.
    """
    rng = np.random.default_rng((seed, 2))
    is_in, tells = rng.random(size) < 0.5, rng.random(size) < delta
    is_right = tells | (rng.random(size) < 1 / (1 + math.exp(-true)))
    scores = np.where(is_in == is_right, 1.0, -1.0) * (1 + tells) + rng.uniform(0, 0.1, size)
    return scores[is_in], scores[~is_in]


@pytest.mark.statistical
@pytest.mark.parametrize(("true", "delta"), [(0.0, 0.0), (0.5, 0.0), (3.0, 0.0), (1.0, 0.05)])
@pytest.mark.parametrize("by_coins", [True, False])
def test_bounds_are_below_the_truth_as_often_as_they_say(true, delta, by_coins):
    runs, alpha, above = 60, 0.1, 0
    for seed in range(runs):
        if by_coins:
            guessed = statistics.guess(*tossed(true, 400, seed, delta))
        else:
            guessed = statistics.guess(*responses(true, 200, seed), seed=seed)
        above += statistics.epsilon_of_guesses(guessed, delta, alpha) > true
    # 10 % of 60 at most; more than 15 would be seen in one of 1e3 tries.
    assert above <= 15


@pytest.mark.statistical
def test_bounds_come_near_the_truth_with_many_rows():
    for sides, delta in ((tossed(2.0, 20_000, 6), 0.0), (tossed(2.0, 20_000, 7, 1e-3), 1e-3)):
        found = statistics.epsilon_of_guesses(statistics.guess(*sides), delta, 0.05)
        assert 1.8 < found <= 2.05


@given(st.integers(1, 40), st.data(), st.sampled_from([0.0, 0.7, 2.0]))
def test_of_pure_privacy_guesses_have_the_chance_of_a_binomial(guesses, data, epsilon):
    from scipy.stats import binom

    right = data.draw(st.integers(1, guesses))
    guessed = statistics.Guesses(guesses, guesses, right)
    chance = binom.sf(right - 1, guesses, 1 / (1 + math.exp(-epsilon)))
    least = statistics.least_under(epsilon, 0.0)
    # Randomized response reaches it, so that nothing below can be refuted; what is a little above,
    # where most are right, can.
    assert not statistics.is_refuted(guessed, least, chance * (1 - 1e-6))
    if right == guesses:
        assert statistics.is_refuted(guessed, least, chance * (1 + 1e-6))


def test_many_guesses_prove_what_theorem_5_2_of_steinke_et_al_proves_and_with_delta_more():
    def by_theorem(rows, guesses, right, epsilon, delta):
        from scipy.stats import binom

        share = 1 / (1 + math.exp(-epsilon))
        below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, share))
        moved = (below / np.arange(1, len(below) + 1)).max()
        return binom.sf(right - 1, guesses, share) + 2 * rows * delta * moved

    for rows, guesses, right in ((1000, 1000, 900), (1000, 200, 200), (1000, 100, 95)):
        guessed = statistics.Guesses(rows, guesses, right)
        for delta in (0.0, 1e-3):
            found = statistics.epsilon_of_guesses([guessed], delta, 0.05)
            # Within a hundredth where delta is 0, and never below with it.
            assert by_theorem(rows, guesses, right, found - 0.02, delta) <= 0.05 or delta
            assert by_theorem(rows, guesses, right, found + 0.02, delta) > 0.05


def gaussian(true, size, seed):
    """Return what Gaussian noise leaves of rows that coins put on a side: one count for each."""
    noise = noise_for(true)
    rng = np.random.default_rng((seed, 3))
    is_in = rng.random(size) < 0.5
    scores = is_in + rng.normal(0, noise, size)
    return noise, scores[is_in], scores[~is_in]


@cache
def noise_for(epsilon):
    low, high = 0.1, 100.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if epsilon_of([Gaussian(middle)], 1e-5) > epsilon else (low, middle)
        )
    return high


@pytest.mark.statistical
def test_noise_that_is_there_is_refuted_as_seldom_as_the_level_says():
    refuted = 0
    for seed in range(40):
        noise, *sides = gaussian(3.0, 500, seed)
        least = least_of((Gaussian(noise),))
        refuted += statistics.refutes_any(statistics.guess(*sides), least, 0.1) is not None
    assert refuted <= 8


@pytest.mark.statistical
def test_what_is_proved_of_noise_comes_nearer_the_truth_than_what_is_of_epsilon_and_delta():
    noise, *sides = gaussian(3.0, 10_000, 0)
    guessed = statistics.guess(*sides)
    # What a trade-off function allows has wider tails than noise on each count by itself has.
    assert 1.4 < bound_noise(guessed, (Gaussian(noise),), 1e-5, 0.05).epsilon < 3.0
    assert 0.5 < statistics.epsilon_of_guesses(guessed, 1e-5, 0.05) < 1.4


@pytest.mark.statistical
def test_less_noise_than_is_claimed_is_refuted():
    _, *sides = gaussian(9.0, 1000, 0)
    claim = Claim(3.0, 1e-5, mechanisms=(Gaussian(noise_for(3.0)),))
    found = prove_bounds([Attack("counts", *sides, is_tossed=True)], [], claim)
    assert [one.refutes for one in found] == [False, True]
    assert found[1].epsilon < 9.0
    assert found[1].refutable > found[0].refutable > 5


@settings(max_examples=10)
@given(
    st.floats(0, 1),
    st.sampled_from([PoissonGaussian(1.0, 0.2, 20), Gaussian(1.0), Laplace(1.0),
                     ZeroConcentrated(0.5), Exponential(1.0, 2)]),
)  # fmt: skip
def test_a_trade_off_function_is_no_more_than_that_of_each_guarantee_is_less(chance, mechanism):
    least = least_of((mechanism,))
    for epsilon in (0.0, 1.0, 4.0):
        delta = float(deltas_of([mechanism], np.array([epsilon]))[0])
        assert least(chance) >= statistics.least_under(epsilon, delta)(chance) - 1e-9
    assert least(chance) <= chance
    more_noise = least_of((with_noise(mechanism, 2.0),))
    assert more_noise(chance) >= least(chance) - 1e-9


@pytest.mark.statistical
def test_canaries_of_random_ranks_prove_nothing():
    rng = np.random.default_rng(8)
    proving = 0
    for _ in range(200):
        found = [Exposure(int(rank), 10**6, 0.0) for rank in rng.integers(1, 10**6, 10)]
        proving += exposure.bound_by_ranks(found, 0.0, alpha=0.05) > 0
    assert proving <= 22


@settings(max_examples=40)
@given(LOSSES, LOSSES, st.sampled_from([0.0, 1e-5, 1e-2]), st.sampled_from([0.05, 0.005]))
def test_no_attack_proves_more_than_one_without_a_mistake(members, others, delta, alpha):
    def proved(inside, outside):
        guessed = statistics.guess(np.array(inside), np.array(outside), seed=0)
        return statistics.epsilon_of_guesses(guessed, delta, alpha), guessed[0].rows

    found, rows = proved(members, others)
    most = statistics.epsilon_of_guesses(statistics.perfect_guesses(rows), delta, alpha)
    assert found <= most
    assert proved(np.ones(len(members)), np.zeros(len(others)))[0] == most


@given(st.lists(st.integers(1, 2000), min_size=1, max_size=30, unique=True), st.floats(0, 0.3))
def test_no_canaries_prove_more_than_those_of_the_first_ranks(places_, delta):
    found = [Exposure(rank, 2000, 0.0) for rank in places_]
    most = exposure.most_by_ranks(len(found), 2000, delta)
    assert exposure.bound_by_ranks(found, delta) <= most


@settings(max_examples=20)
@given(
    st.sampled_from([0.0, 1e-6, 1e-5]), st.integers(1, 20), st.sampled_from(["utterance", "user"])
)
def test_a_perfect_attack_refutes_the_claims_below_what_is_refutable_and_no_others(
    delta, copies, unit
):
    attack = Attack("x", np.ones(60), np.zeros(60))
    first = [Exposure(rank, 10**6, 0.0) for rank in range(1, 41)]

    def found(claimed):
        return prove_bounds([attack], first, Claim(claimed, delta, unit), copies=copies)

    for number, one in enumerate(found(1.0)):
        if one.refutable > 0.02:
            assert found(one.refutable - 0.01)[number].refutes
        assert not found(one.refutable + 0.01)[number].refutes


def test_what_is_claimed_of_many_copies_cannot_be_refuted():
    (many,) = prove_bounds([], [Exposure(1, 10**6, 0.0)] * 10, Claim(3.0, 1e-5), copies=20)
    assert many.claimed is None
    assert 0.3 < many.refutable < 0.6
    # The canaries that come unless told otherwise.
    made = new_canaries(CanaryTemplate("{digits:6}"))
    count = len(made.numbers)
    first = [Exposure(rank, 10**6, 0.0) for rank in range(1, count + 1)]
    (single,) = prove_bounds([], first, Claim(3.0, 1e-5), copies=made.repeats)
    assert single.refutable > 8


def test_only_a_bound_that_refutes_the_claim_for_the_unprotected_passes_a_model():
    rng = np.random.default_rng(12)
    nothing = Attack("x", rng.normal(0, 1, 200), rng.normal(0, 1, 200))
    leak = Attack("x", rng.normal(8, 1, 200), rng.normal(0, 1, 200))
    claim = Claim(3.0, 1e-6)

    def verdict_for(model, unprotected, claimed=claim):
        return verdict_of(prove_bounds([model], [], claimed, unprotected=unprotected), claimed)[0]

    assert verdict_for(nothing, ([leak], [])) == "passed"
    assert verdict_for(leak, ([leak], [])) == "refuted"
    assert verdict_for(nothing, ([nothing], [])) == "inconclusive"
    assert verdict_for(nothing, None) == "inconclusive"
    # Two hundred rows refute no claim of 30, whatever they are attacked by.
    assert verdict_for(nothing, ([leak], []), Claim(30.0, 1e-6)) == "inconclusive"
    assert verdict_for(leak, ([leak], []), Claim(math.inf, 1.0)) is None
    assert verdict_of([], claim)[0] == "inconclusive"


def test_a_claim_is_refuted_by_a_bound_above_it_alone():
    rng = np.random.default_rng(9)
    attack = Attack("x", rng.normal(8, 1, 200), rng.normal(0, 1, 200))
    for claimed, refutes in ((0.5, True), (20.0, False), (math.inf, False)):
        claim = Claim(claimed, 1e-6)
        found = prove_bounds([attack], [], claim)
        assert any(one.refutes for one in found) == refutes
        if refutes:
            with pytest.raises(GenieError, match="N060"):
                refuse_claim(found, claim)
        else:
            refuse_claim(found, claim)
    assert all(one.claimed is None for one in prove_bounds([attack], [], None))


def test_copies_of_a_row_are_claimed_as_a_group():
    claim = Claim(1.0, 1e-6)
    assert claim.of_copies(2).delta == pytest.approx(1e-6 * (1 + math.e))
    assert not Claim(8.0, 1e-6).of_copies(20).is_any
    assert Claim(1.0, 0.0, "user").of_row.epsilon == 2
    # Ten canaries that all come first refute epsilon 0.1 for one copy, not for twenty.
    first = [Exposure(1, 10**6, 0.0)] * 10
    for copies, refutes in ((1, True), (200, False)):
        (found,) = prove_bounds([], first, Claim(0.1, 0.0), copies=copies)
        assert found.refutes == refutes


@given(st.floats(0.01, 5), st.floats(0.01, 0.99), st.integers(2, 20))
def test_a_claim_of_a_secret_drawn_at_random_is_none_of_several_copies(epsilon_, gamma, copies):
    # What redaction misses in one copy it misses in all: that is more than copies of one.
    one, together = amplify_epsilon(epsilon_, gamma), amplify_epsilon(copies * epsilon_, gamma)
    assert together > copies * one
    claim = Claim(one, 0.0, about="bayesian")
    assert not claim.of_copies(copies).is_any
    assert claim.of_copies(1) == claim
    # Twenty copies of canaries that all come first refute what is claimed of one row, not that.
    first = [Exposure(1, 10**6, 0.0)] * 10
    (found,) = prove_bounds([], first, claim, copies=copies)
    assert not found.refutes


def test_an_attack_that_knows_the_secret_refutes_no_claim_for_those_who_do_not(tmp_path):
    # Of randomized response, a tenth of the secrets was missed, and an attack sees which.
    true, gamma = 3.0, 0.1
    members, others = responses(true, 4000, 3)
    members[400:] = others[400:] = 0.5
    (tmp_path / "confidentiality.json").write_text(
        json.dumps(
            {
                "secret": {"epsilon": true, "delta": 0.0},
                "bayesian": {"epsilon": amplify_epsilon(true, gamma), "delta": 0.0},
            }
        )
    )
    claim = claim_of(tmp_path, "bayesian")
    found = prove_bounds([Attack("x", members, others)], [], claim)
    assert max(one.epsilon for one in found) > amplify_epsilon(true, gamma)
    assert claim.epsilon == true
    refuse_claim(found, claim)


TEXTS = st.lists(st.sampled_from("abc"), max_size=9).map(tuple)


@given(st.lists(TEXTS, max_size=5), TEXTS, st.integers(1, 4))
def test_the_longest_copy_is_that_of_looking_everywhere(training, text, n):
    def stands(piece):
        return any(row[i : i + len(piece)] == piece for row in training for i in range(len(row)))

    pieces = [text[i:j] for i in range(len(text)) for j in range(i + n, len(text) + 1)]
    longest = max((len(piece) for piece in pieces if stands(piece)), default=0)
    found = extraction.TrainingText(training, n).longest_copy(text)
    assert found.words == longest
    if longest:
        piece = text[found.start : found.start + longest]
        assert stands(piece)
        whole = {row for row in training for i in range(len(text)) if text[i : i + longest] == row}
        assert found.is_whole == any(len(row) == longest for row in whole)


def test_samples_are_counted_and_texts_kept_only_when_asked():
    text = extraction.TrainingText([tuple("abcd")], 2)
    samples = [tuple("xab"), tuple("abcd"), tuple("zz"), ()]
    told = extraction.describe_extraction(
        extraction.find_copies(samples, text), text, [tuple("cd"), ("q",)]
    )
    assert told["copied"]["value"] == 0.5
    assert told["whole_rows"]["found"] == 1
    assert told["longest"] == 4
    assert told["copied_by_chance"]["value"] == 0.5
    assert extraction.find_copies(samples, text).texts == []
    assert extraction.find_copies(samples, text, keep=1).texts == [tuple("abcd")]


def test_canaries_survive_their_file(tmp_path):
    from genie_dp.private.audit.canaries import load_canaries

    made = Canaries(CanaryTemplate("{word} {digits:2}"), (3, 77), 4, "now", {"user": "x"}, 9)
    made.save(tmp_path / "canaries.json")
    assert load_canaries(tmp_path / "canaries.json") == made
    facts = json.loads((tmp_path / "canaries.json").read_text())
    for wrong in ({"texts": [1]}, {"repeats": 0}, {"program": 7}, {"schema": ""}):
        (tmp_path / "canaries.json").write_text(json.dumps(facts | wrong))
        with pytest.raises(GenieError, match="N052"):
            load_canaries(tmp_path / "canaries.json")
