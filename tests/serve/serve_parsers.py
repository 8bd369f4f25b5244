"""Invented parsers and clients for the tests of serving; no network, and no time passes in them."""

import threading

from starlette.testclient import TestClient

from genie_dp.languages.base import MissingInput
from genie_dp.languages.library import Parameter, Signature
from genie_dp.languages.types import NUMBER, STRING
from genie_dp.parser.answers import MISSING_INPUT, Answer, Offers, Reply
from genie_dp.serve.hosts import rule_for
from genie_dp.serve.parse_app import parse_app
from genie_dp.serve.parse_batches import BatchConfig
from genie_dp.serve.parse_rate import RateConfig
from genie_dp.serve.parse_service import ParseService, ServiceConfig

HOST = "http://127.0.0.1:8400"
ANY = RateConfig(rate=0)


def program_of(sentence):
    """Return a program that no other sentence has."""
    return f'now => @com.example.say(text="{sentence}") => notify'


def reply_of(sentence, count, *, confidence=0.93):
    """Return what `EchoParser` says: less sure of each further answer."""
    code = program_of(sentence)
    answers = tuple(
        Answer(f"tokens {n} of {sentence}", code if n == 0 else f"{code} /* {n} */", "x", sure)
        for n in range(count)
        if (sure := confidence / (n + 1)) > 0
    )
    refused = "unsure" if "gibberish" in sentence else None
    return Reply(sentence, tuple(sentence.lower().split()), answers, refused)


class EchoParser:
    """Answers with a program that quotes the sentence, and keeps the batches it was given."""

    def __init__(self):
        self.batches = []

    def parse(self, sentences, *, count=1, context=None, names=None):
        self.batches.append((tuple(sentences), count))
        return [reply_of(sentence, count) for sentence in sentences]

    def schema(self):
        return {"type": "object"}

    def offers(self):
        return Offers(
            ("list my Dropbox files", "say gibberish"), ("list my files", "say <something>")
        )

    def functions(self):
        room, level = Parameter("room", "in req", STRING), Parameter("level", "in opt", NUMBER)
        return (Signature("", "lights.set", "action", (room, level)),)


def call(name, step=None, **arguments):
    return {"name": name, "arguments": arguments} | ({"step": step} if step else {})


# What `ToolParser` takes sentences for; None is a program that is more than calls.
CALLED = {
    "hall light": [call("lights.set", room="hall")],
    "all lights": [call("lights.set", room="hall"), call("lights.set", room="den", level=40)],
    "mail tea": [
        call("find", 1, words=["tea"]),
        call("send", 2, to={"$result": 1, "path": ["mails", 0]}),
    ],
    "lights here": [call("HassTurnOn", domain="light", context="area")],
    "when it rains": None,
}


class ToolParser(EchoParser):
    """Knows the sentences of CALLED; "heat" lacks its degrees, which a number gives."""

    def parse(self, sentences, *, count=1, context=None, names=None):
        self.batches.append((tuple(sentences), context, names))
        return [self.reply(sentence, context) for sentence in sentences]

    def reply(self, sentence, context):
        words = tuple(sentence.split())
        if sentence in CALLED:
            return self.known(sentence, CALLED[sentence], f"program of {sentence}")
        if context is not None and sentence.isdigit():
            return self.known(sentence, [call("heat", degrees=int(sentence))], context.program)
        if sentence == "heat":
            missing = (MissingInput("heat", "degrees", "Number", "How warm?"),)
            answer = Answer("heat( degrees= $? )", "heat()", "x", 0.9, missing=missing, calls=[])
            return Reply(sentence, words, (answer,), MISSING_INPUT)
        return Reply(sentence, words, (), "out_of_scope")

    def known(self, sentence, calls, program):
        answer = Answer(program, program, "x", 0.9, calls=calls)
        return Reply(sentence, tuple(sentence.split()), (answer,))


class AskingParser(EchoParser):
    """Asks what to say, and says what it is answered."""

    def parse(self, sentences, *, count=1, context=None, names=None):
        self.batches.append((tuple(sentences), context))
        if context is not None:
            said = Answer(context.program, f'now => @a.b(text = "{sentences[0]}")', "x", 0.9)
            return [Reply(sentences[0], (), (said,))]
        missing = (MissingInput("@a.b", "text", "String", "What shall I <say>?"),)
        answer = Answer("now => @a.b", "now => @a.b()", "x", 0.9, missing=missing)
        return [Reply(sentence, (), (answer,), MISSING_INPUT) for sentence in sentences]


class GatedParser(EchoParser):
    """Begins with a batch and goes on with it only when `go` is set."""

    def __init__(self):
        super().__init__()
        self.begun, self.go = threading.Event(), threading.Event()

    def parse(self, sentences, *, count=1, context=None, names=None):
        self.begun.set()
        assert self.go.wait(20)
        return super().parse(sentences, count=count, context=context, names=names)


class FailingParser(EchoParser):
    """Fails at batches with a bad sentence, and quotes it in the error."""

    def parse(self, sentences, *, count=1, context=None, names=None):
        replies = super().parse(sentences, count=count, context=context, names=names)
        for sentence in sentences:
            if "bad" in sentence:
                raise ValueError(f"cannot read {sentence}")
        return replies


def service_of(parser=None, *, english=None, **config):
    settings = {"batches": BatchConfig(wait=0), "rate": ANY, **config}
    return ParseService(parser or EchoParser(), ServiceConfig("tiny", **settings), english)


def client_of(service, *, host="127.0.0.1", base=HOST):
    app = parse_app(service, hosts=rule_for(host))
    return TestClient(app, base_url=base, raise_server_exceptions=False)
