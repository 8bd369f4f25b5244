"""Candidates of a service: tried against one on this machine that fails as it is told."""

import json
import re

import pytest

from genie_dp.errors import GenieError
from genie_dp.paraphrase.endpoint import Client, Service
from genie_dp.paraphrase.journal import Journal, open_journal
from genie_dp.private.evolution.config import EndpointRecipe
from genie_dp.private.evolution.endpoint import Endpoint, open_endpoint
from genie_dp.private.evolution.generator import Donated, Pool, VoteCandidate
from genie_dp.private.evolution.prompting import PromptedGenerator, Prompter, shipped_templates
from genie_dp.private.source import PrivateRow
from genie_dp.records import Example
from tests import stub_service as stub_module
from tests.stub_service import stub_service

KEY = "sk-very-secret"
DONATED = (Donated("pay my bill", {"intent": "pay"}), Donated("wake me up", {"intent": "wake"}))
RECORDS = [{"intent": intent} for intent in ("pay", "wake", "pay", "pay", "wake")]


@pytest.fixture(autouse=True)
def sentences(monkeypatch):
    """The service answers with a sentence of its own, or with one for each task."""

    def chat(self, body, step):
        asked = body["messages"][-1]["content"]
        tasks = asked.count("Task ")
        with self.server.lock:
            number = len(self.server.bodies)
        if step == "malformed":
            text = "Sure!"
        elif step == "silent":
            text = "..."
        elif tasks:
            text = json.dumps({f"{n + 1}": [f"sentence {number} {n}"] for n in range(tasks)})
        else:
            text = f'"Said {number}"'
        usage = {"prompt_tokens": 10, "completion_tokens": 3}
        return {"choices": [{"message": {"content": text}}], "usage": usage}

    monkeypatch.setattr(stub_module._Handler, "chat", chat)


def generator(server, journal=None, **more):
    recipe = EndpointRecipe(**{"variation": "rephrase", "shots": 1, **more})
    client = Client(Service(server.url, "stub", key=KEY, retries=2), sleep=lambda seconds: None)
    endpoint = Endpoint(client, journal or Journal(None), recipe)
    prompter = Prompter(shipped_templates("chat"), "chat", Pool(DONATED), recipe=recipe)
    return PromptedGenerator(endpoint, prompter, recipe)


def texts(candidates):
    return [candidate.example.utterance for candidate in candidates]


def sent(server):
    return "\n".join(message["content"] for body in server.bodies for message in body["messages"])


def test_every_record_is_asked_for_by_itself_and_other_seeds_anew():
    with stub_service() as server:
        asked = generator(server)
        made = asked.random(RECORDS, seed=1)
        assert [one.metadata for one in made] == RECORDS
        assert len(set(texts(made))) == len(server.bodies) == 5
        assert all(text.startswith("said ") for text in texts(made))
        roles = [[message["role"] for message in body["messages"]] for body in server.bodies]
        assert roles == [["system", "user"]] * 5
        assert not set(texts(made)) & set(texts(asked.random(RECORDS, seed=2)))
        assert len(server.bodies) == 10


def test_several_prompts_go_into_one_request_if_told_so_and_else_one_by_one():
    with stub_service() as server:
        made = generator(server, per_prompt=2, at_once=1).random(RECORDS, seed=1)
        assert len(server.bodies) == 3
    assert texts(made)[:4] == ["sentence 1 0", "sentence 1 1", "sentence 2 0", "sentence 2 1"]
    with stub_service(["malformed", "malformed"]) as server:
        asked = generator(server, per_prompt=5, at_once=1)
        assert texts(asked.random(RECORDS, seed=1)) == [f"said {n}" for n in range(3, 8)]
    assert asked.completer.malformed == 2
    assert asked.completer.usage.requests == 7


def test_no_more_requests_are_under_way_than_allowed(monkeypatch):
    most, now = [0], [0]
    chat = stub_module._Handler.chat

    def slow(self, body, step):
        with self.server.lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
        found = chat(self, body, step)
        with self.server.lock:
            now[0] -= 1
        return found

    monkeypatch.setattr(stub_module._Handler, "chat", slow)
    with stub_service() as server:
        generator(server, at_once=2).random(RECORDS * 5, seed=1)
        assert len(server.bodies) == 25
    assert 1 <= most[0] <= 2


@pytest.mark.parametrize("trouble", [(429, {}), (500, {}), (503, {}), "drop", "no-chat"])
def test_what_may_pass_is_tried_again(trouble):
    with stub_service([trouble, trouble]) as server:
        asked = generator(server, at_once=1)
        assert len(texts(asked.random(RECORDS, seed=1))) == 5
        assert len(server.bodies) == 7
    assert asked.completer.report()["tried_again"] == 2
    assert asked.completer.report()["requests"] == 5


def test_tries_come_to_an_end_and_a_run_that_goes_on_asks_nothing_twice(tmp_path):
    path = tmp_path / "answers.jsonl"
    with stub_service(["ok", "ok", *[(500, {})] * 9]) as server:
        journal = open_journal(path, resume=False, overwrite=False)
        with pytest.raises(GenieError, match="P152"):
            generator(server, journal, at_once=1).random(RECORDS, seed=1)
        # Three tries of the third prompt, and at most so many of the one that was begun meanwhile.
        assert 5 <= len(server.bodies) <= 8
    assert len(path.read_text().splitlines()) == 2
    with stub_service() as server:
        journal = open_journal(path, resume=True, overwrite=False)
        asked = generator(server, journal, prompt_price=2.0, answer_price=4.0)
        made = asked.random(RECORDS, seed=1)
        varied = asked.vary(made, 0.5, seed=2)
        assert len(server.bodies) == 3 + 5
        assert asked.random(RECORDS, seed=1) == made
        assert asked.vary(made, 0.5, seed=2) == varied
        assert len(server.bodies) == 8
    said = asked.completer.report()
    assert said["requests"] == 10
    assert said["requests_of_this_run"] == 8
    assert (said["prompt_tokens"], said["answer_tokens"]) == (100, 30)
    assert said["cost"] == pytest.approx((100 * 2 + 30 * 4) / 1e6)


def test_without_a_sentence_it_is_asked_again_then_the_parent_stays_or_the_nearest_is_borrowed():
    parents = [VoteCandidate(Example("", "pay it", ""), {"intent": "pay"})]
    with stub_service(["silent"]) as server:
        assert texts(generator(server).vary(parents, 0.5, seed=1)) == ["said 2"]
    with stub_service(["silent"] * 18) as server:
        asked = generator(server)
        assert asked.vary(parents, 0.5, seed=1) == parents
        assert len(server.bodies) == 3
        assert texts(asked.random(RECORDS, seed=1)) == [
            "pay my bill", "wake me up", "pay my bill", "pay my bill", "wake me up"
        ]  # fmt: skip
    assert (asked.tally.unvaried, asked.tally.borrowed) == (1, 5)


def small_instruct_model(asked, number):
    """Return what such models answer: chatter, labels, comments, copies of the prompt."""
    sentence, told = f"Wake aunt number {number}", asked.strip().splitlines()[-1]
    forms = (
        f'Sure! Here is a sentence that somebody might say:\n\n"{sentence}"\n\nI hope this helps!',
        f"{told}\n{sentence}",
        f"**Sentence:** {sentence}\n**Explanation:** it is about {told}",
        asked,  # nothing but a copy
        f"Certainly! Here are some examples:\n\n1. {sentence}\n2. Pay aunt\n3. Greet aunt",
        f'Example: "{sentence}" (This sentence is short.)',
        told.partition(": ")[2],
        "I'm sorry, but I can't assist with that request.",
        f"User: {sentence}\nAssistant: Done!",
    )
    return forms[number % len(forms)]


@pytest.mark.parametrize("variation", ["fill", "rephrase"])
def test_the_sentences_of_small_instruct_models_are_found_in_their_chatter(monkeypatch, variation):
    def chat(self, body, step):
        with self.server.lock:
            number = len(self.server.bodies)
        text = small_instruct_model(body["messages"][-1]["content"], number)
        return {"choices": [{"message": {"content": text}}], "usage": {}}

    monkeypatch.setattr(stub_module._Handler, "chat", chat)
    with stub_service() as server:
        asked = generator(server, variation=variation, at_once=1, tries=9)
        new = asked.random(RECORDS * 6, seed=1)
        varied = asked.vary(new, 0.5, seed=2)
        bodies = len(server.bodies)
    assert asked.tally.borrowed == asked.tally.unvaried == 0
    for said in (new, varied):
        assert [t for t in texts(said) if not re.fullmatch(r"wake aunt number \d+", t)] == []
    # Copies and refusals are asked for again: three of nine answers.
    assert asked.tally.unusable == bodies - 60
    assert 60 < bodies < 100


@pytest.mark.parametrize("variation", ["fill", "rephrase"])
def test_what_is_sent_is_metadata_donated_examples_and_candidates_alone(variation):
    parents = [VoteCandidate(Example("", "greet aunt mary", ""), {"intent": "pay"})]
    with stub_service() as server:
        asked = generator(server, variation=variation)
        asked.random(RECORDS, seed=1)
        asked.vary(parents, 0.1, seed=1)
        for secret in (
            PrivateRow("my own secret"),
            VoteCandidate(Example("P1", "my own secret", "", source="private")),
        ):
            with pytest.raises(TypeError):
                asked.vary([*parents, secret], 0.5, seed=1)
        said = sent(server)
    assert "secret" not in said
    public = "\n".join(shipped_templates("chat").sections.values())
    words = {word.strip(".:;") for word in said.split()} - {
        word.strip(".:;") for word in public.split()
    }
    known = "pay my bill wake me up intent greet aunt mary ___ 10"
    assert words <= set(known.split())


def test_the_key_is_in_no_file_error_or_repr(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", KEY)
    path = tmp_path / "answers.jsonl"
    with stub_service(["ok", (401, {})]) as server:
        recipe = EndpointRecipe("stub", url=server.url, key_variable="MY_KEY", at_once=1)
        asked = open_endpoint(recipe, tmp_path)
        assert asked.client.service.key == KEY
        templates = shipped_templates("chat")
        made = PromptedGenerator(asked, Prompter(templates, "chat"), recipe)
        with pytest.raises(GenieError) as caught:
            made.random(RECORDS, seed=1)
        assert server.headers[0]["Authorization"] == f"Bearer {KEY}"
    assert KEY not in path.read_text() + str(caught.value) + repr(made) + made.fingerprint()
    assert "pay" not in path.read_text()
