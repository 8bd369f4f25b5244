"""What Hugging Face's generate writes under a grammar is a program."""

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
tokenizers = pytest.importorskip("tokenizers")
pytest.importorskip("llguidance")

from genie_dp.languages.guided import subword_grammar  # noqa: E402
from genie_dp.languages.thingtalk.decoding.catalogue import GrammarLimits  # noqa: E402
from genie_dp.languages.thingtalk.decoding.grammar import ThingTalkGrammar  # noqa: E402
from genie_dp.languages.thingtalk.from_tokens import from_tokens  # noqa: E402
from genie_dp.languages.thingtalk.typecheck import check  # noqa: E402
from genie_dp.models.generation import GrammarLogits, subwords_of  # noqa: E402
from tests.languages.thingtalk.thingtalk_library import example_library  # noqa: E402

SENTENCES = ["show the mails of bob smith", "post café to NUMBER_0 people"]
LIMITS = GrammarLimits(tokens=30, nesting=1)
ROWS = [
    "now => @com.gmail.inbox => notify",
    "now => @com.twitter.post param:status:String",
    *SENTENCES,
]


def tokenizer_of(kind):
    """Return a tokenizer with a few merges: byte-level, or with SentencePiece's mark."""
    inner = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
    alphabet = [chr(i) for i in range(33, 127)] + ["▁", "é"]
    if kind == "bytes":
        inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
        inner.decoder = tokenizers.decoders.ByteLevel()
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
    else:
        inner.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        inner.decoder = tokenizers.decoders.Metaspace()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=360, special_tokens=["<pad>", "</s>", "<unk>"], initial_alphabet=alphabet
    )
    inner.train_from_iterator(ROWS, trainer)
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )


def model_of(kind, size):
    """Return a tiny random T5 or BART."""
    torch.set_num_threads(1)
    torch.manual_seed(3)
    common = {"vocab_size": size, "d_model": 16, "pad_token_id": 0, "eos_token_id": 1}
    if kind == "t5":
        settings = {"d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
        config = transformers.T5Config(**common, **settings, decoder_start_token_id=0)
        return transformers.T5ForConditionalGeneration(config).eval()
    sizes = dict.fromkeys(("encoder_layers", "decoder_layers"), 1)
    sizes |= dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 2)
    sizes |= dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 32)
    ids = {"bos_token_id": 1, "decoder_start_token_id": 1, "forced_eos_token_id": None}
    config = transformers.BartConfig(**common, **sizes, **ids, max_position_embeddings=1024)
    return transformers.BartForConditionalGeneration(config).eval()


@pytest.mark.parametrize(("kind", "pieces"), [("t5", "marks"), ("bart", "bytes")])
@pytest.mark.parametrize("beams", [1, 2])
def test_an_untrained_model_generates_well_typed_programs_the_same_with_both_engines(
    kind, pieces, beams
):
    tokenizer = tokenizer_of(pieces)
    library = example_library()
    model = model_of(kind, len(tokenizer) + 3)
    subwords = subwords_of(tokenizer, size=len(tokenizer) + 3)
    grammar = ThingTalkGrammar(library, limits=LIMITS)
    asked = tokenizer(SENTENCES, return_tensors="pt", padding=True)
    found = []
    for engine in ("automaton", "llguidance"):
        allow = GrammarLogits(
            subword_grammar(grammar, subwords, engine=engine), [s.split() for s in SENTENCES]
        )
        written = model.generate(
            input_ids=asked.input_ids,
            attention_mask=asked.attention_mask,
            num_beams=beams,
            do_sample=False,
            max_new_tokens=900,
            logits_processor=[allow],
        )
        found.append([tokenizer.decode(row, skip_special_tokens=True).strip() for row in written])
    assert found[0] == found[1]
    for text in found[0]:
        assert not check(from_tokens(text), library), text


def test_pieces_keep_marks_and_lose_what_is_no_text():
    tokenizer = tokenizer_of("bytes")
    subwords = subwords_of(tokenizer)
    texts = {subwords.piece(index) for index in subwords.ids}
    assert ("now", True) in texts
    assert ("a", False) in texts
    assert all(index not in subwords.ids for index in tokenizer.all_special_ids)
    half = tokenizer.get_vocab()["Ã"]  # the first byte of é
    assert half not in subwords.ids
