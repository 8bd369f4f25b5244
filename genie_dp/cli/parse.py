"""`genie-dp parse`: from sentences to programs."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from genie_dp.cli.options import (
    grammar_option,
    library_options,
    locale_option,
    of_project,
    settings_options,
)
from genie_dp.locale import DEFAULT
from genie_dp.parser.config import ParseConfig
from genie_dp.parser.forms import FORMS

if TYPE_CHECKING:
    from genie_dp.parser.answers import Reply
    from genie_dp.parser.session import ParseSession
    from genie_dp.templates.inputs import Inputs

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_PROMPT = "> "


def _not_of_project(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the options that a project does not give: a parser has skills of its own."""
    from genie_dp.project_file import find_project, read_places

    if given["skills"]:
        yield "folder"
        return
    file = find_project(Path.cwd())
    if given["folder"] or (file is not None and read_places(file).parser is not None):
        yield from ("skills", "locale")


@click.command("parse")
@click.argument("sentence", required=False)
@click.option(
    "--parser", "-p", "folder", type=_FOLDER, metavar="FOLDER",
    help="What genie-dp train wrote [that of genie.yaml, else none].",
)  # fmt: skip
@click.option(
    "--input", "file", metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    help="Parse the sentence on each line, - for standard input.",
)  # fmt: skip
@settings_options(ParseConfig)
@click.option("--json", "as_json", is_flag=True, help="One JSON object a sentence, a line each.")
@click.option(
    "--as", "form", type=click.Choice(list(FORMS)),
    help="Only the first program, in this form, a line each; why there is none on standard error.",
)  # fmt: skip
@click.option("--schema", is_flag=True,
              help="Show the JSON Schema of tree and calls, as --json has them.")  # fmt: skip
@click.option("--device", default="cpu", show_default=True, metavar="NAME",
              help="cpu, cuda, cuda:1 ..")  # fmt: skip
@click.option("--no-english", is_flag=True,
              help="Do not say in English what a program does.")  # fmt: skip
@click.option(
    "--tables", type=_FILE, metavar="FILE",
    help="Rows that queries answer, as JSON, or data that skills were made of (SQLite, CSV, "
    "Parquet); show what a program would do with them, or finds.",
)  # fmt: skip
@click.option(
    "--names", type=_FILE, metavar="FILE",
    help="Names of yours that no list has, in YAML: kind of entity and a list of names.",
)  # fmt: skip
@library_options
@grammar_option
@locale_option
@of_project(_not_of_project)
def command(
    *,
    sentence: str | None,
    folder: Path | None,
    file: Path | None,
    settings: Mapping[str, Any],
    as_json: bool,
    form: str | None,
    schema: bool,
    device: str,
    no_english: bool,
    tables: Path | None,
    names: Path | None,
    skills: tuple[Path, ...],
    grammar: tuple[Path, ...],
    language: str,
    locale: str | None,
    skip_broken: bool,
) -> None:
    """Show the programs of sentences, with their meaning in English.

    With a trained parser, or with --skills alone: then their templates answer, and the shipped base
    model where no template does.

    Without SENTENCE and --input it asks for sentences, until Ctrl-D. A program is shown with its
    values, its meaning, and the confidence of the parser. If that is too low it answers that it
    does not know, with the nearest reading; if an input is missing it asks for it, and the next
    line may be the answer.

    \b
    genie-dp parse --skills thingpedia "turn on the lights in the kitchen"
    genie-dp parse --parser parser "whats the weather like in paris"
    genie-dp parse --parser parser --input sentences.txt --json --count 3
    genie-dp parse --parser parser --tables examples/tables.json
    genie-dp parse --parser parser --as calls "set the kitchen lights to 40 percent"
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show as show_result
    from genie_dp.errors import GenieError
    from genie_dp.parser.session import ParseSession, run
    from genie_dp.run.collector import collector_off
    from genie_dp.texts import lines_of, lines_of_stdin

    if sentence is not None and file is not None:
        raise click.UsageError("give one sentence, or a file with --input, not both")
    if as_json and form:
        raise click.UsageError("give --json, which has all of the forms, or --as, not both")
    _refuse_both("folder", "skills")
    config = ParseConfig(**settings, english=not (no_english or schema) and form is None)
    if folder is None:
        inputs = _inputs_to_parse(language, skills, grammar, skip_broken=skip_broken)
        session = ParseSession.from_templates(config, inputs, locale=locale or DEFAULT)
    else:
        own = partial(load_inputs, grammar=grammar, skip_broken=True) if grammar else None
        session = ParseSession.from_folder(config, folder, load_inputs=own, device=device)
    session = session.beside(tables=tables, names=names)
    if schema:
        click.echo(json.dumps(session.parser.schema(), ensure_ascii=False))
        return
    is_typed = sys.stdin.isatty()

    with_sentence = sentence is None and not is_typed
    how = "json" if as_json else form
    show = partial(_show, session, how=how, with_sentence=with_sentence)

    if file is not None:
        is_pipe = str(file) == "-"
        name, batch = ("<stdin>", 1) if is_pipe else (str(file), 32)
        result = run(session, lines_of(file), show=show, file=name, batch=batch)
        show_result(result)
        if result.problems:
            raise GenieError(result.problems)
    elif sentence is not None:
        with collector_off():  # it would look through the grammar again and again
            show(session.parse([sentence])[0])
    else:
        if is_typed:
            click.echo("Type a sentence; Ctrl-D ends.", err=True)
        _converse(session, _typed_lines() if is_typed else lines_of_stdin(), show)


def _inputs_to_parse(
    language: str, skills: tuple[Path, ...], grammar: tuple[Path, ...], *, skip_broken: bool
) -> "Inputs":
    """Return skills with templates: those named, the shipped ones, or first ones for tools.

    Raises:
        click.UsageError: the language has no templates of its own.
    """
    from genie_dp.cli.inputs import load_inputs, load_library_of
    from genie_dp.languages import get_language
    from genie_dp.templates.cache import with_first_templates
    from genie_dp.templates.inputs import reading_files

    if grammar or get_language(language).has_skills:
        return load_inputs(language, skills, grammar or reading_files(), skip_broken=skip_broken)
    library = load_library_of(language, skills, skip_broken=skip_broken)
    inputs = with_first_templates(library)
    if inputs is None:
        raise click.UsageError(f"--language {language} needs --grammar: it has no templates")
    return inputs


def _converse(
    session: "ParseSession", lines: Iterable[str], show: "Callable[[Reply], None]"
) -> None:
    """Answer each line; one may answer the question of the reply before it."""
    from genie_dp.errors import GenieError

    reply: Reply | None = None
    for line in filter(str.strip, lines):
        try:
            reply = session.parse([line], context=reply)[0]
            show(reply)
        except GenieError as error:
            click.echo(str(error), err=True)


def _show(session: "ParseSession", reply: "Reply", *, how: str | None, with_sentence: bool) -> None:
    """Print a reply as "json", in a form, or as text for a person."""
    if how == "json":
        click.echo(session.as_json(reply))
    elif how is None:
        click.echo(session.as_text(reply, with_sentence=with_sentence))
    else:
        line, why = session.as_form(reply, how)
        click.echo(line)
        if why:
            click.echo(why, err=True)


def _refuse_both(*options: str) -> None:
    context = click.get_current_context()
    given = [context.get_parameter_source(name) for name in options]
    if given == [ParameterSource.COMMANDLINE] * len(options):
        raise click.UsageError("give --parser, whose skills are its own, or --skills, not both")


def _typed_lines() -> Iterator[str]:
    """Yield the typed lines, until the end of input."""
    try:
        import readline  # which edits the line and knows those before
    except ImportError:  # Windows, or a Python built without it
        pass
    else:
        readline.set_history_length(1000)
    try:
        while True:
            yield input(_PROMPT)
    except EOFError:
        click.echo()
