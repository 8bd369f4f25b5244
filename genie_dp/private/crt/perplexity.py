"""How well a language model of utterances foresees sentences that were held out."""

import math
from collections.abc import Sequence

import torch

from genie_dp.private.generators.generator import Generator
from genie_dp.private.generators.sequences import collate
from genie_dp.private.generators.stages import STAGES, Labelled, encoded


def row_losses(generator: Generator, rows: Sequence[Labelled], *, batch: int = 64) -> list[float]:
    """Return the loss of each row's utterance in nats, summed over its tokens and END."""
    stage = STAGES[generator.kind][-1]
    model = generator.models[stage.name]
    read = [encoded(stage, row, generator.tokenizer, longest=model.longest) for row in rows]
    found: list[float] = []
    with torch.no_grad():
        for start in range(0, len(read), batch):
            made = collate(read[start : start + batch]).to(model.device)
            found += model.loss(made).tolist()
    return found


def perplexity(generator: Generator, rows: Sequence[Labelled], *, batch: int = 64) -> float:
    """Return the perplexity of utterances per *word*, the end counted as one.

    Tokenizers differ in what they split; words are the same for all models.
    """
    words = sum(len(row.utterance) + 1 for row in rows)
    return math.exp(sum(row_losses(generator, rows, batch=batch)) / words)
