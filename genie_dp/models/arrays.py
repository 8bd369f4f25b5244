"""The recurrent network in numpy: a trained parser answers with it, without torch.

It computes the outputs of `recurrent.RecurrentNetwork`, in the same order of operations, and on one
core a
single sentence takes half as long: numpy's calls cost less than torch's (November 2026).
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from genie_dp.errors import GenieError, Problem
from genie_dp.models.base.vectors import SIZE as VECTOR_SIZE
from genie_dp.models.cards import FEATURES, MOST_PHRASES, MOST_WORDS, CardRows, links, near_places
from genie_dp.models.sentences import Rows, Sentences
from genie_dp.models.sizes import RecurrentSettings, settings_of
from genie_dp.models.vocabulary import PAD, UNK, Vocabulary

CONFIG, WEIGHTS, TOKENIZER = "config.json", "model.safetensors", "tokenizer.json"
# Folder, inside of a saved model, of what belongs to a model of Hugging Face.
BASE = "base"
# Below the smallest probability that matters, and above float32's smallest number.
TINY = 1e-20
_NOTHING = np.float32(0)

F32 = npt.NDArray[np.float32]
Arrays = tuple[npt.NDArray[Any], ...]
Weights = Mapping[str, F32]


class SteppedNetwork(Protocol):
    """A trained network as search uses it. B rows, S words, P tokens that can be generated.

    Memory and state are whatever the network makes of them; their first dimension is the row.
    """

    def encode(self, sentences: Sentences) -> Any:
        """Return the memory of sentences."""

    def begin(self, memory: Any) -> Any:
        """Return the state before the first token."""

    def step(self, memory: Any, state: Any, tokens: Rows) -> tuple[F32, Any]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after.

        Args:
            memory: the result of `encode`.
            state: the result of `begin` or of the last step.
            tokens: (B,) extended ids, BEGIN at first.
        """

    def take(self, values: Any, rows: Rows) -> Any:
        """Return some rows of a memory or a state, in an order."""


class ArrayNetwork:
    """A recurrent network in evaluation mode."""

    def __init__(
        self,
        weights: Weights,
        vocabulary: Vocabulary,
        settings: RecurrentSettings,
    ):
        """Lay the weights out for use.

        Args:
            weights: as `RecurrentNetwork.named_parameters` names them.
            vocabulary: the network's.
            settings: its sizes.

        Raises:
            KeyError: a weight is missing.
            ValueError: one has another shape.
        """
        self._generated = vocabulary.generated
        self._words = weights["embedding.words.weight"]
        self._grams = weights["embedding.grams.weight"]
        expected = (len(vocabulary.words), settings.size), (vocabulary.buckets, settings.size)
        if (self._words.shape, self._grams.shape) != expected:
            raise ValueError("weights of another network")
        self._vectors = _Linear(weights, "embedding.vectors") if vocabulary.vectors else None
        self._cards = CardRows.from_vocabulary(vocabulary) if vocabulary.vectors else None
        self._tokens, self._bias = self._words[: self._generated], weights["pointer.bias"]
        if self._cards is not None:
            self._link, self._place_link = (_Linear(weights, x) for x in ("link", "place_link"))
            self._add_cards(weights, self._cards, own_rows=settings.own_rows)
        self._table = np.ascontiguousarray(self._tokens.T)
        self._encoder = [
            [_LSTM(weights, f"encoder.{layer}.{way}") for way in ("forwards", "backwards")]
            for layer in range(settings.layers)
        ]
        self._start, self._query = _Linear(weights, "start"), _Linear(weights, "query")
        self._first, self._second = _LSTM(weights, "first"), _LSTM(weights, "second")
        self._place = _Linear(weights, "pointer.query")
        self._output = _Linear(weights, "pointer.output")
        self._switch = _Linear(weights, "pointer.switch")
        self._feed = _Feed(weights) if settings.language_model else None

    def _add_cards(self, weights: Weights, cards: CardRows, *, own_rows: bool) -> None:
        """Add the vectors of cards to those of tokens."""
        rows = cards.rows
        # One row more for whatever is copied: it has no name.
        self._names = np.zeros((self._generated + 1, VECTOR_SIZE), np.float32)
        self._names[rows] = cards.names
        self._tokens, self._bias = self._tokens.copy(), self._bias.copy()
        if not own_rows:
            self._tokens[rows] = self._bias[rows] = 0
        words = self._embed_words(cards.words)[0]
        scores = _Linear(weights, "cards.score")(words)[:, 0][cards.index]
        scores[:, 0] += weights["cards.name"]
        flat, mask, index = (  # of no cards nothing could be inferred from -1
            x.reshape(len(rows), MOST_PHRASES * MOST_WORDS)
            for x in (scores, cards.mask, cards.index)
        )
        shares = _softmax(np.where(mask == 0, np.float32(-np.inf), flat))
        pooled = (shares[:, None] @ words[index])[:, 0]
        kinds = weights["cards.kinds.weight"][cards.kinds]
        self._tokens[rows] += _Linear(weights, "cards.output")(pooled) + kinds

    def _embed_words(self, sentences: Sentences) -> F32:
        """Return (B, S, d): the words of sentences."""
        sizes = np.diff(np.append(sentences.offsets, len(sentences.grams)))
        grams = np.add.reduceat(self._grams[sentences.grams], sentences.offsets, axis=0)
        grams /= sizes[:, None].astype(np.float32)
        if self._vectors is not None:
            grams += self._vectors(sentences.vectors)
        embedded: F32 = self._words[sentences.words] + grams[sentences.surfaces]
        return embedded

    def encode(self, sentences: Sentences) -> Arrays:
        """Return places, padding, embedded words (B, S, d), states (B, S, d), their mean (B, d).

        With cards, also (B, P, 5): how near each token's card is to a sentence, and (B, S, 128):
        the vectors of its words.
        """
        embedded = self._embed_words(sentences)
        places = np.arange(sentences.words.shape[1])
        lengths = sentences.lengths[:, None]
        # The backward direction reads each row turned around within its length.
        turned = np.maximum(lengths - 1 - places, 0)
        rows = np.arange(len(lengths))[:, None]
        states = embedded
        for forwards, backwards in self._encoder:
            back = backwards.read(states[rows, turned])[rows, turned]
            states = states + np.concatenate([forwards.read(states), back], 2)
        padding = places >= lengths
        real = np.where(padding, np.float32(0), np.float32(1))
        mean = (states * real[:, :, None]).sum(1) / real.sum(1)[:, None]
        memory = (sentences.copies, padding, embedded, states, mean)
        if self._cards is None:
            return memory
        card_links = np.zeros((len(lengths), self._generated, FEATURES), np.float32)
        card_links[:, self._cards.rows] = links(sentences, self._cards)
        return (*memory, card_links, sentences.vectors[sentences.surfaces])

    def begin(self, memory: Arrays) -> Arrays:
        """Return (B, d) four times, hidden and cell of both LSTMs; two more of the decoder's input.

        With cards, at last (B, 128): the name that was written last.
        """
        first, second = np.split(np.tanh(self._start(memory[4])), 2, 1)
        empty = np.zeros_like(first)
        fed = (empty, empty) if self._feed else ()
        named = () if self._cards is None else (np.zeros((len(first), VECTOR_SIZE), np.float32),)
        return first, empty, second, empty, *fed, *named

    def step(self, memory: Arrays, state: Arrays, tokens: Rows) -> tuple[F32, Arrays]:
        """Return (B, P + S) log-probabilities of the next extended ids, and the state after."""
        copies, padding, embedded, states, _, *link_arrays = memory
        rows, is_copy = np.arange(len(tokens)), tokens >= self._generated
        x = self._tokens[np.where(is_copy, PAD, tokens)]
        if is_copy.any():
            spoken = embedded[rows, np.maximum(tokens - self._generated, 0)]
            x = np.where(is_copy[:, None], spoken, x)
        fed: Arrays = ()
        if self._feed:
            more, fed = self._feed.step(np.where(is_copy, UNK, tokens), state[4:6])
            x = x + more
        lower, cell = self._first.step(x, state[0], state[1])
        _, context = _attend(self._query(lower), states, padding)
        upper, other_cell = self._second.step(
            np.concatenate([lower, context], 1), state[2], state[3]
        )
        hidden = np.concatenate([upper, context], 1)
        named: Arrays = ()
        by_name: F32 | np.float32 = _NOTHING
        if link_arrays:
            names = self._names[np.minimum(tokens, self._generated)]
            names = np.where(names.any(1, keepdims=True), names, state[-1])
            near_by = near_places(link_arrays[1], names) @ self._place_link(hidden)[:, :, None]
            named, by_name = (names,), near_by[:, :, 0]
        copied, seen = _attend(self._place(hidden), states, padding, by_name)
        scores = self._output(hidden) @ self._table + self._bias
        if link_arrays:
            scores += (link_arrays[0] @ self._link(hidden)[:, :, None])[:, :, 0]
        generated = _softmax(scores)
        share = _sigmoid(self._switch(np.concatenate([hidden, seen], 1)))
        full = np.zeros((len(tokens), self._generated + copies.shape[1]), np.float32)
        np.multiply(generated, share, out=full[:, : self._generated])
        np.add.at(full, (rows[:, None], copies), (1 - share) * copied)
        full += TINY
        return np.log(full, out=full), (lower, cell, upper, other_cell, *fed, *named)

    def take(self, values: Arrays, rows: Rows) -> Arrays:
        """Return some rows of a memory or a state, in an order."""
        return tuple(value[rows] for value in values)


class _Linear:
    """A layer: x W' + b."""

    def __init__(self, weights: Weights, name: str):
        self.weight = np.ascontiguousarray(weights[f"{name}.weight"].T)
        self.bias = weights.get(f"{name}.bias", np.float32(0))

    def __call__(self, x: F32) -> F32:
        out: F32 = x @ self.weight + self.bias
        return out


class _LSTM:
    """One layer in one direction; torch's gates are input, forget, cell, output."""

    def __init__(self, weights: Weights, name: str):
        self._inputs = np.ascontiguousarray(weights[f"{name}.weight_ih_l0"].T)
        self._states = np.ascontiguousarray(weights[f"{name}.weight_hh_l0"].T)
        self._bias = weights[f"{name}.bias_ih_l0"] + weights[f"{name}.bias_hh_l0"]
        self._size = len(self._states)

    def read(self, x: F32) -> F32:
        """Return (B, S, d) hidden states for (B, S, inputs)."""
        gates = x @ self._inputs + self._bias
        hidden = cell = np.zeros((len(x), self._size), np.float32)
        out = np.empty((*x.shape[:2], self._size), np.float32)
        for place in range(x.shape[1]):
            hidden, cell = self._turn(gates[:, place], hidden, cell)
            out[:, place] = hidden
        return out

    def step(self, x: F32, hidden: F32, cell: F32) -> tuple[F32, F32]:
        """Return hidden and cell (B, d) after (B, inputs)."""
        return self._turn(x @ self._inputs + self._bias, hidden, cell)

    def _turn(self, gates: F32, hidden: F32, cell: F32) -> tuple[F32, F32]:
        size, gates = self._size, gates + hidden @ self._states
        shares = _sigmoid(gates[:, : 2 * size])
        cell = shares[:, size:] * cell + shares[:, :size] * np.tanh(gates[:, 2 * size : 3 * size])
        return _sigmoid(gates[:, 3 * size :]) * np.tanh(cell), cell


class _Feed:
    """A language model that reads the program beside the decoder."""

    def __init__(self, weights: Weights):
        self._words = weights["feed.model.words.weight"]
        self._first = _LSTM(weights, "feed.model.first")
        self._layer = _Linear(weights, "feed.layer")

    def step(self, tokens: Rows, state: Arrays) -> tuple[F32, Arrays]:
        """Return (B, d) to add to the decoder's input, and hidden and cell after."""
        hidden, cell = self._first.step(self._words[tokens], state[0], state[1])
        return self._layer(hidden), (hidden, cell)


def _attend(
    query: F32, states: F32, padding: npt.NDArray[np.bool_], more: F32 | np.float32 = _NOTHING
) -> tuple[F32, F32]:
    """Return (B, S) shares of the places, 0 at padding, and the (B, d) sum of states by these.

    Args:
        more: (B, S) added to the scores of the places.
    """
    scores = (states @ query[:, :, None])[:, :, 0] * np.float32(states.shape[2] ** -0.5) + more
    shares = _softmax(np.where(padding, np.float32(-np.inf), scores))
    return shares, (shares[:, None] @ states)[:, 0]


def _softmax(scores: F32) -> F32:
    """Return (B, N) shares that add up to 1; the scores are changed."""
    scores -= scores.max(1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(1, keepdims=True)
    return scores


def _sigmoid(x: F32) -> F32:
    out: F32 = 0.5 * (np.tanh(0.5 * x) + 1)
    return out


# Ends the name of what rows of a matrix of 8 bits are multiplied with.
SCALE = ":scale"


def whole(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Return weights in 32 bits, of numpy or torch: those in 8 bits times their scales."""
    return {
        name: x * tensors[f"{name}{SCALE}"] if f"{name}{SCALE}" in tensors else x
        for name, x in tensors.items()
        if not name.endswith(SCALE)
    }


def open_arrays(
    folder: Path, adapt: Callable[[Vocabulary], Vocabulary] | None = None
) -> tuple[SteppedNetwork, Vocabulary] | None:
    """Return the network of a folder that `saved.save_model` wrote, and its vocabulary.

    None is for networks that need torch: all but recurrent ones.

    Args:
        adapt: gives another vocabulary, for a library that the network was not trained for.

    Raises:
        GenieError: M001 or M002, a file is missing or broken.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    config = _read_config(folder)
    try:
        if config["architecture"] != "rnn":
            return None
        settings = settings_of("rnn", config["settings"])
    except (KeyError, TypeError, AttributeError) as error:
        raise no_model(folder, str(error)) from error
    vocabulary = Vocabulary.load(folder / TOKENIZER)
    try:
        weights = whole(load_file(str(folder / WEIGHTS)))
        if adapt is not None:
            weights, vocabulary = _adapt_weights(weights, vocabulary, adapt(vocabulary))
        return ArrayNetwork(weights, vocabulary, settings), vocabulary
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise no_model(folder, str(error)) from error


def _adapt_weights(
    weights: Weights, own: Vocabulary, other: Vocabulary
) -> tuple[dict[str, F32], Vocabulary]:
    """Return the weights of a network for another vocabulary; new words have none."""
    tables = {"embedding.words.weight": len(other.words), "pointer.bias": other.generated}
    places = [(i, other.index[x]) for i, x in enumerate(own.words) if x in other.index]
    adapted = dict(weights)
    for name, size in tables.items():
        table = weights[name]
        adapted[name] = np.zeros((size, *table.shape[1:]), np.float32)
        before, after = np.array([(i, x) for i, x in places if i < len(table) and x < size]).T
        adapted[name][after] = table[before]
    return adapted, other


def _read_config(folder: Path) -> Mapping[str, Any]:
    """Return the config.json of a model."""
    try:
        config: Mapping[str, Any] = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if not isinstance(config, Mapping):
            raise ValueError(f"{CONFIG}: expected architecture and settings")
    except (OSError, ValueError) as error:
        raise no_model(folder, str(error)) from error
    return config


def no_model(folder: Path, what: str) -> GenieError:
    """Return the error of a folder without a model."""
    hint = "name a folder that training wrote"
    return GenieError(Problem("M001", f"expected a model in {folder}, got: {what}", hint=hint))
