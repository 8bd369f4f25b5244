"""`genie-dp serve`: a parser on the web, for programs and for people."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import grammar_option, settings_options
from genie_dp.serve.parse_server import APIS, JSON_API, STDIO_APIS, ParseServerConfig


@click.command("serve")
@click.argument(
    "folder", required=False, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option(
    "--api", type=click.Choice(list(APIS)), default=JSON_API, show_default=True,
    help="Who asks: json is our own, with a page to try it; openai chat completions; mcp the Model "
    "Context Protocol; wyoming Home Assistant's voice pipeline.",
)  # fmt: skip
@click.option(
    "--stdio", is_flag=True,
    help="With mcp: speak over standard input and output, and listen nowhere.",
)  # fmt: skip
@settings_options(ParseServerConfig)
@click.option(
    "--names", type=click.Path(exists=True, dir_okay=False, path_type=Path), metavar="FILE",
    help="Names of yours that no list has, for every request, in YAML: kind of entity and a list.",
)  # fmt: skip
@click.option(
    "--no-english", is_flag=True, help="Say no program in English; the server starts faster.",
)  # fmt: skip
@click.option(
    "--device", default="cpu", show_default=True, help="Where the network runs: cpu, cuda, cuda:1."
)
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True,
    help="Of torch; the small networks gain nothing from more.",
)  # fmt: skip
@grammar_option
def command(
    *,
    folder: Path | None,
    api: str,
    stdio: bool,
    settings: Mapping[str, Any],
    names: Path | None,
    no_english: bool,
    device: str,
    threads: int,
    grammar: tuple[Path, ...],
) -> None:
    """Answer sentences with programs: over HTTP, and on a page to try it.

    FOLDER is a parser as `genie-dp train` saved it; in a project it needs no name. POST /parse
    takes sentences as JSON, /health has the state of the server, /docs the forms of requests; / is
    the page. --api adds the protocols of other clients. No sentence is written anywhere.

    \b
    genie-dp serve parser/
    curl -s localhost:8400/parse --json '{"sentence": "list my files"}'
    genie-dp serve parser/ --api mcp --stdio
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show
    from genie_dp.serve.parse_server import run

    if folder is None:
        raise click.UsageError("Missing argument 'FOLDER', and no project has a parser.")
    if stdio and api not in STDIO_APIS:
        raise click.UsageError(f"--stdio goes with --api {' or '.join(sorted(STDIO_APIS))}")
    result = run(
        ParseServerConfig(**settings, english=not no_english),
        folder,
        load_inputs=partial(load_inputs, grammar=grammar, skip_broken=True),
        tell=partial(click.echo, err=True),
        api=api,
        is_stdio=stdio,
        names=names,
        has_grammar=bool(grammar),
        device=device,
        threads=threads,
    )
    show(result)
