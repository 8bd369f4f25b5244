"""`genie-dp data paraphrase collect`: what workers wrote becomes rows of a data set."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import library_options, output_option, settings_options
from genie_dp.paraphrase.config import CollectConfig


@click.command("collect")
@click.argument("results", nargs=-1, required=True, metavar="RESULTS...")
@click.option("--chosen", required=True, metavar="CHOSEN", help="The rows that were shown.")
@library_options
@settings_options(CollectConfig)
@click.option(
    "--votes", multiple=True, metavar="RESULTS",
    help="Results of the validation tasks. May be repeated.",
)  # fmt: skip
@click.option("--rejects", metavar="CSV", help="Where the refused paraphrases go, with reasons.")
@click.option(
    "--review", metavar="CSV",
    help="Where the assignments go with Approve or Reject, to upload.",
)  # fmt: skip
@click.option(
    "--review-votes", metavar="CSV", help="The same for the assignments of the validation tasks."
)
@click.option("--report", metavar="JSON", help="Where the report goes.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@output_option("Where the good paraphrases go, as JSON lines or, by the name, TSV or Parquet.")
def command(
    *,
    results: tuple[str, ...],
    chosen: str,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    settings: Mapping[str, Any],
    votes: tuple[str, ...],
    rejects: str | None,
    review: str | None,
    review_votes: str | None,
    report: str | None,
    overwrite: bool,
    output: str,
) -> None:
    """Check what workers wrote, and write the good paraphrases as rows.

    RESULTS are the results of paraphrase batches, as Mechanical Turk exports them. Values become
    placeholders again, numbered from left to right.

    \b
    genie-dp data paraphrase collect results.csv --chosen chosen.jsonl -o paraphrases.jsonl
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show, told_private
    from genie_dp.paraphrase.collect import run
    from genie_dp.paraphrase.shown import canonical_of
    from genie_dp.run.stage import Output

    config = CollectConfig(**settings)
    conflict = "--review-votes needs --votes" if review_votes and not votes else config.conflict()
    if conflict:
        raise click.UsageError(conflict)
    canonical = canonical_of(
        language, lambda: load_library_of(language, skills, skip_broken=skip_broken)
    )
    result = run(
        config, results, chosen, Output(output, overwrite=overwrite), votes=votes,
        language=language, canonical=canonical, rejects=rejects, review=review,
        review_votes=review_votes, report=report, private=told_private([chosen]),
    )  # fmt: skip
    show(result)
