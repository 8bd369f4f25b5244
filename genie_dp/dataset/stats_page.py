"""The statistics of a data set as one page of HTML, with the charts of the synthesis report."""

from collections.abc import Mapping
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from genie_dp.synthesis.report_page import binned, breakable, number, percent

MOST_BARS = 40


def page(stats: Mapping[str, Any]) -> str:
    """Return the page: charts are SVG, nothing is loaded, no script is needed."""
    environment = Environment(
        loader=ChoiceLoader(
            [
                PackageLoader("genie_dp.dataset", "pages"),
                PackageLoader("genie_dp.synthesis", "pages"),
            ]
        ),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, breakable=breakable)
    text: str = environment.get_template("stats.html.jinja").render(
        stats=stats, length=binned(stats["length"]), most_bars=MOST_BARS
    )
    return text
