"""`genie-dp private train`: generators of rows like private ones, by kind, or confidentially."""

from collections.abc import Mapping

import click

from genie_dp.cli import LazyGroup

_KINDS = "genie_dp.cli.private.train:command"
# name -> (where the command is, its line of help), as in genie_dp.cli.COMMANDS.
TRAININGS: Mapping[str, tuple[str, str]] = {
    "one-stage": (_KINDS, "Learn utterances, with noise."),
    "control": (_KINDS, "Learn utterances by what they ask for, with noise."),
    "two-stage": (_KINDS, "Learn programs, and utterances by their programs, with noise."),
    "crt": (
        "genie_dp.cli.private.crt:command",
        "Train on redacted rows, with noise on the private part alone.",
    ),
}


class _Trainings(LazyGroup):
    """The trainings of this folder; those by kind are one command, which is told its kind."""

    @property
    def table(self) -> Mapping[str, tuple[str, str]]:
        """Return the trainings in their order."""
        return TRAININGS

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a training; that of a kind has the kind as its first argument already."""
        found = super().get_command(ctx, cmd_name)
        if found is None or TRAININGS[cmd_name][0] != _KINDS:
            return found
        return _OfKind(cmd_name, found)


class _OfKind(click.Command):
    """The command of all kinds, with one of them given."""

    def __init__(self, kind: str, every: click.Command):
        """Take over all parameters but the kind."""
        super().__init__(
            kind,
            params=[one for one in every.params if one.name != "kind"],
            callback=every.callback,
            help=every.help,
        )

    def invoke(self, ctx: click.Context) -> object:
        """Call it with its kind."""
        ctx.params["kind"] = self.name
        return super().invoke(ctx)


@click.group("train", cls=_Trainings)
def group() -> None:
    """Train a generator of rows that are like private ones."""
