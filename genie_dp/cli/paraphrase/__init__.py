"""`genie-dp data paraphrase`: from synthesized rows to rows in people's words, step by step."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import Entry

STEPS: Mapping[str, Entry] = {
    "select": Entry(
        "genie_dp.paraphrase.select:Select",
        "Choose synthesized sentences to paraphrase, and put example values in.",
        "easy-pairs mixed-pairs other-pairs seed output",
    ),
    "hits": Entry(
        "genie_dp.paraphrase.tasks:ParaphraseTasks",
        "Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.",
        "sentences paraphrases workers page output",
    ),
    "serve": Entry(
        "genie_dp.cli.paraphrase.serve:command",
        "Show paraphrase tasks on a local web page, and keep what people write.",
        "port worker sentences",
    ),
    "export": Entry(
        "genie_dp.cli.paraphrase.export:command",
        "Write what people wrote on the local page as results that `collect` reads.",
    ),
    "validate-hits": Entry(
        "genie_dp.paraphrase.tasks:ValidationTasks",
        "Write validation tasks: which paraphrases mean the same as the sentence?",
        "page output",
    ),
    "collect": Entry(
        "genie_dp.paraphrase.collect:Collect",
        "Check what workers wrote, and write the good paraphrases as rows.",
        "votes rejects report output",
    ),
    "auto": Entry(
        "genie_dp.paraphrase.run:Paraphrase",
        "Paraphrase rows automatically.",
        "by number rules model seed jobs parser output",
    ),
}


@click.group("paraphrase", cls=LazyGroup, table=STEPS)
def group() -> None:
    """Choose sentences, have them paraphrased, and check what comes back."""
