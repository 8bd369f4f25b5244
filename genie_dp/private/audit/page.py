"""An audit as one page of HTML: charts are SVG, nothing is loaded, no script is needed."""

from collections.abc import Mapping
from typing import Any

from genie_dp.run.page import page_environment

SCHEMA = "genie-dp.audit/2"
STATEMENT = (
    "The figures are not differentially private: computed from rows that a model was trained on, "
    "they must be kept like these. An attack that finds nothing proves nothing: a better one may."
)


def page(result: Mapping[str, Any]) -> str:
    """Return the page of a result, as the command makes it."""
    environment = page_environment("genie_dp.private.audit", around=around)
    text: str = environment.get_template("audit.html.jinja").render(result=result)
    return text


def around(figure: Mapping[str, Any], digits: int = 3) -> str:
    """Return a figure with its interval.

    >>> around({"value": 0.5, "low": 0.4, "high": 0.6})
    '0.500 (0.400 to 0.600)'
    """
    value, low, high = (f"{figure[name]:.{digits}f}" for name in ("value", "low", "high"))
    return f"{value} ({low} to {high})"
