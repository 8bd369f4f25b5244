"""`genie-dp private redact`, `detector` and `policies` on files: written, refused, hidden."""

import json
import re
import stat
from pathlib import Path

import pytest

from genie_dp.cli import run
from genie_dp.private.redact import run as redact_run
from genie_dp.records import Example
from genie_dp.rows import to_json
from tests.golden import cases
from tests.refusals import refusals

CANARY = "zanzibar"
ROWS = [
    {"utterance": f"my name is Kim {CANARY.title()}", "user": f"{CANARY}1",
     "program": f'( hello " kim {CANARY} " )', "language": "sexpr"},
    {"utterance": "turn on the lights", "user": "2"},
    {"utterance": "turn on the lights", "user": "2"},
    {"utterance": "what is the weather", "user": "3"},
    {"utterance": f"order number {CANARY}99 from Bob", "user": "4"},
]  # fmt: skip


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def redact(*arguments, code=0):
    assert run(["private", "redact", *map(str, arguments)]) == code


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_rows_are_masked_and_parted_and_nothing_secret_is_written_or_said(
    tmp_path, rows, capsys, caplog
):
    out, report, review = (tmp_path / name for name in ("out.jsonl", "report.json", "review.html"))
    files = ("-o", out, "--report", report, "--review", review)
    redact(rows, *files, "--keep", "user", "--conservative", 0.15)
    found = read(out)
    assert [row["part"] for row in found] == ["private", "public", "private", "public", "private"]
    assert found[0]["utterance"] == "my name is <MASK>"
    assert found[0]["program"] == '( hello " <MASK> " )'
    assert found[2]["utterance"] == "<MASK>"
    assert {row["source"] for row in found} == {"private"}
    said = capsys.readouterr()
    for text in (out.read_text(), report.read_text(), said.out, said.err, caplog.text):
        assert CANARY not in text.lower()
    # Neither is how many rows there are: what is printed ends in logs.
    assert not any(sign.isdigit() for sign in said.err.replace(str(tmp_path), ""))
    assert json.loads(report.read_text())["counts"]["points"] == len(ROWS)
    assert CANARY in review.read_text().lower()
    # Files are for their owner alone.
    assert [stat.S_IMODE(path.stat().st_mode) for path in (out, report, review)] == [0o600] * 3
    assert not list(tmp_path.glob(".*partial"))


def test_without_a_conservative_policy_all_rows_are_private_and_fields_are_dropped(
    tmp_path, rows, capsys
):
    redact(rows, "-o", tmp_path / "out.jsonl")
    found = read(tmp_path / "out.jsonl")
    assert {row["part"] for row in found} == {"private"}
    assert not [row for row in found if "user" in row]
    assert "no --conservative policy" in capsys.readouterr().err


def test_how_many_rows_there_are_is_not_told_on_a_terminal(tmp_path, capsys, monkeypatch):
    rows = tmp_path / "many.jsonl"
    rows.write_text("".join(f'{{"utterance": "say {n}"}}\n' for n in range(613)))
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    redact(rows, "--output", tmp_path / "out.jsonl")
    told = capsys.readouterr().err
    assert "secrets are looked for" in told
    assert not {"613", "600", "512"} & set(re.findall(r"[0-9]+", told))


def test_redacting_again_changes_nothing(tmp_path, rows):
    first, second = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    redact(rows, "-o", first, "--conservative", 0.15)
    redact(first, "-o", second, "--conservative", 0.15, "--keep-duplicates")
    assert first.read_bytes() == second.read_bytes()


def test_text_is_split_and_alike_rows_are_masked_if_asked_for(tmp_path):
    path, out = tmp_path / "text.txt", tmp_path / "out.jsonl"
    watered = "lease water the plants on the balcony"
    path.write_text(f"p{watered}\nP{watered}!\n")
    for options, last in (((), f"P{watered}!"), (("--near", 0.8), "<MASK>")):
        redact(path, "-o", out, "--overwrite", *options)
        assert read(out)[1]["utterance"] == last
    path.write_text("My name is Kim\nDay. Call me\nsoon.\n\nBye.\n")
    redact(path, "-o", out, "--overwrite", "--points", "sentence", "--conservative", 0.3)
    assert [(row["utterance"], row["part"]) for row in read(out)] == [
        ("My name is <MASK>.", "private"),
        ("Call me soon.", "public"),
        ("Bye.", "public"),
    ]


WRAPPED = f"My name is\n{CANARY} and I\nlive in York. My\nnumber is secret\n" * 2


@pytest.mark.parametrize(
    ("name", "content", "code"),
    [
        ("mail.txt", WRAPPED, "E010"),  # lines that cut sentences
        ("rows.jsonl", "", "E009"),
        *(("rows.jsonl", f'{{"utterance": "fine"}}\n{{"utterance": {row}\n', "E009")
          for row in (f'"{CANARY}"', f'["{CANARY}"]}}', f'"{CANARY}", "program": 3}}',
                      f'"{CANARY}", "language": 3}}')),
    ],
)  # fmt: skip
def test_broken_rows_are_told_by_their_place(tmp_path, capsys, name, content, code):
    path = tmp_path / name
    path.write_text(content)
    redact(path, "-o", tmp_path / "out.jsonl", code=1)
    said = capsys.readouterr().err
    assert code in said
    assert CANARY not in said
    assert not (tmp_path / "out.jsonl").exists()


def test_outputs_that_would_leak_or_destroy_are_refused(tmp_path, rows, capsys):
    redact(rows, "-o", "-", code=1)
    redact(rows, "-o", "s3://bucket/x.jsonl", code=1)
    assert capsys.readouterr().err.count("E015") == 2
    out = tmp_path / "out.jsonl"
    out.write_text("mine")
    redact(rows, "-o", out, code=1)
    redact(rows, "-o", rows, "--overwrite", code=1)
    redact(rows, "-o", tmp_path / "a", "--report", tmp_path / "a", code=1)
    assert "E016" in capsys.readouterr().err
    assert out.read_text() == "mine"
    redact(rows, "-o", out, "--overwrite")
    assert len(read(out)) == len(ROWS)


def test_options_that_mean_nothing_are_refused(rows, golden, capsys, monkeypatch):
    monkeypatch.chdir(rows.parent)
    [case] = cases("private_refused/redact.txt")
    words = ["private", "redact", rows.name, "-o", "out.jsonl"]
    golden(case, refusals(case, lambda more: run([*words, *more]), capsys))
    assert not Path("out.jsonl").exists()


def test_a_file_that_changes_meanwhile_leaves_nothing(tmp_path, rows, monkeypatch, capsys):
    later = redact_run._find_later

    def changed(*arguments):
        found = later(*arguments)
        rows.write_text(rows.read_text() + '{"utterance": "more"}\n')
        return found

    monkeypatch.setattr(redact_run, "_find_later", changed)
    redact(rows, "-o", tmp_path / "out.jsonl", code=1)
    assert "E017" in capsys.readouterr().err
    assert not (tmp_path / "out.jsonl").exists()


# --------------------------------------------------------------------- detector and policies


@pytest.fixture
def labelled(tmp_path):
    path = tmp_path / "labelled.jsonl"
    rows = [
        {"utterance": f"mail kim{i}@example.org", "spans": [[5, 21, "email"]]} for i in range(4)
    ]
    rows.append({"utterance": f"it was {CANARY}", "spans": [[7, 15, "person"]]})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def policies(*arguments, code=0):
    assert run(["private", "score-redaction", *map(str, arguments)]) == code


def test_figures_of_private_text_are_written_and_not_printed(tmp_path, labelled, capsys):
    policies(labelled, code=2)
    policies(labelled, "-o", "-", code=1)
    before = labelled.read_bytes()
    policies(labelled, "-o", labelled, code=1)
    assert labelled.read_bytes() == before
    policies(labelled, "--is-public", "--policy", "pi=0.5", "--policy", "pi=0.1", code=2)
    capsys.readouterr()
    out = tmp_path / "policies.json"
    policies(labelled, "-o", out)
    said = capsys.readouterr()
    assert not said.out
    assert "0." not in said.err.replace(str(tmp_path), "")
    assert stat.S_IMODE(out.stat().st_mode) == 0o600
    pi, careful = json.loads(out.read_text())["policies"]
    assert (pi["gamma"]["found"], pi["gamma"]["of"]) == (1, 5)
    assert pi["gamma"]["low"] < 0.2 < pi["gamma"]["high"]
    assert json.loads(out.read_text())["gamma"] == pi["differs"]
    assert json.loads(out.read_text())["missed_by_both"] == careful["exposed"]
    assert careful["name"] == "pi_c"
    assert CANARY not in out.read_text()


def test_figures_of_public_text_are_printed_but_none_of_rows_with_a_ledger(labelled, capsys):
    policies(labelled, "--is-public", "--policy", "strict=0.99", "--policy", "pi=0.5")
    out = capsys.readouterr().out
    assert "strict" in out
    assert "email" in out
    policies(labelled, "--is-public", "--policy", "pi=much", code=2)
    policies(labelled, "--is-public", "--policy", "pi=2", code=1)
    capsys.readouterr()
    labelled.with_name("labelled.ledger.json").write_text("{}")
    policies(labelled, "--is-public", code=1)
    said = capsys.readouterr()
    assert "E018" in said.err
    assert not said.out


def detector(*options, code=0):
    assert run(["private", "detector", *map(str, options)]) == code


@pytest.mark.parametrize(
    ("option", "file", "code"),
    [
        *((option, "labelled.jsonl", "E018") for option in ("--rows", "--labelled", "--frames")),
        ("--values", "friend=labelled.jsonl", "E018"),
        ("--rows", "private.jsonl", "E018"),
        ("--values", "person=names.txt", "E004"),
        ("--values", "person=none.txt", "E004"),
    ],
)
def test_a_detector_learns_of_no_private_rows_and_of_values_that_are_some(
    tmp_path, labelled, capsys, monkeypatch, option, file, code
):
    monkeypatch.chdir(tmp_path)
    labelled.with_name("labelled.ledger.json").write_text("{}")
    private = to_json(Example("S1", f"tell {CANARY}", "", source="private"))
    (tmp_path / "private.jsonl").write_text(private + "\n")
    (tmp_path / "names.txt").write_text("Zoë\n")
    detector(option, file, "-o", "detector", code=1)
    assert code in capsys.readouterr().err
    assert not (tmp_path / "detector").exists()


@pytest.mark.slow
def test_a_detector_is_trained_and_used(tmp_path, rows, capsys):
    frames, names = tmp_path / "frames.txt", tmp_path / "names.txt"
    frames.write_text("tell {friend} hello\nis {friend} in\nturn on the light\n")
    names.write_text("bob\nkim\nsue\n")
    folder = tmp_path / "detector"
    arguments = ["--frames", frames, "--values", f"friend={names}", "--size", 8]
    options = [*arguments, "--sentences", 200, "--epochs", 20, "-o", folder]
    detector(*options)
    assert "a detector of friend" in capsys.readouterr().err
    detector(*options, code=1)
    assert "E016" in capsys.readouterr().err
    text = tmp_path / "text.txt"
    text.write_text("tell kim hello\nturn on the light\n")
    redact(text, "-o", tmp_path / "out.jsonl", "--detector", folder, "--conservative", 0.4)
    assert [(row["utterance"], row["part"]) for row in read(tmp_path / "out.jsonl")] == [
        ("tell <MASK> hello", "private"),
        ("turn on the light", "public"),
    ]
    (folder / "model.safetensors").unlink()
    redact(text, "-o", tmp_path / "no.jsonl", "--detector", folder, code=1)
    assert "E012" in capsys.readouterr().err
