"""Tiny language models with random weights: our own, and ones of Hugging Face in a folder."""

from dataclasses import dataclass

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
import transformers

from genie_dp.private.generators.models import (
    DecoderSettings,
    DecoderState,
    HuggingFaceCausal,
    HuggingFaceSettings,
    PreLNDecoder,
)
from genie_dp.private.generators.tokenizer import TokenPiece

TINY = DecoderSettings(size=16, layers=2, heads=2, longest=24)
SIZES = {"vocab_size": 300, "bos_token_id": 256, "eos_token_id": 256}


def own(tokens=300, seed=0):
    """Return our decoder, with weights large enough that its scores differ."""
    torch.manual_seed(seed)
    model = PreLNDecoder(tokens, TINY)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                weight.normal_(std=0.3)
    return model.eval()


def gpt2():
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(n_positions=24, n_embd=16, n_layer=2, n_head=2, **SIZES)
    )


def llama():
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            hidden_size=16, intermediate_size=32, num_hidden_layers=2, num_attention_heads=2,
            num_key_value_heads=1, max_position_embeddings=24, tie_word_embeddings=True, **SIZES,
        )
    )  # fmt: skip


def save_tokenizer(folder):
    """Write a byte-level tokenizer with a few merges, as GPT-2 has one."""
    tokenizers = pytest.importorskip("tokenizers")
    byte_level = tokenizers.pre_tokenizers.ByteLevel
    alphabet = sorted(byte_level.alphabet())
    names = [*alphabet, "<|end|>", "lo", "low", "Ġlow", "er"]
    merges = [("l", "o"), ("lo", "w"), ("Ġ", "low"), ("e", "r")]
    vocabulary = {name: i for i, name in enumerate(names)}
    core = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, merges))
    core.pre_tokenizer = byte_level(add_prefix_space=False)
    core.decoder = tokenizers.decoders.ByteLevel()
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<|end|>", eos_token="<|end|>"
    )
    fast.save_pretrained(folder)


def save_pretrained(folder, make):
    """Write a model of Hugging Face and a tokenizer into a folder; return its name."""
    torch.manual_seed(0)
    model = make()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "norm" not in name:
                weight.normal_(std=0.3)
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return str(folder)


def hugging_face(folder, make, **settings):
    base = save_pretrained(folder, make)
    return HuggingFaceCausal(HuggingFaceSettings(base, longest=24, **settings)).eval()


@dataclass(frozen=True)
class Letters:
    """A tokenizer of a few letters, each a word."""

    begin = 0
    separator = 1
    end = 2
    pieces = (None, None, None, TokenPiece(b"a", True), TokenPiece(b"b", True))

    def spell(self, word):
        return (3 + "ab".index(word),)


@dataclass(frozen=True)
class Bigrams:
    """A language model that is a table: the logits of the token after each token."""

    table: object
    longest: int = 24
    device = torch.device("cpu")

    def start(self, prompts, lengths):
        last = prompts[torch.arange(len(prompts)), lengths - 1]
        seen = torch.ones(prompts.shape, dtype=torch.bool)
        return self.table[last], DecoderState((), seen, lengths)

    def step(self, state, tokens):
        return self.table[tokens], DecoderState((), state.longer_seen(), state.places + 1)
