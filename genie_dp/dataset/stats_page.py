"""The statistics of a data set as one page of HTML, with the charts of the synthesis report."""

from collections.abc import Mapping
from typing import Any

from genie_dp.run.page import binned, page_environment

MOST_BARS = 40


def page(stats: Mapping[str, Any]) -> str:
    """Return the page: charts are SVG, nothing is loaded, no script is needed."""
    environment = page_environment("genie_dp.dataset")
    text: str = environment.get_template("stats.html.jinja").render(
        stats=stats, length=binned(stats["length"]), most_bars=MOST_BARS
    )
    return text
