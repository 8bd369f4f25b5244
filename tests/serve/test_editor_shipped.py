"""The language server on the shipped library (how fast it is: benchmarks/editor.py)."""

from pathlib import Path

import pytest

from tests.serve.editor_client import ROOT, EditorClient

pytestmark = pytest.mark.slow
GMAIL = ROOT / "thingpedia/com.gmail/templates.genie"


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


def test_the_shipped_library_has_no_problems(editor, gmail):
    assert editor.all_codes() == []


def test_an_edit_is_checked_and_so_is_its_way_back(editor, gmail):
    uri, text = gmail
    editor.change(uri, text.replace("is_unread == true", "is_unread == 5", 1))
    editor.until(lambda: editor.codes(uri) == ["T002"])
    editor.change(uri, text)
    editor.until(lambda: not editor.codes(uri))


@pytest.mark.parametrize("asked", ["complete", "hover", "definition", "references", "rename"])
def test_requests_are_answered(editor, gmail, asked):
    uri, text = gmail
    more = ["NOUNS"] if asked == "rename" else []
    assert getattr(editor, asked)(uri, text, "N|P := ('my emails'", *more)


def test_a_name_used_all_over_is_renamed_in_all_files(editor, gmail):
    uri, text = gmail
    edit = editor.rename(uri, text, "N|P := ('my emails'", "NOUNS")
    files = {Path(changed).name for changed in edit.changes}
    assert {"categories.genie", "commands.genie", "templates.genie"} <= files
    assert len(edit.changes) > 50
