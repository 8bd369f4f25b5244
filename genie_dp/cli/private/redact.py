"""`genie-dp private redact`: secrets become masks, and rows go to the private or public part."""

from collections.abc import Mapping
from typing import Any

import click

from genie_dp.cli.options import DETECTOR_TYPES, resume_options, settings_options
from genie_dp.private.redact.config import RedactConfig


class _ScoreOrAll(click.ParamType[float | None]):
    """A least score; None for all."""

    name = "score"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | None:
        if value == "all":
            return None
        try:
            return float(value)
        except ValueError:
            self.fail(f"expected all or a score from 0 to 1, got {value!r}", param, ctx)


@click.command("redact")
@click.argument("source", metavar="FILE")
@click.option(
    "--output", "-o", required=True, metavar="FILE", help="Where the redacted rows go, as JSONL."
)
@settings_options(RedactConfig, types={**DETECTOR_TYPES, "conservative": _ScoreOrAll()})
@click.option("--report", metavar="FILE", help="Write counts and settings there, as JSON.")
@click.option(
    "--review", metavar="FILE", help="Write a page there that shows what was found. It is private."
)
@resume_options
def command(
    *, source: str, output: str, settings: Mapping[str, Any], report: str | None,
    review: str | None, resume: bool, overwrite: bool,
) -> None:  # fmt: skip
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
    from genie_dp.cli.output import show
    from genie_dp.private.redact.run import run
    from genie_dp.run.stage import Output

    target = Output(output, resume=resume, overwrite=overwrite)
    config = RedactConfig(**settings)
    show(run(config, source, target, report=report, review=review, progress=True))
