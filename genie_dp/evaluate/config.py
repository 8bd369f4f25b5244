"""Settings of an evaluation."""

from dataclasses import dataclass
from datetime import datetime

from genie_dp.errors import GenieError, Problem
from genie_dp.locale import DEFAULT, locale_from
from genie_dp.recipe import check_settings, setting
from genie_dp.synthesis.config import ReverseConfig


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """The criteria of right answers, and the figures that are shown."""

    unordered: bool = setting(
        False, "S-expressions: the order of the nodes in a node is of no account."
    )
    most_wrong: int = setting(
        1000,
        "How many wrong sentences page and JSON show; chosen by chance where there are more.",
        least=0,
        metavar="N",
    )
    seed: int = setting(0, "Seed of the confidence intervals.")
    title: str = setting("", "Title of the page [the name of the predictions].")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)


@dataclass(frozen=True, slots=True)
class CoverageConfig(ReverseConfig):
    """Which templates are to derive sentences, and the day to which their "tomorrow" refers."""

    now: str = setting(
        "", "Day, such as 2026-11-25, from which dates are told [today].", metavar="DATE"
    )
    locale: str = setting(
        DEFAULT, "Language of the sentences, or a file of its words.", option=None
    )
    title: str = setting("", "Title of the page [the names of the inputs].")

    def __post_init__(self) -> None:
        """Check every field.

        Raises:
            GenieError: R040, all mistakes.
        """
        ReverseConfig.__post_init__(self)
        locale_from(self.locale)
        try:
            datetime.fromisoformat(self.now or "2000-01-01")
        except ValueError:
            message = f"now: expected a day such as 2026-11-25, got {self.now!r}"
            raise GenieError(Problem("R040", message)) from None

    @property
    def moment(self) -> datetime:
        """Return the moment to which dates refer."""
        return datetime.fromisoformat(self.now) if self.now else datetime.now()
