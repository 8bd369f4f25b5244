"""Every engine gives the gradients of single rows, or the model is refused."""

import pytest

pytest.importorskip("opacus")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from genie_dp.errors import GenieError
from genie_dp.models.language_model import ProgramLSTM, collate_programs
from genie_dp.models.layers import PooledDropout
from genie_dp.private.generators.models import collate
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.training.check import check_engine, clipped_sums
from genie_dp.private.training.engines import (
    PrivateOptimizer,
    VmapEngine,
    engine_of,
    take_rows,
)
from genie_dp.private.training.randomness import seeded_bytes
from genie_dp.private.training.settings import ENGINES, DPSettings
from tests.private.training import private_models as models
from tests.private.training.private_models import made

# Models that vmap is right for.
MODELS = {
    "decoder": models.decoder,
    "program lstm": lambda: ProgramLSTM(models.WORDS, 8, dropout=0.0),
    "tied": models.Tied,
    "tied by hand": models.TiedByHand,
    "lstm": models.Recurrent,
    "relative bias": models.RelativeBias,
    "gpt2": models.gpt2,
    "gpt2 with adapters": models.gpt2_with_adapters,
}


def programs(rows):
    """Return a batch whose padding is 0, as the language models of programs have it."""
    return collate_programs([row.tokens[1:-1] for row in rows])


def collate_of(name):
    return programs if name.startswith("program") else collate


def norm_of(sums):
    return float(torch.stack([x.norm() for x in sums.values()]).norm())


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("clip", [0.05, 100.0])
def test_an_engine_clips_and_sums_as_the_loop_does(name, clip):
    model = made(MODELS[name])
    batch = collate_of(name)(models.rows(5))
    expected = clipped_sums(model, "loop", batch, clip)
    found = clipped_sums(model, "vmap", batch, clip)
    assert norm_of(expected) > 0
    for key, value in expected.items():
        torch.testing.assert_close(found[key], value, rtol=1e-4, atol=2e-6)


@pytest.mark.parametrize("name", MODELS)
def test_an_engine_is_accepted_where_it_is_right(name):
    check_engine(made(MODELS[name]), "vmap", collate=collate_of(name))


def test_an_engine_whose_gradients_are_wrong_is_refused(monkeypatch):
    right = VmapEngine.accumulate
    monkeypatch.setattr(
        VmapEngine, "accumulate", lambda self, batch: right(self, take_rows(batch, slice(1, None)))
    )
    with pytest.raises(GenieError, match="(?s)Q025.*engine loop"):
        check_engine(made(models.decoder), "vmap")


def broken():
    model = models.decoder()
    with torch.no_grad():
        model.head.weight[0, 0] = float("nan")
    return model


def with_one_loss():
    model = models.decoder()
    rowwise = model.loss
    model.loss = lambda batch: rowwise(batch).mean()
    return model


@pytest.mark.parametrize(
    ("build", "engine", "message"),
    [
        (with_one_loss, "vmap", "a loss for each"),
        (broken, "vmap", "Q023.*finite"),
        (lambda: models.decoder().requires_grad_(False), "vmap", "Q021"),
        (lambda: models.decoder().to(torch.bfloat16), "loop", "Q027.*32 bits"),
        (lambda: models.decoder().to(torch.float16), "loop", "Q027.*32 bits"),
    ],
)
def test_models_that_no_engine_is_right_for_are_refused(build, engine, message):
    with pytest.raises(GenieError, match=f"(?s){message}"):
        check_engine(made(build), engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_batch_norm_is_refused_under_every_engine(engine):
    model = made(models.BatchNormed)
    with pytest.raises(GenieError, match="LayerNorm") as caught:
        check_engine(model, engine)
    assert caught.value.problems[0].code == "Q022"
    assert int(model.norm.num_batches_tracked) == 0


def test_dropout_is_off_in_the_check_and_on_in_training():
    model = made(models.Dropping)
    check_engine(model, "vmap")
    assert model.dropout.p == 0.5
    batch = models.batch()
    torch.manual_seed(0)
    first = clipped_sums(model, "vmap", batch, 1.0)
    second = clipped_sums(model, "vmap", batch, 1.0)
    assert not torch.equal(first["words.weight"], second["words.weight"])


def test_dropout_that_an_engine_cannot_draw_is_refused_before_anything_is_paid():
    class Pooled(ProgramLSTM):
        def __init__(self):
            super().__init__(models.WORDS, 8)
            self.dropout = PooledDropout(0.1)

    model = made(Pooled)
    check_engine(model, "loop", collate=programs)
    with pytest.raises(GenieError, match="Q024"):
        check_engine(model, "vmap", collate=programs)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_check_leaves_the_model_as_it_was(engine):
    model = made(models.decoder).eval()
    before = {name: x.clone() for name, x in model.state_dict().items()}
    check_engine(model, engine)
    assert not model.training
    assert all(torch.equal(before[name], x) for name, x in model.state_dict().items())
    assert all(p.grad is None for p in model.parameters())


@pytest.mark.parametrize("engine", ENGINES)
def test_only_trained_parameters_get_gradients(engine):
    model = made(models.gpt2_with_adapters)
    sums = clipped_sums(model, engine, models.batch(), 1.0)
    assert sums
    assert all("lora" in name for name in sums)
    frozen = [p for p in model.parameters() if not p.requires_grad]
    assert all(getattr(p, "grad_sample", None) is None for p in frozen)


def accumulated(model, engine, chunks, *, clip):
    """Return the sum of clipped gradients over several chunks."""
    trained = [p for p in model.parameters() if p.requires_grad]
    options = DPSettings(noise_multiplier=0.0, rate=1.0, steps=1, batch=1.0, clip=clip)
    optimizer = PrivateOptimizer(torch.optim.SGD(trained, lr=0.0), options, seeded_bytes(0))
    made_engine = engine_of(engine, model, optimizer)
    optimizer.begin()
    for chunk in chunks:
        made_engine.accumulate(collate(chunk))
    sums = [p.summed_grad for p in trained]
    return torch.cat([x.flatten() for x in sums])


@pytest.mark.parametrize("engine", ENGINES)
def test_chunks_of_any_size_give_the_same_sum(engine):
    model, rows = made(models.decoder), models.rows(7)
    whole = accumulated(model, engine, [rows], clip=0.5)
    parts = accumulated(model, engine, [rows[:3], rows[3:4], rows[4:]], clip=0.5)
    torch.testing.assert_close(whole, parts, rtol=1e-4, atol=1e-6)


MODEL = made(models.decoder)


@settings(max_examples=25, deadline=None)
@given(
    engine=st.sampled_from(ENGINES),
    count=st.integers(1, 6),
    clip=st.floats(1e-3, 10.0),
    seed=st.integers(0, 1000),
    scale=st.sampled_from([0.1, 1.0, 30.0]),
)
def test_one_more_row_moves_the_sum_by_at_most_the_clipping_norm(engine, count, clip, seed, scale):
    kept = [p.detach().clone() for p in MODEL.parameters()]
    with torch.no_grad():
        for p in MODEL.parameters():
            p.mul_(scale)
    rows = models.rows(count + 1, seed=seed)
    try:
        with_row = accumulated(MODEL, engine, [rows], clip=clip)
        without = accumulated(MODEL, engine, [rows[:-1]], clip=clip)
    finally:
        with torch.no_grad():
            for p, weights in zip(MODEL.parameters(), kept, strict=True):
                p.copy_(weights)
    assert float((with_row - without).norm()) <= clip * (1 + 1e-4)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_row_whose_gradient_is_not_finite_counts_as_zero(engine, bad):
    class Breaking(models.Tied):
        def loss(self, batch):
            found = super().loss(batch)
            broken = (batch.inputs == 12).any(1)
            return found * torch.where(broken, bad, 1.0)

        def __init__(self):
            super().__init__()
            self.head = nn.Linear(models.SIZE, models.WORDS)

    model = made(Breaking)
    good = [EncodedRow((2, 5, 6, 3)), EncodedRow((2, 7, 3))]
    broken = EncodedRow((2, 12, 5, 3))
    expected = accumulated(model, engine, [good], clip=0.5)
    found = accumulated(model, engine, [[*good, broken]], clip=0.5)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)
    assert found.norm() > 0
