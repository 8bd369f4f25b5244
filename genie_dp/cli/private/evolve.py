"""`genie-dp private evolve`: synthetic rows that private rows vote for, without any training."""

from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    POSITIVE,
    Finite,
    grammar_option,
    library_options,
    paid_resume_options,
)
from genie_dp.cli.private.ledgers import ledger_option

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_FROM_1 = click.IntRange(1)
# Those of genie_dp.private.evolution, which is not imported to print help; tests compare them.
GENERATORS = ("grammar", "seeds", "language-model", "trained", "endpoint")
EMBEDDINGS = ("hashed", "programs", "both", "sentence-transformer")
SELECTIONS = ("resample", "rank")
BACKENDS = ("numpy", "faiss")


@click.command("evolve")
@click.argument("private", type=_FILE)
@click.option(
    "--output", "-o", required=True, type=click.Path(path_type=Path), metavar="FOLDER",
    help="Where rows, prior and report go. It appears when it is complete.",
)  # fmt: skip
@click.option(
    "--recipe", type=_FILE, metavar="FILE",
    help="Settings in YAML, such as examples/evolution.yaml; options given here go before them.",
)  # fmt: skip
@click.option("--epsilon", type=POSITIVE,
              help="What votes and table cost together, at the budget's delta.")  # fmt: skip
@click.option("--rest", is_flag=True, help="Instead: use up what is left of the budget.")
@ledger_option
@click.option(
    "--public", multiple=True, metavar="FILE",
    help="Rows that may be published, JSONL: values of columns are taken from them, and weights of "
    "the prior are relative to them. May be repeated.",
)  # fmt: skip
@library_options
@grammar_option
@click.option("--generator", type=click.Choice(GENERATORS),
              help="What makes candidates [grammar].")  # fmt: skip
@click.option("--embedding", type=click.Choice(EMBEDDINGS),
              help="What nearness is of: words, programs, or both [hashed].")  # fmt: skip
@click.option("--iterations", type=_FROM_1, metavar="T", help="Votes, which all cost [5].")
@click.option("--population", type=_FROM_1, metavar="N", help="Winners of a vote [200].")
@click.option("--variations", type=_FROM_1, metavar="L",
              help="Candidates for each winner; a vote is among N times L [4].")  # fmt: skip
@click.option("--lookahead", type=click.IntRange(0), metavar="K",
              help="Place a candidate where K variations of it are [0: where it is].")  # fmt: skip
@click.option("--neighbours", type=_FROM_1, metavar="K",
              help="Candidates that a private row votes for [1].")  # fmt: skip
@click.option("--threshold", type=Finite(0),
              help="Taken off each count, in standard deviations of its noise [1].")  # fmt: skip
@click.option("--selection", type=click.Choice(SELECTIONS),
              help="Draw winners by their votes, or take the first ones [resample].")  # fmt: skip
@click.option("--keep/--replace", default=None,
              help="Whether winners are candidates again, with variations [keep].")  # fmt: skip
@click.option("--rows", type=_FROM_1, metavar="N", help="Rows that are written [1000].")
@click.option("--label", metavar="COLUMN",
              help="Each row votes among candidates of its own label; needs shares of labels, of a "
              "table or of the recipe.")  # fmt: skip
@click.option("--backend", type=click.Choice(BACKENDS),
              help="Search of neighbours; the extra faiss finds the same [numpy].")  # fmt: skip
@click.option("--seed", type=int, help="Of candidates and choices; the noise has none [0].")
@click.option("--threads", type=_FROM_1, default=1, show_default=True,
              help="Of torch, where a model is used.")  # fmt: skip
@paid_resume_options
def command(**options: Any) -> None:
    """Evolve synthetic rows: candidates that PRIVATE rows vote for, with noise, and variations.

    PRIVATE is JSONL or TSV. Each vote is recorded in the ledger before it is counted, and refused
    if the budget does not allow it. The grammar makes every candidate with its program; language
    models never see a private row. The folder has the rows, what they were made for, a prior for
    synthesize, and a report.

    \b
    genie-dp private evolve private.jsonl --epsilon 3 --embedding both --output evolved
    genie-dp private evolve private.jsonl --recipe examples/evolution.yaml --rest -o evolved
    """
    from genie_dp.cli.private.evolve_job import run

    if options["epsilon"] is not None and options["rest"]:
        raise click.UsageError("give --epsilon, what the run costs, or --rest")
    run(options)
