"""`genie-dp private evolve`: from private rows to a folder that the next commands take."""

import inspect
import json
import time
from pathlib import Path

import pytest

import genie_dp as gd
from genie_dp import cli
from genie_dp.private.evolution import evolve as loop
from genie_dp.private.evolution import voting
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.secure import _seeded
from genie_dp.private_prior import load_prior
from genie_dp.rng import stream
from genie_dp.rows import read_rows
from tests.forked import start_command
from tests.golden import cases
from tests.synthesis.synthesis_project import GRAMMAR

pytest.importorskip("dp_accounting")

INTENTS = {
    "card": ("where is my card", "my card has not come yet", "when will the new card arrive"),
    "phone": ("someone took my phone", "i lost my phone today", "my phone was stolen"),
    "rate": ("what is the rate of dollars", "how good is the exchange rate", "show me rates"),
}
CANARY = "zyzzyva"
RECIPE = """\
label: field:intent
fractions: {card: 2, phone: 1, rate: 1}
generator:
  kind: seeds
  examples: [seeds.jsonl]
population: 12
variations: 3
iterations: 3
rows: 20
"""
OF_SCHEMA = "label: intent\nmetadata: {schema: schema.json}\n" + RECIPE.split("\n", 2)[2]
SCHEMA = {
    "columns": [
        {"name": "intent", "values": [*INTENTS, "<other>"], "extract": "field:intent"},
        {"name": "length", "values": ["0-4", "5+"]},
    ]
}


def lines(path, rows):
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = stream(0, "rows")
    names = rng.choices(list(INTENTS), [4, 2, 1], k=200)
    rows = [
        {"utterance": f"{rng.choice(INTENTS[name])} {CANARY}", "intent": name} for name in names
    ]
    lines(tmp_path / "private.jsonl", rows)
    seeds = [
        {"utterance": said, "metadata": {"intent": name}}
        for name, sentences in INTENTS.items()
        for said in sentences
    ]
    lines(tmp_path / "seeds.jsonl", seeds)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA))
    budget = ("--epsilon", "8", "--delta", "1e-5", "--unit", "utterance")
    assert cli.run(["private", "budget", "init", "private.jsonl", *budget]) == 0
    capsys.readouterr()
    return tmp_path


def words_of(*options, recipe="recipe.yaml", epsilon=4):
    cost = () if epsilon is None else ("--epsilon", epsilon)
    words = ("private", "evolve", "private.jsonl", "--recipe", recipe, "-o", "made", *cost)
    return list(map(str, (*words, *options)))


def evolve(*options, **more):
    return cli.run(words_of(*options, **more))


def entries():
    return Ledger.open(Path("private.ledger.json")).entries


def test_rows_have_labels_a_guarantee_and_a_prior_and_no_private_word(folder, capsys):
    assert evolve() == 0
    rows = list(read_rows("made/rows.jsonl"))
    told = [json.loads(line) for line in Path("made/metadata.jsonl").read_text().splitlines()]
    assert [row.id for row in rows] == [one["id"] for one in told]
    assert {(row.source, row.language) for row in rows} == {("private", "thingtalk")}
    assert {one["metadata"]["intent"] for one in told} == set(INTENTS)
    spent = json.loads(Path("made/spent.json").read_text())
    assert spent["epsilon"] == Ledger.open(Path("private.ledger.json")).spent().epsilon
    assert spent["epsilon"] == pytest.approx(4, abs=0.01)
    prior = load_prior(Path("made/prior.json")).prior
    assert prior.utterances == tuple(row.utterance for row in rows)
    report = json.loads(Path("made/report.json").read_text())
    assert [one["vote"] for one in report["iterations"]] == [1, 2, 3]
    assert not Path(".made.work").exists()
    said = capsys.readouterr().err
    assert "3 votes with noise" in said
    assert "epsilon 4 of 8" in said
    files = [path for path in Path("made").rglob("*") if path.is_file()]
    assert len(files) == 7
    assert not [path for path in files if CANARY in path.read_text()]
    assert CANARY not in said


def test_a_table_is_released_and_paid_within_epsilon(folder):
    Path("table.yaml").write_text(OF_SCHEMA)
    assert evolve(recipe="table.yaml") == 0
    assert [one.purpose for one in entries()] == [
        "evolution: table of metadata", *["evolution: a vote"] * 3,
    ]  # fmt: skip
    spent = json.loads(Path("made/spent.json").read_text())
    assert spent["epsilon"] == pytest.approx(4, abs=0.01)
    assert json.loads(Path("made/table.json").read_text())["release"]["epsilon"] == 0.8
    known = Path("known.yaml")
    known.write_text(OF_SCHEMA.replace("schema: schema.json", "table: made/table.json"))
    again = (
        "private",
        "evolve",
        "private.jsonl",
        "--recipe",
        "known.yaml",
        "--use-remaining-budget",
        "-o",
        "two",
    )
    assert cli.run(list(again)) == 0
    assert len(entries()) == 7
    assert Ledger.open(Path("private.ledger.json")).spent().epsilon == pytest.approx(8, abs=0.01)


def test_options_stand_before_the_recipe_and_noise_alone_is_told(folder, capsys):
    options = ("--iterations", 2, "--rows", 5, "--selection", "rank", "--replace")
    assert evolve(*options, "--language", "sexpr", "--threshold", 50) == 0
    report = json.loads(Path("made/report.json").read_text())
    assert (report["rows"], len(report["iterations"])) == (5, 2)
    assert report["settings"]["keep"] is False
    assert "population: 12" in Path("made/recipe.yaml").read_text()
    assert {row.language for row in read_rows("made/rows.jsonl")} == {"sexpr"}
    assert "U024" in capsys.readouterr().err


GRAMMAR_RECIPE = """\
metadata: {columns: [function]}
generator: grammar
embedding: both
iterations: 2
population: 10
rows: 15
"""


def test_the_grammar_gives_every_row_a_program(folder):
    # By chance a sentence with "hide" is one of some thousand: the table finds it.
    things = "".join(f"w{i}\t( W{i} )\n" for i in range(30))
    Path("things.tsv").write_text(things)
    Path("main.genie").write_text(
        GRAMMAR.replace('using "functions.py";\n', "").replace(
            "SENTENCE := 'check' l:LIST -> python.checked(l) #[id=\"check\"];\n", ""
        )
    )
    asked = [
        {"utterance": f"hide w{i % 3}", "program": f"( HIDE ( W{i % 3} ) )"} for i in range(200)
    ]
    lines(Path("private.jsonl"), asked)
    public = [
        {"utterance": "x", "program": f"( {name} )", "functions": [name]}
        for name in ("HIDE", "BRING", "TAKE")
    ]
    lines(Path("public.jsonl"), public)
    Path("grammar.yaml").write_text(GRAMMAR_RECIPE)
    options = ("--language", "sexpr", "--grammar", "main.genie", "--public", "public.jsonl")
    with _seeded(0):
        assert evolve(*options, recipe="grammar.yaml") == 0
    rows = list(read_rows("made/rows.jsonl"))
    assert all(row.program and row.functions for row in rows)
    hidden = sum(row.weight for row in rows if "HIDE" in row.functions)
    assert hidden > 0.5 * sum(row.weight for row in rows)
    prior = load_prior(Path("made/prior.json")).prior
    assert max(prior.function_shares, key=prior.function_shares.__getitem__) == "HIDE"


# ------------------------------------------------------------------------------------ resuming


def test_an_interrupted_run_goes_on_and_pays_each_vote_once(folder, monkeypatch, capsys):
    counted, times = voting.votes, []

    def dying(*args, **options):
        times.append(1)
        if len(times) == 2:
            raise KeyboardInterrupt
        return counted(*args, **options)

    with monkeypatch.context() as patched:
        patched.setattr(voting, "votes", dying)
        assert evolve() == 130
    assert len(entries()) == 2
    capsys.readouterr()
    for options, code in (((), "Y021"), (("--rows", 30, "--resume"), "Y020")):
        assert evolve(*options) == 1
        assert code in capsys.readouterr().err
    assert evolve("--resume") == 0
    assert len(entries()) == 3


@pytest.mark.slow
def test_a_killed_process_goes_on_and_pays_each_vote_once(folder, monkeypatch):
    votes = Path(".made.work/votes")
    process = start_command(*words_of("--iterations", 15))
    while not (votes / "vote-2.json").exists():
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()
    assert not Path("made").exists()
    released, drawn, draw = len(list(votes.glob("vote-*.json"))), [], voting.noisy_histogram
    monkeypatch.setattr(voting, "noisy_histogram", lambda *args: drawn.append(1) or draw(*args))
    assert evolve("--iterations", 15, "--resume") == 0
    assert len(drawn) == 15 - released
    assert len(entries()) == 15
    assert Ledger.open(Path("private.ledger.json")).spent().epsilon == pytest.approx(4, abs=0.01)


# ------------------------------------------------------------------------------------ mistakes


def test_mistakes_in_recipes_have_a_code_and_a_place_and_leave_nothing(folder, golden, capsys):
    Path("parser").mkdir()
    Path("parser/manifest.json").write_text(json.dumps({"inputs": {"private.jsonl": "0"}}))
    for case in cases("evolution/recipes.txt"):
        Path("bad.yaml").write_text(f"{case.input}\n")
        before = sorted(folder.iterdir())
        assert evolve(recipe="bad.yaml") == 1
        golden(case, capsys.readouterr().err.rstrip("\n").replace(f"{folder}/", ""))
        assert sorted(folder.iterdir()) == before
    # What is said depends on what is installed.
    Path("bad.yaml").write_text(f"{OF_SCHEMA}embedding: {{kind: sentence-transformer, folder: x}}")
    assert evolve(recipe="bad.yaml") == 1
    assert "error[U01" in capsys.readouterr().err
    assert not entries()


def test_a_run_past_the_budget_without_epsilon_or_place_is_refused(folder, capsys):
    for epsilon, code in ((9, "B023"), (None, "U008")):
        assert evolve(epsilon=epsilon) == 1
        assert code in capsys.readouterr().err
        assert not Path(".made.work").exists()
    Path("made").mkdir()
    for options, code in (((), "Y022"), (("--overwrite",), "U025")):
        assert evolve(*options) == 1
        assert code in capsys.readouterr().err
    assert not entries()
    Path("private.jsonl").rename("private.tsv")
    words = ("private", "evolve", "private.tsv", "--recipe", "recipe.yaml", "--epsilon", "1")
    assert cli.run([*words, "-o", "new", "--ledger", "private.ledger.json"]) == 1
    assert "U023" in capsys.readouterr().err  # a table of tabs has no fields


@pytest.mark.parametrize("is_changed", [True, False])
def test_a_table_of_another_ledger_is_refused_even_if_it_cost_less(folder, capsys, is_changed):
    Path("others.jsonl").write_bytes(Path("private.jsonl").read_bytes())
    budget = ("--epsilon", "8", "--delta", "1e-5", "--unit", "utterance")
    assert cli.run(["private", "budget", "init", "others.jsonl", *budget, "--allow-same-rows"]) == 0
    for rows, epsilon in (("private", "2"), ("others", "1")):
        table = ("private", "table", "release", f"{rows}.jsonl", "--schema", "schema.json")
        assert cli.run([*table, "--epsilon", epsilon, "-o", f"{rows}.json"]) == 0
    table = Path("private.json" if is_changed else "others.json")
    if is_changed:
        content = json.loads(table.read_text())
        content["spent"]["epsilon"] = 5.0
        table.write_text(json.dumps(content))
    labels = f"label: intent\nmetadata: {{table: {table}}}"
    Path("known.yaml").write_text(RECIPE.replace("label: field:intent", labels))
    before = entries()
    assert evolve(recipe="known.yaml") == 1
    assert "U009" in capsys.readouterr().err
    assert entries() == before


# ----------------------------------------------------------------------------------- from Python

SEEDS = {"kind": "seeds", "examples": ["seeds.jsonl"]}
SETTINGS = {"generator": SEEDS, "iterations": 2, "population": 6, "variations": 2, "rows": 8}


@pytest.fixture
def ledger(folder):
    return gd.private.Ledger("private.jsonl")


def test_an_evolution_from_python_is_that_of_the_command(ledger, capsys):
    before = set(Path().iterdir())
    with _seeded(0):
        result = ledger.evolve(epsilon=4, **SETTINGS)
    assert capsys.readouterr() == ("", "")
    after = set(Path().iterdir()) - before
    assert all(path.name.startswith((".private.", "private.")) for path in after)
    Path("recipe.yaml").write_text(json.dumps(SETTINGS))
    Path("apart.jsonl").write_bytes(Path("private.jsonl").read_bytes())
    budget = {"epsilon": 8, "delta": 1e-5, "unit": "utterance", "allow_same_rows": True}
    again = gd.private.Ledger.init("apart.jsonl", **budget)
    words = ["apart.jsonl" if word == "private.jsonl" else word for word in words_of()]
    with _seeded(0):
        assert cli.run(words) == 0
    assert list(result.rows) == list(result.rows) == list(read_rows("made/rows.jsonl"))
    assert result.prior.prior.utterances == tuple(row.utterance for row in result.rows)
    assert result.spent.epsilon == again.spent.epsilon == pytest.approx(4, abs=0.01)
    assert "2 votes with noise" in str(result)
    assert len(repr(result)) < 200


def test_an_interrupted_evolution_goes_on_for_the_same_payment(ledger, monkeypatch):
    def killed(*_args, **_options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(voting, "noisy_histogram", killed)
        with pytest.raises(KeyboardInterrupt):
            ledger.evolve(epsilon=4, output="made", **SETTINGS)
    paid = ledger.spent.epsilon
    with pytest.raises(gd.GenieError, match="Y021"):
        ledger.evolve(epsilon=4, output="made", **SETTINGS)
    result = ledger.evolve(epsilon=4, output="made", resume=True, **SETTINGS)
    assert 0 < paid < result.spent.epsilon == pytest.approx(4, abs=0.01)
    assert list(result.rows) == list(read_rows("made/rows.jsonl"))
    rest = ledger.evolve(use_remaining_budget=True, **SETTINGS)
    assert rest.spent.epsilon == pytest.approx(8, abs=0.01)


def test_what_cannot_be_evolved_costs_nothing(ledger, golden):
    [case], shown = cases("evolution/settings.txt"), []
    for line in case.input.splitlines():
        with pytest.raises(gd.GenieError) as caught:
            ledger.evolve(**{**SETTINGS, **json.loads(line)})
        shown.append(str(caught.value).splitlines()[0])
    golden(case, "\n".join(shown))
    assert ledger.spent.epsilon == 0
    assert not Path(".evolution.work").exists()


def test_a_closed_ledger_lets_nobody_vote_and_no_call_takes_a_seed_of_the_noise(ledger):
    with ledger:
        pass
    with pytest.raises(gd.GenieError, match="B036"):
        ledger.evolve(epsilon=1, **SETTINGS)
    for call in (gd.private.Ledger.evolve, loop.evolve):
        assert not [name for name in inspect.signature(call).parameters if "noise" in name]
