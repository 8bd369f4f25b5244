"""Several results as one: the mean over training runs, as Figure 8 and Table 3 of Genie show it."""

from collections.abc import Mapping, Sequence
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.evaluate.result import SCHEMA


def summary(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean and range of every figure over the results of one gold file.

    "We report the average across three training runs, along with the error representing the half
    range of results obtained" (Genie, section 5.4).

    Args:
        results: as `genie-dp evaluate --output` writes them; one a run.

    Raises:
        GenieError: no results (V030), or results of different rows (V031).
    """
    if not results:
        raise GenieError(Problem("V030", "no results to take the mean of"))
    for result in results:
        if result.get("schema") != SCHEMA:
            message = f"expected a result of the schema {SCHEMA}, got {result.get('schema')!r}"
            hint = "name files that genie-dp evaluate --output wrote"
            raise GenieError(Problem("V031", message, hint=hint))
    if len({(result["gold"], result["rows"]) for result in results}) > 1:
        names = ", ".join(sorted({f"{r['gold']} ({r['rows']} rows)" for r in results}))
        hint = "evaluate all runs on the same rows"
        raise GenieError(Problem("V031", f"expected one gold file, got {names}", hint=hint))
    return {
        "runs": len(results),
        "rows": results[0]["rows"],
        "accuracy": over_runs([result["accuracy"]["share"] for result in results]),
        "tiers": _means(results, "tiers", ("tier",)),
        "groups": _means(results, "groups", ("axis", "name")),
    }


def over_runs(shares: Sequence[float]) -> dict[str, float]:
    """Return mean, ends and half range.

    >>> figure = over_runs([0.5, 0.7, 0.6])
    >>> round(figure["mean"], 3), round(figure["half_range"], 3)
    (0.6, 0.1)
    """
    low, high = min(shares), max(shares)
    mean = sum(sorted(shares)) / len(shares)
    return {"mean": mean, "min": low, "max": high, "half_range": (high - low) / 2}


def table(rows: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """Return a table in Markdown like Table 3: a row for each model, a column for each test set.

    Args:
        rows: name of the model -> its summaries, one a test set; `over_runs` of any figure, too.

    >>> genie = {"accuracy": over_runs([0.853, 0.889])}
    >>> print(table({"Genie": [genie]}))
    | Genie | 87.1 ± 1.8 |
    """
    lines = []
    for name, summaries in rows.items():
        figures = [summary.get("accuracy", summary) for summary in summaries]
        cells = [f"{100 * f['mean']:.1f} ± {100 * f['half_range']:.1f}" for f in figures]
        lines.append(f"| {' | '.join([name, *cells])} |")
    return "\n".join(lines)


def _means(
    results: Sequence[Mapping[str, Any]], part: str, names: tuple[str, ...]
) -> list[dict[str, Any]]:
    figures: dict[tuple[str, ...], list[float]] = {}
    for result in results:
        for figure in result[part]:
            figures.setdefault(tuple(figure[name] for name in names), []).append(figure["share"])
    # A group that a run lacks (other training files) has no mean over all runs.
    return [
        {**dict(zip(names, key, strict=True)), **over_runs(shares)}
        for key, shares in figures.items()
        if len(shares) == len(results)
    ]
