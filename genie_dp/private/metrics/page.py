"""The comparison as one page of HTML: charts are SVG, nothing is loaded, no script is needed."""

from collections.abc import Mapping
from typing import Any

from genie_dp.private.metrics.figures import GROUPS, Metric, shown, spread
from genie_dp.run.page import page_environment


def page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as the command makes it of `compare.compared`."""
    environment = page_environment("genie_dp.private.metrics", spread=spread)
    columns = [result["real"], *result["synthetic"]]
    text: str = environment.get_template("comparison.html.jinja").render(
        result=result,
        columns=columns,
        groups=[(title, _told(metrics, columns)) for title, metrics in GROUPS.items()],
        shown=shown,
        widths=widths,
        best=best,
    )
    return text


def _told(metrics: tuple[Metric, ...], columns: list[Mapping[str, Any]]) -> list[Metric]:
    return [m for m in metrics if any(m.key in one["figures"] for one in columns)]


def best(metric: Metric, result: Mapping[str, Any]) -> frozenset[int]:
    """Return the places of the best synthetic files; none where all are equal, or one is alone.

    >>> files = [{"figures": {"mauve": {"value": value}}} for value in (0.2, 0.5)]
    >>> mauve = next(m for m in GROUPS["Sentences"] if m.key == "mauve")
    >>> best(mauve, {"real": {"figures": {}}, "synthetic": files})
    frozenset({1})
    """
    told = {
        place: round(one["figures"][metric.key]["value"], 3)
        for place, one in enumerate(result["synthetic"])
        if metric.key in one["figures"]
    }
    if metric.better == "none" or len(set(told.values())) < 2:
        return frozenset()
    real = result["real"]["figures"].get(metric.key, {"value": 0.0})["value"]
    rank = {"high": lambda v: -v, "low": lambda v: v, "real": lambda v: abs(v - real)}
    ranked = {place: rank[metric.better](value) for place, value in told.items()}
    return frozenset(place for place, r in ranked.items() if r == min(ranked.values()))


def widths(metric: Metric, columns: list[Mapping[str, Any]]) -> float:
    """Return what a bar of full width stands for: 1 for shares, else the largest figure.

    >>> loss = next(m for m in GROUPS["Sentences"] if m.key == "loss")
    >>> widths(loss, [{"figures": {"loss": {"value": 2.0, "high": 2.5}}}])
    2.5
    """
    if metric.is_share:
        return 1.0
    figures = [one["figures"][metric.key] for one in columns if metric.key in one["figures"]]
    return max((f.get("high", f["value"]) for f in figures), default=1.0) or 1.0
