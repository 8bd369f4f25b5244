"""The report of an audit: lines for a terminal, and a page of HTML that loads nothing.

Neither shows the text of any row.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

from genie_dp.run.page import page_environment

SCHEMA = "genie-dp.audit/3"
STATEMENT = (
    "The figures are not differentially private: computed from rows that a model was trained on, "
    "they must be kept like these. An attack that finds nothing proves nothing: a better one may."
)


def audit_page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as the command makes it."""
    environment = page_environment("genie_dp.private.audit", around=around, risks=release_risks)
    text: str = environment.get_template("audit.html.jinja").render(result=result)
    return text


def around(figure: Mapping[str, Any], digits: int = 3) -> str:
    """Return a figure with its interval.

    >>> around({"value": 0.5, "low": 0.4, "high": 0.6})
    '0.500 (0.400 to 0.600)'
    """
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"


def audit_lines(result: Mapping[str, Any]) -> Iterator[str]:
    """Yield the figures of all attacks, and bounds beside the claim."""
    if result["membership"]:
        yield from _membership_lines(result)
    if result["canaries"]:
        yield from _canary_lines(result["canaries"])
    if result["guesses"]:
        yield from _guess_lines(result["guesses"])
    if result["extraction"]:
        yield from _extraction_lines(result["extraction"])
    if result["release"]:
        yield from _release_lines(result["release"])
    yield from _bound_lines(result)


def _membership_lines(result: Mapping[str, Any]) -> Iterator[str]:
    rows = result["rows"]
    omissions = "".join(
        f", {count:,} {why} left out" for why, count in rows["left"].items() if count
    )
    yield f"membership: {rows['members']:,} members, {rows['others']:,} others{omissions}"
    yield f"  {'attack':<28}{'group':>6}  {'accuracy':<26}{'AUC':<26}{'advantage':<26}TPR at FPR"
    for attack in result["membership"]:
        rates = ", ".join(
            f"{figure['value']:.3f} at {rate}"
            for rate, figure in attack["true_positive_rate_at"].items()
        )
        figures = "".join(
            f"{around(attack[name]):<26}" for name in ("accuracy", "auc", "advantage")
        )
        yield f"  {attack['attack']:<28}{attack['group']:>6}  {figures}{rates or '–'}"


def _canary_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"canaries: {figures['canaries']} of {figures['candidates']:,}, "
        f"{figures['repeats']} times each; "
        f"exposure at most {figures['most']:.2f} bits, 1.44 by chance"
    )
    fit = figures["extrapolated"]
    yield f"  by rank        highest {figures['highest']:6.2f}, mean {around(figures['mean'], 2)}"
    yield f"  extrapolated   highest {fit['highest']:6.2f}, mean {around(fit['mean'], 2)}"


def _guess_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    by = ", ".join(figures["calibrated by"]) or "nothing: give --reference"
    yield (
        f"canaries: {figures['put in']:,} of {figures['canaries']:,} were put in by coins; "
        f"calibrated by {by}; AUC {around(figures['auc'])}"
    )
    shares = (f"{share['right']:,} of {share['guesses']:,}" for share in figures["shares"])
    yield f"  right guesses of the surest: {', '.join(shares)}"


def _extraction_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    if "left_out" in figures:
        yield f"extraction: {figures['left_out']}"
        return
    yield (
        f"extraction: {around(figures['copied'])} of {figures['samples']:,} samples have "
        f"{figures['words']} words or more of the training text; "
        f"the longest has {figures['longest']}"
    )
    if "copied_by_chance" in figures:
        yield f"  of the other rows, {around(figures['copied_by_chance'])} have"


def _release_lines(figures: Mapping[str, Any]) -> Iterator[str]:
    nearest = figures["nearest"]
    distance, nearer = nearest["distance"], nearest["nearer to members"]
    yield (
        f"released: {figures['rows']:,} rows; median distance to the nearest: members "
        f"{distance['members']:.3f}, others {distance['others']:.3f}; "
        f"AUC {around(nearest['auc'])}, by chance {_chance(nearest)}"
    )
    yield f"  released rows nearer to a member: {around(nearer)}, by chance {_chance(nearer)}"
    for name, risk in release_risks(figures):
        if risk["risk"] is None:
            yield f"  {name}: nothing to try"
            continue
        yield (
            f"  {name}: members {around(risk['members'])}, others {around(risk['others'])}, "
            f"risk {around(risk['risk'])}, by chance {_chance(risk)}"
        )


def release_risks(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the attacks on released rows that are right or wrong of each row, by their names."""
    parts = "sentence and program" if figures["linking"]["parts"] == "programs" else "halves"
    yield "rows that are released as they are", figures["nearest"]["copied"]
    yield "singled out by a few words", figures["singling out"]
    yield f"linked by {parts}", figures["linking"]


def _chance(figures: Mapping[str, Any]) -> str:
    return f"{figures['chance']:.3g}"


def _bound_lines(result: Mapping[str, Any]) -> Iterator[str]:
    claim = result["claim"]
    is_claimed = claim is not None and claim["epsilon"] is not None
    claimed = (
        f"claimed {claim['epsilon']:.4g} at delta {claim['delta']:.3g} by {claim['source']}"
        if is_claimed
        else "nothing is claimed"
    )
    yield f"epsilon is at least ({result['level']:.0%} for all together; {claimed}):"
    for bound in result["epsilon"]:
        rows = "a row" if bound["copies"] == 1 else f"{bound['copies']} copies"
        name = f"{bound['attack']}, {bound['method']}"
        mark = "  ABOVE THE CLAIM" if bound["refutes"] else ""
        beside = "".join(_beside(bound))
        yield f"  {bound['epsilon']:7.3f}  {name}, {rows}{beside}{mark}"
    if not result["epsilon"]:
        yield "  no bound: neither rows nor canaries were given"
    if is_claimed:
        if result["refutable"] is not None:
            yield f"the largest claim that this audit could refute: epsilon {_round_down(result)}"
        yield f"{result['verdict'].upper()}: {result['reason']}"


def _beside(bound: Mapping[str, Any]) -> Iterator[str]:
    """Yield the remarks on a bound: the refutable claim, and the bound without protection."""
    if bound["refutable"] is not None:
        yield f"; could refute {_round_down(bound)}"
    if bound["unprotected"] is not None:
        yield f"; unprotected {bound['unprotected']:.3f}"


def _round_down(figures: Mapping[str, Any]) -> str:
    """Return the largest claim that can be refuted, rounded down: a larger one cannot."""
    return f"{math.floor(figures['refutable'] * 100) / 100:.2f}"
