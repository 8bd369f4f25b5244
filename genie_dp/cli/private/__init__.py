"""`genie-dp private`: what may be learned from private rows, within a budget."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup

# name -> (where the command is, its line of help), as in genie_dp.cli.COMMANDS.
STEPS: Mapping[str, tuple[str, str]] = {
    "budget": (
        "genie_dp.cli.private.budget:group",
        "Set the privacy budget of private rows, and see what is left of it.",
    ),
    "plan": (
        "genie_dp.cli.private.plan:command",
        "Plan a training on private rows: batch, steps and noise within a time.",
    ),
    "train": (
        "genie_dp.cli.private.train:group",
        "Train a generator of rows that are like private ones.",
    ),
    "sample": (
        "genie_dp.private.generators.sample:Sample",
        "Draw rows of source private from GENERATOR, a folder of genie-dp private train.",
    ),
    "prior": (
        "genie_dp.private.prior.run:Prior",
        "Count which functions people ask for, with noise, and write a prior.",
    ),
    "gaps": (
        "genie_dp.private.gaps.run:Gaps",
        "Tell what people ask for that is not understood, with noise, and templates for it.",
    ),
    "table": (
        "genie_dp.cli.private.table:group",
        "Count metadata of private rows together, with noise, and draw records from the counts.",
    ),
    "evolve": (
        "genie_dp.cli.private.evolve:command",
        "Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.",
    ),
    "render": (
        "genie_dp.cli.private.render:command",
        "Say the programs of a prior by the templates: several clean sentences for each.",
    ),
    "evaluate": (
        "genie_dp.cli.private.evaluate:command",
        "Compare synthetic rows with real ones that were held out.",
    ),
    "redact": (
        "genie_dp.cli.private.redact:command",
        "Mask the secrets and the duplicates of FILE, and part its rows for training.",
    ),
    "detector": (
        "genie_dp.cli.private.detector:command",
        "Train a detector of names, addresses, numbers and others on sentences that are made.",
    ),
    "policies": (
        "genie_dp.cli.private.policies:command",
        "Measure policies on rows whose secrets are labelled: precision, recall, and gamma.",
    ),
    "canaries": (
        "genie_dp.cli.private.canaries:command",
        "Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.",
    ),
    "audit": (
        "genie_dp.cli.private.audit:command",
        "Attack MODEL, or rows that were released, and compare what that proves with the claim.",
    ),
    "report": (
        "genie_dp.cli.private.report:command",
        "Write what may be told of the privacy of rows: it can be published.",
    ),
}


class _PrivateSteps(LazyGroup):
    """The commands of this folder."""

    @property
    def table(self) -> Mapping[str, tuple[str, str]]:
        return STEPS


@click.group("private", cls=_PrivateSteps)
def group() -> None:
    """Learn from private rows with differential privacy, within a budget."""
