"""Rows and predictions of other tests; the command is played in tests/data/scenarios."""

import json
import re

import genie_dp as gd
from genie_dp.evaluate.rows import Predictions, join_predictions, open_gold, without_predictions
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.parser.answers import REFUSALS, Guess, PredictedReply
from tests.dataset.dataset_rows import row, write
from tests.golden import DATA

SKILL = DATA / "typecheck" / "skills" / "com.example.mail"
INBOX, RANDOM = "@com.example.mail.inbox", "@com.example.mail.random"
UNREAD = f"now => ( {INBOX} ) filter param:is_read:Boolean == false => notify"
ROWS = (
    row("E1", "show my inbox", f"now => {INBOX} => notify", source="human"),
    row("E2", "a random mail", f"now => {RANDOM} => notify", source="paraphrase"),
    row("E3", "unread mail please", UNREAD, source="human"),
    row("E4", "when mail comes", f"monitor ( {INBOX} ) => notify", source="paraphrase"),
)
SAID = {
    "E1": [f"now => {INBOX} => notify"],
    "E2": [f"now => {INBOX} => notify", f"now => {RANDOM} => notify"],
    "E3": [UNREAD.replace("false", "true")],
    "E4": [],
}


def write_said(path, said, confidence=0.5):
    lines = [
        json.dumps({"id": id, "programs": programs, "confidences": [confidence] * len(programs)})
        for id, programs in said.items()
    ]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_predictions_in_the_order_of_the_rows_do_not_wait(tmp_path):
    gold = open_gold(str(write(tmp_path / "gold.jsonl", ROWS)))
    file = Predictions(str(write_said(tmp_path / "said.jsonl", SAID)))
    pairs = join_predictions(without_predictions(gold), file, gold="gold")
    assert [len(file.waiting) for _ in pairs] == [0, 0, 0, 0]
    assert file.rows == 4


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


def test_a_predictor_with_replies_is_measured_by_what_a_user_meets(tmp_path):
    gold = write(
        tmp_path / "gold.jsonl",
        [*ROWS, row("E5", "what a day", OUT_OF_SCOPE), row("E6", "sing", OUT_OF_SCOPE)],
    )
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
