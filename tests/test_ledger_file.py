"""The ledger file: what was spent is never forgotten, and whoever changes it is found out."""

import copy
import json
import os
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.ledger import book, files
from genie_dp.private.ledger.book import Ledger, ledger_of, new_run
from genie_dp.private.ledger.budget import Budget, budget_from, doubts
from genie_dp.private.ledger.chain import digest
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace, PoissonGaussian, ZeroConcentrated

BUDGET = Budget(1.0, 1e-6, "user", cap=20)
CHEAP = (Laplace(20.0),)  # epsilon 0.05


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "rows.ledger.json", BUDGET)


@pytest.fixture
def three(ledger):
    """A ledger with three entries, the second of two mechanisms."""
    ledger.spend(CHEAP, purpose="programs", run="a")
    ledger.spend([Gaussian(50.0), PoissonGaussian(5.0, 0.01, 10)], purpose="votes", run="b")
    ledger.spend(CHEAP, purpose="counts", run="c")
    return ledger


def head_of(ledger):
    return ledger.path.with_suffix(".head")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def codes(path):
    """Return the codes of what opening says."""
    with pytest.raises(GenieError) as error:
        Ledger.open(path)
    return [problem.code for problem in error.value.problems]


def messages(path):
    with pytest.raises(GenieError) as error:
        Ledger.open(path)
    return str(error.value)


# ---------------------------------------------------------------------------------- spending


def test_a_new_ledger_has_spent_nothing(ledger):
    spent = Ledger.open(ledger.path).spent()
    assert (spent.epsilon, spent.delta, spent.unit) == (0.0, 1e-6, "user")
    assert (spent.relation, spent.accountant) == ("add-or-remove-one", "rdp")
    assert spent.not_covered


def test_spends_are_read_back_in_their_order(three):
    again = Ledger.open(three.path)
    assert [entry.run for entry in again.entries] == ["a", "b", "c"]
    assert again.mechanisms == three.mechanisms
    assert again.spent() == three.spent()
    assert again.budget == BUDGET


def test_a_spend_returns_the_guarantee_of_all_that_was_released(ledger):
    first = ledger.spend(CHEAP, purpose="programs", run="a")
    second = ledger.spend(CHEAP, purpose="programs", run="b")
    assert first.epsilon == pytest.approx(0.05)
    assert second.epsilon == ledger.spent().epsilon > first.epsilon


def test_a_resumed_run_is_not_charged_twice_and_has_the_guarantee_of_its_start(three):
    before = contents(three.path.parent)
    first = Ledger.open(three.path).spend(CHEAP, purpose="programs", run="a")
    assert first.epsilon == pytest.approx(0.05)
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


def test_a_budget_decided_by_pld_allows_more_and_refuses_zcdp(tmp_path):
    training = [PoissonGaussian(0.95, 2048 / 133_584, 660)]
    by = {}
    for name in ("rdp", "pld"):
        budget = Budget(3.0, 8e-6, "user", 1, accountant=name)
        by[name] = Ledger.create(tmp_path / f"{name}.json", budget)
    assert by["pld"].spend(training, purpose="programs", run="a").epsilon < 3
    with pytest.raises(GenieError, match="B023"):
        by["rdp"].spend(training, purpose="programs", run="a")
    with pytest.raises(GenieError, match="B003"):
        by["pld"].spend([ZeroConcentrated(0.001)], purpose="tables", run="b")
    assert by["rdp"].spend([ZeroConcentrated(0.001)], purpose="tables", run="b").epsilon > 0


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


def test_runs_get_different_ids():
    assert len({new_run("train") for _ in range(100)}) == 100


# ------------------------------------------------------------------------------- create, open


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


def test_a_ledger_is_a_json_file(tmp_path):
    with pytest.raises(GenieError, match=r"B025.*\.json"):
        Ledger.create(tmp_path / "rows.head", BUDGET)


def test_a_link_leads_to_one_ledger_and_stays_a_link(three, tmp_path):
    link = tmp_path / "elsewhere" / "link.json"
    link.parent.mkdir()
    link.symlink_to(three.path)
    Ledger.open(link).spend(CHEAP, purpose="programs", run="d")
    assert link.is_symlink()
    assert len(Ledger.open(three.path).entries) == 4
    assert [path.name for path in link.parent.iterdir()] == ["link.json"]


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"epsilon": 0.0}, "epsilon must be greater than 0"),
        ({"epsilon": float("inf")}, "epsilon must be greater than 0 and finite"),
        ({"epsilon": True}, "epsilon must be"),
        ({"delta": 1.0}, "delta must lie in"),
        ({"delta": -1e-9}, "delta must lie in"),
        ({"unit": "person"}, "unit must be one of utterance, dialogue, user"),
        ({"unit": "user"}, "a user needs a cap"),
        ({"unit": "dialogue", "cap": 0}, "a dialogue needs a cap"),
        ({"cap": 3}, "an utterance is one row"),
        ({"relation": "replace-one"}, "relation must be"),
        ({"accountant": "gdp"}, "accountant must be rdp or pld"),
    ],
)
def test_a_budget_that_promises_nothing_is_refused(facts, message):
    with pytest.raises(GenieError, match="B005") as error:
        Budget(**{"epsilon": 3.0, "delta": 1e-6, "unit": "utterance", **facts})
    assert message in str(error.value)


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
    assert budget_from(json.loads(json.dumps(BUDGET.as_dict()))) == BUDGET
    with pytest.raises(GenieError, match="B005.*a budget has"):
        budget_from({"epsilon": 1.0})


def test_a_budget_that_promises_little_is_doubted():
    assert not list(doubts(BUDGET))
    assert len(list(doubts(Budget(50.0, 0.01, "utterance")))) == 2


# -------------------------------------------------------------------------------- tampering


def fields_of(facts, path=()):
    """Yield the path of every value in JSON."""
    match facts:
        case dict():
            for name, value in facts.items():
                yield from fields_of(value, (*path, name))
        case list():
            for place, value in enumerate(facts):
                yield from fields_of(value, (*path, place))
        case _:
            yield path


def changed(facts, path):
    """Return JSON with another value at a path."""
    facts = copy.deepcopy(facts)
    place = facts
    for step in path[:-1]:
        place = place[step]
    match place[path[-1]]:
        case bool() | None:
            place[path[-1]] = 1
        case int() | float() as number:
            place[path[-1]] = number * 2 + 1
        case str(text):
            place[path[-1]] = text[:-1] + ("0" if text[-1] != "0" else "1")
    return facts


def test_every_field_that_is_changed_is_noticed_and_named(three):
    facts = json.loads(three.path.read_text())
    paths = list(fields_of(facts))
    assert len(paths) > 35
    for path in paths:
        three.path.write_text(json.dumps(changed(facts, path)))
        found = codes(three.path)
        match path:
            case ("format",):
                assert found == ["B010"], path
            case ("entries", int(place), *_):
                assert found == ["B012"], path
                assert f"entry {place + 1} was changed" in messages(three.path)
            case _:
                assert found == ["B011"], path
    three.path.write_text(json.dumps(facts))
    Ledger.open(three.path)


def test_every_field_that_is_left_out_is_noticed(three):
    facts = json.loads(three.path.read_text())
    for path in fields_of(facts):
        less = copy.deepcopy(facts)
        place = less
        for step in path[:-1]:
            place = place[step]
        del place[path[-1]]
        three.path.write_text(json.dumps(less))
        assert set(codes(three.path)) <= {"B010", "B011", "B012"}, path


@pytest.mark.parametrize("place", ["top", "entry", "mechanism", "budget"])
def test_a_field_that_is_added_is_noticed(three, place):
    facts = json.loads(three.path.read_text())
    entry = facts["entries"][1]
    {"top": facts, "entry": entry, "mechanism": entry["mechanisms"][0], "budget": facts["budget"]}[
        place
    ]["note"] = 1
    three.path.write_text(json.dumps(facts))
    assert codes(three.path) == ["B011" if place in ("top", "budget") else "B012"]


@pytest.mark.parametrize(("gone", "code"), [(0, "B013"), (1, "B013"), (2, "B016")])
def test_an_entry_that_is_removed_is_noticed_and_named(three, gone, code):
    facts = json.loads(three.path.read_text())
    del facts["entries"][gone]
    three.path.write_text(json.dumps(facts))
    assert codes(three.path) == [code]
    text = messages(three.path)
    assert (f"entry {gone + 1} missing" if gone < 2 else "the ledger has 2: 3 removed") in text


def test_all_entries_removed_are_noticed(three):
    facts = json.loads(three.path.read_text())
    facts["entries"] = []
    three.path.write_text(json.dumps(facts))
    assert "1 to 3 removed" in messages(three.path)


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1), (2, 1, 0), (0, 1, 1, 2), (0, 1, 2, 0)])
def test_entries_that_are_moved_or_copied_are_noticed(three, order):
    facts = json.loads(three.path.read_text())
    facts["entries"] = [facts["entries"][n] for n in order]
    three.path.write_text(json.dumps(facts))
    assert set(codes(three.path)) == {"B014"}


def sealed(entry, previous):
    """Return an entry with a hash of its own that is right."""
    entry = {**entry, "previous": previous}
    return {**entry, "hash": digest(entry)}


def test_an_entry_that_is_rewritten_with_a_right_hash_breaks_the_next_one(three):
    facts = json.loads(three.path.read_text())
    entry = facts["entries"][1]
    entry["mechanisms"] = [Laplace(1e6).as_dict()]
    facts["entries"][1] = sealed(entry, entry["previous"])
    three.path.write_text(json.dumps(facts))
    assert "B015" in codes(three.path)
    assert "entry 2 was replaced" in messages(three.path)


def test_a_budget_that_is_raised_with_a_right_hash_breaks_the_first_entry(three):
    facts = json.loads(three.path.read_text())
    facts["budget"]["epsilon"] = 100.0
    facts["hash"] = digest({name: facts[name] for name in facts if name != "entries"})
    three.path.write_text(json.dumps(facts))
    assert codes(three.path) == ["B015"]
    assert "the budget was replaced" in messages(three.path)


def test_a_chain_that_is_rewritten_from_an_entry_to_the_end_contradicts_the_head(three):
    facts = json.loads(three.path.read_text())
    entries = facts["entries"]
    entries[1]["mechanisms"] = [Laplace(1e6).as_dict()]
    entries[1] = sealed(entries[1], entries[0]["hash"])
    entries[2] = sealed(entries[2], entries[1]["hash"])
    three.path.write_text(json.dumps(facts))
    assert codes(three.path) == ["B018"]


def test_a_budget_that_is_raised_before_the_first_spend_contradicts_the_head(ledger):
    facts = json.loads(ledger.path.read_text())
    facts["budget"]["epsilon"] = 100.0
    facts["hash"] = digest({name: facts[name] for name in facts if name != "entries"})
    ledger.path.write_text(json.dumps(facts))
    assert codes(ledger.path) == ["B018"]


def test_a_head_that_is_changed_missing_or_of_another_ledger_is_noticed(three, tmp_path):
    good = head_of(three).read_text()
    facts = json.loads(good)
    for name, code in (("id", "B018"), ("entries", "B016"), ("hash", "B018")):
        head_of(three).write_text(json.dumps(changed(facts, (name,))))
        assert codes(three.path) == [code], name
    for text in ("", "{", "[]", '{"id": "x"}', json.dumps({**facts, "more": 1})):
        head_of(three).write_text(text)
        assert codes(three.path) == ["B017"], text
    head_of(three).write_bytes(b"\xff\xfe")
    assert codes(three.path) == ["B017"]
    head_of(three).unlink()
    assert codes(three.path) == ["B017"]


def test_a_changed_ledger_takes_no_spend(three):
    facts = json.loads(three.path.read_text())
    facts["budget"]["epsilon"] = 100.0
    three.path.write_text(json.dumps(facts))
    before = contents(three.path.parent)
    with pytest.raises(GenieError, match="B011"):
        three.spend(CHEAP, purpose="programs", run="d")
    assert contents(three.path.parent) == before


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "{}", '{"format": "other"}', "\ufeff"])
def test_what_is_no_ledger_is_told(three, text):
    three.path.write_text(text)
    assert codes(three.path) == ["B010"]


def test_bytes_that_are_no_text_are_told(three):
    three.path.write_bytes(b'{"format": "\xff"}')
    assert codes(three.path) == ["B010"]


@given(st.data())
@settings(max_examples=60)
def test_no_cut_of_the_file_is_taken_for_a_ledger(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("cut") / "rows.json"
    ledger = Ledger.create(path, BUDGET)
    ledger.spend(CHEAP, purpose="programs", run="a")
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 3))])
    assert codes(path) == ["B010"]


def test_a_head_noted_elsewhere_finds_out_that_both_files_were_put_back(three):
    kept, old = contents(three.path.parent), three.head
    three.spend(CHEAP, purpose="programs", run="d")
    noted = three.head
    assert Ledger.open(three.path).unseen(noted) is None
    for name, content in kept.items():
        (three.path.parent / name).write_bytes(content)
    again = Ledger.open(three.path)
    assert again.unseen(noted).code == "B018"
    assert again.unseen(old) is None
    assert again.unseen(old[: len("3:") + 12]) is None


@pytest.mark.parametrize("seen", ["", "abc", "1:", "x:0123456789abcdef", "0:01234567890"])
def test_what_is_no_head_is_told(three, seen):
    assert three.unseen(seen).code == "B026"


def test_a_missing_or_old_head_can_be_accepted_but_no_contradiction(three):
    kept = head_of(three).read_bytes()
    head_of(three).unlink()
    assert len(Ledger.accept_head(three.path).entries) == 3
    assert head_of(three).read_bytes() == kept
    for run in ("d", "e"):
        three.spend(CHEAP, purpose="programs", run=run)
    newest = head_of(three).read_bytes()
    head_of(three).write_bytes(kept)
    assert codes(three.path) == ["B019"]
    Ledger.accept_head(three.path)
    assert head_of(three).read_bytes() == newest
    head_of(three).write_bytes(newest.replace(b'"entries": 5', b'"entries": 6'))
    with pytest.raises(GenieError, match="B016"):
        Ledger.accept_head(three.path)


# --------------------------------------------------------------------- between the two files


def test_a_kill_between_the_two_files_loses_nothing(three, monkeypatch):
    write = files.replace_durably

    def die_before_head(path, text):
        if path.suffix == ".head":
            raise KeyboardInterrupt
        write(path, text)

    monkeypatch.setattr(book, "replace_durably", die_before_head)
    with pytest.raises(KeyboardInterrupt):
        three.spend(CHEAP, purpose="programs", run="d")
    monkeypatch.undo()
    again = Ledger.open(three.path)
    assert [entry.run for entry in again.entries] == ["a", "b", "c", "d"]
    # The run that was killed comes back: the head counts its entry before it goes on.
    again.spend(CHEAP, purpose="programs", run="d")
    assert len(Ledger.open(three.path).entries) == 4
    assert json.loads(head_of(three).read_text())["entries"] == 4


@pytest.mark.parametrize("step", ["open", "fsync", "replace"])
def test_a_spend_that_cannot_be_written_leaves_the_ledger_as_it_was(three, monkeypatch, step):
    def full(*_args, **_options):
        raise OSError(28, "No space left on device")

    before = contents(three.path.parent)
    with monkeypatch.context() as broken:
        match step:
            case "open":
                broken.setattr(type(three.path), "open", full)
            case "fsync":
                broken.setattr(os, "fsync", full)
            case "replace":
                broken.setattr(type(three.path), "replace", full)
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
        files.locked(path),
        pytest.raises(GenieError, match="B006"),
        files.locked(path, wait=0.05),
    ):
        pytest.fail("two held one lock")
    with files.locked(path, wait=0.05):
        pass


def test_threads_of_one_process_wait_for_each_other(ledger):
    def spend(name):
        Ledger.open(ledger.path).spend([Laplace(100.0)], purpose="counts", run=name)

    threads = [threading.Thread(target=spend, args=(f"t{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {entry.run for entry in Ledger.open(ledger.path).entries} == {f"t{n}" for n in range(8)}
