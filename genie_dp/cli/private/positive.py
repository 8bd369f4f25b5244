"""Numbers of options that cannot be nothing, nor without end."""

import math
from typing import Any

import click


class Positive(click.FloatRange):
    """A finite number above 0; click's own range takes inf, and nan, which is in every range."""

    def __init__(self) -> None:
        """Bound it from below."""
        super().__init__(0, min_open=True)

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number
