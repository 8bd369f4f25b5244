"""`genie-dp serve`: a parser on the web, for programs and for people."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from genie_dp.cli.garbage import leave_to_the_end
from genie_dp.cli.options import Finite, grammar_option
from genie_dp.errors import GenieError, Problem

if TYPE_CHECKING:
    from genie_dp.parser.answers import SentenceParser
    from genie_dp.parser.parser import Parser
    from genie_dp.serve.parse_english import English
    from genie_dp.serve.parse_service import ParseService, ServiceConfig

_DEPTH = 8  # templates inside each other, as `genie-dp describe` has it


@click.command("serve")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--host", default="127.0.0.1", show_default=True,
    help="Address to listen at; any but this machine's own lets others in.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8400, show_default=True,
    help="To listen at; 0 for any that is free.",
)  # fmt: skip
@click.option(
    "--allow-host", multiple=True, metavar="NAME",
    help="A further name by which the server may be asked, such as a proxy's. May be repeated.",
)  # fmt: skip
@click.option(
    "--batch-size", type=click.IntRange(1, 1024), default=16, show_default=True,
    help="Sentences that are parsed together, at most.",
)  # fmt: skip
@click.option(
    "--wait-ms", type=Finite(0, 1000), default=5, show_default=True,
    help="Milliseconds that a sentence waits for others.",
)  # fmt: skip
@click.option(
    "--queue", type=click.IntRange(1, 100_000), default=256, show_default=True,
    help="Sentences that may wait; more are refused.",
)  # fmt: skip
@click.option(
    "--max-length", type=click.IntRange(1, 1000), default=64, show_default=True,
    help="Words and signs of a sentence, at most; of its characters eight times as many.",
)  # fmt: skip
@click.option(
    "--rate", type=Finite(0, 1_000_000), metavar="N",
    help="Sentences a second from one address; 0 for any number [20; this machine: any number].",
)  # fmt: skip
@click.option(
    "--timeout", type=Finite(0, 600, min_open=True), default=10, show_default=True,
    help="Seconds that a request may take.",
)  # fmt: skip
@click.option(
    "--no-english", is_flag=True, help="Say no program in English; the server starts faster.",
)  # fmt: skip
@click.option(
    "--threshold", type=Finite(0, 1), metavar="P",
    help='Confidence under which the answer is "I do not know" [that of the parser].',
)  # fmt: skip
@click.option(
    "--beam", type=click.IntRange(1, 64),
    help="Programs that search keeps, and the most that a request gets [that of the parser].",
)  # fmt: skip
@click.option(
    "--device", default="cpu", show_default=True, help="Where the network runs: cpu, cuda, cuda:1."
)
@click.option(
    "--threads", type=click.IntRange(1), default=1, show_default=True,
    help="Of torch; the small networks gain nothing from more.",
)  # fmt: skip
@click.option(
    "--example", "examples", multiple=True, metavar="SENTENCE",
    help="A sentence that the page offers [some that the parser knows]. May be repeated.",
)  # fmt: skip
@grammar_option
def command(**options: Any) -> None:
    """Answer sentences with programs: over HTTP, and on a page to try it.

    FOLDER is a parser as `genie-dp train` saved it. POST /parse takes sentences as JSON, /health
    tells how the server is, /docs what can be sent; / is the page. Nothing that anybody types is
    written anywhere.

    \b
    genie-dp serve parser/
    curl -s localhost:8400/parse --json '{"sentence": "list my files"}'
    """
    from genie_dp.serve.run import check_serve

    check_serve()
    folder = options["folder"]

    def load() -> "tuple[SentenceParser, English | None]":
        from genie_dp.parser.parser import Parser

        _prepare_torch(options["device"], options["threads"])
        parser = Parser.from_pretrained(
            folder,
            device=options["device"],
            beam=options["beam"],
            threshold=options["threshold"],
        )
        english = None if options["no_english"] else _english(parser, options["grammar"])
        leave_to_the_end()
        return parser, english

    serve_parser(load, folder.resolve().name, options)


def _prepare_torch(device: str, threads: int) -> None:
    """Raise GenieError (W020) for a device that this machine does not have."""
    import torch

    torch.set_num_threads(threads)
    try:
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        message = f"cannot use the device {device!r}: {str(error).splitlines()[0]}"
        raise GenieError(Problem("W020", message, hint="leave --device out")) from None


def _english(parser: "Parser", grammar: Sequence[Path]) -> "English | None":
    """Return what says programs in English; None where no templates speak of them."""
    language = parser.target.language.name
    if language != "thingtalk" and not grammar:
        return None
    from genie_dp.cli.describe import describer_of
    from genie_dp.serve.parse_english import English

    describer = describer_of(
        {
            "language": language,
            "skills": parser.skills,
            "skip_broken": True,
            "grammar": grammar,
            "subsets": (),
            "max_depth": _DEPTH,
        }
    )

    def describe(program: str) -> str | None:
        try:
            return describer.describe(program).sentence
        except GenieError:
            # Templates cannot say every program that the parser can write.
            return None

    return English(describe)


def serve_parser(
    load: "Callable[[], tuple[SentenceParser, English | None]]",
    model: str,
    options: Mapping[str, Any],
) -> None:
    """Listen, load, say where, and serve until somebody stops it.

    Args:
        load: gives the parser, and what says programs in English.
        model: name of the parser, for /health and the page.
        options: of the command.
    """
    from genie_dp.serve.hosts import address_of, is_loopback, listen, rule_for
    from genie_dp.serve.parse_app import parse_app
    from genie_dp.serve.parse_page import known_examples
    from genie_dp.serve.parse_privacy import keep_texts_out_of_logs
    from genie_dp.serve.parse_service import ParseService
    from genie_dp.serve.run import serve

    host, config = options["host"], config_of(model, options)
    with listen(host, options["port"]) as bound:
        # An address that is taken is told before anybody waits for the parser.
        parser, english = load()
        if not config.examples:
            config = replace(config, examples=known_examples(parser))
        service = ParseService(parser, config, english)
        keep_texts_out_of_logs()
        try:
            if not is_loopback(host):
                _warn()
            click.echo(f"open {address_of(bound, host)} (Ctrl+C ends)", err=True)
            app = parse_app(service, hosts=rule_for(host, options["allow_host"]))
            serve(app, bound, patience=round(config.limits.deadline) + 1)
        except KeyboardInterrupt:
            pass
        finally:
            service.close(config.limits.deadline)
    click.echo(_summary(service), err=True)


def config_of(model: str, options: Mapping[str, Any]) -> "ServiceConfig":
    """Return the options of the command as the service takes them."""
    from genie_dp.serve.parse_batches import BatchConfig
    from genie_dp.serve.parse_rate import RateConfig
    from genie_dp.serve.parse_service import Limits, ServiceConfig

    batches = BatchConfig(options["batch_size"], options["wait_ms"] / 1000, options["queue"])
    return ServiceConfig(
        model=model,
        examples=options["examples"],
        limits=Limits(tokens=options["max_length"], deadline=options["timeout"]),
        batches=batches,
        rate=RateConfig() if options["rate"] is None else RateConfig.of(options["rate"]),
    )


def _warn() -> None:
    click.echo(
        "warning: others in the network can reach this server, and nobody is asked for a "
        "password; what they send\ntravels unencrypted. Use it only in a network that you trust, "
        "or behind a proxy with TLS.",
        err=True,
    )


def _summary(service: "ParseService") -> str:
    tally = service.tally
    return (
        f"{tally.requests:,} requests, {tally.sentences:,} sentences, {tally.known:,} known, "
        f"{tally.refused:,} refused"
    )
