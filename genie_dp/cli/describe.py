"""`genie-dp describe`: what a program says in English."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import grammar_option, library_options, settings_options
from genie_dp.errors import GenieError
from genie_dp.synthesis.config import DescribeConfig


@click.command("describe")
@click.argument("program", required=False)
@library_options
@grammar_option
@settings_options(DescribeConfig, names={"subsets": "subset"})
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="text for people; json, one object a sentence, a line each.",
)
@click.option(
    "--input",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    metavar="FILE",
    help="Describe the program on each line, - for standard input.",
)
def command(
    *,
    program: str | None,
    language: str,
    skills: tuple[Path, ...],
    skip_broken: bool,
    grammar: tuple[Path, ...],
    settings: Mapping[str, Any],
    format_: str,
    file: Path | None,
) -> None:
    """Say in English what a program does, by the templates of synthesis.

    The program is given as people write it, or as tokens. The sentence has its values; one that
    the templates derive means this program and is understood again. Where no derivation has the
    program, what templates say of its parts is joined by words of our own, which a note on standard
    error names; the exit code is 0 all the same.

    \b
    genie-dp describe 'now => @com.dropbox.list_folder() => notify'
    genie-dp describe --input programs.txt --format json
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show
    from genie_dp.synthesis.describe import ProgramText, read_programs, run

    if (program is None) == (file is None):
        raise click.UsageError("give one program, or a file with --input")
    config = DescribeConfig(**settings)
    inputs = load_inputs(language, skills, grammar, skip_broken=skip_broken)
    programs = [ProgramText(program or "")] if file is None else read_programs(file)
    result = run(config, inputs, programs, as_json=format_ == "json")
    show(result)
    if result.problems:
        raise GenieError(result.problems)
