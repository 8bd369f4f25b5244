"""The reference of the commands, made from their help texts."""

from collections.abc import Iterator

import click

from genie_dp.cli import group, with_full_help


def command_reference() -> str:
    """Return Markdown with a section for each command: its help text and all of its options."""
    return "\n\n".join(sections_of(group, "genie-dp"))


def sections_of(command: click.Command, name: str) -> Iterator[str]:
    """Yield the section of a command, then those of the commands below it."""
    context = click.Context(command, info_name=name, max_content_width=100, terminal_width=100)
    shown = command if isinstance(command, click.Group) else with_full_help(command)
    yield f"## {name}\n\n```text\n{shown.get_help(context)}\n```"
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from sections_of(found, f"{name} {below}")
