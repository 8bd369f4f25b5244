"""`genie-dp private`: what may be learned from private rows, within a budget."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import Entry

STEPS: Mapping[str, Entry] = {
    "budget": Entry(
        "genie_dp.cli.private.budget:group",
        "Set the privacy budget of private rows, and see what is left of it.",
    ),
    "plan": Entry(
        "genie_dp.cli.private.plan:command",
        "Plan a training on private rows: batch, steps and noise within a time.",
        "kind public-rows",
    ),
    "train": Entry(
        "genie_dp.cli.private.train:group", "Train a generator of rows that are like private ones."
    ),
    "sample": Entry(
        "genie_dp.private.generators.sample:Sample",
        "Draw rows of source private from GENERATOR, a folder of genie-dp private train.",
        "rows seed temperature output",
    ),
    "prior": Entry(
        "genie_dp.private.prior.run:Prior",
        "Count which functions people ask for, with noise, and write a prior.",
        "epsilon about functions pairs public",
    ),
    "gaps": Entry(
        "genie_dp.private.gaps.run:Gaps",
        "Tell what people ask for that is not understood, with noise, and templates for it.",
        "epsilon words pairs report parser",
    ),
    "table": Entry(
        "genie_dp.cli.private.table:group",
        "Count metadata of private rows together, with noise, and draw records from the counts.",
    ),
    "evolve": Entry(
        "genie_dp.cli.private.evolve:command",
        "Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.",
        "epsilon public iterations population rows",
    ),
    "render": Entry(
        "genie_dp.cli.private.render:command",
        "Say the programs of a prior by the templates: several clean sentences for each.",
        "sentences jobs output",
    ),
    "compare": Entry(
        "genie_dp.cli.private.evaluate:command",
        "Compare synthetic rows with real ones that were held out.",
        "real-is-public rows mauve report output",
    ),
    "redact": Entry(
        "genie_dp.cli.private.redact:command",
        "Mask the secrets and the duplicates of FILE, and part its rows for training.",
        "gazetteer detector without report review",
    ),
    "detector": Entry(
        "genie_dp.cli.private.detector:command",
        "Train a detector of names, addresses, numbers and others on sentences that are made.",
        "output sentences epochs rows",
    ),
    "score-redaction": Entry(
        "genie_dp.cli.private.policies:command",
        "Measure policies on rows whose secrets are labelled: precision, recall, and gamma.",
        "gazetteer detector policy output",
    ),
    "canaries": Entry(
        "genie_dp.cli.private.canaries:command",
        "Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.",
        "coin template count",
    ),
    "audit": Entry(
        "genie_dp.cli.private.audit:command",
        "Attack MODEL, or rows that were released, and compare what that proves with the claim.",
        "release members canaries claim report",
    ),
    "report": Entry(
        "genie_dp.cli.private.report:command",
        "Write what may be told of the privacy of rows: it can be published.",
        "ledger audit page",
    ),
}


# Old names, to be removed in the next version.
MOVED = {"evaluate": "compare", "policies": "score-redaction"}


@click.group("private", cls=LazyGroup, table=STEPS, moved=MOVED)
def group() -> None:
    """Learn from private rows with differential privacy, within a budget."""
