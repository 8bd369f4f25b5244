"""The sampler as a whole: pools of every depth, then the plan of the root."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError
from genie_dp.synthesis.cells import Cell, family_cells
from genie_dp.synthesis.compiler import Compiled, takes_part
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import mask_of
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.python_bodies import with_derivation
from genie_dp.synthesis.quotas import fill
from genie_dp.synthesis.rules import Combined, Rule, combine, piece_of
from genie_dp.synthesis.sampler import Plan, plan

MOST_LEAVES = 100_000  # combinations of one leaf template; more are sampled
MOST_COPIES = 20  # of a piece in a group, so that extreme weights cost no memory
_MARGIN = 1.15  # rows are drawn beyond the size, for repeats and rejections


@dataclass(slots=True)
class Engine:
    """Everything that workers need: built once, then only read."""

    compiled: Compiled
    config: SynthesisConfig
    pools: Pools
    plan: Plan


def build_engine(compiled: Compiled, config: SynthesisConfig) -> Engine:
    """Return the engine: pools sampled, cells of the root listed, quotas shared out."""
    pools = Pools(leaves=compiled.leaves, balance=config.balance, copies=copies_of(config.weights))
    inner = _used_as_children(compiled)
    for depth in range(config.max_depth):
        for category in sorted(inner):
            level = list(_level(compiled, category, depth, pools, config))
            pools.levels.setdefault(category, []).append(level)
    root_cells, quotas = _root(compiled, pools, config)
    return Engine(compiled, config, pools, plan(root_cells, quotas, config.seed, "root"))


def copies_of(weights: Mapping[str, float]) -> dict[str, int]:
    """Return how often the pieces of a function stand in a group; "" is any other function.

    >>> copies_of({"@a.b": 2.0, "@c.d": 0.5})
    {'@a.b': 4, '@c.d': 1, '': 2}
    """
    known = {name: weight for name, weight in weights.items() if weight > 0}
    if not known:
        return {}
    known[""] = 1.0
    lowest = max(min(known.values()), max(known.values()) / MOST_COPIES)
    return {name: max(1, round(weight / lowest)) for name, weight in known.items()}


def _used_as_children(compiled: Compiled) -> set[str]:
    return {
        child.pool
        for rules in compiled.rules.values()
        for rule in rules
        for child in rule.layout.children
        if not child.is_leaf
    }


def _level(
    compiled: Compiled, category: str, depth: int, pools: Pools, config: SynthesisConfig
) -> Iterator[Piece]:
    """Yield the pieces of a category at an exact depth: all leaves, a sample of the rest."""
    found, by_rule = _cells_of(compiled.rules.get(category, ()), depth, pools)
    if not found:
        return
    if depth == 0:
        quotas = np.array([min(cell.size, MOST_LEAVES) for cell in found], np.int64)
    else:
        quotas = _shares(found, by_rule, config.pool_size, config)
    chosen = plan(found, quotas, config.seed, "pool", category, depth)
    met: dict[str, str] = {}
    for cell, pieces in chosen.draws(0, chosen.total):
        try:
            combined = combine(cell.rule, cell.wording, pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        if combined is None or (depth == 0 and not takes_part(combined.value.functions, config)):
            continue
        name = _said(combined)
        text = combined.value.text
        if name in met:
            if met[name] != text:
                pools.clashes[combined.text] += 1
            continue
        met[name] = text
        if cell.rule.is_leaf:
            combined.count = compiled.placeholders.count(combined.text)
            combined.mask = mask_of(combined.count)
        yield piece_of(cell.rule, pieces, combined)


def _said(combined: Combined) -> str:
    """Return what may not stand for two programs: the words, with what their place tells apart.

    "from Alice" is one thing of mails and another of files: the noun before it says which.
    """
    value = combined.value
    of = getattr(value.state, "function", "") if value.kind == "predicate" else ""
    return f"{combined.text}\0{value.gap}\0{of}"


def _cells_of(
    rules: Sequence[Rule], depth: int, pools: Pools
) -> tuple[list[Cell], list[tuple[int, int]]]:
    """Return the cells of all rules, and for each template the range of its cells."""
    found: list[Cell] = []
    by_template: dict[str, list[Cell]] = {}
    families: dict[int, list[Rule]] = {}
    for rule in rules:
        families.setdefault(rule.family, []).append(rule)
    for family in families.values():
        of_template = by_template.setdefault(family[0].template.id, [])
        of_template.extend(family_cells(family, depth, pools))
    spans = []
    for members in by_template.values():
        spans.append((len(found), len(found) + len(members)))
        found.extend(members)
    return found, spans


def _shares(
    found: Sequence[Cell], spans: Sequence[tuple[int, int]], total: int, config: SynthesisConfig
) -> npt.NDArray[Any]:
    """Return the quota of each cell: templates first, then cells by count ** balance."""
    sizes = np.array([cell.size for cell in found], float)
    boost = np.array([config.weights.get(cell.function, 1.0) for cell in found])
    used = [(a, b) for a, b in spans if b > a]
    capacity = np.array([sizes[a:b][boost[a:b] > 0].sum() for a, b in used])
    weights = np.array([found[a].rule.template.weight for a, _ in used])
    quotas = np.zeros(len(found), np.int64)
    for (a, b), share in zip(used, fill(total, weights, capacity), strict=True):
        quotas[a:b] = fill(int(share), sizes[a:b] ** config.balance * boost[a:b], sizes[a:b])
    return quotas


def _root(
    compiled: Compiled, pools: Pools, config: SynthesisConfig
) -> tuple[list[Cell], npt.NDArray[Any]]:
    """Return the cells of all roots and depths, and their quotas."""
    rules = [rule for name in compiled.roots for rule in compiled.rules.get(name, ())]
    found: list[Cell] = []
    spans: list[tuple[int, int]] = []
    weights: list[float] = []
    for depth in range(config.max_depth + 1):
        at_depth, at_spans = _cells_of(rules, depth, pools)
        for a, b in at_spans:
            if b > a:
                spans.append((len(found) + a, len(found) + b))
                decay = config.depth_decay ** max(0, depth - 1)
                weights.append(at_depth[a].rule.template.weight * decay)
        found.extend(at_depth)
    return found, _root_quotas(found, spans, np.array(weights), config)


def _root_quotas(
    found: Sequence[Cell],
    spans: Sequence[tuple[int, int]],
    weights: npt.NDArray[Any],
    config: SynthesisConfig,
) -> npt.NDArray[Any]:
    sizes = np.array([cell.size for cell in found], float)
    boost = np.array([config.weights.get(cell.function, 1.0) for cell in found])
    capacity = np.array([sizes[a:b][boost[a:b] > 0].sum() for a, b in spans])
    if config.target_size is not None:
        shares = np.minimum(np.ceil(config.target_size * weights), capacity).astype(np.int64)
        if config.size is not None and shares.sum() > config.size * _MARGIN:
            shares = fill(int(config.size * _MARGIN), shares.astype(float), capacity)
    else:
        shares = fill(int((config.size or 0) * _MARGIN) + 100, weights, capacity)
    quotas = np.zeros(len(found), np.int64)
    for (a, b), share in zip(spans, shares, strict=True):
        quotas[a:b] = fill(int(share), sizes[a:b] ** config.balance * boost[a:b], sizes[a:b])
    return quotas
