"""`genie-dp paraphrase hits`: a batch of paraphrase tasks, and the page that workers see."""

from typing import Any

import click

from genie_dp.run.files import refuse_existing, refuse_overlap


@click.command("hits")
@click.argument("rows", metavar="CHOSEN")
@click.option(
    "--sentences", type=click.IntRange(1, 20), default=4, show_default=True,
    help="Sentences of a task.",
)  # fmt: skip
@click.option(
    "--paraphrases", type=click.IntRange(1, 5), default=2, show_default=True,
    help="Paraphrases that a worker writes of each.",
)  # fmt: skip
@click.option(
    "--workers", type=click.IntRange(1), default=3, show_default=True,
    help="Workers who see each task; the batch has the setting.",
)  # fmt: skip
@click.option("--page", metavar="HTML", help="Where the page of the task goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@click.option(
    "--output", "-o", default="-", show_default=True, metavar="CSV|URL|-",
    help="Where the batch goes.",
)  # fmt: skip
def command(**options: Any) -> None:
    """Write paraphrase tasks for Mechanical Turk: the batch as CSV, and the page.

    CHOSEN is what `genie-dp paraphrase select` wrote. The page goes into the source view of a new
    project, the CSV is then published as a batch of it.

    \b
    genie-dp paraphrase hits chosen.jsonl --output batch.csv --page task.html
    """
    from genie_dp.cli.output import told_private
    from genie_dp.cli.paraphrase.collection import rows_by_id
    from genie_dp.paraphrase.checks import DEFAULT
    from genie_dp.paraphrase.tables import guarded_sentences, write_table
    from genie_dp.paraphrase.task_page import paraphrase_page
    from genie_dp.paraphrase.tasks import paraphrase_columns, paraphrase_tasks
    from genie_dp.run.files import open_text

    output, page, size = options["output"], options["page"], options["sentences"]
    refuse_overlap((output, page), [options["rows"]])
    for target in (output, page):
        if target:
            refuse_existing(target, overwrite=options["overwrite"])
    told_private([options["rows"]])  # to people who work for money
    rows = tuple(rows_by_id(options["rows"]).values())
    batch = map(guarded_sentences, paraphrase_tasks(rows, sentences=size))
    tasks = write_table(output, paraphrase_columns(size), batch)
    if page:
        with open_text(page) as out:
            out.write(
                paraphrase_page(sentences=size, paraphrases=options["paraphrases"], config=DEFAULT)
            )
    wanted = len(rows) * options["workers"] * options["paraphrases"]
    click.echo(
        f"{tasks:,} tasks of {len(rows):,} sentences -> {'stdout' if output == '-' else output}; "
        f"with {options['workers']} assignments per task they give {wanted:,} paraphrases",
        err=True,
    )
