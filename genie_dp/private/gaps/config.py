"""Settings of a gap report."""

from dataclasses import dataclass, field

from genie_dp.private.gaps.select import GapLimits
from genie_dp.recipe import Setting, check_settings, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class GapConfig:
    """What is counted of private sentences, and with how much noise; nothing of it is private."""

    epsilon: float = field(
        metadata={
            "setting": Setting("What this report costs by itself, at the budget's delta.", above=0)
        }
    )
    mechanism: str = setting(
        "gaussian",
        "Noise. Laplace is wider if a unit counts for much.",
        choices=("gaussian", "laplace"),
    )
    least: int = setting(
        5,
        "Show nothing that fewer units said, whatever the noise is.",
        least=1,
        metavar="N",
    )
    words: int = setting(
        2, "Words that no template says, of a unit, at most.", least=1, metavar="N"
    )
    pairs: int = setting(
        3, "Pairs of words that no template says, of a unit, at most.", least=1, metavar="N"
    )
    sentences: int = setting(
        1, "Sentences that a unit counts for, at most: those it says most.", least=1, metavar="N"
    )
    threshold_delta: float | None = setting(
        None,
        "What is met in private rows is shown if enough units have it; takes so much of the "
        "budget's delta [a tenth].",
        above=0,
        below=1,
        metavar="DELTA",
    )
    all: bool = setting(False, "Read all sentences, not only those that are not understood.")
    title: str = setting("", "Title of the page [the name of the rows].")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all that is wrong.
        """
        check_settings(self)

    @property
    def limits(self) -> GapLimits:
        """Return what a unit adds to, at most."""
        return GapLimits(self.words, self.pairs, self.sentences)
