"""Public pretraining: on synthesized rows, before any private row is seen.

Its weights can be kept: runs of the same public rows, model and seed learn them once. Only public
rows are in these weights, so a folder of them is nobody's secret.
"""

import hashlib
import os
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.models.loop import Listener, Run, TrainingProgress, TrainSettings
from genie_dp.models.saved import hash_of, load_weights, weights, write_weights
from genie_dp.private.generators.models import PublicSequences, collate
from genie_dp.private.generators.stages import EncodedRow, GeneratorStage, LabelledRow, encode_row
from genie_dp.private.generators.tokenizer import PublicTokenizer, Tokenizer
from genie_dp.rng import child_seed, stream

# How rows are weighed, for the names of kept weights.
_WEIGHING = "tokens alike"


def weights_file(
    folder: Path, model: Any, rows: Sequence[EncodedRow], settings: TrainSettings, batch: int
) -> Path:
    """Return the file for the weights of a pretraining; its name is a digest of its inputs.

    Args:
        folder: where such files are kept.
        model: with the weights that it starts from.
        rows: as they are learned.
        settings: how they are learned.
        batch: rows of a batch.
    """
    digest = hashlib.sha256(repr((__version__, torch.__version__, _WEIGHING, batch)).encode())
    digest.update(repr(sorted(asdict(settings).items())).encode())
    digest.update(hash_of(weights(model)).encode())
    for row in rows:
        digest.update(repr((row.tokens, row.scored_from)).encode())
    return folder / f"{digest.hexdigest()[:32]}.safetensors"


def keep_weights(model: Any, place: Path) -> None:
    """Write the weights of a model; the file appears when it is complete."""
    place.parent.mkdir(parents=True, exist_ok=True)
    # Of this process alone: another one may be learning the same.
    partial = place.with_name(f".{place.name}.{os.getpid()}.partial")
    write_weights(model, partial)
    partial.replace(place)


def take_weights(model: Any, place: Path) -> None:
    """Give a model the weights of a file.

    Raises:
        GenieError: H011, the file cannot be read; M001, it holds another network.
    """
    try:
        load_weights(model, place)
    except (OSError, SafetensorError) as error:
        hint = "delete it: it is made again"
        raise GenieError(Problem("H011", f"{place} cannot be read: {error}", hint=hint)) from None
    model.eval()


# Batches whose rows are sorted by length together: little padding, and still a random order.
_CHUNK = 32


class EncodedBatches:
    """Batches of encoded rows for the loop, in a new random order each epoch."""

    def __init__(self, rows: Sequence[EncodedRow], *, size: int = 64, seed: int = 0):
        """Keep the rows; a batch has at most `size`."""
        self.rows, self.size, self.seed = rows, min(size, len(rows)), seed
        self._lengths = np.array([len(row.tokens) for row in rows])
        # Scored tokens of a batch on average. By those of its own, a token of a batch of short rows
        # would count more than others: of 752 programs 73 % begin with one label, and a model that
        # learned them so began 11 % with it (November 2026).
        self._scored = sum(row.scored_count for row in rows) * self.size / max(1, len(rows))
        self._known: tuple[int, list[list[int]]] = (-1, [])

    @property
    def per_epoch(self) -> float:
        """Return how many batches there are of all rows."""
        return max(1, len(self.rows) // self.size)

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[PublicSequences, float]:
        """Return a batch, or a process's rows of it, and the scored tokens of any on average."""
        epoch, place = divmod(number, int(self.per_epoch))
        chosen = [self.rows[i] for i in self._order(epoch)[place]]
        mine = chosen[rank::world]
        batch = collate(mine or chosen[:1], weights=[] if mine else [0.0])
        return PublicSequences.of(batch), self._scored

    def _order(self, epoch: int) -> list[list[int]]:
        if self._known[0] != epoch:
            rng = np.random.default_rng(child_seed(self.seed, "public rows", epoch))
            order = rng.permutation(len(self.rows))[: int(self.per_epoch) * self.size]
            parts = np.array_split(order, max(1, int(self.per_epoch) // _CHUNK))
            ordered = [part[np.argsort(self._lengths[part], kind="stable")] for part in parts]
            flat = np.concatenate(ordered)
            batches = [flat[i : i + self.size] for i in range(0, len(flat), self.size)]
            self._known = epoch, [batches[i].tolist() for i in rng.permutation(len(batches))]
        return self._known[1]


class _PartlySpelled(PublicTokenizer):
    """A tokenizer that writes some of the known words in pieces.

    Private rows have words that the table lacks. Their pieces are learned from known words, whose
    contexts the model has seen.
    """

    def __init__(self, tokenizer: PublicTokenizer, rng: Random, share: float):
        super().__init__(tokenizer.words, tokenizer.starts, tokenizer.inners)
        self.rng, self.share = rng, share

    def spell(self, word: str) -> tuple[int, ...]:
        is_spelled = word.isalpha() and self.rng.random() < self.share
        return self.pieces_of(word) if is_spelled else super().spell(word)


def public_sequences(
    stage: GeneratorStage,
    rows: Sequence[LabelledRow],
    tokenizer: Tokenizer,
    *,
    longest: int,
    seed: int = 0,
    spelled: float = 0.03,
) -> list[EncodedRow]:
    """Return public rows as a stage learns them; `spelled` is the share of words in pieces.

    A sentence that has no program teaches how people speak: its prompt is empty.
    """
    if isinstance(tokenizer, PublicTokenizer) and spelled:
        rng = stream(seed, "spelled", stage.name)
        tokenizer = _PartlySpelled(tokenizer, rng, spelled)
    usable = (row for row in rows if row.program or stage.name == "utterance")
    return [encode_row(stage, row, tokenizer, longest=longest) for row in usable]


def pretrain_publicly(
    model: Any,
    rows: Sequence[EncodedRow],
    settings: TrainSettings,
    *,
    batch: int = 64,
    folder: Path | None = None,
    kept: Path | None = None,
    listen: Listener | None = None,
) -> TrainingProgress:
    """Train a model on public rows by the common loop, without noise.

    Args:
        model: a CausalLM; its weights are the starting point.
        rows: as `public_sequences` gives them.
        settings: how to train.
        batch: rows of a batch.
        folder: where checkpoints go, and where an interrupted run goes on from.
        kept: where the weights after it are kept and, if the same run was made, taken from.
        listen: is called with losses; they are of public rows.
    """
    place = weights_file(kept, model, rows, settings, batch) if kept else None
    if place is not None and place.exists():
        take_weights(model, place)
        return TrainingProgress(used=1.0)
    batches = EncodedBatches(rows, size=batch, seed=settings.seed)
    progress = Run(model, batches, settings, listen=listen).train(folder)
    if place is not None:
        keep_weights(model, place)
    return progress
