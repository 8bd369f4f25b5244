"""`genie-dp private train crt`: what it writes, says and refuses, and no private text."""

import json
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("opacus")

import torch

from genie_dp.cli import load_command, run
from genie_dp.cli.private.train import TRAININGS
from genie_dp.errors import GenieError
from genie_dp.private.crt.rows import open_redacted
from genie_dp.private.crt.run import Crt
from genie_dp.private.crt.statements import NOTHING_PUBLIC, UNMEASURED, read_records
from genie_dp.private.generators.generator import build_model, load_generator
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.redact.provenance import Provenance, digest_of_rows, manifest_beside
from genie_dp.private.training.run import PrivateRun
from genie_dp.run.manifest import ledger_of
from tests.golden import cases
from tests.refusals import refusal, refusals

CANARY = "Zorblatt"
SMALL = ["--size", "8", "--longest", "16", "--batch", "4", "--public-batch", "4"]
PAY = ["--estimated-units", "12", "--epsilon", "2", "--epochs", "1"]
SHARES = ["--gamma", "0.1,0.05,0.2", "--delta-2", "0,0,0.01", "--measured-on", "20 rows by hand"]


def write(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Redacted rows; the policy missed a name in one of the private ones."""
    monkeypatch.chdir(tmp_path)
    public = [{"utterance": f"play {word} now", "part": "public"} for word in "abab" * 3]
    masked = [{"utterance": "my name is <MASK>", "part": "private"} for _ in range(6)]
    missed = [{"utterance": f"my name is {CANARY} {i}", "part": "private"} for i in range(6)]
    for row in (*public, *masked, *missed):
        row["program"] = f'now => @x.play ( q = " {row["utterance"].split()[1]} " ) ;'
    return write(tmp_path / "rows.jsonl", [*public, *masked, *missed])


@pytest.fixture
def budgeted(rows):
    budget = ["--epsilon", "5", "--delta", "1e-3", "--unit", "utterance"]
    fast = ["--accountant", "rdp"]
    assert run(["private", "budget", "init", str(rows), *budget, *fast]) == 0
    by_redact(rows)
    return rows


def by_redact(rows, *, unit_field=None, near=None, are_compared=True, is_all_private=False):
    """Put the manifest of redaction beside rows."""
    made = Provenance(unit_field, near, are_compared, is_all_private, digest_of_rows(rows))
    manifest_beside(rows).write_text(json.dumps({"redaction": made.as_dict()}))


def crt(rows=Path("rows.jsonl"), **settings):
    """Return the stage, with what it needs."""
    ledger = SimpleNamespace(budget=Budget(8.0, 1e-5, "utterance"))
    return Crt(private=rows, **{"ledger": ledger, "epsilon": 2, "estimated_units": 12, **settings})


def train(rows, *options):
    return run(["private", "train", "crt", str(rows), "--output", "model", *SMALL, *options])


def everything_in(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_trainings_are_listed_and_a_kind_is_given_by_its_name(capsys):
    assert run(["private", "train", "--help"]) == 0
    said = capsys.readouterr().out
    for name, entry in TRAININGS.items():
        assert name in said
        assert load_command(entry.place).name == name
        assert load_command(entry.place).get_short_help_str(200) == entry.help
    assert run(["private", "train", "two-stage", "--help"]) == 0
    assert "train two-stage [OPTIONS] PRIVATE" in capsys.readouterr().out
    assert run(["private", "train", "three-stage"]) == 2


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        ({}, 0.05),
        ({"model": "decoder"}, 0.02),
        ({"model": "distilgpt2"}, 0.001),
        ({"learning_rate": 0.3}, 0.3),
    ],
)
def test_noisy_steps_have_the_rate_of_their_model_unless_told(settings, rate):
    assert crt(**settings).noisy_steps.learning_rate == rate


@pytest.mark.trains
def test_a_model_its_cost_its_statement_and_no_private_text(
    budgeted, tmp_path, capsys, monkeypatch
):
    for pace in ("_FIRST_LINE", "_NEXT_LINE"):
        monkeypatch.setattr(f"genie_dp.run.stage.{pace}", 0.0)
    assert train(budgeted, *PAY, *SHARES) == 0
    said = capsys.readouterr()
    assert CANARY not in said.out + said.err
    assert "noise multiplier" in said.err
    assert "0.1 (0.05 to 0.2) on 20 rows by hand" in said.err
    # How many rows have no secret is not told on the way.
    lines = [line for line in said.err.splitlines() if " learns" in line]
    assert lines
    assert all(re.fullmatch(r"[a-z]+ learns(: \d+ %)?", line) for line in lines)
    saved = load_generator(tmp_path / "model")
    ledger = Ledger.open(tmp_path / "rows.ledger.json")
    assert saved.spent.epsilon == ledger.spent().epsilon <= 2
    assert any("public" in line for line in saved.spent.not_covered)
    (record,) = read_records(ledger.path)
    assert ledger.entries[0].purpose == f"one-stage by crt{record.mark}"
    assert "misses 0.1 (0.05 to 0.2)" in ledger.entries[0].purpose
    told = json.loads((tmp_path / "model" / "confidentiality.json").read_text())
    assert told["gamma"] == 0.2
    assert told["rows"]["epsilon"] < told["secret"]["epsilon"]
    assert told["bayesian"]["epsilon"] < told["secret"]["epsilon"]
    assert told["bayesian"]["delta"] == pytest.approx(0.01 + 1e-3)
    assert not (tmp_path / ".model.work").exists()
    assert CANARY.encode() not in everything_in(tmp_path / "model")
    for path in tmp_path.glob("*.json"):
        assert CANARY not in path.read_text()
    # Words of public rows are in the vocabulary, those of private rows are not.
    assert {"play", "<MASK>", "name"} & set(saved.generator.tokenizer.words) == {"play", "<MASK>"}
    # The ledger shows it as well.
    assert run(["private", "budget", "show", str(budgeted)]) == 0
    assert "20 rows by hand" in capsys.readouterr().out
    assert run(["private", "budget", "show", str(budgeted), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["confidentiality"] == told


@pytest.fixture
def by_user(tmp_path, monkeypatch):
    """Return what makes redacted rows of users, and a budget by user."""
    monkeypatch.chdir(tmp_path)

    def made(*options):
        said = ["turn on the lights", "play some jazz now", "mail ann@example.org", "is it late"]
        rows = [{"utterance": text, "user": f"u_{i}"} for i in range(3) for text in said]
        calls, out = write(tmp_path / "calls.jsonl", rows), tmp_path / "redacted.jsonl"
        words = ["private", "redact", str(calls), "-o", str(out), "--conservative", "0.1"]
        assert run([*words, *options]) == 0
        budget = ["--epsilon", "5", "--delta", "1e-3", "--unit", "user", "--cap", "5"]
        assert run(["private", "budget", "init", str(out), *budget]) == 0
        return out

    return made


@pytest.mark.trains
def test_what_is_promised_of_users_is_of_rows_that_were_redacted_by_user(by_user, tmp_path, capsys):
    rows = by_user("--unit-field", "user")
    assert train(rows, *PAY, *SHARES) == 0
    said = capsys.readouterr().err
    assert "one user's private rows more or less: epsilon" in said
    assert "secrets of one user's private rows that redaction missed, or <MASK>: epsilon" in said
    spent = load_generator(tmp_path / "model").spent
    assert spent.unit == "user"
    assert any("lists, detectors and labelled rows" in line for line in spent.not_covered)
    assert not any("the owner's word" in line for line in spent.not_covered)
    assert json.loads((tmp_path / "model" / "confidentiality.json").read_text())["unit"] == "user"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--keep", "user"], "was redacted by row"),
        (["--keep", "user", "--near", "0.8"], "was redacted by row with alike rows"),
        # Public by its own rows, but which are alike may follow from a secret.
        (["--unit-field", "user", "--near", "0.8"], "alike rows"),
    ],
)
def test_rows_that_were_redacted_by_another_unit_are_refused(by_user, capsys, options, says):
    rows = by_user(*options)
    capsys.readouterr()
    for more in ([], ["--redacted-apart"]):
        assert train(rows, *PAY, *SHARES, *more) == 1
        said = capsys.readouterr().err
        assert "error[O017]" in said
        assert says in said
        assert "redact again" in said
    assert not Ledger.open(ledger_of(rows)).entries
    assert not Path(".model.work").exists()


@pytest.mark.parametrize(
    ("options", "all_private"),
    [
        (["--keep", "user", "--keep-duplicates"], False),  # nobody compared them
        (["--unit-field", "user", "--near", "0.8"], True),  # no row is public
    ],
)
def test_rows_of_users_that_tell_nothing_of_others_are_taken(by_user, options, all_private):
    rows = by_user(*options)
    budget = Ledger.open(ledger_of(rows)).budget
    found = open_redacted(rows, language="thingtalk", budget=budget, all_private=all_private)
    assert len(found.private) == 3


@pytest.mark.slow
def test_rows_without_their_manifest_need_the_owners_word(budgeted, tmp_path, capsys):
    manifest = manifest_beside(budgeted)
    whole = manifest.read_text()
    # Of other rows, of none, and no manifest at all.
    for text in (whole.replace("sha256", "sha"), whole.replace('"sha256": "', '"sha256": "0'), ""):
        manifest.write_text(text)
        assert train(budgeted, *PAY, *SHARES) == 1
        assert code_of(capsys) == "O016"
    manifest.unlink()
    assert train(budgeted, *PAY, *SHARES) == 1
    assert "--redacted-apart" in capsys.readouterr().err
    budget = Ledger.open(ledger_of(budgeted)).budget
    with pytest.raises(GenieError, match="O016"):
        open_redacted(budgeted, language="thingtalk", budget=budget)
    assert not Ledger.open(ledger_of(budgeted)).entries
    assert train(budgeted, *PAY, *SHARES, "--redacted-apart") == 0
    assert "by the owner's word" in capsys.readouterr().err
    not_covered = load_generator(tmp_path / "model").spent.not_covered
    assert any("the owner's word" in line for line in not_covered)
    assert run(["private", "budget", "show", str(budgeted)]) == 0
    assert "by the owner's word" in capsys.readouterr().out


@pytest.mark.slow
def test_two_stages_are_trained_confidentially(budgeted, tmp_path, monkeypatch):
    before, whole, steps = tmp_path / "before", PrivateRun.step, []

    def step(self, rows):
        steps.append((before / "spent.json").exists())
        whole(self, rows)

    monkeypatch.setattr(PrivateRun, "step", step)
    options = ["--kind", "two-stage", *PAY[:-1], "1/1", *SHARES, "--public-model", "before"]
    assert train(budgeted, *options) == 0
    saved = load_generator(tmp_path / "model").generator
    assert sorted(saved.models) == ["program", "utterance"]
    (entry,) = Ledger.open(tmp_path / "rows.ledger.json").entries
    assert len(entry.mechanisms) == 2
    # What audits compare with was written before the first private row was stepped on. It has taken
    # the public steps of both stages, and none else.
    assert steps
    assert all(steps)
    kept = load_generator(before)
    assert kept.spent.epsilon == 0
    assert any("public" in line for line in kept.spent.not_covered)
    assert CANARY.encode() not in everything_in(before)
    settings = crt(kind="two-stage", size=8, longest=16).model_settings()
    vocabulary = kept.generator.tokenizer
    for name, model in kept.generator.models.items():
        new = build_model(settings, len(vocabulary.pieces), seed=0, stage=name)
        for other in (new, saved.models[name]):
            pairs = zip(model.parameters(), other.parameters(), strict=True)
            assert not all(torch.equal(one, two) for one, two in pairs)


@pytest.mark.trains
def test_the_decoder_learns_by_dp_on_all_rows(budgeted, tmp_path):
    options = ["--method", "dp", "--model", "decoder", "--layers", "1", "--heads", "2"]
    facts = {"id": "1", "program": "", "language": "thingtalk", "source": "synthetic"}
    public = write(tmp_path / "more.jsonl", [{"utterance": "play c", **facts}] * 2)
    assert train(budgeted, *PAY, *options, "--public", str(public)) == 0
    saved = load_generator(tmp_path / "model")
    assert "<MASK>" in saved.generator.tokenizer.words
    # Marks are not looked at: words of rows that are trained on privately give no vocabulary.
    assert "now" not in saved.generator.tokenizer.words
    (record,) = read_records(tmp_path / "rows.ledger.json")
    assert record.redaction.missed_by_both == NOTHING_PUBLIC
    assert record.redaction.gamma == UNMEASURED


@pytest.mark.trains
def test_a_run_that_was_interrupted_goes_on_and_is_paid_once(budgeted, tmp_path, monkeypatch):
    whole, calls = PrivateRun.step, []

    def stopping(self, rows):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        whole(self, rows)

    monkeypatch.setattr(PrivateRun, "step", stopping)
    options = [*PAY, *SHARES, "--checkpoint-every", "1", "--public-model", "before"]
    assert train(budgeted, *options) == 130
    kept = everything_in(tmp_path / "before")
    assert train(budgeted, *options) == 1
    assert train(budgeted, *options, "--resume", "--clip", "0.2") == 1
    assert train(budgeted, *options, "--resume") == 0
    # Two of three steps: the first is not taken again.
    assert len(calls) == 4
    assert everything_in(tmp_path / "before") == kept
    assert len(Ledger.open(tmp_path / "rows.ledger.json").entries) == 1


@pytest.mark.trains
def test_a_baseline_on_redacted_rows_promises_nothing(rows, tmp_path, capsys):
    assert train(rows, "--method", "masked", "--without-guarantee", "--epochs", "1") == 0
    assert "no guarantee" in capsys.readouterr().err
    assert load_generator(tmp_path / "model").spent.epsilon == math.inf
    assert not (tmp_path / "model" / "confidentiality.json").exists()


def code_of(capsys):
    said = capsys.readouterr().err
    assert CANARY not in said
    return said.split("[")[1].split("]")[0]


def test_mistakes_are_told_and_cost_nothing(budgeted, tmp_path, golden, capsys):
    (tmp_path / "broken.json").write_text("{}")
    for case in cases("private_refused/crt.txt"):
        told = refusals(case, lambda options: train(budgeted, *options), capsys)
        golden(case, told)
        assert CANARY not in told
    assert refusal(train(budgeted), capsys).startswith("2: ")
    assert not Ledger.open(tmp_path / "rows.ledger.json").entries
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / ".model.work").exists()


@pytest.mark.trains
def test_rows_that_do_not_suit_a_baseline_are_refused(rows, tmp_path, capsys):
    plain = write(tmp_path / "plain.jsonl", [{"utterance": "a b"}] * 4)
    bare = ["--without-guarantee", "--epochs", "1", "--method"]
    for of, method in ((rows, "non-private"), (plain, "masked")):
        assert train(of, *bare, method) == 1
        assert code_of(capsys) == "O013"
    assert train(plain, *bare, "non-private") == 0


def test_a_report_has_both_shares(tmp_path, budgeted):
    share = {"estimate": 0.1, "low": 0.05, "high": 0.2, "measured_on": "20 rows"}
    report, book = tmp_path / "report.json", Ledger.open(ledger_of(budgeted))
    report.write_text(json.dumps({"gamma": share, "missed_by_both": {**share, "estimate": 0.15}}))
    found = crt(budgeted, ledger=book, report=report).redaction()
    assert (found.gamma.estimate, found.missed_by_both.estimate) == (0.1, 0.15)
    for wrong in ({"gamma": share}, {"gamma": share, "missed_by_both": 0}, [share], "gamma"):
        report.write_text(json.dumps(wrong))
        with pytest.raises(GenieError, match="O011"):
            crt(budgeted, ledger=book, report=report).redaction()
