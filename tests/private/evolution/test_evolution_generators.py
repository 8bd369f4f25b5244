"""Recipes become the generators and embeddings that they name, and nothing private is asked."""

import json
from pathlib import Path

import pytest

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.evolution.build import build_embedding
from genie_dp.private.evolution.config import GENERATORS, EmbeddingRecipe, EvolutionRecipe
from genie_dp.records import Example
from genie_dp.rows import read_rows
from tests import stub_service as stub_module
from tests.stub_service import stub_service

pytest.importorskip("dp_accounting")

CANARY = "zyzzyva"
SETTINGS = "iterations: 2\npopulation: 4\nvariations: 2\nrows: 6\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [{"utterance": f"pay my bill {CANARY}", "intent": "pay"}] * 50
    Path("private.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    donated = [
        {"utterance": "wake me up at seven", "metadata": {"intent": "wake"}},
        {"utterance": "pay my bill", "metadata": {"intent": "pay"}},
    ]
    Path("donated.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in donated))
    budget = ("--epsilon", "8", "--delta", "1e-5", "--unit", "utterance")
    assert cli.run(["private", "budget", "init", "private.jsonl", *budget]) == 0
    return tmp_path


def evolved(recipe):
    Path("recipe.yaml").write_text(f"{SETTINGS}{recipe}")
    words = ("private", "evolve", "private.jsonl", "--recipe", "recipe.yaml", "--epsilon", "4")
    assert cli.run([*words, "-o", "made"]) == 0
    return list(read_rows("made/rows.jsonl")), json.loads(Path("made/report.json").read_text())


LABELS = "label: field:intent\nfractions: {wake: 1, pay: 1}\n"


def test_a_service_is_asked_and_sees_nothing_private(folder, monkeypatch):
    said = iter(range(10_000))

    def chat(self, body, step):
        with self.server.lock:
            text = f"wake me at number {next(said)}"
        return {"choices": [{"message": {"role": "assistant", "content": text}}],
                "usage": {"prompt_tokens": 100, "completion_tokens": 10}}  # fmt: skip

    monkeypatch.setattr(stub_module._Handler, "chat", chat)
    with stub_service() as server:
        rows, report = evolved(
            f"{LABELS}generator:\n  kind: endpoint\n  model: stub\n  url: {server.url}\n"
            "  examples: [donated.jsonl]\n  prompt_price: 2\n"
        )
        asked = json.dumps(server.bodies)
    assert CANARY not in asked
    assert "pay my bill" in asked
    assert rows
    assert all(row.utterance.startswith("wake me at number") for row in rows)
    assert report["generator"] == "endpoint:stub"
    assert report["model"]["prompts"] >= 8


def test_a_language_model_says_the_candidates(folder):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests.private.evolution.evolution_models import save_model

    model = save_model(folder / "model")
    rows, report = evolved(
        f"generator:\n  kind: language-model\n  model: {model}\n  longest: 8\n"
        "  examples: [donated.jsonl]\n"
    )
    assert rows
    assert report["generator"] == "model:model"
    assert report["model"]["prompts"] >= 8


@pytest.mark.parametrize("kind", ["hashed", "programs", "both"])
def test_an_embedding_is_of_the_kind_that_is_named(kind):
    found = build_embedding(EmbeddingRecipe(kind, 64), get_language("sexpr"))
    words, program = found.vectors([Example("", "hi", "", "sexpr"), Example("", "", "( A )")])
    assert words.any() == (kind != "programs")
    assert program.any() == (kind != "hashed")


@pytest.mark.parametrize("kind", GENERATORS)
def test_every_kind_may_be_named_alone_or_says_what_it_needs(tmp_path, kind):
    path = tmp_path / "recipe.yaml"
    path.write_text(f"generator: {kind}\n")
    if kind == "grammar":
        assert EvolutionRecipe.read(path, {}).generator.kind == "grammar"
        return
    with pytest.raises(GenieError, match=r"recipe.yaml:1:12: error\[U003\]"):
        EvolutionRecipe.read(path, {})
