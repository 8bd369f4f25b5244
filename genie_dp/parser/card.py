"""The card of a parser, README.md with the front matter that Hugging Face reads, and its curves."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.locale import DEFAULT
from genie_dp.records import Spent


@dataclass(frozen=True, slots=True)
class File:
    """A file that was learned from; `digest` is the SHA-256 of its bytes."""

    name: str
    source: str
    digest: str
    ratio: float | None
    weight: float


@dataclass(frozen=True, slots=True)
class Card:
    """The contents of a parser's card.

    Attributes:
        counts: as `rows.as_counts` gives them.
        figures: as training gives them.
        validation: a description of the rows behind the figures; `is_real` if they are sentences
            of people.
        spent: the guarantee for rows of source "private".
        example: a sentence to try.
        curves: name of the picture, "" for none.
        has_skills: whether skills or declarations lie beside it; S-expressions may do without.
        start: name of the parser that this one continues; its card is start.md.
        is_from_base: whether it began with the shipped base.
        spoken: language of the sentences.
    """

    title: str
    folder: str
    language: str
    files: tuple[File, ...]
    counts: Mapping[str, Any]
    figures: Mapping[str, Any]
    validation: str
    is_real: bool
    seeds: tuple[int, ...]
    threshold: float
    is_constrained: bool
    has_skills: bool
    example: str
    made_by: tuple[str, ...] = ()
    licence: str = ""
    spent: Spent | None = None
    curves: str = ""
    start: str = ""
    is_from_base: bool = False
    spoken: str = DEFAULT
    version: str = __version__

    def __post_init__(self) -> None:
        check_spent(self.private_rows, self.spent)

    @property
    def private_rows(self) -> int:
        """Return the number of private rows."""
        return int(self.counts["rows"].get("private", 0))

    @property
    def human_rows(self) -> int:
        """Return the number of rows that people wrote."""
        return int(self.counts["rows"].get("human", 0))


def check_spent(private_rows: int, spent: Spent | None) -> None:
    """Refuse private rows without their guarantee.

    Raises:
        GenieError: N006.
    """
    if private_rows and spent is None:
        message = f"{private_rows:,} rows are of source private, and no guarantee is given"
        hint = "name the file of what was spent: --spent spent.json"
        raise GenieError(Problem("N006", message, hint=hint))


_WIDTH, _HEIGHT, _MARGIN = 640, 220, 46
_CURVES = (("loss", "loss per token, nats", "#b5462f"), ("score", "right, %", "#2c7a4b"))

Points = Sequence[tuple[float, float]]


def write_curves(events: Sequence[Mapping[str, Any]], stem: Path) -> Path | None:
    """Write the curves beside a name without ending; return the file, None without any point.

    Args:
        events: those of metrics.jsonl.
    """
    all_curves = [(title, color, points_of(events, name)) for name, title, color in _CURVES]
    curves = [curve for curve in all_curves if curve[2]]
    if not curves:
        return None
    if find_spec("matplotlib") is not None:
        return _png(curves, stem.with_suffix(".png"))
    path = stem.with_suffix(".svg")
    path.write_text(svg(curves), encoding="utf-8")
    return path


def points_of(events: Sequence[Mapping[str, Any]], name: str) -> list[tuple[float, float]]:
    """Return (step, value) of the events that have a value of that name; scores in percent.

    >>> points_of([{"step": 5, "score": 0.25}, {"step": 9, "loss": 1.0}], "score")
    [(5.0, 25.0)]
    """
    factor = 100.0 if name == "score" else 1.0
    return [(float(e["step"]), factor * float(e[name])) for e in events if name in e]


def svg(curves: Sequence[tuple[str, str, Points]]) -> str:
    """Return charts one below the other, as one self-contained picture."""
    height = _HEIGHT * len(curves)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{height}" fill="white"/>',
    ]
    for number, (title, color, points) in enumerate(curves):
        parts.append(f'<g transform="translate(0 {number * _HEIGHT})">')
        parts += _chart(title, color, points)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _chart(title: str, color: str, points: Points) -> list[str]:
    last = max(x for x, _ in points) or 1.0
    top = max(max(y for _, y in points), 1e-9)
    right, bottom = _WIDTH - _MARGIN, _HEIGHT - _MARGIN
    across, up = right - _MARGIN, bottom - _MARGIN // 2
    line = " ".join(
        f"{_MARGIN + across * x / last:.1f},{bottom - up * y / top:.1f}" for x, y in points
    )
    return [
        f"<title>{escape(title)}</title>",
        f'<text x="{_MARGIN}" y="16">{escape(title)}</text>',
        f'<path d="M{_MARGIN} {_MARGIN // 2}V{bottom}H{right}" fill="none" stroke="#888"/>',
        f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>',
        f'<text x="{_MARGIN - 6}" y="{_MARGIN // 2 + 4}" text-anchor="end">{top:.3g}</text>',
        f'<text x="{_MARGIN - 6}" y="{bottom}" text-anchor="end">0</text>',
        f'<text x="{right}" y="{bottom + 16}" text-anchor="end">step {last:,.0f}</text>',
    ]


def _png(curves: Sequence[tuple[str, str, Points]], path: Path) -> Path:
    figure = import_module("matplotlib.figure").Figure(
        figsize=(7, 2.6 * len(curves)), layout="constrained"
    )
    for number, (title, color, points) in enumerate(curves, 1):
        axes = figure.add_subplot(len(curves), 1, number)
        axes.plot(*zip(*points, strict=True), color=color)
        axes.set_ylabel(title)
        axes.set_ylim(bottom=0)
    axes.set_xlabel("step")
    figure.savefig(path, dpi=110, metadata={"Software": None})
    return path
