"""The report as one page of HTML: charts are SVG, nothing is loaded, no script is needed."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

_SHARED = "genie_dp.synthesis"
MOST_BARS = 40
MOST_LINES = 400  # of a table; report.json has all


def page_environment(package: str, **filters: Callable[..., Any]) -> Environment:
    """Return what renders the page of a package: its `pages`, then those that all pages share."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "pages") for name in (package, _SHARED)]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=number, percent=percent, breakable=breakable, **filters)
    return environment


def page(report: Mapping[str, Any]) -> str:
    """Return the page of a report made by `report.make_report`."""
    environment = page_environment(_SHARED)
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


def breakable(name: str) -> Markup:
    """Return a name that may break after its dots, colons and underscores, escaped.

    >>> str(breakable("@a.b_c<"))
    '@a.<wbr>b_<wbr>c&lt;'
    """
    return Markup(re.sub(r"([._:])", r"\1<wbr>", str(escape(name))))


def number(value: int | None) -> str:
    """Return a count with commas, a dash for none.

    >>> number(12345), number(None)
    ('12,345', '\u2013')
    """
    return "\u2013" if value is None else f"{value:,}"


def percent(share: float) -> str:
    """Return a share in percent; what is not zero is not shown as zero.

    >>> percent(0.25), percent(0.0004), percent(0.0), percent(1.0)
    ('25 %', '< 0.1 %', '0 %', '100 %')
    """
    if 0 < share < 0.001:
        return "< 0.1 %"
    return f"{round(100 * share, 1):g} %"


def binned(counts: Mapping[str, int], most: int = 30) -> dict[str, int]:
    """Return a histogram over whole numbers with at most so many bins of equal width.

    >>> binned({"1": 5, "2": 1, "3": 0, "4": 2}, most=2)
    {'1-2': 6, '3-4': 2}
    """
    if len(counts) <= most:
        return dict(counts)
    items: Sequence[tuple[str, int]] = list(counts.items())
    width = ceil(len(items) / most)
    chunks = [items[i : i + width] for i in range(0, len(items), width)]
    return {
        chunk[0][0] if len(chunk) == 1 else f"{chunk[0][0]}-{chunk[-1][0]}": sum(
            n for _, n in chunk
        )
        for chunk in chunks
    }
