"""The command line: one group whose commands are imported only when they run."""

import gc
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module

import click

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem, did_you_mean

# name -> (where the command is, its line in `genie-dp --help`). The line stands here so that help
# imports no command; tests/cli/test_cli.py compares it with the command's own.
COMMANDS: Mapping[str, tuple[str, str]] = {
    "new": ("genie_dp.cli.new:command", "Write the skeleton of a project, a skill or a grammar."),
    "import": (
        "genie_dp.cli.import_:command",
        "Make a project of tools or intents that are described elsewhere.",
    ),
    "run": ("genie_dp.cli.project:command", "Make the stages of a project: only what changed."),
    "check": ("genie_dp.cli.check:command", "Find the mistakes in skills and template files."),
    "format": (
        "genie_dp.templates.format:Format",
        "Lay out template files, and write them shorter.",
    ),
    "synthesize": (
        "genie_dp.cli.synthesize:command",
        "Make (utterance, program) pairs from a skill library and template files.",
    ),
    "explain": (
        "genie_dp.cli.explain:command",
        "Show how the templates derive a sentence, or what is missing.",
    ),
    "coverage": (
        "genie_dp.cli.coverage:command",
        "Tell which sentences the templates derive, and what the others lack.",
    ),
    "describe": (
        "genie_dp.synthesis.describe_stage:Describe",
        "Say in English what a program does, by the templates of synthesis.",
    ),
    "merge": ("genie_dp.synthesis.merge:Merge", "Join the shards of one synthesis run."),
    "paraphrase": (
        "genie_dp.cli.paraphrase:group",
        "Choose sentences, have them paraphrased, and check what comes back.",
    ),
    "augment": (
        "genie_dp.cli.augment:command",
        "Make many rows of each row: values for placeholders, other words, noise.",
    ),
    "split": (
        "genie_dp.dataset.split:Split",
        "Split rows into parts for training and evaluation.",
    ),
    "stats": ("genie_dp.dataset.stats:Stats", "Count what a data set is made of."),
    "diff": ("genie_dp.dataset.diff:Diff", "Say what is different between two data sets."),
    "convert": ("genie_dp.dataset.convert:Convert", "Convert rows from one format to another."),
    "train": (
        "genie_dp.cli.train:command",
        "Train a parser on rows of synthesize, paraphrase, augment and people.",
    ),
    "calibrate": (
        "genie_dp.parser.calibrate:Calibrate",
        "Fit the confidence of a finished parser to real sentences.",
    ),
    "parse": (
        "genie_dp.cli.parse:command",
        "Show the programs of sentences, with their meaning in English.",
    ),
    "evaluate": (
        "genie_dp.cli.evaluate:command",
        "Measure predicted programs against the right ones.",
    ),
    "private": (
        "genie_dp.cli.private:group",
        "Learn from private rows with differential privacy, within a budget.",
    ),
    "serve": (
        "genie_dp.cli.serve:command",
        "Answer sentences with programs: over HTTP, and on a page to try it.",
    ),
    "editor": (
        "genie_dp.cli.editor:command",
        "Answer an editor: mistakes, completion, hover, definitions, renaming, layout.",
    ),
    "program": (
        "genie_dp.cli.program:command",
        "Check programs, and bring them into another form.",
    ),
}

# Libraries of the extra `train`, which commands import when they run.
_TRAINING = ("torch", "transformers", "safetensors")


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports one when it is called."""

    @property
    def table(self) -> Mapping[str, tuple[str, str]]:
        """Return the commands; a group inside of the command line has its own table."""
        return COMMANDS

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, in the order of the stages."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, importing its module; None if there is no command of that name."""
        if cmd_name not in self.table:
            return None
        return load_command(self.table[cmd_name][0])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, importing none of them."""
        rows = [(name, line) for name, (_, line) in self.table.items()]
        if rows:
            with formatter.section("Commands"):
                formatter.write_dl(rows)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the words name; an unknown one is answered by the nearest."""
        if args[0] not in self.table and not args[0].startswith("-"):
            hint = did_you_mean(args[0], self.table)
            ctx.fail(f"no such command {args[0]!r}" + (f": {hint}" if hint else ""))
        return super().resolve_command(ctx, args)


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


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="genie-dp")
def group() -> None:
    """Semantic parsers for virtual assistants, from skills, templates and private logs."""


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
