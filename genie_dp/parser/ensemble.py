"""Parsers that answer together, as a stage: several folders of `genie-dp train` become one."""

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from genie_dp import __version__
from genie_dp.errors import GenieError, Problem
from genie_dp.languages.scope import OUT_OF_SCOPE
from genie_dp.models.arrays import TOKENIZER
from genie_dp.models.calibration import Calibration
from genie_dp.models.device import prepare_torch
from genie_dp.models.ensemble import EnsembleNetwork
from genie_dp.models.layers import give_vectors
from genie_dp.models.saved import SavedModel, load_model, save_model
from genie_dp.models.seq2seq import SteppedTorch
from genie_dp.models.sizes import EnsembleSettings
from genie_dp.parser import folder as files
from genie_dp.parser.card import Card, File
from genie_dp.parser.config import EnsembleConfig, ParserConfig
from genie_dp.parser.decode import Decoder
from genie_dp.parser.parser import library_of
from genie_dp.parser.recipe import read_recipe
from genie_dp.parser.rows import Rows, Style, target_of
from genie_dp.parser.scoring import Score, calibrate, score
from genie_dp.parser.validation import Checked, validation_rows
from genie_dp.records import Spent
from genie_dp.run.manifest import PRIVATE, ledgers_in, write_json
from genie_dp.run.page import render_card
from genie_dp.run.stage import Output, Result, holds_output
from genie_dp.run.work import PARSER, put_in_place, refuse_output

# What config.json says of a parser that must be the same for all.
_SAME_FACTS = (
    "language", "skills", "types", "keywords", "canonical", "is_constrained", "reader", "locale",
    "begins",
)  # fmt: skip
_SAME_FILES = {
    "words of its vocabulary": TOKENIZER,
    "constants of programs": files.TEXTS,
    "phrases of its reader": files.READER,
}

# What a network is that cannot be a member, and what to name instead.
_BY_ITSELF = {
    "pretrained": ("a network of Hugging Face", "name parsers that were trained with --arch"),
    "ensemble": ("an ensemble", "name the parsers that it was made of"),
}
# What is copied from the first parser; it is the same in all.
_COPIED = (files.TEXTS, files.READER, files.EVIDENCE, files.REFUSALS)
_UNMEASURED = "nothing; the confidence is calibrated as those of the parsers are, on average"


@dataclass(frozen=True, slots=True)
class Member:
    """A parser that is to answer with others.

    Attributes:
        facts: what config.json says of it.
        manifest: what it was made of.
        config: how it was trained.
        saved: its network.
    """

    folder: Path
    facts: Mapping[str, Any]
    manifest: Mapping[str, Any]
    config: ParserConfig
    saved: SavedModel

    def common_facts(self) -> dict[str, str]:
        """Return what those who answer together have in common, each as text, by its name."""
        values = {name: self.facts.get(name) for name in _SAME_FACTS}
        values["encoder"] = self.saved.encoder and self.saved.encoder.digest
        values["rows"] = sorted(self.manifest["inputs"].values())
        values["guarantee of private rows"] = self.manifest.get("spent")
        texts = {name: json.dumps(value, sort_keys=True) for name, value in values.items()}
        for name, file in _SAME_FILES.items():
            texts[name] = hashlib.sha256((self.folder / file).read_bytes()).hexdigest()
        return texts

    def line(self) -> str:
        """Return what a card says of it."""
        share = self.manifest["figures"].get("validation accuracy")
        right = "not measured"
        if share is not None:
            right = f"{100 * share:.1f} % right where it was measured"
        return f"{self.folder.name}, {self.saved.architecture}, {right}"


@dataclass(frozen=True, slots=True)
class EnsembleResult(Result):
    """Parsers that were made one.

    Attributes:
        output: its folder.
        parsers: how many answer in it.
        accuracy: share of the validation rows that are right; None where it was not measured.
    """

    output: str
    parsers: int
    accuracy: float | None
    validation_rows: int

    def lines(self) -> Iterator[str]:
        """Yield what to tell a person."""
        right = "not measured: give --validation"
        if self.accuracy is not None:
            right = f"{100 * self.accuracy:.1f} % of {self.validation_rows:,} validation rows right"
        yield f"{self.parsers} parsers, {right} -> {self.output}"


@dataclass(frozen=True, slots=True)
class _Ensemble:
    """What came of joining.

    Attributes:
        figures: what was measured, by name.
        validation: what it was measured on; "" for nothing.
    """

    members: Sequence[Member]
    saved: SavedModel
    calibration: Calibration
    figures: Mapping[str, Any]
    validation: str


@holds_output
def run(
    config: EnsembleConfig,
    folders: Sequence[Path],
    output: Output,
    *,
    licence: str = "",
    device: str = "cpu",
) -> EnsembleResult:
    """Join parsers, measure how they do together, and write the folder of one parser.

    The folder appears when it is complete.

    Args:
        config: what it is measured on.
        folders: the parsers, at least two, which were trained on the same rows.
        output: the folder.
        licence: of the parser, for its card.
        device: where it is measured, such as cuda.

    Raises:
        GenieError: an output that is there (Y022) or is no parser (N007), no such device (N008),
            folders that are no parsers (N010, N011), too few (N072), or that do not go together
            (N070, N071), no rows to measure with (N005).
    """
    target = Path(output.target)
    refuse_output(target, output.work, PARSER, resume=False, overwrite=output.overwrite)
    prepare_torch(device)
    if len(folders) < 2:
        hint = "train another one with another --seed"
        raise GenieError(Problem("N072", "expected two parsers or more, got one", hint=hint))
    members = [read_member(folder) for folder in folders]
    check_together(members)
    saved = join_networks(members)
    measurement = None
    if config.validation:
        measurement, refusals = _measure(saved, members[0], config.validation, device)
        calibration, error = calibrate(measurement, refusals)
    else:
        calibration, error = _mean([files.read_calibration(m.facts) for m in members]), None
    figures = {
        "parsers": len(members),
        "parameters": sum(p.numel() for p in saved.model.parameters()),
        "validation rows": measurement.rows if measurement else 0,
        "validation accuracy": round(measurement.accuracy, 4) if measurement else None,
        "calibration error": None if error is None else round(error, 4),
    }
    _deliver(_Ensemble(members, saved, calibration, figures, config.validation), output, licence)
    accuracy, rows = figures["validation accuracy"], measurement.rows if measurement else 0
    return EnsembleResult(output.target, len(members), accuracy, rows)


def read_member(folder: Path) -> Member:
    """Return the parser of a folder.

    Raises:
        GenieError: N010 or M001, it is no parser; N011, its skills were changed; N071, its network
            is one of Hugging Face, or several.
    """
    facts, saved = files.facts_of(folder), load_model(folder)
    if saved.architecture in _BY_ITSELF:
        kind, hint = _BY_ITSELF[saved.architecture]
        message = f"{folder} is {kind}, which answers by itself only"
        raise GenieError(Problem("N071", message, hint=hint))
    try:
        files.check_skills(folder, str(facts["skills"]))
        manifest = json.loads((folder / files.MANIFEST).read_text(encoding="utf-8"))
        config = ParserConfig(**read_recipe(folder / files.RECIPE))
        member = Member(folder, facts, manifest, config, saved)
        member.common_facts()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise files.broken(folder, str(error)) from None
    return member


def check_together(members: Sequence[Member]) -> None:
    """Refuse parsers that do not answer to the same.

    Raises:
        GenieError: N070, for each that differs from the first one.
    """
    first = members[0]
    expected = first.common_facts()
    hint = "train both on the same rows with the same skills, and --seed 1, --seed 2, .."
    problems = []
    for member in members[1:]:
        facts = member.common_facts()
        if names := [name for name in expected if expected[name] != facts[name]]:
            message = f"{member.folder} differs from {first.folder} in {', '.join(names)}"
            problems.append(Problem("N070", message, hint=hint))
    if problems:
        raise GenieError(problems)


def join_networks(members: Sequence[Member]) -> SavedModel:
    """Return the network of all, in evaluation mode."""
    settings = EnsembleSettings(
        tuple(
            {"architecture": member.saved.architecture, "settings": dict(member.saved.settings)}
            for member in members
        )
    )
    vocabulary = members[0].saved.vocabulary
    network = EnsembleNetwork(vocabulary, settings)
    for part, member in zip(network.members, members, strict=True):
        part.load_state_dict(member.saved.model.state_dict())
    encoder = members[0].saved.encoder
    give_vectors(network, encoder)
    return SavedModel(network.eval(), vocabulary, "ensemble", asdict(settings), {}, encoder)


def _mean(calibrations: Sequence[Calibration]) -> Calibration:
    """Return the calibration whose log-odds are the mean of several ones'."""
    weights = zip(*(calibration.weights for calibration in calibrations), strict=True)
    return Calibration(tuple(map(fmean, weights)), fmean(x.bias for x in calibrations))


def _measure(
    network: SavedModel, first: Member, validation: str, device: str
) -> tuple[Score, Score]:
    """Return how the network does on rows of a file, or on the real sentences of skills.

    The second score is that of sentences to refuse.

    Raises:
        GenieError: N005, there are none.
    """
    config = replace(first.config, validation=validation)
    language = str(first.facts["language"])
    library = library_of(language, files.skill_paths(first.folder))
    target = target_of(Style.from_facts(first.facts), language, library)
    reading = replace(
        files.read_reader(first.folder), fixed=frozenset(first.facts.get("fixed", ()))
    )
    rows = validation_rows(config, target, reading, Rows())
    decoder = Decoder(
        SteppedTorch(network.model.to(device)),
        network.vocabulary,
        target,
        texts=files.read_texts(first.folder),
        begins=first.facts["begins"],
        is_constrained=bool(first.facts["is_constrained"]),
        beam=int(first.facts["beam"]),
        longest=int(first.facts["longest"]),
    )
    words = files.locale_in(first.folder, first.facts).words
    evidence = files.read_evidence(first.folder, words)
    refusals = [Checked(x, OUT_OF_SCOPE) for x in files.read_lines(first.folder, files.REFUSALS)]
    return score(decoder, rows, evidence), score(decoder, refusals, evidence)


def _deliver(ensemble: _Ensemble, output: Output, licence: str) -> None:
    """Write the folder beside its name and rename it when it is complete."""
    work, target = output.work, Path(output.target)
    shutil.rmtree(work, ignore_errors=True)
    folder, first = work / "made", ensemble.members[0]
    folder.mkdir(parents=True)
    if (skills := first.folder / files.SKILLS).exists():  # S-expressions may do without
        shutil.copytree(skills, folder / files.SKILLS)
    words = [files.WORDS] if (first.folder / files.WORDS).exists() else []
    for name in (*_COPIED, *words):
        shutil.copyfile(first.folder / name, folder / name)
    recipe = Path(files.RECIPE)
    for number, member in enumerate(ensemble.members, 1):
        copy = folder / f"{recipe.stem}-{number}{recipe.suffix}"
        shutil.copyfile(member.folder / files.RECIPE, copy)
    calibration = asdict(ensemble.calibration)
    facts = {**first.facts, "version": __version__, "calibration": calibration}
    facts["validated"] = bool(ensemble.validation) or all(
        member.facts["validated"] for member in ensemble.members
    )
    save_model(replace(ensemble.saved, facts={"parser": facts}), folder)
    card = _card(ensemble, target.name, licence)
    (folder / files.CARD).write_text(render_card("genie_dp.parser", card=card), encoding="utf-8")
    write_json(str(folder / files.MANIFEST), _manifest(ensemble))
    put_in_place(folder, target, work)


def _manifest(ensemble: _Ensemble) -> dict[str, Any]:
    first = ensemble.members[0].manifest
    copied_names = ("inputs", "counts", "example", "examples", "prior", "priors")
    ledgers = dict.fromkeys(
        str(ledger)
        for member in ensemble.members
        for ledger in ledgers_in(member.folder / files.MANIFEST)
    )
    return {
        "command": "ensemble",
        "version": __version__,
        **({PRIVATE: list(ledgers)} if ledgers else {}),
        **{name: first[name] for name in copied_names if name in first},
        "figures": dict(ensemble.figures),
        "validation": ensemble.validation,
        "parsers": [
            {"name": member.folder.name, "figures": member.manifest["figures"],
             "config": member.manifest["config"]}
            for member in ensemble.members
        ],
        "spent": first["spent"],
    }  # fmt: skip


def _card(ensemble: _Ensemble, name: str, licence: str) -> Card:
    first = ensemble.members[0]
    config, spent = first.config, first.manifest["spent"]
    return Card(
        title=f"Parser {name}",
        folder=name,
        language=str(first.facts["language"]),
        files=tuple(
            File(Path(x.path).name, x.source, first.manifest["inputs"][x.path], x.ratio, x.weight)
            for x in config.inputs
        ),
        counts=first.manifest["counts"],
        figures=ensemble.figures,
        validation=Path(ensemble.validation).name or _UNMEASURED,
        is_real=bool(ensemble.validation),
        seeds=tuple(member.config.seed for member in ensemble.members),
        threshold=config.threshold,
        is_constrained=config.is_constrained,
        has_skills=(first.folder / files.SKILLS).exists(),
        example=first.manifest.get("example", "..."),
        made_by=config.made_by,
        licence=licence,
        spent=Spent(**{**spent, "not_covered": tuple(spent["not_covered"])}) if spent else None,
        members=tuple(member.line() for member in ensemble.members),
        encoder=ensemble.saved.encoder,
        spoken=files.locale_in(first.folder, first.facts).words.spelled,
    )
