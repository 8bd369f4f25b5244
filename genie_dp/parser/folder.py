"""The folder of a parser: its files, and a copy of the skills that it was trained for.

So a folder can be moved and served without any option: value lists, grammar and reader of the
training run are in it. The training data are not.
"""

import gzip
import io
import json
import math
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem
from genie_dp.languages.library import Library
from genie_dp.locale import Locale, Words
from genie_dp.models.calibration import Calibration
from genie_dp.parser.evidence import SCALES, Evidence
from genie_dp.parser.reading import glued, phrases
from genie_dp.parser.rows import Reading
from genie_dp.run.files import hash_of_files
from genie_dp.run.manifest import write_json
from genie_dp.templates.cache import inputs_of_texts, template_texts
from genie_dp.templates.inputs import Inputs

CARD, RECIPE, MANIFEST = "README.md", "recipe.yaml", "manifest.json"
METRICS, CURVES, START_CARD = "metrics.jsonl", "curves", "start.md"
SKILLS, TEXTS, READER = "skills", "constants.txt.gz", "reader.json"
CONFIG = "config.json"
WORDS = "words.txt"  # of a language whose words are not shipped
EVIDENCE, REFUSALS = "evidence.npz", "refusals.txt.gz"
TEMPLATES = "templates.json.gz"
# What of a skill a parser and its descriptions need; eval.tsv stays where it is.
_KEPT = ("skill.tt", "manifest.tt", "dataset.tt", "templates.genie", "values/*.tsv")


def copy_skills(paths: Sequence[Path], folder: Path) -> None:
    """Copy skills, or a file of declarations, into the folder of a parser."""
    for number, path in enumerate(paths):
        target = folder / SKILLS / str(number)
        if path.is_file():
            target.mkdir(parents=True)
            shutil.copyfile(path, target / path.name)
            continue
        copied = [file for pattern in _KEPT for file in sorted(path.rglob(pattern))]
        for file in copied:
            # A skill folder by itself keeps its name, which is that of its class.
            there = target / path.resolve().name / file.relative_to(path)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, there)


def skill_paths(folder: Path) -> list[Path]:
    """Return the copied skills, in the order in which they were given."""
    numbered = sorted((folder / SKILLS).glob("*"), key=lambda path: int(path.name))
    return [next(iter(sorted(path.iterdir()))) for path in numbered]


def skills_hash(folder: Path) -> str:
    """Return a hash of all copied files, their names included."""
    paths = sorted((folder / SKILLS).rglob("*"))
    return hash_of_files(folder, (path for path in paths if path.is_file()))


def write_texts(folder: Path, texts: Sequence[str]) -> None:
    """Write the constants that the grammar of decoding has."""
    write_lines(folder / TEXTS, texts)


def write_lines(path: Path, lines: Sequence[str]) -> None:
    """Write lines; equal content gives equal bytes."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
    path.write_bytes(out.getvalue())


def read_texts(folder: Path) -> tuple[str, ...]:
    """Return the constants of a folder.

    Raises:
        GenieError: N010, they cannot be read.
    """
    return read_lines(folder, TEXTS)


def read_lines(folder: Path, name: str) -> tuple[str, ...]:
    """Return the lines that `write_lines` wrote.

    Raises:
        GenieError: N010, they cannot be read.
    """
    try:
        data = (folder / name).read_bytes()
        if not data:  # a copy that broke off; of no texts there are a header and no lines
            raise EOFError("it is empty")
        text = gzip.decompress(data).decode()
    except (OSError, EOFError, ValueError) as error:
        raise broken(folder, f"{name}: {error}") from None
    # Not by splitlines: a text may hold what that takes for line ends.
    return tuple(text.split("\n")[:-1])


def templates_as_text(inputs: Inputs) -> str | None:
    """Return the templates of a grammar in one text; None with Python functions in them."""
    file_texts = template_texts(inputs)
    if file_texts is None:
        return None
    files, texts = file_texts
    return json.dumps({"files": files, "texts": texts}, ensure_ascii=False, indent=1)


def write_templates(folder: Path, inputs: Inputs) -> None:
    """Write the templates of a grammar, by which sentences are derived, if they are text alone."""
    text = templates_as_text(inputs)
    if text is not None:
        write_lines(folder / TEMPLATES, text.split("\n"))


def read_templates(folder: Path) -> str:
    """Return the templates that `write_templates` wrote; "" if there are none.

    Raises:
        GenieError: N010, it cannot be read.
    """
    return "\n".join(read_lines(folder, TEMPLATES)) if (folder / TEMPLATES).exists() else ""


def inputs_of_templates(text: str, library: Library, folder: Path) -> Inputs:
    """Return the templates of a folder, with its skills.

    Raises:
        GenieError: N010, they cannot be read, or have mistakes.
    """
    try:
        data = json.loads(text)
        files, texts = list(map(str, data["files"])), dict(data["texts"])
        return inputs_of_texts(library, files, texts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken(folder, f"{TEMPLATES}: {error}") from None


def write_reader(folder: Path, reading: Reading) -> None:
    """Write the phrases that the reader learned from the skills."""
    learned = {"phrases": reading.phrases.as_dict()}
    if reading.glued:
        learned["glued"] = reading.glued.as_dict()
    text = json.dumps(learned, ensure_ascii=False, indent=1)
    (folder / READER).write_text(text + "\n", encoding="utf-8")


def read_reader(folder: Path) -> Reading:
    """Return the reading that `write_reader` wrote.

    Raises:
        GenieError: N010, it cannot be read.
    """
    try:
        data = json.loads((folder / READER).read_text(encoding="utf-8"))
        parts = glued.from_dict(data["glued"]) if "glued" in data else glued.NOT_GLUED
        return Reading(phrases.from_dict(data["phrases"]), glued=parts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(folder, f"{READER}: {error}") from None


def locale_in(folder: Path, facts: Mapping[str, Any]) -> Locale:
    """Return the locale that config.json names; a file of words is the copy in the folder.

    Raises:
        GenieError: N002 or R060, nothing can be read with it.
        KeyError, TypeError: there is none.
    """
    settings = dict(facts["locale"])
    if str(settings.get("language", "")) == WORDS:
        settings["language"] = str(folder / WORDS)
    return Locale(**settings)


def read_evidence(folder: Path, words: Words) -> Evidence:
    """Return the evidence of the rows of training: their words, by function.

    Args:
        words: those of the language of the rows.

    Raises:
        GenieError: N010, it cannot be read.
    """
    try:
        return Evidence.load(folder / EVIDENCE, words)
    except (OSError, ValueError, EOFError) as error:
        raise broken(folder, f"{EVIDENCE}: {error}") from None


def read_calibration(facts: Mapping[str, Any]) -> Calibration:
    """Return the calibration that config.json names; KeyError, TypeError or ValueError if none."""
    read = facts["calibration"]
    weights, bias = tuple(float(x) for x in read["weights"]), float(read["bias"])
    if len(weights) != len(SCALES) or not all(map(math.isfinite, (*weights, bias))):
        raise ValueError(f"calibration: expected {len(SCALES)} numbers, got {weights}")
    return Calibration(weights, bias)


def facts_of(folder: Path) -> dict[str, Any]:
    """Return the facts about the parser in config.json.

    Raises:
        GenieError: N010, the folder is no parser, or one whose reader is gone.
    """
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        facts: dict[str, Any] = config["parser"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise broken(folder, f"config.json: {error}") from None
    if not isinstance(facts, dict):
        raise broken(folder, "config.json: no settings of a parser")
    if (reader := facts.get("reader", "grammar")) != "grammar":
        message = f"the parser in {folder} was trained with the reader {reader!r}, which is gone"
        raise GenieError(Problem("N010", message, hint="train it again: genie-dp train"))
    return facts


def set_facts(folder: Path, **facts: Any) -> None:
    """Change facts about a finished parser in config.json."""
    path = folder / CONFIG
    config = json.loads(path.read_text(encoding="utf-8"))
    config["parser"] |= facts
    write_json(str(path), config)


def check_skills(folder: Path, expected: str) -> None:
    """Refuse a folder whose skills are not those of training.

    Raises:
        GenieError: N011.
    """
    if skills_hash(folder) != expected:
        message = f"the skills in {folder / SKILLS} are not those that this parser was trained for"
        hint = "put the files back, or train again: genie-dp train"
        raise GenieError(Problem("N011", message, hint=hint))


def broken(folder: Path, what: str) -> GenieError:
    """Return the error of a folder that is no parser."""
    hint = "name a folder that genie-dp train wrote"
    return GenieError(Problem("N010", f"expected a parser in {folder}, got: {what}", hint=hint))
