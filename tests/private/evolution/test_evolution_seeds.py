"""Candidates made of public sentences by editing their words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Levenshtein

from genie_dp.errors import GenieError
from genie_dp.private.evolution.generator import Donated, VoteCandidate
from genie_dp.private.evolution.seeds import SeedGenerator
from genie_dp.records import Example

SAID = {
    "wake": ("wake me up at seven", "please wake me at six in the morning", "set an alarm for six"),
    "pay": ("pay my phone bill", "please pay the water bill now", "i want to pay my rent at six"),
    "song": ("play a song by mary", "please play my morning songs", "i want a song now"),
}
SEEDS = tuple(
    Donated(text, {"intent": intent, "length": "long" if len(text.split()) > 5 else "short"})
    for intent, texts in SAID.items()
    for text in texts
)
GENERATOR = SeedGenerator(SEEDS, labels=["intent"])
RECORDS = [{"intent": intent, "length": "short"} for intent in SAID for _ in range(10)]
WORDS = {word for seed in SEEDS for word in seed.utterance.split()}


def texts(candidates):
    return [candidate.example.utterance for candidate in candidates]


def test_a_record_draws_a_sentence_that_agrees_with_it_and_an_empty_one_any():
    for seed in range(20):
        [one] = GENERATOR.random([{"intent": "wake", "length": "short"}], seed=seed)
        assert one.example.utterance in ("wake me up at seven", "set an alarm for six")
        assert one.metadata == {"intent": "wake", "length": "short"}
    drawn = {texts(GENERATOR.random([{}], seed=seed))[0] for seed in range(200)}
    assert drawn == {seed.utterance for seed in SEEDS}


def test_a_sentence_that_was_drawn_before_is_edited():
    made = texts(GENERATOR.random([{"intent": "wake"}] * 60, seed=1))
    assert set(SAID["wake"]) <= set(made)
    assert len(set(made)) > 20
    near = [min(Levenshtein.distance(a.split(), b.split()) for b in SAID["wake"]) for a in made]
    assert max(near) <= 3


def test_candidates_follow_from_the_seed_and_from_none_behind_them():
    made = GENERATOR.random(RECORDS, seed=1)
    assert made == SeedGenerator(SEEDS, labels=["intent"]).random(RECORDS, seed=1)
    assert made != GENERATOR.random(RECORDS, seed=2)
    varied = GENERATOR.vary(made, 0.5, seed=1)
    assert varied == GENERATOR.vary(made, 0.5, seed=1) != GENERATOR.vary(made, 0.5, seed=2)
    assert GENERATOR.vary(made[:5], 0.5, seed=1) == varied[:5]
    assert GENERATOR.vary(made, 0.0, seed=1) == made


@given(st.sampled_from(SEEDS), st.floats(0.01, 1), st.integers(0, 999))
def test_no_more_words_change_than_the_strength_says(parent, strength, seed):
    parents = [VoteCandidate(Example("", parent.utterance, ""), parent.metadata)]
    [varied] = GENERATOR.vary(parents, strength, seed=seed)
    before, after = parent.utterance.split(), varied.example.utterance.split()
    assert Levenshtein.distance(before, after) <= max(1, round(strength * len(before)))
    assert after
    assert set(after) <= WORDS
    assert varied.metadata == parent.metadata


def test_most_variations_differ_from_their_parents_and_more_so_with_more_strength():
    made = GENERATOR.random(RECORDS * 5, seed=1)
    distances = [
        sum(
            Levenshtein.distance(a.split(), b.split())
            for a, b in zip(texts(made), texts(GENERATOR.vary(made, strength, seed=2)), strict=True)
        )
        / len(made)
        for strength in (0.1, 0.5, 1.0)
    ]
    assert 0.8 < distances[0] < distances[1] < distances[2]


def test_words_that_no_public_sentence_has_are_kept_or_replaced():
    parents = [VoteCandidate(Example("", "xylophone", ""), {"intent": "song"})] * 20
    varied = texts(GENERATOR.vary(parents, 1.0, seed=1))
    assert {word for text in varied for word in text.split()} <= WORDS | {"xylophone"}


def test_the_fingerprint_is_of_sentences_and_settings():
    first = GENERATOR.fingerprint()
    assert SeedGenerator(SEEDS, labels=["intent"]).fingerprint() == first
    assert SeedGenerator(SEEDS[1:], labels=["intent"]).fingerprint() != first
    assert SeedGenerator(SEEDS).fingerprint() != first


def test_no_sentences_and_private_rows_are_refused():
    with pytest.raises(GenieError, match="U507"):
        SeedGenerator([Donated("")])
    with pytest.raises(TypeError):
        GENERATOR.vary([VoteCandidate(Example("P", "secret", "", source="private"))], 0.5, seed=1)
