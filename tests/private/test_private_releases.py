"""Commands that release counts pay before they count, once, and are silent about rows."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.private.ledger.book import Ledger
from genie_dp.records import Example
from genie_dp.rows import to_json
from genie_dp.run.manifest import ledger_of
from tests.golden import cases
from tests.private.gaps import gaps_setup
from tests.private.prior import prior_setup
from tests.private.tables import tables_setup
from tests.refusals import refusal, refusals

SECRET = "zanzibar"  # stands in every private row
SPENT = {"epsilon": 8, "delta": 1e-6, "unit": "utterance", "relation": "add-or-remove-one",
         "accountant": "rdp", "not_covered": []}  # fmt: skip
ROWS = [{"utterance": "a b", "mood": "good"}, {"utterance": "a", "mood": "x", "source": "private"}]
FILES = {
    "names.txt": "@com.tickets.buy\n",
    "sentences.txt": "@com.tickets.buy\ntickets please\n",
    "pairs.jsonl": f"{to_json(Example('S0', 'tweets', prior_setup.HOME))}\n",
    "drawn.jsonl": json.dumps(
        {"id": "P0", "utterance": SECRET, "program": prior_setup.HOME, "source": "private"}
    ),
    "empty.jsonl": "",
    "others.jsonl": "",
    "others.ledger.json": "{}",
    "spent.json": json.dumps(SPENT),
    "moods.jsonl": "".join(f"{json.dumps(row)}\n" for row in ROWS),
    "broken.jsonl": '{"utterance": "a", "mood": "x"}\nno json\n',
    "textless.jsonl": '{"utterance": "a", "mood": "x"}\n{"text": "a"}\n',
    "thesis/thesis.txt": "all of it",
}


@dataclass(frozen=True)
class Stage:
    """A command, with what it calls to release, and once the release is kept.

    Attributes:
        lost: the code of the error where what was released is missing.
    """

    words: str
    target: str
    write: Callable[[Path], Path]
    release: str
    after: str
    lost: str


STAGES = {
    "prior": Stage(
        "prior private.jsonl --skills {twitter} --estimated-units 400 --output prior.json",
        "prior.json",
        prior_setup.asked, "prior.run.histogram.release_counts",
        "prior.run.prior_of", "F009",
    ),
    "gaps": Stage(
        "gaps private.jsonl --language calls --skills tools.json --grammar main.genie "
        "--report gaps", "gaps", gaps_setup.private_file,
        "gaps.run.release_gaps", "gaps.run._write_folder", "F023",
    ),
    "table": Stage(
        "table release private.jsonl --schema schema.json --output table.json", "table.json",
        tables_setup.private_file, "tables.run.aim",
        "tables.run.replace_durably", "T510",
    ),
}  # fmt: skip
MAY_SPEND = {"prior": 3, "gaps": 9, "table": 3}
REFUSED = cases("private_refused/releases.txt")


@pytest.fixture(params=STAGES)
def stage(request):
    return request.param


@pytest.fixture
def here(stage, tmp_path, monkeypatch):
    """Return a folder with private rows, their ledger, and all that commands may read."""
    monkeypatch.chdir(tmp_path)
    gaps_setup.project(tmp_path)
    STAGES[stage].write(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "linked.jsonl").symlink_to(tmp_path / "private.jsonl")
    return tmp_path


def run(stage, *options, epsilon=None):
    words = STAGES[stage].words.format(twitter=prior_setup.TWITTER).split()
    half = epsilon or MAY_SPEND[stage] / 2
    return cli.run(["private", *words, "--epsilon", str(half), *options])


def payments():
    return len(Ledger.open(ledger_of(Path("private.jsonl"))).entries)


def contents(folder, below=""):
    files = (path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock")
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    return {name: text for name, text in found.items() if name.startswith(below)}


def stop(*_args, **_options):
    raise KeyboardInterrupt


@pytest.mark.parametrize("moment", ["release", "after"])
def test_an_interrupted_release_goes_on_and_costs_once(stage, moment, here, monkeypatch, capsys):
    place = f"genie_dp.private.{getattr(STAGES[stage], moment)}"
    with monkeypatch.context() as patch:
        patch.setattr(place, stop)
        assert run(stage) == 130
    assert payments() == 1  # before anything is counted
    kept = here / f".{STAGES[stage].target}.work" / "released.json"
    assert kept.exists() == (moment == "after")
    copy = shutil.copytree(kept.parent, here / "copy")
    capsys.readouterr()
    assert run(stage) == 1
    assert "Y021" in capsys.readouterr().err  # not without --resume
    assert run(stage, "--resume", epsilon=0.1) == 1  # nor with other settings
    with monkeypatch.context() as patch:
        if moment == "after":
            # What was there to be seen is not drawn again.
            patch.setattr(f"genie_dp.private.{STAGES[stage].release}", stop)
        assert run(stage, "--resume") == 0
    assert payments() == 1
    assert not kept.parent.exists()
    # Put back to where it was paid, it releases nothing else.
    before = contents(here, below=STAGES[stage].target)
    copy.rename(kept.parent)
    assert run(stage, "--resume") == (moment == "release")
    assert moment == "after" or "B032" in capsys.readouterr().err
    assert payments() == 1
    assert contents(here, below=STAGES[stage].target) == before != {}


def test_a_release_that_was_seen_and_is_missing_is_not_made_again(stage, here, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(f"genie_dp.private.{STAGES[stage].after}", stop)
        assert run(stage) == 130
    (here / f".{STAGES[stage].target}.work" / "released.json").unlink()
    assert run(stage, "--resume") == 1
    assert STAGES[stage].lost in capsys.readouterr().err
    assert payments() == 1


def test_each_release_is_paid_until_the_budget_is_spent_and_none_is_written_over(
    stage, here, capsys
):
    assert run(stage) == 0
    assert run(stage) == 1
    assert "Y022" in capsys.readouterr().err
    assert payments() == 1
    more = MAY_SPEND[stage] / 10
    assert run(stage, "--overwrite", epsilon=more) == 0
    assert payments() == 2
    before = contents(here)
    assert run(stage, "--overwrite", epsilon=MAY_SPEND[stage]) == 1
    assert "B023" in capsys.readouterr().err
    assert contents(here) == before


def test_nothing_of_the_rows_comes_out(stage, here, capsys):
    private = here / "private.jsonl"
    assert run(stage) == 0
    good = private.read_bytes()
    private.write_bytes(good + b'{"utterance": 3, "user": "u", "program": "zanzibar"}\n')
    assert run(stage, "--overwrite", epsilon=0.1) == 1
    assert payments() == 1  # a file that cannot be read costs nothing
    private.write_bytes(good)
    told = capsys.readouterr()
    read = {"private.jsonl", "linked.jsonl", "drawn.jsonl"}
    written = b"".join(text for name, text in contents(here).items() if name not in read)
    assert SECRET not in told.out + told.err
    assert SECRET.encode() not in written


def test_what_promises_nothing_is_refused_before_anything_is_paid(stage, here, golden, capsys):
    """Neither is what is private read as public, nor what is read written over."""
    before = contents(here)
    [case] = [case for case in REFUSED if case.name == stage]
    told = refusals(case, lambda options: run(stage, *options), capsys)
    golden(case, told)
    assert SECRET not in told
    assert payments() == 0
    assert contents(here) == before


@pytest.mark.parametrize("stage", ["table"])
def test_columns_are_made_of_public_rows_alone(here, golden, capsys):
    words = ["table", "release", "private.jsonl", "--epsilon", "1", "--output", "table.json"]
    [case] = [case for case in REFUSED if case.name == "table without a schema"]
    golden(case, refusals(case, lambda more: cli.run(["private", *words, *more]), capsys))
    assert "--schema" in refusal(cli.run(["private", *words]), capsys)
    assert payments() == 0
