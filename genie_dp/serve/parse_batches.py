"""Sentences of many requests, parsed together by one thread.

A network parses sixteen sentences in little more time than one. A sentence waits for others a few
milliseconds, after those during which the thread is at work anyway.
"""

import threading
import time
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field

from genie_dp.parser.answers import Reply, SentenceParser

_LATEST = 0.2  # share of the latest batch in the running mean of seconds for a sentence


@dataclass(frozen=True, slots=True)
class BatchConfig:
    """How sentences are put together.

    Attributes:
        size: sentences of a batch, at most.
        wait: seconds that a sentence waits for others when the parser has nothing else to do.
        most_waiting: sentences that may wait; more are refused.
    """

    size: int = 16
    wait: float = 0.005
    most_waiting: int = 256


class QueueFullError(Exception):
    """As many sentences wait as may.

    Attributes:
        seconds: after which there will be room, as far as known.
    """

    def __init__(self, seconds: float):
        super().__init__("the queue is full")
        self.seconds = seconds


class ClosedError(Exception):
    """The server is ending and takes nothing more."""


@dataclass(frozen=True, slots=True)
class ParseWays:
    """How a sentence is parsed; the arguments of `SentenceParser.parse`."""

    count: int = 1
    context: Reply | None = None
    names: Mapping[str, Sequence[str]] | None = None


@dataclass(frozen=True, slots=True)
class _Item:
    sentence: str
    ways: ParseWays
    since: float
    future: "Future[Reply]" = field(default_factory=Future)


class Batcher:
    """Parses in a thread of its own; a submitted sentence gets a future for its reply.

    All sentences of a batch are parsed in the same ways: the width of the search may depend on the
    count, and no reply may depend on the requests of others.
    """

    def __init__(self, parser: SentenceParser, config: BatchConfig | None = None):
        self.config = config or BatchConfig()
        self.batches = 0
        self._parser = parser
        self._waiting: deque[_Item] = deque()
        self._changed = threading.Condition()
        self._is_closed = False
        self._pace = 0.0  # seconds for a sentence
        self._free_since = 0.0
        # A daemon: a parser that hangs must not keep the process from ending.
        self._thread = threading.Thread(target=self._work, name="parse", daemon=True)
        self._thread.start()

    @property
    def is_ready(self) -> bool:
        """Return whether sentences are taken."""
        return self._thread.is_alive() and not self._is_closed

    @property
    def waiting(self) -> int:
        """Return the number of waiting sentences."""
        return len(self._waiting)

    def submit(self, sentences: Sequence[str], ways: ParseWays) -> "list[Future[Reply]]":
        """Return a future for each sentence; one that is cancelled in time costs nothing.

        Raises:
            QueueFullError: there is no room for all of them; none is taken.
            ClosedError: the server ends.
        """
        with self._changed:
            if self._is_closed:
                raise ClosedError
            most_waiting = self.config.most_waiting
            if len(self._waiting) + len(sentences) > most_waiting:
                self._waiting = deque(i for i in self._waiting if not i.future.cancelled())
            if len(self._waiting) + len(sentences) > most_waiting:
                raise QueueFullError(len(self._waiting) * self._pace)
            since = time.monotonic()
            items = [_Item(sentence, ways, since) for sentence in sentences]
            self._waiting.extend(items)
            self._changed.notify()
        return [item.future for item in items]

    def close(self, patience: float | None = None) -> None:
        """Take nothing more, and return when all waiting sentences are answered.

        Args:
            patience: seconds to wait for that at most.
        """
        with self._changed:
            self._is_closed = True
            self._changed.notify()
        self._thread.join(patience)

    # --------------------------------------------------------------------- inside the thread

    def _work(self) -> None:
        while batch := self._next():
            start = time.monotonic()
            self._answer(batch)
            self._free_since = time.monotonic()
            pace = (self._free_since - start) / len(batch)
            self._pace += _LATEST * (pace - self._pace) if self._pace else pace
            self.batches += 1

    def _next(self) -> list[_Item]:
        """Return the next batch to parse; nothing at the end."""
        with self._changed:
            while True:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                if not self._waiting:
                    return []
                # Those answered just now ask again at once: with them, not after them.
                since = max(self._waiting[0].since, self._free_since)
                rest = since + self.config.wait - time.monotonic()
                self._changed.wait_for(
                    lambda: self._is_closed or len(self._waiting) >= self.config.size,
                    max(0.0, rest),
                )
                if batch := self._take():
                    return batch

    def _take(self) -> list[_Item]:
        """Return the first sentences of one kind that are still wanted; the others stay."""
        batch: list[_Item] = []
        rest: deque[_Item] = deque()
        for item in self._waiting:
            is_other = bool(batch) and item.ways != batch[0].ways
            if is_other or len(batch) == self.config.size:
                rest.append(item)
            elif item.future.set_running_or_notify_cancel():
                batch.append(item)
        self._waiting = rest
        return batch

    def _answer(self, batch: Sequence[_Item]) -> None:
        try:
            sentences = [item.sentence for item in batch]
            ways = batch[0].ways
            replies = self._parser.parse(
                sentences, count=ways.count, context=ways.context, names=ways.names
            )
            if len(replies) != len(batch):
                raise RuntimeError(
                    f"expected {len(batch)} replies of the parser, got {len(replies)}"
                )
        except Exception as error:  # noqa: BLE001 - raised again by the request that waits for it
            if len(batch) == 1:
                batch[0].future.set_exception(error)
                return
            # One sentence may be at fault; the others are of other people.
            for item in batch:
                self._answer([item])
            return
        for item, reply in zip(batch, replies, strict=True):
            item.future.set_result(reply)
