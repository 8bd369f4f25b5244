"""Runs of private generators: worlds share no row, finished rows of a table are not made again,
and every way to make rows is measured alike.
"""

import json
from dataclasses import replace
from pathlib import Path

import parser_runs
import private
import private_runs
import pytest
from parser_runs import Results, Work
from private_runs import NONE, SMOKE, Bench, Case, Lines, Sizes, World, table_of
from private_worlds import Maker, as_public

from genie_dp.languages.sexpr.canonical import check
from genie_dp.languages.sexpr.declarations import read_declarations
from genie_dp.languages.sexpr.text import parse
from genie_dp.records import Example
from genie_dp.rows import read_rows


def said(number, label="IN:BUY"):
    things = ("tea", "oil", "figs", "soap", "rice")
    return [
        Example(f"{label}{i}", f"{things[i % 5]} number {i}", f"[ {label} [ SL:N {i} ] ]", "sexpr",
                "human", functions=(label, "SL:N"))
        for i in range(number)
    ]  # fmt: skip


@pytest.fixture
def work(tmp_path):
    return Work(tmp_path / "work")


@pytest.fixture
def maker(work, tmp_path):
    return Maker(work, tmp_path, SMOKE)


@pytest.fixture
def world(written):
    rows = written("rows.jsonl", said(6))
    return World("shop", rows, (rows,), rows, rows, (rows,), rows, ("--language", "sexpr"))


class Commands:
    """Writes what `genie-dp` would, and remembers the commands."""

    def __init__(self, rows):
        self.made, self.rows = [], rows

    def __call__(self, command):
        self.made.append(command)
        if "init" in command:
            return 1.0
        target = Path(command[command.index("--output") + 1])
        if "train" in command:
            target.mkdir()
        elif "compare" in command:
            figures = {"mauve": {"value": 0.5}, "top_10": {"value": 0.25}}
            parsed = dict.fromkeys(("graph_match", "precision", "recall"), {"value": 0.5})
            result = {"rows": 2, "synthetic": [{"figures": figures}], "real": {"figures": parsed}}
            target.write_text(json.dumps(result))
        else:
            target.write_bytes(self.rows.read_bytes())
        return 60.0

    def named(self, name):
        return [command for command in self.made if name in command]

    def options(self, name, option):
        """Return what the commands of a name were given for an option, the last one of each."""
        return [words[len(words) - words[::-1].index(option)] for words in self.named(name)]


@pytest.fixture
def commands(monkeypatch, written):
    found = Commands(written("made.jsonl", said(2)))
    monkeypatch.setattr(parser_runs, "genie", found)
    monkeypatch.setattr(private_runs, "genie", found)
    return found


@pytest.fixture
def script(maker, work, tmp_path):
    return private.Script(maker, Bench(work, SMOKE), Lines(Results(work)), (1, 2))


def test_a_finished_row_is_not_made_again(script, world, commands, capsys):
    cases = {"two": Case(world, "two-stage", 3.0, "2/8")}
    script.generated("Table 0", cases)
    first = len(commands.made)
    assert len(commands.named("two-stage")) == len(commands.named("sample")) == 2
    script.generated("Table 0", cases)
    assert len(commands.made) == first
    out = capsys.readouterr().out
    assert out.count("| two | ") == 4
    assert "0.500 ± 0.000" in out


def test_runs_of_several_revisions_are_told(script, world, commands, monkeypatch, capsys):
    cases = {"two": Case(world, "two-stage", 3.0, "2/8")}
    for table in (
        lambda each: each.generated("Table 0", cases),
        lambda each: each.trained("Table 1", {"two": lambda seed: {"all recall": 0.5}}),
    ):
        monkeypatch.setattr(private_runs, "revision", lambda: "abc1234")
        table(replace(script, seeds=(1,)))
        assert "revisions" not in capsys.readouterr().out
        monkeypatch.setattr(private_runs, "revision", lambda: "abc5678+")
        table(script)
        assert "several revisions: abc1234, abc5678+." in capsys.readouterr().out


def test_each_generator_has_a_budget_and_knows_how_many_private_rows_there_are(
    script, maker, world, commands
):
    for epsilon in (3.0, 8.0):
        script.bench.generator(Case(world, "one-stage", epsilon), 1)
    ledgers = commands.options("init", "--ledger")
    assert commands.options("init", "--epsilon") == ["3.0", "8.0"]
    assert len(set(ledgers)) == 2
    assert commands.options("one-stage", "--ledger") == ledgers
    assert commands.options("one-stage", "--estimated-units") == ["6", "6"]
    # Another seed and another world are other generators.
    cases = [(Case(w, "control", 3.0), s) for w in (world, maker.shuffled(world)) for s in (1, 2)]
    assert len({script.bench.generator(*case) for case in cases}) == 4


def test_public_and_private_rows_share_none_and_public_ones_lack_the_function(maker, written):
    rows = written("all.jsonl", [*said(150), *said(50, "IN:ASK")])
    parts = [
        list(read_rows(str(maker.tenth(rows, is_public=public, without="IN:ASK"))))
        for public in (True, False)
    ]
    sentences = [{row.utterance for row in part} for part in parts]
    assert parts[0]
    assert not sentences[0] & sentences[1]
    assert {row.functions[0] for row in parts[0]} == {"IN:BUY"}
    assert {row.functions[0] for row in parts[1]} == {"IN:BUY", "IN:ASK"}


def test_names_of_a_schema_are_few_among_the_rows_that_a_generator_learns(
    maker, written, world, monkeypatch
):
    rows = written("all.jsonl", [*said(150), *said(50, "IN:ASK")])
    others = written("others.jsonl", said(9))
    monkeypatch.setattr(Maker, "_topv2", lambda self, domain, part: others)
    sentences = [row.utterance for row in said(9)]
    word = sentences[0].split()[-1]
    lacking = maker.without(world, rows, "IN:ASK", word)
    heard = {row.utterance for row in read_rows(str(lacking.public[1]))}
    assert heard == {text for text in sentences if word not in text.split()} < set(sentences)
    tenth = list(read_rows(str(maker.tenth(rows, is_public=True, without="IN:ASK"))))
    repeated = list(read_rows(str(lacking.public[0])))
    assert len(repeated) == 10 * len(tenth) > 0
    assert {row.utterance for row in repeated} == {row.utterance for row in tenth}
    assert len({row.id for row in repeated}) == len(repeated)
    assert lacking.public[-1] == world.public[-1]


def test_a_parser_reads_other_rows_back_than_it_may_have_learned(script, world, commands):
    case = Case(world, "two-stage", 3.0, batch=30)
    for parser in (None, world.private):
        script.bench.drawn(case, 1, parser=parser)
    (training,) = commands.named("train")
    assert "30" in training[training.index("--longest") :]
    assert ["--parser" in command for command in commands.named("sample")] == [False, True]
    assert commands.options("sample", "--seed") == ["1", "2"]


def test_shuffled_rows_keep_sentences_and_programs_and_not_their_pairs(maker, written):
    rows = written("all.jsonl", said(40))
    one = maker.shuffled(World("x", rows, (), rows, rows, (), rows, ()))
    before, after = list(read_rows(str(rows))), list(read_rows(str(one.private)))
    assert [row.utterance for row in before] == [row.utterance for row in after]
    assert sorted(row.program for row in before) == sorted(row.program for row in after)
    assert sum(a.program == b.program for a, b in zip(before, after, strict=True)) < 10


def test_the_schema_names_each_label_once_whatever_its_frequency(maker, written):
    one = written("all.jsonl", [*said(2), *said(3, "IN:ASK_TIME")])
    assert len(list(read_rows(str(maker.rows_with(one, "IN:ASK_TIME"))))) == 3
    schema, codes = maker._schema(one, written("held.jsonl", said(1, "IN:WAIT")))
    programs = [row.program for row in read_rows(str(schema))]
    assert programs == ["[ IN:ASK_TIME ]", "[ IN:BUY ]", "[ IN:WAIT ]", "[ SL:N ]"]
    assert codes.read_text().split() == ["IN:ASK_TIME", "IN:BUY", "IN:WAIT"]


def test_the_grammar_says_what_stands_in_what_and_no_more(maker, written):
    nested = Example("x", "wait", "[ IN:WAIT [ SL:FOR [ IN:BUY ] a 5 ] ]", "sexpr", "human")
    files = written("all.jsonl", said(3)), written("held.jsonl", [nested])
    found = maker._grammar(*files).read_text()
    assert found.splitlines() == [
        "node IN:BUY = [SL:N]*;", "node IN:WAIT = [SL:FOR]*;", "node SL:FOR = Atom | [IN:BUY]*;",
        "node SL:N = Atom*;", "program [IN:BUY] | [IN:WAIT];",
    ]  # fmt: skip
    assert maker._grammar(written("again.jsonl", said(30)), files[1]).read_text() == found
    declared = read_declarations(found)
    for path in files:
        assert not [check(parse(row.program), declared) for row in read_rows(str(path))][0]


def test_few_modes_are_of_all_rows_and_have_the_same_annotators(maker, world, written):
    people = written("all.jsonl", [*said(60), *said(50, "IN:ASK")])
    whole = replace(world, annotated=(people,))
    few = maker.few_modes(whole, "IN:ASK")
    assert few.about == 50
    assert {row.functions[0] for row in read_rows(str(few.private))} == {"IN:ASK"}
    assert few.annotated == whole.annotated


def test_people_of_the_templates_say_nothing_held_out_where_anything_learns(
    maker, written, monkeypatch
):
    base, people = said(30), said(SMOKE.private + 20)
    files = {"base": written("base.jsonl", base), "people": written("people.jsonl", people)}
    monkeypatch.setattr(Maker, "synthesized", lambda self, name, *options: files[name])
    world, _, _ = maker.skills_people()
    held_out = {row.utterance for row in read_rows(str(world.real))}
    assert len(held_out) == 20
    assert held_out & {row.utterance for row in base}
    for rows in (*world.annotated, maker.unseen(world, files["base"])):
        assert not held_out & {row.utterance for row in read_rows(str(rows))}
    assert maker.unseen(replace(world, is_templated=False), files["base"]) == files["base"]


def test_every_generator_sees_as_many_rows(script, world, commands):
    for kind, split in (("one-stage", ""), ("two-stage", ""), ("two-stage", "3/1")):
        script.bench.generator(Case(world, kind, 3.0, split), 1)  # 240 rows of 6
    assert commands.options("one-stage", "--epochs") == ["40"]
    assert commands.options("two-stage", "--epochs") == ["8/32", "30/10"]


def test_codes_have_next_to_no_noise_where_nothing_has(script, world, commands):
    for epsilon in (3.0, NONE):
        script.bench.generator(Case(world, "control", epsilon), 1)
    some, none = commands.named("control")
    assert "--code-noise" not in some
    assert float(none[none.index("--code-noise") + 1]) < 1
    # Nor the rate of noisy steps, which is too high then; the last one that is given counts.
    assert "--learning-rate" not in some
    assert none[none.index("--learning-rate") + 1] == str(private_runs.PLAIN_RATE)


def test_all_seeds_begin_with_the_same_public_weights_and_have_parsers_of_their_own(
    script, world, commands
):
    for seed in script.seeds:
        script.bench.generator(Case(world, "one-stage", 3.0), seed)
    assert len(set(commands.options("one-stage", "--seed"))) == 1
    assert len(set(commands.options("one-stage", "--output"))) == 2
    commands.made.clear()
    for seed in script.seeds:
        script.tested(world, [world.private], {"all": world.real}, seed)
    assert commands.options("train", "--seed") == ["1", "2"]


def test_programs_of_a_private_domain_need_no_shape_of_public_ones(work, world, commands, tmp_path):
    case, bench, schema = Case(world, "two-stage", 3.0), Bench(work, Sizes()), tmp_path / "x.sexpr"
    schema.write_text("node IN:BUY = ; program [IN:BUY];")
    for changes in ({}, {"options": ()}, {"grammar": schema}):
        bench.drawn(replace(case, world=replace(world, **changes)), 1)
    bench.drawn(replace(case, world=replace(world, is_shaped=True)), 2)
    drawn = commands.named("sample")
    assert ["--unconstrained" in command for command in drawn] == [True, False, False, False]
    assert drawn[2][drawn[2].index("--skills") + 1] == str(schema)


def test_a_generator_that_wrote_no_row_adds_nothing(script, world, commands, written, capsys):
    nothing = written("nothing.jsonl", [])
    script.tested(world, [world.private, nothing], {"all": world.real})
    (command,) = commands.named("train")
    assert str(world.private) in command
    assert str(nothing) not in command
    assert "nothing.jsonl has no rows" in capsys.readouterr().err


def test_rows_of_an_experiment_may_be_trained_on_as_public_ones(work, written):
    drawn = [Example("a", "buy", "[ IN:BUY ]", "sexpr", "private")]
    rows = as_public(work, written("drawn.jsonl", drawn))
    assert [row.source for row in read_rows(str(rows))] == ["human"]


def test_tables_have_mean_and_deviation_of_the_runs():
    lines = list(table_of({"a": [{"x": 1.0}, {"x": 2.0}], "b": []}, {"x": "X", "y": "Y"}))
    assert lines[2:] == ["| a | 1.500 ± 0.707 |  | 2 |", "| b |  |  | 0 |"]


def test_every_table_of_the_paper_is_there(script):
    names = private.tables(script)
    for number in ("table 1", "table 2", "table 3", "table 4", "figure 3", "prior"):
        assert any(name.startswith(number) for name in names)
