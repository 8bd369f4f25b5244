"""Any Hugging Face encoder-decoder with a pointer-generator on top.

A pretrained model's own pieces of words are what its encoder reads. What is written are program
tokens and copied words, as with all other networks (Rongali et al., 2020), so that the same search
and the same grammars serve it: a token that is generated starts as the mean of its pieces.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import torch
from torch import nn

from genie_dp.errors import GenieError, Problem, with_article
from genie_dp.models.arrays import BASE
from genie_dp.models.batches import Source
from genie_dp.models.layers import Mixture, Pointer
from genie_dp.models.seq2seq import PointerNetwork, Tensors
from genie_dp.models.sizes import PretrainedSettings
from genie_dp.models.vocabulary import Vocabulary, words_of_name


class PretrainedNetwork(PointerNetwork):
    """Encoder and decoder of a pretrained model, and a pointer-generator instead of its head."""

    def __init__(self, vocabulary: Vocabulary, settings: PretrainedSettings):
        """Read the model and its tokenizer; a new head is drawn.

        Raises:
            GenieError: there is no such model, or it has no encoder and decoder.
        """
        super().__init__()
        self.smoothing = settings.smoothing
        self.generated = vocabulary.generated
        body, self.tokenizer = _load_body(settings)
        self.config = body.config
        pieces = body.get_input_embeddings()
        self.scale = float(getattr(pieces, "embed_scale", 1.0))
        size = pieces.weight.shape[1]
        self.tokens = nn.Embedding(vocabulary.generated, size)
        with torch.no_grad():
            for row, token in enumerate(vocabulary.words[: vocabulary.generated]):
                self.tokens.weight[row] = pieces.weight[
                    list(self._pieces(" ".join(words_of_name(token)) or token))
                ].mean(0)
        self.base, self.has_adapters = settings.base, bool(settings.lora_rank)
        self.body = _add_adapters(body, settings) if settings.lora_rank else body
        self.pointer = Pointer(size, size, (vocabulary.generated, size))

    def _pieces(self, word: str) -> tuple[int, ...]:
        return _pieces(self.tokenizer, word)

    def save_base(self, folder: Path) -> None:
        """Write configuration and tokenizer of the pretrained model into `folder/base`."""
        self.config.save_pretrained(folder / BASE)
        self.tokenizer.save_pretrained(folder / BASE)

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words (B, S, d), pieces' states (B, Z, d) and padding.

        The states of words (B, S, d), which are pointed at, are those of their first pieces.
        """
        device = source.words.device
        ids, mask, first, owner = (x.to(device) for x in self._read(source.sentences))
        pieces = self.body.get_input_embeddings()
        encoder = self.body.get_encoder()
        states = encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        embedded = _means(pieces.weight[ids], owner, source.words.shape[1])
        words = states.gather(1, first[:, :, None].expand(-1, -1, states.shape[2]))
        return source.copies, source.padding, embedded, words, states, mask

    def _read(self, sentences: Sequence[tuple[str, ...]]) -> Tensors:
        """Return ids and mask (B, Z) of pieces, first piece (B, S) of words, word (B, Z) of pieces.

        A piece that belongs to no word has the number S.
        """
        end = self.tokenizer.eos_token_id
        # Encoders with a table of places (BART) take no more pieces than it has.
        longest = getattr(self.config, "max_position_embeddings", None)
        rows = [_fitting([self._pieces(w) for w in s], longest) for s in sentences]
        wide = max(sum(map(len, row)) for row in rows) + 1
        words = max(1, *map(len, rows))
        ids = torch.full((len(rows), wide), self.tokenizer.pad_token_id)
        mask = torch.zeros(len(rows), wide, dtype=torch.int64)
        first = torch.zeros(len(rows), words, dtype=torch.int64)
        owner = torch.full((len(rows), wide), words)
        for i, row in enumerate(rows):
            flat = [piece for word in row for piece in word]
            ids[i, : len(flat) + 1] = torch.tensor([*flat, end])
            mask[i, : len(flat) + 1] = 1
            owner[i, : len(flat)] = torch.tensor(
                [j for j, word in enumerate(row) for _ in word], dtype=torch.int64
            )
            starts = [sum(map(len, row[:j])) for j in range(len(row))]
            first[i, : len(row)] = torch.tensor(starts, dtype=torch.int64)
        return ids, mask, first, owner

    def begin(self, memory: Tensors) -> Tensors:
        """Return nothing kept yet: no step was taken."""
        return ()

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[Mixture, Tensors]:
        """Return what the decoder says after each of (B, T) tokens, and its cache."""
        _, padding, embedded, words, states, mask = memory
        copied = tokens >= self.generated
        places = (tokens - self.generated).clamp(min=0)[:, :, None]
        there = embedded.gather(1, places.expand(-1, -1, embedded.shape[2]))
        own = self.tokens(tokens.masked_fill(copied, 0))
        decoder = self.body.get_decoder()
        out = decoder(
            inputs_embeds=torch.where(copied[:, :, None], there, own) * self.scale,
            encoder_hidden_states=states,
            encoder_attention_mask=mask,
            past_key_values=_cache(state),
            use_cache=True,
        )
        mixture = self.pointer(out.last_hidden_state, words, padding, self.tokens.weight)
        return mixture, _flat(out.past_key_values)


def _load_body(settings: PretrainedSettings) -> tuple[Any, Any]:
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    models: Any = AutoModel
    try:
        config = AutoConfig.from_pretrained(settings.base)
        tokenizer = AutoTokenizer.from_pretrained(settings.base)
        if not config.is_encoder_decoder:
            raise ValueError(f"{with_article(config.model_type)} has no encoder and decoder")
        # Of a model in bfloat16, too: the new head has single precision, and so has AdamW.
        if settings.fresh:
            return models.from_pretrained(settings.base, dtype=torch.float32), tokenizer
        return models.from_config(config, dtype=torch.float32), tokenizer
    except (OSError, ValueError) as problem:
        message = (
            f"expected an encoder-decoder of Hugging Face in {settings.base!r}, got: {problem}"
        )
        hint = "name one such as facebook/bart-base, or a folder with one"
        raise GenieError(Problem("M007", message, hint=hint)) from problem


def _add_adapters(body: Any, settings: PretrainedSettings) -> Any:
    """Return the model with adapters; nothing else of it is trained."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as problem:
        hint = "pip install 'genie_dp[train]'"
        raise GenieError(Problem("M005", "peft is not installed", hint=hint)) from problem
    options = LoraConfig(r=settings.lora_rank, lora_alpha=settings.lora_alpha)
    return get_peft_model(body, options).base_model.model


@lru_cache(maxsize=100_000)
def _pieces(tokenizer: Any, word: str) -> tuple[int, ...]:
    """Return the pieces of a word inside a sentence; never none."""
    # Not verbose: of a private row that a parser reads, it would tell how long a word is.
    pieces = tokenizer(f" {word}", add_special_tokens=False, verbose=False).input_ids
    return tuple(pieces) or (tokenizer.unk_token_id,)


def _fitting(row: list[tuple[int, ...]], longest: int | None) -> list[tuple[int, ...]]:
    """Return the pieces of words; of words that are too long together, the first of each.

    Args:
        longest: pieces that an encoder takes, the end included; None for any number.

    >>> _fitting([(1, 2, 3), (4,)], 4)
    [(1,), (4,)]
    """
    if longest is None or sum(map(len, row)) < longest:
        return row
    each = max(1, (longest - 1) // len(row))
    return [pieces[:each] for pieces in row]


def _means(pieces: torch.Tensor, owner: torch.Tensor, words: int) -> torch.Tensor:
    """Return (B, S, d): the mean of each word's pieces (B, Z, d), by the word (B, Z) of each."""
    rows, _, size = pieces.shape
    sums = pieces.new_zeros(rows, words + 1, size)
    sums = sums.scatter_add(1, owner[:, :, None].expand_as(pieces), pieces)
    ones = torch.zeros(rows, words + 1, device=pieces.device)
    counts = ones.scatter_add(1, owner, torch.ones(owner.shape, device=pieces.device))
    return (sums / counts.clamp(min=1)[:, :, None].to(pieces.dtype))[:, :words]


def _cache(state: Tensors) -> Any:
    """Return a cache of transformers from four tensors a layer."""
    from transformers import DynamicCache, EncoderDecoderCache

    layers = [state[i : i + 4] for i in range(0, len(state), 4)]
    own = DynamicCache([layer[:2] for layer in layers] or None)
    return EncoderDecoderCache(own, DynamicCache([layer[2:] for layer in layers] or None))


def _flat(cache: Any) -> Tensors:
    """Return own keys, own values, cross keys, cross values of each layer."""
    both = zip(cache.self_attention_cache.layers, cache.cross_attention_cache.layers, strict=True)
    return tuple(x for own, cross in both for x in (own.keys, own.values, cross.keys, cross.values))
