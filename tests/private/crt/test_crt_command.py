"""`genie-dp private train crt`: what it writes, says and refuses, and no private text."""

import json
import math
import re
import sys
from pathlib import Path

import pytest

pytest.importorskip("opacus")


from genie_dp.cli import load_command, run
from genie_dp.cli.private.train import TRAININGS
from genie_dp.errors import GenieError
from genie_dp.private.crt.config import CrtConfig
from genie_dp.private.crt.rows import measured_redaction, open_redacted
from genie_dp.private.crt.statements import NOTHING_PUBLIC, UNMEASURED, read_records
from genie_dp.private.generators.generator import build_model, load_generator
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.redact.provenance import Provenance, digest_of_rows, manifest_beside
from genie_dp.run.manifest import ledger_of

ROOT = Path(__file__).parents[3]
sys.path.append(str(ROOT / "benchmarks"))

from crt_figures import amplification_svg  # noqa: E402

CANARY = "Zorblatt"
SMALL = ["--size", "8", "--longest", "16", "--batch", "4", "--public-batch", "4"]
PAY = ["--about", "12", "--epsilon", "2", "--epochs", "1"]
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
    assert run(["private", "budget", "init", str(rows), *budget]) == 0
    by_redact(rows)
    return rows


def by_redact(rows, *, unit_field=None, near=None, are_compared=True, is_all_private=False):
    """Put the manifest of redaction beside rows."""
    made = Provenance(unit_field, near, are_compared, is_all_private, digest_of_rows(rows))
    manifest_beside(rows).write_text(json.dumps({"redaction": made.as_dict()}))


def train(rows, *options):
    return run(["private", "train", "crt", str(rows), "--output", "model", *SMALL, *options])


def _examples():
    facts = {"program": "", "language": "thingtalk", "source": "synthetic"}
    return [{"id": str(i), "utterance": "play c", **facts} for i in range(2)]


def everything_in(folder):
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_trainings_are_listed_with_their_own_lines_of_help(capsys):
    assert run(["private", "train", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in TRAININGS)
    place, line = TRAININGS["crt"]
    assert load_command(place).get_short_help_str(200) == line


def test_a_kind_is_given_by_its_name(capsys):
    assert run(["private", "train", "two-stage", "--help"]) == 0
    said = capsys.readouterr().out
    assert "train two-stage [OPTIONS] PRIVATE" in said
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
    assert CrtConfig(**settings).course(None).training.learning_rate == rate


@pytest.mark.slow
def test_a_model_its_cost_and_its_statement(budgeted, tmp_path, capsys):
    assert train(budgeted, *PAY, *SHARES) == 0
    said = capsys.readouterr().err
    assert "noise multiplier" in said
    assert "0.1 (0.05 to 0.2) on 20 rows by hand" in said
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
    # The ledger shows it as well.
    assert run(["private", "budget", "show", str(budgeted)]) == 0
    assert "20 rows by hand" in capsys.readouterr().out
    assert run(["private", "budget", "show", str(budgeted), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["confidentiality"] == told


def test_no_private_text_is_written_or_said(budgeted, tmp_path, capsys):
    assert train(budgeted, *PAY, *SHARES) == 0
    said = capsys.readouterr()
    seen = said.out + said.err
    assert CANARY not in seen
    assert CANARY.encode() not in everything_in(tmp_path / "model")
    for path in tmp_path.glob("*.json"):
        assert CANARY not in path.read_text()
    # Words of public rows are in the vocabulary, those of private rows are not.
    vocabulary = load_generator(tmp_path / "model").generator.tokenizer.words
    assert "play" in vocabulary
    assert "<MASK>" in vocabulary
    assert "name" not in vocabulary


def test_how_many_rows_have_no_secret_is_not_told_on_the_way(
    budgeted, tmp_path, capsys, monkeypatch
):
    for pace in ("_FIRST_LINE", "_NEXT_LINE"):
        monkeypatch.setattr(f"genie_dp.run.stage.{pace}", 0.0)
    assert train(budgeted, *PAY, *SHARES) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if " learns" in line]
    assert lines
    assert all(re.fullmatch(r"[a-z]+ learns(: \d+ %)?", line) for line in lines)


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
@pytest.mark.parametrize("more", [[], ["--redacted-apart"]])
def test_rows_that_were_redacted_by_another_unit_are_refused(by_user, capsys, options, says, more):
    rows = by_user(*options)
    capsys.readouterr()
    assert train(rows, *PAY, *SHARES, *more) == 1
    said = capsys.readouterr().err
    assert "error[O017]" in said
    assert says in said
    assert "redact again" in said
    assert not Ledger.open(ledger_of(rows)).entries
    assert not Path(".model.work").exists()


def test_rows_of_users_that_nobody_compared_are_taken_by_any_unit(by_user, capsys):
    assert train(by_user("--keep", "user", "--keep-duplicates"), *PAY, *SHARES) == 0


def test_alike_rows_of_a_user_are_taken_where_no_row_is_public(by_user, capsys):
    rows = by_user("--unit-field", "user", "--near", "0.8")
    assert train(rows, *PAY, *SHARES, "--method", "dp") == 0
    assert "alike rows were compared" in capsys.readouterr().err


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
    import torch

    from genie_dp.private.training.run import PrivateRun

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
    settings = CrtConfig(kind="two-stage", size=8, longest=16).model_settings()
    vocabulary = kept.generator.tokenizer
    for name, model in kept.generator.models.items():
        new = build_model(settings, len(vocabulary.pieces), seed=0, stage=name)
        for other in (new, saved.models[name]):
            pairs = zip(model.parameters(), other.parameters(), strict=True)
            assert not all(torch.equal(one, two) for one, two in pairs)


def test_private_rows_are_no_public_ones(budgeted, tmp_path, capsys):
    assert train(budgeted, *PAY, *SHARES, "--public", str(budgeted)) == 1
    assert "error[H008]" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    assert Ledger.open(tmp_path / "rows.ledger.json").entries == ()


def test_the_decoder_learns_by_dp_on_all_rows(budgeted, tmp_path):
    options = ["--method", "dp", "--model", "decoder", "--layers", "1", "--heads", "2"]
    public = write(tmp_path / "more.jsonl", _examples())
    assert train(budgeted, *PAY, *options, "--public", str(public)) == 0
    saved = load_generator(tmp_path / "model")
    assert "<MASK>" in saved.generator.tokenizer.words
    # Marks are not looked at: words of rows that are trained on privately give no vocabulary.
    assert "now" not in saved.generator.tokenizer.words
    (record,) = read_records(tmp_path / "rows.ledger.json")
    assert record.redaction.missed_by_both == NOTHING_PUBLIC
    assert record.redaction.gamma == UNMEASURED


def test_a_run_that_was_interrupted_goes_on_and_is_paid_once(budgeted, tmp_path, monkeypatch):
    from genie_dp.private.training.run import PrivateRun

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


def test_baselines_on_redacted_rows_promise_nothing(rows, tmp_path, capsys):
    options = ["--method", "masked", "--without-guarantee", "--epochs", "1"]
    assert train(rows, *options) == 0
    assert "no guarantee" in capsys.readouterr().err
    assert load_generator(tmp_path / "model").spent.epsilon == math.inf
    assert not (tmp_path / "model" / "confidentiality.json").exists()


def code_of(capsys):
    said = capsys.readouterr().err
    assert CANARY not in said
    return said.split("[")[1].split("]")[0]


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ([*PAY[:2], "--epsilon", "2", "--epochs", "1/2"], "O007"),
        ([*PAY[:2], "--epsilon", "2", "--epochs", "x"], "O007"),
        (["--about", "2", "--epsilon", "2"], "O006"),
        ([*PAY, "--gamma", "0.3,0.4,0.5", "--measured-on", "x"], "O001"),
        ([*PAY, "--gamma", "much", "--measured-on", "x"], "O001"),
        ([*PAY, "--report", "broken.json"], "O011"),
        (["--about", "12", "--epsilon", "6", "--epochs", "1"], "B023"),
        (["--method", "masked", "--without-guarantee"], "O010"),
    ],
)
def test_mistakes_are_said_by_their_code_and_cost_nothing(
    budgeted, tmp_path, capsys, options, code
):
    (tmp_path / "broken.json").write_text("{}")
    assert train(budgeted, *options) == 1
    assert code_of(capsys).startswith(code)
    assert not Ledger.open(tmp_path / "rows.ledger.json").entries
    assert not (tmp_path / "model").exists()
    assert not (tmp_path / ".model.work").exists()


def test_rows_that_do_not_suit_a_baseline_are_refused(rows, tmp_path, capsys):
    bare = ["--without-guarantee", "--epochs", "1", "--method"]
    assert train(rows, *bare, "non-private") == 1
    assert code_of(capsys) == "O013"
    plain = write(tmp_path / "plain.jsonl", [{"utterance": "a b"}] * 4)
    assert train(plain, *bare, "masked") == 1
    assert code_of(capsys) == "O013"
    assert train(plain, *bare, "non-private") == 0


@pytest.mark.parametrize(
    "options",
    [
        [], ["--about", "12"], ["--epsilon", "2"], [*PAY, "--rest"],
        ["--method", "masked"], ["--method", "masked", "--without-guarantee", "--epsilon", "1"],
        [*PAY, "--without-guarantee"],
        [*PAY, "--gamma", "0.1"], [*PAY, "--measured-on", "x"], [*PAY, "--resume", "--overwrite"],
        [*PAY, "--model", "decoder", "--heads", "3"],
        ["--method", "masked", "--without-guarantee", "--redacted-apart"],
        ["--method", "masked", "--without-guarantee", "--public-model", "before"],
    ],
)  # fmt: skip
def test_options_that_do_not_go_together_are_wrong_usage(budgeted, options):
    assert train(budgeted, *options) == 2


def test_a_report_has_both_shares(tmp_path, budgeted):
    share = {"estimate": 0.1, "low": 0.05, "high": 0.2, "measured_on": "20 rows"}
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"gamma": share, "missed_by_both": {**share, "estimate": 0.15}}))
    budget = Ledger.open(tmp_path / "rows.ledger.json").budget
    found = measured_redaction(CrtConfig(), budgeted, budget, report=report)
    assert (found.gamma.estimate, found.missed_by_both.estimate) == (0.1, 0.15)
    for wrong in ({"gamma": share}, {"gamma": share, "missed_by_both": 0}, [share], "gamma"):
        report.write_text(json.dumps(wrong))
        with pytest.raises(GenieError) as caught:
            measured_redaction(CrtConfig(), budgeted, budget, report=report)
        assert caught.value.problems[0].code == "O011"


def test_every_code_is_explained_and_no_other():
    folders = (ROOT / "genie_dp" / "private" / "crt", ROOT / "genie_dp" / "cli" / "private")
    files = [
        *(path for folder in folders for path in folder.glob("*.py")),
        ROOT / "genie_dp" / "private" / "ledger" / "run.py",
    ]
    texts = "".join(path.read_text(encoding="utf-8") for path in files)
    page = (ROOT / "docs" / "crt.md").read_text(encoding="utf-8")
    explained = re.findall(r"^\| (O\d{3}) \|", page, re.MULTILINE)
    assert len(explained) >= 13
    assert explained == sorted(set(re.findall(r'"(O\d{3})"', texts)))


def test_the_picture_of_the_page_is_the_one_that_is_drawn():
    picture = (ROOT / "docs" / "crt-amplification.svg").read_text(encoding="utf-8")
    assert picture == amplification_svg()


def test_rows_of_redact_are_learned_from(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = [
        "play some jazz",
        "what is on",
        *(f"write to ann{i}@example.com now" for i in range(6)),
    ]
    calls = write(tmp_path / "calls.jsonl", [{"utterance": text} for text in texts])
    assert (
        run(["private", "redact", str(calls), "-o", "redacted.jsonl", "--conservative", "0.1"]) == 0
    )
    found = open_redacted(tmp_path / "redacted.jsonl", language="thingtalk")
    assert [row.utterance for row in found.public] == texts[:2]
    assert len(found.private) == 6
    assert all("<MASK>" in unit[0].utterance.split() for unit in found.private)
