"""Runs of parsers: data are made once, finished runs are skipped, parts share no family."""

import json
from dataclasses import replace
from pathlib import Path

import parser_library
import parser_public
import parser_runs
import pytest
from parser_runs import Results, Trial, Work

from genie_dp.evaluate.result import SCHEMA
from genie_dp.records import Example
from genie_dp.rows import read_rows

BUDGET = ("--steps", "2")


def orders():
    things = ("tea", "oil", "figs", "soap", "rice", "milk", "salt", "bread")
    return [
        Example(f"{thing}_{n}", f"{said} {thing}", f"( BUY {thing} )", "sexpr", "human")
        for thing in things
        for n, said in enumerate(("buy", "i need"))
    ]


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path / "work")


@pytest.fixture
def trial(written):
    rows = written("rows.jsonl", orders())
    return Trial("all", (rows,), {"test": rows}, ("--language", "sexpr"))


class Commands:
    """Writes what `genie-dp` would, and remembers the commands."""

    def __init__(self):
        self.made = []
        self.shares = {}

    def __call__(self, command):
        self.made.append(command)
        target = Path(command[command.index("--output") + 1])
        if command[0] == "train":
            target.mkdir(exist_ok=True)
            figures = {"seed": command[command.index("--seed") + 1]}
            (target / "manifest.json").write_text(json.dumps({"figures": figures}))
            return 90.0
        share = self.shares.get(len([c for c in self.made if c[0] == "train"]), 0.5)
        result = {"schema": SCHEMA, "gold": command[1], "rows": 10, "tiers": [], "groups": []}
        target.write_text(json.dumps({**result, "accuracy": {"share": share}}))
        return 1.0


@pytest.fixture
def commands(monkeypatch):
    found = Commands()
    monkeypatch.setattr(parser_runs, "genie", found)
    return found


def test_a_finished_run_is_not_made_again(work, trial, commands):
    Results(work).run([trial], BUDGET, (1, 2))
    assert [command[0] for command in commands.made] == ["train", "evaluate"] * 2
    Results(work).run([trial], BUDGET, (1, 2))
    assert len(commands.made) == 4
    Results(work).run([trial], BUDGET, (1, 2, 3))
    assert len(commands.made) == 6


def test_another_setting_is_another_run(work, trial, written):
    def key(budget=BUDGET, **changes):
        return Results(work).key(replace(trial, **changes), budget, 1)

    other = written("other.jsonl", orders()[:3])
    keys = [key(), key(("--steps", "3")), key(options=("--no-types",)), key(tests={"test": other})]
    written("rows.jsonl", orders()[1:])
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_a_line_that_was_cut_off_is_made_again_without_training(work, trial, commands):
    results = Results(work)
    results.run([trial], BUDGET, (1,))
    text = results.path.read_text()
    results.path.write_text(text[: len(text) // 2])
    assert results.lines() == []
    results.run([trial], BUDGET, (1,))
    assert [command[0] for command in commands.made] == ["train", "evaluate", "evaluate"]
    assert len(results.lines()) == 1


def test_the_table_shows_mean_half_range_and_minutes_over_the_seeds(work, trial, commands):
    commands.shares = {1: 0.5, 2: 0.7}
    results = Results(work)
    results.run([trial], BUDGET, (1, 2))
    assert list(results.table([trial], BUDGET, (1, 2, 3))) == [
        "| | test | rows | runs | CPU minutes |",
        "|---|---|---|---|---|",
        "| all | 60.0 ± 10.0 | 10 | 2 | 1.5 |",
    ]


def test_rows_that_are_chosen_are_written_once(work, written):
    rows = [*orders(), Example("s", "tea", "( BUY tea )", "sexpr", "synthetic")]
    origin = written("all.jsonl", rows)
    found = work.of_source(origin, "synthetic")
    assert [row.id for row in read_rows(str(found))] == ["s"]
    assert work.of_source(origin, "synthetic") == found
    assert work.of_source(origin, "human") != found


@pytest.mark.parametrize("family", [parser_public.sentence_of, parser_public.origin_of])
def test_the_part_to_tune_on_shares_no_family_with_the_rest(written, family):
    numbers = [(n, k) for n in range(200) for k in range(3)]
    many = [Example(f"{n}_{k}", f"buy {n} {k % 2}", f"( BUY {n} )") for n, k in numbers]
    rows = written("many.jsonl", many)
    held, rest = (
        list(parser_public.part_of(rows, family, is_held=is_held)) for is_held in (True, False)
    )
    assert sorted(row.id for row in (*held, *rest)) == sorted(row.id for row in many)
    assert not {family(row) for row in held} & {family(row) for row in rest}
    assert 0 < len(held) < len(rest) / 4


def test_every_ablation_changes_one_thing_of_genie():
    genie = next(c for c in parser_library.CONDITIONS if c.name.startswith("genie:"))
    without = [c for c in parser_library.CONDITIONS if c.name.startswith("genie without")]
    assert len(without) == 5
    for one in without:
        differs = [one.rows != genie.rows, one.augment != genie.augment]
        assert sum([*differs, one.options != genie.options]) == 1


def test_templates_stand_beside_the_manifest_of_their_skill(tmp_path):
    (tmp_path / "com.shop").mkdir()
    skill = "class @com.shop {\n  monitorable list query find(in opt a : String);\n}\n"
    (tmp_path / "com.shop" / "skill.tt").write_text(skill)
    row = {"device": "com.shop", "kind": "query", "params": {"p_a": "String"}}
    told = [
        {**row, "program": "@com.shop.find(a=p_a)", "utterances": ['shops "for" $p_a']},
        {**row, "program": "(@com.shop.find()), a == p_a", "utterances": ["other"]},
        {**row, "kind": "program", "program": "@com.shop.find(a=p_a)", "utterances": ["show"]},
        {**row, "kind": "stream", "program": "monitor (id of @com.shop.find())"},
        {**row, "device": "com.none", "program": "@com.none.f()", "utterances": ["none"]},
    ]
    parser_public.write_templates(iter(told), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["com.shop"]
    text = (tmp_path / "com.shop" / "dataset.tt").read_text()
    assert text.count("utterances") == 3
    assert "program (p_a : String) := now => @com.shop.find(a=p_a) => notify\n" in text
    assert 'query (p_a : String) := @com.shop.find(a=p_a)\n  #_[utterances=["shops \\"' in text
    assert (tmp_path / "com.shop" / "manifest.tt").exists()


def test_pizza_templates_take_the_words_of_the_data_set_where_they_are_said(work, tmp_path):
    catalogs = tmp_path / "catalogs.tsv"
    told = {
        "topping": ("Nutmeg\tNUTMEG", "fig\tFIGS", "figs\tFIGS", "kale\tKALE", "kales\tKALE"),
        "drinkType": ("root beer\tROOT_BEER", "root beers\tROOT_BEER"),
        "style": ("rye crust\tRYE", "with the lot\tALL", "alpine\tALPINE"),
    }
    rows = [line.split("\t") + [slot] for slot, lines in told.items() for line in lines]
    text = "".join(f"list\t{words}\t{slot}\t{symbol}\n" for words, symbol, slot in rows)
    catalogs.write_text(f"catalog\tsurface\tslot\tentity\n{text}")
    folder = parser_public.pizza_templates(work, catalogs)

    def words(name):
        return [line.split("\t")[0] for line in (folder / name).read_text().splitlines()[1:]]

    assert words("toppings.tsv") == ["nutmeg", "figs", "kale"]
    assert words("toppings-before.tsv") == ["nutmeg", "fig", "kale"]
    assert words("toppings-rare.tsv") == ["kales"]
    assert (words("drinks.tsv"), words("drinks-plural.tsv")) == (["root beer"], ["root beers"])
    assert (words("crusts.tsv"), words("everything.tsv")) == (["rye crust"], ["the lot"])
    assert words("styles.tsv") == ["alpine"]
    assert "large\tLARGE" in (folder / "sizes.tsv").read_text()


@pytest.mark.slow
def test_a_parser_and_the_nearest_sentence_are_run_on_invented_rows(work, trial):
    nearest = Trial("nearest", trial.training, trial.tests, is_nearest=True)
    results = Results(work)
    results.run([nearest, trial], (*BUDGET, "--out-of-scope", "0"), (1,))
    found = {line["name"]: line for line in results.lines()}
    assert found["nearest"]["results"]["test"]["accuracy"]["share"] == 1
    assert found["all"]["results"]["test"]["rows"] == len(orders())
    assert found["all"]["figures"]["steps"] == 2
    assert found["all"]["cpu_minutes"] > 0
