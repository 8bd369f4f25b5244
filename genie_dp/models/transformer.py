"""A small pre-norm transformer with a pointer-generator, for GPUs and larger data."""

import torch
from torch import nn

from genie_dp.models import layers
from genie_dp.models.batches import Source
from genie_dp.models.seq2seq import PointerNetwork, Tensors
from genie_dp.models.sizes import TransformerSettings
from genie_dp.models.vocabulary import Vocabulary

# Places, padding, embedded words, encoder states; keys and values of each decoder layer follow.
_FIXED = 4


class TransformerNetwork(PointerNetwork):
    """Encoder and decoder of pre-norm layers (Xiong et al., 2020); sinusoidal places."""

    def __init__(self, vocabulary: Vocabulary, settings: TransformerSettings):
        super().__init__()
        size, heads, inner = settings.size, settings.heads, settings.inner
        self.size, self.smoothing = size, settings.smoothing
        self.dropout = layers.PooledDropout(settings.dropout)
        self.embedding = layers.WordEmbedding(vocabulary, size, word_dropout=settings.word_dropout)
        self.encoder = nn.ModuleList(
            layers.Layer(size, heads, inner, settings.dropout, cross=False)
            for _ in range(settings.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            layers.Layer(size, heads, inner, settings.dropout, cross=True)
            for _ in range(settings.decoder_layers)
        )
        self.encoded = nn.LayerNorm(size)
        self.decoded = nn.LayerNorm(size)
        self.pointer = layers.Pointer(size, size, (vocabulary.generated, size))

    def _add_positions(self, x: torch.Tensor, start: int) -> torch.Tensor:
        places = layers.positions(start, x.shape[1], self.size, x.device)
        return self.dropout(x * self.size**0.5 + places)

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words, states, then keys and values of each layer."""
        embedded = self.embedding.read(source)
        padding = source.padding
        x = self._add_positions(embedded, 0)
        for layer in self.encoder:
            x, _ = layer(x, ~padding[:, None])
        states = self.encoded(x)
        keys = [part for layer in self.decoder for part in layer.cross.keys(states)]
        return source.copies, padding, embedded, states, *keys

    def begin(self, memory: Tensors) -> Tensors:
        """Return keys and values (B, 0, d) of each layer."""
        return tuple(key[:, :0] for key in memory[_FIXED:])

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[layers.Mixture, Tensors]:
        """Return the decoder's output after each of (B, T) tokens, and the state after all."""
        _, padding, embedded, states = memory[:_FIXED]
        past = state[0].shape[1]
        x = self._add_positions(self.embedding.write(tokens, embedded), past)
        allowed = layers.causal(past, tokens.shape[1], tokens.device)
        after: list[torch.Tensor] = []
        for i, layer in enumerate(self.decoder):
            layer_slice = slice(2 * i, 2 * i + 2)
            x, now = layer(
                x,
                allowed,
                past=state[layer_slice],
                memory=memory[_FIXED:][layer_slice],
                seen=~padding[:, None],
            )
            after.extend(now)
        mixture = self.pointer(self.decoded(x), states, padding, self.embedding.table())
        return mixture, tuple(after)
