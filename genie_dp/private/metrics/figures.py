"""The figures of a comparison: their names and meanings, and a page that shows them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from genie_dp.run.page import page_environment

SCHEMA = "genie-dp.private-evaluation/1"

PAPER = "Mireshghallah et al. 2023"


@dataclass(frozen=True, slots=True)
class Metric:
    """One figure.

    Attributes:
        key: name in the result.
        title: name for people.
        better: "high", "low", "real" for near that of the real rows, or "none" for neither.
        is_share: from 0 to 1.
        meaning: one sentence.
        source: section or table.
    """

    key: str
    title: str
    better: Literal["high", "low", "real", "none"]
    meaning: str
    source: str
    is_share: bool = True


SENTENCES = (
    Metric(
        "word_overlap", "word-type overlap", "high",
        "Share of the different words of the real sentences that occur in the synthetic ones.",
        f"{PAPER}, 4.2, Table 1 (W. Overlap)",
    ),
    Metric(
        "word_precision", "word-type precision", "high",
        "Share of the different words of the synthetic sentences that occur in the real ones.",
        "none; the counterpart of overlap",
    ),
    Metric(
        "mauve", "MAUVE", "high",
        "Area under the divergence frontier of both distributions of sentences; mean of the runs.",
        f"Pillutla et al. 2021; {PAPER}, 4.2, Table 1",
    ),
    Metric(
        "loss", "language-model loss", "real",
        "Nats a word. Far above the real sentences': garbage; far below: the same over and over.",
        f"{PAPER}, A.3 (there GPT-2, above 2.0 discarded)", is_share=False,
    ),
    Metric(
        "held_out", "held-out likelihood", "low",
        "Nats a word of the real rows under the generator that drew the synthetic ones, with their "
        "programs where it writes some: how much of real rows it has not learned.",
        "none; what every training lowers", is_share=False,
    ),
    Metric(
        "copies", "copies", "none",
        "Share of the synthetic sentences that are, word for word, among the real ones compared. "
        "Short sentences are so by chance; what DP promises, no such count shows.",
        "none",
    ),
)  # fmt: skip
PROGRAMS = (
    Metric(
        "function_overlap", "function-type overlap", "high",
        "Share of the functions of the real programs that the synthetic ones use.",
        f"{PAPER}, 4.2, Table 1 (F. Overlap)",
    ),
    Metric(
        "function_precision", "function-type precision", "high",
        "Share of the functions of the synthetic programs that the real ones use.",
        "none; the counterpart of overlap",
    ),
    Metric(
        "chi_square", "chi-square distance", "low",
        "Half the sum of (p - q)² / (p + q) over the shares p and q of each function: 0 for equal, "
        "1 for disjoint.",
        f"{PAPER}, 4.2, Table 1 (Dist.), without a formula there",
    ),
    *(
        Metric(
            f"top_{k}", f"top-{k} functions", "high",
            f"Share of the {k} most frequent real functions that are among the {k} most frequent "
            "synthetic ones.",
            f"{PAPER}, B.4, Table 6",
        )
        for k in (10, 25, 50, 100)
    ),
    Metric(
        "graph_recall", "graphs reached", "high",
        "Share of the real rows whose program, without its values, some synthetic row has.",
        "none",
    ),
    Metric(
        "graph_precision", "real graphs", "high",
        "Share of the synthetic rows whose program, without its values, some real row has.",
        "none",
    ),
    Metric(
        "valid", "valid programs", "high",
        "Share of the rows whose own program can be read and fits the library.",
        f"{PAPER}, B.7 (invalid trees are noted, not counted)",
    ),
)  # fmt: skip
PAIRS = (
    Metric(
        "graph_match", "anonymised graph match", "high",
        "Share of the rows whose program equals, without its values, what the parser says of the "
        "sentence.",
        f"{PAPER}, 5.4, Table 3",
    ),
    Metric(
        "precision", "API precision", "high",
        "Share of the parser's functions that the row's program has, too; mean over rows.",
        f"{PAPER}, 5.4, Table 3",
    ),
    Metric(
        "recall", "API recall", "high",
        "Share of the functions of the row's program that the parser says; mean over rows.",
        f"{PAPER}, 5.4, Table 3",
    ),
    Metric(
        "micro_precision", "API precision, micro", "high",
        "The share over the functions of all rows together, long programs counting more.", "none",
    ),
    Metric(
        "micro_recall", "API recall, micro", "high",
        "The share over the functions of all rows together, long programs counting more.", "none",
    ),
)  # fmt: skip
GROUPS: Mapping[str, tuple[Metric, ...]] = {
    "Sentences": SENTENCES,
    "Programs": PROGRAMS,
    "Sentences and programs together": PAIRS,
}

PRIVATE = (
    "These figures were computed from private rows and are NOT differentially private: the "
    "guarantee of the synthetic rows does not cover them, and no ledger has recorded them. Keep "
    "this report where the private rows are kept; do not publish, mail or commit it. Whoever "
    "chooses settings or rows by it uses the private rows once more, outside of the budget."
)
PUBLIC = (
    "The real rows were declared public (--real-is-public). Had they been private, these figures "
    "would not be differentially private, and the guarantee of the synthetic rows would not cover "
    "them."
)


def shown(metric: Metric, figure: Mapping[str, Any] | None) -> str:
    """Return a figure for people: three digits, or a dash.

    >>> shown(SENTENCES[0], {"value": 0.25}), shown(SENTENCES[0], None)
    ('0.250', '–')
    """
    return "–" if figure is None else f"{figure['value']:.3f}"


def spread(figure: Mapping[str, Any] | None) -> str:
    """Return the interval of a figure, or the deviation of its runs; "" for neither.

    >>> spread({"value": 0.5, "low": 0.4, "high": 0.6}), spread({"value": 1, "deviation": 0.02})
    ('0.400 – 0.600', '± 0.020')
    """
    match figure:
        case {"low": low, "high": high}:
            return f"{low:.3f} – {high:.3f}"
        case {"deviation": deviation}:
            return f"± {deviation:.3f}"
    return ""


def page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as the command makes it of `compare.compare_corpora`."""
    environment = page_environment("genie_dp.private.metrics", spread=spread)
    columns = [result["real"], *result["synthetic"]]
    text: str = environment.get_template("comparison.html.jinja").render(
        result=result,
        columns=columns,
        groups=[(title, _select_told(metrics, columns)) for title, metrics in GROUPS.items()],
        shown=shown,
        widths=widths,
        best=best,
    )
    return text


def _select_told(metrics: tuple[Metric, ...], columns: list[Mapping[str, Any]]) -> list[Metric]:
    return [m for m in metrics if any(m.key in column["figures"] for column in columns)]


def best(metric: Metric, result: Mapping[str, Any]) -> frozenset[int]:
    """Return the places of the best synthetic files; none where all are equal, or one is alone.

    >>> files = [{"figures": {"mauve": {"value": value}}} for value in (0.2, 0.5)]
    >>> mauve = next(m for m in GROUPS["Sentences"] if m.key == "mauve")
    >>> best(mauve, {"real": {"figures": {}}, "synthetic": files})
    frozenset({1})
    """
    values = {
        place: round(column["figures"][metric.key]["value"], 3)
        for place, column in enumerate(result["synthetic"])
        if metric.key in column["figures"]
    }
    if metric.better == "none" or len(set(values.values())) < 2:
        return frozenset()
    real = result["real"]["figures"].get(metric.key, {"value": 0.0})["value"]
    rank = {"high": lambda v: -v, "low": lambda v: v, "real": lambda v: abs(v - real)}
    ranked = {place: rank[metric.better](value) for place, value in values.items()}
    return frozenset(place for place, r in ranked.items() if r == min(ranked.values()))


def widths(metric: Metric, columns: list[Mapping[str, Any]]) -> float:
    """Return the value of a bar of full width: 1 for shares, else the largest figure.

    >>> loss = next(m for m in GROUPS["Sentences"] if m.key == "loss")
    >>> widths(loss, [{"figures": {"loss": {"value": 2.0, "high": 2.5}}}])
    2.5
    """
    if metric.is_share:
        return 1.0
    figures = [
        column["figures"][metric.key] for column in columns if metric.key in column["figures"]
    ]
    return max((f.get("high", f["value"]) for f in figures), default=1.0) or 1.0


def table_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines that are printed: figures under each other, files side by side."""
    columns = [result["real"], *result["synthetic"]]
    width = max(12, *(len(column["name"]) + 2 for column in columns))
    yield f"{result['rows']:,} rows of each file"
    for title, metrics in GROUPS.items():
        lines = list(_group_lines(metrics, columns, width))
        if lines:
            yield f"\n{title:<32}" + "".join(f"{column['name']:>{width}}" for column in columns)
        yield from lines
    yield f"\n{result['privacy']['statement']}"


def _group_lines(
    metrics: Sequence[Metric], columns: Sequence[Mapping[str, Any]], width: int
) -> Iterator[str]:
    for metric in metrics:
        figures = [column["figures"].get(metric.key) for column in columns]
        if any(figures):
            cells = "".join(f"{shown(metric, figure):>{width}}" for figure in figures)
            # Beside one file there is room for intervals; the page has all of them.
            spreads = "   ".join(filter(None, map(spread, figures))) if len(columns) == 2 else ""
            yield f"  {metric.title:<30}{cells}" + (f"   ({spreads})" if spreads else "")
