"""`genie-dp serve` with a parser of its own folder, from training to an answer."""

import asyncio
import json
import re
import signal
import subprocess
import sys

import httpx2
import pytest

from genie_dp import cli
from genie_dp.languages import get_language
from genie_dp.skills.load import load_library
from tests.parser.parser_setup import HOME, INBOX, MAIL
from tests.server_process import COMMAND_LINE

SAID = ("show mail about lunch", "send bob@example.com a mail about taxes")


@pytest.fixture(scope="module")
def server(trained):
    command = [sys.executable, "-c", COMMAND_LINE, "serve", str(trained), "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        said = []
        while not (found := re.match(r"open (\S+) ", said[-1] if said else "")):
            line = process.stderr.readline()
            assert line, said
            said.append(line)
        with httpx2.Client(base_url=found[1], timeout=60) as browser:
            yield browser
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def test_a_trained_parser_answers_with_programs_and_their_english(server):
    sentences = [*SAID] * 8
    answer = server.post("/parse", json={"sentences": sentences, "count": 3, "english": True})
    replies = answer.json()["replies"]
    assert [reply["sentence"] for reply in replies] == sentences
    language, library = get_language("thingtalk"), load_library([MAIL, HOME])
    for reply in replies:
        assert 1 <= len(reply["answers"]) <= 3
        for one in reply["answers"]:
            assert language.check(language.parse(one["code"]), library) == []
            assert 0 <= one["confidence"] <= 1
    assert any(one["english"] for reply in replies for one in reply["answers"])
    told = server.get("/health").json()
    assert (told["model"], told["english"]) == ("parser", True)
    assert "parser" in server.get("/").text


def test_a_sentence_alone_gets_the_answer_that_it_gets_among_others(server):
    ask = [f"{said} {n}" for said in SAID for n in range(6)]
    together = server.post("/parse", json={"sentences": ask}).json()["replies"]
    alone = [server.post("/parse", json={"sentence": one}).json()["replies"][0] for one in ask]
    codes = [[a["code"] for a in reply["answers"]] for reply in together]
    assert codes == [[a["code"] for a in reply["answers"]] for reply in alone]


@pytest.mark.slow
def test_a_trained_parser_is_asked_over_the_model_context_protocol(trained):
    mcp = pytest.importorskip("mcp")
    where = mcp.StdioServerParameters(
        command=sys.executable,
        args=["-c", COMMAND_LINE, "serve", str(trained), "--api", "mcp", "--stdio"],
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    async def ask():
        async with mcp.Client(where) as client:
            result = await client.call_tool("parse", {"sentence": SAID[0]})
            read = await client.read_resource("genie-dp://library")
            return result.structured_content, json.loads(read.contents[0].text)

    reply, library = asyncio.run(ask())
    assert reply["sentence"] == SAID[0]
    assert reply["answers"]
    names = [function["name"] for function in library["functions"]]
    assert INBOX in names


@pytest.mark.parametrize(("api", "extra"), [("mcp", "mcp"), ("wyoming", "serve")])
def test_a_way_whose_library_is_not_there_is_refused(tmp_path, monkeypatch, capsys, api, extra):
    monkeypatch.setitem(sys.modules, api, None)
    assert cli.run(["serve", str(tmp_path), "--api", api, "--port", "0"]) == 1
    error = capsys.readouterr().err
    assert f"error[P200]: serving needs {api}" in error
    assert f"pip install 'genie_dp[{extra}]'" in error


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["{folder}", "--device", "nothing"], 1, "W020]: cannot use the device 'nothing'"),
        (["{folder}", "--names", "{empty}/names.yaml"], 1, "error[I012]"),
        (["{empty}"], 1, "expected a parser in"),
        (["{empty}", "--api", "openai", "--stdio"], 2, "--stdio goes with --api mcp"),
        *(
            (["{empty}", option, value], 2, option)
            for option, value in (
                ("--rate", "1e308"), ("--rate", "inf"), ("--rate", "nan"), ("--rate", "-1"),
                ("--batch-size", "0"), ("--timeout", "0"), ("--max-length", "0"),
            )
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_refused_at_the_start(
    trained, tmp_path, capsys, words, code, said
):
    (tmp_path / "names.yaml").write_text("planet: [mars]\n")  # the parser has no such kind
    words = [word.format(folder=trained, empty=tmp_path) for word in words]
    assert cli.run(["serve", "--port", "0", *words]) == code
    assert said in capsys.readouterr().err
