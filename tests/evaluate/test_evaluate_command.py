"""Rows and predictions of other tests; the command is played in tests/data/scenarios."""

import json

from genie_dp.evaluate.rows import Predictions, join_predictions, open_gold, without_predictions
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
