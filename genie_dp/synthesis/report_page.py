"""The report as one page of HTML: charts are SVG, nothing is loaded, no script is needed."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from genie_dp.run.page import binned, page_environment

MOST_BARS = 40
MOST_LINES = 400  # of a table; report.json has all


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report made by `report.make_report`."""
    environment = page_environment("genie_dp.synthesis")
    never_used = sorted((t for t in report["templates"] if t["reason"]), key=_by_reason)
    text: str = environment.get_template("report.html.jinja").render(
        report=report,
        roots=sorted((t for t in report["templates"] if t["drawn"]), key=_by_acceptance),
        used=sorted((t for t in report["templates"] if t["rows"]), key=lambda t: -t["rows"]),
        never_used=never_used,
        kinds=Counter(t["reason"]["kind"] for t in never_used),
        length=binned(report["length"]),
        most_bars=MOST_BARS,
        most_lines=MOST_LINES,
    )
    return text


def _by_acceptance(template: Mapping[str, Any]) -> tuple[float, str]:
    return template["acceptance"], template["id"]


def _by_reason(template: Mapping[str, Any]) -> tuple[bool, str, str]:
    # What more rows would mend comes last.
    kind = template["reason"]["kind"]
    return kind == "rare", kind, template["id"]
