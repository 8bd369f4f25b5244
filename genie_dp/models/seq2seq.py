"""The interface of every network to training and search, and the list of networks."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar, runtime_checkable

import torch

from genie_dp.models.arrays import F32
from genie_dp.models.batches import Batch, Source
from genie_dp.models.layers import Mixture, Module, all_log_probabilities, target_log_probabilities
from genie_dp.models.sentences import Rows, Sentences
from genie_dp.models.sizes import settings_of
from genie_dp.models.vocabulary import PAD, UNK, Vocabulary

Tensors = tuple[torch.Tensor, ...]
Taken = TypeVar("Taken", bound=Tensors)


@runtime_checkable
class Seq2Seq(Protocol):
    """A network from sentences to programs. B rows, S words, T tokens, P generated tokens.

    Memory and state are tuples of tensors whose first dimension is the row, so that `take` may
    drop, repeat and reorder rows.
    """

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over tokens, without weights."""

    def score(self, batch: Batch) -> torch.Tensor:
        """Return (B, T): log-probabilities of the targets, 0 at padding."""

    def encode(self, source: Source) -> Tensors:
        """Return the memory of sentences."""

    def begin(self, memory: Tensors) -> Tensors:
        """Return the state before the first token."""

    def step(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after.

        Args:
            memory: the result of `encode`.
            state: the result of `begin` or of the last step.
            tokens: (B,) extended ids, BEGIN at first.
        """


def take(values: Tensors, rows: torch.Tensor) -> Tensors:
    """Return some rows of a memory or a state, in an order.

    >>> take((torch.tensor([1, 2, 3]),), torch.tensor([2, 2, 0]))
    (tensor([3, 3, 1]),)
    """
    return tuple(value.index_select(0, rows) for value in values)


class SteppedTorch:
    """A torch network as search uses it: arrays go in and come out (`arrays.SteppedNetwork`)."""

    def __init__(self, model: Any):
        """Take a Seq2Seq in evaluation mode; its device is where it is asked."""
        self._model = model

    def encode(self, sentences: Sentences) -> Tensors:
        """Return the memory of sentences."""
        with torch.inference_mode():
            memory: Tensors = self._model.encode(Source.from_arrays(sentences).to(self._device))
            return memory

    def begin(self, memory: Tensors) -> Tensors:
        """Return the state before the first token."""
        with torch.inference_mode():
            state: Tensors = self._model.begin(memory)
            return state

    def step(self, memory: Tensors, state: Tensors, tokens: Rows) -> tuple[F32, Tensors]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after."""
        with torch.inference_mode():
            scores, after = self._model.step(
                memory, state, torch.from_numpy(tokens).to(self._device)
            )
            return scores.float().cpu().numpy(), after

    def take(self, values: Tensors, rows: Rows) -> Tensors:
        """Return some rows of a memory or a state, in an order."""
        with torch.inference_mode():
            return take(values, torch.from_numpy(rows).to(self._device))

    @property
    def _device(self) -> torch.device:
        return next(self._model.parameters()).device


class PointerNetwork(Module):
    """Training loss and search steps of all networks that end in a pointer-generator.

    A subclass has `encode`, `begin` and `decode`; the first two tensors of its memory are (B, S)
    extended ids of the places and (B, S) padding.
    """

    smoothing = 0.1

    def encode(self, source: Source) -> Tensors:
        """Return the memory of sentences."""
        raise NotImplementedError

    def begin(self, memory: Tensors) -> Tensors:
        """Return the state before the first token."""
        raise NotImplementedError

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[Mixture, Tensors]:
        """Return the decoder's output after each of (B, T) tokens, and the state after all."""
        raise NotImplementedError

    def forward(self, batch: Batch) -> torch.Tensor:
        """Return `loss`, so that wrappers of modules can be used."""
        return self.loss(batch)

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return (B,): the rows' losses in nats, summed over tokens.

        Label smoothing (Szegedy et al., 2016, section 7) is over the tokens that can be generated.
        A target that can be neither generated nor copied is left out.
        """
        memory = self.encode(batch.source)
        mixture, _ = self.decode(memory, self.begin(memory), batch.inputs)
        lost = -target_log_probabilities(mixture, memory[0], batch.targets)
        smooth = -mixture.vocabulary.mean(2)
        lost = (1 - self.smoothing) * lost + self.smoothing * smooth
        return (lost * loss_mask(batch.targets)).sum(1)

    def score(self, batch: Batch) -> torch.Tensor:
        """Return (B, T): log-probabilities of the targets, 0 at padding."""
        memory = self.encode(batch.source)
        mixture, _ = self.decode(memory, self.begin(memory), batch.inputs)
        scores = target_log_probabilities(mixture, memory[0], batch.targets)
        return scores.masked_fill(batch.targets == PAD, 0.0)

    def step(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after."""
        mixture, after = self.decode(memory, state, tokens[:, None])
        return all_log_probabilities(mixture, memory[0])[:, 0], after


def loss_mask(targets: torch.Tensor) -> torch.Tensor:
    """Return (B, T): True for the targets that a loss is taken of.

    >>> loss_mask(torch.tensor([[5, 1, 3, 0]])).tolist()
    [[True, False, True, False]]
    """
    return (targets != PAD) & (targets != UNK)


@dataclass(frozen=True, slots=True)
class Architecture:
    """Where a network is made, imported when it is asked for: some need further libraries.

    Attributes:
        place: "module:class", or a function that makes one.
        summary: one line for people.
    """

    place: str
    summary: str

    def load(self) -> Callable[..., Any]:
        """Return the constructor of the network, which takes a vocabulary and settings."""
        module, name = self.place.split(":")
        network: Callable[..., Any] = getattr(import_module(module), name)
        return network


_HERE = "genie_dp.models"
ARCHITECTURES: Mapping[str, Architecture] = {
    "rnn": Architecture(
        f"{_HERE}.recurrent:RecurrentNetwork",
        "BiLSTM encoder, LSTM decoder, pointer-generator: the default, trains on a CPU in minutes",
    ),
    "transformer": Architecture(
        f"{_HERE}.transformer:TransformerNetwork",
        "pre-norm transformer with a pointer-generator, for GPUs",
    ),
    "mqan": Architecture(
        f"{_HERE}.mqan:MqanNetwork",
        "the network of the Genie paper: co-attention and self-attention, two switches",
    ),
    "pretrained": Architecture(
        f"{_HERE}.pretrained:read_pretrained",
        "any Hugging Face encoder-decoder (BART, T5, ..) or decoder (GPT-2, Llama, Gemma, ..) with "
        "a pointer-generator on top",
    ),
}


def build(
    architecture: str, vocabulary: Vocabulary, settings: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a new network, drawn from torch's current random state, and its full settings.

    Raises:
        GenieError: an unknown architecture or setting, or a value that no network has (M002).
    """
    chosen = settings_of(architecture, settings or {})
    return ARCHITECTURES[architecture].load()(vocabulary, chosen), asdict(chosen)
