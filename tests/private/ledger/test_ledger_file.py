"""The ledger file: what was spent is never forgotten."""

import json
import os
import shutil
import threading

import pytest

from genie_dp.errors import GenieError
from genie_dp.private.ledger import book, files
from genie_dp.private.ledger.accounting import epsilon_of
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget, budget_from
from genie_dp.private.ledger.mechanisms import Laplace, PoissonGaussian, ZeroConcentrated
from genie_dp.run.manifest import ledger_of
from tests.golden import cases
from tests.private.ledger.ledger_setup import (
    BUDGET,
    CHEAP,
    contents,
    ledger_of_three,
    new_ledger,
)


@pytest.fixture
def ledger(tmp_path):
    return new_ledger(tmp_path)


@pytest.fixture
def three(tmp_path):
    return ledger_of_three(tmp_path)


def test_spends_are_read_back_in_their_order(three):
    again = Ledger.open(three.path)
    assert [entry.run for entry in again.entries] == ["a", "b", "c"]
    assert again.mechanisms == three.mechanisms
    assert again.spent() == three.spent()
    assert again.budget == BUDGET


def test_a_spend_returns_the_guarantee_of_all_that_was_released(ledger):
    first = ledger.spend(CHEAP, purpose="programs", run="a")
    second = ledger.spend(CHEAP, purpose="programs", run="b")
    assert first.epsilon == pytest.approx(0.05, abs=1e-5)
    assert second.epsilon == ledger.spent().epsilon > first.epsilon


def test_a_resumed_run_is_not_charged_twice_and_has_the_guarantee_of_its_start(three):
    before = contents(three.path.parent)
    first = Ledger.open(three.path).spend(CHEAP, purpose="programs", run="a")
    assert first.epsilon == pytest.approx(0.05, abs=1e-5)
    assert contents(three.path.parent) == before


@pytest.mark.parametrize(
    ("mechanisms", "purpose"),
    [((Laplace(21.0),), "programs"), (CHEAP * 2, "programs"), (CHEAP, "x")],
)
def test_a_run_with_the_id_of_another_is_refused(three, mechanisms, purpose):
    before = contents(three.path.parent)
    with pytest.raises(GenieError, match="B024.*'a' is recorded"):
        three.spend(mechanisms, purpose=purpose, run="a")
    assert contents(three.path.parent) == before


def test_what_would_go_past_the_budget_is_refused_and_nothing_is_written(three):
    before = contents(three.path.parent)
    with pytest.raises(
        GenieError, match=r"B023.*at most epsilon 1 at delta 1e-06, got 1\.\d+ with"
    ):
        three.spend([Laplace(1.1)], purpose="greedy", run="d")
    assert contents(three.path.parent) == before
    assert len(three.entries) == len(Ledger.open(three.path).entries) == 3


def test_the_whole_budget_can_be_spent_and_nothing_more(ledger):
    noise = ledger.noise_multiplier_for(rate=0.01, steps=100)
    ledger.spend([PoissonGaussian(noise, 0.01, 100)], purpose="training", run="a")
    assert 0.99 < ledger.spent().epsilon <= 1
    with pytest.raises(GenieError, match="B023"):
        ledger.spend([Laplace(20.0)], purpose="more", run="b")


def test_pure_mechanisms_fit_into_a_budget_without_delta(tmp_path):
    ledger = Ledger.create(tmp_path / "pure.json", Budget(1.0, 0.0, "utterance"))
    ledger.spend([Laplace(2.0)], purpose="counts", run="a")
    assert ledger.spend([Laplace(2.0)], purpose="counts", run="b").epsilon == 1.0
    with pytest.raises(GenieError, match="B023"):
        ledger.spend([Laplace(1e6)], purpose="counts", run="c")
    with pytest.raises(GenieError, match="B023.*got inf.*\n.*at delta 0 only Laplace"):
        ledger.spend([PoissonGaussian(9.0, 0.1, 1)], purpose="training", run="c")


def test_a_budget_decided_by_pld_allows_more_and_zcdp_too(tmp_path):
    training = [PoissonGaussian(0.95, 2048 / 133_584, 660)]
    by = {}
    for name in ("rdp", "pld"):
        budget = Budget(3.0, 8e-6, "user", 1, accountant=name)
        by[name] = Ledger.create(tmp_path / f"{name}.json", budget)
    assert by["pld"].spend(training, purpose="programs", run="a").epsilon < 3
    with pytest.raises(GenieError, match="B023"):
        by["rdp"].spend(training, purpose="programs", run="a")
    for ledger in by.values():
        assert 0 < ledger.spend([ZeroConcentrated(1e-6)], purpose="tables", run="b").epsilon <= 3


def test_pld_decides_unless_told_and_old_ledgers_keep_their_accountant(tmp_path):
    assert Budget(3.0, 1e-6, "utterance").accountant == "pld"
    old = Ledger.create(tmp_path / "old.json", Budget(3.0, 1e-6, "utterance", accountant="rdp"))
    training = [PoissonGaussian(1.0, 0.01, 100)]
    spent = old.spend(training, purpose="programs", run="a")
    again = Ledger.open(old.path)
    assert again.budget.accountant == spent.accountant == "rdp"
    assert again.spent().epsilon == epsilon_of(training, 1e-6, "rdp")


@pytest.mark.parametrize(
    ("accountant", "delta", "said"),
    [
        ("pld", 1e-6, "pld is proved for amounts decided on before"),
        ("rdp", 1e-6, "rdp is proved at 156 times delta"),
        ("pld", 0.0, None),
    ],
)
def test_what_is_proved_of_amounts_chosen_on_the_way_is_said(accountant, delta, said):
    budget = Budget(3.0, delta, "utterance", accountant=accountant)
    found = [what for what in budget.not_covered() if "noise and steps that were chosen" in what]
    assert [said in what for what in found] == ([True] if said else [])
    assert ("reading" in budget.reading) == (delta > 0)


def test_a_ledger_sees_what_others_spent_in_the_meantime(ledger):
    other = Ledger.open(ledger.path)
    other.spend([Laplace(1.25)], purpose="other", run="a")
    with pytest.raises(GenieError, match="B023"):
        ledger.spend([Laplace(1.25)], purpose="mine", run="b")
    assert [entry.run for entry in ledger.entries] == ["a"]


def test_a_spend_needs_a_mechanism_and_words_of_one_line(ledger):
    with pytest.raises(ValueError, match="at least one mechanism"):
        ledger.spend([], purpose="programs", run="a")
    for names in ({"purpose": "", "run": "a"}, {"purpose": "p", "run": "a\nb"}):
        with pytest.raises(GenieError, match="B025"):
            ledger.spend(CHEAP, **names)


def test_a_promise_is_made_once(ledger):
    before = contents(ledger.path.parent)
    with pytest.raises(GenieError, match="B020"):
        Ledger.create(ledger.path, Budget(100.0, 0.1, "utterance"))
    assert contents(ledger.path.parent) == before


def test_a_ledger_that_was_removed_is_not_begun_anew(three):
    three.path.unlink()
    with pytest.raises(GenieError, match="B021"):
        Ledger.create(three.path, BUDGET)
    with pytest.raises(GenieError, match="B022"):
        Ledger.open(three.path)


def test_a_ledger_lies_beside_the_rows_whatever_their_format(tmp_path):
    for name in ("rows.jsonl", "rows.tsv", "rows.jsonl.gz", "rows.tsv.xz"):
        assert ledger_of(tmp_path / name) == tmp_path / "rows.ledger.json"


@pytest.mark.parametrize(
    ("name", "message"), [("rows.head", r"B025.*\.json"), ("nowhere/rows.json", "B028.*no folder")]
)
def test_a_ledger_is_a_json_file_in_a_folder_that_is_there(name, message, tmp_path):
    with pytest.raises(GenieError, match=message):
        Ledger.create(tmp_path / name, BUDGET)


def test_a_link_leads_to_one_ledger_and_stays_a_link(three, tmp_path):
    link = tmp_path / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(three.path)
    Ledger.open(link).spend(CHEAP, purpose="programs", run="d")
    assert link.is_symlink()
    assert len(Ledger.open(three.path).entries) == 4
    assert [path.name for path in link.parent.iterdir()] == ["link.json"]


def test_a_budget_that_promises_nothing_is_refused(golden):
    [case], shown = cases("private_budget/refused.txt"), []
    for facts in (*map(json.loads, case.input.splitlines()), {"epsilon": 10**400}):
        with pytest.raises(GenieError) as caught:
            Budget(**{"epsilon": 3.0, "delta": 1e-6, "unit": "utterance", **facts})
        shown.append(str(caught.value).splitlines()[0])
    *shown, huge = shown
    golden(case, "\n".join(shown))
    assert "B005" in huge


def test_epsilon_delta_and_unit_have_no_default():
    for missing in ("epsilon", "delta", "unit"):
        facts = {"epsilon": 3.0, "delta": 1e-6, "unit": "utterance"}
        del facts[missing]
        with pytest.raises(TypeError, match=missing):
            Budget(**facts)


def test_all_mistakes_of_a_budget_are_told_at_once():
    with pytest.raises(GenieError) as error:
        Budget(0.0, 2.0, "person")
    assert len(error.value.problems) == 3


def test_a_budget_survives_json():
    assert "unit_field" not in BUDGET.as_dict()
    assert budget_from(json.loads(json.dumps(BUDGET.as_dict()))) == BUDGET
    with pytest.raises(GenieError, match="B005.*a budget has"):
        budget_from({"epsilon": 1.0})


@pytest.mark.parametrize("spends", [1, 2, 3])
def test_a_ledger_that_is_read_while_others_spend_is_whole(three, monkeypatch, spends):
    """Between its two files there is time for any number of spends."""
    read, more = book.read_text, [f"more-{n}" for n in range(spends)]

    def interrupted(path, **options):
        monkeypatch.setattr(book, "read_text", read)
        for run in more:
            three.spend(CHEAP, purpose="programs", run=run)
        return read(path, **options)

    monkeypatch.setattr(book, "read_text", interrupted)
    found = Ledger.open(three.path)
    assert [entry.run for entry in found.entries] == ["a", "b", "c", *more]


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_spend_that_cannot_be_written_leaves_the_ledger_as_it_was(three, monkeypatch, step):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    before = contents(three.path.parent)
    with monkeypatch.context() as broken:
        broken.setattr(os if step == "fsync" else type(three.path), step, full)
        with pytest.raises(OSError, match="No space left"):
            three.spend(CHEAP, purpose="programs", run="d")
    after = contents(three.path.parent)
    assert {name: after[name] for name in before} == before
    assert len(Ledger.open(three.path).entries) == 3
    three.spend(CHEAP, purpose="programs", run="d")
    assert set(contents(three.path.parent)) == set(before)


def test_a_file_is_on_the_disk_before_it_gets_its_name(tmp_path, monkeypatch):
    done, sync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda number: (done.append("sync"), sync(number))[1])
    replace = type(tmp_path).replace

    def noted(path, target):
        done.append("replace")
        return replace(path, target)

    monkeypatch.setattr(type(tmp_path), "replace", noted)
    files.replace_durably(tmp_path / "x.json", "{}\n")
    assert done == ["sync", "replace", "sync"]
    assert contents(tmp_path) == {"x.json": b"{}\n"}


def test_a_lock_that_is_held_too_long_is_told(tmp_path):
    path = tmp_path / ".lock"
    with (
        files.hold_lock(path),
        pytest.raises(GenieError, match="B006"),
        files.hold_lock(path, wait=0.05),
    ):
        pytest.fail("two held one lock")
    with files.hold_lock(path, wait=0.05):
        pass


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_folder_that_is_removed_while_its_lock_is_waited_for_is_told(
    tmp_path, monkeypatch, is_made_again
):
    folder = tmp_path / "work"
    folder.mkdir()
    taken = files._try_lock

    def finished(number):
        if not folder.joinpath(".lock").exists():
            pytest.fail("the lock is opened before it is waited for")
        monkeypatch.setattr(files, "_try_lock", taken)
        shutil.rmtree(folder)
        if is_made_again:
            folder.mkdir()
            folder.joinpath(".lock").touch()
        return False

    monkeypatch.setattr(files, "_try_lock", finished)
    with pytest.raises(GenieError, match="B029"), files.hold_lock(folder / ".lock"):
        pytest.fail("nobody else would wait for this lock")


def test_a_spend_into_a_folder_that_was_removed_is_told(tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    ledger = new_ledger(folder)
    shutil.rmtree(folder)
    with pytest.raises(GenieError, match="B029"):
        ledger.spend(CHEAP, purpose="counts", run="a")


def test_threads_of_one_process_wait_for_each_other(ledger):
    def spend(name):
        Ledger.open(ledger.path).spend([Laplace(100.0)], purpose="counts", run=name)

    threads = [threading.Thread(target=spend, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.run for entry in Ledger.open(ledger.path).entries} == {f"t{n}" for n in range(8)}
