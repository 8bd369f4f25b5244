"""`genie-dp serve`: a parser on the web, for programs and for people."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import click

from genie_dp.cli.options import grammar_option, settings_options
from genie_dp.serve.parse_server import ParseServerConfig


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@settings_options(ParseServerConfig, names={"allow_hosts": "allow-host", "examples": "example"})
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
    folder: Path,
    settings: Mapping[str, Any],
    no_english: bool,
    device: str,
    threads: int,
    grammar: tuple[Path, ...],
) -> None:
    """Answer sentences with programs: over HTTP, and on a page to try it.

    FOLDER is a parser as `genie-dp train` saved it. POST /parse takes sentences as JSON, /health
    tells how the server is, /docs what can be sent; / is the page. Nothing that anybody types is
    written anywhere.

    \b
    genie-dp serve parser/
    curl -s localhost:8400/parse --json '{"sentence": "list my files"}'
    """
    from genie_dp.cli.inputs import load_inputs
    from genie_dp.cli.output import show
    from genie_dp.serve.parse_server import run

    result = run(
        ParseServerConfig(**settings, english=not no_english),
        folder,
        load_inputs=partial(load_inputs, grammar=grammar, skip_broken=True),
        tell=partial(click.echo, err=True),
        has_grammar=bool(grammar),
        device=device,
        threads=threads,
    )
    show(result)
