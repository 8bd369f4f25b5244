"""Settings of a private prior, and of how its programs are said again."""

from dataclasses import dataclass, field

from genie_dp.private.prior.histogram import CountLimits
from genie_dp.recipe import Setting, check_settings, setting
from genie_dp.synthesis.config import ReverseConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class PriorConfig:
    """What is counted of private rows, and with how much noise; nothing of it is private."""

    epsilon: float = field(
        metadata={
            "setting": Setting("What this release costs by itself, at the budget's delta.", above=0)
        }
    )
    about: int | None = setting(
        None,
        "How many units there are, as far as anybody may know [counted with noise, too].",
        least=1,
        metavar="N",
    )
    mechanism: str = setting(
        "gaussian",
        "Noise. Laplace needs no delta, and is wider if a unit adds to much.",
        choices=("gaussian", "laplace"),
    )
    functions: int = setting(
        2,
        "Functions that a unit counts for, at most: those that it uses most.",
        least=1,
        metavar="N",
    )
    pairs: int = setting(
        1,
        "Pairs of functions in one program that a unit counts for, at most.",
        least=0,
        metavar="N",
    )
    missing: int = setting(
        1,
        "Names that the library lacks that a unit counts for, at most; needs candidates or a "
        "threshold delta.",
        least=0,
        metavar="N",
    )
    threshold_delta: float | None = setting(
        None,
        "Show names of private rows that enough units have; takes so much of the budget's delta.",
        above=0,
        below=1,
        metavar="DELTA",
    )

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)

    def limits(self, *, has_candidates: bool) -> CountLimits:
        """Return what a unit adds to, at most; names are counted only if any may be shown."""
        has_names = has_candidates or self.threshold_delta is not None
        missing = self.missing if has_names else 0
        return CountLimits(self.functions, self.pairs, missing, counts_units=self.about is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderConfig(ReverseConfig):
    """By which templates programs are said, and how often."""

    sentences: int = setting(
        5, "Sentences of each program, at most.", least=1, most=100, metavar="N"
    )
