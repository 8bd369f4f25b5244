"""Language models: what is cached changes nothing, and every engine has the right gradients."""

import random

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("opacus")

import torch

from genie_dp.errors import GenieError
from genie_dp.models.saved import base_of, load_weights, write_weights
from genie_dp.private.generators.models import (
    UNSCORED,
    HuggingFaceCausal,
    HuggingFaceSettings,
    PublicSequences,
    RecurrentLM,
    RecurrentLMSettings,
    collate,
)
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.training.check import check_engine
from genie_dp.private.training.settings import ENGINES
from tests.private.generators.generator_models import (
    gpt2,
    hugging_face,
    llama,
    own,
    save_pretrained,
)

PROMPTS = ([5, 6, 7], [8], [9, 10, 11, 12, 13])


def recurrent():
    return RecurrentLM(300, RecurrentLMSettings(size=16, longest=24))


@pytest.fixture(scope="module", params=["own", "recurrent", "gpt2", "llama"])
def model(request, tmp_path_factory):
    if request.param in ("gpt2", "llama"):
        make = {"gpt2": gpt2, "llama": llama}[request.param]
        return hugging_face(tmp_path_factory.mktemp(request.param), make)
    return {"own": own, "recurrent": recurrent}[request.param]().eval()


def uncached(model, sequence):
    with torch.no_grad():
        return model(torch.tensor([sequence]))[0, -1]


def test_scores_with_a_cache_are_those_without(model):
    sequences = [list(prompt) for prompt in PROMPTS]
    wide = max(map(len, sequences))
    padded = torch.tensor([row + [0] * (wide - len(row)) for row in sequences])
    lengths = torch.tensor([len(row) for row in sequences])
    with torch.no_grad():
        scores, state = model.start(padded, lengths)
        for token in range(20, 30):
            for row, sequence in enumerate(sequences):
                assert torch.allclose(scores[row], uncached(model, sequence), atol=1e-4)
            following = [token, token + 20, token + 40]
            for sequence, index in zip(sequences, following, strict=True):
                sequence.append(index)
            scores, state = model.step(state, torch.tensor(following))


def test_rows_of_a_state_are_taken_and_doubled(model):
    with torch.no_grad():
        _, state = model.start(torch.tensor([[5, 6], [7, 8]]), torch.tensor([2, 2]))
        scores, _ = model.step(state.take(torch.tensor([1, 0, 1])), torch.tensor([9, 9, 10]))
    for row, sequence in enumerate(([7, 8, 9], [5, 6, 9], [7, 8, 10])):
        assert torch.allclose(scores[row], uncached(model, sequence), atol=1e-4)


def test_a_sequence_may_be_longer_than_the_positions(model):
    with torch.no_grad():
        _, state = model.start(torch.tensor([[5] * 23]), torch.tensor([23]))
        for _ in range(4):
            scores, state = model.step(state, torch.tensor([6]))
    assert torch.isfinite(scores).all()


def test_the_loss_of_a_row_does_not_depend_on_others_or_on_padding(model):
    rows = [
        EncodedRow((5, 6, 7, 8, 9), 2),
        EncodedRow((5, 7, 9)),
        EncodedRow((8, 6, 5, 5, 5, 5, 9), 4),
    ]
    with torch.no_grad():
        together = model.loss(collate(rows, width=20))
        alone = [model.loss(collate([row])) for row in rows]
    assert torch.allclose(together, torch.cat(alone), atol=1e-4)


@pytest.mark.parametrize("kind", ["own", "recurrent", "gpt2"])
def test_public_rows_have_the_losses_and_gradients_of_any(kind, tmp_path):
    draw = random.Random(4)
    rows = [
        EncodedRow(tuple(draw.randrange(5, 300) for _ in range(size)), draw.randrange(1, size))
        for size in (2, 3, 9, 9, 17, 24)
    ]
    batch = collate(rows, weights=[1.0, 0.0, 1.0, 2.0, 1.0, 1.0])
    model = {
        "own": own,
        "recurrent": recurrent,
        "gpt2": lambda: hugging_face(tmp_path, gpt2),
    }[kind]().train()
    found = []
    for learned in (batch, PublicSequences.of(batch).to("cpu")):
        by_row = model.loss(learned)
        (by_row * learned.weights).sum().backward()
        gradients = {name: p.grad for name, p in model.named_parameters()}
        model.zero_grad(set_to_none=True)
        found.append({"losses": by_row.detach(), **gradients})
    for name, expected in found[0].items():
        assert torch.allclose(found[1][name], expected, rtol=1e-4, atol=1e-5), name


def test_only_scored_places_count(model):
    batch = collate([EncodedRow((5, 6, 7, 8), 3)])
    assert batch.targets.tolist() == [[UNSCORED, UNSCORED, 8]]
    with torch.no_grad():
        expected = -uncached(model, [5, 6, 7]).log_softmax(0)[8]
        assert torch.allclose(model.loss(batch)[0], expected, atol=1e-4)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_engine_is_right_for_the_model(model, engine):
    check_engine(model, engine)


def test_the_engines_of_adapters_are_right(tmp_path):
    pytest.importorskip("peft")
    adapted = hugging_face(tmp_path, gpt2, lora_rank=2)
    trained = [name for name, p in adapted.named_parameters() if p.requires_grad]
    assert trained
    assert all("lora" in name for name in trained)
    check_engine(adapted, "vmap")


def test_a_tied_head_is_left_alone_if_asked(tmp_path):
    base = save_pretrained(tmp_path, gpt2)
    both = [HuggingFaceCausal(HuggingFaceSettings(base, untie=untie)) for untie in (True, False)]
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(both[0].eval()(ids), both[1].eval()(ids))
    with pytest.raises(GenieError, match="H004"):  # there is no causal model
        HuggingFaceCausal(HuggingFaceSettings(str(tmp_path / "nothing")))
    own_head, shared = (sum(p.numel() for p in model.parameters()) for model in both)
    assert own_head == shared + 300 * 16


def test_a_row_does_not_show_its_ids():
    assert "77" not in repr(EncodedRow((2, 77, 3)))
    with pytest.raises(ValueError, match="scored_from") as told:
        EncodedRow((77,), 1)
    assert "77" not in str(told.value)


def test_a_saved_model_with_adapters_has_them_alone_and_names_its_base(tmp_path):
    pytest.importorskip("peft")
    base = save_pretrained(tmp_path / "base", gpt2)
    model = HuggingFaceCausal(HuggingFaceSettings(base, lora_rank=2)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora" in name:
                weight.normal_()
    path = tmp_path / "saved" / "model.safetensors"
    path.parent.mkdir()
    write_weights(model, path)
    whole = sum(weight.numel() for weight in model.parameters()) * 4
    assert path.stat().st_size < whole / 2
    assert base_of(path) == base
    again = HuggingFaceCausal(HuggingFaceSettings(base_of(path), lora_rank=2)).eval()
    load_weights(again, path)
    ids = torch.tensor([[5, 6, 7]])
    assert torch.equal(again(ids), model(ids))

    (tmp_path / "base").rename(path.parent / "base")  # beside the adapters
    assert base_of(path) == str(path.parent / "base")
    (path.parent / "base").rename(tmp_path / "elsewhere")
    with pytest.raises(GenieError, match="M009.*which is not there"):
        base_of(path)
    other = HuggingFaceCausal(HuggingFaceSettings(str(tmp_path / "elsewhere"), lora_rank=2))
    with torch.no_grad():
        next(p for p in other.parameters() if not p.requires_grad)[0] += 1
    with pytest.raises(GenieError, match="M009.*other weights"):
        load_weights(other, path)
