"""`genie-dp paraphrase`: from synthesized rows to rows in people's words, one command a step."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup

# name -> (where the command is, its line of help), as in genie_dp.cli.COMMANDS.
STEPS: Mapping[str, tuple[str, str]] = {
    "select": (
        "genie_dp.cli.paraphrase.select:command",
        "Choose synthesized sentences to paraphrase, and put example values in.",
    ),
    "hits": (
        "genie_dp.cli.paraphrase.hits:command",
        "Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.",
    ),
    "serve": (
        "genie_dp.cli.paraphrase.serve:command",
        "Show paraphrase tasks on a local web page, and keep what people write.",
    ),
    "export": (
        "genie_dp.cli.paraphrase.export:command",
        "Write what people wrote on the local page as results that `collect` reads.",
    ),
    "validate-hits": (
        "genie_dp.cli.paraphrase.validate_hits:command",
        "Write validation tasks: which paraphrases mean the same as the sentence?",
    ),
    "collect": (
        "genie_dp.cli.paraphrase.collect:command",
        "Check what workers wrote, and write the good paraphrases as rows.",
    ),
    "auto": (
        "genie_dp.cli.paraphrase.auto:command",
        "Paraphrase rows automatically.",
    ),
}


class _ParaphraseSteps(LazyGroup):
    """The commands of this folder."""

    @property
    def table(self) -> Mapping[str, tuple[str, str]]:
        return STEPS


@click.group("paraphrase", cls=_ParaphraseSteps)
def group() -> None:
    """Choose sentences, have them paraphrased, and check what comes back."""
