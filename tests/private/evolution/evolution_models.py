"""What the tests of generators that ask models share: tiny models, and donated examples."""

import tokenizers
import torch
import transformers

from genie_dp.private.evolution.generator import Donated

torch.set_num_threads(1)
SAID = "wake pay me up my bill please now at seven the and in words other short long"
WORDS = ["<pad>", "</s>", "<unk>", "\n", "Known", ":", "Said", ";", ".", "___", *SAID.split()]
DONATED = (
    Donated("wake me up at seven", {"intent": "wake", "length": "long"}),
    Donated("pay my bill", {"intent": "pay", "length": "short"}),
    Donated("pay the bill now please", {"intent": "pay", "length": "long"}),
)
RECORDS = [
    {"intent": "wake", "length": "short"},
    {"intent": "pay", "length": "long"},
    {"intent": "pay", "length": "short"},
    {},
] * 2


def save_tokenizer(folder, chat_template=None):
    words = {word: i for i, word in enumerate(WORDS)}
    model = tokenizers.models.WordLevel(words, unk_token="<unk>")
    plain = tokenizers.Tokenizer(model)
    plain.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=plain, pad_token="<pad>", eos_token="</s>", unk_token="<unk>",
        chat_template=chat_template,
    ).save_pretrained(folder)  # fmt: skip


def save_model(folder, *, chat_template=None, seed=0, positions=128):
    """Write a GPT-2 with random weights, which says random words."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        config = transformers.GPT2Config(
            vocab_size=len(WORDS), n_positions=positions, n_embd=16, n_layer=1, n_head=2,
            bos_token_id=1, eos_token_id=1, pad_token_id=0,
        )  # fmt: skip
        transformers.GPT2LMHeadModel(config).save_pretrained(folder)
    save_tokenizer(folder, chat_template)
    return str(folder)
