"""`genie-dp run` and what commands take from the genie.yaml above them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import jsonschema
import pytest
import yaml

import genie_dp as gd
from genie_dp import cli
from genie_dp.project_file import JOBS, find_project, schema
from genie_dp.resources import data_folder
from genie_dp.run.stage import hold_output
from genie_dp.templates.skeletons import new_project
from genie_dp.watch import ProjectWatch

ROOT = Path(__file__).parent.parent
GMAIL = data_folder("thingpedia") / "com.gmail"
PAIRS = "  pairs: {synthesize: {size: 60, seed: 1, max_depth: 2}}\n"
ROWS = "  rows: {augment: {seed: 1, primitive: 1}, of: [pairs, own.jsonl]}\n"
PARTS = "  parts: {split: {seed: 1}, of: rows}\n"
OWN = {
    "id": "own", "utterance": "get the mail", "program": "now => ( @com.gmail.inbox ) => notify",
    "source": "human", "language": "thingtalk",
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A project with one skill, rows of one's own and two stages; the working folder is below."""
    monkeypatch.delenv("GENIE_DP_PROJECT")
    skill = tmp_path / "skills" / "com.gmail"
    skill.mkdir(parents=True)
    for file in GMAIL.rglob("*"):
        if file.is_file() and file.name != "eval.tsv":
            (skill / file.relative_to(GMAIL)).parent.mkdir(exist_ok=True)
            (skill / file.relative_to(GMAIL)).write_bytes(file.read_bytes())
    (tmp_path / "own.jsonl").write_text(json.dumps(OWN) + "\n")
    (tmp_path / "genie.yaml").write_text(f"skills: skills\nstages:\n{PAIRS}{ROWS}")
    below = tmp_path / "docs" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    return tmp_path


def edit(file, old, new):
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def first_words(text):
    """Return stage -> what became of it, of a table."""
    lines = [line.split() for line in text.splitlines() if line.split()[1:2] != []]
    return {words[0]: words[2] for words in lines if words[1] in JOBS}


# ------------------------------------------------------------------------------------ the command


@pytest.mark.slow
def test_a_second_run_does_nothing_and_a_changed_input_makes_what_depends_on_it(folder, capsys):
    assert cli.run(["run"]) == 0
    out, err = capsys.readouterr()
    assert first_words(out) == {"pairs": "made", "rows": "made"}
    assert "pairs: synthesize (it is new)" in err
    assert out.splitlines()[0].split() == ["stage", "job", "what", "rows", "time", "where"]
    assert "2 of 2 stages made in" in out
    made = {f: f.read_bytes() for f in (folder / "build").rglob("*.jsonl")}
    assert cli.run(["run"]) == 0
    assert first_words(out := capsys.readouterr().out) == {"pairs": "up", "rows": "up"}
    assert out.endswith("nothing changed\n")
    assert {f: f.read_bytes() for f in (folder / "build").rglob("*.jsonl")} == made
    edit(folder / "own.jsonl", "get the mail", "get all the mail")
    assert cli.run(["run"]) == 0
    assert first_words(capsys.readouterr().out) == {"pairs": "up", "rows": "made"}
    assert cli.run(["run", "--force", "pairs"]) == 0
    assert first_words(capsys.readouterr().out) == {"pairs": "made"}
    assert cli.run(["run", "--list"]) == 0
    assert first_words(capsys.readouterr().out) == {"pairs": "up", "rows": "up"}


@pytest.mark.slow
def test_the_list_names_what_changed_and_makes_nothing(folder, capsys):
    assert cli.run(["run", "--list"]) == 0
    out = capsys.readouterr().out
    assert "it is new" in out
    assert "after pairs" in out
    assert not (folder / "build").exists()
    assert cli.run(["run"]) == 0
    capsys.readouterr()
    edit(folder / "own.jsonl", "get the mail", "get all the mail")
    templates = folder / "skills" / "com.gmail" / "templates.genie"
    templates.write_text(templates.read_text() + "// another\n")
    edit(folder / "genie.yaml", "size: 60", "size: 50")
    assert cli.run(["run", "--list"]) == 0
    pairs, rows = capsys.readouterr().out.splitlines()[1:3]
    assert pairs.endswith("changed: size, skills/com.gmail/templates.genie")
    assert rows.endswith("changed: own.jsonl")
    assert [run.is_new for run in gd.Project(folder).plan().stages] == [True, True]
    rows_of = (folder / "build" / "rows.jsonl").read_bytes()
    assert cli.run(["run", "pairs"]) == 0
    assert (folder / "build" / "rows.jsonl").read_bytes() == rows_of


def test_a_project_shows_its_stages_as_they_were_made_and_sees_what_changed(folder):
    one = gd.Project(folder)
    assert repr(one).count("not made yet") == 2
    one.run("pairs")
    shown = repr(gd.Project(folder)).splitlines()
    assert shown[0] == f"Project({folder / 'genie.yaml'}: pairs, rows)"
    assert shown[2].split()[:4] == ["pairs", "synthesize", "made", "60"]
    assert "not made yet" in shown[3]
    templates = folder / "skills" / "com.gmail" / "templates.genie"
    templates.write_text(templates.read_text() + "// another\n")
    assert [run.is_new for run in one.run("pairs").stages] == [True]


def test_a_split_does_not_depend_on_the_skills(folder):
    edit(folder / "genie.yaml", ROWS, PARTS.replace("of: rows", "of: own.jsonl"))
    rows = [{**OWN, "id": f"own-{n}", "utterance": f"get mail {n}"} for n in range(60)]
    (folder / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gd.Project(folder).run("parts")
    manifest = next((folder / "skills").rglob("*.tt"))
    manifest.write_text(manifest.read_text() + "\n// nothing\n")
    assert [run.is_new for run in gd.Project(folder).plan("parts").stages] == [False]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["run", "pears"], 1, "did you mean 'pairs'?"),
        (["run", "--watch", "--force"], 2, "--watch makes nothing"),
        (["run", "--file", "nowhere"], 2, "does not exist"),
    ],
)
def test_wrong_words_are_told_and_how_to_get_a_project(
    folder, tmp_path_factory, monkeypatch, capsys, words, code, said
):
    assert cli.run(words) == code
    assert said in capsys.readouterr().err
    monkeypatch.chdir(tmp_path_factory.mktemp("nothing"))
    assert cli.run(["run"]) == 1
    assert "genie-dp new project" in capsys.readouterr().err


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(folder):
    size = "size: 60000, seed: 1, max_depth: 3"
    edit(folder / "genie.yaml", "size: 60, seed: 1, max_depth: 2", size)
    edit(folder / "genie.yaml", ROWS, "")
    gd.Project(folder).run()
    made = folder / "build" / "pairs.jsonl"
    whole = made.read_bytes()
    made.unlink()
    program = [sys.executable, str(ROOT / "cli.py"), "run", "--file", str(folder)]
    with subprocess.Popen(program, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as run:
        journal = folder / "build" / ".pairs.jsonl.work" / "journal.jsonl"
        until = time.monotonic() + 120
        while not (journal.exists() and journal.stat().st_size) and time.monotonic() < until:
            time.sleep(0.01)
        run.kill()
    assert journal.exists()
    (stage,) = gd.Project(folder).run().stages
    assert (stage.is_new, stage.why) == (True, "it was interrupted")
    assert made.read_bytes() == whole


# ------------------------------------------------------------------------------------- the schema


def test_the_schema_takes_the_files_that_the_reader_takes(tmp_path):
    """What the reader refuses and so the schema is in tests/test_project.py."""
    new_project("mine", tmp_path)
    texts = [(tmp_path / "mine" / "genie.yaml").read_text()]
    for page in ("projects.md", "python.md"):
        blocks = (ROOT / "docs" / page).read_text().split("```yaml\n")[1:]
        texts += [block.split("```")[0] for block in blocks]
    assert len(texts) >= 2
    validator = jsonschema.Draft202012Validator(schema())
    for text in texts:
        validator.validate(yaml.safe_load(text))


def test_every_setting_of_the_schema_is_described(capsys):
    assert cli.run(["run", "--schema"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown == schema()
    jobs = shown["properties"]["stages"]["additionalProperties"]["properties"]
    assert set(jobs) == {*JOBS, "of"}
    for name in JOBS:
        settings = jobs[name]["anyOf"][0]["properties"]
        assert settings
        undescribed = [key for key, value in settings.items() if not value.get("description")]
        assert undescribed in ([], ["rows"]), name


# ------------------------------------------------------------------------------ commands below it


def test_commands_take_skills_and_grammar_of_the_project_above(folder, capsys):
    assert find_project(Path.cwd()) == Path("../../genie.yaml")
    assert cli.run(["check"]) == 0
    out, err = capsys.readouterr()
    assert "1 skill, " in out
    assert "note: ../../genie.yaml gives --skills ../../skills\n" in err
    (folder / "main.genie").write_text(
        (data_folder("grammars") / "en" / "main.genie").read_text().replace(
            'import "', f'import "{data_folder("grammars") / "en"}/')
    )  # fmt: skip
    edit(folder / "genie.yaml", "skills: skills", "skills: skills\ngrammar: main.genie")
    assert cli.run(["explain", "get my emails"]) == 0
    assert "gives --skills ../../skills --grammar ../../main.genie" in capsys.readouterr().err


def test_an_option_that_is_given_wins_and_a_folder_of_skills_is_measured_by_its_own(folder, capsys):
    assert cli.run(["check", "--skills", str(GMAIL.parent / "com.bbc")]) == 0
    assert "note" not in capsys.readouterr().err
    assert cli.run(["evaluate", str(GMAIL), str(folder / "own.jsonl")]) == 1
    assert "note" not in capsys.readouterr().err


def test_parser_and_sentences_of_the_project_need_no_name(folder, capsys, monkeypatch):
    (folder / "build" / "parser").mkdir(parents=True)
    edit(folder / "genie.yaml", "stages:", "stages:\n  parser: {train: , of: pairs}")
    real = (GMAIL / "eval.tsv").read_text().splitlines()[:3]
    (folder / "skills" / "com.gmail" / "eval.tsv").write_text("\n".join(real))
    assert cli.run(["coverage", "--misses", "0"]) == 0
    out, err = capsys.readouterr()
    assert "of 2 sentences" in out
    assert "--skills ../../skills FILE ../../skills" in err
    for command, given in (
        ("evaluate", "--skills ../../skills --parser ../../build/parser GOLD ../../skills"),
        ("calibrate", "--parser ../../build/parser GOLD ../../skills"),
        ("serve", "--parser ../../build/parser"),
    ):
        assert cli.run([command]) == 1
        err = capsys.readouterr().err
        assert f"note: ../../genie.yaml gives {given}\n" in err
        assert "error[N010]" in err  # the folder holds no parser
    # Rows of a stage come before those of the skills.
    (folder / "mine.tsv").write_text("utterance\tprogram\n")
    with (folder / "genie.yaml").open("a") as out:
        out.write("  result: {evaluate: {rows: mine.tsv}, of: parser}\n")
    assert cli.run(["coverage"]) == 1
    assert "FILE ../../mine.tsv" in capsys.readouterr().err
    monkeypatch.setenv("GENIE_DP_PROJECT", "")
    for command in ("coverage", "evaluate", "calibrate", "serve"):
        assert cli.run([command]) == 2
        assert "and no project has" in capsys.readouterr().err


def test_a_mistake_in_the_stages_does_not_keep_skills_from_being_checked(folder, capsys):
    edit(folder / "genie.yaml", "synthesize", "sinthesize")
    assert cli.run(["check"]) == 0
    edit(folder / "genie.yaml", "skills: skills", "skills: 3")
    assert cli.run(["check"]) == 1
    assert "genie.yaml:1:9: error[R051]: skills" in capsys.readouterr().err


def test_a_variable_names_another_project_or_none(folder, monkeypatch):
    monkeypatch.setenv("GENIE_DP_PROJECT", "")  # as for other tests, whatever is above them
    assert find_project(Path.cwd()) is None
    monkeypatch.setenv("GENIE_DP_PROJECT", "/elsewhere/genie.yaml")
    assert find_project(Path.cwd()) == Path("/elsewhere/genie.yaml")


# ------------------------------------------------------------------------------------ watching


def test_every_save_is_answered_with_mistakes_or_what_changed_gives(folder):
    watched = ProjectWatch(gd.Project(folder), count=2)
    first = watched.look()
    assert (first.saved, first.samples, first.has_mistakes) == ((), (), False)
    assert "1 skill" in first.summary
    watched.look()  # which tries children
    assert watched.look() is None
    templates = folder / "skills" / "com.gmail" / "templates.genie"
    text = templates.read_text()
    templates.write_text(text + "NP := 'all letters of mine' -> @com.gmail.inbox();\n")
    begun = time.process_time()
    saved, seen = watched.look(), watched.look()
    assert time.process_time() - begun < 1
    assert [path.name for path in saved.saved] == ["templates.genie"]
    assert not saved.has_mistakes
    assert [words for s in seen.samples for words, _ in s.pairs] == ["all letters of mine"]
    assert "All letters of mine" in str(seen)
    templates.write_text(text + "NP := 'all letters of mine' -> @com.gmail.inbx();\n")
    seen = watched.look()
    assert seen.has_mistakes
    assert "did you mean 'inbox'?" in str(seen)
    assert seen.samples == ()
    edit(folder / "genie.yaml", "augment", "augmend")
    assert "R051" in str(watched.look())
    assert watched.look() is None


# --------------------------------------------------------------------------------- two runs, Ctrl-C


def test_a_second_run_into_one_folder_says_who_holds_it(folder, capsys):
    program = (
        "import sys, time; from pathlib import Path; from genie_dp.run.stage import hold_output\n"
        "with hold_output(Path(sys.argv[1])):\n    print('held', flush=True); time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, str(folder / "build")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as other:
        assert other.stdout.readline() == b"held\n"
        assert cli.run(["run"]) == 1
        said = capsys.readouterr().err
        assert f"build is being made by process {other.pid} since 20" in said
        assert "error[Y027]" in said
        other.send_signal(signal.SIGKILL)
    assert cli.run(["run", "pairs"]) == 0
    assert not list(folder.rglob("*.lock"))


def test_an_output_is_held_until_its_run_ends(tmp_path):
    output = tmp_path / "made" / "rows.jsonl"
    with hold_output(output):
        held = pytest.raises(gd.GenieError, match=f"by process {os.getpid()} since")
        with held, hold_output(output):
            pytest.fail("it is held")
        assert (output.parent / ".rows.jsonl.lock").exists()
    assert list(tmp_path.iterdir()) == []
    with hold_output(output):
        output.write_text("")
    assert list(output.parent.iterdir()) == [output]


@pytest.mark.slow
@pytest.mark.parametrize("milliseconds", [10, 30, 60, 90, 130, 180, 240, 300])
def test_ctrl_c_in_the_first_instant_leaves_no_traceback(tmp_path, milliseconds):
    started = tmp_path / "started"
    # Before the launcher nothing is ours: the instant is counted from there on.
    program = (
        "import sys; from genie_dp.launch import main; sys.argv = ['genie-dp', 'check']\n"
        f"open({str(started)!r}, 'w').close()\nmain()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT
    ) as process:
        until = time.monotonic() + 60
        while not started.exists() and time.monotonic() < until:
            time.sleep(0.001)
        time.sleep(milliseconds / 1000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert b"Traceback" not in err
    if out:  # all is said, and Python itself is ending
        assert out.endswith(b"warnings\n")
        assert process.returncode in (0, 130, -signal.SIGINT)
    else:
        assert process.returncode == 130
        assert err.endswith(b"interrupted\n")


def test_ctrl_c_while_a_class_is_made_leaves_no_traceback():
    program = """
import genie_dp.cli
from genie_dp.launch import main

class Field:
    def __set_name__(self, owner, name):
        raise KeyboardInterrupt

genie_dp.cli.run = lambda: type("Made", (), {"field": Field()})
main()
"""
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


# -------------------------------------------------------------------------------------- full disks


@pytest.mark.slow
def test_a_full_disk_names_the_file_and_loses_nothing(folder):
    resource = pytest.importorskip("resource")
    edit(folder / "genie.yaml", "size: 60, seed: 1, max_depth: 2", "size: 3000, seed: 1")
    edit(folder / "genie.yaml", ROWS, "")
    program = [sys.executable, str(ROOT / "cli.py"), "run", "--file", str(folder)]

    def small_files_alone():
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

    done = subprocess.run(
        program, preexec_fn=small_files_alone, capture_output=True, text=True, check=False,
        env={**os.environ, "GENIE_DP_CACHE": ""},
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error[R001]: ")
    assert "pairs.jsonl" in last
    assert last.endswith(": File too large")
    assert "Traceback" not in done.stderr
    result = gd.Project(folder).run()
    assert result.stages[0].rows == 3000
    other = folder / "other.jsonl"
    gd.synthesize(folder / "skills", size=3000, seed=1).save(other)
    assert other.read_bytes() == (folder / "build" / "pairs.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["paraphrase", "auto", "rows.jsonl", "--output", "more.jsonl"], "more.jsonl"),
        (["augment", "rows.jsonl", "--output", "more.jsonl"], ".more.jsonl.work/rows"),
        (["split", "rows.jsonl", "--output", "parts"], "parts"),
        (["new", "project", "mine"], "mine"),
    ],
)
def test_every_command_names_the_file_for_which_there_is_no_room(tmp_path, words, named):
    resource = pytest.importorskip("resource")
    rows = [{**OWN, "id": f"own-{n}", "utterance": f"get mail {n} {'a' * n}"} for n in range(300)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = subprocess.run(
        [sys.executable, str(ROOT / "cli.py"), *words], cwd=tmp_path, capture_output=True,
        text=True, check=False, env={**os.environ, "GENIE_DP_CACHE": ""},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1_500, 1_500)),
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("error[R001]: ")
    assert last.endswith(f"{named}: File too large")
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_weights_for_which_there_is_no_room_are_an_error_of_their_file(tmp_path):
    pytest.importorskip("torch")
    program = (
        "import resource, sys, torch; from pathlib import Path\n"
        "from genie_dp.models.saved import save_tensors\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "try:\n    save_tensors({'a': torch.zeros(1000)}, Path(sys.argv[1]))\n"
        "except OSError as error:\n    print(error.filename, error.strerror)\n"
    )
    file = tmp_path / "model.safetensors"
    done = subprocess.run(
        [sys.executable, "-c", program, str(file)], cwd=ROOT, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    assert done.stdout == f"{file} File too large\n"
