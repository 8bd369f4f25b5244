"""MAUVE: our own computation of the frontier against mauve-text, and laws of the figure."""

import random
from math import exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.metrics import mauve as under_test
from genie_dp.private.metrics.language_model import HuggingFaceModel
from genie_dp.private.metrics.mauve import (
    POINTS,
    SCALING,
    HashedNgrams,
    MauveSettings,
    check_mauve,
    mauve,
    mauve_of_features,
)

NGRAMS = HashedNgrams()
ONCE = MauveSettings(buckets=12, runs=1)


@pytest.fixture(scope="module")
def library():
    pytest.importorskip("faiss")
    return pytest.importorskip("mauve")


def sentences(number, *, seed, verbs=("set", "cancel", "show"), things=("alarm", "timer", "song")):
    rng = random.Random(seed)
    times = ("six", "seven", "noon", "midnight", "tomorrow morning", "nine thirty")
    polite = ("", "please ", "could you ")
    return [
        f"{rng.choice(polite)}{rng.choice(verbs)} my {rng.choice(things)} for {rng.choice(times)}"
        for _ in range(number)
    ]


def frontier_area(p, q, *, scaling=SCALING):
    """Return the area under the divergence frontier of two histograms (Pillutla et al. 2021).

    The frontier are the points (exp(-c KL(q | r)), exp(-c KL(p | r))) of the mixtures
    r = w p + (1 - w) q, between (0, 1) and (1, 0).
    """
    a, b = np.asarray(p, np.float64), np.asarray(q, np.float64)
    a, b = a / a.sum(), b / b.sum()
    curve = [(0.0, 1.0), (1.0, 0.0)]
    for weight in np.linspace(1e-6, 1 - 1e-6, POINTS):
        mixed = weight * a + (1 - weight) * b
        curve.append((exp(-scaling * divergence(b, mixed)), exp(-scaling * divergence(a, mixed))))
    curve.sort(key=lambda point: (point[0], -point[1]))
    steps = zip(curve, curve[1:], strict=False)
    return sum((x2 - x1) * (y1 + y2) / 2 for (x1, y1), (x2, y2) in steps)


def divergence(p, r):
    """Return KL(p | r) in nats."""
    met = p > 0
    return float(np.sum(p[met] * np.log(p[met] / r[met])))


def test_the_area_of_disjoint_histograms_by_hand():
    # KL(q | r) = -log(1 - w), KL(p | r) = -log w: the curve ((1 - w)^c, w^c), here with c = 1 a
    # straight line, and with c = 2 a parabola of area 1/6.
    assert frontier_area([1, 0], [0, 1], scaling=1) == pytest.approx(1 / 2)
    assert frontier_area([1, 0], [0, 1], scaling=2) == pytest.approx(1 / 6, abs=2e-3)


def test_the_area_is_that_of_mauve_text_for_the_same_histograms(library):
    for seed in range(3):
        one = NGRAMS.features(sentences(80, seed=seed))
        other = NGRAMS.features(sentences(60, seed=seed + 10, things=("alarm", "door")))
        found = library.compute_mauve(one, other, num_buckets=6 + seed, seed=seed)
        assert frontier_area(found.p_hist, found.q_hist) == pytest.approx(found.mauve)


def test_a_corpus_is_near_itself_and_nearer_than_another_one(library):
    real = sentences(150, seed=0)
    same = mauve(real, real, NGRAMS, ONCE).mean
    like = mauve(real, sentences(150, seed=1), NGRAMS, ONCE).mean
    half = mauve(real, sentences(150, seed=2, things=("alarm",)), NGRAMS, ONCE).mean
    other = mauve(real, [f"is it raining in {i % 7}" for i in range(150)], NGRAMS, ONCE).mean
    assert same == pytest.approx(1)
    assert same > like > half > other
    assert like > 0.9
    assert other < 0.05


def test_the_order_of_rows_is_no_matter_and_a_seed_gives_one_figure(library):
    real, synthetic = sentences(60, seed=0), sentences(60, seed=1)
    found = mauve(real, synthetic, NGRAMS, ONCE)
    assert found == mauve(real[::-1], sorted(synthetic), NGRAMS, ONCE)
    assert len(mauve(real, synthetic, NGRAMS, MauveSettings(12, runs=2)).scores) == 2


def test_the_figure_names_what_it_depends_on_and_faiss_is_silent(library, capfd):
    found = mauve(sentences(60, seed=0), sentences(40, seed=1), NGRAMS, MauveSettings(runs=1))
    assert found.buckets == 4
    assert "512" in found.featuriser
    assert capfd.readouterr().err == ""


def test_more_buckets_than_rows_are_refused(library):
    with pytest.raises(GenieError, match="J002"):
        mauve_of_features(np.eye(4), np.eye(4), "rows", MauveSettings(buckets=50))


def test_without_the_library_the_extra_is_named(monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(under_test, "import_module", missing)
    with pytest.raises(GenieError, match=r"J001(.|\n)*genie_dp\[mauve\]"):
        check_mauve()


@pytest.mark.parametrize("settings", [{"buckets": 1}, {"buckets": -3}, {"runs": 0}])
def test_settings_without_a_figure_are_refused(settings):
    with pytest.raises(ValueError, match="must be"):
        MauveSettings(**settings)


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_a_sentence_has_one_vector_of_length_one_whatever_stands_beside_it(texts):
    together = NGRAMS.features(texts)
    for text, vector in zip(texts, together, strict=True):
        assert np.array_equal(NGRAMS.features([text])[0], vector)
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_vectors_of_like_sentences_are_nearer():
    one, other, far = NGRAMS.features(["set an alarm", "set the alarm", "play some jazz"])
    assert one @ other > 0.3 > one @ far


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a tiny causal language model with a tokenizer of words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, pre_tokenizers

    torch.set_num_threads(1)
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("model")
    words = {word: i for i, word in enumerate(["<s>", "<unk>", "wake", "me", "up", "play", "jazz"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>")
    fast.save_pretrained(path)
    config = transformers.GPT2Config(vocab_size=7, n_embd=16, n_layer=1, n_head=2, n_positions=64)
    transformers.GPT2LMHeadModel(config).save_pretrained(path)
    return path


def test_losses_of_a_model_do_not_depend_on_what_is_beside_a_sentence(folder):
    model = HuggingFaceModel(folder)
    texts = ["wake me up", "play", "play jazz me up wake"]
    together = model.losses(texts)
    assert [tokens for _, tokens in together] == [3, 1, 5]
    alone = [model.losses([text])[0][0] for text in texts]
    assert [nats for nats, _ in together] == pytest.approx(alone, rel=1e-4)
    # Untrained, it knows next to nothing of seven words.
    assert together[0][0] / 3 == pytest.approx(np.log(7), rel=0.2)


def test_vectors_of_a_model_are_those_of_the_last_word(folder):
    model = HuggingFaceModel(folder)
    together = model.features(["wake me up", "play"])
    assert together.shape == (2, 16)
    assert together[1] == pytest.approx(model.features(["play"])[0], abs=1e-5)
    assert folder.name in model.name


def test_a_sentence_is_read_as_far_as_a_model_has_positions(folder):
    model = HuggingFaceModel(folder)
    ((nats, tokens),) = model.losses(["wake " * 100])
    assert tokens == 63  # behind the one that begins
    assert np.isfinite(nats)
    assert model.features(["wake " * 100]).shape == (1, 16)


def test_a_folder_without_a_model_is_refused(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(GenieError, match="J006"):
        HuggingFaceModel(tmp_path)
