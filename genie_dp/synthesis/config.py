"""Settings of synthesis."""

from collections.abc import Mapping
from dataclasses import dataclass

from genie_dp.recipe import check_settings, setting

DEFAULT_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class SynthesisConfig:
    """What to sample; every field is written to the manifest beside the rows.

    Without `size` and `target_size` there are 10,000 rows at most. The share of depths is Genie's
    (section 3.1); the default of `balance` is from reference experiments of November 2026.
    """

    size: int | None = setting(
        None, "Rows to make, at most [10000, or what --target-size gives].", least=1, metavar="N"
    )
    target_size: int | None = setting(
        None,
        "Rows of each root template at depth 1; further depths get less.",
        least=1,
        metavar="K",
    )
    max_depth: int = setting(5, "Construct templates inside each other, at most.", least=1, most=12)
    depth_decay: float = setting(0.7, "Share of each further depth, as a factor.", above=0, most=1)
    balance: float = setting(
        0.25, "0: every function alike; 1: by how much can be said of it.", least=0, most=1
    )
    pool_size: int = setting(
        2_000, "Partial derivations kept for each category and depth.", least=1
    )
    subsets: tuple[str, ...] = setting(
        ("training",), "Subset of flagged templates [training].", metavar="NAME"
    )
    include: tuple[str, ...] = setting((), "Only functions such as '@com.gmail.*'.", metavar="GLOB")
    exclude: tuple[str, ...] = setting((), "No such functions.", metavar="GLOB")
    weights: Mapping[str, float] = setting(
        {}, "YAML or JSON: function -> multiplier of its share.", least=0
    )
    on_error: str = setting(
        "stop", "What to do when a Python semantic function raises.", choices=("stop", "skip")
    )
    seed: int = setting(0, "The same inputs and seed give the same bytes.")

    def __post_init__(self) -> None:
        """Check every field, and settle the size.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
        if self.size is None and self.target_size is None:
            object.__setattr__(self, "size", DEFAULT_SIZE)
