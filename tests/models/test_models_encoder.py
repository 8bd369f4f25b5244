"""The encoder in numpy says what transformers says, and networks read its vectors."""

import json
import os
import random

import numpy as np
import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402

from genie_dp.errors import GenieError  # noqa: E402
from genie_dp.models.arrays import ArrayNetwork, open_arrays  # noqa: E402
from genie_dp.models.encoder import (  # noqa: E402
    ENCODER,
    Encoder,
    KeptVectors,
    WordPieces,
    plain_words,
)
from genie_dp.models.layers import Features, give_vectors  # noqa: E402
from genie_dp.models.loop import Run, TrainingBudget, TrainSettings  # noqa: E402
from genie_dp.models.saved import SavedModel, load_model, save_model  # noqa: E402
from genie_dp.models.search import SearchSettings, search  # noqa: E402
from genie_dp.models.seq2seq import SteppedTorch  # noqa: E402
from genie_dp.models.sizes import settings_of  # noqa: E402
from tests.models.models_setup import (  # noqa: E402
    PAIRS,
    SMALL,
    VOCABULARY,
    batch,
    batches,
    network,
    save_tiny_bert,
)

SENTENCES = [
    ("buy", "tea"),
    ("please", "list", "all", "quinoa", "tea"),
    ("NUMBER_0", "cafés", "at", "o'neill's"),
    ("soap",),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny_bert(tmp_path_factory.mktemp("encoder") / "bert")


@pytest.fixture(scope="module")
def encoder(folder):
    return Encoder(folder)


def reading(architecture, encoder, **options):
    """Return a small network with weights of some size that reads the vectors of an encoder."""
    model = network(architecture, features=encoder.width, **options)
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
    give_vectors(model, encoder)
    return model


# ---------------------------------------------------------------------------- forward, pieces


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_states_are_those_of_transformers(folder, tmp_path, dtype):
    model = transformers.BertModel.from_pretrained(folder).to(dtype)
    model.save_pretrained(tmp_path)
    (tmp_path / "vocab.txt").write_text((folder / "vocab.txt").read_text())
    model = model.float().eval()
    encoder = Encoder(tmp_path)
    pieces = [encoder._split(words) for words in SENTENCES]
    found = encoder._states(pieces)
    for row, own in zip(found, pieces, strict=True):
        ids = [encoder._pieces.begin, *(n for word in own for n in word), encoder._pieces.end]
        with torch.no_grad():
            expected = model(torch.tensor([ids])).last_hidden_state[0].numpy()
        np.testing.assert_allclose(row[: len(ids)], expected, atol=1e-5)


def test_a_word_has_the_mean_of_its_pieces_with_a_root_mean_square_of_1(folder, encoder):
    words = ("buy", "quinoa")
    first, second = encoder._split(words)
    assert len(second) > 1
    states = encoder._states([[first, second]])[0, 1:-1]
    means = np.stack([states[: len(first)].mean(0), states[len(first) :].mean(0)])
    (found,) = encoder.vectors([words])
    np.testing.assert_allclose(np.square(found).mean(1), 1, rtol=1e-5)
    np.testing.assert_allclose(found / found[:, :1], means / means[:, :1], rtol=1e-3)


LETTERS = st.text(st.sampled_from("abetéÉŌ中-_'!?:. \t\u200b\u0301Øßaq7$"), max_size=9)


@settings(max_examples=300, deadline=None)
@given(word=LETTERS, lowers=st.booleans(), strips=st.sampled_from([None, True, False]))
def test_pieces_are_those_of_bert(word, lowers, strips):
    tokenizers = pytest.importorskip("tokenizers")
    table = {piece: number for number, piece in enumerate(PIECES)}
    theirs = tokenizers.Tokenizer(tokenizers.models.WordPiece(table, unk_token="[UNK]"))
    theirs.normalizer = tokenizers.normalizers.BertNormalizer(
        lowercase=lowers, strip_accents=strips
    )
    theirs.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    ours = WordPieces(table, lowers=lowers, strips=lowers if strips is None else strips)
    assert list(ours.of(word)) == (theirs.encode(word).ids or [table["[UNK]"]])


PIECES = (
    "[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "##a", "ab", "##b", "##et", "t", "##e", "e", "é", "É",
    "##é", "中", "-", "_", "'", "!", "?", ":", ".", "$", "7", "Ø", "ø", "##ß", "##ss", "o", "ō",
)  # fmt: skip


def test_tokenizer_json_and_vocab_txt_say_the_same(folder, tmp_path):
    tokenizer = transformers.BertTokenizerFast.from_pretrained(folder)
    tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    one, other = WordPieces.from_folder(folder), WordPieces.from_folder(tmp_path)
    for word in ("Quinoa", "cafés", "tea", "o'neill's", "中", ""):
        assert one.of(word) == other.of(word)


@pytest.mark.parametrize(
    ("token", "plain"),
    [
        ("QUOTED_STRING_3", "quoted string"),
        ("GENERIC_ENTITY_org.thingpedia.light-bulb:room_0", "room"),
        ("MEASURE_byte_0", "measure byte"),
        ("tea_0", "tea_0"),
    ],
)
def test_a_placeholder_is_read_as_what_it_stands_for(token, plain):
    assert plain_words(token) == plain


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_vectors_do_not_depend_on_the_other_sentences(encoder, seed):
    rng = random.Random(seed)
    words = [word for sentence in SENTENCES for word in sentence]
    some = [tuple(rng.choices(words, k=rng.randrange(8))) for _ in range(rng.randint(2, 40))]
    together = encoder.vectors(some)
    for sentence, found in zip(some, together, strict=True):
        assert found.shape == (len(sentence), encoder.width)
        encoder.vectors([("tea", "tea", "tea")])  # so that the next one is computed by itself
        np.testing.assert_allclose(encoder.vectors([sentence])[0], found, atol=1e-5)


def test_words_behind_the_longest_sentence_have_no_vector(encoder):
    (found,) = encoder.vectors([("tea",) * 100])
    assert found[: 64 - 2].any(1).all()
    assert not found[64 - 2 :].any()


# --------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "roberta"}, "model_type 'roberta'"),
        ({"model_type": None}, "model_type None"),
        ({"hidden_act": "relu"}, "hidden_act 'relu'"),
        ({"position_embedding_type": "relative_key"}, "'relative_key'"),
        ({"hidden_size": 8}, "expected numbers of shape"),
        ({"num_hidden_layers": 9}, "no 'encoder.layer.2."),
        ({"num_attention_heads": 5}, "5 heads"),
        ({"hidden_size": "wide"}, "wide"),
    ],
)
def test_a_model_that_is_no_such_bert_is_told(folder, tmp_path, change, said):
    encoder = Encoder(folder)
    encoder.copy_to(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(GenieError, match=said) as error:
        Encoder(tmp_path)
    assert [x.code for x in error.value.problems] == ["M010"]


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "vocab.txt"])
@pytest.mark.parametrize("content", [None, "", "[]"])
def test_a_file_that_is_missing_or_broken_is_told(folder, tmp_path, name, content):
    Encoder(folder).copy_to(tmp_path)
    (tmp_path / name).unlink()
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(GenieError, match="M010"):
        Encoder(tmp_path)


# --------------------------------------------------------------------------------- networks


def arrays(model, encoder):
    weights = {name: x.detach().numpy() for name, x in model.named_parameters()}
    chosen = settings_of("rnn", {**SMALL["rnn"], "features": encoder.width})
    return ArrayNetwork(weights, VOCABULARY, chosen, encoder)


def test_numpy_and_torch_find_the_same_programs(encoder):
    model = reading("rnn", encoder)
    expected, found = (
        search(one, SENTENCES, VOCABULARY, settings=SearchSettings(beam=4, longest=10))
        for one in (SteppedTorch(model), arrays(model, encoder))
    )
    for left, right in zip(expected, found, strict=True):
        assert [x.tokens for x in left] == [x.tokens for x in right]
        assert [x.log_probability for x in right] == pytest.approx(
            [x.log_probability for x in left], abs=1e-4
        )


@pytest.mark.parametrize("architecture", SMALL)
def test_every_network_reads_the_vectors_of_each_row_by_itself(architecture, encoder):
    model = reading(architecture, encoder)
    rows = batch()
    with torch.no_grad():
        together = model.score(rows)
        alone = model.score(batch(PAIRS[:1]))
        torch.testing.assert_close(together[0, : alone.shape[1]], alone[0], atol=1e-4, rtol=1e-4)
        for part in model.modules():
            if isinstance(part, Features):
                part.layer.weight.zero_()
        assert not torch.allclose(model.score(rows), together, atol=1e-3)


def test_a_network_without_its_encoder_says_so(encoder):
    model = reading("rnn", encoder)
    give_vectors(model, None)
    with pytest.raises(RuntimeError, match="encoder"):
        model.score(batch())


@pytest.mark.parametrize("int8", [False, True])
def test_what_is_saved_is_what_is_loaded_encoder_included(encoder, tmp_path, int8):
    model = reading("rnn", encoder)
    full = {**SMALL["rnn"], "features": encoder.width}
    save_model(SavedModel(model, VOCABULARY, "rnn", full, {}, encoder), tmp_path, int8=int8)
    loaded = load_model(tmp_path)
    assert loaded.encoder.digest == encoder.digest
    network_, _ = open_arrays(tmp_path)
    chosen = SearchSettings(beam=2, longest=8)
    models = [SteppedTorch(loaded.model), network_, *([] if int8 else [SteppedTorch(model)])]
    first, *others = (
        [x[0].tokens for x in search(one, SENTENCES, VOCABULARY, settings=chosen)] for one in models
    )
    assert all(other == first for other in others)
    kept = load_file(tmp_path / ENCODER / "model.safetensors")
    assert {x.dtype for x in kept.values()} == {np.dtype("float32")}


@pytest.mark.parametrize("opened", [load_model, open_arrays])
def test_an_encoder_that_was_changed_is_refused(encoder, tmp_path, opened):
    full = {**SMALL["rnn"], "features": encoder.width}
    save_model(SavedModel(reading("rnn", encoder), VOCABULARY, "rnn", full, {}, encoder), tmp_path)
    file = tmp_path / ENCODER / "model.safetensors"
    weights = load_file(file)
    weights["embeddings.word_embeddings.weight"][5, 0] += 1
    save_file(weights, file)
    with pytest.raises(GenieError, match="M011"):
        opened(tmp_path)
    file.unlink()
    with pytest.raises(GenieError, match="M010"):
        opened(tmp_path)


def test_the_layer_learns_at_its_own_rate_and_the_centre_stays(encoder):
    model = network("rnn", features=encoder.width)
    give_vectors(model, encoder)
    run = Run(model, batches(), TrainSettings(TrainingBudget(steps=4), rate=1e-2))
    before = model.embedding.features.layer.weight.detach().clone()
    run.train()
    assert [group["lr"] for group in run.optimizer.param_groups] == pytest.approx([
        run.optimizer.param_groups[1]["lr"] * 10, run.optimizer.param_groups[1]["lr"]
    ])  # fmt: skip
    assert not torch.equal(model.embedding.features.layer.weight, before)
    assert not model.embedding.features.centre.any()


# ---------------------------------------------------------------------------- kept in a file


class Counted:
    """An encoder that counts what it is asked for."""

    def __init__(self, encoder):
        self.width, self.asked, self._encoder = encoder.width, [], encoder

    def vectors(self, sentences):
        self.asked += sentences
        return self._encoder.vectors(sentences)


def test_a_sentence_is_computed_once_over_all_starts(encoder, tmp_path):
    counted = Counted(encoder)
    kept = KeptVectors(counted, tmp_path / "vectors")
    first = kept.vectors([SENTENCES[0], SENTENCES[1], SENTENCES[0]])
    kept.close()
    again = KeptVectors(counted, tmp_path / "vectors")
    second = again.vectors([SENTENCES[0], SENTENCES[2], SENTENCES[1], ()])
    assert counted.asked == [SENTENCES[0], SENTENCES[1], SENTENCES[2], ()]
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[2])
    assert second[3].shape == (0, encoder.width)
    for words, found in zip(SENTENCES[:2], first, strict=False):
        np.testing.assert_allclose(found, encoder.vectors([words])[0], atol=2e-3)


@pytest.mark.parametrize("damage", ["cut", "zeros", "another"])
def test_what_a_kill_or_a_power_cut_left_is_computed_again(encoder, tmp_path, damage):
    path = tmp_path / "vectors"
    kept = KeptVectors(encoder, path)
    kept.vectors(SENTENCES[:2])
    whole = path.stat().st_size
    expected = kept.vectors(SENTENCES)
    kept.close()
    with path.open("r+b") as file:
        if damage == "cut":
            file.truncate(path.stat().st_size - 3)
        elif damage == "zeros":
            file.truncate(whole + 40)
            file.truncate(whole + 4000)
        else:
            file.seek(whole)
            file.write(os.urandom(12))
    counted = Counted(encoder)
    again = KeptVectors(counted, path)
    assert path.stat().st_size == whole
    found = again.vectors(SENTENCES)
    assert counted.asked == SENTENCES[2:]
    for left, right in zip(expected, found, strict=True):
        assert np.array_equal(left, right)
