"""The leaves of a grammar, kept between runs beside what was read of it (parsed.py)."""

import hashlib
from pathlib import Path

from genie_dp.cli.inputs import Inputs
from genie_dp.cli.parsed import keep_pickled, unpickled
from genie_dp.synthesis.compiler import Compiled
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.engine import make_lexicon
from genie_dp.synthesis.lexicon import Lexicon


def kept_lexicon(inputs: Inputs, config: SynthesisConfig) -> Lexicon | None:
    """Return the leaves of a grammar as they were made before; None if they are not there.

    Making those of the shipped library takes over a second.
    """
    kept: Lexicon | None = unpickled(_place(inputs, config))
    for leaves in kept.leaves.values() if kept else ():
        for piece in leaves:
            piece.sort = 0  # was another process's
    return kept


def new_lexicon(inputs: Inputs, compiled: Compiled, config: SynthesisConfig) -> Lexicon:
    """Make the leaves of a grammar and keep them."""
    made = make_lexicon(compiled, config)
    place = _place(inputs, config)
    if place is not None and not made.is_sample:
        keep_pickled(place, made)
    return made


def _place(inputs: Inputs, config: SynthesisConfig) -> Path | None:
    """Return the file for the leaves; its name says all that they depend on."""
    if inputs.kept is None:
        return None
    without = sorted(name for name, weight in config.weights.items() if weight == 0)
    settings = (config.subsets, config.include, config.exclude, without)
    digest = hashlib.sha256(repr((inputs.fingerprint(), settings)).encode()).hexdigest()
    return inputs.kept.with_name(f"{inputs.kept.stem}-{digest[:16]}.pickle")
