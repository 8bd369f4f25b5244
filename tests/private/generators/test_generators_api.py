"""Generators from Python: `Ledger.train` and `Ledger.sample`, and what they refuse."""

import json
from dataclasses import asdict, dataclass, replace

import pytest

pytest.importorskip("torch")
pytest.importorskip("opacus")
pytest.importorskip("dp_accounting")

import genie_dp as gd  # noqa: E402
from genie_dp.errors import GenieError  # noqa: E402
from genie_dp.rows import read_rows  # noqa: E402
from tests.private.generators import generator_rows  # noqa: E402

LIBRARY = [generator_rows.MAIL, generator_rows.HOME]
SMALL = {
    "about": 40, "batch": 10, "size": 16, "layers": 1, "heads": 2, "longest": 64,
    "library": LIBRARY, "pretraining_epochs": 30, "pretraining_rate": 0.01, "learning_rate": 1e-4,
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder of private rows with a budget, public rows, and a generator."""
    folder = tmp_path_factory.mktemp("api")
    generator_rows.public(folder)
    private = generator_rows.private(folder)
    # Apart: other tests have the same rows, and their ledgers would know them.
    budget = {"epsilon": 8, "delta": 1e-6, "unit": "utterance", "apart": True}
    ledger = gd.private.Ledger.init(private, **budget)
    ledger.train(
        "two-stage", epsilon=3, epochs="1/2", public=folder / "public.jsonl",
        output=folder / "made", **SMALL,
    )  # fmt: skip
    return folder


def refused(make, *arguments, **options):
    with pytest.raises(GenieError) as caught:
        make(*arguments, **options)
    assert generator_rows.CANARY not in str(caught.value)
    return caught.value.problems[0].code


@pytest.mark.slow
def test_a_generator_is_trained_and_drawn_from(folder):
    with gd.private.Ledger(folder / "private.jsonl") as ledger:
        assert 2.5 < ledger.spent.epsilon <= 3
        drawn = ledger.sample(folder / "made", rows=6, library=LIBRARY, seed=3)
        rows = list(drawn.rows)
        assert len(rows) == drawn.number == 6
        assert {row.source for row in rows} == {"private"}
        assert drawn.spent.epsilon == ledger.spent.epsilon
        assert repr(drawn).startswith("SampleResult(6 rows, epsilon 3, delta 1e-06")
        target = folder / "rows.jsonl"
        ledger.sample(folder / "made", rows=6, library=LIBRARY, seed=3, output=target)
        assert list(read_rows(str(target))) == rows
        assert json.loads(target.with_name("rows.jsonl.manifest.json").read_text())["rows"] == 6
        assert len(json.loads(ledger.path.read_text())["entries"]) == 2  # a spend and its end


@pytest.mark.slow
def test_a_parser_reads_the_rows_of_two_stage_back(folder, tmp_path):
    @dataclass
    class Parser:
        """Reads all that is said as a question for the inbox."""

        folder: object
        program: str = generator_rows.INBOX

        def predict(self, utterances, *, count):
            assert count == 1
            return [(self,) for _ in utterances]

    ledger = gd.private.Ledger(folder / "private.jsonl")
    short = {"batch": 16, "width": 1, "longest": 20, "program_longest": 20}
    options = {"library": LIBRARY, "rows": 4, "seed": 3, **short}
    drawn = ledger.sample(folder / "made", parser=Parser(tmp_path), **options)
    assert [row.program for row in drawn.rows] == [generator_rows.INBOX] * 4
    assert "dropped: read as another program by the parser" in "\n".join(drawn.lines())
    facts = {"inputs": {}, "spent": asdict(replace(drawn.spent, epsilon=3.5))}
    (tmp_path / "manifest.json").write_text(json.dumps(facts))
    assert refused(ledger.sample, folder / "made", parser=Parser(tmp_path), **options) == "H008"


def test_what_is_past_the_budget_is_not_trained(folder, tmp_path):
    ledger = gd.private.Ledger(folder / "private.jsonl")
    made = {"output": tmp_path / "made", **SMALL}
    assert refused(ledger.train, "one-stage", epsilon=8, **made) == "B023"
    assert not (tmp_path / "made").exists()
    assert not (tmp_path / ".made.work").exists()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"kind": "one-stage"}, "R041"),
        ({"kind": "one-stage", "epsilon": 1, "rest": True}, "R041"),
        ({"kind": "one-stage", "epsilon": 1, "code_sets": True}, "R041"),
        ({"kind": "one-stage", "epsilon": 1, "heads": 3}, "R041"),
        ({"kind": "no-stage", "epsilon": 1}, "R040"),
        ({"kind": "one-stage", "epsilon": -1}, "R040"),
        ({"kind": "one-stage", "epsilon": 1, "epoch": 3}, "R043"),
        ({"kind": "two-stage", "epsilon": 1, "epochs": "3"}, "H001"),
        ({"kind": "control", "epsilon": 1, "library": (), "language": "sexpr"}, "H006"),
    ],
)
def test_settings_that_no_run_has_are_refused(folder, tmp_path, options, code):
    ledger = gd.private.Ledger(folder / "private.jsonl")
    assert refused(ledger.train, output=tmp_path / "made", **{**SMALL, **options}) == code
    assert list(tmp_path.iterdir()) == []


def test_private_rows_are_not_public_and_a_parser_has_a_folder(folder, tmp_path):
    private = folder / "private.jsonl"
    ledger = gd.private.Ledger(private)
    options = {"output": tmp_path / "made", "epsilon": 1, **SMALL}
    for public in (private, gd.Rows.read(private), [next(iter(gd.Rows.read(private)))]):
        assert refused(ledger.train, "one-stage", public=public, **options) == "H008"

    class Parser:
        folder = None

    assert refused(ledger.train, "two-stage", parser=Parser(), **options) == "H008"
    assert refused(ledger.sample, folder / "made", parser=Parser()) == "H008"


def test_a_generator_of_another_ledger_is_none_of_this_one(folder, tmp_path):
    other = generator_rows.write(
        tmp_path / "other.jsonl", [{"utterance": f"quite another thing {n}"} for n in range(30)]
    )
    ledger = gd.private.Ledger.init(other, epsilon=1, delta=1e-6, unit="utterance")
    assert refused(ledger.sample, folder / "made", library=LIBRARY) == "F010"


def test_a_closed_ledger_trains_and_draws_nothing(folder, tmp_path):
    with gd.private.Ledger(folder / "private.jsonl") as ledger:
        pass
    options = {"output": tmp_path / "made", "epsilon": 1, **SMALL}
    assert refused(ledger.train, "one-stage", **options) == "B036"
    assert refused(ledger.sample, folder / "made") == "B036"
