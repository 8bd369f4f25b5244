"""The pools that rows are drawn from, in the user's cache beside the compiled templates.

A run is often not the only one: it is continued, made in shards, or repeated with more rows.
Writing its pools takes two thirds of a second, and saves three each time
(docs/research/benchmarks.md).
"""

import hashlib
from pathlib import Path
from typing import Any

from genie_dp.run.cache import keep_pickled, load_pickled
from genie_dp.synthesis.compiler import CompiledGrammar, GrammarLeaves
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import SampledPools, SynthesisEngine, make_leaves, pool_settings
from genie_dp.templates.inputs import Inputs


def load_leaves(inputs: Inputs, config: SynthesisConfig) -> GrammarLeaves | None:
    """Return the leaves of a grammar as they were made before; None if they are not there.

    Making those of the shipped library takes over a second.
    """
    leaves_of_grammar: GrammarLeaves | None = load_pickled(_leaves_file(inputs, config))
    for leaves in leaves_of_grammar.leaves.values() if leaves_of_grammar else ():
        for piece in leaves:
            piece.sort = 0  # was another process's
    return leaves_of_grammar


def make_and_save_leaves(
    inputs: Inputs, compiled: CompiledGrammar, config: SynthesisConfig
) -> GrammarLeaves:
    """Make the leaves of a grammar and keep them."""
    leaves = make_leaves(compiled, config)
    place = _leaves_file(inputs, config)
    if place is not None and not leaves.is_sample:
        keep_pickled(place, leaves)
    return leaves


def load_pools(inputs: Inputs, config: SynthesisConfig) -> SampledPools | None:
    """Return the cached pools of these inputs; None if there are none."""
    pools: SampledPools | None = load_pickled(_pools_file(inputs, config))
    for levels in pools.levels.values() if pools else ():
        for level in levels:
            for piece in level:
                piece.sort = 0  # was another process's
    return pools


def save_pools(inputs: Inputs, engine: SynthesisEngine) -> None:
    """Cache the pools of an engine, unless they are cached already."""
    place = _pools_file(inputs, engine.config)
    if place is not None and not place.exists():
        content = SampledPools.from_pools(engine.lexicon, engine.pools, engine.cells)
        keep_pickled(place, content)


def _leaves_file(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    without = sorted(name for name, weight in config.weights.items() if weight == 0)
    return _cache_file(inputs, (config.subsets, config.include, config.exclude, without), "pickle")


def _pools_file(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    return _cache_file(inputs, pool_settings(config), "drawn")


def _cache_file(inputs: Inputs, settings: Any, ending: str) -> Path | None:
    """Return a cache file whose name is a hash of everything that its content depends on."""
    if inputs.kept is None:
        return None
    digest = hashlib.sha256(repr((inputs.fingerprint(), settings)).encode()).hexdigest()
    return inputs.kept.with_name(f"{inputs.kept.stem}-{digest[:16]}.{ending}")
