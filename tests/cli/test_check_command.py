"""`genie-dp check`: what is found is kept; what it says is in tests/data/scenarios/check.txt."""

import time
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.templates.run import Checker

SKILL = """\
class @com.example.notes #_[canonical="notes"] {
  monitorable list query notes(out text : String #[string_values="com.example.notes:text"]
                                                 #_[canonical={base=["text"]}])
    #_[canonical="notes"];
}
"""
TEMPLATES = """\
NP := 'my notes' -> @com.example.notes.notes();
"""
GRAMMAR = """\
category COMMAND : program root "commands";
category NP : query "noun phrases";
COMMAND := 'get' q:NP -> now => q => notify;
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a skill with its values and a grammar, all without mistakes."""
    skill = tmp_path / "skills" / "com.example.notes"
    (skill / "values").mkdir(parents=True)
    (skill / "skill.tt").write_text(SKILL)
    (skill / "templates.genie").write_text(TEMPLATES)
    (skill / "values" / "text.tsv").write_text("value\tweight\nbuy milk\t1\n")
    (tmp_path / "main.genie").write_text(GRAMMAR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


CHECK = ["check", "--skills", "skills", "--grammar", "main.genie"]


@pytest.mark.slow
def test_the_shipped_skills_and_grammar_have_no_problems(capsys) -> None:
    assert run(["check"]) == 0
    out, _ = capsys.readouterr()
    assert "0 errors, 0 warnings" in out
    templates = int(out.split(" templates")[0].rpartition(" ")[2].replace(",", ""))
    assert templates >= 800


def test_a_skill_of_ones_own_beside_shipped_ones_has_no_errors(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert run(["new", "skill", "org.my-garden", "--in", "mine"]) == 0
    assert run(["check", "--skills", "shipped/com.gmail", "--skills", "mine"]) == 0
    assert "2 skills" in (out := capsys.readouterr().out)
    assert "0 errors" in out


@pytest.fixture
def checks(monkeypatch, tmp_path_factory) -> list[object]:
    """Return a list that grows by one whenever something is checked; what was found is kept."""
    monkeypatch.setenv("GENIE_DP_CACHE", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.setattr("genie_dp.run.cache._SMALLEST", 0)
    done: list[object] = []
    made = Checker.run
    monkeypatch.setattr(
        Checker, "run", lambda *given, **rest: done.append(given) or made(*given, **rest)
    )
    return done


def test_what_was_found_is_told_again_until_a_file_changes(project, checks, capsys) -> None:
    evaluation = project / "skills" / "com.example.notes" / "eval.tsv"
    evaluation.write_text(
        "utterance\tprogram\nget my notes\tnow => @com.example.notes.notes() => notify\n"
    )
    # Nobody reads it, and it is no text.
    (evaluation.parent / "stray.tsv").write_bytes(b"\xff\xfe")
    first = run(CHECK), capsys.readouterr()
    assert (run(CHECK), capsys.readouterr()) == first
    assert first[0] == 0
    assert len(checks) == 1
    names = "skill.tt", "templates.genie", "values/text.tsv", "eval.tsv", "../../main.genie"
    for number, name in enumerate(names, 2):
        with open(evaluation.parent / name, "a") as changed:
            changed.write("\n")
        assert run(CHECK) == 0
        assert len(checks) == number


def test_mistakes_are_looked_for_anew(project, checks) -> None:
    """They may be mended by a file that was not there."""
    (project / "main.genie").write_text(f"import 'more.genie';\n{GRAMMAR}")
    assert [run(CHECK), run(CHECK)] == [1, 1]
    (project / "more.genie").write_text("")
    assert run(CHECK) == 0
    assert len(checks) == 3


def test_thousands_of_mistakes_are_shown_in_time_that_grows_with_their_number() -> None:
    rows = 4000
    span = Span("x.genie", rows, 1, rows, 2)
    text = ("x" * 300 + "\n") * rows
    begin = time.process_time()
    GenieError([Problem("G001", "expected y", span)] * rows, sources={"x.genie": text})
    assert time.process_time() - begin < 0.5  # 3 seconds where each problem splits the text again
