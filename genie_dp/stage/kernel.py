"""A stage is one class: its fields are settings and inputs, `run` does its work.

A command (`cli.stage`), a function of the public API and its help are made of the class. A field
says its help, range and default once, with `recipe.setting`.
"""

import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from genie_dp.errors import GenieError, Problem
from genie_dp.recipe import (
    check_kinds,
    check_names,
    check_settings,
    frozen_settings,
    settings_of,
)
from genie_dp.run.stage import Output, Result


@dataclass(frozen=True, slots=True)
class OutputOption:
    """How a command is told where it writes.

    Attributes:
        help: a sentence for people.
        option: name of the option; "" where the command takes it by its place, None where there
            is none: the stage changes what it is given, or writes to standard output alone.
        default: "-" for standard output; None where it must be given.
        metavar: what stands for it in the help.
        is_required: whether the stage always writes.
        formats: what it can be written in, and the option for that.
        default_format: the one that is meant without the option, where help says so.
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


PAID_RESUME = "Go on with an interrupted run: what it did costs once."
PAID_OVERWRITE = "Replace the output, and forget an interrupted run: what it cost stays spent."


class Unfit(GenieError):
    """Settings that do not go together: wrong usage of a command."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A stage: a frozen dataclass whose fields are its settings and inputs.

    Class attributes:
        command: name of the command, such as "private prior".
        output: how it is told where to write.
        changes: name of the field whose folder it changes in place; "" for none.
    """

    command: ClassVar[str]
    output: ClassVar[OutputOption] = OutputOption(option=None)
    changes: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Refuse settings out of their range, and those that do not go together.

        Raises:
            GenieError: R040, all of them; those of texts that are none of what they stand for.
        """
        for name, allowed in settings_of(type(self)).items():
            if allowed.parse is not None:
                read = (allowed.parse(x) if isinstance(x, str) else x for x in getattr(self, name))
                object.__setattr__(self, name, tuple(read))
        check_settings(self)
        if message := self.unfit():
            raise Unfit(Problem("R040", message))

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> Self:
        """Return the stage with settings of a Python caller, whose names and kinds are checked.

        Raises:
            GenieError: R043, it has no such setting; R040, a value of another kind or range.
        """
        check_names(cls, settings)
        given, told = frozen_settings(cls, settings), settings_of(cls)
        check_kinds(cls, {n: x for n, x in given.items() if n in told and not told[n].is_input})
        for name, allowed in told.items():
            if allowed.value in ("file", "folder") and isinstance(given.get(name), str):
                given[name] = Path(given[name])
        return cls(**given)

    def unfit(self, target: str | None = None) -> str | None:
        """Return what of the settings does not go together: a command takes it for wrong usage.

        Args:
            target: where a command writes; "" for nowhere, None before that is known.
        """
        return None

    @classmethod
    def without_project(cls, options: Mapping[str, Any]) -> Iterable[str]:
        """Return the options of a command that the project here gives no value in this case."""
        return ()

    def run(self, output: Output, *, progress: bool | None = None) -> Result:
        """Do the work, and return what was made and where.

        Args:
            output: where it goes.
            progress: whether to show progress; None for on a terminal.
        """
        raise NotImplementedError

    def status(self, result: Any) -> int:
        """Return the exit code of a command that has made this result."""
        return 0

    @property
    def settings(self) -> dict[str, Any]:
        """Return the settings by name, without inputs: what a manifest says of the stage."""
        plain = settings_of(type(self)).items()
        return {name: getattr(self, name) for name, allowed in plain if not allowed.is_input}

    @classmethod
    def help(cls) -> str:
        """Return the help of the command: the docstring without its sections for Python."""
        return re.split(r"\n(?=[A-Z]\w+( \w+)*:\n)", inspect.cleandoc(cls.__doc__ or ""))[0]
