"""Selective DP-SGD: which places have noise, and what reaches which."""

import pytest

pytest.importorskip("opacus")

import torch
from crt_selective import (
    SelectiveRun,
    SelectiveSettings,
    Stretches,
    collate_stretches,
    guarded_places,
    part_losses,
    stretches,
)
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.languages import get_language
from genie_dp.private.generators.generator import new_generator
from genie_dp.private.generators.plans import PublicSteps
from genie_dp.private.generators.stages import LabelledRow
from genie_dp.private.secure import _seeded
from tests.private.crt.crt_setup import LSTM, lstm, noisy, paid
from tests.private.training import private_models as models

STATES = SelectiveSettings(noise_multiplier=0.5)


def marked_rows():
    return [
        Stretches((2, 5, 6, 7, 8, 3), (False, False, True, False, False, False)),
        Stretches((2, 9, 10, 3), (False, False, False, False)),
    ]


@given(st.lists(st.booleans(), min_size=2, max_size=30), st.integers(0, 4))
def test_places_that_read_or_predict_a_sensitive_token_are_guarded(marks, crossings):
    found = guarded_places(marks, crossings)
    assert len(found) == len(marks) - 1
    assert all(g or not (a or b) for a, b, g in zip(marks, marks[1:], found, strict=False))
    left = sum(a and not b for a, b in zip(found, found[1:], strict=False))
    assert left <= crossings


def test_plain_losses_do_not_depend_on_sensitive_tokens_but_by_released_states():
    model = lstm()
    rows = marked_rows()
    changed = [Stretches((2, 5, 11, 7, 8, 3), rows[0].sensitive), rows[1]]
    collated = [collate_stretches(r, size=8, crossings=2) for r in (rows, changed)]
    # A bound of almost nothing: what is released is almost nothing.
    first, second = (part_losses(model, batch, 1e-9) for batch in collated)
    torch.testing.assert_close(first[0], second[0])
    assert float((first[1] - second[1]).detach().abs()[0]) > 1e-4
    # Without masks it is the loss of the model.
    assert float(first[1][1].detach()) == 0
    plain = model.loss(models.collate(rows[1:]))
    torch.testing.assert_close(first[0][1:], plain)
    # Where nothing is cut, both together are that of the row.
    batch = collate_stretches(rows[1:], size=8, crossings=2)
    torch.testing.assert_close(sum(part_losses(model, batch, 1.0)), plain)


def test_gradients_of_plain_losses_do_not_reach_sensitive_tokens():
    model = lstm()
    batch = collate_stretches(marked_rows()[:1], size=8, crossings=2)
    plain, guarded = part_losses(model, batch, 1.0)
    (gradient,) = torch.autograd.grad(plain.sum(), model.words.weight, retain_graph=True)
    assert float(gradient[6].abs().sum()) == 0
    assert float(gradient[8].abs().sum()) > 0
    (gradient,) = torch.autograd.grad(guarded.sum(), model.words.weight)
    assert float(gradient[6].abs().sum()) > 0


def selective(optimizer="adamw", states=STATES, count=4, **changes):
    rows = [(row,) for row in marked_rows() * count]
    plain = PublicSteps(batch=4, optimizer=optimizer)
    return SelectiveRun(lstm(), rows, plain=plain, noisy=noisy(**changes), states=states)


def test_selective_training_learns_plain_places_without_noise_and_others_with():
    with _seeded(0):
        run = paid(selective(rate=1.0, batch=8.0))
        model = run.model
        before = float(model.loss(models.collate(marked_rows()[1:])).detach())
        run.train()
    assert run.private.steps == run.steps == 4
    assert float(model.loss(models.collate(marked_rows()[1:])).detach()) < before


def test_stretches_hold_the_marks_of_words_for_their_pieces():
    tokenizer = new_generator(
        "one-stage", get_language("thingtalk"), [LabelledRow(("play",))], LSTM, seed=0
    ).tokenizer
    found = stretches([("play", False), ("xyz", True)], tokenizer, longest=16)
    assert len(found.tokens) == len(found.sensitive)
    assert sum(found.sensitive) == len(tokenizer.spell("xyz"))
    assert "tokens" not in repr(found)
