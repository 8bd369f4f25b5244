"""The answers of people, in one SQLite file: every answer is a transaction that survives a kill.

The file holds the sentences as well, so that an export needs nothing else. It knows nothing of the
web, nor of the quality of paraphrases.
"""

import json
import os
import secrets
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.tasks import paraphrase_columns

_APPLICATION = 0x67647061  # "gdpa": tells our files from other SQLite files
_VERSION = 1
_MOST_PROBLEMS = 20
_STALE = 24 * 3600.0  # seconds after which an unfinished task is given to somebody else
_SCHEMA = """
CREATE TABLE setting(name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE sentence(
    id INTEGER PRIMARY KEY, row TEXT NOT NULL UNIQUE, task INTEGER NOT NULL,
    place INTEGER NOT NULL, sentence TEXT NOT NULL, data TEXT NOT NULL, UNIQUE(task, place));
CREATE TABLE worker(id INTEGER PRIMARY KEY, name TEXT NOT NULL, key TEXT NOT NULL UNIQUE);
CREATE TABLE assignment(
    id INTEGER PRIMARY KEY, task INTEGER NOT NULL, worker INTEGER NOT NULL REFERENCES worker,
    accepted REAL NOT NULL, touched REAL NOT NULL, UNIQUE(task, worker));
CREATE TABLE answer(
    assignment INTEGER NOT NULL REFERENCES assignment,
    sentence INTEGER NOT NULL REFERENCES sentence,
    texts TEXT NOT NULL, saved REAL NOT NULL, PRIMARY KEY(assignment, sentence)) WITHOUT ROWID;
CREATE INDEX assignment_of_worker ON assignment(worker);
"""
# Tasks that a worker may still take: not their own, and fewer takers than wanted. A taker counts
# who was there lately, or who is through with the task.
_OPEN_TASKS = """
SELECT task, size FROM (
    SELECT t.task AS task, t.size AS size, (
        SELECT count(*) FROM assignment a WHERE a.task = t.task AND (a.touched > :stale OR t.size =
            (SELECT count(*) FROM answer WHERE answer.assignment = a.id))) AS takers
    FROM (SELECT task, count(*) AS size FROM sentence GROUP BY task) t
    WHERE NOT EXISTS (SELECT 1 FROM assignment WHERE task = t.task AND worker = :worker))
WHERE takers < :people ORDER BY takers, task
"""
_NEXT = """
SELECT s.id FROM assignment a JOIN sentence s ON s.task = a.task
WHERE a.worker = ? AND NOT EXISTS (
    SELECT 1 FROM answer WHERE answer.assignment = a.id AND answer.sentence = s.id)
ORDER BY a.id, s.place LIMIT 1
"""
_ANSWERS = """
SELECT s.id, s.row, s.sentence, answer.texts FROM answer
JOIN assignment a ON a.id = answer.assignment JOIN sentence s ON s.id = answer.sentence
JOIN worker ON worker.id = a.worker WHERE worker.key = ? ORDER BY answer.saved DESC, s.id DESC
"""


@dataclass(frozen=True, slots=True)
class TaskSentence:
    """A sentence as it stands in a task.

    Attributes:
        row: id of the row.
        data: the sentence and its values, as in the batches of `paraphrase hits`.
    """

    row: str
    sentence: str
    data: str


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sentences of a task, and paraphrases of a sentence."""

    sentences: int
    paraphrases: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a worker is, in sentences: `done` counts answers, `total` all they may get."""

    done: int
    skipped: int
    total: int


@dataclass(frozen=True, slots=True)
class Answered:
    """The answer of a worker to a sentence; no texts if it was skipped."""

    key: int
    row: str
    sentence: str
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Assignment:
    """One worker's work on one task.

    Attributes:
        accepted, touched: seconds since 1970.
        answers: place in the task, from 1 -> the sentence and its paraphrases.
    """

    id: str
    task: str
    worker: str
    accepted: float
    touched: float
    answers: Mapping[int, tuple[TaskSentence, tuple[str, ...]]]


class AnswerStore:
    """The open file. Threads may share it: one at a time works with the connection."""

    def __init__(self, connection: sqlite3.Connection):
        self._connection = connection
        self._lock = threading.Lock()
        settings = dict(connection.execute("SELECT name, value FROM setting"))
        self.name: str = settings["name"]
        self.secret = bytes.fromhex(settings["secret"])
        self.sizes = Sizes(int(settings["sentences"]), int(settings["paraphrases"]))

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Hold a transaction: on disk when the block ends, undone when it raises."""
        with self._lock, _transaction(self._connection):
            yield self._connection

    # ------------------------------------------------------------------------ for a worker

    def known_name(self, worker: str) -> str:
        """Return the name as its owner wrote it first; "Ada" and "ada" are one."""
        key = _key(worker)
        with self._lock:
            record = self._connection.execute(
                "SELECT name FROM worker WHERE key = ?", (key,)
            ).fetchone()
        return record[0] if record else worker

    def next_for(self, worker: str, *, people: int, now: float) -> int | None:
        """Return the key of the sentence that comes next, or None if there is none left.

        A worker who is through with their tasks gets another: one that the fewest have taken.

        Args:
            people: how many workers get each task.
            now: seconds since 1970.
        """
        with self._change() as connection:
            key = _key(worker)
            connection.execute(
                "INSERT OR IGNORE INTO worker(name, key) VALUES (?, ?)", (worker, key)
            )
            [number] = connection.execute("SELECT id FROM worker WHERE key = ?", (key,)).fetchone()
            record = connection.execute(_NEXT, (number,)).fetchone()
            if record is None:
                tasks = _open_tasks(connection, number, people, now)
                if not tasks:
                    return None
                connection.execute(
                    "INSERT INTO assignment(task, worker, accepted, touched) VALUES (?, ?, ?, ?)",
                    (tasks[0][0], number, now, now),
                )
                record = connection.execute(_NEXT, (number,)).fetchone()
        return int(record[0])

    def save(self, worker: str, key: int, texts: Sequence[str], *, now: float) -> bool:
        """Keep a worker's paraphrases of a sentence in place of earlier ones; none: it is skipped.

        Returns whether the sentence is one of the worker's; if not, nothing is kept.
        """
        with self._change() as connection:
            assignment = _assignment(connection, worker, key)
            if assignment is None:
                return False
            connection.execute(
                "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)",
                (assignment, key, json.dumps(list(texts), ensure_ascii=False), now),
            )
            connection.execute("UPDATE assignment SET touched = ? WHERE id = ?", (now, assignment))
        return True

    def sentence_of(self, worker: str, key: int) -> tuple[str, tuple[str, ...]] | None:
        """Return the row of a sentence and the text of the worker; None if it is not theirs."""
        with self._lock:
            assignment = _assignment(self._connection, worker, key)
            if assignment is None:
                return None
            record = self._connection.execute(
                "SELECT s.row, answer.texts FROM sentence s LEFT JOIN answer "
                "ON answer.sentence = s.id AND answer.assignment = ? WHERE s.id = ?",
                (assignment, key),
            ).fetchone()
        return record[0], tuple(json.loads(record[1] or "[]"))

    def answers(self, worker: str) -> tuple[Answered, ...]:
        """Return all answers and skipped sentences of a worker, the latest first."""
        with self._lock:
            rows = self._connection.execute(
                _ANSWERS.replace(
                    "a.worker = ?", "a.worker = (SELECT id FROM worker WHERE key = ?)"
                ),
                (_key(worker),),
            ).fetchall()
        return tuple(
            Answered(key, row, utterance, tuple(json.loads(t))) for key, row, utterance, t in rows
        )

    def progress(self, worker: str, *, people: int, now: float) -> Progress:
        """Return the progress of a worker."""
        with self._lock:
            connection = self._connection
            record = connection.execute("SELECT id FROM worker WHERE key = ?", (_key(worker),))
            [number] = record.fetchone() or [None]
            [own] = connection.execute(
                "SELECT count(*) FROM assignment a JOIN sentence s ON s.task = a.task "
                "WHERE a.worker = ?",
                (number,),
            ).fetchone()
            done, skipped = connection.execute(
                "SELECT coalesce(sum(texts <> '[]'), 0), coalesce(sum(texts = '[]'), 0) "
                "FROM answer JOIN assignment a ON a.id = answer.assignment WHERE a.worker = ?",
                (number,),
            ).fetchone()
            free = sum(size for _, size in _open_tasks(connection, number, people, now))
        return Progress(done, skipped, own + free)

    # --------------------------------------------------------------------------- for export

    def assignments(self) -> Iterator[Assignment]:
        """Yield every worker's work on every task, where any sentence is answered."""
        rows = self._connection.execute(
            "SELECT a.id, a.task, worker.name, a.accepted, a.touched FROM assignment a "
            "JOIN worker ON worker.id = a.worker ORDER BY a.task, a.id"
        ).fetchall()
        for number, task, worker, accepted, touched in rows:
            records = self._connection.execute(
                "SELECT s.place, s.row, s.sentence, s.data, answer.texts FROM answer "
                "JOIN sentence s ON s.id = answer.sentence "
                "WHERE answer.assignment = ? AND answer.texts <> '[]' ORDER BY s.place",
                (number,),
            )
            answers = {
                place: (TaskSentence(row, sentence, data), tuple(json.loads(texts)))
                for place, row, sentence, data, texts in records
            }
            if answers:
                id, of = f"{self.name}-A{number}", f"{self.name}-T{task}"
                yield Assignment(id, of, worker, accepted, touched, answers)

    def counts(self) -> tuple[int, int, int]:
        """Return the numbers of sentences, of answers and of workers with answers."""
        answers = "FROM answer JOIN assignment a ON a.id = answer.assignment WHERE texts <> '[]'"
        with self._lock:
            sentences, answered, workers = self._connection.execute(
                f"SELECT (SELECT count(*) FROM sentence), (SELECT count(*) {answers}), "
                f"(SELECT count(DISTINCT a.worker) {answers})"
            ).fetchone()
        return sentences, answered, workers


def _key(worker: str) -> str:
    return " ".join(worker.casefold().split())


def _assignment(connection: sqlite3.Connection, worker: str, key: int) -> int | None:
    record = connection.execute(
        "SELECT a.id FROM assignment a JOIN sentence s ON s.task = a.task "
        "JOIN worker ON worker.id = a.worker WHERE s.id = ? AND worker.key = ?",
        (key, _key(worker)),
    ).fetchone()
    return record[0] if record else None


def _open_tasks(
    connection: sqlite3.Connection, worker: int | None, people: int, now: float
) -> list[tuple[int, int]]:
    """Return (task, sentences) of all that a worker may take, in the order to take them."""
    values = {"worker": worker, "people": people, "stale": now - _STALE}
    return connection.execute(_OPEN_TASKS, values).fetchall()


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # A full disk may have ended the transaction already, or may have left it open.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


# -------------------------------------------------------------------------------- the file


def open_store(
    path: Path, asked: Sequence[TaskSentence], sizes: Sizes | None = None
) -> AnswerStore:
    """Return the store at a path, made new or as it was left; further sentences become new tasks.

    Args:
        asked: all sentences: those of the file with the same words, and maybe more.
        sizes: of the tasks; None for those of the file, or four sentences and two paraphrases.

    Raises:
        GenieError: P201 no file of ours; P202, all sentences that are gone or changed; P203 other
            sizes.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        # The file has names in it, so it is nobody else's to read.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    connection = _connect(path, "rw")
    try:
        with _known_trouble(path):
            if _has_tables(connection):
                _check_marks(connection, path)
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
            with _transaction(connection):
                _prepare(connection, path, sizes)
                _add_sentences(connection, path, asked)
            return AnswerStore(connection)
    except BaseException:
        connection.close()
        raise


def read_store(path: Path) -> AnswerStore:
    """Return the store at a path, to read only; a server may be writing to it.

    Raises:
        GenieError: P201 no file of ours.
        FileNotFoundError: there is none.
    """
    path.open("rb").close()
    connection = _connect(path, "ro")
    try:
        with _known_trouble(path):
            _check_marks(connection, path)
            return AnswerStore(connection)
    except BaseException:
        connection.close()
        raise


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    with _known_trouble(path):
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}",
            uri=True,
            timeout=10,
            isolation_level=None,
            check_same_thread=False,
        )


@contextmanager
def _known_trouble(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise _foreign(path, str(error)) from error


def _foreign(path: Path, why: str) -> GenieError:
    hint = "name a new file, or one that genie-dp data paraphrase serve wrote"
    return GenieError(Problem("P201", f"{path} is no database of answers: {why}", hint=hint))


def _has_tables(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM sqlite_master").fetchone() is not None


def _check_marks(connection: sqlite3.Connection, path: Path) -> None:
    [application] = connection.execute("PRAGMA application_id").fetchone()
    [version] = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise _foreign(path, "it belongs to another program")
    if version != _VERSION:
        raise _foreign(path, f"it has version {version}, this program knows {_VERSION}")


def _prepare(connection: sqlite3.Connection, path: Path, sizes: Sizes | None) -> None:
    """Make the tables of an empty file, or check those of another."""
    if _has_tables(connection):
        stored = dict(connection.execute("SELECT name, value FROM setting"))
        there = Sizes(int(stored["sentences"]), int(stored["paraphrases"]))
        if sizes is not None and sizes != there:
            many = f"{there.sentences} sentences with {there.paraphrases} paraphrases"
            hint = "leave --sentences and --paraphrases out, or name a new file"
            raise GenieError(Problem("P203", f"{path} has tasks of {many}", hint=hint))
        return
    for statement in _SCHEMA.strip().split(";\n"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
    connection.execute(f"PRAGMA user_version = {_VERSION}")
    sizes_to_keep = sizes or Sizes(4, 2)
    settings = {
        "name": secrets.token_hex(4),
        "secret": secrets.token_hex(32),
        "sentences": str(sizes_to_keep.sentences),
        "paraphrases": str(sizes_to_keep.paraphrases),
    }
    connection.executemany("INSERT INTO setting VALUES (?, ?)", settings.items())


def _add_sentences(
    connection: sqlite3.Connection, path: Path, asked: Sequence[TaskSentence]
) -> None:
    """Add the sentences that are new, as further tasks."""
    old = {
        row: TaskSentence(row, sentence, data)
        for row, sentence, data in connection.execute("SELECT row, sentence, data FROM sentence")
    }
    new_sentences = {asked_sentence.row: asked_sentence for asked_sentence in asked}
    problems = []
    for row, asked_sentence in old.items():
        if (new_sentence := new_sentences.get(row)) != asked_sentence:
            fate = "another one now" if new_sentence else "not among those given"
            message = f"sentence {row!r} of {path} is {fate}"
            problems.append(Problem("P202", message, hint=_HINT))
    if problems:
        # Of a wrong file every sentence is one.
        if (remaining := len(problems) - _MOST_PROBLEMS) > 0:
            message = f"so are {remaining:,} more"
            problems[_MOST_PROBLEMS:] = [Problem("P202", message, hint=_HINT)]
        raise GenieError(problems)
    [task] = connection.execute("SELECT coalesce(max(task) + 1, 0) FROM sentence").fetchone()
    [size] = connection.execute("SELECT value FROM setting WHERE name = 'sentences'").fetchone()
    new = [asked_sentence for asked_sentence in asked if asked_sentence.row not in old]
    connection.executemany(
        "INSERT INTO sentence(row, task, place, sentence, data) VALUES (?, ?, ?, ?, ?)",
        (
            (
                asked_sentence.row,
                task + index // int(size),
                index % int(size) + 1,
                asked_sentence.sentence,
                asked_sentence.data,
            )
            for index, asked_sentence in enumerate(new)
        ),
    )


_HINT = "give the sentences that the file was made of, or name a new file"


_HEAD = (
    "HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime",
    "WorkTimeInSeconds",
)  # fmt: skip


def result_columns(sizes: Sizes) -> tuple[str, ...]:
    """Return the header of the results.

    >>> result_columns(Sizes(1, 2))[7:]
    ('Input.id1', 'Input.sentence1', 'Input.data1', 'Answer.Paraphrase1-1', 'Answer.Paraphrase1-2')
    """
    answers = (
        f"Answer.Paraphrase{n + 1}-{j + 1}"
        for n in range(sizes.sentences)
        for j in range(sizes.paraphrases)
    )
    inputs = (f"Input.{name}" for name in paraphrase_columns(sizes.sentences))
    return (*_HEAD, *inputs, *answers)


def results(store: AnswerStore) -> Iterator[dict[str, str]]:
    """Yield one assignment after the other, in the order of tasks.

    The cells of a sentence that is skipped or not yet answered are empty, for nobody is to be
    blamed for it.
    """
    columns = result_columns(store.sizes)
    for assignment in store.assignments():
        cells = dict.fromkeys(columns, "") | {
            "HITId": assignment.task,
            "AssignmentId": assignment.id,
            "WorkerId": assignment.worker,
            "AssignmentStatus": "Submitted",
            "AcceptTime": _time(assignment.accepted),
            "SubmitTime": _time(assignment.touched),
            "WorkTimeInSeconds": str(max(0, round(assignment.touched - assignment.accepted))),
        }
        for place, (sentence, texts) in assignment.answers.items():
            cells[f"Input.id{place}"] = sentence.row
            cells[f"Input.sentence{place}"] = sentence.sentence
            cells[f"Input.data{place}"] = sentence.data
            for number, text in enumerate(texts, 1):
                cells[f"Answer.Paraphrase{place}-{number}"] = text
        yield cells


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
