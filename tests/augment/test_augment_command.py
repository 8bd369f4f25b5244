"""`genie-dp augment`: the same bytes for any number of jobs, resuming, mistakes, formats."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.augment.run import BLOCK
from genie_dp.cli.augment import command
from genie_dp.resources import data_folder
from genie_dp.rows import from_json, read_rows, to_json
from genie_dp.run.work import work_folder_of
from tests.augment.augment_rows import ROWS, SKILLS
from tests.synthesis.synthesis_project import LAUNCHER, journal_lines, workers_of

ROOT = LAUNCHER.parent


def copies_of_rows(count: int) -> str:
    rows = (replace(ROWS[n % len(ROWS)], id=f"S{n}") for n in range(count))
    return "".join(to_json(row) + "\n" for row in rows)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """Return rows for three blocks."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_text(copies_of_rows(2 * BLOCK + 60))
    return path


def arguments(*words: object) -> list[str]:
    return ["augment", "--skills", str(SKILLS), *map(str, words)]


def augment(*words: object) -> int:
    return cli.run(arguments(*words))


@pytest.fixture(scope="module")
def whole(pairs, tmp_path_factory) -> Path:
    """Return the output of a run in one process."""
    output = tmp_path_factory.mktemp("whole") / "rows.jsonl"
    assert augment(pairs, "--output", output) == 0
    return output


@pytest.fixture
def few(tmp_path) -> Path:
    path = tmp_path / "few.jsonl"
    path.write_text(copies_of_rows(len(ROWS)))
    return path


def test_every_row_can_be_read_and_knows_its_parent(whole):
    rows = list(read_rows(str(whole)))
    assert len({row.id for row in rows}) == len(rows) > 3000
    assert {row.source for row in rows} == {"augmented"}
    assert len({row.parent for row in rows}) == 2 * BLOCK + 60


def test_the_manifest_says_what_was_made_of_what(whole, pairs):
    manifest = json.loads(Path(f"{whole}.manifest.json").read_text())
    rows = whole.read_text().count("\n")
    assert manifest["command"] == "augment"
    assert manifest["counts"] == {
        "rows": rows, "read": {"synthetic": 2 * BLOCK + 60}, "made": {"synthetic": rows},
        "skipped": 0,
    }  # fmt: skip
    assert manifest["inputs"][0]["file"] == str(pairs)
    assert manifest["config"]["primitive"] == 4
    assert manifest["without_values"] == []


@pytest.mark.slow
def test_any_number_of_jobs_gives_the_same_bytes(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 3, "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    manifests = [json.loads(Path(f"{p}.manifest.json").read_text()) for p in (output, whole)]
    assert manifests[0] == manifests[1]


@pytest.mark.slow
def test_what_is_made_of_a_row_does_not_depend_on_its_file(whole, pairs, tmp_path):
    lines = pairs.read_text().splitlines(keepends=True)
    (tmp_path / "late.jsonl").write_text("".join(lines[700:]))
    (tmp_path / "early.jsonl").write_text("".join(lines[:700]))
    output = tmp_path / "rows.jsonl"
    inputs = tmp_path / "late.jsonl", tmp_path / "early.jsonl"
    assert augment(*inputs, "--output", output) == 0
    assert sorted(output.read_text().splitlines()) == sorted(whole.read_text().splitlines())


# Waits for ever once its first block is in the journal.
STUCK = """
import signal
from genie_dp.cli import main
from genie_dp.augment.run import AugmentedRows

whole = AugmentedRows.add

def add(self, block):
    whole(self, block)
    signal.pause()

AugmentedRows.add = add
main()
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_where_it_was(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    work = work_folder_of(output)
    options = arguments(pairs, "--jobs", 2, "--output", output)
    with subprocess.Popen([sys.executable, "-c", STUCK, *options], cwd=ROOT) as process:
        while not journal_lines(work) and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    assert journal_lines(work) == 1
    assert not output.exists()
    with (work / "rows").open("ab") as rows:
        rows.write(b'{"id": "half a row')
    assert augment(pairs, "--output", output) == 1  # neither --resume nor --overwrite
    assert augment(pairs, "--resume", "--seed", 1, "--output", output) == 1
    assert augment(pairs, "--resume", "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert not work.exists()
    deadline = time.monotonic() + 20
    while workers_of([str(output)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not workers_of([str(output)])


@pytest.mark.slow
def test_a_run_killed_after_its_last_block_is_finished_by_resuming(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--output", output) == 0
    manifest = Path(f"{output}.manifest.json").read_bytes()
    assert augment(pairs, "--resume", "--output", output) == 1  # nothing lies there any more
    assert augment(pairs, "--overwrite", "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert Path(f"{output}.manifest.json").read_bytes() == manifest


def test_a_killed_worker_ends_the_run_and_keeps_the_rows(pairs, tmp_path, monkeypatch, capsys):
    from genie_dp.augment import run

    def deadly(engine, expander, number, rows, *, format):
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(engine, expander, number, rows, format=format)

    real = run.make_block
    monkeypatch.setattr(run, "make_block", deadly)
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 2, "--output", output) == 1
    assert "Y012" in capsys.readouterr().err
    assert journal_lines(work_folder_of(output)) == 1
    assert not output.exists()


# ----------------------------------------------------------------------------- formats


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rows.tsv", "rows.parquet", "rows.jsonl.gz"])
def test_formats_hold_the_same_rows(few, tmp_path, name):
    plain, other = tmp_path / "rows.jsonl", tmp_path / name
    assert augment(few, "--output", plain) == 0
    assert augment(few, "--output", other) == 0
    rows = [(row.id, row.utterance, row.program) for row in read_rows(str(other))]
    assert rows == [(row.id, row.utterance, row.program) for row in read_rows(str(plain))]


@pytest.mark.slow
def test_rows_can_be_read_from_every_format(few, tmp_path):
    rows = list(read_rows(str(few)))
    tsv = tmp_path / "few.tsv"
    tsv.write_text("".join(f"{r.id}\t{r.utterance}\t{r.program}\n" for r in rows))
    packed = tmp_path / "few.jsonl.gz"
    packed.write_bytes(gzip.compress(few.read_bytes()))
    parquet = tmp_path / "few.parquet"
    with parquet.open("wb") as out:
        from genie_dp.rows import write_parquet

        write_parquet(iter(rows), out)
    made = []
    for source in (few, packed, parquet):
        output = tmp_path / "out.jsonl"
        assert augment(source, "--overwrite", "--output", output) == 0
        made.append(output.read_bytes())
    assert made[0] == made[1] == made[2]
    assert augment(tsv, "--overwrite", "--output", output) == 0
    from_tsv = list(read_rows(str(output)))
    assert len({row.parent for row in from_tsv}) == len(rows)
    assert any(row.slots == {} and '"' in row.program for row in from_tsv)


def test_rows_go_to_standard_output_by_default(few, tmp_path, capsys):
    output = tmp_path / "rows.jsonl"
    assert augment(few, "--output", output) == 0
    capsys.readouterr()
    assert augment(few) == 0
    said = capsys.readouterr()
    assert said.out == output.read_text()
    assert "rows -> stdout" in said.err


def test_the_last_line_says_what_was_made(few, tmp_path, capsys):
    paraphrase = replace(ROWS[0], id="P0", source="paraphrase")
    other = tmp_path / "paraphrases.jsonl"
    other.write_text(to_json(paraphrase) + "\n")
    output = tmp_path / "rows.jsonl"
    assert augment(few, other, "--output", output) == 0
    counts = json.loads(Path(f"{output}.manifest.json").read_text())["counts"]["made"]
    said = capsys.readouterr().err
    assert f"{counts['paraphrase'] + counts['synthetic']:,} rows -> {output}" in said
    assert f"1 paraphrase -> {counts['paraphrase']}" in said
    assert counts["paraphrase"] > 15


def test_preview_shows_rows_and_what_is_made_of_them(few, capsys):
    assert augment(few, "--preview", 2, "--no-noise", "--quoted", 0) == 0
    said = capsys.readouterr().out
    assert "S0  " in said
    assert "S1  " in said
    assert "S2  " not in said
    assert "  show me emails with the subject" in said


def test_no_noise_leaves_sentences_as_they_are(few, tmp_path):
    output = tmp_path / "rows.jsonl"
    options = ("--no-noise", "--quoted", 1, "--reword", 0)
    assert augment(few, *options, "--output", output) == 0
    copies = list(read_rows(str(output)))
    assert [(c.utterance, c.program) for c in copies] == [(r.utterance, r.program) for r in ROWS]


# ---------------------------------------------------------------------------- mistakes


def test_rows_of_several_runs_get_ids_of_their_own_and_it_is_told(few, tmp_path, capsys):
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join([to_json(replace(ROWS[0], id="X")), to_json(ROWS[3]), ""]))
    together = tmp_path / "together.jsonl"
    together.write_text(few.read_text() + other.read_text())
    made = []
    for name, options in (("apart", (few, other)), ("one", (together, "--jobs", 2))):
        output = tmp_path / f"{name}.jsonl"
        assert augment(*options, "--seed", 1, "--output", output) == 0
        said = capsys.readouterr().err
        assert "1 rows of" in said
        assert f"is called {ROWS[3].id}.2" in said
        made.append(output.read_text())
    assert made[0] == made[1]
    rows = [from_json(line, file="", number=1) for line in made[0].splitlines()]
    assert len({row.id for row in rows}) == len(rows)
    assert {row.parent for row in rows} == {row.id for row in ROWS} | {"X", f"{ROWS[3].id}.2"}
    manifest = json.loads((tmp_path / "one.jsonl.manifest.json").read_text())
    assert manifest["inputs"][0]["renamed"] == 1


def test_no_rows_are_a_mistake(tmp_path, capsys):
    empty = tmp_path / "empty.jsonl"
    empty.write_text("")
    assert augment(empty) == 1
    assert "error[A101]: no rows in" in capsys.readouterr().err


def test_a_line_that_is_no_row_has_its_place(tmp_path, capsys):
    broken = tmp_path / "broken.jsonl"
    broken.write_text(to_json(ROWS[0]) + "\nnonsense\n")
    assert augment(broken) == 1
    assert f"{broken}:2:1: error[R010]" in capsys.readouterr().err


def test_a_line_that_is_no_text_is_shown_with_its_byte_and_what_to_do(tmp_path, capsys):
    name = tmp_path / "utf16.jsonl"
    name.write_bytes(to_json(ROWS[0]).encode("utf-16"))
    assert augment(name) == 1
    said = capsys.readouterr().err
    assert f"{name}:1:1: error[R003]: expected UTF-8 text, got byte 0xFF" in said
    assert "hint: save the file as UTF-8" in said


def test_a_line_that_is_no_row_behind_its_id_has_its_place(tmp_path, capsys):
    broken = tmp_path / "broken.jsonl"
    broken.write_text(to_json(ROWS[0]) + '\n{"id":"S1","utterance":"a"}\n')
    assert augment(broken) == 1
    assert f"{broken}:2:1: error[R011]" in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong",
    ['"id":1', '"id":"a","utterance":null', '"id":"a","weight":null', '"id":"a","depth":"x"'],
)
def test_a_row_with_something_else_than_text_has_its_place(tmp_path, capsys, wrong):
    broken = tmp_path / "broken.jsonl"
    fields = {"utterance": "show my mail", "program": "now => @a.b => notify"}
    given = json.loads(f"{{{wrong}}}")
    broken.write_text(to_json(ROWS[0]) + "\n" + json.dumps({**fields, **given}) + "\n")
    assert augment(broken) == 1
    assert f"{broken}:2:1: error[R011]" in capsys.readouterr().err


def test_of_an_empty_sentence_no_noise_is_made(tmp_path, capsys):
    pairs, output = tmp_path / "pairs.jsonl", tmp_path / "rows.jsonl"
    pairs.write_text(to_json(replace(ROWS[-1], utterance="")) + "\n")
    assert augment(pairs, "--filler", 1, "--output", output) == 1
    assert "pairs.jsonl:1:1: error[A113]" in capsys.readouterr().err
    assert not output.exists()


def test_a_missing_file_is_named(tmp_path, capsys):
    assert augment(tmp_path / "nowhere.jsonl") == 1
    assert "nowhere.jsonl" in capsys.readouterr().err


def test_rows_out_of_step_stop_the_run_or_are_left_out(tmp_path, capsys):
    pairs, output = tmp_path / "pairs.jsonl", tmp_path / "rows.jsonl"
    lost = [replace(ROWS[0], id=f"L{n}", utterance="show me emails") for n in (1, 2)]
    pairs.write_text("".join(to_json(row) + "\n" for row in (lost[0], *ROWS, lost[1])))
    assert augment(pairs, "--output", output) == 1
    said = capsys.readouterr().err
    assert f"{pairs}:1:1: error[A110]: row L1" in said
    assert f"{pairs}:{len(ROWS) + 2}:1: error[A110]: row L2" in said
    assert not output.exists()
    assert augment(pairs, "--on-error", "skip", "--overwrite", "--output", output) == 0
    said = capsys.readouterr().err
    assert "2 rows left out:" in said
    assert "L2" in said
    assert json.loads(Path(f"{output}.manifest.json").read_text())["counts"]["skipped"] == 2
    parents = {from_json(line).parent for line in output.read_text().splitlines()}
    assert parents == {row.id for row in ROWS}


def test_rows_of_another_language_are_a_mistake(few, capsys):
    assert cli.run(["augment", "--language", "sexpr", str(few)]) == 1
    assert "error[A112]: row S0 is in thingtalk, not in sexpr" in capsys.readouterr().err


def test_an_output_that_exists_stays(few, tmp_path, capsys):
    output = tmp_path / "rows.jsonl"
    output.write_text("mine")
    assert augment(few, "--output", output) == 1
    assert "Y022" in capsys.readouterr().err
    assert output.read_text() == "mine"


@pytest.mark.parametrize(
    ("words", "code"), [(("--resume",), "Y024"), (("--format", "parquet"), "Y023")]
)
def test_what_needs_a_file_says_so(few, capsys, words, code):
    assert augment(few, *words) == 1
    assert code in capsys.readouterr().err


def test_wrong_usage_is_told(few, capsys):
    assert augment(few, "--resume", "--overwrite") == 2
    assert augment(few, "--typo", 2) == 2
    assert "--typo" in capsys.readouterr().err


def test_a_lexicon_of_ones_own_is_used(few, tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("word\tpart of speech\treplacement\tsource\nemail\tn\tmessage\tmine\n")
    output = tmp_path / "rows.jsonl"
    options = ("--lexicon", words, "--reword-synthetic", 1, "--no-noise", "--quoted", 1)
    assert augment(few, *options, "--output", output) == 0
    said = [row.utterance for row in read_rows(str(output))]
    assert said[0] == "show me messages with the subject QUOTED_STRING_0 , please"


def test_a_lexicon_that_is_not_there_is_named(few, capsys):
    assert augment(few, "--lexicon", "shiped") == 1
    assert "shiped" in capsys.readouterr().err


def test_lists_of_ones_own_are_used_and_count_for_resuming(few, tmp_path, capsys):
    (tmp_path / "people.txt").write_text("zoe\nyan\n")
    own = tmp_path / "values.tsv"
    own.write_text("tt:username\tpeople.txt\n")
    output = tmp_path / "rows.jsonl"
    options = ("--values", own, "--quoted", 0, "--no-noise")
    assert augment(few, *options, "--output", output) == 0
    rows = list(read_rows(str(output)))
    named = [row.program for row in rows if "^^tt:username" in row.program]
    assert named
    assert all('" zoe "' in program or '" yan "' in program for program in named)
    manifest = json.loads(Path(f"{output}.manifest.json").read_text())
    assert len(manifest["values"]["own"]["lists"]) == 1
    own.write_text("tt:username\tnowhere.txt\n")
    assert augment(few, *options, "--overwrite", "--output", output) == 1
    assert "nowhere.txt" in capsys.readouterr().err


def test_lists_of_skills_are_joined_with_shipped_ones_unless_told(capsys):
    skill, sizes = data_folder("thingpedia") / "com.spotify", []
    for options in ((), ("--no-widen",)):
        assert cli.run(["augment", "--skills", str(skill), "--list-values", *options]) == 0
        rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()[1:]]
        sizes.append({row[0]: int(row[-1]) for row in rows if row[-1] != "-"})
    assert sizes[0].keys() == sizes[1].keys()
    assert any(sizes[0][name] > sizes[1][name] for name in sizes[0])
    assert all(sizes[0][name] >= sizes[1][name] for name in sizes[0])


def test_the_lists_of_parameters_are_shown(capsys):
    assert augment("--list-values") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("parameter\ttype\t")
    assert any(line.startswith("@com.example.mail.inbox:subject\tString\t") for line in lines)


def test_every_code_of_augment_is_explained():
    root = Path(cli.__file__).parent.parent
    files = [*root.glob("augment/[ber]*.py"), root / "cli" / "augment.py"]
    raised = {code for f in files for code in re.findall(r'"(A\d{3})"', f.read_text())}
    page = (root.parent / "docs" / "augment.md").read_text(encoding="utf-8")
    assert raised == set(re.findall(r"^\| (A\d{3}) \|", page, re.MULTILINE))
    assert len(raised) == 6


@pytest.mark.slow
def test_a_template_that_says_little_gets_more_rows_where_that_is_asked(tmp_path):
    rows = [replace(ROWS[0], id=f"S{n}", derivation=("often",)) for n in range(30)]
    rows += [replace(ROWS[1], id="rare", derivation=("rare", "often")),
             replace(ROWS[2], id="bare", derivation=())]  # fmt: skip
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(to_json(row) + "\n" for row in rows))
    made = {}
    for least in (0, 20, 1000):
        output = tmp_path / f"{least}.jsonl"
        assert augment(path, "--primitive", 4, "--least", least, "--output", output) == 0
        made[least] = Counter(row.parent for row in read_rows(str(output)))
    assert made[0]["rare"] == made[0]["bare"] == 4
    assert (made[20]["rare"], made[20]["S0"], made[20]["bare"]) == (20, 4, 4)
    assert (made[1000]["rare"], made[1000]["bare"]) == (30, 4)
    assert made[1000]["S0"] == 30
    again = tmp_path / "again.jsonl"
    words = (path, "--primitive", 4, "--least", 20, "--jobs", 2, "--output", again)
    assert augment(*words) == 0
    assert again.read_bytes() == (tmp_path / "20.jsonl").read_bytes()


def test_the_page_names_every_option():
    page = (Path(cli.__file__).parent.parent.parent / "docs" / "augment.md").read_text()
    options = {name for p in command.params for name in p.opts if name.startswith("--")}
    assert len(options) > 25
    assert not [name for name in options if f"`{name}" not in page]
