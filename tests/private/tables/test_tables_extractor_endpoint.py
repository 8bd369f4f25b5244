"""Metadata of private rows from a trusted service: tried against one on this machine."""

import json
import traceback

import pytest

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.paraphrase.endpoint import Client, Service
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.source import PrivateSource
from genie_dp.private.tables.extractor_endpoint import metadata_by_model, trust_model
from genie_dp.private.tables.schema import OTHER, Column, Schema
from genie_dp.private.tables.table import load_table
from genie_dp.run.manifest import ledger_of
from tests import stub_service as stub_module
from tests.stub_service import stub_service

INTENT = Column("intent", ("pay", "wake", OTHER))
MOOD = Column("mood", ("glad", "sad"))
SCHEMA = Schema((INTENT, Column("length", ("0-2", "3+")), MOOD))
SECRETS = ["pay xanthippe", "wake xanthippe up", "sing for xanthippe"]


@pytest.fixture(autouse=True)
def answers(monkeypatch):
    """The service answers with the first word, as it is told to."""

    def chat(self, body, step):
        sentence = json.loads(body["messages"][1]["content"])
        with self.server.lock:
            self.server.sentences.append(sentence)
        said = {"intent": sentence.split()[0], "mood": "glad", "more": 1}
        texts = {
            "ok": json.dumps(said),
            "fenced": f"```json\n{json.dumps(said)}\n```",
            "malformed": f"It is about {sentence}",
        }
        return {"choices": [{"message": {"content": texts[step]}}]}

    monkeypatch.setattr(stub_module._Handler, "chat", chat)


def source(tmp_path, unit="utterance"):
    path = tmp_path / "private.jsonl"
    rows = [{"utterance": text, "user": str(n // 2)} for n, text in enumerate(SECRETS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    cap = None if unit == "utterance" else 5
    return PrivateSource.open(path, language="thingtalk", unit=unit, cap=cap)


def model(server, columns=(INTENT, MOOD), *, is_trusted=True, **more):
    client = Client(Service(server.url, "stub", **more), sleep=lambda seconds: None)
    return trust_model(client, columns, is_trusted=is_trusted, at_once=2)


def codes(caught):
    return [problem.code for problem in caught.value.problems]


def test_answers_become_metadata_beside_what_is_extracted(tmp_path):
    with stub_service(["ok", "fenced"]) as server:
        found = metadata_by_model(SCHEMA, source(tmp_path, "user"), model(server))
    assert list(found) == [
        [
            {"intent": "pay", "length": "0-2", "mood": "glad"},
            {"intent": "wake", "length": "3+", "mood": "glad"},
        ],
        [{"intent": OTHER, "length": "3+", "mood": "glad"}],
    ]


def test_each_request_holds_one_row_alone(tmp_path):
    with stub_service() as server:
        metadata_by_model(SCHEMA, source(tmp_path), model(server))
        assert sorted(server.sentences[1:]) == sorted(SECRETS)
        assert "xanthippe" not in server.sentences[0]
        for body in server.bodies:
            assert json.dumps(body).count("xanthippe") <= 1


def test_only_columns_that_are_asked_for_are_told(tmp_path):
    with stub_service() as server:
        metadata_by_model(SCHEMA, source(tmp_path), model(server, [MOOD]))
        told = server.bodies[0]["messages"][0]["content"]
    assert "mood" in told
    assert "glad" in told
    assert "intent" not in told


def test_a_service_that_nobody_trusts_is_refused_before_anything_is_sent(tmp_path):
    with stub_service() as server:
        with pytest.raises(GenieError) as caught:
            model(server, is_trusted=False)
        assert not server.bodies
    assert codes(caught) == ["U509"]
    assert "--trusted-endpoint" in str(caught.value)


def test_private_rows_do_not_travel_in_the_clear():
    client = Client(Service("http://models.example.com/v1", "stub"))
    with pytest.raises(GenieError) as caught:
        trust_model(client, [INTENT], is_trusted=True)
    assert codes(caught) == ["U509"]
    assert trust_model(Client(Service("https://models.example.com/v1", "m")), [], is_trusted=True)


def test_rows_for_a_service_on_this_machine_go_by_no_proxy(tmp_path, monkeypatch):
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with stub_service() as proxy, stub_service() as server:
        monkeypatch.setenv("http_proxy", proxy.url)
        metadata_by_model(SCHEMA, source(tmp_path), model(server))
        assert not proxy.bodies
        assert sorted(server.sentences[1:]) == sorted(SECRETS)


def test_an_answer_without_a_bottom_is_none(tmp_path, monkeypatch):
    def chat(self, body, step):
        return {"choices": [{"message": {"content": "[" * 100_000}}]}

    monkeypatch.setattr(stub_module._Handler, "chat", chat)
    with stub_service() as server:
        found = metadata_by_model(SCHEMA, source(tmp_path), model(server))
    assert [unit[0]["intent"] for unit in found] == [OTHER] * 3


def test_an_answer_that_is_none_is_asked_for_again_and_then_says_nothing(tmp_path):
    with stub_service(["ok", "malformed", "malformed", "malformed"]) as server:
        client = Client(Service(server.url, "stub"), sleep=lambda seconds: None)
        asked = trust_model(client, (INTENT, MOOD), is_trusted=True, at_once=1)
        found = metadata_by_model(SCHEMA, source(tmp_path), asked)
    assert [unit[0]["intent"] for unit in found] == [OTHER, "wake", OTHER]
    assert [unit[0]["mood"] for unit in found] == ["", "glad", "glad"]


def test_a_row_that_the_service_refuses_says_nothing(tmp_path):
    with stub_service(["ok", (400, {})]) as server:
        client = Client(Service(server.url, "stub"))
        asked = trust_model(client, (INTENT,), is_trusted=True, at_once=1)
        found = metadata_by_model(SCHEMA, source(tmp_path), asked)
    assert [unit[0]["intent"] for unit in found] == [OTHER, "wake", OTHER]


@pytest.mark.parametrize("plan", [[(401, {})], ["ok", (401, {})], ["ok", *[(500, {})] * 20]])
def test_no_error_repeats_what_was_asked(tmp_path, plan, monkeypatch):
    answer = stub_module._Handler.answer

    def echo(self, status, content, headers=()):
        if status >= 400:
            content = {"error": {"message": f"cannot read {self.server.bodies[-1]}"}}
        answer(self, status, content, headers)

    monkeypatch.setattr(stub_module._Handler, "answer", echo)
    with stub_service(plan) as server:
        rows = source(tmp_path)
        with pytest.raises(GenieError) as caught:
            metadata_by_model(SCHEMA, rows, model(server, retries=2))
    assert codes(caught) == ["U510"]
    shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
    frames = "".join(shown.format())
    assert "xanthippe" not in frames
    assert "xanthippe" not in repr(model(server))


# -------------------------------------------------------------------------------- the command


def release(tmp_path, *options):
    source(tmp_path)
    private = tmp_path / "private.jsonl"
    if not ledger_of(private).exists():
        Ledger.create(ledger_of(private), Budget(3.0, 1e-6, "utterance"))
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.as_dict()))
    return cli.run(
        ["private", "table", "release", str(private), "--schema", str(tmp_path / "schema.json"),
         "--epsilon", "2", "--output", str(tmp_path / "table.json"), *map(str, options)]
    )  # fmt: skip


def test_the_command_has_columns_filled_by_a_trusted_service(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MY_KEY", "sk-secret")
    with stub_service() as server:
        options = ("--ask", "intent", "--ask", "mood", "--base-url", server.url, "--model", "m")
        assert release(tmp_path, *options, "--trusted-endpoint", "--key-variable", "MY_KEY") == 0
        assert sorted(server.sentences[1:]) == sorted(SECRETS)
        assert server.headers[0]["Authorization"] == "Bearer sk-secret"
        assert server.bodies[0]["temperature"] == 0
    said = capsys.readouterr()
    everything = said.out + said.err + (tmp_path / "table.json").read_text()
    assert "xanthippe" not in everything
    assert "sk-secret" not in everything
    assert load_table(tmp_path / "table.json").schema.names == ("intent", "length", "mood")


def test_the_command_sends_nothing_unless_the_service_is_trusted(tmp_path, capsys):
    with stub_service() as server:
        assert release(tmp_path, "--ask", "intent", "--base-url", server.url, "--model", "m") == 1
        assert not server.bodies
    assert "U509" in capsys.readouterr().err
    assert not Ledger.open(ledger_of(tmp_path / "private.jsonl")).entries


def test_a_service_that_fails_costs_nothing(tmp_path, capsys):
    with stub_service(["ok", (401, {})]) as server:
        options = ("--ask", "intent", "--base-url", server.url, "--model", "m")
        assert release(tmp_path, *options, "--trusted-endpoint") == 1
    assert "U510" in capsys.readouterr().err
    assert not Ledger.open(ledger_of(tmp_path / "private.jsonl")).entries
    assert not list(tmp_path.glob(".*work"))


@pytest.mark.parametrize(
    "options",
    [
        ("--ask", "intent"),
        ("--model", "m"),
        ("--trusted-endpoint",),
        ("--ask", "intent", "--model", "m"),
    ],
)
def test_options_of_a_model_go_together(tmp_path, options):
    assert release(tmp_path, *options) == 2


def test_a_column_that_there_is_none_of_is_told(tmp_path, capsys):
    options = ("--ask", "mod", "--base-url", "http://localhost:1/v1", "--model", "m")
    assert release(tmp_path, *options, "--trusted-endpoint") == 1
    assert "T504" in capsys.readouterr().err
