"""`genie-dp grammar program`: check, rewrite and print programs, one a line."""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO

import click

from genie_dp.cli import LazyGroup
from genie_dp.cli.commands import CommandEntry
from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.options import library_options
from genie_dp.languages import Language, get_language
from genie_dp.languages.programs import Answer, answer_lines, check_types

STEPS: Mapping[str, CommandEntry] = {
    "check": CommandEntry(f"{__name__}:check", "Find the mistakes in programs.", "language skills"),
    "canonical": CommandEntry(
        f"{__name__}:canonical",
        "Print the one program that stands for all with the same meaning.",
        "language skills",
    ),
    "tokens": CommandEntry(
        f"{__name__}:tokens",
        "Print canonical programs as tokens separated by one space.",
        "reverse language skills",
    ),
    "render": CommandEntry(
        f"{__name__}:render",
        "Print programs as people write them; types are not checked.",
        "language skills",
    ),
    "functions": CommandEntry(
        f"{__name__}:functions",
        "Count the functions of programs; types are not checked.",
        "language skills",
    ),
}


@click.group("program", cls=LazyGroup, table=STEPS)
def command() -> None:
    """Check programs, and bring them into another form.

    Reads one program a line from FILE, or from standard input for "-"; empty lines and lines that
    begin with // are left out. Writes one JSON object a line. Exit code 1 if any line has a
    mistake.
    """


def _subcommand(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Return a decorator that makes a command of programs, with the options of all of them."""

    def add(function: Callable[..., None]) -> click.Command:
        file = click.argument("file", type=click.File("rb"))
        return click.command(name)(library_options(file(function)))

    return add


@_subcommand("check")
def check(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Find the mistakes in programs."""
    target = get_language(language)
    library = load_library_of(language, skills, skip_broken=skip_broken)

    def work(text: str, name: str) -> Answer:
        check_types(target.parse(text, file=name), target, library)
        return {"program": text}

    _run(file, work)


@_subcommand("canonical")
def canonical(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Print the one program that stands for all with the same meaning."""
    target = get_language(language)
    library = load_library_of(language, skills, skip_broken=skip_broken)

    def work(text: str, name: str) -> Answer:
        program = check_types(target.parse(text, file=name), target, library)
        return {"program": target.render(target.canonical(program, library))}

    _run(file, work)


@_subcommand("tokens")
@click.option("--reverse", is_flag=True, help="Read the token form, print programs.")
@click.option("--no-types", is_flag=True, help="Parameters without their types (thingtalk).")
@click.option(
    "--positional", is_flag=True, help="Inputs by position instead of by name (thingtalk)."
)
def tokens(
    file: IO[bytes],
    language: str,
    skills: Sequence[Path],
    skip_broken: bool,
    reverse: bool,
    no_types: bool,
    positional: bool,
) -> None:
    """Print canonical programs as tokens separated by one space."""
    target = _language_in_style(language, types=not no_types, keywords=not positional)
    library = load_library_of(language, skills, skip_broken=skip_broken)

    def as_tokens(text: str, name: str) -> Answer:
        program = check_types(target.parse(text, file=name), target, library)
        return {"program": target.tokens(target.canonical(program, library), library)}

    if not reverse:
        _run(file, as_tokens)
        return
    # Only inputs without their names need the library to be read.
    read = partial(target.from_tokens, library=library if positional else None, places=True)

    def work(text: str, name: str) -> Answer:
        return {"program": target.render(check_types(read(text), target, library))}

    _run(file, work)


def _language_in_style(language: str, *, types: bool, keywords: bool) -> Language:
    if types and keywords:
        return get_language(language)
    styled = get_language(language).in_style(types=types, keywords=keywords, canonical=True)
    if styled is None:
        option = "--positional" if types else "--no-types"
        raise click.UsageError(f"{option} is for --language thingtalk, got {language}")
    return styled


@_subcommand("render")
def render(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Print programs as people write them; types are not checked."""
    target = get_language(language)
    _run(file, lambda text, name: {"program": target.render(target.parse(text, file=name))})


@_subcommand("functions")
def functions(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Count the functions of programs; types are not checked."""
    target = get_language(language)
    _run(file, lambda text, name: {"functions": target.functions(target.parse(text, file=name))})


def _run(file: IO[bytes], work: Callable[[str, str], Answer]) -> None:
    """Answer every program of a file; leave with exit code 1 if one has a mistake."""
    is_wrong = False
    for answer in answer_lines(file, work, getattr(file, "name", "<stdin>")):
        is_wrong |= not answer["ok"]
        click.echo(json.dumps(answer, ensure_ascii=False))  # flushes: a reader may wait for it
    if is_wrong:
        raise click.exceptions.Exit(1)
