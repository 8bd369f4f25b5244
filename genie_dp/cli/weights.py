"""Reads the file of --weights: function -> multiplier of its share."""

import math
from pathlib import Path
from typing import Any

import click

from genie_dp.errors import GenieError, Problem, Span
from genie_dp.texts import read_text

_HINT = 'for example "@com.gmail.inbox": 2.5'


class _Weights(click.Path):
    """A file of weights, read."""

    name = "file"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return function -> multiplier."""
        return read_weights(Path(str(super().convert(value, param, ctx))))


WEIGHTS = _Weights(exists=True, dir_okay=False)


def read_weights(path: Path) -> dict[str, float]:
    """Return the weights of a YAML or JSON file.

    Raises:
        GenieError: R022 if it is no map, with the place if it is no YAML; all weights that are no
            number of at least 0.
    """
    import yaml

    text = read_text(path)
    try:
        read = yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        span = Span(str(path), line, column, line, column + 1)
        problem = Problem("R022", f"not YAML: {error.problem}", span, _HINT, stage="syntax")
        raise GenieError(problem, sources={str(path): text}) from None
    except yaml.YAMLError as error:
        raise GenieError(Problem("R022", f"{path} is not YAML: {error}", hint=_HINT)) from None
    if not isinstance(read, dict):
        message = f"{path}: expected function: number on each line"
        raise GenieError(Problem("R022", message, hint=_HINT))
    expected = f"{path}: expected a number of at least 0 for"
    wrong = [
        Problem("R022", f"{expected} {name!r}, got {weight!r}", hint=_HINT)
        for name, weight in read.items()
        if not _is_weight(weight)
    ]
    if wrong:
        raise GenieError(wrong)
    return {str(name): float(weight) for name, weight in read.items()}


def _is_weight(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and value >= 0
