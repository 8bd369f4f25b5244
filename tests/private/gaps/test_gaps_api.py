"""The gap report from Python: what the command releases, refused where the command refuses it."""

import json
from functools import partial
from types import SimpleNamespace

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.languages import get_language
from genie_dp.private.secure import _seeded
from tests.private.gaps.gaps_setup import SECRET, private_file, project
from tests.refusals import code_of

refused = partial(code_of, secret=SECRET)


@pytest.fixture
def private(tmp_path):
    project(tmp_path)
    return private_file(tmp_path)


def listener_of(folder, **options):
    library = gd.load_library(folder / "tools.json", language="calls")
    return gd.gap_listener(folder / "main.genie", library=library, **options)


def test_the_report_is_the_commands_and_each_call_is_paid(private, tmp_path):
    listener = listener_of(tmp_path)
    with _seeded(0), gd.private.Ledger(private) as ledger:
        found = ledger.gaps(listener, epsilon=4, words=5, pairs=9, sentences=2)
        assert ledger.spent.epsilon <= 4
    assert sorted(file.name for file in tmp_path.iterdir() if file.suffix == "") == []
    options = ["--words", "5", "--pairs", "9", "--sentences", "2"]
    words = ["private", "gaps", str(private), "--epsilon", "4", *project(tmp_path)]
    with _seeded(0):
        assert cli.run([*words, "--report", str(tmp_path / "gaps"), *options]) == 0
    kept = (tmp_path / "gaps" / "gaps.genie").read_text()
    assert found.report.stubs() == kept
    assert "mow the lawn" in {gap.text for gap in found.report.of("sentences")}
    *_, written = found.lines()
    assert written == f"{len(found.report.gaps)} gaps"
    assert SECRET not in "".join(found.lines())
    with gd.private.Ledger(private) as ledger:
        again = ledger.gaps(listener, epsilon=1, output=tmp_path / "more")
        assert (tmp_path / "more" / "index.html").exists()
        assert again.output == str(tmp_path / "more")
        assert refused(ledger.gaps, listener, epsilon=1, output=tmp_path / "more") == "Y022"
        spent = ledger.spent.epsilon
        assert refused(ledger.gaps, listener, epsilon=8.9) == "B023"
        assert refused(ledger.gaps, listener, epsilon=1, min_units=0) == "R040"
        assert refused(ledger.gaps, listener, epsilon=1, most=3) == "R043"
        assert ledger.spent.epsilon == spent
    assert refused(ledger.gaps, listener, epsilon=1) == "B036"


def test_what_is_private_is_heard_by_no_listener(private, tmp_path):
    assert refused(listener_of, tmp_path, names=private) == "F021"
    made = SimpleNamespace(folder=None, target=SimpleNamespace(language=get_language("calls")))
    with gd.private.Ledger(private) as ledger:
        # Nobody knows what a parser of no folder has learned of.
        assert refused(ledger.gaps, listener_of(tmp_path, parser=made), epsilon=1) == "F021"
        learned = made.folder = tmp_path / "parser"
        learned.mkdir()
        (learned / "manifest.json").write_text(json.dumps({"inputs": {str(private): ""}}))
        assert refused(ledger.gaps, listener_of(tmp_path, parser=made), epsilon=1) == "F021"
        listener = listener_of(tmp_path)
        listener.sources = (*listener.sources, private)
        assert refused(ledger.gaps, listener, epsilon=1) == "F021"
        assert ledger.spent.epsilon == 0
