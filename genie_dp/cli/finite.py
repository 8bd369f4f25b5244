"""Numbers of options that are numbers."""

import math
from typing import Any

import click


class Finite(click.FloatRange):
    """A finite number in a range; click's own takes nan, which is in every range, and inf."""

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the number."""
        number: float = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", param, ctx)
        return number


POSITIVE = Finite(0, min_open=True)
