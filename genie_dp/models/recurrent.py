"""The embedded default: a recurrent pointer-generator that trains on a CPU in minutes."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from genie_dp.models import layers
from genie_dp.models.base.vectors import SIZE as VECTOR_SIZE
from genie_dp.models.batches import Batch, Source
from genie_dp.models.cards import CardRows
from genie_dp.models.language_model import ProgramFeed, ProgramLSTM
from genie_dp.models.sentences import Rows
from genie_dp.models.seq2seq import PointerNetwork, Tensors
from genie_dp.models.sizes import RecurrentSettings
from genie_dp.models.vocabulary import PAD, UNK, Vocabulary


class BiLSTM(layers.Module):
    """One layer in both directions. Padding changes nothing, and nothing is packed.

    The backward direction reads each row turned around within its length: 1.5 to 3 times as fast
    on a CPU as packed rows (November 2026).
    """

    def __init__(self, inputs: int, size: int):
        super().__init__()
        self.forwards = nn.LSTM(inputs, size // 2, batch_first=True)
        self.backwards = nn.LSTM(inputs, size // 2, batch_first=True)

    def forward(self, x: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Return (B, S, size) for (B, S, inputs)."""
        places = torch.arange(x.shape[1], device=x.device)
        turned = (lengths[:, None] - 1 - places).clamp(min=0)
        ahead, _ = self.forwards(x)
        back, _ = self.backwards(_gather_places(x, turned))
        return torch.cat([ahead, _gather_places(back, turned)], 2)


def _gather_places(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[2]))


class RecurrentNetwork(PointerNetwork):
    """Embeddings, residual BiLSTMs; LSTM, attention, LSTM, pointer-generator.

    The attention's result is not fed back (no input feeding, unlike Luong et al., 2015, section
    3.3), so that under teacher forcing each LSTM runs over the whole program in one call.
    """

    def __init__(self, vocabulary: Vocabulary, settings: RecurrentSettings):
        super().__init__()
        size = settings.size
        self.smoothing = settings.smoothing
        self.dropout = layers.PooledDropout(settings.dropout)
        self.embedding = layers.WordEmbedding(vocabulary, size, word_dropout=settings.word_dropout)
        self.encoder = nn.ModuleList(BiLSTM(size, size) for _ in range(settings.layers))
        self.start = nn.Linear(size, 2 * size)
        self.first = nn.LSTM(size, size, batch_first=True)
        self.query = nn.Linear(size, size)
        self.second = nn.LSTM(2 * size, size, batch_first=True)
        self.pointer = layers.Pointer(2 * size, size, (vocabulary.generated, size))
        with torch.no_grad():
            # What is attended to is compared with tokens from the start; see WordEmbedding.
            self.pointer.output.weight[:, size:] += torch.eye(size)
        self.feed = ProgramFeed(vocabulary, size, size) if settings.language_model else None
        self.all_cards = CardRows.from_vocabulary(vocabulary) if vocabulary.vectors else None
        if self.all_cards is not None:
            self.cards = layers.CardEncoder(size)
            self.link = layers.link_layer(2 * size, 0.0, 1.0, 0.0, 2.0, 1.0)
            self.place_link = layers.link_layer(2 * size, 0.0, 1.0, 0.0)
            self.distractors, self.own_rows = settings.distractors, settings.own_rows
        self._tokens = _Tokens(None, self.all_cards, vocabulary.generated)

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words (B, S, d), states (B, S, d), keys (B, d).

        With cards, also (B, P, 5): how near each token's card is to a sentence, and (B, S, 128):
        the vectors of its words.
        """
        embedded = self.dropout(self.embedding.read(source))
        states = embedded
        for layer in self.encoder:
            states = states + self.dropout(layer(states, source.lengths))
        padding = source.padding
        real = (~padding)[:, :, None].to(states.dtype)
        mean = (states * real).sum(1) / real.sum(1)
        memory = (source.copies, padding, embedded, states, mean)
        return memory if self.all_cards is None else (*memory, *self._link(source))

    def _link(self, source: Source) -> Tensors:
        """Compute the token table, and return links of sentences to tokens, and their vectors."""
        tokens = self._tokens
        assert tokens.cards is not None
        chosen = slice(None) if tokens.rows is None else tokens.rows
        own, bias = self.embedding.table()[chosen], self.pointer.bias[chosen]
        places = torch.from_numpy(tokens.places).to(own.device)
        if not self.own_rows:
            free = torch.ones(len(own), device=own.device).index_fill(0, places, 0)
            own, bias = own * free[:, None], bias * free
        tokens.table = own.index_add(0, places, self.cards(tokens.cards, self.embedding))
        tokens.bias = bias
        card_links = layers.card_links(source, tokens.cards)
        names = torch.from_numpy(tokens.cards.names).to(own.device)
        tokens.names = names.new_zeros(len(own), names.shape[1]).index_copy(0, places, names)
        links = card_links.new_zeros(len(card_links), len(own), card_links.shape[2]).index_copy(
            1, places, card_links
        )
        return links, source.vectors[source.surfaces]

    def loss(self, batch: Batch) -> torch.Tensor:
        """Return (B,); in training over the tokens that the batch needs, and some others."""
        if self.all_cards is None or not self.training or self.feed is not None:
            return super().loss(batch)
        size = self._tokens.size
        tokens = self._tokens = _sample_tokens(batch, self.all_cards, self.distractors, size)
        try:
            return super().loss(tokens.restrict(batch))
        finally:
            self._tokens = _Tokens(None, self.all_cards, size)

    def begin(self, memory: Tensors) -> Tensors:
        """Return (B, d) four times, hidden and cell of both LSTMs; two more of the decoder's input.

        With cards, at last (B, 128): the name that was written last.
        """
        first, second = self.start(memory[4]).tanh().chunk(2, 1)
        state: Tensors = (first, torch.zeros_like(first), second, torch.zeros_like(second))
        if self.feed:
            state = (*state, *self.feed.begin(first))
        return (
            state
            if self.all_cards is None
            else (*state, memory[6].new_zeros(len(first), VECTOR_SIZE))
        )

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[layers.Mixture, Tensors]:
        """Return the decoder's output after each of (B, T) tokens, and the state after all."""
        _, padding, embedded, states, _, *link_tensors = memory
        x = self.dropout(self.embedding.write(tokens, embedded, self._tokens.table))
        fed: Tensors = ()
        if self.feed:
            more, fed = self.feed(tokens, *state[4:6])
            x = x + more
        lower, (h1, c1) = self.first(x, (state[0][None], state[1][None]))
        lower = self.dropout(lower)
        scores = self.query(lower) @ states.transpose(1, 2) * states.shape[2] ** -0.5
        context = layers.masked_softmax(scores, padding[:, None]).to(states.dtype) @ states
        x = torch.cat([lower, context], 2)
        upper, (h2, c2) = self.second(x, (state[2][None], state[3][None]))
        hidden = torch.cat([self.dropout(upper), context], 2)
        after = (h1[0], c1[0], h2[0], c2[0], *fed)
        if not link_tensors:
            return self.pointer(hidden, states, padding, self.embedding.table()), after
        links, vectors = link_tensors
        names = self._tokens.last_names(tokens, state[-1])
        places = layers.near_places(vectors, names)
        mixture = self.pointer(
            hidden, states, padding, self._tokens.table,
            bias=torch.einsum("btf,bpf->btp", self.link(hidden), links) + self._tokens.bias,
            near=torch.einsum("btf,btsf->bts", self.place_link(hidden), places),
        )  # fmt: skip
        return mixture, (*after, names[:, -1])


@dataclass(slots=True)
class _Tokens:
    """The output vocabulary of a forward pass: all tokens, or a sample for one batch.

    Attributes:
        rows: their ids, rising; None for all.
        cards: of those that have one.
        size: how many there are in all.
        table, bias: their vectors and biases, once they were made.
        names: (P, 128) directions of their names, 0 for those without a card.
    """

    rows: torch.Tensor | None
    cards: CardRows | None
    size: int
    table: torch.Tensor | None = None
    bias: torch.Tensor | None = None
    names: torch.Tensor | None = None

    def last_names(self, written: torch.Tensor, before: torch.Tensor) -> torch.Tensor:
        """Return (B, T, 128): at each of (B, T) written ids, the name that was written last.

        Args:
            written: extended ids.
            before: (B, 128) the last name before them.
        """
        assert self.names is not None
        padded_names = nn.functional.pad(self.names, (0, 0, 0, 1))
        names = padded_names[written.clamp(max=len(self.names))]
        is_named = names.any(2)
        counts = torch.arange(1, written.shape[1] + 1, device=written.device)
        last = (counts * is_named).cummax(1).values
        full = torch.cat([before[:, None], names], 1)
        return full.gather(1, last[:, :, None].expand(-1, -1, full.shape[2]))

    @property
    def places(self) -> Rows:
        """Return where the tokens with cards stand among all of them."""
        assert self.cards is not None
        if self.rows is None:
            return self.cards.rows
        return np.searchsorted(self.rows.cpu().numpy(), self.cards.rows)

    def restrict(self, batch: Batch) -> Batch:
        """Return a batch with extended ids that count these tokens alone."""
        assert self.rows is not None
        count = len(self.rows)
        place = torch.full((self.size,), UNK, device=self.rows.device)
        place[self.rows] = torch.arange(count, device=self.rows.device)

        def rename(ids: torch.Tensor) -> torch.Tensor:
            is_copy = ids >= self.size
            own_ids = place[ids.masked_fill(is_copy, PAD)]
            return torch.where(is_copy, ids - self.size + count, own_ids)

        source = replace(batch.source, copies=rename(batch.source.copies))
        inputs, targets = rename(batch.inputs), rename(batch.targets)
        return replace(batch, source=source, inputs=inputs, targets=targets)


def _in_library(batch: Batch, cards: CardRows) -> npt.NDArray[np.bool_]:
    """Return (C,): whether each card belongs to the library of the batch."""
    if batch.tokens is None:
        return np.ones(len(cards.rows), bool)
    return np.isin(cards.rows, batch.tokens.cpu().numpy())


def _sample_tokens(batch: Batch, cards: CardRows, distractors: int, size: int) -> _Tokens:
    """Return the tokens of a batch, all tokens without a card, and a sample of distractors."""
    ids = torch.cat([batch.targets.flatten(), batch.source.copies.flatten()]).unique()
    is_needed = np.isin(cards.rows, ids.cpu().numpy())
    others = np.flatnonzero(~is_needed & _in_library(batch, cards))
    is_needed[others[torch.randperm(len(others))[:distractors].numpy()]] = True
    is_used = np.ones(size, bool)
    is_used[cards.rows[~is_needed]] = False
    rows = torch.from_numpy(np.flatnonzero(is_used)).to(batch.targets.device)
    return _Tokens(rows, cards.some(np.flatnonzero(is_needed)), size)


def start_decoder(network: RecurrentNetwork, model: ProgramLSTM) -> None:
    """Give a network the model's token vectors and LSTM; if it is fed by a model, that one, too.

    Raises:
        ValueError: the model is of another size or vocabulary.
    """
    table = network.embedding.table()
    if table.shape != model.words.weight.shape:
        raise ValueError(f"expected {tuple(table.shape)}, got {tuple(model.words.weight.shape)}")
    with torch.no_grad():
        table.copy_(model.words.weight)
    network.first.load_state_dict(model.first.state_dict())
    if network.feed is not None:
        network.feed.model.load_state_dict(model.state_dict())
