"""A parser as Home Assistant's voice pipeline asks it: intents for sentences, over Wyoming.

Home Assistant gives no reply's `context` back, only its `conversation_id`. So the last question
in a conversation is remembered for a while.
"""

import asyncio
import signal
import socket
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from wyoming.asr import Transcript
from wyoming.error import Error
from wyoming.event import Event, async_read_event, async_write_event
from wyoming.info import Attribution, Describe, Info, IntentModel, IntentProgram
from wyoming.intent import Entity, Intent, IntentsStart, IntentsStop, NotRecognized, Recognize
from wyoming.ping import Ping, Pong

from genie_dp import __version__
from genie_dp.parser.answers import Reply
from genie_dp.parser.forms import as_intents
from genie_dp.serve.parse_models import MOST_CHARACTERS, Context, Names
from genie_dp.serve.parse_requests import logged_refusal_of
from genie_dp.serve.parse_service import ParseService

_MOST_CONNECTIONS = 200  # as over HTTP
_PATIENCE = 60.0  # seconds between events of a connection, and for an event to come in
_MOST_CONVERSATIONS = 1_000
_OURS = frozenset({"question", "refused"})  # what a context has of us
_FIELDS = "send text, and a context with conversation_id, area, floor, names or question"
_FORGOTTEN = 300.0  # seconds after which a question is no longer remembered


class SpokenContext(BaseModel):
    """The context of an event; other fields are ignored."""

    model_config = ConfigDict(strict=True)

    conversation_id: str = Field(default="", max_length=200)
    area: str | None = Field(default=None, max_length=200)
    floor: str | None = Field(default=None, max_length=200)
    names: Names | None = None
    question: Context | None = None

    @property
    def place(self) -> dict[str, str]:
        """Return where the speaker is, if known."""
        places = {"area": self.area, "floor": self.floor}
        return {slot: value for slot, value in places.items() if value}


class Spoken(BaseModel):
    """The data of a `recognize` or `transcript` event."""

    model_config = ConfigDict(strict=True)

    text: str = Field(max_length=MOST_CHARACTERS)
    context: SpokenContext | None = None


@dataclass(slots=True)
class Conversations:
    """The replies that asked something last, by conversation.

    Attributes:
        clock: seconds that go on whatever the date is.
    """

    clock: Callable[[], float]
    _asked: OrderedDict[str, tuple[float, Reply]] = field(default_factory=OrderedDict)

    def take(self, conversation: str) -> Reply | None:
        """Return the last question, once, unless that is too long ago."""
        since, reply = self._asked.pop(conversation, (0.0, None))
        return reply if reply is not None and self.clock() - since <= _FORGOTTEN else None

    def keep(self, conversation: str, reply: Reply) -> None:
        """Remember the question."""
        if conversation:
            self._asked[conversation] = self.clock(), reply
            if len(self._asked) > _MOST_CONVERSATIONS:
                self._asked.popitem(last=False)


class WyomingServer:
    """Answers connections of one event loop."""

    def __init__(self, service: ParseService):
        self._service = service
        self._conversations = Conversations(service.config.clock)
        self._connections: set[asyncio.Task[None]] = set()
        self._busy: set[asyncio.Task[None]] = set()  # those with a request in work
        self._is_closing = False

    async def serve(self, bound: socket.socket, *, patience: float) -> None:
        """Answer at a socket that listens, until this is cancelled.

        Args:
            patience: seconds that requests in work have to end after that.
        """
        server = await asyncio.start_server(self._begin, sock=bound)
        try:
            await server.serve_forever()
        finally:
            self._is_closing = True
            server.close()
            for task in self._connections - self._busy:
                task.cancel()
            if self._busy:
                await asyncio.wait(self._busy, timeout=patience)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._talk(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)
        task.add_done_callback(self._busy.discard)

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the events of a connection, until it ends or sends something else."""
        bounded = _BoundedReader(reader, self._service.config.limits.body)
        address = str((writer.get_extra_info("peername") or ("",))[0])
        task = asyncio.current_task()
        assert task is not None
        try:
            if len(self._connections) > _MOST_CONNECTIONS:
                too_many = Error("too many connections: ask again later", "W006")
                await async_write_event(too_many.event(), writer)
                return
            while not self._is_closing and (event := await _read(bounded)) is not None:
                self._busy.add(task)
                for reply in await self.answer(event, address):
                    await async_write_event(reply, writer)
                self._busy.discard(task)
        except OSError:
            return  # gone
        finally:
            writer.close()

    async def answer(self, event: Event, address: str) -> list[Event]:
        """Return the events that answer one; none for those of other services."""
        if Describe.is_type(event.type):
            return [info_of(self._service).event()]
        if Ping.is_type(event.type):
            return [Pong(Ping.from_event(event).text).event()]
        if not (Recognize.is_type(event.type) or Transcript.is_type(event.type)):
            return []
        try:
            return await self._recognize(event.data, address)
        except Exception as error:  # noqa: BLE001 - answered, and what is ours is logged
            refusal = logged_refusal_of(error, self._service, address, hint=_FIELDS)
            # Home Assistant of 2025 knows no event `error`, and would wait for another.
            text = f"{refusal['message']}: {refusal['hint']}"
            return [NotRecognized(text, {"refused": refusal["code"]}).event()]

    async def _recognize(self, data: Mapping[str, Any], address: str) -> list[Event]:
        spoken = Spoken.model_validate(data)
        spoken_context = spoken.context or SpokenContext()
        context = self._conversations.take(spoken_context.conversation_id)
        if spoken_context.question is not None:
            context = spoken_context.question.as_reply()
        [reply] = await self._service.ask(
            [spoken.text], address=address, context=context, names=spoken_context.names
        )
        if reply.question:
            self._conversations.keep(spoken_context.conversation_id, reply)
        outcome = as_intents(reply, place=spoken_context.place)
        fields = {k: v for k, v in (data.get("context") or {}).items() if k not in _OURS}
        if outcome.refused is None:
            return _intents(outcome.value, fields or None)
        fields["refused"] = outcome.refused
        if reply.question:
            fields["question"] = {
                "program": reply.program, "confidence": reply.confidence, "refused": reply.refused,
            }  # fmt: skip
        return [NotRecognized(outcome.message, fields).event()]


class _BoundedReader:
    """Reads no event that is longer than one may be: its sender states its length."""

    def __init__(self, reader: asyncio.StreamReader, most_bytes: int):
        self._reader, self._most_bytes = reader, most_bytes

    async def readline(self) -> bytes:
        return await self._reader.readline()

    async def readexactly(self, count: int) -> bytes:
        if count > self._most_bytes:
            raise EOFError("an event that is too long")
        return await self._reader.readexactly(count)


async def _read(reader: Any) -> Event | None:
    """Return the next event; None at the end, after too long, and where it is none."""
    try:
        async with asyncio.timeout(_PATIENCE):
            return await async_read_event(reader)
    except (TimeoutError, EOFError):
        return None
    except (LookupError, TypeError, AttributeError, RecursionError):
        return None  # JSON of another shape, or of a thousand brackets


def _intents(found: Sequence[Mapping[str, Any]], context: dict[str, Any] | None) -> list[Event]:
    intents = [
        Intent(
            intent["name"],
            [Entity(name, slot["value"]) for name, slot in intent["slots"].items()],
            context=context,
        ).event()
        for intent in found
    ]
    if len(intents) == 1:
        return intents
    return [IntentsStart(context).event(), *intents, IntentsStop(context).event()]


def info_of(service: ParseService) -> Info:
    """Return the description of this server."""
    attribution = Attribution("genie-dp", "")
    about = {"attribution": attribution, "installed": True, "version": __version__}
    model = IntentModel(
        name=service.config.model,
        description=f"The parser {service.config.model}",
        languages=list(service.config.spoken),
        **about,
    )
    program = IntentProgram(
        name="genie-dp", description="Programs for sentences", models=[model], **about
    )
    return Info(intent=[program])


def serve_wyoming(service: ParseService, bound: socket.socket, *, patience: int) -> None:
    """Answer at a socket that listens, until Ctrl+C or a signal to end."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(WyomingServer(service).serve(bound, patience=patience))
        with suppress(NotImplementedError):  # Windows: Ctrl+C raises KeyboardInterrupt
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, task.cancel)
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(run())
