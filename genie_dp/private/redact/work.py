"""The work folder of a redaction: rows so far, the page's rows, and a journal to go on from.

A batch is in the run when its line is in the journal; rows behind it were written by a run that was
killed in between, and are cut off. The folder is as private as the rows: its owner's alone.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from genie_dp.private.redact.review import DrawnRow, PagePiece, PageRow, Review
from genie_dp.run.work import enter_work, last_line, open_cut

Later = npt.NDArray[np.bool_]

_LATER = "later.npy"
_NOTHING: Mapping[str, Any] = {"done": 0, "bytes": 0, "shown": 0, "counts": {}, "seen": {}}


@dataclass(slots=True, repr=False)
class RedactionWork:
    """An open work folder.

    Attributes:
        path: where it is.
        rows: the redacted rows.
        shown: rows that were drawn for the page, as they were drawn.
        journal: a line for each batch.
        done: points whose rows are there.
        counts: of the report.
        review: the content of the page so far.
        later: for each point of the file, whether it was there before.
    """

    path: Path
    rows: BinaryIO
    shown: BinaryIO
    journal: BinaryIO
    done: int
    counts: Counter[str]
    review: Review
    later: Later

    def add(self, rows: Sequence[Mapping[str, Any]], drawn: Iterable[DrawnRow]) -> None:
        """Append the rows of a batch, then note it in the journal; counts are the present ones."""
        for row in rows:
            self.rows.write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
        for row_of_page in drawn:
            self.shown.write(json.dumps(_as_list(row_of_page)).encode() + b"\n")
        self.rows.flush()
        self.shown.flush()
        self.done += len(rows)
        line = {
            "done": self.done,
            "bytes": self.rows.tell(),
            "shown": self.shown.tell(),
            "counts": self.counts,
            "seen": self.review.seen,
        }
        self.journal.write(json.dumps(line).encode() + b"\n")
        self.journal.flush()

    def close(self) -> None:
        """Close all files; the folder stays."""
        for file in (self.rows, self.shown, self.journal):
            file.close()


def load_later(path: Path) -> Later | None:
    """Return which points were there before, as an earlier run left it, or None."""
    file = path / _LATER
    later: Later | None = np.load(file) if file.exists() else None
    return later


def open_work(path: Path, settings: dict[str, Any], later: Later) -> RedactionWork:
    """Return the work folder: a new one, or the one there as far as it got.

    Raises:
        GenieError: another run's settings lie there (Y020); rows are lost (Y026).
    """
    enter_work(path, settings, resume=True)
    if not (path / _LATER).exists():
        temporary = path / f"new.{_LATER}"
        np.save(temporary, later)
        temporary.replace(path / _LATER)
    last = last_line(path / "journal.jsonl") or _NOTHING
    rows = open_cut(path / "rows", last["bytes"])
    review_rows = open_cut(path / "shown.jsonl", last["shown"])
    journal = open(path / "journal.jsonl", "ab")  # noqa: SIM115 - closed by RedactionWork.close
    review = _read_review(path / "shown.jsonl", settings["review"], last["seen"])
    counts = Counter(last["counts"])
    return RedactionWork(path, rows, review_rows, journal, last["done"], counts, review, later)


def _read_review(shown: Path, settings: Mapping[str, int], seen: Mapping[str, int]) -> Review:
    review = Review(settings["rows"], settings["seed"])
    review.seen |= seen
    for line in shown.read_bytes().splitlines():
        review.put(_drawn_from(json.loads(line)))
    return review


def _as_list(drawn: DrawnRow) -> list[Any]:
    texts = [[[piece.text, piece.sort, piece.why] for piece in text] for text in drawn.row.texts]
    return [drawn.sort, drawn.place, drawn.row.number, texts]


def _drawn_from(line: list[Any]) -> DrawnRow:
    sort, place, number, texts = line
    return DrawnRow(
        sort, place, PageRow(number, tuple(tuple(PagePiece(*p) for p in t) for t in texts))
    )
