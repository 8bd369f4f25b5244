"""Training as a stage, and recipes of parsers: YAML to settings and back."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError
from genie_dp.languages import language_names
from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT
from genie_dp.located import place_problems, read_located
from genie_dp.parser import folder as files
from genie_dp.parser.config import (
    BASE,
    NETWORK_SETTINGS,
    NOTHING,
    InputFile,
    ParserConfig,
    wrong,
)
from genie_dp.parser.rows import locale
from genie_dp.recipe import REQUIRED, read_settings, setting, settings_as_yaml
from genie_dp.records import Spent
from genie_dp.stage.kernel import RESUMABLE_ROWS, OutputOption, Stage
from genie_dp.templates.inputs import Inputs

# Steps of a network that begins with nothing, and of one that begins with the base.
DEFAULT_STEPS, BASE_STEPS = 3_000, 600
_BUDGETS = ("minutes", "steps", "epochs")
# Settings that recipes of version 0.1 have, by their defaults.
_GONE: tuple[tuple[str, Any], ...] = (("reader", "grammar"), ("curriculum", 0.0), ("groups", {}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Train(Stage):
    """Train a parser on rows of synthesize, paraphrase, augment and people.

    INPUTS are JSONL, TSV or Parquet, mixed by how many rows they have; a recipe may give ratios
    and weights. The folder holds all that genie-dp parse needs.

    \b
    genie-dp train train.jsonl --output parser
    genie-dp train --recipe examples/parser.yaml --seed 2 --output parser
    torchrun --no-python --nproc-per-node 2 genie-dp train train.jsonl --epochs 3 --output parser

    Attributes:
        load_library: gives the skills, or the declarations, of the programs of a language.
        load_templates: gives those by which the parser derives sentences before it asks its
            network; None for the shipped English ones, where there are skills and the sentences
            are English.
    """

    command = "train"
    work = "genie_dp.parser.run:run"
    output = OutputOption(
        "Where the parser goes: network, skills, card. It appears when it is complete.",
        metavar="FOLDER",
        resume=RESUMABLE_ROWS.resume,
        overwrite=RESUMABLE_ROWS.overwrite,
    )

    inputs: tuple[str, ...] = setting(
        (), "Files to learn from.", is_argument=True, metavar="[INPUTS]..."
    )
    recipe: Path | None = setting(
        None,
        "Settings in YAML, such as examples/parser.yaml; options given here go before them.",
        value="file",
    )
    given: Mapping[str, Any] = setting(
        {}, "Settings of `ParserConfig` that go before the recipe's.", value="parser settings"
    )
    load_library: Callable[[str], Library] = setting(
        REQUIRED, "Skills of the programs.", value="library by language"
    )
    load_templates: Callable[[Library], Inputs] | None = setting(
        None, "Templates that the rows were made of.", value="templates at need"
    )
    language: str | None = setting(
        None, "Language of the programs [what the first row says].", choices=language_names()
    )
    spent: Spent | None = setting(
        None, "Guarantee of rows of source private, as JSON.", value="spent"
    )
    licence: str = setting("", "Licence of the parser, for its card.")
    device: str = setting("cpu", "cpu, cuda, cuda:1 ..", metavar="NAME")
    threads: int = setting(1, "Of torch; the small networks gain nothing from more.", least=1)
    jobs: int = setting(
        1, "Processes that prepare rows; the result does not depend on it.", least=1
    )

    def config(self) -> ParserConfig:
        """Return the settings of the parser.

        Raises:
            GenieError: N001 or N002, all mistakes in them.
        """
        return config_of(self.recipe, self.inputs, self.given)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the settings that a recipe names, checked for names and kinds.

    Raises:
        GenieError: N001, it is no map in YAML; N002, all keys that are no settings or come twice,
            and all values of another kind.
    """
    content, sources = read_located(path, syntax="N001", twice="N002")
    entries = {
        name: entry for name, entry in content.value.items() if (name, entry[1].plain) not in _GONE
    }
    content = replace(content, value=entries)
    return read_settings(ParserConfig, content, code="N002", sources=sources)


def config_of(recipe: Path | None, inputs: Sequence[str], given: Mapping[str, Any]) -> ParserConfig:
    """Return the settings of a recipe, overridden by the given ones.

    Without a start it is the shipped base, where the network is the default one and the sentences
    are English; without a budget it is 600 steps from there, and 3,000 from elsewhere. With a
    parser as its start, the settings that make the network are those of the start.

    Args:
        recipe: a file in YAML; None for none.
        inputs: files to learn from instead of the recipe's.
        given: settings by name.

    Raises:
        GenieError: N001 or N002, all mistakes in them.
    """
    merged = {"inputs": (), **(read_recipe(recipe) if recipe else {})}
    if any(name in given for name in _BUDGETS):
        merged = {name: value for name, value in merged.items() if name not in _BUDGETS}
    if inputs:
        merged["inputs"] = tuple(map(InputFile, inputs))
    merged |= given
    start = merged.get("start") or ""
    if start not in ("", BASE, NOTHING):
        merged = carried_settings(Path(start)) | merged
    has_budget = any(merged.get(name) is not None for name in _BUDGETS)
    if not has_budget:
        merged["steps"] = DEFAULT_STEPS
    try:
        config = ParserConfig(**merged)
        reads_english = locale(config).language == DEFAULT
        if not start:
            is_base = reads_english and config.fits_base
            config = replace(config, start=BASE if is_base else NOTHING)
        elif start == BASE and not reads_english:
            hint = "begin with none, or with a parser of the language"
            raise wrong("start", f"none for sentences in {locale(config).language}", BASE, hint)
        if config.start == BASE and not has_budget:
            config = replace(config, steps=BASE_STEPS)
    except GenieError as error:
        if recipe is None:
            raise
        content, sources = read_located(recipe, syntax="N001", twice="N002")
        given_beside = {*given, *(("inputs",) if inputs else ())}
        raise place_problems(error, content, sources, without=given_beside) from None
    return config


def carried_settings(folder: Path) -> dict[str, Any]:
    """Return the settings that a parser must share with the one that it continues.

    Raises:
        GenieError: N010, it is no parser.
    """
    files.facts_of(folder)
    recipe = folder / files.RECIPE
    try:
        earlier = ParserConfig(**read_recipe(recipe))
    except (OSError, TypeError, GenieError) as error:
        raise files.broken(folder, f"{files.RECIPE}: {error}") from None
    carried = {name: getattr(earlier, name) for name in NETWORK_SETTINGS}
    if (folder / files.WORDS).exists():
        own = {} if isinstance(earlier.locale, str) else earlier.locale
        carried["locale"] = {**own, "language": str(folder / files.WORDS)}
    return carried


def as_yaml(config: ParserConfig) -> str:
    """Return the recipe of a configuration, every setting with its value.

    >>> print(as_yaml(ParserConfig((InputFile("rows.jsonl"),), minutes=5)).splitlines()[1])
    - path: rows.jsonl
    """
    return settings_as_yaml(dataclasses.asdict(config))
