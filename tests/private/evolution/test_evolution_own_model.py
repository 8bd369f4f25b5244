"""Candidates of our own generators, with control codes and without: tiny ones, made here."""

import json

import pytest

pytest.importorskip("torch")

import torch

from genie_dp import cli
from genie_dp.errors import GenieError
from genie_dp.languages import get_language
from genie_dp.private.evolution.config import TrainedRecipe
from genie_dp.private.evolution.generator import VoteCandidate
from genie_dp.private.evolution.own_model import load_own_model
from genie_dp.private.evolution.prompting import PromptedGenerator
from genie_dp.private.generators.codes import OTHER, Codes
from genie_dp.private.generators.generator import new_generator, save_generator
from genie_dp.private.generators.models import DecoderSettings, collate
from genie_dp.private.generators.stages import RUN, STAGES, LabelledRow, encode_row
from genie_dp.private.ledger.book import Ledger
from genie_dp.private.ledger.budget import Budget
from genie_dp.private.ledger.mechanisms import Gaussian
from genie_dp.records import Example, Spent
from genie_dp.rng import stream

torch.set_num_threads(1)
ROWS = [
    LabelledRow(("wake", "me", "up"), code="wake"),
    LabelledRow(("pay", "my", "bill"), code="pay"),
]
SPENT = Spent(3.0, 1e-5, "utterance", "add-or-remove-one", "rdp", ())
RECORDS = [{"intent": "wake"}, {"intent": "pay"}, {"intent": "song"}, {}] * 5


def _learn(made):
    """Teach a generator the rows roughly, so that it ends its sentences."""
    for stage in STAGES[made.kind]:
        model = made.models[stage.name]
        rows = [encode_row(stage, row, made.tokenizer, longest=model.longest) for row in ROWS]
        batch = collate(rows)
        with torch.random.fork_rng():
            torch.manual_seed(0)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
            for _ in range(25):
                optimizer.zero_grad()
                model.loss(batch).sum().backward()
                optimizer.step()


def saved(folder, kind, facts=None, *, is_taught=False):
    codes = Codes(("pay", "wake")) if kind == "control" else None
    settings = DecoderSettings(size=16, layers=1, heads=2, longest=64)
    made = new_generator(kind, get_language("sexpr"), ROWS, settings, codes=codes)
    if is_taught:
        _learn(made)
    if codes:
        made = made.with_weights((3.0, 0.0, 0.0))
    save_generator(made, folder, spent=SPENT, facts=facts)
    return folder


@pytest.fixture(scope="module", params=["one-stage", "control"])
def generator(request, tmp_path_factory):
    folder = saved(tmp_path_factory.mktemp("own"), request.param, is_taught=True)
    column = "intent" if request.param == "control" else ""
    recipe = TrainedRecipe(model=str(folder), column=column, tries=5)
    return PromptedGenerator(*load_own_model(recipe), recipe)


def texts(candidates):
    return [candidate.example.utterance for candidate in candidates]


def test_each_record_gets_a_candidate_and_equal_seeds_equal_ones(generator):
    made = generator.random(RECORDS, seed=1)
    assert [one.metadata for one in made] == RECORDS
    assert all(texts(made))
    assert made == generator.random(RECORDS, seed=1) != generator.random(RECORDS, seed=2)


def test_a_variation_keeps_the_first_words(generator):
    parents = [VoteCandidate(Example("", "wake me up", ""), {"intent": "wake"})] * 8
    varied = generator.vary(parents, 0.4, seed=1)
    assert all(text.startswith("wake me") for text in texts(varied))
    assert varied == generator.vary(parents, 0.4, seed=1)
    assert generator.vary(parents, 0.0, seed=1) == parents


def test_codes_come_from_the_column_and_else_as_often_as_was_released(tmp_path):
    folder = saved(tmp_path / "g", "control")
    model, prompter = load_own_model(TrainedRecipe(model=str(folder), column="intent"))
    asked = [prompter.random(record, stream(n)).text for n, record in enumerate(RECORDS)]
    assert asked == ["wake", "pay", OTHER, "pay"] * 5
    private = VoteCandidate(Example("P", "secret", "", source="private"))
    with pytest.raises(TypeError):
        prompter.vary(private, 0.5, stream(0))
    # The fingerprint is of weights and codes.
    other = load_own_model(TrainedRecipe(model=str(folder), column="skill"))
    assert model.fingerprint() == other[0].fingerprint()
    assert prompter.fingerprint() != other[1].fingerprint()


@pytest.mark.parametrize(
    ("kind", "column"), [("two-stage", ""), ("control", ""), ("one-stage", "intent")]
)
def test_generators_that_do_not_fit_are_told(tmp_path, kind, column):
    with pytest.raises(GenieError, match="U508"):
        load_own_model(TrainedRecipe(model=str(saved(tmp_path / "g", kind)), column=column))


def test_the_command_takes_a_generator_that_the_ledger_knows_and_no_other(
    tmp_path, monkeypatch, capsys
):
    pytest.importorskip("dp_accounting")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "private.jsonl").write_text(json.dumps({"utterance": "wake me up"}) + "\n")
    recipe = {
        "generator": {"kind": "trained", "model": "own"},
        "population": 2, "variations": 2, "iterations": 1, "rows": 2,
    }  # fmt: skip
    (tmp_path / "recipe.yaml").write_text(json.dumps(recipe))
    path = tmp_path / "private.ledger.json"
    ledger = Ledger.create(path, Budget(8.0, 1e-5, "utterance"))
    saved(tmp_path / "own", "one-stage", {RUN: "training"}, is_taught=True)
    words = ["private", "evolve", "private.jsonl", "--recipe", "recipe.yaml", "-o", "made"]
    words += ["--language", "sexpr", "--epsilon", "2"]
    assert cli.run(words) == 1
    assert "U009" in capsys.readouterr().err
    assert not Ledger.open(path).entries
    ledger.spend([Gaussian(50.0)], purpose="generator, one-stage", run="training")
    assert cli.run(words) == 0
    assert [entry.run for entry in Ledger.open(path).entries][0] == "training"
