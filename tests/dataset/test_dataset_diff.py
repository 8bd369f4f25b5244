"""What differs between data sets: nothing of a set and itself; one lost what the other gained."""

import json
import random
import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.dataset.diff import compare, is_same, side_of, spread
from genie_dp.dataset.diff import run as diff_files
from genie_dp.errors import GenieError
from genie_dp.run.stage import Output
from tests.dataset.dataset_rows import LAMP, MAIL, SHOP, families, row, write

OLD = [
    row("S1", "list orders"),
    row("S2", "list orders"),
    row("S3", "dim it", f"now => {LAMP}"),
    row("S4", "dim it to 5", f"now => {LAMP} param:n:Number = 5"),
    row("S5", "dim it to 6", f"now => {LAMP} param:n:Number = 6", source="human", depth=2),
]
NEW = [
    row("N1", "dim it to 5", f"now => {LAMP} param:level:Number = 5"),
    row("N2", "list orders"),
    row("N3", "dim it", f"now => {LAMP}"),
    row("N4", "mail it", f"now => {MAIL}", source="paraphrase"),
    row("N5", "mail it", f"monitor ( {SHOP} ) => {MAIL}"),
]
WORDS = st.sampled_from(["a", "b", "c d", "c d e"])
PROGRAMS = st.sampled_from([f"now => {SHOP}", f"now => {LAMP}", f"monitor ( {SHOP} ) => {LAMP}"])
SOURCES = st.sampled_from(["synthetic", "human"])
SETS = st.lists(st.tuples(WORDS, PROGRAMS, SOURCES, st.integers(0, 2)), max_size=8)


def made(drawn):
    return [
        row(f"S{n}", words, program, source=source, depth=depth)
        for n, (words, program, source, depth) in enumerate(drawn)
    ]


def compared(folder, old, new, **more):
    sides = [
        side_of(str(write(folder / f"{name}.jsonl", rows)))
        for name, rows in (("old", old), ("new", new))
    ]
    for side in sides:
        side.count(progress=False)
    return compare(*sides, **more)


def swapped(told):
    """Return what is told, with the sides in each other's place."""
    if isinstance(told, list):
        return [swapped(item) for item in told]
    if not isinstance(told, dict):
        return told
    names = {"old": "new", "new": "old", "old_share": "new_share", "new_share": "old_share"}
    return {names.get(name, name): swapped(value) for name, value in told.items()}


def test_rows_sentences_programs_and_functions_are_counted(tmp_path):
    told = compared(tmp_path, OLD, NEW)
    assert told["rows"] == {"old": 5, "new": 5, "same": 2}
    assert told["sentences"] == {"old": 4, "new": 4, "same": 2, "changed": 1}
    assert told["programs"] == {"old": 4, "new": 5, "same": 2}
    assert told["programs_without_values"] == {"old": 3, "new": 5, "same": 2}
    functions = {item["name"]: (item["old"], item["new"]) for item in told["functions"]}
    assert functions == {MAIL: (0, 2), LAMP: (3, 2), SHOP: (2, 2)}
    assert [item["name"] for item in told["functions"]] == [MAIL, LAMP, SHOP]
    assert told["functions"][1]["old_share"] == pytest.approx(0.6)
    assert {item["name"]: (item["old"], item["new"]) for item in told["sources"]} == {
        "synthetic": (4, 4), "human": (1, 0), "paraphrase": (0, 1),
    }  # fmt: skip
    assert [(i["name"], i["old"], i["new"]) for i in told["depth"]] == [
        ("0", 4, 5), ("1", 0, 0), ("2", 1, 0),
    ]  # fmt: skip


def changed(utterance, old, new):
    sides = ([f"now => {program}" for program in side] for side in (old, new))
    return {"utterance": utterance} | dict(zip(("old", "new"), sides, strict=True))


def test_what_changed_or_only_one_side_has_is_shown(tmp_path):
    told = compared(tmp_path, OLD, NEW, shown=0)
    one, other = (f"{LAMP} param:{name}:Number = 5" for name in ("n", "level"))
    assert told["changed"] == [changed("dim it to 5", [one], [other])]
    assert told["only_sentences"] == told["only_programs"] == {"old": [], "new": []}
    told = compared(tmp_path, OLD, NEW)
    assert [one["utterance"] for one in told["only_sentences"]["old"]] == ["dim it to 6"]
    assert [one["utterance"] for one in told["only_sentences"]["new"]] == ["mail it", "mail it"]
    lost = [{"program": f"now => {LAMP} param:n:Number = _", "rows": 2}]
    assert told["only_programs"]["old"] == lost
    assert len(told["only_programs"]["new"]) == 3


def test_a_program_changed_if_any_of_a_sentence_did(tmp_path):
    one, other, third = (row(id, "a", f"now => @c.{id}") for id in "xyz")
    told = compared(tmp_path, [one, other], [other, third])
    assert told["changed"] == [changed("a", ["@c.x", "@c.y"], ["@c.y", "@c.z"])]
    assert told["rows"]["same"] == 1


@given(drawn=SETS)
def test_a_set_differs_from_itself_in_nothing(tmp_path_factory, drawn):
    rows = made(drawn)
    told = compared(tmp_path_factory.mktemp("same"), rows, rows[::-1])
    assert is_same(told)
    assert told["changed"] == []
    assert told["rows"]["same"] == len(rows)
    assert told["only_sentences"] == told["only_programs"] == {"old": [], "new": []}
    assert all(spread(told[name]) == 0 for name in ("functions", "sources", "depth", "length"))


@given(old=SETS, new=SETS)
def test_each_side_lost_what_the_other_gained(tmp_path_factory, old, new):
    folder = tmp_path_factory.mktemp("swap")
    told = compared(folder, made(old), made(new))
    assert compared(folder, made(new), made(old)) == swapped(told)
    assert told["rows"]["same"] == sum(
        min(pairs.count(pair), others.count(pair))
        for pairs, others in [([d[:2] for d in old], [d[:2] for d in new])]
        for pair in set(pairs)
    )


@given(old=SETS, new=SETS, seed=st.integers(0, 9))
def test_neither_order_nor_ids_count(tmp_path_factory, old, new, seed):
    folder = tmp_path_factory.mktemp("order")
    told = compared(folder, made(old), made(new), shown=2)
    others = [replace(one, id=f"X{one.id}") for one in made(new)]
    random.Random(seed).shuffle(others)
    assert compared(folder, made(old)[::-1], others, shown=2) == told


def test_spread_is_the_share_of_rows_that_would_have_to_move():
    assert spread([]) == 0
    assert spread([{"old": 5, "new": 0}, {"old": 0, "new": 2}]) == 1
    assert spread([{"old": 1, "new": 10}, {"old": 1, "new": 30}]) == pytest.approx(0.25)


def test_the_command_says_it_as_a_table_as_json_and_as_a_page(tmp_path, capsys):
    old, new = write(tmp_path / "a.jsonl", OLD), write(tmp_path / "b.jsonl", NEW)
    page = tmp_path / "page.html"
    assert run(["diff", str(old), str(new), "--html", str(page), "--title", "<i>A"]) == 0
    said = capsys.readouterr()
    lines = [line.split() for line in said.out.splitlines()]
    assert ["rows", "5", "5", "2", "3", "3"] in lines
    assert ["sentences", "4", "4", "2", "1", "1"] in lines
    assert ["functions", "2", "3", "2", "0", "1"] in lines
    assert f"    - now => {LAMP} param:n:Number = 5" in said.out
    assert f"    + now => {LAMP} param:level:Number = 5" in said.out
    assert "3 rows lost, 3 gained, 1 sentences with another program" in said.err
    text = page.read_text()
    assert "&lt;i&gt;A" in text
    assert "<i>A" not in text
    assert "<mark>" in text
    assert not re.search(r"(src|href)=\"(?!#)", text)
    assert "<script" not in text
    out = tmp_path / "diff.json"
    assert run(["diff", str(old), str(new), "--output", str(out), "--show", "0"]) == 0
    told = json.loads(out.read_text())
    assert told["inputs"]["old"][0]["rows"] == 5
    assert len(told["changed"]) == told["sentences"]["changed"] == 1
    capsys.readouterr()
    assert run(["diff", str(old), str(new), "--format", "json", "--show", "0"]) == 0
    assert json.loads(capsys.readouterr().out) == told


def test_only_as_many_are_shown_as_are_asked_for(tmp_path, capsys):
    old = [row(f"S{n}", f"do {n}", f"now => @c.f{n}") for n in range(9)]
    new = [row(f"S{n}", f"do {n}", f"now => @c.g{n}") for n in range(9)]
    files = [str(write(tmp_path / f"{n}.jsonl", rows)) for n, rows in enumerate((old, new))]
    page, out = tmp_path / "page.html", tmp_path / "diff.json"
    assert run(["diff", *files, "--show", "4", "--html", str(page)]) == 0
    assert "sentences with another program (9, 4 of them):" in capsys.readouterr().out
    assert page.read_text().count('<article class="changed">') == 4
    assert run(["diff", *files, "--show", "4", "-o", str(out)]) == 0
    told = json.loads(out.read_text())
    assert len(told["changed"]) == 9
    assert len(told["only_programs"]["old"]) == 4


def test_the_exit_code_tells_a_difference_where_that_is_asked_for(tmp_path, capsys):
    old, new = write(tmp_path / "a.jsonl", OLD), write(tmp_path / "b.jsonl", NEW)
    third = write(tmp_path / "c.jsonl", [replace(one, source="human") for one in OLD])
    assert run(["diff", str(old), str(old), "--exit-code"]) == 0
    assert "no difference in 5 rows" in capsys.readouterr().err
    assert run(["diff", str(old), str(new)]) == 0
    assert run(["diff", str(old), str(new), "--exit-code"]) == 1
    assert run(["diff", str(old), str(third), "--exit-code"]) == 1


def test_folders_and_other_formats_are_compared(tmp_path):
    source = write(tmp_path / "a.jsonl", families(40))
    assert run(["split", str(source), "-o", str(tmp_path / "parts")]) == 0
    for name in ("b.parquet", "c.conll", "d.yml", "hub"):
        assert run(["convert", str(source), str(tmp_path / name)]) == 0
    for name in ("parts", "b.parquet", "c.conll", "d.yml", "hub"):
        result = diff_files(str(source), str(tmp_path / name), Output(str(tmp_path / "x.json")))
        assert result.is_same, name
        assert len(repr(result)) < 200
    assert run(["convert", str(source), str(tmp_path / "e.tsv")]) == 0
    result = diff_files(str(source), str(tmp_path / "e.tsv"), Output(str(tmp_path / "x.json")))
    rows = result.told["rows"]
    assert rows["same"] == rows["old"] == rows["new"]
    assert not result.is_same  # TSV tells no source


@pytest.mark.parametrize("name", ["new.conll", "new.yml", "new.parquet", "hub"])
def test_what_differs_is_told_of_any_format(tmp_path, name):
    old, new = write(tmp_path / "old.jsonl", OLD), write(tmp_path / "new.jsonl", NEW)
    assert run(["convert", str(new), str(tmp_path / name)]) == 0
    files = (str(new), str(tmp_path / name))
    plain, other = (diff_files(str(old), file, Output(str(tmp_path / "x.json"))) for file in files)
    for key in ("rows", "changed", "functions", "only_sentences", "only_programs"):
        assert other.told[key] == plain.told[key]
    assert other.told["changed"]


@pytest.mark.parametrize(
    ("name", "code"),
    [("-", "D009"), ("none.jsonl", "D025"), ("a.docx", "D021"), ("empty", "D024")],
)
def test_what_is_no_data_set_is_refused(tmp_path, capsys, name, code):
    source = write(tmp_path / "a.jsonl", OLD)
    (tmp_path / "a.docx").touch()
    (tmp_path / "empty").mkdir()
    other = name if name == "-" else str(tmp_path / name)
    for files in ([str(source), other], [other, str(source)]):
        assert run(["diff", *files, "-o", str(tmp_path / "out.txt")]) == 1
        assert f"error[{code}]" in capsys.readouterr().err
    assert not (tmp_path / "out.txt").exists()


def test_nothing_is_compared_with_nothing_nor_written_to_an_input(tmp_path, capsys):
    empty, full = write(tmp_path / "a.jsonl", []), write(tmp_path / "b.jsonl", OLD)
    for words, code in (([empty, empty], "D008"), ([full, full, "-o", full], "D027")):
        assert run(["diff", *map(str, words)]) == 1
        assert f"error[{code}]" in capsys.readouterr().err
    assert run(["diff", str(empty), str(full), "--html", str(tmp_path / "p.html")]) == 0
    assert "0 rows lost, 5 gained" in capsys.readouterr().err


def test_files_that_change_while_they_are_read_are_told(tmp_path):
    old, new = write(tmp_path / "a.jsonl", OLD), write(tmp_path / "b.jsonl", NEW)
    sides = (side_of(str(old)), side_of(str(new)))
    for side in sides:
        side.count(progress=False)
    write(old, OLD[1:])
    with pytest.raises(GenieError, match="D004"):
        compare(*sides)
