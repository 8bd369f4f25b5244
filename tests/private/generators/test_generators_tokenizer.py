"""Every word is written and read back exactly, whatever the public rows had."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import tokenization_utils_base

from genie_dp.errors import GenieError
from genie_dp.models.pretrained import _pieces
from genie_dp.private.generators.stages import KINDS, STAGES, LabelledRow, encode_row, prompt_of
from genie_dp.private.generators.tokenizer import (
    PretrainedTokenizer,
    PublicTokenizer,
    build_tokenizer,
    decode,
    encode,
    load_public_tokenizer,
)
from tests.private.generators.generator_models import save_tokenizer

PUBLIC = [
    ["play", "the", "lowest", "song", "by", "QUOTED_STRING_0"],
    ["play", "the", "lower", "one", "loudly"],
    ["now", "=>", "@com.example.music.play", "param:song:String", "=", "QUOTED_STRING_0"],
]
PUBLIC_TOKENIZER = build_tokenizer(PUBLIC, extra=["@com.example.music.play"])


@pytest.fixture(scope="module")
def pretrained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return PretrainedTokenizer(str(folder))


@given(st.text())
def test_any_text_is_written_and_read_back(text):
    words = tuple(text.split())
    assert decode(encode(words, PUBLIC_TOKENIZER), PUBLIC_TOKENIZER) == words


@given(words=st.lists(st.text(min_size=1), max_size=3))
@settings(max_examples=50)
def test_a_pretrained_tokenizer_writes_and_reads_back_any_text(pretrained, words):
    words = tuple(word for text in words for word in text.split())
    assert decode(encode(words, pretrained), pretrained) == words


def test_nothing_is_told_of_a_word_that_is_too_long_for_its_model(pretrained, monkeypatch):
    told = []
    monkeypatch.setattr(tokenization_utils_base.logger, "warning", told.append)
    monkeypatch.setattr(pretrained.tokenizer, "model_max_length", 4)
    assert len(pretrained.spell("zanzibar" * 9)) > 4
    assert len(_pieces(pretrained.tokenizer, "zanzibar" * 9)) > 4  # as a parser reads it
    assert not told
    pretrained.tokenizer("zanzibar" * 9)
    assert "longer than" in told[0]


@given(st.text(min_size=1))
def test_only_the_first_piece_of_a_word_begins_one(text):
    for word in text.split():
        for ids in (PUBLIC_TOKENIZER.spell(word), PUBLIC_TOKENIZER.pieces_of(word)):
            starts = [PUBLIC_TOKENIZER.pieces[index].is_first for index in ids]
            assert starts == [True] + [False] * (len(ids) - 1)


@given(st.lists(st.integers(0, len(PUBLIC_TOKENIZER.pieces) - 1), max_size=8))
def test_ids_are_words_or_refused(ids):
    try:
        words = decode(ids, PUBLIC_TOKENIZER)
    except ValueError:
        return
    assert list(words) == " ".join(words).split()


def test_the_table_has_words_of_public_rows_alone_whatever_their_order(tmp_path):
    assert "zanzibar" not in PUBLIC_TOKENIZER.words
    assert len(PUBLIC_TOKENIZER.spell("play")) == 1
    assert len(PUBLIC_TOKENIZER.spell("loudly")) > 1  # met once, so its pieces are learned
    public = {character for text in PUBLIC for word in text for character in word}
    longer = "".join((*PUBLIC_TOKENIZER.starts, *PUBLIC_TOKENIZER.inners))
    assert longer
    assert set(longer) <= public
    plain = PublicTokenizer(PUBLIC_TOKENIZER.words)  # without pieces
    assert len(PUBLIC_TOKENIZER.spell("slowest")) < len(plain.spell("slowest"))
    assert build_tokenizer(reversed(PUBLIC)) == build_tokenizer(PUBLIC)
    assert decode(PUBLIC_TOKENIZER.spell("a\ud800b"), PUBLIC_TOKENIZER) == ("a?b",)
    PUBLIC_TOKENIZER.save(tmp_path)
    assert load_public_tokenizer(tmp_path / "tokenizer.json") == PUBLIC_TOKENIZER


@pytest.mark.parametrize(
    "content",
    ["", "{}", '{"type": "other"}', '{"type": "genie_dp.PublicTokenizer", "words": ["a b"]}'],
)
def test_a_file_that_is_no_table_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(GenieError, match="H003"):
        load_public_tokenizer(path)
    with pytest.raises(GenieError, match="H005"):
        PretrainedTokenizer(str(tmp_path / "nothing"))
    with pytest.raises(ValueError, match="none twice"):
        PublicTokenizer(("play", "play"))


def without_byte(folder, value):
    """Take the token of one byte from a saved tokenizer; its id is another token's."""
    save_tokenizer(folder)
    path = folder / "tokenizer.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    vocabulary = saved["model"]["vocab"]
    vocabulary["never-said"] = vocabulary.pop(chr(256 + value) if value < 33 else chr(value))
    path.write_text(json.dumps(saved), encoding="utf-8")
    return folder


def test_a_tokenizer_may_lack_a_control_character_but_no_letter(tmp_path):
    tokenizer = PretrainedTokenizer(str(without_byte(tmp_path, 0x01)))
    assert decode(encode(("a\x01b", "ü"), tokenizer), tokenizer) == ("a?b", "ü")
    with pytest.raises(GenieError, match="missing: 0x71"):
        PretrainedTokenizer(str(without_byte(tmp_path, ord("q"))))


@pytest.mark.parametrize("kind", KINDS)
def test_a_pretrained_model_is_told_what_to_write(pretrained, kind):
    row = LabelledRow(("wake", "me"), ("now", "=>", "@c.f"), "@c.f")
    for stage in STAGES[kind]:
        ids = encode_row(stage, row, pretrained, longest=400).tokens
        before = ids[1 : ids.index(pretrained.separator)]
        said = " ".join(decode(before, pretrained))
        assert said.startswith(f"A {'program' if stage.name == 'program' else 'command'} ")
        assert said.endswith(" ".join(prompt_of(stage, row)))
        # A tokenizer of our own, and folders of before, have the prompt alone.
        pretrained.instructs = False
        bare = encode_row(stage, row, pretrained, longest=400).tokens
        pretrained.instructs = True
        assert len(bare) < len(ids)
        assert bare[-3:] == ids[-3:]
