"""ThingTalk 2 programs become ours where there is an equal; else the reason is told."""

import json

import pytest
import thingtalk2
from thingtalk2 import ThingTalk2Converter, read_statements, rename_placeholders

from genie_dp.dataset.formats import LeftRow
from genie_dp.languages.thingtalk.from_tokens import from_tokens
from genie_dp.languages.thingtalk.render import render
from genie_dp.skills.load import load_library
from tests.golden import DATA, cases

S = "@com.example.shop"


@pytest.fixture(scope="module")
def skills(tmp_path_factory):
    folder = tmp_path_factory.mktemp("skills") / "com.example.shop"
    folder.mkdir()
    (folder / "skill.tt").write_text((DATA / "thingtalk2" / "skill.tt").read_text())
    return folder


@pytest.fixture(scope="module")
def library(skills):
    return load_library([skills])


def converted(library, program, utterance="x", **options):
    return ThingTalk2Converter(library, **options).row("a", utterance, program, "human")


def left(row):
    return f"left: {row.reason}: {row.detail}"


@pytest.mark.parametrize("case", cases("thingtalk2/programs.txt"), ids=str)
def test_programs_that_have_an_equal_become_it_and_others_say_why_not(case, golden, library):
    rows = [converted(library, program) for program in case.input.splitlines()]
    shown = [
        left(row) if isinstance(row, LeftRow) else render(from_tokens(row.program)) for row in rows
    ]
    golden(case, "\n".join(shown))


@pytest.mark.parametrize("file", ["sentences", "placeholders"])
def test_sentences_get_the_placeholders_of_their_programs(file, golden, library):
    for case in cases(f"thingtalk2/{file}.txt"):
        utterance, program = case.input.splitlines()
        row = converted(library, program, utterance, placeholders=file == "placeholders")
        if isinstance(row, LeftRow):
            golden(case, left(row))
            continue
        slots = [f"{token}: {slot.parameter}" for token, slot in sorted(row.slots.items())]
        golden(case, "\n".join([row.utterance, row.program, *slots]))


def test_every_mention_of_a_value_is_renamed():
    _, changes = read_statements('@a.b.c(x=new Location("rome"), y=new Location("rome"));')
    renamed = rename_placeholders(("rome", "or", "rome"), changes)
    assert renamed == ("LOCATION_0", "or", "LOCATION_0")


def test_what_a_program_may_not_say_is_named():
    with pytest.raises(thingtalk2.NoEqual, match="cannot be read: at '} ;'"):
        read_statements("@a.b.c() } ;")


def test_a_file_is_converted_and_the_others_are_counted_by_reason(
    skills, tmp_path, capsys, monkeypatch
):
    rows = [
        {"id": "a", "utterance": "My orders?", "program": f"{S}.orders();"},
        {"id": "a", "utterance": "all orders", "program": f"{S}.orders();"},
        {"id": "b", "utterance": "best", "program": f"{S}.orders()[1, 2];"},
        {"id": "c", "utterance": "hi", "program": "x", "act": "greet"},
    ]
    file, out = tmp_path / "commands.jsonl", tmp_path / "out.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    monkeypatch.setattr("sys.argv", ["x", "--skills", str(skills), str(file), str(out)])
    thingtalk2.main()
    made = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row["id"], row["utterance"]) for row in made] == [
        ("a", "my orders ?"),
        ("a.2", "all orders"),
    ]
    assert made[0]["program"] == f"now => {S}.orders => notify"
    assert made[0]["source"] == "human"
    told = capsys.readouterr().out
    assert "2 of 4 rows converted" in told
    assert "1  several indices" in told
