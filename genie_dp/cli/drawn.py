"""What the rows of a long run are drawn from, kept for runs with the same inputs and seed.

Such a run is often not the only one: it is gone on with, made in shards, made again with more rows.
Writing takes two thirds of a second, and saves over one each time (docs/benchmarks.md); so short
runs, those of somebody who edits templates, write nothing.
"""

import hashlib
from pathlib import Path

from genie_dp.cli.inputs import Inputs
from genie_dp.cli.parsed import keep_pickled, unpickled
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.drawn import Drawn, settings_of_drawn
from genie_dp.synthesis.engine import Engine

_FROM = 200_000  # draws
_KEPT = 2  # files, 27 MB each with the shipped library (November 2026)


def kept_drawn(inputs: Inputs, config: SynthesisConfig) -> Drawn | None:
    """Return what was drawn of these inputs before; None if it is not there."""
    kept: Drawn | None = unpickled(_place(inputs, config))
    for levels in kept.levels.values() if kept else ():
        for level in levels:
            for piece in level:
                piece.sort = 0  # was another process's
    return kept


def keep_drawn(inputs: Inputs, engine: Engine) -> None:
    """Keep what an engine draws from, if many rows are made of it and it is not kept yet."""
    place = _place(inputs, engine.config)
    if place is not None and engine.plan.total > _FROM and not place.exists():
        content = Drawn.of(engine.lexicon, engine.pools, engine.cells)
        keep_pickled(place, content, most=_KEPT)


def _place(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    """Return the file for what is drawn; its name says all that it depends on."""
    if inputs.kept is None:
        return None
    names = repr((inputs.fingerprint(), settings_of_drawn(config)))
    digest = hashlib.sha256(names.encode()).hexdigest()
    return inputs.kept.with_name(f"{inputs.kept.stem}-{digest[:16]}.drawn")
