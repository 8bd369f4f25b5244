"""The language server on shipped skills (how fast it is on all: benchmarks/editor.py)."""

import shutil
from pathlib import Path

import pytest

from genie_dp.resources import data_folder
from tests.serve.editor_client import EditorClient
from tests.synthesis.synthesis_setup import FEW

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """Return a folder that is laid out as the checkout is, with a few of its skills."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(data_folder("grammars"), folder / "grammars")
    for name in FEW:
        shutil.copytree(data_folder("thingpedia") / name, folder / "thingpedia" / name)
    return folder


@pytest.fixture(scope="module")
def editor(checkout):
    client = EditorClient(folder=checkout)
    yield client
    client.close()


@pytest.fixture(scope="module")
def gmail(editor, checkout):
    file = checkout / "thingpedia/com.gmail/templates.genie"
    uri = editor.open(file)
    editor.until(lambda: uri in editor.diagnostics)
    return uri, file.read_text(encoding="utf-8")


def test_shipped_skills_have_no_errors(editor, gmail):
    assert editor.codes(gmail[0]) == []
    codes = {code for _, code in editor.all_codes()}  # some of the grammar waits for other skills
    assert codes <= {"G102", "K119"}


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
    assert len(edit.changes) > 15
