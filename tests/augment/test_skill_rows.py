"""Sentences that people wrote for skills, as rows to learn from."""

import json

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.augment.skill_rows import skill_paraphrases
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.languages.types import is_slot
from genie_dp.resources import data_folder

THINGTALK = get_language("thingtalk")
SKILL = """class @com.example.jukebox #_[canonical="jukebox"] {
  entity song #_[canonical="song"];
  action play(in req song : Entity(com.example.jukebox:song) #_[canonical="song"],
              in opt dedication : String #_[canonical="dedication"]) #_[canonical="play a song"];
}
"""
PLAY = "now => @com.example.jukebox.play"
SONG = "^^com.example.jukebox:song"
WRITTEN = (
    ("Put on Blue Moon, would you?", f'{PLAY}(song = "blue moon"{SONG})'),
    ("it's blue moon for ann: I'm late", f'{PLAY}(song = "blue moon"{SONG}, dedication = "ann")'),
    ("play play", f'{PLAY}(song = "play"{SONG})'),
    ("some music", f"{PLAY}()"),
    ("paint the jukebox", OUT_OF_SCOPE),
    (
        "text mum that blue moon is on",
        'now => @com.example.other.text(message = "blue moon is on")',
    ),
)


@pytest.fixture
def skills(tmp_path):
    folder = tmp_path / "skills" / "com.example.jukebox"
    folder.mkdir(parents=True)
    (folder / "skill.tt").write_text(SKILL)
    lines = "".join(f"{sentence}\t{program}\n" for sentence, program in WRITTEN)
    (folder / "paraphrases.tsv").write_text(f"utterance\tprogram\n{lines}")
    return tmp_path / "skills"


def test_a_sentence_comes_as_it_was_written_and_with_placeholders(skills):
    found = list(skill_paraphrases(skills, THINGTALK, gd.load_library(skills)))
    stem = "GENERIC_ENTITY_com.example.jukebox:song_0"
    assert [(row.id.rpartition("jukebox:")[2], row.utterance) for row in found] == [
        ("2", "put on blue moon , would you ?"),
        ("2:open", f"put on {stem} , would you ?"),
        ("3", "it 's blue moon for ann : i 'm late"),
        ("3:open", f"it 's {stem} for QUOTED_STRING_0 : i 'm late"),
        ("4", "play play"),  # which of the two is the song?
        ("5", "some music"),
        ("6", "paint the jukebox"),
    ]  # what calls a skill that is not there is left out
    assert {row.source for row in found} == {"paraphrase"}
    assert found[3].program == (
        "now => @com.example.jukebox.play param:dedication:String = QUOTED_STRING_0 "
        f"param:song:Entity(com.example.jukebox:song) = {stem}"
    )
    assert found[3].parent == found[2].id
    assert found[-1].program == OUT_OF_SCOPE


def test_shipped_sentences_keep_their_meaning_with_placeholders():
    library, folder = gd.load_library(), data_folder("thingpedia") / "com.slack"
    written = {}
    for row in skill_paraphrases(folder, THINGTALK, library):
        written[row.id] = row
        if row.parent in ("", row.id):
            continue
        before, slots = written[row.parent], [x for x in row.utterance.split() if is_slot(x)]
        assert slots
        assert {x for x in row.program.split() if is_slot(x)} == set(slots)
        assert row.functions == before.functions
        kept = [x for x in row.utterance.split() if not is_slot(x)]
        assert len(kept) < len(before.utterance.split())
        assert set(kept) <= set(before.utterance.split())
    assert len(written) > 300


def test_a_folder_is_augmented_beside_rows(skills, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    options = ("--skills", skills, "--no-noise", "--paraphrase-with-text", 2, "--seed", 1)
    assert (
        cli.run(["data", "augment", str(skills), *map(str, options), "--output", "rows.jsonl"]) == 0
    )
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert sum(row["parent"].endswith(":open") for row in rows) == 4
    assert all("GENERIC" not in row["utterance"] for row in rows if "quoted" not in row)
    (again,) = {
        tuple(row.utterance for row in gd.augment(
            str(skills), library=skills, paraphrase_with_text=2, seed=1, filler=0, typo=0,
        ))
        for _ in range(2)
    }  # fmt: skip
    assert len(again) > 7
    (skills / "com.example.jukebox" / "paraphrases.tsv").unlink()
    assert (
        cli.run(["data", "augment", str(skills), *map(str, options), "--output", "other.jsonl"])
        == 1
    )
    assert "N020" in capsys.readouterr().err


def test_mistakes_are_told_with_their_lines(skills):
    file = skills / "com.example.jukebox" / "paraphrases.tsv"
    file.write_text(f"utterance\tprogram\nplay it\t{PLAY}(sing = true)\n")
    with pytest.raises(GenieError) as error:
        list(skill_paraphrases(skills, THINGTALK, gd.load_library(skills)))
    assert [(p.span.line, p.span.file) for p in error.value.problems] == [(2, str(file))]
