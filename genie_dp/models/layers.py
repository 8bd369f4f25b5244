"""Parts of all networks: embeddings, attention, dropout, and the pointer-generator."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import nn

from genie_dp.models.arrays import TINY
from genie_dp.models.base.vectors import SIZE as VECTOR_SIZE
from genie_dp.models.batches import Source
from genie_dp.models.cards import KINDS, WINDOW, CardRows
from genie_dp.models.vocabulary import PAD, SPECIAL, UNK, Vocabulary, ngrams, words_of_name


class Module(nn.Module):  # type: ignore[misc]
    """A torch module. Torch's types are not read (pyproject.toml), so its base is named once."""


# Twice the largest activation of the default network (64 rows of 60 tokens by 256).
POOL = 1 << 21


class PooledDropout(Module):
    """Dropout (Srivastava et al., 2014); the same on average as torch's.

    On a CPU a mask is a random window of a pool, drawn when first needed from torch's generator.
    On other devices, and for more numbers than the pool has, it is torch's own.
    """

    def __init__(self, share: float):
        super().__init__()
        self.share = share

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the numbers with some of them 0 and the others larger, while training."""
        if not self.training or self.share == 0:
            return x
        if x.device.type != "cpu" or x.numel() >= POOL:
            return nn.functional.dropout(x, self.share)
        start = int(torch.randint(POOL - x.numel(), ()))
        mask = _pool(self.share, x.dtype)[start : start + x.numel()]
        return x * mask.view(x.shape)


_POOLS: dict[tuple[float, torch.dtype], torch.Tensor] = {}


def _pool(share: float, dtype: torch.dtype) -> torch.Tensor:
    # Drawn by a generator of its own, so that when it is drawn moves nothing else.
    if (share, dtype) not in _POOLS:
        draws = torch.rand(POOL, generator=torch.Generator().manual_seed(0))
        _POOLS[share, dtype] = ((draws >= share) / (1 - share)).to(dtype)
    return _POOLS[share, dtype]


KeyValue = tuple[torch.Tensor, torch.Tensor]


class Attention(Module):
    """Scaled dot-product attention with several heads (Vaswani et al., 2017, section 3.2)."""

    def __init__(self, size: int, heads: int):
        super().__init__()
        if size % heads:
            raise ValueError(f"size must be a multiple of heads: {size}, {heads}")
        self.heads = heads
        self.query = nn.Linear(size, size)
        self.key = nn.Linear(size, size)
        self.value = nn.Linear(size, size)
        self.output = nn.Linear(size, size)

    def keys(self, x: torch.Tensor) -> KeyValue:
        """Return keys and values (B, S, d) of the attended states, to be kept between steps."""
        return self.key(x), self.value(x)

    def forward(self, x: torch.Tensor, over: KeyValue, allowed: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d).

        Args:
            x: (B, T, d) that asks.
            over: keys and values (B, S, d).
            allowed: (B or 1, T or 1, S) True where one may look.
        """
        # (B, heads, T, d / heads)
        query, key, value = (
            y.unflatten(2, (self.heads, -1)).transpose(1, 2) for y in (self.query(x), *over)
        )
        mixed = nn.functional.scaled_dot_product_attention(
            query, key, value, attn_mask=allowed[:, None]
        )
        return self.output(mixed.transpose(1, 2).flatten(2))


class FeedForward(Module):
    """Two layers at each place (Vaswani et al., 2017, section 3.3)."""

    def __init__(self, size: int, inner: int, dropout: float):
        super().__init__()
        self.inner = nn.Linear(size, inner)
        self.outer = nn.Linear(inner, size)
        self.dropout = PooledDropout(dropout)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return (B, T, d)."""
        return self.outer(self.dropout(nn.functional.gelu(self.inner(x))))


class Layer(Module):
    """Self-attention, attention over a memory if `cross`, feed-forward; norms come first."""

    def __init__(self, size: int, heads: int, inner: int, dropout: float, *, cross: bool):
        super().__init__()
        self.own = Attention(size, heads)
        self.cross = Attention(size, heads) if cross else None
        self.feed = FeedForward(size, inner, dropout)
        self.norms = nn.ModuleList(nn.LayerNorm(size) for _ in range(2 + cross))
        self.dropout = PooledDropout(dropout)

    def forward(
        self,
        x: torch.Tensor,
        allowed: torch.Tensor,
        *,
        past: KeyValue | None = None,
        memory: KeyValue | None = None,
        seen: torch.Tensor | None = None,
    ) -> tuple[torch.Tensor, KeyValue]:
        """Return (B, T, d), and keys and values of past and present.

        Args:
            x: (B, T, d).
            allowed: (B or 1, T or 1, past + T) True where self-attention may look.
            past: keys and values of earlier steps.
            memory: keys and values of the encoder.
            seen: (B, 1, S) True where the memory is no padding.
        """
        normed = self.norms[0](x)
        now = self.own.keys(normed)
        if past is not None:
            now = (torch.cat([past[0], now[0]], 1), torch.cat([past[1], now[1]], 1))
        x = x + self.dropout(self.own(normed, now, allowed))
        if self.cross is not None:
            x = x + self.dropout(self.cross(self.norms[2](x), memory, seen))
        return x + self.dropout(self.feed(self.norms[1](x))), now


def causal(past: int, size: int, device: torch.device) -> torch.Tensor:
    """Return (1, size, past + size): each place may look at itself and at those before.

    >>> causal(1, 2, torch.device("cpu"))[0].int().tolist()
    [[1, 1, 0], [1, 1, 1]]
    """
    places = torch.arange(past + size, device=device)
    return (places <= places[past:, None])[None]


def positions(start: int, size: int, width: int, device: torch.device) -> torch.Tensor:
    """Return (size, width): sines and cosines of places (Vaswani et al., 2017, section 3.5)."""
    places = torch.arange(start, start + size, device=device, dtype=torch.float32)
    steps = torch.arange(0, width, 2, device=device, dtype=torch.float32)
    angles = places[:, None] * torch.exp(steps * (-math.log(10000.0) / width))
    return torch.cat([angles.sin(), angles.cos()], 1)[:, :width]


class Mixture(NamedTuple):
    """A decoder's output at each place, in parts: the full distribution is needed in search only.

    Attributes:
        vocabulary: (B, T, P) log-probabilities of generated tokens.
        copied: (B, T, S) probabilities of the sentence's places; 0 at padding.
        generate: (B, T) probability of generating instead of copying.
    """

    vocabulary: torch.Tensor
    copied: torch.Tensor
    generate: torch.Tensor


def target_log_probabilities(
    mixture: Mixture, copies: torch.Tensor, targets: torch.Tensor
) -> torch.Tensor:
    """Return (B, T): log-probabilities of the targets.

    Args:
        mixture: the decoder's output.
        copies: (B, S) extended ids of the sentence's places.
        targets: (B, T) extended ids.
    """
    size = mixture.vocabulary.shape[2]
    is_generated = targets < size
    generated_ids = targets.masked_fill(~is_generated, 0)[:, :, None]
    generated = mixture.vocabulary.gather(2, generated_ids)[:, :, 0].exp() * is_generated
    is_target = copies[:, None, :] == targets[:, :, None]
    copied = (mixture.copied * is_target).sum(2)
    share = mixture.generate
    return (share * generated + (1 - share) * copied + TINY).log()


def all_log_probabilities(mixture: Mixture, copies: torch.Tensor) -> torch.Tensor:
    """Return (B, T, P + S): log-probabilities of all extended ids."""
    share = mixture.generate[:, :, None]
    generated = share * mixture.vocabulary.exp()
    copied = (1 - share) * mixture.copied
    full = torch.cat([generated, torch.zeros_like(copied)], 2)
    places = copies[:, None, :].expand_as(copied)
    return (full.scatter_add(2, places, copied) + TINY).log()


def masked_softmax(scores: torch.Tensor, padding: torch.Tensor) -> torch.Tensor:
    """Return softmax over the last dimension in float32, 0 where `padding` is True."""
    return scores.float().masked_fill(padding, -torch.inf).softmax(-1)


class Pointer(Module):
    """Attention over the sentence to copy from, a tied layer to generate, a switch between them."""

    def __init__(self, size: int, memory: int, table: tuple[int, int]):
        """Make the layers.

        Args:
            size: of the decoder's states.
            memory: size of the encoder's states.
            table: (P, e) shape of the table of tokens.
        """
        super().__init__()
        self.query = nn.Linear(size, memory)
        self.output = nn.Linear(size, table[1])
        self.bias = nn.Parameter(torch.zeros(table[0]))
        self.switch = nn.Linear(size + memory, 1)

    def forward(
        self,
        hidden: torch.Tensor,
        memory: torch.Tensor,
        padding: torch.Tensor,
        table: torch.Tensor,
        *,
        bias: torch.Tensor | None = None,
        near: torch.Tensor | None = None,
    ) -> Mixture:
        """Return the mixture at each place.

        Args:
            hidden: (B, T, h) decoder states.
            memory: (B, S, m) encoder states.
            padding: (B, S) True behind the end of a sentence.
            table: (P, e) rows of the tokens that can be generated.
            bias: (P,) or (B, T, P), added to their scores; None for the layer's own.
            near: (B, T, S), added to the scores of the sentence's places.
        """
        scores = self.query(hidden) @ memory.transpose(1, 2) * memory.shape[2] ** -0.5
        if near is not None:
            scores = scores + near
        copied = masked_softmax(scores, padding[:, None])
        context = copied.to(memory.dtype) @ memory
        logits = self.output(hidden) @ table.T + (self.bias if bias is None else bias)
        switch = self.switch(torch.cat([hidden, context], 2))[:, :, 0]
        return Mixture(logits.float().log_softmax(2), copied, switch.float().sigmoid())


class WordEmbedding(Module):
    """Vectors of words and n-grams, and of the tokens that a decoder reads back.

    Attributes:
        words: (W, d) table of all words; its first rows also are the output layer of generation.
        grams: (buckets, d) table of n-grams; a word has the mean of its n-grams' rows.
    """

    def __init__(self, vocabulary: Vocabulary, size: int, *, word_dropout: float = 0.0):
        """Draw both tables.

        Args:
            word_dropout: share of words read as unknown in training.
        """
        super().__init__()
        self.generated = vocabulary.generated
        self.word_dropout = word_dropout
        self.words = nn.Embedding(len(vocabulary.words), size, padding_idx=PAD)
        self.grams = nn.EmbeddingBag(vocabulary.buckets, size, mode="mean")
        self.vectors = nn.Linear(VECTOR_SIZE, size, bias=False) if vocabulary.vectors else None
        for table in (self.words, self.grams):
            nn.init.normal_(table.weight, std=size**-0.5)
        with torch.no_grad():
            self.words.weight[PAD].zero_()
        self.start_tokens(vocabulary, range(vocabulary.generated))

    def start_tokens(self, vocabulary: Vocabulary, rows: Iterable[int]) -> None:
        """Let program tokens begin near the words inside them: `enum:crypto` near "crypto".

        After 240 steps the loss of the recurrent network is 0.2 nats a token lower than from
        random rows (984 tokens, one run, November 2026). Tokens with cards begin with these alone.
        """
        for row in rows:
            token = vocabulary.words[row]
            if token in vocabulary.cards:
                with torch.no_grad():
                    self.words.weight[row] = 0
                continue
            grams = [b for word in words_of_name(token) for b in ngrams(word, vocabulary.buckets)]
            if grams and token not in SPECIAL:
                # A mean of n-grams is shorter than a word's vector; this makes the parts alike.
                with torch.no_grad():
                    mean = 2 * self.grams.weight[grams].mean(0)
                    self.words.weight[row] = self.words.weight[row] / 2 + mean

    def read(self, source: Source) -> torch.Tensor:
        """Return (B, S, d): a sentence's words. A dropped word keeps the rest, as a new one."""
        words = source.words
        if self.training and self.word_dropout:
            dropped = torch.rand(words.shape, device=words.device) < self.word_dropout
            words = words.masked_fill(dropped & (words != PAD), UNK)
        grams = self.grams(source.grams, source.offsets)
        if self.vectors is not None:
            grams = grams + self.vectors(source.vectors)
        return self.words(words) + nn.functional.embedding(source.surfaces, grams)

    def write(
        self, tokens: torch.Tensor, embedded: torch.Tensor, table: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Return (B, T, d): the extended ids that a decoder reads back.

        A copied word has the vector that it has in the sentence, so that the decoder knows where
        in a span it stands even if the word is new.

        Args:
            tokens: (B, T) extended ids.
            embedded: (B, S, d) the result of `read`.
            table: (P, d) rows of the tokens that can be generated; None for the layer's own.
        """
        table = self.table() if table is None else table
        copied = tokens >= len(table)
        places = (tokens - len(table)).clamp(min=0)
        places = places[:, :, None].expand(-1, -1, embedded.shape[2])
        generated = nn.functional.embedding(tokens.masked_fill(copied, PAD), table)
        return torch.where(copied[:, :, None], embedded.gather(1, places), generated)

    def table(self) -> torch.Tensor:
        """Return (P, d): the rows of the tokens that can be generated."""
        return self.words.weight[: self.generated]


class CardEncoder(Module):
    """Vectors of tokens from the words of their cards, by the embedding that reads sentences.

    A card is a weighted mean of its words; a layer scores the words, and another one turns the mean
    into the token's vector.
    """

    def __init__(self, size: int, *, phrase_dropout: float = 0.2, card_dropout: float = 0.1):
        """Make the layers.

        Args:
            phrase_dropout: share of phrases left out in training, of those behind the name.
            card_dropout: share of cards of which the kind alone is left in training, so that a
                network also learns the meaning of a card from the words near to it.
        """
        super().__init__()
        self.phrase_dropout, self.card_dropout = phrase_dropout, card_dropout
        self.score = nn.Linear(size, 1)
        self.name = nn.Parameter(torch.ones(()))
        self.output = nn.Linear(size, size)
        self.kinds = nn.Embedding(len(KINDS), size)
        with torch.no_grad():
            self.output.weight += torch.eye(size)
            self.kinds.weight *= size**-0.5

    def forward(self, cards: CardRows, embedding: WordEmbedding) -> torch.Tensor:
        """Return (C, d)."""
        device = self.score.weight.device
        words = embedding.read(Source.from_arrays(cards.words).to(device))[0]
        mask = torch.from_numpy(cards.mask).to(device)
        if self.training and self.phrase_dropout:
            phrase_mask = torch.rand(mask.shape[:2], device=device) >= self.phrase_dropout
            phrase_mask[:, 0] |= ~(phrase_mask & (mask[:, :, 0] > 0)).any(1)
            mask = mask * phrase_mask[:, :, None]
        scores = self.score(words)[:, 0][torch.from_numpy(cards.index).to(device)]
        scores = torch.cat([scores[:, :1] + self.name, scores[:, 1:]], 1)
        shares = masked_softmax(scores.flatten(1), mask.flatten(1) == 0)
        index = torch.from_numpy(cards.index).to(device).flatten(1)
        pooled = torch.einsum("cl,cld->cd", shares, nn.functional.embedding(index, words))
        kinds = self.kinds(torch.from_numpy(cards.kinds).to(device))
        vectors = self.output(pooled)
        if self.training and self.card_dropout:
            card_mask = torch.rand(len(vectors), device=device) >= self.card_dropout
            vectors = vectors * card_mask[:, None]
        return vectors + kinds


def card_links(source: Source, cards: CardRows) -> torch.Tensor:
    """Return (B, C, 5) as `cards.links` does, without a gradient."""
    with torch.no_grad():
        device = source.vectors.device
        sentence_vectors = source.vectors[source.surfaces]
        card_vectors = torch.from_numpy(cards.word_vectors).to(device)
        nearest = (sentence_vectors @ card_vectors.T).amax(1).clamp(min=0)
        mask = torch.from_numpy(cards.mask).to(device)
        similarities = nearest[:, torch.from_numpy(cards.index).to(device)] * mask
        phrases = similarities.sum(3) / (mask.sum(2) + 1e-6)
        best = similarities.amax((2, 3))
        rare = (similarities * torch.from_numpy(cards.weights).to(device)).sum(3)
        return torch.stack(
            [phrases[:, :, 0], phrases.amax(2), best, rare[:, :, 0], rare.amax(2)], 2
        )


def near_places(sentences: torch.Tensor, names: torch.Tensor) -> torch.Tensor:
    """Return (B, T, S, 3) as `cards.near_places` does, for (B, T, 128) names."""
    similarities = (names @ sentences.transpose(1, 2)).clamp(min=0)
    size = similarities.shape[2]
    padded = nn.functional.pad(similarities, (WINDOW, WINDOW))
    before = padded.unfold(2, WINDOW, 1)[:, :, :size].amax(3)
    after = padded.unfold(2, WINDOW, 1)[:, :, WINDOW + 1 :].amax(3)
    return torch.stack([similarities, before, after], 3)


def link_layer(size: int, *start: float) -> nn.Linear:
    """Return the layer of how much each of the links counts, and how much it does at first."""
    layer = nn.Linear(size, len(start))
    with torch.no_grad():
        layer.weight *= 0.1
        layer.bias.copy_(torch.tensor(start))
    return layer
