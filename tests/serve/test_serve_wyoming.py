"""A parser asked over Wyoming by its own client, as Home Assistant does."""

import asyncio
import signal
import socket
import threading
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from wyoming.asr import Transcript
from wyoming.audio import AudioStop
from wyoming.client import AsyncTcpClient
from wyoming.event import Event
from wyoming.info import Describe, Info
from wyoming.intent import Intent, IntentsStart, IntentsStop, NotRecognized, Recognize
from wyoming.ping import Ping, Pong

from genie_dp.serve.parse_rate import RateConfig
from genie_dp.serve.parse_wyoming import Conversations, WyomingServer
from tests.serve.serve_parse_process import ParseServer
from tests.serve.serve_parsers import FailingParser, GatedParser, ToolParser, reply_of, service_of


async def answers(address, *events):
    """Return the events that answer each of these, all of one connection."""
    found = []
    async with AsyncTcpClient(*address, connect_timeout=5, read_timeout=5) as client:
        for event in events:
            await client.write_event(event)
            got = [await client.read_event()]
            while got and got[-1] is not None and IntentsStart.is_type(got[0].type):
                if IntentsStop.is_type(got[-1].type):
                    break
                got.append(await client.read_event())
            found.append(got)
    return found


@contextmanager
def serving(service):
    """Serve in a thread, and give the address."""
    bound = socket.create_server(("127.0.0.1", 0))
    loop = asyncio.new_event_loop()
    task = loop.create_task(WyomingServer(service).serve(bound, patience=5))

    def run():
        with pytest.raises(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield bound.getsockname()
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(20)
        loop.close()
        service.close(20)


@pytest.fixture
def parser():
    return ToolParser()


@pytest.fixture
def address(parser):
    with serving(service_of(parser, spoken=("en", "de"))) as address:
        yield address


def ask(address, *events):
    """Return the only answer to each event."""
    found = asyncio.run(answers(address, *(event.event() for event in events)))
    assert all(len(got) == 1 for got in found)
    return [got[0] for got in found]


def said(text, **context):
    return Transcript(text, context=context or None, language="en")


def refusal(event):
    """Return the code of what is not recognized."""
    assert NotRecognized.is_type(event.type), event
    return NotRecognized.from_event(event).context["refused"]


def slots(event):
    assert Intent.is_type(event.type), event
    intent = Intent.from_event(event)
    return intent.name, {entity.name: entity.value for entity in intent.entities}


def test_it_says_what_it_is(address):
    told, pong = ask(address, Describe(), Ping("hey"))
    [program] = Info.from_event(told).intent
    assert program.installed
    [model] = program.models
    assert (model.name, model.languages) == ("tiny", ["en", "de"])
    assert Pong.from_event(pong).text == "hey"


def test_a_sentence_becomes_an_intent_or_several(address):
    context = {"conversation_id": "c", "x": [1]}
    asked = (kind("hall light", context=context) for kind in (Recognize, Transcript))
    for event in ask(address, *asked):
        assert slots(event) == ("lights.set", {"room": "hall"})
        assert Intent.from_event(event).context == context
    [events] = asyncio.run(answers(address, said("all lights").event()))
    first, *intents, last = events
    assert IntentsStart.is_type(first.type)
    assert IntentsStop.is_type(last.type)
    assert [slots(event)[1]["room"] for event in intents] == ["hall", "den"]


@pytest.mark.parametrize(
    ("sentence", "code", "text"),
    [
        ("zork", "out_of_scope", "I do not know: the skills can do nothing of the kind."),
        ("heat", "missing_input", "How warm?"),
        ("when it rains", "not_in_form", "it cannot be said as calls of tools"),
        ("mail tea", "not_in_form", "it is calls that wait for each other"),
        ("lights here", "no_place", "I do not know where you are, and nothing else was named."),
    ],
)
def test_what_is_no_intent_is_not_recognized(address, sentence, code, text):
    [event] = ask(address, said(sentence, x=1))
    assert refusal(event) == code
    assert text in NotRecognized.from_event(event).text
    assert NotRecognized.from_event(event).context["x"] == 1


def test_names_come_with_a_sentence_and_the_place_of_the_speaker_fills_its_slots(address, parser):
    [event] = ask(address, said("lights here", area="kitchen", names={"room": ["attic"]}))
    assert slots(event) == ("HassTurnOn", {"domain": "light", "area": "kitchen"})
    assert parser.batches[0][2] == {"room": ["attic"]}


def test_a_question_is_answered_in_its_conversation(address):
    asked, other, answered, again = ask(
        address, said("heat", conversation_id="one"), said("21", conversation_id="two"),
        said("21", conversation_id="one"), said("21", conversation_id="one"),
    )  # fmt: skip
    assert NotRecognized.from_event(asked).text == "How warm?"
    assert slots(answered) == ("heat", {"degrees": 21})
    # It is answered once, and by nobody else.
    assert NotRecognized.is_type(other.type)
    assert NotRecognized.is_type(again.type)

    # A context that is given back answers as well.
    [asked] = ask(address, said("heat"))
    context = NotRecognized.from_event(asked).context
    [answered] = ask(address, Recognize("21", context=context))
    assert slots(answered)[1] == {"degrees": 21}
    assert Intent.from_event(answered).context is None


def test_questions_are_forgotten_after_a_while_and_when_there_are_many():
    time = [0.0]
    kept = Conversations(lambda: time[0])
    reply = reply_of("a", 1)
    kept.keep("old", reply)
    time[0] = 301.0
    assert kept.take("old") is None
    for number in range(1001):
        kept.keep(str(number), reply)
    assert (kept.take("0"), kept.take("1")) == (None, reply)


@pytest.mark.parametrize(
    ("data", "code", "text"),
    [
        ({}, "W003", "text: Field required: send text, and a context"),
        ({"text": 7}, "W003", "text: Input should be a valid string"),
        ({"text": " "}, "W004", "the sentence is empty: say what is to be done"),
        ({"text": "a " * 65}, "W004", "65 words and signs, more than 64"),
        ({"text": "x" * 9000}, "W004", "text: String should have at most 8000"),
        ({"text": "a", "context": [1]}, "W003", "context: Input should be"),
        ({"text": "a", "context": {"conversation_id": 5}}, "W003", "context.conversation_id: "),
        ({"text": "a", "context": {"names": {"room": "x"}}}, "W003", "context.names.room: "),
    ],
)
def test_what_cannot_be_parsed_is_an_error(address, data, code, text):
    [[event]] = asyncio.run(answers(address, Event("recognize", data)))
    assert refusal(event) == code
    assert text in NotRecognized.from_event(event).text


async def send(address, raw):
    """Return what comes back until the other side closes."""
    reader, writer = await asyncio.open_connection(*address)
    writer.write(raw)
    try:
        await writer.drain()
        return await asyncio.wait_for(reader.read(), 5)
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_what_is_no_event_ends_its_connection_and_no_other(address):
    for raw in (
        b"GET / HTTP/1.1\r\n\r\n",
        b"[]\n",
        b'{"a": 1}\n',
        b'{"type": "recognize", "data": [1], "data_length": 2}\n{}',
        b'{"type": "recognize", "data_length": 99999999999}\n',
        b'{"type": "recognize", "data_length": "x"}\n',
        b"[" * 50_000 + b"\n",
        b"x" * 200_000,
    ):
        assert asyncio.run(send(address, raw)) == b""
        assert ask(address, said("hall light"))


def test_events_of_other_services_are_left_out(address):
    async def talk():
        async with AsyncTcpClient(*address, connect_timeout=5, read_timeout=5) as client:
            await client.write_event(AudioStop().event())
            await client.write_event(Ping("x").event())
            return await client.read_event()

    assert Pong.is_type(asyncio.run(talk()).type)


def test_limits_are_those_of_the_service_and_a_failing_parser_is_told_without_what_was_said():
    service = service_of(ToolParser(), rate=RateConfig(1, 1, spares_loopback=False))
    with serving(service) as address:
        _, *refused = ask(address, said("a"), said("a"), said(""))
    assert [refusal(event) for event in refused] == ["W005", "W005"]
    assert service.tally.refused == 2
    with serving(service_of(FailingParser())) as address:
        [event] = ask(address, said("bad secret"))
    assert refusal(event) == "W009"
    assert "secret" not in str(event.data)


def test_what_is_in_work_is_finished_and_who_waits_is_sent_away():
    parser = GatedParser()
    with serving(service_of(parser)) as address:
        idle = socket.create_connection(address)
        busy = socket.create_connection(address)
        busy.sendall(b'{"type": "recognize", "data": {"text": "hm"}}\n')
        assert parser.begun.wait(5)
        threading.Timer(0.1, parser.go.set).start()
    assert idle.recv(9) == b""
    assert b"not-recognized" in busy.recv(999)
    idle.close()
    busy.close()


def test_the_command_serves_until_it_is_stopped(tmp_path):
    with ParseServer(tmp_path, "--api", "wyoming", parser="tool") as server:
        where = urlsplit(server.url)
        assert where.scheme == "tcp"
        [event] = ask((where.hostname, where.port), said("hall light"))
        assert slots(event)[0] == "lights.set"
        assert server.end(signal.SIGTERM) == 0
    assert server.said[-1] == "1 requests, 1 sentences, 1 known, 0 refused"
