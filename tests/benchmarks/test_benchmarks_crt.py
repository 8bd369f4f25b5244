"""The benchmark of confidential training: secrets, canaries, and the two sides of its attacks."""

import pytest

pytest.importorskip("scipy")


import crt
from crt_audit import SMOKE_TEMPLATE, TEMPLATE, by_gamma, pairs, pool_of, sides

from genie_dp.private.audit.canaries import canaries_of

TURNS = ("It is 843-58572-7002.", "Track it as 0UOKFRS1GA, please.", "Nothing here.")


def test_the_two_sides_differ_in_their_secrets_alone():
    texts = [crt.text_of(turn) for turn in TURNS]
    turns = [text.pieces for text in texts if text.spans]
    known = {secret for text in texts for secret in text.secrets}
    pool = pool_of(["111-22222-3333", "AB12CD34EF", *known], known)
    assert pool == {"order": ["111-22222-3333"], "tracking": ["AB12CD34EF"]}
    members, others, masked = sides(turns, pool, crt.MASK, seed=0)
    assert sorted(members) == sorted(TURNS[:2])
    found = [crt.redacted(crt.text_of(text), set()) for text in (*members, *others)]
    assert found == masked * 2
    assert not set(members) & set(others)


def test_ten_canaries_come_twenty_times_each_and_are_candidates():
    for template, numbers in ((TEMPLATE, 10**6), (SMOKE_TEMPLATE, 1000)):
        texts = [" ".join(crt.words(text.text)) for text in crt.canaries(0, numbers)]
        assert len(texts) == 200
        assert len(canaries_of(template, sorted(set(texts))).numbers) == 10
    assert all(text.secrets for text in crt.canaries(0))


def test_pairs_are_told_apart_where_the_true_secret_is_likelier():
    found = pairs([1.0] * 40, [2.0] * 40, 0)
    assert len(found.members) + len(found.others) == 40
    assert min(found.members) > max(found.others)


def test_figures_are_means_over_seeds_by_gamma():
    rows = [
        {"name": "lstm crt gamma=0.1 eps=2 0", "x": 1.0},
        {"name": "lstm crt gamma=0.1 eps=2 1", "x": 2.0},
        {"name": "lstm crt gamma=0.1 eps=4 0", "x": 9.0},
        {"name": "lstm dp gamma=0.5 eps=2 0", "x": 3.0},
    ]
    assert by_gamma(rows, "x") == [
        ["model", "0.1", "0.5"],
        ["lstm crt eps=2", "1.50", ""],
        ["lstm crt eps=4", "9.00", ""],
        ["lstm dp eps=2", "", "3.00"],
    ]  # fmt: skip
