"""The command line: one group whose commands are imported only when they run."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from importlib import import_module
from types import MappingProxyType
from typing import Any, TypeVar

import click

from genie_dp import __version__
from genie_dp.cli.commands import COMMANDS, DATA, GRAMMAR, MOVED, PARAPHRASE, CommandEntry
from genie_dp.errors import GenieError, Problem, did_you_mean

Part = TypeVar("Part", click.Command, click.Parameter)

# Libraries of the extra `train`, which commands import when they run.
_TRAINING = ("torch", "transformers", "safetensors")


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called.

    Attributes:
        table: the commands, in the order of the help.
        moved: old names of commands, and where they are now: "data split".
    """

    def __init__(
        self,
        *arguments: Any,
        table: Mapping[str, CommandEntry],
        moved: Mapping[str, str] = MappingProxyType({}),
        **facts: Any,
    ) -> None:
        super().__init__(*arguments, **facts)
        self.table, self.moved = table, moved

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing its module; None if there is no command of that name."""
        if cmd_name in self.moved:
            return self._command_moved_from(cmd_name)
        if (entry := self.table.get(cmd_name)) is None:
            return None
        return with_brief_help(load_command(entry.place), entry.shown.split())

    def _command_moved_from(self, old: str) -> click.Command | None:
        *groups, name = self.moved[old].split()
        found: click.Command | None = self
        for word in (*groups, name):
            assert isinstance(found, click.Group)
            found = found.get_command(click.Context(found), word)
        note = f"use {self.moved[old]!r}."
        return found and _copy_of(found, deprecated=note)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, then the groups of others, importing none of them."""
        groups = [name for name, entry in self.table.items() if entry.is_group]
        for title, is_group in (("Commands", False), ("More commands", True)):
            rows = [(x, self.table[x].help) for x in self.table if (x in groups) == is_group]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name; an unknown one is answered by the nearest."""
        names = [*self.table, *self.moved]
        if args[0] not in names and not args[0].startswith("-"):
            hint = did_you_mean(args[0], names)
            ctx.fail(f"no such command {args[0]!r}" + (f": {hint}" if hint else ""))
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not isinstance(command, click.Group):
            own = click.Context(command, parent=ctx, info_name=name)
            rest = _with_set_options(command, own, rest)
        return name, command, rest


def load_command(place: str) -> click.Command:
    """Return the command at "module:attribute", which is a command or a stage."""
    module, _, attribute = place.partition(":")
    command = getattr(import_module(module), attribute)
    if isinstance(command, type):
        from genie_dp.cli.stage import command_of

        return command_of(command)
    if not isinstance(command, click.Command):
        raise TypeError(f"{place} is no click command")
    return command


def with_brief_help(command: click.Command, shown: Sequence[str]) -> click.Command:
    """Return a command whose --help shows some of its options, and --help-all the others.

    Required options are always shown; if `shown` is empty, all are. `--set name=value` gives any
    option (`_with_set_options`).
    """
    if isinstance(command, click.Group):
        return command
    params = [_copy_of(param, hidden=_is_beside(param, shown)) for param in command.params]
    count = sum(getattr(param, "hidden", False) for param in params)
    params += [
        click.Option(
            ["--set"], multiple=True, expose_value=False, hidden=True, metavar="NAME=VALUE",
            help="Give any option by its name.",
        ),
        click.Option(
            ["--help-all"], is_flag=True, is_eager=True, expose_value=False, hidden=True,
            callback=_show_all, help="Show all options.",
        ),
    ]  # fmt: skip
    epilog = f"{count} more option{'s' if count > 1 else ''}: --help-all" if count else None
    return _copy_of(command, params=params, epilog=epilog)


def with_full_help(command: click.Command) -> click.Command:
    """Return a command whose --help shows all of its options."""
    params = [_copy_of(param, hidden=False) for param in command.params]
    return _copy_of(command, params=params, epilog=None)


def _is_beside(param: click.Parameter, shown: Sequence[str]) -> bool:
    """Return whether a parameter is an option that only --help-all shows."""
    names = {name.lstrip("-") for name in (*param.opts, *param.secondary_opts)}
    is_optional = isinstance(param, click.Option) and not param.required
    return is_optional and bool(shown) and names.isdisjoint(shown)


def _copy_of(part: Part, **changes: Any) -> Part:
    copied = copy(part)
    for name, value in changes.items():
        setattr(copied, name, value)
    return copied


def _with_set_options(command: click.Command, ctx: click.Context, args: list[str]) -> list[str]:
    """Return the arguments of a command, where each `--set name=value` is the option --name."""
    options = {
        name.removeprefix("--"): option
        for option in command.params
        if isinstance(option, click.Option)
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("--")
    }
    written: list[str] = []
    words = iter(args)
    for word in words:
        if word == "--":
            return [*written, word, *words]
        if word != "--set" and not word.startswith("--set="):
            written.append(word)
            continue
        pair = next(words, "") if word == "--set" else word.removeprefix("--set=")
        name, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--set takes name=value, not {pair!r}", ctx)
        if (option := options.get(name)) is None:
            hint = did_you_mean(name, options)
            message = f"--set: no option is named {name!r}" + (f": {hint}" if hint else "")
            raise click.UsageError(message, ctx)
        if not option.is_flag:
            written.append(f"--{name}={value}")
        elif value == "true":
            written.append(f"--{name}")
        elif value != "false":
            raise click.UsageError(f"--set {name}: expected true or false, got {value!r}", ctx)
    return written


def _show_all(ctx: click.Context, _: click.Parameter, is_asked: bool) -> None:
    if is_asked and not ctx.resilient_parsing:
        click.echo(with_full_help(ctx.command).get_help(ctx))
        ctx.exit()


@click.group(
    cls=LazyGroup,
    table=COMMANDS,
    moved=MOVED,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="genie-dp")
def group() -> None:
    """Semantic parsers for virtual assistants, from skills, templates and private logs."""


@click.group("data", cls=LazyGroup, table=DATA)
def data() -> None:
    """Make training rows of sentences, change them, and look at them."""


@click.group("paraphrase", cls=LazyGroup, table=PARAPHRASE)
def paraphrase() -> None:
    """Choose sentences, have them paraphrased, and check the paraphrases."""


@click.group("grammar", cls=LazyGroup, table=GRAMMAR)
def grammar() -> None:
    """Work on skills, templates and programs."""


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code.

    0: done; 1: a mistake that the user can mend, or the reader of the output went away; 2: wrong
    usage; 3: an audit was inconclusive; 130: interrupted. Anything else is a bug and keeps its
    traceback.
    """
    sys.exit(run(args))


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code (see `main`)."""
    # Before numpy is imported. Parsers multiply small matrices, and threads that wait for each
    # other take six times the CPU time of one (1,016 sentences, 2 busy cores, November 2026).
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # A command soon ends: reading the shipped library and drawing 1,000 rows of it spent a quarter
    # of the time on looking for garbage (November 2026).
    gc.set_threshold(200_000, 50, 50)
    try:
        result = group.main(args, prog_name="genie-dp", standalone_mode=False)
        sys.stdout.flush()
    except GenieError as error:
        click.echo(str(error), err=True)
        return 1
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as abort:
        for note in getattr(abort.__cause__, "__notes__", ()):
            click.echo(note, err=True)
        click.echo("interrupted", err=True)
        return 130
    except BrokenPipeError:
        _drop_stdout()
        return 1
    except ModuleNotFoundError as error:
        return _library_missing(error)
    except OSError as error:
        return _file_trouble(error)
    return result if isinstance(result, int) else 0


def _drop_stdout() -> None:
    # What is still buffered would raise again when the interpreter closes stdout.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _file_trouble(error: OSError) -> int:
    from genie_dp.run.files import DISK_TROUBLE

    if error.filename is None and error.errno not in DISK_TROUBLE:
        raise error
    if error.filename is None:
        _drop_stdout()
    message = f"{error.filename or 'cannot write'}: {error.strerror or error}"
    click.echo(str(GenieError(Problem("R001", message))), err=True)
    return 1


def _library_missing(error: ModuleNotFoundError) -> int:
    if error.name not in _TRAINING:
        raise error
    hint = "pip install 'genie_dp[train]'"
    problem = Problem("R005", f"this needs {error.name}, which is not installed", hint=hint)
    click.echo(str(GenieError(problem)), err=True)
    return 1
