"""Settings of synthesis."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SynthesisConfig:
    """What to sample; every field is written to the manifest beside the rows.

    Attributes:
        size: how many rows to make at most; None where `target_size` alone decides.
        target_size: rows per root template at depth 1; None shares `size` out.
        max_depth: construct templates on the longest path, at most.
        depth_decay: the share of each further depth, as a factor (Genie, section 3.1).
        balance: exponent of the quota of a cell, count ** balance: 0 gives every function the
            same, 1 follows the counts (0.25: reference experiments of November 2026).
        pool_size: partial derivations kept for each category and depth.
        subsets: names of subsets whose flagged templates take part.
        include, exclude: globs of functions; a row uses only included ones.
        weights: function -> multiplier of its share.
        on_error: "stop" or "skip" when a Python semantic function raises.
        seed: the same inputs and seed give the same bytes.
    """

    size: int | None = 10_000
    target_size: int | None = None
    max_depth: int = 5
    depth_decay: float = 0.7
    balance: float = 0.25
    pool_size: int = 2_000
    subsets: tuple[str, ...] = ("training",)
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    weights: Mapping[str, float] = field(default_factory=dict)
    on_error: str = "stop"
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field by itself; the message names field and value."""
        if self.size is None and self.target_size is None:
            raise ValueError("one of size and target_size must be given")
        for name in ("size", "target_size", "max_depth", "pool_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        if not 0 < self.depth_decay <= 1:
            raise ValueError(f"depth_decay must lie in (0, 1], got {self.depth_decay}")
        if not 0 <= self.balance <= 1:
            raise ValueError(f"balance must lie in [0, 1], got {self.balance}")
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"on_error must be stop or skip, got {self.on_error!r}")
        for name, weight in self.weights.items():
            if not weight >= 0:
                raise ValueError(f"the weight of {name} must be >= 0, got {weight}")
