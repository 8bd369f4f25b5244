"""`genie-dp evaluate` on files: joined by id, mistakes told with their lines, JSON and page."""

import json
import random
import re

import pytest

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.evaluate.rows import Predictions, join_predictions, open_gold, without_predictions
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import REFUSALS, Guess, PredictedReply
from genie_dp.rows import write_parquet
from tests.dataset.dataset_rows import row, write
from tests.golden import DATA

SKILL = DATA / "typecheck" / "skills" / "com.example.mail"
INBOX, RANDOM = "@com.example.mail.inbox", "@com.example.mail.random"
ROWS = (
    row("E1", "show my inbox", f"now => {INBOX} => notify", source="human"),
    row("E2", "a random mail", f"now => {RANDOM} => notify", source="paraphrase"),
    row(
        "E3",
        "unread mail please",
        f"now => ( {INBOX} ) filter param:is_read:Boolean == false => notify",
        source="human",
    ),
    row("E4", "when mail comes", f"monitor ( {INBOX} ) => notify", source="paraphrase"),
)
SAID = {
    "E1": [f"now => {INBOX} => notify"],
    "E2": [f"now => {INBOX} => notify", f"now => {RANDOM} => notify"],
    "E3": [f"now => ( {INBOX} ) filter param:is_read:Boolean == true => notify"],
    "E4": [],
}


def write_said(path, said, confidence=0.5):
    lines = [
        json.dumps({"id": id, "programs": programs, "confidences": [confidence] * len(programs)})
        for id, programs in said.items()
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture
def gold(tmp_path):
    return write(tmp_path / "gold.jsonl", ROWS)


@pytest.fixture
def said(tmp_path):
    return write_said(tmp_path / "said.jsonl", SAID)


def evaluate(*arguments, code=0):
    assert run(["evaluate", *map(str, arguments), "--skills", str(SKILL)]) == code


def result_of(tmp_path, *arguments):
    out = tmp_path / "result.json"
    evaluate(*arguments, "--output", out)
    return json.loads(out.read_text(encoding="utf-8"))


def errors(capsys, *arguments):
    evaluate(*arguments, code=1)
    return capsys.readouterr().err


def test_the_result_says_what_was_right_and_what_was_wrong(gold, said, tmp_path):
    result = result_of(tmp_path, gold, said)
    assert (result["schema"], result["rows"]) == ("genie-dp.evaluation/2", 4)
    assert [(t["tier"], t["right"]) for t in result["tiers"]] == [
        ("syntax", 3),
        ("number of functions", 3),
        ("devices", 3),
        ("functions", 2),
        ("parameters", 2),
        ("match", 1),
    ]
    assert [(top["k"], top["right"]) for top in result["top_k"]] == [(1, 1), (2, 2)]
    assert [(k["kind"], k["rows"]) for k in result["kinds"]] == [
        ("refused", 1),
        ("wrong polarity", 1),
        ("wrong function", 1),
    ]
    assert result["confusions"] == [{"expected": RANDOM, "predicted": INBOX, "rows": 1}]
    assert [one["id"] for one in result["wrong"]["shown"]] == ["E4", "E3", "E2"]
    groups = {(g["axis"], g["name"]): (g["right"], g["rows"]) for g in result["groups"]}
    assert groups["source", "human"] == (1, 2)
    assert groups["with", "monitors"] == (0, 1)
    assert groups["command", "primitive + filters"] == (0, 1)
    assert result["calibration"]["rows"] == 3
    assert result["calibration"]["expected_calibration_error"] == pytest.approx(1 / 6)
    # Of the two wrong ones one is surer than the right one.
    assert result["calibration"]["auroc"] == 0.5
    half = next(t for t in result["calibration"]["thresholds"] if t["threshold"] == 0.5)
    assert (half["coverage"], half["accuracy"]) == (0.75, pytest.approx(1 / 3))


def test_rows_are_new_or_known_from_training(gold, said, tmp_path):
    training = write(tmp_path / "train.jsonl", [ROWS[0]])
    result = result_of(tmp_path, gold, said, "--training", training)
    groups = {(g["axis"], g["name"]): g["rows"] for g in result["groups"]}
    assert groups["combination of functions", "new"] == 1
    assert groups["combination of functions", "in training"] == 3
    assert groups["program", "new"] == 3
    assert groups["sentence", "in training"] == 1


@pytest.mark.parametrize(
    "rows", [(), (row("S1", "buy tea", "( ORDER tea )", language="sexpr"),)], ids=["none", "other"]
)
def test_training_files_to_which_everything_is_new_are_told(gold, said, tmp_path, capsys, rows):
    empty = write(tmp_path / "empty.jsonl", rows)
    known = write(tmp_path / "known.jsonl", ROWS)
    told = errors(capsys, gold, said, "--training", known, "--training", empty)
    assert f"error[V001]: {empty} holds no rows of thingtalk" in told


def test_the_order_and_the_format_of_files_change_nothing(gold, said, tmp_path):
    expected = result_of(tmp_path, gold, said)
    lines = said.read_text().splitlines(keepends=True)
    rng = random.Random(3)
    for _ in range(5):
        rng.shuffle(lines)
        said.write_text("".join(lines))
        assert result_of(tmp_path, gold, said) == expected
    with (tmp_path / "gold.parquet").open("wb") as out:
        write_parquet(ROWS, out)
    for other in (gold.with_name("gold.parquet"), gold.with_name("gold.tsv")):
        if other.suffix == ".tsv":
            lines = [f"{one.id}\t{one.utterance}\t{one.program}\n" for one in ROWS]
            other.write_text("".join(lines))
        found = result_of(tmp_path, other, said)
        assert found["tiers"] == expected["tiers"]
        assert found["gold"] == str(other)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])  # the latter is of Windows
def test_predictions_may_be_tsv(gold, tmp_path, encoding):
    lines = [f"{id}\t{(programs or [''])[0]}\n" for id, programs in SAID.items()]
    (tmp_path / "said.tsv").write_text("".join(lines), encoding=encoding)
    result = result_of(tmp_path, gold, tmp_path / "said.tsv")
    assert (result["rows"], result["accuracy"]["right"]) == (4, 1)
    assert result["calibration"] is None


def test_rows_of_one_sentence_share_their_programs_and_a_list_holds_several(tmp_path):
    twice = [ROWS[0], row("E9", ROWS[0].utterance, ROWS[3].program)]
    gold = write(tmp_path / "gold.jsonl", twice)
    said = write_said(tmp_path / "said.jsonl", {"E1": [ROWS[3].program], "E9": [ROWS[3].program]})
    assert result_of(tmp_path, gold, said)["accuracy"]["share"] == 1
    programs = json.dumps([ROWS[0].program, ROWS[3].program])  # with any space before it
    gold.write_text(f'{{"id": "E1", "utterance": "show my inbox", "program" :  {programs}}}\n')
    said = write_said(said, {"E1": [ROWS[3].program]})
    assert result_of(tmp_path, gold, said)["accuracy"]["share"] == 1


def test_tsv_rows_are_of_the_language_that_is_given(tmp_path):
    gold = tmp_path / "gold.tsv"
    gold.write_text("a\tbig pizza\t( PIZZA ( SIZE BIG ) )\nb\tham\t( PIZZA ( TOPPING HAM ) )\n")
    training = tmp_path / "train.tsv"
    training.write_text("t\tsmall pizza\t( PIZZA ( SIZE SMALL ) )\n")
    out = tmp_path / "result.json"
    files = ["--nearest", "--training", str(training), "--output", str(out)]
    assert run(["evaluate", str(gold), *files, "--language", "sexpr"]) == 0
    result = json.loads(out.read_text())
    assert [t["right"] for t in result["tiers"]] == [1, 1, 1, 1, 0]
    assert [kind["kind"] for kind in result["kinds"]] == ["refused", "wrong value"]
    groups = {(g["axis"], g["name"]): g["rows"] for g in result["groups"]}
    assert groups["functions", "2"] == 2
    assert groups["combination of functions", "new"] == 1


def test_predictions_in_the_order_of_the_rows_do_not_wait(gold, said):
    file = Predictions(str(said))
    waiting = [
        len(file.waiting)
        for _ in join_predictions(without_predictions(open_gold(str(gold))), file, gold="gold")
    ]
    assert waiting == [0, 0, 0, 0]
    assert file.rows == 4


def test_missing_and_surplus_ids_are_errors_with_their_lines_so_many_at_most(gold, said, capsys):
    write_said(said, {"E1": [], "E2": [], "X7": [], "E4": []})
    told = errors(capsys, gold, said)
    assert f"{gold}:3:1: error[V010]: {said} has no prediction for 'E3'" in told
    assert f"{said}:3:1: error[V011]: no gold row has the id 'X7'" in told
    assert told.count("hint: ") == 2
    write(gold, [row(f"M{k}", f"mail {k}", ROWS[0].program) for k in range(99)])
    told = errors(capsys, gold, said)
    assert told.count("error[V010]: ") == 21
    assert "83 more ids" in told


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "no JSON"),
        ('{"id": "E1"}', "expected a list of programs, got None"),
        ('{"programs": []}', "expected an object with an id"),
        ('{"id": "E1", "programs": ["a"], "confidences": [2]}', "confidences from 0 to 1"),
        ('{"id": "E1", "programs": ["a"], "confidences": [NaN]}', "confidences from 0 to 1"),
        ('{"id": "E1", "programs": ["a"], "confidences": [1, 1]}', "expected 1 confidences"),
        (f'{{"id": "E1", "programs": ["a"], "confidences": [1{"0" * 400}]}}', "from 0 to 1"),
        (f'{{"id": 1{"0" * 5000}}}', "no JSON that can be read"),
        ("[" * 100_000, "no JSON that can be read"),
        (r'{"id": "\ud800", "programs": []}', "expected an object with an id"),
        (r'{"id": "E1", "programs": ["\ud800"]}', "expected a list of programs"),
    ],
)
def test_a_line_that_is_no_prediction_is_an_error_with_its_place(gold, said, capsys, line, message):
    said.write_text(line + "\n")
    told = errors(capsys, gold, said)
    assert f"{said}:1:1: error[V013]: " in told
    assert message in told


def test_other_mistakes_are_told(gold, said, tmp_path, capsys):
    write_said(said, {"E1": []})
    said.write_text(said.read_text() * 2)
    assert "error[V012]: a second prediction for 'E1'" in errors(capsys, gold, said)
    assert "error[V014]" in errors(capsys, gold, "-")
    gold.write_text("")
    assert "error[V001]" in errors(capsys, gold, said)
    write(gold, [ROWS[0], ROWS[1], ROWS[0]])
    assert f"{gold}:3:1: error[V002]" in errors(capsys, gold, said)
    write(gold, [ROWS[0], row("S", "x", "( f )", language="sexpr")])
    assert f"{gold}:2:1: error[V003]" in errors(capsys, gold, said)
    gold.write_text('{"id": "E1", "utterance": "x", "program": []}\n')
    assert f"{gold}:1:1: error[V004]" in errors(capsys, gold, said)
    write(gold, [row("E1", "x", "now => @com.other.f => notify")])
    write_said(said, {"E1": []})
    assert f"{gold}:1:1: error[V006]" in errors(capsys, gold, said)
    assert "error[V021]" in errors(capsys, gold, said, "--unordered")

    packed = tmp_path / "said.jsonl.gz"
    packed.write_text("no gzip")
    assert "error[R001]" in errors(capsys, gold, packed)


def test_outputs_are_two_files_that_are_not_read(gold, said, tmp_path, capsys):
    before = gold.read_bytes(), said.read_bytes()
    for option in ("--output", "--report"):
        for read in (gold, said, tmp_path / "." / said.name):
            told = errors(capsys, gold, said, "--training", gold, option, read)
            assert "error[V015]" in told
    assert (gold.read_bytes(), said.read_bytes()) == before
    for one in (tmp_path / "result", "-"):
        assert "error[V015]" in errors(capsys, gold, said, "--output", one, "--report", one)
    assert not (tmp_path / "result").exists()


def test_predictions_are_named_or_made_never_both(gold, said, tmp_path, capsys):
    evaluate(gold, code=2)
    evaluate(gold, said, "--nearest", "--training", gold, code=2)
    evaluate(gold, "--nearest", code=2)
    assert "--nearest needs the rows of --training" in capsys.readouterr().err
    # The nearest sentence of the gold rows themselves is right.
    result = result_of(tmp_path, gold, "--nearest", "--training", gold)
    assert result["accuracy"]["share"] == 1
    assert result["predictions"] == "nearest training sentence"


def test_a_file_compared_with_itself_differs_in_nothing(gold, said, tmp_path):
    found = result_of(tmp_path, gold, said, "--compare", said)["compare"]
    assert (found["difference"], found["low"], found["high"]) == (0, 0, 0)
    assert (found["both"], found["neither"]) == (1, 3)
    better = write_said(tmp_path / "better.jsonl", {one.id: [one.program] for one in ROWS})
    found = result_of(tmp_path, gold, said, "--compare", better)["compare"]
    assert (found["difference"], found["second_only"], found["accuracy"]["share"]) == (-0.75, 3, 1)


def test_the_page_shows_sentences_as_text_and_loads_nothing(said, tmp_path):
    nasty = "<script>alert(1)</script> & mail"
    gold = write(tmp_path / "gold.jsonl", [row("E1", nasty, ROWS[0].program), *ROWS[1:]])
    write_said(said, {**SAID, "E1": [ROWS[1].program]})
    page = tmp_path / "report.html"
    evaluate(gold, said, "--report", page, "--title", "A <b> title", "--compare", said)
    text = page.read_text(encoding="utf-8")
    assert "&lt;script&gt;alert(1)" in text
    assert "<title>A &lt;b&gt; title</title>" in text
    assert len(re.findall(r"<script", text)) == 1
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", text)
    assert "http" not in text


def test_standard_output_is_json_alone_or_a_table_of_tiers_and_errors(gold, said, capsys):
    evaluate(gold, said, "--output", "-")
    found = capsys.readouterr()
    assert json.loads(found.out)["rows"] == 4
    assert "program accuracy" in found.err or "match" in found.err
    evaluate(gold, said, "--most-wrong", 1)
    found = capsys.readouterr()
    assert re.search(r"^  match +1 +4$", found.out, re.MULTILINE)
    assert re.search(r"^  wrong polarity +1$", found.out, re.MULTILINE)
    assert found.err.splitlines()[-1] == "first program right: 1 of 4"


def test_shares_of_fewer_than_five_rows_are_counts(gold, said, tmp_path, capsys):
    page = tmp_path / "report.html"
    evaluate(gold, said, "--report", page, "--compare", said)
    assert "%" not in capsys.readouterr().out.partition("\n")[2].replace("%   interval", "")
    shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page.read_text(), flags=re.DOTALL)
    # The level of intervals, and how sure programs are.
    assert set(re.findall(r"[\d.]+ %", shown)) == {"95 %", "50 %"}
    write(gold, [*ROWS, row("E5", "again", ROWS[0].program)])
    write_said(said, {**SAID, "E5": SAID["E1"]})
    evaluate(gold, said)
    found = capsys.readouterr()
    assert re.search(r"^  match +2 +5 +40\.0   11\.8 – 76\.9$", found.out, re.MULTILINE)
    assert re.search(r"^  source: human +1 +2$", found.out, re.MULTILINE)
    assert "first program right: 2 of 5, 40.0 % (11.8 – 76.9)" in found.err


class Replies:
    """Gives one program and one refusal for every sentence."""

    def __init__(self, said):
        self.said = said

    def predict(self, utterances):
        return [reply.guesses for reply in self.predict_replies(utterances)]

    def predict_replies(self, utterances):
        for text in utterances:
            programs, refused = self.said[text]
            yield PredictedReply([Guess(program, 0.9) for program in programs], refused)


def test_a_predictor_with_replies_is_measured_by_what_a_user_meets(gold, tmp_path):
    write(gold, [*ROWS, row("E5", "what a day", OUT_OF_SCOPE), row("E6", "sing", OUT_OF_SCOPE)])
    right = {one.utterance: one.program for one in ROWS}
    first, second, third, fourth = right
    said = {
        first: ([right[first]], None),
        second: ([right[first]], None),
        third: ([right[third]], "unsure"),
        fourth: ([right[first], right[fourth]], "ambiguous"),
        "what a day": ([right[first]], "unused_words"),
        "sing": ([right[first]], None),
    }
    result = gd.evaluate(Replies(said), gold, library=SKILL)
    assert result.outcomes == {
        "answered rightly": 1,
        "answered wrongly": 2,
        "refused rightly": 1,
        "refused wrongly": 1,
        "asked": 1,
    }
    assert result.data["accuracy"]["right"] == 2
    assert [item["first_right"] for item in result.data["outcomes"]] == [1, 0, 0, 1, 0]
    assert repr(result).startswith("Evaluation(1 answered rightly, 2 wrongly, 1 refused rightly, ")
    wrong = [(one["kind"], one["id"], one["refused"]) for one in result.data["wrong"]["shown"]]
    assert wrong == [
        ("not refused", "E6", None),
        ("refused", "E3", "unsure"),
        ("asked", "E4", "ambiguous"),
        ("wrong function", "E2", None),
    ]
    titles = [line.split("  ")[0] for line in str(result).split("\n\n")[1:]]
    assert titles[:2] == ["what a user meets", "first program, tier"]
    result.report(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.index("answered rightly") < page.index("first program right")
    # A refusal says why, and not how sure the program behind it was.
    [refused] = re.findall(r"<em>refused</em>.*", page)
    assert REFUSALS["unsure"] in refused
    assert "confidence" not in refused
