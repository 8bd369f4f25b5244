"""Paraphrases from a service: tried against one on this machine that fails in every way."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.paraphrase.endpoint import (
    Client,
    EndpointParaphraser,
    Service,
    read_answer,
    shipped_prompt,
)
from genie_dp.paraphrase.journal import Journal, Usage, open_journal
from genie_dp.paraphrase.shown import ShownRow, show, to_line
from genie_dp.records import Example
from tests.stub_service import stub_service

KEY = "sk-very-secret"


def row(number, utterance="mail QUOTED_STRING_0 to file {}"):
    return Example(f"S{number}", utterance.format(number), f"now => @c.f{number}")


def shown(number):
    return show(row(number), {"QUOTED_STRING_0": f"hello {number}"})


class Clock:
    """Time that passes only while somebody sleeps."""

    def __init__(self):
        self.slept = []

    def __call__(self):
        return sum(self.slept)


def client(server, clock=None, **settings):
    clock = clock or Clock()
    service = Service(server.url, "stub", **{"key": KEY, **settings})
    return Client(service, sleep=clock.slept.append, clock=clock)


def paraphraser(server, journal=None, clock=None, settings=(), **more):
    return EndpointParaphraser(
        client(server, clock, **dict(settings)), journal or Journal(None), shipped_prompt(), **more
    )


def texts(paraphraser, count):
    found = paraphraser.candidates(shown(number) for number in range(count))
    return {of.example.id: [one.text for one in candidates] for of, candidates in found}


# ------------------------------------------------------------------------------- requests


def test_several_sentences_go_into_one_prompt_and_come_back_in_order():
    with stub_service() as server:
        said = texts(paraphraser(server, per_prompt=4, at_once=3), 21)
    assert list(said) == [f"S{number}" for number in range(21)]
    assert said["S7"][0] == 'would it be possible to mail "hello 7" to file 7'
    assert sorted(sentences_asked(server)) == [1, 4, 4, 4, 4, 4]
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert "write 3 paraphrases" in server.bodies[0]["messages"][0]["content"]


@pytest.mark.parametrize("trouble", ["drop", "no-chat", (500, {}), (429, {})], ids=str)
def test_what_may_pass_is_tried_again(trouble):
    clock = Clock()
    with stub_service([trouble, trouble]) as server:
        asked = client(server, clock, first_wait=1)
        assert asked.ask([{"role": "system", "content": ""}, {"role": "user", "content": "1. a"}])
    assert asked.retried == 2
    assert len(clock.slept) == 2
    assert 1 <= clock.slept[0] <= 1.25
    assert 2 <= clock.slept[1] <= 2.5


def test_the_service_says_how_long_to_wait():
    clock = Clock()
    past = "Wed, 21 Oct 2015 07:28:00 GMT"
    never = "Fri, 31 Dec 99999999999 23:59:59 GMT"
    plan = [(429, {"Retry-After": "17"}), (503, {"Retry-After": past})]
    plan += [(429, {"Retry-After": "x"}), (429, {"Retry-After": never})]
    with stub_service(plan) as server:
        texts(paraphraser(server, clock=clock, at_once=1), 1)
    assert clock.slept[:2] == [17, 0]
    assert clock.slept[2] >= 4
    assert clock.slept[3] >= 8


def test_an_answer_whose_usage_is_none_is_asked_for_again(monkeypatch):
    chat = {"choices": [{"message": {"content": "a"}}]}
    for usage in ([1], "many", {"prompt_tokens": float("inf")}):
        answers = iter([{**chat, "usage": usage}, chat])
        asked = Client(Service("http://localhost/v1", "stub"), sleep=lambda seconds: None)
        monkeypatch.setattr(asked, "_post", lambda body, answers=answers: next(answers))
        assert asked.ask([]).text == "a"
        assert asked.retried == 1


@pytest.mark.parametrize("status", [400, 401, 403, 404, 302])
def test_what_will_not_pass_is_told_at_once_and_without_the_key(status):
    with stub_service([(status, {"Location": "http://127.0.0.1:1/"})]) as server:
        with pytest.raises(GenieError, match=f"P151.*{status}") as caught:
            texts(paraphraser(server), 1)
        assert len(server.bodies) == 1
    assert KEY not in str(caught.value)


def test_after_all_tries_it_gives_up_and_says_how_to_go_on():
    with stub_service([(500, {})] * 9) as server:
        with pytest.raises(GenieError, match="(?s)P152.*--resume") as caught:
            texts(paraphraser(server, settings={"retries": 3}), 1)
        assert len(server.bodies) == 4
    assert KEY not in str(caught.value)


def test_a_run_that_is_stopped_waits_for_no_further_try():
    with stub_service([(500, {"Retry-After": "100"})] * 9) as server:
        asked = Client(Service(server.url, "stub", retries=5))
        timer = threading.Timer(0.05, asked.stop)
        timer.start()
        with pytest.raises(GenieError, match="in 2 tries"):
            asked.ask([{"role": "user", "content": "1. a"}])
        timer.join()
        assert len(server.bodies) == 2  # it woke up, tried, and saw that it was to stop


def test_requests_are_spread_over_the_minute():
    clock = Clock()
    with stub_service() as server:
        service = {"per_minute": 30}
        texts(paraphraser(server, clock=clock, settings=service, per_prompt=1, at_once=1), 5)
    assert clock() == pytest.approx(8)  # five starts, two seconds apart


def test_addresses_that_cannot_be_and_keys_in_the_clear_are_refused():
    for url, key in (("localhost:8000", ""), ("ftp://x/v1", ""), ("http://example.com/v1", KEY)):
        with pytest.raises(GenieError, match="P150") as caught:
            Service(url, "m", key=key)
        assert KEY not in str(caught.value)
    assert KEY not in repr(Service("https://example.com/v1", "m", key=KEY))


# -------------------------------------------------------------------------------- answers


def test_an_answer_is_taken_only_as_it_was_asked_for():
    fenced = '```json\n{"1": ["a  b"], "2": ["c", " "]}\n```'
    assert read_answer('{"1": ["a"], "2": []}', 2) == (("a",), ())
    assert read_answer(fenced, 2) == (("a b",), ("c",))
    for text in (
        '{"1": ["a"]}', '{"1": ["a"], "2": "b"}', '{"1": ["a"], "2": ["half \\ud83d"]}',
        "[" * 100_000, '{"1": ["a"], "2": [1]}', '{"1": ["a"], "2": [], "3": []}', '["a", "b"]', "",
    ):  # fmt: skip
        assert read_answer(text, 2) is None


def sentences_asked(server):
    return [body["messages"][1]["content"].count("\n") + 1 for body in server.bodies]


def test_after_two_malformed_answers_sentences_are_asked_for_alone():
    with stub_service(["malformed"] * 2) as server:
        made = paraphraser(server, per_prompt=3, at_once=1)
        said = texts(made, 3)
        assert sentences_asked(server) == [3, 3, 1, 1, 1]
    assert all(len(candidates) == 3 for candidates in said.values())
    assert made.malformed == 2
    assert made.journal.now == Usage(5, 90, 45)


def test_a_sentence_that_never_gets_an_answer_gets_none_and_is_not_asked_again():
    with stub_service(["malformed"] * 99) as server:
        made = paraphraser(server, at_once=1)
        assert texts(made, 1) == {"S0": []}
        assert texts(made, 1) == {"S0": []}
        assert len(server.bodies) == 2


def test_a_prompt_says_how_many_are_wanted():
    with stub_service() as server, pytest.raises(GenieError, match="P154"):
        EndpointParaphraser(client(server), Journal(None), "say it otherwise")


def test_rows_without_example_values_keep_their_placeholders():
    with stub_service() as server:
        [(_, candidates)] = paraphraser(server).candidates([ShownRow(row(1))])
    assert candidates[0].text == "would it be possible to mail QUOTED_STRING_0 to file 1"


# -------------------------------------------------------------------------------- journal


def test_answers_of_the_journal_are_not_asked_for_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    with stub_service() as server:
        first = open_journal(path, resume=False, overwrite=False)
        said = texts(paraphraser(server, first), 5)
        again = open_journal(path, resume=True, overwrite=False)
        assert texts(paraphraser(server, again), 7) == {**said, **texts(paraphraser(server), 7)}
        assert again.before == first.now
    asked = [sentence for sentence in server.sentences if sentence.endswith("file 3")]
    assert len(asked) == 2  # once for the journal, once without one


def test_other_prompts_models_and_temperatures_ask_again(tmp_path):
    journal = Journal(None)
    with stub_service() as server:
        texts(paraphraser(server, journal), 1)
        texts(paraphraser(server, journal, settings={"temperature": 0.1}), 1)
        texts(paraphraser(server, journal, number=2), 1)
        texts(paraphraser(server, journal), 1)
    assert len(server.bodies) == 3


def test_a_line_that_was_cut_off_is_dropped_and_a_broken_one_is_told(tmp_path):
    path = tmp_path / "answers.jsonl"
    journal = open_journal(path, resume=False, overwrite=False)
    journal.add({"a": ["b"]}, Usage(1, 2, 3))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"answers": {"c": ["d')
    assert open_journal(path, resume=True, overwrite=False).answers == {"a": ("b",)}
    assert path.read_bytes() == whole
    path.write_bytes(b'{"answers": 3}\n' + whole)
    with pytest.raises(GenieError, match="P141"):
        open_journal(path, resume=True, overwrite=False)


def test_an_old_journal_is_neither_used_nor_lost_silently(tmp_path):
    path = tmp_path / "answers.jsonl"
    open_journal(path, resume=False, overwrite=False).add({"a": ["b"]}, Usage())
    with pytest.raises(GenieError, match="P140"):
        open_journal(path, resume=False, overwrite=False)
    anew = open_journal(path, resume=False, overwrite=True)
    assert anew.answers == {}
    # Until there is a first answer, the old ones stay: they may have cost money.
    assert open_journal(path, resume=True, overwrite=False).answers == {"a": ("b",)}
    for answers in ({"c": ["d"]}, {"e": ["f"]}):
        anew.add(answers, Usage())
    found = open_journal(path, resume=True, overwrite=False).answers
    assert found == {"c": ("d",), "e": ("f",)}


# -------------------------------------------------------------------------------- command


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("STUB_KEY", KEY)


def arguments(folder, server, *more, count):
    folder.mkdir(exist_ok=True)
    chosen = "".join(to_line(shown(number)) + "\n" for number in range(count))
    (folder / "chosen.jsonl").write_text(chosen)
    return [
        "data", "paraphrase", "auto", str(folder / "chosen.jsonl"), "--by", "endpoint",
        "--model", "stub", "--base-url", server.url, "--key-variable", "STUB_KEY", "--output",
        str(folder / "out.jsonl"), *more,
    ]  # fmt: skip


def test_the_command_writes_checked_rows_and_counts_tokens_and_cost(tmp_path, capsys):
    with stub_service() as server:
        more = ("--price-in", "2", "--price-out", "10", "--rejects", str(tmp_path / "bad.csv"))
        assert run(arguments(tmp_path, server, *more, count=10)) == 0
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert len(rows) == 20
    assert rows[0]["utterance"] == "would it be possible to mail QUOTED_STRING_0 to file 0"
    assert (rows[0]["parent"], rows[0]["source"]) == ("S0", "paraphrase")
    report = json.loads((tmp_path / "out.jsonl.manifest.json").read_text())
    usage = {"requests": 2, "prompt_tokens": 100, "answer_tokens": 50, "cost": 0.0007}
    assert report["usage"] == usage
    assert report["faults"]["missing-value"] == 10
    said = capsys.readouterr().err
    assert "2 requests: 100 tokens of prompts, 50 of answers, cost 0.0007" in said
    everything = "".join(file.read_text() for file in tmp_path.iterdir()) + said
    assert KEY not in everything


@pytest.mark.slow
def test_a_killed_run_goes_on_and_writes_what_an_unbroken_one_writes(tmp_path):
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    with stub_service() as server:
        assert run(arguments(whole, server, count=60)) == 0
    slow = ("--per-prompt", "2", "--at-once", "1", "--per-minute", "600")
    with stub_service() as server:
        program = "from genie_dp.cli import main; import sys; main(sys.argv[1:])"
        words = [sys.executable, "-c", program, *arguments(broken, server, *slow, count=60)]
        process = subprocess.Popen(words, stderr=subprocess.PIPE)
        answers = broken / "out.jsonl.answers.jsonl"
        deadline = time.monotonic() + 60
        while not answers.exists() or answers.read_bytes().count(b"\n") < 4:
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()
        assert len(server.sentences) < 60
        assert not (broken / "out.jsonl").exists()
        assert run(arguments(broken, server, count=60)) == 1  # an old journal lies there
        assert run(arguments(broken, server, "--resume", count=60)) == 0
        assert len(server.sentences) <= 60 + 2  # the prompt under way when it was killed
    assert (broken / "out.jsonl").read_bytes() == (whole / "out.jsonl").read_bytes()


def test_answers_outlive_an_output_that_is_written_again(tmp_path):
    with stub_service() as server:
        assert run(arguments(tmp_path, server, count=4)) == 0
        asked = len(server.bodies)
        (tmp_path / "out.jsonl").write_text("old")
        assert run(arguments(tmp_path, server, "--resume", "--overwrite", count=4)) == 0
        assert len(server.bodies) == asked
        assert (tmp_path / "out.jsonl").read_bytes().count(b"\n") == 8
        assert run(arguments(tmp_path, server, "--overwrite", count=4)) == 0
        assert len(server.bodies) == 2 * asked
