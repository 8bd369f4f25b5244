"""What holds for every network: one contract suite for the protocol Seq2Seq."""

import os

import pytest
import torch

from genie_dp.errors import GenieError
from genie_dp.models.loop import Run, TrainingBudget, TrainSettings
from genie_dp.models.saved import SavedModel, load_model, save_model, write_weights
from genie_dp.models.search import SearchSettings, search
from genie_dp.models.seq2seq import ARCHITECTURES, Seq2Seq, SteppedTorch, build, take
from genie_dp.models.sizes import SETTINGS
from genie_dp.models.vocabulary import UNK
from tests.models.models_setup import (
    DECODERS,
    PAIRS,
    SIZES,
    SMALL,
    VOCABULARY,
    batch,
    batches,
    network,
    save_tiny_base,
)

OWN = ("rnn", "rnn fed", "transformer", "mqan", "mqan fed")
KINDS = (*OWN, *SIZES, "bart lora", "gpt2 lora", "llama lora")


@pytest.fixture(scope="module")
def bases(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bases")
    return {kind: save_tiny_base(folder / kind, kind) for kind in SIZES}


@pytest.fixture(params=KINDS)
def made(request, bases):
    """Return the name of an architecture and its settings."""
    kind, _, more = request.param.partition(" ")
    if kind in bases:
        return "pretrained", {"base": bases[kind], "lora_rank": 2 if more else 0}
    if more:
        return kind, {"language_model": 8 if kind == "mqan" else True}
    return kind, {}


@pytest.fixture
def model(made):
    return network(made[0], **made[1])


def test_every_architecture_is_in_the_suite():
    assert set(ARCHITECTURES) == set(SETTINGS) == {"rnn", "transformer", "mqan", "pretrained"}


def test_steps_say_what_teacher_forcing_says_and_their_probabilities_sum_to_one(model):
    rows = batch()
    with torch.no_grad():
        expected = model.score(rows)
        memory = model.encode(rows.source)
        state = model.begin(memory)
        for t in range(rows.targets.shape[1]):
            scores, state = model.step(memory, state, rows.inputs[:, t])
            assert scores.shape == (5, VOCABULARY.generated + rows.source.words.shape[1])
            torch.testing.assert_close(scores.exp().sum(1), torch.ones(5), atol=1e-4, rtol=0)
            real = rows.targets[:, t] != 0
            found = scores.gather(1, rows.targets[:, t, None])[:, 0]
            torch.testing.assert_close(found[real], expected[real, t], atol=1e-4, rtol=1e-4)


def test_a_row_alone_and_in_a_batch_has_the_same_probabilities(model):
    with torch.no_grad():
        together = model.score(batch())
        for place, pair in enumerate(PAIRS[:5]):
            alone = model.score(batch([pair]))[0]
            torch.testing.assert_close(together[place, : len(alone)], alone, atol=1e-4, rtol=1e-4)


def test_reordered_rows_go_on_as_if_they_had_been_so_from_the_start(model):
    rows, turned = batch(PAIRS[:3]), torch.tensor([2, 0, 0])
    with torch.no_grad():
        memory = model.encode(rows.source)
        _, state = model.step(memory, model.begin(memory), rows.inputs[:, 0])
        expected, _ = model.step(memory, state, rows.inputs[:, 1])
        found, _ = model.step(take(memory, turned), take(state, turned), rows.inputs[turned, 1])
    torch.testing.assert_close(found, expected[turned], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", DECODERS)
def test_a_decoder_reads_sentence_and_program_as_one_text(bases, kind):
    model = network("pretrained", base=bases[kind])
    rows = batch(PAIRS[1:4])
    with torch.no_grad():
        memory = model.encode(rows.source)
        found = model.decode(memory, (), rows.inputs)[0].vocabulary
        for place, sentence in enumerate(rows.source.sentences):
            letters = [ord(letter) - 32 for letter in "".join(sentence)]
            ids = torch.tensor([[95, *letters, 95]])
            inputs = model._embedded_tokens(rows.inputs[place, None], memory[2][place, None])
            text = torch.cat([model.body.get_input_embeddings()(ids), inputs], 1)
            states = model.body(inputs_embeds=text, use_cache=False).last_hidden_state
            ends = (torch.tensor([list(map(len, sentence))]).cumsum(1)).long()
            expected = model.pointer(
                states[:, ids.shape[1] :], states[:, ends[0]], ends < 0, model.tokens.weight
            )
            real = rows.targets[place] != 0
            torch.testing.assert_close(
                found[place, real], expected.vocabulary[0, real], atol=1e-4, rtol=1e-4
            )
            copied = model.decode(memory, (), rows.inputs)[0].copied[place, real]
            torch.testing.assert_close(
                copied[:, : len(sentence)], expected.copied[0, real], atol=1e-4, rtol=1e-4
            )


def test_losses_are_of_rows_and_have_gradients_and_leave_out_what_cannot_be_written(model):
    rows = batch(PAIRS[:1])
    before = float(model.loss(rows).detach())
    rows.targets[0, 2] = UNK
    assert float(model.loss(rows).detach()) < before
    rows = batch()
    model.train()
    losses = model.loss(rows)
    assert losses.shape == (5,)
    losses.sum().backward()
    lost = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    # The body keeps tables that nothing here reads: T5's and BART's shared embeddings have a part.
    assert not [name for name in lost if not name.startswith("body.")]


def test_a_saved_network_is_the_same_when_loaded(made, model, tmp_path):
    assert isinstance(model, Seq2Seq)
    settings = {**SMALL.get(made[0], {}), **made[1]}
    if made[0] == "pretrained":
        settings = build(made[0], VOCABULARY, settings)[1]
    save_model(SavedModel(model, VOCABULARY, made[0], settings, {"temperature": 2.0}), tmp_path)
    loaded = load_model(tmp_path)
    assert loaded.vocabulary == VOCABULARY
    assert loaded.facts == {"temperature": 2.0}
    rows = batch()
    with torch.no_grad():
        torch.testing.assert_close(loaded.model.score(rows), model.score(rows), atol=0, rtol=0)


def test_weights_are_as_readable_as_other_files(tmp_path):
    other = tmp_path / "other"
    before = os.umask(0o027)
    try:
        other.write_text("")
        write_weights(torch.nn.Linear(2, 2), tmp_path / "weights")
    finally:
        os.umask(before)
    assert (tmp_path / "weights").stat().st_mode == other.stat().st_mode


@pytest.mark.parametrize(
    ("architecture", "settings"),
    [
        ("rnn", {"size": 3}), ("rnn", {"size": "big"}), ("rnn", {"size": 8.5}),
        ("rnn", {"layers": 0}), ("rnn", {"dropout": 2}), ("rnn", {"dropout": -0.1}),
        ("rnn", {"smoothing": float("nan")}), ("transformer", {"size": 10, "heads": 3}),
        ("transformer", {"heads": 0}), ("mqan", {"size": -2}), ("mqan", {"question": 5}),
    ],
)  # fmt: skip
def test_a_value_that_no_network_can_have_is_a_mistake_of_the_settings(architecture, settings):
    with pytest.raises(GenieError) as error:
        build(architecture, VOCABULARY, settings)
    (found,) = error.value.problems
    assert found.code == "M002"
    assert next(iter(settings)) in found.message


@pytest.mark.trains
@pytest.mark.parametrize("kind", ["gpt2", "llama"])
def test_a_decoder_learns_rows_and_says_them_again(bases, kind):
    model = network("pretrained", base=bases[kind], smoothing=0.0)
    pairs = PAIRS[:12]
    data = batches(pairs, size=len(pairs))
    Run(model, data, TrainSettings(TrainingBudget(steps=150), rate=2e-2)).train()
    model.eval()
    with torch.no_grad():
        assert float(model.loss(batch(pairs)).max()) < 0.1
    found = search(
        SteppedTorch(model), [pair.sentence for pair in pairs], VOCABULARY,
        settings=SearchSettings(beam=3),
    )  # fmt: skip
    assert [best.tokens for best, *_ in found] == [pair.program for pair in pairs]
    scores = model.score(batch(pairs)).sum(1).tolist()
    assert [best.log_probability for best, *_ in found] == pytest.approx(scores, abs=1e-3)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [("bert", "a bert is neither"), ("mamba", "a mamba keeps no keys and values")],
)
def test_a_model_of_another_kind_is_refused(tmp_path, kind, problem):
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 1, "state_size": 4}
    base = save_tiny_base(tmp_path, kind, sizes)
    with pytest.raises(GenieError) as error:
        build("pretrained", VOCABULARY, {"base": base})
    (found,) = error.value.problems
    assert found.code == "M007"
    assert found.message.startswith("expected an encoder-decoder or a causal language model")
    assert found.message.endswith(f"got: {problem}")


@pytest.mark.parametrize("rank", [0, 2])
@pytest.mark.parametrize("kind", SIZES)
def test_a_base_in_half_precision_is_learned_from_in_single_precision(tmp_path, kind, rank):
    transformers = pytest.importorskip("transformers")
    base = save_tiny_base(tmp_path / "base", kind)
    half = transformers.AutoModel.from_pretrained(base, dtype=torch.bfloat16)
    half.save_pretrained(base)
    model, settings = build("pretrained", VOCABULARY, {"base": base, "lora_rank": rank})
    model.eval()
    first = model.loss(batch(PAIRS))
    first.sum().backward()
    save_model(SavedModel(model, VOCABULARY, "pretrained", settings, {}), tmp_path / "saved")
    again = load_model(tmp_path / "saved").model
    assert {p.dtype for p in (*model.parameters(), *again.parameters())} == {torch.float32}
    assert torch.allclose(again.loss(batch(PAIRS)), first, atol=1e-5)
    size = (tmp_path / "saved" / "model.safetensors").stat().st_size
    whole = 4 * sum(weight.numel() for weight in model.parameters())
    assert (size < whole) == bool(rank)
