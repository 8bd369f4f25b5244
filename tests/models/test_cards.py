"""Laws of word vectors and cards: what is read, written, adapted and answered without torch."""

from dataclasses import asdict

import numpy as np
import pytest
import torch

from genie_dp.models import layers
from genie_dp.models.arrays import open_arrays
from genie_dp.models.base.vectors import word_vectors
from genie_dp.models.batches import collate
from genie_dp.models.cards import CardRows, NearWords, links, near_places, vocabulary_for
from genie_dp.models.layers import card_links
from genie_dp.models.recurrent import _Tokens
from genie_dp.models.saved import SavedModel, continue_from, load_model, save_model
from genie_dp.models.sentences import encode, encode_sentences
from genie_dp.models.seq2seq import SteppedTorch, build
from genie_dp.models.sizes import RecurrentSettings
from genie_dp.models.vocabulary import BEGIN, PAD, SPECIAL, Pair, Vocabulary

CARDS = {
    "@shop.bell.ring": (("bell", "ring"), ("ring", "the", "bell")),
    "@shop.door.open": (("door", "open"), ("unlock", "the", "door")),
    "@shop.till.count": (("till", "count"), ("count", "the", "money")),
    "param:times:Number": (("times",), ("how", "often")),
    "enum:loud": (("loud",),),
}
TOKENS = (*SPECIAL, "=>", "now", *CARDS)
VOCABULARY = Vocabulary(
    (*TOKENS, "please", "the"), len(TOKENS), vectors=True, cards=CARDS, buckets=64
)
ROWS = [
    Pair.from_text("please ring the bell", "now => @shop.bell.ring"),
    Pair.from_text("open the door", "now => @shop.door.open"),
    Pair.from_text("ring it NUMBER_0 times", "now => @shop.bell.ring param:times:Number NUMBER_0"),
]  # fmt: skip
SETTINGS = {"size": 16, "distractors": 1}


@pytest.fixture
def saved() -> SavedModel:
    torch.manual_seed(1)
    model, settings = build("rnn", VOCABULARY, SETTINGS)
    with torch.no_grad():  # rows of their own, as training gives them
        model.embedding.words.weight += 0.1 * torch.randn_like(model.embedding.words.weight)
        model.pointer.bias += 0.1 * torch.randn_like(model.pointer.bias)
    model.eval()
    return SavedModel(model, VOCABULARY, "rnn", settings, {})


def steps(network, vocabulary: Vocabulary) -> np.ndarray:
    """Return the log-probabilities of two steps for two sentences."""
    memory = network.encode(encode_sentences([("ring", "it"), ("open", "the", "gate")], vocabulary))
    state = network.begin(memory)
    first, state = network.step(memory, state, np.array([BEGIN, BEGIN]))
    second, _ = network.step(memory, state, np.array([5, 7]))
    return np.stack([first, second])


def test_a_network_with_cards_says_the_same_without_torch(saved, tmp_path):
    save_model(saved, tmp_path)
    network, vocabulary = open_arrays(tmp_path)
    assert vocabulary == VOCABULARY
    torch_says = steps(SteppedTorch(load_model(tmp_path).model), vocabulary)
    np.testing.assert_allclose(steps(network, vocabulary), torch_says, atol=1e-4)


def test_a_network_with_vectors_needs_no_cards(tmp_path):
    torch.manual_seed(1)
    plain = Vocabulary((*SPECIAL, "(", ")", "pizza", "please"), len(SPECIAL) + 3, vectors=True)
    model, settings = build("rnn", plain, SETTINGS)
    assert torch.isfinite(model.train().loss(collate([encode(ROWS[0], plain)], plain))).all()
    save_model(SavedModel(model.eval(), plain, "rnn", settings, {}), tmp_path)
    network, vocabulary = open_arrays(tmp_path)
    torch_says = steps(SteppedTorch(load_model(tmp_path).model), vocabulary)
    np.testing.assert_allclose(steps(network, vocabulary), torch_says, atol=1e-4)


def test_the_loss_over_some_tokens_is_that_of_a_library_with_no_others(saved):
    model = saved.model
    batch = collate([encode(row, VOCABULARY) for row in ROWS], VOCABULARY)
    model.smoothing = 0.0
    for module in model.modules():  # nothing random is left
        if hasattr(module, "share"):
            module.share = 0.0
    model.embedding.word_dropout = model.cards.phrase_dropout = 0.0
    model.cards.card_dropout = 0.0
    model.distractors = 0
    model.train()
    some = model.loss(batch)
    own = tuple(x for x in TOKENS if x not in ("@shop.till.count", "enum:loud"))
    cards = {token: CARDS[token] for token in own if token in CARDS}
    fewer = Vocabulary((*own, "please", "the"), len(own), vectors=True, cards=cards, buckets=64)
    other = continue_from(saved, fewer).model.eval()
    other.smoothing = 0.0
    batch = collate([encode(row, fewer) for row in ROWS], fewer)
    torch.testing.assert_close(some, other.loss(batch), atol=1e-5, rtol=0)
    model.eval()
    assert (model.loss(collate([encode(r, VOCABULARY) for r in ROWS], VOCABULARY)) > some).all()


def test_a_network_of_another_library_is_the_same_in_arrays_and_in_torch(saved, tmp_path):
    save_model(saved, tmp_path)
    cards = {"@farm.gate.close": (("gate", "close"),)}
    tokens = frozenset((*cards, "=>", "now", "later"))

    def adapt(own: Vocabulary) -> Vocabulary:
        return vocabulary_for(own, tokens, cards)

    network, vocabulary = open_arrays(tmp_path, adapt)
    continued = continue_from(load_model(tmp_path), vocabulary).model.eval()
    with torch.no_grad():  # a word that no card has is drawn there, and nothing here
        continued.embedding.words.weight[vocabulary.index["later"]] = 0
    torch_says = steps(SteppedTorch(continued), vocabulary)
    np.testing.assert_allclose(steps(network, vocabulary), torch_says, atol=1e-4)
    assert vocabulary.generable("@farm.gate.close") == vocabulary.index["@farm.gate.close"]


def test_links_are_the_same_in_both_and_highest_where_all_words_are_said():
    cards = CardRows.from_vocabulary(VOCABULARY)
    sentences = encode_sentences([("please", "ring", "the", "bell"), ("unlock", "it")], VOCABULARY)
    near = links(sentences, cards)
    batch = collate([encode(Pair(x, ()), VOCABULARY) for x in sentences.sentences], VOCABULARY)
    np.testing.assert_allclose(card_links(batch.source, cards).numpy(), near, atol=1e-5)
    tokens = [VOCABULARY.words[row] for row in cards.rows]
    ring, unlock = (near[:, tokens.index(f"@shop.{x}"), 1] for x in ("bell.ring", "door.open"))
    assert ring[0] == pytest.approx(1.0, abs=1e-4)
    assert unlock[1] > ring[1]


def test_a_program_at_once_scores_as_token_by_token(saved):
    batch = collate([encode(row, VOCABULARY) for row in ROWS], VOCABULARY)
    scores = saved.model.score(batch).detach().numpy()
    network = SteppedTorch(saved.model)
    memory = network.encode(encode_sentences([row.sentence for row in ROWS], VOCABULARY))
    state = network.begin(memory)
    for place in range(batch.targets.shape[1]):
        says, state = network.step(memory, state, batch.inputs[:, place].numpy())
        targets = batch.targets[:, place]
        real = (targets != PAD).numpy()
        chosen = says[np.arange(len(ROWS)), targets.numpy()]
        np.testing.assert_allclose(chosen[real], scores[real, place], atol=1e-4)


def test_places_beside_the_words_of_a_name_are_near_to_it():
    words = ("ring", "times", "3", "please", "the", "bell", "loud")
    said = word_vectors().rows(words)[None]
    name = word_vectors().rows(("times",))
    near = near_places(said, name)
    np.testing.assert_allclose(
        layers.near_places(torch.from_numpy(said), torch.from_numpy(name)[:, None])[:, 0].numpy(),
        near,
        atol=1e-6,
    )
    own, before, after = near[0].T
    assert own[1] == pytest.approx(1.0, abs=1e-4)
    np.testing.assert_allclose(before[2:5], 1.0, atol=1e-4)
    assert after[0] == pytest.approx(1.0, abs=1e-4)
    assert (before[5:] < 0.9).all()
    assert before[0] == after[-1] == 0


def test_a_last_name_is_that_of_the_last_token_with_a_card():
    names = torch.eye(4)[[3, 3, 1, 2]] * torch.tensor([0.0, 0, 1, 1])[:, None]
    tokens = _Tokens(None, None, 4, names=names)
    before = torch.tensor([[7.0, 0, 0, 0], [0, 0, 0, 0]])
    last = tokens.last_names(torch.tensor([[1, 2, 9, 3], [0, 9, 1, 2]]), before)
    expected = [[before[0], names[2], names[2], names[3]], [*[before[1]] * 3, names[2]]]
    torch.testing.assert_close(last, torch.stack([torch.stack(x) for x in expected]))


def test_some_cards_are_those_of_all():
    cards = CardRows.from_vocabulary(VOCABULARY)
    some = cards.some(np.array([0, 3]))
    sentences = encode_sentences([("ring", "twice")], VOCABULARY)
    np.testing.assert_allclose(
        links(sentences, some), links(sentences, cards)[:, [0, 3]], atol=1e-6
    )
    assert len(some.words.sentences[0]) < len(cards.words.sentences[0])


def test_a_saved_vocabulary_keeps_cards_and_an_old_one_has_none(tmp_path):
    VOCABULARY.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json") == VOCABULARY
    text = (tmp_path / "v.json").read_text()
    start, end = text.index('"vectors"'), text.index('"words"')
    (tmp_path / "old.json").write_text(text[:start] + text[end:])
    old = Vocabulary.load(tmp_path / "old.json")
    assert (old.vectors, old.cards) == (False, {})


def test_words_have_vectors_of_length_one_and_signs_none():
    vectors = word_vectors().rows(("lamp", "lamps", "dishwashers", "zzyzx", "NUMBER_0", "!?"))
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths[:4], 1.0, atol=1e-5)
    np.testing.assert_array_equal(lengths[4:], 0.0)
    assert vectors[0] @ vectors[1] > 0.8


def test_near_words_are_those_of_the_programs_own_cards():
    near = NearWords(CARDS)
    words = ["gate", "cash", "melody"]
    assert near.to(["now", "=>", "@shop.till.count"], words) == {"cash"}
    assert near.to(["now"], words) == frozenset()
    assert near.to([], []) == frozenset()


def test_word_for_a_listed_value_is_near_only_where_a_program_has_the_value() -> None:
    cards = {"book(": (("book", "bicycles"), ("count", "size")), "large": (("large",),)}
    near = NearWords(cards, values=["large"])
    assert near.to(["book("], ["large", "bike"]) == {"bike"}
    assert near.to(["book(", "large"], ["large", "bike"]) == {"large", "bike"}
    assert NearWords(cards).to(["book("], ["large"]) == {"large"}


def test_cards_need_settings_that_a_network_has():
    assert asdict(RecurrentSettings())["distractors"] > 0
    model, _ = build("rnn", VOCABULARY, {**SETTINGS, "own_rows": False})
    before = model.eval().loss(collate([encode(ROWS[0], VOCABULARY)], VOCABULARY))
    with torch.no_grad():
        model.embedding.words.weight[VOCABULARY.index["@shop.bell.ring"]] = 5.0
    after = model.loss(collate([encode(ROWS[0], VOCABULARY)], VOCABULARY))
    torch.testing.assert_close(before, after)


def test_a_word_that_few_cards_have_has_the_larger_share_of_its_phrase():
    cards = {f"{verb}_{noun}(": ((verb, noun),) for verb in ("get", "set")
             for noun in ("lamp", "alarm", "radio")}  # fmt: skip
    cards["get_tide("] = (("get", "tide"),)
    tokens = (*SPECIAL, *cards)
    rows = CardRows.from_vocabulary(
        Vocabulary(tokens, len(tokens), vectors=True, cards=cards, buckets=64)
    )
    shares = rows.weights[:, 0, :2]
    np.testing.assert_allclose(rows.weights.sum(2), rows.mask.any(2), atol=1e-6)
    assert (shares[:, 1] > shares[:, 0]).all()
    nouns = [tokens[row].rstrip("(").split("_")[1] for row in rows.rows]
    own = {noun: share for noun, share, row in zip(nouns, shares[:, 1], rows.rows, strict=True)
           if tokens[row].startswith("get")}  # fmt: skip
    assert own["tide"] > own["lamp"]
