"""`genie-dp private report`: what may be told of the privacy of rows, on one page."""

from pathlib import Path

import click

from genie_dp.cli.private.ledgers import ledger_option, open_ledger, private_argument

_OUTPUT = click.Path(dir_okay=False, path_type=Path)


@click.command("report")
@private_argument
@ledger_option
@click.option("--audit", "audits", multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="What genie-dp private audit wrote with --output. May be repeated.")  # fmt: skip
@click.option("--output", "-o", required=True, type=_OUTPUT, metavar="FILE",
              help="Where the report goes, as JSON.")  # fmt: skip
@click.option("--page", type=_OUTPUT, metavar="FILE", help="Write it as one page of HTML there.")
@click.option("--card", type=_OUTPUT, metavar="FILE",
              help="Write it there as a section for a model's card, in Markdown.")  # fmt: skip
@click.option("--overwrite", is_flag=True, help="Replace the files.")
def command(
    *, private: Path | None, ledger: Path | None, audits: tuple[Path, ...], output: Path,
    page: Path | None, card: Path | None, overwrite: bool,
) -> None:  # fmt: skip
    """Write what may be told of the privacy of rows: it can be published.

    The promise, what was done to the rows and what that cost, what audits found and could have
    found, and what is not covered. PRIVATE is the file of private rows, or its ledger; no row is
    read. Of audits, only figures of canaries are shown: those of real rows are as private as these.

    \b
    genie-dp private report private.jsonl --audit audit.json -o privacy.json --page privacy.html
    """
    from genie_dp.cli.output import show
    from genie_dp.private.audit.privacy import run
    from genie_dp.run.stage import Output

    target = Output(str(output), overwrite=overwrite)
    show(run(open_ledger(private, ledger), audits, target, page=page, card=card))
