"""A stage is one class: its fields are settings and inputs, and `run` does the work.

The command (`cli.stage`), the Python function and the help of both are derived from the class. Each
field declares its help, range and default once, with `recipe.setting`.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import (
    check_kinds,
    check_names,
    check_settings,
    frozen_settings,
    is_required,
    setting,
    settings_of,
)
from genie_dp.run.stage import Output, Result


@dataclass(frozen=True, slots=True)
class OutputOption:
    """The output option of a command, and the options that go with it.

    Attributes:
        help: a sentence for people.
        option: name of the option; "" where the command takes it by its place, None where there
            is none: the stage changes its input, or writes to standard output alone.
        default: "-" for standard output; None where it must be given.
        metavar: the placeholder for it in the help.
        is_required: whether a command needs it.
        formats: the formats that it can have, and the option for them.
        default_format: the format without the option, as its help states.
        resume, overwrite: help of these options; "" where there are none.
    """

    help: str = ""
    option: str | None = "output"
    default: str | None = None
    metavar: str = "FILE"
    is_required: bool = True
    formats: tuple[str, ...] = ()
    default_format: str | None = None
    format_option: str = "format"
    format_help: str = ""
    resume: str = ""
    overwrite: str = ""


RESUME = "Go on with an interrupted run."
OVERWRITE = "Replace the output, and start an interrupted run again."
RESUMABLE_ROWS = OutputOption(
    "Where the rows go; .gz, .bz2 and .xz compress.",
    default="-",
    metavar="FILE|URL|-",
    formats=("jsonl", "tsv", "parquet"),
    format_help="Format of the rows [by the output's name].",
    resume=RESUME,
    overwrite=OVERWRITE,
)
PAID_RESUME = "Go on with an interrupted run: what it did costs once."
PAID_OVERWRITE = "Replace the output, and forget an interrupted run: what it cost stays spent."


def jobs_setting() -> Any:
    """Return the field of how many processes work."""
    return setting(1, "Processes; the bytes do not depend on it.", least=1)


def prior_setting(what: str) -> Any:
    """Return the field of a private prior; its help begins with the effect on rows."""
    text = f"{what} by what people ask for: a file of `genie-dp private prior`."
    return setting(None, text, value="prior")


class SettingsConflict(GenieError):
    """Settings that exclude or need each other; a command reports it as wrong usage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Base class of stages: a frozen dataclass whose fields are settings and inputs.

    Class attributes:
        command: name of the command, such as "private prior".
        output: its output option.
        changes: name of the field whose folder it changes in place; "" for none.
        work: module and function of the work, which takes the stage, the output and `progress`. It
            is imported when the stage runs, so that help does not wait for it. "" where `run` is
            defined here.
        conflict_code: code of the error of a `conflict`.
    """

    command: ClassVar[str]
    output: ClassVar[OutputOption] = OutputOption(option=None)
    changes: ClassVar[str] = ""
    work: ClassVar[str] = ""
    conflict_code: ClassVar[str] = "R040"

    def __post_init__(self) -> None:
        """Check the settings.

        Raises:
            GenieError: R040, for all that are out of range; those of `Setting.parse`.
            SettingsConflict: `conflict_code`, settings exclude or need each other.
        """
        for name, allowed in settings_of(type(self)).items():
            value = getattr(self, name)
            if allowed.parse is not None and isinstance(value, str):
                object.__setattr__(self, name, allowed.parse(value))
            elif allowed.parse is not None and type(value) is tuple:
                read = (allowed.parse(x) if isinstance(x, str) else x for x in value)
                object.__setattr__(self, name, tuple(read))
        check_settings(self)
        if message := self.conflict():
            raise SettingsConflict(Problem(self.conflict_code, message))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Return the stage with the settings of a Python caller.

        Raises:
            GenieError: R043, there is no such setting; R040, a setting is missing, or has a value
                of the wrong type or out of range.
        """
        check_names(cls, settings)
        declared = settings_of(cls)
        required = {field.name for field in fields(cls) if is_required(field)}
        if missing := sorted(required - settings.keys()):
            message = f"{cls.command} needs {', '.join(missing)}"
            raise GenieError(Problem("R040", message, hint=declared[missing[0]].help))
        given = frozen_settings(cls, settings)
        plain = {name for name, allowed in declared.items() if not allowed.is_input}
        check_kinds(cls, {name: value for name, value in given.items() if name in plain})
        for name, allowed in declared.items():
            if allowed.value in ("file", "folder", "new folder") and isinstance(
                given.get(name), str
            ):
                given[name] = Path(given[name])
        return cls(**given)

    def conflict(self, target: str | None = None) -> str | None:
        """Return which settings exclude or need each other; None if there are none.

        Args:
            target: the output of a command; "" for none, None if it is not known yet.
        """
        return None

    @classmethod
    def without_project(cls, options: Mapping[str, Any]) -> Iterable[str]:
        """Return the options of a command that the project here gives no value in this case."""
        return ()

    def run(self, output: Output, *, progress: bool | None = None) -> Result:
        """Do the work; return the result, with its place.

        Args:
            output: where it goes.
            progress: whether to show progress; None for on a terminal.
        """
        module, _, name = self.work.partition(":")
        result: Result = getattr(import_module(module), name)(self, output, progress=progress)
        return result

    def exit_code_for(self, result: Any) -> int:
        """Return the exit code of the command for this result."""
        return 0

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings by name, without inputs, for a manifest."""
        plain = settings_of(type(self)).items()
        return {name: getattr(self, name) for name, allowed in plain if not allowed.is_input}

    @classmethod
    def help(cls) -> str:
        """Return the help text of the command."""
        return help_of(cls)


def help_of(stage: type[Stage]) -> str:
    """Return the docstring of a stage up to its first section."""
    return re.split(r"\n(?=[A-Z]\w+( \w+)*:\n)", inspect.cleandoc(stage.__doc__ or ""))[0]
