"""Commands of stages: an argument or option for each field, and the output option."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import Field, dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, get_origin, get_type_hints

import click

from genie_dp.cli.options import (
    FILE,
    FOLDER,
    GRAMMAR,
    NEW_FOLDER,
    SKILLS,
    card_options,
    exclusive_flags,
    grammar_option,
    library_options,
    locale_option,
    of_project,
    option_of_setting,
    prior_option,
    project_here,
    skills_option,
)
from genie_dp.cli.output import note_private
from genie_dp.cli.private.ledgers import ledger_option, open_ledger, private_argument
from genie_dp.errors import GenieError, Problem
from genie_dp.locale import DEFAULT
from genie_dp.recipe import Setting, is_required, settings_of
from genie_dp.run.stage import Output
from genie_dp.stage.kernel import OutputOption, SettingsConflict, Stage

Options = dict[str, Any]


class _ReadPath(click.Path):
    """A path whose content becomes the value."""

    def __init__(self, read: Callable[[Path], Any], *, is_folder: bool = False) -> None:
        super().__init__(exists=True, dir_okay=is_folder, file_okay=not is_folder)
        self.name = "folder" if is_folder else "file"
        self.read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the content."""
        return self.read(Path(str(super().convert(value, param, ctx))))


def _read_prior(file: Path) -> Any:
    from genie_dp.private_prior import load_prior

    return load_prior(file)


def _read_weights(file: Path) -> Any:
    from genie_dp.synthesis.config import read_weights

    return read_weights(file)


def _read_spent(file: Path) -> Any:
    from genie_dp.dataset.folder import AboutRows

    return AboutRows(spent=file).guarantee()


def _predictor_at_need(folder: Path) -> Any:
    """Return a loader of a trained parser, called when the stage needs it."""
    from genie_dp.parser.parser import BestProgram

    return partial(BestProgram.from_folder, folder)


def _parser_folder(folder: Path) -> Any:
    """Return a parser folder that is loaded when the stage needs it."""
    from genie_dp.parser.parser import BestProgram
    from genie_dp.private.generators.rows import ParserFolder

    return ParserFolder(folder, BestProgram.from_folder)


_TYPES: Mapping[str, click.ParamType[Any]] = {
    "file": FILE,
    "file or -": click.Path(exists=True, dir_okay=False, path_type=Path, allow_dash=True),
    "path": click.Path(exists=True, path_type=Path),
    "folder": FOLDER,
    "folder of settings": FOLDER,
    "new folder": NEW_FOLDER,
    "new file": click.Path(dir_okay=False, path_type=Path),
    "skills": SKILLS,
    "text": click.STRING,
    "parser": _ReadPath(_parser_folder, is_folder=True),
    "file of settings": FILE,
    "predictor": _ReadPath(_predictor_at_need, is_folder=True),
    "prior": _ReadPath(_read_prior),
    "spent": _ReadPath(_read_spent),
    "weights": _ReadPath(_read_weights),
}


@dataclass(frozen=True, slots=True)
class OptionGroup:
    """Several options that set one field.

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


def _take_ledger(stage: Any, options: Options) -> Options:
    from genie_dp.private.ledger.book import Ledger
    from genie_dp.private.ledger.guard import ledger_to_spend

    named = options.pop("ledger")
    path = ledger_to_spend(options["private"], named)
    return {"ledger": Ledger.open(path) if named or stage.needs_ledger(options) else None}


def _rows_with_ledger(command: Any) -> Any:
    return private_argument(ledger_option(command))


def _take_ledger_of_rows(stage: Any, options: Options) -> Options:
    """Open the ledger that is named, or that of the rows; these need not be there."""
    return {"ledger": open_ledger(options.pop("private"), options.pop("ledger"))}


def _take_library(stage: Any, options: Options) -> Options:
    """Read the library, unless the stage needs none with these options."""
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


def _take_inputs_at_need(stage: Any, options: Options) -> Options:
    from genie_dp.cli.inputs import load_inputs

    given = [options.pop(name) for name in ("language", "skills", "grammar")]
    return {"load_inputs": partial(load_inputs, *given, skip_broken=options.pop("skip_broken"))}


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
    """Build the listener, after refusing private input files."""
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


def _report_option(command: Any) -> Any:
    return click.option(
        "--report", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
        help="Write coverage, ambiguity and acceptance there, as JSON and HTML.",
    )(command)  # fmt: skip


def _take_report(stage: Any, options: Options) -> Options:
    """Add the augmented rows of the current project to a report."""
    report = options.pop("report")
    project = project_here() if report else None
    return {
        "report": report,
        "augmented": project.template_rows("augment") if project else None,
    }


def _take_library_at_need(stage: Any, options: Options) -> Options:
    from genie_dp.cli.inputs import load_library_of

    language, skills = options.pop("language"), options.pop("skills")
    skip_broken = options.pop("skip_broken")
    load = partial(load_library_of, language, skills, skip_broken=skip_broken)
    return {"load_library": load, "language": language}


def _templates_option(command: Any) -> Any:
    return click.option(
        "--grammar", multiple=True, type=GRAMMAR, metavar="FILE|DIR",
        help="Templates that the rows were made of: by them the parser checks where texts end; "
        "shipped for those that come with genie-dp. May be repeated.",
    )(command)  # fmt: skip


def _take_templates(stage: Any, options: Options) -> Options:
    from genie_dp.templates.cache import inputs_of

    grammar = options.pop("grammar")
    return {"load_templates": partial(inputs_of, grammar=grammar)} if grammar else {}


def _take_models(stage: Any, options: Options) -> Options:
    """Let an audit read the folders of parsers, too."""
    from genie_dp.parser.scorer import open_any

    return {"open_model": open_any}


def _take_parser_of_rows(stage: Any, options: Options) -> Options:
    return {"open_parser": _open_parser_of_rows}


def _open_parser_of_rows(folder: Path, language: str) -> Any:
    """Return the function that predicts programs for sentences of rows in a language.

    Raises:
        GenieError: J007, it writes another language.
    """
    from genie_dp.parser.parser import BestProgram

    parser = BestProgram.from_folder(folder)
    own_language = parser.parser.target.language.name
    if own_language != language:
        message = f"the parser of {folder} writes {own_language}, the rows are {language}"
        raise GenieError(Problem("J007", message, hint=f"add --language {own_language}"))
    return parser.predict


def _take_parser_at_need(stage: Any, options: Options) -> Options:
    from genie_dp.parser.parser import BestProgram

    return {"open_parser": BestProgram.from_folder}


# Lists of the package that the frames of a detector may name.
_LISTS = (
    "person_first_name", "person_last_name", "street", "city", "product", "song", "artist",
    "dish", "cuisine", "company",
)  # fmt: skip


def _take_lists(stage: Any, options: Options) -> Options:
    from genie_dp.augment.values import shipped_list

    return {"lists": {name: shipped_list(name).texts for name in _LISTS}}


GROUPS: Mapping[str, OptionGroup] = {
    "about": OptionGroup(card_options, _take_about),
    "inputs": OptionGroup(_files_options, _take_inputs),
    "inputs at need": OptionGroup(_files_options, _take_inputs_at_need),
    # The field has the name of the option.
    "grammar": OptionGroup(grammar_option, lambda stage, options: {}),
    "ledger": OptionGroup(ledger_option, _take_ledger),
    "ledger of rows": OptionGroup(_rows_with_ledger, _take_ledger_of_rows),
    "library": OptionGroup(library_options, _take_library),
    "library by language": OptionGroup(_library_by_language_options, _take_library_by_language),
    # The fields have the names of the options.
    "paths": OptionGroup(_files_options, lambda stage, options: {}),
    "listener": OptionGroup(_listener_options, _take_listener),
    "library at need": OptionGroup(library_options, _take_library_at_need),
    "templates at need": OptionGroup(_templates_option, _take_templates),
    "parser at need": OptionGroup(lambda command: command, _take_parser_at_need),
    "parser of rows": OptionGroup(lambda command: command, _take_parser_of_rows),
    "models": OptionGroup(lambda command: command, _take_models),
    "lists": OptionGroup(lambda command: command, _take_lists),
    "report of rows": OptionGroup(_report_option, _take_report),
}


def command_of(stage: type[Stage]) -> click.Command:
    """Return the command of a stage."""
    settings, hints = settings_of(stage), get_type_hints(stage)
    declared = [field for field in fields(stage) if field.name in settings]
    groups = {field.name: _group_of(settings[field.name], field.name, hints) for field in declared}

    def run(**options: Any) -> int:
        output = _take_output(stage.output, options)
        given: Options = {}
        if read := [options[name] for name in settings if settings[name].value == "rows"]:
            private = note_private(name for one in read for name in _names_in(one))
            given |= {"private": private} if "private" in hints else {}
        try:
            for group in filter(None, groups.values()):
                given |= group.take(stage, options)
            given |= {name: value for name, value in options.items() if value not in (None, ())}
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
    for field in reversed(declared):
        group, setting = groups[field.name], settings[field.name]
        add = group.add if group else _parameter(field, hints[field.name], setting)
        command = add(command)
    if any(setting.of_project for setting in settings.values()):
        command = of_project(stage.without_project)(command)
    name = stage.command.rpartition(" ")[2]
    return click.command(name, help=stage.help())(command)


def _names_in(value: str | tuple[str, ...]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value


def _parameter(field: "Field[Any]", hint: Any, setting: Setting) -> Callable[[Any], Any]:
    """Return a decorator that adds the argument or option of one field."""
    if setting.value == "locale":
        return locale_option
    if not setting.is_argument:
        return option_of_setting(field, hint, setting, _type_of(setting))
    is_many = get_origin(hint) is tuple
    return click.argument(
        field.name, nargs=-1 if is_many else 1, metavar=setting.metavar or None,
        type=_type_of(setting), required=is_required(field),
    )  # fmt: skip


def _group_of(setting: Setting, name: str, hints: Mapping[str, Any]) -> OptionGroup | None:
    """Return the options that set a field together; None if a single option sets it."""
    if setting.value == "settings":
        return _settings_group(name, hints[name])
    if setting.value == "recipe":
        return _recipe_group(name, hints[name], setting.help)
    if setting.value == "parser settings":
        return _parser_settings()
    return GROUPS.get(setting.value)


def _settings_group(name: str, kind: type, without: Collection[str] = ()) -> OptionGroup:
    """Return the options of the settings of a config, which is a field of a stage."""
    hints = get_type_hints(kind)
    declared = {
        name: one
        for name, one in settings_of(kind).items()
        if one.option is not None and name not in without
    }

    def add(command: Any) -> Any:
        for field in reversed([field for field in fields(kind) if field.name in declared]):
            command = _parameter(field, hints[field.name], declared[field.name])(command)
        return command

    def take(stage: Any, options: Options) -> Options:
        return {name: kind(**_given(options, declared))}

    return OptionGroup(add, take)


def _recipe_group(name: str, kind: Any, help: str) -> OptionGroup:
    """Return the options of the settings of a recipe, and the one that names its file."""
    plain = _settings_group(name, kind)
    recipe = click.option("--recipe", type=FILE, metavar="FILE", help=help)

    def take(stage: Any, options: Options) -> Options:
        given = _given(options, settings_of(kind).keys() & options.keys())
        return {name: kind.read(options.pop("recipe"), given)}

    return OptionGroup(lambda command: recipe(plain.add(command)), take)


def _given(options: Options, names: Iterable[str]) -> Options:
    """Remove options, and return those that are given."""
    values = {name: options.pop(name) for name in names}
    return {name: value for name, value in values.items() if value not in (None, ())}


# Settings of a parser that only recipes have.
_OF_RECIPES = (
    "held_out", "validation_rows", "validations", "language_model_epochs", "prepare", "beam",
    "readings", "threshold",
)  # fmt: skip
# Settings of a parser that options turn off: option, name, help.
_ABLATIONS = (
    ("--no-types", "types", "Ablation: parameters without types."),
    ("--positional", "keywords",
     "Ablation: inputs by position; decoding is then unconstrained."),
    ("--no-canonical", "canonical", "Ablation: inputs and conditions in any order."),
)  # fmt: skip


def _parser_settings() -> OptionGroup:
    """Return the options of the settings of a parser, which stand in a recipe as well."""
    from genie_dp.parser.config import ParserConfig

    ablations = [name for _, name, _ in _ABLATIONS]
    plain = _settings_group("", ParserConfig, (*_OF_RECIPES, *ablations))
    names = set(settings_of(ParserConfig)) - set(_OF_RECIPES) | {"locale", "prior"}

    def add(command: Any) -> Any:
        command = locale_option(prior_option("Weigh rows")(command))
        for option, name, text in reversed(_ABLATIONS):
            command = click.option(
                option, name, is_flag=True, flag_value=False, default=None, help=text
            )(command)
        return plain.add(command)

    def take(stage: Any, options: Options) -> Options:
        given = _given(options, names)
        return {"given": given | ({"prior": str(given["prior"])} if "prior" in given else {})}

    return OptionGroup(add, take)


def _accept(folder: Path) -> None:
    """Let the project here take a folder as it is now, or its next run would make it anew."""
    from genie_dp.project_file import find_project

    if (file := find_project(Path.cwd())) is not None:
        from genie_dp.project import Project

        Project(file).accept(folder)


def _with_output(output: OutputOption, command: Any) -> Any:
    """Add the options for the place and the format of a stage's output."""
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
        """Return the value of the text."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except GenieError as error:
            (problem,) = error.problems
            hint = f" ({problem.hint})" if problem.hint else ""
            self.fail(f"{problem.message}{hint}", param, ctx)
