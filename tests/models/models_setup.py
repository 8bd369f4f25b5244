"""Tiny networks, rows and a tiny language for the tests of models/."""

from dataclasses import dataclass, replace

import pytest
import torch

from genie_dp.languages.base import Allowed
from genie_dp.models.batches import collate
from genie_dp.models.sentences import encode
from genie_dp.models.seq2seq import build
from genie_dp.models.vocabulary import Pair, TokenCounts
from genie_dp.parser.rows import RowStore
from genie_dp.parser.training import StoreBatches

THINGS = ("tea", "milk", "bread", "rice", "salt", "soap", "figs", "oil")
PAIRS = tuple(
    Pair.from_text(sentence, program)
    for thing in THINGS
    for sentence, program in (
        (f"buy {thing}", f'now => @shop.buy " {thing} "'),
        (f"please list all {thing}", f'now => @shop.list " {thing} " => notify'),
        (f"when {thing} is here buy {thing}", f'when " {thing} " => @shop.buy " {thing} "'),
    )
)


def vocabulary_of(pairs, **settings):
    """Return the vocabulary of rows."""
    store, counts = RowStore.from_pairs(pairs), TokenCounts()
    counts.add(store.names, store.numbered())
    return counts.vocabulary(**settings)


VOCABULARY = vocabulary_of(PAIRS)

SMALL = {
    "rnn": {"size": 16},
    "transformer": {"size": 16, "heads": 2, "inner": 32},
    "mqan": {"embedding": 16, "size": 16, "heads": 2, "inner": 32},
}


def network(architecture, *, vocabulary=VOCABULARY, seed=0, **settings):
    """Return a small network, drawn from a seed, in evaluation mode."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    chosen = {**SMALL.get(architecture, {}), **settings}
    return build(architecture, vocabulary, chosen)[0].eval()


def batch(pairs=PAIRS[:5], *, vocabulary=VOCABULARY):
    return collate([encode(pair, vocabulary) for pair in pairs], vocabulary)


def batches(pairs=PAIRS, **options):
    return StoreBatches([RowStore.from_pairs(pairs)], VOCABULARY, **{"size": 6, **options})


@dataclass(frozen=True)
class Brackets:
    """Brackets, at most four deep, around one to six words of the sentence."""

    sentence: tuple[str, ...] = ()
    depth: int = 0
    words: int = 0
    is_closing: bool = False

    vocabulary = frozenset({"(", ")", "stop"})

    def begin(self, sentence):
        return Brackets(tuple(sentence))

    @property
    def allowed(self):
        if self.depth == 0:
            last = NONE if self.is_closing else LAST
            return Allowed(last, end=True) if self.words else Allowed(FIRST)
        if self.words == 6 or (self.words and self.is_closing):
            return Allowed(CLOSE)
        inner = INNER if self.words else FIRST
        deep = (CLOSE if self.words else NONE) if self.depth == 4 else inner
        return Allowed(deep, copied=frozenset(self.sentence))

    def then(self, token):
        allowed = self.allowed
        if token not in allowed.fixed and token not in allowed.copied:
            raise ValueError(token)
        depth = self.depth + (token == "(") - (token == ")")
        words = self.words + (token in self.sentence)
        return Brackets(self.sentence, depth, words, self.is_closing)

    def closing(self):
        return replace(self, is_closing=True)


FIRST, INNER, CLOSE = frozenset({"("}), frozenset({"(", ")"}), frozenset({")"})
LAST, NONE = frozenset({"stop"}), frozenset()


def accepted(grammar, sentence, tokens):
    """Tell whether a grammar lets a program be written to its end."""
    prefix = grammar.begin(sentence)
    for token in tokens:
        allowed = prefix.allowed
        if token not in allowed.fixed and token not in allowed.copied:
            return False
        prefix = prefix.then(token)
    return prefix.allowed.end


BRACKETS = vocabulary_of(PAIRS, extra=Brackets.vocabulary)


_LLAMA = {
    "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2,
    "num_key_value_heads": 1, "max_position_embeddings": 64, "head_dim": 8, "pad_token_id": None,
}  # fmt: skip
SIZES = {
    "bart": {
        "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 32, "decoder_ffn_dim": 32,
        "max_position_embeddings": 64, "pad_token_id": 0, "bos_token_id": 95,
        "decoder_start_token_id": 95, "forced_eos_token_id": None,
    },
    "t5": {
        "d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2,
        "pad_token_id": 0, "decoder_start_token_id": 0,
    },
    "gpt2": {"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64, "bos_token_id": 95},
    "llama": _LLAMA,
    # A window that is shorter than sentences, in one of two layers.
    "gemma3_text": {
        **_LLAMA, "sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"],
    },
}  # fmt: skip
DECODERS = ("gpt2", "llama", "gemma3_text")


def save_tiny_base(folder, kind, sizes=None):
    """Write a tiny random model with a tokenizer, as the hub has them."""
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    letters = {chr(i): i - 32 for i in range(33, 127)}
    table = {"<pad>": 0, **letters, "</s>": 95, "<unk>": 96}
    model = tokenizers.models.BPE(table, [], unk_token="<unk>")
    inner = tokenizers.Tokenizer(model)
    inner.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # Decoders alone often have no piece for padding.
    padding = {"pad_token": "<pad>"} if kind in ("bart", "t5") else {"bos_token": "</s>"}
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=inner, eos_token="</s>", unk_token="<unk>", **padding
    )
    torch.manual_seed(0)
    sizes = sizes or SIZES[kind]
    config = transformers.AutoConfig.for_model(kind, vocab_size=97, eos_token_id=95, **sizes)
    body = transformers.AutoModel.from_config(config)
    if kind in DECODERS:  # with weights so large that all that was read is noticed
        for weight in body.parameters():
            if weight.dim() == 2:
                weight.data.normal_(std=0.3)
    body.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)
