"""From what workers wrote to rows: checks, bad workers, votes, files."""

import csv
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.paraphrase.collect import (
    REASONS,
    REJECT_COLUMNS,
    WorkerAnswer,
    WorkerVote,
    apply_votes,
    collect,
    count_votes,
    rows_of,
)
from genie_dp.paraphrase.config import CollectConfig
from genie_dp.paraphrase.shown import placeholders, show, to_line
from genie_dp.rows import from_json
from tests.paraphrase.paraphrase_rows import as_csv, result, row, shown_range, shown_text

FILES = show(row("S4", "list all the files in my folder"), {})
ROWS = {shown.example.id: shown for shown in (shown_text(), shown_range(), FILES)}
GOOD = {
    "S2": ['tweet "good morning" to @bob at 8:30 am tagged #sun',
           'at 8:30 put "good morning" up for @bob under #sun'],
    "S3": ["which files have three to twelve pages", "at least 3 and at most 12 pages: what is it"],
    "S4": ["what is in my folder", "show me everything that my folder holds"],
}  # fmt: skip
BAD = ["no idea", "list all the files in my folder", "asdfg", "qwert zuiop asdfg hjkl"]
PIECES = st.sampled_from(
    ['"good morning"', "good morning", "@bob", "bob", "#sun", "8:30 am", "8:30", "tweet this to",
     "3", "three", "12", "13", "files with", "pages", "which of my", "and", "show me what i have"]
)  # fmt: skip


def answers(worker, row_id, typed, hit="H1"):
    return [WorkerAnswer(f"{hit}-{worker}", worker, row_id, n, t) for n, t in enumerate(typed, 1)]


def good(worker="W1"):
    return [a for id, typed in GOOD.items() for a in answers(worker, id, typed)]


def test_good_paraphrases_become_rows_with_placeholders():
    collected = collect(good(), ROWS)
    assert not collected.rejected
    rows = {r.utterance: r for r in rows_of(collected.accepted, str)}
    assert "which files have NUMBER_0 to NUMBER_1 pages" in rows
    found = rows["tweet QUOTED_STRING_0 to USERNAME_0 at TIME_0 tagged HASHTAG_0"]
    assert (found.source, found.parent) == ("paraphrase", "S2")
    assert found.program == shown_text().example.program


@given(st.lists(PIECES, min_size=1, max_size=9), st.sampled_from(sorted(ROWS)))
def test_what_is_accepted_has_every_value_once(pieces, row_id):
    collected = collect(answers("W1", row_id, [" ".join(pieces)]), ROWS)
    for found in rows_of(collected.accepted, str):
        wanted = placeholders(ROWS[row_id].example.utterance)
        assert sorted(placeholders(found.utterance)) == sorted(wanted)
        assert all(found.utterance.split().count(token) == 1 for token in wanted)


@given(st.randoms(use_true_random=False))
def test_the_order_of_the_results_does_not_matter(random):
    mixed = [*good("W1"), *good("W2"), *answers("W3", "S4", BAD), *answers("W4", "S4", BAD[:2])]
    shuffled = list(mixed)
    random.shuffle(shuffled)
    assert collect(shuffled, ROWS) == collect(mixed, ROWS)


def test_a_worker_with_three_bad_of_eight_is_rejected_wholly_and_one_with_two_is_not():
    written = answers("W1", "S4", [*BAD[:3], *GOOD["S4"]]) + answers("W1", "S2", GOOD["S2"])
    collected = collect([*written, *good("W2")], ROWS)
    assert collected.workers["W1"].is_rejected
    assert not collected.workers["W2"].is_rejected
    assert {j.answer.worker for j in collected.accepted} == {"W2"}
    collected = collect(good() + answers("W1", "S4", BAD[:2], hit="H2"), ROWS)
    assert (len(collected.accepted), len(collected.rejected)) == (6, 2)


@pytest.mark.parametrize(
    ("bad", "written", "is_bad"),
    [(2, 8, False), (3, 8, True), (2, 4, False), (3, 4, True), (5, 16, False), (6, 16, True)],
)
def test_of_more_paraphrases_the_same_share_may_be_bad(bad, written, is_bad):
    assert CollectConfig().is_bad(bad, written) is is_bad


def test_what_two_workers_write_alike_counts_once_and_against_nobody():
    collected = collect([*good("W1"), *good("W2")], ROWS)
    assert len(collected.accepted) == 6
    assert collected.reasons() == {"near-duplicate": 6}
    assert {worker.bad for worker in collected.workers.values()} == {0}
    # Ids tell the row and nothing of the worker.
    ids = {judged.answer.id: judged.answer.row for judged in collected.judged}
    assert len(ids) == 12
    assert all(id.startswith(f"{row}-P") for id, row in ids.items())
    assert not [id for id in ids if "W1" in id or "W2" in id]


def test_thresholds_that_make_no_sense_are_refused():
    with pytest.raises(GenieError, match="bad: expected a number of at least 1"):
        CollectConfig(bad=0)
    assert CollectConfig(bad=9, of=8).conflict() == "--bad must not be more than --of"


# ----------------------------------------------------------------------------------- votes


def votes(assignment, *said, same=True, different=False):
    controls = [
        WorkerVote(assignment, "", same, True),
        WorkerVote(assignment, "", different, False),
    ]
    return [WorkerVote(assignment, "p", answer) for answer in said] + controls


def test_votes_of_tasks_with_wrong_controls_do_not_count():
    counted = count_votes(
        votes("A1", True)
        + votes("A2", True, same=False)
        + votes("A3", True, same=False, different=True)
    )
    assert counted.same == {"p": 2}
    assert counted.discarded == {"A3"}


@pytest.mark.parametrize(
    ("said", "reasons"),
    [
        ((True, True, False), ()),
        ((True, False, False), ("voted-different",)),
        ((True,), ("too-few-votes",)),
        ((None, None, None), ("too-few-votes",)),
    ],
)
def test_a_paraphrase_needs_enough_votes_for_same(said, reasons):
    collected = collect(answers("W1", "S4", GOOD["S4"][:1]), ROWS)
    id = collected.judged[0].answer.id
    cast = [WorkerVote(f"A{n}", id, answer) for n, answer in enumerate(said)]
    judged = apply_votes(collected, count_votes(cast)).judged[0]
    assert judged.names == reasons


# ---------------------------------------------------------------------------- command line


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "chosen.jsonl").write_text("".join(to_line(s) + "\n" for s in ROWS.values()))
    bad = {"S2": BAD[:2], "S3": BAD[2:], "S4": ['=HYPERLINK("http://x")', "@SUM(1+1)"]}
    write(tmp_path / "results.csv", [result("H1", "W1", GOOD), result("H1", "W2", bad)])
    return tmp_path


def write(path, rows):
    path.write_text(as_csv(rows), newline="")


def run_collect(*more, results="results.csv"):
    return cli.run(["data", "paraphrase", "collect", results, "--chosen", "chosen.jsonl", *more])


def table(path):
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def report_of(project):
    return json.loads((project / "out.jsonl.manifest.json").read_text())


def test_collect_writes_rows_rejects_review_and_report(project, capsys):
    outputs = ["-o", "out.jsonl", "--rejects", "rejects.csv", "--review", "review.csv"]
    assert run_collect(*outputs, "--report", "report.json") == 0
    rows = [from_json(line) for line in (project / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 6
    report = json.loads((project / "report.json").read_text())
    assert report == report_of(project)
    assert report["counts"]["accepted"] == 6
    assert report["counts"]["rejected_workers"] == 1
    assert report["reasons"]["bad-worker"] == 6
    assert set(report["reasons"]) <= set(REASONS)
    said = capsys.readouterr().err
    assert "6 of 12 paraphrases -> out.jsonl (1 of 2 workers rejected" in said
    assert "6  bad-worker: written by a worker with too many bad paraphrases" in said
    # Rejects are safe to open and give the reason.
    rejected = table(project / "rejects.csv")
    assert (project / "rejects.csv").read_text().splitlines()[0] == ",".join(REJECT_COLUMNS)
    assert len(rejected) == 6
    texts = {cells["paraphrase"] for cells in rejected}
    assert {'\'=HYPERLINK("http://x")', "'@SUM(1+1)"} <= texts
    assert all(cells["reasons"].endswith("bad-worker") for cells in rejected)
    # A review has the columns of the results and what to tell the rejected.
    first, second = table(project / "review.csv")
    assert list(first) == [*table(project / "results.csv")[0], "Approve", "Reject"]
    assert (first["Approve"], first["Reject"], second["Approve"]) == ("x", "", "")
    assert second["Reject"].startswith("6 of 6 paraphrases do not follow the instructions")
    assert second["Answer.Paraphrase3-2"] == "'@SUM(1+1)"
    write(project / "back.csv", table(project / "results.csv")[::-1])
    assert run_collect("-o", "back.jsonl", results="back.csv") == 0
    assert (project / "out.jsonl").read_bytes() == (project / "back.jsonl").read_bytes()


def test_an_assignment_in_two_files_counts_once_and_rejected_ones_not_at_all(project):
    rows = table(project / "results.csv")
    write(project / "more.csv", [rows[0], {**rows[0], "AssignmentId": "A9", "WorkerId": "W9",
                                           "AssignmentStatus": "Rejected"}])  # fmt: skip
    assert run_collect("more.csv", "-o", "out.jsonl") == 0
    counts = {"assignments": 2, "repeated_assignments": 1, "rejected_before": 1}
    assert counts.items() <= report_of(project)["counts"].items()


def test_validation_tasks_and_their_results_go_through(project, capsys):
    shown = ["--chosen", "chosen.jsonl"]
    made = ["data", "paraphrase", "validate-hits", "results.csv", *shown, "-o", "votes.csv"]
    assert cli.run([*made, "--page", "votes.html", "--seed", "5"]) == 0
    assert "1 tasks on 6 paraphrases of 3 sentences" in capsys.readouterr().err
    [task] = table(project / "votes.csv")
    results = [vote(task, f"V{n}", lies=n == 2) for n in range(3)]
    write(project / "voted.csv", results)
    assert run_collect("-o", "out.jsonl", "--votes", "voted.csv", "--review-votes", "rv.csv") == 0
    assert len((project / "out.jsonl").read_text().splitlines()) == 5
    report = report_of(project)
    assert report["reasons"]["voted-different"] == 1
    assert report["votes"]["discarded_assignments"] == 1
    assert [bool(cells["Reject"]) for cells in table(project / "rv.csv")] == [False, False, True]


def vote(task, worker, *, lies):
    """Return a worker's votes: all the same but the first of sentence 1, all wrong if they lie."""
    cells = {"HITId": "V", "AssignmentId": f"V-{worker}", "WorkerId": worker}
    cells |= {f"Input.{name}": cell for name, cell in task.items()}
    first = next(i for i, id in enumerate(task["paraphrases1"].split(), 1) if id != "-")
    for n in (1, 2, 3):
        for place in range(1, len(task[f"paraphrases{n}"].split()) + 1):
            same = str(place) != task[f"different{n}"] and (n, place) != (1, first)
            cells[f"Answer.Same{n}-{place}"] = "same" if same is not lies else "different"
    return cells
