"""A model as a folder: config.json, model.safetensors, tokenizer.json."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from genie_dp.errors import GenieError, Problem
from genie_dp.models.arrays import BASE, CONFIG, SCALE, TOKENIZER, WEIGHTS, no_model, whole
from genie_dp.models.layers import WordEmbedding
from genie_dp.models.seq2seq import build
from genie_dp.models.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A network with all that is needed to use it.

    Attributes:
        model: the network, a Seq2Seq.
        vocabulary: of its inputs and outputs.
        architecture: its name in ARCHITECTURES.
        settings: of the network.
        facts: further fields of config.json for the caller, such as a temperature.
    """

    model: Any
    vocabulary: Vocabulary
    architecture: str
    settings: Mapping[str, Any]
    facts: Mapping[str, Any]


def save_model(saved: SavedModel, folder: Path, *, int8: bool = False) -> None:
    """Write the model's files; each gets its name when it is complete.

    Args:
        int8: whether matrices have 8 bits a weight, see `round_weights`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = {
        "model_type": "genie_dp",
        "architecture": saved.architecture,
        "settings": dict(saved.settings),
        **saved.facts,
    }
    parts = {name: folder / f".{name}.partial" for name in (WEIGHTS, TOKENIZER, CONFIG)}
    write_weights(saved.model, parts[WEIGHTS], int8=int8)
    saved.vocabulary.save(parts[TOKENIZER])
    text = json.dumps(config, ensure_ascii=False, indent=2)
    parts[CONFIG].write_text(text + "\n", encoding="utf-8")
    if hasattr(saved.model, "save_base"):
        saved.model.save_base(folder)
    for name, part in parts.items():
        part.replace(folder / name)


def save_tensors(
    tensors: Mapping[str, torch.Tensor], path: Path, facts: dict[str, str] | None = None
) -> None:
    """Write tensors; a disk that is full is an OSError that names the file, as everywhere.

    Args:
        tensors: by name.
        path: the file.
        facts: its metadata.
    """
    try:
        save_file(dict(tensors), str(path), metadata=facts)
    except SafetensorError as error:
        number = re.search(r"\(os error (\d+)\)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(path)) from None


def weights(model: Any) -> dict[str, torch.Tensor]:
    """Return the weights by name; one that several layers share comes once."""
    return {name: p.detach().cpu().contiguous() for name, p in model.named_parameters()}


def round_weights(model: Any) -> None:
    """Round every matrix to weights of 8 bits with a scale for each row.

    Symmetric, by the largest weight of a row; other tensors stay as they are.
    """
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() == 2:
                integers, scale = _in_8_bits(weight)
                weight.copy_(integers * scale)


def _in_8_bits(matrix: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return (R, C) whole numbers from -127 to 127, and the (R, 1) scales of the rows."""
    scale = (matrix.abs().amax(1, keepdim=True) / 127).clamp_min(torch.finfo(torch.float32).tiny)
    return (matrix / scale).round().to(torch.int8), scale


def write_weights(model: Any, path: Path, *, int8: bool = False) -> None:
    """Write the weights as others may read them; safetensors gives its files to nobody else.

    Of a model with adapters those of the model beneath are left out: the file names it, with the
    hash of its weights.
    """
    tensors, facts = weights(model), {"format": "pt"}
    beneath = names_beneath(model)
    if beneath:
        base = Path(model.base)
        facts["base"] = str(base.resolve()) if base.exists() else model.base
        facts["base_sha256"] = hash_of({name: tensors.pop(name) for name in beneath})
    if int8:
        for name in [name for name, x in tensors.items() if x.dim() == 2]:
            tensors[name], tensors[f"{name}{SCALE}"] = _in_8_bits(tensors[name])
    save_tensors(tensors, path, facts)
    mask = os.umask(0)  # it can be read only by setting it
    os.umask(mask)
    path.chmod(0o666 & ~mask)


def names_beneath(model: Any) -> tuple[str, ...]:
    """Return the weights of the model that adapters were added to; none without adapters."""
    if not getattr(model, "has_adapters", False):
        return ()
    return tuple(name for name, p in model.body.named_parameters("body") if not p.requires_grad)


def hash_of(tensors: Mapping[str, torch.Tensor]) -> str:
    """Return the SHA-256 of weights with their names."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        x = tensors[name]
        digest.update(f"{name} {tuple(x.shape)} {x.dtype}".encode())
        digest.update(x.view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def base_of(path: Path) -> str | None:
    """Return where the model is that the adapters of a file were added to; None of whole models.

    It is looked for beside the file, in `base/`, and then where it was.

    Raises:
        GenieError: M009, it is in neither place.
        OSError, SafetensorError: there is no such file, or it is none of safetensors.
    """
    with safe_open(str(path), "pt") as file:
        base = (file.metadata() or {}).get("base")
    if base is None:
        return None
    beside = path.parent / BASE
    if any(beside.glob("*.safetensors")) or any(beside.glob("*.bin")):
        return str(beside)
    if Path(base).is_absolute() and not Path(base).exists():
        message = f"the adapters of {path.parent} go with the model {base}, which is not there"
        hint = f"copy its folder back, or its weights into {beside}"
        raise GenieError(Problem("M009", message, hint=hint))
    return str(base)


def load_weights(model: Any, path: Path) -> None:
    """Set the weights of a model to those of a file, which has those of adapters alone, or all.

    Raises:
        GenieError: M001, names or shapes differ; M009, adapters of another model.
        OSError, SafetensorError: the file cannot be read.
    """
    with safe_open(str(path), "pt") as file:
        expected = (file.metadata() or {}).get("base_sha256")
    beneath = names_beneath(model) if expected else ()
    own = weights(model)
    if expected and hash_of({name: own[name] for name in beneath}) != expected:
        message = f"the adapters of {path.parent} go with a model of other weights"
        hint = f"put the model that they were trained with into {path.parent / BASE}"
        raise GenieError(Problem("M009", message, hint=hint))
    tensors = whole(load_file(str(path)))
    put_all(model, {**tensors, **{name: own[name] for name in beneath}}, path.parent)


def load_model(folder: Path, *, device: str = "cpu") -> SavedModel:
    """Return a model that `save_model` wrote, in evaluation mode.

    Raises:
        GenieError: a file is missing or broken.
    """
    vocabulary = Vocabulary.load(folder / TOKENIZER)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        architecture, settings = config.pop("architecture"), config.pop("settings")
        config.pop("model_type")
        if not isinstance(architecture, str) or not isinstance(settings, dict):
            raise ValueError(f"{CONFIG}: expected architecture and settings")
        base = base_of(folder / WEIGHTS)
    except (OSError, ValueError, KeyError, SafetensorError) as problem:
        raise no_model(folder, str(problem)) from problem
    if architecture == "pretrained":
        settings = {**settings, "base": base or str(folder / BASE), "fresh": base is not None}
    model, settings = build(architecture, vocabulary, settings)
    try:
        load_weights(model, folder / WEIGHTS)
    except (OSError, SafetensorError) as problem:
        raise no_model(folder, str(problem)) from problem
    model.to(device).eval()
    return SavedModel(model, vocabulary, architecture, settings, config)


def put_all(model: Any, tensors: Mapping[str, torch.Tensor], folder: Path) -> None:
    """Set all weights of a model.

    Raises:
        GenieError: names or shapes differ.
    """
    own = dict(model.named_parameters())
    if own.keys() != tensors.keys() or any(own[n].shape != x.shape for n, x in tensors.items()):
        raise no_model(folder, "weights of another network")
    with torch.no_grad():
        for name, x in tensors.items():
            own[name].copy_(x)


_TABLES = ("words.weight", "pointer.bias")


def continue_from(start: SavedModel, vocabulary: Vocabulary) -> SavedModel:
    """Return a new network of another vocabulary, with the weights of a trained one.

    Words that the trained one does not know begin as in any new network, program tokens near the
    words inside them; the random numbers are torch's.

    Args:
        start: the trained one.
        vocabulary: of the new one, mostly the result of `start.vocabulary.extend`.
    """
    model, settings = build(start.architecture, vocabulary, start.settings)
    # A table of words has a row for each of the first words; what else there is keeps its shape.
    places = [vocabulary.index.get(word, -1) for word in start.vocabulary.words]
    before, after = torch.tensor([(i, x) for i, x in enumerate(places) if x >= 0]).T
    own = dict(model.named_parameters())
    with torch.no_grad():
        for name, trained in start.model.named_parameters():
            if own[name].shape == trained.shape and not name.endswith(_TABLES):
                own[name].copy_(trained)
            else:
                in_range = (before < len(trained)) & (after < len(own[name]))
                own[name][after[in_range]] = trained[before[in_range]]
    tokens = range(vocabulary.generated)
    new = [row for row in tokens if vocabulary.words[row] not in start.vocabulary.index]
    for part in model.modules():
        if isinstance(part, WordEmbedding):
            part.start_tokens(vocabulary, new)
    return replace(start, model=model, vocabulary=vocabulary, settings=settings)
