"""Vocabularies, batches, and the order of rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.models.batches import collate
from genie_dp.models.mixture import Chunks, Order, Part, strata
from genie_dp.models.sentences import encode
from genie_dp.models.seq2seq import build
from genie_dp.models.vocabulary import (
    END,
    PAD,
    SPECIAL,
    UNK,
    Pair,
    Vocabulary,
    ngrams,
)
from tests.models.models_setup import PAIRS, VOCABULARY, batches, vocabulary_of

WORDS = st.lists(st.sampled_from(["buy", "tea", "quinoa", "@shop.buy", "ñandú", "x"]), max_size=6)


def test_tokens_that_are_copied_too_rarely_are_generated_and_rare_words_unknown():
    assert set(VOCABULARY.words[len(SPECIAL) : VOCABULARY.generated]) == {
        *('"', "=>", "@shop.buy", "@shop.list", "notify", "now")
    }
    pairs = [Pair.from_text("a b", "a b")] * 8 + [Pair.from_text("b", "a b")] * 2
    assert vocabulary_of(pairs).words[4:] == ("a", "b")
    assert vocabulary_of(pairs).generated == 5
    assert vocabulary_of(pairs, copied=0.8).generated == 4
    assert vocabulary_of(pairs, extra=["b", "c"]).generated == 7
    # Words seen once are unknown.
    assert "quinoa" not in vocabulary_of([Pair.from_text("buy quinoa", "@shop.buy")]).index


def test_a_saved_vocabulary_is_the_same_when_loaded_and_whatever_the_order_of_rows(tmp_path):
    file = tmp_path / "tokenizer.json"
    VOCABULARY.save(file)
    assert Vocabulary.load(file) == VOCABULARY == vocabulary_of(PAIRS[::-1])
    for text in ("", "[]", '{"type": "other"}', '{"type": "genie_dp.Vocabulary"}'):
        file.write_text(text)
        with pytest.raises(GenieError, match="M001"):
            Vocabulary.load(file)


def test_hashes_of_n_grams_stay_the_same():
    # Saved models depend on these numbers.
    assert ngrams("tea", 8192) == (5888, 3412, 3866, 2373, 5559, 5248, 4313, 3965, 1667)


@given(sentence=WORDS, program=WORDS)
def test_what_was_encoded_can_be_read_back(sentence, program):
    ids = VOCABULARY.write(program, tuple(sentence))
    for token, extended in zip(program, ids, strict=True):
        if extended == UNK:
            assert token not in sentence
            assert VOCABULARY.generable(token) == UNK
        else:
            assert VOCABULARY.token(extended, tuple(sentence)) == token


def test_a_batch_is_padded_and_moved_by_one():
    rows = collate([encode(pair, VOCABULARY) for pair in PAIRS[:3]], VOCABULARY)
    assert rows.source.lengths.tolist() == [2, 4, 6]
    assert (rows.source.words[0, 2:] == PAD).all()
    assert (rows.targets == END).sum(1).tolist() == [1, 1, 1]
    for inputs, targets in zip(rows.inputs.tolist(), rows.targets.tolist(), strict=True):
        length = targets.index(END) + 1
        assert inputs[1:length] == targets[: length - 1]
        assert set(inputs[length:]) <= {PAD}
        assert set(targets[length:]) <= {PAD}


def test_the_n_grams_of_a_batch_are_those_of_its_words():
    source = collate([encode(pair, VOCABULARY) for pair in PAIRS[:3]], VOCABULARY).source
    ends = [*source.offsets[1:].tolist(), len(source.grams)]
    for row, sentence in enumerate(source.sentences):
        for place, word in enumerate(sentence):
            at = int(source.surfaces[row, place])
            found = source.grams[source.offsets[at] : ends[at]].tolist()
            assert tuple(found) == ngrams(word, VOCABULARY.buckets)


def test_an_epoch_has_every_row_once():
    found = batches(size=4)
    seen = [row for number in range(6) for row in found._schedule.batch(number)]
    assert sorted(seen) == list(range(len(PAIRS)))


def test_batches_follow_from_the_seed_and_their_number():
    ahead, back = batches(seed=3), batches(seed=3)
    numbers = list(range(12))
    expected = {n: ahead._schedule.batch(n) for n in numbers}
    assert {n: back._schedule.batch(n) for n in reversed(numbers)} == expected
    assert [batches(seed=4)._schedule.batch(n) for n in numbers] != list(expected.values())


def test_processes_share_a_batch_and_know_its_tokens():
    found = batches(size=4)
    whole, tokens = found.take(0, 0, 1)
    parts = [found.take(0, rank, 3) for rank in range(3)]
    assert {t for _, t in parts} == {tokens} == {float((whole.targets != PAD).sum())}
    shared = [s for part, _ in parts for s in part.source.sentences]
    assert sorted(shared) == sorted(whole.source.sentences)

    # A process without rows takes part with weight zero.
    assert found.take(0, 4, 5)[0].weights.tolist() == [0.0]


def drawn(parts, *, chunks=20, size=100):
    order = Order(strata(parts), size, 0)
    return np.concatenate([order.rows_of(number) for number in range(chunks)])


def rows_of(name, number, **more):
    return Part(name, range(1, number + 1), **more)


@pytest.mark.parametrize("settings", [{"pairs": []}, {"ratios": [0.0]}])
def test_no_rows_and_ratios_that_leave_none_are_refused(settings):
    with pytest.raises(GenieError, match="M004"):
        batches(**settings)


@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.lists(st.one_of(st.none(), st.floats(0.1, 9)), min_size=4, max_size=4),
    st.integers(1, 5),
)
def test_no_batch_is_empty_or_larger_than_by_its_parts(sizes, ratios, size):
    parts = [Part(str(n), [1] * n, r) for n, r in zip(sizes, ratios, strict=False)]
    lengths = np.ones(sum(sizes), np.int64)
    made = Chunks(parts, lengths, size, 0)
    for number in range(2 * made.chunk):
        assert 1 <= len(made.batch(number)) <= size + len(parts)


def test_parts_are_mixed_by_their_ratios():
    parts = [rows_of("small", 10, ratio=1.0), rows_of("large", 990, ratio=3.0)]
    found = drawn(parts)
    assert np.mean(found < 10) == pytest.approx(0.25, abs=0.01)
    # Each of the ten comes as often as the others.
    assert set(np.bincount(found[found < 10])) == {50}


def test_unknown_architectures_and_settings_are_refused():
    with pytest.raises(GenieError, match="did you mean 'rnn'"):
        build("rn", VOCABULARY, {})
    with pytest.raises(GenieError, match="did you mean 'size'"):
        build("rnn", VOCABULARY, {"sise": 8})
