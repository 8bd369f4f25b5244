"""Options: those that many commands share, and those that the settings of a config give."""

import dataclasses
import functools
import math
import shlex
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from genie_dp.errors import GenieError
from genie_dp.languages import language_names
from genie_dp.locale import DEFAULT, languages
from genie_dp.recipe import Setting, is_required, settings_of
from genie_dp.records import DEFAULT_LANGUAGE
from genie_dp.resources import shipped_path

if TYPE_CHECKING:
    from genie_dp.project import Project

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Any], Any]


# ------------------------------------------------------------------------------- kinds of values


class Finite(click.FloatRange):
    """A finite number in a range; click's own takes nan, which is in every range, and inf."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Finite(0, min_open=True)


class ShippedPath(click.Path):
    """A file or folder that is there; "shipped" is a folder of our data, "shipped/.." in it."""

    def __init__(self, *folders: str) -> None:
        super().__init__(exists=True, path_type=Path)
        self.folders = folders

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        """Return the path."""
        found = shipped_path(value, *self.folders) or value
        return Path(str(super().convert(found, param, ctx)))


FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
NEW_FOLDER = click.Path(file_okay=False, path_type=Path)
FOLDER.name = NEW_FOLDER.name = "folder"  # as help shows them
SKILLS = ShippedPath("thingpedia")
GRAMMAR = ShippedPath("grammars", "en")


# --------------------------------------------------------------------------- settings of configs


def settings_options(kind: type) -> Decorator:
    """Return a decorator with an option for each setting of a config; its help and range.

    The command gets those that were given as `settings`, a mapping to make the config of.
    """
    fields = {f.name: f for f in dataclasses.fields(kind)}
    hints = typing.get_type_hints(kind)
    chosen = {name: one for name, one in settings_of(kind).items() if one.option is not None}

    def add(command: Command) -> Command:
        @functools.wraps(command)
        def with_settings(**options: Any) -> Any:
            values = {name: options.pop(name) for name in chosen}
            given_values = {name: v for name, v in values.items() if v not in (None, ())}
            return command(settings=given_values, **options)

        result: Any = with_settings
        for name, setting in reversed(chosen.items()):
            result = option_of_setting(fields[name], hints[name], setting)(result)
        return typing.cast("Command", result)

    return add


def option_of_setting(
    field: "dataclasses.Field[Any]",
    hint: Any,
    setting: Setting,
    kind: click.ParamType[Any] | None = None,
) -> Decorator:
    """Return the option of one setting; its value is None, or (), where it is not given.

    Args:
        field: of the config or stage.
        hint: the type of the field.
        setting: its help and range.
        kind: of the values, where the type does not define it.
    """
    name, default = field.name, field.default
    option_name = setting.option or name.replace("_", "-")
    inner = [choice for choice in typing.get_args(hint) if choice is not type(None)]
    is_many = typing.get_origin(hint) is tuple
    value_type = inner[0] if inner and typing.get_origin(hint) is not dict else hint
    # A default that is nothing needs no word.
    is_plain = isinstance(default, int | float | str) and default != ""
    is_told = is_plain and not isinstance(default, bool)
    default_text = f"  [default: {default}]" if is_told else ""
    attributes: dict[str, Any] = {"help": setting.help + default_text}
    if is_required(field):
        attributes["required"] = True
    if value_type is bool and setting.value == "flag":
        attributes |= {"is_flag": True, "flag_value": not default, "default": None}
        return click.option(f"--{option_name}", name, **attributes)
    if value_type is bool:
        flags = f"--{option_name}" if "/" in option_name else f"--{option_name}/--no-{option_name}"
        return click.option(flags, name, default=None, **attributes)
    attributes["type"] = kind or _type_of(value_type, setting)
    if is_many:
        attributes |= {"multiple": True, "help": f"{setting.help} May be repeated."}
    if setting.metavar:
        attributes["metavar"] = setting.metavar
    return click.option(f"--{option_name}", name, **attributes)


def _type_of(value_type: Any, setting: Setting) -> Any:
    if setting.choices:
        return click.Choice(setting.choices)
    if value_type is int:
        if setting.least is None and setting.most is None:
            return int
        whole = [None if x is None else int(x) for x in (setting.least, setting.most)]
        return click.IntRange(whole[0], whole[1])
    if value_type is float:
        lowest = setting.above if setting.above is not None else setting.least
        highest = setting.below if setting.below is not None else setting.most
        open_ends = {"min_open": setting.above is not None, "max_open": setting.below is not None}
        return Finite(lowest, highest, **open_ends)
    return str


# ------------------------------------------------------------------------------- skills, grammar


# Option -> its name to people, of what a project may give.
_OF_PROJECTS = {
    "skills": "--skills", "grammar": "--grammar", "folder": "--parser", "locale": "--locale",
    "gold": "GOLD", "sentences": "FILE",
}  # fmt: skip


def of_project(without: Callable[[Mapping[str, Any]], Iterable[str]] | None = None) -> Decorator:
    """Return a decorator that takes skills, grammar and parser from the genie.yaml above.

    It also takes the sentences to measure with. Options that are given win. A line on stderr names
    the values taken. However many options of a command ask for it, it is done once.

    Args:
        without: returns, from all options, those that the command does without.
    """

    def add(command: Any) -> Any:
        if hasattr(command, "takes_project"):
            return command

        @functools.wraps(command)
        def with_project(**options: Any) -> Any:
            left_out = frozenset(without(options) if without else ())
            return command(**options | _project_options(options, left_out))

        with_project.takes_project = True  # type: ignore[attr-defined]
        return with_project

    return add


def project_here() -> "Project | None":
    """Return the project whose skills and templates the command at work takes, with its stages.

    None where they are given, or where there is no project, or one with mistakes in its stages:
    `genie-dp run` reports these, and other commands work without.
    """
    from genie_dp.project_file import find_project

    given = map(click.get_current_context().get_parameter_source, ("skills", "grammar"))
    if ParameterSource.COMMANDLINE in given or not (file := find_project(Path.cwd())):
        return None
    from genie_dp.project import Project

    try:
        return Project(file)
    except GenieError:
        return None


def _project_options(options: Mapping[str, Any], without: Collection[str]) -> dict[str, Any]:
    from genie_dp.project_file import find_project, read_places

    wanted = [n for n in _OF_PROJECTS if n in options and not options[n] and n not in without]
    file = find_project(Path.cwd()) if wanted else None
    if file is None:
        return {}
    places = read_places(file)
    given = {
        "skills": places.skills, "grammar": places.grammar, "folder": places.parser,
        "locale": places.locale, "sentences": tuple(map(str, places.gold)),
        "gold": str(places.gold[0]) if len(places.gold) == 1 else None,
    }  # fmt: skip
    taken: dict[str, Any] = {name: given[name] for name in wanted if given[name]}
    words: list[str] = []
    for name, value in taken.items():
        for path in value if isinstance(value, tuple) else (value,):
            words += (_OF_PROJECTS[name], str(path))
    context = click.get_current_context()
    is_default = context.get_parameter_source("language") is ParameterSource.DEFAULT
    if "skills" in taken and is_default and places.language not in (None, options["language"]):
        taken["language"] = places.language
        words += ("--language", str(places.language))
    if taken:
        click.echo(f"note: {file} gives {shlex.join(words)}", err=True)
    return taken


def skills_option(
    help: str, *, without: Callable[[Mapping[str, Any]], Iterable[str]] | None = None
) -> Decorator:
    """Return a decorator that adds --skills; without it, those of the project (`of_project`).

    Args:
        help: begins the line of help.
        without: returns, from all options, those that are not to be those of a project.
    """
    option = click.option(
        "--skills", multiple=True, type=SKILLS, metavar="DIR",
        help=f"{help} [those of genie.yaml, else shipped]; for sexpr, a file of declarations; for "
        "calls, files of tools. May be repeated.",
    )  # fmt: skip

    def add(command: Any) -> Any:
        return option(of_project(without)(command))

    return add


def library_options(command: Command) -> Command:
    """Add --language, --skills and --skip-broken."""
    about = "Folder of a skill, or of skills; shipped for those that come with genie-dp"
    command = skills_option(about)(command)
    for option in (
        click.option(
            "--skip-broken", is_flag=True, help="Go on without the skills that cannot be read."
        ),
        click.option(
            "--language",
            type=click.Choice(language_names()),
            default=DEFAULT_LANGUAGE,
            show_default=True,
            help="Target language of the programs.",
        ),
    ):
        command = option(command)
    return command


def locale_option(command: Command) -> Command:
    """Add --locale; without it, that of the project."""
    option = click.option(
        "--locale",
        metavar="LANGUAGE|FILE",
        help=f"Language of the sentences: {', '.join(languages())}, or a file of words "
        f"[that of genie.yaml, else {DEFAULT}].",
    )
    decorated: Command = option(of_project()(command))
    return decorated


def grammar_option(command: Command) -> Command:
    """Add --grammar."""
    option = click.option(
        "--grammar",
        multiple=True,
        type=GRAMMAR,
        metavar="FILE|DIR",
        help="Template file, or a folder with main.genie; shipped for the English that comes with "
        "genie-dp [that of genie.yaml, else shipped]. May be repeated.",
    )
    decorated: Command = option(of_project()(command))
    return decorated


def card_options(command: Command) -> Command:
    """Add --title, --licence, --origin and --spent."""
    for option in (
        click.option(
            "--spent",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            metavar="FILE",
            help="JSON of the privacy guarantee; needed when rows are of source private.",
        ),
        click.option("--origin", default="", help="Where the rows are from, for the card."),
        click.option(
            "--licence", default="", metavar="NAME", help="Licence of the rows, such as cc-by-4.0."
        ),
        click.option("--title", default="", help="Title of the card [the folder's name]."),
    ):
        command = option(command)
    return command


# ------------------------------------------------------------------------------------------ runs


def jobs_option(command: Command) -> Command:
    """Add --jobs."""
    return click.option(
        "--jobs",
        type=click.IntRange(1),
        default=1,
        show_default=True,
        help="Processes; the bytes do not depend on it.",
    )(command)


def exclusive_flags(command: Command, once: str, again: str) -> Command:
    """Add --resume and --overwrite with these lines of help."""
    for name, opposite, text in (("overwrite", "resume", again), ("resume", "overwrite", once)):
        command = click.option(f"--{name}", is_flag=True, help=text, callback=_without(opposite))(
            command
        )
    return command


def _without(opposite: str) -> Callable[[click.Context, click.Parameter, bool], bool]:
    """Return a callback that refuses a flag beside another one; the later one finds the earlier."""

    def check_opposite(context: click.Context, _: click.Parameter, value: bool) -> bool:
        if value and context.params.get(opposite):
            raise click.UsageError("--resume and --overwrite exclude each other")
        return value

    return check_opposite


def prior_option(what: str) -> Decorator:
    """Add --prior, whose help begins with its effect on rows."""
    return click.option(
        "--prior",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        metavar="FILE",
        help=f"{what} by what people ask for: a file of `genie-dp private prior`.",
    )
