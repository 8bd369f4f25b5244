"""Training that goes on from a finished parser."""

import json
import shutil
from dataclasses import asdict, replace

import pytest
import torch
from safetensors.torch import load_file

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.errors import GenieError
from genie_dp.models.base import FOLDER as BASE_FOLDER
from genie_dp.models.saved import SavedModel, continue_from, load_model
from genie_dp.models.seq2seq import build
from genie_dp.models.vocabulary import SPECIAL, Vocabulary
from genie_dp.parser.start import Start, guarantee_of_both
from genie_dp.private.ledger import guard
from genie_dp.records import Spent
from tests.dataset.dataset_rows import row, write
from tests.parser.parser_setup import HOME, LIGHT, MAIL, WORDS, rows, train, write_rows

OFF = f"now => {LIGHT} param:at:Time = TIME_0 param:power:Enum(on,off) = enum:off"
NEW = [row(f"D{word}", f"douse lamps from TIME_0 for the {word}", OFF) for word in WORDS]
SPENT = Spent(1.0, 1e-6, "user", "add-or-remove-one", "pld", ("nothing",))


# Tables with a row for each word, or for each that can be generated.
BY_WORD = "words.weight", "pointer.bias", "vocabulary.bias", "vocabulary.weight", "model.bias"


def go_on(folder, start, *options, **settings):
    """Train on old rows and new ones in a folder, from a parser; return where the new one is."""
    inputs = [write(folder / "more.jsonl", [*rows(), *NEW])]
    recipe = settings.pop("recipe", "batch: 8\nrate: 0.01\nvalidations: 2\nout_of_scope: 0\n")
    options = ("--start", start, *options)
    return train(folder, *options, inputs=inputs, recipe=recipe, **settings)


def right(folder, made):
    """Return the share of rows that a parser parses as they say."""
    parser = gd.Parser.from_pretrained(folder, threshold=0)
    said = [one.utterance.replace("TIME_0", "7:15 am") for one in made]
    programs = [one.program.replace("TIME_0", "time:7:15:00") for one in made]
    answers = [reply.answers[0].program if reply.answers else "" for reply in parser.parse(said)]
    return sum(a == b for a, b in zip(answers, programs, strict=True)) / len(made)


@pytest.mark.slow
def test_it_learns_the_new_rows_sooner_than_a_new_parser_and_keeps_the_old(trained, tmp_path):
    further = go_on(tmp_path, trained, steps=40)
    old = [one for one in rows() if "_0" not in one.utterance]
    assert right(further, NEW) >= 0.75
    assert right(further, old) >= 0.75
    (tmp_path / "fresh").mkdir()
    fresh = train(tmp_path / "fresh", inputs=[tmp_path / "more.jsonl"], steps=40)
    assert right(fresh, NEW) < right(further, NEW)


@pytest.mark.trains
def test_with_nothing_learned_it_answers_as_its_start_does(trained, tmp_path):
    recipe = "batch: 8\nrate: 1.0e-9\nweight_decay: 0\nvalidations: 1\nout_of_scope: 0\n"
    same = go_on(tmp_path, trained, steps=1, recipe=recipe)
    asked = [f"show mail about {word}" for word in WORDS]
    one, other = (gd.Parser.from_pretrained(x, threshold=0).parse(asked) for x in (trained, same))
    assert [x.answers[0].program for x in one] == [x.answers[0].program for x in other]
    first, second = (load_file(x / "model.safetensors") for x in (trained, same))
    word = load_model(same).vocabulary.index["mail"]
    before = load_model(trained).vocabulary.index["mail"]
    torch.testing.assert_close(
        first["embedding.words.weight"][before], second["embedding.words.weight"][word]
    )


@pytest.mark.trains
def test_training_begins_with_the_shipped_base(tmp_path):
    made = train(tmp_path, recipe="batch: 8\nout_of_scope: 0\n", steps=1)
    base, parser = load_model(BASE_FOLDER), load_model(made)
    assert parser.settings == {**base.settings, "own_rows": True, "word_dropout": 0.1}
    known = parser.vocabulary.index
    assert all(word in known for word in base.vocabulary.words)
    assert any(token.startswith("@com.example.mail") for token in parser.vocabulary.cards)
    manifest = json.loads((made / "manifest.json").read_text())
    assert manifest["start"]["parser"] == manifest["config"]["start"] == "base"
    assert "began with the base" in (made / "README.md").read_text()


@pytest.mark.parametrize(
    ("architecture", "settings"),
    [("rnn", {}), ("rnn", {"language_model": True}), ("transformer", {}), ("mqan", {})],
)
def test_every_word_keeps_what_the_network_knew_of_it(architecture, settings):
    small = Vocabulary((*SPECIAL, "now", "a", "b"), 5)
    # "b" was only read, and can be generated now: there are as many words, in another order.
    for other in (("now", "b", "a"), ("now", "b", "c", "a", "z")):
        large = small.extend(Vocabulary((*SPECIAL, *other), 6))
        torch.manual_seed(1)
        network, full = build(architecture, small, settings)
        made = continue_from(SavedModel(network, small, architecture, full, {}), large)
        own = dict(made.model.named_parameters())
        tables = 0
        for name, before in network.named_parameters():
            if name.endswith(BY_WORD):
                known = [large.index[word] for word in small.words[: len(before)]]
                assert torch.equal(own[name][known], before)
                tables += 1
            else:
                assert torch.equal(own[name], before)
        assert tables >= 2


@pytest.mark.trains
def test_a_parser_can_be_replaced_by_one_that_names_its_start(trained, tmp_path):
    further = shutil.copytree(trained, tmp_path / "parser")
    with (further / "recipe.yaml").open("a") as recipe:
        recipe.write("reader: grammar\ncurriculum: 0.0\ngroups: {}\n")  # as version 0.1 did
    go_on(tmp_path, further, "--overwrite", steps=2)
    manifest = json.loads((further / "manifest.json").read_text())
    earlier = json.loads((trained / "manifest.json").read_text())
    assert manifest["start"]["parser"] == "parser"
    assert earlier["inputs"].items() < manifest["inputs"].items()
    assert (further / "start.md").read_bytes() == (trained / "README.md").read_bytes()
    assert "It went on from the parser parser" in (further / "README.md").read_text()
    facts = [json.loads((x / "config.json").read_text())["parser"] for x in (trained, further)]
    assert facts[0]["longest"] <= facts[1]["longest"]
    assert facts[0]["locale"] == facts[1]["locale"]


@pytest.mark.slow
def test_a_run_that_was_interrupted_goes_on_to_the_same_weights(trained, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    folders = [tmp_path / "whole", tmp_path / "interrupted"]
    for folder in folders:
        folder.mkdir()
    whole = go_on(folders[0], trained, steps=20)
    with monkeypatch.context() as patch:
        patch.setattr("genie_dp.parser.run.deliver", stop)
        go_on(folders[1], trained, steps=20, code=130)
    other = go_on(folders[1], trained, "--resume", steps=20)
    first, second = ((x / "model.safetensors").read_bytes() for x in (whole, other))
    assert first == second


@pytest.mark.trains
def test_from_python_it_takes_a_parser(trained, tmp_path):
    start = gd.Parser.from_pretrained(trained)
    rows_ = [*rows(), *NEW]
    parser = gd.train(rows_, library=[MAIL, HOME], start=start, steps=2, out_of_scope=0)
    assert parser("show mail about lunch").answers
    with pytest.raises(GenieError, match="N010"):
        gd.train(rows_, library=[MAIL, HOME], start=tmp_path / "missing", steps=2)


def test_another_network_and_another_language_are_refused(trained, tmp_path, capsys):
    go_on(tmp_path, trained, recipe="architecture: transformer\ntypes: false\n", code=1)
    told = capsys.readouterr().err
    assert "N012" in told
    assert "architecture: expected 'rnn'" in told
    assert "types: expected True" in told
    bracket = row("1", "wake me", "[IN:ALARM wake ]", language="sexpr")
    words = ["train", write(tmp_path / "s.jsonl", [bracket]), "--start", trained, "--steps", 1]
    assert run([str(word) for word in (*words, "--output", tmp_path / "s")]) == 1
    assert "the rows are of language sexpr" in capsys.readouterr().err


def test_the_guarantee_covers_the_start_as_well(tmp_path):
    start = Start(tmp_path, {}, {"inputs": {}, "spent": asdict(SPENT)}, "")
    plain = Start(tmp_path, {}, {"inputs": {}, "spent": None}, "")
    more = replace(SPENT, epsilon=2.0)
    assert guarantee_of_both(None, SPENT, None) == SPENT
    assert guarantee_of_both(plain, SPENT, None) == SPENT
    assert guarantee_of_both(start, None, None) == SPENT
    assert guarantee_of_both(start, SPENT, None) == SPENT
    assert guarantee_of_both(start, None, more) == more
    with pytest.raises(GenieError, match="N006"):
        guarantee_of_both(start, more, None)
    for less in (replace(SPENT, epsilon=0.5), replace(more, unit="utterance")):
        with pytest.raises(GenieError, match="N006"):
            guarantee_of_both(start, None, less)


@pytest.mark.trains
def test_what_the_start_learned_of_private_rows_stays_private(tmp_path, capsys):
    (tmp_path / "first").mkdir()
    path = write_rows(tmp_path / "first")
    ledger = tmp_path / "elsewhere.json"
    path.with_name("rows.jsonl.manifest.json").write_text(json.dumps({"private": [str(ledger)]}))
    first = train(tmp_path / "first", inputs=[path], steps=2)
    path.unlink()
    second = go_on(tmp_path, first, steps=2)
    assert "B035" in capsys.readouterr().err
    manifest = json.loads((second / "manifest.json").read_text())
    assert manifest["private"] == [str(ledger)]
    with pytest.raises(GenieError, match="has learned of private rows"):
        guard.refuse_learned(second, None, code="H008")
