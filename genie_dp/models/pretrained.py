"""Hugging Face models with a pointer-generator on top: encoder-decoders, and decoders alone.

A pretrained model reads a sentence in its own pieces of words. It writes program tokens and
copied words, as with all other networks (Rongali et al., 2020), so that the same search and the
same grammars serve it: a token that is generated starts as the mean of its pieces.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from genie_dp.errors import GenieError, Problem, with_article
from genie_dp.models.arrays import BASE
from genie_dp.models.batches import Source
from genie_dp.models.layers import Mixture, Pointer
from genie_dp.models.seq2seq import PointerNetwork, Tensors
from genie_dp.models.sizes import PretrainedSettings
from genie_dp.models.vocabulary import Vocabulary, words_of_name


class PretrainedNetwork(PointerNetwork):
    """A pretrained model, and a pointer-generator instead of its head; subclasses run it."""

    padding_side: Literal["left", "right"] = "right"

    def __init__(
        self, vocabulary: Vocabulary, settings: PretrainedSettings, body: Any, tokenizer: Any
    ):
        """Draw the new head.

        Args:
            body: the model without its own head.
        """
        super().__init__()
        self.smoothing = settings.smoothing
        self.generated = vocabulary.generated
        self.tokenizer = tokenizer
        self.config = body.config
        # Models with a table of places (BART, GPT-2) take no more pieces than it has.
        self.longest: int | None = getattr(self.config, "max_position_embeddings", None)
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

    def begin(self, memory: Tensors) -> Tensors:
        """Return nothing kept yet: no step was taken."""
        return ()

    def _read(
        self, source: Source, longest: int | None, start: Sequence[int] = ()
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return ids, mask and word of pieces, each (B, Z).

        A piece that belongs to no word, as the end does, has the number S.

        Args:
            longest: pieces that fit, None for any number.
            start: pieces before the sentence.
        """
        end, none = self.tokenizer.eos_token_id, source.words.shape[1]
        ids, owners = [], []
        for sentence in source.sentences:
            row = _fitting([self._pieces(word) for word in sentence], longest)
            ids.append(torch.tensor([*start, *(piece for word in row for piece in word), end]))
            owner = [place for place, word in enumerate(row) for _ in word]
            owners.append(torch.tensor([*(none for _ in start), *owner, none]))
        device, side = source.words.device, self.padding_side
        mask = pad_sequence([torch.ones_like(row) for row in ids], True, 0, side)
        # What stands at padding is read by nobody; tokenizers may have no piece for it.
        return (
            pad_sequence(ids, True, 0, side).to(device),
            mask.to(device),
            pad_sequence(owners, True, none, side).to(device),
        )

    def _embedded_words(self, ids: torch.Tensor, owner: torch.Tensor, words: int) -> torch.Tensor:
        """Return (B, S, d): the mean of each word's pieces."""
        return _means(self.body.get_input_embeddings().weight[ids], owner, words)

    def _embedded_tokens(self, tokens: torch.Tensor, embedded: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d) of extended ids; copied words have their vectors in `embedded`."""
        copied = tokens >= self.generated
        places = (tokens - self.generated).clamp(min=0)[:, :, None]
        there = embedded.gather(1, places.expand(-1, -1, embedded.shape[2]))
        own = self.tokens(tokens.masked_fill(copied, 0))
        return torch.where(copied[:, :, None], there, own) * self.scale


class EncoderDecoder(PretrainedNetwork):
    """Encoder and decoder of a pretrained model (BART, T5, ..)."""

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words (B, S, d), pieces' states (B, Z, d) and padding.

        The states of words (B, S, d), which are pointed at, are those of their first pieces.
        """
        ids, mask, owner = self._read(source, self.longest)
        states = self.body.get_encoder()(input_ids=ids, attention_mask=mask).last_hidden_state
        words = _gather_words(states, owner, source.words.shape[1], "amin")
        embedded = self._embedded_words(ids, owner, source.words.shape[1])
        return source.copies, source.padding, embedded, words, states, mask

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[Mixture, Tensors]:
        """Return the decoder's output after each of (B, T) tokens, and its cache."""
        from transformers import EncoderDecoderCache

        _, padding, embedded, words, states, mask = memory
        half = len(state) // 2
        past = EncoderDecoderCache(_cache(state[:half]), _cache(state[half:]))
        out = self.body.get_decoder()(
            inputs_embeds=self._embedded_tokens(tokens, embedded),
            encoder_hidden_states=states,
            encoder_attention_mask=mask,
            past_key_values=past,
            use_cache=True,
        )
        mixture = self.pointer(out.last_hidden_state, words, padding, self.tokens.weight)
        after = out.past_key_values
        own, cross = after.self_attention_cache, after.cross_attention_cache
        return mixture, (*_tensors(own), *_tensors(cross))


class DecoderOnly(PretrainedNetwork):
    """A causal language model (GPT-2, Llama, Gemma, Qwen, ..) that goes on from the sentence.

    Sentences are padded on the left, so that sliding windows see the same alone and in a batch.
    """

    padding_side = "left"

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words (B, S, d), their states, mask, keys and values.

        The states of words (B, S, d), which are pointed at, are those of their last pieces: the
        first have not read the rest. A table of places is shared with the program: half is its.
        """
        start = [x for x in (self.tokenizer.bos_token_id,) if x is not None]
        longest = self.longest and self.longest // 2 - len(start)
        ids, mask, owner = self._read(source, longest, start)
        out = self.body(
            input_ids=ids,
            attention_mask=mask,
            position_ids=(mask.cumsum(1) - 1).clamp(min=0),
            past_key_values=_cache(()),
            use_cache=True,
        )
        words = _gather_words(out.last_hidden_state, owner, source.words.shape[1], "amax")
        embedded = self._embedded_words(ids, owner, source.words.shape[1])
        read = _tensors(out.past_key_values)
        return source.copies, source.padding, embedded, words, mask, *read

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[Mixture, Tensors]:
        """Return the model's output after each of (B, T) tokens, and the cache of the program."""
        _, padding, embedded, words, mask, *read = memory
        before = state[0].shape[2] if state else 0
        past = [torch.cat(pair, 2) for pair in zip(read, state, strict=True)] if state else read
        steps = torch.arange(before, before + tokens.shape[1], device=tokens.device)
        places = mask.sum(1, keepdim=True) + steps
        out = self.body(
            inputs_embeds=self._embedded_tokens(tokens, embedded),
            attention_mask=nn.functional.pad(mask, (0, len(steps) + before), value=1),
            position_ids=places.clamp(0, self.longest and self.longest - 1),
            past_key_values=_cache(past),
            use_cache=True,
        )
        mixture = self.pointer(out.last_hidden_state, words, padding, self.tokens.weight)
        return mixture, tuple(x[:, :, mask.shape[1] :] for x in _tensors(out.past_key_values))


def read_pretrained(vocabulary: Vocabulary, settings: PretrainedSettings) -> PretrainedNetwork:
    """Return a network around a pretrained model; its head is drawn.

    Raises:
        GenieError: M007, there is no such model, or it is of neither kind; M005, no peft.
    """
    from transformers import AutoConfig, AutoModel, AutoTokenizer

    models: Any = AutoModel
    try:
        config = AutoConfig.from_pretrained(settings.base)
        network = _network_of(config)
        tokenizer = AutoTokenizer.from_pretrained(settings.base)
        # Of a model in bfloat16, too: the new head has single precision, and so has AdamW.
        if settings.fresh:
            body = models.from_pretrained(settings.base, dtype=torch.float32)
        else:
            body = models.from_config(config, dtype=torch.float32)
        if body._is_stateful:
            raise ValueError(f"{with_article(config.model_type)} keeps no keys and values")
    except (OSError, ValueError) as problem:
        message = (
            "expected an encoder-decoder or a causal language model of Hugging Face in "
            f"{settings.base!r}, got: {problem}"
        )
        hint = "name one such as facebook/bart-base or gpt2, or a folder with one"
        raise GenieError(Problem("M007", message, hint=hint)) from problem
    return network(vocabulary, settings, body, tokenizer)


def _network_of(config: Any) -> type[PretrainedNetwork]:
    from transformers.models.auto import modeling_auto as auto

    kind = config.model_type
    if config.is_encoder_decoder:
        return EncoderDecoder
    if config.get_text_config() is not config:
        raise ValueError(f"{with_article(kind)} reads more than text")
    # BERT and its like are in both tables: as decoders they are mere parts.
    is_causal = kind in auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
    if not is_causal or kind in auto.MODEL_FOR_MASKED_LM_MAPPING_NAMES:
        raise ValueError(f"{with_article(kind)} is neither")
    return DecoderOnly


def _add_adapters(body: Any, settings: PretrainedSettings) -> Any:
    """Return the model with adapters; nothing else of it is trained."""
    try:
        from peft import LoraConfig, get_peft_model
        from peft.utils import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as targets_of
    except ImportError as problem:
        hint = "pip install 'genie_dp[train]'"
        raise GenieError(Problem("M005", "peft is not installed", hint=hint)) from problem
    targets = None if body.config.model_type in targets_of else "all-linear"
    options = LoraConfig(
        r=settings.lora_rank, lora_alpha=settings.lora_alpha, target_modules=targets
    )
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


def _gather_words(
    states: torch.Tensor, owner: torch.Tensor, words: int, which: Literal["amin", "amax"]
) -> torch.Tensor:
    """Return (B, S, d): the states (B, Z, d) of each word's first or last piece."""
    pieces = torch.arange(owner.shape[1], device=owner.device).expand_as(owner)
    places = owner.new_zeros(len(owner), words + 1)
    places = places.scatter_reduce(1, owner, pieces, which, include_self=False)[:, :words, None]
    return states.gather(1, places.expand(-1, -1, states.shape[2]))


def _cache(tensors: Sequence[torch.Tensor]) -> Any:
    """Return a cache of transformers from keys and values of each layer; it forgets none."""
    from transformers import DynamicCache

    return DynamicCache([tuple(tensors[i : i + 2]) for i in range(0, len(tensors), 2)] or None)


def _tensors(cache: Any) -> Tensors:
    """Return keys and values of each layer."""
    return tuple(x for layer in cache.layers for x in (layer.keys, layer.values))
