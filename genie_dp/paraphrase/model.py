"""Paraphrases from a Hugging Face model: sequence to sequence, or causal with a prompt.

Rows are taken in batches of fixed places, and each batch samples with a seed of its own: a run that
goes on with its journal writes the same output as an unbroken run.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.paraphrase.auto import ParaphraseCandidate
from genie_dp.paraphrase.journal import Journal, Usage, key_of
from genie_dp.paraphrase.shown import ShownRow
from genie_dp.rng import child_seed

SENTENCE = "{sentence}"
SEQ2SEQ_PROMPT = SENTENCE
CAUSAL_PROMPT = (
    "A command to an assistant, and the same command in other words.\n"
    "Command: {sentence}\nIn other words:"
)
_SPARE = 2  # sequences for each paraphrase that is wanted: some are refused


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """How a model is asked.

    Attributes:
        model: a name on the hub, or a local folder.
        prompt: holds {sentence}; "" for the usual one of the model's kind.
        device: "auto" takes an accelerator where there is one.
        batch_size: sentences at once.
        temperature, top_p: of sampling.
        most_tokens: of a paraphrase.
    """

    model: str
    prompt: str = ""
    device: str = "auto"
    batch_size: int = 16
    temperature: float = 1.0
    top_p: float = 0.95
    most_tokens: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        """Check the prompt (P133) and the numbers."""
        if self.prompt and SENTENCE not in self.prompt:
            hint = "say where the sentence stands: {sentence}"
            raise GenieError(Problem("P133", "the prompt does not hold {sentence}", hint=hint))
        if self.batch_size < 1 or self.most_tokens < 1 or self.temperature <= 0:
            raise ValueError("batch_size, most_tokens and temperature must be greater than 0")


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A model on its device, with its tokenizer."""

    model: Any
    tokenizer: Any
    device: str
    is_seq2seq: bool


@dataclass(frozen=True, slots=True)
class ModelParaphraser:
    """Samples from a model, and keeps its output in a journal."""

    config: ModelConfig
    loaded: LoadedModel
    journal: Journal = field(default_factory=lambda: Journal(None))
    number: int = 3

    @property
    def name(self) -> str:
        """Return the name of the paraphraser."""
        return f"model:{self.config.model.rstrip('/').rpartition('/')[2]}"

    def candidates(
        self, rows: Iterable[ShownRow]
    ) -> Iterator[tuple[ShownRow, tuple[ParaphraseCandidate, ...]]]:
        """Yield each row with the output of the model."""
        unread, place = iter(rows), 0
        while batch := list(islice(unread, self.config.batch_size)):
            keys = [self._key(shown_row, place + index) for index, shown_row in enumerate(batch)]
            if not all(key in self.journal.answers for key in keys):
                answers = self._sample_texts([shown_row.sentence for shown_row in batch], place)
                self.journal.add(dict(zip(keys, answers, strict=True)), Usage(requests=1))
            for key, shown_row in zip(keys, batch, strict=True):
                texts = self.journal.answers[key]
                yield (
                    shown_row,
                    tuple(ParaphraseCandidate(text, (self.name,), True) for text in texts),
                )
            place += len(batch)

    def _key(self, shown_row: ShownRow, place: int) -> str:
        # The place stands for the batch, whose other sentences take part in the sampling.
        return key_of(shown_row.sentence, place, self.number, self.config)

    def _sample_texts(self, sentences: Sequence[str], place: int) -> list[tuple[str, ...]]:
        """Return the different outputs of the model for each sentence, in order."""
        import torch

        config, loaded = self.config, self.loaded
        usual = SEQ2SEQ_PROMPT if loaded.is_seq2seq else CAUSAL_PROMPT
        prompts = [(config.prompt or usual).replace(SENTENCE, text) for text in sentences]
        encoded = loaded.tokenizer(prompts, return_tensors="pt", padding=True, truncation=True)
        encoded = {k: v.to(loaded.device) for k, v in encoded.items() if k != "token_type_ids"}
        skipped = 0 if loaded.is_seq2seq else encoded["input_ids"].shape[1]
        count = self.number * _SPARE
        torch.manual_seed(child_seed(config.seed, "paraphrase", place) >> 1)
        with torch.inference_mode():
            sequences = loaded.model.generate(
                **encoded,
                do_sample=True,
                temperature=config.temperature,
                top_p=config.top_p,
                num_return_sequences=count,
                max_new_tokens=config.most_tokens,
                pad_token_id=loaded.tokenizer.pad_token_id,
                stopping_criteria=[_EndOfLine(loaded.tokenizer, skipped)],
            )
        texts = loaded.tokenizer.batch_decode(sequences[:, skipped:], skip_special_tokens=True)
        # After its first line a model goes on to something else.
        lines = [" ".join(text.strip().split("\n", 1)[0].split()) for text in texts]
        return [
            tuple(text for text in dict.fromkeys(lines[start : start + count]) if text)
            for start in range(0, len(lines), count)
        ]


@dataclass(frozen=True, slots=True)
class _EndOfLine:
    """Ends a text where its first line does: the rest is not used.

    Attributes:
        skipped: tokens of the prompt, before the text.
    """

    tokenizer: Any
    skipped: int

    def __call__(self, sequences: Any, scores: Any, **_: Any) -> Any:
        """Return which sequences, (B, T) ids, are ended: (B,) booleans."""
        import torch

        texts = self.tokenizer.batch_decode(sequences[:, self.skipped :], skip_special_tokens=True)
        ended = ["\n" in text.lstrip() for text in texts]
        return torch.tensor(ended, device=sequences.device)


def load_model(config: ModelConfig) -> LoadedModel:
    """Return the model of a name or folder, on its device.

    Raises:
        GenieError: torch or transformers is missing (P130), there is no such model (P131), or no
            such device (P132).
    """
    torch, transformers = _libraries()
    device = _device(torch, config.device)
    try:
        settings = transformers.AutoConfig.from_pretrained(config.model)
        tokenizer = transformers.AutoTokenizer.from_pretrained(config.model)
        is_seq2seq = bool(settings.is_encoder_decoder)
        kind = (
            transformers.AutoModelForSeq2SeqLM if is_seq2seq else transformers.AutoModelForCausalLM
        )
        model = kind.from_pretrained(config.model)
    except (OSError, ValueError, KeyError) as error:
        reason = str(error).strip().split("\n")[0][:300]
        hint = "give the name of a model on the hub, or a folder with config.json"
        message = f"cannot load the model {config.model!r}: {reason}"
        raise GenieError(Problem("P131", message, hint=hint)) from None
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    # Causal models go on where the prompt ends, so the padding stands before it.
    tokenizer.padding_side = "right" if is_seq2seq else "left"
    return LoadedModel(model.to(device).eval(), tokenizer, device, is_seq2seq)


def _libraries() -> tuple[Any, Any]:
    try:
        import torch
        import transformers
    except ImportError:
        hint = "pip install 'genie_dp[train]'"
        message = "models need torch and transformers"
        raise GenieError(Problem("P130", message, hint=hint)) from None
    return torch, transformers


def _device(torch: Any, name: str) -> str:
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=name)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).strip().split("\n")[0]
        message = f"no device {name!r}: {reason}"
        raise GenieError(Problem("P132", message, hint="try --device cpu")) from None
    return name
