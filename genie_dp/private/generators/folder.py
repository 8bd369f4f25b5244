"""The folder of a generator; it cannot be written without what was spent on it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file

from genie_dp.errors import GenieError, Problem
from genie_dp.learn.saved import put_all, write_weights
from genie_dp.private.generators.card import Card
from genie_dp.private.generators.codes import Codes
from genie_dp.private.generators.decoder import DecoderSettings
from genie_dp.private.generators.generator import Generator, Public, Settings, build_model
from genie_dp.private.generators.hugging_face import BASE, HuggingFaceSettings
from genie_dp.private.generators.hugging_face_tokenizer import PretrainedTokenizer
from genie_dp.private.generators.recurrent import RecurrentSettings
from genie_dp.private.generators.stages import KINDS, STAGES
from genie_dp.private.generators.tokenizer import Tokenizer, load_public_tokenizer
from genie_dp.records import Spent
from genie_dp.run.page import render_card

CONFIG, SPENT, CARD, TOKENIZER = "config.json", "spent.json", "README.md", "tokenizer.json"
MODEL_TYPE = "genie_dp.generator"
_ARCHITECTURES: Mapping[type, str] = {
    DecoderSettings: "decoder",
    RecurrentSettings: "recurrent",
    HuggingFaceSettings: "hugging-face",
}


@dataclass(frozen=True, slots=True)
class SavedGenerator:
    """A generator of a folder, with the guarantee under which it was trained, and its facts."""

    generator: Generator
    spent: Spent
    facts: Mapping[str, Any]


def weights_name(stage: str) -> str:
    """Return the file of a stage's weights."""
    return f"model-{stage}.safetensors"


def save_generator(
    generator: Generator, folder: Path, *, spent: Spent, facts: Mapping[str, Any] | None = None
) -> None:
    """Write a generator: configuration, weights, tokenizer, guarantee and card.

    Args:
        generator: with its trained models.
        folder: made if needed; files of the same names are replaced.
        spent: what was spent on it.
        facts: public facts of its training, for configuration and card.
    """
    folder.mkdir(parents=True, exist_ok=True)
    told = dict(facts or {})
    for stage, model in generator.models.items():
        path = folder / weights_name(stage)
        write_weights(model, path)
        if hasattr(model, "save_base"):
            model.save_base(folder)
    generator.tokenizer.save(folder)
    _write_json(folder / CONFIG, _config(generator, told))
    _write_json(folder / SPENT, asdict(spent))
    card = Card(folder.name, generator.kind, generator.language, spent, told, _codes_of(generator))
    (folder / CARD).write_text(
        render_card("genie_dp.private.generators", card=card), encoding="utf-8"
    )


def _codes_of(generator: Generator) -> int:
    return len(generator.codes.all) if generator.codes else 0


def _config(generator: Generator, facts: Mapping[str, Any]) -> dict[str, Any]:
    settings = asdict(generator.settings)
    architecture = _ARCHITECTURES[type(generator.settings)]
    if architecture == "hugging-face":
        settings.pop("base")
        settings.pop("fresh")
    return {
        "model_type": MODEL_TYPE,
        "kind": generator.kind,
        "language": generator.language,
        "architecture": architecture,
        "settings": settings,
        "public": asdict(generator.public),
        "codes": asdict(generator.codes) if generator.codes else None,
        "weights": list(generator.weights),
        "training": dict(facts),
    }


def _write_json(path: Path, content: Any) -> None:
    text = json.dumps(content, ensure_ascii=False, indent=2)
    path.write_text(text + "\n", encoding="utf-8")


def load_generator(folder: Path, *, device: str = "cpu") -> SavedGenerator:
    """Return the generator of a folder, in evaluation mode.

    Raises:
        GenieError: H003, the folder is none that `save_generator` wrote.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config["model_type"] != MODEL_TYPE or config["kind"] not in KINDS:
            raise ValueError("no generator")
        spent = read_spent(folder / SPENT)
        settings = _settings(config, folder)
        tokenizer = _tokenizer(settings, folder)
        generator = _generator(config, settings, tokenizer, folder)
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as error:
        message = f"expected a generator in {folder}, got: {error}"
        hint = "name a folder that genie-dp private train wrote"
        raise GenieError(Problem("H003", message, hint=hint)) from None
    for model in generator.models.values():
        model.to(device).eval()
    return SavedGenerator(generator, spent, config["training"])


def read_spent(path: Path) -> Spent:
    """Return the guarantee of a file."""
    found = json.loads(path.read_text(encoding="utf-8"))
    return Spent(**{**found, "not_covered": tuple(found["not_covered"])})


def _settings(config: Mapping[str, Any], folder: Path) -> Settings:
    if config["architecture"] == "decoder":
        return DecoderSettings(**config["settings"])
    if config["architecture"] == "recurrent":
        return RecurrentSettings(**config["settings"])
    return HuggingFaceSettings(base=str(folder / BASE), fresh=False, **config["settings"])


def _tokenizer(settings: Settings, folder: Path) -> Tokenizer:
    if isinstance(settings, HuggingFaceSettings):
        return PretrainedTokenizer(settings.base)
    return load_public_tokenizer(folder / TOKENIZER)


def _generator(
    config: Mapping[str, Any], settings: Settings, tokenizer: Tokenizer, folder: Path
) -> Generator:
    models = {}
    for stage in STAGES[config["kind"]]:
        model = build_model(settings, len(tokenizer.pieces), seed=0, stage=stage.name)
        put_all(model, load_file(str(folder / weights_name(stage.name))), folder)
        models[stage.name] = model
    told = config["codes"]
    codes = Codes(tuple(told["names"]), bool(told["is_exact"])) if told else None
    return Generator(
        kind=config["kind"],
        language=str(config["language"]),
        tokenizer=tokenizer,
        models=models,
        settings=settings,
        public=Public(**{name: tuple(told) for name, told in config["public"].items()}),
        codes=codes,
        weights=tuple(map(float, config["weights"])),
    )
