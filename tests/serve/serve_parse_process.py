"""A real `genie-dp serve` with an invented parser, in a process of its own."""

import time
from functools import partial
from pathlib import Path

import click

from genie_dp.cli.output import show
from genie_dp.cli.serve import command
from genie_dp.recipe import settings_of
from genie_dp.serve.parse_english import ProgramDescriber
from genie_dp.serve.parse_server import ParseServerConfig, serve_parser
from tests.serve.serve_parsers import EchoParser, FailingParser, ToolParser
from tests.server_process import ServerProcess

EXAMPLE = "list my Dropbox files"
ROOT = Path(__file__).parents[2]
MAIN = "import sys; from tests.serve.serve_parse_process import main; main(*sys.argv[1:])"


class FileGatedParser(EchoParser):
    """Says by a file that it began, and goes on when another file is there."""

    def __init__(self, folder):
        super().__init__()
        self.folder = Path(folder)

    def parse(self, sentences, *, count=1, context=None, names=None):
        (self.folder / "begun").touch()
        wait_for(self.folder / "go")
        return super().parse(sentences, count=count, context=context, names=names)


def wait_for(path):
    for _ in range(2000):
        if path.exists():
            return
        time.sleep(0.01)
    raise AssertionError(f"{path} never came")


def options_of(arguments):
    return command.make_context("serve", list(arguments)).params


def config_of(options):
    settings = {name: options[name] for name in settings_of(ParseServerConfig)}
    return ParseServerConfig(**{n: v for n, v in settings.items() if v not in (None, ())})


def main(kind, *arguments):
    parser = {
        "echo": EchoParser,
        "failing": FailingParser,
        "tool": ToolParser,
        "gated": lambda: FileGatedParser(arguments[0]),
    }[kind]()
    english = ProgramDescriber(lambda code: f"in English: {code}")
    tell = partial(click.echo, err=True)
    options = options_of(arguments)
    result = serve_parser(
        lambda: (parser, english),
        "tiny",
        config_of(options),
        tell=tell,
        api=options["api"],
        is_stdio=options["stdio"],
    )
    show(result)


class ParseServer(ServerProcess):
    """Serves an invented parser."""

    def __init__(self, folder, *options, parser="echo", port=0):
        super().__init__(MAIN, parser, folder, "--port", port, "--example", EXAMPLE, *options)
