"""Counts over the rows of a run: one pass, in memory that does not grow with them."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Any

from genie_dp.synthesis.report_parameters import Parameters

MOST_AMBIGUOUS = 200  # shown with both derivations; all are counted


@dataclass(slots=True)
class RowCounts:
    """What the rows hold.

    Attributes:
        depth, length, width: rows by depth, by words, by number of functions.
        functions, templates, parameters: rows in which each takes part.
        pairs: rows in which two functions stand together, names in alphabetical order.
        ambiguous: how many rows were dropped since their sentence has another program.
        conflicts: sentence -> [the row that stayed, those that were dropped], for the first ones.
    """

    rows: int = 0
    depth: Counter[int] = field(default_factory=Counter)
    length: Counter[int] = field(default_factory=Counter)
    width: Counter[int] = field(default_factory=Counter)
    functions: Counter[str] = field(default_factory=Counter)
    templates: Counter[str] = field(default_factory=Counter)
    parameters: Counter[tuple[str, str]] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    ambiguous: int = 0
    conflicts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)


def count_rows(
    rows: Iterable[str], ambiguous: Iterable[str], parameters: Parameters | None
) -> RowCounts:
    """Return the counts over lines of JSON; `ambiguous` are the lines that were dropped.

    >>> row = '{"utterance": "beep now", "program": "now => @c.beep", "derivation": ["t"], '
    >>> counts = count_rows([row + '"functions": ["@c.beep"], "depth": 1}'], [], None)
    >>> counts.length, counts.functions
    (Counter({2: 1}), Counter({'@c.beep': 1}))
    """
    counts = RowCounts()
    dropped = _dropped(ambiguous, counts)
    for line in rows:
        row = json.loads(line)
        _add(counts, row, parameters)
        if row["utterance"] in dropped:
            counts.conflicts[row["utterance"]] = [_shown(row), *dropped[row["utterance"]]]
    return counts


def _add(counts: RowCounts, row: dict[str, Any], parameters: Parameters | None) -> None:
    functions = sorted(set(row["functions"]))
    counts.rows += 1
    counts.depth[row["depth"]] += 1
    counts.length[row["utterance"].count(" ") + 1] += 1
    counts.width[len(row["functions"])] += 1
    counts.functions.update(functions)
    counts.templates.update(set(row["derivation"]))
    if len(functions) > 1:
        counts.pairs.update(combinations(functions, 2))
    if parameters is not None:
        counts.parameters.update(set(parameters.in_program(row["program"])))


def _dropped(lines: Iterable[str], counts: RowCounts) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    remaining = iter(lines)
    for line in islice(remaining, MOST_AMBIGUOUS):
        counts.ambiguous += 1
        row = json.loads(line)
        found.setdefault(row["utterance"], []).append(_shown(row))
    counts.ambiguous += sum(1 for _ in remaining)
    return found


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("id", "program", "derivation")}
