"""A private run: what is paid when, and how it goes on where it was killed."""

import json
import logging
import shutil
import signal
import subprocess
import sys
import traceback
from pathlib import Path

import pytest

pytest.importorskip("opacus")

import torch

from genie_dp.errors import GenieError
from genie_dp.private.generators.stages import EncodedRow
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.guard import Payer, Units
from genie_dp.private.ledger.mechanisms import PoissonGaussian
from genie_dp.private.ledger.once import name_run
from genie_dp.private.secure import SEEDED, _seeded
from genie_dp.private.training.run import (
    NOT_COVERED,
    PrivateRun,
    train_alone,
    train_privately,
)
from genie_dp.private.training.settings import ENGINES
from tests.private.training import private_models as models
from tests.private.training.private_models import made
from tests.private.training.private_runs import (
    SPENT,
    leave_engines_unchecked,
    run_of_model,
    small,
    spend,
    units,
    weights,
)

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def unchecked(request, monkeypatch):
    leave_engines_unchecked(request, monkeypatch)
    with _seeded(0):
        yield


@pytest.fixture
def checked():
    """Say that a test needs the comparison."""


class Interrupted(Exception):
    pass


def stopping(after):
    def listen(event):
        if event["step"] == after:
            raise Interrupted

    return listen


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
    with pytest.raises(GenieError) as caught:
        train_privately(made(models.decoder), units(), small(noise_multiplier=0.0), spend=spend)
    assert caught.value.problems[0].code == "Q026"


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


def test_a_run_that_is_done_gives_its_weights_again_without_a_step(tmp_path):
    first, again, events = made(models.decoder), made(models.decoder), []
    done = train_privately(first, units(), small(), spend=spend, folder=tmp_path)
    same = train_privately(
        again, units(), small(), spend=spend, folder=tmp_path, listen=events.append
    )
    assert torch.equal(weights(first), weights(again))
    assert same == done
    assert not events


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


def test_a_folder_keeps_its_name_and_a_new_folder_gets_another(tmp_path):
    first = name_run(tmp_path / "a")
    assert name_run(tmp_path / "a") == first
    assert name_run(tmp_path / "b") != first
    assert len(first) == 32


def test_the_name_of_a_run_in_several_folders_changes_with_each(tmp_path):
    stages = [tmp_path / "programs", tmp_path / "utterances"]
    first = name_run(*stages)
    assert name_run(*stages) == first
    shutil.rmtree(stages[1])
    assert name_run(*stages) != first


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
        with pytest.raises(GenieError) as caught:
            train_privately(
                made(models.decoder), units(), options, spend=paid.append, folder=tmp_path
            )
        assert caught.value.problems[0].code == "Q031"
        assert not paid
        if older.exists():
            older.rename(tmp_path / "step-00000002")


def test_a_folder_is_trained_in_by_one_process_at_a_time(tmp_path):
    with train_alone(tmp_path), pytest.raises(GenieError) as caught:
        train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)
    assert caught.value.problems[0].code == "Q032"
    train_privately(made(models.decoder), units(), small(), spend=spend, folder=tmp_path)


def test_a_checkpoint_holds_public_numbers_and_no_pickle(tmp_path):
    train_privately(made(models.decoder), units(37), small(), spend=spend, folder=tmp_path)
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


def test_only_steps_are_told(caplog, capfd):
    caplog.set_level(logging.DEBUG)
    events = []
    train_privately(made(models.decoder), units(), small(), spend=spend, listen=events.append)
    assert events == [{"step": i, "steps": 6} for i in range(1, 7)]
    assert not caplog.records
    assert capfd.readouterr() == ("", "")


KILLED = """
import logging, os, signal, sys
from pathlib import Path
from genie_dp.private.training.run import need_opacus
need_opacus()
assert not logging.getLogger().handlers, "Opacus took over the program's log"
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.training.run import train_privately
from tests.private.training import test_private_run as here

def listen(event):
    if event["step"] == 5:
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
ledger = Ledger.create(folder / "private.ledger.json", here.BUDGET)
with here._seeded(0):
    train_privately(here.made(here.models.decoder), here.units(), here.small(checkpoint_every=2),
        spend=here.paying(ledger, folder / "run"), folder=folder / "run", listen=listen)
"""
BUDGET = Budget(epsilon=20.0, delta=1e-5, unit="user", cap=2)


def paying(ledger, folder):
    return lambda found: ledger.spend(found, purpose="a generator", run=name_run(folder))


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
    again = made(models.decoder)
    train_privately(again, units(), options, spend=payer, folder=folder)
    assert torch.equal(weights(again), weights(done))
    assert len(Ledger.open(ledger.path).entries) == 1


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on_and_is_paid_once(tmp_path):
    command = [sys.executable, "-c", KILLED, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr
    folder, options = tmp_path / "run", small(checkpoint_every=2)
    ledger = Ledger.open(tmp_path / "private.ledger.json")
    paid = ledger.spent()
    assert ledger.mechanisms == (PoissonGaussian(1.0, 0.5, 6),)
    killed, whole = made(models.decoder), made(models.decoder)
    resumed = train_privately(killed, units(), options, spend=paying(ledger, folder), folder=folder)
    train_privately(whole, units(), options, spend=spend)
    assert torch.equal(weights(killed), weights(whole))
    assert Ledger.open(tmp_path / "private.ledger.json").spent() == paid
    assert (resumed.spent.epsilon, resumed.steps) == (paid.epsilon, 6)
    # In another folder it is another run.
    fresh = made(models.decoder)
    train_privately(fresh, units(), options, spend=paying(ledger, tmp_path / "other"))
    assert len(ledger.mechanisms) == 2
    assert ledger.spent().epsilon > paid.epsilon
