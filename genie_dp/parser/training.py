"""One training run: from prepared rows to a network, its calibration and its figures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.models.base import FOLDER
from genie_dp.models.batches import Batch, collate
from genie_dp.models.calibration import Calibration
from genie_dp.models.device import bf16_helps, can_use_bf16
from genie_dp.models.language_model import ProgramBatches, ProgramLSTM
from genie_dp.models.loop import (
    Listener,
    MetricsFile,
    Run,
    TrainingBudget,
    TrainSettings,
    Validation,
)
from genie_dp.models.mixture import Chunks, Part
from genie_dp.models.processes import Group
from genie_dp.models.recurrent import start_decoder
from genie_dp.models.saved import (
    SavedModel,
    continue_from,
    load_model,
    round_weights,
    save_tensors,
)
from genie_dp.models.sentences import encode
from genie_dp.models.seq2seq import SteppedTorch, build
from genie_dp.models.sizes import RecurrentSettings
from genie_dp.models.vocabulary import UNK, Pair, TokenCounts, Vocabulary
from genie_dp.parser.cards import cards_of
from genie_dp.parser.config import BASE, ParserConfig
from genie_dp.parser.decode import Decoder
from genie_dp.parser.evidence import Evidence
from genie_dp.parser.rows import Rows, RowStore, Target
from genie_dp.parser.scoring import Score, calibrate, score
from genie_dp.parser.start import Start
from genie_dp.parser.validation import Checked
from genie_dp.rng import child_seed


class StoreBatches:
    """Batches of sentences and programs of rows that stay in their stores.

    A row costs about 150 bytes instead of a thousand; encoding it anew each time takes a
    hundredth of its training step.
    """

    def __init__(
        self,
        stores: Sequence[RowStore],
        vocabulary: Vocabulary,
        *,
        ratios: Sequence[float | None] = (),
        size: int = 64,
        seed: int = 0,
    ):
        """Number the rows through all stores; `ratios` are those of `models.mixture.Part`."""
        self.stores, self.vocabulary = list(stores), vocabulary
        self.firsts = np.cumsum([0, *map(len, stores)])
        shares = list(ratios) or [None] * len(self.stores)
        parts = [
            Part(str(number), store.program_sizes(), ratio)
            for number, (store, ratio) in enumerate(zip(self.stores, shares, strict=True))
        ]
        lengths = np.fromiter((n for store in stores for n in store.lengths()), np.int64)
        self._schedule = Chunks(parts, lengths, size, seed)

    @property
    def per_epoch(self) -> float:
        """Return the number of batches that hold as many rows as there are."""
        return self._schedule.per_epoch

    def take(self, number: int, rank: int = 0, world: int = 1) -> tuple[Batch, float]:
        """Return a batch, or a process's rows of it, and its weighted tokens.

        A process without rows gets the first row with weight 0: all processes take each step.
        """
        rows = [self._row(place) for place in self._schedule.batch(number)]
        encoded = [encode(row, self.vocabulary) for row in rows]
        tokens = sum(row.weight * int((row.targets != UNK).sum()) for row in encoded)
        mine = encoded[rank::world]
        batch = collate(mine or encoded[:1], self.vocabulary)
        if not mine:
            batch.weights.zero_()
        return batch, tokens

    def _row(self, place: int) -> Pair:
        store = int(np.searchsorted(self.firsts, place, side="right")) - 1
        return self.stores[store][place - int(self.firsts[store])]


# Steps from one validation to the next, at least; ten of 250 rows took as long as 100 steps.
_STEPS_BETWEEN = 100
# Of a base that goes on with one library, which it need not be ready to exchange any more.
_FROM_BASE = {"own_rows": True, "word_dropout": RecurrentSettings().word_dropout}
CHECKPOINTS, LANGUAGE_MODEL = "checkpoints", "language_model.safetensors"
# Rows of a validation on the way; all of them are used at the end.
_ON_THE_WAY = 300
# Tokens of their programs: what a network that has learned little goes on and on about is wrong.
_SHORT = 60


@dataclass(frozen=True, slots=True)
class Material:
    """The data of a training run.

    Attributes:
        target: the language and library of programs.
        rows: prepared rows.
        validation: rows that are not learned from.
        evidence: the words of the rows, by function.
        refusals: sentences to refuse that are not learned from.
        texts: constants of programs, for the grammar.
        begins: tokens that programs begin with.
        start: the parser to continue; None for a new network.
    """

    target: Target
    rows: Rows
    validation: tuple[Checked, ...]
    texts: tuple[str, ...]
    begins: tuple[str, ...]
    evidence: Evidence
    start: Start | None = None
    refusals: tuple[Checked, ...] = ()


@dataclass(frozen=True, slots=True)
class Trained:
    """The results of a training run.

    Attributes:
        saved: the network; its facts are still to be given.
        calibration: of its confidence.
        longest: tokens after which a program is brought to an end.
        figures: measurements, by name.
    """

    saved: SavedModel
    calibration: Calibration
    longest: int
    figures: Mapping[str, Any]


def train(
    config: ParserConfig,
    material: Material,
    work: Path,
    *,
    device: str = "cpu",
    group: Group | None = None,
    listen: Listener | None = None,
) -> Trained:
    """Train a parser's network, going on from the checkpoint in the work folder if there is one.

    Args:
        work: where checkpoints and metrics.jsonl are kept.
        device: where the network lives.
        group: this process among several.
        listen: receives the events of the run, beside metrics.jsonl.
    """
    network = network_of(config, material)
    model, vocabulary = network.model, network.vocabulary
    if config.language_model != "none" and material.start is None:
        _start_decoder(model, config, material, vocabulary, work, group)
    decoder = decoder_of(config, material, model, vocabulary, beam=1, longest=_SHORT)
    run = _run(config, material, decoder, model, work, device, group, listen)
    run.train(work / CHECKPOINTS)
    if config.weights == "int8":  # what is measured is what is kept
        round_weights(model)
    longest = max(longest_of(material.rows), material.start.longest if material.start else 0)
    best = decoder.searching(beam=config.beam, longest=longest)
    measurement = score(best, material.validation, material.evidence)
    refusals = score(best, material.refusals, material.evidence)
    is_real = bool(config.validation)
    of_network = measurement.of_network(material.validation)
    calibration, error = calibrate(of_network, refusals, is_real=is_real)
    figures = {
        "steps": run.progress.step,
        "bf16": run.settings.bf16,
        "seconds": round(run.progress.seconds, 1),
        "training rows": sum(map(len, material.rows.parts)),
        "parameters": sum(p.numel() for p in model.parameters()),
        "validation rows": measurement.rows,
        "validation accuracy": round(measurement.accuracy, 4) if measurement.rows else None,
        "calibration error": None if error is None else round(error, 4),
        **_refusal_figures(measurement, refusals, calibration, config.threshold),
    }
    return Trained(network, calibration, longest, figures)


def _refusal_figures(
    meant: Score, refusals: Score, calibration: Calibration, threshold: float
) -> dict[str, Any]:
    """Return the accepted shares of sentences to refuse, and of the others; {} without any."""
    if not refusals.rows:
        return {}
    accepted = refusals.share_accepted(calibration, threshold)
    figures: dict[str, Any] = {
        "sentences to refuse": refusals.rows, "of them accepted": round(accepted, 4)
    }  # fmt: skip
    if meant.rows:
        figures["validation rows accepted"] = round(meant.share_accepted(calibration, threshold), 4)
    return figures


def _run(
    config: ParserConfig,
    material: Material,
    decoder: Decoder,
    model: Any,
    work: Path,
    device: str,
    group: Group | None,
    listen: Listener | None,
) -> Run:
    """Return the run of the network, where its last checkpoint left it.

    Args:
        decoder: of the network, for validations on the way.
    """
    sample = material.validation[:: max(1, len(material.validation) // _ON_THE_WAY)]
    metrics = MetricsFile(work / "metrics.jsonl")

    def record(event: Mapping[str, Any]) -> None:
        metrics(event)
        if listen:
            listen(event)

    def validate(_: Any) -> Validation:
        measurement = score(decoder, sample)
        return Validation(measurement.accuracy, measurement.error)

    run = Run(
        model,
        _batches(config, material, decoder.vocabulary),
        train_settings(config, device),
        group=group,
        listen=record,
        validate=validate if sample else None,
    )
    if run.group.rank == 0:
        run.resume(work / CHECKPOINTS)
        metrics.rewind(run.progress.step)
    run.group.wait()
    return run


def _batches(config: ParserConfig, material: Material, vocabulary: Vocabulary) -> StoreBatches:
    ratios = [input_file.ratio for input_file in config.inputs]
    # What all rows of the inputs are worth together; see `models.mixture.strata`.
    worth = sum(ratio or 0.0 for ratio in ratios) + (None in ratios)
    store_shares = (
        (material.rows.incomplete, config.incomplete),
        (material.rows.contrast, config.contrast),
        (material.rows.refused, config.out_of_scope),
    )
    shares = [share for store, share in store_shares if len(store)]
    ratios += (worth * share / (1 - sum(shares)) for share in shares)
    return StoreBatches(
        material.rows.stores,
        vocabulary,
        ratios=ratios,
        size=config.batch,
        seed=child_seed(config.seed, "order") % 2**32,
    )


def train_settings(config: ParserConfig, device: str = "cpu") -> TrainSettings:
    """Return the settings of the loop on a device.

    Raises:
        GenieError: N008, bfloat16 is asked for and the device has none.
    """
    if config.bf16 and not can_use_bf16(device):
        message = f"{device} does not run these networks in bfloat16"
        raise GenieError(Problem("N008", message, hint="leave --bf16 (bf16 in a recipe) out"))
    seconds = None if config.minutes is None else 60.0 * config.minutes
    often = 10 if config.steps is None else min(10, max(1, config.steps // _STEPS_BETWEEN))
    return TrainSettings(
        TrainingBudget(steps=config.steps, epochs=config.epochs, seconds=seconds),
        rate=config.learning_rate,
        weight_decay=config.weight_decay,
        accumulate=config.accumulate,
        bf16=bf16_helps(device) if config.bf16 is None else config.bf16,
        seed=config.seed,
        validations=config.validations or often,
        patience=config.patience,
        checkpoint_every=config.checkpoint_every,
    )


def vocabulary_of(config: ParserConfig, material: Material) -> Vocabulary:
    """Return the words of all rows, and every token that the grammar may ask for."""
    target = material.target
    extra: frozenset[str] = frozenset()
    if config.is_constrained:
        grammar = target.styled.decoding_grammar(target.library, texts=material.texts)
        extra = grammar.vocabulary
    if config.out_of_scope:
        extra |= {OUT_OF_SCOPE}
    counts = TokenCounts()
    for store in material.rows.stores:
        counts.add(store.names, store.numbered())
    return counts.vocabulary(extra=extra)


def network_of(config: ParserConfig, material: Material) -> SavedModel:
    """Return the network that training begins with: a new one, or the start's with new words."""
    vocabulary = vocabulary_of(config, material)
    start = material.start.load() if material.start else None
    if config.start == BASE:
        start = load_model(FOLDER)
        start = replace(start, settings={**start.settings, **_FROM_BASE})
    library = material.target.library
    if start is not None and start.vocabulary.vectors and library is not None:
        cards = cards_of(library, vocabulary.words[: vocabulary.generated])
        vocabulary = replace(vocabulary, vectors=True, cards=cards)
    with torch.random.fork_rng():
        torch.manual_seed(child_seed(config.seed, "network") % 2**63)
        if start is not None:
            extended = start.vocabulary.extend(vocabulary)
            return replace(continue_from(start, extended), facts={})
        name, settings = config.network_settings
        model, chosen = build(name, vocabulary, settings)
    return SavedModel(model, vocabulary, name, chosen, {})


def decoder_of(
    config: ParserConfig,
    material: Material,
    model: Any,
    vocabulary: Vocabulary,
    *,
    beam: int,
    longest: int,
) -> Decoder:
    """Return the decoder of a network."""
    return Decoder(
        SteppedTorch(model),
        vocabulary,
        material.target,
        texts=material.texts,
        begins=material.begins,
        is_constrained=config.is_constrained,
        beam=beam,
        longest=longest,
    )


def longest_of(rows: Rows) -> int:
    """Return the tokens after which a program is brought to an end.

    Half as many again as the longest program learned, and ten: a network that goes on and on under
    a grammar has not understood the sentence, and a batch waits for it.
    """
    longest = max(store.longest_program for store in rows.parts)
    return longest + longest // 2 + 10


# ------------------------------------------------------------------- language model of programs


def _start_decoder(
    model: Any,
    config: ParserConfig,
    material: Material,
    vocabulary: Vocabulary,
    work: Path,
    group: Group | None,
) -> None:
    """Train a language model of the programs, or take that of an interrupted run."""
    with torch.random.fork_rng():
        torch.manual_seed(child_seed(config.seed, "language model") % 2**63)
        language_model = ProgramLSTM(vocabulary.generated, model.first.hidden_size)
    language_model.to(next(model.parameters()).device)
    path = work / LANGUAGE_MODEL
    if path.exists():
        language_model.load_state_dict(load_file(path))
    else:
        programs = distinct(material.rows)
        batches = ProgramBatches(programs, vocabulary, size=config.batch, seed=config.seed)
        budget = TrainingBudget(epochs=config.language_model_epochs)
        Run(language_model, batches, TrainSettings(budget, seed=config.seed), group=group).train()
        if group is None or group.rank == 0:
            partial = path.with_suffix(".partial")
            save_tensors(language_model.state_dict(), partial)
            partial.replace(path)
    start_decoder(model, language_model)


def distinct(rows: Rows) -> Sequence[tuple[str, ...]]:
    """Return the programs of all rows, each once, in the order they came."""
    programs = dict.fromkeys(pair.program for store in rows.parts for pair in store)
    return list(programs)
