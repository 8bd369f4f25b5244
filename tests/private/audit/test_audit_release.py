"""Attacks on released rows alone: copies are found, and what is not there is found by chance."""

import json
from pathlib import Path

import pytest

pytest.importorskip("scipy")
pytest.importorskip("opacus")

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.private.audit.config import INCONCLUSIVE, AuditConfig
from genie_dp.private.audit.release import ReleaseAttack
from genie_dp.rng import stream

VERBS = ("play", "stop", "buy", "sell", "call", "text", "find", "move")
ENDS = ("now", "please", "today", "again")


def said(number, seed):
    """Return so many different invented sentences, with a word that few others have."""
    rng = stream(seed, "released")
    return list(
        dict.fromkeys(
            f"{rng.choice(VERBS)} the {rng.choice('bcdfgh')}{rng.choice('aeiou')}{n % 40} "
            f"{rng.choice(ENDS)} at {rng.randrange(24)}"
            for n in range(number)
        )
    )


def lines(path, texts):
    path.write_text("".join(json.dumps({"utterance": text}) + "\n" for text in texts))
    return path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    texts = said(320, 0)
    stream(0, "sides").shuffle(texts)
    half = len(texts) // 2
    lines(tmp_path / "in.jsonl", texts[:half])
    lines(tmp_path / "out.jsonl", texts[half:])
    lines(tmp_path / "copied.jsonl", [*texts[: half // 2], *said(40, 1)])
    lines(tmp_path / "apart.jsonl", said(150, 2))
    return tmp_path


def attack(release, *options):
    words = ["--members", "in.jsonl", "--others", "out.jsonl", "--output", "audit.json"]
    return run(["private", "audit", "--release", release, *words, *options])


def audit(*words, code):
    """Return the figures of an audit that ends with a code."""
    assert attack(*words) == code
    return json.loads(Path("audit.json").read_text())


def test_rows_that_were_copied_are_found_by_all_attacks_and_no_text_is_shown(here, capsys):
    assert attack("copied.jsonl", "--claim", "1", "--delta", "1e-6", "--report", "audit.html") == 1
    told, page = capsys.readouterr(), (here / "audit.html").read_text()
    found = json.loads((here / "audit.json").read_text())
    release = found["release"]
    assert found["verdict"] == "refuted"
    assert found["kind"] == "release"
    assert release["nearest"]["copied"]["members"]["value"] > 0.4
    assert release["nearest"]["copied"]["others"]["value"] < 0.1
    assert release["nearest"]["nearer to members"]["low"] > 0.5
    for one in (release["nearest"], release["nearest"]["copied"], release["singling out"]):
        assert one["chance"] < 0.01
    assert release["singling out"]["risk"]["low"] > 0
    assert "singled out by a few words: members" in told.out
    assert (here / "audit.json").stat().st_mode & 0o077 == 0
    written = told.out + told.err + page + json.dumps(found)
    texts = [json.loads(line)["utterance"] for line in (here / "in.jsonl").open()]
    assert not [text for text in texts if text in written]


@pytest.mark.slow
def test_rows_that_have_nothing_of_the_members_differ_by_chance(here):
    small = dict.fromkeys(("nearest", "nearer", "singling out", "linking"), 0)
    for seed in range(6):
        texts = said(160, 100 + seed)
        stream(seed, "sides").shuffle(texts)
        half = len(texts) // 2
        names = [here / f"{name}{seed}.jsonl" for name in ("in", "out")]
        lines(names[0], texts[:half])
        lines(names[1], texts[half:])
        config = AuditConfig(seed=seed)
        _, found = ReleaseAttack(here / "apart.jsonl", *names, config, "thingtalk").figures()
        small["nearest"] += found["nearest"]["chance"] < 0.05
        small["nearer"] += found["nearest"]["nearer to members"]["chance"] < 0.05
        small["singling out"] += found["singling out"]["chance"] < 0.05
        small["linking"] += found["linking"]["chance"] < 0.05
    assert max(small.values()) <= 2


def test_the_claim_is_that_of_the_manifest_beside_the_rows(here):
    spent = {"epsilon": 2.0, "delta": 1e-6, "unit": "utterance"}
    (here / "apart.jsonl.manifest.json").write_text(json.dumps({"spent": spent}))
    found = audit("apart.jsonl", code=INCONCLUSIVE)
    assert found["claim"]["epsilon"] == 2.0
    assert found["claim"]["source"] == "apart.jsonl.manifest.json"
    result = gd.private.audit(release="apart.jsonl", members="in.jsonl", others="out.jsonl")
    assert result.figures == found
    (here / "apart.jsonl.manifest.json").write_text('{"spent": {"epsilon": "x"}}')
    assert attack("apart.jsonl", "--overwrite") == 1


def test_programs_are_linked_with_their_sentences(here):
    programs = [{"utterance": text, "program": f"( {text.split()[0]} )"} for text in said(200, 5)]
    for name, some in (("in", programs[:90]), ("out", programs[90:180]), ("made", programs[:60])):
        (here / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in some))
    options = ["--language", "sexpr", "--claim", "9", "--delta", "0"]
    found = audit("made.jsonl", *options, code=INCONCLUSIVE)
    assert found["release"]["linking"]["parts"] == "programs"


@pytest.mark.parametrize(
    "options",
    [
        ["--release", "apart.jsonl"],
        ["--release", "apart.jsonl", "--members", "in.jsonl"],
        ["model", "--release", "apart.jsonl", "--members", "in.jsonl", "--others", "out.jsonl"],
        ["--members", "in.jsonl", "--others", "out.jsonl"],
        ["--release", "apart.jsonl", "--members", "in.jsonl", "--others", "out.jsonl",
         "--samples", "3"],
    ],
)  # fmt: skip
def test_a_model_or_a_release_is_attacked_with_what_goes_with_it(here, options):
    (here / "model").mkdir()
    assert run(["private", "audit", *options, "--output", "audit.json"]) == 2
    assert not (here / "audit.json").exists()
