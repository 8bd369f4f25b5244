"""The page on evaluating synthetic rows names every code and every figure."""

import re
from pathlib import Path

from genie_dp.private.metrics.figures import GROUPS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "private-evaluation.md").read_text(encoding="utf-8")


def test_every_code_is_explained_and_no_other():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "genie_dp").rglob("*.py")
    )
    explained = re.findall(r"^\| (J\d{3}) \|", PAGE, re.MULTILINE)
    raised = set(re.findall(r'"(J\d{3})"', sources))
    assert len(raised) >= 9
    assert sorted(explained) == sorted(raised)


def test_every_figure_is_in_the_table():
    keys = [metric.key for metrics in GROUPS.values() for metric in metrics]
    rows = "".join(re.findall(r"^\| `.*$", PAGE, re.MULTILINE))
    assert len(keys) > 15
    assert not [key for key in keys if f"`{key}`" not in rows]
