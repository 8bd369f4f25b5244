"""`genie-dp augment` with lists of the user, and its report of which parameter takes which list."""

import json

import pytest

from genie_dp.cli import run

ROW = {
    "id": "S0",
    "utterance": "play GENERIC_ENTITY_com.spotify:song_0",
    "program": "now => @com.spotify.play_song param:song:Entity(com.spotify:song) = "
    "GENERIC_ENTITY_com.spotify:song_0",
    "slots": {
        "GENERIC_ENTITY_com.spotify:song_0": {
            "type": "Entity(com.spotify:song)",
            "parameter": "@com.spotify.play_song:song",
        }
    },
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW) + "\n")
    (tmp_path / "songs.txt").write_text("A Song of Mine\n")
    (tmp_path / "values.tsv").write_text("com.spotify:song\tsongs.txt\n")
    return tmp_path


def said(folder):
    return [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]


def test_rows_get_the_values_of_the_user(folder):
    asked = ["augment", "rows.jsonl", "--values", "values.tsv", "--no-noise", "--quoted", "0"]
    assert run([*asked, "--output", "out.jsonl"]) == 0
    [row] = said(folder)
    assert row["utterance"] == "play a song of mine"
    assert '" a song of mine " ^^com.spotify:song' in row["program"]


def test_mistakes_in_the_lists_come_before_any_row(folder, capsys):
    (folder / "values.tsv").write_text("com.spotify:song\tnone.txt\n")
    assert run(["augment", "rows.jsonl", "--values", "values.tsv", "--output", "out.jsonl"]) == 1
    assert "values.tsv:1:18: error[A004]" in capsys.readouterr().err
    assert not (folder / "out.jsonl").exists()


def test_values_that_no_sentence_can_say_are_told(folder, capsys):
    (folder / "songs.txt").write_text('A Song of Mine\nthe "best" of\n12" mix\n')
    asked = ["augment", "rows.jsonl", "--values", "values.tsv", "--no-noise", "--quoted", "0"]
    assert run([*asked, "--output", "out.jsonl"]) == 0
    told = capsys.readouterr().err
    assert "songs.txt:2:1: warning[A011]: 2 values are left out: 'the \"best\" of', ..." in told
    assert {row["utterance"] for row in said(folder)} == {"play a song of mine"}
    (folder / "songs.txt").write_text('the "best" of\n')
    assert run([*asked, "--output", "out.jsonl", "--overwrite"]) == 1
    told = capsys.readouterr().err
    assert "warning[A011]: a value is left out" in told
    assert "values.tsv:1:18: error[A006]: the list songs.txt has no values" in told


def test_the_report_names_the_lists(folder, capsys):
    assert run(["augment", "--list-values", "--values", "values.tsv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "parameter\ttype\tchosen by\tlist\tvalues"
    assert len(lines) > 400
    [found] = [line for line in lines if line.startswith("@com.spotify.play_song:song\t")]
    assert found.split("\t")[2:] == ["entity", "songs.txt", "1"]


def test_without_inputs_the_command_says_what_is_missing(folder, capsys):
    assert run(["augment"]) == 2
    assert "INPUT" in capsys.readouterr().err
