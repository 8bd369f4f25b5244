"""`genie-dp check` on the shipped files, on broken ones, and on another language."""

import json
import shutil
from pathlib import Path

import pytest

from genie_dp.augment.values import shipped_list
from genie_dp.cli import run
from genie_dp.templates.run import Checker

ROOT = Path(__file__).parents[2]

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


def add_skill(project: Path, name: str, skill: str, templates: str = "") -> None:
    folder = project / "skills" / f"com.example.{name}"
    folder.mkdir()
    (folder / "skill.tt").write_text(skill.replace("com.example.notes", f"com.example.{name}"))
    (folder / "templates.genie").write_text(templates)


def check(capsys, *options: str, code: int = 1) -> tuple[str, str]:
    """Return what the command writes."""
    assert run([*CHECK, *options]) == code
    return capsys.readouterr()


def problems(capsys, *, code: int = 1) -> list[dict[str, object]]:
    return json.loads(check(capsys, "--format", "json", code=code)[0])


def test_a_project_without_mistakes_is_a_line_and_0(project: Path, capsys) -> None:
    line = "1 skill, 1 function, 2 templates: 0 errors, 0 warnings\n"
    assert check(capsys, code=0) == (line, "")


@pytest.mark.slow
def test_the_shipped_skills_and_grammar_and_ones_own_skill_have_no_errors(
    tmp_path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["new", "skill", "org.my-garden", "--in", "mine"]) == 0
    assert run(["check", "--skills", "shipped", "--skills", "mine"]) == 0
    out, _ = capsys.readouterr()
    assert "0 errors" in out
    templates = int(out.split(" templates")[0].rpartition(" ")[2].replace(",", ""))
    assert templates >= 800


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


def test_mistakes_of_skills_and_templates_are_shown_together(project: Path, capsys) -> None:
    skill = project / "skills" / "com.example.notes"
    (skill / "skill.tt").write_text(SKILL.replace("String", "Strin"))
    (project / "main.genie").write_text(GRAMMAR.replace("q:NP", "q:NPP"))
    out, err = check(capsys)
    assert "skill.tt:2:43: error[S005]: unknown type 'Strin'" in err
    assert (
        "main.genie:3:18: error[G012]: unknown category 'NPP'\n"
        " 3 | COMMAND := 'get' q:NPP -> now => q => notify;\n"
        "   |                  ^^^^^\n"
        "  hint: did you mean 'NP'?\n"
    ) in err
    assert ": 2 errors, " in out


def test_with_skip_broken_the_mistakes_of_a_skill_are_warnings(project: Path, capsys) -> None:
    add_skill(project, "other", "class @com.example.other {")
    check(capsys)
    out, err = check(capsys, "--skip-broken", code=0)
    assert "1 skill, 1 function, 2 templates: 0 errors, 1 warning\n" in out
    assert "warning[S" in err
    # What a skipped skill would have is not said to be missing.
    shutil.rmtree(project / "skills" / "com.example.other")
    skill = project / "skills" / "com.example.notes" / "skill.tt"
    skill.write_text(SKILL.replace("String", "Strng"))
    out, err = check(capsys, "--skip-broken", code=0)
    assert "S005" in err
    assert "G102" not in err
    assert out.endswith("0 errors, 1 warning\n")


def test_json_is_one_array_on_stdout(project: Path, capsys) -> None:
    (project / "main.genie").write_text(GRAMMAR + "NP := 'get a note' -> q;\n")
    out, err = check(capsys, "--format", "json")
    assert [(p["code"], p["file"], p["line"], p["severity"]) for p in json.loads(out)] == [
        ("G106", "main.genie", 4, "warning"),
        ("T009", "main.genie", 4, "error"),
    ]
    assert err == "1 skill, 1 function, 3 templates: 1 error, 1 warning\n"
    # It stays JSON where the input is refused.
    assert run(["check", "--skills", "skills/com.example.notes/values", "--format", "json"]) == 1
    (problem,) = json.loads(capsys.readouterr().out)
    assert (problem["code"], problem["severity"]) == ("K002", "error")
    (project / "empty").mkdir()
    (problem,) = json.loads(check(capsys, "--grammar", "empty", "--format", "json")[0])
    assert problem["code"] == "R021"
    assert "error[R021]" in check(capsys, "--grammar", "empty")[1]


def test_a_broken_skill_hides_no_mistake_of_grammar_templates_and_other_skills(
    project: Path, capsys
) -> None:
    for name, skill in (("broken", SKILL.replace("String ", "Strin ")), ("sound", SKILL)):
        add_skill(
            project,
            name,
            skill,
            f"NP := 'my {name} notes' -> @com.example.{name}.notes();\n"
            f"NP := 'my notes of {name}' q:{name.upper()} -> q;\n"
            f"NP := 'my {name} memos -> @com.example.{name}.notes();\n",
        )
    (project / "main.genie").write_text(
        f"{GRAMMAR}NP := 'broken' -> @com.example.broken.notes();\n"
        "NP := 'notes' -> @com.example.notes.notes() filter txt == 'a';\n"
    )
    found = problems(capsys)
    mistakes = [(p["code"], Path(p["file"]).parent.name, p["line"]) for p in found]
    assert ("S005", "com.example.broken", 2) in mistakes
    assert ("T011", "", 5) in mistakes
    for name in ("broken", "sound"):
        assert ("G027", f"com.example.{name}", 3) in mistakes
    assert ("G012", "com.example.broken", 2) in mistakes
    assert not [m for m in mistakes if m[0] == "T001"]


def test_templates_of_a_broken_skill_add_no_echoes(project: Path, capsys) -> None:
    """Neither what tries templates nor a `for` says that its class is unknown."""
    skill = project / "skills" / "com.example.notes"
    (skill / "skill.tt").write_text(SKILL.replace("String #[", "Strin #["))
    for templates in (TEMPLATES, "for @com.example.notes;\nNP := 'my notes' -> notes();\n"):
        (skill / "templates.genie").write_text(templates)
        assert [problem["code"] for problem in problems(capsys)] == ["S005"]


def test_one_word_of_two_skills_is_told_with_both_places(project: Path, capsys) -> None:
    add_skill(project, "other", SKILL, "NP := 'notes' -> @com.example.other.notes();\n")
    templates = project / "skills" / "com.example.notes" / "templates.genie"
    templates.write_text("NP := 'notes' -> @com.example.notes.notes();\n")
    (problem,) = [p for p in problems(capsys, code=0) if p["code"] == "G105"]
    assert problem["file"] == "skills/com.example.other/templates.genie"
    assert "com.example.notes/templates.genie:1:1" in problem["hint"]


def test_sentences_and_value_lists_are_checked(project: Path, capsys) -> None:
    skill = project / "skills" / "com.example.notes"
    (skill / "eval.tsv").write_text(
        "utterance\tprogram\nshow my notes\tnow => @com.example.notes.nodes() => notify\n"
    )
    (skill / "values" / "text.tsv").write_text("value,weight\nbuy milk,1\n")
    _, err = check(capsys)
    assert "skills/com.example.notes/eval.tsv:2:22: error[T003]" in err
    assert "2 | show my notes" in err
    assert "values/text.tsv:1:1: warning[K120]" in err


def test_sentences_of_an_earlier_skill_are_told_once_and_last(project: Path, capsys) -> None:
    skill = project / "skills" / "com.example.notes"
    lines = [f"say {n}\tnow => @com.example.notes.{f}() => notify" for n, f in
             enumerate(["bill", "bill", "branches", "nodes", "nodes"])]  # fmt: skip
    (skill / "eval.tsv").write_text("\n".join(["utterance\tprogram", *lines, ""]))
    templates = skill / "templates.genie"
    templates.write_text(templates.read_text() + "NP := 'x' -> @com.example.notes.notes(y = 1);\n")
    own, others, typos = (p for p in problems(capsys) if p["severity"] == "error")
    assert own["file"] == str(templates.relative_to(project))
    assert others["message"].endswith(
        "got @com.example.notes.bill, @com.example.notes.branches in 3 sentences"
    )
    assert (others["line"], typos["line"]) == (2, 5)
    assert typos["message"].endswith("got @com.example.notes.nodes in 2 sentences")
    assert "did you mean 'notes'?" in typos["hint"]


def test_another_language_is_checked_the_same_way(capsys) -> None:
    folder = ROOT / "examples" / "pizza-order"
    arguments = ["--language", "sexpr", "--grammar", str(folder)]
    assert run(["check", *arguments, "--skills", str(folder / "pizza.sexpr")]) == 0
    out, err = capsys.readouterr()
    assert out.endswith(" templates: 0 errors, 0 warnings\n")
    assert err == ""


def test_what_shipped_templates_want_of_other_skills_is_not_told(capsys):
    skill = ROOT / "thingpedia" / "com.nytimes"
    assert run(["check", "--skills", str(skill), "--format", "json"]) == 0
    codes = {problem["code"] for problem in json.loads(capsys.readouterr().out)}
    # Nothing of it can be passed into an action: a matter of the skill, not of the templates.
    assert not codes & {"G102", "G109"}


MUSIC = """\
class @com.example.music #_[canonical="music"] {
  entity tune;
  entity song #[string_values="tt:song"];
  entity melody extends tune;
  query tunes(in req song : Entity(com.example.music:song) #_[canonical={base=["song"]}],
              in opt caption : String #[string_values="tt:caption"]
                #_[canonical={base=["caption"]}],
              in opt subject : String #_[canonical={base=["subject"]}],
              in opt hum : String #_[canonical={base=["hum"]}],
              in opt mood : String #[string_values="tt:song_title"] #_[canonical={base=["mood"]}],
              in opt melody : Entity(com.example.music:melody) #_[canonical={base=["melody"]}],
              in opt noise : Entity(com.example.music:noises) #_[canonical={base=["noise"]}])
    #_[canonical="tunes"];
}
"""


@pytest.fixture
def music(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a skill most of whose values are in shipped lists."""
    skill = tmp_path / "skills" / "com.example.music"
    (skill / "values").mkdir(parents=True)
    (skill / "skill.tt").write_text(MUSIC)
    (skill / "values" / "tune.tsv").write_text("value\nla la la\n")
    (skill / "templates.genie").write_text(
        "NP := 'tunes of $x' -> \\(x : Entity(com.example.music:song)) -> "
        "@com.example.music.tunes(song = x);\n"
    )
    (tmp_path / "main.genie").write_text(GRAMMAR)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_values_of_shipped_lists_are_not_missing(music: Path, capsys) -> None:
    out, err = check(capsys, "--format", "json", code=0)
    found = [p for p in json.loads(out) if p["code"] in ("K102", "K103", "K104")]
    missing = {p["message"]: p["hint"].partition("; ")[2] for p in found}
    assert list(missing) == [
        "text 'subject' names no value list",
        "text 'hum' names no value list",
        "no file gives values of the entity type com.example.music:noises",
    ]
    # A list of that name may be meant or not: three of its values show which it is.
    suggestion, *others = missing.values()
    texts = shipped_list("email_subject").texts
    assert suggestion.endswith(', write #[string_values="tt:email_subject"]')
    assert sum(repr(text) in suggestion for text in texts) == 3
    assert all(hint.startswith("until then it is filled with any texts") for hint in others)
    # The lists are told with the summary, where it does not disturb JSON.
    assert "shipped list caption (" in err
    assert " values) serves @com.example.music.tunes:caption\n" in err
    assert " values) serves @com.example.music.tunes:song, @com.example.music.tunes:mood\n" in err
    assert "list com.example.music:tune (1 value) serves @com.example.music.tunes:melody\n" in err
    lines = check(capsys, code=0)[0].splitlines()
    assert [line.partition(" (")[0] for line in lines[:-1]] == [
        "list com.example.music:tune",
        "shipped list caption",
        "shipped list song",
    ]
    assert lines[-1].endswith(" 0 errors, 10 warnings")  # six of inputs that nothing says


def test_what_is_missing_is_told_once_all_files_can_be_read(project: Path, capsys) -> None:
    """A template that could not be read may speak of the function, or derive the category."""
    templates = project / "skills/com.example.notes/templates.genie"
    templates.write_text("")
    _, shown = check(capsys, code=0)
    assert "warning[K100]: no template speaks of @com.example.notes.notes" in shown
    assert "warning[G102]" in shown
    templates.write_bytes(TEMPLATES.encode() + b"// caf\xe9")
    out, shown = check(capsys)
    assert "error[G007]" in shown
    assert "1 error, 0 warnings" in out
    # A class that is none is told once.
    templates.write_text("for @com.example.nots;\nNP := 'my notes' -> notes();\n")
    out, shown = check(capsys)
    assert "templates.genie:1:1: error[G033]" in shown
    assert "1 error, 0 warnings" in out


def test_an_input_without_words_is_named_with_its_place(project: Path, capsys) -> None:
    skill = project / "skills" / "com.example.notes"
    inputs = "query notes(in opt year : Number, in req day : Date, "
    (skill / "skill.tt").write_text(SKILL.replace("query notes(", inputs))
    _, out = check(capsys, code=0)
    assert "skill.tt:2:32: warning[K122]: nothing says the input 'year'" in out
    assert "warning[K123]: no template of @com.example.notes.notes gives its required" in out
    said = TEMPLATES.replace("notes()", "notes(day = $d, year = $y)")
    said = said.replace("my notes", "my notes of ${d:const} and ${y:const}")
    (skill / "templates.genie").write_text(said)
    assert "0 errors, 0 warnings" in check(capsys, code=0)[0]
