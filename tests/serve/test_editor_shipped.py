"""The language server on the shipped library: it finds nothing, and answers at once."""

import statistics
import sys
from pathlib import Path

import pytest

from tests.serve.editor_client import ROOT, EditorClient

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of a process in /proc"),
]
GMAIL = ROOT / "thingpedia/com.gmail/templates.genie"
LEAST = 300  # milliseconds


@pytest.fixture(scope="module")
def editor():
    client = EditorClient(folder=ROOT)
    yield client
    client.close()


@pytest.fixture(scope="module")
def gmail(editor):
    uri = editor.open(GMAIL)
    editor.until(lambda: uri in editor.diagnostics)
    return uri, GMAIL.read_text(encoding="utf-8")


def cpu(editor):
    tasks = Path(f"/proc/{editor.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e6


def median_of(editor, ask):
    taken = []
    for number in range(7):
        before = cpu(editor)
        ask(number)
        taken.append(cpu(editor) - before)
    return statistics.median(taken)


def test_the_shipped_library_has_no_problems(editor, gmail):
    assert editor.all_codes() == []


def test_an_edit_is_checked_within_300_ms_of_work(editor, gmail):
    uri, text = gmail

    def edit(number):
        is_bad = number % 2 == 0
        new = text.replace("is_unread == true", "is_unread == 5", 1) if is_bad else text
        editor.change(uri, new)
        editor.until(lambda: editor.codes(uri) == ["T002"] * is_bad)

    assert median_of(editor, edit) < LEAST
    editor.change(uri, text)
    editor.until(lambda: not editor.codes(uri))


@pytest.mark.parametrize("asked", ["complete", "hover", "definition", "references", "rename"])
def test_requests_are_answered_within_300_ms_of_work(editor, gmail, asked):
    uri, text = gmail
    more = ["NOUNS"] if asked == "rename" else []
    answers = []

    def ask(_):
        answers.append(getattr(editor, asked)(uri, text, "N|P := ('my emails'", *more))

    assert median_of(editor, ask) < LEAST
    assert all(answers)


def test_a_name_used_all_over_is_renamed_in_all_files(editor, gmail):
    uri, text = gmail
    edit = editor.rename(uri, text, "N|P := ('my emails'", "NOUNS")
    files = {Path(changed).name for changed in edit.changes}
    assert {"categories.genie", "commands.genie", "templates.genie"} <= files
    assert len(edit.changes) > 50
