"""`genie-dp private gaps`: paid before it is shown, once, silent about persons; the loop closes."""

import json

import pytest

from genie_dp import cli
from genie_dp.evaluate.config import CoverageConfig
from genie_dp.evaluate.gaps import GapListener
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.rows import Rows
from genie_dp.run.manifest import ledger_of
from genie_dp.templates.cache import load_inputs
from tests.private.gaps.gaps_setup import private_file, project

pytestmark = pytest.mark.usefixtures("known_noise")


@pytest.fixture
def private(tmp_path):
    """Return the rows of 120 persons, in a folder with tools and templates."""
    project(tmp_path)
    return private_file(tmp_path)


def words(private, *options, epsilon=8):
    return [
        "private", "gaps", str(private), "--epsilon", str(epsilon), *project(private.parent),
        "--report", str(private.with_name("gaps")), *map(str, options),
    ]  # fmt: skip


WIDE = ("--words", 5, "--pairs", 9, "--sentences", 2)
"""So much that all of a mown lawn counts."""


def run(private, *options, epsilon=8):
    return cli.run(words(private, *options, epsilon=epsilon))


def found(private):
    return json.loads((private.with_name("gaps") / "gaps.json").read_text())


def spends(private):
    return [entry.mechanisms for entry in Ledger.open(ledger_of(private)).entries]


def texts(facts, level):
    return [gap["text"] for gap in facts["gaps"] if gap["level"] == level]


def test_a_report_tells_what_many_ask_for_and_templates_for_it(private, capsys):
    assert run(private, *WIDE) == 0
    facts = found(private)
    assert {"mow the lawn for NUMBER_0 minutes", "mow the lawn"} <= {*texts(facts, "sentences")}
    assert {"mow", "lawn"} & {*texts(facts, "words")}
    [gap] = [gap for gap in facts["gaps"] if gap["text"] == "mow the lawn for NUMBER_0 minutes"]
    assert gap["low"] <= 80 <= gap["high"]
    assert gap["advice"]["nearest"][0]["function"] == "mower.start"
    assert gap["advice"]["row"] == {
        "utterance": "mow the lawn for NUMBER_0 minutes",
        "program": "mower.start( minutes= NUMBER_0 )",
    }
    assert facts["facts"]["unsaid"] == ["mower.start"]
    counts = {one["name"]: one for one in facts["functions"]}
    assert counts["mower.start"]["low"] <= 80 <= counts["mower.start"]["high"]
    assert facts["units"]["low"] <= 120 <= facts["units"]["high"]
    assert facts["lacking"]["low"] <= 120 <= facts["lacking"]["high"]
    told = capsys.readouterr().out
    assert "mow the lawn for NUMBER_0 minutes" in told
    assert "mower.start: no template says it" in told


def test_after_acceptance_the_loop_begins_again_without_the_gap(private):
    run(private, *WIDE)
    folder = private.parent
    added = folder / "gaps" / "gaps.genie"
    grammar = [folder / "main.genie", added]
    inputs = load_inputs("calls", [folder / "tools.json"], grammar)
    listener = GapListener.from_inputs(inputs, CoverageConfig())
    said = ["mow the lawn", "mow the lawn for 7 minutes", "mow it"]
    assert [bool(one.reason) for one in listener.hear(said)] == [False, False, True]
    assert listener.unsaid == set()
    rows = list(Rows.read(folder / "gaps" / "rows.jsonl"))
    assert [row.source for row in rows] == ["private", "private"]


def test_the_page_says_what_is_promised_and_where_it_is_recorded(private):
    assert run(private) == 0
    page = (private.with_name("gaps") / "index.html").read_text()
    ledger = Ledger.open(ledger_of(private))
    [entry] = ledger.entries
    for text in (entry.hash, ledger.head, entry.run, "at most 10 of each user", "1e-06"):
        assert text in page
    assert "<script" not in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_the_same_noise_gives_the_same_bytes_but_for_ids_and_times(private):
    def report():
        facts = found(private)
        return {name: facts[name] for name in ("gaps", "functions", "reasons", "units", "release")}

    assert run(private, epsilon=4) == 0
    first = report()
    assert run(private, "--overwrite", epsilon=4) == 0
    assert report() == first


def test_laplace_noise_is_wider_and_costs_what_is_asked_for(private):
    assert run(private, "--mechanism", "laplace", *WIDE[:2]) == 0
    facts = found(private)
    assert facts["release"]["mechanisms"][0] == {"kind": "laplace", "scale": 0.5, "count": 4}
    assert facts["spent"]["epsilon"] <= 8
    assert "mow the lawn" in texts(facts, "sentences")


def test_all_sentences_are_read_where_that_is_asked_for(private):
    assert run(private, "--all", "--sentences", 4) == 0
    assert "lock the door" in texts(found(private), "sentences")


def test_many_names_at_one_place_are_one_template_that_the_page_shows_once(tmp_path):
    rooms = ["attic", "pantry", "study"]
    place = {"properties": {"place": {"type": "string"}}, "required": ["place"]}
    tool = {"name": "heating.raise", "description": "Raises the heating",
            "parameters": {"type": "object", **place}}  # fmt: skip
    (tmp_path / "tools.json").write_text(json.dumps({"tools": [tool]}))
    (tmp_path / "main.genie").write_text(
        'category COMMAND : program root "whole sentences";\n'
        'category VP : program "what can be asked for";\n'
        "COMMAND := 'please' a:VP -> a;\nCOMMAND := a:VP -> a;\n"
        "VP := 'raise the heating in $place' -> heating.raise(place = $place);\n"
    )
    path = tmp_path / "private.jsonl"
    said = ((f"u{n}", f"raise the {room} heating") for room in rooms for n in range(60))
    path.write_text(
        "".join(
            f"{json.dumps({'user': f'{user} {text}', 'utterance': text})}\n" for user, text in said
        )
    )
    Ledger.create(ledger_of(path), Budget(9.0, 1e-6, "user", cap=10))
    options = ["--skills", tmp_path / "tools.json", "--grammar", tmp_path / "main.genie"]
    command = ["private", "gaps", path, "--language", "calls", *options, "--epsilon", 8]
    assert cli.run([*map(str, [*command, "--report", tmp_path / "gaps"])]) == 0
    assert {f"raise the {room} heating" for room in rooms} == {*texts(found(path), "sentences")}
    stub = "VP := 'raise the ${a:const} heating'"
    templates = (tmp_path / "gaps" / "gaps.genie").read_text()
    page = (tmp_path / "gaps" / "index.html").read_text()
    assert templates.count(stub) == 1
    assert "and 2 more such sentences" in templates
    assert page.count("raise the ${a:const} heating") == 1
    assert page.count("the template of “raise the") == 2
    assert len(list(Rows.read(tmp_path / "gaps" / "rows.jsonl"))) == 1
