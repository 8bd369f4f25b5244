"""The result of an evaluation as plain data: what JSON and the page are made of."""

from collections.abc import Iterator, Sequence
from typing import Any

from genie_dp.evaluate.bootstrap import Bootstrap
from genie_dp.evaluate.groups import order_of
from genie_dp.evaluate.judge import KINDS, MATCH, TIERS, Judged
from genie_dp.evaluate.tally import Comparison, Tally

SCHEMA = "genie-dp.evaluation/1"
_RANKS = (1, 2, 3, 5, 10, 20)
_MOST_CONFUSIONS = 50


def described(tally: Tally, bootstrap: Bootstrap, *, language: str) -> dict[str, Any]:
    """Return the counts with their intervals; docs/evaluation.md lists the fields.

    Args:
        tally: of one row at least.
        language: that of the programs; S-expressions have no devices.
    """
    return {
        "rows": tally.rows,
        "accuracy": bootstrap.share(tally.right, tally.rows),
        "tiers": list(_tiers(tally, bootstrap, language)),
        "top_k": list(_top(tally, bootstrap)),
        "groups": list(_groups(tally, bootstrap)),
        "kinds": [
            {"kind": kind, "rows": tally.kinds[kind], "share": tally.kinds[kind] / tally.rows}
            for kind in KINDS
            if tally.kinds[kind]
        ],
        "confusions": _confusions(tally),
        "calibration": tally.calibration.described(),
        "wrong": {"rows": tally.wrong.seen, "shown": _shown(tally.wrong)},
    }


def compared(comparison: Comparison, bootstrap: Bootstrap, *, language: str) -> dict[str, Any]:
    """Return the paired differences, first minus second, tier by tier."""
    tiers = [
        {"tier": name, **bootstrap.difference(comparison.counts(place))}
        for place, name in _ladder(language)
    ]
    return {
        **bootstrap.difference(comparison.counts(MATCH)),
        "tiers": tiers,
        "first_only_shown": _shown(comparison.gained),
        "second_only_shown": _shown(comparison.lost),
    }


def _ladder(language: str) -> Iterator[tuple[int, str]]:
    for place, name in enumerate(TIERS, 1):
        if name != "devices" or language == "thingtalk":
            yield place, name


def _tiers(tally: Tally, bootstrap: Bootstrap, language: str) -> Iterator[dict[str, Any]]:
    for place, name in _ladder(language):
        right = sum(rows for reached, rows in tally.reached.items() if reached >= place)
        yield {"tier": name, **bootstrap.share(right, tally.rows)}


def _top(tally: Tally, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    for k in _RANKS:
        if k == 1 or k <= tally.longest:
            right = sum(rows for rank, rows in tally.ranks.items() if 0 < rank <= k)
            yield {"k": k, **bootstrap.share(right, tally.rows)}


def _groups(tally: Tally, bootstrap: Bootstrap) -> Iterator[dict[str, Any]]:
    for axis, name in sorted(tally.groups, key=order_of):
        rows, right = tally.groups[axis, name]
        yield {"axis": axis, "name": name, **bootstrap.share(right, rows)}


def _confusions(tally: Tally) -> list[dict[str, Any]]:
    ranked = sorted(tally.confusions.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"expected": expected or None, "predicted": predicted or None, "rows": rows}
        for (expected, predicted), rows in ranked[:_MOST_CONFUSIONS]
    ]


def _shown(rows: Any) -> list[dict[str, Any]]:
    order = {kind: place for place, kind in enumerate(KINDS)}
    found: Sequence[Judged] = sorted(rows, key=lambda one: order[one.kind])
    return [
        {
            "id": one.gold.row.id,
            "utterance": one.gold.row.utterance,
            "kind": one.kind,
            "tier": TIERS[one.reached - 1] if one.reached else None,
            "expected": one.expected,
            "predicted": one.predicted or None,
            "confidence": one.confidence,
            "rank": one.rank or None,
            "detail": one.detail,
        }
        for one in found
    ]
