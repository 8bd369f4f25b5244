"""The page on which the owner of private rows reviews the findings in them, and the misses.

It holds private text, so it loads nothing, runs nothing, asks not to be kept by search engines,
blurs the findings until they are asked for, and prints none of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from genie_dp.private.redact.redactor import Redacted, Redactor
from genie_dp.private.redact.rows import Point
from genie_dp.private.redact.spans import MASK, Finding
from genie_dp.rng import stream
from genie_dp.run.page import page_environment

# Sorts of rows, in the order of the page: what may have gone wrong comes first.
SORTS = {
    "public": "Public: nothing was found. Look for what was missed.",
    "caught": "Private by the conservative policy alone. Look for what should have been masked.",
    "masked": "Private: masked. Look for masks that are too short or too long.",
    "duplicate": "Private: was there before.",
}


@dataclass(frozen=True, slots=True, repr=False)
class PagePiece:
    """A piece of a text as the page shows it.

    Attributes:
        text: the piece.
        sort: "" for plain text, "masked", or "caught" by the conservative policy alone.
        why: kinds, scores and detectors.
    """

    text: str
    sort: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class PageRow:
    """A row of the page: its number in the file, its texts in pieces."""

    number: int
    texts: tuple[tuple[PagePiece, ...], ...]


@dataclass(frozen=True, slots=True, repr=False)
class DrawnRow:
    """A row that comes to the page: among those of its sort, at a place that may be another's."""

    sort: str
    place: int
    row: PageRow


@dataclass(slots=True, repr=False)
class Review:
    """Rows drawn for the page, some of each sort, all with the same chance.

    Attributes:
        most: rows of a sort.
        seed: of the draws.
        rows: by sort, the rows on the page so far.
        seen: by sort, how many rows there were so far.
    """

    most: int
    seed: int
    rows: dict[str, list[PageRow]] = field(default_factory=lambda: {name: [] for name in SORTS})
    seen: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SORTS, 0))

    def add(
        self, number: int, original: Point, one: Redacted, redactor: Redactor
    ) -> DrawnRow | None:
        """Take a row to the page and return it, or leave it (Vitter, 1985, algorithm R)."""
        sort = _sort(one)
        count = self.seen[sort]
        self.seen[sort] += 1
        place = stream(self.seed, "review", sort, count + 1).randrange(count + 1)
        place = count if count < self.most else place
        if place >= self.most:
            return None
        row = DrawnRow(sort, place, _show_row(number, original, one, redactor))
        self.put(row)
        return row

    def put(self, drawn: DrawnRow) -> None:
        """Put a row to its place."""
        # At the end of the list this appends.
        self.rows[drawn.sort][drawn.place : drawn.place + 1] = [drawn.row]


def _sort(one: Redacted) -> str:
    if one.is_duplicate:
        return "duplicate"
    if one.part == "public":
        return "public"
    return "masked" if any(MASK in text for text in one.point.texts) else "caught"


def _show_row(number: int, original: Point, one: Redacted, redactor: Redactor) -> PageRow:
    return PageRow(
        number,
        tuple(
            _pieces(text, places, findings, redactor)
            for text, places, findings in zip(original.texts, one.places, one.found, strict=True)
        ),
    )


def _pieces(
    text: str, places: Sequence[tuple[int, int]], found: Sequence[Finding], redactor: Redactor
) -> tuple[PagePiece, ...]:
    """Return a text in pieces: masks, pieces of the conservative policy, and the rest."""
    caught = () if redactor.conservative.every_text else redactor.conservative.taken(text, found)
    sorts = [""] * len(text)
    for finding in caught:
        sorts[finding.start : finding.end] = ["caught"] * (finding.end - finding.start)
    ends = {0, len(text)}
    for start, end in places:
        sorts[start:end] = ["masked"] * (end - start)
        ends |= {start, end}
    ends |= {i for i in range(1, len(text)) if sorts[i] != sorts[i - 1]}
    cuts = sorted(ends)
    return tuple(
        PagePiece(text[a:b], sorts[a], _why(a, b, found) if sorts[a] else "")
        for a, b in zip(cuts, cuts[1:], strict=False)
    )


def _why(start: int, end: int, found: Sequence[Finding]) -> str:
    best: dict[tuple[str, str], float] = {}
    for finding in found:
        if finding.start < end and start < finding.end:
            key = (finding.kind, finding.detector)
            best[key] = max(finding.score, best.get(key, 0.0))
    ranked = sorted(best.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} {score:.2f} ({by})" for (kind, by), score in ranked) or "by its value"


def page(result: Mapping[str, Any], review: Review) -> str:
    """Return the page of a report and the rows that were drawn."""
    environment = page_environment("genie_dp.private.redact")
    rows = {name: sorted(rows, key=lambda row: row.number) for name, rows in review.rows.items()}
    text: str = environment.get_template("review.html.jinja").render(
        result=result, rows=rows, seen=review.seen, sorts=SORTS
    )
    return text
