"""A project: what changed is made anew, and nothing else."""

import json
import os
import re
import shutil
from collections import Counter

import jsonschema
import pytest
import yaml

import genie_dp as gd
from genie_dp import cli
from genie_dp.project_file import schema
from genie_dp.resources import data_folder
from genie_dp.rows import read_rows
from tests.skills.skill_files import write_library

GMAIL = data_folder("thingpedia") / "com.gmail"
SCHEMA = jsonschema.Draft202012Validator(schema())
STAGES = """\
stages:
  pairs: {synthesize: {size: 60, seed: 1, max_depth: 2}}
  paraphrases: {paraphrase: {number: 1}, of: pairs}
  rows: {augment: {seed: 1}, of: [pairs, paraphrases]}
  parts: {split: {seed: 1}, of: rows}
"""


def project(folder, text=STAGES, head=f"skills: {GMAIL}\n"):
    """Return the project of a text in a folder."""
    (folder / "genie.yaml").write_text(head + text)
    return gd.Project(folder)


def made(result):
    return [run.stage.name for run in result.stages if run.is_new]


@pytest.mark.slow
def test_stages_are_made_once_and_anew_when_what_they_depend_on_changed(tmp_path):
    first = project(tmp_path)
    result = first.run()
    assert made(result) == ["pairs", "paraphrases", "rows", "parts"]
    assert repr(result) == "ProjectResult(4 stages, 4 made now)"
    rows = sum(1 for _ in read_rows(str(first.path("rows"))))
    (line,) = (line for line in str(result).splitlines() if line.startswith("rows "))
    assert line.split()[:4] == ["rows", "augment", "made", f"{rows:,}"]
    assert first.path("parts/train") == tmp_path / "build" / "parts" / "train.jsonl"
    assert first.path("parts/train").is_file()
    again = first.run()
    assert made(again) == []
    assert str(again).count("up to date") == 4
    # Other settings of a stage: what works on it is made again, what it works on is not.
    other = project(tmp_path, STAGES.replace("augment: {seed: 1}", "augment: {seed: 2}"))
    assert made(other.run()) == ["rows", "parts"]
    # What a stage made is not what it made any more.
    with other.path("paraphrases").open("a") as out:
        out.write(other.path("paraphrases").read_text().splitlines()[0].replace("P0", "P9") + "\n")
    assert "paraphrases" in made(other.run())


@pytest.mark.slow
def test_a_stage_that_gives_the_same_makes_nothing_else_anew(tmp_path):
    project(tmp_path).run()
    same = STAGES.replace("seed: 1, max_depth: 2", "max_depth: 2, seed: 1, weights: {}")
    assert made(project(tmp_path, same).run()) == ["pairs"]


def test_a_named_stage_is_made_as_by_its_function_with_all_that_it_needs_and_no_more(tmp_path):
    assert made(project(tmp_path).run("paraphrases")) == ["pairs", "paraphrases"]
    pairs = gd.synthesize(GMAIL, size=60, seed=1, max_depth=2)
    assert list(read_rows(str(tmp_path / "build" / "pairs.jsonl"))) == list(pairs)
    with pytest.raises(gd.GenieError, match="(?s)R052.*did you mean 'rows'"):
        project(tmp_path).run("row")


@pytest.mark.slow
def test_a_skill_that_changed_makes_its_rows_anew(tmp_path):
    skills = tmp_path / "skills" / "com.gmail"
    shutil.copytree(GMAIL, skills)
    head = "skills: skills/com.gmail\n"
    project(tmp_path, head=head).run("pairs")
    assert made(project(tmp_path, head=head).run("pairs")) == []
    manifest = next(skills.glob("*.tt"))
    manifest.write_text(manifest.read_text() + "\n// nothing\n")
    assert made(project(tmp_path, head=head).run("pairs")) == ["pairs"]


@pytest.mark.slow
def test_a_state_that_is_broken_or_gone_is_as_none(tmp_path):
    project(tmp_path).run("pairs")
    state = tmp_path / "build" / ".stages.json"
    assert json.loads(state.read_text())["stages"]["pairs"]["facts"]
    for text in ("", "[]", '{"stages": 3}'):
        state.write_text(text)
        assert made(project(tmp_path).run("pairs")) == ["pairs"]
    os.remove(state)
    assert made(project(tmp_path).run("pairs")) == ["pairs"]


FIRST = "stages:\n  p: {synthesize: }\n"
# The schema knows nothing of what a stage works on.
MISTAKES = (
    ("stagse: {}\n", 1, "unknown setting 'stagse'", True),
    ("stages: {}\n", 1, "expected at least one", True),
    ("skills: 3\nstages: {p: {synthesize: }}\n", 1, "skills: expected a folder", True),
    ("jobs: 0\nstages: {p: {synthesize: }}\n", 1, "jobs", True),
    ("stages:\n  a b: {synthesize: }\n", 2, "no name of a stage", True),
    ("stages:\n  p: {sinthesize: }\n", 2, "p: expected one of synthesize", True),
    ("stages:\n  p: {synthesize: , train: }\n", 2, "p: expected one of synthesize", True),
    ("stages:\n  p: {synthesize: {sise: 3}}\n", 2, "no setting 'sise'", True),
    ("stages:\n  p: {synthesize: {size: 0}}\n", 2, "size", True),
    ("stages:\n  p: {synthesize: {size: many}}\n", 2, "size", True),
    ("stages:\n  p: {synthesize: {on_error: stopp}}\n", 2, "on_error", True),
    ("stages:\n  p: {synthesize: {library: x}}\n", 2, "no setting 'library'", True),
    ("stages:\n  p: {augment: {widen: 3}, of: genie.yaml}\n", 2, "widen", True),
    ("stages:\n  p: {augment: {values: 3}, of: genie.yaml}\n", 2, "values", True),
    ("stages:\n  p: {train: {jobs: 3}, of: genie.yaml}\n", 2, "jobs", True),
    ("stages:\n  p: {augment: }\n", 2, "augment", True),
    ("stages:\n  p: {synthesize: , of: genie.yaml}\n", 2, "works on nothing, got 1", True),
    (f"{FIRST}  q: {{train: {{steps: -1}}, of: p}}\n", 3, "steps", True),
    (f"{FIRST}  q: {{paraphrase: , of: [p, p]}}\n", 3, "on one, got 2", False),
    ("stages:\n  q: {augment: , of: p}\n  p: {synthesize: }\n", 2, "no earlier stage", False),
    (f"{FIRST}  q: {{augment: , of: pp}}\n", 3, "no file: 'pp'", False),
    (f"{FIRST}  q: {{augment: , of: p/train}}\n", 3, "synthesize made", False),
    ("skills: [x, y]\nstages:\n  r: {evaluate: , of: genie.yaml}\n", 3, "expected rows", False),
)


@pytest.mark.parametrize(("text", "line", "message", "in_schema"), MISTAKES)
def test_mistakes_are_told_with_their_places_before_anything_is_made(
    tmp_path, text, line, message, in_schema
):
    with pytest.raises(gd.GenieError) as error:
        project(tmp_path, text, head="")
    problem = next(one for one in error.value.problems if message in one.message)
    assert (problem.code, problem.span.line) == ("R051", line)
    assert not (tmp_path / "build").exists()
    assert SCHEMA.is_valid(yaml.safe_load(text)) is not in_schema


MEASURED = (
    f"{STAGES}  parser: {{train: {{steps: 1}}, of: rows}}\n  result: {{evaluate: , of: parser}}\n"
)


@pytest.mark.parametrize(
    ("rows", "code", "place"),
    [
        (None, "N020", "has an eval.tsv"),
        ("", "N020", "a sentence in its eval.tsv"),
        ("read my mail\tnow => @com.gmail.inbx() => notify\n", "T003", "eval.tsv:2:21"),
        ("read my mail\tnow => \n", "S0", "eval.tsv:2"),
        ("read the news\tnow => @com.bbc.news() => notify\n", "K119", "eval.tsv:2:15"),
    ],
)
def test_sentences_to_measure_with_are_checked_before_anything_is_made(tmp_path, rows, code, place):
    skill = tmp_path / "skills" / "com.gmail"
    shutil.copytree(GMAIL, skill, ignore=shutil.ignore_patterns("eval.tsv"))
    if rows is not None:
        (skill / "eval.tsv").write_text(f"utterance\tprogram\n{rows}")
    measured = project(tmp_path, MEASURED, head="skills: skills\n")
    with pytest.raises(gd.GenieError) as error:
        measured.run()
    (problem,) = error.value.problems
    assert problem.code.startswith(code)
    assert place in str(error.value)
    assert not (tmp_path / "build" / "pairs.jsonl").exists()
    if code == "N020":
        assert problem.hint.endswith("without them: genie-dp run parser")
    if rows is None:
        assert made(measured.run("pairs")) == ["pairs"]
    # A file beside the project is checked as early.
    (tmp_path / "mine.tsv").write_text(f"utterance\tprogram\n{rows or ''}")
    text = MEASURED.replace("evaluate: ,", "evaluate: {rows: mine.tsv},")
    expected = code.replace("K119", "T003") if rows else "mine.tsv has no sentence"
    with pytest.raises(gd.GenieError, match=expected):
        project(tmp_path, text, head="skills: skills\n").run()


def test_mistakes_of_skills_templates_and_sentences_are_told_together(tmp_path):
    skill = tmp_path / "skills" / "com.gmail"
    shutil.copytree(GMAIL, skill)
    for name, line in (("templates.genie", "NP := 'x' -> inbox(y = 1);\n"), ("eval.tsv", "x\ty\n")):
        with (skill / name).open("a") as out:
            out.write(line)
    with pytest.raises(gd.GenieError) as error:
        project(tmp_path, MEASURED, head="skills: skills\n").run()
    assert [p.span.file.rpartition("/")[2] for p in error.value.problems] == [
        "templates.genie", "eval.tsv"
    ]  # fmt: skip


FEW = """\
>> skills/org.pond/skill.tt
class @org.pond #_[canonical="pond"] {
  list query frogs(out name : String #_[canonical={base=["name"]}]) #_[canonical="frogs"];
  action feed(in req food : String #_[canonical={base=["food"]}]) #_[canonical="feed the frogs"];
}
>> skills/org.pond/templates.genie
for @org.pond;
NP := 'my frogs' -> frogs();
COMMAND := 'feed the frogs $f' -> now => feed(food = $f);
COMMAND := ('throw' | 'toss' | 'scatter' | 'drop' | 'strew' | 'give' | 'offer' | 'serve' | 'bring' |
  'carry')  '$f to the frogs' -> now => feed(food = $f);
>> main.genie
category COMMAND : program root "commands";
category NP : query "noun phrases";
COMMAND := 'show me' q:NP -> now => q => notify;
"""


def test_templates_with_few_rows_are_named_by_run_check_and_report(tmp_path, monkeypatch, capsys):
    write_library(tmp_path, FEW)
    stages = "stages:\n  pairs: {synthesize: {seed: 1}}\n"
    head = "skills: skills\ngrammar: main.genie\n"
    begin = "templates with fewer than 10 rows "
    result = project(tmp_path, stages, head).run()
    assert result.few_rows == f"{begin}(pairs): org.pond.COMMAND.1 (1), org.pond.NP.1 (1)"
    assert result.few_rows in str(result).splitlines()
    # One pair with a placeholder may be many rows.
    quiet = "filler: 0, typo: 0, drop_article: 0, drop_punctuation: 0"
    augment = f"  rows: {{augment: {{primitive: 20, {quiet}}}, of: pairs}}\n"
    result = project(tmp_path, stages + augment, head).run()
    rows = Counter(name for row in read_rows(str(tmp_path / "build" / "rows.jsonl"))
                   for name in row.derivation)  # fmt: skip
    assert rows["org.pond.COMMAND.1"] >= 10 > rows["org.pond.NP.1"]
    few = f"{begin}(pairs, augmented): org.pond.NP.1 (1, {rows['org.pond.NP.1']})"
    assert result.few_rows == few
    monkeypatch.delenv("GENIE_DP_PROJECT")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["check"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"last run: {few}"
    assert cli.run(["check", "--skills", "skills", "--grammar", "main.genie"]) == 0
    assert "few" not in capsys.readouterr().out
    assert cli.run(["synthesize", "--output", "pairs.jsonl", "--report", "report"]) == 0
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    found = {x["id"]: (x["skill"], x["rows"], x["augmented"], x["is_few"])
             for x in report["templates"]}  # fmt: skip
    one, many = rows["org.pond.NP.1"], rows["org.pond.COMMAND.1"]
    assert found["org.pond.NP.1"] == ("org.pond", 1, one, True)
    assert found["org.pond.COMMAND.1"] == ("org.pond", 1, many, False)
    assert found["main.COMMAND.1"] == (None, 1, None, False)
    page = (tmp_path / "report" / "report.html").read_text()
    assert "org.pond: 3 templates, 1 with fewer than 10" in page
    assert page.count("<mark>") == 2  # its pair, and its rows


def test_a_folder_without_a_project_is_told(tmp_path):
    with pytest.raises(gd.GenieError, match="R050"):
        gd.Project(tmp_path)
    (tmp_path / "genie.yaml").write_text("stages: [")
    with pytest.raises(gd.GenieError, match="R050"):
        gd.Project(tmp_path)


@pytest.mark.slow
def test_a_parser_is_trained_and_measured(tmp_path, monkeypatch):
    pytest.importorskip("torch")
    text = (
        "stages:\n  pairs: {synthesize: {size: 200, seed: 1, max_depth: 2}}\n"
        "  parser: {train: {steps: 3, seed: 1}, of: pairs}\n"
        "  further: {train: {steps: 2, start: parser}, of: pairs}\n"
        "  result: {evaluate: , of: further}\n"
    )
    result = project(tmp_path, text).run()
    assert made(result) == ["pairs", "parser", "further", "result"]
    figures = json.loads((tmp_path / "build" / "result.json").read_text())
    assert figures["rows"] > 5
    shown = str(result).partition("\nresult: ")[2].splitlines()
    assert re.match(r"[\d,]+ answered rightly, .* asked; first program right: ", shown[0])
    for row, line in zip(figures["wrong"]["shown"], shown[1:6], strict=False):
        assert line == f"  {row['kind']}: {row['utterance']}"
    assert shown[6].endswith("with their programs: genie-dp evaluate --report wrong.html")
    assert made(project(tmp_path, text).run()) == []
    # An eval.tsv is rows to measure and to calibrate with; a calibrated parser is not made anew.
    parser = str(tmp_path / "build" / "further")
    real = tmp_path / "real.tsv"
    rows = [line for line in (GMAIL / "eval.tsv").read_text().splitlines() if "org." not in line]
    real.write_text("\n".join(row for row in rows if "@com.nytimes" not in row))
    assert 5 < gd.evaluate(parser, real).data["rows"] <= figures["rows"]
    monkeypatch.setenv("GENIE_DP_PROJECT", str(tmp_path / "genie.yaml"))
    assert cli.run(["calibrate", parser, str(real)]) == 0
    assert gd.Parser.from_pretrained(parser).is_validated
    assert made(project(tmp_path, text).run()) == ["result"]
