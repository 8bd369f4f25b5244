"""Sizes and shares of the networks, and their ranges; nothing here needs torch."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, get_type_hints

from genie_dp.errors import GenieError, Problem, did_you_mean
from genie_dp.recipe import fits, kind_in_words


@dataclass(frozen=True, slots=True)
class RecurrentSettings:
    """Sizes and shares; the defaults are those that were measured (docs/research/learning.md).

    Attributes:
        size: of embeddings and states; even.
        layers: BiLSTM layers of the encoder.
        dropout: share of activations dropped.
        word_dropout: share of the sentence's words read as unknown.
        smoothing: label smoothing.
        language_model: whether a language model of programs feeds the decoder.
        distractors: tokens with cards that a batch has beside those that it needs.
        own_rows: whether tokens with cards have learned vectors beside those of their cards.
    """

    size: int = 128
    layers: int = 2
    dropout: float = 0.2
    word_dropout: float = 0.1
    smoothing: float = 0.1
    language_model: bool = False
    distractors: int = 256
    own_rows: bool = True

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2 or self.layers < 1:
            raise ValueError(f"size must be even, layers positive: {self.size}, {self.layers}")


@dataclass(frozen=True, slots=True)
class TransformerSettings:
    """Sizes and shares; trains well with a peak rate of 1.5e-3 (docs/research/learning.md).

    Attributes:
        size: of embeddings and states; even, a multiple of heads.
        encoder_layers, decoder_layers: layers.
        heads: of each attention.
        inner: size of the feed-forward layers.
        dropout: share of activations dropped.
        word_dropout: share of the sentence's words read as unknown.
        smoothing: label smoothing.
    """

    size: int = 128
    encoder_layers: int = 2
    decoder_layers: int = 2
    heads: int = 4
    inner: int = 512
    dropout: float = 0.1
    word_dropout: float = 0.1
    smoothing: float = 0.1

    def __post_init__(self) -> None:
        _check_heads(self.size, self.heads)


@dataclass(frozen=True, slots=True)
class MqanSettings:
    """Sizes of McCann et al., 2018, section 4, where no reason is named.

    Attributes:
        embedding: size of words; word and n-gram vectors are added, and trained from scratch.
        size: of states; even, a multiple of heads (theirs: 200 and 3).
        heads, inner: of self-attention.
        layers: of self-attention in encoder and decoder.
        dropout: share of activations dropped.
        word_dropout: share of the sentence's words read as unknown.
        smoothing: label smoothing.
        question: the fixed question of the task.
        language_model: size of a program language model that reads the answer; 0 for none.
    """

    embedding: int = 400
    size: int = 200
    heads: int = 4
    inner: int = 150
    layers: int = 2
    dropout: float = 0.2
    word_dropout: float = 0.0
    smoothing: float = 0.0
    question: str = "translate from english to program"
    language_model: int = 0

    def __post_init__(self) -> None:
        _check_heads(self.size, self.heads)


@dataclass(frozen=True, slots=True)
class PretrainedSettings:
    """The pretrained model, and the part of it that is trained.

    Attributes:
        base: name on the hub, or a folder.
        lora_rank: rank of low-rank adapters (Hu et al., 2022); 0 trains all weights.
        lora_alpha: their scale is alpha / rank.
        smoothing: label smoothing.
        fresh: whether to read the weights of `base`; a saved model has its own.
    """

    base: str
    lora_rank: int = 0
    lora_alpha: int = 16
    smoothing: float = 0.1
    fresh: bool = True


def _check_heads(size: int, heads: int) -> None:
    if size % 2 or size % heads:
        raise ValueError(f"size must be even and a multiple of heads: {size}, {heads}")


SETTINGS: Mapping[str, Any] = {
    "rnn": RecurrentSettings,
    "transformer": TransformerSettings,
    "mqan": MqanSettings,
    "pretrained": PretrainedSettings,
}
_SHARES = ("dropout", "word_dropout", "smoothing")
# Of these a network may have none.
_FROM_ZERO = (
    "distractors", "lora_rank", "language_model", "encoder_layers", "decoder_layers", "layers",
)  # fmt: skip


def settings_of(architecture: str, given: Mapping[str, Any]) -> Any:
    """Return the settings of a network, with defaults for those that are not given.

    Raises:
        GenieError: M002, no such architecture, or all settings that it cannot have.

    >>> settings_of("transformer", {"heads": 2}).inner
    512
    """
    if architecture not in SETTINGS:
        hint = did_you_mean(architecture, SETTINGS)
        message = f"expected one of {', '.join(SETTINGS)}, got {architecture!r}"
        raise GenieError(Problem("M002", message, hint=hint))
    if problems := list(setting_problems(architecture, given)):
        raise GenieError(replace(p, message=f"{architecture}: {p.message}") for p in problems)
    return SETTINGS[architecture](**given)


def setting_problems(architecture: str, given: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield unknown settings of an architecture, and wrong values of known ones: M002.

    >>> [one.message for one in setting_problems("rnn", {"size": "big", "sise": 3})]
    ['sise: rnn has no such setting', "size: expected a whole number above 0, got 'big'"]
    """
    kind = SETTINGS[architecture]
    kinds, problems = get_type_hints(kind), list[Problem]()
    for name, value in sorted(given.items()):
        if name not in kinds:
            hint = did_you_mean(name, kinds) or f"settings: {', '.join(kinds)}"
            message = f"{name}: {architecture} has no such setting"
            problems.append(Problem("M002", message, hint=hint, setting=(name,)))
        elif kinds[name] in (int, float, bool, str) and not _is_possible(name, value, kinds[name]):
            expected = "a share from 0 to 1" if name in _SHARES else kind_in_words(kinds[name])
            least = " above 0" if kinds[name] is int and name not in _FROM_ZERO else ""
            message = f"{name}: expected {expected}{least}, got {value!r}"
            problems.append(Problem("M002", message, setting=(name,)))
    yield from problems
    if not problems:
        try:
            kind(**given)
        except ValueError as problem:
            yield Problem("M002", str(problem))


def _is_possible(name: str, value: Any, kind: Any) -> bool:
    if not fits(value, kind):
        return False
    if name in _SHARES:
        return bool(0 <= value < 1)
    if isinstance(value, bool | str):
        return True
    return bool(value >= (0 if name in _FROM_ZERO else 1))
