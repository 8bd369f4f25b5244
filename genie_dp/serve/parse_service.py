"""Answers to sentences: within limits, in batches, before a deadline; and counts of them."""

import asyncio
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from genie_dp import __version__
from genie_dp.parser.answers import Reply, SentenceParser
from genie_dp.serve import parse_models
from genie_dp.serve.parse_batches import (
    BatchConfig,
    Batcher,
    ClosedError,
    ParseWays,
    QueueFullError,
)
from genie_dp.serve.parse_english import ProgramDescriber
from genie_dp.serve.parse_rate import Buckets, RateConfig
from genie_dp.serve.parse_refusals import make_refusal

Names = Mapping[str, Sequence[str]]
"""Kind of entity -> names."""
_TOKEN = re.compile(r"\w+|[^\w\s]")
_CHARACTERS = 8  # of a token with its space; English has 5 to 6


@dataclass(frozen=True, slots=True)
class RequestBounds:
    """The scope of the service.

    Attributes:
        tokens: words and signs of a sentence, at most; of its characters eight times as many.
        deadline: seconds that a request may take.
        body: bytes of a request, at most.
    """

    tokens: int = 64
    deadline: float = 10.0
    body: int = 128 * 1024

    @property
    def characters(self) -> int:
        """Return of how many characters a sentence may be.

        >>> RequestBounds(tokens=64).characters
        512
        """
        return min(self.tokens * _CHARACTERS, parse_models.MOST_CHARACTERS)


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """How the service behaves.

    Attributes:
        model: name of the parser, as in /health.
        examples: sentences that the page offers.
        functions: descriptions of functions for the page.
        names: those of the operator, for every request.
        spoken: languages of the sentences, such as "en".
        clock: seconds that go on whatever the date is.
    """

    model: str
    examples: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    limits: RequestBounds = RequestBounds()
    batches: BatchConfig = BatchConfig()
    rate: RateConfig = RateConfig()
    names: Names = field(default_factory=dict)
    spoken: tuple[str, ...] = ("en",)
    clock: Callable[[], float] = time.monotonic


@dataclass(slots=True)
class Tally:
    """The counts of requests."""

    requests: int = 0
    sentences: int = 0
    known: int = 0
    refused: int = 0
    cancelled: int = 0


@dataclass(slots=True)
class ParseService:
    """Answers requests of one event loop; the parser works in a thread of its own."""

    parser: SentenceParser
    config: ServiceConfig
    english: ProgramDescriber | None = None
    tally: Tally = field(default_factory=Tally)
    _batcher: Batcher = field(init=False)
    _buckets: Buckets = field(init=False)
    _start: float = field(init=False)
    _schema: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        self._batcher = Batcher(self.parser, self.config.batches)
        self._buckets = Buckets(self.config.rate, self.config.clock)
        self._start = self.config.clock()

    async def parse(
        self,
        sentences: Sequence[str],
        asked: parse_models.ParseOptions,
        *,
        address: str,
    ) -> list[parse_models.ParsedReply]:
        """Return a reply to each sentence, as JSON has it.

        Args:
            asked: how they are to be parsed.
            address: that of the client, for the limit of the rate.

        Raises:
            RefusedError, GenieError: as `ask`.
        """
        replies = await self.ask(
            sentences,
            count=asked.count,
            address=address,
            context=asked.context.as_reply() if asked.context else None,
            names=asked.names,
        )
        described: Iterator[str | None] = iter(())
        if asked.english and self.english is not None:
            programs = [answer.code for reply in replies for answer in reply.answers]
            described = iter(await self.english.describe_all(programs))
        return [
            parse_models.shape_of(reply, tuple(islice(described, len(reply.answers))), asked.form)
            for reply in replies
        ]

    async def ask(
        self,
        sentences: Sequence[str],
        *,
        count: int = 1,
        address: str,
        context: Reply | None = None,
        names: Names | None = None,
    ) -> list[Reply]:
        """Return a reply to each sentence: here every request becomes an answer.

        Raises:
            RefusedError: W004 too long, W005 too fast, W006 too many wait, W007 too slow, W008 end.
            GenieError: the parser refused a sentence.
        """
        self.charge(address, len(sentences))
        self.check(sentences)
        self.tally.requests += 1
        self.tally.sentences += len(sentences)
        futures = self._submit(sentences, ParseWays(count, context, self._with_own(names)))
        try:
            async with asyncio.timeout(self.config.limits.deadline):
                replies = await asyncio.gather(*map(asyncio.wrap_future, futures))
        except TimeoutError:
            seconds = self.config.limits.deadline
            raise make_refusal(
                503, "W007", f"this took longer than {seconds:g} seconds",
                "ask again later, or for fewer sentences at once", wait=seconds,
            ) from None  # fmt: skip
        finally:
            # Whoever stops waiting, or the first error, cancels the rest.
            for future in futures:
                future.cancel()
        self.tally.known += sum(reply.is_known for reply in replies)
        return replies

    def _with_own(self, names: Names | None) -> Names | None:
        """Return the names of the client with those of the server."""
        own = self.config.names
        if not own or not names:
            return own or names
        return {kind: [*own.get(kind, ()), *names.get(kind, ())] for kind in {**own, **names}}

    def check(self, sentences: Sequence[str]) -> None:
        """Raise RefusedError (W004) for an empty sentence, or one that is too long."""
        limits = self.config.limits
        for number, sentence in enumerate(sentences, start=1):
            which = f"sentence {number}" if len(sentences) > 1 else "the sentence"
            # Characters first: counting the words of a long text takes time itself.
            if len(sentence) > limits.characters:
                many = f"{len(sentence):,} characters, more than {limits.characters:,}"
                raise make_refusal(422, "W004", f"{which} has {many}", "send a shorter one")
            tokens = len(_TOKEN.findall(sentence))
            if tokens > limits.tokens:
                many = f"{tokens} words and signs, more than {limits.tokens}"
                raise make_refusal(422, "W004", f"{which} has {many}", "send a shorter one")
            if not tokens:
                raise make_refusal(422, "W004", f"{which} is empty", "say what is to be done")

    def charge(self, address: str, sentences: int) -> None:
        """Raise RefusedError (W005) for an address that asks too fast."""
        wait = self._buckets.take(address, sentences)
        if wait:
            rate = self.config.rate.rate
            message = f"this address asks for more than {rate:g} sentences a second"
            raise make_refusal(
                429, "W005", message, "ask again after the seconds of Retry-After", wait=wait
            )

    def _submit(self, sentences: Sequence[str], ways: ParseWays) -> "list[Future[Reply]]":
        try:
            return self._batcher.submit(sentences, ways)
        except QueueFullError as error:
            raise make_refusal(
                503, "W006", "too many sentences wait already",
                "ask again after the seconds of Retry-After", wait=error.seconds,
            ) from None  # fmt: skip
        except ClosedError:
            raise make_refusal(
                503, "W008", "the server is ending", "ask again later", wait=5
            ) from None

    def health(self) -> parse_models.Health:
        """Return the state and the counts of the service."""
        limits, tally = self.config.limits, self.tally
        return parse_models.Health(
            ready=self._batcher.is_ready,
            model=self.config.model,
            version=__version__,
            uptime=round(self.config.clock() - self._start, 1),
            waiting=self._batcher.waiting,
            english=self.english is not None,
            limits=parse_models.RequestLimits(
                sentences=parse_models.MOST_SENTENCES,
                tokens=limits.tokens,
                characters=limits.characters,
                answers=parse_models.MOST_ANSWERS,
            ),
            counts=parse_models.Counts(
                requests=tally.requests,
                sentences=tally.sentences,
                known=tally.known,
                refused=tally.refused,
                cancelled=tally.cancelled,
                batches=self._batcher.batches,
            ),
        )

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of trees and calls; it is made once."""
        if self._schema is None:
            self._schema = self.parser.schema()
        return self._schema

    def close(self, patience: float | None = None) -> None:
        """Take nothing more, finish waiting requests, and end the threads.

        Args:
            patience: seconds to wait for that at most.
        """
        self._batcher.close(patience)
        if self.english is not None:
            self.english.close()
