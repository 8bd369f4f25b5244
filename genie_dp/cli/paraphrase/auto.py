"""`genie-dp data paraphrase auto`: paraphrases by rules, other words, a model or a service."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import (
    jobs_option,
    library_options,
    locale_option,
    output_option,
    settings_options,
)
from genie_dp.paraphrase.config import OPTION_NAMES, TYPED, ParaphraseConfig

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("auto")
@click.argument("rows", nargs=-1, required=True, metavar="ROWS...")
@settings_options(
    ParaphraseConfig,
    leave_out=("locale",),
    names=OPTION_NAMES,
    types={"rule_files": _FILE, "prompt": _FILE},
)
@locale_option
@jobs_option
@click.option(
    "--answers",
    metavar="FILE",
    help="Where answers are kept for --resume [the output's name, .answers.jsonl].",
)
@click.option(
    "--resume", is_flag=True,
    help="Use the answers of an earlier run, with --overwrite as well.",
)  # fmt: skip
@library_options
@click.option(
    "--parser", "parser", metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Keep only what this trained parser reads as the program of the sentence.",
)  # fmt: skip
@click.option("--rejects", metavar="CSV", help="Where the refused paraphrases go, with reasons.")
@click.option("--overwrite", is_flag=True, help="Replace the outputs.")
@output_option("Where the paraphrases go, as JSON lines or, by the name, TSV or Parquet.")
def command(
    *,
    rows: tuple[str, ...],
    settings: Mapping[str, Any],
    locale: str | None,
    jobs: int,
    answers: str | None,
    resume: bool,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    parser: Path | None,
    rejects: str | None,
    overwrite: bool,
    output: str,
) -> None:
    """Paraphrase rows automatically.

    ROWS are files or URLs of synthesized rows (JSON lines, TSV or Parquet), or what `paraphrase
    select` chose; models and services do better with the example values that it puts in. What fails
    the checks of crowd paraphrases, or is a sentence that has another program already, is left
    out and counted.

    \b
    genie-dp data paraphrase auto pairs.jsonl --number 3 --output paraphrases.jsonl
    genie-dp data paraphrase auto chosen.jsonl --by endpoint --base-url http://localhost:8000/v1 \\
        --model my-model --output paraphrases.jsonl
    """
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show, told_private
    from genie_dp.paraphrase.run import run
    from genie_dp.paraphrase.shown import canonical_of
    from genie_dp.run.stage import Output

    config = ParaphraseConfig(**{**settings, **({"locale": locale} if locale else {})})
    if conflict := config.conflict() or _conflict(config.by, jobs, answers, resume=resume):
        raise click.UsageError(conflict)
    if parser is not None and jobs > 1:
        raise click.UsageError("--parser goes with --jobs 1: its network is in one process")
    predictor = None
    if parser is not None:
        from genie_dp.parser.parser import BestProgram

        predictor = BestProgram.from_folder(parser)
    canonical = canonical_of(
        language, lambda: load_library_of(language, skills, skip_broken=skip_broken)
    )
    result = run(
        config, rows, Output(output, overwrite=overwrite),
        language=language, canonical=canonical,
        predictor=predictor, rejects=rejects, answers=answers,
        resume=resume, private=told_private(rows), jobs=jobs, progress=True,
    )  # fmt: skip
    show(result)


def _conflict(by: str, jobs: int, answers: str | None, *, resume: bool) -> str | None:
    """Return which option of the run does not go with the method, or None."""
    if by in TYPED:
        several = f"--jobs does not go with --by {by}; see --batch-size, --at-once"
        return several if jobs > 1 else None
    for name, given in (("answers", answers), ("resume", resume)):
        if given:
            return f"--{name} goes with --by {' or '.join(TYPED)}, not {by}"
    return None
