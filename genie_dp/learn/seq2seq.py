"""What every network is to training and search, and the list of networks."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any, Protocol, TypeVar, get_type_hints, runtime_checkable

import torch

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.learn.batches import Batch, Source
from genie_dp.learn.module import Module
from genie_dp.learn.pointer import Mixture, all_log_probabilities, target_log_probabilities
from genie_dp.learn.vocabulary import PAD, UNK, Vocabulary
from genie_dp.recipe import fits, said

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
            memory: what `encode` gave.
            state: what `begin` or the last step gave.
            tokens: (B,) extended ids, BEGIN at first.
        """


def take(values: Tensors, rows: torch.Tensor) -> Tensors:
    """Return some rows of a memory or a state, in an order.

    >>> take((torch.tensor([1, 2, 3]),), torch.tensor([2, 2, 0]))
    (tensor([3, 3, 1]),)
    """
    return tuple(value.index_select(0, rows) for value in values)


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
        """Return what the decoder says after each of (B, T) tokens, and the state after all."""
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
        return (lost * counted(batch.targets)).sum(1)

    def score(self, batch: Batch) -> torch.Tensor:
        """Return (B, T): log-probabilities of the targets, 0 at padding."""
        memory = self.encode(batch.source)
        mixture, _ = self.decode(memory, self.begin(memory), batch.inputs)
        found = target_log_probabilities(mixture, memory[0], batch.targets)
        return found.masked_fill(batch.targets == PAD, 0.0)

    def step(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[torch.Tensor, Tensors]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after."""
        mixture, after = self.decode(memory, state, tokens[:, None])
        return all_log_probabilities(mixture, memory[0])[:, 0], after


def counted(targets: torch.Tensor) -> torch.Tensor:
    """Return (B, T): True for the targets that a loss is taken of.

    >>> counted(torch.tensor([[5, 1, 3, 0]])).tolist()
    [[True, False, True, False]]
    """
    return (targets != PAD) & (targets != UNK)


@dataclass(frozen=True, slots=True)
class Architecture:
    """Where a network is made, imported when it is asked for: some need further libraries.

    Attributes:
        place: "module:settings class:network class".
        summary: one line for people.
    """

    place: str
    summary: str

    def load(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return the class of the settings and of the network."""
        module, settings, network = self.place.split(":")
        found = import_module(module)
        return getattr(found, settings), getattr(found, network)


_HERE = "genie_dp.learn"
ARCHITECTURES: Mapping[str, Architecture] = {
    "rnn": Architecture(
        f"{_HERE}.recurrent:RecurrentSettings:RecurrentNetwork",
        "BiLSTM encoder, LSTM decoder, pointer-generator: the default, trains on a CPU in minutes",
    ),
    "transformer": Architecture(
        f"{_HERE}.transformer:TransformerSettings:TransformerNetwork",
        "pre-norm transformer with a pointer-generator, for GPUs",
    ),
    "mqan": Architecture(
        f"{_HERE}.mqan:MqanSettings:MqanNetwork",
        "the network of the Genie paper: co-attention and self-attention, two switches",
    ),
    "pretrained": Architecture(
        f"{_HERE}.pretrained:PretrainedSettings:PretrainedNetwork",
        "any Hugging Face encoder-decoder (BART, T5, ..) with a pointer-generator on top",
    ),
    "ensemble": Architecture(
        f"{_HERE}.ensemble:EnsembleSettings:EnsembleNetwork",
        "several trained networks whose probabilities are averaged",
    ),
}


def build(
    architecture: str, vocabulary: Vocabulary, settings: Mapping[str, Any] | None = None
) -> tuple[Any, dict[str, Any]]:
    """Return a new network, drawn from torch's current random state, and its full settings.

    Raises:
        GenieError: an unknown architecture or setting, or a value that no network has (M002).
    """
    if architecture not in ARCHITECTURES:
        hint = did_you_mean(architecture, ARCHITECTURES)
        message = f"expected one of {', '.join(ARCHITECTURES)}, got {architecture!r}"
        raise GenieError(Problem("M002", message, hint=hint))
    kind, network = ARCHITECTURES[architecture].load()
    given = dict(settings or {})
    _check_settings(architecture, kind, given)
    try:
        chosen = kind(**given)
        return network(vocabulary, chosen), asdict(chosen)
    except ValueError as problem:
        message = f"the architecture {architecture!r} cannot have these settings: {problem}"
        raise GenieError(Problem("M002", message)) from problem


_SHARES = ("dropout", "word_dropout", "smoothing")
# Of these a network may have none.
_FROM_ZERO = ("lora_rank", "language_model", "encoder_layers", "decoder_layers", "layers")


def _check_settings(architecture: str, kind: Any, given: Mapping[str, Any]) -> None:
    """Refuse what is no setting of an architecture, or no value for it.

    Raises:
        GenieError: M002, the first of them.
    """
    known = get_type_hints(kind)
    for name, value in sorted(given.items()):
        if name not in known:
            message = f"the architecture {architecture!r} has no setting {name!r}"
            raise GenieError(Problem("M002", message, hint=did_you_mean(name, known)))
        if known[name] not in (int, float, bool, str):
            continue
        if not fits(value, known[name]) or not _is_possible(name, value):
            expected = "a share from 0 to 1" if name in _SHARES else said(known[name])
            least = " above 0" if known[name] is int and name not in _FROM_ZERO else ""
            message = f"{architecture} {name}: expected {expected}{least}, got {value!r}"
            raise GenieError(Problem("M002", message))


def _is_possible(name: str, value: Any) -> bool:
    if name in _SHARES:
        return bool(0 <= value < 1)
    if isinstance(value, bool | str):
        return True
    return bool(value >= (0 if name in _FROM_ZERO else 1))
