"""What `private policies` measures is what `private train crt --report` reads."""

import json
from types import SimpleNamespace

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.private.crt.run import Crt
from genie_dp.private.ledger.budget import Budget

BUDGET = Budget(8.0, 1e-5, "utterance")


@pytest.fixture
def labelled(tmp_path, monkeypatch):
    """Ten secrets, of which patterns find nine; the tenth is in a text with nothing else."""
    monkeypatch.chdir(tmp_path)
    rows = []
    for n in range(9):
        mail = f"name{n}@example.com"
        rows.append({"utterance": f"write to {mail}", "spans": [[9, 9 + len(mail), "email"]]})
    rows.append({"utterance": "i am zorblatt", "spans": [[5, 13, "person"]]})
    path = tmp_path / "labelled.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rows.jsonl").write_text("")
    return tmp_path


def policies(*options):
    return run(["private", "score-redaction", "labelled.jsonl", "-o", "policies.json", *options])


def read_back(path):
    return Crt(
        private=path / "rows.jsonl", ledger=SimpleNamespace(budget=BUDGET), epsilon=2,
        estimated_units=10, report=path / "policies.json", redacted_apart=True,
    ).redaction()  # fmt: skip


def test_the_one_file_is_read_by_the_other(labelled):
    assert policies() == 0
    written = json.loads((labelled / "policies.json").read_text())
    found = read_back(labelled)
    assert found.gamma.estimate == written["policies"][0]["gamma"]["value"] == 0.1
    assert found.missed_by_both.estimate == written["policies"][1]["exposed"]["value"] == 0.1
    assert 0 < found.gamma.low < 0.1 < found.gamma.high < 0.5
    assert found.gamma.measured_on == "10 labelled secrets"


@pytest.mark.parametrize("named", [["--policy", "pi=0.5"],
                                   ["--policy", "pi=0.1", "--policy", "pi_c=0.5"]])  # fmt: skip
def test_without_both_policies_there_are_no_shares(labelled, named):
    assert policies(*named) == 0
    with pytest.raises(GenieError, match="O011"):
        read_back(labelled)


def test_intervals_narrower_than_statements_say_are_refused(labelled):
    assert policies("--level", "0.6") == 0
    with pytest.raises(GenieError, match="60%") as caught:
        read_back(labelled)
    assert caught.value.problems[0].code == "O011"
    # Wider ones claim less, and are taken.
    assert policies("--level", "0.99") == 0
    assert read_back(labelled).gamma.estimate == 0.1
