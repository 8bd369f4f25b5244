"""The page on data sets names every code and every format."""

import re
from pathlib import Path

from genie_dp.dataset.formats import READERS, WRITERS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "datasets.md").read_text(encoding="utf-8")


def test_every_code_is_explained_and_no_other():
    sources = "".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "genie_dp").rglob("*.py")
    )
    rows = re.findall(r"^\| (D\d.*?) \|", PAGE, re.MULTILINE)
    explained = [code for row in rows for code in row.split(", ")]
    raised = set(re.findall(r'"(D\d{3})"', sources))
    assert len(raised) > 15
    assert sorted(explained) == sorted(raised)


def test_every_format_is_in_the_table():
    rows = "".join(re.findall(r"^\| `.*\|$", PAGE, re.MULTILINE))
    assert not [name for name in {*READERS, *WRITERS} if f"`{name}`" not in rows]
