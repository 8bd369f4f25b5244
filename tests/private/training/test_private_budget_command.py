"""`genie-dp private budget`: set, show and check, as a user sees them."""

import json
import math
import re
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.cli.private import STEPS
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian, PoissonGaussian, ZeroConcentrated
from genie_dp.private.ledger.run import facts_as_json

RATE = 2048 / 133_584
TRAINING = PoissonGaussian(0.7, RATE, 660)


@pytest.fixture(autouse=True)
def rows(tmp_path, monkeypatch):
    """A folder with private rows, which no command here opens: they could not be read."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.jsonl").write_bytes(b"no rows, not even text: zebrafish \xff\n")


@pytest.fixture
def ledger():
    assert budget("init", *PROMISE) == 0
    ledger = Ledger.open(LEDGER)
    ledger.spend([TRAINING], purpose="programs", run="one")
    ledger.spend([TRAINING], purpose="utterances", run="two")
    return ledger


LEDGER = Path("private.ledger.json")
PROMISE = (
    *("private.jsonl", "--epsilon", "10", "--delta", "8e-6"),
    *("--unit", "user", "--cap", "20"),
)


def budget(*words):
    return cli.run(["private", "budget", *words])


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix != ".jsonl"}


def test_every_step_of_the_table_is_there_and_says_of_itself_what_the_table_says():
    for name, (place, line) in STEPS.items():
        found = cli.load_command(place)
        assert found.name == name
        assert found.get_short_help_str(limit=200) == line


def test_a_budget_is_set_beside_the_rows_without_opening_them(capsys):
    assert budget("init", *PROMISE) == 0
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "private.ledger.json: epsilon 10 at delta 8e-06 for adding or removing one user of at most "
        "20 rows; pld decides\n"
    )
    assert Ledger.open(LEDGER).budget.cap == 20


def test_the_field_of_the_users_is_promised_and_told(capsys):
    assert budget("init", *PROMISE, "--unit-field", "who") == 0
    assert "one user named by 'who' of at most 20 rows" in capsys.readouterr().err
    assert Ledger.open(LEDGER).budget.unit_field == "who"
    assert budget("show", "private.jsonl") == 0
    assert "one user named by 'who'" in capsys.readouterr().out


def test_the_column_of_a_table_is_promised_by_its_number(tmp_path, capsys):
    Path("rows.tsv").write_text("")
    words = ("rows.tsv", *PROMISE[1:], "--unit-field")
    before = contents(tmp_path)
    assert budget("init", *words, "who") == 1
    assert "Q006" in capsys.readouterr().err
    assert contents(tmp_path) == before
    assert budget("init", *words, "2") == 0


@pytest.mark.parametrize("missing", ["--epsilon", "--delta", "--unit"])
def test_nothing_of_the_promise_has_a_default(missing, capsys, tmp_path):
    words = list(PROMISE)
    place = words.index(missing)
    del words[place : place + 2]
    assert budget("init", *words) == 2
    assert f"Missing option '{missing}'" in capsys.readouterr().err
    assert not list(tmp_path.glob("*ledger*"))


@pytest.mark.parametrize(
    "wrong", ["--epsilon 0", "--epsilon -1", "--delta 1", "--unit person", "--cap 0"]
)
def test_a_promise_that_is_none_is_wrong_usage(wrong, tmp_path):
    words, (option, value) = list(PROMISE), wrong.split()
    words[words.index(option) + 1] = value
    assert budget("init", *words) == 2
    assert not list(tmp_path.glob("*ledger*"))


def test_a_user_needs_a_cap(capsys):
    assert budget("init", *PROMISE[:-2]) == 1
    assert re.search(r"B005.*needs a cap.*\n  hint: .*such as 20", capsys.readouterr().err)


def test_an_infinite_epsilon_is_no_promise(capsys):
    words = list(PROMISE)
    words[2] = "inf"
    assert budget("init", *words) == 2
    assert "inf is not a finite number" in capsys.readouterr().err


def test_a_second_promise_is_refused(ledger, tmp_path, capsys):
    before = contents(tmp_path)
    assert budget("init", *PROMISE) == 1
    assert "B020" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_rows_that_a_link_names_have_the_budget_of_the_rows(ledger, tmp_path, capsys):
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mine.jsonl").symlink_to(tmp_path / "private.jsonl")
    assert budget("init", "links/mine.jsonl", *PROMISE[1:]) == 1
    assert "B020" in capsys.readouterr().err
    assert budget("show", "links/mine.jsonl") == 0
    assert ledger.head in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "links").iterdir()] == ["mine.jsonl"]


def test_rows_with_a_ledger_get_no_second_one(ledger, tmp_path, capsys):
    assert budget("init", *PROMISE, "--ledger", "second.json") == 1
    assert "B030" in capsys.readouterr().err
    assert budget("init", *PROMISE, "--ledger", "private.ledger.json") == 1
    assert "B020" in capsys.readouterr().err
    assert [path.name for path in tmp_path.glob("*.json")] == ["private.ledger.json"]


@pytest.mark.parametrize(
    "words",
    [
        ("prior", "private.jsonl", "--epsilon", "1"),
        ("table", "release", "private.jsonl", "--epsilon", "1", "--columns", "form"),
        ("evolve", "private.jsonl", "--epsilon", "1"),
        ("train", "one-stage", "private.jsonl", "--epsilon", "1", "--about", "300"),
        ("train", "crt", "private.jsonl", "--epsilon", "1", "--about", "300"),
    ],
)
def test_no_other_ledger_is_spent_than_that_of_the_rows(ledger, tmp_path, capsys, words):
    if words[0] == "train":
        pytest.importorskip("opacus")
    Ledger.create(tmp_path / "second.json", Budget(10.0, 1e-6, "utterance"))
    before = contents(tmp_path)
    for other in ("second.json", "none.json"):
        options = ("--ledger", other, "--output", "made")
        assert cli.run(["private", *words, *options]) == 1
        assert "B030" in capsys.readouterr().err
    assert contents(tmp_path) == before


def test_misspelt_rows_get_no_ledger(tmp_path, capsys):
    assert budget("init", "privat.jsonl", *PROMISE[1:]) == 1
    assert "B028" in capsys.readouterr().err
    assert not list(tmp_path.glob("*ledger*"))
    assert budget("init", "--ledger", "later.json", *PROMISE[1:]) == 0
    assert budget("show", "--ledger", "later.json") == 0


def test_a_promise_of_little_is_made_with_a_warning(capsys):
    words = ("private.jsonl", "--epsilon", "50", "--delta", "0.01", "--unit", "utterance")
    assert budget("init", *words) == 0
    assert capsys.readouterr().err.count("warning[B027]") == 2


def test_show_says_what_was_spent_and_what_is_left_under_both_accountants(ledger, capsys):
    assert budget("show", "private.jsonl") == 0
    out = capsys.readouterr().out
    figures = {
        line[:24].strip(): line.split()[-2:] for line in out.splitlines() if re.search(r"\d$", line)
    }
    assert figures["programs"] == figures["utterances"] == ["6.846", "5.917"]
    assert figures["spent so far"] == ["9.051", "8.016"]
    assert figures["left of 10"] == ["0.949", "1.984"]
    assert "pld (decides)" in out
    assert "660 steps of Gaussian noise 0.7 on batches of rate 0.01533" in out
    assert "The lines do not add up" in out
    assert ledger.head in out


def test_show_takes_the_rows_the_ledger_or_its_option(ledger, capsys):
    said = []
    for words in (["private.jsonl"], ["private.ledger.json"], ["--ledger", "private.ledger.json"]):
        assert budget("show", *words) == 0
        said.append(capsys.readouterr().out)
    assert len(set(said)) == 1


def test_show_has_a_figure_of_both_accountants_and_says_what_is_proved_of_it(ledger, capsys):
    ledger.spend([Gaussian(20.0), ZeroConcentrated(0.001)], purpose="tables", run="three")
    assert budget("show", "private.jsonl") == 0
    out = capsys.readouterr().out
    assert re.search(r"^spent so far +9\.\d+ +8\.\d+$", out, re.MULTILINE)
    assert "What was spent so far is a reading, proved if " in out
    assert budget("show", "private.jsonl", "--format", "json") == 0
    assert "is a reading" in json.loads(capsys.readouterr().out)["reading"]


def test_show_as_json_has_the_same_figures(ledger, capsys):
    assert budget("show", "private.jsonl", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["total"]["rdp"] == pytest.approx(9.051, abs=1e-3)
    assert facts["left"]["pld"] == pytest.approx(1.984, abs=1e-3)
    assert [entry["run"] for entry in facts["entries"]] == ["one", "two"]
    assert facts["budget"]["unit"] == "user"
    assert facts["head"] == ledger.head


def test_figures_that_are_infinite_are_null_in_json():
    assert facts_as_json({"total": {"pld": math.inf}, "left": [0.0]}) == (
        '{\n  "total": {\n    "pld": null\n  },\n  "left": [\n    0.0\n  ]\n}'
    )


def test_below_the_mass_that_pld_cuts_off_it_has_the_figure_of_rdp(capsys):
    words = ("private.jsonl", "--epsilon", "10", "--delta", "1e-24", "--unit", "utterance")
    assert budget("init", *words) == 0
    Ledger.open(LEDGER).spend([Gaussian(5.0)], purpose="votes", run="a")
    capsys.readouterr()
    assert budget("show", "private.jsonl", "--format", "json") == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["total"]["pld"] == facts["total"]["rdp"] > 0


def test_without_a_ledger_the_next_step_is_named(capsys):
    assert budget("show", "private.jsonl") == 1
    assert re.search(r"B022.*\n  hint: .*budget init", capsys.readouterr().err)
    assert budget("show") == 2
    assert "name the file of private rows" in capsys.readouterr().err


def test_check_says_that_a_ledger_is_whole_and_spends_nothing(ledger, tmp_path, capsys):
    before = contents(tmp_path)
    assert budget("check", "private.jsonl") == 0
    assert capsys.readouterr().out == (
        f"private.ledger.json is whole: 2 entries, head {ledger.head}\n"
        "spent    epsilon 8.016 of 10 by pld (rdp: 9.051)\n"
    )
    assert budget("check", "private.jsonl", "--laplace", "10", "--steps", "9", "--rate", "0.1") == 0
    assert contents(tmp_path) == before


@pytest.mark.slow
def test_check_finds_the_noise_that_fits_and_it_can_be_spent(ledger, capsys):
    assert budget("check", "private.jsonl", "--steps", "660", "--rate", str(RATE)) == 0
    noise = float(re.search(r"^noise multiplier (.*)$", capsys.readouterr().out, re.MULTILINE)[1])
    question = ("check", "private.jsonl", "--steps", "660", "--rate", str(RATE))
    assert budget(*question, "--noise-multiplier", str(noise)) == 0
    assert budget(*question, "--noise-multiplier", str(noise - 0.001)) == 1
    assert "B023" in capsys.readouterr().err
    assert ledger.spend([PoissonGaussian(noise, RATE, 660)], purpose="x", run="y").epsilon <= 10


@pytest.mark.slow
def test_check_finds_the_noise_for_a_target_and_beside_other_mechanisms(ledger, capsys):
    def noise(*words):
        question = ("check", "private.jsonl", "--steps", "100", "--rate", "0.01", *words)
        assert budget(*question, "--format", "json") == 0
        found = json.loads(capsys.readouterr().out)
        assert found["with_it"]["pld"] <= 10
        return found["noise_multiplier"]

    assert noise("--target", "9.5") > noise()
    assert noise("--gaussian", "20", "--exponential", "0.1", "--threshold", "1e-6") > noise()


def test_check_answers_for_other_mechanisms(ledger, capsys):
    assert budget("check", "private.jsonl", "--laplace", "10", "--laplace", "20") == 0
    assert "it would fit" in capsys.readouterr().out
    assert budget("check", "private.jsonl", "--laplace", "0.1") == 1
    assert re.search(r"B023.*with this spend, 8\.016 without", capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--steps", "5"), "--steps and --rate go together"),
        (("--rate", "0.5"), "--steps and --rate go together"),
        (("--target", "5"), "need --steps and --rate"),
        (("--noise-multiplier", "5"), "need --steps and --rate"),
        (("--steps", "5", "--rate", "0.5", "--target", "3", "--noise-multiplier", "5"), "give one"),
        (("--rate", "1.5"), "1.5 is not in the range"),
        (("--steps", "5", "--rate", "0.5", "--target", "nan"), "nan is not a finite number"),
        (("--steps", "5", "--rate", "0.5", "--noise-multiplier", "inf"), "inf is not a finite"),
    ],
)
def test_questions_that_are_none_are_wrong_usage(ledger, words, message, capsys):
    assert budget("check", "private.jsonl", *words) == 2
    assert message in capsys.readouterr().err


def test_a_target_past_the_budget_or_below_what_is_spent_is_refused(ledger, capsys):
    question = ("check", "private.jsonl", "--steps", "5", "--rate", "0.5", "--target")
    assert budget(*question, "11") == 1
    assert "past the budget of 10" in capsys.readouterr().err
    assert budget(*question, "8") == 1
    assert re.search(r"B004.*nothing is left of 8", capsys.readouterr().err)


def test_check_names_the_entry_that_was_changed(ledger, capsys):
    text = ledger.path.read_text()
    ledger.path.write_text(text.replace('"steps": 660', '"steps": 6', 1))
    for command in ("check", "show"):
        assert budget(command, "private.jsonl") == 1
        assert "B012]: private.ledger.json: entry 1 was changed" in capsys.readouterr().err


def test_check_knows_a_head_that_was_noted(ledger, capsys):
    assert budget("check", "private.jsonl", "--seen", ledger.head) == 0
    assert budget("check", "private.jsonl", "--seen", "2:0123456789abcdef") == 1
    assert "B018" in capsys.readouterr().err


def test_a_head_that_was_lost_can_be_written_anew(ledger, capsys):
    ledger.path.with_suffix(".head").unlink()
    assert budget("check", "private.jsonl") == 1
    assert re.search(r"B017.*\n  hint: .*--accept-head", capsys.readouterr().err)
    assert budget("check", "private.jsonl", "--accept-head") == 0
    assert budget("check", "private.jsonl") == 0


def test_no_word_of_the_rows_is_ever_shown(ledger, capsys):
    for words in (["show"], ["check"], ["show", "--format", "json"]):
        assert budget(*words, "private.jsonl") == 0
    said = capsys.readouterr()
    assert "zebrafish" not in said.out + said.err
