"""`genie-dp private evolve`: synthetic rows that private rows vote for, without any training."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    POSITIVE,
    grammar_option,
    library_options,
    paid_resume_options,
    settings_options,
)
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.private.evolution.config import EMBEDDINGS, GENERATORS, EvolutionConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("evolve")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, metavar="FOLDER",
    help="Where rows, prior and report go. It appears when it is complete.",
)  # fmt: skip
@click.option(
    "--recipe", type=_FILE, metavar="FILE",
    help="Settings in YAML, such as examples/evolution.yaml; options given here go before them.",
)  # fmt: skip
@click.option("--epsilon", type=POSITIVE,
              help="What votes and table cost together, at the budget's delta.")  # fmt: skip
@click.option(
    "--use-remaining-budget",
    "rest",
    is_flag=True,
    help="Instead: use up what is left of the budget.",
)
@ledger_option
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows that may be published, JSONL: values of columns are taken from them, and weights of "
    "the prior are relative to them. May be repeated.",
)  # fmt: skip
@library_options
@grammar_option
@click.option("--generator", type=click.Choice(tuple(GENERATORS)),
              help="What makes candidates [grammar].")  # fmt: skip
@click.option("--embedding", type=click.Choice(EMBEDDINGS),
              help="What nearness is of: words, programs, or both [hashed].")  # fmt: skip
@settings_options(EvolutionConfig)
@click.option("--keep/--replace", default=None,
              help="Whether winners are candidates again, with variations [keep].")  # fmt: skip
@click.option("--threads", type=click.IntRange(1), default=1, show_default=True,
              help="Of torch, where a model is used.")  # fmt: skip
@paid_resume_options
def command(
    *,
    private: Path,
    output: str,
    recipe: Path | None,
    epsilon: float | None,
    rest: bool,
    ledger: Path | None,
    public: tuple[str, ...],
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    generator: str | None,
    embedding: str | None,
    settings: Mapping[str, Any],
    keep: bool | None,
    threads: int,
    resume: bool,
    overwrite: bool,
) -> None:
    """Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.

    PRIVATE is JSONL or TSV. Each vote is recorded in the ledger before it is counted, and refused
    if the budget does not allow it. The grammar makes every candidate with its program; language
    models never see a private row. The folder has the rows, what they were made for, a prior for
    synthesize, and a report.

    \b
    genie-dp private evolve private.jsonl --epsilon 3 --embedding both --output evolved
    genie-dp private evolve private.jsonl --recipe examples/evolution.yaml \\
      --use-remaining-budget -o evolved
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show
    from genie_dp.parser.parser import BestProgram
    from genie_dp.private.evolution.config import read_recipe
    from genie_dp.private.evolution.run import run
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend
    from genie_dp.run.stage import Output

    if epsilon is not None and rest:
        raise click.UsageError("give --epsilon, what the run costs, or --use-remaining-budget")
    given = {**settings, "generator": generator, "embedding": embedding, "keep": keep}
    config = read_recipe(recipe, given)
    book = Ledger.open(ledger_to_spend(private, ledger))
    library = None
    if config.needs_library:
        library = load_library_of(language, skills, skip_broken=skip_broken)
    result = run(
        config, private, book, library, Output(output, resume=resume, overwrite=overwrite),
        language=language, epsilon=epsilon, rest=rest, grammar=grammar, public=public,
        open_parser=BestProgram.from_folder, threads=threads, progress=True,
    )  # fmt: skip
    show(result)
