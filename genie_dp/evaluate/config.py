"""Settings of an evaluation."""

from dataclasses import dataclass

from genie_dp.recipe import check_settings, setting


@dataclass(frozen=True, slots=True)
class EvaluationConfig:
    """What is counted as right, and what is shown of it."""

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
            GenieError: R040, all that is wrong.
        """
        check_settings(self)
