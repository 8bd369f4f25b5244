"""`genie-dp private redact`: secrets become masks, and rows go to the private or public part."""

from typing import Any

import click

from genie_dp.cli.options import Finite, resume_options
from genie_dp.cli.private.detectors import detector_options


@click.command("redact")
@click.argument("input", metavar="FILE")
@click.option(
    "--output", "-o", required=True, metavar="FILE", help="Where the redacted rows go, as JSONL."
)
@click.option(
    "--threshold",
    type=Finite(0, 1),
    default=0.5,
    show_default=True,
    help="Least score of what is masked: the policy pi.",
)
@click.option(
    "--conservative",
    default="all",
    show_default=True,
    metavar="SCORE|all",
    help="Least score of what makes a row private: the policy pi_c. Give a score, such as 0.1, "
    "only where you measured what it misses (genie-dp private policies).",
)
@detector_options
@click.option(
    "--points",
    type=click.Choice(["line", "sentence", "paragraph"]),
    default="line",
    show_default=True,
    help="What a data point of a .txt is; of other files each row is one.",
)
@click.option(
    "--near",
    type=Finite(),
    metavar="SHARE",
    help="Take rows of that Jaccard similarity for duplicates, too, such as 0.8. Give --unit-field "
    "with it: across all rows, one decides about many others, and training refuses them.",
)
@click.option(
    "--unit-field",
    metavar="FIELD",
    help="Look for duplicates only among rows with the same value of this field of JSON rows, and "
    "keep it: needed where the budget's unit is a user or a dialogue.",
)
@click.option("--keep-duplicates", is_flag=True, help="Do not mask rows that came before.")
@click.option(
    "--keep",
    multiple=True,
    metavar="FIELD",
    help="Keep this field of JSON rows; duplicates are equal in it, too. May be repeated.",
)
@click.option(
    "--language", default="thingtalk", show_default=True, help="Of programs that do not say theirs."
)
@click.option("--report", metavar="FILE", help="Write counts and settings there, as JSON.")
@click.option(
    "--review", metavar="FILE", help="Write a page there that shows what was found. It is private."
)
@click.option(
    "--review-rows",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    metavar="N",
    help="Rows of each sort on the page, drawn by chance.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the rows on the page.")
@resume_options
def command(**options: Any) -> None:
    """Mask the secrets and the duplicates of FILE, and part its rows for training.

    FILE is JSONL or TSV with utterances and perhaps programs, or a .txt. What is found becomes
    <MASK>, in the program as well. Each row says its part: private if it has a mask, or if
    --conservative takes anything in it; else public.

    All files that are written are private: only you can read them, and nothing of them is printed.
    Until they are complete the rows gather in the folder .OUTPUT.work, beside OUTPUT; a run that
    was interrupted goes on with --resume, and gives the same bytes.

    \b
    genie-dp private redact calls.jsonl -o redacted.jsonl --review review.html
    genie-dp private redact calls.jsonl -o redacted.jsonl --unit-field user
    genie-dp private redact mails.txt -o redacted.jsonl --points sentence \\
      --gazetteer person=customers.txt --detector detector --conservative 0.1
    """
    from genie_dp.cli.private.redact_job import run

    if options["resume"] and options["overwrite"]:
        raise click.UsageError("--resume and --overwrite exclude each other")
    run(options)
