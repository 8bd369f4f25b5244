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
from genie_dp.augment import run as stage
from genie_dp.cli.augment import command
from genie_dp.records import Example, Slot
from genie_dp.resources import data_folder
from genie_dp.rows import from_json, read_rows, to_json, write_parquet
from genie_dp.run.work import work_folder_of
from tests.augment.augment_rows import ROWS, SKILLS
from tests.synthesis.synthesis_project import LAUNCHER, journal_lines, workers_of

ROOT = LAUNCHER.parent


def copies_of_rows(count: int) -> str:
    rows = (replace(ROWS[n % len(ROWS)], id=f"S{n}") for n in range(count))
    return "".join(to_json(row) + "\n" for row in rows)


BLOCK = 64  # as small as the rows of these tests are few


@pytest.fixture(scope="module", autouse=True)
def _small_blocks():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stage, "BLOCK", BLOCK)
        yield


@pytest.fixture(scope="module")
def pairs(tmp_path_factory) -> Path:
    """Return rows for three blocks."""
    path = tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_text(copies_of_rows(2 * BLOCK + 6))
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


def manifest_of(output) -> dict:
    return json.loads(Path(f"{output}.manifest.json").read_text())


@pytest.fixture
def few(tmp_path) -> Path:
    path = tmp_path / "few.jsonl"
    path.write_text(copies_of_rows(len(ROWS)))
    return path


def test_every_row_knows_its_parent_and_the_manifest_what_was_made_of_what(whole, pairs):
    rows = list(read_rows(str(whole)))
    assert len({row.id for row in rows}) == len(rows) > 400
    assert {row.source for row in rows} == {"augmented"}
    assert len({row.parent for row in rows}) == 2 * BLOCK + 6
    manifest = manifest_of(whole)
    assert manifest["command"] == "augment"
    read, made = {"synthetic": 2 * BLOCK + 6}, {"synthetic": len(rows)}
    assert manifest["counts"] == {"rows": len(rows), "read": read, "made": made, "skipped": 0}
    assert manifest["inputs"][0]["file"] == str(pairs)
    assert manifest["config"]["primitive"] == 4
    assert manifest["without_values"] == []


@pytest.mark.slow
def test_neither_jobs_nor_files_change_what_is_made_of_a_row(whole, pairs, tmp_path):
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 3, "--output", output) == 0
    assert output.read_bytes() == whole.read_bytes()
    assert manifest_of(output) == manifest_of(whole)
    lines = pairs.read_text().splitlines(keepends=True)
    inputs = tmp_path / "late.jsonl", tmp_path / "early.jsonl"
    for path, part in zip(inputs, (lines[90:], lines[:90]), strict=True):
        path.write_text("".join(part))
    assert augment(*inputs, "--output", output, "--overwrite") == 0
    assert sorted(output.read_text().splitlines()) == sorted(whole.read_text().splitlines())


# Waits for ever once its first block is in the journal.
STUCK = f"""
import signal
from genie_dp.augment import run
from genie_dp.augment.run import AugmentedRows
from genie_dp.cli import main

run.BLOCK = {BLOCK}
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
    while workers_of([str(output)]):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert augment(pairs, "--resume", "--output", output) == 1  # nothing lies there any more


@pytest.mark.slow
def test_a_killed_worker_ends_the_run_and_keeps_the_rows(pairs, tmp_path, monkeypatch, capsys):
    def deadly(engine, expander, number, rows, *, format):
        if number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(engine, expander, number, rows, format=format)

    real = stage.make_block
    monkeypatch.setattr(stage, "make_block", deadly)
    output = tmp_path / "rows.jsonl"
    assert augment(pairs, "--jobs", 2, "--output", output) == 1
    assert "Y012" in capsys.readouterr().err
    assert journal_lines(work_folder_of(output)) == 1
    assert not output.exists()


# ----------------------------------------------------------------------------- formats


def test_every_format_holds_the_same_rows_and_is_read(few, tmp_path, capsys):
    def made(source, name):
        output = tmp_path / name
        assert augment(source, "--overwrite", "--output", output) == 0
        return [(row.id, row.utterance, row.program) for row in read_rows(str(output))]

    rows = list(read_rows(str(few)))
    plain = made(few, "rows.jsonl")
    for name in ("rows.tsv", "rows.parquet", "rows.jsonl.gz"):
        assert made(few, name) == plain
    packed, parquet, tsv = (tmp_path / f"few.{end}" for end in ("jsonl.gz", "parquet", "tsv"))
    packed.write_bytes(gzip.compress(few.read_bytes()))
    with parquet.open("wb") as out:
        write_parquet(iter(rows), out)
    for source in (packed, parquet):
        assert made(source, "out.jsonl") == plain
    tsv.write_text("".join(f"{r.id}\t{r.utterance}\t{r.program}\n" for r in rows))
    made(tsv, "out.jsonl")
    from_tsv = list(read_rows(str(tmp_path / "out.jsonl")))
    assert len({row.parent for row in from_tsv}) == len(rows)
    assert any(row.slots == {} and '"' in row.program for row in from_tsv)
    capsys.readouterr()
    assert augment(few) == 0
    said = capsys.readouterr()
    assert said.out == (tmp_path / "rows.jsonl").read_text()
    assert "rows -> stdout" in said.err


def test_the_last_line_says_what_was_made(few, tmp_path, capsys):
    other, output = tmp_path / "paraphrases.jsonl", tmp_path / "rows.jsonl"
    other.write_text(to_json(replace(ROWS[0], id="P0", source="paraphrase")) + "\n")
    assert augment(few, other, "--output", output) == 0
    counts = manifest_of(output)["counts"]["made"]
    said = capsys.readouterr().err
    assert f"{counts['paraphrase'] + counts['synthetic']:,} rows -> {output}" in said
    assert f"1 paraphrase -> {counts['paraphrase']}" in said
    assert counts["paraphrase"] > 15


def test_preview_shows_rows_and_what_is_made_of_them(few, capsys):
    assert augment(few, "--preview", 2, "--no-noise", "--quoted", 0) == 0
    said = capsys.readouterr().out
    assert [f"S{n}  " in said for n in range(3)] == [True, True, False]
    assert "  show me emails with the subject" in said


def test_no_noise_leaves_sentences_as_they_are(few, tmp_path):
    output = tmp_path / "rows.jsonl"
    options = ("--no-noise", "--quoted", 1, "--reword", 0)
    assert augment(few, *options, "--output", output) == 0
    copies = list(read_rows(str(output)))
    assert [(c.utterance, c.program) for c in copies] == [(r.utterance, r.program) for r in ROWS]


# ---------------------------------------------------------------------------- mistakes


def test_rows_of_several_runs_get_ids_of_their_own_and_it_is_told(few, tmp_path, capsys):
    other, together = tmp_path / "other.jsonl", tmp_path / "together.jsonl"
    other.write_text("\n".join([to_json(replace(ROWS[0], id="X")), to_json(ROWS[3]), ""]))
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
    assert manifest_of(tmp_path / "one.jsonl")["inputs"][0]["renamed"] == 1


GOOD = to_json(ROWS[0]) + "\n"
NO_SENTENCE = to_json(replace(ROWS[-1], utterance="")) + "\n"
ROW = '{"utterance": "show my mail", "program": "now => @a.b => notify", '


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        ("", (), "error[A101]: no rows in"),
        (f"{GOOD}nonsense\n", (), "few.jsonl:2:1: error[R010]"),
        (GOOD.encode("utf-16"), (), "jsonl:1:1: error[R003]: expected UTF-8 text, got byte 0xFF"),
        (GOOD.encode("utf-16"), (), "hint: save the file as UTF-8"),
        (f'{GOOD}{{"id":"S1","utterance":"a"}}\n', (), "few.jsonl:2:1: error[R011]"),
        (f'{GOOD}{ROW}"id": 1}}\n', (), "few.jsonl:2:1: error[R011]"),
        (f'{GOOD}{ROW}"id": "a", "weight": null}}\n', (), "few.jsonl:2:1: error[R011]"),
        (f'{GOOD}{ROW}"id": "a", "depth": "x"}}\n', (), "few.jsonl:2:1: error[R011]"),
        (NO_SENTENCE, ("--filler", 1), "few.jsonl:1:1: error[A113]"),
        (GOOD, ("nowhere.jsonl",), "nowhere.jsonl"),
        (GOOD, ("--language", "sexpr"), "error[A112]: row S0 is in thingtalk, not in sexpr"),
        (GOOD, ("--output", "mine.jsonl"), "error[Y022]"),
        (GOOD, ("--output", "-", "--resume"), "Y024"),
        (GOOD, ("--output", "-", "--format", "parquet"), "Y023"),
        (GOOD, ("--lexicon", "shiped"), "shiped"),
    ],
)  # fmt: skip
def test_mistakes_are_told_and_nothing_is_written(
    few, tmp_path, monkeypatch, capsys, text, options, said
):
    monkeypatch.chdir(tmp_path)
    few.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "mine.jsonl").write_text("mine")
    skills = [] if "sexpr" in options else ["--skills", SKILLS]
    words = ["augment", *skills, few, "--output", "rows.jsonl", *options]
    assert cli.run(list(map(str, words))) == 1
    assert said in capsys.readouterr().err
    assert not (tmp_path / "rows.jsonl").exists()
    assert (tmp_path / "mine.jsonl").read_text() == "mine"


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
    assert manifest_of(output)["counts"]["skipped"] == 2
    parents = {from_json(line).parent for line in output.read_text().splitlines()}
    assert parents == {row.id for row in ROWS}


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


def test_lists_of_ones_own_are_used_and_count_for_resuming(few, tmp_path, capsys):
    own, output = tmp_path / "values.tsv", tmp_path / "rows.jsonl"
    (tmp_path / "people.txt").write_text("zoe\nyan\n")
    own.write_text("tt:username\tpeople.txt\n")
    options = ("--values", own, "--quoted", 0, "--no-noise")
    assert augment(few, *options, "--output", output) == 0
    rows = list(read_rows(str(output)))
    named = [row.program for row in rows if "^^tt:username" in row.program]
    assert named
    assert all('" zoe "' in program or '" yan "' in program for program in named)
    assert len(manifest_of(output)["values"]["own"]["lists"]) == 1
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


def test_the_page_explains_every_code_and_names_every_option():
    root = Path(cli.__file__).parent.parent
    files = [*root.glob("augment/[ber]*.py"), root / "cli" / "augment.py"]
    raised = {code for f in files for code in re.findall(r'"(A\d{3})"', f.read_text())}
    page = (root.parent / "docs" / "augment.md").read_text(encoding="utf-8")
    assert raised == set(re.findall(r"^\| (A\d{3}) \|", page, re.MULTILINE))
    assert len(raised) == 6
    options = {name for p in command.params for name in p.opts if name.startswith("--")}
    assert len(options) > 25
    assert not [name for name in options if f"`{name}" not in page]


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


# --------------------------------------------------------------------- lists of the user's

SONG = "GENERIC_ENTITY_com.spotify:song_0"
PLAY = f"now => @com.spotify.play_song param:song:Entity(com.spotify:song) = {SONG}"


@pytest.fixture
def songs(tmp_path, monkeypatch):
    """A folder with a row that plays a song, and a list of songs."""
    monkeypatch.chdir(tmp_path)
    slots = {SONG: Slot("Entity(com.spotify:song)", "@com.spotify.play_song:song")}
    (tmp_path / "rows.jsonl").write_text(to_json(Example("S0", f"play {SONG}", PLAY, slots=slots)))
    (tmp_path / "songs.txt").write_text('A Song of Mine\nthe "best" of\n12" mix\n')
    (tmp_path / "values.tsv").write_text("com.spotify:song\tsongs.txt\n")
    return tmp_path


def test_rows_get_the_values_of_the_user_that_a_sentence_can_say(songs, capsys):
    words = ["augment", "rows.jsonl", "--values", "values.tsv", "--no-noise", "--quoted", "0"]
    assert cli.run([*words, "--output", "out.jsonl"]) == 0
    told = capsys.readouterr().err
    assert "songs.txt:2:1: warning[A011]: 2 values are left out: 'the \"best\" of', ..." in told
    [row] = read_rows("out.jsonl")
    assert row.utterance == "play a song of mine"
    assert '" a song of mine " ^^com.spotify:song' in row.program
    assert cli.run([*words, "--max-words", "1", "--output", "none.jsonl"]) == 0
    assert "no value fits, so they stay: @com.spotify.play_song:song" in capsys.readouterr().err
    assert manifest_of("none.jsonl")["without_values"] == ["@com.spotify.play_song:song"]
    (songs / "songs.txt").write_text('the "best" of\n')
    assert cli.run([*words, "--output", "other.jsonl"]) == 1
    told = capsys.readouterr().err
    assert "warning[A011]: a value is left out" in told
    assert "values.tsv:1:18: error[A006]: the list songs.txt has no values" in told
    assert not (songs / "other.jsonl").exists()


def test_the_report_names_the_lists(songs, capsys):
    assert cli.run(["augment", "--list-values", "--values", "values.tsv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "parameter\ttype\tchosen by\tlist\tvalues"
    assert len(lines) > 400
    [found] = [line for line in lines if line.startswith("@com.spotify.play_song:song\t")]
    assert found.split("\t")[2:] == ["entity", "songs.txt", "1"]
    assert cli.run(["augment"]) == 2
    assert "INPUT" in capsys.readouterr().err
