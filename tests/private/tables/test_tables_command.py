"""`genie-dp private table`: paid before it is counted, once, and silent about rows."""

import json

import pytest

from genie_dp import cli
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import ZeroConcentrated
from genie_dp.private.tables.run import rho_for
from genie_dp.private.tables.table import load_table
from genie_dp.run.manifest import ledger_of
from tests.private.tables.tables_setup import private_file

pytestmark = pytest.mark.usefixtures("known_noise")


@pytest.fixture
def private(tmp_path):
    return private_file(tmp_path)


def run(private, *options, epsilon=2, schema=True):
    named = ["--schema", str(private.with_name("schema.json"))] if schema else []
    return cli.run([
        "private", "table", "release", str(private), "--epsilon", str(epsilon), *named,
        "--output", str(private.with_name("table.json")), *map(str, options),
    ])  # fmt: skip


def spends(private):
    return [entry.mechanisms for entry in Ledger.open(ledger_of(private)).entries]


def files(folder):
    return {path.name for path in folder.rglob("*") if not path.name.endswith(".lock")}


def test_a_table_is_released_shown_and_sampled_from(private, capsys):
    assert run(private) == 0
    said = capsys.readouterr().out
    assert "private table: epsilon 1.999 at delta 1e-06 (pld) for each utterance" in said
    assert "form, mood" in said
    target = private.with_name("table.json")
    found = load_table(target)
    assert found.marginal(["form", "mood"])[0, 0] == pytest.approx(0.5, abs=0.07)
    assert found.marginal(["mood"])[2] == pytest.approx(0.1, abs=0.07)
    assert spends(private) == [(ZeroConcentrated(rho_for(2, 1e-6)),)]
    assert cli.run(["private", "table", "show", str(target)]) == 0
    assert capsys.readouterr().out == said
    words = ["private", "table", "sample", str(target), "--rows", "300"]
    assert cli.run([*words, "--seed", "4"]) == 0
    drawn = capsys.readouterr().out
    assert cli.run([*words, "--seed", "4"]) == 0
    assert capsys.readouterr().out == drawn
    rows = [json.loads(line) for line in drawn.splitlines()]
    assert len(rows) == 300
    moods = [row["mood"] for row in rows if row["form"] == "question"]
    assert moods.count("good") > 0.85 * len(moods) > 80


def test_a_user_counts_for_one_record(private):
    for path in private.parent.glob("private.ledger.*"):
        path.unlink()
    Ledger.create(ledger_of(private), Budget(3.0, 1e-6, "user", cap=5))
    assert run(private) == 0
    found = load_table(private.with_name("table.json"))
    assert found.spent.unit == "user"
    assert found.release["units"] == pytest.approx(200, abs=60)


def test_columns_are_filled_with_what_is_public(private, capsys):
    public = private.with_name("public.jsonl")
    rows = [{"utterance": "a b", "mood": mood} for mood in ("good", "bad", "good")]
    public.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    columns = ("--columns", "form,field:mood", "--public", public)
    assert run(private, *columns, schema=False) == 0
    schema = load_table(private.with_name("table.json")).schema
    assert [c.values for c in schema.columns] == [
        ("question", "command"), ("bad", "good", "<other>"),
    ]  # fmt: skip
    target = private.with_name("made.json")
    words = ["private", "table", "schema", *map(str, columns), "--output", str(target)]
    capsys.readouterr()
    assert cli.run(words) == 0
    assert "2 columns, 6 different records" in capsys.readouterr().err
    assert json.loads(target.read_text()) == schema.as_dict()


def test_functions_come_from_the_library(capsys):
    assert cli.run(["private", "table", "schema", "--columns", "function,skill"]) == 0
    function, skill = json.loads(capsys.readouterr().out)["columns"]
    assert "@com.twitter.post" in function["values"]
    assert "@com.twitter" in skill["values"]
    assert function["values"][-1] == skill["values"][-1] == "<other>"


def test_a_schema_is_made_of_no_rows_that_have_a_ledger(private, capsys):
    target = private.with_name("made.json")
    words = ("--columns", "field:mood", "--public", private, "--output", target)
    assert cli.run(["private", "table", "schema", *map(str, words)]) == 1
    assert "T509" in capsys.readouterr().err
    assert not target.exists()


def test_tables_of_tsv_have_no_fields(private, capsys):
    table = private.with_name("table.tsv")
    table.write_text("1\ta\tnow => @a.b\n")
    Ledger.create(ledger_of(table), Budget(3.0, 1e-6, "utterance"))
    words = ["--schema", private.with_name("schema.json"), "--output", private.with_name("t.json")]
    call = ["private", "table", "release", table, "--epsilon", 1, *words]
    assert cli.run([*map(str, call)]) == 1
    assert "rows of TSV have no field 'mood'" in capsys.readouterr().err


def test_a_budget_without_delta_has_no_table(private, capsys):
    for path in private.parent.glob("private.ledger.*"):
        path.unlink()
    Ledger.create(ledger_of(private), Budget(3.0, 0, "utterance"))
    assert run(private) == 1
    assert "T505" in capsys.readouterr().err
