"""Causal language models of Hugging Face (GPT-2, Llama, ..), so that DP training works on them.

What it takes was found by comparing gradients (docs/generators.md): positions of shape (B, T), no
attention mask and no padding token in training, no dropout, and a head of its own where an engine
cannot have one matrix used twice.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from genie_dp.errors import GenieError, Problem, with_article
from genie_dp.learn.module import Module
from genie_dp.private.generators.causal import State, last_of, seen_by
from genie_dp.private.generators.decoder import positions_of
from genie_dp.private.generators.sequences import Sequences, losses

BASE = "base"


@dataclass(frozen=True, slots=True)
class HuggingFaceSettings:
    """Which model, and what of it is trained.

    Attributes:
        base: name on the hub, or a folder.
        lora_rank: rank of low-rank adapters (Hu et al., 2022); 0 trains all weights.
        lora_alpha: their scale is alpha / rank.
        untie: whether the head is a matrix of its own; the engine `ghost` needs that.
        longest: tokens of a sequence; fewer where the model has fewer positions.
        fresh: whether to read the weights of `base`; a saved model has its own.
    """

    base: str
    lora_rank: int = 0
    lora_alpha: int = 16
    untie: bool = True
    longest: int = 256
    fresh: bool = True


class HuggingFaceCausal(Module):
    """A decoder-only model of transformers; a CausalLM."""

    def __init__(self, settings: HuggingFaceSettings):
        """Read the model.

        Raises:
            GenieError: H004, there is no such model; M005, peft is not installed.
        """
        super().__init__()
        body = _loaded(settings)
        self.longest = min(settings.longest, getattr(body.config, "max_position_embeddings", 10**9))
        self.config = body.config
        self.body = _adapted(body, settings) if settings.lora_rank else body

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
        found: torch.device = next(self.parameters()).device
        return found

    def loss(self, batch: Sequences) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over their scored tokens."""
        return losses(self(batch.inputs), batch.targets)

    def start(self, prompts: torch.Tensor, lengths: torch.Tensor) -> tuple[torch.Tensor, State]:
        """Return (B, V) logits after prompts, and the state there; see CausalLM."""
        out = self.body(
            input_ids=prompts, position_ids=positions_of(prompts, self.longest), use_cache=True
        )
        state = State(_flat(out.past_key_values), seen_by(prompts, lengths), lengths)
        return last_of(out.logits, lengths), state

    def step(self, state: State, tokens: torch.Tensor) -> tuple[torch.Tensor, State]:
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
        return out.logits[:, -1], State(_flat(out.past_key_values), seen, state.places + 1)


def _flat(cache: Any) -> tuple[torch.Tensor, ...]:
    """Return keys and values of each layer in turn."""
    return tuple(x for layer in cache.layers for x in (layer.keys, layer.values))


def _loaded(settings: HuggingFaceSettings) -> Any:
    from transformers import AutoConfig, AutoModelForCausalLM

    models: Any = AutoModelForCausalLM
    try:
        config = AutoConfig.from_pretrained(settings.base)
        if config.is_encoder_decoder:
            raise ValueError(f"{with_article(config.model_type)} has an encoder")
        config.pad_token_id = None
        _without_dropout(config)
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


def _without_dropout(config: Any) -> None:
    """Turn dropout off: the gradient of a row is to depend on nothing but the row."""
    for name, value in list(config.to_dict().items()):
        if isinstance(value, float) and (name.endswith("pdrop") or "dropout" in name):
            setattr(config, name, 0.0)


def _adapted(body: Any, settings: HuggingFaceSettings) -> Any:
    """Return the model with adapters; nothing else of it is trained."""
    try:
        from peft import LoraConfig, get_peft_model
    except ImportError as problem:
        hint = "pip install 'genie_dp[lora]'"
        raise GenieError(Problem("M005", "peft is not installed", hint=hint)) from problem
    options = LoraConfig(
        r=settings.lora_rank, lora_alpha=settings.lora_alpha, task_type="CAUSAL_LM"
    )
    return get_peft_model(body, options)
