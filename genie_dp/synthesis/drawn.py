"""What the rows of a run are drawn from, apart from how many are asked for: made once, kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from genie_dp.synthesis.cells import Batch, Cells
from genie_dp.synthesis.config import SynthesisConfig
from genie_dp.synthesis.lexicon import Lexicon
from genie_dp.synthesis.pieces import Piece
from genie_dp.synthesis.pools import Pools

_ONLY_OF_THE_PLAN = ("size", "target_size", "depth_decay")


@dataclass(slots=True)
class Drawn:
    """The pools and the choices of the root, without anything of the compiled templates.

    Attributes:
        lexicon: the leaves; the pools have the same ones at depth 0.
        levels: category -> pieces of depth 0, of depth 1, ..
        clashes: sentences of partial derivations that were met with two programs.
        refused: partial derivations that were left out as ill-typed: "template: code" -> how many.
        batches: the choices of the root; rules by number.
    """

    lexicon: Lexicon
    levels: Mapping[str, Sequence[Sequence[Piece]]]
    clashes: Counter[str]
    refused: Counter[str]
    batches: Sequence[Batch]

    @classmethod
    def of(cls, lexicon: Lexicon, pools: Pools, found: Cells) -> "Drawn":
        """Return what an engine drew, starting from this lexicon."""
        return cls(lexicon, pools.levels, pools.clashes, pools.refused, found.batches)


def settings_of_drawn(config: SynthesisConfig) -> dict[str, Any]:
    """Return the settings on which it depends, by name."""
    return {name: value for name, value in asdict(config).items() if name not in _ONLY_OF_THE_PLAN}
