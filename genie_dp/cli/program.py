"""`genie-dp program`: check, rewrite and print programs, one a line."""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any

import click

from genie_dp.cli.inputs import load_library_of
from genie_dp.cli.options import library_options
from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import Language, get_language

Answer = dict[str, Any]
"""One line of output: {"ok": true, ..} or {"ok": false, "errors": [..]}."""

_FIELDS = ("code", "message", "line", "column", "hint", "stage")


@click.group(name="program", context_settings={"help_option_names": ["-h", "--help"]})
def command() -> None:
    """Check programs, and bring them into another form.

    Reads one program a line from FILE, or from standard input for "-"; empty lines and lines that
    begin with // are left out. Writes one JSON object a line. Exit code 1 if any line has a
    mistake.
    """


def _subcommand(name: str) -> Callable[[Callable[..., None]], click.Command]:
    """Add a command that reads programs, with the options that all of them take."""

    def add(function: Callable[..., None]) -> click.Command:
        file = click.argument("file", type=click.File("rb"))
        return command.command(name)(library_options(file(function)))

    return add


@_subcommand("check")
def check(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Say what is wrong with programs."""
    target = get_language(language)
    library = load_library_of(language, skills, skip_broken=skip_broken)

    def work(text: str, name: str) -> Answer:
        _well_typed(target.parse(text, file=name), target, library)
        return {"program": text}

    _run(file, work)


@_subcommand("canonical")
def canonical(file: IO[bytes], language: str, skills: Sequence[Path], skip_broken: bool) -> None:
    """Print the one program that stands for all with the same meaning."""
    target = get_language(language)
    library = load_library_of(language, skills, skip_broken=skip_broken)

    def work(text: str, name: str) -> Answer:
        program = _well_typed(target.parse(text, file=name), target, library)
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
    target = _styled(language, types=not no_types, keywords=not positional)
    library = load_library_of(language, skills, skip_broken=skip_broken)
    if not reverse:
        _run(file, partial(_as_tokens, target, library))
        return
    read: Callable[[str], Any] = partial(target.from_tokens, places=True)
    if positional:
        from genie_dp.languages.thingtalk.language import ThingTalk

        if isinstance(target, ThingTalk):
            read = partial(target.from_tokens, library=library, places=True)

    def work(text: str, name: str) -> Answer:
        return {"program": target.render(_well_typed(read(text), target, library))}

    _run(file, work)


def _as_tokens(target: Language, library: Any, text: str, name: str) -> Answer:
    program = _well_typed(target.parse(text, file=name), target, library)
    return {"program": target.tokens(target.canonical(program, library), library)}


def _styled(language: str, *, types: bool, keywords: bool) -> Language:
    if types and keywords:
        return get_language(language)
    if language != "thingtalk":
        option = "--positional" if types else "--no-types"
        raise click.UsageError(f"{option} is for --language thingtalk, got {language}")
    from genie_dp.languages.thingtalk.language import ThingTalk
    from genie_dp.languages.thingtalk.tokens import TokenStyle

    return ThingTalk(TokenStyle(types=types, keywords=keywords))


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


# ------------------------------------------------------------------------------------- lines


def _well_typed(program: Any, target: Language, library: Any) -> Any:
    errors = [p for p in target.check(program, library) if p.severity == "error"]
    if errors:
        raise GenieError(errors)
    return program


def _run(file: IO[bytes], work: Callable[[str, str], Answer]) -> None:
    """Answer every program of a file; leave with exit code 1 if one has a mistake."""
    is_wrong = False
    for answer in _answers(file, work, getattr(file, "name", "<stdin>")):
        is_wrong |= not answer["ok"]
        click.echo(json.dumps(answer, ensure_ascii=False))  # flushes: a reader may wait for it
    if is_wrong:
        raise click.exceptions.Exit(1)


def _answers(
    lines: Iterable[bytes], work: Callable[[str, str], Answer], name: str
) -> Iterator[Answer]:
    for number, line in enumerate(lines, start=1):
        if number == 1:
            line = line.removeprefix(codecs.BOM_UTF8)
        try:
            text = _decoded(line, name).rstrip("\r\n")
            if not text.strip() or text.lstrip().startswith("//"):
                continue
            yield {"ok": True, **work(text, name)}
        except GenieError as error:
            yield {"ok": False, "errors": [_as_json(p, number) for p in error.problems]}


def _decoded(line: bytes, name: str) -> str:
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(line[: error.start].decode("utf-8")) + 1
        message = f"expected UTF-8 text, got byte 0x{line[error.start]:02X}"
        place = Span(name, 1, column, 1, column + 1)
        hint = "save the programs as UTF-8"
        raise GenieError(Problem("R003", message, place, hint, stage="syntax")) from None


def _as_json(problem: Problem, line: int) -> dict[str, Any]:
    """Return a problem as the output holds it; `line` is that of the program in its file."""
    row = problem.as_dict()
    row["line"] = line
    return {name: row[name] for name in _FIELDS}
