"""The sampler as a whole: pools of every depth, then the plan of the root."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from genie_dp.errors import GenieError
from genie_dp.records import PrivatePrior
from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import CellBatch, Cells, cells_of
from genie_dp.synthesis.compiler import CompiledGrammar, GrammarLeaves, takes_part
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.pieces import Piece, mask_of
from genie_dp.synthesis.plan import F64, I64, DrawPlan, fill, plan_draws
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.python_bodies import with_derivation
from genie_dp.synthesis.rules import Combined, GrammarRule, piece_of
from genie_dp.synthesis.steering import PILOT, Steering, make_steering

_ONLY_OF_THE_PLAN = ("size", "target_size", "depth_decay")


@dataclass(slots=True)
class SampledPools:
    """The pools and the choices of the root, without anything of the compiled templates.

    Attributes:
        lexicon: the leaves; the pools have the same ones at depth 0.
        levels: category -> pieces of depth 0, of depth 1, ..
        clashes: sentences of partial derivations that were met with two programs.
        refused: partial derivations that were left out as ill-typed: "template: code" -> how many.
        batches: the choices of the root; rules by number.
    """

    lexicon: GrammarLeaves
    levels: Mapping[str, Sequence[Sequence[Piece]]]
    clashes: Counter[str]
    refused: Counter[str]
    batches: Sequence[CellBatch]

    @classmethod
    def from_pools(cls, lexicon: GrammarLeaves, pools: Pools, root_cells: Cells) -> "SampledPools":
        """Return the pools and cells of an engine, starting from this lexicon."""
        return cls(lexicon, pools.levels, pools.clashes, pools.refused, root_cells.batches)


def pool_settings(config: SynthesisConfig) -> dict[str, Any]:
    """Return the settings on which it depends, by name."""
    return {name: value for name, value in asdict(config).items() if name not in _ONLY_OF_THE_PLAN}


MOST_LEAVES = 100_000  # combinations of one leaf template; more are sampled
MOST_COPIES = 20  # of a piece in a group, so that extreme weights cost no memory
_ENOUGH = 5  # draws for each template at each depth, from which on each way to say one is drawn
_MARGIN = 1.15  # rows are drawn beyond the size, for repeats and rejections


@dataclass(slots=True)
class SynthesisEngine:
    """Everything that workers need: built once, then only read.

    `cells` are those of the root, with and without a quota in the plan.
    """

    compiled: CompiledGrammar
    config: SynthesisConfig
    pools: Pools
    plan: DrawPlan
    cells: Cells
    lexicon: GrammarLeaves
    steering: Steering | None = None


def build_engine(
    compiled: CompiledGrammar,
    config: SynthesisConfig,
    lexicon: GrammarLeaves | None = None,
    prior: PrivatePrior | None = None,
    *,
    with_origins: bool = False,
) -> SynthesisEngine:
    """Return the engine: pools sampled, cells of the root listed, quotas shared out.

    A `lexicon` that was made of the same grammar by `make_leaves` saves making it again. With a
    `prior` more is drawn, and thinned to its shares. `with_origins` the pools know the pieces that
    their pieces were made of (trees.py).
    """
    lexicon = lexicon or make_leaves(compiled, config)
    pools = _empty_pools(compiled, config)
    pools.clashes.update(lexicon.clashes)
    refused_before = compiled.count_refused()
    pools.origins = {} if with_origins else None
    for category, leaves in lexicon.leaves.items():
        pools.add(category, leaves)
    for depth in range(1, config.max_depth):
        for category in lexicon.leaves:
            pools.add(category, _level(compiled, category, depth, pools, config))
    pools.refused = lexicon.refused + (compiled.count_refused() - refused_before)
    root_cells = cells_of(_root_rules(compiled), range(config.max_depth + 1), pools)
    return _plan_root(compiled, config, lexicon, pools, root_cells, prior)


def engine_from_pools(
    compiled: CompiledGrammar,
    config: SynthesisConfig,
    sampled: SampledPools,
    prior: PrivatePrior | None = None,
) -> SynthesisEngine:
    """Return the engine of pools and choices that were drawn before, see `SampledPools`."""
    pools = _empty_pools(compiled, config)
    pools.levels = {category: list(levels) for category, levels in sampled.levels.items()}
    pools.clashes.update(sampled.clashes)
    pools.refused.update(sampled.refused)
    root_cells = Cells.from_batches(_root_rules(compiled), sampled.batches)
    return _plan_root(compiled, config, sampled.lexicon, pools, root_cells, prior)


def _empty_pools(compiled: CompiledGrammar, config: SynthesisConfig) -> Pools:
    copies = copies_of(config.weights)
    return Pools(leaves=compiled.leaves, balance=config.balance, copies=copies)


def _plan_root(
    compiled: CompiledGrammar,
    config: SynthesisConfig,
    lexicon: GrammarLeaves,
    pools: Pools,
    root_cells: Cells,
    prior: PrivatePrior | None,
) -> SynthesisEngine:
    """Return the engine that draws from these cells of the root."""
    weights = _root_weights(root_cells, config)
    steered = None if prior is None else _steering(root_cells, weights, config, prior)
    draws = 1.0 if steered is None else 1 / steered.share_kept
    seed = child_seed(config.seed, "root", "shares")
    demand = _demand(root_cells, config)
    shares = _root_shares(weights, demand.room, config, draws, seed)
    quotas = _quotas(root_cells, demand, shares, config.seed, "root")
    planned = plan_draws(root_cells, quotas, config.seed, "root")
    if config.size is not None and config.target_size is None and steered is None:
        of_size = fill(config.size, weights, demand.room, seed)
        if root_cells.say_words or _lacks_a_rule(planned, config.size, of_size):
            # What is drawn once is not to be among the draws that the size leaves over.
            first = _quotas(root_cells, demand, of_size, config.seed, "root")
            quotas = np.maximum(quotas, first)
            planned = plan_draws(root_cells, quotas, config.seed, "root", first=first)
    return SynthesisEngine(compiled, config, pools, planned, root_cells, lexicon, steered)


def make_leaves(compiled: CompiledGrammar, config: SynthesisConfig) -> GrammarLeaves:
    """Return the leaves of all categories that stand inside of others.

    They depend on the grammar and on which functions take part; on the seed only where there are
    too many to keep them all.
    """
    pools = Pools(leaves=compiled.leaves)
    refused_before = compiled.count_refused()
    leaves: dict[str, list[Piece]] = {}
    is_sample = False
    for category in sorted(_used_as_children(compiled)):
        leaf_cells = cells_of(compiled.rules.get(category, ()), (0,), pools)
        quotas = np.minimum(leaf_cells.sizes, np.uint64(MOST_LEAVES)).astype(np.int64)
        are_all = bool((quotas.astype(np.uint64) == leaf_cells.sizes).all())
        chosen = plan_draws(leaf_cells, quotas, 0 if are_all else config.seed, "pool", category, 0)
        leaves[category] = list(_pieces(chosen, compiled, pools, config))
        is_sample |= not are_all
    refused = compiled.count_refused() - refused_before
    return GrammarLeaves(
        leaves, pools.clashes, tuple(compiled.placeholders.stems), is_sample, refused
    )


def copies_of(weights: Mapping[str, float]) -> dict[str, int]:
    """Return how often the pieces of a function stand in a group; "" is any other function.

    >>> copies_of({"@a.b": 2.0, "@c.d": 0.5})
    {'@a.b': 4, '@c.d': 1, '': 2}
    """
    positive = {name: weight for name, weight in weights.items() if weight > 0}
    if not positive:
        return {}
    positive[""] = 1.0
    lowest = max(min(positive.values()), max(positive.values()) / MOST_COPIES)
    return {name: max(1, round(weight / lowest)) for name, weight in positive.items()}


def _used_as_children(compiled: CompiledGrammar) -> set[str]:
    return {
        child.pool
        for rules in compiled.rules.values()
        for rule in rules
        for child in rule.layout.children
        if not child.is_leaf
    }


def _level(
    compiled: CompiledGrammar, category: str, depth: int, pools: Pools, config: SynthesisConfig
) -> list[Piece]:
    """Return a sample of the pieces of a category at an exact depth."""
    level_cells = cells_of(compiled.rules.get(category, ()), (depth,), pools)
    if not level_cells:
        return []
    weights = np.array([level_cells[a].rule.template.weight for a, _ in level_cells.spans])
    names = ("pool", category, depth)
    seed = child_seed(config.seed, *names, "shares")
    demand = _demand(level_cells, config)
    shares = fill(config.pool_size, weights, demand.room, seed)
    quotas = _quotas(level_cells, demand, shares, config.seed, *names)
    chosen = plan_draws(level_cells, quotas, config.seed, *names)
    return list(_pieces(chosen, compiled, pools, config))


def _pieces(
    chosen: DrawPlan, compiled: CompiledGrammar, pools: Pools, config: SynthesisConfig
) -> Iterator[Piece]:
    """Yield the pieces of a plan; of those with the same words, the first one."""
    texts_by_key: dict[str, str] = {}
    for cell, pieces in chosen.draws(0, chosen.total):
        try:
            combined = cell.wording.assemble(*pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        is_leaf = cell.rule.is_leaf
        if combined is None or (is_leaf and not takes_part(combined.value.functions, config)):
            continue
        name = _clash_key(combined)
        text = combined.value.text
        if name in texts_by_key:
            if texts_by_key[name] != text:
                pools.clashes[combined.text] += 1
            continue
        texts_by_key[name] = text
        if is_leaf:
            combined.count = compiled.placeholders.count(combined.text)
            combined.mask = mask_of(combined.count)
        piece = piece_of(cell.rule, pieces, combined)
        if pools.origins is not None:
            pools.origins[id(piece)] = cell.rule, pieces
        yield piece


def _clash_key(combined: Combined) -> str:
    """Return the key that may have one program only: the words, gap and function of a piece.

    "from Alice" is one thing of mails and another of files: the noun before it decides which.
    """
    value = combined.value
    of = getattr(value.state, "function", "") if value.kind == "predicate" else ""
    return f"{combined.text}\0{value.gap}\0{of}"


def _root_rules(compiled: CompiledGrammar) -> list[GrammarRule]:
    return [rule for name in compiled.roots for rule in compiled.rules.get(name, ())]


def _root_weights(root_cells: Cells, config: SynthesisConfig) -> F64:
    """Return the weight of each template of the root at each depth."""
    first = [root_cells[a] for a, _ in root_cells.spans]
    return np.array(
        [cell.rule.template.weight * config.depth_decay ** max(0, cell.depth - 1) for cell in first]
    )


def _steering(
    root_cells: Cells, weights: F64, config: SynthesisConfig, prior: PrivatePrior
) -> Steering | None:
    """Return the steering that thins the draws of the root, from a sample of them."""
    seed = child_seed(config.seed, "pilot", "shares")
    demand = _demand(root_cells, config)
    shares = fill(PILOT, weights, demand.room, seed)
    quotas = _quotas(root_cells, demand, shares, config.seed, "pilot")
    sample = plan_draws(root_cells, quotas, config.seed, "pilot")
    pilot = []
    for cell, pieces in sample.draws(0, sample.total):
        try:
            combined = cell.wording.assemble(*pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        if combined is not None:
            pilot.append(combined.value.functions)
    return make_steering(prior, pilot, child_seed(config.seed, "steering"), config.weights)


def _root_shares(weights: F64, room: F64, config: SynthesisConfig, draws: float, seed: int) -> I64:
    """Return how many draws each template gets at each depth; `room` is how many it has.

    `draws` are made for each row.
    """
    if config.target_size is None:
        total = int(((config.size or 0) * _MARGIN + 100) * draws)
        return fill(total, weights, room, seed)
    shares = np.minimum(np.ceil(config.target_size * draws * weights), room).astype(np.int64)
    if config.size is not None and shares.sum() > config.size * _MARGIN * draws:
        return fill(int(config.size * _MARGIN * draws), shares.astype(float), room, seed)
    return shares


class _Demand(NamedTuple):
    """How many draws cells ask for.

    Attributes:
        sizes: combinations of each cell, shape (cells,).
        pull: by which a template's draws are shared among its cells, shape (cells,).
        room: combinations of each template at each depth, shape (spans,).
    """

    sizes: F64
    pull: F64
    room: F64


def _demand(cells: Cells, config: SynthesisConfig) -> _Demand:
    boost = np.ones(len(cells))
    if config.weights:
        boost = np.array([config.weights.get(function, 1.0) for function in cells.functions])
    sizes = cells.sizes.astype(float)
    room = np.array([sizes[a:b][boost[a:b] > 0].sum() for a, b in cells.spans])
    return _Demand(sizes, cells.pull(config.balance) * boost, room)


def _quotas(cells: Cells, demand: _Demand, shares: I64, seed: int, *names: object) -> I64:
    """Return the quota of each cell: its template's share by count ** balance.

    Args:
        shares: draws of each template at each depth, shape (spans,).
        names: of the random stream that rounds fractions.
    """
    quotas = np.zeros(len(cells), np.int64)
    is_enough = shares.sum() >= _ENOUGH * len(shares)
    for (a, b), share in zip(cells.spans, shares, strict=True):
        pull = demand.pull[a:b]
        of_cells = child_seed(seed, *names, "cells", a)
        quotas[a:b] = fill(int(share), pull, demand.sizes[a:b], of_cells)
        if is_enough:
            _give_every_rule(quotas[a:b], pull, cells.rules_from(a, b - a))
    return quotas


def _lacks_a_rule(planned: DrawPlan, size: int, shares: I64) -> bool:
    """Return whether the first draws lack a rule of a template with draws enough for all.

    Args:
        planned: draws, some of which the size leaves over.
        shares: draws that each template has at each depth of the size alone.
    """
    cells = planned.all_cells
    assert isinstance(cells, Cells)
    if size < _ENOUGH * len(cells.spans):
        return False
    drawn = planned.count_cells(size)
    for (a, b), share in zip(cells.spans, shares, strict=True):
        of_rules = np.bincount(cells.rules_from(a, b - a), drawn[a:b])
        if share >= len(of_rules) and not of_rules.all():
            return True
    return False


def _give_every_rule(quotas: I64, pull: F64, rules: I64) -> None:
    """Give a draw to each rule of a template that has none, where there are draws enough.

    Args:
        quotas, pull, rules: of the cells of the template.
    """
    count = int(rules.max()) + 1
    if count == 1 or quotas.sum() < count:
        return
    drawn = np.bincount(rules, quotas, count)
    for rule in np.flatnonzero(drawn == 0).tolist():
        own = np.flatnonzero((rules == rule) & (pull > 0))
        if len(own):
            most = int(np.argmax(np.where(drawn[rules] > 1, quotas, 0)))
            drawn[rules[most]] -= 1
            quotas[most] -= 1
            quotas[own[np.argmax(pull[own])]] += 1
