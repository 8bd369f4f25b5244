"""Causal language models of private rows: the own decoder, a recurrent one, those of Hugging Face.

Every engine of DP training works on them: linear layers, embeddings and layer norms, an untied
head, positions as explicit contiguous ids, so that gradients per row can be computed, and no row
sees another. Before the models stand the batches that they learn from, and the interface for
sampling.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from genie_dp.errors import GenieError, Problem, with_article
from genie_dp.models.arrays import BASE
from genie_dp.models.layers import Module
from genie_dp.private.generators.stages import EncodedRow

# The target of a place that is not scored: prompts and padding. Id 0 is a real token of GPT-2.
UNSCORED = -100


@dataclass(frozen=True, slots=True)
class Sequences:
    """A batch: B rows, T tokens in the widest, padded on the right.

    Attributes:
        inputs: (B, T) ids; 0 behind the end.
        targets: (B, T) ids of the tokens after them; UNSCORED for prompts and padding.
        weights: (B,) factors of the rows' losses.
    """

    inputs: torch.Tensor
    targets: torch.Tensor
    weights: torch.Tensor

    def to(self, device: torch.device | str) -> "Sequences":
        """Return the same on a device."""
        return Sequences(self.inputs.to(device), self.targets.to(device), self.weights.to(device))


def collate(
    rows: Sequence[EncodedRow], *, width: int | None = None, weights: Sequence[float] = ()
) -> Sequences:
    """Return rows as one batch, as wide as its widest row or as `width`.

    >>> rows = [EncodedRow((2, 7, 1, 8, 3), scored_from=3), EncodedRow((2, 9, 3))]
    >>> collate(rows).targets.tolist()
    [[-100, -100, 8, 3], [9, 3, -100, -100]]
    """
    wide = width or max(len(row.tokens) for row in rows) - 1
    inputs = torch.zeros(len(rows), wide, dtype=torch.int64)
    targets = torch.full((len(rows), wide), UNSCORED)
    for i, row in enumerate(rows):
        ids = torch.tensor(row.tokens, dtype=torch.int64)
        inputs[i, : len(ids) - 1] = ids[:-1]
        targets[i, row.scored_from - 1 : len(ids) - 1] = ids[row.scored_from :]
    return Sequences(inputs, targets, torch.tensor(weights or [1.0] * len(rows)))


@dataclass(frozen=True, slots=True)
class PublicSequences(Sequences):
    """A batch of public rows, whose gradients nobody clips one by one.

    So only the scored places go through the head, which is most of the work of a small model. Steps
    on sentences behind their programs take half the time (2 layers of 96, November 2026).

    Attributes:
        scored: (N,) places with a target among the B x T, counted row by row.
    """

    scored: torch.Tensor

    @staticmethod
    def of(batch: Sequences) -> "PublicSequences":
        """Return rows that may be learned together."""
        scored = (batch.targets.flatten() != UNSCORED).nonzero()[:, 0]
        return PublicSequences(batch.inputs, batch.targets, batch.weights, scored)

    def to(self, device: torch.device | str) -> "PublicSequences":
        """Return the same on a device."""
        whole = Sequences.to(self, device)
        scored = self.scored.to(device)
        return PublicSequences(whole.inputs, whole.targets, whole.weights, scored)


def losses(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return (B,) losses in nats, summed over each row's scored places.

    Rows are never averaged together: the gradient of a row is to be clipped by itself.

    Args:
        logits: (B, T, V).
        targets: (B, T) ids, UNSCORED where nothing is scored.
    """
    scores = logits.float().log_softmax(2)
    log_probabilities = scores.gather(2, targets.clamp(min=0)[:, :, None])[:, :, 0]
    return -(log_probabilities * (targets != UNSCORED)).sum(1)


def losses_of(head: nn.Linear, states: torch.Tensor, batch: Sequences) -> torch.Tensor:
    """Return (B,) losses in nats of (B, T, d) states, by a head to the logits of tokens."""
    if not isinstance(batch, PublicSequences):
        return losses(head(states), batch.targets)
    logits = head(states.flatten(0, 1)[batch.scored])
    targets = batch.targets.flatten()
    scored = nn.functional.cross_entropy(logits.float(), targets[batch.scored], reduction="none")
    of_places = scored.new_zeros(len(targets)).index_copy(0, batch.scored, scored)
    return of_places.view(batch.targets.shape).sum(1)


@dataclass(frozen=True, slots=True)
class DecoderState:
    """The state of B sequences in a model.

    Attributes:
        cache: keys and values (B, heads, S, d / heads) of each layer in turn.
        seen: (B, S) False at the padding of prompts.
        places: (B,) position of the next token.
    """

    cache: tuple[torch.Tensor, ...]
    seen: torch.Tensor
    places: torch.Tensor

    def take(self, rows: torch.Tensor) -> "DecoderState":
        """Return the state of some rows, in that order."""
        cache = tuple(x.index_select(0, rows) for x in self.cache)
        return DecoderState(
            cache, self.seen.index_select(0, rows), self.places.index_select(0, rows)
        )

    def longer_seen(self) -> torch.Tensor:
        """Return (B, S + 1): `seen` with one more token."""
        return torch.cat([self.seen, torch.ones_like(self.seen[:, :1])], 1)


class CausalLM(Protocol):
    """A language model over ids.

    Attributes:
        longest: tokens of a sequence that it has positions for.
    """

    longest: int

    @property
    def device(self) -> torch.device:
        """Return where the model is."""

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""

    def start(
        self, prompts: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits of the token after each prompt, and the state there.

        Args:
            prompts: (B, P) ids, padded on the right.
            lengths: (B,) ids of each prompt.
        """

    def step(self, state: DecoderState, tokens: torch.Tensor) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after (B,) tokens, and the state there."""


def take_last(x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return (B, d): of (B, P, d), the place before each length."""
    return x[torch.arange(len(x), device=x.device), lengths - 1]


def mark_seen(prompts: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    """Return (B, P): where prompts are no padding."""
    places = torch.arange(prompts.shape[1], device=prompts.device)
    return places < lengths[:, None]


@dataclass(frozen=True, slots=True)
class DecoderSettings:
    """Sizes of the decoder.

    Attributes:
        size: of embeddings and states.
        layers, heads: of the transformer; a layer's inner size is four times `size`.
        longest: tokens of a sequence; later tokens share the last position.
    """

    size: int = 256
    layers: int = 4
    heads: int = 4
    longest: int = 256

    def __post_init__(self) -> None:
        if min(self.size, self.layers, self.heads, self.longest) < 1 or self.size % self.heads:
            raise ValueError(f"expected positive sizes, size a multiple of heads, got {self}")


class _Block(Module):
    """Causal self-attention and feed-forward; norms come first (Xiong et al., 2020)."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(size)
        self.project = nn.Linear(size, 3 * size)
        self.output = nn.Linear(size, size)
        self.feed_norm = nn.LayerNorm(size)
        self.inner = nn.Linear(size, 4 * size)
        self.outer = nn.Linear(4 * size, size)

    def forward(
        self,
        x: torch.Tensor,
        past: tuple[torch.Tensor, torch.Tensor] | None = None,
        seen: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return (B, T, d), and keys and values (B, heads, S, d / heads) of past and present.

        Args:
            x: (B, T, d); T is 1 where there is a past.
            past: keys and values of earlier tokens.
            seen: (B, S) where the one token may look; None for causal attention.
        """
        parts = self.project(self.norm(x)).chunk(3, dim=2)
        query, key, value = (y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in parts)
        if past is not None:
            key, value = torch.cat([past[0], key], 2), torch.cat([past[1], value], 2)
        mask = None if seen is None else seen[:, None, None, :]
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=mask is None
        )
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.outer(nn.functional.gelu(self.inner(self.feed_norm(x)))), key, value


class PreLNDecoder(Module):
    """A decoder-only transformer; a CausalLM."""

    def __init__(self, tokens: int, settings: DecoderSettings):
        super().__init__()
        self.longest = settings.longest
        self.words = nn.Embedding(tokens, settings.size)
        self.places = nn.Embedding(settings.longest, settings.size)
        self.blocks = nn.ModuleList(
            _Block(settings.size, settings.heads) for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(settings.size)
        self.head = nn.Linear(settings.size, tokens, bias=False)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, V) logits of the token after each of (B, T)."""
        logits: torch.Tensor = self.head(self._states(ids))
        return logits

    def _states(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d) states, which the head reads."""
        x = self._embed(ids, positions_of(ids, self.longest))
        # Under vmap the fused kernel of CPUs runs row by row and takes 1.3 times as long; without
        # vmap both are as fast (8 rows of 64 tokens, 5M weights, November 2026).
        with sdpa_kernel(SDPBackend.MATH) if ids.device.type == "cpu" else nullcontext():
            for block in self.blocks:
                x, _, _ = block(x)
        return self.norm(x)

    def _embed(self, ids: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        return self.words(ids) + self.places(places)

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        device: torch.device = next(self.parameters()).device
        return device

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses_of(self.head, self._states(batch.inputs), batch)

    def start(
        self, prompts: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM."""
        x = self._embed(prompts, positions_of(prompts, self.longest))
        cache: list[torch.Tensor] = []
        for block in self.blocks:
            x, *keys_and_values = block(x)
            cache.extend(keys_and_values)
        state = DecoderState(tuple(cache), mark_seen(prompts, lengths), lengths)
        return self.head(self.norm(take_last(x, lengths))), state

    def step(self, state: DecoderState, tokens: torch.Tensor) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after one more token each; see CausalLM."""
        place = state.places.clamp(max=self.longest - 1)[:, None]
        x = self._embed(tokens[:, None], place)
        seen = state.longer_seen()
        cache: list[torch.Tensor] = []
        for i, block in enumerate(self.blocks):
            past = state.cache[2 * i], state.cache[2 * i + 1]
            x, *keys_and_values = block(x, past, seen)
            cache.extend(keys_and_values)
        return self.head(self.norm(x[:, 0])), DecoderState(tuple(cache), seen, state.places + 1)


def positions_of(ids: torch.Tensor, longest: int) -> torch.Tensor:
    """Return (B, T) positions, a contiguous tensor of its own.

    With ids of shape (1, T), or expanded ones, the engines of Opacus fail or take the wrong norm.
    """
    places = torch.arange(ids.shape[1], device=ids.device).clamp(max=longest - 1)
    return places.repeat(ids.shape[0], 1)


@dataclass(frozen=True, slots=True)
class RecurrentLMSettings:
    """Sizes of the recurrent model.

    Attributes:
        size: of embeddings and states; 200 in the paper (appendix A.3).
        longest: tokens of a sequence; no weight depends on it.
    """

    size: int = 200
    longest: int = 256

    def __post_init__(self) -> None:
        if min(self.size, self.longest) < 1:
            raise ValueError(f"expected positive sizes, got {self}")


def unroll(layer: nn.LSTM, x: torch.Tensor) -> torch.Tensor:
    """Return (B, T, d) states of a layer of LSTM on (B, T, e), by plain matrix products."""
    gates = nn.functional.linear(x, layer.weight_ih_l0, layer.bias_ih_l0)
    hidden = cell = x.new_zeros(x.shape[0], layer.hidden_size)
    states = []
    for t in range(x.shape[1]):
        hidden, cell = cell_step(layer, gates[:, t], hidden, cell)
        states.append(hidden)
    return torch.stack(states, 1)


def cell_step(
    layer: nn.LSTM, gates: torch.Tensor, hidden: torch.Tensor, cell: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return hidden and cell, (B, d), after one more token, whose part of the gates is (B, 4 d)."""
    gates = gates + nn.functional.linear(hidden, layer.weight_hh_l0, layer.bias_hh_l0)
    take, forget, value, give = gates.chunk(4, 1)
    cell = forget.sigmoid() * cell + take.sigmoid() * value.tanh()
    return give.sigmoid() * cell.tanh(), cell


class RecurrentLM(Module):
    """An LSTM over ids; a CausalLM. Its head is untied, and nothing is dropped."""

    def __init__(self, tokens: int, settings: RecurrentLMSettings):
        super().__init__()
        self.longest = settings.longest
        self.words = nn.Embedding(tokens, settings.size)
        self.recurrent = nn.LSTM(settings.size, settings.size, batch_first=True)
        self.head = nn.Linear(settings.size, tokens)
        nn.init.uniform_(self.words.weight, -0.1, 0.1)
        nn.init.uniform_(self.head.weight, -0.1, 0.1)
        nn.init.zeros_(self.head.bias)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, V) logits of the token after each of (B, T)."""
        logits: torch.Tensor = self.head(self._states(ids))
        return logits

    def _states(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d) states, which the head reads."""
        x = self.words(ids)
        # The fused kernel is three times as fast, but runs row by row under vmap, which is what
        # training with noise wants of a model in train mode.
        return unroll(self.recurrent, x) if self.training else self.recurrent(x)[0]

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        device: torch.device = next(self.parameters()).device
        return device

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses_of(self.head, self._states(batch.inputs), batch)

    def start(
        self, prompts: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM.

        The state is that at each prompt's end, so prompts are read token by token.
        """
        rows = len(prompts)
        hidden = torch.zeros(1, rows, self.recurrent.hidden_size, device=prompts.device)
        cell, outputs = hidden, []
        for place in range(prompts.shape[1]):
            x = self.words(prompts[:, place : place + 1])
            out, (after, after_cell) = self.recurrent(x, (hidden, cell))
            goes_on = (place < lengths)[None, :, None]
            hidden = torch.where(goes_on, after, hidden)
            cell = torch.where(goes_on, after_cell, cell)
            outputs.append(out)
        logits = self.head(take_last(torch.cat(outputs, 1), lengths))
        # Rows come first in a State.
        state = DecoderState((hidden[0], cell[0]), mark_seen(prompts, lengths), lengths)
        return logits, state

    def step(self, state: DecoderState, tokens: torch.Tensor) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after one more token each; see CausalLM."""
        before = (state.cache[0][None].contiguous(), state.cache[1][None].contiguous())
        out, (hidden, cell) = self.recurrent(self.words(tokens[:, None]), before)
        after = DecoderState((hidden[0], cell[0]), state.longer_seen(), state.places + 1)
        return self.head(out[:, 0]), after


@dataclass(frozen=True, slots=True)
class HuggingFaceSettings:
    """The base model, and the parts of it that are trained.

    Attributes:
        base: name on the hub, or a folder.
        lora_rank: rank of low-rank adapters (Hu et al., 2022); 0 trains all weights.
        lora_alpha: their scale is alpha / rank.
        untie: whether the head is a matrix of its own.
        longest: tokens of a sequence; fewer where the model has fewer positions.
        fresh: whether to read the weights of `base`; a saved model has its own.
        instructs: whether prompts have an instruction (stages.encode_prompt).
    """

    base: str
    lora_rank: int = 0
    lora_alpha: int = 16
    untie: bool = True
    longest: int = 256
    fresh: bool = True
    instructs: bool = True


Settings = DecoderSettings | HuggingFaceSettings | RecurrentLMSettings


class HuggingFaceCausal(Module):
    """A decoder-only model of transformers; a CausalLM."""

    def __init__(self, settings: HuggingFaceSettings):
        """Read the model.

        Raises:
            GenieError: H004, there is no such model; M005, peft is not installed.
        """
        super().__init__()
        body = _load_body(settings)
        self.longest = min(settings.longest, getattr(body.config, "max_position_embeddings", 10**9))
        self.config = body.config
        self.base, self.has_adapters = settings.base, bool(settings.lora_rank)
        if settings.lora_rank:  # nothing but the adapters is trained
            try:
                from peft import LoraConfig, get_peft_model
            except ImportError as problem:
                hint = "pip install 'genie_dp[train]'"
                raise GenieError(Problem("M005", "peft is not installed", hint=hint)) from problem
            options = LoraConfig(
                r=settings.lora_rank, lora_alpha=settings.lora_alpha, task_type="CAUSAL_LM"
            )
            body = get_peft_model(body, options)
        self.body = body

    def save_base(self, folder: Path) -> None:
        """Write the model's configuration into `folder/base`."""
        self.config.save_pretrained(folder / BASE)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Return (B, T, V) logits of the token after each of (B, T)."""
        places = positions_of(ids, self.longest)
        logits: torch.Tensor = self.body(input_ids=ids, position_ids=places, use_cache=False).logits
        return logits

    @property
    def device(self) -> torch.device:
        """Return where the model is."""
        device: torch.device = next(self.parameters()).device
        return device

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses(self(batch.inputs), batch.targets)

    def start(
        self, prompts: torch.Tensor, lengths: torch.Tensor
    ) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM."""
        out = self.body(
            input_ids=prompts, position_ids=positions_of(prompts, self.longest), use_cache=True
        )
        state = DecoderState(
            _flatten_cache(out.past_key_values), mark_seen(prompts, lengths), lengths
        )
        return take_last(out.logits, lengths), state

    def step(self, state: DecoderState, tokens: torch.Tensor) -> tuple[torch.Tensor, DecoderState]:
        """Return (B, V) logits after one more token each; see CausalLM."""
        from transformers import DynamicCache

        seen = state.longer_seen()
        layers = [state.cache[i : i + 2] for i in range(0, len(state.cache), 2)]
        out = self.body(
            input_ids=tokens[:, None],
            attention_mask=seen.long(),
            position_ids=state.places.clamp(max=self.longest - 1)[:, None],
            past_key_values=DynamicCache(layers),
            use_cache=True,
        )
        return out.logits[:, -1], DecoderState(
            _flatten_cache(out.past_key_values), seen, state.places + 1
        )


def _flatten_cache(cache: Any) -> tuple[torch.Tensor, ...]:
    """Return keys and values of each layer in turn."""
    return tuple(x for layer in cache.layers for x in (layer.keys, layer.values))


def _load_body(settings: HuggingFaceSettings) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    models: Any = AutoModelForCausalLM
    try:
        config = AutoConfig.from_pretrained(settings.base)
        if config.is_encoder_decoder:
            raise ValueError(f"{with_article(config.model_type)} has an encoder")
        config.pad_token_id = None
        # Without dropout: the gradient of a row is to depend on nothing but the row.
        for name, value in list(config.to_dict().items()):
            if isinstance(value, float) and (name.endswith("pdrop") or "dropout" in name):
                setattr(config, name, 0.0)
        if not settings.fresh:
            if settings.untie:
                config.tie_word_embeddings = False
            return models.from_config(config)
        body = models.from_pretrained(settings.base, config=config, dtype=torch.float32)
    except (OSError, ValueError) as problem:
        message = f"expected a causal model of Hugging Face in {settings.base!r}, got: {problem}"
        hint = "name one such as gpt2, or a folder with one"
        raise GenieError(Problem("H004", message, hint=hint)) from problem
    if settings.untie:
        head = body.get_output_embeddings()
        head.weight = nn.Parameter(head.weight.detach().clone())
        body.config.tie_word_embeddings = False
    return body
