"""Training as a stage, and recipes of parsers: YAML to settings and back."""

import dataclasses
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.languages import language_names
from genie_dp.languages.library import Library
from genie_dp.locale import DEFAULT
from genie_dp.located import Located, read_located
from genie_dp.parser import folder as files
from genie_dp.parser.config import (
    BASE,
    NETWORK_SETTINGS,
    NOTHING,
    InputFile,
    ParserConfig,
    wrong,
)
from genie_dp.parser.rows import UNKNOWN, locale, wrong_settings
from genie_dp.recipe import REQUIRED, setting, settings_as_yaml
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
        metavar="FILE",
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
        None, "Guarantee of rows of source private, as JSON.", value="spent", metavar="FILE"
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
            GenieError: N001 or N002, all that is wrong with them.
        """
        return config_of(self.recipe, self.inputs, self.given)


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the settings that a recipe names, checked for names and kinds.

    Raises:
        GenieError: N001, it is no map in YAML; N002, all keys that are no settings or come twice,
            and all values of another kind.
    """
    located, sources = read_located(path, syntax="N001", twice="N002")
    settings = located.plain
    if isinstance(settings, dict):
        settings = {name: x for name, x in settings.items() if (name, x) not in _GONE}
    try:
        return settings_of(settings)
    except GenieError as error:
        raise _add_spans(error, located, sources) from None


def config_of(recipe: Path | None, inputs: Sequence[str], given: Mapping[str, Any]) -> ParserConfig:
    """Return the settings of a recipe, with those that are given before them.

    Without a start it is the shipped base, where the network is the default one and the sentences
    are English; without a budget it is 600 steps from there, and 3,000 from elsewhere. With a
    parser as its start, what makes the network is that of the start.

    Args:
        recipe: a file in YAML; None for none.
        inputs: files to learn from instead of the recipe's.
        given: settings by name.

    Raises:
        GenieError: N001 or N002, all that is wrong with them.
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
        beside = {*given, *(("inputs",) if inputs else ())}
        raise with_places(error, recipe, beside) from None
    return config


def carried_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of a parser that one that goes on from it must share.

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


def with_places(error: GenieError, path: Path, given: Container[str]) -> GenieError:
    """Return what is wrong with settings of a recipe, each where it stands there.

    Args:
        error: of `ParserConfig`: its messages begin with the names of settings.
        given: settings that stand elsewhere: in the options of a command.
    """
    located, sources = read_located(path, syntax="N001", twice="N002")
    named = {name: value for name, value in located.value.items() if name not in given}
    return _add_spans(error, Located(named, located.span), sources)


def _add_spans(error: GenieError, located: Located, sources: Mapping[str, str]) -> GenieError:
    problems = [
        replace(problem, span=_span_of(problem.message, located)) for problem in error.problems
    ]
    return GenieError(problems, sources=sources)


def _span_of(message: str, located: Located) -> Span | None:
    """Return the place of "inputs: 2: source: expected .." or "unknown setting 'x'" in a recipe."""
    span: Span | None = None
    for name in message.split(": "):
        if isinstance(located.value, list) and name.isdecimal():
            located = located.value[int(name) - 1]
        elif isinstance(located.value, dict) and name in located.value:
            _, located = located.value[name]
        elif isinstance(located.value, dict) and name.startswith(UNKNOWN):
            entry = located.value.get(name.removeprefix(UNKNOWN)[1:-1])
            span = entry[0] if entry else span
            break
        else:
            break
        span = located.span
    return span


def settings_of(read: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data as the fields of ParserConfig.

    Raises:
        GenieError: N002, as `read_recipe`.

    >>> settings_of({"minutes": 5, "inputs": ["rows.jsonl"]})["inputs"]
    (InputFile(path='rows.jsonl', source='', ratio=None, weight=1.0),)
    """
    problems = list(wrong_settings(ParserConfig, read))
    settings = dict(read)
    if isinstance(read.get("inputs"), list | tuple):
        inputs = []
        for number, input_settings in enumerate(read["inputs"], start=1):
            where = f"inputs: {number}: "
            if isinstance(input_settings, str):
                input_settings = {"path": input_settings}
            if not isinstance(input_settings, dict) or "path" not in input_settings:
                problems.append(Problem("N002", f"{where}expected a path, got {input_settings!r}"))
            elif wrong := list(wrong_settings(InputFile, input_settings, where)):
                problems += wrong
            else:
                try:
                    inputs.append(InputFile(**input_settings))
                except GenieError as error:
                    problems += (replace(p, message=f"{where}{p.message}") for p in error.problems)
        settings["inputs"] = tuple(inputs)
    if problems:
        raise GenieError(problems)
    if "made_by" in settings:
        settings["made_by"] = tuple(settings["made_by"])
    return settings


def as_yaml(config: ParserConfig) -> str:
    """Return the recipe of a configuration, every setting with its value.

    >>> print(as_yaml(ParserConfig((InputFile("rows.jsonl"),), minutes=5)).splitlines()[1])
    - path: rows.jsonl
    """
    return settings_as_yaml(dataclasses.asdict(config))
