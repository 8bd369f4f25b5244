"""Skeletons: what `genie-dp new` writes is read without a warning, and nothing is overwritten."""

import json
import re
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.importers.skeletons import write_files
from genie_dp.resources import data_folder
from genie_dp.skills.load import load_library
from genie_dp.synthesis.explain import Explainer
from genie_dp.templates.cache import load_inputs
from tests.synthesis.synthesis_setup import FEW


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


IN_PROJECT = ["--skills", "home/skills"]


def test_a_new_project_with_a_new_skill_checks_and_synthesizes_at_once(capsys):
    assert run(["new", "project", "home"]) == 0
    assert "genie-dp run" in capsys.readouterr().out
    assert run(["check", *IN_PROJECT]) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
    assert run(["new", "skill", "org.my-garden", "--in", "home/skills"]) == 0
    capsys.readouterr()
    assert run(["check", *IN_PROJECT]) == 0
    assert re.search(
        r"2 skills, 6 functions, \d+ templates: 0 errors, 0 warnings", capsys.readouterr().out
    )
    assert run(["synthesize", *IN_PROJECT, "--size", "50", "--output", "pairs.jsonl"]) == 0
    assert len(Path("pairs.jsonl").read_text().splitlines()) == 50


def test_real_sentences_of_a_new_skill_are_canonical_and_not_the_templates_own_wording():
    assert run(["new", "project", "home"]) == 0
    inputs = load_inputs("thingtalk", [Path("home/skills")])
    language, explainer = inputs.language, Explainer.from_inputs(inputs)
    (eval_file,) = Path("home/skills").glob("*/eval.tsv")
    rows = [line.split("\t") for line in eval_file.read_text().splitlines()[1:]]
    assert len(rows) in range(10, 21)
    texts = ("lunch", "holidays", "wash the car", "pay the rent", "the cat is ill",
             "ask mum about the garden", "birthday presents", "shopping list")  # fmt: skip
    for sentence, text in rows:
        program = language.parse(text)
        assert not language.check(program, inputs.library)
        assert language.render(language.canonical(program, inputs.library)) == text
        for text in texts:
            sentence = sentence.replace(text, f'"{text}"')
        assert not explainer.explain_in_full(sentence).is_right, sentence


def test_a_project_of_named_functions_has_only_values_missing(capsys):
    names = "loans,search_events,renew_loan,renew_all,pay_fine,book_room,extend"
    assert run(["new", "project", "library", "--functions", names]) == 0
    assert "genie-dp check\n" in capsys.readouterr().out
    assert run(["check", "--skills", "library/skills", "--format", "json"]) == 0
    problems = json.loads(capsys.readouterr().out)
    assert {problem["code"] for problem in problems} == {"K102"}
    library = load_library([Path("library/skills")])
    kinds = {
        s.qualified.rpartition(".")[2]: (s.kind, [p.name for p in s.parameters])
        for s in library.functions()
    }
    assert kinds == {
        "loans": ("query", ["loan"]),
        "search_events": ("query", ["event"]),
        "renew_loan": ("action", ["loan"]),
        "renew_all": ("action", []),
        "pay_fine": ("action", ["fine"]),
        "book_room": ("action", []),
        "extend": ("action", []),
    }
    files = [path for path in Path("library").rglob("*") if path.is_file()]
    written = "".join(path.read_text() for path in files if path.suffix != ".json")
    assert "diary" not in written
    (eval_file,) = Path("library/skills").glob("*/eval.tsv")
    assert len(eval_file.read_text().splitlines()) == 1 + len(kinds)


@pytest.mark.parametrize("names", ["loans,", "Renew Loan", "loans,loans", "monitor", "2"])
def test_names_that_no_function_can_have_are_refused(names, capsys):
    assert run(["new", "project", "library", "--functions", names]) == 1
    assert "error[R031]: expected" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


@pytest.mark.slow
def test_a_new_grammar_serves_shipped_skills(capsys):
    assert run(["new", "grammar", "formal"]) == 0
    assert Path("grammars/formal/main.genie").is_file()
    skills = [f"--skills={data_folder('thingpedia') / name}" for name in FEW]
    assert run(["check", "--grammar", "grammars/formal", *skills]) == 0
    shown = capsys.readouterr().out
    assert f"{len(FEW) - 1} skills" in shown  # one folder has the types that they share
    assert " 0 errors" in shown


@pytest.mark.parametrize("what", ["project", "skill", "grammar"])
def test_nothing_is_overwritten(what, capsys):
    assert run(["new", what, "home", "--in", "."]) == 0
    before = {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()}
    assert run(["new", what, "home", "--in", "."]) == 1
    assert "error[R032]: home exists already" in capsys.readouterr().err
    assert {p: p.read_bytes() for p in Path().rglob("*") if p.is_file()} == before


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["skill", "@Com.Example"], "genie-dp new skill com.example"),
        (["skill", "com..example"], "genie-dp new skill com.example"),
        (["skill", "../x"], "genie-dp new skill x"),
        (["project", "My Home"], "genie-dp new project my_home"),
        (["grammar", "en.us"], "genie-dp new grammar en_us"),
        (["grammar", "2"], None),
    ],
)
def test_a_name_that_will_not_do_is_answered_by_one_that_does(arguments, hint, capsys):
    assert run(["new", *arguments]) == 1
    shown = capsys.readouterr().err
    assert "error[R031]" in shown
    assert f"for example: {hint}" in shown if hint else "hint" not in shown
    assert list(Path().iterdir()) == []


def test_a_skeleton_that_cannot_be_written_leaves_nothing_behind():
    with pytest.raises(OSError, match="name too long|File name too long"):
        write_files(Path("home"), {"a.txt": "a", "x" * 300: "b"})
    assert list(Path().iterdir()) == []
