"""`genie-dp data augment`: rows with placeholders become many rows with values."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.augment.config import NOISE, AugmentConfig
from genie_dp.cli.options import (
    format_option,
    jobs_option,
    library_options,
    locale_option,
    on_error_option,
    prior_option,
    resume_options,
    rows_output,
    settings_options,
)
from genie_dp.languages.library import Library

if TYPE_CHECKING:
    from genie_dp.augment.datasets import OwnLists
    from genie_dp.records import Example


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
@settings_options(AugmentConfig, leave_out=("locale",))
@locale_option
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
@jobs_option
@resume_options
@format_option
@on_error_option("with a row whose two sides do not go together")
@click.option(
    "--preview",
    "preview_number",
    type=click.IntRange(1),
    metavar="N",
    help="Print what is made of the first N rows and stop.",
)
@rows_output
def command(
    *,
    inputs: tuple[str, ...],
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    values: Path | None,
    widen: bool,
    list_values: bool,
    settings: Mapping[str, Any],
    locale: str | None,
    no_noise: bool,
    lexicon: str,
    prior: Path | None,
    jobs: int,
    resume: bool,
    overwrite: bool,
    format_: str | None,
    on_error: str,
    preview_number: int | None,
    output: str,
) -> None:
    """Make many rows of each row: values for placeholders, other words, noise.

    INPUT is what `genie-dp synthesize` made, and paraphrases of it (JSONL, TSV or Parquet), or a
    folder of skills with people's sentences. Values come from the skills' lists and from shipped
    ones. Sentence and program stay in step: the words of a value stand together in the sentence,
    and between quotes in the program.

    \b
    genie-dp data augment pairs.jsonl --output train.jsonl
    genie-dp data augment pairs.jsonl paraphrases.jsonl --preview 5
    """
    from genie_dp.augment.run import preview, run
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show, told_private
    from genie_dp.private_prior import load_prior
    from genie_dp.run.stage import Output

    if not inputs and not list_values:
        raise click.UsageError("Missing argument 'INPUT...'.")
    spoken = {"locale": locale} if locale else {}
    quiet = dict.fromkeys(NOISE, 0.0) if no_noise else {}
    config = AugmentConfig(**{**settings, **spoken, **quiet})
    weighs = load_prior(prior) if prior else None
    private = {} if list_values or preview_number else told_private(inputs)
    library = load_library_of(language, skills, skip_broken=skip_broken)
    own = _own_lists(values, library, config.place.words.spelled)
    if list_values:
        _show_lists(library, own, widen=widen)
        return
    if preview_number is not None:
        copied = preview(
            config, inputs, library, preview_number,
            language=language, values=own, widen=widen, lexicon=lexicon, on_error=on_error,
        )  # fmt: skip
        for row, copies in copied:
            _show_copies(row, copies)
        return
    result = run(
        config, inputs, library, Output(output, format_, resume=resume, overwrite=overwrite),
        language=language, prior=weighs, values=own, widen=widen, lexicon=lexicon,
        on_error=on_error, private=private, jobs=jobs, progress=True,
    )  # fmt: skip
    show(result)


def _own_lists(values: Path | None, library: Library, language: str) -> "OwnLists | None":
    """Return the lists of --values; what is odd in them is told."""
    from genie_dp.augment.datasets import read_own_lists
    from genie_dp.cli.output import show_problems

    if values is None:
        return None
    own = read_own_lists(values, library, language=language)
    show_problems(own.warnings, own.sources)
    return own


def _show_lists(library: Library, own: "OwnLists | None", *, widen: bool) -> None:
    """Print which parameter takes its values from which list."""
    from genie_dp.augment.values import LibraryValues, lists_table
    from genie_dp.errors import GenieError, Problem
    from genie_dp.skills.model import SkillLibrary

    if not isinstance(library, SkillLibrary):
        hint = "of S-expressions the types of texts alone are known"
        raise GenieError(Problem("A103", "--list-values needs skills", hint=hint))
    for line in lists_table(library, LibraryValues(library, own.lists if own else {}, widen=widen)):
        click.echo(line)


def _show_copies(row: "Example", copies: Sequence["Example"]) -> None:
    """Print a row, and what is made of it."""
    from genie_dp.english.forms import surface

    click.secho(f"{row.id}  {surface(row.utterance.split())}", dim=True)
    for copy in copies:
        click.echo(f"  {copy.utterance}\n      {copy.program}")
