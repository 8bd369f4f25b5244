"""Parsers that answer together: several folders of `genie-dp train` as one network."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.calibration import Calibration
from genie_dp.learn.ensemble import EnsembleNetwork
from genie_dp.learn.saved import TOKENIZER, SavedModel, load_model
from genie_dp.learn.sizes import EnsembleSettings
from genie_dp.parser import folder as files
from genie_dp.parser.config import ParserConfig
from genie_dp.parser.decode import Decoder
from genie_dp.parser.parser import library_of
from genie_dp.parser.recipe import read_recipe
from genie_dp.parser.rows import Rows, Style, target_of
from genie_dp.parser.scoring import Score, calibrated, score
from genie_dp.parser.validation import validation_rows

# What config.json says of a parser that must be the same for all.
_SAME_FACTS = (
    "language", "skills", "types", "keywords", "canonical", "is_constrained", "reader", "locale",
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

    @property
    def shared(self) -> dict[str, str]:
        """Return what those who answer together have in common, each as text, by its name."""
        found = {name: _text(self.facts.get(name)) for name in _SAME_FACTS}
        found["rows"] = _text(sorted(self.manifest["inputs"].values()))
        found["guarantee of private rows"] = _text(self.manifest.get("spent"))
        for name, file in _SAME_FILES.items():
            found[name] = hashlib.sha256((self.folder / file).read_bytes()).hexdigest()
        return found


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def read_member(folder: Path) -> Member:
    """Return the parser of a folder.

    Raises:
        GenieError: N010 or M001, it is no parser; N011, its skills were changed; N071, its network
            is one of Hugging Face, or several.
    """
    facts, saved = files.facts_of(folder), load_model(folder)
    if saved.architecture in _BY_ITSELF:
        what, hint = _BY_ITSELF[saved.architecture]
        message = f"{folder} is {what}, which answers by itself only"
        raise GenieError(Problem("N071", message, hint=hint))
    try:
        files.check_skills(folder, str(facts["skills"]))
        manifest = json.loads((folder / files.MANIFEST).read_text(encoding="utf-8"))
        config = ParserConfig(**read_recipe(folder / files.RECIPE))
        member = Member(folder, facts, manifest, config, saved)
        _ = member.shared
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise files.broken(folder, str(error)) from None
    return member


def check_together(members: Sequence[Member]) -> None:
    """Refuse parsers that do not answer to the same.

    Raises:
        GenieError: N070, for each that differs from the first one.
    """
    problems = [problem for other in members[1:] for problem in _differences(members[0], other)]
    if problems:
        raise GenieError(problems)


def _differences(first: Member, other: Member) -> Iterator[Problem]:
    expected, found = first.shared, other.shared
    names = [name for name in expected if expected[name] != found[name]]
    if names:
        message = f"{other.folder} differs from {first.folder} in {', '.join(names)}"
        hint = "train both on the same rows with the same skills, and --seed 1, --seed 2, .."
        yield Problem("N070", message, hint=hint)


def joined(members: Sequence[Member]) -> SavedModel:
    """Return the network of all, in evaluation mode."""
    found = [
        {"architecture": one.saved.architecture, "settings": dict(one.saved.settings)}
        for one in members
    ]
    settings = EnsembleSettings(tuple(found))
    vocabulary = members[0].saved.vocabulary
    network = EnsembleNetwork(vocabulary, settings)
    for own, one in zip(network.members, members, strict=True):
        own.load_state_dict(one.saved.model.state_dict())
    return SavedModel(network.eval(), vocabulary, "ensemble", asdict(settings), {})


def measured(network: SavedModel, first: Member, validation: str, device: str) -> Score:
    """Return how the network does on rows of a file, or on the real sentences of skills.

    Raises:
        GenieError: N005, there are none.
    """
    config = replace(first.config, validation=validation)
    language = str(first.facts["language"])
    library = library_of(language, files.skill_paths(first.folder))
    target = target_of(Style.of(first.facts), language, library)
    reading = replace(
        files.read_reader(first.folder), fixed=frozenset(first.facts.get("fixed", ()))
    )
    rows = validation_rows(config, target, reading, Rows())
    decoder = Decoder(
        network.model.to(device),
        network.vocabulary,
        target,
        texts=files.read_texts(first.folder),
        is_constrained=bool(first.facts["is_constrained"]),
        beam=int(first.facts["beam"]),
        longest=int(first.facts["longest"]),
    )
    return score(decoder, rows)


def calibration_of(
    members: Sequence[Member], found: Score | None
) -> tuple[Calibration, float | None]:
    """Return the calibration on what was measured and its error; unmeasured, the members' mean."""
    if found is not None:
        return calibrated(found)
    return Calibration(fmean(float(one.facts["temperature"]) for one in members)), None
