"""`genie-dp augment`: rows with placeholders become many rows with values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from genie_dp.cli.options import (
    Finite,
    format_option,
    jobs_option,
    library_options,
    on_error_option,
    resume_options,
    rows_output,
    seed_option,
)
from genie_dp.cli.priors import prior_option

Command = TypeVar("Command", bound=Callable[..., Any])

# field of AugmentConfig -> its option's help. Counts, shares, then spans, in the order of --help.
COUNTS = {
    "paraphrase_with_text": "Rows made of a paraphrase that has a text or name in it.",
    "paraphrase_other": "Rows made of another paraphrase.",
    "primitive": "Rows made of a synthesized sentence with one function.",
    "compound": "Rows made of another synthesized sentence.",
}
SPANS = {
    "max_words": "Words of a value, at most.",
    "max_window": "Words of a text that the program looks for inside a longer one, at most.",
}
SHARES = {
    "quoted": "Share of texts and names that stay placeholders, as if typed in quotes.",
    "general": "Share of texts that are any free text, not of their parameter's list.",
    "written": "Share of numbers, dates, measures and the like that are written out.",
    "reword": "Share of rows made of paraphrases that get words of the same meaning.",
    "reword_synthetic": "The same for synthesized sentences.",
}
NOISE = {
    "filler": "Share of rows that get a filler or polite words.",
    "drop_article": "Share of articles left out.",
    "typo": "Share of longer words that get a typing error.",
    "drop_punctuation": "Share of rows without punctuation.",
    "number_words": "Share of numbers in digits that are put in words.",
}


def config_options(command: Command) -> Command:
    """Add an option for each field of AugmentConfig, with the field's default."""
    from genie_dp.augment.config import AugmentConfig

    kinds: list[tuple[dict[str, str], click.ParamType[Any], str]] = [
        (COUNTS, click.IntRange(0), "N"),
        (SPANS, click.IntRange(1), "N"),
        (SHARES, Finite(0, 1), "SHARE"),
        (NOISE, Finite(0, 1), "SHARE"),
    ]
    rows = [(name, text, kind, word) for table, kind, word in kinds for name, text in table.items()]
    defaults = AugmentConfig()
    for name, text, kind, word in reversed(rows):
        command = click.option(
            f"--{name.replace('_', '-')}",
            type=kind,
            metavar=word,
            default=getattr(defaults, name),
            show_default=True,
            help=text,
        )(command)
    return command


@click.command("augment")
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@library_options
@click.option(
    "--values",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Lists of your own: a values.tsv, or a parameter-datasets.tsv of Genie.",
)
@click.option(
    "--no-widen",
    "widen",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not join the lists of skills with the shipped ones of their kind.",
)
@click.option(
    "--list-values",
    is_flag=True,
    help="Print which parameter takes its values from which list, as TSV, and stop.",
)
@config_options
@click.option("--no-noise", is_flag=True, help="No noise of any kind.")
@click.option(
    "--lexicon",
    default="shipped",
    show_default=True,
    metavar="shipped|wordnet|none|FILE",
    help="Words of the same meaning: the shipped list, WordNet through nltk, none, or a file such "
    "as PPDB's.",
)
@prior_option("Weigh rows")
@seed_option
@jobs_option
@resume_options
@format_option
@on_error_option("with a row whose two sides do not go together")
@click.option(
    "--preview",
    type=click.IntRange(1),
    metavar="N",
    help="Print what is made of the first N rows and stop.",
)
@rows_output
def command(**options: Any) -> None:
    """Make many rows of each row: values for placeholders, other words, noise.

    INPUT is what `genie-dp synthesize` made, and paraphrases of it; JSONL, TSV or Parquet. Values
    come from the skills' lists and from shipped ones. Sentence and program stay in step: the words
    of a value stand together in the sentence, and between quotes in the program.

    \b
    genie-dp augment pairs.jsonl --output train.jsonl
    genie-dp augment pairs.jsonl paraphrases.jsonl --preview 5
    """
    from genie_dp.cli.augment_job import Job, list_values, preview, run

    if not options["inputs"] and not options["list_values"]:
        raise click.UsageError("Missing argument 'INPUT...'.")
    job = Job.of(options)
    if options["list_values"]:
        list_values(job)
    elif options["preview"] is not None:
        preview(job, options["preview"])
    else:
        run(job)
