"""Reads the results of batches: what workers wrote, and how they voted."""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.paraphrase.collect import Answer
from genie_dp.paraphrase.tables import Line, guarded, read_table, unguarded
from genie_dp.paraphrase.votes import Vote

_PARAPHRASE = re.compile(r"Answer\.Paraphrase(\d+)-(\d+)")
_SAME = re.compile(r"Answer\.Same(\d+)-(\d+)")


@dataclass(slots=True)
class Results:
    """The assignments of some files of results, each once.

    Attributes:
        columns: of all files, in the order of their first mention.
        lines: assignments that count.
        repeated: assignments that a file before had.
        set_aside: assignments that are rejected already.
    """

    columns: dict[str, None] = field(default_factory=dict)
    lines: list[Line] = field(default_factory=list)
    repeated: int = 0
    set_aside: int = 0


def read_results(paths: Iterable[str]) -> Results:
    """Return the assignments of files of results as Mechanical Turk exports them."""
    results = Results()
    seen: set[str] = set()
    for path in paths:
        columns, lines = read_table(path, ("HITId", "WorkerId", "Input.id1"))
        results.columns.update(dict.fromkeys(columns))
        for line in lines:
            name = assignment_of(line)
            if name in seen:
                results.repeated += 1
            elif line.cells.get("AssignmentStatus", "").lower() == "rejected":
                results.set_aside += 1
            else:
                results.lines.append(line)
            seen.add(name)
    return results


def assignment_of(line: Line) -> str:
    """Return what tells one worker's work on one task from all other work."""
    cells = line.cells
    return cells.get("AssignmentId") or f"{cells['HITId']}/{cells['WorkerId']}"


def answers_of(results: Results, known: Collection[str]) -> list[Answer]:
    """Return all paraphrases that were typed.

    Raises:
        GenieError: P011 if no column holds any; P012, all rows that were never shown.
    """
    found: list[Answer] = []
    problems: list[Problem] = []
    fields = _fields(_PARAPHRASE, results, "Answer.Paraphrase1-1")
    for line in results.lines:
        for column, n, number in fields:
            row = line.cells.get(f"Input.id{n}", "")
            if not row or column not in line.cells:
                continue
            if row not in known:
                problems.append(_unknown("row", row, line, known))
                continue
            typed = unguarded(line.cells[column])
            found.append(Answer(assignment_of(line), line.cells["WorkerId"], row, number, typed))
    if problems:
        raise GenieError(list(dict.fromkeys(problems)))
    return found


def votes_of(results: Results, known: Collection[str]) -> list[Vote]:
    """Return all votes of validation tasks.

    Raises:
        GenieError: P011 if no column holds any; P012, all paraphrases that nobody wrote.
    """
    found: list[Vote] = []
    problems: list[Problem] = []
    fields = _fields(_SAME, results, "Answer.Same1-1")
    for line in results.lines:
        for column, n, place in fields:
            ids = line.cells.get(f"Input.paraphrases{n}", "").split()
            if place > len(ids) or column not in line.cells:
                continue
            name = "" if ids[place - 1] == "-" else ids[place - 1]
            if name and name not in known:
                problems.append(_unknown("paraphrase", name, line, known))
                continue
            found.append(
                Vote(assignment_of(line), name, _said(line.cells[column]), _right(line, n, place))
            )
    if problems:
        raise GenieError(list(dict.fromkeys(problems)))
    return found


def _fields(pattern: re.Pattern[str], results: Results, example: str) -> list[tuple[str, int, int]]:
    """Return (column, sentence, number) of every answer column."""
    found = [
        (column, int(match[1]), int(match[2]))
        for column in results.columns
        if (match := pattern.fullmatch(column))
    ]
    if not found and results.lines:
        message = f"expected columns such as {example!r}, got none"
        raise GenieError(Problem("P011", message, results.lines[0].span, "are these the results?"))
    return sorted(found, key=lambda item: item[1:])


def _unknown(what: str, name: str, line: Line, known: Collection[str]) -> Problem:
    hint = did_you_mean(name, known) if len(known) < 10_000 else None
    hint = hint or "give the files that the tasks were made of"
    return Problem("P012", f"{what} {name!r} is none of those given", line.span, hint)


def _said(cell: str) -> bool | None:
    return {"same": True, "different": False}.get(cell.strip().lower())


def _right(line: Line, n: int, place: int) -> bool | None:
    """Return what a control should be answered; None for a paraphrase."""
    if line.cells.get(f"Input.same{n}") == str(place):
        return True
    return False if line.cells.get(f"Input.different{n}") == str(place) else None


def reviewed(results: Results, why: "dict[str, str]") -> Iterator[dict[str, str]]:
    """Yield the assignments as Mechanical Turk takes a review: Approve, or Reject with a reason.

    Args:
        why: assignment -> what to tell the worker, for those that are rejected.
    """
    for line in results.lines:
        reason = why.get(assignment_of(line), "")
        yield {
            **dict.fromkeys(results.columns, ""),
            **{c: guarded(v) if c.startswith("Answer.") else v for c, v in line.cells.items()},
            "Approve": "" if reason else "x",
            "Reject": reason,
        }


def review_columns(results: Results) -> Sequence[str]:
    """Return the header of a review."""
    return tuple(dict.fromkeys((*results.columns, "Approve", "Reject")))
