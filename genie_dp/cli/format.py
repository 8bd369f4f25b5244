"""`genie-dp format`: template files laid out, and written shorter."""

from collections.abc import Sequence
from pathlib import Path

import click

from genie_dp.cli.options import grammar_option, library_options


@click.command("format")
@click.argument(
    "paths",
    nargs=-1,
    required=True,
    metavar="FILE|DIR..",
    type=click.Path(exists=True, path_type=Path),
)
@click.option("--check", is_flag=True, help="Write nothing; exit code 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.option(
    "--shorten",
    is_flag=True,
    help="Drop lambdas whose types the skills tell, and name the class of a file once (for @c;).",
)
@library_options
@grammar_option
def command(
    paths: Sequence[Path],
    check: bool,
    diff: bool,
    shorten: bool,
    language: str,
    skills: Sequence[Path],
    skip_broken: bool,
    grammar: Sequence[Path],
) -> int:
    """Lay out template files, and write them shorter.

    Formats each FILE, and the .genie files of each DIR, in place. Comments stay; doing it twice
    changes nothing more. Only --shorten looks at --skills and --grammar: what a file says is the
    same after it.

    \b
    genie-dp format thingpedia
    genie-dp format --shorten --diff thingpedia/com.gmail
    """
    from genie_dp.templates.format import run, shortener

    shorter = None
    if shorten:
        from genie_dp.languages import get_language
        from genie_dp.templates.inputs import load_library

        library = load_library(language, skills, skip_broken=skip_broken)
        shorter = shortener(get_language(language), library, grammar)
    result = run(paths, write=not (check or diff), shorter=shorter)
    if diff:
        for line in result.diff():
            click.echo(line)
    for line in result.lines():
        click.echo(line, err=True)
    return 1 if check and result.changed else 0
