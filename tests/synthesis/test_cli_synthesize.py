"""What `genie-dp synthesize` promises whoever calls it: bytes, files, messages, exit codes."""

import gzip
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from genie_dp import cli
from tests.golden import cases
from tests.refusals import refusals
from tests.synthesis.synthesis_project import errands, notes


@pytest.fixture(scope="module")
def few(project, tmp_path_factory):
    """Return the bytes of 500 rows."""
    output = tmp_path_factory.mktemp("few") / "pairs.jsonl"
    assert project.run("--size", 500, "--output", output) == 0
    return output.read_bytes()


def test_an_existing_output_is_replaced_only_with_overwrite(project, tmp_path, capsys):
    output = tmp_path / "pairs.jsonl"
    output.write_text("mine")
    assert project.run("--size", 100, "--output", output) == 1
    assert "error[Y022]" in capsys.readouterr().err
    assert output.read_text() == "mine"
    assert project.run("--size", 100, "--output", output, "--overwrite") == 0
    assert len(output.read_text().splitlines()) == 100


def test_all_names_of_nothing_are_told_at_once_with_the_nearest(thingtalk, tmp_path, capsys):
    weights = tmp_path / "weights.yaml"
    weights.write_text("'@com.example.diary.note': 2\n")
    globs = ["--include", "@com.exmple.*", "--exclude", "@com.example.dairy.notes"]
    options = ["--subset", "trainning", "--weights", weights, *globs]
    assert thingtalk.run(*options, "--output", tmp_path / "pairs.jsonl") == 1
    message = capsys.readouterr().err
    assert "error[Y031]: no template speaks of the subset 'trainning'\n" in message
    assert "hint: did you mean 'training'?" in message
    assert "error[Y032]: unknown function '@com.example.diary.note' in --weights" in message
    assert "hint: did you mean '@com.example.diary.notes'" in message
    assert "error[Y033]: no function is named '@com.exmple.*', given to --include" in message
    assert "'@com.example.dairy.notes', given to --exclude" in message


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("", ""),
        ("- 1\n", ""),
        ("a: 1\n@com.example.notes: 1\n", "weights.yaml:2:1: "),
        ("a: [1", "weights.yaml:1:6: "),
        ('"@com.example.notes": -1', ""),
        ('"@com.example.notes": .nan', ""),
        ('"@com.example.notes": yes', ""),
        ("a: \0", ""),
    ],
)
def test_a_weights_file_that_is_no_map_of_numbers_is_a_mistake(
    thingtalk, tmp_path, capsys, text, place
):
    weights = tmp_path / "weights.yaml"
    weights.write_text(text)
    assert thingtalk.run("--weights", weights) == 1
    assert f"{place}error[R022]" in capsys.readouterr().err


def test_what_cannot_be_is_refused_before_any_work(project, golden, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for case in cases("synthesize/refused.txt"):
        golden(case, refusals(case, lambda options: project.run(*options), capsys))
    assert not list(tmp_path.iterdir())
    assert Path("/dev/null").is_char_device()


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("you must specify the user\nand more"), "you must specify the user"),
        (RuntimeError(), "RuntimeError"),
        (ImportError("boto3"), "a library for it is not installed"),
    ],
)
def test_a_url_that_does_not_open_for_writing_is_no_traceback(
    project, tmp_path, monkeypatch, capsys, error, told
):
    def refuse(*given, **options):
        raise error

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("smart_open.open", refuse)
    assert project.run("--size", 10, "--output", "ftp://localhost:1/pairs.jsonl") == 1
    shown = capsys.readouterr().err
    assert f"error[R004]: cannot write ftp://localhost:1/pairs.jsonl: {told}\n" in shown


@pytest.mark.slow
def test_other_hash_seeds_give_the_same_bytes(thingtalk, tmp_path):
    made = []
    for seed in ("1", "2"):
        output, report = tmp_path / f"{seed}.jsonl", tmp_path / seed
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = thingtalk.process("--output", output, "--report", report, env=environment)
        assert done.returncode == 0, done.stderr
        made.append([output.read_bytes(), *(p.read_bytes() for p in sorted(report.iterdir()))])
    assert made[0] == made[1]
    assert len(made[0]) == 3


@pytest.mark.slow
def test_stdout_gets_the_rows_and_nothing_else(project, tmp_path):
    output = tmp_path / "pairs.jsonl"
    assert project.run("--size", 8000, "--output", output) == 0  # three blocks
    done = project.process("--size", 8000, text=False)
    assert done.returncode == 0
    assert done.stdout == output.read_bytes()
    assert b"8,000 pairs -> stdout" in done.stderr


def test_every_form_of_output_has_the_same_rows(project, few, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b", "bucket"):
        Path(folder).mkdir()
    outputs = ["a/pairs.jsonl.gz", "b/pairs.jsonl.gz", f"file://{tmp_path}/bucket/pairs.jsonl.gz"]
    for output in outputs:
        assert project.run("--size", 500, "--output", output) == 0
    one, again, remote = (Path(f, "pairs.jsonl.gz").read_bytes() for f in ("a", "b", "bucket"))
    assert one == again
    assert gzip.decompress(one) == gzip.decompress(remote) == few
    assert Path("bucket/pairs.jsonl.gz.manifest.json").exists()
    assert not list(tmp_path.glob(".*"))
    assert project.run("--size", 500, "--output", "plain.tsv") == 0
    assert project.run("--size", 500, "--output", "reported.tsv", "--report", "report") == 0
    rows = [json.loads(line) for line in few.splitlines()]
    expected = "".join(f"{r['id']}\t{r['utterance']}\t{r['program']}\n" for r in rows)
    assert Path("plain.tsv").read_text() == Path("reported.tsv").read_text() == expected


def test_parquet_has_all_columns(thingtalk, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert thingtalk.run("--output", tmp_path / "pairs.jsonl") == 0
    assert thingtalk.run("--output", tmp_path / "pairs.parquet") == 0
    rows = parquet.read_table(tmp_path / "pairs.parquet").to_pylist()
    expected = [json.loads(line) for line in (tmp_path / "pairs.jsonl").read_text().splitlines()]
    for row in rows:
        row["slots"] = {slot.pop("token"): slot for slot in row["slots"]}
    assert rows == expected


def test_parquet_without_pyarrow_is_refused_before_any_work(project, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert project.run("--output", tmp_path / "pairs.parquet") == 1
    assert "error[R013]: Parquet needs pyarrow" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_manifest_says_what_was_made_of_what(project, tmp_path):
    output = tmp_path / "pairs.jsonl"
    assert project.run("--size", 500, "--seed", 7, "--output", output) == 0
    manifest = json.loads(Path(f"{output}.manifest.json").read_text())
    assert manifest["config"]["seed"] == 7
    assert manifest["shard"] == [0, 1]
    assert len(manifest["inputs"]) == 64
    counts = manifest["counts"]
    assert counts["rows"] == 500
    left_out = counts["rejected"] + counts["raised"] + counts["repeated"] + counts["ambiguous"]
    assert counts["draws"] - left_out >= counts["rows"]


def test_fewer_rows_than_asked_for_are_explained(project, thingtalk, capsys):
    assert thingtalk.run("--size", 100_000) == 0
    assert "note: 100,000 were asked for; the templates give no more" in capsys.readouterr().err
    assert project.run("--size", 8500, "--max-depth", 2) == 0
    assert "a greater --size gives more" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_python_function_that_raises_stops_the_run_or_is_counted(raising, tmp_path, capsys, jobs):
    output = tmp_path / "pairs.jsonl"
    options = ["--size", 9000, "--max-depth", 3, "--jobs", jobs, "--output", output]
    assert raising.run(*options) == 1
    message = capsys.readouterr().err
    assert f"{raising.folder}/main.genie:12:31: error[Y010]: " in message
    assert "the function of template 'check' raised ArithmeticError: seven is too many" in message
    assert "  given: l = ( " in message
    assert "  derivation: check " in message
    assert "--on-error skip" in message
    assert not output.exists()
    assert raising.run(*options, "--on-error", "skip", "--overwrite") == 0
    manifest = json.loads(Path(f"{output}.manifest.json").read_text())
    times = manifest["raised"]["check: ArithmeticError"]
    assert times == manifest["counts"]["raised"] > 0
    message = capsys.readouterr().err
    assert f"{times} derivations left out since a Python function raised:\n" in message
    assert f"main.genie:12:31: check: {times} x ArithmeticError\n" in message
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert not any("( CHECK" in r["program"] and "W7 )" in r["program"] for r in rows)
    assert Counter(r["derivation"][0] for r in rows)["check"] > 1000


def test_text_of_a_python_function_that_is_no_program_is_its_error(tmp_path, capsys):
    broken = "def checked(things):\n    return '(CHECK'\n"
    project = errands(tmp_path / "broken", broken)
    assert project.run("--size", 500, "--output", tmp_path / "pairs.jsonl") == 1
    message = capsys.readouterr().err
    assert "error[Y010]: the function of template 'check' returned no program" in message
    assert project.run("--size", 500, "--on-error", "skip") == 0
    assert " x no program\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("return a", "returned no program: expected program, got action @com."),
        ("return 5", "returned no program: .*got int\n"),
        ("return [a]", "returned no program: .*got list\n"),
        ("raise ValueError('no')", r"given: a = [^\n]*[A-Z]+_[\w.:]*\d[^\n]*\n"),  # as placeholders
    ],
)
def test_what_is_no_program_is_an_error_of_the_function(tmp_path, capsys, body, told):
    project = notes(tmp_path)
    grammar = tmp_path / "grammars" / "en" / "main.genie"
    (grammar.parent / "functions.py").write_text(f"def made(a):\n    {body}\n")
    loud = "COMMAND := 'loudly' a:VP -> python.made(a);\n"
    grammar.write_text('using "functions.py";\n' + grammar.read_text() + loud)
    assert project.run("--size", 100, "--output", tmp_path / "pairs.jsonl") == 1
    message = capsys.readouterr().err
    assert "error[Y010]: " in message
    assert re.search(told, message)
    assert message.replace("\n", "").isprintable()


def test_help_imports_nothing_that_trains():
    program = (
        "import sys; from genie_dp import cli; code = cli.run(['synthesize', '--help']); "
        "heavy = {'torch', 'transformers', 'opacus', 'nltk', 'pyarrow', 'numpy', 'jinja2'}; "
        "sys.exit(code or ', '.join(heavy & set(sys.modules)) or 0)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "--size" in done.stdout


def test_preview_prints_pairs_of_each_template_with_its_place(project, capsys):
    assert project.run("--preview", 2) == 0
    shown = capsys.readouterr().out
    assert "main.genie:9:1  bring\n" in shown
    assert shown.count("( HIDE ") == 2
    assert "(nothing" not in shown.split("  lost\n")[0]


def shape(text: str) -> str:
    """Return a text without its numbers, which change with the templates."""
    return re.sub(r"\d[\d,.]*", "N", text)


@pytest.mark.slow
def test_the_commands_of_the_page_print_what_it_shows(tmp_path, monkeypatch, capsys):
    root = Path(__file__).parents[2]
    shutil.copytree(root / "examples/pizza-order", tmp_path / "examples/pizza-order")
    monkeypatch.chdir(tmp_path)
    page = (root / "docs/synthesis.md").read_text()
    blocks = re.findall(r"^    \$ genie-dp (.*)\n((?:    (?!\$).*\n)*)", page, re.MULTILINE)
    assert len(blocks) == 8
    for command, shown in blocks:
        cli.run(shlex.split(command))
        captured = capsys.readouterr()
        if command.startswith("new "):
            continue
        assert shape(captured.out + captured.err) == shape(textwrap.dedent(shown)), command
