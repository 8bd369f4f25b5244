"""Laws of what a base is trained on: batches of many libraries, and what is left of them."""

import json

import numpy as np
import pytest
import torch

import genie_dp as gd
from genie_dp.cli import run
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.models.batches import collate
from genie_dp.models.saved import SavedModel
from genie_dp.models.sentences import encode
from genie_dp.models.seq2seq import build
from genie_dp.models.vocabulary import UNK, Pair
from genie_dp.parser import base
from genie_dp.parser.base import LibraryBatches, for_library, prepare_library, vocabulary_of_all
from genie_dp.parser.config import InputFile, ParserConfig
from tests.dataset.dataset_rows import row, write

LIBRARIES = {
    "lamps": (
        {"dim": {"level": "integer"}, "light_up": {}},
        [("dim it to NUMBER_0", "dim( level= NUMBER_0 )"), ("light up", "light_up( )")],
    ),
    "songs": (
        {"dim": {"song": "string"}, "skip": {}},
        [("make hello softer", 'dim( song= " hello " )'), ("skip this one", "skip( )")],
    ),
}


def prepared(folder, name):
    functions, said = LIBRARIES[name]
    tools = [
        {"name": tool, "description": tool, "inputSchema": {
            "type": "object", "properties": {x: {"type": kind} for x, kind in inputs.items()}}}
        for tool, inputs in functions.items()
    ]  # fmt: skip
    folder.mkdir()
    (folder / "tools.json").write_text(json.dumps({"tools": tools}))
    made = [
        row(f"{name}{i}", *said[i % 2], language="calls", functions=(list(functions)[i % 2],))
        for i in range(24)
    ]  # fmt: skip
    config = ParserConfig((InputFile(str(write(folder / "rows.jsonl", made))),), steps=1, batch=8)
    return prepare_library(name, config, "calls", gd.load_library(folder / "tools.json")), config


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    folder = tmp_path_factory.mktemp("base")
    made = [prepared(folder / name, name) for name in LIBRARIES]
    libraries = [library for library, _ in made]
    return libraries, vocabulary_of_all(libraries), made[0][1]


@pytest.fixture(autouse=True)
def _a_library_of_two_functions_may_hide_one(monkeypatch):
    monkeypatch.setattr(base, "_MOST_HIDDEN", 1.0)


def test_a_batch_is_of_one_library_and_the_same_whenever_it_is_made(both):
    libraries, vocabulary, config = both
    batches = LibraryBatches(libraries, vocabulary, config, 40)
    other = LibraryBatches(libraries, vocabulary, config, 40)
    own = [{vocabulary.index[x.own(token)] for token in x.cards} for x in libraries]
    assert own[0].isdisjoint(own[1])
    hidden = 0
    for number in reversed(range(40)):
        batch, tokens = batches.take(number)
        again, same = other.take(number)
        assert torch.equal(batch.targets, again.targets)
        assert tokens == same
        mine, others = own if batches.chosen[number] == 0 else own[::-1]
        said = set(batch.targets.flatten().tolist())
        assert said.isdisjoint(others)
        assert set(batch.tokens.tolist()) <= mine
        missing = mine - set(batch.tokens.tolist())
        assert said.isdisjoint(missing)
        hidden += bool(missing)
    assert 0 < hidden < 40


def test_what_is_said_of_a_hidden_function_is_refused(both, monkeypatch):
    monkeypatch.setattr(base, "_HIDDEN", 1.0)
    libraries, vocabulary, config = both
    batches = LibraryBatches(libraries, vocabulary, config, 20)
    refusal = vocabulary.index[OUT_OF_SCOPE]
    refused = 0
    for number in range(20):
        batch, _ = batches.take(number)
        library = libraries[batches.chosen[number]]
        names = {vocabulary.index[library.own(x)]: x for x in library.cards}
        hidden = [names[x] for x in set(names) - set(batch.tokens.tolist())]
        sentences = {said: program for said, program in LIBRARIES[library.name][1]}
        for words, targets in zip(batch.source.sentences, batch.targets.tolist(), strict=True):
            program = sentences.get(" ".join(words), "")
            if program.startswith(tuple(hidden)):
                assert targets[0] == refusal
                refused += 1
    assert refused


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_base_says_of_a_library_what_it_was_taught_of_it(both, name):
    libraries, vocabulary, _ = both
    library = next(x for x in libraries if x.name == name)
    torch.manual_seed(1)
    model, settings = build("rnn", vocabulary, {"size": 16, "own_rows": False, "smoothing": 0.0})
    for module in model.modules():  # nothing random is left
        if hasattr(module, "share"):
            module.share = 0.0
    model.embedding.word_dropout = model.cards.phrase_dropout = model.cards.card_dropout = 0.0
    pairs = [Pair.from_text(*each) for each in LIBRARIES[name][1]]
    taught = [Pair(x.sentence, tuple(map(library.own, x.program))) for x in pairs]
    batch = collate([encode(x, vocabulary) for x in taught], vocabulary)
    ids = np.array(sorted(vocabulary.index[library.own(token)] for token in library.cards))
    batch = base.replace(batch, tokens=torch.from_numpy(ids))
    learned = model.train().loss(batch)
    alone = for_library(
        base.without_cards(SavedModel(model.eval(), vocabulary, "rnn", settings, {})),
        library.tokens,
        library.cards,
    )
    alone.model.eval().smoothing = 0.0
    again = collate([encode(x, alone.vocabulary) for x in pairs], alone.vocabulary)
    assert UNK not in again.targets
    # Both choose among the tokens of the library and those of syntax, of which it may lack some.
    assert (alone.model.loss(again) <= learned + 1e-4).all()
    torch.testing.assert_close(alone.model.loss(again), learned, atol=1e-4, rtol=0)


def test_tools_without_templates_answer_by_those_of_an_import(tmp_path, capsys):
    tools = [{"name": "book_table", "description": "Book a table.", "inputSchema": {
        "type": "object", "properties": {"guests": {"type": "integer"}}}}]  # fmt: skip
    (tmp_path / "tools.json").write_text(json.dumps({"tools": tools}))
    library = gd.load_library(tmp_path / "tools.json")
    answer = gd.Parser.of(library, has_base=False)("book a table with 4 guests").answers[0]
    assert answer.program == "book_table( guests= 4 )"
    skills = ["--language", "calls", "--skills", str(tmp_path / "tools.json")]
    assert run(["parse", *skills, "book a table with 4 guests", "--as", "tokens"]) == 0
    assert capsys.readouterr().out.strip() == "book_table( guests= 4 )"
