"""Public pretraining that is kept: the same weights, and never those of another run."""

import os
from dataclasses import replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import torch

from genie_dp.errors import GenieError
from genie_dp.models.loop import TrainingBudget, TrainSettings
from genie_dp.models.saved import weights
from genie_dp.private.generators import pretraining
from genie_dp.private.generators.pretraining import pretrain_publicly
from genie_dp.private.generators.stages import EncodedRow
from tests.private.generators.generator_models import own

SETTINGS = TrainSettings(TrainingBudget(steps=5), rate=1e-2)
ROWS = [EncodedRow((1, 5 + n, 6, 7 + n, 2)) for n in range(12)]


def learned(kept, *, rows=ROWS, settings=SETTINGS, seed=0, batch=4):
    """Return the weights after pretraining, and how many events it told."""
    model, told = own(seed=seed), []
    settings = replace(settings, log_every=1)
    pretrain_publicly(model, rows, settings, batch=batch, kept=kept, listen=told.append)
    assert not model.training
    return weights(model), len(told)


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.trains
def test_the_same_run_is_made_once_and_gives_the_same_weights(tmp_path):
    alone, steps = learned(None)
    first, made = learned(tmp_path)
    again, taken = learned(tmp_path)
    assert (steps, made, taken) == (5, 5, 0)
    assert same(alone, first)
    assert same(first, again)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes()[:100])  # cut off
    with pytest.raises(GenieError, match="H011"):
        learned(tmp_path)


@pytest.mark.parametrize("size", [2, 3, 8])
def test_a_token_counts_alike_among_short_rows_and_long_ones(size):
    rows = [EncodedRow((1, *range(5, 5 + count), 2)) for count in (1, 1, 1, 9, 9, 40, 1, 30, 2)]
    batches = pretraining.EncodedBatches(rows, size=size)
    for epoch in range(3):
        counts = [batches.take(epoch * int(batches.per_epoch) + i)[1]
                  for i in range(int(batches.per_epoch))]  # fmt: skip
        assert len(set(counts)) == 1
    # On average it is the loss of a token.
    assert counts[0] == pytest.approx(size * sum(row.scored_count for row in rows) / len(rows))


@pytest.mark.trains
@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"batch": 3},
        {"rows": ROWS[1:]},
        {"rows": [replace(ROWS[0], scored_from=2), *ROWS[1:]]},
        {"settings": replace(SETTINGS, rate=2e-2)},
        {"settings": replace(SETTINGS, seed=1)},
        {"settings": replace(SETTINGS, budget=TrainingBudget(steps=6))},
    ],
    ids=str,
)
def test_whatever_the_weights_depend_on_makes_another_file(tmp_path, changed):
    before, _ = learned(tmp_path)
    after, steps = learned(tmp_path, **changed)
    assert steps > 0
    assert not same(before, after)
    assert len(list(tmp_path.glob("*.safetensors"))) == 2


def test_two_processes_that_learn_the_same_keep_it_both(tmp_path, monkeypatch):
    model, place, whole = own(seed=0), tmp_path / "kept.safetensors", pretraining.write_weights
    met = []

    def interleaved(model, partial):
        """Write, and let another process keep the same before it has its name."""
        met.append(partial)
        whole(model, partial)
        if len(met) == 1:
            monkeypatch.setattr(os, "getpid", lambda: 1)
            pretraining.keep_weights(model, place)

    monkeypatch.setattr(pretraining, "write_weights", interleaved)
    pretraining.keep_weights(model, place)
    assert len(set(met)) == 2
    assert [file.name for file in tmp_path.iterdir()] == [place.name]
