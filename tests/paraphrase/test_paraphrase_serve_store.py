"""The file of answers: who gets which sentence, what is kept, and which files are refused."""

import os
import sqlite3
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.errors import GenieError
from genie_dp.serve.answer_store import (
    Progress,
    Sizes,
    TaskSentence,
    open_store,
    read_store,
    result_columns,
    results,
)

NOW = 1_000_000.0
DAY = 24 * 3600.0


def asked(count, start=0):
    return [TaskSentence(f"S{n}", f"sentence {n}", f"data{n}") for n in range(start, start + count)]


@pytest.fixture
def file(tmp_path):
    return tmp_path / "answers.sqlite"


@pytest.fixture
def store(file):
    made = open_store(file, asked(6), Sizes(2, 2))
    yield made
    made.close()


def write(store, worker, *, people=3, texts=("one", "two"), now=NOW):
    """Answer what comes next and return its row."""
    key = store.next_for(worker, people=people, now=now)
    if key is None:
        return None
    row, _ = store.sentence_of(worker, key)
    assert store.save(worker, key, texts, now=now)
    return row


def rows_of(store, worker, **more):
    found = []
    while (row := write(store, worker, **more)) is not None:
        found.append(row)
    return found


def test_a_worker_gets_every_sentence_once_in_order(store):
    # The next sentence stays until it is answered.
    assert len({store.next_for("Ada", people=3, now=NOW + n) for n in range(3)}) == 1
    assert rows_of(store, "Ada") == ["S0", "S1", "S2", "S3", "S4", "S5"]


def test_workers_begin_with_different_tasks_while_there_are_some(store):
    assert [write(store, name) for name in ("Ada", "Bob", "Cy", "Di")] == ["S0", "S2", "S4", "S0"]


def test_a_task_goes_to_as_many_workers_as_wanted(store):
    assert [write(store, "Ada", people=1) for _ in range(3)] == ["S0", "S1", "S2"]
    assert rows_of(store, "Bob", people=1) == ["S4", "S5"]
    assert rows_of(store, "Ada", people=1) == ["S3"]


def test_a_task_that_was_left_is_given_to_somebody_else_after_a_day(store):
    write(store, "Ada", people=1)
    assert "S1" not in rows_of(store, "Bob", people=1, now=NOW + DAY - 1)
    assert rows_of(store, "Cy", people=1, now=NOW + DAY + 1) == ["S0", "S1"]


def test_names_differ_in_more_than_case_and_spaces(store):
    write(store, "Ada  Lovelace")
    assert write(store, "ada lovelace") == "S1"
    assert store.known_name("ADA LOVELACE") == "Ada  Lovelace"


def test_an_answer_takes_the_place_of_the_earlier_one(store):
    key = store.next_for("Ada", people=3, now=NOW)
    store.save("Ada", key, ["a", "b"], now=NOW)
    store.save("Ada", key, ["c", "d"], now=NOW + 1)
    assert store.sentence_of("Ada", key) == ("S0", ("c", "d"))
    assert store.counts() == (6, 1, 1)


def test_a_sentence_of_somebody_else_is_not_taken(store):
    key = store.next_for("Ada", people=3, now=NOW)
    assert not store.save("Bob", key, ["a", "b"], now=NOW)
    assert not store.save("Ada", 999, ["a", "b"], now=NOW)
    assert store.sentence_of("Bob", key) is None
    assert store.counts() == (6, 0, 0)


def test_progress_counts_answers_skips_and_what_is_left(store):
    assert store.progress("Ada", people=1, now=NOW) == Progress(0, 0, 6)
    write(store, "Ada", people=1)
    write(store, "Ada", people=1, texts=())
    write(store, "Bob", people=1)
    assert store.progress("Ada", people=1, now=NOW) == Progress(1, 1, 4)
    assert store.progress("Bob", people=1, now=NOW) == Progress(1, 0, 4)
    assert store.progress("Cy", people=3, now=NOW) == Progress(0, 0, 6)


def test_answers_are_listed_as_they_are_the_latest_first(store):
    texts = ('say "hi" – café 🎉', "'; DROP TABLE answer; --")
    write(store, "Ada", texts=texts, now=NOW)
    write(store, "Ada", texts=(), now=NOW + 1)
    assert [(a.row, a.texts) for a in store.answers("Ada")] == [("S1", ()), ("S0", texts)]
    assert store.answers("Bob") == ()


def test_a_store_that_is_opened_again_goes_on_with_more_sentences(file, store):
    write(store, "Ada")
    again = open_store(file, [*asked(3, 6), *asked(6)])
    assert (again.name, again.secret, again.sizes) == (store.name, store.secret, Sizes(2, 2))
    assert rows_of(again, "Ada") == [f"S{n}" for n in range(1, 9)]
    again.close()


def refused(match, opened, *args):
    with pytest.raises(GenieError, match=match) as caught:
        opened(*args)
    return caught.value.problems


def test_sentences_that_changed_or_are_gone_are_named_all_at_once(file, store, tmp_path):
    changed = [TaskSentence("S0", "other words", "data0"), *asked(4, 1)]
    problems = refused("P202", open_store, file, changed)
    assert [p.message.partition(" of ")[0] for p in problems] == ["sentence 'S0'", "sentence 'S5'"]
    # Of a wrong file not every sentence is named.
    open_store(tmp_path / "many.sqlite", asked(100)).close()
    problems = refused("P202", open_store, tmp_path / "many.sqlite", asked(1))
    assert len(problems) == 21
    assert problems[-1].message == "so are 79 more"
    refused("P203", open_store, file, asked(6), Sizes(4, 2))


def test_what_is_no_store_is_left_alone(file, tmp_path):
    refused("P201", open_store, tmp_path, asked(1))
    for content in (b"no database" * 100, b"\0" * 4096):
        file.write_bytes(content)
        refused("P201", open_store, file, asked(1))
        assert file.read_bytes() == content
    file.unlink()
    with pytest.raises(FileNotFoundError):
        read_store(file)
    assert not file.exists()
    with sqlite3.connect(file) as other:
        other.execute("CREATE TABLE t(x)")
    other.close()
    content = file.read_bytes()
    refused("P201.*another program", open_store, file, asked(1))
    refused("P201.*another program", read_store, file)
    assert file.read_bytes() == content


def test_a_newer_file_is_not_touched(file, store):
    store.close()
    with sqlite3.connect(file) as other:
        other.execute("PRAGMA user_version = 9")
    other.close()
    refused("version 9", read_store, file)


def test_the_file_is_for_its_owner_and_safe_on_disk(file, store):
    assert stat.S_IMODE(os.stat(file).st_mode) == 0o600
    connection = store._connection
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert connection.execute("PRAGMA synchronous").fetchone() == (2,)  # FULL


def test_what_fails_half_way_is_undone(store):
    key = store.next_for("Ada", people=3, now=NOW)
    with pytest.raises(TypeError):
        store.save("Ada", key, [object()], now=NOW)
    full = "BEFORE UPDATE ON assignment BEGIN SELECT raise(ABORT, 'full'); END"
    store._connection.execute(f"CREATE TRIGGER full {full}")
    with pytest.raises(sqlite3.IntegrityError):
        store.save("Ada", key, ["a", "b"], now=NOW + 1)
    assert store.counts() == (6, 0, 0)
    [touched] = store._connection.execute("SELECT touched FROM assignment").fetchone()
    assert touched == NOW


class FullDisk:
    """A connection that cannot commit, as SQLite behaves where the disk is full."""

    def __init__(self, connection, *, ends_transaction):
        self.connection = connection
        self.ends_transaction = ends_transaction

    @property
    def in_transaction(self):
        return self.connection.in_transaction

    def execute(self, statement, *arguments):
        if statement != "COMMIT":
            return self.connection.execute(statement, *arguments)
        if self.ends_transaction:
            self.connection.execute("ROLLBACK")
        raise sqlite3.OperationalError("database or disk is full")


@pytest.mark.parametrize("ends_transaction", [False, True])
def test_after_a_full_disk_answers_are_taken_again(store, ends_transaction):
    key = store.next_for("Ada", people=3, now=NOW)
    whole = store._connection
    store._connection = FullDisk(whole, ends_transaction=ends_transaction)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        store.save("Ada", key, ["a", "b"], now=NOW)
    store._connection = whole
    assert store.counts() == (6, 0, 0)
    assert store.save("Ada", key, ["a", "b"], now=NOW)


def test_results_have_the_columns_of_a_batch_and_leave_out_what_was_skipped(file, store):
    write(store, "Ada", texts=())
    write(store, "Ada", texts=("a", "b"), now=NOW + 60)
    write(store, "Bob", texts=())
    reading = read_store(file)
    [row] = results(reading)
    reading.close()
    assert tuple(row) == result_columns(Sizes(2, 2))
    assert row["WorkTimeInSeconds"] == "60"
    assert row["AcceptTime"] == "1970-01-12T13:46:40+00:00"
    assert (row["Input.id1"], row["Answer.Paraphrase1-1"]) == ("", "")
    assert (row["Input.id2"], row["Input.data2"]) == ("S1", "data1")
    assert row["Answer.Paraphrase2-2"] == "b"


@given(
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    st.lists(st.sampled_from("abc"), max_size=60),
)
@settings(max_examples=40)
def test_no_sentence_is_lost_or_given_twice(tmp_path_factory, count, size, people, turns):
    file = Path(tmp_path_factory.mktemp("store")) / "a.sqlite"
    store = open_store(file, asked(count), Sizes(size, 1))
    store._connection.execute("PRAGMA synchronous = OFF")  # no test of the disk
    got = {name: [] for name in "abc"}
    for name in turns:
        row = write(store, name, people=people, texts=("x",))
        if row is None:
            progress = store.progress(name, people=people, now=NOW)
            assert progress.done == progress.total == len(got[name])
        else:
            got[name].append(row)
    for name in "abc":
        got[name] += rows_of(store, name, people=people, texts=("x",))
    store.close()
    given_to = [row for name in "abc" for row in got[name]]
    assert all(len(set(rows)) == len(rows) for rows in got.values())
    assert {given_to.count(f"S{n}") for n in range(count)} == {people}
