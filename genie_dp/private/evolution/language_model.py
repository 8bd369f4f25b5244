"""Candidates from a Hugging Face language model, by name or folder.

Every answer has a random stream of its own (Gumbel noise on the logits: a draw by the largest of
them is a draw from the distribution), so it depends on its prompt and name alone, and the global
random state is neither read nor changed.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import (
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.utils import logging

from genie_dp.paraphrase.model import LoadedModel, ModelConfig, load_model
from genie_dp.private.evolution.config import LanguageModelRecipe
from genie_dp.private.evolution.prompting import Prompt, Style
from genie_dp.private.generators.config import SamplingSettings
from genie_dp.private.generators.sampling import restrict_scores
from genie_dp.private.training.run import digest_of_weights
from genie_dp.rng import child_seed


@dataclass(slots=True)
class HuggingFaceCompleter:
    """A model that answers prompts; a Completer.

    Attributes:
        recipe: which model, and how it is sampled from.
        loaded: the model with its tokenizer.
        style: whether it goes on with text, or chats.
        cut: prompts that were too long for the model; their beginning was left out.
    """

    recipe: LanguageModelRecipe
    loaded: LoadedModel
    style: Style
    cut: int = 0
    _ends: frozenset[int] = field(default=frozenset(), repr=False)
    _print: str = field(default="", repr=False)

    @property
    def name(self) -> str:
        """Return which model answers."""
        return f"model:{self.recipe.model.rstrip('/').rpartition('/')[2]}"

    @property
    def _sampling(self) -> SamplingSettings:
        recipe = self.recipe
        return SamplingSettings(
            temperature=recipe.temperature, top_p=recipe.top_p, longest=recipe.longest
        )

    def complete(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        """Return one answer to each prompt; see Completer."""
        # Alike long prompts together: less padding. The order follows from the prompts alone.
        order = sorted(range(len(prompts)), key=lambda i: (len(prompts[i].text), i))
        answers = [""] * len(prompts)
        for start in range(0, len(order), self.recipe.batch):
            places = order[start : start + self.recipe.batch]
            batch = self._batch([prompts[i] for i in places], [draws[i] for i in places])
            for i, answer in zip(places, batch, strict=True):
                answers[i] = answer
        return answers

    def fingerprint(self) -> str:
        """Return a hash of the weights, the vocabulary and the settings."""
        if not self._print:
            weights = digest_of_weights([self.loaded.model])
            words = sorted(self.loaded.tokenizer.get_vocab().items())
            parts = (weights, words, self.style, self.recipe.batch, self._sampling)
            text = repr(parts)
            self._print = hashlib.sha256(text.encode()).hexdigest()[:32]
        return self._print

    def _batch(self, prompts: Sequence[Prompt], draws: Sequence[str]) -> list[str]:
        tokenizer, model = self.loaded.tokenizer, self.loaded.model
        sampling = self._sampling
        openings = [self._opening(prompt) for prompt in prompts]
        texts = [self._text(prompt) for prompt in prompts]
        ids, seen = self._encode_prompts([a + b for a, b in zip(texts, openings, strict=True)])
        # A chat whose answer is not opened may begin with a line that is no sentence.
        is_first_line = self.style == "complete" or all(openings)
        ends = self._line_ends() if is_first_line else frozenset()
        own = model.generation_config.eos_token_id
        stops = {own} if isinstance(own, int) else set(own or ())
        config: Any = GenerationConfig
        plan = config(
            do_sample=False, num_beams=1, max_new_tokens=sampling.longest, eos_token_id=own,
            pad_token_id=tokenizer.pad_token_id,
        )  # fmt: skip
        with torch.inference_mode():
            tokens = model.generate(
                input_ids=ids,
                attention_mask=seen,
                generation_config=plan,
                logits_processor=LogitsProcessorList([_Draws(sampling, draws, ends | stops)]),
                stopping_criteria=StoppingCriteriaList([_LineEnds(ends)]),
            )
        skipped = 0 if self.loaded.is_seq2seq else ids.shape[1]
        answers = tokenizer.batch_decode(tokens[:, skipped:], skip_special_tokens=True)
        return [opening + answer for opening, answer in zip(openings, answers, strict=True)]

    def _opening(self, prompt: Prompt) -> str:
        """Return the beginning of the answer, which an encoder cannot be given."""
        return "" if self.style == "complete" or self.loaded.is_seq2seq else prompt.opening

    def _text(self, prompt: Prompt) -> str:
        if self.style == "complete":
            return prompt.text
        turn = {"role": "user", "content": prompt.text}
        if prompt.system:
            try:
                return self._turns([{"role": "system", "content": prompt.system}, turn])
            except TemplateError:  # templates such as Gemma's refuse the role
                turn["content"] = f"{prompt.system}\n\n{prompt.text}"
        return self._turns([turn])

    def _turns(self, turns: list[dict[str, str]]) -> str:
        text: str = self.loaded.tokenizer.apply_chat_template(
            turns, tokenize=False, add_generation_prompt=True
        )
        return text

    def _encode_prompts(self, texts: Sequence[str]) -> tuple[torch.Tensor, torch.Tensor]:
        """Return (B, P) ids and (B, P) where they are no padding; prompts keep their end."""
        tokenizer = self.loaded.tokenizer
        # The tokens of turns are in the text of a chat already.
        rows: list[list[int]] = tokenizer(
            list(texts), add_special_tokens=self.style == "complete", verbose=False
        ).input_ids
        longest = getattr(self.loaded.model.config, "max_position_embeddings", None)
        room = 10**9  # tokens of a prompt
        if isinstance(longest, int) and longest > 0:
            room = max(1, longest - (0 if self.loaded.is_seq2seq else self.recipe.longest))
        self.cut += sum(len(row) > room for row in rows)
        rows = [row[-room:] or [tokenizer.pad_token_id] for row in rows]
        width = max(map(len, rows))
        # Text goes on where the prompt ends; an encoder reads from its beginning.
        is_left = not self.loaded.is_seq2seq
        ids = torch.full((len(rows), width), tokenizer.pad_token_id)
        seen = torch.zeros_like(ids)
        for i, row in enumerate(rows):
            place = slice(width - len(row), width) if is_left else slice(0, len(row))
            ids[i, place] = torch.tensor(row)
            seen[i, place] = 1
        return ids.to(self.loaded.device), seen.to(self.loaded.device)

    def _line_ends(self) -> frozenset[int]:
        if not self._ends:
            tokenizer = self.loaded.tokenizer
            texts = tokenizer.batch_decode([[i] for i in range(len(tokenizer))])
            self._ends = frozenset(i for i, text in enumerate(texts) if "\n" in text)
        return self._ends


class _Draws(LogitsProcessor):
    """Puts noise on logits so that the largest is a draw; each row has its own stream."""

    def __init__(self, sampling: SamplingSettings, draws: Sequence[str], ends: frozenset[int]):
        self.sampling, self.ends, self.step = sampling, sorted(ends), 0
        self.streams = [torch.Generator() for _ in draws]
        for generator, name in zip(self.streams, draws, strict=True):
            generator.manual_seed(child_seed(name, "answer") % 2**63)

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        """Return (B, V) log-probabilities with Gumbel noise."""
        if self.step == 0 and len(self.ends) < scores.shape[1]:
            # An answer has at least one token.
            scores = scores.clone()
            scores[:, self.ends] = -torch.inf
        self.step += 1
        allowed = restrict_scores(scores.float().cpu(), self.sampling)
        size = (allowed.shape[1],)
        noise = torch.stack(
            [torch.rand(size, generator=g, dtype=torch.float64) for g in self.streams]
        )
        gumbel = -(-noise.clamp_min(1e-300).log()).clamp_min(1e-300).log()
        return (allowed + gumbel).float().to(scores.device)


class _LineEnds(StoppingCriteria):
    """Ends an answer with its first line."""

    def __init__(self, ends: frozenset[int]):
        self.ends = torch.tensor(sorted(ends), dtype=torch.int64)

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> Any:
        """Return (B,): which rows are done."""
        return torch.isin(input_ids[:, -1], self.ends.to(input_ids.device))


@contextmanager
def _quiet() -> Iterator[None]:
    """Show no bar while weights are read, unless somebody looks."""
    bars: Any = logging
    is_hidden = bars.is_progress_bar_enabled() and not sys.stderr.isatty()
    if is_hidden:
        bars.disable_progress_bar()
    try:
        yield
    finally:
        if is_hidden:
            bars.enable_progress_bar()


def load_language_model(recipe: LanguageModelRecipe) -> HuggingFaceCompleter:
    """Return the model of a name or folder.

    Raises:
        GenieError: a library is missing (P130), there is no such model (P131) or device (P132).
    """
    with _quiet():
        loaded = load_model(ModelConfig(recipe.model, device=recipe.device))
    knows_turns = bool(getattr(loaded.tokenizer, "chat_template", None))
    usual: Style = "chat" if knows_turns else "complete"
    return HuggingFaceCompleter(recipe, loaded, recipe.style or usual)
