"""A grammar seen through the pieces of a subword tokenizer."""

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.languages.guided import SubwordGrammar, Subwords
from genie_dp.languages.thingtalk.decoding.catalogue import GrammarLimits
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.typecheck import check
from tests.languages.thingtalk.thingtalk_library import example_library

SENTENCE = ["show", "the", "mails", "of", "bob", "smith", "NUMBER_0", "QUOTED_STRING_0"]
END = 0


def grammar():
    limits = GrammarLimits(tokens=60, nesting=3)
    return ThingTalkGrammar(example_library(), texts=["1", "front page"], limits=limits)


def pieces(tokens, rng, space="▁"):
    """Return single characters with and without the mark, and random runs out of the tokens."""
    found = {mark + c for token in tokens for c in token for mark in ("", space)}
    for token in sorted(tokens):
        at, end = sorted((rng.randrange(len(token) + 1), rng.randrange(len(token) + 1)))
        found |= {token[at:end], space + token[:end]}
    return dict(enumerate(sorted(found - {""}), start=1))


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False), st.sampled_from("▁Ġ"))
def test_walks_over_pieces_are_well_typed_programs(rng, space):
    tokens = grammar()
    texts = pieces(tokens.vocabulary | set(SENTENCE), rng, space)
    prefix = SubwordGrammar(tokens, Subwords(texts, end=END)).begin(SENTENCE)
    said = ""
    while True:
        mask = prefix.mask()
        ids = np.flatnonzero(mask)
        assert len(ids)
        chosen = rng.choice(ids.tolist())
        if chosen == END:
            break
        prefix = prefix.then(chosen)
        said += texts[chosen]
    text = said.replace(space, " ").strip()
    assert not check(from_tokens(text), example_library()), text


@settings(max_examples=15, deadline=None)
@given(st.randoms(use_true_random=False))
def test_then_takes_exactly_what_the_mask_allows(rng):
    tokens = grammar()
    texts = pieces(tokens.vocabulary | set(SENTENCE), rng)
    prefix = SubwordGrammar(tokens, Subwords(texts, end=END)).begin(SENTENCE)
    for _ in range(25):
        mask = prefix.mask()
        for index in rng.sample(sorted(texts), 20):
            if mask[index]:
                assert prefix.then(index).mask().any()
            else:
                with pytest.raises(ValueError, match="allowed"):
                    prefix.then(index)
        following = [int(i) for i in np.flatnonzero(mask) if i != END]
        if not following:
            return
        prefix = prefix.then(rng.choice(following))


def test_every_spelling_of_an_allowed_token_is_allowed():
    texts = pieces(grammar().vocabulary | set(SENTENCE), Random(1))
    for spelling in (["▁now"], ["▁n", "ow"], ["▁n", "o", "w"]):
        known = texts | {9000: "▁now", 9001: "ow", 9002: "▁n"}
        ids = {text: index for index, text in known.items()}
        prefix = SubwordGrammar(grammar(), Subwords(known, end=END)).begin(SENTENCE)
        for piece in spelling:
            assert prefix.mask()[ids[piece]]
            prefix = prefix.then(ids[piece])
        assert prefix.mask()[ids["▁="]]
        assert not prefix.mask()[ids["▁@"]]


def test_a_tokenizer_that_lacks_a_character_is_refused():
    texts = {1: "▁now", 2: "▁=>"}
    with pytest.raises(GenieError, match="L013"):
        SubwordGrammar(grammar(), Subwords(texts, end=END))


def test_a_word_of_the_sentence_that_cannot_be_spelled_is_not_copied():
    texts = pieces(grammar().vocabulary | {"bob"}, Random(1))
    assert "é" not in texts.values()
    found = SubwordGrammar(grammar(), Subwords(texts, end=END))
    assert found.begin(["é", "bob"]).mask().any()
