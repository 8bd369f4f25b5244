"""`genie-dp private budget`: set, show and check, as a user sees them."""

import json
import math
import re
import shlex
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian, PoissonGaussian, ZeroConcentrated
from genie_dp.private.ledger.run import facts_as_json
from tests.golden import cases

TRAINING = PoissonGaussian(0.7, 2048 / 133_584, 660)
LEDGER = Path("private.ledger.json")
PROMISE = "--epsilon 10 --delta 8e-6 --unit user --cap 20"
SESSIONS = [
    pytest.param(
        case, marks=[pytest.mark.slow] if case.name.startswith("slow") else [], id=str(case)
    )
    for case in cases("private_budget/sessions.txt")
]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with private rows, which no command here opens: they could not be read."""
    monkeypatch.chdir(tmp_path)
    Path("private.jsonl").write_bytes(b"no rows, not even text: zebrafish \xff\n")
    Path("rows.tsv").write_text("")
    Path("links").mkdir()
    Path("links/mine.jsonl").symlink_to(tmp_path / "private.jsonl")
    return tmp_path


def budget(line):
    return cli.run(["private", "budget", *shlex.split(line)])


def spent():
    budget(f"init private.jsonl {PROMISE}")
    for run in ("programs", "utterances"):
        Ledger.open(LEDGER).spend([TRAINING], purpose=run, run=run)


def answer(line):
    """Return the exit code of a line: a command, or what happens between commands."""
    match line.split(maxsplit=1):
        case ["spent"]:
            spent()
        case ["spend", purpose]:
            tables = [Gaussian(20.0), ZeroConcentrated(0.001)]
            Ledger.open(LEDGER).spend(tables, purpose=purpose, run=purpose)
        case ["change", text]:
            LEDGER.write_text(LEDGER.read_text().replace(text, text[:-1], 1))
        case ["lose"]:
            LEDGER.with_suffix(".head").unlink()
        case _:
            head = Ledger.open(LEDGER).head if "HEAD" in line else ""
            return budget(line.replace("PROMISE", PROMISE).replace("HEAD", head))
    return None


@pytest.mark.parametrize("case", SESSIONS)
def test_sessions_are_answered(case, golden, here, capsys):
    told = []
    for line in case.input.splitlines():
        before, code = files(here), answer(line)
        said = capsys.readouterr()
        if code is not None:
            told.append(f"$ {line}  # {code}\n{shortened(said.out + said.err)}")
            if code or not line.startswith("init") and "--accept-head" not in line:
                assert files(here) == before
    text = "".join(told).replace(str(here), "HERE")
    assert "zebrafish" not in text
    golden(case, text.rstrip("\n"))


def shortened(text):
    """Leave out what differs from run to run, and what is said each time."""
    if text.startswith("{"):
        facts = json.loads(text)
        figures = {name: facts[name] for name in ("total", "left")}
        text = f"{', '.join(facts)}: {figures}\n"
    text = re.sub(r"\b(\d+):[0-9a-f]{12,64}\b", r"\1:HASH", text)
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d", "TIME", text)
    text = re.sub(r"(\d\.\d{4})\d{5,}", r"\1", text)
    text = re.sub(r"Usage: .*\nTry .*\n\n", "", text)
    return re.sub(r"\nNot covered by the promise:\n(- .*\n)*", "", text)


def files(folder):
    paths = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    return {path: path.read_bytes() for path in paths}


@pytest.mark.parametrize(
    "words",
    [
        "prior private.jsonl --epsilon 1",
        "table release private.jsonl --epsilon 1 --columns form",
        "evolve private.jsonl --epsilon 1",
        "train one-stage private.jsonl --epsilon 1 --estimated-units 300",
        "train crt private.jsonl --epsilon 1 --estimated-units 300",
    ],
)
def test_no_other_ledger_is_spent_than_that_of_the_rows(words, here, capsys):
    if words.startswith("train"):
        pytest.importorskip("opacus")
    spent()
    Ledger.create(here / "second.json", Budget(10.0, 1e-6, "utterance"))
    before = files(here)
    for other in ("second.json", "none.json"):
        options = ("--ledger", other, "--output", "made")
        assert cli.run(["private", *words.split(), *options]) == 1
        assert "B030" in capsys.readouterr().err
    assert files(here) == before


def test_figures_that_are_infinite_are_null_in_json():
    assert facts_as_json({"total": {"pld": math.inf}, "left": [0.0]}) == (
        '{\n  "total": {\n    "pld": null\n  },\n  "left": [\n    0.0\n  ]\n}'
    )
