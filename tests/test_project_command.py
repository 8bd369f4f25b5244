"""`genie-dp run` and what commands take from the genie.yaml above them."""

import json
import os
import shutil
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
from genie_dp.importers.skeletons import new_project
from genie_dp.project import Project
from genie_dp.project_file import JOBS, find_project, schema
from genie_dp.resources import data_folder
from genie_dp.run.stage import hold_output
from genie_dp.watch import ProjectWatch

ROOT = Path(__file__).parent.parent
GMAIL = data_folder("thingpedia") / "com.gmail"
PAIRS = "  pairs: {synthesize: {size: 60, seed: 1, max_depth: 2}}\n"
ROWS = "  rows: {augment: {seed: 1, primitive: 1}, of: [pairs, own.jsonl]}\n"
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


# ------------------------------------------------------------------------------------ the command


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_same_bytes(folder):
    size = "size: 30000, seed: 1, max_depth: 3"
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
    """What the reader refuses and so the schema is in tests/data/scenarios/project.txt."""
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
    # Before the launcher nothing is ours: the instant is counted from there on. Jobs in the
    # background of a shell ignore the signal, and so would their children.
    program = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from genie_dp.launch import main; sys.argv = ['genie-dp', 'check']\n"
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
    plenty = "size: 1000, seed: 1, max_depth: 3"
    edit(folder / "genie.yaml", "size: 60, seed: 1, max_depth: 2", plenty)
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
    assert result.stages[0].rows == 1000
    other = folder / "other.jsonl"
    gd.synthesize(folder / "skills", size=1000, seed=1, max_depth=3).save(other)
    assert other.read_bytes() == (folder / "build" / "pairs.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["data", "paraphrase", "auto", "rows.jsonl", "--output", "more.jsonl"], "more.jsonl"),
        (["data", "augment", "rows.jsonl", "--output", "more.jsonl"], ".more.jsonl.work/rows"),
        (["data", "split", "rows.jsonl", "--output", "parts"], "parts"),
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


def test_templates_answer_real_sentences_before_training_if_there_are_any(tmp_path):
    folder = shutil.copytree(
        data_folder("grammars").parent / "examples" / "german", tmp_path / "german"
    )
    assert list(Project(folder)._answers_of_templates()) == []  # nobody wrote any
    with (folder / "genie.yaml").open("a") as file:
        file.write("  result: {evaluate: {rows: eval.tsv}, of: parser}\n")
    (folder / "eval.tsv").write_text(
        "weck mich um halb acht\twecker.stellen(zeit = time:07:30:00)\n"
        "wo ist mein schlüssel\tout_of_scope\n",
        encoding="utf-8",
    )
    assert list(Project(folder)._answers_of_templates()) == [
        "templates alone answer 1 of 2 sentences of eval.tsv:",
        "  weck mich um halb acht: wecker.stellen(zeit = time:07:30:00)",
    ]
