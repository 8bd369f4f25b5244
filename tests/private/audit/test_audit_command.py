"""`genie-dp private audit` and `private canaries`: what they write, say and refuse."""

import json
import math
import re
import shutil
from pathlib import Path

import pytest

pytest.importorskip("opacus")

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.private.audit.canaries import load_canaries
from genie_dp.private.audit.config import INCONCLUSIVE
from genie_dp.private.audit.run import ModelAudit
from tests.golden import cases
from tests.private.audit.audit_models import generator, learn, said, saved
from tests.refusals import refusals

pytestmark = pytest.mark.xdist_group("audit models")


@pytest.fixture
def here(leaking, monkeypatch):
    monkeypatch.chdir(leaking)
    for path in leaking.glob("*audit*"):
        path.unlink()
    return leaking


SIDES = ("--members", "in.txt", "--others", "out.jsonl")


def attack(model, *options):
    return run(["private", "audit", model, *options, "--output", "audit.json"])


def audit(*words, code):
    """Return the figures of an audit that ends with a code."""
    assert attack(*words) == code
    return json.loads(Path("audit.json").read_text())


def test_a_model_that_leaks_more_than_it_claims_fails_and_all_is_written(here, capsys):
    options = ["--canaries", "canaries.json", "--samples", "60", "--words", "4"]
    assert attack("leaking", *SIDES, *options, "--report", "audit.html") == 1
    said = capsys.readouterr()
    assert "error[N060]" in said.err
    assert "claimed for a row by spent.json" in said.err
    assert "REFUTED" in said.out
    found = json.loads((here / "audit.json").read_text())
    assert found["verdict"] == "refuted"
    assert found["claim"]["epsilon"] == 0.1
    assert found["rows"]["members"] == found["rows"]["others"] == 40
    assert {one["group"] for one in found["membership"]} == {1, 20}
    assert found["canaries"]["candidates"] == 100
    assert found["canaries"]["highest"] > 4
    assert found["extraction"]["samples"] == 60
    assert any(one["refutes"] for one in found["epsilon"])
    page = (here / "audit.html").read_text()
    assert "REFUTED" in page
    assert not re.search(r"https?://|<script", page)
    assert (here / "audit.json").stat().st_mode & 0o077 == 0
    assert not (here / ".audit.json.work").exists()
    # No row, canary or piece of one.
    canaries = [row.utterance for row in load_canaries(here / "canaries.json").rows]
    texts = (here / "in.txt").read_text().split("\n") + canaries
    written = said.out + said.err + page + json.dumps(found)
    assert not [text for text in texts if text in written]


def test_a_model_passes_if_the_attacks_refute_its_claim_for_an_unprotected_one(here, capsys):
    options = [*SIDES, "--canaries", "canaries.json", "--unprotected", "leaking"]
    assert attack("fresh", *options, "--report", "audit.html") == 0
    assert "PASSED" in capsys.readouterr().out
    found = json.loads((here / "audit.json").read_text())
    assert found["verdict"] == "passed"
    assert max(one["unprotected"] for one in found["epsilon"]) > found["claim"]["epsilon"]
    assert all(one["unprotected"] >= one["epsilon"] for one in found["epsilon"])
    assert "Passed" in (here / "audit.html").read_text()


def test_an_audit_that_nothing_shows_to_find_leaks_is_inconclusive(here, capsys):
    assert attack("fresh", *SIDES, "--canaries", "canaries.json") == INCONCLUSIVE
    told = capsys.readouterr().out
    assert "nothing shows that these attacks find a leak" in told
    assert "passed" not in told.lower()
    # Nor do attacks that find nothing in the unprotected model.
    options = [*SIDES, "--unprotected", "shadow0", "--claim", "1.2", "--delta", "0"]
    assert attack("fresh", *options, "--overwrite") == INCONCLUSIVE
    assert "too weak" in capsys.readouterr().out
    assert json.loads((here / "audit.json").read_text())["verdict"] == "inconclusive"


def test_a_model_without_noise_is_not_passed_with_a_claim_that_no_attack_refutes(here, capsys):
    # 20 rows of a side are held out: were all of them told apart, that would be epsilon 2.3.
    options = [*SIDES, "--canaries", "canaries.json", "--claim", "3", "--delta", "1e-5"]
    assert attack("leaking", *options, "--unprotected", "leaking") == INCONCLUSIVE
    told = capsys.readouterr().out
    assert "no attack can refute a claim above 2." in told
    assert "passed" not in told.lower()
    found = json.loads((here / "audit.json").read_text())
    assert found["verdict"] == "inconclusive"
    assert 2 < found["refutable"] < 3
    assert found["refutable"] == max(one["refutable"] for one in found["epsilon"])


def test_where_nothing_is_claimed_there_is_no_verdict(here):
    (here / "unclaimed").mkdir(exist_ok=True)
    shutil.copytree(here / "fresh", here / "unclaimed", dirs_exist_ok=True)
    facts = json.loads((here / "fresh" / "spent.json").read_text())
    (here / "unclaimed" / "spent.json").write_text(json.dumps({**facts, "epsilon": math.inf}))
    found = audit("unclaimed", *SIDES, code=0)
    assert (found["verdict"], found["refutable"]) == (None, None)


def test_where_no_bound_is_set_beside_a_claim_nothing_is_passed(here, capsys):
    options = ["--training", "in.txt", "--samples", "8", "--report", "audit.html"]
    assert attack("fresh", *options) == INCONCLUSIVE
    assert "no bound was set beside the claim" in capsys.readouterr().out
    assert json.loads((here / "audit.json").read_text())["verdict"] == "inconclusive"
    assert "no bound was set beside the claim" in (here / "audit.html").read_text()


def test_the_same_seed_gives_the_same_bytes_and_another_level_other_intervals(here):
    options = [*SIDES, "--canaries", "canaries.json"]
    assert attack("fresh", *options) == INCONCLUSIVE
    first = (here / "audit.json").read_bytes()
    assert attack("fresh", *options, "--seed", "1") == 1  # an output that exists stays
    assert attack("fresh", *options, "--overwrite") == INCONCLUSIVE
    assert (here / "audit.json").read_bytes() == first
    assert attack("fresh", *options, "--level", "0.6", "--overwrite") == INCONCLUSIVE
    found = [
        json.loads(text)["canaries"]["mean"] for text in (first, (here / "audit.json").read_text())
    ]
    wide, narrow = (mean["high"] - mean["low"] for mean in found)
    assert wide > narrow


def test_references_and_shadows_are_attacks_of_their_own(here):
    shadows = [f"--shadow=shadow{n}=learned{n}.txt" for n in range(2)]
    (here / "more").mkdir(exist_ok=True)
    shutil.copytree(here / "shadow0", here / "more" / "fresh", dirs_exist_ok=True)
    references = ["--reference", "fresh", "--reference", "more/fresh"]
    options = [*references, *shadows, "--claim", "50", "--delta", "0"]
    found = audit("leaking", *SIDES, *options, code=INCONCLUSIVE)
    names = {one["attack"] for one in found["membership"]}
    assert names == {
        "perplexity", "reference fresh", "reference more/fresh", "shadows", "ratios",
    }  # fmt: skip
    of_shadow = "reference more/fresh"
    others = [one for one in found["membership"] if one["attack"] != of_shadow]
    assert all(one["auc"]["value"] > 0.6 for one in others)


def test_an_interrupted_audit_goes_on_and_ends_the_same(here, monkeypatch):
    options = [*SIDES, "--canaries", "canaries.json", "--claim", "50", "--delta", "0"]
    assert attack("leaking", *options) == INCONCLUSIVE
    whole = (here / "audit.json").read_bytes()
    (here / "audit.json").unlink()
    exposure = ModelAudit.expose

    def stop(self, canaries, *other):
        raise KeyboardInterrupt

    monkeypatch.setattr(ModelAudit, "expose", stop)
    assert attack("leaking", *options) == 130
    assert (here / ".audit.json.work" / "model.npy").stat().st_mode & 0o077 == 0
    monkeypatch.setattr(ModelAudit, "expose", exposure)
    assert attack("leaking", *options) == 1
    assert attack("leaking", *options, "--resume", "--seed", "1") == 1
    assert attack("leaking", *options, "--resume") == INCONCLUSIVE
    assert (here / "audit.json").read_bytes() == whole


def test_private_text_is_shown_only_when_asked(here, capsys):
    options = ["--training", "in.txt", "--samples", "60", "--words", "2"]
    assert attack("leaking", *options) == INCONCLUSIVE
    assert "private text" not in capsys.readouterr().out
    assert attack("leaking", *options, "--show", "1", "--overwrite") == INCONCLUSIVE
    said = capsys.readouterr().out
    (shown,) = re.findall(r"private text: (.*)", said)
    assert shown in (here / "in.txt").read_text()


def test_public_rows_of_a_redacted_text_have_no_claim_and_are_left_out(here):
    public = [json.dumps({"utterance": f"call ann at {n}", "part": "public"}) for n in range(20)]
    private = [json.dumps({"utterance": f"call bob at {n}", "part": "private"}) for n in range(20)]
    (here / "marked.jsonl").write_text("\n".join([*public, *private]))
    facts = {"rows": {"epsilon": 1, "delta": 0}, "secret": {"epsilon": 4, "delta": 1e-5}}
    (here / "fresh" / "confidentiality.json").write_text(json.dumps(facts))
    options = ["--members", "marked.jsonl", "--others", "out.jsonl", "--about"]
    found = audit("fresh", *options, "secret", code=INCONCLUSIVE)
    assert found["rows"]["members"] == 20
    assert found["claim"]["epsilon"] == 4
    assert attack("fresh", *options, "bayesian", "--overwrite") == 1
    (here / "fresh" / "confidentiality.json").unlink()


def test_python_gives_what_the_command_writes(here, capsys):
    assert attack("fresh", *SIDES, "--canaries", "canaries.json") == INCONCLUSIVE
    written = json.loads((here / "audit.json").read_text())
    files = {"members": "in.txt", "others": "out.jsonl", "canaries": "canaries.json"}
    before = sorted(here.iterdir())
    result = gd.private.audit("fresh", **files)
    assert result.figures == written
    assert result.verdict == "inconclusive"
    assert "fresh: inconclusive; no bound is above" in repr(result)
    assert sorted(here.iterdir()) == before
    result.save(here / "again-audit.json")
    assert (here / "again-audit.json").read_bytes() == (here / "audit.json").read_bytes()
    assert (here / "again-audit.json").stat().st_mode & 0o077 == 0


def test_python_tells_of_a_refuted_claim_and_refuses_what_does_not_go_together(here):
    rows = gd.Rows.read("out.jsonl")
    result = gd.private.audit("leaking", members="in.txt", others=rows, output="audit.json")
    assert result.verdict == "refuted"
    assert result.epsilon > 0.1
    with pytest.raises(GenieError, match="N060"):
        result.check()
    with pytest.raises(GenieError, match="N061"):
        gd.private.audit("fresh", members="in.txt")
    with pytest.raises(GenieError, match="Y022"):
        gd.private.audit("fresh", members="in.txt", others=rows, output="audit.json")
    with pytest.raises(GenieError, match="R040"):
        gd.private.audit("fresh", members="in.txt", others=rows, level=2)
    for output in ("-", "s3://bucket/audit.json"):
        with pytest.raises(GenieError, match="N061"):
            gd.private.audit("fresh", members="in.txt", others=rows, output=output)


def test_what_cannot_be_done_is_refused(here, golden, capsys):
    [case] = cases("private_refused/audit.txt")
    golden(case, refusals(case, lambda options: attack("fresh", *options), capsys))
    assert attack("fresh") == 2
    assert not (here / "audit.json").exists()
    assert not (here / ".audit.json.work").exists()


@pytest.mark.parametrize("report", ["out.jsonl", "in.txt", "audit.json"])
def test_no_report_takes_the_place_of_another_file(here, report):
    rows = (here / "in.txt").read_bytes(), (here / "out.jsonl").read_bytes()
    assert attack("fresh", *SIDES, "--report", report) == 1
    assert attack("fresh", *SIDES, "--report", report, "--overwrite") == 1
    assert ((here / "in.txt").read_bytes(), (here / "out.jsonl").read_bytes()) == rows
    assert not (here / "audit.json").exists()


def test_canaries_are_put_between_the_lines_and_no_line_is_changed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f'{{"utterance": "row {n}",  "program": "p"}}' for n in range(50)]
    (tmp_path / "rows.jsonl").write_text("\n".join(lines))
    words = ["private", "canaries", "rows.jsonl", "-o", "with.jsonl", "--record", "canaries.json"]
    more = ["--seed", "4", "--program", "now => @x.y", "--field", "user=canary"]
    assert run([*words, *more, "--count", "3", "--repeats", "7"]) == 0
    found = (tmp_path / "with.jsonl").read_text().splitlines()
    assert [line for line in found if line in lines] == lines
    added = [json.loads(line) for line in found if line not in lines]
    assert len(added) == 21
    record = json.loads((tmp_path / "canaries.json").read_text())
    assert {row["utterance"] for row in added} == set(record["texts"])
    assert all(row["user"] == "canary" and row["program"] == "now => @x.y" for row in added)
    # They do not lie together.
    assert found[:21] != [json.dumps(row) for row in added]
    assert run([*words, *more]) == 1
    assert run([*words, "--seed", "4", "--overwrite", "--template", "no slot"]) == 1
    assert run([*words, "--seed", "4", "--overwrite", "--field", "user"]) == 2


def test_texts_get_canaries_as_lines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.txt").write_text("one\ntwo")
    words = ["private", "canaries", "rows.txt", "-o", "with.txt", "--record", "canaries.json"]
    assert run([*words, "--seed", "1", "--count", "2", "--repeats", "1"]) == 0
    found = (tmp_path / "with.txt").read_text().splitlines()
    assert len(found) == 4
    for output, record in (("x.txt", "x.txt"), ("rows.txt", "x.json"), ("x.txt", "rows.txt")):
        words = ["private", "canaries", "rows.txt", "-o", output, "--record", record]
        assert run([*words, "--seed", "1", "--overwrite"]) == 1
    assert (tmp_path / "rows.txt").read_text() == "one\ntwo"
    assert [line for line in found if line in ("one", "two")] == ["one", "two"]


COINS = ["--coin", "--count", "60", "--template", "pin {digits:4}", "--seed", "3"]


@pytest.fixture(scope="module")
def tossed(tmp_path_factory):
    """A folder of canaries by coins, a model that knows those put in, and what it was before."""
    folder = tmp_path_factory.mktemp("coins")
    (folder / "rows.txt").write_text("\n".join(said(20, seed=9)))
    words = ["private", "canaries", str(folder / "rows.txt"), "-o", str(folder / "with.txt")]
    assert run([*words, "--record", str(folder / "canaries.json"), *COINS]) == 0
    texts = (folder / "with.txt").read_text().splitlines()
    saved(learn(generator(), texts, epochs=120, rate=2e-2), folder / "leaking", 0.1)
    saved(generator(), folder / "before", 0.0)
    return folder


def test_coins_decide_which_canaries_are_put_in_and_the_record_has_them(tossed):
    record = json.loads((tossed / "canaries.json").read_text())
    texts = (tossed / "with.txt").read_text().splitlines()
    assert len(record["coins"]) == len(record["texts"]) == 60
    assert [text in texts for text in record["texts"]] == record["coins"]
    assert (tossed / "canaries.json").stat().st_mode & 0o077 == 0


def test_guesses_which_canaries_were_put_in_refute_a_claim_that_is_too_small(
    tossed, capsys, monkeypatch
):
    monkeypatch.chdir(tossed)
    options = ["--canaries", "canaries.json", "--reference", "before"]
    report = ["--report", "audit.html", "--overwrite"]
    assert attack("leaking", *options, *report) == 1
    told = capsys.readouterr().out
    assert "right guesses of the surest" in told
    found = json.loads((tossed / "audit.json").read_text())
    assert found["canaries"] is None
    assert found["guesses"]["calibrated by"] == ["before"]
    assert found["guesses"]["auc"]["value"] > 0.9
    (bound,) = found["epsilon"]
    assert (bound["attack"], bound["method"], bound["refutes"]) == ("canaries", "one run", True)
    assert 0.1 < bound["epsilon"] < bound["refutable"] < 4
    assert "Canaries by coins" in (tossed / "audit.html").read_text()
    # What knows nothing of them is not refuted, and passes beside what knows them.
    beside = ["--unprotected", "leaking", "--claim", "0.5", "--delta", "1e-6", "--overwrite"]
    assert attack("before", *options, *beside) == 0
    assert json.loads((tossed / "audit.json").read_text())["verdict"] == "passed"


@pytest.mark.slow
def test_a_folder_that_says_its_noise_is_tested_for_it(tossed, monkeypatch):
    monkeypatch.chdir(tossed)
    shutil.copytree("leaking", "noisy", dirs_exist_ok=True)
    config = json.loads((tossed / "noisy" / "config.json").read_text())
    training = {"noise multiplier": 9.0, "sampling rate": 0.1, "steps": {"utterance": 20}}
    (tossed / "noisy" / "config.json").write_text(json.dumps({**config, "training": training}))
    options = ["--canaries", "canaries.json", "--reference", "before", "--overwrite"]
    found = audit("noisy", *options, code=1)
    guesses, noise = found["epsilon"]
    assert noise["method"] == "one run, noise"
    assert noise["refutes"]
    assert guesses["epsilon"] < noise["epsilon"]
    assert found["claim"]["mechanisms"][0]["noise_multiplier"] == 9.0


def test_a_canary_with_a_field_of_its_own_is_a_unit_and_its_claim_that_of_one(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"utterance": "x y", "user": "u"}\n')
    words = ["private", "canaries", "rows.jsonl", "-o", "with.jsonl", "--record", "canaries.json"]
    public = ["--words", "public.txt", "--field", "user=canary{number}"]
    (tmp_path / "public.txt").write_text("red green blue\nold new 12\n")
    assert run([*words, "--coin", "--count", "50", *public, "--seed", "2"]) == 0
    rows = [json.loads(line) for line in (tmp_path / "with.jsonl").read_text().splitlines()]
    users = [row["user"] for row in rows]
    assert len(set(users)) == len(users) > 15
    record = json.loads((tmp_path / "canaries.json").read_text())
    assert record["words"] == ["blue", "green", "new", "old", "red"]
    assert {word for text in record["texts"] for word in text.split()} <= set(record["words"])
    canaries = load_canaries(tmp_path / "canaries.json")
    assert canaries.are_units
    assert canaries.coins == tuple(record["coins"])
    for wrong in ({"coins": [1]}, {"coins": "x"}):
        (tmp_path / "canaries.json").write_text(json.dumps(record | wrong))
        with pytest.raises(GenieError, match="N052"):
            load_canaries(tmp_path / "canaries.json")
    # Copies are claimed as a group, and words of no public row are none.
    assert run([*words, "--coin", "--repeats", "2", "--seed", "2", "--overwrite"]) == 2
    touching = ["--coin", *public, "--template", "{word}{word}", "--seed", "2", "--overwrite"]
    assert run([*words, *touching]) == 1
    (tmp_path / "public.txt").write_text("12\n")
    assert run([*words, "--coin", *public, "--seed", "2", "--overwrite"]) == 1
