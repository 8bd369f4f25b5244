"""`genie-dp private prior`: what people ask for, released once with noise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import POSITIVE, library_options, paid_resume_options, settings_options
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.prior.config import PriorConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("prior")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE", help="Where the prior goes, as JSON.",
)  # fmt: skip
@click.option(
    "--epsilon", required=True, type=POSITIVE,
    help="What this release costs by itself, at the budget's delta.",
)  # fmt: skip
@ledger_option
@library_options
@settings_options(PriorConfig, leave_out=("epsilon",))
@click.option(
    "--candidates", type=_FILE, metavar="FILE",
    help="Functions that the library may lack, one a line: each is counted. Nothing private.",
)  # fmt: skip
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows made without the prior, such as those of synthesize: weights are relative to them "
    "[all functions alike]. May be repeated.",
)  # fmt: skip
@click.option(
    "--sampled", type=_FILE, metavar="FILE",
    help="Rows of genie-dp private sample: their programs and sentences go into the prior.",
)  # fmt: skip
@click.option("--spent", type=_FILE, metavar="FILE", help="Guarantee of these rows, as JSON.")
@paid_resume_options
def command(
    *,
    private: Path,
    output: Path,
    epsilon: float,
    ledger: Path | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    settings: Mapping[str, Any],
    candidates: Path | None,
    public: tuple[str, ...],
    sampled: Path | None,
    spent: Path | None,
    resume: bool,
    overwrite: bool,
) -> None:
    """Count which functions people ask for, with noise, and write a prior.

    PRIVATE is JSONL or TSV of utterances with their programs. The count is recorded in the ledger
    before it is made, and refused if the budget does not allow it. The prior steers synthesize,
    augment and train; what the library lacks is told to its developers.

    \b
    genie-dp private prior private.jsonl --epsilon 1 --output prior.json
    genie-dp synthesize --prior prior.json --output pairs.jsonl
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend
    from genie_dp.private.prior.run import run
    from genie_dp.run.stage import Output

    if (sampled is None) != (spent is None):
        raise click.UsageError("--sampled and --spent go together")
    config = PriorConfig(epsilon=epsilon, **settings)
    book = Ledger.open(ledger_to_spend(private, ledger))
    library = load_library_of(language, skills, skip_broken=skip_broken)
    result = run(
        config, private, book, library, Output(str(output), resume=resume, overwrite=overwrite),
        language=language, public=public, candidates=candidates, sampled=sampled, spent=spent,
    )  # fmt: skip
    *report, written = result.lines()
    for line in report:
        click.echo(line)
    click.echo(written, err=True)
