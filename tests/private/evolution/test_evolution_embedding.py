"""Embeddings of private evolution: vectors of unit length, each of its row alone."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.evolution.embedding import (
    Both,
    HashedNgramEmbedding,
    ProgramBag,
    SentenceTransformer,
)
from genie_dp.records import Example
from tests.private.evolution.evolution_setup import THINGS, VERBS, example

EMBEDDING = HashedNgramEmbedding(256)


@pytest.mark.parametrize("part", ["text", "programs", "both"])
def test_a_vector_is_of_unit_length_and_of_its_row_alone(part):
    bag = ProgramBag(128, language=get_language("sexpr"))
    embedding = {"text": EMBEDDING, "programs": bag, "both": Both(((EMBEDDING, 1.0), (bag, 1.0)))}
    rows = [example((v, t, "now")) for v in VERBS for t in THINGS]
    fitted = embedding[part].fit(rows[:10])
    found = fitted.vectors(rows)
    assert found.dtype == np.float32
    assert np.linalg.norm(found, axis=1) == pytest.approx(np.ones(len(rows)), abs=1e-5)
    for place in (0, 7):
        assert (fitted.vectors([rows[place]])[0] == found[place]).all()


def test_rare_words_weigh_more_and_rows_without_words_or_programs_have_no_vector():
    public = [example(("buy", thing, "now")) for thing in THINGS]
    rows = [Example("", text, "") for text in ("sell figs", "buy jazz", "buy figs")]
    near, far, asked = HashedNgramEmbedding().fit(public).vectors(rows)
    assert asked @ near > asked @ far
    assert not EMBEDDING.vectors([Example("", "", "")]).any()
    bag = ProgramBag(128, language=get_language("sexpr"))
    assert not bag.vectors([Example("", "hi", ""), Example("", "hi", "((")]).any()


def test_sentence_transformers_are_asked_for_one_sentence_at_a_time(tmp_path, monkeypatch):
    class Model:
        def __init__(self, folder, device, local_files_only):
            assert local_files_only

        def get_sentence_embedding_dimension(self):
            return 3

        def encode(self, sentences, show_progress_bar):
            assert len(sentences) == 1
            return np.array([[len(sentences[0]), 0.0, 4.0]])

    rows = [Example("", "abc", ""), Example("", " ", "")]
    library = SimpleNamespace(SentenceTransformer=Model)
    monkeypatch.setitem(sys.modules, "sentence_transformers", library)
    found = SentenceTransformer(tmp_path).vectors(rows)
    assert found.round(3).tolist() == [pytest.approx([0.6, 0, 0.8], abs=1e-3), [0, 0, 0]]
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)  # not installed
    with pytest.raises(GenieError, match="U011"):
        SentenceTransformer(tmp_path / "other").vectors(rows)
