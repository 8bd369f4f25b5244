"""One training run: from prepared rows to a network, its calibration and what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from genie_dp.learn.bf16 import bf16_helps
from genie_dp.learn.calibration import Calibration
from genie_dp.learn.language_model import LanguageModelSettings, ProgramBatches, ProgramLSTM
from genie_dp.learn.loop import Run, TrainSettings, Validation
from genie_dp.learn.metrics import Listener, MetricsFile
from genie_dp.learn.mixture import Strategy
from genie_dp.learn.processes import Group
from genie_dp.learn.saved import SavedModel
from genie_dp.learn.schedule import Budget
from genie_dp.learn.seq2seq import build
from genie_dp.learn.start_decoder import start_decoder
from genie_dp.learn.vocabulary import Vocabulary, build_vocabulary
from genie_dp.parser.batches import StoreBatches
from genie_dp.parser.config import ParserConfig
from genie_dp.parser.decode import Decoder
from genie_dp.parser.rows import Rows, Target
from genie_dp.parser.scoring import calibrated, score
from genie_dp.parser.validation import Checked
from genie_dp.rng import child_seed

CHECKPOINTS, LANGUAGE_MODEL = "checkpoints", "language_model.safetensors"
# Rows of a validation on the way; all of them are used at the end.
_ON_THE_WAY = 300
# Tokens of their programs: what a network that has learned little goes on and on about is wrong.
_SHORT = 60


@dataclass(frozen=True, slots=True)
class Material:
    """What a run learns from.

    Attributes:
        target: what programs are written in.
        rows: prepared rows.
        validation: rows that are not learned from.
        texts: constants of programs, for the grammar.
    """

    target: Target
    rows: Rows
    validation: tuple[Checked, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Trained:
    """What a run gives.

    Attributes:
        saved: the network; its facts are still to be given.
        calibration: of its confidence.
        longest: tokens after which a program is brought to an end.
        figures: what was measured, by name.
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
        listen: is told what happens, beside metrics.jsonl.
    """
    vocabulary = vocabulary_of(config, material)
    model, name, settings = network_of(config, vocabulary)
    model.to(device)
    if config.language_model != "none":
        _start(model, config, material, vocabulary, work, group)
    run = _run(config, material, model, vocabulary, work, device, group, listen)
    run.train(work / CHECKPOINTS)
    longest = longest_of(material.rows)
    best = decoder_of(config, material, model, vocabulary, beam=config.beam, longest=longest)
    found = score(best, material.validation)
    calibration, error = calibrated(found)
    figures = {
        "steps": run.progress.step,
        "bf16": run.settings.bf16,
        "seconds": round(run.progress.seconds, 1),
        "training rows": sum(map(len, material.rows.parts)),
        "parameters": sum(p.numel() for p in model.parameters()),
        "validation rows": found.rows,
        "validation accuracy": round(found.accuracy, 4) if found.rows else None,
        "calibration error": None if error is None else round(error, 4),
    }
    saved = SavedModel(model, vocabulary, name, settings, {})
    return Trained(saved, calibration, longest, figures)


def _run(
    config: ParserConfig,
    material: Material,
    model: Any,
    vocabulary: Vocabulary,
    work: Path,
    device: str,
    group: Group | None,
    listen: Listener | None,
) -> Run:
    """Return the run of the network, where its last checkpoint left it."""
    decoder = decoder_of(config, material, model, vocabulary, beam=1, longest=_SHORT)
    sample = material.validation[:: max(1, len(material.validation) // _ON_THE_WAY)]
    metrics = MetricsFile(work / "metrics.jsonl")

    def told(event: Mapping[str, Any]) -> None:
        metrics(event)
        if listen:
            listen(event)

    def validate(_: Any) -> Validation:
        found = score(decoder, sample)
        return Validation(found.accuracy, found.error)

    run = Run(
        model,
        _batches(config, material, vocabulary),
        train_settings(config, device),
        group=group,
        listen=told,
        validate=validate if sample else None,
    )
    if run.group.rank == 0:
        run.resume(work / CHECKPOINTS)
        metrics.rewind(run.progress.step)
    run.group.wait()
    return run


def _batches(config: ParserConfig, material: Material, vocabulary: Vocabulary) -> StoreBatches:
    return StoreBatches(
        material.rows.parts,
        vocabulary,
        ratios=[one.ratio for one in config.inputs],
        size=config.batch,
        strategy=Strategy(groups=dict(config.groups), curriculum=config.curriculum),
        seed=child_seed(config.seed, "order") % 2**32,
    )


def train_settings(config: ParserConfig, device: str = "cpu") -> TrainSettings:
    """Return the settings of the loop on a device."""
    seconds = None if config.minutes is None else 60.0 * config.minutes
    return TrainSettings(
        Budget(steps=config.steps, epochs=config.epochs, seconds=seconds),
        rate=config.learning_rate,
        weight_decay=config.weight_decay,
        accumulate=config.accumulate,
        bf16=bf16_helps(device) if config.bf16 is None else config.bf16,
        seed=config.seed,
        validations=config.validations,
        patience=config.patience,
    )


def vocabulary_of(config: ParserConfig, material: Material) -> Vocabulary:
    """Return the words of all rows, and every token that the grammar may ask for."""
    target = material.target
    extra: frozenset[str] = frozenset()
    if config.is_constrained:
        grammar = target.styled.decoding_grammar(target.library, texts=material.texts)
        extra = grammar.vocabulary
    rows = (pair for store in material.rows.parts for pair in store)
    return build_vocabulary(rows, extra=extra)


def network_of(config: ParserConfig, vocabulary: Vocabulary) -> tuple[Any, str, dict[str, Any]]:
    """Return a new network with its architecture's name and settings."""
    name, settings = config.network_settings
    with torch.random.fork_rng():
        torch.manual_seed(child_seed(config.seed, "network") % 2**63)
        model, chosen = build(name, vocabulary, settings)
    return model, name, chosen


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
        model,
        vocabulary,
        material.target,
        texts=material.texts,
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


def _start(
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
        settings = LanguageModelSettings(size=model.first.hidden_size)
        language_model = ProgramLSTM(vocabulary.generated, settings)
    language_model.to(next(model.parameters()).device)
    path = work / LANGUAGE_MODEL
    if path.exists():
        language_model.load_state_dict(load_file(path))
    else:
        programs = distinct(material.rows)
        batches = ProgramBatches(programs, vocabulary, size=config.batch, seed=config.seed)
        budget = Budget(epochs=config.language_model_epochs)
        Run(language_model, batches, TrainSettings(budget, seed=config.seed), group=group).train()
        if group is None or group.rank == 0:
            partial = path.with_suffix(".partial")
            save_file(language_model.state_dict(), partial)
            partial.replace(path)
    start_decoder(model, language_model)


def distinct(rows: Rows) -> Sequence[tuple[str, ...]]:
    """Return the programs of all rows, each once, in the order they came."""
    found = dict.fromkeys(pair.program for store in rows.parts for pair in store)
    return list(found)
