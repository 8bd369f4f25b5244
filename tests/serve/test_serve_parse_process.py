"""A real server: ended, killed, asked by many, and what it writes."""

import signal
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from genie_dp.errors import GenieError
from genie_dp.serve.parse_server import ParseServerConfig, serve_parser
from tests.serve.serve_parse_process import ROOT, ParseServer, wait_for
from tests.serve.serve_parsers import EchoParser, program_of

sys.path.append(str(ROOT / "benchmarks"))

import serving  # noqa: E402


def ask(url, sentence):
    return httpx2.post(f"{url}parse", json={"sentence": sentence}, timeout=20)


def code_of(answer):
    return answer.json()["replies"][0]["answers"][0]["code"]


def test_many_clients_of_a_real_server_each_get_their_own_answer(tmp_path):
    def ask_some(client):
        with httpx2.Client(base_url=server.url, timeout=20) as browser:
            for n in range(10):
                sentence = f"client {client} asks {n}"
                answer = browser.post("/parse", json={"sentence": sentence})
                assert code_of(answer) == program_of(sentence)

    with ParseServer(tmp_path, "--batch-size", "4", "--wait-ms", "2") as server:
        with ThreadPoolExecutor(12) as pool:
            list(pool.map(ask_some, range(12)))
        counts = httpx2.get(f"{server.url}health").json()["counts"]
        assert (counts["sentences"], counts["refused"]) == (120, 0)
        server.end(signal.SIGINT)
    assert server.said[-1] == "120 requests, 120 sentences, 120 known, 0 refused"


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_what_is_in_work_is_answered_before_the_server_ends(tmp_path, kind):
    with ParseServer(tmp_path, parser="gated") as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, server.url, "the last one")
        wait_for(tmp_path / "begun")
        ending = threading.Thread(target=server.end, args=(kind,))
        ending.start()
        while True:
            # Nobody is let in any more, and only then the parser goes on.
            try:
                httpx2.get(f"{server.url}health", timeout=20)
            except httpx2.TransportError:
                break
        (tmp_path / "go").touch()
        assert code_of(answer.result(30)) == program_of("the last one")
        ending.join(30)
        assert server.process.poll() is not None


@pytest.mark.slow
def test_a_killed_server_starts_again_at_its_place(tmp_path):
    with ParseServer(tmp_path, parser="gated") as server, ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, server.url, "lost")
        wait_for(tmp_path / "begun")
        server.end(signal.SIGKILL)
        with pytest.raises(httpx2.TransportError):
            answer.result(30)
    (tmp_path / "go").touch()
    with ParseServer(tmp_path, parser="gated", port=server.port) as again:
        assert code_of(ask(again.url, "found")) == program_of("found")


@pytest.mark.slow
def test_a_parser_that_hangs_does_not_keep_the_server_from_ending(tmp_path):
    options = ("--timeout", "0.2")
    with ParseServer(tmp_path, *options, parser="gated") as server:
        assert ask(server.url, "slow").json()["code"] == "W007"
        server.end(signal.SIGINT)
    assert "Traceback" not in "\n".join(server.said)


def test_nothing_that_is_typed_is_written(tmp_path):
    with ParseServer(tmp_path, parser="failing") as server:
        for body in (
            {"sentence": "a secret wish"},
            {"sentence": "a bad secret wish"},
            {"sentence": "secret " * 100},
            {"secret": "secret"},
        ):
            httpx2.post(f"{server.url}parse", json=body)
        httpx2.post(f"{server.url}parse", content=b'{"secret', headers={"content-type": "x"})
        httpx2.post(server.url, data={"sentence": "a bad secret form"})
        httpx2.get(f"{server.url}secret?secret=1")
        server.end(signal.SIGINT)
    said = "\n".join(server.said)
    assert "secret" not in said
    # A mistake of ours is told all the same: its kind, and where it is.
    assert "ValueError" in said
    assert "serve_parsers.py" in said
    assert list(tmp_path.iterdir()) == []


def test_other_hosts_are_let_in_only_with_a_warning(tmp_path):
    with ParseServer(tmp_path, "--host", "0.0.0.0") as server:
        assert server.said[0].startswith("warning: others in the network can reach this server")
        local = f"http://127.0.0.1:{server.port}/health"
        assert httpx2.get(local).status_code == 200
        refused = httpx2.get(local, headers={"host": "evil.example"})
        assert (refused.status_code, refused.json()["code"]) == (421, "W010")


@pytest.mark.slow
def test_a_rate_that_is_named_holds_for_this_machine_too(tmp_path):
    with ParseServer(tmp_path, "--rate", "0.001") as server:
        for _ in range(32):
            assert ask(server.url, "a").status_code == 200
        answer = ask(server.url, "a")
    assert answer.json()["code"] == "W005"
    assert int(answer.headers["retry-after"]) > 900


def test_a_port_that_is_taken_is_a_mistake_that_can_be_mended():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        config = ParseServerConfig(port=taken.getsockname()[1])
        with pytest.raises(GenieError, match="P204"):
            serve_parser(lambda: (EchoParser(), None), "tiny", config, tell=print)


def test_the_benchmark_counts_every_answer_to_sentences_of_the_shipped_skills(tmp_path):
    sentences = list(serving.shipped_sentences())
    assert len(sentences) > 100
    assert all(sentence.split() for sentence in sentences)
    with ParseServer(tmp_path) as server:
        assert server.said == [f"open http://127.0.0.1:{server.port}/ (Ctrl+C ends)"]
        ask(server.url, "the first one takes longer")
        found = serving.measured(f"127.0.0.1:{server.port}", 3, 0.5, sentences)
        counts = httpx2.get(f"{server.url}health").json()["counts"]
    counts = {name: count - 1 for name, count in counts.items()}
    assert len(found.times) == counts["sentences"] >= 1
    assert found.batch == counts["sentences"] / counts["batches"]
    assert found.row(3, 16).startswith(f"| 3 | 16 | {len(found.times):,} | ")
