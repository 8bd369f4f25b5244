"""`genie-dp private`: learning from private rows, within a budget."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry

STEPS: Mapping[str, CommandEntry] = {
    "budget": CommandEntry(
        "genie_dp.cli.private.budget:group",
        "Set the privacy budget of private rows, and show the rest of it.",
    ),
    "plan": CommandEntry(
        "genie_dp.private.planner:Planning",
        "Plan a training on private rows: batch, steps and noise within a time.",
        "kind",
    ),
    "train": CommandEntry(
        "genie_dp.cli.private.train:group", "Train a generator of rows that are like private ones."
    ),
    "sample": CommandEntry(
        "genie_dp.private.generators.sample:Sample",
        "Draw rows of source private from GENERATOR, a folder of genie-dp private train.",
        "rows seed temperature output",
    ),
    "prior": CommandEntry(
        "genie_dp.private.prior.run:Prior",
        "Count which functions people ask for, with noise, and write a prior.",
        "epsilon estimated-units functions public",
    ),
    "gaps": CommandEntry(
        "genie_dp.private.gaps.run:Gaps",
        "Find requests that are not understood, with noise, and draft templates for them.",
        "epsilon words report parser",
    ),
    "table": CommandEntry(
        "genie_dp.cli.private.table:group",
        "Count metadata of private rows together, with noise, and draw records from the counts.",
    ),
    "evolve": CommandEntry(
        "genie_dp.private.evolution.run:Evolve",
        "Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.",
        "epsilon public iterations rows",
    ),
    "render": CommandEntry(
        "genie_dp.private.prior.render:Render",
        "Render the programs of a prior by the templates: several clean sentences for each.",
        "sentences jobs output",
    ),
    "compare": CommandEntry(
        "genie_dp.private.metrics.config:CompareRows",
        "Compare synthetic rows with real ones that were held out.",
        "real-is-public mauve report output",
    ),
    "redact": CommandEntry(
        "genie_dp.private.redact.config:Redact",
        "Mask the secrets and the duplicates of FILE, and part its rows for training.",
        "gazetteer detector report review",
    ),
    "detector": CommandEntry(
        "genie_dp.private.redact.config:TrainDetector",
        "Train a detector of names, addresses, numbers and others on sentences that are made.",
        "sentences rows",
    ),
    "score-redaction": CommandEntry(
        "genie_dp.private.redact.config:ScoreRedaction",
        "Measure policies on rows whose secrets are labelled: precision, recall, and gamma.",
        "gazetteer detector policy output",
    ),
    "canaries": CommandEntry(
        "genie_dp.private.audit.config:PutCanaries",
        "Put canaries into ROWS, JSONL or lines of a .txt: invented secrets, drawn at random.",
        "coin count",
    ),
    "audit": CommandEntry(
        "genie_dp.private.audit.config:Audit",
        "Attack MODEL, or rows that were released, and compare the proven epsilon with the claim.",
        "release members canaries report",
    ),
    "report": CommandEntry(
        "genie_dp.private.audit.privacy:ReportPrivacy",
        "Write a report on the privacy of rows that can be published.",
        "ledger audit page",
    ),
}


# Old names, to be removed in the next version.
MOVED = {"evaluate": "compare", "policies": "score-redaction"}


@click.group("private", cls=LazyGroup, table=STEPS, moved=MOVED)
def group() -> None:
    """Learn from private rows with differential privacy, within a budget."""
