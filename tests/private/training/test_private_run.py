"""A private run: what is paid when, and how it goes on where it was killed."""

import json
import logging
import shutil
import traceback

import pytest

pytest.importorskip("opacus")

import torch

from genie_dp.errors import GenieError
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units
from genie_dp.private.ledger.once import name_run
from genie_dp.private.secure import SEEDED, _seeded
from genie_dp.private.training.run import NOT_COVERED, PrivateRun, train_alone, train_privately
from genie_dp.private.training.settings import ENGINES
from tests.private.training import private_models as models
from tests.private.training.private_models import (
    SPENT,
    Interrupted,
    made,
    run_of_model,
    small,
    spend,
    stopping,
    units,
    weights,
)

pytestmark = [pytest.mark.usefixtures("seeded_and_unchecked"), pytest.mark.trains]


@pytest.mark.usefixtures("checked")
def test_the_spend_is_recorded_before_the_first_gradient():
    model, order = made(models.decoder), []
    whole = model.loss

    def loss(batch):
        order.append("loss")
        return whole(batch)

    model.loss = loss
    # The check's losses, of made-up rows, come before.
    train_privately(model, units(), small(), spend=lambda found: order.append("paid") or SPENT)
    at = order.index("paid")
    fresh = made(models.decoder)
    seen = []
    whole_fresh = fresh.loss
    fresh.loss = lambda batch: seen.append(batch) or whole_fresh(batch)
    PrivateRun(fresh, units(), small())
    assert at == len(seen)
    assert order[at + 1 :]


def test_a_refused_spend_leaves_model_and_folder_untouched(tmp_path):
    model = made(models.decoder)
    before = weights(model)

    def refusing(mechanisms):
        raise Interrupted

    with pytest.raises(Interrupted):
        train_privately(model, units(), small(), spend=refusing, folder=tmp_path / "run")
    assert torch.equal(weights(model), before)
    assert not list((tmp_path / "run").glob("step-*"))


@pytest.mark.usefixtures("checked")
def test_a_refused_engine_pays_nothing():
    paid = []
    with pytest.raises(GenieError):
        train_privately(made(models.BatchNormed), units(), small(), spend=paid.append)
    assert not paid


def test_training_without_noise_is_refused():
    with pytest.raises(GenieError, match="Q026"):
        train_privately(made(models.decoder), units(), small(noise_multiplier=0.0), spend=spend)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_run_that_was_interrupted_ends_with_the_same_weights_and_pays_the_same(engine, tmp_path):
    options = small(checkpoint_every=2, engine=engine)
    whole, parts = made(models.decoder), made(models.decoder)
    paid = []
    spend = lambda found: paid.append(tuple(found)) or SPENT  # noqa: E731
    uninterrupted = train_privately(whole, units(), options, spend=spend, folder=tmp_path / "a")
    for after in (3, 5):
        # The third and the fifth step are taken twice, with the same batch and the same noise.
        with pytest.raises(Interrupted):
            train_privately(
                made(models.decoder), units(), options, spend=spend, folder=tmp_path / "b",
                listen=stopping(after),
            )  # fmt: skip
    resumed = train_privately(parts, units(), options, spend=spend, folder=tmp_path / "b")
    assert torch.equal(weights(whole), weights(parts))
    assert resumed == uninterrupted
    assert len(set(paid)) == 1


def test_without_a_seed_two_runs_differ_and_say_nothing_of_seeds():
    models_made = [made(models.decoder) for _ in range(2)]
    with _seeded(None):
        done = [train_privately(m, units(), small(), spend=spend) for m in models_made]
    assert not torch.equal(*map(weights, models_made))
    assert SEEDED not in done[0].spent.not_covered


def test_what_is_not_covered_is_said():
    done = train_privately(made(models.decoder), units(), small(), spend=spend)
    assert done.spent.epsilon == 3.0
    assert done.spent.not_covered == ("what the ledger says", *NOT_COVERED, SEEDED)
    assert any("floating point" in line for line in done.spent.not_covered)


def test_a_checkpoint_of_other_settings_or_another_model_is_refused(tmp_path):
    train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)
    with pytest.raises(GenieError, match="noise_multiplier"):
        train_privately(
            made(models.decoder), units(), small(noise_multiplier=2.0), spend=spend, folder=tmp_path
        )
    with pytest.raises(GenieError, match="another model"):
        train_privately(
            made(models.decoder, layers=2), units(), small(), spend=spend, folder=tmp_path
        )


def test_steps_that_were_there_to_be_seen_are_not_taken_again(tmp_path):
    options = small(checkpoint_every=2)
    with pytest.raises(Interrupted):
        train_privately(
            made(models.decoder), units(), options, spend=spend, folder=tmp_path, listen=stopping(3)
        )
    older = tmp_path / "copy"
    shutil.copytree(next(tmp_path.glob("step-*")), older)
    train_privately(made(models.decoder), units(), options, spend=spend, folder=tmp_path)
    shutil.rmtree(tmp_path / "step-00000006")
    for _ in range(2):
        paid = []
        with pytest.raises(GenieError, match="Q031"):
            train_privately(
                made(models.decoder), units(), options, spend=paid.append, folder=tmp_path
            )
        assert not paid
        if older.exists():
            older.rename(tmp_path / "step-00000002")


def test_a_folder_is_trained_in_by_one_process_at_a_time(tmp_path):
    with train_alone(tmp_path), pytest.raises(GenieError, match="Q032"):
        train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)
    train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)


def test_checkpoints_hold_public_numbers_and_no_pickle_and_only_steps_are_told(
    tmp_path, caplog, capfd
):
    caplog.set_level(logging.DEBUG)
    events = []
    options = {"spend": spend, "folder": tmp_path, "listen": events.append}
    train_privately(made(models.decoder), units(37), small(), **options)
    assert events == [{"step": i, "steps": 6} for i in range(1, 7)]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
    (folder,) = tmp_path.glob("step-*")
    assert sorted(path.name for path in folder.iterdir()) == ["state.json", "state.safetensors"]
    facts = json.loads((folder / "state.json").read_text())
    assert facts == {"step": 6, "settings": small().as_dict()}
    assert "37" not in (folder / "state.json").read_text()


CANARY = 987_654_321


@pytest.mark.parametrize("engine", ENGINES)
def test_a_failing_step_shows_no_ids_of_a_row(engine, caplog, capfd):
    rows = Units(((EncodedRow((2, CANARY, 3)),),) * 3)
    with pytest.raises((IndexError, RuntimeError)) as caught:
        train_privately(made(models.decoder), rows, small(rate=1.0, engine=engine), spend=spend)
    told = traceback.TracebackException.from_exception(caught.value)
    assert str(CANARY) not in "".join(told.format()) + caplog.text + "".join(capfd.readouterr())
    run = run_of_model(made(models.decoder), rows=rows)
    assert str(CANARY) not in f"{run!r} {vars(run)!r} {rows}"


BUDGET = Budget(epsilon=20.0, delta=1e-5, unit="user", cap=2)


def test_a_folder_that_was_put_back_delivers_no_second_model(tmp_path):
    ledger = Ledger.create(tmp_path / "private.ledger.json", BUDGET)
    folder, copy, options = tmp_path / "run", tmp_path / "copy", small(checkpoint_every=2)
    payer = Payer(ledger, "a generator", name_run(folder))

    def at_three(event):
        if event["step"] == 3:
            shutil.copytree(folder, copy)

    with _seeded(None):
        done = made(models.decoder)
        how = {"spend": payer, "listen": at_three}
        train_privately(done, units(), options, folder=folder, **how)
        with pytest.raises(GenieError, match="B032"):
            train_privately(made(models.decoder), units(), options, spend=payer, folder=copy)
    # Asked for again, it is the same one.
    again, steps = made(models.decoder), []
    how = {"spend": payer, "folder": folder, "listen": steps.append}
    train_privately(again, units(), options, **how)
    assert torch.equal(weights(again), weights(done))
    assert not steps
    assert len(Ledger.open(ledger.path).entries) == 1
