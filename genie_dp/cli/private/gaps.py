"""`genie-dp private gaps`: what people ask for that is not understood, released once with noise."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    POSITIVE,
    grammar_option,
    jobs_option,
    library_options,
    locale_option,
    paid_resume_options,
    settings_options,
)
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.gaps.config import GapConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("gaps")
@click.argument("private", type=_FILE)
@click.option(
    "--report", "report", required=True, type=click.Path(path_type=Path), metavar="DIR",
    help="Where the report goes: a page, gaps.json, templates and the rows that they add.",
)  # fmt: skip
@click.option(
    "--epsilon", required=True, type=POSITIVE,
    help="What this report costs by itself, at the budget's delta.",
)  # fmt: skip
@ledger_option
@library_options
@grammar_option
@locale_option
@settings_options(GapConfig, leave_out=("epsilon",))
@click.option(
    "--parser", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER",
    help="A gap is what this trained parser does not understand [what no template derives].",
)  # fmt: skip
@click.option(
    "--names", type=_FILE, metavar="FILE",
    help="Names that no list has, in YAML: kind of entity and a list of names. Nothing private.",
)  # fmt: skip
@jobs_option
@paid_resume_options
def command(
    *,
    private: Path,
    report: Path,
    epsilon: float,
    ledger: Path | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    locale: str | None,
    settings: Mapping[str, Any],
    parser: Path | None,
    names: Path | None,
    jobs: int,
    resume: bool,
    overwrite: bool,
) -> None:
    """Tell what people ask for that is not understood, with noise, and templates for it.

    PRIVATE is JSONL or TSV of utterances. What the templates do not derive (or a parser does not
    understand) is cut into words, pairs of words and sentences with values taken out; those that
    enough people say are shown. It is recorded in the ledger before it is counted, and refused if
    the budget does not allow it.

    \b
    genie-dp private gaps private.jsonl --epsilon 1 --report gaps
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.evaluate.config import CoverageConfig
    from genie_dp.evaluate.gaps import open_listener
    from genie_dp.locale import DEFAULT
    from genie_dp.private.gaps.run import run
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend, refuse_learned, refuse_private
    from genie_dp.run.stage import Output

    config = GapConfig(epsilon=epsilon, **settings)
    book = Ledger.open(ledger_to_spend(private, ledger))
    named = [*skills, *grammar, *([names] if names else [])]
    # Before they are read: a mistake in a file is told with its line.
    refuse_private(named, private, code="F021")
    refuse_learned(parser, private, code="F021")
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    listener = open_listener(
        inputs, CoverageConfig(locale=locale or DEFAULT), parser=parser, names=names
    )
    result = run(
        config, private, book, listener,
        Output(str(report), resume=resume, overwrite=overwrite), jobs=jobs, progress=True,
    )  # fmt: skip
    *lines, written = result.lines()
    for line in lines:
        click.echo(line)
    click.echo(written, err=True)
