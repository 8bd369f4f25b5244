"""A parser on the web, as a stage: its settings, and serving until it is stopped.

The server is imported when it is needed: commands read the settings from here.
"""

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from genie_dp.errors import GenieError
from genie_dp.recipe import check_settings, setting
from genie_dp.run.collector import leave_to_the_end
from genie_dp.run.stage import Result
from genie_dp.serve.hosts import address_of, is_loopback, listen, rule_for
from genie_dp.serve.run import check_serve, serve
from genie_dp.templates.inputs import Inputs

if TYPE_CHECKING:
    import socket

    from genie_dp.parser.answers import SentenceParser
    from genie_dp.serve.parse_english import ProgramDescriber
    from genie_dp.serve.parse_service import Names, ParseService, ServiceConfig

_OPEN_WARNING = """\
warning: others in the network can reach this server, and nobody is asked for a password; what \
they send
travels unencrypted. Use it only in a network that you trust, or behind a proxy with TLS."""


@dataclass(frozen=True, slots=True)
class ParseServerConfig:
    """Where a parser is served, and how much it answers.

    Attributes:
        english: whether to describe programs in English.
    """

    host: str = setting(
        "127.0.0.1", "Address to listen at; any but this machine's own lets others in."
    )
    port: int = setting(8400, "To listen at; 0 for any that is free.", least=0, most=65535)
    allow_hosts: tuple[str, ...] = setting(
        (),
        "A further name by which the server may be asked, such as a proxy's.",
        metavar="NAME",
        option="allow-host",
    )
    batch_size: int = setting(
        16, "Sentences that are parsed together, at most.", least=1, most=1024
    )
    wait_ms: float = setting(
        5, "Milliseconds that a sentence waits for others.", least=0, most=1000
    )
    queue: int = setting(256, "Sentences that may wait; more are refused.", least=1, most=100_000)
    max_length: int = setting(
        64,
        "Words and signs of a sentence, at most; of its characters eight times as many.",
        least=1,
        most=1000,
    )
    rate: float | None = setting(
        None,
        "Sentences a second from one address; 0 for any number [20; this machine: any number].",
        least=0,
        most=1_000_000,
        metavar="N",
    )
    timeout: float = setting(10, "Seconds that a request may take.", above=0, most=600)
    threshold: float | None = setting(
        None,
        'Confidence under which the answer is "I do not know" [that of the parser].',
        least=0,
        most=1,
        metavar="P",
    )
    beam: int | None = setting(
        None,
        "Programs that search keeps, and the most that a request gets [that of the parser].",
        least=1,
        most=64,
    )
    wake_words: tuple[str, ...] = setting(
        (),
        "A name of the assistant, which is no part of a command: olly.",
        metavar="NAME",
        option="wake-word",
    )
    examples: tuple[str, ...] = setting(
        (),
        "A sentence that the page offers [some that the parser knows].",
        metavar="SENTENCE",
        option="example",
    )
    spoken: tuple[str, ...] = setting(
        ("en",), "Language of the sentences, as wyoming tells it.", metavar="LANG"
    )
    english: bool = True

    def __post_init__(self) -> None:
        """Check every field by itself.

        Raises:
            GenieError: R040, all mistakes.
        """
        check_settings(self)

    def for_service(self, model: str, names: "Names | None" = None) -> "ServiceConfig":
        """Return the settings of the service itself, for a parser of this name.

        Args:
            names: of the operator: kind of entity -> names.
        """
        from genie_dp.serve.parse_batches import BatchConfig
        from genie_dp.serve.parse_rate import RateConfig
        from genie_dp.serve.parse_service import RequestBounds, ServiceConfig

        return ServiceConfig(
            model=model,
            examples=self.examples,
            limits=RequestBounds(tokens=self.max_length, deadline=self.timeout),
            batches=BatchConfig(self.batch_size, self.wait_ms / 1000, self.queue),
            rate=RateConfig() if self.rate is None else RateConfig.for_everybody(self.rate),
            names=names or {},
            spoken=self.spoken,
        )


@dataclass(frozen=True, slots=True)
class Api:
    """A way to ask a parser.

    Attributes:
        app: "module:function" that makes its app, in this folder; "" where it has none.
        libraries: that it needs besides those of pages.
        extra: which has all of them.
        address: the message to a person, from the address of the server.
        says_english: whether it may be asked for programs in English.
        has_page: whether it shows sentences to try.
    """

    app: str = ""
    libraries: tuple[str, ...] = ()
    extra: str = "serve"
    address: str = "open {}"
    says_english: bool = False
    has_page: bool = False


JSON_API, OPENAI_API, MCP_API, WYOMING_API = "json", "openai", "mcp", "wyoming"
APIS: Mapping[str, Api] = {
    JSON_API: Api("parse_app:parse_app", says_english=True, has_page=True),
    OPENAI_API: Api("parse_openai:openai_app", address="base URL {}v1"),
    MCP_API: Api("parse_mcp:mcp_app", ("mcp",), "mcp", "MCP at {}mcp", says_english=True),
    WYOMING_API: Api("", ("wyoming",), "serve", "Wyoming at {}"),
}
"""Name of a way -> what is known of it; `json` is our own."""
STDIO_APIS = frozenset({MCP_API})
"""Those that may be spoken over standard input and output."""


@dataclass(frozen=True, slots=True)
class ParseServerResult(Result):
    """The result of a server until it was stopped."""

    requests: int
    sentences: int
    known: int
    refused: int

    def lines(self) -> Iterator[str]:
        """Yield the lines of the summary."""
        yield (
            f"{self.requests:,} requests, {self.sentences:,} sentences, {self.known:,} known, "
            f"{self.refused:,} refused"
        )


def run(
    config: ParseServerConfig,
    folder: Path,
    *,
    load_inputs: Callable[[str, Sequence[Path]], Inputs],
    tell: Callable[[str], None],
    api: str = JSON_API,
    is_stdio: bool = False,
    names: Path | None = None,
    has_grammar: bool = False,
    device: str = "cpu",
    threads: int = 1,
) -> ParseServerResult:
    """Serve the parser of a folder, until it is stopped.

    Args:
        load_inputs: reads the templates that describe programs: of a language, with these skills.
        tell: prints lines for the operator, such as the address.
        api: one of APIS.
        is_stdio: whether it is used over standard input and output.
        names: file of names for every request, in YAML.
        has_grammar: whether templates were named, so that languages without skills have some.
        device: where the network runs.
        threads: of torch.

    Raises:
        GenieError: a library that serves is missing (P200), an address that cannot be listened at
            (P204), a device that is not there (W020), no parser (N010, N011), a file of names that
            is none (I013) or has kinds that the parser has not (I012).
    """
    way = APIS[api]
    check_serve(*way.libraries, extra=way.extra)
    own: Names = {}
    if names is not None:
        from genie_dp.parser.session import read_names

        own = read_names(names)

    def load() -> "tuple[SentenceParser, ProgramDescriber | None]":
        from genie_dp.parser.parser import Parser

        try:
            parser = Parser.from_pretrained(
                folder,
                device=device,
                threads=threads,
                beam=config.beam,
                threshold=config.threshold,
                wake_words=config.wake_words,
            )
        except GenieError as error:
            if error.problems[0].code != "N008":
                raise
            raise GenieError(replace(error.problems[0], code="W020")) from None
        if own:
            # Kinds that there are not are told now, and not to whoever asks.
            parser.parse(["hello"], names=own)
        language, english = parser.target.language, None
        if config.english and way.says_english and (language.has_skills or has_grammar):
            english = _describe_by(load_inputs(language.name, parser.skills))
        leave_to_the_end()
        return parser, english

    name = folder.resolve().name
    return serve_parser(load, name, config, tell=tell, api=api, is_stdio=is_stdio, names=own)


def _describe_by(inputs: Inputs) -> "ProgramDescriber":
    """Return the describer of programs by these templates."""
    from genie_dp.serve.parse_english import ProgramDescriber
    from genie_dp.synthesis.describe import Describer

    describer = Describer.from_inputs(inputs)

    def describe(program: str) -> str | None:
        try:
            return describer.confirm(program)
        except GenieError:
            # Templates cannot say every program that the parser can write.
            return None

    return ProgramDescriber(describe)


def serve_parser(
    load: "Callable[[], tuple[SentenceParser, ProgramDescriber | None]]",
    model: str,
    config: ParseServerConfig,
    *,
    tell: Callable[[str], None],
    api: str = JSON_API,
    is_stdio: bool = False,
    names: "Names | None" = None,
) -> ParseServerResult:
    """Listen, load, print the address, and serve until stopped.

    Args:
        load: gives the parser, and the describer of programs.
        model: name of the parser, for /health and the page.
        tell: prints lines for the operator.
        api: one of APIS.
        is_stdio: whether it is used over standard input and output; then nothing listens.
        names: for every request: kind of entity -> names.
    """
    from genie_dp.serve.parse_service import ParseService

    # An address that is taken is told before anybody waits for the parser.
    with nullcontext() if is_stdio else listen(config.host, config.port) as bound:
        parser, english = load()
        settings = config.for_service(model, names)
        if APIS[api].has_page:
            from genie_dp.serve.parse_page import known_examples

            settings = replace(
                settings,
                examples=settings.examples or known_examples(parser),
                functions=parser.offers().functions,
            )
        service = ParseService(parser, settings, english)
        keep_texts_out_of_logs()
        try:
            if bound is None:
                from genie_dp.serve.parse_mcp import serve_stdio

                serve_stdio(service)
            else:
                _serve_at(bound, service, config, api, tell)
        except KeyboardInterrupt:
            pass
        finally:
            service.close(config.timeout)
    tally = service.tally
    return ParseServerResult(tally.requests, tally.sentences, tally.known, tally.refused)


def _serve_at(
    bound: "socket.socket",
    service: "ParseService",
    config: ParseServerConfig,
    api: str,
    tell: Callable[[str], None],
) -> None:
    if not is_loopback(config.host):
        tell(_OPEN_WARNING)
    address = address_of(bound, config.host)
    if api == WYOMING_API:
        address = address.replace("http:", "tcp:").rstrip("/")
    tell(f"{APIS[api].address.format(address)} (Ctrl+C ends)")
    patience = round(config.timeout) + 1
    if api == WYOMING_API:
        from genie_dp.serve.parse_wyoming import serve_wyoming

        serve_wyoming(service, bound, patience=patience)
        return
    module, _, name = APIS[api].app.partition(":")
    app_of = getattr(import_module(f"genie_dp.serve.{module}"), name)
    hosts = rule_for(config.host, config.allow_hosts)
    serve(app_of(service, hosts=hosts), bound, patience=patience)


# Logs hold nothing that people typed: of an error, its kind and the lines of code it went through.
_LOGGERS = ("uvicorn.error", "asyncio")
_Error = tuple[type[BaseException] | None, BaseException | None, TracebackType | None]


class WithoutTexts(logging.Filter):
    """Takes messages off errors before they are written: they may quote a sentence."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Keep every record, with its error described by `outline`."""
        if isinstance(record.exc_info, tuple):
            # One string, so that what it quotes is never taken for a format.
            record.msg, record.args = "%s", (f"a request failed\n{outline(record.exc_info)}",)
            record.exc_info = record.exc_text = None
        return True


def outline(error: _Error) -> str:
    """Return the place and the kind of an error, without its message.

    >>> outline((ValueError, ValueError("my secret"), None))
    'ValueError'
    """
    kind, value, trace = error
    frames = "".join(traceback.format_tb(trace))
    name = kind.__name__ if kind is not None else "error"
    cause = value.__cause__ if value is not None else None
    before = ""
    if cause is not None:
        before = outline((type(cause), cause, cause.__traceback__)) + "\nled to\n"
    return f"{before}{frames}{name}"


def keep_texts_out_of_logs() -> None:
    """Have the loggers of the server write errors by `outline`."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(f, WithoutTexts) for f in logger.filters):
            logger.addFilter(WithoutTexts())
