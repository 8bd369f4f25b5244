"""`genie-dp new`: skeletons of a project, a skill, a grammar that work at once."""

import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from genie_dp.cli.skeletons import grammar_files, project_files, skill_files
from genie_dp.errors import GenieError, Problem

_PART = re.compile(r"[a-z][a-z0-9_-]*")


@click.group("new")
def command() -> None:
    """Write the skeleton of a project, a skill or a grammar."""


@command.command("project")
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=".",
    show_default=True,
    help="Folder to put it in.",
)
def project(name: str, folder: Path) -> None:
    """Write a project: one skill, a grammar, a README with the commands."""
    target = folder / _checked(name, "project", dots=False)
    write_files(target, project_files(name))
    _say(
        target,
        f"cd {target}",
        f"genie-dp check {_PROJECT}",
        f"genie-dp synthesize {_PROJECT} --preview 2",
    )


@command.command("skill")
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="thingpedia",
    show_default=True,
    help="Folder of skills to put it in.",
)
def skill(name: str, folder: Path) -> None:
    """Write a skill: its class, templates and values; NAME is that of the class."""
    target = folder / _checked(name, "skill", dots=True)
    # Imported late: reading classes needs the parser, `genie-dp new --help` does not.
    from genie_dp.skills.model import last_name

    write_files(target, skill_files(name, last_name(name)))
    _say(
        target,
        f"genie-dp check --skills {target}",
        f"genie-dp synthesize --skills {target} --preview 2",
    )


@command.command("grammar")
@click.argument("name")
@click.option(
    "--in",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    default="grammars",
    show_default=True,
    help="Folder of grammars to put it in.",
)
def grammar(name: str, folder: Path) -> None:
    """Write a grammar: a root category and a few construct templates."""
    target = folder / _checked(name, "grammar", dots=False)
    write_files(target, grammar_files())
    _say(
        target,
        f"genie-dp check --grammar {target}",
        f"genie-dp synthesize --grammar {target} --preview 2",
    )


_PROJECT = "--skills thingpedia --grammar grammars/en"


def write_files(target: Path, files: Mapping[str, str]) -> None:
    """Write files into a new folder, all or none.

    Raises:
        GenieError: the folder exists; nothing is overwritten.
    """
    if target.exists():
        hint = "give another name, or move the old one away"
        raise GenieError(Problem("R032", f"{target} exists already", hint=hint))
    with _complete(target) as partial:
        for name, text in files.items():
            path = partial / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")


@contextmanager
def _complete(target: Path) -> Iterator[Path]:
    """Yield a temporary folder that gets its name when the block ends well."""
    partial = target.with_name(f".{target.name}.partial")
    partial.mkdir(parents=True)
    try:
        yield partial
        partial.rename(target)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _checked(name: str, what: str, *, dots: bool) -> str:
    """Return the name, or raise GenieError with one that would do."""
    parts = name.split(".") if dots else [name]
    if all(_PART.fullmatch(part) for part in parts):
        return name
    expected = "lower-case letters, digits, - and _, beginning with a letter"
    if dots:
        expected += ", in parts separated by dots"
    better = suggestion(name, dots=dots)
    hint = f"for example: genie-dp new {what} {better}" if better else None
    raise GenieError(Problem("R031", f"expected a name of {expected}, got {name!r}", hint=hint))


def suggestion(name: str, *, dots: bool) -> str:
    """Return the name that is meant, or "" where nothing is left of it.

    >>> suggestion("@Com.Example My-Notes", dots=True), suggestion("my.project", dots=False)
    ('com.example_my-notes', 'my_project')
    """
    text = re.sub(r"[^a-z0-9_.-]+", "_", name.strip().lstrip("@").lower())
    parts = text.split(".") if dots else [text.replace(".", "_")]
    cleaned = (re.sub(r"^[^a-z]+", "", part).strip("_-") for part in parts)
    return ".".join(part for part in cleaned if part)


def _say(target: Path, *commands: str) -> None:
    click.echo(f"wrote {target}; go on with")
    for line in commands:
        click.echo(f"  {line}")
