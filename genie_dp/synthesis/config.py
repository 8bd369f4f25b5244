"""Settings of synthesis, and of what reads templates backwards: explain and describe."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from genie_dp.errors import GenieError, Problem
from genie_dp.located import read_yaml
from genie_dp.recipe import check_settings, setting
from genie_dp.texts import read_text

DEFAULT_SIZE = 10_000
_WEIGHTS_HINT = 'for example "@com.gmail.inbox": 2.5'


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
    roots: tuple[str, ...] = setting(
        (),
        "Root category that makes sentences [all but those the grammar calls optional].",
        metavar="CATEGORY",
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


def read_weights(path: Path) -> dict[str, float]:
    """Return the weights of a YAML or JSON file.

    Raises:
        GenieError: R022 if it is no map, with the place if it is no YAML; all weights that are no
            number of at least 0.
    """
    text = read_text(path)
    located = read_yaml(text, str(path), code="R022")
    if located is None or not isinstance(located.value, dict):
        message = f"{path}: expected function: number on each line"
        raise GenieError(Problem("R022", message, hint=_WEIGHTS_HINT))
    expected = f"{path}: expected a number of at least 0 for"
    read = located.plain
    wrong = [
        Problem(
            "R022",
            f"{expected} {name!r}, got {weight!r}",
            located.find((name,)),
            hint=_WEIGHTS_HINT,
        )
        for name, weight in read.items()
        if isinstance(weight, bool)
        or not isinstance(weight, int | float)
        or not (math.isfinite(weight) and weight >= 0)
    ]
    if wrong:
        raise GenieError(wrong, sources={str(path): text})
    return {name: float(weight) for name, weight in read.items()}


@dataclass(frozen=True, slots=True)
class ReverseConfig:
    """Which templates are read backwards, and how deep: from sentences, or from programs."""

    subsets: tuple[str, ...] = setting(
        (), "Subset of flagged templates [training].", metavar="NAME", option="subset"
    )
    max_depth: int = setting(8, "Construct templates inside each other, at most.", least=1, most=12)

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
