"""What an audit prints: figures of all attacks, bounds beside the claim; no text of any row."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from genie_dp.private.audit.page import around


def table(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines."""
    if result["membership"]:
        yield from _membership(result)
    if result["canaries"]:
        yield from _canaries(result["canaries"])
    if result["extraction"]:
        yield from _extraction(result["extraction"])
    yield from _bounds(result)


def _membership(result: Mapping[str, Any]) -> Iterator[str]:
    rows = result["rows"]
    left = "".join(f", {count:,} {why} left out" for why, count in rows["left"].items() if count)
    yield f"membership: {rows['members']:,} members, {rows['others']:,} others{left}"
    yield f"  {'attack':<28}{'group':>6}  {'accuracy':<26}{'AUC':<26}{'advantage':<26}TPR at FPR"
    for one in result["membership"]:
        rates = ", ".join(
            f"{figure['value']:.3f} at {rate}"
            for rate, figure in one["true_positive_rate_at"].items()
        )
        figures = "".join(f"{around(one[name]):<26}" for name in ("accuracy", "auc", "advantage"))
        yield f"  {one['attack']:<28}{one['group']:>6}  {figures}{rates or '–'}"


def _canaries(found: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"canaries: {found['canaries']} of {found['candidates']:,}, {found['repeats']} times each; "
        f"exposure at most {found['most']:.2f} bits, 1.44 by chance"
    )
    more = found["extrapolated"]
    yield f"  by rank        highest {found['highest']:6.2f}, mean {around(found['mean'], 2)}"
    yield f"  extrapolated   highest {more['highest']:6.2f}, mean {around(more['mean'], 2)}"


def _extraction(found: Mapping[str, Any]) -> Iterator[str]:
    if "left_out" in found:
        yield f"extraction: {found['left_out']}"
        return
    yield (
        f"extraction: {around(found['copied'])} of {found['samples']:,} samples have "
        f"{found['words']} words or more of the training text; the longest has {found['longest']}"
    )
    if "copied_by_chance" in found:
        yield f"  of the other rows, {around(found['copied_by_chance'])} have"


def _bounds(result: Mapping[str, Any]) -> Iterator[str]:
    claim = result["claim"]
    is_any = claim is not None and claim["epsilon"] is not None
    claimed = (
        f"claimed {claim['epsilon']:.4g} at delta {claim['delta']:.3g} by {claim['source']}"
        if is_any
        else "nothing is claimed"
    )
    yield f"epsilon is at least ({result['level']:.0%} for all together; {claimed}):"
    for one in result["epsilon"]:
        rows = "a row" if one["copies"] == 1 else f"{one['copies']} copies"
        mark = "  ABOVE THE CLAIM" if one["refutes"] else ""
        beside = "".join(_beside(one))
        yield f"  {one['epsilon']:7.3f}  {one['attack']}, {one['method']}, {rows}{beside}{mark}"
    if not result["epsilon"]:
        yield "  no bound: neither rows nor canaries were given"
    if is_any:
        if result["refutable"] is not None:
            yield f"the largest claim that this audit could refute: epsilon {_claim(result)}"
        yield f"{result['verdict'].upper()}: {result['reason']}"


def _beside(bound: Mapping[str, Any]) -> Iterator[str]:
    """Yield what stands beside a bound: what the attack could refute, and what it finds."""
    if bound["refutable"] is not None:
        yield f"; could refute {_claim(bound)}"
    if bound["unprotected"] is not None:
        yield f"; unprotected {bound['unprotected']:.3f}"


def _claim(found: Mapping[str, Any]) -> str:
    """Return the largest claim that can be refuted, rounded down: a larger one cannot."""
    return f"{math.floor(found['refutable'] * 100) / 100:.2f}"
