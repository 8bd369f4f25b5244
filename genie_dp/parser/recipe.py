"""Recipes of parsers: YAML to settings and back."""

import dataclasses
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from genie_dp.errors import GenieError, Problem, Span, did_you_mean
from genie_dp.parser.config import InputFile, ParserConfig
from genie_dp.recipe import fits, said, written
from genie_dp.texts import read_text


def read_recipe(path: Path) -> dict[str, Any]:
    """Return the settings that a recipe names, checked for names and kinds.

    Raises:
        GenieError: N001, it is no map in YAML; N002, all keys that are no settings and all values
            of another kind.
    """
    import yaml

    text = read_text(path)
    try:
        read = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        span = Span(str(path), line, column, line, column + 1)
        found = Problem("N001", f"not YAML: {error.problem}", span, stage="syntax")
        raise GenieError(found, sources={str(path): text}) from None
    except yaml.YAMLError as error:
        raise GenieError(Problem("N001", f"{path} is not YAML: {error}")) from None
    if not isinstance(read, dict):
        hint = "write a setting on each line, such as minutes: 5"
        raise GenieError(Problem("N001", f"{path}: expected settings by name", hint=hint))
    return settings_of(read)


def settings_of(read: Mapping[str, Any]) -> dict[str, Any]:
    """Return plain data as the fields of ParserConfig.

    Raises:
        GenieError: N002, as `read_recipe`.

    >>> settings_of({"minutes": 5, "inputs": ["rows.jsonl"]})["inputs"]
    (InputFile(path='rows.jsonl', source='', ratio=None, weight=1.0),)
    """
    problems = _problems(ParserConfig, read, "")
    if problems:
        raise GenieError(problems)
    found = dict(read)
    if "inputs" in found:
        found["inputs"] = tuple(_input(one) for one in found["inputs"])
    if "made_by" in found:
        found["made_by"] = tuple(found["made_by"])
    return found


def _input(one: Any) -> InputFile:
    if isinstance(one, str):
        return InputFile(one)
    problems = _problems(InputFile, one, "inputs: ") if isinstance(one, dict) else []
    if not isinstance(one, dict) or "path" not in one:
        problems.append(Problem("N002", f"inputs: expected a path, got {one!r}"))
    if problems:
        raise GenieError(problems)
    return InputFile(**one)


def _problems(kind: type, read: Mapping[str, Any], where: str) -> list[Problem]:
    known = typing.get_type_hints(kind)
    problems = []
    for name, value in read.items():
        if name not in known:
            hint = did_you_mean(str(name), known) or f"settings: {', '.join(known)}"
            problems.append(Problem("N002", f"{where}unknown setting {name!r}", hint=hint))
        elif not fits(value, known[name]):
            expected = said(known[name])
            message = f"{where}{name}: expected {expected}, got {value!r}"
            problems.append(Problem("N002", message))
    return problems


def as_yaml(config: ParserConfig) -> str:
    """Return the recipe of a configuration, every setting with its value.

    >>> print(as_yaml(ParserConfig((InputFile("rows.jsonl"),), minutes=5)).splitlines()[1])
    - path: rows.jsonl
    """
    return written(dataclasses.asdict(config))
