"""Generators from Python: `Ledger.train` and `Ledger.sample`, and what they refuse."""

import json
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import genie_dp as gd
from genie_dp.errors import GenieError
from genie_dp.rows import read_rows
from tests.private.generators.generators_setup import CANARY, INBOX, LIBRARY, prepare, write

pytestmark = pytest.mark.xdist_group("generators")
SMALL = {
    "about": 40, "batch": 10, "size": 16, "layers": 1, "heads": 2, "longest": 64,
    "library": LIBRARY, "pretraining_epochs": 1,
}  # fmt: skip
SHORT = {"library": LIBRARY, "seed": 3, "batch": 16, "width": 1, "longest": 20,
         "program_longest": 20}  # fmt: skip


@pytest.fixture
def ledger(two_stage):
    return gd.private.Ledger(two_stage / "private.jsonl")


def refused(make, *arguments, **options):
    with pytest.raises(GenieError) as caught:
        make(*arguments, **options)
    assert CANARY not in str(caught.value)
    return caught.value.problems[0].code


@pytest.mark.slow
def test_a_generator_is_trained(tmp_path):
    ledger, public = gd.private.Ledger(prepare(tmp_path)), tmp_path / "public.jsonl"
    options = {"epsilon": 3, "epochs": "1/2", "public": public, "output": tmp_path / "made"}
    ledger.train("two-stage", **options, **SMALL)
    assert 2.5 < ledger.spent.epsilon <= 3
    assert json.loads((tmp_path / "made/spent.json").read_text())["epsilon"] == ledger.spent.epsilon


def test_rows_are_drawn_and_cost_nothing(ledger, two_stage, tmp_path):
    with ledger:
        drawn = ledger.sample(two_stage / "made", rows=6, **SHORT)
        rows = list(drawn.rows)
        assert len(rows) == drawn.number == 6
        assert {row.source for row in rows} == {"private"}
        assert drawn.spent.epsilon == ledger.spent.epsilon
        assert repr(drawn).startswith("SampleResult(6 rows, epsilon 3, delta 1e-06")
        target = tmp_path / "rows.jsonl"
        ledger.sample(two_stage / "made", rows=6, output=target, **SHORT)
        assert list(read_rows(str(target))) == rows
        assert json.loads(target.with_name("rows.jsonl.manifest.json").read_text())["rows"] == 6
        assert len(json.loads(ledger.path.read_text())["entries"]) == 2  # a spend and its end
    assert (
        refused(ledger.train, "one-stage", output=tmp_path / "made", epsilon=1, **SMALL) == "B036"
    )
    assert refused(ledger.sample, two_stage / "made") == "B036"


def test_a_parser_reads_the_rows_of_two_stage_back(ledger, two_stage, tmp_path):
    def predict(utterances, *, count):
        assert count == 1
        return [(SimpleNamespace(program=INBOX),) for _ in utterances]

    parser = SimpleNamespace(folder=tmp_path, predict=predict)
    drawn = ledger.sample(two_stage / "made", rows=4, parser=parser, **SHORT)
    assert [row.program for row in drawn.rows] == [INBOX] * 4
    assert "dropped: read as another program by the parser" in "\n".join(drawn.lines())
    facts = {"inputs": {}, "spent": asdict(replace(drawn.spent, epsilon=3.5))}
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    assert refused(ledger.sample, two_stage / "made", parser=parser, **SHORT) == "H008"


@pytest.mark.parametrize(
    ("kind", "options", "code"),
    [
        ("one-stage", {}, "R041"),
        ("one-stage", {"epsilon": 1, "rest": True}, "R041"),
        ("one-stage", {"epsilon": 1, "code_sets": True}, "R041"),
        ("one-stage", {"epsilon": 1, "heads": 3}, "R041"),
        ("no-stage", {"epsilon": 1}, "R040"),
        ("one-stage", {"epsilon": -1}, "R040"),
        ("one-stage", {"epsilon": 1, "epoch": 3}, "R043"),
        ("one-stage", {"epsilon": 8}, "B023"),
        ("two-stage", {"epsilon": 1, "epochs": "3"}, "H001"),
        ("control", {"epsilon": 1, "library": (), "language": "sexpr"}, "H006"),
        ("two-stage", {"epsilon": 1, "parser": SimpleNamespace(folder=None)}, "H008"),
    ],
)
def test_settings_that_no_run_has_are_refused(ledger, tmp_path, kind, options, code):
    options = {**SMALL, "output": tmp_path / "made", **options}
    assert refused(ledger.train, kind, **options) == code
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_of_this_ledger_is_refused(ledger, two_stage, tmp_path):
    private, made = two_stage / "private.jsonl", two_stage / "made"
    options = {"output": tmp_path / "made", "epsilon": 1, **SMALL}
    for public in (private, gd.Rows.read(private), [next(iter(gd.Rows.read(private)))]):
        assert refused(ledger.train, "one-stage", public=public, **options) == "H008"
    assert refused(ledger.sample, made, parser=SimpleNamespace(folder=None)) == "H008"
    rows = ({"utterance": f"quite another thing {n}"} for n in range(30))
    other = write(tmp_path / "other.jsonl", rows)
    stranger = gd.private.Ledger.init(other, epsilon=1, delta=1e-6, unit="utterance")
    assert refused(stranger.sample, made, library=LIBRARY) == "F010"
