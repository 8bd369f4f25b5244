"""Answers as the results of a batch: what Mechanical Turk exports, and `collect` reads."""

from collections.abc import Iterator
from datetime import UTC, datetime

from genie_dp.paraphrase.tasks import paraphrase_columns
from genie_dp.serve.answer_store import AnswerStore, Assignment, Sizes

_HEAD = (
    "HITId", "AssignmentId", "WorkerId", "AssignmentStatus", "AcceptTime", "SubmitTime",
    "WorkTimeInSeconds",
)  # fmt: skip


def result_columns(sizes: Sizes) -> tuple[str, ...]:
    """Return the header of the results.

    >>> result_columns(Sizes(1, 2))[7:]
    ('Input.id1', 'Input.sentence1', 'Input.data1', 'Answer.Paraphrase1-1', 'Answer.Paraphrase1-2')
    """
    answers = (
        f"Answer.Paraphrase{n + 1}-{j + 1}"
        for n in range(sizes.sentences)
        for j in range(sizes.paraphrases)
    )
    inputs = (f"Input.{name}" for name in paraphrase_columns(sizes.sentences))
    return (*_HEAD, *inputs, *answers)


def results(store: AnswerStore) -> Iterator[dict[str, str]]:
    """Yield one assignment after the other, in the order of tasks.

    The cells of a sentence that is skipped or not yet answered are empty, for nobody is to be
    blamed for it.
    """
    columns = result_columns(store.sizes)
    for assignment in store.assignments():
        yield dict.fromkeys(columns, "") | _cells(assignment)


def _cells(assignment: Assignment) -> dict[str, str]:
    cells = {
        "HITId": assignment.task,
        "AssignmentId": assignment.id,
        "WorkerId": assignment.worker,
        "AssignmentStatus": "Submitted",
        "AcceptTime": _time(assignment.accepted),
        "SubmitTime": _time(assignment.touched),
        "WorkTimeInSeconds": str(max(0, round(assignment.touched - assignment.accepted))),
    }
    for place, (asked, texts) in assignment.answers.items():
        cells[f"Input.id{place}"] = asked.row
        cells[f"Input.sentence{place}"] = asked.sentence
        cells[f"Input.data{place}"] = asked.data
        for number, text in enumerate(texts, 1):
            cells[f"Answer.Paraphrase{place}-{number}"] = text
    return cells


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
