"""Rows, tasks and results that the tests of paraphrases share; all invented."""

import csv
from io import StringIO

from genie_dp.paraphrase.shown import show
from genie_dp.records import Example, Slot

QUERY = "@com.example.files.list"
ACTION = "@com.example.post.send"
OTHER = "@com.example.lamp.switch"


def row(id="S1", utterance="list my files", program=None, functions=(QUERY,), **more):
    return Example(
        id, utterance, program or f"now => {utterance} => notify", functions=functions, **more
    )


def text_row():
    return row(
        "S2",
        "post QUOTED_STRING_0 for USERNAME_0 with HASHTAG_0 at TIME_0",
        "now => @com.example.post.send param:text:String = QUOTED_STRING_0",
        functions=(ACTION,),
        slots={"QUOTED_STRING_0": Slot("String", f"{ACTION}:text")},
    )


def shown_text():
    values = {
        "QUOTED_STRING_0": "good morning",
        "USERNAME_0": "bob",
        "HASHTAG_0": "sun",
        "TIME_0": "8:30 am",
    }
    return show(text_row(), values)


def range_row():
    return row(
        "S3",
        "list files from NUMBER_0 to NUMBER_1 pages",
        "now => ( @com.example.files.list ) filter param:pages:Number >= NUMBER_0 and "
        "param:pages:Number <= NUMBER_1 => notify",
    )


def shown_range():
    return show(range_row(), {"NUMBER_0": "3", "NUMBER_1": "12"})


def as_csv(rows):
    """Return rows as the CSV that Mechanical Turk exports."""
    out = StringIO(newline="")
    columns = list(dict.fromkeys(name for cells in rows for name in cells))
    writer = csv.DictWriter(out, columns, restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def result(hit, worker, answers, assignment=None):
    """Return one assignment; `answers` maps row ids to the paraphrases written of them."""
    cells = {
        "HITId": hit,
        "AssignmentId": assignment or f"{hit}-{worker}",
        "WorkerId": worker,
        "AssignmentStatus": "Submitted",
    }
    for n, (id, typed) in enumerate(answers.items(), 1):
        cells[f"Input.id{n}"] = id
        for j, text in enumerate(typed, 1):
            cells[f"Answer.Paraphrase{n}-{j}"] = text
    return cells
