"""The privacy report: what the ledger says, and of audits only what is no private figure."""

import json
import re
from html import unescape

import pytest

pytest.importorskip("scipy")
pytest.importorskip("dp_accounting")

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.private.audit.report import SCHEMA
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian, Laplace
from tests.browser import check_on_phone, needs_browser

BOUND = {
    "attack": "canaries", "method": "one run", "epsilon": 0.5, "copies": 1, "claimed": 3.0,
    "counts": {"rows": 900, "guesses": 90, "right": 61}, "refutes": False, "refutable": 5.3,
    "unprotected": 4.4,
}  # fmt: skip
AUDIT = {
    "schema": SCHEMA, "title": "Audit of model", "kind": "one-stage", "version": "1", "level": 0.95,
    "claim": {"epsilon": 3.0, "delta": 1e-6}, "rows": None, "extraction": None, "release": None,
    "epsilon": [BOUND],
}  # fmt: skip


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"utterance": "call zanzibar", "user": "u"}\n')
    ledger = Ledger.create(tmp_path / "rows.ledger.json", Budget(3.0, 1e-6, "user", cap=20))
    ledger.spend([Gaussian(12.0)], purpose="frequencies", run="prior-1")
    ledger.spend([Laplace(10.0)], purpose="table <b>", run="table-1")
    ledger.close("prior-1", "ab" * 32)
    (tmp_path / "audit.json").write_text(json.dumps(AUDIT))
    return tmp_path


def report(*options):
    return run(["private", "report", "rows.jsonl", "-o", "privacy.json", *options])


def test_a_report_says_what_was_promised_done_spent_tried_and_left_uncovered(here, capsys):
    assert report("--audit", "audit.json", "--page", "p.html", "--card", "card.md") == 0
    told = "".join(capsys.readouterr())
    found = json.loads((here / "privacy.json").read_text())
    assert found["budget"]["epsilon"] == 3.0
    assert [one["purpose"] for one in found["releases"]] == ["frequencies", "table <b>"]
    assert [bool(one["released"]) for one in found["releases"]] == [True, False]
    assert 0 < found["spent"]["epsilon"] < sum(one["epsilon"] for one in found["releases"])
    assert found["audits"][0]["refutable"] == 5.3
    assert "not refuted: epsilon is at least 0.50; it could have proved 5.30" in told
    page, card = unescape((here / "p.html").read_text()), (here / "card.md").read_text()
    assert "table <b>" not in (here / "p.html").read_text() + card
    for text in (page, card):
        assert "5.3" in text
        assert "Gaussian noise 12" in text
        assert all(gap in text for gap in found["not_covered"])
    assert "table-1, not finished" in page
    assert not re.search(r"https?://|<script", page)
    assert "zanzibar" not in page + card + json.dumps(found) + told
    assert card.startswith("## Privacy\n")


def test_figures_of_private_rows_are_in_no_report(here):
    of_rows = {**BOUND, "attack": "perplexity", "epsilon": 1.2345, "counts": {"rows": 4242}}
    rows = {"members": 2121, "others": 2121, "left": {}}
    audit = {**AUDIT, "rows": rows, "epsilon": [of_rows, BOUND]}
    (here / "audit.json").write_text(json.dumps(audit))
    assert report("--audit", "audit.json", "--page", "p.html", "--card", "card.md") == 0
    texts = [(here / name).read_text() for name in ("privacy.json", "p.html", "card.md")]
    for text in texts:
        assert "computed from private rows" in text
        assert not re.search("1\\.2345|4242|2121|4\\.4\\b", text)
    (here / "audit.json").write_text(json.dumps({**audit, "epsilon": [of_rows]}))
    assert report("--audit", "audit.json", "--overwrite") == 0
    (found,) = json.loads((here / "privacy.json").read_text())["audits"]
    assert found["result"].startswith("no canaries")
    assert found["bounds"] == []


@pytest.mark.parametrize(
    ("bound", "result"),
    [
        ({"epsilon": 4.4, "refutes": True}, "REFUTED: epsilon is at least 4.40"),
        ({"refutable": 2.0}, "too small to refute what is claimed: epsilon is at least 0.50"),
    ],
)
def test_a_claim_that_is_refuted_or_could_not_be_says_so(here, bound, result):
    (here / "audit.json").write_text(json.dumps({**AUDIT, "epsilon": [BOUND | bound]}))
    with gd.private.Ledger("rows.jsonl") as ledger:
        made = ledger.report(audits="audit.json")
    assert made.facts["audits"][0]["result"].startswith(result)
    assert (" refuted</td>" in made.page()) == ("REFUTED" in result)


def test_python_gives_what_the_command_writes_and_a_file_that_is_no_audit_is_refused(here):
    assert report("--audit", "audit.json") == 0
    with gd.private.Ledger("rows.jsonl") as ledger:
        assert ledger.report(audits=["audit.json"]).facts == json.loads(
            (here / "privacy.json").read_text()
        )
        with pytest.raises(GenieError, match="N062"):
            ledger.report(audits="rows.ledger.json")
        with pytest.raises(GenieError, match="Y022"):
            ledger.report(output="privacy.json")
        ledger.report(output="privacy.json", page="page.html", overwrite=True)
    assert (here / "page.html").exists()
    assert report("--page", "privacy.json", "--overwrite") == 1


@needs_browser
def test_the_page_fits_a_phone_and_complains_of_nothing(chrome, here):
    assert report("--audit", "audit.json", "--page", "p.html") == 0
    check_on_phone(chrome, (here / "p.html").as_uri())
