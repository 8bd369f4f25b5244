"""docs/evaluation.md says what the code does."""

import re
from pathlib import Path

from genie_dp.evaluate.judge import KINDS, TIERS
from genie_dp.evaluate.result import KIND_HELP

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
SOURCES = [
    *(ROOT / "genie_dp" / "evaluate").glob("*.py"),
    *(ROOT / "genie_dp/cli").glob("eval*.py"),
]


def test_every_code_is_explained_and_no_other():
    raised = set(re.findall(r'"(V0\d\d)"', "".join(p.read_text("utf-8") for p in SOURCES)))
    rows = re.findall(r"^\| (V\d.*?) \|", PAGE, re.MULTILINE)
    assert len(raised) > 10
    assert sorted(code for row in rows for code in row.split(", ")) == sorted(raised)


def test_every_tier_and_kind_is_explained():
    assert [tier for tier in TIERS if f"| `{tier}` |" not in PAGE] == []
    words = {word for kind in KINDS for word in kind.split()} - {"missing", "extra"}
    assert [word for word in sorted(words) if word not in PAGE] == []
    assert tuple(KIND_HELP) == KINDS
