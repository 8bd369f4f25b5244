"""What rows are drawn from, kept in the user's cache beside what was read of the templates.

A long run is often not the only one: it is gone on with, made in shards, made again with more rows.
Writing its pools takes two thirds of a second, and saves over one each time (docs/benchmarks.md);
so short runs, those of somebody who edits templates, keep the leaves alone.
"""

import hashlib
from pathlib import Path
from typing import Any

from genie_dp.run.cache import keep_pickled, unpickled
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.drawn import Drawn, settings_of_drawn
from genie_dp.synthesis.engine import Engine, make_lexicon
from genie_dp.synthesis.lexicon import Lexicon
from genie_dp.templates.inputs import Inputs

_FROM = 200_000  # draws
_KEPT = 2  # files, 27 MB each with the shipped library (November 2026)


def kept_lexicon(inputs: Inputs, config: SynthesisConfig) -> Lexicon | None:
    """Return the leaves of a grammar as they were made before; None if they are not there.

    Making those of the shipped library takes over a second.
    """
    kept: Lexicon | None = unpickled(_lexicon_file(inputs, config))
    for leaves in kept.leaves.values() if kept else ():
        for piece in leaves:
            piece.sort = 0  # was another process's
    return kept


def new_lexicon(inputs: Inputs, compiled: Compiled, config: SynthesisConfig) -> Lexicon:
    """Make the leaves of a grammar and keep them."""
    made = make_lexicon(compiled, config)
    place = _lexicon_file(inputs, config)
    if place is not None and not made.is_sample:
        keep_pickled(place, made)
    return made


def kept_drawn(inputs: Inputs, config: SynthesisConfig) -> Drawn | None:
    """Return what was drawn of these inputs before; None if it is not there."""
    kept: Drawn | None = unpickled(_drawn_file(inputs, config))
    for levels in kept.levels.values() if kept else ():
        for level in levels:
            for piece in level:
                piece.sort = 0  # was another process's
    return kept


def keep_drawn(inputs: Inputs, engine: Engine) -> None:
    """Keep what an engine draws from, if many rows are made of it and it is not kept yet."""
    place = _drawn_file(inputs, engine.config)
    if place is not None and engine.plan.total > _FROM and not place.exists():
        content = Drawn.of(engine.lexicon, engine.pools, engine.cells)
        keep_pickled(place, content, most=_KEPT)


def _lexicon_file(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    without = sorted(name for name, weight in config.weights.items() if weight == 0)
    return _file(inputs, (config.subsets, config.include, config.exclude, without), "pickle")


def _drawn_file(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    return _file(inputs, settings_of_drawn(config), "drawn")


def _file(inputs: Inputs, settings: Any, ending: str) -> Path | None:
    """Return a file of the cache whose name says all that its content depends on."""
    if inputs.kept is None:
        return None
    digest = hashlib.sha256(repr((inputs.fingerprint(), settings)).encode()).hexdigest()
    return inputs.kept.with_name(f"{inputs.kept.stem}-{digest[:16]}.{ending}")
