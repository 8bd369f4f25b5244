"""A parser asked by the official client of the Model Context Protocol."""

import asyncio
import json
import signal
import sys

import mcp
import pytest
from mcp.shared.exceptions import MCPError

from genie_dp.errors import GenieError, Problem
from genie_dp.serve.parse_mcp import LIBRARY, SCHEMA, mcp_server
from genie_dp.serve.parse_rate import RateConfig
from tests.serve.serve_parse_process import MAIN, ROOT, ParseServer
from tests.serve.serve_parsers import EchoParser, FailingParser, ToolParser, service_of

CALLS = [{"name": "lights.set", "arguments": {"room": "hall"}}]


def talk(service, conversation):
    """Return what a conversation with a client of the server in this process returns."""

    async def run():
        async with mcp.Client(mcp_server(service)) as client:
            return await conversation(client)

    try:
        return asyncio.run(run())
    finally:
        service.close(20)


def ask(service, *queries):
    """Return the result of each query."""

    async def conversation(client):
        return [await client.call_tool("parse", query) for query in queries]

    return talk(service, conversation)


def test_the_tool_tells_what_it_takes_and_gives():
    [tool] = talk(service_of(ToolParser()), lambda client: client.list_tools()).tools
    assert tool.name == "parse"
    assert tool.input_schema["required"] == ["sentence"]
    assert set(tool.input_schema["properties"]) == {
        "sentence", "count", "english", "context", "names", "as",
    }  # fmt: skip
    assert "is_known" in tool.output_schema["properties"]
    assert tool.annotations.read_only_hint


def test_a_sentence_is_answered_with_structured_content_in_its_form():
    queries = (
        {"sentence": sentence, "as": "calls"} for sentence in ("hall light", "when it rains")
    )
    result, other = ask(service_of(ToolParser()), *queries)
    reply = result.structured_content
    assert json.loads(result.content[0].text) == reply
    assert reply["is_known"] is True
    assert reply["answer"] == CALLS
    assert reply["answers"][0]["code"] == "program of hall light"
    assert not other.is_error
    told = {name: other.structured_content[name] for name in ("is_known", "refused", "answer")}
    assert told == {"is_known": False, "refused": "not_in_form", "answer": None}


def test_a_question_is_answered_with_its_context():
    async def conversation(client):
        asked = (await client.call_tool("parse", {"sentence": "heat"})).structured_content
        assert (asked["refused"], asked["message"]) == ("missing_input", "How warm?")
        context = {name: asked["answers"][0][name] for name in ("program", "confidence")}
        query = {"sentence": "21", "context": context, "as": "calls"}
        return (await client.call_tool("parse", query)).structured_content["answer"]

    answer = talk(service_of(ToolParser()), conversation)
    assert answer == [{"name": "heat", "arguments": {"degrees": 21}}]


def test_the_library_and_the_schema_are_resources():
    async def conversation(client):
        listed = await client.list_resources()
        texts = [(await client.read_resource(r.uri)).contents[0].text for r in listed.resources]
        return dict(zip((r.uri for r in listed.resources), map(json.loads, texts), strict=True))

    read = talk(service_of(ToolParser()), conversation)
    assert read[SCHEMA] == {"type": "object"}
    [function] = read[LIBRARY]["functions"]
    room = {"name": "room", "type": "String", "required": True}
    level = {"name": "level", "type": "Number", "required": False}
    expected = {"name": "lights.set", "kind": "action", "inputs": [room, level], "outputs": []}
    assert function == expected


WRONG = (
    ({}, "W003: sentence: Field required: see the input schema of the tool"),
    ({"sentence": 7}, "W003: sentence: Input should be a valid string"),
    ({"sentence": "a", "cuont": 2}, "W003: cuont: Extra inputs are not permitted"),
    ({"sentence": "a", "as": "song"}, "W003: as: expected one of program, tokens"),
    ({"sentence": "x" * 9000}, "W004: sentence: String should have at most 8000"),
    ({"sentence": "a " * 65}, "W004: the sentence has 65 words and signs, more than 64"),
    ({"sentence": " "}, "W004: the sentence is empty: say what is to be done"),
)


def test_what_cannot_be_parsed_is_an_error_of_the_tool():
    results = ask(service_of(ToolParser()), *(query for query, _ in WRONG))
    for result, (_, text) in zip(results, WRONG, strict=True):
        assert result.is_error
        assert result.content[0].text.startswith(text)


def test_limits_are_those_of_the_service():
    service = service_of(ToolParser(), rate=RateConfig(1, 1, spares_loopback=False))
    results = ask(service, {"sentence": "a"}, {"sentence": "a"}, {})
    assert [result.is_error for result in results] == [False, True, True]
    assert [r.content[0].text[:5] for r in results[1:]] == ["W005:", "W005:"]
    assert service.tally.refused == 2


def test_a_sentence_that_the_parser_refuses_has_its_code():
    class Refusing(EchoParser):
        def parse(self, sentences, **_):
            raise GenieError(Problem("I002", "too long", hint="shorter"))

    [result] = ask(service_of(Refusing()), {"sentence": "a"})
    assert (result.is_error, result.content[0].text) == (True, "I002: too long: shorter")


def test_a_failing_parser_is_told_without_what_was_said(caplog):
    [result] = ask(service_of(FailingParser()), {"sentence": "bad secret"})
    assert result.content[0].text.startswith("W009: the parser failed at this request")
    assert "secret" not in result.content[0].text


def test_what_there_is_not_is_an_error_of_the_protocol():
    async def conversation(client):
        for request, name in ((client.call_tool, "sing"), (client.read_resource, "x://y")):
            with pytest.raises(MCPError, match="there is no"):
                await request(name)

    talk(service_of(ToolParser()), conversation)


async def speak(where):
    async with mcp.Client(where) as client:
        result = await client.call_tool("parse", {"sentence": "hall light", "as": "calls"})
        wrong = await client.call_tool("parse", {"sentence": ""})
        return result.structured_content["answer"], wrong.is_error


def test_it_is_spoken_over_http(tmp_path):
    with ParseServer(tmp_path, "--api", "mcp", parser="tool") as server:
        assert server.url.endswith("/mcp")
        assert asyncio.run(speak(server.url)) == (CALLS, True)
        assert server.end(signal.SIGINT) == 0
    assert server.said[-1] == "1 requests, 1 sentences, 1 known, 1 refused"


@pytest.mark.slow
def test_it_is_spoken_over_standard_input_and_output(tmp_path):
    arguments = ["-c", MAIN, "tool", str(tmp_path), "--api", "mcp", "--stdio"]
    where = mcp.StdioServerParameters(
        command=sys.executable, args=arguments, cwd=ROOT, env={"PYTHONPATH": ":".join(sys.path)}
    )
    assert asyncio.run(speak(where)) == (CALLS, True)
