"""The recurrent network in numpy says what torch's says."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.models.arrays import ArrayNetwork, open_arrays
from genie_dp.models.saved import SavedModel, save_model
from genie_dp.models.search import SearchSettings, search
from genie_dp.models.sentences import encode_sentences
from genie_dp.models.seq2seq import SteppedTorch, build
from genie_dp.models.sizes import settings_of
from genie_dp.models.vocabulary import BEGIN
from tests.models.models_setup import VOCABULARY

SIZES = {
    "small": {"size": 8},
    "deep": {"size": 6, "layers": 3},
    "shallow": {"size": 4, "layers": 1},
    "fed": {"size": 8, "language_model": True},
}
WORD = st.sampled_from(["tea", "buy", "quinoa", "soap", "please", "", "ätna"])
SENTENCES = st.lists(st.lists(WORD, max_size=6).map(tuple), min_size=1, max_size=4)


def made(kind, seed=0):
    """Return a network with random weights of some size, in evaluation mode."""
    torch.manual_seed(seed)
    model, full = build("rnn", VOCABULARY, SIZES[kind])
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    return model.eval(), full


def arrays(model, kind):
    weights = {name: x.detach().numpy() for name, x in model.named_parameters()}
    return ArrayNetwork(weights, VOCABULARY, settings_of("rnn", SIZES[kind]))


MODELS = {kind: made(kind)[0] for kind in SIZES}


@pytest.mark.parametrize("kind", SIZES)
@settings(max_examples=25, deadline=None)
@given(sentences=SENTENCES, data=st.data())
def test_every_step_has_the_probabilities_of_torch(kind, sentences, data):
    both = SteppedTorch(MODELS[kind]), arrays(MODELS[kind], kind)
    source = encode_sentences(sentences, VOCABULARY)
    memories = [network.encode(source) for network in both]
    states = [network.begin(memory) for network, memory in zip(both, memories, strict=True)]
    tokens = np.full(len(sentences), BEGIN)
    for _ in range(4):
        results = [
            network.step(memory, state, tokens)
            for network, memory, state in zip(both, memories, states, strict=True)
        ]
        (expected, _), (found, _) = results
        assert found.dtype == np.float32
        np.testing.assert_allclose(np.exp(found), np.exp(expected), atol=2e-6)
        assert np.exp(found).sum(1) == pytest.approx(np.ones(len(sentences)), abs=1e-5)
        states = [after for _, after in results]
        ids = [
            data.draw(st.integers(BEGIN, VOCABULARY.generated + max(0, len(words) - 1)))
            for words in sentences
        ]
        tokens = np.array(ids)
    rows = np.array(data.draw(st.lists(st.integers(0, len(sentences) - 1), min_size=1)))
    one, other = (network.take(state, rows) for network, state in zip(both, states, strict=True))
    for expected, found in zip(one, other, strict=True):
        np.testing.assert_allclose(found, expected.numpy(), atol=2e-6)


@pytest.mark.parametrize("beam", [1, 4])
def test_search_finds_the_same_programs(beam):
    sentences = [("buy", "tea"), ("please", "buy", "quinoa", "tea"), ("soap",)]
    chosen = SearchSettings(beam=beam, longest=10)
    for kind, model in MODELS.items():
        expected, found = (
            search(network, sentences, VOCABULARY, settings=chosen)
            for network in (SteppedTorch(model), arrays(model, kind))
        )
        for left, right in zip(expected, found, strict=True):
            assert [x.tokens for x in left] == [x.tokens for x in right]
            assert [x.log_probability for x in right] == pytest.approx(
                [x.log_probability for x in left], abs=1e-4
            )


def test_a_saved_network_opens_without_torch_and_others_say_that_they_need_it(tmp_path):
    model, full = made("small")
    save_model(SavedModel(model, VOCABULARY, "rnn", full, {}), tmp_path / "rnn")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from pathlib import Path\n"
        "from genie_dp.models.arrays import open_arrays\n"
        "from genie_dp.models.search import search\n"
        f"network, vocabulary = open_arrays(Path({str(tmp_path / 'rnn')!r}))\n"
        "print(' '.join(search(network, [('buy', 'tea')], vocabulary)[0][0].tokens))"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    ((best,),) = search(SteppedTorch(model), [("buy", "tea")], VOCABULARY)
    assert shown.stdout.strip() == " ".join(best.tokens)
    transformer, full = build("transformer", VOCABULARY, {"size": 8, "heads": 2, "inner": 8})
    save_model(SavedModel(transformer, VOCABULARY, "transformer", full, {}), tmp_path / "other")
    assert open_arrays(tmp_path / "other") is None


def test_a_broken_folder_and_weights_of_another_vocabulary_are_refused(tmp_path):
    model, full = made("small")
    save_model(SavedModel(model, VOCABULARY, "rnn", full, {}), tmp_path)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        file = tmp_path / name
        whole = file.read_bytes()
        file.unlink()
        with pytest.raises(GenieError, match="M001"):
            open_arrays(tmp_path)
        for content in ("", "{}", "[]"):
            file.write_text(content)
            with pytest.raises(GenieError, match="M001"):
                open_arrays(tmp_path)
        file.write_bytes(whole)
    table = json.loads((tmp_path / "tokenizer.json").read_text())
    table["words"].append("more")
    (tmp_path / "tokenizer.json").write_text(json.dumps(table))
    with pytest.raises(GenieError, match="another network"):
        open_arrays(tmp_path)
