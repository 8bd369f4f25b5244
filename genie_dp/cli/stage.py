"""Commands of stages: an argument or option for each field, and the output option."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import click

from genie_dp.cli.options import (
    FILE,
    FOLDER,
    SKILLS,
    card_options,
    exclusive_flags,
    grammar_option,
    library_options,
    locale_option,
    of_project,
    option_of_setting,
    skills_option,
)
from genie_dp.cli.private.ledgers import ledger_option
from genie_dp.errors import GenieError
from genie_dp.locale import DEFAULT
from genie_dp.recipe import Setting, is_required, settings_of
from genie_dp.run.stage import Output
from genie_dp.stage.kernel import OutputOption, SettingsConflict, Stage

Options = dict[str, Any]


class _ParserType(click.Path):
    """The folder of a trained parser, which is read when the stage needs it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the folder with what reads it."""
        from genie_dp.parser.parser import BestProgram
        from genie_dp.private.generators.rows import ParserFolder

        return ParserFolder(Path(str(super().convert(value, param, ctx))), BestProgram.from_folder)


_TYPES: Mapping[str, click.ParamType[Any]] = {
    "file": FILE,
    "file or -": click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    "path": click.Path(exists=True, path_type=Path),
    "folder": FOLDER,
    "skills": SKILLS,
    "text": click.STRING,
    "parser": _ParserType(exists=True, file_okay=False),
}


@dataclass(frozen=True, slots=True)
class Group:
    """Several options that give one field its value.

    Attributes:
        add: adds the options to a command.
        take: removes their values from all options, and returns the values of fields.
    """

    add: Callable[[Any], Any]
    take: Callable[[Any, Options], Options]


def _take_about(stage: type[Stage], options: Options) -> Options:
    from genie_dp.dataset.folder import AboutRows

    names = ("title", "licence", "origin", "spent")
    return {"about": AboutRows(**{name: options.pop(name) for name in names})}


def _take_ledger(stage: type[Stage], options: Options) -> Options:
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend

    return {"ledger": Ledger.open(ledger_to_spend(options["private"], options.pop("ledger")))}


def _take_library(stage: Any, options: Options) -> Options:
    """Read the library, unless the stage says that these options need none."""
    from genie_dp.cli.inputs import load_library_of

    language, skills = options.pop("language"), options.pop("skills")
    skip_broken, library = options.pop("skip_broken"), None
    if not hasattr(stage, "needs_library") or stage.needs_library(options):
        library = load_library_of(language, skills, skip_broken=skip_broken)
    return {"library": library, "language": language}


def _take_inputs(stage: Any, options: Options) -> Options:
    from genie_dp.cli.inputs import load_inputs

    given = [options.pop(name) for name in ("language", "skills", "grammar")]
    return {"inputs": load_inputs(*given, skip_broken=options.pop("skip_broken"))}


def _files_options(command: Any) -> Any:
    return library_options(grammar_option(command))


def _listener_options(command: Any) -> Any:
    parser = click.option(
        "--parser", type=FOLDER, metavar="FOLDER",
        help="A gap is what this trained parser does not understand [what no template derives].",
    )  # fmt: skip
    names = click.option(
        "--names", type=FILE, metavar="FILE",
        help="Names that no list has, in YAML: kind of entity and a list of names. Nothing "
        "private.",
    )  # fmt: skip
    return _files_options(locale_option(parser(names(command))))


def _take_listener(stage: Any, options: Options) -> Options:
    """Make what understands sentences, of files that are refused first where they are private."""
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.evaluate.config import CoverageConfig
    from genie_dp.evaluate.gaps import open_listener
    from genie_dp.private.ledger.guard import refuse_learned, refuse_private

    files = [options.pop(name) for name in ("skills", "grammar")]
    parser, names = options.pop("parser"), options.pop("names")
    locale, language = options.pop("locale"), options.pop("language")
    # Before they are read: a mistake in a file is told with its line.
    named = [*files[0], *files[1], *([names] if names else [])]
    refuse_private(named, options["private"], code=stage.not_public)
    refuse_learned(parser, options["private"], code=stage.not_public)
    inputs = load_inputs(language, *files, skip_broken=options.pop("skip_broken"))
    config = CoverageConfig(locale=locale or DEFAULT)
    return {"listener": open_listener(inputs, config, parser=parser, names=names)}


def _library_by_language_options(command: Any) -> Any:
    command = skills_option("Skills that programs are checked against")(command)
    skip = "Go on without the skills that cannot be read."
    return click.option("--skip-broken", is_flag=True, help=skip)(command)


def _take_library_by_language(stage: type[Stage], options: Options) -> Options:
    from genie_dp.cli.inputs import load_library_of

    given = {name: options.pop(name) for name in ("skills", "skip_broken")}
    return {"load_library": partial(load_library_of, **given)}


GROUPS: Mapping[str, Group] = {
    "about": Group(card_options, _take_about),
    "inputs": Group(_files_options, _take_inputs),
    "ledger": Group(ledger_option, _take_ledger),
    "library": Group(library_options, _take_library),
    "library by language": Group(_library_by_language_options, _take_library_by_language),
    # The fields have the names of the options.
    "paths": Group(_files_options, lambda stage, options: {}),
    "listener": Group(_listener_options, _take_listener),
}


def command_of(stage: type[Stage]) -> click.Command:
    """Return the command of a stage."""
    settings, hints = settings_of(stage), get_type_hints(stage)
    declared = [field for field in fields(stage) if field.name in settings]
    groups = [GROUPS[settings[x.name].value] for x in declared if settings[x.name].value in GROUPS]
    plain = [field for field in declared if settings[field.name].value not in GROUPS]

    def run(**options: Any) -> int:
        output = _take_output(stage.output, options)
        given: Options = {}
        for group in groups:
            given |= group.take(stage, options)
        given |= {name: value for name, value in options.items() if value not in (None, ())}
        try:
            made = stage(**given)
        except SettingsConflict as error:
            raise click.UsageError(error.problems[0].message) from None
        if message := made.conflict(output.target):
            raise click.UsageError(message)
        result = made.run(output, progress=True)
        if stage.changes:
            _accept(getattr(made, stage.changes))
        reported = len(list(result.findings()))
        for number, line in enumerate(result.lines()):
            click.echo(line, err=number >= reported)
        return made.exit_code_for(result)

    command: Any = _with_output(stage.output, run)
    for group in reversed(groups):
        command = group.add(command)
    for field in reversed(plain):
        setting = settings[field.name]
        if setting.is_argument:
            is_many = get_origin(hints[field.name]) is tuple
            metavar = setting.metavar or None
            command = click.argument(
                field.name, nargs=-1 if is_many else 1, metavar=metavar, type=_type_of(setting),
                required=is_required(field),
            )(command)  # fmt: skip
        else:
            option = option_of_setting(field, hints[field.name], setting, _type_of(setting))
            command = option(command)
    if any(setting.of_project for setting in settings.values()):
        command = of_project(stage.without_project)(command)
    name = stage.command.rpartition(" ")[2]
    return click.command(name, help=stage.help())(command)


def _accept(folder: Path) -> None:
    """Let the project here take a folder as it is now, or its next run would make it anew."""
    from genie_dp.project_file import find_project

    if (file := find_project(Path.cwd())) is not None:
        from genie_dp.project import Project

        Project(file).accept(folder)


def _with_output(output: OutputOption, command: Any) -> Any:
    """Add the options that say where a stage writes, and how."""
    if output.resume:
        command = exclusive_flags(command, output.resume, output.overwrite)
    elif output.overwrite:
        command = click.option("--overwrite", is_flag=True, help=output.overwrite)(command)
    if output.formats:
        command = click.option(
            f"--{output.format_option}", "format", type=click.Choice(output.formats),
            default=output.default_format, show_default=output.default_format is not None,
            help=output.format_help,
        )(command)  # fmt: skip
    if output.option is None:
        return command
    kind = click.STRING if output.metavar != "FOLDER" else click.Path(file_okay=False)
    if not output.option:
        return click.argument("output", type=kind)(command)
    names = [f"--{output.option}", *(["-o"] if output.option == "output" else []), "output"]
    facts: dict[str, Any] = {"required": output.is_required}
    if output.default is not None:  # a default of None would do for what is required
        facts = {"default": output.default, "show_default": True}
    return click.option(*names, metavar=output.metavar, help=output.help, type=kind, **facts)(
        command
    )


def _take_output(option: OutputOption, options: Options) -> Output:
    """Take the output out of all options."""
    given = {name: options.pop(name, None) for name in ("format", "resume", "overwrite")}
    flags = {name: bool(given[name]) for name in ("resume", "overwrite")}
    return Output(options.pop("output", None) or "", given["format"], **flags)


def _type_of(setting: Setting) -> Any:
    if setting.parse is not None:
        return _Parsed(setting.metavar or "value", setting.parse)
    return _TYPES.get(setting.value)


class _Parsed(click.ParamType[Any]):
    """A text that a setting reads; a text that it refuses is wrong usage."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the text stands for."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except GenieError as error:
            (problem,) = error.problems
            self.fail(f"{problem.message} ({problem.hint})", param, ctx)
