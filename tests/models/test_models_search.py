"""Greedy and beam search, with a grammar and without."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.models import constraint as constraint_module
from genie_dp.models.batches import collate
from genie_dp.models.constraint import Constraint, allowed_ids
from genie_dp.models.search import (
    Beam,
    Live,
    SearchSettings,
    beam,
    best_allowed,
    penalized_score,
    search,
)
from genie_dp.models.sentences import encode, encode_sentences
from genie_dp.models.seq2seq import SteppedTorch
from genie_dp.models.vocabulary import BEGIN, PAD, Pair
from tests.models.models_setup import BRACKETS, SMALL, VOCABULARY, Brackets, accepted, network

KINDS = tuple(SMALL)
SENTENCES = [("buy", "tea"), ("please", "list", "all", "quinoa"), ("soap",)]
SENTENCE = st.lists(st.sampled_from(["tea", "buy", "quinoa", "soap", "x"]), min_size=1, max_size=5)
NETWORKS = {kind: network(kind, vocabulary=BRACKETS) for kind in KINDS}


def found(model, sentences=SENTENCES, *, vocabulary=BRACKETS, grammar=True, **options):
    constraint = Constraint(Brackets(), vocabulary) if grammar else None
    chosen = SearchSettings(**{"longest": 12, **options})
    network = SteppedTorch(model)
    return search(network, sentences, vocabulary, constraint=constraint, settings=chosen)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 3])
@settings(max_examples=15)
@given(sentences=st.lists(SENTENCE.map(tuple), min_size=1, max_size=3))
def test_what_an_untrained_network_writes_under_a_grammar_is_accepted(kind, beam, sentences):
    results = found(NETWORKS[kind], sentences, beam=beam)
    assert len(results) == len(sentences)
    for sentence, hypotheses in zip(sentences, results, strict=True):
        assert 1 <= len(hypotheses) <= beam
        for each in hypotheses:
            assert accepted(Brackets(), sentence, each.tokens)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("beam", [1, 3])
def test_a_program_that_is_too_long_or_too_unlikely_is_ended_by_the_grammar(kind, beam):
    for best, *_ in found(NETWORKS[kind], beam=beam, longest=1):
        assert not best.ended
        assert (best.tokens[0], best.tokens[-1]) == ("(", ")")
    free = found(NETWORKS[kind], beam=beam, longest=100)
    shortened = 0
    for floor in (-4.0, -12.0, -36.0):
        closed = found(NETWORKS[kind], beam=beam, longest=100, floor=floor)
        for sentence, left, right in zip(SENTENCES, closed, free, strict=True):
            for each in left:
                assert accepted(Brackets(), sentence, each.tokens)
                assert each.ended or each.log_probability < floor
            # What is likely enough stays as it was.
            likely = [e.tokens for e in right if e.log_probability >= floor]
            assert [e.tokens for e in left[: len(likely)]] == likely
            shortened += not left[0].ended and len(left[0].tokens) < len(right[0].tokens)
    assert shortened


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grammar", [True, False])
def test_a_beam_of_one_is_greedy_search(kind, grammar):
    model = NETWORKS[kind]
    constraint = Constraint(Brackets(), BRACKETS)
    paths = constraint.begin(SENTENCES) if grammar else None
    source = encode_sentences(SENTENCES, BRACKETS)
    beams = beam(SteppedTorch(model), source, BRACKETS, paths, SearchSettings(longest=12))
    for (left,), (right,) in zip(beams, found(model, grammar=grammar), strict=True):
        assert left.tokens == right.tokens
        assert left.log_probability == pytest.approx(right.log_probability, abs=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_a_wide_beam_finds_the_best_of_all_programs(kind):
    """Brackets of at most six tokens can be counted out."""
    model, sentence = NETWORKS[kind], ("tea",)
    every = []

    def walk(prefix, tokens):
        if prefix.allowed.end:
            every.append(tokens)
        if len(tokens) < 5:
            for token in sorted(prefix.allowed.fixed | prefix.allowed.copied):
                walk(prefix.then(token), (*tokens, token))

    walk(Brackets().begin(sentence), ())
    rows = collate([encode(Pair(sentence, p), BRACKETS) for p in every], BRACKETS)
    with torch.no_grad():
        scores = model.score(rows).sum(1).tolist()
    ((best, *_),) = found(model, [sentence], beam=100, longest=6)
    assert best.log_probability == pytest.approx(max(scores), abs=1e-4)
    assert best.tokens == every[scores.index(max(scores))]


@pytest.mark.parametrize("kind", KINDS)
def test_hypotheses_are_different_sorted_and_have_the_models_probabilities(kind):
    model = NETWORKS[kind]
    for sentence, hypotheses in zip(SENTENCES, found(model, beam=4), strict=True):
        assert len({each.tokens for each in hypotheses}) == len(hypotheses)
        values = [each.log_probability for each in hypotheses]
        assert values == sorted(values, reverse=True)
        assert [sum(each.steps) for each in hypotheses] == pytest.approx(values)
        rows = [encode(Pair(sentence, each.tokens), BRACKETS) for each in hypotheses if each.ended]
        if rows:
            with torch.no_grad():
                expected = model.score(collate(rows, BRACKETS)).sum(1).tolist()
            assert values == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("beam", [1, 3])
def test_a_sentence_alone_has_the_program_that_it_has_in_a_batch(beam):
    together = found(NETWORKS["rnn"], beam=beam)
    alone = [found(NETWORKS["rnn"], [sentence], beam=beam)[0] for sentence in SENTENCES]
    assert [[e.tokens for e in row] for row in together] == [
        [e.tokens for e in row] for row in alone
    ]


def test_without_a_grammar_special_tokens_are_never_written_not_for_no_words_either():
    assert search(SteppedTorch(NETWORKS["rnn"]), [], BRACKETS) == []
    for kind in KINDS:
        for (best,) in found(NETWORKS[kind], [*SENTENCES, ()], grammar=False, longest=30):
            assert not {"<pad>", "<unk>", "<s>", "</s>"}.intersection(best.tokens)
            assert math.isfinite(best.log_probability)


def test_a_grammar_that_the_model_cannot_write_is_refused():
    with pytest.raises(GenieError, match=r"M006.*cannot write 3 tokens.*\(, \), stop"):
        Constraint(Brackets(), VOCABULARY)


def test_rows_of_equal_places_are_made_once_and_allow_nothing_else():
    constraint = Constraint(Brackets(), BRACKETS)
    sentence = ("tea", "quinoa")
    (path,) = constraint.begin([sentence])
    deeper = path.then(BRACKETS.index["("])
    inside = deeper.then(BRACKETS.generated + 1)
    other, same = constraint.begin([("quinoa", "tea"), sentence])
    assert other.row == path.row != inside.row
    assert same.then(BRACKETS.index["("]).row == deeper.row
    rows = allowed_ids([inside, path]).tolist()
    assert [len(row) for row in rows] == [4, 4]
    written = [{BRACKETS.token(i, sentence) for i in row if i != PAD} for row in rows]
    assert written == [{"(", ")", "tea", "quinoa"}, {"("}]


def test_a_table_that_is_full_begins_anew(monkeypatch):
    constraint = Constraint(Brackets(), BRACKETS)
    before = allowed_ids(constraint.begin([("tea",)]))
    monkeypatch.setattr(constraint_module, "KEPT", 0)
    table = constraint.table
    (path,) = constraint.begin([("tea",)])
    assert constraint.table is not table
    assert (allowed_ids([path]) == before).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("margin", [0.0, 1.0, 3.0])
def test_a_margin_loses_no_program_within_it_and_takes_no_more_steps(kind, margin, monkeypatch):
    model, taken = NETWORKS[kind], []
    step = model.step
    monkeypatch.setattr(model, "step", lambda *given: taken.append(1) or step(*given))
    every = found(model, beam=100, longest=6)
    steps = len(taken)
    some = found(model, beam=100, longest=6, margin=margin)
    assert len(taken) - steps <= steps
    for left, right in zip(some, every, strict=True):
        near = [e for e in right if e.log_probability > right[0].log_probability - margin + 1e-3]
        assert [e.tokens for e in left[: len(near)]] == [e.tokens for e in near]
        assert left[0].tokens == right[0].tokens
        assert {e.tokens for e in left} <= {e.tokens for e in right}


@pytest.mark.parametrize(
    ("settings", "live"),
    [
        ({"beam": 4}, [-1.5, -2.5, -9.0]),
        ({"beam": 3}, [-1.5, -2.5]),
        ({"beam": 2}, [-1.5]),
        ({"beam": 4, "margin": 5.0}, [-1.5, -2.5]),
        ({"beam": 4, "margin": 0.25}, []),
    ],
)
def test_hypotheses_that_cannot_be_among_the_best_or_in_the_margin_are_given_up(settings, live):
    hypotheses = [Live((7,), score, None, 0) for score in (-1.5, -2.5, -9.0)]
    ended = [(score, (5,), True) for score in (-2.0, -1.0, -4.0)]
    one = Beam(("tea",), hypotheses, ended=ended)
    one.settle(SearchSettings(**settings))
    assert [each.score for each in one.live] == live


def test_long_hypotheses_win_with_a_penalty_and_bad_settings_are_refused():
    assert penalized_score(-4.0, 4, SearchSettings(length_penalty=1.0)) > penalized_score(
        -2.0, 1, SearchSettings(length_penalty=1.0)
    )
    for wrong in ({"beam": 0}, {"margin": -1.0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SearchSettings(**wrong)


class FirstWithout:
    """A network that never begins with a token."""

    def __init__(self, network, extended):
        self._network, self._extended, self._is_first = network, extended, True

    def __getattr__(self, name):
        return getattr(self._network, name)

    def step(self, memory, state, tokens):
        scores, after = self._network.step(memory, state, tokens)
        if self._is_first:
            scores[:, self._extended] = -math.inf
        self._is_first = False
        return scores, after


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_put_aside_competes_with_nothing(kind):
    token = BRACKETS.words.index("(")
    network = SteppedTorch(NETWORKS[kind])
    chosen = SearchSettings(beam=3, longest=6, margin=2.0)
    aside = replace(chosen, aside=frozenset({token}))
    for sentence in SENTENCES:
        [beside] = search(network, [sentence], BRACKETS, settings=aside)
        [others] = search(FirstWithout(network, token), [sentence], BRACKETS, settings=chosen)
        [alone] = [x for x in beside if x.tokens == ("(",)]
        assert len(beside) == len(others) + 1
        assert [x.tokens for x in beside if x is not alone] == [x.tokens for x in others]
        assert alone.log_probability == pytest.approx(sum(alone.steps))
        assert [x.log_probability for x in beside] == sorted(
            (x.log_probability for x in beside), reverse=True
        )


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_grammar_allows_is_certain_in_all_where_it_is_renormalized(kind):
    network = SteppedTorch(NETWORKS[kind])
    source = encode_sentences(SENTENCES, BRACKETS)
    paths = Constraint(Brackets(), BRACKETS).begin(SENTENCES)
    memory = network.encode(source)
    scores, _ = network.step(memory, network.begin(memory), np.full(len(SENTENCES), BEGIN))
    width = allowed_ids(paths).shape[1]
    plain, ids = best_allowed(scores.copy(), paths, width)
    among, same_ids = best_allowed(scores.copy(), paths, width, renormalized=True)
    np.testing.assert_array_equal(ids, same_ids)
    np.testing.assert_allclose(np.exp(among).sum(1), 1.0, atol=1e-5)
    shift = (among - plain)[np.isfinite(plain)]
    assert (shift > 0).all()
    for hypotheses in found(NETWORKS[kind], beam=3, renormalized=True):
        assert sum(math.exp(x.log_probability) for x in hypotheses) <= 1 + 1e-6


def test_where_a_grammar_allows_only_what_is_put_aside_nothing_else_is_found():
    aside = frozenset({BRACKETS.words.index("(")})  # with which all brackets begin
    for hypotheses in found(NETWORKS["rnn"], beam=3, renormalized=True, aside=aside):
        assert [x.tokens for x in hypotheses] == [("(",)]
