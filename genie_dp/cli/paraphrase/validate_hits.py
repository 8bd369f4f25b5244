"""`genie-dp paraphrase validate-hits`: tasks in which workers judge what others wrote."""

from collections import defaultdict
from typing import Any

import click

from genie_dp.cli.paraphrase.check_options import check_options, config_of
from genie_dp.run.files import refuse_existing, refuse_overlap


@click.command("validate-hits")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@click.option("--chosen", required=True, metavar="CHOSEN", help="The rows that were shown.")
@check_options
@click.option(
    "--sentences", type=click.IntRange(1, 20), default=4, show_default=True,
    help="Sentences of a task.",
)  # fmt: skip
@click.option(
    "--paraphrases", type=click.IntRange(1, 20), default=6, show_default=True,
    help="Paraphrases of a sentence in a task, at most.",
)  # fmt: skip
@click.option(
    "--seed", type=int, default=0, show_default=True, help="Of the order and the controls."
)
@click.option("--page", metavar="HTML", help="Where the page of the task goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="CSV|URL|-",
    help="Where the batch goes.",
)  # fmt: skip
def command(**options: Any) -> None:
    """Write validation tasks: which paraphrases mean the same as the sentence?

    RESULTS are the results of the paraphrase batch, as Mechanical Turk exports them; what passes
    the checks is put to the vote, among a sentence known to be the same and one known to differ.

    \b
    genie-dp paraphrase validate-hits results.csv --chosen chosen.jsonl -o votes.csv
    """
    from genie_dp.cli.paraphrase.collection import rows_by_id
    from genie_dp.cli.paraphrase.results import answers_of, read_results
    from genie_dp.paraphrase.collect import collect
    from genie_dp.paraphrase.tables import guarded_sentences, write_table
    from genie_dp.paraphrase.task_page import validation_page
    from genie_dp.paraphrase.tasks import Candidate, validation_columns, validation_tasks
    from genie_dp.run.files import open_text

    output, page, size = options["output"], options["page"], options["sentences"]
    refuse_overlap((output, page), [*options["results"], options["chosen"]])
    for target in (output, page):
        if target:
            refuse_existing(target, overwrite=options["overwrite"])
    rows = rows_by_id(options["chosen"])
    collected = collect(
        answers_of(read_results(options["results"]), rows), rows, config_of(options)
    )
    candidates: dict[str, list[Candidate]] = defaultdict(list)
    for judged in collected.accepted:
        candidates[judged.answer.row].append(Candidate(judged.answer.id, judged.answer.typed))
    tasks = validation_tasks(
        tuple(rows.values()), candidates, sentences=size, paraphrases=options["paraphrases"],
        seed=options["seed"],
    )  # fmt: skip
    count = write_table(output, validation_columns(size), map(guarded_sentences, tasks))
    if page:
        with open_text(page) as out:
            out.write(validation_page(sentences=size))
    click.echo(
        f"{count:,} tasks on {len(collected.accepted):,} paraphrases of {len(candidates):,} "
        f"sentences -> {'stdout' if output == '-' else output}",
        err=True,
    )
