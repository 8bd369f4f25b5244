"""The network of the Genie paper: MQAN (McCann et al., 2018, section 3; Genie, section 4.1)."""

import torch
from torch import nn

from genie_dp.models import layers
from genie_dp.models.arrays import TINY
from genie_dp.models.batches import Source, collate_sentences
from genie_dp.models.language_model import ProgramFeed
from genie_dp.models.recurrent import BiLSTM
from genie_dp.models.seq2seq import PointerNetwork, Tensors
from genie_dp.models.sizes import MqanSettings
from genie_dp.models.vocabulary import Vocabulary

# Places, padding, embedded words, context, question; keys and values of the decoder's layers.
_FIXED = 5


class Coattention(layers.Module):
    """Alignment and dual co-attention (McCann et al., 2018, section 3, equations 3 to 6)."""

    def __init__(self, size: int):
        super().__init__()
        self.dummy = nn.Parameter(torch.randn(2, size) * size**-0.5)

    def forward(
        self, context: torch.Tensor, question: torch.Tensor, padding: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return summary and co-attention of context (B, S, d), then of question (B, Q, d).

        Args:
            context, question: (B, S, d) and (B, Q, d).
            padding: (B, S) of the context.
        """
        rows = context.shape[0]
        context = torch.cat([self.dummy[0].expand(rows, 1, -1), context], 1)
        question = torch.cat([self.dummy[1].expand(rows, 1, -1), question], 1)
        padding = nn.functional.pad(padding, (1, 0))
        scores = context @ question.transpose(1, 2)
        over_context = layers.masked_softmax(scores.transpose(1, 2), padding[:, None]).to(
            context.dtype
        )
        over_question = scores.float().softmax(2).to(context.dtype)
        question_summary = over_question @ question
        context_summary = over_context @ context
        context_both = over_question @ context_summary
        question_both = over_context @ question_summary
        return (
            question_summary[:, 1:],
            context_both[:, 1:],
            context_summary[:, 1:],
            question_both[:, 1:],
        )


class Side(layers.Module):
    """Compression, self-attention and a last BiLSTM of context or question."""

    def __init__(self, settings: MqanSettings):
        super().__init__()
        size = settings.size
        self.compress = BiLSTM(4 * size, size)
        self.layers = nn.ModuleList(
            layers.Layer(size, settings.heads, settings.inner, settings.dropout, cross=False)
            for _ in range(settings.layers)
        )
        self.norm = nn.LayerNorm(size)
        self.last = BiLSTM(size, size)

    def forward(
        self, parts: list[torch.Tensor], lengths: torch.Tensor, padding: torch.Tensor
    ) -> torch.Tensor:
        """Return (B, S, d) of four parts of that shape."""
        x = self.compress(torch.cat(parts, 2), lengths)
        for layer in self.layers:
            x, _ = layer(x, ~padding[:, None])
        return self.last(self.norm(x), lengths)


class MqanNetwork(PointerNetwork):
    """Context is the sentence, the question is fixed, the answer is the program."""

    def __init__(self, vocabulary: Vocabulary, settings: MqanSettings):
        super().__init__()
        size = settings.size
        self.size, self.smoothing = size, settings.smoothing
        words = tuple(settings.question.split())
        self.question = collate_sentences([words], vocabulary)
        self.asked = torch.tensor([vocabulary.generable(word) for word in words])
        self.dropout = layers.PooledDropout(settings.dropout)
        self.embedding = layers.WordEmbedding(
            vocabulary,
            settings.embedding,
            word_dropout=settings.word_dropout,
        )
        self.project = nn.Linear(settings.embedding, size)
        self.alone = BiLSTM(size, size)
        self.coattention = Coattention(size)
        self.context = Side(settings)
        self.ask = Side(settings)
        self.answer = nn.Linear(settings.embedding, size)
        wide = settings.language_model
        self.feed = ProgramFeed(vocabulary, wide, size) if wide else None
        self.layers = nn.ModuleList(
            layers.Layer(size, settings.heads, settings.inner, settings.dropout, cross=True)
            for _ in range(settings.layers)
        )
        self.answered = nn.LayerNorm(size)
        self.cell = nn.LSTMCell(2 * size, size)
        self.out = Switches(size, vocabulary.generated)

    def encode(self, source: Source) -> Tensors:
        """Return places, padding, embedded words, context and question, keys and values."""
        self.question = self.question.to(source.words.device)
        embedded = self.embedding.read(source)
        padding, rows = source.padding, source.words.shape[0]
        embedded_question = self.embedding.read(self.question).expand(rows, -1, -1)
        lengths = self.question.lengths.expand(rows)
        context, question = (self.dropout(self.project(x)) for x in (embedded, embedded_question))
        alone, question_alone = self.alone(context, source.lengths), self.alone(question, lengths)
        of_question, context_both, of_context, question_back = self.coattention(
            alone, question_alone, padding
        )
        context_states = self.context(
            [context, alone, of_question, context_both], source.lengths, padding
        )
        nothing = padding.new_zeros(rows, question.shape[1])
        question_states = self.ask(
            [question, question_alone, of_context, question_back], lengths, nothing
        )
        keys = [part for layer in self.layers for part in layer.cross.keys(context_states)]
        return source.copies, padding, embedded, context_states, question_states, *keys

    def begin(self, memory: Tensors) -> Tensors:
        """Return hidden, cell and context (B, d), keys and values of layers, then of the feed."""
        start = memory[3].new_zeros(memory[3].shape[0], self.size)
        keys = [key[:, :0] for key in memory[_FIXED:]]
        fed = self.feed.begin(start) if self.feed else ()
        return start, start.clone(), start.clone(), *keys, *fed

    def decode(
        self, memory: Tensors, state: Tensors, tokens: torch.Tensor
    ) -> tuple[layers.Mixture, Tensors]:
        """Return the decoder's output after each of (B, T) tokens, and the state after all."""
        keys = state[3 : 3 + 2 * len(self.layers)]
        x = self.answer(self.embedding.write(tokens, memory[2]))
        fed: Tensors = ()
        if self.feed:
            more, fed = self.feed(tokens, *state[3 + len(keys) :])
            x = x + more
        x, keys = self._attend(x, keys, memory)
        h, c, context = state[:3]
        steps = []
        for t in range(tokens.shape[1]):
            # The intermediate state with input feeding (equation 12): one step after another.
            h, c = self.cell(torch.cat([x[:, t], context], 1), (h, c))
            context, *rest = self.out.look(h, memory[3], memory[4], memory[1])
            steps.append((h, context, *rest))
        parts = [torch.stack(part, 1) for part in zip(*steps, strict=True)]
        mixture = self.out(x, *parts, self.asked.to(x.device))
        return mixture, (h, c, context, *keys, *fed)

    def _attend(
        self, x: torch.Tensor, past: Tensors, memory: Tensors
    ) -> tuple[torch.Tensor, Tensors]:
        start, size = past[0].shape[1], x.shape[1]
        x = self.dropout(x + layers.positions(start, size, self.size, x.device))
        allowed, seen = layers.causal(start, size, x.device), ~memory[1][:, None]
        after: list[torch.Tensor] = []
        for i, layer in enumerate(self.layers):
            layer_slice = slice(2 * i, 2 * i + 2)
            x, now = layer(
                x, allowed, past=past[layer_slice], memory=memory[_FIXED:][layer_slice], seen=seen
            )
            after.extend(now)
        return self.answered(x), tuple(after)


class Switches(layers.Module):
    """Vocabulary, context and question, mixed by two switches (equations 13 to 21)."""

    def __init__(self, size: int, generated: int):
        super().__init__()
        self.query = nn.Linear(size, size, bias=False)
        self.ask = nn.Linear(size, size, bias=False)
        self.context = nn.Linear(2 * size, size)
        self.question = nn.Linear(2 * size, size)
        self.vocabulary = nn.Linear(size, generated)
        self.generate = nn.Linear(3 * size, 1)
        self.choose = nn.Linear(3 * size, 1)

    def look(
        self, h: torch.Tensor, seen: torch.Tensor, heard: torch.Tensor, padding: torch.Tensor
    ) -> Tensors:
        """Return context and question vectors (B, d), attention (B, S) and (B, Q), of one step."""
        attention = layers.masked_softmax((seen @ self.query(h)[:, :, None])[:, :, 0], padding)
        question_attention = (heard @ self.ask(h)[:, :, None])[:, :, 0].float().softmax(1)
        context = (attention.to(seen.dtype)[:, None] @ seen)[:, 0]
        question = (question_attention.to(heard.dtype)[:, None] @ heard)[:, 0]
        return (
            self.context(torch.cat([context, h], 1)).tanh(),
            self.question(torch.cat([question, h], 1)).tanh(),
            attention,
            question_attention,
        )

    def forward(
        self,
        x: torch.Tensor,
        h: torch.Tensor,
        context: torch.Tensor,
        question: torch.Tensor,
        attention: torch.Tensor,
        question_attention: torch.Tensor,
        words: torch.Tensor,
    ) -> layers.Mixture:
        """Return the mixture of all steps; the question's words count as generated.

        Args:
            x, h, context, question: (B, T, d).
            attention, question_attention: (B, T, S) and (B, T, Q) attention.
            words: (Q,) ids of the question's words.
        """
        generate = self.generate(torch.cat([context, h, x], 2)).float().sigmoid()
        choose = self.choose(torch.cat([question, h, x], 2)).float().sigmoid()
        own = self.vocabulary(context).float().softmax(2)
        mixed = (generate * own).index_add(
            2, words, (1 - generate) * (1 - choose) * question_attention
        )
        share = 1 - (1 - generate) * choose
        return layers.Mixture((mixed / share + TINY).log(), attention, share[:, :, 0])
