"""Whoever changes a ledger is found out, and what was changed is named."""

import copy
import json
from contextlib import contextmanager

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.chain import digest
from genie_dp.private.ledger.mechanisms import Laplace
from tests.private.ledger.ledger_setup import (
    BUDGET,
    CHEAP,
    codes,
    contents,
    head_of,
    ledger_of_three,
    messages,
    new_ledger,
)


@pytest.fixture
def three(tmp_path):
    return ledger_of_three(tmp_path)


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
    with edited(three.path) as facts:
        entry = facts["entries"][1]
        {
            "top": facts,
            "entry": entry,
            "mechanism": entry["mechanisms"][0],
            "budget": facts["budget"],
        }[place]["note"] = 1
    assert codes(three.path) == ["B011" if place in ("top", "budget") else "B012"]


@pytest.mark.parametrize(
    ("order", "code", "message"),
    [
        ((1, 2), "B013", "entry 1 missing"),
        ((0, 2), "B013", "entry 2 missing"),
        ((0, 1), "B016", "the ledger has 2: 3 removed"),
        ((), "B016", "1 to 3 removed"),
        ((1, 0, 2), "B014", ""),
        ((0, 2, 1), "B014", ""),
        ((2, 1, 0), "B014", ""),
        ((0, 1, 1, 2), "B014", ""),
        ((0, 1, 2, 0), "B014", ""),
    ],
)
def test_entries_that_are_removed_moved_or_copied_are_noticed(three, order, code, message):
    with edited(three.path) as facts:
        facts["entries"] = [facts["entries"][n] for n in order]
    assert set(codes(three.path)) == {code}
    assert message in messages(three.path)


@contextmanager
def edited(path):
    """Give the facts of a file, and write them when they were changed."""
    yield (facts := json.loads(path.read_text()))
    path.write_text(json.dumps(facts))


def sealed(entry, previous):
    """Return an entry with a hash of its own that is right."""
    entry = {**entry, "previous": previous}
    return {**entry, "hash": digest(entry)}


def test_an_entry_that_is_rewritten_with_a_right_hash_breaks_the_next_one_or_the_head(three):
    with edited(three.path) as facts:
        entries = facts["entries"]
        entries[1]["mechanisms"] = [Laplace(1e6).as_dict()]
        entries[1] = sealed(entries[1], entries[0]["hash"])
    assert "B015" in codes(three.path)
    assert "entry 2 was replaced" in messages(three.path)
    entries[2] = sealed(entries[2], entries[1]["hash"])
    three.path.write_text(json.dumps(facts))
    assert codes(three.path) == ["B018"]


@pytest.mark.parametrize(("spends", "code"), [(3, "B015"), (0, "B018")])
def test_a_budget_that_is_raised_with_a_right_hash_is_noticed(spends, code, tmp_path):
    changed = ledger_of_three(tmp_path) if spends else new_ledger(tmp_path)
    with edited(changed.path) as facts:
        facts["budget"]["epsilon"] = 100.0
        facts["hash"] = digest({name: facts[name] for name in facts if name != "entries"})
    assert codes(changed.path) == [code]


def test_a_head_that_is_changed_missing_or_of_another_ledger_is_noticed(three, tmp_path):
    good = head_of(three).read_text()
    facts = json.loads(good)
    for name, code in (("id", "B018"), ("entries", "B016"), ("hash", "B018")):
        head_of(three).write_text(json.dumps(changed(facts, (name,))))
        assert codes(three.path) == [code], name
    for text in ("", "{", "[]", '{"id": "x"}', json.dumps({**facts, "more": 1})):
        head_of(three).write_text(text)
        assert codes(three.path) == ["B017"], text
    for data in (b"\xff\xfe", b"[" * 100_000):
        head_of(three).write_bytes(data)
        assert codes(three.path) == ["B017"]
    head_of(three).unlink()
    assert codes(three.path) == ["B017"]


def test_a_changed_ledger_takes_no_spend(three):
    with edited(three.path) as facts:
        facts["budget"]["epsilon"] = 100.0
    before = contents(three.path.parent)
    with pytest.raises(GenieError, match="B011"):
        three.spend(CHEAP, purpose="programs", run="d")
    assert contents(three.path.parent) == before


def test_what_is_no_ledger_is_told(three):
    digits = b'{"format": %s}' % (b"9" * 5000)  # more than Python takes
    for text in (b"", b"{", b"[]", b"null", b"{}", b'{"format": "other"}', b"\xef\xbb\xbf",
                 digits, b"[" * 100_000, b'{"format": "\xff"}'):  # fmt: skip
        three.path.write_bytes(text)
        assert codes(three.path) == ["B010"], text[:20]


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
    assert again.unseen(f"{'9' * 5000}:{old[2:]}").code == "B018"


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
