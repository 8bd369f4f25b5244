"""`genie-dp private compare`: how near synthetic rows come to real ones."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.options import library_options, settings_options
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.errors import GenieError, Problem
from genie_dp.private.metrics.config import EvaluateConfig, EvaluateInputs

if TYPE_CHECKING:
    from genie_dp.private.metrics.compare import Parse

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)


@click.command("compare")
@click.argument("real")
@click.argument("synthetic", nargs=-1, required=True, metavar="SYNTHETIC...")
@click.option("--real-is-public", is_flag=True,
              help="REAL may be seen by everybody: figures are printed, functions are "
              "named.")  # fmt: skip
@click.option("--keep-private", is_flag=True,
              help="REAL is private, and so is the report: files that only you can read, nothing "
              "printed.")  # fmt: skip
@library_options
@settings_options(EvaluateConfig)
@click.option("--parser", type=_FOLDER, metavar="FOLDER",
              help="Count functions in what this trained parser says of the sentences, and compare "
              "its programs with those of the rows.")  # fmt: skip
@click.option("--lm-text", "texts", multiple=True, metavar="FILE",
              help="Rows, or lines of a .txt, to make the language model of [halves of REAL]. May "
              "be repeated.")  # fmt: skip
@click.option("--model", type=_FOLDER, metavar="FOLDER",
              help="A causal language model of Hugging Face: vectors for MAUVE, and "
              "losses.")  # fmt: skip
@click.option("--generator", "generators", type=_FOLDER, multiple=True, metavar="FOLDER",
              help="What drew SYNTHETIC, of genie-dp private train: how likely it finds REAL's "
              "rows. One for each file, in their order.")  # fmt: skip
@ledger_option
@click.option("--report", metavar="FILE", help="Write a page with charts there.")
@click.option("--output", "-o", metavar="FILE|URL|-", help="Write the result there, as JSON.")
def command(
    *, real_is_public: bool, keep_private: bool, skills: tuple[Path, ...], skip_broken: bool,
    settings: Mapping[str, Any], report: str | None, output: str | None, **files: Any,
) -> None:  # fmt: skip
    """Compare synthetic rows with real ones that were held out.

    Words, functions and their distribution, MAUVE, the loss of a language model, valid programs.
    REAL and SYNTHETIC are rows as JSONL, TSV or, if REAL is public, Parquet; several SYNTHETIC
    stand side by side.

    The figures are NOT differentially private. Say what REAL is: --real-is-public, or
    --keep-private, then the report must stay where the private rows are. Only what --spend releases
    is differentially private: the likelihood of REAL's rows, with noise.

    \b
    genie-dp private compare test.jsonl one.jsonl two.jsonl --real-is-public --report report.html
    genie-dp private compare test.jsonl two.jsonl --real-is-public --parser parser
    genie-dp private compare private.jsonl two.jsonl --keep-private --report kept/report.html
    genie-dp private compare held.jsonl two.jsonl --keep-private --generator two --spend 0.5
    """
    if real_is_public == keep_private:
        raise click.UsageError(
            "say what REAL is: --real-is-public, or --keep-private. The figures are not "
            "differentially private: computed from private rows, they must be kept like these"
        )
    config, inputs = EvaluateConfig(**settings), EvaluateInputs(**files)
    if conflicts := inputs.conflicts(config):
        raise click.UsageError(conflicts[0])
    if keep_private and not (report or output or config.spend):
        raise click.UsageError("--keep-private prints nothing: name a --report or an --output")
    from genie_dp.cli.inputs import load_library_of
    from genie_dp.cli.output import show
    from genie_dp.private.metrics.run import run

    read = partial(load_library_of, inputs.language, skills, skip_broken=skip_broken)
    result = run(
        config, inputs, output or None, load_library=read, open_parser=_open_parser,
        report=report or None, is_public=real_is_public, progress=True,
    )  # fmt: skip
    if real_is_public:
        # A pipe gets the JSON alone.
        click.echo("\n".join(result.table()), err=output == "-")
    show(result)


def _open_parser(folder: Path, language: str) -> "Parse":
    """Return what a parser of rows' language says of sentences."""
    from genie_dp.parser.parser import BestProgram

    parser = BestProgram.from_folder(folder)
    own_language = parser.parser.target.language.name
    if own_language != language:
        message = f"the parser of {folder} writes {own_language}, the rows are {language}"
        raise GenieError(Problem("J007", message, hint=f"add --language {own_language}"))
    return parser.predict
