"""The sampler as a whole: pools of every depth, then the plan of the root."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from genie_dp.errors import GenieError
from genie_dp.records import PrivatePrior
from genie_dp.rng import child_seed
from genie_dp.synthesis.cells import Cells, cells_of
from genie_dp.synthesis.compiler import Compiled, takes_part
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.drawn import Drawn
from genie_dp.synthesis.lexicon import Lexicon
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.placeholders import mask_of
from genie_dp.synthesis.pools import Pools
from genie_dp.synthesis.python_bodies import with_derivation
from genie_dp.synthesis.quotas import F64, I64, fill
from genie_dp.synthesis.rules import Combined, Rule, piece_of
from genie_dp.synthesis.sampler import Plan, plan
from genie_dp.synthesis.steering import PILOT, Steering, steering

MOST_LEAVES = 100_000  # combinations of one leaf template; more are sampled
MOST_COPIES = 20  # of a piece in a group, so that extreme weights cost no memory
_MARGIN = 1.15  # rows are drawn beyond the size, for repeats and rejections


@dataclass(slots=True)
class Engine:
    """Everything that workers need: built once, then only read.

    `cells` are those of the root, with and without a quota in the plan.
    """

    compiled: Compiled
    config: SynthesisConfig
    pools: Pools
    plan: Plan
    cells: Cells
    lexicon: Lexicon
    steering: Steering | None = None


def build_engine(
    compiled: Compiled,
    config: SynthesisConfig,
    lexicon: Lexicon | None = None,
    prior: PrivatePrior | None = None,
    *,
    with_origins: bool = False,
) -> Engine:
    """Return the engine: pools sampled, cells of the root listed, quotas shared out.

    A `lexicon` that was made of the same grammar by `make_lexicon` saves making it again. With a
    `prior` more is drawn, and what people ask for is kept. `with_origins` the pools know what
    their pieces were made of (trees.py).
    """
    lexicon = lexicon or make_lexicon(compiled, config)
    pools = _empty_pools(compiled, config)
    pools.clashes.update(lexicon.clashes)
    refused_before = compiled.refused()
    pools.origins = {} if with_origins else None
    for category, leaves in lexicon.leaves.items():
        pools.add(category, leaves)
    for depth in range(1, config.max_depth):
        for category in lexicon.leaves:
            pools.add(category, _level(compiled, category, depth, pools, config))
    pools.refused = lexicon.refused + (compiled.refused() - refused_before)
    found = cells_of(_root_rules(compiled), range(config.max_depth + 1), pools)
    return _planned(compiled, config, lexicon, pools, found, prior)


def engine_of(
    compiled: Compiled,
    config: SynthesisConfig,
    drawn: Drawn,
    prior: PrivatePrior | None = None,
) -> Engine:
    """Return the engine of pools and choices that were drawn before, see `Drawn`."""
    pools = _empty_pools(compiled, config)
    pools.levels = {category: list(levels) for category, levels in drawn.levels.items()}
    pools.clashes.update(drawn.clashes)
    pools.refused.update(drawn.refused)
    found = Cells.of(_root_rules(compiled), drawn.batches)
    return _planned(compiled, config, drawn.lexicon, pools, found, prior)


def _empty_pools(compiled: Compiled, config: SynthesisConfig) -> Pools:
    copies = copies_of(config.weights)
    return Pools(leaves=compiled.leaves, balance=config.balance, copies=copies)


def _planned(
    compiled: Compiled,
    config: SynthesisConfig,
    lexicon: Lexicon,
    pools: Pools,
    found: Cells,
    prior: PrivatePrior | None,
) -> Engine:
    """Return the engine that draws from these cells of the root."""
    weights = _root_weights(found, config)
    steered = None if prior is None else _steering(found, weights, config, prior)
    draws = 1.0 if steered is None else 1 / steered.kept
    seed = child_seed(config.seed, "root", "shares")
    shares = partial(_root_shares, weights, config=config, draws=draws, seed=seed)
    planned = plan(found, _quotas(found, config, shares, "root"), config.seed, "root")
    return Engine(compiled, config, pools, planned, found, lexicon, steered)


def make_lexicon(compiled: Compiled, config: SynthesisConfig) -> Lexicon:
    """Return the leaves of all categories that stand inside of others.

    They depend on the grammar and on which functions take part; on the seed only where there are
    too many to keep them all.
    """
    pools = Pools(leaves=compiled.leaves)
    refused_before = compiled.refused()
    leaves: dict[str, list[Piece]] = {}
    is_sample = False
    for category in sorted(_used_as_children(compiled)):
        found = cells_of(compiled.rules.get(category, ()), (0,), pools)
        quotas = np.minimum(found.sizes, np.uint64(MOST_LEAVES)).astype(np.int64)
        are_all = bool((quotas.astype(np.uint64) == found.sizes).all())
        chosen = plan(found, quotas, 0 if are_all else config.seed, "pool", category, 0)
        leaves[category] = list(_pieces(chosen, compiled, pools, config))
        is_sample |= not are_all
    refused = compiled.refused() - refused_before
    return Lexicon(leaves, pools.clashes, tuple(compiled.placeholders.stems), is_sample, refused)


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
) -> list[Piece]:
    """Return a sample of the pieces of a category at an exact depth."""
    found = cells_of(compiled.rules.get(category, ()), (depth,), pools)
    if not found:
        return []
    weights = np.array([found[a].rule.template.weight for a, _ in found.spans])
    names = ("pool", category, depth)
    seed = child_seed(config.seed, *names, "shares")
    shares = partial(fill, config.pool_size, weights, seed=seed)
    chosen = plan(found, _quotas(found, config, shares, *names), config.seed, *names)
    return list(_pieces(chosen, compiled, pools, config))


def _pieces(
    chosen: Plan, compiled: Compiled, pools: Pools, config: SynthesisConfig
) -> Iterator[Piece]:
    """Yield the pieces of a plan; of those that say the same, the first one."""
    met: dict[str, str] = {}
    for cell, pieces in chosen.draws(0, chosen.total):
        try:
            combined = cell.wording.assemble(*pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        is_leaf = cell.rule.is_leaf
        if combined is None or (is_leaf and not takes_part(combined.value.functions, config)):
            continue
        name = _said(combined)
        text = combined.value.text
        if name in met:
            if met[name] != text:
                pools.clashes[combined.text] += 1
            continue
        met[name] = text
        if is_leaf:
            combined.count = compiled.placeholders.count(combined.text)
            combined.mask = mask_of(combined.count)
        piece = piece_of(cell.rule, pieces, combined)
        if pools.origins is not None:
            pools.origins[id(piece)] = cell.rule, pieces
        yield piece


def _said(combined: Combined) -> str:
    """Return what may not stand for two programs: the words, with what their place tells apart.

    "from Alice" is one thing of mails and another of files: the noun before it says which.
    """
    value = combined.value
    of = getattr(value.state, "function", "") if value.kind == "predicate" else ""
    return f"{combined.text}\0{value.gap}\0{of}"


def _root_rules(compiled: Compiled) -> list[Rule]:
    return [rule for name in compiled.roots for rule in compiled.rules.get(name, ())]


def _root_weights(found: Cells, config: SynthesisConfig) -> F64:
    """Return the weight of each template of the root at each depth."""
    first = [found[a] for a, _ in found.spans]
    return np.array(
        [cell.rule.template.weight * config.depth_decay ** max(0, cell.depth - 1) for cell in first]
    )


def _steering(
    found: Cells, weights: F64, config: SynthesisConfig, prior: PrivatePrior
) -> Steering | None:
    """Return how the draws of the root are to be thinned, from a sample of them."""
    seed = child_seed(config.seed, "pilot", "shares")
    quotas = _quotas(found, config, partial(fill, PILOT, weights, seed=seed), "pilot")
    sample = plan(found, quotas, config.seed, "pilot")
    pilot = []
    for cell, pieces in sample.draws(0, sample.total):
        try:
            combined = cell.wording.assemble(*pieces)
        except GenieError as error:
            raise with_derivation(error, cell.rule.template, pieces) from error
        if combined is not None:
            pilot.append(combined.value.functions)
    return steering(prior, pilot, child_seed(config.seed, "steering"), config.weights)


def _root_shares(
    weights: F64, room: F64, *, config: SynthesisConfig, draws: float, seed: int
) -> I64:
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


def _quotas(
    found: Cells, config: SynthesisConfig, shares: Callable[[F64], I64], *names: object
) -> I64:
    """Return the quota of each cell: templates first, then cells by count ** balance.

    `shares` tells from the room that templates have what each of them gets; `names` name the
    random stream by which fractions are rounded.
    """
    boost = np.ones(len(found))
    if config.weights:
        boost = np.array([config.weights.get(function, 1.0) for function in found.functions])
    sizes = found.sizes.astype(float)
    room = np.array([sizes[a:b][boost[a:b] > 0].sum() for a, b in found.spans])
    pull = sizes**config.balance * boost
    quotas = np.zeros(len(found), np.int64)
    for (a, b), share in zip(found.spans, shares(room), strict=True):
        seed = child_seed(config.seed, *names, "cells", a)
        quotas[a:b] = fill(int(share), pull[a:b], sizes[a:b], seed)
    return quotas
