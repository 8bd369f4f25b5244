"""Splits are disjoint, complete and independent of order; leaks are found."""

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from genie_dp.cli import run
from genie_dp.dataset.scan import KEYS, program_key
from genie_dp.dataset.traits import CLASSES, TRAITS, class_of, traits_of
from genie_dp.languages.thingtalk.forms import ThingTalkForm
from tests.dataset.dataset_rows import LAMP, SHOP, families, read, row, write


def split(folder, rows, *options, name="rows.jsonl", output="out"):
    """Write rows to a file, split it, and return the exit code and the parts."""
    file = write(folder / name, rows)
    code = run(["data", "split", str(file), "--output", str(folder / output), *map(str, options)])
    return code, parts(folder / output)


def parts(folder):
    return {path.stem: read(path) for path in folder.glob("*.jsonl")}


def manifest(folder):
    return json.loads((folder / "out" / "manifest.json").read_text())


def where(found):
    return {one["id"]: name for name, rows in found.items() for one in rows}


def root(one, by_id):
    while one["parent"]:
        one = by_id[one["parent"]]
    return one["id"]


@pytest.mark.parametrize("by", list(KEYS))
def test_parts_are_complete_and_share_no_key_and_no_family(tmp_path, by):
    rows = families(300)
    code, found = split(tmp_path, rows, "--by", by)
    assert code == 0
    assert sorted(where(found)) == sorted(one.id for one in rows)
    assert sum(map(len, found.values())) == len(rows)
    assert len(found["test"]) > 5
    by_id = {one["id"]: one for some in found.values() for one in some}
    for key in (
        lambda one: root(one, by_id),
        lambda one: KEYS[by](one["utterance"], one["program"], one["functions"]),
    ):
        seen = {}
        for name, some in found.items():
            for one in some:
                assert seen.setdefault(key(one), name) == name


@given(seed=st.integers(0, 10**6), by=st.sampled_from(list(KEYS)))
@settings(max_examples=25)
def test_the_order_of_rows_and_files_is_of_no_account(tmp_path_factory, seed, by):
    tmp_path = tmp_path_factory.mktemp("split")
    rows = families(40)
    _, whole = split(tmp_path, rows, "--by", by)
    random.Random(seed).shuffle(rows)
    cut = seed % len(rows)
    files = [write(tmp_path / "a.jsonl", rows[:cut]), write(tmp_path / "b.jsonl", rows[cut:])]
    assert run(["data", "split", *map(str, files), "--by", by, "-o", str(tmp_path / "again")]) == 0
    assert where(parts(tmp_path / "again")) == where(whole)


def test_the_same_input_gives_the_same_bytes_and_another_seed_another_split(tmp_path):
    rows = families(100)
    first, again, other = (
        split(tmp_path, rows, "--seed", seed, output=name)
        for seed, name in ((1, "a"), (1, "b"), (2, "c"))
    )
    assert first[1] == again[1]
    assert where(first[1]) != where(other[1])
    texts = [(tmp_path / name / "manifest.json").read_bytes() for name in "ab"]
    assert texts[0] == texts[1]


def test_lines_are_copied_as_they_are_however_they_end(tmp_path):
    file = write(tmp_path / "rows.jsonl", families(60))
    assert run(["data", "split", str(file), "-o", str(tmp_path / "out")]) == 0
    lines = [p.read_text().splitlines() for p in (tmp_path / "out").glob("*.jsonl")]
    assert sorted(sum(lines, [])) == sorted(file.read_text().splitlines())
    lines = [f"{one.id}\t{one.utterance}\t{one.program}" for one in families(30)]
    for ending in ("", "\n", "\r\n", "\tanother column\n"):
        for mark in ("", "\ufeff"):
            text = (mark + (ending or "\n").join(lines) + ending).encode()
            (tmp_path / "rows.tsv").write_bytes(text)
            words = [str(tmp_path / "rows.tsv"), "-o", str(tmp_path / "tables"), "--overwrite"]
            assert run(["data", "split", *words]) == 0
            copied = [p.read_bytes().splitlines() for p in (tmp_path / "tables").glob("*.tsv")]
            assert sorted(sum(copied, [])) == sorted(text.splitlines())


def test_more_rows_move_no_old_ones_when_sizes_are_shares(tmp_path):
    rows = families(200)
    some = [one for one in rows if one.source != "augmented" and len(one.id) <= 3]
    _, small = split(tmp_path, some, output="a")
    _, large = split(tmp_path, rows, output="b")
    places = where(large)
    assert len(where(small)) > 90
    assert all(places[name] == place for name, place in where(small).items())


def test_combinations_of_the_test_part_are_never_in_training(tmp_path):
    rows = families(400)
    _, found = split(tmp_path, rows, "--by", "functions")
    combinations = {name: {frozenset(r["functions"]) for r in some} for name, some in found.items()}
    assert not combinations["train"] & combinations["test"]
    assert all(len(one) == 2 for one in combinations["test"])
    assert any(len(one) == 1 for one in combinations["train"])
    half = ["--part", "train", "--part", "test=0.5", "--split-primitives"]
    _, found = split(tmp_path, rows, "--by", "functions", *half, output="primitive")
    assert any(len(r["functions"]) == 1 for r in found["test"])


def test_sizes_may_be_numbers_of_rows_or_percent(tmp_path):
    rows = [row(f"S{i}", f"say {i}") for i in range(1000)]
    _, found = split(tmp_path, rows, "--part", "train", "--part", "dev=100", "--part", "test=50")
    assert {name: len(some) for name, some in found.items()} == {
        "train": 850, "dev": 100, "test": 50,
    }  # fmt: skip
    _, found = split(tmp_path, rows, "--part", "train", "--part", "test=20%", output="percent")
    assert 160 < len(found["test"]) < 240


def test_groups_with_nothing_to_evaluate_on_stay_in_training(tmp_path):
    rows = families(300)
    written = {one.parent for one in rows if one.source == "paraphrase"}
    lonely = {one.id for one in rows if one.source == "synthetic"} - written
    assert lonely
    for size in ("60", "0.2"):
        options = ["--by", "sentence", "--eval-source", "paraphrase", "--part", "train"]
        _, found = split(tmp_path, rows, *options, "--part", f"test={size}", output=size)
        assert 60 <= len(found["test"]) < 65 or size == "0.2"
        assert lonely <= {one["id"] for one in found["train"]}


def test_what_is_there_stays_when_a_new_split_fails(tmp_path, monkeypatch):
    _, before = split(tmp_path, families(30))
    monkeypatch.setattr("genie_dp.dataset.split.write_card", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        split(tmp_path, families(40), "--overwrite")
    assert parts(tmp_path / "out") == before
    assert {path.name for path in tmp_path.iterdir()} == {"rows.jsonl", "out"}


def test_a_repeated_row_with_two_parents_goes_one_way_whatever_the_order(tmp_path):
    rows = [row(f"R{i}", f"root {i}") for i in range(40)]
    twice = [row("C", "child", parent=f"R{i}") for i in range(2)]
    below = [row(f"G{i}", f"grandchild {i}", parent="C") for i in range(20)]
    found = []
    for name, some in (("a", [*rows, *twice, *below]), ("b", [*below, *twice[::-1], *rows[::-1]])):
        code, told = split(tmp_path, some, "--part", "train", "--part", "test=0.5", output=name)
        assert code == 0
        found.append(where(told))
    assert found[0] == found[1]
    assert len({found[0][f"G{i}"] for i in range(20)} | {found[0]["C"]}) == 1


def test_families_of_long_chains_or_with_a_parent_that_is_not_there_stay_together(tmp_path):
    chains = [row(f"P{i}", f"say {i}", parent=f"P{i - 1}" if i % 50 else "") for i in range(500)]
    lost = [row(f"R{i}", f"say {i}", parent=f"gone{i // 50}") for i in range(500)]
    for name, rows in (("chains", chains), ("lost", lost)):
        _, found = split(tmp_path, rows, "--part", "train", "--part", "test=0.5", output=name)
        assert all(len(some) % 50 == 0 and some for some in found.values())


def test_the_manifest_counts_what_the_parts_hold(tmp_path):
    _, found = split(tmp_path, families(200))
    told = manifest(tmp_path)
    for name, some in found.items():
        counts = told["parts"][name]
        assert counts["rows"] == len(some)
        assert sum(counts["classes"].values()) == len(some)
        assert counts["classes"]["primitive"] == sum(len(r["functions"]) == 1 for r in some)
        assert counts["traits"]["monitors"] == sum("monitor (" in r["program"] for r in some)
        assert counts["function_combinations"] == len(
            {tuple(sorted(set(r["functions"]))) for r in some}
        )


# ------------------------------------------------------------------------------ keys and traits


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (f"now => {LAMP} param:n:Number = 5", f"now => {LAMP} param:n:Number = NUMBER_0"),
        (f'now => {LAMP} param:t:String = " a " param:u:String = " b "',
         f'now => {LAMP} param:t:String = QUOTED_STRING_1 param:u:String = " x y "'),
        (f'now => {LAMP} param:t:Entity(tt:contact) = null " ann " ^^tt:contact',
         f'now => {LAMP} param:t:Entity(tt:contact) = " bob b " ^^tt:contact id:bob'),
        (f"now => {LAMP} param:d:Measure(m) = 6 unit:ft 3 unit:in",
         f"now => {LAMP} param:d:Measure(m) = MEASURE_m_0"),
    ],
)  # fmt: skip
def test_programs_that_differ_in_values_only_have_one_key(first, second):
    assert program_key(first) == program_key(second)


def test_words_of_the_language_stay_in_the_key():
    on, off = (f"now => {LAMP} param:p:Enum(on,off) = enum:{x}" for x in ("on", "off"))
    assert program_key(on) != program_key(off)
    filters = [f"now => ( {SHOP} ) filter param:n:Number {op} 3 => notify" for op in "<>"]
    assert len(set(map(program_key, filters))) == 2


@pytest.mark.parametrize(
    ("program", "group", "traits"),
    [
        (f"now => {SHOP} => notify", "primitive", []),
        (f"attimer time = time:8:30:00 => ( {SHOP} ) filter param:n:Number > 3 => notify",
         "primitive + filters", ["filters", "timers"]),
        (f"timer base = now , interval = 1 unit:h => {LAMP} param:n:Number = 3",
         "primitive", ["timers"]),
        (f"monitor ( {SHOP} ) => {LAMP} on param:n:Number = param:m:Number",
         "compound + parameter passing", ["parameter passing", "monitors"]),
        (f"edge ( monitor ( {SHOP} ) ) on param:n:Number > 3 => {LAMP}",
         "compound + filters", ["filters", "monitors"]),
        (f"now => ( {SHOP} ) filter param:n:Number > 3 => {LAMP} on param:n:Number = "
         "param:m:Number",
         "compound + parameter passing + filters", ["filters", "parameter passing"]),
        (f'now => {LAMP} param:t:String = " a filter = param: monitor ( timer "', "primitive", []),
        (f"now => aggregate count of ( {SHOP} ) => notify", "primitive", ["aggregation"]),
    ],
)  # fmt: skip
def test_traits_are_read_off_the_tokens(program, group, traits):
    bits = traits_of(program, ThingTalkForm(program).functions)
    assert CLASSES[class_of(bits)][1] == group
    assert [name for bit, name in TRAITS if bits & bit] == traits
